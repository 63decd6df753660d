// SPDX-License-Identifier: Apache-2.0
// The trace reader: what it takes, what it refuses, and with which line and words.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "../seed.h"
#include "tools/trace.h"

static char path[64];

static void write_file(const void *bytes, size_t count)
{
    snprintf(path, sizeof path, "/tmp/ferry-trace-XXXXXX");
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, count), count);
    close(file);
}

static int read_text(const char *text, struct ferry_trace *trace, struct ferry_trace_error *error)
{
    write_file(text, strlen(text));
    int status = ferry_trace_read(path, trace, error);
    unlink(path);
    return status;
}

static void assert_refused(const char *text, uint64_t line, const char *words)
{
    struct ferry_trace trace;
    struct ferry_trace_error error;
    assert_int_equal(read_text(text, &trace, &error), -1);
    if (error.line != line || !strstr(error.reason, words))
        print_message("for \"%s\": line %u, \"%s\"\n", text, (unsigned)error.line, error.reason);
    assert_int_equal(error.line, line);
    assert_non_null(strstr(error.reason, words));
    assert_null(trace.events);
    assert_int_equal(trace.event_count, 0);
}

static void every_event_is_read(void **state)
{
    (void)state;
    struct ferry_trace trace;
    struct ferry_trace_error error;
    char text[96];
    assert_int_equal(
        read_text("a 7 4096 buffer\na 9 16384 texture 64x32 GL_RGBA\nw 7 16 100\nl 7 discard\nw 7 0 1\nu 7\n"
                  "l 9 write\nu 9\nd 7 9 7\nt 9\nf\nx 7\na 7 1 buffer\nd 7\nf\n",
                  &trace, &error),
        0);
    static const uint8_t ops[] = {FERRY_TRACE_CREATE, FERRY_TRACE_CREATE, FERRY_TRACE_WRITE, FERRY_TRACE_LOCK,
                                  FERRY_TRACE_WRITE,  FERRY_TRACE_UNLOCK, FERRY_TRACE_LOCK,  FERRY_TRACE_UNLOCK,
                                  FERRY_TRACE_DRAW,   FERRY_TRACE_TARGET, FERRY_TRACE_FRAME, FERRY_TRACE_DESTROY,
                                  FERRY_TRACE_CREATE, FERRY_TRACE_DRAW,   FERRY_TRACE_FRAME};
    assert_int_equal(trace.event_count, sizeof ops);
    for (size_t i = 0; i < sizeof ops; i++) {
        assert_int_equal(trace.events[i].op, ops[i]);
        assert_int_equal(trace.events[i].line, i + 1);
    }
    assert_int_equal(trace.events[2].a, 16);
    assert_int_equal(trace.events[2].b, 100);
    assert_true(trace.events[3].discard);
    assert_false(trace.events[6].discard);
    assert_int_equal(trace.events[8].b, 2); // Named twice, drawn once.
    assert_int_equal(trace.draws[trace.events[8].a], 0);
    assert_int_equal(trace.draws[trace.events[8].a + 1], 1);
    assert_int_equal(trace.object_count, 3);
    assert_int_equal(trace.draws[trace.events[13].a], 2); // The id's second life is another object.
    assert_false(trace.objects[0].target);
    assert_true(trace.objects[1].target);
    assert_int_equal(trace.objects[0].destroyed, 12);
    assert_int_equal(trace.frames, 2);
    assert_string_equal(ferry_trace_object_text(&trace, 1, text), "texture 64x32 GL_RGBA");
    assert_string_equal(ferry_trace_object_text(&trace, 0, text), "buffer");
    assert_int_equal(ferry_trace_events_of_frames(&trace, 1), 11);
    assert_int_equal(ferry_trace_events_of_frames(&trace, 0), 15);
    assert_int_equal(ferry_trace_events_of_frames(&trace, 99), 15);
    ferry_trace_free(&trace);
}

static void line_ends_and_blanks_do_not_matter(void **state)
{
    (void)state;
    struct ferry_trace trace;
    struct ferry_trace_error error;
    assert_int_equal(read_text("a 1 4 buffer\r\n\r\n  d\t1  \r\nf", &trace, &error), 0);
    assert_int_equal(trace.event_count, 3);
    assert_int_equal(trace.events[2].line, 4);
    ferry_trace_free(&trace);
}

static void the_largest_size_is_taken(void **state)
{
    (void)state;
    struct ferry_trace trace;
    struct ferry_trace_error error;
    assert_int_equal(read_text("a 18446744073709551615 1099511627776 buffer\nw 18446744073709551615 1099511627775 1\n",
                               &trace, &error),
                     0);
    ferry_trace_free(&trace);
}

static void a_trace_says_what_its_frames_are(void **state)
{
    (void)state;
    static const struct {
        const char *text, *unit;
        bool draws;
    } cases[] = {
        {"a 1 4 buffer\nd 1\nf\n", "", false},
        {"a 1 4 texture 1x1 GL_RGBA8\nd 1\nf\nf\n", "", true},
        {"a 1 4 texture 1x1 GL_RGBA8\nd 1\nf batch\nf batch\n", "batch", false},
        {"a 1 4 buffer\nd 1\nf frame\nf\n", "frame", true},
        {"a 1 4 buffer\nf abcdefghijklmnop\n", "abcdefghijklmnop", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ferry_trace trace;
        struct ferry_trace_error error;
        assert_int_equal(read_text(cases[i].text, &trace, &error), 0);
        assert_string_equal(trace.unit, cases[i].unit);
        assert_int_equal(ferry_trace_draws(&trace), cases[i].draws);
        ferry_trace_free(&trace);
    }
}

static void bad_lines_are_named(void **state)
{
    (void)state;
    assert_refused("a 1 4 buffer\nq 1\n", 2, "'q' is no event");
    assert_refused("a 1 4 buffer\nframe\n", 2, "'frame' is no event");
    assert_refused("# comment\n", 1, "'#' is no event");
    assert_refused("a\n", 1, "the allocation's id is missing");
    assert_refused("a x 4 buffer\n", 1, "'x' is not a number");
    assert_refused("a -1 4 buffer\n", 1, "'-1' is not a number");
    assert_refused("a 0x10 4 buffer\n", 1, "'0x10' is not a number");
    assert_refused("a 18446744073709551616 4 buffer\n", 1, "is not a number");
    assert_refused("a 1\n", 1, "the allocation's size is missing");
    assert_refused("a 1 4.5 buffer\n", 1, "'4.5' is not a number");
    assert_refused("a 1 4\n", 1, "'buffer' or 'texture' is missing");
    assert_refused("a 1 4 image\n", 1, "'image' is neither");
    assert_refused("a 1 4 buffer 3\n", 1, "'3' is too much");
    assert_refused("a 1 4 buffer\nf 1\n", 2, "'1' is no word for what a frame is: up to 16 letters");
    assert_refused("a 1 4 buffer\nf abcdefghijklmnopq\n", 2, "'abcdefghijklmnopq' is no word");
    assert_refused("a 1 4 buffer\nf token token\n", 2, "'token' is too much");
    assert_refused("a 1 4 buffer\nf token\nf\n", 3, "a frame here, and a token before");
    assert_refused("a 1 4 buffer\nf\nf token\n", 3, "a token here, and a frame before");
    assert_refused("a 1 4 buffer\nf step\nf token\n", 3, "a token here, and a step before");
    assert_refused("a 1 4 buffer\nt 1 1\n", 2, "'1' is too much");
    assert_refused("a 1 4 buffer\nw 1 0\n", 2, "the number of bytes is missing");
    assert_refused("a 1 4 buffer\nw 1\n", 2, "the offset is missing");
    assert_refused("a 1 4 buffer\nl 1\n", 2, "'discard' or 'write' is missing");
    assert_refused("a 1 4 buffer\nl 1 read\n", 2, "'read' is neither 'discard' nor 'write'");
    assert_refused("a 1 4 buffer\nd\n", 2, "a draw without an allocation");
    assert_refused("a 1 4 buffer\nd 1 b\n", 2, "'b' is not a number");
    assert_refused("a 1 4 texture\n", 1, "WIDTHxHEIGHT is missing");
    assert_refused("a 1 4 texture 64 GL_RGBA\n", 1, "'64' is not WIDTHxHEIGHT");
    assert_refused("a 1 4 texture 64x GL_RGBA\n", 1, "'64x' is not WIDTHxHEIGHT");
    assert_refused("a 1 4 texture 64x4x4 GL_RGBA\n", 1, "is not WIDTHxHEIGHT");
    assert_refused("a 1 4 texture 2x2\n", 1, "format is missing");
    assert_refused("a 1 4 texture 2x2 GL_RGBA x\n", 1, "'x' is too much");
}

static void impossible_sizes_are_refused(void **state)
{
    (void)state;
    assert_refused("a 1 0 buffer\n", 1, "has size 0");
    assert_refused("a 1 1099511627777 buffer\n", 1, "more than 1 TiB");
    assert_refused("a 1 4 texture 0x2 GL_RGBA\n", 1, "impossible");
    assert_refused("a 1 4 texture 2x4294967297 GL_RGBA\n", 1, "impossible");
    assert_refused("a 1 4 buffer\nw 1 0 0\n", 2, "a write of 0 bytes");
    assert_refused("a 1 4096 buffer\nw 1 4000 97\n", 2, "leaves allocation 1 of 4096 bytes");
    assert_refused("a 1 4096 buffer\nw 1 4097 1\n", 2, "leaves allocation 1");
    assert_refused("a 1 4096 buffer\nw 1 1 18446744073709551615\n", 2, "leaves allocation 1");
}

static void ids_must_live(void **state)
{
    (void)state;
    assert_refused("w 1 0 4\n", 1, "allocation 1 was never created");
    assert_refused("a 1 4 buffer\nd 1 2\n", 2, "allocation 2 was never created");
    assert_refused("a 1 4 buffer\na 1 4 buffer\n", 2, "created in line 1");
    assert_refused("a 1 4 buffer\nx 1\nt 1\n", 3, "allocation 1 was destroyed in line 2");
    assert_refused("a 1 4 buffer\nx 1\nx 1\n", 3, "destroyed in line 2");
    assert_refused("a 1 4 buffer\nu 1\n", 2, "is not locked");
    assert_refused("a 1 4 buffer\nl 1 write\nl 1 write\n", 3, "is locked already");
}

static void files_that_are_no_traces_are_refused(void **state)
{
    (void)state;
    struct ferry_trace trace;
    struct ferry_trace_error error;
    assert_refused("", 0, "holds no event");
    assert_refused("\n\n", 0, "holds no event");
    assert_int_equal(ferry_trace_read("/nonexistent/trace", &trace, &error), -1);
    assert_non_null(strstr(error.reason, "No such file"));
    assert_int_equal(ferry_trace_read("/tmp", &trace, &error), -1);
    assert_int_equal(error.line, 0);
    write_file("a 1 4 buffer\n\0\0\0\n", 17);
    assert_int_equal(ferry_trace_read(path, &trace, &error), -1);
    assert_int_equal(error.line, 2);
    assert_non_null(strstr(error.reason, "zero byte"));
    unlink(path);
}

// 20,000 lines, so that blocks end inside lines.
static size_t make_gzip(uint8_t *packed, size_t room)
{
    size_t used = 0, capacity = 1 << 20;
    char *text = malloc(capacity);
    used += (size_t)snprintf(text, capacity, "a 1 1048576 buffer\n");
    for (unsigned i = 0; i < 20000; i++)
        used += (size_t)snprintf(text + used, capacity - used, "w 1 %u %u\n", i * 31, 1 + i % 977);
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (Bytef *)text;
    stream.avail_in = (uInt)used;
    stream.next_out = packed;
    stream.avail_out = (uInt)room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    size_t bytes = stream.total_out;
    deflateEnd(&stream);
    free(text);
    return bytes;
}

static void gzip_is_told_by_content(void **state)
{
    (void)state;
    static uint8_t packed[1 << 20];
    struct ferry_trace trace;
    struct ferry_trace_error error;
    size_t bytes = make_gzip(packed, sizeof packed);
    write_file(packed, bytes);
    assert_int_equal(ferry_trace_read(path, &trace, &error), 0);
    assert_int_equal(trace.event_count, 20001);
    assert_int_equal(trace.events[20000].a, 19999 * 31);
    ferry_trace_free(&trace);
    unlink(path);
    // Cut off at every kind of place: nothing of it is taken.
    for (size_t cut = 1; cut < 9; cut++) {
        write_file(packed, bytes - cut * bytes / 10 - cut);
        assert_int_equal(ferry_trace_read(path, &trace, &error), -1);
        assert_non_null(strstr(error.reason, "gzip file is cut off"));
        unlink(path);
    }
    packed[bytes / 2] ^= 0x55;
    write_file(packed, bytes);
    assert_int_equal(ferry_trace_read(path, &trace, &error), -1);
    unlink(path);
}

static void very_long_draws_are_read(void **state)
{
    (void)state;
    enum { COUNT = 50000 };
    size_t capacity = COUNT * 40, used = 0;
    char *text = malloc(capacity);
    struct ferry_trace trace;
    struct ferry_trace_error error;
    for (unsigned i = 0; i < COUNT; i++)
        used += (size_t)snprintf(text + used, capacity - used, "a %u 64 buffer\n", i);
    used += (size_t)snprintf(text + used, capacity - used, "d");
    for (unsigned i = 0; i < COUNT; i++)
        used += (size_t)snprintf(text + used, capacity - used, " %u", COUNT - 1 - i);
    assert_int_equal(read_text(text, &trace, &error), 0);
    assert_int_equal(trace.events[COUNT].b, COUNT);
    assert_int_equal(trace.draws[0], COUNT - 1);
    ferry_trace_free(&trace);
    free(text);
}

// Whatever is in the file: it is taken or refused with a line of the file, and nothing is touched that should not be.
static void spoilt_traces_are_taken_or_refused(void **state)
{
    (void)state;
    static const char good[] =
        "a 1 8192 buffer\nw 1 0 8192\na 2 20000 texture 50x100 GL_RGBA\nw 2 100 5000\nl 1 discard\n"
        "w 1 0 4096\nu 1\nd 1 2\nt 2\nf\nx 2\na 2 4 buffer\nd 2 1\nf\n";
    static const char letters[] = "awlutdfx 0123456789\n\r\t-x\xff";
    uint64_t random = seed_given(20261120);
    unsigned taken = 0;
    for (unsigned round = 0; round < 3000; round++) {
        char text[sizeof good];
        struct ferry_trace trace;
        struct ferry_trace_error error;
        memcpy(text, good, sizeof good);
        for (unsigned change = 0; change <= round % 4; change++) {
            char *letter = &text[draw_below(&random, sizeof good - 1)];
            *letter = letters[draw_below(&random, sizeof letters - 1)];
        }
        if (read_text(text, &trace, &error) == 0) {
            taken++;
            ferry_trace_free(&trace);
        } else {
            assert_true(error.line <= 20 && error.reason[0]);
        }
    }
    assert_true(taken > 0 && taken < 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_is_read),
        cmocka_unit_test(line_ends_and_blanks_do_not_matter),
        cmocka_unit_test(the_largest_size_is_taken),
        cmocka_unit_test(a_trace_says_what_its_frames_are),
        cmocka_unit_test(bad_lines_are_named),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(ids_must_live),
        cmocka_unit_test(files_that_are_no_traces_are_refused),
        cmocka_unit_test(gzip_is_told_by_content),
        cmocka_unit_test(very_long_draws_are_read),
        cmocka_unit_test(spoilt_traces_are_taken_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
