// SPDX-License-Identifier: Apache-2.0
// Files that a command writes: what it asks of the system for them, and where that refuses a file beside the old one,
// its name, its owner, its rights, room.
#define _GNU_SOURCE // mkdtemp()
#include <errno.h>
#include <limits.h>

#include "output_folder.h"

static int no_part, no_rename, no_owner, no_rights, no_room; // What it refuses with, or 0.
static char asked[PATH_MAX];                                 // The last name of a file that was to be made.
static int owners;                                           // How often it was asked for another owner.

int __real_mkstemp(char *name);
int __wrap_mkstemp(char *name);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __real_fchown(int fd, uid_t user, gid_t group);
int __wrap_fchown(int fd, uid_t user, gid_t group);
int __real_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode);
int __real_fallocate(int fd, int mode, off_t from, off_t bytes);
int __wrap_fallocate(int fd, int mode, off_t from, off_t bytes);

static int refuse(int why)
{
    errno = why;
    return -1;
}

int __wrap_mkstemp(char *name)
{
    snprintf(asked, sizeof asked, "%s", name);
    // Files without a name are made elsewhere.
    return no_part && strncmp(name, "out/", 4) == 0 ? refuse(no_part) : __real_mkstemp(name);
}

int __wrap_rename(const char *from, const char *to)
{
    return no_rename ? refuse(no_rename) : __real_rename(from, to);
}

int __wrap_fchown(int fd, uid_t user, gid_t group)
{
    owners++;
    return no_owner ? refuse(no_owner) : __real_fchown(fd, user, group);
}

int __wrap_fchmod(int fd, mode_t mode)
{
    return no_rights ? refuse(no_rights) : __real_fchmod(fd, mode);
}

int __wrap_fallocate(int fd, int mode, off_t from, off_t bytes)
{
    // A part of it may be there before there is no more.
    if (no_room == ENOSPC && ftruncate(fd, from + bytes) != 0)
        abort();
    return no_room ? refuse(no_room) : __real_fallocate(fd, mode, from, bytes);
}

static int setup(void **state)
{
    no_part = no_rename = no_owner = no_rights = no_room = owners = 0;
    return setup_folder(state);
}

static void what_stood_there_gives_its_rights_and_stays_until_then(void **state)
{
    (void)state;
    put("out/old", "old");
    chmod("out/old", 04604);
    ino_t number = look("out/old").st_ino;
    assert_int_equal(write_it("out/old", "old", "half", false), -1);
    expect("out/old", "old");
    assert_int_equal(files(), 1);
    assert_int_equal(write_it("out/old", "old", "new", true), 0);
    expect("out/old", "new");
    assert_int_equal(look("out/old").st_mode & 07777, 0604);
    assert_int_not_equal(look("out/old").st_ino, number);
    assert_int_equal(files(), 1);
    assert_int_equal(owners, 0);
}

// A folder that takes no other file; a name that nobody may give away; an owner that cannot be kept.
static void what_keeps_its_name_is_written_into_when_all_is_there(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        put("out/old", "of before");
        no_part = (int[]){EACCES, EROFS, EPERM, 0, 0}[i];
        no_rename = (int[]){0, 0, 0, EBUSY, EPERM}[i];
        ino_t number = look("out/old").st_ino;
        assert_int_equal(write_it("out/old", "of before", "half", false), -1);
        expect("out/old", "of before");
        assert_int_equal(write_it("out/old", "of before", "new", true), 0);
        expect("out/old", "new");
        assert_int_equal(write_it("out/old", "new", "newer and longer", true), 0);
        expect("out/old", "newer and longer");
        no_room = ENOSPC;
        assert_int_equal(write_it("out/old", "newer and longer", "newest of all, too long", true), -1);
        assert_int_equal(errno, ENOSPC);
        expect("out/old", "newer and longer");
        assert_int_equal(look("out/old").st_size, 16);
        no_room = i % 2 ? EOPNOTSUPP : ENOSYS; // A file system that cannot tell before.
        assert_int_equal(write_it("out/old", "newer and longer", "newest", true), 0);
        no_room = 0;
        expect("out/old", "newest");
        assert_int_equal(write_it("out/old", "newest", "", true), 0);
        assert_int_equal(look("out/old").st_size, 0);
        assert_int_equal(look("out/old").st_ino, number);
        assert_int_equal(files(), 1);
    }
    // Elsewhere is where others put what may become large.
    const char *before = getenv("TMPDIR");
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", before ? before : "");
    setenv("TMPDIR", "", 1);
    no_part = EACCES;
    assert_int_equal(write_it("out/old", "", "newest", true), 0);
    assert_memory_equal(asked, "/var/tmp/", 9);
    setenv("TMPDIR", folder, 1);
    assert_int_equal(write_it("out/old", "newest", "newest", true), 0);
    assert_memory_equal(asked, folder, strlen(folder));
    // What is not there can be written nowhere else.
    struct ferry_output output;
    no_part = EACCES;
    assert_int_equal(ferry_output_open(&output, "out/new"), -1);
    assert_int_equal(errno, EACCES);
    no_part = 0;
    no_rename = EPERM;
    assert_int_equal(write_it("out/new", NULL, "new", true), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(files(), 1);
}

// More than is copied at once: each byte is where it was.
static void a_large_file_is_written_into_as_it_is(void **state)
{
    struct ferry_output output;
    (void)state;
    put("out/old", "old");
    no_rename = EPERM;
    int next = dup(0);
    close(next);
    assert_int_equal(ferry_output_open(&output, "out/old"), 0);
    for (int i = 0; i < 50000; i++)
        fprintf(output.file, "%06d\n", i);
    assert_int_equal(ferry_output_close(&output, true), 0);
    assert_int_equal(dup(0), next);
    close(next);
    FILE *file = fopen("out/old", "r");
    int number = -1;
    for (int i = 0; i < 50000; i++)
        assert_true(fscanf(file, "%d\n", &number) == 1 && number == i);
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
    assert_int_equal(look("out/old").st_size, 50000 * 7);
}

static void a_system_that_has_no_room_for_a_file_takes_none_away(void **state)
{
    struct ferry_output output;
    (void)state;
    put("out/old", "old");
    for (int i = 0; i < 3; i++) {
        no_part = (int[]){ENOSPC, EDQUOT, EMFILE}[i];
        assert_int_equal(ferry_output_open(&output, "out/old"), -1);
        assert_int_equal(errno, no_part);
        expect("out/old", "old");
    }
    no_part = 0;
    no_rename = ENOSPC;
    assert_int_equal(write_it("out/old", "old", "new", true), -1);
    assert_int_equal(errno, ENOSPC);
    expect("out/old", "old");
    assert_int_equal(files(), 1);
}

static void a_file_stays_its_owners(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip(); // Only root can give files away.
    put("out/old", "old");
    assert_int_equal(chown("out/old", 65534, 65533), 0);
    chmod("out/old", 0600);
    assert_int_equal(write_it("out/old", "old", "new", true), 0);
    struct stat about = look("out/old");
    assert_true(about.st_uid == 65534 && about.st_gid == 65533 && (about.st_mode & 0777) == 0600 && owners == 1);
    expect("out/old", "new");
    no_owner = EPERM;
    assert_int_equal(write_it("out/old", "new", "newest", true), 0);
    assert_int_equal(look("out/old").st_ino, about.st_ino);
    assert_int_equal(look("out/old").st_uid, 65534);
    expect("out/old", "newest");
    assert_int_equal(files(), 1);
    no_owner = 0;
    assert_int_equal(chown("out/old", geteuid(), 65533), 0);
    assert_int_equal(write_it("out/old", "newest", "new", true), 0);
    about = look("out/old");
    assert_true(about.st_uid == geteuid() && about.st_gid == 65533);
}

// A file with others' rights than those that it is to have is none.
static void rights_that_cannot_be_given_end_it(void **state)
{
    struct ferry_output output;
    (void)state;
    put("out/old", "old");
    int next = dup(0);
    close(next);
    no_rights = EPERM;
    assert_int_equal(ferry_output_open(&output, "out/old"), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ferry_output_open(&output, "out/new"), -1);
    assert_int_equal(dup(0), next);
    close(next);
    expect("out/old", "old");
    assert_int_equal(files(), 1);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown_folder)
    const struct CMUnitTest tests[] = {
        CASE(what_stood_there_gives_its_rights_and_stays_until_then),
        CASE(what_keeps_its_name_is_written_into_when_all_is_there),
        CASE(a_large_file_is_written_into_as_it_is),
        CASE(a_system_that_has_no_room_for_a_file_takes_none_away),
        CASE(a_file_stays_its_owners),
        CASE(rights_that_cannot_be_given_end_it),
    };
    return run_in_folder(tests, sizeof tests / sizeof *tests);
}
