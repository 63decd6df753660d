// SPDX-License-Identifier: Apache-2.0
// Hosts and guests of other machines.
#ifndef FERRY_SERVER_PEER_H
#define FERRY_SERVER_PEER_H

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

/// One whose machine lost its power, or its network, says no goodbye: it is asked whether it is there, and is missed
/// after some 25 seconds. The system answers for one that is busy or stopped. It asks nothing while something that was
/// sent is not acknowledged, and sends that again for a quarter of an hour: so that has an end of its own, as has what
/// the system at the other end takes no more of. On this machine's own sockets all this fails.
static inline void server_peer_keep_asking(int fd)
{
    const int on = 1, first = 10, next = 5, times = 3; // Seconds.
    const unsigned most = 25000;                       // Milliseconds.
    if (setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &first, sizeof(first)) == 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &next, sizeof(next));
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof(times));
        setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &most, sizeof(most));
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    }
}

#endif
