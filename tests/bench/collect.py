#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Collect what the benchmarks measured into build/bench.json and into a table, build/bench.md.

Each benchmark leaves an array of rows {"name", "value", "unit", "floor", "tool"} in build/bench/*.json; floor, the best that
is possible at all, and tool, what counted, may be missing. `replay` turns the figures of `ferry replay --json` into such
rows. `pages` puts the table between the markers <!-- bench --> and <!-- /bench --> of two pages, if goals.json knows each row: all of
it into the one, and the rows of HEADLINES into the other.

Yosys' versions count LUTs differently, and one machine has one version: `record` keeps the figures of the version at hand
in a file of the repository, with a digest of the RTL they are of. The table shows another version's figure beside the
measured one where they differ by more than DIFFERENCE and the RTL is the same.

goals.json beside this file holds by a row's name what it is to reach ("goal") or why it has no goal ("why"), the best figure measured
elsewhere ("peer", "by" whom), and the best possible ("floor") where the benchmark does not say it, in the row's unit.
"""
import argparse
import hashlib
import json
import math
import re
import sys
from pathlib import Path

DIFFERENCE = 0.03
BEGIN, END = "<!-- bench -->", "<!-- /bench -->"
# What a reader of the README is shown, in this order: of each subject what tells most, be it reached or not.
HEADLINES = ["queue/64B/rl20", "queue/4KiB/rl100", "misaligned/64KiB/rl20", "copy/4KiB/rl20", "gather/hit/rl20", "gather/miss/rl100",
             "walk/full/rl20", "tiled/4B/swizzle/rl20", "rectangle/64B-rows/rl20", "link/page-in/latency600", "link/page-out/latency600",
             "link/both/latency600", "link/uart-share", "preempt/worst", "firmware/cycles-per-packet", "replay/link-share",
             "paged/neverball/0.95W", "paged/qwen3/0.95W", "manager/make-resident-1e6", "manager/bytes-per-allocation", "lut/device",
             "bram/device", "lut/engine", "fmax/ecp5/device", "sim/khz"]
GOALS = Path(__file__).parent / "goals.json"


class BenchError(Exception):
    pass


def replay_rows(figures, in_model_1, with_host_tables):
    """The rows of a replay: in the default driver model, in model 1, and with page tables in system memory. A share's floor is 1:
    a beat in every cycle, TLP headers included."""
    return [
        {"name": "replay/firmware-cycles", "value": round(figures["firmware_cycles_per_packet"], 1), "unit": "cycles/packet"},
        {"name": "replay/moved-inside", "value": round(figures["bytes_moved"] / max(figures["bytes_in"], 1), 4),
         "unit": "of bytes in", "floor": 0.0},
        {"name": "replay/link-share", "value": round(figures["link_share"], 4), "unit": "of cycles", "floor": 1.0},
        {"name": "replay/bus-share", "value": round(figures["bus_share"], 4), "unit": "of cycles", "floor": 1.0},
        {"name": "replay/cycles", "value": round(figures["cycles"] / in_model_1["cycles"], 3), "unit": "of driver model 1"},
        {"name": "replay/tables-in-system-memory", "value": round(with_host_tables["cycles"] / figures["cycles"], 3),
         "unit": "of the cycles with tables in video memory", "floor": 1.0},
        {"name": "sim/khz", "value": round(figures["sim_khz"], 1), "unit": "kHz"},
    ]


def program_rows(protected, alone, equal):
    """Several recorded programs: what the first one pages beside the others, of what it pages alone; and how far apart equal
    ones end. Neither can be under 1 but by chance."""
    paged = [figures["bytes_in"] + figures["bytes_out"] for figures in (protected["programs"][0], alone)]
    ends = [program["last_job_cycle"] for program in equal["programs"]]
    return [
        {"name": "programs/protected", "value": round(paged[0] / paged[1], 3), "unit": "of alone", "floor": 1.0},
        {"name": "programs/slowest", "value": round(max(ends) / min(ends), 3), "unit": "of the fastest", "floor": 1.0},
    ]


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def read_rows(folder):
    rows, sources = [], {}
    for path in sorted(folder.glob("*.json")):
        try:
            content = json.loads(path.read_text())
        except ValueError as error:
            raise BenchError(f"{path}: no JSON: {error}") from error
        if not isinstance(content, list):
            raise BenchError(f"{path}: not an array of rows")
        for row in content:
            if not (isinstance(row, dict) and isinstance(row.get("name"), str) and is_number(row.get("value"))
                    and isinstance(row.get("unit"), str)):
                raise BenchError(f"{path}: a row without name, value or unit: {row!r}")
            if "floor" in row and row["floor"] is not None and not is_number(row["floor"]):
                raise BenchError(f"{path}: {row['name']}: the floor is no number")
            if row["name"] in sources:
                raise BenchError(f"{path}: {row['name']} is in {sources[row['name']]} too")
            sources[row["name"]] = path
            rows.append(row)
    return sorted(rows, key=lambda row: row["name"])


def show(value, unit):
    if value is None:
        return ""
    if unit == "of cycles":
        return f"{value * 100:.1f} %"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.{2 if abs(value) < 10 else 1}f}"


def digest(paths):
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(paths))).hexdigest()[:16]


def record(arguments):
    """Replaces the figures of the versions that counted these rows; those of other versions stay."""
    rows = [row for row in json.loads(arguments.rows.read_text()) if "tool" in row]
    figures = json.loads(arguments.figures.read_text()) if arguments.figures.exists() else {}
    for tool in {row["tool"] for row in rows}:
        figures[tool] = {"sources": digest(arguments.sources),
                         "figures": {row["name"]: row["value"] for row in rows if row["tool"] == tool}}
    arguments.figures.write_text(json.dumps(figures, indent=2, sort_keys=True) + "\n")


def other_versions(rows, arguments):
    """Figures of the same RTL by tools that did not count these rows: {name: [(tool, value)]}."""
    others = {}
    if arguments.figures is None or not arguments.figures.exists():
        return others
    here = {row.get("tool") for row in rows}
    for tool, recorded in json.loads(arguments.figures.read_text()).items():
        if tool in here:
            continue
        if recorded["sources"] != digest(arguments.sources):
            print(f"bench: left out the LUTs by {tool}, they are of another RTL: make bench-luts there", file=sys.stderr)
            continue
        for name, value in recorded["figures"].items():
            others.setdefault(name, []).append((tool, value))
    return others


def table(rows, others, goals):
    lines = ["| measured | value | goal | best possible | best elsewhere | unit |", "| --- | ---: | ---: | ---: | ---: | --- |"]
    for row in rows:
        value, unit = show(row["value"], row["unit"]), row["unit"]
        for tool, other in others.get(row["name"], []):
            if abs(other - row["value"]) > DIFFERENCE * row["value"]:
                value += f" ({show(other, unit)} by {tool})"
        goal = goals.get(row["name"], {})
        aim, floor, peer = show(goal.get("goal"), unit), show(row.get("floor", goal.get("floor")), unit), show(goal.get("peer"), unit)
        peer += f" ({goal['by']})" if "by" in goal else ""
        lines.append(f"| `{row['name']}` | {value} | {aim} | {floor} | {peer} | "
                     f"{unit}{' by ' + row['tool'] if 'tool' in row else ''} |")
    return "\n".join(lines)


def headlines(lines):
    """Of a table's lines the head and what HEADLINES names."""
    rows = {found[1]: line for line in lines.splitlines() if (found := re.match(r"\| `([^`]+)` \|", line))}
    return "\n".join(lines.splitlines()[:2] + [rows[name] for name in HEADLINES if name in rows])


def rewrite(text, lines):
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise BenchError(f"the markers {BEGIN} and {END} are not there once each, in this order")
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}\n{lines.strip()}\n{END}{rest.split(END)[1]}"


def collect(arguments):
    rows = read_rows(arguments.folder)
    if not rows:
        raise BenchError(f"no rows in {arguments.folder}")
    lines = table(rows, other_versions(rows, arguments), json.loads(arguments.goals.read_text()))
    arguments.output.write_text(json.dumps(rows, indent=2) + "\n")
    arguments.table.write_text(lines + "\n")
    print(lines)
    missing = [name for name in HEADLINES if name not in {row["name"] for row in rows}]
    if missing:
        print(f"bench: not measured: {', '.join(missing)}", file=sys.stderr)
    print(f"bench: {len(rows)} rows in {arguments.output} and {arguments.table}")


def pages(arguments):
    """Both or neither: nothing is written before both are known to be fit for it."""
    known, lines = json.loads(arguments.goals.read_text()), arguments.table.read_text()
    unknown = [name for name in re.findall(r"^\| `([^`]+)` \|", lines, re.M) if name not in known]
    if unknown:
        raise BenchError(f"{arguments.goals} has neither a goal for {', '.join(unknown)} nor why there is none")
    written = []
    for page, part in ((arguments.all, lines), (arguments.some, headlines(lines))):
        try:
            old = page.read_text()
            written.append((page, old, rewrite(old, part)))
        except (OSError, BenchError) as error:
            raise BenchError(f"{page}: {error}") from error
    for page, old, new in written:
        if new != old:
            page.write_text(new)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    replay = commands.add_parser("replay", help="rows of a replay's figures")
    for name in ("figures", "in_model_1", "with_host_tables", "rows"):
        replay.add_argument(name, type=Path)
    several = commands.add_parser("programs", help="rows of replays of several programs")
    for name in ("protected", "alone", "equal", "rows"):
        several.add_argument(name, type=Path)
    gather = commands.add_parser("collect", help="all rows into one file and one table")
    gather.add_argument("folder", type=Path)
    gather.add_argument("output", type=Path)
    gather.add_argument("table", type=Path)
    gather.add_argument("--goals", type=Path, default=GOALS)
    gather.add_argument("--figures", type=Path, help="what `record` wrote")
    gather.add_argument("--sources", type=Path, nargs="*", default=[], help="the RTL")
    keep = commands.add_parser("record", help="keeps the rows that a tool counted")
    keep.add_argument("rows", type=Path)
    keep.add_argument("figures", type=Path)
    keep.add_argument("--sources", type=Path, nargs="*", default=[])
    put = commands.add_parser("pages", help="the table into two pages")
    put.add_argument("table", type=Path)
    put.add_argument("all", type=Path, help="has all rows")
    put.add_argument("some", type=Path, help="has those that tell most")
    put.add_argument("--goals", type=Path, default=GOALS)
    arguments = parser.parse_args()
    try:
        if arguments.command == "replay":
            arguments.rows.parent.mkdir(parents=True, exist_ok=True)
            figures = [json.loads(path.read_text()) for path in (arguments.figures, arguments.in_model_1, arguments.with_host_tables)]
            arguments.rows.write_text(json.dumps(replay_rows(*figures), indent=2) + "\n")
        elif arguments.command == "programs":
            figures = [json.loads(path.read_text()) for path in (arguments.protected, arguments.alone, arguments.equal)]
            arguments.rows.parent.mkdir(parents=True, exist_ok=True)
            arguments.rows.write_text(json.dumps(program_rows(*figures), indent=2) + "\n")
        else:
            {"collect": collect, "record": record, "pages": pages}[arguments.command](arguments)
    except (OSError, ValueError, KeyError, BenchError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
