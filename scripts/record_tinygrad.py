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
import io
import itertools
import os
import re
import runpy
import stat
import sys
import zlib

TRIED = "0.14.0"


class Trace:
    """Lines, and the figures that are said at the end."""

    def __init__(self, path, unit):
        self.unit, self.path = unit, os.path.realpath(path)
        # A pipe or a device is written as it is, and what the shell has opened: a file of that name is another.
        self.beside = not is_special(path)
        self.older = self.beside and os.path.exists(self.path) and os.path.getsize(self.path) > 0
        self.written = path
        self.raw = self.open_beside() if self.beside else open(path, "wb")
        if path.endswith(".gz"):
            packed = gzip.GzipFile(filename=os.path.basename(path), mode="wb", fileobj=self.raw)
        else:
            packed = self.raw
        self.file = io.TextIOWrapper(packed, encoding="ascii")
        self.buffers = self.kernels = self.frames = self.bytes = self.living = self.most = self.kept_back = 0
        self.over = False

    def open_beside(self):
        # In a container the next run has the number of the one that was killed, and so has another's container.
        for number in itertools.count():
            self.written = f"{self.path}.{os.getpid()}{f'-{number}' if number else ''}.part"
            try:
                return open(self.written, "xb")
            except FileExistsError:
                continue

    def put(self, *words):
        if not self.over:
            print(*words, file=self.file)

    def end(self):
        # What the interpreter takes down at its own end is not the program's doing.
        self.over = True
        self.file.close()
        self.raw.close()
        if self.beside:
            if os.path.exists(self.path):
                os.chmod(self.written, stat.S_IMODE(os.stat(self.path).st_mode))
            os.replace(self.written, self.path)

    def drop(self):
        """What was there stays; what became of it, for people."""
        self.over = True
        if not self.beside:
            return "has what was recorded until then"
        for file in (self.file, self.raw):
            try:
                file.close()
            except OSError:  # A full disk may be why.
                pass
        os.unlink(self.written)
        return "is as it was" if self.older else "is not written"


def is_special(path):
    name = os.path.normpath(os.path.abspath(path))
    if name.startswith(("/dev/std", "/dev/fd/", "/proc/")):
        return True
    return os.path.exists(path) and not os.path.isfile(path)


def is_trace(path):
    """By its first line, or there is none."""
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if packed else open(path, "rb") as file:
            lines = file.read(1 << 16).split(b"\n")
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return False
    line = next((line for line in map(bytes.strip, lines) if line), b"")
    return not line or re.fullmatch(rb"a \d+ \d+ .*|[wlutx] \d+( .*)?|d( \d+)*|f( [A-Za-z-]+)?", line) is not None


def look_at_output(path, program):
    """Nothing but a trace is written over."""
    if not os.path.isfile(path):
        return
    if os.path.samefile(path, program):
        raise SystemExit(f"record_tinygrad: {path} is the program itself; the trace comes first, then the program")
    if not is_trace(path):
        raise SystemExit(f"record_tinygrad: {path} is there and no trace; give another name for the output, or remove it")


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

    def copy(allocator, target, source, size, **devices):
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
        look_at_output(out, program)
        trace = Trace(out, unit)
    except OSError as error:
        raise SystemExit(f"record_tinygrad: {out}: {error.strerror}") from None
    attach(trace)
    sys.argv = sys.argv[2:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(program)))
    try:
        runpy.run_path(program, run_name="__main__")
    except BaseException as end:
        if not (isinstance(end, SystemExit) and end.code in (None, 0)):
            name = "an exit code" if isinstance(end, SystemExit) else type(end).__name__
            print(f"record_tinygrad: {program} ended with {name}; {out} {trace.drop()}", file=sys.stderr)
            raise
    if trace.frames == 0:
        trace.put("f", unit)
    try:
        trace.end()
    except OSError as error:
        raise SystemExit(f"record_tinygrad: {out}: {error.strerror}; it {trace.drop()}") from None
    mib = 1 << 20
    print(f"{out}: {trace.buffers} buffers of {trace.bytes / mib:.1f} MiB ({trace.most / mib:.1f} MiB at once), "
          f"{trace.kernels} kernels, {max(trace.frames, 1)} {unit}s", file=sys.stderr)


if __name__ == "__main__":
    main()
