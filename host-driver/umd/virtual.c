// SPDX-License-Identifier: Apache-2.0
// GPU virtual addresses of a device's program.
#include <stdlib.h>

#include "ferry_contract.h"
#include "umd/call.h"

static struct ferry_vidmm_virtual wanted_of(const struct ferry_va *range)
{
    return (struct ferry_vidmm_virtual){.size = sizeof(struct ferry_vidmm_virtual),
                                        .address = range->address,
                                        .least = range->least,
                                        .most = range->most,
                                        .bytes = range->bytes,
                                        .replace = range->replace,
                                        .reservation = (enum ferry_vidmm_reservation)range->reservation};
}

int ferry_va_reserve(struct ferry_device *handle, struct ferry_va *range)
{
    struct umd_call call;

    if (!range || range->size != sizeof *range)
        return FERRY_ERROR_ARGUMENT;
    const struct umd_device *device = umd_enter(&call, UMD_DEVICE, handle, "reserve addresses");
    if (!device)
        return umd_not_entered();
    struct ferry_vidmm_virtual wanted = wanted_of(range);
    int error = ferry_vidmm_reserve_virtual(call.adapter->vidmm, device->vidmm, &wanted);
    range->table_bytes = wanted.table_bytes;
    if (error == FERRY_OK)
        range->address = wanted.address;
    return umd_leave(&call, error);
}

int ferry_va_protect(struct ferry_device *handle, struct ferry_va *range)
{
    struct umd_call call;

    if (!range || range->size != sizeof *range)
        return FERRY_ERROR_ARGUMENT;
    const struct umd_device *device = umd_enter(&call, UMD_DEVICE, handle, "protect addresses");
    if (!device)
        return umd_not_entered();
    struct ferry_vidmm_virtual wanted = wanted_of(range);
    int error = ferry_vidmm_protect_virtual(call.adapter->vidmm, device->vidmm, &wanted);
    range->table_bytes = wanted.table_bytes;
    return umd_leave(&call, error);
}

int ferry_va_map(struct ferry_device *handle, struct ferry_allocation *allocation_handle, uint64_t offset,
                 bool read_only, struct ferry_va *range)
{
    struct umd_call call;

    if (!range || range->size != sizeof *range)
        return FERRY_ERROR_ARGUMENT;
    const struct umd_device *device = umd_enter(&call, UMD_DEVICE, handle, "map addresses");
    if (!device)
        return umd_not_entered();
    const struct umd_allocation *allocation = umd_object(call.adapter, UMD_ALLOCATION, allocation_handle);
    if (!allocation)
        return umd_leave(&call, umd_handle_error(UMD_ALLOCATION, allocation_handle));
    struct ferry_vidmm_virtual wanted = wanted_of(range);
    D3DKMT_HANDLE mapped = allocation->vidmm, owner = device->vidmm;
    if (wanted.replace)
        umd_park(&call);
    int error = ferry_vidmm_map_virtual(call.adapter->vidmm, owner, mapped, offset, read_only, &wanted);
    if (wanted.replace)
        umd_return(&call);
    range->table_bytes = wanted.table_bytes;
    if (error == FERRY_OK)
        range->address = wanted.address;
    return umd_leave(&call, error);
}

int ferry_va_free(struct ferry_device *handle, uint64_t address, uint64_t bytes)
{
    struct umd_call call;
    const struct umd_device *device = umd_enter(&call, UMD_DEVICE, handle, "free addresses");

    if (!device)
        return umd_not_entered();
    return umd_leave(&call, ferry_vidmm_free_virtual(call.adapter->vidmm, device->vidmm, address, bytes));
}

// As the manager takes it; the error of a handle that is none.
static int operation_of(const struct umd_adapter *adapter, const struct ferry_va_operation *operation,
                        struct ferry_vidmm_update *converted)
{
    static const enum ferry_vidmm_update_kind kinds[] = {[FERRY_VA_MAP] = FERRY_VIDMM_MAP,
                                                         [FERRY_VA_UNMAP] = FERRY_VIDMM_UNMAP,
                                                         [FERRY_VA_COPY] = FERRY_VIDMM_COPY,
                                                         [FERRY_VA_MAP_PROTECT] = FERRY_VIDMM_MAP};

    if ((unsigned)operation->kind >= sizeof kinds / sizeof kinds[0])
        return FERRY_ERROR_ARGUMENT;
    *converted = (struct ferry_vidmm_update){
        .kind = kinds[operation->kind],
        .address = operation->address,
        .bytes = operation->bytes,
        .offset = operation->offset,
        .repeat = operation->repeat_bytes,
        .read_only = operation->kind == FERRY_VA_MAP_PROTECT && operation->read_only,
        .source = operation->source,
    };
    if (converted->kind != FERRY_VIDMM_MAP)
        return FERRY_OK;
    const struct umd_allocation *allocation = umd_object(adapter, UMD_ALLOCATION, operation->allocation);
    if (!allocation)
        return umd_handle_error(UMD_ALLOCATION, operation->allocation);
    converted->allocation = allocation->vidmm;
    return FERRY_OK;
}

static int context_of(const struct umd_adapter *adapter, const struct ferry_queue *handle, D3DKMT_HANDLE *context)
{
    const struct umd_queue *queue = umd_object(adapter, UMD_QUEUE, handle);

    if (!queue)
        return umd_handle_error(UMD_QUEUE, handle);
    *context = queue->context;
    return FERRY_OK;
}

int ferry_va_update(struct ferry_queue *handle, struct ferry_va_batch *batch)
{
    struct umd_call call;

    if (!batch || batch->size != sizeof *batch)
        return FERRY_ERROR_ARGUMENT;
    batch->failed = batch->count;
    batch->table_bytes = 0;
    if (batch->operation_size != sizeof *batch->operations || (batch->count > 0 && !batch->operations) ||
        (batch->behind_queue && batch->do_not_wait))
        return FERRY_ERROR_ARGUMENT;
    const struct umd_queue *queue = umd_enter(&call, UMD_QUEUE, handle, "update addresses");
    if (!queue)
        return umd_not_entered();
    struct ferry_vidmm_update *operations = calloc((size_t)batch->count + 1, sizeof *operations);
    struct ferry_vidmm_updated updated = {.failed = batch->count};
    int error = operations ? FERRY_OK : FERRY_ERROR_NO_HOST_MEMORY;
    for (uint32_t i = 0; i < batch->count && error == FERRY_OK; i++) {
        updated.failed = i;
        error = operation_of(call.adapter, &batch->operations[i], &operations[i]);
    }
    D3DKMT_HANDLE other = 0;
    if (error == FERRY_OK && batch->behind_queue) {
        updated.failed = batch->count;
        error = context_of(call.adapter, batch->behind_queue, &other);
    }
    if (error == FERRY_OK) {
        D3DKMT_HANDLE context = queue->context;

        umd_park(&call);
        if (batch->behind_queue)
            error = ferry_vidmm_update_virtual_behind(call.adapter->vidmm, context, other, batch->behind_job,
                                                      operations, batch->count, &updated);
        else
            error = (batch->do_not_wait ? ferry_vidmm_update_virtual_at_once : ferry_vidmm_update_virtual)(
                call.adapter->vidmm, context, operations, batch->count, &updated);
        umd_return(&call);
    }
    free(operations);
    batch->failed = updated.failed;
    batch->table_bytes = updated.table_bytes;
    return umd_leave(&call, error);
}

int ferry_va_find(struct ferry_device *handle, uint64_t address, struct ferry_va_mapping *mapping)
{
    struct umd_call call;
    struct ferry_vidmm_mapping found;

    if (!mapping || mapping->size != sizeof *mapping)
        return FERRY_ERROR_ARGUMENT;
    const struct umd_device *device = umd_enter(&call, UMD_DEVICE, handle, NULL);
    if (!device)
        return umd_not_entered();
    int error = ferry_vidmm_find_virtual(call.adapter->vidmm, device->vidmm, address, &found);
    if (error == FERRY_OK)
        *mapping = (struct ferry_va_mapping){.size = sizeof *mapping,
                                             .address = found.address,
                                             .bytes = found.bytes,
                                             .mapped = found.allocation != 0,
                                             .read_only = found.read_only,
                                             .allocation = found.allocation,
                                             .offset = found.offset,
                                             .zeros = found.zeros};
    return umd_leave(&call, error);
}

#define LEVELS       4u
#define PAGE_BYTES   UINT64_C(4096)
#define ENTRY(FIELD) FERRY_TABLE_ENTRY_ENTRY_##FIELD##_MASK

// What is under one entry of that level is so many bytes.
static uint64_t bytes_under(uint32_t level)
{
    return PAGE_BYTES << (9 * level);
}

static struct ferry_va_step step_of(bool table_in_host, uint64_t table, uint32_t level, uint32_t index, uint64_t entry,
                                    uint64_t address)
{
    struct ferry_va_step step = {.level = level,
                                 .index = index,
                                 .table = table,
                                 .table_in_host = table_in_host,
                                 .entry = entry,
                                 .valid = (entry & ENTRY(VALID)) != 0,
                                 .is_page = (entry & ENTRY(VALID)) != 0 && (entry & ENTRY(LEAF)) != 0};

    step.host = step.valid && (entry & ENTRY(HOST)) != 0;
    step.read_only = step.is_page && (entry & ENTRY(READ_ONLY)) != 0;
    step.group = step.is_page && (entry & ENTRY(GROUP)) != 0;
    if (step.valid)
        step.leads_to = (entry & ENTRY(PAGE)) + (step.is_page ? address % bytes_under(level) : 0);
    return step;
}

// The CPU sees video memory from 0 on, as the device does; what is in host memory only the manager's tables can be.
static int read_entry(struct umd_adapter *adapter, bool in_host, uint64_t at, uint64_t *entry)
{
    uint8_t bytes[8] = {0};
    int error = in_host ? ferry_vidmm_read_table(adapter->vidmm, at, bytes)
                        : ferry_gpu_window_read(adapter->gpu, at, bytes, sizeof bytes);

    for (unsigned i = 0; i < sizeof bytes; i++)
        *entry |= (uint64_t)bytes[i] << (8 * i);
    return error;
}

static int walk_down(struct umd_adapter *adapter, DXGK_SEGMENTOFFSET root, uint64_t address,
                     struct ferry_va_steps *walk)
{
    bool further = root.SegmentId != 0 || root.SegmentOffset != 0, in_host = root.SegmentId == 0;
    uint64_t table = root.SegmentOffset;
    int error = FERRY_OK;

    *walk = (struct ferry_va_steps){.size = sizeof *walk};
    for (uint32_t level = LEVELS; error == FERRY_OK && further && level-- > 0;) {
        uint32_t index = (uint32_t)(address / bytes_under(level) % 512);
        uint64_t entry = 0;

        error = read_entry(adapter, in_host, table + 8 * index, &entry);
        struct ferry_va_step *step = &walk->steps[walk->count];
        *step = step_of(in_host, table, level, index, entry, address);
        walk->count += error == FERRY_OK;
        further = step->valid && !step->is_page;
        table = step->leads_to;
        in_host = step->host;
    }
    return error;
}

// Calls that wait let others in, and the device runs on: a table that is freed may be another program's by the time
// that it is read. It was this one's if all that led to it leads there still.
static int look_again(struct umd_adapter *adapter, const struct ferry_va_steps *walk, bool *same)
{
    int error = FERRY_OK;

    *same = true;
    for (uint32_t i = 0; i + 1 < walk->count && error == FERRY_OK && *same; i++) {
        const struct ferry_va_step *step = &walk->steps[i];
        uint64_t entry = 0;

        error = read_entry(adapter, step->table_in_host, step->table + 8 * step->index, &entry);
        *same = entry == step->entry;
    }
    return error;
}

#define MOST_WALKS 64

int ferry_va_walk(struct ferry_device *handle, uint64_t address, struct ferry_va_steps *walk)
{
    struct umd_call call;
    DXGK_SEGMENTOFFSET root;
    bool same = false;

    if (!walk || walk->size != sizeof *walk)
        return FERRY_ERROR_ARGUMENT;
    *walk = (struct ferry_va_steps){.size = sizeof *walk};
    if (address >= bytes_under(LEVELS))
        return FERRY_ERROR_ARGUMENT;
    const struct umd_device *device = umd_enter(&call, UMD_DEVICE, handle, NULL);
    if (!device)
        return umd_not_entered();
    int error = FERRY_OK;
    for (unsigned i = 0; i < MOST_WALKS && error == FERRY_OK && !same; i++) {
        error = ferry_vidmm_root_virtual(call.adapter->vidmm, device->vidmm, &root);
        if (error == FERRY_OK)
            error = walk_down(call.adapter, root, address, walk);
        if (error == FERRY_OK)
            error = look_again(call.adapter, walk, &same);
    }
    if (error == FERRY_OK && !same)
        error = FERRY_ERROR_BUSY;
    // Half a walk says of an address what is not so.
    if (error != FERRY_OK)
        *walk = (struct ferry_va_steps){.size = sizeof *walk};
    return umd_leave(&call, error);
}
