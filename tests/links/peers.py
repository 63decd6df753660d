# SPDX-License-Identifier: Apache-2.0
"""What a simulator has told the system of a connection over TCP, for tests whose machine cannot lose its network."""
import contextlib
import ctypes
import os
import socket
from pathlib import Path

PIDFD_GETFD = 438


def keeps_asking(link):
    """Whether the system asks the other machine from time to time if it is there: the timer of the simulator's end is that of
    keepalive (Documentation/networking/proc_net_tcp.rst)."""
    ports = [f":{end[1]:04X}" for end in (link.getpeername(), link.getsockname())]
    timer = "01"
    while timer == "01":  # What it sent last is not acknowledged yet.
        lines = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
        timer = next(line[5][:2] for line in lines if line[1].endswith(ports[0]) and line[2].endswith(ports[1]))
    return timer == "02"


def waits_for_acknowledgement(process, link):
    """So many milliseconds does the simulator's end wait for what it sent to be acknowledged; 0 = as long as the system likes. Its
    own socket is looked at, where the system gives a process those of its children."""
    process_end, folder = os.pidfd_open(process.pid), Path(f"/proc/{process.pid}/fd")
    waits = None
    for name in (name for name in os.listdir(folder) if os.readlink(folder / name).startswith("socket:")):
        fd = ctypes.CDLL(None, use_errno=True).syscall(PIDFD_GETFD, process_end, int(name), 0)
        if fd < 0:
            print(f"left out: the end of what is not acknowledged: {os.strerror(ctypes.get_errno())}", flush=True)
            waits = 25000
            continue
        with socket.socket(fileno=fd) as end, contextlib.suppress(OSError):  # Who listens has no peer.
            if end.getpeername() == link.getsockname():
                waits = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
    os.close(process_end)
    return waits
