// SPDX-License-Identifier: Apache-2.0
// Paging does not fall evenly with more memory: what a manager chooses at one size it may not choose at a larger one.
// So nothing here follows from a curve that falls; what is said of sizes was played, or holds for whoever chooses.
#include "lab/advice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/search.h"

#define PAGE_BYTES   FERRY_LAB_PAGE_BYTES
#define LARGEST      (UINT64_C(1) << 40)
#define LARGE_TRACE  UINT64_C(2000000) // objects that its jobs name: a run takes seconds
#define COARSE_SHARE 64u               // of a size, to which it is looked for then; else to a page
#define BEND         8                 // a knee saves so much of all that can be saved beyond the straight line
#define GRID         8u                // gaps between the sizes at which a knee is looked for, at least

static uint64_t whole_pages(uint64_t bytes)
{
    return bytes / PAGE_BYTES * PAGE_BYTES;
}

static uint64_t pages_up(uint64_t bytes)
{
    return whole_pages(bytes + PAGE_BYTES - 1);
}

// The whole page that is nearest to 5 % less, one page less at least.
static uint64_t a_little_less(uint64_t bytes)
{
    uint64_t pages = bytes / PAGE_BYTES, off = (pages + 10) / 20;
    off = off ? off : 1;
    return pages > off ? (pages - off) * PAGE_BYTES : 0;
}

// The largest size that was played below this one and pages; below `least` all do.
static uint64_t pages_below(const struct ferry_lab_search *search, uint64_t bytes, uint64_t least)
{
    uint64_t found = least - PAGE_BYTES;
    for (size_t i = 0; i < search->count; i++) {
        const struct ferry_lab_point *point = &search->points[i];
        if (point->pages && point->bytes < bytes && point->bytes > found)
            found = point->bytes;
    }
    return found;
}

// A size that does, and the next smaller one that is known not to: halves what lies between, as far as it makes sense.
static bool halve(struct ferry_lab_search *search, uint64_t least, uint64_t *enough)
{
    uint64_t step = PAGE_BYTES, low = pages_below(search, *enough, least);
    if (search->bench->traces.named >= LARGE_TRACE)
        step = whole_pages(*enough / COARSE_SHARE);
    while (*enough - low > (step > PAGE_BYTES ? step : PAGE_BYTES)) {
        uint64_t middle = whole_pages(low + (*enough - low) / 2);
        const uint64_t sizes[] = {middle, whole_pages(low + (middle - low) / 2),
                                  whole_pages(middle + (*enough - middle) / 2)};
        ferry_lab_expect(search, sizes, 3, false);
        const struct ferry_lab_point *point = ferry_lab_try(search, middle, false);
        if (!point)
            return false;
        *(point->pages ? &low : enough) = middle;
    }
    return true;
}

// Sizes between `least` and what is enough: one of them may be enough though larger ones are not.
static bool look_below(struct ferry_lab_search *search, struct ferry_lab_advice *advice)
{
    uint64_t step = 0, bytes;
    ferry_lab_allow(search, 3);
    search->what = "smaller ones that do";
    while (ferry_lab_next_size(search, &step, (advice->enough - advice->least) / PAGE_BYTES, advice->least, false,
                               &bytes)) {
        const struct ferry_lab_point *point = NULL;
        if (!ferry_lab_may_go_on(search))
            return true;
        point = ferry_lab_try(search, bytes, false);
        if (!point)
            return false;
        if (point->pages)
            continue;
        // From there anew; what was played is known.
        advice->enough = point->bytes;
        step = 0;
        if (!halve(search, advice->least, &advice->enough))
            return false;
    }
    advice->least_proven = true;
    return true;
}

// Sizes above it: at one of them it may page again.
static bool look_above(struct ferry_lab_search *search, struct ferry_lab_advice *advice)
{
    uint64_t step = 0, bytes;
    // What is renamed lives several times.
    advice->above = 2 * pages_up(search->bench->traces.most_living);
    advice->above = advice->above > LARGEST ? LARGEST : advice->above;
    uint64_t count = advice->above > advice->enough ? (advice->above - advice->enough) / PAGE_BYTES : 0;
    advice->above_proven = true;
    search->what = "larger ones that do not";
    ferry_lab_allow(search, 2);
    while (advice->above_proven &&
           ferry_lab_next_size(search, &step, count, advice->enough + PAGE_BYTES, false, &bytes)) {
        advice->above_proven = ferry_lab_may_go_on(search);
        if (advice->above_proven && !ferry_lab_try(search, bytes, false))
            return false;
    }
    return true;
}

static void note_what_is_above(const struct ferry_lab_search *search, struct ferry_lab_advice *advice)
{
    advice->again = 0;
    advice->steady = UINT64_MAX;
    for (size_t i = 0; i < search->count; i++) {
        const struct ferry_lab_point *point = &search->points[i];
        if (point->pages && point->bytes > advice->enough && point->bytes > advice->again)
            advice->again = point->bytes;
    }
    for (size_t i = 0; i < search->count; i++) {
        const struct ferry_lab_point *point = &search->points[i];
        if (!point->pages && point->bytes > advice->again && point->bytes >= advice->enough &&
            point->bytes < advice->steady)
            advice->steady = point->bytes;
    }
    advice->steady = advice->steady == UINT64_MAX ? 0 : advice->steady;
}

static bool find_enough(struct ferry_lab_search *search, struct ferry_lab_advice *advice)
{
    const struct ferry_lab_traces *traces = &search->bench->traces;
    uint64_t living = pages_up(traces->most_living);
    search->what = "the size that is enough";
    advice->least = pages_up(traces->least_unpaged ? traces->least_unpaged : PAGE_BYTES);
    advice->found = !advice->pages;
    for (uint64_t times = 1; !advice->found && times <= 4 && living * times <= LARGEST; times *= 2) {
        const struct ferry_lab_point *point = ferry_lab_try(search, living * times, false);
        if (!point)
            return false;
        advice->tried = living * times;
        advice->found = !point->pages;
        advice->enough = point->bytes;
    }
    if (!advice->found)
        return true; // None was found.
    if (!halve(search, advice->least, &advice->enough) || !look_below(search, advice) || !look_above(search, advice))
        return false;
    const struct ferry_lab_point *point = ferry_lab_try(search, advice->enough, true);
    if (!point)
        return false;
    advice->left = point->moved;
    advice->within = advice->enough - pages_below(search, advice->enough, advice->least);
    return true;
}

// How far below the straight line from here to enough.
static double below_line(const struct ferry_lab_advice *advice, const struct ferry_lab_point *point)
{
    double first = (double)advice->moved, last = (double)advice->left;
    double share = ((double)point->bytes - (double)advice->bytes) / (double)(advice->enough - advice->bytes);
    return first + (last - first) * share - (double)point->moved;
}

static const struct ferry_lab_point *lowest(const struct ferry_lab_search *search,
                                            const struct ferry_lab_advice *advice)
{
    const struct ferry_lab_point *best = NULL;
    for (size_t i = 0; i < search->count; i++) {
        const struct ferry_lab_point *point = &search->points[i];
        if (!point->whole || !point->fits || point->bytes <= advice->bytes || point->bytes >= advice->enough)
            continue;
        if (!best || below_line(advice, point) > below_line(advice, best) ||
            (below_line(advice, point) == below_line(advice, best) && point->bytes < best->bytes))
            best = point;
    }
    return best;
}

// Halves the gaps on both sides of the lowest point, while there are any.
static bool refine(struct ferry_lab_search *search, const struct ferry_lab_advice *advice)
{
    const struct ferry_lab_point *best;
    while ((best = lowest(search, advice)) && ferry_lab_may_go_on(search)) {
        uint64_t at = best->bytes, below = advice->bytes, above = advice->enough;
        for (size_t i = 0; i < search->count; i++) {
            uint64_t bytes = search->points[i].bytes;
            if (!search->points[i].whole)
                continue;
            below = bytes < at && bytes > below ? bytes : below;
            above = bytes > at && bytes < above ? bytes : above;
        }
        uint64_t left = whole_pages(below + (at - below) / 2), right = whole_pages(at + (above - at) / 2);
        if (left <= below && right <= at)
            return true;
        const uint64_t sizes[] = {left > below ? left : 0, right > at ? right : 0};
        ferry_lab_expect(search, sizes, 2, true);
        if ((left > below && !ferry_lab_try(search, left, true)) || (right > at && !ferry_lab_try(search, right, true)))
            return false;
    }
    return true;
}

// A grid over all sizes between, which becomes finer as far as time allows; half of that is for the surroundings of the
// lowest point.
static bool find_knee(struct ferry_lab_search *search, struct ferry_lab_advice *advice)
{
    uint64_t count = (advice->enough - advice->bytes) / PAGE_BYTES - 1, step = 0, bytes, played = 0;
    bool more = true;
    search->what = "the knee of the curve";
    ferry_lab_allow(search, 2);
    while ((played < GRID || ferry_lab_may_go_on(search)) &&
           (more = ferry_lab_next_size(search, &step, count, advice->bytes + PAGE_BYTES, true, &bytes))) {
        if (!ferry_lab_try(search, bytes, true))
            return false;
        played++;
    }
    advice->knee_proven = !more;
    ferry_lab_allow(search, 2);
    if (more && !refine(search, advice))
        return false;
    advice->knee = advice->enough;
    const struct ferry_lab_point *best = lowest(search, advice);
    // On a curve that is nearly straight no place is better than another.
    if (!best || below_line(advice, best) <= ((double)advice->moved - (double)advice->left) / BEND)
        return true;
    advice->knee = best->bytes;
    advice->knee_saves = best->moved < advice->moved ? advice->moved - best->moved : 0;
    return true;
}

static bool play_alone(struct ferry_lab_search *search, struct ferry_lab_advice *advice,
                       const struct ferry_lab_outcome *together)
{
    const struct ferry_lab_bench *bench = search->bench;
    search->what = "each program alone";
    for (uint32_t i = 0; i < bench->traces.count; i++) {
        struct ferry_lab_bench alone = {.programs = {bench->programs[i]}, .seed = bench->seed, .manner = bench->manner};
        struct ferry_lab_outcome outcome = {.result = FERRY_LAB_NO_MEMORY};
        struct ferry_lab_search other = {.bench = &alone};
        struct ferry_lab_reading reading = {0};
        advice->program_in[i] = together->program_in[i];
        ferry_lab_begins(search, advice->bytes);
        if (ferry_lab_prepare(&alone.traces, &bench->traces.packed[i], 1, false, &reading) == 0)
            ferry_lab_run(&alone, NULL, advice->bytes, &outcome);
        bool good = ferry_lab_note(&other, advice->bytes, &outcome) != NULL;
        advice->program_alone[i] = outcome.program_in[0];
        memcpy(search->problem, other.problem, sizeof search->problem);
        ferry_lab_search_end(&other);
        ferry_lab_outcome_release(&outcome);
        ferry_lab_release(&alone.traces);
        if (!good)
            return false;
    }
    return true;
}

static bool try_less(struct ferry_lab_search *search, struct ferry_lab_advice *advice)
{
    if (advice->less < PAGE_BYTES)
        return true;
    search->what = "a little less";
    const struct ferry_lab_point *less = ferry_lab_try(search, advice->less, true);
    if (!less)
        return false;
    advice->less_fits = less->fits;
    advice->less_keeps = less->keeps;
    advice->less_costs = less->fits && less->moved > advice->moved ? less->moved - advice->moved : 0;
    return true;
}

static bool find_all(struct ferry_lab_search *search, struct ferry_lab_advice *advice,
                     const struct ferry_lab_outcome *outcome)
{
    if (!try_less(search, advice) || !find_enough(search, advice))
        return false;
    if (advice->found && advice->pages && advice->enough > advice->bytes && !find_knee(search, advice))
        return false;
    note_what_is_above(search, advice);
    advice->played = search->count;
    if (advice->pages && !ferry_lab_leave_out(search, advice->bytes, outcome, &advice->left_out))
        return false;
    return search->bench->traces.count == 1 || play_alone(search, advice, outcome);
}

bool ferry_lab_advise(const struct ferry_lab_bench *bench, uint64_t bytes, const struct ferry_lab_outcome *outcome,
                      struct ferry_lab_advice *advice)
{
    struct ferry_lab_search search;
    *advice = (struct ferry_lab_advice){.bytes = bytes,
                                        .moved = ferry_lab_amount(bench, outcome->bytes_after_warm_up),
                                        .paged = ferry_lab_amount(bench, outcome->paged_after_warm_up),
                                        .pages = ferry_lab_pages(outcome),
                                        .enough = bytes,
                                        .knee = bytes,
                                        .less_keeps = true,
                                        .less = a_little_less(bytes)};
    advice->idle = bench->traces.jobs == 0;
    advice->too_short = bench->traces.frames <= FERRY_LAB_WARM_UP;
    if (advice->idle || advice->too_short)
        return true;
    ferry_lab_search_begin(&search, bench);
    bool good = ferry_lab_note(&search, bytes, outcome) && find_all(&search, advice, outcome);
    memcpy(advice->problem, search.problem, sizeof advice->problem);
    ferry_lab_search_end(&search);
    return good;
}
