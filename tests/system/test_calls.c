// SPDX-License-Identifier: Apache-2.0
// The public interface from end to end on a whole machine.
#include "system.h"

static void content_goes_in_is_copied_and_comes_back(void **state)
{
    struct bench *b = *state;
    struct ferry_allocation *list[2] = {make(b->device, 50000, VISIBLE), make(b->device, 60001, VISIBLE)};
    struct ferry_placement placement = {.size = sizeof placement};

    write_content(list[0], 50000, 1);
    must_be_resident(b->device, list, 2);
    ok(ferry_queue_copy(b->queue, list[1], 10001, list[0], 0, 50000));
    run_job(b->queue);
    ok(ferry_allocation_placement(list[1], &placement));
    assert_true(placement.resident);
    assert_int_equal(placement.segment, 1);
    assert_int_equal(placement.residency_count, 1);
    void *address;
    ok(ferry_lock(list[1], FERRY_LOCK_READ_ONLY, &address));
    for (uint32_t i = 0; i < 50000; i++)
        assert_int_equal(((uint8_t *)address)[10001 + i], content(1, i));
    assert_int_equal(((uint8_t *)address)[10000], 0);
    ok(ferry_unlock(list[1]));
    expect_content(list[0], 50000, 1);
    assert_true(ferry_allocation_id(list[0]) != ferry_allocation_id(list[1]));
}

static void fills_with_each_pattern_size_in_each_segment(void **state)
{
    struct bench *b = *state;
    const uint64_t pattern = 0x8877665544332211ull;

    for (int aperture = 0; aperture < 2; aperture++) {
        struct ferry_allocation_options options = {.size = sizeof options,
                                                   .bytes = 20000,
                                                   .flags = VISIBLE,
                                                   .in_aperture = aperture,
                                                   .fill_pattern = 0xA5A5A5A5};
        struct ferry_allocation *a;
        struct ferry_placement placement = {.size = sizeof placement};

        ok(ferry_allocation_create(b->device, &options, &a));
        must_be_resident(b->device, &a, 1);
        for (uint32_t size = 1; size <= 8; size *= 2) {
            ok(ferry_queue_fill(b->queue, a, 100 * size + 1, 4999, pattern, size));
            run_job(b->queue);
            ok(ferry_allocation_placement(a, &placement));
            assert_int_equal(placement.segment, aperture ? 3 : 1);
            uint8_t *address;
            ok(ferry_lock(a, FERRY_LOCK_READ_ONLY, (void **)&address));
            for (uint32_t i = 0; i < 4999; i++)
                assert_int_equal(address[100 * size + 1 + i], (uint8_t)(pattern >> (8 * (i % size))));
            assert_int_equal(address[100 * size], size == 1 ? 0xA5 : address[100 * size]);
            assert_int_equal(address[19999], 0xA5);
            ok(ferry_unlock(a));
        }
        ok(ferry_allocation_destroy(a));
    }
}

static void more_than_fits_stays_whole(void **state)
{
    struct bench *b = *state;
    enum { COUNT = 24, BYTES = 200000 }; // 4.8 MB in 1 MiB.
    struct ferry_allocation *a[COUNT];
    struct ferry_statistics statistics = {.size = sizeof statistics};

    for (uint32_t i = 0; i < COUNT; i++) {
        a[i] = make(b->device, BYTES, VISIBLE);
        write_content(a[i], BYTES, i);
    }
    // In a round each is wanted twice, most of the others in between.
    for (uint32_t round = 0; round < (on_model() ? 20 : rounds(1, 3)); round++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            uint32_t other = (i * 7 + round) % COUNT;
            struct ferry_allocation *pair[2] = {a[i], a[other]};
            size_t count = other == i ? 1 : 2;

            must_be_resident(b->device, pair, count);
            // Rewrite the last byte with itself and read the other: both are really used by the GPU.
            ok(ferry_queue_fill(b->queue, a[i], BYTES - 1, 1, content(i, BYTES - 1), 1));
            ok(ferry_queue_copy(b->queue, a[i], 0, a[i], 0, 64));
            ok(ferry_queue_copy(b->queue, a[other], 5, a[other], 5, 64));
            uint64_t fence;
            ok(ferry_queue_submit(b->queue, &fence));
            evict(b->device, pair, count);
        }
    }
    for (uint32_t i = 0; i < COUNT; i++)
        expect_content(a[i], BYTES, i);
    ok(ferry_adapter_statistics(b->adapter, &statistics));
    assert_true(statistics.evictions > COUNT);
    assert_true(statistics.bytes_in > 4u * COUNT * BYTES / 10);
    assert_int_equal(statistics.unmapped_accesses, 0);
    assert_int_equal(statistics.faults, 0);
}

static void R226_R229_the_trim_loop_makes_room_from_its_own_list(void **state)
{
    struct bench *b = *state;
    struct ferry_allocation *a[6], *huge;
    struct ferry_residency residency = {.size = sizeof residency, .count = 1};

    for (uint32_t i = 0; i < 6; i++) {
        a[i] = make(b->device, 300000, VISIBLE);
        write_content(a[i], 300000, i);
    }
    must_be_resident(b->device, a, 3);
    residency.allocations = &a[3];
    int result = ferry_make_resident(b->device, &residency);
    assert_int_equal(result, FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_true(residency.bytes_to_trim > 0);
    for (uint32_t i = 3; i < 6; i++) {
        struct ferry_placement placement = {.size = sizeof placement};

        residency.allocations = &a[i];
        result = ferry_make_resident_trim(b->device, &residency);
        assert_true(result == FERRY_OK || result == FERRY_PENDING);
        ok(ferry_allocation_placement(a[i - 3], &placement)); // The least recently used one went.
        assert_int_equal(placement.residency_count, 0);
        ok(ferry_allocation_placement(a[i - 2], &placement));
        assert_int_equal(placement.residency_count, 1);
    }
    huge = make(b->device, 2 << 20, VISIBLE);
    residency.allocations = &huge;
    assert_int_equal(ferry_make_resident_trim(b->device, &residency), FERRY_ERROR_NO_VIDEO_MEMORY);
    for (uint32_t i = 0; i < 6; i++)
        expect_content(a[i], 300000, i);
}

static void R228_R230_a_device_in_error_takes_no_more_work(void **state)
{
    struct bench *b = *state;
    struct ferry_allocation *huge = make(b->device, 2 << 20, VISIBLE), *a = make(b->device, 4096, VISIBLE);
    struct ferry_residency residency = {.size = sizeof residency, .allocations = &huge, .count = 1};
    struct ferry_device *other;
    uint64_t fence;

    residency.must_succeed = true;
    assert_int_equal(ferry_make_resident(b->device, &residency), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_make_resident_trim(b->device, &residency), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(make_resident(b->device, &a, 1), FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(ferry_queue_submit(b->queue, &fence), FERRY_ERROR_DEVICE_LOST);
    // Another device of the adapter is not concerned.
    ok(ferry_device_create(b->adapter, &other));
    a = make(other, 4096, VISIBLE);
    must_be_resident(other, &a, 1);
}

static void jobs_longer_than_a_buffer_run_in_order(void **state)
{
    struct bench *b = *state;
    struct ferry_allocation *a = make(b->device, 65536, VISIBLE);
    const uint32_t steps = 1000;

    must_be_resident(b->device, &a, 1);
    // Each copy moves what the one before it has put there.
    ok(ferry_queue_fill(b->queue, a, 0, 16, 0x5A, 1));
    for (uint32_t i = 0; i < steps; i++)
        ok(ferry_queue_copy(b->queue, a, 16 * (i + 1), a, 16 * i, 16));
    run_job(b->queue);
    uint8_t *address;
    ok(ferry_lock(a, FERRY_LOCK_READ_ONLY, (void **)&address));
    for (uint32_t i = 0; i < 16 * (steps + 1); i++)
        assert_int_equal(address[i], 0x5A);
    assert_int_equal(address[16 * (steps + 1)], 0);
    ok(ferry_unlock(a));
}

static void a_job_needs_its_allocations_on_the_list(void **state)
{
    struct bench *b = *state;
    struct ferry_allocation *a = make(b->device, 4096, VISIBLE);
    uint64_t fence;

    ok(ferry_queue_fill(b->queue, a, 0, 4096, 1, 1));
    assert_int_equal(ferry_queue_submit(b->queue, &fence), FERRY_ERROR_NOT_RESIDENT);
    must_be_resident(b->device, &a, 1);
    ok(ferry_queue_fill(b->queue, a, 0, 4096, 1, 1));
    run_job(b->queue);
    evict(b->device, &a, 1);
    ok(ferry_queue_fill(b->queue, a, 0, 4096, 1, 1));
    assert_int_equal(ferry_queue_submit(b->queue, &fence), FERRY_ERROR_NOT_RESIDENT);
    struct ferry_residency residency = {.size = sizeof residency, .allocations = &a, .count = 1};
    assert_int_equal(ferry_evict(b->device, &residency), FERRY_ERROR_NOT_RESIDENT);
}

static void bad_arguments_get_their_names_and_change_nothing(void **state)
{
    struct bench *b = *state;
    struct ferry_allocation_options options = {.size = sizeof options, .bytes = 4096, .flags = VISIBLE};
    struct ferry_allocation *a = NULL, *foreign;
    struct ferry_device *device = NULL;
    struct ferry_adapter_options adapter_options = {.size = sizeof adapter_options, .backend = "no such"};
    struct ferry_adapter *adapter = NULL;
    void *address;
    uint64_t fence;

    assert_int_equal(ferry_adapter_open(&adapter_options, &adapter), FERRY_ERROR_BACKEND);
    assert_null(adapter);
    adapter_options.size--;
    assert_int_equal(ferry_adapter_open(&adapter_options, &adapter), FERRY_ERROR_ARGUMENT);
    // Paging has to go into its buffers, in pieces if need be.
    adapter_options =
        (struct ferry_adapter_options){.size = sizeof adapter_options, .backend = "model", .paging_buffer_bytes = 63};
    assert_int_equal(ferry_adapter_open(&adapter_options, &adapter), FERRY_ERROR_ARGUMENT);
    adapter_options.paging_buffer_bytes = 64;
    ok(ferry_adapter_open(&adapter_options, &adapter));
    ferry_adapter_close(adapter);
    adapter = NULL;
    assert_int_equal(ferry_device_create(NULL, &device), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_device_create((struct ferry_adapter *)b->device, &device), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_device_create(b->adapter, NULL), FERRY_ERROR_ARGUMENT);

    assert_int_equal(ferry_allocation_create(NULL, &options, &a), FERRY_ERROR_HANDLE);
    options.bytes = 0;
    assert_int_equal(ferry_allocation_create(b->device, &options, &a), FERRY_ERROR_ARGUMENT);
    options.bytes = UINT64_MAX;
    assert_int_equal(ferry_allocation_create(b->device, &options, &a), FERRY_ERROR_ARGUMENT);
    options.bytes = 4096;
    options.alignment = 12345;
    assert_int_equal(ferry_allocation_create(b->device, &options, &a), FERRY_ERROR_ARGUMENT);
    options.alignment = 0;
    options.flags = FERRY_FLAG_PERMANENT_SYSMEM; // C1: needs CpuVisible.
    assert_int_equal(ferry_allocation_create(b->device, &options, &a), FERRY_ERROR_FLAGS);
    assert_null(a);

    a = make(b->device, 5000, 0);
    assert_int_equal(ferry_lock(a, 0, &address), FERRY_ERROR_NOT_LOCKABLE);
    assert_int_equal(ferry_unlock(a), FERRY_ERROR_NOT_LOCKED);
    assert_int_equal(ferry_lock(a, FERRY_LOCK_READ_ONLY | FERRY_LOCK_WRITE_ONLY, &address), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_lock(a, 0x40000000, &address), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_lock(a, 0, NULL), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_queue_copy(b->queue, a, 0, a, 4999, 2), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_queue_copy(b->queue, a, UINT64_MAX, a, 0, 2), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_queue_copy(b->queue, a, 0, NULL, 0, 2), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_queue_fill(b->queue, a, 0, 1, 0, 3), FERRY_ERROR_ARGUMENT);

    ok(ferry_device_create(b->adapter, &device));
    foreign = make(device, 4096, VISIBLE);
    assert_int_equal(ferry_queue_copy(b->queue, foreign, 0, a, 0, 2), FERRY_ERROR_FOREIGN);
    assert_int_equal(make_resident(b->device, &foreign, 1), FERRY_ERROR_FOREIGN);
    ok(ferry_device_destroy(device));
    assert_int_equal(ferry_device_destroy(device), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_allocation_destroy(foreign), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_allocation_id(foreign), 0);
    assert_int_equal(make_resident(b->device, &foreign, 1), FERRY_ERROR_HANDLE);

    foreign = make(b->device, 4096, VISIBLE);
    ok(ferry_lock(foreign, 0, &address));
    assert_int_equal(ferry_lock(foreign, 0, &address), FERRY_ERROR_LOCKED);
    assert_int_equal(ferry_allocation_destroy(foreign), FERRY_ERROR_LOCKED);
    ok(ferry_unlock(foreign));
    ok(ferry_allocation_destroy(foreign));
    assert_int_equal(ferry_allocation_destroy(foreign), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_queue_wait(b->queue, 123456), FERRY_ERROR_ARGUMENT);
    must_be_resident(b->device, &a, 1);
    ok(ferry_queue_submit(b->queue, &fence));
    ok(ferry_queue_wait(b->queue, fence));
    ok(ferry_queue_destroy(b->queue));
    assert_int_equal(ferry_queue_submit(b->queue, &fence), FERRY_ERROR_HANDLE);
}

static void existing_memory_is_used_in_place(void **state)
{
    struct bench *b = *state;
    uint8_t *memory = aligned_alloc(4096, 16384);
    struct ferry_allocation_options options = {
        .size = sizeof options, .bytes = 16384, .flags = VISIBLE | FERRY_FLAG_CACHED, .existing = memory};
    struct ferry_allocation *list[2];
    void *address;

    for (uint32_t i = 0; i < 16384; i++)
        memory[i] = content(3, i);
    ok(ferry_allocation_create(b->device, &options, &list[0]));
    list[1] = make(b->device, 16384, VISIBLE);
    must_be_resident(b->device, list, 2);
    ok(ferry_queue_copy(b->queue, list[1], 0, list[0], 0, 16384));
    run_job(b->queue);
    expect_content(list[1], 16384, 3);
    ok(ferry_lock(list[0], 0, &address));
    assert_ptr_equal(address, memory);
    ok(ferry_unlock(list[0]));
    ok(ferry_allocation_destroy(list[0]));
    free(memory);
}

#define KINDS (FERRY_EVENT_UNMAPPED + 1)
struct log {
    unsigned kinds[KINDS], strange;
    uint64_t open_calls;
    uint64_t paging[64]; // Ids of operations that began while the observer was there.
    unsigned paging_begun, paging_ended;
    unsigned budgets[4]; // told of, by segment
};

// On whose track it is, and what it is called: an operation or a call or a job has a name, a value or a fence has none.
static bool is_strange(const struct ferry_event *event)
{
    if (event->kind == FERRY_EVENT_READS_OUTSTANDING && event->track != FERRY_TRACK_READ_CHANNEL)
        return true;
    if (event->kind == FERRY_EVENT_TABLE_MISSES && event->track != FERRY_TRACK_WALKS)
        return true;
    bool named = event->kind <= FERRY_EVENT_JOB_END;
    return event->segment > 3 || named == (event->name[0] == 0);
}

static void on_event(void *context, const struct ferry_event *event)
{
    struct log *log = context;

    // Nothing fails in here: the call that this is about would never come back.
    if (event->size != sizeof *event || event->kind >= KINDS || log->paging_begun == 64) {
        log->strange++;
        return;
    }
    log->strange += is_strange(event);
    log->kinds[event->kind]++;
    if (event->kind == FERRY_EVENT_BUDGET)
        log->budgets[event->segment & 3]++;
    if (event->kind == FERRY_EVENT_CALL_BEGIN)
        log->open_calls++;
    if (event->kind == FERRY_EVENT_CALL_END)
        log->open_calls--;
    if (event->kind == FERRY_EVENT_PAGING_BEGIN)
        log->paging[log->paging_begun++] = event->id;
    for (unsigned i = 0; event->kind == FERRY_EVENT_PAGING_END && i < log->paging_begun; i++)
        log->paging_ended += log->paging[i] == event->id;
}

static void events_tell_the_story(void **state)
{
    struct bench *b = *state;
    struct log log = {.open_calls = 0};
    struct ferry_allocation *a;
    struct ferry_process *process;

    ok(ferry_adapter_observe(b->adapter, on_event, &log));
    // Both its own budget and that of the device of no program, of video memory and of the aperture.
    ok(ferry_process_create(b->adapter, NULL, &process));
    assert_int_equal(log.budgets[1], 2);
    assert_int_equal(log.budgets[3], 2);
    assert_int_equal(log.kinds[FERRY_EVENT_BUDGET], 4);
    ok(ferry_process_destroy(process));
    a = make(b->device, 100000, VISIBLE);
    write_content(a, 100000, 1);
    must_be_resident(b->device, &a, 1);
    ok(ferry_queue_copy(b->queue, a, 0, a, 50000, 50000));
    run_job(b->queue);
    ok(ferry_allocation_destroy(a));
    // What takes its addresses away goes on behind the call, and no job waits for it.
    unsigned jobs = 1;
    do {
        run_job(b->queue);
        jobs++;
    } while (log.paging_ended < log.paging_begun && jobs < 100);
    ok(ferry_adapter_observe(b->adapter, NULL, NULL));
    assert_int_equal(log.strange, 0);
    assert_int_equal(log.open_calls, 0);
    assert_true(log.kinds[FERRY_EVENT_CALL_BEGIN] >= 6);
    // In driver model 2 it has addresses of its own while it is in its place.
    assert_true((log.kinds[FERRY_EVENT_MAPPED] > 0) == (log.kinds[FERRY_EVENT_UNMAPPED] > 0));
    assert_true(log.paging_begun >= 1);
    assert_int_equal(log.paging_begun, log.paging_ended);
    assert_int_equal(log.kinds[FERRY_EVENT_JOB_BEGIN], jobs);
    assert_int_equal(log.kinds[FERRY_EVENT_JOB_END], jobs);
    assert_int_equal(log.kinds[FERRY_EVENT_PLACED], 1);
    assert_int_equal(log.kinds[FERRY_EVENT_REMOVED], 1);
}

static void the_adapter_describes_itself(void **state)
{
    struct bench *b = *state;
    struct ferry_adapter_info info = {.size = sizeof info};

    ok(ferry_adapter_query(b->adapter, &info));
    // Its name alone, without an address.
    assert_int_equal(strlen(info.backend), strcspn(backend, ":"));
    assert_memory_equal(info.backend, backend, strlen(info.backend));
    assert_int_equal(info.contract_version, 0x60000);
    assert_int_equal(info.firmware_version, 0x60000);
    assert_int_equal(info.rings, 5);
    assert_int_equal(info.command_slot_bytes, 4096);
    assert_int_equal(info.video_memory_bytes, 1 << 20);
    assert_true(info.local_bytes >= 16u << 20);
    assert_int_equal(info.model, driver_model);
    info.size = 0;
    assert_int_equal(ferry_adapter_query(b->adapter, &info), FERRY_ERROR_ARGUMENT);
}

// Of three of a kind each order: whoever is left is found, works, and is ended with what he belongs to.
static void what_is_destroyed_in_any_order_leaves_the_rest(void **state)
{
    struct bench *b = *state;
    static const unsigned orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

    for (unsigned order = 0; order < 6; order++) {
        for (unsigned gone = 1; gone <= 3; gone++) {
            struct ferry_device *devices[3];
            struct ferry_queue *queues[3];
            struct ferry_allocation *allocations[3];

            for (unsigned i = 0; i < 3; i++)
                ok(ferry_device_create(b->adapter, &devices[i]));
            for (unsigned i = 0; i < 3; i++) {
                ok(ferry_queue_create(devices[1], &queues[i]));
                allocations[i] = make(devices[1], 5000, VISIBLE);
            }
            for (unsigned n = 0; n < gone; n++) {
                ok(ferry_queue_destroy(queues[orders[order][n]]));
                ok(ferry_allocation_destroy(allocations[orders[order][n]]));
            }
            for (unsigned n = gone; n < 3; n++) {
                write_content(allocations[orders[order][n]], 5000, n);
                must_be_resident(devices[1], &allocations[orders[order][n]], 1);
                run_job(queues[orders[order][n]]);
                expect_content(allocations[orders[order][n]], 5000, n);
            }
            for (unsigned n = 0; n < 3; n++)
                ok(ferry_device_destroy(devices[orders[order][n]]));
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CASE(content_goes_in_is_copied_and_comes_back),
        CASE(fills_with_each_pattern_size_in_each_segment),
        CASE(more_than_fits_stays_whole),
        CASE(R226_R229_the_trim_loop_makes_room_from_its_own_list),
        CASE(R228_R230_a_device_in_error_takes_no_more_work),
        CASE(jobs_longer_than_a_buffer_run_in_order),
        CASE(a_job_needs_its_allocations_on_the_list),
        CASE(bad_arguments_get_their_names_and_change_nothing),
        CASE(existing_memory_is_used_in_place),
        CASE(what_is_destroyed_in_any_order_leaves_the_rest),
        CASE(events_tell_the_story),
        CASE(the_adapter_describes_itself),
    };

    read_options(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
