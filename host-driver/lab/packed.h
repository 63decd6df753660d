// SPDX-License-Identifier: Apache-2.0
// A trace as the laboratory keeps it: read and checked once, then a few bytes an event, in memory while they are few
// and else in a file without a name. However it came (a file, a pipe, gzip) it can be gone through as often as is
// wanted.
#ifndef FERRY_LAB_PACKED_H
#define FERRY_LAB_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/trace.h"

#define FERRY_LAB_FORMAT 49 // bytes that are kept of a texture's format, with the 0

struct ferry_lab_packed {
    uint8_t *bytes; // all of them, or of a file those that are not written yet
    size_t used, capacity;
    int file; // -1: there is none
    uint64_t in_file;
    uint64_t events;
    uint32_t made, living;       // allocations ever, and at once: their numbers are given again
    char unit[FERRY_TRACE_UNIT]; // what a frame is
    bool draws;                  // pictures
};

/// Who is told of it, and what went wrong.
struct ferry_lab_reading {
    /// Now and then; share: of the file, below 0 when nobody knows how long it is. May be NULL.
    void (*progress)(void *context, uint64_t lines, double share);
    /// Before memory for the future is taken: 4 bytes for each of so many uses. May be NULL.
    void (*takes)(void *context, uint64_t uses, uint64_t bytes);
    /// A trace takes much of the disk: so many bytes in all, as it looks (0: nobody knows), in this folder, in which so
    /// many are free. May be NULL.
    void (*spills)(void *context, uint32_t program, uint64_t bytes, const char *folder, uint64_t free);
    void *context;
    size_t held;                    // bytes that a trace may take in memory; 0 = FERRY_LAB_HELD
    struct ferry_trace_error error; // what is wrong with a trace or with where it is kept; no reason: no memory
    uint32_t program;               // whose
    bool of_folder;                 // not the trace is wrong: no file can be made or written
};

#define FERRY_LAB_HELD ((size_t)4 << 20)

/// Pack the trace of reading->program, which has not begun: all 0. Returns 0, or -1 with reading->error. Free it either
/// way.
int ferry_lab_pack(struct ferry_lab_packed *packed, const char *path, struct ferry_lab_reading *reading);
/// The same of the first events of a trace that is held.
int ferry_lab_pack_held(struct ferry_lab_packed *packed, const struct ferry_trace *trace, size_t events,
                        struct ferry_lab_reading *reading);
void ferry_lab_packed_free(struct ferry_lab_packed *packed);

/// What is known of an allocation as it is created.
struct ferry_lab_creation {
    uint64_t id, bytes;
    uint32_t line, width, height; // no width: a buffer
    bool target;                  // the GPU writes it somewhere in the trace
    char format[FERRY_LAB_FORMAT];
};

/// One way through it, event by event. Several may go through one at a time.
struct ferry_lab_unpacker {
    const struct ferry_lab_packed *packed;
    const uint8_t *at, *end;
    uint64_t offset; // in the file, behind what is here
    uint8_t *block;
    uint64_t given; // events
    uint32_t made;
    int error; // errno
    struct ferry_trace_event event;
    struct ferry_lab_creation creation; // of the last CREATE, whose number in order is made - 1
    uint32_t *named;                    // of the last DRAW: event.b of them
    size_t capacity;
};

/// False without memory. End it either way.
bool ferry_lab_unpack_begin(struct ferry_lab_unpacker *unpacker, const struct ferry_lab_packed *packed);
void ferry_lab_unpack_end(struct ferry_lab_unpacker *unpacker);
/// The next event, until the next call: 1, 0 at the end, -1 with ->error. A write has no range, and a draw begins at 0.
int ferry_lab_unpack(struct ferry_lab_unpacker *unpacker, const struct ferry_trace_event **event);

#endif
