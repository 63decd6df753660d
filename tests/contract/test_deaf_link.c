// SPDX-License-Identifier: Apache-2.0
// A link that takes no doorbell for longer than each is rung again. Nothing of that is a program's doing: every job of
// every program runs, once, and content is whole; nobody is in error. Whose doorbells stay out, how many, and whether
// they come in the end is tried out from each moment of a few rounds of paging and drawing on.
#include <stdio.h>

#include "programs.h"

#define PROGRAMS 3
#define ROUNDS   6
#define TRIES    4 // A call that waits says TIMEOUT when a reset did not help either; the next one goes on.

struct run {
    struct world *world;
    struct program programs[PROGRAMS];
    D3DKMT_HANDLE allocations[PROGRAMS][2];
    uint64_t fences[PROGRAMS];
    unsigned submissions; // to the miniport, of whatever sort
};

static void all_well(struct run *run)
{
    for (unsigned i = 0; i < PROGRAMS; i++) {
        D3DKMT_DEVICEEXECUTION_STATE state;
        assert_int_equal(ferry_vidmm_device_state(run->world->manager, run->programs[i].device, &state), FERRY_OK);
        assert_int_equal(state, D3DKMT_DEVICEEXECUTION_ACTIVE);
    }
}

static void draw(struct run *run, unsigned i, D3DKMT_HANDLE allocation, uint64_t offset, uint32_t pattern)
{
    struct machine_job job = {0};
    machine_job_fill(&job, 0, offset, 64, pattern);
    struct ferry_vidmm_reference reference = {allocation, true};
    struct ferry_vidmm_submission submission = machine_job_buffer(&job, &reference, 1);
    int result = FERRY_ERROR_TIMEOUT;
    for (unsigned n = 0; n < TRIES && result == FERRY_ERROR_TIMEOUT; n++)
        result = ferry_vidmm_submit(run->world->manager, run->programs[i].context, &submission, 1, &run->fences[i]);
    assert_int_equal(result, FERRY_OK);
}

// A third of video memory each: all page, and draw into what they have brought.
static void use_all(struct run *run)
{
    struct world *world = run->world;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < PROGRAMS; i++) {
            D3DKMT_HANDLE allocation = run->allocations[i][round % 2];
            program_become(world, &run->programs[i]);
            assert_true(list_it(world, &run->programs[i], allocation, true) >= 0);
            draw(run, i, allocation, PAGES(round), 100 * i + round);
            assert_int_equal(world_evict(world, allocation), FERRY_OK);
        }
    }
    for (unsigned i = 0; i < PROGRAMS; i++) {
        int result = FERRY_ERROR_TIMEOUT;
        for (unsigned n = 0; n < TRIES && result == FERRY_ERROR_TIMEOUT; n++)
            result = ferry_vidmm_wait(world->manager, run->programs[i].context, run->fences[i]);
        assert_int_equal(result, FERRY_OK);
    }
}

static void check_all(struct run *run)
{
    struct world *world = run->world;
    for (unsigned i = 0; i < PROGRAMS; i++) {
        for (unsigned k = 0; k < 2; k++) {
            void *address;
            int result = FERRY_ERROR_TIMEOUT;
            for (unsigned n = 0; n < TRIES && result == FERRY_ERROR_TIMEOUT; n++)
                result = ferry_vidmm_lock(world->manager, run->allocations[i][k], D3DDDI_LOCK_READ_ONLY, &address);
            assert_int_equal(result, FERRY_OK);
            const uint32_t *words = address;
            for (uint32_t word = 0; word < PAGES(20) / 4; word++) {
                uint32_t page = word / 1024, drawn = word % 1024 < 16 && page < ROUNDS && page % 2 == k;
                assert_int_equal(words[word], drawn ? 100 * i + page : world_word(2 * i + k, word));
            }
            assert_int_equal(ferry_vidmm_unlock(world->manager, run->allocations[i][k]), FERRY_OK);
        }
    }
}

static unsigned moment;
static struct world *present;
static unsigned deaf_for;

// Doorbells are rung by submissions, so the moment is told in these.
static void a_moment_passes(void *context, const struct ferry_vidmm_event *event)
{
    (void)context;
    bool begins = event->kind == FERRY_VIDMM_EVENT_PAGING_BEGIN || event->kind == FERRY_VIDMM_EVENT_JOB_BEGIN;
    if (begins && moment-- == 0)
        present->knobs->deaf = deaf_for;
}

static bool deaf_from(unsigned at, unsigned doorbells, bool late)
{
    struct run run = {.world = program_world()};
    struct world *world = run.world;
    for (unsigned i = 0; i < PROGRAMS; i++) {
        run.programs[i] = program_begin(world, 1, 0);
        program_become(world, &run.programs[i]);
        for (unsigned k = 0; k < 2; k++) {
            run.allocations[i][k] = world_create(world, PAGES(20), CPU);
            world_write(world, run.allocations[i][k], 2 * i + k);
        }
    }
    spy.keep = false;
    moment = at;
    deaf_for = doorbells;
    present = world;
    world->knobs->late = late;
    assert_int_equal(ferry_vidmm_observe(world->manager, a_moment_passes, NULL), FERRY_OK);
    use_all(&run);
    bool reached = moment > at;
    check_all(&run);
    all_well(&run);
    assert_int_equal(world_statistics(world).faulted_paging_buffers, 0);
    assert_int_equal(ferry_vidmm_observe(world->manager, NULL, NULL), FERRY_OK);
    world_close(world);
    return reached;
}

static void a_link_that_stands_still_costs_nobody_anything(void **state)
{
    (void)state;
    for (unsigned doorbells = 4; doorbells <= 12; doorbells += 4) {
        for (unsigned late = 0; late < 2; late++) {
            unsigned at = 0;
            while (deaf_from(at, doorbells, late != 0))
                at++;
            printf("%u doorbells%s, from each of %u moments on\n", doorbells, late ? ", late" : "", at);
            assert_true(at > 20);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_that_stands_still_costs_nobody_anything),
    };
    return WORLD_RUN(tests);
}
