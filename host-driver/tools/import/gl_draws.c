// SPDX-License-Identifier: Apache-2.0
// Calls by which the GPU works, and what they can reach: textures, vertex arrays, framebuffers.
#include <stdlib.h>
#include <string.h>

#include "tools/import/gl_state.h"

#define MOST_NAME UINT32_MAX
#define DEPTH     16
#define STENCIL   17

// ---- Jobs -----------------------------------------------------------------------------------------------------------

static int reads(struct ferry_gl *gl, enum ferry_gl_kind kind, struct ferry_gl_reference reference)
{
    struct ferry_gl_object *object = ferry_gl_find(gl, kind, reference);
    if (!object)
        return 0;
    if (object->texel_buffer) {
        struct ferry_gl_object *texels = ferry_gl_find(
            gl, FERRY_GL_BUFFER, (struct ferry_gl_reference){object->texel_buffer, object->texel_buffer_serial});
        return texels ? ferry_job_reads(gl->memory, texels) : 0;
    }
    return ferry_job_reads(gl->memory, object);
}

static int writes(struct ferry_gl *gl, enum ferry_gl_kind kind, struct ferry_gl_reference reference)
{
    struct ferry_gl_object *object = ferry_gl_find(gl, kind, reference);
    return object ? ferry_job_writes(gl->memory, object) : 0;
}

// With shaders all that is bound (which of it a shader samples, the text does not tell); else what is switched on.
static int read_textures(struct ferry_gl *gl)
{
    const struct ferry_gl_context *context = gl->context;
    bool shaders = context->program != 0 || context->pipeline != 0;
    for (unsigned unit = 0; unit < context->units_used; unit++) {
        for (unsigned target = 0; target < FERRY_GL_TARGETS; target++) {
            if (context->textures[unit][target].name && (shaders || context->enabled[unit] >> target & 1) &&
                reads(gl, FERRY_GL_TEXTURE, context->textures[unit][target]) != 0)
                return -1;
        }
    }
    return 0;
}

static int read_list(struct ferry_gl *gl, const struct ferry_gl_reference *list, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (list[i].name && reads(gl, FERRY_GL_BUFFER, list[i]) != 0)
            return -1;
    }
    return 0;
}

// What a framebuffer holds of `mask`: bits of its attachments.
static int write_framebuffer(struct ferry_gl *gl, uint64_t name, uint32_t mask)
{
    const struct ferry_gl_framebuffer *framebuffer = ferry_name_get(&gl->context->framebuffers, name);
    for (unsigned i = 0; framebuffer && i < FERRY_GL_ATTACHMENTS; i++) {
        if ((mask >> i & 1) && writes(gl, framebuffer->attachments[i].kind, framebuffer->attachments[i].object) != 0)
            return -1;
    }
    return 0;
}

static int shader_memory(struct ferry_gl *gl)
{
    const struct ferry_gl_context *context = gl->context;
    if (read_textures(gl) != 0 || read_list(gl, context->uniforms, context->uniforms_used) != 0)
        return -1;
    for (unsigned i = 0; i < context->storages_used; i++) {
        if (reads(gl, FERRY_GL_BUFFER, context->storages[i]) != 0 ||
            writes(gl, FERRY_GL_BUFFER, context->storages[i]) != 0)
            return -1;
    }
    for (unsigned i = 0; i < context->images_used; i++) {
        if (reads(gl, FERRY_GL_TEXTURE, context->images[i]) != 0 ||
            writes(gl, FERRY_GL_TEXTURE, context->images[i]) != 0)
            return -1;
    }
    return 0;
}

static int draw(struct ferry_gl *gl)
{
    struct ferry_gl_context *context = gl->context;
    const struct ferry_gl_vertex_array *array = context->vertex_array;
    bool elements = strstr(gl->call->name, "Element") != NULL, indirect = strstr(gl->call->name, "Indirect") != NULL;
    gl->memory->report.draws++;
    ferry_job_begin(gl->memory);
    bool arrays = strcmp(gl->call->name, "glEnd") != 0 && strncmp(gl->call->name, "glRect", 6) != 0 &&
                  strncmp(gl->call->name, "glEvalMesh", 10) != 0;
    for (unsigned i = 0; i < FERRY_GL_ATTRIBUTES && arrays; i++) {
        if (array->attributes[i].enabled &&
            reads(gl, FERRY_GL_BUFFER, array->buffers[array->attributes[i].binding]) != 0)
            return -1;
    }
    if ((elements && reads(gl, FERRY_GL_BUFFER, array->elements) != 0) ||
        (indirect && reads(gl, FERRY_GL_BUFFER, context->slots[FERRY_GL_INDIRECT]) != 0) ||
        (indirect && strstr(gl->call->name, "Count") &&
         reads(gl, FERRY_GL_BUFFER, context->slots[FERRY_GL_PARAMETER]) != 0) ||
        shader_memory(gl) != 0 || write_framebuffer(gl, context->draw_framebuffer, UINT32_MAX) != 0)
        return -1;
    if (gl->memory->read_count + gl->memory->target_count == 0)
        ferry_memory_note(gl->memory, FERRY_IMPORT_NOTHING, 0);
    return ferry_job_end(gl->memory);
}

static int dispatch(struct ferry_gl *gl)
{
    gl->memory->report.draws++;
    ferry_job_begin(gl->memory);
    if (reads(gl, FERRY_GL_BUFFER, gl->context->slots[FERRY_GL_DISPATCH]) != 0 || shader_memory(gl) != 0)
        return -1;
    return ferry_job_end(gl->memory);
}

static int clear(struct ferry_gl *gl)
{
    const char *mask = ferry_dump_value(gl->call, "mask"), *buffer = ferry_dump_value(gl->call, "buffer");
    const char *what = mask ? mask : buffer ? buffer : "GL_COLOR";
    uint64_t name = gl->context->draw_framebuffer;
    uint32_t bits = 0;
    if (ferry_gl_has(gl, "framebuffer") && ferry_gl_unsigned(gl, "framebuffer", MOST_NAME, &name) != 0)
        return -1;
    if (strstr(what, "GL_COLOR"))
        bits |= 0xffff;
    if (strstr(what, "GL_DEPTH"))
        bits |= 1u << DEPTH;
    if (strstr(what, "STENCIL"))
        bits |= 1u << STENCIL;
    ferry_job_begin(gl->memory);
    return write_framebuffer(gl, name, bits) == 0 ? ferry_job_end(gl->memory) : -1;
}

static int read_framebuffer(struct ferry_gl *gl, uint64_t name)
{
    const struct ferry_gl_framebuffer *framebuffer = ferry_name_get(&gl->context->framebuffers, name);
    if (!framebuffer)
        ferry_memory_note(gl->memory, FERRY_IMPORT_WINDOW, 0);
    for (unsigned i = 0; framebuffer && i < FERRY_GL_ATTACHMENTS; i++) {
        if (reads(gl, framebuffer->attachments[i].kind, framebuffer->attachments[i].object) != 0)
            return -1;
    }
    return 0;
}

static int blit(struct ferry_gl *gl)
{
    uint64_t from = gl->context->read_framebuffer, to = gl->context->draw_framebuffer;
    if (ferry_gl_has(gl, "readFramebuffer") && (ferry_gl_unsigned(gl, "readFramebuffer", MOST_NAME, &from) != 0 ||
                                                ferry_gl_unsigned(gl, "drawFramebuffer", MOST_NAME, &to) != 0))
        return -1;
    ferry_job_begin(gl->memory);
    if (read_framebuffer(gl, from) != 0 || write_framebuffer(gl, to, UINT32_MAX) != 0)
        return -1;
    return ferry_job_end(gl->memory);
}

static int read_pixels(struct ferry_gl *gl)
{
    ferry_job_begin(gl->memory);
    if (read_framebuffer(gl, gl->context->read_framebuffer) != 0 ||
        writes(gl, FERRY_GL_BUFFER, gl->context->slots[FERRY_GL_PACK]) != 0)
        return -1;
    return ferry_job_end(gl->memory);
}

static int copy_images(struct ferry_gl *gl)
{
    static const char *const names[2] = {"srcName", "dstName"}, *const targets[2] = {"srcTarget", "dstTarget"};
    ferry_job_begin(gl->memory);
    for (int i = 0; i < 2; i++) {
        const char *target;
        uint64_t name;
        if (ferry_gl_unsigned(gl, names[i], MOST_NAME, &name) != 0 || ferry_gl_text(gl, targets[i], &target) != 0)
            return -1;
        enum ferry_gl_kind kind = strcmp(target, "GL_RENDERBUFFER") == 0 ? FERRY_GL_RENDERBUFFER : FERRY_GL_TEXTURE;
        struct ferry_gl_object *object = ferry_name_get(&gl->context->group->objects[kind], name);
        if (object && (i ? ferry_job_writes(gl->memory, object) : ferry_job_reads(gl->memory, object)) != 0)
            return -1;
    }
    return ferry_job_end(gl->memory);
}

static int clear_texture(struct ferry_gl *gl)
{
    uint64_t name;
    if (ferry_gl_unsigned(gl, "texture", MOST_NAME, &name) != 0)
        return -1;
    struct ferry_gl_object *object = ferry_name_get(&gl->context->group->objects[FERRY_GL_TEXTURE], name);
    ferry_job_begin(gl->memory);
    return !object || ferry_job_writes(gl->memory, object) == 0 ? ferry_job_end(gl->memory) : -1;
}

static int new_list(struct ferry_gl *gl)
{
    const char *mode;
    if (ferry_gl_text(gl, "mode", &mode) != 0)
        return -1;
    gl->context->compiling = strcmp(mode, "GL_COMPILE") == 0;
    return 0;
}

static int end_list(struct ferry_gl *gl)
{
    gl->context->compiling = false;
    return 0;
}

// ---- Textures -------------------------------------------------------------------------------------------------------

static void bind_unit(struct ferry_gl *gl, uint64_t unit, int target, struct ferry_gl_reference reference)
{
    if (unit >= FERRY_GL_UNITS)
        return;
    gl->context->textures[unit][target] = reference;
    if (unit >= gl->context->units_used)
        gl->context->units_used = (unsigned)unit + 1;
}

static int bind_texture(struct ferry_gl *gl)
{
    const char *target;
    uint64_t name;
    unsigned face;
    struct ferry_gl_object *object = NULL;
    if (ferry_gl_text(gl, "target", &target) != 0 || ferry_gl_unsigned(gl, "texture", MOST_NAME, &name) != 0)
        return -1;
    int number = ferry_gl_target_of(target, &face);
    if (number < 0)
        return ferry_memory_refuse(gl->memory, "glBindTexture: the target %.60s is not known", target);
    if (name && !(object = ferry_gl_object(gl, FERRY_GL_TEXTURE, name)))
        return -1;
    if (object && object->target < 0)
        object->target = number;
    if (object && number == 3)
        object->cube = true;
    bind_unit(gl, gl->context->unit, number, ferry_gl_refer(object));
    return 0;
}

static int bind_texture_unit(struct ferry_gl *gl)
{
    uint64_t unit, name;
    if (ferry_gl_unsigned(gl, "unit", MOST_NAME, &unit) != 0 || ferry_gl_unsigned(gl, "texture", MOST_NAME, &name) != 0)
        return -1;
    // One texture of each kind may stand there; this call's kind is the texture's own: one place is enough.
    bind_unit(gl, unit, 1, ferry_gl_refer(ferry_name_get(&gl->context->group->objects[FERRY_GL_TEXTURE], name)));
    return 0;
}

static int bind_image(struct ferry_gl *gl)
{
    uint64_t unit, name;
    if (ferry_gl_unsigned(gl, "unit", MOST_NAME, &unit) != 0 || ferry_gl_unsigned(gl, "texture", MOST_NAME, &name) != 0)
        return -1;
    if (unit >= FERRY_GL_INDEXED)
        return 0;
    gl->context->images[unit] = ferry_gl_refer(ferry_name_get(&gl->context->group->objects[FERRY_GL_TEXTURE], name));
    if (unit >= gl->context->images_used)
        gl->context->images_used = (unsigned)unit + 1;
    return 0;
}

static int unit_of(struct ferry_gl *gl, unsigned *unit)
{
    const char *text;
    int64_t number;
    const char *name = ferry_gl_has(gl, "texture") ? "texture" : "target";
    if (ferry_gl_text(gl, name, &text) != 0)
        return -1;
    if (strncmp(text, "GL_TEXTURE", 10) == 0 && ferry_dump_number(text + 10, &number))
        ;
    else if (ferry_dump_number(text, &number))
        number -= 0x84c0; // beyond those that have names
    else
        return ferry_memory_refuse(gl->memory, "%.40s: %.40s is no texture unit", gl->call->name, text);
    *unit = number >= 0 && number < FERRY_GL_UNITS ? (unsigned)number : *unit;
    return 0;
}

static int active_texture(struct ferry_gl *gl)
{
    return unit_of(gl, &gl->context->unit);
}

static int client_active_texture(struct ferry_gl *gl)
{
    return unit_of(gl, &gl->context->client_unit);
}

static int switch_capability(struct ferry_gl *gl)
{
    const char *name;
    unsigned face;
    if (ferry_gl_text(gl, "cap", &name) != 0)
        return -1;
    int target = ferry_gl_target_of(name, &face);
    if (target < 0)
        return 0;
    uint32_t bit = 1u << target;
    uint32_t *enabled = &gl->context->enabled[gl->context->unit];
    *enabled = strncmp(gl->call->name, "glEnable", 8) == 0 ? *enabled | bit : *enabled & ~bit;
    return 0;
}

static int use_program(struct ferry_gl *gl)
{
    const char *names[] = {"program", "programObj", "pipeline"};
    for (int i = 0; i < 3; i++) {
        if (ferry_gl_has(gl, names[i]))
            return ferry_gl_unsigned(gl, names[i], UINT64_MAX, i == 2 ? &gl->context->pipeline : &gl->context->program);
    }
    return 0;
}

// ---- Framebuffers ---------------------------------------------------------------------------------------------------

static int bind_framebuffer(struct ferry_gl *gl)
{
    const char *target;
    uint64_t name;
    if (ferry_gl_text(gl, "target", &target) != 0 || ferry_gl_unsigned(gl, "framebuffer", MOST_NAME, &name) != 0)
        return -1;
    if (name && !ferry_gl_framebuffer(gl, name))
        return -1;
    if (strncmp(target, "GL_READ_FRAMEBUFFER", 19) != 0)
        gl->context->draw_framebuffer = name;
    if (strncmp(target, "GL_DRAW_FRAMEBUFFER", 19) != 0)
        gl->context->read_framebuffer = name;
    return 0;
}

static int delete_framebuffers(struct ferry_gl *gl)
{
    const char *list = gl->call->argument_count ? gl->call->arguments[gl->call->argument_count - 1].value : "";
    int64_t name;
    while (ferry_dump_next_number(&list, &name)) {
        struct ferry_gl_framebuffer *framebuffer = ferry_name_get(&gl->context->framebuffers, (uint64_t)name);
        if (!framebuffer)
            continue;
        ferry_name_remove(&gl->context->framebuffers, (uint64_t)name);
        free(framebuffer);
        if (gl->context->draw_framebuffer == (uint64_t)name)
            gl->context->draw_framebuffer = 0;
        if (gl->context->read_framebuffer == (uint64_t)name)
            gl->context->read_framebuffer = 0;
    }
    return 0;
}

static int attach(struct ferry_gl *gl)
{
    const char *attachment, *target = ferry_dump_value(gl->call, "target");
    bool is_renderbuffer = ferry_gl_has(gl, "renderbuffer");
    enum ferry_gl_kind kind = is_renderbuffer ? FERRY_GL_RENDERBUFFER : FERRY_GL_TEXTURE;
    uint64_t name, of = target && strncmp(target, "GL_READ_FRAMEBUFFER", 19) == 0 ? gl->context->read_framebuffer
                                                                                  : gl->context->draw_framebuffer;
    int64_t colour = 0;
    if (ferry_gl_text(gl, "attachment", &attachment) != 0 ||
        ferry_gl_unsigned(gl, is_renderbuffer ? "renderbuffer" : "texture", MOST_NAME, &name) != 0 ||
        (!target && ferry_gl_unsigned(gl, "framebuffer", MOST_NAME, &of) != 0))
        return -1;
    struct ferry_gl_object *object = name ? ferry_gl_object(gl, kind, name) : NULL;
    struct ferry_gl_framebuffer *framebuffer = ferry_gl_framebuffer(gl, of);
    if ((name && !object) || (of && !framebuffer))
        return -1;
    if (!framebuffer)
        return 0; // a window has none
    unsigned first, last;
    if (strncmp(attachment, "GL_DEPTH_STENCIL_ATTACHMENT", 27) == 0) {
        first = DEPTH;
        last = STENCIL;
    } else if (strncmp(attachment, "GL_DEPTH_ATTACHMENT", 19) == 0) {
        first = last = DEPTH;
    } else if (strncmp(attachment, "GL_STENCIL_ATTACHMENT", 21) == 0) {
        first = last = STENCIL;
    } else if (strncmp(attachment, "GL_COLOR_ATTACHMENT", 19) == 0 &&
               ferry_dump_next_number(&(const char *){attachment + 19}, &colour) && colour >= 0 && colour < DEPTH) {
        first = last = (unsigned)colour;
    } else {
        return ferry_memory_refuse(gl->memory, "%.40s: the attachment %.40s is not known", gl->call->name, attachment);
    }
    for (unsigned i = first; i <= last; i++) {
        framebuffer->attachments[i].kind = kind;
        framebuffer->attachments[i].object = ferry_gl_hold(object);
    }
    return 0;
}

static int bind_renderbuffer(struct ferry_gl *gl)
{
    uint64_t name;
    if (ferry_gl_unsigned(gl, "renderbuffer", MOST_NAME, &name) != 0)
        return -1;
    const struct ferry_gl_object *object = name ? ferry_gl_object(gl, FERRY_GL_RENDERBUFFER, name) : NULL;
    gl->context->renderbuffer = ferry_gl_refer(object);
    return name && !object ? -1 : 0;
}

const struct ferry_gl_call_rule ferry_gl_draw_calls[] = {
    {"glActiveTexture", active_texture, true},
    {"glBindFramebuffer", bind_framebuffer, true},
    {"glBindImageTexture", bind_image, true},
    {"glBindProgramPipeline", use_program, true},
    {"glBindRenderbuffer", bind_renderbuffer, true},
    {"glBindTexture", bind_texture, true},
    {"glBindTextureUnit", bind_texture_unit, true},
    {"glBlitFramebuffer", blit, true},
    {"glBlitNamedFramebuffer", blit, true},
    {"glCallList", draw, true},
    {"glCallLists", draw, true},
    {"glClear", clear, true},
    {"glClearBufferfi", clear, true},
    {"glClearBufferfv", clear, true},
    {"glClearBufferiv", clear, true},
    {"glClearBufferuiv", clear, true},
    {"glClearNamedFramebufferfi", clear, true},
    {"glClearNamedFramebufferfv", clear, true},
    {"glClearNamedFramebufferiv", clear, true},
    {"glClearNamedFramebufferuiv", clear, true},
    {"glClearTexImage", clear_texture, true},
    {"glClearTexSubImage", clear_texture, true},
    {"glClientActiveTexture", client_active_texture, false},
    {"glCopyImageSubData", copy_images, true},
    {"glDeleteFramebuffers", delete_framebuffers, false},
    {"glDisable", switch_capability, true},
    {"glDispatchCompute", dispatch, true},
    {"glDispatchComputeIndirect", dispatch, true},
    {"glDrawArrays", draw, true},
    {"glDrawArraysIndirect", draw, true},
    {"glDrawArraysInstanced", draw, true},
    {"glDrawArraysInstancedBaseInstance", draw, true},
    {"glDrawElements", draw, true},
    {"glDrawElementsBaseVertex", draw, true},
    {"glDrawElementsIndirect", draw, true},
    {"glDrawElementsInstanced", draw, true},
    {"glDrawElementsInstancedBaseInstance", draw, true},
    {"glDrawElementsInstancedBaseVertex", draw, true},
    {"glDrawElementsInstancedBaseVertexBaseInstance", draw, true},
    {"glDrawPixels", draw, true},
    {"glDrawRangeElements", draw, true},
    {"glDrawRangeElementsBaseVertex", draw, true},
    {"glDrawTransformFeedback", draw, true},
    {"glDrawTransformFeedbackInstanced", draw, true},
    {"glDrawTransformFeedbackStream", draw, true},
    {"glDrawTransformFeedbackStreamInstanced", draw, true},
    {"glEnable", switch_capability, true},
    {"glEnd", draw, true},
    {"glEndList", end_list, false},
    {"glEvalMesh1", draw, true},
    {"glEvalMesh2", draw, true},
    {"glFramebufferRenderbuffer", attach, true},
    {"glFramebufferTexture", attach, true},
    {"glFramebufferTexture1D", attach, true},
    {"glFramebufferTexture2D", attach, true},
    {"glFramebufferTexture2DMultisample", attach, true},
    {"glFramebufferTexture3D", attach, true},
    {"glFramebufferTextureLayer", attach, true},
    {"glMultiDrawArrays", draw, true},
    {"glMultiDrawArraysIndirect", draw, true},
    {"glMultiDrawArraysIndirectCount", draw, true},
    {"glMultiDrawElements", draw, true},
    {"glMultiDrawElementsBaseVertex", draw, true},
    {"glMultiDrawElementsIndirect", draw, true},
    {"glMultiDrawElementsIndirectCount", draw, true},
    {"glNamedFramebufferRenderbuffer", attach, true},
    {"glNamedFramebufferTexture", attach, true},
    {"glNamedFramebufferTextureLayer", attach, true},
    {"glNewList", new_list, false},
    {"glReadPixels", read_pixels, false},
    {"glReadnPixels", read_pixels, false},
    {"glRectd", draw, true},
    {"glRectdv", draw, true},
    {"glRectf", draw, true},
    {"glRectfv", draw, true},
    {"glRecti", draw, true},
    {"glRectiv", draw, true},
    {"glRects", draw, true},
    {"glRectsv", draw, true},
    {"glUseProgram", use_program, true},
    {"glUseProgramObject", use_program, true},
    {0},
};
