# SPDX-License-Identifier: Apache-2.0
"""The PCI Express block of a 7-series FPGA, as AMD PG054 tells what its core does at its user side.

It has the configuration space (that of cocotbext-pcie's endpoint), answers the host's configuration requests itself, and
shows the registers through its management port and some of them on wires. Memory packets and completions go through, every
word with its first byte uppermost; which BARs a request is for is looked at as it arrives. Its credits are shown late; rx_np_ok holds
requests that want an answer.
"""
import random
import struct
from collections import deque

import cocotb
from cocotb.queue import Queue
from cocotb.triggers import FallingEdge, RisingEdge
from cocotb.utils import get_sim_time
from cocotbext.pcie.core.caps import MsiCapability
from cocotbext.pcie.core.dllp import FcType
from cocotbext.pcie.core.endpoint import Endpoint
from cocotbext.pcie.core.tlp import CplStatus, Tlp, TlpType

from machine import LinkEnd

INPUTS = ["m_axis_rx_" + name for name in ("tdata", "tkeep", "tlast", "tvalid")] + [
    "rx_bar_hit", "s_axis_tx_tready", "fc_ph", "fc_pd", "fc_nph", "fc_cplh", "fc_cpld", "cfg_mgmt_do", "cfg_mgmt_rd_wr_done",
    "cfg_bus_number", "cfg_device_number", "cfg_function_number", "cfg_command", "cfg_dcommand", "cfg_pmcsr_powerstate",
    "cfg_interrupt_msienable", "cfg_received_func_lvl_rst"]
# Where the core has its capabilities unless it is told otherwise, in words.
POWER_AT, MSI_AT, PCIE_AT = 0x40 // 4, 0x48 // 4, 0x60 // 4
# The credits that are shown are as they were so many times four clocks ago.
LATE = 10
# Who has lost the leave to speak may have chosen a packet just before.
CHOSEN_NS = 320


class Registers(Endpoint):
    """What the block's core is made for, and what it shows of it."""

    def __init__(self, block, bar2_bits):
        super().__init__()
        self.block = block
        self.vendor_id, self.device_id, self.class_code, self.revision_id = 0x1209, 0xfe01, 0x030200, 5
        self.configure_bar(0, 1 << 16)
        self.configure_bar(2, 1 << bar2_bits, ext=True, prefetch=True)
        self.msi_cap = MsiCapability()
        self.msi_cap.msi_64bit_address_capable = 1
        for capability in (self.pm_cap, self.pcie_cap):
            self.deregister_capability(capability)
        for capability, place in ((self.pm_cap, POWER_AT), (self.msi_cap, MSI_AT), (self.pcie_cap, PCIE_AT)):
            self.register_capability(capability, place)
        self.pcie_cap.max_payload_size_supported = 1
        self.pcie_cap.function_level_reset_capability = True

    async def read_config_register(self, reg):
        self.pcie_cap.transactions_pending = str(self.block.dut.cfg_trn_pending.value) == "1"
        return await super().read_config_register(reg)

    async def write_config_register(self, reg, data, mask):
        await super().write_config_register(reg, data, mask)
        await self.block.show(reset=reg == PCIE_AT + 2 and mask & 2 and data >> 15 & 1)


class HardBlock(LinkEnd):
    """`endless` is what stands for credits without end: 0, or the largest number."""

    def __init__(self, dut, payload, bar2_bits, endless):
        super().__init__(dut, payload)
        self.endless, self.registers = endless, Registers(self, bar2_bits)
        self.append_function(self.registers)
        self.held, self.arrived, self.leaving = deque(), Queue(), Queue()
        # Payload of the largest packet; the device has asked for more than a buffer; packets that it sent, of each kind.
        self.largest, self.reads_data, self.sent = 0, False, {kind: 0 for kind in self.taken}
        # How often it has nothing to give for a clock within a packet; it keeps what comes until it was configured so many times.
        self.pauses, self.keeps, self.down = 0.1, 0, False
        # Clocks in which an answer takes its way to the host, and whatever the host sends then to here; that the lane takes for a
        # packet, before the far end can give its credit back.
        self.way, self.lane = 50, 0
        # When the leave to speak was taken away.
        self.silent_at = 0
        # How many times the link was lost: with it goes what waits for the lane.
        self.drops = 0
        for process in (self.manage(), self.to_user(), self.from_user(), self.to_lane(), self.show_credits()):
            cocotb.start_soon(process)

    async def link_up(self):
        await self.upstream_port.fc_state[0].initialized.wait()
        for _ in range(4 * LATE):
            await RisingEdge(self.dut.clk)

    async def drop(self):
        """The link is lost for 20 us: what was under way is gone both ways, and the function is as after power-on."""
        dut, registers = self.dut, self.registers
        self.down, dut.rst.value = True, 1
        self.drops += 1
        while not self.arrived.empty():
            self.held.append(self.arrived.get_nowait())
        for *_, tlp in self.held:
            tlp.release_fc()
        self.held.clear()
        while not self.leaving.empty():
            self.accounted(*self.leaving.get_nowait()[1:])
        registers.memory_space_enable = registers.bus_master_enable = registers.msi_cap.msi_enable = False
        registers.bar = [bar & 15 for bar in registers.bar]
        registers.pcie_cap.max_payload_size, registers.pcie_cap.max_read_request_size = 0, 2
        await self.show()
        for _ in range(2000):
            await RisingEdge(dut.clk)
        self.down, dut.rst.value = False, 0

    # ---- Configuration ----

    async def show(self, reset=False):
        dut, registers = self.dut, self.registers
        self.keeps = max(self.keeps - 1, 0)
        if not registers.bus_master_enable and int(dut.cfg_command.value) & 4:
            self.silent_at = get_sim_time("ns")
        dut.cfg_bus_number.value = registers.bus_num
        dut.cfg_command.value = await registers.read_config_register(1) & 0xffff
        dut.cfg_dcommand.value = await registers.read_config_register(PCIE_AT + 2) & 0xffff
        dut.cfg_pmcsr_powerstate.value = registers.pm_cap.power_state
        dut.cfg_interrupt_msienable.value = int(registers.msi_cap.msi_enable)
        if reset:
            # What is a function's own is as after power-on, but for the payload.
            registers.memory_space_enable = registers.bus_master_enable = registers.msi_cap.msi_enable = False
            registers.bar = [bar & 15 for bar in registers.bar]
            dut.cfg_received_func_lvl_rst.value = 1
            await RisingEdge(dut.clk)
            await RisingEdge(dut.clk)
            dut.cfg_received_func_lvl_rst.value = 0
            await self.show()
        for _ in range(self.way):
            await RisingEdge(dut.clk)

    async def manage(self):
        dut = self.dut
        while True:
            await FallingEdge(dut.clk)
            if str(dut.cfg_mgmt_rd_en.value) != "1":
                continue
            for _ in range(random.randrange(1, 6)):
                await RisingEdge(dut.clk)
                assert int(dut.cfg_mgmt_rd_en.value) == 1
            dut.cfg_mgmt_do.value = await self.registers.read_config_register(int(dut.cfg_mgmt_dwaddr.value))
            dut.cfg_mgmt_rd_wr_done.value = 1
            await RisingEdge(dut.clk)
            dut.cfg_mgmt_rd_wr_done.value = 0
            dut.cfg_mgmt_do.value = random.getrandbits(32)

    # ---- From the host ----

    async def upstream_recv(self, tlp):
        if tlp.fmt_type in (TlpType.CFG_READ_0, TlpType.CFG_WRITE_0):
            await super().upstream_recv(tlp)
            return
        if self.down:
            tlp.release_fc()
            return
        data = bytes(tlp.pack())
        self.arrived.put_nowait((struct.unpack(f">{len(data) // 4}L", data), self.bars(tlp), tlp))

    def bars(self, tlp):
        """The bits of the BARs that a packet is for; a BAR of 64 bits has both. What is for none would be answered here."""
        if tlp.is_completion():
            return 0
        registers = self.registers
        match = registers.match_bar(tlp.address) if registers.memory_space_enable else None
        assert match, repr(tlp)
        return {0: 1, 2: 12}[match[0]]

    async def next_packet(self):
        """Requests that want an answer wait for rx_np_ok; what comes behind them passes."""
        while True:
            if self.held and int(self.dut.rx_np_ok.value):
                return self.held.popleft()
            if self.held and self.arrived.empty():
                await RisingEdge(self.dut.clk)
                continue
            words, bars, tlp = await self.arrived.get()
            if tlp.get_fc_type() != FcType.NP or (not self.held and int(self.dut.rx_np_ok.value)):
                return words, bars, tlp
            self.held.append((words, bars, tlp))

    async def to_user(self):
        dut = self.dut
        while True:
            words, bars, tlp = await self.next_packet()
            await RisingEdge(dut.clk)
            while self.keeps:
                await RisingEdge(dut.clk)
            dut.rx_bar_hit.value = bars
            for at in range(0, len(words), 2):
                both = at + 1 < len(words)
                while random.random() < (self.pauses if at else 0.1):
                    dut.m_axis_rx_tvalid.value = 0
                    await RisingEdge(dut.clk)
                dut.m_axis_rx_tdata.value = words[at] | (words[at + 1] << 32 if both else random.getrandbits(32) << 32)
                dut.m_axis_rx_tkeep.value = 0xff if both else 0x0f
                dut.m_axis_rx_tlast.value = int(at + 2 >= len(words))
                dut.m_axis_rx_tvalid.value = 1
                await FallingEdge(dut.clk)
                while not int(dut.m_axis_rx_tready.value) and not self.down:
                    await FallingEdge(dut.clk)
                await RisingEdge(dut.clk)
                if self.down:
                    break
            dut.m_axis_rx_tvalid.value = 0
            dut.rx_bar_hit.value = random.getrandbits(8)
            tlp.release_fc()

    # ---- To the host ----

    async def show_credits(self):
        dut, shown = self.dut, deque()
        state = self.upstream_port.fc_state[0]
        signals = ((dut.fc_ph, state.ph, FcType.P, 0, 0x80), (dut.fc_pd, state.pd, FcType.P, 1, 0x800),
                   (dut.fc_nph, state.nph, FcType.NP, 0, 0x80), (dut.fc_cplh, state.cplh, FcType.CPL, 0, 0x80),
                   (dut.fc_cpld, state.cpld, FcType.CPL, 1, 0x800))
        while True:
            for _ in range(4):
                await RisingEdge(dut.clk)
            # The reset of the user side ends when the link is up.
            if not state.initialized.is_set():
                continue
            shown.append([(self.endless and most) if credit.tx_is_infinite() else
                          max(0, min(most - 1, credit.tx_credits_available - self.taken[kind][unit]))
                          for _, credit, kind, unit, most in signals])
            for (signal, *_), value in zip(signals, shown[0]):
                signal.value = value
            if len(shown) > LATE:
                shown.popleft()

    async def from_user(self):
        dut, words = self.dut, []
        while True:
            dut.s_axis_tx_tready.value = int(random.random() < 0.9)
            await FallingEdge(dut.clk)
            if self.down and words:
                self.accounted(kind, units)
                words = []
            if self.down or str(dut.s_axis_tx_tvalid.value) != "1" or not int(dut.s_axis_tx_tready.value):
                await RisingEdge(dut.clk)
                continue
            # Bytes that are not enabled may be of memory that nobody wrote.
            beat = str(dut.s_axis_tx_tdata.value).replace("X", random.choice("01"))
            keep = int(dut.s_axis_tx_tkeep.value)
            if not words:
                leave = self.registers.bus_master_enable or get_sim_time("ns") < self.silent_at + CHOSEN_NS
                kind, units = self.credits(int(beat[32:], 2))
                self.taken[kind][0] += 1
                self.taken[kind][1] += units
                assert self.room(kind, 0), f"a packet of {kind} without a credit"
            words += [int(beat[32 - 32 * i:64 - 32 * i], 2) for i in range(2) if keep >> 4 * i & 1]
            assert keep == 0xff or (keep == 0x0f and int(dut.s_axis_tx_tlast.value))
            last = int(dut.s_axis_tx_tlast.value)
            await RisingEdge(dut.clk)
            if not last:
                continue
            tlp = Tlp.unpack(bytearray(b"".join(struct.pack(">L", word) for word in words)))
            words = []
            assert tlp.check(), repr(tlp)
            assert (kind, units) == (tlp.get_fc_type(), tlp.get_data_credits()), repr(tlp)
            # What the adapter keeps back; what may not be sent; and by whom.
            assert tlp.fmt_type != TlpType.CPL or tlp.status != CplStatus.SC, repr(tlp)
            assert tlp.is_completion() or leave, repr(tlp)
            assert (tlp.completer_id if tlp.is_completion() else tlp.requester_id) == self.registers.pcie_id, repr(tlp)
            assert 4 * tlp.length <= 128 << self.registers.pcie_cap.max_payload_size or not tlp.get_data(), repr(tlp)
            self.largest = max(self.largest, len(tlp.get_data() or b""))
            self.sent[kind] += 1
            self.reads_data |= kind == FcType.NP and tlp.length > 16
            self.leaving.put_nowait((tlp, kind, units))

    async def to_lane(self):
        """One after the other, as they came."""
        while True:
            tlp, kind, units = await self.leaving.get()
            drops = self.drops
            for _ in range(self.lane):
                await RisingEdge(self.dut.clk)
            if self.drops == drops:
                await self.forward(tlp, kind, units)
            else:
                self.accounted(kind, units)
