// SPDX-License-Identifier: Apache-2.0
// An event is a byte (what it is, and whether the line before is that of the event before), then numbers of as many
// bytes as they need, seven bits each. Whether the GPU ever writes an allocation is known late: then the byte of its
// creation is written over.
#define _XOPEN_SOURCE 700 // mkstemp
#include "lab/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tools/tool.h"

#define OF_OP   0x07u
#define FLAG    0x08u // LOCK: discard. CREATE: a target
#define LINES   0x10u // how many lines later than the event before comes next: not one
#define BLOCK   65536u
#define MUCH    (UINT64_C(64) << 20) // of a disk, that is told
#define A_WHILE (UINT64_C(1) << 20)
#define MARKED  UINT64_MAX
#define LONGEST 4096u

// ---- The file -------------------------------------------------------------------------------------------------------

struct packing {
    struct ferry_lab_packed *packed;
    struct ferry_lab_reading *reading;
    struct ferry_trace_stream *stream;
    uint64_t *created; // by number: where its creation stands, MARKED when that says already that it is a target
    size_t created_capacity, held;
    uint32_t *numbers; // of a held trace's objects; NULL: they are what they are
    uint32_t line;
    bool told;
    const char *folder;
};

static bool no_folder(struct packing *p, int why)
{
    p->reading->of_folder = true;
    p->reading->error.line = 0;
    snprintf(p->reading->error.reason, sizeof p->reading->error.reason,
             "cannot be kept in a file in %.100s: %s; TMPDIR can name another folder", p->folder, strerror(why));
    return false;
}

// Nobody sees it: not even a signal between its making and the loss of its name leaves it behind.
static bool make_file(struct packing *p)
{
    char path[LONGEST];
    sigset_t all, before;
    if ((size_t)snprintf(path, sizeof path, "%s/ferry-trace-XXXXXX", p->folder) >= sizeof path)
        return no_folder(p, ENAMETOOLONG);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    p->packed->file = mkstemp(path);
    int why = errno;
    if (p->packed->file >= 0)
        unlink(path);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (p->packed->file < 0)
        return no_folder(p, why);
    fcntl(p->packed->file, F_SETFD, FD_CLOEXEC);
    return true;
}

// A file that may not become so large is an error of the write, and no signal.
static int put_out(const struct ferry_lab_packed *packed, const uint8_t *bytes, size_t count, uint64_t offset)
{
    struct sigaction ignored = {.sa_handler = SIG_IGN}, before;
    int why = 0;
    sigemptyset(&ignored.sa_mask);
    sigaction(SIGXFSZ, &ignored, &before);
    while (count > 0 && why == 0) {
        ssize_t done = pwrite(packed->file, bytes, count, (off_t)offset);
        if (done < 0 && errno != EINTR)
            why = errno;
        else if (done == 0)
            why = ENOSPC;
        else if (done > 0) {
            bytes += done;
            count -= (size_t)done;
            offset += (uint64_t)done;
        }
    }
    sigaction(SIGXFSZ, &before, NULL);
    return why;
}

// As it looks from what is read, before much is written; of what nobody knows how long it is, when much is.
static void tell(struct packing *p)
{
    struct statvfs about;
    double share = p->stream ? ferry_trace_share(p->stream) : -1;
    uint64_t so_far = p->packed->in_file + p->packed->used;
    uint64_t bytes = share > 0 ? (uint64_t)((double)so_far / share) : 0;
    if (p->told || (bytes ? bytes : so_far) < MUCH)
        return;
    p->told = true;
    uint64_t free_bytes = statvfs(p->folder, &about) == 0 ? (uint64_t)about.f_bavail * about.f_frsize : 0;
    if (p->reading->spills)
        p->reading->spills(p->reading->context, p->reading->program, bytes, p->folder, free_bytes);
}

static bool spill(struct packing *p)
{
    struct ferry_lab_packed *packed = p->packed;
    if (packed->file < 0 && !make_file(p))
        return false;
    tell(p);
    int why = put_out(packed, packed->bytes, packed->used, packed->in_file);
    if (why)
        return no_folder(p, why);
    packed->in_file += packed->used;
    packed->used = 0;
    return true;
}

// ---- Packing --------------------------------------------------------------------------------------------------------

static bool make_room(struct packing *p)
{
    struct ferry_lab_packed *packed = p->packed;
    if (packed->capacity >= p->held)
        return spill(p);
    size_t capacity = packed->capacity ? 2 * packed->capacity : 4096;
    capacity = capacity < p->held ? capacity : p->held;
    uint8_t *grown = realloc(packed->bytes, capacity);
    if (!grown)
        return false; // without a word: no memory
    packed->bytes = grown;
    packed->capacity = capacity;
    return true;
}

static bool put_byte(struct packing *p, uint8_t byte)
{
    if (p->packed->used == p->packed->capacity && !make_room(p))
        return false;
    p->packed->bytes[p->packed->used++] = byte;
    return true;
}

static bool put_number(struct packing *p, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        if (!put_byte(p, (uint8_t)(number | 0x80)))
            return false;
    return put_byte(p, (uint8_t)number);
}

static bool put_creation(struct packing *p, const struct ferry_trace *trace, const struct ferry_trace_object *object)
{
    const char *format = object->width ? trace->text + object->format : "";
    size_t length = strnlen(format, FERRY_LAB_FORMAT - 1);
    bool good = put_number(p, object->id) && put_number(p, object->bytes) && put_number(p, object->width);
    if (!good || !object->width)
        return good;
    good = put_number(p, object->height) && put_number(p, length);
    for (size_t i = 0; i < length && good; i++)
        good = put_byte(p, (uint8_t)format[i]);
    return good;
}

static bool note_creation(struct packing *p, uint32_t number)
{
    if (ferry_reserve(&p->created, &p->created_capacity, (size_t)number + 1, sizeof *p->created) != 0)
        return false; // without a word: no memory
    p->created[number] = p->packed->in_file + p->packed->used;
    p->packed->made++;
    return true;
}

static bool mark_target(struct packing *p, uint32_t number)
{
    struct ferry_lab_packed *packed = p->packed;
    uint64_t at = p->created[number];
    p->created[number] = MARKED;
    if (at == MARKED)
        return true;
    if (at >= packed->in_file) {
        packed->bytes[at - packed->in_file] |= FLAG;
        return true;
    }
    uint8_t byte;
    ssize_t got;
    while ((got = pread(packed->file, &byte, 1, (off_t)at)) < 0 && errno == EINTR)
        continue;
    if (got != 1)
        return no_folder(p, got < 0 ? errno : EIO);
    byte |= FLAG;
    int why = put_out(packed, &byte, 1, at);
    return why == 0 || no_folder(p, why);
}

// number: the object's in the packed trace.
static bool put_event(struct packing *p, const struct ferry_trace *trace, const struct ferry_trace_event *event,
                      uint32_t number)
{
    bool next = event->line == p->line + 1;
    if (event->op == FERRY_TRACE_CREATE && !note_creation(p, number))
        return false;
    bool good = put_byte(p, (uint8_t)(event->op | (event->discard ? FLAG : 0) | (next ? 0 : LINES))) &&
                (next || put_number(p, event->line - p->line));
    p->line = event->line;
    p->packed->events++;
    if (!good || event->op == FERRY_TRACE_FRAME)
        return good;
    if (event->op != FERRY_TRACE_DRAW)
        good = put_number(p, number);
    else
        good = put_number(p, event->b);
    for (uint64_t i = 0; event->op == FERRY_TRACE_DRAW && i < event->b && good; i++)
        good = put_number(p, p->numbers ? p->numbers[trace->draws[event->a + i]] : trace->draws[event->a + i]);
    if (event->op == FERRY_TRACE_CREATE) {
        p->packed->draws |= trace->objects[event->object].width != 0;
        return good && put_creation(p, trace, &trace->objects[event->object]);
    }
    return good && (event->op != FERRY_TRACE_TARGET || mark_target(p, number));
}

static bool put_stream(struct packing *p)
{
    const struct ferry_trace *trace = ferry_trace_of(p->stream);
    const struct ferry_trace_event *event;
    int more;
    while ((more = ferry_trace_next(p->stream, &event)) > 0) {
        if (!put_event(p, trace, event, event->object))
            return false;
        if (p->packed->events % A_WHILE == 0 && p->reading->progress)
            p->reading->progress(p->reading->context, event->line, ferry_trace_share(p->stream));
    }
    p->packed->living = (uint32_t)trace->object_count;
    return more == 0;
}

static bool put_held(struct packing *p, const struct ferry_trace *trace, size_t events)
{
    size_t given = 0;
    p->numbers = calloc(trace->object_count + 1, sizeof *p->numbers);
    uint32_t *again = calloc(trace->object_count + 1, sizeof *again);
    bool good = p->numbers && again;
    for (size_t i = 0; i < events && good; i++) {
        const struct ferry_trace_event *event = &trace->events[i];
        if (event->op == FERRY_TRACE_CREATE)
            p->numbers[event->object] = given ? again[--given] : p->packed->living++;
        good = put_event(p, trace, event, p->numbers[event->object]);
        if (event->op == FERRY_TRACE_DESTROY)
            again[given++] = p->numbers[event->object];
    }
    free(again);
    return good;
}

static int pack(struct packing *p, const struct ferry_trace *trace, size_t events)
{
    p->held = p->reading->held ? p->reading->held : FERRY_LAB_HELD;
    p->folder = getenv("TMPDIR");
    // For what may become large; /tmp is memory in many places.
    p->folder = p->folder && p->folder[0] ? p->folder : "/var/tmp";
    bool good = p->stream ? put_stream(p) : put_held(p, trace, events);
    good = good && (p->packed->file < 0 || spill(p));
    if (trace->unit[0])
        p->packed->draws = strcmp(trace->unit, "frame") == 0;
    snprintf(p->packed->unit, sizeof p->packed->unit, "%s", ferry_trace_unit(trace));
    free(p->created);
    free(p->numbers);
    if (p->packed->file >= 0) {
        free(p->packed->bytes);
        p->packed->bytes = NULL;
    }
    return good ? 0 : -1;
}

int ferry_lab_pack(struct ferry_lab_packed *packed, const char *path, struct ferry_lab_reading *reading)
{
    struct packing p = {.packed = packed, .reading = reading, .stream = ferry_trace_open(path, &reading->error)};
    *packed = (struct ferry_lab_packed){.file = -1};
    int status = p.stream ? pack(&p, ferry_trace_of(p.stream), 0) : -1;
    ferry_trace_close(p.stream);
    return status;
}

int ferry_lab_pack_held(struct ferry_lab_packed *packed, const struct ferry_trace *trace, size_t events,
                        struct ferry_lab_reading *reading)
{
    struct packing p = {.packed = packed, .reading = reading};
    *packed = (struct ferry_lab_packed){.file = -1};
    return pack(&p, trace, events);
}

void ferry_lab_packed_free(struct ferry_lab_packed *packed)
{
    if (packed->file > 0)
        close(packed->file);
    free(packed->bytes);
    *packed = (struct ferry_lab_packed){.file = -1};
}

// ---- Unpacking ------------------------------------------------------------------------------------------------------

bool ferry_lab_unpack_begin(struct ferry_lab_unpacker *u, const struct ferry_lab_packed *packed)
{
    *u = (struct ferry_lab_unpacker){.packed = packed};
    if (packed->file < 0) {
        u->at = packed->bytes;
        u->end = packed->bytes + packed->used;
        return true;
    }
    u->block = malloc(BLOCK);
    u->at = u->end = u->block;
    return u->block != NULL;
}

void ferry_lab_unpack_end(struct ferry_lab_unpacker *u)
{
    free(u->block);
    free(u->named);
    *u = (struct ferry_lab_unpacker){0};
}

static bool read_block(struct ferry_lab_unpacker *u)
{
    ssize_t got = -1;
    if (u->block)
        while ((got = pread(u->packed->file, u->block, BLOCK, (off_t)u->offset)) < 0 && errno == EINTR)
            continue;
    if (got <= 0) {
        u->error = got < 0 && u->block ? errno : EIO;
        return false;
    }
    u->at = u->block;
    u->end = u->block + got;
    u->offset += (uint64_t)got;
    return true;
}

// 0 behind an error.
static inline uint8_t get_byte(struct ferry_lab_unpacker *u)
{
    if (u->at == u->end && !read_block(u))
        return 0;
    return *u->at++;
}

static uint64_t get_number(struct ferry_lab_unpacker *u)
{
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = get_byte(u);
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            break;
    }
    return number;
}

static void get_creation(struct ferry_lab_unpacker *u, bool target)
{
    struct ferry_lab_creation *creation = &u->creation;
    *creation = (struct ferry_lab_creation){.line = u->event.line, .target = target};
    creation->id = get_number(u);
    creation->bytes = get_number(u);
    creation->width = (uint32_t)get_number(u);
    creation->height = creation->width ? (uint32_t)get_number(u) : 0;
    uint64_t length = creation->width ? get_number(u) : 0;
    for (uint64_t i = 0; i < length && i < FERRY_LAB_FORMAT - 1; i++)
        creation->format[i] = (char)get_byte(u);
    u->made++;
}

static void get_draw(struct ferry_lab_unpacker *u)
{
    uint64_t count = get_number(u);
    if (u->error == 0 && ferry_reserve(&u->named, &u->capacity, count, sizeof *u->named) != 0)
        u->error = ENOMEM;
    for (uint64_t i = 0; i < count && u->error == 0; i++)
        u->named[i] = (uint32_t)get_number(u);
    u->event.b = count;
}

int ferry_lab_unpack(struct ferry_lab_unpacker *u, const struct ferry_trace_event **event)
{
    if (u->error == 0 && u->given == u->packed->events)
        return 0;
    uint8_t first = get_byte(u);
    uint32_t line = u->event.line + (first & LINES ? (uint32_t)get_number(u) : 1);
    u->event = (struct ferry_trace_event){.op = first & OF_OP, .line = line};
    u->event.discard = u->event.op == FERRY_TRACE_LOCK && (first & FLAG);
    if (u->event.op == FERRY_TRACE_DRAW)
        get_draw(u);
    else if (u->event.op != FERRY_TRACE_FRAME)
        u->event.object = (uint32_t)get_number(u);
    if (u->event.op == FERRY_TRACE_CREATE)
        get_creation(u, first & FLAG);
    u->given++;
    *event = &u->event;
    return u->error == 0 ? 1 : -1;
}
