# SPDX-License-Identifier: Apache-2.0
"""The end of a USB port that a virtual machine has (usbredir), written from its protocol: for a guest that a test plays itself."""
import socket
import struct

HELLO, CONNECT, RESET, EP_INFO, SET_CONFIGURATION, GET_CONFIGURATION, CONFIGURATION, CANCEL, BULK = 0, 1, 3, 5, 6, 7, 8, 21, 101
DONE, CANCELLED, INVALID, IO_ERROR, STALL, TIMED_OUT, BABBLE = range(7)
LONG_BULK = 1 << 6  # What this end can: lengths of 32 bits. Ids stay as long as they are without being able to more.


class Guest:
    def __init__(self, path):
        self.link = socket.socket(socket.AF_UNIX)
        self.link.settimeout(60)
        self.link.connect(str(path))
        self.data = b""
        self.send(HELLO, 0, struct.pack("<64sI", b"a test", LONG_BULK))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.link.close()

    def send(self, kind, number, payload=b""):
        self.link.sendall(struct.pack("<III", kind, len(payload), number) + payload)

    def take(self, kind):
        """The next message of that kind: its id, and what it says. Others are passed over."""
        while True:
            while len(self.data) < 12 or len(self.data) < 12 + struct.unpack_from("<I", self.data, 4)[0]:
                more = self.link.recv(65536)
                assert more, "the other end closed"
                self.data += more
            came, length, number = struct.unpack_from("<III", self.data)
            payload, self.data = self.data[12:12 + length], self.data[12 + length:]
            if came == kind:
                return number, payload

    def configuration(self, number, wanted=None):
        """Set or ask for the configuration: how it ended, and which there is."""
        self.send(GET_CONFIGURATION if wanted is None else SET_CONFIGURATION, number, b"" if wanted is None else bytes([wanted]))
        return tuple(self.take(CONFIGURATION)[1])

    def bulk(self, number, endpoint, length, data=b""):
        self.send(BULK, number, struct.pack("<BBHIH", endpoint, 0, length & 0xffff, 0, length >> 16) + data)

    def ended(self):
        """The next transfer that ended: its id, how, its length, and what came."""
        number, payload = self.take(BULK)
        _, status, low, _, high = struct.unpack_from("<BBHIH", payload)
        return number, status, high << 16 | low, payload[10:]
