// SPDX-License-Identifier: Apache-2.0
// Files that a command writes: what stands under their names before, meanwhile and afterwards, where the system refuses
// what it is asked.
#define _GNU_SOURCE // mkdtemp()
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "tools/output.h"
#include "tools/place.h"
#include "tools/tool.h"

// ---- The system -----------------------------------------------------------------------------------------------------

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

// ---- Files ----------------------------------------------------------------------------------------------------------

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void expect(const char *path, const char *text)
{
    char there[200] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    there[fread(there, 1, sizeof there - 1, file)] = 0;
    fclose(file);
    assert_string_equal(there, text);
}

static struct stat look(const char *path)
{
    struct stat about;
    assert_int_equal(lstat(path, &about), 0);
    return about;
}

static int files(void)
{
    int count = 0;
    DIR *folder = opendir("out");
    while (readdir(folder))
        count++;
    closedir(folder);
    return count - 2;
}

static int check(const char *path)
{
    return ferry_outputs_check(&path, 1, NULL, 0);
}

// Write it, with a look at what is there meanwhile; returns what closing it does.
static int write_it(const char *path, const char *meanwhile, const char *text, bool good)
{
    struct ferry_output output;
    assert_int_equal(ferry_output_open(&output, path), 0);
    fputs(text, output.file);
    fflush(output.file);
    if (meanwhile)
        expect(strncmp(path, "out/", 4) == 0 && strcmp(path, "out/link") != 0 ? path : "out/log", meanwhile);
    else
        assert_int_equal(access(path, F_OK), -1);
    return ferry_output_close(&output, good);
}

static int setup(void **state)
{
    (void)state;
    no_part = no_rename = no_owner = no_rights = no_room = owners = 0;
    return mkdir("out", 0777);
}

static int teardown(void **state)
{
    (void)state;
    DIR *folder = opendir("out");
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    return rmdir("out");
}

// ---- Cases ----------------------------------------------------------------------------------------------------------

static void a_new_file_has_the_rights_that_files_have(void **state)
{
    (void)state;
    umask(0027);
    assert_int_equal(write_it("out/new", NULL, "whole", true), 0);
    assert_int_equal(umask(0022), 0027);
    expect("out/new", "whole");
    assert_int_equal(look("out/new").st_mode & 07777, 0640);
    assert_int_equal(write_it("out/other", NULL, "half", false), -1);
    assert_int_equal(files(), 1);
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

// A link to what is not there yet is a name of it like any other.
static void a_link_leads_to_a_place(void **state)
{
    (void)state;
    assert_int_equal(symlink("new", "out/a"), 0);
    assert_int_equal(symlink("a", "out/b"), 0);
    assert_int_equal(check("out/b"), FERRY_EXIT_OK);
    assert_int_equal(write_it("out/b", NULL, "half", false), -1);
    assert_int_equal(access("out/new", F_OK), -1);
    assert_int_equal(write_it("out/b", NULL, "new", true), 0);
    assert_true(S_ISLNK(look("out/a").st_mode) && S_ISLNK(look("out/b").st_mode) && S_ISREG(look("out/new").st_mode));
    assert_int_equal(write_it("out/b", "new", "newer", true), 0);
    assert_true(S_ISLNK(look("out/a").st_mode) && S_ISLNK(look("out/b").st_mode));
    expect("out/new", "newer");
}

// What the shell leads a descriptor into is written on, be the name of it what it may.
static void a_descriptor_is_no_file_to_be_emptied(void **state)
{
    char name[40], other[40];
    (void)state;
    put("out/log", "before,");
    int log = open("out/log", O_WRONLY | O_APPEND);
    snprintf(name, sizeof name, "/dev/fd/%d", log);
    snprintf(other, sizeof other, "/proc/self/fd/%d", log);
    assert_int_equal(symlink(name, "out/link"), 0);
    for (int i = 0; i < 3; i++) {
        const char *names[] = {name, other, "out/link"}, *meanwhile[] = {"before,x", "before,xx", "before,xxx"};
        assert_int_equal(ferry_place_refuses(names[i]), 0);
        assert_int_equal(write_it(names[i], meanwhile[i], "x", true), 0);
    }
    (void)!write(log, ",after", 6);
    expect("out/log", "before,xxx,after");
    close(log);
    assert_int_equal(ferry_place_refuses(name), EBADF);
    log = open("out/log", O_RDONLY);
    assert_int_equal(ferry_place_refuses(name), EBADF);
    // Who did not ask before is refused too, and nothing stays open.
    struct ferry_output output;
    int next = dup(log);
    close(next);
    assert_int_equal(ferry_output_open(&output, name), -1);
    assert_int_equal(dup(log), next);
    close(next);
    close(log);
    expect("out/log", "before,xxx,after");
    assert_int_equal(files(), 2);
    assert_int_equal(ferry_place_descriptor("/dev/stdin"), 0);
    assert_int_equal(ferry_place_descriptor("/dev/stdout"), 1);
    assert_int_equal(ferry_place_descriptor("/dev/stderr"), 2);
    assert_int_equal(ferry_place_descriptor("/dev/fd/"), -1);
    assert_int_equal(ferry_place_descriptor("/dev/fd/1x"), -1);
    assert_int_equal(ferry_place_descriptor("/dev/fd/99999999999"), -1);
    assert_int_equal(ferry_place_descriptor("/dev/stdout2"), -1);
}

static void where_the_standard_output_goes_nothing_else_does(void **state)
{
    (void)state;
    fflush(stdout);
    int before = dup(STDOUT_FILENO), file = open("out/said", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(file, STDOUT_FILENO);
    symlink("said", "out/link");
    put("out/else", "");
    int as_file = check("out/said"), as_link = check("out/link"), other = check("out/other"),
        as_stream = check("/dev/stdout"), as_other = check("out/else");
    struct ferry_output output;
    printf("first,"); // Behind the complaints, which have it written.
    int opened = ferry_output_open(&output, "/dev/stdout");
    if (opened == 0) {
        fputs("second,", output.file);
        opened = ferry_output_close(&output, true);
    }
    printf("third");
    fflush(stdout);
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
    int as_device = check("/dev/null");
    dup2(before, STDOUT_FILENO);
    close(before);
    close(file);
    assert_int_equal(as_device, FERRY_EXIT_OK);
    assert_int_equal(as_other, FERRY_EXIT_OK);
    assert_int_equal(as_file, FERRY_EXIT_USAGE);
    assert_int_equal(as_link, FERRY_EXIT_USAGE);
    assert_int_equal(other, FERRY_EXIT_OK);
    assert_int_equal(as_stream, FERRY_EXIT_OK);
    assert_int_equal(opened, 0);
    expect("out/said", "first,second,third");
}

static void a_name_of_any_length_has_a_file_beside_it(void **state)
{
    char path[5 + NAME_MAX] = "out/";
    (void)state;
    memset(path + 4, 'x', NAME_MAX);
    assert_int_equal(ferry_place_refuses(path), 0);
    assert_int_equal(write_it(path, NULL, "new", true), 0);
    assert_int_equal(write_it(path, "new", "half", false), -1);
    expect(path, "new");
    assert_int_equal(files(), 1);
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

// A pipe and a question to the system get the bytes, and stay what they are.
static void what_is_no_file_is_written_through(void **state)
{
    char got[20] = "";
    struct ferry_output output;
    (void)state;
    assert_int_equal(mkfifo("out/pipe", 0600), 0);
    int pipe = open("out/pipe", O_RDWR | O_NONBLOCK);
    assert_int_equal(ferry_output_open(&output, "out/pipe"), 0);
    fputs("through", output.file);
    assert_int_equal(ferry_output_close(&output, true), 0);
    assert_int_equal(read(pipe, got, sizeof got), 7);
    assert_string_equal(got, "through");
    close(pipe);
    assert_true(S_ISFIFO(look("out/pipe").st_mode));
    assert_int_equal(files(), 1);
    assert_int_equal(ferry_output_open(&output, "/proc/self/comm"), 0);
    fputs("outputs", output.file);
    assert_int_equal(ferry_output_close(&output, true), 0);
    expect("/proc/self/comm", "outputs\n");
}

static void what_a_signal_ends_leaves_nothing(void **state)
{
    struct ferry_output first, second;
    (void)state;
    put("out/old", "old");
    assert_int_equal(ferry_output_open(&first, "out/old"), 0);
    assert_int_equal(ferry_output_open(&second, "out/new"), 0);
    assert_int_equal(files(), 3);
    ferry_outputs_abandon();
    assert_int_equal(files(), 1);
    expect("out/old", "old");
    ferry_output_close(&first, false);
    ferry_output_close(&second, false);
    // And what is whole is nobody's to take away.
    assert_int_equal(write_it("out/old", "old", "new", true), 0);
    ferry_outputs_abandon();
    expect("out/old", "new");
    // Of several the one that ends is forgotten, be it the first or the last.
    for (int last = 0; last < 2; last++) {
        assert_int_equal(ferry_output_open(&first, "out/old"), 0);
        assert_int_equal(ferry_output_open(&second, "out/new"), 0);
        ferry_output_close(last ? &second : &first, true);
        assert_int_equal(files(), last + 2);
        ferry_outputs_abandon();
        assert_int_equal(files(), last + 1);
        ferry_output_close(last ? &first : &second, false);
    }
}

// A child that begins a file and gets a signal; what became of it.
static int signalled(int number, bool ignored)
{
    struct ferry_output output;
    const struct rlimit none = {0, 0};
    int status;
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &none);
        if (ignored)
            signal(number, SIG_IGN);
        if (ferry_output_open(&output, "out/new") == 0)
            raise(number);
        _exit(ferry_output_close(&output, true) == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void each_signal_ends_it_and_what_was_begun(void **state)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ, SIGXCPU, SIGALRM};
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int status = signalled(numbers[i], false);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == numbers[i]);
        assert_int_equal(files(), 0);
        assert_int_equal(signalled(numbers[i], true), 0);
        assert_int_equal(files(), 1);
        assert_int_equal(unlink("out/new"), 0);
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_new_file_has_the_rights_that_files_have),
        CASE(what_stood_there_gives_its_rights_and_stays_until_then),
        CASE(a_link_leads_to_a_place),
        CASE(a_descriptor_is_no_file_to_be_emptied),
        CASE(where_the_standard_output_goes_nothing_else_does),
        CASE(a_name_of_any_length_has_a_file_beside_it),
        CASE(what_keeps_its_name_is_written_into_when_all_is_there),
        CASE(a_large_file_is_written_into_as_it_is),
        CASE(a_system_that_has_no_room_for_a_file_takes_none_away),
        CASE(a_file_stays_its_owners),
        CASE(rights_that_cannot_be_given_end_it),
        CASE(what_is_no_file_is_written_through),
        CASE(what_a_signal_ends_leaves_nothing),
        CASE(each_signal_ends_it_and_what_was_begun),
    };
    char folder[] = "/tmp/ferry-output-XXXXXX";

    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    setenv("TMPDIR", folder, 1);
    umask(0022);
    int failed = cmocka_run_group_tests_name("output", tests, NULL, NULL);
    return rmdir(folder) == 0 ? failed : 1;
}
