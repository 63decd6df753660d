// SPDX-License-Identifier: Apache-2.0
// Vertex arrays: which buffers a draw takes its vertices from.
#include <stdlib.h>
#include <string.h>

#include "tools/import/gl_state.h"

#define MOST_NAME UINT32_MAX

static struct ferry_gl_vertex_array *array_named(struct ferry_gl *gl, uint64_t name)
{
    struct ferry_gl_vertex_array *array = ferry_name_get(&gl->context->vertex_arrays, name);
    if (array)
        return array;
    array = calloc(1, sizeof *array);
    if (!array || ferry_name_set(&gl->context->vertex_arrays, name, array) != 0) {
        free(array);
        ferry_memory_refuse(gl->memory, "no memory left");
        return NULL;
    }
    for (unsigned i = 0; i < FERRY_GL_ATTRIBUTES; i++)
        array->attributes[i].binding = i;
    return array;
}

// Of "vaobj = ...", else what is bound.
static int array_meant(struct ferry_gl *gl, struct ferry_gl_vertex_array **array)
{
    uint64_t name;
    *array = gl->context->vertex_array;
    if (!ferry_gl_has(gl, "vaobj"))
        return 0;
    if (ferry_gl_unsigned(gl, "vaobj", MOST_NAME, &name) != 0)
        return -1;
    *array = array_named(gl, name);
    return *array ? 0 : -1;
}

static int bind_array(struct ferry_gl *gl)
{
    uint64_t name;
    if (ferry_gl_unsigned(gl, "array", MOST_NAME, &name) != 0)
        return -1;
    struct ferry_gl_vertex_array *array = array_named(gl, name);
    if (!array)
        return -1;
    gl->context->vertex_array = array;
    gl->context->vertex_array_name = name;
    return 0;
}

static int delete_arrays(struct ferry_gl *gl)
{
    const char *list = gl->call->argument_count ? gl->call->arguments[gl->call->argument_count - 1].value : "";
    struct ferry_name_table *table = &gl->context->vertex_arrays;
    int64_t name;
    while (ferry_dump_next_number(&list, &name)) {
        struct ferry_gl_vertex_array *array = name > 0 ? ferry_name_get(table, (uint64_t)name) : NULL;
        if (!array)
            continue;
        if (gl->context->vertex_array == array) {
            gl->context->vertex_array = ferry_name_get(table, 0);
            gl->context->vertex_array_name = 0;
        }
        ferry_name_remove(table, (uint64_t)name);
        free(array);
    }
    return 0;
}

// An attribute by number, in whichever word; false where there is none so high.
static int attribute_meant(struct ferry_gl *gl, const char *name, unsigned *attribute)
{
    uint64_t number;
    if (ferry_gl_unsigned(gl, name, MOST_NAME, &number) != 0)
        return -1;
    *attribute = number < FERRY_GL_FIXED ? (unsigned)number : FERRY_GL_ATTRIBUTES;
    return 0;
}

static int switch_attribute(struct ferry_gl *gl)
{
    struct ferry_gl_vertex_array *array;
    unsigned attribute;
    if (array_meant(gl, &array) != 0 || attribute_meant(gl, "index", &attribute) != 0)
        return -1;
    if (attribute < FERRY_GL_ATTRIBUTES)
        array->attributes[attribute].enabled = strncmp(gl->call->name, "glEnable", 8) == 0;
    return 0;
}

// It takes its vertices from what is bound now.
static void point(struct ferry_gl *gl, unsigned attribute)
{
    struct ferry_gl_vertex_array *array = gl->context->vertex_array;
    if (attribute >= FERRY_GL_ATTRIBUTES)
        return;
    array->attributes[attribute].binding = attribute;
    if (attribute >= array->buffers_used)
        array->buffers_used = attribute + 1;
    array->buffers[attribute] = ferry_gl_hold(ferry_gl_find(gl, FERRY_GL_BUFFER, gl->context->slots[FERRY_GL_ARRAY]));
}

static int attribute_pointer(struct ferry_gl *gl)
{
    unsigned attribute;
    if (attribute_meant(gl, "index", &attribute) != 0)
        return -1;
    point(gl, attribute);
    return 0;
}

// Arrays of fixed function, after the numbered ones; those of texture coordinates one a unit, last.
static unsigned fixed_of(const struct ferry_gl *gl, const char *name)
{
    static const char *const names[] = {"VERTEX",    "NORMAL",    "COLOR",          "INDEX",
                                        "EDGE_FLAG", "FOG_COORD", "SECONDARY_COLOR"};
    static const char *const calls[] = {"Vertex", "Normal", "Color", "Index", "EdgeFlag", "FogCoord", "SecondaryColor"};
    for (unsigned i = 0; i < 7; i++) {
        if (strncmp(name, "GL_", 3) == 0 ? strncmp(name + 3, names[i], strlen(names[i])) == 0
                                         : strncmp(name + 2, calls[i], strlen(calls[i])) == 0)
            return FERRY_GL_FIXED + i;
    }
    if (strncmp(name, "GL_TEXTURE_COORD", 16) == 0 || strncmp(name, "glTexCoord", 10) == 0)
        return FERRY_GL_FIXED + 8 + gl->context->client_unit % 8;
    return FERRY_GL_ATTRIBUTES;
}

static int fixed_pointer(struct ferry_gl *gl)
{
    point(gl, fixed_of(gl, gl->call->name));
    return 0;
}

// One array with all of them in it.
static int interleaved(struct ferry_gl *gl)
{
    point(gl, FERRY_GL_FIXED);
    gl->context->vertex_array->attributes[FERRY_GL_FIXED].enabled = true;
    return 0;
}

static int switch_fixed(struct ferry_gl *gl)
{
    const char *name = ferry_dump_value(gl->call, "array");
    if (!name && ferry_gl_text(gl, "cap", &name) != 0)
        return -1;
    unsigned attribute = fixed_of(gl, name);
    if (attribute < FERRY_GL_ATTRIBUTES)
        gl->context->vertex_array->attributes[attribute].enabled = strncmp(gl->call->name, "glEnable", 8) == 0;
    return 0;
}

static int bind_vertices(struct ferry_gl *gl)
{
    struct ferry_gl_vertex_array *array;
    unsigned binding;
    uint64_t name;
    if (array_meant(gl, &array) != 0 || attribute_meant(gl, "bindingindex", &binding) != 0 ||
        ferry_gl_unsigned(gl, "buffer", MOST_NAME, &name) != 0)
        return -1;
    struct ferry_gl_object *object = name ? ferry_gl_object(gl, FERRY_GL_BUFFER, name) : NULL;
    if (binding < FERRY_GL_ATTRIBUTES) {
        array->buffers[binding] = ferry_gl_hold(object);
        if (binding >= array->buffers_used)
            array->buffers_used = binding + 1;
    }
    return name && !object ? -1 : 0;
}

static int attribute_binding(struct ferry_gl *gl)
{
    struct ferry_gl_vertex_array *array;
    unsigned attribute, binding;
    if (array_meant(gl, &array) != 0 || attribute_meant(gl, "attribindex", &attribute) != 0 ||
        attribute_meant(gl, "bindingindex", &binding) != 0)
        return -1;
    if (attribute < FERRY_GL_ATTRIBUTES && binding < FERRY_GL_ATTRIBUTES)
        array->attributes[attribute].binding = binding;
    return 0;
}

static int element_buffer(struct ferry_gl *gl)
{
    struct ferry_gl_vertex_array *array;
    uint64_t name;
    if (array_meant(gl, &array) != 0 || ferry_gl_unsigned(gl, "buffer", MOST_NAME, &name) != 0)
        return -1;
    struct ferry_gl_object *object = name ? ferry_gl_object(gl, FERRY_GL_BUFFER, name) : NULL;
    array->elements = ferry_gl_hold(object);
    return name && !object ? -1 : 0;
}

const struct ferry_gl_call_rule ferry_gl_vertex_calls[] = {
    {"glBindVertexArray", bind_array, false},
    {"glBindVertexBuffer", bind_vertices, false},
    {"glColorPointer", fixed_pointer, false},
    {"glDeleteVertexArrays", delete_arrays, false},
    {"glDisableClientState", switch_fixed, false},
    {"glDisableVertexArrayAttrib", switch_attribute, false},
    {"glDisableVertexAttribArray", switch_attribute, false},
    {"glEdgeFlagPointer", fixed_pointer, false},
    {"glEnableClientState", switch_fixed, false},
    {"glEnableVertexArrayAttrib", switch_attribute, false},
    {"glEnableVertexAttribArray", switch_attribute, false},
    {"glFogCoordPointer", fixed_pointer, false},
    {"glIndexPointer", fixed_pointer, false},
    {"glInterleavedArrays", interleaved, false},
    {"glNormalPointer", fixed_pointer, false},
    {"glSecondaryColorPointer", fixed_pointer, false},
    {"glTexCoordPointer", fixed_pointer, false},
    {"glVertexArrayAttribBinding", attribute_binding, false},
    {"glVertexArrayElementBuffer", element_buffer, false},
    {"glVertexArrayVertexBuffer", bind_vertices, false},
    {"glVertexAttribBinding", attribute_binding, false},
    {"glVertexAttribIPointer", attribute_pointer, false},
    {"glVertexAttribLPointer", attribute_pointer, false},
    {"glVertexAttribPointer", attribute_pointer, false},
    {"glVertexPointer", fixed_pointer, false},
    {0},
};
