// SPDX-License-Identifier: Apache-2.0
#include "tools/policy_traces.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/tool.h"

#define MUCH FERRY_MIB * 16 // of memory, that is told

static void name_traces(struct ferry_policy_report *report)
{
    for (unsigned i = 0; i < report->options->trace_count; i++) {
        const char *path = report->options->trace_files[i], *slash = strrchr(path, '/');
        size_t at = strlen(report->names);
        report->trace_names[i] = slash ? slash + 1 : path;
        snprintf(report->names + at, sizeof report->names - at, "%s%s", i ? ", " : "", report->trace_names[i]);
    }
}

static int complain_of(const struct ferry_policy_options *options, const struct ferry_lab_reading *reading)
{
    const struct ferry_trace_error *error = &reading->error;
    const char *path = options->trace_files[reading->program];
    if (!error->reason[0]) {
        ferry_complain("no memory for the traces");
        return FERRY_EXIT_LIBRARY;
    }
    if (error->line)
        ferry_complain("%s, line %" PRIu64 ": %s", path, error->line, error->reason);
    else
        ferry_complain("%s: %s", path, error->reason);
    return reading->of_folder ? FERRY_EXIT_LIBRARY : FERRY_EXIT_USAGE;
}

struct shown {
    bool terminal;
    const struct ferry_policy_options *options;
};

static void show_lines(void *context, uint64_t lines, double share)
{
    const struct shown *shown = context;
    char text[28], percent[16] = "";
    if (!shown->terminal)
        return;
    if (share >= 0)
        snprintf(percent, sizeof percent, ", %.0f %%", 100 * share);
    fprintf(stderr, "\r%s: %s lines%s \033[K", share >= 0 ? "reading" : "counting", ferry_count_text(lines, text),
            percent);
    fflush(stderr);
}

static void show_nothing(const struct shown *shown)
{
    if (shown->terminal)
        fputs("\r\033[K", stderr);
}

static void say_what_it_takes(void *context, uint64_t uses, uint64_t bytes)
{
    char text[28], size[FERRY_SIZE_TEXT];
    if (bytes < MUCH)
        return;
    show_nothing(context);
    ferry_complain("%s: to know the future takes %s, for the next use of each of %s", FERRY_LAB_REFERENCE,
                   ferry_size_text(bytes, size), ferry_count_text(uses, text));
}

static void say_where_it_is(void *context, uint32_t program, uint64_t bytes, const char *folder, uint64_t free_bytes)
{
    const struct shown *shown = context;
    char size[FERRY_SIZE_TEXT] = "", left[FERRY_SIZE_TEXT];
    show_nothing(context);
    if (bytes)
        ferry_size_text(bytes, size);
    ferry_complain("%s: kept in %s while this runs, %s%s%s (%s free there; TMPDIR can name another folder)",
                   shown->options->trace_files[program], folder, bytes ? "about " : "a few bytes an event, ", size,
                   bytes ? "" : "nobody knows how many", ferry_size_text(free_bytes, left));
}

int ferry_policy_read(struct ferry_policy_report *report, struct ferry_lab_packed packed[FERRY_LAB_MOST_TRACES],
                      bool future, struct ferry_lab_traces *prepared)
{
    const struct ferry_policy_options *options = report->options;
    const struct ferry_lab_packed *list[FERRY_LAB_MOST_TRACES];
    struct shown shown = {.terminal = !options->quiet && isatty(2) == 1, .options = options};
    struct ferry_lab_reading reading = {
        .progress = show_lines, .takes = say_what_it_takes, .spills = say_where_it_is, .context = &shown};
    const char *held = getenv("FERRY_TRACE_MEMORY");
    uint64_t bytes = 0;
    int status = 0;
    name_traces(report);
    if (held && held[0] && (ferry_parse_size(held, &bytes) != 0 || bytes == 0 || bytes > SIZE_MAX / 4)) {
        ferry_complain("FERRY_TRACE_MEMORY: '%s' is no size", held);
        return FERRY_EXIT_USAGE;
    }
    reading.held = (size_t)bytes;
    for (unsigned i = 0; i < options->trace_count && status == 0; i++) {
        reading.program = i;
        list[i] = &packed[i];
        status = ferry_lab_pack(&packed[i], options->trace_files[i], &reading);
    }
    if (status == 0)
        status = ferry_lab_prepare(prepared, list, options->trace_count, future, &reading);
    show_nothing(&shown);
    return status == 0 ? FERRY_EXIT_OK : complain_of(options, &reading);
}
