// SPDX-License-Identifier: Apache-2.0
// A serial port that is none: one end of a pair of terminals, whose other end programs open as they open a port.
#ifndef FERRY_SERVER_PTY_H
#define FERRY_SERVER_PTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct server_pty {
    int fd;        // -1 = closed.
    int watch;     // Tells when somebody opens the port.
    char path[64]; // Of the port.
};

/// Make one, raw: nothing is echoed, no byte means anything. false = the system gives none (said on stderr).
bool server_pty_open(struct server_pty *pty);
void server_pty_close(struct server_pty *pty);
/// The other end has it open.
bool server_pty_has_host(const struct server_pty *pty);
/// Bytes that came; 0 = none, also while nobody has the port open.
size_t server_pty_read(struct server_pty *pty, uint8_t *bytes, size_t room);
/// Send; returns how many were taken. While nobody has the port open all are, and go nowhere, as on a wire.
size_t server_pty_write(struct server_pty *pty, const uint8_t *bytes, size_t count);
/// Wait until bytes come, or, if `writes`, can be taken, or somebody opens the port; so many milliseconds at most, -1 =
/// ever; 0 waits not at all. A signal ends it; none is blocked meanwhile, and they come though bytes are always there.
void server_pty_wait(struct server_pty *pty, bool writes, int milliseconds);

#endif
