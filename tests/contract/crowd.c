// SPDX-License-Identifier: Apache-2.0
#include "crowd.h"

#include <stdio.h>
#include <time.h>

#include "vidmm/api/manager.h"

static void wait_for_all(void *context)
{
    struct crowd *crowd = context;
    struct ferry_vidmm *manager = crowd->world->manager;
    const struct timespec moment = {.tv_nsec = 20000};
    for (bool all = false; !all;) {
        all = atomic_load(&manager->tickets) - atomic_load(&manager->serving) >= atomic_load(&crowd->working);
        if (!all)
            nanosleep(&moment, NULL);
    }
}

void crowd_begins(struct crowd *crowd, unsigned count, struct runner *runners, pthread_t *threads, void *(*run)(void *))
{
    crowd->working = count;
    crowd->enough = false;
    crowd->world->knobs->before_turn_context = crowd;
    crowd->world->knobs->before_turn = wait_for_all;
    for (unsigned k = count; k-- > 0;)
        assert_int_equal(pthread_create(&threads[k], NULL, run, &runners[k]), 0);
}

void runner_lists(struct runner *runner)
{
    struct world *world = runner->crowd->world;
    program_become(world, &runner->program);
    for (unsigned i = 0; i < OWNED; i++) {
        runner->allocations[i] = world_create(world, PAGES(PIECE), CPU);
        assert_true(list_it(world, &runner->program, runner->allocations[i], true) >= 0);
    }
}

void runner_fills(struct runner *runner, unsigned which, uint64_t offset, uint32_t bytes, uint32_t pattern,
                  uint64_t *fence)
{
    struct machine_job job = {0};
    machine_job_fill(&job, 0, offset, bytes, pattern);
    struct ferry_vidmm_reference reference = {runner->allocations[which], true};
    struct ferry_vidmm_submission submission = {job.commands, job.bytes, &reference, 1, job.patches, job.patch_count};
    runner->wrong +=
        ferry_vidmm_submit(runner->crowd->world->manager, runner->program.context, &submission, 1, fence) != FERRY_OK;
}

void runner_waits(struct runner *runner, uint64_t fence)
{
    runner->wrong += ferry_vidmm_wait(runner->crowd->world->manager, runner->program.context, fence) != FERRY_OK;
}

void runner_ends(struct runner *runner)
{
    runner->finished = now(runner->crowd->world);
    atomic_fetch_sub(&runner->crowd->working, 1);
}

uint64_t now(struct world *world)
{
    struct ferry_vidmm_platform platform = machine_platform(world->machine);
    return platform.gpu_time(platform.context);
}

struct ferry_vidmm_process_statistics statistics_of(struct world *world, D3DKMT_HANDLE process)
{
    struct ferry_vidmm_process_statistics statistics;
    assert_int_equal(ferry_vidmm_process_statistics(world->manager, process, &statistics), FERRY_OK);
    return statistics;
}

// ---- A program beside one of the same weight that always wants more -----------------------------------------------

// Long jobs: everybody who waits lets a moment pass, and a program alone could not keep its line full of short ones. So
// many, or until it is enough; all that it gets in line, or a few at a time.
static void *fill(void *context)
{
    struct runner *runner = context;
    uint64_t fences[8] = {0};
    for (unsigned i = 0; runner->jobs ? i < runner->jobs : !runner->crowd->enough; i++) {
        uint64_t *fence = &fences[i % 8];
        if (runner->waits && i >= 8)
            runner_waits(runner, *fence);
        runner_fills(runner, i % OWNED, 0, (uint32_t)PAGES(PIECE), i, fence);
    }
    runner_ends(runner);
    return NULL;
}

// Jobs of nothing, one always in line: so the program is never idle.
static void *trickle(void *context)
{
    struct runner *runner = context;
    struct world *world = runner->crowd->world;
    struct machine_job job = {0};
    uint64_t fence = 0, before = 0;
    machine_job_nothing(&job);
    struct ferry_vidmm_submission submission = {job.commands, job.bytes, NULL, 0, NULL, 0};
    while (!runner->crowd->enough) {
        runner->wrong += ferry_vidmm_submit(world->manager, runner->program.context, &submission, 1, &fence) < 0;
        if (before)
            runner_waits(runner, before);
        before = fence;
    }
    runner_ends(runner);
    return NULL;
}

static void *fill_or_trickle(void *context)
{
    const struct runner *runner = context;
    return runner->allocations[0] ? fill(context) : trickle(context);
}

static struct program another_device(struct world *world, struct program of)
{
    struct program program = {.process = of.process};
    assert_int_equal(ferry_vidmm_create_device_of(world->manager, of.process, &program.device), FERRY_OK);
    assert_int_equal(ferry_vidmm_create_paging_queue(world->manager, program.device, 0, &program.queue), FERRY_OK);
    assert_int_equal(
        ferry_vidmm_create_context(world->manager, program.device, FERRY_VIDMM_ANY_NODE, &program.context, NULL),
        FERRY_OK);
    return program;
}

struct shares shares_beside(struct beside it)
{
    struct world_options options = world_defaults();
    options.manager.turn_cycles = 40000;
    struct world *world = world_open(&options);
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
    struct crowd crowd = {.world = world};
    struct runner runners[2 + OF_THE_HOG] = {0};
    pthread_t threads[2 + OF_THE_HOG];
    unsigned count = 1 + it.devices + it.trickles;
    world->knobs->delay = 16;
    spy.keep = false;
    struct program hog = program_begin(world, 1, 0);
    for (unsigned k = 0; k < count; k++) {
        runners[k].crowd = &crowd;
        runners[k].jobs = k == 0 ? it.jobs : 0;
        runners[k].waits = k == 0 && it.waits;
        runners[k].program = k == 0 ? program_begin(world, 1, 0) : k == 1 ? hog : another_device(world, hog);
        if (k <= it.devices)
            runner_lists(&runners[k]);
    }
    uint64_t fence;
    for (unsigned i = 0; i < it.earlier; i++) {
        runner_fills(&runners[0], i % OWNED, 0, (uint32_t)PAGES(PIECE), i, &fence);
        runner_waits(&runners[0], fence);
    }
    uint64_t before = statistics_of(world, runners[0].program.process).gpu_cycles, begin = now(world);
    crowd_begins(&crowd, count, runners, threads, fill_or_trickle);
    assert_int_equal(pthread_join(threads[0], NULL), 0);
    struct shares shares = {{statistics_of(world, runners[0].program.process).gpu_cycles - before,
                             statistics_of(world, hog.process).gpu_cycles},
                            runners[0].finished - begin};
    crowd.enough = true;
    for (unsigned k = 1; k < count; k++)
        assert_int_equal(pthread_join(threads[k], NULL), 0);
    world->knobs->before_turn = NULL;
    for (unsigned k = 0; k < count; k++)
        assert_int_equal(runners[k].wrong, 0);
    world_close(world);
    printf(
        "beside %u devices%s, after %u jobs: %u jobs take %llu cycles, %llu of them the program's, %llu the other's\n",
        it.devices, it.trickles ? " and a trickle" : "", it.earlier, it.jobs, (unsigned long long)shares.cycles,
        (unsigned long long)shares.used[0], (unsigned long long)shares.used[1]);
    return shares;
}
