#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing: Debian packages of packages.txt and the pinned Python environment.
# usage: setup.sh packages STAMP | setup.sh python VENV_DIRECTORY
# Every failure is one line that says what to do.
set -u
here=$(cd "$(dirname "$0")" && pwd)

fail() { echo "setup: $*" >&2; exit 1; }

packages() {
    local wanted missing=() name
    wanted=$(sed -e 's/#.*//' "$here/packages.txt" | awk 'NF { print $1 }')
    command -v dpkg-query >/dev/null || fail "this is not a Debian system; install by hand: $(echo $wanted)"
    for name in $wanted; do
        [ "$(dpkg-query -W -f='${Status}' "$name" 2>/dev/null)" = "install ok installed" ] || missing+=("$name")
    done
    if [ ${#missing[@]} -gt 0 ]; then
        local how="apt-get install -y --no-install-recommends ${missing[*]}" root=()
        if [ "$(id -u)" -ne 0 ]; then
            sudo -n true 2>/dev/null || fail "packages are missing and this user may not install them; run: sudo $how"
            root=(sudo -n)
        fi
        echo "setup: installing ${missing[*]}"
        local log; log=$(mktemp)
        if ! { "${root[@]}" apt-get update -q && "${root[@]}" env DEBIAN_FRONTEND=noninteractive $how; } >"$log" 2>&1; then
            tail -n 5 "$log" >&2
            fail "apt-get could not install them (is the network there?); run by hand: $how"
        fi
        rm -f "$log"
    fi
    mkdir -p "$(dirname "$1")" && touch "$1"
}

python_environment() {
    local venv=$1 log
    log=$(mktemp)
    if [ ! -x "$venv/bin/python" ] && ! /usr/bin/python3 -m venv "$venv" >"$log" 2>&1; then
        tail -n 3 "$log" >&2
        fail "cannot make a Python environment in $venv; run: apt-get install python3-venv"
    fi
    echo "setup: Python environment in $venv"
    if ! "$venv/bin/python" -m pip install --disable-pip-version-check -q -r "$here/requirements.txt" >"$log" 2>&1; then
        tail -n 3 "$log" >&2
        fail "pip failed (is the network there?); run: $venv/bin/python -m pip install -r scripts/requirements.txt"
    fi
    rm -f "$log"
    touch "$venv/ready"
}

case "${1-}" in
    packages) packages "$2" ;;
    python) python_environment "$2" ;;
    *) fail "usage: setup.sh packages STAMP | python VENV_DIRECTORY" ;;
esac
