#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says whether a bitstream brings the firmware along: firmware.py CONFIG FIRMWARE.hex, with what ecpunpack makes of the bitstream, and
the firmware's words as the device's top was given them. Looks at what the block RAMs hold when the chip is loaded, and at nothing that
synthesis or place and route say of it. Fails, naming the words, when one is not there."""
import re
import sys
from pathlib import Path

UNITS = 2048  # of nine bits, in a block RAM; a port of 9, 18 or 36 bits takes one, two or four at a time.


def block_rams(config):
    """What each holds: bytes, without each unit's ninth bit."""
    found = []
    for section in re.findall(r"^\.bram_init \d+\n((?:[\da-f]{3}[ \n])+)", config, re.M):
        units = [int(unit, 16) for unit in section.split()]
        if len(units) != UNITS:
            sys.exit(f"firmware.py: a block RAM of {len(units)} units, where one has {UNITS}: another version of ecpunpack?")
        found.append(bytes(unit & 255 for unit in units))
    return found


def missing(rams, words):
    """What no block RAM has where it should be: (first word, last word, byte in them) each. Firmware RAM is made of block RAMs that
    are as wide as one, two or four of a word's bytes, and the higher words are in the next ones."""
    layouts = []
    for width in (1, 2, 4):
        depth = UNITS // width
        layouts.append([(first, min(first + depth, len(words)) - 1, lane)
                        for first in range(0, len(words), depth) for lane in range(0, 4, width)
                        if not any(ram.startswith(bytes(word >> 8 * (lane + at) & 255 for word in words[first:first + depth]
                                                        for at in range(width))) for ram in rams)])
    return min(layouts, key=len)


def main():
    config, firmware = (Path(name) for name in sys.argv[1:])
    words = [int(word, 16) for word in firmware.read_text().split()]
    if not any(words):
        sys.exit(f"firmware.py: {firmware} has no firmware")
    rams = block_rams(config.read_text())
    gaps = missing(rams, words)
    if gaps:
        first, last, lane = gaps[0]
        sys.exit(f"firmware.py: the firmware is not in the bitstream: none of {len(rams)} block RAMs with content has words {first} to "
                 f"{last} of {firmware}, from bit {8 * lane} on")
    print(f"firmware in the bitstream, {len(words):,} words")


if __name__ == "__main__":
    main()
