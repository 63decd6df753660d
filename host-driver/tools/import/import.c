// SPDX-License-Identifier: Apache-2.0
#include "tools/import/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/id_map.h"
#include "tools/import/gl_state.h"

#define PLACES         8192 // of names that were met; more than there are calls in OpenGL
#define MOST_NAMES     4096
#define LONGEST_NAME   56
#define PROGRESS_CALLS 16384

// Parts of names of calls that make memory, or share it with another program: where such a call is not known, what is
// written would be wrong.
static const char *const makers[] = {
    "TexImage",      "TextureImage", "TexStorage",      "TextureStorage",    "RenderbufferStorage", "BufferData",
    "BufferStorage", "EGLImage",     "TextureView",     "TexPageCommitment", "MemoryObject",        "ImportMemory",
    "StorageMem",    "TexSubImage",  "TextureSubImage", "PageCommitment",    "MapBuffer",           "MapNamedBuffer",
    "MapTexture",    "BindTexImage", "ObjectBuffer"};

// What the names begin with that are of something else than OpenGL, each with what that is.
static const struct {
    const char *begin, *api;
} others[] = {{"IDirect", "Direct3D"},    {"Direct3D", "Direct3D"}, {"DirectDraw", "Direct3D"},
              {"ID3D", "Direct3D"},       {"D3D", "Direct3D"},      {"IDXGI", "Direct3D"},
              {"CreateDXGI", "Direct3D"}, {"ID2D", "Direct2D"},     {"D2D", "Direct2D"},
              {"IDWrite", "Direct2D"},    {"vk", "Vulkan"}};

struct met {
    char name[LONGEST_NAME];
    const struct ferry_gl_call_rule *rule; // NULL: nothing is done
    struct ferry_import_unknown *unknown;
    const char *other; // API that it is of; NULL: none that is known here
    bool makes, is_gl, is_unknown;
};

struct run {
    struct ferry_import *import;
    struct ferry_dump dump;
    struct ferry_dump_call call;
    struct ferry_memory memory;
    struct ferry_gl gl;
    struct met *met; // a table of names, PLACES of them
    unsigned met_count;
    uint64_t known_calls;
    uint64_t first_number, first_line; // of the first call in the text
};

// ---- What a name means ----------------------------------------------------------------------------------------------

static const struct ferry_gl_call_rule *look_up(const char *name)
{
    static const struct ferry_gl_call_rule *const lists[] = {ferry_gl_context_calls, ferry_gl_buffer_calls,
                                                             ferry_gl_image_calls,   ferry_gl_vertex_calls,
                                                             ferry_gl_draw_calls,    ferry_gl_attribute_calls};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        for (const struct ferry_gl_call_rule *rule = lists[i]; rule->name; rule++) {
            if (strcmp(rule->name, name) == 0)
                return rule;
        }
    }
    return NULL;
}

// Also without the ending of the maker that first had it.
static const struct ferry_gl_call_rule *rule_of(const char *name)
{
    static const char *const endings[] = {"ARB", "EXT", "OES", "ATI", "ANGLE", "APPLE", "NV", "SGIS", "AMD", "KHR"};
    const struct ferry_gl_call_rule *rule = look_up(name);
    char cut[LONGEST_NAME];
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings && !rule; i++) {
        size_t tail = strlen(endings[i]);
        if (length <= tail || strcmp(name + length - tail, endings[i]) != 0)
            continue;
        memcpy(cut, name, length - tail);
        cut[length - tail] = 0;
        rule = look_up(cut);
    }
    return rule;
}

static void classify(struct met *met)
{
    met->rule = rule_of(met->name);
    for (size_t i = 0; i < sizeof others / sizeof *others && !met->other; i++)
        met->other = strncmp(met->name, others[i].begin, strlen(others[i].begin)) == 0 ? others[i].api : NULL;
    met->is_gl = strncmp(met->name, "gl", 2) == 0 && strncmp(met->name, "glX", 3) != 0;
    if (met->rule)
        return;
    bool asks = strncmp(met->name, "glGet", 5) == 0 || strncmp(met->name, "glIs", 4) == 0 ||
                strncmp(met->name, "glInvalidate", 12) == 0 || strncmp(met->name, "glDelete", 8) == 0;
    for (size_t i = 0; i < sizeof makers / sizeof *makers && !asks; i++)
        met->makes = met->makes || strstr(met->name, makers[i]);
    met->is_unknown = !met->makes && !ferry_gl_idle(met->name);
}

static struct met *meet(struct run *run, const char *name, struct met *spare)
{
    size_t length = strlen(name);
    uint64_t hash = 0;
    if (length >= LONGEST_NAME)
        length = LONGEST_NAME - 1;
    for (size_t i = 0; i < length; i++)
        hash = hash * 31 + (unsigned char)name[i];
    size_t place = (size_t)ferry_mix(hash) % PLACES;
    while (run->met[place].name[0]) {
        if (strncmp(run->met[place].name, name, length) == 0 && run->met[place].name[length] == 0)
            return &run->met[place];
        place = (place + 1) % PLACES;
    }
    struct met *met = run->met_count < MOST_NAMES ? &run->met[place] : spare;
    run->met_count += met != spare;
    *met = (struct met){.name = ""};
    memcpy(met->name, name, length);
    classify(met);
    return met;
}

static void count_unknown(struct run *run, struct met *met)
{
    struct ferry_import *import = run->import;
    import->unknown_calls++;
    if (!met->unknown && import->unknown_count < FERRY_IMPORT_MOST_NAMES) {
        met->unknown = &import->unknown[import->unknown_count++];
        memcpy(met->unknown->name, met->name, sizeof met->name);
        met->unknown->line = run->call.line;
    }
    if (met->unknown)
        met->unknown->count++;
}

// ---- The run --------------------------------------------------------------------------------------------------------

static int carry_out(struct run *run, struct met *met)
{
    struct ferry_memory *memory = &run->memory;
    bool needs_context = met->is_gl || strcmp(met->name, "memcpy") == 0;
    if (met->other)
        return ferry_memory_refuse(memory, "%.50s is a call of %s: only OpenGL and OpenGL ES are read", met->name,
                                   met->other);
    if (run->call.incomplete) {
        ferry_memory_note(memory, FERRY_IMPORT_INCOMPLETE, 0);
        return 0;
    }
    if (met->makes)
        return ferry_memory_refuse(memory, "%.50s is not known, and it makes or shares memory: sizes would be wrong",
                                   met->name);
    if (met->is_unknown)
        count_unknown(run, met);
    else
        run->known_calls++;
    if (!met->rule)
        return 0;
    if (ferry_dump_split(&run->dump, &run->call) != 0) {
        memory->problem_line = run->dump.problem_line;
        memcpy(memory->problem, run->dump.problem, sizeof run->dump.problem);
        return -1;
    }
    if (needs_context && ferry_gl_enter(&run->gl) != 0)
        return -1;
    if (needs_context && !run->gl.context) {
        ferry_memory_note(memory, FERRY_IMPORT_NO_CONTEXT, 0);
        return 0;
    }
    if (needs_context && run->gl.context->compiling && met->rule->listed) {
        ferry_memory_note(memory, FERRY_IMPORT_LIST, 0);
        return 0;
    }
    return met->rule->carry_out(&run->gl);
}

// The numbers of calls begin with 0; a few may stand in another order, as their threads came to an end.
static void note_number(struct run *run)
{
    uint64_t number = run->call.number;
    if (run->memory.report.calls == 0)
        run->first_number = number != UINT64_MAX ? number : 0;
    else if (number < run->first_number)
        run->first_number = number;
    run->first_line = run->first_line ? run->first_line : run->call.line;
}

static void tell(struct run *run)
{
    run->import->report = run->memory.report;
    run->import->lines = run->dump.line;
    run->import->text_bytes = run->dump.bytes;
}

static int all_calls(struct run *run)
{
    int got;
    struct met spare;
    while ((got = ferry_dump_next(&run->dump, &run->call)) > 0) {
        run->memory.line = run->call.line;
        note_number(run);
        if (carry_out(run, meet(run, run->call.name, &spare)) != 0)
            return -1;
        if (++run->memory.report.calls % PROGRESS_CALLS == 0 && run->import->progress) {
            tell(run);
            run->import->progress(run->import);
        }
    }
    if (got < 0) {
        run->memory.problem_line = run->dump.problem_line;
        memcpy(run->memory.problem, run->dump.problem, sizeof run->dump.problem);
        return -1;
    }
    run->memory.line = 0;
    run->memory.report.notes[FERRY_IMPORT_LATE].count = run->first_number;
    run->memory.report.notes[FERRY_IMPORT_LATE].line = run->first_line;
    if (run->memory.report.calls == 0)
        return ferry_memory_refuse(&run->memory, "holds no call");
    if (run->known_calls == 0)
        return ferry_memory_refuse(&run->memory,
                                   "of %llu calls none is OpenGL's, as %.50s: only OpenGL and ES are read",
                                   (unsigned long long)run->memory.report.calls, run->import->unknown[0].name);
    return run->memory.report.allocations
               ? 0
               : ferry_memory_refuse(&run->memory, "makes no texture, buffer or renderbuffer: nothing lies in memory");
}

int ferry_import_run(struct ferry_import *import)
{
    struct run *run = calloc(1, sizeof *run);
    struct met *met = calloc(PLACES, sizeof *met);
    int status = -1;
    import->problem_line = 0;
    if (run && met) {
        run->import = import;
        run->met = met;
        run->dump.file = import->in;
        run->memory.out = import->out;
        run->gl = (struct ferry_gl){.memory = &run->memory, .dump = &run->dump, .call = &run->call};
        status = all_calls(run);
        tell(run); // what lives at the end stays: its end is not the program's
        memcpy(import->problem, run->memory.problem, sizeof import->problem);
        import->problem_line = run->memory.problem_line;
        run->memory.out = NULL;
        ferry_gl_free(&run->gl);
        ferry_memory_free(&run->memory);
        ferry_dump_release(&run->dump);
    } else {
        snprintf(import->problem, sizeof import->problem, "no memory left");
    }
    free(run);
    free(met);
    return status;
}
