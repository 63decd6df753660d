// SPDX-License-Identifier: Apache-2.0
// What is built again: everything that a reset aborted, and what shared a buffer with an operation that faulted. Which
// one that was the miniport does not tell. So each goes again in a buffer of its own, and only what faults there is
// lost: an allocation pays for nobody else's fault.
#include "vidmm/sched/paging.h"

static void forget(struct ferry_vm_sched *sched, uint64_t number)
{
    struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
    operation->first_fence = operation->fence = 0;
    operation->state = FERRY_VM_WAITING;
    operation->begun = false;
    operation->busy = 0;
    operation->idle_at = 0;
    operation->argument.MultipassOffset = 0;
    ferry_vm_steps_forget(&operation->steps);
    if (ferry_vm_may_be_busy(operation->argument.Operation))
        ferry_vm_set_idle(&operation->argument, false);
    ferry_vm_index_state(sched, number);
}

// The miniport brings what it is in the middle of to its end, in buffers that nobody submits. Between two steps it is
// in the middle of nothing.
static void stop_building(struct ferry_vm_sched *sched)
{
    const struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, sched->current);
    if (!operation->steps.wanted || operation->steps.inside) {
        sched->unwanted = operation->steps.wanted ? sched->step : *operation;
        sched->unwanted.step_of = NULL;
        sched->unwanted_number = sched->current;
    }
    sched->current = 0;
    sched->buffer_open = false;
}

// What stands in the open buffer comes after what was aborted, so it goes too.
void ferry_vm_rebuild(struct ferry_vm_sched *sched)
{
    sched->addresses_unknown = true;
    if (sched->current != 0) {
        uint64_t number = sched->current;
        stop_building(sched);
        forget(sched, number);
    }
    for (uint64_t at = sched->built_first; at < sched->built_end; at++)
        forget(sched, *ferry_vm_built_at(sched, at));
    sched->built_first = sched->built_end;
    sched->current = 0;
    sched->unbuilt = sched->done + 1;
    sched->looked_at = 0;
    sched->buffer_open = false;
}

// ---- After a fault ----

static uint64_t built_at(const struct ferry_vm_sched *sched, uint64_t at)
{
    return *ferry_vm_built_at(sched, at);
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

// What it leads away from is somebody else's next. A mapping of an aperture that cannot be made is only its device's
// loss: place and pages stay its own until they are unmapped.
static bool has_to_be_carried_out(const struct ferry_vm_operation *operation)
{
    return ferry_vm_is_about_addresses(operation) ||
           operation->argument.Operation == DXGK_OPERATION_UNMAP_APERTURE_SEGMENT ||
           operation->argument.Operation == DXGK_OPERATION_NOTIFY_ALLOC;
}

// Does a job that has not begun wait for this operation, or for a later one of the same subject before that number?
static bool is_named(const struct ferry_vm_sched *sched, const struct ferry_vm_operation *first, uint64_t end)
{
    for (unsigned i = 0; i < sched->node_count; i++) {
        for (const struct ferry_vm_job *job = sched->nodes[i].unsent; job; job = job->next) {
            for (size_t j = 0; j < job->after_count; j++) {
                uint64_t number = job->after[j];
                const struct ferry_vm_operation *after = ferry_vm_operation_at(sched, number);
                if (number >= first->first && number < end && !ferry_vm_operation_over(sched, number) &&
                    after->allocation == first->allocation && after->instance == first->instance)
                    return true;
            }
        }
    }
    return false;
}

// Of what is discarded nothing was wanted, nor of what was to be brought there, but for jobs queued in between.
static void lose(struct ferry_vm_sched *sched, const struct ferry_vm_operation *first)
{
    if (!first->allocation || first->argument.Operation == DXGK_OPERATION_DISCARD_CONTENT ||
        (first->given_up != 0 && !is_named(sched, first, first->given_up)))
        return;
    sched->content_lost(sched->content_lost_context, first->allocation, first->instance,
                        is_named(sched, first, UINT64_MAX));
}

static bool half_built(const struct ferry_vm_sched *sched, const struct ferry_vm_operation *first)
{
    return sched->current >= first->first && sched->current <= first->last;
}

// Addresses may lead to a place before the content is there: a job waits for both.
static bool is_bound_behind(const struct ferry_vm_operation *first, const struct ferry_vm_operation *behind)
{
    return !behind->nothing && !ferry_vm_is_about_addresses(behind) && ferry_vm_in_order(first, behind);
}

// Nothing that was built behind it, but for what is in the very buffer and stops there, is bound to its order: that may
// have run. What has written nothing has not.
static bool may_go_again(const struct ferry_vm_sched *sched, const struct ferry_vm_operation *first, uint64_t fence)
{
    bool passed = false;
    if (first->alone)
        return false;
    for (uint64_t at = sched->built_first; at < sched->built_end; at++) {
        const struct ferry_vm_operation *behind = ferry_vm_operation_at(sched, built_at(sched, at));
        bool piece = behind->first == first->first;
        bool inside = behind->first_fence == fence && behind->fence == fence && behind->first == behind->last;
        passed |= piece;
        bool wrote = behind->first_fence != 0;
        if (passed && !piece && !inside && wrote && is_bound_behind(first, behind))
            return false;
    }
    return sched->current == 0 || half_built(sched, first) ||
           !is_bound_behind(first, ferry_vm_operation_at(sched, sched->current));
}

// Pages that are given back behind it, and what is its subject's and has written nothing: they go again with it, or the
// subject's newest operation would be over before it is.
static bool goes_with(const struct ferry_vm_operation *operation, uint64_t number,
                      const struct ferry_vm_operation *first)
{
    bool wrote = !operation->nothing && operation->first_fence != 0;
    return !wrote && operation->subject == first->subject && number > first->last;
}

static void build_alone(struct ferry_vm_sched *sched, const struct ferry_vm_operation *first)
{
    uint64_t to = sched->built_first;
    // What is open holds nothing but pieces of it, since nothing comes between those.
    if (half_built(sched, first))
        stop_building(sched);
    for (uint64_t at = sched->built_first; at < sched->built_end; at++) {
        uint64_t number = built_at(sched, at);
        bool with_it = goes_with(ferry_vm_operation_at(sched, number), number, first);
        if (with_it)
            forget(sched, number);
        if (with_it && number < sched->unbuilt)
            sched->unbuilt = number;
        if (!with_it && (number < first->first || number > first->last))
            *ferry_vm_built_at(sched, to++) = number;
    }
    sched->built_end = to;
    for (uint64_t number = first->first; number <= first->last; number++) {
        forget(sched, number);
        ferry_vm_operation_at(sched, number)->alone = true;
    }
    sched->unbuilt = first->first < sched->unbuilt ? first->first : sched->unbuilt;
    sched->looked_at = 0;
}

// Its entries were not written, or its content was not moved, and nobody knows which: no step follows.
static void end_steps(struct ferry_vm_sched *sched, struct ferry_vm_operation *operation)
{
    stop_building(sched);
    ferry_vm_steps_forget(&operation->steps);
    operation->steps.done = operation->steps.pages;
    operation->idle_at = 0;
    sched->looked_at = 0;
}

#define TABLE_TRIES 8 // alone

// A table must not go on leading to pages that are somebody else's by then: where it cannot be changed, nothing is
// safe.
static bool is_beyond_hope(struct ferry_vm_sched *sched, struct ferry_vm_operation *operation, uint64_t fence)
{
    if (operation->alone && ++operation->faults >= TABLE_TRIES && has_to_be_carried_out(operation))
        ferry_vm_stop_critical(sched->core, (struct ferry_vidmm_critical){.code = FERRY_CRITICAL_TABLE_FAULTED,
                                                                          .operation = operation->argument.Operation,
                                                                          .node = sched->paging_node,
                                                                          .fence = fence,
                                                                          .allocation = operation->allocation});
    return operation->faults >= TABLE_TRIES;
}

static void faulted(struct ferry_vm_sched *sched, uint64_t number, bool with_others, uint64_t fence)
{
    struct ferry_vm_operation *first = ferry_vm_operation_at(sched, number);
    bool again = ferry_vm_repeatable(first) ? !is_beyond_hope(sched, first, fence)
                                            : with_others && may_go_again(sched, first, fence);
    if (again) {
        build_alone(sched, first);
        return;
    }
    lose(sched, first);
    if (first->steps.wanted && half_built(sched, first))
        end_steps(sched, first);
}

// It has found that buffer too full to begin in, and stands behind a change of tables in it. Nothing is built
// meanwhile: where the open buffer holds something, that is the one that was too full, and what stands in it is
// others'.
static bool waits_for_it(const struct ferry_vm_sched *sched, const struct ferry_vm_operation *current, uint64_t fence)
{
    bool waits = ferry_vm_is_about_addresses(current);
    if (ferry_vm_holds_something(sched))
        return false;
    for (uint64_t at = sched->built_first; at < sched->built_end; at++) {
        uint64_t number = built_at(sched, at);
        const struct ferry_vm_operation *before = ferry_vm_operation_at(sched, number);
        waits |=
            ferry_vm_is_about_addresses(before) && has_part(sched, number, fence) && ferry_vm_in_order(before, current);
    }
    return waits && current->begun && current->first_fence == 0 && sched->current == current->first;
}

void ferry_vm_paging_faulted(struct ferry_vm_sched *sched, uint64_t fence)
{
    unsigned parts = 0;
    sched->addresses_unknown = true;
    sched->core->statistics.faulted_paging_buffers++;
    for (uint64_t at = sched->built_first; at < sched->built_end; at++) {
        uint64_t number = built_at(sched, at);
        parts += ferry_vm_operation_at(sched, number)->first == number && has_part(sched, number, fence);
    }
    // None of whose pieces is in the order yet.
    bool first_piece = sched->current != 0 && ferry_vm_operation_at(sched, sched->current)->first == sched->current;
    bool begins_in_it = first_piece && has_part(sched, sched->current, fence);
    begins_in_it |= sched->current != 0 && waits_for_it(sched, ferry_vm_operation_at(sched, sched->current), fence);
    parts += begins_in_it;
    if (begins_in_it)
        faulted(sched, sched->current, parts > 1, fence);
    // From the last one on, since what goes again leaves the order.
    for (uint64_t at = sched->built_end; at-- > sched->built_first;) {
        uint64_t number = built_at(sched, at);
        if (ferry_vm_operation_at(sched, number)->first == number && has_part(sched, number, fence))
            faulted(sched, number, parts > 1, fence);
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

// What it reads may be somebody else's by the time that it goes again.
static bool takes_out(const struct ferry_vm_operation *operation)
{
    return !operation->nothing && ferry_vm_moves_content(&operation->argument) && operation->reads.segment != 0;
}

// Buffers hold thousands of operations, so what each of them is like is not looked up for every one that comes.
void ferry_vm_goes_in(struct ferry_vm_sched *sched, uint64_t number)
{
    const struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
    struct ferry_vm_paging_buffer *buffer = &sched->buffers[sched->buffer_index];
    if (operation->nothing || !ferry_vm_holds_something(sched))
        return;
    if (buffer->first_built == 0)
        buffer->first_built = number;
    buffer->several_devices |= ferry_vm_operation_at(sched, buffer->first_built)->device != operation->device;
    buffer->about_addresses |= ferry_vm_is_about_addresses(operation);
    buffer->takes_out |= takes_out(operation);
}

bool ferry_vm_is_a_strangers(const struct ferry_vm_sched *sched, uint64_t number)
{
    const struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
    const struct ferry_vm_paging_buffer *buffer = &sched->buffers[sched->buffer_index];
    if (!ferry_vm_holds_something(sched) || buffer->first_built == 0)
        return ferry_vm_is_about_addresses(operation) && takes_out(operation);
    return (buffer->takes_out || takes_out(operation)) &&
           (buffer->several_devices || buffer->about_addresses || ferry_vm_is_about_addresses(operation) ||
            ferry_vm_operation_at(sched, buffer->first_built)->device != operation->device);
}

// Another device's operation, or one about addresses, has a part in one of the submissions that the transfer is in.
static bool shares_with_a_stranger(const struct ferry_vm_sched *sched, const struct ferry_vm_operation *before)
{
    const struct ferry_vm_operation *first = ferry_vm_operation_at(sched, before->first);
    uint64_t begin = first->first_fence, end = ferry_vm_operation_at(sched, first->last)->fence;
    for (uint64_t at = sched->built_first; at < sched->built_end; at++) {
        const struct ferry_vm_operation *other = ferry_vm_operation_at(sched, built_at(sched, at));
        bool stranger = other->device != before->device || ferry_vm_is_about_addresses(other);
        if (!other->nothing && stranger && other->first_fence != 0 && other->first_fence <= end &&
            other->fence >= begin)
            return true;
    }
    return false;
}

bool ferry_vm_binds_to_a_stranger(const struct ferry_vm_sched *sched, uint64_t before, uint64_t number)
{
    const struct ferry_vm_operation *built = ferry_vm_operation_at(sched, before);
    const struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
    // What takes content back binds nobody, nor does what comes where content was taken back from.
    if (built->nothing || built->alone || built->given_up != 0 || built->first_fence == 0 ||
        built->argument.Operation == DXGK_OPERATION_DISCARD_CONTENT || operation->nothing ||
        operation->argument.Operation == DXGK_OPERATION_DISCARD_CONTENT || ferry_vm_is_about_addresses(operation))
        return false;
    return shares_with_a_stranger(sched, built);
}
