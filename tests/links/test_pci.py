#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ferry-sim as a PCI slot, with this process in place of the virtual machine: configuration space, BARs, memory that the device
reaches and memory that it does not, and what becomes of a peer that sends what is no message."""
import contextlib
import os
import random
import re
import resource
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
import proxy  # noqa: E402

SIMULATOR = "build/ferry-sim"
SEED = int(os.environ.get("FERRY_SEED", "1"))
CONTRACT = Path("build/generated/ferry_contract.h").read_text(encoding="utf-8")
FIRMWARE = Path("build/firmware/firmware.bin").read_bytes()
ONES = 0xffffffff
BAR0, BAR2 = 0xfe000000, 0xe0000000
RING, FENCE = 0x3000, 0x13fc0  # Bus addresses: in two ranges of the guest's memory.
passed = failed = 0
folder = Path(tempfile.mkdtemp(prefix="ferry-pci-"))


def number(name):
    return int(re.search(rf"#define FERRY_{name} (0x[0-9a-f]+|\d+)u?\b", CONTRACT).group(1), 0)


def check(good, name, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}", flush=True)


@contextlib.contextmanager
def simulator(path, *options):
    with subprocess.Popen([SIMULATOR, *options, "--pci", f"unix:{path}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        try:
            said = process.stdout.readline()
            assert said == f"listening on unix:{path}\n", said + process.stderr.read()
            yield process
        finally:
            process.kill()


def open_descriptors(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.002)
    return condition()


def place_bars(slot):
    slot.set_config(0x10, BAR0)
    slot.set_config(0x18, BAR2)
    slot.set_config(0x04, 6, 2)  # Memory and bus mastering.


def configuration(path):
    with simulator(path) as process:
        with proxy.Slot(path) as slot:
            ids = slot.config(0)
            check(ids == number("CONFIG_SPACE_ID_VENDOR_RESET") | number("CONFIG_SPACE_ID_DEVICE_RESET") << 16, "ids", hex(ids))
            check([slot.config(0, 2), slot.config(2, 2), slot.config(3, 1)] == [ids & 0xffff, ids >> 16, ids >> 24],
                  "halves_and_bytes_of_a_word")
            # As the virtual machine looks for BARs before the guest runs: 32 bits, one after the other.
            sizes = []
            for at in range(0x10, 0x2c, 4):
                before = slot.config(at)
                slot.set_config(at, ONES)
                sizes.append(slot.config(at))
                slot.set_config(at, before)
            check(sizes[0] == 0xffff0000 and sizes[2] & 15 == 0 and sizes[2] & -sizes[2] >= 1 << 20 and
                  [sizes[n] for n in (1, 3, 4, 5, 6)] == [0] * 5, "two_bars_of_32_bits_are_seen", [hex(size) for size in sizes])
            check(slot.read(BAR0) == ONES and slot.read(BAR0, 8) == 2**64 - 1, "no_memory_before_it_is_enabled")
            place_bars(slot)
            check(slot.read(BAR0) == number("BAR0_MAGIC_RESET"), "a_register_is_read", hex(slot.read(BAR0)))
            board = b"".join(slot.read(BAR0 + number("BAR0_BOARD") + at, 8).to_bytes(8, "little") for at in (0, 8))
            check(board == b"simulated".ljust(16, b"\0"), "the_board_says_its_name", board)
            scratch = BAR0 + number("BAR0_SCRATCH")
            slot.write(scratch, 0x12345678)
            check(slot.read(scratch) == 0x12345678, "a_register_is_written")
            slot.write(BAR2 + 0x1000, 0x1122334455667788, 8)
            slot.write(BAR2 + 0x1003, 0xee, 1)
            slot.write(BAR2 + 0x1006, 0xaabb, 2)
            parts = [slot.read(BAR2 + 0x1000 + at, size) for at, size in ((0, 8), (4, 4), (6, 2), (3, 1))]
            check(parts == [0xaabb3344ee667788, 0xaabb3344, 0xaabb, 0xee], "video_memory_by_bytes_and_by_words",
                  [hex(part) for part in parts])
            check(slot.read(0xd0000000) == ONES and slot.read(0x1fe000000) == ONES, "outside_of_the_bars_there_is_nothing")
            before = open_descriptors(process)
            with proxy.Slot(path) as second:
                try:
                    second.config(0)
                    refused = False
                except EOFError:
                    refused = True
            check(refused and slot.read(scratch) == 0x12345678, "a_second_guest_is_refused")
            check(until(lambda: open_descriptors(process) == before), "and_leaves_nothing_open")
            slot.ask(proxy.RESET)
            check(slot.config(0x10) == 0 and slot.read(BAR0) == ONES, "a_reset_forgets_the_bars")
            place_bars(slot)
            check(slot.read(scratch) == 0, "a_reset_forgets_registers")
        with proxy.Slot(path) as slot:
            check(slot.config(0x10) == 0, "the_next_guest_has_a_new_device")
        with socket.socket(socket.AF_UNIX) as scanner:
            scanner.connect(str(path))
            said = None
            with contextlib.suppress(EOFError), proxy.Slot(path) as slot:
                said = slot.config(0)
            check(said == number("CONFIG_SPACE_ID_DEVICE_RESET") << 16 | number("CONFIG_SPACE_ID_VENDOR_RESET"),
                  "who_says_nothing_keeps_no_guest_out", said)
        process.send_signal(signal.SIGTERM)
        check(process.wait(60) == 0 and not path.exists(), "a_signal_ends_it_and_the_path_is_free")


def start_firmware(slot, fence=FENCE):
    at = number("BAR0_FIRMWARE_RAM")
    image = FIRMWARE + bytes(-len(FIRMWARE) % 8)
    for place in range(0, len(image), 8):
        slot.write(BAR0 + at + place, int.from_bytes(image[place:place + 8], "little"), 8)
    ring = BAR0 + number("BAR0_RING_AT")
    for name, value in (("HOST_CONTRACT", number("BAR0_CONTRACT_VERSION_MAJOR_RESET") << 16), ("CONTROL", 1)):
        slot.write(BAR0 + number(f"BAR0_{name}"), value)
    for name, value in (("BASE", RING), ("ENTRIES_LOG2", 2), ("FENCE_ADDRESS", fence), ("CONTROL", 1)):
        slot.write(ring + number(f"BAR0_RING_{name}"), value)


def submit(slot, memory, value, count):
    """An empty job, whose entry the device reads and whose fence it writes."""
    at = RING + 32 * ((count - 1) % 4)
    memory(at)[:] = struct.pack("<QIIQQ", 0, 0, 0, value, 0)
    slot.write(BAR0 + number("BAR0_RING_AT") + number("BAR0_RING_PRODUCER"), count)


def device_reaches_memory(path):
    low, high = proxy.File(0x20000), proxy.File(0x8000)

    def range_of(file, base):
        return lambda address, size=32: memoryview(file.memory)[address - base:address - base + size]
    with simulator(path, "--seed", str(SEED), "--link-latency", "10") as process, proxy.Slot(path) as slot:
        slot.memory((0, 0x10000, 0x10000, low), (0x10000, 0x8000, 0, high))
        place_bars(slot)
        start_firmware(slot)
        ring, fence = range_of(low, -0x10000), range_of(high, 0x10000)
        submit(slot, ring, 0x1234567890, 1)
        check(until(lambda: bytes(fence(FENCE)[:8]) == struct.pack("<Q", 0x1234567890)), "the_device_reads_and_writes_guest_memory",
              bytes(fence(FENCE)).hex())
        check(bytes(low.memory[:0x10000]) == bytes(0x10000), "and_nothing_beside_it")
        # The virtual machine tells its memory often, with new descriptors each time.
        before = open_descriptors(process)
        for _ in range(50):
            slot.memory((0, 0x10000, 0x10000, low), (0x10000, 0x8000, 0, high))
        slot.config(0)
        maps = Path(f"/proc/{process.pid}/maps").read_text(encoding="ascii").count("memfd:guest")
        check(open_descriptors(process) == before and maps == 2, "memory_told_anew_replaces_what_was_told",
              f"{open_descriptors(process)} of {before} open, {maps} maps")
        # Elsewhere: a write there is dropped, a read refused, and the device lives.
        slot.memory((0, 0x10000, 0x10000, low))
        submit(slot, ring, 0x77, 2)
        retired = BAR0 + number("BAR0_RING_AT") + number("BAR0_RING_RETIRED")
        check(until(lambda: slot.read(retired) == 2), "a_fence_to_memory_that_is_gone_goes_nowhere", slot.read(retired))
        check(struct.unpack("<Q", fence(FENCE)[:8])[0] == 0x1234567890, "and_is_not_written_to_what_it_was")
    for file in (low, high):
        file.close()


def answered(question):
    """What comes back; None when the simulator has hung up."""
    try:
        return question()
    except EOFError:
        return None


def edges(path):
    """The last and the most of what is good, and the first behind it."""
    files = [proxy.File(0x10000) for _ in range(8)]
    low, behind = files[0], files[1]
    ids = number("CONFIG_SPACE_ID_VENDOR_RESET") | number("CONFIG_SPACE_ID_DEVICE_RESET") << 16
    retired = BAR0 + number("BAR0_RING_AT") + number("BAR0_RING_RETIRED")

    def ring(at):
        return memoryview(low.memory)[at:at + 32]
    with simulator(path, "--link-latency", "10") as process:
        with proxy.Slot(path) as slot:
            check([answered(lambda at=at, size=size: slot.config(at, size)) for at, size in ((252, 4), (254, 2), (255, 1))] == [0] * 3,
                  "the_last_word_of_configuration_space")
        with proxy.Slot(path) as slot:
            slot.config(0)
            before = open_descriptors(process)
            slot.memory(*((n << 16, 0x10000, 0, file) for n, file in enumerate(files)))
            check(answered(lambda: slot.config(0)) == ids and open_descriptors(process) == before and
                  Path(f"/proc/{process.pid}/maps").read_text(encoding="ascii").count("memfd:guest") == 8, "eight_ranges_of_memory")
        with proxy.Slot(path) as slot:
            slot.config(0)
            before = open_descriptors(process)
            pipe = os.pipe()
            slot.send(proxy.header(proxy.INTERRUPTS, 0), pipe)
            check(answered(lambda: slot.config(0)) == ids and open_descriptors(process) == before,
                  "the_interrupt_line_is_told_and_nothing_answered")
            for end in pipe:
                os.close(end)
        with proxy.Slot(path) as slot:
            # In this order a system puts the first right behind the second.
            slot.memory((0x40000, 0x10000, 0, behind), (0, 0x10000, 0, low))
            place_bars(slot)
            start_firmware(slot, 0x10000)
            submit(slot, ring, 0x1234567890, 1)
            check(until(lambda: answered(lambda: slot.read(retired)) in (1, None)) and answered(lambda: slot.read(retired)) == 1 and
                  bytes(behind.memory) == bytes(0x10000), "a_fence_right_behind_memory_goes_nowhere")
        with proxy.Slot(path) as slot:
            slot.memory((0, 0x10000, 0, low))
            slot.ask(proxy.RESET)
            place_bars(slot)
            start_firmware(slot, 0xffc0)
            submit(slot, ring, 0x4711, 1)
            check(until(lambda: bytes(low.memory[0xffc0:0xffc8]) == struct.pack("<Q", 0x4711)), "a_reset_leaves_the_guest_its_memory",
                  slot.read(retired))
    for file in files:
        file.close()


def bad_messages(path):
    good, small, open_ended = proxy.File(0x10000), proxy.File(0x1000), proxy.File(0x10000, 0)
    readable = os.open(f"/proc/self/fd/{good.fd}", os.O_RDONLY)
    config, bar = struct.Struct("<IIi"), struct.Struct("<QQI?3x")

    def said(payload, command):
        return lambda slot: slot.send(proxy.header(command, len(payload)) + payload)
    cases = {
        "a_command_that_there_is_not": (said(b"", 99), "a command that there is not"),
        "a_command_behind_the_last": (said(b"", proxy.RESET + 1), "a command that there is not"),
        "a_negative_command": (said(b"", -1), "a command that there is not"),
        "an_answer": (said(bytes(8), proxy.RETURN), "a command that there is not"),
        "a_size_of_another_message": (said(bytes(13), proxy.CONFIG_READ), "not as long as its command"),
        "a_size_without_end": (lambda slot: slot.send(proxy.header(proxy.BAR_READ, 2**64 - 1)), "not as long as its command"),
        "configuration_of_three_bytes": (said(config.pack(0, 0, 3), proxy.CONFIG_READ), "configuration space"),
        "configuration_of_minus_one_byte": (said(config.pack(0, 0, -1), proxy.CONFIG_READ), "configuration space"),
        "configuration_across_words": (said(config.pack(2, 0, 4), proxy.CONFIG_WRITE), "not inside of a word"),
        "configuration_behind_its_end": (said(config.pack(256, 0, 4), proxy.CONFIG_READ), "not inside of it"),
        "configuration_far_behind_its_end": (said(config.pack(ONES, 0, 1), proxy.CONFIG_WRITE), "not inside of it"),
        "a_bar_by_three_bytes": (said(bar.pack(BAR0, 0, 3, True), proxy.BAR_READ), "other than 1, 2, 4 or 8 bytes"),
        "a_bar_by_no_bytes": (said(bar.pack(BAR0, 0, 0, True), proxy.BAR_WRITE), "other than 1, 2, 4 or 8 bytes"),
        "a_bar_at_an_odd_place": (said(bar.pack(BAR0 + 2, 0, 4, True), proxy.BAR_READ), "no multiple of them"),
        "a_port": (said(bar.pack(BAR0, 0, 4, False), proxy.BAR_READ), "which the device has none"),
        "memory_without_descriptors": (said(bytes(192), proxy.MEMORY), "descriptors that are not as many"),
        "descriptors_with_a_register": (
            lambda slot: slot.send(proxy.header(proxy.BAR_READ, 24) + bar.pack(BAR0, 0, 4, True), [good.fd]), "not as many"),
        "one_descriptor_for_an_interrupt": (
            lambda slot: slot.send(proxy.header(proxy.INTERRUPTS, 0), [good.fd]), "not as many"),
        "three_descriptors_for_an_interrupt": (
            lambda slot: slot.send(proxy.header(proxy.INTERRUPTS, 0), [good.fd] * 3), "not as many"),
        "nine_descriptors": (
            lambda slot: slot.send(proxy.header(proxy.MEMORY, 192) + bytes(192), [good.fd] * 9), "more descriptors"),
        "forty_descriptors": (
            lambda slot: slot.send(proxy.header(proxy.MEMORY, 192) + bytes(192), [good.fd] * 40), "more descriptors"),
        "memory_of_no_bytes": (lambda slot: slot.memory((0, 0, 0, good)), "is empty"),
        "memory_of_half_a_page": (lambda slot: slot.memory((0, 0x800, 0, good)), "not of whole pages"),
        "memory_at_half_a_page": (lambda slot: slot.memory((0x800, 0x1000, 0, good)), "not of whole pages"),
        "memory_beyond_the_last_address": (lambda slot: slot.memory((2**64 - 0x1000, 0x2000, 0, good)), "beyond the last address"),
        "memory_behind_its_file": (lambda slot: slot.memory((0, 0x2000, 0, small)), "ends behind its file"),
        "memory_far_behind_its_file": (lambda slot: slot.memory((0, 0x1000, 2**63, small)), "ends behind its file"),
        "memory_that_may_shrink": (lambda slot: slot.memory((0, 0x10000, 0, open_ended)), "a file that may shrink"),
        "memory_that_is_no_file": (lambda slot: slot.memory((0, 0x1000, 0, slot.link.fileno())), "a file that may shrink"),
        "memory_that_may_only_be_read": (lambda slot: slot.memory((0, 0x10000, 0, readable)), "cannot be mapped"),
        "the_second_of_two_ranges": (lambda slot: slot.memory((0, 0x1000, 0, good), (0x1000, 0x1000, 1, good)), "not of whole pages"),
    }
    with simulator(path) as process:
        before = open_descriptors(process)
        for name, (send, words) in cases.items():
            with proxy.Slot(path) as slot:
                slot.link.settimeout(30)
                slot.config(0)
                send(slot)
                try:
                    slot.answer()
                    gone = False
                except EOFError:
                    gone = True
                except TimeoutError:  # Memory is not answered.
                    gone = False
            line = process.stderr.readline() if gone else ""
            check(gone and line.startswith("ferry-sim: the virtual machine sent ") and words in line, f"refused_{name}", line)
        with proxy.Slot(path) as slot:
            slot.config(0)
            slot.send(proxy.header(proxy.CONFIG_READ, 12)[:9])  # Half a message, and the rest late.
            time.sleep(0.05)
            slot.send(proxy.header(proxy.CONFIG_READ, 12)[9:] + config.pack(0, 0, 2))
            check(slot.answer() == number("CONFIG_SPACE_ID_VENDOR_RESET"), "a_message_in_pieces_is_one")
            slot.send(proxy.header(proxy.RESET, 0)[:5])
        chance = random.Random(SEED)
        for _ in range(30):
            with contextlib.suppress(ConnectionError), proxy.Slot(path) as slot:
                noise = chance.choice([chance.randbytes(chance.randrange(400)),
                                       proxy.header(chance.randrange(-1, 10), chance.choice([0, 8, 12, 24, 192])) +
                                       chance.randbytes(192)])
                slot.send(noise, [good.fd] * chance.randrange(10) if noise else ())
                slot.link.shutdown(1)
                while slot.link.recv(4096):
                    pass
        with proxy.Slot(path) as slot:
            check(slot.config(0) & 0xffff == number("CONFIG_SPACE_ID_VENDOR_RESET"), "after_noise_a_guest_is_served")
        check(until(lambda: open_descriptors(process) == before), "no_descriptor_is_left", f"{open_descriptors(process)} of {before}")
    with simulator(path) as process, proxy.Slot(path) as slot:
        slot.config(0)
        ask = proxy.header(proxy.CONFIG_READ, 12) + config.pack(0, 0, 4)
        with contextlib.suppress(ConnectionError, TimeoutError):
            slot.link.settimeout(20)
            for _ in range(100000):  # Who never takes an answer is not waited for.
                slot.send(ask)
        check("takes its answers" in process.stderr.readline(), "a_peer_that_takes_no_answers")
    with simulator(path) as process, proxy.Slot(path) as slot:
        def take():
            with contextlib.suppress(OSError):
                while slot.link.recv(4096):
                    pass
        slot.config(0)
        slot.send(proxy.header(proxy.RESET, 0) * 3000)  # Each of them takes a while.
        threading.Thread(target=take, daemon=True).start()
        process.send_signal(signal.SIGTERM)
        try:
            check(process.wait(15) == 0, "a_signal_ends_it_before_all_messages_are_answered")
        except subprocess.TimeoutExpired:
            check(False, "a_signal_ends_it_before_all_messages_are_answered", "it goes on")
            process.kill()
    os.close(readable)
    for file in (good, small, open_ended):
        file.close()


def who_hears_nothing_and_what_is_lost(path):
    good = proxy.File(0x10000)
    with simulator(path) as process:
        with proxy.Slot(path) as slot:
            slot.link.shutdown(socket.SHUT_RD)
            slot.send(proxy.header(proxy.CONFIG_READ, 12) + struct.pack("<IIi", 0, 0, 4))
            said = process.stderr.readline()
            check("takes its answers" in said, "a_peer_that_hears_no_answers", said)
        # What there is no room for in the table of descriptors is lost on the way: the guest's memory would be a part of it.
        with proxy.Slot(path) as slot:
            slot.memory((0, 0x10000, 0, good))
            slot.config(0)
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (open_descriptors(process) + 1,) * 2)
            slot.memory((0, 0x1000, 0, good), (0x1000, 0x1000, 0, good))
            check(answered(lambda: slot.config(0)) is None and "more descriptors than" in process.stderr.readline(),
                  "descriptors_that_are_lost_on_the_way")
        check(until(lambda: "memfd:guest" not in Path(f"/proc/{process.pid}/maps").read_text(encoding="ascii"), 10),
              "memory_of_who_is_gone_is_given_back")
    good.close()


def command_line(path):
    def run(*arguments):
        return subprocess.run([SIMULATOR, *arguments], capture_output=True, text=True, timeout=60, check=False)
    for name, arguments in (("nowhere", ("--pci",)), ("no_command", ("--pci", "--")), ("a_port", ("--pci", "1234")),
                            ("two", ("--devices", "2", "--pci", f"unix:{path}"))):
        done = run(*arguments)
        check(done.returncode == 2 and "--pci is one device" in done.stderr, f"command_line_{name}", done.stderr)
    done = run("--pci", "--", "/nowhere/qemu")
    check(done.returncode == 127 and "cannot start /nowhere/qemu: No such file" in done.stderr, "no_virtual_machine", done.stderr)
    script = "import socket, struct; s = socket.socket(fileno=3); s.sendall(struct.pack('<iiQIIi', 3, 0, 12, 0, 0, 2)); " \
             "raise SystemExit(struct.unpack('<iiQQ', s.recv(24))[3] & 0xff)"
    done = run("--pci", "--", sys.executable, "-c", script)
    check(done.returncode == number("CONFIG_SPACE_ID_VENDOR_RESET") & 0xff, "the_command_has_the_slot_and_its_exit_code_counts",
          f"{done.returncode}: {done.stderr}")
    # One that is hung up on sees to its own end, and its exit code counts; a signal ends it while it does.
    hung_up = "import socket, time; s = socket.socket(fileno=3); s.sendall(b'\\xff' * 16); s.recv(1); "
    done = run("--pci", "--", sys.executable, "-c", hung_up + "time.sleep(0.3); raise SystemExit(7)")
    check(done.returncode == 7 and "a command that there is not" in done.stderr, "who_is_hung_up_on_ends_by_itself", done)
    with subprocess.Popen([SIMULATOR, "--pci", "--", sys.executable, "-c", hung_up + "time.sleep(600)"], stderr=subprocess.PIPE,
                          text=True) as process:
        process.stderr.readline()
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        try:
            check(process.wait(30) == 128 + signal.SIGTERM, "a_signal_ends_who_was_hung_up_on", process.returncode)
        except subprocess.TimeoutExpired:
            check(False, "a_signal_ends_who_was_hung_up_on", "it goes on")
            for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split():
                os.kill(int(child), signal.SIGKILL)
            process.kill()
    with subprocess.Popen([SIMULATOR, "--pci", "--", "sleep", "600"], stderr=subprocess.PIPE, text=True) as process:
        until(lambda: Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii") != "")
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        check(process.wait(60) == 128 + signal.SIGTERM, "a_signal_ends_both", process.returncode)


def main():
    print(f"FERRY_SEED={SEED}", flush=True)
    command_line(folder / "command")
    configuration(folder / "configuration")
    device_reaches_memory(folder / "memory")
    edges(folder / "edges")
    bad_messages(folder / "bad")
    who_hears_nothing_and_what_is_lost(folder / "lost")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
