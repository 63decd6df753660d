// SPDX-License-Identifier: Apache-2.0
// The pager: what stands in the line is built and ended. An operation is built only when whatever it waits for is over,
// so an open buffer never has to be held back. What is answered BUSY all the same is asked for again, as idle, when
// what was built before is done.
#include "vidmm/sched/paging.h"

// ---- Building ----

static enum ferry_vm_built stuck(const struct ferry_vm_sched *sched)
{
    return sched->core->critical.code != FERRY_CRITICAL_NONE ? FERRY_VM_STOPPED : FERRY_VM_NO_ROOM;
}

static void built(struct ferry_vm_sched *sched, uint64_t number)
{
    struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
    operation->fence = ferry_vm_next_fence(sched);
    operation->state = FERRY_VM_BUILT_INTO;
    sched->wanted_in = operation->wanted ? operation->fence : sched->wanted_in;
    ferry_vm_index_state(sched, number);
    ferry_vm_goes_in(sched, number);
    *ferry_vm_built_at(sched, sched->built_end++) = number;
    sched->current = ferry_vm_operation_at(sched, operation->first)->last == number ? 0 : number + 1;
    while (sched->unbuilt <= sched->queued && ferry_vm_operation_at(sched, sched->unbuilt)->state != FERRY_VM_WAITING)
        sched->unbuilt++;
    // What it keeps back and may share its buffer looks again too.
    if (!ferry_vm_repeatable(operation) || ferry_vm_is_about_addresses(operation))
        ferry_vm_awaken(sched, number);
    if (operation->nothing || operation->told)
        return;
    operation->told = true;
    ferry_vm_emit(sched->core, (struct ferry_vidmm_event){.kind = FERRY_VIDMM_EVENT_PAGING_BEGIN,
                                                          .id = operation->event,
                                                          .allocation = operation->allocation,
                                                          .operation = (uint32_t)operation->argument.Operation,
                                                          .node = sched->paging_node,
                                                          .bytes = operation->bytes});
}

// A buffer is out, and there is more of the operation: behind a change of tables it goes on when that is over.
static enum ferry_vm_built park_behind_tables(const struct ferry_vm_sched *sched, struct ferry_vm_operation *operation)
{
    if (!operation->steps.wanted && !ferry_vm_is_about_addresses(operation) &&
        !ferry_vm_goes_on_later(sched, operation))
        return FERRY_VM_WENT_OUT;
    operation->idle_at = sched->nodes[sched->paging_node].submitted;
    return FERRY_VM_PARKED;
}

static enum ferry_vm_built pass(struct ferry_vm_sched *sched, struct ferry_vm_operation *operation)
{
    return operation->steps.wanted ? ferry_vm_build_steps(sched, operation)
                                   : ferry_vm_build_pass(sched, operation, false);
}

static enum ferry_vm_built build(struct ferry_vm_sched *sched, uint64_t number)
{
    struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
    enum ferry_vm_built outcome = FERRY_VM_BUILT;
    if (!operation->nothing) {
        // What is told of while it goes out may have put others back into the line, before this one.
        if (!operation->begun && (ferry_vm_spoils_a_source(sched, number) || ferry_vm_stands_alone(sched, number) ||
                                  ferry_vm_is_a_strangers(sched, number)))
            return ferry_vm_flush(sched) ? FERRY_VM_WENT_OUT : stuck(sched);
        // A full buffer that found the device full before: it goes first.
        outcome = FERRY_VM_WENT_OUT;
        if (operation->begun && ferry_vm_holds_something(sched)) {
            if (!ferry_vm_flush(sched))
                return stuck(sched);
            outcome = park_behind_tables(sched, operation);
        }
        sched->current = sched->unwanted_number == 0 ? number : 0;
        // A buffer that goes out may tell of a fault, and with that take back what is being built.
        while (outcome == FERRY_VM_WENT_OUT && sched->unwanted_number == 0) {
            outcome = pass(sched, operation);
            if (outcome == FERRY_VM_WENT_OUT && sched->unwanted_number == 0)
                outcome = park_behind_tables(sched, operation);
        }
        // Nothing of it: whatever comes to be before it in the meantime may go first.
        if ((outcome == FERRY_VM_NO_ROOM || outcome == FERRY_VM_PARKED) && !operation->begun && operation->busy == 0 &&
            operation->first == number)
            sched->current = 0;
    }
    // Inside here a buffer may have gone out and been executed, but none that holds this operation's end.
    if (outcome == FERRY_VM_BUILT)
        built(sched, number);
    return outcome;
}

// After a reset or a fault: what the miniport has begun, of an operation or of a transfer, comes to its end as the
// contract wants it, into buffers that nobody submits. Then all of it begins anew.
static bool end_unwanted(struct ferry_vm_sched *sched)
{
    const struct ferry_vm_node *node = &sched->nodes[sched->paging_node];
    while (sched->unwanted_number != 0) {
        enum ferry_vm_built outcome = FERRY_VM_WENT_OUT;
        // R42: what was answered BUSY is said to be idle, so nothing that names it may be with the device by then. Who
        // is busy all the same gets time in between.
        while (outcome == FERRY_VM_WENT_OUT || (outcome == FERRY_VM_PARKED && sched->unwanted.busy == 1)) {
            if (sched->unwanted.busy != 0 && node->retired != node->submitted)
                break;
            outcome = ferry_vm_build_pass(sched, &sched->unwanted, true);
        }
        if (outcome != FERRY_VM_BUILT) {
            sched->buffer_open = false; // nobody submits it
            return false;
        }
        sched->buffer_open = false;
        uint64_t last = ferry_vm_operation_at(sched, sched->unwanted.first)->last;
        if (sched->unwanted_number == last)
            sched->unwanted_number = 0;
        else
            sched->unwanted = *ferry_vm_operation_at(sched, ++sched->unwanted_number);
    }
    return true;
}

// Of a job that has come to the head of its line, once: it may stand behind any number of operations.
static void mark_wanted(struct ferry_vm_sched *sched, const struct ferry_vm_job *job)
{
    for (size_t i = 0; i < job->after_count; i++) {
        struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, job->after[i]);
        if (ferry_vm_operation_over(sched, job->after[i]))
            continue;
        operation->wanted = true;
        sched->wanted_in = operation->fence > sched->wanted_in ? operation->fence : sched->wanted_in;
    }
}

// Somebody waits for what lies in the open buffer: a job at the head of its line.
static bool wanted(struct ferry_vm_sched *sched)
{
    for (unsigned i = 0; i < sched->node_count; i++) {
        struct ferry_vm_node *node = &sched->nodes[i];
        if (!node->unsent || node->unsent->fence == node->marked)
            continue;
        mark_wanted(sched, node->unsent);
        node->marked = node->unsent->fence;
    }
    return sched->wanted_in == sched->nodes[sched->paging_node].submitted + 1;
}

bool ferry_vm_pump_paging(struct ferry_vm_sched *sched)
{
    bool moved = false;
    enum ferry_vm_built outcome = FERRY_VM_BUILT;
    sched->parked = false;
    while ((outcome == FERRY_VM_BUILT || outcome == FERRY_VM_WENT_OUT) &&
           sched->core->critical.code == FERRY_CRITICAL_NONE) {
        if (!end_unwanted(sched)) {
            sched->parked = sched->unwanted.busy != 0;
            return moved;
        }
        uint64_t number = ferry_vm_next_operation(sched);
        if (number == 0)
            break;
        outcome = build(sched, number);
        moved |= outcome == FERRY_VM_BUILT || outcome == FERRY_VM_WENT_OUT;
    }
    sched->parked = sched->current != 0 && ferry_vm_operation_at(sched, sched->current)->busy != 0;
    if (outcome == FERRY_VM_NO_ROOM || outcome == FERRY_VM_STOPPED)
        return moved;
    // An operation without a byte is done with what lies before it.
    ferry_vm_paging_retired(sched);
    const struct ferry_vm_node *node = &sched->nodes[sched->paging_node];
    if (sched->unbuilt <= sched->queued || node->in_flight == 0 || wanted(sched))
        moved |= ferry_vm_flush(sched);
    return moved;
}

// ---- What has run ----

static void count(struct ferry_vm_core *core, const struct ferry_vm_operation *operation)
{
    core->statistics.operations[operation->argument.Operation] += operation->steps.wanted ? operation->steps.chunks : 1;
    core->statistics.operations[DXGK_OPERATION_UPDATE_PAGE_TABLE] += operation->steps.updates;
    core->statistics.operations[DXGK_OPERATION_FLUSH_TLB] += operation->steps.flushes;
}

static void end_operation(struct ferry_vm_sched *sched, uint64_t number)
{
    struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
    sched->progress++;
    ferry_vm_operation_ends(sched, number);
    ferry_vm_awaken(sched, number);
    ferry_vm_pages_free(sched->core, ferry_vm_take_release(operation));
    if (operation->unmap)
        sched->core->platform.pages->unmap(sched->core->platform.pages->context, operation->unmap);
    if (operation->nothing)
        return;
    count(sched->core, operation);
    ferry_vm_emit(sched->core, (struct ferry_vidmm_event){.kind = FERRY_VIDMM_EVENT_PAGING_END,
                                                          .id = operation->event,
                                                          .allocation = operation->allocation,
                                                          .operation = (uint32_t)operation->argument.Operation,
                                                          .node = sched->paging_node,
                                                          .bytes = operation->bytes});
}

// Whole transfers, in the order in which they were built.
static void end_operations(struct ferry_vm_sched *sched, uint64_t fence)
{
    while (sched->built_first < sched->built_end) {
        uint64_t first = *ferry_vm_built_at(sched, sched->built_first);
        uint64_t last = ferry_vm_operation_at(sched, first)->last;
        const struct ferry_vm_operation *end = ferry_vm_operation_at(sched, last);
        if (end->state != FERRY_VM_BUILT_INTO || end->fence > fence)
            break;
        sched->built_first += last - first + 1;
        for (uint64_t number = first; number <= last; number++)
            end_operation(sched, number);
    }
    while (sched->done < sched->queued && ferry_vm_operation_at(sched, sched->done + 1)->state == FERRY_VM_OVER)
        sched->done++;
    sched->nodes[sched->paging_node].completed = sched->done;
}

void ferry_vm_paging_retired(struct ferry_vm_sched *sched)
{
    struct ferry_vm_node *node = &sched->nodes[sched->paging_node];
    uint64_t first_aborted = UINT64_MAX;
    node->in_flight -= (unsigned)(node->reported - node->retired);
    for (uint64_t fence = node->retired + 1; fence <= node->reported; fence++) {
        for (unsigned i = 0; i < sched->buffer_count; i++) {
            struct ferry_vm_paging_buffer *buffer = &sched->buffers[i];
            if (buffer->fence != fence)
                continue;
            // What runs behind an aborted buffer runs in the wrong order: nothing can be made good any more then.
            bool again = buffer->aborted && node->submitted == node->reported;
            if (again && first_aborted == UINT64_MAX)
                first_aborted = fence;
            if (buffer->faulted || (buffer->aborted && !again))
                ferry_vm_paging_faulted(sched, fence);
        }
    }
    node->retired = node->reported;
    end_operations(sched, first_aborted <= node->retired ? first_aborted - 1 : node->retired);
    if (first_aborted != UINT64_MAX)
        ferry_vm_rebuild(sched);
    ferry_vm_queues_signal(sched);
}
