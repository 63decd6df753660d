// SPDX-License-Identifier: Apache-2.0
// A random program of calls on little memory, beside a shadow of it; counts are compared after each step, the content
// of one allocation after each step, and all content now and then and at the end. Some allocations are tiled images; in
// driver model 1 levels of them are seen in place by rows, of more of them than the device has ranges.
#include "call_shadow.h"

#define MEMORY_PAGES   80u
#define APERTURE_PAGES 48u

static void create(struct world *w, unsigned device)
{
    struct shadow *s = &w->slots[device][pick(w, SLOTS)];
    static const uint32_t flags[] = {FERRY_FLAG_CPU_VISIBLE, FERRY_FLAG_CPU_VISIBLE,
                                     FERRY_FLAG_CPU_VISIBLE | FERRY_FLAG_CACHED,
                                     FERRY_FLAG_CPU_VISIBLE | FERRY_FLAG_PERMANENT_SYSMEM, 0};
    struct ferry_allocation_options options = {.size = sizeof options};

    if (s->handle)
        return;
    *s = (struct shadow){.last_queue = -1};
    s->size = options.bytes = 1 + pick(w, pick(w, 4) ? 8 * 4096 : 30 * 4096);
    s->flags = options.flags = flags[pick(w, 5)];
    s->aperture = options.in_aperture = pick(w, 4) == 0;
    if (pick(w, 3) == 0) {
        pick_tiling(w, s);
        options.bytes = s->size;
        options.tiling = &s->tiling;
        s->aperture = options.in_aperture = false;
    }
    options.fill_pattern = (uint32_t)pick(w, 1ull << 32);
    options.alignment = pick(w, 5) ? 0 : 4096u << pick(w, 4);
    ok(ferry_allocation_create(w->devices[device], &options, &s->handle));
    s->bytes = malloc(s->size);
    for (uint64_t i = 0; i < s->size; i++)
        s->bytes[i] = (uint8_t)(options.fill_pattern >> (8 * (i % 4)));
}

static void destroy(struct world *w, struct shadow *s)
{
    int result = ferry_allocation_destroy(s->handle);

    if (result != (s->locked ? FERRY_ERROR_LOCKED : FERRY_OK))
        complain(w, "destroy", result);
    if (s->locked)
        return;
    if (ferry_allocation_destroy(s->handle) != FERRY_ERROR_HANDLE)
        complain(w, "second destroy", FERRY_OK);
    free(s->bytes);
    free(s->rows_at);
    *s = (struct shadow){0};
}

static void residency(struct world *w, unsigned device)
{
    struct ferry_allocation *list[4];
    struct shadow *shadows[4];
    size_t count = 1 + pick(w, 4), n = 0;

    for (size_t i = 0; i < count; i++) {
        struct shadow *s = any(w, device);

        // What a lock keeps out of its segment can not be made resident before unlock: LOCKED (R216). A view keeps
        // nothing out.
        if (s && (!s->locked || s->viewed)) {
            shadows[n] = s;
            list[n++] = s->handle;
        }
    }
    struct ferry_residency arguments = {.size = sizeof arguments, .allocations = list, .count = n};
    switch (pick(w, 5)) {
    case 0:
    case 1:
        if (good(w, "make resident", ferry_make_resident(w->devices[device], &arguments),
                 FERRY_ERROR_NO_VIDEO_MEMORY)) {
            for (size_t i = 0; i < n; i++)
                shadows[i]->count++;
        } else {
            w->refusals++;
            assert_true(arguments.bytes_to_trim > 0); // R222
        }
        break;
    case 2: {
        bool enough = good(w, "make resident, trimming", ferry_make_resident_trim(w->devices[device], &arguments),
                           FERRY_ERROR_NO_VIDEO_MEMORY);

        // Whatever was trimmed went off the list completely, and nothing that was named.
        for (size_t i = 0; i < n && enough; i++)
            shadows[i]->count++;
        for (unsigned i = 0; i < SLOTS; i++) {
            struct shadow *s = &w->slots[device][i];
            struct ferry_placement placement = {.size = sizeof placement};
            bool named = false;

            if (!s->handle)
                continue;
            ok(ferry_allocation_placement(s->handle, &placement));
            for (size_t k = 0; k < n; k++)
                named |= shadows[k] == s;
            if (placement.residency_count != s->count) {
                if (named || placement.residency_count)
                    complain(w, "trimmed what was named, or half", FERRY_OK);
                w->trims++;
                s->count = 0;
            }
        }
        break;
    }
    default: {
        // Legal when no count goes below 0, each mention counting.
        bool legal = true;

        for (size_t i = 0; i < n; i++) {
            uint32_t mentions = 0;
            for (size_t k = 0; k < n; k++)
                mentions += shadows[k] == shadows[i];
            legal &= mentions <= shadows[i]->count;
        }
        int result = ferry_evict(w->devices[device], &arguments);
        if (result != (legal ? FERRY_OK : FERRY_ERROR_NOT_RESIDENT))
            complain(w, "evict", result);
        for (size_t i = 0; i < n && legal; i++)
            shadows[i]->count--;
    }
    }
}

// Queues run on rings of their own; only waiting orders them.
static void settle(struct world *w, unsigned device, struct shadow *s, int queue)
{
    if (s->last_queue >= 0 && s->last_queue != queue) {
        ok(ferry_queue_wait(w->queues[device][s->last_queue], s->last_fence));
        s->last_queue = -1;
    }
}

static void job(struct world *w, unsigned device)
{
    struct shadow *named[16], *list[SLOTS];
    unsigned names = 0, listed = 0;
    int q = (int)pick(w, QUEUES);
    struct ferry_queue *queue = w->queues[device][q];
    uint8_t *undo[SLOTS] = {0};
    uint64_t fence;

    for (unsigned i = 0; i < SLOTS; i++) {
        struct shadow *s = &w->slots[device][i];

        if (s->handle && s->count && !s->locked)
            list[listed++] = s;
    }
    if (!listed)
        return;
    for (unsigned i = 0; i < listed; i++) {
        undo[i] = malloc(list[i]->size);
        memcpy(undo[i], list[i]->bytes, list[i]->size);
    }
    for (unsigned i = 1 + (unsigned)pick(w, 7); i; i--) {
        struct shadow *to = list[pick(w, listed)], *from = list[pick(w, listed)];
        uint64_t least = to->size < from->size ? to->size : from->size;
        uint32_t bytes = (uint32_t)pick(w, pick(w, 2) ? least + 1 : least < 70 ? least + 1 : 70);
        uint64_t at = pick(w, to->size - bytes + 1), of = pick(w, from->size - bytes + 1);

        settle(w, device, to, q);
        named[names++] = to;
        if (pick(w, 3)) {
            settle(w, device, from, q);
            named[names++] = from;
            ok(ferry_queue_copy(queue, to->handle, at, from->handle, of, bytes));
            uint8_t *copied = malloc(bytes + 1u);
            for (uint32_t k = 0; k < bytes; k++)
                copied[k] = from->bytes[as_seen(from, of + k)];
            for (uint32_t k = 0; k < bytes; k++)
                to->bytes[as_seen(to, at + k)] = copied[k];
            free(copied);
        } else {
            uint64_t pattern = pick(w, UINT64_MAX);
            uint32_t pattern_bytes = 1u << pick(w, 4);

            ok(ferry_queue_fill(queue, to->handle, at, bytes, pattern, pattern_bytes));
            for (uint32_t k = 0; k < bytes; k++)
                to->bytes[as_seen(to, at + k)] = (uint8_t)(pattern >> (8 * (k % pattern_bytes)));
        }
    }
    if (good(w, "submit", ferry_queue_submit(queue, &fence), FERRY_ERROR_NO_VIDEO_MEMORY)) {
        w->jobs++;
        for (unsigned i = 0; i < names; i++) {
            named[i]->last_queue = q;
            named[i]->last_fence = fence;
        }
        if (pick(w, 4) == 0)
            ok(ferry_queue_wait(queue, fence));
    } else {
        w->refusals++;
        for (unsigned i = 0; i < listed; i++)
            memcpy(list[i]->bytes, undo[i], list[i]->size);
    }
    for (unsigned i = 0; i < listed; i++)
        free(undo[i]);
}

static void look_and_write(struct world *w, struct shadow *s)
{
    uint8_t found[300];

    for (uint64_t i = pick(w, 5); i; i--) {
        uint64_t at = s->seen.offset + pick(w, s->seen.bytes), left = s->seen.offset + s->seen.bytes - at;
        size_t bytes = 1 + pick(w, left < sizeof found ? left : sizeof found);

        w->views++;
        if (!s->read_only && pick(w, 2)) {
            for (size_t k = 0; k < bytes; k++)
                s->bytes[at + k] = (uint8_t)pick(w, 256);
            ok(ferry_view_write(s->handle, at, s->bytes + at, bytes));
        } else {
            ok(ferry_view_read(s->handle, at, found, bytes));
            if (memcmp(found, s->bytes + at, bytes) != 0)
                complain(w, "content in a view", FERRY_OK);
        }
    }
}

static void view_step(struct world *w, struct shadow *s)
{
    uint32_t level = (uint32_t)pick(w, s->tiling.levels);

    if (s->viewed) {
        look_and_write(w, s);
        if (pick(w, 3))
            return;
        ok(ferry_unlock(s->handle));
        s->locked = s->viewed = false;
        return;
    }
    s->read_only = pick(w, 3) == 0;
    int result = ferry_view_lock(s->handle, level, s->read_only ? FERRY_LOCK_READ_ONLY : 0);
    if (result != (s->flags & FERRY_FLAG_CPU_VISIBLE ? FERRY_OK : FERRY_ERROR_UNSUPPORTED))
        complain(w, "lock a view", result);
    if (result != FERRY_OK)
        return;
    s->locked = s->viewed = true;
    s->seen = (struct ferry_tiling_rows){.size = sizeof s->seen};
    ok(ferry_tiling_level(&s->tiling, level, &s->seen));
    look_and_write(w, s);
}

static void lock_step(struct world *w, struct shadow *s)
{
    uint32_t flags = 0;

    if (s->viewed || (s->rows_at && driver_model == 1 && !s->locked && pick(w, 3))) {
        view_step(w, s);
        return;
    }
    if (s->locked) {
        for (int i = 0; i < 5; i++) {
            uint64_t at = pick(w, s->size);
            ((uint8_t *)s->address)[at] = s->bytes[at] = (uint8_t)pick(w, 256);
        }
        ok(ferry_unlock(s->handle));
        s->locked = false;
        return;
    }
    bool discard = pick(w, 6) == 0;
    if (discard)
        flags |= FERRY_LOCK_DISCARD | FERRY_LOCK_WRITE_ONLY;
    int result = ferry_lock(s->handle, flags, &s->address);
    if (result != (s->flags & FERRY_FLAG_CPU_VISIBLE ? FERRY_OK : FERRY_ERROR_NOT_LOCKABLE))
        complain(w, "lock", result);
    if (result != FERRY_OK)
        return;
    s->locked = true;
    if (discard) {
        memset(s->address, (int)w->step & 0xff, s->size);
        memset(s->bytes, (int)w->step & 0xff, s->size);
    } else if (memcmp(s->address, s->bytes, s->size) != 0) {
        complain(w, "content under a lock", FERRY_OK);
    }
    if (pick(w, 4))
        lock_step(w, s);
}

static void a_random_program_of_calls(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    struct ferry_adapter_options options = {.size = sizeof options,
                                            .backend = backend,
                                            .video_memory_bytes = MEMORY_PAGES * 4096,
                                            .aperture_bytes = APERTURE_PAGES * 4096,
                                            .seed = seed,
                                            .model = driver_model,
                                            .tables = table_memory,
                                            .paging = paging_way};
    // The manager's paging buffer: what the miniport asks for, or so small that most operations take several.
    static const uint32_t paging_buffers[] = {0, 64, 136, 1000};
    unsigned steps = on_model() ? rounds(5000, 10000) : rounds(300, 600);

    (void)state;
    if (getenv("FERRY_STEPS"))
        steps = (unsigned)strtoul(getenv("FERRY_STEPS"), NULL, 0);
    w->random = draw_state(seed);
    options.paging_buffer_bytes = paging_buffers[seed % 4];
    ok(ferry_adapter_open(&options, &w->adapter));
    for (unsigned device = 0; device < DEVICES; device++) {
        ok(ferry_device_create(w->adapter, &w->devices[device]));
        for (unsigned i = 0; i < QUEUES; i++)
            ok(ferry_queue_create(w->devices[device], &w->queues[device][i]));
    }
    for (w->step = 0; w->step < steps; w->step++) {
        unsigned device = (unsigned)pick(w, DEVICES);
        struct shadow *s;

        switch (pick(w, 20)) {
        case 0:
        case 1:
        case 2: create(w, device); break;
        case 3:
            if ((s = any(w, device)))
                destroy(w, s);
            break;
        case 4:
        case 5:
        case 6:
        case 7:
        case 8: residency(w, device); break;
        case 9:
            ok(ferry_adapter_set_budget(w->adapter, pick(w, 3) ? 0 : 4096 * (20 + pick(w, MEMORY_PAGES - 20))));
            break;
        case 10:
        case 11:
        case 12:
            if ((s = any(w, device)))
                lock_step(w, s);
            break;
        default: job(w, device); break;
        }
        check(w, w->step % 250 == 249);
    }
    check(w, true);

    struct ferry_statistics statistics = {.size = sizeof statistics};
    ok(ferry_adapter_statistics(w->adapter, &statistics));
    printf("%u steps: %u jobs, %u refusals, %u trims, %u accesses to views, %llu evictions, %llu bytes in, %llu out\n",
           steps, w->jobs, w->refusals, w->trims, w->views, (unsigned long long)statistics.evictions,
           (unsigned long long)statistics.bytes_in, (unsigned long long)statistics.bytes_out);
    assert_int_equal(statistics.faults, 0);
    assert_int_equal(statistics.unmapped_accesses, 0);
    assert_int_equal(statistics.dummy_page_writes, 0);
    for (unsigned device = 0; device < DEVICES; device++) {
        for (unsigned i = 0; i < SLOTS; i++) {
            free(w->slots[device][i].bytes);
            free(w->slots[device][i].rows_at);
        }
    }
    ferry_adapter_close(w->adapter);
    free(w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_random_program_of_calls)};

    read_options(argc, argv);
    say_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
