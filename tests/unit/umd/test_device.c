// SPDX-License-Identifier: Apache-2.0
// Devices of an adapter, with the test in the manager's place: what becomes of one whose end fails, or that could not
// be made.
#include "adapter_alone.h"
#include "umd/allocation.h"
#include "umd/device.h"
#include "umd/queue.h"

static int queue_outcome, end_outcome; // Of the manager's calls.
static int second;                     // Of another call's end of the same device meanwhile.
static unsigned destroyed;
static D3DKMT_HANDLE program; // The one that a device was made of, at the manager.
static bool waits_held;       // The adapter's lock, while a wait was under way.
static struct ferry_device *device;

int ferry_vidmm_create_device(struct ferry_vidmm *manager, D3DKMT_HANDLE *handle)
{
    (void)manager;
    *handle = 5;
    return FERRY_OK;
}

int ferry_vidmm_create_device_of(struct ferry_vidmm *manager, D3DKMT_HANDLE process, D3DKMT_HANDLE *handle)
{
    program = process;
    return ferry_vidmm_create_device(manager, handle);
}

int ferry_vidmm_create_paging_queue(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, int priority,
                                    D3DKMT_HANDLE *queue)
{
    (void)manager;
    (void)priority;
    assert_int_equal(handle, 5);
    *queue = 6;
    return queue_outcome;
}

int ferry_vidmm_destroy_device(struct ferry_vidmm *manager, D3DKMT_HANDLE handle)
{
    (void)manager;
    assert_int_equal(handle, 5);
    if (++destroyed == 1 && device)
        second = ferry_device_destroy(device);
    return end_outcome;
}

int ferry_vidmm_wait_paging(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, uint64_t value)
{
    (void)manager;
    assert_int_equal(handle, 6);
    assert_int_equal(value, 55);
    waits_held = pthread_mutex_trylock(&adapter.lock) != 0;
    if (!waits_held)
        pthread_mutex_unlock(&adapter.lock);
    return FERRY_ERROR_DEVICE_LOST;
}

int ferry_vidmm_paging_fence(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, uint64_t *value)
{
    (void)manager;
    assert_int_equal(handle, 6);
    *value = 77;
    return FERRY_OK;
}

void umd_queue_end(struct umd_queue *queue)
{
    (void)queue;
}

void umd_allocation_end(struct umd_allocation *allocation)
{
    (void)allocation;
}

static int setup(void **state)
{
    (void)state;
    adapter_begin();
    pthread_cond_init(&adapter.device_ended, NULL);
    adapter.handle = umd_handle_make(UMD_ADAPTER, &adapter, &adapter);
    queue_outcome = end_outcome = second = FERRY_OK;
    destroyed = 0;
    device = NULL;
    return 0;
}

// The other call that comes meanwhile is told that it is gone; that was the first one's doing, and it is not.
static void a_device_whose_end_fails_is_there_as_before(void **state)
{
    uint64_t value = 0;

    (void)state;
    assert_int_equal(ferry_device_create(adapter.handle, &device), FERRY_OK);
    end_outcome = FERRY_ERROR_TIMEOUT;
    assert_int_equal(ferry_device_destroy(device), FERRY_ERROR_TIMEOUT);
    assert_int_equal(second, FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_device_paging_reached(device, &value), FERRY_OK);
    assert_int_equal(value, 77);
    end_outcome = FERRY_OK;
    assert_int_equal(ferry_device_destroy(device), FERRY_OK);
    assert_int_equal(destroyed, 2);
    assert_null(adapter.devices);
    assert_int_equal(ferry_device_destroy(device), FERRY_ERROR_HANDLE);
    umd_handle_end(adapter.handle);
}

static void a_device_without_a_paging_queue_is_none(void **state)
{
    (void)state;
    queue_outcome = FERRY_ERROR_NO_HOST_MEMORY;
    assert_int_equal(ferry_device_create(adapter.handle, &device), FERRY_ERROR_NO_HOST_MEMORY);
    assert_null(device);
    assert_int_equal(destroyed, 1);
    assert_null(adapter.devices);
    umd_handle_end(adapter.handle);
}

static void who_waits_for_paging_lets_others_in(void **state)
{
    (void)state;
    assert_int_equal(ferry_device_create(adapter.handle, &device), FERRY_OK);
    assert_int_equal(ferry_device_wait_paging(device, 55), FERRY_ERROR_DEVICE_LOST);
    assert_false(waits_held);
    assert_int_equal(ferry_device_destroy(device), FERRY_OK);
    umd_handle_end(adapter.handle);
}

// A program whose end has begun has no new one: whoever ends it would wait for that too.
static void a_program_that_ends_gets_no_device(void **state)
{
    struct umd_process process = {.adapter = &adapter, .vidmm = 8, .ending = true};
    struct ferry_device *made = (struct ferry_device *)&destroyed;

    (void)state;
    process.handle = umd_handle_make(UMD_PROCESS, &process, &adapter);
    assert_int_equal(ferry_process_create_device(process.handle, &made), FERRY_ERROR_HANDLE);
    assert_null(made);
    assert_null(adapter.devices);
    process.ending = false;
    assert_int_equal(ferry_process_create_device(process.handle, &device), FERRY_OK);
    assert_int_equal(program, 8);
    assert_int_equal(ferry_device_destroy(device), FERRY_OK);
    umd_handle_end(process.handle);
    // Nor has one that is gone, and what is given for it is none.
    made = (struct ferry_device *)&destroyed;
    assert_int_equal(ferry_process_create_device(process.handle, &made), FERRY_ERROR_HANDLE);
    assert_null(made);
    umd_handle_end(adapter.handle);
    made = (struct ferry_device *)&destroyed;
    assert_int_equal(ferry_device_create(adapter.handle, &made), FERRY_ERROR_HANDLE);
    assert_null(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_device_whose_end_fails_is_there_as_before, setup),
        cmocka_unit_test_setup(a_device_without_a_paging_queue_is_none, setup),
        cmocka_unit_test_setup(who_waits_for_paging_lets_others_in, setup),
        cmocka_unit_test_setup(a_program_that_ends_gets_no_device, setup),
    };

    return cmocka_run_group_tests_name("umd_device", tests, NULL, NULL);
}
