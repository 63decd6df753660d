// SPDX-License-Identifier: Apache-2.0
// Updates of addresses among the jobs of a context: they wait for the jobs before them, and the next job waits for
// them. It alone does: a node's line keeps its order, so whatever comes behind that job comes behind them.
#include "vidmm/sched/awaited.h"

void ferry_vm_behind_update(struct ferry_vm_context *context, const uint64_t *operations, size_t count)
{
    uint64_t newest = 0;
    for (size_t i = 0; i < count; i++) {
        ferry_vm_awaited_add(&context->behind, operations[i]);
        newest = operations[i] > newest ? operations[i] : newest;
    }
    context->updates[context->update_count++ % FERRY_VM_UPDATES] = newest;
}

uint64_t ferry_vm_updates_full(const struct ferry_vm_sched *sched, const struct ferry_vm_context *context)
{
    uint64_t oldest = context->updates[context->update_count % FERRY_VM_UPDATES];
    return ferry_vm_operation_over(sched, oldest) ? 0 : oldest;
}
