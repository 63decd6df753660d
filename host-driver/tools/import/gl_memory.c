// SPDX-License-Identifier: Apache-2.0
#include "tools/import/gl_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tool.h"

#define LARGEST_BYTES FERRY_TIB // what a memory trace takes

int ferry_memory_refuse(struct ferry_memory *memory, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(memory->problem, sizeof memory->problem, format, arguments);
    va_end(arguments);
    ferry_dump_one_line(memory->problem);
    memory->problem_line = memory->line;
    return -1;
}

static int no_memory(struct ferry_memory *memory)
{
    return ferry_memory_refuse(memory, "no memory left");
}

void ferry_memory_note(struct ferry_memory *memory, enum ferry_import_note what, uint64_t bytes)
{
    if (memory->report.notes[what].count++ == 0)
        memory->report.notes[what].line = memory->line;
    memory->report.notes[what].bytes += bytes;
}

void ferry_memory_free(struct ferry_memory *memory)
{
    free(memory->pending);
    free(memory->reads);
    free(memory->targets);
    free(memory->maps);
}

// ---- Lines of the trace ---------------------------------------------------------------------------------------------

static int put(struct ferry_memory *memory, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int put(struct ferry_memory *memory, const char *format, ...)
{
    char text[160];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    errno = 0;
    if (gzwrite(memory->out, text, (unsigned)length) == length)
        return 0;
    memory->problem_line = 0;
    snprintf(memory->problem, sizeof memory->problem, "the trace cannot be written: %s",
             errno ? strerror(errno) : "no more memory");
    return -1;
}

static int put_write(struct ferry_memory *memory, const struct ferry_gl_object *object, uint64_t offset, uint64_t bytes)
{
    memory->report.written_bytes += bytes;
    return put(memory, "w %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", object->id, offset, bytes);
}

// What the CPU writes of a GPU's allocation stands between a lock and an unlock where the old content is given up.
static int put_discard(struct ferry_memory *memory, const struct ferry_gl_object *object, bool written)
{
    if (put(memory, "l %" PRIu64 " discard\n", object->id) != 0 ||
        (written && put_write(memory, object, 0, object->bytes) != 0))
        return -1;
    return put(memory, "u %" PRIu64 "\n", object->id);
}

static int put_destroy(struct ferry_memory *memory, struct ferry_gl_object *object)
{
    if (!object->id)
        return 0;
    memory->report.living_bytes -= object->bytes;
    uint64_t id = object->id;
    object->id = 0;
    return put(memory, "x %" PRIu64 "\n", id);
}

static int put_create(struct ferry_memory *memory, struct ferry_gl_object *object)
{
    struct ferry_import_report *report = &memory->report;
    object->id = ++memory->last_id;
    report->allocations++;
    report->allocated_bytes += object->bytes;
    report->living_bytes += object->bytes;
    if (report->living_bytes > report->most_living_bytes)
        report->most_living_bytes = report->living_bytes;
    if (object->kind == FERRY_GL_BUFFER)
        return put(memory, "a %" PRIu64 " %" PRIu64 " buffer\n", object->id, object->bytes);
    const struct ferry_gl_level *level = object->levels;
    while (level->faces == 0)
        level++;
    return put(memory, "a %" PRIu64 " %" PRIu64 " texture %" PRIu32 "x%" PRIu32 " GL_%s\n", object->id, object->bytes,
               level->width, level->height, object->format.name);
}

// ---- Objects --------------------------------------------------------------------------------------------------------

struct ferry_gl_object *ferry_object_new(struct ferry_memory *memory, enum ferry_gl_kind kind, uint64_t name)
{
    struct ferry_gl_object *object = calloc(1, sizeof *object);
    if (object && kind != FERRY_GL_BUFFER && !(object->levels = calloc(FERRY_GL_LEVELS, sizeof *object->levels))) {
        free(object);
        object = NULL;
    }
    if (!object) {
        no_memory(memory);
        return NULL;
    }
    object->kind = kind;
    object->name = name;
    object->target = -1;
    object->top_level = FERRY_GL_LEVELS - 1;
    object->serial = ++memory->last_serial;
    return object;
}

static void no_longer_pending(struct ferry_memory *memory, struct ferry_gl_object *object)
{
    if (!object->pending)
        return;
    struct ferry_gl_object *last = memory->pending[--memory->pending_count];
    memory->pending[object->pending - 1] = last;
    last->pending = object->pending;
    object->pending = 0;
}

static int pend(struct ferry_memory *memory, struct ferry_gl_object *object)
{
    if (object->pending)
        return 0;
    if (ferry_reserve(&memory->pending, &memory->pending_capacity, memory->pending_count + 1,
                      sizeof(*memory->pending)) != 0)
        return no_memory(memory);
    memory->pending[memory->pending_count++] = object;
    object->pending = memory->pending_count;
    return 0;
}

int ferry_object_delete(struct ferry_memory *memory, struct ferry_gl_object *object)
{
    int status = ferry_object_settle(memory, object);
    if (status == 0)
        status = ferry_buffer_unmap(memory, object);
    if (status == 0)
        status = put_destroy(memory, object);
    no_longer_pending(memory, object);
    free(object->levels);
    free(object);
    return status;
}

// ---- Buffers --------------------------------------------------------------------------------------------------------

int ferry_buffer_data(struct ferry_memory *memory, struct ferry_gl_object *object, uint64_t bytes, bool written)
{
    if (bytes > LARGEST_BYTES)
        return ferry_memory_refuse(memory, "a buffer of %" PRIu64 " bytes is impossible: more than 1 TiB", bytes);
    if (ferry_buffer_unmap(memory, object) != 0)
        return -1;
    if (object->id && object->bytes == bytes)
        return put_discard(memory, object, written);
    if (put_destroy(memory, object) != 0)
        return -1;
    object->bytes = bytes;
    if (bytes == 0)
        return 0;
    if (put_create(memory, object) != 0)
        return -1;
    return written ? put_write(memory, object, 0, bytes) : 0;
}

int ferry_buffer_write(struct ferry_memory *memory, struct ferry_gl_object *object, uint64_t offset, uint64_t bytes)
{
    if (offset > object->bytes || bytes > object->bytes - offset) {
        ferry_memory_note(memory, FERRY_IMPORT_OUTSIDE, bytes);
        return 0;
    }
    return bytes ? put_write(memory, object, offset, bytes) : 0;
}

// The first map that begins behind an address.
static size_t map_behind(const struct ferry_memory *memory, uint64_t address)
{
    size_t low = 0, high = memory->map_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (memory->maps[middle]->map_address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int ferry_buffer_map(struct ferry_memory *memory, struct ferry_gl_object *object, uint64_t address, uint64_t offset,
                     uint64_t bytes, bool writes, bool discard)
{
    if (object->mapped || !object->id || offset > object->bytes || bytes > object->bytes - offset) {
        ferry_memory_note(memory, object->id ? FERRY_IMPORT_OUTSIDE : FERRY_IMPORT_UNSIZED, bytes);
        return 0;
    }
    if (!writes)
        ferry_memory_note(memory, FERRY_IMPORT_READ_MAP, bytes);
    if (ferry_reserve(&memory->maps, &memory->map_capacity, memory->map_count + 1, sizeof(*memory->maps)) != 0)
        return no_memory(memory);
    object->mapped = true;
    object->map_writes = writes;
    object->map_address = address;
    object->map_offset = offset;
    object->map_bytes = bytes;
    size_t at = map_behind(memory, address);
    memmove(memory->maps + at + 1, memory->maps + at, (memory->map_count - at) * sizeof(*memory->maps));
    memory->maps[at] = object;
    memory->map_count++;
    return writes ? put(memory, "l %" PRIu64 " %s\n", object->id, discard ? "discard" : "write") : 0;
}

int ferry_buffer_unmap(struct ferry_memory *memory, struct ferry_gl_object *object)
{
    if (!object->mapped)
        return 0;
    object->mapped = false;
    size_t at = map_behind(memory, object->map_address);
    while (memory->maps[at - 1] != object)
        at--;
    memory->map_count--;
    memmove(memory->maps + at - 1, memory->maps + at, (memory->map_count - (at - 1)) * sizeof(*memory->maps));
    return object->map_writes ? put(memory, "u %" PRIu64 "\n", object->id) : 0;
}

int ferry_buffer_copy_to(struct ferry_memory *memory, uint64_t address, uint64_t bytes)
{
    size_t at = map_behind(memory, address);
    const struct ferry_gl_object *object = at ? memory->maps[at - 1] : NULL;
    uint64_t offset = object ? address - object->map_address : 0;
    if (!object || !object->map_writes || offset > object->map_bytes || bytes > object->map_bytes - offset) {
        ferry_memory_note(memory, FERRY_IMPORT_STRAY, bytes);
        return 0;
    }
    return bytes ? put_write(memory, object, object->map_offset + offset, bytes) : 0;
}

// ---- GPU jobs -------------------------------------------------------------------------------------------------------

void ferry_job_begin(struct ferry_memory *memory)
{
    memory->stamp++;
    memory->read_count = memory->target_count = 0;
}

int ferry_job_reads(struct ferry_memory *memory, struct ferry_gl_object *object)
{
    if (object->stamp == memory->stamp)
        return 0;
    object->stamp = memory->stamp;
    if (!ferry_object_sized(object)) {
        ferry_memory_note(memory, FERRY_IMPORT_UNSIZED, 0);
        return 0;
    }
    if (ferry_object_settle(memory, object) != 0)
        return -1;
    if (ferry_reserve(&memory->reads, &memory->read_capacity, memory->read_count + 1, sizeof(*memory->reads)) != 0)
        return no_memory(memory);
    memory->reads[memory->read_count++] = object;
    return 0;
}

int ferry_job_writes(struct ferry_memory *memory, struct ferry_gl_object *object)
{
    for (size_t i = 0; i < memory->target_count; i++) {
        if (memory->targets[i] == object)
            return 0;
    }
    if (!ferry_object_sized(object)) {
        ferry_memory_note(memory, FERRY_IMPORT_UNSIZED, 0);
        return 0;
    }
    if (ferry_object_settle(memory, object) != 0)
        return -1;
    if (ferry_reserve(&memory->targets, &memory->target_capacity, memory->target_count + 1, sizeof(*memory->targets)) !=
        0)
        return no_memory(memory);
    memory->targets[memory->target_count++] = object;
    return 0;
}

int ferry_job_end(struct ferry_memory *memory)
{
    for (size_t i = 0; i < memory->read_count; i++) {
        if (put(memory, "%s%" PRIu64 "%s", i ? " " : "d ", memory->reads[i]->id,
                i + 1 == memory->read_count ? "\n" : "") != 0)
            return -1;
    }
    memory->report.jobs += (memory->read_count > 0) + memory->target_count;
    for (size_t i = 0; i < memory->target_count; i++) {
        if (put(memory, "t %" PRIu64 "\n", memory->targets[i]->id) != 0)
            return -1;
    }
    return 0;
}

static int write_out(struct ferry_memory *memory, struct ferry_gl_object *object);

int ferry_memory_frame(struct ferry_memory *memory)
{
    // In the order in which they were made.
    size_t count = memory->pending_count;
    memory->pending_count = 0;
    for (size_t i = 0; i < count; i++)
        memory->pending[i]->pending = 0;
    for (size_t i = 0; i < count; i++) {
        if (write_out(memory, memory->pending[i]) != 0)
            return -1;
    }
    memory->report.frames++;
    return put(memory, "f\n");
}

// ---- Textures and renderbuffers -------------------------------------------------------------------------------------

static uint64_t level_bytes(const struct ferry_gl_level *level)
{
    unsigned count = 0;
    for (unsigned face = 0; face < 6; face++)
        count += level->faces >> face & 1;
    return count * level->face_bytes;
}

static uint64_t bytes_before(const struct ferry_gl_object *object, unsigned level)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < level; i++)
        bytes += level_bytes(&object->levels[i]);
    return bytes;
}

bool ferry_object_sized(const struct ferry_gl_object *object)
{
    if (object->kind == FERRY_GL_BUFFER)
        return object->id != 0;
    return object->id != 0 || bytes_before(object, FERRY_GL_LEVELS) != 0;
}

int ferry_object_settle(struct ferry_memory *memory, struct ferry_gl_object *object)
{
    if (!object->pending)
        return 0;
    no_longer_pending(memory, object);
    return write_out(memory, object);
}

static int write_out(struct ferry_memory *memory, struct ferry_gl_object *object)
{
    uint64_t bytes = bytes_before(object, FERRY_GL_LEVELS);
    if (object->id)
        ferry_memory_note(memory, FERRY_IMPORT_GROWN, bytes);
    if (put_destroy(memory, object) != 0)
        return -1;
    object->bytes = bytes;
    if (bytes > LARGEST_BYTES)
        return ferry_memory_refuse(memory, "a texture of %" PRIu64 " bytes is impossible: more than 1 TiB", bytes);
    if (bytes == 0)
        return 0;
    if (put_create(memory, object) != 0)
        return -1;
    for (unsigned i = 0; i < FERRY_GL_LEVELS; i++) {
        const struct ferry_gl_level *level = &object->levels[i];
        if (level->to > level->from &&
            put_write(memory, object, bytes_before(object, i) + level->from, level->to - level->from) != 0)
            return -1;
    }
    return 0;
}

static uint64_t blocks(uint64_t texels, unsigned side)
{
    return (texels + side - 1) / side;
}

// Sides are at most 2^20 and a block 16 bytes, so this fits.
static uint64_t texel_bytes(const struct ferry_gl_format *format, uint64_t width, uint64_t height, uint64_t depth)
{
    uint64_t flat = blocks(width, format->width) * blocks(height, format->height) * format->bytes;
    return depth && flat > UINT64_MAX / depth ? UINT64_MAX : flat * depth;
}

uint64_t ferry_image_bytes(const struct ferry_gl_format *format, const struct ferry_gl_image *image)
{
    return texel_bytes(format, image->width, image->height, image->depth);
}

int ferry_image_define(struct ferry_memory *memory, struct ferry_gl_object *object, const struct ferry_gl_image *image,
                       unsigned faces, const struct ferry_gl_format *format)
{
    struct ferry_gl_level *level = &object->levels[image->level];
    uint64_t bytes = image->bytes ? image->bytes : ferry_image_bytes(format, image);
    if (bytes > LARGEST_BYTES)
        return ferry_memory_refuse(memory,
                                   "an image of %" PRIu32 "x%" PRIu32 "x%" PRIu32 " is impossible: more than 1 TiB",
                                   image->width, image->height, image->depth);
    if (format->guessed && !image->bytes)
        ferry_memory_note(memory, FERRY_IMPORT_GUESSED, bytes);
    bool same = level->face_bytes == bytes && level->width == image->width && level->height == image->height &&
                level->depth == image->depth && (level->faces & faces) == faces &&
                strcmp(object->format.name, format->name) == 0;
    object->format = *format;
    // The same image again keeps its place: only the content is new, as after glTexSubImage.
    if (same)
        return 0;
    if (level->face_bytes != bytes)
        level->faces = 0; // the faces of a cube are alike
    level->width = image->width;
    level->height = image->height;
    level->depth = image->depth;
    level->face_bytes = bytes;
    level->faces = (uint8_t)(bytes ? level->faces | faces : 0);
    if (level->faces == faces)
        level->from = level->to = 0;
    return pend(memory, object);
}

int ferry_image_write(struct ferry_memory *memory, struct ferry_gl_object *object, const struct ferry_gl_image *image)
{
    struct ferry_gl_level *level = &object->levels[image->level];
    const struct ferry_gl_format *format = &object->format;
    if (image->width == 0 || image->height == 0 || image->depth == 0)
        return 0;
    uint64_t bytes = image->bytes ? image->bytes : ferry_image_bytes(format, image);
    if (!(level->faces >> image->face & 1) || (uint64_t)image->x + image->width > level->width ||
        (uint64_t)image->y + image->height > level->height || (uint64_t)image->z + image->depth > level->depth) {
        ferry_memory_note(memory, FERRY_IMPORT_OUTSIDE, bytes);
        return 0;
    }
    uint64_t face = 0;
    for (unsigned i = 0; i < image->face; i++)
        face += level->faces >> i & 1;
    // Of a format whose blocks are not known only whole images can be placed.
    uint64_t slice = texel_bytes(format, level->width, level->height, 1);
    uint64_t row = texel_bytes(format, level->width, format->height, 1);
    uint64_t offset =
        image->z * slice + image->y / format->height * row + (uint64_t)(image->x / format->width) * format->bytes;
    if (offset >= level->face_bytes)
        offset = 0;
    if (bytes > level->face_bytes - offset)
        bytes = level->face_bytes - offset;
    offset += face * level->face_bytes;
    // Only what follows the last write without a gap can be written later, as one with it.
    if (level->to > level->from && offset != level->to && ferry_object_settle(memory, object) != 0)
        return -1;
    if (level->to == level->from)
        level->from = level->to = offset;
    level->from = offset < level->from ? offset : level->from;
    level->to = offset + bytes > level->to ? offset + bytes : level->to;
    if (object->pending || !object->id)
        return 0;
    return put_write(memory, object, bytes_before(object, image->level) + offset, bytes);
}

static uint32_t half(uint32_t side)
{
    return side > 1 ? side / 2 : 1;
}

int ferry_image_chain(struct ferry_memory *memory, struct ferry_gl_object *object, bool layers_in_depth,
                      bool layers_in_height)
{
    if (object->immutable)
        return 0;
    struct ferry_gl_level base = object->levels[object->base_level];
    struct ferry_gl_image image = {
        .level = object->base_level, .width = base.width, .height = base.height, .depth = base.depth};
    struct ferry_gl_format format = object->format;
    while (base.faces && image.level < object->top_level &&
           (image.width > 1 || (image.height > 1 && !layers_in_height) || (image.depth > 1 && !layers_in_depth))) {
        image.level++;
        image.width = half(image.width);
        image.height = layers_in_height ? image.height : half(image.height);
        image.depth = layers_in_depth ? image.depth : half(image.depth);
        if (ferry_image_define(memory, object, &image, base.faces, &format) != 0)
            return -1;
    }
    return 0;
}
