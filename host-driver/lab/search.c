// SPDX-License-Identifier: Apache-2.0
#include "lab/search.h"

#include <stdio.h>
#include <stdlib.h>

#define LITTLE_WORK UINT64_C(500000) // objects named or driven out: a second or two
#define A_RUN       UINT64_C(100)    // what a manager that begins and ends costs beside that, in a large memory

void ferry_lab_search_begin(struct ferry_lab_search *search, const struct ferry_lab_bench *bench)
{
    *search = (struct ferry_lab_search){.bench = bench, .ahead = ferry_lab_ahead_begin(bench)};
}

void ferry_lab_search_end(struct ferry_lab_search *search)
{
    ferry_lab_ahead_end(search->ahead);
    search->ahead = NULL;
    free(search->points);
    search->points = NULL;
    search->count = search->capacity = 0;
}

uint64_t ferry_lab_amount(const struct ferry_lab_bench *bench, uint64_t bytes)
{
    uint64_t frames = bench->traces.frames;
    frames -= frames >= FERRY_LAB_WARM_UP ? FERRY_LAB_WARM_UP : 0;
    return bench->traces.count > 1 ? bytes : bytes / (frames ? frames : 1);
}

static struct ferry_lab_point *find(const struct ferry_lab_search *search, uint64_t bytes)
{
    for (size_t i = 0; i < search->count; i++)
        if (search->points[i].bytes == bytes)
            return &search->points[i];
    return NULL;
}

static const struct ferry_lab_point *fail(struct ferry_lab_search *search, const char *why)
{
    snprintf(search->problem, sizeof search->problem, "%s", why);
    return NULL;
}

const struct ferry_lab_point *ferry_lab_note(struct ferry_lab_search *search, uint64_t bytes,
                                             const struct ferry_lab_outcome *outcome)
{
    bool fits = outcome->result == FERRY_LAB_OK || outcome->result == FERRY_LAB_PAGES;
    // Whoever is driven out costs about twice what being named does.
    search->work += outcome->played + 2 * outcome->evictions_after_warm_up + search->bench->traces.made + A_RUN;
    if (!fits && outcome->result != FERRY_LAB_TOO_SMALL)
        return fail(search, outcome->problem[0] ? outcome->problem : "no memory to play it again");
    struct ferry_lab_point *point = find(search, bytes);
    if (!point && search->count == search->capacity) {
        size_t capacity = search->capacity ? 2 * search->capacity : 64;
        point = realloc(search->points, capacity * sizeof *point);
        if (!point)
            return fail(search, "no memory to play it again");
        search->points = point;
        search->capacity = capacity;
        point = NULL;
    }
    point = point ? point : &search->points[search->count++];
    *point = (struct ferry_lab_point){
        .bytes = bytes,
        .fits = fits,
        .keeps = fits || outcome->line != 0,
        .pages = outcome->result != FERRY_LAB_OK || ferry_lab_pages(outcome),
        .whole = outcome->result != FERRY_LAB_PAGES,
        .moved = outcome->result == FERRY_LAB_OK ? ferry_lab_amount(search->bench, outcome->bytes_after_warm_up) : 0,
    };
    return point;
}

void ferry_lab_begins(struct ferry_lab_search *search, uint64_t bytes)
{
    const struct ferry_lab_manner *manner = &search->bench->manner;
    search->runs++;
    if (manner->begins)
        manner->begins(manner->context, search->what, search->runs, bytes);
}

void ferry_lab_search_run(struct ferry_lab_search *search, const struct ferry_lab_wish *wish,
                          struct ferry_lab_outcome *outcome)
{
    ferry_lab_begins(search, wish->bytes);
    if (!ferry_lab_ahead_take(search->ahead, wish, outcome))
        ferry_lab_play_wish(search->bench, wish, outcome);
}

static bool is_known(const struct ferry_lab_search *search, uint64_t bytes, bool whole)
{
    const struct ferry_lab_point *point = find(search, bytes);
    return point && (point->whole || !whole);
}

static struct ferry_lab_wish wish_of(uint64_t bytes, bool whole)
{
    return (struct ferry_lab_wish){.bytes = bytes, .without = FERRY_LAB_ALL_USED, .until_paging = !whole};
}

void ferry_lab_expect(struct ferry_lab_search *search, const uint64_t *sizes, size_t count, bool whole)
{
    struct ferry_lab_wish wishes[FERRY_LAB_MOST_WISHES];
    size_t most = ferry_lab_ahead_most(search->ahead), wished = 0;
    for (size_t i = 0; i < count && wished < most; i++)
        if (sizes[i] && !is_known(search, sizes[i], whole))
            wishes[wished++] = wish_of(sizes[i], whole);
    ferry_lab_ahead_wish(search->ahead, wishes, wished);
}

const struct ferry_lab_point *ferry_lab_try(struct ferry_lab_search *search, uint64_t bytes, bool whole)
{
    const struct ferry_lab_wish wish = wish_of(bytes, whole);
    struct ferry_lab_outcome outcome;
    if (is_known(search, bytes, whole))
        return find(search, bytes);
    ferry_lab_search_run(search, &wish, &outcome);
    const struct ferry_lab_point *point = ferry_lab_note(search, bytes, &outcome);
    ferry_lab_outcome_release(&outcome);
    return point;
}

void ferry_lab_allow(struct ferry_lab_search *search, uint64_t whole_runs)
{
    uint64_t work = whole_runs * (search->bench->traces.named + search->bench->traces.made + A_RUN);
    search->limit = search->work + (work > LITTLE_WORK ? work : LITTLE_WORK);
}

bool ferry_lab_may_go_on(const struct ferry_lab_search *search)
{
    return search->work < search->limit;
}

bool ferry_lab_spread(uint64_t *step, uint64_t count, uint64_t *number)
{
    uint64_t places = 1;
    if (count == 0)
        return false;
    // The last one first: the others are the bits of their turn, from the other end.
    if ((*step)++ == 0) {
        *number = count - 1;
        return true;
    }
    unsigned bits = 0;
    for (; places < count - 1; places *= 2)
        bits++;
    for (; *step - 2 < places; ++*step) {
        uint64_t turned = 0;
        for (unsigned i = 0; i < bits; i++)
            turned |= ((*step - 2) >> i & 1) << (bits - 1 - i);
        *number = turned;
        if (turned < count - 1)
            return true;
    }
    return false;
}

bool ferry_lab_next_size(struct ferry_lab_search *search, uint64_t *step, uint64_t count, uint64_t first, bool whole,
                         uint64_t *bytes)
{
    uint64_t sizes[FERRY_LAB_MOST_WISHES], number, later = *step;
    size_t most = ferry_lab_ahead_most(search->ahead), expected = 0;
    while (expected < most && ferry_lab_spread(&later, count, &number))
        sizes[expected++] = first + number * FERRY_LAB_PAGE_BYTES;
    ferry_lab_expect(search, sizes, expected, whole);
    if (!ferry_lab_spread(step, count, &number))
        return false;
    *bytes = first + number * FERRY_LAB_PAGE_BYTES;
    return true;
}
