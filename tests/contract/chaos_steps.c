// SPDX-License-Identifier: Apache-2.0
// What the programs of a run of chaos.h do, one step at a time.
#include "addresses.h"
#include "chaos_state.h"

#include <stdlib.h>

#include "vidmm/api/manager.h"

// ---- Locks ----

static void write_words(struct shadow *s, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i += 4) {
        uint32_t word = chaos_pick(0x3FFFFFFF);
        memcpy(s->view + i, &word, 4);
        memcpy(s->bytes + i, &word, 4);
    }
}

// For want of memory it is locked still; it goes next time.
static bool unlocks(const struct shadow *s)
{
    int result = ferry_vidmm_unlock(chaos.world->manager, s->handle);
    if (chaos_no_memory(result))
        return false;
    OKAY(result);
    return true;
}

static void close_view(struct shadow *s)
{
    chaos_image_touch(s);
    if (!unlocks(s))
        return;
    s->locked = s->linear = false;
}

void chaos_unlock(struct shadow *s)
{
    if (s->linear) {
        close_view(s);
        return;
    }
    bool reads = (s->lock_flags & D3DDDI_LOCK_READ_ONLY) != 0;
    uint64_t from = s->first * PAGE_SIZE, to = from + s->pages * PAGE_SIZE;
    if (!reads && chaos_pick(2)) {
        uint64_t at = from + 4 * chaos_pick((uint32_t)((to - from) / 4));
        write_words(s, at, at + 4);
    }
    if (!chaos_permanent(s) && !s->aperture)
        chaos_compare(s, s->view, 0, s->size, "at unlock");
    else if (!reads)
        chaos_compare(s, s->view, from, to, "at unlock, what was held");
    if (!unlocks(s))
        return;
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
    UINT flags = kinds[chaos_pick(chaos.discards ? 8 : 6)];
    return flags | (chaos_pick(6) == 0 ? D3DDDI_LOCK_DO_NOT_WAIT : 0);
}

static void lock_with(struct shadow *s, UINT flags)
{
    bool discards = (flags & D3DDDI_LOCK_DISCARD) != 0, reads = (flags & D3DDDI_LOCK_READ_ONLY) != 0;
    uint64_t pages = s->size / PAGE_SIZE;
    s->first = discards ? 0 : chaos_pick((uint32_t)pages);
    s->pages = discards ? pages : 1 + chaos_pick((uint32_t)(pages - s->first));
    void *address;
    s->engaged = true;
    chaos.locking = discards ? s : NULL;
    int result = ferry_vidmm_lock_pages(chaos.world->manager, s->handle, flags, s->first, s->pages, &address);
    chaos.lock_failed = result != FERRY_OK;
    result = chaos_joined(result, s->device);
    chaos.locking = NULL;
    if ((result == FERRY_ERROR_BUSY && (flags & D3DDDI_LOCK_DO_NOT_WAIT) && !discards) || chaos_lost(s, result) ||
        chaos_no_memory(result))
        return;
    OKAY(result);
    s->locked = true;
    s->view = address;
    s->lock_flags = flags;
    if (discards)
        write_words(s, 0, s->size);
    else if ((flags & D3DDDI_LOCK_WRITE_ONLY) == 0 || !s->aperture)
        chaos_compare(s, s->view, 0, s->size, "at lock");
    if (!reads)
        write_words(s, s->first * PAGE_SIZE, (s->first + s->pages) * PAGE_SIZE);
    if (chaos_pick(4))
        chaos_unlock(s);
}

static void lock(struct shadow *s)
{
    if (s->rows_at && !addresses_wanted() && chaos_pick(3)) {
        if (chaos_image_lock(s) && chaos_pick(2))
            chaos_unlock(s);
        return;
    }
    lock_with(s, lock_flags());
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
    if (chaos.live == MOST)
        return;
    struct shadow *s = &chaos.all[chaos.live];
    *s = (struct shadow){.flags = kinds[chaos_pick(7)], .aperture = chaos_pick(5) == 0, .device = chaos_pick(DEVICES)};
    s->size = PAGES(1 + chaos_pick(chaos_pick(4) == 0 ? 20 : 5));
    if (chaos.large && chaos_draw(3) == 0)
        s->size = PAGES(chaos_draw(2) ? 512 + chaos_draw(80) : 16 + chaos_draw(60));
    struct ferry_allocation_private wanted = world_private(s->size, s->flags);
    if (chaos.images && chaos_pick(3) == 0)
        chaos_image_create(s, &wanted);
    wanted.Aperture = s->aperture;
    wanted.RenamingLimit = chaos_pick(4);
    wanted.Alignment = chaos_pick(6) == 0 ? 4 * PAGE_SIZE : 0;
    if (chaos.large && s->size >= PAGES(16) && chaos_draw(4))
        wanted.Alignment = (s->size >= PAGES(512) ? 512 : 16) * PAGE_SIZE;
    struct ferry_vidmm_allocation_options options = {.fill_pattern = chaos_pick(2) ? chaos_pick(1u << 30) : 0};
    s->bytes = malloc(s->size);
    for (uint64_t i = 0; i < s->size; i += 4)
        memcpy(s->bytes + i, &options.fill_pattern, 4);
    if ((s->flags & DXGK_ALLOC_FLAG_EXISTING_SYSMEM) != 0) {
        s->existing = aligned_alloc(PAGE_SIZE, s->size);
        memcpy(s->existing, s->bytes, s->size);
        options.existing = s->existing;
        options.existing_bytes = s->size;
    }
    chaos_beside_create(&wanted);
    program_become(chaos.world, &chaos.devices[s->device]);
    int result = world_try_create(chaos.world, &wanted, &options, &s->handle, NULL);
    chaos.live++;
    // The first one that is moved by addresses or noticed gets the paging process its tables.
    bool by_window = addresses_of_paging_wanted() || (wanted.Flags2 & DXGK_ALLOC_FLAG2_NOTIFY_EVICTION) != 0;
    bool no_tables = result == FERRY_ERROR_NO_VIDEO_MEMORY && by_window;
    if (chaos_lost(s, result) || chaos_no_memory(result) || no_tables)
        chaos_forget(s);
    else
        OKAY(result);
}

void chaos_destroy(struct shadow *s)
{
    s->engaged = true;
    int result = chaos_joined(ferry_vidmm_destroy_allocation(chaos.world->manager, s->handle), s->device);
    CHECK(chaos_vain(result) || result == (s->locked ? FERRY_ERROR_LOCKED : FERRY_OK));
    if (result == FERRY_OK)
        chaos_forget(s);
}

// No job may name it: the CPU has its content, and what is seen in place has no copy for it.
static bool is_refused(const struct shadow *s)
{
    return s->locked && (!chaos_permanent(s) || s->linear);
}

static void require(struct shadow *s)
{
    D3DKMT_HANDLE list[4] = {s->handle};
    struct shadow *named[4] = {s};
    UINT count = 1;
    bool locked = s->locked && !chaos_permanent(s), anew = s->count == 0;
    for (unsigned more = chaos_pick(3); more > 0; more--) {
        struct shadow *other = chaos_any();
        if (other->device != s->device)
            continue;
        locked |= other->locked && !chaos_permanent(other);
        anew |= other->count == 0;
        named[count] = other;
        list[count++] = other->handle;
    }
    D3DKMT_HANDLE queue = chaos.devices[s->device].queue;
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = queue, .NumAllocations = count, .AllocationList = list};
    arguments.Flags.CantTrimFurther = chaos_pick(2);
    for (UINT i = 0; i < count; i++)
        named[i]->engaged = true;
    int result = ferry_vidmm_make_resident(chaos.world->manager, &arguments);
    // However little the program may have by now: what is on its list is not refused again.
    CHECK(result != FERRY_ERROR_NO_VIDEO_MEMORY || anew);
    if (result == FERRY_ERROR_NO_VIDEO_MEMORY || (result == FERRY_ERROR_LOCKED && locked) || chaos_lost(s, result) ||
        chaos_no_memory(result))
        return;
    CHECK(result == FERRY_OK || result == FERRY_PENDING);
    if (result == FERRY_PENDING && !chaos_pick(3)) {
        result =
            chaos_joined(ferry_vidmm_wait_paging(chaos.world->manager, queue, arguments.PagingFenceValue), s->device);
        CHECK(chaos_lost(s, result) || result == FERRY_OK);
    }
    for (UINT i = 0; i < count; i++)
        if (named[i]->count++ == 0)
            named[i]->gpu_wrote = false;
}

static void evict(struct shadow *s)
{
    D3DDDICB_EVICT arguments = {.NumAllocations = 1, .AllocationList = &s->handle};
    arguments.Flags.NotWrittenTo = !s->gpu_wrote && chaos_pick(2);
    int result = ferry_vidmm_evict(chaos.world->manager, chaos.devices[s->device].device, &arguments);
    CHECK(result == (s->count ? FERRY_OK : FERRY_ERROR_NOT_RESIDENT));
    s->count -= s->count != 0;
}

// What the CPU holds for writing is left alone by the GPU. It holds rows of an image, of which jobs see tiles.
bool chaos_is_free(const struct shadow *s, uint64_t at, uint64_t bytes)
{
    if (s->rows_at && s->locked)
        return (s->lock_flags & D3DDDI_LOCK_READ_ONLY) != 0;
    return !s->locked ||
           (!s->aperture && ((s->lock_flags & D3DDDI_LOCK_READ_ONLY) != 0 || at + bytes <= s->first * PAGE_SIZE ||
                             at >= (s->first + s->pages) * PAGE_SIZE));
}

// Jobs of two queues of a device keep no order: what the other one has queued for it is over first.
static bool waits_for_other(struct shadow *s, unsigned queue)
{
    unsigned other = queue < DEVICES;
    if (!s || s->used[other] == 0)
        return true;
    D3DKMT_HANDLE context = other ? chaos.other[s->device] : chaos.devices[s->device].context;
    int result = chaos_joined(ferry_vidmm_wait(chaos.world->manager, context, s->used[other]), s->device);
    if (chaos_vain(result))
        return false;
    CHECK(result == FERRY_OK || chaos_in_error(s->device));
    s->used[other] = 0;
    return true;
}

// Other buffers of the job, before it: what they name is on the list of the same device, and what they fill nobody else
// of this job names.
#define MOST_BEFORE 3
static unsigned buffers_before(const struct shadow *to, const struct shadow *from, unsigned queue,
                               struct shadow *named[MOST_BEFORE], uint32_t patterns[MOST_BEFORE])
{
    unsigned count = 0, wanted = chaos.more && chaos_draw(3) == 0 ? 1 + chaos_draw(MOST_BEFORE) : 0;
    for (unsigned i = 0; i < 10 && count < wanted; i++) {
        struct shadow *s = &chaos.all[chaos_draw(chaos.live)];
        if (s->device != to->device || s->count == 0 || s->locked || s == to || s == from ||
            (s->aperture && !machine_fills_aperture) || s->rows_at)
            continue;
        for (unsigned k = 0; k < count && s; k++)
            s = s == named[k] ? NULL : s;
        if (!s)
            continue;
        s->engaged = true;
        patterns[count] = chaos_draw(0x3FFFFFFF);
        named[count++] = s;
    }
    for (unsigned i = 0; i < count; i++)
        if (!waits_for_other(named[i], queue))
            return 0;
    return count;
}

// True when the job is in the line.
bool chaos_submit(struct shadow *to, struct shadow *from, const struct machine_job *job,
                  const struct ferry_vidmm_reference *references, uint32_t count, bool locked, unsigned queue)
{
    static struct machine_job jobs[MOST_BEFORE];
    struct ferry_vidmm_submission buffers[MOST_BEFORE + 1];
    struct ferry_vidmm_reference others[MOST_BEFORE];
    struct shadow *named[MOST_BEFORE];
    uint32_t patterns[MOST_BEFORE];
    D3DKMT_HANDLE context = queue < DEVICES ? chaos.devices[to->device].context : chaos.other[to->device];
    uint64_t fence;
    to->engaged = true;
    if (from)
        from->engaged = true;
    if (!waits_for_other(to, queue) || !waits_for_other(from, queue))
        return false;
    unsigned before = buffers_before(to, from, queue, named, patterns);
    for (unsigned i = 0; i < before; i++) {
        jobs[i] = (struct machine_job){0};
        machine_job_fill(&jobs[i], 0, 0, (uint32_t)named[i]->size, patterns[i]);
        others[i] = (struct ferry_vidmm_reference){named[i]->handle, true};
        buffers[i] = (struct ferry_vidmm_submission){.commands = jobs[i].commands,
                                                     .bytes = jobs[i].bytes,
                                                     .references = &others[i],
                                                     .reference_count = 1,
                                                     .patches = jobs[i].patches,
                                                     .patch_count = jobs[i].patch_count};
    }
    buffers[before] = (struct ferry_vidmm_submission){.commands = job->commands,
                                                      .bytes = job->bytes,
                                                      .references = references,
                                                      .reference_count = count,
                                                      .patches = job->patches,
                                                      .patch_count = job->patch_count};
    int result =
        chaos_joined(ferry_vidmm_submit(chaos.world->manager, context, buffers, before + 1, &fence), to->device);
    if (chaos_no_memory(result))
        return false;
    if (locked)
        CHECK(result == FERRY_ERROR_LOCKED || chaos_lost(to, result));
    chaos.refused += result == FERRY_ERROR_NO_VIDEO_MEMORY;
    if (locked || result == FERRY_ERROR_NO_VIDEO_MEMORY || chaos_lost(to, result))
        return false;
    OKAY(result);
    chaos.jobs++;
    chaos.wholes += before > 0;
    for (unsigned i = 0; i < before; i++) {
        named[i]->used[queue >= DEVICES] = fence;
        named[i]->gpu_wrote = true;
        for (uint64_t at = 0; at < named[i]->size; at += 4)
            memcpy(named[i]->bytes + at, &patterns[i], 4);
    }
    to->used[queue >= DEVICES] = fence;
    if (from)
        from->used[queue >= DEVICES] = fence;
    if (chaos_pick(6) == 0) {
        result = chaos_joined(ferry_vidmm_wait(chaos.world->manager, context, fence), to->device);
        CHECK(result == FERRY_OK || chaos_vain(result) || chaos_in_error(to->device));
    }
    return true;
}

void chaos_copied(struct shadow *to, uint64_t at, const struct shadow *from, uint64_t from_at, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        to->bytes[chaos_as_seen(to, at + i)] = from->bytes[chaos_as_seen(from, from_at + i)];
}

static void copy_or_fill(void)
{
    struct shadow *to = chaos_any(), *from = chaos_any();
    for (unsigned i = 0; i < 20 && !to->count; i++)
        to = chaos_any();
    for (unsigned i = 0; i < 20 && (from->device != to->device || !from->count); i++)
        from = chaos_any();
    if (!to->count || !from->count || to->device != from->device)
        return;
    uint32_t bytes = 4 * (1 + chaos_pick(PAGE_SIZE)), pattern = chaos_pick(0x3FFFFFFF);
    bytes = bytes < to->size ? bytes : (uint32_t)to->size;
    bool copies = chaos_pick(2) && from != to && from->size >= bytes;
    uint64_t at = chaos_pick((uint32_t)(to->size - bytes) / 4 + 1) * 4;
    uint64_t from_at = copies ? chaos_pick((uint32_t)(from->size - bytes) + 1) : 0;
    if (!chaos_is_free(to, at, bytes) || (copies && !chaos_is_free(from, from_at, bytes)) ||
        (!copies && to->aperture && !machine_fills_aperture))
        return;
    struct machine_job job = {0};
    struct ferry_vidmm_reference references[2] = {{to->handle, true}, {from->handle, false}};
    if (copies)
        machine_job_copy(&job, 0, at, 1, from_at, bytes);
    else
        machine_job_fill(&job, 0, at, bytes, pattern);
    bool locked = is_refused(to) || (copies && is_refused(from));
    if (!chaos_submit(to, copies ? from : NULL, &job, references, copies ? 2 : 1, locked, chaos_queue(to->device)))
        return;
    to->gpu_wrote = true;
    if (copies)
        chaos_copied(to, at, from, from_at, bytes);
    for (uint64_t i = 0; !copies && i < bytes; i++)
        to->bytes[chaos_as_seen(to, at + i)] = ((const uint8_t *)&pattern)[i % 4];
}

// Jobs that only name it: then a discard finds it busy.
static void keep_busy(struct shadow *s)
{
    for (unsigned i = chaos_pick(4); i > 0; i--) {
        struct machine_job job = {0};
        struct ferry_vidmm_reference reference = {s->handle, chaos_pick(2)};
        machine_job_nothing(&job);
        if (chaos_submit(s, NULL, &job, &reference, 1, is_refused(s), chaos_queue(s->device)))
            s->gpu_wrote |= reference.write;
    }
}

// What a job may name beside the lock.
static void discard_again_and_again(struct shadow *s)
{
    for (unsigned i = 0; i < 3 && s->count && !chaos_is_gone(s->device) && !s->locked; i++) {
        keep_busy(s);
        if (!chaos_is_gone(s->device))
            lock_with(s, D3DDDI_LOCK_DISCARD);
        if (s->locked)
            chaos_unlock(s);
    }
}

static void lock_or_unlock(struct shadow *s)
{
    if (chaos.discards && s->count && !s->locked && chaos_pick(2)) {
        keep_busy(s);
        if (chaos.more && chaos_permanent(s) && !s->aperture && chaos_draw(2))
            discard_again_and_again(s);
        if (chaos_is_gone(s->device))
            return;
    }
    if (s->linear && chaos_pick(2))
        chaos_image_touch(s);
    else if (s->locked)
        chaos_unlock(s);
    else
        lock(s);
    for (unsigned i = 0; i < 3; i++)
        if (!chaos_is_held(s = chaos_any()) && s->locked && !chaos_is_gone(s->device))
            chaos_unlock(s);
}

// The images that there are, seen for longer than what is locked otherwise.
static void look_at_image(void)
{
    struct shadow *s = chaos_any();
    for (unsigned i = 0; i < 10 && s && !s->rows_at; i++)
        s = chaos_any();
    if (!s || !s->rows_at)
        return;
    if (s->linear && chaos_pick(4))
        chaos_image_touch(s);
    else if (s->locked)
        chaos_unlock(s);
    else
        chaos_image_lock(s);
}

void chaos_step(void)
{
    if (chaos.images && !addresses_wanted() && chaos_pick(5) == 0) {
        look_at_image();
        return;
    }
    if (addresses_wanted() && chaos_pick(3) == 0) {
        chaos_addresses_step();
        return;
    }
    unsigned kind = chaos_pick(100);
    struct shadow *s = chaos_any();
    if (kind < 12)
        create();
    else if (!s)
        return;
    else if (kind < 15)
        chaos_destroy(s);
    else if (kind < 32)
        lock_or_unlock(s);
    else if (kind < 52)
        require(s);
    else if (kind < 60)
        evict(s);
    else if (kind < 92)
        copy_or_fill();
    else if (kind < 94 && chaos.resets && machine_queued_jobs(chaos.world->machine) == 0)
        CHECK(ferry_vidmm_reset_engine(chaos.world->manager) != FERRY_ERROR_TIMEOUT || chaos.in_vain);
    else if (kind == 94 && chaos.kills && chaos_pick(6) == 0)
        chaos_kill_device(chaos_pick(DEVICES));
    else
        (void)chaos_joined(ferry_vidmm_poll(chaos.world->manager, chaos_pick(2)), NO_DEVICE);
}
