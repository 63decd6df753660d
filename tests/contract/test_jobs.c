// SPDX-License-Identifier: Apache-2.0
// Jobs, from one to the next: what a record of one that is over says of the next one in it, and what a program is
// charged for those that have several buffers, or never ran.
#include "programs.h"
#include "vidmm/api/manager.h"

static struct ferry_vidmm_process_statistics used_by(struct world *world, const struct program *program)
{
    struct ferry_vidmm_process_statistics statistics;
    assert_int_equal(ferry_vidmm_process_statistics(world->manager, program->process, &statistics), FERRY_OK);
    return statistics;
}

static uint64_t submit_nothing(struct world *world, D3DKMT_HANDLE context, uint32_t buffers)
{
    struct machine_job job = {0};
    struct ferry_vidmm_submission submissions[4];
    uint64_t fence = 0;
    machine_job_nothing(&job);
    for (uint32_t i = 0; i < 4; i++)
        submissions[i] = (struct ferry_vidmm_submission){.commands = job.commands, .bytes = job.bytes};
    assert_int_equal(ferry_vidmm_submit(world->manager, context, submissions, buffers, &fence), FERRY_OK);
    return fence;
}

// Records are used again, and the miniport goes on behind what a resubmitted buffer has done.
static void a_new_job_in_an_old_record_is_no_resubmission(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    for (unsigned i = 0; i < 30; i++)
        world_wait(world, submit_nothing(world, world->context, 1 + i % 3));
    size_t jobs = 0;
    for (size_t i = 0; i < spy.count; i++) {
        if (spy.entries[i].kind != SPY_SUBMIT || spy.entries[i].submit.Flags.Paging)
            continue;
        assert_false(spy.entries[i].submit.Flags.Resubmission);
        jobs++;
    }
    assert_int_equal(jobs, 10 * (1 + 2 + 3));
    world_close(world);
}

static void a_job_of_several_buffers_is_one_of_its_programs(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program program = program_begin(world, 1, 0);
    program_become(world, &program);
    for (uint32_t buffers = 1; buffers <= 4; buffers++)
        world_wait(world, submit_nothing(world, world->context, buffers));
    assert_int_equal(used_by(world, &program).jobs, 4);
    world_close(world);
}

// Behind a page-in that faults it ends in its turn, and the time until then was nobody's.
static void a_job_that_never_ran_has_used_nothing_of_the_gpu(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program program = program_begin(world, 1, 0);
    program_become(world, &program);
    D3DKMT_HANDLE good = world_create(world, PAGES(4), CPU), bad = world_create(world, PAGES(20), CPU);
    world_write(world, bad, 1);
    world_require(world, good);
    world->knobs->delay = 3;
    world_wait(world, world_gpu_fill(world, good, 0, (uint32_t)PAGES(4), 1));
    const struct ferry_vidmm_process_statistics before = used_by(world, &program);
    assert_true(before.gpu_cycles != 0);
    // What gave them addresses is over.
    for (unsigned i = 0; i < 100; i++)
        ferry_vidmm_poll(world->manager, true);
    // With others in its buffer, and alone.
    world->knobs->fault_paging = 3;
    assert_int_equal(world_resident(world, &bad, 1), FERRY_PENDING);
    uint64_t fence = world_gpu_name(world, world->context, bad, true);
    assert_int_equal(ferry_vidmm_wait(world->manager, world->context, fence), FERRY_ERROR_FAULT);
    world->knobs->fault_paging = 0;
    const struct ferry_vidmm_process_statistics after = used_by(world, &program);
    assert_int_equal(after.jobs, before.jobs + 1);
    assert_int_equal(after.gpu_cycles, before.gpu_cycles);
    assert_int_equal(after.last_job, before.last_job);
    world_close(world);
}

// ---- Suspects ----

static struct {
    struct ferry_vm_sched *sched;
    struct machine *machine;
    bool seen;
} next;

// What was there when something hung is over; the buffer behind that is with the device.
static void look_for_the_suspect(void *context)
{
    (void)context;
    const struct ferry_vm_node *paging = &next.sched->nodes[next.sched->paging_node];
    if (paging->retired != next.sched->suspected_at || paging->in_flight == 0)
        return;
    next.seen = true;
    assert_int_equal(machine_queued_jobs(next.machine), 0);
}

// Whoever waits for the next buffer after a hang has nothing to do with the job either.
static void a_suspect_waits_for_the_paging_that_comes_next(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program programs[2];
    D3DKMT_HANDLE contexts[2], allocations[2];
    uint64_t fences[2];
    for (unsigned i = 0; i < 2; i++) {
        programs[i] = program_begin(world, 1, 0);
        program_become(world, &programs[i]);
        assert_int_equal(ferry_vidmm_create_context(world->manager, programs[i].device, i + 1, &contexts[i], NULL),
                         FERRY_OK);
        allocations[i] = world_create(world, PAGES(4), CPU);
    }
    world->knobs->hold_paging = true;
    // Each job wants its own page-in, so each of these goes out in a buffer of its own.
    for (unsigned i = 0; i < 2; i++) {
        program_become(world, &programs[i]);
        assert_int_equal(list_it(world, &programs[i], allocations[i], true), FERRY_PENDING);
        fences[i] = world_gpu_name(world, contexts[i], allocations[i], true);
    }
    struct ferry_vm_sched *sched = &world->manager->sched;
    assert_int_equal(sched->nodes[sched->paging_node].in_flight, 2);
    sched->nodes[1].unsent->suspect = true;
    sched->suspected_at = sched->nodes[sched->paging_node].submitted - 1;
    world->knobs->delay = 4;
    next.sched = sched;
    next.machine = world->machine;
    next.seen = false;
    world->knobs->before_turn = look_for_the_suspect;
    world->knobs->hold_paging = false;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ferry_vidmm_wait(world->manager, contexts[i], fences[i]), FERRY_OK);
    world->knobs->before_turn = NULL;
    assert_true(next.seen);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_job_in_an_old_record_is_no_resubmission),
        cmocka_unit_test(a_job_of_several_buffers_is_one_of_its_programs),
        cmocka_unit_test(a_job_that_never_ran_has_used_nothing_of_the_gpu),
        cmocka_unit_test(a_suspect_waits_for_the_paging_that_comes_next),
    };
    return WORLD_RUN(tests);
}
