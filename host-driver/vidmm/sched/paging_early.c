// SPDX-License-Identifier: Apache-2.0
// What updates of addresses wait with, of an allocation that leaves its place. It stays mapped until an update's turn
// has come, for jobs before it that reach it without naming it, and whoever gets its place waits for that. Without the
// update such a job would meet a page that is not there as soon as it had left; so it does with it, and nobody waits
// for a job that has nothing to do with it.
#include "vidmm/sched/paging.h"

// It only keeps its place among those that it was queued with.
static void call_off(struct ferry_vm_sched *sched, uint64_t number)
{
    struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
    ferry_vm_index_leave(sched, number);
    operation->nothing = true;
    operation->reads = operation->writes = (struct ferry_vm_span){0};
    operation->first_address = operation->end_address = 0;
    for (unsigned i = 0; i < sched->node_count; i++)
        operation->after[i] = 0;
    ferry_vm_index_enter(sched, number);
}

// It waits for the sake of an update alone. Once the update's job is over it may have been built, and what was aborted
// or faulted may be written all the same; and jobs of any node may wait for it.
static bool may_leave_early(const struct ferry_vm_sched *sched, const struct ferry_vm_subject *subject,
                            const struct ferry_vm_operation *operation)
{
    unsigned node = (unsigned)(operation->late % FERRY_VM_MAX_NODES);
    uint64_t job = operation->late / FERRY_VM_MAX_NODES;
    return operation->nothing || (operation->state == FERRY_VM_WAITING && !ferry_vm_reached(sched, node, job) &&
                                  subject->last_fence[node] <= job);
}

uint64_t ferry_vm_update_pending(const struct ferry_vm_sched *sched, const struct ferry_vm_subject *subject)
{
    uint64_t number = subject->first_update;
    while (number != 0 && may_leave_early(sched, subject, ferry_vm_operation_at(sched, number)))
        number = ferry_vm_operation_at(sched, number)->among_next;
    return number;
}

void ferry_vm_leave_early(struct ferry_vm_sched *sched, const struct ferry_vm_subject *subject)
{
    uint64_t next;
    for (uint64_t number = subject->first_update; number != 0; number = next) {
        struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
        unsigned node = (unsigned)(operation->late % FERRY_VM_MAX_NODES);
        next = operation->among_next;
        if (operation->nothing || !may_leave_early(sched, subject, operation))
            continue;
        if (!ferry_vm_takes_away(operation))
            call_off(sched, number);
        else if (operation->after[node] > subject->last_fence[node])
            operation->after[node] = subject->last_fence[node];
        sched->looked_at = 0;
    }
}

static bool only_forgets(const struct ferry_vm_operation *operation)
{
    return operation->argument.Operation == DXGK_OPERATION_FLUSH_TLB;
}

bool ferry_vm_called_off(struct ferry_vm_sched *sched, uint64_t first, uint64_t last)
{
    for (uint64_t number = first; number <= last; number++) {
        const struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
        if (first == 0 || ferry_vm_operation_over(sched, number) || operation->state != FERRY_VM_WAITING ||
            !(operation->nothing || only_forgets(operation)))
            return false;
    }
    for (uint64_t number = first; number <= last; number++)
        if (!ferry_vm_operation_at(sched, number)->nothing)
            call_off(sched, number);
    return true;
}
