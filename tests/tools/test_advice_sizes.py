#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the sentence of `ferry policy` says of sizes, the one that is enough above all, against every size there is."""
import json
import random
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path.cwd() / "tests/tools"))
from laboratory import PAGE, SEED, check, end, ferry, figures, folder, ours, random_trace, first_frames  # noqa: E402

RISES = (853, 1193, 1699, 1769)  # Seeds of traces that page again with more memory.


BEYOND = (817, 1166)  # Seeds of traces that page with room for all that lives at once.


def it_does_not_matter_where_one_asks():
    """The smallest size is the same from below and from above."""
    found = [figures(first_frames(), "--vram", size, "--policy", "ours")["advice"][0] for size in ("0.8W", "0.97W", "2W")]
    check(len({advice["enough_bytes"] for advice in found}) == 1 and all(a["enough_within_bytes"] == PAGE for a in found)
          and {advice["pages"] for advice in found} == {True, False}, "the_smallest_size_is_the_same_from_everywhere", found)


def every_size(trace, least, most):
    """The manager at every size there is: whether it pages after the warm-up."""
    path = folder / "every.json"
    sizes = range(least, most + 1)
    listed = ",".join(f"{4 * n}K" for n in sizes)
    done = ferry(trace, "--sweep", "--vram", listed, "--policy", "ours", "--no-advice", "--quiet", "--json", path)
    if done.returncode != 0:
        raise SystemExit(f"FERRY_SEED={SEED}: {done.stderr}")
    return {run["video_memory_bytes"] // PAGE: run for run in json.loads(path.read_text())["runs"]}


def curves_that_rise_again():
    """More memory can page more. What is said of sizes, against every size there is; on curves that are known to rise, where
    halving alone goes astray, and on those of the day."""
    print(f"FERRY_SEED={SEED}")
    trace, path = folder / "rises.memtrace", folder / "rises.json"
    known = [*RISES, *BEYOND]
    risen, beyond, told, cases, seeds = 0, 0, "", 0, iter([*known, *range(1000 * SEED, 1000 * SEED + 100)])
    while cases < len(known) + 5:
        seed = next(seeds)
        chance = random.Random(seed)
        trace.write_text(random_trace(chance, chance.randint(6, 25)))
        asked = chance.randint(14, 40)
        done = ferry(trace, "--vram", f"{4 * asked}K", "--policy", "ours", "--quiet", "--json", path)
        if done.returncode != 0:  # A job that is larger.
            continue
        cases += 1
        report = json.loads(path.read_text())
        advice, frames = report["advice"][0], report["frames"] - 3
        most = 2 * -(-report["most_living_bytes"] // PAGE)
        runs = every_size(trace, 1, most)
        pages = {n: not run["fits"] or run["evictions_after_warm_up"] + run["paged_after_warm_up"] > 0 for n, run in runs.items()}
        enough = min((n for n in pages if not pages[n]), default=0)
        again = max((n for n in pages if n > enough and pages[n]), default=0)
        steady = min(n for n in pages if not pages[n] and n > again) if enough else 0
        risen += again > 0
        beyond += seed in BEYOND and pages[most // 2]
        right = (advice["enough_bytes"] == enough * PAGE and advice["enough_is_least"] and advice["all_above_played"]
                 and advice["pages_again_bytes"] == again * PAGE and advice["steady_bytes"] == steady * PAGE
                 and all(pages[n] for n in pages if n * PAGE < advice["least_bytes"]))
        moved = {n: run["bytes_after_warm_up"] // frames for n, run in runs.items() if run["fits"]}
        if advice["pages"] and enough > asked + 1:
            fall = moved[asked] - moved[enough]
            below = {n: moved[asked] - fall * (n - asked) / (enough - asked) - moved[n] for n in range(asked + 1, enough)}
            best = max(below.values())
            knee = advice["knee_bytes"] // PAGE
            right = right and advice["knee_of_all_sizes"] and (
                abs(below[knee] - best) < 0.01 if knee < enough else best <= fall / 8 + 0.01)
        words = f", though {4 * again}K pages again and from {4 * steady}K on no size up to {4 * most}K does" in done.stdout
        if not right or words != (again > 0):
            told = told or (seed, advice, enough, again, steady, moved, done.stdout)
    check(not told and risen >= len(RISES) and beyond == len(BEYOND), "what_is_said_of_sizes_is_true_of_every_size", (risen, beyond, told))


def where_not_every_size_is_played():
    """Behind frames that take time, not all smaller sizes are: what was found is told as the most that it takes, not as the least.
    Of a trace that is long, the size is found to a 64th."""
    trace, path, enough = folder / "late.memtrace", folder / "late.json", {}
    chance = random.Random(50)
    text = random_trace(chance, chance.randint(6, 25))
    for name, before in (("at_once", ""), ("late", f"a 9999 {PAGE} buffer\nw 9999 0 9\n" + ("d 9999\n" * 200 + "f\n") * 500)):
        trace.write_text(before + text)
        last = ferry(trace, "--vram", "100K", "--policy", "ours", "--quiet", "--json", path).stdout.splitlines()[-1]
        advice = json.loads(path.read_text())["advice"][0]
        enough[name] = advice["enough_bytes"]
        check(advice["enough_is_least"] == (name == "at_once") and advice["enough_bytes"] > advice["least_bytes"]
              and ("; at most " in last) == (name == "late") and re.search(r"; (at most )?\d+\.\d KiB more \(", last),
              f"a_size_that_is_found_{name}_is_told_as_it_is", (advice, last))
    names = [" ".join(map(str, range(i, i + 50))) for i in range(1, 1001, 50)]
    trace.write_text("".join(f"a {i} {2 * PAGE} buffer\nw {i} 0 9\n" for i in range(1, 1001))
                     + "".join(f"d {name}\n" for name in [*names, *names]) + "f\n"
                     + ("".join(f"d {name}\n" for name in names) + "f\n") * 2000)
    advice = figures(trace, "--vram", "9M", "--policy", "ours")["advice"][0]
    there, below = (ours(trace, size) for size in (advice["enough_bytes"], advice["enough_bytes"] - advice["enough_within_bytes"]))
    check(PAGE < advice["enough_within_bytes"] <= advice["enough_bytes"] // 64 and advice["enough_bytes"] < 9 << 20
          and there["evictions_after_warm_up"] == 0 < below["evictions_after_warm_up"], "the_size_of_a_long_trace_is_found_to_a_64th",
          advice)


it_does_not_matter_where_one_asks()
curves_that_rise_again()
where_not_every_size_is_played()
sys.exit(end())
