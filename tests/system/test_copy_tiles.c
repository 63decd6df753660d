// SPDX-License-Identifier: Apache-2.0
// Rectangles of images in tiles, by the public interface: a program's job turns rows into tiles and tiles into rows,
// any part of any level, from any size of element to any other's; each byte against the published table.
#include "tile_images.h"

#define PLAIN_BYTES 100000u

// An image, its content by rows as a lock shows it, and where each level begins there.
struct tiled {
    struct image image;
    struct ferry_tiling tiling;
    struct ferry_allocation *allocation;
    uint8_t *rows;
};

static struct bench *begin(void)
{
    struct bench *bench = calloc(1, sizeof *bench);

    say_random();
    drawn = seed;
    bench->adapter = open_adapter(LOCAL_TEST_BYTES);
    ok(ferry_device_create(bench->adapter, &bench->device));
    ok(ferry_queue_create(bench->device, &bench->queue));
    return bench;
}

static void make_image(struct bench *bench, struct tiled *t, unsigned run)
{
    void *address;

    t->image = draw_image(run);
    t->tiling = (struct ferry_tiling){.size = sizeof t->tiling,
                                      .tile_bytes = t->image.tile,
                                      .element_bytes = 1u << t->image.element_log2,
                                      .width = t->image.width,
                                      .height = t->image.height,
                                      .levels = t->image.levels};
    struct ferry_allocation_options options = {
        .size = sizeof options, .bytes = t->image.bytes, .flags = VISIBLE, .tiling = &t->tiling};
    ok(ferry_allocation_create(bench->device, &options, &t->allocation));
    t->rows = malloc(t->image.bytes);
    for (uint64_t i = 0; i < t->image.bytes; i++)
        t->rows[i] = (uint8_t)draw(256);
    ok(ferry_lock(t->allocation, FERRY_LOCK_WRITE_ONLY, &address));
    memcpy(address, t->rows, t->image.bytes);
    ok(ferry_unlock(t->allocation));
    must_be_resident(bench->device, &t->allocation, 1);
}

static void end_image(struct tiled *t)
{
    ok(ferry_allocation_destroy(t->allocation));
    free(t->rows);
}

// Some of the image's levels, as the test reckons with it.
struct level {
    uint64_t offset;
    uint32_t number, pitch, rows, element;
};

static struct level draw_level(const struct tiled *t)
{
    struct level level = {.number = draw(t->image.levels), .element = 1u << t->image.element_log2};

    for (unsigned i = 0; i <= level.number; i++) {
        level.offset += (uint64_t)level.pitch * level.rows;
        level.pitch = level_size(t->image.width, i, tile_elements(&t->image, 'x')) << t->image.element_log2;
        level.rows = level_size(t->image.height, i, tile_elements(&t->image, 'y'));
    }
    return level;
}

static struct ferry_rectangle_side in_level(const struct tiled *t, const struct level *level, uint32_t row_bytes,
                                            uint32_t rows, uint64_t *at)
{
    struct ferry_rectangle_side side = {.allocation = t->allocation, .in_tiles = true, .level = level->number};

    // Now and then up to its last element.
    side.x =
        draw(4) ? draw((level->pitch - row_bytes) / level->element + 1) : (level->pitch - row_bytes) / level->element;
    side.y = draw(4) ? draw(level->rows - rows + 1) : level->rows - rows;
    *at = level->offset + (uint64_t)side.y * level->pitch + (uint64_t)side.x * level->element;
    return side;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void check_rows(const struct tiled *t, const char *name)
{
    const uint8_t *found;
    void *address;

    ok(ferry_lock(t->allocation, FERRY_LOCK_READ_ONLY, &address));
    found = address;
    for (uint64_t i = 0; i < t->image.bytes; i++)
        if (found[i] != t->rows[i])
            fail_msg("FERRY_SEED=%llu: byte %llu of the %s's rows is %02x, not %02x", (unsigned long long)seed,
                     (unsigned long long)i, name, found[i], t->rows[i]);
    ok(ferry_unlock(t->allocation));
}

// The tiles themselves, which a plain copy brings into the open, are as the table has them.
static void check_tiles(struct bench *bench, const struct tiled *t)
{
    struct ferry_allocation *plain = make(bench->device, t->image.bytes, VISIBLE);
    uint8_t *tiles = malloc(t->image.bytes);
    void *address;

    make_tiles(&t->image, t->rows, tiles);
    must_be_resident(bench->device, &plain, 1);
    ok(ferry_queue_copy(bench->queue, plain, 0, t->allocation, 0, (uint32_t)t->image.bytes));
    run_job(bench->queue);
    ok(ferry_lock(plain, FERRY_LOCK_READ_ONLY, &address));
    assert_memory_equal(address, tiles, t->image.bytes);
    ok(ferry_unlock(plain));
    ok(ferry_allocation_destroy(plain));
    free(tiles);
}

// A rectangle between the two images, or one of them and rows.
static void copy_some(struct bench *bench, struct tiled *images, struct ferry_allocation *plain, uint8_t *plain_rows)
{
    struct level levels[2] = {draw_level(&images[0]), draw_level(&images[1])};
    uint32_t way = draw(4), to = draw(2), from = way == 0 ? !to : to;
    uint32_t element = levels[levels[from].element > levels[to].element ? from : to].element;
    uint32_t most_bytes = least(levels[to].pitch, levels[from].pitch),
             most_rows = least(levels[to].rows, levels[from].rows);
    struct ferry_rectangle r = {.size = sizeof r};
    uint64_t to_at, from_at;
    int64_t to_pitch = levels[to].pitch, from_pitch = levels[from].pitch;

    r.row_bytes = (1 + draw(most_bytes / element)) * element;
    r.rows = 1 + draw(least(most_rows, PLAIN_BYTES / r.row_bytes));
    uint8_t *into = images[to].rows, *out_of = images[from].rows;
    // Rows of their own, upwards or downwards.
    uint32_t room = r.rows > 1 ? (PLAIN_BYTES - r.row_bytes) / (r.rows - 1) - r.row_bytes : 0;
    int64_t pitch = r.row_bytes + draw(least(room, 500) + 1), span = pitch * (r.rows - 1);
    uint64_t at = draw((uint32_t)(PLAIN_BYTES - r.row_bytes - span) + 1);
    if (draw(3) == 0) {
        at += (uint64_t)span;
        pitch = -pitch;
    }
    const struct ferry_rectangle_side rows = {.allocation = plain, .at = at, .pitch = (int32_t)pitch};
    r.destination = in_level(&images[to], &levels[to], r.row_bytes, r.rows, &to_at);
    r.source = in_level(&images[from], &levels[from], r.row_bytes, r.rows, &from_at);
    if (way == 1 || way == 2) {
        r.source = rows;
        out_of = plain_rows;
        from_at = at;
        from_pitch = pitch;
    } else if (way == 3) {
        r.destination = rows;
        into = plain_rows;
        to_at = at;
        to_pitch = pitch;
    }
    ok(ferry_queue_copy_rectangle(bench->queue, &r));
    for (uint32_t row = 0; row < r.rows; row++)
        memcpy(into + (int64_t)to_at + to_pitch * row, out_of + (int64_t)from_at + from_pitch * row, r.row_bytes);
}

static void any_part_of_any_level_is_copied(void **state)
{
    struct bench *bench = begin();

    (void)state;
    for (unsigned run = 0; run < (on_model() ? 30 : rounds(2, 5)); run++) {
        struct tiled images[2];
        struct ferry_allocation *plain = run % 2 ? make_in_aperture(bench->device, PLAIN_BYTES / 4096 + 1)
                                                 : make(bench->device, PLAIN_BYTES, VISIBLE);
        uint8_t *plain_rows = malloc(PLAIN_BYTES);
        void *address;

        make_image(bench, &images[0], on_model() ? run : 2 * run + draw(2));
        make_image(bench, &images[1], draw(10));
        for (uint32_t i = 0; i < PLAIN_BYTES; i++)
            plain_rows[i] = content(3, i);
        write_content(plain, PLAIN_BYTES, 3);
        must_be_resident(bench->device, &plain, 1);
        for (unsigned job = 0; job < 2; job++) {
            for (uint32_t count = 1 + draw(on_model() ? 12 : 4); count; count--)
                copy_some(bench, images, plain, plain_rows);
            run_job(bench->queue);
        }
        check_tiles(bench, &images[draw(2)]);
        check_rows(&images[0], "first");
        check_rows(&images[1], "second");
        ok(ferry_lock(plain, FERRY_LOCK_READ_ONLY, &address));
        assert_memory_equal(address, plain_rows, PLAIN_BYTES);
        ok(ferry_unlock(plain));
        ok(ferry_allocation_destroy(plain));
        free(plain_rows);
        end_image(&images[0]);
        end_image(&images[1]);
    }
    ferry_adapter_close(bench->adapter);
    free(bench);
}

static void refused(struct bench *bench, const struct ferry_rectangle *r, int error)
{
    int found = ferry_queue_copy_rectangle(bench->queue, r);

    if (found != error)
        fail_msg("%s, not %s", ferry_error_name(found), ferry_error_name(error));
}

static void what_is_no_part_of_the_image_is_refused(void **state)
{
    struct bench *bench = begin();
    struct tiled t;

    (void)state;
    do {
        make_image(bench, &t, 3); // Elements of 8 bytes, tiles of 4 KiB: 32 by 16.
        if (t.image.levels < 2)
            end_image(&t);
    } while (t.image.levels < 2);
    struct ferry_allocation *plain = make(bench->device, PLAIN_BYTES, VISIBLE);
    must_be_resident(bench->device, &plain, 1);
    for (unsigned i = 0; i < 2; i++) {
        struct ferry_tiling_rows level = {.size = sizeof level};
        const struct ferry_rectangle_side rows = {.allocation = plain, .pitch = 300};
        const struct ferry_rectangle_side tiles = {.allocation = t.allocation, .in_tiles = true, .level = 1};
        struct ferry_rectangle r = {
            .size = sizeof r, .row_bytes = 16, .rows = 3, .destination = i ? rows : tiles, .source = i ? tiles : rows};
        struct ferry_rectangle_side *side = i ? &r.source : &r.destination;

        ok(ferry_tiling_level(&t.tiling, 1, &level));
        side->level = t.image.levels;
        refused(bench, &r, FERRY_ERROR_ARGUMENT);
        *side = tiles;
        r.row_bytes = 20;
        refused(bench, &r, FERRY_ERROR_ARGUMENT);
        r.row_bytes = 16;
        side->at = 8;
        refused(bench, &r, FERRY_ERROR_ARGUMENT);
        side->at = 0;
        side->pitch = 8;
        refused(bench, &r, FERRY_ERROR_ARGUMENT);
        // One element or row too far, and much too far.
        *side = tiles;
        side->x = (uint32_t)(level.pitch / 8 - 1);
        refused(bench, &r, FERRY_ERROR_RANGE);
        side->x = UINT32_MAX;
        refused(bench, &r, FERRY_ERROR_RANGE);
        side->x = 0;
        side->y = level.rows - 2;
        refused(bench, &r, FERRY_ERROR_RANGE);
        side->y = UINT32_MAX;
        refused(bench, &r, FERRY_ERROR_RANGE);
        // As bytes, tiles end where the allocation does.
        *side = (struct ferry_rectangle_side){.allocation = t.allocation, .at = t.image.bytes - 15, .pitch = 0};
        r.rows = 1;
        refused(bench, &r, FERRY_ERROR_RANGE);
    }
    run_job(bench->queue);
    check_rows(&t, "image");
    end_image(&t);
    ferry_adapter_close(bench->adapter);
    free(bench);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_part_of_any_level_is_copied),
        cmocka_unit_test(what_is_no_part_of_the_image_is_refused),
    };

    read_options(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
