// SPDX-License-Identifier: Apache-2.0
// What names of outputs lead to, and which of them cannot be written, before anything is.
#define _GNU_SOURCE // mkdtemp()
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "tools/output.h"
#include "tools/place.h"
#include "tools/tool.h"

static void put(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
}

static int setup(void **state)
{
    (void)state;
    return mkdir("out", 0777);
}

static int teardown(void **state)
{
    (void)state;
    return system("rm -rf out");
}

static void a_place_that_cannot_be_written_is_told_before(void **state)
{
    char place[PATH_MAX];
    (void)state;
    // Behind a link, to a folder that is not there; round and round; and one that is of a folder.
    assert_int_equal(symlink("nowhere/x", "out/a"), 0);
    assert_int_equal(symlink("round", "out/round"), 0);
    assert_int_equal(symlink(".", "out/here"), 0);
    assert_int_equal(ferry_place_refuses("out/a"), ENOENT);
    assert_int_equal(ferry_place_refuses("out/round"), ELOOP);
    assert_int_equal(ferry_place_refuses("out/here"), EISDIR);
    assert_int_equal(ferry_place_refuses("out/here/"), EISDIR);
    assert_int_equal(ferry_place_refuses("out/here/new"), 0);
    assert_int_equal(ferry_place_refuses("out/new/"), ENOENT);
    assert_int_equal(ferry_place_refuses(""), ENOENT);
    assert_int_equal(ferry_outputs_check((const char *const[]){"out/a"}, 1, NULL, 0), FERRY_EXIT_USAGE);
    // Two names of what is not there yet.
    assert_non_null(realpath("out", place));
    strcat(place, "/new");
    assert_int_equal(symlink(place, "out/b"), 0);
    assert_int_equal(symlink("new", "out/c"), 0);
    assert_int_equal(ferry_outputs_check((const char *const[]){"out/b", "out/c"}, 2, NULL, 0), FERRY_EXIT_USAGE);
    assert_int_equal(ferry_outputs_check((const char *const[]){"out/b", "out/here/new"}, 2, NULL, 0), FERRY_EXIT_USAGE);
    assert_int_equal(ferry_outputs_check((const char *const[]){"out/b", "out/newer"}, 2, NULL, 0), FERRY_EXIT_OK);
}

static int check_two(const char *one, const char *other)
{
    return ferry_outputs_check((const char *const[]){one, other}, 2, NULL, 0);
}

// A name is of the folder that it stands in, however that is written.
static void what_is_not_there_yet_is_told_by_folder_and_name(void **state)
{
    const char *name;
    (void)state;
    assert_int_equal(check_two("new", "./new"), FERRY_EXIT_USAGE);
    assert_int_equal(check_two("new", "out/../new"), FERRY_EXIT_USAGE);
    assert_int_equal(check_two("new", "out/new"), FERRY_EXIT_OK);
    assert_false(ferry_place_same("/ferry-new", "ferry-new"));
    char *folder = ferry_place_folder("/new", &name);
    assert_string_equal(folder, "/");
    assert_string_equal(name, "new");
    free(folder);
    // A number of a file is that of its file system's.
    struct stat one, other;
    assert_int_equal(stat(".", &one), 0);
    other = one;
    assert_true(ferry_place_one_file(&one, &other));
    other.st_dev++;
    assert_false(ferry_place_one_file(&one, &other));
    other = one;
    other.st_ino++;
    assert_false(ferry_place_one_file(&one, &other));
}

// All that are named are looked at, and only names that are given; what takes from several may be named by several.
static void every_output_and_every_input_is_looked_at(void **state)
{
    (void)state;
    put("out/one");
    put("out/two");
    const char *const in[] = {NULL, "out/one", NULL, "out/two"}, *const out[] = {NULL, "out/a", NULL, "out/two"};
    assert_int_equal(ferry_outputs_check(out, 3, in, 4), FERRY_EXIT_OK);
    assert_int_equal(ferry_outputs_check(out, 4, in, 4), FERRY_EXIT_USAGE);
    assert_int_equal(ferry_outputs_check(out, 4, in, 3), FERRY_EXIT_OK);
    assert_int_equal(check_two("out/a", "out/a"), FERRY_EXIT_USAGE);
    assert_int_equal(check_two("/dev/null", "/dev/null"), FERRY_EXIT_OK);
}

// The links of /proc/ lead to what has no name; what only begins so is a file like others.
static void a_link_of_proc_is_not_followed(void **state)
{
    (void)state;
    char *place = ferry_place_of("/proc/self/exe");
    assert_string_equal(place, "/proc/self/exe");
    free(place);
    assert_true(ferry_place_is_system("/proc/sysvipc/x"));
    assert_false(ferry_place_is_system("/process/x"));
}

// As somebody else than root, whom no right is refused.
static void rights_are_asked_for_before(void **state)
{
    int status;
    (void)state;
    put("out/readable");
    chmod("out/readable", 0444);
    assert_int_equal(mkdir("out/closed", 0555), 0);
    chmod(".", 0777);
    chmod("out", 0777);
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setuid(65534) != 0)
            _exit(1);
        _exit(ferry_place_refuses("out/readable") != EACCES     ? 2
              : ferry_place_refuses("out/closed/new") != EACCES ? 3
              : ferry_place_refuses("out/new") != 0             ? 4
                                                                : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    rmdir("out/closed");
    assert_int_equal(status, 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_place_that_cannot_be_written_is_told_before),
        CASE(what_is_not_there_yet_is_told_by_folder_and_name),
        CASE(every_output_and_every_input_is_looked_at),
        CASE(a_link_of_proc_is_not_followed),
        CASE(rights_are_asked_for_before),
    };
    char folder[] = "/tmp/ferry-place-XXXXXX";

    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    umask(0022);
    int failed = cmocka_run_group_tests_name("place", tests, NULL, NULL);
    return rmdir(folder) == 0 ? failed : 1;
}
