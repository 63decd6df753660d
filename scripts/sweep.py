#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Play traces at many sizes of video memory, on many policies, and write one CSV.

    scripts/sweep.py TRACE... [--out sweep.csv] [--vram LIST] [--policy LIST] [--seeds LIST]

Each run is a `ferry policy` of its own, on all cores; with --scheduler ADDRESS on the workers of a Dask scheduler (pip
install -r scripts/requirements-sweep.txt). A row is written when its run ends, so whatever is interrupted goes on where it
was when the same command is given again: no row is lost, none comes twice. A worker that dies costs its run's time.

Traces are known by what is in them (column `content`), not by their names, and so is the tool (column `tool`): rows of
another build are not mixed with this one's. Workers are sent the traces; the tool they need to have, under the same path.
"""
import argparse
import collections
import contextlib
import csv
import fcntl
import hashlib
import io
import logging
import os
import queue
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

DEFAULT_SIZES = ",".join(f"{percent / 100:.2f}W" for percent in range(30, 151, 5))
DEFAULT_POLICIES = "ours,lru,random,two-frames,furthest"
KEY = ("content", "vram", "policy", "seed", "tool")
FIGURES = ("video_memory_bytes", "fits", "bytes_in", "bytes_uploaded", "bytes_out", "bytes_filled", "bytes_moved", "evictions",
           "evictions_after_warm_up", "bytes_after_warm_up", "paged_after_warm_up", "worst_frame_bytes", "percentile_99_frame_bytes")
HEADER = ("trace", *KEY, *FIGURES)
MOST_TRIES = 5  # Of one run: a killed one is made again, one that kills whoever makes it is not.

Run = collections.namedtuple("Run", KEY)


class Problem(Exception):
    """What is told in one line."""


# ---- One run; also on other machines -----------------------------------------------------------------------------------


class Killed(Exception):
    """The run was, not what it ran."""


def file_digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def play(tool, trace, run, place=None):
    """The figures of a run, as text; a folder in `place` holds what it needs meanwhile. Killed, or RuntimeError with what the tool says."""
    with tempfile.TemporaryDirectory(prefix="ferry-sweep-", dir=place) as folder:
        table = Path(folder, "run.csv")
        # As a curve of one point: a size that is too small is a row too.
        done = subprocess.run([tool, "policy", trace, "--sweep", "--vram", run.vram, "--policy", run.policy, "--seed", run.seed,
                               "--no-advice", "--quiet", "--csv", table], capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, check=False)
        if done.returncode < 0:
            raise Killed(f"{tool} was ended by signal {-done.returncode}")
        if done.returncode != 0:
            raise RuntimeError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
        try:
            with table.open(newline="", encoding="ascii") as file:
                row = next(csv.DictReader(file), {})
        except (ValueError, csv.Error) as error:
            raise RuntimeError(f"{tool} writes a table that is none: {error}") from error
        if missing := [name for name in FIGURES if row.get(name) is None]:
            raise RuntimeError(f"{tool} writes a table without {missing[0]}")
        return [row[name] for name in FIGURES]


def play_there(tool, content, data, run):
    """On a worker, which has the trace on its disk for as long as the run. What a killed one leaves lies in its own folder, and Dask
    removes that when the next worker begins there."""
    from distributed import get_worker
    if file_digest(tool) != run.tool:
        raise RuntimeError(f"{os.uname().nodename} has another {tool}")
    with tempfile.TemporaryDirectory(prefix="ferry-sweep-", dir=get_worker().local_directory) as folder:
        trace = Path(folder, content)
        trace.write_bytes(data)
        return play(tool, trace, run, folder)


# ---- Where the runs are made: (run, figures or an exception) as they come ------------------------------------------------


def next_of(done):
    """What comes next. A signal that comes just before a wait begins does not end it, so none is long."""
    while True:
        try:
            return done.get(timeout=1)
        except queue.Empty:
            pass


def on_this_machine(options, traces, runs, _tell):
    done, stopping = queue.SimpleQueue(), []

    def make(run):
        for attempt in range(1, MOST_TRIES + 1):
            try:
                return done.put((run, play(options.ferry, traces[run.content], run)))
            except Killed as error:
                if attempt == MOST_TRIES or stopping:
                    return done.put((run, error))
            except Exception as error:  # Whatever it is: who waits for this run would wait for ever.
                return done.put((run, error))

    pool = ThreadPoolExecutor(options.jobs)
    try:
        for run in runs:
            pool.submit(make, run)
        for _ in runs:
            yield next_of(done)
    finally:
        stopping.append(True)
        pool.shutdown(wait=True, cancel_futures=True)  # What is under way ends, in seconds.


def on_workers(options, traces, runs, tell):
    try:
        import distributed
    except ImportError as error:
        raise Problem(f"--scheduler needs Dask ({error}); run: {sys.executable} -m pip install -r scripts/requirements-sweep.txt") \
            from error
    lost = (distributed.KilledWorker, distributed.client.FutureCancelledError, distributed.comm.CommClosedError, Killed)
    try:
        client = distributed.Client(options.scheduler, timeout=20)
    except (OSError, ValueError) as error:
        raise Problem(f"no scheduler answers at {options.scheduler}: {error}") from error
    done, data, tries = queue.SimpleQueue(), {}, collections.Counter()
    # What its client has to say of a connection is told in one line below, and not on the standard error too.
    logging.disable(logging.CRITICAL)

    def ask(what, *arguments, **more):
        """Something of the scheduler; what it had of ours goes with it."""
        try:
            if client.status == "running":
                return what(*arguments, **more)
        except (OSError, distributed.comm.CommClosedError, TimeoutError):
            pass
        raise Problem(f"the scheduler at {options.scheduler} is gone; {options.out} has what was finished, and the same command goes on "
                      "where this one was, with a scheduler that answers")

    def submit(run):
        # Sent once, and again when all that had it are gone.
        if run.content not in data or data[run.content].status in ("lost", "cancelled", "error"):
            data[run.content] = ask(client.scatter, Path(traces[run.content]).read_bytes(), broadcast=True, hash=False)
        tries[run] += 1
        future = ask(client.submit, play_there, options.ferry, run.content, data[run.content], run, pure=False)
        future.add_done_callback(lambda future: done.put((run, future)))

    try:
        while not ask(client.scheduler_info)["workers"]:
            tell("no worker yet; waiting")
            time.sleep(1)
        for run in runs:
            submit(run)
        left = len(runs)
        while left:
            try:
                run, future = done.get(timeout=2)
            except queue.Empty:
                if not ask(client.scheduler_info)["workers"]:
                    tell("no worker is left; waiting for one")
                continue
            try:
                outcome = future.result()
            except (Exception, *lost) as error:
                if isinstance(error, lost) and tries[run] < MOST_TRIES:
                    submit(run)
                    continue
                outcome = error
            left -= 1
            yield run, outcome
    finally:
        # One that still tries to reach its scheduler does not let go at once.
        with contextlib.suppress(OSError, TimeoutError):
            client.close(timeout=5 if client.status == "running" else 1)


# ---- What is there already ---------------------------------------------------------------------------------------------


class Table:
    """The CSV: rows are only ever added, whole lines at a time, so that a kill costs the last one at most."""

    def __init__(self, path):
        self.path = path
        try:
            # Asked before it is opened: a pipe may not be, for both ways.
            if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
                raise Problem(f"{path} is no file (a pipe or a device): a sweep reads what is in its table, and goes on with it")
            # Without a buffer: what a full disk did not take would be written again when the file is closed.
            self.file = open(path, "r+b" if os.path.exists(path) else "w+b", buffering=0)
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Problem(f"another sweep is at work on {path}") from error
        except OSError as error:
            raise Problem(f"cannot write {path}: {error.strerror or error}") from error

    def read(self):
        """The rows; half a line at the end is cut off, once it is certain that the file is ours."""
        data = self.file.read()
        lines, end, half = data.rpartition(b"\n")
        header = ",".join(HEADER).encode()
        # A kill may leave half a header; a few letters of one could be anybody's.
        mine = lines.partition(b"\n")[0].rstrip(b"\r") == header if end else not half or (len(half) > 14 and header.startswith(half))
        if not mine:
            raise Problem(f"{self.path} is no table of a sweep; give another --out")
        try:
            rows = list(csv.reader(io.StringIO(lines.decode(errors="replace"))))
        except csv.Error as error:
            raise Problem(f"{self.path} cannot be read: {error}") from error
        for number, row in enumerate(rows[1:], 2):
            if len(row) != len(HEADER):
                raise Problem(f"{self.path}, line {number}: {len(row)} fields instead of {len(HEADER)}")
        self.cut(len(lines) + len(end))
        if not rows:
            self.add(HEADER)
        return rows[1:]

    def cut(self, end):
        self.end = end
        self.file.seek(end)
        self.file.truncate()

    def add(self, row):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(row)
        try:
            data = text.getvalue().encode()
            while data:
                done = self.file.write(data)
                self.end, data = self.end + done, data[done:]
            os.fsync(self.file.fileno())
        except OSError as error:
            raise Problem(f"cannot write {self.path}: {error.strerror}; the same command goes on where this one was") from error


def shown(name):
    """A name in one line, without what a terminal would obey."""
    return "".join(c if c.isprintable() else "?" for c in os.fsencode(name).decode(errors="replace"))


def as_text(name):
    """A spreadsheet takes a field that begins like a formula for one; an apostrophe says that it is text. A name that begins with one
    gets another, so that one apostrophe less is always the name. Rows are known by other columns: nothing depends on this one."""
    return f"'{name}" if name[:1] in tuple("=+-@'\uff1d\uff0b\uff0d\uff20") else name


# ---- The command ---------------------------------------------------------------------------------------------------------


def fields(text, name):
    found = list(dict.fromkeys(field.strip() for field in text.split(",")))
    if not all(found):
        raise Problem(f"{name}: '{text}' has an empty field")
    return found


def find_traces(names):
    """Content -> (path, name for the table). A folder means all traces in it."""
    found = {}
    for name in names:
        path = Path(name)
        try:
            inside = sorted(p for p in path.iterdir() if p.name.endswith((".memtrace", ".memtrace.gz"))) if path.is_dir() else [path]
            if not inside:
                raise Problem(f"{name} has no trace (*.memtrace, *.memtrace.gz) in it")
            for trace in inside:
                # A line of the table is a line of the file.
                found.setdefault(file_digest(trace), (trace, shown(trace.name)))
        except OSError as error:
            raise Problem(f"{name}: {error.strerror}") from error
    return found


def all_runs(options, traces, tool):
    seeds = fields(options.seeds, "--seeds")
    if bad := [seed for seed in seeds if not seed.isascii() or not seed.isdigit() or int(seed) >= 1 << 64]:
        raise Problem(f"--seeds: '{bad[0]}' is not a number")
    sizes, policies = fields(options.vram, "--vram"), fields(options.policy, "--policy")
    # Only chance depends on the seed.
    return [Run(content, size, policy, seed, tool) for content in traces for size in sizes for policy in policies
            for seed in (seeds if policy == "random" else seeds[:1])]


class Progress:
    def __init__(self, options, count, before):
        self.terminal = sys.stderr.isatty() and not options.quiet
        self.quiet, self.count, self.before, self.start, self.said = options.quiet, count, before, time.monotonic(), 0
        self.done = self.failed = 0

    def show(self, word=""):
        passed = time.monotonic() - self.start
        if self.quiet or (not self.terminal and passed - self.said < 10):
            return
        self.said = passed
        rate = self.done / passed if passed > 0 else 0
        left = self.count - self.before - self.done
        text = f"{self.before + self.done} of {self.count} runs"
        text += f", {self.failed} failed" if self.failed else ""
        text += f", {rate:.1f} a second, {int(left / rate) // 60}:{int(left / rate) % 60:02} left" if rate else ""
        text += f": {word}" if word else ""
        print(f"\r{text} \x1b[K" if self.terminal else f"sweep: {text}", end="" if self.terminal else "\n", file=sys.stderr, flush=True)

    def end(self):
        if self.terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def sweep(options):
    try:
        tool = file_digest(options.ferry)
    except OSError as error:
        raise Problem(f"{options.ferry}: {error.strerror}; run: make build/ferry") from error
    traces = find_traces(options.traces)
    runs = all_runs(options, traces, tool)
    table = Table(options.out)
    if any(os.path.samestat(os.fstat(table.file.fileno()), os.stat(name)) for name in (options.ferry, *(p for p, _ in traces.values()))):
        raise Problem(f"{options.out} is read too; give another --out")
    there = collections.Counter(Run(*row[1:1 + len(KEY)]) for row in table.read())
    if others := {run.tool for run in there} - {tool}:
        raise Problem(f"{options.out} has rows of another build of the tool ({', '.join(sorted(others))}, now {tool}); give another --out")
    missing = [run for run in runs if run not in there]
    progress = Progress(options, len(runs), len(runs) - len(missing))
    failures = collections.Counter()
    where = on_workers if options.scheduler else on_this_machine
    outcomes = where(options, {content: str(path) for content, (path, _) in traces.items()}, missing, progress.show)
    try:
        progress.show()
        for run, outcome in outcomes:
            if isinstance(outcome, Exception):
                failures[f"{traces[run.content][1]}: {outcome}"] += 1
                progress.failed += 1
            else:
                table.add((as_text(traces[run.content][1]), *run, *outcome))
            progress.done += 1
            progress.show()
    finally:
        outcomes.close()
        progress.end()
    for reason, count in failures.items():
        print(f"sweep: {count} run{'s' * (count > 1)} failed: {shown(reason)}", file=sys.stderr)
    before = f", {progress.before} of them there before" if progress.before else ""
    print(f"{len(runs) - progress.failed} runs in {shown(options.out)}{before}")
    return 1 if failures else 0


def interrupted(number, _frame):
    raise KeyboardInterrupt(signal.Signals(number).name)


def main():
    usage = __doc__.split("\n\n")
    parser = argparse.ArgumentParser(description=usage[0], epilog="\n\n".join(usage[2:]),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", metavar="TRACE", help="a memory trace, plain or gzip, or a folder of them")
    parser.add_argument("--out", default="sweep.csv", metavar="FILE", help="the table (%(default)s); goes on with what is in it")
    parser.add_argument("--vram", default=DEFAULT_SIZES, metavar="LIST", help="sizes, as `ferry policy` takes them (0.30W to 1.50W)")
    parser.add_argument("--policy", default=DEFAULT_POLICIES, metavar="LIST", help="policies (%(default)s)")
    parser.add_argument("--seeds", default="1", metavar="LIST", help="of the policy random, a run each (%(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="runs at a time here (%(default)s)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask scheduler (tcp://HOST:8786): its workers make the runs")
    parser.add_argument("--ferry", default=str(Path(__file__).resolve().parent.parent / "build/ferry"), metavar="FILE",
                        help="the tool (%(default)s)")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    options = parser.parse_args()
    if options.jobs < 1:
        parser.error("--jobs: at least 1")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    try:
        return sweep(options)
    except Problem as problem:
        print(f"sweep: {shown(str(problem))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"sweep: interrupted; the same command goes on where this one was ({shown(options.out)})", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
