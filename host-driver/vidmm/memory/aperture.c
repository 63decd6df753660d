// SPDX-License-Identifier: Apache-2.0
// Aperture segments: no memory of their own, only places through which the GPU sees host pages. What is not mapped
// shows the dummy page, whose content tells when somebody wrote where nothing is (R74 to R76).
#include <stdlib.h>
#include <string.h>

#include "vidmm/memory/memory.h"

#define DUMMY_BYTE 0xD5

static bool dummy_intact(const uint8_t *bytes)
{
    return bytes[0] == DUMMY_BYTE && memcmp(bytes, bytes + 1, PAGE_SIZE - 1) == 0;
}

void ferry_vm_dummy_inspect(struct ferry_vm_memory *memory)
{
    if (!memory->dummy_page || dummy_intact(memory->dummy_page->MappedSystemVa))
        return;
    memory->core->statistics.dummy_page_writes++;
    memset(memory->dummy_page->MappedSystemVa, DUMMY_BYTE, PAGE_SIZE);
}

static void unmap_range(struct ferry_vm_memory *memory, const struct ferry_vm_segment *segment, uint64_t first,
                        uint64_t pages, struct ferry_vm_allocation *allocation)
{
    DXGKARG_BUILDPAGINGBUFFER argument = {.Operation = DXGK_OPERATION_UNMAP_APERTURE_SEGMENT};
    argument.UnmapApertureSegment.hDevice = allocation ? allocation->subject.device->miniport : NULL;
    argument.UnmapApertureSegment.hAllocation = allocation ? allocation->miniport : NULL;
    argument.UnmapApertureSegment.SegmentId = segment->id;
    argument.UnmapApertureSegment.OffsetInPages = first;
    argument.UnmapApertureSegment.NumberOfPages = pages;
    argument.UnmapApertureSegment.DummyPage.QuadPart = (int64_t)(memory->dummy_page->Pfn[0] << PAGE_SHIFT);
    // R78: nothing of the GPU touches the range from before the build on, since the miniport may use registers at once.
    ferry_vm_queue_operation(memory->sched, &argument, allocation ? &allocation->subject : NULL, pages * PAGE_SIZE,
                             FERRY_VM_WHEN_IDLE);
}

static void map_range(struct ferry_vm_memory *memory, const struct ferry_vm_segment *segment, uint64_t first, MDL *mdl,
                      bool coherent, struct ferry_vm_allocation *allocation)
{
    DXGKARG_BUILDPAGINGBUFFER argument = {.Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT};
    argument.MapApertureSegment.hDevice = allocation ? allocation->subject.device->miniport : NULL;
    argument.MapApertureSegment.hAllocation = allocation ? allocation->miniport : NULL;
    argument.MapApertureSegment.SegmentId = segment->id;
    argument.MapApertureSegment.OffsetInPages = first;
    argument.MapApertureSegment.NumberOfPages = mdl->PageCount;
    argument.MapApertureSegment.pMdl = mdl;
    argument.MapApertureSegment.Flags.CacheCoherent = coherent;
    ferry_vm_queue_operation(memory->sched, &argument, allocation ? &allocation->subject : NULL,
                             mdl->PageCount * PAGE_SIZE, 0);
}

int ferry_vm_aperture_start(struct ferry_vm_memory *memory)
{
    const struct ferry_page_source *source = memory->core->platform.pages;
    for (unsigned i = 0; i < memory->segment_count; i++) {
        struct ferry_vm_segment *segment = &memory->segments[i];
        if (!segment->aperture || segment->pages == 0)
            continue;
        if (!memory->dummy_page) {
            int result = source->allocate(source->context, 1, 0, &memory->dummy_page);
            if (result != FERRY_OK) {
                memory->dummy_page = NULL;
                return result;
            }
            memset(memory->dummy_page->MappedSystemVa, DUMMY_BYTE, PAGE_SIZE);
        }
        int result = ferry_vm_reserve(memory->sched, 2);
        if (result != FERRY_OK)
            return result;
        unmap_range(memory, segment, 0, segment->pages, NULL);
        // The highest page of the first aperture is the manager's own, for WRITE_PHYSICAL, which may write anything
        // (R61).
        if (memory->scratch_segment == 0 && segment->pages > 1) {
            bool no_memory;
            memory->scratch_block = ferry_vm_space_take(&segment->space, 1, 1, true, 0, memory, &no_memory);
            if (!memory->scratch_block)
                return FERRY_ERROR_NO_HOST_MEMORY;
            memory->scratch_segment = i + 1;
            memory->aperture_bytes -= PAGE_SIZE;
            result = source->allocate(source->context, 1, 0, &memory->scratch_page);
            if (result != FERRY_OK) {
                memory->scratch_page = NULL;
                return result;
            }
            map_range(memory, segment, memory->scratch_block->first, memory->scratch_page, false, NULL);
        }
    }
    ferry_vm_pump(memory->sched);
    return memory->core->critical.code != FERRY_CRITICAL_NONE ? FERRY_ERROR_CRITICAL : FERRY_OK;
}

void ferry_vm_aperture_stop(struct ferry_vm_memory *memory)
{
    const struct ferry_page_source *source = memory->core->platform.pages;
    source->free(source->context, memory->scratch_page);
    source->free(source->context, memory->dummy_page);
    memory->scratch_page = memory->dummy_page = NULL;
}

void ferry_vm_map(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    // R66 to R68: coherent only where cacheable memory goes into a coherent aperture.
    bool coherent = segment->flags.CacheCoherent && (allocation->flags & DXGK_ALLOC_FLAG_CACHED) != 0;
    allocation->coherent = coherent;
    if (!coherent)
        ferry_vm_cache_handover(memory, allocation);
    map_range(memory, segment, allocation->block->first, allocation->backing, coherent, allocation);
}

void ferry_vm_unmap(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    // Once unmapped, nothing pushes the GPU's writes on any more, and the CPU may read the pages next (R58): of memory
    // that is a program's own, without asking, so no line of before may be left in its caches (R121, R134).
    if (allocation->gpu_wrote && !allocation->coherent)
        ferry_vm_cache_handover(memory, allocation);
    ferry_vm_aperture_order(memory, allocation, true);
    ferry_vm_dummy_inspect(memory);
    unmap_range(memory, segment, allocation->block->first, allocation->block->pages, allocation);
}

void ferry_vm_aperture_order(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation, bool cpu_reads)
{
    if (!allocation->gpu_wrote || allocation->coherent)
        return;
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    // A read through the mapping pushes earlier GPU writes ahead of it (R58). Where the CPU will only write, a write
    // to the scratch page orders as well (R62) and moves no data back.
    if (cpu_reads || memory->scratch_segment == 0)
        ferry_vm_physical(memory, allocation, segment, allocation->block->first, false);
    else
        ferry_vm_physical(memory, allocation, &memory->segments[memory->scratch_segment - 1],
                          memory->scratch_block->first, true);
    allocation->gpu_wrote = 0;
}
