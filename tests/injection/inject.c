// SPDX-License-Identifier: Apache-2.0
// For MAP_ANONYMOUS, which POSIX does not name.
#define _DEFAULT_SOURCE
#include "inject.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "ferry/error.h"
#include "vidmm/sched/sched.h"

struct inject inject;

void inject_set(enum inject_kind kind, uint64_t after, NTSTATUS status)
{
    inject = (struct inject){.kind = kind, .after = after, .status = status, .live = inject.live};
}

void inject_arm(bool armed)
{
    inject.armed = armed;
}

bool inject_hit(enum inject_kind kind, const char *what)
{
    if (!inject.armed || inject.kind != kind || ++inject.seen != inject.after)
        return false;
    inject.fired = true;
    inject.what = what;
    return true;
}

// ---- What the library calls instead of malloc and the like ----

void *inject_malloc(size_t bytes);
void *inject_calloc(size_t count, size_t bytes);
void *inject_realloc(void *old, size_t bytes);
int inject_posix_memalign(void **memory, size_t alignment, size_t bytes);
void *inject_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
int inject_munmap(void *at, size_t bytes);
void inject_free(void *block);

static void *count(void *block)
{
    inject.live += block != NULL;
    return block;
}

void *inject_malloc(size_t bytes)
{
    return inject_hit(INJECT_MEMORY, "malloc") ? NULL : count(malloc(bytes));
}

void *inject_calloc(size_t number, size_t bytes)
{
    return inject_hit(INJECT_MEMORY, "calloc") ? NULL : count(calloc(number, bytes));
}

void *inject_realloc(void *old, size_t bytes)
{
    if (inject_hit(INJECT_MEMORY, "realloc"))
        return NULL;
    void *block = realloc(old, bytes);
    inject.live += block && !old;
    return block;
}

int inject_posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    if (inject_hit(INJECT_MEMORY, "posix_memalign"))
        return ENOMEM;
    int error = posix_memalign(memory, alignment, bytes);
    inject.live += error == 0;
    return error;
}

void *inject_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
    if (inject_hit(INJECT_MEMORY, "mmap"))
        return MAP_FAILED;
    void *memory = mmap(at, bytes, protection, flags, file, offset);
    inject.live += memory != MAP_FAILED;
    return memory;
}

int inject_munmap(void *at, size_t bytes)
{
    inject.live--;
    return munmap(at, bytes);
}

void inject_free(void *block)
{
    inject.live -= block != NULL;
    free(block);
}

// ---- Room that is reserved: seldom for want of memory, but it could be each time ----

int __real_ferry_vm_reserve(struct ferry_vm_sched *sched, size_t more);
int __wrap_ferry_vm_reserve(struct ferry_vm_sched *sched, size_t more);
int __real_ferry_vm_queue_reserve(struct ferry_vm_queue *queue);
int __wrap_ferry_vm_queue_reserve(struct ferry_vm_queue *queue);

// The places of an empty line are always there, as many as there have been before.
int __wrap_ferry_vm_reserve(struct ferry_vm_sched *sched, size_t more)
{
    bool there = sched->queued == sched->done && more <= sched->capacity;
    if (!there && inject_hit(INJECT_MEMORY, "reserve"))
        return FERRY_ERROR_NO_HOST_MEMORY;
    return __real_ferry_vm_reserve(sched, more);
}

int __wrap_ferry_vm_queue_reserve(struct ferry_vm_queue *queue)
{
    return inject_hit(INJECT_MEMORY, "queue reserve") ? FERRY_ERROR_NO_HOST_MEMORY
                                                      : __real_ferry_vm_queue_reserve(queue);
}

// ---- The miniport ----

static const DRIVER_INITIALIZATION_DATA *below;

// Each answers in the miniport's place when it is its turn.
#define FAILS_IN_TURN(name, call, type)                                                                                \
    static NTSTATUS name(HANDLE handle, type argument)                                                                 \
    {                                                                                                                  \
        return inject_hit(INJECT_DDI, #call) ? inject.status : below->call(handle, argument);                          \
    }
FAILS_IN_TURN(start_device, DxgkDdiStartDevice, const DXGKRNL_INTERFACE *)
FAILS_IN_TURN(query, DxgkDdiQueryAdapterInfo, const DXGKARG_QUERYADAPTERINFO *)
FAILS_IN_TURN(create_device, DxgkDdiCreateDevice, DXGKARG_CREATEDEVICE *)
FAILS_IN_TURN(create_context, DxgkDdiCreateContext, DXGKARG_CREATECONTEXT *)
FAILS_IN_TURN(create_allocation, DxgkDdiCreateAllocation, DXGKARG_CREATEALLOCATION *)
FAILS_IN_TURN(reset_engine, DxgkDdiResetEngine, DXGKARG_RESETENGINE *)

// The contract knows no failure of these, but for the answers that ask for something (R3).
#define STOPS_IN_TURN(name, call, type)                                                                                \
    static NTSTATUS name(HANDLE handle, type argument)                                                                 \
    {                                                                                                                  \
        if (!inject_hit(INJECT_DDI, #call))                                                                            \
            return below->call(handle, argument);                                                                      \
        inject.stops = true;                                                                                           \
        return inject.status;                                                                                          \
    }
STOPS_IN_TURN(build, DxgkDdiBuildPagingBuffer, DXGKARG_BUILDPAGINGBUFFER *)
STOPS_IN_TURN(patch, DxgkDdiPatch, const DXGKARG_PATCH *)
STOPS_IN_TURN(submit, DxgkDdiSubmitCommand, const DXGKARG_SUBMITCOMMAND *)
STOPS_IN_TURN(acquire, DxgkDdiAcquireSwizzlingRange, DXGKARG_ACQUIRESWIZZLINGRANGE *)
STOPS_IN_TURN(release, DxgkDdiReleaseSwizzlingRange, const DXGKARG_RELEASESWIZZLINGRANGE *)

// What is destroyed is gone, whatever the miniport says of it.
#define LIES_IN_TURN(name, call)                                                                                       \
    static NTSTATUS name(HANDLE handle)                                                                                \
    {                                                                                                                  \
        NTSTATUS status = below->call(handle);                                                                         \
        return inject_hit(INJECT_DDI, #call) ? inject.status : status;                                                 \
    }
LIES_IN_TURN(stop_device, DxgkDdiStopDevice)
LIES_IN_TURN(destroy_device, DxgkDdiDestroyDevice)
LIES_IN_TURN(destroy_context, DxgkDdiDestroyContext)

static NTSTATUS destroy_allocation(HANDLE handle, const DXGKARG_DESTROYALLOCATION *argument)
{
    NTSTATUS status = below->DxgkDdiDestroyAllocation(handle, argument);
    return inject_hit(INJECT_DDI, "DxgkDdiDestroyAllocation") ? inject.status : status;
}

static NTSTATUS node_metadata(HANDLE handle, UINT node, DXGKARG_GETNODEMETADATA *argument)
{
    return inject_hit(INJECT_DDI, "DxgkDdiGetNodeMetadata") ? inject.status
                                                            : below->DxgkDdiGetNodeMetadata(handle, node, argument);
}

static NTSTATUS add_device(VOID *physical, HANDLE *context)
{
    return inject_hit(INJECT_DDI, "DxgkDdiAddDevice") ? inject.status : below->DxgkDdiAddDevice(physical, context);
}

const DRIVER_INITIALIZATION_DATA *inject_table(const DRIVER_INITIALIZATION_DATA *under)
{
    static DRIVER_INITIALIZATION_DATA table;
    below = under;
    table = *under;
    table.DxgkDdiAddDevice = add_device;
    table.DxgkDdiStartDevice = start_device;
    table.DxgkDdiStopDevice = stop_device;
    table.DxgkDdiQueryAdapterInfo = query;
    table.DxgkDdiGetNodeMetadata = node_metadata;
    table.DxgkDdiCreateDevice = create_device;
    table.DxgkDdiDestroyDevice = destroy_device;
    table.DxgkDdiCreateContext = create_context;
    table.DxgkDdiDestroyContext = destroy_context;
    table.DxgkDdiCreateAllocation = create_allocation;
    table.DxgkDdiDestroyAllocation = destroy_allocation;
    table.DxgkDdiBuildPagingBuffer = build;
    table.DxgkDdiPatch = patch;
    table.DxgkDdiSubmitCommand = submit;
    table.DxgkDdiResetEngine = reset_engine;
    table.DxgkDdiAcquireSwizzlingRange = acquire;
    table.DxgkDdiReleaseSwizzlingRange = release;
    return &table;
}
