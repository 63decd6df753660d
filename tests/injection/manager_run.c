// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "manager_run.h"

static void look_inside(const struct run *run, struct look *look)
{
    struct ferry_vidmm *manager = run->manager;
    look->handles = manager->core.handles.count - manager->core.handles.free_count;
    look->operations = manager->sched.queued;
    for (unsigned i = 0; i < manager->sched.node_count; i++)
        look->jobs[i] = manager->sched.nodes[i].queued;
    for (unsigned i = 0; i < manager->memory.segment_count; i++)
        look->free_pages[i] = manager->memory.segments[i].space.free_pages;
    for (unsigned i = 0; i < 2; i++) {
        const struct ferry_vm_queue *queue =
            ferry_vm_handle_find(&manager->core.handles, FERRY_VM_PAGING_QUEUE, run->queue[i]);
        look->values[i] = queue ? queue->handed_out : 0;
    }
}

// What a call that fails must not change, and what it must not have begun.
void look(const struct run *run, const char *call, struct look *look)
{
    (void)call;
    memset(look, 0, sizeof(*look));
    if (!run->manager)
        return;
    struct ferry_vidmm_statistics *s = &look->statistics;
    bool at_once = run->variant->delay == 0;
    ferry_vidmm_statistics(run->manager, s);
    memset(s->operations, 0, sizeof(s->operations));
    s->paging_buffers = s->jobs = s->busy_answers = s->insufficient_answers = 0;
    s->backing_bytes = at_once ? s->backing_bytes : 0;
    for (unsigned i = 0; i < run->count; i++) {
        struct ferry_vidmm_placement place;
        if (ferry_vidmm_placement(run->manager, run->allocation[i], &place) == FERRY_OK)
            look->place[i] = place;
    }
    for (unsigned i = 0; i < 2; i++) {
        ferry_vidmm_device_state(run->manager, run->device[i], &look->state[i]);
        // Fences are reached when the GPU is so far.
        if (at_once)
            ferry_vidmm_completed(run->manager, run->context[i], &look->completed[i]);
        if (at_once)
            ferry_vidmm_paging_fence(run->manager, run->queue[i], &look->reached[i]);
    }
    look_inside(run, look);
}

static void compare_place(struct run *run, const char *call, unsigned i, const struct ferry_vidmm_placement *a,
                          const struct ferry_vidmm_placement *b)
{
    struct attempt *attempt = &run->attempt;
    if (a->segment != b->segment || a->offset != b->offset)
        wrong(attempt, call, "allocation %u was in segment %u at %llx and is in %u at %llx", i, a->segment,
              (unsigned long long)a->offset, b->segment, (unsigned long long)b->offset);
    if (a->dirty != b->dirty || a->has_backing != b->has_backing)
        wrong(attempt, call, "allocation %u is dirty %d backed %d, before %d %d", i, b->dirty, b->has_backing, a->dirty,
              a->has_backing);
    if (a->residency_count != b->residency_count || a->instances != b->instances)
        wrong(attempt, call, "allocation %u counts %u with %u instances, before %u with %u", i, b->residency_count,
              b->instances, a->residency_count, a->instances);
    if (a->locked != b->locked || a->lost != b->lost)
        wrong(attempt, call, "allocation %u is locked %d lost %d, before %d %d", i, b->locked, b->lost, a->locked,
              a->lost);
}

#define SAME(what) (memcmp(&then->what, &now->what, sizeof(then->what)) == 0)

void compare(struct run *run, const char *call, const struct look *then, const struct look *now)
{
    struct attempt *attempt = &run->attempt;
    for (unsigned i = 0; i < run->count; i++)
        compare_place(run, call, i, &then->place[i], &now->place[i]);
    if (!SAME(state))
        wrong(attempt, call, "devices are in states %d and %d", (int)now->state[0], (int)now->state[1]);
    if (!SAME(completed) || !SAME(reached))
        wrong(attempt, call, "a fence has moved");
    if (!SAME(operations) || !SAME(jobs) || !SAME(values))
        wrong(attempt, call, "%llu operations are queued, or jobs, or a value is handed out",
              (unsigned long long)(now->operations - then->operations));
    if (!SAME(free_pages))
        wrong(attempt, call, "a segment has gained or lost room");
    if (!SAME(handles))
        wrong(attempt, call, "%u handles are live, before %u", now->handles, then->handles);
    if (!SAME(statistics))
        wrong(attempt, call, "statistics have changed");
}

void check_stopped(struct run *run)
{
    struct ferry_vidmm_critical record;
    D3DKMT_HANDLE handle = 0;
    if (!run->manager)
        return;
    if (!ferry_vidmm_critical(run->manager, &record) || record.code == FERRY_CRITICAL_NONE)
        wrong(&run->attempt, "after the stop", "no record of it");
    if (ferry_vidmm_create_device(run->manager, &handle) != FERRY_ERROR_CRITICAL)
        wrong(&run->attempt, "after the stop", "it works on");
}
