// SPDX-License-Identifier: Apache-2.0
// One end of frames over bytes: what it says next to each frame that comes. What a noisy channel makes of two ends
// (test_frames.c) may be the same in the end, only later.
#include "one_end.h"

// ---- Sessions ---------------------------------------------------------------------------------------------------

static void what_a_session_has_learned_ends_with_it(void **state)
{
    (void)state;
    struct ferry_frames *host = open_host();
    // Nothing is acknowledged for long; one more is on its way when the session ends.
    assert_true(send_one(host));
    for (unsigned n = 0; n < 40; n++) {
        take_all(host);
        ferry_frames_tick(host, LEAST);
    }
    assert_true(ferry_frames_silent(host) > 2 && host->patience > 2 * LEAST);
    feed_news(host, 1, false);
    assert_true(send_one(host));
    take_all(host);
    ferry_frames_tick(host, host->patience);
    assert_true(ferry_frames_silent(host) > 0 && host->patience > 2 * LEAST);
    take_all(host);
    assert_true(send_one(host));
    take_all(host);
    open_host_again(host, 2);
    assert_int_equal(ferry_frames_silent(host), 0);
    assert_int_equal(ferry_frames_queued(host), 0);
    assert_int_equal(host->patience, LEAST);
    // The first frame's way is measured, with nothing of the former's time in it.
    assert_true(send_one(host));
    take_all(host);
    ferry_frames_tick(host, LEAST - 10);
    feed_news(host, 1, false);
    assert_int_equal(host->patience, 2 * (LEAST - 10));
    free(host);
}

static void a_new_session_asks_for_nothing_of_the_old_one(void **state)
{
    (void)state;
    struct ferry_frames *device = open_device();
    const uint8_t noise[] = {3, 7, 0};
    feed_packet(device, 5); // Too early: asked for,
    assert_true(asks_again(next(device)));
    ferry_frames_feed(device, noise, sizeof noise); // and again.
    answer_question(device, 2, FERRY_TUNNEL_VERDICT_ACCEPTED);
    assert_int_equal(next(device), 0);
    // One that is earlier still is missed anew.
    feed_packet(device, 7);
    assert_true(asks_again(next(device)));
    free(device);
}

static void a_question_ends_the_session_of_before(void **state)
{
    (void)state;
    const struct ferry_tunnel_hello second = question(2), third = question(3);
    struct ferry_frames *device = open_device();
    struct ferry_tunnel_hello came;
    bool control;
    size_t count;
    feed_hello(device, &second);
    assert_false(ferry_frames_open(device) || send_one(device));
    feed_packet(device, 0);
    assert_int_equal(device->counts.refused, 1);
    assert_null(ferry_frames_receive(device, &control, &count));
    // An answer that has not gone yet, and whose session is over, does not go.
    const struct ferry_tunnel_hello answer = answer_to(&second, FERRY_TUNNEL_VERDICT_ACCEPTED);
    assert_true(ferry_frames_hello(device, &came));
    ferry_frames_answer(device, &answer);
    feed_hello(device, &third);
    assert_int_equal(next(device), 0);
    assert_true(ferry_frames_hello(device, &came));
    assert_int_equal(came.session, 3);
    assert_false(ferry_frames_hello(device, &came));
    free(device);
}

static void answers_that_nobody_waits_for_are_none(void **state)
{
    (void)state;
    const struct ferry_tunnel_hello first = question(1), second = question(2);
    const struct ferry_tunnel_hello late = answer_to(&first, FERRY_TUNNEL_VERDICT_ACCEPTED);
    const struct ferry_tunnel_hello no = answer_to(&second, FERRY_TUNNEL_VERDICT_IN_USE);
    struct ferry_frames *host = open_host();
    struct ferry_tunnel_hello came;
    // The former session's, while the next one is asked for: it is asked for still.
    ferry_frames_ask(host, &second);
    take_all(host);
    feed_hello(host, &late);
    assert_false(ferry_frames_open(host) || ferry_frames_hello(host, &came));
    ferry_frames_tick(host, LEAST);
    assert_true(is_hello(next(host)));
    ferry_frames_tick(host, LEAST - 1);
    assert_int_equal(next(host), 0);
    ferry_frames_tick(host, 1);
    assert_true(is_hello(next(host)));
    // Refused: nothing is said any more, and the same answer twice is one.
    feed_hello(host, &no);
    assert_true(ferry_frames_hello(host, &came));
    feed_hello(host, &no);
    assert_false(ferry_frames_hello(host, &came) || ferry_frames_open(host));
    ferry_frames_tick(host, 100 * LEAST);
    assert_int_equal(next(host), 0);
    // A later question forgets what was not taken, and what was to be sent.
    ferry_frames_ask(host, &second);
    feed_hello(host, &no);
    open_host_again(host, 3);
    assert_false(ferry_frames_hello(host, &came));
    assert_true(send_one(host));
    ferry_frames_tick(host, LEAST);
    assert_int_equal(ferry_frames_silent(host), 1);
    ferry_frames_ask(host, &second);
    assert_int_equal(ferry_frames_silent(host), 0);
    assert_int_equal(ferry_frames_queued(host), 0);
    feed_hello(host, &no);
    ferry_frames_ask(host, &second);
    assert_false(ferry_frames_hello(host, &came));
    open_host_again(host, 3);
    // An answer of before it that comes again.
    feed_hello(host, &no);
    assert_true(ferry_frames_open(host));
    assert_false(ferry_frames_hello(host, &came));
    free(host);
}

static void a_question_is_answered_as_often_as_it_comes(void **state)
{
    (void)state;
    const struct ferry_tunnel_hello hello = question(1);
    struct ferry_frames *device = open_device();
    struct ferry_tunnel_hello came;
    // The session has begun with the first, and with its credit: what the device has goes at once.
    assert_true(send_one(device));
    assert_int_equal(next(device) & FERRY_TUNNEL_FRAME_HEAD_COUNTED_MASK, FERRY_TUNNEL_FRAME_HEAD_COUNTED_MASK);
    feed_hello(device, &hello);
    assert_true(is_hello(next(device)));
    assert_int_equal(next(device), 0);
    assert_false(ferry_frames_hello(device, &came));
    assert_true(ferry_frames_open(device));
    assert_int_equal(ferry_frames_queued(device), 1);
    free(device);
}

static void a_hello_has_its_length(void **state)
{
    (void)state;
    struct ferry_frames *device = calloc(1, sizeof *device);
    const struct ferry_tunnel_hello hello = question(1);
    struct ferry_tunnel_hello came;
    uint32_t words[HELLO_WORDS + 1] = {0};
    ferry_frames_start(device, LEAST);
    memcpy(words, &hello, sizeof hello);
    for (uint32_t count = 1; count <= HELLO_WORDS + 1; count++) {
        feed(device, FERRY_TUNNEL_FRAME_HEAD_CONTROL_MASK, words, count);
        assert_int_equal(ferry_frames_hello(device, &came), count == HELLO_WORDS);
    }
    assert_int_equal(device->counts.refused, HELLO_WORDS);
    free(device);
}

// ---- What is missing --------------------------------------------------------------------------------------------

static void a_round_is_asked_for_once(void **state)
{
    (void)state;
    struct ferry_frames *device = open_device();
    feed_packet(device, 2);
    feed_packet(device, 3);
    assert_true(asks_again(next(device)));
    feed_packet(device, 4);
    assert_false(asks_again(next(device)));
    // They come once more from the one that was asked for on, and it is lost again.
    feed_packet(device, 4);
    assert_true(asks_again(next(device)));
    feed_packet(device, 1);
    assert_true(asks_again(next(device)));
    assert_int_equal(device->counts.early, 5);
    // A frame that only tells how far the other end is shows the gap, and is no frame that came early.
    feed(device, FERRY_PUT(FERRY_TUNNEL_FRAME_HEAD_SEQUENCE, 1u), NULL, 0);
    assert_true(asks_again(next(device)));
    assert_int_equal(device->counts.early, 5);
    // When nothing is missing any more, the next gap is a new one.
    feed(device, 0, NULL, 0);
    feed_packet(device, 3);
    assert_true(asks_again(next(device)));
    feed_packet(device, 0);
    assert_false(asks_again(next(device)));
    feed_packet(device, 5);
    assert_true(asks_again(next(device)));
    free(device);
}

static void what_has_come_before_is_acknowledged_again(void **state)
{
    (void)state;
    struct ferry_frames *device = open_device();
    bool control;
    size_t count;
    feed_packet(device, 0);
    assert_int_equal(FERRY_GET(FERRY_TUNNEL_FRAME_HEAD_ACK, next(device)), 1);
    assert_int_equal(next(device), 0);
    feed_packet(device, 0);
    assert_int_equal(FERRY_GET(FERRY_TUNNEL_FRAME_HEAD_ACK, next(device)), 1);
    assert_int_equal(device->counts.doubled, 1);
    // Room that is free again is news too, once.
    assert_non_null(ferry_frames_receive(device, &control, &count));
    assert_int_equal(FERRY_GET(FERRY_TUNNEL_FRAME_HEAD_CREDIT, next(device)), FERRY_FRAMES_ROOM);
    assert_int_equal(next(device), 0);
    assert_null(ferry_frames_receive(device, &control, &count));
    // Who asks for the rest again, and has all, is told so.
    feed(device, FERRY_PUT(FERRY_TUNNEL_FRAME_HEAD_SEQUENCE, 1u) | FERRY_TUNNEL_FRAME_HEAD_AGAIN_MASK, NULL, 0);
    assert_int_equal(FERRY_GET(FERRY_TUNNEL_FRAME_HEAD_ACK, next(device)), 1);
    assert_int_equal(next(device), 0);
    free(device);
}

static void nobody_acknowledges_what_was_not_sent(void **state)
{
    (void)state;
    struct ferry_frames *host = open_host();
    assert_true(send_one(host) && send_one(host));
    feed_news(host, 1, false);
    assert_int_equal(host->counts.refused, 1);
    assert_int_equal(host->counts.acknowledged, 0);
    take_all(host);
    assert_int_equal(host->counts.frames_out, 2);
    feed_news(host, 2, false);
    assert_int_equal(host->counts.acknowledged, 2);
    // Acknowledged while it was to be sent again: it is not.
    assert_true(send_one(host));
    take_all(host);
    ferry_frames_tick(host, host->patience);
    feed_news(host, 3, false);
    take_all(host);
    assert_int_equal(host->counts.resent, 0);
    assert_true(send_one(host));
    assert_int_equal(FERRY_GET(FERRY_TUNNEL_FRAME_HEAD_SEQUENCE, next(host)), 3);
    free(host);
}

// ---- Packets ----------------------------------------------------------------------------------------------------

static void packets_have_a_length_and_a_window(void **state)
{
    (void)state;
    struct ferry_frames *host = open_host();
    static const uint32_t words[FERRY_FRAME_MAX_WORDS + 1];
    assert_false(ferry_frames_send(host, false, words, 0));
    assert_false(ferry_frames_send(host, false, words, FERRY_FRAME_MAX_WORDS + 1));
    assert_true(ferry_frames_send(host, true, words, 9));
    assert_int_equal(ferry_frames_queued(host), 0); // Messages are none of the host's packets.
    for (unsigned n = 1; n < FERRY_FRAMES_WINDOW; n++)
        assert_true(ferry_frames_send(host, false, words, 2));
    assert_false(send_one(host));
    assert_int_equal(ferry_frames_queued(host), 2 * (FERRY_FRAMES_WINDOW - 1));
    free(host);
}

/// Room is counted in units of four words; the last unit may be used, and what is on its way is in it.
static void credit_is_used_to_the_last_unit(void **state)
{
    (void)state;
    struct ferry_frames *host = open_host();
    static const uint32_t words[8];
    feed(host, FERRY_PUT(FERRY_TUNNEL_FRAME_HEAD_CREDIT, 3u), NULL, 0);
    assert_true(ferry_frames_send(host, false, words, 4) && ferry_frames_send(host, false, words, 5));
    assert_true(ferry_frames_send(host, false, words, 1));
    take_all(host);
    assert_int_equal(host->counts.frames_out, 2);
    feed(host, FERRY_PUT(FERRY_TUNNEL_FRAME_HEAD_ACK, 1u) | FERRY_PUT(FERRY_TUNNEL_FRAME_HEAD_CREDIT, 2u), NULL, 0);
    take_all(host);
    assert_int_equal(host->counts.frames_out, 2);
    feed(host, FERRY_PUT(FERRY_TUNNEL_FRAME_HEAD_ACK, 1u) | FERRY_PUT(FERRY_TUNNEL_FRAME_HEAD_CREDIT, 3u), NULL, 0);
    take_all(host);
    assert_int_equal(host->counts.frames_out, 3);
    free(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_session_has_learned_ends_with_it),
        cmocka_unit_test(a_new_session_asks_for_nothing_of_the_old_one),
        cmocka_unit_test(a_question_ends_the_session_of_before),
        cmocka_unit_test(answers_that_nobody_waits_for_are_none),
        cmocka_unit_test(a_question_is_answered_as_often_as_it_comes),
        cmocka_unit_test(a_hello_has_its_length),
        cmocka_unit_test(a_round_is_asked_for_once),
        cmocka_unit_test(what_has_come_before_is_acknowledged_again),
        cmocka_unit_test(nobody_acknowledges_what_was_not_sent),
        cmocka_unit_test(packets_have_a_length_and_a_window),
        cmocka_unit_test(credit_is_used_to_the_last_unit),
    };
    return cmocka_run_group_tests_name("frames_one_end", tests, NULL, NULL);
}
