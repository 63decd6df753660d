// SPDX-License-Identifier: Apache-2.0
#ifndef FERRY_TOOLS_REPLAY_OPTIONS_H
#define FERRY_TOOLS_REPLAY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

// As many as a picture can tell apart.
#define FERRY_MOST_TRACES 8u

struct ferry_replay_options {
    const char *trace_files[FERRY_MOST_TRACES];
    unsigned trace_count;
    const char *weights, *reservations; // "3,1,1" and "4M,0,0", one for each trace; NULL = 1 and 0.
    const char *backend;                // NULL = the library's default.
    const char *json_file, *timeline_file, *svg_file, *spaces_file, *wave_file;
    uint64_t video_memory_bytes; // 0 = all that the device has.
    uint64_t frames;             // Of each trace; 0 = all.
    uint64_t seed;
    uint64_t paging_buffer_bytes, read_latency_cycles, link_latency_cycles, stall_percent;
    uint64_t model;          // Driver model, 1 or 2; 0 = the library's choice.
    uint64_t paging, tables; // FERRY_PAGING_*, FERRY_TABLES_*.
    bool iommu;              // Host pages are the device's only while they are in the aperture.
    const char *verify;      // "all", or NULL: one page-in in eight is read back whole.
    const char *inject;      // A byte to flip: "in:N", "out:N", "link-in:N" or "link-out:N", perhaps with ":OFFSET".
    bool quiet, no_advice;
};

#endif
