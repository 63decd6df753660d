// SPDX-License-Identifier: Apache-2.0
#define _XOPEN_SOURCE 700

#include "tools/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_LINKS 40 // As the kernel follows.

char *ferry_place_folder(const char *place, const char **name)
{
    const char *slash = strrchr(place, '/');
    size_t length = slash ? (size_t)(slash - place) : 0;
    char *folder = malloc(length + 2);
    if (!folder)
        return NULL;
    memcpy(folder, place, length);
    strcpy(folder + length, length ? "" : slash ? "/" : ".");
    *name = slash ? slash + 1 : place;
    return folder;
}

// Where the link `place` leads.
static char *follow(const char *place, const char *target)
{
    const char *name;
    char *folder = target[0] == '/' ? strdup("") : ferry_place_folder(place, &name);
    char *next = folder ? malloc(strlen(folder) + strlen(target) + 2) : NULL;
    if (next)
        sprintf(next, "%s%s%s", folder, folder[0] ? "/" : "", target);
    free(folder);
    return next;
}

char *ferry_place_of(const char *path)
{
    char target[PATH_MAX];
    char *place = strdup(path);
    for (int links = 0; place && ferry_place_descriptor(place) < 0 && !ferry_place_is_system(place); links++) {
        ssize_t length = readlink(place, target, sizeof target);
        if (length < 0) // It is no link, or not there.
            return place;
        char *next = NULL;
        errno = links == MOST_LINKS ? ELOOP : ENAMETOOLONG;
        if (links < MOST_LINKS && length < (ssize_t)sizeof target) {
            target[length] = 0;
            next = follow(place, target);
        }
        free(place);
        place = next;
    }
    return place;
}

int ferry_place_descriptor(const char *place)
{
    static const char *const named[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
    static const char *const numbered[] = {"/dev/fd/", "/proc/self/fd/"};
    for (int i = 0; i < 3; i++)
        if (strcmp(place, named[i]) == 0)
            return i;
    for (int i = 0; i < 2; i++) {
        if (strncmp(place, numbered[i], strlen(numbered[i])) != 0)
            continue;
        const char *number = place + strlen(numbered[i]);
        size_t digits = strspn(number, "0123456789");
        return digits > 0 && digits < 8 && !number[digits] ? atoi(number) : -1;
    }
    return -1;
}

bool ferry_place_is_system(const char *place)
{
    return strncmp(place, "/proc/", 6) == 0;
}

bool ferry_place_one_file(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

static bool one_name(const char *one, const char *other)
{
    struct stat a, b;
    const char *name, *other_name;
    char *folder = ferry_place_folder(one, &name), *other_folder = ferry_place_folder(other, &other_name);
    bool same = folder && other_folder && strcmp(name, other_name) == 0 && stat(folder, &a) == 0 &&
                stat(other_folder, &b) == 0 && ferry_place_one_file(&a, &b);
    free(folder);
    free(other_folder);
    return same;
}

bool ferry_place_same(const char *one, const char *other)
{
    struct stat a, b;
    int first = stat(one, &a), second = stat(other, &b);
    if (first == 0 || second == 0)
        return first == 0 && second == 0 && S_ISREG(a.st_mode) && ferry_place_one_file(&a, &b);
    // Links to one that is not there yet are names of it.
    char *place = ferry_place_of(one), *other_place = ferry_place_of(other);
    bool same = place && other_place && one_name(place, other_place);
    free(place);
    free(other_place);
    return same;
}

// A file that is not there yet needs a folder that takes it.
static int why_not_made(const char *place)
{
    const char *name;
    char *folder = ferry_place_folder(place, &name);
    if (!folder)
        return ENOMEM;
    int why = access(folder, W_OK | X_OK) == 0 ? *name ? 0 : ENOENT : errno;
    free(folder);
    return why;
}

int ferry_place_refuses(const char *path)
{
    struct stat about;
    char *place = ferry_place_of(path);
    if (!place)
        return errno;
    int why = 0, descriptor = ferry_place_descriptor(place);
    if (descriptor >= 0) {
        int mode = fcntl(descriptor, F_GETFL);
        why = mode < 0 || (mode & O_ACCMODE) == O_RDONLY ? EBADF : 0;
    } else if (stat(place, &about) == 0 && S_ISDIR(about.st_mode)) {
        why = EISDIR;
    } else if (access(place, W_OK) != 0) {
        why = errno == ENOENT ? why_not_made(place) : errno;
    }
    free(place);
    return why;
}
