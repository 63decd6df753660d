// SPDX-License-Identifier: Apache-2.0
// What is built again: everything that a reset aborted, and what shared a buffer with an operation that faulted. Which
// one that was the miniport does not tell. So each goes again in a buffer of its own, and only what faults there is
// lost: an allocation pays for nobody else's fault.
#include "vidmm/sched/sched.h"

static void forget(struct ferry_vm_operation *operation)
{
    operation->first_fence = operation->fence = 0;
    operation->state = FERRY_VM_WAITING;
    operation->begun = false;
    operation->busy = 0;
    operation->argument.MultipassOffset = 0;
    if (ferry_vm_may_be_busy(operation->argument.Operation))
        ferry_vm_set_idle(&operation->argument, false);
}

// What stands in the open buffer comes after what was aborted, so it goes too.
void ferry_vm_rebuild(struct ferry_vm_sched *sched)
{
    if (sched->current != 0) {
        sched->unwanted = *ferry_vm_operation_at(sched, sched->current);
        sched->unwanted_number = sched->current;
        forget(ferry_vm_operation_at(sched, sched->current));
    }
    for (uint64_t at = sched->built_first; at < sched->built_end; at++)
        forget(ferry_vm_operation_at(sched, sched->built_order[at % sched->capacity]));
    sched->built_first = sched->built_end;
    sched->current = 0;
    sched->unbuilt = sched->done + 1;
    sched->looked_at = 0;
    sched->buffer_open = false;
}

// ---- After a fault ----

static uint64_t built_at(const struct ferry_vm_sched *sched, uint64_t at)
{
    return sched->built_order[at % sched->capacity];
}

// The transfer (or other operation) has a piece in this submission. What is being built just now has no end yet.
static bool has_part(const struct ferry_vm_sched *sched, uint64_t first, uint64_t fence)
{
    for (uint64_t number = first; number <= ferry_vm_operation_at(sched, first)->last; number++) {
        const struct ferry_vm_operation *piece = ferry_vm_operation_at(sched, number);
        if (piece->first_fence != 0 && piece->first_fence <= fence && (piece->fence >= fence || piece->fence == 0))
            return true;
    }
    return false;
}

static void lose(struct ferry_vm_sched *sched, uint64_t first)
{
    D3DKMT_HANDLE allocation = ferry_vm_operation_at(sched, first)->allocation;
    if (allocation)
        sched->content_lost(sched->content_lost_context, allocation);
}

// Nothing that was built behind it, but for what is in the very buffer and stops there, is bound to its order: that may
// have run. Pages that are given back behind it go again with it.
static bool may_go_again(const struct ferry_vm_sched *sched, uint64_t at, uint64_t fence)
{
    const struct ferry_vm_operation *first = ferry_vm_operation_at(sched, built_at(sched, at));
    if (first->alone || (sched->current >= first->first && sched->current <= first->last))
        return false;
    for (at += first->last - first->first + 1; at < sched->built_end; at++) {
        const struct ferry_vm_operation *behind = ferry_vm_operation_at(sched, built_at(sched, at));
        bool inside = behind->first_fence == fence && behind->fence == fence && behind->first == behind->last;
        if (!inside && !behind->nothing && ferry_vm_in_order(first, behind))
            return false;
    }
    return sched->current == 0 || !ferry_vm_in_order(first, ferry_vm_operation_at(sched, sched->current));
}

static void build_alone(struct ferry_vm_sched *sched, uint64_t at)
{
    const struct ferry_vm_operation *first = ferry_vm_operation_at(sched, built_at(sched, at));
    uint64_t to = at;
    for (; at < sched->built_end; at++) {
        uint64_t number = built_at(sched, at);
        struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
        bool piece = operation->first == first->first,
             given_back = operation->nothing && operation->subject == first->subject;
        if (piece || given_back) {
            forget(operation);
            operation->alone = piece;
            sched->unbuilt = number < sched->unbuilt ? number : sched->unbuilt;
        } else {
            sched->built_order[to++ % sched->capacity] = number;
        }
    }
    sched->built_end = to;
    sched->looked_at = 0;
}

void ferry_vm_paging_faulted(struct ferry_vm_sched *sched, uint64_t fence)
{
    unsigned parts = 0;
    sched->core->statistics.faulted_paging_buffers++;
    for (uint64_t at = sched->built_first; at < sched->built_end; at++) {
        uint64_t number = built_at(sched, at);
        parts += ferry_vm_operation_at(sched, number)->first == number && has_part(sched, number, fence);
    }
    if (sched->current != 0 && ferry_vm_operation_at(sched, sched->current)->first == sched->current &&
        has_part(sched, sched->current, fence)) {
        parts++;
        lose(sched, sched->current);
    }
    // From the last one on, since what goes again leaves the order.
    for (uint64_t at = sched->built_end; at-- > sched->built_first;) {
        uint64_t number = built_at(sched, at);
        if (ferry_vm_operation_at(sched, number)->first != number || !has_part(sched, number, fence))
            continue;
        if (parts > 1 && may_go_again(sched, at, fence))
            build_alone(sched, at);
        else
            lose(sched, number);
    }
}

bool ferry_vm_stands_alone(const struct ferry_vm_sched *sched, uint64_t number)
{
    const struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
    if (operation->first != number || !ferry_vm_holds_something(sched))
        return false;
    uint64_t at = sched->built_end;
    while (at > sched->built_first && ferry_vm_operation_at(sched, built_at(sched, at - 1))->nothing)
        at--;
    return operation->alone ||
           (at > sched->built_first && ferry_vm_operation_at(sched, built_at(sched, at - 1))->alone);
}
