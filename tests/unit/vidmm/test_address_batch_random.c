// SPDX-License-Identifier: Apache-2.0
// Random batches of operations on reserved addresses against a plain list: a state for every page of a few windows, to
// which the same operations are done page by page.
#include "../../seed.h"
#include "address_batch_fixture.h"

static uint64_t seed;
static uint64_t draw(uint64_t below)
{
    return draw_below(&seed, below);
}

#define WINDOWS 3u
#define WINDOW  1200u
#define TABLES  14u
// Around the edges of tables of two levels.
static const uint64_t windows[WINDOWS] = {1 << 20, (1u << 18) - 600, (UINT64_C(1) << 27) - 600};
struct plain {
    uint32_t reservation, owner, offset; // owner 0: none
    bool read_only;
};
typedef struct plain plain_list[WINDOWS][WINDOW];
static plain_list plain, after;

static uint64_t tables_of(plain_list one, plain_list other)
{
    uint64_t count = 0, last[4];

    memset(last, 0xff, sizeof last);
    // Windows that share a table stand side by side: the first and the second do in levels 2 and 3.
    const uint32_t order[WINDOWS] = {1, 0, 2};
    for (uint32_t k = 0; k < WINDOWS; k++)
        for (uint32_t p = 0, w = order[k]; p < WINDOW; p++)
            for (unsigned level = 0; level < 4 && (one[w][p].owner || other[w][p].owner); level++) {
                uint64_t prefix = (windows[w] + p) >> (9 * (level + 1));

                count += prefix != last[level];
                last[level] = prefix;
            }
    return count;
}

// One operation, to both; the error that the list expects.
static int random_operation(struct ferry_vm_batch *batch, uint32_t w, uint32_t reservation, int *expected)
{
    uint32_t p = (uint32_t)draw(WINDOW), n = 1 + (uint32_t)draw(draw(8) ? 40 : 700), from = (uint32_t)draw(WINDOW);
    uint32_t owner = 1 + (uint32_t)draw(99), offset = (uint32_t)draw(50), repeat = 0;
    uint64_t kind = draw(4), bytes;
    struct plain copied[WINDOW];

    n = n > WINDOW - p ? WINDOW - p : n;
    // Mostly where it can be.
    while (draw(20) && (plain[w][p].reservation != reservation || plain[w][p + n - 1].reservation != reservation)) {
        p = (uint32_t)draw(WINDOW);
        n = 1 + (uint32_t)draw(WINDOW - p < 60 ? WINDOW - p : 60);
    }
    if (kind == 2)
        while (from + n > WINDOW || (draw(20) && (plain[w][from].reservation == 0 ||
                                                  plain[w][from].reservation != plain[w][from + n - 1].reservation)))
            from = (uint32_t)draw(WINDOW);
    if (kind == 3) {
        repeat = 1 + (uint32_t)draw(8);
        n = n < repeat ? repeat : n - n % repeat;
        if (p + n > WINDOW)
            p = 0;
    }
    *expected = FERRY_OK;
    for (uint32_t i = 0; i < n; i++) {
        if (plain[w][p + i].reservation != reservation)
            *expected = FERRY_ERROR_ARGUMENT;
        if (kind == 2 &&
            (plain[w][from + i].reservation == 0 || plain[w][from + i].reservation != plain[w][from].reservation))
            *expected = FERRY_ERROR_ARGUMENT;
    }
    struct ferry_vm_part part = {windows[w] + p, n, &owners[owner], offset, draw(2)};
    memcpy(copied, &after[w][from], (kind == 2 ? n : 0) * sizeof copied[0]);
    for (uint32_t i = 0; i < n; i++) {
        struct plain *page = &after[w][p + i];
        uint32_t kept = page->reservation;

        *page = kind == 1   ? (struct plain){0}
                : kind == 2 ? copied[i]
                            : (struct plain){0, owner, offset + (repeat ? i % repeat : i), part.read_only};
        page->reservation = kept;
    }
    return kind == 1   ? ferry_vm_batch_unmap(batch, part.first, n)
           : kind == 2 ? ferry_vm_batch_copy(batch, part.first, n, windows[w] + from)
                       : ferry_vm_batch_map(batch, &part, repeat, &bytes);
}

static void compare(uint32_t looks)
{
    for (uint32_t look = 0; look < looks; look++) {
        uint32_t w = (uint32_t)draw(WINDOWS), p = (uint32_t)draw(WINDOW);
        const struct ferry_vm_range *found = ferry_vm_address_find(&space, windows[w] + p);
        const struct plain *page = &plain[w][p];

        if (!found || found->first > windows[w] + p) {
            assert_int_equal(page->reservation, 0);
            continue;
        }
        assert_true(page->reservation != 0);
        assert_ptr_equal(found->owner, page->owner ? &owners[page->owner] : NULL);
        if (found->owner) {
            assert_int_equal(ferry_vm_range_more(found)->offset + windows[w] + p - found->first, page->offset);
            assert_int_equal(found->read_only, page->read_only);
            assert_non_null(ferry_vm_address_table(&space, windows[w] + p, 0));
        }
    }
}

// An allocation goes, and with it what leads to it. Batches know nothing of that.
static void drop_some(void)
{
    uint32_t owner = 1 + (uint32_t)draw(99);

    for (uint32_t w = 0; w < WINDOWS; w++)
        for (uint32_t p = 0; p < WINDOW; p++) {
            struct ferry_vm_range *range = ferry_vm_address_find(&space, windows[w] + p);

            if (range && range->first <= windows[w] + p && range->owner == &owners[owner]) {
                uint64_t first = range->first, pages = range->pages;

                ferry_vm_address_unmap(&space, range);
                shrink(first, pages);
            }
            if (plain[w][p].owner == owner)
                plain[w][p] = (struct plain){.reservation = plain[w][p].reservation};
        }
}

static void random_batches_agree_with_a_plain_list(void **state)
{
    uint32_t reservations = 0, done = 0, refused = 0, exhausted = 0;

    (void)state;
    seed = seed_given(20261125);
    memset(plain, 0, sizeof plain);
    begin(TABLES);
    for (uint32_t w = 0; w < WINDOWS; w++)
        for (uint32_t p = 0; p < WINDOW;) {
            uint32_t n = 1 + (uint32_t)draw(WINDOW - p), skip = (uint32_t)draw(30);

            assert_int_equal(reserve(windows[w] + p, n), FERRY_OK);
            reservations++;
            for (uint32_t i = 0; i < n; i++)
                plain[w][p + i].reservation = reservations;
            p += n + (draw(3) ? 0 : skip);
        }
    // How often there are not enough tables follows from the reservations that a seed draws: it goes on until they were
    // short often enough, ten times as long at most.
    for (int step = 0; step < 20000 || (step < 200000 && !(done > 8000 && refused > 1000 && exhausted > 100)); step++) {
        uint32_t w = (uint32_t)draw(WINDOWS), reservation = plain[w][draw(WINDOW)].reservation;
        struct ferry_vm_batch batch;
        uint64_t bytes;
        int error = FERRY_OK, expected = FERRY_OK;

        if (reservation == 0)
            continue;
        if (draw(20) == 0)
            drop_some();
        memcpy(after, plain, sizeof plain);
        ferry_vm_batch_begin(&batch, &space);
        for (uint64_t n = 1 + draw(6), i = 0; i < n && error == FERRY_OK; i++) {
            bool is_first = batch.reservation == 0;

            error = random_operation(&batch, w, reservation, &expected);
            // The first may be in another reservation than was meant.
            if (is_first && error == FERRY_OK && expected != FERRY_OK)
                error = expected;
            assert_int_equal(error, expected);
        }
        if (error != FERRY_OK) {
            ferry_vm_batch_end(&batch);
            refused++;
        } else {
            uint64_t needed = tables_of(plain, after) + (space.root && !tables_of(plain, after));

            error = carry_out(&batch, &bytes);
            assert_int_equal(error, needed > TABLES ? FERRY_ERROR_NO_VIDEO_MEMORY : FERRY_OK);
            assert_true(error == FERRY_OK || bytes == (needed - TABLES) * 4096);
            if (error == FERRY_OK)
                memcpy(plain, after, sizeof plain);
            done += error == FERRY_OK;
            exhausted += error != FERRY_OK;
        }
        uint64_t tables = tables_of(plain, plain);
        assert_int_equal(space.tables, tables + (space.root && !tables));
        assert_int_equal(pool.free_count, TABLES - space.tables);
        compare(30);
    }
    compare(20000);
    assert_true(done > 8000 && refused > 1000 && exhausted > 100);
    end(TABLES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_batches_agree_with_a_plain_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
