// SPDX-License-Identifier: Apache-2.0
// What waits behind one program's job costs every call of the others time.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "programs.h"
#include "vidmm/space/plan.h"

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

// What the neighbour does, again and again.
static void a_job(struct world *world, D3DKMT_HANDLE small, unsigned i)
{
    world_wait(world, world_gpu_fill(world, small, 0, 64, i));
}

// A lock that writes takes it out, and what brings it in again is queued at its end; the job waits for that.
static void its_paging(struct world *world, D3DKMT_HANDLE small, unsigned i)
{
    uint64_t before = world_statistics(world).operations[DXGK_OPERATION_TRANSFER];
    world_write(world, small, i);
    a_job(world, small, i);
    assert_true(world_statistics(world).operations[DXGK_OPERATION_TRANSFER] > before);
}

// CPU time of a neighbour's step, while `count` page-outs wait behind a job and what needs their places waits behind
// them.
static double neighbour(unsigned count, void (*step)(struct world *world, D3DKMT_HANDLE small, unsigned i))
{
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(2 * count + 64);
    options.manager.memory_limit_bytes = PAGES(count + 64);
    struct world *world = world_open(&options);
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
    spy.keep = false;
    struct program hog = program_begin(world, 1000, 0), other = program_begin(world, 1, PAGES(8));
    D3DKMT_HANDLE *first = calloc(count, sizeof *first), *second = calloc(count, sizeof *second);
    D3DKMT_HANDLE hogs = 0, others = 0;
    assert_int_equal(ferry_vidmm_create_context(world->manager, hog.device, 1, &hogs, NULL), FERRY_OK);
    assert_int_equal(ferry_vidmm_create_context(world->manager, other.device, 2, &others, NULL), FERRY_OK);
    other.context = others;
    hog.context = hogs;
    program_become(world, &other);
    D3DKMT_HANDLE small = world_create(world, PAGES(1), CPU);
    world_require(world, small);
    world_wait(world, world_gpu_fill(world, small, 0, 64, 1));
    program_become(world, &hog);
    for (unsigned i = 0; i < count; i++)
        first[i] = world_create(world, PAGES(1), CPU);
    for (unsigned i = 0; i < count; i++) {
        second[i] = world_create(world, PAGES(1), CPU);
        world_write(world, second[i], 3);
    }
    for (unsigned i = 0; i < count; i += 512) {
        D3DDDI_MAKERESIDENT make = {.hPagingQueue = hog.queue,
                                    .NumAllocations = count - i < 512 ? count - i : 512,
                                    .AllocationList = first + i};
        make.Flags.CantTrimFurther = 1;
        int r = ferry_vidmm_make_resident(world->manager, &make);
        assert_true(r >= 0);
        if (r == FERRY_PENDING)
            assert_int_equal(ferry_vidmm_wait_paging(world->manager, hog.queue, make.PagingFenceValue), FERRY_OK);
    }
    // A job that is held back, and behind it one that waits for paging behind that one: so all others stand in the
    // line, and the device has room for the neighbour's.
    void *address;
    D3DKMT_HANDLE first_of_all = world_create(world, PAGES(1), PERMANENT);
    world_require(world, first_of_all);
    assert_int_equal(ferry_vidmm_lock(world->manager, first_of_all, D3DDDI_LOCK_WRITE_ONLY, &address), FERRY_OK);
    world->knobs->hold_node = 1;
    world_gpu_name(world, hogs, first_of_all, false);
    assert_int_equal(ferry_vidmm_unlock(world->manager, first_of_all), FERRY_OK);
    world_gpu_name(world, hogs, first_of_all, false);
    for (unsigned i = 0; i < count; i += 64) {
        struct machine_job job = {0};
        struct ferry_vidmm_reference refs[64];
        unsigned n = count - i < 64 ? count - i : 64;
        for (unsigned k = 0; k < n; k++)
            refs[k] = (struct ferry_vidmm_reference){first[i + k], true};
        machine_job_nothing(&job);
        struct ferry_vidmm_submission s = {
            .commands = job.commands, .bytes = job.bytes, .references = refs, .reference_count = n};
        uint64_t fence;
        int r = ferry_vidmm_submit(world->manager, hogs, &s, 1, &fence);
        if (r) {
            printf("submit %d\n", r);
            fail();
        }
    }
    for (unsigned i = 0; i < count; i += 512) {
        D3DDDICB_EVICT evict = {.NumAllocations = count - i < 512 ? count - i : 512, .AllocationList = first + i};
        assert_int_equal(ferry_vidmm_evict(world->manager, hog.device, &evict), FERRY_OK);
        D3DDDI_MAKERESIDENT make = {.hPagingQueue = hog.queue,
                                    .NumAllocations = count - i < 512 ? count - i : 512,
                                    .AllocationList = second + i};
        make.Flags.CantTrimFurther = 1;
        int r = ferry_vidmm_make_resident(world->manager, &make);
        assert_true(r >= 0);
    }
    program_become(world, &other);
    uint64_t before = world_statistics(world).operations[DXGK_OPERATION_TRANSFER];
    double begin = seconds();
    for (unsigned i = 0; i < 50; i++)
        step(world, small, i);
    double took = (seconds() - begin) / 50;
    // They still wait: what has run is the neighbour's.
    assert_true(world_statistics(world).operations[DXGK_OPERATION_TRANSFER] <= before + 2 * 50);
    world->knobs->hold_node = 0;
    world_close(world);
    free(first);
    free(second);
    return took;
}

static void compare(const char *what, void (*step)(struct world *world, D3DKMT_HANDLE small, unsigned i))
{
    double few = neighbour(500, step), many = neighbour(3500, step);
    printf("%s of a neighbour: %.4f ms beside 500 allocations that wait behind a job, %.4f beside 3500\n", what,
           few * 1e3, many * 1e3);
    // Seven times as many: a scan of them would be 7.
    assert_true(many < 3 * few + 0.02e-3);
}

static void what_one_program_has_waiting_costs_its_neighbours_nothing(void **state)
{
    (void)state;
    compare("a job", a_job);
}

static void what_one_program_has_waiting_costs_its_neighbours_paging_nothing(void **state)
{
    (void)state;
    compare("the paging", its_paging);
}

// Linked with --wrap=ferry_vm_plan_want: how often room was looked for.
enum ferry_vm_plan_result __real_ferry_vm_plan_want(struct ferry_vm_plan *plan, struct ferry_vm_region *region,
                                                    const struct ferry_vm_wanted *wanted, uint64_t *short_pages);
enum ferry_vm_plan_result __wrap_ferry_vm_plan_want(struct ferry_vm_plan *plan, struct ferry_vm_region *region,
                                                    const struct ferry_vm_wanted *wanted, uint64_t *short_pages);
static unsigned looks;

enum ferry_vm_plan_result __wrap_ferry_vm_plan_want(struct ferry_vm_plan *plan, struct ferry_vm_region *region,
                                                    const struct ferry_vm_wanted *wanted, uint64_t *short_pages)
{
    looks++;
    return __real_ferry_vm_plan_want(plan, region, wanted, short_pages);
}

// Holes of one page between those that a neighbour has within his budget: each pair of pages needs him to be pushed,
// and nothing less finds room for the second what it did not find for the first.
static void what_was_looked_for_in_vain_is_not_looked_for_again(void **state)
{
    enum { PAIRS = 8 };
    D3DKMT_HANDLE single[64], pairs[PAIRS];
    struct world *world = program_world();
    struct program neighbour = program_begin(world, 1, 0), own = program_begin(world, 1, 0);
    (void)state;
    program_become(world, &neighbour);
    for (unsigned i = 0; i < 64; i++) {
        single[i] = world_create(world, PAGES(1), CPU);
        assert_true(list_it(world, &neighbour, single[i], true) >= 0);
    }
    for (unsigned i = 1; i < 64; i += 2)
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, single[i]), FERRY_OK);
    program_become(world, &own);
    for (unsigned i = 0; i < PAIRS; i++)
        pairs[i] = world_create(world, PAGES(2), CPU);
    looks = 0;
    assert_int_equal(world_resident(world, pairs, PAIRS), FERRY_PENDING);
    for (unsigned i = 0; i < PAIRS; i++)
        assert_int_not_equal(world_place(world, pairs[i]).segment, 0);
    assert_in_range(looks, PAIRS + 1, PAIRS + 2);
    world_close(world);
}

static D3DKMT_HANDLE aligned_one(struct world *world, unsigned pages)
{
    world->knobs->own_alignment_64k = true;
    D3DKMT_HANDLE one = world_create(world, PAGES(pages), CPU);
    world->knobs->own_alignment_64k = false;
    return one;
}

static int last_attempt(struct world *world, const D3DKMT_HANDLE *list, UINT count)
{
    D3DDDI_MAKERESIDENT make = {.hPagingQueue = world->queue, .NumAllocations = count, .AllocationList = list};
    make.Flags.CantTrimFurther = 1;
    return ferry_vidmm_make_resident(world->manager, &make);
}

// In place and on nobody's list; later ones have been used later.
static D3DKMT_HANDLE idle(struct world *world, D3DKMT_HANDLE one)
{
    assert_true(last_attempt(world, &one, 1) >= 0);
    assert_int_equal(world_evict(world, one), FERRY_OK);
    return one;
}

static bool is_in(struct world *world, D3DKMT_HANDLE allocation)
{
    return world_place(world, allocation).segment != 0;
}

static unsigned how_many_are_in(struct world *world, const D3DKMT_HANDLE *list, unsigned count)
{
    unsigned in = 0;
    for (unsigned i = 0; i < count; i++)
        in += is_in(world, list[i]);
    return in;
}

// All of it in eights: the neighbour's are as many as his budget, and what he used last would go first. Four of his are
// aligned, and cannot be pushed to where our own one is: so what is aligned is looked for in vain until he gives. What
// needs no such place takes our own all the same.
static void what_is_easier_to_place_is_looked_for(void **state)
{
    D3DKMT_HANDLE aligned[4], others[3], wanted[2];
    struct world *world = program_world();
    struct program neighbour = program_begin(world, 7, 0), own = program_begin(world, 1, 0);
    (void)state;
    program_become(world, &neighbour);
    for (unsigned i = 0; i < 4; i++)
        aligned[i] = idle(world, aligned_one(world, 8));
    program_become(world, &own);
    D3DKMT_HANDLE ours = idle(world, world_create(world, PAGES(8), CPU));
    program_become(world, &neighbour);
    for (unsigned i = 0; i < 3; i++)
        others[i] = idle(world, world_create(world, PAGES(8), CPU));
    program_become(world, &own);
    wanted[0] = aligned_one(world, 8);
    wanted[1] = world_create(world, PAGES(8), CPU);
    assert_int_equal(last_attempt(world, wanted, 2), FERRY_PENDING);
    assert_int_equal(how_many_are_in(world, aligned, 4), 3);
    assert_int_equal(how_many_are_in(world, others, 3), 3);
    assert_false(is_in(world, ours));
    world_close(world);
}

// Room that is not there in video memory may be there in the aperture.
static void what_goes_elsewhere_is_looked_for(void **state)
{
    D3DKMT_HANDLE theirs[8], wanted[2];
    struct world *world = program_world();
    struct program neighbour = program_begin(world, 63, 0), own = program_begin(world, 1, 0);
    (void)state;
    program_become(world, &own);
    D3DKMT_HANDLE ours = idle(world, world_create_in_aperture(world, PAGES(7), CPU));
    idle(world, world_create(world, PAGES(1), CPU));
    program_become(world, &neighbour);
    for (unsigned i = 0; i < 9; i++)
        idle(world, world_create(world, PAGES(7), CPU));
    for (unsigned i = 0; i < 8; i++)
        theirs[i] = idle(world, world_create_in_aperture(world, PAGES(7), CPU));
    program_become(world, &own);
    wanted[0] = world_create(world, PAGES(7), CPU);
    wanted[1] = world_create_in_aperture(world, PAGES(7), CPU);
    assert_int_equal(last_attempt(world, wanted, 2), FERRY_PENDING);
    assert_int_equal(how_many_are_in(world, theirs, 8), 8);
    assert_false(is_in(world, ours));
    world_close(world);
}

// What the first leaves of the neighbour's place is room together with our own, which alone was not enough.
static void where_more_is_free_it_is_looked_for_again(void **state)
{
    D3DKMT_HANDLE theirs[5], wanted[2];
    struct world *world = program_world();
    struct program neighbour = program_begin(world, 15, 0), own = program_begin(world, 1, 0);
    (void)state;
    program_become(world, &own);
    D3DKMT_HANDLE ours = idle(world, world_create(world, PAGES(4), CPU));
    program_become(world, &neighbour);
    for (unsigned i = 0; i < 5; i++)
        theirs[i] = idle(world, world_create(world, PAGES(12), CPU));
    program_become(world, &own);
    for (unsigned i = 0; i < 2; i++)
        wanted[i] = world_create(world, PAGES(8), CPU);
    assert_int_equal(last_attempt(world, wanted, 2), FERRY_PENDING);
    assert_int_equal(how_many_are_in(world, theirs, 5), 4);
    assert_false(is_in(world, ours));
    world_close(world);
}

// Neighbours that have no job in line, and all of a segment. As many as it takes have to go away, and before they have
// no plan for what is wanted can be.
static void in_turn(unsigned neighbours, unsigned each, unsigned count, bool in_aperture)
{
    D3DKMT_HANDLE(*create)
    (struct world * world, uint64_t bytes, UINT flags) = in_aperture ? world_create_in_aperture : world_create;
    D3DKMT_HANDLE wanted[64];
    struct world *world = program_world();
    struct program program = {0};
    for (unsigned i = 0; i < neighbours; i++) {
        program = program_begin(world, 1, 0);
        program_become(world, &program);
        for (unsigned k = 0; k < each; k++)
            assert_true(list_it(world, &program, create(world, PAGES(1), CPU), true) >= 0);
    }
    program = program_begin(world, 1, 0);
    program_become(world, &program);
    for (unsigned i = 0; i < count; i++) {
        wanted[i] = create(world, PAGES(1), CPU);
        assert_int_equal(list_it(world, &program, wanted[i], true), FERRY_OK);
    }
    looks = 0;
    world_wait(world, world_gpu_name(world, world->context, wanted[0], false));
    assert_int_equal(how_many_are_in(world, wanted, count), count);
    assert_int_equal(world_statistics(world).evictions, count);
    assert_in_range(looks, count, count + 8);
    world_close(world);
}

static void a_turn_is_not_planned_before_there_can_be_room(void **state)
{
    (void)state;
    in_turn(8, 8, 48, false);
    in_turn(7, 9, 45, true);
    // There is just as much, for the scratch page is one of the aperture's.
    in_turn(8, 8, 64, false);
    in_turn(7, 9, 63, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_one_program_has_waiting_costs_its_neighbours_nothing),
        cmocka_unit_test(what_one_program_has_waiting_costs_its_neighbours_paging_nothing),
        cmocka_unit_test(what_was_looked_for_in_vain_is_not_looked_for_again),
        cmocka_unit_test(what_is_easier_to_place_is_looked_for),
        cmocka_unit_test(what_goes_elsewhere_is_looked_for),
        cmocka_unit_test(where_more_is_free_it_is_looked_for_again),
        cmocka_unit_test(a_turn_is_not_planned_before_there_can_be_room),
    };
    return WORLD_RUN(tests);
}
