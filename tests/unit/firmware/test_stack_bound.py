# SPDX-License-Identifier: Apache-2.0
"""firmware/stack_bound.py must refuse what has no bound or one over the limit: compiled for real, with the firmware's compiler."""

import pathlib
import subprocess
import sys
import tempfile

FLAGS = "-std=c11 -march=rv32i -mabi=ilp32 -Os -ffreestanding -fcallgraph-info=su -c".split()

GOOD = """
__attribute__((noinline)) int leaf(volatile int *p); int leaf(volatile int *p) { volatile int room[20]; room[0] = *p; return room[0]; }
int top(volatile int *p); __attribute__((noinline)) static int middle(volatile int *p) { return leaf(p) + 1; }
int top(volatile int *p) { return middle(p) + middle(p); }
"""
RECURSIVE = """
int top(int n); __attribute__((noinline)) static int other(int n) { return n > 0 ? top(n - 1) * 3 + n : 0; }
int top(int n) { volatile int kept = other(n); return kept; }
"""
INDIRECT = "int top(int (*f)(int)); int top(int (*f)(int)) { return f(1) + 1; }"
DYNAMIC = """
int top(unsigned n); int top(unsigned n)
{ volatile int room[n]; for (unsigned i = 0; i < n; i++) room[i] = 1; return room[n / 2]; }
"""
UNKNOWN = "int elsewhere(int); int top(int n); int top(int n) { return elsewhere(n) + 1; }"


def run(source: str, limit: int) -> tuple[int, str]:
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "case.c")
        file.write_text(source)
        compiler = ["riscv64-unknown-elf-gcc", *FLAGS, str(file), "-o", str(file.with_suffix(".o"))]
        subprocess.run(compiler, check=True)
        found = pathlib.Path(folder, "found")
        command = [sys.executable, "firmware/stack_bound.py", "--limit", str(limit), "--root", "top", "--write", str(found)]
        result = subprocess.run([*command, str(file.with_suffix(".ci"))], capture_output=True, text=True)
        if found.exists():  # Which it is where the bound holds, and nowhere else.
            return result.returncode, result.stdout + f"written: {found.read_text()}"
        return result.returncode, result.stdout + result.stderr


def main() -> int:
    code, text = run(GOOD, 4096)
    depth = int(text.split("stack bound: ")[1].split()[0]) if code == 0 else 0
    cases = [
        ("a chain under the limit passes", code == 0 and depth >= 80 and "top" in text and "leaf" in text),
        ("the linker is told the bytes found", text.endswith(f"written: {depth}\n") and "written" not in run(GOOD, depth - 1)[1]),
        ("a chain at the limit passes", run(GOOD, depth)[0] == 0),
        ("a chain over the limit fails", run(GOOD, depth - 1)[0] == 1),
        ("recursion fails", "recursion" in run(RECURSIVE, 4096)[1] and run(RECURSIVE, 4096)[0] == 1),
        ("a call through a pointer fails", "pointer" in run(INDIRECT, 4096)[1]),
        ("a frame of run-time size fails", "dynamic" in run(DYNAMIC, 4096)[1]),
        ("an unknown function fails", "elsewhere" in run(UNKNOWN, 4096)[1]),
    ]
    for name, good in cases:
        print(f"[{'       OK' if good else '  FAILED '} ] {name.replace(' ', '_')}")
    failed = sum(not good for _, good in cases)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
