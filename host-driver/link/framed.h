// SPDX-License-Identifier: Apache-2.0
// A device at the other end of a byte stream: frames over a file descriptor, as a transport of the root complex.
#ifndef FERRY_LINK_FRAMED_H
#define FERRY_LINK_FRAMED_H

#include "link/link.h"

/// What carries the bytes. The texts stay the caller's, to the end of the call that gets them but for `closed`, which
/// is one of a program's own.
struct ferry_channel {
    int fd;                    // Non-blocking, or a socket. Closed by the link's close().
    bool socket;               // Else a file: read() and write().
    uint32_t bytes_per_second; // At most; 0 = a stream that loses nothing, and needs no resending.
    const char *where;         // The other end, for people,
    const char *medium;        // the link, for `ferry info`,
    const char *closed;        // what it means when no more bytes can come,
    const char *silent;        // and when no answer comes: what to look at.
};

/// Begin a session over the channel, whose descriptor is closed when this fails too, and bring the link up. Errors: as
/// of ferry_link_open().
///
/// A simulator at the other end runs as far as it is told. A device has no such clock: there cycles() counts silence,
/// 100,000 in a second: time in which nothing of ours is on its way and for a tenth of a second no byte has come. So
/// however long a full queue takes on a slow line, whoever waits gives up only when nothing moves any more.
int ferry_framed_open(const struct ferry_channel *channel, const struct ferry_link_config *config,
                      struct ferry_link **link);

#endif
