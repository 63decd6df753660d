// SPDX-License-Identifier: Apache-2.0
#include "tools/space_svg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/output.h"
#include "tools/svg_drawing.h"
#include "tools/tool.h"
#include "tools/vram_svg.h"

#define LEFT         150.0
#define PLOT_WIDTH   (FERRY_SVG_WIDTH - LEFT - FERRY_SVG_RIGHT)
#define TOP          120.0
#define PANEL_HEIGHT 360.0
#define PANEL_GAP    64.0
#define BREAK_PIXELS 14.0
#define BREAK_BYTES  (UINT64_C(16) << 20) // So many addresses that nothing ever is at are not drawn.

static const struct page_style {
    uint64_t bytes;
    const char *name, *style, *class;
} styles[] = {
    {4096, "4 KiB", "fill-opacity=\".38\"", "page-4K"},
    {65536, "64 KiB", "fill-opacity=\".72\" stroke=\"#57606a\" stroke-width=\".4\"", "page-64K"},
    {FERRY_LARGE_PAGE, "2 MiB", "stroke=\"#24292f\" stroke-width=\".8\"", "page-2M"},
};
#define STYLES (sizeof styles / sizeof styles[0])

// Addresses that are drawn one beside the other.
struct run {
    uint64_t first, end;
    double y; // Of `first`; further ones stand above it.
};

struct picture {
    FILE *file;
    const struct ferry_space_map *spaces;
    const struct ferry_vram_map *map;
    const struct ferry_vram_program *programs;
    unsigned program_count;
    struct ferry_space_piece *pieces; // By program, object, page and begin.
    size_t count;
    uint64_t left_out;
    struct run *runs; // Of the program that is drawn.
    size_t run_count;
    double pixels_a_byte;
};

static int by_area(const void *left, const void *right)
{
    const struct ferry_space_piece *a = left, *b = right;
    double first = (double)(a->end - a->begin) * (double)a->bytes;
    double second = (double)(b->end - b->begin) * (double)b->bytes;
    return first > second ? -1 : first < second;
}

static int by_group(const void *left, const void *right)
{
    const struct ferry_space_piece *a = left, *b = right;
    if (a->program != b->program)
        return a->program < b->program ? -1 : 1;
    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    if (a->page != b->page)
        return a->page < b->page ? -1 : 1;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static int by_address(const void *left, const void *right)
{
    const struct run *a = left, *b = right;
    return a->first < b->first ? -1 : a->first > b->first;
}

static int choose(struct picture *picture)
{
    const struct ferry_space_list *ended = &picture->spaces->ended;
    picture->pieces = malloc((ended->count + 1) * sizeof *picture->pieces);
    picture->runs = malloc((ended->count + 1) * sizeof *picture->runs);
    if (!picture->pieces || !picture->runs)
        return -1;
    if (ended->count > 0)
        memcpy(picture->pieces, ended->pieces, ended->count * sizeof *picture->pieces);
    picture->count = ended->count;
    if (picture->count > FERRY_MOST_RECTANGLES) {
        qsort(picture->pieces, picture->count, sizeof *picture->pieces, by_area);
        picture->count = FERRY_MOST_RECTANGLES;
    }
    picture->left_out = ended->count - picture->count + picture->spaces->lost;
    qsort(picture->pieces, picture->count, sizeof *picture->pieces, by_group);
    return 0;
}

// The addresses of a program that are drawn, from the foot of its panel up.
static void lay_out(struct picture *picture, size_t first, size_t end, double foot)
{
    size_t count = 0;
    uint64_t bytes = 0;
    for (size_t i = first; i < end; i++)
        picture->runs[i - first] =
            (struct run){picture->pieces[i].address, picture->pieces[i].address + picture->pieces[i].bytes, 0};
    qsort(picture->runs, end - first, sizeof *picture->runs, by_address);
    for (size_t i = 0; i < end - first; i++) {
        struct run *last = count > 0 ? &picture->runs[count - 1] : NULL;
        const struct run next = picture->runs[i];
        if (last && next.first < last->end + BREAK_BYTES)
            last->end = next.end > last->end ? next.end : last->end;
        else
            picture->runs[count++] = next;
    }
    for (size_t i = 0; i < count; i++)
        bytes += picture->runs[i].end - picture->runs[i].first;
    picture->run_count = count;
    double room = PANEL_HEIGHT - (double)(count > 1 ? count - 1 : 0) * BREAK_PIXELS;
    picture->pixels_a_byte = (room > 20 ? room : 20) / (double)(bytes > 0 ? bytes : 1);
    for (size_t i = 0; i < count; i++) {
        picture->runs[i].y = foot;
        foot -= (double)(picture->runs[i].end - picture->runs[i].first) * picture->pixels_a_byte + BREAK_PIXELS;
    }
}

static double y_of(const struct picture *picture, uint64_t address)
{
    size_t at = 0;
    while (at + 1 < picture->run_count && picture->runs[at + 1].first <= address)
        at++;
    return picture->runs[at].y - (double)(address - picture->runs[at].first) * picture->pixels_a_byte;
}

static double x_of(const struct picture *picture, double time)
{
    return LEFT + time / (picture->map->now > 0 ? picture->map->now : 1) * PLOT_WIDTH;
}

// ---- Parts of the picture -----------------------------------------------------------------------------------------

static double foot_of(unsigned panel)
{
    return TOP + panel * (PANEL_HEIGHT + PANEL_GAP) + PANEL_HEIGHT;
}

static void write_head(struct picture *picture, const char *backend)
{
    FILE *file = picture->file;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" font-family=\"Helvetica, Arial, "
            "'DejaVu Sans', sans-serif\" font-size=\"13\" fill=\"#24292f\">\n<title>GPU virtual addresses of ",
            FERRY_SVG_WIDTH, foot_of(picture->program_count - 1) + 84);
    for (unsigned i = 0; i < picture->program_count; i++) {
        fputs(i ? " + " : "", file);
        ferry_svg_text(file, picture->programs[i].name);
    }
    fputs("</title>\n<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
          "<rect width=\"100%\" height=\"100%\" rx=\"10\" fill=\"#ffffff\"/>\n"
          "<text x=\"28\" y=\"38\" font-size=\"22\" font-weight=\"bold\">Which addresses led to which allocation"
          "</text>\n<text x=\"28\" y=\"60\" fill=\"#57606a\">GPU virtual addresses over time, back end ",
          file);
    ferry_svg_text(file, backend);
    fputs("; a colour an allocation, empty where a page is not there</text>\n<g id=\"legend\">\n", file);
    for (size_t i = 0; i < STYLES; i++)
        fprintf(file,
                "<rect x=\"%.0f\" y=\"74\" width=\"22\" height=\"13\" fill=\"#0969da\" %s/><text x=\"%.0f\" y=\"85\">"
                "pages of %s</text>\n",
                28 + 150.0 * (double)i, styles[i].style, 58 + 150.0 * (double)i, styles[i].name);
    fputs("</g>\n", file);
}

static void write_axes(struct picture *picture, unsigned panel)
{
    FILE *file = picture->file;
    double foot = foot_of(panel), now = picture->map->now;
    const char *unit = picture->program_count > 1 ? "milliseconds" : ferry_trace_unit(picture->programs[panel].trace);
    fprintf(file, "<g id=\"program-%u\">\n<text x=\"28\" y=\"%.1f\" font-weight=\"bold\">", panel + 1,
            foot - PANEL_HEIGHT - 10);
    ferry_svg_text(file, picture->programs[panel].name);
    fprintf(file, "</text>\n<g font-size=\"10\" fill=\"#57606a\">\n");
    for (size_t i = 0; i < picture->run_count; i++) {
        const struct run *run = &picture->runs[i];
        double high = y_of(picture, run->end - 1);
        char size[FERRY_SIZE_TEXT];
        fprintf(file,
                "<rect class=\"addresses\" x=\"%.0f\" y=\"%.2f\" width=\"%.0f\" height=\"%.2f\" fill=\"#eaeef2\">"
                "<title>0x%" PRIx64 " to 0x%" PRIx64 ", %s</title></rect>\n",
                LEFT, high, PLOT_WIDTH, run->y - high, run->first, run->end,
                ferry_size_text(run->end - run->first, size));
        fprintf(file, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">0x%012" PRIx64 "</text>\n", LEFT - 6, run->y,
                run->first);
        if (run->y - high > 24)
            fprintf(file, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">0x%012" PRIx64 "</text>\n", LEFT - 6,
                    high + 9, run->end);
    }
    for (unsigned i = 0; i <= 10; i++)
        fprintf(file,
                "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.*f</text><path d=\"M%.1f %.1fv4\" "
                "stroke=\"#57606a\"/>\n",
                x_of(picture, now * i / 10), foot + 16, now < 20, now * i / 10, x_of(picture, now * i / 10), foot);
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%ss</text>\n</g>\n", LEFT + PLOT_WIDTH, foot + 32,
            picture->program_count > 1 ? "millisecond" : unit);
}

// All pieces of one allocation in pages of one size.
static void write_group(struct picture *picture, size_t first, size_t end)
{
    FILE *file = picture->file;
    const struct ferry_space_piece *pieces = picture->pieces;
    const struct page_style *style = styles;
    uint32_t object = pieces[first].object;
    const struct ferry_vram_program *program = &picture->programs[pieces[first].program];
    struct ferry_colour colour = {0x8c, 0x95, 0x9f};
    char text[96], size[FERRY_SIZE_TEXT];
    while (style->bytes != pieces[first].page && style + 1 < styles + STYLES)
        style++;
    bool traced = object < picture->map->object_count;
    if (traced)
        colour = ferry_object_colour(picture->map, object);
    fprintf(file, "<g class=\"%s\" fill=\"#%02x%02x%02x\" %s><title>", style->class, colour.red, colour.green,
            colour.blue, style->style);
    if (traced) {
        const struct ferry_trace_object *about = &program->trace->objects[object - program->first_object];
        fprintf(file, "allocation %" PRIu64 ", ", about->id);
        ferry_svg_text(file, ferry_trace_object_text(program->trace, object - program->first_object, text));
        fprintf(file, ", %s", ferry_size_text(about->bytes, size));
    } else {
        fputs("where draws are read back", file);
    }
    fprintf(file, ", in pages of %s</title>", style->name);
    for (size_t i = first; i < end; i++) {
        double x = x_of(picture, pieces[i].begin), width = x_of(picture, pieces[i].end) - x;
        double y = y_of(picture, pieces[i].address + pieces[i].bytes - 1);
        double deep = y_of(picture, pieces[i].address) - y;
        fprintf(file, "\n<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>", x, y, width < 0.3 ? 0.3 : width,
                deep < 0.3 ? 0.3 : deep);
    }
    fputs("</g>\n", file);
}

static void write_program(struct picture *picture, unsigned panel, size_t first, size_t end)
{
    lay_out(picture, first, end, foot_of(panel));
    write_axes(picture, panel);
    while (first < end) {
        size_t to = first;
        while (to < end && picture->pieces[to].object == picture->pieces[first].object &&
               picture->pieces[to].page == picture->pieces[first].page)
            to++;
        write_group(picture, first, to);
        first = to;
    }
    fputs("</g>\n", picture->file);
}

static void draw(struct picture *picture, const char *backend)
{
    size_t first = 0;
    write_head(picture, backend);
    for (unsigned i = 0; i < picture->program_count; i++) {
        size_t end = first;
        while (end < picture->count && picture->pieces[end].program == i)
            end++;
        write_program(picture, i, first, end);
        first = end;
    }
    fprintf(picture->file, "<text x=\"28\" y=\"%.0f\" fill=\"#57606a\">", foot_of(picture->program_count - 1) + 62);
    if (picture->left_out > 0)
        fprintf(picture->file, "To keep the file small, the %" PRIu64 " smallest pieces are left out.",
                picture->left_out);
    else
        fputs("Every piece is drawn.", picture->file);
    fputs(" Addresses that nothing was ever mapped at are left out where there are 16 MiB of them and more.</text>\n"
          "</svg>\n",
          picture->file);
}

int ferry_space_svg_write(const char *path, const struct ferry_space_map *spaces, const struct ferry_vram_map *map,
                          const struct ferry_vram_program *programs, unsigned program_count, const char *backend)
{
    struct ferry_output output;
    struct picture picture = {.spaces = spaces, .map = map, .programs = programs, .program_count = program_count};
    if (ferry_output_open(&output, path) != 0)
        return -1;
    picture.file = output.file;
    bool good = choose(&picture) == 0;
    if (good)
        draw(&picture, backend);
    else
        errno = ENOMEM;
    free(picture.pieces);
    free(picture.runs);
    return ferry_output_close(&output, good && !ferror(output.file));
}
