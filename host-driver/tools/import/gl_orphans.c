// SPDX-License-Identifier: Apache-2.0
// What is deleted while something that is not bound holds it: a framebuffer, a vertex array, a texture of texels.
// OpenGL takes the name at once and the memory with the last holder; here that is seen at the end of the frame.
#include "tools/import/gl_state.h"

static void let_go(struct ferry_gl_reference *places, size_t count, struct ferry_gl_reference gone)
{
    for (size_t i = 0; i < count; i++) {
        if (places[i].name == gone.name && places[i].serial == gone.serial)
            places[i] = (struct ferry_gl_reference){0};
    }
}

static void detach(struct ferry_gl_framebuffer *framebuffer, const struct ferry_gl_object *object)
{
    for (unsigned i = 0; framebuffer && i < FERRY_GL_ATTACHMENTS; i++) {
        if (framebuffer->attachments[i].kind == object->kind)
            let_go(&framebuffer->attachments[i].object, 1, ferry_gl_refer(object));
    }
}

// The context that deletes something has it nowhere bound any more.
static void unbind(struct ferry_gl_context *context, const struct ferry_gl_object *object)
{
    struct ferry_gl_reference gone = ferry_gl_refer(object);
    detach(ferry_name_get(&context->framebuffers, context->draw_framebuffer), object);
    detach(ferry_name_get(&context->framebuffers, context->read_framebuffer), object);
    if (object->kind == FERRY_GL_TEXTURE) {
        for (unsigned unit = 0; unit < context->units_used; unit++)
            let_go(context->textures[unit], FERRY_GL_TARGETS, gone);
        let_go(context->images, context->images_used, gone);
    }
    if (object->kind == FERRY_GL_RENDERBUFFER)
        let_go(&context->renderbuffer, 1, gone);
    if (object->kind != FERRY_GL_BUFFER)
        return;
    let_go(context->slots, FERRY_GL_SLOTS, gone);
    let_go(context->uniforms, context->uniforms_used, gone);
    let_go(context->storages, context->storages_used, gone);
    let_go(&context->vertex_array->elements, 1, gone);
    let_go(context->vertex_array->buffers, FERRY_GL_ATTRIBUTES, gone);
}

struct ferry_gl_reference ferry_gl_hold(struct ferry_gl_object *object)
{
    if (object)
        object->holdable = true;
    return ferry_gl_refer(object);
}

static void hold(struct ferry_gl *gl, const struct ferry_gl_group *group, struct ferry_gl_reference reference)
{
    struct ferry_gl_object *orphan = reference.name ? ferry_name_get(&group->orphans, reference.serial) : NULL;
    if (orphan)
        orphan->held = gl->sweeps;
}

static void hold_all(struct ferry_gl *gl, const struct ferry_gl_context *context)
{
    const struct ferry_gl_group *group = context->group;
    for (size_t at = 0; at < context->framebuffers.places; at++) {
        const struct ferry_gl_framebuffer *framebuffer = context->framebuffers.things[at];
        for (unsigned i = 0; framebuffer && i < FERRY_GL_ATTACHMENTS; i++)
            hold(gl, group, framebuffer->attachments[i].object);
    }
    for (size_t at = 0; at < context->vertex_arrays.places; at++) {
        const struct ferry_gl_vertex_array *array = context->vertex_arrays.things[at];
        for (unsigned i = 0; array && i < array->buffers_used; i++)
            hold(gl, group, array->buffers[i]);
        if (array)
            hold(gl, group, array->elements);
    }
    const struct ferry_name_table *textures = &group->objects[FERRY_GL_TEXTURE];
    for (size_t at = 0; at < textures->places; at++) {
        const struct ferry_gl_object *texture = textures->things[at];
        if (texture)
            hold(gl, group, (struct ferry_gl_reference){texture->texel_buffer, texture->texel_buffer_serial});
    }
}

int ferry_gl_sweep(struct ferry_gl *gl)
{
    gl->sweeps++;
    for (size_t i = 0; i < gl->contexts.places; i++) {
        const struct ferry_gl_context *context = gl->contexts.things[i];
        if (context && context->group->orphans.count)
            hold_all(gl, context);
    }
    for (size_t i = 0; i < gl->contexts.places; i++) {
        const struct ferry_gl_context *context = gl->contexts.things[i];
        struct ferry_name_table *orphans = context ? &context->group->orphans : NULL;
        for (size_t at = 0; orphans && at < orphans->places;) {
            struct ferry_gl_object *orphan = orphans->things[at];
            if (!orphan || orphan->held == gl->sweeps) {
                at++;
                continue;
            }
            ferry_name_remove(orphans, orphan->serial); // another may move up to here
            if (ferry_object_delete(gl->memory, orphan) != 0)
                return -1;
        }
    }
    return 0;
}

static bool names(const struct ferry_gl_reference *places, size_t count, const struct ferry_gl_object *object)
{
    for (size_t i = 0; i < count; i++) {
        if (places[i].name == object->name && places[i].serial == object->serial)
            return true;
    }
    return false;
}

static bool held_by(const struct ferry_gl_context *context, const struct ferry_gl_object *object)
{
    for (size_t at = 0; object->kind != FERRY_GL_BUFFER && at < context->framebuffers.places; at++) {
        const struct ferry_gl_framebuffer *framebuffer = context->framebuffers.things[at];
        for (unsigned i = 0; framebuffer && i < FERRY_GL_ATTACHMENTS; i++) {
            if (framebuffer->attachments[i].kind == object->kind &&
                names(&framebuffer->attachments[i].object, 1, object))
                return true;
        }
    }
    for (size_t at = 0; object->kind == FERRY_GL_BUFFER && at < context->vertex_arrays.places; at++) {
        const struct ferry_gl_vertex_array *array = context->vertex_arrays.things[at];
        if (array && (names(&array->elements, 1, object) || names(array->buffers, array->buffers_used, object)))
            return true;
    }
    const struct ferry_name_table *textures = &context->group->objects[FERRY_GL_TEXTURE];
    for (size_t at = 0; object->kind == FERRY_GL_BUFFER && at < textures->places; at++) {
        const struct ferry_gl_object *texture = textures->things[at];
        if (texture && texture->texel_buffer_serial == object->serial)
            return true;
    }
    return false;
}

int ferry_gl_delete(struct ferry_gl *gl, struct ferry_gl_object *object)
{
    struct ferry_gl_group *group = gl->context->group;
    bool held = false;
    ferry_name_remove(&group->objects[object->kind], object->name);
    unbind(gl->context, object);
    for (size_t i = 0; object->holdable && i < gl->contexts.places && !held; i++) {
        const struct ferry_gl_context *context = gl->contexts.things[i];
        held = context && context->group == group && held_by(context, object);
    }
    if (!held)
        return ferry_object_delete(gl->memory, object);
    if (ferry_buffer_unmap(gl->memory, object) == 0 && ferry_name_set(&group->orphans, object->serial, object) == 0)
        return 0;
    (void)ferry_object_delete(gl->memory, object);
    return ferry_memory_refuse(gl->memory, "no memory left");
}
