#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A size of ferry_device that cannot work stops elaboration with one line that names it, in Verilator and in Yosys; and so does one of
ferry_engine alone, which Icarus does not run either.

usage: parameters.py INCLUDE_FOLDER CORE_FILE      (run from the repository root)
"""
import glob
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDERS = ["rtl", "rtl/host", "rtl/cpu", "rtl/engine", "rtl/mmu", "rtl/fabric"]
# Values that cannot work, and sets that can though they are not named: one value, the smallest of all, the largest.
BAD = [("TAGS", 0), ("TAGS", 24), ("TAGS", 64), ("RINGS", 0), ("RINGS", 6), ("SLOTS", 1), ("SLOTS", 5),
       ("SLOT_BYTES_LOG2", 8), ("SLOT_BYTES_LOG2", 13), ("LOCAL_ADDRESS_BITS", 21), ("LOCAL_ADDRESS_BITS", 32),
       ("APERTURE_PAGES", 100), ("PAGE_TABLES", 2), ("TILING", 2), ("ONE_PORT", 2),
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
# The same of the engine alone.
ENGINE_BAD = [("LOCAL_ADDRESS_BITS", 32), ("LISTS", 2), ("TABLES", 2), ("LG_JOBS", 0), ("LG_URGENT", 0), ("LG_URGENT", 5), ("LG_READS", 0),
              ("LG_WRITES", 0), ("LG_DATA", 7)]
ENGINE_GOOD = {
    "smallest": {"LISTS": 0, "TABLES": 0, "LG_JOBS": 1, "LG_URGENT": 1, "LG_READS": 1, "LG_WRITES": 1, "LG_DATA": 8},
    "as_many_urgent_jobs_as_others": {"LOCAL_ADDRESS_BITS": 31, "LG_URGENT": 4},
}
passed = failed = 0


def check(name, good, detail):
    global passed, failed
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}", flush=True)
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


def engine_in_verilator(include, sizes):
    done = subprocess.run(["verilator", "--lint-only", "-Wall", "--timescale", "1ns/1ns", f"-I{include}", *(f"-I{f}" for f in FOLDERS),
                           *(f"-G{name}={value}" for name, value in sizes.items()), "--top-module", "ferry_engine",
                           "rtl/engine/ferry_engine.v"], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def engine_in_yosys(include, sizes):
    sources = " ".join(path for folder in FOLDERS[3:] for path in sorted(glob.glob(f"{folder}/*.v")))
    settings = " ".join(f"-set {name} {value}" for name, value in sizes.items())
    done = subprocess.run(["yosys", "-q", "-p", f"read_verilog -I{include} {sources}; chparam {settings} ferry_engine; "
                           "hierarchy -check -top ferry_engine"], capture_output=True, text=True, check=False)
    return done.returncode, "".join(line for line in done.stderr.splitlines() if "ERROR" in line)


def engine_in_icarus(include, sizes):
    """Compiled and begun; who is refused has ended by himself, and says so unless the compiler did."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "engine.vvp"
        done = subprocess.run(["iverilog", "-g2012", f"-I{include}", *(f"-Pferry_engine.{name}={value}" for name, value in sizes.items()),
                               "-s", "ferry_engine", "-o", program, *(part for f in FOLDERS[3:] for part in ("-y", f)),
                               "rtl/engine/ferry_engine.v"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return 1, "ferry_engine: " + done.stderr
        done = subprocess.run(["vvp", "-n", program], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        return int("cannot work" in done.stdout), done.stdout


def engine_alone(include):
    for tool in (engine_in_verilator, engine_in_yosys, engine_in_icarus):
        for name, sizes in ENGINE_GOOD.items():
            status, said = tool(include, sizes)
            check(f"{tool.__name__}_takes_{name}", status == 0 and not said, said)
        for name, value in ENGINE_BAD:
            status, said = tool(include, {name: value})
            words = "ferry_engine: " if tool is engine_in_icarus else f"ferry_engine: (LISTS and )?{name} (and TABLES )?(is|are) "
            check(f"{tool.__name__}_refuses_{name}_{value}", status != 0 and re.search(words, said), said)


def main():
    include, core = sys.argv[1], sys.argv[2]
    engine_alone(include)
    # What is refused is refused at once.
    for tool in (verilator, yosys):
        for name, value in BAD:
            status, lines = tool(include, core, {name: value})
            text = str(value).strip('"')
            check(f"{tool.__name__}_refuses_{name}_{text}",
                  status != 0 and len(lines) == 1 and f"ferry_device: {name} is" in lines[0], lines)
    for tool in (verilator, yosys):
        for name, sizes in GOOD.items():
            status, lines = tool(include, core, sizes)
            check(f"{tool.__name__}_takes_{name}", status == 0 and not lines, lines)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
