// SPDX-License-Identifier: Apache-2.0
// 64 GiB of video memory, with something in every 2 GiB of it: an address that lost its upper bits anywhere on its way
// would reach another's content.
#include "system.h"

#define GIB    (UINT64_C(1) << 30)
#define PLACES 32u
#define BYTES  10000u // the last page not whole

static struct ferry_placement place_of(struct ferry_allocation *allocation)
{
    struct ferry_placement placement = {.size = sizeof placement};

    ok(ferry_allocation_placement(allocation, &placement));
    return placement;
}

static void every_address_of_64_GiB_is_an_address_of_its_own(void **state)
{
    struct ferry_adapter *adapter = open_adapter(64 * GIB);
    struct ferry_adapter_info info = {.size = sizeof info};
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_allocation *a[PLACES];
    struct ferry_allocation_options options = {
        .size = sizeof options, .bytes = PLACES * BYTES, .flags = VISIBLE, .in_aperture = true};
    struct ferry_allocation *read_back;

    (void)state;
    ok(ferry_adapter_query(adapter, &info));
    assert_true(info.video_memory_bytes == 64 * GIB);
    ok(ferry_device_create(adapter, &device));
    ok(ferry_queue_create(device, &queue));
    ok(ferry_allocation_create(device, &options, &read_back));
    must_be_resident(device, &read_back, 1);
    options = (struct ferry_allocation_options){
        .size = sizeof options, .bytes = BYTES, .flags = VISIBLE, .alignment = (uint32_t)(2 * GIB)};
    for (uint32_t i = 0; i < PLACES; i++) {
        ok(ferry_allocation_create(device, &options, &a[i]));
        write_content(a[i], BYTES, i);
    }
    must_be_resident(device, a, PLACES);
    bool taken[PLACES] = {false};
    for (uint32_t i = 0; i < PLACES; i++) {
        struct ferry_placement placement = place_of(a[i]);
        assert_true(placement.resident && placement.offset % (2 * GIB) == 0);
        assert_false(taken[placement.offset / (2 * GIB)]);
        taken[placement.offset / (2 * GIB)] = true;
    }
    // What came in, read by the GPU; then pieces of it from one to the next, and the last bytes filled.
    for (uint32_t i = 0; i < PLACES; i++)
        ok(ferry_queue_copy(queue, read_back, (uint64_t)i * BYTES, a[i], 0, BYTES));
    run_job(queue);
    void *address;
    ok(ferry_lock(read_back, FERRY_LOCK_READ_ONLY, &address));
    for (uint32_t i = 0; i < PLACES; i++)
        for (uint32_t at = 0; at < BYTES; at++)
            assert_int_equal(((uint8_t *)address)[i * BYTES + at], content(i, at));
    ok(ferry_unlock(read_back));
    for (uint32_t i = PLACES - 1; i > 0; i--)
        ok(ferry_queue_copy(queue, a[i], 100, a[i - 1], 5000, 3000));
    for (uint32_t i = 0; i < PLACES; i++)
        ok(ferry_queue_fill(queue, a[i], 9000, 1000, 200 + i, 1));
    run_job(queue);
    // Paged out.
    for (uint32_t i = 0; i < PLACES; i++) {
        ok(ferry_lock(a[i], FERRY_LOCK_READ_ONLY, &address));
        const uint8_t *found = address;
        for (uint32_t at = 0; at < BYTES; at++) {
            bool copied = i > 0 && at >= 100 && at < 3100;
            assert_int_equal(found[at], at >= 9000 ? 200 + i : copied ? content(i - 1, at + 4900) : content(i, at));
        }
        ok(ferry_unlock(a[i]));
    }
    ferry_adapter_close(adapter);
}

// The patch list's offsets are 32 bits wide: what lies behind them is refused, and nothing else is written in its
// place.
static void an_offset_that_no_job_can_name_is_refused(void **state)
{
    struct ferry_adapter *adapter = open_adapter(64 * GIB);
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_allocation *large, *small;
    struct ferry_allocation_options options = {.size = sizeof options, .bytes = 5 * GIB, .flags = VISIBLE};

    (void)state;
    ok(ferry_device_create(adapter, &device));
    ok(ferry_queue_create(device, &queue));
    ok(ferry_allocation_create(device, &options, &large));
    options.bytes = 4096;
    ok(ferry_allocation_create(device, &options, &small));
    ok(ferry_queue_fill(queue, large, 4 * GIB - 1, 64, 7, 1));
    assert_int_equal(ferry_queue_fill(queue, large, 4 * GIB, 64, 7, 1), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_queue_copy(queue, large, 4 * GIB + 4096, small, 0, 64), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_queue_copy(queue, small, 0, large, 4 * GIB, 64), FERRY_ERROR_RANGE);
    ferry_adapter_close(adapter);
}

// In the aperture a fill is a write and copies of it, each with an offset of its own; the last one's is the largest.
static void a_fill_whose_copies_no_job_can_name_is_refused(void **state)
{
    struct ferry_adapter *adapter = open_adapter(GIB);
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_allocation *large;
    struct ferry_allocation_options options = {
        .size = sizeof options, .bytes = 5 * GIB, .flags = VISIBLE, .in_aperture = true};

    (void)state;
    ok(ferry_device_create(adapter, &device));
    ok(ferry_queue_create(device, &queue));
    ok(ferry_allocation_create(device, &options, &large));
    ok(ferry_queue_fill(queue, large, 4 * GIB - 1, 8, 7, 1));
    ok(ferry_queue_fill(queue, large, 4 * GIB - 16, 16, 7, 1));
    ok(ferry_queue_fill(queue, large, 4 * GIB - 9, 16, 7, 1));
    ok(ferry_queue_fill(queue, large, 4096, UINT32_MAX, 7, 1));
    assert_int_equal(ferry_queue_fill(queue, large, 4 * GIB - 8, 9, 7, 1), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_queue_fill(queue, large, 4 * GIB - 4096, 8192, 7, 8), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_queue_fill(queue, large, 2 * GIB, UINT32_MAX, 7, 8), FERRY_ERROR_RANGE);
    ferry_adapter_close(adapter);
}

// ---- Tiles on both sides of 4 GiB, which the device takes no rectangle over ----

#define FROM_END 0x40u // FromEndOfSegment: where the image lies is chosen by how much there is of video memory
#define MOST     (1u << 21)

static uint8_t rows_of[MOST], tiles_of[MOST];

// The image's bytes written as rows, and how video memory holds them; where it begins is returned.
static uint64_t tiles_in(uint64_t video_memory_bytes, const struct ferry_tiling *tiling, uint8_t *tiles)
{
    struct ferry_adapter *adapter = open_adapter(video_memory_bytes);
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_allocation *image, *plain;
    struct ferry_allocation_options options = {
        .size = sizeof options, .bytes = ferry_tiling_bytes(tiling), .flags = VISIBLE | FROM_END, .tiling = tiling};
    void *address;

    ok(ferry_device_create(adapter, &device));
    ok(ferry_queue_create(device, &queue));
    ok(ferry_allocation_create(device, &options, &image));
    plain = make_in_aperture(device, options.bytes / FERRY_PAGE_BYTES);
    ok(ferry_lock(image, FERRY_LOCK_WRITE_ONLY, &address));
    memcpy(address, rows_of, options.bytes);
    ok(ferry_unlock(image));
    must_be_resident(device, (struct ferry_allocation *[]){image, plain}, 2);
    uint64_t place = place_of(image).offset;
    ok(ferry_queue_copy(queue, plain, 0, image, 0, (uint32_t)options.bytes));
    run_job(queue);
    ok(ferry_lock(plain, FERRY_LOCK_READ_ONLY, &address));
    memcpy(tiles, address, options.bytes);
    ok(ferry_unlock(plain));
    // And back.
    ok(ferry_lock(image, FERRY_LOCK_READ_ONLY, &address));
    assert_memory_equal(address, rows_of, options.bytes);
    ok(ferry_unlock(image));
    ferry_adapter_close(adapter);
    return place;
}

static void an_image_over_4_GiB_has_its_tiles_where_it_has_them_elsewhere(void **state)
{
    static const struct ferry_tiling images[] = {
        {sizeof images[0], 65536, 4, 500, 400, 1},  // two rows a page, 4 tiles wide
        {sizeof images[0], 65536, 4, 1100, 130, 2}, // rows longer than a page
        {sizeof images[0], 4096, 16, 40, 33, 3},    // small tiles, and the smaller levels
        {sizeof images[0], 4096, 1, 70, 200, 1},
    };
    static uint8_t found[MOST];

    (void)state;
    for (uint32_t at = 0; at < MOST; at++)
        rows_of[at] = content(at >> 12, at);
    // In driver model 2 without page tables in between.
    table_memory = FERRY_TABLES_SYSTEM;
    for (unsigned i = 0; i < 3 * sizeof images / sizeof *images; i++) {
        const struct ferry_tiling *image = &images[i / 3];
        uint64_t bytes = ferry_tiling_bytes(image), each = image->tile_bytes;

        driver_model = i % 3 ? 2 : 1;
        paging_way = i % 3 == 2 ? FERRY_PAGING_VIRTUAL : FERRY_PAGING_PHYSICAL;
        assert_true(bytes > 3 * each && bytes <= MOST);
        tiles_in(2 * GIB, image, tiles_of);
        assert_memory_not_equal(tiles_of, rows_of, bytes);
        for (uint64_t before = each; before < bytes; before += each) {
            assert_true(tiles_in(4 * GIB + bytes - before, image, found) == 4 * GIB - before);
            assert_memory_equal(found, tiles_of, bytes);
        }
    }
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_offset_that_no_job_can_name_is_refused),
                                       cmocka_unit_test(a_fill_whose_copies_no_job_can_name_is_refused),
                                       cmocka_unit_test(every_address_of_64_GiB_is_an_address_of_its_own),
                                       cmocka_unit_test(an_image_over_4_GiB_has_its_tiles_where_it_has_them_elsewhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
