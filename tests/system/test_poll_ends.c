// SPDX-License-Identifier: Apache-2.0
// What the event descriptor tells of resets, faults, hangs, budgets and the adapter's end; and what is left behind.
#include "adapter_inside.h"
#include "device/device_state.h"
#include "model/model_link.h"
#include "poll_loops.h"
#include "vidmm/api/call.h"
#include "vidmm/api/manager.h"

// Linked with --wrap=ferry_vidmm_work: what the library's thread does, who is held off does not do.
int __real_ferry_vidmm_work(struct ferry_vidmm *manager, bool *left);
int __wrap_ferry_vidmm_work(struct ferry_vidmm *manager, bool *left);
static atomic_bool held_off;

int __wrap_ferry_vidmm_work(struct ferry_vidmm *manager, bool *left)
{
    *left = false;
    return held_off ? FERRY_OK : __real_ferry_vidmm_work(manager, left);
}

static void a_reset_is_told(void **state)
{
    struct work work;
    int fd;

    (void)state;
    ok(ferry_adapter_event_fd(adapter, &fd));
    work = make_work();
    bring_in(fd, &work);
    for (int i = 0; i < 20; i++) {
        uint64_t fences[3];

        for (unsigned n = 0; n < 3; n++) {
            ok(ferry_queue_fill(work.queue, work.allocation, 0, BYTES, n, 8));
            ok(ferry_queue_submit(work.queue, &fences[n]));
        }
        ok(ferry_adapter_reset_engine(adapter));
        wait_for_job(fd, work.queue, fences[2]);
        for (unsigned n = 0; n < 3; n++) {
            int result = ferry_queue_wait(work.queue, fences[n]);
            assert_true(result == FERRY_OK || result == FERRY_ERROR_FAULT);
        }
    }
    close(fd);
}

static struct ferry_gpu *gpu(void)
{
    struct umd_adapter *inside = adapter_inside(adapter);

    return inside->gpu;
}

static void a_fault_is_told(void **state)
{
    struct work work;
    uint64_t fence;
    int fd;

    (void)state;
    ok(ferry_adapter_event_fd(adapter, &fd));
    work = make_work();
    bring_in(fd, &work);
    ok(ferry_gpu_inject(gpu(), FERRY_INJECT_LOCAL_READ_ERROR, 1));
    ok(ferry_queue_copy(work.queue, work.allocation, 4096, work.allocation, 0, 64));
    ok(ferry_queue_submit(work.queue, &fence));
    wait_for_job(fd, work.queue, fence);
    assert_int_equal(ferry_queue_wait(work.queue, fence), FERRY_ERROR_FAULT);
    struct ferry_fault fault = {.size = sizeof fault};
    bool found = false;
    ok(ferry_adapter_next_fault(adapter, &fault, &found));
    assert_true(found);
    // Once: whoever polls would be woken for nothing by each call after it.
    while (readable(fd, 20))
        take(fd);
    ok(ferry_queue_reached(work.queue, &fence));
    assert_false(readable(fd, 0));
    close(fd);
}

// Paging that faults takes its device with it, and its fence comes all the same.
static void a_failed_page_in_is_told(void **state)
{
    struct work work = make_work();
    uint32_t planted = 0;
    int fd, result;

    (void)state;
    ok(ferry_adapter_event_fd(adapter, &fd));
    do {
        struct ferry_allocation *allocation = make(work.device, BYTES, VISIBLE);
        struct ferry_residency residency = {.size = sizeof residency, .allocations = &allocation, .count = 1};

        assert_true(planted < PAGE_IN_ERRORS);
        write_content(allocation, BYTES, 1);
        ok(ferry_gpu_inject(gpu(), FERRY_INJECT_LOCAL_WRITE_ERROR, ++planted));
        assert_int_equal(ferry_make_resident(work.device, &residency), FERRY_PENDING);
        wait_for_paging(fd, work.device, residency.paging_fence_value);
        result = ferry_device_wait_paging(work.device, residency.paging_fence_value);
    } while (result == FERRY_OK);
    assert_int_equal(result, FERRY_ERROR_DEVICE_LOST);
    close(fd);
}

// Nobody waits for what leaves behind an eviction: no job ends with it, and no fence has a new value.
static void a_failed_page_out_is_told(void **state)
{
    struct ferry_fault fault = {.size = sizeof fault};
    struct work work;
    uint64_t reached;
    bool found = false;
    int fd;

    (void)state;
    ok(ferry_adapter_event_fd(adapter, &fd));
    work = make_work();
    bring_in(fd, &work);
    ok(ferry_queue_fill(work.queue, work.allocation, 0, 64, 1, 1));
    run_job(work.queue);
    ok(ferry_adapter_set_budget(adapter, FERRY_PAGE_BYTES));
    while (readable(fd, 20))
        take(fd);
    ok(ferry_gpu_inject(gpu(), FERRY_INJECT_LOCAL_READ_ERROR, 1));
    evict(work.device, &work.allocation, 1);
    while (!found) {
        assert_true(readable(fd, LOST_MS));
        take(fd);
        ok(ferry_device_paging_reached(work.device, &reached));
        ok(ferry_adapter_next_fault(adapter, &fault, &found));
    }
    assert_int_equal(fault.ring, 0);
    close(fd);
}

// A reset reads what the device had to say before it: then the library's thread finds nothing to tell of. (In driver
// model 2 the page-out stands behind a change of tables, and the reset may come before it.)
static void a_fault_that_a_reset_reads_is_told(void **state)
{
    struct ferry_fault fault = {.size = sizeof fault};
    struct work work;
    bool found = false;
    int fd;

    (void)state;
    ok(ferry_adapter_event_fd(adapter, &fd));
    work = make_work();
    bring_in(fd, &work);
    ok(ferry_queue_fill(work.queue, work.allocation, 0, 64, 1, 1));
    run_job(work.queue);
    ok(ferry_adapter_set_budget(adapter, FERRY_PAGE_BYTES));
    while (readable(fd, 20))
        take(fd);
    held_off = true;
    ok(ferry_gpu_inject(gpu(), FERRY_INJECT_LOCAL_READ_ERROR, 1));
    evict(work.device, &work.allocation, 1);
    ok(ferry_adapter_reset_engine(adapter));
    bool told = readable(fd, 0);
    ok(ferry_adapter_next_fault(adapter, &fault, &found));
    held_off = false;
    assert_true(found || driver_model == 2);
    assert_int_equal(fault.ring, 0);
    assert_int_equal(told, found);
    close(fd);
}

// The engine stops for good: whoever only polls has it reset, too, time after time.
static void hangs_are_cut_off_while_the_program_polls(void **state)
{
    struct work work;
    int fd;

    (void)state;
    ok(ferry_adapter_event_fd(adapter, &fd));
    work = make_work();
    bring_in(fd, &work);
    // After a job no paging is under way, which would be what hangs.
    ok(ferry_queue_fill(work.queue, work.allocation, 0, 64, 0, 1));
    run_job(work.queue);
    for (int i = 0; i < 3; i++) {
        uint64_t hung, next;

        ferry_model_hang(ferry_model_link_model(gpu()->link));
        ok(ferry_queue_fill(work.queue, work.allocation, 0, 64, 1, 1));
        ok(ferry_queue_submit(work.queue, &hung));
        ok(ferry_queue_fill(work.queue, work.allocation, 0, 64, 2, 1));
        ok(ferry_queue_submit(work.queue, &next));
        wait_for_job(fd, work.queue, next);
        assert_int_equal(ferry_queue_wait(work.queue, hung), FERRY_ERROR_FAULT);
        ok(ferry_queue_wait(work.queue, next));
    }
    close(fd);
}

static void a_budget_is_told(void **state)
{
    struct ferry_process *process;
    int fd;

    (void)state;
    ok(ferry_process_create(adapter, NULL, &process));
    ok(ferry_adapter_event_fd(adapter, &fd));
    while (take(fd))
        ;
    assert_false(readable(fd, 20));
    ok(ferry_adapter_set_budget(adapter, 1 << 20));
    assert_true(readable(fd, LOST_MS));
    close(fd);
}

// As when a rule of the contract was broken: the manager goes on with nothing.
static void stop_the_manager(void)
{
    struct umd_adapter *inside = adapter_inside(adapter);

    ferry_vm_take_lock(inside->vidmm);
    ferry_vm_stop_critical(&inside->vidmm->core, (struct ferry_vidmm_critical){.code = FERRY_CRITICAL_NO_PROGRESS});
    ferry_vm_give_lock(inside->vidmm);
}

// A job that is queued never ends; the library's thread alone finds it out, for the program only polls.
static void that_nothing_ends_any_more_is_told(void **state)
{
    struct work work = make_work();
    uint64_t fence, reached;
    int fd;

    (void)state;
    must_be_resident(work.device, &work.allocation, 1);
    ok(ferry_queue_fill(work.queue, work.allocation, 0, BYTES, 1, 8));
    ok(ferry_queue_submit(work.queue, &fence));
    stop_the_manager();
    ok(ferry_adapter_event_fd(adapter, &fd));
    assert_true(readable(fd, LOST_MS));
    take(fd);
    assert_int_equal(ferry_queue_reached(work.queue, &reached), FERRY_ERROR_CRITICAL);
    // What was done until then can be asked for still.
    struct ferry_statistics statistics = {.size = sizeof statistics};
    assert_int_equal(ferry_adapter_statistics(adapter, &statistics), FERRY_ERROR_CRITICAL);
    assert_true(statistics.paging_buffers > 0 && statistics.cycles > 0);
    close(fd);
}

// Who asks hears of it; who polls at that moment on another thread is told, for a question wakes nobody else.
static void who_polls_is_told_what_another_is_answered(void **state)
{
    struct work work = make_work();
    uint64_t reached;
    int fd;

    (void)state;
    ok(ferry_adapter_event_fd(adapter, &fd));
    bring_in(fd, &work);
    // The library's thread sleeps when nothing is queued, and tells nothing of its own.
    while (readable(fd, 20))
        take(fd);
    stop_the_manager();
    assert_false(readable(fd, 20));
    assert_int_equal(ferry_queue_reached(work.queue, &reached), FERRY_ERROR_CRITICAL);
    assert_true(readable(fd, 0));
    close(fd);
}

static void *close_it(void *context)
{
    pause_for(20000000);
    ferry_adapter_close(context);
    return NULL;
}

static void closing_wakes_who_polls(void **state)
{
    struct work work;
    pthread_t thread;
    uint64_t fence, reached;
    int fd;

    (void)state;
    ok(ferry_adapter_event_fd(adapter, &fd));
    work = make_work();
    while (take(fd))
        ;
    assert_int_equal(pthread_create(&thread, NULL, close_it, adapter), 0);
    assert_true(readable(fd, LOST_MS));
    pthread_join(thread, NULL);
    adapter = NULL;
    assert_true(readable(fd, 0));
    assert_int_equal(ferry_queue_reached(work.queue, &fence), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_device_paging_reached(work.device, &reached), FERRY_ERROR_HANDLE);
    assert_true(take(fd));
    assert_false(readable(fd, 0));
    close(fd);
}

// With jobs under way, asked for and not, with the descriptor closed before or behind the adapter.
static void adapters_close_with_work_under_way(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        struct work work = make_work();
        uint64_t fence;
        int fd;

        ok(ferry_adapter_event_fd(adapter, &fd));
        must_be_resident(work.device, &work.allocation, 1);
        for (unsigned n = 0; n < i; n++) {
            ok(ferry_queue_fill(work.queue, work.allocation, 0, BYTES, n, 8));
            ok(ferry_queue_submit(work.queue, &fence));
        }
        if (i % 2)
            close(fd);
        ferry_adapter_close(adapter);
        if (i % 2 == 0) {
            assert_true(readable(fd, 0));
            close(fd);
        }
        adapter = open_adapter(0);
    }
}

static int descriptors(void)
{
    int count = 0;

    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void no_descriptor_is_left_behind(void **state)
{
    (void)state;
    end(NULL);
    int before = descriptors();
    adapter = open_adapter(0);
    int with_link = descriptors();
    for (unsigned i = 0; i < 50; i++) {
        int fd;

        ok(ferry_adapter_event_fd(adapter, &fd));
        close(fd);
    }
    assert_int_equal(descriptors(), with_link + 1);
    end(NULL);
    assert_int_equal(descriptors(), before);
    begin(NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        POLL(a_reset_is_told),
        POLL(a_fault_is_told),
        POLL(a_failed_page_in_is_told),
        POLL(a_failed_page_out_is_told),
        POLL(a_fault_that_a_reset_reads_is_told),
        POLL(a_budget_is_told),
        POLL(that_nothing_ends_any_more_is_told),
        POLL(who_polls_is_told_what_another_is_answered),
        POLL(closing_wakes_who_polls),
        POLL(adapters_close_with_work_under_way),
        POLL(no_descriptor_is_left_behind),
    };

    read_options(argc, argv);
    // Nothing hangs the hardware's engine but its own faults, and those have watchdogs.
    const struct CMUnitTest of_the_model[] = {POLL(hangs_are_cut_off_while_the_program_polls)};
    const struct left_out left_out[] = {{"a_fault_is_told", PLANTS_FAULTS},
                                        {"a_failed_page_in_is_told", PLANTS_FAULTS},
                                        {"a_failed_page_out_is_told", PLANTS_FAULTS},
                                        {"a_fault_that_a_reset_reads_is_told", PLANTS_FAULTS},
                                        {"no_descriptor_is_left_behind", A_PORTS_FILE}};
    int failed = RUN_WHERE_POSSIBLE(tests, left_out);
    return failed + (on_model() ? cmocka_run_group_tests(of_the_model, NULL, NULL) : 0);
}
