#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `ferry report` in a real browser: its figures against those of `ferry policy`, its map against the trace, what hover
and zoom show, that nothing is loaded, that names run no script, that it can be read without scripts; and what bad input gets."""
import collections
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path.cwd()
sys.path.insert(0, str(ROOT / "tests/tools"))
import files  # noqa: E402
from browser import Browser  # noqa: E402

FERRY = ROOT / "build/ferry"
NEVERBALL, FRAMES = ROOT / "tests/data/neverball.memtrace.gz", 120
PAGE = 4096
SVG = "{http://www.w3.org/2000/svg}"
folder = Path(tempfile.mkdtemp(prefix="ferry-report-"))
passed = failed = 0


def check(good, name, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}", flush=True)


def ferry(*arguments):
    return subprocess.run([FERRY, *map(str, arguments)], capture_output=True, text=True, timeout=600, check=False)


def figures(*arguments):
    path = folder / "figures.json"
    done = ferry("policy", *arguments, "--quiet", "--json", path)
    assert done.returncode == 0, done
    return json.loads(path.read_text()), done.stdout.strip().splitlines()[-1].strip()


def is_clean(browser, page, name):
    check(browser.complaints() == [], f"{name}_has_no_script_error", browser.complaints())
    check(browser.requests() == [page.resolve().as_uri()], f"{name}_loads_nothing", browser.requests())


def tables_of(browser):
    return browser.value("""[...document.querySelectorAll("table[data-size]")].map(t => [Number(t.dataset.size),
        Object.fromEntries([...t.tBodies[0].rows].map(r => [r.dataset.policy, Object.fromEntries([...r.cells]
            .filter(c => c.dataset.column && c.dataset.column != "program")
            .map(c => [c.dataset.column, c.dataset.bytes ? [Number(c.dataset.bytes), c.textContent] : c.textContent]))]))])""")


def size_text(size):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} B"


COLUMNS = {"in": "bytes_in", "out": "bytes_out", "uploads": "bytes_uploaded", "worst": "worst_frame_bytes",
           "most": "percentile_99_frame_bytes"}


def figures_are_the_tools(browser, traces, sizes, points):
    told, sentence = figures(*traces, "--vram", sizes)
    runs = {}
    for run in told["runs"]:
        want = {column: [run[field], size_text(run[field])] for column, field in COLUMNS.items()}
        if run["policy"] == "ours":
            want["moved"] = [run["bytes_moved"], size_text(run["bytes_moved"])]
        if "times_reference" in run:
            want["times"] = f"{run['times_reference']:.2f}"
        runs.setdefault(run["video_memory_bytes"], {})[run["policy"]] = want
    tables = {size: rows for size, rows in tables_of(browser)}
    check(tables == runs, "tables_say_what_ferry_policy_says", (tables, runs))
    curve, _ = figures(*traces, "--sweep", "--points", points, "--no-advice")
    points = {}
    for run in curve["runs"]:
        points.setdefault(str(run["video_memory_bytes"]), {})[run["policy"]] = run["bytes_in"] + run["bytes_out"] if run["fits"] else None
    shown = browser.value("""Object.fromEntries([...document.querySelectorAll("#curve tbody tr")].map(r => [r.dataset.size,
        Object.fromEntries([...r.cells].slice(1).map(c => [c.dataset.column, c.dataset.bytes ? Number(c.dataset.bytes) : null]))]))""")
    check(shown == points, "curve_says_what_ferry_policy_says", (shown, points))
    return sentence


def svg_of(page, section):
    text = page.read_text()
    return re.search(rf'<figure id="{section}"[^>]*>(<svg.*?</svg>)\s*</figure>', text, re.S)[1]


def groups_of(page):
    """The map's allocations as the file has them: title and rectangles."""
    root = ET.fromstring(svg_of(page, "map"))
    stays = next(g for g in root.iter(f"{SVG}g") if g.get("id") == "stays")
    return [(g.find(f"{SVG}title").text, [tuple(float(r.get(k)) for k in ("x", "y", "width", "height")) for r in g.findall(f"{SVG}rect")])
            for g in stays]


def client(browser, x, y):
    """Where a point of the drawing is on the screen."""
    at = browser.value("""(() => { const s = document.querySelector("#map svg"); const r = s.getBoundingClientRect();
        return [r.left, r.top, r.width / s.viewBox.baseVal.width, r.height / s.viewBox.baseVal.height]; })()""")
    return at[0] + x * at[2], at[1] + y * at[3]


TIP = """document.getElementById("tip").hidden ? "" : document.getElementById("tip").textContent"""


def hover_and_zoom(browser, page, frames, video_bytes):
    browser.value("""document.getElementById("map").scrollIntoView()""")
    wrong, seen = [], 0
    groups = groups_of(page)
    large = [(title, box) for title, boxes in groups for box in boxes if box[2] > 20 and box[3] > 8][:12]
    for title, (x, y, w, h) in large:
        browser.mouse("mouseMoved", *client(browser, x + w / 2, y + h / 2))
        said = browser.value(TIP)
        frame, offset = (x + w / 2 - 92) / 1160 * frames, (1 - (y + h / 2 - 84) / 440) * video_bytes
        match = re.fullmatch(r"(.*)\nframe (.*), offset (.*) (.*)", said, re.S)
        unit = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}
        if not match or match[1] != title or abs(float(match[2]) - frame) > frames / 500 + 0.1 or \
                abs(float(match[3]) * unit[match[4]] - offset) > video_bytes / 200 + 0.06 * unit[match[4]]:
            wrong.append((title, frame, offset, said))
        seen += 1
    check(seen > 5 and not wrong, "hover_names_the_allocation_the_frame_and_the_offset", (seen, wrong[:1]))
    browser.mouse("mouseMoved", *client(browser, 20, 20))
    check(browser.value(TIP) == "", "hover_ends")
    # A quarter of the frames and half of the offsets, from a quarter on.
    before = browser.value("""[...document.querySelectorAll("#columns text")].map(t => Number(t.textContent))""")
    browser.drag(*client(browser, 92 + 290, 84 + 110), *client(browser, 92 + 580, 84 + 330))
    view = [float(v) for v in browser.value("""document.getElementById("map").dataset.view""").split()]
    check(all(abs(a - b) < 0.01 for a, b in zip(view, (0.25, 0.25, 0.25, 0.5))), "a_drag_enlarges_what_it_frames", view)
    numbers = browser.value("""[...document.querySelectorAll("#columns text")].map(t => Number(t.textContent))""")
    rows = browser.value("""[...document.querySelectorAll("#rows text")].map(t => t.textContent)""")
    top = 0.75 * video_bytes
    check(before[0] == 0 and numbers and all(0.24 * frames <= n <= 0.51 * frames for n in numbers) and len(numbers) > 3
          and rows and all(0.24 * video_bytes < float(r.split()[0]) * {"KiB": 1 << 10, "MiB": 1 << 20}[r.split()[1]] < 1.02 * top
                           for r in rows), "axes_follow_the_zoom", (numbers, rows))
    # What lies in the middle of the part is in the middle of the picture now.
    inside = next((title, box) for title, boxes in groups for box in boxes
                  if box[0] < 92 + 435 < box[0] + box[2] and box[1] + 2 < 84 + 220 < box[1] + box[3] - 2)
    browser.mouse("mouseMoved", *client(browser, 92 + 580, 84 + 220))
    check(browser.value(TIP).startswith(inside[0] + "\n"), "hover_is_right_when_enlarged", (inside, browser.value(TIP)))
    at = client(browser, 92 + 600, 84 + 200)
    browser.click(*at, times=2)
    check(browser.value("""document.getElementById("map").dataset.view""") == "0 0 1 1", "a_double_click_shows_all_again")
    browser.value("""document.getElementById("map").focus()""")
    for key, want in (("+", "0.25 0.25 0.5 0.5"), ("ArrowRight", "0.35 0.25 0.5 0.5"), ("ArrowUp", "0.35 0.15 0.5 0.5"), ("0", "0 0 1 1")):
        browser.key(key)
        view = [float(v) for v in browser.value("""document.getElementById("map").dataset.view""").split()]
        check(all(abs(a - float(b)) < 1e-9 for a, b in zip(view, want.split())), f"key_{key}_moves_the_view", view)
    at = client(browser, 92 + 290, 84 + 220)
    browser.mouse("mouseWheel", *at, deltaX=0, deltaY=-300, modifiers=2)
    view = [float(v) for v in browser.value("""document.getElementById("map").dataset.view""").split()]
    check(view[2] < 0.8 and abs(view[0] + view[2] / 4 - 0.25) < 0.01, "the_wheel_enlarges_about_the_pointer", view)
    browser.value("""document.querySelector('#tools button[data-do="all"]').click()""")
    check(browser.value("""document.getElementById("map").dataset.view""") == "0 0 1 1", "the_button_shows_all_again")
    for _ in range(40):
        browser.key("+")
    check(browser.complaints() == [] and browser.value("""document.querySelectorAll("#columns text").length""") < 40,
          "no_zoom_is_too_deep", browser.complaints())


def a_recorded_game(browser):
    # Its first frames: a page takes two hundred runs, and each figure is made once more here.
    page, game = folder / "game.html", folder / NEVERBALL.name
    lines = gzip.open(NEVERBALL, "rt").read().splitlines(keepends=True)
    with gzip.open(game, "wt") as file:
        file.writelines(lines[:[i for i, line in enumerate(lines) if line == "f\n"][FRAMES - 1] + 1])
    done = ferry("report", page, game, "--vram", "0.95W,0.8W", "--points", 5, "--quiet")
    check(done.returncode == 0 and str(page) in done.stdout and not done.stderr, "a_page_is_written", done)
    browser.open(page)
    is_clean(browser, page, "page")
    sentence = figures_are_the_tools(browser, [game], "0.95W,0.8W", 5)
    _, first = figures(game, "--vram", "0.95W", "--policy", "ours")
    shown = browser.value("""document.getElementById("sentence").textContent""")
    check(shown == first and shown.startswith("With ") and sentence, "page_has_the_sentence", (shown, first))
    check(browser.value("document.title") == "Video memory: neverball.memtrace.gz"
          and browser.value("document.querySelectorAll('#frames polyline').length") == 10
          and browser.value("document.querySelectorAll('#sweep .curve').length") == 5, "page_has_the_pictures")
    overflow = browser.value("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    check(overflow <= 0, "page_fits_its_window", overflow)
    picture = folder / "map.svg"
    told = figures(game, "--vram", "0.95W", "--policy", "ours", "--no-advice")[0]["runs"][0]
    placed = re.search(r"([\d.]+ MiB) placed in all", svg_of(page, "map"))[1]
    picture.write_text(svg_of(page, "map").replace(size_text(told["video_memory_bytes"]), "5.0 MiB"))
    files.picture_is_right(check, picture, "neverball.memtrace.gz", 142)
    check(placed == size_text(told["bytes_in"] + told["bytes_filled"]), "map_places_what_comes_in", (placed, told))
    hover_and_zoom(browser, page, FRAMES, told["video_memory_bytes"])
    browser.call("Emulation.setDeviceMetricsOverride", width=420, height=800, deviceScaleFactor=1, mobile=False)
    overflow = browser.value("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    check(overflow <= 0, "page_fits_a_narrow_window", overflow)
    browser.call("Emulation.clearDeviceMetricsOverride")
    return page


def without_scripts(browser, page):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(page)
    seen = browser.value("""[document.getElementById("tools").hidden, document.getElementById("sentence").offsetHeight > 10,
        document.querySelectorAll("table[data-size] td").length, document.querySelectorAll("#stays > g > title").length > 40,
        [...document.querySelectorAll("figure svg")].every(s => s.getBoundingClientRect().height > 100)]""")
    check(seen[0] and seen[1] and seen[2] == 70 and seen[3] and seen[4], "page_is_readable_without_scripts", seen)
    browser.call("Emulation.setScriptExecutionDisabled", value=False)


def names_run_no_script(browser):
    """What a trace is called and what is in it: markup, quotes, UTF-8, a line end, bytes that are no UTF-8."""
    evil = "<img src=x onerror=hacked=1>\"'&amp;ü漢\n<svg onload=hacked=1>.memtrace"
    form = "</title></svg><script>hacked=1</script>\"'&ü\x1b]"  # As long as is shown.
    one, two = folder / evil, os.path.join(os.fsencode(folder), b"\xff\xfe<script>hacked=1<\\script>.memtrace")
    text = "".join(f"a {i} {3 * PAGE} texture 8x8 {form}\nw {i} 0 {PAGE}\n" for i in range(1, 7))
    text += "".join(f"d {1 + i % 6}\nd {1 + (i + 1) % 6}\nf\n" for i in range(30))
    one.write_text(text)
    Path(os.fsdecode(two)).write_text(text)
    page = folder / "names.html"
    done = subprocess.run([FERRY, "report", page, one, two, "--vram", "64K", "--points", "3", "--quiet"], capture_output=True, check=False)
    check(done.returncode == 0, "page_of_evil_names_is_written", done)
    browser.open(page)
    is_clean(browser, page, "page_of_evil_names")
    check(browser.value("typeof hacked") == "undefined" and browser.value("document.scripts.length") == 1
          and browser.value("document.querySelectorAll('img, b, iframe').length") == 0, "names_run_no_script")
    shown = browser.value("document.querySelector('h1').textContent")
    want = evil.replace("\n", "?")
    check(shown.startswith(want) and "<script>hacked=1<\\script>" in shown, "names_are_shown_as_they_are", shown)
    titles = browser.value("[...document.querySelectorAll('#stays > g')].map(g => g.getAttribute('aria-label'))")
    check(len(titles) == 12 and all(form.replace("\x1b", "?") in t for t in titles), "formats_are_shown_as_they_are", titles[:1])
    sentence = browser.value("document.getElementById('sentence').textContent")
    check("program 1 (" in sentence and "program 2 (" in sentence, "page_of_several_tells_of_each", sentence)
    programs = browser.value("""[...document.querySelectorAll("tr[data-policy=ours] td[data-column=program]")]
        .map(c => Number(c.dataset.bytes))""")
    told = json_of_two(one, os.fsdecode(two))
    check(programs == told, "page_has_what_came_in_of_each_program", (programs, told))
    # The browser runs no script that the page did not have when it was made.
    forged = folder / "forged.html"
    forged.write_text(page.read_text().replace("</main>", "<script>hacked=1</script></main>"))
    browser.open(forged)
    check(browser.value("typeof hacked") == "undefined" and any("Content Security Policy" in c for c in browser.complaints()),
          "no_other_script_runs", browser.complaints())


def json_of_two(*traces):
    path = folder / "two.json"
    subprocess.run([FERRY, "policy", *traces, "--vram", "64K", "--policy", "ours", "--no-advice", "--quiet", "--json", path],
                   stdout=subprocess.DEVNULL, check=True)
    return json.loads(path.read_bytes())["runs"][0]["programs_bytes_in"]


def the_map_is_the_traces():
    """Counted by hand: four allocations in room for all. Each comes at its first use, leaves where it is destroyed."""
    trace, page = folder / "small.memtrace", folder / "small.html"
    trace.write_text("".join(f"a {i} {i * PAGE} buffer\nw {i} 0 {PAGE}\n" for i in (1, 2, 3, 4)) +
                     "d 1\nf\nd 2\nd 1\nf\nd 3 1\nf\nx 3\nd 4\nf\n")
    done = ferry("report", page, trace, "--vram", "64K", "--points", 3, "--quiet", "--no-advice")
    groups = {int(re.match(r"allocation (\d+)", title)[1]): boxes for title, boxes in groups_of(page)}
    spans = {i: [(round((x - 92) / 1160 * 4, 1), round((x + w - 92) / 1160 * 4, 1), round(h / 440 * 16)) for x, _, w, h in boxes]
             for i, boxes in groups.items()}
    # Frame 2 has two jobs: the first begins at its beginning.
    check(done.returncode == 0 and spans == {1: [(0.0, 4.0, 1)], 2: [(1.0, 4.0, 2)], 3: [(2.0, 3.0, 3)], 4: [(3.0, 4.0, 4)]},
          "map_shows_when_each_came_and_went", (spans, done))
    check('id="sentence"' not in page.read_text(), "page_without_the_sentence")


def jobs_share_their_frame():
    """A frame's jobs follow each other in it; so do those behind the last end of a frame, however many there are."""
    trace, page = folder / "jobs.memtrace", folder / "jobs.html"
    trace.write_text("".join(f"a {i} {PAGE} buffer\nw {i} 0 9\n" for i in range(1, 6)) + "d 1\nd 2\nd 3\nf\nd 4\nf\n"
                     + "d 1\n" * 25 + "d 5\n" + "d 1\n" * 24)
    done = ferry("report", page, trace, "--vram", "64K", "--points", 2, "--quiet", "--no-advice")
    length = float(re.search(r'data-length="([^"]*)"', svg_of(page, "map"))[1])
    begins = {int(re.match(r"allocation (\d+)", title)[1]): round((boxes[0][0] - 92) / 1160 * length, 2)
              for title, boxes in groups_of(page)}
    check(done.returncode == 0 and begins == {1: 0, 2: 0.25, 3: 0.5, 4: 1, 5: 2.49} and 2.9 < length < 3, "jobs_share_their_frame",
          (begins, length, done))


def who_is_renamed_is_parked():
    """What is discarded while its bytes are on the way stands in another place too, and the content is in the newest. The first of
    these is not kept in system memory, and leaves."""
    trace, page = folder / "renamed.memtrace", folder / "renamed.html"
    trace.write_text("".join(f"a {i} {16 * PAGE} buffer\nw {i} 0 9\n" for i in range(4)) + "d 0 1 2 3\nf\n"
                     + "".join(f"l {i} discard\nu {i}\n" * 2 + f"d {i}\nf\n" for i in range(4)) + "d 0\nf\n")
    done = ferry("report", page, trace, "--vram", "1M", "--points", 2, "--quiet", "--no-advice")
    root = ET.fromstring(svg_of(page, "map"))
    stays = {}
    for group in next(g for g in root.iter(f"{SVG}g") if g.get("id") == "stays"):
        name = int(re.match(r"allocation (\d+)", group.find(f"{SVG}title").text)[1])
        stays[name] = [(round((float(r.get("x")) - 92) / 1160 * 6), round((float(r.get("x")) + float(r.get("width")) - 92) / 1160 * 6),
                        r.get("class") == "parked", r.get("y")) for r in group.findall(f"{SVG}rect")]
    wrong = [name for name in (1, 2, 3)
             if [stay[:3] for stay in stays[name]] != [(0, name + 1, False), (name + 1, 6, True), (name + 1, 6, False)]
             or not stays[name][0][3] == stays[name][1][3] != stays[name][2][3]]
    check(done.returncode == 0 and not wrong and [stay[:3] for stay in stays[0]] == [(0, 1, False), (1, 6, False)],
          "who_is_renamed_is_parked_where_the_content_was", (stays, done))


def who_comes_back_is_placed_again():
    """A lock takes a buffer that the GPU writes out, the next job has it come in: that is no move, whatever lies between."""
    trace, page = folder / "again.memtrace", folder / "again.html"
    trace.write_text(f"a 1 {2 * PAGE} buffer\na 2 {PAGE} buffer\nt 1\nt 2\nf\n" + "l 1 write\nu 1\nd 2\nd 1\nf\n" * 3)
    done = ferry("report", page, trace, "--vram", "64K", "--points", 2, "--quiet", "--no-advice")
    told = re.search(r"([\d.]+ KiB) placed in all", svg_of(page, "map"))
    check(done.returncode == 0 and told and told[1] == f"{(3 + 3 * 2) * 4}.0 KiB", "who_comes_back_is_placed_again", (told, done))


def the_map_of_several_is_in_milliseconds():
    """Two programs without paging: a MiB of each comes in at 4 bytes a cycle, 400 jobs take 1,000 cycles each, at 100 MHz."""
    traces, page = [folder / "left.memtrace", folder / "right.memtrace"], folder / "time.html"
    for trace in traces:
        trace.write_text(f"a 1 {256 * PAGE} buffer\nw 1 0 {256 * PAGE}\n" + "d 1\nf\n" * 200)
    done = ferry("report", page, *traces, "--vram", "4M", "--points", 2, "--quiet", "--no-advice")
    columns = next(g for g in ET.fromstring(svg_of(page, "map")).iter(f"{SVG}g") if g.get("id") == "columns")
    axis = [(float(t.get("x")), float(t.text)) for t in columns.iter(f"{SVG}text")]
    milliseconds = (2 * (1 << 20) / 4 + 400 * 1000) / 1e5
    wrong = [at for at in axis if abs((at[0] - 92) / 1160 * milliseconds - at[1]) > 0.02 * milliseconds]
    check(done.returncode == 0 and len(axis) > 3 and axis[-1][1] > 0.8 * milliseconds and not wrong,
          "map_of_several_has_an_axis_of_milliseconds", (milliseconds, axis, done))


def expect(name, code, words, *arguments):
    done = ferry("report", *arguments)
    lines = done.stderr.strip().splitlines()
    check(done.returncode == code and len(lines) == 1 and re.search(words, lines[0]), name, (done.returncode, done.stderr))


def bad_input():
    small = folder / "small.memtrace"
    before = small.read_bytes()
    expect("no_page", 2, "needs a page to write")
    expect("no_trace", 2, "needs a page to write", folder / "x.html")
    expect("nine_traces", 2, "one trace too many: 8 at most", folder / "x.html", *[small] * 9)
    expect("a_trace_instead_of_a_page", 2, "is no name of a page", small, small)
    (folder / "trace.html").write_bytes(before)
    expect("a_trace_that_is_the_page", 2, "a file to be read and a file to be written", folder / "trace.html", small, folder / "trace.html")
    check(small.read_bytes() == (folder / "trace.html").read_bytes() == before, "a_trace_is_not_written_over")
    expect("folder_that_is_not_there", 2, "cannot write", folder / "no/such.html", small)
    full = folder / "full.html"
    full.symlink_to("/dev/full")
    expect("full_disk", 4, "cannot write .*No space", full, small, "--quiet", "--points", 2, "--vram", "64K")
    page = folder / "none.html"
    expect("size_that_makes_no_sense", 2, r"from 16.0 KiB \(16K, the largest job\) to 40.0 KiB \(40K, all that lives at once\)", page,
           small, "--vram", "10Q")
    expect("size_below_a_job", 3, r"from 16.0 KiB \(16K, the largest job\)", page, small, "--vram", "8K", "--quiet")
    # The map is of the manager, whichever policies are asked for; what it finds too small it says as when it is one of them.
    page.unlink(missing_ok=True)
    for policy in ("lru", "ours", "lru,ours"):
        expect(f"reservations_that_{policy}_cannot_keep", 3, r"^ferry: --reservations: 20.0 KiB of video memory cannot keep all of 24K$",
               page, small, "--vram", "20K", "--reservations", "24K", "--policy", policy, "--quiet", "--points", 2, "--no-advice")
    tight = folder / "tight.memtrace"
    tight.write_text("a 1 8192 buffer\na 2 8192 buffer\nd 1 2\nf\n")
    expect("a_job_beside_what_is_kept_for_another", 3, r"^ferry: .*tight.memtrace: the job in line 3 needs 16.0 KiB", page, tight, small,
           "--vram", "24K", "--reservations", "0,12K", "--policy", "lru", "--quiet", "--points", 2, "--no-advice")
    check(not page.exists(), "no_page_is_left_of_a_map_that_cannot_be_made")
    (folder / "bad.memtrace").write_text("a 1 4096 buffer\nd 2\n")
    expect("bad_line", 2, "line 2", page, folder / "bad.memtrace")
    empty = folder / "empty.memtrace"
    for name, text in (("nothing", ""), ("only_frames", "f\nf\n"), ("no_jobs", "a 1 4096 buffer\nf\n"), ("one_line", "a 1 4096 buffer\n"),
                       ("no_frames", "a 1 8192 buffer\nw 1 0 8192\nd 1\n")):
        empty.write_text(text)
        done = ferry("report", page, empty, "--quiet", "--vram", "64K")
        check(done.returncode == (0 if "a" in text else 2) and len(done.stderr.splitlines()) == (0 if "a" in text else 1),
              f"trace_of_{name}_has_an_answer", done)
    check("nan" not in page.read_text().lower().replace("nano", "") and "inf\"" not in page.read_text(), "no_picture_divides_by_nothing")
    expect("a_name_of_a_policy_that_is_none", 2, "no policy 'best'", page, small, "--policy", "best")


def what_the_map_says():
    """Each allocation by its own format, those that stay to the end, and each program's weight."""
    trace, page = folder / "formats.memtrace", folder / "formats.html"
    names = ["RED", "RED", "RGBA", "RED"]
    made = "".join(f"a {i} 65536 texture 64x{32 + 8 * i} GL_{name}\nw {i} 0 65536\n" for i, name in enumerate(names))
    trace.write_text(made + "d 0 1\nd 2 3\nf\n" * 20)
    done = ferry("report", page, trace, "--vram", "512K", "--no-advice", "--points", 2, "--quiet")
    groups = groups_of(page)
    told = sorted(re.match(r"allocation (\d), .*\b64x(\d+) .*GL_(\w+),", title).groups() for title, _ in groups)
    check(done.returncode == 0 and told == [(str(i), str(32 + 8 * i), name) for i, name in enumerate(names)], "formats_are_its_own", groups)
    ends = [max(x + width for x, _, width, _ in boxes) for _, boxes in groups]
    check(min(ends) > max(ends) - 1 > 1000, "who_stays_is_drawn_to_the_end", ends)
    done = ferry("report", page, trace, trace, "--vram", "512K", "--weights", "7,3", "--no-advice", "--points", 2, "--quiet")
    told = re.findall(r"weight \d+", svg_of(page, "map"))
    check(done.returncode == 0 and told[:2] == ["weight 7", "weight 3"], "the_map_tells_weights", told)
    owners = collections.Counter(re.match(r"program (\d) ", title)[1] for title, _ in groups_of(page))
    check(owners == {"1": 4, "2": 4}, "each_allocation_is_its_programs", owners)


def a_page_of_tokens(browser):
    """What the trace says its frames are is what page and pictures speak of."""
    trace, page = folder / "tokens.memtrace", folder / "tokens.html"
    trace.write_text("".join(f"a {i} {8 * PAGE} buffer\nw {i} 0 9\n" for i in (1, 2, 3)) + "d 1\nd 2\nd 3\nf token\n" * 12)
    done = ferry("report", page, trace, "--vram", "64K", "--policy", "ours,lru", "--points", 3, "--quiet")
    told = ferry("policy", trace, "--vram", "64K", "--quiet").stdout
    browser.open(page)
    is_clean(browser, page, "a_page_of_tokens")
    box = next(box for _, boxes in groups_of(page) for box in boxes if box[2] > 20 and box[3] > 8)
    browser.value("""document.getElementById("map").scrollIntoView()""")
    browser.mouse("mouseMoved", *client(browser, box[0] + box[2] / 2, box[1] + box[3] / 2))
    tip = browser.value(TIP)
    shown = browser.value("""[...document.body.children].filter(e => e.tagName !== "SCRIPT").map(e => e.textContent).join()""")
    words = ("12 tokens, 36 GPU jobs", "A median token names", "worst token", "99\u00a0% tokens", "bytes in and out a token", "token 1",
             "token of the program", "Brought into video memory in each token", "12 tokens, ")
    check(done.returncode == 0 and all(word in shown for word in words) and re.search(r"\ntoken \d+\.\d, offset ", tip)
          and not re.search(r"(?<!two-)(?<!two )\bframes?\b", shown),
          "a_page_of_tokens_speaks_of_tokens", ([word for word in words if word not in shown], tip, re.findall(r".{30}frame.{20}", shown)))
    check(all(word in told for word in ("12 tokens, 3 allocations", "a median token names", "worst token", "99 % tokens")),
          "the_table_of_tokens_speaks_of_tokens", told)


def many_stays(browser):
    """As many rectangles as the page draws at most: the script goes over each once (its load has a minute; every one of them each
    time took four)."""
    trace, page = folder / "many.memtrace", folder / "many.html"
    trace.write_text("".join("".join(f"a {10 * i + k} {PAGE} buffer\nw {10 * i + k} 0 9\n" for k in range(10))
                             + "d " + " ".join(str(10 * i + k) for k in range(10)) + "\nf\n" for i in range(2000)))
    done = ferry("report", page, trace, "--vram", "1M", "--policy", "ours", "--points", 2, "--quiet", "--no-advice")
    browser.open(page)
    labelled = browser.value("""document.querySelectorAll("#stays > g[aria-label]").length""")
    check(done.returncode == 0 and labelled == 20000, "a_page_of_20000_allocations_opens", (done, labelled))


browser = Browser()
try:
    page = a_recorded_game(browser)
    without_scripts(browser, page)
    a_page_of_tokens(browser)
    many_stays(browser)
    names_run_no_script(browser)
finally:
    browser.end()
the_map_is_the_traces()
jobs_share_their_frame()
who_is_renamed_is_parked()
who_comes_back_is_placed_again()
the_map_of_several_is_in_milliseconds()
bad_input()
what_the_map_says()
shutil.rmtree(folder, ignore_errors=True)
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
