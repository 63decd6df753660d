// SPDX-License-Identifier: Apache-2.0
// The instances of an allocation that is renamed on discard (R237 to R253). An instance is one content in one place:
// block, pages, last uses, what is dirty. An allocation that was never renamed is its own only instance; the first
// rename makes the record below, and from then on the handle finds whichever instance holds the content. The others are
// parked: nobody requires them and what they hold is worth nothing, so they are candidates to leave like any other.
//
// The miniport knows one allocation. It is not called for the others (R251) and finds them in its allocation lists and
// paging operations under the same handle, at other addresses (R253).
#include <assert.h>
#include <stdlib.h>

#include "vidmm/memory/addresses.h"

bool ferry_vm_parked(const struct ferry_vm_allocation *instance)
{
    const struct ferry_vm_renaming *renaming = instance->renaming;
    return renaming && renaming->instances[renaming->current] != instance;
}

bool ferry_vm_worthless(const struct ferry_vm_allocation *instance)
{
    return ferry_vm_parked(instance) && instance->renaming->before != instance;
}

struct ferry_vm_allocation *ferry_vm_instance(struct ferry_vm_allocation *allocation, uint32_t steps)
{
    const struct ferry_vm_renaming *renaming = allocation->renaming;
    return renaming ? renaming->instances[(renaming->current + steps) % renaming->length] : allocation;
}

struct ferry_vm_allocation *ferry_vm_instance_numbered(struct ferry_vm_allocation *allocation, uint32_t number)
{
    for (uint32_t i = 0; i < ferry_vm_instance_count(allocation); i++)
        if (ferry_vm_instance(allocation, i)->subject.instance == number)
            return ferry_vm_instance(allocation, i);
    return NULL;
}

static uint32_t index_of(const struct ferry_vm_allocation *instance)
{
    uint32_t index = 0;
    while (instance->renaming->instances[index] != instance)
        index++;
    return index;
}

static void charge(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *instance, bool added)
{
    uint64_t bytes = ferry_vm_charge(instance), change = added ? bytes : 0 - bytes;
    instance->subject.device->process->renamed[instance->wants_memory ? FERRY_VM_LOCAL : FERRY_VM_NON_LOCAL] += change;
    memory->core->statistics.renamed_bytes += change;
}

// Room for one more in the record; makes the record when this is the first.
static bool reserve(struct ferry_vm_allocation *allocation)
{
    struct ferry_vm_renaming *renaming = allocation->renaming;
    if (renaming && renaming->length < renaming->capacity)
        return true;
    uint32_t capacity = renaming ? renaming->capacity * 2 : 4;
    struct ferry_vm_allocation **instances =
        realloc(renaming ? renaming->instances : NULL, capacity * sizeof(struct ferry_vm_allocation *));
    if (!instances)
        return false;
    if (!renaming) {
        renaming = calloc(1, sizeof(*renaming));
        if (!renaming) {
            free(instances);
            return false;
        }
        renaming->length = 1;
        instances[0] = allocation;
        allocation->renaming = renaming;
    }
    renaming->instances = instances;
    renaming->capacity = capacity;
    return true;
}

// Of what was never renamed after all: it is its own only instance again.
static void end_record(struct ferry_vm_allocation *allocation)
{
    struct ferry_vm_renaming *renaming = allocation->renaming;
    if (renaming->length > 1 || renaming->settled)
        return;
    free(renaming->instances);
    free(renaming);
    allocation->renaming = NULL;
}

int ferry_vm_instance_add(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    struct ferry_vm_allocation *added = calloc(1, sizeof(*added));
    if (!added || !reserve(allocation)) {
        free(added);
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    // R252: what the original was created with. Its content is written by whoever discards, so no pattern is filled in.
    added->subject = allocation->subject;
    added->subject.first_update = 0;
    for (unsigned i = 0; i < FERRY_VM_MAX_NODES; i++)
        added->subject.last_fence[i] = 0;
    added->miniport = allocation->miniport;
    added->renaming = allocation->renaming;
    added->renaming_limit = allocation->renaming_limit;
    added->use.pages = allocation->use.pages;
    added->flags = allocation->flags;
    added->segment_set = allocation->segment_set;
    added->fill_pattern = allocation->fill_pattern;
    added->preferred = allocation->preferred;
    added->alignment_log2 = allocation->alignment_log2;
    added->bank_direction = allocation->bank_direction;
    added->wants_memory = allocation->wants_memory;
    added->notice = allocation->notice;
    added->swizzled = allocation->swizzled;
    added->linear_outside = allocation->linear_outside;
    added->may_alternate = allocation->may_alternate;
    added->eviction_segment = allocation->eviction_segment;
    added->use.serial = ++memory->serial;
    added->subject.instance = (uint32_t)memory->serial;
    added->use.sort = allocation->use.sort;
    ferry_vm_list_init(&added->link);
    ferry_vm_list_init(&added->missing);
    int result = ferry_vm_backing_make(memory, added);
    if (result == FERRY_OK)
        result = ferry_vm_virtual_map_instance(memory, allocation, added);
    if (result != FERRY_OK) {
        ferry_vm_pages_free(memory->core, added->backing);
        free(added);
        end_record(allocation);
        return result;
    }
    struct ferry_vm_renaming *renaming = allocation->renaming;
    uint32_t at = renaming->current + 1;
    for (uint32_t i = renaming->length++; i > at; i--)
        renaming->instances[i] = renaming->instances[i - 1];
    renaming->instances[at] = added;
    charge(memory, added, true);
    return FERRY_OK;
}

static void off_candidates(struct ferry_vm_memory *memory, struct ferry_vm_allocation *instance)
{
    if (instance->block)
        ferry_vm_victim_remove(&ferry_vm_segment_by_id(memory, instance->segment)->victims, &instance->use);
}

void ferry_vm_instance_switch(struct ferry_vm_memory *memory, struct ferry_vm_allocation *to)
{
    struct ferry_vm_renaming *renaming = to->renaming;
    struct ferry_vm_allocation *from = renaming->instances[renaming->current];
    // Off the lists of candidates, which are in the order of what is changed here.
    off_candidates(memory, from);
    off_candidates(memory, to);
    // What belongs to the allocation goes along: who requires it, and how often it is used. What is left behind is as
    // if it had not been used for long, and so the first to leave.
    to->count = from->count;
    to->not_written = from->not_written;
    to->closing = from->closing;
    to->use.last = from->use.last;
    to->use.period = from->use.period;
    to->use.guessed = from->use.guessed;
    to->use.absent = from->use.absent;
    to->use.steady = from->use.steady;
    from->count = 0;
    from->closing = 0;
    from->use.last = from->use.period = 0;
    from->use.guessed = from->use.absent = false;
    ferry_vm_list_remove(&from->link);
    ferry_vm_list_add(&to->subject.device->allocations, &to->link);
    renaming->current = index_of(to);
    ferry_vm_handle_point(&memory->core->handles, to->subject.handle, to);
    ferry_vm_relist(memory, from);
    ferry_vm_relist(memory, to);
}

// Out of the record and gone. Nothing of it is in a segment any more, its pages are somebody else's.
static void forget(struct ferry_vm_memory *memory, struct ferry_vm_allocation *instance)
{
    struct ferry_vm_renaming *renaming = instance->renaming;
    uint32_t at = index_of(instance);
    renaming->length--;
    for (uint32_t i = at; i < renaming->length; i++)
        renaming->instances[i] = renaming->instances[i + 1];
    renaming->current -= at < renaming->current ? 1 : 0;
    if (renaming->before == instance)
        renaming->before = NULL;
    charge(memory, instance, false);
    ferry_vm_owner_gone(memory->sched, &instance->subject.first_update);
    free(instance);
}

int ferry_vm_instance_undo(struct ferry_vm_memory *memory, struct ferry_vm_allocation *instance)
{
    int result = ferry_vm_virtual_unmap_all(memory, instance);
    if (result != FERRY_OK)
        return result;
    ferry_vm_pages_free(memory->core, instance->backing);
    struct ferry_vm_allocation *allocation = instance->renaming->instances[instance->renaming->current];
    forget(memory, instance);
    end_record(allocation);
    return FERRY_OK;
}

size_t ferry_vm_instance_end_most(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *instance)
{
    return ferry_vm_remove_most(memory, instance) + 1 + ferry_vm_virtual_take_away_most(instance);
}

void ferry_vm_instance_take_away(struct ferry_vm_memory *memory, struct ferry_vm_allocation *instance)
{
    if (instance->block)
        ferry_vm_take_out(memory, instance, FERRY_VM_UNWANTED);
    ferry_vm_virtual_take_away(memory, instance);
    ferry_vm_alternate_to_backing(instance);
    ferry_vm_backing_drop(memory, instance);
    forget(memory, instance);
}

int ferry_vm_instance_end(struct ferry_vm_memory *memory, struct ferry_vm_allocation *instance)
{
    int result = ferry_vm_reserve(memory->sched, ferry_vm_instance_end_most(memory, instance));
    if (result == FERRY_OK)
        ferry_vm_instance_take_away(memory, instance);
    return result;
}

int ferry_vm_instances_end(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    const struct ferry_vm_renaming *renaming = allocation->renaming;
    int result = FERRY_OK;
    assert(!renaming || !renaming->before);
    while (renaming && renaming->length > 1 && result == FERRY_OK)
        result = ferry_vm_instance_end(memory, ferry_vm_instance(allocation, 1));
    return result;
}

void ferry_vm_instances_free(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    struct ferry_vm_renaming *renaming = allocation->renaming;
    if (!renaming)
        return;
    while (renaming->length > 1) {
        struct ferry_vm_allocation *instance = ferry_vm_instance(allocation, 1);
        ferry_vm_virtual_drop(instance);
        ferry_vm_leave_place(memory, instance);
        ferry_vm_iommu_keep(memory, instance);
        ferry_vm_pages_free(memory->core, instance->backing);
        ferry_vm_pages_free(memory->core, instance->alternate);
        forget(memory, instance);
    }
    free(renaming->instances);
    free(renaming);
    allocation->renaming = NULL;
}
