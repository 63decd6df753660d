// SPDX-License-Identifier: Apache-2.0
// A folder of its own for each case that writes files as commands do, and looks at what is in it.
#ifndef TESTS_TOOLS_OUTPUT_FOLDER_H
#define TESTS_TOOLS_OUTPUT_FOLDER_H

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "tools/output.h"

static inline void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static inline void expect(const char *path, const char *text)
{
    char there[200] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    there[fread(there, 1, sizeof there - 1, file)] = 0;
    fclose(file);
    assert_string_equal(there, text);
}

static inline struct stat look(const char *path)
{
    struct stat about;
    assert_int_equal(lstat(path, &about), 0);
    return about;
}

static inline int files(void)
{
    int count = 0;
    DIR *folder = opendir("out");
    while (readdir(folder))
        count++;
    closedir(folder);
    return count - 2;
}

// Write it, with a look at what is there meanwhile; returns what closing it does.
static inline int write_it(const char *path, const char *meanwhile, const char *text, bool good)
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

static inline int setup_folder(void **state)
{
    (void)state;
    return mkdir("out", 0777);
}

static inline int teardown_folder(void **state)
{
    (void)state;
    DIR *folder = opendir("out");
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    return rmdir("out");
}

// Cases of setup_folder() and teardown_folder(), in one folder.
static inline int run_in_folder(const struct CMUnitTest *tests, size_t count)
{
    char folder[] = "/tmp/ferry-output-XXXXXX";

    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    setenv("TMPDIR", folder, 1);
    umask(0022);
    int failed = _cmocka_run_group_tests("output", tests, count, NULL, NULL);
    return rmdir(folder) == 0 ? failed : 1;
}

#endif
