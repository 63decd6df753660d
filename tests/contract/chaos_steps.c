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

static void lock(struct shadow *s)
{
    if (s->rows_at && chaos_pick(3)) {
        if (chaos_image_lock(s) && chaos_pick(2))
            chaos_unlock(s);
        return;
    }
    UINT flags = lock_flags();
    bool discards = (flags & D3DDDI_LOCK_DISCARD) != 0, reads = (flags & D3DDDI_LOCK_READ_ONLY) != 0;
    uint64_t pages = s->size / PAGE_SIZE;
    s->first = discards ? 0 : chaos_pick((uint32_t)pages);
    s->pages = discards ? pages : 1 + chaos_pick((uint32_t)(pages - s->first));
    void *address;
    int result = ferry_vidmm_lock_pages(chaos.world->manager, s->handle, flags, s->first, s->pages, &address);
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
    struct ferry_allocation_private wanted = world_private(s->size, s->flags);
    if (chaos.images && chaos_pick(3) == 0)
        chaos_image_create(s, &wanted);
    wanted.Aperture = s->aperture;
    wanted.RenamingLimit = chaos_pick(4);
    wanted.Alignment = chaos_pick(6) == 0 ? 4 * PAGE_SIZE : 0;
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
    int result = ferry_vidmm_destroy_allocation(chaos.world->manager, s->handle);
    CHECK(result == (s->locked ? FERRY_ERROR_LOCKED : FERRY_OK));
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
    int result = ferry_vidmm_make_resident(chaos.world->manager, &arguments);
    // However little the program may have by now: what is on its list is not refused again.
    CHECK(result != FERRY_ERROR_NO_VIDEO_MEMORY || anew);
    if (result == FERRY_ERROR_NO_VIDEO_MEMORY || (result == FERRY_ERROR_LOCKED && locked) || chaos_lost(s, result) ||
        chaos_no_memory(result))
        return;
    CHECK(result == FERRY_OK || result == FERRY_PENDING);
    if (result == FERRY_PENDING && !chaos_pick(3)) {
        result = ferry_vidmm_wait_paging(chaos.world->manager, queue, arguments.PagingFenceValue);
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
static bool is_free(const struct shadow *s, uint64_t at, uint64_t bytes)
{
    if (s->rows_at && s->locked)
        return (s->lock_flags & D3DDDI_LOCK_READ_ONLY) != 0;
    return !s->locked ||
           (!s->aperture && ((s->lock_flags & D3DDDI_LOCK_READ_ONLY) != 0 || at + bytes <= s->first * PAGE_SIZE ||
                             at >= (s->first + s->pages) * PAGE_SIZE));
}

// True when the job is in the line.
static bool submit(const struct shadow *to, const struct machine_job *job,
                   const struct ferry_vidmm_reference *references, uint32_t count, bool locked)
{
    struct ferry_vidmm_submission buffer = {job->commands, job->bytes,       references, count,
                                            job->patches,  job->patch_count, NULL};
    D3DKMT_HANDLE context = chaos.devices[to->device].context;
    uint64_t fence;
    int result = ferry_vidmm_submit(chaos.world->manager, context, &buffer, 1, &fence);
    if (chaos_no_memory(result))
        return false;
    if (locked)
        CHECK(result == FERRY_ERROR_LOCKED || chaos_lost(to, result));
    chaos.refused += result == FERRY_ERROR_NO_VIDEO_MEMORY;
    if (locked || result == FERRY_ERROR_NO_VIDEO_MEMORY || chaos_lost(to, result))
        return false;
    OKAY(result);
    chaos.jobs++;
    if (chaos_pick(6) == 0) {
        result = ferry_vidmm_wait(chaos.world->manager, context, fence);
        CHECK(result == FERRY_OK || chaos_in_error(to->device));
    }
    return true;
}

static uint64_t as_seen(const struct shadow *s, uint64_t at)
{
    return s->rows_at ? s->rows_at[at] : at;
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
    if (!is_free(to, at, bytes) || (copies && !is_free(from, from_at, bytes)) ||
        (!copies && to->aperture && !machine_fills_aperture))
        return;
    struct machine_job job = {0};
    struct ferry_vidmm_reference references[2] = {{to->handle, true}, {from->handle, false}};
    if (copies)
        machine_job_copy(&job, 0, at, 1, from_at, bytes);
    else
        machine_job_fill(&job, 0, at, bytes, pattern);
    bool locked = is_refused(to) || (copies && is_refused(from));
    if (!submit(to, &job, references, copies ? 2 : 1, locked))
        return;
    to->gpu_wrote = true;
    for (uint64_t i = 0; i < bytes; i++)
        to->bytes[as_seen(to, at + i)] =
            copies ? from->bytes[as_seen(from, from_at + i)] : ((const uint8_t *)&pattern)[i % 4];
}

// Jobs that only name it: then a discard finds it busy.
static void keep_busy(struct shadow *s)
{
    for (unsigned i = chaos_pick(4); i > 0; i--) {
        struct machine_job job = {0};
        struct ferry_vidmm_reference reference = {s->handle, chaos_pick(2)};
        machine_job_nothing(&job);
        if (submit(s, &job, &reference, 1, is_refused(s)))
            s->gpu_wrote |= reference.write;
    }
}

static void lock_or_unlock(struct shadow *s)
{
    if (chaos.discards && s->count && !s->locked && chaos_pick(2))
        keep_busy(s);
    if (s->linear && chaos_pick(2))
        chaos_image_touch(s);
    else if (s->locked)
        chaos_unlock(s);
    else
        lock(s);
    for (unsigned i = 0; i < 3; i++)
        if ((s = chaos_any())->locked)
            chaos_unlock(s);
}

// ---- Addresses that change among the jobs ----

static struct shadow *named(D3DKMT_HANDLE handle)
{
    for (unsigned i = 0; i < chaos.live && handle != 0; i++)
        if (chaos.all[i].handle == handle)
            return &chaos.all[i];
    return NULL;
}

static void update_addresses(void)
{
    unsigned device = chaos_pick(DEVICES), count = 1 + chaos_pick(4), used = 0;
    uint64_t base = chaos_addresses(device);
    struct reached now[REACHED], copied[REACHED];
    struct ferry_vidmm_update batch[4];
    struct ferry_vidmm_updated updated;
    memcpy(now, chaos.reached[device], sizeof(now));
    for (unsigned i = 0; i < count; i++) {
        struct shadow *s = chaos_any();
        for (unsigned k = 0; k < 20 && s && s->device != device; k++)
            s = chaos_any();
        unsigned n = 1 + chaos_pick(chaos_pick(5) ? 4 : 30), at = chaos_pick(REACHED - n + 1),
                 from = chaos_pick(REACHED - n + 1), kind = chaos_pick(5);
        if (kind >= 2) {
            if (!s || s->device != device)
                continue;
            unsigned pages = (unsigned)(s->size / PAGE_SIZE), offset = chaos_pick(pages);
            n = 1 + chaos_pick(pages - offset);
            at = chaos_pick(REACHED - n + 1);
            batch[used++] = (struct ferry_vidmm_update){.kind = FERRY_VIDMM_MAP,
                                                        .address = base + PAGES(at),
                                                        .bytes = PAGES(n),
                                                        .allocation = s->handle,
                                                        .offset = PAGES(offset)};
            for (unsigned k = 0; k < n; k++)
                now[at + k] = (struct reached){s->handle, offset + k};
        } else if (kind == 1) {
            batch[used++] =
                (struct ferry_vidmm_update){.kind = FERRY_VIDMM_UNMAP, .address = base + PAGES(at), .bytes = PAGES(n)};
            memset(&now[at], 0, n * sizeof(now[0]));
        } else {
            batch[used++] = (struct ferry_vidmm_update){
                .kind = FERRY_VIDMM_COPY, .address = base + PAGES(at), .bytes = PAGES(n), .source = base + PAGES(from)};
            memcpy(copied, &now[from], n * sizeof(now[0]));
            memcpy(&now[at], copied, n * sizeof(now[0]));
        }
    }
    int result = ferry_vidmm_update_virtual(chaos.world->manager, chaos.devices[device].context, batch, used, &updated);
    if (result == FERRY_ERROR_DEVICE_LOST) {
        bool lost = chaos_in_error(device);
        for (unsigned i = 0; i < used; i++)
            lost |= batch[i].kind == FERRY_VIDMM_MAP && world_place(chaos.world, batch[i].allocation).lost;
        CHECK(lost);
        return;
    }
    CHECK(result == FERRY_OK || result == FERRY_ERROR_BUSY || result == FERRY_ERROR_NO_VIDEO_MEMORY ||
          chaos_no_memory(result));
    if (result == FERRY_OK)
        memcpy(chaos.reached[device], now, sizeof(now));
    chaos.updates += result == FERRY_OK;
}

static void copy_by_address(void)
{
    unsigned device = chaos_pick(DEVICES), to = 0, from = 0;
    struct shadow *target = NULL, *source = NULL;
    for (unsigned i = 0; i < 40 && !(target && target->count); i++) {
        device = chaos_pick(DEVICES);
        to = chaos_pick(REACHED);
        target = named(chaos.reached[device][to].handle);
    }
    for (unsigned i = 0; i < 40 && !(source && source->count); i++) {
        from = chaos_pick(REACHED);
        source = named(chaos.reached[device][from].handle);
    }
    if (!target || !source || !target->count || !source->count)
        return;
    uint64_t to_at = PAGES(chaos.reached[device][to].page), from_at = PAGES(chaos.reached[device][from].page);
    if ((target == source && to_at == from_at) || !is_free(target, to_at, PAGE_SIZE) ||
        !is_free(source, from_at, PAGE_SIZE))
        return;
    struct machine_job job = {0};
    struct ferry_vidmm_reference references[2] = {{target->handle, true}, {source->handle, false}};
    machine_job_copy(&job, 0, 0, 1, 0, PAGE_SIZE);
    for (uint32_t i = 0; i < job.patch_count; i++)
        machine_job_by_address(job.commands, &job.patches[i],
                               chaos_addresses(device) + PAGES(job.patches[i].AllocationIndex == 0 ? to : from));
    job.patch_count = 0;
    bool locked = (target->locked && !chaos_permanent(target)) || (source->locked && !chaos_permanent(source));
    if (!submit(target, &job, references, source == target ? 1 : 2, locked))
        return;
    chaos.by_address++;
    target->gpu_wrote = true;
    memcpy(target->bytes + to_at, source->bytes + from_at, PAGE_SIZE);
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
    if (chaos.images && chaos_pick(5) == 0) {
        look_at_image();
        return;
    }
    if (addresses_wanted() && chaos_pick(3) == 0) {
        if (chaos_pick(4) == 0)
            update_addresses();
        else
            copy_by_address();
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
        CHECK(ferry_vidmm_reset_engine(chaos.world->manager) != FERRY_ERROR_TIMEOUT);
    else if (kind == 94 && chaos.kills && chaos_pick(6) == 0)
        chaos_kill_device(chaos_pick(DEVICES));
    else
        ferry_vidmm_poll(chaos.world->manager, chaos_pick(2));
}
