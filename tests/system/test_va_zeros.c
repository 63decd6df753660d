// SPDX-License-Identifier: Apache-2.0
// Kinds of reservations, and mappings that take the place of others, through the public interface (wddm-facts 4.6,
// Reserve and Map): what jobs read and write there, what the page tables say, and what is refused by name.
#include "ferry_contract.h"
#include "updates.h"

static uint64_t reserve_zeros(struct machine *m, uint64_t address, uint64_t bytes)
{
    struct ferry_va range = {.size = sizeof range,
                             .address = address,
                             .least = UINT64_C(4) << 30,
                             .most = UINT64_C(1) << 46,
                             .bytes = bytes,
                             .reservation = FERRY_VA_ZERO};

    ok(ferry_va_reserve(m->device, &range));
    return range.address;
}

static uint64_t map_somewhere(struct machine *m, struct ferry_allocation *allocation, uint64_t bytes)
{
    struct ferry_va range = {.size = sizeof range, .most = UINT64_C(1) << 46, .bytes = bytes};

    ok(ferry_va_map(m->device, allocation, 0, false, &range));
    return range.address;
}

static void faults(struct machine *m, uint64_t address, bool is_write, uint32_t kind)
{
    struct ferry_fault fault = {.size = sizeof fault};
    bool found;

    assert_int_equal(ferry_queue_wait(m->queue, submit(m->queue)), FERRY_ERROR_FAULT);
    ok(ferry_adapter_next_fault(m->adapter, &fault, &found));
    assert_true(found && fault.address == address && fault.is_write == is_write);
    assert_int_equal(fault.kind, kind);
}

// Bytes of the result against what was there before, zeros or another one's content.
static void compare(struct ferry_allocation *result, uint32_t from, uint32_t bytes, uint64_t of, uint32_t at)
{
    void *address;

    ok(ferry_lock(result, FERRY_LOCK_READ_ONLY, &address));
    for (uint32_t i = 0; i < bytes; i++)
        assert_int_equal(((uint8_t *)address)[from + i], of == 0 ? 0 : content(of, at + i));
    ok(ferry_unlock(result));
}

static void zeros_are_read_and_never_written(void **state)
{
    (void)state;
    struct machine m = begin(8 * MIB);
    struct ferry_allocation *all[2] = {make(m.device, 128 * KIB, FERRY_FLAG_CPU_VISIBLE),
                                       make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE)};
    struct ferry_allocation *result = all[0], *one = all[1];
    // Over the edges of tables of two levels, and a million times what there is of memory.
    const uint64_t x = reserve_zeros(&m, (UINT64_C(3) << 40) - 64 * KIB, UINT64_C(8) << 40),
                   y = x + (UINT64_C(1) << 39);
    uint64_t out = map_somewhere(&m, result, 128 * KIB);
    struct ferry_va_mapping mapping = {.size = sizeof mapping};
    bool found;

    write_content(result, 128 * KIB, 1);
    write_content(one, 64 * KIB, 2);
    must_be_resident(m.device, all, 2);
    ok(ferry_queue_copy_va(m.queue, out + 1000, x + 77, 60 * KIB));
    ok(ferry_queue_copy_va(m.queue, out + 64 * KIB, y + 2 * MIB - 10 * KIB, 20 * KIB));
    ok(ferry_queue_wait(m.queue, submit(m.queue)));
    compare(result, 1000, 60 * KIB, 0, 0);
    compare(result, 64 * KIB, 20 * KIB, 0, 0);
    compare(result, 90 * KIB, 38 * KIB, 1, 90 * KIB);
    ok(ferry_va_find(m.device, y, &mapping));
    assert_true(mapping.address == x && mapping.bytes == UINT64_C(8) << 40 && !mapping.mapped && mapping.zeros);
    struct ferry_va_steps walk, other;
    const struct ferry_va_step *last = last_step(&m, y + 5, &walk), *another = last_step(&m, x + 9 * PAGE + 5, &other);
    assert_true(walk.count == 4 && last->is_page && last->read_only && last->leads_to == another->leads_to);
    // Nobody writes there, by a fill or a copy; and what is there is what was there.
    ok(ferry_queue_fill_va(m.queue, y + 8, 16, 0x77, 1));
    faults(&m, y + 8, true, FERRY_FAULT_KIND_PAGE_READ_ONLY);
    ok(ferry_queue_copy_va(m.queue, x, out, 64));
    faults(&m, x, true, FERRY_FAULT_KIND_PAGE_READ_ONLY);
    // What is mapped among them is written as any other.
    struct ferry_va_operation operation = map(y, 16 * KIB, one, 4 * KIB);
    ok(update(m.queue, &operation, 1, NULL));
    ok(ferry_queue_fill_va(m.queue, y + 8, 16, 0x77, 1));
    ok(ferry_queue_copy_va(m.queue, out, y + 14 * KIB, 4 * KIB));
    ok(ferry_queue_wait(m.queue, submit(m.queue)));
    compare(result, 0, 2 * KIB, 2, 18 * KIB);
    compare(result, 2 * KIB, 2 * KIB, 0, 0);
    operation = unmap(y, 8 * KIB);
    ok(update(m.queue, &operation, 1, NULL));
    ok(ferry_queue_copy_va(m.queue, out, y + 7 * KIB, 2 * KIB));
    ok(ferry_queue_wait(m.queue, submit(m.queue)));
    compare(result, 0, KIB, 0, 0);
    compare(result, KIB, KIB, 2, 12 * KIB);
    // Gone, they lead nowhere, as soon as the device is told.
    ok(ferry_va_free(m.device, x, UINT64_C(8) << 40));
    for (int again = 0, error = FERRY_OK; error == FERRY_OK && again < 1000; again++) {
        ok(ferry_queue_copy_va(m.queue, out, y, 8));
        error = ferry_queue_wait(m.queue, submit(m.queue));
    }
    ok(ferry_adapter_next_fault(m.adapter, &(struct ferry_fault){.size = sizeof(struct ferry_fault)}, &found));
    ok(ferry_queue_copy_va(m.queue, out, y, 8));
    faults(&m, y, false, FERRY_FAULT_KIND_PAGE_ABSENT);
    ferry_adapter_close(m.adapter);
}

// What is mapped among zeros and is not required is no zeros to whoever goes there, but refused, and nothing runs. Its
// pages lead to zeros meanwhile, and to its content again when it is required.
static void what_is_mapped_among_zeros_is_required_first(void **state)
{
    (void)state;
    struct machine m = begin(8 * MIB);
    struct ferry_allocation *result = make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE),
                            *one = make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE);
    struct ferry_allocation *others[128] = {NULL};
    uint32_t count = 0;
    const uint64_t x = reserve_zeros(&m, UINT64_C(3) << 40, MIB);
    uint64_t out = map_somewhere(&m, result, 64 * KIB), fence;
    struct ferry_va range = {.size = sizeof range, .address = x + 64 * KIB, .bytes = 64 * KIB};
    struct ferry_va_steps walk;

    write_content(result, 64 * KIB, 1);
    write_content(one, 64 * KIB, 2);
    must_be_resident(m.device, &result, 1);
    must_be_resident(m.device, &one, 1);
    ok(ferry_va_map(m.device, one, 0, false, &range));
    ok(ferry_queue_copy_va(m.queue, out, x + 60 * KIB, 8 * KIB));
    ok(ferry_queue_wait(m.queue, submit(m.queue)));
    compare(result, 0, 4 * KIB, 0, 0);
    compare(result, 4 * KIB, 4 * KIB, 2, 0);
    evict(m.device, &one, 1);
    // Others take all there is.
    for (int result = FERRY_OK; result >= FERRY_OK; count += result >= FERRY_OK) {
        assert_true(count < 128);
        others[count] = make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE);
        result = make_resident(m.device, &others[count], 1);
    }
    // A job of the last one waits until it is there.
    ok(ferry_queue_fill(m.queue, others[count - 1], 0, 64, 1, 1));
    run_job(m.queue);
    const struct ferry_va_step *last = last_step(&m, x + 64 * KIB, &walk);
    assert_true(last->is_page && last->read_only);
    ok(ferry_queue_copy_va(m.queue, out + 8 * KIB, x + 64 * KIB, 8));
    assert_int_equal(ferry_queue_submit(m.queue, &fence), FERRY_ERROR_NOT_RESIDENT);
    ok(ferry_queue_copy_va(m.queue, out + 8 * KIB, x + 60 * KIB, 8));
    ok(ferry_queue_wait(m.queue, submit(m.queue)));
    compare(result, 8 * KIB, 8, 0, 0);
    compare(result, 8 * KIB + 8, 4 * KIB, 1, 8 * KIB + 8);
    evict(m.device, others, count);
    must_be_resident(m.device, &one, 1);
    ok(ferry_queue_copy_va(m.queue, out, x + 64 * KIB, 4 * KIB));
    ok(ferry_queue_wait(m.queue, submit(m.queue)));
    compare(result, 0, 4 * KIB, 2, 0);
    ferry_adapter_close(m.adapter);
}

// Where nothing is said, and where it is said that no page tables are made, who comes there faults.
static void other_reservations_lead_nowhere(void **state)
{
    (void)state;
    struct machine m = begin(8 * MIB);
    struct ferry_allocation *result = make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE);
    const enum ferry_va_reservation kinds[] = {FERRY_VA_NO_ACCESS, FERRY_VA_NO_COMMIT};

    must_be_resident(m.device, &result, 1);
    uint64_t out = map_somewhere(&m, result, 64 * KIB);
    for (uint32_t i = 0; i < 2; i++) {
        struct ferry_va range = {
            .size = sizeof range, .address = UINT64_C(5) << 40, .bytes = UINT64_C(1) << 40, .reservation = kinds[i]};
        struct ferry_va_steps walk = {.size = sizeof walk};

        ok(ferry_va_reserve(m.device, &range));
        ok(ferry_va_walk(m.device, range.address, &walk));
        assert_int_equal(walk.count, 1);
        ok(ferry_queue_copy_va(m.queue, out, range.address + 4096, 8));
        faults(&m, range.address + 4096, false, FERRY_FAULT_KIND_PAGE_ABSENT);
        ok(ferry_va_free(m.device, range.address, range.bytes));
    }
    ferry_adapter_close(m.adapter);
}

static void bad_reservations_get_a_name_and_change_nothing(void **state)
{
    (void)state;
    struct machine m = begin(8 * MIB);
    struct ferry_allocation *one = make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE);
    const uint64_t x = reserve_zeros(&m, UINT64_C(3) << 40, MIB);
    const struct {
        uint64_t address, bytes;
        unsigned kind;
        int error;
    } bad[] = {
        {x, 64 * KIB, FERRY_VA_ZERO, FERRY_ERROR_BUSY},
        {x - 64 * KIB, 128 * KIB, FERRY_VA_ZERO, FERRY_ERROR_BUSY},
        {x + 2 * MIB, 4 * KIB, FERRY_VA_ZERO, FERRY_ERROR_ARGUMENT},
        {x + 2 * MIB + 4096, 64 * KIB, FERRY_VA_ZERO, FERRY_ERROR_ARGUMENT},
        {x + 2 * MIB, 0, FERRY_VA_ZERO, FERRY_ERROR_ARGUMENT},
        {UINT64_C(1) << 48, 64 * KIB, FERRY_VA_ZERO, FERRY_ERROR_ARGUMENT},
        {x + 2 * MIB, 64 * KIB, 3, FERRY_ERROR_ARGUMENT},
        {x + 2 * MIB, 64 * KIB, ~0u, FERRY_ERROR_ARGUMENT},
    };
    struct ferry_va_mapping mapping = {.size = sizeof mapping};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct ferry_va range = {.size = sizeof range,
                                 .address = bad[i].address,
                                 .bytes = bad[i].bytes,
                                 .reservation = (enum ferry_va_reservation)bad[i].kind};

        assert_int_equal(ferry_va_reserve(m.device, &range), bad[i].error);
        ok(ferry_va_find(m.device, 0, &mapping));
        assert_true(mapping.address == x && mapping.bytes == MIB && mapping.zeros);
        ok(ferry_va_find(m.device, x + MIB, &mapping));
        assert_true(mapping.mapped && mapping.allocation == ferry_allocation_id(one));
    }
    // Some of it is not freed without the rest.
    assert_int_equal(ferry_va_free(m.device, x, 64 * KIB), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_va_free(m.device, x + 64 * KIB, MIB), FERRY_ERROR_ARGUMENT);
    ok(ferry_va_free(m.device, x, MIB));
    ferry_adapter_close(m.adapter);
}

static void some_of_a_reservation_changes_its_kind(void **state)
{
    (void)state;
    struct machine m = begin(8 * MIB);
    struct ferry_allocation *result = make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE);
    const uint64_t x = reserve_zeros(&m, UINT64_C(3) << 40, 4 * MIB);
    struct ferry_va range = {.size = sizeof range, .address = x + MIB, .bytes = 8 * KIB};
    struct ferry_va_mapping mapping = {.size = sizeof mapping};
    struct ferry_va_steps walk;

    write_content(result, 64 * KIB, 1);
    must_be_resident(m.device, &result, 1);
    uint64_t out = map_somewhere(&m, result, 64 * KIB);
    ok(ferry_queue_copy_va(m.queue, out, x + MIB + 4 * KIB, 8));
    ok(ferry_queue_wait(m.queue, submit(m.queue)));
    ok(ferry_va_protect(m.device, &range));
    ok(ferry_queue_copy_va(m.queue, out, x + MIB - 4 * KIB, 4 * KIB));
    ok(ferry_queue_copy_va(m.queue, out + 8 * KIB, x + MIB + 8 * KIB, 4 * KIB));
    ok(ferry_queue_wait(m.queue, submit(m.queue)));
    compare(result, 0, 4 * KIB, 0, 0);
    compare(result, 8 * KIB, 4 * KIB, 0, 0);
    ok(ferry_queue_copy_va(m.queue, out, x + MIB + 4 * KIB, 4 * KIB));
    faults(&m, x + MIB + 4 * KIB, false, FERRY_FAULT_KIND_PAGE_ABSENT);
    assert_true(!last_step(&m, x + MIB + 4 * KIB, &walk)->valid && walk.count == 4);
    ok(ferry_va_find(m.device, x + MIB + 4 * KIB, &mapping));
    assert_true(mapping.address == x + MIB && mapping.bytes == 8 * KIB && !mapping.zeros && !mapping.mapped);
    range.reservation = FERRY_VA_ZERO;
    ok(ferry_va_protect(m.device, &range));
    ok(ferry_queue_copy_va(m.queue, out + 16 * KIB, x + MIB - KIB, 10 * KIB));
    ok(ferry_queue_wait(m.queue, submit(m.queue)));
    compare(result, 16 * KIB, 10 * KIB, 0, 0);
    range.bytes = 4 * MIB;
    assert_int_equal(ferry_va_protect(m.device, &range), FERRY_ERROR_ARGUMENT);
    range.bytes = 8 * KIB;
    range.reservation = FERRY_VA_NO_COMMIT;
    assert_int_equal(ferry_va_protect(m.device, &range), FERRY_ERROR_ARGUMENT);
    range.address = out;
    range.reservation = FERRY_VA_ZERO;
    assert_int_equal(ferry_va_protect(m.device, &range), FERRY_ERROR_BUSY);
    ok(ferry_va_find(m.device, x, &mapping));
    assert_true(mapping.address == x && mapping.bytes == 4 * MIB && mapping.zeros);
    ferry_adapter_close(m.adapter);
}

static void a_mapping_takes_the_place_of_some_of_another_when_asked(void **state)
{
    (void)state;
    struct machine m = begin(8 * MIB);
    struct ferry_allocation *all[3] = {make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE),
                                       make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE),
                                       make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE)};
    struct ferry_va range = {.size = sizeof range, .address = UINT64_C(3) << 40, .bytes = 64 * KIB};

    for (uint32_t i = 0; i < 3; i++)
        write_content(all[i], 64 * KIB, 1 + i);
    must_be_resident(m.device, all, 3);
    uint64_t x = range.address, out = map_somewhere(&m, all[2], 64 * KIB);
    ok(ferry_va_map(m.device, all[0], 0, false, &range));
    ok(ferry_queue_copy_va(m.queue, out, x + 32 * KIB, 4 * KIB));
    uint64_t before = submit(m.queue);
    range = (struct ferry_va){.size = sizeof range, .address = x + 32 * KIB, .bytes = 8 * KIB};
    assert_int_equal(ferry_va_map(m.device, all[1], 4 * KIB, false, &range), FERRY_ERROR_BUSY);
    range.replace = true;
    ok(ferry_va_map(m.device, all[1], 4 * KIB, true, &range));
    ok(ferry_queue_copy_va(m.queue, out + 8 * KIB, x + 30 * KIB, 12 * KIB));
    ok(ferry_queue_wait(m.queue, submit(m.queue)));
    ok(ferry_queue_wait(m.queue, before));
    compare(all[2], 0, 4 * KIB, 1, 32 * KIB);
    compare(all[2], 8 * KIB, 2 * KIB, 1, 30 * KIB);
    compare(all[2], 10 * KIB, 8 * KIB, 2, 4 * KIB);
    compare(all[2], 18 * KIB, 2 * KIB, 1, 40 * KIB);
    ok(ferry_queue_fill_va(m.queue, x + 33 * KIB, 8, 0, 1));
    faults(&m, x + 33 * KIB, true, FERRY_FAULT_KIND_PAGE_READ_ONLY);
    // Over the edge of it, and at any place.
    range = (struct ferry_va){.size = sizeof range, .address = x + 60 * KIB, .bytes = 8 * KIB, .replace = true};
    assert_int_equal(ferry_va_map(m.device, all[1], 0, false, &range), FERRY_ERROR_BUSY);
    range = (struct ferry_va){.size = sizeof range, .bytes = 8 * KIB, .replace = true};
    assert_int_equal(ferry_va_map(m.device, all[1], 0, false, &range), FERRY_ERROR_ARGUMENT);
    // In the pieces that it is in.
    ok(ferry_va_free(m.device, x + 32 * KIB, 8 * KIB));
    ok(ferry_va_free(m.device, x, 64 * KIB));
    ferry_adapter_close(m.adapter);
}

static void without_page_tables_there_is_nothing_to_reserve(void **state)
{
    (void)state;
    struct ferry_adapter_options options = {.size = sizeof options, .backend = backend, .seed = seed, .model = 1};
    struct machine m;
    struct ferry_va range = {.size = sizeof range, .bytes = 64 * KIB, .reservation = FERRY_VA_ZERO};

    ok(ferry_adapter_open(&options, &m.adapter));
    ok(ferry_device_create(m.adapter, &m.device));
    assert_int_equal(ferry_va_reserve(m.device, &range), FERRY_ERROR_UNSUPPORTED);
    ferry_adapter_close(m.adapter);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeros_are_read_and_never_written),
        cmocka_unit_test(what_is_mapped_among_zeros_is_required_first),
        cmocka_unit_test(other_reservations_lead_nowhere),
        cmocka_unit_test(bad_reservations_get_a_name_and_change_nothing),
        cmocka_unit_test(some_of_a_reservation_changes_its_kind),
        cmocka_unit_test(a_mapping_takes_the_place_of_some_of_another_when_asked),
        cmocka_unit_test(without_page_tables_there_is_nothing_to_reserve),
    };
    const struct CMUnitTest without[] = {cmocka_unit_test(without_page_tables_there_is_nothing_to_reserve)};

    read_options(argc, argv);
    return has_page_tables() ? cmocka_run_group_tests(tests, NULL, NULL) : cmocka_run_group_tests(without, NULL, NULL);
}
