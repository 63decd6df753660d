#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is left after `make uninstall`: nothing of ours, and all that is not; also where it was installed more than once, or beside
another release.

usage: test_uninstall.py    (from the repository root, after what is installed was built)
"""
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path[:0] = ["tests/setup", "tests/install"]
from cases import run_cases  # noqa: E402
from installed import ENVIRONMENT, SONAME, Installed, make  # noqa: E402


def state(tree):
    return {name: hashlib.sha256((tree.at / name).read_bytes()).hexdigest() for name in tree.files()}


def installing_again_changes_nothing_and_uninstalling_leaves_what_is_not_ours(folder):
    tree = Installed(folder)
    before = state(tree)
    with open(tree.at / "bin/ferry", "rb") as running:
        make(f"DESTDIR={tree.root}", "install")
        assert state(tree) == before
        assert os.fstat(running.fileno()).st_nlink == 0, "a program that runs is written into"
    (tree.at / "lib/libother.so").write_text("")
    (tree.at / "include/ferry/theirs.h").write_text("")
    for _ in range(2):
        make(f"DESTDIR={tree.root}", "uninstall")
        assert tree.files() == ["include/ferry/theirs.h", "lib/libother.so"], tree.files()
    (tree.at / "include/ferry/theirs.h").unlink()
    make(f"DESTDIR={tree.root}", "uninstall")
    assert not (tree.at / "include/ferry").exists()


def folders(root):
    return sorted(str(path.relative_to(root)) for path in Path(root).rglob("*") if path.is_dir())


def uninstalling_takes_the_folders_that_the_install_made_and_no_others(folder):
    root = Path(folder, "a place")
    for before in ([], ["usr/local/bin", "usr/local/share/man/man7"], ["usr/local/lib/pkgconfig", "usr/local/include/ferry"]):
        for name in before:
            Path(root, name).mkdir(parents=True)
        was = folders(root)
        for _ in range(2):  # The second finds its folders there, and they are the first's.
            make(f"DESTDIR={root}", "install")
        make(f"DESTDIR={root}", "uninstall")
        # One folder is ours alone, whoever made it.
        assert folders(root) == [name for name in was if name != "usr/local/include/ferry"], (before, folders(root))
        assert root.exists() == bool(before)
        shutil.rmtree(root, ignore_errors=True)
    make(f"DESTDIR={root}", "install")
    Path(root, "usr/local/share/theirs").write_text("")
    make(f"DESTDIR={root}", "uninstall")
    assert folders(root) == ["usr", "usr/local", "usr/local/share"], folders(root)
    # Places outside of the prefix, and slashes in plenty.
    shutil.rmtree(root)
    Path(root, "opt").mkdir(parents=True)
    places = ["PREFIX=/opt//it/", "libdir=/lib/x", "mandir=/man/", "includedir=/opt/h"]
    make(f"DESTDIR={root}/", *places, "install")
    assert Path(root, "lib/x/libferry.so").exists()
    make(f"DESTDIR={root}/", *places, "uninstall")
    assert folders(root) == ["opt"], folders(root)


def uninstalling_looks_where_the_installs_put_things(folder):
    """Two installs with places of their own below one prefix; who uninstalls tells the prefix alone."""
    root = Path(folder, "a place")
    Path(root, "usr").mkdir(parents=True)
    for places in (["libdir=/usr/local/lib 64", "mandir=/usr/local/man"], ["bindir=/opt/bin", "includedir=/usr/local/h"]):
        make(f"DESTDIR={root}", *places, "install")
    done = subprocess.run(["make", f"DESTDIR={root}", "uninstall"], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 0 and not done.stderr, done
    assert [str(path.relative_to(root)) for path in root.rglob("*")] == ["usr"], list(root.rglob("*"))
    # Where nothing says what was put where, that is said, and what stands elsewhere is left.
    make(f"DESTDIR={root}", "libdir=/usr/lib64", "install")
    done = subprocess.run(["make", f"DESTDIR={root}", "PREFIX=/opt", "uninstall"], capture_output=True, text=True, check=False,
                          env=ENVIRONMENT)
    assert done.returncode == 0, done
    assert f"uninstall: no {root}/opt/share/pageferry/folders" in done.stderr and "/opt/lib," in done.stderr, done.stderr
    assert Path(root, "usr/local/bin/ferry").exists() and Path(root, "usr/lib64/libferry.so").exists()


def uninstalling_a_copy_leaves_what_it_was_copied_from(folder):
    """The list in a copied tree names the places of the first one."""
    first = Installed(folder, "/first")
    copy = Path(first.root, "copy")
    before = state(first)
    shutil.copytree(first.at, copy, symlinks=True)
    done = subprocess.run(["make", f"DESTDIR={first.root}", "PREFIX=/copy", "uninstall"], capture_output=True, text=True, check=False,
                          env=ENVIRONMENT)
    assert done.returncode == 0 and "is of an install that has it elsewhere" in done.stderr, done
    assert state(first) == before, first.files()
    assert not [path for path in copy.rglob("*") if not path.is_dir()], list(copy.rglob("*"))
    # A list that says nothing of places, as it was once written.
    kept = Path(first.at, "share/pageferry/folders")
    kept.write_text("".join(line for line in kept.read_text().splitlines(True) if line.startswith("/")))
    done = subprocess.run(["make", f"DESTDIR={first.root}", "PREFIX=/first", "uninstall"], capture_output=True, text=True, check=False,
                          env=ENVIRONMENT)
    assert done.returncode == 0 and "does not say where things were put" in done.stderr, done
    assert not first.at.exists(), first.files()


def another_release_keeps_its_links(folder):
    tree = Installed(folder)
    libraries = tree.at / "lib"
    (libraries / "libferry.so.0.99.0").write_bytes(b"newer")
    (libraries / "libferry.so.0").unlink()
    (libraries / "libferry.so.0").symlink_to("libferry.so.0.99.0")
    make(f"DESTDIR={tree.root}", "uninstall")
    left = sorted(path.name for path in libraries.glob("libferry*"))
    assert left == ["libferry.so", "libferry.so.0", "libferry.so.0.99.0"], left
    assert (libraries / "libferry.so").read_bytes() == b"newer"


def an_older_release_has_its_links_back(folder):
    tree = Installed(folder)
    libraries = tree.at / "lib"
    for name in ("libferry.so.0.0.9", "libferry.so.0.0.10"):
        (libraries / name).write_text(name)
    make(f"DESTDIR={tree.root}", "uninstall")
    assert os.readlink(libraries / SONAME) == "libferry.so.0.0.10" and os.readlink(libraries / "libferry.so") == SONAME


CASES = [installing_again_changes_nothing_and_uninstalling_leaves_what_is_not_ours,
         uninstalling_takes_the_folders_that_the_install_made_and_no_others,
         uninstalling_looks_where_the_installs_put_things,
         uninstalling_a_copy_leaves_what_it_was_copied_from,
         another_release_keeps_its_links,
         an_older_release_has_its_links_back]


if __name__ == "__main__":
    sys.exit(run_cases(CASES))
