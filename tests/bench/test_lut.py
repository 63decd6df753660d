#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows of the LUT counts: Yosys synthesizes a small device of three modules whole and with its borders kept."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path.cwd()
DEVICE = """module ferry_host #(parameter BITS = 1) (input wire [BITS-1:0] a, input wire [BITS-1:0] b, output wire [BITS-1:0] y);
assign y = a & b;
endmodule
(* keep_hierarchy *)
module ferry_inner (input wire [3:0] a, output wire y);
assign y = ^a;
endmodule
module ferry_post (input wire [3:0] a, output wire y);
ferry_inner inner (.a(a), .y(y));
endmodule
module ferry_device #(parameter CONFIGURATION = "none", parameter BITS = 6) (
    input wire clk, input wire [BITS-1:0] a, input wire [BITS-1:0] b, output wire [BITS:0] y, output reg [35:0] read, input wire [9:0] at);
reg [35:0] memory [0:1023];
wire [BITS-1:0] both;
ferry_host #(.BITS(BITS)) host (.a(a), .b(b), .y(both));
ferry_host #(.BITS(BITS)) again (.a(a), .b(both), .y(y[BITS-1:0]));
ferry_post post (.a(a[3:0]), .y(y[BITS]));
always @(posedge clk) begin
    read <= memory[at];
    if (CONFIGURATION == "full" && a[0]) memory[at] <= {36{b[0]}};
end
endmodule
"""
results = []


def check(good, name, detail=""):
    results.append(bool(good))
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}: {detail}")


def synthesize(folder, stat, environment):
    subprocess.run(["rtl/synthesis.sh", "ecp5", "ferry_device", str(folder), "", str(stat), str(folder / "device.v")], check=True,
                   cwd=ROOT, env={**os.environ, **environment})


def main():
    folder = Path(tempfile.mkdtemp(prefix="ferry-lut-"))
    (folder / "device.v").write_text(DEVICE)
    synthesize(folder, folder / "whole.json", {})
    synthesize(folder, folder / "blocks.json", {"KEEP": "ferry_host ferry_post"})
    synthesize(folder, folder / "wide.json", {"SET": "BITS 9"})
    done = subprocess.run([sys.executable, "rtl/lut.py", folder / "rows.json", folder / "whole.json", folder / "blocks.json",
                           f"wide={folder / 'wide.json'}"], capture_output=True, text=True, check=False, cwd=ROOT)
    rows = {row["name"]: row["value"] for row in json.loads((folder / "rows.json").read_text())} if done.returncode == 0 else {}
    # As one piece, a & a & b is one LUT a bit; with its border each of the two hosts has one.
    check(rows.get("lut/device") == 6 + 1, "the_device_is_one_piece", rows or done.stderr)
    check(rows.get("lut/host") == 2 * 6 and rows.get("lut/fetch") == 1, "blocks_count_each_instance", rows)
    check(rows.get("lut/wide") == 9 + 1, "parameters_are_set", rows)
    check(rows.get("bram/device") == 2, "block_rams_of_the_full_set", rows)
    sys.path.insert(0, "rtl")
    import lut
    check([lut.luts({name: 1}) for name in ("LUT4", "CCU2C", "TRELLIS_DPR16X4", "SB_LUT4", "TRELLIS_FF")] == [1, 2, 6, 1, 0],
          "what_a_cell_takes")
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
