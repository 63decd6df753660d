// SPDX-License-Identifier: Apache-2.0
// What the manager and the link report, put into the public form.
#include "umd/internal.h"

// The public segment numbers do not depend on which segments an adapter reports: 1 local, 3 aperture.
uint32_t umd_segment_number(uint32_t segment)
{
    return segment == FERRY_KMD_SEGMENT_APERTURE ? 3 : segment;
}

static void tell(struct umd_adapter *adapter, struct ferry_event *event)
{
    event->size = sizeof *event;
    pthread_mutex_lock(&adapter->telling);
    if (adapter->observer)
        adapter->observer(adapter->observer_context, event);
    pthread_mutex_unlock(&adapter->telling);
}

static bool observed(struct umd_adapter *adapter)
{
    pthread_mutex_lock(&adapter->telling);
    bool is = adapter->observer != NULL;
    pthread_mutex_unlock(&adapter->telling);
    return is;
}

void umd_on_vidmm_event(void *context, const struct ferry_vidmm_event *event)
{
    static const struct {
        enum ferry_event_kind kind;
        enum ferry_track track;
    } shapes[] = {
        [FERRY_VIDMM_EVENT_PAGING_BEGIN] = {FERRY_EVENT_PAGING_BEGIN, FERRY_TRACK_PAGING},
        [FERRY_VIDMM_EVENT_PAGING_END] = {FERRY_EVENT_PAGING_END, FERRY_TRACK_PAGING},
        [FERRY_VIDMM_EVENT_JOB_BEGIN] = {FERRY_EVENT_JOB_BEGIN, FERRY_TRACK_USER},
        [FERRY_VIDMM_EVENT_JOB_END] = {FERRY_EVENT_JOB_END, FERRY_TRACK_USER},
        [FERRY_VIDMM_EVENT_FENCE_WAIT] = {FERRY_EVENT_FENCE_WAIT, FERRY_TRACK_HOST},
        [FERRY_VIDMM_EVENT_FENCE_SIGNAL] = {FERRY_EVENT_FENCE_SIGNAL, FERRY_TRACK_PAGING},
        [FERRY_VIDMM_EVENT_PLACED] = {FERRY_EVENT_PLACED, FERRY_TRACK_HOST},
        [FERRY_VIDMM_EVENT_REMOVED] = {FERRY_EVENT_REMOVED, FERRY_TRACK_HOST},
        [FERRY_VIDMM_EVENT_BUDGET] = {FERRY_EVENT_BUDGET, FERRY_TRACK_HOST},
        [FERRY_VIDMM_EVENT_RESIDENT_BYTES] = {FERRY_EVENT_RESIDENT_BYTES, FERRY_TRACK_HOST},
    };
    struct umd_adapter *adapter = context;

    if (event->kind == FERRY_VIDMM_EVENT_BUDGET)
        umd_tell_budget(adapter, event);
    if ((unsigned)event->kind >= sizeof shapes / sizeof shapes[0] || !observed(adapter))
        return;
    bool paging = shapes[event->kind].track == FERRY_TRACK_PAGING && event->kind != FERRY_VIDMM_EVENT_FENCE_SIGNAL;
    struct ferry_event out = {
        .kind = shapes[event->kind].kind,
        .track = shapes[event->kind].track,
        .time = ferry_gpu_cycles(adapter->gpu),
        .id = event->id,
        .name = paging                                          ? ferry_operation_name(event->operation)
                : shapes[event->kind].track == FERRY_TRACK_USER ? "job"
                                                                : "",
        .allocation = event->allocation,
        .process = event->process,
        .segment = event->kind == FERRY_VIDMM_EVENT_BUDGET ? (event->segment == FERRY_MEMORY_LOCAL ? 1 : 3)
                                                           : umd_segment_number(event->segment),
        .offset = event->offset,
        .bytes = event->bytes,
        .value = event->value,
    };
    tell(adapter, &out);
}

static void on_span(void *context, enum ferry_track track, uint64_t begin, uint64_t end)
{
    struct ferry_event out = {
        .kind = FERRY_EVENT_SPAN, .track = track, .time = begin, .name = "", .bytes = end - begin};

    tell(context, &out);
}

static void on_reads_outstanding(void *context, uint64_t time, uint32_t value)
{
    struct ferry_event out = {.kind = FERRY_EVENT_READS_OUTSTANDING,
                              .track = FERRY_TRACK_READ_CHANNEL,
                              .time = time,
                              .name = "",
                              .value = value};

    tell(context, &out);
}

int ferry_adapter_observe(struct ferry_adapter *handle, ferry_event_callback *callback, void *context)
{
    struct umd_call call;
    struct umd_adapter *adapter = umd_enter(&call, UMD_ADAPTER, handle, NULL);

    if (!adapter)
        return FERRY_ERROR_HANDLE;
    pthread_mutex_lock(&adapter->telling);
    adapter->observer = callback;
    adapter->observer_context = context;
    pthread_mutex_unlock(&adapter->telling);
    struct ferry_link_observer link = {adapter, on_span, on_reads_outstanding};
    ferry_gpu_observe(adapter->gpu, callback ? &link : NULL);
    return umd_leave(&call, FERRY_OK);
}

static void tell_call(const struct umd_call *call, enum ferry_event_kind kind)
{
    struct ferry_event out = {.kind = kind, .track = FERRY_TRACK_HOST, .id = call->id, .name = call->name};

    if (!call->name || !observed(call->adapter))
        return;
    out.time = ferry_gpu_cycles(call->adapter->gpu);
    tell(call->adapter, &out);
}

void *umd_enter(struct umd_call *call, enum umd_kind kind, const void *handle, const char *name)
{
    struct umd_adapter *adapter = umd_adapter_get(kind, handle);

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

int umd_leave(struct umd_call *call, int result)
{
    tell_call(call, FERRY_EVENT_CALL_END);
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
