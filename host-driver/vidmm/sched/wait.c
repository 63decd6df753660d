// SPDX-License-Identifier: Apache-2.0
// Waiting, in bounded turns: whoever waits from outside lets go of the manager between two of them.
#include "vidmm/sched/paging.h"

// The node whose buffer has been with the device for longest; false when none is.
static bool oldest_in_flight(const struct ferry_vm_sched *sched, unsigned *node)
{
    uint64_t oldest = UINT64_MAX;
    for (unsigned i = 0; i < sched->node_count; i++) {
        const struct ferry_vm_node *candidate = &sched->nodes[i];
        if (i != sched->paging_node && candidate->in_flight > 0 && candidate->first->order < oldest) {
            oldest = candidate->first->order;
            *node = i;
        }
    }
    for (unsigned i = 0; i < sched->buffer_count; i++) {
        const struct ferry_vm_paging_buffer *buffer = &sched->buffers[i];
        if (buffer->fence > sched->nodes[sched->paging_node].retired && buffer->order < oldest) {
            oldest = buffer->order;
            *node = sched->paging_node;
        }
    }
    return oldest != UINT64_MAX;
}

// Jobs of several nodes are with the device, or paging stands still beside a job. Of one node jobs run one behind the
// other, so there the oldest is it.
static bool anybodys(const struct ferry_vm_sched *sched, unsigned stuck)
{
    unsigned nodes = stuck == sched->paging_node;
    for (unsigned i = 0; i < sched->node_count; i++)
        nodes += i != sched->paging_node && sched->nodes[i].in_flight > 0;
    return nodes > 1;
}

int ferry_vm_turn(struct ferry_vm_sched *sched, unsigned node, uint64_t number, struct ferry_vm_patience *patience)
{
    ferry_vm_pump(sched);
    if (!ferry_vm_reached(sched, node, number) && node == sched->paging_node && ferry_vm_flush(sched))
        ferry_vm_pump(sched);
    if (sched->core->critical.code != FERRY_CRITICAL_NONE)
        return FERRY_ERROR_CRITICAL;
    if (ferry_vm_reached(sched, node, number))
        return FERRY_OK;
    uint64_t submissions = sched->order, ended = sched->progress;
    int result = ferry_vm_run(sched);
    if (result != FERRY_OK && result != FERRY_ERROR_TIMEOUT)
        return result;
    if (ferry_vm_reached(sched, node, number))
        return FERRY_OK;
    if (result == FERRY_OK || sched->order != submissions || sched->progress != ended)
        return FERRY_PENDING;
    unsigned stuck = sched->paging_node;
    if (!oldest_in_flight(sched, &stuck))
        // Nothing runs and the head of the line is answered BUSY: the miniport waits for something of its own, so the
        // device gets time; busy_limit ends it.
        return sched->parked ? FERRY_PENDING : FERRY_ERROR_TIMEOUT;
    if (patience->was_reset && sched->progress == patience->seen)
        return FERRY_ERROR_TIMEOUT;
    unsigned in_flight = ferry_vm_in_flight(sched);
    bool suspected = anybodys(sched, stuck), users = suspected || stuck != sched->paging_node;
    enum ferry_vm_blame whom = suspected ? FERRY_VM_NOBODY : FERRY_VM_OLDEST;
    result = ferry_vm_reset_node(sched, stuck, &whom);
    patience->was_reset = true;
    patience->seen = sched->progress;
    // What the device has given back runs by itself now, or as the first, so the next hang says more than this one.
    sched->progress += users && whom == FERRY_VM_NOBODY && ferry_vm_in_flight(sched) < in_flight;
    ferry_vm_pump(sched);
    return result == FERRY_OK ? FERRY_PENDING : result;
}

int ferry_vm_wait(struct ferry_vm_sched *sched, unsigned node, uint64_t number)
{
    struct ferry_vm_patience patience = {0};
    int result;
    do
        result = ferry_vm_turn(sched, node, number, &patience);
    while (result == FERRY_PENDING);
    return result;
}

bool ferry_vm_subject_pending(const struct ferry_vm_sched *sched, const uint64_t last_fence[FERRY_VM_MAX_NODES],
                              bool paging, unsigned *node)
{
    for (unsigned i = 0; i < sched->node_count; i++) {
        if ((i != sched->paging_node || paging) && !ferry_vm_reached(sched, i, last_fence[i])) {
            *node = i;
            return true;
        }
    }
    return false;
}

int ferry_vm_wait_allocation(struct ferry_vm_sched *sched, const struct ferry_vm_subject *subject, bool paging)
{
    unsigned node;
    int result = sched->core->critical.code != FERRY_CRITICAL_NONE ? FERRY_ERROR_CRITICAL : FERRY_OK;
    while (result == FERRY_OK && ferry_vm_subject_pending(sched, subject->last_fence, paging, &node))
        result = ferry_vm_wait(sched, node, subject->last_fence[node]);
    return result;
}

bool ferry_vm_busy(const struct ferry_vm_sched *sched, const struct ferry_vm_subject *subject)
{
    unsigned node;
    return ferry_vm_subject_pending(sched, subject->last_fence, false, &node);
}
