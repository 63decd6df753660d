// SPDX-License-Identifier: Apache-2.0
#include "ddi/paging.h"
#include "ferry/ferry.h"
#include "ferry_contract.h"

const char *ferry_operation_name(unsigned operation)
{
    static const char *const names[DXGK_OPERATION_COUNT] = {
        "TRANSFER",
        "FILL",
        "DISCARD_CONTENT",
        "READ_PHYSICAL",
        "WRITE_PHYSICAL",
        "MAP_APERTURE_SEGMENT",
        "UNMAP_APERTURE_SEGMENT",
        "SPECIAL_LOCK_TRANSFER",
        "VIRTUAL_TRANSFER",
        "VIRTUAL_FILL",
        "INIT_CONTEXT_RESOURCE",
        "UPDATE_PAGE_TABLE",
        "FLUSH_TLB",
        "UPDATE_CONTEXT_ALLOCATION",
        "COPY_PAGE_TABLE_ENTRIES",
        "NOTIFY_RESIDENCY",
        "SIGNAL_MONITORED_FENCE",
        "MAP_APERTURE_SEGMENT2",
        "NOTIFY_FENCE_RESIDENCY",
        "MAP_MMU",
        "UNMAP_MMU",
        "NOTIFY_RESIDENCY2",
        "NOTIFY_ALLOC",
    };
    return operation < DXGK_OPERATION_COUNT ? names[operation] : "?";
}

const char *ferry_fault_name(uint32_t kind)
{
    return ferry_fault_kind_name(kind);
}
