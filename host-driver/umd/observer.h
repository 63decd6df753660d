// SPDX-License-Identifier: Apache-2.0
// Who watches an adapter.
#ifndef FERRY_UMD_OBSERVER_H
#define FERRY_UMD_OBSERVER_H

#include "umd/objects.h"

// Around the call-backs of a program: in between nobody else is told, and calls of this thread are refused.
void umd_begin_telling(struct umd_adapter *adapter);
void umd_end_telling(struct umd_adapter *adapter);
// Is this thread in a call-back, of any adapter? It has the locks of whoever called; and if it were to wait for another
// adapter's, a call-back of that one could be waiting for this one's.
bool umd_is_telling(void);
// Tell the observer, if there is one. Safe from every thread, with and without the adapter's lock.
void umd_tell(struct umd_adapter *adapter, struct ferry_event *event);
static inline bool umd_observed(const struct umd_adapter *adapter)
{
    return adapter->observer != NULL;
}

#endif
