// SPDX-License-Identifier: Apache-2.0
// Waiting for descriptors and for the signals that end a server, which are blocked but here.
#ifndef FERRY_SERVER_WAIT_H
#define FERRY_SERVER_WAIT_H

#include <errno.h>
#include <poll.h>
#include <signal.h>

/// As ppoll() with no signal blocked. Where a descriptor is ready at once ppoll() hears none; this does, so a server
/// that always has work, or somebody at its door, ends all the same. The caller asks for ppoll() with _GNU_SOURCE.
static inline int server_wait(struct pollfd *ready, nfds_t count, const struct timespec *time)
{
    sigset_t none, before;
    sigemptyset(&none);
    const int found = ppoll(ready, count, time, &none);
    const int error = errno;
    sigprocmask(SIG_SETMASK, &none, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return found;
}

#endif
