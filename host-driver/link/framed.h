// SPDX-License-Identifier: Apache-2.0
// A device at the other end of a byte stream: frames over a file descriptor, as a transport of the root complex.
#ifndef FERRY_LINK_FRAMED_H
#define FERRY_LINK_FRAMED_H

#include "link/link.h"

/// Begin a session over `fd` (a stream socket, closed by the link's close(), and by this call when it fails) and bring
/// the link up. `where` names the other end for people. The channel loses nothing. Errors: as of ferry_link_open().
int ferry_framed_open(int fd, const char *where, const struct ferry_link_config *config, struct ferry_link **link);

#endif
