// SPDX-License-Identifier: Apache-2.0
#include "tools/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tools/id_map.h"
#include "tools/tool.h"

#define BLOCK_BYTES   65536u
#define LONGEST_LINE  (64u << 20)
#define LARGEST_BYTES FERRY_TIB
#define LARGEST_SIDE  1048576u

struct reader {
    struct ferry_trace *trace;
    struct ferry_trace_error *error;
    struct ferry_id_map newest;  // Id -> the object it names last, living or destroyed.
    struct ferry_id_map in_draw; // Object -> line of the draw that named it last, so that repeats are dropped.
    uint64_t line;
    char *at; // What of the line is not read yet.
};

static int refuse(struct reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int refuse(struct reader *reader, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reader->error->reason, sizeof reader->error->reason, format, arguments);
    va_end(arguments);
    reader->error->line = reader->line;
    return -1;
}

static int no_memory(struct reader *reader)
{
    return refuse(reader, "no memory left for the trace");
}

// ---- Fields -------------------------------------------------------------------------------------------------------

static char *next_field(struct reader *reader)
{
    char *field = reader->at + strspn(reader->at, " \t\r");
    if (*field == 0)
        return NULL;
    char *end = field + strcspn(field, " \t\r");
    reader->at = *end ? end + 1 : end;
    *end = 0;
    return field;
}

static int read_number(struct reader *reader, const char *what, uint64_t *number)
{
    const char *field = next_field(reader);
    if (!field)
        return refuse(reader, "%s is missing", what);
    if (ferry_parse_number(field, number) != 0)
        return refuse(reader, "%s '%.40s' is not a number", what, field);
    return 0;
}

static int read_end(struct reader *reader)
{
    const char *field = next_field(reader);
    return field ? refuse(reader, "'%.40s' is too much on this line", field) : 0;
}

static struct ferry_trace_object *newest(struct reader *reader, uint64_t id)
{
    uint32_t number = ferry_id_map_get(&reader->newest, id);
    return number == FERRY_ID_NONE ? NULL : &reader->trace->objects[number];
}

static int find_living(struct reader *reader, uint64_t id, struct ferry_trace_object **object)
{
    *object = newest(reader, id);
    if (!*object)
        return refuse(reader, "allocation %" PRIu64 " was never created", id);
    if ((*object)->destroyed)
        return refuse(reader, "allocation %" PRIu64 " was destroyed in line %u", id, (*object)->destroyed);
    return 0;
}

static int read_living(struct reader *reader, struct ferry_trace_object **object)
{
    uint64_t id;
    if (read_number(reader, "the allocation's id", &id) != 0)
        return -1;
    return find_living(reader, id, object);
}

static struct ferry_trace_event *add_event(struct reader *reader, enum ferry_trace_op op,
                                           const struct ferry_trace_object *object)
{
    struct ferry_trace *trace = reader->trace;
    if (ferry_reserve(&trace->events, &trace->event_capacity, trace->event_count + 1, sizeof *trace->events) != 0) {
        no_memory(reader);
        return NULL;
    }
    struct ferry_trace_event *event = &trace->events[trace->event_count++];
    *event = (struct ferry_trace_event){
        .line = (uint32_t)reader->line, .op = (uint8_t)op, .object = object ? (uint32_t)(object - trace->objects) : 0};
    return event;
}

// ---- Lines --------------------------------------------------------------------------------------------------------

// "WxH FORMAT". Only the form is checked: bytes may count mip levels, faces and layers, so they follow from neither.
static int read_texture(struct reader *reader, struct ferry_trace_object *object)
{
    struct ferry_trace *trace = reader->trace;
    char *size = next_field(reader);
    if (!size)
        return refuse(reader, "the texture's WIDTHxHEIGHT is missing");
    char *cross = strchr(size, 'x');
    uint64_t width = 0, height = 0;
    bool good = cross != NULL;
    if (good) {
        *cross = 0;
        good = ferry_parse_number(size, &width) == 0 && ferry_parse_number(cross + 1, &height) == 0;
        *cross = 'x';
    }
    if (!good)
        return refuse(reader, "texture size '%.40s' is not WIDTHxHEIGHT", size);
    if (width == 0 || height == 0 || width > LARGEST_SIDE || height > LARGEST_SIDE)
        return refuse(reader, "texture size '%.40s' is impossible: each side is 1 to %u", size, LARGEST_SIDE);
    const char *format = next_field(reader);
    if (!format)
        return refuse(reader, "the texture's format is missing");
    size_t length = strlen(format) + 1;
    if (trace->text_bytes + length > UINT32_MAX ||
        ferry_reserve(&trace->text, &trace->text_capacity, trace->text_bytes + length, 1) != 0)
        return no_memory(reader);
    object->width = (uint32_t)width;
    object->height = (uint32_t)height;
    // Textures that follow each other mostly share their format's name: keep it once.
    uint32_t last = trace->object_count ? trace->objects[trace->object_count - 1].format : 0;
    if (last && strcmp(trace->text + last, format) == 0) {
        object->format = last;
        return 0;
    }
    memcpy(trace->text + trace->text_bytes, format, length);
    object->format = (uint32_t)trace->text_bytes;
    trace->text_bytes += length;
    return 0;
}

static int read_create(struct reader *reader)
{
    struct ferry_trace *trace = reader->trace;
    struct ferry_trace_object object = {.line = (uint32_t)reader->line};
    if (read_number(reader, "the allocation's id", &object.id) != 0 ||
        read_number(reader, "the allocation's size", &object.bytes) != 0)
        return -1;
    const struct ferry_trace_object *before = newest(reader, object.id);
    if (before && !before->destroyed)
        return refuse(reader, "allocation %" PRIu64 " exists already: created in line %u", object.id, before->line);
    if (object.bytes == 0)
        return refuse(reader, "allocation %" PRIu64 " has size 0", object.id);
    if (object.bytes > LARGEST_BYTES)
        return refuse(reader, "allocation %" PRIu64 " of %" PRIu64 " bytes is impossible: more than 1 TiB", object.id,
                      object.bytes);
    const char *kind = next_field(reader);
    if (!kind)
        return refuse(reader, "'buffer' or 'texture' is missing");
    if (strcmp(kind, "texture") == 0) {
        if (read_texture(reader, &object) != 0)
            return -1;
    } else if (strcmp(kind, "buffer") != 0) {
        return refuse(reader, "'%.40s' is neither 'buffer' nor 'texture'", kind);
    }
    if (trace->object_count >= UINT32_MAX - 1)
        return refuse(reader, "too many allocations");
    if (ferry_reserve(&trace->objects, &trace->object_capacity, trace->object_count + 1, sizeof object) != 0 ||
        ferry_id_map_set(&reader->newest, object.id, (uint32_t)trace->object_count) != 0)
        return no_memory(reader);
    trace->objects[trace->object_count++] = object;
    return add_event(reader, FERRY_TRACE_CREATE, &trace->objects[trace->object_count - 1]) ? 0 : -1;
}

static int read_write(struct reader *reader)
{
    struct ferry_trace_object *object;
    uint64_t offset, bytes;
    if (read_living(reader, &object) != 0 || read_number(reader, "the offset", &offset) != 0 ||
        read_number(reader, "the number of bytes", &bytes) != 0)
        return -1;
    if (bytes == 0)
        return refuse(reader, "a write of 0 bytes");
    if (offset > object->bytes || bytes > object->bytes - offset)
        return refuse(reader,
                      "a write of %" PRIu64 " bytes at %" PRIu64 " leaves allocation %" PRIu64 " of %" PRIu64 " bytes",
                      bytes, offset, object->id, object->bytes);
    struct ferry_trace_event *event = add_event(reader, FERRY_TRACE_WRITE, object);
    if (!event)
        return -1;
    event->a = offset;
    event->b = bytes;
    return 0;
}

static int read_lock(struct reader *reader)
{
    struct ferry_trace_object *object;
    if (read_living(reader, &object) != 0)
        return -1;
    const char *how = next_field(reader);
    if (!how)
        return refuse(reader, "'discard' or 'write' is missing");
    bool discard = strcmp(how, "discard") == 0;
    if (!discard && strcmp(how, "write") != 0)
        return refuse(reader, "'%.40s' is neither 'discard' nor 'write'", how);
    if (object->locked)
        return refuse(reader, "allocation %" PRIu64 " is locked already", object->id);
    object->locked = true;
    struct ferry_trace_event *event = add_event(reader, FERRY_TRACE_LOCK, object);
    if (!event)
        return -1;
    event->discard = discard;
    return 0;
}

static int read_unlock(struct reader *reader)
{
    struct ferry_trace_object *object;
    if (read_living(reader, &object) != 0)
        return -1;
    if (!object->locked)
        return refuse(reader, "allocation %" PRIu64 " is not locked", object->id);
    object->locked = false;
    return add_event(reader, FERRY_TRACE_UNLOCK, object) ? 0 : -1;
}

static int read_draw(struct reader *reader)
{
    struct ferry_trace *trace = reader->trace;
    size_t first = trace->draw_count;
    const char *field;
    while ((field = next_field(reader)) != NULL) {
        uint64_t id;
        struct ferry_trace_object *object;
        if (ferry_parse_number(field, &id) != 0)
            return refuse(reader, "the allocation's id '%.40s' is not a number", field);
        if (find_living(reader, id, &object) != 0)
            return -1;
        uint32_t number = (uint32_t)(object - trace->objects);
        if (ferry_id_map_get(&reader->in_draw, number) == (uint32_t)reader->line)
            continue;
        if (ferry_id_map_set(&reader->in_draw, number, (uint32_t)reader->line) != 0 ||
            ferry_reserve(&trace->draws, &trace->draw_capacity, trace->draw_count + 1, sizeof *trace->draws) != 0)
            return no_memory(reader);
        trace->draws[trace->draw_count++] = number;
    }
    if (trace->draw_count == first)
        return refuse(reader, "a draw without an allocation");
    struct ferry_trace_event *event = add_event(reader, FERRY_TRACE_DRAW, NULL);
    if (!event)
        return -1;
    event->a = first;
    event->b = trace->draw_count - first;
    return 0;
}

// What a frame is: said with the first one, or never.
static int read_unit(struct reader *reader)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-";
    struct ferry_trace *trace = reader->trace;
    const char *word = next_field(reader);
    size_t length = word ? strlen(word) : 0;
    if (word && (length >= sizeof trace->unit || strspn(word, letters) != length))
        return refuse(reader, "'%.40s' is no word for what a frame is: up to %zu letters", word,
                      sizeof trace->unit - 1);
    if (word && trace->frames == 0)
        memcpy(trace->unit, word, length + 1);
    const char *before = ferry_trace_unit(trace);
    if (strcmp(before, word ? word : "frame") != 0)
        return refuse(reader, "a %s here, and a %s before", word ? word : "frame", before);
    return 0;
}

static int read_line(struct reader *reader, char *line, size_t length)
{
    struct ferry_trace_object *object;
    reader->line++;
    if (reader->line >= UINT32_MAX)
        return refuse(reader, "too many lines");
    if (memchr(line, 0, length))
        return refuse(reader, "a zero byte: this is not a trace");
    reader->at = line;
    const char *letter = next_field(reader);
    if (!letter)
        return 0;
    int status;
    switch (letter[1] == 0 ? letter[0] : 0) {
    case 'a': status = read_create(reader); break;
    case 'w': status = read_write(reader); break;
    case 'l': status = read_lock(reader); break;
    case 'u': status = read_unlock(reader); break;
    case 'd': status = read_draw(reader); break;
    case 't':
        if ((status = read_living(reader, &object)) == 0) {
            object->target = true;
            status = add_event(reader, FERRY_TRACE_TARGET, object) ? 0 : -1;
        }
        break;
    case 'f':
        if (read_unit(reader) != 0)
            return -1;
        reader->trace->frames++;
        status = add_event(reader, FERRY_TRACE_FRAME, NULL) ? 0 : -1;
        break;
    case 'x':
        if ((status = read_living(reader, &object)) == 0) {
            object->destroyed = (uint32_t)reader->line;
            object->locked = false;
            status = add_event(reader, FERRY_TRACE_DESTROY, object) ? 0 : -1;
        }
        break;
    default: status = refuse(reader, "'%.40s' is no event (a, w, l, u, d, t, f, x are)", letter); break;
    }
    return status == 0 ? read_end(reader) : status;
}

// ---- File ---------------------------------------------------------------------------------------------------------

// Feed every complete line of buffer[0, *used) and move the rest to its front.
static int feed_lines(struct reader *reader, char *buffer, size_t *used)
{
    char *line = buffer;
    char *end = buffer + *used;
    char *newline;
    while ((newline = memchr(line, '\n', (size_t)(end - line))) != NULL) {
        *newline = 0;
        if (read_line(reader, line, (size_t)(newline - line)) != 0)
            return -1;
        line = newline + 1;
    }
    *used = (size_t)(end - line);
    memmove(buffer, line, *used);
    return 0;
}

static int file_error(struct reader *reader, gzFile file)
{
    int code = Z_OK;
    const char *text = gzerror(file, &code);
    reader->line = 0;
    if (code == Z_ERRNO)
        return refuse(reader, "cannot be read: %s", strerror(errno));
    if (code == Z_BUF_ERROR)
        return refuse(reader, "the gzip file is cut off");
    return refuse(reader, "the gzip file is damaged: %s", text);
}

static int read_all(struct reader *reader, gzFile file)
{
    char *buffer = NULL;
    size_t capacity = 0, used = 0;
    int status = 0;
    for (;;) {
        if (used > LONGEST_LINE) {
            reader->line++;
            status = refuse(reader, "a line of more than %u MiB", LONGEST_LINE >> 20);
            break;
        }
        if (ferry_reserve(&buffer, &capacity, used + BLOCK_BYTES + 1, 1) != 0) {
            status = no_memory(reader);
            break;
        }
        int got = gzread(file, buffer + used, BLOCK_BYTES);
        int code = Z_OK;
        gzerror(file, &code);
        if (got < 0 || (got == 0 && code != Z_OK && code != Z_STREAM_END)) {
            status = file_error(reader, file);
            break;
        }
        used += (size_t)got;
        if (got == 0) {
            buffer[used] = 0;
            if (used > 0)
                status = read_line(reader, buffer, used);
            break;
        }
        if ((status = feed_lines(reader, buffer, &used)) != 0)
            break;
    }
    free(buffer);
    return status;
}

int ferry_trace_read(const char *path, struct ferry_trace *trace, struct ferry_trace_error *error)
{
    struct reader reader = {.trace = trace, .error = error};
    memset(trace, 0, sizeof *trace);
    memset(error, 0, sizeof *error);
    errno = 0;
    gzFile file = gzopen(path, "rb");
    if (!file)
        return refuse(&reader, "cannot be opened: %s", errno ? strerror(errno) : "no memory left");
    gzbuffer(file, BLOCK_BYTES);
    // Offset 0 of the text stands for "no format".
    int status = ferry_reserve(&trace->text, &trace->text_capacity, 1, 1) == 0 ? 0 : no_memory(&reader);
    if (status == 0) {
        trace->text[trace->text_bytes++] = 0;
        status = read_all(&reader, file);
    }
    if (gzclose_r(file) == Z_BUF_ERROR && status == 0) {
        reader.line = 0;
        status = refuse(&reader, "the gzip file is cut off");
    }
    if (status == 0 && trace->event_count == 0) {
        reader.line = 0;
        status = refuse(&reader, "holds no event");
    }
    ferry_id_map_free(&reader.newest);
    ferry_id_map_free(&reader.in_draw);
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

const char *ferry_trace_unit(const struct ferry_trace *trace)
{
    return trace->unit[0] ? trace->unit : "frame";
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

const char *ferry_trace_object_text(const struct ferry_trace *trace, uint32_t object, char text[96])
{
    const struct ferry_trace_object *about = &trace->objects[object];
    if (about->width == 0)
        snprintf(text, 96, "buffer");
    else
        snprintf(text, 96, "texture %ux%u %.48s", about->width, about->height, trace->text + about->format);
    return text;
}
