// SPDX-License-Identifier: Apache-2.0
// A link that stands still, now and then or when a plan says so, for some accesses of registers. Until it moves on no
// read is answered; a write is not taken, or waits in the link, whatever is said of it, and comes before anything
// behind it; or it came, and only the answer is lost.
#ifndef FERRY_TESTS_KMD_WEAK_LINK_H
#define FERRY_TESTS_KMD_WEAK_LINK_H

#include "cut_land.h"

#include "device/device_state.h"

#define WEAK_WRITES 64u

static struct {
    struct ferry_link_operations operations;
    const struct ferry_link_operations *own;
    uint32_t one_in, left; // left: accesses of this standstill.
    uint32_t at;           // The next write to this register finds it at one; 0 = that is as any.
    unsigned times;
    // A plan instead of chance: so many accesses from number `first` on find it so, of those while it may be weak.
    bool planned, open;
    enum weak_way { WEAK_LOST, WEAK_LATE, WEAK_UNANSWERED, WEAK_SLOW, WEAK_WAYS } way;
    uint32_t first, many, accesses;
    uint32_t waiting;
    struct {
        uint64_t offset;
        uint32_t value;
    } writes[WEAK_WRITES];
} weak;

static inline void weak_moves_on(struct ferry_link *link)
{
    weak.left = 0;
    for (uint32_t i = 0; i < weak.waiting; i++)
        assert_int_equal(weak.own->write32(link, FERRY_BAR_REGISTERS, weak.writes[i].offset, weak.writes[i].value),
                         FERRY_OK);
    weak.waiting = 0;
}

// From now on: an access of so many finds it at a standstill; 0 = none does.
static inline void let_link_be_weak(uint32_t one_in)
{
    weak.open = weak.planned && one_in;
    weak.one_in = weak.planned ? 0 : one_in;
    weak.left = one_in ? weak.left : 0;
    weak.at = 0;
}

static inline uint32_t weak_one_in(uint32_t one_in)
{
    return weak.planned ? 1 : one_in;
}

// This access is one of the plan's.
static inline bool weak_planned(struct ferry_link *link)
{
    bool now = weak.open && weak.accesses - weak.first < weak.many;

    weak.accesses += weak.open;
    if (!now)
        weak_moves_on(link);
    return now;
}

// What becomes of a write then: it is not taken; it comes before what is behind the standstill, whatever is said of it;
// or it came, and only the answer is lost.
static inline int weak_plan_write(struct ferry_link *link, uint64_t offset, uint32_t value)
{
    weak.times++;
    if (weak.way == WEAK_UNANSWERED)
        weak.own->write32(link, FERRY_BAR_REGISTERS, offset, value);
    if ((weak.way == WEAK_LATE || weak.way == WEAK_SLOW) && weak.waiting < WEAK_WRITES) {
        weak.writes[weak.waiting].offset = offset;
        weak.writes[weak.waiting++].value = value;
    }
    return weak.way == WEAK_SLOW ? FERRY_OK : FERRY_ERROR_TIMEOUT;
}

// The device works on meanwhile.
static inline bool weak_stands(struct ferry_link *link)
{
    if (!weak.left && weak.one_in && draw(weak.one_in) == 0) {
        weak.left = 1 + (uint32_t)draw(draw(2) ? 3 : 15);
        weak.times++;
    }
    if (!weak.left || weak.waiting == WEAK_WRITES) {
        weak_moves_on(link);
        return false;
    }
    if (draw(3) == 0) {
        unsigned reasons;
        weak.own->pump(link, draw(1000), &reasons);
    }
    return true;
}

static inline int weak_read32(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t *value)
{
    if (weak.planned ? !weak_planned(link) : !weak_stands(link))
        return weak.own->read32(link, bar, offset, value);
    weak.times += weak.planned;
    weak.left -= !weak.planned;
    *value = UINT32_MAX;
    return FERRY_ERROR_TIMEOUT;
}

static inline int weak_write32(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t value)
{
    if (weak.planned)
        return weak_planned(link) ? weak_plan_write(link, offset, value) : weak.own->write32(link, bar, offset, value);
    if (weak.at && offset == weak.at) {
        weak.left = 1 + (uint32_t)draw(3);
        weak.at = 0;
        weak.times++;
    }
    if (!weak_stands(link))
        return weak.own->write32(link, bar, offset, value);
    weak.left--;
    uint32_t what = (uint32_t)draw(4);
    if (what == 0)
        return FERRY_ERROR_TIMEOUT;
    weak.writes[weak.waiting].offset = offset;
    weak.writes[weak.waiting++].value = value;
    if (what == 1) {
        uint32_t left = weak.left;

        weak_moves_on(link);
        weak.left = left;
    }
    return what < 3 ? FERRY_ERROR_TIMEOUT : FERRY_OK;
}

static inline int weak_pump(struct ferry_link *link, uint64_t cycles, unsigned *reasons)
{
    if (!weak.left || draw(3) == 0)
        weak_moves_on(link);
    return weak.own->pump(link, cycles, reasons);
}

// Blocks are for the judge, and come through.
static inline int weak_read_block(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, void *data,
                                  size_t bytes)
{
    weak_moves_on(link);
    return weak.own->read_block(link, bar, offset, data, bytes);
}

static inline int weak_write_block(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, const void *data,
                                   size_t bytes)
{
    weak_moves_on(link);
    return weak.own->write_block(link, bar, offset, data, bytes);
}

static inline void make_link_weak(struct rig *rig)
{
    weak.own = rig->link->operations;
    weak.operations = *weak.own;
    weak.operations.read32 = weak_read32;
    weak.operations.write32 = weak_write32;
    weak.operations.pump = weak_pump;
    weak.operations.read_block = weak_read_block;
    weak.operations.write_block = weak_write_block;
    rig->link->operations = &weak.operations;
}

#endif
