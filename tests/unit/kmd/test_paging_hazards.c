// SPDX-License-Identifier: Apache-2.0
// Random paging buffers in flight together: a packet that Patch lets run ahead reads no byte that one before it writes,
// and writes none that one reads that is not over for certain. Or content goes in or out that is another's.
#include "hazard_judge.h"

#define BUFFERS 8u // In flight together.
#define ROUNDS  400u
#define CONTENT 0x100000u // In video memory, so many pages; and as many of the host.
#define PAGES   40u
#define PAGE    4096u
#define MAPPED  16u // Pages of the aperture.

static struct judge judge;
static struct ferry_gpu_memory buffers;
static struct host_pages host;
static HANDLE allocation, process;
static uint8_t notes[BUFFERS][1024];
static uint32_t sent;

static DXGK_TRANSFERSIDE some_segment(uint32_t pages)
{
    bool aperture = draw(8) == 0;
    DXGK_TRANSFERSIDE side = {.SegmentId = aperture ? FERRY_KMD_SEGMENT_APERTURE : FERRY_KMD_SEGMENT_LOCAL};

    side.SegmentAddress.QuadPart = aperture ? (int64_t)(FERRY_KMD_APERTURE_BASE + draw(MAPPED - pages + 1) * PAGE)
                                            : (int64_t)(CONTENT + draw(PAGES - pages + 1) * PAGE);
    return side;
}

static void transfer(DXGKARG_BUILDPAGINGBUFFER *a)
{
    uint32_t pages = 1 + (uint32_t)draw(draw(3) ? 3 : MAPPED), mdl = (uint32_t)draw(5);
    DXGK_TRANSFERSIDE list = {.SegmentId = 0};

    list.pMdl = &host.mdl;
    a->Operation = DXGK_OPERATION_TRANSFER;
    a->Transfer = (DXGK_BUILDPAGINGBUFFER_TRANSFER){.hAllocation = draw(8) ? allocation : NULL,
                                                    .TransferSize = pages * PAGE - (draw(4) ? 0 : draw(PAGE)),
                                                    .Source = mdl < 2 ? list : some_segment(pages),
                                                    .Destination = mdl == 2 || mdl == 3 ? list : some_segment(pages),
                                                    .MdlOffset = (UINT)draw(PAGES - pages + 1)};
    a->Transfer.Flags.AllocationIsIdle = 1;
}

static DXGK_BUILDPAGINGBUFFER_PHYSICAL some_byte(void)
{
    DXGK_TRANSFERSIDE side = some_segment(1);
    DXGK_BUILDPAGINGBUFFER_PHYSICAL at = {.SegmentId = side.SegmentId};

    at.PhysicalAddress.QuadPart = side.SegmentAddress.QuadPart + (int64_t)draw(PAGE - 8);
    return at;
}

static void entries(DXGKARG_BUILDPAGINGBUFFER *a)
{
    static DXGK_PTE given[64];

    a->Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE;
    for (uint32_t i = 0; i < 64; i++)
        given[i] = (DXGK_PTE){.Valid = 1, .Segment = FERRY_KMD_SEGMENT_LOCAL, .PageAddress = draw(64)};
    a->UpdatePageTable = (DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE){.pPageTableEntries = given,
                                                                  .StartIndex = (UINT)draw(400),
                                                                  .NumPageTableEntries = 1 + (UINT)draw(64),
                                                                  .UpdateMode = DXGK_PAGETABLEUPDATE_GPU_PHYSICAL,
                                                                  .Flags.Repeat = draw(4) == 0};
    a->UpdatePageTable.PageTableAddress.GpuPhysical.SegmentId = FERRY_KMD_SEGMENT_LOCAL;
    a->UpdatePageTable.PageTableAddress.GpuPhysical.SegmentOffset = CONTENT + draw(PAGES) * PAGE;
}

// Of a group, of up to four tables, or of a space: no copy from place to place waits for it.
static void flush(DXGKARG_BUILDPAGINGBUFFER *a)
{
    uint64_t first = draw(64) * PAGE;

    a->Operation = DXGK_OPERATION_FLUSH_TLB;
    a->FlushTlb =
        (DXGK_BUILDPAGINGBUFFER_FLUSHTLB){.RootPageTableAddress = {FERRY_KMD_SEGMENT_LOCAL, 0, CONTENT - PAGE},
                                          .hProcess = process,
                                          .StartVirtualAddress = first,
                                          .EndVirtualAddress = first + (PAGE << 6 * draw(3))};
}

static void operation(DXGKARG_BUILDPAGINGBUFFER *a)
{
    switch (draw(14)) {
    case 0: {
        DXGK_TRANSFERSIDE side;
        uint32_t pages = 1 + (uint32_t)draw(4);

        do {
            side = some_segment(pages);
        } while (side.SegmentId != FERRY_KMD_SEGMENT_LOCAL);
        a->Operation = DXGK_OPERATION_FILL;
        a->Fill = (DXGK_BUILDPAGINGBUFFER_FILL){.FillSize = pages * PAGE};
        a->Fill.Destination.SegmentId = side.SegmentId;
        a->Fill.Destination.SegmentAddress = side.SegmentAddress;
        break;
    }
    case 1:
        a->Operation = draw(2) ? DXGK_OPERATION_READ_PHYSICAL : DXGK_OPERATION_WRITE_PHYSICAL;
        if (a->Operation == DXGK_OPERATION_READ_PHYSICAL)
            a->ReadPhysical = some_byte();
        else
            a->WritePhysical = some_byte();
        break;
    case 2:
        if (draw(3)) {
            entries(a);
            break;
        }
        a->Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT;
        a->MapApertureSegment = (DXGK_BUILDPAGINGBUFFER_MAPAPERTURESEGMENT){.SegmentId = FERRY_KMD_SEGMENT_APERTURE,
                                                                            .NumberOfPages = 2,
                                                                            .OffsetInPages = (UINT)draw(MAPPED - 1),
                                                                            .pMdl = &host.mdl};
        break;
    case 3:
    case 4: flush(a); break;
    default: transfer(a); break;
    }
}

// What the table of the aperture waits for is over when it changes.
static void judge_buffer(const uint8_t *buffer, uint32_t bytes, uint32_t number)
{
    for (uint32_t at = 0; at < bytes;) {
        const uint32_t *words = (const uint32_t *)(const void *)(buffer + at);

        if ((words[0] & 0xff) == FERRY_OPCODE_MAP_APERTURE)
            judge.count = 0;
        judge_packet(&judge, 0, number, words);
        at += 4 * (words[0] >> 16);
    }
}

static void send_some_buffer(struct rig *rig)
{
    uint32_t place = sent % BUFFERS, number = ferry_gpu_ring_newest(rig->gpu, 0) + 1;
    uint8_t *buffer = (uint8_t *)buffers.address + (size_t)place * PAGE;
    DXGKARG_BUILDPAGINGBUFFER a = {.pDmaBuffer = buffer,
                                   .DmaSize = PAGE,
                                   .pDmaBufferPrivateData = notes[place],
                                   .DmaBufferPrivateDataSize = sizeof notes[place]};

    if (ferry_gpu_ring_pending(rig->gpu, 0) == BUFFERS)
        return;
    judge_forget(&judge, rig->gpu);
    for (uint64_t operations = 1 + draw(8); operations; operations--) {
        NTSTATUS status;

        a.MultipassOffset = 0;
        a.DmaBufferWriteOffset = (UINT)((uint8_t *)a.pDmaBuffer - buffer);
        operation(&a);
        status = rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &a);
        // What has no room any more ends the buffer.
        if (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER)
            break;
        assert_int_equal(status, STATUS_SUCCESS);
    }
    uint32_t bytes = (uint32_t)((uint8_t *)a.pDmaBuffer - buffer);
    DXGKARG_PATCH patch = {.pDmaBuffer = buffer,
                           .DmaBufferSize = PAGE,
                           .DmaBufferSubmissionEndOffset = bytes,
                           .pDmaBufferPrivateData = notes[place],
                           .DmaBufferPrivateDataSize = sizeof notes[place],
                           .DmaBufferPrivateDataSubmissionEndOffset =
                               (UINT)((uint8_t *)a.pDmaBufferPrivateData - notes[place]),
                           .SubmissionFenceId = ++sent,
                           .Flags.Paging = 1};
    DXGKARG_SUBMITCOMMAND submit = {
        .DmaBufferSize = PAGE, .DmaBufferSubmissionEndOffset = bytes, .SubmissionFenceId = sent, .Flags.Paging = 1};
    patch.DmaBufferPhysicalAddress.QuadPart = submit.DmaBufferPhysicalAddress.QuadPart =
        (int64_t)(buffers.bus + (uint64_t)place * PAGE);
    assert_int_equal(rig->kmd->DxgkDdiPatch(rig->adapter, &patch), STATUS_SUCCESS);
    judge_buffer(buffer, bytes, number);
    assert_int_equal(rig->kmd->DxgkDdiSubmitCommand(rig->adapter, &submit), STATUS_SUCCESS);
}

static void what_runs_ahead_meets_nothing(void **state)
{
    struct rig *rig = *state;
    DXGKARG_CREATEPROCESS created = {0};

    assert_int_equal(rig->kmd->DxgkDdiCreateProcess(rig->adapter, &created), STATUS_SUCCESS);
    process = created.hKmdProcess;
    assert_int_equal(ferry_gpu_memory_allocate(rig->gpu, BUFFERS * PAGE, 0, &buffers), FERRY_OK);
    pages_make(rig, &host, PAGES);
    allocation = make_allocation(rig, PAGES * PAGE, false);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        send_some_buffer(rig);
        if (draw(6) == 0)
            assert_int_equal(ferry_gpu_run(rig->gpu, draw(3000)), FERRY_OK);
        if (draw(12) == 0)
            wait_for(rig, 0, sent);
    }
    wait_for(rig, 0, sent);
    judge_tell(&judge, ROUNDS / 4);
    destroy_allocation(rig, allocation);
    pages_free(rig, &host);
    ferry_gpu_memory_free(rig->gpu, &buffers);
    assert_int_equal(rig->kmd->DxgkDdiDestroyProcess(rig->adapter, process), STATUS_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(what_runs_ahead_meets_nothing)};

    judge_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
