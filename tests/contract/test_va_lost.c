// SPDX-License-Identifier: Apache-2.0
// Addresses are changed neither for a device in error nor to lead to content that is lost. In driver model 2 of both
// miniports.
#include "updates.h"
#include "vidmm/api/manager.h"

struct found {
    uint64_t address, bytes;
    D3DKMT_HANDLE allocation;
};

static void expect(struct world *world, D3DKMT_HANDLE device, uint64_t address, const struct found *expected)
{
    struct ferry_vidmm_mapping found;
    assert_int_equal(ferry_vidmm_find_virtual(world->manager, device, address, &found), FERRY_OK);
    assert_true(found.address == expected->address && found.bytes == expected->bytes);
    assert_int_equal(found.allocation, expected->allocation);
}

// All that its device asks for is refused by that name, and is as it was for the program's other device.
static void who_is_in_error_changes_no_addresses(void **state)
{
    (void)state;
    struct world *world = begin(64, 0);
    struct ferry_vidmm *manager = world->manager;
    D3DKMT_HANDLE other, one = content(world, 4, 1), broken = world_create(world, PAGES(2), CPU), context;
    D3DKMT_DEVICEEXECUTION_STATE execution;
    uint64_t x = reserve(world, BASE + 0x400000, 16);
    struct ferry_vidmm_update change = mapping(x, 4, one, 0);
    assert_int_equal(ferry_vidmm_create_device(manager, &other), FERRY_OK);
    assert_int_equal(ferry_vidmm_create_context(manager, other, 1, &context, NULL), FERRY_OK);
    update(world, world->context, &change, 1);
    const struct found mapped = {x, PAGES(4), one}, rest = {x + PAGES(4), PAGES(12), 0};
    // Its page-in faults, and faults again alone.
    world_write(world, broken, 2);
    world->knobs->fault_paging = 2;
    world_resident(world, &broken, 1);
    turns(world, 50);
    assert_int_equal(ferry_vidmm_device_state(manager, world->device, &execution), FERRY_OK);
    assert_int_equal(execution, D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT);
    const struct ferry_vidmm_update changes[] = {
        mapping(x + PAGES(8), 4, one, 0),
        {.kind = FERRY_VIDMM_UNMAP, .address = x, .bytes = PAGES(1)},
        {.kind = FERRY_VIDMM_COPY, .address = x + PAGES(8), .bytes = PAGES(1), .source = x},
    };
    struct ferry_vidmm_updated updated;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(ferry_vidmm_update_virtual(manager, world->context, &changes[i], 1, &updated),
                         FERRY_ERROR_DEVICE_LOST);
        assert_int_equal(ferry_vidmm_update_virtual_at_once(manager, world->context, &changes[i], 1, &updated),
                         FERRY_ERROR_DEVICE_LOST);
    }
    struct ferry_vidmm_virtual range = {.size = sizeof(range), .address = BASE + 0x800000, .bytes = PAGES(16)};
    struct ferry_vidmm_mapping found;
    assert_int_equal(ferry_vidmm_reserve_virtual(manager, world->device, &range), FERRY_ERROR_DEVICE_LOST);
    range.bytes = PAGES(4);
    assert_int_equal(ferry_vidmm_map_virtual(manager, world->device, one, 0, false, &range), FERRY_ERROR_DEVICE_LOST);
    range.address = x + PAGES(8);
    assert_int_equal(ferry_vidmm_protect_virtual(manager, world->device, &range), FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(ferry_vidmm_free_virtual(manager, world->device, x, PAGES(16)), FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(ferry_vidmm_find_virtual(manager, world->device, x, &found), FERRY_ERROR_DEVICE_LOST);
    expect(world, other, x, &mapped);
    expect(world, other, x + PAGES(4), &rest);
    // The program is not in error: what the other device may do it does.
    update(world, context, &changes[1], 1);
    expect(world, other, x + PAGES(1), &(struct found){x + PAGES(1), PAGES(3), one});
    world_close(world);
}

// Nobody's device is in error, but the content did not come back from memory: an overlay was in its way.
static void nothing_leads_to_what_is_lost(void **state)
{
    (void)state;
    struct world_options options = updates_options(96, 0);
    options.machine.aperture_bytes = PAGES(64);
    struct world *world = world_open(&options);
    struct ferry_allocation_private wanted = world_private(PAGES(6), CPU | DXGK_ALLOC_FLAG_OVERLAY);
    D3DKMT_HANDLE overlay, good = world_create(world, PAGES(4), CPU);
    uint64_t x = reserve(world, BASE + 0x400000, 32);
    wanted.Aperture = 1;
    assert_int_equal(world_try_create(world, &wanted, NULL, &overlay, NULL), FERRY_OK);
    world_require(world, overlay);
    world->knobs->eviction_set = 1u << (machine_aperture_segment - 1);
    D3DKMT_HANDLE large = world_create(world, PAGES(52), CPU);
    world_write(world, large, 2);
    world_require(world, large);
    assert_int_equal(world_evict(world, large), FERRY_OK);
    world_require(world, world_create(world, PAGES(50), CPU));
    assert_true(world_place(world, large).lost);
    struct ferry_vidmm_virtual range = {.size = sizeof(range), .address = BASE + 0x800000, .bytes = PAGES(4)};
    struct ferry_vidmm_updated updated;
    assert_int_equal(ferry_vidmm_map_virtual(world->manager, world->device, large, 0, false, &range),
                     FERRY_ERROR_DEVICE_LOST);
    const struct ferry_vidmm_update both[] = {mapping(x, 4, good, 0), mapping(x + PAGES(4), 4, large, 0)};
    assert_int_equal(ferry_vidmm_update_virtual(world->manager, world->context, both, 2, &updated),
                     FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(updated.failed, 1);
    expect(world, world->device, x, &(struct found){x, PAGES(32), 0});
    update(world, world->context, both, 1);
    expect(world, world->device, x, &(struct found){x, PAGES(4), good});
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_in_error_changes_no_addresses),
        cmocka_unit_test(nothing_leads_to_what_is_lost),
    };
    return WORLD_RUN(tests);
}
