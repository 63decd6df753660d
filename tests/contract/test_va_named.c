// SPDX-License-Identifier: Apache-2.0
// What a job names by the addresses that it reaches, when its submission waits for many turns and others map and unmap
// meanwhile: it names what is there when it is queued, and looks again only when something has changed. In driver model
// 2 of both miniports.
#include "updates.h"
#include "wrapped_block.h"

#include "vidmm/base/reached.h"

#define X     (BASE + 0x400000)
#define TURNS 300u
#define LINE  64u // jobs that a node's line takes

// Whoever waits lets others in after each turn.
int __real_ferry_vidmm_find_names(struct ferry_vidmm_names *names, const struct ferry_vidmm_reach *reach,
                                  ferry_vidmm_find find, void *context);
int __wrap_ferry_vidmm_find_names(struct ferry_vidmm_names *names, const struct ferry_vidmm_reach *reach,
                                  ferry_vidmm_find find, void *context);

static struct {
    bool watched;
    unsigned named, turns; // how often the addresses were looked at; turns of waiting
    void (*neighbour)(struct world *world, unsigned turn);
    struct world *world;
    D3DKMT_HANDLE one, other;
} waits;

int __wrap_ferry_vm_block(struct ferry_vidmm *manager, unsigned node, uint64_t number,
                          struct ferry_vm_patience *patience)
{
    int error = __real_ferry_vm_block(manager, node, number, patience);
    if (!waits.watched || error != FERRY_PENDING)
        return error;
    unsigned turn = waits.turns++;
    if (waits.neighbour) {
        waits.watched = false;
        ferry_vm_give_lock(manager);
        waits.neighbour(waits.world, turn);
        ferry_vm_take_lock(manager);
        waits.watched = true;
    }
    return error;
}

int __wrap_ferry_vidmm_find_names(struct ferry_vidmm_names *names, const struct ferry_vidmm_reach *reach,
                                  ferry_vidmm_find find, void *context)
{
    waits.named += waits.watched;
    return __real_ferry_vidmm_find_names(names, reach, find, context);
}

static struct world *begin_waits(void)
{
    struct world *world = begin(96, 0);
    memset(&waits, 0, sizeof(waits));
    waits.world = world;
    waits.one = content(world, 4, 1);
    waits.other = content(world, 4, 2);
    return world;
}

// A job that names `source` and reaches X, behind as many jobs as a line takes, which run for many turns.
static int submit_behind_a_full_line(D3DKMT_HANDLE context, D3DKMT_HANDLE source, const struct machine_job *job,
                                     uint64_t *fence)
{
    struct world *world = waits.world;
    struct ferry_vidmm_reach reach = {.address = X, .bytes = PAGE_SIZE, .rows = 1, .write = true};
    struct ferry_vidmm_reference reference = {source, false};
    struct ferry_vidmm_submission submission = {.commands = job->commands,
                                                .bytes = job->bytes,
                                                .references = &reference,
                                                .reference_count = 1,
                                                .reaches = &reach,
                                                .reach_count = 1};
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
    for (unsigned i = 0; i < LINE; i++)
        world_gpu_name(world, context, source, false);
    world->knobs->hold_turns = TURNS;
    waits.watched = true;
    int result = ferry_vidmm_submit(world->manager, context, &submission, 1, fence);
    waits.watched = false;
    return result;
}

// And the job copies the page of `source` to X.
static void copy_behind_a_full_line(unsigned looks)
{
    struct world *world = waits.world;
    D3DKMT_HANDLE context = context_on(world, 1), source = content(world, 1, 3);
    uint64_t from = map(world, source, BASE + 0x100000, 1), fence;
    struct machine_job job = {.bytes = 0};
    machine_job_copy(&job, 0, 0, 1, 0, PAGE_SIZE);
    for (uint32_t i = 0; i < 2; i++)
        machine_job_by_address(job.commands, &job.patches[i], job.patches[i].AllocationIndex == 0 ? X : from);
    assert_int_equal(submit_behind_a_full_line(context, source, &job, &fence), FERRY_OK);
    assert_true(waits.turns > TURNS / 2);
    assert_int_equal(waits.named, looks);
    assert_int_equal(ferry_vidmm_wait(world->manager, context, fence), FERRY_OK);
}

// What no job names as written is not fetched when the CPU reads it.
static void check_written(D3DKMT_HANDLE allocation, uint32_t first)
{
    void *address;
    assert_int_equal(ferry_vidmm_lock(waits.world->manager, allocation, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
    const uint32_t *words = address;
    for (uint32_t i = 0; i < PAGES(1) / 4; i += 61)
        assert_int_equal(words[i], world_word(first, i));
    assert_int_equal(ferry_vidmm_unlock(waits.world->manager, allocation), FERRY_OK);
}

static void free_x(struct world *world)
{
    assert_int_equal(ferry_vidmm_free_virtual(world->manager, world->device, X, PAGES(4)), FERRY_OK);
}

static void what_a_job_reaches_is_looked_at_once_while_nothing_changes(void **state)
{
    (void)state;
    struct world *world = begin_waits();
    map(world, waits.one, X, 4);
    copy_behind_a_full_line(1);
    check_written(waits.one, 3);
    world_close(world);
}

// In one turn it is unmapped and does not have to stay, in a later one another allocation is mapped there: by a call.
static void another_one_comes(struct world *world, unsigned turn)
{
    if (turn == TURNS / 4) {
        free_x(world);
        assert_int_equal(world_evict(world, waits.one), FERRY_OK);
    }
    if (turn == TURNS / 2)
        map(world, waits.other, X, 4);
}

// Or by an update.
static void another_one_is_mapped_over_it(struct world *world, unsigned turn)
{
    struct ferry_vidmm_update change = mapping(X, 4, waits.other, 0);
    if (turn == TURNS / 2)
        update(world, context_on(world, 2), &change, 1);
}

// It is gone, and its addresses are another's.
static void it_is_destroyed(struct world *world, unsigned turn)
{
    if (turn == TURNS / 4)
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, waits.one), FERRY_OK);
    if (turn == TURNS / 2)
        map(world, waits.other, X, 4);
}

static void a_job_that_waits_names_what_is_mapped_when_it_is_queued(void **state)
{
    void (*const neighbours[])(struct world *, unsigned) = {another_one_comes, another_one_is_mapped_over_it,
                                                            it_is_destroyed};
    const unsigned changes[] = {2, 1, 2};
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct world *world = begin_waits();
        struct ferry_vidmm_update change = mapping(X, 4, waits.one, 0);
        if (i == 1) {
            reserve(world, X, 16);
            update(world, world->context, &change, 1);
        } else {
            map(world, waits.one, X, 4);
        }
        waits.neighbour = neighbours[i];
        copy_behind_a_full_line(1 + changes[i]);
        check_written(waits.other, 3);
        world_close(world);
    }
}

// Where nothing is mapped any more it names nothing, whatever it named in the turn before: what is not resident now or
// gone is no error.
static void it_goes(struct world *world, unsigned turn)
{
    if (turn == TURNS / 2)
        free_x(world);
    if (turn == TURNS / 2 && waits.other == 0)
        assert_int_equal(world_evict(world, waits.one), FERRY_OK);
    else if (turn == TURNS / 2)
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, waits.one), FERRY_OK);
}

static void a_job_that_waits_does_not_name_what_has_been_unmapped(void **state)
{
    (void)state;
    for (unsigned destroyed = 0; destroyed < 2; destroyed++) {
        struct world *world = begin_waits();
        D3DKMT_HANDLE context = context_on(world, 1), source = content(world, 1, 3);
        struct machine_job job = {.bytes = 0};
        uint64_t fence;
        machine_job_nothing(&job);
        map(world, waits.one, X, 4);
        waits.other *= destroyed;
        waits.neighbour = it_goes;
        assert_int_equal(submit_behind_a_full_line(context, source, &job, &fence), FERRY_OK);
        assert_int_equal(waits.named, 2);
        assert_int_equal(ferry_vidmm_wait(world->manager, context, fence), FERRY_OK);
        world_close(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_job_reaches_is_looked_at_once_while_nothing_changes),
        cmocka_unit_test(a_job_that_waits_names_what_is_mapped_when_it_is_queued),
        cmocka_unit_test(a_job_that_waits_does_not_name_what_has_been_unmapped),
    };
    return WORLD_RUN(tests);
}
