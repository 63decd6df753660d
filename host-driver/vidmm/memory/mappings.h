// SPDX-License-Identifier: Apache-2.0
// The lists of an allocation's mappings (addresses.h), for those who make and end them.
#ifndef FERRY_VIDMM_MEMORY_MAPPINGS_H
#define FERRY_VIDMM_MEMORY_MAPPINGS_H

#include "vidmm/memory/addresses.h"

/// The address space that the allocation's program has; NULL: none.
static inline struct ferry_vm_virtual *ferry_vm_virtual_of(const struct ferry_vm_allocation *allocation)
{
    return allocation->subject.device->process->space;
}
/// What all of the allocation's mappings come to.
struct ferry_vm_owned ferry_vm_virtual_all(const struct ferry_vm_allocation *allocation);
/// Operations that it takes at most to show a range (virtual_entries.h), and to take all of it away.
size_t ferry_vm_virtual_range_most(const struct ferry_vm_address_space *space, uint64_t first, uint64_t pages);
/// Into the lists of the allocation's mappings, and out of them.
void ferry_vm_virtual_link(struct ferry_vm_allocation *allocation, struct ferry_vm_range *range);
void ferry_vm_virtual_unlink(struct ferry_vm_allocation *allocation, struct ferry_vm_range *range);
/// It stands behind no job any more.
void ferry_vm_virtual_waits_no_more(struct ferry_vm_allocation *allocation, struct ferry_vm_range *range);

#endif
