// SPDX-License-Identifier: Apache-2.0
// A link that is open over a scripted device, with four pages of memory mapped, for the tests of the root complex.
#ifndef FERRY_TEST_ROOT_COMPLEX_RIG_H
#define FERRY_TEST_ROOT_COMPLEX_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_device.h"
#include "link/dma_map.h"
#include "link/problem.h"
#include "link/root_complex.h"

struct state {
    struct fake_device device;
    struct ferry_link *link;
    unsigned char *memory; // 4 pages, mapped at bus[].
    uint64_t bus[4];
    uint64_t low, high;                      // A page below 4 GiB and one above,
    unsigned char *low_memory, *high_memory; // and their bytes.
};

#define PAGES 4

static inline struct ferry_link_config config_with(uint32_t boundary)
{
    return (struct ferry_link_config){.size = sizeof(struct ferry_link_config), .completion_boundary = boundary};
}

static inline struct state *open_with(struct ferry_link_config config)
{
    struct state *state = calloc(1, sizeof(*state));
    assert_non_null(state);
    fake_device_start(&state->device);
    fake_device_expect_enumeration(&state->device, config.completion_boundary == 128);
    const struct ferry_tlp_transport transport = fake_device_transport(&state->device);
    assert_int_equal(ferry_root_complex_open(&transport, &config, &state->link), FERRY_OK);
    assert_int_equal(state->device.step, state->device.steps);
    assert_int_equal(posix_memalign((void **)&state->memory, 4096, PAGES * 4096), 0);
    for (size_t n = 0; n < PAGES * 4096; n++) {
        state->memory[n] = (unsigned char)(n * 7 + n / 256);
    }
    // Single pages go to one window or the other; map until both were seen.
    for (int n = 0; n < PAGES; n++) {
        assert_int_equal(state->link->operations->dma_map(state->link, state->memory + 4096 * n, 1, 0, &state->bus[n]),
                         FERRY_OK);
    }
    for (int n = 0; n < 64 && (state->low == 0 || state->high == 0); n++) {
        uint64_t bus;
        assert_int_equal(state->link->operations->dma_map(state->link, state->memory, 1, 0, &bus), FERRY_OK);
        *(bus >> 32 != 0 ? &state->high : &state->low) = bus;
    }
    assert_true(state->low != 0 && state->high != 0);
    state->low_memory = state->high_memory = state->memory;
    return state;
}

static inline int set_up(void **context)
{
    *context = open_with(config_with(0));
    return 0;
}

static inline int tear_down(void **context)
{
    struct state *state = *context;
    state->link->operations->close(state->link);
    assert_true(state->device.closed);
    free(state->memory);
    free(state);
    return 0;
}

static inline struct ferry_root_complex_counts traffic(struct state *state)
{
    struct ferry_root_complex_counts counts;
    ferry_root_complex_counts(state->link, &counts);
    return counts;
}

static inline struct ferry_link_counts link_counts(struct state *state)
{
    struct ferry_link_counts counts;
    state->link->operations->counts(state->link, &counts);
    return counts;
}

/// Hand one packet of the device's to the root complex.
static inline unsigned deliver(struct state *state, const uint32_t *words, size_t count)
{
    unsigned reasons = 0;
    fake_device_send(&state->device, words, count);
    state->link->operations->pump(state->link, 2, &reasons);
    return reasons;
}

#define DELIVER(state, ...)                                                                                            \
    deliver(state, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static inline uint32_t word_at(const unsigned char *memory)
{
    return memory[0] | (uint32_t)memory[1] << 8 | (uint32_t)memory[2] << 16 | (uint32_t)memory[3] << 24;
}

/// Completes a memory read with words that hold their own address, in one piece.
static inline void answer_with_address(struct fake_device *device, const struct fake_packet *packet)
{
    const bool four = packet->words[0] >> 29 & 1;
    const uint32_t length = packet->words[0] & 0x3ff;
    const uint32_t address = packet->words[four ? 3 : 2];
    if (packet->words[0] >> 29 > 1) {
        return;
    }
    const uint32_t first = packet->words[1] & 15;
    const uint32_t last = packet->words[1] >> 4 & 15;
    const uint32_t skip = first & 1 ? 0 : first & 2 ? 1 : first & 4 ? 2 : 3;
    const uint32_t end = length == 1 ? first : last;
    const uint32_t drop = end & 8 ? 0 : end & 4 ? 1 : end & 2 ? 2 : 3;
    uint32_t words[FAKE_WORDS] = {0x4a000000 | length, 0x01000000 | (4 * length - skip - drop),
                                  (packet->words[1] & 0xff00) | ((address + skip) & 0x7f)};
    for (uint32_t n = 0; n < length; n++) {
        words[3 + n] = address + 4 * n;
    }
    fake_device_send(device, words, 3 + length);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

#endif
