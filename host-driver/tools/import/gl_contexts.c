// SPDX-License-Identifier: Apache-2.0
// Contexts of an imported program: made, shared, current, destroyed with what was theirs alone; and where its frames
// end.
#include "tools/import/gl_state.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_NAME (UINT64_C(1) << 63) // no address of a program has this bit

static struct ferry_gl_context *context_new(struct ferry_gl *gl, struct ferry_gl_group *group, bool es)
{
    struct ferry_gl_context *context = calloc(1, sizeof *context);
    struct ferry_gl_vertex_array *array = calloc(1, sizeof *array);
    struct ferry_gl_group *own = group ? group : calloc(1, sizeof *own);
    if (context && array && own && ferry_name_set(&context->vertex_arrays, 0, array) == 0) {
        for (unsigned i = 0; i < FERRY_GL_ATTRIBUTES; i++)
            array->attributes[i].binding = i;
        context->vertex_array = array;
        context->es = es;
        context->group = own;
        own->contexts++;
        return context;
    }
    free(context);
    free(array);
    if (!group)
        free(own);
    ferry_memory_refuse(gl->memory, "no memory left");
    return NULL;
}

static void free_things(struct ferry_name_table *table)
{
    for (size_t i = 0; i < table->places; i++)
        free(table->things[i]);
    ferry_name_free(table);
}

static int group_free(struct ferry_gl *gl, struct ferry_gl_group *group)
{
    int status = 0;
    for (int kind = 0; kind < FERRY_GL_KINDS; kind++) {
        struct ferry_name_table *table = &group->objects[kind];
        for (size_t i = 0; i < table->places; i++) {
            if (table->things[i] && ferry_object_delete(gl->memory, table->things[i]) != 0)
                status = -1;
        }
        ferry_name_free(table);
    }
    for (size_t i = 0; i < group->orphans.places; i++) {
        if (group->orphans.things[i] && ferry_object_delete(gl->memory, group->orphans.things[i]) != 0)
            status = -1;
    }
    ferry_name_free(&group->orphans);
    free(group);
    return status;
}

static int context_free(struct ferry_gl *gl, struct ferry_gl_context *context)
{
    free_things(&context->vertex_arrays);
    free_things(&context->framebuffers);
    ferry_gl_attributes_free(context);
    struct ferry_gl_group *group = context->group;
    free(context);
    return --group->contexts == 0 ? group_free(gl, group) : 0;
}

static int no_memory(struct ferry_gl *gl)
{
    return ferry_memory_refuse(gl->memory, "no memory left");
}

int ferry_gl_enter(struct ferry_gl *gl)
{
    gl->context = ferry_name_get(&gl->current, gl->call->thread);
    if (gl->context || gl->made_current)
        return 0;
    // The text begins behind the program's own MakeCurrent.
    struct ferry_gl_context *context = context_new(gl, NULL, false);
    if (!context)
        return -1;
    gl->made_current = true;
    if (ferry_name_set(&gl->contexts, 0, context) != 0 || ferry_name_set(&gl->current, gl->call->thread, context) != 0)
        return no_memory(gl);
    gl->context = context;
    return 0;
}

void ferry_gl_free(struct ferry_gl *gl)
{
    for (size_t i = 0; i < gl->contexts.places; i++) {
        if (gl->contexts.things[i])
            (void)context_free(gl, gl->contexts.things[i]);
    }
    ferry_name_free(&gl->contexts);
    ferry_name_free(&gl->current);
}

// ---- Calls about contexts -------------------------------------------------------------------------------------------

static bool is_current(const struct ferry_gl *gl, const struct ferry_gl_context *context)
{
    for (size_t i = 0; i < gl->current.places; i++) {
        if (gl->current.things[i] == context)
            return true;
    }
    return false;
}

static bool failed(const char *result)
{
    static const char *const words[] = {"False", "FALSE", "EGL_FALSE", "GL_FALSE", "-1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(result, words[i]) == 0)
            return true;
    }
    return strncmp(result, "kCGLBad", 7) == 0;
}

// The thread has another context now, or none: the one that it had goes when it was destroyed meanwhile.
static int leave(struct ferry_gl *gl, struct ferry_gl_context *context)
{
    if (!context || !context->destroyed || is_current(gl, context))
        return 0;
    ferry_name_remove(&gl->contexts, context->kept_name);
    return context_free(gl, context);
}

static int make_context(struct ferry_gl *gl, const char *made, bool es)
{
    static const char *const names[] = {"shareList", "share_context", "share_list", "hShareContext", "share"};
    const char *shares = NULL;
    int64_t address, from;
    if (!made || !ferry_dump_number(made, &address) || address == 0)
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && !shares; i++)
        shares = ferry_dump_value(gl->call, names[i]);
    struct ferry_gl_group *group = NULL;
    if (shares && ferry_dump_number(shares, &from) && from != 0) {
        const struct ferry_gl_context *other = ferry_name_get(&gl->contexts, (uint64_t)from);
        group = other ? other->group : NULL;
    }
    struct ferry_gl_context *context = context_new(gl, group, es);
    struct ferry_gl_context *before = ferry_name_get(&gl->contexts, (uint64_t)address);
    if (!context)
        return -1;
    if (ferry_name_set(&gl->contexts, (uint64_t)address, context) != 0) {
        (void)context_free(gl, context);
        return no_memory(gl);
    }
    if (!before)
        return 0;
    // Its end is not in the text. (One that was destroyed while it was current has another name here.)
    for (size_t i = 0; i < gl->current.places; i++) {
        if (gl->current.things[i] == before)
            gl->current.things[i] = context;
    }
    return context_free(gl, before);
}

static int create_glx(struct ferry_gl *gl)
{
    return make_context(gl, gl->call->result, false);
}

static int create_egl(struct ferry_gl *gl)
{
    return make_context(gl, gl->call->result, !gl->egl_desktop);
}

static int create_wgl(struct ferry_gl *gl)
{
    return make_context(gl, gl->call->result, false);
}

static int create_cgl(struct ferry_gl *gl)
{
    return failed(gl->call->result) ? 0 : make_context(gl, ferry_dump_value(gl->call, "ctx"), false);
}

static int bind_api(struct ferry_gl *gl)
{
    const char *api;
    if (ferry_gl_text(gl, "api", &api) != 0)
        return -1;
    gl->egl_desktop = strcmp(api, "EGL_OPENGL_API") == 0;
    return 0;
}

static const char *context_named(struct ferry_gl *gl)
{
    static const char *const names[] = {"ctx", "hglrc", "context"};
    for (size_t i = 0; i < 3; i++) {
        if (ferry_gl_has(gl, names[i]))
            return ferry_dump_value(gl->call, names[i]);
    }
    return NULL;
}

static int make_current(struct ferry_gl *gl)
{
    int64_t address = 0;
    const char *named = context_named(gl);
    gl->made_current = true;
    if (failed(gl->call->result))
        return 0;
    struct ferry_gl_context *before = ferry_name_get(&gl->current, gl->call->thread);
    if (!named || !ferry_dump_number(named, &address) || address == 0) {
        ferry_name_remove(&gl->current, gl->call->thread);
        return leave(gl, before);
    }
    struct ferry_gl_context *context = ferry_name_get(&gl->contexts, (uint64_t)address);
    if (!context) {
        context = context_new(gl, NULL, strncmp(gl->call->name, "egl", 3) == 0 && !gl->egl_desktop);
        if (!context)
            return -1;
        if (ferry_name_set(&gl->contexts, (uint64_t)address, context) != 0) {
            (void)context_free(gl, context);
            return no_memory(gl);
        }
    }
    return ferry_name_set(&gl->current, gl->call->thread, context) == 0 ? leave(gl, before) : no_memory(gl);
}

static int destroy_context(struct ferry_gl *gl)
{
    int64_t address;
    const char *named = context_named(gl);
    struct ferry_gl_context *context =
        named && ferry_dump_number(named, &address) ? ferry_name_get(&gl->contexts, (uint64_t)address) : NULL;
    if (!context || context->destroyed || failed(gl->call->result))
        return 0;
    ferry_name_remove(&gl->contexts, (uint64_t)address);
    // Windows takes it from its own thread at once; GLX, EGL and CGL let it live as long as it is current.
    if (strncmp(gl->call->name, "wgl", 3) == 0 && ferry_name_get(&gl->current, gl->call->thread) == context)
        ferry_name_remove(&gl->current, gl->call->thread);
    if (!is_current(gl, context))
        return context_free(gl, context);
    context->destroyed = true;
    context->kept_name = KEPT_NAME | ++gl->destroyed;
    if (ferry_name_set(&gl->contexts, context->kept_name, context) == 0)
        return 0;
    ferry_name_remove(&gl->current, gl->call->thread);
    (void)context_free(gl, context);
    return no_memory(gl);
}

static int share_lists(struct ferry_gl *gl)
{
    int64_t first, second;
    const char *one = ferry_dump_value(gl->call, "hglrcSrc") ? ferry_dump_value(gl->call, "hglrcSrc")
                                                             : ferry_dump_value(gl->call, "hglrc1");
    const char *other = ferry_dump_value(gl->call, "hglrcDst") ? ferry_dump_value(gl->call, "hglrcDst")
                                                               : ferry_dump_value(gl->call, "hglrc2");
    if (!one || !other || !ferry_dump_number(one, &first) || !ferry_dump_number(other, &second))
        return 0;
    struct ferry_gl_context *from = ferry_name_get(&gl->contexts, (uint64_t)first);
    struct ferry_gl_context *to = ferry_name_get(&gl->contexts, (uint64_t)second);
    if (!from || !to || from->group == to->group)
        return 0;
    struct ferry_gl_group *before = to->group;
    to->group = from->group;
    to->group->contexts++;
    return --before->contexts == 0 ? group_free(gl, before) : 0;
}

// Drawn into like a window.
static int make_pbuffer(struct ferry_gl *gl)
{
    ferry_memory_note(gl->memory, FERRY_IMPORT_PBUFFER, 0);
    return 0;
}

// One that failed shows nothing.
static int end_frame(struct ferry_gl *gl)
{
    if (failed(gl->call->result))
        return 0;
    return ferry_gl_sweep(gl) == 0 ? ferry_memory_frame(gl->memory) : -1;
}

const struct ferry_gl_call_rule ferry_gl_context_calls[] = {
    {"CGLCreateContext", create_cgl, false},
    {"CGLDestroyContext", destroy_context, false},
    {"CGLFlushDrawable", end_frame, false},
    {"CGLSetCurrentContext", make_current, false},
    {"eglBindAPI", bind_api, false},
    {"eglCreateContext", create_egl, false},
    {"eglCreatePbufferSurface", make_pbuffer, false},
    {"eglDestroyContext", destroy_context, false},
    {"eglMakeCurrent", make_current, false},
    {"eglSwapBuffers", end_frame, false},
    {"eglSwapBuffersWithDamageEXT", end_frame, false},
    {"eglSwapBuffersWithDamageKHR", end_frame, false},
    {"glFrameTerminatorGREMEDY", end_frame, false},
    {"glXCreateContext", create_glx, false},
    {"glXCreateContextAttribsARB", create_glx, false},
    {"glXCreateContextWithConfigSGIX", create_glx, false},
    {"glXCreateNewContext", create_glx, false},
    {"glXCreateGLXPbufferSGIX", make_pbuffer, false},
    {"glXCreatePbuffer", make_pbuffer, false},
    {"glXDestroyContext", destroy_context, false},
    {"glXMakeContextCurrent", make_current, false},
    {"glXMakeCurrent", make_current, false},
    {"glXMakeCurrentReadSGI", make_current, false},
    {"glXSwapBuffers", end_frame, false},
    {"glXSwapBuffersMscOML", end_frame, false},
    {"wglCreateContext", create_wgl, false},
    {"wglCreateContextAttribsARB", create_wgl, false},
    {"wglCreateLayerContext", create_wgl, false},
    {"wglCreatePbuffer", make_pbuffer, false},
    {"wglDeleteContext", destroy_context, false},
    {"wglMakeContextCurrent", make_current, false},
    {"wglMakeCurrent", make_current, false},
    {"wglShareLists", share_lists, false},
    {"wglSwapBuffers", end_frame, false},
    {"wglSwapLayerBuffers", end_frame, false},
    {0},
};
