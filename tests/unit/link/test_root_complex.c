// SPDX-License-Identifier: Apache-2.0
// The host's side of the root complex against a scripted device: enumeration and BAR accesses.
#include "root_complex_rig.h"

// ---- Enumeration ------------------------------------------------------------------------------------------------

static void enumeration_programs_what_the_script_expects(void **context)
{
    struct state *state = *context;
    assert_int_equal(state->device.step, 26);
    assert_int_equal(state->device.sent_count, 0);
}

static void a_function_reset_is_asked_for_and_the_device_placed_again(void **context)
{
    struct state *state = *context;
    struct ferry_link_counts counts;
    unsigned reasons = 77;
    fake_device_expect_reset(&state->device, true);
    fake_device_expect_enumeration(&state->device, false);
    // What it still asked for in the name of somebody else is not counted as this host's, nor what it said.
    fake_device_send(&state->device, (const uint32_t[]){0x40000001, 0x0000000f, 0xfee00000, 0x4021}, 4);
    fake_device_send(&state->device, (const uint32_t[]){0x40000001, 0x0000ff0f, 0x00123000, 5}, 4);
    assert_int_equal(state->link->operations->reset(state->link), FERRY_OK);
    state->link->operations->counts(state->link, &counts);
    assert_int_equal(counts.unmapped_accesses + counts.last_unmapped_address, 0);
    assert_int_equal(state->link->operations->take_interrupts(state->link), 0);
    assert_int_equal(state->link->operations->pump(state->link, 10, &reasons), FERRY_OK);
    assert_int_equal(reasons, 0);
    assert_int_equal(state->device.step, 26 + 37 + 26);
    fake_device_expect_reset(&state->device, false);
    assert_int_equal(state->link->operations->reset(state->link), FERRY_ERROR_UNSUPPORTED);
    assert_int_equal(state->device.step, 26 + 37 + 26 + 1);
    assert_int_equal(state->device.sent_count, 0);
}

static int open_script(struct fake_device *device, struct ferry_link **link)
{
    struct ferry_link_config config = config_with(0);
    const struct ferry_tlp_transport transport = fake_device_transport(device);
    int error = ferry_root_complex_open(&transport, &config, link);
    assert_true(device->closed);
    return error;
}

static void a_foreign_device_is_refused(void **context)
{
    (void)context;
    struct fake_device *device = calloc(1, sizeof(*device));
    struct ferry_link *link = NULL;
    fake_device_expect_enumeration(device, false);
    device->steps = 1;
    device->answer[0].words[3] = 0x12345678;
    ferry_problem_clear();
    assert_int_equal(open_script(device, &link), FERRY_ERROR_BACKEND);
    assert_non_null(strstr(ferry_problem(), "says that it is 5678:1234, and this driver's are 1209:fe01"));
    memset(device, 0, sizeof(*device));
    fake_device_expect_enumeration(device, false);
    device->steps = 3;
    device->answer[2].words[3] = 0xffff8000; // Half of the registers.
    assert_int_equal(open_script(device, &link), FERRY_ERROR_BACKEND);
    assert_non_null(strstr(ferry_problem(), "BAR0 is not as this driver's devices have it"));
    free(device);
}

static void a_device_without_interrupt_capability_is_refused(void **context)
{
    (void)context;
    struct fake_device *device = calloc(1, sizeof(*device));
    struct ferry_link *link = NULL;
    fake_device_expect_enumeration(device, false);
    device->steps = 17;
    device->answer[11].words[3] = 0x00020010; // The list ends at the first capability.
    ferry_problem_clear();
    assert_int_equal(open_script(device, &link), FERRY_ERROR_BACKEND);
    assert_non_null(strstr(ferry_problem(), "its list of capabilities is not as this driver's devices have it"));
    free(device);
}

static void silence_is_a_timeout_and_refusal_is_named(void **context)
{
    (void)context;
    struct fake_device *device = calloc(1, sizeof(*device));
    struct ferry_link *link = NULL;
    fake_device_expect_enumeration(device, false);
    device->steps = 1;
    device->answer[0].count = 0;
    assert_int_equal(open_script(device, &link), FERRY_ERROR_TIMEOUT);
    memset(device, 0, sizeof(*device));
    fake_device_expect_enumeration(device, false);
    device->steps = 1;
    device->answer[0] = (struct fake_packet){{0x0a000000, 0x01002004, 0}, 3}; // Unsupported Request.
    assert_int_equal(open_script(device, &link), FERRY_ERROR_RANGE);
    free(device);
}

static void settings_out_of_range_are_refused(void **context)
{
    (void)context;
    struct fake_device *device = calloc(1, sizeof(*device));
    struct ferry_link *link = NULL;
    const struct ferry_tlp_transport transport = fake_device_transport(device);
    struct ferry_link_config config = config_with(96);
    assert_int_equal(ferry_root_complex_open(&transport, &config, &link), FERRY_ERROR_ARGUMENT);
    config = config_with(0);
    config.max_payload_bytes = 512;
    assert_true(device->closed);
    device->closed = false;
    assert_int_equal(ferry_root_complex_open(&transport, &config, &link), FERRY_ERROR_ARGUMENT);
    config = config_with(0);
    config.max_read_bytes = 1024;
    assert_int_equal(ferry_root_complex_open(&transport, &config, &link), FERRY_ERROR_ARGUMENT);
    assert_int_equal(device->sent_count, 0);
    assert_true(device->closed);
    free(device);
}

// ---- BAR accesses -----------------------------------------------------------------------------------------------

static void register_read_is_one_word_and_returns_the_answer(void **context)
{
    struct state *state = *context;
    state->device.answer_to = answer_with_address;
    uint32_t value = 0;
    assert_int_equal(state->link->operations->read32(state->link, FERRY_BAR_REGISTERS, 0x104, &value), FERRY_OK);
    assert_int_equal(value, 0xe0000104);
    assert_int_equal(state->device.sent_count, 1);
    const struct fake_packet *packet = &state->device.sent[0];
    assert_int_equal(packet->count, 3);
    assert_int_equal(packet->words[0], 0x00000001);
    assert_int_equal(packet->words[1] & 0xffff00ff, 0x0f);
    assert_int_equal(packet->words[2], 0xe0000104);
}

static void register_write_is_posted(void **context)
{
    struct state *state = *context;
    assert_int_equal(state->link->operations->write32(state->link, FERRY_BAR_REGISTERS, 0x20, 0xcafe0001), FERRY_OK);
    const struct fake_packet *packet = &state->device.sent[0];
    assert_int_equal(packet->count, 4);
    assert_int_equal(packet->words[0], 0x40000001);
    assert_int_equal(packet->words[1] & 0xff, 0x0f);
    assert_int_equal(packet->words[2], 0xe0000020);
    assert_int_equal(packet->words[3], 0xcafe0001);
}

static void accesses_outside_a_bar_are_refused_here(void **context)
{
    struct state *state = *context;
    const struct ferry_link_operations *link = state->link->operations;
    uint32_t value;
    assert_int_equal(link->read32(state->link, FERRY_BAR_REGISTERS, 0x10000, &value), FERRY_ERROR_RANGE);
    assert_int_equal(value, 0xffffffff);
    assert_int_equal(link->read32(state->link, FERRY_BAR_REGISTERS, 0x10004, &value), FERRY_ERROR_RANGE);
    assert_int_equal(link->write32(state->link, FERRY_BAR_REGISTERS, 0x102, 0), FERRY_ERROR_RANGE);
    assert_int_equal(link->read32(state->link, FERRY_BAR_REGISTERS, 0x102, &value), FERRY_ERROR_RANGE);
    assert_int_equal(link->write32(state->link, FERRY_BAR_WINDOW, 128u << 20, 0), FERRY_ERROR_RANGE);
    assert_int_equal(link->read32(state->link, (enum ferry_bar)1, 0, &value), FERRY_ERROR_RANGE);
    assert_int_equal(state->device.sent_count, 0);
}

static void window_uses_long_headers_and_cuts_at_payload_blocks(void **context)
{
    struct state *state = *context;
    unsigned char data[600];
    for (size_t n = 0; n < sizeof(data); n++) {
        data[n] = (unsigned char)n;
    }
    assert_int_equal(state->link->operations->write_block(state->link, FERRY_BAR_WINDOW, 0x10fd, data, sizeof(data)),
                     FERRY_OK);
    // 0x10fd..0x10ff, then two blocks of 256, then the rest of 85 bytes.
    assert_int_equal(state->device.sent_count, 4);
    const struct fake_packet *packet = state->device.sent;
    assert_int_equal(packet[0].words[0], 0x60000001);
    assert_int_equal(packet[0].words[1] & 0xff, 0x0e);
    assert_int_equal(packet[0].words[2], 0x40);
    assert_int_equal(packet[0].words[3], 0x10fc);
    assert_int_equal(packet[0].words[4], 0x02010000);
    assert_int_equal(packet[1].words[0], 0x60000040);
    assert_int_equal(packet[1].words[1] & 0xff, 0xff);
    assert_int_equal(packet[1].words[3], 0x1100);
    assert_int_equal(packet[1].words[4], 0x06050403);
    assert_int_equal(packet[2].words[3], 0x1200);
    assert_int_equal(packet[3].words[0], 0x60000016); // 85 bytes: 22 words, one byte in the last.
    assert_int_equal(packet[3].words[1] & 0xff, 0x1f);
    assert_int_equal(packet[3].words[3], 0x1300);
    assert_int_equal(packet[3].words[4 + 21] & 0xff, data[599]);
}

static void block_read_is_put_together_from_unaligned_pieces(void **context)
{
    struct state *state = *context;
    unsigned char data[700];
    state->device.answer_to = answer_with_address;
    for (uint32_t offset = 0x2f9; offset < 0x302; offset++) {
        for (size_t bytes = 1; bytes < sizeof(data); bytes += bytes < 12 ? 1 : 97) {
            assert_int_equal(state->link->operations->read_block(state->link, FERRY_BAR_WINDOW, offset, data, bytes),
                             FERRY_OK);
            for (size_t n = 0; n < bytes; n++) {
                const uint32_t word = (uint32_t)(offset + n) & ~3u;
                assert_int_equal(data[n], word >> 8 * ((offset + n) & 3) & 0xff);
            }
        }
        state->device.sent_count = 0;
    }
}

static struct fake_packet held[16];
static size_t held_count;

/// Answers nothing until four reads are there, then in pieces of 64 bytes, last tag first, interleaved.
static void answer_late(struct fake_device *device, const struct fake_packet *packet)
{
    held[held_count++] = *packet;
    if (held_count < 4) {
        return;
    }
    for (uint32_t piece = 0; piece < 4; piece++) {
        for (size_t n = held_count; n-- > 0;) {
            const uint32_t address = held[n].words[3] + 64 * piece;
            uint32_t words[19] = {0x4a000010, 0x01000000 | (256 - 64 * piece),
                                  (held[n].words[1] & 0xff00) | (address & 0x7f)};
            for (uint32_t word = 0; word < 16; word++) {
                words[3 + word] = address + 4 * word;
            }
            fake_device_send(device, words, 19);
        }
    }
}

static void split_and_interleaved_answers_find_their_places(void **context)
{
    struct state *state = *context;
    uint32_t data[256];
    held_count = 0;
    state->device.answer_to = answer_late;
    assert_int_equal(state->link->operations->read_block(state->link, FERRY_BAR_WINDOW, 0x4000, data, sizeof(data)),
                     FERRY_OK);
    for (uint32_t n = 0; n < 256; n++) {
        assert_int_equal(data[n], 0x4000 + 4 * n);
    }
    assert_int_equal(traffic(state).unexpected, 0);
}

static unsigned piece, refused_piece;

static void answer_all_but_one(struct fake_device *device, const struct fake_packet *packet)
{
    if (piece++ == refused_piece) {
        fake_device_send(device, (const uint32_t[]){0x0a000000, 0x01002100, packet->words[1] & 0xff00}, 3);
    } else {
        answer_with_address(device, packet);
    }
}

static void one_piece_that_is_refused_fails_the_read(void **context)
{
    struct state *state = *context;
    uint32_t data[192];
    state->device.answer_to = answer_all_but_one;
    for (refused_piece = 0; refused_piece < 4; refused_piece++) {
        piece = 0;
        assert_int_equal(state->link->operations->read_block(state->link, FERRY_BAR_WINDOW, 0x4000, data, sizeof(data)),
                         refused_piece < 3 ? FERRY_ERROR_RANGE : FERRY_OK);
        assert_int_equal(piece, 3);
    }
}

static void refused_read_gives_ones(void **context)
{
    struct state *state = *context;
    const uint32_t tag = 26 % 16 << 8; // Behind the enumeration's 26 packets.
    uint32_t value = 5;
    fake_device_send(&state->device, (const uint32_t[]){0x0a000000, 0x01002004, tag}, 3);
    assert_int_equal(state->link->operations->read32(state->link, FERRY_BAR_REGISTERS, 0x7ffc, &value),
                     FERRY_ERROR_RANGE);
    assert_int_equal(value, 0xffffffff);
}

// More or fewer bytes than are missing, none at all, or poisoned: the read fails, and nothing of it is taken for its
// value.
static void answers_that_do_not_fit_fail_the_read(void **context)
{
    struct state *state = *context;
    const struct {
        uint32_t words[4];
        size_t count;
    } cases[] = {
        {{0x4a000001, 0x01000008, 0, 0x12345678}, 4},
        {{0x4a000001, 0x01000003, 0, 0x12345678}, 4},
        {{0x4a004001, 0x01000004, 0, 0x12345678}, 4},
        {{0x0a000000, 0x01000004, 0}, 3},
    };
    for (uint32_t n = 0; n < 4; n++) {
        uint32_t value = 5, words[4];
        memcpy(words, cases[n].words, sizeof(words));
        words[2] = (26 + n) % 16 << 8; // Behind the enumeration's 26 packets.
        fake_device_send(&state->device, words, cases[n].count);
        assert_int_equal(state->link->operations->read32(state->link, FERRY_BAR_REGISTERS, 0x7ffc, &value),
                         FERRY_ERROR_RANGE);
        assert_int_equal(value, 0xffffffff);
    }
    assert_int_equal(traffic(state).malformed, 3);
    assert_int_equal(traffic(state).unexpected, 0);
}

static void lost_answer_is_a_timeout_in_cycles_and_a_late_one_is_counted(void **context)
{
    struct state *state = *context;
    uint32_t value;
    const uint64_t before = state->device.cycles;
    assert_int_equal(state->link->operations->read32(state->link, FERRY_BAR_REGISTERS, 0, &value), FERRY_ERROR_TIMEOUT);
    assert_int_equal(state->device.cycles - before, FERRY_ROOT_COMPLEX_TIMEOUT);
    DELIVER(state, 0x4a000001, 0x01000004, 26 % 16 << 8, 0);
    assert_int_equal(traffic(state).unexpected, 1);
    state->device.answer_to = answer_with_address;
    assert_int_equal(state->link->operations->read32(state->link, FERRY_BAR_REGISTERS, 0, &value), FERRY_OK);
    assert_int_equal(value, 0xe0000000);
}

static void a_link_says_what_it_has(void **context)
{
    struct state *state = *context;
    struct ferry_link_counts counts;
    uint64_t more;
    state->link->operations->counts(state->link, &counts);
    const uint64_t pages = counts.mapped_pages;
    assert_true(pages >= PAGES);
    assert_true(counts.run_seconds == 0.5); // The scripted device's.
    assert_int_equal(state->link->operations->dma_map(state->link, state->memory, 1, 0, &more), FERRY_OK);
    state->link->operations->counts(state->link, &counts);
    assert_int_equal(counts.mapped_pages, pages + 1);
    // It has no cables to answer for.
    assert_int_equal(state->link->operations->delay(state->link), 0);
}

static void a_full_queue_is_waited_for(void **context)
{
    struct state *state = *context;
    state->device.refuse_sends = 5;
    assert_int_equal(state->link->operations->write32(state->link, FERRY_BAR_REGISTERS, 0x20, 1), FERRY_OK);
    assert_int_equal(state->device.sent_count, 1);
}

/// What waits for the device, answers to 64 of its reads besides, is bounded; who writes more runs it until it has
/// taken that.
static void writes_wait_for_a_device_that_is_far_behind(void **context)
{
    struct state *state = *context;
    struct fake_device *device = &state->device;
    const struct ferry_link_operations *operations = state->link->operations;
    const size_t most = 2048 + 64 * 160;
    const uint32_t runs = device->runs;
    device->queue = most;
    assert_int_equal(operations->write32(state->link, FERRY_BAR_REGISTERS, 0x20, 1), FERRY_OK);
    assert_int_equal(device->runs, runs);
    device->queue = most + 5;
    device->drains = 2;
    assert_int_equal(operations->write32(state->link, FERRY_BAR_REGISTERS, 0x20, 1), FERRY_OK);
    assert_int_equal(device->runs, runs + 3);
    // It takes nothing any more: the write is told as not done after the time of an answer. One that is longer has
    // longer.
    static uint8_t bytes[64 << 10];
    for (size_t count = 4; count <= sizeof bytes; count *= sizeof bytes / 4) {
        const uint64_t before = device->cycles,
                       patience = FERRY_ROOT_COMPLEX_TIMEOUT + 64 * (count > 256 ? count - 256 : 0);
        device->queue = most + 1;
        device->drains = 0;
        assert_int_equal(operations->write_block(state->link, FERRY_BAR_WINDOW, 0, bytes, count), FERRY_ERROR_TIMEOUT);
        assert_in_range(device->cycles - before, patience, patience + 64);
    }
    device->gone = true;
    assert_int_equal(operations->write32(state->link, FERRY_BAR_REGISTERS, 0x20, 1), FERRY_ERROR_DEVICE_LOST);
}

/// So many cycles and no more; fewer when something has happened, which is told once.
static void a_pump_runs_as_long_as_it_was_told(void **context)
{
    struct state *state = *context;
    struct fake_device *device = &state->device;
    const struct ferry_link_operations *operations = state->link->operations;
    unsigned reasons = 77;
    uint64_t before = device->cycles;
    assert_int_equal(operations->pump(state->link, 0, &reasons), FERRY_OK);
    assert_int_equal(device->cycles - before, 0);
    assert_int_equal(reasons, 0);
    assert_int_equal(operations->pump(state->link, 1000, NULL), FERRY_OK);
    assert_int_equal(device->cycles - before, 1000);
    // A packet that means nothing to anybody ends a run of the device, and not the pump.
    before = device->cycles;
    device->later = (struct fake_packet){{0x40000001, 0x0000ff0f, 0x00123000, 5}, 4};
    device->later_in = 123;
    assert_int_equal(operations->pump(state->link, 500, &reasons), FERRY_OK);
    assert_int_equal(device->cycles - before, 500);
    assert_int_equal(reasons, 0);
    // One that is waited for does end it.
    before = device->cycles;
    device->later = (struct fake_packet){{0x40000001, 0x0000000f, 0xfee00000, 0x4021}, 4};
    device->later_in = 77;
    assert_int_equal(operations->pump(state->link, 1000, &reasons), FERRY_OK);
    assert_int_equal(device->cycles - before, 77);
    assert_int_equal(reasons, FERRY_PUMP_INTERRUPT);
    // What had come before it began is found without a cycle.
    before = device->cycles;
    fake_device_send(device, device->later.words, 4);
    assert_int_equal(operations->pump(state->link, 1000, &reasons), FERRY_OK);
    assert_int_equal(device->cycles - before, 0);
    assert_int_equal(reasons, FERRY_PUMP_INTERRUPT);
    assert_int_equal(operations->pump(state->link, 0, &reasons), FERRY_OK);
    assert_int_equal(reasons, 0);
}

static void a_device_that_is_gone_is_named_at_once(void **context)
{
    struct state *state = *context;
    const struct ferry_link_operations *operations = state->link->operations;
    static uint8_t bytes[1 << 20];
    uint32_t value = 0;
    state->device.answer_to = answer_with_address;
    state->device.gone = true;
    // What it had sent before is heard.
    assert_int_equal(operations->read32(state->link, FERRY_BAR_REGISTERS, 0, &value), FERRY_OK);
    state->device.answer_to = NULL;
    assert_int_equal(operations->read32(state->link, FERRY_BAR_REGISTERS, 0, &value), FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(value, 0xffffffff);
    // Sixteen reads are on their way at once, a tag each, and none is sent behind one that failed.
    const size_t sent = state->device.sent_count;
    assert_int_equal(operations->read_block(state->link, FERRY_BAR_WINDOW, 0, bytes, sizeof bytes),
                     FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(state->device.sent_count - sent, 16);
    assert_int_equal(operations->pump(state->link, 1000, NULL), FERRY_ERROR_DEVICE_LOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(enumeration_programs_what_the_script_expects),
        cmocka_unit_test(a_foreign_device_is_refused),
        cmocka_unit_test(a_device_without_interrupt_capability_is_refused),
        cmocka_unit_test(silence_is_a_timeout_and_refusal_is_named),
        cmocka_unit_test(settings_out_of_range_are_refused),
        CASE(a_function_reset_is_asked_for_and_the_device_placed_again),
        CASE(register_read_is_one_word_and_returns_the_answer),
        CASE(register_write_is_posted),
        CASE(accesses_outside_a_bar_are_refused_here),
        CASE(window_uses_long_headers_and_cuts_at_payload_blocks),
        CASE(block_read_is_put_together_from_unaligned_pieces),
        CASE(split_and_interleaved_answers_find_their_places),
        CASE(one_piece_that_is_refused_fails_the_read),
        CASE(refused_read_gives_ones),
        CASE(answers_that_do_not_fit_fail_the_read),
        CASE(lost_answer_is_a_timeout_in_cycles_and_a_late_one_is_counted),
        CASE(a_link_says_what_it_has),
        CASE(a_full_queue_is_waited_for),
        CASE(writes_wait_for_a_device_that_is_far_behind),
        CASE(a_pump_runs_as_long_as_it_was_told),
        CASE(a_device_that_is_gone_is_named_at_once),
    };
    return cmocka_run_group_tests_name("root_complex", tests, NULL, NULL);
}
