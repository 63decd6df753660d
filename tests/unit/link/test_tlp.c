// SPDX-License-Identifier: Apache-2.0
// Every packet form against words written out by hand from PCI Express Base Specification section 2.2, and round trips.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "link/tlp.h"

static void expect_words(const struct ferry_tlp *tlp, const uint32_t *words, size_t count)
{
    uint32_t made[FERRY_TLP_MAX_WORDS];
    struct ferry_tlp back;
    assert_int_equal(ferry_tlp_encode(tlp, made), count);
    assert_memory_equal(made, words, 4 * count);
    assert_true(ferry_tlp_decode(words, count, &back));
    assert_int_equal(back.kind, tlp->kind);
    assert_int_equal(back.length, tlp->length);
    assert_int_equal(back.address, tlp->address);
    assert_int_equal(back.requester, tlp->requester);
    assert_int_equal(back.tag, tlp->tag);
    assert_int_equal(back.first_enable, tlp->first_enable);
    assert_int_equal(back.last_enable, tlp->last_enable);
    assert_int_equal(back.poisoned, tlp->poisoned);
    assert_int_equal(back.relaxed, tlp->relaxed);
    assert_int_equal(back.no_snoop, tlp->no_snoop);
    assert_int_equal(back.traffic_class, tlp->traffic_class);
    assert_int_equal(back.completer, tlp->completer);
    assert_int_equal(back.status, tlp->status);
    assert_int_equal(back.byte_count, tlp->byte_count);
    assert_int_equal(back.lower_address, tlp->lower_address);
    assert_int_equal(back.target, tlp->target);
    if (tlp->payload != NULL) {
        assert_memory_equal(back.payload, tlp->payload, 4 * tlp->length);
    } else {
        assert_null(back.payload);
    }
}

#define EXPECT(tlp, ...)                                                                                               \
    expect_words(tlp, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void memory_requests_of_both_header_lengths(void **context)
{
    (void)context;
    const uint32_t payload[2] = {0x44332211, 0x88776655};
    const struct ferry_tlp read = {.kind = FERRY_TLP_MEMORY_READ,
                                   .requester = 0x0100,
                                   .tag = 0x7e,
                                   .length = 0x80,
                                   .first_enable = 0xf,
                                   .last_enable = 0xf,
                                   .address = 0xfffff000};
    EXPECT(&read, 0x00000080, 0x01007eff, 0xfffff000);
    const struct ferry_tlp read64 = {.kind = FERRY_TLP_MEMORY_READ,
                                     .no_snoop = true,
                                     .relaxed = true,
                                     .traffic_class = 5,
                                     .requester = 0xabcd,
                                     .tag = 1,
                                     .length = 1,
                                     .first_enable = 0x6,
                                     .address = 0x100000004};
    EXPECT(&read64, 0x20503001, 0xabcd0106, 0x00000001, 0x00000004);
    const struct ferry_tlp write = {.kind = FERRY_TLP_MEMORY_WRITE,
                                    .length = 2,
                                    .first_enable = 0xe,
                                    .last_enable = 0x1,
                                    .address = 0x1000,
                                    .payload = payload};
    EXPECT(&write, 0x40000002, 0x0000001e, 0x00001000, 0x44332211, 0x88776655);
    const struct ferry_tlp write64 = {.kind = FERRY_TLP_MEMORY_WRITE,
                                      .poisoned = true,
                                      .relaxed = true,
                                      .length = 1,
                                      .first_enable = 0xf,
                                      .address = 0xfedcba9876543210,
                                      .payload = payload};
    EXPECT(&write64, 0x60006001, 0x0000000f, 0xfedcba98, 0x76543210, 0x44332211);
}

static void configuration_requests(void **context)
{
    (void)context;
    const uint32_t payload = 0x00100006;
    const struct ferry_tlp read = {
        .kind = FERRY_TLP_CONFIG_READ, .tag = 3, .length = 1, .first_enable = 0xf, .target = 0x0100, .address = 0xffc};
    EXPECT(&read, 0x04000001, 0x0000030f, 0x01000ffc);
    const struct ferry_tlp write = {.kind = FERRY_TLP_CONFIG_WRITE,
                                    .tag = 4,
                                    .length = 1,
                                    .first_enable = 0x3,
                                    .target = 0x0100,
                                    .address = 4,
                                    .payload = &payload};
    EXPECT(&write, 0x44000001, 0x00000403, 0x01000004, 0x00100006);
}

static void completions(void **context)
{
    (void)context;
    const uint32_t payload[3] = {1, 2, 3};
    const struct ferry_tlp data = {.kind = FERRY_TLP_COMPLETION_DATA,
                                   .completer = 0x0100,
                                   .byte_count = 4096,
                                   .requester = 0x0008,
                                   .tag = 0xff,
                                   .lower_address = 0x7f,
                                   .length = 3,
                                   .payload = payload};
    EXPECT(&data, 0x4a000003, 0x01000000, 0x0008ff7f, 1, 2, 3); // 4096 is written as 0.
    const struct ferry_tlp none = {.kind = FERRY_TLP_COMPLETION,
                                   .completer = 0x0100,
                                   .byte_count = 4,
                                   .status = FERRY_TLP_COMPLETER_ABORT,
                                   .tag = 9};
    EXPECT(&none, 0x0a000000, 0x01008004, 0x00000900);
}

static void a_length_of_1024_is_written_as_zero(void **context)
{
    (void)context;
    uint32_t *words = calloc(3 + 1024, 4);
    uint32_t *payload = calloc(1024, 4);
    struct ferry_tlp tlp = {.kind = FERRY_TLP_MEMORY_WRITE,
                            .length = 1024,
                            .first_enable = 15,
                            .last_enable = 15,
                            .address = 0x2000,
                            .payload = payload};
    assert_int_equal(ferry_tlp_encode(&tlp, words), 1027);
    assert_int_equal(words[0], 0x40000000);
    assert_true(ferry_tlp_decode(words, 1027, &tlp));
    assert_int_equal(tlp.length, 1024);
    free(words);
    free(payload);
}

static void enables_and_spans_of_every_small_range(void **context)
{
    (void)context;
    for (uint32_t start = 0; start < 8; start++) {
        for (uint32_t bytes = 1; bytes < 24; bytes++) {
            uint8_t first, last;
            const uint32_t length = ferry_tlp_enables(0x1000 + start, bytes, &first, &last);
            // Mark the bytes one by one and compare.
            uint32_t mask[8] = {0};
            for (uint32_t n = start; n < start + bytes; n++) {
                mask[n / 4 - start / 4] |= 1u << n % 4;
            }
            assert_int_equal(length, (start + bytes - 1) / 4 - start / 4 + 1);
            assert_int_equal(first, mask[0]);
            assert_int_equal(last, length == 1 ? 0 : mask[length - 1]);
            assert_int_equal(ferry_tlp_span(length, first, last), bytes);
            assert_int_equal(ferry_tlp_first_byte(first), start % 4);
        }
    }
    assert_int_equal(ferry_tlp_span(1, 0, 0), 1);
}

static void malformed_packets_are_told(void **context)
{
    (void)context;
    struct ferry_tlp tlp;
    const uint32_t good[5] = {0x40000002, 0x000000ff, 0x1000, 1, 2};
    assert_true(ferry_tlp_decode(good, 5, &tlp));
    for (size_t count = 0; count < 5; count++) {
        assert_false(ferry_tlp_decode(good, count, &tlp));
    }
    const uint32_t prefix[3] = {0x80000001, 0x0000000f, 0};
    assert_false(ferry_tlp_decode(prefix, 3, &tlp));
    const uint32_t config_long[4] = {0x24000001, 0x0000000f, 0, 0};
    assert_false(ferry_tlp_decode(config_long, 4, &tlp));
    const uint32_t config_of_two[3] = {0x04000002, 0x000000ff, 0};
    assert_false(ferry_tlp_decode(config_of_two, 3, &tlp));
    const uint32_t completion_long[4] = {0x2a000000, 0x01000004, 0, 0};
    assert_false(ferry_tlp_decode(completion_long, 4, &tlp));
    const uint32_t nothing_first[5] = {0x40000002, 0x000000f0, 0x1000, 1, 2};
    assert_false(ferry_tlp_decode(nothing_first, 5, &tlp));
    const uint32_t nothing_last[5] = {0x40000002, 0x0000000f, 0x1000, 1, 2};
    assert_false(ferry_tlp_decode(nothing_last, 5, &tlp));
    const uint32_t hole[6] = {0x40000003, 0x0000007d, 0x1000, 1, 2, 3};
    assert_false(ferry_tlp_decode(hole, 6, &tlp));
    const uint32_t two_words_may_have_holes[5] = {0x40000002, 0x000000a5, 0x1000, 1, 2};
    assert_true(ferry_tlp_decode(two_words_may_have_holes, 5, &tlp));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_requests_of_both_header_lengths),
        cmocka_unit_test(configuration_requests),
        cmocka_unit_test(completions),
        cmocka_unit_test(a_length_of_1024_is_written_as_zero),
        cmocka_unit_test(enables_and_spans_of_every_small_range),
        cmocka_unit_test(malformed_packets_are_told),
    };
    return cmocka_run_group_tests_name("tlp", tests, NULL, NULL);
}
