# SPDX-License-Identifier: Apache-2.0
"""A virtual machine that says what came of each step of its init script, and what is thought of it. QEMU translates each instruction
(TCG), so that no virtualisation is asked of the machine."""
import os
import re
import subprocess

SECONDS = 900  # The longest that was seen on a machine with other work is a third of it.
QEMU = ["qemu-system-x86_64", "-accel", "tcg", "-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot"]
SEED = os.environ.get("FERRY_SEED", "1")
passed = failed = 0


def check(good, name, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}", flush=True)


def run(command, kernel, initramfs):
    """What the guest said of each step: (exit code, text)."""
    command = [*command, "-kernel", kernel, "-initrd", initramfs, "-append", "console=ttyS0 quiet panic=-1"]
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


def look(steps, step, name, code, *words):
    """The step ended with this code, and said these words."""
    ended, text = steps.get(step, (None, ""))
    check(ended == code and all(word in text for word in words), name, f"exit {ended}:\n{text}")


def end(steps):
    """The last lines, and the exit code."""
    print(f"the guest was up for {steps.get('uptime', (0, '?'))[1].split(' ', maxsplit=1)[0]} s")
    print(f"{passed} passed, {failed} failed")
    return failed != 0
