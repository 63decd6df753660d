// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // fallocate()

#include "tools/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/place.h"
#include "tools/tool.h"

// ---- Before ---------------------------------------------------------------------------------------------------------

// The file that the standard output was led into, which its own name may be.
static bool is_standard_output(const char *path)
{
    struct stat a, b;
    char *place = ferry_place_of(path);
    bool same = place && ferry_place_descriptor(place) < 0 && stat(place, &a) == 0 && S_ISREG(a.st_mode) &&
                fstat(STDOUT_FILENO, &b) == 0 && ferry_place_one_file(&a, &b);
    free(place);
    return same;
}

int ferry_outputs_check(const char *const *outputs, size_t output_count, const char *const *inputs, size_t input_count)
{
    for (size_t i = 0; i < output_count; i++) {
        if (!outputs[i])
            continue;
        for (size_t k = 0; k < input_count; k++) {
            if (!inputs[k] || !ferry_place_same(outputs[i], inputs[k]))
                continue;
            ferry_complain("'%s' is a file to be read and a file to be written", outputs[i]);
            return FERRY_EXIT_USAGE;
        }
        for (size_t k = 0; k < i; k++) {
            if (!outputs[k] || !ferry_place_same(outputs[i], outputs[k]))
                continue;
            ferry_complain("'%s' is a file to be written twice", outputs[i]);
            return FERRY_EXIT_USAGE;
        }
        if (is_standard_output(outputs[i])) {
            ferry_complain("'%s' is where the standard output goes", outputs[i]);
            return FERRY_EXIT_USAGE;
        }
        int why = ferry_place_refuses(outputs[i]);
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

// Bytes go there as they come: to a device, a pipe, a question to the system.
static int write_through(struct ferry_output *output, const char *place)
{
    int descriptor = ferry_place_descriptor(place);
    if (descriptor < 0) {
        output->file = fopen(place, "w");
        return output->file ? 0 : -1;
    }
    // Opened by its name a file that the shell leads it into would be emptied, and written from its beginning by both.
    fflush(stdout);
    descriptor = dup(descriptor);
    output->file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!output->file && descriptor >= 0)
        close(descriptor);
    return output->file ? 0 : -1;
}

// The name that a file has until it is whole, beside its place.
static char *part_of(const char *place)
{
    static const char end[] = ".part-XXXXXX";
    const char *name;
    char *folder = ferry_place_folder(place, &name);
    char *part = folder ? malloc(strlen(place) + sizeof end) : NULL;
    free(folder);
    if (!part)
        return NULL;
    const size_t before = (size_t)(name - place), most = NAME_MAX + 1 - sizeof end, length = strlen(name);
    memcpy(part, place, before);
    memcpy(part + before, name, length < most ? length : most);
    strcpy(part + before + (length < most ? length : most), end);
    return part;
}

// A descriptor of a file beside the place; in a folder that takes no other, of one without a name anywhere.
static int make_part(struct ferry_output *output, bool there)
{
    static const char end[] = "/ferry-part-XXXXXX";
    output->part = part_of(output->path);
    if (!output->part)
        return -1;
    watch_signals();
    remember(output->part, true); // before it is there: no file has the name that it has until then
    int descriptor = mkstemp(output->part);
    if (descriptor >= 0)
        return descriptor;
    int why = errno;
    remember(output->part, false);
    free(output->part);
    output->part = NULL;
    errno = why;
    if (!there || (why != EACCES && why != EPERM && why != EROFS))
        return -1;
    const char *folder = getenv("TMPDIR");
    folder = folder && folder[0] ? folder : "/var/tmp";
    char *name = malloc(strlen(folder) + sizeof end);
    if (!name)
        return -1;
    strcpy(stpcpy(name, folder), end);
    descriptor = mkstemp(name);
    if (descriptor >= 0)
        unlink(name);
    free(name);
    return descriptor;
}

static void forget_part(struct ferry_output *output)
{
    if (output->part) {
        unlink(output->part); // Unless that is its place's by now.
        remember(output->part, false);
    }
    free(output->part);
    free(output->path);
    output->part = output->path = NULL;
}

// The rights and the owner of what stood there: whoever writes over another's file does not take it away from him.
static int look_like(int descriptor, const struct stat *about, struct ferry_output *output)
{
    struct stat ours;
    mode_t mask = umask(0);
    umask(mask);
    if (about && fstat(descriptor, &ours) == 0 && (ours.st_uid != about->st_uid || ours.st_gid != about->st_gid))
        output->into = fchown(descriptor, about->st_uid, about->st_gid) != 0;
    return fchmod(descriptor, about ? about->st_mode & 0777 : 0666 & ~mask);
}

int ferry_output_open(struct ferry_output *output, const char *path)
{
    struct stat about;
    *output = (struct ferry_output){.path = ferry_place_of(path)};
    if (!output->path)
        return -1;
    bool there = stat(output->path, &about) == 0;
    if (ferry_place_descriptor(output->path) >= 0 || ferry_place_is_system(output->path) ||
        (there && !S_ISREG(about.st_mode))) {
        int status = write_through(output, output->path), why = errno;
        forget_part(output);
        errno = why;
        return status;
    }
    // A link stays one: the file that it leads to is what is replaced.
    int descriptor = make_part(output, there);
    output->into = !output->part;
    if (descriptor >= 0 && (!output->part || look_like(descriptor, there ? &about : NULL, output) == 0))
        output->file = fdopen(descriptor, "w");
    if (output->file)
        return 0;
    int why = errno;
    if (descriptor >= 0)
        close(descriptor);
    forget_part(output);
    errno = why;
    return -1;
}

// ---- Its place ------------------------------------------------------------------------------------------------------

static int copy_bytes(int from, int to, off_t bytes)
{
    static char buffer[1 << 16];
    for (off_t at = 0; at < bytes;) {
        ssize_t got = pread(from, buffer, sizeof buffer, at);
        ssize_t put = got > 0 ? pwrite(to, buffer, (size_t)got, at) : got;
        if (put <= 0) {
            errno = put < 0 ? errno : EIO;
            return -1;
        }
        at += put;
    }
    return ftruncate(to, bytes);
}

// Into a file that keeps its name and its owner. What it lacks of room is asked for before a byte of it is lost.
static int write_into(int from, const char *path)
{
    struct stat now, then;
    int to = open(path, O_WRONLY | O_NOCTTY);
    if (to < 0)
        return -1;
    int status = fstat(from, &now) == 0 && fstat(to, &then) == 0 ? 0 : -1;
    if (status == 0 && now.st_size > 0 && fallocate(to, 0, 0, now.st_size) != 0 && errno != EOPNOTSUPP &&
        errno != ENOSYS) {
        int why = errno, shorter = ftruncate(to, then.st_size); // It may have become longer.
        (void)shorter;
        errno = why;
        status = -1;
    }
    if (status == 0)
        status = copy_bytes(from, to, now.st_size);
    int why = errno;
    if (close(to) != 0 && status == 0)
        return -1;
    errno = why;
    return status;
}

// Another's file in a folder like /tmp, or one that is mounted by itself, has a name that nobody may give away.
static bool keeps_its_name(int why)
{
    return why == EPERM || why == EACCES || why == EBUSY || why == EXDEV;
}

static int put_in_place(const struct ferry_output *output, int descriptor)
{
    if (!output->into && rename(output->part, output->path) == 0)
        return 0;
    struct stat about;
    int why = errno;
    if (output->into || (keeps_its_name(why) && stat(output->path, &about) == 0 && S_ISREG(about.st_mode)))
        return write_into(descriptor, output->path);
    errno = why;
    return -1;
}

int ferry_output_close(struct ferry_output *output, bool good)
{
    int why = errno, descriptor = output->path ? dup(fileno(output->file)) : -1;
    bool bad = !good || ferror(output->file) != 0;
    if (output->path && descriptor < 0 && !bad) {
        bad = true;
        why = errno;
    }
    if (fclose(output->file) != 0 && !bad) {
        bad = true;
        why = errno;
    }
    if (!bad && output->path && put_in_place(output, descriptor) != 0) {
        bad = true;
        why = errno;
    }
    if (descriptor >= 0)
        close(descriptor);
    forget_part(output);
    errno = why;
    return bad ? -1 : 0;
}
