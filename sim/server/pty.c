// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // ppoll(), ptsname_r()
#include "server/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "server/wait.h"

static bool make(struct server_pty *pty)
{
    struct termios settings;
    pty->fd = posix_openpt(O_RDWR | O_NOCTTY);
    pty->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (pty->fd < 0 || pty->watch < 0 || grantpt(pty->fd) != 0 || unlockpt(pty->fd) != 0 ||
        ptsname_r(pty->fd, pty->path, sizeof(pty->path)) != 0 || tcgetattr(pty->fd, &settings) != 0) {
        return false;
    }
    cfmakeraw(&settings);
    // One that nobody has ever opened does not say that nobody has it open.
    const int port = open(pty->path, O_RDWR | O_NOCTTY | O_CLOEXEC);
    return port >= 0 && close(port) == 0 && tcsetattr(pty->fd, TCSANOW, &settings) == 0 &&
           fcntl(pty->fd, F_SETFL, O_NONBLOCK) == 0 && fcntl(pty->fd, F_SETFD, FD_CLOEXEC) == 0 &&
           inotify_add_watch(pty->watch, pty->path, IN_OPEN) >= 0;
}

bool server_pty_open(struct server_pty *pty)
{
    *pty = (struct server_pty){.fd = -1, .watch = -1};
    if (make(pty)) {
        return true;
    }
    fprintf(stderr, "ferry-sim: the system gives no pseudo terminal: %s\n", strerror(errno));
    server_pty_close(pty);
    return false;
}

void server_pty_close(struct server_pty *pty)
{
    if (pty->fd >= 0) {
        close(pty->fd);
    }
    if (pty->watch >= 0) {
        close(pty->watch);
    }
    pty->fd = pty->watch = -1;
}

size_t server_pty_read(struct server_pty *pty, uint8_t *bytes, size_t room)
{
    const ssize_t got = read(pty->fd, bytes, room);
    return got > 0 ? (size_t)got : 0;
}

bool server_pty_has_host(const struct server_pty *pty)
{
    struct pollfd ready = {.fd = pty->fd};
    return poll(&ready, 1, 0) == 0 || (ready.revents & POLLHUP) == 0;
}

size_t server_pty_write(struct server_pty *pty, const uint8_t *bytes, size_t count)
{
    if (!server_pty_has_host(pty)) {
        return count;
    }
    const ssize_t put = write(pty->fd, bytes, count);
    return put > 0 ? (size_t)put : errno == EAGAIN || errno == EINTR ? 0 : count;
}

void server_pty_wait(struct server_pty *pty, bool writes, int milliseconds)
{
    char news[512];
    struct pollfd ready[] = {{.fd = pty->watch, .events = POLLIN},
                             {.fd = pty->fd, .events = (short)(POLLIN | (writes ? POLLOUT : 0))}};
    const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    // An end that nobody has open is always ready, to say so: then only the one who opens it counts.
    while (read(pty->watch, news, sizeof(news)) > 0) {
    }
    ready[1].fd = server_pty_has_host(pty) ? pty->fd : -1;
    (void)server_wait(ready, 2, milliseconds < 0 ? NULL : &time);
}
