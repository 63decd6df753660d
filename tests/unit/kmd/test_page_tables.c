// SPDX-License-Identifier: Apache-2.0
// The miniport as driver model 2: page tables written by its operations are what the device translates by. Where a
// virtual address leads is worked out here by hand; the entries' bits are spelt out.
#include "page_tables.h"

#include <stdio.h>

static void tables_that_operations_write_are_walked(void **state)
{
    struct rig *rig = *state;
    struct program p;
    DXGK_PTE pages[3] = {local_page(CONTENT_AT), local_page(CONTENT_AT + 0x2000), local_page(CONTENT_AT + 0x1000)};
    DXGKARG_BUILDPAGINGBUFFER a;

    program_make(rig, &p);
    make_tables(rig, p.process, 1);
    for (uint32_t i = 0; i < 512; i++)
        assert_true(entry_at(rig, LEVEL0_AT, i) == 0);
    assert_true(entry_at(rig, ROOT_AT, 0) == (LEVEL2_AT | VALID));
    assert_true(entry_at(rig, ROOT_AT, 1) == 0);
    a = start(rig);
    update_arguments(&a, 0, LEVEL0_AT, 5, 3, pages);
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    submit_paging(rig, &a, 2);
    wait_for(rig, 0, 2);
    assert_true(entry_at(rig, LEVEL0_AT, 4) == 0);
    assert_true(entry_at(rig, LEVEL0_AT, 6) == (CONTENT_AT + 0x2000 + (VALID | LEAF)));
    assert_true(entry_at(rig, LEVEL0_AT, 8) == 0);
    // The second page, without a flush: an entry that was not valid is not remembered.
    write_virtual(rig, p.context, &p.commands, 0x6008, 0xfee1600d, 1);
    assert_true(entry_at(rig, CONTENT_AT + 0x2000, 1) == 0xfee1600d);
    // Moved: the old place is used until the flush, and not after it.
    pages[0] = local_page(CONTENT_AT + 0x5000);
    a = start(rig);
    update_arguments(&a, 0, LEVEL0_AT, 6, 1, pages);
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    flush_arguments(&a, p.process, 0x6000, 0x7000);
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    submit_paging(rig, &a, 3);
    wait_for(rig, 0, 3);
    write_virtual(rig, p.context, &p.commands, 0x6008, 77, 2);
    assert_true(entry_at(rig, CONTENT_AT + 0x2000, 1) == 0xfee1600d);
    assert_true(entry_at(rig, CONTENT_AT + 0x5000, 1) == 77);
    // What is not mapped faults, and the record names it.
    write_virtual(rig, p.context, &p.commands, 0x9010, 5, 3);
    struct ferry_fault fault = {.size = sizeof fault};
    assert_true(ferry_kmd_next_fault(rig->adapter, &fault));
    assert_int_equal(fault.kind, 17);
    assert_int_equal(fault.address_kind, 3);
    assert_true(fault.address == 0x9010);
    assert_true(fault.walked);
    assert_int_equal(fault.walk_space, 1);
    assert_int_equal(fault.walk_level, 0);
    assert_true(fault.walk_entry == 0);
    program_end(rig, &p);
}

static void entries_in_each_form_and_size(void **state)
{
    struct rig *rig = *state;
    DXGKARG_BUILDPAGINGBUFFER a = start(rig);
    DXGK_PTE host = {.Valid = 1, .CacheCoherent = 1, .ReadOnly = 1, .PageAddress = 0x123456789},
             large = {.Valid = 1, .LargePage = 1, .Segment = 1, .PageAddress = 0x200},
             table = {.Valid = 1, .PageAddress = 0x77}, group = local_page(0x50000), none = {0};

    update_arguments(&a, 0, LEVEL0_AT, 0, 1, &host);
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    update_arguments(&a, 1, LEVEL1_AT, 511, 1, &large);
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    update_arguments(&a, 1, LEVEL1_AT, 0, 1, &table);
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    // Above the lowest level there are no groups.
    update_arguments(&a, 1, LEVEL1_AT, 509, 1, &large);
    a.UpdatePageTable.Flags.Use64KBPages = 1;
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    update_arguments(&a, 0, LEVEL0_AT, 3, 2, &group);
    a.UpdatePageTable.Flags.Use64KBPages = a.UpdatePageTable.Flags.Repeat = 1;
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    submit_paging(rig, &a, 1);
    wait_for(rig, 0, 1);
    assert_true(entry_at(rig, LEVEL0_AT, 0) == (0x123456789000 | VALID | HOST | SNOOP | READ_ONLY | LEAF));
    assert_true(entry_at(rig, LEVEL1_AT, 511) == (0x200000 | VALID | LEAF));
    assert_true(entry_at(rig, LEVEL1_AT, 509) == (0x200000 | VALID | LEAF));
    assert_true(entry_at(rig, LEVEL1_AT, 0) == (0x77000 | VALID | HOST));
    for (uint32_t i = 0; i < 32; i++)
        assert_true(entry_at(rig, LEVEL0_AT, 48 + i) == (0x50000 + i % 16 * 0x1000 + (VALID | LEAF | GROUPED)));
    assert_true(entry_at(rig, LEVEL0_AT, 47) == 0 && entry_at(rig, LEVEL0_AT, 80) == 0);
    // 64 KiB that are no more are 16 entries that are none.
    a = start(rig);
    update_arguments(&a, 0, LEVEL0_AT, 3, 1, &none);
    a.UpdatePageTable.Flags.Use64KBPages = 1;
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    submit_paging(rig, &a, 2);
    wait_for(rig, 0, 2);
    assert_true(entry_at(rig, LEVEL0_AT, 63) == 0 && entry_at(rig, LEVEL0_AT, 64) != 0);
}

static void a_whole_table_goes_through_small_buffers(void **state)
{
    struct rig *rig = *state;
    static DXGK_PTE pages[512];

    for (uint32_t i = 0; i < 512; i++)
        pages[i] = local_page((uint64_t)(i * 7 % 512) << 12);
    for (uint32_t bytes = FERRY_KMD_LEAST_PAGING_BUFFER; bytes <= 4096; bytes = bytes * 3 + 8) {
        DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, rig->buffer.address, bytes, DXGK_OPERATION_UPDATE_PAGE_TABLE);
        NTSTATUS status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
        static uint32_t fence;

        spoil(rig, LEVEL0_AT, 0, 4096);
        update_arguments(&a, 0, LEVEL0_AT, 0, 512, pages);
        for (uint32_t passes = 0; status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER; passes++) {
            assert_true(passes < 512);
            a.pDmaBuffer = rig->buffer.address;
            a.DmaSize = bytes;
            a.pDmaBufferPrivateData = rig->private_data;
            a.DmaBufferPrivateDataSize = sizeof rig->private_data;
            status = append(rig, &a);
            submit_paging(rig, &a, ++fence);
            wait_for(rig, 0, fence);
        }
        assert_int_equal(status, STATUS_SUCCESS);
        static uint64_t entries[512];
        assert_int_equal(ferry_gpu_window_read(rig->gpu, LEVEL0_AT, entries, sizeof entries), FERRY_OK);
        for (uint32_t i = 0; i < 512; i++)
            assert_true(entries[i] == ((uint64_t)(i * 7 % 512) << 12 | VALID | LEAF));
    }
}

static void tables_by_cpu_by_their_virtual_address_and_copied(void **state)
{
    struct rig *rig = *state;
    HANDLE system = make_process(rig, true);
    DXGKARG_BUILDPAGINGBUFFER a = start(rig);
    DXGK_PTE pages[2] = {local_page(LEVEL0_AT), local_page(CONTENT_AT)};
    uint64_t by_cpu[512] = {0};

    // Set up without a buffer: the CPU writes, at once.
    update_arguments(&a, 0, 0, 510, 2, pages);
    a.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
    a.UpdatePageTable.PageTableAddress.CpuVirtual = by_cpu;
    a.pDmaBuffer = NULL;
    a.DmaSize = 0;
    assert_int_equal(rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &a), STATUS_SUCCESS);
    assert_true(by_cpu[509] == 0 && by_cpu[510] == (LEVEL0_AT | VALID | LEAF) &&
                by_cpu[511] == (CONTENT_AT | VALID | LEAF));
    // All of them, or none.
    pages[1].Zero = 1;
    a.UpdatePageTable.StartIndex = 4;
    assert_int_equal(rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &a), STATUS_INVALID_PARAMETER);
    assert_true(by_cpu[4] == 0 && by_cpu[5] == 0);
    pages[1].Zero = 0;
    make_tables(rig, system, 1);
    // Two tables, each at a multiple of 64 KiB of the paging process's addresses: 0x20000 and 0x30000.
    DXGK_PTE tables[17] = {[0] = local_page(LEVEL0_AT), [16] = local_page(CONTENT_AT)};
    a = start(rig);
    update_arguments(&a, 0, LEVEL0_AT, 0x20, 17, tables);
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    submit_paging(rig, &a, 2);
    wait_for(rig, 0, 2);
    a = start(rig);
    update_arguments(&a, 0, 0, 100, 2, pages);
    a.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_GPU_VIRTUAL;
    a.UpdatePageTable.PageTableAddress.GpuVirtual = 0x20000;
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    const DXGK_BUILDPAGINGBUFFER_COPY_RANGE ranges[2] = {{2, 0x20000, 0x30000, 100, 7}, {1, 0x20000, 0x30000, 101, 0}};
    a.Operation = DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES;
    a.MultipassOffset = 0;
    a.CopyPageTableEntries = (DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES){2, ranges};
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    // Operations 8 and 9: the offset in the allocation is not added.
    a.Operation = DXGK_OPERATION_VIRTUAL_FILL;
    a.MultipassOffset = 0;
    a.FillVirtual = (DXGK_BUILDPAGINGBUFFER_FILLVIRTUAL){.AllocationOffsetInBytes = 0x100000,
                                                         .FillSizeInBytes = 64,
                                                         .FillPattern = 0xabcd,
                                                         .DestinationVirtualAddress = 0x30800};
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    a.Operation = DXGK_OPERATION_VIRTUAL_TRANSFER;
    a.MultipassOffset = 0;
    a.TransferVirtual = (DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL){.AllocationOffsetInBytes = 0x100000,
                                                                 .TransferSizeInBytes = 12,
                                                                 .SourceVirtualAddress = 0x30800,
                                                                 .DestinationVirtualAddress = 0x30a00};
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    submit_paging(rig, &a, 3);
    wait_for(rig, 0, 3);
    assert_int_equal(ferry_kmd_faults(rig->adapter), 0);
    assert_true(entry_at(rig, LEVEL0_AT, 101) == (CONTENT_AT | VALID | LEAF));
    assert_true(entry_at(rig, CONTENT_AT, 7) == (LEVEL0_AT | VALID | LEAF));
    assert_true(entry_at(rig, CONTENT_AT, 8) == (CONTENT_AT | VALID | LEAF));
    assert_true(entry_at(rig, CONTENT_AT, 0) == (CONTENT_AT | VALID | LEAF));
    assert_true(entry_at(rig, CONTENT_AT, 0x107) == 0xabcd0000abcd);
    assert_true(entry_at(rig, CONTENT_AT, 0x141) == 0xabcd);
    // The entries lead where they say: the 101st to the content, by its address.
    a = start(rig);
    a.Operation = DXGK_OPERATION_SIGNAL_MONITORED_FENCE;
    a.SignalMonitoredFence = (DXGK_BUILDPAGINGBUFFER_SIGNALMONITOREDFENCE){101 << 12 | 0xc00, 0x1234567800000001};
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    submit_paging(rig, &a, 4);
    wait_for(rig, 0, 4);
    assert_int_equal(ferry_kmd_faults(rig->adapter), 0);
    assert_true(entry_at(rig, CONTENT_AT, 0x180) == 0x1234567800000001);
    assert_int_equal(rig->kmd->DxgkDdiDestroyProcess(rig->adapter, system), STATUS_SUCCESS);
}

// A table in the host's memory, which the CPU writes: the device walks it, and what the CPU puts there anew after a
// flush.
static void what_the_cpu_has_written_is_walked(void **state)
{
    struct rig *rig = *state;
    struct program p;
    struct host_pages host;
    DXGKARG_BUILDPAGINGBUFFER a;

    program_make(rig, &p);
    make_tables(rig, p.process, 1);
    pages_make(rig, &host, 2);
    DXGK_PTE table = {.Valid = 1, .CacheCoherent = 1, .PageAddress = host.pfn[0]},
             page[2] = {local_page(CONTENT_AT + 0x1000), {.Valid = 1, .CacheCoherent = 1, .PageAddress = host.pfn[1]}};
    a = start(rig);
    update_arguments(&a, 1, LEVEL1_AT, 3, 1, &table);
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    submit_paging(rig, &a, 2);
    wait_for(rig, 0, 2);
    for (uint32_t i = 0; i < 2; i++) {
        a = start(rig);
        update_arguments(&a, 0, 0, 17, 1, &page[i]);
        a.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
        a.UpdatePageTable.PageTableAddress.CpuVirtual = host.memory;
        a.pDmaBuffer = NULL;
        a.DmaSize = 0;
        assert_int_equal(rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &a), STATUS_SUCCESS);
        a = start(rig);
        flush_arguments(&a, p.process, 0x611000, 0x612000);
        assert_int_equal(append(rig, &a), STATUS_SUCCESS);
        submit_paging(rig, &a, 3 + i);
        wait_for(rig, 0, 3 + i);
        write_virtual(rig, p.context, &p.commands, 0x611028, 41 + i, 1 + i);
    }
    assert_int_equal(ferry_kmd_faults(rig->adapter), 0);
    assert_true(entry_at(rig, CONTENT_AT + 0x1000, 5) == 41);
    assert_true(((const uint64_t *)host.memory)[512 + 5] == 42);
    // The entry beside it is none.
    write_virtual(rig, p.context, &p.commands, 0x612000, 43, 3);
    struct ferry_fault fault = {.size = sizeof fault};
    assert_true(ferry_kmd_next_fault(rig->adapter, &fault));
    assert_int_equal(fault.kind, 17);
    assert_true(fault.address == 0x612000 && fault.walk_level == 0);
    program_end(rig, &p);
    pages_free(rig, &host);
}

// Without a process there are no addresses: those of the space that such a job's ring entry names are the paging
// process's.
static void a_job_without_a_process_reaches_no_addresses(void **state)
{
    struct rig *rig = *state;
    HANDLE system = make_process(rig, true);
    DXGKARG_BUILDPAGINGBUFFER a;
    DXGK_PTE page = local_page(CONTENT_AT);
    struct ferry_gpu_memory commands;
    DXGKARG_CREATECONTEXT context = {.NodeOrdinal = 1};
    struct ferry_fault fault = {.size = sizeof fault};

    make_tables(rig, system, 1);
    a = start(rig);
    update_arguments(&a, 0, LEVEL0_AT, 5, 1, &page);
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    submit_paging(rig, &a, 2);
    wait_for(rig, 0, 2);
    spoil(rig, CONTENT_AT, 0x5a, 4096);
    assert_int_equal(rig->kmd->DxgkDdiCreateContext(rig->device, &context), STATUS_SUCCESS);
    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 4096, 0, &commands), FERRY_OK);
    write_virtual(rig, context.hContext, &commands, 0x5028, 1, 1);
    assert_true(ferry_kmd_next_fault(rig->adapter, &fault));
    assert_int_equal(fault.kind, 7);
    assert_true(fault.address == 0x5028 && fault.is_write);
    assert_true(entry_at(rig, CONTENT_AT, 5) == 0x5a5a5a5a5a5a5a5a);
    rig->kmd->DxgkDdiDestroyContext(context.hContext);
    ferry_gpu_memory_free(rig->gpu, &commands);
    rig->kmd->DxgkDdiDestroyProcess(rig->adapter, system);
}

// Which packets a flush makes: opcode and scope.
static void a_flush_forgets_no_more_than_it_has_to(void **state)
{
    struct rig *rig = *state;
    HANDLE process = make_process(rig, false);
    const struct {
        uint64_t first, end;
        uint32_t packets, scope;
    } cases[] = {
        {0x1000, 0x2000, 1, 0},     {0, 0x10000, 1, 0},    {0xf000, 0x11000, 1, 1},
        {0x1fffff, 0x200001, 2, 1}, {0, 0x800000, 4, 1},   {0, 0x800001, 1, 2},
        {0x1ff000, 0x9ff000, 1, 2}, {0, 1ull << 48, 1, 2}, {0xffffffff0000, 0x1000000000000, 1, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        DXGKARG_BUILDPAGINGBUFFER a = start(rig);

        flush_arguments(&a, process, cases[i].first, cases[i].end);
        assert_int_equal(append(rig, &a), STATUS_SUCCESS);
        const uint32_t *words = rig->buffer.address;
        uint32_t bytes = (uint32_t)((uint8_t *)a.pDmaBuffer - (uint8_t *)rig->buffer.address);
        assert_int_equal(bytes, 24 * cases[i].packets);
        for (uint32_t n = 0; n < cases[i].packets; n++) {
            assert_int_equal(words[6 * n] & 0xff, 11);
            assert_int_equal(words[6 * n + 2], cases[i].scope | 1 << 4);
        }
    }
    // All of it, and where its root is now: in video memory, or in host memory, whose caches are looked into.
    for (uint32_t host = 0; host < 2; host++) {
        DXGKARG_BUILDPAGINGBUFFER a = start(rig);
        const uint32_t *words = rig->buffer.address;

        flush_arguments(&a, process, 0, 0);
        a.FlushTlb.RootPageTableAddress.SegmentId = host ? 0 : FERRY_KMD_SEGMENT_LOCAL;
        assert_int_equal(append(rig, &a), STATUS_SUCCESS);
        assert_int_equal(words[0] & 0xff, 10);
        assert_int_equal(words[1], host ? 1 << 2 | 1 << 8 : 0);
        assert_int_equal(words[4], ROOT_AT);
        assert_int_equal(words[6] & 0xff, 11);
        assert_int_equal(words[8], 2 | 1 << 4);
    }
    assert_int_equal(rig->kmd->DxgkDdiDestroyProcess(rig->adapter, process), STATUS_SUCCESS);
}

static void what_no_manager_may_ask_is_refused(void **state)
{
    struct rig *rig = *state;
    HANDLE process = make_process(rig, false);
    DXGK_PTE page = local_page(CONTENT_AT), bad[] = {
                                                {.Valid = 1, .Zero = 1},
                                                {.Valid = 1, .Segment = 2},
                                                {.Valid = 1, .PhysicalAdapterIndex = 1},
                                                {.Valid = 1, .NoExecute = 1},
                                                {.Valid = 1, .Reserved = 1},
                                                {.Valid = 1, .Reserved = UINT64_C(1) << 43},
                                                {.Valid = 1, .PageAddress = 1ull << 40},
                                                {.Valid = 1, .PageAddress = 1ull << 52},
                                            };
    DXGKARG_BUILDPAGINGBUFFER a = start(rig);

#define REFUSED(CHANGE)                                                                                                \
    update_arguments(&a, 0, LEVEL0_AT, 0, 1, &page);                                                                   \
    CHANGE;                                                                                                            \
    assert_int_equal(append(rig, &a), STATUS_INVALID_PARAMETER)
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        REFUSED(a.UpdatePageTable.pPageTableEntries = &bad[i]);
    }
    REFUSED(a.UpdatePageTable.PageTableLevel = 4);
    REFUSED(a.UpdatePageTable.StartIndex = 512);
    REFUSED(a.UpdatePageTable.NumPageTableEntries = 0);
    REFUSED(a.UpdatePageTable.StartIndex = 511; a.UpdatePageTable.NumPageTableEntries = 2);
    REFUSED(a.UpdatePageTable.StartIndex = 32; a.UpdatePageTable.Flags.Use64KBPages = 1);
    REFUSED(a.UpdatePageTable.pPageTableEntries64KB = &page);
    REFUSED(a.UpdatePageTable.Flags.NativeFence = 1);
    REFUSED(a.UpdatePageTable.Flags.Reserved = 1);
    // Behind its end; also of what takes one pass, and does not count.
    REFUSED(a.MultipassOffset = 2);
    REFUSED(a.MultipassOffset = 5; a.UpdatePageTable.NumPageTableEntries = 4; a.UpdatePageTable.Flags.Repeat = 1);
    REFUSED(a.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_GPU_VIRTUAL;
            a.UpdatePageTable.PageTableAddress.GpuVirtual = 0x20008);
    REFUSED(a.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_GPU_VIRTUAL;
            a.UpdatePageTable.PageTableAddress.GpuVirtual = 1ull << 48);
    REFUSED(a.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
            a.UpdatePageTable.PageTableAddress.CpuVirtual = NULL);
    REFUSED(a.UpdatePageTable.pPageTableEntries = NULL);
    REFUSED(a.UpdatePageTable.UpdateMode = 3);
    REFUSED(a.UpdatePageTable.PageTableAddress.GpuPhysical.SegmentOffset = LEVEL0_AT + 8);
    REFUSED(a.UpdatePageTable.PageTableAddress.GpuPhysical.SegmentId = 2);
    REFUSED(page = local_page(0x51000); a.UpdatePageTable.Flags.Use64KBPages = 1);
    REFUSED(page.LargePage = 1; a.UpdatePageTable.PageTableLevel = 1);
    for (unsigned bit = 12; bit < 21; bit++) {
        REFUSED(page = local_page(0x200000 | 1u << bit); page.LargePage = 1; a.UpdatePageTable.PageTableLevel = 1);
    }
    REFUSED(page.LargePage = 1; a.UpdatePageTable.PageTableLevel = 2);
    REFUSED(page = local_page(LEVEL0_AT); page.PageTablePageSize = 1; a.UpdatePageTable.PageTableLevel = 1);
    page.PageTablePageSize = 0;
    flush_arguments(&a, process, 0x2000, 0x1000);
    assert_int_equal(append(rig, &a), STATUS_INVALID_PARAMETER);
    flush_arguments(&a, NULL, 0, 0);
    assert_int_equal(append(rig, &a), STATUS_INVALID_PARAMETER);
    flush_arguments(&a, process, 0, (1ull << 48) + 1);
    assert_int_equal(append(rig, &a), STATUS_INVALID_PARAMETER);
    assert_ptr_equal(a.pDmaBuffer, rig->buffer.address);
    // A table that is about to go asks for nothing.
    update_arguments(&a, 0, LEVEL0_AT, 0, 1, NULL);
    a.UpdatePageTable.Flags.NotifyEviction = 1;
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    // Fifteen programs and the paging process.
    HANDLE more[15];
    for (unsigned i = 0; i < 14; i++)
        more[i] = make_process(rig, false);
    more[14] = make_process(rig, true);
    DXGKARG_CREATEPROCESS one_more = {0};
    assert_int_equal(rig->kmd->DxgkDdiCreateProcess(rig->adapter, &one_more), STATUS_INSUFFICIENT_RESOURCES);
    one_more.Flags.SystemProcess = 1;
    assert_int_equal(rig->kmd->DxgkDdiCreateProcess(rig->adapter, &one_more), STATUS_INSUFFICIENT_RESOURCES);
    for (unsigned i = 0; i < 15; i++)
        assert_int_equal(rig->kmd->DxgkDdiDestroyProcess(rig->adapter, more[i]), STATUS_SUCCESS);
    assert_int_equal(rig->kmd->DxgkDdiDestroyProcess(rig->adapter, process), STATUS_SUCCESS);
}

// Copies of entries, and content moved and filled by addresses: what lies beyond a table, or the addresses there are.
static void what_lies_beyond_a_table_or_all_addresses_is_refused(void **state)
{
    struct rig *rig = *state;
    const uint64_t end = 1ull << 48;
    const DXGK_BUILDPAGINGBUFFER_COPY_RANGE ranges[] = {
        {1, 0x21000, 0x30000, 0, 0},   {1, 0x20000, 0x38000, 0, 0},   {1, end, 0x30000, 0, 0},
        {1, 0x20000, end, 0, 0},       {2, 0x20000, 0x30000, 511, 0}, {2, 0x20000, 0x30000, 0, 511},
        {513, 0x20000, 0x30000, 0, 0}, {1, 0x20000, 0x30000, 513, 0}, {1, 0x20000, 0x30000, 0, 513},
    };
    DXGKARG_BUILDPAGINGBUFFER a = start(rig);

    for (size_t i = 0; i <= sizeof ranges / sizeof ranges[0]; i++) {
        // The first one is good: nothing is built of a list that has a bad one.
        DXGK_BUILDPAGINGBUFFER_COPY_RANGE both[2] = {{1, 0x20000, 0x30000, 0, 0}};
        bool none = i == sizeof ranges / sizeof ranges[0];

        both[1] = ranges[none ? 0 : i];
        a.Operation = DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES;
        a.MultipassOffset = 0;
        a.CopyPageTableEntries = (DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES){2, none ? NULL : both};
        assert_int_equal(append(rig, &a), STATUS_INVALID_PARAMETER);
    }
    for (unsigned i = 0; i < 5; i++) {
        a.Operation = DXGK_OPERATION_VIRTUAL_TRANSFER;
        a.TransferVirtual = (DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL){
            .TransferSizeInBytes = 4096,
            .SourceVirtualAddress = i == 0 ? end - 4095 : 0x1000,
            .DestinationVirtualAddress = i == 1 ? end - 4095 : 0x3000,
            .TransferDirection = i == 2 ? 3 : DXGK_MEMORY_TRANSFER_LOCAL_TO_LOCAL};
        a.TransferVirtual.Flags.Reserved = i == 3;
        assert_int_equal(append(rig, &a), i < 4 ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS);
    }
    uint8_t *built = a.pDmaBuffer;
    assert_ptr_equal(built, (uint8_t *)rig->buffer.address + 32);
    for (unsigned i = 0; i < 2; i++) {
        a.Operation = DXGK_OPERATION_VIRTUAL_FILL;
        a.FillVirtual = (DXGK_BUILDPAGINGBUFFER_FILLVIRTUAL){.FillSizeInBytes = i ? UINT64_MAX : 4096,
                                                             .DestinationVirtualAddress = i ? 0x1000 : end - 4095};
        assert_int_equal(append(rig, &a), STATUS_INVALID_PARAMETER);
    }
    assert_ptr_equal(a.pDmaBuffer, built);
}

// A packet takes no more than 4 GiB less a page; what is longer goes in pieces, each where the one before has ended.
static void what_is_longer_than_a_packet_takes_goes_in_pieces(void **state)
{
    struct rig *rig = *state;
    const uint64_t piece = 0xfffff000, bytes = 2 * piece + 0x1234, from = 0x1000, to = 0x4000000000;
    DXGKARG_BUILDPAGINGBUFFER a = start(rig);

    a.Operation = DXGK_OPERATION_VIRTUAL_TRANSFER;
    a.TransferVirtual =
        (DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL){.TransferSizeInBytes = bytes,
                                                 .SourceVirtualAddress = from,
                                                 .DestinationVirtualAddress = to,
                                                 .TransferDirection = DXGK_MEMORY_TRANSFER_LOCAL_TO_LOCAL};
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    a.Operation = DXGK_OPERATION_VIRTUAL_FILL;
    a.MultipassOffset = 0;
    a.FillVirtual = (DXGK_BUILDPAGINGBUFFER_FILLVIRTUAL){.FillSizeInBytes = bytes, .DestinationVirtualAddress = to};
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    assert_ptr_equal(a.pDmaBuffer, (uint8_t *)rig->buffer.address + 6 * 32);
    for (unsigned i = 0; i < 6; i++) {
        const uint64_t *words = (const uint64_t *)rig->buffer.address + 4 * i, at = i % 3 * piece;

        assert_true((uint32_t)words[1] == (i % 3 < 2 ? piece : 0x1234));
        assert_true(words[2] == (i < 3 ? from : to) + at);
        assert_true(i >= 3 || words[3] == to + at);
    }
}

int main(void)
{
    rig_model = 2;
    const struct CMUnitTest tests[] = {
        CASE(tables_that_operations_write_are_walked),
        CASE(entries_in_each_form_and_size),
        CASE(a_whole_table_goes_through_small_buffers),
        CASE(tables_by_cpu_by_their_virtual_address_and_copied),
        CASE(a_job_without_a_process_reaches_no_addresses),
        CASE(what_the_cpu_has_written_is_walked),
        CASE(a_flush_forgets_no_more_than_it_has_to),
        CASE(what_no_manager_may_ask_is_refused),
        CASE(what_lies_beyond_a_table_or_all_addresses_is_refused),
        CASE(what_is_longer_than_a_packet_takes_goes_in_pieces),
    };

    printf("miniport: real\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
