// SPDX-License-Identifier: Apache-2.0
// GPU virtual addresses: reserve, map, free, ask (wddm-facts 4.6).
#include <string.h>

#include "vidmm/api/call.h"
#include "vidmm/memory/addresses.h"

#define RESERVE_UNIT (64u << 10)
#define SPACE_BYTES  (UINT64_C(1) << 48)

// Where the arguments want the range; false when that is no such place. Beside an address bounds are nothing.
static bool where_of(const struct ferry_vidmm_virtual *wanted, uint64_t unit, struct ferry_vm_where *where)
{
    if (wanted->bytes == 0 || wanted->bytes % unit || wanted->bytes > SPACE_BYTES || wanted->address % unit ||
        wanted->address >= SPACE_BYTES)
        return false;
    if (wanted->address == 0 && (wanted->least % unit || wanted->most % unit || wanted->most > SPACE_BYTES))
        return false;
    uint64_t alignment = ferry_vm_address_alignment(wanted->bytes / PAGE_SIZE);
    *where = (struct ferry_vm_where){.base = wanted->address ? wanted->address / PAGE_SIZE : UINT64_MAX,
                                     .least = wanted->least / PAGE_SIZE,
                                     .most = wanted->most / PAGE_SIZE,
                                     .alignment = wanted->address ? unit / PAGE_SIZE : alignment};
    return true;
}

// The addresses of the device's program; NULL with the error.
static struct ferry_vm_virtual *space_of(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, int *error)
{
    const struct ferry_vm_device *device = ferry_vm_working_device(manager, handle, error);
    if (device && !device->process->space)
        *error = FERRY_ERROR_UNSUPPORTED;
    return device ? device->process->space : NULL;
}

int ferry_vidmm_reserve_virtual(struct ferry_vidmm *manager, D3DKMT_HANDLE device, struct ferry_vidmm_virtual *range)
{
    struct ferry_vm_where where;
    uint64_t first;
    if (!manager || !range || range->size != sizeof(*range) || !where_of(range, RESERVE_UNIT, &where) ||
        (unsigned)range->reservation > FERRY_VIDMM_NO_COMMIT)
        return FERRY_ERROR_ARGUMENT;
    range->table_bytes = 0;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_virtual *space = space_of(manager, device, &result);
        if (space && range->reservation == FERRY_VIDMM_ZERO)
            result = ferry_vm_window_begin(&manager->memory, NULL);
        if (space && result == FERRY_OK && range->reservation == FERRY_VIDMM_ZERO)
            result = ferry_vm_virtual_reserve_zeros(&manager->memory, space, &where, range->bytes / PAGE_SIZE, &first,
                                                    &range->table_bytes);
        else if (space && result == FERRY_OK)
            result = ferry_vm_address_reserve(&space->addresses, &where, range->bytes / PAGE_SIZE, &first);
        if (result == FERRY_OK)
            range->address = first * PAGE_SIZE;
    }
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_protect_virtual(struct ferry_vidmm *manager, D3DKMT_HANDLE device, struct ferry_vidmm_virtual *range)
{
    if (!manager || !range || range->size != sizeof(*range) || range->address % PAGE_SIZE || range->bytes % PAGE_SIZE ||
        range->bytes == 0 || range->address >= SPACE_BYTES || range->bytes > SPACE_BYTES - range->address ||
        (unsigned)range->reservation > FERRY_VIDMM_ZERO)
        return FERRY_ERROR_ARGUMENT;
    range->table_bytes = 0;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_virtual *space = space_of(manager, device, &result);
        bool zeros = range->reservation == FERRY_VIDMM_ZERO;
        if (space && zeros)
            result = ferry_vm_window_begin(&manager->memory, NULL);
        if (space && result == FERRY_OK)
            result = ferry_vm_virtual_protect(&manager->memory, space, range->address / PAGE_SIZE,
                                              range->bytes / PAGE_SIZE, zeros, &range->table_bytes);
    }
    return ferry_vm_leave(manager, result);
}

static int map(struct ferry_vidmm *manager, D3DKMT_HANDLE device_handle, D3DKMT_HANDLE handle,
               const struct ferry_vm_view *view, struct ferry_vidmm_virtual *range, unsigned *node, uint64_t *number)
{
    uint64_t first = view->where.base;
    int result;
    const struct ferry_vm_device *device = ferry_vm_working_device(manager, device_handle, &result);
    struct ferry_vm_allocation *allocation =
        device ? ferry_vm_allocation_find(&manager->memory, device, handle, &result) : NULL;
    if (!allocation)
        return result;
    if (allocation->lost)
        return FERRY_ERROR_DEVICE_LOST;
    result = ferry_vm_virtual_map(&manager->memory, allocation, view, &first, &range->table_bytes);
    if (result == FERRY_ERROR_BUSY && range->replace)
        result = ferry_vm_map_over(manager, allocation, view, &range->table_bytes, node, number);
    if (result == FERRY_OK)
        range->address = first * PAGE_SIZE;
    return result;
}

int ferry_vidmm_map_virtual(struct ferry_vidmm *manager, D3DKMT_HANDLE device, D3DKMT_HANDLE handle, uint64_t offset,
                            bool read_only, struct ferry_vidmm_virtual *range)
{
    struct ferry_vm_view view;
    struct ferry_vm_patience patience = {0};
    if (!manager || !range || range->size != sizeof(*range) || offset % PAGE_SIZE ||
        !where_of(range, PAGE_SIZE, &view.where) || (range->replace && (range->address == 0 || range->each_instance)))
        return FERRY_ERROR_ARGUMENT;
    view.offset = offset / PAGE_SIZE;
    view.pages = range->bytes / PAGE_SIZE;
    view.read_only = read_only;
    view.each_instance = range->each_instance;
    int result = ferry_vm_enter(manager);
    // What the tables cannot say would be written all the same.
    if (result == FERRY_OK && read_only && !manager->core.read_only_pages)
        result = FERRY_ERROR_UNSUPPORTED;
    for (bool again = result == FERRY_OK; again; again = result == FERRY_PENDING) {
        unsigned node = manager->sched.paging_node;
        uint64_t number = 0;
        range->table_bytes = 0;
        result = map(manager, device, handle, &view, range, &node, &number);
        if (result == FERRY_PENDING && (result = ferry_vm_block(manager, node, number, &patience)) == FERRY_OK)
            result = FERRY_PENDING;
    }
    return ferry_vm_leave(manager, result);
}

// The range at the page, when it begins there and ends within; NULL else.
static struct ferry_vm_range *whole_range(const struct ferry_vm_virtual *space, uint64_t page, uint64_t end)
{
    struct ferry_vm_range *range = ferry_vm_address_find(&space->addresses, page);
    return range && range->first >= page && range->first < end && range->first + range->pages <= end ? range : NULL;
}

static int free_range(struct ferry_vidmm *manager, struct ferry_vm_virtual *space, uint64_t first, uint64_t end)
{
    const struct ferry_vm_range *cut = ferry_vm_address_find(&space->addresses, first);
    // Nothing is cut in two, and there is something.
    if (!cut || cut->first < first || !whole_range(space, first, end))
        return FERRY_ERROR_ARGUMENT;
    const struct ferry_vm_range *last = ferry_vm_address_find(&space->addresses, end - 1);
    if (last && last->first < end && last->first + last->pages > end)
        return FERRY_ERROR_ARGUMENT;
    size_t zeros;
    int result = ferry_vm_virtual_zeros_within(space, first, end, &zeros);
    if (result == FERRY_OK)
        result = ferry_vm_virtual_unmap_within(&manager->memory, space, first, end, zeros * FERRY_VM_ZEROS_MOST);
    if (result == FERRY_OK)
        ferry_vm_virtual_free_zeros(&manager->memory, space, first, end);
    struct ferry_vm_range *range;
    for (uint64_t at = first; result == FERRY_OK && (range = whole_range(space, at, end));) {
        at = range->first + range->pages;
        result = ferry_vm_address_release(&space->addresses, range->first, range->pages);
    }
    return result;
}

int ferry_vidmm_free_virtual(struct ferry_vidmm *manager, D3DKMT_HANDLE device, uint64_t address, uint64_t bytes)
{
    if (!manager || address % PAGE_SIZE || bytes == 0 || bytes % PAGE_SIZE || address >= SPACE_BYTES ||
        bytes > SPACE_BYTES - address)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        struct ferry_vm_virtual *space = space_of(manager, device, &result);
        if (space)
            result = free_range(manager, space, address / PAGE_SIZE, (address + bytes) / PAGE_SIZE);
    }
    return ferry_vm_leave(manager, result);
}

// What is only reserved, as far as all of it is zeros or none.
static void find_kind(const struct ferry_vm_virtual *space, const struct ferry_vm_range *range, uint64_t page,
                      struct ferry_vidmm_mapping *mapping)
{
    uint64_t first = range->first, end = range->first + range->pages;
    const struct ferry_vm_range *zeros = ferry_vm_address_zeros(&space->addresses, first);
    while (zeros && zeros->first + zeros->pages <= page) {
        first = zeros->first + zeros->pages;
        zeros = ferry_vm_address_zeros(&space->addresses, first);
    }
    if (zeros && zeros->first < end) {
        mapping->zeros = zeros->first <= page || zeros->first <= first;
        if (!mapping->zeros)
            end = zeros->first;
        else if (zeros->first + zeros->pages < end)
            end = zeros->first + zeros->pages;
        if (mapping->zeros && zeros->first > first)
            first = zeros->first;
    }
    mapping->address = first * PAGE_SIZE;
    mapping->bytes = (end - first) * PAGE_SIZE;
}

int ferry_vidmm_find_virtual(struct ferry_vidmm *manager, D3DKMT_HANDLE device, uint64_t address,
                             struct ferry_vidmm_mapping *mapping)
{
    if (!manager || !mapping)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        const struct ferry_vm_virtual *space = space_of(manager, device, &result);
        const struct ferry_vm_range *range =
            space ? ferry_vm_address_find(&space->addresses, address / PAGE_SIZE) : NULL;
        *mapping = (struct ferry_vidmm_mapping){0};
        if (range) {
            const struct ferry_vm_allocation *allocation = range->owner;
            *mapping = (struct ferry_vidmm_mapping){.address = range->first * PAGE_SIZE,
                                                    .bytes = range->pages * PAGE_SIZE,
                                                    .allocation = allocation ? allocation->subject.handle : 0,
                                                    .offset = ferry_vm_range_more(range)->offset * PAGE_SIZE,
                                                    .read_only = range->read_only};
            if (!allocation)
                find_kind(space, range, address / PAGE_SIZE, mapping);
        }
        mapping->changes = space ? space->mapped : 0;
    }
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_own_address(struct ferry_vidmm *manager, D3DKMT_HANDLE handle, uint64_t *address)
{
    if (!manager || !address)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        const struct ferry_vm_allocation *allocation =
            ferry_vm_allocation_find(&manager->memory, NULL, handle, &result);
        const struct ferry_vm_range *own = allocation ? ferry_vm_virtual_own(allocation) : NULL;
        *address = own ? own->first * PAGE_SIZE : 0;
    }
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_tables_given(struct ferry_vidmm *manager, uint64_t *given)
{
    if (!manager || !given)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK)
        *given = manager->memory.tables.given;
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_root_virtual(struct ferry_vidmm *manager, D3DKMT_HANDLE device, DXGK_SEGMENTOFFSET *root)
{
    if (!manager || !root)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        const struct ferry_vm_virtual *space = space_of(manager, device, &result);
        const struct ferry_vm_table *table = space ? space->addresses.root : NULL;
        *root = table ? ferry_vm_table_place(&manager->memory, table->page) : (DXGK_SEGMENTOFFSET){0};
    }
    return ferry_vm_leave(manager, result);
}

int ferry_vidmm_read_table(struct ferry_vidmm *manager, uint64_t bus_address, uint8_t entry[8])
{
    if (!manager || !entry || bus_address % 8 != 0)
        return FERRY_ERROR_ARGUMENT;
    int result = ferry_vm_enter(manager);
    if (result == FERRY_OK) {
        const uint8_t *table = ferry_vm_table_bytes(&manager->memory, bus_address);
        if (table)
            memcpy(entry, table + bus_address % PAGE_SIZE, 8);
        else
            result = FERRY_ERROR_RANGE;
    }
    return ferry_vm_leave(manager, result);
}
