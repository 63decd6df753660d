// SPDX-License-Identifier: Apache-2.0
// A GPU that is memory and memcpy, and a miniport for it: the least that the manager of host-driver/vidmm runs on.
// docs/manual/driver-contract.md says what each call has to keep.
#ifndef MEMORY_GPU_H
#define MEMORY_GPU_H

#include "ddi/miniport.h"

#define GPU_NODES          2u // one for paging, one for jobs
#define GPU_JOBS           64u
#define GPU_PAGES          64u // of video memory
#define GPU_APERTURE_PAGES 32u
#define GPU_BUS_PAGES      1024u // that it can reach of the host's
// GPU addresses: video memory from 0 on, then far above it the aperture.
#define GPU_APERTURE (UINT64_C(1) << 40)

enum gpu_operation { GPU_NOTHING, GPU_COPY, GPU_FILL, GPU_MAP, GPU_HANG };
// What a buffer is made of. Aperture pages of a GPU_MAP are numbered; a place of the host's has GPU_HOST in it.
#define GPU_HOST (UINT64_C(1) << 50)
struct gpu_command {
    uint32_t operation, pattern;
    uint64_t to, from, bytes; // GPU_MAP: first page, bus address, pages
};

struct gpu_job {
    UINT fence, bytes;
    uint64_t bus;
    bool faulted;
};

// A node: `ended` of the jobs are over, and the manager has been told of `told`; those before both are forgotten.
struct gpu_node {
    struct gpu_job jobs[GPU_JOBS];
    unsigned count, ended, told;
    UINT fence; // of the newest that is over
    bool hung;
};

struct gpu {
    uint8_t memory[GPU_PAGES * PAGE_SIZE];
    uint64_t aperture[GPU_APERTURE_PAGES]; // bus addresses
    uint8_t *bus[GPU_BUS_PAGES];           // the host's pages, by number; NULL = not mapped
    struct gpu_node nodes[GPU_NODES];
    DXGKRNL_INTERFACE manager;
    uint64_t time;
};

// What its user-mode driver says of an allocation: pPrivateDriverData, which the manager does not read.
struct gpu_wish {
    uint64_t bytes;
    bool aperture;
};

/// Run one job of one node. False: there is none that can run.
bool gpu_step(struct gpu *gpu);
extern const DRIVER_INITIALIZATION_DATA gpu_miniport;

#endif
