// SPDX-License-Identifier: Apache-2.0
// The reference model: what packets do, worked out by hand from docs/manual/contract.md.
#include "rig.h"

static void pattern(uint8_t *at, size_t bytes, uint8_t first)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)(first + i * 7 + i / 251);
}

// ---- What packets do --------------------------------------------------------------------------------------------

static void copies_every_pair_of_places(void **state)
{
    struct rig *rig = *state;
    uint8_t *local = ferry_model_local(rig->model), want[5000];
    uint64_t page_list[3] = {DATA_PAGE + 4096 * 10, DATA_PAGE + 4096 * 4, DATA_PAGE + 4096 * 7};

    pattern(host_at(rig, DATA_PAGE), sizeof want, 3);
    memcpy(want, host_at(rig, DATA_PAGE), sizeof want);
    map(rig, 2, page_list, 3, true);
    copy(rig, SYSTEM, DATA_PAGE, LOCAL, 0x123, sizeof want);
    copy(rig, LOCAL, 0x123, APERTURE, 2 * 4096 + 1000, sizeof want);
    copy(rig, APERTURE, 2 * 4096 + 1000, SYSTEM, DATA_PAGE + 4096 * 15, sizeof want);
    assert_int_equal(submit(rig, 0), 0);
    assert_memory_equal(local + 0x123, want, sizeof want);
    assert_int_equal(local[0x122], 0);
    assert_int_equal(local[0x123 + sizeof want], 0);
    assert_memory_equal(host_at(rig, page_list[0]) + 1000, want, 3096);
    assert_memory_equal(host_at(rig, page_list[1]), want + 3096, sizeof want - 3096);
    assert_memory_equal(host_at(rig, DATA_PAGE + 4096 * 15), want, sizeof want);
    assert_int_equal(rig->unmapped, 0);
}

static void copies_overlapping_ranges_as_memmove(void **state)
{
    struct rig *rig = *state;
    uint8_t *local = ferry_model_local(rig->model), want[20000];
    static const int distances[] = {-9000, -4096, -1, 1, 5, 4095, 4096, 9001};

    for (size_t i = 0; i < sizeof distances / sizeof distances[0]; i++) {
        pattern(local, 64 * 1024, (uint8_t)i);
        memcpy(want, local + 10000, sizeof want);
        copy(rig, LOCAL, 10000, LOCAL, (uint64_t)(10000 + distances[i]), sizeof want);
        assert_int_equal(submit(rig, 0), 0);
        assert_memory_equal(local + 10000 + distances[i], want, sizeof want);

        pattern(host_at(rig, DATA_PAGE), 12 * 4096, (uint8_t)i);
        memcpy(want, host_at(rig, DATA_PAGE + 10000), sizeof want);
        copy(rig, SYSTEM, DATA_PAGE + 10000, SYSTEM, DATA_PAGE + 10000 + (uint64_t)(int64_t)distances[i], sizeof want);
        assert_int_equal(submit(rig, 0), 0);
        assert_memory_equal(host_at(rig, DATA_PAGE + 10000) + distances[i], want, sizeof want);
    }
}

static void copies_page_lists_both_ways(void **state)
{
    struct rig *rig = *state;
    uint8_t *local = ferry_model_local(rig->model);
    uint64_t list[3] = {DATA_PAGE + 4096 * 9, DATA_PAGE + 4096 * 2, DATA_PAGE + 4096 * 5};
    uint8_t want[9000];

    for (int i = 0; i < 3; i++)
        pattern(host_at(rig, list[i]), 4096, (uint8_t)(50 * i));
    memcpy(want, host_at(rig, list[0]) + 1096, 3000);
    memcpy(want + 3000, host_at(rig, list[1]), 4096);
    memcpy(want + 7096, host_at(rig, list[2]), 1904);
    pages(rig, 1, LOCAL, 0x777, 1096, sizeof want, list, 3);
    assert_int_equal(submit(rig, 0), 0);
    assert_memory_equal(local + 0x777, want, sizeof want);

    memset(host_at(rig, list[0]), 0xAA, 4096);
    memset(host_at(rig, list[1]), 0xAA, 4096);
    memset(host_at(rig, list[2]), 0xAA, 4096);
    pages(rig, 2, LOCAL, 0x777, 1096, sizeof want, list, 3);
    assert_int_equal(submit(rig, 0), 0);
    assert_memory_equal(host_at(rig, list[0]) + 1096, want, 3000);
    assert_memory_equal(host_at(rig, list[1]), want + 3000, 4096);
    assert_memory_equal(host_at(rig, list[2]), want + 7096, 1904);
    assert_int_equal(host_at(rig, list[0])[1095], 0xAA);
    assert_int_equal(host_at(rig, list[2])[1904], 0xAA);
}

static void fills_with_every_pattern_size_and_alignment(void **state)
{
    struct rig *rig = *state;
    uint8_t *local = ferry_model_local(rig->model);
    const uint8_t value[8] = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};

    for (uint32_t log2 = 0; log2 < 4; log2++) {
        for (uint32_t offset = 0; offset < 9; offset++) {
            memset(local + 4000, 0xEE, 300);
            fill(rig, LOCAL, 4080 + offset, 133, 0x8877665544332211ull, log2);
            assert_int_equal(submit(rig, 1), 0);
            for (uint32_t i = 0; i < 133; i++)
                assert_int_equal(local[4080 + offset + i], value[i % (1u << log2)]);
            assert_int_equal(local[4079 + offset], 0xEE);
            assert_int_equal(local[4080 + offset + 133], 0xEE);
        }
    }
}

static void R60_physical_writes_touch_1_to_8_bytes_and_no_neighbour(void **state)
{
    struct rig *rig = *state;
    uint8_t *local = ferry_model_local(rig->model);

    for (uint32_t bytes = 1; bytes <= 8; bytes++) {
        memset(local + 4090, 0xEE, 24);
        write_value(rig, LOCAL, 4093, bytes, 0x0807060504030201ull);
        read_value(rig, LOCAL, 4093, bytes);
        read_value(rig, SYSTEM, DATA_PAGE + 4093, bytes);
        assert_int_equal(submit(rig, 0), 0);
        for (uint32_t i = 0; i < 12; i++)
            assert_int_equal(local[4093 + i], i < bytes ? i + 1 : 0xEE);
        assert_int_equal(local[4092], 0xEE);
    }
}

static void R75_unmapped_aperture_pages_hit_the_dummy_page(void **state)
{
    struct rig *rig = *state;
    uint64_t list[2] = {DATA_PAGE, DATA_PAGE + 4096}, dummy = DATA_PAGE + 8192;

    map(rig, 4, list, 2, false);
    fill(rig, LOCAL, 0, 8192, 0x5a, 0);
    copy(rig, LOCAL, 0, APERTURE, 4 * 4096, 8192);
    unmap(rig, 4, 2, dummy);
    copy(rig, LOCAL, 0, APERTURE, 5 * 4096 + 40, 8);
    assert_int_equal(submit(rig, 0), 0);
    assert_int_equal(host_at(rig, list[0])[0], 0x5a);
    assert_int_equal(host_at(rig, list[1])[4095], 0x5a);
    assert_int_equal(host_at(rig, dummy)[39], 0);
    assert_int_equal(host_at(rig, dummy)[40], 0x5a);
    assert_int_equal(host_at(rig, dummy)[47], 0x5a);
    assert_int_equal(host_at(rig, dummy)[48], 0);
    // Valid and where it points; the snoop bit was clear in the map and is clear after the unmap.
    assert_int_equal(ferry_model_aperture_entry(rig->model, 4), dummy | 1);
    assert_int_equal(ferry_model_aperture_entry(rig->model, 3), 0);
}

static void R64_map_keeps_the_snoop_bit_of_each_page(void **state)
{
    struct rig *rig = *state;
    uint64_t list[2] = {DATA_PAGE, DATA_PAGE + 4096};

    map(rig, 0, list, 2, true);
    map(rig, 2, list, 2, false);
    assert_int_equal(submit(rig, 0), 0);
    assert_int_equal(ferry_model_aperture_entry(rig->model, 0), list[0] | 3);
    assert_int_equal(ferry_model_aperture_entry(rig->model, 1), list[1] | 3);
    assert_int_equal(ferry_model_aperture_entry(rig->model, 3), list[1] | 1);
}

static void fences_discards_and_nops(void **state)
{
    struct rig *rig = *state;
    uint64_t value;

    head(rig, 0, 4, 0xffffffff);
    put64(rig, 0x123456789);
    signal_fence(rig, SYSTEM, DATA_PAGE + 64, 0x1122334455667788ull);
    discard(rig, 0x1000, 4096);
    signal_fence(rig, LOCAL, 128, 42);
    assert_int_equal(submit(rig, 0), 0);
    memcpy(&value, host_at(rig, DATA_PAGE + 64), 8);
    assert_int_equal(value, 0x1122334455667788ull);
    memcpy(&value, ferry_model_local(rig->model) + 128, 8);
    assert_int_equal(value, 42);
    assert_int_equal(read64(rig, 0x400 + 0x98), 4);
}

static void an_empty_buffer_and_a_zero_length_copy_only_write_their_fence(void **state)
{
    struct rig *rig = *state;

    assert_int_equal(submit(rig, 2), 0);
    copy(rig, LOCAL, LOCAL_BYTES, LOCAL, 0, 0);
    fill(rig, LOCAL, LOCAL_BYTES, 0, 0, 0);
    assert_int_equal(submit(rig, 2), 0);
    assert_int_equal(ferry_model_read(rig->model, 0xac), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(copies_every_pair_of_places),
        CASE(copies_overlapping_ranges_as_memmove),
        CASE(copies_page_lists_both_ways),
        CASE(fills_with_every_pattern_size_and_alignment),
        CASE(R60_physical_writes_touch_1_to_8_bytes_and_no_neighbour),
        CASE(R75_unmapped_aperture_pages_hit_the_dummy_page),
        CASE(R64_map_keeps_the_snoop_bit_of_each_page),
        CASE(fences_discards_and_nops),
        CASE(an_empty_buffer_and_a_zero_length_copy_only_write_their_fence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
