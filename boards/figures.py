#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says what place and route made of a board: figures.py REPORT.json CLOCK MHZ [CLOCK MHZ...]. One line of LUTs, block RAMs and MHz.
Fails when a clock is slower than its MHZ, or is not there."""
import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    # The tool writes a net's name with what its buffer adds.
    clocks = {name.removeprefix("$glbnet$"): clock["achieved"] for name, clock in report["fmax"].items()}
    parts = [f"{use['used']:,} of {use['available']:,} {name}"
             for name, use in (("LUT", report["utilization"]["TRELLIS_COMB"]), ("block RAMs", report["utilization"]["DP16KD"]))]
    slow = False
    for name, megahertz in zip(sys.argv[2::2], map(float, sys.argv[3::2])):
        if name not in clocks:
            sys.exit(f"figures.py: no clock {name} in {sys.argv[1]}: {', '.join(clocks) or 'none'}")
        parts.append(f"{clocks[name]:.1f} MHz of {megahertz:g} wanted")
        slow = slow or clocks[name] < megahertz
    print(", ".join(parts))
    if slow:
        sys.exit("figures.py: too slow: no bitstream")


if __name__ == "__main__":
    main()
