// SPDX-License-Identifier: Apache-2.0
#include "tools/svg_drawing.h"

#include "tools/tool.h"

double ferry_svg_x(const struct ferry_svg_drawing *drawing, double time)
{
    return FERRY_SVG_LEFT + time / drawing->length * FERRY_SVG_PLOT_WIDTH;
}

void ferry_svg_bars_frame(struct ferry_svg_drawing *drawing, const char *title, double most)
{
    char size[FERRY_SIZE_TEXT];
    fprintf(drawing->file,
            "<text x=\"%.0f\" y=\"%.0f\" font-weight=\"bold\">%s</text>\n"
            "<g fill=\"#57606a\" text-anchor=\"end\"><text x=\"%.0f\" y=\"%.0f\">%s</text><text x=\"%.0f\" "
            "y=\"%.0f\">0 B</text></g>\n<path d=\"M%.0f %.1fh%.0f\" stroke=\"#8c959f\"/>\n",
            FERRY_SVG_LEFT, FERRY_SVG_BARS_TOP - 10, title, FERRY_SVG_LEFT - 8, FERRY_SVG_BARS_TOP + 10,
            ferry_size_text((uint64_t)most, size), FERRY_SVG_LEFT - 8, FERRY_SVG_BARS_TOP + FERRY_SVG_BARS_HEIGHT + 4,
            FERRY_SVG_LEFT, FERRY_SVG_BARS_TOP + FERRY_SVG_BARS_HEIGHT + 0.5, FERRY_SVG_PLOT_WIDTH);
}
