// SPDX-License-Identifier: Apache-2.0
// The stacks of attributes that old programs save their bindings on, as far as they name memory.
#include <stdlib.h>
#include <string.h>

#include "tools/import/gl_state.h"

struct ferry_gl_saved {
    bool has_textures, has_enables;
    unsigned unit;
    struct ferry_gl_reference textures[FERRY_GL_UNITS][FERRY_GL_TARGETS];
    uint32_t enabled[FERRY_GL_UNITS];
};

struct ferry_gl_client_saved {
    bool has_arrays, has_pixels;
    unsigned client_unit;
    uint64_t array_name;
    struct ferry_gl_vertex_array array;
    struct ferry_gl_reference array_slot, pack, unpack;
};

static bool names_bit(const char *mask, const char *word, int64_t bit)
{
    int64_t number;
    return strstr(mask, word) || strstr(mask, "ALL_ATTRIB_BITS") || (ferry_dump_number(mask, &number) && number & bit);
}

// One more than there is room for is the program's error, and changes nothing.
static int push(struct ferry_gl *gl)
{
    struct ferry_gl_context *context = gl->context;
    const char *mask;
    if (ferry_gl_text(gl, "mask", &mask) != 0)
        return -1;
    if (context->saved_count == FERRY_GL_SAVED)
        return 0;
    struct ferry_gl_saved *saved = calloc(1, sizeof *saved);
    if (!saved)
        return ferry_memory_refuse(gl->memory, "no memory left");
    saved->has_textures = names_bit(mask, "GL_TEXTURE_BIT", 0x40000);
    saved->has_enables = saved->has_textures || names_bit(mask, "GL_ENABLE_BIT", 0x2000);
    saved->unit = context->unit;
    memcpy(saved->textures, context->textures, sizeof saved->textures);
    memcpy(saved->enabled, context->enabled, sizeof saved->enabled);
    context->saved[context->saved_count++] = saved;
    return 0;
}

static int pop(struct ferry_gl *gl)
{
    struct ferry_gl_context *context = gl->context;
    if (context->saved_count == 0)
        return 0;
    struct ferry_gl_saved *saved = context->saved[--context->saved_count];
    if (saved->has_textures) {
        context->unit = saved->unit;
        memcpy(context->textures, saved->textures, sizeof saved->textures);
    }
    if (saved->has_enables)
        memcpy(context->enabled, saved->enabled, sizeof saved->enabled);
    free(saved);
    return 0;
}

static int push_client(struct ferry_gl *gl)
{
    struct ferry_gl_context *context = gl->context;
    const char *mask;
    if (ferry_gl_text(gl, "mask", &mask) != 0)
        return -1;
    if (context->client_saved_count == FERRY_GL_SAVED)
        return 0;
    struct ferry_gl_client_saved *saved = calloc(1, sizeof *saved);
    if (!saved)
        return ferry_memory_refuse(gl->memory, "no memory left");
    saved->has_arrays = names_bit(mask, "GL_CLIENT_VERTEX_ARRAY_BIT", 2);
    saved->has_pixels = names_bit(mask, "GL_CLIENT_PIXEL_STORE_BIT", 1);
    saved->client_unit = context->client_unit;
    saved->array_name = context->vertex_array_name;
    saved->array = *context->vertex_array;
    saved->array_slot = context->slots[FERRY_GL_ARRAY];
    saved->pack = context->slots[FERRY_GL_PACK];
    saved->unpack = context->slots[FERRY_GL_UNPACK];
    context->client_saved[context->client_saved_count++] = saved;
    return 0;
}

static int pop_client(struct ferry_gl *gl)
{
    struct ferry_gl_context *context = gl->context;
    if (context->client_saved_count == 0)
        return 0;
    struct ferry_gl_client_saved *saved = context->client_saved[--context->client_saved_count];
    struct ferry_gl_vertex_array *array = ferry_name_get(&context->vertex_arrays, saved->array_name);
    if (saved->has_arrays && array) {
        *array = saved->array;
        context->vertex_array = array;
        context->vertex_array_name = saved->array_name;
        context->client_unit = saved->client_unit;
        context->slots[FERRY_GL_ARRAY] = saved->array_slot;
    }
    if (saved->has_pixels) {
        context->slots[FERRY_GL_PACK] = saved->pack;
        context->slots[FERRY_GL_UNPACK] = saved->unpack;
    }
    free(saved);
    return 0;
}

void ferry_gl_attributes_free(struct ferry_gl_context *context)
{
    while (context->saved_count)
        free(context->saved[--context->saved_count]);
    while (context->client_saved_count)
        free(context->client_saved[--context->client_saved_count]);
}

const struct ferry_gl_call_rule ferry_gl_attribute_calls[] = {
    {"glPopAttrib", pop, true},
    {"glPopClientAttrib", pop_client, false},
    {"glPushAttrib", push, true},
    {"glPushClientAttrib", push_client, false},
    {0},
};
