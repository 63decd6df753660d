// SPDX-License-Identifier: Apache-2.0
// One end of frames over bytes: when it sends again what was not acknowledged, and how it learns how far the other end
// is.
#include "one_end.h"

/// Which of the two it is that is acknowledged, nobody could tell: the way would seem longer than it is, or shorter.
static void a_frame_that_was_sent_twice_measures_nothing(void **state)
{
    (void)state;
    struct ferry_frames *host = open_host();
    const uint32_t words[1] = {1};
    // Sent once: twice its way is patience enough.
    assert_true(ferry_frames_send(host, false, words, 1));
    take_all(host);
    ferry_frames_tick(host, LEAST - 10);
    feed_news(host, 1, false);
    assert_int_equal(host->patience, 2 * (LEAST - 10));
    // Sent again because it was asked for, and each time acknowledged before its time is over.
    const uint32_t before = host->patience;
    assert_true(ferry_frames_send(host, false, words, 1));
    take_all(host);
    ferry_frames_tick(host, before - 10);
    feed_news(host, 1, true);
    take_all(host);
    assert_int_equal(host->counts.resent, 1);
    ferry_frames_tick(host, before - 10);
    feed_news(host, 2, false);
    assert_int_equal(host->counts.acknowledged, 2);
    assert_int_equal(host->counts.silences, 0);
    assert_int_equal(host->patience, before);
    // Nor does the first of several that go again; the next new one does.
    for (unsigned n = 0; n < 3; n++)
        assert_true(ferry_frames_send(host, false, words, 1));
    take_all(host);
    feed_news(host, 3, true);
    const uint32_t learned = host->patience; // The first went once: half at most.
    assert_int_equal(learned, LEAST);
    take_all(host);
    assert_int_equal(host->counts.resent, 3);
    ferry_frames_tick(host, LEAST - 1);
    feed_news(host, 5, false);
    assert_int_equal(host->patience, LEAST);
    assert_true(ferry_frames_send(host, false, words, 1));
    take_all(host);
    ferry_frames_tick(host, LEAST - 1);
    feed_news(host, 6, false);
    assert_int_equal(host->patience, 2 * (LEAST - 1));
    free(host);
}

static void patience_grows_and_falls_within_bounds(void **state)
{
    (void)state;
    struct ferry_frames *host = open_host();
    assert_true(send_one(host));
    // It doubles each time that what is on its way is sent again, up to sixteen times the least.
    uint32_t patience = LEAST;
    for (unsigned silences = 1; silences < 8; silences++) {
        take_all(host);
        ferry_frames_tick(host, patience - 1);
        assert_int_equal(ferry_frames_silent(host), silences - 1);
        ferry_frames_tick(host, 1);
        assert_int_equal(ferry_frames_silent(host), silences);
        assert_int_equal(host->counts.silences, silences);
        patience = patience < 8 * LEAST ? 2 * patience : 16 * LEAST;
        assert_int_equal(host->patience, patience);
        assert_true(asks_again(next(host)));
    }
    // A way that takes nearly that long makes it no longer.
    feed_news(host, 1, false);
    assert_int_equal(ferry_frames_silent(host), 0);
    assert_true(send_one(host));
    take_all(host);
    ferry_frames_tick(host, 16 * LEAST - 1);
    feed_news(host, 2, false);
    assert_int_equal(host->patience, 16 * LEAST);
    // Short ones lower it, by half each.
    for (uint32_t number = 3; number < 9; number++) {
        assert_true(send_one(host));
        take_all(host);
        ferry_frames_tick(host, 1);
        feed_news(host, number, false);
        patience = patience > 2 * LEAST ? patience / 2 : LEAST;
        assert_int_equal(host->patience, patience);
    }
    // Where nothing is on its way there is no silence, and nothing that would have to be heard.
    ferry_frames_tick(host, 1000 * LEAST);
    assert_int_equal(host->counts.silences, 7);
    assert_int_equal(next(host), 0);
    assert_true(send_one(host));
    take_all(host);
    ferry_frames_tick(host, LEAST - 1);
    assert_int_equal(host->counts.silences, 7);
    free(host);
}

static void time_counts_from_the_last_progress(void **state)
{
    (void)state;
    struct ferry_frames *host = open_host();
    assert_true(send_one(host) && send_one(host));
    take_all(host);
    // A sign of life is no progress,
    ferry_frames_tick(host, LEAST - 1);
    feed_news(host, 0, false);
    ferry_frames_tick(host, 1);
    assert_int_equal(host->counts.silences, 1);
    take_all(host);
    assert_int_equal(host->counts.resent, 2);
    // an acknowledgement is.
    ferry_frames_tick(host, 2 * LEAST - 1);
    feed_news(host, 1, false);
    ferry_frames_tick(host, host->patience - 1);
    assert_int_equal(host->counts.silences, 1);
    feed_news(host, 2, false);
    // What waits before it is sent (for room at the other end) is not on its way: its time begins when it goes.
    feed(host, FERRY_PUT(FERRY_TUNNEL_FRAME_HEAD_ACK, 2u), NULL, 0);
    assert_true(send_one(host));
    assert_int_equal(host->credit, 0);
    // It is no reason for more patience either.
    const uint32_t patience = host->patience;
    ferry_frames_tick(host, patience);
    assert_int_equal(host->counts.silences, 2);
    assert_int_equal(host->patience, patience);
    ferry_frames_tick(host, patience - 1);
    feed_news(host, 2, false);
    take_all(host);
    assert_int_equal(host->counts.frames_out, 3);
    ferry_frames_tick(host, patience - 1);
    assert_int_equal(host->counts.silences, 2);
    free(host);
}

static void a_channel_that_loses_nothing_has_no_time(void **state)
{
    (void)state;
    struct ferry_frames *host = calloc(1, sizeof *host);
    const struct ferry_tunnel_hello hello = question(1);
    ferry_frames_start(host, 0);
    ferry_frames_ask(host, &hello);
    take_all(host);
    ferry_frames_tick(host, 1u << 30);
    assert_int_equal(next(host), 0);
    assert_int_equal(ferry_frames_silent(host), 0);
    free(host);
}

static void who_hears_nothing_asks_when_there_is_a_session(void **state)
{
    (void)state;
    struct ferry_frames *host = calloc(1, sizeof *host);
    const struct ferry_tunnel_hello hello = question(1);
    const uint8_t noise[] = {3, 7, 0};
    ferry_frames_start(host, LEAST);
    ferry_frames_probe(host);
    ferry_frames_feed(host, noise, sizeof noise);
    assert_int_equal(next(host), 0);
    ferry_frames_ask(host, &hello);
    take_all(host);
    ferry_frames_probe(host);
    open_host_again(host, 1);
    assert_int_equal(next(host), 0);
    ferry_frames_probe(host);
    assert_true(asks_again(next(host)));
    ferry_frames_feed(host, noise, sizeof noise);
    assert_true(asks_again(next(host)));
    free(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_that_was_sent_twice_measures_nothing),
        cmocka_unit_test(patience_grows_and_falls_within_bounds),
        cmocka_unit_test(time_counts_from_the_last_progress),
        cmocka_unit_test(a_channel_that_loses_nothing_has_no_time),
        cmocka_unit_test(who_hears_nothing_asks_when_there_is_a_session),
    };
    return cmocka_run_group_tests_name("frames_patience", tests, NULL, NULL);
}
