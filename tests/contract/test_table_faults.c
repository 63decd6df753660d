// SPDX-License-Identifier: Apache-2.0
// Paging buffers that change the aperture's table fault. A table is no content: it is changed again until it is right,
// and nobody's pages go back before (R70, R74 to R76).
#include "addresses.h"
#include "programs.h"

static void poll(struct world *world)
{
    for (unsigned i = 0; i < 100; i++)
        ferry_vidmm_poll(world->manager, true);
}

static uint64_t entry(struct world *world, uint64_t page)
{
    bool coherent;
    return machine_aperture_entry(world->machine, page, &coherent);
}

static D3DKMT_HANDLE mapped(struct world *world, uint64_t pages, uint32_t seed)
{
    D3DKMT_HANDLE allocation = world_create_in_aperture(world, PAGES(pages), CPU);
    world_write(world, allocation, seed);
    world_require(world, allocation);
    return allocation;
}

static D3DKMT_DEVICEEXECUTION_STATE state_of(struct world *world)
{
    D3DKMT_DEVICEEXECUTION_STATE state;
    assert_int_equal(ferry_vidmm_device_state(world->manager, world->device, &state), FERRY_OK);
    return state;
}

static void no_entry_leads_to_pages_that_were_given_back(void **state)
{
    (void)state;
    for (unsigned faults = 1; faults < 6; faults++) {
        struct world *world = world_open_default();
        world->knobs->delay = faults % 2;
        D3DKMT_HANDLE allocation = mapped(world, 4, 1);
        uint64_t at = world_place(world, allocation).offset / PAGE_SIZE, nothing = entry(world, at + 8);
        world->knobs->fault_paging = faults;
        assert_int_equal(ferry_vidmm_destroy_allocation(world->manager, allocation), FERRY_OK);
        for (uint64_t i = 0; i < 4; i++)
            assert_int_equal(entry(world, at + i), nothing);
        assert_int_equal(world_statistics(world).faulted_paging_buffers, faults);
        world_close(world);
    }
}

static void what_is_mapped_in_a_buffer_that_faults_is_mapped_again(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE allocation = world_create_in_aperture(world, PAGES(4), CPU);
    world_write(world, allocation, 3);
    world->knobs->fault_paging = 2;
    world_require(world, allocation);
    assert_int_equal(world_statistics(world).faulted_paging_buffers, 2);
    assert_int_equal(state_of(world), D3DKMT_DEVICEEXECUTION_ACTIVE);
    world_check_gpu(world, allocation, 3);
    world_close(world);
}

// The next one is mapped at the place that the first one leaves: whichever buffer faults, its entries are the last
// ones.
static void whoever_takes_the_place_is_mapped_behind(void **state)
{
    (void)state;
    for (unsigned delay = 0; delay < 3; delay++) {
        struct world_options options = world_defaults();
        options.machine.aperture_bytes = PAGES(7); // and one for the manager
        struct world *world = world_open(&options);
        world->knobs->delay = delay;
        D3DKMT_HANDLE first = mapped(world, 5, 1), second = world_create_in_aperture(world, PAGES(4), CPU);
        world_write(world, second, 2);
        assert_int_equal(world_evict(world, first), FERRY_OK);
        world->knobs->fault_paging = 2;
        assert_true(world_resident(world, &second, 1) >= 0);
        poll(world);
        assert_int_equal(world_statistics(world).faulted_paging_buffers, 2);
        assert_int_equal(state_of(world), D3DKMT_DEVICEEXECUTION_ACTIVE);
        world_check_gpu(world, second, 2);
        world_check(world, first, 1);
        world_close(world);
    }
}

// R58: what the GPU wrote through the aperture is ordered again.
static void an_order_that_faults_is_given_again(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE allocation = mapped(world, 2, 1);
    world_wait(world, world_gpu_put(world, allocation, 0, 4, 0x1234));
    world->knobs->fault_paging = 2;
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, allocation, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
    assert_int_equal(*(uint32_t *)address, 0x1234);
    assert_int_equal(ferry_vidmm_unlock(world->manager, allocation), FERRY_OK);
    assert_int_equal(world_statistics(world).faulted_paging_buffers, 2);
    assert_int_equal(state_of(world), D3DKMT_DEVICEEXECUTION_ACTIVE);
    world_close(world);
}

// However often it is tried. Others go on, and when its device ends nothing leads to its pages any more.
static void a_mapping_that_cannot_be_made_costs_its_own_device_alone(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program programs[2];
    D3DKMT_HANDLE allocations[2], later;
    for (unsigned i = 0; i < 2; i++) {
        programs[i] = program_begin(world, 1, 0);
        program_become(world, &programs[i]);
        allocations[i] = world_create_in_aperture(world, PAGES(4), CPU);
        world_write(world, allocations[i], i);
        if (i == 0)
            world_require(world, allocations[i]);
    }
    world->knobs->delay = 1;
    world->knobs->fault_paging = 9;
    assert_int_equal(list_it(world, &programs[1], allocations[1], true), FERRY_PENDING);
    for (unsigned i = 0; i < 100; i++)
        ferry_vidmm_poll(world->manager, true);
    assert_int_equal(world->knobs->fault_paging, 0);
    assert_true(world_place(world, allocations[1]).lost);
    uint64_t first = world_place(world, allocations[1]).offset / PAGE_SIZE;
    for (unsigned i = 0; i < 2; i++) {
        D3DKMT_DEVICEEXECUTION_STATE execution;
        assert_int_equal(ferry_vidmm_device_state(world->manager, programs[i].device, &execution), FERRY_OK);
        assert_int_equal(execution, i == 0 ? D3DKMT_DEVICEEXECUTION_ACTIVE : D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT);
    }
    program_become(world, &programs[0]);
    later = world_create_in_aperture(world, PAGES(4), CPU);
    world_write(world, later, 7);
    world_require(world, later);
    world_check_gpu(world, later, 7);
    world_check_gpu(world, allocations[0], 0);
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, programs[1].device), FERRY_OK);
    bool coherent;
    uint64_t dummy = machine_aperture_entry(world->machine, 40, &coherent);
    for (uint64_t page = first; page < first + 4; page++)
        assert_int_equal(machine_aperture_entry(world->machine, page, &coherent), dummy);
    world_close(world);
}

static void a_table_that_cannot_be_changed_is_a_critical_stop(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.machine.aperture_bytes = PAGES(7);
    struct world *world = world_open(&options);
    D3DKMT_HANDLE first = mapped(world, 5, 1), second = world_create_in_aperture(world, PAGES(4), CPU);
    world_write(world, second, 2);
    assert_int_equal(world_evict(world, first), FERRY_OK);
    size_t out = machine_pages_out(world->machine);
    world->knobs->delay = 1;
    world->knobs->fault_paging = 1000;
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = world->queue, .NumAllocations = 1, .AllocationList = &second};
    assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_PENDING);
    assert_int_equal(ferry_vidmm_wait_paging(world->manager, world->queue, arguments.PagingFenceValue),
                     FERRY_ERROR_CRITICAL);
    struct ferry_vidmm_critical record;
    assert_true(ferry_vidmm_critical(world->manager, &record));
    assert_int_equal(record.code, FERRY_CRITICAL_TABLE_FAULTED);
    assert_int_equal(record.operation,
                     addresses_wanted() ? DXGK_OPERATION_UPDATE_PAGE_TABLE : DXGK_OPERATION_UNMAP_APERTURE_SEGMENT);
    assert_int_equal(record.allocation, first);
    assert_int_equal(machine_pages_out(world->machine), out);
    assert_true(1000 - world->knobs->fault_paging < 20);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_entry_leads_to_pages_that_were_given_back),
        cmocka_unit_test(what_is_mapped_in_a_buffer_that_faults_is_mapped_again),
        cmocka_unit_test(whoever_takes_the_place_is_mapped_behind),
        cmocka_unit_test(an_order_that_faults_is_given_again),
        cmocka_unit_test(a_mapping_that_cannot_be_made_costs_its_own_device_alone),
        cmocka_unit_test(a_table_that_cannot_be_changed_is_a_critical_stop),
    };
    return WORLD_RUN(tests);
}
