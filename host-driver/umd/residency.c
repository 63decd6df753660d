// SPDX-License-Identifier: Apache-2.0
// Residency lists: one attempt, as a D3D12 driver makes it (R231 to R236), and the trim loop of an earlier one's (R226
// to R229).
#include "umd/residency.h"

#include <stdlib.h>

#include "umd/call.h"
#include "umd/own_address.h"

// Its own neighbours stay noted in it, as list_where_it_was() needs.
void umd_unlist(struct umd_allocation *allocation)
{
    struct umd_device *device = allocation->device;

    if (allocation->newer)
        allocation->newer->older = allocation->older;
    else
        device->newest = allocation->older;
    if (allocation->older)
        allocation->older->newer = allocation->newer;
    else
        device->oldest = allocation->newer;
}

static void list_as_newest(struct umd_allocation *allocation)
{
    struct umd_device *device = allocation->device;

    allocation->older = device->newest;
    allocation->newer = NULL;
    if (device->newest)
        device->newest->newer = allocation;
    else
        device->oldest = allocation;
    device->newest = allocation;
}

void umd_touch(struct umd_allocation *allocation)
{
    if (!allocation->count || allocation->device->newest == allocation)
        return;
    umd_unlist(allocation);
    list_as_newest(allocation);
}

// Undoes umd_unlist(), where all that has left the list since is back on it and nothing else has changed there.
static void list_where_it_was(struct umd_allocation *allocation)
{
    struct umd_device *device = allocation->device;

    if (allocation->newer)
        allocation->newer->older = allocation;
    else
        device->newest = allocation;
    if (allocation->older)
        allocation->older->newer = allocation;
    else
        device->oldest = allocation;
}

static void count_up(struct umd_allocation *allocation)
{
    if (allocation->count++)
        umd_touch(allocation);
    else
        list_as_newest(allocation);
}

static void count_down(struct umd_allocation *allocation)
{
    if (!--allocation->count)
        umd_unlist(allocation);
}

static int grow(struct umd_list *list, size_t wanted)
{
    size_t count = wanted ? wanted : 1;

    if (count <= list->capacity)
        return FERRY_OK;
    struct umd_allocation **allocations = realloc(list->allocations, count * sizeof *allocations);
    if (allocations)
        list->allocations = allocations;
    D3DKMT_HANDLE *handles = realloc(list->handles, count * sizeof *handles);
    if (handles)
        list->handles = handles;
    if (!allocations || !handles)
        return FERRY_ERROR_NO_HOST_MEMORY;
    list->capacity = count;
    return FERRY_OK;
}

// Into device->named what the arguments name, all of one device.
static int name_all(struct umd_device *device, const struct ferry_residency *arguments)
{
    struct umd_list *list = &device->named;
    int error = grow(list, arguments->count);

    for (size_t i = 0; error == FERRY_OK && i < arguments->count; i++) {
        struct umd_allocation *allocation = umd_object(device->adapter, UMD_ALLOCATION, arguments->allocations[i]);
        if (!allocation)
            return umd_handle_error(UMD_ALLOCATION, arguments->allocations[i]);
        if (allocation->device != device)
            return FERRY_ERROR_FOREIGN;
        list->allocations[i] = allocation;
        list->handles[i] = allocation->vidmm;
    }
    return error;
}

static bool legal(const struct ferry_residency *arguments)
{
    return arguments && arguments->size == sizeof *arguments && (arguments->allocations || !arguments->count) &&
           arguments->count <= UINT32_MAX;
}

// What the batches before a failing one have raised is lowered again, one by one when another call is destroying any of
// them. Nobody says that it was not written to: a job of another thread may have been let in meanwhile.
static void undo(struct umd_device *device, const D3DKMT_HANDLE *handles, size_t count)
{
    struct ferry_vidmm *vidmm = device->adapter->vidmm;
    D3DDDICB_EVICT all = {.NumAllocations = (UINT)count, .AllocationList = handles};

    if (!count || ferry_vidmm_evict(vidmm, device->vidmm, &all) == FERRY_OK)
        return;
    for (size_t i = 0; i < count; i++) {
        D3DDDICB_EVICT one = {.NumAllocations = 1, .AllocationList = &handles[i]};

        ferry_vidmm_evict(vidmm, device->vidmm, &one);
    }
}

// The manager takes so many at a time, so a longer list goes in batches (R235); its answer to the failing one is handed
// through as it is (R236). Goes on behind the *done that have been raised before.
static int attempt(struct umd_device *device, D3DDDI_MAKERESIDENT_FLAGS flags, struct ferry_residency *arguments,
                   size_t *done)
{
    const D3DKMT_HANDLE *handles = device->named.handles;

    do {
        size_t left = arguments->count - *done;
        size_t batch = left < D3DDDI_MAKERESIDENT_MAX_ALLOCATIONS ? left : D3DDDI_MAKERESIDENT_MAX_ALLOCATIONS;
        D3DDDI_MAKERESIDENT make = {
            .hPagingQueue = device->paging_queue,
            .NumAllocations = (UINT)batch,
            .AllocationList = handles + *done,
            .Flags = flags,
        };
        int error = ferry_vidmm_make_resident(device->adapter->vidmm, &make);
        arguments->bytes_to_trim = make.NumBytesToTrim;
        if (error < 0)
            return error;
        // A queue's values grow, and one that is reached says so of those before it.
        if (error == FERRY_PENDING)
            arguments->paging_fence_value = make.PagingFenceValue;
        *done += batch;
    } while (*done < arguments->count);
    return FERRY_OK;
}

// All of the list or nothing: of `done` the manager has raised the counts.
static int end_attempts(struct umd_device *device, struct ferry_residency *arguments, int error, size_t done)
{
    if (error != FERRY_OK) {
        undo(device, device->named.handles, done);
        arguments->paging_fence_value = 0; // R234
        return error;
    }
    for (size_t i = 0; i < arguments->count; i++) {
        umd_own_address_use(device->named.allocations[i]);
        count_up(device->named.allocations[i]);
    }
    return arguments->paging_fence_value ? FERRY_PENDING : FERRY_OK;
}

int ferry_make_resident(struct ferry_device *handle, struct ferry_residency *arguments)
{
    struct umd_call call;

    if (!legal(arguments) || (arguments->must_succeed && !arguments->cant_trim_further))
        return FERRY_ERROR_ARGUMENT;
    struct umd_device *device = umd_enter(&call, UMD_DEVICE, handle, "make resident");
    if (!device)
        return umd_not_entered();
    size_t done = 0;
    arguments->paging_fence_value = arguments->bytes_to_trim = 0;
    int error = name_all(device, arguments);
    if (error == FERRY_OK) {
        D3DDDI_MAKERESIDENT_FLAGS flags = {
            {.CantTrimFurther = arguments->cant_trim_further, .MustSucceed = arguments->must_succeed}};

        error = attempt(device, flags, arguments, &done);
        error = end_attempts(device, arguments, error, done);
    }
    return umd_leave(&call, error);
}

// Take an allocation off the residency list altogether, and note what it counted. At once: others wait meanwhile, and a
// count may be in the millions.
static int drop(struct umd_device *device, struct umd_allocation *allocation, struct umd_allocation **trimmed)
{
    int error = ferry_vidmm_take_off(device->adapter->vidmm, device->vidmm, allocation->vidmm, allocation->count);

    if (error != FERRY_OK)
        return error;
    umd_unlist(allocation);
    allocation->trimmed_count = allocation->count;
    allocation->count = 0;
    allocation->trimmed_next = *trimmed;
    *trimmed = allocation;
    return FERRY_OK;
}

// Back onto the list, each at its place; what left last comes first. MakeResident would refuse what a lock has taken
// out of its place, and anything for want of memory. What another call is destroying stays off.
static void put_back(struct umd_device *device, struct umd_allocation *trimmed)
{
    for (struct umd_allocation *a = trimmed; a; a = a->trimmed_next)
        list_where_it_was(a);
    for (struct umd_allocation *a = trimmed; a; a = a->trimmed_next) {
        if (ferry_vidmm_put_back(device->adapter->vidmm, device->vidmm, a->vidmm, a->trimmed_count) == FERRY_OK)
            a->count = a->trimmed_count;
        else
            umd_unlist(a);
    }
}

// Evict what was used least recently and is not marked, until `bytes` are gone; from the kind of segment that ran
// short, where that can be told. *more tells whether anything went.
static int trim(struct umd_device *device, uint64_t bytes, bool from_memory, bool from_aperture,
                struct umd_allocation **trimmed, bool *more)
{
    struct umd_allocation *next;
    uint64_t gone = 0;

    *more = false;
    for (struct umd_allocation *a = device->oldest; a && (gone < bytes || !*more); a = next) {
        next = a->newer;
        if (a->marked || !(a->in_aperture ? from_aperture : from_memory))
            continue;
        int error = drop(device, a, trimmed);
        // Another call is destroying it, and waits just now: it goes by itself.
        if (error == FERRY_ERROR_HANDLE)
            continue;
        if (error != FERRY_OK)
            return error;
        gone += (a->bytes + FERRY_PAGE_BYTES - 1) / FERRY_PAGE_BYTES * FERRY_PAGE_BYTES;
        *more = true;
    }
    return FERRY_OK;
}

int ferry_make_resident_trim(struct ferry_device *handle, struct ferry_residency *arguments)
{
    struct umd_call call;

    if (!legal(arguments))
        return FERRY_ERROR_ARGUMENT;
    struct umd_device *device = umd_enter(&call, UMD_DEVICE, handle, "make resident, trimming");
    if (!device)
        return umd_not_entered();
    size_t done = 0; // What has found its room once is not asked for again: a long list is as many batches, each once.
    arguments->paging_fence_value = arguments->bytes_to_trim = 0;
    int error = name_all(device, arguments);
    struct umd_allocation **list = device->named.allocations;
    bool memory = false, aperture = false;
    for (size_t i = 0; error == FERRY_OK && i < arguments->count; i++) {
        list[i]->marked = true;
        memory |= !list[i]->in_aperture;
        aperture |= list[i]->in_aperture;
    }
    bool marked = error == FERRY_OK;
    bool last = false; // R227: nothing is left to trim, so this attempt is made with what the operation needs alone.
    struct umd_allocation *trimmed = NULL;
    while (error == FERRY_OK) {
        D3DDDI_MAKERESIDENT_FLAGS flags = {{.CantTrimFurther = last, .MustSucceed = last && arguments->must_succeed}};

        error = attempt(device, flags, arguments, &done);
        if (error != FERRY_ERROR_NO_VIDEO_MEMORY || last)
            break;
        bool more;
        error = trim(device, arguments->bytes_to_trim, memory, aperture, &trimmed, &more);
        last = !more;
    }
    if (marked)
        error = end_attempts(device, arguments, error, done);
    if (error < 0 && error != FERRY_ERROR_NO_VIDEO_MEMORY)
        put_back(device, trimmed);
    for (size_t i = 0; marked && i < arguments->count; i++)
        list[i]->marked = false;
    return umd_leave(&call, error);
}

int ferry_evict(struct ferry_device *handle, struct ferry_residency *arguments)
{
    struct umd_call call;

    if (!legal(arguments))
        return FERRY_ERROR_ARGUMENT;
    struct umd_device *device = umd_enter(&call, UMD_DEVICE, handle, "evict");
    if (!device)
        return umd_not_entered();
    int error = name_all(device, arguments);
    if (error == FERRY_OK) {
        D3DDDICB_EVICT evict = {.NumAllocations = (UINT)arguments->count, .AllocationList = device->named.handles};

        error = ferry_vidmm_evict(device->adapter->vidmm, device->vidmm, &evict);
        arguments->bytes_to_trim = evict.NumBytesToTrim;
        for (size_t i = 0; error == FERRY_OK && i < arguments->count; i++)
            count_down(device->named.allocations[i]);
    }
    return umd_leave(&call, error);
}
