// SPDX-License-Identifier: Apache-2.0
#include "umd/call.h"

#include "umd/observer.h"
#include "umd/runner.h"

static bool is_observed(const struct umd_call *call)
{
    return call->name && umd_observed(call->adapter);
}

static void tell_call(const struct umd_call *call, enum ferry_event_kind kind)
{
    struct ferry_event out = {.kind = kind, .track = FERRY_TRACK_HOST, .id = call->id, .name = call->name};
    out.time = ferry_gpu_cycles(call->adapter->gpu);
    umd_tell(call->adapter, &out);
}

void *umd_enter(struct umd_call *call, enum umd_kind kind, const void *handle, const char *name)
{
    struct umd_adapter *adapter;
    void *object = umd_is_telling() ? NULL : umd_lock_object(kind, handle, &adapter);

    if (!object)
        return NULL;
    *call = (struct umd_call){adapter, name, name ? ++adapter->calls : 0};
    if (is_observed(call))
        tell_call(call, FERRY_EVENT_CALL_BEGIN);
    return object;
}

int umd_not_entered(void)
{
    return umd_is_telling() ? FERRY_ERROR_RECURSIVE_CALL : FERRY_ERROR_HANDLE;
}

static void leave_to_runner(const struct umd_call *call, int result)
{
    if (call->name)
        umd_runner_wake(call->adapter);
    // Nothing ends any more: whoever polls is to ask, and to hear so.
    if (result == FERRY_ERROR_CRITICAL)
        umd_runner_tell(call->adapter);
    // A reset of the engine reads records by itself, and may have been the last to wait for anything.
    umd_runner_tell_faults(call->adapter);
}

int umd_leave(struct umd_call *call, int result)
{
    if (is_observed(call))
        tell_call(call, FERRY_EVENT_CALL_END);
    if (call->adapter->runner)
        leave_to_runner(call, result);
    pthread_mutex_unlock(&call->adapter->lock);
    return result;
}

static void come_back(struct umd_adapter *adapter)
{
    if (!--adapter->parked)
        pthread_cond_signal(&adapter->alone);
}

void umd_park(struct umd_call *call)
{
    call->adapter->parked++;
    pthread_mutex_unlock(&call->adapter->lock);
}

void umd_return(struct umd_call *call)
{
    pthread_mutex_lock(&call->adapter->lock);
    come_back(call->adapter);
}

void umd_park_until(struct umd_call *call, pthread_cond_t *condition)
{
    call->adapter->parked++;
    pthread_cond_wait(condition, &call->adapter->lock);
    come_back(call->adapter);
}

void umd_wait_for_parked(struct umd_adapter *adapter)
{
    while (adapter->parked)
        pthread_cond_wait(&adapter->alone, &adapter->lock);
}
