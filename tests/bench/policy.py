#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bytes that the shipped manager pages in on every trace of tests/data, as a multiple of what knowing the future would
(`ferry policy`), what it moves inside video memory to make room, and how long it takes to bring in one allocation. Writes rows
for collect.py; usage: policy.py FERRY ROWS."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

# W: what a median frame names; F: the largest. A trace is left out at sizes below its largest job.
SIZES = ["0.8W", "0.95W", "0.5F", "0.8F"]


def runs(ferry, trace, size, scratch):
    done = subprocess.run([ferry, "policy", trace, "--vram", size, "--policy", "ours,lru,furthest", "--quiet", "--no-advice",
                           "--json", scratch], capture_output=True, text=True, check=False)
    if done.returncode == 3:
        return None
    if done.returncode != 0:
        raise SystemExit(f"bench: {trace} {size}: {done.stderr}")
    return {run["policy"]: run for run in json.loads(Path(scratch).read_text())["runs"]}


def page_in(ferry, folder):
    """What the manager alone takes for one allocation of a job that has 20,000 brought in: an average, in microseconds."""
    count, trace = 20000, Path(folder) / "job.memtrace"
    lines = [f"a {i} 4096 buffer\nw {i} 0 4096" for i in range(count)] + ["d " + " ".join(map(str, range(count))), "f"]
    trace.write_text("\n".join(lines) + "\n")
    return min(runs(ferry, trace, "128M", f"{folder}/out.json")["ours"]["seconds"] for _ in range(3)) / count * 1e6


def main():
    ferry, output = sys.argv[1], Path(sys.argv[2])
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for trace in sorted(Path("tests/data").glob("*.memtrace.gz")):
            name, moved = trace.name.split(".")[0], 0.0
            for size in SIZES:
                found = runs(ferry, trace, size, f"{folder}/out.json")
                if found is None:
                    continue
                ours, lru = found["ours"], found["lru"]
                rows.append({"name": f"paged/{name}/{size}", "value": round(ours["times_reference"], 2), "unit": "times the reference"})
                print(f"{name:12} {size:6} ours {ours['times_reference']:6.2f}  lru {lru['times_reference']:6.2f}  moved "
                      f"{ours['bytes_moved'] / max(ours['bytes_in'], 1):.4f}", flush=True)
                moved = max(moved, ours["bytes_moved"] / max(ours["bytes_in"], 1))
            rows.append({"name": f"paged/{name}/moved", "value": round(moved, 4), "unit": "of bytes in", "floor": 0.0})
        rows.append({"name": "manager/page-in", "value": round(page_in(ferry, folder), 2), "unit": "us"})
    output.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
