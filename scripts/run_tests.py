#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run test programs, two at a time, and add up what they print.

A program passes or fails cases in cmocka's form ("[       OK ] name", "[  FAILED  ] name") or ends with a line
"N passed, N failed". A program that ends with a nonzero status without a failed case counts as one failed case, so a
crash is never lost. Cases whose names begin with requirement numbers (R31_R36_name) go into the registry file, one line a
requirement: number, case, result. The last line printed is the sum.
"""
import argparse
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

OK = re.compile(r"^\[\s+OK\s+\] (\S+)")
FAILED = re.compile(r"^\[\s+FAILED\s+\] (\S+)$")
SUM = re.compile(r"^(\d+) passed, (\d+) failed")
NUMBER = re.compile(r"R(\d+)(?=_)")
LIMIT_SECONDS = 900  # A hang, not a speed limit: the slowest program takes a small part of it.


class Result:
    def __init__(self, program, output, status, seconds):
        self.program, self.output, self.status, self.seconds = program, output, status, seconds
        self.cases = {}
        last_sum = None
        for line in output.splitlines():
            if match := OK.match(line):
                self.cases.setdefault(match.group(1), True)
            elif match := FAILED.match(line):
                self.cases[match.group(1)] = False
            elif match := SUM.match(line):
                last_sum = int(match.group(1)), int(match.group(2))
        if last_sum is not None:
            self.passed, self.failed = last_sum
        else:
            self.passed = sum(self.cases.values())
            self.failed = len(self.cases) - self.passed
        if status != 0 and self.failed == 0:
            self.failed = 1
        if self.passed + self.failed == 0:
            self.failed = 1  # A test program that tests nothing is broken.


def run(program):
    start = time.monotonic()
    try:
        done = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=LIMIT_SECONDS, stdin=subprocess.DEVNULL, check=False)
        output, status = done.stdout, done.returncode
    except subprocess.TimeoutExpired as stop:
        output = (stop.stdout or b"").decode(errors="replace") + f"\nstopped after {LIMIT_SECONDS} s\n"
        status = -1
    except OSError as error:
        output, status = f"cannot run: {error}\n", -1
    return Result(program, output, status, time.monotonic() - start)


def write_registry(results, path):
    """One line a requirement and case, in the order of the numbers."""
    rows = []
    for result in results:
        for case, good in result.cases.items():
            prefix = re.match(r"(?:R\d+_)+", case)
            if prefix:
                rows += [(int(n), case, good, Path(result.program).name) for n in NUMBER.findall(prefix.group(0))]
    rows.sort()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"R{n}\t{program}/{case}\t{'pass' if good else 'FAIL'}\n" for n, case, good, program in rows))
    return len({n for n, *_ in rows}), len({n for n, _, good, _ in rows if not good})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--registry", type=Path, required=True)
    parser.add_argument("--logs", type=Path, required=True)
    parser.add_argument("programs", nargs="+")
    arguments = parser.parse_args()
    arguments.logs.mkdir(parents=True, exist_ok=True)
    results = []
    with ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
        for result in pool.map(run, arguments.programs):
            name = Path(result.program).name
            (arguments.logs / f"{name}.log").write_text(result.output)
            print(f"{'FAIL' if result.failed else 'ok  '} {name:32} {result.passed:5} passed {result.failed:3} failed"
                  f" {result.seconds:7.1f} s", flush=True)
            if result.failed:
                tail = result.output.splitlines()[-40:]
                print("".join(f"     | {line}\n" for line in tail), end="", flush=True)
            results.append(result)
    covered, broken = write_registry(results, arguments.registry)
    print(f"requirements with a test: {covered}, failing: {broken}; table in {arguments.registry}")
    passed, failed = sum(r.passed for r in results), sum(r.failed for r in results)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
