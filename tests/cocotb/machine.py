# SPDX-License-Identifier: Apache-2.0
"""What the tests under the root complex of cocotbext-pcie have in common: the machine around the device, and what it does there."""
import logging
import os
import random
import re
import struct

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer
from cocotbext.pcie.core import RootComplex
from cocotbext.pcie.core.device import Device
from cocotbext.pcie.core.dllp import FcType
from cocotbext.pcie.core.utils import PcieId

SEED = int(os.environ["FERRY_SEED"])
# More of what is random, with which `make soak-seeds` runs all programs.
LONG = "FERRY_LONG" in os.environ


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
# Of a firmware that was loaded whole before.
WRITTEN_BYTES = 512
LOCAL, SYSTEM = C["ADDRESS_KIND_LOCAL"], C["ADDRESS_KIND_SYSTEM"]


class LinkEnd(Device):
    """The device's end of the link of the root complex, and the credits that it has there."""

    def __init__(self, dut, payload):
        super().__init__()
        self.dut, self.payload = dut, payload
        # Packets that were taken off the device and have not used their credits in the model yet: number, payload.
        self.taken = {kind: [0, 0] for kind in (FcType.P, FcType.NP, FcType.CPL)}

    async def link_up(self):
        """The device's reset ends behind it."""

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

    async def forward(self, tlp, kind, units):
        await self.upstream_port.send(tlp)
        self.accounted(kind, units)

    def accounted(self, kind, units):
        self.taken[kind][0] -= 1
        self.taken[kind][1] -= units


class Machine:
    """The device, its root complex, and a page of rings and fences in host memory. `inputs`: of what is simulated;
    `end`: a LinkEnd; log2 of the bytes of BAR2."""

    def __init__(self, dut, inputs, end, bar2_bits):
        self.dut, self.payload, self.fence, self.produced = dut, [128], 100, 0
        self.inputs, self.make_end, self.bar2_bits = inputs, end, bar2_bits

    async def start(self, small_credits, endless_completions=False):
        dut = self.dut
        cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
        for name in self.inputs:
            getattr(dut, name).value = 0
        dut.rst.value = 1
        for _ in range(10):
            await RisingEdge(dut.clk)
        self.rc = RootComplex()
        self.rc.log.setLevel(logging.WARNING)
        bridge = self.rc.make_port()
        if small_credits:
            state = bridge.downstream_port.fc_state[0]
            # 0 stands for credits without end (2.6.1).
            few = int(not endless_completions)
            for credit, units in ((state.ph, 1), (state.pd, 16), (state.nph, 1), (state.npd, 1), (state.cplh, few),
                                  (state.cpld, 16 * few)):
                credit.rx_initial_allocation = credit.rx_credits_allocated = units
        self.end = self.make_end(dut, self.payload)
        bridge.connect(self.end)
        await self.end.link_up()
        dut.rst.value = 0
        await self.rc.enumerate()
        device = self.rc.find_device(PcieId(1, 0, 0))
        assert (device.vendor_id, device.device_id, device.class_code) == (0x1209, 0xfe01, 0x030200)
        assert device.bar_size[0] == 1 << 16 and device.bar_size[2] == 1 << self.bar2_bits
        assert {int(capability[0]) for capability in device.capabilities} == {0x01, 0x05, 0x10}
        await device.enable_device()
        await device.set_master()
        self.device, self.bar0, self.bar2 = device, device.bar_window[0], device.bar_window[2]
        self.base, self.host = self.rc.alloc_region(1 << 20)

    async def write64(self, offset, value):
        await self.bar0.write_dword(offset, value & 0xffffffff)
        await self.bar0.write_dword(offset + 4, value >> 32)

    async def boot(self, whole=False):
        """Loads the firmware and starts it. The host writes its first words, or the whole, which takes as long as all the rest of
        a case; the test puts the others where they belong."""
        with open(os.environ["FERRY_FIRMWARE"], "rb") as file:
            image = file.read()
        image += bytes(-len(image) % 4)
        written = len(image) if whole else WRITTEN_BYTES
        memory = self.dut.device.units.commands.cpu.ram.memory
        for at in range(written, len(image), 4):
            memory[at // 4].value = int.from_bytes(image[at:at + 4], "little")
        await self.bar0.write(C["BAR0_FIRMWARE_RAM"], image[:written])
        await self.write64(C["BAR0_FAULT_LOG_ADDRESS"], self.base + 0x9000)
        await self.bar0.write_dword(C["BAR0_FAULT_LOG_ENTRIES_LOG2"], 6)
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
        self.host[32 * entry:32 * entry + 32] = struct.pack("<QLLQQ", self.base + place, len(packets), C["RING_ENTRY_FLAGS_INTERRUPT_MASK"],
                                                               self.fence, 0)
        self.produced += 1

    async def ring(self):
        await self.bar0.write_dword(C["BAR0_RING_AT"] + C["BAR0_RING_PRODUCER"], self.produced)

    async def wait(self):
        await self.ring()
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


def order_both_ways(machine, least=1, buffers=4):
    """Buffers, each with data in and out again, at any alignment, so many bytes at least. What is to come where."""
    expected = []
    for n in range(buffers):
        length = random.randrange(least, 5000)
        source = 0x40000 + 0x4000 * n + random.randrange(64)
        back = 0x80000 + 0x4000 * n + random.randrange(64)
        local = 0x400000 + 0x4000 * n + random.randrange(64)
        data = random.randbytes(length)
        machine.host[source:source + length] = data
        machine.host[back - 8:back + length + 8] = b"\xee" * (length + 16)
        machine.submit(copy(SYSTEM, machine.base + source, LOCAL, local, length) +
                       copy(LOCAL, local, SYSTEM, machine.base + back, length))
        expected.append((back, data))
    return expected


async def refuses(machine):
    """A packet that the firmware refuses ends its buffer with a fault, also where what was never written is X."""
    machine.submit(copy(LOCAL, 0, LOCAL, 1 << 40, 64))
    assert await machine.wait() == C["BUFFER_STATUS_FAULTED"]
    assert bytes(machine.host[0x9000:0x9004]) == struct.pack("<L", 1)


async def both_ways(machine):
    # Two buffers, longer than the largest packet: what is simulated takes as long as it has bytes.
    await all_moved(machine, order_both_ways(machine, *((1, 4) if LONG else (600, 2))))


async def all_moved(machine, expected):
    assert await machine.wait() == C["BUFFER_STATUS_SUCCESS"]
    for back, data in expected:
        found = bytes(machine.host[back - 8:back + len(data) + 8])
        assert found == b"\xee" * 8 + data + b"\xee" * 8, f"{len(data)} bytes at {back:x}"
