#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Looks for the tools of tools.txt and installs what is missing, where the system is a Debian; then the pinned Python
# environment.
# usage: setup.sh tools OUTPUT.mk | setup.sh python VENV_DIRECTORY | setup.sh stale OUTPUT.mk VENV_DIRECTORY
# Every failure is one line that says what to do. OUTPUT.mk names the firmware's compiler, which has several spellings, and
# in comments the tools that were found; `stale` prints what of OUTPUT.mk and VENV_DIRECTORY/ready is of other tools than
# those that are here now. What was compiled beside OUTPUT.mk by other compilers goes: a linker takes no objects of two
# Verilators. With TOOLS_FOR=install in the environment, only what `make install` takes is looked for and put into the environment.
set -u
unset CDPATH PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX
export PIP_USER=0 # An environment takes no user's packages.
here=$(cd "$(dirname "$0")" && pwd)
only=${TOOLS_FOR-} requirements=requirements${TOOLS_FOR:+-$TOOLS_FOR}.txt
log=$(mktemp) || { echo "setup: no folder for temporary files; set TMPDIR to one" >&2; exit 1; }
trap 'rm -f "$log" "$log.out"' EXIT

# Not on standard output: that is for the answer of whatever target was asked for (`make -s print-libs`).
say() { echo "setup: $*" >&2; }

fail() { echo "setup: $*" >&2; exit 1; }

# alone FILE: waits until no other set-up is at work here.
alone() {
    { mkdir -p "$(dirname "$1")" && exec 9>"$1"; } 2>/dev/null ||
        fail "cannot write $1: this folder, or build in it, belongs to somebody else; use a clone of your own"
    flock 9
}

table() { sed -e '/^#/d' ${only:+-e '/  tests: /d'} "$here/tools.txt"; }

version_of() {
    case $1 in
        # Its maker may have a version too, in brackets.
        *objcopy) "$1" --version | sed 's/(.*)//' ;;
        *gcc | g++ | clang) "$1" -dumpversion ;;
        yosys | iverilog) "$1" -V ;;
        # Tells its version where others complain.
        nextpnr-ice40) "$1" --version 2>&1 ;;
        *) "$1" --version ;;
    esac 2>/dev/null | grep -oE '\b[0-9]+(\.[0-9]+)*' | head -n 1
}

# The first python3 that is new enough and can make an environment: one of a tool suite, first on PATH, may not.
python_with_venv() {
    local python oldest
    oldest=$(table | sed -n 's/^python3 *\([0-9.]*\) .*/\1/p')
    for python in python3 /usr/bin/python3; do
        "$python" -c "import sys, venv, ensurepip; sys.exit(sys.version_info < (${oldest//./, },))" 2>/dev/null && echo "$python" && return
    done
    return 1
}

# there NAME OLDEST: prints what is there; fails when it is not there or too old.
there() {
    local name names=${1//|/ } found
    case $1 in
        yosys-smtbmc) command -v "$1"; return ;;
        *objcopy*)
            name=$(there "$(table | sed -n 's/^\([^ ]*riscv[^ ]*gcc\) .*/\1/p')" 0)
            names=${name:+${name%gcc}objcopy} names=${names:-${1//|/ }}
            ;;
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
    for name in $names; do
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
        missing+=("${name%%|*} $oldest or newer,")
        [[ " ${missing_packages[*]} " == *" $package "* ]] || missing_packages+=("$package")
    done < <(table)
}

# One line a tool: what would be another file after an upgrade, or with another PATH. Not Python, which the environment knows
# by itself: what stands on PATH may be a link that puts another in front of PATH for all that it starts (pyenv).
tools_here() {
    local names name file files=()
    while read -r names _; do
        for name in ${names//|/ }; do
            [[ $name == python* ]] || ! file=$(type -P "$name") || files+=("$file")
        done
    done < <(table)
    [ ${#files[@]} -eq 0 ] || stat -Lc '%n %s %Y' "${files[@]}" | sed 's,.*/,# ,'
}

compilers() { grep -E '^# (gcc|g\+\+|clang|verilator|riscv[^ ]*) '; }

# The Python that an environment is made of, where it is, since its commands name that, and what for where that is not all.
environment_here() { echo "$(realpath "$1/bin/python") $(realpath "$1")${only:+ for $only}"; }

stale() {
    [ ! -f "$1" ] || [ "$(grep '^# ' "$1")" = "$(tools_here)" ] || echo "$1"
    [ ! -f "$2/ready" ] || [ "$(cat "$2/ready")" = "$(environment_here "$2")" ] || echo "$2/ready"
}

tools() {
    local build
    build=$(dirname "$1")
    alone "$1.lock" # Two commands at once on a new clone: the second finds everything installed.
    look
    if [ ${#missing[@]} -gt 0 ]; then
        local names="${missing[*]}" how="apt-get install -y --no-install-recommends ${missing_packages[*]}" root=()
        command -v apt-get >/dev/null || fail "missing or too old: ${names%,}; install them, or put them on PATH"
        if [ "$(id -u)" -ne 0 ]; then
            sudo -n true 2>/dev/null || fail "missing or too old: ${names%,}; put them on PATH or run: sudo $how"
            root=(sudo -n)
        fi
        say "installing ${missing_packages[*]}"
        if ! { "${root[@]}" apt-get update -q &&
            "${root[@]}" env DEBIAN_FRONTEND=noninteractive $how -o DPkg::Lock::Timeout=300; } >"$log" 2>&1; then
            tail -n 5 "$log" >&2
            fail "apt-get could not install them (is the network there?); run by hand: $how"
        fi
        look
        names="${missing[*]}"
        [ -z "$names" ] || fail "this system's packages are too old, or an old tool comes first on PATH: need ${names%,}"
    fi
    [ -n "$(table)" ] || fail "scripts/tools.txt names no tool"
    if [ ! -e "$build/Makefile" ] && [ -f "$1" ] && grep -q '^# ' "$1" && [ "$(compilers <"$1")" != "$(tools_here | compilers)" ]; then
        say "other compilers than before: everything is made anew"
        find "$build" -mindepth 1 -maxdepth 1 ! -name '*venv*' ! -name 'tools.mk*' ! -name setup.mk ! -name fresh ! -name logs \
            ! -name requirements.txt -exec rm -rf {} +
    fi
    {
        while read -r name oldest _; do
            if [[ $name == riscv*gcc ]]; then echo "FIRMWARE_CC := $(there "$name" "$oldest")"; fi
        done < <(table)
        tools_here
    } >"$1.new" && mv "$1.new" "$1" || fail "cannot write $1"
}

python_environment() {
    local venv=$1 python
    alone "$venv.lock"
    python=$(python_with_venv) || fail "no python3 here can make an environment; run: apt-get install python3-venv"
    # What a kill or another Python left is made anew, and what came from another folder: an environment without pip cannot
    # be mended, and commands name the folder that they were made in.
    "$venv/bin/python" -m pip --version >/dev/null 2>&1 || rm -rf "$venv"
    [ ! -s "$venv/ready" ] || [ "$(cat "$venv/ready")" = "$(environment_here "$venv")" ] || rm -rf "$venv"
    if [ ! -x "$venv/bin/python" ] && ! "$python" -m venv "$venv" >"$log" 2>&1; then
        tail -n 3 "$log" >&2
        fail "cannot make a Python environment in $venv; run: $python -m venv $venv"
    fi
    say "Python environment in $venv"
    if ! "$venv/bin/python" -m pip install --disable-pip-version-check -q -r "$here/$requirements" >"$log" 2>&1; then
        tail -n 3 "$log" >&2
        fail "pip failed (is the network there?); run: $venv/bin/python -m pip install -r scripts/$requirements"
    fi
    environment_here "$venv" >"$venv/ready"
}

case "${1-}" in
    tools) tools "$2" ;;
    python) python_environment "$2" ;;
    stale) stale "$2" "$3" ;;
    *) fail "usage: setup.sh tools OUTPUT.mk | python VENV_DIRECTORY | stale OUTPUT.mk VENV_DIRECTORY" ;;
esac
