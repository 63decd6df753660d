#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The host's side of a serial port: which ports it takes, in which words it refuses, noise, deaths on either side. The other end is
serial_end, or played by frames.py."""
import contextlib
import fcntl
import os
import pty
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import tty
from pathlib import Path

sys.path.insert(0, "tests/links")
import frames  # noqa: E402

FERRY, END = "build/ferry", "build/system/serial_end"
TRACE = "tests/data/neverball.memtrace.gz"
SEED = int(os.environ.get("FERRY_SEED", "1"))
passed = failed = 0
folder = Path(tempfile.mkdtemp(prefix="ferry-serial-"))


def check(good, name, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}", flush=True)


def run(*arguments, before=()):
    return subprocess.run([*before, FERRY, *map(str, arguments)], capture_output=True, text=True, timeout=600, check=False)


def refused(name, done, code, words):
    lines = done.stderr.splitlines()
    check(done.returncode == code and len(lines) == 1 and all(word in lines[0] for word in words), name,
          f"exit {done.returncode}, {done.stderr!r}")


def expect(name, code, words, port, before=()):
    refused(name, run("info", "--backend", f"uart:{port}", before=before), code, words)


@contextlib.contextmanager
def device(noise=0):
    with subprocess.Popen([END, str(noise), str(SEED)], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@contextlib.contextmanager
def port():
    """A port whose other end is ours, as file descriptors of both ends and the path."""
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    path = os.ttyname(theirs)
    os.close(theirs)
    try:
        yield ours, path
    finally:
        os.close(ours)


# Without the rights of root, on a file that its folder would hide: the program is executed by its descriptor.
NOBODY = [sys.executable, "-c", "import os, sys; f = os.open(sys.argv[1], os.O_RDONLY); os.setgroups([]); os.setgid(65534); "
          "os.setuid(65534); os.execve(f, sys.argv[1:], {})"]


def refusals():
    expect("no_such_port", 2, ["BACKEND", "there is no /dev/ttyUSB99", "/dev/serial/by-id"], "/dev/ttyUSB99")
    expect("a_port_needs_no_folder", 2, ["BACKEND", "there is no /dev/ttyUSB99"], "ttyUSB99")
    by_id = "/dev/serial/by-id/usb-Silicon_Labs_CP2102N_USB_to_UART_Bridge_Controller_8a3f6c5d1c3bea11a5c8c5a1c7d0a6b4-if00-port0"
    expect("a_name_as_udev_gives_it", 2, ["BACKEND", f"there is no {by_id}"], by_id)
    expect("no_serial_port", 2, ["BACKEND", "/dev/null is no serial port"], "/dev/null")
    refused("no_port_at_all", run("info", "--backend", "uart"), 2, ["BACKEND", "wants an address"])
    for what, address in (("no_rate", "/dev/null@"), ("a_rate_that_is_none", "/dev/null@fast"), ("a_rate_too_high", "/dev/null@12000001"),
                          ("a_rate_too_low", "/dev/null@1199"), ("a_path_too_long", "/" + "x" * 200), ("a_rate_alone", "@3000000")):
        expect(what, 2, ["BACKEND", f"'{address}' is no PORT and no PORT@BAUD with 1200 to 12000000"], address)
    with port() as (_, path):
        held = os.open(path, os.O_RDWR | os.O_NOCTTY)
        fcntl.flock(held, fcntl.LOCK_EX)
        before = termios.tcgetattr(held)
        expect("a_port_in_use", 4, ["IN_USE", f"{path} is in use by process {os.getpid()}"], path)
        check(termios.tcgetattr(held) == before, "who_is_refused_changes_nothing")
        os.close(held)
        held = os.open(path, os.O_RDWR | os.O_NOCTTY)
        expect("a_port_that_another_has_open_without_a_lock", 4, ["IN_USE", f"{path} is in use by process {os.getpid()}"], path)
        check(termios.tcgetattr(held) == before, "who_is_refused_without_a_lock_changes_nothing")
        os.close(held)
        if os.getuid() == 0:
            held = os.open(path, os.O_RDWR | os.O_NOCTTY)
            os.chmod(path, 0o666)
            fcntl.ioctl(held, termios.TIOCEXCL)
            expect("a_port_that_another_keeps_for_itself", 4, ["IN_USE", f"{path} is in use by"], path, NOBODY)
            os.close(held)
    if os.getuid() == 0:
        with port() as (_, path):
            os.chown(path, 0, 20)
            os.chmod(path, 0o660)
            expect("no_permission_but_a_group_has", 2, ["BACKEND", "you may not open it", "usermod -aG dialout $USER"], path, NOBODY)
            os.chmod(path, 0o600)
            expect("no_permission_at_all", 2, ["BACKEND", "you may not open it", "udev rule"], path, NOBODY)


settings = {}  # Of ports with a peer, by their paths: our end, and what the port was set to.


def peer(answers):
    """A port at which somebody says answers(session) to each question; the path."""
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    path = os.ttyname(theirs)
    os.close(theirs)  # Nobody has it open but who asks.
    settings[path] = ours, termios.tcgetattr(ours)

    def serve():
        data, told = b"", 0
        while True:
            try:
                data += os.read(ours, 4096)
                asked = [one for one in frames.hellos(data) if one[2] is None]
                for one in asked[told:]:
                    os.write(ours, answers(one[1]))
                told = len(asked)
            except OSError:
                time.sleep(0.01)
    threading.Thread(target=serve, daemon=True).start()
    return path


def others():
    """What answers is no device of this driver's; at the same time, for each takes as long as patience does. What is to be said of
    them is looked at behind the yield, and other cases run meanwhile."""
    newer = frames.VERSION + 0x10000
    versions = [f"{v >> 16}.{v & 0xffff}" for v in (newer, frames.VERSION)]
    cases = (("another_contract_that_refuses", 4, ["CONTRACT", "has contract {}, this driver {}".format(*versions)],
              lambda session: frames.hello(session, newer, 1 | frames.REFUSED_CONTRACT << 8)),
             ("another_contract_that_accepts", 4, ["CONTRACT", "take both from one release", "`make build/ferry`",
                                                   "make -C boards/X flash"],
              lambda session: frames.hello(session, newer, 1 | frames.ACCEPTED << 8)),
             ("a_silent_port", 4, ["TIMEOUT", "nothing at", "is 3000000 its baud rate (uart:PORT@BAUD)?"], lambda _: b""),
             ("a_terminal", 4, ["TIMEOUT", "nothing of what is said at", "baud rate"], lambda _: b"\r\nlogin: "),
             ("an_echo", 4, ["TIMEOUT", "nothing of what is said at"], lambda session: frames.hello(session)),
             ("answers_of_a_session_before", 4, ["TIMEOUT"], lambda session: frames.hello(session - 1, what=1)))
    ways = [(name, code, words, subprocess.Popen([FERRY, "info", "--backend", f"uart:{peer(says)}"], stdout=subprocess.PIPE,
                                                stderr=subprocess.PIPE, text=True)) for name, code, words, says in cases]
    # 1,200 baud take more than a minute for what may be under way there and back: an answer after fifteen seconds is one, and
    # half a minute in which nothing comes is no death.
    late = lambda session: (time.sleep(15), frames.hello(session, newer, 1 | frames.REFUSED_CONTRACT << 8))[1]
    silent = lambda session: frames.hello(session, frames.VERSION, 1 | frames.ACCEPTED << 8)
    slow, quiet = (subprocess.Popen([FERRY, "info", "--backend", f"uart:{peer(says)}@1200"], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True) for says in (late, silent))
    alive = []
    clock = threading.Timer(35, lambda: alive.append(quiet.poll() is None))
    clock.start()
    yield
    ways.append(("a_slow_line_has_time_to_answer", 4, ["CONTRACT", "has contract"], slow))
    for name, code, words, process in ways:
        _, said = process.communicate(timeout=300)
        refused(name, subprocess.CompletedProcess([], process.returncode, "", said), code, words)
    clock.join()
    # The last of them is still at it.
    changed = [path for path, (ours, before) in list(settings.items())[:-1] if termios.tcgetattr(ours) != before]
    check(not changed, "who_finds_no_device_puts_the_settings_back", changed)
    check(alive == [True], "nor_is_it_dead_so_soon", quiet.poll())
    quiet.kill()
    quiet.communicate()


def used(process):
    fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def let_run(process, seconds, host):
    """Wait until the device has run for so many seconds of processor time, however busy the machine is."""
    end = used(process) + seconds
    while used(process) < end and host.poll() is None:
        time.sleep(0.01)


def replaying(path):
    return subprocess.Popen([FERRY, "replay", TRACE, "--vram", "5M", "--backend", f"uart:{path}", "--no-advice", "--quiet"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def deaths():
    chance = random.Random(SEED)
    link = folder / "port"
    with device() as (process, path):
        link.symlink_to(path)
        done = run("info", "--backend", f"uart:{link}@12000000")
        check(done.returncode == 0 and "12000000 baud" in done.stdout and "C end, full" in done.stdout, "a_device_says_who_it_is",
              done.stdout + done.stderr)
        for _ in range(2):
            with replaying(link) as host:
                let_run(process, 0.2 + 0.3 * chance.random(), host)
                expect("the_second_host_is_refused", 4, ["IN_USE", f"{link} is in use by process {host.pid}"], link)
                host.kill()
        os.chmod(path, 0o666)  # Root may open what nobody else may.
        for when in ("who_died", "who_took_leave"):
            done = run("info", "--backend", f"uart:{path}", before=NOBODY if os.getuid() == 0 else ())
            check(done.returncode == 0, f"it_is_ready_for_everybody_behind_a_host_{when}", done.stderr)
        done = run("selftest", "--backend", f"uart:{link}")
        check(done.returncode == 0 and "8 passed, 0 failed" in done.stdout, "hosts_that_died_leave_the_device_ready",
              done.stdout + done.stderr)
        with replaying(link) as host:
            let_run(process, 0.2 + 0.3 * chance.random(), host)
            process.kill()
            said = host.communicate(timeout=300)[1]
            check(host.returncode == 4 and "DEVICE_LOST" in said and f"device at {link} is gone: the port is gone: unplugged" in said,
                  "a_port_that_is_pulled_is_a_device_lost", f"exit {host.returncode}: {said}")
        expect("a_port_that_was_pulled_is_no_port", 2, ["BACKEND", f"there is no {link}"], link)
    with device(1000) as (_, path):
        link.unlink()
        link.symlink_to(path)
        done = run("selftest", "--backend", f"uart:{link}")
        check(done.returncode == 0 and "8 passed, 0 failed" in done.stdout, "plugged_in_again_it_works_with_noise_on_the_line",
              done.stdout + done.stderr)
        told = run("info", "--backend", f"uart:{link}").stdout
        check(re.search(r"^noise on the line  [1-9]\d* bytes, [1-9]\d* frames came broken, ", told, re.M), "noise_is_told", told)
    with device() as (_, path):
        told = run("info", "--backend", f"uart:{path}").stdout
        check("faults" in told and "noise" not in told, "a_good_line_has_no_noise", told)


@contextlib.contextmanager
def verilog():
    with subprocess.Popen(["build/ferry-sim", "--uart"], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, process.stdout.readline().removeprefix("serial port at ").strip()
        finally:
            process.terminate()
    check(process.wait() == 0, "a_signal_ends_the_simulator")


def write_on(port):
    """As long as somebody takes it."""
    with contextlib.suppress(OSError):
        while True:
            os.write(port, b"U" * 4096)


def in_verilog():
    done = subprocess.run(["build/ferry-sim", "--uart", "--devices", "2"], capture_output=True, text=True, timeout=60, check=False)
    check(done.returncode == 2 and "--uart is one device" in done.stderr, "one_device_at_a_port", done.stderr)
    idle(verilog, "_in_verilog", "ferry_serial")
    with verilog() as (process, path):
        port = os.open(path, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(port)
        threading.Thread(target=write_on, args=[port], daemon=True).start()
        let_run(process, 0.3, process)
        process.send_signal(signal.SIGTERM)
        try:
            check(process.wait(30) == 0, "a_signal_ends_it_when_bytes_are_always_there")
        except subprocess.TimeoutExpired:
            check(False, "a_signal_ends_it_when_bytes_are_always_there", "it goes on")
            process.kill()


def leave_without_a_word(path):
    """A host that asks, and dies before it acknowledges the answer."""
    port = os.open(path, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(port)
    os.write(port, frames.hello(77))
    said = b""
    while not any(True for _ in frames.hellos(said)):
        said += os.read(port, 4096)
    os.write(port, frames.counted(0, struct.pack("<III", 0x04000001, 15, 1 << 24)))  # Configuration read of register 0.
    while not any(head & frames.COUNTED for head, _ in frames.frames(said)):
        said += os.read(port, 4096)
    os.close(port)


def idle(which=device, where="", name="C end, full"):
    with which() as (process, path):
        for what in (f"nobody_there{where}", f"somebody_was{where}", f"somebody_died{where}"):
            if what.startswith("somebody_died"):
                leave_without_a_word(path)
            last, now = -1, used(process)
            for _ in range(600):
                if now == last:
                    break
                time.sleep(0.5)
                last, now = now, used(process)
            check(now == last, f"an_idle_port_takes_no_time_{what}")
            done = run("info", "--backend", f"uart:{path}")
            check(done.returncode == 0 and f"device             {name}\n" in done.stdout, f"served_with_{what}", done.stderr)


def main():
    print(f"FERRY_SEED={SEED}", flush=True)
    refusals()
    patient = others()
    next(patient)
    deaths()
    idle()
    in_verilog()
    next(patient, None)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
