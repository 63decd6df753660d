// SPDX-License-Identifier: Apache-2.0
// The manager on the miniport of this folder: who brings both together gives the manager host pages and a way to wait.
// Allocations that do not fit beside each other are paged in and out, a job faults, another hangs and is reset; what
// the GPU wrote is compared in the end. `make example-miniport` runs it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory_gpu.h"
#include "vidmm/vidmm.h"

// ---- Host pages: an MDL each, at bus addresses that follow each other ----

static int wrap(void *context, void *memory, size_t pages, unsigned flags, MDL **mdl)
{
    struct gpu *gpu = context;
    size_t page = 1, run = 0;
    (void)flags;
    for (; page < GPU_BUS_PAGES && run < pages; page++)
        run = gpu->bus[page] ? 0 : run + 1;
    MDL *made = run == pages ? calloc(1, sizeof *made + pages * sizeof *made->Pfn) : NULL;
    if (!made)
        return FERRY_ERROR_NO_HOST_MEMORY;
    *made = (MDL){memory, pages, pages * PAGE_SIZE, (uint64_t *)(made + 1), 0};
    for (size_t i = 0; i < pages; i++) {
        made->Pfn[i] = page - pages + i;
        gpu->bus[made->Pfn[i]] = (uint8_t *)memory + i * PAGE_SIZE;
    }
    *mdl = made;
    return FERRY_OK;
}

static int allocate(void *context, size_t pages, unsigned flags, MDL **mdl)
{
    void *memory = aligned_alloc(PAGE_SIZE, pages * PAGE_SIZE);
    int error =
        memory ? wrap(context, memset(memory, 0, pages * PAGE_SIZE), pages, flags, mdl) : FERRY_ERROR_NO_HOST_MEMORY;
    if (error != FERRY_OK)
        free(memory);
    return error;
}

// None are wrapped here, so all were allocated.
static void give_back(void *context, MDL *mdl)
{
    struct gpu *gpu = context;
    for (size_t i = 0; mdl && i < mdl->PageCount; i++)
        gpu->bus[mdl->Pfn[i]] = NULL;
    free(mdl ? mdl->MappedSystemVa : NULL);
    free(mdl);
}

// ---- Time ----

static int wait_for_progress(void *context)
{
    bool any = gpu_step(context);
    gpu_miniport.DxgkDdiInterruptRoutine(context, 0);
    return any ? FERRY_OK : FERRY_ERROR_TIMEOUT;
}

static uint64_t gpu_time(void *context)
{
    return ((struct gpu *)context)->time;
}

// ---- A program ----

#define PAGES 24u // of each: two of them fit into video memory, and one into the aperture
#define COUNT 6u  // the last is in the aperture

static void must(int result, const char *what)
{
    if (result >= 0)
        return;
    printf("%s: %s\n0 passed, 1 failed\n", what, ferry_error_name(result));
    exit(1);
}
#define MUST(call) must(call, #call)

static struct ferry_vidmm *manager;
static D3DKMT_HANDLE device, context, queue, allocations[COUNT];

// A job of one command; its places, where it names two, are patched. How it ended.
static int job(struct gpu_command command, const D3DKMT_HANDLE to_and_from[2])
{
    const struct ferry_vidmm_reference references[2] = {{to_and_from[0], true}, {to_and_from[1], false}};
    const D3DDDI_PATCHLOCATIONLIST patches[2] = {
        {.AllocationIndex = 0, .PatchOffset = offsetof(struct gpu_command, to), .AllocationOffset = (UINT)command.to},
        {.AllocationIndex = 1, .PatchOffset = offsetof(struct gpu_command, from)}};
    const UINT count = command.operation == GPU_COPY ? 2 : 0;
    const struct ferry_vidmm_submission buffer = {.commands = &command,
                                                  .bytes = sizeof command,
                                                  .references = references,
                                                  .reference_count = count,
                                                  .patches = patches,
                                                  .patch_count = count};
    uint64_t fence;
    MUST(ferry_vidmm_submit(manager, context, &buffer, 1, &fence));
    return ferry_vidmm_wait(manager, context, fence);
}

static uint8_t *lock(D3DKMT_HANDLE allocation, uint32_t flags)
{
    void *address;
    MUST(ferry_vidmm_lock(manager, allocation, flags, &address));
    return address;
}

int main(void)
{
    struct gpu *gpu = calloc(1, sizeof *gpu);
    const struct ferry_page_source pages = {.context = gpu, .allocate = allocate, .wrap = wrap, .free = give_back};
    struct ferry_vidmm_critical why;
    const struct ferry_vidmm_options options = {.size = sizeof options,
                                                .miniport = &gpu_miniport,
                                                .miniport_device_context = gpu,
                                                .platform = {gpu, &pages, wait_for_progress, gpu_time, NULL, NULL},
                                                .why = &why};
    const D3DKMT_HANDLE nothing[2] = {0};
    unsigned wrong = 0;
    MUST(ferry_vidmm_start(&options, &manager));
    MUST(ferry_vidmm_create_device(manager, &device));
    MUST(ferry_vidmm_create_context(manager, device, FERRY_VIDMM_ANY_NODE, &context, NULL));
    MUST(ferry_vidmm_create_paging_queue(manager, device, 0, &queue));
    for (unsigned i = 0; i < COUNT; i++) {
        struct gpu_wish wish = {PAGES * PAGE_SIZE, i == COUNT - 1};
        const struct ferry_vidmm_allocation_options what = {
            .size = sizeof what, .private_data = &wish, .private_data_bytes = sizeof wish};
        MUST(ferry_vidmm_create_allocation(manager, device, &what, &allocations[i], NULL));
        memset(lock(allocations[i], D3DDDI_LOCK_WRITE_ONLY), (int)i + 1, PAGES * PAGE_SIZE);
        MUST(ferry_vidmm_unlock(manager, allocations[i]));
    }
    // Page `round` of each gets the first page of the one before it, which is the first one's.
    for (unsigned step = 0; step < 4 * COUNT; step++) {
        unsigned round = step / COUNT;
        const D3DKMT_HANDLE pair[2] = {allocations[(step + 1) % COUNT], allocations[step % COUNT]};
        D3DDDI_MAKERESIDENT resident = {.hPagingQueue = queue, .NumAllocations = 2, .AllocationList = pair};
        D3DDDICB_EVICT evict = {.NumAllocations = 2, .AllocationList = pair};
        MUST(ferry_vidmm_make_resident(manager, &resident));
        MUST(job((struct gpu_command){.operation = GPU_COPY, .to = round * PAGE_SIZE, .bytes = PAGE_SIZE}, pair));
        // One reaches for what is nowhere, and one never ends; nobody loses anything by either.
        wrong += job((struct gpu_command){GPU_FILL, 7, UINT64_C(1) << 30, 0, 64}, nothing) != FERRY_ERROR_FAULT;
        wrong += job((struct gpu_command){.operation = GPU_HANG}, nothing) != FERRY_ERROR_FAULT;
        MUST(ferry_vidmm_evict(manager, device, &evict));
    }
    for (unsigned i = 0; i < COUNT; i++) {
        const uint8_t *bytes = lock(allocations[i], D3DDDI_LOCK_READ_ONLY);
        for (unsigned at = 0; at < PAGES * PAGE_SIZE; at++)
            wrong += bytes[at] != (at < 4 * PAGE_SIZE ? 1 : i + 1);
        MUST(ferry_vidmm_unlock(manager, allocations[i]));
    }
    struct ferry_vidmm_statistics done;
    MUST(ferry_vidmm_statistics(manager, &done));
    wrong += done.evictions == 0 || done.faulted_jobs != 8 * COUNT;
    printf("%llu bytes in, %llu out, %llu evictions, %llu of %llu jobs faulted\n", (unsigned long long)done.bytes_in,
           (unsigned long long)done.bytes_out, (unsigned long long)done.evictions,
           (unsigned long long)done.faulted_jobs, (unsigned long long)done.jobs);
    ferry_vidmm_stop(manager);
    for (unsigned i = 0; i < GPU_BUS_PAGES; i++)
        wrong += gpu->bus[i] != NULL;
    free(gpu);
    printf("%d passed, %d failed\n", wrong == 0, wrong != 0);
    return wrong != 0;
}
