#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run a program on devices of its own: on_simulator.py [--link LINK] PROGRAM [ARGUMENTS...], to which --backend is added. LINK is
socket (ferry-sim), uart (serial_end) or usb (usb_end, libusb_redir in libusb's place)."""
import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path


@contextlib.contextmanager
def devices(command):
    """What serves them; the first line that it says."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield process.stdout.readline().rstrip("\n")
        finally:
            process.terminate()


def on(link, folder, program):
    environment = dict(os.environ)
    if link == "socket":
        # Two: some tests have two adapters.
        address = f"unix:{folder}/devices"
        command, expected = ["build/ferry-sim", "--listen", address, "--devices", "2"], f"listening on {address}"
        backend = f"socket:{address}"
    elif link == "uart":
        command, expected, backend = ["build/system/serial_end"], None, "uart:{}"
    else:
        # By its name where the loader looks first: a program with sanitizers bears no library before theirs.
        (folder / "libusb-1.0.so.0").symlink_to(Path("build/system/libusb_redir.so").resolve())
        environment |= {"LD_LIBRARY_PATH": str(folder), "FERRY_USBREDIR": f"{folder}/port"}
        command, expected, backend = ["build/system/usb_end", f"unix:{folder}/port"], "ready", "usb"
    with devices(command) as said:
        if not said or expected not in (None, said):
            return 1
        return subprocess.run([*program, "--backend", backend.format(said)], check=False, env=environment).returncode


def main():
    link, program = (sys.argv[2], sys.argv[3:]) if sys.argv[1] == "--link" else ("socket", sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="ferry-link-") as folder:
        return on(link, Path(folder), program)


if __name__ == "__main__":
    sys.exit(main())
