// SPDX-License-Identifier: Apache-2.0
#include "tools/policy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/advice_text.h"
#include "tools/policy_files.h"
#include "tools/policy_session.h"
#include "tools/tool.h"

#define LEAST_WIDTH 10

// Of a column: somebody's own policy may have a long name.
static int width_of(const char *name)
{
    int length = (int)strlen(name);
    return length > LEAST_WIDTH ? length : LEAST_WIDTH;
}

static int widest(const struct ferry_policy_size *size)
{
    int width = LEAST_WIDTH;
    for (size_t i = 0; i < size->row_count; i++)
        if (width_of(size->rows[i].name) > width)
            width = width_of(size->rows[i].name);
    return width;
}

static void print_size(const struct ferry_policy_report *report, const struct ferry_policy_size *size)
{
    char title[64], in[FERRY_SIZE_TEXT], out[FERRY_SIZE_TEXT], moved[FERRY_SIZE_TEXT], uploads[FERRY_SIZE_TEXT];
    char worst[FERRY_SIZE_TEXT], most[FERRY_SIZE_TEXT], heads[2][FERRY_TRACE_UNIT + 8];
    uint64_t reference = ferry_policy_reference(size);
    const char *unit = report->traces->unit;
    int width = widest(size);
    snprintf(heads[0], sizeof heads[0], "worst %s", unit);
    snprintf(heads[1], sizeof heads[1], "99 %% %ss", unit);
    printf("\n%s of video memory\n  %-*s %10s %10s %10s %10s %7s %12s %12s\n", ferry_policy_size_said(size, title),
           width, "policy", "in", "out", "moved", "uploads", "times", heads[0], heads[1]);
    for (size_t i = 0; i < size->row_count; i++) {
        const struct ferry_lab_outcome *outcome = &size->rows[i].outcome;
        char times[16] = "-";
        if (reference)
            snprintf(times, sizeof times, "%.2f", (double)outcome->count.in / (double)reference);
        printf("  %-*s %10s %10s %10s %10s %7s %12s %12s\n", width, size->rows[i].name,
               ferry_size_text(outcome->count.in, in), ferry_size_text(outcome->count.out, out),
               strcmp(size->rows[i].name, FERRY_LAB_OURS) == 0 ? ferry_size_text(outcome->count.moved, moved) : "-",
               ferry_size_text(outcome->count.uploaded, uploads), times, ferry_size_text(outcome->worst_frame, worst),
               ferry_size_text(outcome->percentile_frame, most));
        for (uint32_t k = 0; k < report->traces->count && report->traces->count > 1; k++)
            printf("  %*s %10s of program %" PRIu32 "\n", width, "", ferry_size_text(outcome->program_in[k], in),
                   k + 1);
    }
}

// A line a size, a column a policy.
static void print_curve(const struct ferry_policy_report *report)
{
    char text[FERRY_SIZE_TEXT];
    printf("\nbytes in and out, by size of video memory\n  %10s", "");
    for (size_t k = 0; k < report->sizes[0].row_count; k++)
        printf(" %*s", LEAST_WIDTH, report->sizes[0].rows[k].name);
    puts("");
    for (size_t i = 0; i < report->size_count; i++) {
        printf("  %10s", ferry_size_text(report->sizes[i].bytes, text));
        for (size_t k = 0; k < report->sizes[i].row_count; k++) {
            const struct ferry_policy_row *row = &report->sizes[i].rows[k];
            printf(" %*s", width_of(row->name),
                   row->outcome.result == FERRY_LAB_OK ? ferry_size_text(ferry_policy_paged(row), text) : "too small");
        }
        puts("");
    }
}

static void introduce(const struct ferry_policy_report *report)
{
    const struct ferry_lab_traces *traces = report->traces;
    const char *unit = traces->unit;
    char median[FERRY_SIZE_TEXT], largest[FERRY_SIZE_TEXT], living[FERRY_SIZE_TEXT], frames[28], objects[28];
    ferry_print_line(stdout, "%s: %s %ss, %s allocations, %s at once; a median %s names %s (W), the largest %s (F)",
                     report->names, ferry_count_text(traces->frames, frames), unit,
                     ferry_count_text(traces->made, objects), ferry_size_text(traces->most_living, living), unit,
                     ferry_size_text(traces->median_frame, median), ferry_size_text(traces->largest_frame, largest));
}

static bool plays_ours(const struct ferry_policy_session *session)
{
    for (size_t i = 0; i < session->policy_count; i++)
        if (!session->policies[i])
            return true;
    return false;
}

static int advise(struct ferry_policy_session *session, struct ferry_policy_size *size)
{
    if (session->report.options->no_advice)
        return FERRY_EXIT_OK;
    int status = ferry_policy_advise(session, size);
    const char *before = session->report.size_count > 1 ? "\n  " : "  ";
    if (!plays_ours(session))
        printf("%sWhat to do about it is told of ours, the shipped manager, which --policy leaves out.\n", before);
    if (size->advised) {
        fputs(before, stdout);
        ferry_advice_print(stdout, &size->advice, session->report.traces, session->report.trace_names);
    }
    return status;
}

static int play_sizes(struct ferry_policy_session *session)
{
    struct ferry_policy_report *report = &session->report;
    int status = ferry_policy_sizes(session);
    if (status == FERRY_EXIT_OK)
        status = ferry_policy_play(session, print_size);
    // One size is advised on, the first: it takes many runs more.
    return status == FERRY_EXIT_OK ? advise(session, &report->sizes[0]) : status;
}

// The size that is advised on: where the manager plays, and closest to a little too small.
static struct ferry_policy_size *closest(struct ferry_policy_session *session)
{
    struct ferry_policy_report *report = &session->report;
    uint64_t wanted = report->traces->median_frame / 20 * 19, best = UINT64_MAX;
    struct ferry_policy_size *found = NULL;
    for (size_t i = 0; i < report->size_count; i++) {
        uint64_t bytes = report->sizes[i].bytes, away = bytes > wanted ? bytes - wanted : wanted - bytes;
        for (size_t k = 0; k < session->policy_count; k++) {
            if (session->policies[k] || report->sizes[i].rows[k].outcome.result != FERRY_LAB_OK || away >= best)
                continue;
            best = away;
            found = &report->sizes[i];
        }
    }
    return found;
}

static int by_bytes(const void *left, const void *right)
{
    const struct ferry_policy_size *a = left, *b = right;
    return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

// A curve goes from left to right, and has one point a size.
static void sort_sizes(struct ferry_policy_report *report)
{
    size_t kept = 0;
    if (report->size_count == 0)
        return;
    qsort(report->sizes, report->size_count, sizeof *report->sizes, by_bytes);
    for (size_t i = 1; i < report->size_count; i++)
        if (report->sizes[i].bytes != report->sizes[kept].bytes)
            report->sizes[++kept] = report->sizes[i];
    report->size_count = kept + 1;
}

static int sweep(struct ferry_policy_session *session)
{
    struct ferry_policy_report *report = &session->report;
    int status = report->options->sizes ? ferry_policy_sizes(session)
                                        : ferry_policy_sweep_sizes(session, report->options->points);
    report->swept = true;
    if (status == FERRY_EXIT_OK)
        sort_sizes(report);
    if (status == FERRY_EXIT_OK)
        status = ferry_policy_play(session, NULL);
    if (status != FERRY_EXIT_OK)
        return status;
    print_curve(report);
    struct ferry_policy_size *size = closest(session);
    if (!size && !plays_ours(session))
        size = &report->sizes[0];
    return size ? advise(session, size) : FERRY_EXIT_OK;
}

int ferry_policy(const struct ferry_policy_options *options)
{
    struct ferry_policy_session session;
    int status = ferry_policy_files_check(options);
    if (status != FERRY_EXIT_OK)
        return status;
    status = ferry_policy_begin(&session, options);
    if (status == FERRY_EXIT_OK) {
        introduce(&session.report);
        status = options->sweep ? sweep(&session) : play_sizes(&session);
    }
    if (status == FERRY_EXIT_OK)
        status = ferry_policy_files(&session.report);
    ferry_policy_end(&session);
    return status;
}
