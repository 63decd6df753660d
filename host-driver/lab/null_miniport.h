// SPDX-License-Identifier: Apache-2.0
// A miniport and a machine behind it that do nothing: paging buffers are built, submitted and over. One segment of
// video memory, two nodes (paging and jobs). Host pages are address space that nobody touches.
#ifndef FERRY_LAB_NULL_MINIPORT_H
#define FERRY_LAB_NULL_MINIPORT_H

#include "vidmm/base/types.h"

struct ferry_null_machine {
    const DXGKRNL_INTERFACE *interface;
    uint64_t bytes;    // of video memory
    uint64_t time;     // GPU cycles, as a link of 4 bytes a cycle would take for what the buffers name
    uint32_t fence[2]; // newest submission of each node
    bool told[2];      // and of its end
    uint64_t built;    // bytes of the operations in the open paging buffer
    struct ferry_page_source pages;
};

/// What the user-mode driver would send with a new allocation.
struct ferry_null_allocation {
    uint64_t bytes; // whole pages
    uint32_t flags; // DXGK_ALLOCATIONINFOFLAGS_WDDM2_0
};

/// bytes: of video memory, whole pages.
void ferry_null_machine_begin(struct ferry_null_machine *machine, uint64_t bytes);
/// The miniport; its device context is a machine.
const DRIVER_INITIALIZATION_DATA *ferry_null_miniport(void);
struct ferry_vidmm_platform ferry_null_platform(struct ferry_null_machine *machine);

#endif
