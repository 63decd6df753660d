#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One replay on every back end that needs no virtual machine, with nothing but --backend that differs: to its end, each byte compared,
and the program the same on all. What the manager decides goes by the device's time, so what is paged may differ; on a busy machine
frames go again, which costs time alone."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

TRACE = sys.argv[1] if len(sys.argv) > 1 else "build/guest/scene.memtrace"
REPLAY = ["build/ferry", "replay", TRACE, "--vram", "400K", "--frames", "20", "--no-advice", "--quiet"]
PROGRAM = ("frames", "allocations", "draws", "targets", "writes", "locks", "verified_bytes", "driver_model", "video_memory_bytes")
NONE = ("bad_bytes", "faults", "unmapped_accesses", "noise_bytes", "broken_frames", "exit_code")
passed = failed = 0


def check(good, name, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}", flush=True)


def replay(backend, figures):
    where = ["python3", "tests/links/on_simulator.py", "--link", backend] if backend not in ("model", "sim") else []
    program = [*where, *REPLAY, "--json", str(figures), *(() if where else ("--backend", backend))]
    done = subprocess.run(program, capture_output=True, text=True, timeout=600, check=False)
    return done, json.loads(figures.read_text()) if figures.exists() else {}


def main():
    same = None
    with tempfile.TemporaryDirectory(prefix="ferry-replays-") as folder:
        for backend in ("model", "sim", "socket", "uart", "usb"):
            done, figures = replay(backend, Path(folder, backend))
            check(done.returncode == 0 and figures.get("backend") == backend and not any(figures[name] for name in NONE),
                  f"a_replay_on_{backend}_to_its_end", (done.returncode, done.stderr, figures))
            check(figures.get("evictions", 0) > 10 and figures.get("bytes_in", 0) > 500000, f"paging_on_{backend}", figures)
            program = [figures.get(name) for name in PROGRAM]
            same = same or program
            check(program == same and None not in program, f"the_same_program_on_{backend}", (program, same))
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
