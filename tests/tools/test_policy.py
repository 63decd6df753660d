#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ferry policy` against a second implementation of its policies (laboratory.py), on random traces (FERRY_SEED) and on a recorded
one, and the shipped manager beside them where both must agree; programs, and curves."""
import csv
import gzip
import json
import os
import random
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

sys.path.insert(0, str(Path.cwd() / "tests/tools"))
from laboratory import (  # noqa: E402
    FERRY, LEAVES, NEVERBALL, PAGE, SEED, after_warm_up, check, end, ferry, figures, folder, ours, put_together, random_trace, same,
    size_text, World)


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


def frame_sizes(text):
    """Bytes that the jobs of each frame name, each allocation once, in whole pages; what comes behind the last frame is none."""
    living, frames, named = {}, [], {}
    for line, words in enumerate(map(str.split, text.splitlines())):
        if words[0] == "a":
            # An id may come again, as another allocation.
            living[words[1]] = line, -(-int(words[2]) // PAGE) * PAGE
        elif words[0] in "dt":
            named |= dict(living[i] for i in (words[1:] if words[0] == "d" else words[1:2]))
        elif words[0] == "f":
            frames.append(sum(named.values()))
            named = {}
    return sorted(frames)


def what_a_frame_needs():
    """W and F, what a curve begins with, and the factors: by counting."""
    chance, told = random.Random(SEED), ""
    traces = [gzip.open(NEVERBALL, "rt").read(), *(random_trace(chance, chance.randint(3, 40)) + "a 9999 4096 buffer\nd 9999\n"
                                                   for _ in range(8))]
    # A few large frames among small ones; jobs that need little of many.
    small = "".join(f"a {i} {PAGE} buffer\nw {i} 0 {PAGE}\n" for i in range(1, 81))
    frames = [80] + [chance.randint(30, 70) for _ in range(chance.randint(6, 30))]
    traces.append(small + "".join("".join(f"d {i}\n" for i in range(1, n + 1)) + "f\n" for n in frames))
    path = folder / "frames.memtrace"
    for text in traces:
        path.write_text(text)
        frames = frame_sizes(text)
        report = figures(path, "--vram", "64M", "--policy", "lru", "--no-advice")
        if (report["median_frame_bytes"], report["largest_frame_bytes"]) != (frames[len(frames) // 2], frames[-1]):
            told = told or (f"FERRY_SEED={SEED}", report, frames, text[-2000:])
    check(not told, "median_and_largest_frame_are_what_jobs_name", told)
    swept = figures(path, "--sweep", "--points", "5", "--policy", "lru", "--no-advice")
    least = min(run["video_memory_bytes"] for run in swept["runs"])
    check(least == frames[len(frames) // 2] // 4 // PAGE * PAGE > swept["largest_job_bytes"] == PAGE,
          "a_curve_begins_at_a_quarter_of_a_frame", (f"FERRY_SEED={SEED}", least, frames, swept["largest_job_bytes"]))
    runs = figures(path, "--vram", "0.5W,0.5F", "--policy", "lru", "--no-advice")["runs"]
    want = [part // 2 // PAGE * PAGE for part in (frames[len(frames) // 2], frames[-1])]
    check([run["video_memory_bytes"] for run in runs] == want, "factors_are_of_them", (f"FERRY_SEED={SEED}", runs, want))


def the_usual_size():
    """A little too small for a median frame; where a job needs more than that, for the largest frame; where that is one job, the job."""
    path, told = folder / "usual.memtrace", []
    made = "".join(f"a {i} {PAGE} buffer\nw {i} 0 9\n" for i in range(1, 101))
    frame = lambda parts, size: "".join("d " + " ".join(str(part * size + i) for i in range(1, size + 1)) + "\n" for part in range(parts))
    for usual, factor, of, text in (("0.95W", 0.95, 40, f"{frame(4, 10)}f\n" * 9),
                                    ("0.95F", 0.95, 100, f"{frame(4, 10)}f\n" * 9 + f"{frame(2, 50)}f\n"),
                                    ("1.00F", 1, 100, f"{frame(4, 10)}f\n" * 9 + f"{frame(1, 100)}f\n")):
        path.write_text(made + text)
        report = figures(path, "--policy", "lru", "--no-advice")
        said = ferry(path, "--policy", "lru", "--no-advice", "--quiet").stdout
        if [run["video_memory_bytes"] for run in report["runs"]] != [int(of * factor) * PAGE] or f"({usual}) of video memory" not in said:
            told.append((usual, report["runs"], said))
    check(not told, "the_usual_size_is_the_first_that_jobs_fit_into", told)


def a_recorded_game():
    """What performance.md and the trace's own README say of it: the orders of magnitude that this is all about."""
    path, table, picture = folder / "game.json", folder / "game.csv", folder / "game.svg"
    done = ferry(NEVERBALL, "--vram", "0.95W", "--json", path, "--csv", table, "--svg", picture)
    report = json.loads(path.read_text())
    runs = {run["policy"]: run for run in report["runs"]}
    size = report["runs"][0]["video_memory_bytes"]
    twice = figures(NEVERBALL, "--vram", f"0.95W,{size // 1024}K,64M,0.95W", "--policy", "lru,two-frames,lru", "--no-advice")["runs"]
    want = [(name, bytes_) for bytes_ in (size, 64 << 20) for name in ("lru", "two-frames")]
    check([(r["policy"], r["video_memory_bytes"]) for r in twice] == want,
          "what_is_asked_for_twice_is_played_once", twice)
    check(done.returncode == 0 and list(runs) == ["ours", "lru", "random", "two-frames", "furthest"], "game_has_all_policies", done)
    check(runs["lru"]["times_reference"] > 9 and runs["ours"]["times_reference"] < 1.1, "lru_is_ten_times_the_reference_ours_is_not", runs)
    check(runs["ours"]["bytes_moved"] <= runs["ours"]["bytes_in"] // 20, "manager_moves_little_inside", runs["ours"])
    text = gzip.open(NEVERBALL, "rt").read()
    world = World(text, report["runs"][0]["video_memory_bytes"] // PAGE, LEAVES["lru"])
    check(same(world, runs["lru"]), "game_on_lru_agrees_with_a_second_implementation", (runs["lru"], world.in_, world.out))
    rows = list(csv.DictReader(table.open()))
    check([(r["policy"], int(r["bytes_in"])) for r in rows] == [(n, run["bytes_in"]) for n, run in runs.items()],
          "csv_says_the_same", rows)
    times = {r["policy"]: float(r["times_reference"]) for r in rows}
    want = {name: run["bytes_in"] / runs["furthest"]["bytes_in"] for name, run in runs.items()}
    check(all(abs(times[n] - want[n]) < 6e-5 and abs(runs[n]["times_reference"] - want[n]) < 6e-5 for n in runs),
          "times_the_reference_are_of_its_bytes_in", (times, want))
    words = " ".join(ET.parse(picture).getroot().itertext())
    lines = [e for e in ET.parse(picture).getroot().iter() if e.tag.endswith("polyline")]
    check(len(lines) == 5 and all(n in words for n in runs) and "neverball" in words, "svg_has_a_line_a_policy", words)


def what_was_needed_while_it_loaded():
    """As Armagetron Advanced does (recorded with apitrace): one large texture for its menu, some small ones in every frame."""
    path, sizes = folder / "loaded.memtrace", {1: 1398102, 2: 174762, 3: 43690, 4: 174762}
    made = "".join(f"a {name} {size} buffer\nw {name} 0 {size}\n" for name, size in sizes.items())
    menu = "d 2\nd 1\n" + "d 2\n" * 8 + "d 3\nf\n"
    for size in ("1600K", "1700K"):
        moved = []
        for frames in (300, 600):
            path.write_text(made + menu * 2 + ("d 4\n" + "d 2\n" * 8 + "d 3\nf\n") * frames)
            run = figures(path, "--vram", size, "--policy", "ours", "--no-advice")["runs"][0]
            moved.append(run["bytes_in"] + run["bytes_out"])
        check(moved[0] == moved[1] < 20 * sizes[1], f"a_large_texture_of_the_menu_leaves_in_time_{size}", moved)


def a_window_that_slides():
    """An open world that streams: each frame draws the 40 textures of a window, which moves on by one every other frame. In what one
    frame names, least recently used brings in each once; the manager has to do nearly as well, and much better with less."""
    path, size, window, count = folder / "window.memtrace", 65536, 40, 200
    made = "".join(f"a {n} {size} texture 128x128 GL_RGBA\nw {n} 0 {size}\n" for n in range(window + count // 2))
    path.write_text(made + "".join("".join(f"d {n}\n" for n in range(t // 2, t // 2 + window)) + "f\n" for t in range(count)))
    sizes = f"{window * size // 1024}K,{(window - 2) * size // 1024}K"
    ours, lru, less, lru_less = (run["bytes_in"] for run in figures(path, "--vram", sizes, "--policy", "ours,lru", "--no-advice")["runs"])
    check(lru == (window + (count - 1) // 2) * size and ours <= lru * 1.1, "a_window_that_slides_comes_in_once", (ours, lru))
    check(less * 10 < lru_less, "with_less_room_than_the_window_it_is_no_worse_for_it", (less, lru_less))


def points_of(frames, most):
    """Where the picture's lines belong: the worst of the frames of each of 500 points, or a point a frame."""
    count = min(len(frames), 500)
    worst = [max(frames[len(frames) * i // count:len(frames) * (i + 1) // count]) for i in range(count)]
    return [(92 + (i + 0.5) / count * 1000, 200 * (1 - min(1, bytes_ / most))) for i, bytes_ in enumerate(worst)]


def the_lines_of_the_picture():
    """Each is its policy's bytes a frame by the second implementation, in the colour that the legend says."""
    trace, picture, told = folder / "lines.memtrace", folder / "lines.svg", []
    print(f"FERRY_SEED={SEED}")
    chance = random.Random(SEED)
    for length in (40, 777):
        text = random_trace(chance, 40) if length == 40 else "".join(
            f"a {i} {PAGE * (i % 5 + 1)} buffer\nw {i} 0 9\n" for i in range(1, 31)) + "".join(
            f"d {i}\n" for i in range(1, 31)) + "f\n" + "".join(
            "d 1\n" + f"d {chance.randint(1, 30)}\n" * chance.randint(1, 3) + "f\n" for _ in range(length))
        trace.write_text(text)
        done = ferry(trace, "--vram", "160K", "--policy", "lru,two-frames,furthest", "--svg", picture, "--no-advice", "--quiet")
        worlds = {name: World(text, 40, leaves) for name, leaves in LEAVES.items()}
        most = max(4096, *(bytes_ for world in worlds.values() for bytes_ in world.frames[3:]))
        flat = [e for e in ET.parse(picture).getroot().iter()]
        # Where the first frame needs everything it lies above the scale.
        cut = any(bytes_ > most for world in worlds.values() for bytes_ in world.frames[:3])
        if cut != any("the first 3 cut off at the top" in (e.text or "") for e in flat):
            told.append((length, "cut off", cut))
        top = next(float(re.match(r"M92 ([\d.]+)h1000", e.get("d"))[1]) for e in flat if "h1000" in e.get("d", "")) - 200.5
        legend = {text.text: path.get("stroke") for path, text in zip(flat, flat[1:]) if path.get("d", "").endswith("h22")}
        lines = {e[0].text.split(":")[0]: e for e in flat if e.tag.endswith("polyline")}
        if list(legend) != list(worlds) or set(lines) != set(worlds) or len(set(legend.values())) != 3:
            told.append((length, done, legend, list(lines)))
        for name, line in lines.items():
            drawn = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
            want = [(x, top + y) for x, y in points_of(worlds[name].frames, most)]
            if line.get("stroke") != legend[name] or len(drawn) != len(want) or len({y for _, y in drawn}) < 3 or any(
                    abs(a - b) > 0.06 for one, other in zip(drawn, want) for a, b in zip(one, other)):
                told.append((length, name, line.get("stroke"), legend, drawn[:8], want[:8]))
    check(not told, "each_line_is_its_policys_in_its_colour", told[:1])


def marks(picture):
    """Of the frames in a sweep's picture: where each line is, and what stands at it."""
    elements = list(ET.parse(picture).getroot().iter())
    return [(float(re.match(r"M([\d.]+)", line.get("d")).group(1)), name.text, name.get("text-anchor"))
            for line, name in zip(elements, elements[1:]) if line.get("class") == "frame"]


def frames_are_marked(report, picture, sizes):
    """A median frame and the largest have a line each, however near they are; those of one size have one."""
    def x_of(name):
        return round(92 + (report[name] - sizes[0]) / (sizes[-1] - sizes[0]) * 1000, 1)
    want = [(x_of("median_frame_bytes"), "median frame (W)"), (x_of("largest_frame_bytes"), "largest frame (F)")]
    near = want[1][0] - want[0][0] < 110
    want = [(*mark, side if near else "middle") for mark, side in zip(want, ("end", "start")) if 92 <= mark[0] <= 1092]
    trace, drawn = folder / "marks.memtrace", folder / "marks.svg"
    ferry(trace_of(trace, 20, 20), "--sweep", "--policy", "lru", "--svg", drawn, "--quiet", "--no-advice")
    same = marks(drawn)
    ferry(trace_of(trace, 20, 21), "--sweep", "--policy", "lru", "--svg", drawn, "--quiet", "--no-advice")
    two = marks(drawn)
    check(marks(picture) == want and [mark[1:] for mark in same] == [("median and largest frame", "middle")]
          and [mark[1:] for mark in two] == [("median frame (W)", "end"), ("largest frame (F)", "start")] and two[0][0] < two[1][0],
          "sweep_marks_a_median_frame_and_the_largest", (marks(picture), want, same, two))


def trace_of(path, most, last):
    """Frames that name `most` pages each, but the last one, which names `last`."""
    path.write_text("".join(f"a {n} 4096 buffer\nw {n} 0 1\n" for n in range(100)) + "".join(
        "".join(f"d {n}\n" for n in range(last if frame == 9 else most)) + "f\n" for frame in range(10)))
    return path


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
        if row["fits"] != "yes" or tuple(int(row[name]) for name in (
                "bytes_in", "bytes_out", "bytes_after_warm_up", "paged_after_warm_up")) != (world.in_, world.out, *after_warm_up(world)):
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
    frames_are_marked(report, picture, sizes)
    done = ferry(trace, "--sweep", "--vram", f"{sizes[2] // 1024}K,4K,{sizes[2] // 1024}K", "--policy", "lru", "--csv", table, "--quiet")
    rows = [(int(r["video_memory_bytes"]), r["fits"], r["bytes_in"] != "") for r in csv.DictReader(table.open())]
    check(rows == [(PAGE, "no", False), (sizes[2], "yes", True)] and "too small" in done.stdout, "sweep_tells_what_is_too_small", rows)


def each_field_is_explained():
    """What JSON and CSV have is named in the manual, and what is named there they have."""
    one, two = folder / "fields.json", folder / "fields2.json"
    table = folder / "fields.csv"
    trace = trace_of(folder / "fields.memtrace", 20, 21)
    ferry(trace, "--vram", "0.95W", "--json", one, "--csv", table, "--quiet")
    ferry(trace, trace, "--vram", "0.95W", "--json", two, "--quiet")
    one, two = json.loads(one.read_text()), json.loads(two.read_text())
    have = set(one) | set(one["runs"][0]) | set(one["advice"][0]) | set(one["advice"][0]["costliest"])
    have |= set(two) | set(two["runs"][0]) | {name.replace("_in_all", "_per_frame") for name in two["advice"][0]}
    chapter = Path("docs/manual/policies.md").read_text().split("## For scripts")[1].split("\n## ")[0]
    said = set(re.findall(r"`([a-z_0-9]+)`", chapter)) - {"_in_all", "no", "null", "furthest", "ours"}
    check(have == said, "each_field_is_explained", have ^ said)
    columns = set(next(csv.reader(table.open())))
    check(columns == set(one["runs"][0]) - {"programs_bytes_in", "seconds"}, "csv_has_the_same_fields", columns)


def a_job_may_name_all_there_are():
    """A job of 65,537 allocations: the manager plays it as the policies do."""
    trace, count = folder / "many.memtrace", 65537
    ids = [str(n) for n in range(count)]
    # A thousand come in at a time, so that the last job finds all in place.
    jobs = [ids[at:at + 1000] for at in range(0, count, 1000)] + [ids]
    trace.write_text("".join(f"a {n} 4096 buffer\nw {n} 0 1\n" for n in ids) + "".join(f"d {' '.join(job)}\nf\n" for job in jobs))
    path = folder / "many.json"
    done = ferry(trace, "--vram", "1G", "--policy", "lru,ours", "--no-advice", "--quiet", "--json", path)
    came_in = [run["bytes_in"] for run in json.loads(path.read_text())["runs"]] if done.returncode == 0 else []
    check(came_in == [count * PAGE] * 2, "a_job_may_name_all_there_are", (done, came_in))


def what_came_in_is_somebodys():
    """What nobody wrote yet is filled, and comes in of nobody."""
    chance, wrong, cases, trace = random.Random(SEED), [], 0, folder / "whose.memtrace"
    while cases < 5:
        trace.write_text(random_trace(chance, 30))
        done = ferry(trace, "--vram", "132K", "--policy", "ours", "--no-advice", "--quiet", "--json", folder / "whose.json")
        if done.returncode == 3:  # A job that is larger.
            continue
        run = json.loads((folder / "whose.json").read_text())["runs"][0]
        cases += run["bytes_filled"] > 0
        wrong += [] if 0 < run["programs_bytes_in"][0] <= run["bytes_in"] else [(run, trace.read_text())]
    check(not wrong, "what_came_in_is_somebodys", wrong[:1])


def what_ends_early_and_what_comes_late():
    """Two programs end in their first frame; what the third creates and destroys long after is played, counted, and its own."""
    short, long = folder / "short.memtrace", folder / "long.memtrace"
    short.write_text(f"a 1 {PAGE} buffer\nw 1 0 {PAGE}\nd 1\nf\n")
    long.write_text("".join(f"a {i} {PAGE * 2} buffer\nw {i} 0 {PAGE * 2}\nd {i}\nf\nx {i}\n" for i in range(40)))
    path = folder / "early.json"
    for traces, ends in (((short, short, long), (1, 1, 80)), ((long, short, short), (80, 1, 1)), ((short, long, short), (1, 80, 1))):
        done = ferry(*traces, "--vram", "64K", "--policy", "lru,ours", "--no-advice", "--quiet", "--json", path)
        report = json.loads(path.read_text())
        check(done.returncode == 0 and report["jobs"] == 42
              and all(run["programs_bytes_in"] == [PAGE * n for n in ends] for run in report["runs"]),
              f"who_ends_early_ends_nobody_else_{ends.index(80)}", report)
    living = figures(long, "--vram", "64K", "--policy", "lru", "--no-advice")["most_living_bytes"]
    check(living == 2 * PAGE, "who_is_destroyed_lives_no_more", living)


def what_counts_after_a_while():
    """The figures of the worst frames, and of those after the third, of traces of which they are known."""
    trace = folder / "while.memtrace"
    new = lambda i: f"a {i} {PAGE} buffer\nw {i} 0 {PAGE}\nd {i}\n"
    trace.write_text("".join(new(i) * (i in (50, 100, 150)) + "f\n" for i in range(200)))
    run = figures(trace, "--vram", "64K", "--policy", "lru", "--no-advice")["runs"][0]
    check((run["worst_frame_bytes"], run["percentile_99_frame_bytes"]) == (PAGE, PAGE), "three_frames_of_200_are_more_than_1_percent", run)
    trace.write_text("".join(new(i) * (i in (50, 100)) + "f\n" for i in range(200)))
    run = figures(trace, "--vram", "64K", "--policy", "lru", "--no-advice")["runs"][0]
    check((run["worst_frame_bytes"], run["percentile_99_frame_bytes"]) == (PAGE, 0), "two_frames_of_200_are_not", run)
    # What is created where another one was in the same frame is named in it too.
    trace.write_text((new(1) + "x 1\n" + new(2) + "x 2\nf\n") * 3)
    report = figures(trace, "--vram", "64K", "--policy", "lru", "--no-advice")
    check(report["median_frame_bytes"] == report["largest_frame_bytes"] == 2 * PAGE, "who_comes_where_one_went_counts_in_the_frame", report)
    # Three that take turns in two pages for three frames, then one of them alone; and the same without an end of any frame.
    turns = "".join(f"a {i} {PAGE} buffer\nw {i} 0 {PAGE}\n" for i in (1, 2, 3)) + "d 1\nd 2\nd 3\nf\n" * 3
    names = ("evictions", "evictions_after_warm_up", "bytes_after_warm_up", "paged_after_warm_up")
    trace.write_text(turns + "d 3\nf\n" * 5)
    run = figures(trace, "--vram", "8K", "--policy", "lru", "--no-advice")["runs"][0]
    check([run[name] for name in names] == [7, 0, 0, 0], "what_pages_while_it_loads_is_not_counted_after_that", run)
    trace.write_text(turns.replace("f\n", ""))
    run = figures(trace, "--vram", "8K", "--policy", "lru", "--no-advice")["runs"][0]
    check(run["evictions"] == run["evictions_after_warm_up"] == 7 and run["bytes_after_warm_up"] == run["bytes_in"] + run["bytes_out"] > 0
          and run["paged_after_warm_up"] > 0, "of_a_trace_that_ends_before_all_counts", run)


def several_programs():
    """Weights are the manager's: who has more of them pages less. The policies know nothing of them, and nobody is protected."""
    runs = [figures(NEVERBALL, NEVERBALL, "--vram", "9M", "--policy", "ours,lru", "--no-advice", *more)["runs"]
            for more in ([], ["--weights", "5,4"])]
    alike, heavy = runs[0][0]["programs_bytes_in"], runs[1][0]["programs_bytes_in"]
    check(heavy[0] < alike[0] and heavy[1] > alike[1] and all(sum(r["programs_bytes_in"]) <= r["bytes_in"] for r in runs[0]),
          "who_has_more_weight_pages_less", runs)
    check(runs[0][1] == {**runs[1][1], "seconds": runs[0][1]["seconds"]}, "policies_know_no_weights", runs)
    # Whoever protects nobody plays two programs as if they were one.
    print(f"FERRY_SEED={SEED}")
    chance, wrong, cases = random.Random(SEED), [], 0
    while cases < 10:
        traces, texts = [folder / "first.memtrace", folder / "second.memtrace"], [random_trace(chance, chance.randint(4, 20)) for _ in "12"]
        for trace, text in zip(traces, texts):
            trace.write_text(text)
        pages, path = chance.randint(26, 60), folder / "pair.json"
        done = ferry(*traces, "--vram", f"{4 * pages}K", "--policy", ",".join(LEAVES), "--quiet", "--json", path)
        if done.returncode == 3:  # A job that is larger.
            continue
        cases += 1
        both, places = put_together(*texts)
        for run in json.loads(path.read_text())["runs"] if done.returncode == 0 else [done]:
            world = World(both, pages, LEAVES[run["policy"]], places) if done.returncode == 0 else None
            if not world or not same(world, run):
                wrong.append((run, vars(world) if world else "", texts))
    check(not wrong, "two_programs_page_as_one_where_nobody_is_protected", wrong[:1])


def a_sweep_on_so_many(processors, path):
    """Its words, its figures but for the time each run took, and the most threads that were seen."""
    command = [FERRY, "policy", NEVERBALL, "--sweep", "--points", "6", "--policy", "ours,lru,random", "--json", path, "--quiet",
               "--no-advice"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, processors))
    threads = 0
    while run.poll() is None:
        try:
            threads = max(threads, len(os.listdir(f"/proc/{run.pid}/task")))
        except FileNotFoundError:
            pass
        time.sleep(0.002)
    report = json.loads(path.read_text())
    seconds = [played.pop("seconds") for played in report["runs"]]
    check(all(time_ > 0 for time_ in seconds), f"each_run_on_{'one' if len(processors) == 1 else 'all'}_has_its_time", seconds)
    return run.stdout.read(), report, threads


def whoever_plays_them():
    """A thread for each processor that the process may have, and the same to the byte as on one."""
    mine = sorted(os.sched_getaffinity(0))
    one, all_ = (a_sweep_on_so_many(set(some), folder / "beside.json") for some in (mine[:1], mine))
    check(one[:2] == all_[:2], "a_sweep_is_the_same_on_one_processor", (one, all_))
    check((one[2], all_[2]) == (1, min(len(mine), 8)), "a_sweep_has_a_thread_for_each_processor", (one[2], all_[2], len(mine)))


the_same_as_a_second_implementation()
the_manager_agrees_where_nothing_leaves()
what_a_frame_needs()
the_usual_size()
a_recorded_game()
what_was_needed_while_it_loaded()
a_window_that_slides()
the_lines_of_the_picture()
a_sweep()
whoever_plays_them()
each_field_is_explained()
a_job_may_name_all_there_are()
what_came_in_is_somebodys()
what_ends_early_and_what_comes_late()
what_counts_after_a_while()
several_programs()
sys.exit(end())
