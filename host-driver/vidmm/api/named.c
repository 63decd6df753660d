// SPDX-License-Identifier: Apache-2.0
#include "vidmm/api/named.h"

#include <stdlib.h>
#include <string.h>

#include "vidmm/base/reached.h"
#include "vidmm/memory/memory.h"

static int find(void *context, uint64_t address, struct ferry_vidmm_mapping *mapping)
{
    const struct ferry_vm_virtual *space = context;
    const struct ferry_vm_range *range = ferry_vm_address_find(&space->addresses, address / PAGE_SIZE);
    *mapping = (struct ferry_vidmm_mapping){0};
    if (range) {
        const struct ferry_vm_allocation *allocation = range->owner;
        mapping->address = range->first * PAGE_SIZE;
        mapping->bytes = range->pages * PAGE_SIZE;
        mapping->allocation = allocation ? allocation->subject.handle : 0;
    }
    return FERRY_OK;
}

// What is wrong with its list of references is told by who looks at those.
static bool has_changed(const struct ferry_vm_context *context, const struct ferry_vidmm_submission *buffer)
{
    return buffer->reach_count > 0 && buffer->reference_count <= context->info.AllocationListSize &&
           (buffer->references || buffer->reference_count == 0) &&
           buffer->changes != context->device->process->space->mapped;
}

// Lists for what a buffer names and for what it reaches: at first both may be as long as one may be altogether.
struct lists {
    struct ferry_vidmm_names names;
    struct ferry_vidmm_reference *references;
    uint64_t *addresses;
};

static int name_all(struct ferry_vm_virtual *space, struct ferry_vidmm_submission *buffer, struct lists *lists)
{
    uint32_t count = buffer->reference_count;
    int result = FERRY_OK;
    lists->names.count = 0;
    for (uint32_t i = 0; i < buffer->reach_count && result == FERRY_OK; i++)
        result = ferry_vidmm_find_names(&lists->names, &buffer->reaches[i], find, space);
    if (result != FERRY_OK)
        return result;
    if (count > 0)
        memcpy(lists->references, buffer->references, count * sizeof(*buffer->references));
    if (count > 0 && buffer->addresses)
        memcpy(lists->addresses, buffer->addresses, count * sizeof(*buffer->addresses));
    count = ferry_vidmm_refer_to(&lists->names, lists->references, lists->addresses, count);
    buffer->references = lists->references;
    buffer->addresses = lists->addresses;
    buffer->reference_count = count;
    return count <= lists->names.most ? FERRY_OK : FERRY_ERROR_RANGE;
}

int ferry_vm_name_reached(const struct ferry_vm_context *context, const struct ferry_vidmm_submission *buffers,
                          uint32_t count, struct ferry_vm_named *named)
{
    struct ferry_vm_virtual *space = context->device->process->space;
    size_t changed = 0, most = context->info.AllocationListSize;
    if (named->buffers && (!space || named->changes == space->changes))
        return FERRY_OK;
    ferry_vm_named_end(named);
    *named = (struct ferry_vm_named){.buffers = buffers, .changes = space ? space->changes : 0};
    for (uint32_t i = 0; space && i < count; i++)
        changed += has_changed(context, &buffers[i]);
    if (changed == 0)
        return FERRY_OK;
    named->buffers = named->own = malloc(count * sizeof(*named->own));
    named->names = calloc(most, sizeof(*named->names));
    named->references = calloc(changed * 2 * most, sizeof(*named->references));
    named->addresses = calloc(changed * 2 * most, sizeof(*named->addresses));
    if (!named->own || !named->names || !named->references || !named->addresses)
        return FERRY_ERROR_NO_HOST_MEMORY;
    memcpy(named->own, buffers, count * sizeof(*buffers));
    struct lists lists = {{named->names, 0, (uint32_t)most}, named->references, named->addresses};
    int result = FERRY_OK;
    for (uint32_t i = 0; i < count && result == FERRY_OK; i++) {
        if (!has_changed(context, &buffers[i]))
            continue;
        result = name_all(space, &named->own[i], &lists);
        lists.references += 2 * most;
        lists.addresses += 2 * most;
    }
    return result;
}

void ferry_vm_named_end(struct ferry_vm_named *named)
{
    free(named->own);
    free(named->names);
    free(named->references);
    free(named->addresses);
}
