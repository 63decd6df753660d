// SPDX-License-Identifier: Apache-2.0
#include "lab/advice.h"

#include <stdio.h>
#include <string.h>

#define PAGE_BYTES   UINT64_C(4096)
#define MOST_TRIED   64u
#define LARGEST      (UINT64_C(1) << 40)
#define LARGE_TRACE  UINT64_C(2000000) // objects that its jobs name: a run takes seconds
#define COARSE_SHARE 64u               // of a size, to which it is looked for then; else to a page
#define BEND         8                 // a knee saves so much of all that can be saved beyond the straight line

struct point {
    uint64_t bytes, moved, evictions;
    bool fits, keeps;
};

// Sizes that were played.
struct search {
    const struct ferry_lab_bench *bench;
    struct ferry_lab_advice *advice;
    struct point tried[MOST_TRIED];
    unsigned count;
};

static uint64_t per_frame(const struct ferry_lab_bench *bench, const struct ferry_lab_outcome *outcome)
{
    uint64_t frames = bench->traces.frames;
    frames -= frames >= FERRY_LAB_WARM_UP ? FERRY_LAB_WARM_UP : 0;
    return outcome->bytes_after_warm_up / (frames ? frames : 1);
}

static uint64_t whole_pages(uint64_t bytes)
{
    return bytes / PAGE_BYTES * PAGE_BYTES;
}

static bool note(struct search *search, uint64_t bytes, const struct ferry_lab_outcome *outcome, struct point *point)
{
    *point = (struct point){.bytes = bytes,
                            .fits = outcome->result == FERRY_LAB_OK,
                            .keeps = outcome->result != FERRY_LAB_TOO_SMALL || outcome->line != 0};
    if (point->fits) {
        point->moved = per_frame(search->bench, outcome);
        point->evictions = outcome->evictions_after_warm_up;
        if (search->count < MOST_TRIED)
            search->tried[search->count++] = *point;
    } else if (outcome->result != FERRY_LAB_TOO_SMALL) {
        snprintf(search->advice->problem, sizeof search->advice->problem, "%s",
                 outcome->problem[0] ? outcome->problem : "no memory to play it again");
        return false;
    }
    return true;
}

// Play one. False when that failed, and not for want of room.
static bool try_size(struct search *search, uint64_t bytes, struct point *point)
{
    struct ferry_lab_outcome outcome;
    ferry_lab_run(search->bench, NULL, bytes, &outcome);
    bool good = note(search, bytes, &outcome, point);
    ferry_lab_outcome_release(&outcome);
    return good;
}

static bool enough(const struct point *point)
{
    return point->fits && point->evictions == 0;
}

// A size that is too small and one that is not, as far as that is known; then halves what lies between.
static bool find_enough(struct search *search, const struct point *here)
{
    struct ferry_lab_advice *advice = search->advice;
    const struct ferry_lab_traces *traces = &search->bench->traces;
    uint64_t living = whole_pages(traces->most_living + PAGE_BYTES - 1), low = 0;
    struct point high = *here, middle;
    for (uint64_t times = 1; !enough(&high); times *= 2) {
        low = high.bytes;
        if (times > 4 || living * times > LARGEST)
            return true; // None was found.
        if (living * times > low && !try_size(search, living * times, &high))
            return false;
    }
    // Where there is no paging at this size: how much less would do?
    if (low == 0 && traces->largest_job > PAGE_BYTES)
        low = whole_pages(traces->largest_job - 1);
    for (;;) {
        uint64_t step = traces->named < LARGE_TRACE ? PAGE_BYTES : whole_pages(high.bytes / COARSE_SHARE);
        if (high.bytes - low <= (step > PAGE_BYTES ? step : PAGE_BYTES))
            break;
        if (!try_size(search, whole_pages(low + (high.bytes - low) / 2), &middle))
            return false;
        if (enough(&middle))
            high = middle;
        else
            low = middle.bytes;
    }
    advice->found = true;
    advice->enough = high.bytes;
    advice->within = high.bytes - low;
    advice->left = high.moved;
    return true;
}

// Of the sizes that were played, the one whose point lies furthest below the straight line from this size to enough.
static bool find_knee(struct search *search)
{
    static const double shares[] = {1 / 16.0, 1 / 8.0, 1 / 4.0, 1 / 2.0, 3 / 4.0};
    struct ferry_lab_advice *advice = search->advice;
    double whole = (double)(advice->enough - advice->bytes), best = 0;
    double first = (double)advice->moved, last = (double)advice->left;
    struct point point;
    // On a curve that is nearly straight no place is better than another.
    best = (first - last) / BEND;
    for (unsigned i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        uint64_t bytes = whole_pages(advice->bytes + (uint64_t)(whole * shares[i]));
        if (bytes > advice->bytes && bytes < advice->enough && !try_size(search, bytes, &point))
            return false;
    }
    advice->knee = advice->enough;
    for (unsigned i = 0; i < search->count; i++) {
        double share = ((double)search->tried[i].bytes - (double)advice->bytes) / whole;
        double below = first + (last - first) * share - (double)search->tried[i].moved;
        if (share > 0 && share < 1 && below > best) {
            best = below;
            advice->knee = search->tried[i].bytes;
        }
    }
    for (unsigned i = 0; i < search->count; i++)
        if (search->tried[i].bytes == advice->knee && search->tried[i].moved < advice->moved)
            advice->knee_saves = advice->moved - search->tried[i].moved;
    return true;
}

static bool play_alone(struct search *search, const struct ferry_lab_outcome *together)
{
    const struct ferry_lab_bench *bench = search->bench;
    for (uint32_t i = 0; i < bench->traces.count; i++) {
        struct ferry_lab_bench alone = {.programs = {bench->programs[i]},
                                        .seed = bench->seed,
                                        .progress = bench->progress,
                                        .context = bench->context};
        struct ferry_lab_outcome outcome = {.result = FERRY_LAB_NO_MEMORY};
        struct point point;
        search->advice->program_in[i] = together->program_in[i];
        if (ferry_lab_prepare(&alone.traces, &bench->traces.traces[i], 1) == 0)
            ferry_lab_run(&alone, NULL, search->advice->bytes, &outcome);
        unsigned count = search->count;
        bool good = note(search, search->advice->bytes, &outcome, &point);
        search->count = count; // Of another trace.
        search->advice->program_alone[i] = outcome.program_in[0];
        ferry_lab_outcome_release(&outcome);
        ferry_lab_release(&alone.traces);
        if (!good)
            return false;
    }
    return true;
}

bool ferry_lab_advise(const struct ferry_lab_bench *bench, uint64_t bytes, const struct ferry_lab_outcome *outcome,
                      struct ferry_lab_advice *advice)
{
    struct search search = {.bench = bench, .advice = advice};
    struct point here, less;
    *advice = (struct ferry_lab_advice){.bytes = bytes,
                                        .moved = per_frame(bench, outcome),
                                        .enough = bytes,
                                        .knee = bytes,
                                        .less_keeps = true,
                                        .less = whole_pages(bytes / 20 * 19),
                                        .costliest = outcome->costliest,
                                        .costliest_bytes = outcome->costliest_bytes};
    advice->too_short = bench->traces.frames <= FERRY_LAB_WARM_UP;
    if (advice->too_short)
        return true;
    if (!note(&search, bytes, outcome, &here))
        return false;
    if (advice->less >= PAGE_BYTES) {
        if (!try_size(&search, advice->less, &less))
            return false;
        advice->less_fits = less.fits;
        advice->less_keeps = less.keeps;
        advice->less_costs = less.fits && less.moved > advice->moved ? less.moved - advice->moved : 0;
    }
    if (!find_enough(&search, &here) || (advice->found && advice->enough > bytes && !find_knee(&search)))
        return false;
    return bench->traces.count == 1 || play_alone(&search, outcome);
}
