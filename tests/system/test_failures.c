// SPDX-License-Identifier: Apache-2.0
// What goes wrong: planted failures of host, video memory and engine, and what the program that had nothing to do with
// it sees of them, which is nothing.
#include "adapter_inside.h"
#include "system.h"

#include "device/device_state.h"
#include "model/model_link.h"
#include "vidmm/api/manager.h"

static struct umd_adapter *inside_of(struct bench *b)
{
    struct umd_adapter *adapter = adapter_inside(b->adapter);
    return adapter;
}

static struct ferry_gpu *gpu_of(struct bench *b)
{
    return inside_of(b)->gpu;
}

static bool next_fault(struct bench *b, struct ferry_fault *fault)
{
    bool found;

    *fault = (struct ferry_fault){.size = sizeof *fault};
    ok(ferry_adapter_next_fault(b->adapter, fault, &found));
    return found;
}

static void a_faulted_job_is_told_and_the_next_one_runs(void **state)
{
    struct bench *b = *state;
    struct ferry_allocation *a = make(b->device, 8192, VISIBLE), *untouched = make(b->device, 8192, VISIBLE);
    struct ferry_allocation *both[2] = {a, untouched};
    struct umd_adapter *inside = inside_of(b);
    struct ferry_fault fault = {.size = sizeof fault};
    bool found = true;
    uint64_t fence;

    write_content(a, 8192, 1);
    write_content(untouched, 8192, 2);
    must_be_resident(b->device, both, 2);
    // By addresses, what leads there is remembered from here on, and the next read is one of content. Twice, since both
    // sides walk at once at first: where the writer's entries, from its page's on, come last, they take the place of
    // the line that the reader's stand in.
    for (int i = 0; i < 2; i++) {
        ok(ferry_queue_copy(b->queue, a, 4096, a, 0, 64));
        run_job(b->queue);
    }
    ok(ferry_adapter_next_fault(b->adapter, &fault, &found));
    assert_false(found);
    ok(ferry_gpu_inject(inside->gpu, FERRY_INJECT_LOCAL_READ_ERROR, 1));
    ok(ferry_queue_copy(b->queue, a, 4096, a, 0, 64));
    ok(ferry_queue_submit(b->queue, &fence));
    assert_int_equal(ferry_queue_wait(b->queue, fence), FERRY_ERROR_FAULT);
    ok(ferry_adapter_next_fault(b->adapter, &fault, &found));
    assert_true(found);
    assert_int_equal(fault.kind, 13); // LOCAL_ERROR
    assert_int_equal(fault.is_write, 0);
    ok(ferry_adapter_next_fault(b->adapter, &fault, &found));
    assert_false(found);
    ok(ferry_queue_copy(b->queue, a, 4096, a, 0, 64));
    run_job(b->queue);
    expect_content(untouched, 8192, 2);
}

// A job that takes several buffers has faulted when the first of them has: nothing behind the fault in that buffer is
// done, what is done of the others is done whole, and the next job runs.
static void a_fault_in_one_of_its_buffers_is_the_jobs(void **state)
{
    struct bench *b = *state;
    struct ferry_adapter_info info = {.size = sizeof info};
    struct ferry_fault fault;
    const uint64_t filled = UINT64_C(0x0123456789abcdef);
    uint64_t fence;
    void *address;

    ok(ferry_adapter_query(b->adapter, &info));
    // A fill has more than 8 bytes, so that is more than a buffer holds.
    const uint32_t fills = info.command_slot_bytes / 8, bytes = FERRY_PAGE_BYTES + 8 * fills;
    struct ferry_allocation *a = make(b->device, bytes, VISIBLE);
    write_content(a, bytes, 1);
    must_be_resident(b->device, &a, 1);
    for (int i = 0; i < 2; i++) { // As above.
        ok(ferry_queue_copy(b->queue, a, 64, a, 0, 64));
        run_job(b->queue);
    }
    ok(ferry_gpu_inject(gpu_of(b), FERRY_INJECT_LOCAL_READ_ERROR, 1));
    ok(ferry_queue_copy(b->queue, a, 64, a, 0, 64));
    for (uint32_t i = 0; i < fills; i++)
        ok(ferry_queue_fill(b->queue, a, FERRY_PAGE_BYTES + 8 * i, 8, filled, 8));
    ok(ferry_queue_submit(b->queue, &fence));
    assert_int_equal(ferry_queue_wait(b->queue, fence), FERRY_ERROR_FAULT);
    assert_true(next_fault(b, &fault));
    assert_int_equal(fault.packet_offset, 0);
    assert_false(next_fault(b, &fault));
    ok(ferry_lock(a, FERRY_LOCK_READ_ONLY, &address));
    for (uint32_t i = 0; i < fills; i++) {
        const uint8_t *found = (const uint8_t *)address + FERRY_PAGE_BYTES + 8 * i;
        uint8_t before[8];
        for (uint32_t at = 0; at < 8; at++)
            before[at] = content(1, FERRY_PAGE_BYTES + 8 * i + at);
        bool is_done = memcmp(found, &filled, 8) == 0;
        assert_true(is_done || memcmp(found, before, 8) == 0);
        assert_false(is_done && i < 8);
    }
    ok(ferry_unlock(a));
    ok(ferry_queue_fill(b->queue, a, FERRY_PAGE_BYTES, 8, filled, 8));
    run_job(b->queue);
    ok(ferry_lock(a, FERRY_LOCK_READ_ONLY, &address));
    assert_memory_equal((const uint8_t *)address + FERRY_PAGE_BYTES, &filled, 8);
    ok(ferry_unlock(a));
}

static void lost_answers_of_the_host_become_faults(void **state)
{
    struct bench *b = *state;
    struct umd_adapter *inside = inside_of(b);
    struct ferry_allocation *a = make(b->device, 8192, VISIBLE);
    static const enum ferry_injection what[] = {FERRY_INJECT_LOSE_COMPLETION, FERRY_INJECT_ABORT_COMPLETION,
                                                FERRY_INJECT_POISON_COMPLETION};

    must_be_resident(b->device, &a, 1);
    // Behind a job that names it no paging is left, whose reads would be the ones that get lost.
    ok(ferry_queue_fill(b->queue, a, 0, 64, 77, 1));
    run_job(b->queue);
    for (size_t i = 0; i < sizeof what / sizeof what[0]; i++) {
        struct ferry_fault fault = {.size = sizeof fault};
        bool found;
        uint64_t fence;

        ok(ferry_gpu_inject(inside->gpu, what[i], 1));
        ok(ferry_queue_fill(b->queue, a, 0, 64, i, 1));
        ok(ferry_queue_submit(b->queue, &fence));
        int result = ferry_queue_wait(b->queue, fence);
        ok(ferry_adapter_next_fault(b->adapter, &fault, &found));
        assert_true(found);
        assert_int_equal(fault.kind, 9); // BUFFER_FETCH
        // When it was the entry that got lost, its number is not known and the job ends all the same; when it was one
        // of the paging ring, that is built again.
        assert_true(result == FERRY_ERROR_FAULT || fault.fence_value == 0 || fault.ring == 0);
        ok(ferry_queue_fill(b->queue, a, 0, 64, 77, 1));
        run_job(b->queue);
    }
}

static void an_engine_reset_leaves_content_and_engine_well(void **state)
{
    struct bench *b = *state;
    struct ferry_allocation *a = make(b->device, 100000, VISIBLE);

    write_content(a, 100000, 9);
    must_be_resident(b->device, &a, 1);
    // A job that names it has run, so its page-in has ended; one that does not may pass that, and a reset aborts both.
    ok(ferry_queue_copy(b->queue, a, 0, a, 0, 64));
    run_job(b->queue);
    ok(ferry_adapter_reset_engine(b->adapter));
    ok(ferry_queue_copy(b->queue, a, 0, a, 0, 100000));
    run_job(b->queue);
    expect_content(a, 100000, 9);
}

// The engine stops for good in the middle of a job: the time-out cuts it off.
static void a_hang_is_cut_off_and_the_next_job_runs(void **state)
{
    struct bench *b = *state;
    struct ferry_allocation *list[2] = {make(b->device, 8192, VISIBLE), make(b->device, 100000, VISIBLE)};
    struct ferry_fault fault;
    uint64_t fence;

    write_content(list[1], 100000, 4);
    struct ferry_residency residency = {.size = sizeof residency, .allocations = list, .count = 2};
    assert_int_equal(ferry_make_resident(b->device, &residency), FERRY_PENDING);
    ok(ferry_device_wait_paging(b->device, residency.paging_fence_value));
    // Behind that and a job that names both nothing is with the device, so it is the next job that hangs and is to
    // blame.
    ok(ferry_queue_copy(b->queue, list[0], 0, list[1], 0, 64));
    run_job(b->queue);
    ferry_model_hang(ferry_model_link_model(gpu_of(b)->link));
    ok(ferry_queue_fill(b->queue, list[0], 0, 64, 1, 1));
    ok(ferry_queue_submit(b->queue, &fence));
    assert_int_equal(ferry_queue_wait(b->queue, fence), FERRY_ERROR_FAULT);
    assert_true(next_fault(b, &fault));
    assert_int_equal(fault.kind, 16); // ENGINE_RESET
    ok(ferry_queue_fill(b->queue, list[0], 0, 64, 0x33, 1));
    run_job(b->queue);
    expect_content(list[1], 100000, 4);
}

static const struct ferry_link_operations *of_the_link;

static int pump_and_tell(struct ferry_link *link, uint64_t cycles, unsigned *reasons)
{
    int error = of_the_link->pump(link, cycles < 500 ? cycles : 500, reasons);

    *reasons |= FERRY_PUMP_WRITE;
    return error;
}

// So does one whose device goes on telling of things behind which there is nothing.
static void a_hang_is_cut_off_though_the_device_tells_and_tells(void **state)
{
    struct bench *b = *state;
    struct ferry_link *link = gpu_of(b)->link;
    struct ferry_link_operations telling = *link->operations;

    of_the_link = link->operations;
    telling.pump = pump_and_tell;
    link->operations = &telling;
    a_hang_is_cut_off_and_the_next_job_runs(state);
    link->operations = of_the_link;
}

// A page-in that fails takes its device with it, whose content cannot be trusted, and no other.
static void a_failed_page_in_puts_only_its_device_in_error(void **state)
{
    struct bench *b = *state;
    struct ferry_device *other;
    struct ferry_queue *queue;
    struct ferry_allocation *mine, *theirs;
    uint64_t fence;
    struct ferry_fault fault;
    uint32_t planted = 0;
    int result;

    ok(ferry_device_create(b->adapter, &other));
    ok(ferry_queue_create(other, &queue));
    theirs = make(other, 50000, VISIBLE);
    write_content(theirs, 50000, 2);
    must_be_resident(other, &theirs, 1);
    ok(ferry_queue_copy(queue, theirs, 0, theirs, 0, 50000));
    run_job(queue);

    // One that is tried again and comes through then has told its fault, and nothing else is to be seen of it.
    do {
        assert_true(planted < PAGE_IN_ERRORS);
        mine = make(b->device, 50000, VISIBLE);
        write_content(mine, 50000, 1);
        ok(ferry_gpu_inject(gpu_of(b), FERRY_INJECT_LOCAL_WRITE_ERROR, ++planted));
        must_be_resident(b->device, &mine, 1);
        ok(ferry_queue_copy(b->queue, mine, 0, mine, 0, 64));
        result = ferry_queue_submit(b->queue, &fence);
        if (result == FERRY_OK)
            result = ferry_queue_wait(b->queue, fence);
        if (result == FERRY_OK)
            expect_content(mine, 50000, 1);
        assert_true(next_fault(b, &fault));
        do {
            assert_int_equal(fault.kind, 13); // LOCAL_ERROR
            assert_int_equal(fault.ring, 0);
            assert_int_equal(fault.is_write, 1);
        } while (next_fault(b, &fault));
    } while (result == FERRY_OK);
    assert_true(result == FERRY_ERROR_DEVICE_LOST || result == FERRY_ERROR_FAULT);
    assert_int_equal(ferry_queue_submit(b->queue, &fence), FERRY_ERROR_DEVICE_LOST);

    ok(ferry_queue_copy(queue, theirs, 0, theirs, 0, 50000));
    run_job(queue);
    expect_content(theirs, 50000, 2);
}

static void every_one_of_many_faults_is_told(void **state)
{
    struct bench *b = *state;
    struct ferry_allocation *a = make(b->device, 8192, VISIBLE);
    struct ferry_statistics statistics = {.size = sizeof statistics};
    struct ferry_fault fault;
    // As many as the device's own log holds, many times over; the driver keeps the newest 1,024 that nobody has taken.
    const uint32_t count = on_model() ? 1024 : 60;
    uint64_t fence, last = 0;

    must_be_resident(b->device, &a, 1);
    run_job(b->queue);
    for (uint32_t i = 0; i < count; i++) {
        ok(ferry_gpu_inject(gpu_of(b), FERRY_INJECT_LOCAL_READ_ERROR, 1));
        ok(ferry_queue_copy(b->queue, a, 4096, a, 0, 8));
        ok(ferry_queue_submit(b->queue, &fence));
        assert_int_equal(ferry_queue_wait(b->queue, fence), FERRY_ERROR_FAULT);
    }
    ok(ferry_adapter_statistics(b->adapter, &statistics));
    assert_int_equal(statistics.faults, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(next_fault(b, &fault));
        assert_int_equal(fault.sequence, i + 1);
        assert_true(fault.fence_value > last);
        last = fault.fence_value;
    }
    assert_false(next_fault(b, &fault));
}

// What the driver has unmapped, the device cannot reach: the host answers and counts.
static void unmapped_host_memory_is_refused_and_counted(void **state)
{
    struct bench *b = *state;
    struct ferry_gpu *gpu = gpu_of(b);
    struct ferry_gpu_memory gone;
    struct ferry_link_counts before, after;

    ok(ferry_gpu_memory_allocate(gpu, 4096, 0, &gone));
    uint64_t bus = gone.bus;
    ferry_gpu_memory_free(gpu, &gone);
    struct ferry_gpu_entry entry = {.buffer_address = bus, .buffer_bytes = 8};
    ferry_gpu_link_counts(gpu, &before);
    uint32_t number;
    ok(ferry_gpu_ring_submit(gpu, 4, &entry, &number)); // Behind the miniport's back.
    ok(ferry_gpu_wait_retired(gpu, 4, number, 0));
    ferry_gpu_link_counts(gpu, &after);
    assert_true(after.unmapped_accesses > before.unmapped_accesses);
    assert_int_equal(after.last_unmapped_address >> 12, bus >> 12);
}

// A source of host pages that takes the mapping of page 3 away again.
static const struct ferry_page_source *real_pages;
static struct ferry_gpu *unmapping_gpu;
static uint64_t unmapped_bus;

static int allocate_with_a_hole(void *context, size_t pages, unsigned flags, MDL **mdl)
{
    int result = real_pages->allocate(context, pages, flags, mdl);

    if (result == FERRY_OK && pages > 3) {
        unmapped_bus = (*mdl)->Pfn[3] << 12;
        ferry_gpu_dma_unmap(unmapping_gpu, &unmapped_bus, 1);
    }
    return result;
}

// A page-out into a page that is not mapped: the device cannot notice, the host does, and the buffer's fence is errored
// as for any fault. Who has nothing to do with it, not even with jobs under way at the time, notices nothing.
static void a_page_out_to_an_unmapped_page_is_a_fault(void **state)
{
    struct bench *b = *state;
    struct umd_adapter *inside = inside_of(b);
    struct ferry_device *other;
    struct ferry_queue *queue;
    struct ferry_allocation *mine = make(b->device, 100000, VISIBLE), *big = make(b->device, 900000, VISIBLE), *theirs;
    struct ferry_fault fault;
    uint64_t fence, under_way;
    struct ferry_page_source holed;

    ok(ferry_device_create(b->adapter, &other));
    ok(ferry_queue_create(other, &queue));
    theirs = make(other, 50000, VISIBLE);
    write_content(mine, 100000, 1);
    write_content(theirs, 50000, 2);
    must_be_resident(other, &theirs, 1);
    must_be_resident(b->device, &mine, 1);
    ok(ferry_queue_copy(b->queue, mine, 50000, mine, 0, 1000));
    run_job(b->queue);
    real_pages = inside->vidmm->core.platform.pages;
    unmapping_gpu = gpu_of(b);
    holed = *real_pages;
    holed.allocate = allocate_with_a_hole;

    evict(b->device, &mine, 1);
    for (int i = 0; i < 8; i++)
        ok(ferry_queue_copy(queue, theirs, 0, theirs, 0, 50000));
    ok(ferry_queue_submit(queue, &under_way));
    inside->vidmm->core.platform.pages = &holed;
    must_be_resident(b->device, &big, 1); // There is no room for both.
    inside->vidmm->core.platform.pages = real_pages;
    ok(ferry_queue_fill(b->queue, big, 0, 900000, 0x5a, 1));
    int result = ferry_queue_submit(b->queue, &fence);
    if (result == FERRY_OK)
        result = ferry_queue_wait(b->queue, fence);
    assert_true(result == FERRY_ERROR_DEVICE_LOST || result == FERRY_ERROR_FAULT);
    ok(ferry_queue_wait(queue, under_way));
    assert_true(next_fault(b, &fault));
    assert_int_equal(fault.kind, 10); // HOST_UNSUPPORTED
    assert_int_equal(fault.is_write, 1);
    assert_int_equal(fault.ring, 0);
    assert_true(fault.address == unmapped_bus);
    assert_int_equal(fault.packet_header & 0xff, 2); // COPY_PAGES
    assert_false(next_fault(b, &fault));
    assert_int_equal(ferry_queue_submit(b->queue, &fence), FERRY_ERROR_DEVICE_LOST);

    ok(ferry_queue_copy(queue, theirs, 0, theirs, 0, 50000));
    run_job(queue);
    expect_content(theirs, 50000, 2);
}

static void a_firmware_that_is_not_there_is_named(void **state)
{
    struct ferry_adapter_options options = {
        .size = sizeof options, .backend = backend, .firmware_file = "no/such/file"};
    struct ferry_adapter *adapter = NULL;

    (void)state;
    assert_int_equal(ferry_adapter_open(&options, &adapter), FERRY_ERROR_FIRMWARE);
    assert_null(adapter);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CASE(a_faulted_job_is_told_and_the_next_one_runs),
        CASE(a_fault_in_one_of_its_buffers_is_the_jobs),
        CASE(lost_answers_of_the_host_become_faults),
        CASE(an_engine_reset_leaves_content_and_engine_well),
        CASE(a_failed_page_in_puts_only_its_device_in_error),
        CASE(every_one_of_many_faults_is_told),
        CASE(unmapped_host_memory_is_refused_and_counted),
        CASE(a_page_out_to_an_unmapped_page_is_a_fault),
        cmocka_unit_test(a_firmware_that_is_not_there_is_named),
    };

    // Nothing hangs the hardware's engine but its own faults, and those have watchdogs.
    const struct CMUnitTest of_the_model[] = {CASE(a_hang_is_cut_off_and_the_next_job_runs),
                                              CASE(a_hang_is_cut_off_though_the_device_tells_and_tells)};

    read_options(argc, argv);
    const struct left_out left_out[] = {{"a_faulted_job_is_told_and_the_next_one_runs", PLANTS_FAULTS},
                                        {"a_fault_in_one_of_its_buffers_is_the_jobs", PLANTS_FAULTS},
                                        {"a_failed_page_in_puts_only_its_device_in_error", PLANTS_FAULTS},
                                        {"every_one_of_many_faults_is_told", PLANTS_FAULTS}};
    int failed = RUN_WHERE_POSSIBLE(tests, left_out);
    if (on_model())
        failed += cmocka_run_group_tests(of_the_model, NULL, NULL);
    return failed;
}
