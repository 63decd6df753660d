// SPDX-License-Identifier: Apache-2.0
// Entries of one mapping, written and taken away, for who maps one (virtual.c), updates many (virtual_update.c), or has
// content moved by addresses (window.c).
#ifndef FERRY_VIDMM_MEMORY_VIRTUAL_ENTRIES_H
#define FERRY_VIDMM_MEMORY_VIRTUAL_ENTRIES_H

#include "vidmm/memory/mappings.h"

/// Of what has a place: it is in an aperture, and is reached in the pages of its backing store, which lie anywhere.
bool ferry_vm_virtual_scattered(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation);
/// Each of its pages has an entry of its own in a table of the lowest level: it is scattered, or the driver wants it so
/// (R147), or knows of no larger pages (R148). As long as it has its place this stays as it is.
bool ferry_vm_virtual_page_by_page(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation);
/// All of its place, which begins at this page.
struct ferry_vm_span ferry_vm_virtual_place(struct ferry_vm_memory *memory,
                                            const struct ferry_vm_allocation *allocation, uint64_t page);
/// What is queued now for the space stands behind that job, if it is not over; 0 = behind none.
void ferry_vm_virtual_behind(const struct ferry_vm_memory *memory, struct ferry_vm_virtual *space, uint32_t node,
                             uint64_t job);
DXGK_PTE ferry_vm_virtual_table_pte(const struct ferry_vm_memory *memory, const struct ferry_vm_table *table);
/// An entry of that level which leads to zeros.
DXGK_PTE ferry_vm_virtual_zero_pte(const struct ferry_vm_memory *memory, unsigned level);
/// The piece does not lead to the allocation any more: to zeros, where those are reserved, else nowhere. The flush
/// behind it names the place.
void ferry_vm_virtual_clear(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space,
                            struct ferry_vm_allocation *allocation, const struct ferry_vm_piece *piece);
/// The first entry of a piece of the range, which leads to page `place`; where it is scattered the pages themselves are
/// told besides (ferry_vm_lead_to_pages).
DXGK_PTE ferry_vm_virtual_page_pte(struct ferry_vm_memory *memory, const struct ferry_vm_allocation *allocation,
                                   const struct ferry_vm_range *range, const struct ferry_vm_piece *piece,
                                   uint64_t place);
/// UPDATE_PAGE_TABLE of a piece, on behalf of the miniport's allocation; FLUSH_TLB, end 0: of the whole space.
DXGKARG_BUILDPAGINGBUFFER ferry_vm_virtual_entries(const struct ferry_vm_memory *memory,
                                                   const struct ferry_vm_virtual *space, HANDLE allocation,
                                                   const struct ferry_vm_piece *piece, DXGK_PTE entry,
                                                   enum ferry_vm_change change);
DXGKARG_BUILDPAGINGBUFFER ferry_vm_virtual_forgetting(const struct ferry_vm_memory *memory,
                                                      const struct ferry_vm_virtual *space, uint64_t first,
                                                      uint64_t end);
/// The range leads to the allocation's place, which begins at this page, once the job is over that it stands behind.
void ferry_vm_virtual_show_range(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                                 struct ferry_vm_range *range, uint64_t page);
/// It leads nowhere, before the allocation leaves its place or the range is unmapped.
void ferry_vm_virtual_hide_range(struct ferry_vm_memory *memory, struct ferry_vm_allocation *allocation,
                                 const struct ferry_vm_range *range);
/// Tables that nothing is mapped under any more: out of the one above, forgotten, and then another's. allocation: whose
/// mapping has gone; NULL: a reservation of zeros has.
void ferry_vm_virtual_end_tables(struct ferry_vm_memory *memory, struct ferry_vm_virtual *space,
                                 struct ferry_vm_allocation *allocation, uint64_t first, uint64_t pages);
/// The paging process is made, if it is not yet. Errors: NO_VIDEO_MEMORY (the device has no space for it),
/// NO_HOST_MEMORY.
int ferry_vm_paging_process(struct ferry_vm_memory *memory);

#endif
