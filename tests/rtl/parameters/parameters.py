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
# Values that cannot work, and sets that can though they are not named: one value, the smallest of all, the largest.
BAD = [("TAGS", 0), ("TAGS", 24), ("TAGS", 64), ("RINGS", 0), ("RINGS", 6), ("SLOTS", 1), ("SLOTS", 5),
       ("SLOT_BYTES_LOG2", 8), ("SLOT_BYTES_LOG2", 13), ("LOCAL_ADDRESS_BITS", 21), ("LOCAL_ADDRESS_BITS", 32),
       ("APERTURE_PAGES", 100),
       ("FIRMWARE_RAM_WORDS", 1024), ("FIRMWARE_RAM_WORDS", 3000), ("JOB_QUEUE", 1), ("JOB_QUEUE", 12), ("URGENT_QUEUE", 1),
       ("URGENT_QUEUE", 128), ("TLP_BITS", 48), ("CONFIGURATION", '"huge"'),
       ("CPU_CORE", '"zilogz80"')]
GOOD = {
    "tags_8": {"TAGS": 8},
    "smallest": {"TAGS": 2, "RINGS": 1, "SLOTS": 2, "SLOT_BYTES_LOG2": 9, "LOCAL_ADDRESS_BITS": 16, "APERTURE_PAGES": 2,
                 "PAGE_TABLES": 0, "TILING": 0, "FIRMWARE_RAM_WORDS": 2048, "JOB_QUEUE": 2, "URGENT_QUEUE": 2},
    "smallest_with_tables": {"RINGS": 3, "SLOTS": 3, "LOCAL_ADDRESS_BITS": 22},
    "largest": {"LOCAL_ADDRESS_BITS": 31, "APERTURE_PAGES": 1048576, "FIRMWARE_RAM_WORDS": 8192},
}
passed = failed = 0


def check(name, good, detail):
    global passed, failed
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}")
    passed, failed = passed + bool(good), failed + (not good)


def verilator(include, core, sizes):
    done = subprocess.run(["verilator", "--lint-only", "-Wall", "--timescale", "1ns/1ns", f"-I{include}",
                           *(f"-I{f}" for f in FOLDERS), "rtl/packaged_core.vlt",
                           *(f"-G{name}={value}" for name, value in sizes.items()), "--top-module", "ferry_device",
                           "rtl/ferry_device.v", core], capture_output=True, text=True, check=False)
    return done.returncode, [line for line in done.stderr.splitlines() if re.match("%(Warning|Error)", line)
                             and "Exiting due to" not in line]


def yosys(include, core, sizes):
    """What is refused is refused before any other module is looked for; reading them all takes twenty times as long."""
    sources = " ".join(path for folder in FOLDERS for path in sorted(glob.glob(f"{folder}/*.v")))
    if sizes not in GOOD.values():
        core, sources = "", "rtl/ferry_device.v rtl/ferry_parameter_check.v"
    settings = " ".join(f"-set {name} {value}" for name, value in sizes.items())
    done = subprocess.run(["yosys", "-q", "-p", f"read_verilog -I{include} {core} {sources}; "
                           f"chparam {settings} ferry_device; hierarchy -check -top ferry_device"],
                          capture_output=True, text=True, check=False)
    return done.returncode, [line for line in done.stderr.splitlines() if "ERROR" in line]


def main():
    include, core = sys.argv[1], sys.argv[2]
    for tool in (verilator, yosys):
        for name, sizes in GOOD.items():
            status, lines = tool(include, core, sizes)
            check(f"{tool.__name__}_takes_{name}", status == 0 and not lines, lines)
        for name, value in BAD:
            status, lines = tool(include, core, {name: value})
            text = str(value).strip('"')
            check(f"{tool.__name__}_refuses_{name}_{text}",
                  status != 0 and len(lines) == 1 and f"ferry_device: {name} is" in lines[0], lines)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
