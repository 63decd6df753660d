#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/lint.sh and scripts/fresh.sh, with stand-ins for what they call."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, "tests/setup")
from cases import run_cases

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"


def program(path, body):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def lint(folder, text, formatter, name="a.c"):
    folder = Path(folder) / "repository"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "scripts").mkdir(parents=True)
    for script in ("lint.sh", "verilog_style.py"):
        shutil.copy(f"scripts/{script}", folder / "scripts")
    (folder / name).write_text(text)
    subprocess.run(["git", "init", "-q", folder], check=True)
    done = subprocess.run([folder / "scripts/lint.sh"], capture_output=True, text=True, check=False,
                          env=dict(os.environ, FORMATTER=str(program(Path(folder) / ".git/format", formatter))))
    return done.returncode, done.stdout


def lint_tells_and_fails(folder):
    assert lint(folder, SPDX, "exit 0") == (0, ""), lint(folder, SPDX, "exit 0")
    os.environ["LC_ALL"] = "C"  # A column is a letter, whatever the locale.
    assert lint(folder, SPDX + "// " + "─" * 137 + "\n", "exit 0") == (0, "")
    for text, formatter, words in (
            ("int a;\n", "exit 0", "a.c: no SPDX line"), (SPDX + "x" * 141, "exit 0", "longer than 140"), (SPDX + "\t", "exit 0", "tab"),
            (SPDX + "// TO" + "DO\n", "exit 0", "unfinished"), (SPDX + "// FIX" + "ME\n", "exit 0", "unfinished"),
            ("\n" * 3 + SPDX, "exit 0", "a.c: no SPDX line"),
            (SPDX, '[ "$3" != a.c ] || { echo "a.c:1: error: x"; exit 1; }', "make format"),
            (SPDX, 'echo "a.c:1:1: error: code should be clang-formatted" >&2; exit 1', "run 'make format': a.c"),
            (SPDX, "echo segmentation fault >&2; exit 139", "lint:")):
        status, said = lint(folder, text, formatter)
        assert status == 1 and words in said, (words, status, said)


def lint_knows_kinds_of_files(folder):
    assert lint(folder, "all:\n", "exit 0", "Makefile")[1] == "lint: Makefile: no SPDX line\n"
    assert lint(folder, SPDX + "x" * 141, "exit 0", "a.rdl") == (0, ""), "a description is one line"


def fresh(folder, *commands, inside="exit 0", script="scripts/fresh.sh", **settings):
    """The program `inside` stands for what runs in the bare system."""
    stand_ins = Path(folder) / "bin"
    program(stand_ins / "id", "echo 0")
    program(stand_ins / "debootstrap", 'mkdir -p "$4/etc/apt/apt.conf.d" "$4/root"')
    program(stand_ins / "unshare", 'while [ "$1" != bash ]; do shift; done; exec "$@"')
    program(stand_ins / "mount", "exit 0")
    program(stand_ins / "cd", "exit 0")
    program(stand_ins / "chroot", f'shift; PATH="$PATH"; [ "$1" = env ] && exec {folder}/inside "$@"')
    program(Path(folder) / "inside", inside)
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    done = subprocess.run([script, f"{folder}/system", "trixie", *commands], capture_output=True, text=True, check=False,
                          env=environment | {"PATH": f"{stand_ins}:{os.environ['PATH']}"} | settings)
    return done.returncode, done.stdout + done.stderr


def a_command_that_fails_fails(folder):
    status, said = fresh(folder, "make demo", inside="exit 3")
    assert status == 1 and said.startswith("trixie: make demo failed: "), (status, said)


def what_the_commands_print_is_one_line(folder):
    status, said = fresh(folder, inside='echo "7 passed, 0 failed"')
    assert status == 0 and said.count("\n") == 1 and said.startswith("trixie: make demo 7 passed, 0 failed ("), (status, said)
    assert " make test 7 passed" in said, said
    status, said = fresh(folder, "make demo", inside="echo 6 passed, 1 failed; exit 0")
    assert said.startswith("trixie: make demo works ("), said


def the_commands_are_the_two_of_the_readme(folder):
    repository = Path(folder) / "repository"
    (repository / "scripts").mkdir(parents=True)
    shutil.copy("scripts/fresh.sh", repository / "scripts")
    (repository / "README.md").write_text("## Two commands\nmake demo\n## Then\nmake test\n")
    status, said = fresh(folder, script=repository / "scripts/fresh.sh")
    assert status == 1 and "README.md has 1 commands" in said, said


def nothing_of_this_machine_is_taken_along(folder):
    fresh(folder, "true", inside=f'printf "%s\\n" "$@" > {folder}/arguments', SECRET="here")
    assert Path(f"{folder}/arguments").read_text().splitlines()[:2] == ["env", "-i"]


def settings_reach_the_system_whole(folder):
    status, said = fresh(folder, "true", inside=f'printf "%s\\n" "$@" > {folder}/arguments', no_proxy="localhost, 127.0.0.1")
    arguments = Path(f"{folder}/arguments").read_text().splitlines()
    assert status == 0 and "no_proxy=localhost, 127.0.0.1" in arguments, (said, arguments)


def a_release_is_a_name(folder):
    Path(folder, "victim").mkdir()
    for release in ("", "../victim", "a/b"):
        done = subprocess.run(["scripts/fresh.sh", f"{folder}/system", release, "true"], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 1 and "no name of a release" in done.stderr, (release, done.stderr)
    assert Path(folder, "victim").exists()


def lint_looks_at_something(folder):
    repository = Path(folder) / "repository"
    (repository / "scripts").mkdir(parents=True)
    shutil.copy("scripts/lint.sh", repository / "scripts")
    done = subprocess.run([repository / "scripts/lint.sh"], capture_output=True, text=True, check=False,
                          env=dict(os.environ, FORMATTER="true", GIT_CEILING_DIRECTORIES=folder))
    assert done.returncode == 1 and "git does not say" in done.stdout, done.stdout


CASES = [lint_knows_kinds_of_files, the_commands_are_the_two_of_the_readme, nothing_of_this_machine_is_taken_along,
         lint_tells_and_fails, lint_looks_at_something, a_release_is_a_name, a_command_that_fails_fails,
         what_the_commands_print_is_one_line, settings_reach_the_system_whole]


if __name__ == "__main__":
    sys.exit(run_cases(CASES))
