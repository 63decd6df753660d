// SPDX-License-Identifier: Apache-2.0
// While one thread destroys an allocation, and waits for what works on it, another one's list is made resident: by
// trimming, when what is being destroyed is no longer there to be trimmed, which is no fault of that call; or in
// batches of which one fails, when what those before it have counted is taken back all the same.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "ferry/ferry.h"
#include "wrapped_block.h"

#define PAGES(n) ((uint64_t)(n)*FERRY_PAGE_BYTES)
#define MUST(call, expected)                                                                                           \
    do {                                                                                                               \
        int result_ = (call);                                                                                          \
        if (result_ != (expected)) {                                                                                   \
            printf("%s: %d\n", #call, result_);                                                                        \
            return false;                                                                                              \
        }                                                                                                              \
    } while (0)

static pthread_t destroyer;
static atomic_bool destroying, parked, hides, waits, goes_on;

static void let_pass(void)
{
    const struct timespec moment = {.tv_nsec = 100000};
    nanosleep(&moment, NULL);
}

static void wait_until(const atomic_bool *flag)
{
    while (!*flag)
        let_pass();
}

// The thread that destroys waits before its first turn, out of the manager's lock as between two turns.
int __wrap_ferry_vm_block(struct ferry_vidmm *manager, unsigned node, uint64_t number,
                          struct ferry_vm_patience *patience)
{
    if (destroying && pthread_equal(pthread_self(), destroyer) && !goes_on) {
        ferry_vm_give_lock(manager);
        waits = true;
        wait_until(&goes_on);
        ferry_vm_take_lock(manager);
    }
    return __real_ferry_vm_block(manager, node, number, patience);
}

static struct ferry_allocation *gone;
static pthread_t thread;
static int end;

static void *destroy(void *unused)
{
    (void)unused;
    destroyer = pthread_self();
    destroying = true;
    end = ferry_allocation_destroy(gone);
    return NULL;
}

// Up to where it has let go of the library's lock, and no further than that.
static void begin_to_destroy(void)
{
    parked = hides = waits = goes_on = false;
    pthread_create(&thread, NULL, destroy, NULL);
    wait_until(&parked);
}

// And from there to where it waits for the GPU.
static void go_on_destroying(void)
{
    hides = true;
    wait_until(&waits);
}

int __real_ferry_vidmm_destroy_allocation(struct ferry_vidmm *manager, D3DKMT_HANDLE handle);
int __wrap_ferry_vidmm_destroy_allocation(struct ferry_vidmm *manager, D3DKMT_HANDLE handle);
int __wrap_ferry_vidmm_destroy_allocation(struct ferry_vidmm *manager, D3DKMT_HANDLE handle)
{
    parked = true;
    wait_until(&hides);
    return __real_ferry_vidmm_destroy_allocation(manager, handle);
}

static void come_to_an_end(void)
{
    goes_on = true;
    pthread_join(thread, NULL);
    destroying = false;
}

// Between the first batch and the second.
static unsigned before_batch; // 0 = none
int __real_ferry_vidmm_make_resident(struct ferry_vidmm *manager, D3DDDI_MAKERESIDENT *arguments);
int __wrap_ferry_vidmm_make_resident(struct ferry_vidmm *manager, D3DDDI_MAKERESIDENT *arguments);
int __wrap_ferry_vidmm_make_resident(struct ferry_vidmm *manager, D3DDDI_MAKERESIDENT *arguments)
{
    if (before_batch != 0 && --before_batch == 0)
        go_on_destroying();
    return __real_ferry_vidmm_make_resident(manager, arguments);
}

static int make(struct ferry_device *device, uint64_t pages, struct ferry_allocation **allocation)
{
    struct ferry_allocation_options options = {.size = sizeof(options), .bytes = PAGES(pages)};
    return ferry_allocation_create(device, &options, allocation);
}

static int residency(struct ferry_device *device, struct ferry_allocation *allocation)
{
    struct ferry_residency list = {.size = sizeof(list), .allocations = &allocation, .count = 1};
    int result = ferry_make_resident_trim(device, &list);
    return result == FERRY_PENDING ? ferry_device_wait_paging(device, list.paging_fence_value) : result;
}

// What works on it has not run.
static int fill(struct ferry_queue *queue, struct ferry_allocation *allocation)
{
    uint64_t number;
    int error = ferry_queue_fill(queue, allocation, 0, (uint32_t)PAGES(4), 7, 8);
    return error == FERRY_OK ? ferry_queue_submit(queue, &number) : error;
}

static int residency_count(struct ferry_allocation *allocation)
{
    struct ferry_placement placement = {.size = sizeof(placement)};
    int error = ferry_allocation_placement(allocation, &placement);
    return error == FERRY_OK ? (int)placement.residency_count : error;
}

static bool what_is_being_destroyed_is_not_trimmed(struct ferry_device *device, struct ferry_queue *queue)
{
    struct ferry_allocation *old, *fresh;
    MUST(make(device, 4, &gone), FERRY_OK);
    MUST(make(device, 8, &old), FERRY_OK);
    MUST(make(device, 8, &fresh), FERRY_OK);
    MUST(residency(device, gone), FERRY_OK);
    MUST(residency(device, old), FERRY_OK);
    // The least recently used of the list is the one that goes.
    MUST(fill(queue, gone), FERRY_OK);
    MUST(fill(queue, old), FERRY_OK);
    begin_to_destroy();
    go_on_destroying();
    int beside = residency(device, fresh);
    come_to_an_end();
    MUST(beside, FERRY_OK);
    MUST(end, FERRY_OK);
    MUST(residency_count(old), 0);
    MUST(residency_count(fresh), 1);
    return true;
}

#define BATCH 10240u // as long as MakeResident takes a list

static bool what_a_batch_has_counted_is_taken_back(struct ferry_device *device, struct ferry_queue *queue)
{
    static struct ferry_allocation *names[BATCH + 1];
    struct ferry_allocation *kept, *large;
    MUST(make(device, 4, &gone), FERRY_OK);
    MUST(make(device, 1, &kept), FERRY_OK);
    MUST(make(device, 17, &large), FERRY_OK);
    MUST(residency(device, gone), FERRY_OK);
    MUST(fill(queue, gone), FERRY_OK);
    names[0] = gone;
    for (unsigned i = 1; i < BATCH; i++)
        names[i] = kept;
    names[BATCH] = large;
    begin_to_destroy();
    before_batch = 2;
    struct ferry_residency list = {.size = sizeof(list), .allocations = names, .count = BATCH + 1};
    int result = ferry_make_resident(device, &list);
    come_to_an_end();
    MUST(result, FERRY_ERROR_NO_VIDEO_MEMORY);
    MUST(end, FERRY_OK);
    MUST(residency_count(kept), 0);
    return true;
}

static uint64_t fence;

static void *submit(void *queue)
{
    end = ferry_queue_submit(queue, &fence);
    return NULL;
}

int __real_ferry_vidmm_submit(struct ferry_vidmm *manager, D3DKMT_HANDLE context,
                              const struct ferry_vidmm_submission *buffers, uint32_t count, uint64_t *number);
int __wrap_ferry_vidmm_submit(struct ferry_vidmm *manager, D3DKMT_HANDLE context,
                              const struct ferry_vidmm_submission *buffers, uint32_t count, uint64_t *number);
int __wrap_ferry_vidmm_submit(struct ferry_vidmm *manager, D3DKMT_HANDLE context,
                              const struct ferry_vidmm_submission *buffers, uint32_t count, uint64_t *number)
{
    if (before_batch != 0) {
        parked = true;
        wait_until(&hides);
    }
    int result = __real_ferry_vidmm_submit(manager, context, buffers, count, number);
    waits = true;
    return result;
}

// A job finds what it names on the list between the two, and runs: what it has written is there.
static bool what_is_written_between_two_batches_is_kept(struct ferry_device *device, struct ferry_queue *queue)
{
    static struct ferry_allocation *names[BATCH + 1];
    struct ferry_allocation_options options = {
        .size = sizeof(options), .bytes = PAGES(4), .flags = FERRY_FLAG_CPU_VISIBLE | FERRY_FLAG_PERMANENT_SYSMEM};
    struct ferry_allocation *written, *large;
    MUST(ferry_allocation_create(device, &options, &written), FERRY_OK);
    MUST(make(device, 17, &large), FERRY_OK);
    MUST(ferry_queue_fill(queue, written, 0, (uint32_t)PAGES(4), 7, 8), FERRY_OK);
    for (unsigned i = 0; i < BATCH; i++)
        names[i] = written;
    names[BATCH] = large;
    parked = hides = waits = false;
    before_batch = 2;
    pthread_create(&thread, NULL, submit, queue);
    wait_until(&parked);
    struct ferry_residency list = {.size = sizeof(list), .allocations = names, .count = BATCH + 1};
    int result = ferry_make_resident(device, &list);
    pthread_join(thread, NULL);
    MUST(result, FERRY_ERROR_NO_VIDEO_MEMORY);
    MUST(end, FERRY_OK);
    MUST(ferry_queue_wait(queue, fence), FERRY_OK);
    void *address;
    MUST(ferry_lock(written, FERRY_LOCK_READ_ONLY, &address), FERRY_OK);
    uint64_t word = *(const uint64_t *)address;
    MUST(ferry_unlock(written), FERRY_OK);
    MUST((int)word, 7);
    return true;
}

static bool run(const char *name, bool (*test)(struct ferry_device *, struct ferry_queue *))
{
    struct ferry_adapter_options options = {.size = sizeof(options), .video_memory_bytes = PAGES(16)};
    struct ferry_adapter *adapter;
    struct ferry_device *device;
    struct ferry_queue *queue;
    bool good = ferry_adapter_open(&options, &adapter) == FERRY_OK &&
                ferry_device_create(adapter, &device) == FERRY_OK && ferry_queue_create(device, &queue) == FERRY_OK &&
                test(device, queue);
    ferry_adapter_close(adapter);
    printf("[  %s ] %s\n", good ? "     OK" : "FAILED ", name);
    return good;
}

int main(void)
{
    bool good = run("what_is_being_destroyed_is_not_trimmed", what_is_being_destroyed_is_not_trimmed);
    good &= run("what_is_written_between_two_batches_is_kept", what_is_written_between_two_batches_is_kept);
    good &= run("what_a_batch_has_counted_is_taken_back", what_a_batch_has_counted_is_taken_back);
    return good ? 0 : 1;
}
