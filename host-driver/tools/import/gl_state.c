// SPDX-License-Identifier: Apache-2.0
#include "tools/import/gl_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// ---- Arguments ------------------------------------------------------------------------------------------------------

static int missing(struct ferry_gl *gl, const char *name)
{
    return ferry_memory_refuse(gl->memory, "%.40s has no argument '%s': the text of another version of apitrace?",
                               gl->call->name, name);
}

bool ferry_gl_has(struct ferry_gl *gl, const char *name)
{
    return ferry_dump_value(gl->call, name) != NULL;
}

int ferry_gl_text(struct ferry_gl *gl, const char *name, const char **text)
{
    *text = ferry_dump_value(gl->call, name);
    return *text ? 0 : missing(gl, name);
}

int ferry_gl_number(struct ferry_gl *gl, const char *name, int64_t *number)
{
    const char *value;
    if (ferry_gl_text(gl, name, &value) != 0)
        return -1;
    if (strcmp(value, "NULL") == 0 || strcmp(value, "False") == 0 || strcmp(value, "GL_FALSE") == 0)
        *number = 0;
    else if (strcmp(value, "True") == 0 || strcmp(value, "GL_TRUE") == 0)
        *number = 1;
    else if (!ferry_dump_number(value, number))
        return ferry_memory_refuse(gl->memory, "%.40s: %s = %.40s is not a number", gl->call->name, name, value);
    return 0;
}

int ferry_gl_unsigned(struct ferry_gl *gl, const char *name, uint64_t most, uint64_t *number)
{
    int64_t value;
    if (ferry_gl_number(gl, name, &value) != 0)
        return -1;
    if (value < 0 || (uint64_t)value > most)
        return ferry_memory_refuse(gl->memory, "%.40s: %s = %" PRId64 " is impossible: 0 to %" PRIu64, gl->call->name,
                                   name, value, most);
    *number = (uint64_t)value;
    return 0;
}

// ---- Objects --------------------------------------------------------------------------------------------------------

struct ferry_gl_object *ferry_gl_find(struct ferry_gl *gl, enum ferry_gl_kind kind, struct ferry_gl_reference reference)
{
    if (reference.name == 0)
        return NULL;
    struct ferry_gl_object *object = ferry_name_get(&gl->context->group->objects[kind], reference.name);
    if (object && object->serial == reference.serial)
        return object;
    object = ferry_name_get(&gl->context->group->orphans, reference.serial);
    return object && object->kind == kind ? object : NULL;
}

struct ferry_gl_object *ferry_gl_object(struct ferry_gl *gl, enum ferry_gl_kind kind, uint64_t name)
{
    struct ferry_name_table *table = &gl->context->group->objects[kind];
    struct ferry_gl_object *object = ferry_name_get(table, name);
    if (object)
        return object;
    object = ferry_object_new(gl->memory, kind, name);
    if (object && ferry_name_set(table, name, object) != 0) {
        ferry_memory_refuse(gl->memory, "no memory left");
        (void)ferry_object_delete(gl->memory, object);
        return NULL;
    }
    return object;
}

struct ferry_gl_reference ferry_gl_refer(const struct ferry_gl_object *object)
{
    return object ? (struct ferry_gl_reference){object->name, object->serial} : (struct ferry_gl_reference){0};
}

struct ferry_gl_framebuffer *ferry_gl_framebuffer(struct ferry_gl *gl, uint64_t name)
{
    struct ferry_name_table *table = &gl->context->framebuffers;
    struct ferry_gl_framebuffer *framebuffer = ferry_name_get(table, name);
    if (framebuffer || name == 0)
        return framebuffer;
    framebuffer = calloc(1, sizeof *framebuffer);
    if (!framebuffer || ferry_name_set(table, name, framebuffer) != 0) {
        free(framebuffer);
        ferry_memory_refuse(gl->memory, "no memory left");
        return NULL;
    }
    return framebuffer;
}

// ---- Names of bindings ----------------------------------------------------------------------------------------------

// Compared without the ending of the maker that first had it.
static bool is_called(const char *text, const char *name)
{
    size_t length = strlen(name);
    if (strncmp(text, "GL_", 3) != 0 || strncmp(text + 3, name, length) != 0)
        return false;
    text += 3 + length;
    return *text == 0 || strcmp(text, "_ARB") == 0 || strcmp(text, "_EXT") == 0 || strcmp(text, "_OES") == 0 ||
           strcmp(text, "_NV") == 0;
}

enum ferry_gl_slot ferry_gl_slot_of(const char *target)
{
    static const struct {
        const char *name;
        enum ferry_gl_slot slot;
    } slots[] = {{"ARRAY_BUFFER", FERRY_GL_ARRAY},
                 {"ELEMENT_ARRAY_BUFFER", FERRY_GL_ELEMENTS},
                 {"PIXEL_PACK_BUFFER", FERRY_GL_PACK},
                 {"PIXEL_UNPACK_BUFFER", FERRY_GL_UNPACK},
                 {"UNIFORM_BUFFER", FERRY_GL_UNIFORM},
                 {"SHADER_STORAGE_BUFFER", FERRY_GL_STORAGE},
                 {"ATOMIC_COUNTER_BUFFER", FERRY_GL_ATOMIC},
                 {"TRANSFORM_FEEDBACK_BUFFER", FERRY_GL_FEEDBACK},
                 {"COPY_READ_BUFFER", FERRY_GL_COPY_READ},
                 {"COPY_WRITE_BUFFER", FERRY_GL_COPY_WRITE},
                 {"TEXTURE_BUFFER", FERRY_GL_TEXEL},
                 {"DRAW_INDIRECT_BUFFER", FERRY_GL_INDIRECT},
                 {"DISPATCH_INDIRECT_BUFFER", FERRY_GL_DISPATCH},
                 {"QUERY_BUFFER", FERRY_GL_QUERY},
                 {"PARAMETER_BUFFER", FERRY_GL_PARAMETER}};
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
        if (is_called(target, slots[i].name))
            return slots[i].slot;
    }
    return FERRY_GL_NO_SLOT;
}

struct ferry_gl_reference *ferry_gl_slot(struct ferry_gl *gl, enum ferry_gl_slot slot)
{
    return slot == FERRY_GL_ELEMENTS ? &gl->context->vertex_array->elements : &gl->context->slots[slot];
}

int ferry_gl_target_of(const char *target, unsigned *face)
{
    static const char *const names[FERRY_GL_TARGETS] = {"TEXTURE_1D",
                                                        "TEXTURE_2D",
                                                        "TEXTURE_3D",
                                                        "TEXTURE_CUBE_MAP",
                                                        "TEXTURE_1D_ARRAY",
                                                        "TEXTURE_2D_ARRAY",
                                                        "TEXTURE_RECTANGLE",
                                                        "TEXTURE_CUBE_MAP_ARRAY",
                                                        "TEXTURE_BUFFER",
                                                        "TEXTURE_2D_MULTISAMPLE",
                                                        "TEXTURE_2D_MULTISAMPLE_ARRAY",
                                                        "TEXTURE_EXTERNAL"};
    static const char *const sides[6] = {"POSITIVE_X", "NEGATIVE_X", "POSITIVE_Y",
                                         "NEGATIVE_Y", "POSITIVE_Z", "NEGATIVE_Z"};
    *face = 0;
    for (int i = 0; i < FERRY_GL_TARGETS; i++) {
        if (is_called(target, names[i]))
            return i;
    }
    if (strncmp(target, "GL_TEXTURE_CUBE_MAP_", 20) == 0) {
        for (unsigned i = 0; i < 6; i++) {
            if (strncmp(target + 20, sides[i], 10) == 0) {
                *face = i;
                return 3;
            }
        }
    }
    return -1;
}
