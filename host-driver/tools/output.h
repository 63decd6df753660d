// SPDX-License-Identifier: Apache-2.0
// Files that a command writes. What cannot be written is told before hours of runs, not after them; what is read, or
// written for another option, is not written over; and what stood there stays until the new file is whole.
#ifndef FERRY_TOOLS_OUTPUT_H
#define FERRY_TOOLS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/// Refuse an output that is one of the inputs, or another output, under whatever name, or where the standard output
/// goes, or that cannot be written. Nothing is created yet. Any name may be NULL. Complains; returns an exit code.
int ferry_outputs_check(const char *const *outputs, size_t output_count, const char *const *inputs, size_t input_count);

struct ferry_output {
    FILE *file;
    // What becomes of it: part, a file beside its place (NULL: one without a name), gets the name path or, `into`, is
    // copied into the file there. Both NULL where bytes go as they come.
    char *part, *path;
    bool into;
};

/// Returns 0, or -1 (errno tells why).
int ferry_output_open(struct ferry_output *output, const char *path);
/// Put it in its place if it is good and could be written whole. Returns 0, or -1 (errno tells why) when it was not.
int ferry_output_close(struct ferry_output *output, bool good);

/// Files that are being written go; what stood in their places stays. For a signal's action: it calls nothing else.
void ferry_outputs_abandon(void);

#endif
