// SPDX-License-Identifier: Apache-2.0
// Locks with UseAlternateVA (R81 to R89): what is evicted under one goes to the pages of another address by
// SPECIAL_LOCK_TRANSFER, and comes back from there by it; nothing else does. Driver model 1.
#include <stdlib.h>
#include <string.h>

#include "special.h"

// How many ordinary transfers there were of it between system and video memory.
static size_t ordinary(const struct tiled *t)
{
    size_t count = 0;
    for (size_t n = 0; n < spy_builds(DXGK_OPERATION_TRANSFER); n++)
        count += spy_build(DXGK_OPERATION_TRANSFER, n)->before.Transfer.hAllocation == t->miniport;
    return count;
}

// The nth one's pages, and whether all that it says is right.
static const MDL *pages_of(const struct tiled *t, size_t n, bool in)
{
    const DXGK_BUILDPAGINGBUFFER_SPECIALLOCKTRANSFER *s =
        &spy_build(DXGK_OPERATION_SPECIAL_LOCK_TRANSFER, n)->before.SpecialLockTransfer;
    const DXGK_TRANSFERSIDE *place = in ? &s->Destination : &s->Source, *pages = in ? &s->Source : &s->Destination;
    assert_ptr_equal(s->hAllocation, t->miniport);
    assert_int_equal(s->TransferSize, t->bytes);
    assert_int_equal(place->SegmentId, machine_local_segment);
    assert_int_equal(pages->SegmentId, 0);
    assert_int_equal(s->Flags.Swizzle, in);
    assert_int_equal(s->Flags.Unswizzle, !in);
    assert_int_equal(s->Flags.TransferStart && s->Flags.TransferEnd, true);
    assert_int_equal(s->SwizzlingRangeId, 0);
    assert_int_equal(s->SwizzlingRangeData, 1); // The level, as the lock told.
    return pages->pMdl;
}

static void R81_R82_R83_R84_out_to_the_alternate_address_and_back(void **state)
{
    (void)state;
    struct world *world = begin(0);
    struct tiled t;
    tiled_drawn = 5;
    create(world, &t, true);
    // The pages of that address come with the lock, and no others.
    size_t out = machine_pages_out(world->machine);
    lock(world, &t, SPECIAL);
    assert_int_equal(machine_pages_out(world->machine), out + t.bytes / PAGE_SIZE);
    tiled_write_some(world, &t);
    tiled_send_out(world, &t);
    tiled_check_all(world, &t);
    tiled_write_some(world, &t);
    assert_int_equal(specials(), 1);
    const MDL *pages = pages_of(&t, 0, false);
    bring_in(world, &t);
    assert_int_equal(specials(), 2);
    assert_ptr_equal(pages_of(&t, 1, true), pages);
    tiled_check_all(world, &t);
    // Again, with other pages; and unlocked meanwhile, it comes back as it went.
    tiled_write_some(world, &t);
    tiled_send_out(world, &t);
    assert_int_equal(specials(), 3);
    pages = pages_of(&t, 2, false);
    tiled_write_some(world, &t);
    tiled_unlock(world, &t);
    bring_in(world, &t);
    assert_int_equal(specials(), 4);
    assert_ptr_equal(pages_of(&t, 3, true), pages);
    assert_int_equal(ordinary(&t), 0);
    lock(world, &t, D3DDDI_LOCK_ACQUIRE_APERTURE);
    tiled_check_all(world, &t);
    tiled_unlock(world, &t);
    tiled_drop(world, &t);
    world_close(world);
}

static void R85_in_no_other_situation(void **state)
{
    (void)state;
    struct world *world = begin(0);
    struct tiled t;
    void *address;
    tiled_drawn = 6;
    create(world, &t, true);
    // Another lock, and after the lock; nor for what another lock asks for outside.
    lock(world, &t, D3DDDI_LOCK_ACQUIRE_APERTURE);
    tiled_write_some(world, &t);
    tiled_send_out(world, &t);
    bring_in(world, &t);
    tiled_unlock(world, &t);
    lock(world, &t, SPECIAL);
    tiled_write_some(world, &t);
    tiled_unlock(world, &t);
    tiled_send_out(world, &t);
    bring_in(world, &t);
    assert_int_equal(specials(), 0);
    assert_int_equal(ordinary(&t), 4);
    // A move is none either.
    D3DKMT_HANDLE low = world_create(world, PAGES(4), 0), large = world_create(world, PAGES(LOCAL) - t.bytes, 0);
    tiled_send_out(world, &t);
    world_require(world, low);
    bring_in(world, &t);
    lock(world, &t, SPECIAL);
    world_require(world, t.allocation);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, low), FERRY_OK);
    uint64_t before = world_place(world, t.allocation).offset;
    world_require(world, large);
    assert_int_not_equal(world_place(world, t.allocation).offset, before);
    assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, large), FERRY_OK);
    tiled_check_all(world, &t);
    assert_int_equal(specials(), 0);
    assert_int_equal(world_evict(world, t.allocation), FERRY_OK);
    // Evicted under it, and then handed to a lock that has an address: that is its backing store from then on.
    tiled_write_some(world, &t);
    tiled_send_out(world, &t);
    assert_int_equal(specials(), 1);
    tiled_unlock(world, &t);
    size_t ordinary_before = ordinary(&t);
    assert_int_equal(ferry_vidmm_lock(world->manager, t.allocation, 0, &address), FERRY_OK);
    assert_memory_equal(address, t.rows, t.bytes);
    memset(address, 0x3C, 100);
    memset(t.rows, 0x3C, 100);
    tiled_unlock(world, &t);
    bring_in(world, &t);
    assert_int_equal(specials(), 1);
    assert_int_equal(ordinary(&t), ordinary_before + 1);
    lock(world, &t, D3DDDI_LOCK_ACQUIRE_APERTURE);
    tiled_check_all(world, &t);
    tiled_unlock(world, &t);
    tiled_drop(world, &t);
    world_close(world);
}

// It never gets one, as there is no such lock. What has an address that lasts, or several that know it, has none
// either.
static void R86_a_driver_that_does_not_say_so_never_gets_one(void **state)
{
    (void)state;
    struct world *world = begin(0);
    struct tiled t;
    D3DKMT_HANDLE other = 0;
    tiled_drawn = 7;
    create(world, &t, false);
    assert_int_equal(ferry_vidmm_lock_linear(world->manager, 0, t.allocation, SPECIAL, 0), FERRY_ERROR_UNSUPPORTED);
    lock(world, &t, D3DDDI_LOCK_ACQUIRE_APERTURE);
    for (unsigned i = 0; i < 3; i++) {
        tiled_write_some(world, &t);
        tiled_send_out(world, &t);
        tiled_write_some(world, &t);
        bring_in(world, &t);
        tiled_check_all(world, &t);
    }
    tiled_unlock(world, &t);
    tiled_drop(world, &t);
    // Nor may a program say so behind its driver's back.
    assert_int_equal(try_create(world, CPU | DXGK_ALLOC_FLAG_USE_ALTERNATE_VA, false, false, &other),
                     FERRY_ERROR_ARGUMENT);
    assert_int_equal(try_create(world, PERMANENT, true, false, &other), FERRY_OK);
    assert_int_equal(ferry_vidmm_lock_linear(world->manager, 0, other, SPECIAL, 0), FERRY_ERROR_UNSUPPORTED);
    assert_int_equal(try_create(world, CPU, true, true, &other), FERRY_OK);
    assert_int_equal(ferry_vidmm_lock_linear(world->manager, 0, other, SPECIAL, 0), FERRY_ERROR_UNSUPPORTED);
    other = world_create(world, PAGES(2), CPU);
    assert_int_equal(ferry_vidmm_lock_linear(world->manager, 0, other, SPECIAL, 0), FERRY_ERROR_UNSUPPORTED);
    assert_int_equal(specials(), 0);
    world_close(world);
}

static void R87_R88_R89_busy_is_asked_again_when_it_is_idle(void **state)
{
    (void)state;
    struct world *world = begin(0);
    struct tiled t;
    tiled_drawn = 8;
    create(world, &t, true);
    lock(world, &t, SPECIAL);
    world->knobs->delay = 3;
    for (unsigned round = 0; round < 3; round++) {
        tiled_write_some(world, &t);
        world->knobs->busy_times = 1 + round;
        tiled_send_out(world, &t);
        tiled_check_all(world, &t);
        bring_in(world, &t);
        tiled_check_all(world, &t);
    }
    world->knobs->busy_times = 0;
    // Not said to be idle at first, and always after an answer BUSY; as often as it was answered.
    size_t busy = 0;
    bool answered_busy = false;
    for (size_t n = 0; n < specials(); n++) {
        const struct spy_entry *entry = spy_build(DXGK_OPERATION_SPECIAL_LOCK_TRANSFER, n);
        assert_int_equal(entry->before.SpecialLockTransfer.Flags.AllocationIsIdle, answered_busy);
        answered_busy = entry->status == STATUS_GRAPHICS_ALLOCATION_BUSY;
        busy += answered_busy;
    }
    assert_int_equal(busy, 2 * (1 + 2 + 3));
    assert_int_equal(specials(), busy + 6);
    tiled_unlock(world, &t);
    tiled_drop(world, &t);
    world_close(world);
}

static void what_is_wrong_gets_a_named_error(void **state)
{
    (void)state;
    struct world *world = begin(0);
    struct tiled t;
    void *address;
    tiled_drawn = 9;
    create(world, &t, true);
    assert_int_equal(ferry_vidmm_lock_linear(world->manager, 0, t.allocation, D3DDDI_LOCK_USE_ALTERNATE_VA, 0),
                     FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_lock(world->manager, t.allocation, SPECIAL, &address), FERRY_ERROR_UNSUPPORTED);
    // Without pages for another address it fails, and nothing has changed.
    size_t out = machine_pages_out(world->machine);
    world->knobs->host_pages = 0;
    assert_int_equal(ferry_vidmm_lock_linear(world->manager, 0, t.allocation, SPECIAL, 0), FERRY_ERROR_NO_HOST_MEMORY);
    world->knobs->host_pages = -1;
    assert_false(world_place(world, t.allocation).locked);
    // No range, and it must not leave: nothing is left of it either.
    world->knobs->range_status = STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNSUPPORTED;
    assert_int_equal(ferry_vidmm_lock_linear(world->manager, 0, t.allocation, SPECIAL | D3DDDI_LOCK_DO_NOT_EVICT, 0),
                     FERRY_ERROR_NOT_AVAILABLE);
    assert_int_equal(machine_pages_out(world->machine), out);
    // No range: it leaves for the lock, by the operation of the lock.
    lock(world, &t, SPECIAL);
    world->knobs->range_status = 0;
    assert_int_equal(ferry_vidmm_lock_linear(world->manager, 0, t.allocation, SPECIAL, 0), FERRY_ERROR_LOCKED);
    tiled_check_all(world, &t);
    tiled_unlock(world, &t);
    tiled_drop(world, &t);
    // Destroyed with its device, locked and evicted.
    create(world, &t, true);
    lock(world, &t, SPECIAL);
    tiled_write_some(world, &t);
    tiled_send_out(world, &t);
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
    free(t.rows);
    free(t.map);
    world_close(world);
}

// It is required while nothing is executed. What that is waited for with.
static uint64_t require_later(struct world *world, D3DKMT_HANDLE allocation)
{
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = world->queue, .NumAllocations = 1, .AllocationList = &allocation};
    world->knobs->hold_paging = true;
    assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_PENDING);
    return arguments.PagingFenceValue;
}

static void let_go(struct world *world, uint64_t fence)
{
    world->knobs->hold_turns = 1;
    assert_int_equal(ferry_vidmm_wait_paging(world->manager, world->queue, fence), FERRY_OK);
}

// Out and in again while nothing of it runs: as if it had.
static void R83_R84_what_has_not_come_in_yet_goes_out_again(void **state)
{
    (void)state;
    for (unsigned unlocked = 0; unlocked < 2; unlocked++) {
        struct world *world = begin(0);
        struct tiled t;
        tiled_drawn = 10 + unlocked;
        create(world, &t, true);
        D3DKMT_HANDLE large = world_create(world, PAGES(LOCAL), 0);
        lock(world, &t, SPECIAL);
        tiled_write_some(world, &t);
        tiled_send_out(world, &t);
        require_later(world, t.allocation);
        if (unlocked)
            tiled_unlock(world, &t);
        assert_int_equal(world_evict(world, t.allocation), FERRY_OK);
        uint64_t fence = require_later(world, large);
        assert_int_equal(world_place(world, t.allocation).segment, 0);
        let_go(world, fence);
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, large), FERRY_OK);
        bring_in(world, &t);
        // Without the lock it goes out as anything does, and so comes back.
        assert_int_equal(specials(), unlocked ? 2 : 4);
        assert_int_equal(ordinary(&t), unlocked ? 2 : 0);
        if (unlocked)
            lock(world, &t, D3DDDI_LOCK_ACQUIRE_APERTURE);
        tiled_check_all(world, &t);
        tiled_unlock(world, &t);
        tiled_drop(world, &t);
        world_close(world);
    }
}

// A discard does not wait until it is out, and who is left behind gives its pages back when it ends.
static void a_renamed_one_gives_the_pages_of_its_address_back(void **state)
{
    (void)state;
    struct world *world = begin(0);
    struct tiled t;
    void *address;
    tiled_drawn = 12;
    size_t out = machine_pages_out(world->machine);
    for (unsigned last = 0; last < 2; last++) {
        create(world, &t, true);
        D3DKMT_HANDLE large = world_create(world, PAGES(LOCAL), 0);
        lock(world, &t, SPECIAL);
        tiled_write_some(world, &t);
        uint64_t fence = require_later(world, large);
        assert_int_equal(world_evict(world, large), FERRY_OK);
        tiled_unlock(world, &t);
        assert_int_equal(ferry_vidmm_lock(world->manager, t.allocation, D3DDDI_LOCK_DISCARD, &address), FERRY_OK);
        assert_int_equal(world_place(world, t.allocation).instances, 2);
        memset(address, 0x5A, t.bytes);
        memset(t.rows, 0x5A, t.bytes);
        tiled_unlock(world, &t);
        let_go(world, fence);
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, large), FERRY_OK);
        for (unsigned i = 0; last && world_place(world, t.allocation).instances > 1; i++) {
            assert_true(i < 2000);
            assert_int_equal(ferry_vidmm_lock(world->manager, t.allocation, D3DDDI_LOCK_DISCARD, &address), FERRY_OK);
            memset(address, 0x5A, t.bytes);
            tiled_unlock(world, &t);
        }
        bring_in(world, &t);
        lock(world, &t, D3DDDI_LOCK_ACQUIRE_APERTURE);
        tiled_check_all(world, &t);
        tiled_unlock(world, &t);
        tiled_drop(world, &t);
        assert_int_equal(machine_pages_out(world->machine), out);
    }
    world_close(world);
}

// Locks of every sort, evictions, page-ins and resets; transfers in pieces. Content goes to the alternate address
// and comes from there exactly when it should.
static void R81_R83_R84_R85_at_random(void **state)
{
    (void)state;
    tiled_drawn = seed_given(20261126);
    for (unsigned run = 0; run < 2; run++) {
        struct world *world = begin(run == 0 ? 0 : PAGES(1 + tiled_draw(3)));
        struct tiled t;
        bool locked = false, special = false, outside = false; // outside: at the alternate address
        create(world, &t, true);
        for (unsigned step = 0; step < machine_rounds(250, 40); step++) {
            size_t specials_before = specials(), ordinary_before = ordinary(&t);
            bool in_place = world_place(world, t.allocation).segment != 0,
                 is_fresh = !world_place(world, t.allocation).dirty;
            world->knobs->delay = tiled_draw(3);
            switch (tiled_draw(6)) {
            case 0:
                if (locked) {
                    tiled_unlock(world, &t);
                    locked = special = false;
                } else {
                    special = tiled_draw(2);
                    lock(world, &t, special ? SPECIAL : D3DDDI_LOCK_ACQUIRE_APERTURE);
                    locked = true;
                }
                break;
            case 1:
                if (locked)
                    tiled_write_some(world, &t);
                break;
            case 2:
                if (locked)
                    tiled_check_all(world, &t);
                break;
            case 3:
                tiled_send_out(world, &t);
                if (in_place && !is_fresh) {
                    assert_int_equal(specials() > specials_before, special);
                    assert_int_equal(ordinary(&t) > ordinary_before, !special);
                    outside = special;
                }
                continue;
            case 4:
                bring_in(world, &t);
                if (!in_place) {
                    assert_int_equal(specials() > specials_before, outside);
                    outside = false;
                }
                continue;
            default: assert_int_equal(ferry_vidmm_reset_engine(world->manager), FERRY_OK); continue;
            }
            assert_int_equal(specials(), specials_before);
            assert_int_equal(ordinary(&t), ordinary_before);
        }
        if (!locked)
            lock(world, &t, SPECIAL);
        tiled_check_all(world, &t);
        tiled_unlock(world, &t);
        world->knobs->delay = 0;
        tiled_drop(world, &t);
        world_close(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R81_R82_R83_R84_out_to_the_alternate_address_and_back),
        cmocka_unit_test(R85_in_no_other_situation),
        cmocka_unit_test(R86_a_driver_that_does_not_say_so_never_gets_one),
        cmocka_unit_test(R87_R88_R89_busy_is_asked_again_when_it_is_idle),
        cmocka_unit_test(what_is_wrong_gets_a_named_error),
        cmocka_unit_test(R83_R84_what_has_not_come_in_yet_goes_out_again),
        cmocka_unit_test(a_renamed_one_gives_the_pages_of_its_address_back),
        cmocka_unit_test(R81_R83_R84_R85_at_random),
    };
    return WORLD_RUN(tests);
}
