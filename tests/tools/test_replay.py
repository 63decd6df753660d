#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recorded traces through the whole machine, on both back ends, with less video memory than a frame needs: no wrong byte,
no fault, and both back ends do the same work."""
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

ROOT = Path.cwd()
sys.path.insert(0, str(ROOT / "tests/tools"))
import files  # noqa: E402
import injection  # noqa: E402

FERRY = ROOT / "build/ferry"
NEVERBALL, GLMARK2 = ROOT / "tests/data/neverball.memtrace.gz", ROOT / "tests/data/glmark2.memtrace.gz"
SEED = os.environ.get("FERRY_SEED", "20261120")
folder = Path(tempfile.mkdtemp(prefix="ferry-replay-"))
results = []


def check(good, name, detail=""):
    results.append(bool(good))
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}", flush=True)


def replay(name, trace, backend, *options):
    # What else the trace would have needed is `advice`'s: here it would take ten to a hundred times as long as the replay.
    figures = folder / f"{name}.json"
    done = subprocess.run([FERRY, "replay", trace, "--backend", backend, "--json", figures, "--seed", SEED, "--quiet",
                           "--no-advice", *options], capture_output=True, text=True, timeout=600, check=False)
    values = json.loads(figures.read_text()) if figures.exists() else {}
    good = (done.returncode == 0 and not done.stderr and values.get("bad_bytes") == 0 and values.get("faults") == 0
            and values.get("unmapped_accesses") == 0 and values.get("verified_bytes", 0) > 0)
    check(good, name, f"exit {done.returncode}: {done.stderr[-600:]}")
    return values if good else {}


def fields_are_explained(values):
    """Each is the adapter's, under its name, or named in the manual; and what is named there is there."""
    chapter = (ROOT / "docs/manual/watching.md").read_text().split("## For scripts")[1].split("\n## ")[0]
    said = {name for name in re.findall(r"`([a-z_0-9]+)`", chapter) if len(name) > 1}
    struct = (ROOT / "host-driver/include/ferry/ferry.h").read_text().split("struct ferry_statistics {")[1].split("};")[0]
    counted = set(re.findall(r"\b([a-z_0-9]+)(?=[,;\[])", re.sub(r"//.*", "", struct)))
    have = set(values) | set(values.get("programs", [{}])[0])
    check(have and have <= said | counted and said <= have, "each_field_is_explained", (have - said - counted, said - have))


def part_of_glmark2(path, frames):
    """The part with locks, discards and render targets begins late: keep every creation and upload, and the frames there."""
    lines = gzip.decompress(GLMARK2.read_bytes()).decode().splitlines()
    ends = [i for i, line in enumerate(lines) if line == "f"]
    first = next(i for i, line in enumerate(lines) if line[0] == "t")
    begin = max(i for i in ends if i < first)
    kept = [line for line in lines[:begin] if line[0] in "awx"] + lines[begin:ends[ends.index(begin) + frames]]
    path.write_text("\n".join(kept) + "\nf\n")


def random_trace(path, number, steps, most_pages):
    """Every kind of event in any order that is allowed; ids come back, locks overlap draws, sizes are odd."""
    random = Random(f"{SEED}/{number}")
    sizes, locked, lines = {}, set(), []
    while len(lines) < steps:
        what = random.random()
        if what < 0.10 or not sizes:
            name = random.randrange(1, 60)
            if name not in sizes:
                sizes[name] = random.choice((random.randrange(1, 5000), random.randrange(1, most_pages * 4096)))
                lines.append(f"a {name} {sizes[name]} " + random.choice(("buffer", "texture 9x9 GL_RGBA")))
            continue
        name = random.choice(sorted(sizes))
        if what < 0.35:
            offset = random.randrange(sizes[name])
            lines.append(f"w {name} {offset} {random.choice((1, random.randrange(1, sizes[name] - offset + 1)))}")
        elif what < 0.45:
            lines.append(f"u {name}" if name in locked else f"l {name} {random.choice(('discard', 'write'))}")
            locked ^= {name}
        elif what < 0.55:
            lines.append(f"t {name}")
        elif what < 0.85:
            lines.append("d " + " ".join(map(str, random.choices(sorted(sizes), k=random.randrange(1, 5)))))
        elif what < 0.90:
            lines.append(f"x {name}")
            del sizes[name]
            locked.discard(name)
        else:
            lines.append("f")
    path.write_text("\n".join(lines) + "\n")
    return path


def main():
    print(f"FERRY_SEED={SEED}")
    targets = folder / "targets.memtrace"
    part_of_glmark2(targets, 12)
    picture, timeline = folder / "v.svg", folder / "t.json"
    model = replay("model_neverball", NEVERBALL, "model", "--vram", "5M", "--frames", "60", "--svg", picture,
                   "--timeline", timeline)
    fields_are_explained(model)
    files.picture_is_right(check, picture, NEVERBALL.name, 142)
    files.timeline_is_right(check, timeline, ("firmware", "read channel", "write channel"))
    events = json.loads(timeline.read_text())["traceEvents"] if model else []
    frames = [(e["ts"], e["ts"] + e["dur"]) for e in events if e["pid"] == 1 and re.fullmatch(r"frame \d+", e.get("name", ""))]
    moves = [e["ts"] for e in events if e["pid"] == 1 and e.get("name") == "TRANSFER"]
    still = [number for number, (begin, end) in enumerate(frames, 1) if not any(begin <= at < end for at in moves)]
    check(len(frames) == 60 and not still and model.get("bytes_discarded", 0) > 0, "model_neverball_pages_in_every_frame",
          f"{len(frames)} frames, none moves anything in {still}")
    check(model.get("bytes_moved", 1) * 20 <= model.get("bytes_in", 0), "room_is_made_without_moving_much", model.get("bytes_moved"))
    # Nothing said is driver model 2; model 1 plays the same.
    for suffix, driver in (("", []), ("_driver_model_1", ["--model", "1"])):
        replay(f"model_glmark2{suffix}", GLMARK2, "model", "--vram", "22M", *driver)
        replay(f"model_glmark2_targets{suffix}", targets, "model", "--vram", "22M", *driver)
    # All that there is; in model 2 page tables take some of it.
    replay("model_neverball_64_gib_driver_model_1", NEVERBALL, "model", "--vram", "64G", "--frames", "30", "--model", "1")
    replay("model_neverball_63_gib", NEVERBALL, "model", "--vram", "63G", "--frames", "30")
    done = subprocess.run([FERRY, "replay", NEVERBALL, "--backend", "model", "--vram", "64G", "--quiet"], capture_output=True,
                          text=True, timeout=600, check=False)
    words = r"ferry: the device has 6\d{10} bytes of video memory beside page tables, less than --vram asks for\n"
    check(done.returncode == 2 and re.fullmatch(words, done.stderr),
          "model_2_has_not_all_of_it", f"exit {done.returncode}: {done.stderr}")
    replay("model_neverball_all_read_back", NEVERBALL, "model", "--vram", "5M", "--frames", "20", "--verify", "all")
    chance = Random(int(SEED))
    for number in range(14):
        side = ("in", "out", "link-in", "link-out")[number % 4]
        # On their way transfers go in several passes where buffers are small.
        buffers = ["--paging-buffer", "1024"] if number % 8 > 3 else []
        place, done = injection.flip(chance, side, FERRY, "replay", NEVERBALL, "--backend", "model", "--seed", SEED, "--quiet",
                                     "--vram", "5M", "--frames", "20", "--verify", "all", "--no-advice", *buffers)
        check(done.returncode == 1 and "1 of" in done.stderr and "wrong content: allocation" in done.stderr,
              f"model_finds_injection_{number}", f"--inject {place}: exit {done.returncode}: {done.stderr[-600:]}")
    done = subprocess.run([FERRY, "replay", NEVERBALL, "--backend", "model", "--quiet", "--vram", "5M", "--frames", "1",
                           "--inject", "out:100000"], capture_output=True, text=True, timeout=600, check=False)
    check(done.returncode == 2 and "nothing was flipped" in done.stderr, "model_says_that_an_injection_never_came", done.stderr)
    for size in ("1024", "4096"):
        replay(f"model_paging_buffer_{size}", NEVERBALL, "model", "--vram", "5M", "--frames", "10", "--paging-buffer", size)
    for number in range(6):
        trace = random_trace(folder / f"random{number}.memtrace", number, 4000, 40)
        first, second = [replay(f"model_random_{number}_driver_model_{driver}", trace, "model", "--vram", "700K", "--model", driver)
                         for driver in ("1", "2")]
        check([played.get("driver_model") for played in (first, second)] == [1, 2]
              and second.get("bytes_in", 0) > 0 and second.get("operations", {}).get("UPDATE_PAGE_TABLE", 0) > 0
              and not first.get("operations", {}).get("UPDATE_PAGE_TABLE", 0), f"model_random_{number}_has_its_driver_model",
              [played.get("operations") for played in (first, second)])
    for size in ("1024", "0"):
        buffers = [] if size == "0" else ["--paging-buffer", size]
        for driver in ("1", "2"):
            replay(f"model_neverball_driver_model_{driver}_{size}", NEVERBALL, "model", "--vram", "5M", "--frames", "20",
                   "--model", driver, *buffers)
    # By addresses of the paging process, of which there are a quarter of what is played with: what comes and goes is the same. Whether
    # what goes has to be copied out or is elsewhere already is a matter of time, which is another one.
    def came_and_went(played):
        return [played.get("bytes_in", 0), played.get("bytes_out", 0) + played.get("bytes_discarded", 0), played.get("evictions")]
    whole = replay("model_neverball_in_places", NEVERBALL, "model", "--vram", "5M", "--frames", "20", "--verify", "all")
    for size in ("512", "0"):
        buffers = [] if size == "0" else ["--paging-buffer", size]
        played = replay(f"model_neverball_virtual_paging_{size}", NEVERBALL, "model", "--vram", "5M", "--frames", "20", "--verify",
                        "all", "--paging", "virtual", *buffers)
        done = played.get("operations", {})
        check(done.get("VIRTUAL_TRANSFER", 0) > 0 and not done.get("TRANSFER", 0) and not done.get("FILL", 0)
              and came_and_went(played) == came_and_went(whole), f"model_neverball_virtual_paging_{size}_moves_by_address", [whole, played])
    for number in range(4):
        trace = random_trace(folder / f"random{number}.memtrace", number, 2000, 40)
        replay(f"model_random_{number}_virtual_paging", trace, "model", "--vram", "700K", "--paging", "virtual", "--verify", "all")
        side = ("in", "out", "link-in", "link-out")[number]
        place, done = injection.flip(chance, side, FERRY, "replay", NEVERBALL, "--backend", "model", "--seed", SEED, "--quiet",
                                     "--vram", "5M", "--frames", "10", "--verify", "all", "--no-advice", "--paging", "virtual")
        check(done.returncode == 1 and "wrong content: allocation" in done.stderr, f"virtual_paging_finds_injection_{number}",
              f"--inject {place}: exit {done.returncode}: {done.stderr[-600:]}")
    for name, words, *how in (("model_1", "in driver model 2 alone", "--paging", "virtual", "--model", "1"),
                              ("another", "physical or virtual", "--paging", "both"),
                              ("tables_in_model_1", "in driver model 2 alone", "--tables", "system", "--model", "1"),
                              ("iommu_in_model_1", "--iommu is of GPU virtual addresses", "--iommu", "--model", "1"),
                              ("iommu_with_a_value", "--iommu takes no value", "--iommu=1"),
                              ("other_tables", "video or system", "--tables", "both")):
        done = subprocess.run([FERRY, "replay", NEVERBALL, "--backend", "model", "--quiet", "--frames", "1", *how],
                              capture_output=True, text=True, timeout=600, check=False)
        check(done.returncode == 2 and words in done.stderr, f"ways_are_refused_{name}", done.stderr)
    # With page tables in system memory the same comes and goes, and the device is slower where it walks.
    played = replay("model_neverball_host_tables", NEVERBALL, "model", "--vram", "5M", "--frames", "20", "--verify", "all", "--tables",
                    "system")
    check(came_and_went(played) == came_and_went(whole), "with_host_tables_the_same_comes_and_goes", [whole, played])
    # What is in video memory is not the root complex's to take away.
    played = replay("model_neverball_iommu", NEVERBALL, "model", "--vram", "5M", "--frames", "20", "--verify", "all", "--iommu")
    check(came_and_went(played) == came_and_went(whole), "with_an_iommu_the_same_comes_and_goes", [whole, played])
    # By addresses a transfer goes in several chunks, and has its byte at the same place as one from place to place has.
    chunks = folder / "chunks.memtrace"
    chunks.write_text("a 1 500001 buffer\nw 1 0 500001\na 2 600000 texture 9x9 X\n" + "t 2\nd 1\nf\n" * 2)
    for place, name, offset in (("link-in:1:0", 1, 0), ("link-in:1:150000", 1, 150000), ("link-in:2:599999", 2, 599999),
                                ("link-in:3:1000003", 1, 1), ("link-out:1:102400", 2, 102400), ("link-out:2:600031", 2, 31)):
        ways = [("model", "physical"), ("model", "virtual")] + [("sim", "virtual")] * (place in ("link-in:3:1000003", "link-out:2:600031"))
        for backend, way in ways:
            done = subprocess.run([FERRY, "replay", chunks, "--backend", backend, "--quiet", "--vram", "800K", "--verify", "all",
                                   "--no-advice", "--paging", way, "--inject", place],
                                  capture_output=True, text=True, timeout=600, check=False)
            words = rf"wrong content: allocation {name} \(.*, offset {offset} \(.*; 1 of \d+ bytes wrong"
            check(done.returncode == 1 and re.search(words, done.stderr), f"{backend}_{way}_paging_finds_{place}",
                  f"exit {done.returncode}: {done.stderr[-600:]}")
    short = random_trace(folder / "random.memtrace", 99, 200, 12)
    replay("sim_random_virtual_paging", short, "sim", "--vram", "200K", "--paging", "virtual", "--verify", "all")
    there, here = (replay(f"sim_random_tables_in_{where}", short, "sim", "--vram", "200K", "--tables", where, "--verify", "all")
                   for where in ("system", "video"))
    check(there.get("cycles", 0) > here.get("cycles", 0) > 0, "walks_over_the_link_take_longer", [there, here])
    for driver in ("1", "2"):
        replay(f"sim_random_driver_model_{driver}", short, "sim", "--vram", "200K", "--model", driver)
    shorts = [replay(f"{backend}_neverball", NEVERBALL, backend, "--vram", "5M", "--frames", "2",
                     "--timeline", timeline) for backend in ("model", "sim")]
    files.timeline_is_right(lambda good, name, detail="": check(good, f"sim_{name}", detail), timeline)
    names = ("frames", "allocations", "draws", "bytes_in", "bytes_out", "bytes_discarded", "evictions", "operations")
    different = [name for name in names if shorts[0].get(name) != shorts[1].get(name)]
    check(all(shorts) and not different, "both_back_ends_do_the_same_work", [(n, [s.get(n) for s in shorts]) for n in different])
    check(shorts[1].get("driver_model") == 2 and shorts[1].get("cycles", 0) > 100000
          and 0 < shorts[1].get("link_share", 0) <= 1 and 0 < shorts[1].get("bus_share", 0) <= 1
          and shorts[1].get("firmware_cycles_per_packet", 0) > 1, "sim_counts_its_cycles", shorts[1])
    files.timeline_shows_page_tables(check, timeline)
    replay("sim_neverball_driver_model_1", NEVERBALL, "sim", "--vram", "5M", "--frames", "1", "--model", "1", "--timeline", timeline)
    files.timeline_shows_no_page_tables(check, timeline)
    replay("sim_neverball_with_stalls", NEVERBALL, "sim", "--vram", "5M", "--frames", "1", "--stall", "20")
    replay("sim_glmark2", GLMARK2, "sim", "--vram", "22M", "--frames", "300")
    replay("sim_glmark2_targets", targets, "sim", "--vram", "22M", "--frames", "1")
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
