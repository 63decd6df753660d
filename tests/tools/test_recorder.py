#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/record_tinygrad.py: a small program's trace against what tinygrad itself counts, and what bad input gets."""
import gzip
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path.cwd()
RECORDER = ROOT / "scripts/record_tinygrad.py"
PROGRAM = ROOT / "tests/tools/tinygrad_program.py"
PYTHON = ROOT / "build/venv/bin/python"
folder = Path(tempfile.mkdtemp(prefix="ferry-recorder-"))
passed = failed = 0


def check(good, name, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}")


def record(*arguments, path="build/tinygrad"):
    home = {"PYTHONPATH": str(ROOT / path), "XDG_CACHE_HOME": str(folder / "cache")}
    return subprocess.run([PYTHON, RECORDER, *arguments], capture_output=True, text=True, timeout=300, check=False,
                          env={**os.environ, **home})


trace = folder / "small.memtrace.gz"
done = record(trace, PROGRAM, "hello")
check(done.returncode == 0 and done.stdout.split()[2:] == ["hello"], "program_runs_to_its_end", done)
kernels, used = (int(word) for word in done.stdout.split()[:2])
events = [line.split() for line in gzip.open(trace, "rt")]
sizes, living = {}, {}
for event in events:
    if event[0] == "a":
        sizes[event[1]] = living[event[1]] = int(event[2])
    if event[0] == "x":
        del living[event[1]]
check(sum(living.values()) == used, "what_lives_at_the_end_is_what_tinygrad_counts", (living, used))
# tinygrad counts an upload as one of its kernels.
check(sum(e[0] in "tw" for e in events) == kernels, "one_job_that_writes_a_kernel", kernels)
check([e for e in events if e[0] == "f"] == [["f", "step"]] * 6, "six_frames_that_are_steps")
weights = {i for i, size in sizes.items() if size == 4 << 20}
# The first that a kernel is given is what it writes.
reads = [len(weights & set(e[2:])) for e in events if e[0] == "d"]
check(len(weights) == 4 and sum(reads) == 24 and max(reads) == 1, "each_batch_reads_each_weight_once", (weights, reads))
check(all([b[0], b[1:2]] == ["d", e[1:2]] for b, e in zip(events, events[1:]) if e[0] == "t"),
      "output_and_inputs_are_there_together")
check(["w", "0", "4000"] in [[e[0], *e[2:]] for e in events], "what_the_cpu_writes_is_there")
played = subprocess.run([ROOT / "build/ferry", "policy", trace, "--vram", "0.8W", "--no-advice"], capture_output=True, text=True,
                        check=False)
check(played.returncode == 0 and "furthest" in played.stdout, "the_trace_can_be_played", played)

# What a killed run left, by the next one's own process number.
begin = 'echo left > "$0.$$.part" && exec "$@"'
done = subprocess.run(["sh", "-c", begin, trace, PYTHON, RECORDER, trace, PROGRAM, "hello"], capture_output=True, text=True, timeout=300,
                      check=False, env={**os.environ, "PYTHONPATH": str(ROOT / "build/tinygrad"), "XDG_CACHE_HOME": str(folder / "cache")})
left = list(folder.glob("small.memtrace.gz.*part"))
check(done.returncode == 0 and [line.split() for line in gzip.open(trace, "rt")] == events
      and [path.read_text() for path in left] == ["left\n"], "what_a_killed_run_left_is_in_nobodys_way", (done, left))
for path in left:
    path.unlink()

done = record("--unit", "token", trace, PROGRAM, "hello")
said = subprocess.run([ROOT / "build/ferry", "policy", trace, "--vram", "0.8W", "--policy", "ours"], capture_output=True, text=True,
                      check=False)
last = said.stdout.splitlines()[-1]
check(done.returncode == 0 and "6 tokens" in done.stderr and " a token is paged" in last and " a second" not in last,
      "the_sentence_speaks_of_tokens", (done, said))

# Line by line: what is gone, writes to a part of a buffer and to a part of a part, a kernel of a part, a copy between two
# devices, a look.
exact = folder / "exact.py"
exact.write_text("""from tinygrad import Tensor, dtypes
from tinygrad.device import Buffer


def write(target):
    target.allocate().copy_from(Buffer("PYTHON", target.nbytes, dtypes.uint8, opaque=memoryview(bytearray(target.nbytes))))


gone = Buffer("NULL", 2 << 20, dtypes.uint8).allocate()
del gone
whole = Buffer("NULL", 1 << 20, dtypes.uint8).allocate()
part = whole.view(3000, dtypes.uint8, 4096)
write(part)
write(part.view(100, dtypes.uint8, 500))
x, y = (Tensor.empty(size).realize() for size in (65536, 131072))
z = (x + y[:65536]).realize()
z.to("NULL:1").realize().tolist()
""")
done = record(folder / "exact.memtrace", exact)
lines = ["a 1 2097152 buffer", "x 1", "a 2 1048576 buffer", "w 2 4096 3000", "w 2 4596 100", "a 3 262144 buffer",
         "a 4 262144 buffer", "a 5 524288 buffer", "d 3 4 5", "t 3", "a 6 262144 buffer", "d 3", "t 6", "d 6", "f step", "x 6"]
check(done.returncode == 0 and (folder / "exact.memtrace").read_text().splitlines() == lines,
      "each_line_of_a_program_that_copies_and_writes_parts", done)
# 2 MiB are gone before 1 MiB, 512 KiB and three times 256 KiB are there.
check("6 buffers of 4.2 MiB (2.2 MiB at once), 1 kernels, 1 steps" in done.stderr, "what_lived_at_once_is_said", done)

older = trace.read_bytes()
for name, words, code in (("raises", "raise ValueError('on purpose')", 1), ("exits", "raise SystemExit(3)", 3)):
    bad = folder / f"{name}.py"
    bad.write_text(f"from tinygrad import Tensor\nTensor([1.0]).realize()\n{words}\n")
    done = record(trace, bad)
    new = record(folder / "new.memtrace", bad)
    check(done.returncode == new.returncode == code and trace.read_bytes() == older and f"{trace} is as it was" in done.stderr
          and "new.memtrace is not written" in new.stderr and not list(folder.glob("*.part")) and not (folder / "new.memtrace").exists(),
          f"a_program_that_{name}_leaves_an_older_trace", (done, new))
ends = folder / "ends.py"
ends.write_text("from tinygrad import Tensor\nTensor([1.0]).realize()\nimport os, sys\nprint(os.path.getsize(sys.argv[1]))\nsys.exit()\n")
trace.chmod(0o640)
done = record(trace, ends, trace)
check(done.returncode == 0 and done.stdout == f"{len(older)}\n" and gzip.open(trace, "rt").read().endswith("f step\n")
      and trace.read_bytes() != older and trace.stat().st_mode & 0o777 == 0o640 and not list(folder.glob("*.part")),
      "a_good_end_replaces_the_older_trace", done)
for name, data in (("notes", b"my notes, kept for years\n"), ("packed", gzip.compress(b"a book of mine\n")), ("cut", older[:20]),
                   ("code", PROGRAM.read_bytes())):
    kept = folder / name
    kept.write_bytes(data)
    done = record(kept, PROGRAM, "hello")
    check(done.returncode == 1 and "no trace" in done.stderr and done.stdout == "" and kept.read_bytes() == data,
          f"{name}_are_not_written_over", done)
own, link = folder / "own.py", folder / "link.memtrace"
own.write_text("")  # As empty as a trace may be.
link.symlink_to(own)
for name, out in (("itself", own), ("a_link_to_it", link)):
    done = record(out, own)
    check(done.returncode == 1 and "the program itself" in done.stderr and own.read_bytes() == b"" and link.is_symlink(),
          f"a_program_is_not_written_over_by_{name}", done)
done = record("/dev/stdout", PROGRAM, "hello")
check(done.returncode == 0 and "\na 5 4000 buffer\n" in done.stdout and "\nf step\n" in done.stdout, "a_pipe_takes_a_trace", done)

for name, words, arguments, path in (
        ("no_word_for_a_frame", "no word of up to 16 letters", ["--unit", "8x", trace, PROGRAM], "build/tinygrad"),
        ("no_arguments", "usage:", [], "build/tinygrad"),
        ("no_program", "no such file", [trace, folder / "nowhere.py"], "build/tinygrad"),
        ("no_folder", "No such file", [folder / "no/where", PROGRAM], "build/tinygrad"),
        ("no_tinygrad", "requirements-tinygrad.txt", [trace, PROGRAM], "build/nowhere")):
    done = record(*arguments, path=path)
    check(done.returncode == 1 and words in done.stderr and "Traceback" not in done.stderr, name, done)
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
