#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a board says in several places, held together before minutes of synthesis: check.py values|pins NAME=VALUE..., in the board's
folder, with what its Makefile says (TOP, NAME, CLOCK, MHZ, BAUD, PINS, OPTIONS) and OUT, where the memory controller is. `values` are
the clock, the serial port's rate and the memory chip, `pins` the constraints. A board where one of them is wrong is built without a
word, and answers nothing or loses bytes. Looks at plain numbers alone: what is written otherwise is not judged. Fails, a line for
each place."""
import re
import sys
from pathlib import Path

PORT = re.compile(r"^\s*(?:input|output|inout)\b\s*(?:wire|reg|logic)?\s*(?:\[([^\]]*)\])?\s*(\w+)", re.M)


def read(name):
    path = Path(name)
    return path.read_text(encoding="utf-8") if path.exists() else ""


def code(text, comment):
    return re.sub(rf"{comment}.*", "", text)


def number(pattern, text):
    found = re.search(pattern, text, re.M)
    return float(found[1]) if found else None


def named(name, text):
    """A parameter that an instance is given, or that a module has by itself."""
    return number(rf"\.{name} *\( *(\d+) *\)", text) or number(rf"\bparameter +(?:\w+ +)?{name} *= *(\d+)\b", text)


def plls(top):
    """Each PLL's settings and what is at its clocks."""
    for body in re.findall(r"\bEHXPLLL\b(.*?);", top, re.S):
        yield dict(re.findall(r"\.(\w+) *\( *\"?([\w.]+)\"? *\)", body))


def clock(said, top, pins):
    """Of the device's clock: the oscillator's frequency times the PLL's settings, if one makes it, is MHZ."""
    mhz = float(said["MHZ"])
    for pll in plls(top):
        if pll.get("CLKOP") != said["CLOCK"] or pll.get("FEEDBK_PATH") != "CLKOP" or "CLKI" not in pll:
            continue
        port = pll["CLKI"]
        oscillator = number(rf'^\s*FREQUENCY +PORT +"{port}" +([\d.]+) *MHZ', pins)
        if oscillator is None:
            yield f"{said['PINS']} has no FREQUENCY PORT \"{port}\": place and route would hold the clock against nothing"
            continue
        divider, times, inside = (int(pll.get(name, 1)) for name in ("CLKI_DIV", "CLKFB_DIV", "CLKOP_DIV"))
        made = oscillator * times / divider
        if abs(made / mhz - 1) > 0.005:
            yield (f"{said['CLOCK']} has {made:g} MHz ({oscillator:g} of {said['PINS']} / CLKI_DIV {divider} * CLKFB_DIV {times}), and "
                   f"the Makefile's MHZ is {mhz:g}")
        if not 400 <= made * inside <= 800:
            yield f"the PLL runs at {made * inside:g} MHz inside ({made:g} * CLKOP_DIV {inside}): 400 to 800 is what the chip can do"
        if oscillator / divider < 3.125:
            yield f"the PLL compares at {oscillator / divider:g} MHz ({oscillator:g} / CLKI_DIV {divider}): 3.125 is the least"
    waits = named("CLOCKS_PER_US", top)
    if waits is not None and not mhz <= waits <= 1.1 * mhz + 1:
        yield f"CLOCKS_PER_US of {said['TOP']}.v is {waits:g}, and the Makefile's MHZ {mhz:g}: it is that, rounded up"
    for name in ("input_clk_freq", "sys_clk_freq"):
        told = number(rf"^{name}: *([\d.]+(?:e\d+)?)", read("litedram.yml"))
        if told is not None and not 0.95 * mhz < told / 1e6 <= mhz:
            yield f"{name} of litedram.yml is {told / 1e6:g} MHz, and the Makefile's MHZ {mhz:g}: it is 0.4 % less"


def rate(said, top):
    bit = number(r"-set +BIT_SIXTEENTHS +(\d+)", said.get("OPTIONS", "")) or named("BIT_SIXTEENTHS", top)
    if not said.get("BAUD") or bit is None:
        return
    made = float(said["MHZ"]) * 1e6 * 16 / bit
    if abs(made / float(said["BAUD"]) - 1) > 0.02:
        yield (f"BIT_SIXTEENTHS of {said['TOP']}.v, {bit:.0f}, is {made:.0f} baud at {said['MHZ']} MHz, and the Makefile's BAUD is "
               f"{said['BAUD']}: {16e6 * float(said['MHZ']) / float(said['BAUD']):.0f} would be that")


def chip(said, top):
    """Of the memory chip: the ports of the generated controller."""
    core = read(f"{said.get('OUT')}/litedram_core.v")
    widths = {name: int(bits) + 1 for bits, name in re.findall(r"^ +(?:input|output|inout) +wire +\[(\d+):0\] (\w+),?$", core, re.M)}
    if not {"sdram_a", "sdram_dq", "user_port_video_cmd_addr"} <= widths.keys():
        return
    word = widths["sdram_dq"]
    for name, bits in (("ADDRESS_BITS", widths["user_port_video_cmd_addr"] + (word // 8).bit_length() - 1),
                       ("ROW_BITS", widths["sdram_a"]), ("WORD_BITS", word)):
        told = named(name, top)
        if told is not None and told != bits:
            yield f"{name} of {said['TOP']}.v is {told:.0f}, and the chip of litedram.yml has {bits}"


def values(said):
    top, pins = code(read(f"{said['TOP']}.v"), "//"), code(read(said["PINS"]), "#")
    if not re.search(rf"\bmodule +{said['TOP']}\b", top):
        yield f"{said['TOP']}.v has no module {said['TOP']}: file and module have the same name"
    if len(said["NAME"]) > 15:
        yield f"NAME has {len(said['NAME'])} letters: {said['NAME']}; the device tells 15 at most"
    yield from clock(said, top, pins)
    yield from rate(said, top)
    yield from chip(said, top)


def constraints(said):
    head = re.search(rf"\bmodule +{said['TOP']}\b(.*?)\) *;", code(read(f"{said['TOP']}.v"), "//"), re.S)
    places = re.findall(r'^\s*LOCATE +COMP +"([^"]+)" +SITE +"([^"]*)"', code(read(said["PINS"]), "#"), re.M)
    standards = re.findall(r'^\s*IOBUF +PORT +"([^"]+)"', code(read(said["PINS"]), "#"), re.M)
    ports, vague = [], set()
    for width, name in PORT.findall(head[1] if head else ""):
        most, colon, least = width.replace(" ", "").partition(":")
        if not width:
            ports.append(name)
        elif colon and most.isdigit() and least.isdigit():
            ports += [f"{name}[{bit}]" for bit in range(int(least), int(most) + 1)]
        else:
            vague.add(name)
    located = [port for port, _ in places]
    missing = [port for port in ports if port not in located]
    if missing:
        yield f"{said['PINS']} has no place for {', '.join(missing)}"
    unknown = [port for port in dict.fromkeys(located + standards) if port not in ports and port.partition("[")[0] not in vague]
    if unknown and ports:
        yield f"{said['PINS']} tells of {', '.join(unknown)}, and {said['TOP']}.v has no such port"
    for port in dict.fromkeys(port for port in located if located.count(port) > 1):
        yield f"{said['PINS']} has {located.count(port)} places for {port}"
    at = {}
    for port, site in places:
        at.setdefault(site, []).append(port)
    for site, there in at.items():
        if "?" in site or not site:
            yield f"{said['PINS']} does not say where {', '.join(there)} {'is' if len(there) == 1 else 'are'}: \"{site}\""
        elif len(set(there)) > 1:
            yield f"{said['PINS']} has {' and '.join(there)} at one place, {site}"


def main():
    said = dict(word.partition("=")[::2] for word in sys.argv[2:])
    wrong = list({"values": values, "pins": constraints}[sys.argv[1]](said))
    for line in wrong:
        print(f"check.py: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
