// SPDX-License-Identifier: Apache-2.0
#include "tools/policy_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/json.h"
#include "tools/output.h"
#include "tools/policy_svg.h"
#include "tools/sweep_svg.h"
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
    X(bytes_after_warm_up, bytes_after_warm_up)                                                                        \
    X(paged_after_warm_up, paged_after_warm_up)                                                                        \
    X(worst_frame_bytes, worst_frame)                                                                                  \
    X(percentile_99_frame_bytes, percentile_frame)

static void json_run(FILE *file, const struct ferry_policy_size *size, const struct ferry_policy_row *row,
                     uint32_t programs)
{
    uint64_t reference = ferry_policy_reference(size);
    fprintf(file, "    {\"policy\": \"%s\", \"video_memory_bytes\": %" PRIu64, row->name, size->bytes);
    if (row->outcome.result != FERRY_LAB_OK) {
        fputs(", \"fits\": false}", file);
        return;
    }
    fputs(", \"fits\": true", file);
#define FIELD(name, field) fprintf(file, ", \"" #name "\": %" PRIu64, row->outcome.field);
    FIELDS(FIELD)
#undef FIELD
    fputs(", \"programs_bytes_in\": [", file);
    for (uint32_t i = 0; i < programs; i++)
        fprintf(file, "%s%" PRIu64, i ? ", " : "", row->outcome.program_in[i]);
    fputs("]", file);
    if (reference)
        fprintf(file, ", \"times_reference\": %.4f", (double)row->outcome.count.in / (double)reference);
    fprintf(file, ", \"seconds\": %.3f}", row->outcome.seconds);
}

static const char *word(bool yes)
{
    return yes ? "true" : "false";
}

// What the sentence names: null where no allocation makes a difference.
static void json_costliest(FILE *file, const struct ferry_lab_left_out *left_out)
{
    const struct ferry_lab_creation *object = &left_out->creation;
    char what[96];
    if (left_out->saves == 0) {
        fputs(", \"costliest\": null", file);
        return;
    }
    fprintf(file,
            ", \"costliest\": {\"program\": %" PRIu32 ", \"allocation\": %" PRIu64 ", \"line\": %" PRIu32
            ", \"bytes\": %" PRIu64 ", \"what\": ",
            left_out->program + 1, object->id, object->line, object->bytes);
    ferry_json_text(file, ferry_trace_kind_text(object->width, object->height, object->format, what));
    fputs("}", file);
}

static void json_advice(FILE *file, const struct ferry_lab_advice *advice, uint32_t programs)
{
    fprintf(file,
            "    {\"video_memory_bytes\": %" PRIu64 ", \"pages\": %s, \"enough_found\": %s, \"enough_bytes\": %" PRIu64
            ", \"enough_within_bytes\": %" PRIu64 ", \"enough_is_least\": %s, \"least_bytes\": %" PRIu64
            ", \"pages_again_bytes\": %" PRIu64 ", \"steady_bytes\": %" PRIu64 ", \"all_above_played\": %s",
            advice->bytes, word(advice->pages), word(advice->found), advice->enough, advice->within,
            word(advice->least_proven), advice->least, advice->again, advice->steady, word(advice->above_proven));
    fprintf(file,
            ", \"sizes_played\": %" PRIu64 ", \"knee_bytes\": %" PRIu64 ", \"knee_of_all_sizes\": %s"
            ", \"less_bytes\": %" PRIu64 ", \"less_fits\": %s, \"left_out\": %" PRIu64
            ", \"may_be_left_out\": %" PRIu64,
            advice->played, advice->knee, word(advice->knee_proven), advice->less, word(advice->less_fits),
            advice->left_out.tried, advice->left_out.candidates);
    const struct {
        const char *name;
        uint64_t amount;
    } amounts[] = {{"bytes", advice->moved},
                   {"paged", advice->paged},
                   {"left", advice->left},
                   {"knee_saves", advice->knee_saves},
                   {"less_costs", advice->less_costs},
                   {"costliest_saves", advice->left_out.saves}};
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++)
        fprintf(file, ", \"%s_%s\": %" PRIu64, amounts[i].name, programs > 1 ? "in_all" : "per_frame",
                amounts[i].amount);
    json_costliest(file, &advice->left_out);
    fputs(", \"programs_bytes_in_alone\": [", file);
    for (uint32_t i = 0; i < programs && programs > 1; i++)
        fprintf(file, "%s%" PRIu64, i ? ", " : "", advice->program_alone[i]);
    fputs("]}", file);
}

static void json(FILE *file, const struct ferry_policy_report *report)
{
    const struct ferry_lab_traces *traces = report->traces;
    const char *between = "";
    fputs("{\n  \"traces\": ", file);
    ferry_json_text(file, report->names);
    fprintf(file,
            ",\n  \"frames\": %" PRIu64 ",\n  \"allocations\": %" PRIu64 ",\n  \"jobs\": %" PRIu64
            ",\n  \"median_frame_bytes\": %" PRIu64 ",\n  \"largest_frame_bytes\": %" PRIu64
            ",\n  \"largest_job_bytes\": %" PRIu64 ",\n  \"most_living_bytes\": %" PRIu64 ",\n  \"seed\": %" PRIu64
            ",\n  \"runs\": [\n",
            traces->frames, traces->made, traces->jobs, traces->median_frame, traces->largest_frame,
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
        if (!report->sizes[i].advised || report->sizes[i].advice.idle || report->sizes[i].advice.too_short)
            continue;
        fputs(between, file);
        json_advice(file, &report->sizes[i].advice, traces->count);
        between = ",\n";
    }
    fputs("\n  ]\n}\n", file);
}

static void csv(FILE *file, const struct ferry_policy_report *report)
{
    fputs("video_memory_bytes,policy,fits", file);
#define FIELD(name, field) fputs("," #name, file);
    FIELDS(FIELD)
#undef FIELD
    fputs(",times_reference\n", file);
    for (size_t i = 0; i < report->size_count; i++) {
        uint64_t reference = ferry_policy_reference(&report->sizes[i]);
        for (size_t k = 0; k < report->sizes[i].row_count; k++) {
            const struct ferry_policy_row *row = &report->sizes[i].rows[k];
            bool fits = row->outcome.result == FERRY_LAB_OK;
            fprintf(file, "%" PRIu64 ",%s,%s", report->sizes[i].bytes, row->name, fits ? "yes" : "no");
#define FIELD(name, field) fits ? fprintf(file, ",%" PRIu64, row->outcome.field) : fputs(",", file);
            FIELDS(FIELD)
#undef FIELD
            if (reference && fits)
                fprintf(file, ",%.4f\n", (double)row->outcome.count.in / (double)reference);
            else
                fputs(",\n", file);
        }
    }
}

static void svg(FILE *file, const struct ferry_policy_report *report)
{
    if (report->swept)
        ferry_sweep_svg(file, report);
    else
        ferry_policy_svg(file, report);
}

static int write_one(const char *path, void (*write)(FILE *file, const struct ferry_policy_report *report),
                     const struct ferry_policy_report *report)
{
    struct ferry_output output;
    if (!path)
        return FERRY_EXIT_OK;
    int status = ferry_output_open(&output, path);
    if (status == 0) {
        write(output.file, report);
        status = ferry_output_close(&output, true);
    }
    if (status == 0)
        return FERRY_EXIT_OK;
    ferry_complain("cannot write %s: %s", path, strerror(errno));
    return FERRY_EXIT_LIBRARY;
}

int ferry_policy_files_check(const struct ferry_policy_options *options)
{
    const char *const files[] = {options->svg_file, options->json_file, options->csv_file};
    return ferry_outputs_check(files, sizeof files / sizeof files[0], options->trace_files, options->trace_count);
}

int ferry_policy_files(const struct ferry_policy_report *report)
{
    int status = write_one(report->options->json_file, json, report);
    if (status == FERRY_EXIT_OK)
        status = write_one(report->options->csv_file, csv, report);
    if (status == FERRY_EXIT_OK)
        status = write_one(report->options->svg_file, svg, report);
    return status;
}
