// SPDX-License-Identifier: Apache-2.0
// What the miniport is told besides, of allocations whose flags ask for it.
#include "world.h"

#define NOTIFY (CPU | DXGK_ALLOC_FLAG_ACCESSED_PHYSICALLY | DXGK_ALLOC_FLAG_EXPLICIT_RESIDENCY_NOTIFICATION)

// Where in the calls kept the nth operation of this kind stands; a large number when there are fewer.
static size_t at(DXGK_BUILDPAGINGBUFFER_OPERATION operation, size_t n)
{
    const struct spy_entry *entry = spy_build(operation, n);
    return entry ? (size_t)(entry - spy.entries) : SIZE_MAX;
}

static const DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY *notify(size_t n)
{
    const struct spy_entry *entry = spy_build(DXGK_OPERATION_NOTIFY_RESIDENCY, n);
    assert_non_null(entry);
    return &entry->before.NotifyResidency;
}

// Out of its segment, by room that is asked for; nobody else is required there.
static void push_out(struct world *world, D3DKMT_HANDLE allocation)
{
    bool aperture = world_place(world, allocation).segment == machine_aperture_segment;
    D3DKMT_HANDLE large =
        aperture ? world_create_in_aperture(world, PAGES(63), CPU) : world_create(world, PAGES(64), CPU);
    world_require(world, large);
    assert_int_equal(world_place(world, allocation).segment, 0);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, large), FERRY_OK);
}

static void R174_commit_and_eviction_are_notified_once_each(void **state)
{
    (void)state;
    for (unsigned aperture = 0; aperture < 2; aperture++) {
        struct world *world = world_open_default();
        D3DKMT_HANDLE other = world_create(world, PAGES(5), CPU); // so that the offset is not 0
        world_require(world, other);
        D3DKMT_HANDLE before = world_create_in_aperture(world, PAGES(3), CPU);
        world_require(world, before);
        D3DKMT_HANDLE a =
            aperture ? world_create_in_aperture(world, PAGES(2), NOTIFY) : world_create(world, PAGES(2), NOTIFY);
        DXGK_BUILDPAGINGBUFFER_OPERATION in = aperture ? DXGK_OPERATION_MAP_APERTURE_SEGMENT : DXGK_OPERATION_TRANSFER,
                                         out =
                                             aperture ? DXGK_OPERATION_UNMAP_APERTURE_SEGMENT : DXGK_OPERATION_TRANSFER;
        world_write(world, a, 1);
        spy_clear();
        world_require(world, a);
        assert_int_equal(spy_builds(DXGK_OPERATION_NOTIFY_RESIDENCY), 1);
        assert_true(at(in, 0) < at(DXGK_OPERATION_NOTIFY_RESIDENCY, 0)); // when its content is on the way
        assert_int_equal(notify(0)->Resident, 1);
        assert_int_equal(notify(0)->PhysicalAddress.SegmentId, world_place(world, a).segment);
        assert_int_equal(notify(0)->PhysicalAddress.SegmentOffset, world_place(world, a).offset);
        assert_int_not_equal(world_place(world, a).offset, 0);
        // In place it stays told.
        world_require(world, a);
        assert_int_equal(world_evict(world, a), FERRY_OK);
        assert_int_equal(spy_builds(DXGK_OPERATION_NOTIFY_RESIDENCY), 1);
        world_wait(world, world_gpu_put(world, a, 0, 64, 5));
        assert_int_equal(world_evict(world, a), FERRY_OK);
        assert_int_equal(world_evict(world, other), FERRY_OK);
        assert_int_equal(world_evict(world, before), FERRY_OK);
        spy_clear();
        push_out(world, a);
        assert_int_equal(spy_builds(DXGK_OPERATION_NOTIFY_RESIDENCY), 1);
        assert_int_equal(notify(0)->Resident, 0);
        assert_int_equal(notify(0)->PhysicalAddress.SegmentId, 0);
        assert_int_equal(notify(0)->PhysicalAddress.SegmentOffset, 0);
        // Before its content leaves: `other` and what the job used hold no content of worth, so this is its transfer.
        size_t leaves = 0;
        while (spy_build(out, leaves) && !aperture &&
               spy_build(out, leaves)->before.Transfer.hAllocation != notify(0)->hAllocation)
            leaves++;
        while (spy_build(out, leaves) && aperture &&
               spy_build(out, leaves)->before.UnmapApertureSegment.hAllocation != notify(0)->hAllocation)
            leaves++;
        assert_true(at(DXGK_OPERATION_NOTIFY_RESIDENCY, 0) < at(out, leaves));
        assert_true(at(out, leaves) != SIZE_MAX);
        // A lock that takes it away evicts it too.
        world_require(world, a);
        spy_clear();
        void *address;
        assert_int_equal(ferry_vidmm_lock(world->manager, a, 0, &address), FERRY_OK);
        assert_int_equal(spy_builds(DXGK_OPERATION_NOTIFY_RESIDENCY), aperture ? 0 : 1);
        assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
        // Who did not ask is told nothing.
        spy_clear();
        world_require(world, other);
        assert_int_equal(world_evict(world, other), FERRY_OK);
        if (aperture)
            push_out(world, other);
        assert_int_equal(spy_builds(DXGK_OPERATION_NOTIFY_RESIDENCY), 0);
        world_close(world);
    }
}

static void R174_a_move_is_a_commit_to_the_new_place(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE parts[4], a = 0;
    // 13 pages each, and the third of them asks; then the two beside it go and what comes needs both holes in one.
    for (unsigned i = 0; i < 4; i++) {
        parts[i] = world_create(world, PAGES(13), i == 2 ? NOTIFY : CPU);
        world_write(world, parts[i], i);
        world_require(world, parts[i]);
    }
    a = parts[2];
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, parts[1]), FERRY_OK);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, parts[3]), FERRY_OK);
    spy_clear();
    D3DKMT_HANDLE large = world_create(world, PAGES(30), CPU);
    world_require(world, large);
    assert_int_equal(world_place(world, a).segment, machine_local_segment);
    assert_true(world_statistics(world).bytes_moved > 0);
    size_t told = spy_builds(DXGK_OPERATION_NOTIFY_RESIDENCY);
    assert_int_equal(told, 1);
    assert_int_equal(notify(0)->Resident, 1);
    assert_int_equal(notify(0)->PhysicalAddress.SegmentOffset, world_place(world, a).offset);
    world_check_gpu(world, a, 2);
    world_close(world);
}

// The miniport is told of one place, so there is only one: a discard waits.
static void R174_R253_what_is_notified_is_not_renamed(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE a = world_create(world, PAGES(2), NOTIFY);
    world_require(world, a);
    world->knobs->delay = 20;
    world_gpu_fill(world, a, 0, 64, 1);
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_DISCARD | D3DDDI_LOCK_WRITE_ONLY, &address),
                     FERRY_OK);
    assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
    assert_int_equal(world_place(world, a).instances, 1);
    assert_int_equal(world_statistics(world).discard_stalls, 1);
    world_close(world);
}

// R167: nobody but the user-mode driver makes one or ends one, whatever memory does meanwhile.
static unsigned made, ended;
static NTSTATUS (*create_under)(HANDLE, DXGKARG_CREATEALLOCATION *);
static NTSTATUS (*destroy_under)(HANDLE, const DXGKARG_DESTROYALLOCATION *);
static NTSTATUS count_made(HANDLE adapter, DXGKARG_CREATEALLOCATION *argument)
{
    made++;
    return create_under(adapter, argument);
}
static NTSTATUS count_ended(HANDLE adapter, const DXGKARG_DESTROYALLOCATION *argument)
{
    ended++;
    return destroy_under(adapter, argument);
}

static void R167_history_buffers_come_and_go_with_the_user_mode_drivers_calls(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    create_under = spy.table.DxgkDdiCreateAllocation;
    destroy_under = spy.table.DxgkDdiDestroyAllocation;
    spy.table.DxgkDdiCreateAllocation = count_made;
    spy.table.DxgkDdiDestroyAllocation = count_ended;
    made = ended = 0;
    // A context alone brings none.
    D3DKMT_HANDLE context;
    assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, FERRY_VIDMM_ANY_NODE, &context, NULL),
                     FERRY_OK);
    assert_int_equal(made, 0);
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU | DXGK_ALLOC_FLAG_CACHED | DXGK_ALLOC_FLAG_HISTORY_BUFFER);
    assert_int_equal(made, 1);
    // The GPU writes its history, the program reads it; it leaves video memory and comes back with it.
    world_require(world, a);
    world_wait(world, world_gpu_fill(world, a, PAGE_SIZE, PAGE_SIZE, 0x4157));
    world_force_out(world, a); // makes and ends one of its own
    assert_int_equal(made, 2);
    assert_int_equal(ended, 1);
    world_require(world, a);
    assert_int_equal(ferry_vidmm_destroy_context(world->manager, context), FERRY_OK);
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, a, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
    assert_int_equal(((uint32_t *)address)[PAGE_SIZE / 4], 0x4157);
    assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
    assert_int_equal(ended, 1);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, a), FERRY_OK);
    assert_int_equal(made, 2);
    assert_int_equal(ended, 2);
    world_close(world);
}

// Whatever flags the first word has, and whatever befalls an allocation: who did not ask in the second word is told
// nothing, by no operation behind the seven that everybody gets.
static void R183_R184_whatever_befalls_it_nobody_is_told_who_did_not_ask(void **state)
{
    (void)state;
    static const UINT words[] = {CPU,
                                 PERMANENT,
                                 CPU | DXGK_ALLOC_FLAG_CACHED,
                                 DXGK_ALLOC_FLAG_PROTECTED,
                                 CPU | DXGK_ALLOC_FLAG_FROM_END_OF_SEGMENT | DXGK_ALLOC_FLAG_DISABLE_LARGE_PAGE_MAPPING,
                                 CPU | DXGK_ALLOC_FLAG_OVERLAY,
                                 CPU | DXGK_ALLOC_FLAG_CAPTURE,
                                 CPU | DXGK_ALLOC_FLAG_ACCESSED_PHYSICALLY,
                                 CPU | DXGK_ALLOC_FLAG_CACHED | DXGK_ALLOC_FLAG_HISTORY_BUFFER,
                                 DXGK_ALLOC_FLAG_CPU_VISIBLE_ON_DEMAND};
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        for (unsigned aperture = 0; aperture < 2; aperture++) {
            struct world *world = world_open_default();
            world->knobs->by_place = true;
            bool pinned = (words[i] & (DXGK_ALLOC_FLAG_OVERLAY | DXGK_ALLOC_FLAG_CAPTURE)) != 0;
            bool locks = (words[i] & (DXGK_ALLOC_FLAG_CPU_VISIBLE | DXGK_ALLOC_FLAG_CPU_VISIBLE_ON_DEMAND)) != 0;
            D3DKMT_HANDLE below = world_create(world, PAGES(20), CPU), a;
            struct ferry_allocation_private wanted = world_private(PAGES(4), words[i]);
            wanted.Aperture = aperture;
            world->knobs->flags_as_wished = true;
            int made = world_try_create(world, &wanted, NULL, &a, NULL);
            world->knobs->flags_as_wished = false;
            if (made == FERRY_ERROR_FLAGS) { // a history buffer has no other flag beside a coherent aperture
                world_close(world);
                continue;
            }
            assert_int_equal(made, FERRY_OK);
            world_require(world, below);
            world_require(world, a);
            world->knobs->delay = 3;
            void *address;
            for (unsigned n = 0; n < 3 && locks; n++) {
                world_gpu_put(world, a, 0, 64, n);
                UINT flags = n == 1 ? D3DDDI_LOCK_DISCARD | D3DDDI_LOCK_WRITE_ONLY : n == 2 ? D3DDDI_LOCK_READ_ONLY : 0;
                assert_int_equal(ferry_vidmm_lock(world->manager, a, flags, &address), FERRY_OK);
                assert_int_equal(ferry_vidmm_unlock(world->manager, a), FERRY_OK);
            }
            assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, below), FERRY_OK);
            D3DKMT_HANDLE moves = world_create(world, PAGES(aperture ? 64 : 50), CPU);
            world_require(world, moves); // what lies in the middle makes room
            world_require(world, a);
            while (world_place(world, a).residency_count > 0)
                assert_int_equal(world_evict(world, a), FERRY_OK);
            assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, moves), FERRY_OK);
            if (!pinned)
                push_out(world, a);
            world_require(world, a);
            world_gpu_name(world, world->context, a, true);
            world->knobs->hang = true;
            assert_int_equal(ferry_vidmm_reset_engine(world->manager), FERRY_OK);
            if (i % 2)
                assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, a), FERRY_OK);
            else
                assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
            assert_true(spy_builds(aperture ? DXGK_OPERATION_MAP_APERTURE_SEGMENT : DXGK_OPERATION_FILL) > 0);
            for (unsigned operation = DXGK_OPERATION_UNMAP_APERTURE_SEGMENT + 1; operation < DXGK_OPERATION_COUNT;
                 operation++)
                assert_true(spy_builds(operation) == 0 || world_is_of_tables(operation));
            world_close(world);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R174_commit_and_eviction_are_notified_once_each),
        cmocka_unit_test(R174_a_move_is_a_commit_to_the_new_place),
        cmocka_unit_test(R183_R184_whatever_befalls_it_nobody_is_told_who_did_not_ask),
        cmocka_unit_test(R174_R253_what_is_notified_is_not_renamed),
        cmocka_unit_test(R167_history_buffers_come_and_go_with_the_user_mode_drivers_calls),
    };
    return WORLD_RUN(tests);
}
