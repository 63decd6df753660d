#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ferry fault` on both back ends: every line of every walk is worked out here from the address and from the entries that the
tool prints, by the layout of docs/manual/page-tables.md, and held against what the device's record says."""
import os
import re
import subprocess
import sys
from pathlib import Path

FERRY, FAKE = Path.cwd() / "build/ferry", Path.cwd() / "build/tests/parts/ferry-fake"
VALID, HOST, READ_ONLY, LEAF, GROUP = 1, 2, 8, 32, 64
PAGE = (1 << 52) - (1 << 12)
CAUSE = re.compile(r"  (\w+): (read|write) of 0x([0-9a-f]+), space (\d+); entry 0x([0-9a-f]+) at level (\d); (\d+) bytes")
STEP = re.compile(r"  level (\d)  table 0x([0-9a-f]+)  entry +(\d+)  0x([0-9a-f]{16})  (.*)")
# What each job does: cause, access, address, level, bytes written before.
SCENES = [("PAGE_ABSENT", "write", 0x10008000, 0, 16), ("PAGE_ABSENT", "read", 0x123456789ABC, 3, 0),
          ("PAGE_READ_ONLY", "write", 0x200000008, 0, 0), ("PAGE_ABSENT", "write", 0x10000000, None, 0)]
results = []


def check(good, name, detail=""):
    results.append(bool(good))
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}", flush=True)


def leads_to(level, entry, address):
    place = entry & PAGE
    if not entry & VALID:
        return "leads nowhere"
    if not entry & LEAF:
        return f"to the table at 0x{place:x}" + (" of host memory" if entry & HOST else "")
    size = {0: 12, 1: 21}[level]
    memory = "host memory" if entry & HOST else "video memory"
    page = "2 MiB" if level else "64 KiB" if entry & GROUP else "4 KiB"
    return f"in a page of {page}, at 0x{place + address % (1 << size):x} of {memory}" + (", read only" if entry & READ_ONLY else "")


def walk_is_right(lines, scene, tables):
    cause, access, address, level, written = scene
    first = CAUSE.match(lines[1])
    steps = [STEP.match(line) for line in lines[2:]]
    if not first or None in steps or not steps:
        return "lines that are none"
    seen = first[1], first[2], int(first[3], 16), int(first[6]), int(first[7])
    if seen != (cause, access, address, seen[3] if level is None else level, written):
        return f"the record says {seen}"
    table = None
    for number, step in enumerate(steps):
        height, entry = int(step[1]), int(step[4], 16)
        index = address >> 12 + 9 * height & 511
        if height != 3 - number or int(step[3]) != index or (table is not None and int(step[2], 16) != table):
            return f"level {height}: entry {step[3]} of table 0x{step[2]}"
        if step[5] != leads_to(height, entry, address):
            return f"level {height}: {step[5]}"
        if entry & VALID and not entry & LEAF and bool(entry & HOST) != (tables == "system"):
            return f"level {height}: a table elsewhere than {tables}"
        ends = not entry & VALID or bool(entry & LEAF)
        if ends != (number == len(steps) - 1):
            return f"level {height} is not the end, or there is one behind it"
        table = entry & PAGE
    last = steps[-1]
    if (int(last[1]), int(last[4], 16)) != (int(first[6]), int(first[5], 16)):
        return "the last line is not what the device saw"
    return ""


for backend, tables in (("model", "video"), ("sim", "video"), ("model", "system"), ("sim", "system")):
    done = subprocess.run([FERRY, "fault", "--backend", backend, "--tables", tables], capture_output=True, text=True, timeout=600,
                          check=False)
    check(done.returncode == 0 and not done.stderr, f"{backend}_{tables}_faults_as_it_should", f"exit {done.returncode}: {done.stderr}")
    scenes = [part.splitlines() for part in done.stdout.strip().split("\n\n")]
    check(len(scenes) == len(SCENES), f"{backend}_{tables}_has_every_scene", done.stdout)
    for lines, scene in zip(scenes, SCENES):
        wrong = walk_is_right(lines, scene, tables)
        check(not wrong, f"{backend}_{tables}_{lines[0].replace(' ', '_')}", f"{wrong}\n" + "\n".join(lines))

# A device that tells of one fault what is not so (fake_ferry.h): it is named, the others are shown, and the exit code is 1.
OTHER, UNTOLD = "  the device has seen another entry", "  the device has told of no walk"
for kind, words in (("walk", None), ("stale", OTHER), ("level", OTHER), ("untold", UNTOLD)):
    for number in range(1, len(SCENES) + 1):
        done = subprocess.run([FAKE, "fault"], env=os.environ | {"FERRY_FAKE": f"{kind}:{number}"}, capture_output=True, text=True,
                              timeout=60, check=False)
        odd = [[line for line in part.splitlines() if line in (OTHER, UNTOLD)] for part in done.stdout.strip().split("\n\n")]
        want = [[words] if words and i == number else [] for i in range(1, len(SCENES) + 1)]
        check(odd == want and done.returncode == bool(words) and not done.stderr, f"a_device_that_tells_{kind}_{number}", done)
for number in range(1, len(SCENES) + 1):
    done = subprocess.run([FAKE, "fault"], env=os.environ | {"FERRY_FAKE": f"none:{number}"}, capture_output=True, text=True, timeout=60,
                          check=False)
    check(done.returncode == 4 and done.stderr.startswith("ferry: back end 'sim': wait for a fault: UNSUPPORTED: "),
          f"a_job_that_does_not_fault_{number}", done)

print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
sys.exit(0 if results and all(results) else 1)
