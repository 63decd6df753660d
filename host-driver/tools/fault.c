// SPDX-License-Identifier: Apache-2.0
// Faults of GPU virtual addresses, shown: what the device tells of each, and beside it what the page tables say.
#include <inttypes.h>
#include <stdio.h>

#include "ferry/ferry.h"
#include "ferry_contract.h"
#include "tools/commands.h"
#include "tools/tool.h"
#include "tools/walk_text.h"
#include "tools/why.h"

#define BYTES (64 * FERRY_KIB)

struct scene {
    struct ferry_adapter *adapter;
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_allocation *allocation;
    const char *failed; // The last call, behind one that did there is none.
    unsigned other;     // Records that name another entry than the tables have.
};

static int call(struct scene *scene, const char *what, int error)
{
    scene->failed = what;
    return error;
}

// The job that was recorded is to fault.
static int show(struct scene *scene, const char *what)
{
    struct ferry_fault fault = {.size = sizeof fault};
    struct ferry_va_steps walk = {.size = sizeof walk};
    char text[FERRY_STEP_TEXT];
    uint64_t fence;
    bool found = false;
    int error = call(scene, "submit", ferry_queue_submit(scene->queue, &fence));

    if (error < 0)
        return error;
    error = ferry_queue_wait(scene->queue, fence);
    if (error != FERRY_ERROR_FAULT)
        return call(scene, "wait for a fault", error < 0 ? error : FERRY_ERROR_UNSUPPORTED);
    error = call(scene, "take the fault", ferry_adapter_next_fault(scene->adapter, &fault, &found));
    if (error < 0)
        return error;
    printf("\n%s\n", what);
    if (!found || !fault.walked) {
        printf("  the device has told of no walk\n");
        scene->other++;
        return FERRY_OK;
    }
    printf("  %s: %s of 0x%" PRIx64 ", space %u; entry 0x%" PRIx64 " at level %u; %u bytes written before\n",
           ferry_fault_kind_name(fault.kind), fault.is_write ? "write" : "read", fault.address, fault.walk_space,
           fault.walk_entry, fault.walk_level, fault.written);
    error = call(scene, "walk", ferry_va_walk(scene->device, fault.address, &walk));
    for (uint32_t i = 0; error == FERRY_OK && i < walk.count; i++)
        printf("  %s\n", ferry_step_text(&walk.steps[i], text));
    const struct ferry_va_step *last = &walk.steps[walk.count ? walk.count - 1 : 0];
    if (error == FERRY_OK && (last->level != fault.walk_level || last->entry != fault.walk_entry)) {
        printf("  the device has seen another entry\n");
        scene->other++;
    }
    return error;
}

static int open_scene(struct scene *scene, const char *backend, uint32_t tables)
{
    struct ferry_adapter_options options = {.size = sizeof options, .backend = backend, .model = 2, .tables = tables};
    struct ferry_allocation_options wanted = {.size = sizeof wanted, .bytes = BYTES, .flags = FERRY_FLAG_CPU_VISIBLE};
    struct ferry_residency residency = {.size = sizeof residency, .allocations = &scene->allocation, .count = 1};
    int error = call(scene, "open the adapter", ferry_adapter_open(&options, &scene->adapter));

    if (error < 0)
        scene->adapter = NULL;
    if (error >= 0)
        error = call(scene, "create a device", ferry_device_create(scene->adapter, &scene->device));
    if (error >= 0)
        error = call(scene, "create a queue", ferry_queue_create(scene->device, &scene->queue));
    if (error >= 0)
        error = call(scene, "create", ferry_allocation_create(scene->device, &wanted, &scene->allocation));
    if (error >= 0)
        error = call(scene, "make resident", ferry_make_resident(scene->device, &residency));
    if (error >= 0)
        error = call(scene, "wait for paging", ferry_device_wait_paging(scene->device, residency.paging_fence_value));
    return error;
}

// What was given back may be found until its entries are rewritten, which nothing waits for but a job that names what
// was mapped behind that.
static int let_go(struct scene *scene, const struct ferry_va *range)
{
    struct ferry_allocation_options wanted = {.size = sizeof wanted, .bytes = 4096};
    struct ferry_allocation *behind;
    struct ferry_residency residency = {.size = sizeof residency, .allocations = &behind, .count = 1};
    uint64_t fence;
    int error = call(scene, "free addresses", ferry_va_free(scene->device, range->address, range->bytes));

    if (error >= 0)
        error = call(scene, "create", ferry_allocation_create(scene->device, &wanted, &behind));
    if (error >= 0)
        error = call(scene, "make resident", ferry_make_resident(scene->device, &residency));
    if (error >= 0)
        error = call(scene, "fill", ferry_queue_fill(scene->queue, behind, 0, 8, 0, 1));
    if (error >= 0)
        error = call(scene, "submit", ferry_queue_submit(scene->queue, &fence));
    return error < 0 ? error : call(scene, "wait", ferry_queue_wait(scene->queue, fence));
}

static int play(struct scene *scene)
{
    struct ferry_va range = {.size = sizeof range, .address = UINT64_C(0x10000000), .bytes = BYTES / 2};
    struct ferry_va read_only = {.size = sizeof read_only, .address = UINT64_C(0x200000000), .bytes = BYTES};
    int error = call(scene, "map addresses", ferry_va_map(scene->device, scene->allocation, 0, false, &range));

    if (error >= 0)
        error = call(scene, "map addresses", ferry_va_map(scene->device, scene->allocation, 0, true, &read_only));
    if (error >= 0)
        error = call(scene, "fill", ferry_queue_fill_va(scene->queue, range.address + BYTES / 2 - 16, 32, 0, 1));
    if (error >= 0)
        error = show(scene, "a write that begins in what is mapped and goes on behind it");
    if (error >= 0)
        error = call(scene, "copy", ferry_queue_copy_va(scene->queue, range.address, UINT64_C(0x123456789abc), 8));
    if (error >= 0)
        error = show(scene, "a read far from everything");
    if (error >= 0)
        error = call(scene, "fill", ferry_queue_fill_va(scene->queue, read_only.address + 8, 8, 0, 1));
    if (error >= 0)
        error = show(scene, "a write to what is mapped read only");
    if (error >= 0)
        error = let_go(scene, &range);
    if (error >= 0)
        error = call(scene, "fill", ferry_queue_fill_va(scene->queue, range.address, 8, 0, 1));
    if (error >= 0)
        error = show(scene, "a write to addresses that were given back");
    return error;
}

int ferry_fault_walks(const char *backend, uint32_t tables)
{
    struct scene scene = {0};
    int error = open_scene(&scene, backend, tables);

    if (error >= 0)
        error = play(&scene);
    ferry_adapter_close(scene.adapter);
    if (error < 0) {
        ferry_complain("back end '%s': %s: %s: %s", backend ? backend : "sim", scene.failed, ferry_error_name(error),
                       ferry_why(error));
        return error == FERRY_ERROR_BACKEND ? FERRY_EXIT_USAGE : FERRY_EXIT_LIBRARY;
    }
    return scene.other ? FERRY_EXIT_WRONG : FERRY_EXIT_OK;
}
