#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Record what a tinygrad program does with its memory, without a GPU and without its weights: the program runs on tinygrad's
NULL device, which computes nothing, and each buffer, upload and kernel becomes a line of a memory trace for `ferry policy`.

usage: record_tinygrad.py [--unit WORD] OUT.memtrace[.gz] PROGRAM.py [ARGUMENTS...]

A frame ends where the program looks at a result (.item(), .tolist(), .numpy()): a token, a batch;
--unit says which, and stands in the trace (step, unless it is said). What it sees there are
zeros, so a program must not decide by its results. Needs the tinygrad of scripts/requirements-tinygrad.txt:
pip install --require-hashes -r scripts/requirements-tinygrad.txt"""
import gzip
import os
import re
import runpy
import sys

TRIED = "0.14.0"


class Trace:
    """Lines, and the figures that are said at the end."""

    def __init__(self, path, unit):
        self.unit = unit
        self.file = gzip.open(path, "wt") if path.endswith(".gz") else open(path, "w", encoding="ascii")
        self.buffers = self.kernels = self.frames = self.bytes = self.living = self.most = self.kept_back = 0
        self.over = False

    def put(self, *words):
        if not self.over:
            print(*words, file=self.file)

    def end(self):
        # What the interpreter takes down at its own end is not the program's doing.
        self.over = True
        self.file.close()


class Memory:
    """Stands for a buffer's memory."""

    def __init__(self, trace, size):
        trace.buffers += 1
        self.number, self.size, self.offset, self.whole = trace.buffers, size, 0, self
        trace.bytes += size
        trace.living += size
        trace.most = max(trace.most, trace.living)
        trace.put("a", self.number, size, "buffer")

    def part(self, size, offset):
        part = object.__new__(Memory)
        part.number, part.size, part.offset, part.whole = self.number, size, self.offset + offset, self.whole
        return part


def attach(trace):
    """Put the trace behind the NULL device's allocator and programs."""
    from tinygrad.runtime import ops_null

    def take(allocator, size, options):
        return Memory(trace, size)

    def give_back(allocator, memory, options):
        if isinstance(memory, Memory) and memory.whole is memory:
            trace.living -= memory.size
            trace.put("x", memory.number)

    def write(allocator, memory, source):
        amount = min(len(source), memory.size)
        if amount:
            trace.put("w", memory.number, memory.offset, amount)

    def look(allocator, target, memory):
        target.cast("B")[:] = bytes(target.nbytes)
        trace.put("d", memory.number)
        trace.put("f", trace.unit)
        trace.frames += 1

    def copy(allocator, target, source, size, *devices):
        trace.put("d", source.number)
        trace.put("t", target.number)

    def run(program, *memories, **more):
        numbers = list(dict.fromkeys(m.number for m in memories if isinstance(m, Memory)))
        if numbers:
            # Inputs and output are needed at the same time; the first is written.
            trace.put("d", *numbers)
            trace.put("t", numbers[0])
        trace.kernels += 1
        return 1e-3

    null = ops_null.NullAllocator
    null._alloc, null._free, null._copyin, null._copyout, null._transfer = take, give_back, write, look, copy
    null._offset = lambda allocator, memory, size, offset: memory.part(size, offset)
    ops_null.NullProgram.__call__ = run


def main():
    unit = "step"
    if len(sys.argv) > 2 and sys.argv[1] == "--unit":
        unit = sys.argv[2]
        del sys.argv[1:3]
        if not re.fullmatch(r"[A-Za-z-]{1,16}", unit):
            raise SystemExit(f"record_tinygrad: --unit '{unit}' is no word of up to 16 letters")
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        raise SystemExit(__doc__.split("\n\n")[1])
    out, program = sys.argv[1:3]
    # One kernel is one call: no graphs of them (JIT=2 replays kernels without one).
    os.environ.update(DEV="NULL", NULL_ALLOW_COPYOUT="1", JIT="2")
    try:
        import tinygrad
        from importlib.metadata import version
    except ImportError:
        raise SystemExit("record_tinygrad: no tinygrad here; pip install --require-hashes -r scripts/requirements-tinygrad.txt") from None
    if version("tinygrad") != TRIED:
        print(f"record_tinygrad: tinygrad {version('tinygrad')}; tried with {TRIED}", file=sys.stderr)
    if not os.path.exists(program):
        raise SystemExit(f"record_tinygrad: {program}: no such file")
    if not tinygrad.Device.DEFAULT.startswith("NULL"):
        raise SystemExit(f"record_tinygrad: the program would run on {tinygrad.Device.DEFAULT}, not on NULL")
    try:
        trace = Trace(out, unit)
    except OSError as error:
        raise SystemExit(f"record_tinygrad: {out}: {error.strerror}") from None
    attach(trace)
    sys.argv = sys.argv[2:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(program)))
    try:
        runpy.run_path(program, run_name="__main__")
    finally:
        if trace.frames == 0:
            trace.put("f", unit)
        trace.end()
        mib = 1 << 20
        print(f"{out}: {trace.buffers} buffers of {trace.bytes / mib:.1f} MiB ({trace.most / mib:.1f} MiB at once), "
              f"{trace.kernels} kernels, {max(trace.frames, 1)} {unit}s", file=sys.stderr)


if __name__ == "__main__":
    main()
