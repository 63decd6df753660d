// SPDX-License-Identifier: Apache-2.0
#include "umd/observer.h"

void umd_tell(struct umd_adapter *adapter, struct ferry_event *event)
{
    event->size = sizeof *event;
    pthread_mutex_lock(&adapter->telling);
    if (adapter->observer)
        adapter->observer(adapter->observer_context, event);
    pthread_mutex_unlock(&adapter->telling);
}

bool umd_observed(struct umd_adapter *adapter)
{
    pthread_mutex_lock(&adapter->telling);
    bool is = adapter->observer != NULL;
    pthread_mutex_unlock(&adapter->telling);
    return is;
}
