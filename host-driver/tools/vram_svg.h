// SPDX-License-Identifier: Apache-2.0
// Video memory over time as an SVG: frames to the right, offset upwards, a coloured rectangle for each stay of an
// allocation, and below it what each frame brought in.
#ifndef FERRY_TOOLS_VRAM_SVG_H
#define FERRY_TOOLS_VRAM_SVG_H

#include <stdio.h>

#include "tools/vram_map.h"
#include "tools/vram_program.h"

// More rectangles than this make browsers slow: above it the smallest ones are left out, and the picture says how many.
#define FERRY_MOST_RECTANGLES 20000u

/// Write the history of map, which must have been ended. Returns 0, or -1 with errno set.
int ferry_vram_svg_write(const char *path, const struct ferry_vram_map *map, const struct ferry_vram_program *programs,
                         unsigned program_count, const char *backend);

/// The same into a file that is open, as a part of a page.
int ferry_vram_svg_draw(FILE *file, const struct ferry_vram_map *map, const struct ferry_vram_program *programs,
                        unsigned program_count, const char *backend);

#endif
