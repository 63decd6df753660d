// SPDX-License-Identifier: Apache-2.0
// Rectangles at GPU virtual addresses: over multiples of 4 GiB, which the device takes in no packet; where a page in
// their middle is absent or may not be written; and what of an address space such a packet names.
#include "ferry_contract.h"
#include "tile_images.h"

#define PAGE  4096u
#define PAGES 32u
#define BYTES (PAGES * PAGE)
#define GIB_4 (UINT64_C(1) << 32)

struct machine {
    struct ferry_adapter *adapter;
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_allocation *to, *from;
};

static struct machine begin(void)
{
    struct ferry_adapter_options options = {.size = sizeof options,
                                            .backend = backend,
                                            .video_memory_bytes = 4 << 20,
                                            .seed = seed,
                                            .model = 2,
                                            .tables = table_memory,
                                            .table_bytes = 512 << 10};
    struct machine m = {0};

    ok(ferry_adapter_open(&options, &m.adapter));
    ok(ferry_device_create(m.adapter, &m.device));
    ok(ferry_queue_create(m.device, &m.queue));
    m.to = make(m.device, BYTES, VISIBLE);
    m.from = make(m.device, BYTES, VISIBLE);
    write_content(m.to, BYTES, 1);
    write_content(m.from, BYTES, 2);
    must_be_resident(m.device, &m.to, 1);
    must_be_resident(m.device, &m.from, 1);
    return m;
}

static void map(struct machine *m, struct ferry_allocation *allocation, uint64_t address, uint64_t offset,
                uint64_t bytes, bool read_only)
{
    struct ferry_va range = {.size = sizeof range, .address = address, .bytes = bytes};

    ok(ferry_va_map(m->device, allocation, offset, read_only, &range));
}

static struct ferry_rectangle rectangle(uint32_t row_bytes, uint32_t rows, uint64_t to, int32_t to_pitch, uint64_t from,
                                        int32_t from_pitch)
{
    return (struct ferry_rectangle){.size = sizeof(struct ferry_rectangle),
                                    .row_bytes = row_bytes,
                                    .rows = rows,
                                    .destination = {.at = to, .pitch = to_pitch},
                                    .source = {.at = from, .pitch = from_pitch}};
}

static void check(struct ferry_allocation *allocation, const uint8_t *expected)
{
    const uint8_t *found;
    void *address;

    ok(ferry_lock(allocation, FERRY_LOCK_READ_ONLY, &address));
    found = address;
    for (uint32_t i = 0; i < BYTES; i++)
        if (found[i] != expected[i])
            fail_msg("FERRY_SEED=%llu: byte %u is %02x, not %02x", (unsigned long long)seed, i, found[i], expected[i]);
    ok(ferry_unlock(allocation));
}

// A multiple of 4 GiB is anywhere in one side or in both, in a row, between two, or beside them.
static void a_rectangle_over_multiples_of_4_gib_comes_out_whole(void **state)
{
    struct machine m = begin();
    uint8_t *expected = malloc(BYTES);
    uint64_t to = 5 * GIB_4 - 16 * PAGE, from = 9 * GIB_4 - 15 * PAGE;

    (void)state;
    say_random();
    drawn = seed;
    for (uint32_t i = 0; i < BYTES; i++)
        expected[i] = content(1, i);
    map(&m, m.to, to, 0, BYTES, false);
    map(&m, m.from, from, 0, BYTES, true);
    for (unsigned round = 0; round < (on_model() ? 80 : 20); round++) {
        uint32_t rows = 1 + draw(40), row_bytes = 1 + draw(draw(2) ? 3000 : 100);
        uint32_t to_pitch = row_bytes + draw((BYTES - row_bytes) / rows - row_bytes + 1);
        uint32_t from_pitch = draw((BYTES - row_bytes) / rows + 1);
        uint32_t to_at = draw(BYTES - row_bytes - to_pitch * (rows - 1) + 1);
        uint32_t from_at = draw(BYTES - row_bytes - from_pitch * (rows - 1) + 1);
        // One of them begins or ends a row just there.
        if (draw(4) == 0 && 16 * PAGE + to_pitch * (rows - 1) + row_bytes <= BYTES)
            to_at = 16 * PAGE - draw(2) * (to_pitch * (rows / 2)) % (16 * PAGE);
        bool up = draw(2);
        uint32_t more = up ? (rows - 1) * to_pitch : 0;
        struct ferry_rectangle r =
            rectangle(row_bytes, rows, to + to_at + more, up ? -(int32_t)to_pitch : (int32_t)to_pitch, from + from_at,
                      (int32_t)from_pitch);

        ok(ferry_queue_copy_rectangle(m.queue, &r));
        // One side by its allocation is never cut, though the other is.
        if (draw(3) == 0)
            r.source = (struct ferry_rectangle_side){.allocation = m.from, .at = from_at, .pitch = (int32_t)from_pitch};
        ok(ferry_queue_copy_rectangle(m.queue, &r));
        run_job(m.queue);
        for (uint32_t row = 0; row < rows; row++)
            for (uint32_t x = 0; x < row_bytes; x++)
                expected[to_at + (up ? rows - 1 - row : row) * to_pitch + x] =
                    content(2, from_at + row * from_pitch + x);
        if (draw(4) == 0)
            check(m.to, expected);
    }
    check(m.to, expected);
    free(expected);
    ferry_adapter_close(m.adapter);
}

// More packets than a buffer holds come of it, each at its place: pitches of almost 2 GiB, or of a page over 4 GiB.
static void each_of_many_pieces_names_what_is_mapped(void **state)
{
    struct machine m = begin();
    uint8_t *expected = malloc(BYTES);
    const uint64_t base = 64 * GIB_4, pitch = (UINT64_C(1) << 31) - 65536;

    (void)state;
    for (uint32_t i = 0; i < BYTES; i++)
        expected[i] = content(1, i);
    for (uint32_t i = 0; i < PAGES; i++)
        map(&m, m.to, base + i * pitch, (uint64_t)i * PAGE, PAGE, false);
    struct ferry_rectangle r = rectangle(100, PAGES, base + 50, (int32_t)pitch, 0, 200);
    r.source.allocation = m.from;
    ok(ferry_queue_copy_rectangle(m.queue, &r));
    run_job(m.queue);
    for (uint32_t i = 0; i < PAGES; i++)
        for (uint32_t x = 0; x < 100; x++)
            expected[i * PAGE + 50 + x] = content(2, i * 200 + x);
    check(m.to, expected);
    // It names both.
    uint64_t fence;
    evict(m.device, &m.to, 1);
    ok(ferry_queue_copy_rectangle(m.queue, &r));
    assert_int_equal(ferry_queue_submit(m.queue, &fence), FERRY_ERROR_NOT_RESIDENT);
    free(expected);
    ferry_adapter_close(m.adapter);
}

static void faults_with(struct machine *m, const struct ferry_rectangle *r, uint32_t kind, uint64_t address, bool write)
{
    struct ferry_fault fault = {.size = sizeof fault};
    uint64_t fence;
    bool found;

    ok(ferry_queue_copy_rectangle(m->queue, r));
    ok(ferry_queue_submit(m->queue, &fence));
    assert_int_equal(ferry_queue_wait(m->queue, fence), FERRY_ERROR_FAULT);
    ok(ferry_adapter_next_fault(m->adapter, &fault, &found));
    assert_true(found);
    assert_int_equal(fault.kind, kind);
    assert_int_equal(fault.is_write, write);
    assert_true(fault.address == address);
    assert_int_equal(fault.written, 0);
    ok(ferry_adapter_next_fault(m->adapter, &fault, &found));
    assert_false(found);
}

// Rows of 64 bytes, a page apart: of the third the page is absent, or may not be written.
static void a_page_in_the_middle_is_told(void **state)
{
    struct machine m = begin();
    const uint64_t to = 3 * GIB_4, from = 7 * GIB_4;
    struct ferry_rectangle r = rectangle(64, 4, to, PAGE, from, PAGE);

    (void)state;
    map(&m, m.to, to, 0, 8 * PAGE, false);
    map(&m, m.from, from, 0, 2 * PAGE, false);
    map(&m, m.from, from + 3 * PAGE, 0, 5 * PAGE, true);
    faults_with(&m, &r, FERRY_FAULT_KIND_PAGE_ABSENT, from + 2 * PAGE, false);
    r = rectangle(64, 4, from, PAGE, to, PAGE);
    faults_with(&m, &r, FERRY_FAULT_KIND_PAGE_ABSENT, from + 2 * PAGE, true);
    r.rows = 2;
    ok(ferry_queue_copy_rectangle(m.queue, &r));
    run_job(m.queue);
    r = rectangle(64, 3, from + 3 * PAGE, PAGE, to, PAGE);
    faults_with(&m, &r, FERRY_FAULT_KIND_PAGE_READ_ONLY, from + 3 * PAGE, true);
    // Past the end of all addresses.
    r = rectangle(64, 3, to, PAGE, (UINT64_C(1) << 48) - 2 * PAGE, PAGE);
    assert_int_equal(ferry_queue_copy_rectangle(m.queue, &r), FERRY_ERROR_RANGE);
    r.source.at -= 64;
    faults_with(&m, &r, FERRY_FAULT_KIND_PAGE_ABSENT, (UINT64_C(1) << 48) - 2 * PAGE - 64, false);
    r = rectangle(64, 3, to, PAGE, 2 * PAGE - 1, -(int32_t)PAGE);
    assert_int_equal(ferry_queue_copy_rectangle(m.queue, &r), FERRY_ERROR_RANGE);
    ferry_adapter_close(m.adapter);
}

// What lies between two rows is not named: it need not be resident. What a row touches is.
static void what_is_mapped_between_its_rows_is_not_named(void **state)
{
    struct machine m = begin();
    const uint64_t to = 3 * GIB_4, from = 7 * GIB_4;
    struct ferry_allocation *between = make(m.device, 2 * PAGE, VISIBLE);
    struct ferry_rectangle r = rectangle(64, 3, to, 4 * PAGE, from, 64);
    uint64_t fence;

    (void)state;
    map(&m, m.from, from, 0, BYTES, false);
    for (uint32_t row = 0; row < 3; row++) {
        map(&m, m.to, to + 4 * row * PAGE, 0, PAGE, false);
        // Behind the first row nothing is.
        if (row > 0)
            map(&m, between, to + (4 * row + 1) * PAGE, 0, 2 * PAGE, false);
    }
    ok(ferry_queue_copy_rectangle(m.queue, &r));
    run_job(m.queue);
    r.row_bytes = PAGE + 1;
    ok(ferry_queue_copy_rectangle(m.queue, &r));
    assert_int_equal(ferry_queue_submit(m.queue, &fence), FERRY_ERROR_NOT_RESIDENT);
    r.row_bytes = 64;
    r.rows = 2;
    r.destination.at += 5 * PAGE + 8;
    ok(ferry_queue_copy_rectangle(m.queue, &r));
    assert_int_equal(ferry_queue_submit(m.queue, &fence), FERRY_ERROR_NOT_RESIDENT);
    must_be_resident(m.device, &between, 1);
    ok(ferry_queue_copy_rectangle(m.queue, &r));
    run_job(m.queue);
    ferry_adapter_close(m.adapter);
}

// The address that an allocation has by itself: a program that has made 4 GiB of them gets to such a place.
static void no_allocation_lies_over_a_multiple_of_4_gib(void **state)
{
    struct machine m = begin();
    struct ferry_va range = {.size = sizeof range, .least = UINT64_C(1) << 47, .bytes = GIB_4 - (4 << 20)};
    struct ferry_rectangle r = rectangle(1000, BYTES / 1000, 0, 5000, 0, 1000);

    (void)state;
    // Behind the first allocations; then 2 MiB or so are left up to the multiple, for three and a part of the next.
    ok(ferry_va_reserve(m.device, &range));
    r.source.allocation = m.from;
    for (unsigned i = 0; i < 6; i++) {
        r.destination.allocation = make(m.device, 5 * BYTES, VISIBLE);
        must_be_resident(m.device, &r.destination.allocation, 1);
        ok(ferry_queue_copy_rectangle(m.queue, &r));
        run_job(m.queue);
        ok(ferry_allocation_destroy(r.destination.allocation));
    }
    ferry_adapter_close(m.adapter);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rectangle_over_multiples_of_4_gib_comes_out_whole),
        cmocka_unit_test(each_of_many_pieces_names_what_is_mapped),
        cmocka_unit_test(a_page_in_the_middle_is_told),
        cmocka_unit_test(what_is_mapped_between_its_rows_is_not_named),
        cmocka_unit_test(no_allocation_lies_over_a_multiple_of_4_gib),
    };

    read_options(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
