# SPDX-License-Identifier: Apache-2.0
"""The end of a slot that QEMU's x-pci-proxy-dev has, written from its protocol: for a guest that a test plays itself."""
import array
import fcntl
import mmap
import os
import socket
import struct

MEMORY, RETURN, CONFIG_WRITE, CONFIG_READ, BAR_WRITE, BAR_READ, INTERRUPTS, RESET = range(8)
F_ADD_SEALS, F_SEAL_SHRINK = 1033, 2


def header(command, size):
    return struct.pack("<iiQ", command, 0, size)


class File:
    """Memory of the guest's in a file that cannot shrink."""

    def __init__(self, size, seals=F_SEAL_SHRINK):
        self.fd = os.memfd_create("guest", os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, size)
        if seals:
            fcntl.fcntl(self.fd, F_ADD_SEALS, seals)
        self.memory = mmap.mmap(self.fd, size)

    def close(self):
        self.memory.close()
        os.close(self.fd)


class Slot:
    def __init__(self, path):
        self.link = socket.socket(socket.AF_UNIX)
        self.link.settimeout(60)
        self.link.connect(str(path))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.link.close()

    def send(self, data, descriptors=()):
        self.link.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else [])

    def answer(self):
        """The 64 bits that come back; EOFError when nothing does."""
        data = b""
        while len(data) < 24:
            try:
                more = self.link.recv(24 - len(data))
            except ConnectionResetError:
                more = b""
            if not more:
                raise EOFError
            data += more
        command, _, size, value = struct.unpack("<iiQQ", data)
        assert (command, size) == (RETURN, 8), data
        return value

    def ask(self, command, payload=b""):
        try:
            self.send(header(command, len(payload)) + payload)
        except BrokenPipeError:
            raise EOFError from None
        return self.answer()

    def config(self, address, size=4):
        return self.ask(CONFIG_READ, struct.pack("<IIi", address, 0, size))

    def set_config(self, address, value, size=4):
        return self.ask(CONFIG_WRITE, struct.pack("<IIi", address, value, size))

    def read(self, address, size=4):
        return self.ask(BAR_READ, struct.pack("<QQI?3x", address, 0, size, True))

    def write(self, address, value, size=4):
        return self.ask(BAR_WRITE, struct.pack("<QQI?3x", address, value, size, True))

    def memory(self, *ranges):
        """(address in the guest, bytes, offset in the file, file) each; not answered."""
        columns = list(zip(*(r[:3] for r in ranges)))
        payload = b"".join(struct.pack("<8Q", *column, *[0] * (8 - len(column))) for column in columns)
        self.send(header(MEMORY, len(payload)) + payload, [r[3] if isinstance(r[3], int) else r[3].fd for r in ranges])
