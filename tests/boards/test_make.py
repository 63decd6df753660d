#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What people type in a board's folder, and what is said when it cannot be: no board, no such chip, no flasher, a clock that is too
slow, a generator that writes other registers, ids that are not the contract's."""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, "boards")
import memory  # noqa: E402

results = []
MADE = Path("build/boards/ulx3s-85f")


def check(good, name, detail=""):
    results.append(bool(good))
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}", flush=True)


def make(*arguments, board="ulx3s", **environment):
    done = subprocess.run(["env", "MAKEFLAGS=", "MAKELEVEL=0", "make", "-s", "--no-print-directory", "-C", Path("boards", board),
                           *arguments], capture_output=True, text=True, check=False, env=os.environ | environment)
    return done.returncode, (done.stdout + done.stderr).splitlines()


def figures(folder, *clocks):
    report = {"fmax": {"$glbnet$clk": {"achieved": 57.71}, "$glbnet$usb_clk": {"achieved": 80.25}},
              "utilization": {"TRELLIS_COMB": {"used": 20613, "available": 24288}, "DP16KD": {"used": 47, "available": 56}}}
    path = Path(folder, "report.json")
    path.write_text(json.dumps(report))
    return subprocess.run([sys.executable, "boards/figures.py", path, *clocks],
                          capture_output=True, text=True, check=False)


def one_line(lines):
    """Of ours; the other one is make's own."""
    return len(lines) == 2 and lines[1].startswith("make: ***")


def stand_in(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def template():
    """What its Makefile says that may be set is the module's to have: Yosys refuses any other."""
    settings = re.findall(r"-set (\w+) (\w+)", Path("boards/template/Makefile").read_text())
    words = " ".join(f"-set {name} {value}" for name, value in settings)
    done = subprocess.run(["yosys", "-q", "-p", "read_verilog boards/template/ferry_template.v; "
                           f"chparam {words} -set BIT_SIXTEENTHS 64 ferry_template"], capture_output=True, text=True, check=False)
    check(settings and done.returncode == 0, "what_the_template_sets_is_there", done.stderr)


def no_board(folder):
    code, lines = make("test", "PORT=/dev/ttyNONE")
    check(code != 0 and lines[0] == "no board at /dev/ttyNONE: plug it in, or say where it is: make test PORT=/dev/ttyUSB1; ferry list "
          "shows the ports" and one_line(lines), "no_board", lines)
    code, lines = make("test", "PORT=/dev/ttyNONE", board="colorlight-i5")
    check(code != 0 and "make test PORT=/dev/ttyACM1;" in lines[0] and one_line(lines), "no_board_at_a_port_of_the_other_kind", lines)
    # The tool as it is where there is no device, and where it finds one that fails.
    says = 'case $1 in info) echo "ferry: cannot open $3: BACKEND: nothing is there; plug it in" >&2; exit 2;; esac; echo tried'
    for name, board, words in (("card", "acorn", ()), ("board_on_usb", "ulx3s", ("TRANSPORT=usb",))):
        code, lines = make("test", *words, f"FERRY={stand_in(Path(folder, 'ferry'), says)}", board=board)
        check(code != 0 and lines[0].endswith("BACKEND: nothing is there; plug it in") and one_line(lines), f"no_{name}", lines)
        code, lines = make("test", *words, f"FERRY={stand_in(Path(folder, 'ferry'), 'echo $1 $2 $3')}", board=board)
        backend = "usb" if words else "pci"
        check(code == 0 and lines == [f"selftest --backend {backend}"], f"a_{name}_is_tested", lines)


def flash(folder):
    made = {"ulx3s": "../../build/boards/ulx3s-85f/ulx3s-85f.bit", "acorn": "../../build/boards/acorn/acorn.bit"}
    called = Path(folder, "called")
    for board, loader in (("ulx3s", "ulx3s"), ("acorn", "acornCle215")):
        # Before an hour of synthesis and placing, of which nothing is to be begun.
        code, lines = make("flash", "FLASHER=no-such-flasher", "YOSYS=false", "NEXTPNR=false", "VIVADO=false", board=board)
        check(code != 0 and len(lines) == 1 and "there is no no-such-flasher: sudo apt-get install openfpgaloader" in lines[0],
              f"no_flasher_{board}", lines)
        # As if the bitstream were there, and openFPGALoader what PATH has.
        path = {"PATH": f"{folder}:{os.environ['PATH']}"}
        stand_in(Path(folder, "openFPGALoader"), f'echo "$@" > {called}')
        code, lines = make("-o", made[board], "flash", board=board, **path)
        check(code == 0 and called.read_text() == f"-b {loader} -f {made[board]}\n", f"flashed_{board}", lines)
        stand_in(Path(folder, "openFPGALoader"), "echo unable to open ftdi device >&2; exit 1")
        code, lines = make("-o", made[board], "flash", board=board, **path)
        check(code != 0 and len(lines) == 3 and "unable to open ftdi device" in lines
              and re.match(f"openFPGALoader could not flash .*{board}.*: is the (board|cable) plugged in.*"
                           f"sudo openFPGALoader -b {loader} -f ", lines[0]),
              f"the_flasher_fails_{board}", lines)


def timing(folder):
    """Too slow, by any clock, and there is no bitstream: nothing is packed, by whoever places."""
    out, called = Path(folder, "placed"), Path(folder, "called")
    out.mkdir()
    packs = stand_in(out / "pack", f"echo packs > {called}; exit 1")
    words = [f"OUT={out}", f"FIRMWARE={stand_in(out / 'firmware.hex', '')}", "TRANSPORT=usb", f"ECPPACK={packs}"]
    (out / "placed.config").touch()
    for name, clocks in (("fast_enough", (50, 48, 12)), ("too_slow_by_the_device_s_clock", (49.9, 48, 12)),
                         ("too_slow_by_usb_s_fast_clock", (50, 47.9, 12)), ("too_slow_by_usb_s_clock", (50, 48, 11.9))):
        called.unlink(missing_ok=True)
        part = {"used": 1, "available": 2}
        (out / "report.json").write_text(json.dumps({
            "fmax": {f"$glbnet${clock}": {"achieved": mhz} for clock, mhz in zip(("clk", "usb_io_clk", "usb_clk"), clocks)},
            "utilization": {"TRELLIS_COMB": part, "DP16KD": part}}))
        code, lines = make("-o", f"{out}/placed.config", "-o", f"{out}/firmware.hex", "bitstream", *words)
        slow = name != "fast_enough"
        check(code != 0 and called.exists() != slow and any("too slow: no bitstream" in line for line in lines) == slow, name, lines)
    for name, report, good in (("violated", "Slack (VIOLATED) : -0.1ns", False), ("met", "Slack (MET) : 0.1ns", True)):
        (out / "acorn.edf").touch()
        (out / "acorn.bit").unlink(missing_ok=True)
        vivado = stand_in(out / "vivado", f"echo '{report}' > {out}/timing.txt; touch {out}/acorn.bit")
        code, lines = make("-o", f"{out}/acorn.edf", "bitstream", f"OUT={out}", f"VIVADO={vivado}", board="acorn")
        check((code == 0) == good and (f"{out}/acorn.bit" if good else "it misses its timing") in lines[0], f"a_card_s_timing_is_{name}",
              lines)
        # Nor is one flashed later, nor one that is older than what it is of.
        flasher, called = stand_in(out / "flasher", f"echo flashes > {out}/flashed"), out / "flashed"
        words = ["-o", f"{out}/acorn.edf", "flash", f"OUT={out}", f"FLASHER={flasher}"]
        code, lines = make(*words, f"VIVADO={vivado}", board="acorn")
        check((code == 0) == good == called.exists(), f"what_is_flashed_when_a_card_s_timing_is_{name}", lines)
    # Nothing is met that was not looked at: the report is not there, is that of a run before, or has no path.
    for name, report in (("no_report", f"rm -f {out}/timing.txt"), ("a_report_of_before", ":"),
                         ("no_path", f"echo Slack: inf > {out}/timing.txt")):
        (out / "timing.txt").write_text("Slack (MET) : 0.1ns")
        (out / "acorn.bit").unlink(missing_ok=True)
        vivado = stand_in(out / "vivado", f"{report}; touch {out}/acorn.bit")
        code, lines = make("-o", f"{out}/acorn.edf", "bitstream", f"OUT={out}", f"VIVADO={vivado}", board="acorn")
        check(code != 0 and lines[0].startswith("whether it meets its timing is not known: ") and not (out / "acorn.bit").exists(),
              f"a_card_s_timing_of_which_there_is_{name}", lines)
    (out / "acorn.bit").touch()
    os.utime(out / "acorn.bit", (1, 1))
    called.unlink()
    code, lines = make(*words, "VIVADO=false", board="acorn")
    check(code != 0 and not called.exists(), "an_older_card_s_bitstream_is_not_flashed", lines)


def netlists(folder):
    """What a netlist is made with is what it depends on; else it says that it is what it is not."""
    out = Path(folder, "netlist")
    out.mkdir()
    (out / "netlist.json").touch()
    firmware = stand_in(out / "firmware.hex", "")
    old = [part for path in ("../../build/boards-venv/ready", out / "litedram_core.v", firmware) for part in ("-o", path)]
    for changed, made in ((None, False), ("Makefile", True), ("../../boards/common.mk", True), ("../../boards/figures.py", False)):
        code, lines = make(*map(str, old), *(("-W", changed) if changed else ()), "netlist", f"OUT={out}", f"FIRMWARE={firmware}",
                           "YOSYS=false")
        check((code != 0 and lines[0].endswith(": synthesis")) == made and (made or lines == [f"{out}/netlist.json"]),
              f"a_netlist_after_a_change_of_{Path(changed or 'nothing').name}", lines)
    yosys = stand_in(out / "yosys", f'echo "$@" > {out}/asked; exit 1')
    for fpga, transport, left_out in (("85f", "serial", []), ("85f", "usb", []), ("25f", "serial", ["TILING"]),
                                      ("25f", "usb", ["PAGE_TABLES", "TILING"])):
        make(*map(str, old), "-o", "../../build/usb/ferry_usb_core.v", "-W", "Makefile", "netlist", f"FPGA={fpga}",
             f"TRANSPORT={transport}", f"OUT={out}", f"FIRMWARE={firmware}", f"YOSYS={yosys}")
        asked = (out / "asked").read_text()
        check(sorted(re.findall(r"-set (\w+) 0\b", asked)) == left_out and ("-set TRANSPORT" in asked) == (transport == "usb"),
              f"what_has_no_room_on_{fpga}_{transport}", asked)
        (out / "asked").unlink()


def of_one_mind(folder):
    """A board whose places do not agree is not built, and each that differs is named: copies of the template, one word changed."""
    here = Path(folder, "own")
    here.mkdir()
    made = {path.name: path.read_text(encoding="utf-8") for path in Path("boards/template").iterdir()}
    top, pins, yml = "ferry_template.v", "template.lpf", "litedram.yml"
    core = (MADE / "litedram_core.v").read_text(encoding="utf-8")
    plain = {"TOP": "ferry_template", "NAME": "template-25f", "CLOCK": "clk", "MHZ": "50", "BAUD": "3000000", "PINS": pins, "OUT": "."}
    # What the template leaves to who copies it: lines of the memory chip, and where each port is.
    ports = [f"sdram_{name}" for name in "cke csn rasn casn wen ba[0] ba[1] dqm[0] dqm[1]".split()]
    ports += [f"sdram_a[{bit}]" for bit in range(13)] + [f"sdram_d[{bit}]" for bit in range(16)]
    made[pins] += "".join(f'LOCATE COMP "{port}" SITE "??";\nIOBUF PORT "{port}" IO_TYPE=LVCMOS33;\n' for port in ports)
    count = made[pins].count('"??"') - 1  # One stands in a remark.
    for number in range(count):
        head, mark, tail = made[pins].rpartition('SITE "??"')
        made[pins] = f'{head}SITE "P{number}"{tail}'

    def said(what, name=top, old="", new="", **changed):
        for file, text in made.items():
            (here / file).write_text(text.replace(old, new) if file == name else text, encoding="utf-8")
        (here / "litedram_core.v").write_text(core.replace(old, new) if name == "core" else core, encoding="utf-8")
        done = subprocess.run([sys.executable, Path("boards/check.py").resolve(), what,
                               *(f"{key}={value}" for key, value in (plain | changed).items())],
                              cwd=here, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr.splitlines()

    for what in ("values", "pins"):
        check(said(what) == (0, []), f"a_board_of_one_mind_in_its_{what}", said(what))
    divider = ".CLKI_DIV(1)"
    cases = {
        "another_oscillator": ("values", pins, '"clk_in" 25 MHZ', '"clk_in" 48 MHZ', "clk has 96 MHz", "inside"),
        "no_oscillator": ("values", pins, "FREQUENCY PORT", "# FREQUENCY PORT", 'has no FREQUENCY PORT "clk_in"'),
        "another_divider": ("values", top, ".CLKFB_DIV(2)", ".CLKFB_DIV(3)", "clk has 75 MHz", "the PLL runs at 900 MHz"),
        "too_slow_inside": ("values", top, ".CLKOP_DIV(12)", ".CLKOP_DIV(7)", "the PLL runs at 350 MHz"),
        "too_slow_to_compare": ("values", top, divider + ", .CLKFB_DIV(2)", ".CLKI_DIV(10), .CLKFB_DIV(20)", "compares at 2.5 MHz"),
        "microseconds_of_another_clock": ("values", top, ".CLOCKS_PER_US(50)", ".CLOCKS_PER_US(49)", "CLOCKS_PER_US of"),
        "refreshes_of_a_faster_clock": ("values", yml, "sys_clk_freq: 49.8e6", "sys_clk_freq: 50.2e6", "sys_clk_freq of"),
        "refreshes_of_a_slower_clock": ("values", yml, "input_clk_freq: 49.8e6", "input_clk_freq: 40e6", "input_clk_freq of"),
        "another_rate": ("values", top, "BIT_SIXTEENTHS = 267", "BIT_SIXTEENTHS = 256", "is 3125000 baud at 50 MHz"),
        "a_larger_chip": ("values", "core", "[23:0] user_port_video_cmd_addr", "[24:0] user_port_video_cmd_addr", "ADDRESS_BITS of"),
        "a_chip_of_fewer_rows": ("values", "core", "[12:0] sdram_a", "[11:0] sdram_a", "ROW_BITS of ferry_template.v is 13, and the chip"),
        "a_wider_chip": ("values", "core", "[15:0] sdram_dq", "[31:0] sdram_dq", "ADDRESS_BITS of", "WORD_BITS of ferry_template.v is 16"),
        "another_module": ("values", top, "module ferry_template", "module ferry_other", "has no module ferry_template"),
        "a_port_without_a_place": ("pins", pins, 'LOCATE COMP "sdram_a[12]"', '# LOCATE COMP "sdram_a[12]"', "no place for sdram_a[12]"),
        "a_place_that_is_not_said": ("pins", pins, '"P3"', '"??"', "does not say where"),
        "a_place_of_two": ("pins", pins, '"P3"', '"P4"', "at one place, P4"),
        "a_place_of_no_port": ("pins", pins, 'LOCATE COMP "led"', 'LOCATE COMP "light"', "has no place for led", "tells of light"),
        "a_pin_s_kind_of_no_port": ("pins", pins, 'IOBUF PORT "led"', 'IOBUF PORT "lde"', "tells of lde"),
        "a_port_with_two_places": ("pins", pins, 'COMP "rxd"', 'COMP "txd"', "has no place for rxd", "has 2 places for txd"),
    }
    for name, (what, file, old, new, *words) in cases.items():
        code, lines = said(what, file, old, new)
        check(code == 1 and len(lines) == len(words) and all(word in line for word, line in zip(words, lines)), name, lines)
    for name, changed, words in (("another_clock_than_the_pll_s", {"MHZ": "48"}, ["clk has 50 MHz", "input_clk_freq", "sys_clk_freq",
                                                                                  "BIT_SIXTEENTHS"]),
                                 ("a_rate_that_the_makefile_sets", {"OPTIONS": "-set BIT_SIXTEENTHS 800"}, ["is 1000000 baud"]),
                                 ("a_name_that_is_too_long", {"NAME": "sixteen-letters-"}, ["NAME has 16 letters"])):
        code, lines = said("values", **changed)
        check(code == 1 and len(lines) == len(words) and all(word in line for word, line in zip(words, lines)), name, lines)
    check(said("values", BAUD="")[0] == 0, "a_board_on_usb_has_no_rate")
    # And it is asked, by each board: before synthesis, and of the pins before that too.
    for board in ("ulx3s", "colorlight-i5"):
        code, lines = make("check-pins", board=board)
        check(code == 0 and not lines, f"the_pins_of_{board}", lines)
    code, lines = make("bitstream", "YOSYS=false", board="template")
    check(code != 0 and "has no place for sdram_cke" in lines[0], "the_template_s_pins_are_not_said", lines)
    code, lines = make("-W", "Makefile", "-o", "device", "netlist", "MHZ=49", f"OUT={MADE.resolve()}", "YOSYS=false", board="ulx3s")
    check(code != 0 and any("Makefile's MHZ is 49" in line for line in lines) and not any("synthesis" in line for line in lines),
          "another_clock_is_told_before_synthesis", lines)


def resized(folder):
    """What check.py cannot read is Yosys' to refuse: a port of the controller that is wider or narrower than the wire."""
    Path(folder, "two.v").write_text("module narrow (input [1:0] a, output y); assign y = ^a; endmodule\n"
                                     "module top (input [2:0] a, output y); narrow it (.a(a), .y(y)); endmodule\n", encoding="utf-8")
    flags = re.search(r"\$\(YOSYS\) (.*?) -l ", Path("boards/common.mk").read_text(encoding="utf-8"))[1]
    done = subprocess.run(f"yosys {flags} -p 'read_verilog {folder}/two.v; hierarchy -top top'", shell=True, capture_output=True, text=True,
                          check=False)
    check(done.returncode != 0 and "top.it.a from 3 bits to 2 bits" in done.stdout + done.stderr, "a_port_of_another_width", done)


def options_in_vain(folder):
    """A board's pins of before there were options: what is set would be the netlist's alone, and that is said. (boards_own has some.)"""
    here = Path(folder, "options")
    here.mkdir()
    for path in Path("boards/template").iterdir():
        text = path.read_text(encoding="utf-8").replace("include ../common.mk", f"include {Path('boards/common.mk').resolve()}")
        (here / path.name).write_text(text, encoding="utf-8")
    arguments = ("-o", "memory", "sim", "OSCILLATOR=", "OPTIONS=-set TILING 1")
    code, lines = make(*arguments, board=here)
    check(code != 0 and "FREQUENCY PORT" in lines[0], "the_template_takes_options", lines)
    pins = here / "board_pins.v"
    pins.write_text(pins.read_text(encoding="utf-8").replace("`OPTIONS\n", "\n"), encoding="utf-8")
    code, lines = make(*arguments, board=here)
    check(code != 0 and one_line(lines) and "hands no OPTIONS to ferry_template" in lines[0], "options_that_nobody_takes", lines)
    code, lines = make(*arguments[:-1], board=here)
    check(code != 0 and "FREQUENCY PORT" in lines[0], "no_options_are_no_matter", lines)


def rates():
    """What a host is told to use is the rate that is flashed, within a hundredth."""
    for top in sorted(Path("boards").glob("*/ferry_*.v")):
        bit = re.search(r"parameter BIT_SIXTEENTHS = (\d+)", top.read_text(encoding="utf-8"))
        if bit:
            said = (top.parent / "Makefile").read_text(encoding="utf-8")
            clock, baud = (int(re.search(rf"^{name} := (\d+)$", said, re.M)[1]) for name in ("MHZ", "BAUD"))
            flashed = clock * 1e6 * 16 / int(bit[1])
            check(abs(flashed / baud - 1) < 0.01, f"the_rate_of_{top.parent.name}", f"{flashed:.0f} baud, not {baud}")


def size(folder):
    """Of the card's netlist: a block RAM of 18 Kbit is half of one, and LUT RAM is LUTs."""
    cells = {"LUT6": 100, "LUT2": 20, "INV": 3, "RAM32M": 2, "RAM64X1D": 5, "SRL16E": 1, "RAMB36E1": 7, "RAMB18E1": 3, "DSP48E1": 2,
             "FDRE": 40, "FDSE": 2, "CARRY4": 9}
    path = Path(folder, "stat.json")
    path.write_text(json.dumps({"design": {"num_cells_by_type": cells}}))
    done = subprocess.run([sys.executable, "boards/acorn/size.py", path], capture_output=True, text=True, check=False)
    check(done.stdout == "142 of 134600 LUT, 8.5 of 365 block RAMs, 2 of 740 DSP, 42 of 269200 flip-flops\n",
          "the_size_of_a_card_s_netlist", done)


def ids():
    """What Vivado is told of the card is what the contract says of it: as a driver finds it, and as the netlist says."""
    contract = {name: int(value) for name, value in
                re.findall(r"#define FERRY_(\w+)_RESET (\d+)", Path("build/generated/ferry_contract.h").read_text())}
    core = dict(re.findall(r"CONFIG\.(\w+) ([0-9A-F]+)\b", Path("boards/acorn/core.tcl").read_text()))
    for name, core_name, number in (("vendor", "Vendor_ID", contract["CONFIG_SPACE_ID_VENDOR"]),
                                    ("device", "Device_ID", contract["CONFIG_SPACE_ID_DEVICE"]),
                                    ("revision", "Revision_ID", contract["BAR0_CONTRACT_VERSION_MAJOR"]),
                                    ("subsystem_vendor", "Subsystem_Vendor_ID", contract["CONFIG_SPACE_SUBSYSTEM_VENDOR"]),
                                    ("subsystem", "Subsystem_ID", contract["CONFIG_SPACE_SUBSYSTEM_DEVICE"])):
        check(int(core[core_name], 16) == number, f"the_core_has_the_contract_s_{name}", f"{core[core_name]}, not {number:X}")
    code = contract["CONFIG_SPACE_CLASS_CLASS_CODE"]
    check([int(core[f"Class_Code_{part}"], 16) for part in ("Base", "Sub", "Interface")] == [code >> 16, code >> 8 & 255, code & 255],
          "the_core_has_the_contract_s_class", f"{core}, not {code:06x}")


def main():
    with tempfile.TemporaryDirectory(prefix="ferry-boards-") as folder:
        no_board(folder)
        flash(folder)
        timing(folder)
        size(folder)
        netlists(folder)
        of_one_mind(folder)
        resized(folder)
        options_in_vain(folder)
    rates()
    template()
    ids()
    code, lines = make("FPGA=12g", "bitstream")
    check(code != 0 and "FPGA is 25f or 85f, not '12g'" in lines[0], "no_such_chip", lines)
    code, lines = make("TRANSPORT=pci", "bitstream")
    check(code != 0 and "TRANSPORT is serial or usb, not 'pci'" in lines[0], "no_such_transport", lines)
    code, lines = make("TRANSPORT=usb", "help")
    check(code == 0 and "ulx3s-85f-usb.bit" in lines[0] and "BACKEND=usb" in lines[2], "usb_is_another_bitstream", lines)
    code, lines = make("help")
    check(code == 0 and [line.split()[1] for line in lines] == ["bitstream", "flash", "test", "memory", "sim", "netlist"],
          "help", lines)
    code, lines = make("help", board="acorn")
    check(code == 0 and [line.split()[1] for line in lines] == ["netlist", "bitstream", "flash", "test"], "help_of_a_card", lines)
    # As if the netlist were there: what comes next is for Vivado alone.
    code, lines = make("-o", "../../build/boards/acorn/acorn.edf", "bitstream", "VIVADO=no-such-vivado", board="acorn")
    check(code != 0 and "there is no no-such-vivado" in lines[0], "no_vivado", lines)
    with tempfile.TemporaryDirectory(prefix="ferry-figures-") as folder:
        done = figures(folder, "clk", "50")
        check(done.returncode == 0 and done.stdout == "20,613 of 24,288 LUT, 47 of 56 block RAMs, 57.7 MHz of 50 wanted\n",
              "figures", done)
        done = figures(folder, "clk", "57.8")
        check(done.returncode == 1 and "57.7 MHz" in done.stdout and "too slow" in done.stderr, "too_slow", done)
        done = figures(folder, "clk", "50", "usb_clk", "12")
        check(done.returncode == 0 and done.stdout.endswith(", 57.7 MHz of 50 wanted, 80.2 MHz of 12 wanted\n"), "two_clocks", done)
        done = figures(folder, "clk", "50", "usb_clk", "81")
        check(done.returncode == 1 and "80.2 MHz of 81" in done.stdout and "too slow" in done.stderr, "the_second_is_too_slow", done)
        for clocks in (["clock", "50"], ["clk", "50", "clock", "12"]):
            done = figures(folder, *clocks)
            check(done.returncode == 1 and "no clock clock" in done.stderr and "clk" in done.stderr,
                  f"no_such_clock_{len(clocks) // 2}", done)
    texts = [(MADE / "generator" / name).read_text() for name in
             ("csr.csv", "software/include/generated/sdram_phy.h", "gateware/litedram_core.v")]
    check(not list(memory.complaints(*texts)), "the_generator_as_it_is", list(memory.complaints(*texts)))
    for name, number, old, new in (("place", 0, "sdram_dfii_control,0x00000800", "sdram_dfii_control,0x00001800"),
                                   ("name", 0, "sdram_dfii_pi0_baddress", "other"),
                                   ("latency", 1, "#define SDRAM_PHY_CL 2", "#define SDRAM_PHY_CL 3"),
                                   ("bit", 1, "DFII_COMMAND_RAS 0x08", "DFII_COMMAND_RAS 0x04"),
                                   ("pin", 2, "] sdram_dq,", "] sdram_data,"),
                                   ("number_of_banks", 2, "[1:0] sdram_ba,", "      sdram_ba,"),
                                   ("port", 2, "user_port_video_cmd_addr", "user_port_film_cmd_addr")):
        changed = [text.replace(old, new) if at == number else text for at, text in enumerate(texts)]
        found = list(memory.complaints(*changed))
        check(changed != texts and len(found) == 1, "another_" + name, found)
    for name, log, words in (("an_error", "x\nTypeError: no\n", "TypeError: no"),
                             ("an_error_without_words", "  assert memtype\n  ^^^^^\nAssertionError\n", "assert memtype AssertionError"),
                             ("a_place_in_the_settings", 'in "a.yml", line 5\n  cpu None\n   ^\n', 'in "a.yml", line 5 cpu None'),
                             ("nothing", "\n", "it said nothing")):
        check(memory.why(log) == words, f"the_generator_fails_with_{name}", memory.why(log))
    with tempfile.TemporaryDirectory(prefix="ferry-memory-") as folder:
        text = Path("boards/ulx3s/litedram.yml").read_text(encoding="utf-8")
        Path(folder, "other.yml").write_text(text.replace("MT48LC16M16", "MT48LC16M61"), encoding="utf-8")
        done = subprocess.run(["build/boards-venv/bin/python", "boards/memory.py", f"{folder}/other.yml", folder], capture_output=True,
                              text=True, check=False)
        check(done.returncode != 0 and "no attribute 'MT48LC16M61'" in done.stderr and "; it knows " in done.stderr
              and "MT48LC16M16 (4 banks, 8192 rows, 512 columns)" in done.stderr, "a_chip_that_the_generator_does_not_know", done)
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
