// SPDX-License-Identifier: Apache-2.0
// Whose the GPU's time is when programs take turns. On the memcpy machine alone: its jobs take the time of their bytes,
// those of the real miniport also what paging beside them takes, so that equal times are not equal jobs there.
#include <pthread.h>
#include <stdio.h>

#include "crowd.h"

#define JOBS       800
#define OF_THE_HOG 4

static atomic_bool enough;

// Until it has done its number of jobs, or the first program has.
static void *run(void *context)
{
    struct runner *runner = context;
    struct machine_job job;
    uint64_t fence = 0;
    for (unsigned i = 0; !enough && i < runner->jobs; i++) {
        memset(&job, 0, sizeof(job));
        machine_job_fill(&job, 0, 0, (uint32_t)PAGES(PIECE), i);
        struct ferry_vidmm_reference reference = {runner->allocations[i % OWNED], true};
        struct ferry_vidmm_submission submission = {job.commands, job.bytes,      &reference, 1,
                                                    job.patches,  job.patch_count};
        atomic_fetch_add(&runner->crowd->calling, 1);
        runner->wrong +=
            ferry_vidmm_submit(runner->world->manager, runner->program.context, &submission, 1, &fence) < 0;
        atomic_fetch_sub(&runner->crowd->calling, 1);
    }
    atomic_fetch_add(&runner->crowd->calling, 1);
    if (ferry_vidmm_wait(runner->world->manager, runner->program.context, fence) != FERRY_OK)
        runner->wrong++;
    atomic_fetch_sub(&runner->crowd->working, 1);
    atomic_fetch_sub(&runner->crowd->calling, 1);
    return NULL;
}

// How much of the GPU a program has beside one with so many devices, of the same weight: per mille of what both have.
static uint64_t share_beside(unsigned devices)
{
    struct world_options options = world_defaults();
    options.manager.turn_cycles = 40000;
    struct world *world = world_open(&options);
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
    struct runner runners[1 + OF_THE_HOG] = {0};
    pthread_t threads[1 + OF_THE_HOG];
    struct crowd crowd = {1 + devices, 0};
    // Long jobs: everybody who waits lets a moment pass, and a program alone could not keep its line full of short
    // ones.
    world->knobs->delay = 16;
    spy.keep = false;
    struct program hog = program_begin(world, 1, 0);
    for (unsigned k = 0; k < 1 + devices; k++) {
        runners[k].world = world;
        runners[k].crowd = &crowd;
        runners[k].program = k == 0 ? program_begin(world, 1, 0) : hog;
        runners[k].jobs = k == 0 ? JOBS : UINT32_MAX;
        if (k > 1) {
            struct program *p = &runners[k].program;
            assert_int_equal(ferry_vidmm_create_device_of(world->manager, hog.process, &p->device), FERRY_OK);
            assert_int_equal(ferry_vidmm_create_paging_queue(world->manager, p->device, 0, &p->queue), FERRY_OK);
            assert_int_equal(
                ferry_vidmm_create_context(world->manager, p->device, FERRY_VIDMM_ANY_NODE, &p->context, NULL),
                FERRY_OK);
        }
        program_become(world, &runners[k].program);
        for (unsigned i = 0; i < OWNED; i++) {
            runners[k].allocations[i] = world_create(world, PAGES(PIECE), CPU);
            assert_true(list_it(world, &runners[k].program, runners[k].allocations[i], true) >= 0);
        }
    }
    world->knobs->before_turn_context = &crowd;
    world->knobs->before_turn = wait_for_all;
    enough = false;
    for (unsigned k = 0; k < 1 + devices; k++)
        assert_int_equal(pthread_create(&threads[k], NULL, run, &runners[k]), 0);
    assert_int_equal(pthread_join(threads[0], NULL), 0);
    uint64_t used[2];
    for (unsigned k = 0; k < 2; k++) {
        struct ferry_vidmm_process_statistics statistics;
        assert_int_equal(ferry_vidmm_process_statistics(world->manager, runners[k].program.process, &statistics),
                         FERRY_OK);
        used[k] = statistics.jobs;
    }
    enough = true;
    for (unsigned k = 1; k < 1 + devices; k++)
        assert_int_equal(pthread_join(threads[k], NULL), 0);
    world->knobs->before_turn = NULL;
    for (unsigned k = 0; k < 1 + devices; k++)
        assert_int_equal(runners[k].wrong, 0);
    world_close(world);
    return 1000 * used[0] / (used[0] + used[1]);
}

static void more_devices_are_no_more_of_the_gpu(void **state)
{
    (void)state;
    unsigned one = (unsigned)share_beside(1), many = (unsigned)share_beside(OF_THE_HOG);
    printf("of a thousand jobs: beside one device %u, beside %u %u\n", one, OF_THE_HOG, many);
    // Half is fair; a fifth is what a device of five has.
    assert_true(one >= 400 && many >= 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_devices_are_no_more_of_the_gpu),
    };
    return WORLD_RUN(tests);
}
