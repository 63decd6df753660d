#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A board of one's own, made from boards/template as its remarks say: own.py FOLDER, two below the root. An LFE5U-25F with an oscillator
of 48 MHz, which is its clock too, 8 MB of SDRAM with 12 bits of row address, 3 Mbaud. Its name and its page tables stand in the Makefile
alone."""
import sys
from pathlib import Path

CHANGES = {
    "Makefile": [("TOP := ferry_template", "TOP := ferry_own"), ("NAME := template-25f", "NAME := own-25f"), ("MHZ := 50", "MHZ := 48"),
                 ("PINS := template", "OPTIONS := -set PAGE_TABLES 1\nPINS := template"),
                 ("include ../common.mk", "include ../../boards/common.mk")],
    "ferry_template.v": [("module ferry_template", "module ferry_own"), ("PAGE_TABLES = 1", "PAGE_TABLES = 0"),
                         ("BIT_SIXTEENTHS = 267", "BIT_SIXTEENTHS = 256"), (".CLKFB_DIV(2)", ".CLKFB_DIV(1)"),
                         (".CLOCKS_PER_US(50)", ".CLOCKS_PER_US(48)"), ("[12:0] sdram_a", "[11:0] sdram_a"),
                         (".ADDRESS_BITS(25), .ROW_BITS(13)", ".ADDRESS_BITS(23), .ROW_BITS(12)")],
    "board_pins.v": [("ferry_template #(", "ferry_own #("), ("[12:0] a;", "[11:0] a;"),
               (".ROW_BITS(13), .COLUMN_BITS(9), .WORD_BITS(16), .T_REFI(7812)",
                ".ROW_BITS(12), .COLUMN_BITS(8), .WORD_BITS(16), .T_REFI(15625)")],
    "litedram.yml": [('"MT48LC16M16"', '"AS4C4M16"'), ("input_clk_freq: 49.8e6", "input_clk_freq: 47.8e6"),
                     ("sys_clk_freq: 49.8e6", "sys_clk_freq: 47.8e6")],
    "template.lpf": [('"clk_in" 25 MHZ', '"clk_in" 48 MHZ')],
}


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, changes in CHANGES.items():
        text = Path("boards/template", name).read_text(encoding="utf-8")
        for old, new in changes:
            if text.count(old) != 1:
                sys.exit(f"own.py: boards/template/{name} has {text.count(old)} times: {old}")
            text = text.replace(old, new)
        Path(folder, name.replace("ferry_template", "ferry_own")).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
