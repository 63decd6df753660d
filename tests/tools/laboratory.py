# SPDX-License-Identifier: Apache-2.0
"""What the tests of `ferry policy` share: its policies a second time, written from what their files say; random traces; runs;
and the score."""
import functools
import gzip
import json
import os
import subprocess
import tempfile
import re
from pathlib import Path

ROOT = Path.cwd()
FERRY = ROOT / "build/ferry"
NEVERBALL = ROOT / "tests/data/neverball.memtrace.gz"
PAGE = 4096
SEED = int(os.environ.get("FERRY_SEED", "1"))
MASK = (1 << 64) - 1
folder = Path(tempfile.mkdtemp(prefix="ferry-policy-"))
score = {True: 0, False: 0}


def check(good, name, detail=""):
    score[bool(good)] += 1
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}")


def end():
    print(f"{score[True]} passed, {score[False]} failed")
    return 1 if score[False] else 0


def ferry(*arguments):
    return subprocess.run([FERRY, "policy", *map(str, arguments)], capture_output=True, text=True, timeout=600, check=False)


def figures(trace, *options):
    path = folder / "out.json"
    done = ferry(trace, "--json", path, "--quiet", *options)
    if done.returncode != 0:
        raise SystemExit(f"FERRY_SEED={SEED}: {done.args}: {done.returncode}: {done.stderr}")
    return json.loads(path.read_text())


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


class World:
    """One policy on one trace; who leaves is asked of `leaves`, which sees everything."""

    def __init__(self, text, pages, leaves, places=None):
        # places: of each creation in its own trace, where several were put together.
        self.events = [line.split() for line in text.splitlines()]
        self.pages, self.leaves = pages, leaves
        self.in_ = self.out = self.uploaded = self.filled = self.evictions = self.paged = 0
        self.frames, self.before, self.paged_frames, self.ours = [], 0, [], set()  # ours: the GPU's since the CPU had it
        self.here, self.used, self.used_frame, self.fresh, self.dirty, self.size, self.keeps = {}, {}, {}, {}, {}, {}, {}
        self.now, self.frame, self.gone = 0, 1, set()
        self.place, self.free = {}, []  # a policy's number of each, and those that are given again, the last one first
        self.number, names, made = [], {}, 0
        targets = set()
        # Which creation an id means at each event, and which of them the GPU ever writes.
        for event in self.events:
            if event[0] == "a":
                names[event[1]] = made
                made += 1
            ids = [names[i] for i in (event[1:] if event[0] == "d" else event[1:2])]
            self.number.append(list(dict.fromkeys(ids)))
            if event[0] == "t":
                targets.add(ids[0])
        self.permanent = {n for n in range(made) if n not in targets and mix(1 ^ mix(places[n] if places else n)) % 2 == 0}
        self.jobs = [self.number[i] for i, event in enumerate(self.events) if event[0] in "dt"]
        self.play()

    def next_use(self, number):
        # Jobs are numbered from 1; the present one is self.now.
        return next((at for at in range(self.now, len(self.jobs)) if number in self.jobs[at]), 1 << 60)

    def leave(self, number, drop=False):
        self.out += self.size[number] * PAGE if self.dirty[number] and not drop else 0
        self.dirty[number] = False
        del self.here[number]

    def lock(self, number, discard):
        self.ours.discard(number)
        if number in self.here and number not in self.permanent:
            self.leave(number, discard)
        elif self.dirty[number]:
            self.out += 0 if discard else self.size[number] * PAGE
            self.dirty[number] = False
        self.fresh[number] = False

    def unlock(self, number):
        self.uploaded += self.size[number] * PAGE if number in self.here else 0

    def job(self, numbers, writes):
        self.now += 1
        for number in numbers:
            if number in self.here:
                continue
            while sum(self.size[n] for n in self.here) + self.size[number] > self.pages:
                victim = self.leaves(self, sorted(n for n in self.here if n not in numbers))
                self.paged += self.size[victim] * PAGE if self.dirty[victim] else 0
                self.leave(victim)
                self.evictions += 1
            if self.fresh[number]:
                self.filled += self.size[number] * PAGE
            else:
                self.in_ += self.size[number] * PAGE
                self.paged += self.size[number] * PAGE if number in self.ours else 0
            self.here[number] = self.now  # when it came
            self.dirty[number] = number not in self.permanent and not self.fresh[number]
        for number in numbers:
            self.used[number], self.used_frame[number] = self.now, self.frame
            self.ours.add(number)
            if writes:
                self.dirty[number], self.fresh[number] = True, False

    def play(self):
        locked = set()
        for event, numbers in zip(self.events, self.number):
            kind = event[0]
            one = numbers[0] if numbers else None
            if kind == "a":
                self.size[one] = (int(event[2]) + PAGE - 1) // PAGE
                self.fresh[one], self.dirty[one] = True, False
                self.place[one] = self.free.pop() if self.free else len(self.place) - len(self.gone)
            elif kind == "w" and one not in locked:
                self.lock(one, False)
                self.unlock(one)
            elif kind == "l":
                locked.add(one)
                self.lock(one, event[2] == "discard")
            elif kind in "udt" or kind == "x":
                for number in numbers:
                    if number in locked:
                        locked.remove(number)
                        self.unlock(number)
                if kind in "dt":
                    self.job(numbers, kind == "t")
                if kind == "x":
                    self.gone.add(one)
                    self.free.append(self.place[one])
                    if one in self.here:
                        self.leave(one, True)
            elif kind == "f":
                self.frames.append(self.in_ + self.out - self.before)
                self.paged_frames.append(self.paged)
                self.before = self.in_ + self.out
                self.frame += 1


LEAVES = {
    "lru": lambda w, who: min(who, key=lambda n: (w.used[n], n)),
    "two-frames": lambda w, who: (min((n for n in who if w.used_frame[n] < w.frame - 1), key=lambda n: (w.used[n], n), default=None)
                                  if any(w.used_frame[n] < w.frame - 1 for n in who) else max(who, key=lambda n: (w.used[n], -n))),
    "furthest": lambda w, who: max(who, key=lambda n: (w.next_use(n), -n)),
}


def random_trace(chance, frames):
    lines, living, locked, number = [], {}, set(), 0
    for _ in range(frames):
        for _ in range(chance.randint(0, 3)):
            number += 1
            living[number] = chance.choice([100, PAGE, 3 * PAGE, 9 * PAGE])
            lines.append(f"a {number} {living[number]} buffer")
        for _ in range(chance.randint(2, 12)):
            if not living:
                continue
            one = chance.choice(list(living))
            what = chance.random()
            if what < 0.5:
                some = chance.sample(list(living), min(len(living), chance.randint(1, 4)))
                lines.append("d " + " ".join(map(str, some)))
            elif what < 0.65:
                lines.append(f"t {one}")
            elif what < 0.8:
                lines.append(f"w {one} 0 {living[one]}")
            elif what < 0.9 and one not in locked:
                locked.add(one)
                lines.append(f"l {one} {chance.choice(['discard', 'write'])}")
            elif one in locked:
                locked.remove(one)
                lines.append(f"u {one}")
            elif len(living) > 3:
                del living[one]
                lines.append(f"x {one}")
        lines.append("f")
    return "\n".join(lines) + "\n"


def same(world, run):
    frames = sorted(world.frames)
    return {"bytes_in": world.in_, "bytes_uploaded": world.uploaded, "bytes_out": world.out, "bytes_filled": world.filled,
            "evictions": world.evictions, "worst_frame_bytes": frames[-1],
            "percentile_99_frame_bytes": frames[(len(frames) - 1) * 99 // 100]}.items() <= run.items()


def put_together(first, second):
    """Two programs' traces as one, in turn, each up to its next job or end of frame, where the first one's frames count as long as it
    plays; and the place of each creation in its own trace."""
    left, lines, places, made, turn = [first.splitlines(), second.splitlines()], [], [], [0, 0], 0
    while left[0] or left[1]:
        turn = turn if left[turn] else 1 - turn
        leads = turn == 0 or not left[0]
        words = left[turn].pop(0).split()
        if words[0] == "a":
            places.append(made[turn])
            made[turn] += 1
        ids = [f"{turn}.{i}" for i in (words[1:] if words[0] == "d" else words[1:2] if words[0] != "f" else [])]
        if words[0] != "f" or leads:
            lines.append(" ".join([words[0], *ids, *(words[2:] if words[0] not in "df" else [])]))
        turn = 1 - turn if words[0] in "dtf" else turn
    return "\n".join(lines) + "\n", places


@functools.cache
def first_frames(count=60):
    """The recorded game's first ones, where no more are needed."""
    text = gzip.open(NEVERBALL, "rt").read().splitlines(keepends=True)
    last = [i for i, line in enumerate(text) if line == "f\n"][count - 1]
    short = folder / f"first{count}.memtrace"
    short.write_text("".join(text[:last + 1]))
    return short


def after_warm_up(world):
    """Bytes in and out in the frames after the third, and what of it was for want of room."""
    return sum(world.frames[3:]), world.paged_frames[-1] - world.paged_frames[2]


def size_text(size):
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} B"


def ours(trace, size, *options):
    """The manager at a size, or None where a job does not fit."""
    path = folder / "ours.json"
    done = ferry(trace, "--vram", f"{size // 1024}K", "--policy", "ours", "--no-advice", "--quiet", "--json", path, *options)
    return json.loads(path.read_text())["runs"][0] if done.returncode == 0 else None


def expect(name, code, words, *arguments):
    done = ferry(*arguments)
    lines = done.stderr.strip().splitlines()
    check(done.returncode == code and len(lines) == 1 and re.search(words, lines[0]), name, (done.returncode, done.stderr))
