// SPDX-License-Identifier: Apache-2.0
// One line of a trace: its form, and whether it makes sense here.
#include "tools/trace_lines.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/tool.h"

#define LARGEST_BYTES FERRY_TIB
#define LARGEST_SIDE  1048576u

int ferry_trace_refuse(struct ferry_trace_reader *reader, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reader->error->reason, sizeof reader->error->reason, format, arguments);
    va_end(arguments);
    reader->error->line = reader->line;
    return -1;
}

int ferry_trace_no_memory(struct ferry_trace_reader *reader)
{
    return ferry_trace_refuse(reader, "no memory left for the trace");
}

int ferry_trace_forget(struct ferry_trace_reader *reader, uint32_t object)
{
    if (ferry_reserve(&reader->numbers, &reader->number_capacity, reader->number_count + 1, sizeof *reader->numbers) !=
        0)
        return ferry_trace_no_memory(reader);
    reader->numbers[reader->number_count++] = object;
    return 0;
}

// ---- Fields -------------------------------------------------------------------------------------------------------

static char *next_field(struct ferry_trace_reader *reader)
{
    char *field = reader->at + strspn(reader->at, " \t\r");
    if (*field == 0)
        return NULL;
    char *end = field + strcspn(field, " \t\r");
    reader->at = *end ? end + 1 : end;
    *end = 0;
    return field;
}

static int read_number(struct ferry_trace_reader *reader, const char *what, uint64_t *number)
{
    const char *field = next_field(reader);
    if (!field)
        return ferry_trace_refuse(reader, "%s is missing", what);
    if (ferry_parse_number(field, number) != 0)
        return ferry_trace_refuse(reader, "%s '%.40s' is not a number", what, field);
    return 0;
}

static int read_end(struct ferry_trace_reader *reader)
{
    const char *field = next_field(reader);
    return field ? ferry_trace_refuse(reader, "'%.40s' is too much on this line", field) : 0;
}

static struct ferry_trace_object *newest(struct ferry_trace_reader *reader, uint64_t id)
{
    uint32_t number = ferry_id_map_get(&reader->newest, id);
    return number == FERRY_ID_NONE ? NULL : &reader->trace->objects[number];
}

static int find_living(struct ferry_trace_reader *reader, uint64_t id, struct ferry_trace_object **object)
{
    *object = newest(reader, id);
    // Some number is given again, or is to be.
    if (!*object && reader->forgets && (reader->number_count > 0 || reader->made > reader->trace->object_count))
        return ferry_trace_refuse(reader, "allocation %" PRIu64 " was never created, or was destroyed before", id);
    if (!*object)
        return ferry_trace_refuse(reader, "allocation %" PRIu64 " was never created", id);
    if ((*object)->destroyed)
        return ferry_trace_refuse(reader, "allocation %" PRIu64 " was destroyed in line %u", id, (*object)->destroyed);
    return 0;
}

static int read_living(struct ferry_trace_reader *reader, struct ferry_trace_object **object)
{
    uint64_t id;
    if (read_number(reader, "the allocation's id", &id) != 0)
        return -1;
    return find_living(reader, id, object);
}

static struct ferry_trace_event *add_event(struct ferry_trace_reader *reader, enum ferry_trace_op op,
                                           const struct ferry_trace_object *object)
{
    struct ferry_trace *trace = reader->trace;
    if (ferry_reserve(&trace->events, &trace->event_capacity, trace->event_count + 1, sizeof *trace->events) != 0) {
        ferry_trace_no_memory(reader);
        return NULL;
    }
    struct ferry_trace_event *event = &trace->events[trace->event_count++];
    *event = (struct ferry_trace_event){
        .line = (uint32_t)reader->line, .op = (uint8_t)op, .object = object ? (uint32_t)(object - trace->objects) : 0};
    return event;
}

// ---- Lines --------------------------------------------------------------------------------------------------------

// "WxH FORMAT". Only the form is checked: bytes may count mip levels, faces and layers, so they follow from neither.
static int read_texture(struct ferry_trace_reader *reader, struct ferry_trace_object *object)
{
    struct ferry_trace *trace = reader->trace;
    char *size = next_field(reader);
    if (!size)
        return ferry_trace_refuse(reader, "the texture's WIDTHxHEIGHT is missing");
    char *cross = strchr(size, 'x');
    uint64_t width = 0, height = 0;
    bool good = cross != NULL;
    if (good) {
        *cross = 0;
        good = ferry_parse_number(size, &width) == 0 && ferry_parse_number(cross + 1, &height) == 0;
        *cross = 'x';
    }
    if (!good)
        return ferry_trace_refuse(reader, "texture size '%.40s' is not WIDTHxHEIGHT", size);
    if (width == 0 || height == 0 || width > LARGEST_SIDE || height > LARGEST_SIDE)
        return ferry_trace_refuse(reader, "texture size '%.40s' is impossible: each side is 1 to %u", size,
                                  LARGEST_SIDE);
    object->width = (uint32_t)width;
    object->height = (uint32_t)height;
    const char *format = next_field(reader);
    if (!format)
        return ferry_trace_refuse(reader, "the texture's format is missing");
    size_t length = strlen(format) + 1;
    if (trace->text_bytes + length > UINT32_MAX ||
        ferry_reserve(&trace->text, &trace->text_capacity, trace->text_bytes + length, 1) != 0)
        return ferry_trace_no_memory(reader);
    // Textures that follow each other mostly share their format's name: keep it once.
    uint32_t last = trace->object_count && !reader->forgets ? trace->objects[trace->object_count - 1].format : 0;
    if (last && strcmp(trace->text + last, format) == 0) {
        object->format = last;
        return 0;
    }
    memcpy(trace->text + trace->text_bytes, format, length);
    object->format = (uint32_t)trace->text_bytes;
    trace->text_bytes += length;
    return 0;
}

static int read_create(struct ferry_trace_reader *reader)
{
    struct ferry_trace *trace = reader->trace;
    struct ferry_trace_object object = {.line = (uint32_t)reader->line};
    if (read_number(reader, "the allocation's id", &object.id) != 0 ||
        read_number(reader, "the allocation's size", &object.bytes) != 0)
        return -1;
    const struct ferry_trace_object *before = newest(reader, object.id);
    if (before && !before->destroyed)
        return ferry_trace_refuse(reader, "allocation %" PRIu64 " exists already: created in line %u", object.id,
                                  before->line);
    if (object.bytes == 0)
        return ferry_trace_refuse(reader, "allocation %" PRIu64 " has size 0", object.id);
    if (object.bytes > LARGEST_BYTES)
        return ferry_trace_refuse(reader, "allocation %" PRIu64 " of %" PRIu64 " bytes is impossible: more than 1 TiB",
                                  object.id, object.bytes);
    const char *kind = next_field(reader);
    if (!kind)
        return ferry_trace_refuse(reader, "'buffer' or 'texture' is missing");
    if (strcmp(kind, "texture") == 0) {
        if (read_texture(reader, &object) != 0)
            return -1;
    } else if (strcmp(kind, "buffer") != 0) {
        return ferry_trace_refuse(reader, "'%.40s' is neither 'buffer' nor 'texture'", kind);
    }
    if (reader->made >= UINT32_MAX - 1)
        return ferry_trace_refuse(reader, "too many allocations");
    uint32_t number = reader->number_count ? reader->numbers[reader->number_count - 1] : (uint32_t)trace->object_count;
    if (ferry_reserve(&trace->objects, &trace->object_capacity, trace->object_count + 1, sizeof object) != 0 ||
        ferry_id_map_set(&reader->newest, object.id, number) != 0)
        return ferry_trace_no_memory(reader);
    object.made = reader->made++;
    if (reader->number_count)
        reader->number_count--;
    else
        trace->object_count++;
    trace->objects[number] = object;
    return add_event(reader, FERRY_TRACE_CREATE, &trace->objects[number]) ? 0 : -1;
}

static int read_write(struct ferry_trace_reader *reader)
{
    struct ferry_trace_object *object;
    uint64_t offset, bytes;
    if (read_living(reader, &object) != 0 || read_number(reader, "the offset", &offset) != 0 ||
        read_number(reader, "the number of bytes", &bytes) != 0)
        return -1;
    if (bytes == 0)
        return ferry_trace_refuse(reader, "a write of 0 bytes");
    if (offset > object->bytes || bytes > object->bytes - offset)
        return ferry_trace_refuse(
            reader, "a write of %" PRIu64 " bytes at %" PRIu64 " leaves allocation %" PRIu64 " of %" PRIu64 " bytes",
            bytes, offset, object->id, object->bytes);
    struct ferry_trace_event *event = add_event(reader, FERRY_TRACE_WRITE, object);
    if (!event)
        return -1;
    event->a = offset;
    event->b = bytes;
    return 0;
}

static int read_lock(struct ferry_trace_reader *reader)
{
    struct ferry_trace_object *object;
    if (read_living(reader, &object) != 0)
        return -1;
    const char *how = next_field(reader);
    if (!how)
        return ferry_trace_refuse(reader, "'discard' or 'write' is missing");
    bool discard = strcmp(how, "discard") == 0;
    if (!discard && strcmp(how, "write") != 0)
        return ferry_trace_refuse(reader, "'%.40s' is neither 'discard' nor 'write'", how);
    if (object->locked)
        return ferry_trace_refuse(reader, "allocation %" PRIu64 " is locked already", object->id);
    object->locked = true;
    struct ferry_trace_event *event = add_event(reader, FERRY_TRACE_LOCK, object);
    if (!event)
        return -1;
    event->discard = discard;
    return 0;
}

static int read_unlock(struct ferry_trace_reader *reader)
{
    struct ferry_trace_object *object;
    if (read_living(reader, &object) != 0)
        return -1;
    if (!object->locked)
        return ferry_trace_refuse(reader, "allocation %" PRIu64 " is not locked", object->id);
    object->locked = false;
    return add_event(reader, FERRY_TRACE_UNLOCK, object) ? 0 : -1;
}

static int read_draw(struct ferry_trace_reader *reader)
{
    struct ferry_trace *trace = reader->trace;
    size_t first = trace->draw_count;
    const char *field;
    while ((field = next_field(reader)) != NULL) {
        uint64_t id;
        struct ferry_trace_object *object;
        if (ferry_parse_number(field, &id) != 0)
            return ferry_trace_refuse(reader, "the allocation's id '%.40s' is not a number", field);
        if (find_living(reader, id, &object) != 0)
            return -1;
        uint32_t number = (uint32_t)(object - trace->objects);
        if (object->in_draw == (uint32_t)reader->line)
            continue;
        object->in_draw = (uint32_t)reader->line;
        if (ferry_reserve(&trace->draws, &trace->draw_capacity, trace->draw_count + 1, sizeof *trace->draws) != 0)
            return ferry_trace_no_memory(reader);
        trace->draws[trace->draw_count++] = number;
    }
    if (trace->draw_count == first)
        return ferry_trace_refuse(reader, "a draw without an allocation");
    struct ferry_trace_event *event = add_event(reader, FERRY_TRACE_DRAW, NULL);
    if (!event)
        return -1;
    event->a = first;
    event->b = trace->draw_count - first;
    return 0;
}

// What a frame is: said with the first one, or never.
static int read_unit(struct ferry_trace_reader *reader)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-";
    struct ferry_trace *trace = reader->trace;
    const char *word = next_field(reader);
    size_t length = word ? strlen(word) : 0;
    if (word && (length >= sizeof trace->unit || strspn(word, letters) != length))
        return ferry_trace_refuse(reader, "'%.40s' is no word for what a frame is: up to %zu letters", word,
                                  sizeof trace->unit - 1);
    if (word && trace->frames == 0)
        memcpy(trace->unit, word, length + 1);
    const char *before = ferry_trace_unit(trace);
    if (strcmp(before, word ? word : "frame") != 0)
        return ferry_trace_refuse(reader, "a %s here, and a %s before", word ? word : "frame", before);
    return 0;
}

int ferry_trace_read_line(struct ferry_trace_reader *reader, char *line, size_t length)
{
    struct ferry_trace_object *object;
    reader->line++;
    if (reader->line >= UINT32_MAX)
        return ferry_trace_refuse(reader, "too many lines");
    if (memchr(line, 0, length))
        return ferry_trace_refuse(reader, "a zero byte: this is not a trace");
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
            if (reader->forgets)
                ferry_id_map_remove(&reader->newest, object->id);
            status = add_event(reader, FERRY_TRACE_DESTROY, object) ? 0 : -1;
        }
        break;
    default: status = ferry_trace_refuse(reader, "'%.40s' is no event (a, w, l, u, d, t, f, x are)", letter); break;
    }
    return status == 0 ? read_end(reader) : status;
}
