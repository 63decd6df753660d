// SPDX-License-Identifier: Apache-2.0
// Address spaces over time as an SVG: frames to the right, addresses upwards, those that were never mapped left out; a
// rectangle for as long as addresses lead to one allocation, darker the larger the pages are.
#ifndef FERRY_TOOLS_SPACE_SVG_H
#define FERRY_TOOLS_SPACE_SVG_H

#include "tools/space_map.h"
#include "tools/vram_map.h"
#include "tools/vram_program.h"

/// Write the history of spaces, which must have been ended; colours, programs and time are those of the map of video
/// memory. Returns 0, or -1 with errno set.
int ferry_space_svg_write(const char *path, const struct ferry_space_map *spaces, const struct ferry_vram_map *map,
                          const struct ferry_vram_program *programs, unsigned program_count, const char *backend);

#endif
