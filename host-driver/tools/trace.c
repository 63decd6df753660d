// SPDX-License-Identifier: Apache-2.0
#include "tools/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "tools/tool.h"
#include "tools/trace_lines.h"

#define BLOCK_BYTES  65536u
#define LONGEST_LINE (64u << 20)

struct ferry_trace_stream {
    struct ferry_trace_reader reader;
    struct ferry_trace own; // of one that forgets: the event under way
    gzFile file;
    char *buffer;
    size_t capacity, used, at; // what is read, and where the next line begins
    uint64_t bytes;            // of the file, 0 when nobody knows
    uint64_t events;
    uint32_t destroyed; // by the event given last
    bool was_destroyed;
};

static int file_error(struct ferry_trace_reader *reader, gzFile file)
{
    int code = Z_OK;
    const char *text = gzerror(file, &code);
    reader->line = 0;
    if (code == Z_ERRNO)
        return ferry_trace_refuse(reader, "cannot be read: %s", strerror(errno));
    if (code == Z_BUF_ERROR)
        return ferry_trace_refuse(reader, "the gzip file is cut off");
    return ferry_trace_refuse(reader, "the gzip file is damaged: %s", text);
}

static int open_file(struct ferry_trace_stream *stream, const char *path)
{
    struct ferry_trace *trace = stream->reader.trace;
    struct stat about;
    errno = 0;
    stream->file = gzopen(path, "rb");
    if (!stream->file)
        return ferry_trace_refuse(&stream->reader, "cannot be opened: %s", errno ? strerror(errno) : "no memory left");
    gzbuffer(stream->file, BLOCK_BYTES);
    stream->bytes = stat(path, &about) == 0 && S_ISREG(about.st_mode) ? (uint64_t)about.st_size : 0;
    // Offset 0 of the text stands for "no format".
    if (ferry_reserve(&trace->text, &trace->text_capacity, 1, 1) != 0)
        return ferry_trace_no_memory(&stream->reader);
    trace->text[trace->text_bytes++] = 0;
    return 0;
}

// What of a line is there goes to the front, and more is read behind it: 1, or 0 at the end of the file.
static int read_more(struct ferry_trace_stream *stream)
{
    stream->used -= stream->at;
    if (stream->used)
        memmove(stream->buffer, stream->buffer + stream->at, stream->used);
    stream->at = 0;
    if (stream->used > LONGEST_LINE) {
        stream->reader.line++;
        return ferry_trace_refuse(&stream->reader, "a line of more than %u MiB", LONGEST_LINE >> 20);
    }
    if (ferry_reserve(&stream->buffer, &stream->capacity, stream->used + BLOCK_BYTES + 1, 1) != 0)
        return ferry_trace_no_memory(&stream->reader);
    int got = gzread(stream->file, stream->buffer + stream->used, BLOCK_BYTES);
    int code = Z_OK;
    gzerror(stream->file, &code);
    if (got < 0 || (got == 0 && code != Z_OK && code != Z_STREAM_END))
        return file_error(&stream->reader, stream->file);
    stream->used += (size_t)got;
    return got > 0;
}

// Read the next line: 1, or 0 behind the last.
static int read_line(struct ferry_trace_stream *stream)
{
    char *line, *newline;
    while (line = stream->buffer + stream->at,
           !(newline = stream->used > stream->at ? memchr(line, '\n', stream->used - stream->at) : NULL)) {
        int more = read_more(stream);
        if (more < 0)
            return -1;
        if (more == 0 && stream->used == 0)
            return 0;
        if (more == 0) {
            newline = stream->buffer + stream->used++; // there is room for one byte more
            line = stream->buffer;
            break;
        }
    }
    *newline = 0;
    stream->at = (size_t)(newline + 1 - stream->buffer);
    return ferry_trace_read_line(&stream->reader, line, (size_t)(newline - line)) == 0 ? 1 : -1;
}

static int close_file(struct ferry_trace_stream *stream, int status)
{
    gzFile file = stream->file;
    stream->file = NULL;
    if (file && gzclose_r(file) == Z_BUF_ERROR && status == 0) {
        stream->reader.line = 0;
        status = ferry_trace_refuse(&stream->reader, "the gzip file is cut off");
    }
    if (status == 0 && stream->events == 0) {
        stream->reader.line = 0;
        status = ferry_trace_refuse(&stream->reader, "holds no event");
    }
    return status;
}

static void release(struct ferry_trace_stream *stream)
{
    ferry_id_map_free(&stream->reader.newest);
    free(stream->reader.numbers);
    free(stream->buffer);
}

int ferry_trace_read(const char *path, struct ferry_trace *trace, struct ferry_trace_error *error)
{
    struct ferry_trace_stream stream = {.reader = {.trace = trace, .error = error}};
    memset(trace, 0, sizeof *trace);
    memset(error, 0, sizeof *error);
    int status = open_file(&stream, path);
    while (status == 0 && (status = read_line(&stream)) > 0)
        status = 0;
    stream.events = trace->event_count;
    status = close_file(&stream, status);
    release(&stream);
    if (status != 0)
        ferry_trace_free(trace);
    return status;
}

void ferry_trace_free(struct ferry_trace *trace)
{
    free(trace->events);
    free(trace->objects);
    free(trace->draws);
    free(trace->text);
    memset(trace, 0, sizeof *trace);
}

struct ferry_trace_stream *ferry_trace_open(const char *path, struct ferry_trace_error *error)
{
    struct ferry_trace_stream *stream = calloc(1, sizeof *stream);
    memset(error, 0, sizeof *error);
    if (!stream) {
        snprintf(error->reason, sizeof error->reason, "no memory left for the trace");
        return NULL;
    }
    stream->reader = (struct ferry_trace_reader){.trace = &stream->own, .error = error, .forgets = true};
    if (open_file(stream, path) == 0)
        return stream;
    ferry_trace_close(stream);
    return NULL;
}

int ferry_trace_next(struct ferry_trace_stream *stream, const struct ferry_trace_event **event)
{
    int status = 1;
    if (stream->was_destroyed && ferry_trace_forget(&stream->reader, stream->destroyed) != 0)
        return -1;
    stream->was_destroyed = false;
    stream->own.event_count = stream->own.draw_count = 0;
    stream->own.text_bytes = 1;
    while (stream->own.event_count == 0 && (status = read_line(stream)) > 0)
        continue;
    if (status <= 0)
        return status < 0 ? -1 : close_file(stream, 0);
    stream->events++;
    *event = stream->own.events;
    stream->was_destroyed = (*event)->op == FERRY_TRACE_DESTROY;
    stream->destroyed = (*event)->object;
    return 1;
}

const struct ferry_trace *ferry_trace_of(const struct ferry_trace_stream *stream)
{
    return &stream->own;
}

double ferry_trace_share(const struct ferry_trace_stream *stream)
{
    z_off_t at = stream->bytes && stream->file ? gzoffset(stream->file) : -1;
    return at >= 0 ? (double)at / (double)stream->bytes : -1;
}

void ferry_trace_close(struct ferry_trace_stream *stream)
{
    if (!stream)
        return;
    if (stream->file)
        gzclose_r(stream->file);
    release(stream);
    ferry_trace_free(&stream->own);
    free(stream);
}

size_t ferry_trace_events_of_frames(const struct ferry_trace *trace, uint64_t frames)
{
    if (frames == 0 || frames > trace->frames)
        return trace->event_count;
    for (size_t i = 0; i < trace->event_count; i++) {
        if (trace->events[i].op == FERRY_TRACE_FRAME && --frames == 0)
            return i + 1;
    }
    return trace->event_count;
}

bool ferry_trace_draws(const struct ferry_trace *trace)
{
    if (trace->unit[0])
        return strcmp(trace->unit, "frame") == 0;
    for (size_t i = 0; i < trace->object_count; i++)
        if (trace->objects[i].width)
            return true;
    return false;
}

const char *ferry_trace_kind_text(uint32_t width, uint32_t height, const char *format, char text[96])
{
    if (width == 0)
        snprintf(text, 96, "buffer");
    else
        snprintf(text, 96, "texture %ux%u %.48s", width, height, format);
    return text;
}

const char *ferry_trace_object_text(const struct ferry_trace *trace, uint32_t object, char text[96])
{
    const struct ferry_trace_object *about = &trace->objects[object];
    return ferry_trace_kind_text(about->width, about->height, trace->text + about->format, text);
}
