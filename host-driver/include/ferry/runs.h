// SPDX-License-Identifier: Apache-2.0
// Content with runs (ferry_allocation_options.compressed). Whoever writes the allocation by GPU leaves out what is one
// pattern over and over, and lists that in the allocation's last page instead, so it need not be written. When the
// allocation leaves the aperture the engine writes the runs, and `magic` becomes 0: then all content is there, for the
// CPU too. A run that is empty or leaves the content, which ends where the last page begins, ends the list.
#ifndef FERRY_RUNS_H
#define FERRY_RUNS_H

#include <stdint.h>

#define FERRY_RUN_BLOCK_BYTES 256u
#define FERRY_RUNS_MAGIC      0x534E5552u // "RUNS"
#define FERRY_RUNS_MOST       255u

struct ferry_run {
    uint32_t first_block, blocks; // of FERRY_RUN_BLOCK_BYTES, from the allocation's begin on
    uint64_t pattern;             // repeated
};

// A page.
struct ferry_run_list {
    uint32_t magic, count; // FERRY_RUNS_MAGIC; more than FERRY_RUNS_MOST is that many
    uint64_t reserved;
    struct ferry_run runs[FERRY_RUNS_MOST];
};

#endif
