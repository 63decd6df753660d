// SPDX-License-Identifier: Apache-2.0
// Addresses of tiled images in driver model 2 of both miniports: those that all of an image has for its jobs begin
// where a tile may, or it has none, since a packet names tiles by where one begins. Those that a program maps are
// bytes.
#include "discards.h"
#include "tiles.h"
#include "updates.h"

static const struct ferry_tiling_private one_tile = {65536, 4, 128, 128, 1};
#define IMAGE_PAGES 16u
#define FIRST       (UINT64_C(1) << 40) // of 512 pages that have one table

static struct world *begin_with(uint64_t tables)
{
    struct world_options options = updates_options(64, 0);
    options.manager.table_bytes = PAGES(tables);
    struct world *world = world_open(&options);
    assert_int_equal(ferry_vidmm_create_context(world->manager, world->device, HELD_NODE, &world->context, NULL),
                     FERRY_OK);
    world->knobs->by_place = true;
    return world;
}

// Of as many pages, in tiles or not.
static D3DKMT_HANDLE make(struct world *world, bool tiled)
{
    struct ferry_allocation_private wanted = world_private(PAGES(IMAGE_PAGES), CPU);
    D3DKMT_HANDLE made = 0;
    if (tiled)
        wanted.Tiling = one_tile;
    assert_int_equal(world_try_create(world, &wanted, NULL, &made, NULL), FERRY_OK);
    return made;
}

static int try_own(struct world *world, D3DKMT_HANDLE allocation, uint64_t least, uint64_t most, uint64_t *address)
{
    struct ferry_vidmm_virtual range = {
        .size = sizeof(range), .least = least, .most = most, .bytes = PAGES(IMAGE_PAGES), .each_instance = true};
    int result = ferry_vidmm_map_virtual(world->manager, world->device, allocation, 0, false, &range);
    *address = range.address;
    return result;
}

static void own_addresses_begin_where_a_tile_may(void **state)
{
    (void)state;
    struct world *world = begin_with(8);
    for (unsigned pages = IMAGE_PAGES; pages < 2 * IMAGE_PAGES; pages++)
        for (unsigned odd = 0; odd < 16; odd += 5) {
            uint64_t least = FIRST + PAGES(odd), most = least + PAGES(pages), address = 0;
            bool fits = (16 - odd) % 16 + IMAGE_PAGES <= pages;
            D3DKMT_HANDLE image = make(world, true), plain = make(world, false);
            assert_int_equal(try_own(world, image, least, most, &address),
                             fits ? FERRY_OK : FERRY_ERROR_NO_VIDEO_MEMORY);
            if (fits)
                assert_int_equal(address % 65536, 0);
            assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, image), FERRY_OK);
            assert_int_equal(try_own(world, plain, least, most, &address), FERRY_OK);
            assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, plain), FERRY_OK);
        }
    // What a program maps has any.
    D3DKMT_HANDLE image = make(world, true);
    assert_int_equal(map(world, image, FIRST + PAGES(3), IMAGE_PAGES), FIRST + PAGES(3));
    world_close(world);
}

// Pages [from, to) of the table's, in pieces of something else.
static void fill(struct world *world, D3DKMT_HANDLE other, unsigned from, unsigned to)
{
    for (unsigned at = from; at < to; at += IMAGE_PAGES)
        map(world, other, FIRST + PAGES(at), to - at < IMAGE_PAGES ? to - at : IMAGE_PAGES);
}

// There is no other table to be had, and behind its own pages this one has room for as many, but not from where a tile
// may begin.
static void another_instance_has_such_addresses_or_is_not_made(void **state)
{
    (void)state;
    for (unsigned tiled = 0; tiled < 2; tiled++) {
        struct world *world = begin_with(8);
        D3DKMT_HANDLE a = make(world, tiled), other = make(world, false);
        uint64_t own = 0;
        assert_int_equal(try_own(world, a, FIRST, 0, &own), FERRY_OK);
        assert_int_equal(own, FIRST);
        fill(world, other, IMAGE_PAGES, 24);
        fill(world, other, 44, 512);
        struct ferry_vidmm_virtual range = {.size = sizeof(range), .bytes = PAGE_SIZE};
        int result = FERRY_OK;
        for (unsigned i = 1; result == FERRY_OK; i++) {
            range.address = FIRST - PAGES(512 * i);
            result = ferry_vidmm_map_virtual(world->manager, world->device, other, 0, false, &range);
        }
        assert_int_equal(result, FERRY_ERROR_NO_VIDEO_MEMORY);
        world_require(world, a);
        hold(world);
        world_gpu_name(world, world->context, a, false);
        world->knobs->hold_turns = 3;
        discard(world, a, 4);
        assert_int_equal(world_place(world, a).instances, tiled ? 1 : 2);
        assert_int_equal(ferry_vidmm_own_address(world->manager, a, &own), FERRY_OK);
        assert_int_equal(own, tiled ? FIRST : FIRST + PAGES(24));
        world_close(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_addresses_begin_where_a_tile_may),
        cmocka_unit_test(another_instance_has_such_addresses_or_is_not_made),
    };
    return WORLD_RUN(tests);
}
