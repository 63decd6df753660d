// SPDX-License-Identifier: Apache-2.0
// A program that never waits inside the library: it asks for residency, submits, and goes on when poll() says that
// something has advanced. `make test` builds it against an installed copy, shared and static, and runs it.
//
//   cc poll_loop.c $(pkg-config --cflags --libs ferry) -o poll_loop && ./poll_loop [sim|model]
#include <errno.h>
#include <ferry/ferry.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        int error = (call);                                                                                            \
        if (error < 0) {                                                                                               \
            fprintf(stderr, "%s: %s\n", #call, ferry_error_text(error));                                               \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

// Until something may have advanced. What was told is taken back before anyone looks: what comes later wakes again.
static int next_event(int fd)
{
    struct pollfd descriptor = {.fd = fd, .events = POLLIN};
    uint64_t times;

    while (poll(&descriptor, 1, -1) < 0)
        if (errno != EINTR)
            return FERRY_ERROR_BACKEND;
    // Another reader may have been faster; then there is nothing to take back.
    return read(fd, &times, sizeof times) < 0 && errno != EAGAIN ? FERRY_ERROR_BACKEND : FERRY_OK;
}

int main(int count, char **arguments)
{
    struct ferry_adapter_options options = {.size = sizeof options, .backend = count > 1 ? arguments[1] : "sim"};
    struct ferry_allocation_options buffer = {.size = sizeof buffer, .bytes = 100000, .flags = FERRY_FLAG_CPU_VISIBLE};
    struct ferry_adapter *adapter;
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_allocation *pair[2];
    struct ferry_residency residency = {.size = sizeof residency, .allocations = pair, .count = 2};
    uint64_t fence, reached = 0;
    unsigned events = 0;
    void *address;
    int fd;

    CHECK(ferry_adapter_open(&options, &adapter));
    CHECK(ferry_adapter_event_fd(adapter, &fd));
    CHECK(ferry_device_create(adapter, &device));
    CHECK(ferry_queue_create(device, &queue));
    for (int i = 0; i < 2; i++)
        CHECK(ferry_allocation_create(device, &buffer, &pair[i]));
    CHECK(ferry_lock(pair[0], FERRY_LOCK_WRITE_ONLY, &address));
    strcpy(address, "ferried without waiting");
    CHECK(ferry_unlock(pair[0]));

    int pending = ferry_make_resident(device, &residency);
    CHECK(pending);
    while (pending == FERRY_PENDING && reached < residency.paging_fence_value) {
        CHECK(next_event(fd));
        CHECK(ferry_device_paging_reached(device, &reached));
        events++;
    }
    CHECK(ferry_queue_copy(queue, pair[1], 77, pair[0], 0, 64));
    CHECK(ferry_queue_submit(queue, &fence));
    for (reached = 0; reached < fence;) {
        CHECK(next_event(fd));
        CHECK(ferry_queue_reached(queue, &reached));
        events++;
    }
    CHECK(ferry_queue_wait(queue, fence)); // It is over, so this only says whether it faulted.

    CHECK(ferry_lock(pair[1], FERRY_LOCK_READ_ONLY, &address));
    printf("%s (%s, ferry %s)\n", (char *)address + 77, events ? "told by poll" : "nothing was told", ferry_version());
    ferry_adapter_close(adapter);
    close(fd);
    return 0;
}
