# SPDX-License-Identifier: Apache-2.0
"""Frames over bytes as docs/manual/link.md describes them, written from it: for peers that a test plays itself."""
import re
import struct
import zlib
from pathlib import Path

CONTRACT = Path("build/generated/ferry_contract.h").read_text(encoding="utf-8")


def number(name):
    return int(re.search(rf"(?:#define )?\b{name}(?: =)? (0x[0-9a-f]+|\d+)", CONTRACT).group(1), 0)


VERSION = number("FERRY_CONTRACT_VERSION")
MAGIC = number("FERRY_TUNNEL_HELLO_MAGIC_RESET")
ACCEPTED, REFUSED_CONTRACT, IN_USE = (number(f"FERRY_TUNNEL_VERDICT_{name}") for name in ("ACCEPTED", "CONTRACT", "IN_USE"))
CONTROL, COUNTED, CREDIT = 1 << 23, 1 << 15, 255 << 24
RUN, RAN, PLANT = (number(f"FERRY_TUNNEL_CODE_{name}") for name in ("RUN", "RAN", "PLANT"))


def frame(head, payload=b""):
    plain = struct.pack("<I", head | len(payload) // 4) + payload
    plain += struct.pack("<I", zlib.crc32(plain))
    stuffed = b""
    pieces = plain.split(b"\0")
    for which, piece in enumerate(pieces):
        while len(piece) > 253:
            stuffed, piece = stuffed + b"\xff" + piece[:254], piece[254:]
            if not piece and which == len(pieces) - 1:
                break
        else:
            stuffed += bytes([len(piece) + 1]) + piece
    return stuffed + b"\0"


def frames(data):
    """(head, payload) of each good frame."""
    for stuffed in data.split(b"\0")[:-1]:
        plain, at = b"", 0
        while at < len(stuffed):
            code = stuffed[at]
            plain += stuffed[at + 1:at + code] + (b"\0" if code < 255 and at + code < len(stuffed) else b"")
            at += code
        if len(plain) >= 8 and struct.unpack("<I", plain[-4:])[0] == zlib.crc32(plain[:-4]):
            yield struct.unpack("<I", plain[:4])[0], plain[4:-4]


def counted(sequence, payload, control=False):
    """A packet, or with `control` a message."""
    return frame(CREDIT | COUNTED | sequence << 8 | (CONTROL if control else 0), payload)


def run(sequence, cycles):
    """Let the simulator run."""
    return counted(sequence, struct.pack("<IIQ", number("FERRY_TUNNEL_CODE_RUN"), 0, cycles), True)


def until_it_ran(link):
    """The packets that come before a simulator says that it ran."""
    data = b""
    link.settimeout(60)
    while True:
        came = [(head, payload) for head, payload in frames(data) if head & COUNTED]
        if any(head & CONTROL and payload[0] == number("FERRY_TUNNEL_CODE_RAN") for head, payload in came):
            return [payload for head, payload in came if not head & CONTROL]
        got = link.recv(4096)
        assert got, "the other end closed"
        data += got


def hello(session, version=VERSION, what=0, user=0, name=b""):
    return frame(CREDIT | CONTROL, struct.pack("<IIIII16s", MAGIC, version, session, what, user, name))


def hellos(data):
    """(version, session, verdict or None for a question, user, name) of each hello."""
    for head, payload in frames(data):
        if head & (CONTROL | COUNTED) == CONTROL and len(payload) == 36:
            magic, version, session, what, user, name = struct.unpack("<IIIII16s", payload)
            assert magic == MAGIC
            yield version, session, what >> 8 & 255 if what & 1 else None, user, name.rstrip(b"\0").decode()


def answer(link, session):
    """The answer to a question of that session, from a socket."""
    data = b""
    link.settimeout(60)
    while True:
        got = link.recv(4096)
        assert got, "the other end closed"
        data += got
        for one in hellos(data):
            if one[1] == session and one[2] is not None:
                return one


class Session:
    """A host's, at a socket on which nothing is lost. It tells a simulator to run, and what it has taken only when it is to."""

    def __init__(self, link, session):
        self.link, self.rest, self.sent, self.taken, self.told, self.ran = link, b"", 0, 0, 0, 0
        self.acknowledged, self.credit = 0, 255
        link.sendall(hello(session))
        self.verdict = answer(link, session)[2]

    def packet(self, payload, control=0):
        self.link.sendall(frame(CREDIT | control | COUNTED | self.sent % 128 << 8 | self.told % 128 << 16, payload))
        self.sent += 1

    def run(self, cycles):
        self.packet(struct.pack("<IIQ", RUN, 0, cycles), CONTROL)

    def take(self):
        """Wait for bytes, and take the frames in them. A frame that is missing comes no more, so none may be."""
        got = self.link.recv(65536)
        assert got, "the other end closed"
        whole, mark, self.rest = (self.rest + got).rpartition(b"\0")
        for head, payload in frames(whole + mark):
            self.acknowledged += ((head >> 16) - self.acknowledged) % 128
            self.credit = head >> 24
            if head & COUNTED and (head >> 8) % 128 == self.taken % 128:
                self.taken += 1
                self.ran += head & CONTROL != 0 and struct.unpack("<I", payload[:4])[0] == RAN

    def tell(self):
        self.told = self.taken
        self.link.sendall(frame(CREDIT | self.sent % 128 << 8 | self.taken % 128 << 16))
