// SPDX-License-Identifier: Apache-2.0
// NOTIFY_ALLOC before an eviction (R185 to R194): the miniport may have to do work on the content, by GPU, while it is
// still where it was; decompress it, for one. For that the pages of the aperture are mapped at addresses of the paging
// process, as many of them at a time as it has (window.c), and taken away again before the next ones.
#include "vidmm/memory/memory.h"

// The order before it, since the unmapping behind it brings one too: the miniport's work writes.
size_t ferry_vm_notice_most(const struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation)
{
    return allocation->notice && memory->window ? 2 : 0;
}

void ferry_vm_notice(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(memory, allocation->segment);
    // R193: only what leaves an aperture. It has one place: what is noticed is not renamed.
    if (!allocation->notice || !memory->window || !segment->aperture)
        return;
    DXGKARG_BUILDPAGINGBUFFER argument = {.Operation = DXGK_OPERATION_NOTIFY_ALLOC};
    const struct ferry_vm_steps steps = {
        .side_count = 1,
        .sides = {{.pages = allocation->backing, .coherent = allocation->coherent}},
        .pages = allocation->use.pages,
    };
    argument.NotifyAllocation.hAllocation = allocation->miniport;
    argument.NotifyAllocation.Flags.Eviction = 1;
    ferry_vm_aperture_order(memory, allocation, true);
    // Built when the allocation is idle: the miniport may look at content to know what there is to do.
    ferry_vm_window_queue(memory, allocation, &argument, &steps, FERRY_VM_WHEN_IDLE);
    allocation->gpu_wrote = 1;
}
