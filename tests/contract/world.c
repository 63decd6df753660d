// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

#include "addresses.h"

static int begin_case(void **state)
{
    (void)state;
    addresses_begin_case();
    return 0;
}

int world_run(const struct CMUnitTest *tests, size_t count)
{
    addresses_say(NULL); // for what is left out, and for cases without a machine
    struct CMUnitTest *run = calloc(count + 1, sizeof(*run));
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const char *reason = machine_leaves_out(tests[i].name);
        reason = reason ? reason : addresses_leave_out(tests[i].name);
        if (reason)
            printf("left out: %s: %s\n", tests[i].name, reason);
        else
            run[kept++] = (struct CMUnitTest){tests[i].name, tests[i].test_func, begin_case, NULL, NULL};
    }
    int failed = _cmocka_run_group_tests("tests", run, kept, NULL, NULL);
    free(run);
    return failed;
}

void world_leaves_out(const char *miniport, const char *test, const char *reason)
{
    if (strcmp(miniport, machine_miniport) == 0)
        printf("left out: %s: %s\n", test, reason);
}

struct world_options world_defaults(void)
{
    return (struct world_options){
        .machine = {.local_bytes = PAGES(64), .aperture_bytes = PAGES(64), .coherent_aperture = true, .seed = 7}};
}

struct world *world_open(const struct world_options *options)
{
    struct world *world = calloc(1, sizeof(*world));
    world->machine = machine_open(&options->machine);
    world->knobs = machine_knobs(world->machine);
    struct ferry_vidmm_options manager = options->manager;
    manager.size = sizeof(manager);
    manager.miniport = spy_start(ferry_test_miniport());
    world->knobs->interrupt_routine = manager.miniport->DxgkDdiInterruptRoutine;
    world->knobs->on_pages = spy_pages;
    manager.miniport_device_context = machine_adapter(world->machine);
    manager.platform = machine_platform(world->machine);
    assert_int_equal(ferry_vidmm_start(&manager, &world->manager), FERRY_OK);
    assert_int_equal(ferry_vidmm_create_device(world->manager, &world->device), FERRY_OK);
    assert_int_equal(ferry_vidmm_create_paging_queue(world->manager, world->device, 0, &world->queue), FERRY_OK);
    assert_int_equal(
        ferry_vidmm_create_context(world->manager, world->device, FERRY_VIDMM_ANY_NODE, &world->context, NULL),
        FERRY_OK);
    spy.keep = true;
    return world;
}

struct world *world_open_default(void)
{
    struct world_options options = world_defaults();
    return world_open(&options);
}

void world_close(struct world *world)
{
    struct ferry_vidmm_critical record;
    bool critical = ferry_vidmm_critical(world->manager, &record);
    ferry_vidmm_stop(world->manager);
    const char *text;
    if (!critical) {
        if (machine_errors(world->machine, &text) != 0)
            fail_msg("the machine saw: %s", text);
        if (spy.errors != 0)
            fail_msg("the spy saw: %s", spy.first_error);
    }
    assert_int_equal(machine_pages_out(world->machine), 0);
    machine_close(world->machine);
    spy_end();
    free(world);
}

struct ferry_allocation_private world_private(uint64_t bytes, UINT flags)
{
    return (struct ferry_allocation_private){.Version = FERRY_ALLOCATION_PRIVATE_VERSION,
                                             .Size = sizeof(struct ferry_allocation_private),
                                             .Bytes = bytes,
                                             .Flags = flags};
}

int world_try_create(struct world *world, const struct ferry_allocation_private *wanted,
                     const struct ferry_vidmm_allocation_options *options, D3DKMT_HANDLE *handle, unsigned *rule)
{
    struct ferry_allocation_private copy = *wanted;
    struct ferry_vidmm_allocation_options full = {0};
    if (options)
        full = *options;
    full.size = sizeof(full);
    full.private_data = &copy;
    full.private_data_bytes = sizeof(copy);
    return ferry_vidmm_create_allocation(world->manager, world->device, &full, handle, rule);
}

int world_try_flags(struct world *world, UINT flags, unsigned *rule)
{
    struct ferry_allocation_private wanted = world_private(PAGES(2), flags);
    D3DKMT_HANDLE handle = 0;
    int result = world_try_create(world, &wanted, NULL, &handle, rule);
    assert_int_equal(handle == 0, result != FERRY_OK);
    return result;
}

D3DKMT_HANDLE world_create_filled(struct world *world, uint64_t bytes, UINT flags, uint32_t pattern)
{
    struct ferry_allocation_private wanted = world_private(bytes, flags);
    struct ferry_vidmm_allocation_options options = {.fill_pattern = pattern};
    D3DKMT_HANDLE handle = 0;
    assert_int_equal(world_try_create(world, &wanted, &options, &handle, NULL), FERRY_OK);
    return handle;
}

D3DKMT_HANDLE world_create(struct world *world, uint64_t bytes, UINT flags)
{
    return world_create_filled(world, bytes, flags, 0);
}

D3DKMT_HANDLE world_create_in_aperture(struct world *world, uint64_t bytes, UINT flags)
{
    struct ferry_allocation_private wanted = world_private(bytes, flags);
    wanted.Aperture = 1;
    D3DKMT_HANDLE handle = 0;
    assert_int_equal(world_try_create(world, &wanted, NULL, &handle, NULL), FERRY_OK);
    return handle;
}

int world_resident(struct world *world, const D3DKMT_HANDLE *list, UINT count)
{
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = world->queue, .NumAllocations = count, .AllocationList = list};
    return ferry_vidmm_make_resident(world->manager, &arguments);
}

void world_require(struct world *world, D3DKMT_HANDLE allocation)
{
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = world->queue, .NumAllocations = 1, .AllocationList = &allocation};
    int result = ferry_vidmm_make_resident(world->manager, &arguments);
    if (result == FERRY_PENDING)
        result = ferry_vidmm_wait_paging(world->manager, world->queue, arguments.PagingFenceValue);
    assert_int_equal(result, FERRY_OK);
}

int world_evict(struct world *world, D3DKMT_HANDLE allocation)
{
    D3DDDICB_EVICT arguments = {.NumAllocations = 1, .AllocationList = &allocation};
    return ferry_vidmm_evict(world->manager, world->device, &arguments);
}

void world_force_out(struct world *world, D3DKMT_HANDLE allocation)
{
    struct ferry_vidmm_placement place = world_place(world, allocation);
    if (place.residency_count > 0)
        assert_int_equal(world_evict(world, allocation), FERRY_OK);
    struct ferry_vidmm_segment_info info;
    assert_int_equal(ferry_vidmm_segment(world->manager, place.segment - 1, &info), FERRY_OK);
    D3DKMT_HANDLE large = world_create(world, info.bytes, 0);
    world_require(world, large);
    assert_int_equal(world_place(world, allocation).segment, 0);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, large), FERRY_OK);
}

struct ferry_vidmm_placement world_place(struct world *world, D3DKMT_HANDLE allocation)
{
    struct ferry_vidmm_placement place;
    assert_int_equal(ferry_vidmm_placement(world->manager, allocation, &place), FERRY_OK);
    return place;
}

struct ferry_vidmm_statistics world_statistics(struct world *world)
{
    struct ferry_vidmm_statistics statistics;
    assert_int_equal(ferry_vidmm_statistics(world->manager, &statistics), FERRY_OK);
    return statistics;
}

uint32_t world_word(uint32_t seed, uint64_t index)
{
    uint32_t x = seed * 2654435761u + (uint32_t)index * 2246822519u;
    x ^= x >> 15;
    return x * 3266489917u;
}

void world_write(struct world *world, D3DKMT_HANDLE allocation, uint32_t seed)
{
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, allocation, D3DDDI_LOCK_WRITE_ONLY, &address), FERRY_OK);
    uint64_t words = world_place(world, allocation).bytes / 4;
    for (uint64_t i = 0; i < words; i++)
        ((uint32_t *)address)[i] = world_word(seed, i);
    assert_int_equal(ferry_vidmm_unlock(world->manager, allocation), FERRY_OK);
}

static void compare(const uint32_t *words, uint64_t count, uint32_t seed)
{
    for (uint64_t i = 0; i < count; i++)
        if (words[i] != world_word(seed, i))
            fail_msg("word %llu is %08x, expected %08x", (unsigned long long)i, words[i], world_word(seed, i));
}

void world_check(struct world *world, D3DKMT_HANDLE allocation, uint32_t seed)
{
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, allocation, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
    compare(address, world_place(world, allocation).bytes / 4, seed);
    assert_int_equal(ferry_vidmm_unlock(world->manager, allocation), FERRY_OK);
}

void world_check_gpu(struct world *world, D3DKMT_HANDLE allocation, uint32_t seed)
{
    struct ferry_vidmm_placement place = world_place(world, allocation);
    assert_int_not_equal(place.segment, 0);
    uint32_t *copy = malloc(place.bytes);
    machine_peek(world->machine, place.segment, place.offset, copy, place.bytes);
    compare(copy, place.bytes / 4, seed);
    free(copy);
}

uint64_t world_submit(struct world *world, D3DKMT_HANDLE context, const struct machine_job *job,
                      const struct ferry_vidmm_reference *references, uint32_t count)
{
    struct ferry_vidmm_submission submission = machine_job_buffer(job, references, count);
    uint64_t fence = 0;
    assert_int_equal(ferry_vidmm_submit(world->manager, context, &submission, 1, &fence), FERRY_OK);
    return fence;
}

uint64_t world_copy_on(struct world *world, D3DKMT_HANDLE context, D3DKMT_HANDLE to, D3DKMT_HANDLE from, uint32_t bytes)
{
    struct machine_job job = {0};
    machine_job_copy(&job, 0, 0, 1, 0, bytes);
    struct ferry_vidmm_reference references[] = {{to, true}, {from, false}};
    return world_submit(world, context, &job, references, 2);
}

uint64_t world_gpu_fill(struct world *world, D3DKMT_HANDLE allocation, uint64_t offset, uint32_t bytes,
                        uint32_t pattern)
{
    struct machine_job job = {0};
    machine_job_fill(&job, 0, offset, bytes, pattern);
    struct ferry_vidmm_reference reference = {allocation, true};
    return world_submit(world, world->context, &job, &reference, 1);
}

uint64_t world_gpu_copy(struct world *world, D3DKMT_HANDLE to, uint64_t to_offset, D3DKMT_HANDLE from,
                        uint64_t from_offset, uint32_t bytes)
{
    struct machine_job job = {0};
    machine_job_copy(&job, 0, to_offset, 1, from_offset, bytes);
    struct ferry_vidmm_reference references[2] = {{to, true}, {from, false}};
    return world_submit(world, world->context, &job, references, 2);
}

uint64_t world_gpu_put(struct world *world, D3DKMT_HANDLE allocation, uint64_t offset, uint32_t bytes, uint32_t pattern)
{
    D3DKMT_HANDLE source = world_create(world, bytes, 0); // lives as long as the device
    world_require(world, source);
    struct machine_job job = {0};
    machine_job_fill(&job, 0, 0, bytes, pattern);
    machine_job_copy(&job, 1, offset, 0, 0, bytes);
    struct ferry_vidmm_reference references[2] = {{source, true}, {allocation, true}};
    uint64_t fence = world_submit(world, world->context, &job, references, 2);
    assert_true(world_evict(world, source) >= 0);
    return fence;
}

uint64_t world_gpu_name(struct world *world, D3DKMT_HANDLE context, D3DKMT_HANDLE allocation, bool write)
{
    struct machine_job job = {0};
    machine_job_nothing(&job);
    struct ferry_vidmm_reference reference = {allocation, write};
    struct ferry_vidmm_submission submission = {
        .commands = job.commands, .bytes = job.bytes, .references = &reference, .reference_count = 1};
    uint64_t fence = 0;
    assert_int_equal(ferry_vidmm_submit(world->manager, context, &submission, 1, &fence), FERRY_OK);
    return fence;
}

void world_wait(struct world *world, uint64_t fence)
{
    assert_int_equal(ferry_vidmm_wait(world->manager, world->context, fence), FERRY_OK);
}
