// SPDX-License-Identifier: Apache-2.0
// Programs that end without closing a function that reaches all of memory: by exit(), or by a signal. Their pages are
// others' at once, and the device would go on with them.
#ifndef FERRY_LINK_END_GUARD_H
#define FERRY_LINK_END_GUARD_H

#include <stdbool.h>

/// Bus mastering is switched off in the configuration space at `config` (an open file) before the process ends, as far
/// as that can be: not by SIGKILL, and not by a signal for which the program has a handler, which then is to close or
/// exit(). Signals that end a process, and have no handler yet, get one until the last guard is taken away. A child of
/// fork() does nothing. false = there is no room. Any thread.
bool ferry_end_guard(int config);
/// Before the file is closed; what is not guarded is left alone. Any thread.
void ferry_end_unguard(int config);

#endif
