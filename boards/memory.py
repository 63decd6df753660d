#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates a board's memory controller: memory.py SETTINGS.yml FOLDER, with the Python that has the generator.

FOLDER/litedram_core.v is what the packaged generator writes, with the chip's data pins as pins that go both ways. Fails when the
generator's registers are not where rtl/board/ferry_dram_start.v writes, or the chip is read otherwise than it starts it.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

# Byte addresses, and CAS latency, as ferry_dram_start.v has them.
PLACES = {"ddrctrl_init_done": 0x000, "sdram_dfii_control": 0x800, "sdram_dfii_pi0_command": 0x804,
          "sdram_dfii_pi0_command_issue": 0x808, "sdram_dfii_pi0_address": 0x80c, "sdram_dfii_pi0_baddress": 0x810}
LATENCY = 2
BITS = {"DFII_CONTROL_SEL": 1, "DFII_CONTROL_CKE": 2, "DFII_COMMAND_CS": 1, "DFII_COMMAND_WE": 2, "DFII_COMMAND_CAS": 4,
        "DFII_COMMAND_RAS": 8, "SDRAM_PHY_CL": LATENCY}


# The generator, with a chip that it does not know. Four banks, rows of 1 KiB; no data sheet was at hand, so its times are those of the
# slowest chips of its kind and as many refreshes as chips of that size take.
GENERATOR = """
import litedram.modules as known
from litedram import gen
class EM638325(known.SDRModule):
    nbanks, nrows, ncols = 4, 2048, 256
    technology_timings = known._TechnologyTimings(tREFI=64e6 / 4096, tWTR=(2, None), tCCD=(1, None), tRRD=(None, 15))
    speedgrade_timings = {"default": known._SpeedgradeTimings(tRP=20, tRCD=20, tWR=15, tRFC=(None, 66), tFAW=None, tRAS=44)}
known.EM638325 = EM638325
gen.main()
"""


def complaints(registers, header, core):
    """What is not as ferry_dram_start.v and ferry_sdram_board.v have it: texts of csr.csv, sdram_phy.h and the core."""
    found = {name: int(address, 0) for name, address in re.findall(r"^csr_register,(\w+),(\w+)", registers, re.M)}
    for name, address in PLACES.items():
        if found.get(name) != address:
            yield f"register {name} is at {found.get(name)}, not at {address:#x}"
    said = {name: int(value, 0) for name, value in re.findall(r"^#define (\w+) (0x[\da-f]+|\d+)$", header, re.M)}
    for name, value in BITS.items():
        if said.get(name) != value:
            yield f"{name} is {said.get(name)}, not {value}"
    if len(re.findall(r"^ +input +wire +\[\d+:0\] sdram_dq,$", core, re.M)) != 1:
        yield "the core has no data pins, or they are no longer written as inputs"
    for pins, name in ((r"\[1:0\] sdram_ba", "the chip has not four banks, which is what ferry_sdram_board has wires for"),
                       (r"\[\d+:0\] user_port_video_cmd_addr", "there is no user port `video` of type native")):
        if not re.search(rf"^ +(?:input|output) +wire +{pins},$", core, re.M):
            yield name


def why(log):
    """The last thing that a generator that failed said, and where, if it is no sentence; of a chip that it does not know, which it does."""
    lines = [line.strip() for line in log.splitlines() if line.strip(" ^~")] or ["it said nothing"]
    said = lines[-1] if re.match(r"[\w.]+(Error|Exception): ", lines[-1]) else " ".join(lines[-3:])
    if "litedram.modules" not in said:
        return said
    # pylint: disable-next=import-outside-toplevel
    from litedram import modules
    chips = {name: chip for name, chip in vars(modules).items() if getattr(chip, "memtype", None) == "SDR" and hasattr(chip, "nrows")}
    return (f"{said}; it knows " + ", ".join(f"{name} ({chip.nbanks} banks, {chip.nrows} rows, {chip.ncols} columns)"
                                             for name, chip in sorted(chips.items())) + ", and what boards/memory.py tells it (GENERATOR)")


def main():
    settings, folder = sys.argv[1], Path(sys.argv[2])
    work = folder / "generator"
    work.mkdir(parents=True, exist_ok=True)
    with open(folder / "generator.log", "w", encoding="utf-8") as log:
        # The same text each time: names are given in the order of sets.
        if subprocess.run([sys.executable, "-c", GENERATOR, settings, "--output-dir", work], stdout=log, stderr=log, check=False,
                          env=dict(os.environ, PYTHONHASHSEED="0")).returncode:
            sys.exit(f"memory.py: the generator failed: {why(Path(log.name).read_text(encoding='utf-8'))} ({log.name} has all it said)")
    core = (work / "gateware/litedram_core.v").read_text()
    wrong = list(complaints((work / "csr.csv").read_text(), (work / "software/include/generated/sdram_phy.h").read_text(), core))
    if wrong:
        sys.exit("\n".join(f"memory.py: {line}" for line in wrong))
    (folder / "litedram_core.v").write_text(re.sub(r"input +wire +(\[\d+:0\] sdram_dq,)", r"inout  wire   \1", core))


if __name__ == "__main__":
    main()
