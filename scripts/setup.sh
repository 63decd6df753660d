#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Looks for the tools of tools.txt and installs what is missing, where the system is a Debian; then the pinned Python
# environment.
# usage: setup.sh tools OUTPUT.mk | setup.sh python VENV_DIRECTORY
# Every failure is one line that says what to do. OUTPUT.mk names the firmware's compiler, which has several spellings.
set -u
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
log=$(mktemp)
trap 'rm -f "$log" "$log.out"' EXIT

fail() { echo "setup: $*" >&2; exit 1; }

table() { sed -e '/^#/d' "$here/tools.txt"; }

version_of() {
    case $1 in
        *gcc | g++ | clang) "$1" -dumpversion ;;
        yosys | iverilog) "$1" -V ;;
        # Tells its version where others complain.
        nextpnr-ice40) "$1" --version 2>&1 ;;
        *) "$1" --version ;;
    esac 2>/dev/null | grep -oE '\b[0-9]+(\.[0-9]+)*' | head -n 1
}

# The first python3 that can make an environment: one of a tool suite, first on PATH, may not.
python_with_venv() {
    local python
    for python in python3 /usr/bin/python3; do
        "$python" -c 'import venv, ensurepip' 2>/dev/null && echo "$python" && return
    done
    return 1
}

# there NAME OLDEST: prints what is there; fails when it is not there or too old.
there() {
    local name found
    case $1 in
        *.h) printf '#include <%s>\n' "$1" | gcc -E -x c - >"$log" 2>&1 ; return ;;
        clang-sanitizers)
            echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
                clang -fsanitize=fuzzer,address,undefined -x c - -o "$log.out" >"$log" 2>&1
            return ;;
        python3-venv) python_with_venv >"$log"; return ;;
        # The interpreter as a library, for the simulator that loads cocotb.
        libpython)
            command -v python3 >/dev/null && "$(python_with_venv)" -c '
import ctypes.util, os, sys, sysconfig as config
library = os.path.join(config.get_config_var("LIBDIR") or "", config.get_config_var("LDLIBRARY") or "")
sys.exit(not (ctypes.util.find_library("python" + config.get_config_var("VERSION"))
              or (library.endswith(".so") and os.path.exists(library))))' 2>"$log"
            return ;;
    esac
    for name in ${1//|/ }; do
        command -v "$name" >/dev/null || continue
        found=$(version_of "$name")
        [ "$(printf '%s\n' "$2" "$found" | sort -V | head -n 1)" = "$2" ] && echo "$name" && return
    done
    return 1
}

# Two lists of what is not there: for people, and for apt-get.
look() {
    local name oldest package
    missing=() missing_packages=()
    while read -r name oldest package _; do
        there "$name" "$oldest" >/dev/null && continue
        missing+=("${name%%|*} $oldest or newer,") missing_packages+=("$package")
    done < <(table)
}

tools() {
    look
    if [ ${#missing[@]} -gt 0 ]; then
        local names="${missing[*]}" how="apt-get install -y --no-install-recommends ${missing_packages[*]}" root=()
        command -v apt-get >/dev/null || fail "missing or too old: ${names%,}; install them, or put them on PATH"
        if [ "$(id -u)" -ne 0 ]; then
            sudo -n true 2>/dev/null || fail "missing or too old: ${names%,}; put them on PATH or run: sudo $how"
            root=(sudo -n)
        fi
        echo "setup: installing ${missing_packages[*]}"
        if ! { "${root[@]}" apt-get update -q && "${root[@]}" env DEBIAN_FRONTEND=noninteractive $how; } >"$log" 2>&1; then
            tail -n 5 "$log" >&2
            fail "apt-get could not install them (is the network there?); run by hand: $how"
        fi
        look
        names="${missing[*]}"
        [ -z "$names" ] || fail "this system's packages are too old, or an old tool comes first on PATH: need ${names%,}"
    fi
    [ -n "$(table)" ] || fail "scripts/tools.txt names no tool"
    mkdir -p "$(dirname "$1")"
    while read -r name oldest _; do
        if [[ $name == riscv* ]]; then echo "FIRMWARE_CC := $(there "$name" "$oldest")"; fi
    done < <(table) >"$1"
}

python_environment() {
    local venv=$1 python
    # Two commands at once on a new clone: the second finds it made.
    mkdir -p "$(dirname "$venv")"
    exec 9>"$venv.lock" && flock 9
    python=$(python_with_venv) || fail "no python3 here can make an environment; run: apt-get install python3-venv"
    # What a kill or another Python left is made anew: an environment without pip cannot be mended.
    "$venv/bin/python" -m pip --version >/dev/null 2>&1 || rm -rf "$venv"
    if [ ! -x "$venv/bin/python" ] && ! "$python" -m venv "$venv" >"$log" 2>&1; then
        tail -n 3 "$log" >&2
        fail "cannot make a Python environment in $venv; run: $python -m venv $venv"
    fi
    echo "setup: Python environment in $venv"
    if ! "$venv/bin/python" -m pip install --disable-pip-version-check -q -r "$here/requirements.txt" >"$log" 2>&1; then
        tail -n 3 "$log" >&2
        fail "pip failed (is the network there?); run: $venv/bin/python -m pip install -r scripts/requirements.txt"
    fi
    touch "$venv/ready"
}

case "${1-}" in
    tools) tools "$2" ;;
    python) python_environment "$2" ;;
    *) fail "usage: setup.sh tools OUTPUT.mk | python VENV_DIRECTORY" ;;
esac
