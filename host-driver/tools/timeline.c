// SPDX-License-Identifier: Apache-2.0
#include "tools/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/json.h"
#include "tools/output.h"
#include "tools/tool.h"

// Rows in the order in which they are shown.
enum row {
    ROW_FRAMES,
    ROW_HOST,
    ROW_PAGING,
    ROW_FENCE,
    ROW_USER,
    ROW_FIRMWARE,
    ROW_READ,
    ROW_WRITE,
    ALWAYS_THERE, // The others appear with their first span: driver model 1 has no page tables.
    ROW_WALKS = ALWAYS_THERE,
    ROW_FORGETTING,
    ROWS
};
static const char *const row_names[ROWS] = {
    [ROW_FRAMES] = "frames",          [ROW_HOST] = "host calls",     [ROW_PAGING] = "paging queue",
    [ROW_FENCE] = "paging fence",     [ROW_USER] = "user queue",     [ROW_FIRMWARE] = "firmware",
    [ROW_READ] = "read channel",      [ROW_WRITE] = "write channel", [ROW_WALKS] = "page-table walks",
    [ROW_FORGETTING] = "invalidates",
};

// Rows of a program.
enum program_row { PROGRAM_FRAMES, PROGRAM_JOBS, PROGRAM_PAGING, PROGRAM_ROWS };
static const char *const program_row_names[PROGRAM_ROWS] = {"frames", "jobs", "paging"};

// Spans of one channel that are this close are drawn as one: a burst every few cycles is one bar to the eye.
#define JOIN_CYCLES 32u
#define NAME_BYTES  96u

struct open_span {
    uint64_t id, begin, allocation, bytes;
    enum row row;
    unsigned program; // Or FERRY_NO_PROGRAM.
    char name[NAME_BYTES];
    char label[NAME_BYTES];
};

// Operations of a queue that ended together: a whole buffer retires at once. They were carried out one after the other,
// so they share the time between the end before and theirs, by their bytes.
struct batch {
    struct open_span *spans;
    size_t count, capacity;
    uint64_t end, last_end;
};

struct arrow {
    uint64_t value, from;
};

struct ferry_timeline {
    FILE *file; // the output's
    struct ferry_output output;
    bool any;
    uint64_t records, dropped;
    uint64_t now; // Newest time seen.
    uint64_t
        host_cursor; // Host calls may take no device time; each is given one cycle so that they stand side by side.
    unsigned programs;
    uint64_t *frame_begins; // One for each program.
    struct batch batches[ROWS];
    struct open_span *open;
    size_t open_count, open_capacity;
    struct arrow *arrows; // Waits whose fence has not come yet.
    size_t arrow_count, arrow_capacity;
    uint64_t arrow_id;
    struct open_span joined[ROWS]; // The device span being joined; name[0] == 0 is none. allocation holds its end.
    uint64_t fence_end;
    bool named[ROWS]; // Of those that appear later.
};

static void record(struct ferry_timeline *timeline, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void record(struct ferry_timeline *timeline, const char *format, ...)
{
    va_list arguments;
    fputs(timeline->any ? ",\n" : "\n", timeline->file);
    timeline->any = true;
    timeline->records++;
    va_start(arguments, format);
    vfprintf(timeline->file, format, arguments);
    va_end(arguments);
}

// Cycles as microseconds, two decimals: one cycle is 0.01.
#define MICROSECONDS  "%" PRIu64 ".%02u"
#define AS_US(cycles) (uint64_t)((cycles) / FERRY_NOMINAL_MHZ), (unsigned)((cycles) % FERRY_NOMINAL_MHZ)

static bool full(struct ferry_timeline *timeline)
{
    if (timeline->records < FERRY_LONGEST_TIMELINE)
        return false;
    timeline->dropped++;
    return true;
}

static void name_row(struct ferry_timeline *timeline, unsigned pid, const char *name, int row)
{
    record(timeline, "{\"ph\":\"M\",\"pid\":%u,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"%s\"}}", pid,
           row + 1, name);
    record(timeline, "{\"ph\":\"M\",\"pid\":%u,\"tid\":%d,\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%d}}",
           pid, row + 1, row);
}

// A process, and its rows in order.
static void name_rows(struct ferry_timeline *timeline, unsigned pid, const char *process, const char *const *names,
                      int first, int count)
{
    record(timeline, "{\"ph\":\"M\",\"pid\":%u,\"name\":\"process_name\",\"args\":{\"name\":", pid);
    ferry_json_text(timeline->file, process);
    fputs("}}", timeline->file);
    record(timeline, "{\"ph\":\"M\",\"pid\":%u,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%u}}", pid,
           pid);
    for (int row = first; row < count; row++)
        name_row(timeline, pid, names[row], row);
}

struct ferry_timeline *ferry_timeline_open(const char *path, const char *title, unsigned programs)
{
    struct ferry_timeline *timeline = calloc(1, sizeof *timeline);
    if (!timeline)
        return NULL;
    timeline->programs = programs;
    timeline->frame_begins = calloc(programs, sizeof *timeline->frame_begins);
    bool open = timeline->frame_begins && ferry_output_open(&timeline->output, path) == 0;
    timeline->file = timeline->output.file;
    if (!open) {
        free(timeline->frame_begins);
        free(timeline);
        return NULL;
    }
    fprintf(timeline->file, "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"title\": ");
    ferry_json_text(timeline->file, title);
    fprintf(timeline->file, ", \"clock\": \"device cycles at a nominal %u MHz\"},\n\"traceEvents\": [",
            FERRY_NOMINAL_MHZ);
    // Several programs have frames of their own each.
    name_rows(timeline, 1, "Pageferry", row_names, programs > 1 ? ROW_HOST : ROW_FRAMES, ALWAYS_THERE);
    return timeline;
}

void ferry_timeline_program(struct ferry_timeline *timeline, unsigned program, const char *name)
{
    name_rows(timeline, program + 2, name, program_row_names, 0, PROGRAM_ROWS);
}

static void write_in_row(struct ferry_timeline *timeline, const struct open_span *span, uint64_t end, unsigned pid,
                         int row)
{
    if (full(timeline))
        return;
    uint64_t length = end > span->begin ? end - span->begin : 1;
    record(timeline,
           "{\"ph\":\"X\",\"pid\":%u,\"tid\":%d,\"ts\":" MICROSECONDS ",\"dur\":" MICROSECONDS ",\"name\":", pid,
           row + 1, AS_US(span->begin), AS_US(length));
    ferry_json_text(timeline->file, span->name);
    if (span->bytes || span->label[0]) {
        fputs(",\"args\":{", timeline->file);
        if (span->label[0]) {
            fputs("\"allocation\":", timeline->file);
            ferry_json_text(timeline->file, span->label);
        }
        if (span->bytes)
            fprintf(timeline->file, "%s\"bytes\":%" PRIu64, span->label[0] ? "," : "", span->bytes);
        fputc('}', timeline->file);
    }
    fputc('}', timeline->file);
}

// In the row of the device, and in that of the program whose it is.
static void write_span(struct ferry_timeline *timeline, const struct open_span *span, uint64_t end)
{
    write_in_row(timeline, span, end, 1, span->row);
    if (span->program < timeline->programs && (span->row == ROW_USER || span->row == ROW_PAGING))
        write_in_row(timeline, span, end, span->program + 2, span->row == ROW_USER ? PROGRAM_JOBS : PROGRAM_PAGING);
}

static void copy_name(char *to, const char *from)
{
    snprintf(to, NAME_BYTES, "%s", from ? from : "");
}

static enum row row_of(enum ferry_track track)
{
    switch (track) {
    case FERRY_TRACK_HOST: return ROW_HOST;
    case FERRY_TRACK_PAGING: return ROW_PAGING;
    case FERRY_TRACK_USER: return ROW_USER;
    case FERRY_TRACK_FIRMWARE: return ROW_FIRMWARE;
    case FERRY_TRACK_READ_CHANNEL: return ROW_READ;
    case FERRY_TRACK_WALKS: return ROW_WALKS;
    case FERRY_TRACK_FORGETTING: return ROW_FORGETTING;
    default: return ROW_WRITE;
    }
}

static uint64_t host_time(struct ferry_timeline *timeline, uint64_t time)
{
    timeline->host_cursor = time > timeline->host_cursor ? time : timeline->host_cursor + 1;
    return timeline->host_cursor;
}

static void begin_span(struct ferry_timeline *timeline, enum row row, const struct ferry_event *event,
                       const char *label, unsigned program)
{
    if (ferry_reserve(&timeline->open, &timeline->open_capacity, timeline->open_count + 1, sizeof *timeline->open) !=
        0) {
        timeline->dropped++;
        return;
    }
    struct open_span *span = &timeline->open[timeline->open_count++];
    *span = (struct open_span){
        .id = event->id, .begin = event->time, .bytes = event->bytes, .row = row, .program = program};
    if (row == ROW_HOST)
        span->begin = host_time(timeline, event->time);
    copy_name(span->name, event->name ? event->name : row_names[row]);
    copy_name(span->label, label);
}

static void flush_batch(struct ferry_timeline *timeline, enum row row)
{
    struct batch *batch = &timeline->batches[row];
    if (batch->count == 0)
        return;
    uint64_t begin = UINT64_MAX, bytes = 0, done = 0;
    for (size_t i = 0; i < batch->count; i++) {
        begin = batch->spans[i].begin < begin ? batch->spans[i].begin : begin;
        bytes += batch->spans[i].bytes + FERRY_PAGE_BYTES;
    }
    if (begin < batch->last_end)
        begin = batch->last_end;
    // Each is a cycle long at least, even where they took less together.
    uint64_t whole = batch->end > begin + batch->count ? batch->end - begin : batch->count;
    uint64_t at = begin;
    for (size_t i = 0; i < batch->count; i++) {
        struct open_span *span = &batch->spans[i];
        done += span->bytes + FERRY_PAGE_BYTES;
        uint64_t end = begin + (uint64_t)((double)whole * ((double)done / (double)bytes));
        if (end <= at)
            end = at + 1;
        span->begin = at;
        write_span(timeline, span, end);
        at = end;
    }
    batch->last_end = at;
    batch->count = 0;
}

static void add_to_batch(struct ferry_timeline *timeline, const struct open_span *span, uint64_t end)
{
    struct batch *batch = &timeline->batches[span->row];
    if (batch->end != end)
        flush_batch(timeline, span->row);
    batch->end = end;
    if (ferry_reserve(&batch->spans, &batch->capacity, batch->count + 1, sizeof *batch->spans) != 0) {
        timeline->dropped++;
        return;
    }
    batch->spans[batch->count++] = *span;
}

static void end_span(struct ferry_timeline *timeline, enum row row, const struct ferry_event *event)
{
    // The newest first: calls nest.
    for (size_t i = timeline->open_count; i-- > 0;) {
        struct open_span *span = &timeline->open[i];
        if (span->row != row || span->id != event->id)
            continue;
        if (row == ROW_HOST)
            write_span(timeline, span, host_time(timeline, event->time));
        else
            add_to_batch(timeline, span, event->time);
        timeline->open_count--;
        memmove(span, span + 1, (timeline->open_count - i) * sizeof *span);
        return;
    }
}

static void flush_joined(struct ferry_timeline *timeline, enum row row)
{
    struct open_span *span = &timeline->joined[row];
    if (span->name[0])
        write_span(timeline, span, span->allocation);
    span->name[0] = 0;
}

static void device_span(struct ferry_timeline *timeline, enum row row, const struct ferry_event *event)
{
    struct open_span *span = &timeline->joined[row];
    if (row >= ALWAYS_THERE && !timeline->named[row]) {
        name_row(timeline, 1, row_names[row], row);
        timeline->named[row] = true;
    }
    const char *name = event->name && event->name[0] ? event->name : row_names[row];
    uint64_t end = event->time + event->bytes;
    if (span->name[0] && strncmp(span->name, name, NAME_BYTES - 1) == 0 &&
        event->time <= span->allocation + JOIN_CYCLES) {
        if (end > span->allocation)
            span->allocation = end;
        return;
    }
    flush_joined(timeline, row);
    *span = (struct open_span){.begin = event->time, .allocation = end, .row = row, .program = FERRY_NO_PROGRAM};
    copy_name(span->name, name);
}

static void wait_for_fence(struct ferry_timeline *timeline, const struct ferry_event *event)
{
    if (ferry_reserve(&timeline->arrows, &timeline->arrow_capacity, timeline->arrow_count + 1,
                      sizeof *timeline->arrows) != 0)
        return;
    // Inside the call that asks: it began at host_cursor or before, and will end after it.
    if (event->time > timeline->host_cursor)
        timeline->host_cursor = event->time;
    timeline->arrows[timeline->arrow_count++] = (struct arrow){event->value, timeline->host_cursor};
}

static void signal_fence(struct ferry_timeline *timeline, const struct ferry_event *event)
{
    // One bar of one cycle stands for the fence; several in one cycle stand side by side.
    uint64_t time = event->time > timeline->fence_end ? event->time : timeline->fence_end;
    for (size_t i = 0; i < timeline->arrow_count; i++) {
        if (timeline->arrows[i].value <= event->value && timeline->arrows[i].from >= time)
            time = timeline->arrows[i].from + 1;
    }
    timeline->fence_end = time + 1;
    struct open_span span = {.begin = time, .row = ROW_FENCE, .program = FERRY_NO_PROGRAM};
    snprintf(span.name, NAME_BYTES, "fence %" PRIu64, event->value);
    write_span(timeline, &span, time + 1);
    size_t kept = 0;
    for (size_t i = 0; i < timeline->arrow_count; i++) {
        struct arrow arrow = timeline->arrows[i];
        if (arrow.value > event->value) {
            timeline->arrows[kept++] = arrow;
            continue;
        }
        if (full(timeline))
            continue;
        uint64_t id = ++timeline->arrow_id;
        record(timeline,
               "{\"ph\":\"s\",\"pid\":1,\"tid\":%d,\"ts\":" MICROSECONDS ",\"id\":%" PRIu64
               ",\"cat\":\"fence\",\"name\":\"paging fence\"}",
               ROW_HOST + 1, AS_US(arrow.from), id);
        record(timeline,
               "{\"ph\":\"f\",\"bp\":\"e\",\"pid\":1,\"tid\":%d,\"ts\":" MICROSECONDS ",\"id\":%" PRIu64
               ",\"cat\":\"fence\",\"name\":\"paging fence\"}",
               ROW_FENCE + 1, AS_US(time), id);
    }
    timeline->arrow_count = kept;
}

static void counter(struct ferry_timeline *timeline, const char *name, const struct ferry_event *event)
{
    record(timeline,
           "{\"ph\":\"C\",\"pid\":1,\"ts\":" MICROSECONDS ",\"name\":\"%s\",\"args\":{\"value\":%" PRIu64 "}}",
           AS_US(event->time), name, event->value);
}

void ferry_timeline_value(struct ferry_timeline *timeline, unsigned program, const char *name, uint64_t value)
{
    record(timeline,
           "{\"ph\":\"C\",\"pid\":%u,\"ts\":" MICROSECONDS ",\"name\":\"%s\",\"args\":{\"value\":%" PRIu64 "}}",
           program + 2, AS_US(timeline->now), name, value);
}

void ferry_timeline_event(struct ferry_timeline *timeline, const struct ferry_event *event, const char *label,
                          unsigned program)
{
    if (event->time > timeline->now)
        timeline->now = event->time;
    switch (event->kind) {
    case FERRY_EVENT_CALL_BEGIN: begin_span(timeline, ROW_HOST, event, label, program); break;
    case FERRY_EVENT_CALL_END: end_span(timeline, ROW_HOST, event); break;
    case FERRY_EVENT_PAGING_BEGIN: begin_span(timeline, ROW_PAGING, event, label, program); break;
    case FERRY_EVENT_PAGING_END: end_span(timeline, ROW_PAGING, event); break;
    case FERRY_EVENT_JOB_BEGIN: begin_span(timeline, ROW_USER, event, label, program); break;
    case FERRY_EVENT_JOB_END: end_span(timeline, ROW_USER, event); break;
    case FERRY_EVENT_FENCE_WAIT: wait_for_fence(timeline, event); break;
    case FERRY_EVENT_FENCE_SIGNAL: signal_fence(timeline, event); break;
    case FERRY_EVENT_RESIDENT_BYTES: counter(timeline, "resident bytes", event); break;
    case FERRY_EVENT_READS_OUTSTANDING: counter(timeline, "reads outstanding", event); break;
    case FERRY_EVENT_TABLE_MISSES: counter(timeline, "page-table misses so far", event); break;
    case FERRY_EVENT_SPAN: device_span(timeline, row_of(event->track), event); break;
    case FERRY_EVENT_PLACED:
    case FERRY_EVENT_REMOVED:
    case FERRY_EVENT_MAPPED:
    case FERRY_EVENT_UNMAPPED:
    case FERRY_EVENT_BUDGET: break;
    }
}

void ferry_timeline_frame(struct ferry_timeline *timeline, unsigned program, uint64_t number)
{
    struct open_span span = {.begin = timeline->frame_begins[program], .row = ROW_FRAMES, .program = program};
    uint64_t end = timeline->now > span.begin ? timeline->now : span.begin + 1;
    snprintf(span.name, NAME_BYTES, "frame %" PRIu64, number);
    if (timeline->programs == 1)
        write_span(timeline, &span, end);
    write_in_row(timeline, &span, end, program + 2, PROGRAM_FRAMES);
    timeline->frame_begins[program] = end;
}

int ferry_timeline_close(struct ferry_timeline *timeline)
{
    if (!timeline)
        return 0;
    // What never ended is not shown: its length is not known.
    for (int row = 0; row < ROWS; row++) {
        flush_joined(timeline, (enum row)row);
        flush_batch(timeline, (enum row)row);
        free(timeline->batches[row].spans);
    }
    if (timeline->dropped)
        record(timeline,
               "{\"ph\":\"i\",\"s\":\"g\",\"pid\":1,\"tid\":1,\"ts\":" MICROSECONDS ",\"name\":\"%" PRIu64
               " more events are not shown: the timeline is full\"}",
               AS_US(timeline->now), timeline->dropped);
    fputs("\n]}\n", timeline->file);
    int status = ferry_output_close(&timeline->output, true), why = errno;
    free(timeline->open);
    free(timeline->frame_begins);
    free(timeline->arrows);
    free(timeline);
    errno = why;
    return status;
}
