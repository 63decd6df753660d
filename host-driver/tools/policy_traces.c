// SPDX-License-Identifier: Apache-2.0
#include "tools/policy_traces.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/tool.h"

// Events and allocations that draws name: 4 MiB or a little more.
#define LONG_TRACE 100000u

static void name_traces(struct ferry_policy_report *report)
{
    for (unsigned i = 0; i < report->options->trace_count; i++) {
        const char *path = report->options->trace_files[i], *slash = strrchr(path, '/');
        size_t at = strlen(report->names);
        report->trace_names[i] = slash ? slash + 1 : path;
        snprintf(report->names + at, sizeof report->names - at, "%s%s", i ? ", " : "", report->trace_names[i]);
    }
}

static int complain_of_trace(const char *path, const struct ferry_trace_error *error)
{
    if (error->line)
        ferry_complain("%s, line %" PRIu64 ": %s", path, error->line, error->reason);
    else
        ferry_complain("%s: %s", path, error->reason);
    return FERRY_EXIT_USAGE;
}

// Sets *large, and holds none, when one has more than `most`.
static int hold_traces(const struct ferry_policy_options *options, struct ferry_trace *traces, size_t most, bool *large)
{
    struct ferry_trace_error error;
    *large = false;
    for (unsigned i = 0; i < options->trace_count && !*large; i++) {
        int status = ferry_trace_read_small(options->trace_files[i], most, &traces[i], &error);
        if (status < 0)
            return complain_of_trace(options->trace_files[i], &error);
        *large = status > 0;
    }
    for (unsigned i = 0; i < options->trace_count && *large; i++)
        ferry_trace_free(&traces[i]);
    return FERRY_EXIT_OK;
}

// What can be read once only is held.
static bool all_are_files(const struct ferry_policy_options *options)
{
    struct stat about;
    for (unsigned i = 0; i < options->trace_count; i++)
        if (stat(options->trace_files[i], &about) == 0 && !S_ISREG(about.st_mode))
            return false;
    return true;
}

static void show_lines(void *context, uint64_t lines)
{
    char text[28];
    if (*(const bool *)context)
        fprintf(stderr, "\rcounting: %s lines \033[K", ferry_count_text(lines, text));
}

static void say_what_it_takes(void *context, uint64_t uses, uint64_t bytes)
{
    char text[28], size[FERRY_SIZE_TEXT];
    if (*(const bool *)context)
        fputs("\r\033[K", stderr);
    ferry_complain("%s: to know the future takes %s, for the next use of each of %s", FERRY_LAB_REFERENCE,
                   ferry_size_text(bytes, size), ferry_count_text(uses, text));
}

// A few passes over the files, and one for each run.
static int stream_traces(const struct ferry_policy_options *options, bool future, struct ferry_lab_traces *prepared)
{
    bool terminal = !options->quiet && isatty(2) == 1;
    struct ferry_lab_reading reading = {.progress = show_lines, .takes = say_what_it_takes, .context = &terminal};
    int status = ferry_lab_prepare_files(prepared, options->trace_files, options->trace_count, future, &reading);
    if (terminal)
        fputs("\r\033[K", stderr);
    if (status == 0)
        return FERRY_EXIT_OK;
    if (reading.error.reason[0])
        return complain_of_trace(options->trace_files[reading.program], &reading.error);
    ferry_complain("no memory for the traces");
    return FERRY_EXIT_LIBRARY;
}

int ferry_policy_read(struct ferry_policy_report *report, struct ferry_trace traces[FERRY_LAB_MOST_TRACES], bool future,
                      struct ferry_lab_traces *prepared)
{
    const struct ferry_policy_options *options = report->options;
    bool large, streams = options->no_advice && !options->whole && all_are_files(options);
    name_traces(report);
    int status = hold_traces(options, traces, streams ? LONG_TRACE : SIZE_MAX, &large);
    if (status != FERRY_EXIT_OK)
        return status;
    if (large)
        return stream_traces(options, future, prepared);
    if (ferry_lab_prepare(prepared, traces, options->trace_count) == 0)
        return FERRY_EXIT_OK;
    ferry_complain("no memory for the traces");
    return FERRY_EXIT_LIBRARY;
}
