// SPDX-License-Identifier: Apache-2.0
// What an OpenGL program has in memory, and the memory trace that is written of it.
//
// A texture gets its size level by level, and a memory trace an allocation's size at once: so a texture is written
// ("a", then the "w" of what came so far) when it is first used, or at the end of the frame. One that changes its size
// later is a new allocation.
#ifndef FERRY_TOOLS_IMPORT_GL_MEMORY_H
#define FERRY_TOOLS_IMPORT_GL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include "tools/import/dump_text.h"
#include "tools/import/gl_format.h"
#include "tools/import/name_table.h"

#define FERRY_GL_LEVELS 21

enum ferry_gl_kind { FERRY_GL_BUFFER, FERRY_GL_TEXTURE, FERRY_GL_RENDERBUFFER, FERRY_GL_KINDS };

struct ferry_gl_level {
    uint32_t width, height, depth;
    uint8_t faces;       // that have been given a size
    uint64_t face_bytes; // of each
    uint64_t from, to;   // what was written of it, within all its faces
};

struct ferry_gl_object {
    uint64_t name, serial; // another one of the same name has another serial
    enum ferry_gl_kind kind;
    bool generated, cube, chain;    // chain: levels follow from the base level by themselves
    bool immutable;                 // its levels are all there are
    int target;                     // of a texture, as it was first bound or made; -1: not yet
    uint32_t base_level, top_level; // GL_TEXTURE_BASE_LEVEL and GL_TEXTURE_MAX_LEVEL
    struct ferry_gl_format format;
    struct ferry_gl_level *levels;              // textures and renderbuffers
    uint64_t texel_buffer, texel_buffer_serial; // a texture whose texels are a buffer's
    uint64_t bytes;                             // of a buffer; else as it is in the trace
    uint64_t id;                                // in the trace; 0: not yet
    size_t pending;                             // place in the list of those to be written, from 1 on
    uint64_t stamp;                             // of the last list of reads that names it
    bool holdable;                              // something that need not be bound has named it: see gl_orphans.c
    uint64_t held;                              // of one that is deleted: the last sweep that found a holder
    bool mapped, map_writes;
    uint64_t map_address, map_offset, map_bytes;
};

// What is left out or taken otherwise, each with how often and where first.
#define FERRY_IMPORT_NOTES(X)                                                                                          \
    X(READ_MAP, "maps to read left out: a memory trace knows only the CPU's writes")                                   \
    X(NOTHING, "draws left out: all they read is client memory or constants, and they draw into a window")             \
    X(WINDOW, "reads of and copies from or to a window left out: the text does not tell its size")                     \
    X(PBUFFER, "pixel buffers (pbuffers) left out with what is drawn into them, as windows are")                       \
    X(LIST, "calls compiled into display lists left out")                                                              \
    X(OUTSIDE, "writes left out: they lie outside of what they name, an error of the program")                         \
    X(UNSIZED, "uses left out of what was never given a size")                                                         \
    X(NO_CONTEXT, "calls left out: no context was current")                                                            \
    X(LATE, "calls stand before this text: what they made is left out, but for what is given its size again")          \
    X(INCOMPLETE, "calls left out: the program ended in them")                                                         \
    X(STRAY, "memcpy lines left out: to no mapped buffer")                                                             \
    X(GUESSED, "images of a format whose size the driver chooses, taken as S3TC")                                      \
    X(GROWN, "textures that changed their size after their first use, taken as new ones, uploaded again")

#define FERRY_IMPORT_NOTE_NAME(name, text) FERRY_IMPORT_##name,
enum ferry_import_note { FERRY_IMPORT_NOTES(FERRY_IMPORT_NOTE_NAME) FERRY_IMPORT_NOTE_COUNT };

struct ferry_import_report {
    uint64_t calls, frames, draws, jobs;
    uint64_t allocations, allocated_bytes, living_bytes, most_living_bytes, written_bytes;
    struct {
        uint64_t count, bytes, line;
    } notes[FERRY_IMPORT_NOTE_COUNT];
};

struct ferry_memory {
    gzFile out;
    struct ferry_import_report report;
    uint64_t line; // of the call under way
    char problem[240];
    uint64_t problem_line; // 0 when it is about the output
    uint64_t last_id, last_serial, stamp;
    struct ferry_gl_object **pending;
    size_t pending_count, pending_capacity;
    struct ferry_gl_object **reads, **targets;
    size_t read_count, read_capacity, target_count, target_capacity;
    struct ferry_gl_object **maps; // by address
    size_t map_count, map_capacity;
};

int ferry_memory_refuse(struct ferry_memory *memory, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ferry_memory_note(struct ferry_memory *memory, enum ferry_import_note what, uint64_t bytes);
void ferry_memory_free(struct ferry_memory *memory);

struct ferry_gl_object *ferry_object_new(struct ferry_memory *memory, enum ferry_gl_kind kind, uint64_t name);
/// It ends, in the trace too.
int ferry_object_delete(struct ferry_memory *memory, struct ferry_gl_object *object);
bool ferry_object_sized(const struct ferry_gl_object *object);

/// glBufferData: the same size again gives the old content up.
int ferry_buffer_data(struct ferry_memory *memory, struct ferry_gl_object *object, uint64_t bytes, bool written);
int ferry_buffer_write(struct ferry_memory *memory, struct ferry_gl_object *object, uint64_t offset, uint64_t bytes);
int ferry_buffer_map(struct ferry_memory *memory, struct ferry_gl_object *object, uint64_t address, uint64_t offset,
                     uint64_t bytes, bool writes, bool discard);
int ferry_buffer_unmap(struct ferry_memory *memory, struct ferry_gl_object *object);
/// memcpy to a mapped address.
int ferry_buffer_copy_to(struct ferry_memory *memory, uint64_t address, uint64_t bytes);

struct ferry_gl_image {
    uint32_t level, face, x, y, z, width, height, depth;
    uint64_t bytes; // as the call says, 0: follow from the format
};
/// What an image of this format takes; sides are at most 2^20.
uint64_t ferry_image_bytes(const struct ferry_gl_format *format, const struct ferry_gl_image *image);
/// A level of some faces (bits) gets its size; samples count as depth.
int ferry_image_define(struct ferry_memory *memory, struct ferry_gl_object *object, const struct ferry_gl_image *image,
                       unsigned faces, const struct ferry_gl_format *format);
int ferry_image_write(struct ferry_memory *memory, struct ferry_gl_object *object, const struct ferry_gl_image *image);
/// The levels behind the base level, up to the top one, get their size. Layers do not become fewer. Immutable storage
/// gets no more levels than it has.
int ferry_image_chain(struct ferry_memory *memory, struct ferry_gl_object *object, bool layers_in_depth,
                      bool layers_in_height);
/// Write it into the trace if it is not there as it is.
int ferry_object_settle(struct ferry_memory *memory, struct ferry_gl_object *object);

/// A GPU job: begin, name what it reads and writes, end. `draw` counts as one that draws.
void ferry_job_begin(struct ferry_memory *memory);
int ferry_job_reads(struct ferry_memory *memory, struct ferry_gl_object *object);
int ferry_job_writes(struct ferry_memory *memory, struct ferry_gl_object *object);
int ferry_job_end(struct ferry_memory *memory);
int ferry_memory_frame(struct ferry_memory *memory);

#endif
