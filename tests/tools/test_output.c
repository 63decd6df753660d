// SPDX-License-Identifier: Apache-2.0
// Files that a command writes: what stands under their names before, meanwhile and afterwards, and what a signal
// leaves.
#define _GNU_SOURCE // mkdtemp()
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "output_folder.h"
#include "tools/place.h"
#include "tools/tool.h"

static int check(const char *path)
{
    return ferry_outputs_check(&path, 1, NULL, 0);
}

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
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup_folder, teardown_folder)
    const struct CMUnitTest tests[] = {
        CASE(a_new_file_has_the_rights_that_files_have), CASE(a_link_leads_to_a_place),
        CASE(a_descriptor_is_no_file_to_be_emptied),     CASE(where_the_standard_output_goes_nothing_else_does),
        CASE(a_name_of_any_length_has_a_file_beside_it), CASE(what_is_no_file_is_written_through),
        CASE(what_a_signal_ends_leaves_nothing),         CASE(each_signal_ends_it_and_what_was_begun),
    };
    return run_in_folder(tests, sizeof tests / sizeof *tests);
}
