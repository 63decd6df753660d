// SPDX-License-Identifier: Apache-2.0
// Generated content against a plain copy of every byte, and the small helpers beside it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../seed.h"
#include "tools/content.h"
#include "tools/id_map.h"
#include "tools/tool.h"
#include "tools/vram_map.h"

enum { BYTES = 5000, STEPS = 3000 };

static uint64_t seed;

static uint32_t random_below(uint32_t limit)
{
    return draw_below(&seed, limit);
}

static void random_writes_match_a_plain_copy(void **state)
{
    (void)state;
    static uint8_t copy[BYTES], known[BYTES];
    struct ferry_content content;
    assert_int_equal(ferry_content_begin(&content, BYTES, FERRY_CONTENT_PATTERN, 0x1122334455667788), 0);
    for (size_t i = 0; i < BYTES; i++)
        copy[i] = (uint8_t)(0x1122334455667788u >> (i % 8 * 8));
    memset(known, 1, BYTES);
    for (unsigned step = 1; step <= STEPS; step++) {
        uint32_t offset = random_below(BYTES), bytes = 1 + random_below(random_below(4) ? 90 : BYTES);
        if (bytes > BYTES - offset)
            bytes = BYTES - offset;
        uint32_t kind = random_below(8);
        if (kind == 0) {
            assert_int_equal(ferry_content_set(&content, offset, bytes, FERRY_CONTENT_UNKNOWN, 0), 0);
            memset(known + offset, 0, bytes);
            for (uint32_t i = 0; i < bytes; i++)
                copy[offset + i] = (uint8_t)random_below(256);
        } else {
            enum ferry_content_kind made = kind == 1 ? FERRY_CONTENT_PATTERN : FERRY_CONTENT_WRITTEN;
            assert_int_equal(ferry_content_set(&content, offset, bytes, made, step), 0);
            ferry_content_generate(made, step, offset, copy + offset, bytes);
            memset(known + offset, 1, bytes);
        }
        struct ferry_mismatch mismatch = {0};
        size_t expected = 0;
        for (size_t i = 0; i < BYTES; i++)
            expected += known[i];
        assert_int_equal(ferry_content_compare_all(&content, copy, &mismatch), expected);
        assert_int_equal(mismatch.bad, 0);
        // Each known byte counts: spoil one, and it is named.
        uint32_t at = random_below(BYTES);
        copy[at] ^= 0x40;
        ferry_content_compare_all(&content, copy, &mismatch);
        assert_int_equal(mismatch.bad, known[at]);
        if (known[at]) {
            assert_int_equal(mismatch.offset, at);
            assert_int_equal(mismatch.found, copy[at]);
            assert_int_equal(mismatch.expected, copy[at] ^ 0x40);
        }
        copy[at] ^= 0x40;
    }
    for (size_t i = 1; i < content.count; i++)
        assert_true(content.stretches[i - 1].begin < content.stretches[i].begin);
    ferry_content_free(&content);
}

static void a_byte_follows_from_its_offset_alone(void **state)
{
    (void)state;
    uint8_t whole[600], part[600];
    ferry_content_generate(FERRY_CONTENT_WRITTEN, 99, 1000, whole, sizeof whole);
    for (size_t from = 0; from < 40; from++) {
        for (size_t bytes = 1; bytes < 40; bytes++) {
            memset(part, 0xcc, sizeof part);
            ferry_content_generate(FERRY_CONTENT_WRITTEN, 99, 1000 + from, part, bytes);
            assert_memory_equal(part, whole + from, bytes);
            assert_int_equal(part[bytes], 0xcc);
        }
    }
}

// What goes wrong in a copy engine is a page, a burst or a beat in the wrong place, or an old one.
static void misplaced_content_differs_nearly_everywhere(void **state)
{
    (void)state;
    static const uint64_t shifts[] = {1, 8, 64, 128, 256, 512, 2048, 4096, 65536, 1u << 20};
    uint8_t right[4096], wrong[4096];
    ferry_content_generate(FERRY_CONTENT_WRITTEN, 7, 0, right, sizeof right);
    for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++) {
        ferry_content_generate(FERRY_CONTENT_WRITTEN, 7, shifts[i], wrong, sizeof wrong);
        unsigned same = 0;
        for (size_t b = 0; b < sizeof right; b++)
            same += right[b] == wrong[b];
        assert_true(same < sizeof right / 16);
    }
    ferry_content_generate(FERRY_CONTENT_WRITTEN, 8, 0, wrong, sizeof wrong);
    assert_true(memcmp(right, wrong, sizeof right) != 0);
}

static void ids_are_found_again(void **state)
{
    (void)state;
    struct ferry_id_map map = {0};
    assert_int_equal(ferry_id_map_get(&map, 1), FERRY_ID_NONE);
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(ferry_id_map_set(&map, (uint64_t)i << 40 | i, i), 0);
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(ferry_id_map_get(&map, (uint64_t)i << 40 | i), i);
    assert_int_equal(ferry_id_map_set(&map, 0, 77), 0);
    assert_int_equal(ferry_id_map_get(&map, 0), 77);
    assert_int_equal(map.count, 10000);
    assert_int_equal(ferry_id_map_get(&map, 5), FERRY_ID_NONE);
    ferry_id_map_free(&map);
}

static void the_map_follows_the_events(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {4096, 8192, 4096};
    struct ferry_vram_map map;
    assert_int_equal(ferry_vram_map_begin(&map, 65536, 3, sizes, NULL, 1, true), 0);
    ferry_vram_map_placed(&map, 0, 0, 4096);
    ferry_vram_map_placed(&map, 1, 4096, 8192);
    assert_int_equal(map.resident_bytes, 12288);
    map.now = 1;
    ferry_vram_map_end_frame(&map);
    assert_int_equal(map.last.placed_bytes, 12288);
    ferry_vram_map_removed(&map, 0, 0);
    ferry_vram_map_removed(&map, 0, 0); // Not there: nothing happens.
    ferry_vram_map_removed(&map, 1, 8192);
    ferry_vram_map_removed(&map, 99, 0);
    ferry_vram_map_step(&map);
    ferry_vram_map_removed(&map, 1, 4096);
    ferry_vram_map_step(&map);
    assert_false(ferry_vram_map_placed(&map, 1, 16384, 8192));
    assert_int_equal(map.resident_bytes, 8192);
    assert_int_equal(map.frame.removed, 2);
    // Removed and placed in one step is a move, in two steps it is not.
    ferry_vram_map_removed(&map, 1, 16384);
    assert_true(ferry_vram_map_placed(&map, 1, 16384, 8192));
    assert_int_equal(map.frame.removed, 2);
    assert_int_equal(map.frame.moved, 1);
    assert_int_equal(map.frame.placed, 1);
    ferry_vram_map_removed(&map, 1, 16384);
    ferry_vram_map_step(&map);
    assert_false(ferry_vram_map_placed(&map, 1, 16384, 8192));
    assert_int_equal(map.frame.removed, 3);
    assert_int_equal(map.living_count, 1);
    map.now = 2;
    ferry_vram_map_end(&map);
    assert_int_equal(map.stay_count, 5);
    assert_int_equal(map.stays[0].object, 0);
    assert_true(map.stays[0].begin == 0 && map.stays[0].end == 1);
    assert_int_equal(map.stays[4].offset, 16384);
    assert_true(map.stays[4].begin == 1 && map.stays[4].end == 2);
    assert_int_equal(map.resident_bytes, 0);
    assert_int_equal(map.most_resident_bytes, 12288);
    ferry_vram_map_free(&map);
}

// Renamed: it stands in three places, of which one holds the content; the others are parked, and not free.
static void instances_of_an_object_stand_beside_each_other(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {4096, 4096};
    struct ferry_vram_map map;
    assert_int_equal(ferry_vram_map_begin(&map, 65536, 2, sizes, NULL, 1, true), 0);
    ferry_vram_map_placed(&map, 0, 0, 4096);
    ferry_vram_map_placed(&map, 1, 4096, 4096);
    map.now = 1;
    ferry_vram_map_current(&map, 0, FERRY_NOWHERE); // Discarded: the new instance is in no place yet.
    ferry_vram_map_placed(&map, 0, 8192, 4096);
    map.now = 2;
    ferry_vram_map_current(&map, 0, 12288);
    ferry_vram_map_placed(&map, 0, 12288, 4096);
    assert_int_equal(map.resident_bytes, 4 * 4096);
    assert_int_equal(map.living_count, 4);
    map.now = 3;
    ferry_vram_map_removed(&map, 0, 0); // One leaves, the others stay.
    assert_int_equal(map.resident_bytes, 3 * 4096);
    map.now = 4;
    ferry_vram_map_current(&map, 0, 8192); // And the other way round.
    ferry_vram_map_current(&map, 0, 8192);
    map.now = 5;
    ferry_vram_map_end(&map);
    assert_int_equal(map.resident_bytes, 0);
    static const struct ferry_stay expected[] = {
        {.offset = 0, .begin = 0, .end = 1},
        {.offset = 8192, .begin = 1, .end = 2},
        {.offset = 0, .begin = 1, .end = 3, .parked = true},
        {.offset = 8192, .begin = 2, .end = 4, .parked = true},
        {.offset = 12288, .begin = 2, .end = 4},
        {.offset = 12288, .begin = 4, .end = 5, .parked = true},
        {.offset = 8192, .begin = 4, .end = 5},
    };
    const size_t count = sizeof expected / sizeof *expected;
    assert_int_equal(map.stay_count, count + 1); // And that of the other object.
    for (size_t i = 0; i < count; i++) {
        unsigned found = 0;
        for (size_t k = 0; k < map.stay_count; k++)
            found += map.stays[k].object == 0 && map.stays[k].offset == expected[i].offset &&
                     map.stays[k].begin == expected[i].begin && map.stays[k].end == expected[i].end &&
                     map.stays[k].parked == expected[i].parked;
        assert_int_equal(found, 1);
    }
    ferry_vram_map_free(&map);
}

// Whatever way a colour is seen, programs differ in it; objects of one are shades of its hue.
static void programs_have_colours_of_their_own(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {4096, 8192, 4096, 100000};
    static const uint8_t programs[] = {0, 1, 1, 0};
    struct ferry_vram_map map;
    assert_int_equal(ferry_vram_map_begin(&map, 65536, 4, sizes, programs, 2, false), 0);
    for (uint32_t object = 0; object < 4; object++) {
        struct ferry_colour colour = ferry_object_colour(&map, object);
        // The largest of each has the program's own colour.
        struct ferry_colour own = ferry_program_colour(programs[object], object == 0 || object == 2);
        assert_memory_equal(&colour, &own, sizeof own);
    }
    ferry_vram_map_free(&map);
    for (unsigned a = 0; a < 8 * FERRY_SHADES; a++) {
        for (unsigned b = 0; b < a; b++) {
            struct ferry_colour one = ferry_program_colour(a / FERRY_SHADES, a % FERRY_SHADES);
            struct ferry_colour other = ferry_program_colour(b / FERRY_SHADES, b % FERRY_SHADES);
            assert_memory_not_equal(&one, &other, sizeof one);
        }
    }
}

static void a_long_history_forgets_what_is_smallest(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1u << 20, 4096};
    struct ferry_vram_map map;
    assert_int_equal(ferry_vram_map_begin(&map, 1u << 30, 2, sizes, NULL, 1, true), 0);
    const uint64_t steps = FERRY_LONGEST_HISTORY + 1000;
    for (uint64_t i = 0; i < steps; i++) {
        uint32_t object = i % 1000 != 0;
        ferry_vram_map_step(&map);
        ferry_vram_map_placed(&map, object, 0, sizes[object]);
        map.now += 1;
        ferry_vram_map_removed(&map, object, 0);
    }
    assert_true(map.stay_count <= FERRY_LONGEST_HISTORY);
    assert_int_equal(map.stay_count + map.stays_lost, steps);
    uint64_t large = 0;
    for (size_t i = 0; i < map.stay_count; i++)
        large += map.stays[i].object == 0;
    assert_int_equal(large, (steps + 999) / 1000);
    ferry_vram_map_free(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_writes_match_a_plain_copy),
        cmocka_unit_test(a_byte_follows_from_its_offset_alone),
        cmocka_unit_test(misplaced_content_differs_nearly_everywhere),
        cmocka_unit_test(ids_are_found_again),
        cmocka_unit_test(the_map_follows_the_events),
        cmocka_unit_test(instances_of_an_object_stand_beside_each_other),
        cmocka_unit_test(programs_have_colours_of_their_own),
        cmocka_unit_test(a_long_history_forgets_what_is_smallest),
    };
    seed = seed_given(20261120);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
