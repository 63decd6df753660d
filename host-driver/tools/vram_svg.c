// SPDX-License-Identifier: Apache-2.0
#include "tools/vram_svg.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/output.h"
#include "tools/svg_drawing.h"
#include "tools/svg_programs.h"
#include "tools/tool.h"

#define LEFT           FERRY_SVG_LEFT
#define TOP            FERRY_SVG_TOP
#define PLOT_WIDTH     FERRY_SVG_PLOT_WIDTH
#define PLOT_HEIGHT    FERRY_SVG_PLOT_HEIGHT
#define BARS_TOP       FERRY_SVG_BARS_TOP
#define BARS_HEIGHT    FERRY_SVG_BARS_HEIGHT
#define LEGEND_TOP     (BARS_TOP + BARS_HEIGHT + 56)
#define LEGEND_ROWS    6
#define LEGEND_COLUMNS 2
#define JOIN_PIXELS    0.25 // A gap that nobody can see.

static double y_of(const struct ferry_svg_drawing *drawing, uint64_t offset)
{
    return TOP + PLOT_HEIGHT - (double)offset / (double)drawing->map->video_bytes * PLOT_HEIGHT;
}

static int by_object_then_begin(const void *left, const void *right)
{
    const struct ferry_stay *a = left, *b = right;
    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static const struct ferry_vram_program *program_of(const struct ferry_svg_drawing *drawing, uint32_t object)
{
    unsigned last = drawing->program_count - 1;
    while (drawing->programs[last].first_object > object)
        last--;
    return &drawing->programs[last];
}

static const struct ferry_trace_object *object_of(const struct ferry_svg_drawing *drawing, uint32_t object)
{
    const struct ferry_vram_program *program = program_of(drawing, object);
    return &program->trace->objects[object - program->first_object];
}

static const char *object_text(const struct ferry_svg_drawing *drawing, uint32_t object, char text[96])
{
    const struct ferry_vram_program *program = program_of(drawing, object);
    return ferry_trace_object_text(program->trace, object - program->first_object, text);
}

static void write_names(struct ferry_svg_drawing *drawing)
{
    for (unsigned i = 0; i < drawing->program_count; i++) {
        fputs(i ? " + " : "", drawing->file);
        ferry_svg_text(drawing->file, drawing->programs[i].name);
    }
}

// ---- Which rectangles ---------------------------------------------------------------------------------------------

static int choose_rectangles(struct ferry_svg_drawing *drawing)
{
    const struct ferry_vram_map *map = drawing->map;
    drawing->stays = malloc((map->stay_count + 1) * sizeof *drawing->stays);
    if (!drawing->stays)
        return -1;
    if (map->stay_count > 0)
        memcpy(drawing->stays, map->stays, map->stay_count * sizeof *drawing->stays);
    qsort(drawing->stays, map->stay_count, sizeof *drawing->stays, by_object_then_begin);
    double gap = JOIN_PIXELS / PLOT_WIDTH * drawing->length;
    for (size_t i = 0; i < map->stay_count; i++) {
        struct ferry_stay *last = drawing->count ? &drawing->stays[drawing->count - 1] : NULL;
        const struct ferry_stay stay = drawing->stays[i];
        if (last && last->object == stay.object && last->offset == stay.offset && last->parked == stay.parked &&
            stay.begin - last->end < gap && map->stay_count > FERRY_MOST_RECTANGLES) {
            last->end = stay.end;
            drawing->joined++;
        } else {
            drawing->stays[drawing->count++] = stay;
        }
    }
    if (drawing->count > FERRY_MOST_RECTANGLES) {
        qsort(drawing->stays, drawing->count, sizeof *drawing->stays, ferry_stay_by_area);
        drawing->left_out = drawing->count - FERRY_MOST_RECTANGLES;
        drawing->count = FERRY_MOST_RECTANGLES;
        qsort(drawing->stays, drawing->count, sizeof *drawing->stays, by_object_then_begin);
    }
    return 0;
}

// ---- Parts of the picture -----------------------------------------------------------------------------------------

static double nice_step(double range, double most)
{
    double step = pow(10, floor(log10(range / most)));
    while (range / step > most) {
        if (range / (step * 2) <= most)
            return step * 2;
        if (range / (step * 5) <= most)
            return step * 5;
        step *= 10;
    }
    return step;
}

// Rows of the legend, and where the foot stands below it.
static unsigned legend_rows(const struct ferry_svg_drawing *drawing)
{
    return drawing->program_count > LEGEND_ROWS ? drawing->program_count : LEGEND_ROWS;
}

static double foot_of(const struct ferry_svg_drawing *drawing)
{
    return LEGEND_TOP + legend_rows(drawing) * 20 + 22;
}

// Of the axis: several programs have no frame in common.
static const char *unit_of(const struct ferry_svg_drawing *drawing)
{
    return drawing->program_count > 1 ? "milliseconds" : ferry_trace_unit(drawing->programs[0].trace);
}

static void write_head(struct ferry_svg_drawing *drawing, const char *backend)
{
    const struct ferry_vram_map *map = drawing->map;
    FILE *file = drawing->file;
    char size[FERRY_SIZE_TEXT], count[28];
    uint64_t came = 0;
    for (size_t i = 0; i < map->frame_count; i++)
        came += map->frames[i].placed_bytes;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" font-family=\"Helvetica, Arial, "
            "'DejaVu Sans', sans-serif\" font-size=\"13\" fill=\"#24292f\">\n<title>Video memory of ",
            FERRY_SVG_WIDTH, foot_of(drawing) + 24);
    write_names(drawing);
    fputs("</title>\n<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
          "<rect width=\"100%\" height=\"100%\" rx=\"10\" fill=\"#ffffff\"/>\n"
          "<text x=\"28\" y=\"38\" font-size=\"22\" font-weight=\"bold\">Which allocation was where in video "
          "memory</text>\n"
          "<text x=\"28\" y=\"62\" fill=\"#57606a\">",
          file);
    if (drawing->program_count > 1)
        fprintf(file, "%u programs", drawing->program_count);
    else
        write_names(drawing);
    fprintf(file, " on ");
    ferry_svg_text(file, backend);
    fprintf(file, ": %s of video memory, ", ferry_size_text(map->video_bytes, size));
    if (drawing->program_count > 1) {
        fprintf(file, "%s stays. One hue and pattern a program, shades for allocations; hover for names.</text>\n",
                ferry_count_text(map->stay_count + map->stays_lost, count));
        ferry_svg_patterns(drawing);
        return;
    }
    fprintf(file, "%zu %ss, %s stays of allocations, ", map->frame_count, unit_of(drawing),
            ferry_count_text(map->stay_count + map->stays_lost, count));
    fprintf(file, "%s placed in all. One colour an allocation; hover for its name.</text>\n",
            ferry_size_text(came, size));
}

static void write_axes(struct ferry_svg_drawing *drawing)
{
    FILE *file = drawing->file;
    uint64_t bytes = drawing->map->video_bytes;
    char size[FERRY_SIZE_TEXT];
    fprintf(file, "<rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" fill=\"#eaeef2\"/>\n", LEFT, TOP,
            PLOT_WIDTH, PLOT_HEIGHT);
    uint64_t step = 4096;
    while (bytes / step > 8)
        step *= 2;
    fputs("<g id=\"rows\" fill=\"#57606a\" text-anchor=\"end\">\n", file);
    for (uint64_t at = 0; at <= bytes; at += step)
        fprintf(file, "<text x=\"%.0f\" y=\"%.1f\">%s</text>\n", LEFT - 8, y_of(drawing, at) + 4.5,
                ferry_size_text(at, size));
    fputs("</g>\n", file);
    fprintf(file,
            "<text transform=\"translate(20 %.0f) rotate(-90)\" text-anchor=\"middle\">offset in video memory</text>\n",
            TOP + PLOT_HEIGHT / 2);
    double frame_step = nice_step(drawing->length, 16);
    if (frame_step < 1)
        frame_step = 1;
    fputs("<g id=\"columns\" fill=\"#57606a\" text-anchor=\"middle\">\n", file);
    for (double at = 0; at <= drawing->length + 1e-9; at += frame_step)
        fprintf(file, "<path d=\"M%.1f %.0fv6\" stroke=\"#57606a\"/><text x=\"%.1f\" y=\"%.0f\">%.0f</text>\n",
                ferry_svg_x(drawing, at), TOP + PLOT_HEIGHT, ferry_svg_x(drawing, at), TOP + PLOT_HEIGHT + 21, at);
    fprintf(file, "</g>\n<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">%s%s</text>\n", LEFT + PLOT_WIDTH / 2,
            TOP + PLOT_HEIGHT + 40, unit_of(drawing),
            drawing->program_count > 1 ? " of the device, at 100 MHz" : " of the program");
}

// What a script needs to make a part of it larger; the clip keeps that inside its frame.
static void begin_stays(struct ferry_svg_drawing *drawing)
{
    fprintf(drawing->file,
            "<defs><clipPath id=\"plot\"><rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\"/></clipPath>"
            "</defs>\n<g clip-path=\"url(#plot)\"><g id=\"stays\" data-left=\"%.0f\" data-top=\"%.0f\" "
            "data-width=\"%.0f\" data-height=\"%.0f\" data-bytes=\"%" PRIu64 "\" data-length=\"%.6g\" "
            "data-unit=\"%s\">\n",
            LEFT, TOP, PLOT_WIDTH, PLOT_HEIGHT, LEFT, TOP, PLOT_WIDTH, PLOT_HEIGHT, drawing->map->video_bytes,
            drawing->length, drawing->program_count > 1 ? "ms" : unit_of(drawing));
}

static const char *fill_of(const struct ferry_svg_drawing *drawing, uint32_t object, char text[24])
{
    if (drawing->program_count > 1)
        return ferry_svg_fill(drawing, object, text);
    struct ferry_colour colour = ferry_object_colour(drawing->map, object);
    snprintf(text, 24, "#%02x%02x%02x", colour.red, colour.green, colour.blue);
    return text;
}

static void write_object(struct ferry_svg_drawing *drawing, size_t first, size_t end)
{
    FILE *file = drawing->file;
    const struct ferry_stay *stays = drawing->stays;
    uint32_t object = stays[first].object;
    char text[96], size[FERRY_SIZE_TEXT], fill[24];
    double pixels = 0;
    size_t parked = 0;
    for (size_t i = first; i < end; i++) {
        pixels += (double)(stays[i].end - stays[i].begin) / drawing->length * PLOT_WIDTH;
        parked += stays[i].parked;
    }
    drawing->parked += parked;
    // Edges help where rectangles are wide; on narrow ones they would hide the colour.
    double height = (double)stays[first].bytes / (double)drawing->map->video_bytes * PLOT_HEIGHT;
    const char *edge = pixels / (double)(end - first) > 6 && height > 3 ? " stroke=\"#fff\" stroke-width=\".6\"" : "";
    fprintf(file, "<g fill=\"%s\"%s><title>", fill_of(drawing, object, fill), edge);
    if (drawing->program_count > 1) {
        fprintf(file, "program %u (", drawing->map->program_of_object[object] + 1u);
        ferry_svg_text(file, program_of(drawing, object)->name);
        fputs("), ", file);
    }
    fprintf(file, "allocation %" PRIu64 ", ", object_of(drawing, object)->id);
    ferry_svg_text(file, object_text(drawing, object, text));
    fprintf(file, ", %s (%" PRIu64 " bytes): %zu stays", ferry_size_text(object_of(drawing, object)->bytes, size),
            object_of(drawing, object)->bytes, end - first);
    if (parked)
        fprintf(file, ", %zu of them parked", parked);
    fputs("</title>", file);
    for (size_t i = first; i < end; i++) {
        double x = ferry_svg_x(drawing, stays[i].begin), width = ferry_svg_x(drawing, stays[i].end) - x;
        double y = y_of(drawing, stays[i].offset + stays[i].bytes), deep = y_of(drawing, stays[i].offset) - y;
        fprintf(file, "\n<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"%s/>", x, y,
                width < 0.3 ? 0.3 : width, deep < 0.3 ? 0.3 : deep,
                stays[i].parked ? " class=\"parked\" fill-opacity=\".45\"" : "");
    }
    fputs("</g>\n", file);
}

// The id inside the rectangles that have room for it, so that the largest need no hovering.
static void write_labels(struct ferry_svg_drawing *drawing)
{
    FILE *file = drawing->file;
    unsigned labels = 0;
    fputs("<g id=\"labels\" font-size=\"9\" fill=\"#000\" fill-opacity=\".62\" text-anchor=\"middle\" "
          "pointer-events=\"none\">\n",
          file);
    for (size_t i = 0; i < drawing->count && labels < 600; i++) {
        const struct ferry_stay *stay = &drawing->stays[i];
        double x = ferry_svg_x(drawing, stay->begin), width = ferry_svg_x(drawing, stay->end) - x;
        double y = y_of(drawing, stay->offset + stay->bytes), deep = y_of(drawing, stay->offset) - y;
        uint64_t id = object_of(drawing, stay->object)->id;
        if (deep < 12 || width < 1 + 5.5 * floor(log10((double)id + 1) + 1))
            continue;
        fprintf(file, "<text x=\"%.1f\" y=\"%.1f\">%" PRIu64 "</text>\n", x + width / 2, y + deep / 2 + 3.6, id);
        labels++;
    }
    fputs("</g>\n", file);
}

// What each frame brought in; many frames share a bar that shows their mean.
static void write_bars(struct ferry_svg_drawing *drawing)
{
    FILE *file = drawing->file;
    const struct ferry_vram_map *map = drawing->map;
    size_t group = map->frame_count / FERRY_SVG_MOST_BARS + 1;
    double most = 1;
    char size[FERRY_SIZE_TEXT], title[48 + FERRY_TRACE_UNIT];
    for (int pass = 0; pass < 2; pass++) {
        for (size_t first = 0; first < map->frame_count; first += group) {
            size_t end = first + group < map->frame_count ? first + group : map->frame_count;
            double bytes = 0;
            for (size_t i = first; i < end; i++)
                bytes += (double)map->frames[i].placed_bytes;
            bytes /= (double)(end - first);
            if (pass == 0) {
                most = bytes > most ? bytes : most;
                continue;
            }
            double x = ferry_svg_x(drawing, (double)first), width = ferry_svg_x(drawing, (double)end) - x;
            double deep = bytes / most * BARS_HEIGHT;
            fprintf(file,
                    "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>%s %zu: %s</title></rect>\n",
                    x + width * 0.08, BARS_TOP + BARS_HEIGHT - deep, width * 0.84, deep, unit_of(drawing), first + 1,
                    ferry_size_text((uint64_t)bytes, size));
        }
        if (pass == 0) {
            snprintf(title, sizeof title, "Brought into video memory in each %s", unit_of(drawing));
            ferry_svg_bars_frame(drawing, title, most > 1 ? most : 0);
            fputs("<g fill=\"#6e7781\">\n", file);
        }
    }
    fputs("</g>\n", file);
}

static int write_legend(struct ferry_svg_drawing *drawing)
{
    FILE *file = drawing->file;
    const struct ferry_vram_map *map = drawing->map;
    struct ferry_stay *sums = calloc(map->object_count + 1, sizeof *sums);
    if (!sums)
        return -1;
    // Largest by bytes times frames; end - begin adds up the frames.
    for (size_t i = 0; i < map->stay_count; i++) {
        struct ferry_stay *sum = &sums[map->stays[i].object];
        sum->object = map->stays[i].object;
        sum->bytes = map->stays[i].bytes;
        sum->end += map->stays[i].end - map->stays[i].begin;
        sum->offset++;
    }
    qsort(sums, map->object_count, sizeof *sums, ferry_stay_by_area);
    // Beside the programs where there are several.
    unsigned rows = legend_rows(drawing), several = drawing->program_count > 1;
    if (several)
        ferry_svg_program_legend(drawing, LEGEND_TOP);
    fprintf(file, "<text x=\"%.0f\" y=\"%.0f\" font-weight=\"bold\">The allocations that took most of it</text>\n",
            LEFT + several * PLOT_WIDTH / LEGEND_COLUMNS, LEGEND_TOP - 14);
    for (unsigned i = 0; i < rows * (LEGEND_COLUMNS - several) && i < map->object_count && sums[i].end > 0; i++) {
        double x = LEFT + (i / rows + several) * (PLOT_WIDTH / LEGEND_COLUMNS);
        double y = LEGEND_TOP + i % rows * 20;
        char fill[24];
        char text[96], size[FERRY_SIZE_TEXT];
        fprintf(file,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"13\" height=\"13\" rx=\"2\" fill=\"%s\"/><text x=\"%.1f\" "
                "y=\"%.1f\">",
                x, y, fill_of(drawing, sums[i].object, fill), x + 20, y + 11.5);
        if (several)
            fprintf(file, "program %u, ", map->program_of_object[sums[i].object] + 1u);
        fprintf(file, "%" PRIu64 ": ", object_of(drawing, sums[i].object)->id);
        ferry_svg_text(file, object_text(drawing, sums[i].object, text));
        fprintf(file, ", %s, %" PRIu64 " %s</text>\n", ferry_size_text(object_of(drawing, sums[i].object)->bytes, size),
                sums[i].offset, sums[i].offset == 1 ? "stay" : "stays");
    }
    free(sums);
    return 0;
}

static void write_foot(struct ferry_svg_drawing *drawing)
{
    FILE *file = drawing->file;
    double y = foot_of(drawing);
    fprintf(
        file,
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"13\" height=\"13\" rx=\"2\" fill=\"#eaeef2\"/><text x=\"%.1f\" y=\"%.1f\" "
        "fill=\"#57606a\">free video memory.%s",
        LEFT, y - 11, LEFT + 20, y,
        drawing->parked ? " Paler: parked, another instance of an allocation that locks with discard have renamed."
                        : "");
    if (drawing->joined || drawing->left_out || drawing->map->stays_lost)
        fprintf(file,
                " To keep the file small, %zu stays are joined with the next one in the same place, and the %" PRIu64
                " smallest ones are left out.",
                drawing->joined, drawing->left_out + drawing->map->stays_lost);
    else
        fputs(" Every stay is drawn.", file);
    fputs("</text>\n</svg>\n", file);
}

int ferry_vram_svg_draw(FILE *file, const struct ferry_vram_map *map, const struct ferry_vram_program *programs,
                        unsigned program_count, const char *backend)
{
    struct ferry_svg_drawing drawing = {.file = file,
                                        .map = map,
                                        .programs = programs,
                                        .program_count = program_count,
                                        .length = map->now > 0 ? map->now : 1};
    if (choose_rectangles(&drawing) != 0) {
        free(drawing.stays);
        errno = ENOMEM;
        return -1;
    }
    write_head(&drawing, backend);
    write_axes(&drawing);
    begin_stays(&drawing);
    for (size_t first = 0; first < drawing.count;) {
        size_t end = first;
        while (end < drawing.count && drawing.stays[end].object == drawing.stays[first].object)
            end++;
        write_object(&drawing, first, end);
        first = end;
    }
    fputs("</g></g>\n", file);
    write_labels(&drawing);
    bool bad = false;
    if (program_count > 1)
        bad = ferry_svg_ownership(&drawing) != 0;
    else
        write_bars(&drawing);
    bad |= write_legend(&drawing) != 0;
    write_foot(&drawing);
    free(drawing.stays);
    return bad || ferror(file) ? -1 : 0;
}

int ferry_vram_svg_write(const char *path, const struct ferry_vram_map *map, const struct ferry_vram_program *programs,
                         unsigned program_count, const char *backend)
{
    struct ferry_output output;
    if (ferry_output_open(&output, path) != 0)
        return -1;
    bool good = ferry_vram_svg_draw(output.file, map, programs, program_count, backend) == 0;
    return ferry_output_close(&output, good);
}
