#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `ferry policy` refuses: sizes, names, files, and policies of one's own that are wrong; and one that is right, and what it is
shown, against a second implementation on random traces (FERRY_SEED)."""
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path.cwd() / "tests/tools"))
from laboratory import (  # noqa: E402
    FERRY, LEAVES, NEVERBALL, PAGE, ROOT, SEED, World, check, end, expect, ferry, folder, ours, random_trace)

PARTS = "largest_old", "lies", "thief", "witness", "scribbler"
# Least recently used, each of them: one that writes down all that it is shown, and one that writes over all but its items.
WITNESS = """#include "lab/policy.h"
#include <inttypes.h>
#include <stdio.h>
static void used(struct ferry_lab_memory *memory, struct ferry_lab_item *item)
{
    (void)memory;
    item->note[0]++;
}
static int compare(const struct ferry_lab_memory *memory, uint32_t a, uint32_t b)
{
    const struct ferry_lab_item *x = &memory->items[a], *y = &memory->items[b];
    return x->used != y->used ? x->used < y->used : x->made < y->made;
}
static uint32_t choose(struct ferry_lab_memory *memory)
{
    uint32_t best = FERRY_LAB_NONE;
    fprintf(stderr, "saw {\\"now\\": %" PRIu64 ", \\"frame\\": %" PRIu64 ", \\"pages\\": %" PRIu64 ", \\"free\\": %" PRIu64,
            memory->now, memory->frame, memory->pages, memory->free_pages);
    fprintf(stderr, ", \\"own_first\\": %d, \\"program\\": %" PRIu32 ", \\"wanted\\": %" PRIu64 ", \\"placed\\": [",
            memory->own_first, memory->program, memory->wanted);
    for (uint32_t i = 0, first = 1; i < memory->item_count; i++)
        for (size_t k = 0; k < memory->placed_count; k++)
            if (memory->placed[k] == i) {
                fprintf(stderr, "%s%" PRIu32, first ? "" : ", ", i);
                first = 0;
                if (!memory->items[i].pinned && (best == FERRY_LAB_NONE || compare(memory, i, best)))
                    best = i;
            }
    fputs("], \\"items\\": [", stderr);
    for (uint32_t i = 0; i < memory->item_count; i++) {
        const struct ferry_lab_item *m = &memory->items[i];
        fprintf(stderr, "%s[%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRId64 ", %" PRIu32 ", %d, %d, %d, %" PRIu64 ", %" PRIu64
                "]",
                i ? ", " : "", m->pages, m->used, m->used_frame, m->came, (int64_t)m->next, m->program, m->in_place, m->dirty,
                m->pinned, m->note[0], m->made);
    }
    fputs("]}\\n", stderr);
    return best;
}
extern const struct ferry_lab_policy ferry_lab_witness, ferry_lab_seer;
const struct ferry_lab_policy ferry_lab_witness = {
    .name = "witness", .says = "writes it down", .one_list = true, .used = used, .choose = choose};
const struct ferry_lab_policy ferry_lab_seer = {
    .name = "seer", .says = "the same", .knows_future = true, .one_list = true, .used = used, .choose = choose};
"""
SCRIBBLER = """#include "lab/policy.h"
static struct ferry_lab_item mine[1];
static void ruin(struct ferry_lab_memory *memory)
{
    *memory = (struct ferry_lab_memory){.items = mine, .item_count = 1, .pages = 1, .free_pages = UINT64_MAX, .now = 7,
                                        .frame = 999999, .program = 77, .own_first = true, .wanted = 1};
}
static void used(struct ferry_lab_memory *memory, struct ferry_lab_item *item)
{
    (void)item;
    ruin(memory);
}
static uint64_t unused_for(const struct ferry_lab_memory *memory, const struct ferry_lab_item *item)
{
    return memory->now - item->used;
}
static uint32_t choose(struct ferry_lab_memory *memory)
{
    uint32_t chosen = ferry_lab_highest(memory, unused_for);
    ruin(memory);
    return chosen;
}
extern const struct ferry_lab_policy ferry_lab_scribbler;
const struct ferry_lab_policy ferry_lab_scribbler = {
    .name = "scribbler", .says = "writes over it", .one_list = true, .used = used, .choose = choose};
"""


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


ODD = b"\x1b]0;owned\x07\x1b[31m\n\x7f\xc2\x9b2J\x9b2J \xc3\xbc\xe2\x82\xac"
SEEN = b"?]0;owned??[31m???2J?2J \xc3\xbc\xe2\x82\xac"


def names_are_not_obeyed():
    """A terminal gets no control character of a name (C0, DEL, C1 as UTF-8 and as a byte), and everything else as it is."""
    def run(*arguments):
        return subprocess.run([os.fsencode(word) for word in (FERRY, *arguments)], capture_output=True, check=False, timeout=120)

    def clean(said):
        return not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|[^\xc3\xe2\x82]\x9b", said) and not said.decode().isascii()

    text = f"a 1 {PAGE} buffer\nd 1\nf\na 2 {PAGE} buffer\nd 2\nf\nd 1\nf\nd 1 2\nf\nd 1\nf\nd 2\nf\n"
    names = [os.path.join(os.fsencode(folder), ODD + end) for end in (b"1.memtrace", b"2.memtrace")]
    for name in names:
        Path(os.fsdecode(name)).write_text(text)
    for count in (1, 2):
        done = run("policy", *names[:count], "--vram", "8K", "--policy", "lru", "--quiet")
        first = done.stdout.splitlines()[0]
        want = b", ".join(SEEN + end for end in (b"1.memtrace", b"2.memtrace")[:count]) + b": "
        check(done.returncode == 0 and first.startswith(want) and clean(done.stdout) and not done.stderr,
              f"the_first_line_of_{count}_is_clean", done)
    # An output's, and complaints, of any length.
    pages = run("report", names[0] + b".html", names[0], "--quiet")
    check(pages.returncode == 0 and SEEN in pages.stdout and clean(pages.stdout), "the_page_is_named_clean", pages)
    gone = run("policy", names[0] + b"gone")
    check(gone.returncode == 2 and SEEN + b"1.memtracegone: " in gone.stderr and gone.stderr.count(b"\n") == 1 and clean(gone.stderr),
          "a_complaint_is_one_clean_line", gone)
    long = run("policy", b"x" * 3000 + ODD + b"y" * 900)
    check(long.returncode == 2 and b"x" * 3000 + SEEN + b"y" * 900 in long.stderr and clean(long.stderr), "a_long_one_is_whole", long)
    done = run("policy", names[0], "--vram", b"8K" + ODD)
    check(done.returncode == 2 and b"'8K" + SEEN[:12] in done.stderr and done.stderr.count(b"\n") == 1 and b"\x1b" not in done.stderr,
          "a_size_is_told_clean", done)
    scene = os.path.join(os.fsencode(folder), ODD + b".txt.gz")
    shutil.copy(ROOT / "tests/data/scene/scene.txt.gz", scene)
    done = run("trace", "import", scene, "-o", "/dev/null", "--quiet")
    loud = run("trace", "import", scene, "-o", "/dev/null")
    check(done.returncode == loud.returncode == 0 and SEEN in loud.stderr and clean(loud.stderr), "an_import_is_told_of_clean",
          (done, loud))
    for name in names:
        os.unlink(name)


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
    vast = folder / "vast.memtrace"
    vast.write_text("".join(f"a {i} {1 << 40} buffer\n" for i in range(300)) + "f\n" + "d 1\nf\n" * 5)
    expect("more_than_there_are_addresses", 4, "no memory to play .*vast.memtrace: what lives at once, 300.0 TiB, takes as many", vast)
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
    expect("points_of_no_sweep", 2, "--points .*--sweep", small, "--points", "5")
    expect("points_beside_sizes", 2, "--points and --vram both say", small, "--sweep", "--vram", "64K", "--points", "5")
    idle, rare = folder / "idle.memtrace", folder / "rare.memtrace"
    idle.write_text(f"a 1 {2 * PAGE} buffer\nw 1 0 {2 * PAGE}\n" + "f\n" * 5)
    rare.write_text(idle.read_text() + "d 1\nf\n")
    for name, trace, factor, why in (
            ("usual_size", idle, None, "0.95W has no W to be a factor of, no GPU job names an allocation; .*whole pages"),
            ("factor", idle, "0.5F", r"0.5F has no F to be a factor of, no GPU job names an allocation; "
             r"from 4.0 KiB \(4K, a page\) to 8.0 KiB"),
            ("median", rare, "2W", r"2W has no W .*, half of all frames name no allocation; from 8.0 KiB \(8K, the largest job\)")):
        expect(f"{name}_of_nothing", 2, why, trace, "--quiet", *(["--vram", factor] if factor else []))
    done = ferry(rare, "--quiet")
    check(done.returncode == 0 and "8.0 KiB (1.00F)" in done.stdout, "a_rare_job_has_a_usual_size", done)
    # Cut off in the frame that names most, or in the first one that names anything.
    cut = folder / "cut.memtrace"
    for name, frames in (("largest", "d 1\n" + "f\n" * 5), ("only", "f\n")):
        cut.write_text(f"a 1 {PAGE} buffer\na 2 {2 * PAGE - 1} buffer\n{frames}d 1 2\n")
        done = ferry(cut, "--quiet")
        check(done.returncode == 0 and "\n12.0 KiB of video memory" in done.stdout,
              f"the_{name}_job_behind_the_last_frame_has_a_usual_size", done)
    expect("largest_frame_of_nothing", 2, "0.8F has no F .*, no frame names an allocation", cut, "--quiet", "--vram", "0.8F")
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
    (made / "policies.h").write_text(listed.replace(
        "X(furthest)", "X(furthest) X(largest_old) X(lies) X(thief) X(kernel) X(witness) X(seer) X(scribbler)"))
    (made / "witness.c").write_text(WITNESS)
    (made / "scribbler.c").write_text(SCRIBBLER)
    (made / "lies.c").write_text("""#include "lab/policy.h"
        static uint32_t choose(struct ferry_lab_memory *memory)
        {
            for (size_t i = 0; i < memory->item_count; i++)
                memory->items[i].pinned = false;
            memory->frame = 999999;
            memory->wanted = 999999;
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
                    *(made / f"{name}.c" for name in PARTS), ROOT / "host-driver/lab/bench.c"],
                   check=True, cwd=made)
    objects += [made / f"{name}.o" for name in (*PARTS, "bench")]
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
    want = (r"other.memtrace, line 11: policy lies names an allocation that the job under way needs \(number 1\) in frame 8 to make "
            r"room for 4096 bytes: allocation 41 of \S*other.memtrace, made in line 2$")
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
    return tool


def played(tool, *arguments):
    """The run of one policy, and what a witness among them wrote down each time that it was asked."""
    path = folder / "shown.json"
    done = subprocess.run([tool, "policy", *map(str, arguments), "--no-advice", "--quiet", "--json", path], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"FERRY_SEED={SEED}: {done.args}: {done.returncode}: {done.stderr[-1000:]}")
    run = json.loads(path.read_text())["runs"][0]
    saw = [json.loads(line[4:]) for line in done.stderr.splitlines() if line.startswith("saw ")]
    return {name: value for name, value in run.items() if name not in ("policy", "says", "seconds")}, saw


def shown_to(world, future, written):
    """What policy.h says that a policy is shown when it has to choose; None where it says nothing."""
    job, items = world.jobs[world.now - 1], [[0] * 11 for _ in range(max(world.place.values()) + 1)]
    for n in world.place.keys() - world.gone:
        here, after = n in world.here, world.next_use(n)
        come = (after + 1 if after < 1 << 60 else -1) if here and n not in job else None
        uses = sum(n in before for before in world.jobs[:world.now - 1])
        items[world.place[n]] = [
            world.size[n], world.used.get(n, 0), world.used_frame.get(n, 0), world.here.get(n), come if future else 0, 0, int(here),
            int(world.dirty[n]), int(n in job), uses, n + 1]
    free = world.pages - sum(world.size[n] for n in world.here)
    written.append({"now": world.now, "frame": world.frame, "pages": world.pages, "free": free, "own_first": 0, "program": 0,
                    "placed": sorted(world.place[n] for n in world.here), "items": items})


def is_as_told(saw, told):
    return ({**saw, "items": 0, "wanted": 0} == {**told, "items": 0, "wanted": 0} and len(saw["items"]) == len(told["items"]) and all(
        want in (None, have) for one, other in zip(saw["items"], told["items"]) for have, want in zip(one, other, strict=True)))


def what_a_policy_is_shown(tool):
    """All that policy.h says and nothing of what is yet to come; what it writes there changes nothing but its own two words."""
    path = folder / "shown.memtrace"
    for seed in (1, SEED):
        print(f"FERRY_SEED={seed}")
        chance, asked, wrong, ruined = random.Random(seed), 0, [], []
        for _ in range(4):
            text, pages = random_trace(chance, 25), chance.randint(36, 44)
            path.write_text(text)
            for name in ("witness", "seer"):
                written = []
                World(text, pages, lambda w, who: (shown_to(w, name == "seer", written), LEAVES["lru"](w, who))[1])
                saw = played(tool, path, "--vram", f"{pages * 4}K", "--policy", name)[1]
                asked += len(saw)
                wrong += [(name, one, other) for one, other in zip(saw, written) if not is_as_told(one, other)]
                wrong += [(name, len(saw), len(written))] * (len(saw) != len(written))
            figures = [played(tool, path, "--vram", f"{pages * 4}K", "--policy", name)[0] for name in ("lru", "scribbler", "witness")]
            ruined += [figures] * (figures[0] != figures[1] or figures[0] != figures[2])
        day = "fixed" if seed == 1 else "of_the_day"
        check(not wrong and (asked > 20 or seed != 1), f"a_policy_is_shown_what_its_header_says_seed_{day}", (asked, wrong[:1]))
        check(not ruined, f"a_policy_deceives_itself_alone_seed_{day}", ruined[:1])
    # The first program's second allocation is the last that is made, and its number is what that says.
    one, two = folder / "one.memtrace", folder / "two.memtrace"
    one.write_text(f"a 70 {PAGE} buffer\nd 70\nf\na 71 {PAGE} buffer\nd 71\nf\na 72 {PAGE} buffer\nf\n")
    two.write_text(f"a 41 {PAGE} buffer\na 42 {PAGE} buffer\nd 41\nf\nf\na 43 {PAGE} buffer\nf\n")
    saw = played(tool, one, two, "--vram", "8K", "--policy", "witness")[1]
    check(len(saw) == 1 and [item[5] for item in saw[0]["items"]] == [0, 1, 1, 0] and saw[0]["wanted"] == 1 and saw[0]["placed"] == [0, 1],
          "numbers_are_given_as_allocations_are_made", saw)
    runs = [played(tool, NEVERBALL, NEVERBALL, "--vram", "9M", "--policy", name)[0] for name in ("lru", "scribbler")]
    check(runs[0] == runs[1], "a_policy_of_several_programs_deceives_itself_alone", runs)


names_are_not_obeyed()
bad_input()
what_a_policy_is_shown(the_chapters_policy())
sys.exit(end())
