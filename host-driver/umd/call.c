// SPDX-License-Identifier: Apache-2.0
#include "umd/call.h"

#include "umd/observer.h"
#include "umd/runner.h"

static void tell_call(const struct umd_call *call, enum ferry_event_kind kind)
{
    if (!call->name || !umd_observed(call->adapter))
        return;
    struct ferry_event out = {.kind = kind, .track = FERRY_TRACK_HOST, .id = call->id, .name = call->name};
    out.time = ferry_gpu_cycles(call->adapter->gpu);
    umd_tell(call->adapter, &out);
}

void *umd_enter(struct umd_call *call, enum umd_kind kind, const void *handle, const char *name)
{
    struct umd_adapter *adapter = umd_is_telling() ? NULL : umd_adapter_get(kind, handle);

    if (!adapter)
        return NULL;
    pthread_mutex_lock(&adapter->lock);
    void *object = umd_object(adapter, kind, handle); // It can have gone while the lock was waited for.
    if (!object) {
        pthread_mutex_unlock(&adapter->lock);
        umd_adapter_put(adapter);
        return NULL;
    }
    *call = (struct umd_call){adapter, name, name ? ++adapter->calls : 0};
    tell_call(call, FERRY_EVENT_CALL_BEGIN);
    return object;
}

int umd_not_entered(void)
{
    return umd_is_telling() ? FERRY_ERROR_RECURSIVE_CALL : FERRY_ERROR_HANDLE;
}

int umd_leave(struct umd_call *call, int result)
{
    tell_call(call, FERRY_EVENT_CALL_END);
    if (call->name)
        umd_runner_wake(call->adapter);
    // Nothing ends any more: whoever polls is to ask, and to hear so.
    if (result == FERRY_ERROR_CRITICAL)
        umd_runner_tell(call->adapter);
    // A reset of the engine reads records by itself, and may have been the last to wait for anything.
    umd_runner_tell_faults(call->adapter);
    pthread_mutex_unlock(&call->adapter->lock);
    umd_adapter_put(call->adapter);
    return result;
}

void umd_park(struct umd_call *call)
{
    pthread_mutex_unlock(&call->adapter->lock);
}

void umd_return(struct umd_call *call)
{
    pthread_mutex_lock(&call->adapter->lock);
}
