// SPDX-License-Identifier: Apache-2.0
// What the programs of a run of chaos.h do with addresses: their queues change them among their jobs, calls map and
// free others, and jobs go by them.
#include "chaos_state.h"

struct shadow *chaos_named(D3DKMT_HANDLE handle)
{
    for (unsigned i = 0; i < chaos.live && handle != 0; i++)
        if (chaos.all[i].handle == handle)
            return &chaos.all[i];
    return NULL;
}

unsigned chaos_queue(unsigned device)
{
    return chaos.more && chaos.other[device] != 0 && chaos_draw(2) ? device + DEVICES : device;
}

static bool is_done(int result, unsigned device, D3DKMT_HANDLE handle)
{
    if (result == FERRY_ERROR_DEVICE_LOST)
        CHECK(chaos_in_error(device) || (handle != 0 && world_place(chaos.world, handle).lost));
    else if (result != FERRY_ERROR_BUSY && result != FERRY_ERROR_NO_VIDEO_MEMORY && !chaos_no_memory(result) &&
             !chaos_vain(result))
        OKAY(result);
    return result == FERRY_OK;
}

static void add_map(struct ferry_vidmm_update *operation, struct reached *now, uint64_t base, struct shadow *s)
{
    unsigned pages = (unsigned)(s->size / PAGE_SIZE), offset = chaos_pick(pages);
    unsigned most = pages - offset < REACHED ? pages - offset : REACHED, n = 1 + chaos_pick(most), repeat = 0;
    unsigned at = chaos_pick(REACHED - n + 1);
    // In pages of 64 KiB, where its place allows.
    if (chaos.large && chaos_draw(2)) {
        offset = offset / 16 * 16;
        at = at / 16 * 16;
    }
    bool read_only = false;
    if (chaos.more) {
        read_only = chaos_draw(5) == 0;
        // So many pages of it, again and again.
        if (chaos_draw(5) == 0) {
            repeat = n;
            n = repeat * (1 + chaos_draw((REACHED - at) / repeat));
        }
    }
    *operation = (struct ferry_vidmm_update){.kind = FERRY_VIDMM_MAP,
                                             .address = base + PAGES(at),
                                             .bytes = PAGES(n),
                                             .allocation = s->handle,
                                             .offset = PAGES(offset),
                                             .repeat = PAGES(repeat),
                                             .read_only = read_only};
    for (unsigned k = 0; k < n; k++)
        now[at + k] = (struct reached){s->handle, offset + (repeat ? k % repeat : k), read_only};
    s->engaged = true;
}

// Whose addresses are copied: of the same program, another queue's or another device's too.
static unsigned source_queue(unsigned queue)
{
    static const unsigned neighbour[DEVICES] = {1, 0, 2, 3};
    unsigned device = queue % DEVICES;
    if (!chaos.more || chaos_draw(3))
        return queue;
    return chaos_queue(chaos_draw(2) ? neighbour[device] : device);
}

static void update_addresses(void)
{
    unsigned device = chaos_pick(DEVICES), count = 1 + chaos_pick(4), used = 0, queue = chaos_queue(device);
    uint64_t base = chaos_addresses(queue);
    struct reached now[REACHED], copied[REACHED];
    struct ferry_vidmm_update batch[4];
    struct ferry_vidmm_updated updated;
    chaos.queues |= 1u << queue;
    memcpy(now, chaos.reached[queue], sizeof(now));
    for (unsigned i = 0; i < count; i++) {
        struct shadow *s = chaos_any();
        for (unsigned k = 0; k < 20 && s && s->device != device; k++)
            s = chaos_any();
        unsigned n = 1 + chaos_pick(chaos_pick(5) ? 4 : 30), at = chaos_pick(REACHED - n + 1),
                 from = chaos_pick(REACHED - n + 1), kind = chaos_pick(5);
        if (kind >= 2) {
            if (!s || s->device != device)
                continue;
            add_map(&batch[used++], now, base, s);
        } else if (kind == 1) {
            batch[used++] =
                (struct ferry_vidmm_update){.kind = FERRY_VIDMM_UNMAP, .address = base + PAGES(at), .bytes = PAGES(n)};
            memset(&now[at], 0, n * sizeof(now[0]));
        } else {
            unsigned source = source_queue(queue);
            chaos.queues |= 1u << source;
            batch[used++] = (struct ferry_vidmm_update){.kind = FERRY_VIDMM_COPY,
                                                        .address = base + PAGES(at),
                                                        .bytes = PAGES(n),
                                                        .source = chaos_addresses(source) + PAGES(from)};
            memcpy(copied, source == queue ? &now[from] : &chaos.reached[source][from], n * sizeof(now[0]));
            memcpy(&now[at], copied, n * sizeof(now[0]));
            for (unsigned k = 0; k < n; k++)
                if ((s = chaos_named(copied[k].handle)))
                    s->engaged = true;
        }
    }
    D3DKMT_HANDLE context = queue < DEVICES ? chaos.devices[device].context : chaos.other[device];
    int result = chaos_joined(ferry_vidmm_update_virtual(chaos.world->manager, context, batch, used, &updated), device);
    D3DKMT_HANDLE lost = 0;
    for (unsigned i = 0; i < used; i++)
        if (batch[i].kind == FERRY_VIDMM_MAP && world_place(chaos.world, batch[i].allocation).lost)
            lost = batch[i].allocation;
    if (!is_done(result, device, lost))
        return;
    memcpy(chaos.reached[queue], now, sizeof(now));
    chaos.updates++;
}

// ---- By calls ----

static uint64_t called_addresses(unsigned device)
{
    return (UINT64_C(1) << 43) + ((uint64_t)device << 32);
}

static void map_or_free(void)
{
    unsigned device = chaos_draw(DEVICES);
    struct called *called = &chaos.called[device][chaos_draw(CALLED)];
    struct ferry_vidmm *manager = chaos.world->manager;
    if (called->handle != 0) {
        uint64_t bytes = PAGES(called->pages);
        if (is_done(ferry_vidmm_free_virtual(manager, chaos.devices[device].device, called->address, bytes), device, 0))
            *called = (struct called){0};
        return;
    }
    struct shadow *s = NULL;
    for (unsigned k = 0; k < 20 && chaos.live && (!s || s->device != device); k++)
        s = &chaos.all[chaos_draw(chaos.live)];
    if (!s || s->device != device)
        return;
    uint32_t pages = (uint32_t)(s->size / PAGE_SIZE), page = chaos_draw(pages);
    struct called made = {s->handle, 0, page, 1 + chaos_draw(pages - page), chaos_draw(4) == 0};
    struct ferry_vidmm_virtual range = {
        .size = sizeof(range), .least = called_addresses(device), .bytes = PAGES(made.pages)};
    if (chaos_draw(2))
        range.address = called_addresses(device) + PAGES(chaos_draw(200));
    int result =
        ferry_vidmm_map_virtual(manager, chaos.devices[device].device, s->handle, PAGES(page), made.read_only, &range);
    if (!is_done(result, device, s->handle))
        return;
    made.address = range.address;
    *called = made;
    chaos.calls++;
}

// ---- Jobs ----

struct place {
    struct shadow *shadow;
    uint64_t address, at;
    bool read_only;
};

static struct place some_place(unsigned queue)
{
    unsigned device = queue % DEVICES, at = chaos_pick(REACHED);
    const struct reached *reached = &chaos.reached[queue][at];
    struct place place = {chaos_named(reached->handle), chaos_addresses(queue) + PAGES(at), PAGES(reached->page),
                          reached->read_only};
    const struct called *called = chaos.more && chaos_draw(4) == 0 ? &chaos.called[device][chaos_draw(CALLED)] : NULL;
    if (called && called->handle != 0) {
        unsigned k = chaos_draw(called->pages);
        place = (struct place){chaos_named(called->handle), called->address + PAGES(k), PAGES(called->page + k),
                               called->read_only};
    }
    // Its device alone may name it.
    if (place.shadow && (place.shadow->count == 0 || place.shadow->device != device))
        place.shadow = NULL;
    return place;
}

static void copy_by_address(void)
{
    unsigned device = chaos_pick(DEVICES), queue = chaos_queue(device);
    struct place to = {0}, from = {0};
    for (unsigned i = 0; i < 40 && !to.shadow; i++) {
        device = chaos_pick(DEVICES);
        queue = chaos_queue(device);
        to = some_place(queue);
        to.shadow = to.read_only ? NULL : to.shadow;
    }
    for (unsigned i = 0; i < 40 && !from.shadow; i++)
        from = some_place(queue);
    struct shadow *target = to.shadow, *source = from.shadow;
    if (!target || !source || (target == source && to.at == from.at) || !chaos_is_free(target, to.at, PAGE_SIZE) ||
        !chaos_is_free(source, from.at, PAGE_SIZE))
        return;
    chaos.queues |= 1u << queue;
    struct machine_job job = {0};
    struct ferry_vidmm_reference references[2] = {{target->handle, true}, {source->handle, false}};
    machine_job_copy(&job, 0, 0, 1, 0, PAGE_SIZE);
    for (uint32_t i = 0; i < job.patch_count; i++)
        machine_job_by_address(job.commands, &job.patches[i],
                               job.patches[i].AllocationIndex == 0 ? to.address : from.address);
    job.patch_count = 0;
    bool locked = (target->locked && !chaos_permanent(target)) || (source->locked && !chaos_permanent(source));
    if (!chaos_submit(target, source, &job, references, source == target ? 1 : 2, locked, queue))
        return;
    chaos.by_address++;
    target->gpu_wrote = true;
    chaos_copied(target, to.at, source, from.at, PAGE_SIZE);
}

void chaos_addresses_step(void)
{
    if (chaos.more && chaos_draw(4) == 0)
        map_or_free();
    else if (chaos_pick(4) == 0)
        update_addresses();
    else
        copy_by_address();
}
