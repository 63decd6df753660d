#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do the tests see mistakes? Each mutation of tests/mutation/*.txt is a mistake that people make. It is made in a copy of
the tree, one at a time; the test that it names must fail then. Prints what was caught and what survived.

A mutation:
    = one line that says what is wrong then
    in host-driver/vidmm            a folder, or a file; everything below it is searched, so that files may move
    - what the text says            tokens; how they are spread over lines means nothing; must be found exactly once
    + what it says then
    by contract_order a_lock_waits  program (several: a,b; each must see it) and case; the beginning of its name is enough
    by formal_WRITE_ORDER formal    a proof

Several - and + lines belong together. A mutation whose text is not found once no longer applies, which is an error of its
own: the code moved on, and the mutation must follow.

The copy stays from one run to the next, so that only what changed is built. What was caught is written down at once: a run
that was broken off goes on where it was, and a mutation is tried again when it, the file that it changes or the file that
its case stands in is another one (--anew tries all). Several runs at a time: each with its own --shard i/n.
Usage: run.py [--sample N] [--only TEXT] [--shard i/n] [--anew] [--check] [--jobs N].
"""
import argparse
import hashlib
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

CASE_SECONDS = 240  # A mistake may hang: that is a case that fails.
PROOF_SECONDS = 1800  # But a proof, or what cocotb runs, without the mistake may take that on a busy machine.

# A mistake may leave something unused; the compiler's word on that is not the test that is asked for.
SILENCED = "".join(f'#pragma GCC diagnostic ignored "-W{name}"\n' for name in (
    "unused-function", "unused-variable", "unused-parameter", "unused-but-set-variable", "misleading-indentation",
    "empty-body", "type-limits"))
SUFFIXES = {".c", ".h", ".v", ".vh", ".cpp", ".S"}
QUICK = ("contract_", "test_umd", "dma_map")  # A sample is drawn of what these programs catch: one file to compile each.
SLOW = ("rtl_", "firmware_", "tools", "system", "cocotb")  # These build a simulator or the firmware: the last ones of a whole run.
ON_SIM = "_sim"  # And so do those of the miniport's that end so.


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


def without_case(mutation):
    """Why its case cannot be there: a program of one source file, test_NAME.c, in which no such name begins."""
    for program in mutation.programs:
        name = re.sub(r"^(contract|test|vidmm)_|(_kmd)?(_sim)?$", "", program)
        sources = list((ROOT / "tests").rglob(f"test_{name}.c"))
        if sources and not any(re.search(rf"\b{re.escape(mutation.case)}", p.read_text(encoding="utf-8")) for p in sources):
            return f"no case of test_{name}.c is called {mutation.case}..."
    return None


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


# What quick programs are made of. Other tests run beside a sample, and what they write must not go under the copier's hands.
QUICK_PARTS = {"flags", "generated", "library", "obj", "obj-san", "obj-suite", "tests"}


def put(source, target):
    """A copy with its times, unless that is what stands there."""
    if target.is_file() and target.read_bytes() == source.read_bytes():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)  # Newer than what was built of the one before.
    shutil.copymode(source, target)


def copy_tree(scratch, quick):
    """The tree as it is. The first time with what was built of it and its times, so that only what a mutation changes is
    built again; later what stands there is brought up to date."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.split("\0")
    names = {name for name in listed if name and (ROOT / name).is_file()}
    if (scratch / "whole").is_file() and not quick:
        for path in [p for p in scratch.rglob("*") if p.is_file() and p.relative_to(scratch).parts[0] != "build"]:
            if str(path.relative_to(scratch)) not in names | {"whole"}:
                path.unlink()
        for name in names:
            put(ROOT / name, scratch / name)
        return
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for name in names:
        (scratch / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, scratch / name)
    (scratch / "build").mkdir()
    for path in (ROOT / "build").iterdir():
        if path.name in ("venv", "boards-venv"):
            (scratch / "build" / path.name).symlink_to(path.resolve())
        elif path.is_dir():
            if path.name in QUICK_PARTS if quick else not path.name.startswith("mutation") and path.name not in ("logs", "bench"):
                shutil.copytree(path, scratch / "build" / path.name, symlinks=True,
                                ignore=shutil.ignore_patterns("rtl_*", "bench*", "cocotb*", "firmware-core") if quick else None)
        elif path.is_file():
            shutil.copy2(path, scratch / "build" / path.name)
    (scratch / "whole").touch()


class Known:
    """What was caught before, a line each in a file; of the tree as it was copied."""

    def __init__(self, path, tree, anew):
        self.path, self.tree = path, tree
        self.lines = set()
        if path.is_file() and not anew:
            self.lines = set(path.read_text(encoding="utf-8").split())

    def key(self, mutation):
        texts = [mutation.room, *mutation.old, *mutation.new, *mutation.programs, mutation.case]
        place = mutation.place(self.tree)
        texts.append(place if isinstance(place, str) else place[1])
        folder = self.tree / "tests"
        texts += [p.read_text(encoding="utf-8") for p in sorted(folder.rglob("*")) if p.suffix in SUFFIXES | {".py"}
                  and mutation.case in p.read_text(encoding="utf-8")]
        return hashlib.sha256("\0".join(texts).encode()).hexdigest()

    def add(self, mutation):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(self.key(mutation) + "\n")


def make(scratch, programs, jobs):
    # Not the maker's own flags: this make has a tree of its own.
    clean = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    return subprocess.run(["make", f"-j{jobs}", *(f"build/tests/{program}" for program in programs)], cwd=scratch,
                          env=dict(clean, GIT_DIR=str(ROOT / ".git")), capture_output=True, text=True)


def outcome(program, scratch, case=""):
    """Cases that fail, and all there are. What cocotb runs is this case alone, as with a mistake each may hang for minutes."""
    os.chdir(scratch)
    run_tests.LIMIT_SECONDS = PROOF_SECONDS if program.startswith(("formal_", "cocotb")) else CASE_SECONDS
    os.environ |= {"CASE": case} if case and program.startswith("cocotb") else {}
    result = run_tests.run(f"build/tests/{program}", 1)
    os.environ.pop("CASE", None)
    os.chdir(ROOT)
    failed = [case for case, good in result.cases.items() if not good]
    if result.failed and not failed:  # A leak is told when the program ends: its cases have seen it together.
        failed = list(result.cases) if "LeakSanitizer: detected memory leaks" in result.output else ["(no case)"]
    return failed, list(result.cases)


def sound(program, scratch, jobs, known):
    """Without any mistake, which cases pass? What fails there catches nothing."""
    if program not in known:
        built = make(scratch, [program], jobs)
        failed, every = outcome(program, scratch) if built.returncode == 0 else ([], [])
        known[program] = [case for case in every if case not in failed]
    return known[program]


def attempt(mutation, scratch, jobs, known):
    """What became of it: "caught", or in what way not."""
    for program in mutation.programs:
        if not any(case.startswith(mutation.case) for case in sound(program, scratch, jobs, known)):
            return f"NO SUCH CASE PASSES without it in {program}: {mutation.case}"
    path, before, after = mutation.place(scratch)
    path.write_text((SILENCED if path.suffix == ".c" else "") + after, encoding="utf-8")
    try:
        built = make(scratch, mutation.programs, jobs)
        if built.returncode != 0:
            return "DOES NOT BUILD: " + (built.stdout + built.stderr).strip()[-600:]
        for program in mutation.programs:
            case = next(case for case in sound(program, scratch, jobs, known) if case.startswith(mutation.case))
            failed, _ = outcome(program, scratch, case)
            if not any(case.startswith(mutation.case) for case in failed):
                return f"SURVIVED {program} {mutation.case}" + (f"; others failed: {' '.join(failed)}" if failed else "")
        return "caught"
    finally:
        path.write_text(before, encoding="utf-8")
        later = time.time() + 1  # What is built next must take the text that is right again.
        os.utime(path, (later, later))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, help="so many, drawn by FERRY_SEED of those that are quick to try")
    parser.add_argument("--only", help="those whose line contains this")
    parser.add_argument("--shard", default="1/1", help="i/n: every n-th, beginning with the i-th")
    parser.add_argument("--anew", action="store_true", help="also what was caught before")
    parser.add_argument("--check", action="store_true", help="only whether each applies")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--scratch", type=Path, help="where the copy is; one for each shard otherwise")
    arguments = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, run_tests.stop)  # Ends the test under way with its group.
    # The manager first, the hardware last.
    mutations = read(sorted((ROOT / "tests" / "mutation").glob("*.txt"), reverse=True))
    if arguments.only:
        mutations = [m for m in mutations if arguments.only in str(m)]
    stale = [(m, why) for m in mutations
             if (why := place if isinstance(place := m.place(ROOT), str) else without_case(m))]
    gone = {id(m) for m, _ in stale}
    for mutation, why in stale:
        print(f"[  FAILED  ] applies: {mutation}: {why}")
    if arguments.check:
        print(f"{len(mutations) - len(stale)} passed, {len(stale)} failed")
        return 1 if stale else 0
    if arguments.sample:
        seed = int(os.environ.get("FERRY_SEED", "1"))
        print(f"FERRY_SEED={seed}")
        able = [m for m in mutations if all(p.startswith(QUICK) and not p.endswith(ON_SIM) for p in m.programs) and id(m) not in gone]
        mutations = random.Random(seed).sample(able, min(arguments.sample, len(able))) + [m for m, _ in stale]
    part, parts = map(int, arguments.shard.split("/"))
    scratch = (arguments.scratch or ROOT / "build" / f"mutation-{part}-{parts}").resolve()
    copy_tree(scratch, bool(arguments.sample))
    before = Known(ROOT / "build" / "mutation-caught", scratch, arguments.anew or bool(arguments.sample))
    mutations = sorted(mutations, key=lambda m: any(p.startswith(SLOW) or p.endswith(ON_SIM) for p in m.programs))[part - 1::parts]
    todo = [m for m in mutations if id(m) not in gone and before.key(m) not in before.lines]
    caught, known, survivors = sum(id(m) not in gone for m in mutations) - len(todo), {}, []
    if caught:
        print(f"{caught} were caught before", flush=True)
    for mutation in todo:
        start = time.monotonic()
        said = attempt(mutation, scratch, arguments.jobs, known)
        if said == "caught":
            caught += 1
            before.add(mutation)
        else:
            survivors.append(f"{mutation}: {said.splitlines()[0]}")
        name = re.sub(r"\W+", "_", mutation.says).strip("_")
        print(f"[       OK ] {name}" if said == "caught" else f"[  FAILED  ] {name}: {mutation.source}:{mutation.line}: {said}",
              f"({mutation.programs[0]} {mutation.case}, {time.monotonic() - start:.1f} s)", flush=True)
    for line in survivors:
        print(f"not caught: {line}")
    print(f"{caught} passed, {len(mutations) - caught} failed")
    return 0 if caught == len(mutations) else 1


if __name__ == "__main__":
    sys.exit(main())
