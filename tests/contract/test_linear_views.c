// SPDX-License-Identifier: Apache-2.0
// Locks with AcquireAperture (R90 to R93): tiled allocations seen as rows where they are, while the manager evicts,
// moves and brings them in again. Driver model 1; in model 2 there is nothing of it. What becomes of the ranges that
// show them is test_swizzling_ranges.c's.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tiled.h"

#include "ddi/flag_rules.h"
#include "vidmm/api/manager.h"

static struct ferry_tiling_private draw_tiling(uint64_t most)
{
    struct ferry_tiling_private t = {.TileBytes = tiled_draw(2) ? 4096 : 65536, .ElementBytes = 1u << tiled_draw(5)};
    t.Levels = 1 + tiled_draw(4);
    do {
        t.Width = 1 + tiled_draw(300);
        t.Height = 1 + tiled_draw(300);
        t.Levels -= t.Levels > 1 && tiled_draw(4) == 0;
    } while (tiles_bytes(&t) > most);
    return t;
}

// Written and read in pieces, in place and out of it, more of them locked than there are ranges. Nothing moves for a
// lock.
static void R90_R92_R93_the_same_bytes_wherever_it_is(void **state)
{
    enum { SLOTS = 6 };
    (void)state;
    tiled_drawn = seed_given(20261124);
    for (unsigned run = 0; run < 2; run++) {
        struct world_options options = tiled_options();
        options.machine.ranges = run == 0 ? TILED_RANGES : 1 + tiled_draw(2);
        struct world *world = world_open(&options);
        struct tiled tiled[SLOTS];
        for (unsigned i = 0; i < SLOTS; i++) {
            const struct ferry_tiling_private tiling = draw_tiling(PAGES(24));
            tiled_create(world, &tiled[i], &tiling, tiled_draw(3) ? CPU : PERMANENT);
            world_evict(world, tiled[i].allocation);
        }
        for (unsigned step = 0; step < 300; step++) {
            struct tiled *t = &tiled[tiled_draw(SLOTS)];
            world->knobs->delay = tiled_draw(3);
            world->knobs->busy_times = tiled_draw(8) == 0;
            if (!t->locked) {
                uint32_t segment = world_place(world, t->allocation).segment;
                tiled_lock(world, t, tiled_draw(t->tiling.Levels));
                assert_int_equal(world_place(world, t->allocation).segment, segment);
            }
            switch (tiled_draw(8)) {
            case 0:
            case 1:
            case 2: tiled_write_some(world, t); break;
            case 3: tiled_read_some(world, t); break;
            case 4:
                // At most two at a time, so that there always is room.
                for (unsigned i = 0; i < SLOTS; i++)
                    if (world_place(world, tiled[i].allocation).residency_count > 0 && tiled_draw(2))
                        world_evict(world, tiled[i].allocation);
                tiled_bring_in(world, t);
                break;
            case 5:
                for (unsigned i = 0; i < SLOTS; i++)
                    if (world_place(world, tiled[i].allocation).residency_count > 0)
                        world_evict(world, tiled[i].allocation);
                tiled_send_out(world, t);
                break;
            case 6: tiled_check_all(world, t); break;
            default: tiled_unlock(world, t); break;
            }
        }
        for (unsigned i = 0; i < SLOTS; i++) {
            if (!tiled[i].locked)
                tiled_lock(world, &tiled[i], 0);
            tiled_check_all(world, &tiled[i]);
            tiled_check_flags(tiled[i].miniport);
            world->knobs->delay = world->knobs->busy_times = 0;
            tiled_drop(world, &tiled[i]);
        }
        assert_true(spy_kinds(SPY_ACQUIRE) > 10);
        world_close(world);
    }
}

// ---- A thread that writes all the time ----

struct writer {
    struct world *world;
    struct tiled *tiled;
    uint64_t random;
    atomic_uint rounds;
    atomic_bool ends;
    const char *wrong;
};

static void *writes_all_the_time(void *context)
{
    struct writer *w = context;
    const struct tiled *t = w->tiled;
    while (!atomic_load(&w->ends)) {
        uint8_t found[200];
        size_t bytes = 1 + draw_below(&w->random, sizeof(found));
        uint64_t offset = t->first + draw_below(&w->random, t->seen - bytes);
        for (size_t i = 0; i < bytes; i++)
            t->rows[offset + i] = (uint8_t)draw_below(&w->random, 256);
        if (ferry_vidmm_linear_write(w->world->manager, 0, t->allocation, offset, t->rows + offset, bytes) != FERRY_OK)
            w->wrong = "a write failed";
        offset = t->first + draw_below(&w->random, t->seen - bytes);
        if (ferry_vidmm_linear_read(w->world->manager, 0, t->allocation, offset, found, bytes) != FERRY_OK)
            w->wrong = "a read failed";
        if (memcmp(found, t->rows + offset, bytes) != 0)
            w->wrong = "other bytes were read than were written";
        atomic_fetch_add(&w->rounds, 1);
    }
    return NULL;
}

static void after_rounds(struct writer *w, unsigned more)
{
    unsigned until = atomic_load(&w->rounds) + more;
    while ((int)(atomic_load(&w->rounds) - until) < 0)
        sched_yield();
}

// Out and in again, over and over, in turns with others, with work that takes its time, and with resets.
static void R91_R92_eviction_strikes_while_the_program_writes(void **state)
{
    (void)state;
    tiled_drawn = seed_given(20261125);
    struct world_options options = tiled_options();
    options.machine.ranges = 1;
    struct world *world = world_open(&options);
    struct tiled written, other;
    const struct ferry_tiling_private tiling = {4096, 4, 200, 150, 3}, small = {65536, 1, 250, 250, 1};
    tiled_create(world, &written, &tiling, CPU);
    tiled_create(world, &other, &small, CPU);
    world_evict(world, other.allocation);
    tiled_lock(world, &written, 1);
    tiled_lock(world, &other, 0);
    struct writer writer = {.world = world, .tiled = &written, .random = tiled_drawn};
    pthread_t thread;
    world->knobs->delay = 2;
    assert_int_equal(pthread_create(&thread, NULL, writes_all_the_time, &writer), 0);
    for (unsigned round = 0; round < 25; round++) {
        after_rounds(&writer, tiled_draw(3));
        world_force_out(world, written.allocation);
        after_rounds(&writer, tiled_draw(3));
        tiled_bring_in(world, &written);
        if (tiled_draw(2)) {
            tiled_bring_in(world, &other);
            tiled_write_some(world, &other); // which takes the range
            world_evict(world, other.allocation);
        }
        if (tiled_draw(4) == 0)
            assert_int_equal(ferry_vidmm_reset_engine(world->manager), FERRY_OK);
    }
    atomic_store(&writer.ends, true);
    pthread_join(thread, NULL);
    if (writer.wrong)
        fail_msg("%s", writer.wrong);
    assert_true(spy_builds(DXGK_OPERATION_TRANSFER) >= 50 && spy_kinds(SPY_ACQUIRE) >= 25);
    tiled_check_all(world, &written);
    tiled_check_all(world, &other);
    tiled_check_flags(written.miniport);
    tiled_drop(world, &written);
    tiled_drop(world, &other);
    world_close(world);
}

// What is queued to take it out, or to bring it in, has not run when the program writes and reads.
static void R91_R92_an_access_waits_for_the_paging_of_its_allocation(void **state)
{
    (void)state;
    struct world *world = tiled_world();
    struct tiled t;
    const struct ferry_tiling_private tiling = {4096, 4, 100, 60, 1};
    tiled_drawn = 4;
    tiled_create(world, &t, &tiling, CPU);
    world_evict(world, t.allocation);
    tiled_lock(world, &t, 0);
    for (unsigned round = 0; round < 6; round++) {
        bool out = round % 2 == 0;
        D3DKMT_HANDLE large = world_create(world, PAGES(TILED_LOCAL), 0), wanted = out ? large : t.allocation;
        tiled_write_some(world, &t);
        world->knobs->hold_paging = true;
        world->knobs->hold_turns = 3;
        assert_int_equal(world_resident(world, &wanted, 1), FERRY_PENDING);
        assert_int_equal(world_place(world, t.allocation).segment, out ? 0 : machine_local_segment);
        if (round % 3 != 0)
            tiled_read_some(world, &t);
        tiled_write_some(world, &t);
        assert_false(world->knobs->hold_paging);
        tiled_check_all(world, &t);
        assert_int_equal(world_evict(world, wanted), FERRY_OK);
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, large), FERRY_OK);
    }
    tiled_drop(world, &t);
    world_close(world);
}

// The CPU has written it, whatever an Evict says of the GPU.
static void what_was_written_through_a_view_is_kept_as_what_a_job_has_written(void **state)
{
    (void)state;
    struct world *world = tiled_world();
    struct tiled tiled;
    tiled_create(world, &tiled, &tiled_one, PERMANENT);
    tiled_lock(world, &tiled, 0);
    tiled_write_some(world, &tiled);
    tiled_unlock(world, &tiled);
    assert_true(world_place(world, tiled.allocation).dirty);
    D3DDDICB_EVICT arguments = {.NumAllocations = 1, .AllocationList = &tiled.allocation, .Flags.NotWrittenTo = 1};
    assert_int_equal(ferry_vidmm_evict(world->manager, world->device, &arguments), FERRY_OK);
    world_force_out(world, tiled.allocation);
    tiled_lock(world, &tiled, 0);
    tiled_check_all(world, &tiled);
    // And what was written outside is there for the jobs behind.
    tiled_write_some(world, &tiled);
    tiled_unlock(world, &tiled);
    tiled_bring_in(world, &tiled);
    world_wait(world, world_gpu_name(world, world->context, tiled.allocation, false));
    tiled_lock(world, &tiled, 0);
    tiled_check_all(world, &tiled);
    tiled_drop(world, &tiled);
    world_close(world);
}

static void bad_calls_get_a_named_error_and_change_nothing(void **state)
{
    (void)state;
    struct world *world = tiled_world();
    struct ferry_vidmm *manager = world->manager;
    struct tiled tiled, hidden, permanent;
    uint8_t byte = 0;
    uint64_t fence;
    void *address;
    D3DKMT_HANDLE plain = world_create(world, PAGES(2), CPU), other, device = world->device;
    tiled_create(world, &tiled, &tiled_two_levels, CPU);
    tiled_create(world, &hidden, &tiled_two_levels, 0);
    tiled_create(world, &permanent, &tiled_one, PERMANENT);
    assert_int_equal(ferry_vidmm_create_device(manager, &other), FERRY_OK);
    // Not tiled, not for the CPU, not its own, no handle, flags that are not there.
    assert_int_equal(ferry_vidmm_lock_linear(manager, device, plain, 0, 0), FERRY_ERROR_UNSUPPORTED);
    assert_int_equal(ferry_vidmm_lock_linear(manager, device, hidden.allocation, 0, 0), FERRY_ERROR_UNSUPPORTED);
    assert_int_equal(ferry_vidmm_lock_linear(manager, other, tiled.allocation, 0, 0), FERRY_ERROR_FOREIGN);
    assert_int_equal(ferry_vidmm_lock_linear(manager, device, device, 0, 0), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_vidmm_lock_linear(manager, tiled.allocation, tiled.allocation, 0, 0), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_vidmm_lock_linear(NULL, device, tiled.allocation, 0, 0), FERRY_ERROR_ARGUMENT);
    assert_int_equal(tiled_try_lock(world, &tiled, 0, D3DDDI_LOCK_READ_ONLY | D3DDDI_LOCK_WRITE_ONLY),
                     FERRY_ERROR_ARGUMENT);
    for (unsigned bit = 7; bit < 32; bit++)
        assert_int_equal(tiled_try_lock(world, &tiled, 0, 1u << bit),
                         ferry_lock_flags_unsupported(1u << bit) ? FERRY_ERROR_UNSUPPORTED : FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_lock(manager, tiled.allocation, D3DDDI_LOCK_ACQUIRE_APERTURE, &address),
                     FERRY_ERROR_UNSUPPORTED);
    // Not locked, or not for this.
    assert_int_equal(ferry_vidmm_linear_read(manager, device, tiled.allocation, 0, &byte, 1), FERRY_ERROR_NOT_LOCKED);
    assert_int_equal(ferry_vidmm_lock(manager, tiled.allocation, 0, &address), FERRY_OK);
    assert_int_equal(ferry_vidmm_linear_read(manager, device, tiled.allocation, 0, &byte, 1), FERRY_ERROR_NOT_LOCKED);
    assert_int_equal(tiled_try_lock(world, &tiled, 0, 0), FERRY_ERROR_LOCKED);
    assert_int_equal(ferry_vidmm_unlock(manager, tiled.allocation), FERRY_OK);
    tiled_bring_in(world, &tiled);
    // While it is locked.
    tiled_lock(world, &tiled, 0);
    assert_int_equal(tiled_try_lock(world, &tiled, 0, 0), FERRY_ERROR_LOCKED);
    assert_int_equal(ferry_vidmm_lock(manager, tiled.allocation, 0, &address), FERRY_ERROR_LOCKED);
    assert_int_equal(ferry_vidmm_destroy_allocation(manager, tiled.allocation), FERRY_ERROR_LOCKED);
    tiled_lock(world, &permanent, 0);
    D3DKMT_HANDLE named[] = {tiled.allocation, permanent.allocation};
    for (unsigned i = 0; i < 2; i++) {
        struct machine_job job = {0};
        machine_job_nothing(&job);
        struct ferry_vidmm_reference reference = {named[i], false};
        struct ferry_vidmm_submission submission = {
            .commands = job.commands, .bytes = job.bytes, .references = &reference, .reference_count = 1};
        assert_int_equal(ferry_vidmm_submit(manager, world->context, &submission, 1, &fence), FERRY_ERROR_LOCKED);
    }
    uint64_t bytes = world_place(world, tiled.allocation).bytes;
    assert_int_equal(ferry_vidmm_linear_read(manager, other, tiled.allocation, 0, &byte, 1), FERRY_ERROR_FOREIGN);
    assert_int_equal(ferry_vidmm_linear_read(manager, device, plain, 0, &byte, 1), FERRY_ERROR_NOT_LOCKED);
    assert_int_equal(ferry_vidmm_linear_read(manager, device, tiled.allocation, 0, NULL, 1), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_linear_read(manager, device, tiled.allocation, bytes, &byte, 1), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_vidmm_linear_write(manager, device, tiled.allocation, UINT64_MAX, &byte, 2),
                     FERRY_ERROR_RANGE);
    assert_int_equal(ferry_vidmm_linear_write(manager, device, tiled.allocation, 1, &byte, SIZE_MAX),
                     FERRY_ERROR_RANGE);
    // Another level than the one that is shown.
    assert_int_equal(ferry_vidmm_linear_write(manager, device, tiled.allocation, tiled.seen, &byte, 1),
                     FERRY_ERROR_RANGE);
    tiled_unlock(world, &tiled);
    assert_int_equal(tiled_try_lock(world, &tiled, 0, D3DDDI_LOCK_READ_ONLY), FERRY_OK);
    assert_int_equal(ferry_vidmm_linear_write(manager, device, tiled.allocation, 0, &byte, 1), FERRY_ERROR_ARGUMENT);
    tiled_unlock(world, &tiled);
    assert_int_equal(tiled_try_lock(world, &tiled, 0, D3DDDI_LOCK_WRITE_ONLY), FERRY_OK);
    assert_int_equal(ferry_vidmm_linear_read(manager, device, tiled.allocation, 0, &byte, 1), FERRY_ERROR_ARGUMENT);
    tiled_check_flags(tiled.miniport);
    tiled_unlock(world, &tiled);
    assert_int_equal(ferry_vidmm_unlock(manager, tiled.allocation), FERRY_ERROR_NOT_LOCKED);
    // A job that does not end uses it.
    assert_int_equal(ferry_vidmm_create_context(manager, device, 1, &world->context, NULL), FERRY_OK);
    world->knobs->hold_node = 1;
    fence = world_gpu_name(world, world->context, tiled.allocation, false);
    assert_int_equal(tiled_try_lock(world, &tiled, 0, D3DDDI_LOCK_DO_NOT_WAIT), FERRY_ERROR_BUSY);
    world->knobs->hold_node = 0;
    world_wait(world, fence);
    assert_int_equal(tiled_try_lock(world, &tiled, 0, D3DDDI_LOCK_DO_NOT_WAIT), FERRY_OK);
    // All is as it was.
    tiled_check_all(world, &tiled);
    tiled_drop(world, &tiled);
    tiled_drop(world, &hidden);
    tiled_drop(world, &permanent);
    world_close(world);
}

static const DRIVER_INITIALIZATION_DATA *without_entry_points(void)
{
    static DRIVER_INITIALIZATION_DATA table;
    table = *ferry_test_miniport();
    table.DxgkDdiReleaseSwizzlingRange = NULL;
    return &table;
}

static NTSTATUS tells_of_ranges(HANDLE adapter, const DXGKARG_QUERYADAPTERINFO *argument)
{
    NTSTATUS status = ferry_test_miniport()->DxgkDdiQueryAdapterInfo(adapter, argument);
    if (argument->Type == DXGKQAITYPE_DRIVERCAPS)
        ((DXGK_DRIVERCAPS *)argument->pOutputData)->NumberOfSwizzlingRanges = TILED_RANGES;
    return status;
}

// Whatever is told, from 2.0 on there are none.
static void in_model_2_a_miniport_that_tells_of_ranges_has_none(void **state)
{
    (void)state;
    struct world_options options = tiled_options();
    options.machine.model = 2;
    options.machine.version = DXGKDDI_WDDMv3_2;
    struct machine *machine = machine_open(&options.machine);
    DRIVER_INITIALIZATION_DATA table = *ferry_test_miniport();
    struct ferry_vidmm *manager = NULL;
    struct ferry_vidmm_options start = {.size = sizeof(start),
                                        .miniport = &table,
                                        .miniport_device_context = machine_adapter(machine),
                                        .platform = machine_platform(machine)};
    table.DxgkDdiQueryAdapterInfo = tells_of_ranges;
    assert_int_equal(ferry_vidmm_start(&start, &manager), FERRY_OK);
    assert_int_equal(manager->memory.swizzling_count, 0);
    ferry_vidmm_stop(manager);
    machine_close(machine);
}

static void without_ranges_or_in_model_2_it_is_refused(void **state)
{
    (void)state;
    struct tiled tiled;
    struct world_options options = tiled_options();
    options.machine.no_ranges = true;
    struct world *world = world_open(&options);
    tiled_create(world, &tiled, &tiled_one, CPU);
    assert_int_equal(tiled_try_lock(world, &tiled, 0, 0), FERRY_ERROR_UNSUPPORTED);
    tiled_drop(world, &tiled);
    world_close(world);
    options.machine.model = 2;
    options.machine.version = DXGKDDI_WDDMv3_2;
    options.machine.no_ranges = false;
    world = world_open(&options);
    D3DKMT_HANDLE plain = world_create(world, PAGES(9), CPU | DXGK_ALLOC_FLAG_DISABLE_LARGE_PAGE_MAPPING);
    assert_int_equal(ferry_vidmm_lock_linear(world->manager, world->device, plain, 0, 0), FERRY_ERROR_UNSUPPORTED);
    world_close(world);
    // Who has ranges has entry points for them.
    options = tiled_options();
    struct machine *machine = machine_open(&options.machine);
    struct ferry_vidmm *manager = NULL;
    struct ferry_vidmm_options start = {.size = sizeof(start),
                                        .miniport = without_entry_points(),
                                        .miniport_device_context = machine_adapter(machine),
                                        .platform = machine_platform(machine)};
    assert_int_equal(ferry_vidmm_start(&start, &manager), FERRY_ERROR_UNSUPPORTED);
    assert_null(manager);
    machine_close(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R90_R92_R93_the_same_bytes_wherever_it_is),
        cmocka_unit_test(R91_R92_eviction_strikes_while_the_program_writes),
        cmocka_unit_test(R91_R92_an_access_waits_for_the_paging_of_its_allocation),
        cmocka_unit_test(what_was_written_through_a_view_is_kept_as_what_a_job_has_written),
        cmocka_unit_test(bad_calls_get_a_named_error_and_change_nothing),
        cmocka_unit_test(in_model_2_a_miniport_that_tells_of_ranges_has_none),
        cmocka_unit_test(without_ranges_or_in_model_2_it_is_refused),
    };
    return WORLD_RUN(tests);
}
