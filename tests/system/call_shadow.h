// SPDX-License-Identifier: Apache-2.0
// A shadow of the allocations that a random program of calls has: what every byte and every count must be, and the
// comparison with them. Of a tiled image it holds rows; jobs see tiles.
#ifndef FERRY_TESTS_SYSTEM_CALL_SHADOW_H
#define FERRY_TESTS_SYSTEM_CALL_SHADOW_H

#include "tile_images.h"

#define DEVICES 2
#define QUEUES  2
#define SLOTS   14

struct shadow {
    struct ferry_allocation *handle; // NULL = free.
    uint8_t *bytes;
    uint64_t size;
    uint32_t flags, count;
    bool aperture, locked;
    int last_queue; // Queue that used it last, or -1.
    uint64_t last_fence;
    void *address; // While locked.
    // Of an image: where the byte that a job sees at an offset is in rows, NULL = it is none; what is seen in place.
    uint32_t *rows_at;
    struct ferry_tiling tiling;
    struct ferry_tiling_rows seen;
    bool viewed, read_only;
};

struct world {
    struct ferry_adapter *adapter;
    struct ferry_device *devices[DEVICES];
    struct ferry_queue *queues[DEVICES][QUEUES];
    struct shadow slots[DEVICES][SLOTS];
    uint64_t random;
    unsigned step, jobs, refusals, trims, views;
};

static inline uint64_t pick(struct world *w, uint64_t limit)
{
    return draw_wide(&w->random, limit);
}

static inline void complain(struct world *w, const char *what, int result)
{
    fail_msg("FERRY_SEED=%llu step %u: %s: %s", (unsigned long long)seed, w->step, what, ferry_error_name(result));
}

// A result that must be one of OK, PENDING or `other`.
static inline bool good(struct world *w, const char *what, int result, int other)
{
    if (result != FERRY_OK && result != FERRY_PENDING && result != other)
        complain(w, what, result);
    return result >= 0;
}

static inline struct shadow *any(struct world *w, unsigned device)
{
    for (unsigned i = 0; i < 8; i++) {
        struct shadow *s = &w->slots[device][pick(w, SLOTS)];

        if (s->handle)
            return s;
    }
    return NULL;
}

static inline uint64_t as_seen(const struct shadow *s, uint64_t at)
{
    return s->rows_at ? s->rows_at[at] : at;
}

// Numbers of bytes go the way of an image's bytes, eight bits at a time.
static inline void find_rows(struct shadow *s, const struct image *image)
{
    uint8_t *rows = malloc(image->bytes), *tiles = malloc(image->bytes);

    s->rows_at = calloc(image->bytes, sizeof *s->rows_at);
    for (unsigned shift = 0; shift < 24; shift += 8) {
        for (uint64_t i = 0; i < image->bytes; i++)
            rows[i] = (uint8_t)(i >> shift);
        make_tiles(image, rows, tiles);
        for (uint64_t i = 0; i < image->bytes; i++)
            s->rows_at[i] |= (uint32_t)tiles[i] << shift;
    }
    free(rows);
    free(tiles);
}

static inline void pick_tiling(struct world *w, struct shadow *s)
{
    struct image image = {.element_log2 = (uint32_t)pick(w, 5), .tile = 4096};

    do {
        image.levels = 1 + (uint32_t)pick(w, 3);
        image.width = 1 + (uint32_t)pick(w, 120);
        image.height = 1 + (uint32_t)pick(w, 120);
        measure(&image);
    } while (image.bytes > 12 * 4096);
    s->tiling = (struct ferry_tiling){.size = sizeof s->tiling,
                                      .tile_bytes = image.tile,
                                      .element_bytes = 1u << image.element_log2,
                                      .width = image.width,
                                      .height = image.height,
                                      .levels = image.levels};
    s->size = image.bytes;
    find_rows(s, &image);
}

static inline void compare(struct world *w, struct shadow *s)
{
    void *address = s->address, *seen = NULL;

    if (!(s->flags & FERRY_FLAG_CPU_VISIBLE))
        return; // Its content shows in what is copied from it.
    if (s->viewed) {
        address = seen = malloc(s->size);
        memcpy(seen, s->bytes, s->size);
        ok(ferry_view_read(s->handle, s->seen.offset, (uint8_t *)seen + s->seen.offset, s->seen.bytes));
    } else if (!s->locked)
        ok(ferry_lock(s->handle, FERRY_LOCK_READ_ONLY, &address));
    for (uint64_t i = 0; i < s->size; i++) {
        if (((uint8_t *)address)[i] != s->bytes[i])
            fail_msg("FERRY_SEED=%llu step %u: allocation %llu offset %llu: expected %02x, found %02x",
                     (unsigned long long)seed, w->step, (unsigned long long)ferry_allocation_id(s->handle),
                     (unsigned long long)i, s->bytes[i], ((uint8_t *)address)[i]);
    }
    if (!s->locked)
        ok(ferry_unlock(s->handle));
    free(seen);
}

static inline void check(struct world *w, bool all)
{
    for (unsigned device = 0; device < DEVICES; device++) {
        for (unsigned i = 0; i < SLOTS; i++) {
            struct shadow *s = &w->slots[device][i];
            struct ferry_placement placement = {.size = sizeof placement};

            if (!s->handle)
                continue;
            ok(ferry_allocation_placement(s->handle, &placement));
            if (placement.residency_count != s->count)
                complain(w, "residency count", FERRY_OK);
            if (placement.resident && placement.segment != (s->aperture ? 3u : 1u))
                complain(w, "segment", FERRY_OK);
            if (all)
                compare(w, s);
        }
    }
    struct shadow *s = any(w, (unsigned)pick(w, DEVICES));
    if (s && !all)
        compare(w, s);
}

#endif
