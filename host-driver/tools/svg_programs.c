// SPDX-License-Identifier: Apache-2.0
// Several programs in the SVG. Each has a hue and, since not everybody sees hues alike, a pattern of its own; shades of
// the hue tell its allocations apart.
#include "tools/svg_programs.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tools/tool.h"

void ferry_svg_patterns(struct ferry_svg_drawing *drawing)
{
    // In a square of 8 by 8; the first program is plain.
    static const char *const lines[] = {
        "",
        "M-1 9L9 -1M-1 1L1 -1M7 9L9 7", // diagonal, rising
        "M1 1h2v2h-2zM5 5h2v2h-2z",     // dots
        "M-1 -1L9 9M-1 7L1 9M7 -1L9 1", // diagonal, falling
        "M2 0v8M6 0v8",                 // standing
        "M0 4h8M4 0v8",                 // grid
        "M0 0L8 8M0 8L8 0",             // crossed
        "M0 2h8M0 6h8",                 // lying
    };
    fputs("<defs>\n", drawing->file);
    for (unsigned program = 0; program < drawing->program_count; program++) {
        for (unsigned shade = 0; shade < FERRY_SHADES; shade++) {
            struct ferry_colour colour = ferry_program_colour(program, shade);
            fprintf(drawing->file,
                    "<pattern id=\"p%us%u\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\"><rect width=\"8\" "
                    "height=\"8\" fill=\"#%02x%02x%02x\"/><path d=\"%s\" stroke=\"#fff\" stroke-width=\"1.4\" "
                    "stroke-opacity=\".75\" fill=\"none\"/></pattern>\n",
                    program + 1, shade, colour.red, colour.green, colour.blue,
                    lines[program % (sizeof lines / sizeof lines[0])]);
        }
    }
    fputs("</defs>\n", drawing->file);
}

const char *ferry_svg_fill(const struct ferry_svg_drawing *drawing, uint32_t object, char text[24])
{
    const struct ferry_vram_map *map = drawing->map;
    snprintf(text, 24, "url(#p%us%u)", map->program_of_object[object] + 1u, map->rank_of_object[object] % FERRY_SHADES);
    return text;
}

// Adds what a stay holds to the means of the bars that it lies in.
static void add_stay(const struct ferry_svg_drawing *drawing, const struct ferry_stay *stay, double *bars,
                     double bar_length)
{
    size_t bar = (size_t)(stay->begin / bar_length);
    for (; bar < FERRY_SVG_MOST_BARS && (double)bar * bar_length < (double)stay->end; bar++) {
        double from = (double)bar * bar_length, to = from + bar_length;
        double begin = stay->begin > from ? stay->begin : from, end = stay->end < to ? stay->end : to;
        if (end > begin)
            bars[bar * drawing->program_count + drawing->map->program_of_object[stay->object]] +=
                (double)stay->bytes * (end - begin) / bar_length;
    }
}

int ferry_svg_ownership(struct ferry_svg_drawing *drawing)
{
    const struct ferry_vram_map *map = drawing->map;
    unsigned programs = drawing->program_count;
    double bar_length = drawing->length / FERRY_SVG_MOST_BARS, whole = (double)map->video_bytes;
    double *bars = calloc((size_t)FERRY_SVG_MOST_BARS * programs, sizeof *bars);
    if (!bars)
        return -1;
    for (size_t i = 0; i < map->stay_count; i++)
        add_stay(drawing, &map->stays[i], bars, bar_length);
    ferry_svg_bars_frame(drawing, "In video memory, by program", whole);
    for (unsigned program = 0; program < programs; program++) {
        double sum = 0;
        fprintf(drawing->file, "<path class=\"owner\" fill=\"url(#p%us0)\" d=\"", program + 1);
        // Along the top to the right, along the bottom back.
        for (unsigned side = 0; side < 2; side++) {
            for (unsigned i = 0; i < 2 * FERRY_SVG_MOST_BARS; i++) {
                unsigned at = side ? 2 * FERRY_SVG_MOST_BARS - 1 - i : i, bar = at / 2;
                double height = 0;
                for (unsigned below = 0; below < program + (side == 0); below++)
                    height += bars[bar * programs + below];
                if (side == 0 && at % 2 == 0)
                    sum += bars[bar * programs + program] * bar_length;
                fprintf(drawing->file, "%s%.1f %.1f", side + i == 0 ? "M" : "L",
                        ferry_svg_x(drawing, (bar + at % 2) * bar_length),
                        FERRY_SVG_BARS_TOP + FERRY_SVG_BARS_HEIGHT * (1 - height / whole));
            }
        }
        char size[FERRY_SIZE_TEXT];
        fprintf(drawing->file, "Z\"><title>program %u: %s on average</title></path>\n", program + 1,
                ferry_size_text((uint64_t)(sum / drawing->length), size));
    }
    free(bars);
    return 0;
}

void ferry_svg_program_legend(struct ferry_svg_drawing *drawing, double top)
{
    FILE *file = drawing->file;
    fprintf(file, "<text x=\"%.0f\" y=\"%.0f\" font-weight=\"bold\">The programs</text>\n", FERRY_SVG_LEFT, top - 14);
    for (unsigned i = 0; i < drawing->program_count; i++) {
        const struct ferry_vram_program *program = &drawing->programs[i];
        char size[FERRY_SIZE_TEXT];
        double y = top + i * 20;
        fprintf(
            file,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"34\" height=\"14\" rx=\"2\" fill=\"url(#p%us0)\"/><text x=\"%.1f\" "
            "y=\"%.1f\">%u: ",
            FERRY_SVG_LEFT, y, i + 1, FERRY_SVG_LEFT + 42, y + 11.5, i + 1);
        ferry_svg_text(file, program->name);
        fprintf(file, ", weight %" PRIu32, program->weight);
        // Not where budgets came and went.
        if (program->budget)
            fprintf(file, ", budget %s", ferry_size_text(program->budget, size));
        fputs("</text>\n", file);
    }
}
