// SPDX-License-Identifier: Apache-2.0
// What of OpenGL's state decides which memory a call means: contexts, what they share, what is bound.
#ifndef FERRY_TOOLS_IMPORT_GL_STATE_H
#define FERRY_TOOLS_IMPORT_GL_STATE_H

#include "tools/import/gl_memory.h"

#define FERRY_GL_UNITS       192
#define FERRY_GL_TARGETS     12 // of textures
#define FERRY_GL_SLOTS       15 // buffer bindings but the element array's
#define FERRY_GL_ATTRIBUTES  48 // 32 of vertex arrays, then those of fixed function
#define FERRY_GL_ATTACHMENTS 18 // 16 colours, depth, stencil
#define FERRY_GL_INDEXED     256
#define FERRY_GL_FIXED       32 // the first of fixed function
#define FERRY_GL_SAVED       16 // deep is each stack of attributes

struct ferry_gl_reference {
    uint64_t name, serial;
};

struct ferry_gl_vertex_array {
    struct ferry_gl_reference elements;
    struct {
        bool enabled;
        unsigned binding; // an attribute's; its buffer is that of the binding
    } attributes[FERRY_GL_ATTRIBUTES];
    struct ferry_gl_reference buffers[FERRY_GL_ATTRIBUTES];
    unsigned buffers_used; // the first so many; the others never were
};

struct ferry_gl_framebuffer {
    struct {
        enum ferry_gl_kind kind;
        struct ferry_gl_reference object;
    } attachments[FERRY_GL_ATTACHMENTS];
};

// What contexts share.
struct ferry_gl_group {
    struct ferry_name_table objects[FERRY_GL_KINDS];
    struct ferry_name_table orphans; // by serial: deleted, and still held
    unsigned contexts;
};

struct ferry_gl_context {
    struct ferry_gl_group *group;
    bool es;
    unsigned unit, units_used, client_unit;
    struct ferry_gl_reference textures[FERRY_GL_UNITS][FERRY_GL_TARGETS];
    uint32_t enabled[FERRY_GL_UNITS]; // fixed function: targets
    struct ferry_gl_reference slots[FERRY_GL_SLOTS];
    struct ferry_gl_reference uniforms[FERRY_GL_INDEXED], storages[FERRY_GL_INDEXED];
    struct ferry_gl_reference images[FERRY_GL_INDEXED];
    unsigned uniforms_used, storages_used, images_used;
    struct ferry_gl_reference renderbuffer;
    struct ferry_name_table vertex_arrays, framebuffers;
    struct ferry_gl_vertex_array *vertex_array; // bound; of name 0 it is there from the start
    uint64_t vertex_array_name, draw_framebuffer, read_framebuffer;
    uint64_t program, pipeline;
    struct ferry_gl_saved *saved[FERRY_GL_SAVED];
    struct ferry_gl_client_saved *client_saved[FERRY_GL_SAVED];
    unsigned saved_count, client_saved_count;
    bool compiling;     // a display list that is not carried out at once
    bool destroyed;     // lives until no thread has it current
    uint64_t kept_name; // of one that is destroyed, in the table of contexts: its address may be another's now
};

struct ferry_gl {
    struct ferry_memory *memory;
    struct ferry_dump *dump;
    struct ferry_dump_call *call;
    struct ferry_name_table contexts, current; // by address; by thread
    struct ferry_gl_context *context;          // of this call, NULL: none is current
    bool egl_desktop;                          // eglBindAPI; EGL begins with ES
    bool made_current;                         // since the beginning
    uint64_t destroyed;                        // contexts so far, for their names
    uint64_t sweeps;                           // for orphans that nobody holds any more
    bool stopped;                              // memory ran out while something was being taken down
};

enum ferry_gl_slot {
    FERRY_GL_ARRAY,
    FERRY_GL_PACK,
    FERRY_GL_UNPACK,
    FERRY_GL_UNIFORM,
    FERRY_GL_STORAGE,
    FERRY_GL_ATOMIC,
    FERRY_GL_FEEDBACK,
    FERRY_GL_COPY_READ,
    FERRY_GL_COPY_WRITE,
    FERRY_GL_TEXEL,
    FERRY_GL_INDIRECT,
    FERRY_GL_DISPATCH,
    FERRY_GL_QUERY,
    FERRY_GL_PARAMETER,
    FERRY_GL_ELEMENTS = FERRY_GL_SLOTS, // of the vertex array
    FERRY_GL_NO_SLOT
};

/// The context that the call's thread has; before the first MakeCurrent there is one without a name.
int ferry_gl_enter(struct ferry_gl *gl);
void ferry_gl_free(struct ferry_gl *gl);

/// Arguments. A missing one is an error of the dump: another version of apitrace calls it otherwise.
int ferry_gl_number(struct ferry_gl *gl, const char *name, int64_t *number);
int ferry_gl_unsigned(struct ferry_gl *gl, const char *name, uint64_t most, uint64_t *number);
int ferry_gl_text(struct ferry_gl *gl, const char *name, const char **text);
bool ferry_gl_has(struct ferry_gl *gl, const char *name);

/// NULL: no such object, or another of the same name.
struct ferry_gl_object *ferry_gl_find(struct ferry_gl *gl, enum ferry_gl_kind kind,
                                      struct ferry_gl_reference reference);
/// As ferry_gl_refer, for what goes on holding it when it is not bound itself.
struct ferry_gl_reference ferry_gl_hold(struct ferry_gl_object *object);
/// Its name goes now, and its memory with the last that holds it; the sweep sees that.
int ferry_gl_delete(struct ferry_gl *gl, struct ferry_gl_object *object);
int ferry_gl_sweep(struct ferry_gl *gl);
/// Made when it is not there (programs may bind names that nobody gave out). NULL: no memory. Not for name 0.
struct ferry_gl_object *ferry_gl_object(struct ferry_gl *gl, enum ferry_gl_kind kind, uint64_t name);
struct ferry_gl_reference ferry_gl_refer(const struct ferry_gl_object *object);
struct ferry_gl_framebuffer *ferry_gl_framebuffer(struct ferry_gl *gl, uint64_t name);

enum ferry_gl_slot ferry_gl_slot_of(const char *target);
struct ferry_gl_reference *ferry_gl_slot(struct ferry_gl *gl, enum ferry_gl_slot slot);
/// Number of the target, -1: not known; *face is that of a cube's side.
int ferry_gl_target_of(const char *target, unsigned *face);

struct ferry_gl_call_rule {
    const char *name;
    int (*carry_out)(struct ferry_gl *gl);
    bool listed; // goes into a display list that is compiled
};
/// By name, in the order of strcmp.
extern const struct ferry_gl_call_rule ferry_gl_buffer_calls[], ferry_gl_image_calls[], ferry_gl_draw_calls[],
    ferry_gl_vertex_calls[], ferry_gl_context_calls[], ferry_gl_attribute_calls[];

/// Known by its whole name to need nothing done.
bool ferry_gl_idle(const char *name);
void ferry_gl_attributes_free(struct ferry_gl_context *context);

#endif
