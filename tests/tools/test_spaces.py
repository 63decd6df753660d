#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ferry replay --spaces`: the picture is read back, and held against what the run's picture of video memory says: an
allocation is mapped for as long as it has a place there and no longer, all of it, each page once; and pages are as large as
its address and its place allow. The one comes of what is written into page tables, the other of where content goes."""
import collections
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

FERRY = Path.cwd() / "build/ferry"
DATA = Path.cwd() / "tests/data"
SVG = "{http://www.w3.org/2000/svg}"
SIZES = {"page-4K": 4096, "page-64K": 65536, "page-2M": 1 << 21}
KIB64 = 1 << 16
results = []


def check(good, name, detail=""):
    results.append(bool(good))
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}", flush=True)


def box(rectangle):
    return [float(rectangle.get(key)) for key in ("x", "y", "width", "height")]


def pieces_of(path):
    """Of each program, allocation -> [(begin, end, address, bytes, page)]; time is a share of the run."""
    programs = []
    for panel in ET.parse(path).getroot().iter(f"{SVG}g"):
        if not (panel.get("id") or "").startswith("program-"):
            continue
        runs, found = [], collections.defaultdict(list)
        for rectangle in panel.iter(f"{SVG}rect"):
            if rectangle.get("class") == "addresses":
                low, high = re.match(r"0x([0-9a-f]+) to 0x([0-9a-f]+), ", rectangle.find(f"{SVG}title").text).groups()
                _, y, _, height = box(rectangle)
                runs.append((y, y + height, int(low, 16), int(high, 16)))
        for group in panel.findall(f"{SVG}g"):
            if group.get("class") not in SIZES:
                continue
            name = re.match(r"allocation (\d+), ", group.find(f"{SVG}title").text)
            for rectangle in group.findall(f"{SVG}rect"):
                x, y, width, height = box(rectangle)
                top, foot, low, high = next(run for run in runs if run[0] - 0.5 <= y <= run[1] + 0.5)
                scale = (high - low) / (foot - top)
                address, size = low + (foot - y - height) * scale, height * scale
                found[int(name[1]) if name else None].append(
                    ((x - 150) / 1102, (x + width - 150) / 1102, round(address / 4096) * 4096, round(size / 4096) * 4096,
                     SIZES[group.get("class")]))
        programs.append(found)
    return programs


def stays_of(path, video_bytes):
    """allocation -> [(begin, end, offset, bytes)] of the picture of video memory."""
    found = collections.defaultdict(list)
    for group in ET.parse(path).getroot().iter(f"{SVG}g"):
        title = group.find(f"{SVG}title")
        name = title is not None and re.match(r"allocation (\d+), .* \((\d+) bytes\)", title.text)
        for rectangle in group.findall(f"{SVG}rect") if name else []:
            x, y, width, height = box(rectangle)
            offset = (524 - y - height) / 440 * video_bytes
            found[int(name[1])].append(((x - 92) / 1160, (x + width - 92) / 1160, offset, -(-int(name[2]) // 4096) * 4096))
    return found


def apart(one, other):
    """For how long the one or the other holds, and not both; and how long that may be for edges that are drawn to a tenth."""
    changes = sorted([(at, 0, step) for begin, end in one for at, step in ((begin, 1), (end, -1))] +
                     [(at, 1, step) for begin, end in other for at, step in ((begin, 1), (end, -1))])
    holds, length, last = [0, 0], 0.0, 0.0
    for at, which, step in changes:
        length += at - last if (holds[0] > 0) != (holds[1] > 0) else 0
        holds[which] += step
        last = at
    return length, 0.0003 * len(changes)


def compare(name, spaces, stays, video_bytes):
    mapped, placed = pieces_of(spaces)[0], stays_of(stays, video_bytes)
    mapped.pop(None, None)
    check(len(placed) > 10 and set(mapped) <= set(placed), f"{name}_the_same_allocations", set(placed) ^ set(mapped))
    times = {i: apart([p[:2] for p in mapped[i]], [s[:2] for s in placed[i]]) for i in placed}
    wrong = [i for i in placed if times[i][0] > times[i][1]]
    check(not wrong, f"{name}_mapped_while_it_has_a_place", [(times[i], placed[i], mapped[i]) for i in wrong[:2]])
    # All of it: as many bytes, for as long. What is drawn higher than it is, to be seen at all, is left out.
    whole = [i for i in placed if placed[i][0][3] > 8192]
    parts = [(i, sum((p[1] - p[0]) * p[3] for p in mapped[i]), sum((s[1] - s[0]) * s[3] for s in placed[i])) for i in whole]
    wrong = [part for part in parts if abs(part[1] - part[2]) > part[2] * 0.02 + 8192 * 0.01]
    check(not wrong, f"{name}_all_of_it_is_mapped", wrong[:3])
    # Nowhere two at a time.
    boxes = sorted(p for i in whole for p in mapped[i] if p[1] - p[0] > 0.002)
    clash = [(a, b) for k, a in enumerate(boxes) for b in boxes[k + 1:]
             if b[0] < a[1] - 0.0015 and b[2] < a[2] + a[3] and a[2] < b[2] + b[3]]
    check(not clash, f"{name}_each_page_once", clash[:3])
    # Large ones begin and end where they can.
    wrong = [p for i in mapped for p in mapped[i] if p[4] > 4096 and (p[2] % p[4] or p[3] % p[4])]
    check(not wrong, f"{name}_pages_are_aligned", wrong[:3])
    return mapped, placed


def as_large_as_can_be(name, mapped, placed, video_bytes):
    """64 KiB where address and place differ by a multiple of that, and there is room for one; else 4 KiB."""
    fuzz, wrong, seen = video_bytes / 440 * 0.12, [], collections.Counter()
    for number in placed:
        base = min(p[2] for p in mapped[number])
        if max(p[2] + p[3] for p in mapped[number]) - base != placed[number][0][3]:
            continue  # Several instances, each with addresses of its own.
        for begin, end, offset, size in placed[number]:
            inside = [p for p in mapped[number] if p[0] < end - 0.002 and p[1] > begin + 0.002]
            if end - begin < 0.005 or not inside:
                continue
            off = (base - offset + KIB64 / 2) % KIB64 - KIB64 / 2
            room = (base + size) // KIB64 - -(-base // KIB64)
            can = abs(off) < fuzz and room > 0
            large = sum(p[3] for p in inside if p[4] > 4096 and p[0] <= begin + 0.0015 and p[1] >= end - 0.0015)
            seen[can] += 1
            if (large > 0) != can or (can and large != room * KIB64):
                wrong.append((number, offset, inside))
    check(not wrong and seen[False] > 5 and seen[True] > 0, f"{name}_pages_as_large_as_can_be", (seen, wrong[:2]))


def replay(*arguments):
    return subprocess.run([FERRY, "replay", *map(str, arguments), "--quiet", "--no-advice"], capture_output=True, text=True, timeout=600)


def main():
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        spaces, stays = folder / "spaces.svg", folder / "memory.svg"
        for backend, frames in (("model", 40), ("sim", 1)):
            run = replay(DATA / "neverball.memtrace.gz", "--vram", "5M", "--frames", frames, "--backend", backend, "--spaces", spaces,
                         "--svg", stays)
            check(run.returncode == 0 and f"addresses: {spaces}" in run.stdout, f"{backend}_runs", run.stderr)
            mapped, placed = compare(backend, spaces, stays, 5 << 20)
            if backend == "model":
                as_large_as_can_be(backend, mapped, placed, 5 << 20)
        # One of 4 MiB that is alone, and one that has another before it.
        trace = folder / "large.memtrace"
        trace.write_text("a 1 4194304 buffer\na 2 69632 buffer\nw 1 0 4194304\nw 2 0 69632\nd 1 2\nf\nd 1 2\nf\n")
        run = replay(trace, "--backend", "model", "--spaces", spaces)
        text = spaces.read_text() if run.returncode == 0 else ""
        large = sum(p[3] for p in pieces_of(spaces)[0][1] if p[4] == 1 << 21) if text else 0
        check(large == 1 << 22, "large_pages_are_drawn_as_such", run.stderr or large)
        check(all(f"pages of {size}" in text for size in ("4 KiB", "64 KiB", "2 MiB")) and "large.memtrace" in text,
              "a_legend_and_a_title")
        run = replay(DATA / "neverball.memtrace.gz", DATA / "glmark2.memtrace.gz", "--vram", "8M", "--frames", 5, "--backend", "model",
                     "--spaces", spaces)
        check(run.returncode == 0 and len(pieces_of(spaces)) == 2 and all(pieces_of(spaces)), "a_part_for_each_program", run.stderr)
        spaces.unlink()
        run = replay(DATA / "neverball.memtrace.gz", "--frames", 1, "--backend", "model", "--model", 1, "--spaces", spaces)
        check(run.returncode == 2 and "driver model 2" in run.stderr and not spaces.exists(), "model_1_has_none", run.stderr)
        run = replay(DATA / "neverball.memtrace.gz", "--frames", 1, "--backend", "model", "--spaces", folder / "no/such.svg")
        check(run.returncode != 0 and "no/such.svg" in run.stderr, "a_file_that_cannot_be_written", run.stderr)
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
