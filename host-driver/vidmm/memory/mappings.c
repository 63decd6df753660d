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
    return (size_t)ferry_vm_virtual_all(allocation).most;
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

// The first of those that are not its whole.
static struct ferry_vm_range *first_more(const struct ferry_vm_allocation *allocation)
{
    struct ferry_vm_range *first = allocation->mappings;
    return first && first->each_instance ? first->of_owner : first;
}

static void begin_waiting(struct ferry_vm_range *first, struct ferry_vm_range *range)
{
    struct ferry_vm_range *next = first->more->all.waiting;
    range->more->waits_before = NULL;
    range->more->waits = next;
    if (next)
        next->more->waits_before = range;
    first->more->all.waiting = range;
}

static void end_waiting(struct ferry_vm_range *first, struct ferry_vm_range *range)
{
    struct ferry_vm_range_more *more = range->more;
    *(more->waits_before ? &more->waits_before->more->waits : &first->more->all.waiting) = more->waits;
    if (more->waits)
        more->waits->more->waits_before = more->waits_before;
    more->waits = more->waits_before = NULL;
}

// Where zeros begin and end does not change as long as something is mapped there.
static size_t most_of(const struct ferry_vm_allocation *allocation, const struct ferry_vm_range *range)
{
    return ferry_vm_virtual_range_most(&ferry_vm_virtual_of(allocation)->addresses, range->first, range->pages);
}

// Who maps or updates asks each time, so it is not added up anew.
struct ferry_vm_owned ferry_vm_virtual_all(const struct ferry_vm_allocation *allocation)
{
    const struct ferry_vm_range *own = ferry_vm_virtual_own(allocation), *first = first_more(allocation);
    struct ferry_vm_owned all = first ? first->more->all : (struct ferry_vm_owned){0};
    if (own) {
        all.count++;
        all.most += most_of(allocation, own);
        all.tables_most += ferry_vm_virtual_tables_most(own->pages);
    }
    return all;
}

void ferry_vm_virtual_link(struct ferry_vm_allocation *allocation, struct ferry_vm_range *range)
{
    struct ferry_vm_range *own =
        allocation->mappings && allocation->mappings->each_instance ? allocation->mappings : NULL;
    struct ferry_vm_range *next = first_more(allocation);
    ferry_vm_virtual_of(allocation)->mapped++;
    ferry_vm_virtual_of(allocation)->changes++;
    range->of_owner_before = own;
    range->of_owner = next;
    if (next)
        next->of_owner_before = range;
    *(own ? &own->of_owner : &allocation->mappings) = range;
    if (range->each_instance)
        return;
    range->more->all = next ? next->more->all : (struct ferry_vm_owned){0};
    range->more->all.count++;
    range->more->all.most += most_of(allocation, range);
    range->more->all.tables_most += ferry_vm_virtual_tables_most(range->pages);
    if (range->more->after != 0)
        begin_waiting(range, range);
}

// Those that are not its whole are one fewer.
static void count_out(struct ferry_vm_allocation *allocation, struct ferry_vm_range *range)
{
    struct ferry_vm_range *first = first_more(allocation);
    struct ferry_vm_owned *all = &first->more->all;
    if (range->more->after != 0)
        end_waiting(first, range);
    all->count--;
    all->most -= most_of(allocation, range);
    all->tables_most -= ferry_vm_virtual_tables_most(range->pages);
    if (range == first && range->of_owner)
        range->of_owner->more->all = *all;
}

void ferry_vm_virtual_unlink(struct ferry_vm_allocation *allocation, struct ferry_vm_range *range)
{
    ferry_vm_virtual_of(allocation)->changes++;
    if (!range->each_instance)
        count_out(allocation, range);
    if (range->of_owner)
        range->of_owner->of_owner_before = range->of_owner_before;
    *(range->of_owner_before ? &range->of_owner_before->of_owner : &allocation->mappings) = range->of_owner;
}

// ---- Those that wait ----

void ferry_vm_virtual_waits_no_more(struct ferry_vm_allocation *allocation, struct ferry_vm_range *range)
{
    if (ferry_vm_range_more(range)->after == 0)
        return;
    end_waiting(first_more(allocation), range);
    range->more->after = 0;
}

static struct ferry_vm_range *first_waiting(const struct ferry_vm_allocation *allocation)
{
    const struct ferry_vm_range *first = first_more(allocation);
    return first ? first->more->all.waiting : NULL;
}

// The job that it stands behind is over.
static bool is_reached(const struct ferry_vm_memory *memory, const struct ferry_vm_range *range)
{
    return ferry_vm_reached(memory->sched, range->more->after_node, range->more->after);
}

size_t ferry_vm_virtual_late_most(const struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation)
{
    size_t most = 0;
    struct ferry_vm_range *next;
    for (struct ferry_vm_range *range = first_waiting(allocation); range; range = next) {
        next = range->more->waits;
        // It stands behind a job, or has to be waited for; else it is looked at for the last time.
        if (!is_reached(memory, range) || !ferry_vm_operation_over(memory->sched, range->shown))
            most++;
        else
            ferry_vm_virtual_waits_no_more(allocation, range);
    }
    return most;
}

size_t ferry_vm_virtual_late(const struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation,
                             uint32_t node, uint64_t *numbers)
{
    size_t count = 0;
    const struct ferry_vm_range *last = NULL;
    for (const struct ferry_vm_range *range = first_waiting(allocation); range; range = range->more->waits) {
        bool behind = range->more->after_node == node || is_reached(memory, range);
        if (!behind || ferry_vm_operation_over(memory->sched, range->shown))
            continue;
        // Those of one update keep their order.
        bool more =
            !last || last->more->after != range->more->after || last->more->after_node != range->more->after_node;
        if (more || range->shown > numbers[count - 1])
            numbers[more ? count++ : count - 1] = range->shown;
        last = range;
    }
    return count;
}
