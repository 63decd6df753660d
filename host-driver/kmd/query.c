// SPDX-License-Identifier: Apache-2.0
// What the adapter is: capabilities, segments, paging buffer.
#include <string.h>

#include "kmd/internal.h"

// A paging buffer is one command slot: what is built into it goes to the device as one piece (the device takes no
// more), and its private data has room for the most records that such a buffer can hold.
#define SMALLEST_PACKET_BYTES 24u

static void caps(const struct kmd_adapter *adapter, DXGK_DRIVERCAPS *out)
{
    *out = (DXGK_DRIVERCAPS){0};
    out->HighestAcceptableAddress.QuadPart = (INT64_C(1) << 52) - 1; // What an aperture entry holds.
    out->MaxAllocationListSlotId = 0xFFFF;
    out->ApertureSegmentCommitLimit = (SIZE_T)adapter->info.aperture_pages * PAGE_SIZE;
    out->MemoryManagementCaps.PagingNode = KMD_PAGING_RING;
    out->NbAsymetricProcessingNodes = KMD_RINGS;
    out->WDDMVersion = DXGKDDI_WDDMv3_0;
}

static void segments(const struct kmd_adapter *adapter, DXGK_QUERYSEGMENTOUT4 *out)
{
    out->PagingBufferSegmentId = 0;
    out->PagingBufferSize = adapter->info.slot_bytes;
    out->PagingBufferPrivateDataSize =
        adapter->info.slot_bytes / SMALLEST_PACKET_BYTES * (UINT)sizeof(struct ferry_kmd_paging_record);
    if (!out->NbSegment || !out->pSegmentDescriptor) {
        out->NbSegment = 2;
        out->SegmentDescriptorStride = sizeof(DXGK_SEGMENTDESCRIPTOR4);
        return;
    }
    // All of video memory lies behind BAR2, so a segment without CPU access would have no bytes and is not reported.
    SIZE_T stride = out->SegmentDescriptorStride ? out->SegmentDescriptorStride : sizeof(DXGK_SEGMENTDESCRIPTOR4);
    DXGK_SEGMENTDESCRIPTOR4 local = {0}, aperture = {0};
    local.Flags.Value = DXGK_SEGMENT_CPU_VISIBLE | DXGK_SEGMENT_APPLICATION_TARGET;
    local.Size = adapter->info.local_bytes;
    local.CommitLimit = local.Size;
    aperture.Flags.Value = DXGK_SEGMENT_APERTURE | DXGK_SEGMENT_CACHE_COHERENT;
    aperture.BaseAddress.QuadPart = (int64_t)FERRY_KMD_APERTURE_BASE;
    aperture.Size = (SIZE_T)adapter->info.aperture_pages * PAGE_SIZE;
    aperture.CommitLimit = aperture.Size;
    if (out->NbSegment > 2)
        out->NbSegment = 2;
    memcpy(out->pSegmentDescriptor, &local, sizeof local);
    if (out->NbSegment == 2)
        memcpy(out->pSegmentDescriptor + stride, &aperture, sizeof aperture);
}

NTSTATUS kmd_query_adapter_info(HANDLE hAdapter, const DXGKARG_QUERYADAPTERINFO *arguments)
{
    const struct kmd_adapter *adapter = hAdapter;

    if (!adapter || !arguments || !arguments->pOutputData)
        return STATUS_INVALID_PARAMETER;
    switch (arguments->Type) {
    case DXGKQAITYPE_DRIVERCAPS:
        if (arguments->OutputDataSize < sizeof(DXGK_DRIVERCAPS))
            return STATUS_BUFFER_TOO_SMALL;
        caps(adapter, arguments->pOutputData);
        return STATUS_SUCCESS;
    case DXGKQAITYPE_QUERYSEGMENT4:
        if (arguments->OutputDataSize < sizeof(DXGK_QUERYSEGMENTOUT4))
            return STATUS_BUFFER_TOO_SMALL;
        segments(adapter, arguments->pOutputData);
        return STATUS_SUCCESS;
    case DXGKQAITYPE_PAGINGPROCESSGPUVASIZE:
        // There are no GPU virtual addresses yet; 0 leaves the choice to the manager (R205).
        if (arguments->OutputDataSize < sizeof(UINT) || arguments->InputDataSize < sizeof(UINT) ||
            !arguments->pInputData)
            return STATUS_BUFFER_TOO_SMALL;
        *(UINT *)arguments->pOutputData = 0;
        return STATUS_SUCCESS;
    default: return STATUS_NOT_SUPPORTED;
    }
}
