#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs proofs, each a case: those that `make test` has (quick), or the ones that are named. Without names it reads the long
ones too, so that a module which they do not know of is missed before somebody has the hours to prove them.

Usage: run.py LIST [NAME...]. LIST has a line a proof: quick or long, its name, and what prove.sh is to be told. The quick ones
have a minute of processor time together, half as much again on a busy machine. A loop of this script's own, timed between them,
says how fast the machine is: a slow one has a longer minute. A fast one has no shorter one: where the machine is shared the loop
takes 0.15 to 0.30 s from one moment to the next, and a solver does not follow it.
"""
import resource
import shlex
import statistics
import subprocess
import sys
import time

MINUTE = 60.0
BUSY = 1.5  # Neighbours on the machine cost a solver more than they cost the ruler: its caches.
RULER_SECONDS = 0.30  # The most that the loop takes where a minute is a minute.
STEPS = 3  # Which of prove.sh's words says how far it goes; "0" reads alone.
BETWEEN = 3  # Proofs from one loop to the next.


def ruler():
    start = time.process_time()
    total = 0
    for i in range(4_000_000):
        total += i & 7
    return time.process_time() - start


def prove(name, arguments):
    said = subprocess.run(["tests/formal/prove.sh", *arguments], capture_output=True, text=True)
    if said.returncode == 0:
        print(f"[       OK ] formal_{name}", flush=True)
    else:
        print(said.stdout + said.stderr + f"[  FAILED  ] formal_{name}", flush=True)
    return said.returncode == 0


def read_alone(name, arguments):
    return prove(f"{name}_is_read", [*arguments[:STEPS], "0", *arguments[STEPS + 1 :]])


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        proofs = [shlex.split(line) for line in file]
    names = sys.argv[2:]
    chosen = [p for p in proofs if p[1] in names] if names else [p for p in proofs if p[0] == "quick"]
    if len(chosen) < max(1, len(names)):
        raise SystemExit(f"formal: no such proof among {' '.join(p[1] for p in proofs)}")
    good, loops = True, []
    for number, proof in enumerate(chosen):
        if number % BETWEEN == 0:
            loops.append(ruler())
        good = prove(proof[1], proof[2:]) and good
    if not names:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = used.ru_utime + used.ru_stime
        loop = statistics.mean(loops)
        short = spent < MINUTE * BUSY * max(1, loop / RULER_SECONDS)
        print(f"[{'       OK ' if short else '  FAILED  '}] formal_in_a_minute: {spent:.0f} s of processor time, the loop {loop:.2f} s")
        good = good and short
        for proof in proofs:
            if proof[0] == "long":
                good = read_alone(proof[1], proof[2:]) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
