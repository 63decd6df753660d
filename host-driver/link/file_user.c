// SPDX-License-Identifier: Apache-2.0
#include "link/file_user.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "ferry/error.h"
#include "link/problem.h"

/// A device may have several files.
static bool is_same(const struct stat *one, const struct stat *other)
{
    return S_ISCHR(one->st_mode) ? S_ISCHR(other->st_mode) && one->st_rdev == other->st_rdev
                                 : one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

static bool has_open(const char *pid, const struct stat *wanted)
{
    char path[64];
    struct stat file;
    struct dirent *entry;
    bool found = false;
    snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
    DIR *folder = opendir(path);
    while (folder != NULL && !found && (entry = readdir(folder)) != NULL) {
        found = fstatat(dirfd(folder), entry->d_name, &file, 0) == 0 && is_same(wanted, &file);
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return found;
}

uint32_t ferry_file_user(const char *path)
{
    struct stat wanted;
    struct dirent *entry;
    uint32_t user = 0;
    DIR *folder = stat(path, &wanted) == 0 ? opendir("/proc") : NULL;
    while (folder != NULL && user == 0 && (entry = readdir(folder)) != NULL) {
        const uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        if (pid != 0 && has_open(entry->d_name, &wanted)) {
            user = pid;
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return user;
}

int ferry_file_in_use(const char *path, const char *what)
{
    const uint32_t user = ferry_file_user(path);
    if (user != 0) {
        ferry_problem_set("%s is in use by process %u", what, user);
    } else {
        ferry_problem_set("%s is in use by another program", what);
    }
    return FERRY_ERROR_IN_USE;
}
