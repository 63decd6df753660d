// SPDX-License-Identifier: Apache-2.0
// What locks with Discard have made several instances of is mapped by a program only as long as it has one; and again
// when it has one again. In driver model 2 of both miniports.
#include "discards.h"
#include "updates.h"
#include "vidmm/api/call.h"

struct renamed {
    struct world *world;
    D3DKMT_HANDLE allocation;
    uint64_t reserved;
};

static struct renamed begin_renamed(void)
{
    struct world_options options = updates_options(64, 0);
    struct renamed r = {.world = world_open(&options)};
    assert_int_equal(ferry_vidmm_create_context(r.world->manager, r.world->device, HELD_NODE, &r.world->context, NULL),
                     FERRY_OK);
    r.world->knobs->by_place = true;
    r.allocation = content(r.world, 4, 1);
    r.reserved = reserve(r.world, BASE, 64);
    return r;
}

#define MAPPED (BASE + 0x2000000)

static int try_map(const struct renamed *r)
{
    struct ferry_vidmm_virtual range = {.size = sizeof(range), .address = MAPPED, .bytes = PAGES(4)};
    return ferry_vidmm_map_virtual(r->world->manager, r->world->device, r->allocation, 0, false, &range);
}

static int try_update(const struct renamed *r)
{
    struct ferry_vidmm_updated updated;
    const struct ferry_vidmm_update operation = mapping(r->reserved, 4, r->allocation, 0);
    return ferry_vidmm_update_virtual(r->world->manager, r->world->context, &operation, 1, &updated);
}

// Both ways to map it lead to what it holds.
static void is_mapped(const struct renamed *r, uint32_t seed)
{
    assert_int_equal(world_place(r->world, r->allocation).instances, 1);
    assert_int_equal(try_map(r), FERRY_OK);
    assert_int_equal(try_update(r), FERRY_OK);
    D3DKMT_HANDLE result = content(r->world, 4, 99);
    uint64_t at_result = map(r->world, result, BASE + 0x1000000, 4);
    const uint64_t sources[] = {MAPPED, r->reserved};
    for (unsigned i = 0; i < 2; i++) {
        world_wait(r->world, copy(r->world, r->world->context, (const D3DKMT_HANDLE[2]){result, r->allocation},
                                  at_result, sources[i] + PAGES(i), 64));
        assert_int_equal(word_of(r->world, result, 0), world_word(seed, PAGES(i) / 4));
    }
}

static void what_has_one_instance_again_is_mapped_again(void **state)
{
    (void)state;
    struct renamed r = begin_renamed();
    hold(r.world);
    uint64_t fence = world_gpu_name(r.world, r.world->context, r.allocation, false);
    discard(r.world, r.allocation, 2);
    let_go(r.world, fence);
    world_require(r.world, r.allocation);
    assert_int_equal(world_place(r.world, r.allocation).instances, 2);
    assert_int_equal(try_map(&r), FERRY_ERROR_BUSY);
    assert_int_equal(try_update(&r), FERRY_ERROR_BUSY);
    // The other one leaves for these.
    D3DKMT_HANDLE others[8];
    unsigned count = 0;
    while (world_place(r.world, r.allocation).instances > 1 && count < 8)
        others[count++] = content(r.world, 7, 3);
    while (count-- > 0)
        assert_int_equal(world_evict(r.world, others[count]), FERRY_OK);
    is_mapped(&r, 2);
    // And now no other one is made: it has addresses that were chosen.
    hold(r.world);
    world_gpu_name(r.world, r.world->context, r.allocation, false);
    r.world->knobs->hold_turns = 3;
    discard(r.world, r.allocation, 4);
    assert_int_equal(world_statistics(r.world).discard_stalls, 1);
    assert_int_equal(world_place(r.world, r.allocation).instances, 1);
    world_close(r.world);
}

// Where there are no pages for another instance, it has one as before.
static void what_no_other_instance_could_be_made_of_is_mapped(void **state)
{
    (void)state;
    struct renamed r = begin_renamed();
    hold(r.world);
    world_gpu_name(r.world, r.world->context, r.allocation, false);
    r.world->knobs->host_pages = 0;
    assert_int_equal(try_discard(r.world, r.allocation, 0, 2), FERRY_ERROR_NO_HOST_MEMORY);
    r.world->knobs->host_pages = -1;
    r.world->knobs->hold_node = 0;
    is_mapped(&r, 1);
    world_close(r.world);
}

// The range that each instance has one of is the whole of it, to be written, and the only one. It is not among reserved
// addresses, where an update that maps the same there has a right that it stays.
static void an_address_for_each_instance_is_of_all_of_it_and_one(void **state)
{
    (void)state;
    struct renamed r = begin_renamed();
    struct ferry_vidmm_virtual range = {
        .size = sizeof(range), .address = MAPPED, .bytes = PAGES(3), .each_instance = true};
    uint64_t own = 1;
#define TRY(read_only) ferry_vidmm_map_virtual(r.world->manager, r.world->device, r.allocation, 0, read_only, &range)
    assert_int_equal(TRY(false), FERRY_ERROR_ARGUMENT);
    range.bytes = PAGES(4);
    assert_int_equal(TRY(true), FERRY_ERROR_ARGUMENT);
    struct ferry_vidmm_virtual reserved = {.size = sizeof(reserved), .address = MAPPED, .bytes = PAGES(16)};
    assert_int_equal(ferry_vidmm_reserve_virtual(r.world->manager, r.world->device, &reserved), FERRY_OK);
    range.address = MAPPED + PAGES(4);
    assert_int_equal(TRY(false), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_free_virtual(r.world->manager, r.world->device, MAPPED, PAGES(16)), FERRY_OK);
    range.address = MAPPED;
    assert_int_equal(ferry_vidmm_own_address(r.world->manager, r.allocation, &own), FERRY_OK);
    assert_int_equal(own, 0);
    assert_int_equal(TRY(false), FERRY_OK);
    assert_int_equal(ferry_vidmm_own_address(r.world->manager, r.allocation, &own), FERRY_OK);
    assert_int_equal(own, MAPPED);
    range.address = MAPPED + 0x100000;
    assert_int_equal(TRY(false), FERRY_ERROR_ARGUMENT);
#undef TRY
    world_close(r.world);
}

// Each instance has a range of its own, and what is queued for it is known to be for this one: it stays behind nothing
// that another one's range waits for.
static void what_shows_an_instance_is_queued_for_that_one(void **state)
{
    (void)state;
    struct renamed r = begin_renamed();
    struct ferry_vidmm_virtual range = {
        .size = sizeof(range), .address = MAPPED, .bytes = PAGES(4), .each_instance = true};
    assert_int_equal(ferry_vidmm_map_virtual(r.world->manager, r.world->device, r.allocation, 0, false, &range),
                     FERRY_OK);
    turns(r.world, 20);
    r.world->knobs->delay = 1;
    r.world->knobs->hold_paging = true;
    r.world->knobs->hold_turns = UINT32_MAX;
    hold(r.world);
    const struct ferry_vm_sched *sched = &r.world->manager->sched;
    const struct ferry_vm_allocation *before =
        ferry_vm_handle_find(&r.world->manager->core.handles, FERRY_VM_ALLOCATION, r.allocation);
    const uint32_t first = before->subject.instance;
    world_gpu_name(r.world, r.world->context, r.allocation, false);
    discard(r.world, r.allocation, 2);
    assert_int_equal(world_resident(r.world, &r.allocation, 1), FERRY_PENDING);
    const struct ferry_vm_allocation *now =
        ferry_vm_handle_find(&r.world->manager->core.handles, FERRY_VM_ALLOCATION, r.allocation);
    assert_int_not_equal(now->subject.instance, first);
    unsigned found = 0;
    for (uint64_t number = sched->done + 1; number <= sched->queued; number++) {
        const struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
        if (!ferry_vm_is_about_addresses(operation))
            continue;
        found++;
        assert_int_equal(operation->allocation, r.allocation);
        assert_int_equal(operation->instance, now->subject.instance);
    }
    assert_int_not_equal(found, 0);
    r.world->knobs->hold_paging = false;
    r.world->knobs->hold_node = 0;
    turns(r.world, 50);
    world_close(r.world);
}

// Another instance is mapped where whoever mapped the first one may look for it: not below it.
static void an_instance_is_mapped_behind_the_one_before(void **state)
{
    (void)state;
    struct renamed r = begin_renamed();
    uint64_t own = 0;
    struct ferry_vidmm_virtual range = {
        .size = sizeof(range), .address = MAPPED, .bytes = PAGES(4), .each_instance = true};
    assert_int_equal(ferry_vidmm_map_virtual(r.world->manager, r.world->device, r.allocation, 0, false, &range),
                     FERRY_OK);
    hold(r.world);
    uint64_t fence = world_gpu_name(r.world, r.world->context, r.allocation, false);
    discard(r.world, r.allocation, 2);
    let_go(r.world, fence);
    assert_int_equal(world_place(r.world, r.allocation).instances, 2);
    assert_int_equal(ferry_vidmm_own_address(r.world->manager, r.allocation, &own), FERRY_OK);
    assert_in_range(own, MAPPED + PAGES(4), UINT64_MAX);
    world_close(r.world);
}

// Without page tables for its addresses there is no other instance, and of what was made for it nothing is left.
static void what_no_addresses_are_left_for_has_no_other_instance(void **state)
{
    (void)state;
    struct renamed r = begin_renamed();
    struct ferry_vidmm_virtual range = {
        .size = sizeof(range), .address = MAPPED, .bytes = PAGES(4), .each_instance = true};
    D3DKMT_HANDLE many = content(r.world, 8, 3);
    assert_int_equal(ferry_vidmm_map_virtual(r.world->manager, r.world->device, r.allocation, 0, false, &range),
                     FERRY_OK);
    // Its own table is full, and no other one is left.
    for (uint64_t page = 4; page < 512; page += 4)
        map(r.world, many, MAPPED + PAGES(page), 4);
    int result = FERRY_OK;
    for (uint64_t i = 1; result == FERRY_OK; i++) {
        struct ferry_vidmm_virtual other = {
            .size = sizeof(other), .address = MAPPED - i * UINT64_C(0x200000), .bytes = PAGES(1)};
        result = ferry_vidmm_map_virtual(r.world->manager, r.world->device, many, 0, false, &other);
    }
    assert_int_equal(result, FERRY_ERROR_NO_VIDEO_MEMORY);
    hold(r.world);
    world_gpu_name(r.world, r.world->context, r.allocation, false);
    r.world->knobs->delay = 1;
    r.world->knobs->hold_turns = 3;
    discard(r.world, r.allocation, 2);
    assert_int_equal(world_place(r.world, r.allocation).instances, 1);
    // All host pages are given back.
    world_close(r.world);
}

// An update has mapped it, a job that names it is held, and another update takes it away behind that job. The job's
// fence.
static uint64_t goes_behind_a_job(struct renamed *r)
{
    assert_int_equal(try_update(r), FERRY_OK);
    turns(r->world, 20);
    r->world->knobs->delay = 1;
    hold(r->world);
    uint64_t fence = world_gpu_name(r->world, r->world->context, r->allocation, false);
    struct ferry_vidmm_update operation = mapping(r->reserved, 4, r->allocation, 0);
    operation.kind = FERRY_VIDMM_UNMAP;
    update(r->world, r->world->context, &operation, 1);
    return fence;
}

// What an update has yet to take from one instance is none of another's.
static void another_instance_has_no_updates_of_the_one_before(void **state)
{
    (void)state;
    struct renamed r = begin_renamed();
    uint64_t fence = goes_behind_a_job(&r);
    const struct ferry_vm_allocation *before =
        ferry_vm_handle_find(&r.world->manager->core.handles, FERRY_VM_ALLOCATION, r.allocation);
    assert_int_not_equal(before->subject.first_update, 0);
    discard(r.world, r.allocation, 2);
    const struct ferry_vm_allocation *now =
        ferry_vm_handle_find(&r.world->manager->core.handles, FERRY_VM_ALLOCATION, r.allocation);
    assert_ptr_not_equal(now, before);
    assert_int_equal(now->subject.first_update, 0);
    let_go(r.world, fence);
    turns(r.world, 20);
    assert_int_equal(before->subject.first_update, 0);
    world_check(r.world, r.allocation, 2);
    world_close(r.world);
}

// The one before goes for want of room, and what an update takes away of it waits for its job still: that is nobody's
// then.
static void what_an_update_takes_from_an_instance_outlives_it(void **state)
{
    (void)state;
    struct renamed r = begin_renamed();
    uint64_t fence = goes_behind_a_job(&r);
    discard(r.world, r.allocation, 2);
    world_require(r.world, r.allocation);
    assert_int_equal(world_place(r.world, r.allocation).instances, 2);
    D3DKMT_HANDLE room = world_create(r.world, PAGES(52), CPU);
    assert_int_equal(world_resident(r.world, &room, 1), FERRY_PENDING);
    assert_int_equal(world_place(r.world, r.allocation).instances, 1);
    assert_false(is_over(r.world, r.world->context, fence));
    let_go(r.world, fence);
    turns(r.world, 20);
    world_check(r.world, r.allocation, 2);
    world_close(r.world);
}

// A job that was recorded with the address of one instance is for that one alone: whichever comes after it, above it or
// below it.
static void a_job_for_another_instance_is_not_taken(void **state)
{
    (void)state;
    struct renamed r = begin_renamed();
    uint64_t fence, addresses[2];
    struct ferry_vidmm_virtual range = {
        .size = sizeof(range), .address = MAPPED, .bytes = PAGES(4), .each_instance = true};
    struct machine_job job = {.bytes = 0};
    const struct ferry_vidmm_reference reference = {r.allocation, false};
    struct ferry_vidmm_submission submission = {
        .commands = job.commands, .bytes = 0, .references = &reference, .reference_count = 1};
    assert_int_equal(ferry_vidmm_map_virtual(r.world->manager, r.world->device, r.allocation, 0, false, &range),
                     FERRY_OK);
    machine_job_copy(&job, 0, 0, 0, PAGES(1), 64);
    submission.bytes = job.bytes;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t *now = &addresses[i % 2], *before = &addresses[(i + 1) % 2];
        assert_int_equal(ferry_vidmm_own_address(r.world->manager, r.allocation, now), FERRY_OK);
        world_require(r.world, r.allocation);
        for (unsigned patch = 0; patch < job.patch_count; patch++)
            machine_job_by_address(job.commands, &job.patches[patch], *now + PAGES(patch));
        if (i > 0) {
            assert_true(i == 1 ? *before < *now : *before > *now);
            submission.addresses = before;
            assert_int_equal(ferry_vidmm_submit(r.world->manager, r.world->context, &submission, 1, &fence),
                             FERRY_VIDMM_RENAMED);
        }
        hold(r.world);
        submission.addresses = now;
        assert_int_equal(ferry_vidmm_submit(r.world->manager, r.world->context, &submission, 1, &fence), FERRY_OK);
        discard(r.world, r.allocation, i);
        assert_int_equal(world_place(r.world, r.allocation).instances, 2);
        let_go(r.world, fence);
        assert_int_equal(world_evict(r.world, r.allocation), FERRY_OK);
    }
    world_close(r.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_one_instance_again_is_mapped_again),
        cmocka_unit_test(what_no_other_instance_could_be_made_of_is_mapped),
        cmocka_unit_test(an_address_for_each_instance_is_of_all_of_it_and_one),
        cmocka_unit_test(what_shows_an_instance_is_queued_for_that_one),
        cmocka_unit_test(an_instance_is_mapped_behind_the_one_before),
        cmocka_unit_test(what_no_addresses_are_left_for_has_no_other_instance),
        cmocka_unit_test(another_instance_has_no_updates_of_the_one_before),
        cmocka_unit_test(a_job_for_another_instance_is_not_taken),
        cmocka_unit_test(what_an_update_takes_from_an_instance_outlives_it),
    };
    return WORLD_RUN(tests);
}
