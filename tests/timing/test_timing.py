#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The timing diagrams of the manual tell what the device does, and the check of them can tell when they do not."""
import subprocess
import sys
import tempfile
from pathlib import Path

MOMENTS = Path("build/timing/moments")
PAGE = Path("docs/manual/timing.md")
DIAGRAM = Path("tests/timing/diagram.py")
results = []


def report(good, name, detail=""):
    results.append(bool(good))
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}: {detail}")


def check(moments, page):
    return subprocess.run([sys.executable, DIAGRAM, "check", moments, page], capture_output=True, text=True, check=False)


def main():
    folder = Path(tempfile.mkdtemp(prefix="ferry-timing-"))
    done = subprocess.run([MOMENTS, folder / "waves.fst"], capture_output=True, text=True, check=False)
    report(done.returncode == 0, "moments_run", done.stderr)
    (folder / "moments.txt").write_text(done.stdout)
    done = check(folder / "moments.txt", PAGE)
    report(done.returncode == 0, "the_manual_tells_what_happens", done.stdout + done.stderr)
    fresh = folder / "fresh.md"
    fresh.write_text("# x\n<!-- moments --><!-- /moments -->\nrest\n")
    subprocess.run([sys.executable, DIAGRAM, "write", folder / "moments.txt", fresh], check=True)
    text = fresh.read_text()
    report(text.startswith("# x\n") and text.endswith("\nrest\n") and check(folder / "moments.txt", fresh).returncode == 0,
           "what_was_just_written_is_right", text)
    head, line = next((text[:at], text[at:].split("\n")[0]) for at in [text.index("record posted")])
    for name, wrong, words in (
            ("a_row_that_is_missing", text.replace(line + "\n", ""), "is not drawn"),
            ("a_row_that_never_was", text.replace("doorbell      #", "doorbellx     #"), "never busy"),
            ("rows_in_another_order", head + line.replace("record posted", "job queued   ").replace("#####", "#####", 1)
             + text[len(head) + len(line):].replace("job queued   ", "record posted"), "comes before")):
        (folder / "wrong.md").write_text(wrong)
        done = check(folder / "moments.txt", folder / "wrong.md")
        report(done.returncode == 1 and words in done.stdout, name, done.stdout)
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
