// SPDX-License-Identifier: Apache-2.0
// Batches of operations on GPU virtual addresses: checked one by one beside the address space, then queued as a whole.
#include <stdlib.h>

#include "vidmm/api/call.h"
#include "vidmm/memory/addresses.h"
#include "vidmm/sched/awaited.h"

#define SPACE_BYTES (UINT64_C(1) << 48)

static bool is_a_place(uint64_t address, uint64_t bytes)
{
    return address % PAGE_SIZE == 0 && bytes % PAGE_SIZE == 0 && bytes != 0 && address < SPACE_BYTES &&
           bytes <= SPACE_BYTES - address;
}

static int add_map(struct ferry_vidmm *manager, const struct ferry_vm_device *device, struct ferry_vm_batch *batch,
                   const struct ferry_vidmm_update *operation, uint64_t *table_bytes)
{
    int result;
    uint64_t pages = (operation->repeat != 0 ? operation->repeat : operation->bytes) / PAGE_SIZE;
    uint64_t offset = operation->offset / PAGE_SIZE;
    if (operation->offset % PAGE_SIZE || operation->repeat % PAGE_SIZE || operation->repeat > operation->bytes)
        return FERRY_ERROR_ARGUMENT;
    if (operation->read_only && !manager->core.read_only_pages)
        return FERRY_ERROR_UNSUPPORTED;
    struct ferry_vm_allocation *allocation =
        ferry_vm_allocation_find(&manager->memory, device, operation->allocation, &result);
    if (!allocation)
        return result;
    result = allocation->lost ? FERRY_ERROR_DEVICE_LOST : ferry_vm_virtual_may_map(allocation);
    if (result != FERRY_OK)
        return result;
    if (offset > allocation->use.pages || pages > allocation->use.pages - offset)
        return FERRY_ERROR_RANGE;
    const struct ferry_vm_part part = {.first = operation->address / PAGE_SIZE,
                                       .pages = operation->bytes / PAGE_SIZE,
                                       .owner = allocation,
                                       .offset = offset,
                                       .read_only = operation->read_only};
    return ferry_vm_batch_map(batch, &part, operation->repeat / PAGE_SIZE, table_bytes);
}

static int add_copy(struct ferry_vm_batch *batch, const struct ferry_vidmm_update *operation)
{
    if (!is_a_place(operation->source, operation->bytes))
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_batch_copy(batch, operation->address / PAGE_SIZE, operation->bytes / PAGE_SIZE,
                                     operation->source / PAGE_SIZE);
    // A second mapping, of what may have several instances by now.
    for (size_t i = 0; result == FERRY_OK && i < batch->copied.count; i++)
        if (batch->copied.parts[i].owner)
            result = ferry_vm_virtual_may_map(batch->copied.parts[i].owner);
    return result;
}

static int add(struct ferry_vidmm *manager, const struct ferry_vm_device *device, struct ferry_vm_batch *batch,
               const struct ferry_vidmm_update *operation, uint64_t *table_bytes)
{
    if (!is_a_place(operation->address, operation->bytes))
        return FERRY_ERROR_ARGUMENT;
    switch (operation->kind) {
    case FERRY_VIDMM_MAP: return add_map(manager, device, batch, operation, table_bytes);
    case FERRY_VIDMM_UNMAP:
        return ferry_vm_batch_unmap(batch, operation->address / PAGE_SIZE, operation->bytes / PAGE_SIZE);
    case FERRY_VIDMM_COPY: return add_copy(batch, operation);
    default: return FERRY_ERROR_ARGUMENT;
    }
}

// Everything that can fail comes before the first change. Without a context no jobs stand behind it.
static int carry_out(struct ferry_vidmm *manager, struct ferry_vm_context *context, struct ferry_vm_update *update)
{
    size_t most = ferry_vm_virtual_update_told(update), count;
    uint64_t *told = malloc(most * sizeof(*told));
    int result = told ? FERRY_OK : FERRY_ERROR_NO_HOST_MEMORY;
    if (result == FERRY_OK && context)
        result = ferry_vm_awaited_reserve(&manager->sched, &context->behind, most);
    if (result == FERRY_OK)
        result = ferry_vm_awaited_reserve(&manager->sched, &update->space->taken, update->batch.old_count);
    if (result == FERRY_OK)
        result = ferry_vm_reserve(&manager->sched, ferry_vm_virtual_update_most(update));
    if (result == FERRY_OK) {
        count = ferry_vm_virtual_update(&manager->memory, update, told);
        if (context)
            ferry_vm_behind_update(context, told, count);
    }
    free(told);
    return result;
}

static_assert(FERRY_VM_BATCH_NODES == FERRY_VM_MAX_NODES, "nodes that a batch knows");

// What another queue's update maps alike is there for this one when that one's job is over: nothing is queued that jobs
// behind this update could wait for. Without a context no queue is this one.
static bool is_so_later(const struct ferry_vidmm *manager, const struct ferry_vm_context *context,
                        const struct ferry_vm_batch *batch, unsigned *node, uint64_t *number)
{
    for (unsigned i = 0; i < FERRY_VM_BATCH_NODES; i++) {
        if ((context && i == context->node) || ferry_vm_reached(&manager->sched, i, batch->behind[i]))
            continue;
        *node = i;
        *number = batch->behind[i];
        return true;
    }
    return false;
}

// Some of what it unmaps is unmapped already, but perhaps behind a job that runs yet. Which addresses those are is not
// kept.
static bool goes_later(const struct ferry_vidmm *manager, const struct ferry_vm_update *update)
{
    return update->batch.unmaps_again && ferry_vm_awaited_left(&manager->sched, &update->space->taken) > 0;
}

int ferry_vm_map_over(struct ferry_vidmm *manager, struct ferry_vm_allocation *allocation,
                      const struct ferry_vm_view *view, uint64_t *table_bytes, unsigned *node, uint64_t *number)
{
    struct ferry_vm_update update = {.space = allocation->subject.device->process->space, .alone = true};
    const struct ferry_vm_part part = {.first = view->where.base,
                                       .pages = view->pages,
                                       .owner = allocation,
                                       .offset = view->offset,
                                       .read_only = view->read_only};
    int result = ferry_vm_virtual_may_map_view(allocation, view);
    if (result != FERRY_OK)
        return result;
    ferry_vm_batch_begin(&update.batch, &update.space->addresses);
    result = ferry_vm_batch_map_over(&update.batch, &part, table_bytes);
    if (result == FERRY_OK)
        result = ferry_vm_batch_prepare(&update.batch, table_bytes);
    if (result == FERRY_OK && is_so_later(manager, NULL, &update.batch, node, number))
        result = FERRY_PENDING;
    if (result == FERRY_OK && update.batch.list.count > 0)
        result = carry_out(manager, NULL, &update);
    ferry_vm_batch_end(&update.batch);
    return result;
}

// What an update of a context stands behind: its newest job, that one of another context, or none.
struct behind {
    enum { OWN_JOBS, THAT_JOB, NO_JOB } what;
    D3DKMT_HANDLE other;
    uint64_t job;
};

static int stand_behind(struct ferry_vidmm *manager, const struct ferry_vm_context *context,
                        const struct behind *behind, struct ferry_vm_update *update)
{
    update->after_node = context->node;
    update->after = behind->what == NO_JOB ? 0 : context->last_fence;
    if (behind->what != THAT_JOB)
        return FERRY_OK;
    const struct ferry_vm_context *other =
        ferry_vm_handle_find(&manager->core.handles, FERRY_VM_CONTEXT, behind->other);
    if (!other)
        return FERRY_ERROR_HANDLE;
    if (other->device->process != context->device->process)
        return FERRY_ERROR_FOREIGN;
    update->after_node = other->node;
    update->after = behind->job;
    return ferry_vm_job_is_of(other, behind->job) ? FERRY_OK : FERRY_ERROR_ARGUMENT;
}

// FERRY_PENDING: not before that job of that node is over, and nothing has changed.
static int update_addresses(struct ferry_vidmm *manager, struct ferry_vm_context *context,
                            const struct ferry_vidmm_update *operations, uint32_t count, const struct behind *behind,
                            struct ferry_vidmm_updated *out, unsigned *node, uint64_t *number)
{
    const struct ferry_vm_device *device = context->device;
    const bool at_once = behind->what == NO_JOB;
    struct ferry_vm_update update = {.space = device->process->space};
    if (device->state != D3DKMT_DEVICEEXECUTION_ACTIVE)
        return FERRY_ERROR_DEVICE_LOST;
    if (!update.space)
        return FERRY_ERROR_UNSUPPORTED;
    int result = stand_behind(manager, context, behind, &update);
    if (result != FERRY_OK)
        return result;
    ferry_vm_batch_begin(&update.batch, &update.space->addresses);
    for (uint32_t i = 0; i < count && result == FERRY_OK; i++) {
        out->failed = i;
        result = add(manager, device, &update.batch, &operations[i], &out->table_bytes);
    }
    if (result == FERRY_OK) {
        out->failed = count;
        result = ferry_vm_batch_prepare(&update.batch, &out->table_bytes);
    }
    // At once it is to be so for jobs of all queues, and not only for those behind the job.
    bool later = result == FERRY_OK && goes_later(manager, &update);
    if (result == FERRY_OK &&
        (is_so_later(manager, at_once ? NULL : context, &update.batch, node, number) || (later && at_once)))
        result = FERRY_PENDING;
    if (result == FERRY_OK && (later || update.batch.list.count > 0))
        result = carry_out(manager, context, &update);
    ferry_vm_batch_end(&update.batch);
    return result;
}

static int update(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, const struct ferry_vidmm_update *operations,
                  uint32_t count, const struct behind *behind, struct ferry_vidmm_updated *out)
{
    if (!manager || (count > 0 && !operations) || !out)
        return FERRY_ERROR_ARGUMENT;
    struct ferry_vm_patience patience = {0};
    int result = ferry_vm_enter(manager);
    for (bool again = result == FERRY_OK; again; again = result == FERRY_PENDING) {
        *out = (struct ferry_vidmm_updated){.failed = count};
        struct ferry_vm_context *context = ferry_vm_handle_find(&manager->core.handles, FERRY_VM_CONTEXT, handle);
        if (!context) {
            result = FERRY_ERROR_HANDLE;
            break;
        }
        unsigned node = manager->sched.paging_node;
        uint64_t number = ferry_vm_updates_full(&manager->sched, context);
        result = number == 0 ? update_addresses(manager, context, operations, count, behind, out, &node, &number)
                             : FERRY_PENDING;
        if (result == FERRY_PENDING && behind->what == NO_JOB)
            result = FERRY_ERROR_BUSY;
        else if (result == FERRY_PENDING && (result = ferry_vm_block(manager, node, number, &patience)) == FERRY_OK)
            result = FERRY_PENDING;
    }
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_update_virtual(struct ferry_vidmm *manager, D3DKMT_HANDLE context,
                               const struct ferry_vidmm_update *operations, uint32_t count,
                               struct ferry_vidmm_updated *out)
{
    return update(manager, context, operations, count, &(struct behind){.what = OWN_JOBS}, out);
}

int ferry_vidmm_update_virtual_at_once(struct ferry_vidmm *manager, D3DKMT_HANDLE context,
                                       const struct ferry_vidmm_update *operations, uint32_t count,
                                       struct ferry_vidmm_updated *out)
{
    return update(manager, context, operations, count, &(struct behind){.what = NO_JOB}, out);
}

int ferry_vidmm_update_virtual_behind(struct ferry_vidmm *manager, D3DKMT_HANDLE context, D3DKMT_HANDLE other,
                                      uint64_t job, const struct ferry_vidmm_update *operations, uint32_t count,
                                      struct ferry_vidmm_updated *out)
{
    return update(manager, context, operations, count, &(struct behind){THAT_JOB, other, job}, out);
}
