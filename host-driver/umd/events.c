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
    if (adapter->observer)
        adapter->observer(adapter->observer_context, event);
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
        [FERRY_VIDMM_EVENT_RESIDENT_BYTES] = {FERRY_EVENT_RESIDENT_BYTES, FERRY_TRACK_HOST},
    };
    struct umd_adapter *adapter = context;

    if (!adapter->observer || (unsigned)event->kind >= sizeof shapes / sizeof shapes[0])
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
        .segment = umd_segment_number(event->segment),
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
    struct umd_adapter *adapter = umd_object(UMD_ADAPTER, handle);

    if (!adapter)
        return FERRY_ERROR_HANDLE;
    pthread_mutex_lock(&adapter->lock);
    adapter->observer = callback;
    adapter->observer_context = context;
    struct ferry_link_observer link = {adapter, on_span, on_reads_outstanding};
    ferry_gpu_observe(adapter->gpu, callback ? &link : NULL);
    pthread_mutex_unlock(&adapter->lock);
    return FERRY_OK;
}

static void tell_call(struct umd_adapter *adapter, enum ferry_event_kind kind, const char *name, uint64_t id)
{
    struct ferry_event out = {.kind = kind, .track = FERRY_TRACK_HOST, .id = id, .name = name};

    if (!adapter->observer)
        return;
    out.time = ferry_gpu_cycles(adapter->gpu);
    tell(adapter, &out);
}

void umd_enter(struct umd_adapter *adapter, const char *name, uint64_t *id)
{
    pthread_mutex_lock(&adapter->lock);
    *id = ++adapter->calls;
    tell_call(adapter, FERRY_EVENT_CALL_BEGIN, name, *id);
}

int umd_leave(struct umd_adapter *adapter, const char *name, uint64_t id, int result)
{
    tell_call(adapter, FERRY_EVENT_CALL_END, name, id);
    pthread_mutex_unlock(&adapter->lock);
    return result;
}
