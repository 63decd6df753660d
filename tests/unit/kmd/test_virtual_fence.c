// SPDX-License-Identifier: Apache-2.0
// What the miniport does at addresses of the paging process: a monitored fence, and the byte that is spoilt on purpose.
#include "page_tables.h"

#include <stdio.h>

// Operation 16: the value comes where the paging process's tables say, behind what stands before it in the buffer: the
// fill that it overwrites in part. A page of the host's, and one in video memory.
static void a_monitored_fence_is_written_by_its_address(void **state)
{
    struct rig *rig = *state;
    HANDLE system = make_process(rig, true);
    DXGKARG_BUILDPAGINGBUFFER a = start(rig);
    struct host_pages host;
    uint64_t value;

    pages_make(rig, &host, 2);
    DXGK_PTE pages[2] = {{.Valid = 1, .CacheCoherent = 1, .PageAddress = host.pfn[1]}, local_page(CONTENT_AT)};
    make_tables(rig, system, 1);
    update_arguments(&a, 0, LEVEL0_AT, 0x40, 2, pages);
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    submit_paging(rig, &a, 2);
    wait_for(rig, 0, 2);
    memset(host.memory, 0x11, 2 * 4096);
    a = start(rig);
    a.Operation = DXGK_OPERATION_VIRTUAL_FILL;
    a.FillVirtual = (DXGK_BUILDPAGINGBUFFER_FILLVIRTUAL){
        .FillSizeInBytes = 8192, .FillPattern = 0x22222222, .DestinationVirtualAddress = 0x40000};
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    a.Operation = DXGK_OPERATION_SIGNAL_MONITORED_FENCE;
    for (uint64_t i = 0; i < 2; i++) {
        a.MultipassOffset = 0;
        a.SignalMonitoredFence.MonitoredFenceGpuVa = 0x40ff8 + 0x1000 * i;
        a.SignalMonitoredFence.MonitoredFenceValue = 0x8000000000000001 + i;
        assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    }
    submit_paging(rig, &a, 3);
    wait_for(rig, 0, 3);
    assert_int_equal(ferry_kmd_faults(rig->adapter), 0);
    memcpy(&value, (uint8_t *)host.memory + 4096 + 0xff8, 8);
    assert_true(value == 0x8000000000000001);
    memcpy(&value, (uint8_t *)host.memory + 4096 + 0xff0, 8);
    assert_true(value == 0x2222222222222222);
    memcpy(&value, (uint8_t *)host.memory + 0xff8, 8);
    assert_true(value == 0x1111111111111111);
    assert_true(entry_at(rig, CONTENT_AT, 511) == 0x8000000000000002);
    assert_true(entry_at(rig, CONTENT_AT, 510) == 0x2222222222222222);
    // What leads nowhere is a fault of its buffer, which names the address.
    a = start(rig);
    a.Operation = DXGK_OPERATION_SIGNAL_MONITORED_FENCE;
    a.SignalMonitoredFence.MonitoredFenceGpuVa = 0x42008;
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    submit_paging(rig, &a, 4);
    wait_for(rig, 0, 4);
    struct ferry_fault fault = {.size = sizeof fault};
    assert_true(ferry_kmd_next_fault(rig->adapter, &fault));
    assert_int_equal(fault.kind, 17);
    assert_true(fault.address == 0x42008 && fault.walked && fault.is_write);
    // Half a word, and beyond the space.
    const uint64_t wrong[] = {0x40004, 0x40001, 1ull << 48, 0xfffffffffffffff8};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        a = start(rig);
        a.Operation = DXGK_OPERATION_SIGNAL_MONITORED_FENCE;
        a.SignalMonitoredFence.MonitoredFenceGpuVa = wrong[i];
        assert_int_equal(append(rig, &a), STATUS_INVALID_PARAMETER);
        assert_ptr_equal(a.pDmaBuffer, rig->buffer.address);
    }
    assert_int_equal(rig->kmd->DxgkDdiDestroyProcess(rig->adapter, system), STATUS_SUCCESS);
    pages_free(rig, &host);
}

// Content of one page, in at 0x40000 of the paging process's addresses, which lead to the host's page.
static void bring_in(struct rig *rig, HANDLE allocation)
{
    DXGKARG_BUILDPAGINGBUFFER a = start(rig);

    a.Operation = DXGK_OPERATION_VIRTUAL_TRANSFER;
    a.TransferVirtual =
        (DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL){.hAllocation = allocation,
                                                 .TransferSizeInBytes = 4096,
                                                 .SourceVirtualAddress = 0x40000,
                                                 .DestinationVirtualAddress = 0x41000,
                                                 .TransferDirection = DXGK_MEMORY_TRANSFER_SYSTEM_TO_LOCAL};
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
}

// Whose addresses a spoilt byte is at is asked of the process that there is, and of none when it has gone.
static void a_byte_is_spoilt_at_the_addresses_of_the_paging_process_that_there_is(void **state)
{
    struct rig *rig = *state;
    HANDLE allocation = make_allocation(rig, 4096, false);
    struct host_pages host;

    pages_make(rig, &host, 1);
    DXGK_PTE pages[2] = {{.Valid = 1, .CacheCoherent = 1, .PageAddress = host.pfn[0]}, local_page(CONTENT_AT)};
    for (unsigned round = 0; round < 2; round++) {
        HANDLE system = make_process(rig, true);
        DXGKARG_BUILDPAGINGBUFFER a = start(rig);
        update_arguments(&a, 0, LEVEL0_AT, 0x40, 2, pages);
        a.UpdatePageTable.hProcess = system;
        a.UpdatePageTable.FirstPteVirtualAddress = 0x40000;
        assert_int_equal(append(rig, &a), STATUS_SUCCESS);
        ferry_kmd_flip(rig->adapter, false, 1, 77);
        bring_in(rig, allocation);
        assert_true(ferry_kmd_flipped(rig->adapter));
        assert_int_equal(rig->kmd->DxgkDdiDestroyProcess(rig->adapter, system), STATUS_SUCCESS);
        ferry_kmd_flip(rig->adapter, false, 1, 77);
        bring_in(rig, allocation);
        assert_false(ferry_kmd_flipped(rig->adapter));
    }
    destroy_allocation(rig, allocation);
    pages_free(rig, &host);
}

int main(void)
{
    rig_model = 2;
    const struct CMUnitTest tests[] = {CASE(a_monitored_fence_is_written_by_its_address),
                                       CASE(a_byte_is_spoilt_at_the_addresses_of_the_paging_process_that_there_is)};

    printf("miniport: real\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
