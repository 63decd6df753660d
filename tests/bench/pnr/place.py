#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Place and route one module and say how fast its clock may be: the median of three seeds.

place.py --part ecp5|hx8k --row NAME --top MODULE --folder FOLDER --rows OUT.json [--set NAME=VALUE ...]
         [--flip-flops MEMORY ...] [-I DIR] SOURCES...

The module stands in the wrapper of wrapper.py, so that its ports need no pins. OUT.json gets the row fmax/NAME and, on ECP5,
bram/NAME; on an iCE40, with --moves BYTES, throughput/NAME: MB/s that it moves for each cell it takes. FOLDER keeps netlist,
logs and paths.txt, which lists the longest path of each seed, block by block.
"""
import argparse
import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

import wrapper

SEEDS = (1, 2, 3)
# router1: the newer one was at a thousand overused wires of the device after ten rounds, three hundred after twenty, and three
# thousand after seventy.
PARTS = {
    "ecp5": ("synth_ecp5", ["--25k", "--package", "CABGA381", "--speed", "6", "--router", "router1", "--lpf-allow-unconstrained"]),
    "hx8k": ("synth_ice40", ["--hx8k", "--package", "ct256", "--pcf-allow-unconstrained"]),
}
# The clock comes in where the global network begins; the other three pins may be anywhere.
CLOCK_PIN = 'LOCATE COMP "clk" SITE "G2";\n'
TARGET = 75  # MHz that the placer is asked for: what the device is to reach.


class Failed(Exception):
    pass


def run(command, log):
    """Runs it with its output in the file; the last lines of a failure are its message."""
    with open(log, "w", encoding="utf-8") as file:
        code = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=False).returncode
    if code != 0:
        last = Path(log).read_text(errors="replace").strip().splitlines()[-3:]
        raise Failed(f"{command[0]} failed, see {log}: " + " / ".join(last))


def synthesize(options, folder):
    """The wrapped netlist for nextpnr; returns its cell counts."""
    parameters = [setting.split("=", 1) for setting in options.set]
    includes = " ".join("-I" + path for path in options.include)
    sources = " ".join(options.sources)
    chparam = f"chparam {' '.join(f'-set {name} {value}' for name, value in parameters)} {options.top};" if parameters else ""
    run([options.yosys, "-q", "-p", f"read_verilog {includes} {sources}; {chparam} hierarchy -top {options.top}; proc; "
         f"write_json {folder}/ports.json"], folder / "ports.log")
    inputs, outputs = wrapper.ports_of(folder / "ports.json", options.top)
    (folder / "wrapper.v").write_text(wrapper.wrapper(options.top, parameters, inputs, outputs))
    synth = PARTS[options.part][0]
    # Behind `hierarchy`, which makes a module anew for other parameters and forgets what was set. A pattern without its memory would be no
    # error: the assertion ends Yosys with a line.
    spared = "".join(f"select -assert-min 1 */m:{memory}; setattr -set ram_style \"registers\" */m:{memory}; "
                     for memory in options.flip_flops)
    run([options.yosys, "-q", "-p", f"read_verilog {includes} {sources} {folder}/wrapper.v; hierarchy -top pnr_wrapper; {spared}"
         f"{synth} -top pnr_wrapper "
         f"-json {folder}/netlist.json; tee -q -o {folder}/stat.json stat -json"], folder / "synthesis.log")
    return json.loads((folder / "stat.json").read_text())["design"]["num_cells_by_type"]


def short(net):
    """The signal of the source that a net comes from: its name without what the mapper added."""
    return re.split(r"_(?:LUT4|TRELLIS_|SB_|CCU2C|L6MUX21|PFUMX|DP16KD|MULT)", net)[0].removeprefix("wrapped.")


def path_lines(report):
    """The longest path between two flip-flops, from its start to its end: when it passes which signal."""
    clocked = [path["path"] for path in report["critical_paths"] if "async" not in path["from"] + path["to"]]
    worst = max(clocked, key=lambda path: sum(step["delay"] for step in path))
    lines, total = [], 0.0
    for step in worst:
        total += step["delay"]
        if "net" not in step:
            continue
        name = short(step["net"])
        if lines and lines[-1][1] == name:
            lines.pop()
        lines.append((total, name))
    logic = sum(step["delay"] for step in worst if step["type"] != "routing")
    return [f"  {at:6.2f} ns  {name}" for at, name in lines] + [f"  {total:6.2f} ns  in all, {logic:.2f} of them in cells"]


def route(options, folder, seed):
    """MHz of one seed, and the lines of its longest path."""
    report = folder / f"report{seed}.json"
    pins = []
    if options.part == "ecp5":
        (folder / "clock.lpf").write_text(CLOCK_PIN)
        pins = ["--lpf", str(folder / "clock.lpf")]
    run([options.nextpnr, *PARTS[options.part][1], *pins, "--json", str(folder / "netlist.json"), "--seed", str(seed),
         "--freq", str(TARGET), "--timing-allow-fail", "--report", str(report)], folder / f"nextpnr{seed}.log")
    content = json.loads(report.read_text())
    return min(clock["achieved"] for clock in content["fmax"].values()), path_lines(content)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("--row", "--top", "--folder", "--rows", "--nextpnr"):
        parser.add_argument(name, required=True)
    parser.add_argument("--part", choices=PARTS, required=True)
    parser.add_argument("--yosys", default="yosys")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--flip-flops", action="append", default=[], metavar="MEMORY", help="a memory that takes no block RAM")
    parser.add_argument("--moves", type=int, help="bytes that the module moves in a cycle")
    parser.add_argument("-I", dest="include", action="append", default=[])
    parser.add_argument("sources", nargs="+")
    options = parser.parse_args()
    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        cells = synthesize(options, folder)
        results = [route(options, folder, seed) for seed in SEEDS]
    except (OSError, Failed, wrapper.NoPorts) as error:
        print(f"place.py: {error}", file=sys.stderr)
        return 1
    text = []
    for seed, (megahertz, lines) in zip(SEEDS, results):
        text += [f"seed {seed}: {megahertz:.1f} MHz, longest path:", *lines, ""]
    (folder / "paths.txt").write_text("\n".join(text))
    rows = [{"name": "fmax/" + options.row, "value": round(statistics.median(result[0] for result in results), 1), "unit": "MHz"}]
    placed = re.search(r"ICESTORM_LC:\s*(\d+)/", (folder / f"nextpnr{SEEDS[0]}.log").read_text(errors="replace"))
    if placed and options.moves:
        rows.append({"name": "throughput/" + options.row, "value": round(rows[0]["value"] * options.moves / int(placed[1]), 3),
                     "unit": "MB/s a cell"})
    Path(options.rows).parent.mkdir(parents=True, exist_ok=True)
    Path(options.rows).write_text(json.dumps(rows, indent=2) + "\n")
    print(f"fmax/{options.row}: " + ", ".join(f"{result[0]:.1f}" for result in results) + f" MHz; {folder}/paths.txt")
    print(f"  {', '.join(f'{count} {name}' for name, count in sorted(cells.items()))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
