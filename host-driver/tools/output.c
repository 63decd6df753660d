// SPDX-License-Identifier: Apache-2.0
#define _XOPEN_SOURCE 700

#include "tools/output.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/tool.h"

// ---- Before ---------------------------------------------------------------------------------------------------------

// Where a name ends that is not there yet, and its folder (to be freed; NULL without memory).
static char *folder_of(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    char *folder = malloc(length + 2);
    if (!folder)
        return NULL;
    memcpy(folder, path, length);
    strcpy(folder + length, length ? "" : slash ? "/" : ".");
    *name = slash ? slash + 1 : path;
    return folder;
}

static bool one_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

// Two names of one file, be it there already or not. Devices and pipes take what comes, from several too.
static bool same_file(const char *one, const char *other)
{
    struct stat a, b;
    int first = stat(one, &a), second = stat(other, &b);
    if (first == 0 || second == 0)
        return first == 0 && second == 0 && S_ISREG(a.st_mode) && one_file(&a, &b);
    const char *name, *other_name;
    char *folder = folder_of(one, &name), *other_folder = folder_of(other, &other_name);
    bool same = folder && other_folder && strcmp(name, other_name) == 0 && stat(folder, &a) == 0 &&
                stat(other_folder, &b) == 0 && one_file(&a, &b);
    free(folder);
    free(other_folder);
    return same;
}

static int why_not_writable(const char *path)
{
    struct stat about;
    const char *name;
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
        return EISDIR;
    if (access(path, W_OK) == 0)
        return 0;
    if (errno != ENOENT)
        return errno;
    char *folder = folder_of(path, &name);
    if (!folder)
        return ENOMEM;
    int why = access(folder, W_OK | X_OK) == 0 ? *name ? 0 : ENOENT : errno;
    free(folder);
    return why;
}

int ferry_outputs_check(const char *const *outputs, size_t output_count, const char *const *inputs, size_t input_count)
{
    for (size_t i = 0; i < output_count; i++) {
        if (!outputs[i])
            continue;
        for (size_t k = 0; k < input_count; k++) {
            if (!inputs[k] || !same_file(outputs[i], inputs[k]))
                continue;
            ferry_complain("'%s' is a file to be read and a file to be written", outputs[i]);
            return FERRY_EXIT_USAGE;
        }
        for (size_t k = 0; k < i; k++) {
            if (!outputs[k] || !same_file(outputs[i], outputs[k]))
                continue;
            ferry_complain("'%s' is a file to be written twice", outputs[i]);
            return FERRY_EXIT_USAGE;
        }
        int why = why_not_writable(outputs[i]);
        if (why) {
            ferry_complain("cannot write %s: %s", outputs[i], strerror(why));
            return FERRY_EXIT_USAGE;
        }
    }
    return FERRY_EXIT_OK;
}

// ---- A signal ends the tool -----------------------------------------------------------------------------------------

#define MOST_UNFINISHED 16

// What is being written beside its place.
static char *volatile unfinished[MOST_UNFINISHED];

void ferry_outputs_abandon(void)
{
    for (int i = 0; i < MOST_UNFINISHED; i++) {
        char *part = unfinished[i];
        if (part)
            unlink(part);
    }
}

static void end_by_signal(int number)
{
    ferry_outputs_abandon();
    signal(number, SIG_DFL);
    raise(number);
}

// What is ignored stays so (nohup, and what a shell starts in the background); what somebody else watches, too.
static void watch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ, SIGXCPU, SIGALRM};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction now, ours = {.sa_handler = end_by_signal};
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(numbers[i], &ours, NULL);
    }
}

static void remember(char *part, bool is_there)
{
    for (int i = 0; i < MOST_UNFINISHED; i++) {
        if (unfinished[i] == (is_there ? NULL : part)) {
            unfinished[i] = is_there ? part : NULL;
            return;
        }
    }
}

// ---- Writing --------------------------------------------------------------------------------------------------------

static int in_place(struct ferry_output *output, const char *path)
{
    free(output->path);
    free(output->part);
    output->path = output->part = NULL;
    output->file = fopen(path, "w");
    return output->file ? 0 : -1;
}

// A name with which something of another kind is meant, or by which the process itself is asked.
static bool is_special(const char *path, struct stat *about, bool *there)
{
    // Of /dev no more than these: /dev/shm holds files like any other.
    static const char *const own[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/"};
    struct stat link;
    *there = stat(path, about) == 0;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strncmp(path, own[i], strlen(own[i])) == 0)
            return true;
    return *there ? !S_ISREG(about->st_mode) : lstat(path, &link) == 0; // a link to nowhere
}

int ferry_output_open(struct ferry_output *output, const char *path)
{
    static const char end[] = ".part-XXXXXX";
    struct stat about;
    bool there;
    *output = (struct ferry_output){0};
    if (is_special(path, &about, &there))
        return in_place(output, path);
    // A link stays one: the file that it leads to is what is replaced.
    output->path = there ? realpath(path, NULL) : strdup(path);
    output->part = output->path ? malloc(strlen(output->path) + sizeof end) : NULL;
    if (!output->part) {
        free(output->path);
        errno = ENOMEM;
        return -1;
    }
    strcpy(stpcpy(output->part, output->path), end);
    watch_signals();
    remember(output->part, true); // before it is there: no file has the name that it has until then
    int descriptor = mkstemp(output->part);
    // The file may be open to who may make none beside it.
    if (descriptor < 0) {
        remember(output->part, false);
        return in_place(output, path);
    }
    mode_t mask = umask(0);
    umask(mask);
    output->file =
        fchmod(descriptor, there ? about.st_mode & 0777 : 0666 & ~mask) == 0 ? fdopen(descriptor, "w") : NULL;
    if (output->file)
        return 0;
    int why = errno;
    close(descriptor);
    remove(output->part);
    remember(output->part, false);
    free(output->path);
    free(output->part);
    errno = why;
    return -1;
}

int ferry_output_close(struct ferry_output *output, bool good)
{
    int why = errno;
    bool bad = !good || ferror(output->file) != 0;
    if (fclose(output->file) != 0 && !bad) {
        bad = true;
        why = errno;
    }
    if (!bad && output->part && rename(output->part, output->path) != 0) {
        bad = true;
        why = errno;
    }
    if (bad && output->part)
        remove(output->part);
    if (output->part)
        remember(output->part, false);
    free(output->part);
    free(output->path);
    errno = why;
    return bad ? -1 : 0;
}
