// SPDX-License-Identifier: Apache-2.0
// The segments as the miniport reports them, and in which of them an allocation may be.
#include <stdlib.h>
#include <string.h>

#include "vidmm/memory/memory.h"

static int query(struct ferry_vm_memory *memory, DXGK_QUERYSEGMENTOUT4 *out)
{
    DXGKARG_QUERYADAPTERINFO argument = {
        .Type = DXGKQAITYPE_QUERYSEGMENT4, .pOutputData = out, .OutputDataSize = sizeof(*out)};
    NTSTATUS status = memory->core->miniport->DxgkDdiQueryAdapterInfo(memory->core->adapter, &argument);
    return NT_SUCCESS(status) ? FERRY_OK : ferry_vm_error_of_status(status);
}

// Combinations that no driver may report (rules of DXGK_SEGMENTFLAGS).
static bool contradictory(DXGK_SEGMENTFLAGS flags)
{
    unsigned kept = flags.PreservedDuringStandby | flags.PreservedDuringHibernate << 1 |
                    flags.PartiallyPreservedDuringHibernate << 2;
    if (kept != 0 && kept != 1 && kept != 3 && kept != 5)
        return true;
    return (flags.CacheCoherent && !flags.Aperture) || (flags.CpuVisible && flags.SupportsCpuHostAperture) ||
           (flags.SupportsCachedCpuHostAperture && !flags.SupportsCpuHostAperture) || flags.Reserved != 0;
}

// Where content would be put into places that are none for it: this manager counts in pages of 4 KiB, takes an
// allocation to be as large as it says (PitchAlignedSize is for pitch-aligned segments), and knows of no page of a
// segment that must not be used.
static bool asks_for_more(const DXGK_SEGMENTDESCRIPTOR4 *descriptor)
{
    return descriptor->Flags.Use64KBPages || descriptor->Flags.PitchAlignment ||
           descriptor->NumInvalidMemoryRanges != 0 || descriptor->NumUEFIFrameBufferRanges != 0;
}

static uint64_t limited(uint64_t bytes, uint64_t limit)
{
    return limit != 0 && limit < bytes ? limit : bytes;
}

// For page tables where the miniport has them: as many as are asked for, or as a part of a memory segment's pages,
// within bounds.
#define POOL_PART  32
#define POOL_LEAST 8u
#define POOL_MOST  65536u
#define ABOVE      3u // tables, of the levels above the lowest

// Those of the paging process besides, where content is moved through its addresses: as many as memory of this size
// asks for (window.c).
static uint64_t window_tables(const struct ferry_vm_memory *memory, uint64_t pages)
{
    return memory->by_address && pages != 0 ? pages / 4 / FERRY_VM_TABLE_ENTRIES + 1 + ABOVE : 0;
}

static uint32_t pool_pages(const struct ferry_vm_memory *memory, const struct ferry_vidmm_options *options,
                           uint64_t pages)
{
    uint64_t part = pages / POOL_PART, wanted = options->table_bytes / PAGE_SIZE;
    if (wanted == 0)
        wanted = part > POOL_MOST ? POOL_MOST : part;
    wanted = wanted < POOL_LEAST ? POOL_LEAST : wanted;
    return (uint32_t)(wanted + window_tables(memory, pages));
}

static bool tables_are_in(const struct ferry_vm_memory *memory, uint32_t id)
{
    return memory->core->caps.MemoryManagementCaps.VirtualAddressingSupported && memory->core->table_segment == id;
}

// They are there for as long as the manager is, and mapped for the device, also in the IOMMU model: whoever could not
// reach them could not forget them either.
static int make_host_tables(struct ferry_vm_memory *memory, const struct ferry_vidmm_options *options)
{
    const struct ferry_page_source *source = memory->core->platform.pages;
    uint64_t largest = 0;
    for (unsigned i = 0; i < memory->segment_count; i++)
        if (!memory->segments[i].aperture && memory->segments[i].pages > largest)
            largest = memory->segments[i].pages;
    uint32_t pages = pool_pages(memory, options, largest);
    int result = source->allocate(source->context, pages, 0, &memory->table_pages);
    if (result != FERRY_OK)
        return result;
    return ferry_vm_table_pool_init(&memory->tables, 0, pages) ? FERRY_OK : FERRY_ERROR_NO_HOST_MEMORY;
}

DXGK_SEGMENTOFFSET ferry_vm_table_place(const struct ferry_vm_memory *memory, uint64_t page)
{
    uint64_t at = memory->table_pages ? memory->table_pages->Pfn[page] : page;
    return (DXGK_SEGMENTOFFSET){.SegmentId = memory->core->table_segment, .SegmentOffset = at * PAGE_SIZE};
}

const uint8_t *ferry_vm_table_bytes(const struct ferry_vm_memory *memory, uint64_t address)
{
    for (uint32_t i = 0; memory->table_pages && i < memory->tables.pages; i++)
        if (memory->table_pages->Pfn[i] == address / PAGE_SIZE)
            return (const uint8_t *)memory->table_pages->MappedSystemVa + (uint64_t)i * PAGE_SIZE;
    return NULL;
}

static int add_segment(struct ferry_vm_memory *memory, const struct ferry_vidmm_options *options, uint32_t id,
                       const DXGK_SEGMENTDESCRIPTOR4 *descriptor)
{
    struct ferry_vm_segment *segment = &memory->segments[memory->segment_count];
    if (contradictory(descriptor->Flags) || asks_for_more(descriptor) || descriptor->Size % PAGE_SIZE != 0)
        return FERRY_ERROR_UNSUPPORTED;
    segment->id = id;
    segment->flags = descriptor->Flags;
    segment->base = (uint64_t)descriptor->BaseAddress.QuadPart;
    segment->aperture = descriptor->Flags.Aperture;
    memory->has_memory |= !segment->aperture && descriptor->Size != 0;
    uint64_t size = descriptor->Size;
    if (segment->aperture)
        size = limited(limited(size, descriptor->CommitLimit), options->aperture_limit_bytes);
    else
        size = limited(size, options->memory_limit_bytes);
    segment->pages = size / PAGE_SIZE;
    if (segment->aperture && tables_are_in(memory, id))
        return FERRY_ERROR_UNSUPPORTED;
    uint32_t kept = tables_are_in(memory, id) ? pool_pages(memory, options, segment->pages) : 0;
    // A limit is one of content: where the device has memory behind it, the tables are there.
    uint64_t all = descriptor->Size / PAGE_SIZE, behind = all - segment->pages;
    if (options->table_bytes && kept != 0 && kept >= all)
        return FERRY_ERROR_NO_VIDEO_MEMORY;
    if (kept != 0 && (options->table_bytes || kept < segment->pages)) {
        segment->pages -= behind < kept ? kept - behind : 0;
        if (!ferry_vm_table_pool_init(&memory->tables, segment->pages, kept))
            return FERRY_ERROR_NO_HOST_MEMORY;
    }
    if (!ferry_vm_space_init(&segment->space, segment->pages))
        return FERRY_ERROR_NO_HOST_MEMORY;
    ferry_vm_victims_init(&segment->victims, memory->lru);
    if (segment->aperture)
        memory->aperture_bytes += segment->pages * PAGE_SIZE;
    else
        memory->memory_bytes += segment->pages * PAGE_SIZE;
    memory->segment_count++;
    return FERRY_OK;
}

int ferry_vm_segments_read(struct ferry_vm_memory *memory, const struct ferry_vidmm_options *options)
{
    // Asked twice: first for the count, then with room for the descriptors.
    DXGK_QUERYSEGMENTOUT4 out = {0};
    int result = query(memory, &out);
    if (result < 0)
        return result;
    if (out.NbSegment == 0 || out.NbSegment > FERRY_VM_MAX_SEGMENTS)
        return FERRY_ERROR_UNSUPPORTED;
    size_t stride = out.SegmentDescriptorStride ? out.SegmentDescriptorStride : sizeof(DXGK_SEGMENTDESCRIPTOR4);
    if (stride < sizeof(DXGK_SEGMENTDESCRIPTOR4))
        return FERRY_ERROR_UNSUPPORTED;
    UINT count = out.NbSegment;
    uint8_t *descriptors = calloc(count, stride);
    if (!descriptors)
        return FERRY_ERROR_NO_HOST_MEMORY;
    out.pSegmentDescriptor = descriptors;
    result = query(memory, &out);
    if (result == FERRY_OK && out.NbSegment != count)
        result = FERRY_ERROR_UNSUPPORTED;
    for (UINT i = 0; i < count && result == FERRY_OK; i++) {
        DXGK_SEGMENTDESCRIPTOR4 descriptor;
        memcpy(&descriptor, descriptors + i * stride, sizeof(descriptor));
        result = add_segment(memory, options, i + 1, &descriptor);
    }
    free(descriptors);
    if (result != FERRY_OK)
        return result;
    if (memory->core->table_segment > memory->segment_count)
        return FERRY_ERROR_UNSUPPORTED;
    if (tables_are_in(memory, 0) && (result = make_host_tables(memory, options)) != FERRY_OK)
        return result;
    memory->by_address = memory->by_address && ferry_vm_window_allowed(memory);
    // Segment 0 as the paging buffer's place means contiguous system memory, the only place this memory puts it.
    if (out.PagingBufferSegmentId != 0)
        return FERRY_ERROR_UNSUPPORTED;
    uint32_t bytes = options->paging_buffer_bytes ? options->paging_buffer_bytes : out.PagingBufferSize;
    return ferry_vm_paging_start(memory->sched, options, bytes, out.PagingBufferPrivateDataSize);
}

void ferry_vm_segments_destroy(struct ferry_vm_memory *memory)
{
    for (unsigned i = 0; i < memory->segment_count; i++)
        ferry_vm_space_destroy(&memory->segments[i].space);
    memory->segment_count = 0;
    ferry_vm_table_pool_destroy(&memory->tables);
    // No backing store of anything, so not counted as one.
    const struct ferry_page_source *source = memory->core->platform.pages;
    if (memory->table_pages)
        source->free(source->context, memory->table_pages);
    source->free(source->context, memory->zero_page);
    memory->table_pages = memory->zero_page = NULL;
}

struct ferry_vm_segment *ferry_vm_segment_by_id(struct ferry_vm_memory *memory, uint32_t id)
{
    return id >= 1 && id <= memory->segment_count ? &memory->segments[id - 1] : NULL;
}

static uint32_t preference(uint32_t preferred, unsigned n, bool *from_end)
{
    uint32_t field = preferred >> (6 * n) & 0x3F;
    *from_end = (field & 0x20) != 0;
    return field & 0x1F;
}

unsigned ferry_vm_segment_order(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation,
                                struct ferry_vm_segment *order[FERRY_VM_MAX_SEGMENTS])
{
    uint32_t left = allocation->segment_set;
    unsigned count = 0;
    for (unsigned n = 0; n < 5; n++) {
        bool from_end;
        uint32_t id = preference(allocation->preferred, n, &from_end);
        if (id != 0 && id <= memory->segment_count && (left & 1u << (id - 1)) != 0) {
            order[count++] = &memory->segments[id - 1];
            left &= ~(1u << (id - 1));
        }
    }
    for (unsigned i = 0; i < memory->segment_count; i++)
        if ((left & 1u << i) != 0)
            order[count++] = &memory->segments[i];
    return count;
}

// R144 to R146: from the start, unless FromEndOfSegment; the hinted bank and the preferred segment override both.
bool ferry_vm_from_end(const struct ferry_vm_allocation *allocation, uint32_t segment)
{
    for (unsigned n = 0; n < 5; n++) {
        bool from_end;
        uint32_t id = preference(allocation->preferred, n, &from_end);
        if (id == segment) {
            if (n == 0 && allocation->bank_direction != 0)
                return allocation->bank_direction == 2;
            return from_end;
        }
    }
    return (allocation->flags & DXGK_ALLOC_FLAG_FROM_END_OF_SEGMENT) != 0;
}
