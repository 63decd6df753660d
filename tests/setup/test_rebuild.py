#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What make would do again, asked of make itself, without doing it; and with how many jobs.

usage: test_rebuild.py      (from the repository root, after the test programs were built)

What a program was compiled from stands in its debug information: one that names the contract's header must be made again
when the header is newer. Verilated programs have none; those whose Verilog reads the contract are named here. Debug
information does not name a header of macros alone, and a program may be linked anew from old objects, so includes are
followed too and held against make's prerequisites.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, "tests/setup")
from cases import run_cases

HEADER, VERILOG = "build/generated/ferry_contract.h", "build/generated/ferry_contract.vh"
READ_THE_CONTRACT = ["rtl_control", "rtl_device", "rtl_device_32", "rtl_device_128", "rtl_fetch", "rtl_tiny", "rtl_host",
                     "rtl_engine", "firmware_core"]
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "V" and not name.startswith(("MAKE", "MFLAGS", "GNUMAKE"))}


def make(*arguments, **environment):
    done = subprocess.run(["make", *arguments], capture_output=True, text=True, check=False, env=ENVIRONMENT | environment)
    assert done.returncode == 0, f"make {' '.join(arguments[:4])}: {done.stderr[-500:]}"
    return done.stdout


def value_of(expression, *arguments, **environment):
    """What a recipe of our makefiles sees."""
    with tempfile.NamedTemporaryFile("w", suffix=".mk") as file:
        file.write(f"include Makefile\nshow-value: ; @echo {expression}\n")
        file.flush()
        return make(*arguments, "-f", file.name, "show-value", **environment).splitlines()[-1].strip()


PROGRAMS = value_of("$(TEST_PROGRAMS)").split()


def said_after_a_change_of(*files):
    """The words of the commands that make would run if these files were newer than everything."""
    return set(make("-n", *[word for file in files for word in ("-W", file)], *PROGRAMS).split())


def is_made(program, words):
    # By name in a command: behind -o, or as the whole path that Verilator is given.
    return program in words or str(Path(program).resolve()) in words


def nothing_is_made_when_nothing_changed():
    # Told that the contract's files are old: their stamp is newer when the generator left them alone, and with -n make takes
    # that for a change.
    contract = value_of("$(CONTRACT) $(USB_IDS)").split()
    commands = make("-n", *[word for name in contract for word in ("-o", name)], *PROGRAMS)
    assert not commands.strip(), commands[:1000]


def what_the_contracts_header_is_in_is_made_again():
    candidates = [*PROGRAMS, "build/ferry", *map(str, Path("build/system").glob("*"))]
    contents = {name: Path(name).read_bytes() for name in candidates}
    with_header = [name for name, content in contents.items() if content[:4] == b"\x7fELF" and b"ferry_contract.h" in content]
    words = said_after_a_change_of(HEADER)
    assert len(with_header) > 20, f"only {with_header} name the header"
    stale = [name for name in with_header if not is_made(name, words)]
    assert not stale, f"not made again: {stale}"


def what_the_contracts_verilog_is_in_is_made_again():
    words = said_after_a_change_of(VERILOG)
    stale = [name for name in READ_THE_CONTRACT if not is_made(f"build/tests/{name}", words)]
    assert not stale, f"not made again: {stale}"


def all_cores_are_used_unless_the_user_says_how_many():
    cores = len(os.sched_getaffinity(0))
    for wanted, arguments, environment in (
            (f"-j{cores}", [], {}), ("-j1", ["-j1"], {}), ("-j7", ["-j7"], {}), ("-j7", ["--jobs=7"], {}), ("-j", ["-kj"], {}),
            ("-j7", [], {"MAKEFLAGS": "-j7"}), ("-j7", [], {"MAKEFLAGS": "--jobs=7"}), ("-j3", [], {"MAKEFLAGS": "kj3"}),
            ("-j3", [], {"GNUMAKEFLAGS": "-j3"}), (f"-j{cores}", [], {"OMP_NUM_THREADS": "1"})):
        shown = value_of("$(filter -j%,$(MAKEFLAGS))", *arguments, **environment)
        assert shown == wanted, f"make {arguments} {environment}: {shown}, not {wanted}"


def prerequisites():
    """{target: its prerequisites but the order-only ones}, as make expanded them."""
    goals = [*PROGRAMS, "build/ferry", "build/fuzz/fuzz_firmware", "build/tools.mk", "build/setup.mk"]
    done = subprocess.run(["make", "-pn", *goals], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    rules = {}
    for line in done.stdout.partition("\n# Files\n")[2].splitlines():
        if match := re.match(r"([^\s#:=][^:=]*?)(?: &)?:(?: ([^=]*))?$", line):
            for target in match[1].split():
                rules.setdefault(target, set()).update((match[2] or "").partition("|")[0].split())
    return rules


def all_below(target, rules):
    found, waiting = set(), [target]
    while waiting:
        new = {os.path.normpath(name) for name in rules.get(waiting.pop(), ())} - found
        found |= new
        waiting += new
    return found


def in_repository(name):
    path = os.path.relpath(os.path.realpath(name))
    return path if not path.startswith(("..", "build/venv")) and os.path.isfile(path) else None


HEADERS = [str(path) for folder in ("build/generated", "build/firmware", "firmware", "host-driver", "sim", "tests")
           for path in Path(folder).rglob("*.h")]


def headers_of(source, below):
    """Our headers that a source includes, one way or another: those of its folder first, then those that `below` names."""
    found, waiting = set(), [source]
    while waiting:
        file = waiting.pop()
        for name in re.findall(r'^\s*#\s*include "([^"]+)"', Path(file).read_text(encoding="utf-8"), re.M):
            # Of two that make and the preprocessor choose from: hal.h takes one by the target, the image comes with its .c.
            if name in ("hal_native.h", "firmware_image.h"):
                continue
            beside = os.path.normpath(os.path.join(os.path.dirname(file), name))
            choice = [beside] if os.path.exists(beside) else [path for path in HEADERS if path.endswith("/" + name)]
            choice = [path for path in choice if path in below] or choice
            new = set(choice[:1]) - found
            found |= new
            waiting += new
    return found


def what_is_compiled_in_is_a_prerequisite():
    """Of each object, too: a program may be linked anew from objects that are old."""
    rules = prerequisites()
    missing, seen, flagless = {}, 0, []
    for name in sorted(rules):
        sources = [path for path in rules[name] if path.endswith((".c", ".cpp", ".S")) and in_repository(path)]
        if not sources or not name.startswith("build/"):
            continue
        seen += 1
        below = all_below(name, rules)
        if "build/flags" not in below and not name.startswith("build/firmware/"):
            flagless.append(name)
        if lost := set().union(*(headers_of(os.path.relpath(path), below) for path in sources)) - below:
            missing[name] = sorted(lost)
    assert seen > 250, f"only {seen} programs and objects"
    assert not flagless, f"not made again with other flags: {flagless}"
    assert not missing, "\n    ".join(f"{name} is not made again after {', '.join(lost)}" for name, lost in missing.items())


def what_verilator_read_is_a_prerequisite():
    rules = prerequisites()
    missing, seen = {}, 0
    for told in [*Path("build").glob("*/*/V*__ver.d"), *Path("build/tests").glob("*/*/V*__ver.d")]:
        folder = told.parent
        program = {"build/sim": f"{folder}/{told.name.replace('__ver.d', '.mk')}",
                   "build/tests/firmware-core": "build/tests/firmware_core" + ("_serv" if "serv" in folder.name else "")}.get(
                       str(folder.parent), f"build/tests/{folder.name}")
        if program not in rules:
            continue
        seen += 1
        files = {in_repository(word) for word in told.read_text().partition(":")[2].replace("\\\n", " ").split()} - {None}
        if lost := files - all_below(program, rules):
            missing[program] = sorted(lost)
    assert seen > 6, f"only {seen} Verilated programs"
    assert not missing, missing


# What no compiler tells.
NEEDS = [("build/tools.mk", "scripts/tools.txt"), ("build/tools.mk", "scripts/setup.sh"),
         *(("build/venv/ready", f"scripts/requirements{name}.txt") for name in ("", "-install", "-sweep")),
         ("build/firmware/firmware.elf", "firmware/link.ld"),
         ("build/firmware/firmware.elf", "firmware/stack_bound.py"), ("build/firmware/firmware.hex", "firmware/image.py"),
         ("build/sim/device_plain.o", "build/sim/plain/Vferry_plain.mk"),
         ("build/sim/device_traced.o", "build/sim/traced/Vferry_traced.mk"), ("build/ferry", "build/firmware/firmware_image.c"),
         *((HEADER, str(name)) for name in [*Path("contract").glob("*.rdl"), "contract/generate.py"])]


def what_no_compiler_tells_is_a_prerequisite():
    rules = prerequisites()
    needs = [*NEEDS, *((program, "build/flags") for program in PROGRAMS if program != "build/tests/formal")]
    for room in (str(path) for folder in ("tests", "docs") for path in Path(folder).rglob("rules.mk")):
        if names := re.findall(r"^TEST_PROGRAMS \+= (\$\(BUILD\)/tests/\w+)", Path(room).read_text(), re.M):
            needs += [(name.replace("$(BUILD)", "build"), room) for name in names]
    missing = [(target, needed) for target, needed in needs if needed not in all_below(target, rules)]
    assert not missing, missing


def commands_of(*goals, older=()):
    return make("-n", *[word for name in older for word in ("-W", name)], "-o", HEADER, "-o", VERILOG, *goals)


def recipes_are_right():
    image = commands_of("build/firmware/firmware.hex", "build/firmware/firmware_image.c", "build/firmware/firmware_image.h",
                        older=["build/firmware/firmware.bin"])
    assert image.count("firmware/image.py") == 1, f"one recipe makes three files: {image}"
    for archive in ("build/libferry.a", "build/libferry-san.a"):
        lines = commands_of(archive, older=["host-driver/umd/handles.c"]).splitlines()
        at = next(index for index, line in enumerate(lines) if line.startswith(f"ar rcs {archive} "))
        assert lines[at - 1] == f"rm -f {archive}", f"{archive} keeps objects whose sources are gone"
    assert "--jobs=3 " in make("-n", "-j3", "test"), "-j3 does not reach the runner"
    recorded = make("-n", "bench-luts")
    assert VERILOG in recorded.partition("--sources")[2], "the LUTs' digest leaves the contract out"
    bench = make("-n", "bench-luts-fresh")
    used, copied = re.search(r"fresh.sh \S+ (\S+)", bench)[1], re.search(r"cp build/fresh/([^/]+)/", bench)[1]
    assert used == copied, bench


def a_failed_recipe_leaves_no_file():
    with tempfile.TemporaryDirectory() as folder:
        Path(f"{folder}/x.mk").write_text(f"include Makefile\n{folder}/half: ; @echo x > $@; false\n")
        subprocess.run(["make", "-f", f"{folder}/x.mk", f"{folder}/half"], capture_output=True, check=False, env=ENVIRONMENT)
        assert not Path(f"{folder}/half").exists()


def cores_that_are_not_ours_are_not_counted():
    core = str(min(os.sched_getaffinity(0)))
    done = subprocess.run(["taskset", "-c", core, "make", "-pnq", "help"], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert re.search(r"^MAKEFLAGS = .*-j1( |$)", done.stdout, re.M), re.findall(r"^MAKEFLAGS.*", done.stdout, re.M)


def a_release_that_fails_fails_test_fresh():
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "scripts").mkdir()
        script = Path(folder) / "scripts/fresh.sh"
        script.write_text('#!/bin/sh\n[ "$2" != bad ]\n')
        script.chmod(0o755)
        for releases, good in (("bad good", False), ("good bad", False), ("good good", True)):
            done = subprocess.run(["make", "-C", folder, "-f", Path("scripts/rules.mk").resolve(), "BUILD=build", f"FRESH={releases}",
                                   "test-fresh"], capture_output=True, text=True, check=False, env=ENVIRONMENT)
            assert (done.returncode == 0) == good, (releases, done)


def elsewhere(folder):
    """Options to build in another folder with the environment that is there."""
    for name in ("tools.mk", "setup.mk"):
        shutil.copy2(f"build/{name}", folder)
    return [f"BUILD={folder}", "VENV=build/venv", "-o", f"{folder}/tools.mk", "-o", "build/venv/ready", "-o", f"{folder}/setup.mk"]


def saying_what_to_link_builds_nothing():
    """With other compilers than before too, after which all else is made anew. Nor does taking away what was installed."""
    with tempfile.TemporaryDirectory() as folder:
        make(f"BUILD={folder}/build", f"PREFIX={folder}/prefix", "uninstall")
        assert os.listdir(folder) == [], os.listdir(folder)
        said = make(f"BUILD={folder}/build", "print-libs").split()
        assert "-lstdc++" in said and all(word.startswith("-") for word in said), said
        assert os.listdir(folder) == [], os.listdir(folder)


def other_flags_are_noticed():
    with tempfile.TemporaryDirectory() as folder:
        options, program, flags = elsewhere(folder), f"{folder}/tests/dma_map", Path(folder, "flags")
        Path(program).parent.mkdir()
        make(*options, "setup")
        shutil.copy2("build/tests/dma_map", program)
        assert program not in make("-n", *options, program), "what was there before the first record is made again"
        before = flags.read_text()
        make("-n", *options, "CC=clang", "setup")
        assert flags.read_text() == before, "-n changes something"
        for other in ("CC=clang", "CPU_CORE=serv", "CFLAGS=-O3"):
            os.utime(flags, (0, 0))
            make(*options, other, "setup")
            assert f"-o {program}" in make("-n", *options, other, program), other
            os.utime(flags, (0, 0))
            assert program not in make("-n", *options, other, program), other


def a_lost_file_of_the_contract_is_made_again():
    with tempfile.TemporaryDirectory() as folder:
        options = elsewhere(folder)
        shutil.copytree("build/generated", f"{folder}/generated")
        Path(folder, "generated/contract.stamp").touch()
        lost = Path(folder, "generated/ferry_bar0_first.vh")
        assert "generate.py" not in make("-n", *options, str(lost))
        lost.unlink()
        assert "generate.py" in make("-n", *options, str(lost))


def rows_of_another_device_are_left_out():
    with tempfile.TemporaryDirectory() as folder:
        options = elsewhere(folder)
        shutil.copytree("build/generated", f"{folder}/generated")
        Path(folder, "bench").mkdir()
        for name in ("gone", "engine", "replay", "pnr-device"):
            Path(folder, f"bench/{name}.json").write_text("[]")
        for times, left_out in ((None, ["gone"]), ((0, 0), ["gone", "pnr-device"])):
            os.utime(f"{folder}/bench/pnr-device.json", times)
            said = re.search(r"^rm -f (.*bench/gone.json.*)$", make("-n", *options, "bench"), re.M)[1]
            assert sorted(Path(name).stem for name in said.split()) == left_out, said


def other_tools_are_noticed():
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "scripts").mkdir()
        script, said = Path(folder) / "scripts/setup.sh", Path(folder) / "said"
        script.write_text('#!/bin/sh\necho "$1${TOOLS_FOR:+-$TOOLS_FOR}" >> said\ncase $1 in stale) cat changed 2>/dev/null;;\n'
                          'tools) rm -f changed; echo > $2;;\n'
                          '*) mkdir -p $2; rm -f changed; echo > $2/ready;; esac\n')
        script.chmod(0o755)
        for name in ("tools.txt", "requirements.txt", "requirements-install.txt", "requirements-sweep.txt", "rules.mk"):
            shutil.copy(f"scripts/{name}", f"{folder}/scripts")
        Path(folder, "build").mkdir()
        Path(folder, "Makefile").write_text("include scripts/rules.mk\ninclude build/tools.mk build/setup.mk\n")

        def asked(*options):
            said.write_text("")
            done = subprocess.run(["make", "-C", folder, "BUILD=build", "VENV=build/venv", "PYTHON=true", *options, "setup"], check=False,
                                  capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
            assert done.returncode == 0, done.stderr
            return [line for line in said.read_text().split() if not line.startswith("stale")]

        assert asked() == ["tools", "python"]
        assert asked() == []
        for changed, wanted in (("build/tools.mk", ["tools", "python"]), ("build/venv/ready", ["python"])):
            Path(folder, "changed").write_text(changed)
            assert asked("-n") == [], "-n changes something"
            assert asked() == wanted, (changed, said.read_text())
        assert asked() == []
        Path(folder, "changed").write_text("build/tools.mk")
        assert asked("TOOLS_FOR=install") == ["tools-install", "python-install"] and "stale-install\n" in said.read_text()
        done = subprocess.run(["make", "-C", folder, "BUILD=build", "TOOLS_FOR=tests", "setup"], capture_output=True, text=True,
                              check=False, env=ENVIRONMENT)
        assert done.returncode and 'TOOLS_FOR is "install" or nothing' in done.stderr, done


def make_n_runs_nothing():
    """Also where nothing is built yet."""
    with tempfile.TemporaryDirectory() as folder:
        make("-n", *elsewhere(folder), "demo")
        assert sorted(path.name for path in Path(folder).iterdir()) == ["setup.mk", "tools.mk"]


CASES = [rows_of_another_device_are_left_out, saying_what_to_link_builds_nothing, other_flags_are_noticed,
         a_lost_file_of_the_contract_is_made_again, other_tools_are_noticed, make_n_runs_nothing,
         what_is_compiled_in_is_a_prerequisite, what_verilator_read_is_a_prerequisite,
         what_no_compiler_tells_is_a_prerequisite, recipes_are_right, a_failed_recipe_leaves_no_file,
         cores_that_are_not_ours_are_not_counted, a_release_that_fails_fails_test_fresh,
         nothing_is_made_when_nothing_changed, what_the_contracts_header_is_in_is_made_again,
         what_the_contracts_verilog_is_in_is_made_again, all_cores_are_used_unless_the_user_says_how_many]


if __name__ == "__main__":
    sys.exit(run_cases(CASES))
