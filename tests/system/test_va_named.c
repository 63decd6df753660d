// SPDX-License-Identifier: Apache-2.0
// What a job names by the addresses that its packets reach is what is mapped there when it is submitted, and not only
// what was when it was recorded: brought in for it, kept in place, and what it has written goes out with the content.
#include "updates.h"

#define BYTES (256 * KIB)
#define NAMED 1024u // allocations that a buffer names

static void map_at(struct machine *m, struct ferry_allocation *allocation, uint64_t address)
{
    struct ferry_va range = {.size = sizeof range, .address = address, .bytes = BYTES};

    ok(ferry_va_map(m->device, allocation, 0, false, &range));
}

// One goes out for the other: both do not fit.
static void go_out(struct machine *m, struct ferry_allocation *allocation, struct ferry_allocation *other)
{
    evict(m->device, &allocation, 1);
    must_be_resident(m->device, &other, 1);
    run_job(m->queue);
    evict(m->device, &other, 1);
}

static void expect_words(struct ferry_allocation *allocation, uint32_t word, uint32_t from, uint32_t to)
{
    const uint32_t *words;
    void *address;

    ok(ferry_lock(allocation, FERRY_LOCK_READ_ONLY, &address));
    words = address;
    for (uint32_t i = from / 4; i < to / 4; i++)
        assert_int_equal(words[i], word);
    ok(ferry_unlock(allocation));
}

// By an update, or by a call; reached by a fill, or by a rectangle's rows; the last packet of the job or not.
static void what_a_job_writes_where_something_is_mapped_later_is_not_lost(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 8; way++) {
        struct machine m = begin(MIB);
        struct ferry_allocation *one = make(m.device, BYTES, FERRY_FLAG_CPU_VISIBLE),
                                *large = make(m.device, 640 * KIB, FERRY_FLAG_CPU_VISIBLE),
                                *other = make(m.device, PAGE, 0);
        uint64_t x = way & 1 ? UINT64_C(5) << 32 : reserve(&m, BYTES);
        struct ferry_va elsewhere = {.size = sizeof elsewhere, .address = x + MIB, .bytes = PAGE};
        struct ferry_va_operation operation = map(x, BYTES, one, 0);
        struct ferry_rectangle r = {.size = sizeof r,
                                    .row_bytes = 4096,
                                    .rows = 3,
                                    .destination = {.at = x + 8 * KIB, .pitch = 64 * KIB},
                                    .source = {.at = x + 4 * KIB, .pitch = 0}};

        write_content(one, BYTES, 1);
        write_content(large, 640 * KIB, 2);
        must_be_resident(m.device, &one, 1);
        must_be_resident(m.device, &other, 1);
        ok(ferry_va_map(m.device, other, 0, false, &elsewhere));
        run_job(m.queue);
        ok(ferry_queue_fill_va(m.queue, x, way & 2 ? 8 * KIB : BYTES, 0x12345678, 4));
        if (way & 2)
            ok(ferry_queue_copy_rectangle(m.queue, &r));
        if (way & 1)
            map_at(&m, one, x);
        else
            ok(update(m.queue, &operation, 1, NULL));
        if (way & 4)
            ok(ferry_queue_fill_va(m.queue, elsewhere.address, 64, 1, 1));
        run_job(m.queue);
        go_out(&m, one, large);
        expect_words(one, 0x12345678, 0, way & 2 ? 12 * KIB : BYTES);
        expect_words(one, 0x12345678, way & 2 ? 136 * KIB : 0, way & 2 ? 140 * KIB : BYTES);
        ferry_adapter_close(m.adapter);
    }
}

// It is away when the job is submitted.
static void what_a_job_reads_where_something_is_mapped_later_is_brought_in(void **state)
{
    (void)state;
    struct machine m = begin(MIB);
    struct ferry_allocation *one = make(m.device, BYTES, FERRY_FLAG_CPU_VISIBLE),
                            *large = make(m.device, 640 * KIB, FERRY_FLAG_CPU_VISIBLE),
                            *result = make(m.device, 64 * KIB, FERRY_FLAG_CPU_VISIBLE);
    uint64_t x = UINT64_C(5) << 32, y = x + BYTES;
    struct ferry_va range = {.size = sizeof range, .address = y, .bytes = 64 * KIB};

    write_content(one, BYTES, 1);
    write_content(large, 640 * KIB, 2);
    must_be_resident(m.device, &result, 1);
    ok(ferry_va_map(m.device, result, 0, false, &range));
    must_be_resident(m.device, &large, 1);
    run_job(m.queue);
    evict(m.device, &large, 1);
    ok(ferry_queue_copy_va(m.queue, y, x, 64 * KIB));
    map_at(&m, one, x);
    must_be_resident(m.device, &one, 1);
    run_job(m.queue);
    expect_content(result, 64 * KIB, 1);
    ferry_adapter_close(m.adapter);
}

static void what_is_mapped_later_and_may_not_be_there_is_refused(void **state)
{
    (void)state;
    struct machine m = begin(8 * MIB);
    struct ferry_allocation *one = make(m.device, BYTES, FERRY_FLAG_CPU_VISIBLE);
    uint64_t x = UINT64_C(5) << 32, fence;

    ok(ferry_queue_fill_va(m.queue, x, BYTES, 7, 4));
    map_at(&m, one, x);
    assert_int_equal(ferry_queue_submit(m.queue, &fence), FERRY_ERROR_NOT_RESIDENT);
    must_be_resident(m.device, &one, 1);
    ok(ferry_queue_fill_va(m.queue, x, BYTES, 7, 4));
    run_job(m.queue);
    expect_words(one, 7, 0, BYTES);
    ferry_adapter_close(m.adapter);
}

// Two devices of one program have the same addresses, and each its own allocations.
static void what_another_device_maps_there_later_is_refused(void **state)
{
    (void)state;
    struct machine m = begin(8 * MIB);
    struct ferry_device *beside;
    struct ferry_allocation *one;
    uint64_t x = UINT64_C(5) << 32, fence;
    struct ferry_va range = {.size = sizeof range, .address = x, .bytes = BYTES};

    ok(ferry_device_create(m.adapter, &beside));
    one = make(beside, BYTES, FERRY_FLAG_CPU_VISIBLE);
    write_content(one, BYTES, 1);
    must_be_resident(beside, &one, 1);
    ok(ferry_queue_fill_va(m.queue, x, BYTES, 7, 4));
    ok(ferry_va_map(beside, one, 0, false, &range));
    assert_int_equal(ferry_queue_submit(m.queue, &fence), FERRY_ERROR_FOREIGN);
    evict(beside, &one, 1);
    expect_content(one, BYTES, 1);
    ferry_adapter_close(m.adapter);
}

// As many as a buffer names, and one more.
static void more_than_a_job_names_is_refused_when_it_is_submitted(void **state)
{
    (void)state;
    struct machine m = begin(8 * MIB);
    struct ferry_allocation *all[NAMED + 1];
    uint64_t x = reserve(&m, 64 * MIB), fence;
    struct ferry_va_operation operations[NAMED + 1];

    for (uint32_t i = 0; i <= NAMED; i++) {
        all[i] = make(m.device, PAGE, FERRY_FLAG_CPU_VISIBLE);
        operations[i] = map(x + i * PAGE, PAGE, all[i], 0);
    }
    must_be_resident(m.device, all, NAMED + 1);
    ok(ferry_queue_fill_va(m.queue, x, NAMED * PAGE, 7, 4));
    ok(update(m.queue, operations, NAMED, NULL));
    run_job(m.queue);
    expect_words(all[NAMED - 1], 7, 0, PAGE);
    // More than a buffer names are mapped there, or with what it names besides.
    for (unsigned besides = 0; besides < 3; besides += 2) {
        for (uint32_t i = 0; i < besides; i++)
            ok(ferry_queue_fill(m.queue, all[i], 0, 64, 8, 4));
        ok(ferry_queue_fill_va(m.queue, x + besides * PAGE, (NAMED + 1 - besides) * PAGE, 8, 4));
        ok(update(m.queue, &operations[NAMED], 1, NULL));
        assert_int_equal(ferry_queue_submit(m.queue, &fence), FERRY_ERROR_RANGE);
        operations[NAMED].kind = FERRY_VA_UNMAP;
        ok(update(m.queue, &operations[NAMED], 1, NULL));
        operations[NAMED].kind = FERRY_VA_MAP;
    }
    ok(update(m.queue, &operations[NAMED], 1, NULL));
    ok(ferry_queue_fill_va(m.queue, x + PAGE, NAMED * PAGE, 9, 4));
    run_job(m.queue);
    expect_words(all[NAMED], 9, 0, PAGE);
    ferry_adapter_close(m.adapter);
}

static void without_page_tables_nothing_is_named_by_address(void **state)
{
    (void)state;
    struct ferry_adapter *adapter = open_adapter(0);
    struct ferry_device *device;
    struct ferry_queue *queue;

    ok(ferry_device_create(adapter, &device));
    ok(ferry_queue_create(device, &queue));
    assert_int_equal(ferry_queue_fill_va(queue, 0, PAGE, 0, 4), FERRY_ERROR_UNSUPPORTED);
    ferry_adapter_close(adapter);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_job_writes_where_something_is_mapped_later_is_not_lost),
        cmocka_unit_test(what_a_job_reads_where_something_is_mapped_later_is_brought_in),
        cmocka_unit_test(what_is_mapped_later_and_may_not_be_there_is_refused),
        cmocka_unit_test(what_another_device_maps_there_later_is_refused),
        cmocka_unit_test(more_than_a_job_names_is_refused_when_it_is_submitted),
    };
    const struct CMUnitTest without[] = {cmocka_unit_test(without_page_tables_nothing_is_named_by_address)};
    const struct left_out left_out[] = {{"more_than_a_job_names_is_refused_when_it_is_submitted", MOVES_MUCH}};

    read_options(argc, argv);
    if (!has_page_tables())
        return cmocka_run_group_tests(without, NULL, NULL);
    return RUN_WHERE_POSSIBLE(tests, left_out);
}
