// SPDX-License-Identifier: Apache-2.0
// A program with page tables in the rig, whose jobs copy by GPU virtual address, and that tells of each packet of a job
// whether it may run ahead. Where the addresses lead is worked out by hand.
#ifndef FERRY_TESTS_KMD_VIRTUAL_ORDER_H
#define FERRY_TESTS_KMD_VIRTUAL_ORDER_H

#include "ferry_contract.h"
#include "rig.h"

#define UNORDERED FERRY_PACKET_HEADER_UNORDERED_MASK
#define TABLES_AT 0x10000u // Root, level 2, 1 and 0.
#define LARGE     0x200000u

enum { VIRTUAL = FERRY_ADDRESS_KIND_VIRTUAL, LOCAL = FERRY_ADDRESS_KIND_LOCAL };

// What stands in rig->buffer, and how many buffers went out.
struct program {
    struct rig *rig;
    HANDLE process, device, context;
    DXGKARG_BUILDPAGINGBUFFER a;
    struct ferry_gpu_memory commands;
    uint32_t paging_fence, fence, used, packets, at[64];
    // Of those packets that name a place: where Patch puts it.
    D3DDDI_PATCHLOCATIONLIST places[32];
    UINT place_count;
    _Alignas(8) uint8_t private_data[64];
};

static inline void begin_buffer(struct program *p)
{
    p->a = arguments(p->rig, p->rig->buffer.address, 4096, DXGK_OPERATION_UPDATE_PAGE_TABLE);
}

static inline void send_buffer(struct program *p)
{
    submit_paging(p->rig, &p->a, ++p->paging_fence);
    wait_for(p->rig, 0, p->paging_fence);
    begin_buffer(p);
}

static inline void operate(struct program *p)
{
    p->a.MultipassOffset = 0;
    assert_int_equal(append(p->rig, &p->a), STATUS_SUCCESS);
}

// `count` entries from `address` on, that lead to pages from `entry` on; all alike, if that is none or a table.
static inline void write_entries(struct program *p, UINT level, uint64_t address, UINT count, DXGK_PTE entry)
{
    static DXGK_PTE entries[512];
    bool alike = !entry.Valid || (level > 0 && !entry.LargePage);

    for (UINT i = 0; i < count; i++) {
        entries[i] = entry;
        entries[i].PageAddress += i;
    }
    p->a.Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE;
    p->a.UpdatePageTable =
        (DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE){.PageTableLevel = level,
                                                 .pPageTableEntries = entries,
                                                 .StartIndex = (UINT)(address >> (12 + 9 * level)) & 511,
                                                 .NumPageTableEntries = count,
                                                 .UpdateMode = DXGK_PAGETABLEUPDATE_GPU_PHYSICAL,
                                                 .Flags.Repeat = alike,
                                                 .hProcess = p->process,
                                                 .FirstPteVirtualAddress = address};
    p->a.UpdatePageTable.PageTableAddress.GpuPhysical.SegmentId = FERRY_KMD_SEGMENT_LOCAL;
    p->a.UpdatePageTable.PageTableAddress.GpuPhysical.SegmentOffset = TABLES_AT + 0x1000 * (3 - level);
    operate(p);
}

static inline DXGK_PTE to_local(uint64_t address)
{
    return (DXGK_PTE){.Valid = 1, .Segment = FERRY_KMD_SEGMENT_LOCAL, .PageAddress = address >> 12};
}

static inline void flush(struct program *p, uint64_t first, uint64_t end)
{
    p->a.Operation = DXGK_OPERATION_FLUSH_TLB;
    p->a.FlushTlb = (DXGK_BUILDPAGINGBUFFER_FLUSHTLB){.RootPageTableAddress = {FERRY_KMD_SEGMENT_LOCAL, 0, TABLES_AT},
                                                      .hProcess = p->process,
                                                      .StartVirtualAddress = first,
                                                      .EndVirtualAddress = end};
    operate(p);
}

// A program whose tables cover the lowest 2 MiB with pages and the rest of the lowest GiB with large ones.
static inline void begin(struct rig *rig, struct program *p)
{
    DXGKARG_CREATEPROCESS process = {0};

    *p = (struct program){.rig = rig};
    assert_int_equal(rig->kmd->DxgkDdiCreateProcess(rig->adapter, &process), STATUS_SUCCESS);
    p->process = process.hKmdProcess;
    DXGKARG_CREATEDEVICE device = {.hKmdProcess = p->process};
    assert_int_equal(rig->kmd->DxgkDdiCreateDevice(rig->adapter, &device), STATUS_SUCCESS);
    p->device = device.hDevice;
    DXGKARG_CREATECONTEXT context = {.NodeOrdinal = 2};
    assert_int_equal(rig->kmd->DxgkDdiCreateContext(p->device, &context), STATUS_SUCCESS);
    p->context = context.hContext;
    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, 8192, 0, &p->commands), FERRY_OK);
    begin_buffer(p);
    for (UINT level = 4; level-- > 0;) {
        write_entries(p, level, 0, 512, (DXGK_PTE){0});
        if (level > 0)
            write_entries(p, level, 0, 1, to_local(TABLES_AT + 0x1000 * (4 - level)));
    }
    flush(p, 0, 0);
    send_buffer(p);
}

static inline void end(struct program *p)
{
    p->rig->kmd->DxgkDdiDestroyContext(p->context);
    p->rig->kmd->DxgkDdiDestroyDevice(p->device);
    assert_int_equal(p->rig->kmd->DxgkDdiDestroyProcess(p->rig->adapter, p->process), STATUS_SUCCESS);
    ferry_gpu_memory_free(p->rig->gpu, &p->commands);
}

// Of the packet that stands next; the allocation of the list that patch_places() gives is all of video memory.
static inline void name_place(struct program *p, UINT side, UINT at, uint64_t address)
{
    p->places[p->place_count++] = (D3DDDI_PATCHLOCATIONLIST){
        .DriverId = FERRY_KMD_PATCH_ID(p->used, side), .AllocationOffset = (UINT)address, .PatchOffset = p->used + at};
}

static inline void copy(struct program *p, uint32_t from_kind, uint64_t from, uint32_t to_kind, uint64_t to,
                        uint32_t bytes)
{
    uint32_t words[8] = {FERRY_OPCODE_COPY | 8 << 16,
                         FERRY_PUT(FERRY_PACKET_PLACES_SOURCE_KIND, from_kind) |
                             FERRY_PUT(FERRY_PACKET_PLACES_DESTINATION_KIND, to_kind),
                         bytes,
                         0,
                         (uint32_t)from,
                         (uint32_t)(from >> 32),
                         (uint32_t)to,
                         (uint32_t)(to >> 32)};

    memcpy((uint8_t *)p->commands.address + p->used, words, sizeof words);
    if (from_kind == LOCAL)
        name_place(p, FERRY_KMD_PATCH_SOURCE, FERRY_PACKET_COPY_SOURCE, from);
    if (to_kind == LOCAL)
        name_place(p, FERRY_KMD_PATCH_DESTINATION, FERRY_PACKET_COPY_DESTINATION, to);
    p->at[p->packets++] = p->used;
    p->used += sizeof words;
}

static inline void by_address(struct program *p, uint64_t from, uint64_t to, uint32_t bytes)
{
    copy(p, VIRTUAL, from, VIRTUAL, to, bytes);
}

// The job that stands there, as Patch sees it next.
static inline void patch_job(struct program *p)
{
    DXGKARG_PATCH patch = {.hContext = p->context,
                           .pDmaBuffer = p->commands.address,
                           .DmaBufferSize = 4096,
                           .DmaBufferSubmissionEndOffset = p->used,
                           .pDmaBufferPrivateData = p->private_data,
                           .DmaBufferPrivateDataSize = sizeof p->private_data,
                           .DmaBufferPrivateDataSubmissionEndOffset = sizeof p->private_data,
                           .pPatchLocationList = p->places,
                           .PatchLocationListSize = p->place_count,
                           .PatchLocationListSubmissionLength = p->place_count,
                           .SubmissionFenceId = p->fence + 1,
                           .NodeOrdinal = 2};

    assert_int_equal(patch_places(p->rig, &patch), STATUS_SUCCESS);
}

static inline void submit_job(struct program *p, bool again, uint32_t private_bytes)
{
    DXGKARG_SUBMITCOMMAND submitted = {.hContext = p->context,
                                       .DmaBufferSize = 4096,
                                       .DmaBufferSubmissionEndOffset = p->used,
                                       .pDmaBufferPrivateData = p->private_data,
                                       .DmaBufferPrivateDataSize = private_bytes,
                                       .DmaBufferPrivateDataSubmissionEndOffset = private_bytes,
                                       .SubmissionFenceId = ++p->fence,
                                       .Flags.Resubmission = again,
                                       .NodeOrdinal = 2};

    submitted.DmaBufferPhysicalAddress.QuadPart = (int64_t)p->commands.bus;
    assert_int_equal(p->rig->kmd->DxgkDdiSubmitCommand(p->rig->adapter, &submitted), STATUS_SUCCESS);
}

static inline void begin_job(struct program *p)
{
    p->used = p->packets = p->place_count = 0;
}

// The job that stands there, in flight; `runs_ahead` tells of each packet whether it may.
static inline void submit(struct program *p, const char *runs_ahead)
{
    patch_job(p);
    assert_int_equal(strlen(runs_ahead), p->packets);
    for (uint32_t i = 0; i < p->packets; i++) {
        uint32_t header;
        memcpy(&header, (uint8_t *)p->commands.address + p->at[i], 4);
        if (((header & UNORDERED) != 0) != (runs_ahead[i] == 'a'))
            fail_msg("packet %u of fence %u", i, p->fence + 1);
    }
    submit_job(p, false, sizeof p->private_data);
    begin_job(p);
}

static inline void done(struct program *p)
{
    wait_for(p->rig, 2, p->fence);
    assert_int_equal(ferry_kmd_faults(p->rig->adapter), 0);
}

#endif
