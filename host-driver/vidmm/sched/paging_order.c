// SPDX-License-Identifier: Apache-2.0
// In which order paging operations may be built. Two of them keep their order when they are about the same allocation,
// or when one writes what the other reads or writes. Everything else may be exchanged: so what has to wait for a job
// keeps nobody waiting who has nothing to do with it.
#include "vidmm/sched/paging.h"

static bool meet(const struct ferry_vm_span *a, const struct ferry_vm_span *b)
{
    return a->segment != 0 && a->segment == b->segment && a->first < b->end && b->first < a->end;
}

// What is about addresses has a space for its subject, and keeps its order with what is about the same ones, and with
// what was queued for the same allocation: a job waits for the newest of these alone. But what an update has among the
// jobs of its queue keeps nobody who is not in that queue: only what stands behind the same job.
static bool same_subject(const struct ferry_vm_operation *before, const struct ferry_vm_operation *behind)
{
    if (!before->subject || before->subject != behind->subject)
        return false;
    if (before->allocation == behind->allocation && before->instance == behind->instance &&
        before->late == behind->late)
        return true;
    return before->end_address != 0 && behind->end_address != 0 && before->first_address < behind->end_address &&
           behind->first_address < before->end_address;
}

bool ferry_vm_in_order(const struct ferry_vm_operation *before, const struct ferry_vm_operation *behind)
{
    return same_subject(before, behind) || meet(&before->writes, &behind->reads) ||
           meet(&before->writes, &behind->writes) || meet(&before->reads, &behind->writes);
}

bool ferry_vm_repeatable(const struct ferry_vm_operation *operation)
{
    if (operation->nothing)
        return false;
    if (ferry_vm_is_about_addresses(operation))
        return true;
    switch (operation->argument.Operation) {
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
    case DXGK_OPERATION_UNMAP_APERTURE_SEGMENT:
    case DXGK_OPERATION_READ_PHYSICAL:
    case DXGK_OPERATION_WRITE_PHYSICAL: return true;
    case DXGK_OPERATION_NOTIFY_ALLOC: return operation->argument.NotifyAllocation.Flags.IoMmuUnmap;
    default: return false;
    }
}

static bool jobs_over(const struct ferry_vm_sched *sched, const struct ferry_vm_operation *operation)
{
    for (unsigned i = 0; i < sched->node_count; i++)
        if (!ferry_vm_reached(sched, i, operation->after[i]))
            return false;
    return true;
}

bool ferry_vm_takes_away(const struct ferry_vm_operation *operation)
{
    const DXGK_PTE *entry = &operation->entry;
    bool leads = entry->Valid && (operation->argument.UpdatePageTable.PageTableLevel == 0 || entry->LargePage);
    return ferry_vm_is_about_addresses(operation) &&
           (operation->takes_away || !(operation->argument.Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE && leads));
}

// The buffer is executed again from its start when it is aborted half-way, and with it every transfer that ends in it,
// wherever that began.
static bool reads_again(struct ferry_vm_sched *sched, uint64_t other, uint64_t number)
{
    (void)number;
    const struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, other);
    uint64_t last = ferry_vm_operation_at(sched, operation->first)->last;
    const struct ferry_vm_operation *end = ferry_vm_operation_at(sched, last);
    bool out = end->state != FERRY_VM_WAITING && end->fence <= sched->nodes[sched->paging_node].submitted;
    return !out && !ferry_vm_takes_away(operation);
}

bool ferry_vm_spoils_a_source(struct ferry_vm_sched *sched, uint64_t number)
{
    return ferry_vm_holds_something(sched) && ferry_vm_index_find_source(sched, number, reads_again) != 0;
}

// Always false: all of them are to be seen.
static bool see(struct ferry_vm_sched *sched, uint64_t number, uint64_t behind)
{
    struct ferry_vm_operation *operation = ferry_vm_operation_at(sched, number);
    if (number <= behind && operation->state == FERRY_VM_WAITING && operation->seen_in != sched->look) {
        operation->seen_in = sched->look;
        sched->seen[sched->seen_count++] = number;
    }
    return false;
}

bool ferry_vm_behind_a_job(struct ferry_vm_sched *sched, uint64_t number)
{
    if (ferry_vm_operation_over(sched, number))
        return false;
    // As it would be found if everything were built that has nothing to wait for: those that it stays behind, and those
    // that these do, each once.
    sched->look++;
    sched->seen_count = 0;
    see(sched, number, number);
    while (sched->seen_count > 0) {
        uint64_t next = sched->seen[--sched->seen_count];
        if (!jobs_over(sched, ferry_vm_operation_at(sched, next)))
            return true;
        ferry_vm_index_find(sched, next, false, see);
    }
    return false;
}
