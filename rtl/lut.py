# SPDX-License-Identifier: Apache-2.0
"""lut.py OUT BLOCK=STAT...: turns Yosys' cell counts into rows of the bench table, one for each block."""
import json
import sys

WEIGHTS = {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6}


def luts(path):
    """LUTs of the whole design in one of Yosys' stat files."""
    with open(path, encoding="utf-8") as file:
        cells = json.load(file)["design"]["num_cells_by_type"]
    return sum(weight * cells.get(name, 0) for name, weight in WEIGHTS.items())


def main():
    """Writes the rows."""
    rows = []
    for argument in sys.argv[2:]:
        block, path = argument.split("=", 1)
        rows.append({"name": "lut/" + block, "value": luts(path), "unit": "LUT"})
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    main()
