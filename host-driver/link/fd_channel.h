// SPDX-License-Identifier: Apache-2.0
// A descriptor as what carries a framed link's bytes.
#ifndef FERRY_LINK_FD_CHANNEL_H
#define FERRY_LINK_FD_CHANNEL_H

#include "link/framed.h"

/// Let `channel` read and write `fd`: non-blocking, or a socket; closed by the channel's close(). What the channel
/// tells people is the caller's to fill in. NO_HOST_MEMORY closes it too.
int ferry_fd_channel(int fd, bool socket, struct ferry_channel *channel);

#endif
