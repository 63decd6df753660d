// SPDX-License-Identifier: Apache-2.0
#ifndef FERRY_TOOLS_VRAM_PROGRAM_H
#define FERRY_TOOLS_VRAM_PROGRAM_H

#include <stdint.h>

#include "tools/trace.h"

// A program, and whose allocations the map's objects from first_object on are.
struct ferry_vram_program {
    const char *name;
    uint32_t weight;
    uint64_t budget;
    const struct ferry_trace *trace;
    uint32_t first_object;
};

#endif
