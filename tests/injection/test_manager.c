// SPDX-License-Identifier: Apache-2.0
// A program of all calls of the manager, run again and again: in each run one call that it makes of somebody else
// fails, the first, the second, and so on until there is none left. The call of the manager in which that happens tells
// so by name and has changed nothing; called again it succeeds, the program goes on to its end, all content is as if
// nothing had happened, and nothing is left over. Where the contract knows no failure the manager stops with a record,
// and everything can still be taken apart.
// cmocka.h wants these four before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject.h"
#include "machine.h"
#include "vidmm/api/manager.h"

#define PAGES(n)  ((uint64_t)(n)*PAGE_SIZE)
#define CPU       DXGK_ALLOC_FLAG_CPU_VISIBLE
#define PERMANENT (DXGK_ALLOC_FLAG_CPU_VISIBLE | DXGK_ALLOC_FLAG_PERMANENT_SYSMEM)
#define MOST      16

struct variant {
    const char *name;
    unsigned delay, busy_times;
    uint64_t sub_transfer_bytes;
    bool small_buffers;
};

struct run {
    const struct variant *variant;
    struct machine *machine;
    struct ferry_page_source pages; // the machine's, with failures
    const struct ferry_page_source *real_pages;
    struct ferry_vidmm *manager;
    D3DKMT_HANDLE device[2], queue[2], context[2];
    D3DKMT_HANDLE allocation[MOST];
    uint32_t seed[MOST]; // of its content
    unsigned count;
    bool stopped;
    char failure[400]; // the first thing that was wrong
};

static void wrong(struct run *run, const char *call, const char *format, ...)
{
    char text[200];
    va_list list;
    if (run->failure[0])
        return;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    snprintf(run->failure, sizeof(run->failure), "%s: %s number %llu fails (%s): %.120s: %s", run->variant->name,
             inject.kind == INJECT_MEMORY ? "memory" : "DDI call", (unsigned long long)inject.after,
             inject.what ? inject.what : "none", call, text);
}

// ---- What a call that fails must not change ----

struct look {
    struct ferry_vidmm_placement place[MOST];
    D3DKMT_DEVICEEXECUTION_STATE state[2];
    struct ferry_vidmm_statistics statistics;
    uint64_t fence[2], paging[2];
    uint32_t handles; // that are live, found or not
};

static void look(const struct run *run, struct look *look)
{
    memset(look, 0, sizeof(*look));
    if (!run->manager)
        return;
    struct ferry_vidmm_statistics s = {0};
    ferry_vidmm_statistics(run->manager, &s);
    for (unsigned i = 0; i < run->count; i++) {
        struct ferry_vidmm_placement place;
        if (ferry_vidmm_placement(run->manager, run->allocation[i], &place) == FERRY_OK)
            look->place[i] = place;
    }
    for (unsigned i = 0; i < 2; i++)
        ferry_vidmm_device_state(run->manager, run->device[i], &look->state[i]);
    look->handles = run->manager->core.handles.count - run->manager->core.handles.free_count;
    look->statistics.allocations = s.allocations;
    look->statistics.required_bytes = s.required_bytes;
    look->statistics.budget_bytes = s.budget_bytes;
    look->statistics.on_demand_bytes = s.on_demand_bytes;
    look->statistics.contents_lost = s.contents_lost;
    look->statistics.faulted_jobs = s.faulted_jobs;
    look->statistics.faulted_paging_buffers = s.faulted_paging_buffers;
    // Fences are reached when the GPU is so far.
    if (run->variant->delay == 0)
        for (unsigned i = 0; i < 2; i++) {
            ferry_vidmm_completed(run->manager, run->context[i], &look->fence[i]);
            ferry_vidmm_paging_fence(run->manager, run->queue[i], &look->paging[i]);
        }
}

static void compare(struct run *run, const char *call, const struct look *then, const struct look *now)
{
    for (unsigned i = 0; i < run->count; i++) {
        const struct ferry_vidmm_placement *a = &then->place[i], *b = &now->place[i];
        // Which place it has, and whether one that no residency list names has one at all, is the manager's business.
        bool listed = a->residency_count != 0 || a->locked;
        if (listed && a->segment != b->segment)
            wrong(run, call, "allocation %u was in segment %u and is in %u", i, a->segment, b->segment);
        if (listed && (a->dirty != b->dirty || a->has_backing != b->has_backing))
            wrong(run, call, "allocation %u is dirty %d backed %d, before %d %d", i, b->dirty, b->has_backing, a->dirty,
                  a->has_backing);
        if (a->residency_count != b->residency_count)
            wrong(run, call, "allocation %u counts %u, before %u", i, b->residency_count, a->residency_count);
        if (a->locked != b->locked || a->lost != b->lost)
            wrong(run, call, "allocation %u is locked %d lost %d, before %d %d", i, b->locked, b->lost, a->locked,
                  a->lost);
    }
    for (unsigned i = 0; i < 2; i++) {
        if (then->state[i] != now->state[i])
            wrong(run, call, "device %u is in state %d", i, (int)now->state[i]);
        if (then->fence[i] != now->fence[i] || then->paging[i] != now->paging[i])
            wrong(run, call, "a fence has moved");
    }
    if (then->handles != now->handles)
        wrong(run, call, "%u handles are live, before %u", now->handles, then->handles);
    const struct ferry_vidmm_statistics *a = &then->statistics, *b = &now->statistics;
    if (memcmp(a, b, sizeof(*a)) != 0)
        wrong(run, call, "statistics have changed");
}

// ---- One call ----

// The manager has stopped: it says so, why, and nothing else.
static void check_stopped(struct run *run, const char *call)
{
    struct ferry_vidmm_critical record;
    D3DKMT_HANDLE handle = 0;
    run->stopped = true;
    if (!inject.stops)
        wrong(run, call, "the manager has stopped");
    if (run->manager && (!ferry_vidmm_critical(run->manager, &record) || record.code == FERRY_CRITICAL_NONE))
        wrong(run, call, "no record of the stop");
    if (run->manager && ferry_vidmm_create_device(run->manager, &handle) != FERRY_ERROR_CRITICAL)
        wrong(run, call, "works on after the stop");
}

// Did it fail for what was injected, as it should? Then it is to be called again.
static bool again(struct run *run, const char *call, int result, int wanted, bool fresh, const struct look *before)
{
    inject.armed = false;
    if (result == wanted || (wanted == FERRY_OK && result == FERRY_PENDING))
        return false;
    if (!fresh || !inject.fired) {
        wrong(run, call, "returned %s unasked", ferry_error_name(result));
        return false;
    }
    if (result == FERRY_ERROR_CRITICAL) {
        check_stopped(run, call);
        return false;
    }
    if (inject.kind == INJECT_MEMORY && result != FERRY_ERROR_NO_HOST_MEMORY)
        wrong(run, call, "returned %s for want of host memory", ferry_error_name(result));
    if (inject.kind == INJECT_DDI && result != FERRY_ERROR_DEVICE_LOST && result != FERRY_ERROR_TIMEOUT)
        wrong(run, call, "returned %s for the miniport's error", ferry_error_name(result));
    if (inject.kind == INJECT_MEMORY && strstr(call, "_destroy"))
        wrong(run, call, "is kept for want of memory to destroy it");
    struct look now;
    look(run, &now);
    compare(run, call, before, &now);
    return true;
}

#define CALL_AS(wanted, expression, text)                                                                              \
    do {                                                                                                               \
        struct look before;                                                                                            \
        if (run->stopped || run->failure[0])                                                                           \
            return;                                                                                                    \
        look(run, &before);                                                                                            \
        bool fresh = !inject.fired;                                                                                    \
        inject_arm(fresh);                                                                                             \
        if (again(run, text, (expression), wanted, fresh, &before))                                                    \
            again(run, text " once more", (expression), wanted, false, &before);                                       \
        if (run->stopped || run->failure[0])                                                                           \
            return;                                                                                                    \
    } while (0)
#define CALL_FOR(wanted, expression) CALL_AS(wanted, expression, #expression)
#define CALL(expression)             CALL_AS(FERRY_OK, expression, #expression)

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

static void free_pages(void *context, MDL *mdl)
{
    struct run *run = context;
    run->real_pages->free(run->real_pages->context, mdl);
}

static int start(struct run *run)
{
    run->real_pages = machine_platform(run->machine).pages;
    run->pages =
        (struct ferry_page_source){.context = run, .allocate = allocate_pages, .wrap = wrap_pages, .free = free_pages};
    struct ferry_vidmm_options options = {.size = sizeof(options),
                                          .miniport = inject_table(ferry_test_miniport()),
                                          .miniport_device_context = machine_adapter(run->machine),
                                          .platform = machine_platform(run->machine),
                                          .memory_limit_bytes = PAGES(16),
                                          .sub_transfer_bytes = run->variant->sub_transfer_bytes};
    options.platform.pages = &run->pages;
    return ferry_vidmm_start(&options, &run->manager);
}

static uint8_t existing_memory[2 * PAGE_SIZE] __attribute__((aligned(4096)));

static int create(struct run *run, unsigned number, unsigned device, uint64_t pages, UINT flags, UINT aperture)
{
    struct ferry_allocation_private wanted = {.Version = FERRY_ALLOCATION_PRIVATE_VERSION,
                                              .Size = sizeof(wanted),
                                              .Bytes = PAGES(pages),
                                              .Flags = flags,
                                              .Aperture = aperture};
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

static int resident(struct run *run, unsigned device, const unsigned *numbers, UINT count, uint64_t *value)
{
    D3DKMT_HANDLE list[MOST];
    for (UINT i = 0; i < count; i++)
        list[i] = run->allocation[numbers[i]];
    D3DDDI_MAKERESIDENT arguments = {
        .hPagingQueue = run->queue[device], .NumAllocations = count, .AllocationList = list};
    int result = ferry_vidmm_make_resident(run->manager, &arguments);
    *value = result == FERRY_PENDING ? arguments.PagingFenceValue : 0;
    return result;
}

static int evict(struct run *run, unsigned device, const unsigned *numbers, UINT count)
{
    D3DKMT_HANDLE list[MOST];
    for (UINT i = 0; i < count; i++)
        list[i] = run->allocation[numbers[i]];
    D3DDDICB_EVICT arguments = {.NumAllocations = count, .AllocationList = list};
    return ferry_vidmm_evict(run->manager, run->device[device], &arguments);
}

// The first words of `from` into those of `to`.
static int submit(struct run *run, unsigned context, unsigned to, unsigned from, uint64_t *fence)
{
    struct machine_job job = {0};
    machine_job_copy(&job, 0, 0, 1, 0, PAGE_SIZE);
    struct ferry_vidmm_reference references[2] = {{run->allocation[to], true}, {run->allocation[from], false}};
    struct ferry_vidmm_submission submission = {job.commands, job.bytes, references, 2, job.patches, job.patch_count};
    return ferry_vidmm_submit(run->manager, run->context[context], &submission, 1, fence);
}

static int submit_nothing(struct run *run, unsigned context, unsigned number, uint64_t *fence)
{
    struct machine_job job = {0};
    machine_job_nothing(&job);
    struct ferry_vidmm_reference reference = {run->allocation[number], false};
    struct ferry_vidmm_submission submission = {job.commands, job.bytes, &reference, 1, NULL, 0};
    return ferry_vidmm_submit(run->manager, run->context[context], &submission, 1, fence);
}

#define LIST(...) (const unsigned[]){__VA_ARGS__}, sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned)

enum { PLAIN, LARGE, KEPT, MAPPED, OWN, FILLED, WIDE, OTHER, COUNT };
static const uint64_t SIZE[COUNT] = {4, 6, 4, 3, 2, 2, 12, 6};

static void check_content(struct run *run, unsigned number)
{
    void *address;
    CALL(ferry_vidmm_lock(run->manager, run->allocation[number], D3DDDI_LOCK_READ_ONLY, &address));
    for (uint64_t i = 0; i < SIZE[number] * (PAGE_SIZE / 4); i++) {
        // A page of PLAIN was copied to the front of MAPPED, KEPT and OTHER's first page stayed its own.
        uint32_t seed =
            (number == MAPPED || number == KEPT) && i < PAGE_SIZE / 4 ? run->seed[PLAIN] : run->seed[number];
        if (((uint32_t *)address)[i] != word(seed, i)) {
            wrong(run, "content", "word %llu of allocation %u", (unsigned long long)i, number);
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
    CALL(create(run, PLAIN, 0, SIZE[PLAIN], CPU, 0));
    CALL(create(run, LARGE, 0, SIZE[LARGE], CPU | DXGK_ALLOC_FLAG_CACHED, 0));
    CALL(create(run, KEPT, 0, SIZE[KEPT], PERMANENT, 0));
    CALL(create(run, MAPPED, 0, SIZE[MAPPED], CPU, 1));
    CALL(create(run, OWN, 0, SIZE[OWN], CPU | DXGK_ALLOC_FLAG_EXISTING_SYSMEM | DXGK_ALLOC_FLAG_CACHED, 1));
    CALL(create(run, FILLED, 0, SIZE[FILLED], 0, 0));
    CALL(create(run, WIDE, 0, SIZE[WIDE], CPU, 0));
    CALL(create(run, OTHER, 1, SIZE[OTHER], CPU, 0));
    static const unsigned written[] = {PLAIN, LARGE, KEPT, MAPPED, OWN, WIDE, OTHER};
    for (unsigned i = 0; i < sizeof(written) / sizeof(written[0]); i++)
        write(run, written[i], D3DDDI_LOCK_WRITE_ONLY, 100 + written[i]);
}

static void use_all(struct run *run)
{
    uint64_t value, fence, other;
    void *address;
    CALL(resident(run, 0, LIST(PLAIN, LARGE, KEPT), &value));
    CALL(ferry_vidmm_wait_paging(run->manager, run->queue[0], value));
    CALL(resident(run, 0, LIST(MAPPED, OWN), &value));
    CALL(submit(run, 0, KEPT, PLAIN, &fence));
    CALL(submit(run, 0, MAPPED, PLAIN, &fence));
    CALL(ferry_vidmm_wait(run->manager, run->context[0], fence));
    // What the GPU wrote through the aperture, and into what has a second copy.
    check_content(run, MAPPED);
    check_content(run, KEPT);
    CALL(submit(run, 0, MAPPED, PLAIN, &fence));
    CALL(ferry_vidmm_lock_pages(run->manager, run->allocation[MAPPED], D3DDDI_LOCK_WRITE_ONLY, 1, 1, &address));
    CALL(ferry_vidmm_unlock(run->manager, run->allocation[MAPPED]));
    // Locks of every kind while it is in place.
    CALL(ferry_vidmm_lock_pages(run->manager, run->allocation[KEPT], 0, 1, 2, &address));
    CALL(ferry_vidmm_unlock(run->manager, run->allocation[KEPT]));
    CALL(submit(run, 0, KEPT, PLAIN, &fence));
    CALL(ferry_vidmm_lock(run->manager, run->allocation[KEPT], D3DDDI_LOCK_DO_NOT_EVICT, &address));
    CALL(ferry_vidmm_unlock(run->manager, run->allocation[KEPT]));
    CALL(ferry_vidmm_lock(run->manager, run->allocation[PLAIN], D3DDDI_LOCK_DO_NOT_EVICT, &address));
    fill(address, 200, SIZE[PLAIN]);
    run->seed[PLAIN] = 200;
    CALL(ferry_vidmm_unlock(run->manager, run->allocation[PLAIN]));
    write(run, LARGE, D3DDDI_LOCK_DISCARD | D3DDDI_LOCK_WRITE_ONLY, 201);
    write(run, LARGE, D3DDDI_LOCK_WRITE_ONLY, 202);
    CALL(submit(run, 0, MAPPED, PLAIN, &fence));
    CALL(submit(run, 0, KEPT, PLAIN, &fence));
    CALL(ferry_vidmm_wait(run->manager, run->context[0], fence));
    // Others need the room: page-outs, discards, moves.
    CALL_FOR(FERRY_ERROR_NO_VIDEO_MEMORY, resident(run, 0, LIST(WIDE), &value));
    CALL(evict(run, 0, LIST(PLAIN, LARGE)));
    CALL(resident(run, 0, LIST(WIDE), &value));
    CALL(submit(run, 0, WIDE, WIDE, &fence));
    CALL(evict(run, 0, LIST(WIDE)));
    CALL(resident(run, 0, LIST(FILLED, PLAIN), &value));
    CALL(resident(run, 1, LIST(OTHER), &value));
    CALL(submit_nothing(run, 1, OTHER, &other));
    CALL(ferry_vidmm_wait_paging(run->manager, run->queue[1], value));
    CALL(evict(run, 0, LIST(FILLED, PLAIN, MAPPED)));
    CALL(resident(run, 0, LIST(LARGE, MAPPED), &value));
    CALL(submit(run, 0, LARGE, LARGE, &fence));
    CALL(ferry_vidmm_set_budget(run->manager, PAGES(8)));
    CALL(evict(run, 0, LIST(LARGE)));
    CALL(evict(run, 1, LIST(OTHER)));
    CALL(ferry_vidmm_set_budget(run->manager, 0));
    // Away by a reset while it works.
    CALL(resident(run, 0, LIST(PLAIN, LARGE), &value));
    CALL(submit(run, 0, KEPT, PLAIN, &fence));
    CALL(ferry_vidmm_reset_engine(run->manager));
    CALL(ferry_vidmm_poll(run->manager, false));
    // More jobs than the line takes without waiting.
    for (unsigned i = 0; i < 60; i++)
        if (submit_nothing(run, 0, PLAIN, &fence) != FERRY_OK)
            wrong(run, "a job of many", "failed");
    for (unsigned i = 0; i < 7; i++)
        CALL(submit_nothing(run, 0, PLAIN, &fence));
    CALL(ferry_vidmm_wait(run->manager, run->context[0], fence));
    CALL(submit(run, 0, KEPT, PLAIN, &fence));
    CALL(submit(run, 0, MAPPED, PLAIN, &fence));
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
    CALL(resident(run, 0, LIST(PLAIN), &value));
    for (unsigned i = 0; i < 3; i++) {
        CALL(submit(run, 0, MAPPED, PLAIN, &fence));
        write(run, PLAIN, D3DDDI_LOCK_DISCARD | D3DDDI_LOCK_WRITE_ONLY, 300 + i);
    }
    CALL(submit(run, 0, MAPPED, PLAIN, &fence));
    CALL(submit(run, 0, KEPT, PLAIN, &fence));
    CALL(ferry_vidmm_wait(run->manager, run->context[0], fence));
}

static void end_all(struct run *run)
{
    for (unsigned i = 0; i < COUNT; i++)
        if (i != FILLED)
            check_content(run, i);
    uint64_t value;
    CALL(resident(run, 0, LIST(FILLED), &value));
    CALL(ferry_vidmm_destroy_allocation(run->manager, run->allocation[MAPPED]));
    CALL(ferry_vidmm_destroy_allocation(run->manager, run->allocation[LARGE]));
    CALL(ferry_vidmm_destroy_context(run->manager, run->context[0]));
    CALL(ferry_vidmm_destroy_paging_queue(run->manager, run->queue[0]));
    void *address;
    CALL(ferry_vidmm_lock(run->manager, run->allocation[KEPT], 0, &address));
    CALL(ferry_vidmm_destroy_device(run->manager, run->device[0]));
}

static void run_once(struct run *run, enum inject_kind kind, uint64_t after)
{
    // Open and close of the machine are not under test.
    bool small = run->variant->small_buffers;
    struct machine_options options = {.local_bytes = PAGES(32),
                                      .aperture_bytes = PAGES(16),
                                      .paging_buffer_bytes = small ? 2 * machine_least_page_bytes : 0,
                                      .seed = 3};
    int64_t live = inject.live;
    inject_set(INJECT_NOTHING, 0, 0);
    run->machine = machine_open(&options);
    machine_knobs(run->machine)->delay = run->variant->delay;
    machine_knobs(run->machine)->busy_times = run->variant->busy_times;
    size_t pages = machine_pages_out(run->machine);
    inject_set(kind, after, STATUS_DEVICE_REMOVED);
    make_all(run);
    if (!run->stopped && !run->failure[0])
        use_all(run);
    if (!run->stopped && !run->failure[0])
        discards(run);
    if (!run->stopped && !run->failure[0])
        programs(run);
    if (!run->stopped && !run->failure[0])
        end_all(run);
    inject_arm(!inject.fired); // In stop, too, where nobody is told of it.
    ferry_vidmm_stop(run->manager);
    inject.armed = false;
    const char *text;
    if (machine_pages_out(run->machine) != pages)
        wrong(run, "the end", "%zu pages are not given back", machine_pages_out(run->machine) - pages);
    if (!run->stopped && machine_errors(run->machine, &text) != 0)
        wrong(run, "the end", "the machine saw %s", text);
    machine_close(run->machine);
    if (inject.live != live)
        wrong(run, "the end", "%lld blocks are not freed", (long long)(inject.live - live));
}

static uint64_t first_only, last_only = UINT64_MAX; // numbers of failures, to look at one closer

static void every_failure(enum inject_kind kind)
{
    static const struct variant variants[] = {
        {.name = "at once"},
        {.name = "later", .delay = 1, .busy_times = 1},
        {.name = "in small pieces", .delay = 2, .sub_transfer_bytes = PAGE_SIZE, .small_buffers = true},
    };
    unsigned bad = 0;
    uint64_t sum = 0;
    for (size_t v = 0; v < sizeof(variants) / sizeof(variants[0]); v++) {
        uint64_t n = first_only ? first_only : 1;
        for (bool more = true; more && n <= last_only; n++) {
            struct run run = {.variant = &variants[v]};
            run_once(&run, kind, n);
            more = inject.fired;
            if (run.failure[0] && bad++ < 40)
                print_error("%s\n", run.failure);
        }
        sum += n - 2;
    }
    printf("%llu failures, one at a time\n", (unsigned long long)sum);
    assert_true(first_only || sum > 0); // Without one nothing was injected.
    assert_int_equal(bad, 0);
}

static void every_failure_of_memory_leaves_the_state_as_it_was(void **state)
{
    (void)state;
    every_failure(INJECT_MEMORY);
}

static void every_failure_of_a_ddi_call_is_named_and_changes_nothing(void **state)
{
    (void)state;
    every_failure(INJECT_DDI);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failure_of_memory_leaves_the_state_as_it_was),
        cmocka_unit_test(every_failure_of_a_ddi_call_is_named_and_changes_nothing),
    };
    if (getenv("INJECT_ONLY"))
        first_only = last_only = strtoull(getenv("INJECT_ONLY"), NULL, 0);
    printf("miniport: %s\n", machine_miniport);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
