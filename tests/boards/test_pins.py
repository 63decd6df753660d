#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pins of each board's constraints are those that LiteX-Boards, which has run on these boards, gives them: no simulation, and no
place and route, sees that two are swapped."""
import re
from importlib import import_module
from pathlib import Path

LATTICE = re.compile(r'^LOCATE COMP "([^"]+)" SITE "([^"]+)";$', re.MULTILINE)
STANDARD = re.compile(r'^IOBUF PORT "([^"]+)" .*IO_TYPE=(\w+)', re.MULTILINE)
XILINX = re.compile(r"^set_property (?:PACKAGE_PIN (\w+)|-dict \{PACKAGE_PIN (\w+) [^}]*\}) "
                    r"\[get_ports \{?([^\]}]+(?:\[\d+\])?)\}?\]$", re.MULTILINE)
PORT = re.compile(r"^ +(?:input|output|inout) +wire +(?:\[(\d+):0\] +)?(\w+)", re.MULTILINE)

SDRAM = {"sdram_clk": "sdram_clock", "sdram_wen": "sdram.we_n", "sdram_rasn": "sdram.ras_n", "sdram_casn": "sdram.cas_n",
         "sdram_a": "sdram.a", "sdram_ba": "sdram.ba", "sdram_d": "sdram.dq"}
# A port of ours, and its name there. Serial ports are named by the other end at the ULX3S.
BOARDS = {
    "ulx3s": ("radiona_ulx3s", {"revision": "2.0"}, SDRAM | {
        "clk_25mhz": "clk25", "ftdi_rxd": "serial.tx", "ftdi_txd": "serial.rx", "usb_fpga_bd_dp": "usb.d_p", "usb_fpga_bd_dn": "usb.d_n",
        "usb_fpga_pu_dp": "usb.pullup", "led": "user_led", "wifi_gpio0": "wifi_gpio0", "sdram_cke": "sdram.cke", "sdram_csn": "sdram.cs_n",
        "sdram_dqm": "sdram.dm"}),
    "colorlight-i5": ("colorlight_i5", {"revision": "7.0"}, SDRAM | {
        "clk_25mhz": "clk25", "txd": "serial.tx", "rxd": "serial.rx", "led_n": "user_led_n"}),
    "acorn": ("sqrl_acorn", {}, {
        "pcie_clk_p": "pcie_x4.clk_p", "pcie_clk_n": "pcie_x4.clk_n", "pcie_rst_n": "pcie_x4.rst_n", "pcie_clkreq_n": "pcie_clkreq_n",
        "pcie_tx_p": "pcie_x4.tx_p", "pcie_tx_n": "pcie_x4.tx_n", "pcie_rx_p": "pcie_x4.rx_p", "pcie_rx_n": "pcie_x4.rx_n",
        "led_n": "user_led"}),
}


def theirs(name, options):
    """Pins by `resource` or `resource.signal`, in the order of bits; what there are several of, in the order of their numbers."""
    platform = import_module(f"litex_boards.platforms.{name}").Platform(**options)
    pins = {}
    for resource, _, *parts in sorted(platform.constraint_manager.available, key=lambda resource: resource[1]):
        for part in parts:
            kind = type(part).__name__
            if kind == "Pins":
                pins.setdefault(resource, []).extend(part.identifiers)
            elif kind == "Subsignal":
                pins[f"{resource}.{part.name}"] = [pin for inner in part.constraints if type(inner).__name__ == "Pins"
                                                   for pin in inner.identifiers]
    return pins


def ours(text):
    """Pins by port, `name` or `name[bit]`."""
    found = [(port, pin) for port, pin in LATTICE.findall(text)] + [(port, plain or among) for plain, among, port in XILINX.findall(text)]
    return dict(found) if len(dict(found)) == len(found) else {}


def bits(source):
    """Of a top's ports, as constraints name them."""
    for width, name in PORT.findall(source):
        yield from ((name, bit, f"{name}[{bit}]") for bit in range(int(width) + 1)) if width else ((name, 0, name),)


def differences(source, text, names, pins):
    """What of the constraints is missing, elsewhere, of another voltage, or of no port."""
    have, standards = ours(text), dict(STANDARD.findall(text))
    ports = list(bits(source))
    wrong = [f"{port} at {have.get(port)}, not {(pins.get(names.get(name), [])[bit:] or [None])[0]}" for name, bit, port in ports
             if not have.get(port) or have[port] != (pins.get(names.get(name), [])[bit:] or [None])[0]]
    wrong += [f"{port} is of no port" for port in have.keys() - {port for _, _, port in ports}]
    return wrong + [f"{port} has {standard}" for port, standard in standards.items() if standard != "LVCMOS33"]


def main():
    bad = 0
    for board, (name, options, names) in BOARDS.items():
        folder = Path("boards", board)
        source = next(folder.glob("ferry_*.v")).read_text()
        text = next(path for path in folder.iterdir() if path.suffix in (".lpf", ".xdc")).read_text()
        pins = theirs(name, options)
        if board == "ulx3s":  # By the later revision's name of it LiteX-Boards means the module's enabling pin.
            pins["wifi_gpio0"] = theirs(name, {"revision": "1.7"})["wifi_gpio0"]
        wrong = differences(source, text, names, pins)
        # Any two neighbours swapped, in their places, are noticed.
        found = list(ours(text).items())
        for (_, first), (_, second) in zip(found, found[1:]):
            swapped = re.sub(rf"\b({first}|{second})\b", lambda match, pair=(first, second): pair[match[1] == pair[0]], text)
            if len(differences(source, swapped, names, pins)) != len(wrong) + 2:
                wrong.append(f"{first} and {second} may be swapped")
        case = f"pins_of_{board.replace('-', '_')}"
        print(f"[       OK ] {case}" if not wrong else f"[  FAILED  ] {case}\n    {wrong}", flush=True)
        bad += bool(wrong)
    return bad != 0


raise SystemExit(main())
