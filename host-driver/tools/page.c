// SPDX-License-Identifier: Apache-2.0
// The page is whole in one file: pictures are inline SVG, style and script stand in it, and its policy lets the browser
// load nothing and run no script but that one, known by its hash. Without scripts all of it is there but the zoom.
#include "tools/page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "page_assets.h"
#include "tools/advice_text.h"
#include "tools/output.h"
#include "tools/page_map.h"
#include "tools/policy_session.h"
#include "tools/policy_svg.h"
#include "tools/svg_text.h"
#include "tools/sweep_svg.h"
#include "tools/tool.h"

#define MANY   1000000u // allocations: what the memory map takes for them is told
#define A_NAME 170u     // bytes for each, of all tables

struct page {
    FILE *file;
    const struct ferry_policy_session *session; // its report: the figures
    const struct ferry_policy_report *curve;
    const struct ferry_page_map *map;
};

// ---- Parts ---------------------------------------------------------------------------------------------------

// "228.1 MiB", and to the byte for whoever points at it or reads the page with a program.
static void bytes_cell(const struct page *page, const char *column, uint64_t bytes)
{
    char size[FERRY_SIZE_TEXT], count[28];
    fprintf(page->file, "<td data-column=\"%s\" data-bytes=\"%" PRIu64 "\" title=\"%s bytes\">%s</td>", column, bytes,
            ferry_count_text(bytes, count), ferry_size_text(bytes, size));
}

static void write_head(const struct page *page)
{
    const struct ferry_lab_traces *traces = page->session->report.traces;
    const char *unit = traces->unit;
    char median[FERRY_SIZE_TEXT], largest[FERRY_SIZE_TEXT], living[FERRY_SIZE_TEXT], frames[28], objects[28], jobs[28];
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '" PAGE_CSS_HASH
          "'; script-src '" PAGE_JS_HASH "'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Video memory: ",
          page->file);
    ferry_svg_text(page->file, page->session->report.names);
    fputs("</title>\n<style>", page->file);
    fwrite(page_css, 1, sizeof page_css, page->file);
    fputs("</style>\n</head>\n<body>\n<header>\n<h1>", page->file);
    ferry_svg_text(page->file, page->session->report.names);
    fprintf(page->file,
            "</h1>\n<p id=\"facts\">%s %ss, %s GPU jobs, %s allocations, %s at once. A median %s names %s (W), the "
            "largest %s (F).</p>\n</header>\n<main>\n",
            ferry_count_text(traces->frames, frames), unit, ferry_count_text(traces->jobs, jobs),
            ferry_count_text(traces->made, objects), ferry_size_text(traces->most_living, living), unit,
            ferry_size_text(traces->median_frame, median), ferry_size_text(traces->largest_frame, largest));
}

static int write_sentence(const struct page *page)
{
    const struct ferry_policy_report *report = &page->session->report;
    char *text = NULL;
    size_t bytes = 0;
    if (!report->sizes[0].advised)
        return 0;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory)
        return -1;
    ferry_advice_print(memory, &report->sizes[0].advice, report->traces, report->trace_names);
    if (fclose(memory) != 0) {
        free(text);
        return -1;
    }
    text[strcspn(text, "\n")] = 0;
    fputs("<section>\n<p id=\"sentence\">", page->file);
    ferry_svg_text(page->file, text);
    fputs("</p>\n</section>\n", page->file);
    free(text);
    return 0;
}

static void write_row(const struct page *page, const struct ferry_policy_size *size, size_t number)
{
    const struct ferry_policy_row *row = &size->rows[number];
    const struct ferry_lab_outcome *outcome = &row->outcome;
    uint64_t reference = ferry_policy_reference(size);
    fprintf(
        page->file,
        "<tr data-policy=\"%s\"><th scope=\"row\"><svg width=\"14\" height=\"10\" aria-hidden=\"true\"><rect y=\"3\" "
        "width=\"14\" height=\"4\" rx=\"2\" fill=\"%s\"/></svg> %s<small>%s</small></th>",
        row->name, ferry_policy_colour(number), row->name, row->says);
    bytes_cell(page, "in", outcome->count.in);
    bytes_cell(page, "out", outcome->count.out);
    if (strcmp(row->name, FERRY_LAB_OURS) == 0)
        bytes_cell(page, "moved", outcome->count.moved);
    else
        fputs("<td>&#8211;</td>", page->file);
    bytes_cell(page, "uploads", outcome->count.uploaded);
    if (reference)
        fprintf(page->file, "<td data-column=\"times\">%.2f</td>", (double)outcome->count.in / (double)reference);
    else
        fputs("<td>&#8211;</td>", page->file);
    bytes_cell(page, "worst", outcome->worst_frame);
    bytes_cell(page, "most", outcome->percentile_frame);
    for (uint32_t i = 0; i < page->session->bench.traces.count && page->session->bench.traces.count > 1; i++)
        bytes_cell(page, "program", outcome->program_in[i]);
    fputs("</tr>\n", page->file);
}

static void write_table(const struct page *page, const struct ferry_policy_size *size)
{
    char said[64];
    uint32_t programs = page->session->bench.traces.count;
    const char *unit = page->session->bench.traces.unit;
    fprintf(page->file,
            "<div class=\"wide\"><table data-size=\"%" PRIu64 "\">\n<caption>%s of video memory</caption>\n<thead><tr>"
            "<th scope=\"col\">policy</th><th scope=\"col\" title=\"of what a job names and what is not there\">in</th>"
            "<th scope=\"col\" title=\"written back\">out</th><th scope=\"col\" title=\"inside video memory, to make "
            "holes\">moved</th><th scope=\"col\" title=\"what the CPU wrote into what is there\">uploads</th>"
            "<th scope=\"col\" title=\"in, as a multiple of furthest\">times</th><th scope=\"col\" title=\"in and "
            "out\">worst %s</th><th scope=\"col\" title=\"99 of 100 %ss have no more in and out\">99&nbsp;%% %ss</th>",
            size->bytes, ferry_policy_size_said(size, said), unit, unit, unit);
    for (uint32_t i = 0; i < programs && programs > 1; i++) {
        fputs("<th scope=\"col\" title=\"", page->file);
        ferry_svg_text(page->file, page->session->report.trace_names[i]);
        fprintf(page->file, "\">in of %" PRIu32 "</th>", i + 1);
    }
    fputs("</tr></thead>\n<tbody>\n", page->file);
    for (size_t i = 0; i < size->row_count; i++)
        write_row(page, size, i);
    fputs("</tbody>\n</table></div>\n", page->file);
}

// The curve's figures, for those who cannot see the picture.
static void write_curve_table(const struct page *page)
{
    const struct ferry_policy_report *curve = page->curve;
    char text[FERRY_SIZE_TEXT];
    fputs("<details><summary>The curve in figures</summary><div class=\"wide\"><table id=\"curve\"><thead><tr><th "
          "scope=\"col\">video memory</th>",
          page->file);
    for (size_t k = 0; k < curve->sizes[0].row_count; k++)
        fprintf(page->file, "<th scope=\"col\">%s</th>", curve->sizes[0].rows[k].name);
    fputs("</tr></thead><tbody>\n", page->file);
    for (size_t i = 0; i < curve->size_count; i++) {
        const struct ferry_policy_size *size = &curve->sizes[i];
        fprintf(page->file, "<tr data-size=\"%" PRIu64 "\"><th scope=\"row\">%s</th>", size->bytes,
                ferry_size_text(size->bytes, text));
        for (size_t k = 0; k < size->row_count; k++) {
            if (size->rows[k].outcome.result == FERRY_LAB_OK)
                bytes_cell(page, size->rows[k].name, ferry_policy_paged(&size->rows[k]));
            else
                fprintf(page->file, "<td data-column=\"%s\">too small</td>", size->rows[k].name);
        }
        fputs("</tr>\n", page->file);
    }
    fputs("</tbody></table></div></details>\n", page->file);
}

static int write_page(const struct page *page)
{
    const struct ferry_policy_report *report = &page->session->report;
    FILE *file = page->file;
    write_head(page);
    bool bad = write_sentence(page) != 0;
    fputs("<section id=\"figures\">\n<h2>What is paged</h2>\n", file);
    for (size_t i = 0; i < report->size_count; i++)
        write_table(page, &report->sizes[i]);
    fputs("<figure id=\"frames\">", file);
    ferry_policy_svg(file, report);
    fputs("</figure>\n</section>\n<section>\n<h2>Other sizes</h2>\n<figure id=\"sweep\">", file);
    ferry_sweep_svg(file, page->curve);
    fputs("</figure>\n", file);
    write_curve_table(page);
    fputs(
        "</section>\n<section>\n<h2>The memory map</h2>\n"
        "<div id=\"tools\" hidden><button type=\"button\" data-do=\"in\">+</button><button type=\"button\" "
        "data-do=\"out\">&#8722;</button><button type=\"button\" data-do=\"all\">all</button> <span>Drag to enlarge a "
        "part, double-click for all of it; arrow keys, + and &#8722;, or the wheel with Ctrl.</span></div>\n"
        "<figure id=\"map\" tabindex=\"0\" aria-label=\"memory map\">",
        file);
    bad |= ferry_page_map_draw(file, page->session, page->map) != 0;
    fputs("</figure>\n<div id=\"tip\" role=\"status\" hidden></div>\n</section>\n</main>\n<footer>Made by <code>ferry "
          "report</code>: whole traces, played without moving a byte; <code>furthest</code> knows the future, and all "
          "others are measured by it. Nothing is loaded from anywhere.</footer>\n<script>",
          file);
    fwrite(page_js, 1, sizeof page_js, file);
    fputs("</script>\n</body>\n</html>\n", file);
    return bad || ferror(file) ? -1 : 0;
}

// ---- The command ---------------------------------------------------------------------------------------------------

static int save(const char *path, struct page *page)
{
    struct ferry_output output;
    int status = ferry_output_open(&output, path);
    if (status == 0) {
        page->file = output.file;
        status = ferry_output_close(&output, write_page(page) == 0);
    }
    if (status == 0)
        return FERRY_EXIT_OK;
    ferry_complain("cannot write %s: %s", path, strerror(errno));
    return FERRY_EXIT_LIBRARY;
}

static int play(struct ferry_policy_session *session, struct ferry_policy_report *figures)
{
    int status = ferry_policy_sizes(session);
    if (status == FERRY_EXIT_OK)
        status = ferry_policy_play(session, NULL);
    if (status == FERRY_EXIT_OK && !session->report.options->no_advice)
        status = ferry_policy_advise(session, &session->report.sizes[0]);
    // The curve is another report on the same traces.
    *figures = session->report;
    session->report.sizes = NULL;
    session->report.size_count = 0;
    if (status == FERRY_EXIT_OK)
        status = ferry_policy_sweep_sizes(session, session->report.options->points);
    if (status == FERRY_EXIT_OK)
        status = ferry_policy_play(session, NULL);
    return status;
}

// A trace that was given first, or whose name ends like a page's, would be written over.
static int check_name(const char *path, const struct ferry_policy_options *options)
{
    const char *end = strrchr(path, '.');
    if (end && (strcmp(end, ".html") == 0 || strcmp(end, ".htm") == 0))
        return ferry_outputs_check(&path, 1, options->trace_files, options->trace_count);
    ferry_complain("'%s' is no name of a page: it ends with .html; then come the traces", path);
    return FERRY_EXIT_USAGE;
}

static void say_what_the_map_takes(const struct ferry_lab_traces *traces)
{
    char count[28], size[FERRY_SIZE_TEXT];
    if (traces->made >= MANY)
        ferry_complain("the memory map takes about %s of memory, for the names and places of %s allocations; `ferry "
                       "policy --svg` does without",
                       ferry_size_text(traces->made * A_NAME, size), ferry_count_text(traces->made, count));
}

int ferry_page(const char *path, const struct ferry_policy_options *options)
{
    struct ferry_policy_session session;
    struct ferry_policy_report figures = {0}, curve;
    struct ferry_page_map map = {0};
    int status = check_name(path, options);
    if (status != FERRY_EXIT_OK)
        return status;
    status = ferry_policy_begin(&session, options);
    if (status == FERRY_EXIT_OK)
        status = play(&session, &figures);
    curve = session.report;
    if (status == FERRY_EXIT_OK)
        say_what_the_map_takes(&session.bench.traces);
    if (status == FERRY_EXIT_OK)
        status = ferry_page_map(&session, &figures.sizes[0], &map);
    if (status == FERRY_EXIT_OK) {
        session.report = figures;
        struct page page = {.session = &session, .curve = &curve, .map = &map};
        status = save(path, &page);
    }
    ferry_page_map_free(&map);
    if (status == FERRY_EXIT_OK)
        ferry_print_line(stdout, "%s   (open it in a browser)", path);
    ferry_policy_release(&figures);
    session.report = curve;
    ferry_policy_end(&session);
    return status;
}
