#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Long traces in `ferry policy`: read from their files for each run, in memory by what lives at once; and every figure is what it is
where the whole trace is held (as one from a pipe is). Random traces (FERRY_SEED)."""
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path.cwd() / "tests/tools"))
from laboratory import FERRY, PAGE, SEED, check, end, ferry, folder  # noqa: E402

MOST_HELD = 100000


def long_trace(seed, lines):
    """Allocations come and go all the time, with ids of their own or those of others before; all kinds of events."""
    chance = random.Random(seed)
    living, locked, out, made = {}, set(), [], 0
    while len(out) < lines:
        dice = chance.random()
        if len(living) < 20 or (dice < 0.05 and len(living) < 60):
            name = chance.choice([made * 3 + 1000, *(i for i in range(30) if i not in living)][:4])
            made += 1
            pages = chance.randint(1, 12)
            living[name] = pages
            kind = chance.choice(("buffer", "texture 64x64 GL_RGBA8"))
            out += [f"a {name} {pages * PAGE - chance.randint(0, 9)} {kind}", f"w {name} 0 1"]
        elif dice < 0.10:
            name = chance.choice(list(living))
            del living[name]
            locked.discard(name)
            out.append(f"x {name}")
        elif dice < 0.15:
            name = chance.choice(list(living))
            out.append(f"u {name}" if name in locked else f"l {name} {chance.choice(('discard', 'write'))}")
            locked ^= {name}
        elif dice < 0.20:
            out.append("f")
        elif dice < 0.28:
            out.append(f"t {chance.choice(list(living))}")
        else:
            out.append("d " + " ".join(str(chance.choice(list(living))) for _ in range(chance.randint(1, 6))))
    return "\n".join(out) + "\n"


def bare(report):
    for run in report["runs"]:
        del run["seconds"]
    del report["traces"]
    return report


def peak_of(*arguments):
    """The most memory that the tool had at once, in KiB."""
    process = subprocess.Popen([FERRY, "policy", *map(str, arguments), "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = process.stderr.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    check(process.returncode == 0, f"a_run_of_{arguments[0].name}", said)
    return used.ru_maxrss, said


def the_same_as_held():
    files = []
    for number in (1, 2):
        files.append(folder / f"long{number}.memtrace")
        files[-1].write_text(long_trace(SEED * 2 + number, MOST_HELD + 20000))
    sizes = "0.95W,0.8F"
    options = ("--vram", sizes, "--no-advice", "--json", folder / "out.json", "--svg", folder / "out.svg", "--csv", folder / "out.csv")
    for name, traces in (("one", files[:1]), ("two", files)):
        done = ferry(*traces, *options)
        if done.returncode != 0:
            raise SystemExit(f"FERRY_SEED={SEED}: {done.stderr}")
        read = bare(json.loads((folder / "out.json").read_text()))
        said = re.search(r"ferry: furthest: to know the future takes (\S+ \S+), for the next use of each of ([\d,]+)\n", done.stderr)
        picture = (folder / "out.svg").read_text()
        # From pipes, which can be read once only: held.
        pipes = [subprocess.Popen(["cat", trace], stdout=subprocess.PIPE) for trace in traces]
        held = subprocess.run([FERRY, "policy", *(f"/dev/fd/{pipe.stdout.fileno()}" for pipe in pipes), *map(str, options)],
                              capture_output=True, text=True, check=False, pass_fds=[pipe.stdout.fileno() for pipe in pipes])
        for pipe in pipes:
            pipe.stdout.close()
            pipe.wait()
        check(done.returncode == held.returncode == 0 and said and "to know the future" not in held.stderr
              and read == bare(json.loads((folder / "out.json").read_text())), f"{name}_read_in_passes_is_as_{name}_held",
              (SEED, done.stderr, held.stderr))
        lines = [line for line in "".join(t.read_text() for t in traces).splitlines() if line[0] in "dt"]
        uses = sum(len(set(line.split()[1:])) for line in lines)
        check(said and said[2] == f"{uses:,}" and said[1] == f"{uses * 4 / 2**20:.1f} MiB",
              f"what_the_future_of_{name}_takes_is_told", said)
        drawn = re.findall(r'points="([^"]*)"', picture)
        check(drawn and drawn == re.findall(r'points="([^"]*)"', (folder / "out.svg").read_text()), f"the_picture_of_{name}_is_the_same")


def memory_is_by_what_lives():
    """Ten times as long, and no more memory: a held trace has at least 40 bytes a line."""
    short, long = folder / "short.memtrace", folder / "ten.memtrace"
    text = long_trace(SEED, MOST_HELD + 20000)
    living = set()
    for line in text.splitlines():
        word = line.split()
        living = living | {word[1]} if word[0] == "a" else living - {word[1]} if word[0] == "x" else living
    text += "".join(f"x {name}\n" for name in sorted(living))
    short.write_text(text)
    # New names each time.
    with long.open("w") as file:
        for turn in range(10):
            for line in text.splitlines():
                word = line.split()
                own = len(word) if word[0] == "d" else 2
                file.write(" ".join(word[:1] + [w + f"{turn}0000" for w in word[1:own]] + word[own:]) + "\n")
    small, large = (peak_of(trace, "--vram", "4M", "--policy", "ours,lru,random,two-frames", "--no-advice")[0] for trace in (short, long))
    check(large <= small + 1024, "ten_times_as_long_takes_no_more", (SEED, small, large))
    known = peak_of(long, "--vram", "0.95W,4M", "--policy", "furthest", "--no-advice", "--sweep")
    uses = float(re.search(r"takes (\S+) MiB", known[1])[1]) * 1024
    check(uses > 8192 and known[0] <= small + uses + 1024, "what_knows_the_future_takes_what_it_says", (SEED, small, known))


def bad_lines_are_found_before_anything_is_played():
    text = long_trace(SEED, MOST_HELD + 20000)
    gone = text.count("\n") + 1
    for name, line, why in (("never_made", "d 123456789", r"allocation 123456789 was never created"),
                            ("no_event", "q", "'q' is no event"), ("too_much", "f frame frame", "'frame' is too much on this line")):
        bad = folder / f"{name}.memtrace"
        bad.write_text(text + line + "\n")
        done = ferry(bad, "--vram", "800K", "--policy", "lru", "--no-advice")
        check(done.returncode == 2 and re.search(f"{name}.memtrace, line {gone}: {why}", done.stderr) and done.stdout == "", name, done)
    cut = folder / "cut.memtrace.gz"
    cut.write_bytes(subprocess.run(["gzip", "-c"], input=text.encode(), capture_output=True, check=True).stdout[:-20])
    done = ferry(cut, "--vram", "800K", "--policy", "lru", "--no-advice")
    check(done.returncode == 2 and "the gzip file is cut off" in done.stderr, "a_file_that_is_cut_off", done)
    small = folder / "one.memtrace"
    small.write_text(text)
    done = ferry(small, "--vram", "4K", "--policy", "lru", "--no-advice")
    check(done.returncode == 3 and "needs" in done.stderr and "makes sense here" in done.stderr, "a_size_that_is_too_small", done)


the_same_as_held()
memory_is_by_what_lives()
bad_lines_are_found_before_anything_is_played()
sys.exit(end())
