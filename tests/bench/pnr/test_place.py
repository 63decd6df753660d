#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Place and route of small modules: which rows come out, that nothing of them is removed, and what is refused."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

PLACE = Path.cwd() / "tests/bench/pnr/place.py"
SQUARE = """module square #(parameter BITS = 4, parameter KIND = "plain") (
    input wire clk, input wire rst, input wire [BITS-1:0] a, output reg [2*BITS-1:0] b);
always @(posedge clk) b <= rst ? 0 : KIND == "cube" ? a * a * a : a * a;
endmodule
"""
MEMORY = """module memory #(parameter BITS = 4) (
    input wire clk, input wire rst, input wire [7:0] a, input wire [BITS-1:0] d, output reg [BITS-1:0] b);
reg [BITS-1:0] words [0:63];
always @(posedge clk) begin words[a[5:0]] <= d; b <= words[a[7:2]]; end
endmodule
"""
BOTH_WAYS = "module both (input wire clk, inout wire pin);\nassign pin = clk ? 1'b1 : 1'bz;\nendmodule\n"
results = []


def check(good, name, detail=""):
    results.append(bool(good))
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}: {detail}")


def place(text, top, *settings, nextpnr="nextpnr-ice40", moves=0, spared=()):
    folder = Path(tempfile.mkdtemp(prefix="ferry-place-"))
    (folder / "top.v").write_text(text)
    arguments = ["--moves", str(moves)] * bool(moves) + [word for setting in settings for word in ("--set", setting)]
    arguments += [word for memory in spared for word in ("--flip-flops", memory)]
    done = subprocess.run([sys.executable, PLACE, "--part", "hx8k", "--row", "hx8k/" + top, "--top", top, "--folder", folder / "work",
                           "--rows", folder / "rows.json", "--nextpnr", nextpnr, *arguments, folder / "top.v"],
                          capture_output=True, text=True, check=False)
    return folder, done


def cells_of(folder, kind):
    cells = json.loads((folder / "work/stat.json").read_text())["design"]["num_cells_by_type"]
    return sum(count for name, count in cells.items() if name.startswith(kind))


def flip_flops(folder):
    return cells_of(folder, "SB_DFF")


def main():
    folder, done = place(SQUARE, "square", "BITS=9")
    rows = json.loads((folder / "rows.json").read_text()) if done.returncode == 0 else []
    check([row["name"] for row in rows] == ["fmax/hx8k/square"] and rows[0]["unit"] == "MHz", "one_row_in_megahertz", done.stderr)
    reports = [json.loads((folder / f"work/report{seed}.json").read_text())["fmax"] for seed in (1, 2, 3)]
    fastest = sorted(clock["achieved"] for report in reports for clock in report.values())
    check(len(fastest) == 3 and abs(rows[0]["value"] - fastest[1]) <= 0.05, "the_median_of_three_seeds", f"{rows} {fastest}")
    # Each input bit, each output bit and what holds it, three groups of outputs, the pin, reset.
    check(flip_flops(folder) == 9 + 2 * 18 + 3 + 1 + 1, "nothing_is_removed", flip_flops(folder))
    paths = (folder / "work/paths.txt").read_text()
    check(paths.count("longest path") == 3 and " ns  feed[" in paths and " ns  b" in paths, "paths_name_signals", paths)
    moving, done = place(SQUARE, "square", "BITS=5", moves=8)
    rows = json.loads((moving / "rows.json").read_text())
    cells = int((moving / "work/nextpnr1.log").read_text().split("ICESTORM_LC:")[1].split("/")[0])
    check([row["name"] for row in rows] == ["fmax/hx8k/square", "throughput/hx8k/square"] and cells > 10
          and abs(rows[1]["value"] - rows[0]["value"] * 8 / cells) < 0.001, "what_is_moved_for_each_cell", f"{rows} {cells}")
    wide, done = place(SQUARE, "square", "BITS=5", 'KIND="cube"')
    check(done.returncode == 0 and flip_flops(wide) > 5 + 2 * 9, "parameters_and_text_reach_the_module", done.stderr)
    # Parameters make a module anew, which must not forget it.
    block, spared = (place(MEMORY, "memory", "BITS=8", spared=memories)[0] for memories in ([], ["words"]))
    check([cells_of(folder, "SB_RAM") for folder in (block, spared)] == [1, 0] and flip_flops(spared) >= flip_flops(block) + 64 * 8,
          "a_memory_in_flip_flops", f"{flip_flops(block)} {flip_flops(spared)}")
    folder, done = place(MEMORY, "memory", spared=["nothing"])
    check(done.returncode == 1 and "yosys failed" in done.stderr, "a_memory_that_is_not_there", done.stderr)
    for name, text, top, tool, words in (
            ("both_directions", BOTH_WAYS, "both", "nextpnr-ice40", "both has no clk, or a port in both directions"),
            ("not_verilog", "module nonsense(\n", "nonsense", "nextpnr-ice40", "yosys failed"),
            ("no_place_and_route", SQUARE, "square", "/nowhere/nextpnr", "/nowhere/nextpnr")):
        folder, done = place(text, top, nextpnr=tool)
        check(done.returncode == 1 and words in done.stderr and len(done.stderr.splitlines()) == 1
              and not (folder / "rows.json").exists(), name, done.stderr)
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
