// SPDX-License-Identifier: Apache-2.0
// A link that takes doorbells of ring 2, or a register's next write, late or not at all.
#ifndef LATE_LINK_H
#define LATE_LINK_H

#include "rig.h"

#include "device/device_state.h"

#define DOORBELL (FERRY_BAR0_RING_AT + 2 * FERRY_BAR0_RING_STRIDE + FERRY_BAR0_RING_PRODUCER)

// What becomes of the next doorbells of ring 2, and of how many.
enum fate { TAKEN, LOST, LATE, SWALLOWED };
static unsigned doorbells;
static uint32_t newest_doorbell;
static unsigned taken_first; // So many of them are taken before that.
static uint64_t refused;     // A register of which the next write is not taken; 0 = none, as nobody writes that one.
static uint32_t late_cycles; // Of those that come late: so long before the one who rings hears that they did not.
static bool refused_late;    // It comes after all, as time passes, before whatever comes behind it.
static bool resets_late;     // A write to CONTROL does so too.
static uint32_t late_reset;

static struct ferry_link_operations slow_operations;
static const struct ferry_link_operations *own_operations;
static enum fate fate;

static void let_it_come(struct ferry_link *link)
{
    if (late_reset)
        own_operations->write32(link, FERRY_BAR_REGISTERS, FERRY_BAR0_CONTROL, late_reset);
    late_reset = 0;
}

static int slow_read32(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t *value)
{
    if (!resets_late)
        let_it_come(link);
    return own_operations->read32(link, bar, offset, value);
}

static int slow_write32(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t value)
{
    enum fate now = fate;

    if (!resets_late)
        let_it_come(link);
    if (bar == FERRY_BAR_REGISTERS && refused && offset == refused) {
        refused = 0;
        late_reset = refused_late ? value : 0;
        return FERRY_ERROR_TIMEOUT;
    }
    if (bar == FERRY_BAR_REGISTERS && resets_late && offset == FERRY_BAR0_CONTROL) {
        late_reset = value;
        return FERRY_OK;
    }
    if (bar != FERRY_BAR_REGISTERS || offset != DOORBELL || taken_first > 0) {
        taken_first -= bar == FERRY_BAR_REGISTERS && offset == DOORBELL;
        return own_operations->write32(link, bar, offset, value);
    }
    newest_doorbell = value;
    doorbells -= doorbells > 0;
    fate = doorbells > 0 ? now : TAKEN;
    if (now == TAKEN || now == LATE)
        own_operations->write32(link, bar, offset, value);
    if (now == LATE && late_cycles) {
        unsigned reasons;
        own_operations->pump(link, late_cycles, &reasons);
    }
    return now == LOST || now == LATE ? FERRY_ERROR_TIMEOUT : FERRY_OK;
}

static int slow_pump(struct ferry_link *link, uint64_t cycles, unsigned *reasons)
{
    let_it_come(link);
    return own_operations->pump(link, cycles, reasons);
}

static void make_link_slow(struct rig *rig)
{
    own_operations = rig->link->operations;
    slow_operations = *own_operations;
    slow_operations.read32 = slow_read32;
    slow_operations.write32 = slow_write32;
    slow_operations.pump = slow_pump;
    rig->link->operations = &slow_operations;
    fate = TAKEN;
}

#endif
