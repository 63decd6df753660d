// SPDX-License-Identifier: Apache-2.0
// An operation that is built step by step, each a call of BuildPagingBuffer of its own. They follow each other in one
// buffer as far as it goes. The next buffer has to wait then: if the one before it faults, its steps would meet
// addresses that lead somewhere else.
#include "vidmm/sched/paging.h"

bool ferry_vm_paging_idle(const struct ferry_vm_sched *sched)
{
    return sched->nodes[sched->paging_node].retired == ferry_vm_next_fence(sched);
}

void ferry_vm_steps_forget(struct ferry_vm_steps *steps)
{
    steps->inside = false;
    steps->phase = 0;
    steps->done = steps->at = steps->chunk = steps->written = 0;
    steps->chunks = steps->updates = steps->flushes = 0;
}

static enum ferry_vm_next_step next_step(struct ferry_vm_sched *sched, struct ferry_vm_operation *operation)
{
    struct ferry_vm_operation *step = &sched->step;
    *step = (struct ferry_vm_operation){
        .step_of = operation, .allocation = operation->allocation, .first = operation->first, .last = operation->last};
    enum ferry_vm_next_step next = sched->next_step(sched->next_step_context, operation, step);
    step->argument.hSystemContext = sched->system_context;
    operation->steps.inside = next == FERRY_VM_STEP;
    return next;
}

enum ferry_vm_built ferry_vm_build_steps(struct ferry_vm_sched *sched, struct ferry_vm_operation *operation)
{
    enum ferry_vm_built outcome = FERRY_VM_BUILT;
    // Another one may have been built since its first step was made.
    if (!operation->begun)
        ferry_vm_steps_forget(&operation->steps);
    while (outcome == FERRY_VM_BUILT) {
        enum ferry_vm_next_step next = operation->steps.inside ? FERRY_VM_STEP : next_step(sched, operation);
        if (next == FERRY_VM_NO_STEP)
            return FERRY_VM_BUILT;
        operation->idle_at = ferry_vm_next_fence(sched);
        if (next == FERRY_VM_STEP_LATER)
            return FERRY_VM_PARKED;
        operation->idle_at = 0;
        sched->step.step_of = operation; // records move when the line grows
        outcome = ferry_vm_build_pass(sched, &sched->step, false);
        if (outcome == FERRY_VM_BUILT)
            operation->steps.inside = false;
    }
    return outcome;
}
