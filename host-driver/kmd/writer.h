// SPDX-License-Identifier: Apache-2.0
// Packets as they are written into a paging buffer.
#ifndef FERRY_KMD_WRITER_H
#define FERRY_KMD_WRITER_H

#include "kmd/internal.h"

struct writer {
    uint8_t *at;
    uint32_t room; // Bytes left, a multiple of 8.
    uint32_t written;
};

static inline void put32(struct writer *w, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        w->at[i] = (uint8_t)(value >> (8 * i));
    w->at += 4;
    w->room -= 4;
    w->written += 4;
}

static inline void put64(struct writer *w, uint64_t value)
{
    put32(w, (uint32_t)value);
    put32(w, (uint32_t)(value >> 32));
}

// The bulk of what is built. The compiler makes one store of each half.
static inline void put_pages(struct writer *w, const uint64_t *pfn, uint32_t count)
{
    struct writer at = *w; // not where the stores might reach it
    for (uint32_t i = 0; i < count; i++)
        put64(&at, pfn[i] << PAGE_SHIFT);
    *w = at;
}

static inline void put_header(struct writer *w, uint32_t opcode, uint32_t bytes, bool unordered, uint32_t places)
{
    put32(w, FERRY_PUT(FERRY_PACKET_HEADER_OPCODE, opcode) | FERRY_PUT(FERRY_PACKET_HEADER_WORDS, bytes / 4) |
                 FERRY_PUT(FERRY_PACKET_HEADER_UNORDERED, (uint32_t)unordered));
    put32(w, places);
}

static inline uint32_t places(uint32_t source_kind, uint32_t destination_kind)
{
    return FERRY_PUT(FERRY_PACKET_PLACES_SOURCE_KIND, source_kind) |
           FERRY_PUT(FERRY_PACKET_PLACES_DESTINATION_KIND, destination_kind);
}

static inline uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t pages_of(uint64_t bytes)
{
    return bytes / PAGE_SIZE + (bytes % PAGE_SIZE != 0);
}

// What one pass left over. No pass left the offset behind the end of the operation: asked on from there, it would never
// end.
static inline NTSTATUS progress(DXGKARG_BUILDPAGINGBUFFER *a, uint64_t done_pages, uint64_t all_pages)
{
    if (done_pages > all_pages)
        return STATUS_INVALID_PARAMETER;
    a->MultipassOffset = (UINT)done_pages;
    return done_pages == all_pages ? STATUS_SUCCESS : STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
}

// The longest piece of a linear packet: whole pages below 4 GiB.
#define LINEAR_PAGES ((uint64_t)UINT32_MAX / PAGE_SIZE)

// page_tables.c: the operations that name GPU virtual addresses or page tables.
NTSTATUS kmd_build_update(struct kmd_adapter *adapter, struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a);
NTSTATUS kmd_build_flush(struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a);
NTSTATUS kmd_build_copy_entries(struct kmd_adapter *adapter, struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a);
NTSTATUS kmd_build_virtual_transfer(struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a);
// tiles.c: TRANSFER with Swizzle or Unswizzle, of an allocation; and VIRTUAL_TRANSFER of one that the manager has in
// rows in system memory, to or from there. MultipassOffset counts parts of pages.
NTSTATUS kmd_build_tiles(struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a);
bool kmd_is_linear_outside(const struct kmd_allocation *allocation);
NTSTATUS kmd_build_virtual_tiles(struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a);
// runs.c
NTSTATUS kmd_build_notice(const struct kmd_adapter *adapter, struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a);
NTSTATUS kmd_build_virtual_fill(struct writer *w, DXGKARG_BUILDPAGINGBUFFER *a);

#endif
