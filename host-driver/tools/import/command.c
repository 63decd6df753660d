// SPDX-License-Identifier: Apache-2.0
// `ferry trace import` as a person sees it: files, progress, and what is said at the end.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/import/import.h"
#include "tools/output.h"
#include "tools/tool.h"

#define SHOWN_UNKNOWN 12

static const char *const note_texts[] = {
#define FERRY_IMPORT_NOTE_TEXT(name, text) text,
    FERRY_IMPORT_NOTES(FERRY_IMPORT_NOTE_TEXT)};

static double last_told;

static void show(const struct ferry_import *import)
{
    char lines[28], frames[28], size[FERRY_SIZE_TEXT];
    if (ferry_seconds() - last_told < 0.25)
        return;
    last_told = ferry_seconds();
    fprintf(stderr, "\r%s lines (%s), %s frames", ferry_count_text(import->lines, lines),
            ferry_size_text(import->text_bytes, size), ferry_count_text(import->report.frames, frames));
}

static void say(const struct ferry_import *import, const char *name)
{
    const struct ferry_import_report *report = &import->report;
    char calls[28], frames[28], draws[28], allocations[28], all[FERRY_SIZE_TEXT], most[FERRY_SIZE_TEXT];
    char written[FERRY_SIZE_TEXT];
    ferry_print_line(stderr,
                     "%s: %s calls, %s frames, %s draws; %s allocations of %s (%s at once), %s written by the CPU",
                     name, ferry_count_text(report->calls, calls), ferry_count_text(report->frames, frames),
                     ferry_count_text(report->draws, draws), ferry_count_text(report->allocations, allocations),
                     ferry_size_text(report->allocated_bytes, all), ferry_size_text(report->most_living_bytes, most),
                     ferry_size_text(report->written_bytes, written));
    for (int i = 0; i < FERRY_IMPORT_NOTE_COUNT; i++) {
        if (report->notes[i].count == 0)
            continue;
        fprintf(stderr, "  %s %s", ferry_count_text(report->notes[i].count, calls), note_texts[i]);
        if (report->notes[i].bytes)
            fprintf(stderr, ", %s", ferry_size_text(report->notes[i].bytes, all));
        fprintf(stderr, " (first: line %" PRIu64 ")\n", report->notes[i].line);
    }
    if (!import->unknown_calls)
        return;
    fprintf(stderr, "  %s calls that are not known left out; they make no memory as far as their names tell:",
            ferry_count_text(import->unknown_calls, calls));
    for (unsigned i = 0; i < import->unknown_count && i < SHOWN_UNKNOWN; i++) {
        fputs(i ? ", " : " ", stderr);
        ferry_put_text(stderr, import->unknown[i].name);
        fprintf(stderr, " %s times (first: line %" PRIu64 ")", ferry_count_text(import->unknown[i].count, calls),
                import->unknown[i].line);
    }
    if (import->unknown_count > SHOWN_UNKNOWN)
        fprintf(stderr, ", and %u more names", import->unknown_count - SHOWN_UNKNOWN);
    fputc('\n', stderr);
}

// What is given instead of a name: a descriptor that gzclose may close.
static gzFile open_standard(int descriptor, const char *mode)
{
    int own = dup(descriptor);
    gzFile file = own < 0 ? NULL : gzdopen(own, mode);
    if (!file && own >= 0)
        close(own);
    return file;
}

static bool is_dash(const char *name)
{
    return !name || strcmp(name, "-") == 0;
}

static bool ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

// The trace is written beside its place and moved there when it is whole: what stood there stays when the import fails.
struct target {
    const char *name; // NULL: the standard output
    struct ferry_output output;
};

// The recording can often not be made again.
static int check_target(const char *in, const struct target *target)
{
    const char *inputs[] = {in ? in : "/dev/stdin"};
    return target->name ? ferry_outputs_check(&target->name, 1, inputs, 1) : FERRY_EXIT_OK;
}

static gzFile open_target(struct target *target)
{
    if (!target->name)
        return open_standard(1, "wbT");
    if (ferry_output_open(&target->output, target->name) != 0)
        return NULL;
    gzFile file = open_standard(fileno(target->output.file), ends_in(target->name, ".gz") ? "wb6" : "wbT");
    if (!file) {
        int why = errno;
        ferry_output_close(&target->output, false);
        errno = why;
    }
    return file;
}

static int close_target(struct target *target, gzFile out, bool good)
{
    errno = 0;
    bool whole = gzclose(out) == Z_OK;
    if (!target->name)
        return whole ? 0 : -1;
    int why = errno;
    int status = ferry_output_close(&target->output, good && whole);
    errno = whole ? errno : why;
    return status;
}

static int complain(const struct ferry_import *import, const char *name)
{
    if (import->problem_line)
        ferry_complain("%s, line %" PRIu64 ": %s", name, import->problem_line, import->problem);
    else
        ferry_complain("%s: %s", name, import->problem);
    return strncmp(import->problem, "the trace cannot", 16) == 0 || strncmp(import->problem, "no memory", 9) == 0
               ? FERRY_EXIT_LIBRARY
               : FERRY_EXIT_USAGE;
}

int ferry_import(const struct ferry_import_options *options)
{
    struct target target = {.name = is_dash(options->out) ? NULL : options->out};
    const char *name = is_dash(options->file) ? "standard input" : options->file;
    struct ferry_import *import = calloc(1, sizeof *import);
    int status = FERRY_EXIT_LIBRARY;
    if (!import) {
        ferry_complain("no memory left");
        return status;
    }
    status = check_target(is_dash(options->file) ? NULL : options->file, &target);
    if (status != FERRY_EXIT_OK) {
        free(import);
        return status;
    }
    status = FERRY_EXIT_LIBRARY;
    errno = 0;
    import->in = is_dash(options->file) ? open_standard(0, "rb") : gzopen(options->file, "rb");
    if (!import->in) {
        ferry_complain("%s: cannot be opened: %s", name, errno ? strerror(errno) : "no memory left");
        free(import);
        return FERRY_EXIT_USAGE;
    }
    gzbuffer(import->in, 1u << 18);
    errno = 0;
    import->out = open_target(&target);
    if (!import->out) {
        ferry_complain("cannot write %s: %s", target.name ? target.name : "the standard output", strerror(errno));
    } else {
        bool shows = !options->quiet && isatty(2) == 1;
        gzbuffer(import->out, 1u << 18);
        import->progress = shows ? show : NULL;
        bool good = ferry_import_run(import) == 0;
        if (shows)
            fputs("\r\033[K", stderr);
        if (close_target(&target, import->out, good) != 0 && good)
            ferry_complain("cannot write %s: %s", target.name ? target.name : "the standard output", strerror(errno));
        else if (!good)
            status = complain(import, name);
        else
            status = FERRY_EXIT_OK;
        if (status == FERRY_EXIT_OK && !options->quiet)
            say(import, name);
    }
    gzclose_r(import->in);
    free(import);
    return status;
}
