// SPDX-License-Identifier: Apache-2.0
// Calls that make, fill, map and bind buffers, and those that make and delete names of any kind.
#include <stdlib.h>
#include <string.h>

#include "tools/import/gl_state.h"

#define MOST_BYTES INT64_MAX
#define MOST_NAME  UINT32_MAX

// Of "target = ..." or of "buffer = ...". NULL in *object: nothing is bound there.
static int buffer_meant(struct ferry_gl *gl, struct ferry_gl_object **object)
{
    const char *target;
    uint64_t name;
    *object = NULL;
    if (ferry_gl_has(gl, "buffer")) {
        if (ferry_gl_unsigned(gl, "buffer", MOST_NAME, &name) != 0)
            return -1;
        if (name == 0)
            return 0;
        *object = ferry_gl_object(gl, FERRY_GL_BUFFER, name);
        return *object ? 0 : -1;
    }
    if (ferry_gl_text(gl, "target", &target) != 0)
        return -1;
    enum ferry_gl_slot slot = ferry_gl_slot_of(target);
    if (slot == FERRY_GL_NO_SLOT)
        return ferry_memory_refuse(gl->memory, "%.40s: no buffer is known by %.40s: sizes would be wrong",
                                   gl->call->name, target);
    *object = ferry_gl_find(gl, FERRY_GL_BUFFER, *ferry_gl_slot(gl, slot));
    return 0;
}

static int unsized(struct ferry_gl *gl, const struct ferry_gl_object *object)
{
    if (object && !object->generated && !object->id)
        return ferry_memory_refuse(gl->memory,
                                   "buffer %llu is used and its size is not in the text, which begins too late",
                                   (unsigned long long)object->name);
    ferry_memory_note(gl->memory, FERRY_IMPORT_UNSIZED, 0);
    return 0;
}

static int data(struct ferry_gl *gl)
{
    struct ferry_gl_object *object;
    const char *from;
    uint64_t bytes;
    if (buffer_meant(gl, &object) != 0 || ferry_gl_unsigned(gl, "size", MOST_BYTES, &bytes) != 0 ||
        ferry_gl_text(gl, "data", &from) != 0)
        return -1;
    if (!object)
        return unsized(gl, NULL);
    return ferry_buffer_data(gl->memory, object, bytes, strcmp(from, "NULL") != 0);
}

static int sub_data(struct ferry_gl *gl)
{
    struct ferry_gl_object *object;
    uint64_t offset, bytes;
    if (buffer_meant(gl, &object) != 0 || ferry_gl_unsigned(gl, "offset", MOST_BYTES, &offset) != 0 ||
        ferry_gl_unsigned(gl, "size", MOST_BYTES, &bytes) != 0)
        return -1;
    return object && object->id ? ferry_buffer_write(gl->memory, object, offset, bytes) : unsized(gl, object);
}

// The GPU clears.
static int clear_data(struct ferry_gl *gl)
{
    struct ferry_gl_object *object;
    if (buffer_meant(gl, &object) != 0)
        return -1;
    if (!object || !object->id)
        return unsized(gl, object);
    ferry_job_begin(gl->memory);
    return ferry_job_writes(gl->memory, object) == 0 ? ferry_job_end(gl->memory) : -1;
}

static int copy_data(struct ferry_gl *gl)
{
    struct ferry_gl_object *ends[2];
    for (int i = 0; i < 2; i++) {
        const char *target;
        uint64_t name;
        if (ferry_gl_has(gl, i ? "writeTarget" : "readTarget")) {
            if (ferry_gl_text(gl, i ? "writeTarget" : "readTarget", &target) != 0)
                return -1;
            enum ferry_gl_slot slot = ferry_gl_slot_of(target);
            ends[i] = slot == FERRY_GL_NO_SLOT ? NULL : ferry_gl_find(gl, FERRY_GL_BUFFER, *ferry_gl_slot(gl, slot));
        } else {
            if (ferry_gl_unsigned(gl, i ? "writeBuffer" : "readBuffer", MOST_NAME, &name) != 0)
                return -1;
            ends[i] = name ? ferry_gl_object(gl, FERRY_GL_BUFFER, name) : NULL;
        }
        if (!ends[i] || !ends[i]->id)
            return unsized(gl, ends[i]);
    }
    ferry_job_begin(gl->memory);
    if (ferry_job_reads(gl->memory, ends[0]) != 0 || ferry_job_writes(gl->memory, ends[1]) != 0)
        return -1;
    return ferry_job_end(gl->memory);
}

static int map(struct ferry_gl *gl)
{
    struct ferry_gl_object *object;
    const char *access;
    uint64_t offset = 0, bytes = 0;
    int64_t address;
    if (buffer_meant(gl, &object) != 0 || ferry_gl_text(gl, "access", &access) != 0)
        return -1;
    if (!object || !object->id)
        return unsized(gl, object);
    bool whole = !ferry_gl_has(gl, "length");
    if (!whole && (ferry_gl_unsigned(gl, "offset", MOST_BYTES, &offset) != 0 ||
                   ferry_gl_unsigned(gl, "length", MOST_BYTES, &bytes) != 0))
        return -1;
    if (whole)
        bytes = object->bytes;
    if (!ferry_dump_number(gl->call->result, &address) || address == 0)
        return 0; // refused by the driver
    bool writes = strstr(access, "WRITE") != NULL;
    bool discard = strstr(access, "GL_MAP_INVALIDATE_BUFFER_BIT") ||
                   (strstr(access, "GL_MAP_INVALIDATE_RANGE_BIT") && bytes == object->bytes);
    return ferry_buffer_map(gl->memory, object, (uint64_t)address, offset, bytes, writes, discard);
}

static int unmap(struct ferry_gl *gl)
{
    struct ferry_gl_object *object;
    if (buffer_meant(gl, &object) != 0)
        return -1;
    return object ? ferry_buffer_unmap(gl->memory, object) : unsized(gl, NULL);
}

static int copy_to(struct ferry_gl *gl)
{
    uint64_t address, bytes;
    if (ferry_gl_unsigned(gl, "dest", UINT64_MAX, &address) != 0 || ferry_gl_unsigned(gl, "n", MOST_BYTES, &bytes) != 0)
        return -1;
    return ferry_buffer_copy_to(gl->memory, address, bytes);
}

// ---- Binding --------------------------------------------------------------------------------------------------------

static int bind(struct ferry_gl *gl)
{
    const char *target;
    uint64_t name;
    struct ferry_gl_object *object = NULL;
    if (ferry_gl_text(gl, "target", &target) != 0 || ferry_gl_unsigned(gl, "buffer", MOST_NAME, &name) != 0)
        return -1;
    enum ferry_gl_slot slot = ferry_gl_slot_of(target);
    if (name != 0 && !(object = ferry_gl_object(gl, FERRY_GL_BUFFER, name)))
        return -1;
    if (slot != FERRY_GL_NO_SLOT)
        *ferry_gl_slot(gl, slot) = slot == FERRY_GL_ELEMENTS ? ferry_gl_hold(object) : ferry_gl_refer(object);
    return 0;
}

static void bind_at(struct ferry_gl_reference *places, unsigned *used, uint64_t index, struct ferry_gl_reference what)
{
    if (index >= FERRY_GL_INDEXED)
        return;
    places[index] = what;
    if (index >= *used)
        *used = (unsigned)index + 1;
}

static int bind_indexed(struct ferry_gl *gl)
{
    const char *target;
    uint64_t index;
    if (bind(gl) != 0 || ferry_gl_text(gl, "target", &target) != 0 ||
        ferry_gl_unsigned(gl, "index", MOST_NAME, &index) != 0)
        return -1;
    enum ferry_gl_slot slot = ferry_gl_slot_of(target);
    struct ferry_gl_context *context = gl->context;
    if (slot == FERRY_GL_UNIFORM)
        bind_at(context->uniforms, &context->uniforms_used, index, context->slots[slot]);
    // Of these two the GPU may write.
    if (slot == FERRY_GL_STORAGE || slot == FERRY_GL_ATOMIC)
        bind_at(context->storages, &context->storages_used, index + (slot == FERRY_GL_ATOMIC ? 128 : 0),
                context->slots[slot]);
    return 0;
}

// ---- Names ----------------------------------------------------------------------------------------------------------

// The list of a glGen or glDelete call: the last argument. *left is how many count.
static int list_of(struct ferry_gl *gl, const char **list, uint64_t *left)
{
    if (ferry_gl_unsigned(gl, "n", MOST_NAME, left) != 0)
        return -1;
    *list = gl->call->arguments[gl->call->argument_count - 1].value;
    return 0;
}

static int generate(struct ferry_gl *gl, enum ferry_gl_kind kind)
{
    const char *list;
    uint64_t left;
    int64_t name;
    if (list_of(gl, &list, &left) != 0)
        return -1;
    while (left-- && ferry_dump_next_number(&list, &name)) {
        struct ferry_gl_object *object = name > 0 ? ferry_gl_object(gl, kind, (uint64_t)name) : NULL;
        if (name > 0 && !object)
            return -1;
        if (object)
            object->generated = true;
    }
    return 0;
}

static int delete_names(struct ferry_gl *gl, enum ferry_gl_kind kind)
{
    const char *list;
    uint64_t left;
    int64_t name;
    struct ferry_name_table *table = &gl->context->group->objects[kind];
    if (list_of(gl, &list, &left) != 0)
        return -1;
    while (left-- && ferry_dump_next_number(&list, &name)) {
        struct ferry_gl_object *object = ferry_name_get(table, (uint64_t)name);
        if (!object)
            continue;
        if (ferry_gl_delete(gl, object) != 0)
            return -1;
    }
    return 0;
}

static int gen_buffers(struct ferry_gl *gl)
{
    return generate(gl, FERRY_GL_BUFFER);
}

static int gen_textures(struct ferry_gl *gl)
{
    return generate(gl, FERRY_GL_TEXTURE);
}

static int gen_renderbuffers(struct ferry_gl *gl)
{
    return generate(gl, FERRY_GL_RENDERBUFFER);
}

static int create_textures(struct ferry_gl *gl)
{
    const char *target, *list;
    uint64_t left;
    int64_t name;
    unsigned face;
    if (generate(gl, FERRY_GL_TEXTURE) != 0 || ferry_gl_text(gl, "target", &target) != 0 ||
        list_of(gl, &list, &left) != 0)
        return -1;
    int number = ferry_gl_target_of(target, &face);
    while (left-- && ferry_dump_next_number(&list, &name)) {
        struct ferry_gl_object *object = ferry_name_get(&gl->context->group->objects[FERRY_GL_TEXTURE], (uint64_t)name);
        if (object) {
            object->target = number;
            object->cube = number == 3;
        }
    }
    return 0;
}

static int delete_buffers(struct ferry_gl *gl)
{
    return delete_names(gl, FERRY_GL_BUFFER);
}

static int delete_textures(struct ferry_gl *gl)
{
    return delete_names(gl, FERRY_GL_TEXTURE);
}

static int delete_renderbuffers(struct ferry_gl *gl)
{
    return delete_names(gl, FERRY_GL_RENDERBUFFER);
}

const struct ferry_gl_call_rule ferry_gl_buffer_calls[] = {
    {"glBindBuffer", bind, false},
    {"glBindBufferBase", bind_indexed, false},
    {"glBindBufferRange", bind_indexed, false},
    {"glBufferData", data, false},
    {"glBufferStorage", data, false},
    {"glBufferSubData", sub_data, false},
    {"glClearBufferData", clear_data, false},
    {"glClearBufferSubData", clear_data, false},
    {"glClearNamedBufferData", clear_data, false},
    {"glClearNamedBufferSubData", clear_data, false},
    {"glCopyBufferSubData", copy_data, false},
    {"glCopyNamedBufferSubData", copy_data, false},
    {"glCreateBuffers", gen_buffers, false},
    {"glCreateRenderbuffers", gen_renderbuffers, false},
    {"glCreateTextures", create_textures, false},
    {"glDeleteBuffers", delete_buffers, false},
    {"glDeleteRenderbuffers", delete_renderbuffers, false},
    {"glDeleteTextures", delete_textures, false},
    {"glGenBuffers", gen_buffers, false},
    {"glGenRenderbuffers", gen_renderbuffers, false},
    {"glGenTextures", gen_textures, false},
    {"glMapBuffer", map, false},
    {"glMapBufferRange", map, false},
    {"glMapNamedBuffer", map, false},
    {"glMapNamedBufferRange", map, false},
    {"glNamedBufferData", data, false},
    {"glNamedBufferStorage", data, false},
    {"glNamedBufferSubData", sub_data, false},
    {"glUnmapBuffer", unmap, false},
    {"glUnmapNamedBuffer", unmap, false},
    {"memcpy", copy_to, false},
    {0},
};
