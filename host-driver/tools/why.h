// SPDX-License-Identifier: Apache-2.0
#ifndef FERRY_TOOLS_WHY_H
#define FERRY_TOOLS_WHY_H

#include <stdbool.h>
#include <stdint.h>

/// One sentence on an error of the library's: what it knows of this one, else what its name says.
const char *ferry_why(int error);
/// The first of these options that is not as when it was not given, and so needs GPU virtual addresses: as on a command
/// line, without dashes. NULL when there is none.
const char *ferry_way_by_address(uint64_t paging, uint64_t tables, bool iommu);

#endif
