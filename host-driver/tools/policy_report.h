// SPDX-License-Identifier: Apache-2.0
// What the laboratory was asked and what came of it.
#ifndef FERRY_TOOLS_POLICY_REPORT_H
#define FERRY_TOOLS_POLICY_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lab/advice.h"

struct ferry_policy_options {
    const char *trace_files[FERRY_LAB_MOST_TRACES];
    unsigned trace_count;
    const char *sizes;    // "0.8W,0.95W,64M"; NULL = one that is a little too small
    const char *policies; // "ours,lru"; NULL = all
    const char *weights, *reservations;
    const char *svg_file, *json_file, *csv_file;
    uint64_t seed, points; // points: of a sweep
    bool quiet, no_advice, sweep;
    bool page; // what each frame paged is drawn in it
};

struct ferry_policy_row {
    const char *name, *says;
    struct ferry_lab_outcome outcome; // OK, or TOO_SMALL in a sweep
};

// All of one size.
struct ferry_policy_size {
    uint64_t bytes;
    char said[24]; // as it was given
    struct ferry_policy_row *rows;
    size_t row_count;
    bool advised;
    struct ferry_lab_advice advice;
};

struct ferry_policy_report {
    const struct ferry_policy_options *options;
    const struct ferry_lab_traces *traces;
    const char *trace_names[FERRY_LAB_MOST_TRACES]; // without folders
    char names[400];                                // of all
    struct ferry_policy_size *sizes;
    size_t size_count;
    bool swept; // the sizes are a curve
};

/// What the reference brings in, 0 when it was not run: what `times` counts from.
static inline uint64_t ferry_policy_reference(const struct ferry_policy_size *size)
{
    for (size_t i = 0; i < size->row_count; i++)
        if (strcmp(size->rows[i].name, FERRY_LAB_REFERENCE) == 0 && size->rows[i].outcome.result == FERRY_LAB_OK)
            return size->rows[i].outcome.count.in;
    return 0;
}

/// Bytes in and out.
static inline uint64_t ferry_policy_paged(const struct ferry_policy_row *row)
{
    return row->outcome.count.in + row->outcome.count.out;
}

#define FERRY_POLICY_COLOURS 8u
/// The colour of the row with this number, in every picture.
const char *ferry_policy_colour(size_t row);

#endif
