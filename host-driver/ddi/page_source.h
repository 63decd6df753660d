// SPDX-License-Identifier: Apache-2.0
// Where the memory manager gets host pages from. The manager sees only this table and the MDL; who maps the pages for
// the device, and how, is the other side's business (device/host_pages.c implements it over a link).
#ifndef FERRY_DDI_PAGE_SOURCE_H
#define FERRY_DDI_PAGE_SOURCE_H

#include <stddef.h>

#include "ddi/ferry_nt.h"

/// The pages' bus addresses follow each other without a gap (for DMA buffers that cross a page).
#define FERRY_PAGES_CONSECUTIVE 0x1u

/// Calls return FERRY_OK or a negative enum ferry_error. Any thread. An MDL belongs to the source and lives until
/// free(); bus address of page n = Pfn[n] << 12, address of its first byte = MappedSystemVa + n * 4096.
struct ferry_page_source {
    void *context;
    /// Get pages (1 and more) that are mapped for the device and read as zero. Errors: ARGUMENT, NO_HOST_MEMORY.
    int (*allocate)(void *context, size_t pages, unsigned flags, MDL **mdl);
    /// Map pages of the caller's own memory, which starts at a page and outlives the MDL. Errors: ARGUMENT,
    /// NO_HOST_MEMORY.
    int (*wrap)(void *context, void *memory, size_t pages, unsigned flags, MDL **mdl);
    /// The device may reach the pages no more: an access to their bus addresses is refused. The CPU has them as before.
    /// Mapped pages only. NULL, as map: this source maps for good.
    void (*unmap)(void *context, MDL *mdl);
    /// Unmapped pages are the device's again, at other bus addresses (Pfn). Errors: NO_HOST_MEMORY; unmapped then.
    int (*map)(void *context, MDL *mdl);
    /// Unmap the pages, if they are mapped, and, if allocate() made them, give them back. From then on an access by the
    /// device to their bus addresses is refused. NULL is allowed.
    void (*free)(void *context, MDL *mdl);
};

#endif
