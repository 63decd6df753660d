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
import resource
import signal
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
    the_advice_is_measured(done.stdout, report)


def after_warm_up(world):
    """Bytes in and out after the third frame, and frames."""
    return world.in_ + world.out - sum(world.frames[:3])


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


def the_advice_is_measured(said, report):
    """Every figure of the sentence, against runs of its own."""
    advice, frames = report["advice"][0], report["frames"] - 3
    here, less, enough, below = (ours(NEVERBALL, size) for size in (
        advice["video_memory_bytes"], advice["less_bytes"], advice["enough_bytes"],
        advice["enough_bytes"] - advice["enough_within_bytes"]))
    a_frame = [run["bytes_after_warm_up"] // frames for run in (here, less, enough)]
    check(enough["evictions_after_warm_up"] == 0 < below["evictions_after_warm_up"] and
          advice["enough_within_bytes"] == PAGE, "advice_is_the_least_that_is_enough", advice)
    check([advice[n] for n in ("bytes_per_frame", "less_costs_per_frame", "left_per_frame")]
          == [a_frame[0], a_frame[1] - a_frame[0], a_frame[2]], "advice_tells_what_sizes_cost", (advice, a_frame))
    lines = gzip.open(NEVERBALL, "rt").read().splitlines()
    sentence = said.strip().splitlines()[-1]
    match = re.fullmatch(
        r"  With (.*), (.*) a frame is paged, (.*) a second at 60 frames; (.*) more \((\d+)K\) removes all paging after frame 3"
        r"; 5 % less costs (.*) a second more;"
        r" most came in of allocation (\d+) of neverball.memtrace.gz \((?:buffer|texture \S+ \S+), line (\d+)\): (.*)\.", sentence)
    bytes_ = advice["video_memory_bytes"]
    check(match and list(match.groups()[:6]) == [
        size_text(bytes_), size_text(a_frame[0]), size_text(60 * a_frame[0]), size_text(advice["enough_bytes"] - bytes_),
        str(advice["enough_bytes"] // 1024), size_text(60 * advice["less_costs_per_frame"])], "advice_is_a_sentence", sentence)
    check(match and lines[int(match[8]) - 1].split()[:2] == ["a", match[7]] and match[9] == size_text(advice["costliest_bytes"])
          and 0 < advice["costliest_bytes"] <= here["bytes_in"], "advice_names_the_allocation_that_costs_most", sentence)


def it_does_not_matter_where_one_asks():
    """The smallest size is the same from below and from above."""
    found = [figures(NEVERBALL, "--vram", size, "--policy", "ours")["advice"][0] for size in ("0.9W", "0.97W", "2W")]
    check(len({advice["enough_bytes"] for advice in found}) == 1 and all(a["enough_within_bytes"] == PAGE for a in found),
          "the_smallest_size_is_the_same_from_everywhere", found)


def nothing_is_told_of_frames_that_are_not_there():
    trace, path = folder / "short.memtrace", folder / "short.json"
    for frames in range(6):
        # A trace without an end of frame has none.
        trace.write_text("".join(f"a {i} {8 * PAGE} buffer\nw {i} 0 {8 * PAGE}\n" for i in (1, 2, 3))
                         + ("d 1\nd 2\nd 3\nf\n" * frames or "d 1\n"))
        said = []
        for size in ("64K", "1M"):
            done = ferry(trace, "--vram", size, "--policy", "ours", "--quiet", "--json", path)
            said.append(done.stdout.splitlines()[-1].partition(", ")[2])
        silent = f"nothing can be told: everything comes in for the first time in the first 3 frames, and there are {frames} in all."
        if frames <= 3:
            check(said == [silent, silent] and json.loads(path.read_text())["advice"] == [], f"nothing_is_told_of_{frames}_frames", said)
        else:
            check("removes all paging" in said[0] and done.stdout.splitlines()[-1].startswith("  With 1.0 MiB nothing has to leave")
                  and "most came in of" not in done.stdout, f"something_is_told_of_{frames}_frames", (said, done))
    done = subprocess.run([FERRY, "replay", NEVERBALL, "--frames", "3", "--vram", "5M", "--backend", "model", "--quiet"],
                          capture_output=True, text=True, check=False)
    check("there are 3 in all" in done.stdout.splitlines()[-1] and "would do" not in done.stdout,
          "a_replay_of_3_frames_tells_nothing", done)


def what_is_not_paging():
    """What the CPU writes each frame comes in at any size: it is told beside, not as paging."""
    trace, path = folder / "beside.memtrace", folder / "beside.json"
    trace.write_text("".join(f"a {i} {8 * PAGE} buffer\nw {i} 0 {8 * PAGE}\n" for i in range(1, 15)) +
                     ("".join(f"d {i}\n" for i in range(1, 9)) + "".join(f"w {i} 0 9\nd {i}\n" for i in range(9, 15)) + "f\n") * 20)
    done = ferry(trace, "--vram", "400K", "--policy", "ours", "--quiet", "--json", path)
    advice, last = json.loads(path.read_text())["advice"][0], done.stdout.splitlines()[-1]
    paged = advice["bytes_per_frame"] - advice["left_per_frame"]
    check(0 < paged < advice["bytes_per_frame"] and f", {size_text(paged)} a frame is paged, {size_text(60 * paged)} a second" in last
          and f"after frame 3 ({size_text(advice['left_per_frame'])} a frame beside it is new content" in last, "paging_alone_is_paging",
          (advice, last))


def what_costs_most():
    """Room for one of three at a time; one of them is named twice a frame, so it comes in twice a frame, whoever chooses."""
    trace, path = folder / "most.memtrace", folder / "most.json"
    trace.write_text("".join(f"a {i} {8 * PAGE} buffer\nw {i} 0 {8 * PAGE}\n" for i in (1, 2, 3)) + f"a 4 {PAGE} buffer\nw 4 0 {PAGE}\n" +
                     "d 1\nd 2\nd 4\nd 3\nd 2\nf\n" * 20)
    done = ferry(trace, "--vram", "40K,64K", "--policy", "ours,lru", "--quiet", "--json", path)
    costs = json.loads(path.read_text())["advice"][0]["costliest_bytes"]
    last = done.stdout.splitlines()[-1]
    check(costs == 2 * 20 * 8 * PAGE and f"; most came in of allocation 2 of most.memtrace (buffer, line 3): {size_text(costs)}." in last
          and last.startswith("  With 40.0 KiB, "), "what_costs_most_is_told_last", (costs, done))


def the_knee_of_the_curve():
    """Ten allocations that every frame names and fifty of which it names one: room for the ten is what counts."""
    trace, path = folder / "knee.memtrace", folder / "knee.json"
    lines = [f"a {i} {8 * PAGE} buffer\nw {i} 0 {8 * PAGE}\n" for i in range(1, 61)]
    for frame in range(200):
        lines += [f"d {i}\n" for i in range(1, 11)] + [f"d {11 + frame * 7 % 50}\nf\n"]
    trace.write_text("".join(lines))
    size = 5 * 8 * PAGE
    done = ferry(trace, "--vram", f"{size // 1024}K", "--policy", "ours", "--quiet", "--json", path)
    report = json.loads(path.read_text())
    advice = report["advice"][0]
    curve = {bytes_: ours(trace, bytes_)["bytes_after_warm_up"] // (report["frames"] - 3) for bytes_ in (size, advice["knee_bytes"],
                                                                                                 advice["enough_bytes"])}
    first, knee, last = curve.values()
    share = (advice["knee_bytes"] - size) / (advice["enough_bytes"] - size)
    check(first - knee == advice["knee_saves_per_frame"] and first + (last - first) * share - knee > (first - last) / 8
          and 9 * 8 * PAGE <= advice["knee_bytes"] <= 25 * 8 * PAGE, "advice_has_the_knee_of_the_curve", (advice, curve))
    check(f", and {size_text(advice['knee_bytes'] - size)} more already saves {size_text(first - knee)} a frame" in done.stdout,
          "advice_tells_of_the_knee", done.stdout)


def a_replay_ends_with_the_sentence():
    """`ferry replay` has the laboratory play the same beside: so many frames, programs with weights."""
    text = gzip.open(NEVERBALL, "rt").read().splitlines(keepends=True)
    last = [i for i, line in enumerate(text) if line == "f\n"][59]
    short = folder / "sixty.memtrace"
    short.write_text("".join(text[:last + 1]))
    for name, replayed, options in (("one", [NEVERBALL], []), ("several", [NEVERBALL, NEVERBALL], ["--weights", "3,1"])):
        done = subprocess.run([FERRY, "replay", *replayed, "--frames", "60", "--vram", "8M", "--backend", "model", "--quiet", *options],
                              capture_output=True, text=True, timeout=600, check=False)
        policy = ferry(*[short] * len(replayed), "--vram", "8M", "--policy", "ours", "--quiet", *options)
        want = policy.stdout.splitlines()[-1].strip().replace("sixty.memtrace", "neverball.memtrace.gz")
        check(done.returncode == policy.returncode == 0 and done.stdout.splitlines()[-1] == want and want.startswith("With 8.0 MiB"),
              f"replay_of_{name}_ends_with_the_sentence", (done, policy))
        quiet = subprocess.run([*done.args, "--no-advice"], capture_output=True, text=True, timeout=600, check=False)
        check("With 8.0 MiB" not in quiet.stdout and quiet.returncode == 0, f"replay_of_{name}_without_the_sentence", quiet)


def the_advice_of_several():
    """What each program would bring in alone is measured, not shared out."""
    path = folder / "two.json"
    small = folder / "alone.memtrace"
    small.write_text(random_trace(random.Random(4), 20))
    done = ferry(NEVERBALL, small, "--vram", "5M", "--policy", "ours", "--quiet", "--json", path)
    report = json.loads(path.read_text())
    alone = [ours(trace, 5 << 20)["programs_bytes_in"][0] for trace in (NEVERBALL, small)]
    together = report["runs"][0]["programs_bytes_in"]
    check(report["advice"][0]["programs_bytes_in_alone"] == alone, "advice_measures_each_program_alone", (report["advice"], alone))
    want = "; " + ", ".join(f"program {i + 1} ({name}) brings in {size_text(together[i])} (alone {size_text(alone[i])})"
                            for i, name in enumerate(("neverball.memtrace.gz", "alone.memtrace")))
    check(want in done.stdout.splitlines()[-1], "advice_tells_of_each_program", (want, done.stdout))


def a_sweep():
    """Each point of the curve is a run that can be made alone, drawn where it belongs; too small is said, not left out."""
    trace, table, picture, path = (folder / f"sweep.{end}" for end in ("memtrace", "csv", "svg", "json"))
    trace.write_text(random_trace(random.Random(9), 60))
    done = ferry(trace, "--sweep", "--points", "7", "--csv", table, "--svg", picture, "--json", path, "--quiet")
    report = json.loads(path.read_text())
    rows = list(csv.DictReader(table.open()))
    sizes = sorted({int(row["video_memory_bytes"]) for row in rows})
    least = max(report["largest_job_bytes"], report["median_frame_bytes"] // 4 // PAGE * PAGE)
    check(done.returncode == 0 and len(sizes) == 7 and len(rows) == 35 and sizes[0] == least and sizes[-1] == report["most_living_bytes"]
          and max(b - a for a, b in zip(sizes, sizes[1:])) - min(b - a for a, b in zip(sizes, sizes[1:])) <= 2 * PAGE,
          "sweep_goes_from_the_largest_job_to_all_that_lives", (done, sizes))
    text, wrong = trace.read_text(), []
    for row in rows:
        if row["policy"] not in LEAVES:
            continue
        world = World(text, int(row["video_memory_bytes"]) // PAGE, LEAVES[row["policy"]])
        if row["fits"] != "yes" or (int(row["bytes_in"]), int(row["bytes_out"]), int(row["bytes_after_warm_up"])) != (
                world.in_, world.out, after_warm_up(world)):
            wrong.append((row, world.in_, world.out))
    check(not wrong, "every_point_agrees_with_a_second_implementation", wrong[:1])
    told = [" ".join(line.split()) for line in done.stdout.splitlines()]
    want = [" ".join([size_text(size)] + [size_text(int(r["bytes_in"]) + int(r["bytes_out"])) for r in rows
                                          if int(r["video_memory_bytes"]) == size]) for size in sizes]
    check(all(line in told for line in want) and told[-1].startswith("With "), "sweep_prints_a_line_a_size_and_the_sentence", (want, told))
    root = ET.parse(picture).getroot()
    groups = [e for e in root.iter() if e.get("class") == "curve"]
    paged = {(r["policy"], int(r["video_memory_bytes"])): int(r["bytes_in"]) + int(r["bytes_out"]) for r in rows}
    bad = []
    for group in groups:
        spots = [e for e in group if e.tag.endswith("circle")]
        said = [re.fullmatch(r"(\S+), (.*): (.*) paged", s[0].text).groups() for s in spots]
        bad += [s for s, size in zip(said, sizes) if s != (s[0], size_text(size), size_text(paged[s[0], size]))] + [()] * (len(spots) != 7)
        heights = [(paged[said[0][0], size], float(s.get("cy"))) for s, size in zip(spots, sizes)]
        bad += [(a, b) for a in heights for b in heights if (a[0] < b[0] * 0.99) != (a[1] > b[1] + 0.1) and abs(a[0] / b[0] - 1) > 0.01]
    check(len(groups) == 5 and not bad, "sweep_draws_every_point", bad[:3])
    done = ferry(trace, "--sweep", "--vram", f"{sizes[2] // 1024}K,4K,{sizes[2] // 1024}K", "--policy", "lru", "--csv", table, "--quiet")
    rows = [(int(r["video_memory_bytes"]), r["fits"], r["bytes_in"] != "") for r in csv.DictReader(table.open())]
    check(rows == [(PAGE, "no", False), (sizes[2], "yes", True)] and "too small" in done.stdout, "sweep_tells_what_is_too_small", rows)


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


def outputs_are_nothing_else(small):
    """No output is a trace that is read or another output, whatever name it goes by; and what stood there stays until there is better."""
    before, table = small.read_bytes(), folder / "table.csv"
    soft, hard, away = (folder / f"{name}.memtrace" for name in ("soft", "hard", "away"))
    soft.symlink_to(small)
    os.link(small, hard)
    for option in ("--svg", "--json", "--csv"):
        for name, path in (("trace", small), ("link_to_it", soft), ("other_name_of_it", hard), ("way_to_it", f"{folder}/./small.memtrace")):
            expect(f"{option[2:]}_over_the_{name}", 2, "a file to be read and a file to be written", small, "--vram", "64K", option, path)
    for name, path in (("once_more", table), ("by_another_way", f"{folder}/../{folder.name}/table.csv")):
        for there in (False, True):
            table.write_text("mine") if there else table.unlink(missing_ok=True)
            expect(f"one_name_{name}_{there}", 2, "written twice", small, "--vram", "64K", "--csv", table, "--json", path)
            check(table.exists() == there and (not there or table.read_text() == "mine"), f"nothing_is_written_{name}_{there}")
    check(small.read_bytes() == before, "the_trace_is_left_alone")
    # A new file takes the old one's place, its rights, and the place that a link leads to.
    table.chmod(0o640)
    away.symlink_to(table)
    old = table.open()
    done = ferry(small, "--vram", "64K", "--csv", away, "--json", "/dev/null", "--svg", "/dev/null", "--quiet")
    check(done.returncode == 0 and away.is_symlink() and table.read_text().startswith("video_memory_bytes,") and old.read() == "mine"
          and table.stat().st_mode & 0o777 == 0o640, "a_new_file_takes_the_old_ones_place", done)
    kept = table.read_bytes()
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]  # Whoever runs the tests may have set one.
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, most))
    done = subprocess.run([FERRY, "policy", small, "--vram", "64K", "--csv", table, "--quiet"], capture_output=True, text=True, check=False,
                          preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN), limit()))
    check(done.returncode == 4 and f"cannot write {table}" in done.stderr and table.read_bytes() == kept
          and not list(folder.glob("*.part*")), "a_full_disk_leaves_the_old_file", done)


def bad_input():
    small = folder / "small.memtrace"
    small.write_text("a 1 12288 buffer\nw 1 0 12288\nd 1\nf\n")
    expect("size_below_a_job", 3, r"small.memtrace: the job in line 3 needs 12.0 KiB \(12288 bytes\), video memory is 8.0 KiB: "
           r"from 12.0 KiB \(12K, the largest job\) to 12.0 KiB",
           small, "--vram", "8K")
    for size in ("8Q", "0", "5", "W", "-1W", "nanW", "1e9W", "0x10W", "1e0W", " 1W", "+1F", "12K,,4M", "2000G", "0.001W"):
        expect(f"size_{size}", 2, r"--vram: '.*' is no size: from 12.0 KiB .* to 12.0 KiB", small, "--vram", size)
    expect("unknown_policy", 2, r"no policy 'best'; there are ours, lru, random, two-frames, furthest", small, "--policy", "lru,best")
    expect("no_trace", 2, "needs a trace file")
    expect("no_such_file", 2, "nowhere", folder / "nowhere")
    bad = folder / "bad.memtrace"
    bad.write_text("a 1 4096 buffer\nd 2\n")
    expect("bad_line", 2, "line 2", bad)
    expect("reservations_of_too_much", 3, "--reservations: 64.0 KiB of video memory cannot keep all of 44K,40K", small, small,
           "--vram", "64K", "--reservations", "44K,40K", "--quiet")
    roomy = folder / "roomy.memtrace"
    roomy.write_text("a 1 12288 buffer\nw 1 0 12288\n" + "d 1\nf\n" * 5)
    done = ferry(roomy, roomy, "--vram", "256K", "--reservations", "64K,64K", "--quiet")
    check(done.returncode == 0 and "nothing has to leave after frame 3" in done.stdout
          and "; with 5 % less the reservations cannot be kept;" in done.stdout,
          "advice_where_less_cannot_keep_the_reservations", done)
    expect("weights_of_too_many", 2, r"--weights: '1,2' has 2 numbers for 1 trace", small, "--weights", "1,2")
    for name, path in (("no_folder", folder / "no/such"), ("a_folder", folder), ("file_in_a_file", small / "x")):
        done = ferry(NEVERBALL, "--json", path)
        check(done.returncode == 2 and "cannot write" in done.stderr and done.stdout == "", f"{name}_is_told_of_before_all", done)
    outputs_are_nothing_else(small)
    empty = folder / "empty.memtrace"
    empty.write_text("")
    done = ferry(empty, "--vram", "64K")
    check(done.returncode in (0, 2), "empty_trace_has_an_answer", done)
    expect("empty_trace_has_no_curve", 2, "holds no event", empty, "--sweep", "--quiet")
    empty.write_text("f\n")
    expect("trace_of_nothing_has_no_curve", 2, "no allocation is ever made", empty, "--sweep", "--quiet")
    expect("trace_of_nothing_has_no_size", 2, "is no size: no allocation is ever made", empty, "--quiet")
    expect("points_of_a_sweep", 2, "--points", small, "--sweep", "--points", "1")
    expect("full_disk", 4, "cannot write /dev/full", small, "--sweep", "--quiet", "--svg", "/dev/full")
    done = ferry(small, "--sweep", "--quiet", "--no-advice")
    check(done.returncode == 0 and "12.0 KiB" in done.stdout, "sweep_of_one_size", done)


def the_chapters_policy():
    """The policy of docs/manual/policies.md, put in as the page says: the tool's own objects, and that file beside them."""
    page = (ROOT / "docs/manual/policies.md").read_text()
    source = re.search(r"((?:^    .*\n|^\n)*^    const struct ferry_lab_policy (?:^    .*\n|.*\n)*?.*choose = choose\};)", page, re.M)[1]
    made = folder / "chapter/lab/policies"
    made.mkdir(parents=True)
    (made / "largest_old.c").write_text(re.sub(r"^    ", "", source, flags=re.M) + "\n")
    listed = (ROOT / "host-driver/lab/policies/policies.h").read_text()
    (made / "policies.h").write_text(listed.replace("X(furthest)", "X(furthest) X(largest_old) X(lies)"))
    (made / "lies.c").write_text("""#include "lab/policy.h"
        static uint32_t choose(struct ferry_lab_memory *memory)
        {
            for (size_t i = 0; i < memory->item_count; i++)
                memory->items[i].pinned = false;
            return memory->placed[0];
        }
        extern const struct ferry_lab_policy ferry_lab_lies;
        const struct ferry_lab_policy ferry_lab_lies = {.name = "lies", .says = "all may leave", .choose = choose};
        """)
    objects = [o for room in ("tools", "tools/import", "lab", "lab/policies") for o in (ROOT / "build/obj/host-driver" / room).glob("*.o")
               if o.name != "bench.o"]
    libraries = subprocess.run(["make", "-s", "print-libs"], capture_output=True, text=True, check=True).stdout.split()
    tool = folder / "chapter/ferry"
    includes = [f"-I{folder}/chapter", *(f"-I{ROOT}/{part}" for part in ("host-driver", "host-driver/include", "build/generated"))]
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", *includes, "-c", made / "largest_old.c", made / "lies.c",
                    ROOT / "host-driver/lab/bench.c"], check=True, cwd=made)
    objects += [made / f"{name}.o" for name in ("largest_old", "lies", "bench")]
    subprocess.run(["c++", *objects, "build/libferry.a", *libraries, "-o", tool], check=True)
    done = subprocess.run([tool, "policy", NEVERBALL, "--policy", "lru,largest-old,furthest", "--quiet"], capture_output=True,
                          text=True, check=False)
    check(done.returncode == 0 and re.search(r"^  largest-old +[\d.]+ [MG]iB", done.stdout, re.M),
          "the_chapters_policy_stands_in_the_table", done)
    # A policy that writes in what it is shown is stopped all the same; told is what the trace calls it.
    own, other = folder / "own.memtrace", folder / "other.memtrace"
    own.write_text(f"a 70 {PAGE} buffer\nd 70\nf\nx 70\n" + "f\n" * 9)
    other.write_text(f"f\na 41 {PAGE} buffer\na 42 {PAGE} buffer\na 43 {PAGE} buffer\nf\nf\nf\nf\nd 41 42\nf\nd 41 43\nf\n")
    done = subprocess.run([tool, "policy", own, other, "--policy", "lies", "--vram", "8K", "--quiet"], capture_output=True, text=True,
                          check=False)
    want = (r"other.memtrace, line 11: policy lies names an allocation that the job under way needs \(number \d\) in frame \d+ .*: "
            r"allocation 41 of \S*other.memtrace, made in line 2$")
    check(done.returncode == 1 and re.search(want, done.stderr.strip()),
          "a_policy_that_lies_is_stopped", done)


the_same_as_a_second_implementation()
the_manager_agrees_where_nothing_leaves()
a_recorded_game()
several_programs()
it_does_not_matter_where_one_asks()
nothing_is_told_of_frames_that_are_not_there()
what_is_not_paging()
what_costs_most()
the_knee_of_the_curve()
the_advice_of_several()
a_replay_ends_with_the_sentence()
a_sweep()
the_chapters_policy()
bad_input()
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
