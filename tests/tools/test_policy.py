#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ferry policy` against a second implementation of its policies, written from what their files say, on random traces
(FERRY_SEED) and on a recorded one; the shipped manager beside them where both must agree; and what bad input gets."""
import csv
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path.cwd()
FERRY = ROOT / "build/ferry"
NEVERBALL = ROOT / "tests/data/neverball.memtrace.gz"
PAGE = 4096
SEED = int(os.environ.get("FERRY_SEED", "1"))
MASK = (1 << 64) - 1
folder = Path(tempfile.mkdtemp(prefix="ferry-policy-"))
passed = failed = 0


def check(good, name, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}")


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

    def __init__(self, text, pages, leaves):
        self.events = [line.split() for line in text.splitlines()]
        self.pages, self.leaves = pages, leaves
        self.in_ = self.out = self.uploaded = self.filled = self.evictions = 0
        self.frames, self.before = [], 0
        self.here, self.used, self.used_frame, self.fresh, self.dirty, self.size, self.keeps = {}, {}, {}, {}, {}, {}, {}
        self.now, self.frame = 0, 1
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
        self.permanent = {n for n in range(made) if n not in targets and mix(1 ^ mix(n)) % 2 == 0}
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
                self.leave(self.leaves(self, sorted(n for n in self.here if n not in numbers)))
                self.evictions += 1
            if self.fresh[number]:
                self.filled += self.size[number] * PAGE
            else:
                self.in_ += self.size[number] * PAGE
            self.here[number] = True
            self.dirty[number] = number not in self.permanent and not self.fresh[number]
        for number in numbers:
            self.used[number], self.used_frame[number] = self.now, self.frame
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
                if kind == "x" and one in self.here:
                    self.leave(one, True)
            elif kind == "f":
                self.frames.append(self.in_ + self.out - self.before)
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


def the_same_as_a_second_implementation():
    for seed in (1, SEED):
        print(f"FERRY_SEED={seed}")
        chance = random.Random(seed)
        good, told = 0, ""
        for _ in range(12):
            text = random_trace(chance, chance.randint(4, 40))
            path = folder / "random.memtrace"
            path.write_text(text)
            pages = chance.randint(36, 60)
            report = figures(path, "--vram", f"{pages * 4}K", "--policy", "lru,two-frames,furthest")
            for run in report["runs"]:
                world = World(text, pages, LEAVES[run["policy"]])
                if same(world, run):
                    good += 1
                else:
                    mine = world.in_, world.out, world.uploaded, world.filled
                    told = told or f"{run['policy']}, {pages} pages: {run} for {mine}\n{text}"
        check(good == 36, f"policies_agree_with_a_second_implementation_seed_{'fixed' if seed == 1 else 'of_the_day'}", told)


def the_manager_agrees_where_nothing_leaves():
    """With room for all, whoever chooses has nothing to choose: what comes in is the same for all, the manager too."""
    chance = random.Random(SEED)
    good, told = 0, ""
    for _ in range(8):
        text = random_trace(chance, 30).replace("discard", "write")
        path = folder / "roomy.memtrace"
        path.write_text(text)
        runs = figures(path, "--vram", "64M", "--policy", "ours,lru")["runs"]
        names = ("bytes_in", "bytes_uploaded", "bytes_out", "bytes_filled")
        if all(runs[0][n] == runs[1][n] for n in names) and runs[0]["evictions"] == runs[0]["bytes_moved"] == 0:
            good += 1
        else:
            told = f"FERRY_SEED={SEED}: {runs}"
    check(good == 8, "manager_and_policies_count_alike_where_all_fits", told)


def a_recorded_game():
    """What performance.md and the trace's own README say of it: the orders of magnitude that this is all about."""
    path, table, picture = folder / "game.json", folder / "game.csv", folder / "game.svg"
    done = ferry(NEVERBALL, "--vram", "0.95W", "--json", path, "--csv", table, "--svg", picture)
    report = json.loads(path.read_text())
    runs = {run["policy"]: run for run in report["runs"]}
    check(done.returncode == 0 and list(runs) == ["ours", "lru", "random", "two-frames", "furthest"], "game_has_all_policies", done)
    check(runs["lru"]["times_reference"] > 9 and runs["ours"]["times_reference"] < 1.1, "lru_is_ten_times_the_reference_ours_is_not", runs)
    check(runs["ours"]["bytes_moved"] <= runs["ours"]["bytes_in"] // 20, "manager_moves_little_inside", runs["ours"])
    text = gzip.open(NEVERBALL, "rt").read()
    world = World(text, report["runs"][0]["video_memory_bytes"] // PAGE, LEAVES["lru"])
    check(same(world, runs["lru"]), "game_on_lru_agrees_with_a_second_implementation", (runs["lru"], world.in_, world.out))
    rows = list(csv.DictReader(table.open()))
    check([(r["policy"], int(r["bytes_in"])) for r in rows] == [(n, run["bytes_in"]) for n, run in runs.items()],
          "csv_says_the_same", rows)
    words = " ".join(ET.parse(picture).getroot().itertext())
    lines = [e for e in ET.parse(picture).getroot().iter() if e.tag.endswith("polyline")]
    check(len(lines) == 5 and all(n in words for n in runs) and "neverball" in words, "svg_has_a_line_a_policy", words)
    advice = report["advice"][0]
    enough = figures(NEVERBALL, "--vram", f"{advice['enough_bytes'] // 1024}K", "--policy", "ours")["runs"][0]
    less = figures(NEVERBALL, "--vram", f"{advice['less_bytes'] // 1024}K", "--policy", "ours")["runs"][0]
    moved = less["bytes_in"] + less["bytes_out"] - runs["ours"]["bytes_in"] - runs["ours"]["bytes_out"]
    check(enough["evictions_after_warm_up"] == 0, "advice_is_enough", (advice, enough))
    check(abs(moved // report["frames"] - advice["less_costs_per_frame"]) <= 1, "advice_tells_what_less_costs", (advice, moved))
    check(re.search(r"more \(.*\) removes all paging after frame 3.*5 % less costs .* a second", done.stdout),
          "advice_is_a_sentence", done.stdout)


def several_programs():
    """Weights are the manager's: who has more of them pages less. The policies know nothing of them, and nobody is protected."""
    runs = [figures(NEVERBALL, NEVERBALL, "--vram", "9M", "--policy", "ours,lru", *more)["runs"]
            for more in ([], ["--weights", "5,4"])]
    alike, heavy = runs[0][0]["programs_bytes_in"], runs[1][0]["programs_bytes_in"]
    check(heavy[0] < alike[0] and heavy[1] > alike[1] and all(sum(r["programs_bytes_in"]) <= r["bytes_in"] for r in runs[0]),
          "who_has_more_weight_pages_less", runs)
    check(runs[0][1] == {**runs[1][1], "seconds": runs[0][1]["seconds"]}, "policies_know_no_weights", runs)


def expect(name, code, words, *arguments):
    done = ferry(*arguments)
    lines = done.stderr.strip().splitlines()
    check(done.returncode == code and len(lines) == 1 and re.search(words, lines[0]), name, (done.returncode, done.stderr))


def bad_input():
    small = folder / "small.memtrace"
    small.write_text("a 1 12288 buffer\nw 1 0 12288\nd 1\nf\n")
    expect("size_below_a_job", 3, r"small.memtrace: the job in line 3 needs 12.0 KiB \(12288 bytes\), video memory is 8.0 KiB",
           small, "--vram", "8K")
    for size in ("8Q", "0", "5", "W", "-1W", "nanW", "1e9W", "12K,,4M", "2000G", "0.001W"):
        expect(f"size_{size}", 2, r"--vram: '.*' is no size: from 12.0 KiB .* to 12.0 KiB", small, "--vram", size)
    expect("unknown_policy", 2, r"no policy 'best'; there are ours, lru, random, two-frames, furthest", small, "--policy", "lru,best")
    expect("no_trace", 2, "needs a trace file")
    expect("no_such_file", 2, "nowhere", folder / "nowhere")
    bad = folder / "bad.memtrace"
    bad.write_text("a 1 4096 buffer\nd 2\n")
    expect("bad_line", 2, "line 2", bad)
    expect("weights_of_too_many", 2, r"--weights: '1,2' has 2 numbers for 1 trace", small, "--weights", "1,2")
    expect("file_that_cannot_be_written", 4, "cannot write", small, "--vram", "64K", "--json", folder / "no/such/folder")
    empty = folder / "empty.memtrace"
    empty.write_text("")
    done = ferry(empty, "--vram", "64K")
    check(done.returncode in (0, 2), "empty_trace_has_an_answer", done)


def the_chapters_policy():
    """The policy of docs/manual/policies.md, put in as the page says: the tool's own objects, and that file beside them."""
    page = (ROOT / "docs/manual/policies.md").read_text()
    source = re.search(r"((?:^    .*\n|^\n)*^    const struct ferry_lab_policy (?:^    .*\n|.*\n)*?.*choose = choose\};)", page, re.M)[1]
    made = folder / "chapter/lab/policies"
    made.mkdir(parents=True)
    (made / "largest_old.c").write_text(re.sub(r"^    ", "", source, flags=re.M) + "\n")
    listed = (ROOT / "host-driver/lab/policies/policies.h").read_text()
    (made / "policies.h").write_text(listed.replace("X(furthest)", "X(furthest) X(largest_old)"))
    objects = [o for room in ("tools", "lab", "lab/policies") for o in (ROOT / "build/obj/host-driver" / room).glob("*.o")
               if o.name != "bench.o"]
    libraries = subprocess.run(["make", "-s", "print-libs"], capture_output=True, text=True, check=True).stdout.split()
    tool = folder / "chapter/ferry"
    includes = [f"-I{folder}/chapter", *(f"-I{ROOT}/{part}" for part in ("host-driver", "host-driver/include", "build/generated"))]
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", *includes, "-c", made / "largest_old.c",
                    ROOT / "host-driver/lab/bench.c"], check=True, cwd=made)
    subprocess.run(["c++", *objects, made / "largest_old.o", made / "bench.o", "build/libferry.a", *libraries, "-o", tool], check=True)
    done = subprocess.run([tool, "policy", NEVERBALL, "--policy", "lru,largest-old,furthest", "--quiet"], capture_output=True,
                          text=True, check=False)
    check(done.returncode == 0 and re.search(r"^  largest-old +[\d.]+ [MG]iB", done.stdout, re.M),
          "the_chapters_policy_stands_in_the_table", done)


the_same_as_a_second_implementation()
the_manager_agrees_where_nothing_leaves()
a_recorded_game()
several_programs()
the_chapters_policy()
bad_input()
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
