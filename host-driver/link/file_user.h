// SPDX-License-Identifier: Apache-2.0
// Who has a file of this machine open. Any thread.
#ifndef FERRY_LINK_FILE_USER_H
#define FERRY_LINK_FILE_USER_H

#include <stdint.h>

/// A process that has the file or device at `path` open, this one among them; 0 = none, or none that may be known.
uint32_t ferry_file_user(const char *path);
/// Tell in ferry_problem() that `what` is in use, and whose, if somebody has `path` open. IN_USE.
int ferry_file_in_use(const char *path, const char *what);

#endif
