// SPDX-License-Identifier: Apache-2.0
// A program of all calls of the manager, run again and again: in each run one call that it makes of somebody else
// fails, the first, the second, and so on until there is none left. The call of the manager in which that happens tells
// so by name and has changed nothing; called again it succeeds, the program goes on to its end, all content is as if
// nothing had happened, and nothing is left over. Where the contract knows no failure the manager stops with a record,
// and everything can still be taken apart.
#include <stdio.h>
#include <string.h>

#include "manager_calls.h"

// ---- What the program is made of ----

static int allocate_pages(void *context, size_t pages, unsigned flags, MDL **mdl)
{
    struct run *run = context;
    if (inject_hit(INJECT_MEMORY, "pages"))
        return FERRY_ERROR_NO_HOST_MEMORY;
    return run->real_pages->allocate(run->real_pages->context, pages, flags, mdl);
}

static int wrap_pages(void *context, void *memory, size_t pages, unsigned flags, MDL **mdl)
{
    struct run *run = context;
    if (inject_hit(INJECT_MEMORY, "wrap"))
        return FERRY_ERROR_NO_HOST_MEMORY;
    return run->real_pages->wrap(run->real_pages->context, memory, pages, flags, mdl);
}

static void unmap_pages(void *context, MDL *mdl)
{
    struct run *run = context;
    run->real_pages->unmap(run->real_pages->context, mdl);
}

static int map_pages(void *context, MDL *mdl)
{
    struct run *run = context;
    if (inject_hit(INJECT_MEMORY, "map"))
        return FERRY_ERROR_NO_HOST_MEMORY;
    return run->real_pages->map(run->real_pages->context, mdl);
}

static void free_pages(void *context, MDL *mdl)
{
    struct run *run = context;
    run->real_pages->free(run->real_pages->context, mdl);
}

static int start(struct run *run)
{
    run->real_pages = machine_platform(run->machine).pages;
    run->pages = (struct ferry_page_source){.context = run,
                                            .allocate = allocate_pages,
                                            .wrap = wrap_pages,
                                            .unmap = unmap_pages,
                                            .map = map_pages,
                                            .free = free_pages};
    struct ferry_vidmm_options options = {.size = sizeof(options),
                                          .miniport = inject_table(ferry_test_miniport()),
                                          .miniport_device_context = machine_adapter(run->machine),
                                          .platform = machine_platform(run->machine),
                                          .memory_limit_bytes = PAGES(16),
                                          .table_bytes = run->variant->iommu ? PAGES(32) : 0,
                                          .sub_transfer_bytes = run->variant->sub_transfer_bytes};
    options.platform.pages = &run->pages;
    return ferry_vidmm_start(&options, &run->manager);
}

static uint8_t existing_memory[2 * PAGE_SIZE] __attribute__((aligned(4096)));

const uint64_t SIZE[COUNT + 1] = {4, 6, 4, 3, 2, 2, 12, 6, 200};

int manager_create(struct run *run, unsigned number, unsigned device, uint64_t pages, UINT flags, UINT aperture)
{
    struct ferry_allocation_private wanted = {.Version = FERRY_ALLOCATION_PRIVATE_VERSION,
                                              .Size = sizeof(wanted),
                                              .Bytes = PAGES(pages),
                                              .Flags = flags,
                                              .Aperture = aperture};
    if (run->variant->iommu && aperture && (flags & DXGK_ALLOC_FLAG_EXISTING_SYSMEM) == 0)
        wanted.Flags2 = DXGK_ALLOC_FLAG2_NOTIFY_EVICTION;
    if (run->variant->iommu && aperture)
        wanted.Flags2 |= DXGK_ALLOC_FLAG2_NOTIFY_IOMMU_UNMAP;
    bool existing = (flags & DXGK_ALLOC_FLAG_EXISTING_SYSMEM) != 0;
    struct ferry_vidmm_allocation_options options = {.size = sizeof(options),
                                                     .private_data = &wanted,
                                                     .private_data_bytes = sizeof(wanted),
                                                     .existing = existing ? existing_memory : NULL,
                                                     .existing_bytes = existing ? PAGES(pages) : 0,
                                                     .fill_pattern = 0x01010101 * number};
    int result =
        ferry_vidmm_create_allocation(run->manager, run->device[device], &options, &run->allocation[number], NULL);
    if (result == FERRY_OK && run->count <= number)
        run->count = number + 1;
    return result;
}

static uint32_t word(uint32_t seed, uint64_t index)
{
    return seed * 2654435761u + (uint32_t)index * 2246822519u;
}

static void fill(uint32_t *words, uint32_t seed, uint64_t pages)
{
    for (uint64_t i = 0; i < pages * (PAGE_SIZE / 4); i++)
        words[i] = word(seed, i);
}

static int resident_as(struct run *run, bool last_attempt, unsigned device, const unsigned *numbers, UINT count,
                       uint64_t *value)
{
    D3DKMT_HANDLE list[MOST];
    for (UINT i = 0; i < count; i++)
        list[i] = run->allocation[numbers[i]];
    D3DDDI_MAKERESIDENT arguments = {
        .hPagingQueue = run->queue[device], .NumAllocations = count, .AllocationList = list};
    arguments.Flags.CantTrimFurther = last_attempt;
    int result = ferry_vidmm_make_resident(run->manager, &arguments);
    *value = result == FERRY_PENDING ? arguments.PagingFenceValue : 0;
    return result;
}

int manager_resident(struct run *run, unsigned device, const unsigned *numbers, UINT count, uint64_t *value)
{
    return resident_as(run, false, device, numbers, count, value);
}

int manager_evict(struct run *run, unsigned device, const unsigned *numbers, UINT count)
{
    D3DKMT_HANDLE list[MOST];
    for (UINT i = 0; i < count; i++)
        list[i] = run->allocation[numbers[i]];
    D3DDDICB_EVICT arguments = {.NumAllocations = count, .AllocationList = list};
    return ferry_vidmm_evict(run->manager, run->device[device], &arguments);
}

// The first words of `from` into those of `to`.
int manager_submit_reaching(struct run *run, unsigned to, unsigned from, uint64_t address, uint64_t *fence)
{
    // Much has been mapped since.
    const struct ferry_vidmm_reach reach = {.address = address, .bytes = PAGES(4), .rows = 1, .write = true};
    struct machine_job job = {0};
    machine_job_copy(&job, 0, 0, 1, 0, PAGE_SIZE);
    struct ferry_vidmm_reference references[2] = {{run->allocation[to], true}, {run->allocation[from], false}};
    struct ferry_vidmm_submission submission = {.commands = job.commands,
                                                .bytes = job.bytes,
                                                .references = references,
                                                .reference_count = 2,
                                                .patches = job.patches,
                                                .patch_count = job.patch_count,
                                                .reaches = &reach,
                                                .reach_count = 1};
    return ferry_vidmm_submit(run->manager, run->context[0], &submission, 1, fence);
}

int manager_submit(struct run *run, unsigned context, unsigned to, unsigned from, uint64_t *fence)
{
    struct machine_job job = {0};
    machine_job_copy(&job, 0, 0, 1, 0, PAGE_SIZE);
    struct ferry_vidmm_reference references[2] = {{run->allocation[to], true}, {run->allocation[from], false}};
    struct ferry_vidmm_submission submission = {.commands = job.commands,
                                                .bytes = job.bytes,
                                                .references = references,
                                                .reference_count = 2,
                                                .patches = job.patches,
                                                .patch_count = job.patch_count};
    return ferry_vidmm_submit(run->manager, run->context[context], &submission, 1, fence);
}

static int submit_nothing(struct run *run, unsigned context, unsigned number, uint64_t *fence)
{
    struct machine_job job = {0};
    machine_job_nothing(&job);
    struct ferry_vidmm_reference reference = {run->allocation[number], false};
    struct ferry_vidmm_submission submission = {
        .commands = job.commands, .bytes = job.bytes, .references = &reference, .reference_count = 1};
    return ferry_vidmm_submit(run->manager, run->context[context], &submission, 1, fence);
}

// A job of three buffers: the middle one does the work.
static int submit_three(struct run *run, unsigned context, unsigned to, unsigned from, uint64_t *fence)
{
    struct machine_job nothing = {0}, job = {0};
    machine_job_nothing(&nothing);
    machine_job_copy(&job, 0, 0, 1, 0, PAGE_SIZE);
    struct ferry_vidmm_reference references[2] = {{run->allocation[to], true}, {run->allocation[from], false}};
    struct ferry_vidmm_submission empty = {
        .commands = nothing.commands, .bytes = nothing.bytes, .references = &references[1], .reference_count = 1};
    struct ferry_vidmm_submission buffers[3] = {empty,
                                                {.commands = job.commands,
                                                 .bytes = job.bytes,
                                                 .references = references,
                                                 .reference_count = 2,
                                                 .patches = job.patches,
                                                 .patch_count = job.patch_count},
                                                empty};
    return ferry_vidmm_submit(run->manager, run->context[context], buffers, 3, fence);
}

static void check_content(struct run *run, unsigned number)
{
    void *address;
    CALL(ferry_vidmm_lock(run->manager, run->allocation[number], D3DDDI_LOCK_READ_ONLY, &address));
    for (uint64_t i = 0; i < SIZE[number] * (PAGE_SIZE / 4); i++) {
        // A page of PLAIN was copied to the front of MAPPED, KEPT and OTHER's first page stayed its own.
        uint32_t seed =
            (number == MAPPED || number == KEPT) && i < PAGE_SIZE / 4 ? run->seed[PLAIN] : run->seed[number];
        if (((uint32_t *)address)[i] != word(seed, i)) {
            wrong(&run->attempt, "content", "word %llu of allocation %u", (unsigned long long)i, number);
            break;
        }
    }
    CALL(ferry_vidmm_unlock(run->manager, run->allocation[number]));
}

static void write(struct run *run, unsigned number, uint32_t flags, uint32_t seed)
{
    void *address;
    CALL(ferry_vidmm_lock(run->manager, run->allocation[number], flags, &address));
    fill(address, seed, SIZE[number]);
    run->seed[number] = seed;
    CALL(ferry_vidmm_unlock(run->manager, run->allocation[number]));
}

static void make_all(struct run *run)
{
    CALL(start(run));
    for (unsigned i = 0; i < 2; i++) {
        CALL(ferry_vidmm_create_device(run->manager, &run->device[i]));
        CALL(ferry_vidmm_create_paging_queue(run->manager, run->device[i], (int)i, &run->queue[i]));
        CALL(ferry_vidmm_create_context(run->manager, run->device[i], i + 1, &run->context[i], NULL));
    }
    CALL(manager_create(run, PLAIN, 0, SIZE[PLAIN], CPU, 0));
    CALL(manager_create(run, LARGE, 0, SIZE[LARGE], CPU | DXGK_ALLOC_FLAG_CACHED, 0));
    CALL(manager_create(run, KEPT, 0, SIZE[KEPT], PERMANENT, 0));
    CALL(manager_create(run, MAPPED, 0, SIZE[MAPPED], CPU, 1));
    CALL(manager_create(run, OWN, 0, SIZE[OWN], CPU | DXGK_ALLOC_FLAG_EXISTING_SYSMEM | DXGK_ALLOC_FLAG_CACHED, 1));
    CALL(manager_create(run, FILLED, 0, SIZE[FILLED], 0, 0));
    CALL(manager_create(run, WIDE, 0, SIZE[WIDE], CPU, 0));
    CALL(manager_create(run, OTHER, 1, SIZE[OTHER], CPU, 0));
    static const unsigned written[] = {PLAIN, LARGE, KEPT, MAPPED, OWN, WIDE, OTHER};
    for (unsigned i = 0; i < sizeof(written) / sizeof(written[0]); i++)
        write(run, written[i], D3DDDI_LOCK_WRITE_ONLY, 100 + written[i]);
}

static void use_all(struct run *run)
{
    uint64_t value, fence, other;
    void *address;
    CALL(manager_resident(run, 0, LIST(PLAIN, LARGE, KEPT), &value));
    CALL(ferry_vidmm_wait_paging(run->manager, run->queue[0], value));
    CALL(manager_resident(run, 0, LIST(MAPPED, OWN), &value));
    CALL(manager_submit(run, 0, KEPT, PLAIN, &fence));
    CALL(manager_submit(run, 0, MAPPED, PLAIN, &fence));
    CALL(ferry_vidmm_wait(run->manager, run->context[0], fence));
    // What the GPU wrote through the aperture, and into what has a second copy.
    check_content(run, MAPPED);
    check_content(run, KEPT);
    CALL(manager_submit(run, 0, MAPPED, PLAIN, &fence));
    CALL(ferry_vidmm_lock_pages(run->manager, run->allocation[MAPPED], D3DDDI_LOCK_WRITE_ONLY, 1, 1, &address));
    CALL(ferry_vidmm_unlock(run->manager, run->allocation[MAPPED]));
    // Locks of every kind while it is in place.
    CALL(ferry_vidmm_lock_pages(run->manager, run->allocation[KEPT], 0, 1, 2, &address));
    CALL(ferry_vidmm_unlock(run->manager, run->allocation[KEPT]));
    CALL(manager_submit(run, 0, KEPT, PLAIN, &fence));
    CALL(ferry_vidmm_lock(run->manager, run->allocation[KEPT], D3DDDI_LOCK_DO_NOT_EVICT, &address));
    CALL(ferry_vidmm_unlock(run->manager, run->allocation[KEPT]));
    CALL(ferry_vidmm_lock(run->manager, run->allocation[PLAIN], D3DDDI_LOCK_DO_NOT_EVICT, &address));
    fill(address, 200, SIZE[PLAIN]);
    run->seed[PLAIN] = 200;
    CALL(ferry_vidmm_unlock(run->manager, run->allocation[PLAIN]));
    write(run, LARGE, D3DDDI_LOCK_DISCARD | D3DDDI_LOCK_WRITE_ONLY, 201);
    write(run, LARGE, D3DDDI_LOCK_WRITE_ONLY, 202);
    CALL(manager_submit(run, 0, MAPPED, PLAIN, &fence));
    CALL(manager_submit(run, 0, KEPT, PLAIN, &fence));
    CALL(ferry_vidmm_wait(run->manager, run->context[0], fence));
    // Others need the room: page-outs, discards, moves.
    CALL_FOR(FERRY_ERROR_NO_VIDEO_MEMORY, manager_resident(run, 0, LIST(WIDE), &value));
    CALL(manager_evict(run, 0, LIST(PLAIN, LARGE)));
    CALL(manager_resident(run, 0, LIST(WIDE), &value));
    CALL(manager_submit(run, 0, WIDE, WIDE, &fence));
    CALL(manager_evict(run, 0, LIST(WIDE)));
    CALL(manager_resident(run, 0, LIST(FILLED, PLAIN), &value));
    CALL(manager_resident(run, 1, LIST(OTHER), &value));
    CALL(submit_nothing(run, 1, OTHER, &other));
    CALL(ferry_vidmm_wait_paging(run->manager, run->queue[1], value));
    CALL(manager_evict(run, 0, LIST(FILLED, PLAIN, MAPPED)));
    CALL(manager_resident(run, 0, LIST(LARGE, MAPPED), &value));
    CALL(manager_submit(run, 0, LARGE, LARGE, &fence));
    CALL(ferry_vidmm_set_budget(run->manager, PAGES(8)));
    CALL(manager_evict(run, 0, LIST(LARGE)));
    CALL(manager_evict(run, 1, LIST(OTHER)));
    CALL(ferry_vidmm_set_budget(run->manager, 0));
    // Away by a reset while it works.
    CALL(manager_resident(run, 0, LIST(PLAIN, LARGE), &value));
    CALL(manager_submit(run, 0, KEPT, PLAIN, &fence));
    CALL(ferry_vidmm_reset_engine(run->manager));
    CALL(ferry_vidmm_poll(run->manager, false));
    // More jobs than the line takes without waiting.
    for (unsigned i = 0; i < 60; i++)
        if (submit_nothing(run, 0, PLAIN, &fence) != FERRY_OK)
            wrong(&run->attempt, "a job of many", "failed");
    for (unsigned i = 0; i < 7; i++)
        CALL(submit_nothing(run, 0, PLAIN, &fence));
    CALL(ferry_vidmm_wait(run->manager, run->context[0], fence));
    CALL(manager_submit(run, 0, KEPT, PLAIN, &fence));
    CALL(manager_submit(run, 0, MAPPED, PLAIN, &fence));
    CALL(ferry_vidmm_wait(run->manager, run->context[0], fence));
}

static int create_process(struct run *run, D3DKMT_HANDLE *process)
{
    struct ferry_vidmm_process_options options = {.size = sizeof(options), .weight = 2, .reservation = PAGES(2)};
    return ferry_vidmm_create_process(run->manager, &options, process);
}

// A program whose device is left to it.
static void programs(struct run *run)
{
    D3DKMT_HANDLE process, device, queue, context;
    CALL(create_process(run, &process));
    CALL(ferry_vidmm_set_weight(run->manager, process, 3));
    CALL(ferry_vidmm_set_reservation(run->manager, process, PAGES(3)));
    CALL(ferry_vidmm_create_device_of(run->manager, process, &device));
    CALL(ferry_vidmm_create_paging_queue(run->manager, device, 0, &queue));
    CALL(ferry_vidmm_create_context(run->manager, device, 1, &context, NULL));
    CALL(ferry_vidmm_destroy_process(run->manager, process));
}

// Discards while jobs of the old content are still to run.
static void discards(struct run *run)
{
    uint64_t value, fence;
    CALL(manager_resident(run, 0, LIST(PLAIN), &value));
    // So there is room for more instances, and without any delay nobody needs one.
    CALL(manager_evict(run, 0, LIST(LARGE)));
    for (unsigned i = 0; i < 3; i++) {
        CALL(manager_submit(run, 0, MAPPED, PLAIN, &fence));
        write(run, PLAIN, D3DDDI_LOCK_DISCARD | D3DDDI_LOCK_WRITE_ONLY, 300 + i);
    }
    struct ferry_vidmm_statistics statistics = {0};
    ferry_vidmm_statistics(run->manager, &statistics);
    if ((run->variant->delay != 0) != (statistics.renames != 0))
        wrong(&run->attempt, "discards", "%llu of them were renames", (unsigned long long)statistics.renames);
    CALL(manager_submit(run, 0, MAPPED, PLAIN, &fence));
    CALL(manager_submit(run, 0, KEPT, PLAIN, &fence));
    CALL(ferry_vidmm_wait(run->manager, run->context[0], fence));
}

// Two devices whose lists find no room together: each job of one puts the other's away.
static void turns(struct run *run)
{
    uint64_t value, fence;
    CALL(manager_evict(run, 0, LIST(PLAIN, PLAIN, KEPT, MAPPED, OWN)));
    CALL(manager_resident(run, 0, LIST(WIDE), &value));
    CALL(resident_as(run, true, 1, LIST(OTHER), &value));
    for (unsigned i = 0; i < 2; i++) {
        CALL(manager_submit(run, 0, WIDE, WIDE, &fence));
        CALL(ferry_vidmm_wait(run->manager, run->context[0], fence));
        CALL(submit_three(run, 1, OTHER, OTHER, &fence));
        CALL(ferry_vidmm_wait(run->manager, run->context[1], fence));
    }
    CALL(manager_evict(run, 0, LIST(WIDE)));
    CALL(manager_evict(run, 1, LIST(OTHER)));
}

static void end_all(struct run *run)
{
    for (unsigned i = 0; i < COUNT; i++)
        if (i != FILLED)
            check_content(run, i);
    uint64_t value;
    CALL(manager_resident(run, 0, LIST(FILLED), &value));
    CALL(ferry_vidmm_destroy_allocation(run->manager, run->allocation[MAPPED]));
    CALL(ferry_vidmm_destroy_allocation(run->manager, run->allocation[LARGE]));
    CALL(ferry_vidmm_destroy_context(run->manager, run->context[0]));
    CALL(ferry_vidmm_destroy_paging_queue(run->manager, run->queue[0]));
    void *address;
    CALL(ferry_vidmm_lock(run->manager, run->allocation[KEPT], 0, &address));
    CALL(ferry_vidmm_destroy_device(run->manager, run->device[0]));
}

static const struct variant variants[] = {
    {.name = "at once"},
    {.name = "later", .delay = 1, .busy_times = 1},
    {.name = "in small pieces", .delay = 2, .sub_transfer_bytes = PAGE_SIZE, .small_buffers = true},
    {.name = "behind an IOMMU", .delay = 1, .iommu = true, .host_tables = true}, // driver model 2
    {.name = "paged by addresses", .delay = 1, .iommu = true, .by_address = true},
};
#define VARIANTS (unsigned)(sizeof(variants) / sizeof(variants[0]))

static bool goes_on(const struct run *run)
{
    return !run->attempt.stopped && !run->attempt.failure[0];
}

static void run_once(unsigned variant, struct attempt *attempt)
{
    struct run run = {.variant = &variants[variant]};
    run.attempt.variant = run.variant->name;
    bool small = run.variant->small_buffers;
    struct machine_options options = {.local_bytes = PAGES(run.variant->iommu ? 64 : 32),
                                      .aperture_bytes = PAGES(run.variant->iommu ? 256 : 16),
                                      .model = run.variant->iommu ? 2 : 1,
                                      .iommu = run.variant->iommu,
                                      .by_address = run.variant->by_address,
                                      .host_tables = run.variant->host_tables,
                                      .version = run.variant->iommu ? DXGKDDI_WDDMv3_2 : 0,
                                      .paging_buffer_bytes = small ? 2 * machine_least_page_bytes : 0,
                                      .seed = 3};
    int64_t live = inject.live;
    // Open and close of the machine are not under test.
    run.machine = machine_open(&options);
    machine_knobs(run.machine)->delay = run.variant->delay;
    machine_knobs(run.machine)->busy_times = run.variant->busy_times;
    size_t pages = machine_pages_out(run.machine);
    static void (*const parts[2][6])(struct run *) = {
        {make_all, use_all, discards, turns, programs, end_all},
        {make_all, manager_updates, manager_addresses, manager_zeros, end_all}};
    for (size_t i = 0; i < 6 && parts[run.variant->iommu][i] && goes_on(&run); i++)
        parts[run.variant->iommu][i](&run);
    if (run.attempt.stopped)
        check_stopped(&run);
    inject_arm(!inject.fired); // In stop, too, where nobody is told of it.
    ferry_vidmm_stop(run.manager);
    inject.armed = false;
    const char *text;
    if (machine_pages_out(run.machine) != pages)
        wrong(&run.attempt, "the end", "%zu pages are not given back", machine_pages_out(run.machine) - pages);
    if (!run.attempt.stopped && machine_errors(run.machine, &text) != 0)
        wrong(&run.attempt, "the end", "the machine saw %s", text);
    machine_close(run.machine);
    if (inject.live != live)
        wrong(&run.attempt, "the end", "%lld blocks are not freed", (long long)(inject.live - live));
    *attempt = run.attempt;
}

int main(void)
{
    printf("miniport: %s\n", machine_miniport);
    return every_failure(run_once, VARIANTS);
}
