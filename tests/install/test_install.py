#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `make install` leaves: which files, what the library shows, what its headers and its pkg-config file are good for, and
programs built on it.

usage: test_install.py      (from the repository root, after what is installed was built)
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = ["tests/setup", "tests/install"]
import manual  # noqa: E402
from cases import run_cases  # noqa: E402
from installed import ENVIRONMENT, SONAME, VERSION, Installed, make, run  # noqa: E402

HERE = os.getcwd()
HEADERS = sorted(path.name for path in Path("host-driver/include/ferry").iterdir())
SYSTEM_LIBRARIES = {"libstdc++.so.6", "libgcc_s.so.1", "libm.so.6", "libc.so.6", "libz.so.1", "libpthread.so.0"}
EXAMPLE = "docs/examples/library/poll_loop.c"

KEPT = tempfile.TemporaryDirectory()
COMMON = []


def common():
    if not COMMON:
        COMMON.append(Installed(KEPT.name))
    return COMMON[0]


def declared():
    """The calls that the installed headers declare, as a preprocessor sees them."""
    text = run("gcc", "-E", "-P", "-x", "c", f"-I{common().at}/include", "-", input='#include "ferry/ferry.h"\n')
    text = re.sub(r"typedef[^;{]*;", "", text)
    return sorted(set(re.findall(r"\b(ferry_\w+)\s*\(", text)))


def exactly_these_files_are_installed():
    wanted = ["bin/ferry", "bin/ferry-sim", *(f"include/ferry/{name}" for name in HEADERS), "lib/libferry.a",
              "lib/libferry.so", f"lib/{SONAME}", f"lib/libferry.so.{VERSION}", "lib/pkgconfig/ferry.pc",
              "lib/udev/rules.d/70-pageferry.rules", "share/man/man1/ferry-sim.1", "share/man/man1/ferry.1",
              "share/man/man7/libferry.7", "share/pageferry/folders"]
    assert common().files() == sorted(wanted), common().files()
    for name in wanted:
        mode = (common().at / name).stat().st_mode & 0o777
        assert mode == (0o755 if name.startswith("bin/") or ".so" in name else 0o644), f"{name}: {mode:o}"


def folders_can_be_entered_whatever_the_umask(folder):
    root = Path(folder, "tree")
    run("sh", "-c", 'umask 077 && exec make DESTDIR="$0" install', root)
    closed = [str(path) for path in root.rglob("*") if not path.is_symlink() and not path.stat().st_mode & 0o004]
    assert not closed, closed


def the_shared_library_shows_what_the_headers_declare():
    assert len(declared()) > 40, declared()
    lines = [line.split() for line in run("nm", "-D", "--defined-only", f"{common().at}/lib/libferry.so").splitlines()]
    shown = sorted(name for _, kind, name in lines if kind != "A")
    assert all("@@FERRY_" in name for name in shown), [name for name in shown if "@@" not in name]
    assert [name.partition("@")[0] for name in shown] == declared(), set(declared()) ^ {name.partition("@")[0] for name in shown}


def the_static_library_shows_the_same():
    lines = [line.split() for line in run("nm", "-g", "--defined-only", f"{common().at}/lib/libferry.a").splitlines()]
    shown = sorted(line[2] for line in lines if len(line) == 3)
    assert shown == declared(), set(declared()) ^ set(shown)


def the_shared_library_stands_on_the_system_alone():
    said = run("readelf", "-dW", f"{common().at}/lib/libferry.so")
    assert re.findall(r"\(SONAME\).*\[(.*)\]", said) == [SONAME], said
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", said))
    assert not {name for name in needed if not name.startswith("ld-linux")} - SYSTEM_LIBRARIES, needed
    for path in ("lib/libferry.so", "bin/ferry", "bin/ferry-sim"):
        said = run("readelf", "-dW", f"{common().at}/{path}")
        assert not re.search(r"RPATH|RUNPATH|TEXTREL", said), said
    assert os.readlink(common().at / "lib/libferry.so") == SONAME
    assert os.readlink(common().at / "lib" / SONAME) == f"libferry.so.{VERSION}"


def nothing_names_the_place_where_it_was_built():
    for name in common().files():
        content = (common().at / name).read_bytes()
        for place in (HERE, str(common().root)):
            assert os.fsencode(place) not in content, f"{name} names {place}: {content[content.index(os.fsencode(place)):][:100]}"


def headers_stand_alone_in_c():
    for name in HEADERS:
        for compiler in ("gcc", "clang"):
            for standard in ("c99", "c11", "c17"):
                run(compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wshadow", "-Wstrict-prototypes",
                    "-fsyntax-only", *common().options("--cflags"), "-x", "c", "-",
                    input=f"#include <ferry/{name}>\n#include <ferry/{name}>\n")


def headers_stand_alone_in_cplusplus():
    for name in HEADERS:
        for compiler in ("g++", "clang++"):
            for standard in ("c++11", "c++14", "c++17", "c++20"):
                run(compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wshadow", "-Wold-style-cast",
                    "-Wconversion", "-fsyntax-only", *common().options("--cflags"), "-x", "c++", "-",
                    input=f"#include <ferry/{name}>\n#include <ferry/{name}>\n")


AT_EACH_CALL = """
#include <ferry/ferry.h>
#include <cstdio>
template <class T> const void *at(T *call)
{
    return reinterpret_cast<const void *>(call);
}
int main()
{
    const void *const calls[] = {CALLS};
    for (auto call : calls)
        if (!call)
            return 1;
    std::puts(ferry_version());
}
"""


def calls_have_c_names_in_cplusplus(folder):
    calls = [name for name in declared() if name != "ferry_version"]
    text = AT_EACH_CALL.replace("CALLS", ", ".join(f"at({name})" for name in calls))
    for compiler in ("g++", "clang++"):
        program = f"{folder}/{compiler}"
        run(compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-x", "c++", "-", "-o", program,
            *common().options("--cflags", "--libs"), input=text)
        assert run(program, environment={"LD_LIBRARY_PATH": f"{common().at}/lib"}) == f"{VERSION}\n"


def hidden(*command):
    """A command for which this repository is an empty folder, where the system lets us; as it is where not."""
    try:
        run("unshare", "-rm", "true")
    except AssertionError:
        return command
    return "unshare", "-rm", "sh", "-c", 'mount -t tmpfs none "$0" && cd / && exec "$@"', HERE, *command


def check_example(folder, name, options, environment):
    program = f"{folder}/{name}"
    run("gcc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-D_POSIX_C_SOURCE=200809L", EXAMPLE, *options, "-o", program)
    for backend in ("sim", "model"):
        said = run(*hidden(program, backend), environment=environment, cwd=folder)
        assert said == f"ferried without waiting (told by poll, ferry {VERSION})\n", said
    return program


def the_example_runs_on_the_shared_library(folder):
    program = check_example(folder, "shared", common().options("--cflags", "--libs"), {"LD_LIBRARY_PATH": f"{common().at}/lib"})
    assert f"[{SONAME}]" in run("readelf", "-dW", program)


def the_example_runs_on_the_static_library(folder):
    program = check_example(folder, "static", ["-static", *common().options("--static", "--cflags", "--libs")], {})
    assert "NEEDED" not in run("readelf", "-dW", program)


def our_library_alone_can_be_static(folder):
    options = ["-Wl,-Bstatic" if word == "-lferry" else word for word in common().options("--static", "--cflags", "--libs")]
    at = options.index("-Wl,-Bstatic")
    program = check_example(folder, "mixed", [*options[:at + 1], "-lferry", "-Wl,-Bdynamic", *options[at + 1:]], {})
    assert "libferry" not in run("readelf", "-dW", program)


NAMES_OF_OURS = """
#include <ferry/ferry.h>
#include <stdio.h>
int ferry_vidmm_start(void) { return 7; }
int ferry_gpu_open(void) { return 7; }
int _Z10vl_timeui64v(void) { return 7; }
int main(void)
{
    struct ferry_adapter_options options = {.size = sizeof options, .backend = "sim"};
    struct ferry_adapter *adapter;
    int error = ferry_adapter_open(&options, &adapter);
    ferry_adapter_close(adapter);
    puts(ferry_error_name(error));
    return ferry_gpu_open() - 7;
}
"""


def a_verilated_runtime_beside_it_is_another_one(folder):
    """A program with names of ours, and of Verilator's, as its own: each side keeps what it calls."""
    Path(folder, "own.c").write_text(NAMES_OF_OURS)
    for name, options in (("shared", ["--cflags", "--libs"]), ("static", ["--static", "--cflags", "--libs"])):
        run("gcc", f"{folder}/own.c", *(["-static"] if name == "static" else []), *common().options(*options), "-o", f"{folder}/{name}")
        assert run(f"{folder}/{name}", environment={"LD_LIBRARY_PATH": f"{common().at}/lib"}) == "OK\n"


def the_tool_runs_from_its_new_place(folder):
    shutil.copy("tests/data/neverball.memtrace.gz", folder)
    tool = f"{common().at}/bin/ferry"
    assert run(*hidden(tool, "--version"), cwd=folder) == f"ferry {VERSION}\n"
    run(*hidden(tool, "selftest"), cwd=folder)
    run(*hidden(tool, "replay", f"{folder}/neverball.memtrace.gz", "--vram", "5M", "--frames", "2", "--quiet",
                "--svg", f"{folder}/x.svg"), cwd=folder)
    assert Path(folder, "x.svg").read_text().startswith("<svg")


def the_simulator_serves_from_its_new_place(folder):
    simulator, address = f"{common().at}/bin/ferry-sim", f"unix:{folder}/device"
    assert run(*hidden(simulator, "--version"), cwd=folder) == f"ferry-sim {VERSION}\n"
    with subprocess.Popen(hidden(simulator, "--listen", address), cwd=folder, stdout=subprocess.PIPE, text=True) as serving:
        try:
            assert serving.stdout.readline() == f"listening on {address}\n"
            listed = run(f"{common().at}/bin/ferry", "list")
            assert f"socket:{address} " in listed, listed
            run(f"{common().at}/bin/ferry", "selftest", "--backend", f"socket:{address}")
        finally:
            serving.terminate()


def odd(folder, case, backend):
    program = f"{folder}/odd_process"
    if not Path(program).exists():
        run("gcc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "tests/install/odd_process.c", "-o", program,
            *common().options("--cflags", "--libs"))
    return subprocess.run([program, case, backend], capture_output=True, text=True, check=True, timeout=300,
                          env=ENVIRONMENT | {"LD_LIBRARY_PATH": f"{common().at}/lib"}).stderr


def what_a_program_prints_goes_to_no_device(folder):
    """Its streams are closed, so the next file or port that is opened would have their numbers."""
    wanted = "OK OK OK, 0 streams taken, the event is none of them\n"
    for backend in ("sim", "model"):
        assert odd(folder, "streams", backend) == wanted, odd(folder, "streams", backend)
    for options, address in ((("--listen", f"unix:{folder}/device"), f"socket:unix:{folder}/device"), (("--uart",), "uart:")):
        with subprocess.Popen([f"{common().at}/bin/ferry-sim", *options], stdout=subprocess.PIPE, text=True) as serving:
            try:
                said = serving.stdout.readline().split()[-1]
                told = odd(folder, "streams", address + (said if address == "uart:" else ""))
                assert told == wanted, (address, told)
            finally:
                serving.terminate()


def why_there_is_no_adapter_is_told(folder):
    for backend in ("sim", "model"):
        assert odd(folder, "memory", backend) == "NO_HOST_MEMORY\n", odd(folder, "memory", backend)
    said = odd(folder, "waves", "sim")
    assert said == "BACKEND: cannot write the wave file /no/such/folder/waves.fst\n", said


def adapters_are_opened_again_and_again(folder):
    for backend in ("sim", "model"):
        assert odd(folder, "again", backend) == "OK, 0 descriptors kept\n", odd(folder, "again", backend)


def pkg_config_tells_of_other_places(folder):
    tree = Installed(folder, "/opt/a place")
    run("pkg-config", "--validate", "ferry", environment={"PKG_CONFIG_LIBDIR": f"{tree.at}/lib/pkgconfig"})
    assert tree.options("--modversion") == [VERSION]
    assert tree.options("--cflags") == [f"-I{tree.root}/opt/a place/include"], tree.options("--cflags")
    assert tree.options("--libs") == [f"-L{tree.root}/opt/a place/lib", "-lferry"], tree.options("--libs")
    make(f"DESTDIR={folder}/deb", "prefix=/usr", "libdir=/usr/lib/x-linux", "includedir=/elsewhere&|\\1/include", "mandir=/man", "install")
    text = Path(folder, "deb/usr/lib/x-linux/pkgconfig/ferry.pc").read_text()
    assert "\nlibdir=${prefix}/lib/x-linux\nincludedir=/elsewhere&|\\1/include\n" in text, text
    assert Path(folder, "deb/man/man1/ferry.1").exists() and Path(folder, "deb/elsewhere&|\\1/include/ferry/ferry.h").exists()


def the_loaders_cache_is_made_anew_by_root_for_the_running_system(folder):
    """With commands of our own in the place of `id` and `ldconfig`."""
    commands = Path(folder, "commands")
    commands.mkdir()
    for name, text in (("id", 'echo "$WHO"'), ("ldconfig", 'echo made >>"$TOLD"')):
        Path(commands, name).write_text(f"#!/bin/sh\n{text}\n")
        Path(commands, name).chmod(0o755)
    told = Path(folder, "told")
    for who, tree, times in (("0", [], 1), ("1000", [], 0), ("0", [f"DESTDIR={folder}/tree"], 0)):
        for action in ("install", "uninstall"):
            make(*tree, f"PREFIX={folder}/here", action, PATH=f"{commands}:{os.environ['PATH']}", WHO=who, TOLD=str(told))
            assert (told.read_text().count("made") if told.exists() else 0) == times, (who, tree, action)
            told.unlink(missing_ok=True)


def what_was_a_link_is_replaced_not_written_through(folder):
    tree = Installed(folder)
    theirs = Path(folder, "theirs")
    theirs.write_text("theirs")
    pages = [tree.at / name for name in ("lib/pkgconfig/ferry.pc", "share/man/man1/ferry.1", "share/man/man7/libferry.7")]
    for page in pages:
        page.unlink()
        page.symlink_to(theirs)
    new = tree.at / "share/pageferry/folders.new"
    new.symlink_to(theirs)
    make(f"DESTDIR={tree.root}", "install")
    assert not new.is_symlink()
    assert theirs.read_text() == "theirs" and not any(page.is_symlink() for page in pages)


def what_depends_on_the_machine_can_stand_elsewhere(folder):
    for given, told in (("/opt/x/machine", "${prefix}/machine"), ("/machine", "/machine"), ("/opt/x", "${prefix}")):
        make(f"DESTDIR={folder}", "prefix=/opt/x", f"exec_prefix={given}", "install")
        text = Path(f"{folder}{given}/lib/pkgconfig/ferry.pc").read_text()
        assert f"\nexec_prefix={told}\n" in text, text


def the_shared_library_is_bound_when_it_is_loaded():
    """Its tables of addresses are filled at once, and read-only after that."""
    said = run("readelf", "-ldW", f"{common().at}/lib/libferry.so")
    assert "GNU_RELRO" in said and re.search(r"\(FLAGS(_1)?\).*\b(BIND_)?NOW\b", said), said


def somebody_else():
    """Words before a command that make it another user's, who may read everything; none where the system does not let us."""
    words = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps", "+dac_read_search",
             "--ambient-caps", "+dac_read_search"]
    return words if os.getuid() == 0 and subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0 else []


def installing_writes_nothing_here(folder):
    """Whoever installs may be another user than the one that built: nothing here is written, and root leaves nothing behind."""
    def everything():
        # What other tests write meanwhile is below build too: there, what an install reads or could make is looked at.
        places = [*Path("host-driver").rglob("*"), *Path("docs").rglob("*"), Path("build/ferry"), Path("build/ferry-sim"),
                  Path("build/libferry.a"), *Path("build/library").rglob("*"), *Path("build/generated").rglob("*"),
                  *Path("build/firmware").rglob("*"), *Path("build/obj").rglob("*")]
        return {str(path): (path.lstat().st_mtime_ns, path.lstat().st_uid, path.lstat().st_ino)
                for path in places if path.is_file() or path.is_symlink()}
    before = everything()
    os.chmod(folder, 0o777)
    run(*somebody_else(), "make", f"DESTDIR={folder}/tree", "install", environment={"HOME": folder})
    after = everything()
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert not changed, changed
    assert Path(folder, "tree/usr/local/bin/ferry").exists()


def places_are_given_whole(folder):
    for name in ("PREFIX", "prefix", "libdir", "mandir"):
        done = subprocess.run(["make", f"DESTDIR={folder}", f"{name}=here/there", "install"], capture_output=True, text=True,
                              check=False, env=ENVIRONMENT)
        assert done.returncode != 0 and "does not begin with a slash" in done.stderr, (name, done)
        assert not list(Path(folder).iterdir()), name


def what_pkg_config_cannot_be_told_is_refused(folder):
    for name in ("a\"b", "a\\"):
        done = subprocess.run(["make", f"DESTDIR={folder}", f"PREFIX=/x/{name}", "install"], capture_output=True, text=True, check=False,
                              env=ENVIRONMENT)
        assert done.returncode != 0 and "pkg-config cannot be told of" in done.stderr, (name, done)
        assert not list(Path(folder).iterdir()), name
    for name in ("a#b", "a${b}c"):
        places = dict.fromkeys("prefix exec_prefix bindir libdir includedir datarootdir man1dir man7dir udevrulesdir".split(), f"/x/{name}")
        others = {"DESTDIR": folder, "BUILD": folder, "version": VERSION, "libs_private": ""}
        done = subprocess.run(["sh", "host-driver/package/install.sh", "install"], capture_output=True, text=True, check=False,
                              env=ENVIRONMENT | places | others)
        assert done.returncode != 0 and "pkg-config cannot be told of" in done.stderr, (name, done)
        assert not list(Path(folder).iterdir()), name


def built_elsewhere(folder, *arguments, **environment):
    """What make would do for an install if nothing was built."""
    for name in ("tools.mk", "setup.mk"):
        shutil.copy2(f"build/{name}", folder)
    return make("-n", f"BUILD={folder}", "VENV=build/venv", "-o", f"{folder}/tools.mk", "-o", "build/venv/ready",
                "-o", f"{folder}/setup.mk", *arguments, "install", **environment)


def a_distributions_flags_are_used(folder):
    """Behind ours, but for what a shared library and an object of all of it cannot do without. Tests are compiled as ever."""
    flags = {"CFLAGS": "-O1 -flto -fPIE -DIN_C", "CXXFLAGS": "-O1 -flto -fPIE -DIN_CXX", "CPPFLAGS": "-DIN_BOTH",
             "LDFLAGS": "-Wl,--as-needed"}
    given = [f"{name}={value}" for name, value in flags.items()]
    for arguments, environment in ((given, {}), ([], flags)):
        commands = [line.split() for line in built_elsewhere(folder, *arguments, **environment).replace("\\\n", " ").splitlines()]
        c = [words for words in commands if words[:1] == ["gcc"] and "-c" in words]
        cxx = [words for words in commands if words[:1] == ["g++"] and "-c" in words]
        links = [words for words in commands if words[:1] == ["g++"] and "-c" not in words]
        assert len(c) > 100 and len(cxx) > 8 and len(links) == 3, (len(c), len(cxx), links)
        for words in [*c, *cxx]:
            assert [word for word in words if word.startswith("-DIN_")] == ["-DIN_BOTH", "-DIN_C" if words in c else "-DIN_CXX"], words
            last = [[word for word in words if re.fullmatch(alike, word)][-1] for alike in ("-O.", "-fPI[CE]", "-f(no-)?lto")]
            assert last == ["-O1", "-fPIC", "-fno-lto"], (last, words)
        assert all(words[1] == "-Wl,--as-needed" for words in links), links
    said = make("-n", "-W", "host-driver/link/tlp.c", "-o", "build/flags", *given, "build/obj/host-driver/link/tlp.o",
                "build/obj-san/host-driver/link/tlp.o")
    assert len(re.findall("^gcc .*-DIN_C ", said, re.M)) == 1 and len(re.findall("^gcc .*tlp.o$", said, re.M)) == 2, said


def warnings_can_be_let_pass(folder):
    """Of a compiler that has more of them than those that this was written with; of the firmware's too."""
    assert built_elsewhere(folder).count("-Werror") > 100
    assert "-Werror" not in built_elsewhere(folder, "WARNINGS=")


def what_is_not_built_is_built_first(folder):
    said = built_elsewhere(folder)
    for step in ("verilator --cc", "image.py", "handles.c", f"libferry.so.{VERSION}", "objcopy", "install.sh install"):
        assert step in said, f"make install does not {step}"


def manual_pages_are_clean():
    assert not manual.complaints("docs/man"), manual.complaints("docs/man")
    for page in common().at.glob("share/man/*/*"):
        assert f"Pageferry {VERSION}" in manual.rendered(page)[0] and "@" not in page.read_text().split("\n.SH")[0], page


def the_tools_page_has_what_the_tool_has():
    found = manual.differences(f"{common().at}/bin/ferry", f"{common().at}/share/man/man1/ferry.1")
    assert not found, found


def the_simulators_page_has_what_the_simulator_has():
    found = manual.option_differences(f"{common().at}/bin/ferry-sim", f"{common().at}/share/man/man1/ferry-sim.1")
    assert not found, found


def the_librarys_page_names_calls_that_are_there():
    assert not manual.unnamed_calls("docs/man/libferry.7", declared()), manual.unnamed_calls("docs/man/libferry.7", declared())


CASES = [exactly_these_files_are_installed, folders_can_be_entered_whatever_the_umask, the_shared_library_shows_what_the_headers_declare,
         the_static_library_shows_the_same, the_shared_library_stands_on_the_system_alone, nothing_names_the_place_where_it_was_built,
         headers_stand_alone_in_c, headers_stand_alone_in_cplusplus, calls_have_c_names_in_cplusplus,
         the_example_runs_on_the_shared_library, the_example_runs_on_the_static_library, our_library_alone_can_be_static,
         a_verilated_runtime_beside_it_is_another_one, the_tool_runs_from_its_new_place, the_simulator_serves_from_its_new_place,
         what_a_program_prints_goes_to_no_device, why_there_is_no_adapter_is_told, adapters_are_opened_again_and_again,
         pkg_config_tells_of_other_places, the_loaders_cache_is_made_anew_by_root_for_the_running_system,
         what_was_a_link_is_replaced_not_written_through,
         what_depends_on_the_machine_can_stand_elsewhere, the_shared_library_is_bound_when_it_is_loaded,
         installing_writes_nothing_here,
         places_are_given_whole, what_pkg_config_cannot_be_told_is_refused,
         what_is_not_built_is_built_first, a_distributions_flags_are_used, warnings_can_be_let_pass, manual_pages_are_clean,
         the_tools_page_has_what_the_tool_has,
         the_simulators_page_has_what_the_simulator_has,
         the_librarys_page_names_calls_that_are_there]


if __name__ == "__main__":
    sys.exit(run_cases(CASES))
