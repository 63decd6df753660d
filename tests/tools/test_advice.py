#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sentence that `ferry policy` and `ferry replay` end with: each of its figures against runs of its own."""
import contextlib
import functools
import json
import os
import pty
import random
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path.cwd() / "tests/tools"))
from laboratory import (  # noqa: E402
    FERRY, NEVERBALL, PAGE, SEED, check, end, ferry, figures, first_frames, folder, ours, random_trace, size_text)


@functools.cache
def the_game():
    """What is said of a little too little memory for the game's first frames, and its figures: some fifty runs."""
    path = folder / "game.json"
    said = ferry(first_frames(), "--vram", "0.95W", "--policy", "ours", "--quiet", "--json", path).stdout
    return said, json.loads(path.read_text())


def every_figure_is_measured():
    """Every figure of the sentence, against runs of its own."""
    said, report = the_game()
    advice, frames = report["advice"][0], report["frames"] - 3
    short = first_frames()
    here, less, enough, below = (ours(short, size) for size in (
        advice["video_memory_bytes"], advice["less_bytes"], advice["enough_bytes"],
        advice["enough_bytes"] - advice["enough_within_bytes"]))
    a_frame = [run["bytes_after_warm_up"] // frames for run in (here, less, enough)]
    paged = here["paged_after_warm_up"] // frames
    check(enough["evictions_after_warm_up"] == 0 < below["evictions_after_warm_up"] and
          advice["enough_within_bytes"] == PAGE, "advice_is_the_least_that_is_enough", advice)
    check([advice[n] for n in ("bytes_per_frame", "less_costs_per_frame", "left_per_frame")]
          == [a_frame[0], a_frame[1] - a_frame[0], a_frame[2]], "advice_tells_what_sizes_cost", (advice, a_frame))
    lines = short.read_text().splitlines()
    sentence = said.strip().splitlines()[-1]
    match = re.fullmatch(
        r"  With (.*), (.*) a frame is paged, (.*) a second at 60 frames; (.*) more \((\d+)K\) removes all paging after frame 3"
        r"; 5 % less costs (.*) a second more;"
        r" without allocation (\d+) of first60.memtrace \((?:buffer|texture \S+ \S+), line (\d+)\) it would be (.*) a frame less"
        r", the most of \d+ that were left out in turn\.", sentence)
    bytes_ = advice["video_memory_bytes"]
    check(match and list(match.groups()[:6]) == [
        size_text(bytes_), size_text(paged), size_text(60 * paged), size_text(advice["enough_bytes"] - bytes_),
        str(advice["enough_bytes"] // 1024), size_text(60 * advice["less_costs_per_frame"])], "advice_is_a_sentence", sentence)
    rest = folder / "without.memtrace"
    rest.write_text(without(lines, match[7]))
    saved = a_frame[0] - ours(rest, bytes_)["bytes_after_warm_up"] // frames
    check(match and lines[int(match[8]) - 1].split()[:2] == ["a", match[7]] and match[9] == size_text(saved)
          and saved == advice["costliest_saves_per_frame"], "advice_names_the_allocation_that_costs_most", (sentence, saved))
    made = lines[int(match[8]) - 1].split()
    want = {"program": 1, "allocation": int(match[7]), "line": int(match[8]), "bytes": int(made[2]), "what": " ".join(made[3:])}
    check(advice["costliest"] == want, "json_names_it_too", (advice["costliest"], want))
    idle = report_of("a 1 4096 buffer\nw 1 0 1\n" + "d 1\nf\n" * 5)["advice"][0]
    check(idle["costliest"] is None and idle["costliest_saves_per_frame"] == 0, "json_names_nobody_where_none_makes_a_difference", idle)


def report_of(text):
    trace, path = folder / "report_of.memtrace", folder / "report_of.json"
    trace.write_text(text)
    ferry(trace, "--vram", "4K", "--policy", "ours", "--quiet", "--json", path)
    return json.loads(path.read_text())


def five_percent_less():
    """What is played is 95 % to the nearest page, one less at least; where that is another share, the sentence says which."""
    advice = the_game()[1]["advice"][0]
    check(abs(advice["less_bytes"] * 20 - advice["video_memory_bytes"] * 19) <= 10 * PAGE, "less_is_5_percent_less", advice)
    trace, path, told = folder / "few.memtrace", folder / "few.json", []
    trace.write_text("".join(f"a {i} {2 * PAGE} buffer\nw {i} 0 {2 * PAGE}\n" for i in range(1, 60)) + "".join(
        f"d {i}\n" for i in range(1, 60)) + ("".join(f"d {i} {i + 1}\n" for i in range(1, 59)) + "f\n") * 6)
    for pages, less, share in ((4, 3, 25), (16, 15, 6), (29, 28, 3), (30, 28, 7), (100, 95, 5)):
        last = ferry(trace, "--vram", f"{4 * pages}K", "--policy", "ours", "--quiet", "--json", path).stdout.splitlines()[-1]
        advice = json.loads(path.read_text())["advice"][0]
        if advice["less_bytes"] != less * PAGE or re.findall(r"(\d+) % less", last) != [str(share)]:
            told.append((pages, advice["less_bytes"] // PAGE, last))
    check(not told, "the_share_that_was_played_is_said", told[:2])
    one = folder / "one.memtrace"
    one.write_text(f"a 1 {PAGE} buffer\nw 1 0 {PAGE}\n" + "d 1\nf\n" * 5)
    done = ferry(one, "--vram", "4K", "--policy", "ours", "--quiet")
    check(done.returncode == 0 and "With 4.0 KiB" in done.stdout and "% less" not in done.stdout, "of_one_page_there_is_no_less", done)


def what_a_curve_is_advised_on():
    """The size closest to a little too small, wherever it stands in the list."""
    for sizes in ("0.8W,0.95W,4W", "4W,0.95W,0.8W", "4W,3W,0.9W"):
        report = figures(first_frames(), "--sweep", "--vram", sizes, "--policy", "lru,ours")
        wanted = 0.95 * report["median_frame_bytes"]
        best = min({run["video_memory_bytes"] for run in report["runs"]}, key=lambda size: abs(size - wanted))
        got = [advice["video_memory_bytes"] for advice in report["advice"]]
        check(got == [best] and best < report["median_frame_bytes"], f"a_curve_of_{sizes}_is_advised_on_a_little_too_small", (got, best))


def without(lines, name):
    """The trace with an allocation that is made, and never used."""
    left = []
    for line in lines:
        words = line.split()
        if words[0] == "d":
            words = ["d", *(word for word in words[1:] if word != name)]
        elif words[0] in "wlut" and words[1] == name:
            words = ["d"]
        if words != ["d"]:
            left.append(" ".join(words))
    return "\n".join(left) + "\n"


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
        silent = ("nothing can be told: everything comes in for the first time in the first 3 frames, and there "
                  f"{'is' if frames == 1 else 'are'} {frames} in all.")
        if frames <= 3:
            check(said == [silent, silent] and json.loads(path.read_text())["advice"] == [], f"nothing_is_told_of_{frames}_frames", said)
        else:
            check("removes all paging" in said[0] and done.stdout.splitlines()[-1].startswith("  With 1.0 MiB nothing has to leave")
                  and "without allocation" not in done.stdout, f"something_is_told_of_{frames}_frames", (said, done))
    huge = 1 << 40
    for count, told in ((3, "; 3.0 TiB live at once, more than is ever played"), (1, "nothing has to leave")):
        trace.write_text("".join(f"a {i} {huge // 2 if count == 1 else huge} buffer\n" for i in range(count))
                         + "".join(f"d {i}\n" for i in range(count)) * 2 + ("".join(f"d {i}\n" for i in range(count)) + "f\n") * 5)
        said = ferry(trace, "--vram", "1024G", "--policy", "ours", "--quiet").stdout.splitlines()[-1]
        check(told in said and "no size that was played" not in said, f"sizes_beyond_what_is_played_{count}", said)
    # The seven objects that are named in all cost less than the manager that begins and ends.
    said = "".join(on_a_terminal(trace, "--vram", "1024G", "--policy", "ours"))
    runs = [int(run) for run in re.findall(r"for the advice, run (\d+):", said)]
    check(runs and max(runs) < 12000, "a_run_that_names_little_costs_something_too", runs[-1:])
    done = subprocess.run([FERRY, "replay", NEVERBALL, "--frames", "3", "--vram", "5M", "--backend", "model", "--quiet"],
                          capture_output=True, text=True, check=False)
    check("there are 3 in all" in done.stdout.splitlines()[-1] and "would do" not in done.stdout,
          "a_replay_of_3_frames_tells_nothing", done)


def nothing_is_told_where_nothing_can_be():
    """A trace without a job, whatever its sizes; and where the manager, whom it is all about, was not asked for."""
    trace, path = folder / "idle.memtrace", folder / "idle.json"
    trace.write_text(f"a 1 {2 * PAGE} buffer\nw 1 0 {2 * PAGE}\n" + "f\n" * 5)
    for size in ("4K", "8K", "64K"):
        done = ferry(trace, "--vram", size, "--quiet", "--json", path)
        check(done.returncode == 0 and done.stdout.endswith("\n  No GPU job names an allocation: nothing is paged, in any size.\n")
              and json.loads(path.read_text())["advice"] == [], f"a_trace_without_a_job_in_{size}", done)
    missing = "  What to do about it is told of ours, the shipped manager, which --policy leaves out.\n"
    for name, options in (("a_size", ("--vram", "5M")), ("sizes", ("--vram", "5M,6M")), ("a_curve", ("--sweep", "--points", "2"))):
        for policies in ("lru", "lru,furthest", "lru,ours"):
            done = ferry(first_frames(20), "--policy", policies, "--quiet", *options)
            silent = ferry(first_frames(20), "--policy", policies, "--quiet", "--no-advice", *options)
            left_out = "ours" not in policies
            check(done.returncode == 0 and done.stdout.endswith(missing) == left_out and ("With " in done.stdout) != left_out
                  and "What to do" not in silent.stdout, f"{policies}_of_{name}_says_why_there_is_no_sentence", done)


def less_that_costs_no_more():
    """Smaller, and as much is paged as before: an own allocation every frame, larger than the 5 % are."""
    trace, path = folder / "flat.memtrace", folder / "flat.json"
    trace.write_text("".join(f"a {i} {32 * PAGE} buffer\nw {i} 0 {32 * PAGE}\n" for i in (1, 2, 3)) + "d 1\nd 2\nd 3\nf\n" * 12)
    done = ferry(trace, "--vram", f"{68 * 4}K", "--policy", "ours", "--quiet", "--json", path)
    advice, last = json.loads(path.read_text())["advice"][0], done.stdout.splitlines()[-1]
    less = ours(trace, advice["less_bytes"])
    check(advice["bytes_per_frame"] > 0 == advice["less_costs_per_frame"] and less["bytes_after_warm_up"] // 9 <= advice["bytes_per_frame"]
          and "; 4 % less costs no more" in last and "costs nothing" not in last, "less_that_costs_no_more", (last, advice, less))


def what_is_paged():
    """All that moves but what the CPU wrote anew: of targets that are not read back, so that each content comes in once."""
    trace, wrong, paged = folder / "paged.memtrace", [], 0
    lines = [f"a {i} {8 * PAGE} buffer\nw {i} 0 9\nt {i}\n" for i in range(1, 15)] + ["f\n"] * 3
    for _ in range(12):
        lines += [f"d {i}\n" for i in range(1, 9)] + [f"l {i} discard\nu {i}\nd {i}\n" for i in range(9, 15)] + ["f\n"]
    trace.write_text("".join(lines))
    new = 12 * 6 * 8 * PAGE
    for policy in ("ours", "lru"):
        for run in figures(trace, "--sweep", "--vram", "32K,64K,128K,256K,384K,512K", "--policy", policy, "--no-advice")["runs"]:
            paged += run["paged_after_warm_up"]
            if run["paged_after_warm_up"] != run["bytes_after_warm_up"] - new:
                wrong.append(run)
    check(not wrong and paged > 100 * PAGE, "paged_is_what_comes_and_goes_for_want_of_room", wrong[:2])


def what_was_driven_out_and_comes_back():
    """An eviction of the first frames whose price is paid later is paging; what is new is not, whatever leaves for it."""
    trace, path = folder / "back.memtrace", folder / "back.json"
    one = [f"a {i} {8 * PAGE} buffer\nw {i} 0 9\nd {i}\nf\n" for i in (1, 2)]
    trace.write_text("".join(one) + "x 2\n" + "f\n" * 8 + "d 1\nf\n")
    done = ferry(trace, "--vram", "64K", "--policy", "ours", "--quiet", "--json", path)
    advice, less = json.loads(path.read_text())["advice"][0], ours(trace, 32 << 10)
    check(less["evictions_after_warm_up"] == 0 < less["paged_after_warm_up"] == 8 * PAGE and not advice["pages"]
          and advice["enough_bytes"] == 64 << 10 and "nothing has to leave after frame 3; " in done.stdout,
          "what_comes_back_was_paged", (less, advice, done.stdout))
    trace.write_text("".join(f"a {i} {4 * PAGE} buffer\nw {i} 0 9\nd {i}\nx {i}\nf\n" if i % 2 else f"a {i} {4 * PAGE} buffer\nd {i}\nf\n"
                             for i in range(1, 41)))
    done = ferry(trace, "--vram", "48K", "--policy", "ours", "--quiet", "--json", path)
    advice, last = json.loads(path.read_text())["advice"][0], done.stdout.splitlines()[-1]
    here = ours(trace, 48 << 10)
    check(here["evictions_after_warm_up"] > 0 == here["paged_after_warm_up"] == advice["paged_per_frame"] < advice["left_per_frame"]
          and advice["pages"] and "frame is paged" not in last and "what has to leave after frame 3 is not missed" in last
          and "leaves everything in place after frame 3" in last, "what_is_not_missed_is_not_paged", (here, advice, last))


def what_comes_behind_the_last_frame():
    """A recording that was cut off: what comes behind its last end of a frame is of no frame."""
    print(f"FERRY_SEED={SEED}")
    chance, path, told, cases = random.Random(SEED), folder / "cut.json", [], 0
    while cases < 3:
        trace = folder / "cut.memtrace"
        text = random_trace(chance, 20)
        words = [line.split() for line in text.splitlines()]
        gone = {w[1] for w in words if w[0] == "x"}
        living = [w[1] for w in words if w[0] == "a" and w[1] not in gone]
        said = []
        for tail in ("", "".join(f"d {i}\n" for i in living) * 50):
            trace.write_text(text + tail)
            done = ferry(trace, "--vram", "132K", "--policy", "ours", "--quiet", "--json", path)
            if done.returncode == 0:
                advice = json.loads(path.read_text())["advice"][0]
                # What may be left out is counted to the end.
                said.append({n: advice[n] for n in advice if "left_out" not in n})
        if len(said) == 2:
            cases += 1
            told += [(text, said)] if said[0] != said[1] else []
    check(not told, "a_tail_without_a_frame_changes_no_figure", told[:1])


def what_is_not_paging():
    """What the CPU writes each frame comes in at any size: it is told beside, not as paging."""
    trace, path = folder / "beside.memtrace", folder / "beside.json"
    trace.write_text("".join(f"a {i} {8 * PAGE} buffer\nw {i} 0 {8 * PAGE}\n" for i in range(1, 15)) +
                     ("".join(f"d {i}\n" for i in range(1, 9)) + "".join(f"w {i} 0 9\nd {i}\n" for i in range(9, 15)) + "f\n") * 20)
    done = ferry(trace, "--vram", "400K", "--policy", "ours", "--quiet", "--json", path)
    advice, last = json.loads(path.read_text())["advice"][0], done.stdout.splitlines()[-1]
    paged = advice["paged_per_frame"]
    check(ours(trace, 400 << 10)["paged_after_warm_up"] // 17 == paged and 0 < paged < advice["bytes_per_frame"]
          and f", {size_text(paged)} a frame is paged; " in last and " a second" not in last
          and f"after frame 3 ({size_text(advice['left_per_frame'])} a frame beside it is new content" in last, "paging_alone_is_paging",
          (advice, last))


def each_left_out(trace, size, frames):
    """Bytes a frame that each allocation's absence saves, from traces without it."""
    lines, rest = trace.read_text().splitlines(), folder / "without.memtrace"
    whole = ours(trace, size)["bytes_after_warm_up"] // (frames - 3)
    saves = {}
    for name in {line.split()[1] for line in lines if line[0] == "a"}:
        rest.write_text(without(lines, name))
        saves[name] = whole - ours(rest, size)["bytes_after_warm_up"] // (frames - 3)
    return saves


def what_costs_most():
    """The frame's target takes half of all room and is never paged: what most comes in of is not what costs most."""
    trace, path = folder / "most.memtrace", folder / "most.json"
    trace.write_text("".join(f"a {i} {size * PAGE} buffer\nw {i} 0 {size * PAGE}\n" for i, size in ((1, 3), (2, 3), (3, 3), (4, 3), (5, 6)))
                     + "d 1 5\nd 2 5\nd 3 5\nd 4 5\nf\n" * 20)
    done = ferry(trace, "--vram", "48K,64K", "--policy", "ours,lru", "--quiet", "--json", path)
    advice = json.loads(path.read_text())["advice"][0]
    saves = each_left_out(trace, 12 * PAGE, 20)
    last = done.stdout.splitlines()[-1]
    check(max(saves.values()) == advice["costliest_saves_per_frame"] == saves["5"] > 0
          and advice["left_out"] == advice["may_be_left_out"] == 5 and sorted(saves.values())[-2] < saves["5"]
          and last.endswith(f"; without allocation 5 of most.memtrace (buffer, line 9) it would be {size_text(saves['5'])} a frame less."),
          "what_is_in_the_way_costs_most", (saves, advice, done))
    print(f"FERRY_SEED={SEED}")
    chance, told, cases = random.Random(SEED), "", 0
    while cases < 3:
        trace.write_text(random_trace(chance, 15))
        done = ferry(trace, "--vram", "120K", "--policy", "ours", "--quiet", "--json", path)
        if done.returncode != 0:  # A job that is larger.
            continue
        report, cases = json.loads(path.read_text()), cases + 1
        advice, saves = report["advice"][0], each_left_out(trace, 120 << 10, report["frames"])
        named = re.search(r"; without allocation (\d+) of", done.stdout)
        best = max(max(saves.values()), 0) if advice["pages"] else 0
        if advice["costliest_saves_per_frame"] != best or (best > 0 and saves[named[1]] != best):
            told = (advice, saves, done.stdout, trace.read_text())
    check(not told, "what_costs_most_is_found_by_leaving_each_out", told)


def the_costliest_of_a_second_program():
    """It is named with its own program's name, number and line, whichever program comes first."""
    trace, small = folder / "large.memtrace", folder / "beside.memtrace"
    trace.write_text("".join(f"a {i} {size * PAGE} buffer\nw {i} 0 9\n" for i, size in ((1, 3), (2, 3), (3, 3), (4, 3), (5, 6)))
                     + "d 1 5\nd 2 5\nd 3 5\nd 4 5\nf\n" * 20)
    small.write_text(f"a 1 {PAGE} buffer\n" + "d 1\nf\n" * 20)
    for traces in ((trace, small), (small, trace)):
        last = ferry(*traces, "--vram", "52K", "--policy", "ours", "--quiet").stdout.splitlines()[-1]
        check("; without allocation 5 of large.memtrace (buffer, line 9) it would be " in last,
              f"the_costliest_is_told_of_its_program_{'first' if traces[0] == trace else 'second'}", last)


def the_largest_are_left_out_too():
    """Of so many that not all are tried, half the tries go to those that come in most, half to the largest: the target that every
    job names is never paged, and is what is in the way."""
    trace, path = folder / "many.memtrace", folder / "many.json"
    trace.write_text("".join(f"a {i} {2 * PAGE} buffer\nw {i} 0 9\n" for i in range(1, 41)) + f"a 41 {12 * PAGE} buffer\nw 41 0 9\n"
                     + ("".join(f"d {i} 41\n" for i in range(1, 41)) + "f\n") * 600)
    done = ferry(trace, "--vram", "320K", "--policy", "ours", "--quiet", "--json", path)
    advice = json.loads(path.read_text())["advice"][0]
    check(advice["left_out"] < advice["may_be_left_out"] == 41 and "without allocation 41 of " in done.stdout
          and advice["costliest_saves_per_frame"] == advice["bytes_per_frame"] > 0, "the_largest_are_left_out_too", (advice, done.stdout))


def what_a_frame_is():
    """A trace says what its frames are; only pictures come at a rate."""
    trace = folder / "unit.memtrace"
    texts = {"": "", " token": "", " frame": " a second at 60 frames", "texture": " a second at 60 frames"}
    for unit, rate in texts.items():
        kind = "texture 64x128 GL_RGBA8" if unit == "texture" else "buffer"
        word = unit.replace("texture", "")
        trace.write_text("".join(f"a {i} {8 * PAGE} {kind}\nw {i} 0 {8 * PAGE}\n" for i in (1, 2, 3)) + f"d 1\nd 2\nd 3\nf{word}\n" * 9)
        last = ferry(trace, "--vram", "64K", "--policy", "ours", "--quiet").stdout.splitlines()[-1]
        named = word.strip() or "frame"
        check(f" a {named} is paged" in last and f"after {named} 3" in last and (" a second" in last) == bool(rate) and rate in last,
              f"frames_are_{unit.strip() or 'not_said'}", last)


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
    short = first_frames(20)
    for name, replayed, options in (("one", [NEVERBALL], []), ("several", [NEVERBALL, NEVERBALL], ["--weights", "3,1"])):
        done = subprocess.run([FERRY, "replay", *replayed, "--frames", "20", "--vram", "8M", "--backend", "model", "--quiet", *options],
                              capture_output=True, text=True, timeout=600, check=False)
        policy = ferry(*[short] * len(replayed), "--vram", "8M", "--policy", "ours", "--quiet", *options)
        want = policy.stdout.splitlines()[-1].strip().replace(short.name, "neverball.memtrace.gz")
        check(done.returncode == policy.returncode == 0 and done.stdout.splitlines()[-1] == want and want.startswith("With 8.0 MiB"),
              f"replay_of_{name}_ends_with_the_sentence", (done, policy))
        quiet = subprocess.run([*done.args, "--no-advice"], capture_output=True, text=True, timeout=600, check=False)
        check("With 8.0 MiB" not in quiet.stdout and quiet.returncode == 0, f"replay_of_{name}_without_the_sentence", quiet)


def on_a_terminal(*arguments):
    """What is said on standard error where that is a terminal, piece by piece."""
    ours_, theirs = pty.openpty()
    process = subprocess.Popen([FERRY, "policy", *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # Linux says so when the last one that writes has ended.
        while data := os.read(ours_, 65536):
            said += data
    os.close(ours_)
    check(process.wait() == 0, "plays_on_a_terminal", said)
    return [piece.replace("\x1b[K", "").strip() for piece in said.decode().split("\r")]


def what_is_being_done_is_said():
    """Advice takes many runs: each says what it is for, and which it is; a pipe and --quiet are told nothing."""
    trace, small = folder / "progress.memtrace", folder / "beside.memtrace"
    trace.write_text("".join(f"a {i} {i * PAGE} buffer\nw {i} 0 9\n" for i in range(1, 13))
                     + ("".join(f"d {1 + i % 12}\n" for i in range(30)) + "f\n") * 20)
    small.write_text(f"a 1 {PAGE} buffer\n" + "d 1\nf\n" * 20)
    words = ["a little less", "the size that is enough", "larger ones that do not", "the knee of the curve", "what costs most"]
    for traces, more in (([trace], []), ([trace, small], ["each program alone"])):
        arguments = [*traces, "--vram", "160K", "--policy", "ours"]
        told = [re.fullmatch(r"for the advice, run (\d+): (.*), +(\d+\.\d KiB) +(\d+) %", piece) for piece in on_a_terminal(*arguments)]
        told = [match for match in told if match]
        runs = list(dict.fromkeys(int(match[1]) for match in told))
        said = list(dict.fromkeys(match[2] for match in told))
        check(runs == list(range(1, len(runs) + 1)) and len(runs) > 15 and [word for word in said if word in words + more] == words + more
              and all(match[4] == "0" for match in told[:1]) and {match[3] for match in told} >= {"152.0 KiB", "160.0 KiB"},
              f"each_run_for_the_advice_is_told_of_{len(traces)}", (runs, said))
        check(not any("advice" in piece for piece in on_a_terminal(*arguments, "--quiet")) and ferry(*arguments).stderr == "",
              f"nothing_is_told_who_does_not_look_{len(traces)}", traces)


def the_advice_of_several():
    """What each program would bring in alone is measured, not shared out."""
    path = folder / "two.json"
    small = folder / "alone.memtrace"
    small.write_text(random_trace(random.Random(4), 20))
    game = first_frames()
    done = ferry(game, small, "--vram", "5M", "--policy", "ours", "--quiet", "--json", path)
    report = json.loads(path.read_text())
    alone = [ours(trace, 5 << 20)["programs_bytes_in"][0] for trace in (game, small)]
    together = report["runs"][0]["programs_bytes_in"]
    check(report["advice"][0]["programs_bytes_in_alone"] == alone, "advice_measures_each_program_alone", (report["advice"], alone))
    want = "; " + ", ".join(f"program {i + 1} ({name}) brings in {size_text(together[i])} (alone {size_text(alone[i])})"
                            for i, name in enumerate(("first60.memtrace", "alone.memtrace")))
    check(want in done.stdout.splitlines()[-1], "advice_tells_of_each_program", (want, done.stdout))
    # A model of 10 tokens beside a game of 300 frames: amounts are told in all, since no frame is both's.
    model, game = folder / "ten.memtrace", folder / "long.memtrace"
    model.write_text("".join(f"a {i} {8 * PAGE} buffer\nw {i} 0 9\n" for i in range(1, 5)) + "d 1\nd 2\nd 3\nd 4\nf token\n" * 10)
    game.write_text(f"a 1 {8 * PAGE} texture 64x128 GL_RGBA8\nw 1 0 9\n" + "d 1\nf\n" * 300)
    for traces in ((model, game), (game, model)):
        done = ferry(*traces, "--vram", "128K", "--policy", "ours", "--quiet", "--json", path)
        report, last = json.loads(path.read_text()), done.stdout.splitlines()[-1]
        run, advice = report["runs"][0], report["advice"][0]
        less = json.loads((ferry(*traces, "--vram", f"{advice['less_bytes'] // 1024}K", "--policy", "ours", "--no-advice", "--quiet",
                                 "--json", path), path.read_text())[1])["runs"][0]
        cost = less["bytes_after_warm_up"] - run["bytes_after_warm_up"]
        check((advice["bytes_in_all"], advice["paged_in_all"], advice["less_costs_in_all"]) ==
              (run["bytes_after_warm_up"], run["paged_after_warm_up"], cost) and run["paged_after_warm_up"] > 0
              and f"128.0 KiB, {size_text(run['paged_after_warm_up'])} in all is paged; " in last and " a second" not in last
              and " a token" not in last and " a frame" not in last and (f" less costs {size_text(cost)} more in all" in last or not cost),
              f"amounts_of_several_are_in_all_{traces[0].stem}_first", (advice, run, less, last))


every_figure_is_measured()
five_percent_less()
what_a_curve_is_advised_on()
nothing_is_told_of_frames_that_are_not_there()
nothing_is_told_where_nothing_can_be()
less_that_costs_no_more()
what_is_not_paging()
what_is_paged()
what_was_driven_out_and_comes_back()
what_comes_behind_the_last_frame()
what_costs_most()
the_costliest_of_a_second_program()
the_largest_are_left_out_too()
the_knee_of_the_curve()
what_a_frame_is()
a_replay_ends_with_the_sentence()
what_is_being_done_is_said()
the_advice_of_several()
sys.exit(end())
