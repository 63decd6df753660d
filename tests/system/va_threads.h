// SPDX-License-Identifier: Apache-2.0
// What the threads of test_va_threads.c have in common, and those of them that are in the keepers' way: rovers, another
// program, resets, hangs.
#ifndef FERRY_TESTS_SYSTEM_VA_THREADS_H
#define FERRY_TESTS_SYSTEM_VA_THREADS_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "system.h"

#include "device/device_state.h"
#include "model/model_link.h"
#include "umd/handles.h"
#include "vidmm/api/manager.h"

#define PAGE    4096u
#define DEVICES 2u
#define CELL    8u  // pages, the keepers' and the rovers' by turns
#define CELLS   16u // of a keeper, and of a rover
#define SOURCES 3u
#define SLOTS   32u
#define SLOT    64u // bytes
#define ARENA   (2u * DEVICES * CELLS * CELL)
#define ROVED   0x52000000u // tags of content: of rovers,
#define KEPT    0x4B000000u // of keepers,
#define SECRET  0x53000000u // and of the other program
#define TAG     0xFF000000u

static struct ferry_adapter *adapter;
static struct ferry_process *program;
static uint64_t arena; // the program's reservation
static atomic_bool over, hangs;
static atomic_uint resets, read_back, faulted, refused, roved, lost, changed;

// A thread, and what it found wrong first.
struct finder {
    pthread_t thread;
    unsigned number;
    uint64_t random;
    const char *what;
    int result;
    uint32_t word;
};

static inline void found(struct finder *f, const char *what, int result, uint32_t word)
{
    if (f->what)
        return;
    f->what = what;
    f->result = result;
    f->word = word;
}

static inline uint32_t pick(struct finder *f, uint32_t below)
{
    return draw_below(&f->random, below);
}

// A hang may be blamed on paging, which costs its device what it has; nothing else may end like that.
static inline bool well(struct finder *f, const char *what, int result)
{
    if (result >= 0)
        return true;
    if (result == FERRY_ERROR_DEVICE_LOST && hangs) {
        lost++;
        f->what = "lost";
        return false;
    }
    found(f, what, result, 0);
    return false;
}

static inline struct ferry_allocation *make_filled(struct finder *f, struct ferry_device *device, uint32_t pages,
                                                   uint32_t pattern)
{
    struct ferry_allocation_options wanted = {
        .size = sizeof wanted, .bytes = (uint64_t)pages * PAGE, .flags = VISIBLE, .fill_pattern = pattern};
    struct ferry_allocation *allocation = NULL;

    well(f, "create", ferry_allocation_create(device, &wanted, &allocation));
    return allocation;
}

static inline const uint32_t *lock(struct finder *f, struct ferry_allocation *allocation, uint32_t flags)
{
    void *address = NULL;

    return well(f, "lock", ferry_lock(allocation, flags, &address)) ? address : NULL;
}

// The keepers' cells and the rovers' stand in turns, so they share page tables, and groups of pages.
static inline uint64_t address_of(unsigned owner, uint32_t page)
{
    return arena + ((uint64_t)(page / CELL) * 2 * DEVICES * CELL + owner * CELL + page % CELL) * PAGE;
}

// ---- Rovers -------------------------------------------------------------------------------------------------------

struct rover {
    struct finder finder;
    struct ferry_device *device; // a keeper's too
    struct ferry_queue *queue;
    struct ferry_allocation *result;
    uint64_t at_result;
    uint64_t last; // where something was mapped that is destroyed
};

static inline bool is_of_its_time(int result)
{
    static const int these[] = {FERRY_ERROR_NOT_RESIDENT, FERRY_ERROR_FOREIGN,  FERRY_ERROR_NO_VIDEO_MEMORY,
                                FERRY_ERROR_BUSY,         FERRY_ERROR_ARGUMENT, FERRY_ERROR_FAULT,
                                FERRY_ERROR_HANDLE};

    for (size_t i = 0; i < sizeof these / sizeof these[0]; i++)
        if (result == these[i]) {
            refused++;
            return true;
        }
    return false;
}

static inline bool tried(struct finder *f, const char *what, int result)
{
    return is_of_its_time(result) || well(f, what, result);
}

// Any rover's cells, of the other device too, and some of them more often.
static inline uint64_t somewhere(struct finder *f)
{
    return address_of(DEVICES + pick(f, DEVICES), pick(f, pick(f, 3) ? CELL : CELLS * CELL));
}

static inline int try_update(struct rover *r, struct ferry_allocation *one, uint32_t most)
{
    struct finder *f = &r->finder;
    bool maps = one != NULL;
    uint32_t pages = 1 + pick(f, most);
    struct ferry_va_operation operation = {.kind = maps ? FERRY_VA_MAP : FERRY_VA_UNMAP,
                                           .address = address_of(DEVICES + pick(f, DEVICES), pick(f, CELLS) * CELL),
                                           .bytes = (uint64_t)pages * PAGE,
                                           .allocation = one};
    struct ferry_va_batch batch = {.size = sizeof batch,
                                   .operation_size = sizeof operation,
                                   .operations = &operation,
                                   .count = 1,
                                   .do_not_wait = pick(f, 3) == 0};

    return ferry_va_update(r->queue, &batch);
}

// What it has mapped far away, or some of a cell: what is mapped there alone is an address like any other from then on.
static inline int free_some(struct finder *f, struct ferry_device *device, struct ferry_va *far)
{
    uint64_t address = far->address;

    if (address == 0)
        return ferry_va_free(device, address_of(DEVICES + pick(f, DEVICES), pick(f, CELLS) * CELL + pick(f, 4)),
                             (uint64_t)(1 + pick(f, 4)) * PAGE);
    far->address = 0;
    return ferry_va_free(device, address, far->bytes);
}

static inline uint64_t from_where(struct rover *r, const struct ferry_va *far)
{
    uint64_t at = pick(&r->finder, 2) ? far->address : r->last;

    return at != 0 && pick(&r->finder, 3) ? at + pick(&r->finder, (uint32_t)(far->bytes / SLOT)) * SLOT
                                          : somewhere(&r->finder);
}

static inline int submit_roving(struct rover *r, uint64_t *fence)
{
    int result = ferry_queue_submit(r->queue, fence);

    roved += result == FERRY_OK;
    return result;
}

static inline bool rove(struct rover *r)
{
    struct finder *f = &r->finder;
    struct ferry_device *device = r->device;
    uint32_t pages = 1 + pick(f, 8), tag = ROVED + pick(f, 1u << 16);
    struct ferry_allocation *one = make_filled(f, device, pages, tag);
    struct ferry_va far = {.size = sizeof far, .bytes = (uint64_t)pages * PAGE, .least = UINT64_C(4) << 30},
                    near = {.size = sizeof near, .address = somewhere(f), .bytes = PAGE, .replace = true},
                    kind = {.size = sizeof kind,
                            .address = somewhere(f),
                            .bytes = PAGE,
                            .reservation = pick(f, 2) ? FERRY_VA_ZERO : FERRY_VA_NO_ACCESS};
    uint64_t fence = 0;

    if (!one || !tried(f, "resident", make_resident(device, &one, 1)))
        return false;
    for (unsigned i = 0; i < 6 && !f->what; i++) {
        uint64_t at = somewhere(f), to = pick(f, 4) ? r->at_result + pick(f, SLOTS) * SLOT : somewhere(f);
        switch (pick(f, 9)) {
        case 0: tried(f, "map", ferry_va_map(device, one, 0, pick(f, 2), &far)); break;
        case 1: tried(f, "map over", ferry_va_map(device, one, 0, pick(f, 2), &near)); break;
        case 2: tried(f, "map", try_update(r, one, pages)); break;
        case 3: tried(f, "unmap", try_update(r, NULL, CELL)); break;
        case 4: tried(f, "protect", ferry_va_protect(device, &kind)); break;
        case 5: tried(f, "free", free_some(f, device, &far)); break;
        case 6: tried(f, "fill", ferry_queue_fill_va(r->queue, at, SLOT, ROVED + pick(f, 1u << 16), 4)); break;
        default: tried(f, "copy", ferry_queue_copy_va(r->queue, to, from_where(r, &far), SLOT));
        }
        if (pick(f, 2) && tried(f, "submit", submit_roving(r, &fence)) && pick(f, 3) == 0 && fence != 0)
            tried(f, "wait", ferry_queue_wait(r->queue, fence));
    }
    // Some of its own pages may be written by now, by rovers.
    const uint32_t *words = pick(f, 3) || f->what ? NULL : lock(f, one, FERRY_LOCK_READ_ONLY);
    for (uint32_t i = 0; words && i < pages * PAGE / 4; i += 15)
        if ((words[i] & TAG) != ROVED && words[i] != 0)
            found(f, "what a rover has", (int)i, words[i]);
    if (words)
        well(f, "unlock", ferry_unlock(one));
    r->last = far.address != 0 ? far.address : r->last;
    return !f->what && well(f, "destroy", ferry_allocation_destroy(one));
}

static inline bool look_around(struct rover *r)
{
    struct finder *f = &r->finder;
    const uint32_t *words = lock(f, r->result, FERRY_LOCK_READ_ONLY);

    for (uint32_t i = 0; words && i < PAGE / 4; i++)
        if ((words[i] & TAG) != ROVED && words[i] != 0)
            found(f, "what a rover has found", (int)i, words[i]);
    return words && well(f, "unlock", ferry_unlock(r->result));
}

static inline void *wander(void *context)
{
    struct rover *r = context;
    struct finder *f = &r->finder;
    struct ferry_va range = {.size = sizeof range, .bytes = PAGE};
    bool goes_on = well(f, "queue", ferry_queue_create(r->device, &r->queue));

    r->result = goes_on ? make_filled(f, r->device, 1, ROVED) : NULL;
    goes_on = r->result && well(f, "resident", make_resident(r->device, &r->result, 1)) &&
              well(f, "map", ferry_va_map(r->device, r->result, 0, false, &range));
    r->at_result = range.address;
    while (goes_on && !over)
        goes_on = rove(r) && (pick(f, 4) || look_around(r));
    return NULL;
}

// ---- Beside them --------------------------------------------------------------------------------------------------

// Another program, whose content takes the place of what leaves.
static inline void *press(void *context)
{
    struct finder *f = context;
    struct ferry_device *device;
    struct ferry_queue *queue;
    bool goes_on = well(f, "device", ferry_device_create(adapter, &device)) &&
                   well(f, "queue", ferry_queue_create(device, &queue));

    while (goes_on && !over) {
        uint64_t fence;
        struct ferry_allocation *one = make_filled(f, device, 8 + pick(f, 40), SECRET);
        struct ferry_residency residency = {
            .size = sizeof residency, .allocations = &one, .count = 1, .cant_trim_further = pick(f, 2)};
        int result = one ? ferry_make_resident(device, &residency) : FERRY_ERROR_NO_HOST_MEMORY;
        if (result >= 0)
            result = ferry_queue_fill(queue, one, 0, 4 * PAGE, SECRET + 1, 4);
        if (result >= 0)
            result = ferry_queue_submit(queue, &fence);
        if (result != FERRY_ERROR_NO_VIDEO_MEMORY)
            goes_on = well(f, "another program's job", result);
        goes_on = goes_on && well(f, "destroy", ferry_allocation_destroy(one));
    }
    return NULL;
}

// By how far the others have come, since a reset takes as long as many jobs on a slow machine.
static inline void *reset(void *context)
{
    struct finder *f = context;
    unsigned next = 0;

    while (!over && !f->what) {
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
        if (read_back + roved < next)
            continue;
        next = read_back + roved + 1 + pick(f, 100);
        if (well(f, "reset", ferry_adapter_reset_engine(adapter)))
            resets++;
    }
    return NULL;
}

// It is called while the library has its lock, and the others come to wait for that: else each of them makes many calls
// before another one has a turn.
static inline void hold_up(void *context, const struct ferry_event *event)
{
    static unsigned jobs, events;

    if (++events % 4 == 0)
        nanosleep(&(struct timespec){.tv_nsec = 1}, NULL);
    if (hangs && !over && event->kind == FERRY_EVENT_JOB_BEGIN && ++jobs % 97 == 0)
        ferry_model_hang(context);
}

#endif
