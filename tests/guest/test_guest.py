#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_guest.py KERNEL INITRAMFS TESTS...: a stock kernel in a virtual machine whose PCI device is our RTL (ferry-sim --pci). In it the
tool and some of the system tests use the device as they would in a slot: sysfs, BARs, locked pages, interrupt messages to
memory."""
import re
import sys
from pathlib import Path

sys.path[:0] = ["tests/rtl/host", "tests/guest"]
import lspci  # noqa: E402
import machine  # noqa: E402

SLOT = ["-machine", "q35,memory-backend=memory", "-m", "512M", "-object", "memory-backend-memfd,id=memory,size=512M,share=on",
        "-device", "x-pci-proxy-dev,fd=3,addr=2"]


def main():
    print(f"FERRY_SEED={machine.SEED}", flush=True)
    kernel, initramfs, *tests = sys.argv[1:]
    steps = machine.run(["build/ferry-sim", "--seed", machine.SEED, "--pci", "--", *machine.QEMU, *SLOT], kernel, initramfs)
    missing = lspci.not_found(Path("tests/guest/lspci.txt"), steps.get("lspci", (0, ""))[1])
    machine.check(not missing, "lspci_sees_the_device", "\n    ".join(missing))
    machine.look(steps, "moves", "a_kernel_that_moves_locked_memory_is_refused", 2, "sysctl vm.compact_unevictable_allowed=0")
    machine.look(steps, "nowhere", "another_device_is_refused", 2, "0000:00:1f.0 is 8086:2918, and this driver's are 1209:fe01")
    machine.look(steps, "info", "info_names_the_link", 0, "PCI 0000:00:02.0, sysfs, no IOMMU, 2.5 GT/s PCIe x1",
                 "device             simulated", "has no IOMMU")
    machine.look(steps, "selftest", "selftest", 0, "8 passed, 0 failed")
    first = re.search(r"first is (\d+)", steps.get("second", (0, ""))[1])
    user = f"in use by process {first and first.group(1)}"
    machine.look(steps, "second", "a_second_program_is_told_who_is_the_first", 4, "IN_USE", user)
    machine.look(steps, "after", "who_comes_after_a_program_that_died_has_a_device", 0, "8 passed, 0 failed")
    machine.system_tests(steps, tests)
    machine.replay(steps, 10 << 20)
    return machine.end(steps)


if __name__ == "__main__":
    sys.exit(main())
