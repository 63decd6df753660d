#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The back end `usb`, with libusb_redir in libusb's place: hosts that come, are refused, die, and ports that are pulled, at usb_end;
then the device in Verilog, packaged core and pins and all, at ferry-sim --usb."""
import contextlib
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, "tests/links")
import frames  # noqa: E402
import peers  # noqa: E402
import redir  # noqa: E402

FERRY, TRACE = "build/ferry", "tests/data/neverball.memtrace.gz"
SEED = int(os.environ.get("FERRY_SEED", "1"))
passed = failed = 0
folder = Path(tempfile.mkdtemp(prefix="ferry-usb-"))
PORT = folder / "port"
ENVIRONMENT = dict(os.environ, LD_PRELOAD=str(Path("build/system/libusb_redir.so").resolve()), FERRY_USBREDIR=str(PORT))


def check(good, name, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}", flush=True)


def run(*arguments, **more):
    return subprocess.run([FERRY, *map(str, arguments)], capture_output=True, text=True, timeout=600, check=False, env=ENVIRONMENT | more)


def expect(name, code, words, backend="usb", **more):
    done = run("info", "--backend", backend, **more)
    lines = done.stderr.splitlines()
    check(done.returncode == code and len(lines) == 1 and all(word in lines[0] for word in words), name,
          f"exit {done.returncode}, {done.stderr!r}")


def start(*arguments, **more):
    return subprocess.Popen([FERRY, *map(str, arguments)], stdout=subprocess.PIPE if more else subprocess.DEVNULL, stderr=subprocess.PIPE,
                            text=True, env=ENVIRONMENT | more)


@contextlib.contextmanager
def device(*command, port=PORT):
    port.unlink(missing_ok=True)
    with subprocess.Popen(command or ["build/system/usb_end", f"unix:{port}", str(SEED)], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as process:
        try:
            process.stdout.readline()
            yield process
        finally:
            process.terminate()


def used(process):
    fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def let_run(process, seconds, host):
    """Wait until the device has run for so many seconds of processor time, however busy the machine is."""
    end = used(process) + seconds
    while used(process) < end and host.poll() is None:
        time.sleep(0.01)


REPLAY = ("replay", TRACE, "--vram", "5M", "--backend", "usb", "--no-advice", "--quiet")


def who_is_there():
    expect("nothing_is_plugged_in", 2, ["BACKEND", "no device 1209:0001 of Pageferry is on USB", "lsusb -d 1209:0001"])
    with device():
        listed = run("list").stdout
        check("usb:250-1" in listed and "USB 1209:0001" in listed, "the_list_has_it", listed)
        for backend in ("usb", "usb:250-1", "usb:C end"):
            done = run("info", "--backend", backend)
            check(done.returncode == 0 and "USB, full speed, 12 Mbit/s" in done.stdout and "C end, full" in done.stdout,
                  f"{backend.replace(' ', '_')}_is_the_device", done.stdout + done.stderr)
        expect("another_port", 2, ["BACKEND", "has the port or the serial number '250-2'", "ferry list"], "usb:250-2")
        expect("a_serial_number_that_nobody_has", 2, ["BACKEND", "serial number 'nobody'"], "usb:nobody")
        expect("no_permission", 2, ["BACKEND", "device 1209:0001 at 250-1 is there but you may not open it", "udev rule", "make install"],
               FERRY_USBREDIR_LOCKED="1")
        empty = folder / "empty.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libusb-1.0.so.0", "-x", "c", "/dev/null", "-o", empty], check=True)
        expect("no_libusb_with_these_calls", 2, ["BACKEND", "there is no libusb-1.0.so.0 that is new enough", "apt install"],
               LD_PRELOAD=str(empty))
        done = run("list", LD_PRELOAD=str(empty))
        rows = [line for line in done.stdout.splitlines() if line.split()[0] == "usb"]
        check(done.returncode == 0 and len(rows) == 1 and rows[0].split()[1] == "blocked"
              and "there is no libusb-1.0.so.0 that is new enough" in rows[0] and "none on USB" not in done.stdout, "a_list_without_it",
              done.stdout + done.stderr)
    with device("build/system/usb_end", f"unix:{PORT}", "1", "Somebody"):
        expect("another_makers_device_is_none", 2, ["BACKEND", "no device 1209:0001 of Pageferry is on USB"])


def works(name):
    done = run("selftest", "--backend", "usb")
    check(done.returncode == 0 and "8 passed, 0 failed" in done.stdout, name, done.stdout + done.stderr)


def deaths():
    chance = random.Random(SEED)
    with device() as process:
        for _ in range(2):
            with start(*REPLAY) as host:
                let_run(process, 0.2 + 0.3 * chance.random(), host)
                expect("the_second_host_is_refused", 4, ["IN_USE", "device 1209:0001 at 250-1 is in use by"])
                check(host.poll() is None, "the_first_host_goes_on")
                host.kill()
        done = run("info", "--backend", "usb")
        check(done.returncode == 0, "hosts_that_died_leave_the_device_ready", done.stderr)
        # Whoever talks rubbish, or hangs up, is gone; the next one is served.
        for rubbish in (b"", b"GET / HTTP/1.0\r\n\r\n" * 100, bytes(chance.randrange(256) for _ in range(5000))):
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as guest:
                guest.connect(str(PORT))
                guest.sendall(rubbish)
                time.sleep(0.2)
        done = run("info", "--backend", "usb")
        check(done.returncode == 0, "rubbish_at_the_port_is_nothing_to_the_next", done.stderr)
        with start(*REPLAY) as host:
            let_run(process, 0.2 + 0.3 * chance.random(), host)
            process.kill()
            said = host.communicate(timeout=300)[1]
            check(host.returncode == 4 and "DEVICE_LOST" in said and "device at USB port 250-1 is gone: unplugged" in said,
                  "a_device_that_is_pulled_is_a_device_lost", f"exit {host.returncode}: {said}")
    with device() as process:
        with subprocess.Popen([FERRY, "selftest", "--backend", "usb"], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as host:
            for line in host.stdout:
                if "new allocations hold" in line:
                    break
            let_run(process, 0.1 + 0.8 * chance.random(), host)  # Of 2.5 s in which it does nothing but to page.
            process.kill()
            said = host.communicate(timeout=300)[0]
            check("wait for paging: DEVICE_LOST: the device at USB port 250-1 is gone: unplugged" in said,
                  "a_wait_for_paging_tells_that_the_device_is_gone", said)
    with device():
        works("plugged_in_again_it_works")
    with device("build/system/usb_end", f"unix:{PORT}", str(SEED), "Pageferry", "200"):
        works("endpoints_that_stall_go_on")


def two_at_once():
    """Two devices of one name on the bus: who means which has to say so, and what befalls one is nothing to the other."""
    other = folder / "other"
    both = {"FERRY_USBREDIR": f"{PORT}:{other}"}
    with device() as first, device(port=other) as second:
        listed = run("list", **both).stdout
        check("usb:250-1" in listed and "usb:250-2" in listed, "the_list_has_both", listed)
        expect("one_of_two_has_to_be_named", 2, ["BACKEND", "there are 2 devices 1209:0001", "as in usb:250-"], **both)
        expect("a_serial_number_of_both_names_neither", 2, ["BACKEND", "there are 2 devices 1209:0001"], "usb:C end", **both)
        for port in (1, 2):
            done = run("info", "--backend", f"usb:250-{port}", **both)
            check(done.returncode == 0, f"port_{port}_of_two_is_opened", done.stderr)
        with start(*REPLAY[:-3], "usb:250-1", "--no-advice", "--quiet", **both) as one:
            let_run(first, 0.2, one)
            expect("the_one_of_two_that_is_used_is_refused", 4, ["IN_USE", "device 1209:0001 at 250-1 is in use by"], "usb:250-1", **both)
            with start("selftest", "--backend", "usb:250-2", **both) as two:
                let_run(second, 0.3, two)
                check(one.poll() is None and two.poll() is None, "both_are_at_work")
                first.kill()
                said = one.communicate(timeout=300)[1]
                check(one.returncode == 4 and "the device at USB port 250-1 is gone: unplugged" in said, "the_one_that_is_pulled_is_lost",
                      said)
                out = two.communicate(timeout=300)
                check(two.returncode == 0 and "8 passed, 0 failed" in out[0], "the_other_goes_on_to_its_end", out)


def guests():
    """What the port does for whoever asks more of it than libusb does for us."""
    with device(), redir.Guest(PORT) as guest:
        kinds = guest.take(redir.EP_INFO)[1][:32]
        check([n for n, kind in enumerate(kinds) if kind == 2] == [1, 17] and [kinds[n] for n in (0, 2, 16, 18)] == [0, 255, 0, 255],
              "two_endpoints_carry_bytes", list(kinds))
        check([guest.configuration(1), guest.configuration(2, 1), guest.configuration(3)] == [(0, 0), (0, 1), (0, 1)],
              "the_configuration_that_was_set")
        guest.send(redir.RESET, 0)
        check(guest.configuration(4) == (0, 0), "a_reset_of_the_bus_takes_the_configuration_away")
        guest.configuration(5, 1)
        for number in (6, 7):
            guest.bulk(number, 0x81, 4096)
        guest.send(redir.CANCEL, 7)
        check(guest.ended() == (7, redir.CANCELLED, 0, b""), "a_transfer_that_is_cancelled_says_so")
        guest.bulk(8, 0x81, (1 << 24) + 1)
        check(guest.ended()[:3] == (8, redir.INVALID, 0), "a_transfer_that_is_too_large")
        hello = frames.hello(1)
        guest.bulk(10, 0x01, len(hello), hello)
        check(guest.ended() == (10, redir.DONE, len(hello), b""), "bytes_that_go")
        number, status, length, data = guest.ended()
        check((number, status) == (6, redir.DONE) and length == len(data) and [one[2] for one in frames.hellos(data)] == [frames.ACCEPTED],
              "bytes_that_come_end_the_oldest_transfer", (number, status, data))
        # A packet that is longer than what was asked for: as much of it as there is room for, and that there was more.
        guest.bulk(11, 0x81, 10)
        guest.bulk(12, 0x01, len(hello), hello)
        ends = dict((end[0], end) for end in (guest.ended(), guest.ended()))
        check(ends[11] == (11, redir.BABBLE, 10, data[:10]) and ends[12][1] == redir.DONE, "a_packet_that_is_too_long_is_told", ends)


def strangers():
    """Messages of usbredir, of every kind and length there is, from a guest that takes the device for another: it may be hung up on,
    and the next one is served."""
    with device() as process:
        for kind in (*range(1, 28), *range(100, 106)):
            for length in range(1, 13):
                for endpoint in (0x01, 0x81):
                    with contextlib.suppress(OSError, AssertionError), redir.Guest(PORT) as guest:
                        guest.send(kind, 5, bytes([endpoint] + [0] * (length - 1)))
                        guest.send(redir.GET_CONFIGURATION, 9)
                        guest.take(redir.CONFIGURATION)
            if process.poll() is not None:
                break
        check(process.poll() is None, "no_message_ends_the_server", (kind, length, process.poll()))


def silent():
    """Somebody connected, and has not said a word: a port scanner, or a guest that died before. Whoever speaks is let in."""
    with device(), socket.socket(socket.AF_UNIX) as scanner:
        scanner.connect(str(PORT))
        done = run("info", "--backend", "usb")
        check(done.returncode == 0, "who_says_nothing_keeps_nobody_out", done.stderr)


def of_another_machine():
    """A guest over TCP whose machine loses its network says nothing of that."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = free.getsockname()
    with device("build/system/usb_end", f"127.0.0.1:{address[1]}") as process, socket.create_connection(address) as link:
        link.sendall(struct.pack("<III64sI", redir.HELLO, 68, 0, b"a test", 0))
        link.recv(4096)
        check(peers.keeps_asking(link), "a_guest_whose_machine_is_gone_is_missed")
        waits = peers.waits_for_acknowledgement(process, link)
        check(waits == 25000, "so_is_one_that_was_sent_something", waits)


def ask(guest, most):
    """Ask for the configuration until the other end reads no more; how many times it was asked."""
    guest.link.settimeout(5)
    asked = 0
    with contextlib.suppress(OSError):
        while asked < most:
            guest.link.sendall(struct.pack("<III", redir.GET_CONFIGURATION, 0, 1) * 10)
            asked += 10
    return asked


def deaf():
    """Guests that ask and take no answer."""
    with device() as process:
        with redir.Guest(PORT) as guest:
            asked = ask(guest, 200000)
            check(asked < 200000, "answers_that_a_guest_does_not_take_have_an_end", asked)
            before = used(process)
            time.sleep(2)
            check(used(process) - before < 1, "nor_does_it_turn_round_them", used(process) - before)
        with redir.Guest(PORT) as guest:
            # Half a message may have gone where the sending stopped.
            guest.link.sendall(struct.pack("<III", redir.GET_CONFIGURATION, 0, 1) * 5000)
            check([guest.take(redir.CONFIGURATION)[0] for _ in range(5000)] == [1] * 5000, "once_they_are_taken_it_goes_on")
            for number in range(5):
                guest.bulk(number, 0x81, 1 << 24)
            guest.send(redir.CANCEL, 0)
            check(guest.ended()[:3] == (4, redir.INVALID, 0), "all_transfers_together_are_no_more_than_there_is_room_for")
    with device("build/ferry-sim", "--usb", f"unix:{PORT}") as process, redir.Guest(PORT) as guest:
        guest.take(redir.EP_INFO)
        guest.link.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                guest.link.send(struct.pack("<III", redir.RESET, 0, 1) * 1000)  # Each of them takes a while.
        let_run(process, 0.5, process)
        process.send_signal(signal.SIGTERM)
        try:
            check(process.wait(10) == 0, "a_signal_ends_it_before_all_that_was_asked_is_answered")
        except subprocess.TimeoutExpired:
            check(False, "a_signal_ends_it_before_all_that_was_asked_is_answered", "it goes on")
            process.kill()


def in_verilog():
    for more in (["--devices", "2"], ["--pci"], ["--uart"]):
        done = subprocess.run(["build/ferry-sim", "--usb", f"unix:{PORT}", *more], capture_output=True, text=True, timeout=60,
                              check=False)
        check(done.returncode == 2 and "is one device" in done.stderr, f"one_device_at_a_port_{more[0][2:]}", done.stderr)
    with device("build/ferry-sim", "--usb", f"unix:{PORT}", "--seed", str(SEED)) as process:
        for name in ("a_device_as_after_power_on", "a_device_that_somebody_had"):
            done = run("info", "--backend", "usb:1")
            check(done.returncode == 0 and "device             ferry_usb\n" in done.stdout, f"{name}_in_verilog", done.stderr)
        with start("selftest", "--backend", "usb") as host:
            let_run(process, 3 + 3 * random.Random(SEED).random(), host)
            check(host.poll() is None, "it_has_much_to_do")
            host.kill()
        done = run("info", "--backend", "usb")
        check(done.returncode == 0, "a_host_that_died_leaves_it_ready_in_verilog", done.stderr)
        last, now = -1, used(process)
        for _ in range(600):
            if now == last:
                break
            time.sleep(0.5)
            last, now = now, used(process)
        check(now == last, "an_idle_port_takes_no_time_in_verilog")
    check(process.wait() == 0, "a_signal_ends_the_simulator", process.returncode)


def knocking():
    """There is always another guest at the door, and gone when it is let in; each of them resets the device, which takes a while."""
    hello = struct.pack("<III64sI", 0, 68, 0, b"a guest", 0x1f)
    ends = threading.Event()

    def knock():
        while not ends.is_set():
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as guest:
                guest.connect(str(PORT))
                guest.sendall(hello)
    with device("build/ferry-sim", "--usb", f"unix:{PORT}") as process:
        guests = threading.Thread(target=knock, daemon=True)
        guests.start()
        let_run(process, 1, process)
        process.send_signal(signal.SIGTERM)
        try:
            check(process.wait(60) == 0, "a_signal_ends_it_when_there_is_always_somebody")
        except subprocess.TimeoutExpired:
            check(False, "a_signal_ends_it_when_there_is_always_somebody", "it goes on")
            process.kill()
        ends.set()


def main():
    print(f"FERRY_SEED={SEED}", flush=True)
    who_is_there()
    two_at_once()
    guests()
    strangers()
    silent()
    of_another_machine()
    deaf()
    deaths()
    in_verilog()
    knocking()
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
