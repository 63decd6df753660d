#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do the tests see mistakes? Each mutation of tests/mutation/*.txt is a mistake that people make. It is made in a copy of
the tree, one at a time; the test that it names must fail then. Prints what was caught and what survived.

A mutation:
    = one line that says what is wrong then
    in host-driver/vidmm            a folder, or a file; everything below it is searched, so that files may move
    - what the text says            tokens; how they are spread over lines means nothing; must be found exactly once
    + what it says then
    by contract_order a_lock_waits  program (several: a,b) and case; what the case's name begins with is enough

Several - and + lines belong together. A mutation whose text is not found once no longer applies, which is an error of its
own: the code moved on, and the mutation must follow. Usage: run.py [--sample N] [--only TEXT] [--check] [--jobs N].
"""
import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import run_tests  # noqa: E402

run_tests.LIMIT_SECONDS = 240  # A mistake may hang: that is a case that fails.

# A mistake may leave something unused; the compiler's word on that is not the test that is asked for.
SILENCED = "".join(f'#pragma GCC diagnostic ignored "-W{name}"\n' for name in (
    "unused-function", "unused-variable", "unused-parameter", "unused-but-set-variable", "misleading-indentation",
    "empty-body", "type-limits"))
SUFFIXES = {".c", ".h", ".v", ".vh", ".cpp", ".S"}
QUICK = ("contract_", "test_umd", "dma_map")  # A sample is drawn of what these programs catch: one file to compile each.


class Mutation:
    def __init__(self, source, line, says):
        self.source, self.line, self.says = source, line, says
        self.room, self.old, self.new, self.programs, self.case = "", [], [], [], ""

    def __str__(self):
        return f"{self.source}:{self.line}: {self.says}"

    def place(self, root):
        """(file, text before, text after); a string says why there is none."""
        below = root / self.room
        files = [below] if below.is_file() else sorted(p for p in below.rglob("*") if p.suffix in SUFFIXES)
        # Tokens with any white space between them.
        tokens = re.findall(r"\w+|[^\w\s]", " ".join(self.old))
        pattern = re.compile(r"(?<!\w)" * tokens[0][0].isalnum() + r"\s*".join(map(re.escape, tokens)))
        found = [(path, match) for path in files for match in pattern.finditer(path.read_text(encoding="utf-8"))]
        if len(found) != 1:
            return f"its text stands {len(found)} times below {self.room}"
        path, match = found[0]
        text = path.read_text(encoding="utf-8")
        return path, text, text[:match.start()] + "\n".join(self.new) + text[match.end():]


def read(paths):
    mutations = []
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            word, _, rest = line.partition(" ")
            if word == "=":
                mutations.append(Mutation(path.name, number, rest))
            elif not line.strip() or word == "#":
                continue
            elif word == "in":
                mutations[-1].room = rest
            elif word == "-":
                mutations[-1].old.append(rest)
            elif word == "+":
                mutations[-1].new.append(rest)
            elif word == "by":
                programs, _, mutations[-1].case = rest.partition(" ")
                mutations[-1].programs = programs.split(",")
            else:
                raise SystemExit(f"mutation: {path}:{number}: neither = in - + by")
    for mutation in mutations:
        if not (mutation.room and mutation.old and mutation.programs and mutation.case):
            raise SystemExit(f"mutation: {mutation}: incomplete")
    return mutations


LARGE = {"verilated", "sim", "system", "timing", "obj-threads", "obj-tsan", "firmware-core"}  # Nothing quick is made of them.


def copy_tree(scratch, quick):
    """The tree as it is, and what was built of it with its times, so that only what a mutation changes is built again."""
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, listed):
        if (ROOT / name).is_file():
            (scratch / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, scratch / name)
    (scratch / "build").mkdir()
    for path in (ROOT / "build").iterdir():
        if path.name == "venv":
            (scratch / "build" / "venv").symlink_to(path.resolve())
        elif path.is_dir() and not path.name.startswith("mutation") and path.name not in ("logs", "bench"):
            if not (quick and path.name in LARGE):
                shutil.copytree(path, scratch / "build" / path.name, symlinks=True,
                                ignore=shutil.ignore_patterns("rtl_*", "bench*", "cocotb*") if quick else None)
        elif path.is_file():
            shutil.copy2(path, scratch / "build" / path.name)


def make(scratch, programs, jobs):
    # Not the maker's own flags: this make has a tree of its own.
    clean = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    return subprocess.run(["make", f"-j{jobs}", *(f"build/tests/{program}" for program in programs)], cwd=scratch,
                          env=dict(clean, GIT_DIR=str(ROOT / ".git")), capture_output=True, text=True)


def failures(programs, scratch):
    """Cases that fail, and all there are."""
    failed, every = [], []
    os.chdir(scratch)
    for program in programs:
        result = run_tests.run(f"build/tests/{program}", 1)
        every += result.cases
        failed += [case for case, good in result.cases.items() if not good] or (["(no case)"] if result.failed else [])
    os.chdir(ROOT)
    return failed, every


def sound(programs, scratch, jobs, known):
    """Without any mistake, which cases pass? What fails there catches nothing."""
    for program in programs:
        if program not in known:
            built = make(scratch, [program], jobs)
            failed, every = failures([program], scratch) if built.returncode == 0 else ([], [])
            known[program] = [case for case in every if case not in failed]
    return [case for program in programs for case in known[program]]


def attempt(mutation, scratch, jobs, known):
    """What became of it: "caught", or in what way not."""
    if not any(case.startswith(mutation.case) for case in sound(mutation.programs, scratch, jobs, known)):
        return f"NO SUCH CASE PASSES without it: {mutation.case}"
    path, before, after = mutation.place(scratch)
    path.write_text((SILENCED if path.suffix == ".c" else "") + after, encoding="utf-8")
    try:
        built = make(scratch, mutation.programs, jobs)
        if built.returncode != 0:
            return "DOES NOT BUILD: " + (built.stdout + built.stderr).strip()[-600:]
        failed, _ = failures(mutation.programs, scratch)
        if any(case.startswith(mutation.case) for case in failed):
            return "caught"
        return f"SURVIVED {mutation.case}" + (f"; others failed: {' '.join(failed)}" if failed else "")
    finally:
        path.write_text(before, encoding="utf-8")
        later = time.time() + 1  # What is built next must take the text that is right again.
        os.utime(path, (later, later))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, help="so many, drawn by FERRY_SEED of those that are quick to try")
    parser.add_argument("--only", help="those whose line contains this")
    parser.add_argument("--check", action="store_true", help="only whether each applies")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--scratch", type=Path, default=ROOT / "build" / "mutation")
    arguments = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, run_tests.stop)  # Ends the test under way with its group.
    mutations = read(sorted((ROOT / "tests" / "mutation").glob("*.txt")))
    if arguments.only:
        mutations = [m for m in mutations if arguments.only in str(m)]
    stale = [(m, place) for m in mutations if isinstance(place := m.place(ROOT), str)]
    gone = {id(m) for m, _ in stale}
    for mutation, why in stale:
        print(f"[  FAILED  ] applies: {mutation}: {why}")
    if arguments.check:
        print(f"{len(mutations) - len(stale)} passed, {len(stale)} failed")
        return 1 if stale else 0
    if arguments.sample:
        seed = int(os.environ.get("FERRY_SEED", "1"))
        print(f"FERRY_SEED={seed}")
        able = [m for m in mutations if all(p.startswith(QUICK) for p in m.programs) and id(m) not in gone]
        mutations = random.Random(seed).sample(able, min(arguments.sample, len(able))) + [m for m, _ in stale]
    arguments.scratch = arguments.scratch.resolve()
    copy_tree(arguments.scratch, bool(arguments.sample))
    caught, known = 0, {}
    for mutation in (m for m in mutations if id(m) not in gone):
        start = time.monotonic()
        said = attempt(mutation, arguments.scratch, arguments.jobs, known)
        caught += said == "caught"
        name = re.sub(r"\W+", "_", mutation.says).strip("_")
        print(f"[       OK ] {name}" if said == "caught" else f"[  FAILED  ] {name}: {mutation.source}:{mutation.line}: {said}",
              f"({mutation.programs[0]} {mutation.case}, {time.monotonic() - start:.1f} s)", flush=True)
    print(f"{caught} passed, {len(mutations) - caught} failed")
    return 0 if caught == len(mutations) else 1


if __name__ == "__main__":
    sys.exit(main())
