// SPDX-License-Identifier: Apache-2.0
// Images in tiles, by the public interface, on the whole device and on the reference model: rows for the program, tiles
// for its jobs.
#include "tile_images.h"

static struct ferry_tiling public_tiling(const struct image *image)
{
    return (struct ferry_tiling){.size = sizeof(struct ferry_tiling),
                                 .tile_bytes = image->tile,
                                 .element_bytes = 1u << image->element_log2,
                                 .width = image->width,
                                 .height = image->height,
                                 .levels = image->levels};
}

static int try_make_tiled(struct ferry_device *device, const struct image *image, uint64_t bytes, uint32_t flags,
                          struct ferry_allocation **made)
{
    struct ferry_tiling tiling = public_tiling(image);
    struct ferry_allocation_options options = {
        .size = sizeof options, .bytes = bytes, .flags = flags, .tiling = &tiling};

    return ferry_allocation_create(device, &options, made);
}

// The sum of the levels' places is the size, and each is as large as the table makes it.
static void check_levels(const struct image *image)
{
    struct ferry_tiling tiling = public_tiling(image);
    struct ferry_tiling_rows rows = {.size = sizeof rows};
    uint64_t at = 0;

    assert_int_equal(ferry_tiling_bytes(&tiling), image->bytes);
    for (unsigned level = 0; level < image->levels; level++) {
        ok(ferry_tiling_level(&tiling, level, &rows));
        assert_int_equal(rows.offset, at);
        assert_int_equal(rows.pitch, level_size(image->width, level, tile_elements(image, 'x')) << image->element_log2);
        assert_int_equal(rows.rows, level_size(image->height, level, tile_elements(image, 'y')));
        assert_int_equal(rows.bytes, rows.pitch * rows.rows);
        at += rows.bytes;
    }
    assert_int_equal(at, image->bytes);
    assert_int_equal(ferry_tiling_level(&tiling, image->levels, &rows), FERRY_ERROR_ARGUMENT);
}

// Written as rows, copied as tiles by a job, changed as tiles by another, pushed out, and read as rows.
static void a_program_has_rows_and_its_jobs_have_tiles(void **state)
{
    struct ferry_adapter *adapter = open_adapter(LOCAL_TEST_BYTES);
    struct ferry_device *device;
    struct ferry_queue *queue;

    (void)state;
    say_random();
    drawn = seed;
    ok(ferry_device_create(adapter, &device));
    ok(ferry_queue_create(device, &queue));
    for (unsigned number = 0; number < (on_model() ? 15 : 2); number++) {
        struct image image = draw_image(draw(10));
        struct ferry_allocation *tiled, *plain = make(device, image.bytes, VISIBLE);
        uint8_t *rows = malloc(image.bytes), *tiles = malloc(image.bytes), *found;
        void *address;

        check_levels(&image);
        ok(try_make_tiled(device, &image, image.bytes, draw(2) ? VISIBLE : VISIBLE | FERRY_FLAG_PERMANENT_SYSMEM,
                          &tiled));
        for (uint64_t i = 0; i < image.bytes; i++)
            rows[i] = (uint8_t)draw(256);
        make_tiles(&image, rows, tiles);
        ok(ferry_lock(tiled, FERRY_LOCK_WRITE_ONLY, &address));
        memcpy(address, rows, image.bytes);
        ok(ferry_unlock(tiled));
        must_be_resident(device, &tiled, 1);
        must_be_resident(device, &plain, 1);
        ok(ferry_queue_copy(queue, plain, 0, tiled, 0, image.bytes));
        run_job(queue);
        evict(device, &plain, 1);
        ok(ferry_lock(plain, FERRY_LOCK_READ_ONLY, &address));
        assert_memory_equal(address, tiles, image.bytes);
        ok(ferry_unlock(plain));
        // The second half of the tiles over the first.
        uint64_t half = image.bytes / 2 / image.tile * image.tile;
        must_be_resident(device, &plain, 1);
        if (half) {
            ok(ferry_queue_copy(queue, tiled, 0, plain, half, half));
            run_job(queue);
            memcpy(tiles, tiles + half, half);
        }
        // Read where it is, or after others have taken its place.
        evict(device, &tiled, 1);
        evict(device, &plain, 1);
        if (draw(2)) {
            struct ferry_allocation *large = make(device, LOCAL_TEST_BYTES - 65536, 0);

            must_be_resident(device, &large, 1);
            evict(device, &large, 1);
            ok(ferry_allocation_destroy(large));
        }
        found = malloc(image.bytes);
        ok(ferry_lock(tiled, FERRY_LOCK_READ_ONLY, &address));
        make_tiles(&image, address, found);
        assert_memory_equal(found, tiles, image.bytes);
        ok(ferry_unlock(tiled));
        ok(ferry_allocation_destroy(tiled));
        ok(ferry_allocation_destroy(plain));
        free(rows);
        free(tiles);
        free(found);
    }
    ferry_adapter_close(adapter);
}

static void tiles_that_cannot_be_are_refused_by_the_public_interface(void **state)
{
    struct ferry_adapter *adapter = open_adapter(LOCAL_TEST_BYTES);
    struct ferry_device *device;
    struct ferry_allocation *made;
    struct image good = {.element_log2 = 2, .tile = 65536, .width = 200, .height = 100, .levels = 2}, bad;

    (void)state;
    measure(&good);
    ok(ferry_device_create(adapter, &device));
    assert_int_equal(try_make_tiled(device, &good, good.bytes + 4096, VISIBLE, &made), FERRY_ERROR_ARGUMENT);
    for (unsigned i = 0; i < 6; i++) {
        bad = good;
        bad.tile = i == 0 ? 8192 : good.tile;
        bad.element_log2 = i == 1 ? 5 : good.element_log2;
        bad.width = i == 2 ? 0 : i == 3 ? 65537 : good.width;
        bad.height = i == 4 ? 65537 : good.height;
        bad.levels = i == 5 ? 17 : good.levels;
        struct ferry_tiling tiling = public_tiling(&bad);
        assert_int_equal(ferry_tiling_bytes(&tiling), 0);
        assert_int_equal(try_make_tiled(device, &bad, good.bytes, VISIBLE, &made), FERRY_ERROR_ARGUMENT);
    }
    struct ferry_tiling tiling = public_tiling(&good);
    struct ferry_allocation_options options = {
        .size = sizeof options, .bytes = good.bytes, .in_aperture = true, .tiling = &tiling};
    assert_int_equal(ferry_allocation_create(device, &options, &made), FERRY_ERROR_ARGUMENT);
    // Driver model 2 has no ranges in which they would be seen in place.
    ok(try_make_tiled(device, &good, good.bytes, VISIBLE, &made));
    must_be_resident(device, &made, 1);
    assert_int_equal(ferry_view_lock(made, 0, 0), driver_model == 1 ? FERRY_OK : FERRY_ERROR_UNSUPPORTED);
    ferry_adapter_close(adapter);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_has_rows_and_its_jobs_have_tiles),
        cmocka_unit_test(tiles_that_cannot_be_are_refused_by_the_public_interface),
    };

    read_options(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
