// SPDX-License-Identifier: Apache-2.0
// The event descriptor: poll loops that never wait inside the library miss nothing, whoever else works on the adapter.
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "poll_loops.h"

#define LOOPS 3

static unsigned jobs_of_a_loop(void)
{
    return on_model() ? 400 : rounds(12, 25);
}

static void paging_and_jobs_go_on_while_the_program_polls(void **state)
{
    int fd;

    (void)state;
    ok(ferry_adapter_event_fd(adapter, &fd));
    struct work work = make_work();
    bring_in(fd, &work);
    struct ferry_placement placement = {.size = sizeof placement};
    ok(ferry_allocation_placement(work.allocation, &placement));
    assert_true(placement.resident);
    uint64_t fence;
    ok(ferry_queue_fill(work.queue, work.allocation, 100, 50, 0x5a, 1));
    ok(ferry_queue_submit(work.queue, &fence));
    wait_for_job(fd, work.queue, fence);
    ok(ferry_queue_wait(work.queue, fence));
    uint8_t *bytes;
    ok(ferry_lock(work.allocation, FERRY_LOCK_READ_ONLY, (void **)&bytes));
    assert_int_equal(bytes[99], content(3, 99));
    assert_int_equal(bytes[100], 0x5a);
    assert_int_equal(bytes[149], 0x5a);
    assert_int_equal(bytes[150], content(3, 150));
    ok(ferry_unlock(work.allocation));
    close(fd);
}

static void it_is_level_triggered_and_quiet_when_nothing_advances(void **state)
{
    int fd, other;

    (void)state;
    ok(ferry_adapter_event_fd(adapter, &fd));
    ok(ferry_adapter_event_fd(adapter, &other));
    assert_int_not_equal(fd, other);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    struct work work = make_work();
    bring_in(fd, &work);
    uint64_t fence;
    ok(ferry_queue_fill(work.queue, work.allocation, 0, BYTES, 1, 4));
    ok(ferry_queue_submit(work.queue, &fence));
    wait_for_job(fd, work.queue, fence);
    // All is over; one more job, which nobody waits for and nobody reads of, is told until it is read of.
    while (take(fd))
        ;
    assert_false(readable(fd, 20));
    ok(ferry_queue_fill(work.queue, work.allocation, 0, BYTES, 2, 4));
    ok(ferry_queue_submit(work.queue, &fence));
    assert_true(readable(fd, LOST_MS));
    assert_true(readable(fd, 0));
    assert_true(readable(other, 0));
    assert_true(take(other));
    assert_false(readable(fd, 0));
    assert_false(take(fd));
    // Questions are no events.
    uint64_t reached;
    struct ferry_statistics statistics = {.size = sizeof statistics};
    for (int i = 0; i < 10; i++) {
        ok(ferry_queue_reached(work.queue, &reached));
        ok(ferry_device_paging_reached(work.device, &reached));
        ok(ferry_adapter_statistics(adapter, &statistics));
    }
    assert_false(readable(fd, 20));
    // One descriptor less is nothing to the other.
    close(fd);
    ok(ferry_queue_fill(work.queue, work.allocation, 0, BYTES, 3, 4));
    ok(ferry_queue_submit(work.queue, &fence));
    wait_for_job(other, work.queue, fence);
    close(other);
}

static void work_queued_before_the_descriptor_goes_on(void **state)
{
    struct work work = make_work();
    struct ferry_residency residency = {.size = sizeof residency, .allocations = &work.allocation, .count = 1};
    uint64_t reached, fence;
    int fd;

    (void)state;
    write_content(work.allocation, BYTES, 1);
    assert_int_equal(ferry_make_resident(work.device, &residency), FERRY_PENDING);
    ok(ferry_queue_fill(work.queue, work.allocation, 0, BYTES, 7, 4));
    ok(ferry_queue_submit(work.queue, &fence));
    ok(ferry_queue_reached(work.queue, &reached));
    assert_true(reached < fence);
    ok(ferry_adapter_event_fd(adapter, &fd));
    wait_for_job(fd, work.queue, fence);
    ok(ferry_device_paging_reached(work.device, &reached));
    assert_true(reached >= residency.paging_fence_value);
    close(fd);
}

// ---- Several loops ----------------------------------------------------------------------------------------------

struct loop {
    pthread_t thread;
    struct work work;
    unsigned number, jobs;
    uint64_t random;
    const char *failure; // Assertions belong to the main thread.
};

static bool good(struct loop *loop, const char *what, bool right)
{
    if (!right && !loop->failure)
        loop->failure = what;
    return !loop->failure;
}

// Keeps some jobs under way, and is told of their ends by edges, which nobody reads away.
static void *follow(void *context)
{
    struct loop *loop = context;
    struct work *work = &loop->work;
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    uint64_t reached = 0, newest = 0;
    int fd = -1, epoll = epoll_create1(0);

    if (!good(loop, "event fd", ferry_adapter_event_fd(adapter, &fd) == FERRY_OK) ||
        !good(loop, "epoll", epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0))
        return NULL;
    for (unsigned submitted = 0; !loop->failure && (submitted < loop->jobs || reached < newest);) {
        good(loop, "reached", ferry_queue_reached(work->queue, &reached) == FERRY_OK);
        if (submitted < loop->jobs && (reached >= newest || draw_below(&loop->random, 3))) {
            uint32_t bytes = 4 + (uint32_t)draw_below(&loop->random, BYTES - 4);

            good(loop, "fill", ferry_queue_fill(work->queue, work->allocation, 0, bytes, submitted, 1) == FERRY_OK);
            good(loop, "submit", ferry_queue_submit(work->queue, &newest) == FERRY_OK);
            submitted++;
        } else if (reached < newest) {
            int count = epoll_wait(epoll, &event, 1, LOST_MS);

            good(loop, "a wake-up was lost", count == 1 || (count < 0 && errno == EINTR));
        }
        if (draw_below(&loop->random, 4) == 0)
            pause_for(draw_below(&loop->random, 200000));
    }
    good(loop, "wait", ferry_queue_wait(work->queue, newest) == FERRY_OK);
    close(epoll);
    close(fd);
    return NULL;
}

static void loops_of_several_threads_miss_no_job(void **state)
{
    struct loop loops[LOOPS];

    (void)state;
    for (unsigned i = 0; i < LOOPS; i++) {
        loops[i] =
            (struct loop){.work = make_work(), .number = i, .jobs = jobs_of_a_loop(), .random = seed * LOOPS + i + 1};
        must_be_resident(loops[i].work.device, &loops[i].work.allocation, 1);
    }
    for (unsigned i = 0; i < LOOPS; i++)
        assert_int_equal(pthread_create(&loops[i].thread, NULL, follow, &loops[i]), 0);
    for (unsigned i = 0; i < LOOPS; i++)
        pthread_join(loops[i].thread, NULL);
    for (unsigned i = 0; i < LOOPS; i++)
        if (loops[i].failure)
            fail_msg("loop %u: %s", i, loops[i].failure);
}

// Residency, evictions and jobs of one loop, in less video memory than they need, one allocation after the other.
static void a_loop_that_pages_misses_no_fence(void **state)
{
    enum { ALLOCATIONS = 6 };
    struct ferry_allocation *list[ALLOCATIONS];
    struct ferry_device *device;
    struct ferry_queue *queue;
    uint64_t random = seed * 77 + 5;
    int fd;
    unsigned pending = 0;

    (void)state;
    end(NULL);
    adapter = open_adapter(4 * 65536);
    ok(ferry_adapter_event_fd(adapter, &fd));
    ok(ferry_device_create(adapter, &device));
    ok(ferry_queue_create(device, &queue));
    for (unsigned i = 0; i < ALLOCATIONS; i++) {
        list[i] = make(device, BYTES, FERRY_FLAG_CPU_VISIBLE);
        write_content(list[i], BYTES, i);
    }
    // Operations of which a newer one is over first are rare.
    for (unsigned n = 0; n < 8 * jobs_of_a_loop(); n++) {
        struct ferry_allocation *pair[2] = {list[draw_below(&random, ALLOCATIONS)],
                                            list[draw_below(&random, ALLOCATIONS)]};
        struct ferry_residency residency = {.size = sizeof residency, .allocations = pair, .count = 2};
        uint64_t fence;
        int result = ferry_make_resident(device, &residency);

        assert_true(result == FERRY_OK || result == FERRY_PENDING);
        if (result == FERRY_PENDING && draw_below(&random, 2)) {
            wait_for_paging(fd, device, residency.paging_fence_value);
            pending++;
        }
        ok(ferry_queue_fill(queue, pair[0], 16, 8, n, 4));
        ok(ferry_queue_submit(queue, &fence));
        if (draw_below(&random, 4))
            wait_for_job(fd, queue, fence);
        evict(device, pair, 2);
    }
    assert_true(pending > jobs_of_a_loop() / 2);
    for (unsigned i = 0; i < ALLOCATIONS; i++) {
        uint8_t *bytes;

        ok(ferry_lock(list[i], FERRY_LOCK_READ_ONLY, (void **)&bytes));
        for (unsigned at = 24; at < BYTES; at++)
            assert_int_equal(bytes[at], content(i, at));
        ok(ferry_unlock(list[i]));
    }
    close(fd);
}

// The signals that a thread does not take, as the kernel has them; 0 when it is no more.
static uint64_t blocked_by(const char *task)
{
    char path[300], line[200];
    unsigned long long blocked = 0;

    snprintf(path, sizeof path, strcmp(task, "self") == 0 ? "/proc/thread-%s/status" : "/proc/self/task/%s/status",
             task);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "SigBlk: %llx", &blocked);
    if (file)
        fclose(file);
    return blocked;
}

#define MOST_THREADS 64

static unsigned list_threads(char names[MOST_THREADS][16])
{
    DIR *tasks = opendir("/proc/self/task");
    unsigned count = 0;

    assert_non_null(tasks);
    for (struct dirent *task; (task = readdir(tasks)) && count < MOST_THREADS;)
        if (task->d_name[0] != '.')
            snprintf(names[count++], 16, "%.15s", task->d_name);
    closedir(tasks);
    return count;
}

// Whatever a program waits for in one of its threads, the library's does not take it away.
static void the_thread_takes_no_signals_of_the_programs(void **state)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD, SIGIO, SIGPIPE};
    char before[MOST_THREADS][16], after[MOST_THREADS][16];
    unsigned count = list_threads(before), made = 0;
    uint64_t signals = 0;
    int fd;

    (void)state;
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        signals |= UINT64_C(1) << (numbers[i] - 1);
    assert_true((blocked_by("self") & signals) == 0);
    ok(ferry_adapter_event_fd(adapter, &fd));
    // While a thread begins, the C library keeps all signals from it: it has to have done something.
    struct work work = make_work();
    bring_in(fd, &work);
    for (unsigned i = list_threads(after); i > 0; i--) {
        bool old = false;
        // One of another test's may still be on its way out.
        for (unsigned k = 0; k < count && !old; k++)
            old = strcmp(before[k], after[i - 1]) == 0;
        if (old)
            continue;
        made++;
        assert_true((blocked_by(after[i - 1]) & signals) == signals);
    }
    assert_int_equal(made, 1);
    close(fd);
}

static void bad_arguments_get_their_names(void **state)
{
    struct work work = make_work();
    uint64_t value;
    int fd = 3;

    (void)state;
    assert_int_equal(ferry_adapter_event_fd(adapter, NULL), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_adapter_event_fd(NULL, &fd), FERRY_ERROR_HANDLE);
    assert_int_equal(fd, -1);
    assert_int_equal(ferry_queue_reached(work.queue, NULL), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_queue_reached(NULL, &value), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_device_paging_reached(work.device, NULL), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_device_paging_reached((struct ferry_device *)work.queue, &value), FERRY_ERROR_HANDLE);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        POLL(paging_and_jobs_go_on_while_the_program_polls),
        POLL(it_is_level_triggered_and_quiet_when_nothing_advances),
        POLL(work_queued_before_the_descriptor_goes_on),
        POLL(loops_of_several_threads_miss_no_job),
        POLL(a_loop_that_pages_misses_no_fence),
        POLL(the_thread_takes_no_signals_of_the_programs),
        POLL(bad_arguments_get_their_names),
    };

    read_options(argc, argv);
    say_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
