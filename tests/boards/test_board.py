#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is flashed onto a board, at its pins, from power-on: the driver finds it at its serial port or on USB, pages through its
memory chip and gets every byte back, and the chip has nothing against it. test_board.py BOARD SIMULATOR BAUD[@SEEN]|usb [COMMAND...]:
the commands of `ferry` are `info` and a replay unless others are given; SEEN is the rate by the host's clock, where that is far below."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

results = []
# Video memory; which lights are looked at, which of them are lit while all is well, and when nobody is at the other end (None: no light
# tells that).
BOARDS = {"ulx3s-85f": ("32.0 MiB", 0x86, 0x06, 0x86), "ulx3s-85f-usb": ("32.0 MiB", 0x86, 0x06, 0x86),
          "ulx3s-25f": ("32.0 MiB", 0x86, 0x06, 0x86), "colorlight-i5": ("8.0 MiB", 0x04, 0x04, None),
          "own-25f": ("8.0 MiB", 0x04, 0x04, None)}
MODEL = "2 (GPU virtual addresses)"  # All of them have page tables.


def check(good, name, detail=""):
    results.append(bool(good))
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}", flush=True)


def ferry(port, *arguments):
    backend, more = port
    return subprocess.run(["build/ferry", *arguments, "--backend", backend], capture_output=True, text=True, check=False,
                          env=os.environ | more)


def short(port, folder, name):
    said = ferry(port, "info")
    facts = dict(re.findall(r"^(.*?)  +(.*)$", said.stdout, re.M))
    found = [facts.get(name) for name in ("device", "local memory", "driver model", "faults")]
    check(said.returncode == 0 and found == [name, BOARDS[name][0], MODEL, "0"], "a_host_finds_the_board",
          said.stdout + said.stderr)
    # Three allocations of two pages, one of them with its end inside a page, take turns in four pages.
    trace, figures = folder / "pages.memtrace", folder / "figures.json"
    made = "".join(f"a {name} {size} buffer\nw {name} 0 {size}\n" for name, size in ((1, 8192), (2, 8192), (3, 5000)))
    trace.write_text(made + "d 1 1\nd 1 2\nd 1 3\nf\nd 1 1\nf\n")
    done = ferry(port, "replay", str(trace), "--vram", "16K", "--verify", "all", "--quiet", "--no-advice", "--json", str(figures))
    said = figures.read_text() if figures.exists() else ""
    numbers = {name: int(value) for name, value in re.findall(r'"(\w+)": (\d+)', said)}
    check(done.returncode == 0 and numbers.get("bad_bytes") == 0 and numbers.get("evictions", 0) > 0
          and numbers.get("verified_bytes", 0) > 20000, "pages_through_its_memory_chip", done.stdout + done.stderr + said)


def main():
    name, simulator, baud, *others = sys.argv[1:]
    _, looked_at, well, alone = BOARDS[name]
    usb = baud == "usb"
    baud, _, seen = baud.partition("@")
    with tempfile.TemporaryDirectory(prefix="ferry-board-") as folder:
        address = Path(folder, "usb")
        with subprocess.Popen([simulator, f"unix:{address}" if usb else baud], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as board:
            try:
                said = board.stdout.readline().split()[-1]
                # A pseudo terminal has no rate; 12 Mbaud is the most that the back end takes. In libusb's place is one without a kernel.
                port = ("usb", {"LD_PRELOAD": str(Path("build/system/libusb_redir.so").resolve()), "FERRY_USBREDIR": str(address)}) \
                    if usb else (f"uart:{said}@{seen or min(int(baud), 12000000)}", {})
                if not others:
                    short(port, Path(folder), name)
                for command in others:
                    done = ferry(port, *command.split())
                    check(done.returncode == 0, command.replace(" ", "_"), done.stdout + done.stderr)
            finally:
                board.terminate()
            said = board.stderr.read()
        # The chip works, a host had a session, and nothing is wrong.
        lights = [int(number, 16) for number in re.findall(r"lights (\w\w)(?:: good)?$", said, re.M)]
        check(board.wait() == 0 and len(lights) == 2 and lights[0] & looked_at == well, "nothing_against_it_at_its_pins", said)
        if alone is not None:
            check(len(lights) == 2 and lights[1] & looked_at == alone, "a_light_tells_that_nobody_is_there", said)
    print(said, end="")
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
