// SPDX-License-Identifier: Apache-2.0
// The same from above: a program of all calls of the public interface, on the real miniport over the reference model,
// and in each run one allocation of memory, or one call of the miniport, fails. The call says so by name; residency
// counts, places and what is being recorded are as before, and the user-mode driver counts what the manager counts.
#include <stdio.h>
#include <string.h>

#include "../system/adapter_inside.h"
#include "every_failure.h"
#include "ferry/ferry.h"
#include "firmware_image.h"
#include "model/model_link.h"
#include "umd/recording.h"
#include "vidmm/api/manager.h"

#define PAGES(n) ((uint64_t)(n)*FERRY_PAGE_BYTES)

// The model runs no firmware: one word to load is enough.
const unsigned char ferry_firmware_image[] = {0, 0, 0, 0};
const unsigned ferry_firmware_image_bytes = sizeof(ferry_firmware_image);

// ---- The one back end ----

int ferry_link_open(const char *name, const struct ferry_link_config *config, struct ferry_link **link)
{
    struct ferry_model_options options = {.local_bytes = PAGES(64), .aperture_pages = 64, .tiling = true};
    (void)name;
    return ferry_model_link_open(&options, config, link);
}

const char *ferry_link_backend_name(size_t n)
{
    return n == 0 ? "model" : NULL;
}

// What the user-mode driver calls instead of ferry_kmd_miniport().
const DRIVER_INITIALIZATION_DATA *inject_kmd_miniport(void);
const DRIVER_INITIALIZATION_DATA *inject_kmd_miniport(void)
{
    static const DRIVER_INITIALIZATION_DATA *table;
    if (!table)
        table = inject_table(ferry_kmd_miniport());
    return table;
}

// The table of handles seldom grows, but it could each time.
void *__real_umd_handle_make(enum umd_kind kind, void *object, struct umd_adapter *adapter);
void *__wrap_umd_handle_make(enum umd_kind kind, void *object, struct umd_adapter *adapter);
void *__wrap_umd_handle_make(enum umd_kind kind, void *object, struct umd_adapter *adapter)
{
    return inject_hit(INJECT_MEMORY, "handle") ? NULL : __real_umd_handle_make(kind, object, adapter);
}

// ---- State ----

enum { PLAIN, LARGE, KEPT, MAPPED, OWN, WIDE, COUNT };
static const uint64_t SIZE[COUNT] = {4, 6, 4, 3, 2, 12};

struct run {
    struct attempt attempt;
    struct ferry_adapter *adapter;
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_process *process;
    struct ferry_allocation *allocation[COUNT];
    uint8_t content[COUNT]; // every byte of it
};

struct look {
    struct ferry_placement place[COUNT];
    uint64_t jobs[FERRY_VM_MAX_NODES], operations; // queued
    size_t recorded;                               // commands of the job being recorded
};

static void look(struct run *run, const char *call, struct look *look)
{
    memset(look, 0, sizeof(*look));
    struct umd_adapter *inside = adapter_inside(run->adapter);
    if (!inside)
        return;
    struct ferry_vidmm_statistics statistics = {0};
    bool works = ferry_vidmm_statistics(inside->vidmm, &statistics) == FERRY_OK;
    look->operations = inside->vidmm->sched.queued;
    for (unsigned i = 0; i < inside->vidmm->sched.node_count; i++)
        look->jobs[i] = inside->vidmm->sched.nodes[i].queued;
    uint64_t allocations = 0, listed = 0, counted = 0,
             objects = run->process && umd_object(inside, UMD_PROCESS, run->process);
    for (const struct umd_device *device = inside->devices; device; device = device->next) {
        objects += 2; // with its paging queue
        for (const struct umd_allocation *a = device->allocations; a; a = a->next) {
            struct ferry_vidmm_placement place;
            allocations++;
            counted += a->count != 0;
            if (works && (ferry_vidmm_placement(inside->vidmm, a->vidmm, &place) != FERRY_OK ||
                          place.residency_count != a->count))
                wrong(&run->attempt, call, "the user-mode driver counts otherwise than the manager");
        }
        for (const struct umd_allocation *a = device->newest; a; a = a->older)
            listed++;
        for (const struct umd_queue *queue = device->queues; queue; queue = queue->next, objects++)
            for (size_t i = 0; queue->recording && i < queue->recording->chunk_count; i++)
                look->recorded += queue->recording->chunks[i].bytes;
    }
    if (listed != counted)
        wrong(&run->attempt, call, "%llu on residency lists, %llu with a count", (unsigned long long)listed,
              (unsigned long long)counted);
    const struct ferry_vm_handles *handles = &inside->vidmm->core.handles;
    if (works && objects + allocations != handles->count - handles->free_count)
        wrong(&run->attempt, call, "%llu objects, the manager has %u", (unsigned long long)(objects + allocations),
              handles->count - handles->free_count);
    if (works && allocations != statistics.allocations)
        wrong(&run->attempt, call, "%llu allocations, the manager has %llu", (unsigned long long)allocations,
              (unsigned long long)statistics.allocations);
    for (unsigned i = 0; i < COUNT; i++) {
        struct ferry_placement place = {.size = sizeof(place)};
        if (ferry_allocation_placement(run->allocation[i], &place) == FERRY_OK)
            look->place[i] = place;
    }
}

static void compare(struct run *run, const char *call, const struct look *then, const struct look *now)
{
    struct attempt *attempt = &run->attempt;
    for (unsigned i = 0; i < COUNT; i++) {
        const struct ferry_placement *a = &then->place[i], *b = &now->place[i];
        if (a->residency_count != b->residency_count || a->instances != b->instances)
            wrong(attempt, call, "allocation %u counts %u with %u instances, before %u with %u", i, b->residency_count,
                  b->instances, a->residency_count, a->instances);
        if (a->segment != b->segment || a->offset != b->offset || a->dirty != b->dirty)
            wrong(attempt, call, "allocation %u is in segment %u at %llx, dirty %d, before in %u at %llx, %d", i,
                  b->segment, (unsigned long long)b->offset, b->dirty, a->segment, (unsigned long long)a->offset,
                  a->dirty);
    }
    if (then->recorded != now->recorded)
        wrong(attempt, call, "%zu bytes of commands are recorded, before %zu", now->recorded, then->recorded);
    if (then->operations != now->operations || memcmp(then->jobs, now->jobs, sizeof(now->jobs)) != 0)
        wrong(attempt, call, "%llu operations are queued, or a job",
              (unsigned long long)(now->operations - then->operations));
}

// ---- The program ----

// The device has no page tables, so it is driver model 1 without a word, with views of tiles.
static int open_adapter(struct run *run)
{
    struct ferry_adapter_options options = {.size = sizeof(options), .video_memory_bytes = PAGES(16)};
    return ferry_adapter_open(&options, &run->adapter);
}

static uint8_t existing_memory[2 * FERRY_PAGE_BYTES] __attribute__((aligned(4096)));

static int create(struct run *run, unsigned number, uint32_t flags)
{
    struct ferry_allocation_options options = {.size = sizeof(options),
                                               .bytes = PAGES(SIZE[number]),
                                               .flags = flags,
                                               .in_aperture = number == MAPPED || number == OWN,
                                               .existing = number == OWN ? existing_memory : NULL};
    return ferry_allocation_create(run->device, &options, &run->allocation[number]);
}

static void write(struct run *run, unsigned number, uint8_t content)
{
    void *address;
    CALL(ferry_lock(run->allocation[number], FERRY_LOCK_WRITE_ONLY, &address));
    memset(address, content, PAGES(SIZE[number]));
    run->content[number] = content;
    CALL(ferry_unlock(run->allocation[number]));
}

static void check(struct run *run, unsigned number)
{
    void *address;
    CALL(ferry_lock(run->allocation[number], FERRY_LOCK_READ_ONLY, &address));
    for (uint64_t i = 0; i < PAGES(SIZE[number]); i++)
        if (((const uint8_t *)address)[i] != run->content[number]) {
            wrong(&run->attempt, "content", "byte %llu of allocation %u is %02x", (unsigned long long)i, number,
                  ((const uint8_t *)address)[i]);
            break;
        }
    CALL(ferry_unlock(run->allocation[number]));
}

static int residency(struct run *run, int (*call)(struct ferry_device *, struct ferry_residency *),
                     const unsigned *numbers, size_t count, uint64_t *value)
{
    struct ferry_allocation *list[COUNT];
    for (size_t i = 0; i < count; i++)
        list[i] = run->allocation[numbers[i]];
    struct ferry_residency arguments = {.size = sizeof(arguments), .allocations = list, .count = count};
    int result = call(run->device, &arguments);
    *value = result == FERRY_PENDING ? arguments.paging_fence_value : 0;
    return result;
}

static void make_all(struct run *run)
{
    struct ferry_adapter_info info = {.size = sizeof(info)};
    CALL(open_adapter(run));
    CALL(ferry_adapter_query(run->adapter, &info));
    if (info.model != 1)
        wrong(&run->attempt, "ferry_adapter_query", "driver model %u on a device without page tables", info.model);
    CALL(ferry_device_create(run->adapter, &run->device));
    CALL(ferry_queue_create(run->device, &run->queue));
    CALL(create(run, PLAIN, FERRY_FLAG_CPU_VISIBLE));
    CALL(create(run, LARGE, FERRY_FLAG_CPU_VISIBLE | FERRY_FLAG_CACHED));
    CALL(create(run, KEPT, FERRY_FLAG_CPU_VISIBLE | FERRY_FLAG_PERMANENT_SYSMEM));
    CALL(create(run, MAPPED, FERRY_FLAG_CPU_VISIBLE));
    CALL(create(run, OWN, FERRY_FLAG_CPU_VISIBLE | FERRY_FLAG_CACHED));
    CALL(create(run, WIDE, FERRY_FLAG_CPU_VISIBLE));
    for (unsigned i = 0; i < COUNT; i++)
        write(run, i, (uint8_t)(17 * (i + 1)));
}

// A program beside the device of no program: its device lives and dies with it.
static void programs(struct run *run)
{
    struct ferry_process_options options = {.size = sizeof(options), .weight = 2, .reservation_bytes = PAGES(2)};
    struct ferry_device *theirs;
    struct ferry_queue *queue;
    struct ferry_allocation *allocation;
    struct ferry_allocation_options wanted = {.size = sizeof(wanted), .bytes = PAGES(2)};
    CALL(ferry_process_create(run->adapter, &options, &run->process));
    CALL(ferry_process_set_weight(run->process, 3));
    CALL(ferry_process_set_reservation(run->process, PAGES(3)));
    CALL(ferry_process_create_device(run->process, &theirs));
    CALL(ferry_queue_create(theirs, &queue));
    CALL(ferry_allocation_create(theirs, &wanted, &allocation));
    CALL(ferry_process_destroy(run->process));
    run->process = NULL;
}

// Seen in system memory, and once it is in video memory through a range.
static void views(struct run *run)
{
    const struct ferry_tiling tiling = {
        .size = sizeof(tiling), .tile_bytes = 4096, .element_bytes = 4, .width = 40, .height = 40, .levels = 1};
    struct ferry_allocation_options wanted = {.size = sizeof(wanted),
                                              .bytes = ferry_tiling_bytes(&tiling),
                                              .flags = FERRY_FLAG_CPU_VISIBLE,
                                              .tiling = &tiling};
    struct ferry_allocation *tiled;
    uint8_t byte = 0;
    CALL(ferry_allocation_create(run->device, &wanted, &tiled));
    struct ferry_residency arguments = {.size = sizeof(arguments), .allocations = &tiled, .count = 1};
    for (unsigned i = 0; i < 2; i++) {
        CALL(ferry_view_lock(tiled, 0, 0));
        CALL(ferry_view_write(tiled, 7 + i, &(uint8_t){(uint8_t)(90 + i)}, 1));
        CALL(ferry_view_read(tiled, 7, &byte, 1));
        if (byte != 90)
            wrong(&run->attempt, "ferry_view_read", "%u is there", byte);
        CALL(ferry_unlock(tiled));
        if (i == 0)
            CALL(ferry_make_resident(run->device, &arguments));
    }
    CALL(ferry_allocation_destroy(tiled));
}

static void use_all(struct run *run)
{
    struct ferry_statistics statistics = {.size = sizeof(statistics)};
    uint64_t value, fence;
    CALL(residency(run, ferry_make_resident, LIST(PLAIN, KEPT, MAPPED), &value));
    CALL(ferry_device_wait_paging(run->device, value));
    // Almost a buffer of copies, so that the fill, which is several packets in an aperture, needs another.
    for (unsigned i = 0; i < 120; i++)
        CALL(ferry_queue_copy(run->queue, run->allocation[KEPT], 0, run->allocation[PLAIN], 0, (uint32_t)PAGES(4)));
    CALL(ferry_queue_fill(run->queue, run->allocation[MAPPED], 0, (uint32_t)PAGES(3), 0x5a, 1));
    // What was copied goes there too, as four rows of three quarters of a page.
    const struct ferry_rectangle rectangle = {
        .size = sizeof(rectangle),
        .row_bytes = 3 * FERRY_PAGE_BYTES / 4,
        .rows = 4,
        .destination = {.allocation = run->allocation[MAPPED], .pitch = 3 * FERRY_PAGE_BYTES / 4},
        .source = {.allocation = run->allocation[KEPT], .pitch = FERRY_PAGE_BYTES}};
    CALL(ferry_queue_copy_rectangle(run->queue, &rectangle));
    CALL(ferry_queue_submit(run->queue, &fence));
    run->content[KEPT] = run->content[PLAIN];
    run->content[MAPPED] = run->content[KEPT];
    CALL(ferry_queue_wait(run->queue, fence));
    check(run, KEPT);
    check(run, MAPPED);
    CALL(ferry_queue_submit(run->queue, &fence)); // empty
    // Room by the driver's own trimming, then by nobody's wish.
    CALL(residency(run, ferry_make_resident, LIST(LARGE, LARGE), &value));
    CALL(residency(run, ferry_make_resident_trim, LIST(WIDE), &value));
    CALL(residency(run, ferry_evict, LIST(WIDE), &value));
    CALL(residency(run, ferry_make_resident_trim, LIST(PLAIN, KEPT), &value));
    CALL(residency(run, ferry_make_resident, LIST(OWN), &value));
    CALL(ferry_queue_fill(run->queue, run->allocation[PLAIN], 0, (uint32_t)PAGES(4), 0x77, 1));
    CALL(ferry_queue_submit(run->queue, &fence));
    run->content[PLAIN] = 0x77;
    CALL(ferry_adapter_reset_engine(run->adapter));
    CALL(ferry_adapter_set_budget(run->adapter, PAGES(8)));
    CALL(residency(run, ferry_evict, LIST(PLAIN), &value));
    CALL(ferry_adapter_set_budget(run->adapter, 0));
    CALL(ferry_adapter_statistics(run->adapter, &statistics));
    write(run, PLAIN, 0x78);
    for (unsigned i = 0; i < COUNT; i++)
        check(run, i);
    programs(run);
    views(run);
    CALL(ferry_allocation_destroy(run->allocation[KEPT]));
    CALL(ferry_queue_destroy(run->queue));
    CALL(ferry_device_destroy(run->device));
}

static int two_batches(struct run *run)
{
    static struct ferry_allocation *list[D3DDDI_MAKERESIDENT_MAX_ALLOCATIONS + 1];
    struct ferry_residency arguments = {
        .size = sizeof(arguments), .allocations = list, .count = D3DDDI_MAKERESIDENT_MAX_ALLOCATIONS + 1};
    for (size_t i = 0; i < D3DDDI_MAKERESIDENT_MAX_ALLOCATIONS; i++)
        list[i] = run->allocation[LARGE];
    list[D3DDDI_MAKERESIDENT_MAX_ALLOCATIONS] = run->allocation[WIDE];
    return ferry_make_resident(run->device, &arguments);
}

// The second batch is refused, and the first one taken back whatever fails then.
static void refuse_the_second_batch(struct run *run)
{
    uint64_t value;
    CALL(residency(run, ferry_make_resident, LIST(LARGE), &value));
    CALL_FOR(FERRY_ERROR_NO_VIDEO_MEMORY, two_batches(run));
    CALL(residency(run, ferry_evict, LIST(LARGE), &value));
    CALL(ferry_device_destroy(run->device));
}

// ---- What another thread records while a job is submitted
// -------------------------------------------------------------

static struct run *recorder; // NULL = nothing is recorded meanwhile

int __real_ferry_vidmm_submit(struct ferry_vidmm *manager, D3DKMT_HANDLE context,
                              const struct ferry_vidmm_submission *buffers, uint32_t count, uint64_t *fence);
int __wrap_ferry_vidmm_submit(struct ferry_vidmm *manager, D3DKMT_HANDLE context,
                              const struct ferry_vidmm_submission *buffers, uint32_t count, uint64_t *fence);
int __wrap_ferry_vidmm_submit(struct ferry_vidmm *manager, D3DKMT_HANDLE context,
                              const struct ferry_vidmm_submission *buffers, uint32_t count, uint64_t *fence)
{
    struct run *run = recorder;
    bool armed = inject.armed;
    recorder = NULL;
    inject_arm(false);
    if (run && ferry_queue_fill(run->queue, run->allocation[KEPT], 0, (uint32_t)PAGES(4), 0x22, 1) != FERRY_OK)
        wrong(&run->attempt, "record meanwhile", "it is refused");
    inject_arm(armed);
    return __real_ferry_vidmm_submit(manager, context, buffers, count, fence);
}

// A job that fails for want of memory stays, before what was recorded meanwhile.
static void record_while_one_is_submitted(struct run *run)
{
    uint64_t value, fence;
    CALL(residency(run, ferry_make_resident, LIST(PLAIN, KEPT), &value));
    CALL(ferry_device_wait_paging(run->device, value));
    CALL(ferry_queue_fill(run->queue, run->allocation[PLAIN], 0, (uint32_t)PAGES(4), 0x11, 1));
    CALL(ferry_queue_fill(run->queue, run->allocation[KEPT], 0, (uint32_t)PAGES(4), 0x11, 1));
    recorder = run;
    CALL(ferry_queue_submit(run->queue, &fence));
    CALL(ferry_queue_submit(run->queue, &fence));
    CALL(ferry_queue_wait(run->queue, fence));
    recorder = NULL;
    run->content[PLAIN] = 0x11;
    run->content[KEPT] = 0x22;
    check(run, PLAIN);
    check(run, KEPT);
    CALL(ferry_device_destroy(run->device));
}

// What is destroyed after a stop is gone, here and in the manager. (What the program has destroyed before it is no
// handle.)
static void destroy_after_the_stop(struct run *run)
{
#define GONE(expression)                                                                                               \
    do {                                                                                                               \
        int result = (expression);                                                                                     \
        if ((result != FERRY_ERROR_CRITICAL && result != FERRY_ERROR_HANDLE) || (expression) != FERRY_ERROR_HANDLE)    \
            wrong(&run->attempt, #expression, "after the stop it says %s", ferry_error_name(result));                  \
    } while (0)
    for (unsigned i = 0; i < COUNT; i++)
        GONE(ferry_allocation_destroy(run->allocation[i]));
    GONE(ferry_queue_destroy(run->queue));
    GONE(ferry_process_destroy(run->process));
    GONE(ferry_device_destroy(run->device));
#undef GONE
    struct umd_adapter *inside = adapter_inside(run->adapter);
    if (!inside)
        return;
    const struct ferry_vm_handles *handles = &inside->vidmm->core.handles;
    if (inside->devices || inside->processes)
        wrong(&run->attempt, "after the stop", "the user-mode driver keeps what was destroyed");
    if (handles->count != handles->free_count)
        wrong(&run->attempt, "after the stop", "the manager keeps %u objects", handles->count - handles->free_count);
}

static void run_once(unsigned variant, struct attempt *attempt)
{
    static const char *const names[] = {"the public interface", "a list of two batches",
                                        "a job recorded while another is submitted"};
    static void (*const bodies[])(struct run *) = {use_all, refuse_the_second_batch, record_while_one_is_submitted};
    static int64_t live; // after a run: the table of handles stays for the next adapter
    struct run run = {.attempt.variant = names[variant]};
    make_all(&run);
    if (!run.attempt.stopped && !run.attempt.failure[0])
        bodies[variant](&run);
    if (run.attempt.stopped && variant == 0)
        destroy_after_the_stop(&run);
    inject_arm(!inject.fired); // In close, too, where nobody is told of it.
    ferry_adapter_close(run.adapter);
    inject.armed = false;
    if (live != 0 && inject.live != live)
        wrong(&run.attempt, "the end", "%lld blocks are not freed", (long long)(inject.live - live));
    live = inject.live;
    *attempt = run.attempt;
}

int main(void)
{
    // Unharmed first: the table of handles that this leaves is there in all runs. What is wrong in it is wrong in them.
    struct attempt once;
    inject_set(INJECT_NOTHING, 0, 0);
    run_once(0, &once);
    if (once.failure[0])
        fprintf(stderr, "%s\n", once.failure);
    return every_failure(run_once, 3);
}
