// SPDX-License-Identifier: Apache-2.0
#include "crowd.h"

#include <stdio.h>

#include "vidmm/api/manager.h"

// The runner whose thread this is.
static _Thread_local struct runner *self;

static unsigned how_many(const struct crowd *crowd, bool at_gate)
{
    unsigned count = 0;
    for (unsigned k = 0; k < crowd->count; k++)
        count += crowd->runners[k].works && (!at_gate || crowd->runners[k].at_gate);
    return count;
}

static bool may_call(const struct crowd *crowd, const struct runner *runner)
{
    return runner->at_gate && (crowd->most_calls == 0 || runner->calls < crowd->most_calls);
}

// The next one at the gate goes through; false when none may.
static bool let_one_through(struct crowd *crowd)
{
    for (unsigned i = 0; i < crowd->count; i++) {
        struct runner *runner = &crowd->runners[(crowd->next + i) % crowd->count];
        if (!may_call(crowd, runner))
            continue;
        crowd->next = (crowd->next + i + 1) % crowd->count;
        runner->at_gate = false;
        runner->calls++;
        pthread_cond_broadcast(&crowd->changed);
        return true;
    }
    return false;
}

static void new_turn(struct crowd *crowd)
{
    for (unsigned k = 0; k < crowd->count; k++) {
        crowd->runners[k].asked = false;
        crowd->runners[k].calls = 0;
    }
}

// Nobody is in the manager, so nobody else will open the gate.
static void look_at_gate(struct crowd *crowd)
{
    unsigned working = how_many(crowd, false);
    if (working == 0 || how_many(crowd, true) < working || let_one_through(crowd))
        return;
    new_turn(crowd);
    (void)let_one_through(crowd);
}

// Linked in place of pthread_cond_wait (rules.mk). Who waits for his ticket in the manager's line, which moves by
// nobody while somebody is in before_turn(), says so.
int __real_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    if (self && condition == &self->crowd->world->manager->next) {
        pthread_mutex_lock(&self->crowd->mutex);
        pthread_cond_signal(&self->crowd->came);
        pthread_mutex_unlock(&self->crowd->mutex);
    }
    return __real_pthread_cond_wait(condition, mutex);
}

// All but the one that is here stand in the manager's line or at the gate; those at the gate come into the line one by
// one. The turn is had once everybody has come here, or may not come before it.
static void before_turn(void *context)
{
    struct crowd *crowd = context;
    struct ferry_vidmm *manager = crowd->world->manager;
    pthread_mutex_lock(&crowd->mutex);
    do
        while (atomic_load(&manager->tickets) - atomic_load(&manager->serving) + how_many(crowd, true) <
               how_many(crowd, false))
            pthread_cond_wait(&crowd->came, &crowd->mutex);
    while (let_one_through(crowd));
    self->asked = true;
    bool all = true;
    for (unsigned k = 0; k < crowd->count; k++)
        all &= !crowd->runners[k].works || crowd->runners[k].asked || crowd->runners[k].at_gate;
    if (all)
        new_turn(crowd);
    crowd->world->knobs->stand_still = !all;
    pthread_mutex_unlock(&crowd->mutex);
}

void runner_calls(struct runner *runner)
{
    struct crowd *crowd = runner->crowd;
    self = runner;
    pthread_mutex_lock(&crowd->mutex);
    runner->at_gate = true;
    runner->asked = false;
    pthread_cond_signal(&crowd->came);
    look_at_gate(crowd);
    while (runner->at_gate)
        pthread_cond_wait(&crowd->changed, &crowd->mutex);
    pthread_mutex_unlock(&crowd->mutex);
}

void runner_ends(struct runner *runner)
{
    struct crowd *crowd = runner->crowd;
    runner->finished = now(crowd->world);
    pthread_mutex_lock(&crowd->mutex);
    runner->works = false;
    pthread_cond_signal(&crowd->came);
    look_at_gate(crowd);
    pthread_mutex_unlock(&crowd->mutex);
}

void crowd_begins(struct crowd *crowd, unsigned count, struct runner *runners, pthread_t *threads, void *(*run)(void *))
{
    pthread_mutex_init(&crowd->mutex, NULL);
    pthread_cond_init(&crowd->changed, NULL);
    pthread_cond_init(&crowd->came, NULL);
    crowd->runners = runners;
    crowd->count = count;
    crowd->next = 1 % count; // the first one comes last
    crowd->enough = false;
    crowd->world->knobs->before_turn_context = crowd;
    crowd->world->knobs->before_turn = before_turn;
    for (unsigned k = 0; k < count; k++)
        runners[k].works = true;
    for (unsigned k = 0; k < count; k++)
        assert_int_equal(pthread_create(&threads[k], NULL, run, &runners[k]), 0);
}

void crowd_ends(struct crowd *crowd)
{
    crowd->world->knobs->before_turn = NULL;
    crowd->world->knobs->stand_still = false;
    crowd->count = 0;
    pthread_cond_destroy(&crowd->changed);
    pthread_cond_destroy(&crowd->came);
    pthread_mutex_destroy(&crowd->mutex);
}

void runner_fills(struct runner *runner, unsigned which, uint64_t offset, uint32_t bytes, uint32_t pattern,
                  uint64_t *fence)
{
    struct machine_job job = {0};
    machine_job_fill(&job, 0, offset, bytes, pattern);
    struct ferry_vidmm_reference reference = {runner->allocations[which], true};
    struct ferry_vidmm_submission submission = machine_job_buffer(&job, &reference, 1);
    runner_calls(runner);
    runner->wrong +=
        ferry_vidmm_submit(runner->crowd->world->manager, runner->program.context, &submission, 1, fence) != FERRY_OK;
}

void runner_waits(struct runner *runner, uint64_t fence)
{
    runner_calls(runner);
    runner->wrong += ferry_vidmm_wait(runner->crowd->world->manager, runner->program.context, fence) != FERRY_OK;
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

void runner_lists(struct runner *runner)
{
    struct world *world = runner->crowd->world;
    program_become(world, &runner->program);
    for (unsigned i = 0; i < OWNED; i++) {
        runner->allocations[i] = world_create(world, PAGES(PIECE), CPU);
        assert_true(list_it(world, &runner->program, runner->allocations[i], true) >= 0);
    }
}

// ---- A program beside one of the same weight that always wants more -----------------------------------------------

// Long jobs: everybody who waits lets a moment pass, and a program alone could not keep its line full of short ones.
// The first runner does so many, and then it is enough for the others.
static void *fill(void *context)
{
    struct runner *runner = context;
    struct crowd *crowd = runner->crowd;
    uint64_t fences[8] = {0};
    for (unsigned i = 0; runner->jobs ? i < runner->jobs : !crowd->enough; i++) {
        uint64_t *fence = &fences[i % 8];
        if (runner->waits && i >= 8)
            runner_waits(runner, *fence);
        runner_fills(runner, i % OWNED, 0, (uint32_t)PAGES(PIECE), i, fence);
    }
    for (unsigned k = 0; k < 2 && runner->jobs; k++) {
        runner_calls(runner);
        runner->used[k] = statistics_of(crowd->world, crowd->runners[k].program.process).gpu_cycles;
    }
    if (runner->jobs)
        crowd->enough = true;
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
    struct ferry_vidmm_submission submission = {.commands = job.commands, .bytes = job.bytes};
    while (!runner->crowd->enough) {
        runner_calls(runner);
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

static void works_alone(struct world *world, const struct program *program, enum earlier on, unsigned jobs)
{
    struct machine_job job = {0};
    D3DKMT_HANDLE only = 0;
    uint64_t fence;
    program_become(world, program);
    if (on != EARLIER_NOTHING && jobs != 0) {
        only = world_create(world, PAGES(4), on == EARLIER_PINNED ? DXGK_ALLOC_FLAG_OVERLAY : CPU);
        world_require(world, only);
    }
    struct ferry_vidmm_reference reference = {only, false};
    machine_job_nothing(&job);
    for (unsigned i = 0; i < jobs; i++) {
        struct ferry_vidmm_submission submission = {
            .commands = job.commands, .bytes = job.bytes, .references = &reference, .reference_count = only != 0};
        assert_int_equal(ferry_vidmm_submit(world->manager, program->context, &submission, 1, &fence), FERRY_OK);
        world_wait(world, fence);
    }
    if (only) {
        assert_int_equal(world_evict(world, only), FERRY_OK);
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, only), FERRY_OK);
    }
}

// In turns with a third program, which ends then.
static void works_in_turns(struct crowd *crowd, const struct program *program, unsigned jobs)
{
    struct runner runners[2] = {{.crowd = crowd, .program = *program, .jobs = jobs},
                                {.crowd = crowd, .program = program_begin(crowd->world, 1, 0)}};
    pthread_t threads[2];
    for (unsigned k = 0; k < 2; k++)
        runner_lists(&runners[k]);
    crowd_begins(crowd, 2, runners, threads, fill);
    for (unsigned k = 0; k < 2; k++)
        assert_int_equal(pthread_join(threads[k], NULL), 0);
    crowd_ends(crowd);
    program_become(crowd->world, program);
    for (unsigned i = 0; i < OWNED; i++)
        assert_int_equal(world_evict(crowd->world, runners[0].allocations[i]), FERRY_OK);
    assert_int_equal(ferry_vidmm_destroy_process(crowd->world->manager, runners[1].program.process), FERRY_OK);
}

struct shares shares_beside(struct beside it)
{
    static const char *const on[] = {"a list", "what is pinned", "nothing", "a list in turns"};
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
    struct program first = program_begin(world, 1, 0), hog = {0};
    if (it.on == EARLIER_IN_TURNS)
        works_in_turns(&crowd, &first, it.earlier);
    else
        works_alone(world, &first, it.on, it.earlier);
    for (unsigned k = 0; k < count; k++) {
        hog = k == 1 ? program_begin(world, 1, 0) : hog;
        runners[k].crowd = &crowd;
        runners[k].jobs = k == 0 ? it.jobs : 0;
        runners[k].waits = k == 0 && it.waits;
        runners[k].program = k == 0 ? first : k == 1 ? hog : another_device(world, hog);
        if (k <= it.devices)
            runner_lists(&runners[k]);
    }
    uint64_t before = statistics_of(world, first.process).gpu_cycles, begin = now(world);
    crowd_begins(&crowd, count, runners, threads, fill_or_trickle);
    for (unsigned k = 0; k < count; k++)
        assert_int_equal(pthread_join(threads[k], NULL), 0);
    crowd_ends(&crowd);
    struct shares shares = {{runners[0].used[0] - before, runners[0].used[1]}, runners[0].finished - begin};
    for (unsigned k = 0; k < count; k++)
        assert_int_equal(runners[k].wrong, 0);
    world_close(world);
    printf("beside %u devices%s, after %u jobs on %s: %u jobs take %llu cycles, %llu of them the program's, %llu the "
           "other's\n",
           it.devices, it.trickles ? " and a trickle" : "", it.earlier, on[it.on], it.jobs,
           (unsigned long long)shares.cycles, (unsigned long long)shares.used[0], (unsigned long long)shares.used[1]);
    return shares;
}
