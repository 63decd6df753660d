// SPDX-License-Identifier: Apache-2.0
// Runs that other threads play ahead of a search: what it asks for and finds is what it does alone.
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "../../seed.h"
#include "lab/advice.h"
#include "lab/ahead.h"
#include "lab/search.h"
#include "small_traces.h"

enum { OBJECTS = 10, FRAMES = 16, TEXT = 10000 };

static uint64_t chance;

static unsigned pick(unsigned count)
{
    return draw_below(&chance, count);
}

// Allocations of up to five pages, half of them named in each frame, others at random.
static void load_some(void)
{
    static char text[TEXT];
    size_t at = 0;
    for (unsigned i = 1; i <= OBJECTS; i++)
        at += (size_t)snprintf(text + at, TEXT - at, "a %u %u buffer\n", i, PAGE * (1 + pick(5)));
    for (unsigned frame = 0; frame < FRAMES; frame++) {
        for (unsigned i = 1; i <= OBJECTS; i++)
            if (i % 2 || pick(4) == 0)
                at += (size_t)snprintf(text + at, TEXT - at, "%c %u\n", i % 3 ? 'd' : 't', i);
        at += (size_t)snprintf(text + at, TEXT - at, "f\n");
    }
    assert_true(at < TEXT);
    load(text);
}

// Each run that a search says it begins; and how far its own are.
struct log {
    uint64_t sum, runs;
    pthread_t searcher;
    atomic_uint told, told_by_others;
};

static void note(void *context, const char *what, uint64_t run, uint64_t bytes)
{
    struct log *log = context;
    log->sum = log->sum * 31 + strlen(what) * 7 + run * 5 + bytes;
    log->runs++;
}

static void go_on(void *context, double share)
{
    struct log *log = context;
    (void)share;
    log->told++;
    log->told_by_others += !pthread_equal(pthread_self(), log->searcher);
}

static void advise(unsigned others, uint64_t bytes, struct ferry_lab_advice *advice, struct log *log)
{
    struct ferry_lab_outcome outcome;
    *log = (struct log){.searcher = pthread_self()};
    ferry_lab_run(&bench, NULL, bytes, &outcome);
    assert_int_equal(outcome.result, FERRY_LAB_OK);
    bench.others = others;
    bench.manner = (struct ferry_lab_manner){.begins = note, .progress = go_on, .context = log};
    assert_true(ferry_lab_advise(&bench, bytes, &outcome, advice));
    assert_true(log->told > 0 || others > 0);
    assert_int_equal(log->told_by_others, 0);
    bench.others = 0;
    bench.manner = (struct ferry_lab_manner){0};
    ferry_lab_outcome_release(&outcome);
}

static void a_search_asks_for_and_finds_what_it_does_alone(void **state)
{
    static const unsigned others[] = {1, 3, FERRY_LAB_MOST_OTHERS, 1000};
    struct ferry_lab_advice alone, advice;
    struct log runs_alone, runs;
    (void)state;
    load_some();
    uint64_t bytes = bench.traces.largest_job + bench.traces.median_frame * 5 / 8 / PAGE * PAGE;
    advise(0, bytes, &alone, &runs_alone);
    assert_true(alone.pages && alone.found && alone.left_out.tried > 2 && alone.knee > 0);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        advise(others[i], bytes, &advice, &runs);
        assert_int_equal(runs.runs, runs_alone.runs);
        assert_int_equal(runs.sum, runs_alone.sum);
        assert_int_equal(advice.enough, alone.enough);
        assert_int_equal(advice.left, alone.left);
        assert_int_equal(advice.less_costs, alone.less_costs);
        assert_int_equal(advice.again, alone.again);
        assert_int_equal(advice.steady, alone.steady);
        assert_int_equal(advice.knee, alone.knee);
        assert_int_equal(advice.knee_saves, alone.knee_saves);
        assert_int_equal(advice.played, alone.played);
        assert_int_equal(advice.left_out.costliest, alone.left_out.costliest);
        assert_int_equal(advice.left_out.saves, alone.left_out.saves);
        assert_int_equal(advice.left_out.tried, alone.left_out.tried);
    }
    unload();
}

// A size is played as far as is asked: what is known until something is paged is played once more for all that it
// moves, and what was played whole never again.
static void what_is_known_is_played_no_more(void **state)
{
    struct ferry_lab_search search;
    const struct ferry_lab_point *point = NULL;
    (void)state;
    load_some();
    uint64_t bytes = bench.traces.largest_job + bench.traces.median_frame * 5 / 8 / PAGE * PAGE;
    ferry_lab_search_begin(&search, &bench);
    search.what = "a size";
    for (unsigned ask = 0; ask < 6; ask++) {
        const bool whole = ask == 2 || ask == 3;
        point = ferry_lab_try(&search, bytes, whole);
        assert_non_null(point);
        assert_true(point->pages);
        assert_int_equal(point->whole, ask >= 2);
        assert_int_equal(point->moved > 0, ask >= 2);
        assert_int_equal(search.runs, ask < 2 ? 1 : 2);
    }
    ferry_lab_search_end(&search);
    unload();
}

static void expect_as_alone(const struct ferry_lab_wish *wish, struct ferry_lab_outcome *outcome)
{
    struct ferry_lab_outcome alone;
    ferry_lab_play_wish(&bench, wish, &alone);
    assert_int_equal(outcome->result, alone.result);
    assert_int_equal(outcome->played, alone.played);
    assert_int_equal(outcome->bytes_after_warm_up, alone.bytes_after_warm_up);
    assert_int_equal(outcome->evictions_after_warm_up, alone.evictions_after_warm_up);
    assert_int_equal(outcome->named_count, alone.named_count);
    ferry_lab_outcome_release(outcome);
    ferry_lab_outcome_release(&alone);
}

// What they have begun by then is up to the machine.
static void give_them_time(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

// What has been wished comes as it would alone, in any order, and once; nothing else does.
static void what_is_wished_is_played(void **state)
{
    enum { WISHES = 7, OTHERS = 3 };
    struct ferry_lab_wish wishes[WISHES];
    struct ferry_lab_outcome outcome;
    (void)state;
    load_some();
    for (unsigned i = 0; i < WISHES; i++)
        wishes[i] = (struct ferry_lab_wish){.bytes = bench.traces.median_frame + i % 4 * PAGE,
                                            .without = i < 4 ? FERRY_LAB_ALL_USED : 2,
                                            .until_paging = i % 2 == 1};
    bench.others = OTHERS;
    struct ferry_lab_ahead *ahead = ferry_lab_ahead_begin(&bench);
    assert_non_null(ahead);
    assert_int_equal(ferry_lab_ahead_most(ahead), WISHES);
    ferry_lab_ahead_wish(ahead, wishes, WISHES);
    give_them_time();
    unsigned came = 0;
    for (unsigned i = WISHES - 1; i > 0; i--) {
        if (!ferry_lab_ahead_take(ahead, &wishes[i], &outcome))
            continue; // Nobody had begun it.
        came++;
        expect_as_alone(&wishes[i], &outcome);
        assert_false(ferry_lab_ahead_take(ahead, &wishes[i], &outcome));
    }
    // The first one is the asker's own.
    assert_false(ferry_lab_ahead_take(ahead, &wishes[0], &outcome));
    print_message("%u of %u had been begun\n", came, WISHES - 1);
    // Until somebody has begun one.
    do
        ferry_lab_ahead_wish(ahead, wishes, 2);
    while (!ferry_lab_ahead_take(ahead, &wishes[1], &outcome));
    expect_as_alone(&wishes[1], &outcome);
    // Until something is paged it comes to something else.
    struct ferry_lab_wish whole = wishes[1];
    whole.until_paging = !whole.until_paging;
    for (unsigned i = 0; i < 5; i++) {
        ferry_lab_ahead_wish(ahead, wishes, 2);
        give_them_time();
        assert_false(ferry_lab_ahead_take(ahead, &whole, &outcome));
    }
    // And so does another policy.
    struct ferry_lab_wish lru = wishes[0];
    assert_true(ferry_lab_find("lru", &lru.policy) && lru.policy);
    do
        ferry_lab_ahead_wish(ahead, (struct ferry_lab_wish[]){wishes[1], lru}, 2);
    while (!ferry_lab_ahead_take(ahead, &lru, &outcome));
    struct ferry_lab_outcome alone;
    ferry_lab_run(&bench, lru.policy, lru.bytes, &alone);
    assert_int_equal(outcome.result, FERRY_LAB_OK);
    assert_int_equal(outcome.count.evictions, alone.count.evictions);
    assert_int_equal(outcome.bytes_after_warm_up, alone.bytes_after_warm_up);
    ferry_lab_outcome_release(&outcome);
    ferry_lab_outcome_release(&alone);
    for (unsigned i = 0; i < 5; i++) {
        ferry_lab_ahead_wish(ahead, (struct ferry_lab_wish[]){wishes[1], lru}, 2);
        give_them_time();
        assert_false(ferry_lab_ahead_take(ahead, &wishes[0], &outcome));
    }
    // What is not wished any more does not come, whoever has begun it.
    ferry_lab_ahead_wish(ahead, wishes, WISHES);
    give_them_time();
    ferry_lab_ahead_wish(ahead, wishes, 1);
    for (unsigned i = 0; i < WISHES; i++)
        assert_false(ferry_lab_ahead_take(ahead, &wishes[i], &outcome));
    ferry_lab_ahead_wish(ahead, wishes, WISHES);
    ferry_lab_ahead_end(ahead);
    bench.others = 0;
    unload();
}

static atomic_uint signals;

static void on_signal(int number)
{
    (void)number;
    signals++;
}

// Who asks has the signals that he had, and no other thread takes one.
static void signals_are_the_first_threads(void **state)
{
    struct sigaction action = {.sa_handler = on_signal}, old;
    sigset_t one, before, after;
    (void)state;
    load_some();
    bench.others = 2;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
    struct ferry_lab_ahead *ahead = ferry_lab_ahead_begin(&bench);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &one, &after), 0);
    for (int number = 1; number < 32; number++)
        assert_int_equal(sigismember(&before, number), sigismember(&after, number));
    assert_int_equal(kill(getpid(), SIGUSR1), 0);
    give_them_time();
    assert_int_equal(signals, 0);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    give_them_time();
    assert_int_equal(signals, 1);
    ferry_lab_ahead_end(ahead);
    assert_int_equal(sigaction(SIGUSR1, &old, NULL), 0);
    bench.others = 0;
    unload();
}

static void who_is_alone_has_nobody_to_wish_from(void **state)
{
    const struct ferry_lab_wish wish = {.bytes = PAGE, .without = FERRY_LAB_ALL_USED};
    static const struct ferry_lab_watch watch;
    struct ferry_lab_outcome outcome;
    (void)state;
    load_some();
    assert_null(ferry_lab_ahead_begin(&bench));
    bench.others = 2;
    bench.watch = &watch;
    assert_null(ferry_lab_ahead_begin(&bench));
    assert_int_equal(ferry_lab_ahead_most(NULL), 0);
    ferry_lab_ahead_wish(NULL, &wish, 1);
    assert_false(ferry_lab_ahead_take(NULL, &wish, &outcome));
    ferry_lab_ahead_end(NULL);
    unload();
}

static void what_nobody_wants_is_cut_off_at_a_job(void **state)
{
    atomic_bool cut_off = false;
    struct ferry_lab_outcome outcome;
    (void)state;
    load_some();
    uint64_t bytes = bench.traces.most_living;
    bench.manner.cut_off = &cut_off;
    ferry_lab_run(&bench, NULL, bytes, &outcome);
    assert_int_equal(outcome.result, FERRY_LAB_OK);
    ferry_lab_outcome_release(&outcome);
    cut_off = true;
    ferry_lab_run(&bench, NULL, bytes, &outcome);
    assert_int_equal(outcome.result, FERRY_LAB_CUT_OFF);
    assert_int_equal(outcome.played, 1);
    ferry_lab_outcome_release(&outcome);
    unload();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_search_asks_for_and_finds_what_it_does_alone),
        cmocka_unit_test(what_is_known_is_played_no_more),
        cmocka_unit_test(what_is_wished_is_played),
        cmocka_unit_test(signals_are_the_first_threads),
        cmocka_unit_test(who_is_alone_has_nobody_to_wish_from),
        cmocka_unit_test(what_nobody_wants_is_cut_off_at_a_job),
    };
    chance = seed_given(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
