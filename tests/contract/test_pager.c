// SPDX-License-Identifier: Apache-2.0
// What stands in the pager's line behind a job that does not end: who has nothing to do with it goes on, what waits
// holds no more than so much host memory, and what a reset aborts half-way is made good.
#include "vidmm/api/manager.h"
#include "vidmm/sched/paging.h"
#include "world.h"

// A device of its own beside the world's, on the other node.
struct neighbour {
    D3DKMT_HANDLE device, queue, context;
};

static struct neighbour neighbour_open(struct world *world)
{
    struct neighbour n;
    assert_int_equal(ferry_vidmm_create_device(world->manager, &n.device), FERRY_OK);
    assert_int_equal(ferry_vidmm_create_paging_queue(world->manager, n.device, 0, &n.queue), FERRY_OK);
    assert_int_equal(ferry_vidmm_create_context(world->manager, n.device, 2, &n.context, NULL), FERRY_OK);
    return n;
}

static D3DKMT_HANDLE neighbour_create(struct world *world, const struct neighbour *n, uint64_t bytes, uint32_t seed)
{
    D3DKMT_HANDLE mine = world->device;
    world->device = n->device;
    D3DKMT_HANDLE allocation = world_create(world, bytes, CPU);
    world->device = mine;
    world_write(world, allocation, seed);
    return allocation;
}

static uint64_t neighbour_resident(struct world *world, const struct neighbour *n, D3DKMT_HANDLE allocation)
{
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = n->queue, .NumAllocations = 1, .AllocationList = &allocation};
    assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_PENDING);
    return arguments.PagingFenceValue;
}

// The world's own jobs go to node 1 and stay there.
static void hold_jobs(struct world *world)
{
    D3DKMT_HANDLE context;
    assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, 1, &context, NULL), FERRY_OK);
    world->context = context;
    world->knobs->delay = 1;
    world->knobs->hold_node = 1;
}

// a's page-out waits for the job, c's page-in for a's place.
static void hold_a_page_out(struct world *world, D3DKMT_HANDLE *a, D3DKMT_HANDLE *c)
{
    *a = world_create(world, PAGES(20), CPU);
    *c = world_create(world, PAGES(30), CPU);
    world_write(world, *a, 1);
    world_write(world, *c, 3);
    world_require(world, *a);
    hold_jobs(world);
    world_gpu_copy(world, *a, PAGE_SIZE, *a, 0, PAGE_SIZE);
    assert_int_equal(world_evict(world, *a), FERRY_OK);
}

static void other_devices_paging_overtakes_a_page_out_that_waits_for_a_job(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    struct neighbour n = neighbour_open(world);
    D3DKMT_HANDLE a, c, theirs = neighbour_create(world, &n, PAGES(10), 7),
                        first = neighbour_create(world, &n, PAGES(20), 8);
    assert_int_equal(ferry_vidmm_wait_paging(world->manager, n.queue, neighbour_resident(world, &n, first)), FERRY_OK);
    hold_a_page_out(world, &a, &c);
    assert_int_equal(world_resident(world, &c, 1), FERRY_PENDING);
    assert_int_equal(world_place(world, a).segment, 0);
    // Theirs goes where nobody was. Its job runs as soon as it is there, and so does one on what was there before.
    uint64_t value = neighbour_resident(world, &n, theirs);
    struct machine_job job = {0};
    machine_job_copy(&job, 0, 0, 1, 0, PAGE_SIZE);
    struct ferry_vidmm_reference references[] = {{first, true}, {theirs, false}};
    uint64_t fence = world_submit(world, n.context, &job, references, 2), seen;
    assert_int_equal(ferry_vidmm_wait_paging(world->manager, n.queue, value), FERRY_OK);
    assert_int_equal(ferry_vidmm_wait(world->manager, n.context, fence), FERRY_OK);
    assert_int_equal(world->knobs->hold_node, 1);
    world_check_gpu(world, theirs, 7);
    assert_int_equal(ferry_vidmm_paging_fence(world->manager, world->queue, &seen), FERRY_OK);
    assert_int_equal(world_statistics(world).faulted_jobs, 0);
    world->knobs->hold_node = 0;
    world_check(world, c, 3);
    assert_int_equal(world_statistics(world).faulted_jobs, 0);
    world_close(world);
}

// c's page-in was kept back by a's page-out, which waited for a job. When the job is over both go out one behind the
// other: c's waits for no more than its turn, not until a's has run.
static void what_was_kept_back_goes_out_as_soon_as_who_kept_it_back(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a, b = world_create(world, PAGES(20), CPU), c;
    world_require(world, b);
    hold_a_page_out(world, &a, &c);
    assert_int_equal(world_resident(world, &c, 1), FERRY_PENDING);
    for (unsigned i = 0; i < 4; i++)
        (void)ferry_vidmm_poll(world->manager, true); // looked for, and not found
    spy_clear();
    world->knobs->hold_paging = true;
    world->knobs->hold_node = 0;
    for (unsigned i = 0; i < 20; i++)
        (void)ferry_vidmm_poll(world->manager, true);
    unsigned out = 0, in = 0;
    for (size_t i = 0; i < spy_builds(DXGK_OPERATION_TRANSFER); i++) {
        const struct spy_entry *entry = spy_build(DXGK_OPERATION_TRANSFER, i);
        out += entry->status == STATUS_SUCCESS && entry->before.Transfer.Destination.SegmentId == 0;
        in += entry->status == STATUS_SUCCESS && entry->before.Transfer.Source.SegmentId == 0;
    }
    assert_int_equal(out, 1);
    assert_int_equal(in, 1);
    world->knobs->hold_paging = false;
    world_check(world, c, 3);
    world_close(world);
}

// Does something that has been built lie in a buffer that has not gone out?
static bool lies_open(struct world *world)
{
    for (unsigned i = 0; i < 4; i++)
        (void)ferry_vidmm_poll(world->manager, true);
    return ferry_vm_holds_something(&world->manager->sched);
}

// A buffer is with the device, and another one lies open: it goes out too when what comes behind waits for a job.
static void an_open_buffer_goes_out_when_what_comes_behind_waits(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    struct neighbour n = neighbour_open(world);
    D3DKMT_HANDLE a, c, first = neighbour_create(world, &n, PAGES(20), 7),
                        second = neighbour_create(world, &n, PAGES(5), 8);
    hold_a_page_out(world, &a, &c);
    world->knobs->hold_paging = true;
    neighbour_resident(world, &n, first);
    assert_false(lies_open(world));
    neighbour_resident(world, &n, second);
    assert_true(lies_open(world));
    assert_int_equal(world_resident(world, &c, 1), FERRY_PENDING);
    assert_int_equal(world_place(world, a).segment, 0);
    assert_false(lies_open(world));
    world->knobs->hold_paging = false;
    world->knobs->hold_node = 0;
    world_check(world, c, 3);
    world_close(world);
}

static void R238_do_not_wait_waits_for_nobodys_job(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a, b = world_create(world, PAGES(20), CPU), c;
    world_write(world, b, 2);
    world_require(world, b);
    hold_a_page_out(world, &a, &c);
    assert_int_equal(world_resident(world, &c, 1), FERRY_PENDING);
    void *address;
    // b has only its own copy to wait for; a and c stand behind the job.
    assert_int_equal(ferry_vidmm_lock(world->manager, b, D3DDDI_LOCK_DO_NOT_WAIT | D3DDDI_LOCK_READ_ONLY, &address),
                     FERRY_OK);
    assert_int_equal(((const uint32_t *)address)[1], world_word(2, 1));
    assert_int_equal(ferry_vidmm_unlock(world->manager, b), FERRY_OK);
    assert_int_equal(ferry_vidmm_lock(world->manager, c, D3DDDI_LOCK_DO_NOT_WAIT | D3DDDI_LOCK_READ_ONLY, &address),
                     FERRY_ERROR_BUSY);
    assert_int_equal(ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_DO_NOT_WAIT | D3DDDI_LOCK_READ_ONLY, &address),
                     FERRY_ERROR_BUSY);
    assert_int_equal(world->knobs->hold_node, 1);
    world->knobs->hold_node = 0;
    world_check(world, c, 3);
    assert_int_equal(ferry_vidmm_lock(world->manager, c, D3DDDI_LOCK_DO_NOT_WAIT | D3DDDI_LOCK_READ_ONLY, &address),
                     FERRY_OK);
    assert_int_equal(ferry_vidmm_unlock(world->manager, c), FERRY_OK);
    world_close(world);
}

// What goes to a place comes after what leaves it, and after what left it before that, though the places behind and
// before are free to take.
static void what_takes_a_place_that_is_waited_for_waits_too(void **state)
{
    (void)state;
    for (unsigned pieces = 0; pieces < 2; pieces++) {
        struct world_options options = world_defaults();
        options.manager.sub_transfer_bytes = pieces ? PAGE_SIZE : 0;
        options.manager.memory_limit_bytes = PAGES(24);
        struct world *world = world_open(&options);
        D3DKMT_HANDLE a = world_create(world, PAGES(8), CPU), rest = world_create(world, PAGES(12), CPU), b, c;
        world_write(world, a, 1);
        world_write(world, rest, 2);
        world_require(world, a);
        world_require(world, rest);
        b = world_create(world, PAGES(12), CPU);
        c = world_create(world, PAGES(9), CPU);
        world_write(world, b, 3);
        world_write(world, c, 4);
        hold_jobs(world);
        world_gpu_copy(world, a, 0, a, 0, PAGE_SIZE);
        assert_int_equal(world_evict(world, a), FERRY_OK);
        assert_int_equal(world_evict(world, rest), FERRY_OK);
        assert_int_equal(world_resident(world, &b, 1), FERRY_PENDING);
        assert_int_equal(world_resident(world, &c, 1), FERRY_PENDING);
        for (unsigned i = 0; i < 20; i++)
            ferry_vidmm_poll(world->manager, true);
        assert_int_equal(world->knobs->hold_node, 1);
        world->knobs->hold_node = 0;
        world_check(world, a, 1);
        world_check(world, rest, 2);
        world_check(world, b, 3);
        world_check(world, c, 4);
        world_close(world);
    }
}

// What moves without a copy, because it is still a pattern or its backing store has it, leaves its place no sooner than
// its jobs are done with it.
static void what_moves_without_a_copy_keeps_its_place_until_its_jobs_are_over(void **state)
{
    (void)state;
    for (unsigned fresh = 0; fresh < 2; fresh++) {
        struct world_options options = world_defaults();
        options.manager.memory_limit_bytes = PAGES(1 + 2 + 12 + 10);
        struct world *world = world_open(&options);
        D3DKMT_HANDLE sink = world_create(world, PAGES(1), CPU), hole = world_create(world, PAGES(2), CPU),
                      a = world_create_filled(world, PAGES(12), fresh ? CPU : PERMANENT, 0xFACADE),
                      large = world_create(world, PAGES(12), CPU);
        if (!fresh)
            world_write(world, a, 1);
        world_write(world, large, 2);
        world_require(world, sink);
        world_require(world, hole);
        world_require(world, a);
        hold_jobs(world);
        uint64_t fence = world_gpu_copy(world, sink, 0, a, PAGES(11), PAGE_SIZE);
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, hole), FERRY_OK);
        assert_int_equal(world_resident(world, &large, 1), FERRY_PENDING);
        assert_int_equal(world_place(world, a).offset, PAGES(1));
        for (unsigned i = 0; i < 20; i++)
            ferry_vidmm_poll(world->manager, true);
        assert_int_equal(world->knobs->hold_node, 1);
        world->knobs->hold_node = 0;
        world_wait(world, fence);
        void *address;
        assert_int_equal(ferry_vidmm_lock(world->manager, sink, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
        for (uint32_t i = 0; i < PAGE_SIZE / 4; i++)
            assert_int_equal(((const uint32_t *)address)[i],
                             fresh ? 0xFACADE : world_word(1, 11 * (PAGE_SIZE / 4) + i));
        assert_int_equal(ferry_vidmm_unlock(world->manager, sink), FERRY_OK);
        world_check(world, large, 2);
        world_close(world);
    }
}

static void no_turn(void *context)
{
    (void)context;
    fail_msg("somebody waits");
}

static void page_ins_that_wait_hold_no_more_than_so_much_host_memory(void **state)
{
    (void)state;
    for (unsigned writes = 0; writes < 2; writes++) {
        struct world *world = world_open_default();
        D3DKMT_HANDLE a = world_create(world, PAGES(40), CPU), b = world_create(world, PAGES(40), CPU);
        world_write(world, a, 1);
        world_write(world, b, 2);
        world_require(world, a);
        world->knobs->delay = 1;
        world->knobs->hang = true;
        world_gpu_copy(world, a, PAGE_SIZE, a, 0, PAGE_SIZE);
        for (unsigned i = 0; i < 100; i++) {
            D3DKMT_HANDLE next = i % 2 ? a : b;
            assert_int_equal(world_evict(world, i % 2 ? b : a), FERRY_OK);
            assert_true(world_resident(world, &next, 1) >= 0);
            // Written each time, it has to be paged out each time; then it is submit() that waits.
            if (writes)
                world_gpu_copy(world, next, PAGES(1), next, PAGES(2), PAGE_SIZE);
            // What both are when both are out, what may wait for its page-in, and one generation more of each.
            assert_true(world_statistics(world).backing_bytes <= PAGES(80 + 64 + 40 + 40));
        }
        assert_true(world->knobs->hang == !writes);
        void *address;
        assert_int_equal(ferry_vidmm_lock(world->manager, b, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
        for (uint64_t i = 0; i < PAGES(40) / 4; i++) {
            uint64_t page = i / (PAGE_SIZE / 4), at = i % (PAGE_SIZE / 4);
            uint64_t from = page == 1 && writes ? 2 : page;
            assert_int_equal(((const uint32_t *)address)[i], world_word(2, from * (PAGE_SIZE / 4) + at));
        }
        assert_int_equal(ferry_vidmm_unlock(world->manager, b), FERRY_OK);
        world_close(world);
    }
}

// How many pages have waited for their page-in before says nothing of how many wait now.
static void what_has_come_in_holds_no_host_memory_any_more(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(40), CPU), b = world_create(world, PAGES(40), CPU);
    for (unsigned i = 0; i < 8; i++) {
        world_write(world, i % 2 ? a : b, i);
        world_require(world, i % 2 ? a : b);
        assert_int_equal(world_evict(world, i % 2 ? a : b), FERRY_OK);
    }
    world_require(world, a);
    // One page-in under way is no reason to wait for it.
    D3DKMT_HANDLE small = world_create(world, PAGES(4), CPU);
    world_write(world, small, 9);
    world->knobs->delay = 1;
    world->knobs->hold_paging = true;
    assert_int_equal(world_resident(world, &small, 1), FERRY_PENDING);
    world->knobs->before_turn = no_turn;
    uint64_t fence = world_gpu_name(world, world->context, small, false);
    world->knobs->before_turn = NULL;
    world->knobs->hold_paging = false;
    world_wait(world, fence);
    world_check_gpu(world, small, 9);
    world_close(world);
}

// A block moves down over its own place, and the device is reset while it does, at every moment.
static void a_move_over_its_own_place_survives_a_reset_at_any_moment(void **state)
{
    (void)state;
    for (unsigned down = 2; down <= 5; down += 3) {
        for (unsigned turns = 0; turns < 24; turns++) {
            struct world_options options = world_defaults();
            options.manager.memory_limit_bytes = PAGES(32);
            struct world *world = world_open(&options);
            D3DKMT_HANDLE hole = world_create(world, PAGES(down), CPU), a = world_create(world, PAGES(20), CPU),
                          large = world_create(world, PAGES(12), CPU);
            world_write(world, a, 1);
            world_write(world, large, 2);
            world_require(world, hole);
            world_require(world, a);
            world_wait(world, world_gpu_copy(world, a, 0, a, 0, PAGE_SIZE)); // nothing but video memory has it
            assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, hole), FERRY_OK);
            world->knobs->delay = 1;
            assert_int_equal(world_resident(world, &large, 1), FERRY_PENDING);
            assert_int_equal(world_place(world, a).offset, 0);
            for (unsigned i = 0; i < turns; i++)
                ferry_vidmm_poll(world->manager, true);
            world->knobs->late_abort = turns % 2;
            assert_int_equal(ferry_vidmm_reset_engine(world->manager), FERRY_OK);
            world_check(world, a, 1);
            world_check(world, large, 2);
            assert_false(world_place(world, a).lost);
            assert_int_equal(world_statistics(world).faulted_paging_buffers, 0);
            world_close(world);
        }
    }
}

// ---- Values of a paging queue ----

#define REACHED 10 // before the line of pending values grows, so that it begins in the middle of its ring
#define PENDING 40

static struct {
    uint64_t last;
    unsigned count;
} signals;

static void note_signal(void *context, const struct ferry_vidmm_event *event)
{
    (void)context;
    if (event->kind != FERRY_VIDMM_EVENT_FENCE_SIGNAL)
        return;
    assert_int_equal(event->value, signals.last + 1);
    signals.last = event->value;
    signals.count++;
}

static void R218_however_many_values_are_pending_each_is_told_in_its_turn(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    signals.last = signals.count = 0;
    assert_int_equal(ferry_vidmm_observe(world->manager, note_signal, NULL), FERRY_OK);
    world->knobs->delay = 1;
    uint64_t reached;
    for (unsigned i = 1; i <= REACHED; i++)
        world_require(world, world_create(world, PAGES(1), CPU));
    assert_int_equal(signals.count, REACHED);
    world->knobs->hold_paging = true;
    for (unsigned i = 1; i <= PENDING; i++) {
        D3DKMT_HANDLE one = world_create(world, PAGES(1), CPU);
        D3DDDI_MAKERESIDENT make = {.hPagingQueue = world->queue, .NumAllocations = 1, .AllocationList = &one};
        assert_int_equal(ferry_vidmm_make_resident(world->manager, &make), FERRY_PENDING);
        assert_int_equal(make.PagingFenceValue, REACHED + i);
    }
    assert_int_equal(ferry_vidmm_paging_fence(world->manager, world->queue, &reached), FERRY_OK);
    assert_int_equal(reached, REACHED);
    world->knobs->hold_paging = false;
    for (unsigned i = 1; i <= PENDING; i++) {
        assert_int_equal(ferry_vidmm_wait_paging(world->manager, world->queue, REACHED + i), FERRY_OK);
        assert_int_equal(ferry_vidmm_paging_fence(world->manager, world->queue, &reached), FERRY_OK);
        assert_true(reached >= REACHED + i);
    }
    assert_int_equal(signals.count, REACHED + PENDING);
    assert_int_equal(ferry_vidmm_observe(world->manager, NULL, NULL), FERRY_OK);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_devices_paging_overtakes_a_page_out_that_waits_for_a_job),
        cmocka_unit_test(what_was_kept_back_goes_out_as_soon_as_who_kept_it_back),
        cmocka_unit_test(an_open_buffer_goes_out_when_what_comes_behind_waits),
        cmocka_unit_test(R238_do_not_wait_waits_for_nobodys_job),
        cmocka_unit_test(what_takes_a_place_that_is_waited_for_waits_too),
        cmocka_unit_test(what_moves_without_a_copy_keeps_its_place_until_its_jobs_are_over),
        cmocka_unit_test(page_ins_that_wait_hold_no_more_than_so_much_host_memory),
        cmocka_unit_test(what_has_come_in_holds_no_host_memory_any_more),
        cmocka_unit_test(a_move_over_its_own_place_survives_a_reset_at_any_moment),
        cmocka_unit_test(R218_however_many_values_are_pending_each_is_told_in_its_turn),
    };
    return WORLD_RUN(tests);
}
