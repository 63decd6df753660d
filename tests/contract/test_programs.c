// SPDX-License-Identifier: Apache-2.0
// Several programs on one manager: what is whose, what one does to the others, and what each has used.
#include "programs.h"

static void a_handle_of_another_program_is_foreign_and_changes_nothing(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program mine = program_begin(world, 1, 0), theirs = program_begin(world, 1, 0);
    program_become(world, &theirs);
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU);
    world_write(world, a, 1);
    program_become(world, &mine);
    D3DKMT_HANDLE own = world_create(world, PAGES(2), CPU), list[] = {own, a};
    assert_int_equal(world_resident(world, list, 2), FERRY_ERROR_FOREIGN);
    assert_int_equal(world_place(world, own).residency_count, 0);
    world_require(world, own);
    D3DDDICB_EVICT evict = {.NumAllocations = 2, .AllocationList = list};
    assert_int_equal(ferry_vidmm_evict(world->manager, mine.device, &evict), FERRY_ERROR_FOREIGN);
    assert_int_equal(world_place(world, own).residency_count, 1);
    program_become(world, &theirs);
    world_require(world, a);
    struct machine_job job = {0};
    machine_job_fill(&job, 0, 0, 64, 9);
    struct ferry_vidmm_reference reference = {a, true};
    struct ferry_vidmm_submission submission = machine_job_buffer(&job, &reference, 1);
    uint64_t fence;
    assert_int_equal(ferry_vidmm_submit(world->manager, mine.context, &submission, 1, &fence), FERRY_ERROR_FOREIGN);
    world_check_gpu(world, a, 1);
    assert_int_equal(info_of(world, mine.process).usage, PAGES(2));
    assert_int_equal(info_of(world, theirs.process).usage, PAGES(2));
    world_close(world);
}

static void a_program_killed_with_jobs_in_flight_gives_its_memory_back_and_nobody_notices(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program killed = program_begin(world, 1, 0), other = program_begin(world, 1, 0);
    program_become(world, &killed);
    D3DKMT_HANDLE a = world_create(world, PAGES(30), CPU);
    world_require(world, a);
    program_become(world, &other);
    D3DKMT_HANDLE b = world_create(world, PAGES(20), CPU), big = world_create(world, PAGES(64), CPU);
    world_write(world, b, 7);
    world_require(world, b);
    world->knobs->delay = 6;
    uint64_t fence = 0, busy = 0;
    for (unsigned i = 0; i < 5; i++) {
        program_become(world, &killed);
        busy = world_gpu_fill(world, a, 0, (uint32_t)PAGES(30), i);
        program_become(world, &other);
        fence = world_gpu_fill(world, b, PAGES(1), 64, 40 + i);
    }
    (void)busy;
    assert_int_equal(ferry_vidmm_destroy_process(world->manager, killed.process), FERRY_OK);
    assert_int_equal(ferry_vidmm_destroy_process(world->manager, killed.process), FERRY_ERROR_HANDLE);
    struct ferry_vidmm_memory_info info;
    assert_int_equal(ferry_vidmm_memory_info(world->manager, killed.process, 0, &info), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_vidmm_wait(world->manager, killed.context, 1), FERRY_ERROR_HANDLE);
    // The other goes on, with all there is.
    program_become(world, &other);
    world_wait(world, fence);
    assert_int_equal(world_place(world, b).segment, machine_local_segment);
    assert_int_equal(world_statistics(world).allocations, 2);
    assert_int_equal(world_statistics(world).faulted_jobs, 0);
    assert_int_equal(info_of(world, other.process).budget, PAGES(64));
    assert_int_equal(world_statistics(world).resident_bytes, PAGES(20));
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, b, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
    const uint32_t *words = address;
    for (uint64_t i = 0; i < PAGES(20) / 4; i++)
        assert_int_equal(words[i], i >= 1024 && i < 1040 ? 44 : world_word(7, i));
    assert_int_equal(ferry_vidmm_unlock(world->manager, b), FERRY_OK);
    assert_int_equal(world_evict(world, b), FERRY_OK);
    world_require(world, big);
    world_close(world);
}

static struct ferry_vidmm_process_statistics used_by(struct world *world, D3DKMT_HANDLE process)
{
    struct ferry_vidmm_process_statistics statistics;
    assert_int_equal(ferry_vidmm_process_statistics(world->manager, process, &statistics), FERRY_OK);
    return statistics;
}

static void what_each_program_has_used_adds_up_to_what_was_used(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct ferry_vidmm_statistics before = world_statistics(world);
    struct program programs[2] = {program_begin(world, 1, 0), program_begin(world, 3, 0)};
    D3DKMT_HANDLE allocations[2][4];
    struct ferry_vidmm_process_statistics used[2];
    uint64_t fence = 0;
    for (unsigned k = 0; k < 2; k++) {
        program_become(world, &programs[k]);
        for (unsigned i = 0; i < 4; i++)
            allocations[k][i] = world_create(world, PAGES(k ? 12 : 8), CPU);
    }
    world->knobs->delay = 2;
    for (unsigned i = 0; i < 24; i++) {
        unsigned k = i % 3 == 0;
        program_become(world, &programs[k]);
        D3DKMT_HANDLE allocation = allocations[k][i / 3 % 4];
        if (i == 11)
            world_write(world, allocation, 5);
        world_require(world, allocation);
        fence = world_gpu_fill(world, allocation, 0, 4096, i);
        world_wait(world, fence);
        assert_int_equal(world_evict(world, allocation), FERRY_OK);
    }
    for (unsigned k = 0; k < 2; k++)
        used[k] = used_by(world, programs[k].process);
    struct ferry_vidmm_statistics after = world_statistics(world);
    assert_int_equal(used[0].jobs, 16);
    assert_int_equal(used[1].jobs, 8);
    assert_int_equal(used[0].jobs + used[1].jobs, after.jobs - before.jobs);
    assert_int_equal(used[0].bytes_in + used[1].bytes_in, after.bytes_in - before.bytes_in);
    assert_int_equal(used[0].bytes_out + used[1].bytes_out, after.bytes_out - before.bytes_out);
    assert_int_equal(used[0].bytes_filled + used[1].bytes_filled, after.bytes_filled - before.bytes_filled);
    assert_int_equal(used[0].bytes_discarded + used[1].bytes_discarded, after.bytes_discarded - before.bytes_discarded);
    assert_int_equal(used[0].bytes_moved + used[1].bytes_moved, after.bytes_moved - before.bytes_moved);
    assert_int_equal(used[0].evictions + used[1].evictions, after.evictions - before.evictions);
    // 8 pages each fit into 16, 12 pages each into 48: only the first has to leave, by its own budget.
    assert_true(used[0].evictions > 0 && used[0].bytes_out > 0);
    assert_int_equal(used[1].bytes_filled, PAGES(4 * 12));
    struct ferry_vidmm_platform platform = machine_platform(world->machine);
    uint64_t now = platform.gpu_time(platform.context);
    assert_true(used[0].gpu_cycles > 0 && used[1].gpu_cycles > 0);
    assert_true(used[0].gpu_cycles + used[1].gpu_cycles <= now);
    assert_true(used[0].last_job > used[1].last_job && used[0].last_job <= now);
    assert_int_equal(ferry_vidmm_process_statistics(world->manager, programs[0].process, NULL), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_process_statistics(NULL, programs[0].process, used), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_process_statistics(world->manager, programs[0].device, used), FERRY_ERROR_HANDLE);
    assert_int_equal(used_by(world, 0).jobs, 0);
    world_close(world);
}

// Three jobs on three nodes at once: each cycle is counted for one of them.
static void jobs_that_overlap_share_the_time(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program programs[3];
    D3DKMT_HANDLE allocations[3];
    uint64_t fences[3], sum = 0;
    struct ferry_vidmm_platform platform = machine_platform(world->machine);
    for (unsigned k = 0; k < 3; k++) {
        programs[k] = program_begin(world, 1, 0);
        program_become(world, &programs[k]);
        allocations[k] = world_create(world, PAGES(4), CPU);
        world_require(world, allocations[k]);
        world_wait(world, world_gpu_fill(world, allocations[k], 0, 64, 0));
    }
    uint64_t begin = platform.gpu_time(platform.context);
    world->knobs->delay = 6;
    for (unsigned k = 0; k < 3; k++)
        sum -= used_by(world, programs[k].process).gpu_cycles;
    for (unsigned k = 0; k < 3; k++) {
        program_become(world, &programs[k]);
        fences[k] = world_gpu_fill(world, allocations[k], 0, (uint32_t)PAGES(4), k);
    }
    for (unsigned k = 0; k < 3; k++) {
        program_become(world, &programs[k]);
        world_wait(world, fences[k]);
    }
    for (unsigned k = 0; k < 3; k++)
        sum += used_by(world, programs[k].process).gpu_cycles;
    assert_true(sum > 0 && sum <= platform.gpu_time(platform.context) - begin);
    world_close(world);
}

static void bad_arguments_of_programs(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    struct ferry_vidmm *m = world->manager;
    struct ferry_vidmm_process_options options = {.size = sizeof(options)};
    struct ferry_vidmm_memory_info info;
    D3DKMT_HANDLE process, device;
    assert_int_equal(ferry_vidmm_create_process(NULL, NULL, &process), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_create_process(m, NULL, NULL), FERRY_ERROR_ARGUMENT);
    options.size--;
    assert_int_equal(ferry_vidmm_create_process(m, &options, &process), FERRY_ERROR_ARGUMENT);
    options = (struct ferry_vidmm_process_options){.size = sizeof(options), .weight = FERRY_VIDMM_MAX_WEIGHT + 1};
    assert_int_equal(ferry_vidmm_create_process(m, &options, &process), FERRY_ERROR_ARGUMENT);
    options = (struct ferry_vidmm_process_options){.size = sizeof(options), .reservation = 100};
    assert_int_equal(ferry_vidmm_create_process(m, &options, &process), FERRY_ERROR_ARGUMENT);
    options.reservation = PAGES(33);
    assert_int_equal(ferry_vidmm_create_process(m, &options, &process), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(info_of(world, 0).budget, PAGES(64));
    options.reservation = PAGES(32);
    assert_int_equal(ferry_vidmm_create_process(m, &options, &process), FERRY_OK);
    assert_int_equal(ferry_vidmm_set_weight(m, process, 0), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_set_weight(m, process, FERRY_VIDMM_MAX_WEIGHT + 1), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_set_weight(m, world->device, 2), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_vidmm_set_reservation(m, process, PAGES(33)), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(ferry_vidmm_set_reservation(m, process, 1), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_set_reservation(m, 12345, 0), FERRY_ERROR_HANDLE);
    assert_int_equal(info_of(world, process).reservation, PAGES(32));
    assert_int_equal(ferry_vidmm_memory_info(m, process, 2, &info), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_memory_info(m, process, 0, NULL), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_memory_info(m, world->queue, 0, &info), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_vidmm_create_device_of(m, 0, &device), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_vidmm_create_device_of(m, process, NULL), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_destroy_process(m, world->device), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_vidmm_memory_info(m, process, 1, &info), FERRY_OK);
    assert_int_equal(info.budget, PAGES(31)); // one page of the aperture is the manager's own
    assert_int_equal(info.available_for_reservation, 0);
    world_close(world);
}

// A shared allocation belongs to the program that made it: its devices lock it, nobody else's do.
static void R108_only_the_program_that_made_it_locks_a_shared_allocation(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program mine = program_begin(world, 1, 0), theirs = program_begin(world, 1, 0);
    D3DKMT_HANDLE second, handles[2];
    assert_int_equal(ferry_vidmm_create_device_of(world->manager, mine.process, &second), FERRY_OK);
    program_become(world, &mine);
    for (unsigned shared = 0; shared < 2; shared++) {
        struct ferry_allocation_private wanted = world_private(PAGES(2), CPU);
        struct ferry_vidmm_allocation_options options = {.shared = shared};
        assert_int_equal(world_try_create(world, &wanted, &options, &handles[shared], NULL), FERRY_OK);
        world_write(world, handles[shared], 5 + shared);
    }
    void *address = NULL;
    for (unsigned shared = 0; shared < 2; shared++) {
        struct ferry_vidmm_placement before = world_place(world, handles[shared]);
        assert_int_equal(ferry_vidmm_lock_from(world->manager, theirs.device, handles[shared], 0, &address),
                         FERRY_ERROR_FOREIGN);
        assert_null(address);
        struct ferry_vidmm_placement after = world_place(world, handles[shared]);
        assert_int_equal(after.segment, before.segment);
        assert_int_equal(after.offset, before.offset);
        assert_int_equal(after.bytes, before.bytes);
        assert_int_equal(after.flags, before.flags);
        assert_int_equal(after.residency_count, before.residency_count);
        assert_int_equal(after.dirty, before.dirty);
        assert_int_equal(after.locked, before.locked);
        assert_int_equal(after.has_backing, before.has_backing);
        assert_int_equal(after.lost, before.lost);
        assert_int_equal(after.instances, before.instances);
        assert_int_equal(ferry_vidmm_unlock(world->manager, handles[shared]), FERRY_ERROR_NOT_LOCKED);
        assert_int_equal(ferry_vidmm_lock_from(world->manager, second, handles[shared], 0, &address),
                         shared ? FERRY_OK : FERRY_ERROR_FOREIGN);
        if (shared)
            assert_int_equal(ferry_vidmm_unlock(world->manager, handles[shared]), FERRY_OK);
        assert_int_equal(ferry_vidmm_lock_from(world->manager, mine.device, handles[shared], 0, &address), FERRY_OK);
        assert_int_equal(ferry_vidmm_unlock(world->manager, handles[shared]), FERRY_OK);
        address = NULL;
        world_check(world, handles[shared], 5 + shared);
    }
    assert_int_equal(ferry_vidmm_lock_from(world->manager, mine.queue, handles[1], 0, &address), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_vidmm_lock_from(world->manager, 0, handles[1], 0, &address), FERRY_ERROR_HANDLE);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R108_only_the_program_that_made_it_locks_a_shared_allocation),
        cmocka_unit_test(a_handle_of_another_program_is_foreign_and_changes_nothing),
        cmocka_unit_test(a_program_killed_with_jobs_in_flight_gives_its_memory_back_and_nobody_notices),
        cmocka_unit_test(what_each_program_has_used_adds_up_to_what_was_used),
        cmocka_unit_test(jobs_that_overlap_share_the_time),
        cmocka_unit_test(bad_arguments_of_programs),
    };
    return WORLD_RUN(tests);
}
