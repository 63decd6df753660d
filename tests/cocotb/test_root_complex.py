# SPDX-License-Identifier: Apache-2.0
"""ferry_device under the root complex of cocotbext-pcie, which nobody here wrote.

It enumerates the device, sizes and places its BARs, loads the firmware, and then the device moves data both ways in
several runs: random payload and read request sizes, both completion boundaries, completions as long as allowed or cut at
every boundary, several buffers in flight, and once with the smallest credits that PCI Express allows.

What it cannot check: its switch forwards packets in the order they came, so nothing of one kind ever passes another, and
completions of different reads never swap; it looks at no tag twice, ignores error messages, never poisons, never adds a
digest, and answers a wrong request with a log line rather than a failure. tests/rtl/host is for those.
"""
import random
import struct

import cocotb
from cocotb.queue import Queue
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from cocotbext.pcie.core.dllp import FcType
from cocotbext.pcie.core.tlp import Tlp

from machine import LONG, SEED, LinkEnd, Machine, both_ways, refuses, window

INPUTS = ["s_axis_tlp_" + name for name in ("tdata", "tkeep", "tlast", "tvalid")] + [
    "m_axis_tlp_" + name for name in ("tready", "posted_ok", "request_ok", "completion_ok")]


class Slot(LinkEnd):
    """The device's end of the link: packets as beats, credits as levels."""

    def __init__(self, dut, payload):
        super().__init__(dut, payload)
        self.in_order = Queue()
        cocotb.start_soon(self.to_device())
        cocotb.start_soon(self.from_device())
        cocotb.start_soon(self.watch_room())

    async def upstream_recv(self, tlp):
        data = bytes(tlp.pack())
        size = tlp.get_header_size()
        words = list(struct.unpack(f">{size // 4}L", data[:size]))
        payload = data[size:] + bytes(-len(data[size:]) % 4)
        words += struct.unpack(f"<{len(payload) // 4}L", payload)
        self.in_order.put_nowait((words, tlp))

    async def to_device(self):
        dut, held = self.dut, []
        while True:
            # Requests that want an answer wait while the device says so; what comes behind them passes.
            if held and int(dut.s_axis_tlp_request_ok.value):
                words, tlp = held.pop(0)
            elif held and self.in_order.empty():
                await RisingEdge(dut.clk)
                continue
            else:
                words, tlp = await self.in_order.get()
                if tlp.get_fc_type() == FcType.NP and (held or not int(dut.s_axis_tlp_request_ok.value)):
                    held.append((words, tlp))
                    continue
            await RisingEdge(dut.clk)
            for at in range(0, len(words), 2):
                both = at + 1 < len(words)
                dut.s_axis_tlp_tdata.value = words[at] | (words[at + 1] << 32 if both else 0)
                dut.s_axis_tlp_tkeep.value = 3 if both else 1
                dut.s_axis_tlp_tlast.value = int(at + 2 >= len(words))
                dut.s_axis_tlp_tvalid.value = 1
                await FallingEdge(dut.clk)
                while not int(dut.s_axis_tlp_tready.value):
                    await FallingEdge(dut.clk)
                await RisingEdge(dut.clk)
            dut.s_axis_tlp_tvalid.value = 0
            tlp.release_fc()

    def show_room(self):
        dut = self.dut
        dut.m_axis_tlp_posted_ok.value = self.room(FcType.P)
        dut.m_axis_tlp_request_ok.value = self.room(FcType.NP)
        dut.m_axis_tlp_completion_ok.value = self.room(FcType.CPL)

    async def watch_room(self):
        """Credits come back when the model says so."""
        while True:
            await Timer(50, "ns")
            self.show_room()

    async def from_device(self):
        dut, words = self.dut, []
        dut.m_axis_tlp_tready.value = 1
        while True:
            await FallingEdge(dut.clk)
            if str(dut.m_axis_tlp_tvalid.value) != "1":
                await RisingEdge(dut.m_axis_tlp_tvalid)
                continue
            ready = random.random() < 0.9
            dut.m_axis_tlp_tready.value = int(ready)
            if not ready:
                continue
            beat, keep = str(dut.m_axis_tlp_tdata.value), int(dut.m_axis_tlp_tkeep.value)
            if not words:
                # From its first beat on the packet has used its credits; they were there when it was chosen.
                kind, units = self.credits(int(beat[32:], 2))
                self.taken[kind][0] += 1
                self.taken[kind][1] += units
                assert self.room(kind, 0), f"a packet of {kind} without a credit"
                self.show_room()
            words += [int(beat[32 - 32 * i:64 - 32 * i], 2) for i in range(2) if keep >> i & 1]
            if int(dut.m_axis_tlp_tlast.value):
                header = 4 if words[0] >> 29 & 1 else 3
                data = b"".join(struct.pack(">L", word) for word in words[:header])
                data += b"".join(struct.pack("<L", word) for word in words[header:])
                words = []
                tlp = Tlp.unpack(bytearray(data))
                assert tlp.check(), repr(tlp)
                assert (kind, units) == (tlp.get_fc_type(), tlp.get_data_credits()), repr(tlp)
                cocotb.start_soon(self.forward(tlp, kind, units))


async def runs(dut, small_credits, count):
    random.seed(SEED)
    machine = Machine(dut, INPUTS, Slot, 27)
    await machine.start(small_credits)
    await machine.configure(256, 512, 64, False)
    await machine.boot(whole=not small_credits)
    for n in range(count):
        # The first four settings are the corners; then chance.
        payload = (128, 256)[n & 1] if n < 4 else random.choice((128, 256))
        read = (512, 128, 256, 512)[n] if n < 4 else random.choice((128, 256, 512))
        boundary = (64, 128)[n >> 1 & 1] if n < 4 else random.choice((64, 128))
        dut._log.info("payload %d, read request %d, boundary %d", payload, read, boundary)
        await machine.configure(payload, read, boundary, bool(random.getrandbits(1)))
        await window(machine)
        await both_ways(machine)
    await refuses(machine)


@cocotb.test()
async def enumerates_boots_and_moves_data(dut):
    await runs(dut, False, 5 if LONG else 4)


@cocotb.test()
async def moves_data_with_the_smallest_credits(dut):
    await runs(dut, True, 1)
