// SPDX-License-Identifier: Apache-2.0
// The same from above: a program of all calls of the public interface, on the real miniport over the reference model,
// and in each run one allocation of memory, or one call of the miniport, fails. The call says so by name; residency
// counts, places and what is being recorded are as before, and the user-mode driver counts what the manager counts.
// cmocka.h wants these four before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ferry/ferry.h"
#include "firmware_image.h"
#include "inject.h"
#include "model/model_link.h"
#include "umd/handles.h"
#include "vidmm/api/manager.h"

#define PAGES(n) ((uint64_t)(n)*FERRY_PAGE_BYTES)

// The model runs no firmware: one word to load is enough.
const unsigned char ferry_firmware_image[] = {0, 0, 0, 0};
const unsigned ferry_firmware_image_bytes = sizeof(ferry_firmware_image);

// ---- The one back end ----

int ferry_link_open(const char *name, const struct ferry_link_config *config, struct ferry_link **link)
{
    struct ferry_model_options options = {.local_bytes = PAGES(64), .aperture_pages = 64};
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
    struct ferry_adapter *adapter;
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_process *process;
    struct ferry_allocation *allocation[COUNT];
    uint8_t content[COUNT]; // every byte of it
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
    snprintf(run->failure, sizeof(run->failure), "%s number %llu fails (%s): %.120s: %s",
             inject.kind == INJECT_MEMORY ? "memory" : "DDI call", (unsigned long long)inject.after,
             inject.what ? inject.what : "none", call, text);
}

struct look {
    struct ferry_placement place[COUNT];
    uint64_t jobs;
    size_t recorded; // commands of the job being recorded
};

static void look(struct run *run, const char *call, struct look *look)
{
    memset(look, 0, sizeof(*look));
    struct umd_adapter *inside = umd_adapter_get(UMD_ADAPTER, run->adapter);
    if (!inside)
        return;
    umd_adapter_put(inside); // The test holds it open.
    struct ferry_vidmm_statistics statistics = {0};
    bool works = ferry_vidmm_statistics(inside->vidmm, &statistics) == FERRY_OK;
    look->jobs = statistics.jobs;
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
                wrong(run, call, "the user-mode driver counts otherwise than the manager");
        }
        for (const struct umd_allocation *a = device->newest; a; a = a->older)
            listed++;
        for (const struct umd_queue *queue = device->queues; queue; queue = queue->next, objects++)
            for (size_t i = 0; i < queue->chunk_count; i++)
                look->recorded += queue->chunks[i].bytes;
    }
    if (listed != counted)
        wrong(run, call, "%llu on residency lists, %llu with a count", (unsigned long long)listed,
              (unsigned long long)counted);
    const struct ferry_vm_handles *handles = &inside->vidmm->core.handles;
    if (works && objects + allocations != handles->count - handles->free_count)
        wrong(run, call, "%llu objects, the manager has %u", (unsigned long long)(objects + allocations),
              handles->count - handles->free_count);
    if (works && allocations != statistics.allocations)
        wrong(run, call, "%llu allocations, the manager has %llu", (unsigned long long)allocations,
              (unsigned long long)statistics.allocations);
    for (unsigned i = 0; i < COUNT; i++) {
        struct ferry_placement place = {.size = sizeof(place)};
        if (ferry_allocation_placement(run->allocation[i], &place) == FERRY_OK)
            look->place[i] = place;
    }
}

enum may { MAY_NOTHING, MAY_TRIM, MAY_DROP }; // what a call that failed may have changed

static void compare(struct run *run, const char *call, enum may may, const struct look *then, const struct look *now)
{
    for (unsigned i = 0; i < COUNT; i++) {
        const struct ferry_placement *a = &then->place[i], *b = &now->place[i];
        if (may == MAY_TRIM && b->residency_count < a->residency_count)
            continue;
        if (a->residency_count != b->residency_count)
            wrong(run, call, "allocation %u counts %u, before %u", i, b->residency_count, a->residency_count);
        // Which place it has, and whether one that no residency list names has one at all, is the manager's business.
        if (a->residency_count != 0 && (a->segment != b->segment || a->dirty != b->dirty))
            wrong(run, call, "allocation %u is in segment %u, dirty %d, before in %u, %d", i, b->segment, b->dirty,
                  a->segment, a->dirty);
    }
    if (may != MAY_DROP && then->recorded != now->recorded)
        wrong(run, call, "%zu bytes of commands are recorded, before %zu", now->recorded, then->recorded);
    if (then->jobs != now->jobs)
        wrong(run, call, "%llu jobs have run of it", (unsigned long long)(now->jobs - then->jobs));
}

// ---- One call ----

// Did it fail for what was injected, as it should? Then it is to be called again.
static bool again(struct run *run, const char *call, int result, enum may may, bool fresh, const struct look *before)
{
    inject.armed = false;
    if (result == FERRY_OK || result == FERRY_PENDING)
        return false;
    if (!fresh || !inject.fired) {
        wrong(run, call, "returned %s unasked", ferry_error_name(result));
        return false;
    }
    if (result == FERRY_ERROR_CRITICAL) {
        run->stopped = true;
        if (!inject.stops)
            wrong(run, call, "the manager has stopped");
        return false;
    }
    if (inject.kind == INJECT_MEMORY && result != FERRY_ERROR_NO_HOST_MEMORY)
        wrong(run, call, "returned %s for want of host memory", ferry_error_name(result));
    // AddDevice has no other answer than memory.
    bool reset = inject.what && strcmp(inject.what, "DxgkDdiResetEngine") == 0 && result == FERRY_ERROR_TIMEOUT;
    if (inject.kind == INJECT_DDI && !reset && result != FERRY_ERROR_DEVICE_LOST &&
        result != FERRY_ERROR_NO_HOST_MEMORY)
        wrong(run, call, "returned %s for the miniport's error", ferry_error_name(result));
    if (inject.kind == INJECT_MEMORY && strstr(call, "_destroy"))
        wrong(run, call, "is kept for want of memory to destroy it");
    struct look now;
    look(run, call, &now);
    compare(run, call, may, before, &now);
    return true;
}

#define CALL_MAY(may, expression)                                                                                      \
    do {                                                                                                               \
        struct look before;                                                                                            \
        if (run->stopped || run->failure[0])                                                                           \
            return;                                                                                                    \
        look(run, #expression, &before);                                                                               \
        bool fresh = !inject.fired;                                                                                    \
        inject_arm(fresh);                                                                                             \
        if (again(run, #expression, (expression), may, fresh, &before))                                                \
            again(run, #expression " once more", (expression), may, false, &before);                                   \
        if (run->stopped || run->failure[0])                                                                           \
            return;                                                                                                    \
    } while (0)
#define CALL(expression) CALL_MAY(MAY_NOTHING, expression)

// ---- The program ----

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
            wrong(run, "content", "byte %llu of allocation %u is %02x", (unsigned long long)i, number,
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

#define LIST(...) (const unsigned[]){__VA_ARGS__}, sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned)

// A submission that fails drops its job, which is recorded once more then.
static int submit_again(struct run *run, uint64_t *fence)
{
    int error = ferry_queue_submit(run->queue, fence);
    if (error != FERRY_OK && inject.armed) {
        inject.armed = false;
        if (run->content[MAPPED] != 0x5a) {
            ferry_queue_copy(run->queue, run->allocation[KEPT], 0, run->allocation[PLAIN], 0, (uint32_t)PAGES(4));
            ferry_queue_fill(run->queue, run->allocation[MAPPED], 0, (uint32_t)PAGES(3), 0x5a, 1);
        } else {
            ferry_queue_fill(run->queue, run->allocation[PLAIN], 0, (uint32_t)PAGES(4), 0x77, 1);
        }
    }
    return error;
}

static void make_all(struct run *run)
{
    struct ferry_adapter_info info = {.size = sizeof(info)};
    CALL(open_adapter(run));
    CALL(ferry_adapter_query(run->adapter, &info));
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
    // It is not submitted.
    CALL(ferry_queue_destroy(run->queue));
    CALL(ferry_queue_create(run->device, &run->queue));
    CALL(ferry_queue_copy(run->queue, run->allocation[KEPT], 0, run->allocation[PLAIN], 0, (uint32_t)PAGES(4)));
    CALL(ferry_queue_fill(run->queue, run->allocation[MAPPED], 0, (uint32_t)PAGES(3), 0x5a, 1));
    CALL_MAY(MAY_DROP, submit_again(run, &fence));
    run->content[KEPT] = run->content[PLAIN];
    run->content[MAPPED] = 0x5a;
    CALL(ferry_queue_wait(run->queue, fence));
    check(run, KEPT);
    check(run, MAPPED);
    CALL_MAY(MAY_DROP, ferry_queue_submit(run->queue, &fence)); // empty
    // Room by the driver's own trimming, then by nobody's wish.
    CALL(residency(run, ferry_make_resident, LIST(LARGE, LARGE), &value));
    CALL_MAY(MAY_TRIM, residency(run, ferry_make_resident_trim, LIST(WIDE), &value));
    CALL(residency(run, ferry_evict, LIST(WIDE), &value));
    CALL(residency(run, ferry_make_resident_trim, LIST(PLAIN, KEPT), &value));
    CALL(residency(run, ferry_make_resident, LIST(OWN), &value));
    CALL(ferry_queue_fill(run->queue, run->allocation[PLAIN], 0, (uint32_t)PAGES(4), 0x77, 1));
    CALL_MAY(MAY_DROP, submit_again(run, &fence));
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
    CALL(ferry_allocation_destroy(run->allocation[KEPT]));
    CALL(ferry_queue_destroy(run->queue));
    CALL(ferry_device_destroy(run->device));
}

static void run_once(struct run *run, enum inject_kind kind, uint64_t after)
{
    inject_set(kind, after, STATUS_DEVICE_REMOVED);
    make_all(run);
    if (!run->stopped && !run->failure[0])
        use_all(run);
    inject_arm(!inject.fired); // In close, too, where nobody is told of it.
    ferry_adapter_close(run->adapter);
    inject.armed = false;
}

static uint64_t first_only, last_only = UINT64_MAX; // numbers of failures, to look at one closer

static void every_failure(enum inject_kind kind)
{
    // The table of handles stays for the next adapter.
    struct run once = {0};
    run_once(&once, INJECT_NOTHING, 0);
    if (once.failure[0])
        print_error("%s\n", once.failure);
    assert_int_equal(once.failure[0], 0);
    int64_t live = inject.live;
    unsigned bad = 0;
    uint64_t n = first_only ? first_only : 1;
    for (bool more = true; more && n <= last_only; n++) {
        struct run run = {0};
        run_once(&run, kind, n);
        more = inject.fired;
        if (inject.live != live)
            wrong(&run, "the end", "%lld blocks are not freed", (long long)(inject.live - live));
        live = inject.live;
        if (run.failure[0] && bad++ < 40)
            print_error("%s\n", run.failure);
    }
    printf("%llu failures, one at a time\n", (unsigned long long)n - 2);
    assert_true(first_only || n > 2); // Without one nothing was injected.
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
    return cmocka_run_group_tests(tests, NULL, NULL);
}
