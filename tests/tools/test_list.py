#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ferry list`: its lines, its file and its words on a double of the library (fake_ferry.h), and the real one beside simulators."""
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

FAKE, FERRY, SIMULATOR = "build/tests/parts/ferry-fake", "build/ferry", "build/ferry-sim"
passed = failed = 0
folder = Path(tempfile.mkdtemp(prefix="ferry-list-"))


def check(good, name, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}", flush=True)


def run(tool, *arguments, fake=""):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FERRY_")} | {"FERRY_FAKE": fake}
    return subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False, env=environment)


def refused(name, words, code, *arguments):
    done = run(FAKE, "list", *arguments)
    check(done.returncode == code and not done.stdout and done.stderr.count("\n") == 1 and words in done.stderr, name, done)


def lines():
    done = run(FAKE, "list")
    check(done.returncode == 0 and not done.stderr and done.stdout.splitlines() == [
        "sim                 ready    simulated",
        "model               ready    in C",
        "socket:unix:/tmp/x  in use   ferry-sim, process 5; in use by process 6",
        'uart:/dev/ttyUSB0   unknown  serial port, ?]0;owned? "of 1"; --probe asks what is at it',
        "uart:/dev/ttyUSB1   unknown  serial port; --probe asks what is at it",
        "pci:0000:01:00.0    blocked  PCI 1209:fe01; unbind it with `x`"], "a_line_for_each", done)
    done = run(FAKE, "list", fake="bare")
    said = done.stdout.splitlines()
    check(done.returncode == 0 and not done.stderr and [line.split()[0] for line in said] == ["sim", "model", "No"]
          and "plug a board in" in said[2] and "ferry-sim --listen" in said[2], "where_there_is_nothing_what_to_do_is_said", done)
    refused("an_operand", "'x' is not understood", 2, "x")
    refused("an_unknown_option", "no option '--backend'", 2, "--backend", "sim")
    refused("a_probe_of_one", "--probe takes no value", 2, "--probe=uart:x")
    refused("a_file_that_cannot_be_written", "cannot write /nowhere/x: No such file", 2, "--json", "/nowhere/x")
    with open("/dev/full", "w") as full:
        done = subprocess.run([FAKE, "list"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    check(done.returncode == 4 and "cannot write" in done.stderr, "a_full_disk_is_noticed", done.stderr)


def boards():
    """The double says that it is one called `double`."""
    warning = "ferry: warning: the device says that it is 'double', not 'ulx3s-85f': another board's or another chip's bitstream is " \
        "loaded, or this is another port\n"
    for command in ("info", "selftest"):
        plain, right, wrong = (run(FAKE, command, *words) for words in ((), ("--board", "double"), ("--board", "ulx3s-85f")))
        check(plain.stdout == right.stdout == wrong.stdout and not plain.stderr + right.stderr, f"{command}_of_the_right_board", right)
        check(wrong.returncode == 0 and wrong.stderr == warning, f"{command}_warns_of_another_board_s_bitstream", wrong)
    done = run(FERRY, "info", "--backend", "model", "--board", "x")
    check(done.returncode == 0 and "does not say for which board" in done.stderr, "info_warns_of_a_device_without_a_name", done)
    done = run(FAKE, "fault", "--board", "double")
    check(done.returncode == 2 and "no option '--board'" in done.stderr, "fault_takes_no_board", done)
    done = subprocess.run(["make", "-s", "-n", "-C", "boards/ulx3s", "test", "FPGA=25f", "PORT=/dev/null"], capture_output=True,
                          text=True, check=False)
    check("selftest --backend uart:/dev/null@3000000 --board ulx3s-25f\n" in done.stdout, "a_board_s_test_asks_for_its_name", done)


def probes():
    path = folder / "list.json"
    done = run(FAKE, "list", "--probe", "--json", path)
    said = {line.split()[0]: line for line in done.stdout.splitlines()}
    check(done.returncode == 0 and said["uart:/dev/ttyUSB0"].endswith('"of 1"; answers as double, contract 1.0')
          and " ready " in said["uart:/dev/ttyUSB0"], "who_answers_is_told", done)
    check(" blocked " in said["uart:/dev/ttyUSB1"] and "; BACKEND: No back end of that name" in said["uart:/dev/ttyUSB1"],
          "who_does_not_is_told_why", done)
    check(said["sim"] == "sim                 ready    simulated" and "process 6" in said["socket:unix:/tmp/x"],
          "what_is_in_the_process_or_in_use_is_not_asked", done)
    rows = json.loads(path.read_text())["candidates"]
    check([row["backend"] for row in rows] == list(said) and [row["reach"] for row in rows]
          == ["ready", "ready", "in use", "ready", "blocked", "blocked"], "the_file_has_the_same", rows)
    check(rows[3] == {"backend": "uart:/dev/ttyUSB0", "reach": "ready", "what": 'serial port, \x1b]0;owned\x07 "of 1"', "problem": "",
                      "device": "double", "contract": "1.0"} and rows[5]["problem"] == "unbind it with `x`" and "device" not in rows[5],
          "the_file_has_names_as_they_are", rows)


    done = run(FAKE, "list", "--probe", "--json", path, fake="foreign")
    said = {line.split()[0]: line for line in done.stdout.splitlines()}
    row = json.loads(path.read_text())["candidates"][3]
    check(" foreign " in said["uart:/dev/ttyUSB0"] and said["uart:/dev/ttyUSB0"].endswith("; it is user 5's")
          and row["reach"] == "foreign" and "device" not in row, "what_another_user_names_is_not_asked", (done, row))
    done = run(FAKE, "list", "--probe", "--json", path, fake="changes")
    rows = {row["backend"]: row for row in json.loads(path.read_text())["candidates"]}
    check(rows["socket:unix:/tmp/x"].get("device") == "double", "who_is_free_is_asked_too", rows)
    check(rows["uart:/dev/ttyUSB1"]["reach"] == "in use", "who_has_come_to_be_in_use_is_told_so", rows)


def info():
    """Each line, and that of a bad line when there is any sign of one."""
    lines = """back end           fake
device             double
contract           1.0
firmware           0x00000001
driver model       1 (physical addresses)
rings              5 (1 for paging, 4 for users)
command slots      4 of 4096 bytes
read tags          32
local memory       64.0 MiB
video memory used  64.0 MiB
aperture           64.0 MiB
cycles since reset 0
faults             0
"""
    done = run(FAKE, "info")
    check(done.returncode == 0 and done.stdout == lines and not done.stderr, "info_line_by_line", done)
    for signs in range(1, 8):
        words = f"noise on the line  {7 * (signs & 1)} bytes, {4 * (signs & 2)} frames came broken, {(signs >> 2) * 9} were sent again;"
        done = run(FAKE, "info", fake=f"noise:{signs}")
        check(done.returncode == 0 and done.stdout.startswith(lines + words), f"info_of_a_bad_line_{signs}", done)
    done = run(FAKE, "info", "--backend", "moon")
    check(done.returncode == 2 and not done.stdout and "cannot open back end 'moon': BACKEND: " in done.stderr, "info_of_no_back_end", done)
    done = run(FAKE, "info", "--backend", "uart:/dev/ttyUSB1", fake="changes")
    check(done.returncode == 4 and not done.stdout and "cannot open back end 'uart:/dev/ttyUSB1': " in done.stderr,
          "info_of_a_device_in_use", done)


@contextlib.contextmanager
def simulator(*arguments):
    with subprocess.Popen([SIMULATOR, *arguments], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, process.stdout.readline().split()[-1]
        finally:
            process.terminate()


def found(*arguments):
    path = folder / "found.json"
    done = run(FERRY, "list", "--json", path, *arguments)
    check(done.returncode == 0 and not done.stderr, "the_tool_lists", done)
    return {row["backend"]: row for row in json.loads(path.read_text())["candidates"]}


def simulators():
    """Others may run on this machine; nothing is asked that is not ours."""
    address = f"unix:{folder}/devices"
    with simulator("--listen", address) as (listening, _), simulator("--uart") as (serial, port):
        rows = found()
        check([rows[name]["reach"] for name in ("sim", "model")] == ["ready", "ready"], "both_in_the_process_are_there", rows)
        check(rows.get(f"socket:{address}", {}).get("what") == f"ferry-sim, process {listening.pid}", "a_simulator_is_found", rows)
        check(rows.get(f"uart:{port}", {}).get("reach") == "ready" and f"process {serial.pid}" in rows[f"uart:{port}"]["what"],
              "a_simulated_serial_port_is_found", rows)
        held = os.open(port, os.O_RDWR | os.O_NOCTTY)
        row = found()[f"uart:{port}"]
        check(row["reach"] == "in use" and f"{port} is in use by process {os.getpid()}" == row["problem"], "its_user_is_known", row)
        os.close(held)
        done = run(FERRY, "info", "--backend", f"socket:{address}")
        check(done.returncode == 0 and "contract" in done.stdout, "what_it_says_can_be_typed", done)
    rows = found()
    said = {row["what"] for row in rows.values()}  # The port's number may be another one's by now.
    check(not said & {f"ferry-sim, process {process.pid}" for process in (listening, serial)}, "what_has_ended_is_gone", rows)


def impostor():
    """Of another user's process that calls itself a simulator only its place is told; nobody connects there. Only root can play that."""
    if os.geteuid() != 0:
        print("left out: another user's simulator: only root can be somebody else", flush=True)
        return
    with tempfile.TemporaryDirectory(prefix="ferry-impostor-") as place, socket.create_server(("127.0.0.1", 0)) as door:
        address = f"127.0.0.1:{door.getsockname()[1]}"
        os.chmod(place, 0o755)
        os.symlink("/bin/sh", f"{place}/ferry-sim")
        sleeps = [f"{place}/ferry-sim", "-c", "echo; read end", "sh", "--listen", address]
        with subprocess.Popen(sleeps, user=65534, group=65534, extra_groups=[], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              cwd="/") as process:
            process.stdout.readline()
            rows = found("--probe")
            process.kill()
        door.settimeout(0)
        with contextlib.suppress(BlockingIOError):
            door.accept()[0].close()
            check(False, "nobody_connects_where_another_user_says", rows)
            return
        row = rows.get(f"socket:{address}", {})
        check(row.get("reach") == "foreign" and "it is user 65534's" in row["problem"], "nobody_connects_where_another_user_says", rows)


def main():
    for part in (lines, boards, probes, info, simulators, impostor):
        part()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
