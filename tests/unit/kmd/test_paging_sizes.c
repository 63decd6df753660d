// SPDX-License-Identifier: Apache-2.0
// Every DMA buffer size from 0 to the need of an operation: canaries behind what the call may write, and a decoder of
// the test's own that puts together what the packets say and compares it with the operation, page by page.
#include "rig.h"

#include "kmd/internal.h"

#include <stdio.h>

#define CANARY 0xC5
#define MOST   4096u

static uint32_t get32(const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, 4);
    return value;
}

static uint64_t get64(const uint8_t *at)
{
    uint64_t value;

    memcpy(&value, at, 8);
    return value;
}

// What an operation does to each page of its range: touched how often, from and to where, with what.
struct page {
    unsigned times;
    uint64_t system; // Bus address of the page on the list side.
    uint64_t other;  // Source of a linear copy, or the pattern.
    uint32_t bytes, first, kinds;
};
struct seen {
    struct page pages[128];
    uint64_t base; // Linear address of page 0, or the first aperture page.
    unsigned packets, unknown;
};

static void decode(struct seen *seen, const uint8_t *buffer, uint32_t bytes)
{
    for (uint32_t at = 0; at < bytes;) {
        const uint8_t *p = buffer + at;
        uint32_t opcode = p[0], words = get32(p) >> 16, kinds = get32(p + 4);
        uint64_t address, other = 0, left = get32(p + 8);

        assert_true(words >= 6 && words % 2 == 0 && 4 * words <= bytes - at);
        seen->packets++;
        switch (opcode) {
        case 1:
            address = get64(p + 24);
            other = get64(p + 16);
            break;
        case 2:
            address = get64(p + 16);
            assert_int_equal(get32(p + 12), 0);
            assert_int_equal(words, 6 + 2 * ((left + 4095) / 4096));
            break;
        case 3:
            address = get64(p + 16);
            other = get64(p + 24);
            break;
        case 6:
            address = seen->base + (get32(p + 8) - seen->base) * 4096ull;
            left = get32(p + 12) * 4096ull;
            assert_int_equal(words, 4 + 2 * get32(p + 12));
            break;
        case 9: address = get64(p + 16); break;
        default:
            seen->unknown++;
            at += 4 * words;
            continue;
        }
        for (uint64_t i = 0; left; i++) {
            uint64_t page = (address - seen->base) / 4096 + i;
            uint32_t piece = left < 4096 ? (uint32_t)left : 4096;

            assert_true((address - seen->base) % 4096 == 0 && page < 128);
            seen->pages[page].times++;
            seen->pages[page].bytes = piece;
            seen->pages[page].kinds = kinds;
            seen->pages[page].other = opcode == 1 ? other + i * 4096 : other;
            if (opcode == 2)
                seen->pages[page].system = get64(p + 24 + 8 * i);
            if (opcode == 6)
                seen->pages[page].system = get64(p + 16 + 8 * i);
            left -= piece;
        }
        at += 4 * words;
    }
}

// An offset that no pass has left, of an operation that counts what its passes have done: a manager that went on from
// there for as long as it is told so would never end.
static void is_refused_behind_its_end(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER a, uint8_t *buffer, uint32_t bytes)
{
    uint8_t private_data[16];

    if (a.MultipassOffset == 0)
        return;
    const UINT behind[] = {a.MultipassOffset + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof behind / sizeof behind[0]; i++) {
        a.pDmaBuffer = buffer;
        a.DmaSize = bytes;
        a.pDmaBufferPrivateData = private_data;
        a.DmaBufferPrivateDataSize = sizeof private_data;
        a.MultipassOffset = behind[i];
        assert_int_equal(rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &a), STATUS_INVALID_PARAMETER);
        assert_ptr_equal(a.pDmaBuffer, buffer);
        assert_int_equal(a.DmaSize, bytes);
        assert_int_equal(a.MultipassOffset, behind[i]);
    }
}

// Build an operation to its end in buffers of `bytes`, decode it all into seen. The number of passes, or 0 when a
// buffer of this size cannot take any step; *cursor then says where it stopped.
static unsigned build_all(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *a, uint32_t bytes, struct seen *seen)
{
    static uint64_t memory[(MOST + 64) / 8];
    static uint8_t private_data[64];
    unsigned passes = 0;

    a->MultipassOffset = 0;
    for (;;) {
        DXGKARG_BUILDPAGINGBUFFER before;
        uint8_t *begin = (uint8_t *)memory;

        memset(memory, CANARY, sizeof memory);
        memset(private_data, CANARY, sizeof private_data);
        a->pDmaBuffer = begin;
        a->DmaSize = bytes;
        a->pDmaBufferPrivateData = private_data;
        a->DmaBufferPrivateDataSize = 16;
        a->DmaBufferWriteOffset = 0;
        before = *a;
        NTSTATUS status = rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, a);
        uint32_t written = (uint32_t)((uint8_t *)a->pDmaBuffer - begin);

        passes++;
        assert_true(written <= bytes);
        assert_int_equal(a->DmaSize, bytes - written); // R102
        for (size_t i = written; i < sizeof memory; i++)
            assert_int_equal(begin[i], CANARY); // R18, R19
        assert_int_equal((uint8_t *)a->pDmaBufferPrivateData - private_data, written ? 16 : 0);
        for (size_t i = written ? 16 : 0; i < sizeof private_data; i++)
            assert_int_equal(private_data[i], CANARY);
        decode(seen, begin, written);
        // Nothing but the cursor and the buffer fields may have moved.
        before.pDmaBuffer = a->pDmaBuffer;
        before.DmaSize = a->DmaSize;
        before.pDmaBufferPrivateData = a->pDmaBufferPrivateData;
        before.DmaBufferPrivateDataSize = a->DmaBufferPrivateDataSize;
        bool moved = before.MultipassOffset != a->MultipassOffset;
        before.MultipassOffset = a->MultipassOffset;
        assert_memory_equal(&before, a, sizeof before);
        if (status == STATUS_SUCCESS) {
            is_refused_behind_its_end(rig, *a, begin, bytes);
            return passes;
        }
        assert_int_equal(status, STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER); // R20
        if (!moved) {
            assert_int_equal(written, 0);
            return 0;
        }
    }
}

static void R19_R20_R27_transfers_between_pages_and_segment(void **state)
{
    struct rig *rig = *state;
    uint64_t pfn[40];
    MDL mdl = {.PageCount = 40, .ByteCount = 40 * 4096, .Pfn = pfn};
    HANDLE allocation = make_allocation(rig, 1 << 20, false);
    static const uint64_t sizes[] = {1, 4096, 4097, 20 * 4096, 20 * 4096 - 1};

    for (int i = 0; i < 40; i++)
        pfn[i] = (uint64_t)(1000 + 37 * i % 41);
    for (unsigned c = 0; c < 4 * sizeof sizes / sizeof sizes[0]; c++) {
        uint64_t size = sizes[c / 4], pages = (size + 4095) / 4096;
        bool in = c & 1, aperture = c & 2;

        for (uint32_t bytes = 0; bytes <= 24 + 8 * pages + 9; bytes++) {
            DXGKARG_BUILDPAGINGBUFFER a = {.Operation = DXGK_OPERATION_TRANSFER};
            struct seen seen = {.base = 0x40000 + 0x3000};
            DXGK_TRANSFERSIDE segment = {.SegmentId = aperture ? 2 : 1}, list = {.SegmentId = 0};

            segment.SegmentAddress.QuadPart = 0x40000 + (aperture ? (int64_t)FERRY_KMD_APERTURE_BASE : 0);
            list.pMdl = &mdl;
            a.Transfer.hAllocation = allocation;
            a.Transfer.TransferOffset = 0x3000;
            a.Transfer.TransferSize = size;
            a.Transfer.Source = in ? list : segment;
            a.Transfer.Destination = in ? segment : list;
            a.Transfer.MdlOffset = 7;
            unsigned passes = build_all(rig, &a, bytes, &seen);
            if (bytes < 32) {
                assert_int_equal(passes, 0);
                assert_int_equal(seen.packets, 0);
                continue;
            }
            assert_int_equal(passes, (pages + (bytes - 24) / 8 - 1) / ((bytes - 24) / 8));
            assert_int_equal(a.MultipassOffset, pages);
            for (uint64_t page = 0; page < 128; page++) {
                const struct page *p = &seen.pages[page];

                assert_int_equal(p->times, page < pages);
                if (page >= pages)
                    continue;
                assert_int_equal(p->system, pfn[7 + page] << 12);
                assert_int_equal(p->bytes, page == pages - 1 ? size - page * 4096 : 4096);
                uint32_t kind = aperture ? 2 : 0;
                assert_int_equal(p->kinds, in ? 1u | kind << 2 | 1u << 4 : kind | 1u << 2 | 2u << 4);
            }
        }
    }
    destroy_allocation(rig, allocation);
}

static void R7_R8_transfers_within_and_between_segments(void **state)
{
    struct rig *rig = *state;
    static const uint64_t sizes[] = {1, 4096, 20 * 4096 + 5};

    for (unsigned c = 0; c < 9; c++) {
        uint64_t size = sizes[c / 3], pages = (size + 4095) / 4096;
        uint32_t from = c % 3 == 1 ? 2 : 1, to = c % 3 == 2 ? 2 : 1;

        for (uint32_t bytes = 0; bytes <= 40; bytes++) {
            DXGKARG_BUILDPAGINGBUFFER a = {.Operation = DXGK_OPERATION_TRANSFER};
            struct seen seen = {.base = 0x80000 + 0x1000};

            a.Transfer.TransferOffset = 0x1000;
            a.Transfer.TransferSize = size;
            a.Transfer.Source.SegmentId = from;
            a.Transfer.Source.SegmentAddress.QuadPart = 0x10000 + (from == 2 ? (int64_t)FERRY_KMD_APERTURE_BASE : 0);
            a.Transfer.Destination.SegmentId = to;
            a.Transfer.Destination.SegmentAddress.QuadPart = 0x80000 + (to == 2 ? (int64_t)FERRY_KMD_APERTURE_BASE : 0);
            unsigned passes = build_all(rig, &a, bytes, &seen);
            assert_int_equal(passes, bytes >= 32);
            for (uint64_t page = 0; page < 128 && passes; page++) {
                assert_int_equal(seen.pages[page].times, page < pages);
                if (page < pages) {
                    assert_int_equal(seen.pages[page].other, 0x11000 + page * 4096);
                    assert_int_equal(seen.pages[page].kinds, (from == 2 ? 2 : 0) | (to == 2 ? 2u << 2 : 0));
                }
            }
        }
    }
}

static void R44_fills_of_any_size(void **state)
{
    struct rig *rig = *state;
    static const uint64_t sizes[] = {1, 2, 3, 5, 4095, 4096, 10 * 4096 + 3};

    for (unsigned c = 0; c < sizeof sizes / sizeof sizes[0]; c++) {
        for (uint32_t bytes = 0; bytes <= 40; bytes++) {
            DXGKARG_BUILDPAGINGBUFFER a = {.Operation = DXGK_OPERATION_FILL};
            struct seen seen = {.base = 0x5000};
            uint64_t pages = (sizes[c] + 4095) / 4096;

            a.Fill.FillSize = sizes[c];
            a.Fill.FillPattern = 0x12345678;
            a.Fill.Destination.SegmentId = 1;
            a.Fill.Destination.SegmentAddress.QuadPart = 0x5000;
            unsigned passes = build_all(rig, &a, bytes, &seen);
            assert_int_equal(passes, bytes >= 32);
            for (uint64_t page = 0; page < 128 && passes; page++) {
                assert_int_equal(seen.pages[page].times, page < pages);
                if (page < pages) {
                    assert_int_equal(seen.pages[page].other, 0x12345678);
                    assert_int_equal(seen.pages[page].kinds, 2u << 6);
                }
            }
        }
    }
}

// A move too long for one packet: the pieces join without gap, each below 4 GiB.
static void fills_beyond_4_gib_take_several_packets(void **state)
{
    struct rig *rig = *state;
    uint64_t buffer[64], size = (5ull << 30) + 77, done = 0;
    DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, buffer, sizeof buffer, DXGK_OPERATION_FILL);

    a.Fill.FillSize = size;
    a.Fill.Destination.SegmentId = 1;
    assert_int_equal(rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &a), STATUS_SUCCESS);
    for (const uint8_t *p = (uint8_t *)buffer; p < (uint8_t *)a.pDmaBuffer; p += 32) {
        assert_int_equal(get64(p + 16), done);
        done += get32(p + 8);
    }
    assert_true(done == size);
}

static void R63_maps_pages_in_any_buffer_size(void **state)
{
    struct rig *rig = *state;
    uint64_t pfn[30];
    MDL mdl = {.PageCount = 30, .ByteCount = 30 * 4096, .Pfn = pfn};

    for (int i = 0; i < 30; i++)
        pfn[i] = (uint64_t)(500 + 11 * i % 31);
    for (uint32_t bytes = 0; bytes <= 16 + 8 * 21 + 9; bytes++) {
        DXGKARG_BUILDPAGINGBUFFER a = {.Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT};
        struct seen seen = {.base = 40};

        a.MapApertureSegment.SegmentId = 2;
        a.MapApertureSegment.OffsetInPages = 40;
        a.MapApertureSegment.NumberOfPages = 21;
        a.MapApertureSegment.pMdl = &mdl;
        a.MapApertureSegment.MdlOffset = 9;
        a.MapApertureSegment.Flags.CacheCoherent = bytes & 1;
        unsigned passes = build_all(rig, &a, bytes, &seen);
        assert_int_equal(passes != 0, bytes >= 24);
        for (uint64_t page = 0; page < 128 && passes; page++) {
            assert_int_equal(seen.pages[page].times, page < 21);
            if (page < 21) {
                assert_int_equal(seen.pages[page].system, pfn[9 + page] << 12);
                assert_int_equal(seen.pages[page].kinds, (bytes & 1) << 8); // R64, R65
            }
        }
    }
}

static void operations_of_one_packet_in_any_buffer_size(void **state)
{
    struct rig *rig = *state;
    HANDLE allocation = make_allocation(rig, 5 * 4096, false);

    for (uint32_t bytes = 0; bytes <= 48; bytes++) {
        struct seen seen = {.base = 0x9000};
        DXGKARG_BUILDPAGINGBUFFER a = {.Operation = DXGK_OPERATION_DISCARD_CONTENT};
        a.DiscardContent.hAllocation = allocation;
        a.DiscardContent.SegmentId = 1;
        a.DiscardContent.SegmentAddress.QuadPart = 0x9000;
        assert_int_equal(build_all(rig, &a, bytes, &seen), bytes >= 24);
        for (unsigned page = 0; page < 128; page++)
            assert_int_equal(seen.pages[page].times, bytes >= 24 && page < 5);

        for (uint32_t address = 0; address < 8; address++) {
            a = (DXGKARG_BUILDPAGINGBUFFER){.Operation = DXGK_OPERATION_READ_PHYSICAL};
            a.ReadPhysical.SegmentId = 1;
            a.ReadPhysical.PhysicalAddress.QuadPart = 0x9000 + address;
            assert_int_equal(build_all(rig, &a, bytes, &seen), bytes >= 24);
            a.Operation = DXGK_OPERATION_WRITE_PHYSICAL;
            assert_int_equal(build_all(rig, &a, bytes, &seen), bytes >= 32);
        }
        a = (DXGKARG_BUILDPAGINGBUFFER){.Operation = DXGK_OPERATION_UNMAP_APERTURE_SEGMENT};
        a.UnmapApertureSegment.SegmentId = 2;
        a.UnmapApertureSegment.OffsetInPages = 3;
        a.UnmapApertureSegment.NumberOfPages = 250;
        a.UnmapApertureSegment.DummyPage.QuadPart = 0x7000;
        assert_int_equal(build_all(rig, &a, bytes, &seen), bytes >= 24);
        a = (DXGKARG_BUILDPAGINGBUFFER){.Operation = DXGK_OPERATION_SIGNAL_MONITORED_FENCE};
        a.SignalMonitoredFence.MonitoredFenceGpuVa = 0x7008;
        a.SignalMonitoredFence.MonitoredFenceValue = 99;
        assert_int_equal(build_all(rig, &a, bytes, &seen), bytes >= 24);
    }
    destroy_allocation(rig, allocation);
}

static void private_data_is_checked_before_anything_is_written(void **state)
{
    struct rig *rig = *state;
    uint64_t buffer[8];

    for (uint32_t size = 0; size <= 17; size++) {
        DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, buffer, sizeof buffer, DXGK_OPERATION_FILL);
        memset(rig->private_data, CANARY, sizeof rig->private_data);
        a.DmaBufferPrivateDataSize = size;
        a.Fill.FillSize = 64;
        a.Fill.Destination.SegmentId = 1;
        NTSTATUS status = rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &a);
        assert_int_equal(status, size < 16 ? STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER : STATUS_SUCCESS);
        assert_ptr_equal(a.pDmaBuffer, size < 16 ? (uint8_t *)buffer : (uint8_t *)buffer + 32);
        for (uint32_t i = size < 16 ? 0 : 16; i < 32; i++)
            assert_int_equal(rig->private_data[i], CANARY);
    }
}

// However large the manager's buffer, what is built into it never exceeds what the device takes in one piece.
static void buffers_never_exceed_a_command_slot(void **state)
{
    struct rig *rig = *state;
    static uint64_t buffer[2048];
    static uint64_t pfn[4096];
    MDL mdl = {.PageCount = 4096, .ByteCount = 4096u * 4096, .Pfn = pfn};
    DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, buffer, sizeof buffer, DXGK_OPERATION_TRANSFER);

    a.Transfer.TransferSize = 1024 * 4096;
    a.Transfer.Source.pMdl = &mdl;
    a.Transfer.Destination.SegmentId = 1;
    assert_int_equal(rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &a), STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
    assert_ptr_equal(a.pDmaBuffer, (uint8_t *)buffer + 4096);
    assert_int_equal(a.MultipassOffset, 509);
    a.DmaBufferWriteOffset = 4096;
    assert_int_equal(rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &a), STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
    assert_ptr_equal(a.pDmaBuffer, (uint8_t *)buffer + 4096);
    a.DmaBufferWriteOffset = 4000;
    assert_int_equal(rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &a), STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
    assert_ptr_equal(a.pDmaBuffer, (uint8_t *)buffer + 4096 + 96);
    assert_int_equal(a.MultipassOffset, 509 + 9);
}

static void transfers_of_nothing_write_nothing(void **state)
{
    struct rig *rig = *state;
    uint64_t buffer[8];
    DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, buffer, 0, DXGK_OPERATION_TRANSFER);

    a.Transfer.Source.SegmentId = 1;
    assert_int_equal(rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &a), STATUS_SUCCESS);
    assert_ptr_equal(a.pDmaBuffer, buffer);
}

static void R3_what_is_not_announced_is_refused_by_name(void **state)
{
    struct rig *rig = *state;
    uint64_t buffer[512];

    for (int operation = 7; operation < 30; operation++) {
        if (operation == DXGK_OPERATION_SIGNAL_MONITORED_FENCE || operation == DXGK_OPERATION_NOTIFY_RESIDENCY)
            continue;
        DXGKARG_BUILDPAGINGBUFFER a =
            arguments(rig, buffer, sizeof buffer, (DXGK_BUILDPAGINGBUFFER_OPERATION)operation);
        assert_int_equal(rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &a), STATUS_NOT_SUPPORTED);
        assert_ptr_equal(a.pDmaBuffer, buffer);
    }
}

static void R47_fills_of_an_aperture_are_refused(void **state)
{
    struct rig *rig = *state;
    uint64_t buffer[8];
    DXGKARG_BUILDPAGINGBUFFER a = arguments(rig, buffer, sizeof buffer, DXGK_OPERATION_FILL);

    a.Fill.FillSize = 4096;
    a.Fill.Destination.SegmentId = 2;
    a.Fill.Destination.SegmentAddress.QuadPart = (int64_t)FERRY_KMD_APERTURE_BASE;
    assert_int_equal(rig->kmd->DxgkDdiBuildPagingBuffer(rig->adapter, &a), STATUS_INVALID_PARAMETER);
    assert_ptr_equal(a.pDmaBuffer, buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(R19_R20_R27_transfers_between_pages_and_segment),
        CASE(R7_R8_transfers_within_and_between_segments),
        CASE(R44_fills_of_any_size),
        CASE(fills_beyond_4_gib_take_several_packets),
        CASE(R63_maps_pages_in_any_buffer_size),
        CASE(operations_of_one_packet_in_any_buffer_size),
        CASE(private_data_is_checked_before_anything_is_written),
        CASE(buffers_never_exceed_a_command_slot),
        CASE(transfers_of_nothing_write_nothing),
        CASE(R3_what_is_not_announced_is_refused_by_name),
        CASE(R47_fills_of_an_aperture_are_refused),
    };

    printf("miniport: real\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
