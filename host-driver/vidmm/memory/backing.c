// SPDX-License-Identifier: Apache-2.0
// Backing stores: the host pages an allocation's content is in while it is not in a memory segment, and of
// PermanentSysMem always (R109). They are made when first needed and given back once the content has moved to video
// memory (R110).
#include "vidmm/memory/memory.h"

bool ferry_vm_permanent(const struct ferry_vm_allocation *allocation)
{
    return ferry_flags_permanent(allocation->flags);
}

bool ferry_vm_keeps_backing(const struct ferry_vm_allocation *allocation)
{
    return ferry_vm_permanent(allocation) || (allocation->locked && !ferry_vm_locked_in_place(allocation));
}

static int make_pages(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation, MDL **mdl)
{
    const struct ferry_page_source *source = memory->core->platform.pages;
    int result = source->allocate(source->context, allocation->use.pages, 0, mdl);
    if (result != FERRY_OK)
        return result;
    // The source knows nothing of cacheability or protection; the memory marks the list (R119, R120, R128).
    (*mdl)->Flags |= (allocation->flags & DXGK_ALLOC_FLAG_CACHED) != 0 ? MDL_FLAG_CACHED : 0;
    (*mdl)->Flags |= (allocation->flags & DXGK_ALLOC_FLAG_PROTECTED) != 0 ? MDL_FLAG_KERNEL : 0;
    memory->core->statistics.backing_bytes += ferry_vm_bytes(allocation);
    return FERRY_OK;
}

int ferry_vm_alternate_make(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    return allocation->alternate ? FERRY_OK : make_pages(memory, allocation, &allocation->alternate);
}

void ferry_vm_alternate_end(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    allocation->alternate_lock = 0;
    if (allocation->in_alternate)
        return;
    // Nothing was ever brought there, or it has come back and other pages were taken since.
    ferry_vm_pages_free(memory->core, allocation->alternate);
    allocation->alternate = NULL;
}

void ferry_vm_alternate_to_backing(struct ferry_vm_allocation *allocation)
{
    if (!allocation->in_alternate)
        return;
    allocation->backing = allocation->alternate;
    allocation->alternate = NULL;
    allocation->in_alternate = 0;
}

int ferry_vm_backing_make(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    if (allocation->backing)
        return FERRY_OK;
    MDL *mdl;
    int result = make_pages(memory, allocation, &mdl);
    if (result != FERRY_OK)
        return result;
    if (allocation->fresh && allocation->fill_pattern != 0) {
        uint32_t *words = mdl->MappedSystemVa;
        for (size_t i = 0; i < (size_t)allocation->use.pages * (PAGE_SIZE / 4); i++)
            words[i] = allocation->fill_pattern;
    }
    allocation->backing = mdl;
    return FERRY_OK;
}

void ferry_vm_backing_drop(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    MDL *mdl = allocation->backing;
    ferry_vm_iommu_arrive(memory, allocation);
    allocation->backing = NULL;
    allocation->parting = ferry_vm_release_later(memory->sched, &allocation->subject, mdl);
}

bool ferry_vm_backing_recallable(const struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation)
{
    return !allocation->backing && allocation->untouched &&
           ferry_vm_release_waits(memory->sched, &allocation->subject, allocation->parting);
}

bool ferry_vm_backing_recall(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    if (!ferry_vm_backing_recallable(memory, allocation))
        return false;
    allocation->backing = ferry_vm_release_back(memory->sched, &allocation->subject, allocation->parting);
    allocation->dirty = allocation->dirty_before = 0;
    return true;
}

void ferry_vm_cache_handover(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation)
{
    // Cached says that the CPU's caches may hold lines of it. Host pages of this project are coherent with the device
    // by construction (simulation, or a root complex that snoops), so nothing needs to be written back, and the
    // places where a flush belongs are counted. Without Cached on existing memory nothing is done, as the contract
    // has it (R123).
    if ((allocation->flags & DXGK_ALLOC_FLAG_CACHED) == 0)
        return;
    memory->core->statistics.cache_flushes++;
}
