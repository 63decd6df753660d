// SPDX-License-Identifier: Apache-2.0
// The simulated slot with a device that this test plays: what a guest's settings do to the packets that go into it.
#define _GNU_SOURCE // memfd_create(), F_ADD_SEALS
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "ferry_contract.h"
#include "server/slot.h"

#define MEMORY_BYTES 0x4000u

// ---- A device that has configuration space, and asks for memory when it is told to --------------------------------

struct ferry_sim {
    uint32_t config[64];
    uint64_t cycles;
    size_t queued, most_queued; // Words that it has not taken; it takes one in 32 cycles.
    struct {
        uint32_t words[FERRY_TLP_MAX_WORDS];
        size_t count;
    } to_host[8];
    size_t told, taken;              // Packets of those.
    uint32_t came[16], pieces;       // Bytes of the completions that came.
    uint64_t written, written_bytes; // By the last write: which bytes of eight, and what.
    uint64_t full;                   // Cycles until it takes a packet.
    bool works;
    const char *violation;
};

static struct ferry_sim *device; // The one in the slot.

static void tell(struct ferry_sim *sim, const struct ferry_tlp *tlp)
{
    const size_t place = sim->told++ % 8;
    sim->to_host[place].count = ferry_tlp_encode(tlp, sim->to_host[place].words);
}

struct ferry_sim *ferry_sim_open(const struct ferry_sim_config *config)
{
    (void)config;
    device = calloc(1, sizeof(*device));
    assert_non_null(device);
    return device;
}

void ferry_sim_close(struct ferry_sim *sim)
{
    free(sim);
}

bool ferry_sim_send(struct ferry_sim *sim, const uint32_t *words, size_t count)
{
    struct ferry_tlp tlp;
    if (sim->full != 0) {
        return false;
    }
    assert_true(ferry_tlp_decode(words, count, &tlp));
    sim->queued += count;
    sim->most_queued = sim->queued > sim->most_queued ? sim->queued : sim->most_queued;
    struct ferry_tlp answer = {
        .kind = FERRY_TLP_COMPLETION, .requester = tlp.requester, .tag = tlp.tag, .byte_count = 4};
    if (tlp.kind == FERRY_TLP_CONFIG_READ) {
        assert_int_equal(tlp.first_enable, 15);
        assert_int_equal(tlp.target, FERRY_RC_DEVICE);
        answer.kind = FERRY_TLP_COMPLETION_DATA;
        answer.length = 1;
        answer.payload = &sim->config[tlp.address / 4];
        tell(sim, &answer);
    } else if (tlp.kind == FERRY_TLP_CONFIG_WRITE) {
        for (unsigned n = 0; n < 4; n++) {
            if ((tlp.first_enable & 1u << n) != 0) {
                memcpy((char *)&sim->config[tlp.address / 4] + n, (const char *)tlp.payload + n, 1);
            }
        }
        tell(sim, &answer);
    } else if (tlp.kind == FERRY_TLP_MEMORY_READ) {
        static const uint32_t content[2] = {0x83828180, 0x87868584};
        answer.kind = FERRY_TLP_COMPLETION_DATA;
        answer.length = tlp.length;
        answer.byte_count = (uint16_t)ferry_tlp_span(tlp.length, tlp.first_enable, tlp.last_enable);
        answer.lower_address = (uint8_t)((tlp.address & 0x7c) + ferry_tlp_first_byte(tlp.first_enable));
        answer.payload = &content[tlp.address / 4 % 2];
        tell(sim, &answer);
    } else if (tlp.kind == FERRY_TLP_MEMORY_WRITE) {
        const unsigned high = tlp.address & 4u;
        assert_int_equal(tlp.requester, FERRY_RC_REQUESTER);
        const uint8_t enables = (uint8_t)((tlp.first_enable | tlp.last_enable << 4) << high);
        sim->written = sim->written_bytes = 0;
        memcpy((char *)&sim->written + high, tlp.payload, 4u * tlp.length);
        for (unsigned n = 0; n < 8; n++) {
            sim->written_bytes |= (enables & 1u << n) != 0 ? 0xffull << 8 * n : 0;
        }
    } else if (tlp.kind == FERRY_TLP_COMPLETION_DATA) {
        assert_in_range(sim->pieces, 0, 15);
        sim->came[sim->pieces++] = 4 * tlp.length;
    }
    return true;
}

size_t ferry_sim_queued(const struct ferry_sim *sim)
{
    return sim->queued;
}

const uint32_t *ferry_sim_receive(struct ferry_sim *sim, size_t *count)
{
    if (sim->taken == sim->told) {
        return NULL;
    }
    *count = sim->to_host[sim->taken % 8].count;
    return sim->to_host[sim->taken++ % 8].words;
}

uint64_t ferry_sim_run(struct ferry_sim *sim, uint64_t cycles)
{
    cycles = cycles > 64 ? 64 : cycles; // As one that has something to say.
    sim->cycles += cycles;
    sim->full -= sim->full < cycles ? sim->full : cycles;
    sim->queued -= sim->queued < cycles / 32 ? sim->queued : (size_t)cycles / 32;
    return cycles;
}

uint64_t ferry_sim_cycles(const struct ferry_sim *sim)
{
    return sim->cycles;
}

bool ferry_sim_busy(const struct ferry_sim *sim)
{
    return sim->works || sim->told != sim->taken;
}

const char *ferry_sim_violation(const struct ferry_sim *sim)
{
    return sim->violation;
}

// ---- Cases ----------------------------------------------------------------------------------------------------------

static struct slot slot;

static int setup(void **state)
{
    (void)state;
    static const struct ferry_sim_config config = {.size = sizeof(config)};
    const int fd = memfd_create("guest", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(fd, MEMORY_BYTES), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    const struct guest_range range = {.bytes = MEMORY_BYTES, .fd = fd};
    assert_true(slot_open(&slot, &config));
    assert_null(guest_memory_set(&slot.memory, &range, 1));
    return close(fd);
}

static int teardown(void **state)
{
    (void)state;
    slot_close(&slot);
    return 0;
}

/// The device reads so many bytes; false = nobody answers.
static bool read_memory_at(uint64_t address, uint32_t bytes)
{
    const struct ferry_tlp read = {.kind = FERRY_TLP_MEMORY_READ,
                                   .requester = FERRY_RC_DEVICE,
                                   .tag = 7,
                                   .length = bytes / 4,
                                   .first_enable = 15,
                                   .last_enable = 15,
                                   .address = address};
    device->pieces = 0;
    tell(device, &read);
    slot_run(&slot, 1000);
    uint32_t came = 0;
    for (uint32_t n = 0; n < device->pieces; n++) {
        came += device->came[n];
    }
    assert_true(came == 0 || came == bytes);
    return came != 0;
}

static bool read_memory(uint32_t bytes)
{
    return read_memory_at(0x1000, bytes);
}

/// Power-on values stand for 128 bytes a packet and 512 a read; the device's packets end at 256.
static void packets_are_as_long_as_the_guest_lets_them_be(void **state)
{
    (void)state;
    static const struct {
        uint32_t setting, payload;
    } cases[] = {{0, 128}, {1, 256}, {0, 128}, {2, 256}, {5, 256}};
    assert_true(read_memory(512));
    assert_int_equal(device->came[0], 128);
    for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
        slot_config_write(&slot, FERRY_CONFIG_SPACE_DEVICE_CONTROL, 4,
                          FERRY_PUT(FERRY_CONFIG_SPACE_DEVICE_CONTROL_MAX_PAYLOAD, cases[n].setting) |
                              FERRY_PUT(FERRY_CONFIG_SPACE_DEVICE_CONTROL_MAX_READ, 2u));
        assert_true(read_memory(512));
        for (uint32_t piece = 0; piece < device->pieces; piece++) {
            assert_int_equal(device->came[piece], cases[n].payload);
        }
    }
}

static void reads_are_as_long_as_the_guest_lets_them_be(void **state)
{
    (void)state;
    for (uint32_t setting = 0; setting < 4; setting++) {
        slot_config_write(&slot, FERRY_CONFIG_SPACE_DEVICE_CONTROL, 4,
                          FERRY_PUT(FERRY_CONFIG_SPACE_DEVICE_CONTROL_MAX_READ, setting));
        const uint32_t most = 128u << (setting < 2 ? setting : 2);
        for (uint32_t bytes = 128; bytes <= 1024; bytes *= 2) {
            assert_int_equal(read_memory(bytes), bytes <= most);
        }
    }
    // The byte that has the size alone.
    for (uint32_t setting = 0; setting < 3; setting++) {
        slot_config_write(&slot, FERRY_CONFIG_SPACE_DEVICE_CONTROL + 1, 1,
                          FERRY_PUT(FERRY_CONFIG_SPACE_DEVICE_CONTROL_MAX_READ, setting) >> 8);
        assert_int_equal(read_memory(256), setting >= 1);
        assert_int_equal(read_memory(512), setting >= 2);
    }
}

/// Link Control says 64 bytes after power-on: a completion that is not the last one ends at a multiple of them.
static void answers_end_at_multiples_of_64_bytes(void **state)
{
    (void)state;
    static const struct {
        uint64_t address;
        uint32_t first;
    } cases[] = {{0x1000, 128}, {0x1020, 96}, {0x1040, 128}, {0x107c, 68}};
    for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
        assert_true(read_memory_at(cases[n].address, 256));
        assert_int_equal(device->came[0], cases[n].first);
    }
}

/// What a device has no room for comes later, and is not lost.
static void a_full_device_is_waited_for(void **state)
{
    (void)state;
    device->full = 300;
    slot_write(&slot, 0x80000000u, 8, 0x8786858483828180);
    assert_true(device->written == 0x8786858483828180);
    device->config[15] = 0x44332211;
    device->full = 300;
    assert_int_equal(slot_config_read(&slot, 60, 4), 0x44332211);
}

/// The upper word of an address of 64 bits is no BAR of the virtual machine's, to the last of its bytes.
static void the_upper_word_of_a_bar_stays(void **state)
{
    (void)state;
    for (unsigned bytes = 1; bytes <= 4; bytes *= 2) {
        for (uint32_t at = 0; at < 4; at += bytes) {
            slot_config_write(&slot, FERRY_CONFIG_SPACE_BAR2_HIGH + at, bytes, 0xffffffff >> (32 - 8 * bytes));
            assert_int_equal(device->config[FERRY_CONFIG_SPACE_BAR2_HIGH / 4], 0);
        }
    }
}

/// Once, however long the guest goes on; and again of the device that is there after a reset.
static void why_a_device_stopped_is_told_once(void **state)
{
    (void)state;
    char said[400] = "", one[100];
    FILE *file = tmpfile();
    fflush(stderr);
    const int kept = dup(2);
    assert_true(file != NULL && kept >= 0);
    dup2(fileno(file), 2);
    for (int time = 0; time < 2; time++) {
        device->violation = "broken";
        slot_run(&slot, 1000);
        slot_run(&slot, 1000);
        slot_read(&slot, 0, 4);
        (void)slot_reset(&slot);
    }
    fflush(stderr);
    dup2(kept, 2);
    close(kept);
    rewind(file);
    said[fread(said, 1, sizeof(said) - 1, file)] = 0;
    fclose(file);
    snprintf(one, sizeof(one), "ferry-sim: simulation stopped at cycle 64: broken\n");
    assert_int_equal(strlen(said), 2 * strlen(one));
    assert_memory_equal(said, one, strlen(one));
    assert_string_equal(said + strlen(one), one);
}

/// A guest's writes are not waited for, but they do not pile up either.
static void writes_wait_for_a_device_that_takes_few(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < 4000; n++) {
        slot_write(&slot, 0x80000000u + 8 * n, 8, n);
    }
    assert_in_range(device->most_queued, 1000, 2048 + 6);
}

/// Nobody else runs it while it works, and nothing else stops it: it rests fifty thousand cycles after the last work,
/// and whoever reaches it wakes it.
static void a_device_without_work_rests_until_somebody_reaches_it(void **state)
{
    (void)state;
    const uint64_t before = device->cycles;
    slot_run(&slot, 1000); // All of them, however many at a time, and no more.
    assert_int_equal(device->cycles - before, 1000);
    assert_true(slot_reset(&slot));
    for (int reach = 0; reach < 6; reach++) {
        assert_true(slot_busy(&slot));
        slot_run(&slot, 49900);
        assert_true(slot_busy(&slot));
        device->works = true;
        slot_run(&slot, 100);
        device->works = false;
        slot_run(&slot, 49900);
        assert_true(slot_busy(&slot));
        slot_run(&slot, 100);
        assert_false(slot_busy(&slot));
        switch (reach) {
        case 0: slot_config_read(&slot, 0, 4); break;
        case 1: slot_config_write(&slot, 4, 2, 6); break;
        case 2: slot_config_write(&slot, FERRY_CONFIG_SPACE_BAR2_HIGH, 4, 1); break;
        case 3: slot_read(&slot, 0, 4); break;
        case 4: slot_write(&slot, 0, 4, 1); break;
        default: assert_true(slot_reset(&slot));
        }
    }
    assert_true(slot_busy(&slot));
    device->violation = "broken";
    assert_false(slot_busy(&slot));
}

/// As many bytes as are asked for, where they are asked for, and no others.
static void accesses_have_their_bytes(void **state)
{
    (void)state;
    for (unsigned bytes = 1; bytes <= 4; bytes *= 2) {
        for (uint32_t at = 0; at < 4; at += bytes) {
            const uint64_t mask = (1ull << 8 * bytes) - 1, value = 0x94939291 & mask;
            device->config[15] = 0x44332211;
            slot_config_write(&slot, 60 + at, bytes, (uint32_t)value);
            assert_int_equal(device->taken, device->told); // Its answer was waited for.
            const uint32_t now = (uint32_t)((0x44332211 & ~(mask << 8 * at)) | value << 8 * at);
            assert_int_equal(device->config[15], now);
            assert_int_equal(slot_config_read(&slot, 60 + at, bytes), now >> 8 * at & mask);
        }
    }
    for (unsigned bytes = 1; bytes <= 8; bytes *= 2) {
        for (uint32_t at = 0; at < 8; at += bytes) {
            const uint64_t all = 0x8786858483828180;
            const uint64_t mask = UINT64_MAX >> (64 - 8 * bytes) << 8 * at;
            slot_write(&slot, 0x80000000u + at, bytes, all >> 8 * at);
            assert_true(device->written_bytes == mask && (device->written & mask) == (all & mask));
            assert_int_equal(slot_read(&slot, 0x80000000u + at, bytes),
                             all >> 8 * at << (64 - 8 * bytes) >> (64 - 8 * bytes));
        }
    }
    device->violation = "broken"; // Then nobody answers, which reads as ones.
    assert_int_equal(slot_config_read(&slot, 60, 2), 0xffff);
    assert_int_equal(slot_read(&slot, 0x80000000u, 4), 0xffffffff);
    assert_true(slot_read(&slot, 0x80000000u, 8) == UINT64_MAX);
}

static void memory_is_found_where_the_guest_has_it(void **state)
{
    (void)state;
    const int fd = memfd_create("guest", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    static uint32_t words[MEMORY_BYTES / 4];
    for (uint32_t n = 0; n < MEMORY_BYTES / 4; n++) {
        words[n] = 4 * n;
    }
    assert_int_equal(write(fd, words, sizeof(words)), sizeof(words));
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    struct guest_range ranges[] = {{.address = 0x8000, .bytes = 0x1000, .offset = 0x1000, .fd = fd},
                                   {.address = 0x1000, .bytes = 0x2000, .offset = 0x2000, .fd = fd}};
    assert_null(guest_memory_set(&slot.memory, ranges, 2));
    static const struct {
        uint64_t address;
        uint32_t offset; // 0 = none.
    } places[] = {{0x8000, 0x1000}, {0x8ffc, 0x1ffc}, {0x1000, 0x2000}, {0x2ffc, 0x3ffc},
                  {0x7ffc, 0},      {0x9000, 0},      {0xffc, 0},       {0x3000, 0}};
    for (size_t n = 0; n < sizeof(places) / sizeof(places[0]); n++) {
        uint32_t word = 0;
        const unsigned char *found = guest_memory_find(&slot.memory, places[n].address, NULL);
        assert_int_equal(found != NULL, places[n].offset != 0);
        if (found != NULL) {
            memcpy(&word, found, sizeof(word));
        }
        assert_int_equal(word, places[n].offset);
    }
    static const struct guest_range wrong[] = {{.address = 0x1000, .bytes = 0},
                                               {.address = 0x1800, .bytes = 0x1000},
                                               {.address = 0x1000, .bytes = 0x800},
                                               {.address = 0x1000, .bytes = 0x1000, .offset = 0x800},
                                               {.address = 0xfffffffffffff000, .bytes = 0x2000},
                                               {.address = 0x1000, .bytes = 0x1000, .offset = MEMORY_BYTES},
                                               {.address = 0x1000, .bytes = 0x1000, .offset = MEMORY_BYTES + 0x1000}};
    for (size_t n = 0; n < sizeof(wrong) / sizeof(wrong[0]); n++) {
        ranges[1] = wrong[n];
        ranges[1].fd = fd;
        assert_non_null(guest_memory_set(&slot.memory, ranges, 2));
        assert_null(guest_memory_find(&slot.memory, 0x8000, NULL));
    }
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        CASE(packets_are_as_long_as_the_guest_lets_them_be),
        CASE(reads_are_as_long_as_the_guest_lets_them_be),
        CASE(answers_end_at_multiples_of_64_bytes),
        CASE(a_full_device_is_waited_for),
        CASE(the_upper_word_of_a_bar_stays),
        CASE(why_a_device_stopped_is_told_once),
        CASE(writes_wait_for_a_device_that_takes_few),
        CASE(a_device_without_work_rests_until_somebody_reaches_it),
        CASE(accesses_have_their_bytes),
        CASE(memory_is_found_where_the_guest_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
