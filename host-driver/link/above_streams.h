// SPDX-License-Identifier: Apache-2.0
// Descriptors of a link's, out of the way of a program's three streams.
#ifndef FERRY_ABOVE_STREAMS_H
#define FERRY_ABOVE_STREAMS_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/// The same file behind a number above standard error's, for one that was opened just now (fcntl()'s locks end with the
/// number that had them); close-on-exec. In a program whose streams are closed, as a daemon's may be, a port would be
/// the standard output, and what the program prints would go to the device. Returns what it was given if that is above,
/// or an error (-1); else -1 with errno when there is no number above, and the file is closed.
static inline int ferry_above_streams(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO) {
        return fd;
    }
    const int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int error = errno;
    close(fd);
    errno = error;
    return above;
}

#endif
