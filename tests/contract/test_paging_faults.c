// SPDX-License-Identifier: Apache-2.0
// A paging buffer that faults: what else is in it belongs to others.
#include <limits.h>
#include <stdio.h>

#include "programs.h"
#include "vidmm/api/manager.h"

#define PROGRAMS 3

// The page-ins of three programs in one buffer; `faults` buffers go wrong. How many devices are in error then.
static unsigned broken_after(unsigned faults, UINT flags)
{
    struct world *world = program_world();
    struct program programs[PROGRAMS];
    D3DKMT_HANDLE allocations[PROGRAMS];
    for (unsigned i = 0; i < PROGRAMS; i++) {
        programs[i] = program_begin(world, 1, 0);
        program_become(world, &programs[i]);
        allocations[i] = world_create(world, PAGES(2), flags);
        world_write(world, allocations[i], i);
    }
    world->knobs->delay = 1;
    world->knobs->hold_paging = true;
    world->knobs->hold_turns = 100000;
    // The first goes out at once, the others share the next buffer.
    for (unsigned i = 0; i < PROGRAMS; i++) {
        program_become(world, &programs[i]);
        assert_int_equal(world_resident(world, &allocations[i], 1), FERRY_PENDING);
        world->knobs->fault_paging = i == 0 ? faults : world->knobs->fault_paging;
    }
    world->knobs->hold_paging = false;
    for (unsigned i = 0; i < 50; i++)
        ferry_vidmm_poll(world->manager, true);
    unsigned broken = 0;
    for (unsigned i = 0; i < PROGRAMS; i++) {
        D3DKMT_DEVICEEXECUTION_STATE device;
        assert_int_equal(ferry_vidmm_device_state(world->manager, programs[i].device, &device), FERRY_OK);
        bool lost = world_place(world, allocations[i]).lost;
        assert_int_equal(device != D3DKMT_DEVICEEXECUTION_ACTIVE, lost);
        broken += lost;
        program_become(world, &programs[i]);
        if (!lost)
            world_check_gpu(world, allocations[i], i);
    }
    assert_int_equal(world_statistics(world).faulted_paging_buffers, faults);
    world_close(world);
    return broken;
}

static void what_shares_a_buffer_that_faults_once_is_built_again_alone(void **state)
{
    (void)state;
    assert_int_equal(broken_after(1, CPU), 0);
}

static void only_what_faults_alone_is_lost(void **state)
{
    (void)state;
    assert_int_equal(broken_after(2, CPU), 1);
    assert_int_equal(broken_after(3, CPU), 2);
}

// Where the content will be is told behind the page-in, and nothing is written for it that could have run.
static void a_notice_behind_a_page_in_costs_nobody_its_content(void **state)
{
    (void)state;
    UINT flags = CPU | DXGK_ALLOC_FLAG_ACCESSED_PHYSICALLY | DXGK_ALLOC_FLAG_EXPLICIT_RESIDENCY_NOTIFICATION;
    assert_int_equal(broken_after(1, flags), 0);
    assert_int_equal(broken_after(2, flags), 1);
}

// A fill goes again alone; the notice behind it has no part in the buffer that faulted, and is not over before it is.
static void who_is_destroyed_waits_for_what_goes_again_before_a_notice(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program programs[PROGRAMS];
    D3DKMT_HANDLE allocations[PROGRAMS];
    UINT flags = CPU | DXGK_ALLOC_FLAG_ACCESSED_PHYSICALLY | DXGK_ALLOC_FLAG_EXPLICIT_RESIDENCY_NOTIFICATION;
    world->knobs->delay = 1;
    world->knobs->hold_paging = true;
    world->knobs->hold_turns = 100000;
    for (unsigned i = 0; i < PROGRAMS; i++) {
        programs[i] = program_begin(world, 1, 0);
        program_become(world, &programs[i]);
        allocations[i] = world_create_filled(world, PAGES(2), flags, 7 + i);
        assert_int_equal(world_resident(world, &allocations[i], 1), FERRY_PENDING);
        world->knobs->fault_paging = i == 0 ? 1 : world->knobs->fault_paging;
    }
    world->knobs->hold_paging = false;
    for (unsigned i = 0; i < 50 && world_statistics(world).faulted_paging_buffers == 0; i++)
        ferry_vidmm_poll(world->manager, true);
    assert_int_equal(world_statistics(world).faulted_paging_buffers, 1);
    world->knobs->hold_paging = true;
    world->knobs->hold_turns = 20;
    const struct ferry_vm_node *paging = &world->manager->sched.nodes[world->manager->sched.paging_node];
    uint64_t over = paging->retired;
    assert_true(paging->submitted > over); // Its fill, again.
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, allocations[1]), FERRY_OK);
    assert_true(paging->retired > over);
    world_close(world);
}

// The place that two page-outs read has been given away, and the page-in behind them runs: it cannot be read again.
static void a_place_that_was_given_away_meanwhile_is_not_read_again(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE old[2], other = world_create(world, PAGES(60), CPU);
    world_write(world, other, 9);
    for (unsigned i = 0; i < 2; i++) {
        old[i] = world_create(world, PAGES(20), CPU);
        world_write(world, old[i], i);
        world_require(world, old[i]);
        // Newer than any copy elsewhere.
        world_wait(world, world_gpu_copy(world, old[i], 0, old[i], PAGE_SIZE, PAGE_SIZE));
    }
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(world_evict(world, old[i]), FERRY_OK);
    world->knobs->delay = 1;
    world->knobs->hold_paging = true;
    world->knobs->hold_turns = 100000;
    world->knobs->fault_paging = 1;
    assert_int_equal(world_resident(world, &other, 1), FERRY_PENDING);
    for (unsigned i = 0; i < 50; i++)
        ferry_vidmm_poll(world->manager, true);
    world->knobs->hold_paging = false;
    for (unsigned i = 0; i < 100; i++)
        ferry_vidmm_poll(world->manager, true);
    assert_int_equal(world_statistics(world).faulted_paging_buffers, 1);
    assert_true(world_place(world, old[0]).lost || world_place(world, old[1]).lost);
    assert_false(world_place(world, other).lost);
    world_check_gpu(world, other, 9);
    world_close(world);
}

// In pieces, and of the first one's place only later pieces are given away: as a whole it cannot go again either.
static void pieces_whose_place_was_given_away_are_not_read_again(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.manager.sub_transfer_bytes = PAGES(4);
    struct world *world = world_open(&options);
    D3DKMT_HANDLE old[2], other = world_create(world, PAGES(50), CPU | DXGK_ALLOC_FLAG_FROM_END_OF_SEGMENT);
    world_write(world, other, 9);
    for (unsigned i = 0; i < 2; i++) {
        old[i] = world_create(world, PAGES(20), CPU);
        world_write(world, old[i], i);
        world_require(world, old[i]);
        // Newer than any copy elsewhere.
        world_wait(world, world_gpu_copy(world, old[i], 0, old[i], PAGE_SIZE, PAGE_SIZE));
    }
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(world_evict(world, old[i]), FERRY_OK);
    world->knobs->delay = 1;
    world->knobs->hold_paging = true;
    world->knobs->hold_turns = 100000;
    world->knobs->fault_paging = 1;
    assert_int_equal(world_resident(world, &other, 1), FERRY_PENDING);
    assert_int_equal(world_place(world, other).offset, PAGES(14));
    for (unsigned i = 0; i < 50; i++)
        ferry_vidmm_poll(world->manager, true);
    world->knobs->hold_paging = false;
    for (unsigned i = 0; i < 100; i++)
        ferry_vidmm_poll(world->manager, true);
    assert_int_equal(world_statistics(world).faulted_paging_buffers, 1);
    assert_false(world_place(world, other).lost);
    world_check_gpu(world, other, 9);
    for (unsigned i = 0; i < 2; i++) {
        if (world_place(world, old[i]).lost)
            continue;
        void *address;
        unsigned wrong = 0;
        assert_int_equal(ferry_vidmm_lock(world->manager, old[i], D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
        for (uint64_t word = PAGE_SIZE / 4; word < PAGES(20) / 4; word++)
            wrong += ((const uint32_t *)address)[word] != world_word(i, word);
        assert_int_equal(ferry_vidmm_unlock(world->manager, old[i]), FERRY_OK);
        assert_int_equal(wrong, 0);
    }
    world_close(world);
}

// Two page-outs of one program share a buffer, or are those of two, which do not; another one's page-in takes their
// places. What is not lost is as it was.
static void page_outs_for_another(unsigned owners)
{
    struct world *world = program_world();
    struct program programs[3];
    D3DKMT_HANDLE allocations[3];
    for (unsigned i = 0; i < 3; i++) {
        if (i != 1 || owners == 2)
            programs[i] = program_begin(world, i == 2 ? 100 : 1, 0);
        else
            programs[1] = programs[0];
        program_become(world, &programs[i]);
        allocations[i] = world_create(world, PAGES(i == 2 ? 60 : 20), CPU);
        world_write(world, allocations[i], i);
        if (i == 2)
            break;
        world_require(world, allocations[i]);
        // Newer than any copy elsewhere.
        world_wait(world, world_gpu_copy(world, allocations[i], 0, allocations[i], PAGE_SIZE, PAGE_SIZE));
        world_wait(world, world_gpu_copy(world, allocations[i], 0, allocations[i], PAGE_SIZE, PAGE_SIZE));
        assert_int_equal(world_evict(world, allocations[i]), FERRY_OK);
    }
    world->knobs->fault_paging = 1;
    assert_true(world_resident(world, &allocations[2], 1) >= 0);
    for (unsigned i = 0; i < 50; i++)
        ferry_vidmm_poll(world->manager, true);
    assert_int_equal(world_statistics(world).faulted_paging_buffers, 1);
    unsigned wrong = 0;
    for (unsigned i = 0; i < 2; i++) {
        bool lost = world_place(world, allocations[i]).lost;
        void *address;
        // One buffer, whose parts go again, each alone.
        assert_false(lost && owners == 1);
        if (lost)
            continue;
        assert_int_equal(ferry_vidmm_lock(world->manager, allocations[i], D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
        const uint32_t *words = address;
        for (uint64_t word = PAGE_SIZE / 4; word < PAGES(20) / 4; word++)
            wrong += words[word] != world_word(i, word);
        assert_int_equal(ferry_vidmm_unlock(world->manager, allocations[i]), FERRY_OK);
    }
    assert_int_equal(wrong, 0);
    world_close(world);
}

static void what_goes_again_does_not_read_what_came_into_its_place(void **state)
{
    (void)state;
    page_outs_for_another(1);
    page_outs_for_another(2);
}

#define NEVER UINT_MAX

// A short page-in and the beginning of a long one share a buffer. The long one fills all that may be in flight, so it
// is still being built when the first buffer comes back. `faults` buffers go wrong from the shared one on, each comes
// back `delay` turns late, and from turn `busy_from` on the miniport answers BUSY.
static void begin_beside(unsigned faults, unsigned delay, unsigned busy_from)
{
    struct world_options options = world_defaults();
    options.manager.paging_buffer_bytes = 2 * machine_least_page_bytes;
    struct world *world = world_open(&options);
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
    struct program programs[3];
    D3DKMT_HANDLE allocations[3];
    const uint64_t pages[3] = {2, 1, 40};
    world->knobs->scatter_pages = true;
    for (unsigned i = 0; i < 3; i++) {
        programs[i] = program_begin(world, i == 2 ? 10 : 1, 0);
        program_become(world, &programs[i]);
        allocations[i] = world_create(world, PAGES(pages[i]), CPU);
        world_write(world, allocations[i], i);
    }
    world->knobs->delay = delay;
    world->knobs->hold_paging = true;
    world->knobs->hold_turns = 100000;
    uint64_t before = world_statistics(world).paging_buffers;
    for (unsigned i = 0; i < 3; i++) {
        // Only the first has gone out alone: the second is in the open buffer, which goes out while the third is
        // queued.
        assert_int_equal(world_statistics(world).paging_buffers, before + (i > 0));
        world->knobs->fault_paging = i == 2 ? faults : 0;
        program_become(world, &programs[i]);
        assert_int_equal(world_resident(world, &allocations[i], 1), FERRY_PENDING);
    }
    world->knobs->hold_paging = false;
    for (unsigned i = 0; i < 200; i++) {
        if (i == busy_from)
            world->knobs->busy_in_later_pass = true;
        ferry_vidmm_poll(world->manager, true);
    }
    const char *first;
    if (machine_errors(world->machine, &first)) {
        printf("delay %u, BUSY from turn %u on: %s\n", delay, busy_from, first);
        fflush(stdout);
    }
    assert_int_equal(world_statistics(world).faulted_paging_buffers, faults);
    for (unsigned i = 0; i < 3; i++) {
        assert_false(world_place(world, allocations[i]).lost);
        program_become(world, &programs[i]);
        world_check_gpu(world, allocations[i], i);
    }
    world_close(world);
}

static void what_begins_in_a_buffer_that_faults_and_ends_in_another_is_built_again(void **state)
{
    (void)state;
    begin_beside(1, 1, NEVER);
}

// The buffers that go out behind the shared one are all the long one's, and are not looked at any more.
static void faults_of_what_was_taken_back_are_nobodys(void **state)
{
    (void)state;
    begin_beside(3, 1, NEVER);
}

// It is not said to be idle while buffers that name it are still with the device.
static void what_ends_for_nobody_is_not_said_to_be_idle(void **state)
{
    (void)state;
    for (unsigned delay = 1; delay < 8; delay++)
        for (unsigned busy_from = 0; busy_from < 12; busy_from++)
            begin_beside(1, delay, busy_from);
}

// ---- What somebody else's fault must not cost ----

// A stranger's page-in and a transfer of another program into 10 pages share a buffer, which goes out since a job waits
// for the stranger's. It will fault, and is not told of before let_go(). A third program has the 10 pages before them,
// and something larger that is still out.
struct shared {
    struct world *world;
    struct program stranger, victim, third;
    D3DKMT_HANDLE before, theirs, ours, large;
};

static struct shared share_a_buffer(uint64_t large, bool by_unlock)
{
    struct shared s = {.world = program_world()};
    struct world *world = s.world;
    void *address;
    s.stranger = program_begin(world, 1, 0);
    s.victim = program_begin(world, 2, 0);
    s.third = program_begin(world, 5, 0);
    program_become(world, &s.third);
    s.before = world_create(world, PAGES(10), CPU);
    world_write(world, s.before, 7);
    world_require(world, s.before);
    s.large = world_create(world, large, CPU);
    world_write(world, s.large, 3);
    D3DKMT_HANDLE first = world_create(world, PAGES(1), CPU);
    world_write(world, first, 8);
    program_become(world, &s.stranger);
    s.theirs = world_create(world, PAGES(1), CPU);
    world_write(world, s.theirs, 1);
    program_become(world, &s.victim);
    s.ours = world_create(world, PAGES(10), CPU);
    world_write(world, s.ours, by_unlock ? 9 : 2);
    if (by_unlock) {
        world_require(world, s.ours);
        assert_int_equal(ferry_vidmm_lock(world->manager, s.ours, D3DDDI_LOCK_DO_NOT_EVICT, &address), FERRY_OK);
        for (uint64_t word = 0; word < PAGES(10) / 4; word++)
            ((uint32_t *)address)[word] = world_word(2, word);
    }
    world->knobs->delay = 1;
    world->knobs->hold_paging = true;
    world->knobs->hold_turns = 100000;
    // The first goes out at once, the others share the next buffer.
    program_become(world, &s.third);
    assert_int_equal(list_it(world, &s.third, first, true), FERRY_PENDING);
    assert_int_equal(world_evict(world, first), FERRY_OK);
    assert_int_equal(list_it(world, &s.stranger, s.theirs, true), FERRY_PENDING);
    if (by_unlock)
        assert_int_equal(ferry_vidmm_unlock(world->manager, s.ours), FERRY_OK);
    else
        assert_int_equal(list_it(world, &s.victim, s.ours, true), FERRY_PENDING);
    uint64_t buffers = world_statistics(world).paging_buffers;
    world->knobs->fault_paging = 1;
    program_become(world, &s.stranger);
    world_gpu_name(world, world->context, s.theirs, false);
    assert_int_equal(world_statistics(world).paging_buffers, buffers + 1);
    assert_int_equal(world->knobs->fault_paging, 0);
    return s;
}

static void let_go(struct shared *s)
{
    s->world->knobs->hold_paging = false;
    for (unsigned i = 0; i < 200; i++)
        ferry_vidmm_poll(s->world->manager, true);
    assert_int_equal(world_statistics(s->world).faulted_paging_buffers, 1);
    const struct program *programs[] = {&s->stranger, &s->victim, &s->third};
    const D3DKMT_HANDLE allocations[] = {s->theirs, s->ours, s->large};
    for (unsigned i = 0; i < 3; i++) {
        D3DKMT_DEVICEEXECUTION_STATE state;
        assert_int_equal(ferry_vidmm_device_state(s->world->manager, programs[i]->device, &state), FERRY_OK);
        assert_int_equal(state, D3DKMT_DEVICEEXECUTION_ACTIVE);
        assert_false(world_place(s->world, allocations[i]).lost);
        program_become(s->world, programs[i]);
        world_check(s->world, allocations[i], i + 1);
    }
    world_close(s->world);
}

// It left again while its page-in was under way: the content is where it was, and what has come into its place keeps
// the page-in from going again. Nobody has lost anything.
static void content_that_was_taken_back_outlives_a_strangers_fault(void **state)
{
    (void)state;
    struct shared s = share_a_buffer(PAGES(50), false);
    uint64_t out = world_statistics(s.world).bytes_out;
    program_become(s.world, &s.victim);
    assert_int_equal(world_evict(s.world, s.ours), FERRY_OK);
    program_become(s.world, &s.third);
    assert_int_equal(list_it(s.world, &s.third, s.large, true), FERRY_PENDING);
    assert_int_equal(world_place(s.world, s.ours).segment, 0);
    assert_int_equal(world_statistics(s.world).bytes_out, out);
    let_go(&s);
}

// A move reads what the page-in writes: behind a page-in that faults it would leave nothing to make good.
static void a_move_behind_a_page_in_outlives_a_strangers_fault(void **state)
{
    (void)state;
    struct shared s = share_a_buffer(PAGES(51), false);
    program_become(s.world, &s.third);
    // Of 64 pages 53 can be had, and 51 in one piece only when it moves into this place.
    assert_int_equal(ferry_vidmm_destroy_allocation(s.world->manager, s.before), FERRY_OK);
    assert_int_equal(list_it(s.world, &s.third, s.large, true), FERRY_PENDING);
    assert_true(world_statistics(s.world).bytes_moved == PAGES(10));
    let_go(&s);
}

// And so would a page-out of what a lock has just brought up to date.
static void a_page_out_behind_an_unlock_outlives_a_strangers_fault(void **state)
{
    (void)state;
    struct shared s = share_a_buffer(PAGES(50), true);
    program_become(s.world, &s.victim);
    assert_int_equal(world_evict(s.world, s.ours), FERRY_OK);
    program_become(s.world, &s.third);
    assert_int_equal(list_it(s.world, &s.third, s.large, true), FERRY_PENDING);
    assert_int_equal(world_place(s.world, s.ours).segment, 0);
    let_go(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_shares_a_buffer_that_faults_once_is_built_again_alone),
        cmocka_unit_test(only_what_faults_alone_is_lost),
        cmocka_unit_test(a_notice_behind_a_page_in_costs_nobody_its_content),
        cmocka_unit_test(who_is_destroyed_waits_for_what_goes_again_before_a_notice),
        cmocka_unit_test(a_place_that_was_given_away_meanwhile_is_not_read_again),
        cmocka_unit_test(pieces_whose_place_was_given_away_are_not_read_again),
        cmocka_unit_test(what_goes_again_does_not_read_what_came_into_its_place),
        cmocka_unit_test(what_begins_in_a_buffer_that_faults_and_ends_in_another_is_built_again),
        cmocka_unit_test(faults_of_what_was_taken_back_are_nobodys),
        cmocka_unit_test(what_ends_for_nobody_is_not_said_to_be_idle),
        cmocka_unit_test(content_that_was_taken_back_outlives_a_strangers_fault),
        cmocka_unit_test(a_move_behind_a_page_in_outlives_a_strangers_fault),
        cmocka_unit_test(a_page_out_behind_an_unlock_outlives_a_strangers_fault),
    };
    return WORLD_RUN(tests);
}
