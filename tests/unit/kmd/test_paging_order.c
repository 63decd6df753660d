// SPDX-License-Identifier: Apache-2.0
// Which copies of paging run ahead (`unordered`), and which wait for what is in flight; and that nothing is forgotten.
#include "device/device_state.h"
#include "kmd/internal.h"
#include "rig.h"

#include <stdio.h>

static uint32_t header_at(struct rig *rig, uint32_t offset)
{
    uint32_t header;

    memcpy(&header, (uint8_t *)rig->buffer.address + offset, 4);
    return header;
}

static void reads_run_ahead_only_where_nothing_in_flight_writes(void **state)
{
    struct rig *rig = *state;
    struct host_pages first, second;
    HANDLE allocation = make_allocation(rig, 16384, false);
    DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_TRANSFER);
    const uint32_t step = 24 + 8 * 4, unordered = 1u << 8;

    pages_make(rig, &first, 4);
    pages_make(rig, &second, 4);
    transfer_arguments(&a, allocation, &first.mdl, true, 0, 16384); // In.
    append(rig, &a);
    transfer_arguments(&a, allocation, &second.mdl, false, 0x8000, 16384); // Out from elsewhere.
    append(rig, &a);
    transfer_arguments(&a, allocation, &second.mdl, false, 0x3000, 4096); // Out of what the first one writes.
    append(rig, &a);
    transfer_arguments(&a, allocation, &second.mdl, true, 0x10000, 16384); // In from what the others write.
    append(rig, &a);
    transfer_arguments(&a, NULL, &first.mdl, true, 0x20000, 16384); // Raw: nothing is known.
    append(rig, &a);
    submit_paging(rig, &a, 1);
    assert_int_equal(header_at(rig, 0) & unordered, unordered);
    assert_int_equal(header_at(rig, step) & unordered, unordered);
    assert_int_equal(header_at(rig, 2 * step) & unordered, 0);
    assert_int_equal(header_at(rig, 2 * step + 32) & unordered, 0);
    assert_int_equal(header_at(rig, 3 * step + 32) & unordered, 0);
    wait_for(rig, 0, 1);
    // Once all that is done, the same page-in may run ahead.
    a = arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_TRANSFER);
    transfer_arguments(&a, allocation, &second.mdl, true, 0x10000, 16384);
    append(rig, &a);
    submit_paging(rig, &a, 2);
    assert_int_equal(header_at(rig, 0) & unordered, unordered);
    wait_for(rig, 0, 2);
    destroy_allocation(rig, allocation);
    pages_free(rig, &first);
    pages_free(rig, &second);
}

// Two buffers in flight: one that begins with a page-out from 0x8000, and one of single pages behind it.
struct two_buffers {
    struct rig *rig;
    struct host_pages out, in;
    HANDLE allocation;
    DXGKARG_BUILDPAGINGBUFFER a;
    uint32_t first, first_private; // of the second one
};

static void begin_with_a_page_out(struct two_buffers *two, struct rig *rig, size_t pages)
{
    two->rig = rig;
    two->allocation = make_allocation(rig, 16384, false);
    two->a = arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_TRANSFER);
    pages_make(rig, &two->out, pages);
    pages_make(rig, &two->in, 4);
    transfer_arguments(&two->a, two->allocation, &two->out.mdl, false, 0x8000, pages * 4096);
    append(rig, &two->a);
}

// The first one goes out, and three page-ins stand in the second, to these places.
static void page_ins_behind_it(struct two_buffers *two, const int64_t places[3])
{
    submit_paging(two->rig, &two->a, 1);
    two->first = (uint32_t)((uint8_t *)two->a.pDmaBuffer - (uint8_t *)two->rig->buffer.address);
    two->first_private = (uint32_t)((uint8_t *)two->a.pDmaBufferPrivateData - two->rig->private_data);
    for (uint32_t i = 0; i < 3; i++) {
        transfer_arguments(&two->a, two->allocation, &two->in.mdl, true, places[i], 4096);
        append(two->rig, &two->a);
    }
}

// The second one goes out, and so many copies of it run ahead or wait.
static void end_with(struct two_buffers *two, const bool *runs_ahead, uint32_t count)
{
    const uint32_t one_page = 24 + 8, unordered = 1u << 8;

    submit_paging_from(two->rig, &two->a, two->first, two->first_private, 2);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(header_at(two->rig, two->first + i * one_page) & unordered, runs_ahead[i] ? unordered : 0);
    wait_for(two->rig, 0, 2);
    destroy_allocation(two->rig, two->allocation);
    pages_free(two->rig, &two->out);
    pages_free(two->rig, &two->in);
}

// What goes out is still in video memory where it came from, until it has arrived: a reset that cuts it off has it
// built again from there. A page-in to that place waits for it, and those behind that one do not. The same of pages of
// the host, which a page-out writes over.
static void what_comes_in_waits_for_what_goes_out_from_there(void **state)
{
    struct two_buffers two;
    const int64_t places[3] = {0x7000, 0x8000, 0x9000}; // The first one beside it.
    const bool runs_ahead[] = {true, false, true, false, true};
    const uint32_t unordered = 1u << 8;

    begin_with_a_page_out(&two, *state, 4);
    page_ins_behind_it(&two, places);
    assert_int_equal(header_at(two.rig, 0) & unordered, unordered);
    transfer_arguments(&two.a, two.allocation, &two.in.mdl, false, 0x20000, 4096);
    append(two.rig, &two.a);
    transfer_arguments(&two.a, two.allocation, &two.out.mdl, false, 0x20000, 4096);
    append(two.rig, &two.a);
    end_with(&two, runs_ahead, 5);
}

// A reset that cuts a buffer anywhere has all of it built again, so what it reads is read until it has retired, though
// something of it has waited since. Where a later buffer has waited it is over.
static void a_page_in_waits_for_all_of_the_buffer_that_reads_its_place(void **state)
{
    struct two_buffers two;
    const int64_t places[3] = {0xa000, 0x8000, 0x9000};
    const bool runs_ahead[] = {true, false, true};

    begin_with_a_page_out(&two, *state, 2);
    transfer_arguments(&two.a, NULL, &two.in.mdl, true, 0x20000, 4096); // Of nobody's content: it waits.
    append(two.rig, &two.a);
    page_ins_behind_it(&two, places);
    end_with(&two, runs_ahead, 3);
}

// One page of a list is still being written: whichever it is, the page-in waits; with none of them it need not.
static void a_list_waits_wherever_its_hazardous_page_stands(void **state)
{
    struct rig *rig = *state;
    HANDLE allocation = make_allocation(rig, 16384, false);
    const uint32_t unordered = 1u << 8, one_page = 24 + 8;
    UINT fence = 0;

    for (uint32_t pages = 1; pages <= 4; pages++) {
        for (uint32_t hazardous = 0; hazardous <= pages; hazardous++) {
            struct host_pages list, other;
            DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_TRANSFER);

            pages_make(rig, &list, 4);
            pages_make(rig, &other, 4);
            transfer_arguments(&a, allocation, hazardous < pages ? &list.mdl : &other.mdl, false, 0x8000, 4096);
            a.Transfer.MdlOffset = hazardous < pages ? hazardous : 0;
            append(rig, &a);
            transfer_arguments(&a, allocation, &list.mdl, true, 0x10000, (uint64_t)pages * 4096);
            append(rig, &a);
            submit_paging(rig, &a, ++fence);
            assert_int_equal(header_at(rig, one_page) & unordered, hazardous < pages ? 0 : unordered);
            wait_for(rig, 0, fence);
            pages_free(rig, &list);
            pages_free(rig, &other);
        }
    }
    destroy_allocation(rig, allocation);
}

// More writes in flight than the table has room for: none of them is forgotten, wherever it found no place.
static void a_full_table_of_hazards_makes_everything_wait(void **state)
{
    struct kmd_adapter *adapter = calloc(1, sizeof *adapter);
    const uint64_t pages = KMD_HAZARD_SLOTS + 64;

    (void)state;
    adapter->hazards = calloc(KMD_HAZARD_SLOTS, sizeof *adapter->hazards);
    for (uint64_t page = 0; page < pages; page++) {
        kmd_hazard_write(adapter, 0, FERRY_ADDRESS_KIND_SYSTEM, page * PAGE_SIZE, PAGE_SIZE, 1);
        // Half full, the table still knows each page by itself, also those that stand behind another's place.
        if (page != KMD_HAZARD_SLOTS / 2)
            continue;
        assert_false(adapter->hazards_overflowed[0]);
        for (uint64_t known = 0; known <= page; known++)
            assert_true(kmd_hazard_read(adapter, 0, FERRY_ADDRESS_KIND_SYSTEM, known * PAGE_SIZE, PAGE_SIZE));
        assert_false(kmd_hazard_read(adapter, 0, FERRY_ADDRESS_KIND_SYSTEM, pages * PAGE_SIZE, PAGE_SIZE));
    }
    assert_true(adapter->hazards_overflowed[0]);
    for (uint64_t page = 0; page < pages; page++)
        assert_true(kmd_hazard_read(adapter, 0, FERRY_ADDRESS_KIND_SYSTEM, page * PAGE_SIZE, PAGE_SIZE));
    adapter->hazard_retired[0] = 1; // All of it is done.
    for (uint64_t page = 0; page < pages; page++)
        assert_false(kmd_hazard_read(adapter, 0, FERRY_ADDRESS_KIND_SYSTEM, page * PAGE_SIZE, PAGE_SIZE));
    free(adapter->hazards);
    free(adapter);
}

// A page's place in the table is another one's while that is in flight: when the other one is done, the page is still
// found.
static void a_hazard_is_found_behind_places_that_are_free_again(void **state)
{
    struct kmd_adapter *adapter = calloc(1, sizeof *adapter);
    const uint64_t pages = KMD_HAZARD_SLOTS / 4;

    (void)state;
    adapter->hazards = calloc(KMD_HAZARD_SLOTS, sizeof *adapter->hazards);
    for (uint64_t page = 0; page < 2 * pages; page++)
        kmd_hazard_write(adapter, 0, FERRY_ADDRESS_KIND_SYSTEM, page * PAGE_SIZE, PAGE_SIZE, page < pages ? 1 : 2);
    adapter->hazard_retired[0] = 1;
    for (uint64_t page = 0; page < 2 * pages; page++)
        assert_int_equal(kmd_hazard_read(adapter, 0, FERRY_ADDRESS_KIND_SYSTEM, page * PAGE_SIZE, PAGE_SIZE),
                         page >= pages);
    assert_false(adapter->hazards_overflowed[0]);
    free(adapter->hazards);
    free(adapter);
}

// Two user rings write one page, and the one that did so last is done first.
static void a_ring_that_is_done_does_not_hide_another_one(void **state)
{
    struct kmd_adapter *adapter = calloc(1, sizeof *adapter);

    (void)state;
    adapter->hazards = calloc(KMD_HAZARD_SLOTS, sizeof *adapter->hazards);
    kmd_hazard_write(adapter, 1, FERRY_ADDRESS_KIND_LOCAL, 0x5000, 64, 1);
    kmd_hazard_write(adapter, 2, FERRY_ADDRESS_KIND_LOCAL, 0x5000, 64, 1);
    adapter->hazard_retired[2] = 1;
    assert_true(kmd_hazard_read(adapter, 1, FERRY_ADDRESS_KIND_LOCAL, 0x5000, 64));
    assert_true(kmd_hazard_read(adapter, 2, FERRY_ADDRESS_KIND_LOCAL, 0x5000, 64));
    adapter->hazard_retired[1] = 1;
    assert_false(kmd_hazard_read(adapter, 2, FERRY_ADDRESS_KIND_LOCAL, 0x5000, 64));
    free(adapter->hazards);
    free(adapter);
}

// A fence that a paging buffer writes is content of its page too.
static void a_page_in_waits_for_a_fence_in_its_page(void **state)
{
    struct rig *rig = *state;
    struct host_pages fences, others;
    HANDLE allocation = make_allocation(rig, 4096, false);
    const uint32_t unordered = 1u << 8;

    pages_make(rig, &fences, 1);
    pages_make(rig, &others, 1);
    DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_SIGNAL_MONITORED_FENCE);
    a.SignalMonitoredFence.MonitoredFenceGpuVa = (fences.pfn[0] << 12) + 8;
    a.SignalMonitoredFence.MonitoredFenceValue = 7;
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    transfer_arguments(&a, allocation, &fences.mdl, true, 0x10000, 4096);
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    transfer_arguments(&a, allocation, &others.mdl, true, 0x20000, 4096);
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    submit_paging(rig, &a, 1);
    assert_int_equal(header_at(rig, 24) & unordered, 0);
    assert_int_equal(header_at(rig, 24 + 32) & unordered, unordered);
    wait_for(rig, 0, 1);
    assert_int_equal(ferry_model_local(rig->model)[0x10008], 7);
    destroy_allocation(rig, allocation);
    pages_free(rig, &fences);
    pages_free(rig, &others);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(reads_run_ahead_only_where_nothing_in_flight_writes),
        CASE(what_comes_in_waits_for_what_goes_out_from_there),
        CASE(a_page_in_waits_for_all_of_the_buffer_that_reads_its_place),
        CASE(a_list_waits_wherever_its_hazardous_page_stands),
        CASE(a_full_table_of_hazards_makes_everything_wait),
        CASE(a_hazard_is_found_behind_places_that_are_free_again),
        CASE(a_ring_that_is_done_does_not_hide_another_one),
        CASE(a_page_in_waits_for_a_fence_in_its_page),
    };

    printf("miniport: real\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
