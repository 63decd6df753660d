// SPDX-License-Identifier: Apache-2.0
// `ferry trace import`: the text of `apitrace dump` becomes a memory trace (tools/trace.h). Streams: its memory is that
// of what lives in the program.
#ifndef FERRY_TOOLS_IMPORT_IMPORT_H
#define FERRY_TOOLS_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <zlib.h>

#include "tools/import/gl_memory.h"

#define FERRY_IMPORT_MOST_NAMES 1024

/// A call that nothing is known of.
struct ferry_import_unknown {
    char name[56];
    uint64_t count, line;
};

struct ferry_import {
    /// Set before: both open; `progress`, now and then, may be NULL.
    gzFile in, out;
    void (*progress)(const struct ferry_import *import);

    struct ferry_import_report report;
    struct ferry_import_unknown unknown[FERRY_IMPORT_MOST_NAMES];
    unsigned unknown_count;
    uint64_t unknown_calls;     // of all names, also beyond those that are listed
    uint64_t lines, text_bytes; // read so far
    char problem[240];
    uint64_t problem_line; // 0 when it is about a file
};

/// 0, or -1 with `problem`; what was written then is of no use.
int ferry_import_run(struct ferry_import *import);

struct ferry_import_options {
    const char *file, *out; // "-": standard input; NULL or "-": standard output
    bool quiet;
};
/// The command; returns an exit code.
int ferry_import(const struct ferry_import_options *options);

#endif
