// SPDX-License-Identifier: Apache-2.0
// What a user-mode driver does with residency (R226 to R236), its own code on the whole manager, above either miniport:
// the D3D12 way, which trims nothing and undoes its batches, and the loop of the earlier ones down to its last attempt.
// system_residency and system_calls ask the same through all of the library, on the real one.
#include "../unit/umd/adapter_alone.h"
#include "umd/residency.h"
#include "world.h"

#define BATCH D3DDDI_MAKERESIDENT_MAX_ALLOCATIONS

enum { SIZE = 20, ALL = 64 }; // pages; three fit

static struct world *world;
static struct umd_device device;

// Addresses are another's business.
void umd_own_address_try_again(struct umd_allocation *allocation)
{
    (void)allocation;
}

static void begin(void)
{
    adapter_begin();
    world = world_open_default();
    adapter.vidmm = world->manager;
    device = (struct umd_device){.adapter = &adapter, .vidmm = world->device, .paging_queue = world->queue};
    device.handle = umd_handle_make(UMD_DEVICE, &device, &adapter);
}

static struct umd_allocation *make(uint64_t pages)
{
    struct umd_allocation *made = calloc(1, sizeof(*made));
    made->device = &device;
    made->vidmm = world_create(world, PAGES(pages), CPU);
    made->bytes = PAGES(pages);
    made->handle = umd_handle_make(UMD_ALLOCATION, made, &adapter);
    made->next = device.allocations;
    device.allocations = made;
    return made;
}

static void finish(void)
{
    for (struct umd_allocation *next, *a = device.allocations; a; a = next) {
        next = a->next;
        umd_handle_end(a->handle);
        free(a);
    }
    umd_handle_end(device.handle);
    free(device.named.allocations);
    free(device.named.handles);
    world_close(world);
}

static int call(int (*what)(struct ferry_device *device, struct ferry_residency *arguments),
                struct ferry_residency *arguments, const struct umd_allocation *allocation)
{
    struct ferry_allocation *named = allocation->handle;
    bool must_succeed = arguments->must_succeed;
    *arguments = (struct ferry_residency){
        .size = sizeof(*arguments), .allocations = &named, .count = 1, .must_succeed = must_succeed};
    int result = what(device.handle, arguments);
    arguments->allocations = NULL;
    return result;
}

static void list(const struct umd_allocation *allocation)
{
    struct ferry_residency arguments = {0};
    assert_true(call(ferry_make_resident, &arguments, allocation) >= 0);
}

// Library and manager count alike.
static void expect_count(const struct umd_allocation *allocation, uint32_t count)
{
    assert_int_equal(world_place(world, allocation->vidmm).residency_count, count);
    assert_int_equal(allocation->count, count);
}

static void R231_R232_R233_R234_a_failing_call_changes_nothing_and_trims_nothing(void **state)
{
    (void)state;
    begin();
    struct umd_allocation *a[5];
    struct ferry_vidmm_placement before[5];
    for (uint32_t i = 0; i < 5; i++) {
        a[i] = make(SIZE);
        world_write(world, a[i]->vidmm, i);
    }
    for (unsigned i = 0; i < 3; i++)
        list(a[i]);
    struct ferry_residency arguments = {0};
    assert_int_equal(call(ferry_evict, &arguments, a[2]), FERRY_OK); // it lies there as nobody's
    world_wait(world, world_gpu_fill(world, a[0]->vidmm, 0, 4, world_word(0, 0)));
    for (unsigned i = 0; i < 5; i++)
        before[i] = world_place(world, a[i]->vidmm);
    size_t entries = spy.count;
    struct ferry_allocation *named[3] = {a[0]->handle, a[3]->handle, a[4]->handle};
    arguments =
        (struct ferry_residency){.size = sizeof(arguments), .allocations = named, .count = 3, .paging_fence_value = 77};
    assert_int_equal(ferry_make_resident(device.handle, &arguments), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(arguments.bytes_to_trim, PAGES(4 * SIZE - ALL));
    assert_int_equal(arguments.paging_fence_value, 0);
    assert_int_equal(spy.count, entries); // nothing was asked of the miniport
    for (unsigned i = 0; i < 5; i++) {
        struct ferry_vidmm_placement now = world_place(world, a[i]->vidmm);
        assert_int_equal(now.segment, before[i].segment);
        assert_int_equal(now.offset, before[i].offset);
        assert_int_equal(now.dirty, before[i].dirty);
        expect_count(a[i], i < 2);
    }
    for (uint32_t i = 0; i < 5; i++)
        world_check(world, a[i]->vidmm, i);
    finish();
}

static void R235_R236_batches_are_undone_and_the_error_is_the_managers(void **state)
{
    (void)state;
    begin();
    struct umd_allocation *small[2] = {make(1), make(1)}, *huge = make(ALL + 1), *locked = make(1);
    struct ferry_allocation **named = calloc(2 * BATCH + 1, sizeof(struct ferry_allocation *));
    struct ferry_residency arguments = {.size = sizeof(arguments), .allocations = named, .count = 2 * BATCH + 1};
    void *address;
    list(small[0]);
    for (size_t i = 0; i < arguments.count; i++)
        named[i] = small[i % 2]->handle;
    assert_true(ferry_make_resident(device.handle, &arguments) >= 0);
    expect_count(small[0], BATCH + 2);
    expect_count(small[1], BATCH);
    assert_int_equal(ferry_evict(device.handle, &arguments), FERRY_OK);
    world_write(world, small[1]->vidmm, 1); // out, so the first batch has paging to wait for
    named[2 * BATCH] = huge->handle;
    assert_int_equal(ferry_make_resident(device.handle, &arguments), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_true(arguments.bytes_to_trim > 0);
    assert_int_equal(arguments.paging_fence_value, 0);
    expect_count(small[0], 1);
    expect_count(small[1], 0);
    list(locked);
    assert_int_equal(call(ferry_evict, &(struct ferry_residency){0}, locked), FERRY_OK);
    assert_int_equal(ferry_vidmm_lock(world->manager, locked->vidmm, 0, &address), FERRY_OK);
    named[2 * BATCH] = locked->handle;
    assert_int_equal(ferry_make_resident(device.handle, &arguments), FERRY_ERROR_LOCKED);
    assert_int_equal(arguments.bytes_to_trim, 0);
    expect_count(small[0], 1);
    expect_count(small[1], 0);
    assert_int_equal(ferry_vidmm_unlock(world->manager, locked->vidmm), FERRY_OK);
    world_check(world, small[1]->vidmm, 1);
    free(named);
    finish();
}

static void R226_R227_R229_the_loop_trims_its_own_list_down_to_what_one_call_needs(void **state)
{
    (void)state;
    begin();
    struct umd_allocation *a[6], *whole = make(ALL), *more = make(ALL + 1);
    struct ferry_residency arguments = {0};
    for (uint32_t i = 0; i < 6; i++) {
        a[i] = make(SIZE);
        world_write(world, a[i]->vidmm, i);
    }
    for (unsigned i = 0; i < 3; i++)
        for (unsigned n = 0; n <= i; n++)
            list(a[i]);
    assert_int_equal(call(ferry_make_resident, &arguments, a[3]), FERRY_ERROR_NO_VIDEO_MEMORY);
    // The one that was used least recently goes, with all that it counts.
    for (unsigned i = 3; i < 6; i++) {
        assert_true(call(ferry_make_resident_trim, &arguments, a[i]) >= 0);
        expect_count(a[i - 3], 0);
        expect_count(a[i], 1);
        if (i < 5)
            expect_count(a[i - 2], i - 1);
    }
    assert_true(call(ferry_make_resident_trim, &arguments, whole) >= 0);
    for (unsigned i = 0; i < 6; i++)
        expect_count(a[i], 0);
    expect_count(whole, 1);
    // What cannot be had is given up when nothing else is left; the device is well.
    assert_int_equal(call(ferry_make_resident_trim, &arguments, more), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(arguments.bytes_to_trim, PAGES(1));
    expect_count(whole, 0);
    expect_count(more, 0);
    list(a[0]);
    world_wait(world, world_gpu_fill(world, a[0]->vidmm, 0, 4, world_word(0, 0)));
    for (uint32_t i = 0; i < 6; i++)
        world_check(world, a[i]->vidmm, i);
    finish();
}

static void R227_R228_R229_R230_a_last_attempt_that_must_succeed_puts_the_device_in_error(void **state)
{
    (void)state;
    begin();
    struct umd_allocation *a = make(SIZE), *more = make(ALL + 1);
    struct ferry_residency arguments = {.must_succeed = true};
    struct machine_job job = {0};
    D3DKMT_HANDLE second, other;
    D3DKMT_DEVICEEXECUTION_STATE said;
    uint64_t fence;
    assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, FERRY_VIDMM_ANY_NODE, &second, NULL),
                     FERRY_OK);
    list(a);
    uint64_t before = world_gpu_fill(world, a->vidmm, 0, 64, 5);
    assert_int_equal(call(ferry_make_resident_trim, &arguments, more), FERRY_ERROR_NO_VIDEO_MEMORY);
    expect_count(a, 0);
    expect_count(more, 0);
    assert_int_equal(ferry_vidmm_device_state(world->manager, world->device, &said), FERRY_OK);
    assert_int_equal(said, D3DKMT_DEVICEEXECUTION_ERROR_OUTOFMEMORY);
    // What was submitted before ends; nothing more is taken, on any context.
    assert_int_equal(ferry_vidmm_wait(world->manager, world->context, before), FERRY_OK);
    machine_job_fill(&job, 0, 0, 64, 1);
    struct ferry_vidmm_reference reference = {a->vidmm, true};
    struct ferry_vidmm_submission submission = machine_job_buffer(&job, &reference, 1);
    assert_int_equal(ferry_vidmm_submit(world->manager, world->context, &submission, 1, &fence),
                     FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(ferry_vidmm_submit(world->manager, second, &submission, 1, &fence), FERRY_ERROR_DEVICE_LOST);
    arguments.must_succeed = false;
    assert_int_equal(call(ferry_make_resident, &arguments, a), FERRY_ERROR_DEVICE_LOST);
    // Another one goes on.
    assert_int_equal(ferry_vidmm_create_device(world->manager, &other), FERRY_OK);
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R231_R232_R233_R234_a_failing_call_changes_nothing_and_trims_nothing),
        cmocka_unit_test(R235_R236_batches_are_undone_and_the_error_is_the_managers),
        cmocka_unit_test(R226_R227_R229_the_loop_trims_its_own_list_down_to_what_one_call_needs),
        cmocka_unit_test(R227_R228_R229_R230_a_last_attempt_that_must_succeed_puts_the_device_in_error),
    };
    return WORLD_RUN(tests);
}
