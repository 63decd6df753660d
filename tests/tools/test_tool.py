#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tool as its user meets it: every error line and exit code, the written files, the terminal. It is linked with a
double of the library (fake_ferry.h) in which FERRY_FAKE=KIND:N lets the N-th thing of a kind go wrong."""
import collections
import gzip
import itertools
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path.cwd()
sys.path.insert(0, str(ROOT / "tests/tools"))
import files  # noqa: E402

FERRY = ROOT / os.environ.get("FERRY_FAKE_TOOL", "build/tests/parts/ferry-fake")
NEVERBALL = ROOT / "tests/data/neverball.memtrace.gz"
GLMARK2 = ROOT / "tests/data/glmark2.memtrace.gz"
passed = failed = 0
numbers = itertools.count()
folder = Path(tempfile.mkdtemp(prefix="ferry-tools-"))

SMALL = """a 1 8192 buffer
w 1 0 8192
a 2 20000 texture 50x100 GL_RGBA
w 2 100 5000
a 3 65536 texture 128x128 GL_RGBA
t 3
d 1 2 3
f
l 1 discard
w 1 0 4096
u 1
d 1 3
f
l 2 write
u 2
d 2
x 2
a 2 4 buffer
d 2 1
f
"""


def check(good, name, detail=""):
    global passed, failed
    if good:
        passed += 1
        print(f"[       OK ] {name}")
    else:
        failed += 1
        print(f"[  FAILED  ] {name}\n    {detail}")


def run(*arguments, fake="", **options):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FERRY_")} | {"FERRY_FAKE": fake}
    return subprocess.run([FERRY, *map(str, arguments)], capture_output=True, text=True, env=environment, timeout=120,
                          check=False, **options)


def trace(text, name=None):
    path = folder / (name or f"{next(numbers)}.memtrace")
    path.write_text(text)
    return path


def expect(name, code, words, *arguments, fake=""):
    """Exactly one line on stderr, with these words in this order, and the exit code."""
    done = run(*arguments, fake=fake)
    lines = done.stderr.splitlines()
    good = done.returncode == code and len(lines) == 1 and lines[0].startswith("ferry: ") and re.search(words, lines[0])
    check(good, name, f"exit {done.returncode}, stderr {done.stderr!r}")
    return done


def command_line():
    small = trace(SMALL)
    for command in ("", "replay", "info", "selftest", "fault"):
        done = run(*([command] if command else []), "--help")
        check(done.returncode == 0 and done.stdout.startswith("usage: ferry") and not done.stderr, f"help_{command or 'tool'}")
    done = run("replay", "--help")
    check(all(word in done.stdout for word in ("--vram", "--frames", "--backend", "--json", "--timeline", "--svg", "--seed",
                                                "--verify", "--inject")),
          "help_names_every_option")
    for command in ("replay", "policy", "trace", "report", "list", "info", "selftest", "fault"):
        check(run("help", command).stdout == run(command, "--help").stdout != run("help").stdout, f"help_of_{command}_by_either_way")
    expect("help_of_no_command", 2, "no command 'fly'", "help", "fly")
    expect("o_where_there_is_no_out", 2, "'-o' is not understood", "list", "-o", "x")
    backends = set(re.findall(r"&ferry_backend_(\w+)", Path("host-driver/link/backends.c").read_text()))
    for where, text in [(command, run(command, "--help").stdout) for command in ("replay", "info", "selftest", "fault")] + [
            ("header", re.search(r"\*backend;.*?uint64_t", Path("host-driver/include/ferry/ferry.h").read_text(), re.S)[0])]:
        missing = {name for name in backends if not re.search(rf"\b{name}\b", text)}
        check(len(backends) == 6 and not missing, f"every_back_end_is_named_{where}", missing)
    for where, text in (("help", run("list", "--help").stdout), ("page", Path("docs/man/ferry.1").read_text())):
        check("devices on USB" in " ".join(text.split()), f"list_looks_for_devices_on_usb_{where}", text)
    expect("no_command", 2, "no command given")
    expect("unknown_command", 2, "no command 'fly'", "fly")
    expect("no_trace", 2, "needs a trace file", "replay")
    expect("unknown_option", 2, "no option '--speed'", "replay", small, "--speed", "3")
    expect("option_without_value", 2, "--vram needs a value", "replay", small, "--vram")
    expect("empty_name", 2, "--json needs a name", "replay", small, "--json=")
    expect("bad_size", 2, "--vram: '5X' is not a size", "replay", small, "--vram", "5X")
    expect("size_of_another_command", 2, r"--vram: '0.95W' is not a size .*; factors of a frame are for `ferry policy` and `ferry report`,"
           r" which say what they come to$", "replay", small, "--vram", "0.95W")
    expect("size_not_in_pages", 2, "--vram: 5000 is not a multiple of 4096", "replay", small, "--vram", "5000")
    expect("size_0", 2, "--vram: 0 is not", "replay", small, "--vram", "0")
    expect("bad_number", 2, "--frames: 'many' is not a number", "replay", small, "--frames=many")
    expect("zero_frames", 2, "--frames: 0 is not from 1", "replay", small, "--frames", "0")
    expect("flag_with_value", 2, "--quiet takes no value", "replay", small, "--quiet=1")
    expect("info_takes_no_trace", 2, "'x' is not understood", "info", "x")
    expect("unknown_backend", 2, "back end 'moon'.*BACKEND", "replay", small, "--backend", "moon")
    for option in ("wave", "latency", "link-latency", "stall"):
        expect(f"only_sim_has_{option}", 2, f"--{option} is of the back end sim alone", "replay", small, "--backend", "model",
               f"--{option}", "7")
        check(run("replay", small, "--quiet", "--backend", "sim", f"--{option}", folder / "7" if option == "wave" else "7").returncode == 0,
              f"sim_has_{option}")
    expect("unknown_backend_fault", 2, "back end 'moon'.*BACKEND", "fault", "--backend", "moon")
    expect("fault_without_page_tables", 4, "back end 'sim': map addresses: .*As the double was told", "fault")
    expect("unknown_backend_info", 2, "back end 'moon'.*BACKEND", "info", "--backend", "moon")
    expect("more_than_the_device_has", 2, "67108864 bytes of video memory, less than --vram", "replay", small, "--vram", "65M")
    expect("no_such_trace", 2, "/nowhere: cannot be opened: No such file", "replay", "/nowhere")
    for option in ("json", "svg", "timeline"):
        expect(f"unwritable_{option}", 2, "cannot write /nowhere/x: No such file", "replay", small, f"--{option}", "/nowhere/x")
    for option in ("json", "svg", "timeline", "wave"):
        before = Path(small).read_bytes()
        expect(f"{option}_over_the_trace", 2, "a file to be read and a file to be written", "replay", small, f"--{option}", small)
        check(Path(small).read_bytes() == before, f"{option}_leaves_the_trace_alone")
    twice = ("--json", "/tmp/ferry-twice", "--timeline", "/tmp/./ferry-twice")
    expect("two_outputs_of_one_name", 2, "to be written twice", "replay", small, *twice)
    with open("/dev/full", "w") as full:
        done = subprocess.run([FERRY, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    check(done.returncode == 4 and "cannot write" in done.stderr, "full_disk_is_noticed", done.stderr)
    done = run("info")
    check(done.returncode == 0 and "contract           1.0" in done.stdout and "video memory" in done.stdout, "info", done.stdout)
    done = run("selftest")
    check(done.returncode == 0 and done.stdout.endswith("8 passed, 0 failed\n"), "selftest", done.stdout)
    done = run("selftest", "--pages", "2")
    check(done.returncode == 0 and "32 KiB paged through 40 KiB" in done.stdout and done.stdout.endswith("8 passed, 0 failed\n"),
          "selftest_of_two_pages", done.stdout)
    for model in (1, 2):
        done = run("selftest", "--model", model)
        check(done.returncode == 0 and f"runs, driver model {model}\n" in done.stdout, f"selftest_of_driver_model_{model}", done.stdout)
    for option, *value in (("--paging", "virtual"), ("--tables", "system"), ("--iommu",)):
        named = " ".join((option, *value)) + " is of GPU virtual addresses, which "
        done = run("selftest", "--model", "1", option, *value)
        check(done.returncode == 1 and "open the adapter: ARGUMENT" in done.stdout, f"selftest_passes_on_{option[2:]}", done.stdout)
        check(named + "there are in driver model 2 alone\n" in done.stderr, f"selftest_names_{option[2:]}", done.stderr)
        done = run("selftest", option, *value, fake="no-tables")
        check(done.returncode == 1 and "open the adapter: UNSUPPORTED" in done.stdout and named + "this device has no" in done.stderr,
              f"selftest_names_{option[2:]}_without_page_tables", done.stdout + done.stderr)
        done = run("selftest", "--model", "2", option, *value)
        check(done.returncode == 0 and done.stdout.endswith("8 passed, 0 failed\n"), f"selftest_with_{option[2:]}", done.stdout)
        expect(f"replay_passes_on_{option[2:]}", 4, f"UNSUPPORTED: {named}this device has no page tables for$",
               "replay", small, option, *value, fake="no-tables")
    expect("selftest_of_no_driver_model", 2, "--model: 3 is not from 1 to 2", "selftest", "--model", "3")
    expect("selftest_of_one_page", 2, "--pages: 1 is not from 2 to 1000", "selftest", "--pages", "1")
    done = run("selftest", "--pages", "2", fake="page-out:3")
    check(done.returncode == 1 and "FAIL" in done.stdout, "selftest_of_two_pages_sees_a_wrong_byte", done.stdout)
    # What may go wrong beside the bytes that are asked for, each seen by the check that is about it; those behind it are not made.
    for kind, words in (("before:1", "GPU copy"), ("behind:1", "GPU copy"), ("copy:1", "GPU copy"), ("before:2", "GPU fill"),
                        ("behind:2", "GPU fill"), ("fill:1", "GPU fill"), ("copy:2", "after an engine reset"),
                        ("far:1", "a range too far"), ("still:1", "keep every byte (0 evictions"), ("recorded:1", "1 faults,"),
                        ("dummy:1", "1 writes to the dummy page"), ("stray:1", "1 accesses to unmapped memory")):
        done = run("selftest", fake=kind)
        fails = [line for line in done.stdout.splitlines() if line.startswith("FAIL")]
        check(done.returncode == 1 and len(fails) == 1 and words in fails[0] and done.stdout.endswith(", 1 failed\n"),
              f"selftest_sees_{kind.replace(':', '_')}", done.stdout)
    done = run("selftest", fake="fault:1")
    check(done.returncode == 1 and "FAIL  wait: FAULT" in done.stdout
          and "\n      ring 1, buffer with fence 7, packet 0x00000000 at byte 64: " in done.stdout
          and ", write of 0x123456\n" in done.stdout,
          "selftest_says_what_the_device_has_recorded", done.stdout)
    done = run("selftest", fake="page-out:3")
    check(done.returncode == 1 and "FAIL" in done.stdout, "selftest_sees_a_wrong_byte", done.stdout)


def closed_streams():
    """What is said goes into no file that the tool has open instead."""
    small, timeline = trace(SMALL), folder / "closed.json"
    for closed, fake, code in ((">&-", "", 4), ("2>&-", "copy:3", 1), ("<&- >&- 2>&-", "copy:3", 1)):
        done = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", FERRY, "replay", small, "--timeline", timeline],
                              env=dict(os.environ, FERRY_FAKE=fake), capture_output=True, text=True, timeout=120, check=False)
        try:
            events = json.loads(timeline.read_text())["traceEvents"]
        except ValueError as error:
            events = None
            done = error
        check(events and done.returncode == code, f"closed_streams_{closed}", done)


def bad_traces():
    output = folder / "none.json"
    for name, text, words in (
            ("unknown_letter", "a 1 4 buffer\nz 1\n", "line 2: 'z' is no event"),
            ("bad_number", "a 1 four buffer\n", "line 1: the allocation's size 'four' is not a number"),
            ("unknown_id", "a 1 4 buffer\nf\nd 1 5\n", "line 3: allocation 5 was never created"),
            ("double_create", "a 1 4 buffer\na 1 4 buffer\n", "line 2: allocation 1 exists already"),
            ("use_after_destroy", "a 1 4 buffer\nx 1\nd 1\n", "line 3: allocation 1 was destroyed in line 2"),
            ("size_0", "a 1 0 buffer\n", "line 1: allocation 1 has size 0"),
            ("size_over_1_TiB", "a 1 1099511627777 buffer\n", "line 1: .*more than 1 TiB"),
            ("write_outside", "a 1 100 buffer\nw 1 90 11\n", "line 2: a write of 11 bytes at 90 leaves allocation 1"),
            ("bad_texture", "a 1 100 texture 5by5 GL_RGBA\n", "line 1: texture size '5by5' is not WIDTHxHEIGHT"),
            ("empty", "", "holds no event")):
        done = expect(f"trace_{name}", 2, words, "replay", trace(text), "--json", output, fake="create:1")
        check(not output.exists() and not done.stdout, f"trace_{name}_leaves_nothing")
    packed = NEVERBALL.read_bytes()
    (folder / "cut.gz").write_bytes(packed[:len(packed) // 2])
    expect("trace_cut_gzip", 2, "gzip file is cut off", "replay", folder / "cut.gz")
    expect("trace_far_down", 2, "line 26180: ", "replay",
           trace(gzip.decompress(NEVERBALL.read_bytes()).decode() + "bad\n"))


def too_small():
    small = trace(SMALL)
    expect("one_draw_too_large", 3, r"draw in line 7 of \S+ needs 92.0 KiB \(94208 bytes in 3 allocations\), video memory is 80.0 KiB",
           "replay", small, "--vram", "80K", "--json", folder / "none.json")
    expect("one_target_too_large", 3, r"render target in line 6 of \S+ needs 64.0 KiB .* video memory is 60.0 KiB", "replay", small,
           "--vram", "60K")
    expect("just_large_enough", 3, "line 7", "replay", small, "--vram", "88K")
    check(run("replay", small, "--vram", "92K").returncode == 0, "exactly_large_enough")
    check(not (folder / "none.json").exists(), "too_small_leaves_nothing")
    expect("cannot_be_placed", 3, r"draw in line 12 of \S+ needs .*; it could not be placed", "replay", small, fake="place:5")


def wrong_content():
    small = trace(SMALL)
    figures = folder / "wrong.json"
    done = expect("wrong_byte_read_by_a_draw", 1, r"wrong content: allocation 2 \(texture 50x100 GL_RGBA\), offset 255 "
                  r"\(0xff\): expected 0x(..), found 0x(..); 1 of 256 bytes wrong, read by the GPU for the draw in line 7",
                  "replay", small, "--json", figures, fake="copy:3")
    byte = re.search("expected 0x(..), found 0x(..)", done.stderr)
    check(byte and int(byte[1], 16) ^ int(byte[2], 16) == 1, "expected_and_found_differ_by_the_bit", done.stderr)
    check(json.loads(figures.read_text())["bad_bytes"] == 1, "bad_bytes_counted")
    expect("wrong_byte_filled", 1, r"allocation 3 .*offset 65535 .*read by the GPU for the draw in line 7", "replay", small,
           fake="fill:1")
    expect("wrong_byte_paged_in", 1, "allocation 1 .*offset 256 .*read by the GPU for the draw in line 3", "replay",
           trace("a 1 512 buffer\nw 1 0 512\nd 1\nf\n"), fake="page-in:1")
    expect("wrong_byte_paged_out", 1, "allocation 3 .*offset 32768 .*comparison at the end", "replay", small, fake="page-out:1")
    many = "a 1 40000 buffer\nw 1 0 40000\na 2 60000 texture 9x9 X\n" + "t 2\nd 1\nf\n" * 3
    expect("wrong_byte_evicted", 1, r"allocation 2 .*offset 30000 .*found after its eviction", "replay", trace(many),
           "--vram", "64K", fake="page-out:2")
    # One byte at any place of what comes in is found when all of it is read back, and named by its place.
    for offset in (0, 300, 4095, 4096, 6000, 12288, 19999):
        expect(f"injected_in_{offset}", 1, rf"allocation 2 .*offset {offset} .*1 of .* bytes wrong, read by the GPU for the draw in "
               "line 7", "replay", small, "--verify", "all", "--inject", f"in:3:{offset}")
    for offset in (0, 30001, 39999):
        expect(f"injected_out_{offset}", 1, rf"allocation 1 .*offset {offset} .*found after its eviction", "replay", trace(many),
               "--vram", "64K", "--inject", f"out:2:{offset}")
        expect(f"injected_on_the_link_out_{offset}", 1, rf"allocation \d+ .*offset {offset} .*1 of .* bytes wrong", "replay",
               trace(many), "--vram", "64K", "--inject", f"link-out:1:{offset}")
    for offset in (0, 4096, 19999):
        expect(f"injected_on_the_link_in_{offset}", 1, rf"allocation 2 .*offset {offset} .*1 of .* bytes wrong, read by the GPU",
               "replay", small, "--verify", "all", "--inject", f"link-in:3:{offset}")
    expect("injected_on_the_link_too_late", 2, "nothing was flipped", "replay", small, "--inject", "link-in:1000")
    check(run("replay", small, "--verify", "all").returncode == 0, "all_of_every_page_in_is_right")
    for bad in ("in", "in:", "in:0", "in:x", "out:1:", "side:1", "in:1:2:3", "link:1", "link-", "link-in", "link-side:1", "link-out:0"):
        expect(f"injection_is_understood_{bad}", 2, "--inject takes in:N", "replay", small, "--inject", bad)
    expect("only_all_can_be_verified", 2, "--verify takes 'all'", "replay", small, "--verify", "most")
    done = run("replay", small, "--json", figures, fake="fault:2")
    check(done.returncode == 1 and "FAULT" in done.stderr and "RANGE, write of address 0x123456" in done.stderr
          and json.loads(figures.read_text())["faults"] == 1, "fault_is_named", done.stderr)
    check("level by level" not in done.stderr, "a_fault_of_no_walk_has_none", done.stderr)
    for kind in ("walk", "stale"):
        done = run("replay", small, fake=f"{kind}:2")
        lines = [line.removeprefix("ferry: ") for line in done.stderr.splitlines()]
        at = next((i for i, line in enumerate(lines) if "level by level" in line), len(lines))
        check(done.returncode == 1 and "address 0x812345678000" in lines[at - 1] and lines[at + 1:at + 3] == [
            "  level 3  table 0x00007f000  entry 258  0x000000000007e001  to the table at 0x7e000",
            "  level 2  table 0x00007e000  entry   5  0x0000000000000000  leads nowhere"], f"a_fault_has_its_walk_{kind}", done.stderr)
        check((lines[at + 3:at + 4] == ["  but the device has seen 0x99001 at level 2"]) == (kind == "stale"),
              f"the_walk_is_what_the_device_saw_{kind}", done.stderr)
    expect("stray_accesses_fail", 1, "1 accesses to unmapped host memory", "replay", small, fake="stray:0")


def library_errors():
    small = trace(SMALL)
    expect("create_fails", 4, "line 1: create an allocation: NO_HOST_MEMORY", "replay", small, fake="create:3")
    done = run("replay", small, fake="submit:2")
    check(done.returncode == 4 and "line 7: submit: DEVICE_LOST" in done.stderr, "submit_fails", done.stderr)
    expect("lock_fails", 4, "line 2: lock an allocation: LOCKED", "replay", small, fake="lock:1")
    expect("evict_fails", 4, "line 6: evict: NOT_RESIDENT", "replay", small, fake="evict:1")
    expect("absurd_but_legal_size", 4, "line 1: create an allocation: NO_HOST_MEMORY", "replay",
           trace("a 1 1099511627776 buffer\nf\n"))


def counts_of(path, frames):
    """What the trace says, read by other means."""
    counts = collections.Counter()
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        counts[line[0]] += 1
        if line[0] == "w":
            counts["bytes"] += int(line.split()[3])
        if line[0] == "f" and counts["f"] == frames:
            break
    return counts


def figures_are_right():
    figures, picture, timeline = folder / "r.json", folder / "v.svg", folder / "t.json"
    done = run("replay", NEVERBALL, "--vram", "5M", "--frames", 60, "--json", figures, "--svg", picture, "--timeline", timeline)
    check(done.returncode == 0 and not done.stderr and "\x1b" not in done.stdout, "replay_neverball", done.stderr)
    lines = done.stdout.splitlines()
    check(lines[-4].split()[1] == str(timeline) and lines[-3].split()[1] == str(picture) and lines[-1].startswith("With 5.0 MiB, "),
          "the_last_lines_name_the_files_and_what_can_be_done")
    values, counts = json.loads(figures.read_text()), counts_of(NEVERBALL, 60)
    check((values["frames"], values["allocations"], values["draws"], values["writes"])
          == (60, counts["a"], counts["d"], counts["w"]), "json_counts_what_the_trace_has", values)
    needed = {"frames", "allocations", "bytes_in", "bytes_out", "bytes_discarded", "bytes_moved", "evictions", "operations", "cycles",
              "sim_khz", "verified_bytes", "bad_bytes", "firmware_cycles_per_packet", "link_share", "bus_share"}
    check(needed <= values.keys(), "json_has_every_name", needed - values.keys())
    paced = ("stall_read_cycles", "stall_write_cycles", "stall_job_cycles", "stall_link_cycles", "host_read_beats",
             "host_write_beats", "engine_jobs", "engine_busy_cycles", "busy_retries", "table_walks", "table_reads", "table_forgets")
    check(values["cycles"] > 0 and all(values[name] == (3 + i) * values["cycles"] for i, name in enumerate(paced)),
          "each_counter_is_its_own", {name: values[name] for name in ("cycles", *paced)})
    check(values["verified_bytes"] > counts["bytes"] and values["bad_bytes"] == 0, "everything_is_verified", values)
    check(values["operations"]["TRANSFER"] > 0 and values["evictions"] > 1000, "operations_by_name", values["operations"])
    files.picture_is_right(check, picture, "neverball.memtrace.gz", 142)
    files.timeline_is_right(check, timeline, ("write channel",))
    plain = trace(gzip.decompress(GLMARK2.read_bytes()).decode(), "plain.memtrace")
    first, second = folder / "1.json", folder / "2.json"
    for source, target in ((GLMARK2, first), (plain, second)):
        done = run("replay", source, "--vram", "24M", "--frames", 400, "--json", target, "--svg", picture, "--seed", 5)
        check(done.returncode == 0, f"replay_{source.name}", done.stderr)
    both = [json.loads(path.read_text()) for path in (first, second)]
    for one in both:
        for name in ("trace", "seconds", "sim_khz"):
            del one[name]
        del one["programs"][0]["trace"]
    check(both[0] == both[1], "plain_and_gzip_are_the_same")


def large_pictures_stay_small():
    lines = [f"a {i} 40000 buffer" for i in range(200)]
    lines += [f"d {(i * 7 + j) % 200}" + "\nf" * (j == 9) for i in range(4000) for j in range(10)]
    picture = folder / "large.svg"
    done = run("replay", trace("\n".join(lines)), "--vram", "256K", "--svg", picture, "--quiet", "--no-advice")
    text = picture.read_text()
    check(done.returncode == 0 and len(text) < 3 << 20 and re.search(r"\d+ smallest ones are left out", text) is not None
          and ET.fromstring(text) is not None, "svg_of_many_stays_is_capped", (done.stderr, len(text)))


def names_are_not_obeyed():
    """A name's control characters reach neither the report's lines nor the picture's title."""
    odd, seen = "\x1b]0;owned\x07\x9b31m\x7fü", "?]0;owned??31m?ü"
    name = folder / f"{odd}.memtrace"
    name.write_text(SMALL)
    done = run("replay", name, "--json", f"{name}.json")
    check(done.returncode == 0 and f"\n{seen}.memtrace on " in done.stdout and f"{seen}.memtrace.json\n" in done.stdout
          and not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", done.stdout + done.stderr), "a_replay_tells_names_clean", repr(done.stdout))
    check(json.loads(Path(f"{name}.json").read_text())["trace"] == name.name, "a_file_has_the_name_as_it_is")
    two = run("replay", name, name)
    check(two.returncode == 0 and f"1 {seen}" in two.stdout and not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", two.stdout),
          "programs_are_told_clean", repr(two.stdout))
    status, output = in_terminal(["replay", name], environment={"FERRY_FAKE": "slow:200"})
    check(status == 0 and f"Video memory\x1b[0m  {seen}.memtrace on" in output and "owned\x07" not in output and "\x9b" not in output,
          "a_picture_is_titled_clean", repr(output[:400]))


def meaning_of_locks():
    for name, text in (
            ("locked_when_drawn", "a 1 9000 buffer\nl 1 write\nw 1 0 9000\nd 1\nw 1 5 6\nu 1\nd 1\nf\n"),
            ("locked_at_the_end", "a 1 9000 buffer\nl 1 discard\nw 1 0 10\nf\n"),
            ("destroyed_while_locked", "a 1 9000 buffer\nl 1 discard\nx 1\nf\n"),
            ("lock_without_write", "a 1 9000 buffer\nl 1 discard\nu 1\nd 1\nf\n"),
            ("written_target", "a 1 9000 buffer\nt 1\nw 1 100 50\nd 1\nt 1\nd 1\nf\n"),
            ("no_frames", "a 1 9000 buffer\nw 1 0 9000\nd 1\n"),
            ("nothing_drawn", "a 1 9000 buffer\n"),
            ("more_frames_than_there_are", "a 1 9000 buffer\nd 1\nf\n")):
        figures = folder / "lock.json"
        done = run("replay", trace(text), "--frames", 5, "--json", figures)
        check(done.returncode == 0 and not done.stderr, name, done.stderr)
    # What was discarded and not written again is not compared: 9000 bytes at the end less what is not known.
    run("replay", trace("a 1 9000 buffer\nl 1 discard\nw 1 0 10\nf\n"), "--json", folder / "lock.json")
    check(json.loads((folder / "lock.json").read_text())["verified_bytes"] == 10, "discarded_bytes_are_not_compared")
    draw = "a 1 300000 buffer\nw 1 0 300000\n" + "d 1\n" * 3000 + "f\n"
    check(run("replay", trace(draw)).returncode == 0, "a_frame_larger_than_the_readback_area")


def in_terminal(arguments, end=None, environment=None, size=(30, 100)):
    """Run in a pseudo terminal; end is a signal to send after half a second. Returns (exit status, output)."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update({"TERM": "xterm-256color", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"} | (environment or {}))
        os.execv("/bin/sh", ["sh", "-c", 'stty rows "$1" cols "$2"; shift 2; exec "$@"', "sh", str(size[0]), str(size[1]),
                             str(FERRY), *map(str, arguments)])
    output, began = b"", time.monotonic()
    while True:
        ready, _, _ = select.select([terminal], [], [], 0.1)
        if ready:
            try:
                chunk = os.read(terminal, 65536)
            except OSError:
                break
            if not chunk:
                break
            output += chunk
        if end and b"\x1b[?25l" in output and time.monotonic() - began > 0.5:
            os.kill(pid, end)
            end = None
    os.close(terminal)
    return os.waitpid(pid, 0)[1], output.decode(errors="replace")


def terminal():
    slow = {"FERRY_FAKE": "slow:200"}
    arguments = ["replay", NEVERBALL, "--vram", "5M", "--frames", 30]
    status, output = in_terminal(arguments, environment=slow | {"COLORTERM": "truecolor"})
    check(status == 0 and "\x1b[?25l" in output and output.rfind("\x1b[?25h") > output.rfind("\x1b[?25l")
          and "\u2580" in output and "\x1b[38;2;" in output and "frame 30 of 30" in output, "terminal_shows_a_picture", output[-300:])
    table = output[output.rfind("\x1b[?25h"):]
    check("verified bytes" in table and "\x1b[" not in table[6:], "terminal_is_plain_again_for_the_table")
    for number, name in ((signal.SIGINT, "interrupt"), (signal.SIGTERM, "terminate")):
        status, output = in_terminal(arguments, end=number, environment={"FERRY_FAKE": "slow:5000"})
        check(os.WIFSIGNALED(status) and os.WTERMSIG(status) == number and output.rstrip().endswith("\x1b[0m\x1b[?25h"),
              f"terminal_is_restored_by_{name}", repr(output[-80:]))
    status, output = in_terminal(arguments, environment={"NO_COLOR": "1"})
    check(status == 0 and "\x1b" not in output, "terminal_without_colour_gets_lines", (status, output[-300:]))
    status, output = in_terminal(arguments, environment={"TERM": "dumb"})
    check(status == 0 and "\x1b" not in output, "dumb_terminal_gets_lines", (status, output[-300:]))
    status, output = in_terminal(arguments, environment=slow | {"LANG": "C", "LC_ALL": "C", "COLORTERM": ""}, size=(24, 80))
    picture = output[:output.rfind("\x1b[?25h")]
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", picture).replace("\r", "").split("\n")
    check(status == 0 and "\u2580" not in output and "\x1b[48;5;" in output and max(map(len, lines)) <= 80,
          "terminal_without_utf8_and_80_columns_wide", max(map(len, lines)))
    status, output = in_terminal(["replay", trace(SMALL)], environment={"FERRY_FAKE": "copy:3"})
    check(os.WEXITSTATUS(status) == 1 and output.rfind("wrong content") > output.rfind("\x1b[?25h") > 0,
          "terminal_is_restored_before_an_error", repr(output[-200:]))


def main():
    for part in (command_line, closed_streams, bad_traces, too_small, wrong_content, library_errors, figures_are_right, meaning_of_locks,
                 large_pictures_stay_small, names_are_not_obeyed, terminal):
        part()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
