// SPDX-License-Identifier: Apache-2.0
// Copy queues.
#ifndef FERRY_UMD_QUEUE_H
#define FERRY_UMD_QUEUE_H

#include "umd/objects.h"

// The manager's context is gone; this is its end here.
void umd_queue_end(struct umd_queue *queue);

#endif
