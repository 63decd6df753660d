// SPDX-License-Identifier: Apache-2.0
#ifndef FERRY_TOOLS_REPLAY_H
#define FERRY_TOOLS_REPLAY_H

#include "tools/replay_options.h"

/// Replay a trace, or several at once; everything is reported on stdout and stderr. Returns an exit code.
int ferry_replay(const struct ferry_replay_options *options);

#endif
