// SPDX-License-Identifier: Apache-2.0
// A packed trace gives what the trace has, wherever the memory that it may take ends: each number of bytes is tried, so
// that whatever is written ends at each place of a block, and is marked on either side of it.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "../../seed.h"
#include "lab/packed.h"

#define MOST_LIVING 24u
#define MOST_HELD   700u

static uint64_t chance;

static unsigned below(unsigned limit)
{
    return (unsigned)draw_below(&chance, limit);
}

// ---- The system: it takes and gives as much as it likes, or is interrupted ------------------------------------------

ssize_t __real_pwrite(int fd, const void *data, size_t bytes, off_t at);
ssize_t __wrap_pwrite(int fd, const void *data, size_t bytes, off_t at);
ssize_t __real_pread(int fd, void *data, size_t bytes, off_t at);
ssize_t __wrap_pread(int fd, void *data, size_t bytes, off_t at);

static bool interrupts(size_t bytes)
{
    errno = EINTR;
    return bytes > 1 && below(8) == 0;
}

ssize_t __wrap_pwrite(int fd, const void *data, size_t bytes, off_t at)
{
    return interrupts(bytes) ? -1 : __real_pwrite(fd, data, 1 + below((unsigned)bytes), at);
}

ssize_t __wrap_pread(int fd, void *data, size_t bytes, off_t at)
{
    return interrupts(bytes) ? -1 : __real_pread(fd, data, 1 + below((unsigned)bytes), at);
}

// ---- A trace of all that there is -----------------------------------------------------------------------------------

static void add_creation(FILE *file, uint64_t id, unsigned turn)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const uint64_t sizes[] = {1, 127, 128, 4096, 16383, 16384, UINT64_C(1) << 33};
    fprintf(file, "a %llu %llu ", (unsigned long long)id, (unsigned long long)sizes[turn % 7]);
    if (turn % 3 == 0)
        fprintf(file, "buffer\n");
    else // Names of up to 48 bytes are kept, and of longer ones so much.
        fprintf(file, "texture %ux%u %.*s\n", 1 + turn % 200, 1 + turn * 7 % 300, (int)(turn % 2 ? 44 + turn % 9 : 4),
                letters);
}

static void make_trace(const char *path)
{
    uint64_t living[MOST_LIVING], next = 100;
    unsigned count = 0;
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (unsigned turn = 0; turn < 260; turn++) {
        const unsigned what = below(10);
        if (count < 3 || (what < 2 && count < MOST_LIVING)) {
            living[count] = turn % 5 == 0 ? next << 34 : next;
            add_creation(file, living[count++], turn);
            next++;
            continue;
        }
        const unsigned one = below(count);
        const unsigned long long id = living[one];
        if (what == 2) {
            fprintf(file, "x %llu\n", id);
            living[one] = living[--count];
        } else if (what == 3) {
            fprintf(file, "w %llu 0 1\n", id);
        } else if (what == 4) {
            fprintf(file, "l %llu %s\nu %llu\n", id, below(2) ? "discard" : "write", id);
        } else if (what == 5) {
            fprintf(file, "f\n");
            for (unsigned lines = below(4) == 0 ? 126 + below(4) : below(3); lines > 0; lines--)
                fprintf(file, "\n");
        } else if (what == 6) {
            fprintf(file, "t %llu\n", id);
        } else {
            fprintf(file, "d");
            for (unsigned named = 1 + below(turn % 50 == 0 ? 200 : 4); named > 0; named--)
                fprintf(file, " %llu", (unsigned long long)living[below(count)]);
            fprintf(file, "\n");
        }
    }
    fprintf(file, "a 7 1 buffer\n"); // Not the last one says whether there are textures.
    fclose(file);
}

// ---- What is expected of it -----------------------------------------------------------------------------------------

static struct ferry_trace trace;
static bool *target;     // of each of its objects: the GPU writes it somewhere
static uint32_t *number; // of each of its objects in the packed trace

static void expect_creation(const struct ferry_lab_unpacker *at, uint32_t object)
{
    const struct ferry_trace_object *about = &trace.objects[object];
    const struct ferry_lab_creation *creation = &at->creation;
    assert_true(creation->id == about->id && creation->bytes == about->bytes);
    assert_int_equal(creation->width, about->width);
    assert_int_equal(creation->height, about->width ? about->height : 0);
    assert_int_equal(creation->target, target[object]);
    assert_int_equal(creation->line, at->event.line);
    assert_int_equal(strlen(creation->format), about->width ? strnlen(trace.text + about->format, 48) : 0);
    assert_memory_equal(creation->format, about->width ? trace.text + about->format : "", strlen(creation->format));
}

static void expect_trace(const struct ferry_lab_packed *packed, size_t events)
{
    const struct ferry_trace_event *event;
    struct ferry_lab_unpacker at;
    uint32_t made = 0;
    assert_int_equal(packed->events, events);
    assert_true(ferry_lab_unpack_begin(&at, packed));
    for (size_t i = 0; i < events; i++) {
        const struct ferry_trace_event *want = &trace.events[i];
        assert_int_equal(ferry_lab_unpack(&at, &event), 1);
        assert_int_equal(event->op, want->op);
        assert_int_equal(event->line, want->line);
        assert_int_equal(event->discard, want->discard);
        if (want->op == FERRY_TRACE_CREATE) {
            number[want->object] = event->object;
            expect_creation(&at, want->object);
            assert_int_equal(at.made, ++made);
        } else if (want->op == FERRY_TRACE_DRAW) {
            assert_int_equal(event->b, want->b);
            for (uint64_t k = 0; k < want->b; k++)
                assert_int_equal(at.named[k], number[trace.draws[want->a + k]]);
        } else if (want->op != FERRY_TRACE_FRAME) {
            assert_int_equal(event->object, number[want->object]);
        }
    }
    assert_int_equal(ferry_lab_unpack(&at, &event), 0);
    ferry_lab_unpack_end(&at);
    assert_int_equal(packed->made, made);
}

// Most that lived at once: so many numbers there are.
static uint32_t most_living(size_t events)
{
    uint32_t living = 0, most = 0;
    for (size_t i = 0; i < events; i++) {
        living += trace.events[i].op == FERRY_TRACE_CREATE;
        most = living > most ? living : most;
        living -= trace.events[i].op == FERRY_TRACE_DESTROY;
    }
    return most;
}

static void note_targets(size_t events)
{
    memset(target, 0, trace.object_count * sizeof *target);
    for (size_t i = 0; i < events; i++)
        if (trace.events[i].op == FERRY_TRACE_TARGET)
            target[trace.events[i].object] = true;
}

// ---- Cases ----------------------------------------------------------------------------------------------------------

static void what_is_unpacked_is_what_was_packed(void **state)
{
    char path[] = "/tmp/ferry-packed-XXXXXX";
    struct ferry_trace_error error;
    struct ferry_lab_packed packed;
    (void)state;
    close(mkstemp(path));
    make_trace(path);
    const int next_descriptor = dup(0);
    close(next_descriptor);
    assert_int_equal(ferry_trace_read(path, &trace, &error), 0);
    target = calloc(trace.object_count, sizeof *target);
    number = calloc(trace.object_count, sizeof *number);
    assert_true(target && number);
    // 0: as much as is usual. The first ones write each byte alone.
    for (size_t held = 0; held < MOST_HELD; held++) {
        struct ferry_lab_reading reading = {.held = held};
        note_targets(trace.event_count);
        assert_int_equal(ferry_lab_pack(&packed, path, &reading), 0);
        assert_int_equal(packed.file >= 0, held != 0);
        assert_int_equal(packed.bytes != NULL, held == 0); // of what is in a file nothing stays in memory
        expect_trace(&packed, trace.event_count);
        assert_int_equal(packed.living, most_living(trace.event_count));
        assert_true(packed.draws && ferry_trace_draws(&trace));
        ferry_lab_packed_free(&packed);
        // Of one that is held, only so much as is asked for.
        const size_t events = held % 2 ? trace.event_count : held % trace.event_count;
        note_targets(events);
        assert_int_equal(ferry_lab_pack_held(&packed, &trace, events, &reading), 0);
        expect_trace(&packed, events);
        assert_int_equal(packed.living, most_living(events));
        ferry_lab_packed_free(&packed);
    }
    free(target);
    free(number);
    ferry_trace_free(&trace);
    unlink(path);
    // Nor does any of the files stay open.
    assert_int_equal(dup(0), next_descriptor);
    close(next_descriptor);
}

// Said in the trace: then nobody guesses by textures. Not said: by those, whichever allocation has one.
static void what_a_frame_is_says_whether_it_is_a_picture(void **state)
{
    static const struct {
        const char *text, *unit;
        bool draws;
    } traces[] = {{"a 1 4096 texture 8x8 RGBA\nd 1\nf token\n", "token", false},
                  {"a 1 4096 buffer\nd 1\nf token\n", "token", false},
                  {"a 1 4096 buffer\nd 1\nf frame\n", "frame", true},
                  {"a 1 4096 texture 8x8 RGBA\na 2 4096 buffer\nd 1\nf\n", "frame", true},
                  {"a 1 4096 buffer\nd 1\nf\n", "frame", false}};
    (void)state;
    for (size_t i = 0; i < sizeof traces / sizeof traces[0]; i++)
        for (unsigned held = 0; held < 2; held++) {
            char path[] = "/tmp/ferry-packed-XXXXXX";
            struct ferry_lab_reading reading = {.held = 1};
            struct ferry_lab_packed packed;
            FILE *file = fdopen(mkstemp(path), "w");
            assert_non_null(file);
            fputs(traces[i].text, file);
            fclose(file);
            if (held) {
                assert_int_equal(ferry_trace_read(path, &trace, &reading.error), 0);
                assert_int_equal(ferry_lab_pack_held(&packed, &trace, trace.event_count, &reading), 0);
                assert_int_equal(ferry_trace_draws(&trace), traces[i].draws);
                ferry_trace_free(&trace);
            } else {
                assert_int_equal(ferry_lab_pack(&packed, path, &reading), 0);
            }
            assert_string_equal(packed.unit, traces[i].unit);
            assert_int_equal(packed.draws, traces[i].draws);
            ferry_lab_packed_free(&packed);
            unlink(path);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_unpacked_is_what_was_packed),
        cmocka_unit_test(what_a_frame_is_says_whether_it_is_a_picture),
    };
    chance = seed_given(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
