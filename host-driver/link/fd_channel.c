// SPDX-License-Identifier: Apache-2.0
#include "link/fd_channel.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct descriptor {
    int fd;
    bool socket;
};

static bool not_now(void)
{
    return errno == EINTR || errno == EAGAIN;
}

static ssize_t fd_write(void *context, const uint8_t *bytes, size_t count)
{
    const struct descriptor *descriptor = context;
    const ssize_t put = descriptor->socket ? send(descriptor->fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT)
                                           : write(descriptor->fd, bytes, count);
    if (put == 0) {
        errno = ENODEV;
    }
    return put > 0 ? put : put < 0 && not_now() ? 0 : -1;
}

static ssize_t fd_read(void *context, uint8_t *bytes, size_t room)
{
    const struct descriptor *descriptor = context;
    const ssize_t got =
        descriptor->socket ? recv(descriptor->fd, bytes, room, MSG_DONTWAIT) : read(descriptor->fd, bytes, room);
    // A port that is pulled reads as empty, or fails.
    if (got == 0) {
        errno = ENODEV;
    }
    return got > 0 ? got : got < 0 && not_now() ? 0 : -1;
}

static unsigned fd_wait(void *context, bool writes, int milliseconds)
{
    const struct descriptor *descriptor = context;
    struct pollfd ready = {.fd = descriptor->fd, .events = (short)(POLLIN | (writes ? POLLOUT : 0))};
    if (poll(&ready, 1, milliseconds) < 0) {
        return errno == EINTR ? 0 : FERRY_CHANNEL_GONE;
    }
    return ((ready.revents & POLLOUT) != 0 ? FERRY_CHANNEL_WRITES : 0) |
           ((ready.revents & ~POLLOUT) != 0 ? FERRY_CHANNEL_READS : 0);
}

static void fd_close(void *context)
{
    struct descriptor *descriptor = context;
    close(descriptor->fd);
    free(descriptor);
}

int ferry_fd_channel(int fd, bool socket, struct ferry_channel *channel)
{
    static const struct ferry_channel_operations operations = {
        .write = fd_write, .read = fd_read, .wait = fd_wait, .close = fd_close};
    struct descriptor *descriptor = malloc(sizeof(*descriptor));
    if (descriptor == NULL) {
        close(fd);
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    *descriptor = (struct descriptor){.fd = fd, .socket = socket};
    channel->operations = &operations;
    channel->context = descriptor;
    return FERRY_OK;
}
