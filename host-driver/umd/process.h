// SPDX-License-Identifier: Apache-2.0
// Programs.
#ifndef FERRY_UMD_PROCESS_H
#define FERRY_UMD_PROCESS_H

#include "umd/objects.h"

// The manager's process is gone; this is its end here.
void umd_process_end(struct umd_process *process);

#endif
