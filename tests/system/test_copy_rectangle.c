// SPDX-License-Identifier: Apache-2.0
// Rectangles by the public interface: each byte against copies of single bytes that the test makes in its own memory,
// in both driver models, among plain copies and fills of the same job; every refusal by name, with nothing recorded;
// and faults.
#include "tile_images.h"

#define KIB    1024u
#define PLACES 4u
#define BYTES  (20u * 4096 + 100) // of each, the last page not whole

// In video memory but the third, which is in the aperture.
static struct place {
    struct ferry_allocation *allocation;
    uint64_t address; // where the test has mapped it; driver model 2
    uint8_t *expected;
} places[PLACES];

static struct bench *begin(void)
{
    struct bench *bench = calloc(1, sizeof *bench);

    say_random();
    drawn = seed;
    bench->adapter = open_adapter(1 << 20);
    ok(ferry_device_create(bench->adapter, &bench->device));
    ok(ferry_queue_create(bench->device, &bench->queue));
    for (uint32_t i = 0; i < PLACES; i++) {
        struct ferry_allocation_options options = {
            .size = sizeof options, .bytes = BYTES, .flags = VISIBLE, .in_aperture = i == 2};
        struct ferry_va range = {.size = sizeof range, .bytes = BYTES / 4096 * 4096 + 4096};

        ok(ferry_allocation_create(bench->device, &options, &places[i].allocation));
        places[i].expected = malloc(BYTES);
        for (uint32_t at = 0; at < BYTES; at++)
            places[i].expected[at] = content(i, at);
        write_content(places[i].allocation, BYTES, i);
        must_be_resident(bench->device, &places[i].allocation, 1);
        if (driver_model == 2)
            ok(ferry_va_map(bench->device, places[i].allocation, 0, false, &range));
        places[i].address = range.address;
    }
    return bench;
}

static void end(struct bench *bench)
{
    for (uint32_t i = 0; i < PLACES; i++)
        free(places[i].expected);
    ferry_adapter_close(bench->adapter);
    free(bench);
}

static void check_all(void)
{
    for (uint32_t i = 0; i < PLACES; i++) {
        const uint8_t *found;
        void *address;

        ok(ferry_lock(places[i].allocation, FERRY_LOCK_READ_ONLY, &address));
        found = address;
        for (uint32_t at = 0; at < BYTES; at++)
            if (found[at] != places[i].expected[at])
                fail_msg("FERRY_SEED=%llu: place %u byte %u is %02x, not %02x", (unsigned long long)seed, i, at,
                         found[at], places[i].expected[at]);
        ok(ferry_unlock(places[i].allocation));
    }
}

// Which of the places, and where there.
struct drawn_side {
    uint32_t place;
    int64_t at, pitch;
};

static int64_t byte_of(const struct drawn_side *side, uint32_t row, uint32_t x)
{
    return side->at + side->pitch * row + x;
}

static struct drawn_side draw_side(uint32_t row_bytes, uint32_t rows, bool apart)
{
    struct drawn_side side = {.place = draw(PLACES)};
    int64_t room = (int64_t)BYTES - row_bytes, most = rows > 1 ? room / (rows - 1) : 40000;
    int64_t least = apart ? row_bytes : 0;

    // Rows one behind the other, any number of bytes apart, or as far as there is room.
    side.pitch = draw(5) == 0 ? least : least + draw((uint32_t)(most - least) + 1);
    if (draw(8) == 0)
        side.pitch = most;
    int64_t span = side.pitch * (rows - 1);
    side.at = draw(5) == 0 ? room - span : draw((uint32_t)(room - span) + 1);
    if (draw(4) == 0) {
        side.at += span;
        side.pitch = -side.pitch;
    }
    return side;
}

static bool have_bytes_in_common(const struct drawn_side *to, const struct drawn_side *from, uint32_t row_bytes,
                                 uint32_t rows)
{
    static uint8_t taken[BYTES];
    bool common = false;

    if (to->place != from->place)
        return false;
    memset(taken, 0, sizeof taken);
    for (uint32_t row = 0; row < rows; row++)
        memset(taken + byte_of(to, row, 0), 1, row_bytes);
    for (uint32_t row = 0; row < rows; row++)
        common |= memchr(taken + byte_of(from, row, 0), 1, row_bytes) != NULL;
    return common;
}

static struct ferry_rectangle_side side_of(const struct drawn_side *side)
{
    if (driver_model == 2 && draw(2))
        return (struct ferry_rectangle_side){.at = places[side->place].address + (uint64_t)side->at,
                                             .pitch = (int32_t)side->pitch};
    return (struct ferry_rectangle_side){
        .allocation = places[side->place].allocation, .at = (uint64_t)side->at, .pitch = (int32_t)side->pitch};
}

static void copy_some_rectangle(struct bench *bench)
{
    struct drawn_side to, from;
    uint32_t row_bytes, rows;

    do {
        rows = draw(6) == 0 ? 1 : 1 + draw(60);
        row_bytes = 1 + draw(draw(4) ? 200 : draw(2) ? 20 : BYTES / rows);
        to = draw_side(row_bytes, rows, true);
        from = draw_side(row_bytes, rows, false);
    } while (have_bytes_in_common(&to, &from, row_bytes, rows));
    struct ferry_rectangle rectangle = {.size = sizeof rectangle, .row_bytes = row_bytes, .rows = rows};
    rectangle.destination = side_of(&to);
    rectangle.source = side_of(&from);
    ok(ferry_queue_copy_rectangle(bench->queue, &rectangle));
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t x = 0; x < row_bytes; x++)
            places[to.place].expected[byte_of(&to, row, x)] = places[from.place].expected[byte_of(&from, row, x)];
}

static void copy_or_fill_some(struct bench *bench)
{
    uint32_t bytes = 1 + draw(3000), to = draw(PLACES), from = draw(PLACES);
    uint32_t to_at = draw(BYTES - bytes + 1), from_at = draw(BYTES - bytes + 1), value = draw(256);

    if (draw(2)) {
        ok(ferry_queue_copy(bench->queue, places[to].allocation, to_at, places[from].allocation, from_at, bytes));
        memmove(places[to].expected + to_at, places[from].expected + from_at, bytes);
    } else {
        ok(ferry_queue_fill(bench->queue, places[to].allocation, to_at, bytes, value, 1));
        memset(places[to].expected + to_at, (int)value, bytes);
    }
}

static void each_byte_is_where_copies_of_single_bytes_have_it(void **state)
{
    struct bench *bench = begin();

    (void)state;
    for (unsigned job = 0; job < (on_model() ? 60 : rounds(12, 30)); job++) {
        for (uint32_t packets = 1 + draw(draw(8) ? 8 : 120); packets; packets--) {
            if (draw(3))
                copy_some_rectangle(bench);
            else
                copy_or_fill_some(bench);
        }
        run_job(bench->queue);
        if (draw(4) == 0)
            check_all();
        // Its place changes, and what is written over is paged out before.
        if (draw(6) == 0) {
            struct ferry_allocation *moved = places[draw(PLACES)].allocation, *large;

            evict(bench->device, &moved, 1);
            large = make(bench->device, 512 * KIB, 0);
            must_be_resident(bench->device, &large, 1);
            must_be_resident(bench->device, &moved, 1);
            evict(bench->device, &large, 1);
            ok(ferry_allocation_destroy(large));
        }
    }
    check_all();
    end(bench);
}

static struct ferry_rectangle good_rectangle(void)
{
    return (struct ferry_rectangle){.size = sizeof(struct ferry_rectangle),
                                    .row_bytes = 100,
                                    .rows = 10,
                                    .destination = {.allocation = places[0].allocation, .at = 64, .pitch = 200},
                                    .source = {.allocation = places[1].allocation, .at = 32, .pitch = 300}};
}

static void refused(struct bench *bench, const struct ferry_rectangle *rectangle, int error)
{
    int found = ferry_queue_copy_rectangle(bench->queue, rectangle);

    if (found != error)
        fail_msg("%s, not %s", ferry_error_name(found), ferry_error_name(error));
}

static struct ferry_queue *taken; // What is good goes here, and is never submitted.

// The last byte of a side is the last one of the allocation, and the first the first; one more is refused.
static void a_row_beyond_the_allocation_is_refused(struct bench *bench)
{
    for (unsigned i = 0; i < 2; i++) {
        struct ferry_rectangle r = good_rectangle();
        struct ferry_rectangle_side *side = i ? &r.source : &r.destination;

        side->at = BYTES - 100 - 9 * (uint64_t)side->pitch;
        ok(ferry_queue_copy_rectangle(taken, &r));
        side->at++;
        refused(bench, &r, FERRY_ERROR_RANGE);
        side->at = BYTES + 1;
        refused(bench, &r, FERRY_ERROR_RANGE);
        side->at = UINT64_MAX - 50;
        refused(bench, &r, FERRY_ERROR_RANGE);
        side->pitch = -side->pitch;
        side->at = 9 * (uint64_t)-side->pitch;
        ok(ferry_queue_copy_rectangle(taken, &r));
        side->at--;
        refused(bench, &r, FERRY_ERROR_RANGE);
        side->pitch = INT32_MIN;
        refused(bench, &r, FERRY_ERROR_RANGE);
        side->pitch = INT32_MAX;
        side->at = 0;
        refused(bench, &r, FERRY_ERROR_RANGE);
        // Of one row the pitch does not matter.
        r.rows = 1;
        side->at = BYTES - 100;
        ok(ferry_queue_copy_rectangle(taken, &r));
        side->at++;
        refused(bench, &r, FERRY_ERROR_RANGE);
    }
}

static void what_cannot_be_is_refused_by_name(void **state)
{
    struct bench *bench = begin();
    struct ferry_device *other;
    struct ferry_rectangle r = good_rectangle();

    (void)state;
    ok(ferry_queue_create(bench->device, &taken));
    assert_int_equal(ferry_queue_copy_rectangle(bench->queue, NULL), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_queue_copy_rectangle(NULL, &r), FERRY_ERROR_HANDLE);
    r.size--;
    refused(bench, &r, FERRY_ERROR_ARGUMENT);
    r = good_rectangle();
    r.row_bytes = (1u << 23) + 1;
    refused(bench, &r, FERRY_ERROR_ARGUMENT);
    r.row_bytes = 1u << 23;
    r.rows = 1;
    refused(bench, &r, FERRY_ERROR_RANGE);
    r = good_rectangle();
    r.rows = 65537;
    refused(bench, &r, FERRY_ERROR_ARGUMENT);
    // 65,536 rows of one byte; the source has one.
    r.rows = 65536;
    r.row_bytes = 1;
    r.destination.pitch = 1;
    r.source.pitch = 0;
    ok(ferry_queue_copy_rectangle(taken, &r));
    for (int32_t pitch = -99; pitch <= 99; pitch += 99) {
        r = good_rectangle();
        r.destination.at = 5000;
        r.destination.pitch = pitch;
        refused(bench, &r, FERRY_ERROR_ARGUMENT);
        r.rows = 1;
        ok(ferry_queue_copy_rectangle(taken, &r));
    }
    for (unsigned i = 0; i < 7; i++) {
        r = good_rectangle();
        struct ferry_rectangle_side *side = draw(2) ? &r.source : &r.destination;
        side->level = i == 0;
        side->x = i == 1;
        side->y = i == 2;
        side->in_tiles = i > 2;
        side->at = i == 3 ? 64 : i < 3 ? side->at : 0;
        side->pitch = i == 4 ? 200 : i < 3 ? side->pitch : 0;
        // Without tiles; and there are no addresses of any.
        side->allocation = i == 6 ? NULL : side->allocation;
        refused(bench, &r, FERRY_ERROR_ARGUMENT);
    }
    a_row_beyond_the_allocation_is_refused(bench);
    r = good_rectangle();
    ok(ferry_device_create(bench->adapter, &other));
    r.source.allocation = make(other, BYTES, VISIBLE);
    refused(bench, &r, FERRY_ERROR_FOREIGN);
    ok(ferry_allocation_destroy(r.source.allocation));
    refused(bench, &r, FERRY_ERROR_HANDLE);
    r.source.allocation = NULL;
    if (driver_model == 1)
        refused(bench, &r, FERRY_ERROR_UNSUPPORTED);
    // Of no bytes nothing is copied.
    r = good_rectangle();
    r.rows = 0;
    ok(ferry_queue_copy_rectangle(bench->queue, &r));
    r = good_rectangle();
    r.row_bytes = 0;
    ok(ferry_queue_copy_rectangle(bench->queue, &r));
    r.source.at = BYTES + 1;
    refused(bench, &r, FERRY_ERROR_RANGE);
    // Nothing of what was refused was recorded.
    run_job(bench->queue);
    check_all();
    end(bench);
}

// Nothing of a job whose allocation is not resident runs.
static void an_allocation_that_is_not_resident_is_told(void **state)
{
    struct bench *bench = begin();

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct ferry_rectangle r = good_rectangle();
        uint64_t fence;

        evict(bench->device, &places[i].allocation, 1);
        ok(ferry_queue_copy_rectangle(bench->queue, &r));
        assert_int_equal(ferry_queue_submit(bench->queue, &fence), FERRY_ERROR_NOT_RESIDENT);
        must_be_resident(bench->device, &places[i].allocation, 1);
    }
    run_job(bench->queue);
    check_all();
    end(bench);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_byte_is_where_copies_of_single_bytes_have_it),
        cmocka_unit_test(what_cannot_be_is_refused_by_name),
        cmocka_unit_test(an_allocation_that_is_not_resident_is_told),
    };

    read_options(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
