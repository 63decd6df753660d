// SPDX-License-Identifier: Apache-2.0
#include "umd/observer.h"

static _Thread_local bool tells;

void umd_begin_telling(struct umd_adapter *adapter)
{
    pthread_mutex_lock(&adapter->telling);
    tells = true;
}

void umd_end_telling(struct umd_adapter *adapter)
{
    tells = false;
    pthread_mutex_unlock(&adapter->telling);
}

bool umd_is_telling(void)
{
    return tells;
}

void umd_tell(struct umd_adapter *adapter, struct ferry_event *event)
{
    if (!umd_observed(adapter))
        return;
    event->size = sizeof *event;
    umd_begin_telling(adapter);
    if (adapter->observer)
        adapter->observer(adapter->observer_context, event);
    umd_end_telling(adapter);
}
