// SPDX-License-Identifier: Apache-2.0
// Bytes paged stand on a logarithmic scale: LRU may page ten times what is needed, and where little is paged is what
// people look for. A point of a line is a run; a policy's line begins where all jobs fit.
#include "tools/sweep_svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/svg_text.h"
#include "tools/tool.h"

#define WIDTH       1280.0
#define HEIGHT      560.0
#define LEFT        92.0
#define TOP         84.0
#define PLOT_WIDTH  1000.0
#define PLOT_HEIGHT 400.0
#define LETTER      7.0 // the width of one, about

struct curve {
    FILE *file;
    const struct ferry_policy_report *report;
    double first, last; // sizes
    double least, most; // bytes paged
};

static bool drawn(const struct ferry_policy_row *row)
{
    return row->outcome.result == FERRY_LAB_OK;
}

static double x_of(const struct curve *curve, double bytes)
{
    double whole = curve->last - curve->first;
    return LEFT + (whole > 0 ? (bytes - curve->first) / whole : 0.5) * PLOT_WIDTH;
}

static double y_of(const struct curve *curve, double bytes)
{
    double share = log(bytes / curve->least) / log(curve->most / curve->least);
    return TOP + PLOT_HEIGHT * (1 - (share < 0 ? 0 : share));
}

static void find_range(struct curve *curve)
{
    const struct ferry_policy_report *report = curve->report;
    curve->first = (double)report->sizes[0].bytes;
    curve->last = (double)report->sizes[report->size_count - 1].bytes;
    for (size_t i = 0; i < report->size_count; i++) {
        for (size_t k = 0; k < report->sizes[i].row_count; k++) {
            double paged = (double)ferry_policy_paged(&report->sizes[i].rows[k]);
            if (!drawn(&report->sizes[i].rows[k]) || paged < 4096)
                continue;
            curve->least = curve->least == 0 || paged < curve->least ? paged : curve->least;
            curve->most = paged > curve->most ? paged : curve->most;
        }
    }
    // Powers of two below and above.
    curve->least = exp2(floor(log2(curve->least > 0 ? curve->least : 4096)));
    curve->most = exp2(ceil(log2(curve->most > curve->least * 2 ? curve->most : curve->least * 2)));
}

static void draw_axes(const struct curve *curve)
{
    FILE *file = curve->file;
    char text[FERRY_SIZE_TEXT];
    double factor = 2;
    while (log(curve->most / curve->least) / log(factor) > 10)
        factor *= 2;
    fputs("<g fill=\"#57606a\" text-anchor=\"end\">\n", file);
    for (double at = curve->least; at <= curve->most * 1.0001; at *= factor)
        fprintf(file, "<path d=\"M%.0f %.1fh%.0f\" stroke=\"#d0d7de\"/><text x=\"%.0f\" y=\"%.1f\">%s</text>\n", LEFT,
                y_of(curve, at), PLOT_WIDTH, LEFT - 8, y_of(curve, at) + 4.5, ferry_size_text((uint64_t)at, text));
    fputs("</g>\n<g fill=\"#57606a\" text-anchor=\"middle\">\n", file);
    double step = 4096;
    while ((curve->last - curve->first) / step > 10)
        step *= 2;
    for (double at = ceil(curve->first / step) * step; at <= curve->last; at += step)
        fprintf(file, "<path d=\"M%.1f %.0fv6\" stroke=\"#57606a\"/><text x=\"%.1f\" y=\"%.0f\">%s</text>\n",
                x_of(curve, at), TOP + PLOT_HEIGHT, x_of(curve, at), TOP + PLOT_HEIGHT + 21,
                ferry_size_text((uint64_t)at, text));
    fprintf(file,
            "</g>\n<path d=\"M%.0f %.1fh%.0f\" stroke=\"#8c959f\"/>\n<text x=\"%.0f\" y=\"%.0f\" "
            "text-anchor=\"middle\">video memory</text>\n",
            LEFT, TOP + PLOT_HEIGHT + 0.5, PLOT_WIDTH, LEFT + PLOT_WIDTH / 2, TOP + PLOT_HEIGHT + 44);
}

// What a median frame and the largest name, where they lie in the picture; one mark where they are the same. Where they
// lie near each other their names go to the left and to the right.
static void draw_frames(const struct curve *curve)
{
    const struct ferry_lab_traces *traces = curve->report->traces;
    double median = (double)traces->median_frame, largest = (double)traces->largest_frame;
    bool same = traces->median_frame == traces->largest_frame;
    bool near = !same && fabs(x_of(curve, largest) - x_of(curve, median)) < 110;
    const struct {
        double bytes;
        const char *which, *name, *anchor;
    } marks[] = {{median, same ? "median and largest" : "median", same ? "" : " (W)", near ? "end" : "middle"},
                 {largest, "largest", " (F)", near ? "start" : "middle"}};
    for (unsigned i = 0; i < (same ? 1u : 2u); i++) {
        double x = x_of(curve, marks[i].bytes);
        char text[64];
        if (marks[i].bytes < curve->first || marks[i].bytes > curve->last)
            continue;
        int length = snprintf(text, sizeof text, "%s %s%s", marks[i].which, traces->unit, marks[i].name);
        // At the left edge of the picture it ends where it is whole.
        double end = strcmp(marks[i].anchor, "end") == 0 ? fmax(x, LETTER * length) : x;
        fprintf(curve->file,
                "<path class=\"frame\" d=\"M%.1f %.0fv%.0f\" stroke=\"#57606a\" stroke-dasharray=\"4 4\"/><text "
                "x=\"%.1f\" y=\"%.0f\" text-anchor=\"%s\" fill=\"#57606a\">%s</text>\n",
                x, TOP, PLOT_HEIGHT, end, TOP - 6, marks[i].anchor, text);
    }
}

static void draw_line(const struct curve *curve, size_t row)
{
    const struct ferry_policy_report *report = curve->report;
    const char *colour = ferry_policy_colour(row), *name = report->sizes[0].rows[row].name;
    FILE *file = curve->file;
    char paged[FERRY_SIZE_TEXT], bytes[FERRY_SIZE_TEXT];
    fprintf(file, "<g class=\"curve\" fill=\"%s\"><polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" points=\"",
            colour, colour, row == 0 ? "2.5" : "1.5");
    for (size_t i = 0; i < report->size_count; i++)
        if (drawn(&report->sizes[i].rows[row]))
            fprintf(file, "%.1f,%.1f ", x_of(curve, (double)report->sizes[i].bytes),
                    y_of(curve, (double)ferry_policy_paged(&report->sizes[i].rows[row])));
    fputs("\"/>\n", file);
    for (size_t i = 0; i < report->size_count; i++)
        if (drawn(&report->sizes[i].rows[row]))
            fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"><title>%s, %s: %s paged</title></circle>\n",
                    x_of(curve, (double)report->sizes[i].bytes),
                    y_of(curve, (double)ferry_policy_paged(&report->sizes[i].rows[row])), row == 0 ? "3.5" : "2.5",
                    name, ferry_size_text(report->sizes[i].bytes, bytes),
                    ferry_size_text(ferry_policy_paged(&report->sizes[i].rows[row]), paged));
    fputs("</g>\n", file);
}

void ferry_sweep_svg(FILE *file, const struct ferry_policy_report *report)
{
    struct curve curve = {.file = file, .report = report};
    find_range(&curve);
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"system-ui, sans-serif\" font-size=\"13\">\n<rect width=\"100%%\" height=\"100%%\" "
            "fill=\"#ffffff\"/>\n<text x=\"%.0f\" y=\"32\" font-size=\"18\" font-weight=\"bold\">",
            WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
    ferry_svg_text(file, report->names);
    fprintf(file,
            "</text>\n<text x=\"%.0f\" y=\"54\" fill=\"#57606a\">bytes in and out, of the whole trace (logarithmic), "
            "against the size of video memory</text>\n",
            LEFT);
    draw_axes(&curve);
    draw_frames(&curve);
    size_t rows = report->sizes[0].row_count;
    for (size_t k = rows; k-- > 0;)
        draw_line(&curve, k);
    for (size_t k = 0; k < rows; k++) {
        const char *name = report->sizes[0].rows[k].name;
        double y = TOP + 14 + 22 * (double)k;
        fprintf(file,
                "<path d=\"M%.0f %.0fh22\" stroke=\"%s\" stroke-width=\"3\"/><text x=\"%.0f\" y=\"%.0f\">%s%s</text>\n",
                LEFT + PLOT_WIDTH + 16, y - 4, ferry_policy_colour(k), LEFT + PLOT_WIDTH + 44, y, name,
                strcmp(name, FERRY_LAB_REFERENCE) == 0 ? " (reference)" : "");
    }
    fputs("</svg>\n", file);
}
