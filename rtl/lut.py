# SPDX-License-Identifier: Apache-2.0
"""lut.py OUT WHOLE.json BLOCKS.json [NAME=STAT.json ...]: turns Yosys' cell counts into rows of the bench table.

WHOLE is the device as one piece: lut/device and bram/device. BLOCKS is the same device with the borders of BLOCK_OF kept, so
that each block is counted with the parameters that it has in the device; a little more in all, since nothing is simplified
over a border. NAME=STAT adds lut/NAME of a module built alone. Counts differ from one Yosys to the next, so each row says
which it was.
"""
import json
import re
import sys

WEIGHTS = {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6, "SB_LUT4": 1}
# The modules whose borders are kept, and the row that each belongs to.
BLOCK_OF = {
    "ferry_registers": "registers", "ferry_registers_file": "registers",
    "ferry_registers_counters": "registers", "ferry_registers_core": "registers", "ferry_interrupt": "registers",
    "ferry_host": "host",
    "ferry_fetch": "fetch", "ferry_command_ram": "fetch", "ferry_sequencer": "fetch", "ferry_post": "fetch",
    "ferry_cpu": "cpu",
    "ferry_engine": "engine",
    "ferry_axi_read_mux": "muxes", "ferry_axi_write_mux": "muxes",
    "ferry_aperture_table": "mmu", "ferry_aperture_update": "mmu", "ferry_page_tables": "mmu",
    "ferry_device": "wiring",
}


def read_stat(path):
    """One of Yosys' stat files, and its "Yosys 0.23". 0.23 puts lines of its table among the JSON when there are several
    modules.
    """
    with open(path, encoding="utf-8") as file:
        text = "".join(line for line in file if not re.fullmatch(r'\s+[^"{}\s]+\s+\d+\s*', line))
    stat = json.loads(text)
    return stat, " ".join(stat["creator"].split()[:2])


def luts(cells):
    """LUTs that these cells take."""
    return sum(weight * cells.get(name, 0) for name, weight in WEIGHTS.items())


def brams(cells):
    """Block RAMs among these cells."""
    return cells.get("DP16KD", 0) + cells.get("SB_RAM40_4K", 0)


def base_name(module):
    """ferry_host of $paramod$HASH\\ferry_host and $paramod\\ferry_host\\TAGS=..."""
    return next(part for part in module.split("\\") if part and not part.startswith("$paramod"))


def block_cells(stat):
    """{block: {cell: count}} of everything below ferry_device, each instance counted."""
    modules = stat["modules"]
    blocks = {}

    def add(name, outer):
        # A border that the module itself asks to be kept belongs to the block around it.
        row = BLOCK_OF.get(base_name(name), outer)
        block = blocks.setdefault(row, {})
        for cell, count in modules[name]["num_cells_by_type"].items():
            inner = next((other for other in (cell, "\\" + cell) if other in modules), None)
            if inner is None:
                block[cell] = block.get(cell, 0) + count
            else:
                for _ in range(count):
                    add(inner, row)

    add(next(name for name in modules if base_name(name) == "ferry_device"), None)
    return blocks


def main():
    """Writes the rows."""
    rows = []

    def row(name, value, unit, tool):
        rows.append({"name": name, "value": value, "unit": unit, "tool": tool})

    out, whole, blocks = sys.argv[1:4]
    stat, tool = read_stat(whole)
    cells = stat["design"]["num_cells_by_type"]
    row("lut/device", luts(cells), "LUT", tool)
    row("bram/device", brams(cells), "block RAMs", tool)
    stat, tool = read_stat(blocks)
    for name, cells in sorted(block_cells(stat).items()):
        row("lut/" + name, luts(cells), "LUT", tool)
    for argument in sys.argv[4:]:
        name, path = argument.split("=", 1)
        stat, tool = read_stat(path)
        row("lut/" + name, luts(stat["design"]["num_cells_by_type"]), "LUT", tool)
    with open(out, "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    main()
