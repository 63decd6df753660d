// SPDX-License-Identifier: Apache-2.0
// Updates of addresses among the jobs of a context: they wait for the jobs before them, and the next job waits for
// them. It alone does: a node's line keeps its order, so whatever comes behind that job comes behind them.
#include <stdlib.h>

#include "vidmm/sched/sched.h"

int ferry_vm_behind_reserve(const struct ferry_vm_sched *sched, struct ferry_vm_context *context, size_t more)
{
    size_t kept = 0;
    for (size_t i = 0; i < context->behind_count; i++)
        if (!ferry_vm_operation_over(sched, context->behind[i]))
            context->behind[kept++] = context->behind[i];
    context->behind_count = kept;
    if (kept + more <= context->behind_capacity)
        return FERRY_OK;
    size_t capacity = 2 * (kept + more);
    uint64_t *behind = realloc(context->behind, capacity * sizeof(*behind));
    if (!behind)
        return FERRY_ERROR_NO_HOST_MEMORY;
    context->behind = behind;
    context->behind_capacity = capacity;
    return FERRY_OK;
}

void ferry_vm_behind_update(struct ferry_vm_context *context, const uint64_t *operations, size_t count)
{
    uint64_t newest = 0;
    for (size_t i = 0; i < count; i++) {
        context->behind[context->behind_count++] = operations[i];
        newest = operations[i] > newest ? operations[i] : newest;
    }
    context->updates[context->update_count++ % FERRY_VM_UPDATES] = newest;
}

uint64_t ferry_vm_updates_full(const struct ferry_vm_sched *sched, const struct ferry_vm_context *context)
{
    uint64_t oldest = context->updates[context->update_count % FERRY_VM_UPDATES];
    return ferry_vm_operation_over(sched, oldest) ? 0 : oldest;
}

void ferry_vm_behind_take(const struct ferry_vm_sched *sched, struct ferry_vm_job *job)
{
    const struct ferry_vm_context *context = job->context;
    for (size_t i = 0; i < context->behind_count; i++)
        if (!ferry_vm_operation_over(sched, context->behind[i]))
            job->after[job->after_count++] = context->behind[i];
}

void ferry_vm_behind_taken(struct ferry_vm_context *context)
{
    context->behind_count = 0;
}
