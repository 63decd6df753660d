// SPDX-License-Identifier: Apache-2.0
// The file that a packed trace is kept in: nobody sees it, and where the disk takes or gives no more it says so, at
// whichever write or read that is.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "lab/packed.h"

#define HELD      48u // Bytes in memory: a few events.
#define LONG_NAME 5000u

// ---- The system -----------------------------------------------------------------------------------------------------

// The n-th call, counted from 1, comes to this: an error, or 0: nothing was written or read, and no error.
struct broken {
    unsigned at, calls;
    int why;
};

static struct broken writing, reading_back;
static char made[256]; // the name of the last file
static int cannot_be_made;

ssize_t __real_pwrite(int fd, const void *data, size_t bytes, off_t at);
ssize_t __wrap_pwrite(int fd, const void *data, size_t bytes, off_t at);
ssize_t __real_pread(int fd, void *data, size_t bytes, off_t at);
ssize_t __wrap_pread(int fd, void *data, size_t bytes, off_t at);
int __real_mkstemp(char *name);
int __wrap_mkstemp(char *name);

static bool breaks(struct broken *broken, ssize_t *result)
{
    errno = broken->why;
    *result = broken->why ? -1 : 0;
    return ++broken->calls == broken->at;
}

ssize_t __wrap_pwrite(int fd, const void *data, size_t bytes, off_t at)
{
    ssize_t result;
    return breaks(&writing, &result) ? result : __real_pwrite(fd, data, bytes, at);
}

ssize_t __wrap_pread(int fd, void *data, size_t bytes, off_t at)
{
    ssize_t result;
    return breaks(&reading_back, &result) ? result : __real_pread(fd, data, bytes, at);
}

// Somebody who wants to end the program does so just then.
int __wrap_mkstemp(char *name)
{
    errno = cannot_be_made;
    int file = cannot_be_made ? -1 : __real_mkstemp(name);
    snprintf(made, sizeof made, "%s", name);
    raise(SIGTERM);
    return file;
}

static unsigned signals, with_a_name;

static void on_signal(int number)
{
    (void)number;
    signals++;
    with_a_name += access(made, F_OK) == 0;
}

// ---- A trace, written to and read from such a disk ------------------------------------------------------------------

static char folder[] = "/tmp/ferry-disk-XXXXXX", path[64];
static struct ferry_trace trace;

static void make_trace(void)
{
    snprintf(path, sizeof path, "%s/trace", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (unsigned i = 0; i < 40; i++)
        fprintf(file, "a %u 5000 texture 9x9 GL_RGBA8\n", i);
    for (unsigned i = 0; i < 40; i++)
        fprintf(file, "d %u %u %u\nt %u\nf\n", i, 39 - i, i / 2, i % 13); // Some are marked where they were made.
    fclose(file);
}

// Both ways to pack it; the first of them reads it from its file.
static int pack(bool whole, struct ferry_lab_packed *packed, struct ferry_lab_reading *reading)
{
    *reading = (struct ferry_lab_reading){.held = HELD, .error = {.line = 7, .reason = "old"}};
    writing.calls = reading_back.calls = 0;
    return whole ? ferry_lab_pack_held(packed, &trace, trace.event_count, reading)
                 : ferry_lab_pack(packed, path, reading);
}

static void expect_said(const struct ferry_lab_reading *reading, const char *where, int why)
{
    assert_true(reading->of_folder);
    assert_int_equal(reading->error.line, 0);
    assert_non_null(strstr(reading->error.reason, where));
    assert_non_null(strstr(reading->error.reason, strerror(why)));
    assert_non_null(strstr(reading->error.reason, "TMPDIR can name another folder"));
}

// How far it comes: -1 behind an error, which it stays at.
static int unpack(const struct ferry_lab_packed *packed, uint64_t *events, int *error)
{
    const struct ferry_trace_event *event;
    struct ferry_lab_unpacker at;
    int more;
    *events = 0;
    reading_back.calls = 0;
    assert_true(ferry_lab_unpack_begin(&at, packed));
    while ((more = ferry_lab_unpack(&at, &event)) > 0)
        assert_int_equal(event->op, trace.events[(*events)++].op);
    assert_int_equal(ferry_lab_unpack(&at, &event), more);
    *error = at.error;
    ferry_lab_unpack_end(&at);
    return more;
}

// ---- Cases ----------------------------------------------------------------------------------------------------------

static void expect_whole(bool whole)
{
    struct ferry_lab_reading reading;
    struct ferry_lab_packed packed;
    uint64_t events;
    int error;
    assert_int_equal(pack(whole, &packed, &reading), 0);
    assert_int_equal(unpack(&packed, &events, &error), 0);
    assert_int_equal(events, trace.event_count);
    ferry_lab_packed_free(&packed);
}

// Also in the last write, and in one that marks what was written before.
static void a_disk_that_takes_no_more_is_told_at_each_write(void **state)
{
    static const int whys[] = {ENOSPC, EDQUOT, EIO, 0}; // 0: it takes nothing, and has no error.
    (void)state;
    for (unsigned whole = 0; whole < 2; whole++) {
        struct ferry_lab_reading reading;
        struct ferry_lab_packed packed;
        expect_whole(whole);
        const unsigned writes = writing.calls;
        assert_true(writes > 12);
        for (size_t i = 0; i < sizeof whys / sizeof whys[0]; i++)
            for (unsigned at = 1; at <= writes; at++) {
                writing = (struct broken){.at = at, .why = whys[i]};
                assert_int_equal(pack(whole, &packed, &reading), -1);
                expect_said(&reading, folder, whys[i] ? whys[i] : ENOSPC);
                ferry_lab_packed_free(&packed);
            }
        for (unsigned at = 1; at <= writes; at++) {
            writing = (struct broken){.at = at, .why = EINTR};
            expect_whole(whole);
        }
        writing.at = 0;
    }
}

// While it is packed a byte is read where an allocation is marked; whoever plays it reads blocks.
static void a_disk_that_gives_nothing_back_is_told_at_each_read(void **state)
{
    static const int whys[] = {EIO, ESTALE, 0}; // 0: the file ends.
    (void)state;
    for (unsigned whole = 0; whole < 2; whole++) {
        struct ferry_lab_reading reading;
        struct ferry_lab_packed packed;
        uint64_t events;
        int error;
        assert_int_equal(pack(whole, &packed, &reading), 0);
        const unsigned marks = reading_back.calls;
        assert_int_equal(unpack(&packed, &events, &error), 0);
        const unsigned blocks = reading_back.calls;
        assert_true(marks > 8 && blocks > 0);
        for (size_t i = 0; i < sizeof whys / sizeof whys[0]; i++) {
            for (unsigned at = 1; at <= blocks; at++) {
                reading_back = (struct broken){.at = at, .why = whys[i]};
                // What follows is there again: it has failed all the same.
                assert_int_equal(unpack(&packed, &events, &error), -1);
                assert_int_equal(error, whys[i] ? whys[i] : EIO);
                assert_true(events < trace.event_count);
            }
            reading_back.at = 0;
        }
        ferry_lab_packed_free(&packed);
        for (size_t i = 0; i < sizeof whys / sizeof whys[0]; i++)
            for (unsigned at = 1; at <= marks; at++) {
                reading_back = (struct broken){.at = at, .why = whys[i]};
                assert_int_equal(pack(whole, &packed, &reading), -1);
                expect_said(&reading, folder, whys[i] ? whys[i] : EIO);
                ferry_lab_packed_free(&packed);
            }
        for (unsigned at = 1; at <= marks; at++) {
            reading_back = (struct broken){.at = at, .why = EINTR};
            expect_whole(whole);
        }
        reading_back.at = 0;
    }
}

// Whoever packs has the signals, and what becomes of them, that he had before; and one that comes as the file is made
// finds it without a name.
static void nobody_sees_the_file(void **state)
{
    struct sigaction action = {.sa_handler = on_signal}, size, size_before;
    struct ferry_lab_reading reading;
    struct ferry_lab_packed packed;
    struct stat about;
    sigset_t before, after;
    (void)state;
    assert_int_equal(sigaction(SIGXFSZ, &action, &size_before), 0);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
    signals = with_a_name = 0;
    assert_int_equal(pack(false, &packed, &reading), 0);
    assert_int_equal(signals, 1);
    assert_int_equal(with_a_name, 0);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
    for (int number = 1; number < 32; number++)
        assert_int_equal(sigismember(&before, number), sigismember(&after, number));
    assert_int_equal(sigaction(SIGXFSZ, &size_before, &size), 0);
    assert_true(size.sa_handler == on_signal);
    assert_int_equal(fstat(packed.file, &about), 0);
    assert_int_equal(about.st_nlink, 0);
    assert_int_equal(about.st_mode & 077, 0);
    assert_int_equal(fcntl(packed.file, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    ferry_lab_packed_free(&packed);
}

static void a_folder_without_room_for_it_is_told(void **state)
{
    static char name[LONG_NAME];
    struct ferry_lab_reading reading;
    struct ferry_lab_packed packed;
    (void)state;
    cannot_be_made = EACCES;
    assert_int_equal(pack(false, &packed, &reading), -1);
    cannot_be_made = 0;
    expect_said(&reading, folder, EACCES);
    ferry_lab_packed_free(&packed);
    memset(name, 'x', LONG_NAME - 1);
    memcpy(name, "/tmp/", 5);
    setenv("TMPDIR", name, 1);
    made[0] = 0;
    assert_int_equal(pack(false, &packed, &reading), -1);
    assert_int_equal(made[0], 0); // A part of it is another's.
    expect_said(&reading, "/tmp/xxxx", ENAMETOOLONG);
    ferry_lab_packed_free(&packed);
    for (unsigned set = 0; set < 2; set++) {
        unsetenv("TMPDIR");
        if (set)
            setenv("TMPDIR", "", 1);
        cannot_be_made = EROFS;
        assert_int_equal(pack(false, &packed, &reading), -1);
        cannot_be_made = 0;
        expect_said(&reading, "/var/tmp", EROFS);
        assert_int_equal(strncmp(made, "/var/tmp/ferry-trace-", 21), 0);
        ferry_lab_packed_free(&packed);
    }
    setenv("TMPDIR", folder, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_disk_that_takes_no_more_is_told_at_each_write),
        cmocka_unit_test(a_disk_that_gives_nothing_back_is_told_at_each_read),
        cmocka_unit_test(nobody_sees_the_file),
        cmocka_unit_test(a_folder_without_room_for_it_is_told),
    };
    struct sigaction action = {.sa_handler = on_signal};
    struct ferry_trace_error error;
    if (!mkdtemp(folder) || sigaction(SIGTERM, &action, NULL) != 0)
        return 1;
    setenv("TMPDIR", folder, 1);
    make_trace();
    if (ferry_trace_read(path, &trace, &error) != 0)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ferry_trace_free(&trace);
    unlink(path);
    return rmdir(folder) == 0 ? failed : 1; // Nothing was left in it.
}
