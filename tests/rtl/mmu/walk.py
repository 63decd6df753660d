#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Walks the random tables that the page-table unit was asked about, by docs/manual/page-tables.md alone, and compares answers.

usage: walk.py PROGRAM      (called with a file's name, PROGRAM writes into it the tables as they are in memory, and the unit's answers)
"""
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = 1 << 12
NONE, RANGE, PROTECTED, ABSENT, READ_ONLY, ERROR, ENTRY, TABLE_RANGE = 0, 5, 6, 17, 18, 19, 20, 21


class Tables:
    def __init__(self, local, protect_base, protect_limit):
        self.local, self.protected = local // PAGE, range(protect_base // PAGE, -(-protect_limit // PAGE))
        self.roots, self.words, self.bad = {}, {}, set()

    def faulty(self, entry, level, number):
        """What the rules for an entry forbid."""
        snoop, rights, leaf, group = entry & 4, entry & 0x58, entry & 0x20, entry & 0x40
        target = entry >> 12
        return (entry >> 52 or entry & 0xf80 or (snoop and not entry & 2) or (not leaf and rights)
                or (level == 0 and not leaf) or (level >= 2 and leaf)
                or (level == 0 and group and (target ^ number) % 16) or (level == 1 and leaf and (group or target % 512)))

    def walk(self, space, address, write, privileged):
        """(fault, in host memory, snooped, address, level, entry) as the unit tells it."""
        valid, in_host, height, table = self.roots[space]
        number = address // PAGE
        indices = [number >> 9 * level & 511 for level in range(height + 1)]
        if not valid:
            return ABSENT, 0, 0, 0, height, 0
        if number >> 9 * (height + 1):
            return RANGE, 0, 0, 0, height, 0
        if not in_host and table // PAGE >= self.local:
            return TABLE_RANGE, 0, 0, 0, height, 0
        while True:
            place = (in_host, table + 8 * indices[height])
            entry = self.words.get(place, 0)
            shown = 0 if not in_host and table // PAGE in self.protected else entry
            target = entry >> 12 & (1 << 40) - 1
            pages = 512 if height else 16 if entry & 0x40 else 1
            first = target - target % pages
            where = range(first, first + pages)
            fault = NONE
            if place in self.bad:
                fault = ERROR
            elif not entry & 1:
                fault = ABSENT
            elif self.faulty(entry, height, number):
                fault = ENTRY
            elif not entry & 0x20:
                if not entry & 2 and target >= self.local:
                    fault = TABLE_RANGE
                else:
                    in_host, table, height = entry >> 1 & 1, target * PAGE, height - 1
                    continue
            elif not entry & 2 and where[-1] >= self.local:
                fault = RANGE
            elif not privileged and (entry & 0x10 or (not entry & 2 and self.overlaps(where))):
                fault = PROTECTED
            elif write and entry & 8:
                fault = READ_ONLY
            if fault:
                return fault, 0, 0, 0, height, shown
            return NONE, entry >> 1 & 1, entry >> 2 & 1, (first + number % pages) * PAGE, 0, 0

    def overlaps(self, where):
        return len(self.protected) > 0 and where.start < self.protected.stop and where.stop > self.protected.start


def main():
    program, = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:  # Several seeds may run at once.
        path = Path(folder) / "tables"
        print(subprocess.run([program, path], check=True, stdout=subprocess.PIPE, text=True).stdout.strip())
        return compare(path)


def compare(path):
    tables, compared, faults, wrong = None, 0, set(), []
    with open(path, encoding="ascii") as file:
        for line in file:
            what, *numbers = line.split()
            numbers = [int(number) for number in numbers]
            if what == "tables":
                tables = Tables(*numbers)
            elif what == "root":
                tables.roots[numbers[0]] = tuple(numbers[1:])
            elif what == "word":
                tables.words[numbers[0], numbers[1]] = numbers[2]
            elif what == "bad":
                tables.bad.add((numbers[0], numbers[1]))
            else:
                expected = tables.walk(*numbers[:4])
                compared += 1
                faults.add(expected[0])
                if expected != tuple(numbers[4:]):
                    wrong.append(f"space {numbers[0]}, {numbers[1]:#x}: {numbers[4:]}, not {expected}")
    enough = compared == 10000 and faults >= {NONE, PROTECTED, ABSENT, READ_ONLY}
    if wrong or not enough:
        print(f"[  FAILED  ] page_tables_as_python_walks_them: {wrong[0] if wrong else f'{compared} answers, faults {faults}'}")
    else:
        print(f"[       OK ] page_tables_as_python_walks_them\n    {compared} answers, faults {sorted(faults)}")
    return bool(wrong or not enough)


if __name__ == "__main__":
    sys.exit(main())
