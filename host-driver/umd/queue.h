// SPDX-License-Identifier: Apache-2.0
// Copy queues.
#ifndef FERRY_UMD_QUEUE_H
#define FERRY_UMD_QUEUE_H

#include "umd/objects.h"

// The allocation of this handle, when a job of the queue may name it. HANDLE, FOREIGN.
int umd_queue_find(const struct umd_queue *queue, const struct ferry_allocation *handle,
                   struct umd_allocation **allocation);
// The part of the queue's job that is recorded into. NULL: no host memory.
struct umd_recording *umd_queue_recorded_into(struct umd_queue *queue);
// The manager's context is gone; this is its end here.
void umd_queue_end(struct umd_queue *queue);

#endif
