// SPDX-License-Identifier: Apache-2.0
#include "tools/policy_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/json.h"
#include "tools/policy_svg.h"
#include "tools/tool.h"

// What is said of each run, in JSON and in CSV.
#define FIELDS(X)                                                                                                      \
    X(bytes_in, count.in)                                                                                              \
    X(bytes_uploaded, count.uploaded)                                                                                  \
    X(bytes_out, count.out)                                                                                            \
    X(bytes_filled, count.filled)                                                                                      \
    X(bytes_moved, count.moved)                                                                                        \
    X(evictions, count.evictions)                                                                                      \
    X(evictions_after_warm_up, evictions_after_warm_up)                                                                \
    X(worst_frame_bytes, worst_frame)                                                                                  \
    X(percentile_99_frame_bytes, percentile_frame)

static int finish(FILE *file)
{
    bool bad = ferror(file) != 0;
    int why = errno;
    if (fclose(file) != 0) {
        bad = true;
        why = errno;
    }
    errno = why;
    return bad ? -1 : 0;
}

static void json_run(FILE *file, const struct ferry_policy_size *size, const struct ferry_policy_row *row,
                     uint32_t programs)
{
    uint64_t reference = ferry_policy_reference(size);
    fprintf(file, "    {\"policy\": \"%s\", \"video_memory_bytes\": %" PRIu64, row->name, size->bytes);
#define FIELD(name, field) fprintf(file, ", \"" #name "\": %" PRIu64, row->outcome.field);
    FIELDS(FIELD)
#undef FIELD
    fputs(", \"programs_bytes_in\": [", file);
    for (uint32_t i = 0; i < programs; i++)
        fprintf(file, "%s%" PRIu64, i ? ", " : "", row->outcome.program_in[i]);
    fputs("]", file);
    if (reference)
        fprintf(file, ", \"times_reference\": %.4f", (double)row->outcome.count.in / (double)reference);
    fprintf(file, ", \"seconds\": %.3f}", row->seconds);
}

static void json_advice(FILE *file, const struct ferry_lab_advice *advice)
{
    fprintf(file,
            "    {\"video_memory_bytes\": %" PRIu64 ", \"enough_bytes\": %" PRIu64 ", \"bytes_per_frame\": %" PRIu64
            ", \"knee_bytes\": %" PRIu64 ", \"knee_saves_per_frame\": %" PRIu64 ", \"less_bytes\": %" PRIu64
            ", \"less_fits\": %s, \"less_costs_per_frame\": %" PRIu64 "}",
            advice->bytes, advice->enough, advice->moved, advice->knee, advice->knee_saves, advice->less,
            advice->less_fits ? "true" : "false", advice->less_costs);
}

static int json(const char *path, const struct ferry_policy_report *report)
{
    const struct ferry_lab_traces *traces = report->traces;
    const char *between = "";
    FILE *file = fopen(path, "w");
    if (!file)
        return -1;
    fputs("{\n  \"traces\": ", file);
    ferry_json_text(file, report->names);
    fprintf(file,
            ",\n  \"frames\": %" PRIu64 ",\n  \"allocations\": %zu,\n  \"jobs\": %" PRIu64
            ",\n  \"median_frame_bytes\": %" PRIu64 ",\n  \"largest_frame_bytes\": %" PRIu64
            ",\n  \"largest_job_bytes\": %" PRIu64 ",\n  \"most_living_bytes\": %" PRIu64 ",\n  \"seed\": %" PRIu64
            ",\n  \"runs\": [\n",
            traces->frames, traces->object_count, traces->jobs, traces->median_frame, traces->largest_frame,
            traces->largest_job, traces->most_living, report->options->seed);
    for (size_t i = 0; i < report->size_count; i++) {
        for (size_t k = 0; k < report->sizes[i].row_count; k++) {
            fputs(between, file);
            json_run(file, &report->sizes[i], &report->sizes[i].rows[k], traces->count);
            between = ",\n";
        }
    }
    fputs("\n  ],\n  \"advice\": [\n", file);
    between = "";
    for (size_t i = 0; i < report->size_count; i++) {
        if (!report->sizes[i].advised)
            continue;
        fputs(between, file);
        json_advice(file, &report->sizes[i].advice);
        between = ",\n";
    }
    fputs("\n  ]\n}\n", file);
    return finish(file);
}

static int csv(const char *path, const struct ferry_policy_report *report)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return -1;
    fputs("video_memory_bytes,policy", file);
#define FIELD(name, field) fputs("," #name, file);
    FIELDS(FIELD)
#undef FIELD
    fputs(",times_reference\n", file);
    for (size_t i = 0; i < report->size_count; i++) {
        uint64_t reference = ferry_policy_reference(&report->sizes[i]);
        for (size_t k = 0; k < report->sizes[i].row_count; k++) {
            const struct ferry_policy_row *row = &report->sizes[i].rows[k];
            fprintf(file, "%" PRIu64 ",%s", report->sizes[i].bytes, row->name);
#define FIELD(name, field) fprintf(file, ",%" PRIu64, row->outcome.field);
            FIELDS(FIELD)
#undef FIELD
            if (reference)
                fprintf(file, ",%.4f\n", (double)row->outcome.count.in / (double)reference);
            else
                fputs(",\n", file);
        }
    }
    return finish(file);
}

static int write_one(const char *path, int (*write)(const char *path, const struct ferry_policy_report *report),
                     const struct ferry_policy_report *report)
{
    if (!path || write(path, report) == 0)
        return FERRY_EXIT_OK;
    ferry_complain("cannot write %s: %s", path, strerror(errno));
    return FERRY_EXIT_LIBRARY;
}

int ferry_policy_files(const struct ferry_policy_report *report)
{
    int status = write_one(report->options->json_file, json, report);
    if (status == FERRY_EXIT_OK)
        status = write_one(report->options->csv_file, csv, report);
    if (status == FERRY_EXIT_OK)
        status = write_one(report->options->svg_file, ferry_policy_svg, report);
    return status;
}
