// SPDX-License-Identifier: Apache-2.0
// A device at the other end of a byte stream: frames over whatever carries bytes, as a transport of the root complex.
#ifndef FERRY_LINK_FRAMED_H
#define FERRY_LINK_FRAMED_H

#include <sys/types.h>

#include "link/link.h"

/// What wait() has found.
#define FERRY_CHANNEL_READS  0x1u // read() may give something, or tell of the end.
#define FERRY_CHANNEL_WRITES 0x2u // write() may take something.
#define FERRY_CHANNEL_GONE   0x4u // Waiting fails; errno has why.

/// One thread at a time, and none of them waits but wait().
struct ferry_channel_operations {
    /// How many bytes were taken or given; 0 = none now; -1 = never again, and errno has why: ENODEV, EIO or ENXIO
    /// where the other end is gone, EPROTO where it is perhaps there.
    ssize_t (*write)(void *context, const uint8_t *bytes, size_t count);
    ssize_t (*read)(void *context, uint8_t *bytes, size_t room);
    /// Until there is something to read or, if `writes`, room to write; so many milliseconds at most, -1 = ever.
    /// FERRY_CHANNEL_*, 0 = neither.
    unsigned (*wait)(void *context, bool writes, int milliseconds);
    void (*close)(void *context);
};

/// What carries the bytes. The texts stay the caller's, to the end of the call that gets them but for `closed` and
/// `failing`, which are of a program's own.
struct ferry_channel {
    const struct ferry_channel_operations *operations;
    void *context;
    uint32_t bytes_per_second; // At most; 0 = a stream that loses nothing, and needs no resending.
    const char *where;         // The other end, for people,
    const char *medium;        // the link, for `ferry info`,
    const char *closed;        // what it means when no more bytes can come,
    const char *failing;       // when they fail one after the other (EPROTO); NULL = they do not,
    const char *silent;        // and when no answer comes: what to look at.
};

/// Begin a session over the channel, and bring the link up, whose close() closes the channel; this does when it fails.
/// Errors: as of ferry_link_open().
///
/// A simulator at the other end runs as far as it is told. A device has no such clock: there cycles() counts silence,
/// 100,000 in a second: time in which nothing of ours is on its way and for a tenth of a second no byte has come. So
/// however long a full queue takes on a slow line, whoever waits gives up only when nothing moves any more.
int ferry_framed_open(const struct ferry_channel *channel, const struct ferry_link_config *config,
                      struct ferry_link **link);

#endif
