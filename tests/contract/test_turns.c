// SPDX-License-Identifier: Apache-2.0
// Programs whose lists do not fit beside each other, and what a budget keeps for its owner.
#include <stdio.h>

#include "crowd.h"
#include "poison.h"
#include "vidmm/api/manager.h"

static void a_program_is_not_refused_for_what_its_neighbour_holds(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program first = program_begin(world, 1, 0);
    program_become(world, &first);
    D3DKMT_HANDLE a = world_create(world, PAGES(60), CPU);
    world_write(world, a, 1);
    world_require(world, a);
    world_wait(world, world_gpu_fill(world, a, PAGES(1), 64, 5));
    // The second one comes, and half of the memory is its own; the first one does nothing, and keeps its list.
    struct program second = program_begin(world, 1, 0);
    program_become(world, &second);
    D3DKMT_HANDLE b = world_create(world, PAGES(30), CPU);
    world_write(world, b, 2);
    assert_true(list_it(world, &second, b, false) >= 0);
    for (unsigned i = 0; i < 3; i++) {
        program_become(world, &second);
        world_wait(world, world_gpu_fill(world, b, PAGES(i), 64, 20 + i));
        assert_int_equal(world_place(world, b).segment, machine_local_segment);
        program_become(world, &first);
        world_wait(world, world_gpu_fill(world, a, PAGES(2 + i), 64, 10 + i));
        assert_int_equal(world_place(world, a).segment, machine_local_segment);
        assert_int_equal(world_place(world, a).residency_count, 1);
        assert_int_equal(world_place(world, b).residency_count, 1);
    }
    // What each has is still his.
    D3DKMT_HANDLE both[] = {a, b};
    for (unsigned k = 0; k < 2; k++) {
        void *address;
        program_become(world, k ? &second : &first);
        assert_int_equal(world_evict(world, both[k]), FERRY_OK);
        assert_int_equal(ferry_vidmm_lock(world->manager, both[k], D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
        const uint32_t *words = address;
        for (uint64_t i = 0; i < PAGES(k ? 30 : 60) / 4; i++) {
            uint64_t page = i / 1024, first_page = k ? 0 : 2;
            uint32_t expected = world_word(k ? 2 : 1, i);
            if (i % 1024 < 16 && page >= first_page && page < first_page + 3)
                expected = (uint32_t)((k ? 20 : 10) + page - first_page);
            else if (i % 1024 < 16 && page == 1 && !k)
                expected = 5;
            assert_int_equal(words[i], expected);
        }
        assert_int_equal(ferry_vidmm_unlock(world->manager, both[k]), FERRY_OK);
    }
    world_close(world);
}

static void two_devices_of_one_program_take_turns_too(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    struct program first = {0, world->device, world->queue, world->context}, second = {0};
    assert_int_equal(ferry_vidmm_create_device(world->manager, &second.device), FERRY_OK);
    assert_int_equal(ferry_vidmm_create_paging_queue(world->manager, second.device, 0, &second.queue), FERRY_OK);
    assert_int_equal(
        ferry_vidmm_create_context(world->manager, second.device, FERRY_VIDMM_ANY_NODE, &second.context, NULL),
        FERRY_OK);
    D3DKMT_HANDLE a = world_create(world, PAGES(50), CPU);
    world_require(world, a);
    program_become(world, &second);
    D3DKMT_HANDLE b = world_create(world, PAGES(50), CPU), huge = world_create(world, PAGES(15), CPU);
    // Told to trim first; who cannot gets his turn.
    assert_int_equal(list_it(world, &second, b, false), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_true(list_it(world, &second, b, true) >= 0);
    // More than there is altogether is nobody's turn.
    assert_int_equal(list_it(world, &second, huge, true), FERRY_ERROR_NO_VIDEO_MEMORY);
    world->knobs->delay = 4;
    uint64_t fences[2] = {0};
    for (unsigned i = 0; i < 6; i++) {
        program_become(world, i % 2 ? &second : &first);
        fences[i % 2] = world_gpu_fill(world, i % 2 ? b : a, PAGES(i), 64, i);
    }
    for (unsigned k = 0; k < 2; k++) {
        program_become(world, k ? &second : &first);
        world_wait(world, fences[k]);
    }
    assert_int_equal(world_statistics(world).faulted_jobs, 0);
    world_close(world);
}

// ---- What is reserved, what is within budget ----------------------------------------------------------------------

#define WORKING_SET 7

struct cycle {
    struct program program;
    D3DKMT_HANDLE allocations[16];
    unsigned count, at;
    uint64_t bytes_in;
};

// The next of its allocations, around and around: resident for one job that writes it.
static void step(struct world *world, struct cycle *cycle)
{
    D3DKMT_HANDLE allocation = cycle->allocations[cycle->at++ % cycle->count];
    program_become(world, &cycle->program);
    uint64_t before = world_statistics(world).bytes_in + world_statistics(world).bytes_filled;
    assert_true(list_it(world, &cycle->program, allocation, true) >= 0);
    world_gpu_fill(world, allocation, 0, 64, cycle->at);
    assert_int_equal(world_evict(world, allocation), FERRY_OK);
    cycle->bytes_in += world_statistics(world).bytes_in + world_statistics(world).bytes_filled - before;
}

static struct cycle begin_cycle(struct world *world, unsigned count, uint64_t pages, uint32_t weight, uint64_t reserved)
{
    struct cycle cycle = {.program = program_begin(world, weight, reserved), .count = count};
    program_become(world, &cycle.program);
    for (unsigned i = 0; i < count; i++) {
        cycle.allocations[i] = world_create(world, PAGES(pages), CPU);
        world_write(world, cycle.allocations[i], i);
    }
    return cycle;
}

static uint64_t bytes_of_protected(uint32_t weight, uint64_t reserved, bool alone)
{
    struct world *world = program_world();
    struct cycle protected = begin_cycle(world, WORKING_SET, 4, weight, reserved), greedy = {0};
    if (!alone)
        greedy = begin_cycle(world, 16, 9, 1, 0);
    for (unsigned i = 0; i < 400; i++) {
        step(world, &protected);
        for (unsigned k = 0; k < 3 && !alone; k++)
            step(world, &greedy);
    }
    world_close(world);
    return protected.bytes_in;
}

static void a_program_within_its_budget_pages_as_if_it_were_alone(void **state)
{
    (void)state;
    uint64_t alone = bytes_of_protected(1, 0, true);
    // 28 pages of working set: 32 by reservation, 32 by equal weights, 51 by a larger one.
    uint64_t reserved = bytes_of_protected(1, PAGES(32), false), equal = bytes_of_protected(1, 0, false),
             heavy = bytes_of_protected(4, 0, false);
    printf("bytes in: alone %llu, reserved %llu, equal weight %llu, weight 4: %llu\n", (unsigned long long)alone,
           (unsigned long long)reserved, (unsigned long long)equal, (unsigned long long)heavy);
    assert_true(alone > 0);
    assert_true(100 * reserved <= 105 * alone);
    assert_true(100 * equal <= 105 * alone);
    assert_true(100 * heavy <= 105 * alone);
}

// Beside one that takes all it can get on its list too, and never trims.
static void what_is_reserved_is_nobody_elses(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program greedy = program_begin(world, 10000, 0);
    struct cycle protected = begin_cycle(world, WORKING_SET, 4, 1, PAGES(28));
    program_become(world, &greedy);
    D3DKMT_HANDLE list[16];
    uint64_t pages = 0;
    for (unsigned i = 0; i < 16; i++) {
        list[i] = world_create(world, PAGES(4), CPU);
        pages += list_it(world, &greedy, list[i], true) >= 0 ? 4 : 0;
    }
    assert_int_equal(pages, 64 - 28);
    for (unsigned i = 0; i < 100; i++) {
        step(world, &protected);
        program_become(world, &greedy);
        world_gpu_fill(world, list[i % (pages / 4)], 0, 64, i);
    }
    // Each of its own came in once.
    assert_int_equal(protected.bytes_in, PAGES(28));
    world_close(world);
}

// ---- Three at once ------------------------------------------------------------------------------------------------

#define JOBS 300

static void *run(void *context)
{
    struct runner *runner = context;
    uint64_t fence = 0;
    for (unsigned i = 0; i < JOBS; i++)
        runner_fills(runner, i % OWNED, PAGES(i % PIECE), 4096, i, &fence);
    runner_waits(runner, fence);
    runner_ends(runner);
    return NULL;
}

static void three_equal_programs_with_twice_the_memory_all_finish_alike(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.manager.turn_cycles = 20000;
    struct world *world = world_open(&options);
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
    struct runner runners[3] = {0};
    pthread_t threads[3];
    struct crowd crowd = {.world = world};
    world->knobs->delay = 2;
    spy.keep = false;
    for (unsigned k = 0; k < 3; k++) {
        runners[k].crowd = &crowd;
        runners[k].program = program_begin(world, 1, 0);
        program_become(world, &runners[k].program);
        for (unsigned i = 0; i < OWNED; i++) {
            runners[k].allocations[i] = world_create(world, PAGES(PIECE), CPU);
            world_write(world, runners[k].allocations[i], 100 * k + i);
            assert_true(list_it(world, &runners[k].program, runners[k].allocations[i], true) >= 0);
        }
    }
    uint64_t begin = now(world);
    crowd_begins(&crowd, 3, runners, threads, run);
    uint64_t slowest = 0, fastest = UINT64_MAX;
    for (unsigned k = 0; k < 3; k++) {
        assert_int_equal(pthread_join(threads[k], NULL), 0);
        assert_int_equal(runners[k].wrong, 0);
        uint64_t took = runners[k].finished - begin;
        slowest = took > slowest ? took : slowest;
        fastest = took < fastest ? took : fastest;
    }
    crowd_ends(&crowd);
    struct ferry_vidmm_statistics statistics = world_statistics(world);
    printf("fastest %llu, slowest %llu cycles, %llu evictions for %u jobs\n", (unsigned long long)fastest,
           (unsigned long long)slowest, (unsigned long long)statistics.evictions, 3 * JOBS);
    assert_true(10 * slowest <= 12 * fastest);
    // Turns, not a change of all memory with every job.
    assert_true(statistics.evictions < JOBS);
    for (unsigned k = 0; k < 3; k++) {
        program_become(world, &runners[k].program);
        for (unsigned i = 0; i < OWNED; i++) {
            void *address;
            assert_int_equal(world_evict(world, runners[k].allocations[i]), FERRY_OK);
            assert_int_equal(
                ferry_vidmm_lock(world->manager, runners[k].allocations[i], D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
            const uint32_t *words = address;
            for (unsigned page = 0; page < PIECE; page++) {
                unsigned newest = JOBS - 1;
                while (newest % OWNED != i || newest % PIECE != page)
                    newest--;
                for (unsigned word = 0; word < 1024; word++)
                    assert_int_equal(words[page * 1024 + word], newest);
            }
            assert_int_equal(ferry_vidmm_unlock(world->manager, runners[k].allocations[i]), FERRY_OK);
        }
    }
    world_close(world);
}

// ---- Somebody goes away while others wait for him -----------------------------------------------------------------

static void *submit_one(void *context)
{
    struct runner *runner = context;
    struct machine_job job = {0};
    uint64_t fence = 0;
    machine_job_fill(&job, 0, 0, 64, 3);
    struct ferry_vidmm_reference reference = {runner->allocations[0], true};
    struct ferry_vidmm_submission submission = machine_job_buffer(&job, &reference, 1);
    struct ferry_vidmm *manager = runner->crowd->world->manager;
    runner->wrong += ferry_vidmm_submit(manager, runner->program.context, &submission, 1, &fence) != FERRY_OK;
    runner->wrong += ferry_vidmm_wait(manager, runner->program.context, fence) != FERRY_OK;
    return NULL;
}

static void a_program_that_is_killed_in_its_turn_leaves_it_to_the_next(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.manager.turn_cycles = UINT64_C(1) << 40; // never over by itself
    struct world *world = world_open(&options);
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
    struct program first = program_begin(world, 1, 0);
    struct crowd crowd = {.world = world};
    struct runner runner = {.crowd = &crowd, .program = program_begin(world, 1, 0)};
    program_become(world, &runner.program);
    runner.allocations[0] = world_create(world, PAGES(40), CPU);
    assert_true(list_it(world, &runner.program, runner.allocations[0], true) >= 0);
    program_become(world, &first);
    D3DKMT_HANDLE a = world_create(world, PAGES(40), CPU);
    assert_true(list_it(world, &first, a, true) >= 0);
    world->knobs->delay = 5;
    for (unsigned i = 0; i < 20; i++)
        world_gpu_fill(world, a, 0, 64, i);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, submit_one, &runner), 0);
    assert_int_equal(ferry_vidmm_destroy_process(world->manager, first.process), FERRY_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(runner.wrong, 0);
    assert_int_equal(world_statistics(world).faulted_jobs, 0);
    world_close(world);
}

#define FEW_JOBS 8 // of a program, while another one waits for its turn

static bool line_is_full(struct world *world, D3DKMT_HANDLE context, unsigned *node)
{
    *node = UINT32_MAX;
    return ferry_vm_turn_line_full(
        &world->manager->policy, ferry_vm_handle_find(&world->manager->core.handles, FERRY_VM_CONTEXT, context), node);
}

// However many devices it has them from. Who waits himself is no other.
static void a_program_has_few_jobs_in_line_while_another_waits(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program programs[] = {program_begin(world, 1, 0), program_begin(world, 1, 0)}, second = programs[0];
    D3DKMT_HANDLE contexts[3];
    struct machine_job job = {0};
    uint64_t fences[2];
    unsigned node;
    machine_job_nothing(&job);
    const struct ferry_vidmm_submission nothing = {.commands = job.commands, .bytes = job.bytes};
    assert_int_equal(ferry_vidmm_create_device_of(world->manager, programs[0].process, &second.device), FERRY_OK);
    const D3DKMT_HANDLE devices[] = {programs[0].device, second.device, programs[1].device};
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(ferry_vidmm_create_context(world->manager, devices[i], i == 2 ? 2 : 1, &contexts[i], NULL),
                         FERRY_OK);
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    struct ferry_vm_device *waits[2];
    for (unsigned i = 0; i < 2; i++)
        waits[i] = ferry_vm_handle_find(&world->manager->core.handles, FERRY_VM_DEVICE, devices[2 - i]);
    for (unsigned jobs = 0; jobs <= FEW_JOBS; jobs++) {
        bool full = jobs == FEW_JOBS;
        for (unsigned others = 0; others < 3; others++) {
            // Nobody; another program; the program's second device.
            if (others > 0)
                ferry_vm_list_add(&world->manager->policy.waiting, &waits[others - 1]->waiting);
            assert_int_equal(line_is_full(world, contexts[0], &node), full && others > 0);
            assert_true(!(full && others > 0) || node == 1);
            assert_int_equal(line_is_full(world, contexts[1], &node), full && others == 1);
            assert_false(line_is_full(world, contexts[2], &node));
            if (others > 0)
                ferry_vm_list_remove(&waits[others - 1]->waiting);
        }
        if (!full)
            assert_int_equal(ferry_vidmm_submit(world->manager, contexts[jobs % 2], &nothing, 1, &fences[jobs % 2]),
                             FERRY_OK);
    }
    world->knobs->hold_node = 0;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ferry_vidmm_wait(world->manager, contexts[i], fences[i]), FERRY_OK);
    world_close(world);
}

// ---- Queues that have nothing to do -------------------------------------------------------------------------------

#define IDLE 20 // queues of each program

// Nobody may look at a queue without a job, but at that into which the job goes. While another program waits it is
// asked besides whether the line is full.
static void submits_and_looks_at_no_idle_queue(struct runner *runner, D3DKMT_HANDLE other)
{
    struct ferry_vidmm *manager = runner->crowd->world->manager;
    struct ferry_vm_device *waits = ferry_vm_handle_find(&manager->core.handles, FERRY_VM_DEVICE, other);
    struct ferry_vm_context *idle[2 * (IDLE + 1)];
    unsigned count = 0, node;
    if (!poison_in_a_child())
        return;
    for (struct ferry_vm_list *at = manager->devices.next; at != &manager->devices; at = at->next) {
        struct ferry_vm_device *device = FERRY_VM_CONTAINER(at, struct ferry_vm_device, link);
        for (struct ferry_vm_list *one = device->contexts.next; one != &device->contexts; one = one->next) {
            struct ferry_vm_context *context = FERRY_VM_CONTAINER(one, struct ferry_vm_context, link);
            if (context->jobs == 0 && context->handle != runner->program.context)
                idle[count++] = context;
        }
    }
    for (unsigned i = 0; i < count; i++)
        ASAN_POISON_MEMORY_REGION(idle[i], sizeof(*idle[i]));
    ferry_vm_list_add(&manager->policy.waiting, &waits->waiting);
    runner->wrong += line_is_full(runner->crowd->world, runner->program.context, &node);
    ferry_vm_list_remove(&waits->waiting);
    submit_one(runner);
    _exit(count < 2 * IDLE || runner->wrong != 0);
}

// Whether the others' lists are in place beside its own, or have to go for it: at once, or when their job is over.
static void a_job_costs_the_same_however_many_queues_are_idle(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.manager.turn_cycles = 1;
    struct world *world = world_open(&options);
    struct crowd crowd = {.world = world};
    struct runner runners[2] = {{.crowd = &crowd}, {.crowd = &crowd}};
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
    for (unsigned k = 0; k < 2; k++) {
        runners[k].program = program_begin(world, 1, 0);
        program_become(world, &runners[k].program);
        for (unsigned i = 0; i < IDLE; i++) {
            D3DKMT_HANDLE context;
            assert_int_equal(
                ferry_vidmm_create_context(world->manager, world->device, FERRY_VIDMM_ANY_NODE, &context, NULL),
                FERRY_OK);
        }
        runners[k].allocations[0] = world_create(world, PAGES(40), CPU);
        assert_true(list_it(world, &runners[k].program, runners[k].allocations[0], true) >= 0);
    }
    world->knobs->delay = 3;
    for (unsigned k = 0; k < 2; k++) {
        // Its list is in place. Nobody has a job; then it has some.
        D3DKMT_HANDLE devices[] = {runners[k].program.device, runners[!k].program.device};
        submit_one(&runners[k]);
        program_become(world, &runners[k].program);
        for (unsigned jobs = 0; jobs < 3; jobs++) {
            submits_and_looks_at_no_idle_queue(&runners[k], devices[1]);
            submits_and_looks_at_no_idle_queue(&runners[!k], devices[0]);
            world_gpu_fill(world, runners[k].allocations[0], 0, 64, jobs);
        }
    }
    for (unsigned k = 0; k < 2; k++)
        assert_int_equal(runners[k].wrong, 0);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_is_not_refused_for_what_its_neighbour_holds),
        cmocka_unit_test(two_devices_of_one_program_take_turns_too),
        cmocka_unit_test(a_program_within_its_budget_pages_as_if_it_were_alone),
        cmocka_unit_test(what_is_reserved_is_nobody_elses),
        cmocka_unit_test(three_equal_programs_with_twice_the_memory_all_finish_alike),
        cmocka_unit_test(a_program_that_is_killed_in_its_turn_leaves_it_to_the_next),
        cmocka_unit_test(a_program_has_few_jobs_in_line_while_another_waits),
        cmocka_unit_test(a_job_costs_the_same_however_many_queues_are_idle),
    };
    return WORLD_RUN(tests);
}
