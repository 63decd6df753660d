// SPDX-License-Identifier: Apache-2.0
// Devices, contexts and allocations: what the miniport keeps for each.
#include <stdlib.h>

#include "kmd/internal.h"

#define USER_LIST_ENTRIES 1024u
#define MOST_WITH_RUNS    (UINT64_C(1) << 30)

NTSTATUS kmd_create_device(HANDLE hAdapter, DXGKARG_CREATEDEVICE *arguments)
{
    if (!hAdapter || !arguments)
        return STATUS_INVALID_PARAMETER;
    struct kmd_device *device = calloc(1, sizeof *device);
    if (!device)
        return STATUS_NO_MEMORY;
    device->adapter = hAdapter;
    device->process = arguments->hKmdProcess;
    device->os_handle = arguments->hDevice;
    arguments->hDevice = device;
    return STATUS_SUCCESS;
}

NTSTATUS kmd_destroy_device(HANDLE hDevice)
{
    free(hDevice);
    return STATUS_SUCCESS;
}

NTSTATUS kmd_create_context(HANDLE hDevice, DXGKARG_CREATECONTEXT *arguments)
{
    struct kmd_device *device = hDevice;

    if (!device || !arguments || arguments->NodeOrdinal >= KMD_RINGS)
        return STATUS_INVALID_PARAMETER;
    // The paging ring may do what user rings may not; only the system's own context gets it.
    if ((arguments->NodeOrdinal == KMD_PAGING_RING) != (arguments->Flags.SystemContext == 1))
        return STATUS_INVALID_PARAMETER;
    struct kmd_context *context = calloc(1, sizeof *context);
    if (!context)
        return STATUS_NO_MEMORY;
    context->device = device;
    context->node = arguments->NodeOrdinal;
    arguments->hContext = context;
    arguments->ContextInfo = (DXGK_CONTEXTINFO){
        .DmaBufferSize = device->adapter->info.slot_bytes,
        .DmaBufferPrivateDataSize = sizeof(struct kmd_begun),
        .AllocationListSize = USER_LIST_ENTRIES,
        .PatchLocationListSize = USER_LIST_ENTRIES,
    };
    return STATUS_SUCCESS;
}

NTSTATUS kmd_destroy_context(HANDLE hContext)
{
    free(hContext);
    return STATUS_SUCCESS;
}

static const DXGK_ALLOCATIONUSAGEHINT in_tiles = {.Version = 1, .v1 = {.Flags.Swizzled = 1}};

static NTSTATUS create_one(const struct kmd_adapter *adapter, DXGK_ALLOCATIONINFO *info)
{
    const struct ferry_allocation_private *wish = info->pPrivateDriverData;

    if (!wish || info->PrivateDriverDataSize < sizeof *wish || wish->Version != FERRY_ALLOCATION_PRIVATE_VERSION ||
        wish->Size != sizeof *wish || wish->Bytes == 0 || wish->Bytes > UINT64_MAX - PAGE_SIZE || wish->Aperture > 1 ||
        (wish->Alignment & (wish->Alignment - 1)) || wish->Compressed > 1 || wish->AlternateVA > 1 ||
        (wish->AlternateVA && !wish->Tiling.TileBytes) ||
        // Of what is tiled the bit says what AlternateVA says (R86).
        (wish->Tiling.TileBytes && (wish->Flags & DXGK_ALLOC_FLAG_USE_ALTERNATE_VA)) ||
        (wish->Compressed && (!wish->Aperture || !(wish->Flags2 & DXGK_ALLOC_FLAG2_NOTIFY_EVICTION) ||
                              wish->Bytes <= PAGE_SIZE || wish->Bytes > MOST_WITH_RUNS)))
        return STATUS_INVALID_PARAMETER;
    if ((wish->Tiling.TileBytes && !adapter->info.tiling) || (wish->AlternateVA && adapter->model != 1))
        return STATUS_NOT_SUPPORTED;
    if (!kmd_tiling_good(wish))
        return STATUS_INVALID_PARAMETER;
    bool tiled = wish->Tiling.TileBytes != 0;
    struct kmd_allocation *allocation = calloc(1, sizeof *allocation + (tiled ? sizeof allocation->tiling[0] : 0));
    if (!allocation)
        return STATUS_NO_MEMORY;
    allocation->bytes = (wish->Bytes + PAGE_SIZE - 1) & ~(uint64_t)(PAGE_SIZE - 1);
    allocation->padding = (uint16_t)(allocation->bytes - wish->Bytes);
    allocation->aperture = wish->Aperture;
    allocation->compressed = wish->Compressed;
    allocation->tiled = tiled;
    allocation->alternate = wish->AlternateVA;
    if (tiled)
        allocation->tiling[0] = (struct kmd_tiles){wish->Tiling, KMD_NOWHERE};
    allocation->flags = wish->Flags;
    // In driver model 1 the bit is Swizzled, and there are no large pages that could be disabled. In model 2 a hint
    // says so.
    if (adapter->model == 1)
        allocation->flags = (allocation->flags & ~DXGK_ALLOC_FLAG_SWIZZLED) | (tiled ? DXGK_ALLOC_FLAG_SWIZZLED : 0);
    if (allocation->alternate)
        allocation->flags |= DXGK_ALLOC_FLAG_USE_ALTERNATE_VA;
    // The engine names places by segment and offset, never by a GPU virtual address. A history buffer's flag word is
    // fixed to the last bit (rule C7).
    if (!(allocation->flags & DXGK_ALLOC_FLAG_HISTORY_BUFFER))
        allocation->flags |= DXGK_ALLOC_FLAG_ACCESSED_PHYSICALLY;

    UINT segment = wish->Aperture ? FERRY_KMD_SEGMENT_APERTURE : FERRY_KMD_SEGMENT_LOCAL;
    UINT least = wish->Tiling.TileBytes > PAGE_SIZE ? wish->Tiling.TileBytes : PAGE_SIZE;
    info->Alignment = wish->Alignment > least ? wish->Alignment : least;
    info->Size = (SIZE_T)allocation->bytes;
    info->PitchAlignedSize = 0;
    info->HintedBank.Value = 0;
    info->PreferredSegment.Value = wish->SegmentPreference;
    if (!wish->SegmentPreference) {
        info->PreferredSegment.SegmentId0 = segment & 0x1Fu;
        info->PreferredSegment.Direction0 = (wish->Flags & DXGK_ALLOC_FLAG_FROM_END_OF_SEGMENT) != 0;
    }
    info->SupportedReadSegmentSet = 1u << (segment - 1);
    info->SupportedWriteSegmentSet = 1u << (segment - 1);
    info->EvictionSegmentSet = 0;
    info->MaximumRenamingListLength = wish->RenamingLimit;
    info->hAllocation = allocation;
    info->FlagsWddm2.Value = allocation->flags;
    info->pAllocationUsageHint = tiled && adapter->model == 2 ? &in_tiles : NULL;
    info->AllocationPriority = D3DDDI_ALLOCATIONPRIORITY_NORMAL;
    info->Flags2.Value = wish->Flags2;
    return STATUS_SUCCESS;
}

NTSTATUS kmd_create_allocation(HANDLE hAdapter, DXGKARG_CREATEALLOCATION *arguments)
{
    if (!hAdapter || !arguments || !arguments->NumAllocations || !arguments->pAllocationInfo)
        return STATUS_INVALID_PARAMETER;
    for (UINT i = 0; i < arguments->NumAllocations; i++) {
        NTSTATUS status = create_one(hAdapter, &arguments->pAllocationInfo[i]);

        if (status != STATUS_SUCCESS) {
            while (i--) {
                free(arguments->pAllocationInfo[i].hAllocation);
                arguments->pAllocationInfo[i].hAllocation = NULL;
            }
            return status;
        }
    }
    return STATUS_SUCCESS;
}

NTSTATUS kmd_destroy_allocation(HANDLE hAdapter, const DXGKARG_DESTROYALLOCATION *arguments)
{
    if (!hAdapter || !arguments || (arguments->NumAllocations && !arguments->pAllocationList))
        return STATUS_INVALID_PARAMETER;
    for (UINT i = 0; i < arguments->NumAllocations; i++) {
        struct kmd_allocation *allocation = arguments->pAllocationList[i];

        free(allocation ? allocation->more : NULL);
        free(allocation);
    }
    return STATUS_SUCCESS;
}

static bool jobs_pending(struct kmd_adapter *adapter, const uint32_t last_job[KMD_RINGS])
{
    for (uint32_t ring = 0; ring < KMD_RINGS; ring++) {
        if (last_job[ring] && kmd_outstanding(kmd_retired_of_named(adapter, ring), last_job[ring]))
            return true;
    }
    return false;
}

// The record of a place; one whose jobs are over is taken for a new place. NULL when there is no memory for it.
static struct kmd_place *find_place(struct kmd_adapter *adapter, struct kmd_allocation *allocation, uint64_t address)
{
    struct kmd_place *over = NULL;
    struct kmd_places *more = allocation->more;
    uint32_t count = more ? more->count : 0, capacity = more ? more->capacity : 0;

    for (uint32_t i = 0; i <= count; i++) {
        struct kmd_place *place = i ? &more->at[i - 1] : &allocation->first;

        if (place->address == address)
            return place;
        if (!over && !jobs_pending(adapter, place->last_job))
            over = place;
    }
    if (!over && count == capacity) {
        capacity = capacity ? 2 * capacity : 4;
        more = realloc(more, sizeof *more + capacity * sizeof more->at[0]);
        if (!more)
            return NULL;
        more->count = count;
        more->capacity = capacity;
        allocation->more = more;
    }
    if (!over)
        over = &more->at[more->count++];
    *over = (struct kmd_place){.address = address};
    return over;
}

void kmd_allocation_named(struct kmd_adapter *adapter, struct kmd_allocation *allocation, uint64_t address,
                          uint32_t ring)
{
    if (!jobs_pending(adapter, allocation->first.last_job))
        allocation->anywhere = false;
    struct kmd_place *place = find_place(adapter, allocation, address);

    if (!place) {
        place = &allocation->first;
        allocation->anywhere = true;
    }
    place->last_job[ring] = kmd_next_number(&adapter->rings[ring]);
}

bool kmd_allocation_is_busy(struct kmd_adapter *adapter, const struct kmd_allocation *allocation, uint64_t address)
{
    const struct kmd_places *more = allocation->more;

    for (uint32_t i = 0; i <= (more ? more->count : 0); i++) {
        const struct kmd_place *place = i ? &more->at[i - 1] : &allocation->first;

        // A piece of a long transfer begins inside.
        bool there = address - place->address < allocation->bytes || (i == 0 && allocation->anywhere);
        if (there && jobs_pending(adapter, place->last_job))
            return true;
    }
    return false;
}

bool kmd_place(UINT segment, uint64_t address, uint32_t *kind, uint64_t *device_address)
{
    switch (segment) {
    case 0:
        *kind = FERRY_ADDRESS_KIND_SYSTEM;
        *device_address = address;
        return true;
    case FERRY_KMD_SEGMENT_LOCAL:
        *kind = FERRY_ADDRESS_KIND_LOCAL;
        *device_address = address;
        return true;
    case FERRY_KMD_SEGMENT_APERTURE:
        *kind = FERRY_ADDRESS_KIND_APERTURE;
        *device_address = address - FERRY_KMD_APERTURE_BASE;
        return address >= FERRY_KMD_APERTURE_BASE;
    default: return false;
    }
}
