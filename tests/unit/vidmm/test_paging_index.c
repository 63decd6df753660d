// SPDX-License-Identifier: Apache-2.0
// Which operations one has to stay behind: random ranges come and go, are built and wait again, and what the index
// finds is what a look at each of them finds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../seed.h"
#include "vidmm/sched/paging.h"

#define MOST 512

static uint64_t state_word;

static uint64_t pick(uint64_t below)
{
    return draw_below(&state_word, below);
}

#define OPEN 3 // the buffer that is filled

static bool in[2 * MOST + 1], asked[2 * MOST + 1];
static uint64_t wanted; // the one that is_it says yes to; 0 = none

static bool is_it(struct ferry_vm_sched *sched, uint64_t other, uint64_t number)
{
    (void)sched;
    assert_int_not_equal(other, number);
    assert_true(in[other]);
    asked[other] = true;
    return other == wanted;
}

static bool meet(uint64_t a, uint64_t a_end, uint64_t b, uint64_t b_end)
{
    return a < b_end && b < a_end;
}

static bool same_place(const struct ferry_vm_span *a, const struct ferry_vm_span *b)
{
    return a->segment != 0 && a->segment == b->segment && meet(a->first, a->end, b->first, b->end);
}

static bool alike(const struct ferry_vm_operation *a, const struct ferry_vm_operation *b)
{
    bool subject = a->late != 0 ? a->late == b->late : b->late == 0 && a->subject && a->subject == b->subject;
    return subject && a->allocation == b->allocation && a->instance == b->instance;
}

static bool meets(const struct ferry_vm_operation *a, const struct ferry_vm_operation *b)
{
    if (a->subject && a->subject == b->subject && a->end_address && b->end_address &&
        meet(a->first_address, a->end_address, b->first_address, b->end_address))
        return true;
    return same_place(&a->writes, &b->writes) || same_place(&a->writes, &b->reads) || same_place(&a->reads, &b->writes);
}

// Does `number` have to be asked whether it stays behind the other?
static bool is_asked(const struct ferry_vm_sched *sched, uint64_t other, uint64_t number, bool built)
{
    const struct ferry_vm_operation *before = ferry_vm_operation_at(sched, other),
                                    *behind = ferry_vm_operation_at(sched, number);
    if (!in[other] || other == number || (!alike(before, behind) && !meets(before, behind)))
        return false;
    if (before->state != FERRY_VM_WAITING)
        return built && (behind->alone || !ferry_vm_shares_its_buffer(before) || before->first_fence < OPEN);
    for (uint64_t newer = other + 1; newer < number && !meets(before, behind); newer++) {
        const struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, newer);
        if (in[newer] && operation->state == FERRY_VM_WAITING && alike(operation, behind))
            return false;
    }
    return other < number;
}

// Most are short, some are as long as everything, some are empty.
static void range(uint64_t *first, uint64_t *end)
{
    *first = pick(2000);
    *end = *first + (pick(8) ? pick(6) : pick(2000));
}

static void any(struct ferry_vm_operation *operation, const struct ferry_vm_subject *subjects)
{
    memset(operation, 0, sizeof(*operation));
    operation->reads.segment = (UINT)pick(4);
    range(&operation->reads.first, &operation->reads.end);
    operation->writes.segment = (UINT)pick(4);
    range(&operation->writes.first, &operation->writes.end);
    operation->subject = pick(3) ? &subjects[pick(4)] : NULL;
    operation->allocation = (D3DKMT_HANDLE)pick(40);
    operation->instance = (uint32_t)pick(3);
    operation->late = operation->subject && pick(4) == 0 ? 1 + pick(3) : 0;
    operation->argument.Operation = pick(4) ? DXGK_OPERATION_UPDATE_PAGE_TABLE : DXGK_OPERATION_FILL;
    if (pick(2))
        range(&operation->first_address, &operation->end_address);
}

// It is built, into this buffer or the one before, or alone in one; or it waits again.
static void change(struct ferry_vm_sched *sched, uint64_t number)
{
    struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
    operation->state = operation->state == FERRY_VM_WAITING ? FERRY_VM_BUILT_INTO : FERRY_VM_WAITING;
    operation->first_fence = operation->state == FERRY_VM_WAITING ? 0 : OPEN - pick(2);
    if (operation->state == FERRY_VM_WAITING)
        operation->alone = pick(4) == 0;
    ferry_vm_index_state(sched, number);
}

static void compare(struct ferry_vm_sched *sched, uint64_t count, uint64_t number)
{
    uint64_t found = 0, before = 0;
    bool built = pick(4) != 0;
    memset(asked, 0, sizeof(asked));
    wanted = 0;
    assert_int_equal(ferry_vm_index_find(sched, number, built, is_it), 0);
    for (uint64_t other = count < sched->capacity ? 1 : count - sched->capacity + 1; other <= count; other++) {
        bool is = is_asked(sched, other, number, built);
        assert_int_equal(asked[other], is);
        found += is;
        before = is && pick(found) == 0 ? other : before;
    }
    // Whichever is meant is found.
    wanted = before;
    assert_int_equal(ferry_vm_index_find(sched, number, built, is_it), before);
}

// What is built and reads of what it writes.
static void compare_sources(struct ferry_vm_sched *sched, uint64_t count, uint64_t number)
{
    const struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
    uint64_t found = 0, source = 0;
    memset(asked, 0, sizeof(asked));
    wanted = 0;
    assert_int_equal(ferry_vm_index_find_source(sched, number, is_it), 0);
    for (uint64_t other = count < sched->capacity ? 1 : count - sched->capacity + 1; other <= count; other++) {
        const struct ferry_vm_operation *built = ferry_vm_operation_at(sched, other);
        bool is = in[other] && other != number && built->state != FERRY_VM_WAITING &&
                  same_place(&operation->writes, &built->reads);
        assert_int_equal(asked[other], is);
        found += is;
        source = is && pick(found) == 0 ? other : source;
    }
    wanted = source;
    assert_int_equal(ferry_vm_index_find_source(sched, number, is_it), source);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// What a node knows of itself and of those below it is true, and no more than that: else it would be looked below for
// nothing. Comes back: what is true.
static struct ferry_vm_indexed check_known(const struct ferry_vm_sched *sched, uint64_t name)
{
    const struct ferry_vm_indexed *node = &sched->indexed[name % (sched->capacity * FERRY_VM_TREES)];
    const struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, name / FERRY_VM_TREES);
    bool waits = operation->state == FERRY_VM_WAITING, shares = ferry_vm_shares_its_buffer(operation);
    struct ferry_vm_indexed known = {.last_domain = node->domain,
                                     .reaches_to = node->end,
                                     .waiting_from = waits ? name / FERRY_VM_TREES : UINT64_MAX,
                                     .buffer_from = waits    ? UINT64_MAX
                                                    : shares ? operation->first_fence
                                                             : 0};
    for (unsigned side = 0; side < 2; side++) {
        if (node->below[side] == 0)
            continue;
        struct ferry_vm_indexed below = check_known(sched, node->below[side]);
        known.waiting_from = least(known.waiting_from, below.waiting_from);
        known.buffer_from = least(known.buffer_from, below.buffer_from);
        if (below.last_domain == known.last_domain && below.reaches_to < known.reaches_to)
            below.reaches_to = known.reaches_to;
        if (below.last_domain >= known.last_domain) {
            known.last_domain = below.last_domain;
            known.reaches_to = below.reaches_to;
        }
    }
    assert_int_equal(node->waiting_from, known.waiting_from);
    assert_int_equal(node->buffer_from, known.buffer_from);
    assert_int_equal(node->last_domain, known.last_domain);
    assert_int_equal(node->reaches_to, known.reaches_to);
    return known;
}

static void the_index_finds_what_a_look_at_each_finds(void **state)
{
    struct ferry_vm_subject subjects[4];
    (void)state;
    uint64_t seed = seed_given(1);
    for (unsigned run = 0; run < 20; run++) {
        state_word = seed * 1000 + run;
        uint64_t most = UINT64_C(1) << pick(10), count = 0;
        struct ferry_vm_sched sched = {.capacity = most, .nodes[0].submitted = OPEN - 1};
        sched.operations = calloc(most, sizeof(*sched.operations));
        sched.indexed = calloc(most * FERRY_VM_TREES, sizeof(*sched.indexed));
        memset(in, 0, sizeof(in));
        // Twice around the ring: the place of one that has left is another one's.
        while (count < 2 * most) {
            uint64_t leaves = count < most ? 1 + pick(count + 1) : count - most + 1;
            if (leaves <= count && in[leaves]) {
                ferry_vm_index_leave(&sched, leaves);
                in[leaves] = false;
            }
            any(ferry_vm_operation_at(&sched, ++count), subjects);
            if (pick(8) == 0) { // the index takes one as it stands
                ferry_vm_operation_at(&sched, count)->state = FERRY_VM_BUILT_INTO;
                ferry_vm_operation_at(&sched, count)->first_fence = OPEN - pick(2);
            }
            ferry_vm_index_enter(&sched, count);
            in[count] = true;
            compare(&sched, count, count);
            uint64_t old = 1 + pick(count), changes = 1 + pick(count);
            if (in[changes])
                change(&sched, changes);
            if (in[old])
                compare(&sched, count, old);
            compare_sources(&sched, count, count);
            uint64_t tree = sched.trees[pick(FERRY_VM_TREES)];
            if (tree != 0 && pick(4) == 0)
                check_known(&sched, tree);
        }
        for (uint64_t number = 1; number <= count; number++)
            if (in[number])
                ferry_vm_index_leave(&sched, number);
        for (unsigned kind = 0; kind < FERRY_VM_TREES; kind++)
            assert_int_equal(sched.trees[kind], 0);
        free(sched.operations);
        free(sched.indexed);
    }
}

static unsigned height_of(const struct ferry_vm_sched *sched, uint64_t name)
{
    const struct ferry_vm_indexed *node = &sched->indexed[name % (sched->capacity * FERRY_VM_TREES)];
    if (name == 0)
        return 0;
    unsigned low = height_of(sched, node->below[0]), high = height_of(sched, node->below[1]);
    return 1 + (low > high ? low : high);
}

// However the ranges come, in order, against it or all at one place, the trees stay level: three times the natural
// logarithm of what they hold would be usual.
static void the_trees_stay_level(void **state)
{
    enum { COUNT = 16384, MOST_HIGH = 60 };
    (void)state;
    for (unsigned way = 0; way < 3; way++) {
        struct ferry_vm_sched sched = {.capacity = COUNT};
        sched.operations = calloc(COUNT, sizeof(*sched.operations));
        sched.indexed = calloc(COUNT * FERRY_VM_TREES, sizeof(*sched.indexed));
        for (uint64_t number = 1; number <= COUNT; number++) {
            uint64_t first = way == 0 ? number : way == 1 ? COUNT - number : 7;
            ferry_vm_operation_at(&sched, number)->writes = (struct ferry_vm_span){1, first, first + 1};
            ferry_vm_index_enter(&sched, number);
        }
        for (unsigned kind = 0; kind < FERRY_VM_TREES; kind++)
            assert_in_range(height_of(&sched, sched.trees[kind]), 0, MOST_HIGH);
        // And so they do while those leave that came first.
        for (uint64_t number = 1; number <= COUNT / 2; number++)
            ferry_vm_index_leave(&sched, number);
        for (unsigned kind = 0; kind < FERRY_VM_TREES; kind++)
            assert_in_range(height_of(&sched, sched.trees[kind]), 0, MOST_HIGH);
        free(sched.operations);
        free(sched.indexed);
    }
}

static bool always(struct ferry_vm_sched *sched, uint64_t other, uint64_t number)
{
    (void)sched;
    return other != number;
}

// However many are alike and wait, and were queued before or behind: one that has none before it is found to have none,
// and one that has is kept by the newest, at the cost of a way down the tree.
static void what_is_alike_is_not_walked(void **state)
{
    enum { COUNT = 16384, OFTEN = 100, MOST_STEPS = 300 };
    (void)state;
    struct ferry_vm_subject subject;
    struct ferry_vm_sched sched = {.capacity = 2 * COUNT, .nodes[0].submitted = OPEN - 1};
    sched.operations = calloc(2 * COUNT, sizeof(*sched.operations));
    sched.indexed = calloc(2 * COUNT * FERRY_VM_TREES, sizeof(*sched.indexed));
    for (uint64_t number = 1; number <= COUNT; number++) {
        struct ferry_vm_operation *operation = ferry_vm_operation_at(&sched, number);
        operation->subject = &subject;
        operation->reads = (struct ferry_vm_span){1, 0, 16};
        operation->writes = (struct ferry_vm_span){2, number, number + 1};
        operation->argument.Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE;
        ferry_vm_index_enter(&sched, number);
    }
    for (uint64_t number = 1; number <= COUNT; number += OFTEN) {
        // Nobody waits before it, and those that are built are in the buffer that it gets into.
        uint64_t before = sched.index_steps;
        assert_int_equal(ferry_vm_index_find(&sched, number, true, always), 0);
        assert_int_equal(ferry_vm_index_find(&sched, COUNT, true, always), COUNT - 1);
        assert_in_range(sched.index_steps - before, 1, MOST_STEPS);
        for (uint64_t built = number; built < number + OFTEN && built <= COUNT; built++) {
            ferry_vm_operation_at(&sched, built)->state = FERRY_VM_BUILT_INTO;
            ferry_vm_operation_at(&sched, built)->first_fence = OPEN;
            ferry_vm_index_state(&sched, built);
        }
    }
    free(sched.operations);
    free(sched.indexed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_index_finds_what_a_look_at_each_finds),
        cmocka_unit_test(the_trees_stay_level),
        cmocka_unit_test(what_is_alike_is_not_walked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
