// SPDX-License-Identifier: Apache-2.0
// Views of tiled images by the public interface, on the whole device and on the reference model: levels are read and
// written by rows where they are, while other calls and threads evict them and bring them in again (R90 to R93).
#include "tile_images.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

struct shown {
    struct ferry_allocation *allocation;
    struct image image;
    struct ferry_tiling tiling;
    uint8_t *rows; // what it holds
};

static void make_shown(struct ferry_device *device, struct shown *s, const struct image *image, uint32_t flags)
{
    *s = (struct shown){.image = *image,
                        .tiling = {.size = sizeof(struct ferry_tiling),
                                   .tile_bytes = image->tile,
                                   .element_bytes = 1u << image->element_log2,
                                   .width = image->width,
                                   .height = image->height,
                                   .levels = image->levels},
                        .rows = calloc(1, image->bytes)};
    struct ferry_allocation_options options = {
        .size = sizeof options, .bytes = image->bytes, .flags = flags, .tiling = &s->tiling};
    ok(ferry_allocation_create(device, &options, &s->allocation));
}

static struct ferry_tiling_rows rows_of(const struct shown *s, uint32_t level)
{
    struct ferry_tiling_rows rows = {.size = sizeof rows};

    ok(ferry_tiling_level(&s->tiling, level, &rows));
    return rows;
}

static bool is_in_place(const struct shown *s)
{
    struct ferry_placement place = {.size = sizeof place};

    ok(ferry_allocation_placement(s->allocation, &place));
    return place.resident;
}

static void must_wait(struct ferry_device *device, struct ferry_allocation **list, size_t count)
{
    struct ferry_residency residency = {.size = sizeof residency, .allocations = list, .count = count};
    int result = ferry_make_resident(device, &residency);

    if (result == FERRY_PENDING)
        result = ferry_device_wait_paging(device, residency.paging_fence_value);
    ok(result);
}

static void push_out(struct ferry_device *device, const struct shown *s)
{
    struct ferry_allocation *large = make(device, LOCAL_TEST_BYTES, 0);

    must_wait(device, &large, 1);
    evict(device, &large, 1);
    ok(ferry_allocation_destroy(large));
    assert_false(is_in_place(s));
}

// A row, or some of it, each way.
static void write_and_read(struct shown *s, uint32_t level)
{
    struct ferry_tiling_rows rows = rows_of(s, level);
    uint8_t found[300];

    for (unsigned i = 0; i < 2; i++) {
        uint64_t offset = rows.offset + draw((uint32_t)rows.bytes), left = rows.offset + rows.bytes - offset;
        size_t bytes = 1 + draw(left < sizeof found ? (uint32_t)left : sizeof found);

        if (i == 0) {
            for (size_t at = 0; at < bytes; at++)
                s->rows[offset + at] = (uint8_t)draw(256);
            ok(ferry_view_write(s->allocation, offset, s->rows + offset, bytes));
        } else {
            ok(ferry_view_read(s->allocation, offset, found, bytes));
            assert_memory_equal(found, s->rows + offset, bytes);
        }
    }
}

// What a job of the device sees: tiles.
static void check_tiles(struct ferry_device *device, struct ferry_queue *queue, struct shown *s)
{
    struct ferry_allocation *pair[2] = {s->allocation, make(device, s->image.bytes, FERRY_FLAG_CPU_VISIBLE)};
    uint8_t *tiles = malloc(s->image.bytes);
    uint64_t fence;
    void *address;

    make_tiles(&s->image, s->rows, tiles);
    must_be_resident(device, pair, 2);
    ok(ferry_queue_copy(queue, pair[1], 0, pair[0], 0, (uint32_t)s->image.bytes));
    ok(ferry_queue_submit(queue, &fence));
    ok(ferry_queue_wait(queue, fence));
    evict(device, pair, 2);
    ok(ferry_lock(pair[1], FERRY_LOCK_READ_ONLY, &address));
    assert_memory_equal(address, tiles, s->image.bytes);
    ok(ferry_unlock(pair[1]));
    ok(ferry_allocation_destroy(pair[1]));
    free(tiles);
}

// Images of every size of element and tile, more of them locked than there are ranges; each level, in and out of place.
static void R90_R92_R93_rows_are_seen_wherever_the_image_is(void **state)
{
    enum { IMAGES = 6 };
    struct ferry_adapter *adapter = open_adapter(LOCAL_TEST_BYTES);
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct shown shown[IMAGES];

    (void)state;
    say_random();
    drawn = seed;
    ok(ferry_device_create(adapter, &device));
    ok(ferry_queue_create(device, &queue));
    for (unsigned i = 0; i < IMAGES; i++) {
        struct image image = draw_image(i + 5 * (i % 2));

        make_shown(device, &shown[i], &image, draw(2) ? VISIBLE : VISIBLE | FERRY_FLAG_PERMANENT_SYSMEM);
        must_wait(device, &shown[i].allocation, 1);
        evict(device, &shown[i].allocation, 1);
    }
    for (unsigned round = 0; round < (on_model() ? 40 : 6); round++) {
        uint32_t level[IMAGES];

        for (unsigned i = 0; i < IMAGES; i++) {
            bool was_in_place = is_in_place(&shown[i]);

            level[i] = draw(shown[i].image.levels);
            ok(ferry_view_lock(shown[i].allocation, level[i], draw(2) && was_in_place ? FERRY_LOCK_DO_NOT_EVICT : 0));
            assert_int_equal(is_in_place(&shown[i]), was_in_place);
        }
        for (unsigned step = 0; step < 2 * IMAGES; step++) {
            struct shown *s = &shown[draw(IMAGES)];

            write_and_read(s, level[s - shown]);
            if (draw(4) == 0) {
                must_be_resident(device, &s->allocation, 1);
                evict(device, &s->allocation, 1);
            }
        }
        write_and_read(&shown[round % IMAGES], level[round % IMAGES]);
        if (draw(2)) {
            push_out(device, &shown[round % IMAGES]);
            write_and_read(&shown[round % IMAGES], level[round % IMAGES]);
        }
        for (unsigned i = 0; i < IMAGES; i++)
            ok(ferry_unlock(shown[i].allocation));
        check_tiles(device, queue, &shown[draw(IMAGES)]);
    }
    for (unsigned i = 0; i < IMAGES; i++) {
        check_tiles(device, queue, &shown[i]);
        free(shown[i].rows);
    }
    ferry_adapter_close(adapter);
}

// ---- A thread that writes all the time ----

struct writer {
    struct shown *shown;
    struct ferry_tiling_rows rows;
    uint64_t random;
    atomic_uint rounds;
    atomic_bool ends;
    const char *wrong;
};

static void *writes_all_the_time(void *context)
{
    struct writer *w = context;
    uint8_t found[100];

    while (!atomic_load(&w->ends)) {
        size_t bytes = 1 + draw_below(&w->random, sizeof found);
        uint64_t offset = w->rows.offset + draw_below(&w->random, w->rows.bytes - bytes);

        for (size_t i = 0; i < bytes; i++)
            w->shown->rows[offset + i] = (uint8_t)draw_below(&w->random, 256);
        if (ferry_view_write(w->shown->allocation, offset, w->shown->rows + offset, bytes) != FERRY_OK)
            w->wrong = "a write failed";
        offset = w->rows.offset + draw_below(&w->random, w->rows.bytes - bytes);
        if (ferry_view_read(w->shown->allocation, offset, found, bytes) != FERRY_OK)
            w->wrong = "a read failed";
        else if (memcmp(found, w->shown->rows + offset, bytes) != 0)
            w->wrong = "other bytes were read than were written";
        atomic_fetch_add(&w->rounds, 1);
    }
    return NULL;
}

static void after_rounds(struct writer *w, unsigned more)
{
    unsigned until = atomic_load(&w->rounds) + more;

    while ((int)(atomic_load(&w->rounds) - until) < 0)
        sched_yield();
}

static void R91_R92_an_eviction_is_not_seen_by_a_thread_that_writes(void **state)
{
    struct ferry_adapter *adapter = open_adapter(LOCAL_TEST_BYTES);
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct shown shown;
    struct image image = {.element_log2 = 2, .tile = 4096, .width = 100, .height = 70, .levels = 2};
    struct ferry_statistics before = {.size = sizeof before}, after = {.size = sizeof after};
    pthread_t thread;

    (void)state;
    say_random();
    drawn = seed;
    measure(&image);
    ok(ferry_device_create(adapter, &device));
    ok(ferry_queue_create(device, &queue));
    make_shown(device, &shown, &image, VISIBLE);
    struct writer writer = {.shown = &shown, .rows = rows_of(&shown, 0), .random = seed};
    must_wait(device, &shown.allocation, 1);
    ok(ferry_view_lock(shown.allocation, 0, 0));
    ok(ferry_adapter_statistics(adapter, &before));
    assert_int_equal(pthread_create(&thread, NULL, writes_all_the_time, &writer), 0);
    for (unsigned round = 0; round < (on_model() ? 20 : 4); round++) {
        after_rounds(&writer, 1 + draw(3));
        evict(device, &shown.allocation, 1);
        push_out(device, &shown);
        after_rounds(&writer, 1 + draw(3));
        must_wait(device, &shown.allocation, 1);
        assert_true(is_in_place(&shown));
        if (draw(3) == 0)
            ok(ferry_adapter_reset_engine(adapter));
    }
    after_rounds(&writer, 2);
    atomic_store(&writer.ends, true);
    pthread_join(thread, NULL);
    if (writer.wrong)
        fail_msg("%s", writer.wrong);
    ok(ferry_adapter_statistics(adapter, &after));
    assert_true(after.bytes_out >= before.bytes_out + (on_model() ? 20 : 4) * image.bytes);
    ok(ferry_unlock(shown.allocation));
    evict(device, &shown.allocation, 1);
    check_tiles(device, queue, &shown);
    free(shown.rows);
    ferry_adapter_close(adapter);
}

static void bad_calls_get_a_named_error(void **state)
{
    struct ferry_adapter *adapter = open_adapter(LOCAL_TEST_BYTES), *other;
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct shown shown, closed;
    struct image image = {.element_log2 = 0, .tile = 4096, .width = 100, .height = 70, .levels = 3};
    uint64_t fence;
    uint8_t byte = 7;
    void *address;

    (void)state;
    measure(&image);
    ok(ferry_device_create(adapter, &device));
    ok(ferry_queue_create(device, &queue));
    make_shown(device, &shown, &image, VISIBLE);
    make_shown(device, &closed, &image, 0);
    struct ferry_allocation *plain = make(device, 4096, VISIBLE);
    struct ferry_tiling_rows rows = rows_of(&shown, 1);

    assert_int_equal(ferry_view_lock(NULL, 0, 0), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_view_lock(plain, 0, 0), FERRY_ERROR_UNSUPPORTED);
    assert_int_equal(ferry_view_lock(closed.allocation, 0, 0), FERRY_ERROR_UNSUPPORTED);
    assert_int_equal(ferry_view_lock(shown.allocation, 3, 0), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_view_lock(shown.allocation, 0, FERRY_LOCK_DISCARD), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_view_lock(shown.allocation, 0, FERRY_LOCK_READ_ONLY | FERRY_LOCK_WRITE_ONLY),
                     FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_lock(shown.allocation, FERRY_LOCK_DO_NOT_EVICT, &address), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_view_read(shown.allocation, 0, &byte, 1), FERRY_ERROR_NOT_LOCKED);
    assert_int_equal(ferry_view_read(plain, 0, &byte, 1), FERRY_ERROR_NOT_LOCKED);
    ok(ferry_lock(shown.allocation, 0, &address));
    assert_int_equal(ferry_view_read(shown.allocation, 0, &byte, 1), FERRY_ERROR_NOT_LOCKED);
    assert_int_equal(ferry_view_lock(shown.allocation, 1, 0), FERRY_ERROR_LOCKED);
    ok(ferry_unlock(shown.allocation));
    // In place and out of it alike.
    must_wait(device, &shown.allocation, 1);
    for (unsigned i = 0; i < 2; i++) {
        ok(ferry_view_lock(shown.allocation, 1, FERRY_LOCK_WRITE_ONLY));
        assert_int_equal(ferry_view_write(shown.allocation, rows.offset - 1, &byte, 1), FERRY_ERROR_RANGE);
        assert_int_equal(ferry_view_write(shown.allocation, rows.offset + rows.bytes, &byte, 1), FERRY_ERROR_RANGE);
        assert_int_equal(ferry_view_write(shown.allocation, rows.offset, &byte, rows.bytes + 1), FERRY_ERROR_RANGE);
        assert_int_equal(ferry_view_write(shown.allocation, rows.offset, &byte, SIZE_MAX), FERRY_ERROR_RANGE);
        assert_int_equal(ferry_view_write(shown.allocation, UINT64_MAX, &byte, 1), FERRY_ERROR_RANGE);
        assert_int_equal(ferry_view_write(shown.allocation, rows.offset, NULL, 1), FERRY_ERROR_ARGUMENT);
        assert_int_equal(ferry_view_read(shown.allocation, rows.offset, &byte, 1), FERRY_ERROR_ARGUMENT);
        ok(ferry_view_write(shown.allocation, rows.offset + rows.bytes, &byte, 0));
        ok(ferry_view_write(shown.allocation, rows.offset + rows.bytes - 1, &byte, 1));
        assert_int_equal(ferry_view_lock(shown.allocation, 1, 0), FERRY_ERROR_LOCKED);
        assert_int_equal(ferry_allocation_destroy(shown.allocation), FERRY_ERROR_LOCKED);
        if (i == 0) {
            ok(ferry_queue_fill(queue, shown.allocation, 0, 4, 0, 4));
            assert_int_equal(ferry_queue_submit(queue, &fence), FERRY_ERROR_LOCKED);
            evict(device, &shown.allocation, 1);
            push_out(device, &shown);
        }
        ok(ferry_unlock(shown.allocation));
        ok(ferry_view_lock(shown.allocation, 1, FERRY_LOCK_READ_ONLY));
        assert_int_equal(ferry_view_write(shown.allocation, rows.offset, &byte, 1), FERRY_ERROR_ARGUMENT);
        ok(ferry_view_read(shown.allocation, rows.offset + rows.bytes - 1, &byte, 1));
        assert_int_equal(byte, 7);
        ok(ferry_unlock(shown.allocation));
    }
    assert_int_equal(ferry_view_read(shown.allocation, rows.offset, &byte, 1), FERRY_ERROR_NOT_LOCKED);
    // Closed with one locked; and in driver model 2 there is nothing of it.
    must_wait(device, &shown.allocation, 1);
    ok(ferry_view_lock(shown.allocation, 2, 0));
    struct ferry_adapter_options second = {.size = sizeof second, .backend = backend, .seed = seed, .model = 2};
    ok(ferry_adapter_open(&second, &other));
    ok(ferry_device_create(other, &device));
    plain = make(device, 4096, VISIBLE);
    assert_int_equal(ferry_view_lock(plain, 0, 0), FERRY_ERROR_UNSUPPORTED);
    ferry_adapter_close(other);
    ferry_adapter_close(adapter);
    free(shown.rows);
    free(closed.rows);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R90_R92_R93_rows_are_seen_wherever_the_image_is),
        cmocka_unit_test(R91_R92_an_eviction_is_not_seen_by_a_thread_that_writes),
        cmocka_unit_test(bad_calls_get_a_named_error),
    };

    read_options(argc, argv);
    const struct left_out left_out[] = {{"bad_calls_get_a_named_error", TWO_DEVICES}};
    return RUN_WHERE_POSSIBLE(tests, left_out);
}
