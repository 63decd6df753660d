// SPDX-License-Identifier: Apache-2.0
// A panel for each size of video memory: bytes in and out a frame over the frames, a line a policy. Where there are
// more frames than there is room for, a point is the worst of its frames.
#include "tools/policy_svg.h"

#include <inttypes.h>
#include <stdio.h>

#include "tools/svg_text.h"
#include "tools/tool.h"

#define WIDTH        1280.0
#define LEFT         92.0
#define PLOT_WIDTH   1000.0
#define TOP          84.0
#define PANEL_HEIGHT 200.0
#define PANEL_STEP   276.0
#define MOST_POINTS  500u

// The manager's is drawn last, over the others.
const char *ferry_policy_colour(size_t row)
{
    static const char *const colours[FERRY_POLICY_COLOURS] = {"#0969da", "#cf222e", "#bf8700", "#8250df",
                                                              "#1a7f37", "#57606a", "#bc4c00", "#1b7c83"};
    return colours[row % FERRY_POLICY_COLOURS];
}

static uint64_t bucket(const struct ferry_policy_row *row, uint64_t frames, uint64_t points, uint64_t point)
{
    uint64_t begin = frames * point / points, end = frames * (point + 1) / points, most = 0;
    for (uint64_t i = begin; i < end; i++)
        most = row->outcome.frame_bytes[i] > most ? row->outcome.frame_bytes[i] : most;
    return most;
}

// The top of the scale: what 99 of 100 points of the manager or, without it, of the first policy stay below would hide
// the worst; so the highest point of all, but for the warm-up, in which everything comes in whatever the policy.
static double scale(const struct ferry_policy_size *size, uint64_t frames)
{
    uint64_t most = 4096;
    for (size_t k = 0; k < size->row_count; k++)
        for (uint64_t i = frames > FERRY_LAB_WARM_UP ? FERRY_LAB_WARM_UP : 0; i < frames; i++)
            most = size->rows[k].outcome.frame_bytes[i] > most ? size->rows[k].outcome.frame_bytes[i] : most;
    return (double)most;
}

// Whether a line leaves the scale in the warm-up: the table's worst frame stands in no picture then.
static bool cut_off(const struct ferry_policy_size *size, uint64_t frames, double most)
{
    for (size_t k = 0; k < size->row_count; k++)
        for (uint64_t i = 0; i < FERRY_LAB_WARM_UP && i < frames; i++)
            if ((double)size->rows[k].outcome.frame_bytes[i] > most)
                return true;
    return false;
}

static void line(FILE *file, const struct ferry_policy_row *row, const char *colour, uint64_t frames, double top,
                 double most, bool bold)
{
    uint64_t points = frames < MOST_POINTS ? frames : MOST_POINTS;
    fprintf(file, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" points=\"", colour, bold ? "2" : "1");
    for (uint64_t i = 0; i < points; i++) {
        double share = (double)bucket(row, frames, points, i) / most;
        fprintf(file, "%.1f,%.1f ", LEFT + ((double)i + 0.5) / (double)points * PLOT_WIDTH,
                top + PANEL_HEIGHT * (1 - (share > 1 ? 1 : share)));
    }
    fprintf(file, "\"><title>%s: %s</title></polyline>\n", row->name, row->says);
}

static void panel(FILE *file, const struct ferry_policy_report *report, const struct ferry_policy_size *size,
                  double top)
{
    char text[FERRY_SIZE_TEXT], in[FERRY_SIZE_TEXT];
    uint64_t frames = report->traces->frames;
    const char *unit = report->traces->unit;
    double most = scale(size, frames);
    fprintf(file, "<text x=\"%.0f\" y=\"%.0f\" font-weight=\"bold\">%s of video memory", LEFT, top - 12,
            ferry_size_text(size->bytes, text));
    fprintf(file, ": bytes in and out a %s", unit);
    if (cut_off(size, frames, most))
        fprintf(file, ", the first %u cut off at the top", FERRY_LAB_WARM_UP);
    fputs("</text>\n", file);
    fprintf(
        file,
        "<g fill=\"#57606a\" text-anchor=\"end\"><text x=\"%.0f\" y=\"%.0f\">%s</text><text x=\"%.0f\" "
        "y=\"%.0f\">0 B</text></g>\n<path d=\"M%.0f %.1fh%.0fM%.0f %.1fv%.0f\" stroke=\"#8c959f\" fill=\"none\"/>\n",
        LEFT - 8, top + 10, ferry_size_text((uint64_t)most, text), LEFT - 8, top + PANEL_HEIGHT + 4, LEFT,
        top + PANEL_HEIGHT + 0.5, PLOT_WIDTH, LEFT - 0.5, top, PANEL_HEIGHT);
    fprintf(file,
            "<text x=\"%.0f\" y=\"%.0f\" fill=\"#57606a\">%s 1</text><text x=\"%.0f\" y=\"%.0f\" fill=\"#57606a\" "
            "text-anchor=\"end\">%" PRIu64 "</text>\n",
            LEFT, top + PANEL_HEIGHT + 18, unit, LEFT + PLOT_WIDTH, top + PANEL_HEIGHT + 18, frames);
    for (size_t k = size->row_count; k-- > 0;)
        line(file, &size->rows[k], ferry_policy_colour(k), frames, top, most, k == 0);
    for (size_t k = 0; k < size->row_count; k++) {
        double y = top + 14 + 34 * (double)k;
        fprintf(file,
                "<path d=\"M%.0f %.0fh22\" stroke=\"%s\" stroke-width=\"3\"/><text x=\"%.0f\" y=\"%.0f\">%s</text>"
                "<text x=\"%.0f\" y=\"%.0f\" fill=\"#57606a\">%s in</text>\n",
                LEFT + PLOT_WIDTH + 16, y - 4, ferry_policy_colour(k), LEFT + PLOT_WIDTH + 44, y, size->rows[k].name,
                LEFT + PLOT_WIDTH + 44, y + 14, ferry_size_text(size->rows[k].outcome.count.in, in));
    }
}

void ferry_policy_svg(FILE *file, const struct ferry_policy_report *report)
{
    double height = TOP + PANEL_STEP * (double)report->size_count;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"system-ui, sans-serif\" font-size=\"13\">\n<rect width=\"100%%\" height=\"100%%\" "
            "fill=\"#ffffff\"/>\n<text x=\"%.0f\" y=\"36\" font-size=\"18\" font-weight=\"bold\">",
            WIDTH, height, WIDTH, height, LEFT);
    ferry_svg_text(file, report->names);
    fputs("</text>\n", file);
    for (size_t i = 0; i < report->size_count; i++)
        panel(file, report, &report->sizes[i], TOP + PANEL_STEP * (double)i);
    fputs("</svg>\n", file);
}
