// SPDX-License-Identifier: Apache-2.0
// Images leave and come by addresses of the paging process, tiles on one side and rows on the other, and are cut off in
// the middle of it: by a reset at any moment, or by a fault of what moves them. One that the window of addresses holds
// twice goes so as a whole, a larger one as a transfer of its pages. Nothing is lost, and nothing is in tiles in part,
// but for what has faulted and says so. In driver model 2 of both miniports, and on the Verilog.
#include <stdlib.h>

#include "tiles.h"
#include "vidmm/api/manager.h"
#include "world.h"

#define LOCAL  256u // pages; twelve are for page tables, and the window is of 48 addresses
#define USABLE 244u

struct image {
    D3DKMT_HANDLE allocation;
    uint64_t bytes;
    uint8_t *rows;       // what it holds
    const uint32_t *map; // where each byte of these is in tiles
};

// 22 tiles of 4 KiB, which go by addresses; and 60 of two levels.
static const struct ferry_tiling_private tilings[] = {{4096, 4, 64, 352, 1}, {4096, 2, 128, 960, 2}};
static uint32_t *maps[2];

static struct image make(struct world *world, bool large, uint32_t number)
{
    const struct ferry_tiling_private *tiling = &tilings[large];
    struct image image = {.bytes = tiles_bytes(tiling), .map = maps[large]};
    struct ferry_allocation_private wanted = world_private(image.bytes, CPU);
    void *address;
    wanted.Tiling = *tiling;
    assert_int_equal(world_try_create(world, &wanted, NULL, &image.allocation, NULL), FERRY_OK);
    image.rows = malloc(image.bytes);
    for (uint64_t i = 0; i < image.bytes / 4; i++) {
        uint32_t word = world_word(number, i);
        memcpy(image.rows + 4 * i, &word, 4);
    }
    assert_int_equal(ferry_vidmm_lock(world->manager, image.allocation, D3DDDI_LOCK_WRITE_ONLY, &address), FERRY_OK);
    memcpy(address, image.rows, image.bytes);
    assert_int_equal(ferry_vidmm_unlock(world->manager, image.allocation), FERRY_OK);
    return image;
}

// Some bytes of each tile, by jobs: all of it is newer in video memory then.
static void write_tiles(struct world *world, struct image *image, uint32_t pattern)
{
    for (uint64_t at = 128; at < image->bytes; at += PAGE_SIZE)
        world_wait(world, world_gpu_fill(world, image->allocation, at, 64, pattern));
    for (uint64_t i = 0; i < image->bytes; i++)
        if (image->map[i] % PAGE_SIZE >= 128 && image->map[i] % PAGE_SIZE < 192)
            image->rows[i] = (uint8_t)(pattern >> 8 * (image->map[i] % 4));
}

static void is_in_tiles(struct world *world, const struct image *image)
{
    struct ferry_vidmm_placement place = world_place(world, image->allocation);
    uint8_t *found = malloc(image->bytes);
    assert_int_equal(place.segment, machine_local_segment);
    machine_peek(world->machine, place.segment, place.offset, found, image->bytes);
    for (uint64_t i = 0; i < image->bytes; i++)
        if (found[image->map[i]] != image->rows[i])
            fail_msg("byte %llu is not at %u", (unsigned long long)i, image->map[i]);
    free(found);
}

static void is_in_rows(struct world *world, const struct image *image)
{
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, image->allocation, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
    for (uint64_t i = 0; i < image->bytes; i++)
        if (((const uint8_t *)address)[i] != image->rows[i])
            fail_msg("byte %llu", (unsigned long long)i);
    assert_int_equal(ferry_vidmm_unlock(world->manager, image->allocation), FERRY_OK);
}

struct pair {
    struct world *world;
    struct image leaves, comes;
};

// One of them has no room beside the other.
static struct pair begin_pair(bool large, uint32_t buffer_bytes)
{
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(LOCAL);
    options.machine.model = 2;
    options.machine.version = DXGKDDI_WDDMv3_2;
    options.machine.by_address = true;
    options.manager.paging_buffer_bytes = buffer_bytes;
    struct pair p = {.world = world_open(&options)};
    p.leaves = make(p.world, large, 1);
    p.comes = make(p.world, large, 2);
    D3DKMT_HANDLE beside = world_create(p.world, PAGES(USABLE) - p.leaves.bytes * 3 / 2 / PAGE_SIZE * PAGE_SIZE, 0);
    world_require(p.world, beside);
    world_require(p.world, p.leaves.allocation);
    write_tiles(p.world, &p.leaves, 0xA1B2C3D4);
    assert_true(world_evict(p.world, p.leaves.allocation) >= 0);
    p.world->knobs->delay = 1;
    p.world->knobs->hold_paging = true;
    assert_true(world_resident(p.world, &p.comes.allocation, 1) >= 0);
    p.world->knobs->hold_paging = false;
    return p;
}

static void end_pair(struct pair *p)
{
    free(p->leaves.rows);
    free(p->comes.rows);
    world_close(p->world);
}

static void turns(struct world *world, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        ferry_vidmm_poll(world->manager, true);
}

// Returns whether anything was under way when it was cut off.
static bool reset_after(unsigned before, bool large, uint32_t buffer_bytes, bool late)
{
    struct pair p = begin_pair(large, buffer_bytes);
    turns(p.world, before);
    const struct ferry_vm_sched *sched = &p.world->manager->sched;
    bool busy = sched->nodes[sched->paging_node].in_flight > 0;
    p.world->knobs->late_abort = late;
    assert_int_equal(ferry_vidmm_reset_engine(p.world->manager), FERRY_OK);
    p.world->knobs->late_abort = false;
    world_wait(p.world, world_gpu_name(p.world, p.world->context, p.comes.allocation, false));
    assert_false(world_place(p.world, p.leaves.allocation).lost || world_place(p.world, p.comes.allocation).lost);
    is_in_tiles(p.world, &p.comes);
    is_in_rows(p.world, &p.leaves);
    assert_true(world_evict(p.world, p.comes.allocation) >= 0);
    world_require(p.world, p.leaves.allocation);
    world_wait(p.world, world_gpu_name(p.world, p.world->context, p.leaves.allocation, false));
    is_in_tiles(p.world, &p.leaves);
    is_in_rows(p.world, &p.comes);
    // By addresses as a whole, the larger ones by a transfer of their pages.
    assert_true(large || spy_builds(DXGK_OPERATION_VIRTUAL_TRANSFER) >= 3);
    assert_true(!large || spy_builds(DXGK_OPERATION_TRANSFER) >= 3);
    end_pair(&p);
    return busy;
}

static void a_reset_in_the_middle_of_an_image_leaves_nothing_half_in_tiles(void **state)
{
    (void)state;
    unsigned resets = 0;
    for (unsigned kind = 0; kind < machine_rounds(4, 2); kind++)
        for (unsigned before = 0, quiet = 0; quiet < machine_rounds(3, 1) && before < 30;
             before += machine_rounds(1, 3)) {
            bool busy = reset_after(before, kind % 2, kind & 2 ? 512 : 0, kind & 1);
            quiet = busy ? 0 : quiet + 1;
            resets += busy;
        }
    print_message("%u resets while an image left or came\n", resets);
    assert_true(resets > machine_rounds(6, 2));
}

// Buffers fault, behind some of their packets. What was alone in one is lost and says so; the other image, and what
// comes through the same addresses behind it, is whole.
static bool fault_after(unsigned before, bool large, uint32_t buffer_bytes, unsigned faults)
{
    struct pair p = begin_pair(large, buffer_bytes);
    turns(p.world, before);
    p.world->knobs->fault_paging = faults;
    turns(p.world, 400);
    p.world->knobs->fault_paging = 0;
    bool faulted = world_statistics(p.world).faulted_paging_buffers > 0;
    if (!world_place(p.world, p.leaves.allocation).lost)
        is_in_rows(p.world, &p.leaves);
    if (!world_place(p.world, p.comes.allocation).lost) {
        is_in_tiles(p.world, &p.comes);
        is_in_rows(p.world, &p.comes);
    }
    end_pair(&p);
    return faulted;
}

static void a_fault_in_the_middle_of_an_image_is_told_or_made_good(void **state)
{
    (void)state;
    unsigned faulted = 0;
    for (unsigned kind = 0; kind < machine_rounds(4, 2); kind++)
        for (unsigned before = 0; before < 12; before += machine_rounds(1, 8))
            faulted += fault_after(before, kind % 2, kind & 2 ? 512 : 0, 1 + before % 2 * 8);
    print_message("%u runs in which a buffer faulted\n", faulted);
    assert_true(faulted > machine_rounds(6, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reset_in_the_middle_of_an_image_leaves_nothing_half_in_tiles),
        cmocka_unit_test(a_fault_in_the_middle_of_an_image_is_told_or_made_good),
    };
    for (unsigned i = 0; i < 2; i++)
        maps[i] = tiles_map(&tilings[i]);
    int failed = WORLD_RUN(tests);
    free(maps[0]);
    free(maps[1]);
    return failed;
}
