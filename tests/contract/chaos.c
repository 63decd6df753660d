// SPDX-License-Identifier: Apache-2.0
// Two programs of a device or two each, and a device of nobody's, on one adapter: they create, write, lock (also over
// other calls), discard, list, evict, copy and fill at random. Meanwhile paging buffers fault after some of their
// packets, nodes hang and are reset, what was aborted may have run all the same, paging is held back, and devices are
// killed in the middle of their work. A device in error, or with a job that was blamed for a hang, is killed and begins
// anew; all others must not notice anything.
#include "chaos.h"

#include <stdio.h>
#include <stdlib.h>

#include "programs.h"
#include "vidmm/api/manager.h"

#define MOST    40
#define DEVICES 4

struct shadow {
    D3DKMT_HANDLE handle;
    uint8_t *bytes;
    uint64_t size;
    UINT flags;
    unsigned device, count;
    bool aperture, locked;
    UINT lock_flags;
    uint64_t first, pages; // of the lock
    uint8_t *view;
    void *existing;
    bool gpu_wrote; // since the count last left 0
};

static struct {
    uint64_t seed, random;
    unsigned step;
    struct world *world;
    struct shadow all[MOST];
    unsigned live;
    struct program devices[DEVICES];
    D3DKMT_HANDLE processes[2];
    bool discards, resets, kills, faults, hangs;
    unsigned jobs, refused, killed;
} run;

#define OKAY(what)       check((what) == FERRY_OK, #what)
#define CHECK(condition) check(condition, #condition)

static void check(bool good, const char *what)
{
    if (!good)
        fail_msg("FERRY_SEED=%llu step %u: %s", (unsigned long long)run.seed, run.step, what);
}

static uint32_t pick(uint32_t below)
{
    run.random ^= run.random << 13;
    run.random ^= run.random >> 7;
    run.random ^= run.random << 17;
    return (uint32_t)(run.random >> 20) % below;
}

static struct shadow *any(void)
{
    return run.live ? &run.all[pick(run.live)] : NULL;
}

static bool permanent(const struct shadow *s)
{
    return (s->flags & (DXGK_ALLOC_FLAG_PERMANENT_SYSMEM | DXGK_ALLOC_FLAG_EXISTING_SYSMEM)) != 0;
}

// ---- Devices ----

// Paging of its own was lost, or a job was blamed for a hang: what its allocations hold is nobody's business any more.
static bool in_error(unsigned number)
{
    const struct ferry_vm_device *device =
        ferry_vm_handle_find(&run.world->manager->core.handles, FERRY_VM_DEVICE, run.devices[number].device);
    if (!device || device->state != D3DKMT_DEVICEEXECUTION_ACTIVE)
        return true;
    for (struct ferry_vm_list *link = device->contexts.next; link != &device->contexts; link = link->next)
        if (FERRY_VM_CONTAINER(link, struct ferry_vm_context, link)->faulted_count != 0)
            return true;
    return false;
}

static void open_device(unsigned number)
{
    struct program *program = &run.devices[number];
    struct ferry_vidmm *manager = run.world->manager;
    program->process = run.processes[number / 2];
    if (number == DEVICES - 1)
        OKAY(ferry_vidmm_create_device(manager, &program->device));
    else
        OKAY(ferry_vidmm_create_device_of(manager, program->process, &program->device));
    OKAY(ferry_vidmm_create_paging_queue(manager, program->device, 0, &program->queue));
    OKAY(ferry_vidmm_create_context(manager, program->device, FERRY_VIDMM_ANY_NODE, &program->context, NULL));
}

static void forget(struct shadow *s)
{
    free(s->bytes);
    free(s->existing);
    *s = run.all[--run.live];
}

static void kill_device(unsigned number)
{
    OKAY(ferry_vidmm_destroy_device(run.world->manager, run.devices[number].device));
    for (unsigned i = run.live; i-- > 0;)
        if (run.all[i].device == number)
            forget(&run.all[i]);
    open_device(number);
}

static void kill_those_in_error(void)
{
    for (unsigned number = 0; number < DEVICES; number++) {
        if (!in_error(number))
            continue;
        run.killed++;
        kill_device(number);
    }
    for (unsigned i = 0; i < run.live; i++)
        CHECK(!world_place(run.world, run.all[i].handle).lost || in_error(run.all[i].device));
}

// Nothing to be said about an answer that the device's own state explains.
static bool lost(const struct shadow *s, int result)
{
    CHECK(result != FERRY_ERROR_DEVICE_LOST || in_error(s->device));
    return result == FERRY_ERROR_DEVICE_LOST;
}

// ---- Content ----

static void compare(const struct shadow *s, const uint8_t *view, uint64_t from, uint64_t to, const char *when)
{
    for (uint64_t i = from; i < to; i++) {
        if (view[i] == s->bytes[i])
            continue;
        if (in_error(s->device))
            return;
        fail_msg("FERRY_SEED=%llu step %u, %s: byte %llu of %llu is %02x and not %02x (flags %x, aperture %d)",
                 (unsigned long long)run.seed, run.step, when, (unsigned long long)i, (unsigned long long)s->size,
                 view[i], s->bytes[i], s->flags, s->aperture);
    }
}

static void write_words(struct shadow *s, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i += 4) {
        uint32_t word = pick(0x3FFFFFFF);
        memcpy(s->view + i, &word, 4);
        memcpy(s->bytes + i, &word, 4);
    }
}

static void unlock(struct shadow *s)
{
    bool reads = (s->lock_flags & D3DDDI_LOCK_READ_ONLY) != 0;
    uint64_t from = s->first * PAGE_SIZE, to = from + s->pages * PAGE_SIZE;
    if (!reads && pick(2)) {
        uint64_t at = from + 4 * pick((uint32_t)((to - from) / 4));
        write_words(s, at, at + 4);
    }
    if (!permanent(s) && !s->aperture)
        compare(s, s->view, 0, s->size, "at unlock");
    else if (!reads)
        compare(s, s->view, from, to, "at unlock, what was held");
    OKAY(ferry_vidmm_unlock(run.world->manager, s->handle));
    s->locked = false;
    s->view = NULL;
}

static UINT lock_flags(void)
{
    static const UINT kinds[] = {0,
                                 D3DDDI_LOCK_READ_ONLY,
                                 D3DDDI_LOCK_READ_ONLY,
                                 D3DDDI_LOCK_WRITE_ONLY,
                                 D3DDDI_LOCK_DO_NOT_EVICT,
                                 D3DDDI_LOCK_READ_ONLY | D3DDDI_LOCK_DO_NOT_EVICT,
                                 D3DDDI_LOCK_DISCARD,
                                 D3DDDI_LOCK_DISCARD | D3DDDI_LOCK_DO_NOT_EVICT};
    UINT flags = kinds[pick(run.discards ? 8 : 6)];
    return flags | (pick(6) == 0 ? D3DDDI_LOCK_DO_NOT_WAIT : 0);
}

static void lock(struct shadow *s)
{
    UINT flags = lock_flags();
    bool discards = (flags & D3DDDI_LOCK_DISCARD) != 0, reads = (flags & D3DDDI_LOCK_READ_ONLY) != 0;
    uint64_t pages = s->size / PAGE_SIZE;
    s->first = discards ? 0 : pick((uint32_t)pages);
    s->pages = discards ? pages : 1 + pick((uint32_t)(pages - s->first));
    void *address;
    int result = ferry_vidmm_lock_pages(run.world->manager, s->handle, flags, s->first, s->pages, &address);
    if ((result == FERRY_ERROR_BUSY && (flags & D3DDDI_LOCK_DO_NOT_WAIT) && !discards) || lost(s, result))
        return;
    OKAY(result);
    s->locked = true;
    s->view = address;
    s->lock_flags = flags;
    if (discards)
        write_words(s, 0, s->size);
    else if ((flags & D3DDDI_LOCK_WRITE_ONLY) == 0 || !s->aperture)
        compare(s, s->view, 0, s->size, "at lock");
    if (!reads)
        write_words(s, s->first * PAGE_SIZE, (s->first + s->pages) * PAGE_SIZE);
    if (pick(4))
        unlock(s);
}

// ---- Steps ----

static void create(void)
{
    static const UINT kinds[] = {CPU,
                                 CPU,
                                 PERMANENT,
                                 CPU | DXGK_ALLOC_FLAG_CACHED,
                                 CPU | DXGK_ALLOC_FLAG_FROM_END_OF_SEGMENT,
                                 PERMANENT | DXGK_ALLOC_FLAG_CACHED,
                                 CPU | DXGK_ALLOC_FLAG_EXISTING_SYSMEM};
    if (run.live == MOST)
        return;
    struct shadow *s = &run.all[run.live];
    *s = (struct shadow){.flags = kinds[pick(7)], .aperture = pick(5) == 0, .device = pick(DEVICES)};
    s->size = PAGES(1 + pick(pick(4) == 0 ? 20 : 5));
    struct ferry_allocation_private wanted = world_private(s->size, s->flags);
    wanted.Aperture = s->aperture;
    wanted.RenamingLimit = pick(4);
    wanted.Alignment = pick(6) == 0 ? 4 * PAGE_SIZE : 0;
    struct ferry_vidmm_allocation_options options = {.fill_pattern = pick(2) ? pick(1u << 30) : 0};
    s->bytes = malloc(s->size);
    for (uint64_t i = 0; i < s->size; i += 4)
        memcpy(s->bytes + i, &options.fill_pattern, 4);
    if ((s->flags & DXGK_ALLOC_FLAG_EXISTING_SYSMEM) != 0) {
        s->existing = aligned_alloc(PAGE_SIZE, s->size);
        memcpy(s->existing, s->bytes, s->size);
        options.existing = s->existing;
        options.existing_bytes = s->size;
    }
    program_become(run.world, &run.devices[s->device]);
    int result = world_try_create(run.world, &wanted, &options, &s->handle, NULL);
    run.live++;
    if (lost(s, result))
        forget(s);
    else
        OKAY(result);
}

static void destroy(struct shadow *s)
{
    int result = ferry_vidmm_destroy_allocation(run.world->manager, s->handle);
    CHECK(result == (s->locked ? FERRY_ERROR_LOCKED : FERRY_OK));
    if (result == FERRY_OK)
        forget(s);
}

static void require(struct shadow *s)
{
    D3DKMT_HANDLE list[4] = {s->handle};
    struct shadow *named[4] = {s};
    UINT count = 1;
    bool locked = s->locked && !permanent(s);
    for (unsigned more = pick(3); more > 0; more--) {
        struct shadow *other = any();
        if (other->device != s->device)
            continue;
        locked |= other->locked && !permanent(other);
        named[count] = other;
        list[count++] = other->handle;
    }
    D3DKMT_HANDLE queue = run.devices[s->device].queue;
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = queue, .NumAllocations = count, .AllocationList = list};
    arguments.Flags.CantTrimFurther = pick(2);
    int result = ferry_vidmm_make_resident(run.world->manager, &arguments);
    if (result == FERRY_ERROR_NO_VIDEO_MEMORY || (result == FERRY_ERROR_LOCKED && locked) || lost(s, result))
        return;
    CHECK(result == FERRY_OK || result == FERRY_PENDING);
    if (result == FERRY_PENDING && !pick(3)) {
        result = ferry_vidmm_wait_paging(run.world->manager, queue, arguments.PagingFenceValue);
        CHECK(lost(s, result) || result == FERRY_OK);
    }
    for (UINT i = 0; i < count; i++)
        if (named[i]->count++ == 0)
            named[i]->gpu_wrote = false;
}

static void evict(struct shadow *s)
{
    D3DDDICB_EVICT arguments = {.NumAllocations = 1, .AllocationList = &s->handle};
    arguments.Flags.NotWrittenTo = !s->gpu_wrote && pick(2);
    int result = ferry_vidmm_evict(run.world->manager, run.devices[s->device].device, &arguments);
    CHECK(result == (s->count ? FERRY_OK : FERRY_ERROR_NOT_RESIDENT));
    s->count -= s->count != 0;
}

// What the CPU holds for writing is left alone by the GPU.
static bool is_free(const struct shadow *s, uint64_t at, uint64_t bytes)
{
    return !s->locked ||
           (!s->aperture && ((s->lock_flags & D3DDDI_LOCK_READ_ONLY) != 0 || at + bytes <= s->first * PAGE_SIZE ||
                             at >= (s->first + s->pages) * PAGE_SIZE));
}

// True when the job is in the line.
static bool submit(const struct shadow *to, const struct machine_job *job,
                   const struct ferry_vidmm_reference *references, uint32_t count, bool locked)
{
    struct ferry_vidmm_submission buffer = {job->commands, job->bytes,   references,
                                            count,         job->patches, job->patch_count};
    D3DKMT_HANDLE context = run.devices[to->device].context;
    uint64_t fence;
    int result = ferry_vidmm_submit(run.world->manager, context, &buffer, 1, &fence);
    if (locked)
        CHECK(result == FERRY_ERROR_LOCKED || lost(to, result));
    run.refused += result == FERRY_ERROR_NO_VIDEO_MEMORY;
    if (locked || result == FERRY_ERROR_NO_VIDEO_MEMORY || lost(to, result))
        return false;
    OKAY(result);
    run.jobs++;
    if (pick(6) == 0) {
        result = ferry_vidmm_wait(run.world->manager, context, fence);
        CHECK(result == FERRY_OK || in_error(to->device));
    }
    return true;
}

static void copy_or_fill(void)
{
    struct shadow *to = any(), *from = any();
    for (unsigned i = 0; i < 20 && !to->count; i++)
        to = any();
    for (unsigned i = 0; i < 20 && (from->device != to->device || !from->count); i++)
        from = any();
    if (!to->count || !from->count || to->device != from->device)
        return;
    uint32_t bytes = 4 * (1 + pick(PAGE_SIZE)), pattern = pick(0x3FFFFFFF);
    bytes = bytes < to->size ? bytes : (uint32_t)to->size;
    bool copies = pick(2) && from != to && from->size >= bytes;
    uint64_t at = pick((uint32_t)(to->size - bytes) / 4 + 1) * 4;
    uint64_t from_at = copies ? pick((uint32_t)(from->size - bytes) + 1) : 0;
    if (!is_free(to, at, bytes) || (copies && !is_free(from, from_at, bytes)) ||
        (!copies && to->aperture && !machine_fills_aperture))
        return;
    struct machine_job job = {0};
    struct ferry_vidmm_reference references[2] = {{to->handle, true}, {from->handle, false}};
    if (copies)
        machine_job_copy(&job, 0, at, 1, from_at, bytes);
    else
        machine_job_fill(&job, 0, at, bytes, pattern);
    bool locked = (to->locked && !permanent(to)) || (copies && from->locked && !permanent(from));
    if (!submit(to, &job, references, copies ? 2 : 1, locked))
        return;
    to->gpu_wrote = true;
    if (copies)
        memcpy(to->bytes + at, from->bytes + from_at, bytes);
    for (uint64_t i = 0; i < bytes && !copies; i += 4)
        memcpy(to->bytes + at + i, &pattern, 4);
}

// Jobs that only name it: then a discard finds it busy.
static void keep_busy(struct shadow *s)
{
    for (unsigned i = pick(4); i > 0; i--) {
        struct machine_job job = {0};
        struct ferry_vidmm_reference reference = {s->handle, pick(2)};
        machine_job_nothing(&job);
        if (submit(s, &job, &reference, 1, s->locked && !permanent(s)))
            s->gpu_wrote |= reference.write;
    }
}

static void lock_or_unlock(struct shadow *s)
{
    if (run.discards && s->count && !s->locked && pick(2))
        keep_busy(s);
    if (s->locked)
        unlock(s);
    else
        lock(s);
    for (unsigned i = 0; i < 3; i++)
        if ((s = any())->locked)
            unlock(s);
}

static void go_wrong(void)
{
    struct machine_knobs *knobs = run.world->knobs;
    if (run.hangs && pick(150) == 0) {
        knobs->hang = true;
        knobs->late_abort = pick(2);
    }
    if (run.faults && pick(100) == 0)
        knobs->fault_paging = 1 + (pick(4) == 0);
    if (pick(30) == 0) {
        knobs->hold_paging = true;
        knobs->hold_turns = 4;
    }
    kill_those_in_error();
}

static void step(void)
{
    unsigned kind = pick(100);
    struct shadow *s = any();
    if (kind < 12)
        create();
    else if (!s)
        return;
    else if (kind < 15)
        destroy(s);
    else if (kind < 32)
        lock_or_unlock(s);
    else if (kind < 52)
        require(s);
    else if (kind < 60)
        evict(s);
    else if (kind < 92)
        copy_or_fill();
    else if (kind < 94 && run.resets && machine_queued_jobs(run.world->machine) == 0)
        CHECK(ferry_vidmm_reset_engine(run.world->manager) != FERRY_ERROR_TIMEOUT);
    else if (kind == 94 && run.kills && pick(6) == 0)
        kill_device(pick(DEVICES));
    else
        ferry_vidmm_poll(run.world->manager, pick(2));
}

// ---- A whole run ----

static void begin(uint64_t seed)
{
    memset(&run, 0, sizeof(run));
    run.seed = seed;
    run.random = seed * 0x9E3779B97F4A7C15u + 1;
    for (unsigned i = 0; i < 8; i++)
        pick(2);
    struct world_options options = world_defaults();
    if (pick(2)) {
        options.manager.paging_buffer_bytes = machine_least_page_bytes > 200 ? machine_least_page_bytes : 200;
        options.manager.paging_buffers = 3;
        options.manager.sub_transfer_bytes = PAGES(3);
    }
    options.machine.seed = seed;
    options.machine.coherent_aperture = pick(2);
    options.manager.turn_cycles = (uint64_t[]){1, 500, 20000, 0}[pick(4)];
    run.world = world_open(&options);
    spy.keep = false;
    OKAY(ferry_vidmm_destroy_device(run.world->manager, run.world->device));
    run.world->knobs->delay = (unsigned[]){0, 2, 6, 14}[pick(4)];
    run.discards = pick(3) > 0;
    run.resets = pick(2);
    run.kills = pick(2);
    run.faults = pick(4) > 0;
    run.hangs = pick(3) == 0;
    run.world->knobs->by_place = run.discards;
    run.world->knobs->busy_times = run.discards ? 0 : pick(2);
    run.world->knobs->scatter_pages = pick(2);
    for (unsigned i = 0; i < 2; i++) {
        struct ferry_vidmm_process_options process = {
            .size = sizeof(process), .weight = 1 + pick(3), .reservation = PAGES(8) * (pick(4) == 0)};
        OKAY(ferry_vidmm_create_process(run.world->manager, &process, &run.processes[i]));
    }
    for (unsigned number = 0; number < DEVICES; number++)
        open_device(number);
}

// Nothing goes wrong any more, and everything is looked at.
static void look_at_all(void)
{
    run.world->knobs->fault_paging = 0;
    run.world->knobs->hang = run.world->knobs->hold_paging = false;
    for (unsigned i = 0; i < 60; i++)
        ferry_vidmm_poll(run.world->manager, true);
    kill_those_in_error();
    for (unsigned i = 0; i < run.live; i++)
        if (run.all[i].locked)
            unlock(&run.all[i]);
    for (unsigned i = 0; i < run.live; i++) {
        struct shadow *s = &run.all[i];
        void *address;
        OKAY(ferry_vidmm_lock(run.world->manager, s->handle, D3DDDI_LOCK_READ_ONLY, &address));
        compare(s, address, 0, s->size, "at the end");
        OKAY(ferry_vidmm_unlock(run.world->manager, s->handle));
    }
}

void chaos_run(uint64_t seed, unsigned steps)
{
    begin(seed);
    for (run.step = 0; run.step < steps; run.step++) {
        go_wrong();
        step();
    }
    look_at_all();
    struct ferry_vidmm_statistics statistics = world_statistics(run.world);
    printf("  %llu: jobs %u refused %u evictions %llu moved %llu renames %llu; buffers that faulted %llu, killed %u\n",
           (unsigned long long)seed, run.jobs, run.refused, (unsigned long long)statistics.evictions,
           (unsigned long long)statistics.bytes_moved, (unsigned long long)statistics.renames,
           (unsigned long long)statistics.faulted_paging_buffers, run.killed);
    fflush(stdout);
    while (run.live)
        destroy(&run.all[0]);
    statistics = world_statistics(run.world);
    CHECK(statistics.resident_bytes == 0 && statistics.required_bytes == 0 && statistics.backing_bytes == 0);
    CHECK(statistics.allocations == 0 && statistics.renamed_bytes == 0);
    const char *text;
    if (machine_errors(run.world->machine, &text) || spy.errors)
        fail_msg("FERRY_SEED=%llu: the machine saw: %s; the spy: %s", (unsigned long long)seed, text, spy.first_error);
    world_close(run.world);
}
