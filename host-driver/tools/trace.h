// SPDX-License-Identifier: Apache-2.0
// A memory trace of a program: one event a line. The whole file is read and checked before anything is replayed, so
// that a bad line leaves nothing half done.
//
//     a ID BYTES buffer | a ID BYTES texture WxH FORMAT    create
//     w ID OFFSET BYTES    the CPU writes a range
//     l ID discard|write   lock for writing; discard = the old content is not needed
//     u ID                 unlock
//     d ID...              GPU work that reads these allocations
//     t ID                 GPU work that writes this allocation
//     f [WORD]             end of frame; WORD is what it is when it is no frame: token, batch
//     x ID                 destroy
#ifndef FERRY_TOOLS_TRACE_H
#define FERRY_TOOLS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FERRY_TRACE_UNIT 17

enum ferry_trace_op {
    FERRY_TRACE_CREATE,
    FERRY_TRACE_WRITE,
    FERRY_TRACE_LOCK,
    FERRY_TRACE_UNLOCK,
    FERRY_TRACE_DRAW,
    FERRY_TRACE_TARGET,
    FERRY_TRACE_FRAME,
    FERRY_TRACE_DESTROY,
};

struct ferry_trace_event {
    uint32_t line;
    uint8_t op;      // enum ferry_trace_op
    bool discard;    // LOCK
    uint32_t object; // Number in objects; DRAW: 0.
    uint64_t a, b;   // WRITE: offset, bytes. DRAW: first and count in draws.
};

// One creation; an id that is created again after its end is a new object.
struct ferry_trace_object {
    uint64_t id, bytes;
    uint32_t line, destroyed; // Lines; destroyed is 0 while it lives.
    uint32_t width, height;   // 0 for a buffer.
    uint32_t format;          // Offset of the format's name in text; 0 for a buffer.
    uint32_t made;            // How many were created before it.
    uint32_t in_draw;         // While reading: the line of the draw that named it last.
    bool target;              // The GPU writes it somewhere in the trace; of a stream: so far.
    bool locked;              // While reading.
};

struct ferry_trace {
    struct ferry_trace_event *events;
    struct ferry_trace_object *objects;
    uint32_t *draws; // Objects of the draws, each once in a draw, in the order of the line.
    char *text;
    size_t event_count, object_count, draw_count, text_bytes;
    size_t event_capacity, object_capacity, draw_capacity, text_capacity;
    uint64_t frames;
    char unit[FERRY_TRACE_UNIT]; // what a frame is, in one word; "" = it is not said: ferry_trace_unit()
};

struct ferry_trace_error {
    uint64_t line; // 0 when it is not about a line.
    char reason[240];
};

/// Read a trace, plain or gzip (told by content). Returns 0, or -1 with *error filled and *trace empty.
int ferry_trace_read(const char *path, struct ferry_trace *trace, struct ferry_trace_error *error);
/// The same, unless it has more events and allocations named by draws than `most`: then 1, and *trace is empty.
int ferry_trace_read_small(const char *path, size_t most, struct ferry_trace *trace, struct ferry_trace_error *error);
void ferry_trace_free(struct ferry_trace *trace);

/// A trace read event by event, in memory that depends on what lives at once and not on how long it is: what is
/// destroyed is forgotten, and its number goes to the next that is created. What is read before a bad line is no proof
/// that there is none. NULL with *error filled; *error outlives the stream and is where ferry_trace_next() says what is
/// wrong.
struct ferry_trace_stream;
struct ferry_trace_stream *ferry_trace_open(const char *path, struct ferry_trace_error *error);
/// The next event. It, what ferry_trace_of() has of its objects, and its draws (from a on: b of them) hold until the
/// next call. Returns 1; 0 at the end; -1 with *error filled. At either of them: no other call but close.
int ferry_trace_next(struct ferry_trace_stream *stream, const struct ferry_trace_event **event);
/// Objects by their numbers, draws, frames so far. No format is kept. Valid until the stream is closed.
const struct ferry_trace *ferry_trace_of(const struct ferry_trace_stream *stream);
void ferry_trace_close(struct ferry_trace_stream *stream);

/// Number of events up to and including the end of the given frame; all of them for 0 or more frames than there are.
size_t ferry_trace_events_of_frames(const struct ferry_trace *trace, uint64_t frames);
/// What a frame is, in one word.
const char *ferry_trace_unit(const struct ferry_trace *trace);
/// Whether it draws pictures: it has textures, and its frames are no tokens or batches.
bool ferry_trace_draws(const struct ferry_trace *trace);
/// "texture 64x64 GL_RGBA" or "buffer". Returns text.
const char *ferry_trace_object_text(const struct ferry_trace *trace, uint32_t object, char text[96]);

#endif
