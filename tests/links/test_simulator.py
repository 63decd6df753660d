#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ferry-sim's command line: what it does not take, and streams that are closed; and hosts beside each other."""
import contextlib
import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, "tests/links")
import frames  # noqa: E402

FERRY, SIMULATOR = "build/ferry", "build/ferry-sim"
passed = failed = 0
folder = Path(tempfile.mkdtemp(prefix="ferry-simulator-"))


def check(good, name, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}", flush=True)


def command_line():
    for name, words, arguments in (
            ("no_address", "--listen ADDRESS is missing", ()), ("unknown_option", "no option '--speed'", ("--speed", "3")),
            ("no_value", "--listen needs a value", ("--listen",)), ("too_many_devices", "--devices", ("--devices", "9")),
            ("too_many_stalls", "--stall", ("--stall", "91")), ("a_number_below_nothing", "--seed", ("--seed", "-1")),
            ("a_number_and_more", "--latency", ("--latency", "5x")), ("a_number_of_65_bits", "--seed", ("--seed", str(2**64))),
            ("a_number_behind_a_space", "--seed", ("--listen", "unix:/nowhere/x", "--seed", " -1")),
            ("two_addresses", "one --listen, --usb or --pci", ("--listen", "unix:/nowhere/x", "--listen", "unix:/nowhere/y")),
            ("two_addresses_of_two_kinds", "one --listen, --usb or --pci", ("--usb", "unix:/nowhere/x", "--listen", "unix:/nowhere/y")),
            ("two_addresses_and_a_slot", "one --listen, --usb or --pci", ("--listen", "unix:/nowhere/x", "--pci", "unix:/nowhere/y")),
            ("an_address_and_a_command", "one --listen, --usb or --pci", ("--listen", "unix:/nowhere/x", "--pci", "--", "true")),
            ("no_address_at_all", "no unix:PATH and no HOST:PORT", ("--listen", "moon")),
            ("a_path_too_long", "too long", ("--usb", "unix:/" + "x" * 200)),
            ("port_0", "no port is 0", ("--listen", "localhost:0"))):
        done = subprocess.run(["timeout", "20", SIMULATOR, *arguments], capture_output=True, text=True, check=False)
        check(done.returncode == 2 and words in done.stderr and "--help" in done.stderr, name, done.stderr)


def closed_streams(path):
    """What is said goes into no file that the simulator has open instead, nor to a host."""
    waves = folder / "closed.fst"
    command = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", SIMULATOR, "--listen", f"unix:{path}", "--wave", str(waves)]
    with subprocess.Popen(command) as process:
        while not path.exists() and process.poll() is None:
            time.sleep(0.01)
        kept = [os.readlink(f"/proc/{process.pid}/fd/{fd}") for fd in range(3)] if path.exists() else []
        host = subprocess.run([FERRY, "info", "--backend", f"socket:unix:{path}"], capture_output=True, text=True, check=False)
        process.terminate()
    check(host.returncode == process.returncode == 0 and kept == ["/dev/null"] * 3, "closed_streams_are_nobodys",
          (kept, process.returncode, host))


def full_disk():
    """A serial port whose name gets nowhere is no port."""
    with open("/dev/full", "w") as full:
        done = subprocess.run(["timeout", "60", SIMULATOR, "--uart"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    check(done.returncode == 4 and "cannot write where the serial port is: No space left" in done.stderr,
          "a_port_that_cannot_be_told_is_none", (done.returncode, done.stderr))


@contextlib.contextmanager
def simulator(path, *options):
    with subprocess.Popen([SIMULATOR, "--listen", f"unix:{path}", *options], stdout=subprocess.PIPE, text=True) as process:
        try:
            process.stdout.readline()
            yield process
        finally:
            process.kill()


def host_at(links, path, session):
    link = links.enter_context(socket.socket(socket.AF_UNIX))
    link.connect(str(path))
    link.settimeout(60)
    return frames.Session(link, session) if session else link


def beside_each_other(path):
    with simulator(path, "--devices", "2") as process:
        files = len(os.listdir(f"/proc/{process.pid}/fd"))
        with contextlib.ExitStack() as links:
            first, second = (host_at(links, path, n) for n in (1, 2))
            for _ in range(12):
                first.run(1 << 60)
            second.run(1)
            while second.ran == 0:
                second.take()
            while select.select([first.link], [], [], 0)[0]:
                first.take()
            check(first.ran < 10, "turns_are_taken_in_turn", first.ran)
            while first.ran < 12:
                first.take()
            at_the_door = [host_at(links, path, 0) for _ in range(40)]
            with contextlib.suppress(ConnectionResetError):
                at_the_door[7].recv(1)  # It ends once the last of them has come in, also where hosts are thrown out for them.
            with contextlib.suppress(AssertionError, OSError):
                for _ in range(2):
                    second.run(1)
                while second.ran < 3:
                    second.take()
            check(second.ran == 3, "who_has_a_device_does_not_make_room_for_those_at_the_door", second.ran)
        for _ in range(100):
            left = len(os.listdir(f"/proc/{process.pid}/fd"))
            if left == files:
                break
            time.sleep(0.1)
        check(left == files, "who_is_gone_leaves_no_descriptor", (files, left))


command_line()
full_disk()
closed_streams(folder / "closed")
beside_each_other(folder / "beside")
print(f"{passed} passed, {failed} failed")
sys.exit(failed != 0)
