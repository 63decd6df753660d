// SPDX-License-Identifier: Apache-2.0
// Queues, with the test in the manager's place: what a job names, byte by byte of its limits; what becomes of a job
// that fails; and who is let in while one waits.
#include "adapter_alone.h"
#include "ferry_contract.h"
#include "umd/own_address.h"
#include "umd/queue.h"
#include "umd/recording.h"
#include "umd/residency.h"

enum { COMMANDS = 4096 };

static struct umd_device device, elsewhere;
static struct umd_allocation *allocations[3]; // Two of the device's, and another one's.
static struct ferry_queue *queue;
static int outcome, creation;
static bool held;                   // The adapter's lock, while the manager was at it.
static uint8_t submitted[COMMANDS]; // The first buffer of the newest job,
static uint32_t submitted_bytes, submitted_count;
static unsigned touched, tried; // Allocations as used last; addresses tried again.
static bool records_meanwhile;  // Another packet, while the job is being submitted.

static void look_whether_held(void)
{
    held = pthread_mutex_trylock(&adapter.lock) != 0;
    if (!held)
        pthread_mutex_unlock(&adapter.lock);
}

int ferry_vidmm_create_context(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, uint32_t node, D3DKMT_HANDLE *context,
                               DXGK_CONTEXTINFO *info)
{
    (void)manager;
    assert_int_equal(handle, 9);
    assert_int_equal(node, FERRY_VIDMM_ANY_NODE);
    *context = 6;
    *info = (DXGK_CONTEXTINFO){.DmaBufferSize = COMMANDS, .AllocationListSize = 16, .PatchLocationListSize = 32};
    return creation;
}

int ferry_vidmm_destroy_context(struct ferry_vidmm *manager, D3DKMT_HANDLE context)
{
    (void)manager;
    assert_int_equal(context, 6);
    look_whether_held();
    return outcome;
}

int ferry_vidmm_submit(struct ferry_vidmm *manager, D3DKMT_HANDLE context, const struct ferry_vidmm_submission *buffers,
                       uint32_t count, uint64_t *fence)
{
    (void)manager;
    assert_int_equal(context, 6);
    look_whether_held();
    submitted_count = count;
    submitted_bytes = buffers[0].bytes;
    memcpy(submitted, buffers[0].commands, submitted_bytes);
    if (records_meanwhile)
        assert_int_equal(ferry_queue_fill(queue, allocations[1]->handle, 0, 8, 0x55, 1), FERRY_OK);
    if (outcome == FERRY_OK)
        *fence = 77;
    return outcome;
}

int ferry_vidmm_wait(struct ferry_vidmm *manager, D3DKMT_HANDLE context, uint64_t fence)
{
    (void)manager;
    assert_int_equal(context, 6);
    assert_int_equal(fence, 78);
    look_whether_held();
    return outcome;
}

int ferry_vidmm_completed(struct ferry_vidmm *manager, D3DKMT_HANDLE context, uint64_t *fence)
{
    (void)manager;
    assert_int_equal(context, 6);
    *fence = 79;
    return FERRY_OK;
}

int ferry_vidmm_find_virtual(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, uint64_t address,
                             struct ferry_vidmm_mapping *mapping)
{
    (void)manager;
    (void)address;
    assert_int_equal(handle, 9);
    *mapping = (struct ferry_vidmm_mapping){.address = address};
    return FERRY_OK;
}

int ferry_vidmm_own_address(struct ferry_vidmm *manager, D3DKMT_HANDLE allocation, uint64_t *address)
{
    (void)manager;
    (void)allocation;
    *address = 0;
    return FERRY_OK;
}

void umd_own_address_try_again(struct umd_allocation *allocation)
{
    tried += allocation == allocations[0];
}

void umd_touch(struct umd_allocation *allocation)
{
    touched += allocation == allocations[0];
}

static int setup(void **state)
{
    (void)state;
    adapter_begin();
    device = (struct umd_device){.adapter = &adapter, .vidmm = 9};
    elsewhere = (struct umd_device){.adapter = &adapter, .vidmm = 10};
    device.handle = umd_handle_make(UMD_DEVICE, &device, &adapter);
    for (unsigned i = 0; i < 3; i++) {
        allocations[i] = calloc(1, sizeof *allocations[i]);
        allocations[i]->device = i < 2 ? &device : &elsewhere;
        allocations[i]->vidmm = 20 + i;
        allocations[i]->bytes = 1000;
        allocations[i]->handle = umd_handle_make(UMD_ALLOCATION, allocations[i], &adapter);
    }
    outcome = creation = FERRY_OK;
    records_meanwhile = false;
    touched = tried = 0;
    assert_int_equal(ferry_queue_create(device.handle, &queue), FERRY_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    while (device.queues)
        umd_queue_end(device.queues);
    umd_handle_end(device.handle);
    for (unsigned i = 0; i < 3; i++) {
        umd_handle_end(allocations[i]->handle);
        free(allocations[i]);
    }
    return 0;
}

static int copy(uint64_t to, uint64_t from, uint32_t bytes)
{
    return ferry_queue_copy(queue, allocations[0]->handle, to, allocations[1]->handle, from, bytes);
}

static void what_a_packet_names_ends_where_it_does(void **state)
{
    (void)state;
    allocations[0]->bytes = UINT64_C(1) << 34;
    assert_int_equal(copy(0, 0, 1000), FERRY_OK);
    assert_int_equal(copy(0, 1000, 0), FERRY_OK);
    assert_int_equal(copy(0, 999, 1), FERRY_OK);
    assert_int_equal(copy(0, 0, 1001), FERRY_ERROR_RANGE);
    assert_int_equal(copy(0, 999, 2), FERRY_ERROR_RANGE);
    assert_int_equal(copy(0, 1001, 0), FERRY_ERROR_RANGE);
    assert_int_equal(copy(UINT32_MAX, 0, 1000), FERRY_OK);
    assert_int_equal(copy(UINT64_C(1) << 32, 0, 1), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_queue_fill(queue, allocations[1]->handle, 1000, 0, 0, 1), FERRY_OK);
    assert_int_equal(ferry_queue_fill(queue, allocations[1]->handle, 993, 8, 0, 1), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_queue_fill(queue, allocations[2]->handle, 0, 8, 0, 1), FERRY_ERROR_FOREIGN);
    assert_int_equal(ferry_queue_fill(queue, NULL, 0, 8, 0, 1), FERRY_ERROR_HANDLE);
    for (uint32_t bytes = 0; bytes < 20; bytes++)
        assert_int_equal(ferry_queue_fill(queue, allocations[1]->handle, 0, 8, 0, bytes),
                         bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 ? FERRY_OK : FERRY_ERROR_ARGUMENT);
    // What is named is what was used last, and it is looked again whether there is an address for it now.
    assert_int_equal(tried, 4);
    assert_int_equal(touched, 4);
}

static void addresses_end_with_48_bits(void **state)
{
    const uint64_t end = UINT64_C(1) << 48;

    (void)state;
    assert_int_equal(ferry_queue_fill_va(queue, 0, 1, 0, 1), FERRY_ERROR_UNSUPPORTED);
    adapter.model = 2;
    assert_int_equal(ferry_queue_copy_va(queue, end - 8, 0, 8), FERRY_OK);
    assert_int_equal(ferry_queue_copy_va(queue, 0, end - 8, 8), FERRY_OK);
    assert_int_equal(ferry_queue_copy_va(queue, end - 8, 0, 9), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_queue_copy_va(queue, 0, end - 8, 9), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_queue_copy_va(queue, end, 0, 0), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_queue_fill_va(queue, end - 1, 1, 0x10a, 1), FERRY_OK);
    assert_int_equal(ferry_queue_fill_va(queue, end - 1, 2, 0, 1), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_queue_fill_va(queue, 0, 1, 0, 3), FERRY_ERROR_ARGUMENT);
    // No more of a pattern than its bytes.
    assert_int_equal(ferry_queue_submit(queue, NULL), FERRY_OK);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(submitted[submitted_bytes - FERRY_PACKET_FILL_SIZE + FERRY_PACKET_FILL_PATTERN + i], 0x0a);
}

static void a_job_that_fails_is_dropped_but_for_want_of_memory(void **state)
{
    uint8_t first[COMMANDS];
    uint64_t fence = 5;

    (void)state;
    assert_int_equal(copy(0, 0, 100), FERRY_OK);
    outcome = FERRY_ERROR_NO_HOST_MEMORY;
    assert_int_equal(ferry_queue_submit(queue, &fence), FERRY_ERROR_NO_HOST_MEMORY);
    assert_false(held);
    assert_int_equal(fence, 0);
    const uint32_t bytes = submitted_bytes;
    memcpy(first, submitted, bytes);
    assert_int_equal(bytes, FERRY_PACKET_COPY_SIZE);
    // As it was recorded, and no more behind it. Any other error drops it.
    outcome = FERRY_ERROR_NOT_RESIDENT;
    assert_int_equal(ferry_queue_submit(queue, &fence), FERRY_ERROR_NOT_RESIDENT);
    assert_int_equal(submitted_bytes, bytes);
    assert_memory_equal(submitted, first, bytes);
    outcome = FERRY_OK;
    assert_int_equal(ferry_queue_submit(queue, &fence), FERRY_OK);
    assert_int_equal(fence, 77);
    assert_int_equal(submitted_bytes, FERRY_PACKET_NOP_SIZE);
    assert_int_equal(submitted_count, 1);
    // One without a packet is nothing to keep.
    outcome = FERRY_ERROR_NO_HOST_MEMORY;
    assert_int_equal(ferry_queue_submit(queue, &fence), FERRY_ERROR_NO_HOST_MEMORY);
    outcome = FERRY_OK;
    assert_int_equal(copy(0, 0, 100), FERRY_OK);
    assert_int_equal(ferry_queue_submit(queue, &fence), FERRY_OK);
    assert_int_equal(submitted_bytes, FERRY_PACKET_COPY_SIZE);
}

static void what_is_recorded_meanwhile_is_another_job(void **state)
{
    uint64_t fence;

    (void)state;
    records_meanwhile = true;
    assert_int_equal(copy(0, 0, 100), FERRY_OK);
    assert_int_equal(ferry_queue_submit(queue, &fence), FERRY_OK);
    assert_int_equal(submitted_bytes, FERRY_PACKET_COPY_SIZE);
    records_meanwhile = false;
    assert_int_equal(ferry_queue_submit(queue, &fence), FERRY_OK);
    assert_int_equal(submitted_bytes, FERRY_PACKET_FILL_SIZE);
    assert_int_equal(submitted_count, 1);
    // Of one that failed for want of memory it comes behind.
    records_meanwhile = true;
    outcome = FERRY_ERROR_NO_HOST_MEMORY;
    assert_int_equal(copy(0, 0, 100), FERRY_OK);
    assert_int_equal(ferry_queue_submit(queue, &fence), FERRY_ERROR_NO_HOST_MEMORY);
    records_meanwhile = false;
    outcome = FERRY_OK;
    assert_int_equal(ferry_queue_submit(queue, &fence), FERRY_OK);
    assert_int_equal(submitted_bytes, FERRY_PACKET_COPY_SIZE);
    assert_int_equal(submitted_count, 2);
}

static void who_waits_lets_others_in_and_a_queue_that_cannot_end_stays(void **state)
{
    uint64_t fence = 0;

    (void)state;
    outcome = FERRY_ERROR_FAULT;
    assert_int_equal(ferry_queue_wait(queue, 78), FERRY_ERROR_FAULT);
    assert_false(held);
    assert_int_equal(ferry_queue_reached(queue, &fence), FERRY_OK);
    assert_int_equal(fence, 79);
    outcome = FERRY_ERROR_TIMEOUT;
    assert_int_equal(ferry_queue_destroy(queue), FERRY_ERROR_TIMEOUT);
    assert_false(held);
    assert_int_equal(ferry_queue_reached(queue, &fence), FERRY_OK);
    outcome = FERRY_ERROR_CRITICAL;
    assert_int_equal(ferry_queue_destroy(queue), FERRY_ERROR_CRITICAL);
    assert_null(device.queues);
    assert_int_equal(ferry_queue_reached(queue, &fence), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_queue_submit(queue, &fence), FERRY_ERROR_HANDLE);
}

static void a_queue_that_could_not_be_made_is_none(void **state)
{
    struct ferry_queue *other = (struct ferry_queue *)&outcome;

    (void)state;
    creation = FERRY_ERROR_DEVICE_LOST;
    assert_int_equal(ferry_queue_create(device.handle, &other), FERRY_ERROR_DEVICE_LOST);
    assert_null(other);
    assert_null(device.queues->next);
    other = (struct ferry_queue *)&outcome;
    assert_int_equal(ferry_queue_create((struct ferry_device *)queue, &other), FERRY_ERROR_HANDLE);
    assert_null(other);
    assert_int_equal(ferry_queue_create(device.handle, NULL), FERRY_ERROR_ARGUMENT);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(what_a_packet_names_ends_where_it_does),
        CASE(addresses_end_with_48_bits),
        CASE(a_job_that_fails_is_dropped_but_for_want_of_memory),
        CASE(what_is_recorded_meanwhile_is_another_job),
        CASE(who_waits_lets_others_in_and_a_queue_that_cannot_end_stays),
        CASE(a_queue_that_could_not_be_made_is_none),
    };

    return cmocka_run_group_tests_name("umd_queue", tests, NULL, NULL);
}
