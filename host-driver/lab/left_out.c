// SPDX-License-Identifier: Apache-2.0
#include "lab/left_out.h"

#include <stdio.h>

#include "lab/measure.h"

#define WHOLE_RUNS 6 // that may be spent on a large trace

/// What is tried at which size, against how many bytes a frame with everything.
struct trial {
    struct ferry_lab_search *search;
    uint64_t bytes, moved;
    struct ferry_lab_left_out *found;
};

static struct ferry_lab_wish without(const struct trial *trial, uint64_t made)
{
    return (struct ferry_lab_wish){.bytes = trial->bytes, .without = made};
}

static bool try_without(struct trial *trial, uint64_t made)
{
    struct ferry_lab_search *search = trial->search;
    struct ferry_lab_left_out *found = trial->found;
    const struct ferry_lab_wish wish = without(trial, made);
    struct ferry_lab_outcome outcome;
    ferry_lab_search_run(search, &wish, &outcome);
    bool good = outcome.result == FERRY_LAB_OK;
    if (good) {
        uint64_t moved = ferry_lab_amount(search->bench, outcome.bytes_after_warm_up);
        uint64_t saves = moved < trial->moved ? trial->moved - moved : 0;
        if (saves > found->saves || (saves > 0 && saves == found->saves && made < found->costliest)) {
            found->costliest = made;
            found->saves = saves;
        }
    } else {
        snprintf(search->problem, sizeof search->problem, "%s",
                 outcome.problem[0] ? outcome.problem : "no memory to play it again");
    }
    search->work += outcome.played + search->bench->traces.made;
    found->tried++;
    ferry_lab_outcome_release(&outcome);
    return good;
}

static void expect_from(struct trial *trial, const struct ferry_lab_candidate *some, size_t count)
{
    struct ferry_lab_wish wishes[FERRY_LAB_MOST_WISHES];
    size_t most = ferry_lab_ahead_most(trial->search->ahead), wished = 0;
    for (; wished < count && wished < most; wished++)
        wishes[wished] = without(trial, some[wished].made);
    ferry_lab_ahead_wish(trial->search->ahead, wishes, wished);
}

static bool try_some(struct trial *trial, const struct ferry_lab_candidate *some, size_t count, uint64_t whole_runs)
{
    ferry_lab_allow(trial->search, whole_runs);
    for (size_t i = 0; i < count && ferry_lab_may_go_on(trial->search); i++) {
        expect_from(trial, some + i, count - i);
        if (!try_without(trial, some[i].made))
            return false;
    }
    return true;
}

// Of those that are left the largest, whether they are paged or in the others' way.
static size_t left_of(const struct ferry_lab_ranking *from, const struct ferry_lab_candidate *tried, size_t tried_count,
                      struct ferry_lab_candidate left[FERRY_LAB_RANKED])
{
    size_t count = 0;
    for (size_t i = 0; i < from->count; i++) {
        size_t k = 0;
        while (k < tried_count && tried[k].made != from->list[i].made)
            k++;
        if (k == tried_count)
            left[count++] = from->list[i];
    }
    return count;
}

bool ferry_lab_leave_out(struct ferry_lab_search *search, uint64_t bytes, const struct ferry_lab_outcome *outcome,
                         struct ferry_lab_left_out *left_out)
{
    struct trial trial = {search, bytes, ferry_lab_amount(search->bench, outcome->bytes_after_warm_up), left_out};
    struct ferry_lab_candidate left[FERRY_LAB_RANKED];
    *left_out = (struct ferry_lab_left_out){.candidates = outcome->named_count};
    search->what = "what costs most";
    if (!try_some(&trial, outcome->most_in.list, outcome->most_in.count, WHOLE_RUNS / 2))
        return false;
    size_t count = left_of(&outcome->largest, outcome->most_in.list, left_out->tried, left);
    if (!try_some(&trial, left, count, WHOLE_RUNS / 2))
        return false;
    if (left_out->saves &&
        !ferry_lab_creation_of(&search->bench->traces, left_out->costliest, &left_out->program, &left_out->creation)) {
        snprintf(search->problem, sizeof search->problem, "the trace cannot be read back");
        return false;
    }
    return true;
}
