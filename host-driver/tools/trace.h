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

#include "tools/trace_events.h"

/// Read a trace, plain or gzip (told by content). Returns 0, or -1 with *error filled and *trace empty.
int ferry_trace_read(const char *path, struct ferry_trace *trace, struct ferry_trace_error *error);
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
/// Objects by their numbers, draws, frames so far; of formats that of the last event alone. Valid until the stream is
/// closed.
const struct ferry_trace *ferry_trace_of(const struct ferry_trace_stream *stream);
/// How much of the file is read, up to 1; below 0 when nobody knows how long it is, as of a pipe.
double ferry_trace_share(const struct ferry_trace_stream *stream);
void ferry_trace_close(struct ferry_trace_stream *stream);

/// Number of events up to and including the end of the given frame; all of them for 0 or more frames than there are.
size_t ferry_trace_events_of_frames(const struct ferry_trace *trace, uint64_t frames);
/// Whether it draws pictures: it has textures, and its frames are no tokens or batches.
bool ferry_trace_draws(const struct ferry_trace *trace);
/// "texture 64x64 GL_RGBA", or without a width "buffer". Returns text.
const char *ferry_trace_kind_text(uint32_t width, uint32_t height, const char *format, char text[96]);
/// The same of an object.
const char *ferry_trace_object_text(const struct ferry_trace *trace, uint32_t object, char text[96]);

#endif
