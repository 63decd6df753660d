#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""size.py STAT.json: what Yosys counts of the netlist, beside what an XC7A200T has."""
import json
import re
import sys


def main():
    """LUTs of any width, LUT RAM among them, and halves of a block RAM counted as halves."""
    cells = json.load(open(sys.argv[1], encoding="utf-8"))["design"]["num_cells_by_type"]

    def count(pattern, each=1):
        return sum(each * number for name, number in cells.items() if re.fullmatch(pattern, name))

    luts = count(r"LUT[1-6]|INV") + count(r"RAM32X1D|RAM64X1S|RAM32X1S|SRL16E|SRLC32E") + count(r"RAM64X1D", 2) + \
        count(r"RAM32M|RAM64M|RAM128X1D", 4)
    print(f"{luts} of 134600 LUT, {count('RAMB36E1') + count('RAMB18E1', 0.5):g} of 365 block RAMs, "
          f"{count('DSP48E1')} of 740 DSP, {count('FD[A-Z]*')} of 269200 flip-flops")


if __name__ == "__main__":
    main()
