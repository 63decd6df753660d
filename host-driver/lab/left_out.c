// SPDX-License-Identifier: Apache-2.0
#include "lab/left_out.h"

#include <stdio.h>
#include <stdlib.h>

#define WHOLE_RUNS 6 // that may be spent on a large trace

struct candidate {
    uint32_t object;
    uint64_t in, pages;
};

static int by_in(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->in != b->in)
        return a->in < b->in ? 1 : -1;
    return (a->object > b->object) - (a->object < b->object);
}

static int by_pages(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->pages != b->pages)
        return a->pages < b->pages ? 1 : -1;
    return by_in(left, right);
}

/// What is tried at which size, against how many bytes a frame with everything.
struct trial {
    struct ferry_lab_search *search;
    uint64_t bytes, moved;
    struct ferry_lab_left_out *found;
};

static bool try_without(struct trial *trial, uint32_t object)
{
    struct ferry_lab_search *search = trial->search;
    struct ferry_lab_left_out *found = trial->found;
    struct ferry_lab_bench bench = *search->bench;
    struct ferry_lab_outcome outcome;
    bench.manner.without = &object;
    ferry_lab_begins(search, trial->bytes);
    ferry_lab_run(&bench, NULL, trial->bytes, &outcome);
    bool good = outcome.result == FERRY_LAB_OK;
    if (good) {
        uint64_t moved = ferry_lab_amount(&bench, outcome.bytes_after_warm_up);
        uint64_t saves = moved < trial->moved ? trial->moved - moved : 0;
        if (saves > found->saves || (saves > 0 && saves == found->saves && object < found->costliest)) {
            found->costliest = object;
            found->saves = saves;
        }
    } else {
        snprintf(search->problem, sizeof search->problem, "%s",
                 outcome.problem[0] ? outcome.problem : "no memory to play it again");
    }
    search->work += outcome.played + bench.traces.object_count;
    found->tried++;
    ferry_lab_outcome_release(&outcome);
    return good;
}

static bool try_some(struct trial *trial, const struct candidate *some, size_t count, uint64_t whole_runs)
{
    ferry_lab_allow(trial->search, whole_runs);
    for (size_t i = 0; i < count && ferry_lab_may_go_on(trial->search); i++)
        if (!try_without(trial, some[i].object))
            return false;
    return true;
}

bool ferry_lab_leave_out(struct ferry_lab_search *search, uint64_t bytes, const struct ferry_lab_outcome *outcome,
                         struct ferry_lab_left_out *left_out)
{
    struct trial trial = {search, bytes, ferry_lab_amount(search->bench, outcome->bytes_after_warm_up), left_out};
    const struct ferry_lab_traces *traces = &search->bench->traces;
    struct candidate *list = malloc((traces->object_count + 1) * sizeof *list);
    size_t count = 0;
    if (!list) {
        snprintf(search->problem, sizeof search->problem, "no memory to play it again");
        return false;
    }
    for (uint32_t i = 0; i < traces->object_count; i++)
        if (traces->objects[i].named > 0)
            list[count++] =
                (struct candidate){.object = i, .in = outcome->object_in[i], .pages = traces->objects[i].pages};
    *left_out = (struct ferry_lab_left_out){.candidates = count};
    search->what = "what costs most";
    qsort(list, count, sizeof *list, by_in);
    bool good = try_some(&trial, list, count, WHOLE_RUNS / 2);
    size_t tried = left_out->tried;
    // Of those that are left the largest, whether they are paged or in the others' way.
    qsort(list + tried, count - tried, sizeof *list, by_pages);
    good = good && try_some(&trial, list + tried, count - tried, WHOLE_RUNS / 2);
    free(list);
    return good;
}
