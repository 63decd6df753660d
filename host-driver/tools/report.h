// SPDX-License-Identifier: Apache-2.0
// The figures of one replay, and the table that is printed of them.
#ifndef FERRY_TOOLS_REPORT_H
#define FERRY_TOOLS_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include "ferry/ferry.h"

// One program's part.
struct ferry_program_report {
    const char *trace_name;
    uint32_t weight;
    uint64_t reservation, budget; // Of video memory; the budget as it is while all programs run.
    uint64_t frames, allocations, draws, targets, writes, locks;
    uint64_t verified_bytes, bad_bytes;
    struct ferry_process_usage used; // Up to the end of its last job; last_job counts from the begin of the run.
};

struct ferry_report {
    const char *trace_name, *backend;
    uint32_t driver_model;
    uint64_t video_memory_bytes, seed;
    struct ferry_program_report *programs;
    unsigned program_count;
    uint64_t frames, allocations, draws, targets, writes, locks; // Of all programs.
    uint64_t verified_bytes, bad_bytes;
    uint64_t faults;
    double seconds; // Of the wall clock, for statistics' span.
    int exit_code;
    // What happened between the opened adapter and the last frame's last job; the final comparison is not in it.
    struct ferry_statistics statistics;
    uint64_t worst_frame_bytes; // Placed in video memory in one frame.
};

/// later - earlier, field by field; what is a level and not a count is taken from later.
void ferry_statistics_subtract(struct ferry_statistics *later, const struct ferry_statistics *earlier);
/// The counts of both; what is a level is taken from more.
void ferry_statistics_add(struct ferry_statistics *sum, const struct ferry_statistics *more);

/// Shares of device time from 0 to 1. A link moves one 8-byte beat a cycle each way, the memory bus one a cycle on its
/// read and one on its write channel; the share is that of the busier of the two.
double ferry_link_share(const struct ferry_statistics *statistics);
double ferry_bus_share(const struct ferry_statistics *statistics);
double ferry_cycles_per_packet(const struct ferry_statistics *statistics);
/// The share of all cycles that were a program's.
double ferry_gpu_share(const struct ferry_report *report, const struct ferry_program_report *program);
double ferry_sim_khz(const struct ferry_report *report);

void ferry_report_print(FILE *file, const struct ferry_report *report);

#endif
