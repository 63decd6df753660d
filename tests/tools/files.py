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


def parked_instances_are_drawn(check, path, renames):
    """An allocation that is renamed all the time: of its instances one is in use, the others are paler, and none is free."""
    root = ET.parse(path).getroot()
    boxes = [r for g in root.iter(f"{SVG}g") if g.find(f"{SVG}title") is not None for r in g.findall(f"{SVG}rect")]
    late = [r for r in boxes if float(r.get("x")) <= 1200 < float(r.get("x")) + float(r.get("width"))]
    parked = [r for r in late if r.get("class") == "parked" and float(r.get("fill-opacity")) < 1]
    check(renames > 20 and len(late) >= 5 and len(parked) >= len(late) - 1, "svg_shows_parked_instances", (renames, len(late), len(parked)))
    check("Paler: parked" in " ".join(root.itertext()), "svg_tells_what_paler_means")


KEYS = {"M": {"name", "args"}, "X": {"tid", "ts", "dur", "name"}, "C": {"ts", "name", "args"}, "i": {"ts", "name", "s", "tid"},
        "s": {"tid", "ts", "id", "cat", "name"}, "f": {"tid", "ts", "id", "cat", "name", "bp"}}


def every_row_nests(check, events):
    odd = [e for e in events if not {"ph", "pid"} <= e.keys() or not KEYS.get(e["ph"], {"?"}) <= e.keys()
           or e.get("ts", 0) < 0 or e.get("dur", 1) <= 0]
    check(not odd, "timeline_events_have_what_their_kind_needs", odd[:3])
    spans = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            spans[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"], event["name"]))
    bad = []
    for row in spans:
        open_ends = []
        for begin, end, name in sorted(spans[row], key=lambda s: (s[0], -s[1])):
            while open_ends and open_ends[-1] <= begin + 1e-6:
                open_ends.pop()
            if open_ends and end > open_ends[-1] + 1e-6:
                bad.append((row, name, begin))
            open_ends.append(end)
    check(not bad, "timeline_spans_nest", bad[:3])


def programs_are_told_apart(check, picture, timeline, programs):
    """What the two files say of several programs, against the figures of each."""
    root = ET.parse(picture).getroot()
    groups = [(g.find(f"{SVG}title").text, g) for g in root.iter(f"{SVG}g") if g.find(f"{SVG}title") is not None]
    owners = collections.defaultdict(set)
    for title, group in groups:
        owner = int(re.match(r"program (\d+) \(.*\), allocation \d+, ", title)[1])
        owners[owner].add(re.fullmatch(r"url\(#p(\d+)s\d\)", group.get("fill"))[1])
    check(owners == {i + 1: {str(i + 1)} for i in range(len(programs))}, "svg_one_family_of_patterns_a_program", dict(owners))
    patterns = {p.get("id"): (p.find(f"{SVG}path").get("d"), p.find(f"{SVG}rect").get("fill")) for p in root.iter(f"{SVG}pattern")}
    used = {group.get("fill")[5:-1] for _, group in groups}
    shapes = {i: {patterns[name][0] for name in patterns if name.startswith(f"p{i + 1}s")} for i in range(len(programs))}
    check(used <= patterns.keys() and len({frozenset(s) for s in shapes.values()}) == len(programs)
          and len({colour for _, colour in patterns.values()}) == len(patterns), "svg_patterns_and_hues_differ", shapes)
    text = " ".join(root.itertext())
    check(all(f"{i + 1}: {p['trace']}, weight {p['weight']}, budget " in text for i, p in enumerate(programs))
          and "milliseconds of the device" in text, "svg_legend_names_the_programs")
    check(len([p for p in root.iter(f"{SVG}path") if p.get("class") == "owner"]) == len(programs), "svg_shows_who_owned_how_much")
    events = json.loads(timeline.read_text())["traceEvents"]
    named = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    check(named == {1: "Pageferry"} | {i + 2: f"program {i + 1}: {p['trace']}, weight {p['weight']}" for i, p in enumerate(programs)},
          "timeline_has_a_process_for_each_program", named)
    rows = {(e["pid"], e["args"]["name"]): e["tid"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    spans = collections.Counter((e["pid"], e["tid"]) for e in events if e["ph"] == "X")
    jobs = [spans[i + 2, rows[i + 2, "jobs"]] for i in range(len(programs))]
    check(all(n >= p["jobs"] for n, p in zip(jobs, programs)) and sum(jobs) == spans[1, rows[1, "user queue"]],
          "timeline_jobs_stand_with_their_programs", (jobs, [p["jobs"] for p in programs]))
    frames = [spans[i + 2, rows[i + 2, "frames"]] for i in range(len(programs))]
    check(frames == [p["frames"] for p in programs] and all(spans[i + 2, rows[i + 2, "paging"]] > 0 for i in range(len(programs))),
          "timeline_frames_and_paging_stand_with_their_programs", frames)
    values = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "C":
            values[event["pid"], event["name"]].append(event["args"]["value"])
    wrong = [(i, values[i + 2, "budget"][:2], max(values[i + 2, "in video memory"], default=0)) for i, p in enumerate(programs)
             if values[i + 2, "budget"][:1] != [p["budget_bytes"]] or max(values[i + 2, "on residency lists"], default=0) == 0
             or min(values[i + 2, "in video memory"], default=-1) < 0 or max(values[i + 2, "in video memory"], default=0) == 0]
    check(not wrong, "timeline_has_the_counters_of_each_program", wrong)
    check(all(max(values[i + 2, "on residency lists"]) <= values[i + 2, "budget"][0] for i in range(len(programs))),
          "timeline_lists_stay_within_budgets")


def timeline_is_right(check, path, may_be_quiet=()):
    events = json.loads(path.read_text())["traceEvents"]
    every_row_nests(check, events)
    # The device's own rows; programs have processes of theirs.
    events = [e for e in events if e["pid"] == 1]
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
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    # A submit makes resident in its turn what lost its place meanwhile.
    calls = sorted((b, t) for b, t, n in spans[names["host calls"]] if re.match("make ?resident|submit", n, re.I))
    begins = [b for b, _ in calls]
    inside = [e["tid"] == names["host calls"] and e["ts"] < calls[bisect.bisect(begins, e["ts"]) - 1][1] for e in starts.values()]
    check(starts and starts.keys() == ends.keys() and all(starts[i]["ts"] <= ends[i]["ts"] for i in starts) and all(inside),
          "timeline_arrows_lead_from_make_resident_to_its_fence", (len(starts), len(ends), inside[:5]))


def timeline_shows_no_page_tables(check, path):
    events = [e for e in json.loads(path.read_text())["traceEvents"] if e["pid"] == 1]
    names = {e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    counters = {e["name"] for e in events if e["ph"] == "C"}
    check("firmware" in names and not any("page-table" in name or name == "invalidates" for name in names | counters),
          "timeline_shows_no_page_tables", (names, counters))


def timeline_shows_page_tables(check, path):
    events = [e for e in json.loads(path.read_text())["traceEvents"] if e["pid"] == 1]
    names = {e["args"]["name"]: e["tid"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    bars = {name: [e for e in events if e["ph"] == "X" and e["tid"] == names.get(name)] for name in ("page-table walks", "invalidates")}
    misses = [e["args"]["value"] for e in events if e["ph"] == "C" and e["name"] == "page-table misses so far"]
    # A bar is one walk at least: what is close together is drawn as one.
    check(misses and misses == sorted(misses) and len(bars["page-table walks"]) <= misses[-1] and len(bars["page-table walks"]) > 10,
          "timeline_shows_walks_and_misses", (misses[-1:], len(bars["page-table walks"])))
    # A FLUSH_TLB is one FORGET or several behind each other; the others are the manager's first ones.
    flushes = [e for e in events if e["ph"] == "X" and e["tid"] == names["paging queue"] and "FLUSH" in e["name"]]
    check(0 < len(flushes) // 2 <= len(bars["invalidates"]) <= len(flushes) + 16, "timeline_shows_invalidates",
          (len(bars["invalidates"]), len(flushes)))
