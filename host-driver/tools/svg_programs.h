// SPDX-License-Identifier: Apache-2.0
// What the SVG has only where there are several programs.
#ifndef FERRY_TOOLS_SVG_PROGRAMS_H
#define FERRY_TOOLS_SVG_PROGRAMS_H

#include "tools/svg_drawing.h"

// --------------------------------------------------------------------

/// The patterns that shapes are filled with.
void ferry_svg_patterns(struct ferry_svg_drawing *drawing);
/// "url(#p1s0)": the fill of an object. Returns text.
const char *ferry_svg_fill(const struct ferry_svg_drawing *drawing, uint32_t object, char text[24]);
/// What each program had in video memory, in the place of the bars. Returns 0, or -1 without memory.
int ferry_svg_ownership(struct ferry_svg_drawing *drawing);
/// Names of the programs, from this height down.
void ferry_svg_program_legend(struct ferry_svg_drawing *drawing, double top);

#endif
