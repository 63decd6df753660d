// SPDX-License-Identifier: Apache-2.0
// How far the nodes are: what the miniport has, and what is over.
#include "vidmm/sched/sched.h"

void ferry_vm_drain(struct ferry_vm_sched *sched)
{
    while (sched->dpc_queued) {
        sched->dpc_queued = false;
        sched->core->miniport->DxgkDdiDpcRoutine(sched->core->adapter);
    }
}

unsigned ferry_vm_in_flight(const struct ferry_vm_sched *sched)
{
    unsigned count = 0;
    for (unsigned i = 0; i < sched->node_count; i++)
        count += sched->nodes[i].in_flight;
    return count;
}

bool ferry_vm_reached(const struct ferry_vm_sched *sched, unsigned node, uint64_t number)
{
    return node == sched->paging_node ? ferry_vm_operation_over(sched, number) : number <= sched->nodes[node].completed;
}
