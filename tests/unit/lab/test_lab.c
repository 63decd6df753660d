// SPDX-License-Identifier: Apache-2.0
// A policy of one's own that errs is stopped by name; what the machines count, on traces small enough to count by hand.
#include <pthread.h>

#include "../../seed.h"
#include "lab/advice.h"
#include "lab/policies/policies.h"
#include "small_traces.h"

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

static int sorted(const struct ferry_lab_candidate *list, size_t count, const struct ferry_lab_candidate *first,
                  bool by_size)
{
    size_t before = 0;
    for (size_t i = 0; i < count; i++) {
        const struct ferry_lab_candidate *c = &list[i];
        bool larger = by_size && c->pages != first->pages;
        before += larger ? c->pages > first->pages : c->in != first->in ? c->in > first->in : c->made < first->made;
    }
    return (int)before;
}

// Each of those that are kept has as many before it as its place says, counted over all: so none is missing.
static void the_first_of_many(void **state)
{
    enum { MANY = 5000 };
    static struct ferry_lab_candidate all[MANY];
    (void)state;
    uint64_t chance = seed_given(1);
    for (size_t size = 10; size <= MANY; size = size == 10 ? 1023 : size < MANY ? size + 497 : MANY + 1) {
        size_t count = size < MANY ? size : MANY;
        struct ferry_lab_ranking in = {0}, pages = {0};
        for (size_t i = 0; i < count; i++) {
            all[i] = (struct ferry_lab_candidate){.made = i, .in = draw_below(&chance, 64)};
            all[i].pages = draw_below(&chance, 64);
            assert_true(ferry_lab_rank(&in, ferry_lab_by_in, &all[i]));
            assert_true(ferry_lab_rank(&pages, ferry_lab_by_pages, &all[i]));
        }
        ferry_lab_ranking_end(&in, ferry_lab_by_in);
        ferry_lab_ranking_end(&pages, ferry_lab_by_pages);
        assert_int_equal(in.count, count < FERRY_LAB_RANKED ? count : FERRY_LAB_RANKED);
        assert_int_equal(pages.count, in.count);
        for (size_t i = 0; i < in.count; i++) {
            assert_int_equal(sorted(all, count, &in.list[i], false), i);
            assert_int_equal(sorted(all, count, &pages.list[i], true), i);
        }
        ferry_lab_ranking_free(&in);
        ferry_lab_ranking_free(&pages);
    }
}

// Two programs give their objects' numbers again in another order than a policy's are: a number that is nobody's is
// none.
static void a_number_of_the_dead_is_nobodys(void **state)
{
    static const struct ferry_lab_policy errs = {.name = "errs", .choose = choose_what_is_told, .one_list = true};
    static const char *const texts[] = {"a 1 4096 buffer\nd 1\nf\nx 1\nf\na 2 4096 buffer\nd 2\nf\nf\nf\nf\n",
                                        "a 3 4096 buffer\na 4 8192 buffer\nd 3\nf\nx 3\nf\nf\nd 4\nf\nf\n"};
    struct ferry_lab_packed two[2];
    const struct ferry_lab_packed *const list[] = {&two[0], &two[1]};
    struct ferry_lab_outcome outcome;
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        load(texts[i]);
        two[i] = packed;
        ferry_lab_release(&bench.traces);
    }
    struct ferry_lab_reading reading = {0};
    bench = (struct ferry_lab_bench){.seed = 1, .programs = {{.weight = 1}, {.weight = 1}}};
    assert_int_equal(ferry_lab_prepare(&bench.traces, list, 2, false, &reading), 0);
    // 1, 3 and 4 were 0, 1 and 2; 2 takes 1, so 0 is nobody's when 4 needs room.
    chosen = 0;
    ferry_lab_run(&bench, &errs, 2 * PAGE, &outcome);
    assert_int_equal(outcome.result, FERRY_LAB_BAD_CHOICE);
    assert_int_equal(outcome.line, 8);
    if (!strstr(outcome.problem, "no allocation (number 0)") &&
        !strstr(outcome.problem, "not in video memory (number 0)"))
        fail_msg("'%s'", outcome.problem);
    ferry_lab_outcome_release(&outcome);
    ferry_lab_release(&bench.traces);
    ferry_lab_packed_free(&two[0]);
    ferry_lab_packed_free(&two[1]);
}

// ---- No memory ----

// Linked with --wrap for these: the so-manieth allocation is refused, the others are granted; 0 = all are.
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
static uint64_t refused;
static bool alone; // and to other threads than the first none is
static pthread_t first;

static bool grant(void)
{
    if (alone && !pthread_equal(pthread_self(), first))
        return false;
    return refused == 0 || --refused != 0;
}

void *__wrap_malloc(size_t bytes)
{
    return grant() ? __real_malloc(bytes) : NULL;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return grant() ? __real_calloc(count, bytes) : NULL;
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    return grant() ? __real_realloc(memory, bytes) : NULL;
}

static void expect_the_same(const struct ferry_lab_advice *advice, const struct ferry_lab_advice *whole)
{
    assert_true(advice->enough == whole->enough && advice->least == whole->least && advice->knee == whole->knee);
    assert_true(advice->less_fits && advice->less_costs == whole->less_costs && advice->played == whole->played);
    assert_true(advice->left_out.tried == whole->left_out.tried && advice->left_out.saves == whole->left_out.saves);
    assert_memory_equal(advice->program_alone, whole->program_alone, sizeof whole->program_alone);
}

// Advice is whole or none: a run for which there was no memory says nothing of a size.
static void each_refused_in_turn(uint32_t programs)
{
    const struct ferry_lab_packed *const list[] = {&packed, &packed};
    struct ferry_lab_reading reading = {0};
    struct ferry_lab_outcome outcome;
    struct ferry_lab_advice whole, advice;
    const uint64_t bytes = 5 * PAGE;
    uint64_t n = 1;
    bool done = false;

    ferry_lab_release(&bench.traces);
    bench.programs[1].weight = 1;
    assert_int_equal(ferry_lab_prepare(&bench.traces, list, programs, true, &reading), 0);
    ferry_lab_run(&bench, NULL, bytes, &outcome);
    assert_int_equal(outcome.result, FERRY_LAB_OK);
    assert_true(ferry_lab_advise(&bench, bytes, &outcome, &whole));
    assert_true(whole.found && whole.enough > bytes && whole.less_fits);
    for (; !done; n += 1 + n / 60) {
        refused = n;
        bool good = ferry_lab_advise(&bench, bytes, &outcome, &advice);
        done = refused != 0;
        refused = 0;
        if (done)
            assert_true(good);
        if (!good)
            assert_non_null(strstr(advice.problem, "memory"));
        else
            expect_the_same(&advice, &whole);
    }
    assert_true(n > 100);
    // Who plays ahead has none: the search plays all of it itself.
    bench.others = 2;
    alone = true;
    assert_true(ferry_lab_advise(&bench, bytes, &outcome, &advice));
    alone = false;
    expect_the_same(&advice, &whole);
    bench.others = 0;
    for (n = 1, done = false; !done; n++) {
        struct ferry_lab_outcome again;

        refused = n;
        ferry_lab_run(&bench, NULL, bytes, &again);
        done = refused != 0;
        refused = 0;
        assert_true(again.result == FERRY_LAB_OK || (again.result == FERRY_LAB_NO_MEMORY && !done));
        if (again.result == FERRY_LAB_OK)
            assert_true(again.worst_frame == outcome.worst_frame && again.most_in.count == outcome.most_in.count &&
                        again.bytes_after_warm_up == outcome.bytes_after_warm_up);
        ferry_lab_outcome_release(&again);
    }
    ferry_lab_outcome_release(&outcome);
}

static void advice_for_which_there_is_no_memory_is_none(void **state)
{
    char text[1024] = "";

    (void)state;
    // Four of two pages each, one after another, with room for two and a half.
    for (unsigned i = 0; i < 4; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "a %u 8192 buffer\n", i);
    for (unsigned i = 0; i < 40; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "t %u\nt %u\nf\n", i % 4, i / 2 % 4);
    load(text);
    first = pthread_self();
    each_refused_in_turn(1);
    each_refused_in_turn(2);
    unload();
}

// How often each of eight leaves by chance in so many draws, of whom these are pinned, a bit each; the last one:
// nobody.
static void draw(unsigned pinned, size_t placed_count, unsigned draws, unsigned chosen_times[9])
{
    struct ferry_lab_item items[8] = {{0}};
    const uint32_t placed[8] = {5, 0, 7, 2, 1, 6, 3, 4};
    struct ferry_lab_memory memory = {
        .items = items, .item_count = 8, .placed = placed, .placed_count = placed_count, .random = 1};
    memset(chosen_times, 0, 9 * sizeof *chosen_times);
    for (unsigned i = 0; i < 8; i++)
        items[i] = (struct ferry_lab_item){.in_place = true, .pinned = (pinned >> i & 1) != 0};
    while (draws-- > 0) {
        uint32_t number = ferry_lab_random_choice.choose(&memory);
        chosen_times[number == FERRY_LAB_NONE ? 8 : number]++;
    }
}

static void chance_takes_each_that_may_leave(void **state)
{
    unsigned times[9];
    (void)state;
    draw(0, 8, 8000, times);
    for (unsigned i = 0; i < 8; i++)
        assert_in_range(times[i], 850, 1150);
    for (unsigned pinned = 1; pinned < 256; pinned++) {
        draw(pinned, 8, 200, times);
        for (unsigned i = 0; i < 8; i++)
            assert_int_equal(times[i] != 0, (pinned >> i & 1) == 0);
        assert_int_equal(times[8], pinned == 255 ? 200 : 0);
    }
    draw(0, 0, 10, times);
    assert_int_equal(times[8], 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_policy_that_errs_is_stopped),
        cmocka_unit_test(what_the_job_needs_may_not_leave),
        cmocka_unit_test(what_a_policy_writes_is_not_believed),
        cmocka_unit_test(a_round_that_does_not_fit),
        cmocka_unit_test(a_job_that_does_not_fit),
        cmocka_unit_test(the_first_of_many),
        cmocka_unit_test(a_number_of_the_dead_is_nobodys),
        cmocka_unit_test(chance_takes_each_that_may_leave),
        cmocka_unit_test(advice_for_which_there_is_no_memory_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
