#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Long traces in the laboratory: read once, packed into a file without a name, in memory by what lives at once. FERRY_TRACE_MEMORY says
how many packed bytes are kept in memory: with few of them a short trace goes the long one's way, and every figure, picture and page
is what it is from memory. Random traces (FERRY_SEED)."""
import gzip
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path.cwd() / "tests/tools"))
from laboratory import FERRY, PAGE, SEED, check, end, folder  # noqa: E402

MIB = 1024  # of the KiB that the system tells
kept = folder / "kept"
kept.mkdir()


def random_trace(seed, lines):
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
            kind = chance.choice(("buffer", "texture 64x64 GL_RGBA8", f"texture 9x{made} R{'8' * chance.randint(1, 60)}"))
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
        elif dice < 0.21:
            out.append(chance.choice(("f", "f", "", " ")))
        elif dice < 0.28:
            out.append(f"t {chance.choice(list(living))}")
        else:
            out.append("d " + " ".join(str(chance.choice(list(living))) for _ in range(chance.randint(1, 6))))
    return "\n".join(out) + "\n"


def run(*arguments, held=None, before=None, **options):
    """The tool, with a folder of our own for what it keeps."""
    environment = {**os.environ, "TMPDIR": str(kept), **({"FERRY_TRACE_MEMORY": str(held)} if held else {})}
    return subprocess.run([FERRY, *map(str, arguments)], capture_output=True, text=True, timeout=600, check=False, env=environment,
                          preexec_fn=before, **options)


def taken(*names):
    """What was written, without what a clock says; and away with it."""
    texts = []
    for name in names:
        text = (folder / name).read_text()
        (folder / name).unlink()
        texts.append(re.sub(r'"(seconds|traces)": ("[^"]*"|[\d.]+)', "", text))
    return texts


def the_long_way_is_the_short_one():
    chance = random.Random(SEED)
    for case in range(2):
        traces = []
        for number in range(1 + case):
            traces.append(folder / f"case{case}-{number}.memtrace")
            traces[-1].write_text(random_trace(SEED * 100 + case * 2 + number, 300))
        options = ("--vram", "0.9W", "--json", folder / "o.json", "--svg", folder / "o.svg", "--quiet")
        figures = ("policy", *traces, *options)
        curve = ("policy", *traces, "--sweep", "--points", 3, "--json", folder / "o.json", "--quiet", "--no-advice")
        page = ("report", folder / "o.html", *traces, "--points", 2, "--no-advice", "--quiet")
        for name, arguments, files in (("curve", curve, ("o.json",)), ("page", page, ("o.html",)),
                                       ("figures", figures, ("o.json", "o.svg"))):
            short = run(*arguments)
            if short.returncode != 0:
                raise SystemExit(f"FERRY_SEED={SEED}: {arguments}: {short.stderr}")
            want = taken(*files)
            held = chance.choice((1, 61, 300, 1000))
            long = run(*arguments, held=held)
            check(long.returncode == 0 and (long.stdout, long.stderr) == (short.stdout, short.stderr) and taken(*files) == want,
                  f"{name}_of_{len(traces)}_from_a_file_{case}", (SEED, held, long))
        # Pipes, packed text and plain one.
        for name, command in (("text", ["cat"]), ("gzip", ["gzip", "-c"])):
            pipes = [subprocess.Popen([*command, trace], stdout=subprocess.PIPE) for trace in traces]
            ends = [pipe.stdout.fileno() for pipe in pipes]
            done = run("policy", *(f"/dev/fd/{number}" for number in ends), *options, "--no-advice", held=held, pass_fds=ends)
            for pipe in pipes:
                pipe.stdout.close()
                pipe.wait()
            got = [run_["bytes_in"] for run_ in json.loads((folder / "o.json").read_text())["runs"]]
            drawn = re.findall(r'points="([^"]*)"', taken("o.json", "o.svg")[1])
            check(done.returncode == 0 and len(got) == 5 and got == [int(n) for n in re.findall(r'"bytes_in": (\d+)', want[0])]
                  and drawn == re.findall(r'points="([^"]*)"', want[1]), f"{len(traces)}_in_{name}_from_pipes_{case}",
                  (SEED, held, done, got))


def regular_trace(path, lines, change=True):
    """Sixty stay; one comes and goes (or not) every 24 lines; a frame is ten of those."""
    chance = random.Random(SEED)
    picks = [f"d {chance.randrange(60)} {chance.randrange(60)}\n" for _ in range(4096)]
    head = "".join(f"a {i} {(i % 7 + 1) * 16 * PAGE} buffer\nw {i} 0 1\n" for i in range(60))
    with path.open("w") as file:
        file.write(head)
        for turn in range((lines - 120) // 24):
            at = turn * 20 % 4000
            name = 1000 + turn
            file.write((f"a {name} {64 * PAGE} buffer\nw {name} 0 1\n" if change else "w 1 0 1\nw 2 0 1\n") + "".join(picks[at:at + 19])
                       + (f"d {name}\nt {turn % 60}\nx {name}\n" if change else f"d 4\nt {turn % 60}\nd 3\n")
                       + ("f\n" if turn % 10 == 9 else ""))
    return path


def peak_of(*arguments, held=None, source=None):
    """The most memory that the tool had at once, in KiB, as the system tells while it runs, and what it said."""
    environment = {**os.environ, "TMPDIR": str(kept), **({"FERRY_TRACE_MEMORY": held} if held else {})}
    most = 0
    with (folder / "said").open("w+") as file, subprocess.Popen([FERRY, *map(str, arguments), "--quiet"], stdin=source, env=environment,
                                                                stdout=subprocess.DEVNULL, stderr=file) as process:
        while process.poll() is None:
            told = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
            most = max(most, int(told[1]) if told else 0)
            time.sleep(0.002)
        file.seek(0)
        said = file.read()
    check(process.returncode == 0, f"a_run_of_{arguments[0]}_{arguments[1].name}", said)
    return most, said


def memory_is_by_what_lives():
    """A million lines: held whole they would be 54 MiB. Least recently used is quick; who knows the future says what that takes."""
    long = regular_trace(folder / "long.memtrace", 1200000)
    limit = 20 * MIB
    large = peak_of("policy", long, "--policy", "lru", "--vram", "0.95W")
    check(0 < large[0] <= limit, "a_long_trace_takes_little", (SEED, large))
    curve = peak_of("policy", long, "--policy", "lru", "--sweep", "--points", 2)
    check(0 < curve[0] <= limit, "a_curve_of_it_takes_little", (SEED, curve))
    packed = folder / "long.memtrace.gz"
    with packed.open("wb") as file:
        subprocess.run(["gzip", "-1c", long], stdout=file, check=True)
    with subprocess.Popen(["cat", packed], stdout=subprocess.PIPE) as pipe:
        piped = peak_of("policy", Path("/dev/stdin"), "--policy", "lru", "--vram", "0.95W", source=pipe.stdout)
    check(0 < piped[0] <= limit, "from_a_pipe_it_takes_little", (SEED, piped))
    # Two together: each has an array of its own.
    known = peak_of("policy", packed, long, long, "--policy", "furthest", "--vram", "50M")
    told = re.search(r"ferry: furthest: to know the future takes (\S+) MiB, for the next use of each of ([\d,]+)\n", known[1])
    uses = int(told[2].replace(",", "")) * 4 / 1024 if told else 0
    check(told and told[1] == f"{uses / MIB:.1f}" and 0 < known[0] <= 2 * limit + uses, "what_knows_the_future_takes_what_it_says",
          (SEED, known))
    check(not list(kept.iterdir()), "nothing_is_left_behind", list(kept.iterdir()))


def memory_of_the_manager_the_sentence_and_the_page():
    """The same of all that plays the manager, which is slower: a tenth of it, and less of it kept."""
    short, long = regular_trace(folder / "few.memtrace", 4000), regular_trace(folder / "many.memtrace", 120000)
    still = regular_trace(folder / "still.memtrace", 120000, change=False)
    # What is held whole takes 54 bytes a line, 6.2 MiB; here only what goes by frames and by allocations may grow. (Where there is
    # paging, a page has its places too, 80 MiB of them at most.)
    for name, arguments in (("sentence", ("policy", long, "--policy", "ours,lru", "--vram", "40M")),
                            ("page", ("report", folder / "o.html", still, "--policy", "ours", "--vram", "64M", "--points", 2,
                                      "--no-advice"))):
        at = arguments.index(long if name == "sentence" else still)
        small = peak_of(*arguments[:at], short, *arguments[at + 1:], held="64K")
        large = peak_of(*arguments, held="64K")
        check(0 < large[0] <= small[0] + 2 * MIB, f"the_{name}_of_thirty_times_as_long_takes_no_more", (SEED, small, large))


def what_cannot_be_kept():
    trace = folder / "large.memtrace"
    trace.write_text(random_trace(SEED, 60000))
    options = ("policy", trace, "--vram", "4M", "--policy", "lru", "--no-advice", "--quiet")
    check(run(*options).returncode == 0, "what_fits_needs_no_file")
    for name, why, before, where in (("no_folder", "No such file or directory", None, folder / "nowhere"),
                                     ("no_folder_but_a_file", "Not a directory", None, trace),
                                     ("a_file_that_may_not_grow", "File too large",
                                      lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000)), kept)):
        environment = {**os.environ, "TMPDIR": str(where), "FERRY_TRACE_MEMORY": "16K"}
        done = subprocess.run([FERRY, *map(str, options)], capture_output=True, text=True, env=environment, preexec_fn=before, check=False)
        check(done.returncode == 4 and done.stdout == "" and f"large.memtrace: cannot be kept in a file in {where}: {why}" in done.stderr
              and "TMPDIR can name another folder" in done.stderr and not list(kept.iterdir()), name, done)
    done = run(*options, held="some")
    check(done.returncode == 2 and "FERRY_TRACE_MEMORY: 'some' is no size" in done.stderr, "memory_that_is_no_size", done)
    done = subprocess.run([FERRY, *map(str, options)], capture_output=True, text=True, check=False,
                          env={**os.environ, "TMPDIR": str(kept), "FERRY_TRACE_MEMORY": ""})
    check(done.returncode == 0, "memory_that_is_set_to_nothing_is_not_set", done)


def what_is_kept_on_a_disk_is_told_before():
    """From 64 MiB on: 300,000 jobs of 120 allocations of two bytes each. A bad last line ends it before anything is played."""
    head = "".join(f"a {i} 1 buffer\n" for i in range(400))
    block = ("d " + " ".join(str(i) for i in range(280, 400)) + "\n") * 1000
    path = folder / "much.memtrace.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(head.encode())
        for _ in range(300):
            file.write(block.encode())
        file.write(b"q\n")
    done = run("policy", path, "--quiet")
    told = re.search(rf"ferry: {path}: kept in {kept} while this runs, about ([\d.]+) MiB \(([\d.]+) ([MGT])iB free there; TMPDIR can "
                     r"name another folder\)\n", done.stderr)
    # Others write there meanwhile.
    free = float(told[2]) * 1024 ** (2 + "MGT".index(told[3])) if told else 0
    check(done.returncode == 2 and told and 60 < float(told[1]) < 80 and done.stderr.count("kept in") == 1
          and "line 300401: 'q' is no event" in done.stderr, "how_much_is_told_of_a_file", done)
    check(free / 8 < shutil.disk_usage(kept).free < free * 8, "how_much_is_free_is_told", (free, shutil.disk_usage(kept), done))
    with subprocess.Popen(["gzip", "-dc", path], stdout=subprocess.PIPE) as pipe:
        done = run("policy", "/dev/stdin", "--quiet", stdin=pipe.stdout)
    check(done.returncode == 2 and f"ferry: /dev/stdin: kept in {kept} while this runs, " in done.stderr
          and "nobody knows how many" in done.stderr, "nobody_knows_how_much_of_a_pipe", done)


def what_is_no_whole_trace():
    text = random_trace(SEED, 30000)
    last = text.count("\n") + 1
    options = ("--vram", "4M", "--policy", "lru", "--quiet")
    for name, line, why in (("never_made", "d 123456789", r"allocation 123456789 was never created"),
                            ("no_event", "q", "'q' is no event"), ("too_much", "f frame frame", "'frame' is too much on this line")):
        bad = folder / f"{name}.memtrace"
        bad.write_text(text + line + "\n")
        done = run("policy", bad, *options, held="8K")
        check(done.returncode == 2 and re.search(f"{name}.memtrace, line {last}: {why}", done.stderr) and done.stdout == "", name, done)
    for name, begin, why in (("gone", "a 1 9 buffer\nx 1\n", "was never created, or was destroyed before"),
                             ("another_in_its_place", "a 1 9 buffer\nx 1\na 2 9 buffer\n", "was never created, or was destroyed before"),
                             ("never", "a 2 9 buffer\n", "was never created")):
        (folder / name).write_text(begin + "d 1\n")
        done = run("policy", folder / name, "--quiet")
        check(done.returncode == 2 and done.stderr == f"ferry: {folder / name}, line {begin.count(chr(10)) + 1}: allocation 1 {why}\n",
              f"an_allocation_that_is_{name}", done)
    cut = folder / "cut.memtrace.gz"
    cut.write_bytes(subprocess.run(["gzip", "-c"], input=text.encode(), capture_output=True, check=True).stdout[:-20])
    done = run("policy", cut, *options, held="8K")
    check(done.returncode == 2 and "the gzip file is cut off" in done.stderr and done.stdout == "", "a_file_that_is_cut_off", done)
    done = subprocess.run([FERRY, "policy", "/dev/stdin", *options], input=text[:text.rindex("\n", 0, 9000)] + "\na 1", text=True,
                          capture_output=True, check=False)
    check(done.returncode == 2 and "/dev/stdin, line " in done.stderr and "the allocation's size is missing" in done.stderr,
          "a_pipe_that_ends_in_a_line", done)
    done = subprocess.run([FERRY, "policy", "/dev/stdin", *options], input="", text=True, capture_output=True, check=False)
    check(done.returncode == 2 and "/dev/stdin: holds no event" in done.stderr, "a_pipe_of_nothing", done)
    done = run("policy", cut.with_suffix(""), *options)
    check(done.returncode == 2 and "cannot be opened" in done.stderr, "a_file_that_is_not_there", done)


def begun(trace, *options):
    """A run under way that has read its trace and does not need it any more."""
    environment = {**os.environ, "TMPDIR": str(kept), "FERRY_TRACE_MEMORY": "8K"}
    process = subprocess.Popen([FERRY, "policy", trace, *map(str, options)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env=environment)
    spilled = False
    while process.poll() is None:
        try:
            open_ = [os.readlink(path) for path in Path(f"/proc/{process.pid}/fd").iterdir()]
        except OSError:
            continue
        spilled = spilled or any("ferry-trace-" in name and "(deleted)" in name for name in open_)
        if spilled and str(trace.resolve()) not in open_:
            break
        time.sleep(0.005)
    return process, spilled


def a_file_that_changes_and_a_run_that_is_ended():
    trace = folder / "changes.memtrace"
    trace.write_text(random_trace(SEED + 5, 20000))
    options = ("--vram", "300K", "--no-advice", "--quiet")
    want = run("policy", trace, *options).stdout
    process, spilled = begun(trace, *options)
    trace.write_text("a 1 4096 buffer\nd 1\n" * 3)
    out, said = process.communicate(timeout=600)
    check(spilled and process.returncode == 0 and out == want, "a_file_that_changes_after_it_was_read", (SEED, spilled, out, said))
    trace.write_text(random_trace(SEED + 5, 20000))
    for number in (signal.SIGINT, signal.SIGTERM):
        process, spilled = begun(trace, "--vram", "300K", "--quiet")
        process.send_signal(number)
        process.communicate(timeout=600)
        check(spilled and process.returncode == -number and not list(kept.iterdir()), f"signal_{number.name}_leaves_nothing_behind",
              (SEED, spilled, process.returncode, list(kept.iterdir())))


the_long_way_is_the_short_one()
memory_is_by_what_lives()
memory_of_the_manager_the_sentence_and_the_page()
what_cannot_be_kept()
what_is_kept_on_a_disk_is_told_before()
what_is_no_whole_trace()
a_file_that_changes_and_a_run_that_is_ended()
sys.exit(end())
