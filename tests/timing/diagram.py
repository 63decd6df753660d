#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Timing diagrams of the manual, from what the program `moments` read out of real waves.

diagram.py write MOMENTS.txt PAGE.md      writes the diagrams between the page's markers
diagram.py check MOMENTS.txt PAGE.md      says where the page no longer tells what happens: a row that appears or is gone, or
                                          two rows whose first cycles changed places. How many cycles lie between does not
                                          matter, so a faster device does not make the page stale.

A row of a diagram is a signal. It is drawn over the stretches in which it is busy; gaps of a few cycles inside a stretch are
bridged. A column begins where some row begins or ends a stretch, and has that cycle at its head: time is not to scale.
"""
import re
import sys

BRIDGE = 4      # Cycles of a gap inside one stretch,
BURSTS = 80     # and for the engine's buses, where bursts follow each other.
APART = 6       # Cycles between two rows' beginnings from which on their order must hold.
COLUMNS = 20    # Columns of one strip; a longer diagram goes on below.
WIDTH = 5

# What each moment shows: its title, the signals with their names in the diagram.
COMMON = {"core_busy": "firmware", "job_valid": "job queued"}
ENGINE = {"engine_list_valid": "page list", "engine_host_arvalid": "AR host", "engine_host_rvalid": "R host",
          "engine_local_arvalid": "AR local", "engine_local_rvalid": "R local", "engine_local_wvalid": "W local",
          "engine_local_bvalid": "B local", "engine_busy": "engine busy"}
END = {"post_awvalid": "record posted", "entry_retired": "entry retired"}
FETCH = {"ring_write": "doorbell", "fetch_arvalid": "fetch AR", "fetch_rvalid": "fetch R", "command_write_valid": "into slot",
         "slots_ready": "slot ready"}
MOMENTS = {
    "doorbell": ("Doorbell to first read",
                 "One COPY of 64 bytes from host memory. The ring entry is fetched, then its buffer; the firmware checks the packet\n"
                 "and queues the job; the engine reads, writes, and the entry is retired with its record.",
                 {**FETCH, **COMMON, **ENGINE, **END}),
    "page-in": ("Page-in", "COPY_PAGES of two host pages that do not lie side by side: the engine reads the list out of the slot,\n"
                "and its writes run while its reads go on.", {"slots_ready": "slot ready", **COMMON, **ENGINE, **END}),
    "fault": ("Fault", "A COPY from a bus address that the host refuses: the fault is held for the firmware, which writes the\n"
              "record; the slot is poisoned until it is given back.",
              {**COMMON, "engine_host_arvalid": "AR host", "engine_host_rvalid": "R host", "fault_valid": "fault",
               "poison": "slot poisoned", "fault_clear": "fault taken", **END, "interrupt_status": "interrupt"}),
    "preemption": ("Preemption", "A paging buffer comes while a user's COPY of 16 KiB runs.", {**FETCH, **COMMON, **ENGINE, **END}),
    "reset": ("Engine reset", "The host resets the engine in the middle of a COPY of 64 KiB: no new burst goes out, those under way end,\n"
              "and the entry is retired as aborted.",
              {"reset_request": "reset asked", "resetting": "resetting", **COMMON, **ENGINE, "poison": "slot poisoned", **END}),
}
BEGIN, FINISH = "<!-- moments -->", "<!-- /moments -->"


def add(rows, signal, begin, end):
    """One more busy stretch of a signal."""
    stretches = rows.setdefault(signal, [])
    if stretches and begin - stretches[-1][1] <= (BURSTS if signal in ENGINE else BRIDGE):
        begin = stretches.pop()[0]
    if end > begin:
        stretches.append((begin, end))


def read(path):
    """{moment: {signal: [(begin, end)]}}"""
    moments, rows, since = {}, None, {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if words[0] == "moment":
                rows, since = moments.setdefault(words[1], {}), {}
                continue
            if words[0] == "end":
                for signal, begin in since.items():
                    add(rows, signal, begin, int(words[1]))
                continue
            signal, cycle, value = words[0], int(words[1]), int(words[2])
            if value:
                since[signal] = cycle
            elif signal in since:
                add(rows, signal, since.pop(signal), cycle)
    return moments


def strips(rows, names):
    """The lines of one diagram."""
    shown = [(names[signal], rows[signal]) for signal in names if rows.get(signal)]
    marks = sorted({cycle for _, stretches in shown for stretch in stretches for cycle in stretch})
    label = max(len(name) for name, _ in shown)
    lines = []
    for first in range(0, len(marks) - 1, COLUMNS):
        columns = marks[first:first + COLUMNS]
        lines.append("cycle".ljust(label) + " " + "".join(str(mark).ljust(WIDTH) for mark in columns))
        for name, stretches in shown:
            cells = ["#" * WIDTH if any(begin <= mark < end for begin, end in stretches) else ".".ljust(WIDTH) for mark in columns]
            if any("#" in cell for cell in cells):
                lines.append((name.ljust(label) + " " + "".join(cells)).rstrip())
        lines.append("")
    return lines[:-1]


def page_part(moments):
    """Everything between the markers."""
    lines = [BEGIN]
    for moment, (title, text, names) in MOMENTS.items():
        lines += ["", f"## {title}", "", text, "", "```text", *strips(moments[moment], names), "```"]
    return "\n".join(lines + ["", FINISH])


def firsts_of(part):
    """{title: {row: first cycle}} of a page's part."""
    result = {}
    for title, block in re.findall(r"## (.*?)\n.*?```text\n(.*?)```", part, re.DOTALL):
        firsts = result.setdefault(title, {})
        heads = []
        for line in block.splitlines():
            if line.startswith("cycle"):
                heads = [(found.start(), int(found.group())) for found in re.finditer(r"\d+", line)]
            elif line and "#" in line:
                at = line.index("#")
                firsts.setdefault(line[:heads[0][0]].strip(), next(cycle for place, cycle in heads if place == at))
    return result


def split(page):
    """A page's text before, between and behind the markers."""
    if page.count(BEGIN) != 1 or page.count(FINISH) != 1:
        raise SystemExit(f"diagram.py: the page has not {BEGIN} and {FINISH} once each")
    head, rest = page.split(BEGIN)
    part, tail = rest.split(FINISH)
    return head, BEGIN + part + FINISH, tail


def differences(old, new):
    """What the old diagrams tell that is no longer so."""
    found = []
    for title in sorted(set(old) | set(new)):
        before, now = old.get(title, {}), new.get(title, {})
        found += [f"{title}: '{row}' is not drawn" for row in now if row not in before]
        found += [f"{title}: '{row}' is drawn and never busy" for row in before if row not in now]
        both = [row for row in before if row in now]
        found += [f"{title}: '{late}' comes before '{early}' now" for early in both for late in both
                  if before[late] - before[early] >= APART and now[early] - now[late] >= APART]
    return found


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("write", "check"):
        raise SystemExit("usage: diagram.py write|check MOMENTS.txt PAGE.md")
    moments = read(sys.argv[2])
    missing = [name for name in MOMENTS if name not in moments]
    if missing:
        raise SystemExit(f"diagram.py: {sys.argv[2]} has no moment {missing[0]}")
    with open(sys.argv[3], encoding="utf-8") as file:
        head, part, tail = split(file.read())
    if sys.argv[1] == "write":
        with open(sys.argv[3], "w", encoding="utf-8") as file:
            file.write(head + page_part(moments) + tail)
        return 0
    stale = differences(firsts_of(part), firsts_of(page_part(moments)))
    for line in stale:
        print(f"[  FAILED  ] {line}")
    if not stale:
        print("[       OK ] timing_diagrams_tell_what_happens")
    print(f"{0 if stale else 1} passed, {len(stale)} failed; make timing-diagrams draws them anew")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
