# SPDX-License-Identifier: Apache-2.0
"""ferry_device under the root complex of cocotbext-pcie, which nobody here wrote.

It enumerates the device, sizes and places its BARs, loads the firmware, and then the device moves data both ways in
several runs: random payload and read request sizes, both completion boundaries, completions as long as allowed or cut at
every boundary, several buffers in flight, and once with the smallest credits that PCI Express allows.

What it cannot check: its switch forwards packets in the order they came, so nothing of one kind ever passes another, and
completions of different reads never swap; it looks at no tag twice, ignores error messages, never poisons, never adds a
digest, and answers a wrong request with a log line rather than a failure. tests/rtl/host is for those.
"""
import logging
import os
import random
import re
import struct

import cocotb
from cocotb.clock import Clock
from cocotb.queue import Queue
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from cocotbext.pcie.core import RootComplex
from cocotbext.pcie.core.device import Device
from cocotbext.pcie.core.dllp import FcType
from cocotbext.pcie.core.tlp import Tlp
from cocotbext.pcie.core.utils import PcieId

SEED = int(os.environ["FERRY_SEED"])


def contract():
    """Every number of the generated header by its name, without the FERRY_ in front."""
    numbers = {}
    with open(os.environ["FERRY_HEADER"], encoding="utf-8") as header:
        for line in header:
            match = (re.match(r"\s*#define\s+FERRY_(\w+)\s+(?:UINT32_C\()?(0x[0-9a-fA-F]+|\d+)u?", line) or
                     re.match(r"\s*FERRY_(\w+)\s*=\s*(0x[0-9a-fA-F]+|\d+)", line))
            if match:
                numbers[match[1]] = int(match[2], 0)
    return numbers


C = contract()
LOCAL, SYSTEM = C["ADDRESS_KIND_LOCAL"], C["ADDRESS_KIND_SYSTEM"]


class Slot(Device):
    """The device's end of the link: packets as beats, credits as levels."""

    def __init__(self, dut, payload):
        super().__init__()
        self.dut, self.payload = dut, payload
        self.in_order = Queue()
        # Packets that were taken off the device and have not used their credits in the model yet: number, payload.
        self.taken = {kind: [0, 0] for kind in (FcType.P, FcType.NP, FcType.CPL)}
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

    @staticmethod
    def credits(word):
        """Kind of the packet with this first word, and the units of its payload (2.6.1)."""
        kind, data = word >> 24 & 31, word >> 30 & 1
        units = -(-((word & 1023) or 1024) // 4) if data else 0
        if kind in (10, 11):
            return FcType.CPL, units
        return (FcType.P if kind >> 3 == 2 or (kind == 0 and data) else FcType.NP), units

    def room(self, kind, more=1):
        """Besides what was taken and is not yet accounted, `more` packets of the largest size may go."""
        state = self.upstream_port.fc_state[0]
        if not state.initialized.is_set():
            return 0
        number, data = self.taken[kind]
        units = 0 if kind == FcType.NP else self.payload[0] // 16
        header, payload = {FcType.P: (state.ph, state.pd), FcType.NP: (state.nph, state.npd),
                           FcType.CPL: (state.cplh, state.cpld)}[kind]
        return int((header.tx_is_infinite() or header.tx_credits_available >= number + more) and
                   (payload.tx_is_infinite() or payload.tx_credits_available >= data + more * units))

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

    async def forward(self, tlp, kind, units):
        await self.upstream_port.send(tlp)
        self.taken[kind][0] -= 1
        self.taken[kind][1] -= units

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

class Machine:
    """The device, its root complex, and a page of rings and fences in host memory."""

    def __init__(self, dut):
        self.dut, self.payload, self.fence, self.produced = dut, [128], 100, 0

    async def start(self, small_credits):
        dut = self.dut
        cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
        for name in ("tdata", "tkeep", "tlast", "tvalid"):
            getattr(dut, "s_axis_tlp_" + name).value = 0
        for name in ("tready", "posted_ok", "request_ok", "completion_ok"):
            getattr(dut, "m_axis_tlp_" + name).value = 0
        dut.rst.value = 1
        for _ in range(10):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        self.rc = RootComplex()
        self.rc.log.setLevel(logging.WARNING)
        bridge = self.rc.make_port()
        if small_credits:
            state = bridge.downstream_port.fc_state[0]
            for credit, units in ((state.ph, 1), (state.pd, 16), (state.nph, 1), (state.npd, 1), (state.cplh, 1),
                                  (state.cpld, 16)):
                credit.rx_initial_allocation = credit.rx_credits_allocated = units
        bridge.connect(Slot(dut, self.payload))
        await self.rc.enumerate()
        device = self.rc.find_device(PcieId(1, 0, 0))
        assert (device.vendor_id, device.device_id, device.class_code) == (0x1209, 0xfe01, 0x030200)
        assert device.bar_size[0] == 1 << 16 and device.bar_size[2] == 1 << 27
        assert {int(capability[0]) for capability in device.capabilities} == {0x01, 0x05, 0x10}
        await device.enable_device()
        await device.set_master()
        self.device, self.bar0, self.bar2 = device, device.bar_window[0], device.bar_window[2]
        self.base, self.host = self.rc.alloc_region(1 << 20)

    async def write64(self, offset, value):
        await self.bar0.write_dword(offset, value & 0xffffffff)
        await self.bar0.write_dword(offset + 4, value >> 32)

    async def boot(self):
        with open(os.environ["FERRY_FIRMWARE"], "rb") as file:
            image = file.read()
        await self.bar0.write(C["BAR0_FIRMWARE_RAM"], image + bytes(-len(image) % 4))
        await self.bar0.write_dword(C["BAR0_HOST_CONTRACT"], C["CONTRACT_VERSION"])
        await self.bar0.write_dword(C["BAR0_CONTROL"], 1)
        for _ in range(200):
            if await self.bar0.read_dword(C["BAR0_FIRMWARE_STATE"]) == C["FIRMWARE_STATE_RUNNING"]:
                break
            await Timer(2, "us")
        else:
            assert False, "the firmware does not run"
        ring = C["BAR0_RING_AT"]
        await self.write64(ring + C["BAR0_RING_BASE"], self.base)
        await self.bar0.write_dword(ring + C["BAR0_RING_ENTRIES_LOG2"], 4)
        await self.bar0.write_dword(ring + C["BAR0_RING_RIGHTS"], 7)
        await self.write64(ring + C["BAR0_RING_FENCE_ADDRESS"], self.base + 0x8000)
        await self.bar0.write_dword(ring + C["BAR0_RING_CONTROL"], 1)

    def submit(self, packets):
        """A buffer of these packets into the next ring entry; the doorbell comes later."""
        entry = self.produced % 16
        place = 0x10000 + 0x1000 * entry
        self.host[place:place + len(packets)] = packets
        self.fence += 1
        self.host[32 * entry:32 * entry + 32] = struct.pack("<QQQQ", self.base + place, len(packets), self.fence, 0)
        self.produced += 1

    async def wait(self):
        await self.bar0.write_dword(C["BAR0_RING_AT"] + C["BAR0_RING_PRODUCER"], self.produced)
        for _ in range(100):
            value, _, _, status = struct.unpack("<QQLL", bytes(self.host[0x8000:0x8018]))
            if value == self.fence:
                return status
            await Timer(2, "us")
        state = [await self.bar0.read_dword(C[name]) for name in
                 ("BAR0_STATUS", "BAR0_FIRMWARE_STATE", "BAR0_HALT_CODE", "BAR0_FAULT_LOG_PRODUCED")]
        ring = [await self.bar0.read_dword(C["BAR0_RING_AT"] + C[name]) for name in
                ("BAR0_RING_FETCHED", "BAR0_RING_RETIRED", "BAR0_RING_FAULTS")]
        assert False, f"the fence does not come: {value} of {self.fence}, {state}, {ring}"

    async def configure(self, payload, read, boundary, every_boundary):
        self.payload[0] = payload
        await self.device.set_mps({128: 0, 256: 1}[payload])
        await self.device.set_readrq({128: 0, 256: 1, 512: 2}[read])
        self.rc.max_payload_size = {128: 0, 256: 1}[payload]
        self.rc.read_completion_boundary = boundary == 128
        self.rc.split_on_all_rcb = every_boundary


def copy(source_kind, source, destination_kind, destination, length):
    return struct.pack("<LLQQQ", C["OPCODE_COPY"] | 8 << 16, source_kind | destination_kind << 2, length, source,
                       destination)


async def window(machine):
    data = random.randbytes(1000)
    await machine.bar2.write(0x20003, data)
    assert await machine.bar2.read(0x20003, 1000) == data


async def both_ways(machine):
    """Four buffers at once, each with data in and out again, at any alignment."""
    expected = []
    for n in range(4):
        length = random.randrange(1, 5000)
        source = 0x40000 + 0x4000 * n + random.randrange(64)
        back = 0x80000 + 0x4000 * n + random.randrange(64)
        local = 0x400000 + 0x4000 * n + random.randrange(64)
        data = random.randbytes(length)
        machine.host[source:source + length] = data
        machine.host[back - 8:back + length + 8] = b"\xee" * (length + 16)
        machine.submit(copy(SYSTEM, machine.base + source, LOCAL, local, length) +
                       copy(LOCAL, local, SYSTEM, machine.base + back, length))
        expected.append((back, data))
    assert await machine.wait() == C["BUFFER_STATUS_SUCCESS"]
    for back, data in expected:
        found = bytes(machine.host[back - 8:back + len(data) + 8])
        assert found == b"\xee" * 8 + data + b"\xee" * 8, f"{len(data)} bytes at {back:x}"


async def runs(dut, small_credits, count):
    random.seed(SEED)
    machine = Machine(dut)
    await machine.start(small_credits)
    await machine.configure(256, 512, 64, False)
    await machine.boot()
    for n in range(count):
        # The first four settings are the corners; then chance.
        payload = (128, 256)[n & 1] if n < 4 else random.choice((128, 256))
        read = (512, 128, 256, 512)[n] if n < 4 else random.choice((128, 256, 512))
        boundary = (64, 128)[n >> 1 & 1] if n < 4 else random.choice((64, 128))
        dut._log.info("payload %d, read request %d, boundary %d", payload, read, boundary)
        await machine.configure(payload, read, boundary, bool(random.getrandbits(1)))
        await window(machine)
        await both_ways(machine)


@cocotb.test()
async def enumerates_boots_and_moves_data(dut):
    await runs(dut, False, 5)


@cocotb.test()
async def moves_data_with_the_smallest_credits(dut):
    await runs(dut, True, 1)
