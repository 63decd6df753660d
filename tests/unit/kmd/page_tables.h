// SPDX-License-Identifier: Apache-2.0
// Page tables in the rig, written by operations of driver model 2, and a program that has them. The entries' bits are
// spelt out.
#ifndef FERRY_TESTS_KMD_PAGE_TABLES_H
#define FERRY_TESTS_KMD_PAGE_TABLES_H

#include "rig.h"

#define ROOT_AT    0x10000u
#define LEVEL2_AT  0x11000u
#define LEVEL1_AT  0x12000u
#define LEVEL0_AT  0x13000u
#define CONTENT_AT 0x40000u
#define VALID      1ull
#define HOST       2ull
#define SNOOP      4ull
#define READ_ONLY  8ull
#define LEAF       32ull
#define GROUPED    64ull

static inline uint64_t entry_at(struct rig *rig, uint64_t table, uint32_t index)
{
    uint64_t entry;

    assert_int_equal(ferry_gpu_window_read(rig->gpu, table + 8 * index, &entry, 8), FERRY_OK);
    return entry;
}

// Whatever was there before.
static inline void spoil(struct rig *rig, uint64_t at, int byte, size_t bytes)
{
    uint8_t *content = malloc(bytes);

    memset(content, byte, bytes);
    assert_int_equal(ferry_gpu_window_write(rig->gpu, at, content, bytes), FERRY_OK);
    free(content);
}

static inline HANDLE make_process(struct rig *rig, bool system)
{
    DXGKARG_CREATEPROCESS process = {.Flags.SystemProcess = system};

    assert_int_equal(rig->kmd->DxgkDdiCreateProcess(rig->adapter, &process), STATUS_SUCCESS);
    return process.hKmdProcess;
}

static inline DXGKARG_BUILDPAGINGBUFFER start(struct rig *rig)
{
    return arguments(rig, rig->buffer.address, 4096, DXGK_OPERATION_UPDATE_PAGE_TABLE);
}

static inline void update_arguments(DXGKARG_BUILDPAGINGBUFFER *a, UINT level, uint64_t table, UINT first, UINT count,
                                    DXGK_PTE *entries)
{
    a->Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE;
    a->MultipassOffset = 0;
    a->UpdatePageTable = (DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE){.PageTableLevel = level,
                                                                  .pPageTableEntries = entries,
                                                                  .StartIndex = first,
                                                                  .NumPageTableEntries = count,
                                                                  .UpdateMode = DXGK_PAGETABLEUPDATE_GPU_PHYSICAL};
    a->UpdatePageTable.PageTableAddress.GpuPhysical.SegmentId = FERRY_KMD_SEGMENT_LOCAL;
    a->UpdatePageTable.PageTableAddress.GpuPhysical.SegmentOffset = table;
}

static inline void flush_arguments(DXGKARG_BUILDPAGINGBUFFER *a, HANDLE process, uint64_t first, uint64_t end)
{
    a->Operation = DXGK_OPERATION_FLUSH_TLB;
    a->MultipassOffset = 0;
    a->FlushTlb = (DXGK_BUILDPAGINGBUFFER_FLUSHTLB){.RootPageTableAddress = {FERRY_KMD_SEGMENT_LOCAL, 0, ROOT_AT},
                                                    .hProcess = process,
                                                    .StartVirtualAddress = first,
                                                    .EndVirtualAddress = end};
}

static inline DXGK_PTE local_page(uint64_t address)
{
    return (DXGK_PTE){.Valid = 1, .Segment = FERRY_KMD_SEGMENT_LOCAL, .PageAddress = address >> 12};
}

// The levels above, all empty but for the way to LEVEL0_AT, and the process told of its root.
static inline void make_tables(struct rig *rig, HANDLE process, uint32_t fence)
{
    DXGKARG_BUILDPAGINGBUFFER a = start(rig);
    DXGK_PTE none = {0}, to[3] = {local_page(LEVEL2_AT), local_page(LEVEL1_AT), local_page(LEVEL0_AT)};
    const uint64_t tables[4] = {ROOT_AT, LEVEL2_AT, LEVEL1_AT, LEVEL0_AT};

    spoil(rig, ROOT_AT, 0xee, 4 * 4096);
    for (UINT i = 0; i < 4; i++) {
        update_arguments(&a, 3 - i, tables[i], 0, 512, &none);
        a.UpdatePageTable.Flags.Repeat = a.UpdatePageTable.Flags.InitialUpdate = 1;
        assert_int_equal(append(rig, &a), STATUS_SUCCESS);
        if (i < 3) {
            update_arguments(&a, 3 - i, tables[i], 0, 1, &to[i]);
            assert_int_equal(append(rig, &a), STATUS_SUCCESS);
        }
    }
    flush_arguments(&a, process, 0, 0);
    assert_int_equal(append(rig, &a), STATUS_SUCCESS);
    submit_paging(rig, &a, fence);
    wait_for(rig, 0, fence);
    assert_int_equal(ferry_kmd_faults(rig->adapter), 0);
}

// A job of a context that writes 8 bytes at a virtual address; its fence. What the context's process maps decides.
static inline void write_virtual(struct rig *rig, HANDLE context, struct ferry_gpu_memory *commands, uint64_t address,
                                 uint64_t value, uint32_t fence)
{
    uint32_t packet[8] = {5 | 8 << 16,
                          3 << 2,
                          8,
                          0,
                          (uint32_t)address,
                          (uint32_t)(address >> 32),
                          (uint32_t)value,
                          (uint32_t)(value >> 32)};
    DXGKARG_PATCH patch = {.hContext = context,
                           .pDmaBuffer = commands->address,
                           .DmaBufferSize = 4096,
                           .DmaBufferSubmissionEndOffset = 32,
                           .NodeOrdinal = 1};
    DXGKARG_SUBMITCOMMAND submit = {.hContext = context,
                                    .DmaBufferSize = 4096,
                                    .DmaBufferSubmissionEndOffset = 32,
                                    .SubmissionFenceId = fence,
                                    .NodeOrdinal = 1};

    submit.DmaBufferPhysicalAddress.QuadPart = (int64_t)commands->bus;
    memcpy(commands->address, packet, sizeof packet);
    assert_int_equal(rig->kmd->DxgkDdiPatch(rig->adapter, &patch), STATUS_SUCCESS);
    assert_int_equal(rig->kmd->DxgkDdiSubmitCommand(rig->adapter, &submit), STATUS_SUCCESS);
    wait_for(rig, 1, fence);
}

struct program {
    HANDLE process, device, context;
    struct ferry_gpu_memory commands;
};

static inline void program_make(struct rig *rig, struct program *p)
{
    p->process = make_process(rig, false);
    DXGKARG_CREATEDEVICE device = {.hKmdProcess = p->process};
    assert_int_equal(rig->kmd->DxgkDdiCreateDevice(rig->adapter, &device), STATUS_SUCCESS);
    p->device = device.hDevice;
    DXGKARG_CREATECONTEXT context = {.NodeOrdinal = 1};
    assert_int_equal(rig->kmd->DxgkDdiCreateContext(p->device, &context), STATUS_SUCCESS);
    p->context = context.hContext;
    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 4096, 0, &p->commands), FERRY_OK);
}

static inline void program_end(struct rig *rig, struct program *p)
{
    rig->kmd->DxgkDdiDestroyContext(p->context);
    rig->kmd->DxgkDdiDestroyDevice(p->device);
    assert_int_equal(rig->kmd->DxgkDdiDestroyProcess(rig->adapter, p->process), STATUS_SUCCESS);
    ferry_gpu_memory_free(rig->gpu, &p->commands);
}

#endif
