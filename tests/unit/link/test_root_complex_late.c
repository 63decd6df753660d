// SPDX-License-Identifier: Apache-2.0
// Answers that come when their read was given up: what they say is nobody else's.
#include "root_complex_rig.h"

static uint32_t read_tag(const struct state *state)
{
    return state->device.sent[state->device.sent_count - 1].words[1] >> 8 & 0xff;
}

/// Reads go on after one that was given up, with all tags in turn; then its answer comes, in front of another's.
static void a_late_answer_is_no_other_read_s(void **context)
{
    struct state *state = *context;
    const struct ferry_link_operations *operations = state->link->operations;
    uint32_t value;
    assert_int_equal(operations->read32(state->link, FERRY_BAR_REGISTERS, 0, &value), FERRY_ERROR_TIMEOUT);
    const uint32_t late = read_tag(state);
    state->device.answer_to = answer_with_address;
    for (uint32_t n = 0; n < 40; n++) {
        if (n == 31) { // The tag's turn would come for the second time.
            fake_device_send(&state->device, (const uint32_t[]){0x4a000001, 0x01000004, late << 8, 0xbad}, 4);
        }
        assert_int_equal(operations->read32(state->link, FERRY_BAR_REGISTERS, 4 * n, &value), FERRY_OK);
        assert_int_equal(value, 0xe0000000 + 4 * n);
    }
    assert_int_equal(traffic(state).unexpected, 1);
    // It is used again.
    bool again = false;
    for (uint32_t n = 0; n < 16; n++) {
        assert_int_equal(operations->read32(state->link, FERRY_BAR_REGISTERS, 0, &value), FERRY_OK);
        again = again || read_tag(state) == late;
    }
    assert_true(again);
}

/// A block's reads take the tags that are left.
static void a_block_is_read_beside_a_late_answer(void **context)
{
    struct state *state = *context;
    unsigned char bytes[40 * 256];
    uint32_t value;
    assert_int_equal(state->link->operations->read32(state->link, FERRY_BAR_REGISTERS, 0, &value), FERRY_ERROR_TIMEOUT);
    state->device.answer_to = answer_with_address;
    assert_int_equal(state->link->operations->read_block(state->link, FERRY_BAR_WINDOW, 0, bytes, sizeof(bytes)),
                     FERRY_OK);
    for (uint32_t at = 0; at < sizeof(bytes); at += 4) {
        assert_int_equal(word_at(bytes + at), word_at(bytes) + at);
    }
}

/// So is what follows a part that no read takes: poisoned, and the rest comes when others have been asked.
static void the_rest_of_a_bad_answer_is_no_other_read_s(void **context)
{
    struct state *state = *context;
    const struct ferry_link_operations *operations = state->link->operations;
    unsigned char bytes[256];
    uint32_t value;
    const uint32_t tag = (state->device.steps + state->device.sent_count) % 16;
    uint32_t part[3 + 16] = {0x4a004010, 0x01000000 | 68, tag << 8};
    fake_device_send(&state->device, part, 3 + 16);
    assert_int_equal(operations->read_block(state->link, FERRY_BAR_WINDOW, 0, bytes, 68), FERRY_ERROR_RANGE);
    state->device.answer_to = answer_with_address;
    for (uint32_t n = 0; n < 20; n++) {
        if (n == 15) {
            fake_device_send(&state->device, (const uint32_t[]){0x4a000001, 0x01000004, tag << 8 | 0x40, 0xbad}, 4);
        }
        assert_int_equal(operations->read32(state->link, FERRY_BAR_REGISTERS, 4 * n, &value), FERRY_OK);
        assert_int_equal(value, 0xe0000000 + 4 * n);
    }
    assert_int_equal(traffic(state).unexpected, 1);
}

/// What never comes is not waited for, for ever: a device that lost an answer loses no tag.
static void a_tag_whose_answer_never_comes_is_used_again(void **context)
{
    struct state *state = *context;
    const struct ferry_link_operations *operations = state->link->operations;
    uint32_t value;
    for (uint32_t n = 0; n < 40; n++) {
        const uint64_t before = state->device.cycles;
        assert_int_equal(operations->read32(state->link, FERRY_BAR_REGISTERS, 0, &value), FERRY_ERROR_TIMEOUT);
        assert_in_range(state->device.cycles - before, FERRY_ROOT_COMPLEX_TIMEOUT, 2 * FERRY_ROOT_COMPLEX_TIMEOUT);
    }
    state->device.answer_to = answer_with_address;
    for (uint32_t n = 0; n < 40; n++) {
        assert_int_equal(operations->read32(state->link, FERRY_BAR_REGISTERS, 4 * n, &value), FERRY_OK);
        assert_int_equal(value, 0xe0000000 + 4 * n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_late_answer_is_no_other_read_s),
        CASE(a_block_is_read_beside_a_late_answer),
        CASE(the_rest_of_a_bad_answer_is_no_other_read_s),
        CASE(a_tag_whose_answer_never_comes_is_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
