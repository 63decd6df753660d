// SPDX-License-Identifier: Apache-2.0
// Paging operations in the paging ring's land, pages of video memory on the one side and of the host on the other:
// drawn, built for the miniport, and done by plain copies.
#ifndef FERRY_TESTS_KMD_CUT_PAGING_H
#define FERRY_TESTS_KMD_CUT_PAGING_H

#include "cut_land.h"

#define OPERATIONS 6u // Of a buffer at most.

// Of paging: from the first page of one side to the other's.
struct operation {
    enum { IN, OUT, MOVE, FILL, WAYS } way;
    uint32_t page, other, bytes, pattern;
};

static inline void do_operation(struct land *land, const struct operation *o)
{
    uint8_t *local = land->bytes + o->page * PAGE, *pages = land->bytes + (LOCALS + o->other) * PAGE;

    switch (o->way) {
    case IN: memcpy(local, pages, o->bytes); break;
    case OUT: memcpy(pages, local, o->bytes); break;
    case MOVE: memcpy(local, land->bytes + o->other * PAGE, o->bytes); break;
    default:
        for (uint32_t i = 0; i < o->bytes; i++)
            local[i] = (uint8_t)o->pattern;
        break;
    }
}

static inline DXGK_TRANSFERSIDE local_side(const struct land *land, uint32_t page)
{
    DXGK_TRANSFERSIDE side = {.SegmentId = FERRY_KMD_SEGMENT_LOCAL};

    side.SegmentAddress.QuadPart = (int64_t)(land_first(land, LAND_LOCAL) + page * PAGE);
    return side;
}

static inline void build_operation(struct rig *rig, const struct land *land, MDL *mdl, HANDLE allocation,
                                   DXGKARG_BUILDPAGINGBUFFER *a, const struct operation *o)
{
    DXGK_TRANSFERSIDE pages = {.SegmentId = 0}, local = local_side(land, o->page);

    pages.pMdl = mdl;
    a->MultipassOffset = 0;
    if (o->way == FILL) {
        a->Operation = DXGK_OPERATION_FILL;
        a->Fill = (DXGK_BUILDPAGINGBUFFER_FILL){.FillSize = o->bytes, .FillPattern = o->pattern * 0x01010101u};
        a->Fill.Destination.SegmentId = local.SegmentId;
        a->Fill.Destination.SegmentAddress = local.SegmentAddress;
    } else {
        a->Operation = DXGK_OPERATION_TRANSFER;
        a->Transfer = (DXGK_BUILDPAGINGBUFFER_TRANSFER){.hAllocation = allocation,
                                                        .TransferSize = o->bytes,
                                                        .Source = o->way == IN     ? pages
                                                                  : o->way == MOVE ? local_side(land, o->other)
                                                                                   : local,
                                                        .Destination = o->way == OUT ? pages : local,
                                                        .MdlOffset = o->way == MOVE ? 0 : o->other};
        a->Transfer.Flags.AllocationIsIdle = 1;
    }
    assert_int_equal(rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, a), STATUS_SUCCESS);
}

static inline uint32_t pages_of_operation(const struct operation *o, bool write)
{
    uint32_t pages = (1u << (o->bytes + PAGE - 1) / PAGE) - 1;

    if (write)
        return o->way == OUT ? pages << (LOCALS + o->other) : pages << o->page;
    return o->way == IN     ? pages << (LOCALS + o->other)
           : o->way == OUT  ? pages << o->page
           : o->way == MOVE ? pages << o->other
                            : 0;
}

// It writes over nothing that one before it in its buffer reads: that goes again from its start.
static inline uint32_t draw_operations(struct operation *operations)
{
    uint32_t read = 0, count = 0;

    for (uint32_t tries = 1 + (uint32_t)draw(draw(2) ? 2 : 8); tries && count < OPERATIONS; tries--) {
        struct operation *o = &operations[count];
        uint32_t pages = 1 + (uint32_t)draw(3);

        *o = (struct operation){.way = draw(WAYS), .bytes = pages * PAGE - (draw(3) ? 0 : (uint32_t)draw(PAGE))};
        o->page = (uint32_t)draw(LOCALS - pages + 1);
        o->other = (uint32_t)draw((o->way == MOVE ? LOCALS : HOSTS) - pages + 1);
        o->pattern = (uint32_t)draw(256);
        read |= pages_of_operation(o, false);
        if (pages_of_operation(o, true) & read) {
            read = 0;
            for (uint32_t i = 0; i < count; i++)
                read |= pages_of_operation(&operations[i], false);
            continue;
        }
        count++;
    }
    return count;
}

#endif
