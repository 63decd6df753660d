// SPDX-License-Identifier: Apache-2.0
// A batch of operations on a program's addresses, among its jobs: what is taken away is so once the jobs before it are
// over, and what is mapped is not there before. Of a mapping that is cut in two, what is left stays valid all the time:
// where it shared a large page or a group with what goes, it has smaller pages before that one is taken away.
#include "vidmm/memory/virtual_entries.h"
#include "vidmm/sched/awaited.h"

// Some of a range goes. Page numbers are the program's addresses.
struct cut {
    struct ferry_vm_memory *memory;
    const struct ferry_vm_update *update;
    const struct ferry_vm_range *range;
    struct ferry_vm_allocation *allocation;
    uint64_t base;     // an address and this are the page in the segment
    uint64_t switched; // large pages up to here have their tables again
    bool page_by_page; // each page has an entry of its own
    struct ferry_vm_span reads;
};

// Addresses that share an entry with what is on the other side of an edge.
struct zone {
    uint64_t first, end; // end 0: there are none
    bool large;
};

static struct zone zone_at(const struct cut *cut, uint64_t edge)
{
    const struct ferry_vm_range *range = cut->range;
    struct zone zone = {0};
    if (cut->page_by_page)
        return zone;
    ferry_vm_address_cut_entry(range->first, range->pages, range->first + cut->base, edge, &zone.first, &zone.end,
                               &zone.large);
    return zone;
}

static void keep(const struct cut *cut, uint64_t first, uint64_t end)
{
    struct ferry_vm_virtual *space = cut->update->space;
    struct ferry_vm_piece piece;
    for (uint64_t at = first; at < end; at += piece.pages) {
        ferry_vm_address_piece(&space->addresses, at, end, at + cut->base, false, &piece);
        DXGK_PTE entry = ferry_vm_virtual_page_pte(cut->memory, cut->allocation, cut->range, &piece, at + cut->base);
        ferry_vm_virtual_write(cut->memory, space, cut->allocation, &piece, entry, cut->reads, FERRY_VM_SHOW);
    }
}

// Smaller pages for whatever is left in the zone. The hole is the first one that reaches into it: those before it are
// not looked at again for each zone.
static void keep_rest(const struct cut *cut, const struct zone *zone, struct ferry_vm_removed hole)
{
    uint64_t at = zone->first;
    do {
        keep(cut, at, hole.first > at ? hole.first : at);
        at = hole.first + hole.pages > at ? hole.first + hole.pages : at;
    } while (ferry_vm_batch_removed(&cut->update->batch, cut->range, &hole) && hole.first < zone->end);
    keep(cut, at, zone->end);
}

static void hide(const struct cut *cut, const struct ferry_vm_piece *piece)
{
    ferry_vm_virtual_clear(cut->memory, cut->update->space, cut->allocation, piece);
}

// What goes of a zone: nothing of it has been in the table that stands in its place again.
static void hide_in_zone(struct cut *cut, const struct zone *zone, uint64_t first, uint64_t end)
{
    const struct ferry_vm_address_space *addresses = &cut->update->space->addresses;
    struct ferry_vm_piece piece = {.first = zone->large ? zone->first : first, .count = 1};
    piece.table = ferry_vm_address_table(addresses, piece.first, zone->large);
    piece.index = (uint32_t)(piece.first >> (zone->large ? 9 : 0)) % FERRY_VM_TABLE_ENTRIES;
    if (!zone->large)
        piece.count = (uint32_t)(end - first);
    piece.pages = zone->large ? FERRY_VM_LARGE_PAGES : piece.count;
    if (!zone->large || zone->first >= cut->switched)
        hide(cut, &piece);
    if (zone->large)
        cut->switched = zone->end;
}

static void hide_removed(struct cut *cut, uint64_t first, uint64_t end)
{
    const struct zone low = zone_at(cut, first), high = zone_at(cut, end);
    struct ferry_vm_piece piece;
    uint64_t at = first, to = high.end != 0 && high.first > first ? high.first : end;
    if (low.end != 0) {
        at = low.end < end ? low.end : end;
        hide_in_zone(cut, &low, first, at);
    } else if (high.end != 0 && high.first <= first) {
        to = first;
    }
    for (; at < to; at += piece.pages) {
        ferry_vm_address_piece(&cut->update->space->addresses, at, to, at + cut->base, cut->page_by_page, &piece);
        hide(cut, &piece);
    }
    if (high.end != 0 && at < end)
        hide_in_zone(cut, &high, at, end);
}

static void take_off(struct ferry_vm_memory *memory, const struct ferry_vm_update *update,
                     const struct ferry_vm_range *range)
{
    struct ferry_vm_allocation *allocation = range->owner;
    struct ferry_vm_virtual *space = update->space;
    uint64_t page = allocation->block->first, first = UINT64_MAX, end = 0, kept = 0;
    const struct ferry_vm_range_more *more = ferry_vm_range_more(range);
    struct cut cut = {.memory = memory,
                      .update = update,
                      .range = range,
                      .allocation = allocation,
                      .base = page + more->offset - range->first,
                      .page_by_page = ferry_vm_virtual_page_by_page(memory, allocation),
                      .reads = ferry_vm_virtual_place(memory, allocation, page)};
    // What is left is there as soon as all of it was to be, and no sooner.
    ferry_vm_virtual_behind(memory, space, more->after_node, more->after);
    for (struct ferry_vm_removed removed = {0}; ferry_vm_batch_removed(&update->batch, range, &removed);) {
        const uint64_t edges[] = {removed.first, removed.first + removed.pages};
        first = removed.first < first ? removed.first : first;
        end = edges[1] > end ? edges[1] : end;
        for (unsigned i = 0; i < 2; i++) {
            struct zone zone = zone_at(&cut, edges[i]);
            if (zone.end <= kept)
                continue;
            keep_rest(&cut, &zone, removed);
            kept = zone.end;
            first = zone.first < first ? zone.first : first;
            end = zone.end > end ? zone.end : end;
        }
    }
    ferry_vm_virtual_behind(memory, space, update->after_node, update->after);
    for (struct ferry_vm_removed removed = {0}; ferry_vm_batch_removed(&update->batch, range, &removed);)
        hide_removed(&cut, removed.first, removed.first + removed.pages);
    ferry_vm_virtual_flush(memory, space, allocation, first, end, cut.reads, true);
    if (update->alone)
        allocation->shown = memory->sched->queued;
    space->after = 0;
}

// ---- All of it ----

// What is left of a large page beside each edge, and the entry that leads to its table.
#define AROUND_A_CUT 10

size_t ferry_vm_virtual_update_most(const struct ferry_vm_update *update)
{
    const struct ferry_vm_batch *batch = &update->batch;
    size_t most = 0, tables = 0, later = 0, all = 2 * (size_t)batch->space->pool->pages;
    for (size_t i = 0; i < batch->old_count; i++) {
        struct ferry_vm_removed removed = {0};
        while (batch->old[i]->owner && ferry_vm_batch_removed(batch, batch->old[i], &removed)) {
            most += ferry_vm_virtual_range_most(batch->space, removed.first, removed.pages) + AROUND_A_CUT;
            tables += ferry_vm_virtual_tables_most(removed.pages);
        }
    }
    most += 2 * (size_t)batch->new_tables + (tables < all ? tables : all);
    for (size_t i = 0; i < batch->made_count; i++) {
        const struct ferry_vm_range *range = batch->made[i].range;
        if (!range->owner)
            continue;
        // To show it, and once more: an empty line, which never gets shorter, is then long enough for the end of all
        // that leads to one allocation.
        most += 2 * ferry_vm_virtual_range_most(batch->space, range->first, range->pages);
        size_t others = ferry_vm_virtual_take_away_most(range->owner);
        later = others > later ? others : later;
    }
    return most + later + all;
}

size_t ferry_vm_virtual_update_told(const struct ferry_vm_update *update)
{
    return 2 * update->batch.old_count + update->batch.made_count + 1 + update->space->taken.count;
}

// Something may have been queued since this was asked last, for one allocation.
static void tell(const struct ferry_vm_memory *memory, uint64_t *seen, uint64_t *told, size_t *count)
{
    if (memory->sched->queued != *seen)
        told[(*count)++] = memory->sched->queued;
    *seen = memory->sched->queued;
}

size_t ferry_vm_virtual_update(struct ferry_vm_memory *memory, struct ferry_vm_update *update, uint64_t *told)
{
    struct ferry_vm_batch *batch = &update->batch;
    struct ferry_vm_virtual *space = update->space;
    struct ferry_vm_allocation *first = NULL;
    uint64_t seen = memory->sched->queued;
    size_t count = 0;
    space->updates = true;
    for (size_t i = 0; i < batch->old_count; i++) {
        struct ferry_vm_range *range = batch->old[i];
        if (!range->owner)
            continue;
        const struct ferry_vm_allocation *owner = range->owner;
        // What is out already may be mapped yet, until the jobs that name it are over.
        if (owner->block)
            take_off(memory, update, range);
        else if (!ferry_vm_operation_over(memory->sched, owner->shown))
            told[count++] = owner->shown;
        ferry_vm_virtual_unlink(range->owner, range);
        tell(memory, &seen, told, &count);
    }
    size_t takes = count;
    // What is reserved already may be mapped yet, until what another update has queued is over.
    if (batch->unmaps_again)
        count += ferry_vm_awaited_copy(memory->sched, &space->taken, &told[count]);
    for (size_t i = 0; i < takes; i++)
        ferry_vm_awaited_add(&space->taken, told[i]);
    ferry_vm_batch_commit(batch);
    for (size_t i = 0; i < batch->made_count; i++) {
        struct ferry_vm_range *range = batch->made[i].range;
        struct ferry_vm_allocation *allocation = range->owner;
        if (!allocation)
            continue;
        if (!batch->made[i].kept) {
            range->more->after_node = update->after_node;
            range->more->after = update->after;
            first = first ? first : allocation;
        }
        ferry_vm_virtual_link(allocation, range);
    }
    if (first)
        ferry_vm_virtual_begin_tables(memory, space, first);
    tell(memory, &seen, told, &count);
    // Who names the allocation elsewhere does not wait for it where it stands behind a job: only what stands behind the
    // update does. Where it stands behind none it may have to be waited for: another queue may find it mapped alike.
    for (size_t i = 0; i < batch->made_count; i++) {
        struct ferry_vm_range *range = batch->made[i].range;
        struct ferry_vm_allocation *allocation = range->owner;
        if (!allocation || batch->made[i].kept || !allocation->block)
            continue;
        ferry_vm_virtual_show_range(memory, allocation, range, allocation->block->first);
        allocation->shown = range->more->after == 0 ? range->shown : allocation->shown;
        tell(memory, &seen, told, &count);
    }
    ferry_vm_virtual_behind(memory, space, update->after_node, update->after);
    for (size_t i = 0; i < batch->old_count; i++) {
        struct ferry_vm_removed removed = {0};
        while (batch->old[i]->owner && ferry_vm_batch_removed(batch, batch->old[i], &removed))
            ferry_vm_virtual_end_tables(memory, space, batch->old[i]->owner, removed.first, removed.pages);
        tell(memory, &seen, told, &count);
    }
    space->after = 0;
    space->updates = false;
    return count;
}
