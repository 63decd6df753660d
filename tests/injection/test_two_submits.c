// SPDX-License-Identifier: Apache-2.0
// Two threads submit jobs of one queue, and both fail for want of memory: what stays is in the order in which it was
// recorded, whichever of them comes back first.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ferry/ferry.h"
#include "umd/handles.h"
#include "vidmm/api/manager.h"

#define PAGES(n) ((uint64_t)(n)*FERRY_PAGE_BYTES)
#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        int result_ = (call);                                                                                          \
        if (result_ < 0) {                                                                                             \
            printf("%s: %d\n", #call, result_);                                                                        \
            return 2;                                                                                                  \
        }                                                                                                              \
    } while (0)

static struct ferry_queue *queue;
static atomic_int inside, back; // calls of submit that wait, and that have come back
static bool fails;

int __real_ferry_vidmm_submit(struct ferry_vidmm *manager, D3DKMT_HANDLE context,
                              const struct ferry_vidmm_submission *buffers, uint32_t count, uint64_t *fence);
int __wrap_ferry_vidmm_submit(struct ferry_vidmm *manager, D3DKMT_HANDLE context,
                              const struct ferry_vidmm_submission *buffers, uint32_t count, uint64_t *fence);
int __wrap_ferry_vidmm_submit(struct ferry_vidmm *manager, D3DKMT_HANDLE context,
                              const struct ferry_vidmm_submission *buffers, uint32_t count, uint64_t *fence)
{
    if (!fails)
        return __real_ferry_vidmm_submit(manager, context, buffers, count, fence);
    int number = atomic_fetch_add(&inside, 1);
    const struct timespec moment = {.tv_nsec = 100000};
    // The first one comes back when the second one waits too, and the second one behind it.
    while (number == 0 ? atomic_load(&inside) < 2 : atomic_load(&back) < 1)
        nanosleep(&moment, NULL);
    return FERRY_ERROR_NO_HOST_MEMORY;
}

static void *submit(void *result)
{
    uint64_t fence;
    *(int *)result = ferry_queue_submit(queue, &fence);
    atomic_fetch_add(&back, 1);
    return NULL;
}

int main(void)
{
    struct ferry_adapter_options options = {.size = sizeof(options), .video_memory_bytes = PAGES(16)};
    struct ferry_adapter *adapter;
    struct ferry_device *device;
    struct ferry_allocation *allocation;
    struct ferry_allocation_options wanted = {
        .size = sizeof(wanted), .bytes = PAGES(1), .flags = FERRY_FLAG_CPU_VISIBLE};
    MUST(ferry_adapter_open(&options, &adapter));
    MUST(ferry_device_create(adapter, &device));
    MUST(ferry_queue_create(device, &queue));
    MUST(ferry_allocation_create(device, &wanted, &allocation));
    struct ferry_residency residency = {.size = sizeof(residency), .allocations = &allocation, .count = 1};
    MUST(ferry_make_resident(device, &residency));
    MUST(ferry_device_wait_paging(device, residency.paging_fence_value));
    // First ones, then twos.
    pthread_t threads[2];
    int results[2];
    fails = true;
    for (int i = 0; i < 2; i++) {
        MUST(ferry_queue_fill(queue, allocation, 0, (uint32_t)PAGES(1), (uint64_t)0x11 * (unsigned)(i + 1), 1));
        pthread_create(&threads[i], NULL, submit, &results[i]);
        while (atomic_load(&inside) < i + 1)
            ;
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    fails = false;
    printf("both failed: %d %d\n", results[0], results[1]);
    uint64_t fence;
    MUST(ferry_queue_submit(queue, &fence));
    MUST(ferry_queue_wait(queue, fence));
    void *address;
    MUST(ferry_lock(allocation, FERRY_LOCK_READ_ONLY, &address));
    printf("submitted again: the content is %02x, recorded last was 22\n", *(const uint8_t *)address);
    bool right = *(const uint8_t *)address == 0x22 && results[0] < 0 && results[1] < 0;
    printf("[  %s ] two_submissions_that_fail_stay_in_order\n", right ? "     OK" : "FAILED ");
    MUST(ferry_unlock(allocation));
    ferry_adapter_close(adapter);
    return right ? 0 : 1;
}
