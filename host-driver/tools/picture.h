// SPDX-License-Identifier: Apache-2.0
// What a person sees while a replay runs: on a terminal a moving picture of video memory with the figures of the frame
// and the progress, otherwise a plain line now and then. One picture at a time; not for several threads.
#ifndef FERRY_TOOLS_PICTURE_H
#define FERRY_TOOLS_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/vram_map.h"

struct ferry_picture_figures {
    const char *title; // "neverball.memtrace on sim"
    const struct ferry_vram_map *map;
    uint64_t frame, frames; // Ended ones, and how many there will be.
    uint64_t living;        // Allocations that the program has now.
    uint64_t evictions, verified_bytes, bad_bytes;
    double done; // Share of the work, 0 to 1.
};

/// Take over stdout. Quiet shows nothing at all.
void ferry_picture_begin(bool quiet);
/// Show the figures, when it is time again or when `now` says so. Cheap when it is not time.
void ferry_picture_show(const struct ferry_picture_figures *figures, bool now);
/// Give the terminal back; the last picture stays above what follows. May be called twice.
void ferry_picture_end(void);

#endif
