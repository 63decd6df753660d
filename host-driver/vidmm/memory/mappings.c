// SPDX-License-Identifier: Apache-2.0
// What an allocation knows of the addresses that lead to it: a list of its mappings, what all of them come to, and
// which of them may stand behind an update's job. An allocation may have tens of thousands, so nothing here looks at
// more of them than it is asked for.
#include "vidmm/memory/mappings.h"

size_t ferry_vm_virtual_range_most(const struct ferry_vm_address_space *space, uint64_t first, uint64_t pages)
{
    return ferry_vm_address_most_pieces(pages) + (size_t)ferry_vm_address_zero_edges(space, first, pages) + 1;
}

size_t ferry_vm_virtual_most(const struct ferry_vm_allocation *allocation)
{
    return allocation->mappings ? (size_t)allocation->mappings->all.most : 0;
}

// Tables that a range can bring about or leave, of all levels.
static size_t tables_most(uint64_t pages)
{
    return (size_t)(pages / FERRY_VM_TABLE_ENTRIES + pages / FERRY_VM_TABLE_ENTRIES / FERRY_VM_TABLE_ENTRIES + 8);
}

size_t ferry_vm_virtual_tables_most(uint64_t pages)
{
    return 2 * tables_most(pages);
}

// ---- The list ----

const struct ferry_vm_range *ferry_vm_virtual_own(const struct ferry_vm_allocation *instance)
{
    const struct ferry_vm_range *first = instance->mappings;
    return first && first->each_instance ? first : NULL;
}

bool ferry_vm_virtual_renamable(const struct ferry_vm_allocation *instance)
{
    const struct ferry_vm_range *first = instance->mappings;
    return !first || (first->each_instance && !first->of_owner);
}

static void begin_waiting(struct ferry_vm_range *first, struct ferry_vm_range *range)
{
    struct ferry_vm_range *next = first->all.waiting;
    range->waits_before = NULL;
    range->waits = next;
    if (next)
        next->waits_before = range;
    first->all.waiting = range;
}

static void end_waiting(struct ferry_vm_range *first, struct ferry_vm_range *range)
{
    *(range->waits_before ? &range->waits_before->waits : &first->all.waiting) = range->waits;
    if (range->waits)
        range->waits->waits_before = range->waits_before;
    range->waits = range->waits_before = NULL;
}

// Where zeros begin and end does not change as long as something is mapped there.
static size_t most_of(const struct ferry_vm_allocation *allocation, const struct ferry_vm_range *range)
{
    return ferry_vm_virtual_range_most(&ferry_vm_virtual_of(allocation)->addresses, range->first, range->pages);
}

// Who maps or updates asks each time for what all of them come to, so it is not added up anew.
void ferry_vm_virtual_link(struct ferry_vm_allocation *allocation, struct ferry_vm_range *range)
{
    struct ferry_vm_range *first = allocation->mappings;
    bool second = first && first->each_instance;
    ferry_vm_virtual_of(allocation)->mapped++;
    ferry_vm_virtual_of(allocation)->changes++;
    range->of_owner_before = second ? first : NULL;
    range->of_owner = second ? first->of_owner : first;
    if (range->of_owner)
        range->of_owner->of_owner_before = range;
    if (second)
        first->of_owner = range;
    else
        allocation->mappings = range;
    range->all = first && !second ? first->all : (struct ferry_vm_owned){0};
    first = allocation->mappings;
    first->all.count++;
    first->all.most += most_of(allocation, range);
    first->all.tables_most += ferry_vm_virtual_tables_most(range->pages);
    if (range->after != 0)
        begin_waiting(first, range);
}

void ferry_vm_virtual_unlink(struct ferry_vm_allocation *allocation, struct ferry_vm_range *range)
{
    struct ferry_vm_range *first = allocation->mappings;
    ferry_vm_virtual_of(allocation)->changes++;
    if (range->after != 0)
        end_waiting(first, range);
    first->all.count--;
    first->all.most -= most_of(allocation, range);
    first->all.tables_most -= ferry_vm_virtual_tables_most(range->pages);
    if (range->of_owner)
        range->of_owner->of_owner_before = range->of_owner_before;
    if (range->of_owner_before)
        range->of_owner_before->of_owner = range->of_owner;
    else if ((allocation->mappings = range->of_owner))
        allocation->mappings->all = range->all;
}

// ---- Those that wait ----

void ferry_vm_virtual_waits_no_more(struct ferry_vm_allocation *allocation, struct ferry_vm_range *range)
{
    if (range->after != 0)
        end_waiting(allocation->mappings, range);
    range->after = 0;
}

// It stands behind a job, or has to be waited for.
static bool is_late(const struct ferry_vm_memory *memory, const struct ferry_vm_range *range)
{
    return !ferry_vm_reached(memory->sched, range->after_node, range->after) ||
           !ferry_vm_operation_over(memory->sched, range->shown);
}

size_t ferry_vm_virtual_late_most(const struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    size_t most = 0;
    struct ferry_vm_range *next;
    for (struct ferry_vm_range *range = allocation->mappings ? allocation->mappings->all.waiting : NULL; range;
         range = next) {
        next = range->waits;
        // Looked at for the last time.
        if (!is_late(memory, range))
            ferry_vm_virtual_waits_no_more(allocation, range);
        else
            most++;
    }
    return most;
}

size_t ferry_vm_virtual_late(const struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation,
                             uint32_t node, uint64_t *numbers)
{
    size_t count = 0;
    const struct ferry_vm_range *last = NULL;
    for (const struct ferry_vm_range *range = allocation->mappings ? allocation->mappings->all.waiting : NULL; range;
         range = range->waits) {
        bool behind = range->after_node == node || ferry_vm_reached(memory->sched, range->after_node, range->after);
        if (!behind || ferry_vm_operation_over(memory->sched, range->shown))
            continue;
        // Those of one update keep their order.
        bool more = !last || last->after != range->after || last->after_node != range->after_node;
        if (more || range->shown > numbers[count - 1])
            numbers[more ? count++ : count - 1] = range->shown;
        last = range;
    }
    return count;
}
