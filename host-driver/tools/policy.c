// SPDX-License-Identifier: Apache-2.0
#include "tools/policy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/number_list.h"
#include "tools/policy_files.h"
#include "tools/tool.h"

#define PAGE_BYTES        4096u
#define FRAMES_A_SECOND   60u
#define DEFAULT_SIZES     "0.95W"
#define LEAST_OF_A_FACTOR 0.01
#define MOST_OF_A_FACTOR  100.0

// ---- What is asked for ----------------------------------------------------------------------------------------------

static int bad_size(const char *field, const struct ferry_lab_traces *traces)
{
    char least[FERRY_SIZE_TEXT], most[FERRY_SIZE_TEXT];
    ferry_complain(
        "--vram: '%s' is no size: from %s (the largest job) to %s (all that lives at once) makes sense here, in "
        "whole pages (K, M, G), or a factor of a median frame (0.95W) or of the largest (0.5F)",
        field, ferry_size_text(traces->largest_job, least), ferry_size_text(traces->most_living, most));
    return FERRY_EXIT_USAGE;
}

static int read_size(const char *field, const struct ferry_lab_traces *traces, uint64_t *bytes)
{
    size_t length = strlen(field);
    char unit = length ? field[length - 1] : 0;
    if (unit == 'W' || unit == 'F') {
        char *end;
        double factor = strtod(field, &end);
        if (end != field + length - 1 || !(factor >= LEAST_OF_A_FACTOR && factor <= MOST_OF_A_FACTOR))
            return bad_size(field, traces);
        *bytes = (uint64_t)(factor * (double)(unit == 'W' ? traces->median_frame : traces->largest_frame));
        *bytes = *bytes / PAGE_BYTES * PAGE_BYTES;
    } else if (ferry_parse_size(field, bytes) != 0 || *bytes % PAGE_BYTES != 0 || *bytes > FERRY_TIB) {
        return bad_size(field, traces);
    }
    return *bytes >= PAGE_BYTES ? FERRY_EXIT_OK : bad_size(field, traces);
}

// The next field of a list with commas. False at its end. A field that is too long is cut, and then no name of
// anything.
static bool next_field(const char **list, char *field, size_t room)
{
    if (!*list)
        return false;
    size_t length = strcspn(*list, ",");
    snprintf(field, room, "%.*s", (int)length, *list);
    *list = (*list)[length] ? *list + length + 1 : NULL;
    return true;
}

static size_t fields_of(const char *list)
{
    size_t count = 1;
    for (; *list; list++)
        count += *list == ',';
    return count;
}

static int read_policies(const char *list, const struct ferry_lab_policy **policies, size_t *count)
{
    char field[32];
    *count = 0;
    if (!list) {
        policies[(*count)++] = NULL;
        for (size_t i = 0; ferry_lab_policies[i]; i++)
            policies[(*count)++] = ferry_lab_policies[i];
        return FERRY_EXIT_OK;
    }
    while (next_field(&list, field, sizeof field)) {
        if (!ferry_lab_find(field, &policies[*count])) {
            char known[200] = FERRY_LAB_OURS;
            for (size_t i = 0; ferry_lab_policies[i]; i++) {
                size_t at = strlen(known);
                snprintf(known + at, sizeof known - at, ", %s", ferry_lab_policies[i]->name);
            }
            ferry_complain("--policy: there is no policy '%s'; there are %s", field, known);
            return FERRY_EXIT_USAGE;
        }
        (*count)++;
    }
    return FERRY_EXIT_OK;
}

static int read_programs(const struct ferry_policy_options *options, struct ferry_lab_bench *bench)
{
    uint64_t weights[FERRY_LAB_MOST_TRACES], reservations[FERRY_LAB_MOST_TRACES] = {0};
    for (unsigned i = 0; i < FERRY_LAB_MOST_TRACES; i++)
        weights[i] = 1;
    int status = ferry_read_weights(options->weights, options->trace_count, weights);
    if (status == FERRY_EXIT_OK)
        status = ferry_read_reservations(options->reservations, options->trace_count, reservations);
    for (unsigned i = 0; i < options->trace_count; i++)
        bench->programs[i] = (struct ferry_lab_program){.weight = (uint32_t)weights[i], .reservation = reservations[i]};
    return status;
}

// ---- Playing
// ----------------------------------------------------------------------------------------------------------

struct shown {
    bool terminal;
    const char *name, *size;
};

static void show(void *context, double done)
{
    const struct shown *shown = context;
    if (shown->terminal) {
        fprintf(stderr, "\r%-10s %8s  %3.0f %% \033[K", shown->name, shown->size, 100 * done);
        fflush(stderr);
    }
}

static void show_nothing(const struct shown *shown)
{
    if (shown->terminal)
        fputs("\r\033[K", stderr);
}

static const char *size_said(const struct ferry_policy_size *size, char text[FERRY_SIZE_TEXT + 32])
{
    char bytes[FERRY_SIZE_TEXT];
    ferry_size_text(size->bytes, bytes);
    if (strpbrk(size->said, "WF"))
        snprintf(text, FERRY_SIZE_TEXT + 32, "%s (%s)", bytes, size->said);
    else
        snprintf(text, FERRY_SIZE_TEXT + 32, "%s", bytes);
    return text;
}

static int complain_of(const struct ferry_policy_report *report, const struct ferry_policy_size *size,
                       const struct ferry_policy_row *row)
{
    const struct ferry_lab_outcome *outcome = &row->outcome;
    char text[FERRY_SIZE_TEXT + 32], need[FERRY_SIZE_TEXT];
    const char *trace = report->options->trace_files[outcome->program];
    switch ((enum ferry_lab_result)outcome->result) {
    case FERRY_LAB_OK: return FERRY_EXIT_OK;
    case FERRY_LAB_TOO_SMALL:
        ferry_complain("%s: the job in line %" PRIu32 " needs %s (%" PRIu64 " bytes), video memory is %s", trace,
                       outcome->line, ferry_size_text(outcome->job_bytes, need), outcome->job_bytes,
                       size_said(size, text));
        return FERRY_EXIT_TOO_SMALL;
    case FERRY_LAB_NO_MEMORY: ferry_complain("no memory to play %s", trace); return FERRY_EXIT_LIBRARY;
    case FERRY_LAB_BAD_CHOICE:
        ferry_complain("%s, line %" PRIu32 ": %s", trace, outcome->line, outcome->problem);
        break;
    case FERRY_LAB_FAILED: ferry_complain("%s, line %" PRIu32 ": %s", trace, outcome->line, outcome->problem); break;
    }
    return outcome->result == FERRY_LAB_BAD_CHOICE ? FERRY_EXIT_WRONG : FERRY_EXIT_LIBRARY;
}

static void print_size(const struct ferry_policy_report *report, const struct ferry_policy_size *size)
{
    char title[FERRY_SIZE_TEXT + 32], in[FERRY_SIZE_TEXT], out[FERRY_SIZE_TEXT], moved[FERRY_SIZE_TEXT],
        uploads[FERRY_SIZE_TEXT];
    char worst[FERRY_SIZE_TEXT], most[FERRY_SIZE_TEXT];
    uint64_t reference = ferry_policy_reference(size);
    printf("\n%s of video memory\n  %-10s %10s %10s %10s %10s %7s %12s %12s\n", size_said(size, title), "policy", "in",
           "out", "moved", "uploads", "times", "worst frame", "99 % frames");
    for (size_t i = 0; i < size->row_count; i++) {
        const struct ferry_lab_outcome *outcome = &size->rows[i].outcome;
        char times[16] = "-";
        if (reference)
            snprintf(times, sizeof times, "%.2f", (double)outcome->count.in / (double)reference);
        printf("  %-10s %10s %10s %10s %10s %7s %12s %12s\n", size->rows[i].name,
               ferry_size_text(outcome->count.in, in), ferry_size_text(outcome->count.out, out),
               strcmp(size->rows[i].name, FERRY_LAB_OURS) == 0 ? ferry_size_text(outcome->count.moved, moved) : "-",
               ferry_size_text(outcome->count.uploaded, uploads), times, ferry_size_text(outcome->worst_frame, worst),
               ferry_size_text(outcome->percentile_frame, most));
        for (uint32_t k = 0; k < report->traces->count && report->traces->count > 1; k++)
            printf("  %10s %10s of program %" PRIu32 "\n", "", ferry_size_text(outcome->program_in[k], in), k + 1);
    }
}

static void print_advice(const struct ferry_policy_report *report, const struct ferry_policy_size *size)
{
    const struct ferry_lab_advice *advice = &size->advice;
    const struct ferry_lab_traces *traces = report->traces;
    char less[FERRY_SIZE_TEXT], more[FERRY_SIZE_TEXT], enough[FERRY_SIZE_TEXT], knee[FERRY_SIZE_TEXT];
    char what[96], cost[FERRY_SIZE_TEXT];
    printf("  With %s", ferry_size_text(advice->bytes, less));
    if (advice->enough > advice->bytes)
        printf(", %s a frame; %s more (%s) removes all paging after frame %u", ferry_size_text(advice->moved, cost),
               ferry_size_text(advice->enough - advice->bytes, more), ferry_size_text(advice->enough, enough),
               FERRY_LAB_WARM_UP);
    else
        printf(" nothing leaves after frame %u", FERRY_LAB_WARM_UP);
    if (advice->enough > advice->bytes && advice->knee < advice->enough)
        printf(", and %s more saves %s of it", ferry_size_text(advice->knee - advice->bytes, more),
               ferry_size_text(advice->knee_saves, knee));
    if (!advice->less_fits)
        printf("; with 5 %% less a job does not fit");
    else
        printf("; 5 %% less costs %s a second at %u frames",
               ferry_size_text(advice->less_costs * FRAMES_A_SECOND, less), FRAMES_A_SECOND);
    uint32_t program = traces->count - 1;
    while (program > 0 && traces->first_object[program] > advice->costliest)
        program--;
    if (advice->costliest_bytes) {
        uint32_t object = advice->costliest - traces->first_object[program];
        const struct ferry_trace *trace = &traces->traces[program];
        printf(". Most came in of allocation %" PRIu64 " of %s (%s, line %" PRIu32 "): %s", trace->objects[object].id,
               report->options->trace_files[program], ferry_trace_object_text(trace, object, what),
               trace->objects[object].line, ferry_size_text(advice->costliest_bytes, cost));
    }
    printf(".\n");
}

static int play_size(struct ferry_policy_report *report, struct ferry_lab_bench *bench,
                     const struct ferry_lab_policy *const *policies, struct ferry_policy_size *size)
{
    struct shown shown = {.terminal = !report->options->quiet && isatty(2) == 1, .size = size->said};
    bench->progress = show;
    bench->context = &shown;
    for (size_t i = 0; i < size->row_count; i++) {
        struct ferry_policy_row *row = &size->rows[i];
        row->name = policies[i] ? policies[i]->name : FERRY_LAB_OURS;
        row->says = policies[i] ? policies[i]->says : "the shipped manager";
        shown.name = row->name;
        double start = ferry_seconds();
        ferry_lab_run(bench, policies[i], size->bytes, &row->outcome);
        row->seconds = ferry_seconds() - start;
        show_nothing(&shown);
        if (row->outcome.result != FERRY_LAB_OK)
            return complain_of(report, size, row);
    }
    print_size(report, size);
    // One size is advised on, the first: it takes ten runs more.
    for (size_t i = 0; i < size->row_count && size == report->sizes && !report->options->no_advice; i++) {
        if (policies[i])
            continue;
        shown.name = "looking";
        size->advised = ferry_lab_advise(bench, size->bytes, &size->rows[i].outcome, &size->advice);
        show_nothing(&shown);
        if (size->advised)
            print_advice(report, size);
    }
    return FERRY_EXIT_OK;
}

static int play_sizes(struct ferry_policy_report *report, struct ferry_lab_bench *bench)
{
    const struct ferry_policy_options *options = report->options;
    const char *list = options->sizes ? options->sizes : DEFAULT_SIZES;
    size_t most = 1, count = 0;
    while (ferry_lab_policies[most - 1])
        most++;
    if (options->policies && fields_of(options->policies) > most)
        most = fields_of(options->policies);
    const struct ferry_lab_policy **policies = calloc(most, sizeof(*policies));
    report->size_count = fields_of(list);
    report->sizes = calloc(report->size_count, sizeof *report->sizes);
    int status = policies && report->sizes ? read_policies(options->policies, policies, &count) : FERRY_EXIT_LIBRARY;
    for (size_t i = 0; i < report->size_count && status == FERRY_EXIT_OK; i++) {
        struct ferry_policy_size *size = &report->sizes[i];
        next_field(&list, size->said, sizeof size->said);
        status = read_size(size->said, &bench->traces, &size->bytes);
        size->rows = calloc(count, sizeof *size->rows);
        size->row_count = size->rows ? count : 0;
        if (status == FERRY_EXIT_OK && !size->rows)
            status = FERRY_EXIT_LIBRARY;
    }
    for (size_t i = 0; i < report->size_count && status == FERRY_EXIT_OK; i++)
        status = play_size(report, bench, policies, &report->sizes[i]);
    free(policies);
    return status;
}

// ---- The command
// --------------------------------------------------------------------------------------------------------

static int read_traces(const struct ferry_policy_options *options, struct ferry_trace *traces)
{
    struct ferry_trace_error error;
    for (unsigned i = 0; i < options->trace_count; i++) {
        if (ferry_trace_read(options->trace_files[i], &traces[i], &error) == 0)
            continue;
        if (error.line)
            ferry_complain("%s, line %" PRIu64 ": %s", options->trace_files[i], error.line, error.reason);
        else
            ferry_complain("%s: %s", options->trace_files[i], error.reason);
        return FERRY_EXIT_USAGE;
    }
    return FERRY_EXIT_OK;
}

static void introduce(struct ferry_policy_report *report)
{
    const struct ferry_lab_traces *traces = report->traces;
    char median[FERRY_SIZE_TEXT], largest[FERRY_SIZE_TEXT], living[FERRY_SIZE_TEXT], frames[28], objects[28];
    for (uint32_t i = 0; i < traces->count; i++) {
        size_t at = strlen(report->names);
        const char *slash = strrchr(report->options->trace_files[i], '/');
        snprintf(report->names + at, sizeof report->names - at, "%s%s", i ? ", " : "",
                 slash ? slash + 1 : report->options->trace_files[i]);
    }
    printf("%s: %s frames, %s allocations, %s at once; a median frame names %s (W), the largest %s (F)\n",
           report->names, ferry_count_text(traces->frames, frames), ferry_count_text(traces->object_count, objects),
           ferry_size_text(traces->most_living, living), ferry_size_text(traces->median_frame, median),
           ferry_size_text(traces->largest_frame, largest));
}

static void release(struct ferry_policy_report *report)
{
    for (size_t i = 0; i < report->size_count && report->sizes; i++) {
        for (size_t k = 0; k < report->sizes[i].row_count; k++)
            ferry_lab_outcome_release(&report->sizes[i].rows[k].outcome);
        free(report->sizes[i].rows);
    }
    free(report->sizes);
}

int ferry_policy(const struct ferry_policy_options *options)
{
    struct ferry_trace traces[FERRY_LAB_MOST_TRACES] = {0};
    struct ferry_lab_bench bench = {.seed = options->seed};
    struct ferry_policy_report report = {.options = options, .traces = &bench.traces};
    int status = read_programs(options, &bench);
    if (status == FERRY_EXIT_OK)
        status = read_traces(options, traces);
    if (status == FERRY_EXIT_OK && ferry_lab_prepare(&bench.traces, traces, options->trace_count) != 0) {
        ferry_complain("no memory for the traces");
        status = FERRY_EXIT_LIBRARY;
    }
    if (status == FERRY_EXIT_OK) {
        introduce(&report);
        status = play_sizes(&report, &bench);
    }
    if (status == FERRY_EXIT_OK)
        status = ferry_policy_files(&report);
    release(&report);
    ferry_lab_release(&bench.traces);
    for (unsigned i = 0; i < options->trace_count; i++)
        ferry_trace_free(&traces[i]);
    return status;
}
