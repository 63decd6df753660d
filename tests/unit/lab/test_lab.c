// SPDX-License-Identifier: Apache-2.0
// A policy of one's own that errs is stopped by name; what the machines count, on traces small enough to count by hand.
#define _POSIX_C_SOURCE 200809L // mkstemp
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lab/bench.h"

#define PAGE 4096u

static struct ferry_trace trace;
static struct ferry_lab_bench bench;

static void load(const char *text)
{
    char path[] = "/tmp/ferry-lab-XXXXXX";
    struct ferry_trace_error error;
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    close(file);
    int read = ferry_trace_read(path, &trace, &error);
    unlink(path);
    if (read != 0)
        fail_msg("line %u: %s", (unsigned)error.line, error.reason);
    bench = (struct ferry_lab_bench){.seed = 1, .programs = {{.weight = 1}}};
    assert_int_equal(ferry_lab_prepare(&bench.traces, &trace, 1), 0);
}

static void unload(void)
{
    ferry_lab_release(&bench.traces);
    ferry_trace_free(&trace);
}

// Three allocations of a page that the GPU writes, and two pages of video memory.
static const char three[] = "a 1 4096 buffer\na 2 4096 buffer\na 3 4096 buffer\n"
                            "t 1\nt 2\nf\nt 3\nt 1\nf\nt 2\nt 3\nf\n";

static uint32_t chosen;

static uint32_t choose_what_is_told(struct ferry_lab_memory *memory)
{
    (void)memory;
    return chosen;
}

static void expect_stopped(uint32_t choice, const char *word)
{
    static const struct ferry_lab_policy errs = {.name = "errs", .choose = choose_what_is_told};
    struct ferry_lab_outcome outcome;
    chosen = choice;
    ferry_lab_run(&bench, &errs, 2 * PAGE, &outcome);
    assert_int_equal(outcome.result, FERRY_LAB_BAD_CHOICE);
    assert_int_equal(outcome.line, 7); // "t 3"
    assert_non_null(strstr(outcome.problem, "policy errs names"));
    assert_non_null(strstr(outcome.problem, "in frame 2"));
    assert_int_equal(outcome.chosen, choice < 3 ? choice : UINT32_MAX);
    if (!strstr(outcome.problem, word))
        fail_msg("'%s' does not say '%s'", outcome.problem, word);
    ferry_lab_outcome_release(&outcome);
}

static void a_policy_that_errs_is_stopped(void **state)
{
    (void)state;
    load(three);
    expect_stopped(2, "not in video memory");
    expect_stopped(3, "no allocation");
    expect_stopped(1000000, "no allocation");
    expect_stopped(FERRY_LAB_NONE, "nobody");
    unload();
}

static uint32_t choose_the_pinned(struct ferry_lab_memory *memory)
{
    for (size_t i = 0; i < memory->placed_count; i++)
        if (memory->items[memory->placed[i]].pinned)
            return memory->placed[i];
    return FERRY_LAB_NONE;
}

static void what_the_job_needs_may_not_leave(void **state)
{
    static const struct ferry_lab_policy errs = {.name = "pinned", .choose = choose_the_pinned};
    struct ferry_lab_outcome outcome;
    (void)state;
    load("a 1 4096 buffer\na 2 4096 buffer\na 3 4096 buffer\nd 1 2\nf\nd 2 3\nf\n");
    ferry_lab_run(&bench, &errs, 2 * PAGE, &outcome);
    assert_int_equal(outcome.result, FERRY_LAB_BAD_CHOICE);
    assert_non_null(strstr(outcome.problem, "the job under way needs (number 1) in frame 2"));
    ferry_lab_outcome_release(&outcome);
    unload();
}

// It says of all that it may leave, that all is in place, and that there is much room; then names what the job needs.
static uint32_t choose_by_lying(struct ferry_lab_memory *memory)
{
    for (size_t i = 0; i < memory->item_count; i++) {
        memory->items[i].pinned = memory->items[i].dirty = false;
        memory->items[i].in_place = true;
        memory->items[i].pages = 1000;
    }
    memory->free_pages = memory->pages = 1000;
    memory->placed_count = 0;
    return chosen;
}

static void what_a_policy_writes_is_not_believed(void **state)
{
    static const struct ferry_lab_policy lies = {.name = "lies", .choose = choose_by_lying};
    static const char *const words[] = {"the job under way needs (number 0) in frame 2 to make room for 4096 bytes",
                                        "that is not in video memory (number 3) in frame 2"};
    struct ferry_lab_outcome outcome;
    (void)state;
    load("a 7 4096 buffer\na 8 4096 buffer\na 9 4096 buffer\na 10 4096 buffer\nt 7\nt 8\nf\nd 7 9\nf\n");
    for (unsigned i = 0; i < 2; i++) {
        chosen = i ? 3 : 0;
        ferry_lab_run(&bench, &lies, 2 * PAGE, &outcome);
        assert_int_equal(outcome.result, FERRY_LAB_BAD_CHOICE);
        assert_int_equal(outcome.chosen, chosen);
        if (!strstr(outcome.problem, words[i]))
            fail_msg("'%s'", outcome.problem);
        ferry_lab_outcome_release(&outcome);
    }
    // One that may leave does, with its content, and counts as what it is.
    chosen = 1;
    ferry_lab_run(&bench, &lies, 2 * PAGE, &outcome);
    assert_int_equal(outcome.result, FERRY_LAB_OK);
    assert_int_equal(outcome.count.evictions, 1);
    assert_int_equal(outcome.count.out, PAGE);
    assert_int_equal(outcome.count.filled, 3 * PAGE);
    ferry_lab_outcome_release(&outcome);
    unload();
}

static struct ferry_lab_outcome run(const char *name, uint64_t pages)
{
    const struct ferry_lab_policy *policy;
    struct ferry_lab_outcome outcome;
    assert_true(ferry_lab_find(name, &policy));
    ferry_lab_run(&bench, policy, pages * PAGE, &outcome);
    ferry_lab_outcome_release(&outcome); // The figures stay.
    return outcome;
}

static void a_round_that_does_not_fit(void **state)
{
    (void)state;
    load(three);
    // 1 2 | 3 1 | 2 3. Least recently used throws out 1 for 3, 2 for 1, 3 for 2 and 1 for 3; all is dirty and comes
    // back.
    struct ferry_lab_outcome lru = run("lru", 2), furthest = run("furthest", 2), ours = run("ours", 3);
    assert_int_equal(lru.result, FERRY_LAB_OK);
    assert_int_equal(lru.count.evictions, 4);
    assert_int_equal(lru.count.filled, 3 * PAGE);
    assert_int_equal(lru.count.in, 3 * PAGE);
    assert_int_equal(lru.count.out, 4 * PAGE);
    assert_int_equal(lru.worst_frame, 4 * PAGE);
    // Who knows the future throws out 2 for 3, and 1, which never comes back, for 2.
    assert_int_equal(furthest.count.evictions, 2);
    assert_int_equal(furthest.count.in, PAGE);
    assert_int_equal(furthest.count.out, 2 * PAGE);
    assert_int_equal(ours.result, FERRY_LAB_OK);
    assert_int_equal(ours.count.evictions, 0);
    assert_int_equal(ours.count.filled, 3 * PAGE);
    assert_int_equal(ours.count.in + ours.count.out + ours.count.moved, 0);
    unload();
}

static void a_job_that_does_not_fit(void **state)
{
    static const char *const names[] = {"lru", "random", "two-frames", "furthest", "ours"};
    (void)state;
    load("a 1 8192 buffer\na 2 4096 buffer\nd 2\nf\nd 1 2\nf\n");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct ferry_lab_outcome outcome = run(names[i], 2);
        assert_int_equal(outcome.result, FERRY_LAB_TOO_SMALL);
        assert_int_equal(outcome.line, 5);
        assert_int_equal(outcome.job_bytes, 3 * PAGE);
        assert_int_equal(run(names[i], 3).result, FERRY_LAB_OK);
    }
    unload();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_policy_that_errs_is_stopped),
        cmocka_unit_test(what_the_job_needs_may_not_leave),
        cmocka_unit_test(what_a_policy_writes_is_not_believed),
        cmocka_unit_test(a_round_that_does_not_fit),
        cmocka_unit_test(a_job_that_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
