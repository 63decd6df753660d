#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The collector of benchmark rows: what it writes, and what it refuses."""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

COLLECT = Path.cwd() / "tests/bench/collect.py"
results = []


def check(good, name, detail=""):
    results.append(bool(good))
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}")


def run(*arguments):
    return subprocess.run([sys.executable, COLLECT, *map(str, arguments)], capture_output=True, text=True, check=False)


MARKED = "# x\n<!-- bench -->\nold\n<!-- /bench -->\nrest\n"


def fresh(rows, readme=MARKED):
    folder = Path(tempfile.mkdtemp(prefix="ferry-bench-"))
    (folder / "rows").mkdir()
    for name, content in rows.items():
        (folder / "rows" / name).write_text(content if isinstance(content, str) else json.dumps(content))
    (folder / "README.md").write_text(readme)
    (folder / "figures.md").write_text(MARKED)
    goals = {"zebra": {"goal": 1, "peer": 1234.5, "by": "a horse"}, "lut/cpu": {"why": "part"}, "replay/link-share": {"why": "one"}}
    (folder / "goals.json").write_text(json.dumps(goals))
    return folder, collect_into_pages(folder)


def collect_into_pages(folder):
    done = run("collect", folder / "rows", folder / "bench.json", folder / "bench.md", "--goals", folder / "goals.json")
    return done if done.returncode else run("pages", folder / "bench.md", folder / "figures.md", folder / "README.md", "--goals",
                                               folder / "goals.json")


def versions_of_a_tool():
    """Two versions of one tool: both figures where they differ enough and are of the same sources."""
    folder = Path(tempfile.mkdtemp(prefix="ferry-bench-"))
    (folder / "rows").mkdir()
    (folder / "a.v").write_text("one")
    (folder / "none.json").write_text("{}")

    def counted(tool, device, cpu):
        rows = [{"name": "lut/device", "value": device, "unit": "LUT", "tool": tool},
                {"name": "lut/cpu", "value": cpu, "unit": "LUT", "tool": tool}]
        (folder / "rows/lut.json").write_text(json.dumps(rows))

    def shown():
        done = run("collect", folder / "rows", folder / "out.json", folder / "out.md", "--figures", folder / "luts.json",
                   "--sources", folder / "a.v", "--goals", folder / "none.json")
        check(done.returncode == 0, "versions_are_collected", done.stderr)
        return (folder / "out.md").read_text(), done.stderr

    counted("Yosys 0.52", 15449, 1888)
    done = run("record", folder / "rows/lut.json", folder / "luts.json", "--sources", folder / "a.v")
    check(done.returncode == 0, "figures_are_recorded", done.stderr)
    check("| `lut/device` | 15,449 |  |  |  | LUT by Yosys 0.52 |" in shown()[0], "a_version_is_named_and_not_shown_twice")
    counted("Yosys 0.23", 16241, 1900)
    run("record", folder / "rows/lut.json", folder / "luts.json", "--sources", folder / "a.v")
    table, _ = shown()
    check("| `lut/device` | 16,241 (15,449 by Yosys 0.52) |  |  |  | LUT by Yosys 0.23 |" in table, "both_figures_are_shown", table)
    check("| `lut/cpu` | 1,900 |  |  |  | LUT by Yosys 0.23 |" in table, "figures_that_hardly_differ_are_shown_once", table)
    counted("Yosys 0.52", 15449, 1888)
    check("15,449 (16,241 by Yosys 0.23)" in shown()[0], "the_other_way_round_too")
    (folder / "a.v").write_text("two")
    table, said = shown()
    check("| 15,449 |" in table and "by Yosys 0.23, they are of another RTL" in said, "figures_of_another_rtl_are_left_out", said)
    (folder / "luts.json").write_text("{")
    done = run("collect", folder / "rows", folder / "out.json", folder / "out.md", "--figures", folder / "luts.json")
    check(done.returncode == 1 and len(done.stderr.splitlines()) == 1, "figures_that_are_no_json", done.stderr)


def every_source_counts():
    folder = Path(tempfile.mkdtemp(prefix="ferry-bench-"))
    (folder / "lut.json").write_text(json.dumps([{"name": "lut/x", "value": 1, "unit": "LUT", "tool": "t"}]))
    names = [folder / f"{name}.v" for name in "abcdefghijklmnopq"]

    def digest():
        run("record", folder / "lut.json", folder / "luts.json", "--sources", *names)
        return json.loads((folder / "luts.json").read_text())["t"]["sources"]

    for name in names:
        name.write_text("old")
    seen = [digest()]
    for name in names:
        name.write_text(f"new {name.name}")
        seen.append(digest())
    check(len(set(seen)) == len(names) + 1, "every_source_counts", seen)
    names.reverse()
    check(digest() == seen[-1], "the_order_of_the_sources_does_not", seen)


def the_bound_of_three_per_cent():
    folder = Path(tempfile.mkdtemp(prefix="ferry-bench-"))
    (folder / "rows").mkdir()
    (folder / "rows/a.json").write_text(json.dumps([{"name": "lut/x", "value": 1000, "unit": "LUT", "tool": "new"},
                                                    {"name": "lut/y", "value": 1000, "unit": "LUT", "tool": "new"}]))
    run("record", folder / "rows/a.json", folder / "luts.json", "--sources")
    figures = json.loads((folder / "luts.json").read_text())
    figures["old"] = {"sources": figures.pop("new")["sources"], "figures": {"lut/x": 1030.5, "lut/y": 971}}
    (folder / "luts.json").write_text(json.dumps(figures))
    run("collect", folder / "rows", folder / "out.json", folder / "out.md", "--figures", folder / "luts.json")
    text = (folder / "out.md").read_text()
    check("1,000 (1,030.5 by old)" in text and "971" not in text, "more_than_three_per_cent", text)


def main():
    lut = {"name": "lut/cpu", "value": 1573, "unit": "LUT"}
    link = {"name": "replay/link-share", "value": 0.9312, "unit": "of cycles", "floor": 1.0}
    other = {"name": "zebra", "value": 1.5, "unit": "ms"}
    folder, done = fresh({"a.json": [other, lut], "b.json": [link]})
    written = json.loads((folder / "bench.json").read_text())
    check(done.returncode == 0 and [row["name"] for row in written] == ["lut/cpu", "replay/link-share", "zebra"],
          "rows_are_put_together_in_order", done.stderr)
    readme, figures = [(folder / name).read_text() for name in ("README.md", "figures.md")]
    for name, page in (("readme", readme), ("figures", figures)):
        check("| `replay/link-share` | 93.1 % |  | 100.0 % |  | of cycles |" in page and "| --- | ---: |" in page
              and "old" not in page and page.startswith("# x\n") and page.endswith("<!-- /bench -->\nrest\n"),
              f"the_table_in_{name}_is_rewritten_and_the_rest_kept", page)
    check("| `lut/cpu` | 1,573 |  |  |  | LUT |" in figures and "`lut/cpu`" not in readme, "what_is_no_headline_is_in_one_page", readme)
    check("| `zebra` | 1.50 | 1 |  | 1,234.5 (a horse) | ms |" in figures, "goals_and_peers_are_shown", figures)
    known = json.loads((COLLECT.parent / "goals.json").read_text())
    check(known and all(set(goal) <= {"goal", "why", "floor", "peer", "by"} and ("goal" in goal) != ("why" in goal)
                        and ("peer" in goal) == ("by" in goal) for goal in known.values()), "goals_are_well_formed", known)
    shown, few = [re.findall(r"^\| `([^`]+)` \|", Path(page).read_text().split("<!-- bench -->")[1].split("<!-- /bench -->")[0], re.M)
                  for page in ("docs/manual/figures.md", "README.md")]
    check(10 < len(few) < 40 and set(few) < set(shown), "the_readme_shows_some_of_them", few)
    check(len(shown) > 80 and not [name for name in shown if name not in known], "each_row_has_a_goal_or_says_why_not",
          [name for name in shown if name not in known])
    again = collect_into_pages(folder)
    check(again.returncode == 0 and (folder / "README.md").read_text() == readme and (folder / "figures.md").read_text() == figures,
          "a_second_run_changes_nothing")
    for name, rows, words, text in (
            ("same_name_twice", {"a.json": [lut], "b.json": [lut]}, "is in", None),
            ("no_json", {"a.json": "{"}, "no JSON", None),
            ("no_array", {"a.json": {"name": 1}}, "not an array", None),
            ("no_value", {"a.json": [{"name": "x", "unit": "y"}]}, "without name, value or unit", None),
            ("text_as_value", {"a.json": [{"name": "x", "unit": "y", "value": "3"}]}, "without name", None),
            ("no_number_as_value", {"a.json": '[{"name": "x", "unit": "y", "value": NaN}]'}, "without name", None),
            ("truth_as_value", {"a.json": [{"name": "x", "unit": "y", "value": True}]}, "without name", None),
            ("markers_the_wrong_way_round", {"a.json": [lut]}, "in this order", "<!-- /bench -->\n<!-- bench -->\n"),
            ("no_rows", {}, "no rows", None),
            ("neither_goal_nor_reason", {"a.json": [{"name": "horse", "unit": "y", "value": 1}]}, "neither a goal for h", None),
            ("no_markers", {"a.json": [lut]}, "are not there once each", "# x\n")):
        where, done = fresh(rows, *([text] if text else []))
        check(done.returncode == 1 and words in done.stderr and len(done.stderr.splitlines()) <= 2
              and (where / "figures.md").read_text() == MARKED, name, done.stderr)
    figures = folder / "figures.json"
    figures.write_text(json.dumps({"firmware_cycles_per_packet": 97.25, "link_share": 0.91234, "bus_share": 0.5, "sim_khz": 512.04,
                                   "bytes_in": 8192, "bytes_moved": 2048, "cycles": 1033}))
    in_model_1 = folder / "figures1.json"
    in_model_1.write_text('{"cycles": 1000}')
    with_host_tables = folder / "figures-tables.json"
    with_host_tables.write_text('{"cycles": 1291.25}')
    done = run("replay", figures, in_model_1, with_host_tables, folder / "out" / "replay.json")
    rows = {row["name"]: row["value"] for row in json.loads((folder / "out" / "replay.json").read_text())}
    check(done.returncode == 0 and rows == {"replay/firmware-cycles": 97.2, "replay/moved-inside": 0.25, "replay/link-share": 0.9123,
                                            "replay/bus-share": 0.5, "replay/cycles": 1.033,
                                            "replay/tables-in-system-memory": 1.25, "sim/khz": 512.0}, "rows_of_a_replay", rows)
    check(run("replay", folder / "nowhere", in_model_1, with_host_tables, figures).returncode == 1, "missing_figures")
    sums = {"bytes_in": 900, "bytes_out": 100}
    for name, content in (("protected", {"programs": [{"bytes_in": 1000, "bytes_out": 30}, sums]}), ("alone", sums),
                          ("equal", {"programs": [{"last_job_cycle": n} for n in (110, 100, 104)]})):
        (folder / name).write_text(json.dumps(content))
    done = run("programs", folder / "protected", folder / "alone", folder / "equal", folder / "out" / "programs.json")
    rows = {row["name"]: row["value"] for row in json.loads((folder / "out" / "programs.json").read_text())}
    check(done.returncode == 0 and rows == {"programs/protected": 1.03, "programs/slowest": 1.1}, "rows_of_programs", rows)
    versions_of_a_tool()
    every_source_counts()
    the_bound_of_three_per_cent()
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
