// SPDX-License-Identifier: Apache-2.0
#include "lab/advice.h"

#define PAGE_BYTES UINT64_C(4096)
#define MOST_TRIED 64u

// Sizes that were played, and what they move a frame.
struct tried {
    uint64_t bytes[MOST_TRIED], moved[MOST_TRIED];
    unsigned count;
};

static uint64_t per_frame(const struct ferry_lab_bench *bench, const struct ferry_lab_outcome *outcome)
{
    uint64_t frames = bench->traces.frames ? bench->traces.frames : 1;
    return (outcome->count.in + outcome->count.out) / frames;
}

static uint64_t whole_pages(uint64_t bytes)
{
    return bytes / PAGE_BYTES * PAGE_BYTES;
}

static void note(struct tried *tried, uint64_t bytes, uint64_t moved)
{
    if (tried->count < MOST_TRIED) {
        tried->bytes[tried->count] = bytes;
        tried->moved[tried->count++] = moved;
    }
}

// What a run comes to: an enum ferry_lab_result.
static int try_size(const struct ferry_lab_bench *bench, uint64_t bytes, struct tried *tried, uint64_t *evictions)
{
    struct ferry_lab_outcome outcome;
    ferry_lab_run(bench, NULL, bytes, &outcome);
    note(tried, bytes, per_frame(bench, &outcome));
    *evictions = outcome.evictions_after_warm_up;
    ferry_lab_outcome_release(&outcome);
    return outcome.result;
}

// Between a size that evicts and one that does not, to a fiftieth of the first.
static int find_enough(const struct ferry_lab_bench *bench, uint64_t bytes, struct tried *tried, uint64_t *enough)
{
    uint64_t low = bytes, high = whole_pages(bench->traces.most_living + PAGE_BYTES - 1), evictions;
    high = high > low ? high : low;
    while (high - low > bytes / 50 && high - low > PAGE_BYTES) {
        uint64_t middle = whole_pages(low + (high - low) / 2);
        int result = try_size(bench, middle, tried, &evictions);
        if (result != FERRY_LAB_OK)
            return result;
        if (evictions == 0)
            high = middle;
        else
            low = middle;
    }
    *enough = high;
    return try_size(bench, high, tried, &evictions);
}

// Of the sizes that were played, the one whose point lies furthest below the straight line from this size to enough.
static void find_knee(const struct tried *tried, struct ferry_lab_advice *advice)
{
    double last = (double)tried->moved[tried->count - 1], first = (double)advice->moved, best = 0;
    double whole = (double)(advice->enough - advice->bytes);
    advice->knee = advice->enough;
    advice->knee_saves = first > last ? (uint64_t)(first - last) : 0;
    for (unsigned i = 0; i < tried->count; i++) {
        double share = ((double)tried->bytes[i] - (double)advice->bytes) / whole;
        double below = first + (last - first) * share - (double)tried->moved[i];
        if (share > 0 && share < 1 && below > best) {
            best = below;
            advice->knee = tried->bytes[i];
            advice->knee_saves = first > (double)tried->moved[i] ? (uint64_t)first - tried->moved[i] : 0;
        }
    }
}

bool ferry_lab_advise(const struct ferry_lab_bench *bench, uint64_t bytes, const struct ferry_lab_outcome *outcome,
                      struct ferry_lab_advice *advice)
{
    struct tried tried = {.count = 0};
    uint64_t evictions;
    *advice = (struct ferry_lab_advice){.bytes = bytes,
                                        .enough = bytes,
                                        .knee = bytes,
                                        .less = whole_pages(bytes / 20 * 19),
                                        .moved = per_frame(bench, outcome),
                                        .costliest = outcome->costliest,
                                        .costliest_bytes = outcome->costliest_bytes};
    int result = try_size(bench, advice->less, &tried, &evictions);
    advice->less_fits = result == FERRY_LAB_OK;
    advice->less_costs = advice->less_fits && tried.moved[0] > advice->moved ? tried.moved[0] - advice->moved : 0;
    if (result == FERRY_LAB_TOO_SMALL)
        result = FERRY_LAB_OK;
    if (result == FERRY_LAB_OK && outcome->evictions_after_warm_up != 0) {
        result = find_enough(bench, bytes, &tried, &advice->enough);
        if (result == FERRY_LAB_OK)
            find_knee(&tried, advice);
    }
    return result == FERRY_LAB_OK;
}
