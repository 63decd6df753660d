// SPDX-License-Identifier: Apache-2.0
// Frames over bytes: the format against a reader of its own (byte stuffing undone another way, CRC of zlib), then two
// ends over a channel with noise. FERRY_SEED replays.
#include "two_ends.h"

#include <zlib.h>

#define NOISE 1049u // 10^-3 of 2^20.

static uint64_t seed = 1;

// ---- The format ---------------------------------------------------------------------------------------------------

/// The bytes between two zeros as a frame's, or 0: from the back of the description of the format, not of the code.
static size_t read_back(const uint8_t *bytes, size_t count, uint8_t *plain)
{
    size_t made = 0;
    for (size_t at = 0; at < count;) {
        const size_t run = bytes[at];
        for (size_t n = 1; n < run; n++)
            plain[made++] = bytes[at + n];
        at += run;
        if (run < 255 && at < count)
            plain[made++] = 0;
    }
    return made;
}

static void a_frame_is_what_the_manual_says(void **state)
{
    (void)state;
    uint64_t random = seed * 2 + 1;
    for (uint32_t round = 0; round < 4 * (FERRY_FRAME_MAX_WORDS + 1); round++) {
        const uint32_t count = round % (FERRY_FRAME_MAX_WORDS + 1);
        uint32_t words[FERRY_FRAME_MAX_WORDS];
        uint8_t bytes[FERRY_FRAME_BYTES], plain[2 * FERRY_FRAME_BYTES];
        for (uint32_t n = 0; n < count; n++) {
            const uint32_t kind = round / (FERRY_FRAME_MAX_WORDS + 1);
            words[n] = kind == 0   ? 0
                       : kind == 1 ? 0xffffffff
                                   : channel_random(&random) & (kind == 2 ? 0x01000100 : ~0u);
        }
        const uint32_t head = (channel_random(&random) & ~0x7fu) | count;
        const size_t made = ferry_frame_encode(head, words, count, bytes);
        assert_in_range(made, 10, 4 * (count + 2) + 1 + (4 * (count + 2) + 253) / 254);
        assert_int_equal(bytes[made - 1], 0);
        assert_null(memchr(bytes, 0, made - 1));
        assert_int_equal(read_back(bytes, made - 1, plain), 4 * (count + 2));
        for (uint32_t n = 0; n < count + 1; n++) {
            const uint32_t word = n == 0 ? head : words[n - 1];
            assert_int_equal(
                plain[4 * n] | plain[4 * n + 1] << 8 | plain[4 * n + 2] << 16 | (uint32_t)plain[4 * n + 3] << 24, word);
        }
        const uint32_t crc = (uint32_t)crc32(0, plain, 4 * (count + 1));
        for (unsigned n = 0; n < 4; n++)
            assert_int_equal(plain[4 * (count + 1) + n], crc >> 8 * n & 0xff);

        struct ferry_frame_decoder decoder = {.count = 0};
        uint32_t got[FERRY_FRAME_MAX_WORDS], got_head = 0, lost;
        for (size_t n = 0; n < made; n++)
            assert_int_equal(ferry_frame_decode(&decoder, bytes[n], &got_head, got, &lost),
                             n + 1 == made ? FERRY_FRAME_GOOD : FERRY_FRAME_MORE);
        assert_int_equal(got_head, head);
        assert_memory_equal(got, words, 4 * count);
    }
}

static void every_changed_byte_is_seen(void **state)
{
    (void)state;
    const uint32_t words[5] = {0x12345678, 0, 0xffffffff, 0x00ff00ff, 5};
    uint8_t bytes[FERRY_FRAME_BYTES];
    const size_t made = ferry_frame_encode(5, words, 5, bytes);
    for (size_t at = 0; at < made - 1; at++) {
        for (unsigned flip = 1; flip < 256; flip++) {
            struct ferry_frame_decoder decoder = {.count = 0};
            uint32_t got[FERRY_FRAME_MAX_WORDS], head, lost, total = 0, bad = 0;
            for (size_t n = 0; n < made; n++) {
                const enum ferry_frame_step step =
                    ferry_frame_decode(&decoder, bytes[n] ^ (n == at ? flip : 0), &head, got, &lost);
                assert_int_not_equal(step, FERRY_FRAME_GOOD);
                bad += step == FERRY_FRAME_BAD;
                total += step == FERRY_FRAME_BAD ? lost : 0;
            }
            // A byte that became zero makes two pieces of it; before the first byte that is a zero between frames.
            assert_in_range(bad, 1, 2);
            assert_in_range(total, made - 1, made);
        }
    }
}

// ---- Two ends -----------------------------------------------------------------------------------------------------

static void noise_costs_time_and_nothing_else(void **state)
{
    (void)state;
    struct two *two = make_two(seed, NOISE, 20 + seed % 400);
    two->host.lazy = 1 + seed % 300;
    two->device.lazy = 1 + seed / 3 % 300;
    open_session(two, 77);
    carry(two, 0, 2000, 2000);
    say("host", &two->host);
    say("device", &two->device);
    const struct noisy_channel *const channels[] = {&two->host.out, &two->device.out};
    for (unsigned n = 0; n < 2; n++)
        assert_true(channels[n]->lost > 100 && channels[n]->changed > 100 && channels[n]->doubled > 100 &&
                    channels[n]->swapped > 100);
    assert_true(two->host.frames.counts.bad_frames > 100 && two->host.frames.counts.noise_bytes > 1000);
    assert_true(two->device.frames.counts.resent > 100);
    free(two);
}

static void nine_tenths_of_the_bytes_are_payload(void **state)
{
    (void)state;
    // A write of 256 bytes above 4 GiB is the longest packet: four words of header. 2 channels at once, then one alone.
    for (unsigned alone = 0; alone < 2; alone++) {
        struct two *two = make_two(seed, 0, 100);
        open_session(two, 1);
        for (unsigned n = 0; n < 1000; n++)
            step(two, 0);
        two->ticks = 0;
        const uint64_t before[] = {two->host.out.carried, two->device.out.carried};
        carry(two, 68, 500, alone ? 0 : 500);
        const double down = (double)two->device.payload / (double)(two->host.out.carried - before[0]);
        const double up = (double)two->host.payload / (double)(two->device.out.carried - before[1]);
        printf("payload of the bytes: to the device %.2f %%, to the host %.2f %%\n", 100 * down, 100 * up);
        assert_true(down >= 0.9 && (alone || up >= 0.9));
        // Nor may the channel stand still: a byte a tick.
        assert_true((double)two->device.payload / (double)two->ticks >= 0.88);
        assert_int_equal(two->host.frames.counts.resent + two->device.frames.counts.resent, 0);
        free(two);
    }
}

static void no_more_is_sent_than_there_is_room_for(void **state)
{
    (void)state;
    struct two *two = make_two(seed, 0, 50);
    open_session(two, 1);
    two->device.lazy = UINT32_MAX; // Takes nothing.
    two->host.to_send = two->device.to_come = 200;
    for (unsigned n = 0; n < 20 * RESEND_TICKS; n++)
        step(two, 68);
    assert_int_equal(two->device.frames.counts.frames_in, FERRY_FRAMES_ROOM / 17);
    assert_int_equal(two->device.frames.counts.refused, 0);
    assert_true(ferry_frames_queued(&two->host.frames) > 0);
    two->device.lazy = 1;
    carry_on(two, 68);
    free(two);
}

static void credits_that_were_lost_come_again(void **state)
{
    (void)state;
    struct two *two = make_two(seed, 0, 10);
    open_session(two, 1);
    two->device.lazy = UINT32_MAX;
    two->host.to_send = two->device.to_come = 100;
    for (unsigned n = 0; n < 10 * RESEND_TICKS; n++)
        step(two, 68);
    // The room is free again, but the frames that say so are lost.
    two->device.lazy = 1;
    two->device.out.noise = 1u << 20;
    for (unsigned n = 0; n < 5 * RESEND_TICKS; n++)
        step(two, 68);
    assert_int_equal(two->device.to_come, 100 - FERRY_FRAMES_ROOM / 17);
    assert_true(ferry_frames_silent(&two->host.frames) >= 3);
    two->device.out.noise = 0;
    carry_on(two, 68);
    while (ferry_frames_queued(&two->host.frames) != 0)
        step(two, 68);
    assert_int_equal(ferry_frames_silent(&two->host.frames), 0);
    free(two);
}

/// A buffer on the way that nobody knew of: what waits in it is not lost, and sending it again would only fill it.
static void a_longer_way_than_was_said_is_learned(void **state)
{
    (void)state;
    struct two *two = make_two(seed, 0, 2 * RESEND_TICKS / 3);
    two->host.frames.resend_ticks = two->host.frames.patience = RESEND_TICKS / 6;
    two->device.frames.resend_ticks = two->device.frames.patience = RESEND_TICKS / 6;
    open_session(two, 1);
    carry(two, 0, 1000, 1000);
    // What was sent in the first rounds, before any acknowledgement had told how far it is.
    assert_in_range(two->host.frames.counts.resent, 1, 4 * FERRY_FRAMES_WINDOW);
    assert_in_range(two->device.frames.counts.resent, 1, 4 * FERRY_FRAMES_WINDOW);
    // A short way is learned too: one lost frame at the end costs no more than it did.
    two->host.out.latency = two->device.out.latency = 5;
    carry(two, 0, 1000, 1000);
    assert_in_range(two->host.frames.patience, RESEND_TICKS / 6, RESEND_TICKS / 2);
    free(two);
}

static void half_frames_and_a_terminal_resynchronise(void **state)
{
    (void)state;
    struct two *two = make_two(seed, 0, 10);
    static const char text[] = "\r\nlogin: root\r\nPassword: \x1b[A\x1b[B AT+CGMI\r\n";
    uint8_t half[FERRY_FRAME_BYTES];
    open_session(two, 1);
    carry(two, 0, 100, 100);
    for (unsigned n = 0; n < 200; n++) {
        const uint32_t words[3] = {n, n, n};
        const size_t made = ferry_frame_encode(0x8003, words, 3, half);
        struct ferry_frames *const frames = n & 1 ? &two->host.frames : &two->device.frames;
        const uint64_t noise = frames->counts.noise_bytes;
        ferry_frames_feed(frames, (const uint8_t *)text, n % sizeof text);
        ferry_frames_feed(frames, half, n % (made - 1));
        const size_t fed = n % sizeof text + n % (made - 1);
        carry(two, 0, 1, 1);
        for (unsigned m = 0; m < 4 * RESEND_TICKS &&
                             ferry_frames_queued(&two->host.frames) + ferry_frames_queued(&two->device.frames) != 0;
             m++)
            step(two, 0);
        assert_true(frames->counts.noise_bytes - noise >= (n % sizeof text == sizeof text - 1 ? 0 : fed));
    }
    // Without an end, and longer than any frame.
    for (unsigned n = 0; n < 100000; n++)
        ferry_frames_feed(&two->host.frames, (const uint8_t *)text, sizeof text - 1);
    carry(two, 0, 100, 100);
    free(two);
}

static void frames_in_the_payload_are_payload(void **state)
{
    (void)state;
    struct two *two = make_two(seed, NOISE, 50);
    open_session(two, 1);
    // What a recording of this very link holds: hellos of other sessions, and packets that were never sent.
    struct ferry_tunnel_hello other = question(2);
    uint32_t hello[FERRY_TUNNEL_HELLO_SIZE / 4], words[FERRY_FRAME_MAX_WORDS];
    uint8_t bytes[2 * FERRY_FRAME_BYTES];
    memcpy(hello, &other, sizeof hello);
    uint32_t came = 0, sent = 0;
    memset(bytes, 0, sizeof bytes);
    size_t made = ferry_frame_encode(0xff800009, hello, 9, bytes);
    for (unsigned sequence = 0; sequence < 8; sequence++)
        made += ferry_frame_encode(0xff008001 | sequence << 8, &(uint32_t){0xdead}, 1, bytes + made);
    assert_in_range(made, 1, sizeof words);
    for (unsigned n = 0; n < FERRY_FRAME_MAX_WORDS; n++)
        words[n] = bytes[4 * n] | bytes[4 * n + 1] << 8 | bytes[4 * n + 2] << 16 | (uint32_t)bytes[4 * n + 3] << 24;
    while (came < 2000) {
        bool control;
        size_t count;
        struct ferry_tunnel_hello got;
        sent += sent < 2000 && ferry_frames_send(&two->host.frames, false, words, FERRY_FRAME_MAX_WORDS);
        move_bytes(&two->host.frames, &two->host.out, &two->device.out);
        move_bytes(&two->device.frames, &two->device.out, &two->host.out);
        const uint32_t *packet = ferry_frames_receive(&two->device.frames, &control, &count);
        if (packet != NULL) {
            assert_false(control);
            assert_int_equal(count, FERRY_FRAME_MAX_WORDS);
            assert_memory_equal(packet, words, sizeof words);
            came++;
        }
        assert_false(ferry_frames_hello(&two->device.frames, &got));
        ferry_frames_tick(&two->host.frames, 1);
        ferry_frames_tick(&two->device.frames, 1);
    }
    free(two);
}

static void a_new_session_leaves_nothing_of_the_old_one(void **state)
{
    (void)state;
    struct two *two = make_two(seed, seed % 3 == 0 ? 0 : NOISE, 300);
    for (uint32_t session = 1; session < 30; session++) {
        // The host of before died in the middle; the next one counts from 0, and so do packets.
        open_session(two, session);
        two->host.random = two->device.expected = seed * 1000 + 2 * session + 1;
        two->device.random = two->host.expected = seed * 2000 + 2 * session + 1;
        carry(two, 0, 20, 20);
        two->host.to_send = two->device.to_come = two->device.to_send = two->host.to_come = 30;
        for (unsigned n = 0; n < 1000 + 50 * session; n++)
            step(two, 0);
        two->host.to_send = two->device.to_send = 0;
    }
    free(two);
}

static void who_is_refused_is_told(void **state)
{
    (void)state;
    struct two *two = make_two(seed, 0, 5);
    struct ferry_tunnel_hello hello = question(5), came;
    ferry_frames_ask(&two->host.frames, &hello);
    bool told = false;
    for (unsigned n = 0; n < 4 * RESEND_TICKS && !told; n++) {
        step_end(&two->host, &two->device.out, 0, &two->random);
        step_end(&two->device, &two->host.out, 0, &two->random);
        if (ferry_frames_hello(&two->device.frames, &came)) {
            assert_int_equal(came.contract_version, FERRY_CONTRACT_VERSION);
            came = answer_to(&came, FERRY_TUNNEL_VERDICT_IN_USE);
            came.user = 4711;
            ferry_frames_answer(&two->device.frames, &came);
        }
        told = ferry_frames_hello(&two->host.frames, &came);
    }
    assert_true(told);
    assert_int_equal(came.user, 4711);
    assert_int_equal(FERRY_GET(FERRY_TUNNEL_HELLO_WHAT_VERDICT, came.what), FERRY_TUNNEL_VERDICT_IN_USE);
    assert_false(ferry_frames_open(&two->host.frames) || ferry_frames_open(&two->device.frames));
    const uint32_t word = 1;
    assert_false(ferry_frames_send(&two->host.frames, false, &word, 1));
    free(two);
}

static void frames_that_cannot_be_are_refused(void **state)
{
    (void)state;
    struct two *two = make_two(seed, 0, 5);
    struct ferry_tunnel_hello hello;
    uint32_t words[FERRY_FRAME_MAX_WORDS] = {0};
    uint8_t bytes[FERRY_FRAME_BYTES];
    bool control;
    size_t count;
    open_session(two, 1);
    carry(two, 0, 3, 3);
    for (unsigned n = 0; n < RESEND_TICKS; n++)
        step(two, 0); // Acknowledgements too.
    struct {
        uint32_t head, words;
    } const bad[] = {
        {0xff048301, 1}, // Acknowledges what was never sent.
        {0xff038300, 0}, // A packet without words.
        {0xff030302, 2}, // Words that are nothing.
        {0xff800008, 8}, // A hello cut short,
        {0xff800009, 9}, // and one of something else.
    };
    for (unsigned n = 0; n < sizeof bad / sizeof bad[0]; n++) {
        const size_t made = ferry_frame_encode(bad[n].head | bad[n].words, words, bad[n].words, bytes);
        ferry_frames_feed(&two->device.frames, bytes, made);
        assert_int_equal(two->device.frames.counts.refused, n + 1);
    }
    // The question once more, late: the session goes on.
    hello = question(1);
    memcpy(words, &hello, sizeof hello);
    ferry_frames_feed(&two->device.frames, bytes, ferry_frame_encode(0xff800009, words, 9, bytes));
    assert_null(ferry_frames_receive(&two->device.frames, &control, &count));
    assert_false(ferry_frames_hello(&two->device.frames, &hello));
    carry(two, 0, 50, 50);
    free(two);
}

static void ones_own_echo_is_no_device(void **state)
{
    (void)state;
    struct two *two = make_two(seed, 0, 0);
    struct ferry_tunnel_hello hello = question(5), came;
    uint8_t byte;
    ferry_frames_ask(&two->host.frames, &hello);
    for (unsigned n = 0; n < 10 * RESEND_TICKS; n++) {
        if (ferry_frames_take(&two->host.frames, &byte, 1) == 1)
            ferry_frames_feed(&two->host.frames, &byte, 1);
        ferry_frames_tick(&two->host.frames, 1);
    }
    assert_false(ferry_frames_hello(&two->host.frames, &came));
    assert_true(two->host.frames.counts.refused > 5 && ferry_frames_silent(&two->host.frames) > 5);
    free(two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_is_what_the_manual_says),
        cmocka_unit_test(every_changed_byte_is_seen),
        cmocka_unit_test(noise_costs_time_and_nothing_else),
        cmocka_unit_test(nine_tenths_of_the_bytes_are_payload),
        cmocka_unit_test(no_more_is_sent_than_there_is_room_for),
        cmocka_unit_test(credits_that_were_lost_come_again),
        cmocka_unit_test(a_longer_way_than_was_said_is_learned),
        cmocka_unit_test(half_frames_and_a_terminal_resynchronise),
        cmocka_unit_test(frames_in_the_payload_are_payload),
        cmocka_unit_test(a_new_session_leaves_nothing_of_the_old_one),
        cmocka_unit_test(who_is_refused_is_told),
        cmocka_unit_test(frames_that_cannot_be_are_refused),
        cmocka_unit_test(ones_own_echo_is_no_device),
    };
    seed = seed_given(seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
