// SPDX-License-Identifier: Apache-2.0
#include "umd/observer.h"

void umd_tell(struct umd_adapter *adapter, struct ferry_event *event)
{
    if (!umd_observed(adapter))
        return;
    event->size = sizeof *event;
    pthread_mutex_lock(&adapter->telling);
    if (adapter->observer)
        adapter->observer(adapter->observer_context, event);
    pthread_mutex_unlock(&adapter->telling);
}
