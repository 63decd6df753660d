// SPDX-License-Identifier: Apache-2.0
#include "tools/why.h"

#include <stddef.h>

#include "ferry/error.h"
#include "ferry/ferry.h"

const char *ferry_why(int error)
{
    switch (error) {
    case FERRY_ERROR_BACKEND:
    case FERRY_ERROR_CONTRACT:
    case FERRY_ERROR_DEVICE_LOST:
    case FERRY_ERROR_FIRMWARE:
    case FERRY_ERROR_IN_USE:
    case FERRY_ERROR_TIMEOUT: return ferry_problem()[0] != 0 ? ferry_problem() : ferry_error_text(error);
    default: return ferry_error_text(error);
    }
}

const char *ferry_way_by_address(uint64_t paging, uint64_t tables, bool iommu)
{
    if (paging != FERRY_PAGING_PHYSICAL)
        return "paging virtual";
    if (tables != FERRY_TABLES_VIDEO)
        return "tables system";
    return iommu ? "iommu" : NULL;
}
