// SPDX-License-Identifier: Apache-2.0
// Images in tiles and GPU virtual addresses, by the public interface, on the whole device and on the reference model:
// what a program maps of an image is its tiles, wherever the image is meanwhile, and each instance of one is in tiles
// at addresses of its own. Each byte against the published table.
#include "tile_images.h"

#define MEMORY (1u << 20)
#define PAGE   FERRY_PAGE_BYTES

// An image and what it must hold: in rows as a lock shows it, and where each byte of the tiles is among these.
struct tiled {
    struct image image;
    struct ferry_tiling tiling;
    struct ferry_allocation *allocation;
    uint8_t *rows;
    uint32_t *rows_at;
};

static void find_rows(struct tiled *t)
{
    uint8_t *rows = malloc(t->image.bytes), *tiles = malloc(t->image.bytes);

    t->rows_at = calloc(t->image.bytes, sizeof *t->rows_at);
    for (unsigned shift = 0; shift < 24; shift += 8) {
        for (uint64_t i = 0; i < t->image.bytes; i++)
            rows[i] = (uint8_t)(i >> shift);
        make_tiles(&t->image, rows, tiles);
        for (uint64_t i = 0; i < t->image.bytes; i++)
            t->rows_at[i] |= (uint32_t)tiles[i] << shift;
    }
    free(rows);
    free(tiles);
}

static void make_image(struct ferry_device *device, struct tiled *t, unsigned run)
{
    do
        t->image = draw_image(run);
    while (t->image.bytes > MEMORY / 4);
    t->tiling = (struct ferry_tiling){.size = sizeof t->tiling,
                                      .tile_bytes = t->image.tile,
                                      .element_bytes = 1u << t->image.element_log2,
                                      .width = t->image.width,
                                      .height = t->image.height,
                                      .levels = t->image.levels};
    struct ferry_allocation_options options = {
        .size = sizeof options, .bytes = t->image.bytes, .flags = VISIBLE, .tiling = &t->tiling};
    ok(ferry_allocation_create(device, &options, &t->allocation));
    t->rows = calloc(1, t->image.bytes);
    find_rows(t);
}

static void end_image(struct tiled *t)
{
    ok(ferry_allocation_destroy(t->allocation));
    free(t->rows);
    free(t->rows_at);
}

static void write_rows(struct tiled *t, uint32_t flags)
{
    void *address;

    ok(ferry_lock(t->allocation, flags, &address));
    for (uint64_t i = 0; i < t->image.bytes; i++)
        ((uint8_t *)address)[i] = t->rows[i] = (uint8_t)draw(256);
    ok(ferry_unlock(t->allocation));
}

static void check_rows(const struct tiled *t)
{
    void *address;

    ok(ferry_lock(t->allocation, FERRY_LOCK_READ_ONLY, &address));
    for (uint64_t i = 0; i < t->image.bytes; i++)
        if (((const uint8_t *)address)[i] != t->rows[i])
            fail_msg("FERRY_SEED=%llu: byte %llu of the rows is %02x, not %02x", (unsigned long long)seed,
                     (unsigned long long)i, ((const uint8_t *)address)[i], t->rows[i]);
    ok(ferry_unlock(t->allocation));
}

static void push_out(struct ferry_device *device)
{
    struct ferry_allocation *large = make(device, MEMORY - MEMORY / 8, 0);

    must_be_resident(device, &large, 1);
    evict(device, &large, 1);
    ok(ferry_allocation_destroy(large));
}

static uint64_t map_some(struct ferry_device *device, struct ferry_allocation *allocation, uint64_t offset,
                         uint64_t bytes)
{
    struct ferry_va range = {.size = sizeof range, .bytes = bytes};

    ok(ferry_va_map(device, allocation, offset, false, &range));
    return range.address;
}

static void what_is_mapped_of_an_image_is_its_tiles(void **state)
{
    struct ferry_adapter *adapter = open_adapter(MEMORY);
    struct ferry_device *device;
    struct ferry_queue *queue;

    (void)state;
    say_random();
    drawn = seed;
    ok(ferry_device_create(adapter, &device));
    ok(ferry_queue_create(device, &queue));
    for (unsigned run = 0; run < (on_model() ? 20 : rounds(2, 5)); run++) {
        struct tiled t;
        make_image(device, &t, on_model() ? run : draw(10));
        uint64_t pages = t.image.bytes / PAGE, first = draw((uint32_t)pages),
                 count = 1 + draw((uint32_t)(pages - first));
        struct ferry_allocation *plain = make(device, count * PAGE, VISIBLE), *list[2] = {t.allocation, plain};
        uint64_t there = map_some(device, t.allocation, first * PAGE, count * PAGE);
        uint64_t here = map_some(device, plain, 0, count * PAGE);

        write_rows(&t, 0);
        for (unsigned step = 0; step < 4; step++) {
            uint64_t at = draw((uint32_t)(count * PAGE)), bytes = 1 + draw((uint32_t)(count * PAGE - at));
            bool writes = step % 2;
            void *address;

            if (draw(2))
                push_out(device);
            if (writes)
                write_content(plain, count * PAGE, step + run);
            must_be_resident(device, list, 2);
            ok(writes ? ferry_queue_copy_va(queue, there + at, here + at, (uint32_t)bytes)
                      : ferry_queue_copy_va(queue, here + at, there + at, (uint32_t)bytes));
            run_job(queue);
            for (uint64_t i = at; writes && i < at + bytes; i++)
                t.rows[t.rows_at[first * PAGE + i]] = content(step + run, i);
            evict(device, list, 2);
            if (draw(2))
                push_out(device);
            ok(ferry_lock(plain, FERRY_LOCK_READ_ONLY, &address));
            for (uint64_t i = at; !writes && i < at + bytes; i++)
                if (((const uint8_t *)address)[i] != t.rows[t.rows_at[first * PAGE + i]])
                    fail_msg("FERRY_SEED=%llu: byte %llu of what is mapped", (unsigned long long)seed,
                             (unsigned long long)i);
            ok(ferry_unlock(plain));
            check_rows(&t);
        }
        ok(ferry_va_free(device, there, count * PAGE));
        ok(ferry_va_free(device, here, count * PAGE));
        ok(ferry_allocation_destroy(plain));
        end_image(&t);
    }
    ferry_adapter_close(adapter);
}

// An image is written anew each time while jobs still have the one before, and each copies a part of it, by its rows.
static void each_instance_of_an_image_is_in_tiles(void **state)
{
    struct ferry_adapter *adapter = open_adapter(MEMORY);
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct tiled t;
    unsigned most = 0;

    (void)state;
    say_random();
    drawn = seed;
    ok(ferry_device_create(adapter, &device));
    ok(ferry_queue_create(device, &queue));
    do {
        make_image(device, &t, draw(10));
        if (t.image.bytes > MEMORY / 8)
            end_image(&t);
    } while (t.image.bytes > MEMORY / 8);
    struct ferry_tiling_rows level = {.size = sizeof level};
    ok(ferry_tiling_level(&t.tiling, 0, &level));
    uint32_t row_bytes = (uint32_t)level.pitch, rounds_wanted = on_model() ? 12 : 4;
    while ((uint64_t)row_bytes * level.rows * rounds_wanted > MEMORY / 2)
        rounds_wanted--;
    struct ferry_allocation *plain = make(device, (uint64_t)row_bytes * level.rows * rounds_wanted, VISIBLE);
    uint8_t *expected = malloc((uint64_t)row_bytes * level.rows * rounds_wanted);
    void *address;
    for (uint32_t round = 0; round < rounds_wanted; round++) {
        struct ferry_allocation *list[2] = {t.allocation, plain};
        struct ferry_placement placement = {.size = sizeof placement};
        uint64_t at = (uint64_t)round * row_bytes * level.rows, fence;
        const struct ferry_rectangle r = {
            .size = sizeof r,
            .row_bytes = row_bytes,
            .rows = level.rows,
            .destination = {.allocation = plain, .at = at, .pitch = (int32_t)row_bytes},
            .source = {.allocation = t.allocation, .in_tiles = true},
        };

        write_rows(&t, FERRY_LOCK_DISCARD);
        memcpy(expected + at, t.rows, (uint64_t)row_bytes * level.rows);
        must_be_resident(device, list, 2);
        ok(ferry_queue_copy_rectangle(queue, &r));
        ok(ferry_queue_submit(queue, &fence));
        ok(ferry_allocation_placement(t.allocation, &placement));
        most = placement.instances > most ? placement.instances : most;
        evict(device, list, 2);
    }
    ok(ferry_lock(plain, FERRY_LOCK_READ_ONLY, &address));
    assert_memory_equal(address, expected, (uint64_t)row_bytes * level.rows * rounds_wanted);
    ok(ferry_unlock(plain));
    check_rows(&t);
    assert_true(on_model() || most > 1); // On the model no job is ever found under way.
    end_image(&t);
    ok(ferry_allocation_destroy(plain));
    free(expected);
    ferry_adapter_close(adapter);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_mapped_of_an_image_is_its_tiles),
        cmocka_unit_test(each_instance_of_an_image_is_in_tiles),
    };

    driver_model = 2;
    read_options(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
