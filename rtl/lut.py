# SPDX-License-Identifier: Apache-2.0
"""lut.py OUT BLOCK=STAT...: turns Yosys' cell counts into rows of the bench table, one for each block. Counts differ from
one Yosys to the next, so each row says which it was.
"""
import json
import sys

WEIGHTS = {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6}


def luts(path):
    """LUTs of the whole design in one of Yosys' stat files, and its "Yosys 0.23"."""
    with open(path, encoding="utf-8") as file:
        stat = json.load(file)
    cells = stat["design"]["num_cells_by_type"]
    return sum(weight * cells.get(name, 0) for name, weight in WEIGHTS.items()), " ".join(stat["creator"].split()[:2])


def main():
    """Writes the rows."""
    rows = []
    for argument in sys.argv[2:]:
        block, path = argument.split("=", 1)
        value, tool = luts(path)
        rows.append({"name": "lut/" + block, "value": value, "unit": "LUT", "tool": tool})
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    main()
