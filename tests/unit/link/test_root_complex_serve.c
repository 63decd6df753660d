// SPDX-License-Identifier: Apache-2.0
// The root complex serves a scripted device: its reads and writes of host memory, interrupt messages, planted faults.
#include "../../seed.h"
#include "root_complex_rig.h"

// ---- The device reads host memory -------------------------------------------------------------------------------

static void read_below_4g_is_served_in_pieces_of_the_payload_size(void **context)
{
    struct state *state = *context;
    // 512 bytes from offset 0x10, requester 01:00.0, tag 0x5a: 240 bytes to the boundary, 256, 16.
    DELIVER(state, 0x00000080, 0x01005aff, (uint32_t)state->low + 0x10);
    assert_int_equal(state->device.sent_count, 3);
    const struct fake_packet *packet = state->device.sent;
    const uint32_t bytes[3] = {240, 256, 16};
    uint32_t offset = 0x10;
    uint32_t left = 512;
    for (int n = 0; n < 3; n++) {
        assert_int_equal(packet[n].words[0], 0x4a000000 | bytes[n] / 4);
        assert_int_equal(packet[n].words[1], left); // Completer 0, success, byte count.
        assert_int_equal(packet[n].words[2], 0x01005a00 | (offset & 0x7f));
        for (uint32_t word = 0; word < bytes[n] / 4; word++) {
            assert_int_equal(packet[n].words[3 + word], word_at(state->low_memory + offset + 4 * word));
        }
        offset += bytes[n];
        left -= bytes[n];
    }
    assert_int_equal(traffic(state).reads_served, 1);
}

static void read_above_4g_with_byte_enables(void **context)
{
    struct state *state = *context;
    // 3 words at 0x7c of the page, first enable 0x8, last 0x3: bytes 0x7f to 0x85. The first boundary is at 0x80, but a
    // piece may reach on to 0x100.
    DELIVER(state, 0x20000003, 0x01000138, (uint32_t)(state->high >> 32), (uint32_t)state->high + 0x7c);
    assert_int_equal(state->device.sent_count, 1);
    const struct fake_packet *packet = state->device.sent;
    assert_int_equal(packet->words[0], 0x4a000003);
    assert_int_equal(packet->words[1], 7);
    assert_int_equal(packet->words[2], 0x0100017f);
    assert_int_equal(packet->words[3], word_at(state->high_memory + 0x7c));
    assert_int_equal(packet->words[5], word_at(state->high_memory + 0x84));
}

static void read_of_zero_bytes_is_answered_with_one_word(void **context)
{
    struct state *state = *context;
    DELIVER(state, 0x00000001, 0x01000200, (uint32_t)state->low + 8);
    const struct fake_packet *packet = state->device.sent;
    assert_int_equal(packet->count, 4);
    assert_int_equal(packet->words[0], 0x4a000001);
    assert_int_equal(packet->words[1], 1);
    assert_int_equal(packet->words[2], 0x01000208);
}

static void every_span_of_a_small_read_has_its_byte_count(void **context)
{
    struct state *state = *context;
    for (uint32_t start = 0; start < 4; start++) {
        for (uint32_t end = start + 1; end < 12; end++) {
            const uint32_t words = (end + 3) / 4;
            const uint32_t first = 0xf << start & 0xf;
            const uint32_t last = 0xf >> (4 * words - end);
            const uint32_t enables = words == 1 ? (first & last) : last << 4 | first;
            state->device.sent_count = 0;
            DELIVER(state, words, 0x01000300 | enables, (uint32_t)state->low + 0x20);
            assert_int_equal(state->device.sent_count, 1);
            assert_int_equal(state->device.sent[0].words[1], end - start);
            assert_int_equal(state->device.sent[0].words[2], 0x01000320 | start);
            assert_int_equal(state->device.sent[0].count, 3 + words);
        }
    }
}

static void unmapped_read_gets_unsupported_request_and_is_reported(void **context)
{
    struct state *state = *context;
    DELIVER(state, 0x20000010, 0x010007ff, 0x00000077, 0x12345680);
    assert_int_equal(state->device.sent_count, 1);
    const struct fake_packet *packet = state->device.sent;
    assert_int_equal(packet->count, 3);
    assert_int_equal(packet->words[0], 0x0a000000);
    assert_int_equal(packet->words[1], 0x00002000 | 64); // Status 1.
    assert_int_equal(packet->words[2], 0x01000700);
    assert_int_equal(link_counts(state).unmapped_accesses, 1);
    assert_true(link_counts(state).last_unmapped_address == 0x7712345680ull);
    // From the third byte of a word to the second of the next: the answer says where that begins.
    DELIVER(state, 0x20000002, 0x0100083c, 0x00000077, 0x12345684);
    assert_int_equal(state->device.sent_count, 2);
    assert_int_equal(packet[1].words[1], 0x00002000 | 4);
    assert_int_equal(packet[1].words[2], 0x01000806);
}

static void a_page_is_out_of_reach_once_it_is_unmapped(void **context)
{
    struct state *state = *context;
    state->link->operations->dma_unmap(state->link, &state->low, 1);
    DELIVER(state, 0x00000001, 0x0100070f, (uint32_t)state->low);
    assert_int_equal(state->device.sent[0].words[0], 0x0a000000);
    assert_int_equal(link_counts(state).unmapped_accesses, 1);
}

static void reads_against_the_rules_are_dropped_and_counted(void **context)
{
    struct state *state = *context;
    const uint32_t low = (uint32_t)state->low;
    DELIVER(state, 0x00000081, 0x010001ff, low);         // Above the read size.
    DELIVER(state, 0x00000010, 0x010001ff, low + 0xfe0); // Crosses 4 KiB.
    DELIVER(state, 0x00000002, 0x0100010f, low);         // Two words without last enables.
    DELIVER(state, 0x00000001, 0x010001ff, low);         // One word with last enables.
    DELIVER(state, 0x00000003, 0x010001f5, low);         // A hole in the first enables.
    DELIVER(state, 0x20000001, 0x0100010f, 0, low);      // Long header below 4 GiB.
    DELIVER(state, 0x00000001, 0x0100010f, low, 0);      // A word too many.
    DELIVER(state, 0x00008001, 0x0100010f, low);         // Digest announced, not there.
    assert_int_equal(traffic(state).malformed, 8);
    assert_int_equal(state->device.sent_count, 0);
    DELIVER(state, 0x02000001, 0x0100010f, 0x1000); // I/O read.
    DELIVER(state, 0x34000000, 0x01000000, 0, 0);   // A message.
    assert_int_equal(traffic(state).unexpected, 2);
    assert_int_equal(state->device.sent_count, 0);
}

static void chance_cuts_only_at_boundaries_and_loses_nothing(void **context)
{
    (void)context;
    const uint64_t seed = seed_given(20);
    for (uint32_t boundary = 64; boundary <= 128; boundary *= 2) {
        struct ferry_link_config config = config_with(boundary);
        config.random_stall_percent = 10;
        config.seed = seed;
        struct state *state = open_with(config);
        uint64_t drawn = seed;
        unsigned shorter = 0;
        for (int round = 0; round < 400; round++) {
            const uint32_t offset = 4 * (uint32_t)draw_below(&drawn, 1024);
            const uint32_t room = (4096 - offset) / 4;
            const uint32_t length = 1 + (uint32_t)draw_below(&drawn, room < 128 ? room : 128);
            state->device.sent_count = 0;
            DELIVER(state, length, 0x01001100 | (length == 1 ? 0x0f : 0xff), (uint32_t)state->low + offset);
            uint32_t at = offset;
            for (size_t n = 0; n < state->device.sent_count; n++) {
                const struct fake_packet *packet = &state->device.sent[n];
                const uint32_t words = packet->words[0] & 0x3ff;
                assert_true(words <= 64 && packet->count == 3 + words);
                assert_int_equal(packet->words[1], 4 * length - (at - offset));
                assert_int_equal(packet->words[2], 0x01001100 | (at & 0x7f));
                assert_memory_equal(packet->words + 3, state->low_memory + at, 4 * words);
                // Another boundary could have been reached with the payload size.
                shorter += n + 1 < state->device.sent_count && at % boundary + 4 * words < 256;
                at += 4 * words;
                assert_true(at % boundary == 0 || n + 1 == state->device.sent_count);
            }
            assert_int_equal(at, offset + 4 * length);
        }
        assert_true(shorter > 100);
        void *again = state;
        tear_down(&again);
    }
}

// ---- The device writes host memory ------------------------------------------------------------------------------

static void writes_store_enabled_bytes_only(void **context)
{
    struct state *state = *context;
    unsigned char expect[4096];
    memcpy(expect, state->low_memory, 4096);
    DELIVER(state, 0x40000002, 0x010000ff, (uint32_t)state->low + 0x40, 0x03020100, 0x07060504);
    for (int n = 0; n < 8; n++) {
        expect[0x40 + n] = (unsigned char)n;
    }
    DELIVER(state, 0x40000001, 0x01000006, (uint32_t)state->low + 0x100, 0xddccbbaa);
    expect[0x101] = 0xbb;
    expect[0x102] = 0xcc;
    DELIVER(state, 0x40000001, 0x01000009, (uint32_t)state->low + 0x104, 0xddccbbaa); // A hole is legal in one word.
    expect[0x104] = 0xaa;
    expect[0x107] = 0xdd;
    DELIVER(state, 0x60000003, 0x0100001c, (uint32_t)(state->high >> 32), (uint32_t)state->high + 0x200, 0x11111111,
            0x22222222, 0x33333333);
    expect[0x202] = expect[0x203] = 0x11;
    memset(expect + 0x204, 0x22, 4);
    expect[0x208] = 0x33;
    // The first word whole, the last one in part.
    DELIVER(state, 0x40000003, 0x0100003f, (uint32_t)state->low + 0x340, 0x44444444, 0x55555555, 0x66666666);
    memset(expect + 0x340, 0x44, 4);
    memset(expect + 0x344, 0x55, 4);
    memset(expect + 0x348, 0x66, 2);
    DELIVER(state, 0x40000001, 0x01000000, (uint32_t)state->low + 0x300, 0xffffffff); // Nothing enabled: a flush.
    assert_memory_equal(state->low_memory, expect, 4096);
    assert_int_equal(traffic(state).writes_served, 6);
}

// Wherever it lies in a packet: that byte is another one when it arrives, once, and memory itself is left alone.
static void any_byte_that_is_read_can_be_flipped_on_its_way(void **context)
{
    struct state *state = *context;
    for (uint32_t at = 0; at < 500; at++) {
        unsigned char got[512];
        state->link->operations->flip(state->link, state->low + 0x13 + at, false);
        // 125 words and a piece of one at either end: bytes 0x13 to 0x206, in pieces with boundaries of their own.
        for (int again = 0; again < 2; again++) {
            uint32_t offset = 0x13, seen = 0;
            state->device.sent_count = 0;
            // A write does not count as a read, nor does a byte beside it.
            DELIVER(state, 0x40000001, 0x0100000f, (uint32_t)state->low + 0x800, 0);
            DELIVER(state, 0x0000007e, 0x01005a78, (uint32_t)state->low + 0x10);
            for (size_t n = 0; n < state->device.sent_count; n++) {
                const struct fake_packet *packet = &state->device.sent[n];
                const uint32_t skip = packet->words[2] & 3, words = packet->words[0] & 0x3ff;
                for (uint32_t byte = skip; byte < 4 * words && seen < 500; byte++, seen++) {
                    got[seen] = (unsigned char)(packet->words[3 + byte / 4] >> 8 * (byte % 4));
                }
            }
            assert_int_equal(seen, 500);
            for (uint32_t n = 0; n < 500; n++) {
                assert_int_equal(got[n], state->low_memory[offset + n] ^ (n == at && again == 0));
            }
        }
    }
}

static void any_byte_that_is_written_can_be_flipped_on_its_way(void **context)
{
    struct state *state = *context;
    for (uint32_t at = 0; at < 10; at++) {
        state->link->operations->flip(state->link, state->high + 0x101 + at, true);
        for (int again = 0; again < 2; again++) {
            memset(state->high_memory + 0x100, 0xee, 16);
            DELIVER(state, 0x00000001, 0x0100000f, (uint32_t)state->low + 0x100); // A read is no write.
            // 3 words to 0x100: bytes 0x101 to 0x10a.
            DELIVER(state, 0x60000003, 0x0100007e, (uint32_t)(state->high >> 32), (uint32_t)state->high + 0x100,
                    0x03020100, 0x07060504, 0x0b0a0908);
            for (uint32_t n = 0; n < 16; n++) {
                const bool written = n >= 1 && n <= 10;
                assert_int_equal(state->high_memory[0x100 + n], written ? n ^ (n - 1 == at && again == 0) : 0xeeu);
            }
        }
    }
}

static void bad_writes_change_nothing(void **context)
{
    struct state *state = *context;
    unsigned char expect[PAGES * 4096];
    memcpy(expect, state->memory, sizeof(expect));
    DELIVER(state, 0x40000001, 0x0100000f, 0x00001000, 0xffffffff); // Not mapped.
    assert_int_equal(link_counts(state).unmapped_accesses, 1);
    DELIVER(state, 0x40004001, 0x0100000f, (uint32_t)state->low, 0xffffffff); // Poisoned.
    assert_int_equal(traffic(state).poisoned, 1);
    uint32_t words[3 + 65] = {0x40000041, 0x010000ff, (uint32_t)state->low}; // 260 bytes, above the payload size.
    memset(words + 3, 0xff, 65 * 4);
    deliver(state, words, 68);
    DELIVER(state, 0x40000002, 0x010000ff, (uint32_t)state->low + 0xffc, 0xffffffff, 0xffffffff); // Crosses 4 KiB.
    assert_int_equal(traffic(state).malformed, 2);
    assert_memory_equal(state->memory, expect, sizeof(expect));
    assert_int_equal(state->device.sent_count, 0);
}

struct refusal {
    unsigned count;
    uint64_t address;
    uint32_t tag;
};

static void on_refusal(void *context, uint64_t address, uint32_t tag)
{
    struct refusal *refusal = context;
    *refusal = (struct refusal){refusal->count + 1, address, tag};
}

static void a_refused_write_is_told_with_its_first_byte_and_tag(void **context)
{
    struct state *state = *context;
    const struct ferry_link_operations *link = state->link->operations;
    struct refusal refusal = {0};
    link->tell_refused(state->link, on_refusal, &refusal);
    DELIVER(state, 0x40000001, 0x01004b0f, (uint32_t)state->low, 1); // Mapped.
    DELIVER(state, 0x00000001, 0x01004b0f, 0x00001000);              // A read has its completion.
    assert_int_equal(refusal.count, 0);
    DELIVER(state, 0x40000002, 0x01004bfc, 0x00001004, 1, 2);
    assert_int_equal(refusal.count, 1);
    assert_true(refusal.address == 0x1006);
    assert_int_equal(refusal.tag, 0x4b);
    DELIVER(state, 0x60000001, 0x0100ff0f, 0x77, 0x12345680, 1);
    assert_int_equal(refusal.count, 2);
    assert_true(refusal.address == 0x7712345680ull);
    assert_int_equal(refusal.tag, 0xff);
    link->tell_refused(state->link, NULL, NULL);
    DELIVER(state, 0x40000001, 0x01004b0f, 0x00001000, 1);
    assert_int_equal(refusal.count, 2);
    assert_int_equal(link_counts(state).unmapped_accesses, 4);
    assert_ptr_equal(link->dma_find(state->link, state->low + 9), state->low_memory + 9);
    assert_null(link->dma_find(state->link, 0x1000));
}

static void write_to_a_watched_page_ends_the_pump(void **context)
{
    struct state *state = *context;
    uint64_t bus;
    unsigned reasons;
    assert_int_equal(state->link->operations->dma_map(state->link, state->memory + 4096, 1, FERRY_DMA_WATCH, &bus),
                     FERRY_OK);
    assert_int_equal(DELIVER(state, 0x40000001, 0x0100000f, (uint32_t)state->low, 1), 0);
    const uint32_t words[] = {bus >> 32 != 0 ? 0x60000001 : 0x40000001, 0x0100000f,
                              bus >> 32 != 0 ? (uint32_t)(bus >> 32) : (uint32_t)bus, (uint32_t)bus, 1};
    const uint32_t less[] = {words[0], words[1], words[2], 1};
    assert_int_equal(bus >> 32 != 0 ? deliver(state, words, 5) : deliver(state, less, 4), FERRY_PUMP_WRITE);
    const uint64_t before = state->device.cycles;
    assert_int_equal(state->link->operations->pump(state->link, 1000, &reasons), FERRY_OK);
    assert_int_equal(reasons, 0);
    assert_int_equal(state->device.cycles - before, 1000);
}

static void interrupt_messages_are_counted_and_end_the_pump(void **context)
{
    struct state *state = *context;
    assert_int_equal(DELIVER(state, 0x40000001, 0x0100000f, 0xfee00000, 0x4021), FERRY_PUMP_INTERRUPT);
    DELIVER(state, 0x40000001, 0x0100000f, 0xfee00000, 0x4021);
    assert_int_equal(state->link->operations->take_interrupts(state->link), 2);
    assert_int_equal(state->link->operations->take_interrupts(state->link), 0);
    assert_int_equal(link_counts(state).interrupts, 2);
    assert_int_equal(DELIVER(state, 0x40000001, 0x0100000f, 0xfee00000, 0x1234), 0);
    assert_int_equal(traffic(state).unexpected, 1);
    assert_int_equal(link_counts(state).unmapped_accesses, 0);
}

static void a_message_during_a_register_read_is_told_by_the_next_pump(void **context)
{
    struct state *state = *context;
    uint32_t value;
    unsigned reasons;
    fake_device_send(&state->device, (const uint32_t[]){0x40000001, 0x0100000f, 0xfee00000, 0x4021}, 4);
    state->device.answer_to = answer_with_address;
    assert_int_equal(state->link->operations->read32(state->link, FERRY_BAR_REGISTERS, 0, &value), FERRY_OK);
    const uint64_t before = state->device.cycles;
    assert_int_equal(state->link->operations->pump(state->link, 1000, &reasons), FERRY_OK);
    assert_int_equal(reasons, FERRY_PUMP_INTERRUPT);
    assert_int_equal(state->device.cycles, before);
}

// ---- Planted faults ---------------------------------------------------------------------------------------------

static void planted_faults_act_once_each(void **context)
{
    struct state *state = *context;
    const struct ferry_link_operations *link = state->link->operations;
    const struct fake_packet *packet = state->device.sent;
    assert_int_equal(link->inject(state->link, FERRY_INJECT_LOSE_COMPLETION, 1), FERRY_OK);
    DELIVER(state, 0x00000001, 0x0100010f, (uint32_t)state->low);
    assert_int_equal(state->device.sent_count, 0);
    assert_int_equal(link->inject(state->link, FERRY_INJECT_ABORT_COMPLETION, 1), FERRY_OK);
    DELIVER(state, 0x00000001, 0x0100020f, (uint32_t)state->low);
    assert_int_equal(packet[0].words[0], 0x0a000000);
    assert_int_equal(packet[0].words[1], 0x00008004); // Status 4.
    assert_int_equal(link->inject(state->link, FERRY_INJECT_POISON_COMPLETION, 1), FERRY_OK);
    DELIVER(state, 0x00000001, 0x0100030f, (uint32_t)state->low);
    assert_int_equal(packet[1].words[0], 0x4a004001);
    DELIVER(state, 0x00000001, 0x0100040f, (uint32_t)state->low);
    assert_int_equal(packet[2].words[0], 0x4a000001);
    assert_int_equal(link->inject(state->link, FERRY_INJECT_LOCAL_READ_ERROR, 1), FERRY_ERROR_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(read_below_4g_is_served_in_pieces_of_the_payload_size),
        CASE(read_above_4g_with_byte_enables),
        CASE(read_of_zero_bytes_is_answered_with_one_word),
        CASE(every_span_of_a_small_read_has_its_byte_count),
        CASE(unmapped_read_gets_unsupported_request_and_is_reported),
        CASE(a_page_is_out_of_reach_once_it_is_unmapped),
        CASE(reads_against_the_rules_are_dropped_and_counted),
        cmocka_unit_test(chance_cuts_only_at_boundaries_and_loses_nothing),
        CASE(writes_store_enabled_bytes_only),
        CASE(any_byte_that_is_read_can_be_flipped_on_its_way),
        CASE(any_byte_that_is_written_can_be_flipped_on_its_way),
        CASE(bad_writes_change_nothing),
        CASE(a_refused_write_is_told_with_its_first_byte_and_tag),
        CASE(write_to_a_watched_page_ends_the_pump),
        CASE(interrupt_messages_are_counted_and_end_the_pump),
        CASE(a_message_during_a_register_read_is_told_by_the_next_pump),
        CASE(planted_faults_act_once_each),
    };
    return cmocka_run_group_tests_name("root_complex_serve", tests, NULL, NULL);
}
