// SPDX-License-Identifier: Apache-2.0
// What the tests of the event descriptor share: the adapter, poll() with a bound, work to be told of.
#ifndef FERRY_TESTS_POLL_LOOPS_H
#define FERRY_TESTS_POLL_LOOPS_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "system.h"

#define BYTES 60000u
// A lost wake-up is a poll that ends by itself. The slowest turn of the simulation takes a small part of it.
#define LOST_MS 60000

static struct ferry_adapter *adapter;

static inline int begin(void **state)
{
    (void)state;
    adapter = open_adapter(0);
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    ferry_adapter_close(adapter);
    adapter = NULL;
    return 0;
}

#define POLL(name) cmocka_unit_test_setup_teardown(name, begin, end)

static inline bool readable(int fd, int milliseconds)
{
    struct pollfd descriptor = {.fd = fd, .events = POLLIN};
    int count;

    do
        count = poll(&descriptor, 1, milliseconds);
    while (count < 0 && errno == EINTR);
    return count == 1 && descriptor.revents == POLLIN;
}

static inline bool take(int fd)
{
    uint64_t times;

    return read(fd, &times, sizeof times) == sizeof times;
}

static inline void pause_for(uint64_t nanoseconds)
{
    const struct timespec moment = {.tv_nsec = (long)nanoseconds};

    nanosleep(&moment, NULL);
}

// A device with a queue and an allocation of its own.
struct work {
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_allocation *allocation;
};

static inline struct work make_work(void)
{
    struct work work = {0};

    ok(ferry_device_create(adapter, &work.device));
    ok(ferry_queue_create(work.device, &work.queue));
    work.allocation = make(work.device, BYTES, FERRY_FLAG_CPU_VISIBLE);
    return work;
}

static inline void wait_for_paging(int fd, struct ferry_device *device, uint64_t value)
{
    for (uint64_t reached = 0; reached < value;) {
        assert_true(readable(fd, LOST_MS));
        take(fd);
        ok(ferry_device_paging_reached(device, &reached));
    }
}

static inline void wait_for_job(int fd, struct ferry_queue *queue, uint64_t fence)
{
    uint64_t reached;

    ok(ferry_queue_reached(queue, &reached));
    while (reached < fence) {
        assert_true(readable(fd, LOST_MS));
        take(fd);
        ok(ferry_queue_reached(queue, &reached));
    }
}

// MakeResident with something to bring in, through a lock that wrote it.
static inline void bring_in(int fd, struct work *work)
{
    struct ferry_residency residency = {.size = sizeof residency, .allocations = &work->allocation, .count = 1};

    write_content(work->allocation, BYTES, 3);
    assert_int_equal(ferry_make_resident(work->device, &residency), FERRY_PENDING);
    wait_for_paging(fd, work->device, residency.paging_fence_value);
}

#endif
