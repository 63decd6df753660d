// SPDX-License-Identifier: Apache-2.0
// DxgkDdiAcquireSwizzlingRange, DxgkDdiReleaseSwizzlingRange: one of the device's ranges shows a level of a tiled
// allocation as rows in BAR2's upper half (docs/manual/tiling.md). PrivateDriverData is the level. No segment address
// comes with it, so the allocation is where it was last built to be; the manager asks when that has run.
#include "kmd/internal.h"

UINT kmd_ranges(const struct kmd_adapter *adapter)
{
    UINT views = adapter->info.views < FERRY_BAR0_VIEW_COUNT ? adapter->info.views : FERRY_BAR0_VIEW_COUNT;
    return adapter->model == 1 && adapter->info.tiling ? views : 0;
}

NTSTATUS kmd_acquire_range(HANDLE hAdapter, DXGKARG_ACQUIRESWIZZLINGRANGE *a)
{
    struct kmd_adapter *adapter = hAdapter;
    const struct kmd_allocation *allocation = a ? a->hAllocation : NULL;

    if (!adapter || !allocation || a->RangeId >= kmd_ranges(adapter) || adapter->shown[a->RangeId].allocation ||
        a->SegmentId != FERRY_KMD_SEGMENT_LOCAL || !allocation->tiled || a->RangeSize != allocation->bytes ||
        allocation->tiling->place == KMD_NOWHERE)
        return STATUS_INVALID_PARAMETER;
    const struct ferry_tiling_private *tiling = &allocation->tiling->told;
    // It comes from whoever locks.
    if (a->PrivateDriverData >= tiling->Levels)
        return STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNSUPPORTED;
    struct ferry_tiling_place level = ferry_tiles_level(tiling, a->PrivateDriverData);
    struct ferry_gpu_view view = {.base = allocation->tiling->place + level.Offset,
                                  .bytes = level.Bytes,
                                  .row_bytes = (uint64_t)level.Across * level.TileWidth,
                                  .swizzle = ferry_tiles_swizzle(tiling->ElementBytes),
                                  .is_small = tiling->TileBytes == 4096};
    int error = ferry_gpu_view_show(adapter->gpu, a->RangeId, &view);
    // Its tiles are in another range.
    if (error == FERRY_ERROR_BUSY)
        return STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNAVAILABLE;
    if (error != FERRY_OK)
        return kmd_status(error);
    adapter->shown[a->RangeId] = (struct kmd_shown){allocation, a->PrivateDriverData};
    a->CPUTranslatedAddress.QuadPart = (int64_t)(ferry_gpu_rows_begin(adapter->gpu) + allocation->tiling->place);
    return STATUS_SUCCESS;
}

NTSTATUS kmd_release_range(HANDLE hAdapter, const DXGKARG_RELEASESWIZZLINGRANGE *a)
{
    struct kmd_adapter *adapter = hAdapter;

    if (!adapter || !a || !a->hAllocation || a->RangeId >= kmd_ranges(adapter) ||
        adapter->shown[a->RangeId].allocation != a->hAllocation ||
        adapter->shown[a->RangeId].level != a->PrivateDriverData)
        return STATUS_INVALID_PARAMETER;
    adapter->shown[a->RangeId].allocation = NULL;
    return kmd_status(ferry_gpu_view_hide(adapter->gpu, a->RangeId));
}

void kmd_release_all_ranges(struct kmd_adapter *adapter)
{
    for (UINT i = 0; i < FERRY_BAR0_VIEW_COUNT; i++) {
        if (adapter->shown[i].allocation)
            ferry_gpu_view_hide(adapter->gpu, i);
        adapter->shown[i].allocation = NULL;
    }
}
