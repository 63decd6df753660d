// SPDX-License-Identifier: Apache-2.0
// Page tables through the public interface: how many there are, who gets them, and what becomes of a mapping that finds
// none.
#include "ferry_contract.h"
#include "virtual_machine.h"

// 8 MiB keep 64 tables, four of them for a program that may come. Pages far apart need three each below the root, as
// the allocation's own addresses do.
static void without_memory_for_tables_nothing_is_half_mapped(void **state)
{
    (void)state;
    struct machine m = begin(8 * MIB);
    struct ferry_allocation *one = make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE);
    struct ferry_va range;
    uint32_t mapped = 0;
    int error;

    must_be_resident(m.device, &one, 1);
    do {
        range =
            (struct ferry_va){.size = sizeof range, .address = (mapped + 1) * (UINT64_C(1) << 40), .bytes = 4 * KIB};
        error = ferry_va_map(m.device, one, 0, false, &range);
        mapped += error == FERRY_OK;
    } while (error == FERRY_OK);
    assert_int_equal(error, FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(range.table_bytes, 4096);
    assert_int_equal(mapped, 18);
    nothing_is_chosen_from(m.device, range.address);
    // What one gives back another one takes; and what is mapped works.
    ok(ferry_va_free(m.device, UINT64_C(1) << 40, 4 * KIB));
    ok(ferry_va_map(m.device, one, 0, false, &range));
    for (uint32_t i = 2; i <= 19; i++)
        ok(ferry_queue_fill_va(m.queue, i * (UINT64_C(1) << 40) + 4 * i, 4, i, 4));
    run(&m);
    void *address;
    ok(ferry_lock(one, FERRY_LOCK_READ_ONLY, &address));
    for (uint32_t i = 2; i <= 19; i++)
        assert_int_equal(((uint32_t *)address)[i], i);
    ok(ferry_unlock(one));
    ferry_adapter_close(m.adapter);
}

// An allocation of 16 MiB, mapped over and over a page beside where larger pages could be: a million and more of 4 KiB,
// with one table for 512 and a few above. What jobs write at some is there by the others.
static void a_million_pages_are_mapped_where_tables_have_the_room(void **state)
{
    enum { TIMES = 260, EACH = 16 * MIB, TABLES = TIMES * (EACH / (2 * MIB) + 1) + 64 };
    (void)state;
    if (!on_model()) {
        print_message("left out: a_million_pages_are_mapped_where_tables_have_the_room: entries take minutes there\n");
        return;
    }
    struct ferry_adapter_options options = {.size = sizeof options,
                                            .backend = backend,
                                            .video_memory_bytes = 2 * EACH,
                                            .seed = seed,
                                            .model = 2,
                                            .tables = table_memory,
                                            .table_bytes = TABLES * UINT64_C(4096)};
    struct machine m = {0};

    ok(ferry_adapter_open(&options, &m.adapter));
    ok(ferry_device_create(m.adapter, &m.device));
    ok(ferry_queue_create(m.device, &m.queue));
    struct ferry_allocation *one = make(m.device, EACH, FERRY_FLAG_CPU_VISIBLE);
    must_be_resident(m.device, &one, 1);
    for (uint64_t i = 0; i < TIMES; i++)
        map_at(m.device, one, (i << 25) + 4096, 0, EACH);
    for (uint32_t i = 0; i < TIMES; i += 13)
        ok(ferry_queue_fill_va(m.queue, ((uint64_t)i << 25) + 4096 + (uint64_t)i * 60000, 4, i, 4));
    run(&m);
    void *address;
    ok(ferry_lock(one, FERRY_LOCK_READ_ONLY, &address));
    for (uint32_t i = 0; i < TIMES; i += 13)
        assert_memory_equal((uint8_t *)address + (size_t)i * 60000, &i, 4);
    ok(ferry_unlock(one));
    ferry_adapter_close(m.adapter);
}

// What is asked for is what there is of tables, or there is no adapter.
static void tables_take_what_was_asked_for(void **state)
{
    (void)state;
    struct ferry_adapter_options options = {.size = sizeof options, .backend = backend, .tables = table_memory};
    struct ferry_adapter *adapter = NULL;

    options.table_bytes = 4095;
    assert_int_equal(ferry_adapter_open(&options, &adapter), FERRY_ERROR_ARGUMENT);
    options.table_bytes = (UINT64_C(1) << 40) + 4096;
    assert_int_equal(ferry_adapter_open(&options, &adapter), FERRY_ERROR_ARGUMENT);
    options.table_bytes = 4096;
    options.model = 1;
    assert_int_equal(ferry_adapter_open(&options, &adapter), FERRY_ERROR_ARGUMENT);
    options.model = 2;
    if (table_memory == FERRY_TABLES_VIDEO) {
        options.table_bytes = UINT64_C(1) << 37;
        assert_int_equal(ferry_adapter_open(&options, &adapter), FERRY_ERROR_NO_VIDEO_MEMORY);
    }
    assert_null(adapter);
}

static uint64_t own_address(struct ferry_device *device, const struct ferry_allocation *allocation)
{
    struct ferry_va_mapping mapping = {.size = sizeof mapping};

    for (uint64_t at = OWN_ADDRESSES;; at = mapping.address + mapping.bytes) {
        ok(ferry_va_find(device, at, &mapping));
        if (!mapping.bytes || mapping.allocation == ferry_allocation_id(allocation))
            return mapping.bytes ? mapping.address : 0;
    }
}

// Who finds no tables when it is made has its jobs patched, and an address as soon as it is used when there are some.
static void what_found_no_tables_has_an_address_later(void **state)
{
    (void)state;
    struct machine m = begin(8 * MIB);
    struct ferry_allocation *one = make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE), *late[2];
    struct ferry_va range = {.size = sizeof range, .bytes = 4 * KIB};
    struct ferry_fault fault = {.size = sizeof fault};
    uint64_t fence, address;
    uint32_t *words;
    bool found;

    for (uint32_t i = 1; i <= 18; i++)
        map_at(m.device, one, i * (UINT64_C(1) << 40), 0, 4 * KIB);
    for (uint32_t i = 1; i <= 2; i++)
        map_at(m.device, one, 2 * (UINT64_C(1) << 40) + i * 2 * MIB, 0, 4 * KIB);
    // Another table of level 0 each.
    for (int i = 0; i < 2; i++) {
        late[i] = make(m.device, 2 * MIB, FERRY_FLAG_CPU_VISIBLE);
        must_be_resident(m.device, &late[i], 1);
        ok(ferry_queue_fill(m.queue, late[i], 4 * i, 4, 0x10 + i, 4));
        run(&m);
        assert_true(own_address(m.device, late[i]) == 0);
    }
    // Tables come: made resident again, it has its address, and the next job names it.
    ok(ferry_va_free(m.device, UINT64_C(1) << 40, 4 * KIB));
    assert_true(own_address(m.device, late[0]) == 0);
    must_be_resident(m.device, &late[0], 1);
    address = own_address(m.device, late[0]);
    assert_true(address != 0);
    ok(ferry_queue_fill(m.queue, late[0], 8, 4, 0x20, 4));
    run(&m);
    // The other stays where it is, and is named by a job.
    ok(ferry_queue_fill(m.queue, late[1], 8, 4, 0x21, 4));
    run(&m);
    assert_true(own_address(m.device, late[1]) != 0);
    for (int i = 0; i < 2; i++) {
        ok(ferry_lock(late[i], FERRY_LOCK_READ_ONLY, (void **)&words));
        assert_int_equal(words[i], 0x10 + i);
        assert_int_equal(words[2], 0x20 + i);
        ok(ferry_unlock(late[i]));
    }
    // By its address indeed, which may be freed as any other.
    ok(ferry_va_free(m.device, address, 2 * MIB));
    must_be_resident(m.device, &late[0], 1);
    ok(ferry_queue_fill(m.queue, late[0], 16, 4, 1, 4));
    ok(ferry_queue_submit(m.queue, &fence));
    assert_int_equal(ferry_queue_wait(m.queue, fence), FERRY_ERROR_FAULT);
    ok(ferry_adapter_next_fault(m.adapter, &fault, &found));
    assert_true(found && fault.address_kind == FERRY_ADDRESS_KIND_VIRTUAL);
    // Nowhere, as somebody else may have the address by then.
    assert_true(fault.address == (UINT64_C(1) << 48) + 16);
    assert_true(own_address(m.device, late[0]) == 0);
    ok(ferry_va_map(m.device, one, 0, false, &range));
    ferry_adapter_close(m.adapter);
}

// 64 tables, of which a program takes all that it gets: another one has its first mapping all the same, and its jobs go
// by it.
static void a_program_beside_a_greedy_one_maps(void **state)
{
    (void)state;
    struct ferry_adapter *adapter = open_model2(8 * MIB);
    struct machine m[2];
    struct ferry_allocation *one[2];

    for (uint32_t i = 0; i < 2; i++) {
        struct ferry_process *process;
        struct ferry_va range = {.size = sizeof range, .bytes = 4 * KIB};
        int error = FERRY_OK;

        ok(ferry_process_create(adapter, NULL, &process));
        m[i].adapter = adapter;
        ok(ferry_process_create_device(process, &m[i].device));
        ok(ferry_queue_create(m[i].device, &m[i].queue));
        one[i] = make(m[i].device, 4 * KIB, FERRY_FLAG_CPU_VISIBLE);
        must_be_resident(m[i].device, &one[i], 1);
        // It has its own address.
        assert_true(own_address(m[i].device, one[i]) != 0);
        for (uint64_t k = 1; error == FERRY_OK; k++) {
            range.address = OWN_ADDRESSES + k * 2 * MIB;
            error = ferry_va_map(m[i].device, one[i], 0, false, &range);
        }
        assert_int_equal(error, FERRY_ERROR_NO_VIDEO_MEMORY);
        assert_int_equal(range.table_bytes, 4096);
    }
    for (uint32_t i = 0; i < 2; i++) {
        ok(ferry_queue_fill_va(m[i].queue, own_address(m[i].device, one[i]), 4 * KIB, 0x50 + i, 1));
        run(&m[i]);
    }
    for (uint32_t i = 0; i < 2; i++) {
        void *address;

        ok(ferry_lock(one[i], FERRY_LOCK_READ_ONLY, &address));
        for (uint32_t k = 0; k < 4 * KIB; k++)
            assert_int_equal(((uint8_t *)address)[k], 0x50 + i);
        ok(ferry_unlock(one[i]));
    }
    ferry_adapter_close(adapter);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_memory_for_tables_nothing_is_half_mapped),
        cmocka_unit_test(a_million_pages_are_mapped_where_tables_have_the_room),
        cmocka_unit_test(tables_take_what_was_asked_for),
        cmocka_unit_test(what_found_no_tables_has_an_address_later),
        cmocka_unit_test(a_program_beside_a_greedy_one_maps),
    };

    read_options(argc, argv);
    return has_page_tables() ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
