#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What install.sh says of the udev rule: whether udev looks where it was put, and what is to be done; and the rule itself. It stands
in a root of its own, since the folders that udev looks in are the system's."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = ["tests/setup"]
from cases import run_cases  # noqa: E402

RULE = "70-pageferry.rules"


def made_for(prefix, destination=""):
    """What `make install` says: the script's own lines alone."""
    done = subprocess.run(["make", "-s", f"PREFIX={prefix}", f"DESTDIR={destination}", "install"], capture_output=True, text=True,
                          check=False, env={name: value for name, value in os.environ.items() if not name.startswith("MAKE")})
    assert done.returncode == 0, done
    return [line for line in done.stdout.splitlines() if line.startswith("install: ")]


def where_udev_does_not_look_it_is_said_what_to_copy(folder):
    prefix = Path(folder, "own place")
    said = made_for(prefix)
    assert said == [f"install: udev does not look in {prefix}/lib/udev/rules.d; for boards on USB: sudo cp "
                    f"'{prefix}/lib/udev/rules.d/{RULE}' /etc/udev/rules.d/, sudo udevadm control --reload"], said
    assert Path(prefix, "lib/udev/rules.d", RULE).is_file()


def a_tree_for_a_package_is_nobodys_yet(folder):
    assert made_for("/usr/local", Path(folder, "tree")) == []


def where_udev_looks_it_is_told_to_look_again(folder):
    """The script's own choice, with the folders of a system."""
    script = Path("host-driver/package/install.sh").read_text(encoding="utf-8")
    part = script[script.index("say_where_the_rule_is() {"):script.index("put_all() {")]
    for place in ("/etc/udev/rules.d", "/usr/local/lib/udev/rules.d", "/usr/lib/udev/rules.d", "/lib/udev/rules.d"):
        done = subprocess.run(["sh", "-c", f"DESTDIR= udevrulesdir={place} rule={RULE}\n{part}say_where_the_rule_is"], cwd=folder,
                              capture_output=True, text=True, check=False)
        assert done.stdout == "install: for boards on USB that are plugged in now: udevadm control --reload, and plug them in anew\n", done


def the_rule_is_of_our_devices_and_of_who_may_use_them(_):
    """As udev(7) has it: what must be so, and what is done then; two users' ways, and nobody else's device."""
    text = Path("build/generated", RULE).read_text(encoding="utf-8").replace("\\\n", "")
    rules = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert len(rules) == 1, rules
    parts = [re.fullmatch(r'([\w{}]+)(==|=|\+=)"(.*)"', part.strip()).groups() for part in rules[0].split(",")]
    ids = re.search(r'FERRY_USB_ID "(\w{4}):(\w{4})"', Path("build/generated/ferry_usb.h").read_text(encoding="utf-8")).groups()
    maker = re.search(r'define MAKER +"(\w+)"', Path("host-driver/link/usb_find.c").read_text(encoding="utf-8"))[1]
    assert sorted(parts) == sorted([
        ("SUBSYSTEM", "==", "usb"), ("ENV{DEVTYPE}", "==", "usb_device"), ("ATTR{idVendor}", "==", ids[0]),
        ("ATTR{idProduct}", "==", ids[1]), ("ATTR{manufacturer}", "==", maker), ("MODE", "=", "0660"), ("GROUP", "=", "plugdev"),
        ("TAG", "+=", "uaccess")]), parts
    # systemd gives what is tagged to whoever sits there in a rule of that number.
    assert int(RULE[:2]) < 73


CASES = [where_udev_does_not_look_it_is_said_what_to_copy, a_tree_for_a_package_is_nobodys_yet,
         where_udev_looks_it_is_told_to_look_again,
         the_rule_is_of_our_devices_and_of_who_may_use_them]

if __name__ == "__main__":
    sys.exit(run_cases(CASES))
