// SPDX-License-Identifier: Apache-2.0
// Who watches an adapter.
#ifndef FERRY_UMD_OBSERVER_H
#define FERRY_UMD_OBSERVER_H

#include "umd/objects.h"

// Tell the observer, if there is one. Safe from every thread, with and without the adapter's lock.
void umd_tell(struct umd_adapter *adapter, struct ferry_event *event);
static inline bool umd_observed(const struct umd_adapter *adapter)
{
    return adapter->observer != NULL;
}

#endif
