// SPDX-License-Identifier: Apache-2.0
// The thread that lets the device run while the program stands in a poll loop, and the descriptor that tells it of what
// has advanced. An adapter has them from the first ferry_adapter_event_fd() on.
#ifndef FERRY_UMD_RUNNER_H
#define FERRY_UMD_RUNNER_H

#include "umd/objects.h"

// With the adapter's lock. Errors: NO_HOST_MEMORY (no descriptor, no thread).
int umd_runner_start(struct umd_adapter *adapter);
// Another descriptor of the same event, the caller's. Errors: NO_HOST_MEMORY.
int umd_runner_descriptor(const struct umd_adapter *adapter, int *fd);
// Work may have been queued. Any thread; the adapter's lock or a user of it keeps the runner there.
void umd_runner_wake(struct umd_adapter *adapter);
// Something has advanced. The same.
void umd_runner_tell(const struct umd_adapter *adapter);
// The same, if faults were recorded since this was called last: those of paging that nobody waits for end nothing else.
void umd_runner_tell_faults(struct umd_adapter *adapter);
// Waits for the thread, and tells once more. When nobody else uses the adapter.
void umd_runner_end(struct umd_adapter *adapter);

#endif
