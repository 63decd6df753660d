// SPDX-License-Identifier: Apache-2.0
// What the parts of the SVG share: where things stand in it, and which stays it shows.
#ifndef FERRY_TOOLS_SVG_DRAWING_H
#define FERRY_TOOLS_SVG_DRAWING_H

#include <stddef.h>
#include <stdio.h>

#include "tools/svg_text.h"
#include "tools/vram_map.h"
#include "tools/vram_program.h"

#define FERRY_SVG_WIDTH       1280.0
#define FERRY_SVG_LEFT        92.0
#define FERRY_SVG_RIGHT       28.0
#define FERRY_SVG_PLOT_WIDTH  (FERRY_SVG_WIDTH - FERRY_SVG_LEFT - FERRY_SVG_RIGHT)
#define FERRY_SVG_TOP         84.0
#define FERRY_SVG_PLOT_HEIGHT 440.0
#define FERRY_SVG_BARS_TOP    (FERRY_SVG_TOP + FERRY_SVG_PLOT_HEIGHT + 84)
#define FERRY_SVG_BARS_HEIGHT 84.0
#define FERRY_SVG_MOST_BARS   400u

struct ferry_svg_drawing {
    FILE *file;
    const struct ferry_vram_map *map;
    const struct ferry_vram_program *programs;
    unsigned program_count;
    double length;            // Of the map's time.
    struct ferry_stay *stays; // Sorted by object, then begin; joined.
    size_t count, joined, left_out, parked;
};

double ferry_svg_x(const struct ferry_svg_drawing *drawing, double time);
/// The title, 0 B and a line under the bars, and its scale: `most` at the top.
void ferry_svg_bars_frame(struct ferry_svg_drawing *drawing, const char *title, double most);

#endif
