# SPDX-License-Identifier: Apache-2.0
"""The files that a replay writes, read with parsers that share nothing with the tool."""
import bisect
import collections
import json
import re
import xml.etree.ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"


def picture_is_right(check, path, trace, most_id):
    root = ET.parse(path).getroot()
    titles = [title.text for title in root.iter(f"{SVG}title")]
    ids = {int(match[1]) for title in titles if (match := re.match(r"allocation (\d+), ", title))}
    check(root.tag == f"{SVG}svg" and len(ids) > 40 and all(1 <= i <= most_id for i in ids), "svg_names_the_allocations", len(ids))
    text = " ".join(root.itertext())
    check(all(words in text for words in ("offset in video memory", "frame of the program", trace, "5.0 MiB")),
          "svg_has_axes_and_title")
    stays = 0
    for group in root.iter(f"{SVG}g"):
        title = group.find(f"{SVG}title")
        if title is None:
            continue
        rectangles = group.findall(f"{SVG}rect")
        stays += len(rectangles)
        if not all(92 <= float(r.get("x")) and float(r.get("x")) + float(r.get("width")) <= 1252.5
                   and 83 <= float(r.get("y")) <= 524.5 for r in rectangles):
            check(False, "svg_inside_its_frame", title.text)
            return
        if f": {len(rectangles)} stays" not in title.text:
            check(False, "svg_counts_its_stays", title.text)
            return
    check(f"{stays:,} stays" in text and stays > 100, "svg_draws_every_stay", stays)
    # No two allocations stand in the same place at the same time.
    boxes = [tuple(float(r.get(k)) for k in ("x", "y", "width", "height")) for g in root.iter(f"{SVG}g")
             if g.find(f"{SVG}title") is not None for r in g.findall(f"{SVG}rect")]
    large = sorted(b for b in boxes if b[2] > 2 and b[3] > 2)
    clash = 0
    for i, (x, y, w, h) in enumerate(large):
        for (x2, y2, w2, h2) in large[i + 1:]:
            if x2 > x + w - 0.5:
                break
            clash += y < y2 + h2 - 0.5 and y2 < y + h - 0.5
    check(clash == 0, "svg_rectangles_do_not_overlap", clash)


def timeline_is_right(check, path, may_be_quiet=()):
    events = json.loads(path.read_text())["traceEvents"]
    names = {e["args"]["name"]: e["tid"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    check({"host calls", "paging queue", "user queue", "firmware", "read channel", "write channel"} <= names.keys(),
          "timeline_tracks", names)
    counters = {e["name"] for e in events if e["ph"] == "C"}
    check("resident bytes" in counters and ("reads outstanding" in counters or may_be_quiet), "timeline_counters", counters)
    spans = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            spans[event["tid"]].append((event["ts"], event["ts"] + event["dur"], event["name"]))
    quiet = [name for name, tid in names.items() if not spans[tid] and name not in may_be_quiet]
    check(not quiet, "timeline_every_track_has_spans", quiet)
    bad = []
    for tid, row in spans.items():
        open_ends = []
        for begin, end, name in sorted(row, key=lambda s: (s[0], -s[1])):
            while open_ends and open_ends[-1] <= begin + 1e-6:
                open_ends.pop()
            if open_ends and end > open_ends[-1] + 1e-6:
                bad.append((tid, name, begin))
            open_ends.append(end)
    check(not bad, "timeline_spans_nest", bad[:3])
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    # A submit makes resident in its turn what lost its place meanwhile.
    calls = sorted((b, t) for b, t, n in spans[names["host calls"]] if re.match("make ?resident|submit", n, re.I))
    begins = [b for b, _ in calls]
    inside = [e["tid"] == names["host calls"] and e["ts"] < calls[bisect.bisect(begins, e["ts"]) - 1][1] for e in starts.values()]
    check(starts and starts.keys() == ends.keys() and all(starts[i]["ts"] <= ends[i]["ts"] for i in starts) and all(inside),
          "timeline_arrows_lead_from_make_resident_to_its_fence", (len(starts), len(ends), inside[:5]))
