#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ferry-sim at a socket, and the tool at the other end: who is served, who is refused and in which words, and what a death on
either side leaves. Peers that misbehave are played with an implementation of the frames of its own (frames.py)."""
import contextlib
import fcntl
import os
import random
import re
import select
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

FERRY, SIMULATOR = "build/ferry", "build/ferry-sim"
TRACE = "tests/data/neverball.memtrace.gz"
SEED = int(os.environ.get("FERRY_SEED", "1"))
passed = failed = 0
folder = Path(tempfile.mkdtemp(prefix="ferry-link-"))


def check(good, name, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}", flush=True)


def run(*arguments, seconds=600):
    return subprocess.run([FERRY, *map(str, arguments)], capture_output=True, text=True, timeout=seconds, check=False)


def expect(name, code, words, *arguments, seconds=600):
    try:
        done = run(*arguments, seconds=seconds)
    except subprocess.TimeoutExpired:
        check(False, name, "it has no end")
        return
    lines = done.stderr.splitlines()
    check(done.returncode == code and len(lines) == 1 and all(word in lines[0] for word in words), name,
          f"exit {done.returncode}, {done.stderr!r}")


@contextlib.contextmanager
def simulator(address, *options):
    with subprocess.Popen([SIMULATOR, "--listen", address, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        try:
            said = process.stdout.readline()
            assert said == f"listening on {address}\n", said + process.stderr.read()
            yield process
        finally:
            process.kill()


def connect(path):
    link = socket.socket(socket.AF_UNIX)
    link.connect(str(path))
    return link


def info_is_right(address):
    done = run("info", "--backend", f"socket:{address}")
    return done.returncode == 0 and done.stdout.startswith("back end           socket\n"), done.stderr


def command_line():
    done = subprocess.run([SIMULATOR, "--help"], capture_output=True, text=True, timeout=60, check=False)
    check(done.returncode == 0 and done.stdout.startswith("usage: ferry-sim"), "simulator_help")
    done = subprocess.run([SIMULATOR, "--listen", "unix:/nowhere/x"], capture_output=True, text=True, timeout=60, check=False)
    check(done.returncode == 4 and "cannot listen on unix:/nowhere/x: No such file" in done.stderr, "simulator_nowhere", done.stderr)
    kept = folder / "kept"
    kept.write_text("of somebody's\n", encoding="ascii")
    with subprocess.Popen([SIMULATOR, "--listen", f"unix:{kept}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        said = process.stdout.readline()
        process.kill()
        said += process.stderr.read()
    check("it is there, and is no socket" in said and kept.is_file() and kept.read_text(encoding="ascii") == "of somebody's\n",
          "a_file_at_the_address_stays", said)
    expect("nobody_listens", 2, ["BACKEND", "cannot connect to unix:/nowhere/x: No such file"], "info", "--backend",
           "socket:unix:/nowhere/x")
    with socket.socket() as taken:  # Bound, and nobody listens.
        taken.bind(("127.0.0.1", 0))
        expect("nobody_listens_at_a_port", 2, ["BACKEND", "refused; nobody listens: `ferry-sim --listen"], "info", "--backend",
               f"socket:127.0.0.1:{taken.getsockname()[1]}")
    with contextlib.ExitStack() as links:  # It listens, and takes nobody: stopped, with as many at its door as there is room for.
        stopped = links.enter_context(socket.socket(socket.AF_UNIX))
        stopped.bind(str(folder / "stopped"))
        stopped.listen(0)
        with contextlib.suppress(BlockingIOError):
            while True:
                link = links.enter_context(socket.socket(socket.AF_UNIX))
                link.setblocking(False)
                link.connect(str(folder / "stopped"))
        expect("whoever_listens_takes_nobody", 2, ["BACKEND", "takes no connection: is it stopped?"], "info", "--backend",
               f"socket:unix:{folder}/stopped", seconds=120)
    expect("no_such_back_end", 2, ["BACKEND", "there are sim, model, socket:ADDRESS, uart:ADDRESS, usb[:ADDRESS] and pci[:ADDRESS];",
                                   "`ferry list`"], "info", "--backend", "moon")
    expect("no_address_at_all", 2, ["BACKEND", "wants an address", "`ferry list`"], "info", "--backend", "socket")
    expect("an_address_that_is_none", 2, ["BACKEND", "no unix:PATH and no HOST:PORT"], "info", "--backend", "socket:moon")
    expect("a_port_that_no_address_has", 2, ["BACKEND", "no port is above 65535"], "info", "--backend", "socket:localhost:70001")
    expect("an_address_for_sim", 2, ["BACKEND", "takes no address"], "info", "--backend", "sim:x")
    expect("a_path_too_long", 2, ["BACKEND", "too long"], "info", "--backend", "socket:unix:/" + "x" * 200)


def sessions(path):
    at = f"socket:unix:{path}"
    with simulator(f"unix:{path}") as process:
        good, said = info_is_right(f"unix:{path}")
        check(good, "a_host_is_served", said)
        # Another one has it: this process.
        with connect(path) as link:
            link.sendall(frames.hello(7))
            version, _, verdict, _, name = frames.answer(link, 7)
            check((version, verdict, name) == (frames.VERSION, frames.ACCEPTED, "simulated, full"), "the_hello_names_the_device")
            expect("the_second_host_is_refused", 4, ["IN_USE", f"in use by process {os.getpid()}"], "info", "--backend", at)
            expect("replay_is_refused_too", 4, ["IN_USE", f"process {os.getpid()}"], "replay", TRACE, "--backend", at)
        good, said = info_is_right(f"unix:{path}")
        check(good, "once_the_first_is_gone_the_second_is_served", said)
        # Other versions.
        with connect(path) as link:
            link.sendall(frames.hello(8, version=frames.VERSION + 0x10000))
            version, _, verdict, _, _ = frames.answer(link, 8)
            check((version, verdict) == (frames.VERSION, frames.REFUSED_CONTRACT), "another_contract_is_refused")
            good, said = info_is_right(f"unix:{path}")
            check(good, "who_was_refused_has_nothing", said)
        with connect(path) as link:
            link.sendall(frames.hello(11, version=frames.VERSION ^ 1))
            check(frames.answer(link, 11)[2] == frames.ACCEPTED, "another_minor_version_is_served")
        # A terminal, half frames, hosts that say nothing: they stay, and nobody minds.
        chance = random.Random(SEED)
        with contextlib.ExitStack() as links:
            for n in range(40):
                link = links.enter_context(connect(path))
                link.sendall(chance.choice([b"\r\nlogin: root\r\n", frames.hello(9)[:20], chance.randbytes(500), b"", b"\0\0\0"]))
            good, said = info_is_right(f"unix:{path}")
            check(good, "noise_and_silence_at_the_door_keep_nobody_out", said)
            with connect(path) as link:
                noise = b"AT+CGMI\r\n" + frames.hello(1)[:-9] + chance.randbytes(300) + b"\0"
                link.sendall(noise + frames.hello(10))
                check(frames.answer(link, 10)[2] == frames.ACCEPTED, "a_hello_behind_noise_is_answered")
        with subprocess.Popen([SIMULATOR, "--listen", f"unix:{path}"], stderr=subprocess.PIPE, text=True) as other:
            said = other.communicate(timeout=60)[1]
            check(other.returncode == 4 and "somebody listens there" in said, "one_simulator_a_path", said)
        hearing = [thread for thread in Path(f"/proc/{process.pid}/task").iterdir()
                   if thread.name != str(process.pid) and not hides(thread, signal.SIGINT, signal.SIGTERM)]
        check(not hearing, "no_thread_but_the_one_that_waits_hears_signals", hearing)
        process.send_signal(signal.SIGTERM)
        check(process.wait(60) == 0 and not path.exists(), "a_signal_ends_it_and_the_path_is_free")


def another_at_the_path(path):
    """The path is somebody else's by the time that a simulator ends: a second simulator's, or a file's."""
    with simulator(f"unix:{path}") as first:
        path.unlink()
        with simulator(f"unix:{path}"):
            first.send_signal(signal.SIGTERM)
            first.wait(60)
            good, said = info_is_right(f"unix:{path}") if path.exists() else (False, "the path is gone")
            check(good, "who_ends_leaves_the_path_to_who_has_it_now", said)
    path.unlink()
    with simulator(f"unix:{path}") as first:
        path.unlink()
        path.write_text("of somebody's\n", encoding="ascii")
        first.send_signal(signal.SIGTERM)
        check(first.wait(60) == 0 and path.is_file(), "and_a_file_that_stands_there")
    # Of two that begin at once each would take what the other has just made for what one left who is gone.
    path.unlink()
    turn = os.open(path.parent, os.O_RDONLY)
    fcntl.flock(turn, fcntl.LOCK_EX)
    with subprocess.Popen([SIMULATOR, "--listen", f"unix:{path}"], stdout=subprocess.PIPE, text=True) as first:
        early = select.select([first.stdout], [], [], 1.5)[0]
        os.close(turn)
        said = first.stdout.readline()
        first.kill()
    check(not early and said == f"listening on unix:{path}\n", "who_is_to_listen_takes_turns_in_a_folder", said)


def hides(thread, *signals):
    """The thread has all of these signals blocked."""
    blocked = int(re.search(r"^SigBlk:\s*(\w+)$", (thread / "status").read_text(), re.M)[1], 16)
    return all(blocked >> number - 1 & 1 for number in signals)


def greedy(path):
    """Hosts that ask for more than they take, or for more than there is."""
    with simulator(f"unix:{path}", "--devices", "2") as process:
        with connect(path) as link:
            host = frames.Session(link, 11)
            with contextlib.suppress(TimeoutError):
                while host.sent < 40000 and host.credit >= 100:  # Not one of its answers is acknowledged.
                    for _ in range(50):
                        host.run(0)
                    while host.acknowledged < host.sent and host.credit >= 100:
                        host.take()
            check(host.sent < 40000, "answers_that_nobody_takes_have_an_end", f"{host.sent} turns")
            with contextlib.suppress(TimeoutError):
                while host.ran < host.sent:
                    host.tell()
                    host.take()
                host.run(7)
                while host.ran < host.sent:
                    host.take()
                    host.tell()
            check(host.ran == host.acknowledged == host.sent, "once_they_are_taken_it_goes_on", f"{host.ran} of {host.sent}")
            host.run(1 << 60)
            good, said = info_is_right(f"unix:{path}")
            check(good, "a_host_that_runs_for_ever_holds_up_no_other", said)
            host.run(1 << 60)
            process.send_signal(signal.SIGTERM)
            check(process.wait(60) == 0, "nor_a_signal", "")
    with simulator(f"unix:{path}", "--devices", "2") as process:
        with connect(path) as link:
            host = frames.Session(link, 12)
            for _ in range(60):
                host.run(1 << 60)
            good, said = info_is_right(f"unix:{path}")
            check(good, "a_host_with_many_turns_at_once_holds_up_no_other", said)
            with connect(path) as more:  # It dies with as many still to come, and has no device then.
                second = frames.Session(more, 13)
                for _ in range(60):
                    second.run(1 << 60)
            with connect(path) as more:
                check(verdict(more, 14)[2] == frames.ACCEPTED, "what_a_host_that_died_had_still_to_run_is_not_run")
            process.send_signal(signal.SIGTERM)
            check(process.wait(30) == 0, "nor_a_signal_by_many_turns")
    with simulator(f"unix:{path}") as process, connect(path) as link:
        # More than the device has room for, and never a turn: it runs by itself, and stands while what it sends is not taken.
        host = frames.Session(link, 15)
        packets, link_time = 9000, time.monotonic() + 300
        for n in range(packets):
            host.packet(struct.pack("<III", 1, n % 16 << 8 | 15, 0))
            while host.sent - host.acknowledged > 50 and time.monotonic() < link_time:
                host.take()
                host.tell()
        check(host.acknowledged > packets - 100, "reads_without_a_turn_are_taken", host.acknowledged)
        process.send_signal(signal.SIGTERM)
        check(process.wait(30) == 0, "nor_a_signal_by_reads")


def begins_anew(path):
    """A host that says hello again on its connection, as one does that died at a serial port: nothing of before comes to it."""
    def question(tag):
        return struct.pack("<III", 0x04000001, tag << 8 | 15, 1 << 24)  # Configuration read of register 0.
    with simulator(f"unix:{path}"), connect(path) as link:
        link.sendall(frames.hello(1))
        frames.answer(link, 1)
        link.sendall(frames.counted(0, question(1)) + frames.run(1, 3000))
        check(len(frames.until_it_ran(link)) == 1, "a_question_is_answered")
        link.sendall(frames.counted(2, question(2)))
        said = b""
        while not any(head >> 16 & 127 == 3 for head, _ in frames.frames(said)):  # It has it.
            said += link.recv(4096)
        link.sendall(frames.hello(2))
        frames.answer(link, 2)
        link.sendall(frames.run(0, 3000))
        came = frames.until_it_ran(link)
        check(not came, "who_begins_anew_gets_no_answer_of_before", came)


def verdict(link, session):
    link.sendall(frames.hello(session))
    return frames.answer(link, session)


def whose_device(path):
    at = f"socket:unix:{path}"
    with simulator(f"unix:{path}") as process:
        # Who said nothing has no device, though he was here first.
        silent = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(flush=True); sys.stdin.read()"
        with subprocess.Popen([sys.executable, "-c", silent, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
            first.stdout.readline()
            with connect(path) as link:
                check(verdict(link, 1)[2] == frames.ACCEPTED, "who_says_nothing_has_no_device")
                expect("the_user_is_who_has_it", 4, ["IN_USE", f"in use by process {os.getpid()}"], "info", "--backend", at)
            first.stdin.close()
        # A host that died, with more said than the simulator reads at a time; another is there before all that is read.
        with connect(path) as link:
            dead = connect(path)
            verdict(dead, 2)
            process.send_signal(signal.SIGSTOP)
            dead.sendall(b"A" * 100000)
            dead.close()
            link.sendall(frames.hello(3))
            process.send_signal(signal.SIGCONT)
            check(frames.answer(link, 3)[2] == frames.ACCEPTED, "a_host_that_died_is_gone_before_all_it_said_is_read")


def several_devices(path):
    with simulator(f"unix:{path}", "--devices", "2"), contextlib.ExitStack() as links:
        said = [verdict(links.enter_context(connect(path)), n)[2] for n in (1, 2, 3)]
        check(said == [frames.ACCEPTED, frames.ACCEPTED, frames.IN_USE], "two_devices_are_two_hosts", said)


def impostors(path):
    """What listens is no device of this driver's."""
    at = f"socket:unix:{path}"

    def listen(answers):
        server = socket.socket(socket.AF_UNIX)
        path.unlink(missing_ok=True)
        server.bind(str(path))
        server.listen(1)

        def serve():
            link, _ = server.accept()
            with link, server:
                data = b""
                while not (asked := list(frames.hellos(data))):
                    data += link.recv(4096)
                link.sendall(answers(asked[0][1]))
        threading.Thread(target=serve, daemon=True).start()

    newer = frames.VERSION + 0x10000
    ours, theirs = (f"{v >> 16}.{v & 0xffff}" for v in (frames.VERSION, newer))
    for name, verdict in (("that_refuses", frames.REFUSED_CONTRACT), ("that_accepts", frames.ACCEPTED)):
        listen(lambda session, verdict=verdict: frames.hello(session, newer, 1 | verdict << 8))
        expect(f"a_device_of_another_contract_{name}", 4,
               ["CONTRACT", f"has contract {theirs}, this driver {ours}", "make -C boards/X flash"], "info", "--backend", at)
    listen(lambda session: b"HTTP/1.0 400 Bad Request\r\n\r\n")
    expect("what_is_no_device_and_hangs_up", 4, ["DEVICE_LOST", "is gone: it closed the connection"], "info", "--backend", at)
    path.unlink()


def let_run(process, seconds, host):
    """Wait until the simulator has run for so many seconds of processor time, however busy the machine is."""
    def used():
        fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    end = used() + seconds
    while used() < end and host.poll() is None:
        time.sleep(0.01)


def plants(path):
    """Faults that a host planted are its own: whoever comes next could not take them away."""
    with simulator(f"unix:{path}"):
        with connect(path) as link:
            host = frames.Session(link, 1)
            for number, value in ((2**32 - 1, 0), (2**32 - 1, 1)):
                host.packet(struct.pack("<IIQ", frames.PLANT, number, value), frames.CONTROL)
            host.run(1)
            while host.ran == 0:
                host.take()
        done = run("selftest", "--backend", f"socket:unix:{path}")
        check(done.returncode == 0 and "8 passed, 0 failed" in done.stdout, "what_a_host_planted_goes_with_it", done.stdout + done.stderr)


def odd_messages(path):
    """Of messages to the simulator itself only those that there are, and as long as they are, do anything."""
    with simulator(f"unix:{path}", "--stall", "90", "--seed", str(2**64 - 1)), connect(path) as link:
        host = frames.Session(link, 1)
        for odd in (struct.pack("<IIQ", 77, 0, 5000), struct.pack("<II", frames.RUN, 0), struct.pack("<IIQQ", frames.RUN, 0, 5000, 0)):
            host.packet(odd, frames.CONTROL)
        host.run(7)
        while host.acknowledged != host.sent or host.ran == 0:
            host.take()
        check((host.ran, host.taken) == (1, 1), "messages_that_there_are_not_are_nothing", (host.ran, host.taken))


def leaves_reads(path):
    """A host that asked for much under one tag is gone; what it asked for is nothing to the next one, whose tags begin anew."""
    read = struct.pack("<III", 0x04000001, 7 << 8 | 15, 0)  # Of configuration space.
    with simulator(f"unix:{path}", "--link-latency", "5000"):
        with connect(path) as link:
            host = frames.Session(link, 1)
            for _ in range(20):
                for _ in range(60):
                    host.packet(read)
                while host.acknowledged != host.sent:
                    host.take()
            host.run(1)
            while host.ran == 0:
                host.take()
        with connect(path) as link:
            link.sendall(frames.hello(2))
            frames.answer(link, 2)
            link.sendall(frames.run(0, 100000))
            came = frames.until_it_ran(link)
            check(not came, "reads_under_one_tag_are_all_waited_for", came)


def deaths(path):
    at = f"socket:unix:{path}"
    with simulator(f"unix:{path}") as process:
        # The host dies in the middle, twice, and each time the device is ready for the next one.
        chance = random.Random(SEED)
        for _ in range(2):
            with subprocess.Popen([FERRY, "replay", TRACE, "--vram", "5M", "--backend", at, "--no-advice", "--quiet"],
                                  stdout=subprocess.DEVNULL) as host:
                let_run(process, 0.05 + 0.25 * chance.random(), host)
                host.kill()
        done = run("selftest", "--backend", at)
        check(done.returncode == 0 and "8 passed, 0 failed" in done.stdout, "hosts_that_died_leave_the_device_ready",
              done.stdout + done.stderr)
        # The simulator dies in the middle.
        with subprocess.Popen([FERRY, "replay", TRACE, "--vram", "5M", "--backend", at, "--no-advice", "--quiet"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as host:
            let_run(process, 0.1 + 0.2 * chance.random(), host)
            process.kill()
            said = host.communicate(timeout=300)[1]
            check(host.returncode == 4 and "DEVICE_LOST" in said and f"device at unix:{path} is gone" in said,
                  "a_simulator_that_dies_is_a_device_lost", f"exit {host.returncode}: {said}")
    check(path.exists(), "it_left_its_path")
    with simulator(f"unix:{path}", "--stall", "10", "--seed", str(SEED)):
        good, said = info_is_right(f"unix:{path}")
        check(good, "the_next_one_takes_the_path_over", said)


def internet():
    for _ in range(20):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        try:
            with simulator(address) as process:
                good, said = info_is_right(address)
                check(good, "a_host_is_served_over_tcp", said)
                with socket.create_connection(("127.0.0.1", int(address.split(":")[1]))) as link:
                    link.sendall(frames.hello(3))
                    frames.answer(link, 3)
                    check(peers.keeps_asking(link), "a_host_whose_machine_is_gone_is_missed")
                    waits = peers.waits_for_acknowledgement(process, link)
                    check(waits == 25000, "so_is_one_that_was_sent_something", waits)
                    expect("the_second_is_refused_over_tcp", 4, ["IN_USE", "in use by another host"], "info", "--backend",
                           f"socket:{address}")
            return
        except AssertionError:
            continue  # Somebody took the port in between.
    check(False, "a_host_is_served_over_tcp", "no free port")


def listeners(port):
    """Addresses at which somebody listens there, as the kernel has them."""
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path("/proc/net", name).read_text(encoding="ascii").splitlines()[1:]]
    return {place.split(":")[0] for _, place, _, state, *_ in lines if state == "0A" and int(place.split(":")[1], 16) == port}


def port_alone():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with simulator(str(port)) as process:
        there = listeners(port)
        check(there and there <= {"0100007F", "0" * 24 + "01000000"}, "a_port_alone_is_this_machine_s", there)
        # The simulator hangs up first, so that its end of the connection is kept by the kernel for a minute.
        with socket.create_connection(("localhost", port)) as link:
            link.sendall(frames.hello(3))
            frames.answer(link, 3)
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            while link.recv(4096):
                pass
    with contextlib.suppress(AssertionError), simulator(str(port)):
        check(True, "who_listens_there_again_need_not_wait")
        return
    check(False, "who_listens_there_again_need_not_wait")


def main():
    print(f"FERRY_SEED={SEED}", flush=True)
    command_line()
    sessions(folder / "sessions")
    another_at_the_path(folder / "another")
    greedy(folder / "greedy")
    begins_anew(folder / "anew")
    whose_device(folder / "whose")
    several_devices(folder / "several")
    impostors(folder / "impostor")
    plants(folder / "plants")
    odd_messages(folder / "odd")
    leaves_reads(folder / "reads")
    deaths(folder / "deaths")
    internet()
    port_alone()
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
