// SPDX-License-Identifier: Apache-2.0
#include "vidmm/internal.h"

void ferry_vm_emit(struct ferry_vidmm *manager, struct ferry_vidmm_event event)
{
    if (manager->observer)
        manager->observer(manager->observer_context, &event);
}

void ferry_vm_emit_place(struct ferry_vidmm *manager, const struct ferry_vm_allocation *allocation, bool placed)
{
    const struct ferry_vm_segment *segment = ferry_vm_segment_by_id(manager, allocation->segment);
    if (!segment->aperture) {
        uint64_t bytes = ferry_vm_bytes(allocation);
        if (placed)
            manager->statistics.resident_bytes += bytes;
        else
            manager->statistics.resident_bytes -= bytes;
    }
    ferry_vm_emit(manager, (struct ferry_vidmm_event){
                               .kind = placed ? FERRY_VIDMM_EVENT_PLACED : FERRY_VIDMM_EVENT_REMOVED,
                               .allocation = allocation->handle,
                               .segment = segment->id,
                               .offset = allocation->block->first * PAGE_SIZE,
                               .bytes = ferry_vm_bytes(allocation),
                           });
    if (!segment->aperture)
        ferry_vm_emit(manager, (struct ferry_vidmm_event){.kind = FERRY_VIDMM_EVENT_RESIDENT_BYTES,
                                                          .segment = segment->id,
                                                          .value = manager->statistics.resident_bytes});
}
