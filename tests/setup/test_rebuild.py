#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What make would do again, asked of make itself, without doing it; and with how many jobs.

usage: test_rebuild.py      (from the repository root, after the test programs were built)

What a program was compiled from stands in its debug information: one that names the contract's header must be made again
when the header is newer. Verilated programs have none; those whose Verilog reads the contract are named here.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HEADER, VERILOG = "build/generated/ferry_contract.h", "build/generated/ferry_contract.vh"
READ_THE_CONTRACT = ["rtl_control", "rtl_device", "rtl_device_32", "rtl_device_128", "rtl_fetch", "rtl_tiny", "rtl_host",
                     "rtl_engine", "firmware_core"]
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}


def make(*arguments, **environment):
    done = subprocess.run(["make", *arguments], capture_output=True, text=True, check=False, env=ENVIRONMENT | environment)
    assert done.returncode == 0, f"make {' '.join(arguments[:4])}: {done.stderr[-500:]}"
    return done.stdout


def value_of(expression, *arguments, **environment):
    """What a recipe of our makefiles sees."""
    with tempfile.NamedTemporaryFile("w", suffix=".mk") as file:
        file.write(f"include Makefile\nshow-value: ; @echo {expression}\n")
        file.flush()
        return make(*arguments, "-f", file.name, "show-value", **environment).strip()


PROGRAMS = value_of("$(TEST_PROGRAMS)").split()


def commands_after_a_change_of(*files):
    """The commands that make would run if these files were newer than everything."""
    return make("-n", *[word for file in files for word in ("-W", file)], *PROGRAMS)


def is_made(program, commands):
    # By name in a command: behind -o, or as the whole path that Verilator is given.
    return any(word in (program, str(Path(program).resolve())) for word in commands.split())


def nothing_is_made_when_nothing_changed():
    # Told that the contract's files are old: their stamp is newer when the generator left them alone, and with -n make takes
    # that for a change.
    contract = value_of("$(CONTRACT)").split()
    commands = make("-n", *[word for name in contract for word in ("-o", name)], *PROGRAMS)
    assert not commands.strip(), commands[:1000]


def what_the_contracts_header_is_in_is_made_again():
    candidates = [*PROGRAMS, "build/ferry", *map(str, Path("build/system").glob("*"))]
    contents = {name: Path(name).read_bytes() for name in candidates}
    with_header = [name for name, content in contents.items() if content[:4] == b"\x7fELF" and b"ferry_contract.h" in content]
    commands = commands_after_a_change_of(HEADER)
    assert len(with_header) > 20, f"only {with_header} name the header"
    stale = [name for name in with_header if not is_made(name, commands)]
    assert not stale, f"not made again: {stale}"


def what_the_contracts_verilog_is_in_is_made_again():
    commands = commands_after_a_change_of(VERILOG)
    stale = [name for name in READ_THE_CONTRACT if not is_made(f"build/tests/{name}", commands)]
    assert not stale, f"not made again: {stale}"


def all_cores_are_used_unless_the_user_says_how_many():
    cores = len(os.sched_getaffinity(0))
    for wanted, arguments, environment in (
            (f"-j{cores}", [], {}), ("-j1", ["-j1"], {}), ("-j7", ["-j7"], {}), ("-j7", ["--jobs=7"], {}), ("-j", ["-kj"], {}),
            ("-j7", [], {"MAKEFLAGS": "-j7"})):
        shown = value_of("$(filter -j%,$(MAKEFLAGS))", *arguments, **environment)
        assert shown == wanted, f"make {arguments} {environment}: {shown}, not {wanted}"


CASES = [nothing_is_made_when_nothing_changed, what_the_contracts_header_is_in_is_made_again,
         what_the_contracts_verilog_is_in_is_made_again, all_cores_are_used_unless_the_user_says_how_many]


def main():
    failed = 0
    for case in CASES:
        try:
            case()
            print(f"[       OK ] {case.__name__}")
        except AssertionError as error:
            failed += 1
            print(f"    {error}\n[  FAILED  ] {case.__name__}")
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
