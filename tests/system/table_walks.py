#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges what two devices made of the same random programs of page tables.

usage: table_walks.py FILE PROGRAM [OPTION...]   (PROGRAM OPTION... --log FILE carries them out and writes FILE)

The walks are those of tests/rtl/mmu/walk.py, by docs/manual/page-tables.md alone. While edits race with jobs, each entry that a walk
reads may be the old or the new one; behind a FORGET that is wide enough, and of entries that nobody may remember behind the write, the
new one alone. So a job's access has a set of ends, one where nothing races: places, or faults with cause, level and entry. What is in
memory afterwards, each record of a fault and the counts of the rings are held against that, of both devices; where nothing raced, the
devices are compared with each other besides.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rtl", "mmu"))
from walk import NONE, PAGE, Tables  # noqa: E402

UNSUPPORTED, VIRTUAL = 10, 3
COPY, FILL, READ = range(3)
GROUP, TABLE, SPACE, ALL = range(4)
VALID, LEAF, GROUPED, RIGHTS = 0x1, 0x20, 0x40, 0x18


class Wrong(Exception):
    pass


class Entries:
    """Entries and roots, each with the values that a walk may find."""

    def __init__(self):
        # What must be forgotten before the old values are gone: (level, space, address) of the entry; level 4: all there is.
        self.last, self.pending, self.home = {}, {}, {}

    def options(self, place):
        return self.pending.get(place) or {self.last[place]} if place in self.last else None

    def edit(self, place, value, home):
        old = self.options(place) or {0}
        quiet = len(old) == 1 and place not in self.pending and place[0] != "root"
        before = next(iter(old))
        if not (quiet and (not before & VALID or (before & LEAF and value == before & ~RIGHTS))):
            self.home[place] = home
        self.pending[place] = set(old) | {value}
        self.last[place] = value

    def forget(self, scope, space, address):
        for place in list(self.pending):
            level, its, where = self.home.get(place, (None, None, None))
            if level is None or scope == ALL or (level < 4 and scope == SPACE and its == space) or (
                    level <= 1 and scope == TABLE and its == space and where >> 21 == address >> 21) or (
                    level == 0 and scope == GROUP and its == space and where >> 16 == address >> 16):
                self.settle(place)

    def landed(self):
        """Every write is done."""
        for place in [place for place in self.pending if place not in self.home]:
            self.settle(place)

    def settle(self, place):
        del self.pending[place]
        self.home.pop(place, None)

    def copy(self):
        other = Entries()
        other.last, other.pending, other.home = dict(self.last), {p: set(v) for p, v in self.pending.items()}, dict(self.home)
        return other


class Walker(Tables):
    """The walks that are allowed: one for each choice among the values of what is read."""

    def __init__(self, head, entries, memory):
        super().__init__(*head[:3])
        self.host, self.entries, self.memory = head[3], entries, memory
        self.roots, self.words, self.bad = self, self, self
        self.known = {}

    def choose(self, options):
        options = sorted(options)
        if self.at == len(self.path):
            self.path.append([0, len(options)])
        self.path[self.at][1] = len(options)
        self.at += 1
        return options[self.path[self.at - 1][0]]

    def __getitem__(self, space):
        return self.choose(self.entries.options(("root", space)))

    def __contains__(self, place):
        return bool(place[0]) and not self.host <= place[1] < self.host + 512 * PAGE

    def get(self, place, _):
        options = self.entries.options(place)
        if options is None:
            page = self.memory.get((place[0], place[1] // PAGE))
            return int.from_bytes(page[place[1] % PAGE:place[1] % PAGE + 8], "little") if page else 0
        first, number = place[1] & ~127, place[1] // 8 & 15
        block = [(place[0], first + 8 * i) for i in range(16)]
        # One of sixteen that were a group may stand for all of them until they are forgotten.
        if any(other in self.entries.pending for other in block):
            options = set(options)
            for i, other in enumerate(block):
                for entry in self.entries.options(other) or ():
                    if entry & VALID and entry & LEAF and entry & GROUPED and entry >> 12 & 15 == i:
                        options.add(entry ^ (i ^ number) << 12)
        return self.choose(options)

    def ends(self, space, address, write, privileged):
        key = (space, address // PAGE, write, privileged)
        if key not in self.known:
            ends, self.path = set(), []
            while True:
                self.at = 0
                fault, host, _, place, level, entry = self.walk(space, address, write, privileged)
                if fault == NONE and (host, place) in self and host:
                    fault = UNSUPPORTED
                ends.add((fault, host, place) if fault == NONE else (fault, level, entry))
                del self.path[self.at:]
                while self.path and self.path[-1][0] + 1 == self.path[-1][1]:
                    self.path.pop()
                if not self.path:
                    break
                self.path[-1][0] += 1
            self.known[key] = ends
        return self.known[key]


class Memory(dict):
    """What memory of one device holds: pages, and bytes of them of which several values are allowed."""

    def __init__(self):
        super().__init__()
        self.doubt, self.either = {}, []

    def page(self, key):
        if key not in self:
            self[key] = bytearray(PAGE)
        return self[key]

    def write(self, places, contents, certain):
        """One of the contents comes to one of the places, or perhaps to none of them."""
        length = len(contents[0])
        touched = {(host, at // PAGE) for host, at in places}
        self.either = [one for one in self.either if not touched & one[2]]
        if certain and len(places) > 1:
            before = [bytes(self.page((host, at // PAGE))[at % PAGE:at % PAGE + length]) for host, at in places]
            if not any((host, at // PAGE) in self.doubt for host, at in places):
                self.either.append((list(zip(places, before)), contents, touched))
        for host, at in places:
            key, first = (host, at // PAGE), at % PAGE
            page, doubt = self.page(key), self.doubt.setdefault(key, {})
            if certain and len(places) == 1 and len(contents) == 1:
                page[first:first + length] = contents[0]
                for i in range(first, first + length) if doubt else ():
                    doubt.pop(i, None)
            else:
                for i in range(length):
                    old = set() if certain and len(places) == 1 else doubt.get(first + i, {page[first + i]})
                    doubt[first + i] = old | {content[i] for content in contents}

    def see(self, observed):
        for key, content in observed.items():
            page, doubt = self.page(key), self.doubt.get(key, {})
            if content != page:
                for i in range(PAGE):
                    if content[i] not in doubt.get(i, {page[i]}):
                        raise Wrong(f"{'host' if key[0] else 'video'} memory, {key[1] * PAGE + i:#x}: {content[i]:02x}, not "
                                    f"{sorted(doubt.get(i, {page[i]}))}")
        for places, contents, _ in self.either:
            for i in range(len(contents[0])):
                held = sum(before[i] != observed[host, at // PAGE][at % PAGE + i] for (host, at), before in places)
                if held > 1 or (held == 0 and all(before[i] not in {c[i] for c in contents} for _, before in places)):
                    raise Wrong(f"a byte for one of {places} was written {held} times")
        for key, content in observed.items():
            self[key][:] = content
        self.doubt, self.either = {}, []


def pages_of(address, count):
    """(position in the job, address) of the first byte in each page."""
    at = 0
    while at < count:
        yield at, address + at
        at = (address + at) // PAGE * PAGE + PAGE - address


class Job:
    def __init__(self, numbers):
        (self.fence, self.offset, self.ring, self.space, self.privileged, self.what, self.source_kind, self.source, self.kind,
         self.destination, self.count, self.pattern) = numbers
        self.reads, self.writes = self.what != FILL, self.what != READ

    def ends(self, walker, write):
        """Where its pages of one side may lead: (position, ends)."""
        kind, address = (self.kind, self.destination) if write else (self.source_kind, self.source)
        for at, where in pages_of(address, self.count):
            yield at, where, (walker.ends(self.space, where, write, self.privileged) if kind == VIRTUAL
                              else {(NONE, kind & 1, where)})

    def judge(self, walker, memory, record):
        """Its record must be allowed; memory gets what it may have written."""
        limit, written = self.count, self.count
        if record:
            _, _, kind, address_kind, write, address, walked, space, level, entry, written = record
            start = self.destination if write else self.source
            limit = address - start
            if address_kind != VIRTUAL or not 0 <= limit < self.count or written > limit:
                raise Wrong(f"{self}: no such record: {record}")
            at, _, ends = [page for page in self.ends(walker, write) if page[0] <= limit][-1]
            seen = (kind, level, entry) if walked else (kind, None, None)
            if at != limit or not any(seen[:1 + 2 * walked] == end[:1 + 2 * walked] for end in ends if end[0] != NONE) or (
                    walked == (kind == UNSUPPORTED)) or (walked and space != self.space):
                raise Wrong(f"{self}: {record}, not one of {ends} at {at:#x}")
        sides = [(write, list(self.ends(walker, write))) for write in (0, 1) if (self.writes if write else self.reads)]
        for write, pages in sides:
            for at, where, ends in pages:
                if at < limit and all(end[0] != NONE for end in ends):
                    # Where both sides fault the device may tell of the later one; but it goes no further than the first.
                    if not record or write == record[4]:
                        raise Wrong(f"{self} did not fault at {where:#x}: {ends}")
                    limit = at
        written = min(written, limit)
        sides = [pages for _, pages in sides]
        if self.writes:
            cuts = sorted({at for pages in sides for at, _, _ in pages if at < limit} | {limit} | ({written} if written < limit else set()))
            for low, high in zip(cuts, cuts[1:]):
                self.write(sides, memory, low, high, high <= written)

    def write(self, sides, memory, low, high, certain):
        def places(pages):
            at, where, ends = [page for page in pages if page[0] <= low][-1]
            return sorted({(end[1], end[2] // PAGE * PAGE + where % PAGE + low - at) for end in ends if end[0] == NONE})

        if self.what == FILL:
            pattern = self.pattern.to_bytes(8, "little")
            contents = [bytes(pattern[i % 8] for i in range(low, high))]
        else:
            contents = [bytes(memory.page((host, at // PAGE))[at % PAGE:at % PAGE + high - low]) for host, at in places(sides[0])]
        memory.write(places(sides[-1]), contents, certain)

    def __str__(self):
        return (f"job {self.fence}+{self.offset} of ring {self.ring}, space {self.space}{', protected' if self.privileged else ''}: "
                f"{('COPY', 'FILL', 'READ')[self.what]} {self.source_kind}:{self.source:#x} to {self.kind}:{self.destination:#x}, "
                f"{self.count} bytes")


class Judge:
    def __init__(self):
        self.head, self.entries, self.memories, self.observed = None, None, None, None
        self.told, self.forgets, self.walks = [0, 0], 0, [0, 0]
        self.counts = {"rounds": 0, "jobs": 0, "faults": 0, "accesses that might end in several ways": 0}

    def run(self, lines):
        in_round = None
        for line in lines:
            what, *rest = line.split()
            self.forgets += what == "forget"
            if what == "page":
                side, host, page = map(int, rest[:3])
                for s in (0, 1) if side == 2 else (side,):
                    self.observed[s][host, page] = bytes.fromhex(rest[3])
                    if side == 2:
                        self.memories[s][host, page] = bytearray.fromhex(rest[3])
                continue
            numbers = [int(number) for number in rest]
            if what == "program":
                self.head, self.entries = numbers, Entries()
                self.memories, self.observed = [Memory(), Memory()], [{}, {}]
            elif what == "word":
                self.entries.last[numbers[2], numbers[3]] = numbers[4]
            elif what == "round":
                in_round = []
                self.blank(*numbers[1:])
            elif what == "end":
                self.round(in_round)
                in_round = None
            elif in_round is not None:
                in_round.append((what, numbers))
            elif what == "root":
                self.entries.last["root", numbers[0]] = self.root(numbers)

    def count(self, s, forgets, walks, reads):
        if forgets != self.forgets:
            raise Wrong(f"{('model', 'other')[s]}: {forgets} FORGETs counted of {self.forgets}")
        # A few walks may all end where there is no root, which reads nothing.
        if walks < self.walks[s] or reads > 4 * walks or (walks >= 100 and reads <= walks // 2):
            raise Wrong(f"{('model', 'other')[s]}: {walks} walks, {reads} reads of tables")
        self.walks[s] = walks

    @staticmethod
    def root(numbers):
        _, valid, host, height, table = numbers
        return valid, host, height if valid else 0, table

    def blank(self, first, count):
        for page in range(first, first + count):
            for s in (0, 1):
                self.memories[s][1, page] = bytearray(b"\xee" * PAGE)
                self.observed[s][1, page] = b"\xee" * PAGE

    def round(self, events):
        records = [{}, {}]
        rings = [[], []]
        raced, now, all_of_it, jobs, own = True, self.entries, self.entries.copy(), [], []
        for what, numbers in events:
            if what == "fault":
                records[numbers[0]][tuple(numbers[1:3])] = tuple(numbers[1:])
            elif what == "counters":
                self.count(*numbers)
            elif what == "ring":
                rings[numbers[0]].append(tuple(numbers[1:]))
            elif what == "root":
                for entries in (now, all_of_it):
                    entries.edit(("root", numbers[0]), self.root(numbers), (4, None, None))
            elif what == "edit":
                for entries in (now, all_of_it):
                    entries.edit((numbers[2], numbers[3]), numbers[4], tuple(numbers[5:]))
            elif what == "forget":
                now.landed()
                now.forget(*numbers[2:])
            elif what == "quiet":
                now.landed()
                raced, all_of_it = False, now
            else:
                job = Job(numbers)
                (jobs if job.ring else own).append((job, now.copy() if job.ring == 0 else None))
        for s, memory in enumerate(self.memories):
            walkers = Walker(self.head, all_of_it, memory)
            left = dict(records[s])
            for job, entries in own + jobs:
                walker = walkers if job.ring else Walker(self.head, entries, memory)
                if any(fence == job.fence and offset < job.offset for fence, offset in records[s]):
                    continue
                record = left.pop((job.fence, job.offset), None)
                try:
                    job.judge(walker, memory, record)
                except Wrong as wrong:
                    raise Wrong(f"{('model', 'other')[s]}: {wrong}") from None
                self.counts["jobs"] += 1
                self.counts["faults"] += record is not None
                several = sum(len(ends) > 1 for ends in walker.known.values())
                self.counts["accesses that might end in several ways"] += several
                raced |= several > 0  # What was remembered before the last FORGET was, perhaps, of a round that raced.
                walker.known.clear()
            if left:
                raise Wrong(f"{('model', 'other')[s]}: nobody's faults: {left}")
            doubtful = set(memory.doubt)
            try:
                memory.see(self.observed[s])
            except Wrong as wrong:
                raise Wrong(f"{('model', 'other')[s]}: {wrong}") from None
        # The same here: of two sides that both fault, either may be told of.
        either = {(job.fence, job.offset) for job, _ in own + jobs if job.source_kind == job.kind == VIRTUAL and job.what == COPY}
        self.compare(records, rings, raced, either)
        now.landed()
        self.counts["rounds"] += 1

    def compare(self, records, rings, raced, either):
        strip = [{key: key not in either and record[:-1] for key, record in side.items()} for side in records]
        if [ring[:3] for ring in rings[0]] != [ring[:3] for ring in rings[1]]:
            raise Wrong(f"rings retired {rings[0]} and {rings[1]}")
        if not raced and strip[0] != strip[1]:
            apart = {key: (strip[0].get(key), strip[1].get(key)) for key in strip[0] | strip[1] if strip[0].get(key) != strip[1].get(key)}
            raise Wrong(f"the devices differ: {apart}")
        for s in (0, 1):
            told = sum(ring[3] for ring in rings[s])
            if told - self.told[s] != len(records[s]):
                raise Wrong(f"{('model', 'other')[s]}: {len(records[s])} faults, but the rings count {told - self.told[s]}")
            self.told[s] = told


def main():
    path, *program = sys.argv[1:]
    sys.stdout.flush()
    status = subprocess.run(program + ["--log", path], check=False).returncode
    if status:
        print("[  FAILED  ] tables_and_races_as_python_walks_them: the program did not come to its end")
        return status
    judge = Judge()
    try:
        with open(path, encoding="ascii") as file:
            judge.run(file)
    except Wrong as wrong:
        print(f"[  FAILED  ] tables_and_races_as_python_walks_them: round {judge.counts['rounds']}: {wrong}")
        return 1
    print("[       OK ] tables_and_races_as_python_walks_them\n    " + ", ".join(f"{count} {what}" for what, count in judge.counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
