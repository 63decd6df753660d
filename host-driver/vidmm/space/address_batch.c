// SPDX-License-Identifier: Apache-2.0
#include "vidmm/space/address_batch.h"

#include <stdlib.h>
#include <string.h>

#include "ferry/error.h"
#include "vidmm/base/least.h"
#include "vidmm/space/address_internal.h"

void ferry_vm_batch_begin(struct ferry_vm_batch *batch, struct ferry_vm_address_space *space)
{
    *batch = (struct ferry_vm_batch){.space = space};
}

void ferry_vm_batch_end(struct ferry_vm_batch *batch)
{
    struct ferry_vm_spares spares = {{batch->spares[0], batch->spares[1]}};

    // Before the commit the made ranges are nobody's yet, behind it the old ones are nobody's any more.
    for (size_t i = 0; !batch->committed && i < batch->made_count; i++)
        free(batch->made[i].range);
    for (size_t i = 0; batch->committed && i < batch->old_count; i++)
        free(batch->old[i]);
    free(batch->made);
    free(batch->old);
    ferry_vm_spares_free(&spares);
    while (batch->put) {
        struct ferry_vm_range *range = batch->put;

        ferry_vm_range_leave(&batch->put, range);
        free(range);
    }
    free(batch->list.parts);
    free(batch->copied.parts);
    ferry_vm_batch_begin(batch, batch->space);
}

// ---- Operation by operation ---------------------------------------------------------------------------------------

static uint64_t end_of(const struct ferry_vm_part *part)
{
    return part->first + part->pages;
}

static bool room(struct ferry_vm_part_list *list, size_t more)
{
    if (list->count + more <= list->capacity)
        return true;
    size_t capacity = 2 * (list->count + more);
    struct ferry_vm_part *parts = realloc(list->parts, capacity * sizeof *parts);
    if (parts) {
        list->parts = parts;
        list->capacity = capacity;
    }
    return parts != NULL;
}

// The first of the parts that ends behind the page.
static size_t find(const struct ferry_vm_part_list *list, uint64_t page)
{
    size_t low = 0, high = list->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (end_of(&list->parts[middle]) <= page)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct ferry_vm_part piece_of(const struct ferry_vm_part *part, uint64_t first, uint64_t end)
{
    struct ferry_vm_part piece = *part;

    piece.first = first;
    piece.pages = end - first;
    piece.offset += part->owner ? first - part->first : 0;
    return piece;
}

static struct ferry_vm_part part_of(const struct ferry_vm_range *range)
{
    return (struct ferry_vm_part){.first = range->first,
                                  .pages = range->pages,
                                  .owner = range->owner,
                                  .offset = ferry_vm_range_more(range)->offset,
                                  .read_only = range->read_only};
}

static void enter(struct ferry_vm_batch *batch, struct ferry_vm_range *range, const struct ferry_vm_part *part)
{
    *range = (struct ferry_vm_range){
        .first = part->first, .pages = part->pages, .owner = part->owner, .read_only = part->read_only};
    range->more->offset = part->offset;
    ferry_vm_range_enter(&batch->put, range);
}

// The part takes the place of whatever there was.
static bool put(struct ferry_vm_batch *batch, const struct ferry_vm_part *part)
{
    struct ferry_vm_range *range = ferry_vm_range_find(batch->put, part->first), *next;
    struct ferry_vm_range *made = ferry_vm_range_new(), *behind = NULL;
    uint64_t end = end_of(part);
    bool cut = range && range->first < part->first && range->first + range->pages > end;

    if (cut)
        behind = ferry_vm_range_new();
    if (!made || (cut && !behind)) {
        free(made);
        free(behind);
        return false;
    }
    for (; range && range->first < end; range = next) {
        const struct ferry_vm_part was = part_of(range), below = piece_of(&was, was.first, part->first),
                                   above = piece_of(&was, end, end_of(&was));
        next = ferry_vm_range_find(batch->put, end_of(&was));
        ferry_vm_range_leave(&batch->put, range);
        if (was.first < part->first)
            enter(batch, range, &below);
        if (end_of(&was) > end)
            enter(batch, cut ? behind : range, &above);
        if (was.first >= part->first && end_of(&was) <= end)
            free(range);
    }
    enter(batch, made, part);
    return true;
}

// All of the addresses are in one reservation: which one; 0 when they are not.
static uint64_t reservation_of(const struct ferry_vm_address_space *space, uint64_t first, uint64_t pages)
{
    uint64_t reservation = 0;

    if (pages == 0 || pages > FERRY_VM_VA_PAGES || first > FERRY_VM_VA_PAGES - pages)
        return 0;
    for (uint64_t at = first; at < first + pages;) {
        const struct ferry_vm_range *range = ferry_vm_address_find(space, at);

        if (!range || range->first > at || (reservation != 0 && ferry_vm_range_more(range)->reservation != reservation))
            return 0;
        reservation = ferry_vm_range_more(range)->reservation;
        if (reservation == 0)
            return 0;
        at = range->first + range->pages;
    }
    return reservation;
}

static int check_target(struct ferry_vm_batch *batch, uint64_t first, uint64_t pages)
{
    uint64_t reservation = reservation_of(batch->space, first, pages);

    if (reservation == 0 || (batch->reservation != 0 && batch->reservation != reservation))
        return FERRY_ERROR_ARGUMENT;
    batch->reservation = reservation;
    return FERRY_OK;
}

int ferry_vm_batch_map(struct ferry_vm_batch *batch, const struct ferry_vm_part *part, uint64_t repeat,
                       uint64_t *table_bytes)
{
    struct ferry_vm_part piece = *part;
    int error = check_target(batch, part->first, part->pages);

    if (error == FERRY_OK && repeat != 0 && part->pages % repeat != 0)
        error = FERRY_ERROR_ARGUMENT;
    if (error == FERRY_OK && ferry_vm_beyond_tables(batch->space, part->pages, table_bytes))
        error = FERRY_ERROR_NO_VIDEO_MEMORY;
    if (repeat != 0)
        piece.pages = repeat;
    for (; error == FERRY_OK && piece.first < end_of(part); piece.first += piece.pages)
        if (!put(batch, &piece))
            error = FERRY_ERROR_NO_HOST_MEMORY;
    return error;
}

int ferry_vm_batch_map_over(struct ferry_vm_batch *batch, const struct ferry_vm_part *part, uint64_t *table_bytes)
{
    const struct ferry_vm_range *around = ferry_vm_address_find(batch->space, part->first);

    batch->reservation = reservation_of(batch->space, part->first, part->pages);
    if (batch->reservation == 0 && (!around || around->first > part->first || around->each_instance ||
                                    around->first + around->pages < end_of(part)))
        return FERRY_ERROR_BUSY;
    if (ferry_vm_beyond_tables(batch->space, part->pages, table_bytes))
        return FERRY_ERROR_NO_VIDEO_MEMORY;
    return put(batch, part) ? FERRY_OK : FERRY_ERROR_NO_HOST_MEMORY;
}

int ferry_vm_batch_unmap(struct ferry_vm_batch *batch, uint64_t first, uint64_t pages)
{
    int error = check_target(batch, first, pages);

    if (error == FERRY_OK && !put(batch, &(struct ferry_vm_part){.first = first, .pages = pages}))
        error = FERRY_ERROR_NO_HOST_MEMORY;
    return error;
}

// What the operations so far make of the addresses from `at` on, as far as that is one thing.
static struct ferry_vm_part look(const struct ferry_vm_batch *batch, uint64_t at, uint64_t end)
{
    const struct ferry_vm_range *range = ferry_vm_range_find(batch->put, at);

    if (range && range->first > at) {
        end = ferry_vm_least(range->first, end);
        range = NULL;
    }
    const struct ferry_vm_part whole = part_of(range ? range : ferry_vm_address_find(batch->space, at));
    return piece_of(&whole, at, ferry_vm_least(end_of(&whole), end));
}

int ferry_vm_batch_copy(struct ferry_vm_batch *batch, uint64_t first, uint64_t pages, uint64_t source)
{
    int error = check_target(batch, first, pages);

    if (error == FERRY_OK && reservation_of(batch->space, source, pages) == 0)
        error = FERRY_ERROR_ARGUMENT;
    // All of it is read before any of it is written.
    batch->copied.count = 0;
    for (uint64_t at = source; error == FERRY_OK && at < source + pages;) {
        if (!room(&batch->copied, 1))
            return FERRY_ERROR_NO_HOST_MEMORY;
        batch->copied.parts[batch->copied.count] = look(batch, at, source + pages);
        at = end_of(&batch->copied.parts[batch->copied.count++]);
    }
    for (size_t i = 0; error == FERRY_OK && i < batch->copied.count; i++) {
        struct ferry_vm_part *part = &batch->copied.parts[i];

        part->first = part->first - source + first;
        if (!put(batch, part))
            error = FERRY_ERROR_NO_HOST_MEMORY;
    }
    return error;
}

// ---- Carrying out -------------------------------------------------------------------------------------------------

// The space has it already, as a piece of this range.
static bool is_so(struct ferry_vm_batch *batch, const struct ferry_vm_part *part, const struct ferry_vm_range *range)
{
    if (range->owner != part->owner)
        return false;
    if (part->owner && (range->read_only != part->read_only ||
                        ferry_vm_range_more(range)->offset + (part->first - range->first) != part->offset))
        return false;
    const struct ferry_vm_range_more *more = ferry_vm_range_more(range);
    if (more->after > batch->behind[more->after_node])
        batch->behind[more->after_node] = more->after;
    return true;
}

// Some of these addresses, all in one reservation, is only reserved.
static bool some_reserved(const struct ferry_vm_batch *batch, uint64_t first, uint64_t end)
{
    const struct ferry_vm_range *range;

    for (uint64_t at = first; at < end; at = range->first + range->pages)
        if (!(range = ferry_vm_address_find(batch->space, at))->owner)
            return true;
    return false;
}

// What of the parts is not so already. What is mapped alike stays as it is: it is there all the time, for jobs of every
// queue. What is only reserved in pieces becomes one again, as long as a part meets several of them.
static bool find_difference(struct ferry_vm_batch *batch)
{
    struct ferry_vm_part_list *list = &batch->list;
    const struct ferry_vm_range *next;

    list->count = 0;
    for (uint64_t from = 0; (next = ferry_vm_range_find(batch->put, from)); from = next->first + next->pages) {
        const struct ferry_vm_part part = part_of(next);
        bool goes_on = false;

        for (uint64_t at = part.first, to; at < end_of(&part); at = to) {
            const struct ferry_vm_range *range = ferry_vm_address_find(batch->space, at);
            uint64_t there = range->first + range->pages;

            to = part.owner ? ferry_vm_least(there, end_of(&part)) : end_of(&part);
            struct ferry_vm_part piece = piece_of(&part, at, to);
            bool differs = to > there || !is_so(batch, &piece, range);
            batch->unmaps_again = batch->unmaps_again || (!part.owner && some_reserved(batch, at, to));
            if (!room(list, 1))
                return false;
            if (differs && goes_on)
                list->parts[list->count - 1].pages += piece.pages;
            else if (differs)
                list->parts[list->count++] = piece;
            goes_on = differs;
        }
    }
    return true;
}

// In the order of their addresses. The one before a part, which meets the part before, stands there already.
static bool add_old(struct ferry_vm_batch *batch, struct ferry_vm_range *range)
{
    if (batch->old_count > 0 && range->first <= batch->old[batch->old_count - 1]->first)
        return true;
    if (batch->old_count == batch->old_capacity) {
        size_t capacity = 2 * batch->old_capacity + 16;
        struct ferry_vm_range **old = realloc(batch->old, capacity * sizeof(struct ferry_vm_range *));

        if (!old)
            return false;
        batch->old = old;
        batch->old_capacity = capacity;
    }
    batch->old[batch->old_count++] = range;
    return true;
}

// The ranges that the parts meet; and beside what is only reserved afterwards, what is only reserved, with which it
// becomes one again.
static bool find_old(struct ferry_vm_batch *batch)
{
    for (size_t i = 0; i < batch->list.count; i++) {
        const struct ferry_vm_part *part = &batch->list.parts[i];
        uint64_t at = part->owner || part->first == 0 ? part->first : part->first - 1;
        struct ferry_vm_range *range;

        for (; (range = ferry_vm_address_find(batch->space, at)) && range->first < end_of(part) + !part->owner;
             at = range->first + range->pages) {
            bool meets = range->first < end_of(part) && range->first + range->pages > part->first;

            if ((meets || (!range->owner && range->more->reservation == batch->reservation)) && !add_old(batch, range))
                return false;
        }
    }
    return true;
}

static bool make(struct ferry_vm_batch *batch, const struct ferry_vm_part *part, const struct ferry_vm_range *kept)
{
    struct ferry_vm_made *last = batch->made_count > 0 ? &batch->made[batch->made_count - 1] : NULL;

    if (!part->owner && last && !last->range->owner && last->range->first + last->range->pages == part->first) {
        last->range->pages += part->pages;
        return true;
    }
    struct ferry_vm_range *range = ferry_vm_range_new();
    if (!range)
        return false;
    *range = (struct ferry_vm_range){.first = part->first,
                                     .pages = part->pages,
                                     .owner = part->owner,
                                     .read_only = part->read_only,
                                     .shown_first = kept ? kept->shown_first : 0,
                                     .shown = kept ? kept->shown : 0};
    range->more[0] = (struct ferry_vm_range_more){.offset = part->offset,
                                                  .reservation = batch->reservation,
                                                  .after_node = kept ? kept->more->after_node : 0,
                                                  .after = kept ? kept->more->after : 0};
    batch->made[batch->made_count++] = (struct ferry_vm_made){range, kept != NULL};
    return true;
}

// Every part lies in old ranges, which it covers or cuts.
static bool make_all(struct ferry_vm_batch *batch)
{
    size_t next = 0;

    batch->made = malloc((batch->old_count + 2 * batch->list.count) * sizeof *batch->made);
    if (!batch->made)
        return false;
    for (size_t i = 0; i < batch->old_count; i++) {
        const struct ferry_vm_range *old = batch->old[i];
        struct ferry_vm_part whole = part_of(old);
        uint64_t end = old->first + old->pages;

        for (uint64_t at = old->first; at < end;) {
            // One that began in the range before reaches in here.
            const struct ferry_vm_part *before = next > 0 ? &batch->list.parts[next - 1] : NULL;
            const struct ferry_vm_part *part = next < batch->list.count ? &batch->list.parts[next] : NULL;

            if (before && end_of(before) > at) {
                at = end_of(before);
            } else if (part && part->first == at) {
                if (!make(batch, part, NULL))
                    return false;
                next++;
            } else {
                uint64_t to = part && part->first < end ? part->first : end;
                struct ferry_vm_part left = piece_of(&whole, at, to);

                if (!make(batch, &left, old))
                    return false;
                at = to;
            }
        }
    }
    return true;
}

int ferry_vm_batch_prepare(struct ferry_vm_batch *batch, uint64_t *table_bytes)
{
    struct ferry_vm_missing missing = {0};
    struct ferry_vm_spares spares;
    uint64_t pages = 0;

    *table_bytes = 0;
    if (!find_difference(batch))
        return FERRY_ERROR_NO_HOST_MEMORY;
    size_t count = batch->list.count;
    for (size_t i = 0; i < count; i++)
        pages += batch->list.parts[i].owner ? batch->list.parts[i].pages : 0;
    if (ferry_vm_beyond_tables(batch->space, pages, table_bytes))
        return FERRY_ERROR_NO_VIDEO_MEMORY;
    for (size_t i = 0; i < count; i++)
        if (batch->list.parts[i].owner)
            ferry_vm_missing_count(batch->space, batch->list.parts[i].first, batch->list.parts[i].pages, &missing);
    *table_bytes = ferry_vm_missing_bytes(batch->space, &missing);
    if (*table_bytes > 0)
        return FERRY_ERROR_NO_VIDEO_MEMORY;
    if (count == 0)
        return FERRY_OK;
    if (!find_old(batch) || !make_all(batch) || !ferry_vm_spares_make(&missing, &spares))
        return FERRY_ERROR_NO_HOST_MEMORY;
    batch->new_tables = missing.upper + missing.lowest;
    memcpy(batch->spares, spares.lists, sizeof batch->spares);
    return FERRY_OK;
}

bool ferry_vm_batch_removed(const struct ferry_vm_batch *batch, const struct ferry_vm_range *range,
                            struct ferry_vm_removed *removed)
{
    const struct ferry_vm_part_list *list = &batch->list;
    uint64_t end = range->first + range->pages, to;
    size_t at = removed->next > 0 ? removed->next : find(list, range->first);

    if (at >= list->count || list->parts[at].first >= end)
        return false;
    removed->first = list->parts[at].first > range->first ? list->parts[at].first : range->first;
    do
        to = end_of(&list->parts[at++]);
    while (at < list->count && list->parts[at].first == to);
    removed->next = at;
    removed->pages = (to < end ? to : end) - removed->first;
    return true;
}

void ferry_vm_batch_commit(struct ferry_vm_batch *batch)
{
    struct ferry_vm_spares spares = {{batch->spares[0], batch->spares[1]}};

    for (size_t i = 0; i < batch->old_count; i++) {
        struct ferry_vm_removed removed = {0};

        while (batch->old[i]->owner && ferry_vm_batch_removed(batch, batch->old[i], &removed))
            ferry_vm_tables_unuse(batch->space, removed.first, removed.pages);
        ferry_vm_range_leave(&batch->space->ranges, batch->old[i]);
    }
    for (size_t i = 0; i < batch->made_count; i++) {
        struct ferry_vm_range *range = batch->made[i].range;

        ferry_vm_range_enter(&batch->space->ranges, range);
        if (range->owner && !batch->made[i].kept)
            ferry_vm_tables_use(batch->space, range->first, range->pages, &spares);
    }
    batch->committed = true;
    memcpy(batch->spares, spares.lists, sizeof batch->spares);
}

void ferry_vm_address_cut_entry(uint64_t first, uint64_t pages, uint64_t place, uint64_t edge, uint64_t *zone,
                                uint64_t *zone_end, bool *large)
{
    const uint64_t sizes[] = {FERRY_VM_LARGE_PAGES, FERRY_VM_GROUP_PAGES};

    *zone = *zone_end = 0;
    *large = false;
    for (unsigned i = 0; i < 2 && *zone_end == 0; i++) {
        uint64_t start = edge & ~(sizes[i] - 1);

        if ((first ^ place) % sizes[i] != 0 || start < first || start + sizes[i] > first + pages)
            continue;
        // A large page that the edge is beside is not cut; and there are no groups in it.
        if (start == edge)
            return;
        *zone = start;
        *zone_end = start + sizes[i];
        *large = i == 0;
    }
}
