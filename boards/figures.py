#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says what place and route made of a board: figures.py REPORT.json CLOCK MHZ. One line of LUTs, block RAMs and MHz. Fails when
the clock is slower than MHZ, or is not there."""
import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    wanted = float(sys.argv[3])
    # The tool writes a net's name with what its buffer adds.
    clocks = {name.removeprefix("$glbnet$"): clock["achieved"] for name, clock in report["fmax"].items()}
    if sys.argv[2] not in clocks:
        sys.exit(f"figures.py: no clock {sys.argv[2]} in {sys.argv[1]}: {', '.join(clocks) or 'none'}")
    parts = [f"{use['used']:,} of {use['available']:,} {name}"
             for name, use in (("LUT", report["utilization"]["TRELLIS_COMB"]), ("block RAMs", report["utilization"]["DP16KD"]))]
    reached = clocks[sys.argv[2]]
    print(f"{', '.join(parts)}, {reached:.1f} MHz of {wanted:g} wanted")
    if reached < wanted:
        sys.exit("figures.py: too slow: no bitstream")


if __name__ == "__main__":
    main()
