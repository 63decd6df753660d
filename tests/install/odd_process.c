// SPDX-License-Identifier: Apache-2.0
// A program of odd circumstances on an installed library. usage: odd_process CASE BACKEND; says what happened on
// standard error's duplicate, a line.
#define _GNU_SOURCE
#include <fcntl.h>
#include <ferry/ferry.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct ferry_adapter *adapter;

static int open_adapter(const char *backend, const char *wave_file)
{
    struct ferry_adapter_options options = {.size = sizeof options, .backend = backend, .wave_file = wave_file};
    return ferry_adapter_open(&options, &adapter);
}

// A daemon without streams: what it prints reaches nothing of the library's, and the device is as it was.
static void without_streams(const char *backend, int told)
{
    struct ferry_adapter_info info = {.size = sizeof info};
    int event = -1;
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    const int opened = open_adapter(backend, NULL);
    const int event_error = opened == FERRY_OK ? ferry_adapter_event_fd(adapter, &event) : FERRY_OK;
    int taken = 0;
    for (int fd = 0; fd < 3; fd++)
        taken += fcntl(fd, F_GETFD) >= 0;
    dprintf(told, "%s %s %s, %d streams taken, the event is %s\n", ferry_error_name(opened),
            ferry_error_name(event_error), ferry_error_name(ferry_adapter_query(adapter, &info)), taken,
            event > 2 ? "none of them" : "one of them");
    close(event);
    ferry_adapter_close(adapter);
}

// Address space for the library, and none for a device.
static void without_memory(const char *backend, int told)
{
    struct rlimit limit = {40 << 20, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
    const int opened = open_adapter(backend, NULL);
    limit.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_AS, &limit);
    dprintf(told, "%s\n", ferry_error_name(opened));
}

static void without_waves(const char *backend, int told)
{
    const int opened = open_adapter(backend, "/no/such/folder/waves.fst");
    dprintf(told, "%s: %s\n", ferry_error_name(opened), ferry_problem());
}

// One adapter after the other: nothing is kept of one that was closed.
static void again_and_again(const char *backend, int told)
{
    int error = FERRY_OK, before = 0, after = 0;
    for (int times = 0; times < 12 && error == FERRY_OK; times++) {
        int event = -1;
        if ((error = open_adapter(backend, NULL)) == FERRY_OK)
            error = ferry_adapter_event_fd(adapter, &event);
        close(event);
        ferry_adapter_close(adapter);
        after = dup(0); // The lowest number that is free.
        close(after);
        before = times == 0 ? after : before;
    }
    dprintf(told, "%s, %d descriptors kept\n", ferry_error_name(error), after - before);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(const char *backend, int told);
    } cases[] = {
        {"streams", without_streams}, {"memory", without_memory}, {"waves", without_waves}, {"again", again_and_again}};
    const int told = fcntl(STDERR_FILENO, F_DUPFD, 100);
    for (unsigned n = 0; count == 3 && n < sizeof cases / sizeof cases[0]; n++)
        if (strcmp(arguments[1], cases[n].name) == 0)
            return cases[n].run(arguments[2], told), 0;
    return 2;
}
