#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_guest_usb.py KERNEL INITRAMFS TESTS...: a stock kernel in a virtual machine on whose USB our RTL is a device, with the packaged
core at its pins (ferry-sim --usb). In it the tool and some of the system tests use it through libusb, as they would with a cable."""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = ["tests/rtl/host", "tests/guest"]
import lspci  # noqa: E402
import machine  # noqa: E402


def steps_at(port, kernel, initramfs):
    """What the guest says with the device of that socket on its USB."""
    with subprocess.Popen(["build/ferry-sim", "--seed", machine.SEED, "--usb", f"unix:{port}"], stdout=subprocess.PIPE,
                          text=True) as device:
        device.stdout.readline()
        steps = machine.run([*machine.QEMU, "-machine", "q35", "-m", "512M", "-device", "qemu-xhci", "-chardev", f"socket,id=u,path={port}",
                             "-device", "usb-redir,chardev=u"], kernel, initramfs)
        device.terminate()
    machine.check(device.returncode == 0, "the_simulator_ends_well", device.returncode)
    return steps


def main():
    print(f"FERRY_SEED={machine.SEED}", flush=True)
    kernel, initramfs, *tests = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="ferry-guest-") as folder:
        steps = steps_at(Path(folder, "port"), kernel, initramfs)
    missing = lspci.not_found(Path("tests/guest/lsusb.txt"), steps.get("lsusb", (0, ""))[1])
    machine.check(not missing, "lsusb_sees_the_device", "\n    ".join([*missing, steps.get("lsusb", (0, ""))[1]]))
    machine.look(steps, "list", "the_list_has_it", 0, "usb:1-", "ready", "USB 1209:0001, Pageferry, serial number 1")
    machine.look(steps, "info", "info_names_the_link", 0, "USB, full speed, 12 Mbit/s", "ferry_usb")
    machine.look(steps, "place", "a_port_names_it", 0, "ferry_usb")
    machine.look(steps, "nowhere", "another_port_has_none", 2, "has the port or the serial number '9-9'")
    first = re.search(r"first is (\d+)", steps.get("second", (0, ""))[1])
    user = f"in use by process {first and first.group(1)}"
    machine.look(steps, "second", "a_second_program_is_told_who_is_the_first", 4, "IN_USE", "device 1209:0001 at 1-", user)
    machine.look(steps, "replug", "a_device_that_is_taken_away_is_lost", 1, "DEVICE_LOST", "unplugged")
    machine.look(steps, "again", "given_back_it_is_there", 0, "ferry_usb")
    machine.look(steps, "selftest", "selftest", 0, "8 passed, 0 failed")
    machine.system_tests(steps, tests)
    machine.replay(steps, 1 << 19)
    return machine.end(steps)


if __name__ == "__main__":
    sys.exit(main())
