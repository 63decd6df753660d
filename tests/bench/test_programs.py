#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The benchmarks, which nobody runs every day: they are built with the tests, the quick ones are run, and each of their rows is known
to goals.json and stands in docs/manual/figures.md."""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BENCH = Path("build/bench")
BUILT = ["path", "share", "rename", "addresses", "manager", "build_paging", "page_tables"]
RUN = ["rename", "build_paging", "page_tables"]
results = []


def check(good, name, detail=""):
    results.append(bool(good))
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}")


def main():
    goals = json.loads(Path("tests/bench/goals.json").read_text())
    shown = set(re.findall(r"^\| `([^`]+)` \|", Path("docs/manual/figures.md").read_text(), re.M))
    check(all((BENCH / name).exists() for name in BUILT), "they_are_built", BUILT)
    with tempfile.TemporaryDirectory() as folder:
        for name in RUN:
            rows = Path(folder) / f"{name}.json"
            done = subprocess.run([BENCH / name, rows], capture_output=True, text=True, check=False)
            names = {row["name"] for row in json.loads(rows.read_text())} if done.returncode == 0 else set()
            check(names and names <= set(goals) and names <= shown, f"{name}_measures_what_is_known",
                  done.stderr or sorted(names - set(goals) | names - shown))
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return not all(results)


if __name__ == "__main__":
    sys.exit(main())
