# SPDX-License-Identifier: Apache-2.0
"""A virtual machine that says what came of each step of its init script, and what is thought of it. QEMU translates each instruction
(TCG), so that no virtualisation is asked of the machine."""
import json
import os
import re
import select
import subprocess
import tempfile

# Of silence. How long a guest takes is the machine's affair: with thirty others at work the simulator had a fifteenth of a processor.
# But the guest says each case, and the longest, a replay or 3.6 MB over the wires of USB, take two minutes of a whole one.
SECONDS = 3600
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
    said = b""
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors) as machine:
            while True:
                if not select.select([machine.stdout], [], [], SECONDS)[0]:
                    machine.terminate()
                    break
                more = os.read(machine.stdout.fileno(), 1 << 16)
                if not more:
                    break
                said += more
        errors.seek(0)
        complaints = errors.read().decode(errors="replace")
    said = said.decode(errors="replace").replace("\r", "")
    steps = {name: (int(code), text) for name, text, code in
             re.findall(r"^@@@ begin (\S+)\n(.*?)^@@@ end \1 (\d+)$", said, re.MULTILINE | re.DOTALL)}
    check(machine.returncode == 0 and not complaints and "uptime" in steps, "the_guest_comes_to_its_end",
          f"exit {machine.returncode}, {complaints}{said[-2000:]}")
    return steps


def look(steps, step, name, code, *words):
    """The step ended with this code, and said these words."""
    ended, text = steps.get(step, (None, ""))
    check(ended == code and all(word in text for word in words), name, f"exit {ended}:\n{text}")


def system_tests(steps, tests):
    """Each a program, and a step of its name."""
    for test in tests:
        look(steps, test, f"system_{test}", 0, "[  PASSED  ]")
    print(f"{sum(steps.get(test, (0, ''))[1].count('[       OK ]') for test in tests)} cases of {len(tests)} system tests")


def replay(steps, verified_bytes):
    """20 frames, in which content had to go and to come back, and more than so many bytes were compared."""
    look(steps, "replay", "replay", 0)
    figures = json.loads(steps.get("json", (0, "{}"))[1] or "{}")
    names = ("frames", "bad_bytes", "verified_bytes", "evictions", "bytes_in", "bytes_out")
    frames, bad, verified, evictions, bytes_in, bytes_out = (figures.get(name, -1) for name in names)
    check(frames == 20 and bad == 0 and verified > verified_bytes and evictions > 0 and bytes_out > 0,
          "every_byte_of_20_frames_is_right", figures)
    print(f"the replay compared {verified} bytes; {bytes_in} went in, {bytes_out} out, in {evictions} evictions")


def end(steps):
    """The last lines, and the exit code."""
    print(f"the guest was up for {steps.get('uptime', (0, '?'))[1].split(' ', maxsplit=1)[0]} s")
    print(f"{passed} passed, {failed} failed")
    return failed != 0
