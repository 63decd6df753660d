#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/setup.sh on machines that lack something: each case puts stand-ins for the system's commands before the real
ones and looks at the one line that says what to do. Nothing is installed.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SETUP = Path("scripts/setup.sh").resolve()
COMMANDS = {
    "nothing_installed": {"dpkg-query": "exit 1"},
    "one_missing": {"dpkg-query": 'for last; do :; done; [ "$last" = z3 ] && exit 1; echo -n "install ok installed"'},
    "all_installed": {"dpkg-query": 'echo -n "install ok installed"'},
    "user": {"id": "echo 1000"},
    "root": {"id": "echo 0"},
    "no_sudo": {"sudo": "exit 1"},
    "sudo": {"sudo": '[ "$1" = -n ] && shift; exec "$@"'},
    "no_network": {"apt-get": 'echo "E: Failed to fetch" >&2; exit 100'},
    "network": {"apt-get": 'echo "$*" >> "$APT_LOG"'},
}


def run(folder, arguments, *machine):
    stand_ins = Path(folder) / "bin"
    stand_ins.mkdir()
    for part in machine:
        for name, body in COMMANDS[part].items():
            (stand_ins / name).write_text(f"#!/bin/sh\n{body}\n")
            (stand_ins / name).chmod(0o755)
    environment = dict(os.environ, PATH=f"{stand_ins}:{os.environ['PATH']}", APT_LOG=str(Path(folder) / "apt.log"))
    done = subprocess.run(["bash", SETUP, *arguments], capture_output=True, text=True, env=environment, check=False)
    log = Path(folder) / "apt.log"
    return done, log.read_text() if log.exists() else ""


def last_line(done):
    return (done.stderr.strip().splitlines() or [""])[-1]


def no_root_names_the_command(folder):
    done, log = run(folder, ["packages", f"{folder}/stamp"], "one_missing", "user", "no_sudo", "network")
    assert done.returncode == 1 and log == "", (done, log)
    assert last_line(done) == ("setup: packages are missing and this user may not install them; run: "
                               "sudo apt-get install -y --no-install-recommends z3"), last_line(done)
    assert len(done.stderr.splitlines()) == 1 and not Path(f"{folder}/stamp").exists()


def no_network_names_the_command(folder):
    done, _ = run(folder, ["packages", f"{folder}/stamp"], "one_missing", "root", "no_network")
    assert done.returncode == 1 and not Path(f"{folder}/stamp").exists()
    assert "network" in last_line(done) and last_line(done).endswith("apt-get install -y --no-install-recommends z3")


def only_what_is_missing_is_installed(folder):
    done, log = run(folder, ["packages", f"{folder}/stamp"], "one_missing", "root", "network")
    assert done.returncode == 0 and Path(f"{folder}/stamp").exists()
    assert log.splitlines() == ["update -q", "install -y --no-install-recommends z3"], log


def sudo_is_used_where_it_asks_nothing(folder):
    done, log = run(folder, ["packages", f"{folder}/stamp"], "one_missing", "user", "sudo", "network")
    assert done.returncode == 0 and "install -y --no-install-recommends z3" in log, (done, log)


def a_bare_machine_gets_everything(folder):
    done, log = run(folder, ["packages", f"{folder}/stamp"], "nothing_installed", "root", "network")
    wanted = [line.split()[0] for line in Path("scripts/packages.txt").read_text().splitlines() if line and line[0] != "#"]
    assert done.returncode == 0 and log.splitlines()[1].split()[3:] == wanted, log


def nothing_missing_installs_nothing(folder):
    done, log = run(folder, ["packages", f"{folder}/stamp"], "all_installed", "root", "network")
    assert done.returncode == 0 and log == "" and done.stdout == "", (done, log)


def python_without_network_names_the_command(folder):
    """pip fails at once when it may only look into an empty folder."""
    os.environ.update(PIP_NO_INDEX="1", PIP_FIND_LINKS=folder)
    try:
        done, _ = run(folder, ["python", f"{folder}/venv"], "all_installed")
    finally:
        del os.environ["PIP_NO_INDEX"], os.environ["PIP_FIND_LINKS"]
    assert done.returncode == 1 and not Path(f"{folder}/venv/ready").exists()
    assert last_line(done) == ("setup: pip failed (is the network there?); run: "
                               f"{folder}/venv/bin/python -m pip install -r scripts/requirements.txt"), last_line(done)


CASES = [no_root_names_the_command, no_network_names_the_command, only_what_is_missing_is_installed,
         sudo_is_used_where_it_asks_nothing, a_bare_machine_gets_everything, nothing_missing_installs_nothing,
         python_without_network_names_the_command]


def main():
    failed = 0
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(folder)
                print(f"[       OK ] {case.__name__}")
            except AssertionError as error:
                failed += 1
                print(f"    {error}\n[  FAILED  ] {case.__name__}")
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
