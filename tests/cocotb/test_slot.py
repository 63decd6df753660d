# SPDX-License-Identifier: Apache-2.0
"""What a board in a slot has around the device, under the root complex of cocotbext-pcie: the host enumerates the link block,
and the device does what the block was told.

What it cannot check is the block itself: hard_block.py is what its manual says.
"""
import functools
import random

import cocotb
from cocotb.triggers import Timer
from cocotbext.pcie.core.caps import PciCapId
from cocotbext.pcie.core.dllp import FcType

from hard_block import INPUTS, HardBlock
from machine import C, LONG, SEED, Machine, all_moved, both_ways, order_both_ways, window

BAR2_BITS = 24


async def start(dut, small_credits, endless, whole=False):
    random.seed(SEED)
    machine = Machine(dut, INPUTS, functools.partial(HardBlock, bar2_bits=BAR2_BITS, endless=endless), BAR2_BITS)
    await machine.start(small_credits, endless_completions=endless == 0)
    # With one credit of a kind the next packet has to wait for it.
    machine.end.lane = 60 if small_credits else 0
    await machine.configure(256, 512, 64, False)
    await machine.boot(whole)
    board = [await machine.bar0.read_dword(C["BAR0_BOARD"] + at) for at in range(0, 16, 4)]
    assert board == [int.from_bytes(part, "little") for part in (b"ferr", b"y_sl", b"ot\0\0", bytes(4))], board
    return machine


async def runs(dut, small_credits, endless, count):
    machine = await start(dut, small_credits, endless, whole=not small_credits)
    for n in range(count):
        payload, read = ((256, 512), (128, 128), (random.choice((128, 256)), random.choice((128, 256, 512))))[min(n, 2)]
        await machine.configure(payload, read, random.choice((64, 128)), bool(random.getrandbits(1)))
        machine.end.largest = 0
        await window(machine)
        await both_ways(machine)
        assert machine.end.largest == payload or n > 1, machine.end.largest


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def moves_data(dut):
    await runs(dut, False, 1, 3 if LONG else 2)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def moves_data_with_the_smallest_credits_where_0_stands_for_endless_ones(dut):
    await runs(dut, True, 0, 1)


async def bars_move_and_go_off(machine):
    device = machine.device
    bar, command = await device.config_read_dword(0x10), await device.config_read_word(4)
    pauses = machine.end.pauses
    await machine.bar2.write(0x1000, b"here")
    for n in range(3):
        # Within the window of the bridge above it.
        moved = bar ^ 1 << 16 + n
        # What was written just before is written, though the block has it still: several packets, and each takes its time.
        machine.end.pauses, machine.end.keeps = (0.1, 0.6, 0.8)[n], 1
        words = random.randbytes(1000)
        await machine.bar2.write(0x2000, words)
        await device.config_write_word(4, command & ~2)
        await Timer(1 + 3 * n, "us")
        await device.config_write_dword(0x10, moved)
        await device.config_write_word(4, command)
        # Behind that answer at once.
        state = await machine.rc.mem_read_dword(moved + C["BAR0_FIRMWARE_STATE"])
        assert state == C["FIRMWARE_STATE_RUNNING"], state
        await device.config_write_word(4, command & ~2)
        await device.config_write_dword(0x10, bar)
        await device.config_write_word(4, command)
        assert await machine.bar2.read(0x1000, 4) == b"here"
        assert await machine.bar2.read(0x2000, 1000) == words
        assert await machine.bar0.read_dword(C["BAR0_FIRMWARE_STATE"]) == C["FIRMWARE_STATE_RUNNING"]
    machine.end.pauses = pauses


async def what_the_block_still_has_is_written(machine):
    """What was written before memory went off comes when the host has moved BAR0 and switched memory on again; or while it is off,
    after a long silence."""
    device = machine.device
    bar, command = await device.config_read_dword(0x10), await device.config_read_word(4)
    for moved in (bar ^ 1 << 16, bar):
        # The block gives nothing until the last of these configurations is done.
        machine.end.keeps = 3 if moved != bar else 2
        words, mask = random.randbytes(1000), random.getrandbits(31) & C["BAR0_INTERRUPT_ENABLE_VALUE_MASK"]
        await machine.bar2.write(0x2000, words)
        await machine.bar0.write_dword(C["BAR0_INTERRUPT_ENABLE"], mask)
        await device.config_write_word(4, command & ~2)
        await Timer(5, "us")
        await device.config_write_dword(0x10, moved)
        await Timer(5 if moved == bar else 0.1, "us")
        await device.config_write_word(4, command)
        assert await machine.rc.mem_read_dword(moved + C["BAR0_INTERRUPT_ENABLE"]) == mask
        assert await machine.bar2.read(0x2000, 1000) == words
        await device.config_write_word(4, command & ~2)
        await device.config_write_dword(0x10, bar)
        await device.config_write_word(4, command)
        await machine.bar0.write_dword(C["BAR0_INTERRUPT_ENABLE"], 0)


async def what_was_written_behind_answers_is_written(machine):
    """The block still has answers to the device's reads, and behind them what the host wrote, when memory goes off, the leave to
    speak, or both."""
    device = machine.device
    bar, command = await device.config_read_dword(0x10), await device.config_read_word(4)
    for off in (2, 4, 6):
        order_both_ways(machine, 1000, 2)
        await machine.ring()
        # It reads the data by then.
        while not machine.end.reads_data:
            await Timer(50, "ns")
        machine.end.keeps = 1
        await Timer(1, "us")
        words = random.randbytes(1000)
        await machine.bar2.write(0x2000, words)
        await device.config_write_word(4, command & ~off)
        await Timer(25, "us")
        await device.config_write_dword(0x10, bar ^ 1 << 16)
        await device.config_write_dword(0x10, bar)
        await device.config_write_word(4, command)
        assert await machine.bar2.read(0x2000, 1000) == words
        assert await machine.wait() == C["BUFFER_STATUS_SUCCESS"]
        machine.end.reads_data = False


async def reads_without_an_answer_are_pending(machine):
    """PCI Express Base Specification 4.0, 7.5.3.5."""
    device = machine.device

    async def pending():
        return await device.capability_read_word(PciCapId.EXP, 10) >> 5 & 1

    assert not await pending()
    order_both_ways(machine, 1000, 2)
    await machine.ring()
    while not machine.end.reads_data:
        await Timer(50, "ns")
    machine.end.keeps = 1
    await Timer(5, "us")
    assert await pending()
    await device.config_write_word(4, await device.config_read_word(4))
    assert await machine.wait() == C["BUFFER_STATUS_SUCCESS"]
    await Timer(5, "us")
    assert not await pending()
    machine.end.reads_data = False


async def interrupts_go_where_they_should(machine):
    assert await machine.device.alloc_irq_vectors(1, 1) == 1
    event = machine.device.msi_vectors[0].event
    await machine.bar0.write_dword(C["BAR0_INTERRUPT_ENABLE"], C["BAR0_INTERRUPT_ENABLE_VALUE_MASK"])
    for _ in range(2):
        event.clear()
        await both_ways(machine)
        await cocotb.triggers.with_timeout(event.wait(), 100, "us")
        await machine.bar0.write_dword(C["BAR0_INTERRUPT_STATUS"], 0xffffffff)
        # To another vector while they are on, as a host does that moves an interrupt to another processor.
        vector = machine.rc.msi_alloc_vectors(1)[0]
        event = vector.event
        await machine.device.capability_write_dword(PciCapId.MSI, 12, vector.data)
        await Timer(20, "us")


async def it_is_silenced_while_it_speaks(machine):
    """hard_block.py sees to it that nothing more is sent, though the mirror takes a while to tell the device."""
    device, sent = machine.device, machine.end.sent
    command = await device.config_read_word(4)
    for kind in (FcType.NP, FcType.P) * (2 if LONG else 1):
        expected = order_both_ways(machine, 3000)
        await machine.ring()
        before = sent[kind]
        # It reads entries and buffers first.
        while sent[kind] < before + random.randrange(12, 20):
            await Timer(50, "ns")
        await device.config_write_word(4, command & ~4)
        await Timer(3, "us")
        await device.config_write_word(4, command)
        await all_moved(machine, expected)


async def it_sleeps_and_sends_nothing_without_leave(machine):
    device = machine.device
    command = await device.config_read_word(4)
    # hard_block.py sees to it that nothing is sent meanwhile.
    await device.config_write_word(4, command & ~4)
    waits = cocotb.start_soon(both_ways(machine))
    await Timer(40, "us")
    assert not waits.done()
    await device.config_write_word(4, command)
    await waits
    power = device.get_capability_offset(PciCapId.PM) + 4
    way = machine.end.way
    await machine.bar2.write(0x1000, b"here")
    # From a host that is close by, too: what it sends is there long before the device has been told.
    for machine.end.way in (way, 0, 0):
        await device.config_write_word(power, 3)
        try:
            await machine.bar2.read(0x1000, 4)
            assert False, "it answers in its sleep"
        except Exception as refused:  # The root complex has no kind of its own for it.
            assert str(refused) == "Unsuccessful completion", refused
        await device.config_write_word(power, 0)
        assert await machine.bar2.read(0x1000, 4) == b"here"
    machine.end.way = way
    await both_ways(machine)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def follows_what_the_block_was_told(dut):
    machine = await start(dut, False, 1)
    await bars_move_and_go_off(machine)
    await what_the_block_still_has_is_written(machine)
    await what_was_written_behind_answers_is_written(machine)
    await reads_without_an_answer_are_pending(machine)
    await interrupts_go_where_they_should(machine)
    await it_is_silenced_while_it_speaks(machine)
    await it_sleeps_and_sends_nothing_without_leave(machine)


async def as_after_power_on(machine, reset):
    """`reset`, and the host gives the function its places again: the device's registers are as after power-on."""
    device = machine.device
    bars = [await device.config_read_dword(0x10 + 4 * i) for i in range(6)]
    command = await device.config_read_word(4)
    await reset()
    for i, bar in enumerate(bars):
        await device.config_write_dword(0x10 + 4 * i, bar)
    await device.config_write_word(4, command)
    assert await machine.bar0.read_dword(C["BAR0_CONTROL"]) == 0
    assert await machine.bar0.read_dword(C["BAR0_RING_AT"] + C["BAR0_RING_ENTRIES_LOG2"]) == 0
    machine.produced = 0


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_function_reset_reaches_it(dut):
    machine = await start(dut, False, 1)

    async def reset():
        control = await machine.device.capability_read_word(PciCapId.EXP, 8)
        # The block has this still when the reset is over, and gives it while memory is off.
        machine.end.keeps = 3
        await machine.bar0.write_dword(C["BAR0_RING_AT"] + C["BAR0_RING_ENTRIES_LOG2"], 5)
        await machine.device.capability_write_word(PciCapId.EXP, 8, control | 1 << 15)
        await Timer(20, "us")

    for _ in range(2):
        await as_after_power_on(machine, reset)
    await machine.boot()
    await both_ways(machine)


@cocotb.test(timeout_time=6, timeout_unit="ms")
async def the_link_is_lost_under_traffic_and_comes_again(dut):
    machine, unfinished = await start(dut, False, 1), 0
    for _ in range(3):
        expected = order_both_ways(machine)
        await machine.ring()
        await Timer(random.randrange(3000, 12000), "ns")
        await as_after_power_on(machine, machine.end.drop)
        unfinished += any(bytes(machine.host[back:back + len(data)]) != data for back, data in expected)
        for back, data in expected:
            machine.host[back:back + len(data)] = b"\xee" * len(data)
        await machine.configure(256, 512, 64, False)
        await machine.boot()
        # Nothing of before comes behind it.
        await Timer(10, "us")
        for back, data in expected:
            assert bytes(machine.host[back:back + len(data)]) == b"\xee" * len(data), f"{back:x}"
        await window(machine)
        await both_ways(machine)
    assert unfinished
