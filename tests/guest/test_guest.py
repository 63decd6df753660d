#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_guest.py KERNEL INITRAMFS TESTS...: a stock kernel in a virtual machine whose PCI device is our RTL (ferry-sim --pci). In it the
tool and some of the system tests use the device as they would in a slot: sysfs, BARs, locked pages, interrupt messages to
memory. QEMU translates each instruction (TCG), so that no virtualisation is asked of the machine."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, "tests/rtl/host")
import lspci  # noqa: E402

SECONDS = 900  # The longest that was seen on a machine with other work is a third of it.
QEMU = ["qemu-system-x86_64", "-accel", "tcg", "-machine", "q35,memory-backend=memory", "-m", "512M",
        "-object", "memory-backend-memfd,id=memory,size=512M,share=on", "-nodefaults", "-no-user-config", "-display", "none",
        "-serial", "stdio", "-no-reboot", "-device", "x-pci-proxy-dev,fd=3,addr=2"]
passed = failed = 0


def check(good, name, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}", flush=True)


def run(kernel, initramfs):
    """What the guest said of each step: (exit code, text)."""
    command = ["build/ferry-sim", "--seed", os.environ.get("FERRY_SEED", "1"), "--pci", "--", *QEMU, "-kernel", kernel, "-initrd",
               initramfs, "-append", "console=ttyS0 quiet panic=-1"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace") as machine:
        try:
            said, complaints = machine.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            machine.terminate()
            said, complaints = machine.communicate()
    said = said.replace("\r", "")
    steps = {name: (int(code), text) for name, text, code in
             re.findall(r"^@@@ begin (\S+)\n(.*?)^@@@ end \1 (\d+)$", said, re.MULTILINE | re.DOTALL)}
    check(machine.returncode == 0 and not complaints and "uptime" in steps, "the_guest_comes_to_its_end",
          f"exit {machine.returncode}, {complaints}{said[-2000:]}")
    return steps


def main():
    print(f"FERRY_SEED={os.environ.get('FERRY_SEED', '1')}", flush=True)
    kernel, initramfs, *tests = sys.argv[1:]
    steps = run(kernel, initramfs)

    def look(step, name, code, *words):
        ended, text = steps.get(step, (None, ""))
        check(ended == code and all(word in text for word in words), name, f"exit {ended}:\n{text}")
    missing = lspci.not_found(Path("tests/guest/lspci.txt"), steps.get("lspci", (0, ""))[1])
    check(not missing, "lspci_sees_the_device", "\n    ".join(missing))
    look("moves", "a_kernel_that_moves_locked_memory_is_refused", 2, "sysctl vm.compact_unevictable_allowed=0")
    look("nowhere", "another_device_is_refused", 2, "0000:00:1f.0 is 8086:2918, and this driver's are 1209:fe01")
    look("info", "info_names_the_link", 0, "PCI 0000:00:02.0, sysfs, no IOMMU, 2.5 GT/s PCIe x1", "has no IOMMU")
    look("selftest", "selftest", 0, "8 passed, 0 failed")
    first = re.search(r"first is (\d+)", steps.get("second", (0, ""))[1])
    look("second", "a_second_program_is_told_who_is_the_first", 4, "IN_USE", f"in use by process {first and first.group(1)}")
    look("after", "who_comes_after_a_program_that_died_has_a_device", 0, "8 passed, 0 failed")
    for test in tests:
        look(test, f"system_{test}", 0, "[  PASSED  ]")
    look("replay", "replay", 0)
    figures = json.loads(steps.get("json", (0, "{}"))[1] or "{}")
    check(figures.get("frames") == 20 and figures.get("bad_bytes") == 0 and figures.get("verified_bytes", 0) > 10 << 20 and
          figures.get("evictions", 0) > 0, "every_byte_of_20_frames_is_right", figures)
    print(f"the guest was up for {steps.get('uptime', (0, '?'))[1].split(' ', maxsplit=1)[0]} s")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
