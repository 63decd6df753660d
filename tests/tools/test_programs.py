#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several traces at once: bad input and written files with the double of the library (fake_ferry.h), the rest with the
real tool: every byte of every program, the same cycles each time, figures of each, who pays for whom."""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

ROOT = Path.cwd()
sys.path.insert(0, str(ROOT / "tests/tools"))
import files  # noqa: E402
import injection  # noqa: E402

FAKE, FERRY = ROOT / "build/tests/parts/ferry-fake", ROOT / "build/ferry"
NEVERBALL, GLMARK2 = ROOT / "tests/data/neverball.memtrace.gz", ROOT / "tests/data/glmark2.memtrace.gz"
PAGE = (ROOT / "docs/manual/programs.md").read_text()
SEED = os.environ.get("FERRY_SEED", "20261122")
folder = Path(tempfile.mkdtemp(prefix="ferry-programs-"))
results = []

# Draws of 92 KiB, of 20 KiB.
LARGE = "a 1 8192 buffer\nw 1 0 8192\na 2 20000 texture 50x100 GL_RGBA\nw 2 100 5000\na 3 65536 texture 128x128 GL_RGBA\nt 3\n" \
        "d 1 2 3\nf\nl 1 discard\nw 1 0 4096\nu 1\nd 1 3\nf\n"
SMALL = "a 1 20480 buffer\nw 1 0 20480\nd 1\nf\nd 1\nw 1 5 10\nd 1\nf\nd 1\nf\n"


def check(good, name, detail=""):
    results.append(bool(good))
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}", flush=True)


def run(tool, *arguments, fake=""):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FERRY_")} | {"FERRY_FAKE": fake}
    return subprocess.run([tool, "replay", *map(str, arguments)], capture_output=True, text=True, env=environment,
                          timeout=600, check=False)


def trace(name, text):
    path = folder / f"{name}.memtrace"
    path.write_text(text)
    return path


def expect(name, code, words, *arguments, fake=""):
    """Exactly one line on stderr, with these words in this order, and the exit code."""
    done = run(FAKE, *arguments, fake=fake)
    lines = done.stderr.splitlines()
    check(done.returncode == code and len(lines) == 1 and lines[0].startswith("ferry: ") and re.search(words, lines[0]), name,
          f"exit {done.returncode}, stderr {done.stderr!r}")


def replay(name, *arguments, tool=FERRY, backend="model", seed=SEED):
    # What other sizes would have cost is `advice`'s: here it would take ten times as long as what is looked at.
    figures = folder / f"{name}.json"
    done = run(tool, *arguments, "--backend", backend, "--json", figures, "--seed", seed, "--quiet", "--no-advice")
    values = json.loads(figures.read_text()) if figures.exists() else {}
    good = done.returncode == 0 and not done.stderr and values.get("bad_bytes") == 0 and values.get("faults") == 0
    check(good, name, f"exit {done.returncode}: {done.stderr[-600:]}")
    return values if good else {}


def bad_input():
    large, small, output = trace("large", LARGE), trace("small", SMALL), folder / "none.json"
    done = run(FAKE, "--help")
    check("--weights" in done.stdout and "--reservations" in done.stdout, "help_names_the_options")
    expect("nine_traces", 2, "'.*' is one trace too many: 8 at most", *[small] * 9)
    expect("bad_trace_among_good_ones", 2, "nowhere: cannot be opened", small, "/nowhere", small)
    expect("bad_line_of_the_second", 2, "second.memtrace: line 2: 'z' is no event", small,
           trace("second", "a 1 4 buffer\nz\n"), fake="process:1")
    expect("too_few_weights", 2, "--weights: '1' has 1 number for 2 traces", small, small, "--weights", "1")
    expect("too_many_weights", 2, "--weights: '1,2,3' has 3 numbers for 2 traces", small, small, "--weights", "1,2,3")
    expect("weights_of_one_trace", 2, "--weights: '1,2' has 2 numbers for 1 trace$", small, "--weights", "1,2")
    expect("missing_weight", 2, "--weights: '' is not a number", small, small, "--weights", "1,")
    expect("weight_no_number", 2, "--weights: 'heavy' is not a number", small, small, "--weights", "heavy,1")
    expect("weight_negative", 2, "--weights: '-1' is not a number", small, small, "--weights=-1,1")
    expect("weight_of_many_digits", 2, f"--weights: '{'9' * 40}' is not a number", small, small, "--weights", "9" * 40 + ",1")
    expect("weight_0", 2, "--weights: 0 is not from 1 to 10000", small, small, "--weights", "1,0")
    expect("weight_10001", 2, "--weights: 10001 is not from 1 to 10000", small, small, "--weights", "10001,1")
    expect("weights_empty", 2, "--weights needs a name", small, "--weights=")
    expect("too_few_reservations", 2, "--reservations: '4K' has 1 number for 2 traces", small, small, "--reservations", "4K")
    expect("reservation_no_size", 2, "--reservations: '4X' is not a size", small, small, "--reservations", "0,4X")
    expect("reservation_not_in_pages", 2, "--reservations: 5000 is not a multiple of 4096", small, small,
           "--reservations", "5000,0")
    expect("reservations_beyond_half", 2, r"--reservations: .* no more than half of video memory, which is 80.0 KiB \(81920 bytes\)",
           small, small, "--reservations", "20K,24K", "--vram", "80K", "--json", output)
    expect("draw_larger_than_its_budget", 3, r"program 2 \(large.memtrace\), the budget is too small: the draw in line 7 needs "
           r"92.0 KiB \(94208 bytes in 3 allocations\), the budget is 80.0 KiB \(81920 bytes\), video memory is 160.0 KiB "
           r"\(163840 bytes\)", small, large, "--vram", "160K", "--json", output)
    expect("target_larger_than_its_budget", 3, r"program 1 \(large.memtrace\), the budget .* the render target in line 6 needs 64.0 KiB",
           large, small, "--vram", "112K")
    expect("weight_makes_it_too_small", 3, r"program 2 .*line 3 needs 20.0 KiB .* budget is 16.0 KiB", small, small, "--vram", "160K",
           "--weights", "9,1")
    check(run(FAKE, small, large, "--vram", "160K", "--weights", "2,3").returncode == 0, "weight_makes_it_large_enough")
    check(run(FAKE, large, large, small, "--vram", "184K", "--reservations", "0,92K,0", "--frames", "1").returncode == 3
          and run(FAKE, small, large, small, "--vram", "184K", "--reservations", "0,92K,0").returncode == 0,
          "reservation_makes_it_large_enough")
    check(not output.exists(), "nothing_is_left_behind")
    expect("process_fails", 4, "create a process: NO_HOST_MEMORY", small, small, fake="process:2")
    done = run(FAKE, small, large, fake="kill:1")
    check(done.returncode == 4 and re.search(r"program 2 \(large.memtrace\), line 13: end a process: TIMEOUT", done.stderr),
          "process_that_does_not_end", done.stderr)
    expect("library_error_names_the_program", 4, r"program 2 \(small.memtrace\), line 1: create an allocation: NO_HOST", large, small,
           fake="create:8")
    expect("wrong_byte_names_the_program", 1, r"wrong content: program 2 \(small.memtrace\), allocation 1 \(buffer\), offset 10240 .*"
           "read by the GPU for the draw in line 3", small, small, "--verify", "all", fake="page-in:2")
    expect("wrong_byte_of_the_first", 1, r"wrong content: program 1 \(small.memtrace\), allocation 1 .*offset 255 ", small, large,
           fake="copy:1")
    expect("injected_byte_names_program_allocation_and_offset", 1, r"program 2 \(small.memtrace\), allocation 1 \(buffer\), offset 777 .*"
           r"1 of \d+ bytes wrong", large, small, "--verify", "all", "--inject", "in:2:777")


def figures_of_programs():
    large, small = trace("large", LARGE), trace("small", SMALL)
    values = replay("fake_sums", large, small, small, "--vram", "600K", "--weights", "3,1,2", tool=FAKE)
    programs = values.get("programs", [])
    check([p["weight"] for p in programs] == [3, 1, 2] and [p["budget_bytes"] for p in programs] == [307200, 102400, 204800]
          and [p["trace"] for p in programs] == ["large.memtrace", "small.memtrace", "small.memtrace"]
          and [p["frames"] for p in programs] == [2, 3, 3] and [p["draws"] for p in programs] == [2, 4, 4]
          and [p["targets"] for p in programs] == [1, 0, 0] and [p["writes"] for p in programs] == [3, 2, 2],
          "json_has_what_each_trace_has", programs)
    done = run(FAKE, large, small, "--weights", "3,1", "--quiet")
    lines = [line.split() for line in done.stdout.splitlines()]
    table = [line for line in lines if line and line[0] in ("1", "2")]
    check([(line[1], line[2]) for line in table] == [("large.memtrace", "3"), ("small.memtrace", "1")], "table_has_a_line_for_each", table)
    done = run(FAKE, large, "--quiet")
    check("the programs" not in done.stdout and "  the program\n" in done.stdout, "one_trace_has_its_old_table")


def sums_are_right(name, values):
    programs = values.get("programs", [])
    sums = [n for n in ("frames", "allocations", "draws", "targets", "writes", "verified_bytes", "bytes_in", "bytes_out",
                        "bytes_discarded", "bytes_filled", "bytes_moved", "evictions")
            if sum(p[n] for p in programs) != values.get(n)]
    check(programs and not sums, f"{name}_adds_up", [(n, [p[n] for p in programs], values.get(n)) for n in sums])
    jobs = [p for p in programs if p["jobs"] < p["draws"] + p["targets"] or not 0 < p["gpu_cycles"] < values["cycles"]
            or not p["gpu_cycles"] <= p["last_job_cycle"] <= values["cycles"]]
    check(not jobs and 0 < sum(p["gpu_share"] for p in programs) <= 1, f"{name}_shares_the_gpu", jobs)


def timeless(values):
    return {k: v for k, v in values.items() if k not in ("seconds", "sim_khz")}


def real_programs():
    three = (NEVERBALL, NEVERBALL, NEVERBALL, "--vram", "9M", "--frames", "30", "--weights", "3,1,1")
    picture, timeline = folder / "three.svg", folder / "three.json"
    first = replay("model_three", *three, "--svg", picture, "--timeline", timeline)
    second = replay("model_three_again", *three)
    files.programs_are_told_apart(check, picture, timeline, first.get("programs", []))
    files.timeline_is_right(check, timeline, ("firmware", "read channel", "write channel"))
    check(first and timeless(first) == timeless(second), "model_is_the_same_each_time")
    sums_are_right("model_three", first)
    check(all(p["evictions"] > 0 for p in first.get("programs", [{}])[1:]), "the_light_ones_page", first.get("programs"))
    # manager.md section 5, with recorded programs. Alone it has all the memory; beside the others, three fifths.
    alone = replay("model_protected_alone", NEVERBALL, "--vram", "9M", "--frames", "30")
    paged = [p["bytes_in"] + p["bytes_out"] for p in first.get("programs", [])] + [alone.get("bytes_in", 0) + alone.get("bytes_out", 0)]
    print(f"bytes paged by the protected one, beside two that take all they can get, alone: {paged}")
    check(first and alone and paged[0] <= 1.05 * paged[3] and paged[1] > 10 * paged[3], "a_protected_program_pages_as_if_alone",
          paged)
    shown = run(FERRY, *three, "--backend", "model", "--quiet", "--no-advice").stdout
    table = re.search(r"^  the programs .*\n(?:  \d .*\n){3}", shown, re.M)
    check(table and table[0] in PAGE, "the_table_of_the_manual_is_of_such_a_run", shown)
    for seed in (1, 3):
        other = replay(f"model_three_seed_{seed}", *three, seed=seed).get("programs", [{}])[0]
        lone = replay(f"model_alone_seed_{seed}", NEVERBALL, "--vram", "9M", "--frames", "30", seed=seed)
        paged = [p.get("bytes_in", 0) + p.get("bytes_out", 0) for p in (other, lone)]
        check(0 < paged[0] <= 1.05 * paged[1], f"a_protected_program_pages_as_if_alone_{seed}", paged)
    equal = replay("model_three_equal", NEVERBALL, NEVERBALL, NEVERBALL, "--vram", "7984K", "--frames", "60")
    ends = [p["last_job_cycle"] for p in equal.get("programs", [])]
    print(f"three equal programs that need twice the memory end at {ends}")
    check(ends and max(ends) <= 1.2 * min(ends) and all(p["evictions"] > 0 for p in equal["programs"]), "three_equal_ones_end_alike", ends)
    discards = trace("discards", "a 1 200000 buffer\n" + ("l 1 discard\nw 1 0 200000\nu 1\nd 1\n" * 6 + "f\n") * 10)
    renamed = replay("model_renames", discards, "--vram", "2M", "--svg", picture)
    files.parked_instances_are_drawn(check, picture, renamed.get("renames", 0))
    mixed = ("--vram", "26M", "--frames", "40", "--weights", "1,3")
    values = replay("model_two", NEVERBALL, GLMARK2, *mixed)
    sums_are_right("model_two", values)
    # The first ends before the others have played half: what it leaves is theirs.
    short = trace("short", "a 1 4000000 buffer\nw 1 0 4000000\nd 1\nf\n")
    ended = replay("model_one_ends_early", short, NEVERBALL, "--vram", "8M", "--frames", "60", "--weights", "4,1")
    alone = replay("model_alone", NEVERBALL, "--vram", "8M", "--frames", "60")
    sums_are_right("model_one_ends_early", ended)
    check(ended and ended["programs"][1]["bytes_in"] <= 1.3 * alone["bytes_in"], "what_one_leaves_is_the_others",
          [p["bytes_in"] for p in ended.get("programs", [])] + [alone.get("bytes_in")])
    chance = Random(int(SEED))
    for number in range(6):
        side = ("in", "out")[number % 2]
        place, done = injection.flip(chance, side, FERRY, "replay", NEVERBALL, NEVERBALL, "--backend", "model", "--seed", SEED,
                                     "--quiet", "--no-advice", "--vram", "6M", "--frames", "20", "--verify", "all")
        check(done.returncode == 1
              and re.search(r"wrong content: program [12] \(neverball.memtrace.gz\), allocation \d+ .* 1 of", done.stderr),
              f"model_finds_injection_{number}", f"--inject {place}: exit {done.returncode}: {done.stderr[-600:]}")
    done = run(FERRY, NEVERBALL, NEVERBALL, "--backend", "model", "--vram", "9M", "--weights", "1,8")
    check(done.returncode == 3 and re.search(r"program 1 .*1105920 bytes in 4 allocations\), the budget is 1.0 MiB", done.stderr)
          and not done.stdout, "model_says_which_draw_is_larger_than_its_budget", done.stderr)
    # Small ones: a frame of a recorded one takes the simulated device twenty times as long.
    few = trace("few", "".join(f"a {i} {40000 + 1000 * i} buffer\nw {i} 0 {40000 + 1000 * i}\n" for i in range(1, 13))
                + ("".join(f"d {i} {i % 12 + 1}\n" for i in range(1, 13)) + "w 3 5 100\nf\n") * 2)
    two = (few, few, "--vram", "600K", "--weights", "2,1")
    # Of one seed, one of most: whose turn it is depends on GPU time, of which a job takes another amount on the model.
    both = [replay("sim_two", *two, backend="sim", seed=2), replay("sim_two_again", *two, backend="sim", seed=2)]
    check(both[0] and timeless(both[0]) == timeless(both[1]), "sim_is_the_same_each_time")
    sums_are_right("sim_two", both[0])
    check(all(p["evictions"] > 0 for p in both[0].get("programs", [{"evictions": 0}])), "both_page_on_sim", both[0].get("programs"))
    names = ("jobs", "bytes_in", "bytes_out", "bytes_discarded", "evictions", "verified_bytes")
    model = replay("model_like_sim", *two, seed=2)
    check(model and [[p[n] for n in names] for p in model["programs"]] == [[p[n] for n in names] for p in both[0]["programs"]],
          "both_back_ends_do_the_same_work", (model.get("programs"), both[0].get("programs")))


def main():
    print(f"FERRY_SEED={SEED}")
    bad_input()
    figures_of_programs()
    real_programs()
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
