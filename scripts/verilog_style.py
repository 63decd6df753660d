#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what docs/manual/verilog.md marks: one module a file that is named as it, nets declared, one port a line, bodies
indented. Usage: verilog_style.py FILE... (or --selftest, which plants a breach of each)."""
import re
import sys
from pathlib import Path


def complaints(name, text):
    """What is wrong in a file, as (line, what)."""
    code = re.sub(r"//.*", "", text)
    lines = code.splitlines()
    modules = re.findall(r"^\s*module\s+(\w+)", code, re.M)
    stem = Path(name).stem
    if modules != [re.sub("^any_", "ferry_", stem)]:  # any_NAME.v stands for ferry_NAME in a proof: with any behaviour.
        yield 1, f"modules {' '.join(modules) or 'none'} in a file of that name"
    nets = [line.split()[1] for line in lines if line.startswith("`default_nettype")]
    if nets != ["none", "wire"]:
        yield 1, "`default_nettype none at the top and wire at the end are missing"
    place = "outside"
    for number, line in enumerate(lines, 1):
        if re.match(r"\s*module\b", line):
            place = "ports"
        elif re.match(r"\s*endmodule\b", line):
            place = "outside"
        elif place == "body" and re.match(r"\w", line):
            yield number, "the body of a module is indented"
        if place == "ports":
            if len(re.findall(r"\b(?:input|output|inout)\b", line)) > 1:
                yield number, "one port a line"
            if line.rstrip().endswith(";"):
                place = "body"


def selftest():
    good = "`default_nettype none\nmodule a (\n    input wire b,\n    input wire c\n);\n    wire d;\nendmodule\n`default_nettype wire\n"
    breaches = {"no module of its own": ("module a", "module z"), "nets": ("`default_nettype none\n", ""),
                "ports": ("b,\n   ", "b,"), "body": ("    wire d", "wire d")}
    bad = [what for what, (old, new) in breaches.items() if not list(complaints("a.v", good.replace(old, new, 1)))]
    if bad or list(complaints("a.v", good)):
        sys.exit(f"verilog_style.py does not see: {bad}")


def main():
    if sys.argv[1:] == ["--selftest"]:
        return selftest()
    found = [f"{name}:{number}: {what}" for name in sys.argv[1:]
             for number, what in complaints(name, Path(name).read_text(encoding="utf-8"))]
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)


main()
