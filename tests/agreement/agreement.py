#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The contract's three outputs agree: each is read back by a tool that did not write it, then compared name by name.

The C header is read by a C compiler (a program prints every macro and enumerator), the Verilog include by Verilator's
preprocessor, the manual by parsing its tables. The manual in the repository must also be the one generated now.

usage: agreement.py GENERATED_FOLDER MANUAL
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def names_of(text, pattern):
    return list(dict.fromkeys(re.findall(pattern, text, re.M)))


def read_c(header):
    text = header.read_text()
    macros = names_of(text, r"^#define (FERRY_\w+) (?!\")")  # Texts apart.
    enumerators = names_of(text, r"^    (FERRY_\w+) = ")
    lines = "".join(f'    printf("{n} %llu\\n", (unsigned long long){n});\n' for n in macros + enumerators)
    source = f'#include <stdio.h>\n#include "{header.name}"\nint main(void)\n{{\n{lines}    return 0;\n}}\n'
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "read_c"
        (Path(folder) / "read_c.c").write_text(source)
        subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{header.parent}",
                        f"{program}.c", "-o", program], check=True)
        output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return {name: int(value) for name, value in (line.split() for line in output.splitlines())}


def read_verilog(include):
    names = names_of(include.read_text(), r"^`define (FERRY_\w+) ")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "read_verilog.v"
        source.write_text(f'`include "{include.name}"\n' + "".join(f"@{n}@ `{n}\n" for n in names))
        output = subprocess.run(["verilator", "-E", "-P", f"-I{include.parent}", source], check=True,
                                capture_output=True, text=True).stdout
    values, ranges = {}, {}
    for name, text in re.findall(r"^@(\w+)@ (.+)$", output, re.M):
        text = text.strip()
        if re.fullmatch(r"\d+:\d+", text):
            high, low = text.split(":")
            ranges[name[:-len("_RANGE")]] = int(high), int(low)
        elif "'h" in text:
            bits, digits = text.split("'h")
            values[name] = int(digits, 16)
            if values[name] >= 1 << int(bits):
                raise SystemExit(f"{name}: {text} does not fit its own width")
        else:
            values[name] = int(text)
    return values, ranges


def read_bundles(manual):
    """The manual's bundles: name -> [(field, bits)] in order, lowest first."""
    bundles, rows = {}, None
    for line in manual.read_text().splitlines():
        if match := re.match(r"### Bundle `(\w+)`$", line):
            rows = bundles.setdefault(match.group(1), [])
        elif (match := re.match(r"\| (\w+) \| (\d+) \| ", line)) and rows is not None:
            rows.append((match.group(1).upper(), int(match.group(2))))
    return bundles


def bundle_problems(bundles, values, ranges):
    """Each bundle's fields lie one behind the other, in the manual's order, and fill it."""
    for bundle, fields in bundles.items():
        at = 0
        for field, bits in fields:
            if ranges.get(f"FERRY_{bundle}_{field}") != (at + bits - 1, at):
                yield f"{bundle}.{field}: {ranges.get(f'FERRY_{bundle}_{field}')}, not bit {at} and {bits} bits"
            at += bits
        if values.get(f"FERRY_{bundle}_BITS") != at:
            yield f"{bundle}: {values.get(f'FERRY_{bundle}_BITS')} bits, fields have {at}"


def read_manual(manual):
    """Names with values as a reader of the manual would understand its tables."""
    values, section, group, kind, register = {}, None, None, None, None
    for line in manual.read_text().splitlines():
        if line == "## Bundles":
            break
        if match := re.match(r"## (\w+)$", line):
            section, group = match.group(1), None
        elif match := re.match(r"### (\w+)\.(\w+): (\d+) from (0x[0-9a-f]+), (0x[0-9a-f]+) bytes each", line):
            group = match.group(2)
            base = f"FERRY_{section.upper()}_{group}"
            values |= {f"{base}_AT": int(match.group(4), 16), f"{base}_STRIDE": int(match.group(5), 16),
                       f"{base}_COUNT": int(match.group(3))}
        elif match := re.match(r"### (\w+)$", line):
            kind = match.group(1)
        elif match := re.match(r"\| (\d+) \| (\w+) \| ", line):
            values[f"FERRY_{kind.upper()}_{match.group(2)}"] = int(match.group(1))
        elif match := re.match(r"\| (0x[0-9a-f]+) \| (\w+)(?:\[[^]]*\])? \| ", line):
            register = "_".join(x for x in ("FERRY", section.upper(), group, match.group(2)) if x)
            values[register] = int(match.group(1), 16)
        elif match := re.match(r"\| \| \| (\d+)(?::(\d+))? \| \w+ \| (\w+) \|", line):
            high = int(match.group(1))
            low = int(match.group(2) or high)
            where = register
            if re.match(r"FERRY_PACKET_\w+_HEADER$", register):
                where = "FERRY_PACKET_HEADER"
            elif re.match(r"FERRY_PACKET_\w+_PLACES$", register):
                where = "FERRY_PACKET_PLACES"
            elif re.match(r"FERRY_PACKET_\w+_LAYOUT$", register):
                where = "FERRY_PACKET_LAYOUT"
            field = f"{where}_{match.group(3).upper()}"
            values[f"{field}_SHIFT"], values[f"{field}_WIDTH"] = low, high - low + 1
    return values


def view_problems(manual, values):
    """Core registers that the manual describes as `BAR0 NAME` stand where BAR0 has them, 0x400 further."""
    section, group, base, seen = None, "", 0, 0
    for line in manual.read_text().splitlines():
        if match := re.match(r"## (\w+)$", line):
            section, group, base = match.group(1), "", 0
        elif match := re.match(r"### core\.(\w+): \d+ from (0x[0-9a-f]+)", line):
            group, base = match.group(1) + "_", int(match.group(2), 16)
        elif section == "core" and (match := re.match(
                r"\| (0x[0-9a-f]+) \| (\w+) .*\| (?:Sets )?BAR0 (\w+(?:\.\w+)?)(?:, low word)?[.;]", line)):
            name = match.group(3)
            here = base + int(match.group(1), 16)
            there = values.get("FERRY_BAR0_" + name.replace(".", "_"))
            there = there if there is None or "." not in name else there + values["FERRY_BAR0_RING_AT"]
            seen += 1
            if there is None or here != 0x400 + there:
                yield f"{group}{match.group(2)}: {here:#x}, BAR0 {name} {there}"
    if seen < 15:
        yield f"only {seen} registers of BAR0's seen"


def main():
    generated, manual = Path(sys.argv[1]), Path(sys.argv[2])
    passed = failed = 0

    def check(name, problems):
        nonlocal passed, failed
        for problem in problems[:6]:
            print(f"    {problem}")
        print(f"[  {'FAILED ' if problems else '     OK'} ] {name}")
        passed, failed = passed + (not problems), failed + bool(problems)

    c = read_c(generated / "ferry_contract.h")
    # The transport's, which no Verilog knows.
    usb = read_c(generated / "ferry_usb.h")
    verilog, ranges = read_verilog(generated / "ferry_contract.vh")
    book = read_manual(manual)
    bundles = read_bundles(manual)
    # Bundles and the counters' event bits are the RTL's alone.
    rtl_values = {n: verilog.pop(n) for n in list(verilog) if n.endswith("_BITS") or n.startswith("FERRY_EVENT_")}
    rtl_ranges = {f"FERRY_{b}_{f}": ranges.pop(f"FERRY_{b}_{f}", None) for b, fields in bundles.items() for f, _ in fields}
    check("bundles_are_filled_by_their_fields", list(bundle_problems(bundles, rtl_values, rtl_ranges))
          + ([] if len(bundles) >= 9 else [f"{len(bundles)} bundles"]))
    counters = {n.removeprefix("FERRY_BAR0_COUNTER_"): v // 8 for n, v in c.items() if re.match(r"FERRY_BAR0_COUNTER_[A-Z_]+$", n)}
    events = {n.removeprefix("FERRY_EVENT_"): v for n, v in rtl_values.items() if n.startswith("FERRY_EVENT_")}
    check("events_are_in_the_order_of_the_counters", [f"{n}: event {events.get(n)}, counter {v}" for n, v in counters.items()
                                                      if n not in ("AT", "STRIDE", "COUNT") and events.get(n) != v]
          + ([] if len(events) == rtl_values.get("FERRY_EVENTS_BITS") else ["number of events"]))
    check("c_and_verilog_name_the_same_things", [f"only one side has {n}" for n in sorted(set(c) ^ set(verilog))])
    check("c_and_verilog_give_the_same_values", [f"{n}: C {c[n]:#x}, Verilog {verilog[n]:#x}"
                                                for n in sorted(set(c) & set(verilog)) if c[n] != verilog[n]])
    check("verilog_ranges_are_the_masks", [f"{n}: {r}" for n, r in ranges.items() if f"{n}_MASK" not in c
                                           or c[f"{n}_MASK"] != (1 << r[0] + 1) - (1 << r[1])])
    check("names_stand_in_one_header", sorted(set(c) & set(usb)) + ([] if len(usb) >= 8 else [f"USB: {len(usb)} names"]))
    c |= usb
    check("manual_gives_the_same_values", [f"{n}: manual {v:#x}, C {c.get(n)}" for n, v in book.items() if c.get(n) != v])
    # Every name but the derived forms (masks, resets, spans, sizes) has to stand in the manual.
    derived = re.compile(r"_(MASK|RESET|SPAN|SIZE|STRIDE|COUNT|VERSION|RAM)$")
    check("manual_leaves_nothing_out", [f"not in the manual: {n}" for n in c if n not in book and not derived.search(n)
                                        and not n.endswith(("_VALUE_SHIFT", "_VALUE_WIDTH", "_STATE_SHIFT", "_STATE_WIDTH"))])
    check("the_core_sees_bar0_where_it_stands", list(view_problems(manual, c)))
    check("enough_was_compared", [] if len(c) > 600 and len(ranges) > 120 and len(book) > 400 else
          [f"C {len(c)}, ranges {len(ranges)}, manual {len(book)}"])
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / "contract.md"
        subprocess.run([sys.executable, Path(__file__).parents[2] / "contract/generate.py", "--manual", fresh], check=True)
        check("manual_in_the_repository_is_current", [] if fresh.read_text() == manual.read_text() else
              ["docs/manual/contract.md differs from what contract/*.rdl says now: run make and commit it"])
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
