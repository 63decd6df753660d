#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/setup.sh on machines that lack something: each case puts stand-ins for tools and the system's commands on PATH
and looks at the one line that says what to do. Nothing is installed.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, "tests/setup")
from cases import run_cases

SETUP = Path("scripts/setup.sh").resolve()
TABLE = [line.split()[:3] for line in Path("scripts/tools.txt").read_text().splitlines() if line and line[0] != "#"]
# What the script itself calls; nothing else of the real machine is on PATH.
BASICS = ["bash", "sh", "cat", "dirname", "env", "find", "flock", "grep", "head", "mkdir", "mktemp", "mv", "rm", "sed", "sort", "stat",
          "tail", "true"]
RISCV = ["riscv64-unknown-elf-gcc", "riscv64-unknown-elf-objcopy"]
SLEEP = f'exec {shutil.which("sleep")} "$@"'
# Stand-ins: gcc and clang say their version, and fail on a header or a sanitizer named in MISSING.
COMPILER = '''[ "$1" = -dumpversion ] && { echo "${OLD:-99.1}"; exit; }
case "$*$(cat)" in *$MISSING*) exit 1;; esac'''
WAIT = "-o DPkg::Lock::Timeout=300"  # A machine that has just started updates itself.
COMMANDS = {
    "user": {"id": "echo 1000"},
    "root": {"id": "echo 0"},
    "no_sudo": {"sudo": "exit 1"},
    # As the real one: asks when it is not told not to, and hands no environment on.
    "sudo": {"sudo": '[ "$1" = -n ] || exit 1; shift; exec env -u DEBIAN_FRONTEND "$@"'},
    "no_network": {"apt-get": 'echo "E: Failed to fetch" >&2; exit 100'},
    # Installing z3 puts it on PATH.
    "network": {"apt-get": 'echo "$*" >> "$APT_LOG"; [ "$1" = update ] || [ "$DEBIAN_FRONTEND" = noninteractive ] || exit 1; '
                           'case "$*" in *z3*) printf "#!/bin/sh\\necho Z3 version 4.8.12 - 64 bit\\n" '
                           '> "$STAND_INS/z3"; "$CHMOD" 755 "$STAND_INS/z3";; esac'},
    "nothing_arrives": {"apt-get": 'echo "$*" >> "$APT_LOG"'},
}


def run(folder, arguments, *machine, without=(), missing="-none-", tools_for="", **commands):
    """Runs set-up where every tool of the table is there but those of `without`; `missing` is what gcc and clang lack."""
    stand_ins = Path(folder) / "bin"
    stand_ins.mkdir(exist_ok=True)
    for name in BASICS:
        if not (stand_ins / name).exists():
            (stand_ins / name).symlink_to(shutil.which(name))
    bodies = {names.split("|")[0]: 'echo "Tool 999.1 of 2031"' for names, *_ in TABLE if "." not in names}
    bodies["riscv64-unknown-elf-objcopy"] = 'echo "GNU objcopy (Maker 0.1) 99.1"'
    bodies |= {"gcc": COMPILER, "g++": COMPILER, "clang": COMPILER, "riscv64-unknown-elf-gcc": COMPILER,
               "python3": '[ "$1" = -c ] && exit; echo "Python 3.99"'}
    for part in machine:
        bodies |= COMMANDS[part]
    for name, body in (bodies | commands).items():
        if name not in without:
            (stand_ins / name).write_text(f"#!/bin/sh\n{body}\n")
            (stand_ins / name).chmod(0o755)
            os.utime(stand_ins / name, (0, 0))
    environment = {"PATH": str(stand_ins), "STAND_INS": str(stand_ins), "CHMOD": shutil.which("chmod"), "MISSING": missing,
                   "APT_LOG": f"{folder}/apt.log", "TOOLS_FOR": tools_for}
    done = subprocess.run([shutil.which("bash"), SETUP, *arguments], capture_output=True, text=True, env=environment, check=False)
    log = Path(folder) / "apt.log"
    return done, log.read_text() if log.exists() else ""


def last_line(done):
    return (done.stderr.strip().splitlines() or [""])[-1]


def no_root_names_the_command(folder):
    done, log = run(folder, ["tools", f"{folder}/tools.mk"], "user", "no_sudo", "network", without=["z3"])
    assert done.returncode == 1 and log == "", (done, log)
    assert last_line(done) == ("setup: missing or too old: z3 4.8.12 or newer; put them on PATH or run: "
                               "sudo apt-get install -y --no-install-recommends z3"), last_line(done)
    assert len(done.stderr.splitlines()) == 1 and not Path(f"{folder}/tools.mk").exists()


def no_network_names_the_command(folder):
    done, _ = run(folder, ["tools", f"{folder}/tools.mk"], "root", "no_network", without=["z3"])
    assert done.returncode == 1 and not Path(f"{folder}/tools.mk").exists()
    assert "network" in last_line(done) and last_line(done).endswith("apt-get install -y --no-install-recommends z3")


def only_what_is_missing_is_installed(folder):
    done, log = run(folder, ["tools", f"{folder}/tools.mk"], "root", "network", without=["z3"])
    assert done.returncode == 0 and Path(f"{folder}/tools.mk").exists(), done
    assert log.splitlines() == ["update -q", f"install -y --no-install-recommends z3 {WAIT}"], log
    assert (done.stdout, done.stderr) == ("", "setup: installing z3\n"), done


def sudo_is_used_where_it_asks_nothing(folder):
    done, log = run(folder, ["tools", f"{folder}/tools.mk"], "user", "sudo", "network", without=["z3"])
    assert done.returncode == 0 and "install -y --no-install-recommends z3" in log, (done, log)


def a_bare_machine_is_given_everything(folder):
    everything = [name for names, *_ in TABLE for name in names.split("|")]
    done, log = run(folder, ["tools", f"{folder}/tools.mk"], "root", "nothing_arrives", without=everything)
    asked = log.splitlines()[1].removesuffix(WAIT).split()[3:]
    # The system's own python3 may do where PATH has none that can make an environment.
    assert [*asked, *{"python3-venv"} - {*asked}] == list(dict.fromkeys(package for *_, package in TABLE)), log
    assert done.returncode == 1 and "too old, or an old tool comes first on PATH: need make 4.3 or newer, gcc" in last_line(done)


def nothing_missing_installs_nothing(folder):
    done, log = run(folder, ["tools", f"{folder}/tools.mk"], "root", "nothing_arrives")
    assert done.returncode == 0 and log == "" and done.stdout == "", (done, log)
    assert Path(f"{folder}/tools.mk").read_text().startswith("FIRMWARE_CC := riscv64-unknown-elf-gcc\n")


def another_system_is_told_names_and_versions(folder):
    done, _ = run(folder, ["tools", f"{folder}/tools.mk"], without=["yosys", *RISCV])
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done
    assert last_line(done) == ("setup: missing or too old: yosys 0.23 or newer, riscv64-unknown-elf-gcc 12 or newer, "
                               "riscv64-unknown-elf-objcopy 2.40 or newer; install them, or put them on PATH"), last_line(done)


def an_old_tool_is_missing_and_a_new_one_counts(folder):
    done, log = run(folder, ["tools", f"{folder}/tools.mk"], "root", "nothing_arrives",
                    verilator='echo "Verilator 4.038 2020"', yosys='[ "$1" = -V ] && echo "Yosys 0.60+36 (git sha1 1)"')
    assert done.returncode == 1 and f"install -y --no-install-recommends verilator {WAIT}\n" in log, (done, log)
    assert last_line(done).endswith("need verilator 5.006 or newer"), last_line(done)


def a_header_and_the_sanitizers_are_looked_for(folder):
    for missing, package in (("cmocka.h", "libcmocka-dev"), ("-fsanitize", "libclang-rt-dev")):
        Path(f"{folder}/{package}").mkdir()
        done, log = run(f"{folder}/{package}", ["tools", f"{folder}/tools.mk"], "root", "nothing_arrives", missing=missing)
        assert done.returncode == 1 and log.endswith(f"--no-install-recommends {package} {WAIT}\n"), (done, log)


def another_spelling_of_the_compiler_counts(folder):
    done, log = run(folder, ["tools", f"{folder}/tools.mk"], without=RISCV,
                    **{"riscv64-elf-gcc": "echo 14.1.0", "riscv64-elf-objcopy": "echo objcopy 2.42"})
    assert done.returncode == 0, (done, log)
    assert Path(f"{folder}/tools.mk").read_text().startswith("FIRMWARE_CC := riscv64-elf-gcc\n")


def python_without_network_names_the_command(folder):
    """pip fails at once when it may only look into an empty folder. There was a set-up that was killed before it had a Python."""
    Path(f"{folder}/venv/bin").mkdir(parents=True)
    done = subprocess.run(["bash", SETUP, "python", f"{folder}/venv"], capture_output=True, text=True, check=False,
                          env=dict(os.environ, PIP_NO_INDEX="1", PIP_FIND_LINKS=folder))
    assert Path(f"{folder}/venv/bin/python").exists()
    assert done.returncode == 1 and not Path(f"{folder}/venv/ready").exists()
    assert last_line(done) == ("setup: pip failed (is the network there?); run: "
                               f"{folder}/venv/bin/python -m pip install -r scripts/requirements.txt"), last_line(done)


# What the tools of Debian 12, the oldest that counts, say of themselves, and how they are asked.
DEBIAN_12 = {
    "make": '[ "$1" = --version ] && echo "GNU Make 4.3"', "gcc": COMPILER.replace("99.1", "12"), "g++": COMPILER.replace("99.1", "12"),
    "clang": COMPILER.replace("99.1", "14.0.6"), "riscv64-unknown-elf-gcc": COMPILER.replace("99.1", "12.2.0"),
    "verilator": '[ "$1" = --version ] && echo "Verilator 5.006 2023-01-22 rev (Debian 5.006-3)"',
    "yosys": '[ "$1" = -V ] && echo "Yosys 0.23 (git sha1 7ce5011c24b)"',
    "z3": '[ "$1" = --version ] && echo "Z3 version 4.8.12 - 64 bit"',
    "lspci": '[ "$1" = --version ] && echo "lspci version 3.9.0"',
    "iverilog": '[ "$1" = -V ] && echo "Icarus Verilog version 11.0 (stable) ()"',
    "nextpnr-ice40": '[ "$1" = --version ] && echo "nextpnr-ice40 -- Next Generation Place and Route (Version 0.4-1+b1)" >&2',
    "python3": '[ "$1" = -c ] && exit; echo "Python 3.11.2"',
}


def the_tools_of_debian_12_count(folder):
    done, log = run(folder, ["tools", f"{folder}/tools.mk"], "root", "nothing_arrives", **DEBIAN_12)
    assert done.returncode == 0 and log == "", (done, log)


def versions_are_numbers_not_text(folder):
    """As text, 4.13 comes before 4.8 and 0.9 behind 0.23."""
    done, _ = run(folder, ["tools", f"{folder}/tools.mk"], z3='echo "Z3 version 4.13.3 - 64 bit"', yosys='echo "Yosys 0.9"')
    assert last_line(done) == "setup: missing or too old: yosys 0.23 or newer; install them, or put them on PATH", last_line(done)


TESTS_ALONE = ["clang", "yosys", "yosys-smtbmc", "z3", "lspci", "iverilog", "pkg-config", "groff", "nextpnr-ice40",
               "chromium-headless-shell", "chromium"]


def what_is_installed_is_made_without_the_tools_of_tests(folder):
    """Where it is said that nothing else is wanted; whoever then wants tests is told what is missing."""
    arguments = ["tools", f"{folder}/tools.mk"]
    settings = {"without": TESTS_ALONE, "missing": "cmocka"}
    done, log = run(folder, arguments, "root", "nothing_arrives", tools_for="install", **settings)
    assert (done.returncode, done.stderr, log) == (0, "", ""), (done, log)
    stale = ["stale", f"{folder}/tools.mk", f"{folder}/venv"]
    assert run(folder, stale, tools_for="install", **settings)[0].stdout == ""
    done, log = run(folder, arguments, "root", "nothing_arrives", **settings)
    missing = {"clang", "libclang-rt-dev", "yosys", "z3", "libcmocka-dev", "pciutils", "iverilog", "pkgconf", "groff-base", "nextpnr-ice40",
               "chromium-headless-shell"}
    # The interpreter as a library is looked for on the real machine.
    assert missing <= set(log.splitlines()[1].removesuffix(WAIT).split()[3:]) <= missing | {"libpython3-dev"}, log
    for name in ("verilator", "gcc", RISCV[0], "python3"):
        with tempfile.TemporaryDirectory() as inner:
            done, _ = run(inner, ["tools", f"{inner}/tools.mk"], tools_for="install", without=[*TESTS_ALONE, name])
        assert done.returncode == 1 and f" {name} " in last_line(done), (name, done)


def what_is_installed_takes_less_of_python(folder):
    """An environment for it is none for tests: what those need would not be there."""
    for name in ("setup.sh", "tools.txt"):
        shutil.copy(f"scripts/{name}", folder)
    Path(folder, "requirements.txt").write_text("ferry-nothing==1.0\n")
    Path(folder, "requirements-install.txt").write_text("")

    def setup(tools_for, *arguments):
        return subprocess.run(["bash", f"{folder}/setup.sh", *arguments], capture_output=True, text=True, check=False,
                              env=dict(os.environ, PIP_NO_INDEX="1", PIP_FIND_LINKS=folder, TOOLS_FOR=tools_for))

    stale = ["stale", f"{folder}/tools.mk", f"{folder}/venv"]
    done = setup("install", "python", f"{folder}/venv")
    assert done.returncode == 0 and setup("install", *stale).stdout == "", done
    assert setup("", *stale).stdout == f"{folder}/venv/ready\n"
    done = setup("", "python", f"{folder}/venv")
    assert done.returncode == 1 and last_line(done).endswith("-r scripts/requirements.txt"), done
    Path(folder, "requirements-install.txt").write_text("ferry-nothing==1.0\n")
    done = setup("install", "python", f"{folder}/venv")
    assert done.returncode == 1 and last_line(done).endswith("-r scripts/requirements-install.txt"), done


def each_spelling_of_the_compiler_counts(folder):
    for name in ("riscv64-unknown-elf-gcc", "riscv64-elf-gcc", "riscv64-linux-gnu-gcc"):
        Path(f"{folder}/{name}").mkdir()
        objcopy = name.replace("gcc", "objcopy")
        done, _ = run(f"{folder}/{name}", ["tools", f"{folder}/{name}/tools.mk"], without=set(RISCV) - {name, objcopy},
                      **{name: "echo 14.1.0", objcopy: "echo GNU objcopy 2.40"})
        assert done.returncode == 0 and Path(f"{folder}/{name}/tools.mk").read_text().startswith(f"FIRMWARE_CC := {name}\n"), (name, done)


def the_fuzzers_library_is_looked_for(folder):
    _, log = run(folder, ["tools", f"{folder}/tools.mk"], "root", "nothing_arrives", missing="fuzzer")
    assert log.endswith(f"--no-install-recommends libclang-rt-dev {WAIT}\n"), log


def packages_are_not_of_one_release(_):
    # This one's numbers are its interface's.
    bound = [package for *_, package in TABLE if re.search(r"\d\.\d|-\d+(-|$)", package) and package != "libusb-1.0-0-dev"]
    assert not bound, bound


def a_python_that_makes_no_environment_is_passed_over(folder):
    if subprocess.run(["/usr/bin/python3", "-c", "import venv, ensurepip"], capture_output=True, check=False).returncode:
        return
    _, log = run(folder, ["tools", f"{folder}/tools.mk"], "root", "nothing_arrives",
                 python3='[ "$1" = -c ] && exit 1; echo "Python 3.99"')
    assert "python3-venv" not in log, log


def an_environment_that_was_half_made_is_made(folder):
    """Killed when there was a Python and no pip; python_without_network_names_the_command has one that was killed before that."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", f"{folder}/venv"], check=True)
    done = subprocess.run(["bash", SETUP, "python", f"{folder}/venv"], capture_output=True, text=True, check=False,
                          env=dict(os.environ, PIP_NO_INDEX="1", PIP_FIND_LINKS=folder))
    assert list(Path(f"{folder}/venv/lib").glob("*/site-packages/pip")), done.stderr


def a_table_of_no_tools_is_refused(folder):
    for name in ("setup.sh", "requirements.txt"):
        shutil.copy(f"scripts/{name}", folder)
    Path(folder, "tools.txt").write_text("# nothing\n")
    done = subprocess.run(["bash", f"{folder}/setup.sh", "tools", f"{folder}/tools.mk"], capture_output=True, text=True, check=False)
    assert done.returncode and not Path(folder, "tools.mk").exists(), done.stderr


def what_comes_with_a_tool_is_looked_for(folder):
    for lost, others, wanted in (
            (RISCV[1], {}, f"{RISCV[1]} 2.40 or newer"),
            # One of another spelling than the compiler's is no help.
            (RISCV[1], {"riscv64-linux-gnu-objcopy": "echo GNU objcopy 2.44"}, f"{RISCV[1]} 2.40 or newer"),
            ("", {RISCV[1]: 'echo "GNU objcopy (Maker 9.1) 2.31"'}, f"{RISCV[1]} 2.40 or newer"),
            ("yosys-smtbmc", {}, "yosys-smtbmc 0.23 or newer")):
        with tempfile.TemporaryDirectory() as inner:
            done, _ = run(inner, ["tools", f"{inner}/tools.mk"], without=[lost], **others)
        assert last_line(done) == f"setup: missing or too old: {wanted}; install them, or put them on PATH", (wanted, last_line(done))


def other_compilers_make_everything_anew(folder):
    """What another gcc compiled goes; the environment and the last results stay, and nothing goes for another z3."""
    build = Path(folder) / "build"
    there = [build / name for name in ("obj/a.o", "ferry", "venv/x", "pnr-venv/x", "logs/x", "requirements.txt", "setup.mk", "fresh/x")]
    for file in there:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")

    def left(**other):
        done, _ = run(folder, ["tools", f"{build}/tools.mk"], **other)
        assert done.returncode == 0 and done.stdout == "", done
        told.append(done.stderr)
        return [file.name for file in there if not file.exists()]

    def is_stale():
        return run(folder, ["stale", f"{build}/tools.mk", f"{build}/venv"], **same)[0].stdout

    same, told, anew = {}, [], "setup: other compilers than before: everything is made anew\n"
    assert left() == []
    for same in ({}, {"z3": "echo Z3 version 99.12"}):
        assert left(**same) == [], same
        assert is_stale() == "" and not any(told)
    same = {"g++": COMPILER + " # another"}
    assert is_stale() == f"{build}/tools.mk\n"
    assert left(**same) == ["a.o", "ferry"] and told[-1] == anew, told
    assert is_stale() == ""
    # Verilator is one too; a link in front of a tool is not the tool; a folder with a Makefile is not built.
    there[0].parent.mkdir()
    there[0].touch()
    assert "a.o" in left(**same, verilator='echo "Verilator 5.999 "')
    (build / "Makefile").touch()
    there[0].parent.mkdir(exist_ok=True)
    there[0].touch()
    left(**same)
    assert there[0].exists(), "a folder of sources is emptied"
    real = Path(folder) / "bin/z3"
    real.rename(Path(folder) / "z3")
    real.symlink_to(Path(folder) / "z3")
    same = dict(same, without=["z3"])
    run(folder, ["tools", f"{build}/tools.mk"], **same)
    assert is_stale() == ""
    (Path(folder) / "z3").write_text("#!/bin/sh\necho Z3 version 99.123\n")
    assert is_stale() == f"{build}/tools.mk\n"


def a_second_set_up_waits(folder):
    """Two makes on a new clone: apt-get runs once."""
    apt = 'echo "$*" >> "$APT_LOG"; sleep 1; ' + COMMANDS["network"]["apt-get"].partition("; ")[2]
    with ThreadPoolExecutor() as pool:
        first = pool.submit(run, folder, ["tools", f"{folder}/tools.mk"], "root", without=["z3"], **{"apt-get": apt, "sleep": SLEEP})
        while not Path(folder, "apt.log").exists() and not first.done():
            time.sleep(0.05)
        environment = {"PATH": f"{folder}/bin", "STAND_INS": f"{folder}/bin", "CHMOD": shutil.which("chmod"), "MISSING": "-none-",
                       "APT_LOG": f"{folder}/apt.log"}
        second = subprocess.run([shutil.which("bash"), SETUP, "tools", f"{folder}/tools.mk"], capture_output=True, text=True,
                                env=environment, check=False)
        log = first.result()[1]
    assert second.returncode == 0 and second.stdout == "" and log.count("install -y") == 1, (second, log)


def an_environment_of_another_place_or_python_is_stale(folder):
    subprocess.run([sys.executable, "-m", "venv", f"{folder}/venv"], check=True)
    settings = dict(os.environ, PIP_NO_INDEX="1", PIP_FIND_LINKS=folder)
    Path(folder, "requirements.txt").write_text("")
    for name in ("setup.sh", "tools.txt"):
        shutil.copy(f"scripts/{name}", folder)

    def setup(*arguments):
        done = subprocess.run(["bash", f"{folder}/setup.sh", *arguments], capture_output=True, text=True, check=True, env=settings)
        return done.stdout

    stale = ["stale", f"{folder}/tools.mk", f"{folder}/moved"]
    setup("python", f"{folder}/venv")
    assert setup("stale", f"{folder}/tools.mk", f"{folder}/venv") == ""
    Path(f"{folder}/venv").rename(f"{folder}/moved")
    assert setup(*stale) == f"{folder}/moved/ready\n"
    setup("python", f"{folder}/moved")
    assert setup(*stale) == "" and f"#!{folder}/moved/" in Path(f"{folder}/moved/bin/pip").read_text(), "its commands name the old folder"
    # An upgrade of the system.
    python = Path(f"{folder}/moved/bin/python3")
    shutil.copy(python.resolve(), f"{folder}/python3.99")
    Path(f"{folder}/moved/bin/python").unlink()
    Path(f"{folder}/moved/bin/python").symlink_to(f"{folder}/python3.99")
    assert setup(*stale) == f"{folder}/moved/ready\n"


def a_users_settings_of_python_do_no_harm(folder):
    """Packages and pip's settings of the user: `user = true`, which no environment takes."""
    Path(folder, "venv.py").write_text("raise SystemExit('a module of the user')\n")
    Path(folder, "empty").write_text("")
    for name in ("setup.sh", "tools.txt"):
        shutil.copy(f"scripts/{name}", folder)
    package = Path(folder, "ferry_nothing-1.0-py3-none-any.whl")
    with zipfile.ZipFile(package, "w") as wheel:
        wheel.writestr("ferry_nothing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: ferry-nothing\nVersion: 1.0\n")
        wheel.writestr("ferry_nothing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("ferry_nothing-1.0.dist-info/RECORD", "")
    Path(folder, "requirements.txt").write_text("ferry-nothing==1.0\n")
    done = subprocess.run(["bash", f"{folder}/setup.sh", "python", f"{folder}/venv"], capture_output=True, text=True, check=False,
                          env=dict(os.environ, PYTHONPATH=folder, PIP_USER="1", PIP_NO_INDEX="1", PIP_FIND_LINKS=folder))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "", done


def an_old_python_makes_no_environment(folder):
    """The first on PATH has no venv, the system's is older than the oldest that counts."""
    for name in ("setup.sh", "requirements.txt"):
        shutil.copy(f"scripts/{name}", folder)
    Path(folder, "tools.txt").write_text("python3 99.1 python3 build tools\n")
    done = subprocess.run(["bash", f"{folder}/setup.sh", "python", f"{folder}/venv"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "no python3 here" in done.stderr and not Path(folder, "venv").exists(), done.stderr


def a_folder_of_somebody_else_is_named(folder):
    Path(folder, "build").write_text("not a folder")
    for arguments in (["tools", f"{folder}/build/tools.mk"], ["python", f"{folder}/build/venv"]):
        done = subprocess.run(["bash", SETUP, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and done.stderr.startswith("setup: cannot write ") and done.stderr.count("\n") == 1, done.stderr


CASES = [what_is_installed_is_made_without_the_tools_of_tests, what_is_installed_takes_less_of_python,
         a_second_set_up_waits, what_comes_with_a_tool_is_looked_for, other_compilers_make_everything_anew,
         an_environment_of_another_place_or_python_is_stale, a_users_settings_of_python_do_no_harm, an_old_python_makes_no_environment,
         a_folder_of_somebody_else_is_named,
         the_tools_of_debian_12_count, versions_are_numbers_not_text, each_spelling_of_the_compiler_counts,
         the_fuzzers_library_is_looked_for, packages_are_not_of_one_release, a_python_that_makes_no_environment_is_passed_over,
         an_environment_that_was_half_made_is_made, a_table_of_no_tools_is_refused, no_root_names_the_command,
         no_network_names_the_command, only_what_is_missing_is_installed,
         sudo_is_used_where_it_asks_nothing, a_bare_machine_is_given_everything, nothing_missing_installs_nothing,
         another_system_is_told_names_and_versions, an_old_tool_is_missing_and_a_new_one_counts,
         a_header_and_the_sanitizers_are_looked_for, another_spelling_of_the_compiler_counts,
         python_without_network_names_the_command]


if __name__ == "__main__":
    sys.exit(run_cases(CASES))
