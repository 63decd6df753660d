// SPDX-License-Identifier: Apache-2.0
// The IOMMU model: pages of an aperture are the device's for as long as they are in it. Notice, commands, submission,
// all paging over, and only then does the root complex take them away; what it took away it refuses.
#include "iommu.h"
#include "vidmm/api/manager.h"

static uint64_t drawn;
static uint32_t draw(uint32_t below)
{
    return draw_below(&drawn, below);
}

// Where the device sees its pages now.
static void addresses_of(struct world *world, D3DKMT_HANDLE allocation, uint64_t *bus)
{
    struct ferry_vidmm_placement place = world_place(world, allocation);
    for (uint64_t i = 0; i < place.bytes / PAGE_SIZE; i++)
        bus[i] = machine_aperture_entry(world->machine, place.offset / PAGE_SIZE + i, NULL);
}

static unsigned reached(const struct world *world, const uint64_t *bus, unsigned pages)
{
    unsigned count = 0;
    for (unsigned i = 0; i < pages; i++)
        count += machine_reaches(world->machine, bus[i]);
    return count;
}

static size_t next(size_t at, enum spy_kind kind)
{
    while (at < spy.count && spy.entries[at].kind != kind)
        at++;
    return at;
}

static size_t next_build(size_t at, DXGK_BUILDPAGINGBUFFER_OPERATION operation)
{
    for (at = next(at, SPY_BUILD); at < spy.count; at = next(at + 1, SPY_BUILD))
        if (spy.entries[at].before.Operation == operation)
            return at;
    return spy.count;
}

static void R195_R196_R198_steps_in_order_and_then_the_pages_are_refused(void **state)
{
    (void)state;
    drawn = seed_given(1);
    for (unsigned run = 0; run < machine_rounds(16, 3); run++) {
        struct world *world = begin(run % 3 == 2 ? 512 : 0);
        D3DKMT_HANDLE allocation = noticed(world, SIZE);
        uint64_t bus[SIZE], again[SIZE];
        world_write(world, allocation, run);
        world_require(world, allocation);
        addresses_of(world, allocation, bus);
        assert_int_equal(reached(world, bus, SIZE), SIZE);
        world->knobs->delay = draw(5);
        spy_clear();
        push_out(world, allocation);
        settle(world);
        assert_int_equal(spy.operations[DXGK_OPERATION_NOTIFY_ALLOC], 1);
        size_t notice = next_build(0, DXGK_OPERATION_NOTIFY_ALLOC);
        const DXGK_BUILDPAGINGBUFFER_NOTIFYALLOC *n = &spy.entries[notice].before.NotifyAllocation;
        assert_int_equal(n->Flags.Value, 2);
        assert_int_equal(n->OffsetInBytes, 0);
        assert_int_equal(n->SizeInBytes, PAGES(SIZE));
        while (spy.entries[notice].status != STATUS_SUCCESS)
            notice = next_build(notice + 1, DXGK_OPERATION_NOTIFY_ALLOC);
        assert_true(spy.entries[notice].written > 0); // commands of the driver
        size_t submit = next(notice, SPY_SUBMIT), unmapped = next(0, SPY_PAGES_UNMAPPED);
        assert_true(submit < unmapped && unmapped < spy.count);
        assert_true(spy.entries[submit].submit.Flags.Paging);
        // Over, by what the miniport says, and not only submitted.
        assert_true((int32_t)(spy.entries[unmapped].done - spy.entries[submit].submit.SubmissionFenceId) >= 0);
        assert_true(next_build(0, DXGK_OPERATION_UNMAP_APERTURE_SEGMENT) < unmapped);
        assert_int_equal(reached(world, bus, SIZE), 0);
        world_check(world, allocation, run);
        assert_int_equal(reached(world, bus, SIZE), 0);
        // Back again, at addresses that were given out before anything was built with them.
        spy_clear();
        world_require(world, allocation);
        assert_true(next(0, SPY_PAGES_MAPPED) < next_build(0, DXGK_OPERATION_MAP_APERTURE_SEGMENT));
        addresses_of(world, allocation, again);
        assert_int_equal(reached(world, again, SIZE), SIZE);
        world_check_gpu(world, allocation, run);
        push_out(world, allocation);
        settle(world);
        assert_int_equal(reached(world, again, SIZE), 0);
        world_close(world);
    }
}

// A page-out of somebody else stands in the line before, and waits for a job.
static void R199_every_paging_operation_is_waited_for(void **state)
{
    (void)state;
    struct world *world = begin(0);
    D3DKMT_HANDLE allocation = noticed(world, SIZE);
    uint64_t bus[SIZE];
    world_write(world, allocation, 1);
    world_require(world, allocation);
    addresses_of(world, allocation, bus);
    stand_in_the_line(world);
    D3DKMT_HANDLE more = create(world, APERTURE_PAGES - 1, 0);
    assert_true(world_evict(world, allocation) >= 0);
    world_require(world, more); // and nobody else does
    for (unsigned i = 0; i < 40; i++)
        ferry_vidmm_poll(world->manager, true);
    assert_int_equal(spy.operations[DXGK_OPERATION_NOTIFY_ALLOC], 1);
    assert_int_equal(spy.operations[DXGK_OPERATION_TRANSFER], 0);
    assert_int_equal(next(0, SPY_PAGES_UNMAPPED), spy.count);
    assert_int_equal(reached(world, bus, SIZE), SIZE);
    world_check(world, allocation, 1); // which does not wait for it
    assert_int_equal(machine_queued_jobs(world->machine), 1);
    let_go(world);
    settle(world);
    assert_int_equal(reached(world, bus, SIZE), 0);
    size_t out = next_build(0, DXGK_OPERATION_TRANSFER);
    assert_true(out < next(0, SPY_PAGES_UNMAPPED));
    world_check(world, allocation, 1);
    world_close(world);
}

// Who comes back before everybody else is done keeps its pages, and waits for none of them.
static void who_comes_back_before_keeps_its_pages(void **state)
{
    (void)state;
    struct world *world = begin(0);
    D3DKMT_HANDLE allocation = noticed(world, SIZE);
    uint64_t bus[SIZE], again[SIZE];
    world_write(world, allocation, 1);
    world_require(world, allocation);
    addresses_of(world, allocation, bus);
    stand_in_the_line(world);
    push_out(world, allocation);
    world_require(world, allocation);
    addresses_of(world, allocation, again);
    assert_memory_equal(bus, again, sizeof(bus));
    assert_int_equal(machine_queued_jobs(world->machine), 1);
    let_go(world);
    settle(world);
    assert_int_equal(next(0, SPY_PAGES_UNMAPPED), spy.count);
    assert_int_equal(reached(world, bus, SIZE), SIZE);
    world_check_gpu(world, allocation, 1);
    world_close(world);
}

static void R184_R200_without_the_flag_or_the_model_there_is_no_notice(void **state)
{
    (void)state;
    struct world *world = begin(0);
    D3DKMT_HANDLE allocation = create(world, SIZE, 0), handle = 0;
    uint64_t bus[SIZE];
    world_write(world, allocation, 4);
    world_require(world, allocation);
    addresses_of(world, allocation, bus);
    push_out(world, allocation);
    settle(world);
    assert_int_equal(spy_builds(DXGK_OPERATION_NOTIFY_ALLOC), 0);
    assert_int_equal(reached(world, bus, SIZE), 0); // the model is the device's, not the allocation's
    world_check(world, allocation, 4);
    world_close(world);

    struct world_options options = world_defaults();
    options.machine.model = 2;
    options.machine.version = DXGKDDI_WDDMv3_2;
    world = world_open(&options);
    struct ferry_allocation_private wanted = world_private(PAGES(4), CPU);
    wanted.Flags2 = DXGK_ALLOC_FLAG2_NOTIFY_IOMMU_UNMAP;
    wanted.Aperture = 1;
    assert_int_equal(world_try_create(world, &wanted, NULL, &handle, NULL), FERRY_ERROR_UNSUPPORTED);
    assert_int_equal(handle, 0);
    allocation = world_create_in_aperture(world, PAGES(SIZE), CPU);
    world_require(world, allocation);
    addresses_of(world, allocation, bus);
    D3DKMT_HANDLE large = world_create_in_aperture(world, PAGES(60), CPU);
    assert_true(world_evict(world, allocation) >= 0);
    world_require(world, large);
    settle(world);
    assert_int_equal(world_place(world, allocation).segment, 0);
    assert_int_equal(next(0, SPY_PAGES_UNMAPPED), spy.count);
    assert_int_equal(reached(world, bus, SIZE), SIZE);
    world_close(world);
}

// The notice before an eviction finds the pages still mapped: it comes first.
static void both_notices_in_their_order(void **state)
{
    (void)state;
    struct world *world = begin(0);
    D3DKMT_HANDLE allocation =
        create(world, SIZE, DXGK_ALLOC_FLAG2_NOTIFY_IOMMU_UNMAP | DXGK_ALLOC_FLAG2_NOTIFY_EVICTION);
    world_write(world, allocation, 6);
    world_require(world, allocation);
    spy_clear();
    push_out(world, allocation);
    settle(world);
    assert_int_equal(spy.operations[DXGK_OPERATION_NOTIFY_ALLOC], 2);
    size_t first = next_build(0, DXGK_OPERATION_NOTIFY_ALLOC),
           second = next_build(first + 1, DXGK_OPERATION_NOTIFY_ALLOC);
    assert_int_equal(spy.entries[first].before.NotifyAllocation.Flags.Value, 1);
    assert_int_equal(spy.entries[second].before.NotifyAllocation.Flags.Value, 2);
    assert_true(second < next(0, SPY_PAGES_UNMAPPED));
    world_check(world, allocation, 6);
    world_close(world);
}

// No bus address is left: both stay out of the aperture, content and all, and their pages stay the CPU's alone.
static void where_the_root_complex_has_no_room_nothing_changes(void **state)
{
    (void)state;
    for (unsigned at = 1; at <= 2; at++) {
        struct world *world = begin(0);
        D3DKMT_HANDLE both[2] = {noticed(world, SIZE), noticed(world, SIZE)};
        for (unsigned i = 0; i < 2; i++) {
            world_write(world, both[i], i);
            world_require(world, both[i]);
        }
        assert_true(world_evict(world, both[1]) >= 0);
        push_out(world, both[0]);
        settle(world);
        spy_clear();
        world->knobs->fail_map = at;
        assert_int_equal(world_resident(world, both, 2), FERRY_ERROR_NO_HOST_MEMORY);
        settle(world);
        // What had been mapped for it is so no more.
        assert_int_equal(spy.count, 2 * (at - 1));
        for (size_t i = 0; i < spy.count; i++)
            assert_int_equal(spy.entries[i].kind, i == 0 ? SPY_PAGES_MAPPED : SPY_PAGES_UNMAPPED);
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(world_place(world, both[i]).segment, 0);
            assert_int_equal(world_place(world, both[i]).residency_count, 0);
            world_check(world, both[i], i);
            world_require(world, both[i]);
            world_check_gpu(world, both[i], i);
        }
        world_close(world);
    }
}

static void what_is_destroyed_meanwhile_gives_all_back(void **state)
{
    (void)state;
    drawn = seed_given(1);
    for (unsigned run = 0; run < machine_rounds(20, 3); run++) {
        struct world *world = begin(0);
        D3DKMT_HANDLE one = noticed(world, SIZE), two = noticed(world, SIZE), large = create(world, 31, 0);
        world_write(world, one, 1);
        world_require(world, one);
        world_require(world, two);
        world->knobs->delay = draw(4);
        assert_true(world_evict(world, one) >= 0);
        if (run % 2)
            assert_true(world_evict(world, two) >= 0 && world_resident(world, &large, 1) >= 0);
        for (unsigned turns = draw(6); turns > 0; turns--)
            ferry_vidmm_poll(world->manager, true);
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, one), FERRY_OK);
        if (run % 3)
            assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
        world_close(world); // every page is back
    }
}

// Looks of the pager for each of so many that leave together.
static double looks_for_each(unsigned count)
{
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(LOCAL_PAGES);
    options.machine.aperture_bytes = PAGES(count + 1);
    options.machine.model = 2;
    options.machine.iommu = true;
    options.machine.version = DXGKDDI_WDDMv3_2;
    options.manager.paging_buffer_bytes = 512;
    struct world *world = world_open(&options);
    for (unsigned i = 0; i < count; i++) {
        D3DKMT_HANDLE one = noticed(world, 1);
        world_write(world, one, i);
        world_require(world, one);
    }
    uint64_t before = world->manager->sched.index_steps;
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
    double looks = (double)(world->manager->sched.index_steps - before) / count;
    world_close(world);
    return looks;
}

// Each waits for all before it, and none of them is woken by each of these.
static void many_that_leave_together_are_not_looked_at_again_and_again(void **state)
{
    (void)state;
    double few = looks_for_each(50), many = looks_for_each(800);
    print_message("  looks for each of 50 that leave together: %.1f, of 800: %.1f\n", few, many);
    assert_true(many < 4 * few);
}

// The manager of pages that are mapped for good does not begin where the device is to have them for a time only.
static void a_source_that_cannot_unmap_is_refused(void **state)
{
    (void)state;
    for (unsigned missing = 0; missing < 4; missing++) {
        struct machine *machine = machine_open(&(struct machine_options){
            .local_bytes = PAGES(64), .aperture_bytes = PAGES(64), .model = 2, .iommu = true, .seed = 7});
        struct ferry_vidmm_options options = {.size = sizeof(options),
                                              .miniport = ferry_test_miniport(),
                                              .miniport_device_context = machine_adapter(machine),
                                              .platform = machine_platform(machine)};
        struct ferry_page_source source = *options.platform.pages;
        struct ferry_vidmm *manager = NULL;
        source.unmap = (missing & 1) != 0 ? NULL : source.unmap;
        source.map = (missing & 2) != 0 ? NULL : source.map;
        options.platform.pages = &source;
        assert_int_equal(ferry_vidmm_start(&options, &manager), missing ? FERRY_ERROR_UNSUPPORTED : FERRY_OK);
        ferry_vidmm_stop(manager);
        assert_int_equal(machine_pages_out(machine), 0);
        machine_close(machine);
    }
}

enum { MANY = 8 };

// R197: whatever is noticed, unmapped, mapped again, faulted or reset in between, the device never touches a page that
// it has not, and content is right or said to be lost. The machine tells the accesses that were refused.
static void R197_the_device_touches_nothing_that_it_has_not(void **state)
{
    (void)state;
    drawn = seed_given(1);
    unsigned whole = 0, unmapped = 0, runs = machine_rounds(24, 4);
    for (unsigned run = 0; run < runs; run++) {
        struct world *world = begin(run % 2 ? 512 : 0);
        D3DKMT_HANDLE all[MANY], source = world_create(world, PAGES(SIZE), CPU);
        uint32_t seed[MANY];
        unsigned pages[MANY];
        world_require(world, source);
        for (unsigned i = 0; i < MANY; i++) {
            pages[i] = 3 + draw(SIZE - 3);
            seed[i] = i;
            all[i] = i % 4 == 3 ? create(world, pages[i], 0) : noticed(world, pages[i]);
            world_write(world, all[i], i);
        }
        world->knobs->delay = draw(5);
        for (unsigned step = 0; step < 60; step++) {
            unsigned i = draw(MANY);
            if (world_place(world, all[i]).lost)
                continue;
            if (run % 4 == 3 && draw(20) == 0)
                world->knobs->fault_paging = 1;
            if (run % 4 == 2 && draw(20) == 0) {
                world->knobs->hang = true;
                assert_int_equal(ferry_vidmm_reset_engine(world->manager), FERRY_OK);
            }
            struct ferry_vidmm_placement place = world_place(world, all[i]);
            if (place.residency_count == 0 && world_resident(world, &all[i], 1) >= 0) {
                if (draw(3) == 0)
                    (void)world_gpu_name(world, world->context, all[i], true);
                assert_true(world_evict(world, all[i]) >= 0);
            }
            void *address;
            if (draw(4) == 0 && ferry_vidmm_lock(world->manager, all[i], 0, &address) == FERRY_OK) {
                const uint32_t *words = address;
                for (unsigned n = 0; n < pages[i] * (PAGE_SIZE / 4); n += 97)
                    assert_int_equal(words[n], world_word(seed[i], n));
                seed[i] = draw(1000);
                for (unsigned n = 0; n < pages[i] * (PAGE_SIZE / 4); n++)
                    ((uint32_t *)address)[n] = world_word(seed[i], n);
                assert_int_equal(ferry_vidmm_unlock(world->manager, all[i]), FERRY_OK);
            }
            for (unsigned turns = draw(4); turns > 0; turns--)
                ferry_vidmm_poll(world->manager, true);
        }
        world->knobs->fault_paging = 0;
        settle(world);
        for (unsigned i = 0; i < MANY; i++) {
            bool lost = world_place(world, all[i]).lost;
            whole += !lost;
            if (!lost)
                world_check(world, all[i], seed[i]);
        }
        for (size_t at = next(0, SPY_PAGES_UNMAPPED); at < spy.count; at = next(at + 1, SPY_PAGES_UNMAPPED))
            unmapped++;
        world_close(world); // accesses to pages that are not mapped are breaches
    }
    print_message("%u whole, %u times unmapped\n", whole, unmapped);
    assert_true(whole >= runs * MANY * 3 / 4 && unmapped > runs);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(R195_R196_R198_steps_in_order_and_then_the_pages_are_refused),
        cmocka_unit_test(R199_every_paging_operation_is_waited_for),
        cmocka_unit_test(who_comes_back_before_keeps_its_pages),
        cmocka_unit_test(R184_R200_without_the_flag_or_the_model_there_is_no_notice),
        cmocka_unit_test(both_notices_in_their_order),
        cmocka_unit_test(where_the_root_complex_has_no_room_nothing_changes),
        cmocka_unit_test(what_is_destroyed_meanwhile_gives_all_back),
        cmocka_unit_test(many_that_leave_together_are_not_looked_at_again_and_again),
        cmocka_unit_test(a_source_that_cannot_unmap_is_refused),
        cmocka_unit_test(R197_the_device_touches_nothing_that_it_has_not),
    };
    return WORLD_RUN(tests);
}
