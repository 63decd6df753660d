// SPDX-License-Identifier: Apache-2.0
// In the middle of a call of a run of chaos.h, which waits, another thread makes one: it looks at an allocation that
// the call is not about, writes it, lists it, has a job on it, destroys it, changes addresses, or ends a device or a
// program, the caller's own too. It takes its ticket in a turn of the wait hook, so a seed always does the same. In
// other steps nothing comes from the device and no reset ends: calls end in vain, and have changed nothing. In some
// runs a node's jobs are held back now and then. It has a random stream of its own, seeded by the same seed.
#include <pthread.h>
#include <sched.h>

#include "addresses.h"
#include "chaos_state.h"
#include "in_vain.h"

jmp_buf chaos_left;

uint32_t chaos_draw(uint32_t below)
{
    return draw_below(&chaos.random_more, below);
}

enum what { LOOKS, WRITES, LISTS, UNLISTS, FILLS, DESTROYS, UNMAPS, POLLS, ENDS_DEVICE, ENDS_PROGRAM, WHATS };

static struct {
    bool armed, runs, threads, dies, vains, holds;
    pthread_t caller, thread;
    enum what what;
    struct shadow *shadow; // none: of a device or a program
    D3DKMT_HANDLE handle;
    unsigned number, queue; // device or program
    uint32_t pattern;
    uint64_t fence;
    int result;
    D3DKMT_HANDLE destroyed;
    unsigned gone;  // devices, a bit each
    unsigned ended; // the device or program of these; number may be drawn again in the same step
    bool program_gone;
    bool fills_locked;
    bool wrong; // content
    uint64_t wrong_at;
} meanwhile;

void chaos_meanwhile_begin(void)
{
    chaos.random_more = chaos.seed * UINT64_C(0xA0761D6478BD642F) + 0x33;
    memset(&meanwhile, 0, sizeof(meanwhile));
    for (unsigned i = 0; i < 4; i++)
        chaos_draw(2);
    meanwhile.threads = chaos.more && chaos_draw(3) > 0;
    meanwhile.dies = chaos_draw(2);
    meanwhile.vains = chaos.more && chaos_draw(3) == 0;
    meanwhile.holds = chaos.more && chaos_draw(2);
    meanwhile.caller = pthread_self();
}

// ---- What the thread does ----

// It is unlocked when the caller comes back: the thread makes one call, so that a seed always does the same.
static void lock(UINT flags)
{
    struct ferry_vidmm *manager = chaos.world->manager;
    struct shadow *s = meanwhile.shadow;
    void *address;
    meanwhile.result = ferry_vidmm_lock(manager, s->handle, flags, &address);
    if (meanwhile.result != FERRY_OK)
        return;
    for (uint64_t i = 0; i < s->size && !meanwhile.wrong; i++) {
        meanwhile.wrong = ((const uint8_t *)address)[i] != s->bytes[i];
        meanwhile.wrong_at = i;
    }
    for (uint64_t i = 0; i < s->size && flags == 0; i++)
        ((uint8_t *)address)[i] = s->bytes[i] = (uint8_t)(meanwhile.pattern + i);
    s->first = 0;
    s->pages = s->size / PAGE_SIZE;
    s->view = address;
    s->lock_flags = flags;
    s->locked = true;
}

static void list(void)
{
    struct shadow *s = meanwhile.shadow;
    struct program *program = &chaos.devices[s->device];
    D3DDDI_MAKERESIDENT list = {.hPagingQueue = program->queue, .NumAllocations = 1, .AllocationList = &s->handle};
    D3DDDICB_EVICT unlist = {.NumAllocations = 1, .AllocationList = &s->handle};
    if (meanwhile.what == LISTS) {
        meanwhile.result = ferry_vidmm_make_resident(chaos.world->manager, &list);
        if (meanwhile.result >= 0 && s->count++ == 0)
            s->gpu_wrote = false;
    } else if (s->count > 0) {
        meanwhile.result = ferry_vidmm_evict(chaos.world->manager, program->device, &unlist);
        s->count -= meanwhile.result == FERRY_OK;
    }
}

static void fill(void)
{
    struct shadow *s = meanwhile.shadow;
    struct machine_job job = {0};
    struct ferry_vidmm_reference reference = {s->handle, true};
    machine_job_fill(&job, 0, 0, (uint32_t)s->size, meanwhile.pattern);
    struct ferry_vidmm_submission buffer = machine_job_buffer(&job, &reference, 1);
    D3DKMT_HANDLE context = meanwhile.queue < DEVICES ? chaos.devices[s->device].context : chaos.other[s->device];
    meanwhile.result = ferry_vidmm_submit(chaos.world->manager, context, &buffer, 1, &meanwhile.fence);
    if (meanwhile.result != FERRY_OK)
        return;
    s->used[meanwhile.queue >= DEVICES] = meanwhile.fence;
    s->gpu_wrote = true;
    // What a lock has discarded is written over; whether it has is known when the caller comes back.
    meanwhile.fills_locked = s == chaos.locking;
    if (meanwhile.fills_locked)
        return;
    s->gpu_wrote = true;
    for (uint64_t i = 0; i < s->size; i += 4)
        memcpy(s->bytes + i, &meanwhile.pattern, 4);
}

static void unmap(void)
{
    unsigned queue = meanwhile.queue, device = queue % DEVICES;
    struct ferry_vidmm_updated updated;
    struct ferry_vidmm_update operation = {
        .kind = FERRY_VIDMM_UNMAP, .address = chaos_addresses(queue), .bytes = PAGES(REACHED)};
    D3DKMT_HANDLE context = queue < DEVICES ? chaos.devices[device].context : chaos.other[device];
    meanwhile.result = ferry_vidmm_update_virtual(chaos.world->manager, context, &operation, 1, &updated);
}

static void *run(void *nothing)
{
    struct ferry_vidmm *manager = chaos.world->manager;
    (void)nothing;
    switch (meanwhile.what) {
    case LOOKS: lock(D3DDDI_LOCK_READ_ONLY); break;
    case WRITES: lock(0); break;
    case LISTS:
    case UNLISTS: list(); break;
    case FILLS: fill(); break;
    case DESTROYS: meanwhile.result = ferry_vidmm_destroy_allocation(manager, meanwhile.handle); break;
    case UNMAPS: unmap(); break;
    case ENDS_DEVICE: meanwhile.result = ferry_vidmm_destroy_device(manager, meanwhile.handle); break;
    case ENDS_PROGRAM: meanwhile.result = ferry_vidmm_destroy_process(manager, meanwhile.handle); break;
    default: meanwhile.result = ferry_vidmm_poll(manager, true); break;
    }
    return NULL;
}

// ---- When ----

static bool choose(void)
{
    struct shadow *s = chaos.live ? &chaos.all[chaos_draw(chaos.live)] : NULL;
    meanwhile.what = chaos_draw(WHATS);
    meanwhile.shadow = s;
    meanwhile.pattern = chaos_draw(0x3FFFFFFF);
    meanwhile.result = FERRY_OK;
    meanwhile.wrong = meanwhile.fills_locked = false;
    meanwhile.fence = 0;
    if (meanwhile.what == POLLS)
        return true;
    if (meanwhile.what == ENDS_DEVICE || meanwhile.what == ENDS_PROGRAM) {
        bool program = meanwhile.what == ENDS_PROGRAM;
        meanwhile.number = chaos_draw(program ? 2 : DEVICES);
        meanwhile.handle = program ? chaos.processes[meanwhile.number] : chaos.devices[meanwhile.number].device;
        return meanwhile.dies && chaos_draw(4) == 0;
    }
    if (meanwhile.what == UNMAPS) {
        meanwhile.queue = chaos_draw(2 * DEVICES);
        return addresses_wanted() && (chaos.queues & 1u << meanwhile.queue) == 0;
    }
    // What a lock is to discard may have jobs, and be listed and not, while it waits.
    bool locking = chaos.locking && chaos_draw(6);
    if (locking)
        meanwhile.shadow = s = chaos.locking;
    if (!s || (s->engaged && !locking) || s->rows_at)
        return false;
    meanwhile.handle = s->handle;
    if (locking) {
        if (meanwhile.what != FILLS && meanwhile.what != LISTS && meanwhile.what != UNLISTS)
            meanwhile.what = chaos_permanent(s) && chaos_draw(4) ? FILLS : chaos_draw(2) ? LISTS : UNLISTS;
        meanwhile.queue = s->used[1] ? s->device + DEVICES : s->device;
        if (meanwhile.what == LISTS)
            return true;
        bool good = s->count > 0 && (meanwhile.what == UNLISTS || (!s->aperture && !(s->used[0] && s->used[1])));
        chaos.beside_locks += good;
        return good;
    }
    if (meanwhile.what == DESTROYS)
        return chaos_draw(4) == 0;
    meanwhile.queue = s->used[1] ? s->device + DEVICES : s->device;
    if (s->locked)
        return false;
    if (meanwhile.what == UNLISTS && s->count == 0)
        return false;
    // Of what is renamed a job may have to be asked for twice.
    if (meanwhile.what == FILLS && addresses_wanted() && chaos.discards)
        return false;
    return meanwhile.what != FILLS || (s->count > 0 && !s->aperture && !(s->used[0] && s->used[1]));
}

static void in_the_middle(void *context)
{
    struct ferry_vidmm *manager = chaos.world->manager;
    (void)context;
    bool now = meanwhile.armed || (chaos.locking && meanwhile.threads);
    if (!now || meanwhile.runs || !pthread_equal(pthread_self(), meanwhile.caller) || chaos_draw(2) || !choose())
        return;
    // What ends something does so once in a step.
    bool ends = meanwhile.what == DESTROYS || meanwhile.what == ENDS_DEVICE || meanwhile.what == ENDS_PROGRAM;
    if (ends && !meanwhile.armed)
        return;
    meanwhile.armed = false;
    meanwhile.runs = true;
    uint64_t tickets = atomic_load(&manager->tickets);
    if (pthread_create(&meanwhile.thread, NULL, run, NULL) != 0)
        fail_msg("no thread");
    while (atomic_load(&manager->tickets) == tickets)
        sched_yield();
    chaos.meanwhile++;
}

void chaos_meanwhile_before(void)
{
    for (unsigned i = 0; i < chaos.live; i++)
        chaos.all[i].engaged = false;
    chaos.queues = 0;
    chaos.locking = NULL;
    chaos.world->knobs->before_turn = in_the_middle;
    meanwhile.armed = meanwhile.threads && chaos_draw(3) == 0;
    if (meanwhile.holds && chaos_draw(20) == 0) {
        chaos.world->knobs->hold_node = 1 + chaos_draw(2);
        chaos.world->knobs->hold_turns = 1 + chaos_draw(60);
    }
    if (!meanwhile.vains || chaos_draw(20))
        return;
    chaos.in_vain = true;
    let_nothing_come(chaos.world->manager);
}

void chaos_vain_ends(void)
{
    if (chaos.in_vain)
        let_it_come_again(chaos.world->manager);
    chaos.in_vain = false;
}

static bool is_fair(unsigned device)
{
    int result = meanwhile.result;
    if (result >= 0)
        return true;
    if (result == FERRY_ERROR_DEVICE_LOST)
        return chaos_in_error(device) ||
               (chaos_named(meanwhile.handle) && world_place(chaos.world, meanwhile.handle).lost);
    // Nothing is left to be done.
    if (result == FERRY_ERROR_TIMEOUT && meanwhile.what == POLLS)
        return true;
    if (result == FERRY_ERROR_BUSY)
        return meanwhile.what == UNMAPS;
    if (result == FERRY_ERROR_NO_VIDEO_MEMORY)
        return meanwhile.what == LISTS || meanwhile.what == FILLS || meanwhile.what == UNMAPS;
    if (result == FERRY_ERROR_LOCKED)
        return (meanwhile.what == DESTROYS && meanwhile.shadow->locked) || meanwhile.shadow == chaos.locking;
    // Of what the caller is ending just now.
    if (result == FERRY_ERROR_HANDLE)
        return true;
    return chaos_no_memory(result) || chaos_vain(result);
}

bool chaos_is_held(const struct shadow *s)
{
    return meanwhile.runs && s == meanwhile.shadow && (meanwhile.what == LOOKS || meanwhile.what == WRITES);
}

// Without memory it is locked still; it goes next time.
static void unlock(void)
{
    int result = ferry_vidmm_unlock(chaos.world->manager, meanwhile.handle);
    if (!chaos_no_memory(result)) {
        OKAY(result);
        meanwhile.shadow->locked = false;
    }
}

static void join(unsigned device)
{
    unsigned number = meanwhile.number;
    pthread_join(meanwhile.thread, NULL);
    meanwhile.runs = false;
    if (meanwhile.what == ENDS_DEVICE || meanwhile.what == ENDS_PROGRAM) {
        bool program = meanwhile.what == ENDS_PROGRAM;
        if (chaos_vain(meanwhile.result)) {
            chaos_vain_ends();
            meanwhile.result = program ? ferry_vidmm_destroy_process(chaos.world->manager, meanwhile.handle)
                                       : ferry_vidmm_destroy_device(chaos.world->manager, meanwhile.handle);
        }
        // By the caller, meanwhile.
        if (meanwhile.result == FERRY_ERROR_HANDLE && device == NO_DEVICE)
            return;
        OKAY(meanwhile.result);
        meanwhile.gone = program ? (number == 0 ? 3 : 4) : 1u << number;
        meanwhile.program_gone = program;
        meanwhile.ended = number;
        if (chaos_is_gone(device))
            longjmp(chaos_left, 1);
        return;
    }
    unsigned owner = meanwhile.what == UNMAPS                       ? meanwhile.queue % DEVICES
                     : meanwhile.what == POLLS || !meanwhile.shadow ? 0
                                                                    : meanwhile.shadow->device;
    if (!is_fair(owner))
        fail_msg("FERRY_SEED=%llu step %u: meanwhile %d of device %u: error %d", (unsigned long long)chaos.seed,
                 chaos.step, (int)meanwhile.what, owner, meanwhile.result);
    if (meanwhile.wrong && !chaos_in_error(owner))
        fail_msg("FERRY_SEED=%llu step %u: meanwhile %d of device %u: byte %llu is wrong",
                 (unsigned long long)chaos.seed, chaos.step, (int)meanwhile.what, owner,
                 (unsigned long long)meanwhile.wrong_at);
    for (uint64_t i = 0; meanwhile.fills_locked && chaos.lock_failed && i < meanwhile.shadow->size; i += 4)
        memcpy(meanwhile.shadow->bytes + i, &meanwhile.pattern, 4);
    bool holds = meanwhile.what == LOOKS || meanwhile.what == WRITES;
    if (meanwhile.result == FERRY_OK && holds)
        unlock();
    if (meanwhile.result == FERRY_OK && meanwhile.what == DESTROYS) {
        meanwhile.destroyed = meanwhile.handle;
        // Whoever looks for more in this step does not find it.
        meanwhile.shadow->count = 0;
    }
    if (meanwhile.result == FERRY_OK && meanwhile.what == UNMAPS)
        memset(chaos.reached[meanwhile.queue], 0, sizeof(chaos.reached[0]));
}

bool chaos_is_gone(unsigned device)
{
    return (meanwhile.gone & 1u << device) != 0;
}

// The step may have looked at it.
static void note_what_is_gone(void)
{
    struct shadow *destroyed = chaos_named(meanwhile.destroyed);
    unsigned gone = meanwhile.gone;
    if (destroyed)
        chaos_forget(destroyed);
    meanwhile.destroyed = 0;
    meanwhile.gone = 0;
    if (gone == 0)
        return;
    chaos.died++;
    if (meanwhile.program_gone)
        chaos_program_gone(meanwhile.ended);
    else
        chaos_device_gone(meanwhile.ended);
}

int chaos_joined(int result, unsigned device)
{
    if (!meanwhile.runs)
        return result;
    join(device);
    return result;
}

bool chaos_vain(int result)
{
    bool so = result == FERRY_ERROR_TIMEOUT && chaos.in_vain;
    chaos.vain += so;
    return so;
}

void chaos_meanwhile_after(void)
{
    meanwhile.armed = false;
    if (meanwhile.runs)
        join(NO_DEVICE);
    chaos_vain_ends();
    note_what_is_gone();
}
