// SPDX-License-Identifier: Apache-2.0
// What the adapter is: capabilities, segments, paging buffer.
#include <string.h>

#include "kmd/internal.h"

// A paging buffer is one command slot: what is built into it goes to the device as one piece (the device takes no
// more), and its private data has room for the most records that such a buffer can hold.
#define SMALLEST_PACKET_BYTES 24u
#define SEGMENTS              2u

static void caps(const struct kmd_adapter *adapter, DXGK_DRIVERCAPS *out)
{
    *out = (DXGK_DRIVERCAPS){0};
    out->HighestAcceptableAddress.QuadPart = (INT64_C(1) << 52) - 1; // What an aperture entry holds.
    out->MaxAllocationListSlotId = 0xFFFF;
    out->ApertureSegmentCommitLimit = (SIZE_T)adapter->info.aperture_pages * PAGE_SIZE;
    out->NumberOfSwizzlingRanges = kmd_ranges(adapter);
    out->MemoryManagementCaps.PagingNode = KMD_PAGING_RING;
    out->NbAsymetricProcessingNodes = KMD_RINGS;
    // With addresses of the paging process there are notices before evictions.
    out->WDDMVersion = adapter->model == 2 ? DXGKDDI_WDDMv3_2 : DXGKDDI_WDDMv3_0;
    if (adapter->model == 2)
        out->MemoryManagementCaps.Value |=
            DXGK_VIDMMCAPS_VIRTUAL_ADDRESSING_SUPPORTED | DXGK_VIDMMCAPS_GPU_MMU_SUPPORTED;
}

#define TABLE_LEVELS 4u

static void gpu_mmu_caps(DXGK_GPUMMUCAPS *out)
{
    *out = (DXGK_GPUMMUCAPS){
        .ReadOnlyMemorySupported = 1,
        .CacheCoherentMemorySupported = 1,
        .LargePageSupported = 1,
        .SysMem64KBPageSupported = 1,
        // An entry that is not valid is never remembered.
        .InvalidTlbEntriesNotCached = 1,
        .PageTableUpdateMode = DXGK_PAGETABLEUPDATE_GPU_PHYSICAL,
        .VirtualAddressBitCount = 48,
        .LeafPageTableSizeFor64KPagesInBytes = PAGE_SIZE,
        .PageTableLevelCount = TABLE_LEVELS,
    };
}

// All levels are alike.
static DXGK_PAGE_TABLE_LEVEL_DESC level_description(const struct kmd_adapter *adapter)
{
    UINT segment = adapter->host_tables ? 0 : FERRY_KMD_SEGMENT_LOCAL;

    return (DXGK_PAGE_TABLE_LEVEL_DESC){
        .PageTableIndexBitCount = 9,
        .PageTableSegmentId = segment,
        .PagingProcessPageTableSegmentId = segment,
        .PageTableSizeInBytes = PAGE_SIZE,
        .PageTableAlignmentInBytes = PAGE_SIZE,
    };
}

static void physical_adapter_caps(const struct kmd_adapter *adapter, DXGK_PHYSICALADAPTERCAPS *out)
{
    *out = (DXGK_PHYSICALADAPTERCAPS){.NumExecutionNodes = KMD_RINGS, .PagingNodeIndex = KMD_PAGING_RING};
    out->Flags.GpuMmuSupported = adapter->model == 2;
    out->Flags.GpuVaIommuRequired = adapter->iommu;
}

static DXGK_QUERYPAGINGBUFFERINFO_OUT paging_buffer(const struct kmd_adapter *adapter)
{
    return (DXGK_QUERYPAGINGBUFFERINFO_OUT){
        .PagingBufferSize = adapter->info.slot_bytes,
        .PagingBufferPrivateDataSize =
            adapter->info.slot_bytes / SMALLEST_PACKET_BYTES * (UINT)sizeof(struct ferry_kmd_paging_record),
    };
}

static NTSTATUS segments(const struct kmd_adapter *adapter, DXGK_QUERYSEGMENTOUT4 *out)
{
    DXGK_QUERYPAGINGBUFFERINFO_OUT buffer = paging_buffer(adapter);

    out->PagingBufferSegmentId = 0;
    out->PagingBufferSize = buffer.PagingBufferSize;
    out->PagingBufferPrivateDataSize = buffer.PagingBufferPrivateDataSize;
    if (!out->NbSegment || !out->pSegmentDescriptor) {
        out->NbSegment = SEGMENTS;
        out->SegmentDescriptorStride = sizeof(DXGK_SEGMENTDESCRIPTOR4);
        return STATUS_SUCCESS;
    }
    // All of video memory lies behind BAR2, so a segment without CPU access would have no bytes and is not reported.
    SIZE_T stride = out->SegmentDescriptorStride ? out->SegmentDescriptorStride : sizeof(DXGK_SEGMENTDESCRIPTOR4);
    if (stride < sizeof(DXGK_SEGMENTDESCRIPTOR4))
        return STATUS_BUFFER_TOO_SMALL;
    DXGK_SEGMENTDESCRIPTOR4 local = {0}, aperture = {0};
    local.Flags.Value = DXGK_SEGMENT_CPU_VISIBLE | DXGK_SEGMENT_APPLICATION_TARGET;
    local.Size = adapter->info.local_bytes;
    local.CommitLimit = local.Size;
    aperture.Flags.Value = DXGK_SEGMENT_APERTURE | DXGK_SEGMENT_CACHE_COHERENT;
    aperture.BaseAddress.QuadPart = (int64_t)FERRY_KMD_APERTURE_BASE;
    aperture.Size = (SIZE_T)adapter->info.aperture_pages * PAGE_SIZE;
    aperture.CommitLimit = aperture.Size;
    if (out->NbSegment > SEGMENTS)
        out->NbSegment = SEGMENTS;
    memcpy(out->pSegmentDescriptor, &local, sizeof local);
    if (out->NbSegment == 2)
        memcpy(out->pSegmentDescriptor + stride, &aperture, sizeof aperture);
    return STATUS_SUCCESS;
}

// Sizes that the caller must give for a type; 0 of output: a type that this miniport does not answer.
static UINT output_of(const struct kmd_adapter *adapter, DXGK_QUERYADAPTERINFOTYPE type)
{
    bool tables = adapter->model == 2;

    switch (type) {
    case DXGKQAITYPE_DRIVERCAPS: return sizeof(DXGK_DRIVERCAPS);
    case DXGKQAITYPE_QUERYSEGMENT4: return sizeof(DXGK_QUERYSEGMENTOUT4);
    case DXGKQAITYPE_GPUMMUCAPS: return tables ? sizeof(DXGK_GPUMMUCAPS) : 0;
    case DXGKQAITYPE_PAGETABLELEVELDESC: return tables ? sizeof(DXGK_PAGE_TABLE_LEVEL_DESC) : 0;
    case DXGKQAITYPE_PHYSICALADAPTERCAPS: return sizeof(DXGK_PHYSICALADAPTERCAPS);
    case DXGKQAITYPE_QUERYPAGINGBUFFERINFO: return sizeof(DXGK_QUERYPAGINGBUFFERINFO_OUT);
    case DXGKQAITYPE_QUERYSEGMENTCOUNT:
    case DXGKQAITYPE_PAGINGPROCESSGPUVASIZE: return sizeof(UINT);
    default: return 0;
    }
}

static UINT input_of(DXGK_QUERYADAPTERINFOTYPE type)
{
    switch (type) {
    case DXGKQAITYPE_GPUMMUCAPS: return sizeof(DXGK_QUERYGPUMMUCAPSIN);
    case DXGKQAITYPE_PAGETABLELEVELDESC: return sizeof(DXGK_QUERYPAGETABLELEVELDESCIN);
    case DXGKQAITYPE_QUERYPAGINGBUFFERINFO: return sizeof(DXGK_QUERYPAGINGBUFFERINFO_IN);
    case DXGKQAITYPE_PAGINGPROCESSGPUVASIZE: return sizeof(UINT);
    default: return 0;
    }
}

// Is there what is asked about? Of linked adapters there is one, whose index is 0 (R203).
static bool is_there(const DXGKARG_QUERYADAPTERINFO *arguments)
{
    const void *input = arguments->pInputData;

    switch (arguments->Type) {
    case DXGKQAITYPE_GPUMMUCAPS: return ((const DXGK_QUERYGPUMMUCAPSIN *)input)->PhysicalAdapterIndex == 0;
    case DXGKQAITYPE_PAGETABLELEVELDESC:
        return ((const DXGK_QUERYPAGETABLELEVELDESCIN *)input)->PhysicalAdapterIndex == 0 &&
               ((const DXGK_QUERYPAGETABLELEVELDESCIN *)input)->LevelIndex < TABLE_LEVELS;
    case DXGKQAITYPE_QUERYPAGINGBUFFERINFO:
        return ((const DXGK_QUERYPAGINGBUFFERINFO_IN *)input)->PhysicalAdapterIndex == 0;
    case DXGKQAITYPE_PAGINGPROCESSGPUVASIZE: return *(const UINT *)input == 0;
    default: return true;
    }
}

NTSTATUS kmd_query_adapter_info(HANDLE hAdapter, const DXGKARG_QUERYADAPTERINFO *arguments)
{
    const struct kmd_adapter *adapter = hAdapter;

    if (!adapter || !arguments || !arguments->pOutputData)
        return STATUS_INVALID_PARAMETER;
    UINT output = output_of(adapter, arguments->Type), input = input_of(arguments->Type);
    if (!output)
        return STATUS_NOT_SUPPORTED;
    if (arguments->OutputDataSize < output || (input && (arguments->InputDataSize < input || !arguments->pInputData)))
        return STATUS_BUFFER_TOO_SMALL;
    if (!is_there(arguments))
        return STATUS_INVALID_PARAMETER;
    switch (arguments->Type) {
    case DXGKQAITYPE_DRIVERCAPS: caps(adapter, arguments->pOutputData); break;
    case DXGKQAITYPE_QUERYSEGMENT4: return segments(adapter, arguments->pOutputData);
    case DXGKQAITYPE_GPUMMUCAPS: gpu_mmu_caps(arguments->pOutputData); break;
    case DXGKQAITYPE_PAGETABLELEVELDESC:
        *(DXGK_PAGE_TABLE_LEVEL_DESC *)arguments->pOutputData = level_description(adapter);
        break;
    case DXGKQAITYPE_PHYSICALADAPTERCAPS: physical_adapter_caps(adapter, arguments->pOutputData); break;
    case DXGKQAITYPE_QUERYPAGINGBUFFERINFO:
        *(DXGK_QUERYPAGINGBUFFERINFO_OUT *)arguments->pOutputData = paging_buffer(adapter);
        break;
    case DXGKQAITYPE_QUERYSEGMENTCOUNT: *(UINT *)arguments->pOutputData = SEGMENTS; break;
    default: *(UINT *)arguments->pOutputData = 0; break; // PAGINGPROCESSGPUVASIZE: the manager chooses (R205, R209).
    }
    return STATUS_SUCCESS;
}

// Every ring leads to the same copy engine. The upper half of the number is the adapter's, of which there is one.
NTSTATUS kmd_get_node_metadata(HANDLE hAdapter, UINT node, DXGKARG_GETNODEMETADATA *arguments)
{
    const struct kmd_adapter *adapter = hAdapter;

    if (!adapter || !arguments || node >= KMD_RINGS)
        return STATUS_INVALID_PARAMETER;
    *arguments = (DXGKARG_GETNODEMETADATA){.EngineType = DXGK_ENGINE_TYPE_COPY};
    arguments->GpuMmuSupported = node == KMD_PAGING_RING ? adapter->by_address : adapter->model == 2;
    return STATUS_SUCCESS;
}
