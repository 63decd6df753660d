#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py TEST BUILD FIRMWARE CORE INCLUDE SOURCE...: builds the device for Icarus Verilog and runs a cocotb test on it.

TEST is "root_complex", the device alone, or "slot", with what a board in a slot has around it. BUILD is
the folder to work in, INCLUDE a list of folders joined by colons, the first of which has the contract.
FERRY_SEED replays.
"""
import os
import random
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from cocotb_tools.runner import get_runner

HERE = Path(__file__).resolve().parent
TOPS = {"root_complex": ("device_and_memory", {}), "slot": ("ferry_slot_board", {"ADDRESS_BITS": 23})}


def main():
    """Builds, runs, and prints the cases as the other test programs do."""
    test, build, firmware, core, includes, *sources = sys.argv[1:]
    top, parameters = TOPS[test]
    build = Path(build).resolve()
    build.mkdir(parents=True, exist_ok=True)
    seed = os.environ.get("FERRY_SEED") or str(random.randrange(1 << 31))
    includes = [Path(folder).resolve() for folder in includes.split(":")]
    os.environ.update(FERRY_SEED=seed, FERRY_FIRMWARE=str(Path(firmware).resolve()),
                      FERRY_HEADER=str(includes[0] / "ferry_contract.h"), PYTHONPATH=str(HERE),
                      PYTHONDONTWRITEBYTECODE="1")
    print(f"FERRY_SEED={seed}")
    log = build / "run.log"
    results = build / "results.xml"
    results.unlink(missing_ok=True)
    # The runner prints on its own output; only a failure is worth reading.
    with open(log, "w", encoding="utf-8") as file:
        saved = os.dup(1), os.dup(2)
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            runner = get_runner("icarus")
            runner.build(sources=[HERE / "device_and_memory.v", Path(core), *map(Path, sources)],
                         hdl_toplevel=top, parameters=parameters, includes=includes, build_args=["-g2012"],
                         timescale=("1ns", "1ps"), build_dir=build, always=True)
            runner.test(hdl_toplevel=top, test_module=f"test_{test}", build_dir=build,
                        test_dir=build, testcase=os.environ.get("CASE"), results_xml=str(results))
        except (SystemExit, RuntimeError, subprocess.CalledProcessError) as stop:
            print(stop)
        finally:
            os.dup2(saved[0], 1)
            os.dup2(saved[1], 2)
    passed = failed = 0
    if results.exists():
        for case in ElementTree.parse(results).iter("testcase"):
            bad = case.find("failure") is not None or case.find("error") is not None
            print("[  FAILED  ]" if bad else "[       OK ]", case.get("name"))
            passed, failed = passed + (not bad), failed + bad
    if failed or not passed:
        print(log.read_text(encoding="utf-8", errors="replace")[-6000:])
    print(f"{passed} passed, {failed or int(not passed)} failed")
    return bool(failed) or not passed


if __name__ == "__main__":
    sys.exit(main())
