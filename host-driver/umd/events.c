// SPDX-License-Identifier: Apache-2.0
// What the manager and the link report, put into the public form.
#include "umd/events.h"

#include "umd/call.h"
#include "umd/observer.h"
#include "umd/runner.h"

// The public segment numbers do not depend on which segments an adapter reports: 1 local, 3 aperture.
uint32_t umd_segment_number(uint32_t segment)
{
    return segment == FERRY_KMD_SEGMENT_APERTURE ? 3 : segment;
}

// The handle of one that is there ends while nobody tells, so it is looked up without the adapter's lock. Of what
// changes by its own coming it is not told: it asks.
static void tell_budget(struct umd_adapter *adapter, const struct ferry_vidmm_event *event)
{
    struct ferry_memory_info info = {
        .size = sizeof info,
        .budget = event->value,
        .usage = event->offset,
        .bytes_to_trim = event->bytes,
    };

    umd_begin_telling(adapter);
    const struct umd_process *process = umd_object(adapter, UMD_PROCESS, event->program);
    if (process && process->vidmm == event->process && process->callback)
        process->callback(process->context, (enum ferry_memory_group)event->segment, &info);
    umd_end_telling(adapter);
}

void umd_silence_budgets(struct umd_adapter *adapter)
{
    pthread_mutex_lock(&adapter->telling);
    for (struct umd_process *process = adapter->processes; process; process = process->next)
        process->callback = NULL;
    pthread_mutex_unlock(&adapter->telling);
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
        [FERRY_VIDMM_EVENT_MAPPED] = {FERRY_EVENT_MAPPED, FERRY_TRACK_HOST},
        [FERRY_VIDMM_EVENT_UNMAPPED] = {FERRY_EVENT_UNMAPPED, FERRY_TRACK_HOST},
        [FERRY_VIDMM_EVENT_BUDGET] = {FERRY_EVENT_BUDGET, FERRY_TRACK_HOST},
        [FERRY_VIDMM_EVENT_RESIDENT_BYTES] = {FERRY_EVENT_RESIDENT_BYTES, FERRY_TRACK_HOST},
    };
    struct umd_adapter *adapter = context;

    if (event->kind == FERRY_VIDMM_EVENT_BUDGET)
        tell_budget(adapter, event);
    // Inside the manager's lock: who is woken and asks comes behind this turn, and finds it.
    if (event->kind == FERRY_VIDMM_EVENT_BUDGET || event->kind == FERRY_VIDMM_EVENT_JOB_END ||
        event->kind == FERRY_VIDMM_EVENT_FENCE_SIGNAL)
        umd_runner_tell(adapter);
    if ((unsigned)event->kind >= sizeof shapes / sizeof shapes[0] || !umd_observed(adapter))
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
    umd_tell(adapter, &out);
}

static void on_span(void *context, enum ferry_track track, uint64_t begin, uint64_t end)
{
    struct ferry_event out = {
        .kind = FERRY_EVENT_SPAN, .track = track, .time = begin, .name = "", .bytes = end - begin};

    umd_tell(context, &out);
}

static void on_value(void *context, enum ferry_event_kind what, uint64_t time, uint32_t value)
{
    struct ferry_event out = {
        .kind = what,
        .track = what == FERRY_EVENT_TABLE_MISSES ? FERRY_TRACK_WALKS : FERRY_TRACK_READ_CHANNEL,
        .time = time,
        .name = "",
        .value = value,
    };

    umd_tell(context, &out);
}

int ferry_adapter_observe(struct ferry_adapter *handle, ferry_event_callback *callback, void *context)
{
    struct umd_call call;
    struct umd_adapter *adapter = umd_enter(&call, UMD_ADAPTER, handle, NULL);

    if (!adapter)
        return umd_not_entered();
    pthread_mutex_lock(&adapter->telling);
    adapter->observer = callback;
    adapter->observer_context = context;
    pthread_mutex_unlock(&adapter->telling);
    struct ferry_link_observer link = {adapter, on_span, on_value};
    ferry_gpu_observe(adapter->gpu, callback ? &link : NULL);
    return umd_leave(&call, FERRY_OK);
}
