#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `ferry policy` refuses: sizes, names, files, and policies of one's own that are wrong; and one that is right."""
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path.cwd() / "tests/tools"))
from laboratory import FERRY, NEVERBALL, PAGE, ROOT, check, end, expect, ferry, folder, ours  # noqa: E402


def outputs_are_nothing_else(small):
    """No output is a trace that is read or another output, whatever name it goes by; and what stood there stays until there is better."""
    before, table = small.read_bytes(), folder / "table.csv"
    soft, hard, away = (folder / f"{name}.memtrace" for name in ("soft", "hard", "away"))
    soft.symlink_to(small)
    os.link(small, hard)
    for option in ("--svg", "--json", "--csv"):
        for name, path in (("trace", small), ("link_to_it", soft), ("other_name_of_it", hard), ("way_to_it", f"{folder}/./small.memtrace")):
            expect(f"{option[2:]}_over_the_{name}", 2, "a file to be read and a file to be written", small, "--vram", "64K", option, path)
    for name, path in (("once_more", table), ("by_another_way", f"{folder}/../{folder.name}/table.csv")):
        for there in (False, True):
            table.write_text("mine") if there else table.unlink(missing_ok=True)
            expect(f"one_name_{name}_{there}", 2, "written twice", small, "--vram", "64K", "--csv", table, "--json", path)
            check(table.exists() == there and (not there or table.read_text() == "mine"), f"nothing_is_written_{name}_{there}")
    check(small.read_bytes() == before, "the_trace_is_left_alone")
    # A new file takes the old one's place, its rights, and the place that a link leads to.
    table.chmod(0o640)
    away.symlink_to(table)
    old = table.open()
    done = ferry(small, "--vram", "64K", "--csv", away, "--json", "/dev/null", "--svg", "/dev/null", "--quiet")
    check(done.returncode == 0 and away.is_symlink() and table.read_text().startswith("video_memory_bytes,") and old.read() == "mine"
          and table.stat().st_mode & 0o777 == 0o640, "a_new_file_takes_the_old_ones_place", done)
    kept = table.read_bytes()
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]  # Whoever runs the tests may have set one.
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, most))
    done = subprocess.run([FERRY, "policy", small, "--vram", "64K", "--csv", table, "--quiet"], capture_output=True, text=True, check=False,
                          preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN), limit()))
    check(done.returncode == 4 and f"cannot write {table}" in done.stderr and table.read_bytes() == kept
          and not list(folder.glob("*.part*")), "a_full_disk_leaves_the_old_file", done)


def bad_input():
    small = folder / "small.memtrace"
    small.write_text("a 1 12288 buffer\nw 1 0 12288\nd 1\nf\n")
    expect("size_below_a_job", 3, r"small.memtrace: the job in line 3 needs 12.0 KiB \(12288 bytes\), video memory is 8.0 KiB: "
           r"from 12.0 KiB \(12K, the largest job\) to 12.0 KiB",
           small, "--vram", "8K")
    for size in ("8Q", "0", "5", "W", "-1W", "nanW", "1e9W", "0x10W", "1e0W", " 1W", "+1F", "12K,,4M", "2000G", "0.001W"):
        expect(f"size_{size}", 2, r"--vram: '.*' is no size: from 12.0 KiB .* to 12.0 KiB", small, "--vram", size)
    expect("unknown_policy", 2, r"no policy 'best'; there are ours, lru, random, two-frames, furthest", small, "--policy", "lru,best")
    expect("no_trace", 2, "needs a trace file")
    expect("no_such_file", 2, "nowhere", folder / "nowhere")
    bad = folder / "bad.memtrace"
    bad.write_text("a 1 4096 buffer\nd 2\n")
    expect("bad_line", 2, "line 2", bad)
    expect("reservations_of_too_much", 3, "--reservations: 64.0 KiB of video memory cannot keep all of 44K,40K", small, small,
           "--vram", "64K", "--reservations", "44K,40K", "--quiet")
    roomy = folder / "roomy.memtrace"
    roomy.write_text("a 1 12288 buffer\nw 1 0 12288\n" + "d 1\nf\n" * 5)
    done = ferry(roomy, roomy, "--vram", "256K", "--reservations", "64K,64K", "--quiet")
    check(done.returncode == 0 and "nothing has to leave after frame 3" in done.stdout
          and "; with 5 % less the reservations cannot be kept;" in done.stdout,
          "advice_where_less_cannot_keep_the_reservations", done)
    expect("weights_of_too_many", 2, r"--weights: '1,2' has 2 numbers for 1 trace", small, "--weights", "1,2")
    for name, path in (("no_folder", folder / "no/such"), ("a_folder", folder), ("file_in_a_file", small / "x")):
        done = ferry(NEVERBALL, "--json", path)
        check(done.returncode == 2 and "cannot write" in done.stderr and done.stdout == "", f"{name}_is_told_of_before_all", done)
    outputs_are_nothing_else(small)
    empty = folder / "empty.memtrace"
    empty.write_text("")
    done = ferry(empty, "--vram", "64K")
    check(done.returncode in (0, 2), "empty_trace_has_an_answer", done)
    expect("empty_trace_has_no_curve", 2, "holds no event", empty, "--sweep", "--quiet")
    empty.write_text("f\n")
    expect("trace_of_nothing_has_no_curve", 2, "no allocation is ever made", empty, "--sweep", "--quiet")
    expect("trace_of_nothing_has_no_size", 2, "is no size: no allocation is ever made", empty, "--quiet")
    expect("points_of_a_sweep", 2, "--points", small, "--sweep", "--points", "1")
    expect("full_disk", 4, "cannot write /dev/full", small, "--sweep", "--quiet", "--svg", "/dev/full")
    done = ferry(small, "--sweep", "--quiet", "--no-advice")
    check(done.returncode == 0 and "12.0 KiB" in done.stdout, "sweep_of_one_size", done)


def the_chapters_policy():
    """The policy of docs/manual/policies.md, put in as the page says: the tool's own objects, and that file beside them."""
    page = (ROOT / "docs/manual/policies.md").read_text()
    source = re.search(r"((?:^    .*\n|^\n)*^    const struct ferry_lab_policy (?:^    .*\n|.*\n)*?.*choose = choose\};)", page, re.M)[1]
    made = folder / "chapter/lab/policies"
    made.mkdir(parents=True)
    (made / "largest_old.c").write_text(re.sub(r"^    ", "", source, flags=re.M) + "\n")
    listed = (ROOT / "host-driver/lab/policies/policies.h").read_text()
    (made / "policies.h").write_text(listed.replace("X(furthest)", "X(furthest) X(largest_old) X(lies) X(thief) X(kernel)"))
    (made / "lies.c").write_text("""#include "lab/policy.h"
        static uint32_t choose(struct ferry_lab_memory *memory)
        {
            for (size_t i = 0; i < memory->item_count; i++)
                memory->items[i].pinned = false;
            return memory->placed[0];
        }
        extern const struct ferry_lab_policy ferry_lab_lies;
        const struct ferry_lab_policy ferry_lab_lies = {.name = "lies", .says = "all may leave", .choose = choose};
        """)
    (made / "thief.c").write_text("""#include "lab/policy.h"
        static uint32_t choose(struct ferry_lab_memory *memory)
        {
            for (size_t i = 0; i < memory->placed_count; i++)
                if (memory->items[memory->placed[i]].program != memory->program)
                    return memory->placed[i];
            return FERRY_LAB_NONE;
        }
        extern const struct ferry_lab_policy ferry_lab_thief, ferry_lab_kernel;
        const struct ferry_lab_policy ferry_lab_thief = {.name = "thief", .says = "others first", .choose = choose};
        const struct ferry_lab_policy ferry_lab_kernel = {.name = "kernel", .says = "the same", .one_list = true, .choose = choose};
        """)
    objects = [o for room in ("tools", "tools/import", "lab", "lab/policies") for o in (ROOT / "build/obj/host-driver" / room).glob("*.o")
               if o.name != "bench.o"]
    libraries = subprocess.run(["make", "-s", "print-libs"], capture_output=True, text=True, check=True).stdout.split()
    tool = folder / "chapter/ferry"
    includes = [f"-I{folder}/chapter", *(f"-I{ROOT}/{part}" for part in ("host-driver", "host-driver/include", "build/generated"))]
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", *includes, "-c",
                    *(made / f"{name}.c" for name in ("largest_old", "lies", "thief")), ROOT / "host-driver/lab/bench.c"],
                   check=True, cwd=made)
    objects += [made / f"{name}.o" for name in ("largest_old", "lies", "thief", "bench")]
    subprocess.run(["c++", *objects, "build/libferry.a", *libraries, "-o", tool], check=True)
    done = subprocess.run([tool, "policy", NEVERBALL, "--policy", "lru,largest-old,furthest", "--quiet"], capture_output=True,
                          text=True, check=False)
    check(done.returncode == 0 and re.search(r"^  largest-old +[\d.]+ [MG]iB", done.stdout, re.M),
          "the_chapters_policy_stands_in_the_table", done)
    # A policy that writes in what it is shown is stopped all the same; told is what the trace calls it.
    own, other = folder / "own.memtrace", folder / "other.memtrace"
    own.write_text(f"a 70 {PAGE} buffer\nd 70\nf\nx 70\n" + "f\n" * 9)
    other.write_text(f"f\na 41 {PAGE} buffer\na 42 {PAGE} buffer\na 43 {PAGE} buffer\nf\nf\nf\nf\nd 41 42\nf\nd 41 43\nf\n")
    done = subprocess.run([tool, "policy", own, other, "--policy", "lies", "--vram", "8K", "--quiet"], capture_output=True, text=True,
                          check=False)
    want = (r"other.memtrace, line 11: policy lies names an allocation that the job under way needs \(number \d\) in frame \d+ .*: "
            r"allocation 41 of \S*other.memtrace, made in line 2$")
    check(done.returncode == 1 and re.search(want, done.stderr.strip()),
          "a_policy_that_lies_is_stopped", done)
    # The first program draws one of its two; then the second needs room, with one of its own that could leave.
    own.write_text(f"a 70 {PAGE} buffer\nd 70\nf\nd 70\nf\n")
    other.write_text(f"a 41 {PAGE} buffer\na 42 {PAGE} buffer\nd 41\nf\nd 42\nf\n")
    runs = [subprocess.run([tool, "policy", own, other, "--policy", name, "--vram", "8K", "--quiet"], capture_output=True, text=True,
                           check=False) for name in ("thief", "kernel", "largest-old")]
    want = (r"other.memtrace, line 5: policy thief names a foreign allocation, of another program, \(number 0\) in frame \d+ .*: "
            r"allocation 70 of \S*own.memtrace, made in line 1$")
    check(runs[0].returncode == 1 and re.search(want, runs[0].stderr.strip()) and runs[1].returncode == runs[2].returncode == 0,
          "a_policy_that_names_a_foreign_victim_is_stopped", runs)


bad_input()
the_chapters_policy()
sys.exit(end())
