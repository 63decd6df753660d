#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run test programs, as many at a time as there are cores, and add up what they print.

A program passes or fails cases in cmocka's form ("[       OK ] name", "[  FAILED  ] name" or "[  FAILED  ] name: reason")
or ends with a line "N passed, N failed". A case that cmocka began ("[ RUN      ] name") and that has no result when its
program ends has failed, however well it ends: what is tested may have ended it, with the cases behind. So has a program that
ends with cases of a group still to come, or with a nonzero status, and counts as one failed case where none is known to have
failed, so a crash is never lost. Cases whose names begin with requirement numbers (R31_R36_name) go into the registry
file, one line a requirement: number, program and case, result, and where the program names them the miniport
("miniport: NAME") and the back end under it ("back end NAME", with more behind a comma). A miniport that is named while a
case runs is that case's, and a case with several has a line for each. A case that a program leaves out ("left out: case:
reason") has its line too. The last line printed is the sum.

A program that prints "FERRY_SEED=N" is random: it runs twice, with a seed that is always the same and with another one; with
the other one alone if --once names it. The other one follows from the content of the files that git knows under
--sources: each change of them draws anew, and one tree gives one result wherever it runs. Without --sources, and without git,
it is fresh; --fresh N takes N fresh ones.
FERRY_SEED in the environment replays: every program runs once, with that seed.
"""
import argparse
import hashlib
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path

OK = re.compile(r"^\[\s+OK\s+\] (\S+)")
FAILED = re.compile(r"^\[\s+FAILED\s+\] (\S+?)(?::? .*|:)?$")
RUN = re.compile(r"^\[\s+RUN\s+\] (\S+)")
SKIPPED = re.compile(r"^\[\s+SKIPPED\s+\] (\S+)")
GROUP_BEGINS = re.compile(r"^\[=+\] .*\bRunning \d+ test\(s\)")  # cmocka's, before the first case and behind the last.
GROUP_ENDS = re.compile(r"^\[=+\] .*\b\d+ test\(s\) run\.")
ERROR = re.compile(r"^\[\s+ERROR\s+\] ([A-Za-z_]\w*)$")  # cmocka: its set-up failed. A reason has dashes instead of a name.
LISTED = re.compile(r"\d+ test\(s\), listed below:$")  # cmocka's heading of its list of failed cases is no case.
LEFT_OUT = re.compile(r"^left out: (\S+?): (.+)$")  # A case that this program has and does not run, and why.
MINIPORT = re.compile(r"^miniport: (\S+)$")  # The same cases run on several.
BACK_END = re.compile(r"^back end (\S+?)(?:,|$)")  # What is under the miniport: the Verilog, the model, a port.
SEED = re.compile(r"FERRY_SEED=\d")
SUM = re.compile(r"^(\d+) passed, (\d+) failed")
NUMBER = re.compile(r"R(\d+)(?=_)")
FIXED_SEED = 1
LIMIT_SECONDS = 900  # A hang, not a speed limit: the slowest program takes a small part of it.
LIMIT_FILE_BYTES = 1 << 30  # A program that prints without end, or writes such a file.
SHOWN_BYTES = 8 << 20  # Of what a program prints, so much of the beginning and of the end is looked at.


class Result:
    def __init__(self, program, seed, output, status, seconds, is_random=False):
        self.program, self.seed, self.output, self.status, self.seconds = program, seed, output, status, seconds
        self.random = is_random or bool(SEED.search(output))
        self.cases = {}
        self.left_out = {}
        self.miniport = self.back_end = ""  # of every case that names none
        self.miniports = {}
        last_sum = running = None
        in_group = False
        for line in output.splitlines():
            if match := RUN.match(line):
                running = match.group(1)
            elif GROUP_BEGINS.match(line):
                in_group = True
            elif GROUP_ENDS.match(line):
                in_group = False
            elif SKIPPED.match(line):
                running = None
            elif match := OK.match(line):
                self.cases.setdefault(match.group(1), True)
                running = None
            elif (match := FAILED.match(line) or ERROR.match(line)) and not LISTED.search(line):
                self.cases[match.group(1)] = False
                running = None
            elif match := LEFT_OUT.match(line):
                self.left_out[match.group(1)] = match.group(2)
            elif match := MINIPORT.match(line):
                if running:
                    self.miniports.setdefault(running, set()).add(match.group(1))
                else:
                    self.miniport = match.group(1)
            elif match := BACK_END.match(line):
                self.back_end = match.group(1)
            elif match := SUM.match(line):
                last_sum = int(match.group(1)), int(match.group(2))
        if running:
            self.cases[running] = False
        if last_sum is not None:
            self.passed, self.failed = last_sum[0], max(last_sum[1], list(self.cases.values()).count(False))
        else:
            self.passed = sum(self.cases.values())
            self.failed = len(self.cases) - self.passed
        if (status != 0 or in_group) and self.failed == 0:
            self.failed = 1
        if self.passed + self.failed == 0:
            self.failed = 1  # A test program that tests nothing is broken.


RUNNING = set()  # Each in a session of its own, where no Ctrl-C reaches it.


def end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def stop(number, _frame):
    for process in list(RUNNING):
        end(process)
    print(f"run_tests: stopped by {signal.Signals(number).name}", file=sys.stderr, flush=True)
    os._exit(128 + number)  # Threads that wait for their programs would start the next ones.


def run(program, seed, is_random=False):
    start = time.monotonic()
    process = None
    with tempfile.TemporaryFile() as said:
        try:
            # A session of its own, so that a hang is ended with its children.
            process = subprocess.Popen([program], stdout=said, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                       env=dict(os.environ, FERRY_SEED=str(seed)), start_new_session=True)
            RUNNING.add(process)
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (LIMIT_FILE_BYTES, LIMIT_FILE_BYTES))
            status, last_words = process.wait(LIMIT_SECONDS), ""
        except subprocess.TimeoutExpired:
            end(process)
            process.wait()
            status, last_words = -1, f"\nstopped after {LIMIT_SECONDS} s\n"
        except OSError as error:
            status, last_words = -1, f"cannot run: {error}\n"
        finally:
            RUNNING.discard(process)
        output = shown(said) + last_words
    return Result(program, seed, output, status, time.monotonic() - start, is_random)


def shown(file):
    """What a program printed; of a flood its beginning and its end."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    text = file.read(SHOWN_BYTES)
    if size > 2 * SHOWN_BYTES:
        text += b"\n[...]\n"
        file.seek(-SHOWN_BYTES, os.SEEK_END)
    return (text + file.read()).decode(errors="replace").replace("\r\n", "\n")


def run_all(programs, once, seeds, jobs):
    """Results as they come: each program with the first seed, random ones with the others too; those of `once` without the first."""
    def of(program):
        return (seeds[1:] or seeds) if program in once else seeds

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        waiting = {pool.submit(run, program, of(program)[0]) for program in programs}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for result in (future.result() for future in done):
                if result.random and result.seed == of(result.program)[0]:
                    # A crash may take the line with it that says so.
                    waiting |= {pool.submit(run, result.program, seed, True) for seed in of(result.program)[1:]}
                yield result


def seed_of(sources):
    """A number that follows from what the files are called and hold; None where git does not know them."""
    try:
        # Git refuses a tree of another owner; who runs its tests trusts it already.
        listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z", "--", *sources],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    digest = hashlib.sha256()
    for name in sorted(filter(None, listed.split(b"\0"))):
        if os.path.isfile(name):
            digest.update(name + b"\0" + hashlib.sha256(Path(os.fsdecode(name)).read_bytes()).digest())
    return 2 + int.from_bytes(digest.digest()[:4], "big") % ((1 << 31) - 2) if listed else None


def choose_seeds(given, sources, fresh):
    if fresh < 0:
        raise SystemExit(f"run_tests: --fresh {fresh}: want how many seeds")
    if given is None:
        drawn = seed_of(sources) if sources and not fresh else None
        return [FIXED_SEED, *([drawn] if drawn else random.sample(range(2, 1 << 31), fresh or 1))]
    if not re.fullmatch(r"[0-9]{1,20}", given) or int(given) >= 1 << 64:
        raise SystemExit(f"run_tests: FERRY_SEED={given}: want a number, as a test printed it")
    return [int(given)]


def write_registry(results, path):
    """One line a requirement, case, miniport and back end, in the order of the numbers; also for a case that was left out."""
    rows = {}  # A case of a random program passes when it passes with every seed.
    reasons = {}
    under = {}
    for result in results:
        program = Path(result.program).name
        under[program] = under.get(program) or result.back_end
        for case, good in [*result.cases.items(), *((case, None) for case in result.left_out)]:
            prefix = re.match(r"(?:R\d+_)+", case)
            on = result.miniports.get(case) or {result.miniport}
            numbers = NUMBER.findall(prefix.group(0)) if prefix else []
            for key in [(int(n), case, program, miniport) for n in numbers for miniport in on]:
                if good is None:
                    reasons[key] = f"left out: {result.left_out[case]}"
                else:
                    rows[key] = rows.get(key, True) and good
    said = {**reasons, **{key: "pass" if good else "FAIL" for key, good in rows.items()}}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"R{key[0]}\t{key[2]}/{key[1]}\t{said[key]}\t{key[3]}\t{under[key[2]]}".rstrip("\t") + "\n"
                            for key in sorted(said)))
    return len({n for n, *_ in rows}), len({n for (n, *_), good in rows.items() if not good})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--registry", type=Path, required=True)
    parser.add_argument("--logs", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--once", action="append", default=[], help="a program that leaves out the seed that is always the same")
    parser.add_argument("--sources", action="append", default=[], help="a file or folder that the other seed follows from")
    parser.add_argument("--fresh", type=int, default=0, metavar="N", help="N fresh seeds instead of that one")
    parser.add_argument("programs", nargs="+")
    arguments = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    arguments.logs.mkdir(parents=True, exist_ok=True)
    seeds = choose_seeds(os.environ.get("FERRY_SEED"), arguments.sources, arguments.fresh)
    print(f"random programs run with FERRY_SEED={' and '.join(map(str, seeds))}", flush=True)
    results = []
    for result in run_all(arguments.programs, arguments.once, seeds, arguments.jobs):
        name = Path(result.program).name + (f" {result.seed}" if result.random else "")
        (arguments.logs / f"{name.replace(' ', '-')}.log").write_text(result.output)
        print(f"{'FAIL' if result.failed else 'ok  '} {name:36} {result.passed:5} passed {result.failed:3} failed"
              f" {result.seconds:7.1f} s", flush=True)
        if result.failed:
            tail = result.output.splitlines()[-40:]
            print("".join(f"     | {line}\n" for line in tail), end="", flush=True)
            print(f"     replay: FERRY_SEED={result.seed} {result.program}", flush=True)
        results.append(result)
    covered, broken = write_registry(results, arguments.registry)
    print(f"requirements with a test: {covered}, failing: {broken}; table in {arguments.registry}")
    passed, failed = sum(r.passed for r in results), sum(r.failed for r in results)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
