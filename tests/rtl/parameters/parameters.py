#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A size of ferry_device that cannot work stops elaboration with one line that names it, in Verilator and in Yosys.

usage: parameters.py INCLUDE_FOLDER CORE_FILE      (run from the repository root)
"""
import glob
import re
import subprocess
import sys

FOLDERS = ["rtl", "rtl/host", "rtl/cpu", "rtl/engine", "rtl/mmu", "rtl/fabric"]
# Values that cannot work, and one that can though it is not of a named set.
BAD = [("TAGS", 0), ("TAGS", 24), ("TAGS", 64), ("RINGS", 0), ("RINGS", 6), ("SLOTS", 1), ("SLOTS", 5),
       ("SLOT_BYTES_LOG2", 8), ("SLOT_BYTES_LOG2", 13), ("LOCAL_ADDRESS_BITS", 12), ("APERTURE_PAGES", 100),
       ("FIRMWARE_RAM_WORDS", 3000), ("JOB_QUEUE", 1), ("JOB_QUEUE", 12), ("URGENT_QUEUE", 1),
       ("URGENT_QUEUE", 128), ("TLP_BITS", 48), ("CONFIGURATION", '"huge"'),
       ("CPU_CORE", '"zilogz80"')]
GOOD = ("TAGS", 8)
passed = failed = 0


def check(name, good, detail):
    global passed, failed
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}")
    passed, failed = passed + bool(good), failed + (not good)


def verilator(include, core, name, value):
    done = subprocess.run(["verilator", "--lint-only", "--timescale", "1ns/1ns", f"-I{include}", *(f"-I{f}" for f in FOLDERS),
                           "rtl/packaged_core.vlt", f"-G{name}={value}", "--top-module", "ferry_device", "rtl/ferry_device.v",
                           core], capture_output=True, text=True, check=False)
    return done.returncode, [line for line in done.stderr.splitlines() if re.match("%(Warning|Error)", line)
                             and "Exiting due to" not in line]


def yosys(include, core, name, value):
    sources = " ".join(path for folder in FOLDERS for path in sorted(glob.glob(f"{folder}/*.v")))
    done = subprocess.run(["yosys", "-q", "-p", f"read_verilog -I{include} {core} {sources}; "
                           f"chparam -set {name} {value} ferry_device; hierarchy -check -top ferry_device"],
                          capture_output=True, text=True, check=False)
    return done.returncode, [line for line in done.stderr.splitlines() if "ERROR" in line]


def main():
    include, core = sys.argv[1], sys.argv[2]
    for tool in (verilator, yosys):
        status, lines = tool(include, core, *GOOD)
        check(f"{tool.__name__}_takes_{GOOD[0]}_{GOOD[1]}", status == 0 and not lines, lines)
        for name, value in BAD:
            status, lines = tool(include, core, name, value)
            text = str(value).strip('"')
            check(f"{tool.__name__}_refuses_{name}_{text}",
                  status != 0 and len(lines) == 1 and f"ferry_device: {name} is" in lines[0], lines)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
