// SPDX-License-Identifier: Apache-2.0
// Host pages for the memory manager: one arena per MDL, mapped for the device through the gpu's link.
#ifndef FERRY_DEVICE_HOST_PAGES_H
#define FERRY_DEVICE_HOST_PAGES_H

#include <stdint.h>

#include "ddi/page_source.h"
#include "device/device.h"

struct ferry_host_pages;

struct ferry_host_pages_totals {
    uint64_t mdls, pages;   // Live; wrapped ones included.
    uint64_t wrapped_pages; // Of them in memory of the caller's own.
    uint64_t peak_pages;
};

/// Errors: ARGUMENT, NO_HOST_MEMORY. Any thread, as all calls of this header.
int ferry_host_pages_create(struct ferry_gpu *gpu, struct ferry_host_pages **pages);
/// Frees every MDL that is still there. Before ferry_gpu_close(). NULL is allowed.
void ferry_host_pages_destroy(struct ferry_host_pages *pages);
/// The table for the manager; lives as long as `pages`.
const struct ferry_page_source *ferry_host_pages_source(struct ferry_host_pages *pages);
void ferry_host_pages_totals(struct ferry_host_pages *pages, struct ferry_host_pages_totals *totals);

#endif
