#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/sweep.py: one CSV with every run once, on the cores and on three Dask workers, whoever is killed meanwhile, the scheduler too;
and what bad input gets. A stand-in in front of the tool writes down which runs are begun."""
import csv
import fcntl
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
import tempfile
import time
from pathlib import Path

ROOT = Path.cwd()
FERRY, PYTHON, SWEEP = ROOT / "build/ferry", ROOT / "build/venv/bin/python", ROOT / "scripts/sweep.py"
folder = Path(tempfile.mkdtemp(prefix="ferry-sweep-test-"))
SIZES, POLICIES = "64K,80K,96K,112K,128K,160K,4K", "ours,lru,random,furthest"
FIGURES = ["video_memory_bytes", "fits", "bytes_in", "bytes_uploaded", "bytes_out", "bytes_filled", "bytes_moved", "evictions",
           "evictions_after_warm_up", "bytes_after_warm_up", "paged_after_warm_up", "worst_frame_bytes", "percentile_99_frame_bytes"]
HEADER = ",".join(["trace", "content", "vram", "policy", "seed", "tool", *FIGURES]).encode()
passed = failed = 0


def check(good, name, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}", flush=True)


def a_trace(name, seed):
    chance = random.Random(seed)
    lines = [f"a {i} {chance.randint(1, 4) * 4096} texture 64x64 GL_RGBA\nw {i} 0 4096\n" for i in range(1, 13)]
    for _ in range(40):
        lines += [f"d {' '.join(map(str, chance.sample(range(1, 13), 3)))}\n" for _ in range(4)] + ["f\n"]
    path = folder / name
    path.write_text("".join(lines))
    return path


# Names are anybody's: quotes, commas, UTF-8, a line end.
TRACES = [a_trace("one.memtrace", 1), a_trace('two, "zwei" ü\n.memtrace', 2)]


def stand_in(name, seconds):
    log, tool = folder / f"{name}.log", folder / name
    log.write_text("")
    tool.write_text(f'#!/bin/bash\nset -o noglob\nline="${{2##*/}}"\n'
                    f'echo "${{line//[^a-zA-Z0-9.\\/]/_}} ${{*:3:8}}" >> {log}\nsleep {seconds}\n'
                    f'exec {FERRY} "$@"\n')
    tool.chmod(0o755)
    return tool, log


def command(out, tool, *more, python=sys.executable):
    return [python, SWEEP, *TRACES, "--vram", SIZES, "--policy", POLICIES, "--seeds", "1,2", "--out", out, "--ferry", tool,
            *map(str, more)]


WANTED = {(trace, size, policy, seed) for trace in ("one.memtrace", 'two, "zwei" ü?.memtrace') for size in SIZES.split(",")
          for policy in POLICIES.split(",") for seed in (("1", "2") if policy == "random" else ("1",))}


def rows_of(out):
    with out.open(newline="") as file:
        return list(csv.DictReader(file))


def keys_of(rows):
    return [(r["trace"], r["vram"], r["policy"], r["seed"]) for r in rows]


def complete(out):
    keys = keys_of(rows_of(out))
    return len(keys) == len(WANTED) and set(keys) == WANTED


def figures_are_right(rows):
    """Against `ferry policy`, asked for several sizes at once."""
    wrong = []
    for trace, name in zip(TRACES, ("one.memtrace", 'two, "zwei" ü?.memtrace')):
        for seed in ("1", "2"):
            path = folder / "direct.json"
            subprocess.run([FERRY, "policy", trace, "--vram", SIZES.removesuffix(",4K"), "--policy", POLICIES, "--seed", seed,
                            "--no-advice", "--quiet", "--json", path], stdout=subprocess.DEVNULL, check=True)
            direct = {(r["policy"], r["video_memory_bytes"]): r for r in json.loads(path.read_text())["runs"]}
            for row in rows:
                if row["trace"] != name or row["seed"] != seed:
                    continue
                if row["vram"] == "4K":
                    wrong += [row] * (row["fits"] != "no" or row["bytes_in"] != "")
                    continue
                told = direct[row["policy"], int(row["video_memory_bytes"])]
                wrong += [(row, told) for n in ("bytes_in", "bytes_out", "evictions", "bytes_after_warm_up", "worst_frame_bytes")
                          if int(row[n]) != told[n]][:1]
    return wrong


def wait_for_rows(out, count, process):
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        if out.exists() and out.read_bytes().count(b"\n") > count:
            return True
        time.sleep(0.02)
    return False


def on_the_cores():
    out = folder / "cores.csv"
    done = subprocess.run(command(out, FERRY, "--jobs", 2), capture_output=True, text=True, check=False)
    check(done.returncode == 0 and complete(out), "every_run_is_in_the_table_once", done)
    wrong = figures_are_right(rows_of(out))
    check(not wrong, "rows_say_what_the_tool_says", wrong[:1])
    seeds = {(r["seed"], r["bytes_in"]) for r in rows_of(out) if r["policy"] == "random" and r["vram"] == "80K"}
    check(len(seeds) == 4, "chance_depends_on_the_seed", seeds)
    before = out.read_bytes()
    again = subprocess.run(command(out, FERRY), capture_output=True, text=True, check=False)
    check(again.returncode == 0 and out.read_bytes() == before and f"{len(WANTED)} of them there before" in again.stdout,
          "what_is_done_is_not_done_again", again)


def a_tool_that_is_killed():
    """By whoever wants memory: the run is made again; one whose every try is killed is told of, and the rest is run."""
    out, log = folder / "tool_killed.csv", folder / "tool_killed.log"
    tool = folder / "dies_once"
    tool.write_text(f'#!/bin/bash\nmark={folder}/mark-$(printf %s "$*" | sed "s,--csv .*,," | md5sum | cut -c1-32)\n'
                    f'[ -e "$mark" ] || {{ : > "$mark"; kill -9 $$; }}\nexec {FERRY} "$@"\n')
    tool.chmod(0o755)
    done = subprocess.run(command(out, tool, "--jobs", 2), capture_output=True, text=True, check=False)
    marks = len(list(folder.glob("mark-*")))
    check(done.returncode == 0 and complete(out) and marks == len(WANTED) and not figures_are_right(rows_of(out)),
          "a_run_whose_tool_is_killed_is_made_again", (done, marks))
    tool = folder / "dies_at_80K"
    tool.write_text(f'#!/bin/bash\ncase "$*" in *80K*) echo >> {log}; kill -9 $$;; esac\nexec {FERRY} "$@"\n')
    tool.chmod(0o755)
    out.unlink()
    done = subprocess.run([sys.executable, SWEEP, TRACES[0], "--vram", "64K,80K,96K", "--policy", "lru", "--out", out, "--ferry", tool],
                          capture_output=True, text=True, check=False, timeout=120)
    check(done.returncode == 1 and [r["vram"] for r in rows_of(out)] == ["64K", "96K"] and "1 run failed" in done.stderr
          and "ended by signal 9" in done.stderr and log.read_text() == "\n" * 5, "a_run_that_is_killed_each_time_is_told_of", done)


def a_worker_with_another_build():
    """Its figures would stand in the table as this build's."""
    ask = ("import sys; sys.path.insert(0, sys.argv[1]); import sweep\n"
           "try: sweep.play_there(sys.argv[2], '1', b'', sweep.Run('1', '80K', 'lru', '1', '0' * 16))\n"
           "except RuntimeError as error: print(error)")
    done = subprocess.run([PYTHON, "-c", ask, SWEEP.parent, FERRY], capture_output=True, text=True, check=False)
    check(done.stdout.endswith(f" has another {FERRY}\n"), "a_worker_with_another_build_plays_nothing", done)


def a_driver_that_is_killed():
    """Twice, by SIGKILL and by SIGTERM; the second time with half a row behind the others, as a machine that went down leaves it."""
    tool, log = stand_in("slow", 0.05)
    out = folder / "killed.csv"
    for number, rows in ((signal.SIGHUP, 3), (signal.SIGKILL, 8), (signal.SIGTERM, 20)):
        driver = subprocess.Popen(command(out, tool, "--jobs", 3), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        there = wait_for_rows(out, rows, driver)
        driver.send_signal(number)
        said = driver.communicate()[1]
        kept = rows_of(out)
        check(there and rows <= len(kept) < len(WANTED), f"driver_is_killed_in_the_middle_by_{number.name}", (len(kept), said))
        if number != signal.SIGKILL:
            check("the same command goes on" in said and driver.returncode == 130, f"an_end_by_{number.name}_says_how_to_go_on",
                  (driver.returncode, said))
        time.sleep(0.3)  # What was under way ends by itself.
        with out.open("ab") as file:
            file.write(b"one.memtrace,0123")
        log.write_text("")
    done = subprocess.run(command(out, tool), capture_output=True, text=True, check=False)
    check(done.returncode == 0 and complete(out), "no_row_is_lost_and_none_comes_twice", (done, len(rows_of(out))))
    begun = log.read_text().splitlines()
    check(len(begun) == len(WANTED) - len(kept) and rows_of(out)[:len(kept)] == kept, "only_what_was_missing_is_run",
          (len(begun), len(WANTED), len(kept)))
    check(not figures_are_right(rows_of(out)), "rows_are_right_after_kills")


def a_tool_that_is_killed_with_its_driver():
    """Whoever ends a session ends both: what is killed then is not begun again. The tool of this test waits until its driver was told."""
    log, tool, go = folder / "both.log", folder / "both", folder / "go"
    log.write_text("")
    tool.write_text(f"#!/bin/bash\necho begun >> {log}\nwhile [ ! -e {go} ]; do sleep 0.05; done\nkill -TERM $$\nsleep 60\n")
    tool.chmod(0o755)
    driver = subprocess.Popen(command(folder / "both.csv", tool, "--jobs", 2), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while len(log.read_text().splitlines()) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    driver.send_signal(signal.SIGTERM)
    time.sleep(3)  # A busy machine takes a while to tell it.
    go.touch()
    said = driver.communicate(timeout=300)[1]
    check(driver.returncode == 130 and log.read_text() == "begun\n" * 2, "what_is_killed_with_its_driver_is_not_begun_again",
          (driver.returncode, said, log.read_text()))


def rows_are_on_the_disk():
    """A machine that goes down after a row was told of has it: each is written through."""
    (folder / "site").mkdir()
    log, out = folder / "synced.log", folder / "synced.csv"
    (folder / "site" / "sitecustomize.py").write_text(
        "import os\nsync = os.fsync\ndef fsync(file):\n    sync(file)\n"
        f"    open({str(log)!r}, 'a').write(f'{{os.fstat(file).st_size}}\\n')\nos.fsync = fsync\n")
    done = subprocess.run([sys.executable, SWEEP, TRACES[0], "--vram", "64K,80K,96K", "--policy", "lru", "--out", out, "--ferry", FERRY],
                          capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(folder / "site")})
    ends, sizes = [], [int(line) for line in log.read_text().splitlines()] if log.exists() else []
    for line in out.read_bytes().splitlines(keepends=True):
        ends.append((ends[-1] if ends else 0) + len(line))
    check(done.returncode == 0 and len(ends) == 4 and sizes == ends, "each_row_is_written_through", (done, ends, sizes))


class Cluster:
    def __init__(self, workers):
        self.file = folder / "scheduler.json"
        self.file.unlink(missing_ok=True)
        self.room = folder / "room"  # For all that is temporary, Dask's own too.
        self.room.mkdir(exist_ok=True)
        here = {**os.environ, "TMPDIR": str(self.room), "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "60s"}
        start = lambda *arguments: subprocess.Popen([PYTHON, "-m", *arguments], stdout=subprocess.DEVNULL, env=here, cwd=folder,
                                                    stderr=open(folder / "dask.log", "ab"))
        self.scheduler = start("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                               "--scheduler-file", self.file)
        self.workers = [start("distributed.cli.dask_worker", "--scheduler-file", self.file, "--nthreads", "1", "--no-nanny",
                              "--no-dashboard", "--host", "127.0.0.1", "--name", f"w{i}") for i in range(workers)]

    def address(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                return json.loads(self.file.read_text())["address"]
            except (OSError, ValueError):  # Not there, or not whole yet.
                time.sleep(0.05)
        raise TimeoutError("the scheduler does not start")

    def end(self):
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


def files_in(place):
    """Traces and tables."""
    return [path for path in place.rglob("*") if path.is_file() and (re.fullmatch("[0-9a-f]{16}", path.name) or path.name == "run.csv")]


def a_worker_that_is_killed():
    tool, log = stand_in("tool", 0.2)
    out = folder / "workers.csv"
    cluster = Cluster(3)
    try:
        driver = subprocess.Popen(command(out, tool, "--scheduler", cluster.address(), python=PYTHON), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        there = wait_for_rows(out, 10, driver)
        at_kill = len(rows_of(out))
        # Stopped first, in the middle of a run: what it holds is not finished by chance.
        cluster.workers[0].send_signal(signal.SIGSTOP)
        time.sleep(0.1)
        cluster.workers[0].kill()
        begun_then = len(log.read_text().splitlines())
        said = driver.communicate(timeout=300)
        left = files_in(cluster.room)
    finally:
        cluster.end()
    begun = log.read_text().splitlines()
    # Of the killed one its last run's, in its own folder.
    own = {path.relative_to(cluster.room).parts[:2] for path in left}
    check(len(left) <= 2 and len(own) <= 1 and all(part[0].startswith("dask") for part in own), "workers_leave_nothing_behind", left)
    check(there and 10 <= at_kill < len(WANTED) - 10, "a_worker_is_killed_in_the_middle", (at_kill, said))
    check(driver.returncode == 0 and complete(out), "a_killed_worker_costs_no_row", (driver.returncode, said, len(rows_of(out))))
    # Of those that were begun and not in the table yet some were its own: under way, or finished and still to be fetched from it.
    check(len(WANTED) <= len(begun) <= len(WANTED) + begun_then - at_kill and len(set(begun)) == len(WANTED),
          "a_killed_worker_costs_its_runs",
          (len(begun), len(set(begun)), begun_then, at_kill))
    wrong = figures_are_right(rows_of(out))
    check(not wrong, "workers_say_what_the_tool_says", wrong[:1])


def a_scheduler_that_is_killed():
    """In the middle, while its workers go on: the driver says so and ends; the same command with another scheduler makes the rest."""
    tool, log = stand_in("with_scheduler", 0.2)
    out = folder / "scheduler.csv"
    cluster = Cluster(2)
    try:
        address = cluster.address()
        driver = subprocess.Popen(command(out, tool, "--scheduler", address, python=PYTHON), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True)
        there = wait_for_rows(out, 10, driver)
        cluster.scheduler.kill()
        said = driver.communicate(timeout=300)[1]
        kept = rows_of(out)
    finally:
        cluster.end()
    lines = [line for line in said.splitlines() if not re.match(r"(sweep: )?\d+ of \d+ runs", line)]
    check(there and driver.returncode == 2 and len(lines) == 1 and f"the scheduler at {address} is gone" in lines[0]
          and "the same command goes on" in lines[0], "a_killed_scheduler_is_named", (there, driver.returncode, said[-1500:]))
    check(10 <= len(kept) < len(WANTED), "a_killed_scheduler_costs_no_finished_row", len(kept))
    time.sleep(1)  # What was under way at the workers ends by itself.
    log.write_text("")
    cluster = Cluster(2)
    try:
        done = subprocess.run(command(out, tool, "--scheduler", cluster.address(), python=PYTHON), capture_output=True, text=True,
                              check=False, timeout=300)
    finally:
        cluster.end()
    begun = log.read_text().splitlines()
    check(done.returncode == 0 and complete(out) and rows_of(out)[:len(kept)] == kept, "another_scheduler_goes_on",
          (done, len(rows_of(out))))
    check(len(begun) == len(WANTED) - len(kept) and not figures_are_right(rows_of(out)), "only_what_was_missing_is_run_there",
          (len(begun), len(WANTED), len(kept)))


def expect(name, words, *arguments, code=2, **options):
    done = subprocess.run([sys.executable, SWEEP, *map(str, arguments), "--quiet"], capture_output=True, text=True, check=False,
                          timeout=120, cwd=folder, **options)
    lines = done.stderr.strip().splitlines()
    check(done.returncode == code and len(lines) == 1 and words in lines[0], name, (done.returncode, done.stderr))


def names_that_are_formulas():
    """A spreadsheet computes a field that begins with one of these; an apostrophe less is the name, and the rows are known again."""
    place = folder / "formulas"
    place.mkdir()
    names = [f"{begin}1+cmd{i}.memtrace" for i, begin in enumerate(["=", "+", "-", "@", "'", "'=", "\uff1d", "a=", " ="])]
    for i, name in enumerate(names):
        shutil.copy(a_trace("template", 10 + i), place / name)
    out = folder / "formulas.csv"
    arguments = [sys.executable, SWEEP, place, "--ferry", FERRY, "--out", out, "--vram", "80K,96K", "--policy", "lru"]
    runs = [subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=120)]
    # Some of them once more, as after a kill.
    whole = out.read_bytes()
    out.write_bytes(b"".join(whole.splitlines(keepends=True)[:6]))
    runs += [subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=120) for _ in range(2)]
    told = [row["trace"] for row in rows_of(out)]
    check(all(done.returncode == 0 for done in runs) and not [t for t in told if t[0] in "=+-@\uff1d\uff0b\uff0d\uff20"]
          and sorted(t[1:] if t[0] == "'" else t for t in told) == sorted(names * 2), "no_name_is_a_formula", (told, runs))
    check("5 of them there before" in runs[1].stdout and "18 of them there before" in runs[2].stdout
          and sorted(out.read_bytes().splitlines()) == sorted(whole.splitlines()), "a_sweep_of_them_goes_on", runs)


def bad_input():
    out = folder / "bad.csv"
    ferry = ("--ferry", FERRY, "--out", out)
    expect("no_such_trace", "nowhere: No such file", "nowhere", *ferry)
    (folder / "empty").mkdir()
    expect("folder_without_traces", "has no trace", folder / "empty", *ferry)
    expect("no_tool", "make build/ferry", TRACES[0], "--ferry", folder / "none", "--out", out)
    expect("out_that_cannot_be_written", "cannot write", TRACES[0], "--ferry", FERRY, "--out", folder / "no/such.csv")
    expect("out_that_is_no_file", "is no file", TRACES[0], "--ferry", FERRY, "--out", "/dev/full")
    os.mkfifo(folder / "pipe.csv")
    expect("out_that_is_a_pipe", r"pipe.csv is no file (a pipe or a device): a sweep reads", TRACES[0], "--ferry", FERRY, "--out",
           folder / "pipe.csv")
    expect("out_that_is_a_folder", "cannot write", TRACES[0], "--ferry", FERRY, "--out", folder)
    expect("a_name_that_a_terminal_would_obey", "no?[31mwhere: No such file", "no\x1b[31mwhere", *ferry)
    out.write_text("name,age\nx,1\n")
    expect("a_table_of_something_else", "is no table of a sweep", TRACES[0], *ferry)
    check(out.read_text() == "name,age\nx,1\n", "a_table_of_something_else_is_left_alone")
    # What is not ours is not touched: neither for want of a line end nor for half a line at the end.
    for name, data in (("prose", b"my notes, kept for years"), ("a_letter", b"t"), ("a_recording", gzip.compress(bytes(range(256)) * 9)),
                       ("lines_and_half_a_line", b"name,age\nx,1\ny,"), ("a_longer_header", HEADER + b",more\nx\ny"),
                       ("too_few_fields", HEADER + b"\na,b\nhalf"), ("a_field_beyond_all", HEADER + b"\n" + b"x" * 200000 + b"\nhalf")):
        out.write_bytes(data)
        done = subprocess.run([sys.executable, SWEEP, TRACES[0], *map(str, ferry), "--quiet"], capture_output=True, text=True, check=False,
                              timeout=120)
        check(done.returncode == 2 and len(done.stderr.splitlines()) == 1 and out.read_bytes() == data, f"{name}_is_left_alone", done)
    link = folder / "link.memtrace"
    link.write_text("")
    expect("a_table_that_is_a_trace", "is read too", link, "--ferry", FERRY, "--out", link)
    check(link.read_bytes() == b"", "a_trace_is_left_alone")
    out.unlink()
    for name, table, words in (("no_row", "fits\n", "without video_memory_bytes"), ("no_text", "\\xff\\xfe\\n", "a table that is none"),
                               ("half_a_row", ",".join(FIGURES) + "\\n1,yes\\n", "without bytes_in")):
        tool = folder / name
        tool.write_text(f'#!/bin/bash\nwhile [ "$1" != --csv ]; do shift; done\nprintf "{table}" > "$2"\n')
        tool.chmod(0o755)
        try:
            done = subprocess.run([sys.executable, SWEEP, TRACES[0], "--ferry", tool, "--out", folder / f"{name}.csv", "--vram", "64K,80K",
                                   "--policy", "lru", "--quiet"], capture_output=True, text=True, check=False, timeout=60)
        except subprocess.TimeoutExpired as error:
            done = error
        check(getattr(done, "returncode", None) == 1 and "2 runs failed" in done.stderr and words in done.stderr,
              f"a_tool_whose_table_has_{name}_is_told_of", done)
    expect("an_empty_field", "empty field", TRACES[0], *ferry, "--vram", "64K,,80K")
    expect("a_seed_that_is_none", "not a number", TRACES[0], *ferry, "--seeds", "-1")
    done = subprocess.run([PYTHON, SWEEP, TRACES[0], *ferry, "--scheduler", "nonsense://x"], capture_output=True, text=True, check=False)
    check(done.returncode == 2 and "no scheduler answers at nonsense" in done.stderr.splitlines()[-1], "a_scheduler_that_is_none", done)
    bad = folder / "bad.memtrace"
    bad.write_text("a 1 4096 buffer\nd 2\n")
    done = subprocess.run([sys.executable, SWEEP, bad, TRACES[0], *ferry, "--vram", "64K", "--policy", "lru,best"], capture_output=True,
                          text=True, check=False)
    told = done.stderr.splitlines()
    check(done.returncode == 1 and len(rows_of(out)) == 1 and any("bad.memtrace, line 2" in line for line in told)
          and any("no policy 'best'" in line for line in told), "what_fails_is_told_and_the_rest_is_run", done)
    with out.open("rb") as mine:
        fcntl.flock(mine, fcntl.LOCK_EX)
        expect("two_sweeps_into_one_table", "another sweep is at work", TRACES[0], *ferry)
    other, _ = stand_in("other", 0)
    expect("rows_of_another_build", "another build of the tool", TRACES[0], "--ferry", other, "--out", out)
    full = folder / "full.csv"
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]  # Whoever runs the tests may have set one.
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, most))
    arguments = [TRACES[0], "--ferry", FERRY, "--out", full, "--vram", "64K,80K,96K,128K", "--policy", "lru,furthest"]
    expect("a_full_disk", "cannot write", *arguments, preexec_fn=limit)
    done = subprocess.run([sys.executable, SWEEP, *arguments], capture_output=True, text=True, check=False)
    check(done.returncode == 0 and len(set(keys_of(rows_of(full)))) == len(rows_of(full)) == 8, "goes_on_where_the_disk_was_full", done)


on_the_cores()
a_tool_that_is_killed()
a_worker_with_another_build()
a_driver_that_is_killed()
a_tool_that_is_killed_with_its_driver()
rows_are_on_the_disk()
a_worker_that_is_killed()
a_scheduler_that_is_killed()
names_that_are_formulas()
bad_input()
shutil.rmtree(folder, ignore_errors=True)
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
