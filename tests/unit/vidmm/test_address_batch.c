// SPDX-License-Identifier: Apache-2.0
// Batches of operations on reserved addresses: what each sees of those before, what is left, and what is refused.
#include <time.h>

#include "address_batch_fixture.h"

static int map(struct ferry_vm_batch *batch, uint64_t first, uint64_t pages, void *owner, uint64_t offset,
               uint64_t repeat)
{
    const struct ferry_vm_part part = {first, pages, owner, offset, false};
    uint64_t bytes;

    return ferry_vm_batch_map(batch, &part, repeat, &bytes);
}

static void holds(uint64_t at, uint64_t first, uint64_t pages, const void *owner, uint64_t offset)
{
    const struct ferry_vm_range *range = ferry_vm_address_find(&space, at);

    assert_non_null(range);
    assert_true(range->first == first && range->pages == pages);
    assert_ptr_equal(range->owner, owner);
    assert_true(!owner || ferry_vm_range_more(range)->offset == offset);
}

static void operations_see_what_those_before_have_left(void **state)
{
    struct ferry_vm_batch batch;
    uint64_t bytes;

    (void)state;
    begin(20);
    assert_int_equal(reserve(64, 64), FERRY_OK);
    assert_int_equal(reserve(256, 16), FERRY_OK);
    ferry_vm_batch_begin(&batch, &space);
    assert_int_equal(map(&batch, 64, 16, &owners[1], 3, 0), FERRY_OK);
    assert_int_equal(ferry_vm_batch_copy(&batch, 68, 16, 64), FERRY_OK); // It overlaps itself.
    assert_int_equal(ferry_vm_batch_unmap(&batch, 70, 2), FERRY_OK);
    assert_int_equal(map(&batch, 100, 8, &owners[2], 9, 4), FERRY_OK);
    // From another reservation, in which nothing is mapped.
    assert_int_equal(ferry_vm_batch_copy(&batch, 106, 1, 256), FERRY_OK);
    assert_int_equal(carry_out(&batch, &bytes), FERRY_OK);
    holds(64, 64, 4, &owners[1], 3);
    holds(68, 68, 2, &owners[1], 3);
    holds(70, 70, 2, NULL, 0);
    holds(72, 72, 12, &owners[1], 7);
    holds(84, 84, 16, NULL, 0);
    holds(100, 100, 4, &owners[2], 9);
    holds(104, 104, 2, &owners[2], 9);
    holds(106, 106, 1, NULL, 0);
    holds(107, 107, 1, &owners[2], 12);
    holds(108, 108, 20, NULL, 0);
    // What is only reserved is one again.
    ferry_vm_batch_begin(&batch, &space);
    assert_int_equal(ferry_vm_batch_unmap(&batch, 72, 33), FERRY_OK);
    assert_int_equal(ferry_vm_batch_unmap(&batch, 107, 1), FERRY_OK);
    assert_int_equal(carry_out(&batch, &bytes), FERRY_OK);
    holds(70, 70, 35, NULL, 0);
    holds(105, 105, 1, &owners[2], 10);
    holds(106, 106, 22, NULL, 0);
    // The same once more changes nothing, and takes nothing.
    ferry_vm_batch_begin(&batch, &space);
    assert_int_equal(ferry_vm_batch_unmap(&batch, 72, 33), FERRY_OK);
    assert_int_equal(map(&batch, 105, 1, &owners[2], 10, 0), FERRY_OK);
    assert_int_equal(ferry_vm_batch_prepare(&batch, &bytes), FERRY_OK);
    assert_int_equal(batch.list.count + batch.old_count + batch.made_count, 0);
    ferry_vm_batch_end(&batch);
    // A copy of what an operation before it has mapped, with what the space has on both sides of that.
    ferry_vm_batch_begin(&batch, &space);
    assert_int_equal(map(&batch, 80, 2, &owners[3], 5, 0), FERRY_OK);
    assert_int_equal(ferry_vm_batch_copy(&batch, 112, 8, 77), FERRY_OK);
    assert_int_equal(carry_out(&batch, &bytes), FERRY_OK);
    holds(80, 80, 2, &owners[3], 5);
    holds(106, 106, 9, NULL, 0);
    holds(115, 115, 2, &owners[3], 5);
    holds(117, 117, 11, NULL, 0);
    end(20);
}

// What else was mapped in a reservation, and went with its allocation, has left it in pieces. Two operations side by
// side meet the same of them.
static void pieces_of_a_reservation_are_one_again(void **state)
{
    struct ferry_vm_range *pieces[3];
    struct ferry_vm_batch batch;
    uint64_t bytes;

    (void)state;
    begin(20);
    assert_int_equal(reserve(64, 64), FERRY_OK);
    for (uint64_t i = 0; i < 3; i++) {
        const struct ferry_vm_where where = {64 + 4 * i, 0, 0, 1, 0};

        assert_int_equal(ferry_vm_address_map(&space, &where, 4, &owners[1], 0, false, &pieces[i], &bytes), FERRY_OK);
    }
    take_note();
    for (uint64_t i = 0; i < 3; i++)
        ferry_vm_address_unmap(&space, pieces[i]);
    shrink(64, 12);
    ferry_vm_batch_begin(&batch, &space);
    assert_int_equal(ferry_vm_batch_unmap(&batch, 65, 7), FERRY_OK);
    assert_int_equal(ferry_vm_batch_unmap(&batch, 72, 8), FERRY_OK);
    assert_int_equal(carry_out(&batch, &bytes), FERRY_OK);
    holds(70, 64, 64, NULL, 0);
    // And none with those beside it.
    assert_int_equal(reserve(32, 32), FERRY_OK);
    assert_int_equal(reserve(128, 32), FERRY_OK);
    for (unsigned i = 0; i < 2; i++) {
        ferry_vm_batch_begin(&batch, &space);
        if (i == 0)
            assert_int_equal(map(&batch, 64, 64, &owners[1], 0, 0), FERRY_OK);
        else
            assert_int_equal(ferry_vm_batch_unmap(&batch, 64, 64), FERRY_OK);
        assert_int_equal(carry_out(&batch, &bytes), FERRY_OK);
        holds(40, 32, 32, NULL, 0);
        holds(70, 64, 64, i == 0 ? &owners[1] : NULL, 0);
        holds(140, 128, 32, NULL, 0);
    }
    end(20);
}

static int map_read_only(struct ferry_vm_batch *batch, uint64_t first, uint64_t pages, void *owner, uint64_t offset)
{
    const struct ferry_vm_part part = {first, pages, owner, offset, true};
    uint64_t bytes;

    return ferry_vm_batch_map(batch, &part, 0, &bytes);
}

static void holds_read_only(uint64_t first, uint64_t pages, const void *owner, uint64_t offset, bool read_only)
{
    holds(first, first, pages, owner, offset);
    assert_int_equal(ferry_vm_address_find(&space, first)->read_only, read_only);
}

static void read_only_is_of_each_page(void **state)
{
    struct ferry_vm_batch batch;
    uint64_t bytes;

    (void)state;
    begin(20);
    assert_int_equal(reserve(64, 64), FERRY_OK);
    ferry_vm_batch_begin(&batch, &space);
    assert_int_equal(map_read_only(&batch, 64, 8, &owners[1], 0), FERRY_OK);
    assert_int_equal(carry_out(&batch, &bytes), FERRY_OK);
    // The same pages at the same place, to be written too, and the other way round.
    ferry_vm_batch_begin(&batch, &space);
    assert_int_equal(map(&batch, 66, 2, &owners[1], 2, 0), FERRY_OK);
    assert_int_equal(carry_out(&batch, &bytes), FERRY_OK);
    ferry_vm_batch_begin(&batch, &space);
    assert_int_equal(map_read_only(&batch, 67, 1, &owners[1], 3), FERRY_OK);
    assert_int_equal(carry_out(&batch, &bytes), FERRY_OK);
    holds_read_only(64, 2, &owners[1], 0, true);
    holds_read_only(66, 1, &owners[1], 2, false);
    holds_read_only(67, 1, &owners[1], 3, true);
    holds_read_only(68, 4, &owners[1], 4, true);
    // Copied as they are.
    ferry_vm_batch_begin(&batch, &space);
    assert_int_equal(ferry_vm_batch_copy(&batch, 96, 6, 65), FERRY_OK);
    assert_int_equal(carry_out(&batch, &bytes), FERRY_OK);
    holds_read_only(96, 1, &owners[1], 1, true);
    holds_read_only(97, 1, &owners[1], 2, false);
    holds_read_only(99, 3, &owners[1], 4, true);
    // Another page of the same owner is another mapping.
    ferry_vm_batch_begin(&batch, &space);
    assert_int_equal(map_read_only(&batch, 64, 2, &owners[1], 1), FERRY_OK);
    assert_int_equal(carry_out(&batch, &bytes), FERRY_OK);
    holds_read_only(64, 2, &owners[1], 1, true);
    end(20);
}

// What is left of a mapping stands behind the same job, and knows by which operations it was shown, which were about
// more. Two pieces that go are not one, however near to each other.
static void what_is_left_is_as_it_was(void **state)
{
    const uint64_t left[] = {64, 66, 68};
    struct ferry_vm_removed removed = {0};
    struct ferry_vm_batch batch;
    uint64_t bytes;

    (void)state;
    begin(20);
    assert_int_equal(reserve(64, 64), FERRY_OK);
    ferry_vm_batch_begin(&batch, &space);
    assert_int_equal(map_read_only(&batch, 64, 8, &owners[1], 0), FERRY_OK);
    assert_int_equal(carry_out(&batch, &bytes), FERRY_OK);
    struct ferry_vm_range *range = ferry_vm_address_find(&space, 64);
    range->more->after_node = 3;
    range->more->after = 9;
    range->shown_first = 5;
    range->shown = 7;
    ferry_vm_batch_begin(&batch, &space);
    assert_int_equal(ferry_vm_batch_unmap(&batch, 65, 1), FERRY_OK);
    assert_int_equal(ferry_vm_batch_unmap(&batch, 67, 1), FERRY_OK);
    assert_int_equal(ferry_vm_batch_prepare(&batch, &bytes), FERRY_OK);
    for (uint64_t first = 65; ferry_vm_batch_removed(&batch, range, &removed); first += 2)
        assert_true(removed.first == first && removed.pages == 1 && first < 68);
    assert_int_not_equal(removed.next, 0);
    ferry_vm_batch_commit(&batch);
    ferry_vm_batch_end(&batch);
    for (unsigned i = 0; i < 3; i++) {
        holds_read_only(left[i], i < 2 ? 1 : 4, &owners[1], left[i] - 64, true);
        range = ferry_vm_address_find(&space, left[i]);
        assert_true(range->more->after_node == 3 && range->more->after == 9 && range->shown_first == 5 &&
                    range->shown == 7);
    }
    end(20);
}

// What a part meets that is mapped alike goes nowhere: only what is beside it, or between, comes.
static void what_is_mapped_alike_stays(void **state)
{
    struct ferry_vm_removed removed = {0};
    struct ferry_vm_batch batch;
    uint64_t bytes;

    (void)state;
    begin(20);
    assert_int_equal(reserve(64, 64), FERRY_OK);
    ferry_vm_batch_begin(&batch, &space);
    assert_int_equal(map(&batch, 68, 8, &owners[1], 4, 0), FERRY_OK);
    assert_int_equal(map(&batch, 80, 8, &owners[1], 16, 0), FERRY_OK);
    assert_int_equal(carry_out(&batch, &bytes), FERRY_OK);
    struct ferry_vm_range *low = ferry_vm_address_find(&space, 68), *high = ferry_vm_address_find(&space, 80);
    low->more->after_node = 2;
    low->more->after = 5;
    ferry_vm_batch_begin(&batch, &space);
    assert_int_equal(map(&batch, 64, 32, &owners[1], 0, 0), FERRY_OK);
    assert_int_equal(map(&batch, 82, 1, &owners[2], 0, 0), FERRY_OK);
    assert_int_equal(ferry_vm_batch_prepare(&batch, &bytes), FERRY_OK);
    assert_false(ferry_vm_batch_removed(&batch, low, &removed));
    assert_true(ferry_vm_batch_removed(&batch, high, &removed) && removed.first == 82 && removed.pages == 1);
    assert_false(ferry_vm_batch_removed(&batch, high, &removed));
    assert_int_equal(batch.behind[2], 5);
    ferry_vm_batch_commit(&batch);
    take_note();
    ferry_vm_batch_end(&batch);
    assert_ptr_equal(ferry_vm_address_find(&space, 68), low);
    holds(64, 64, 4, &owners[1], 0);
    holds(68, 68, 8, &owners[1], 4);
    holds(76, 76, 4, &owners[1], 12);
    holds(80, 80, 2, &owners[1], 16);
    holds(82, 82, 1, &owners[2], 0);
    holds(83, 83, 5, &owners[1], 19);
    holds(88, 88, 8, &owners[1], 24);
    end(20);
}

static void bad_operations_have_names(void **state)
{
    struct ferry_vm_batch batch;
    const struct ferry_vm_where where = {200, 0, 0, 1, 0};
    const struct ferry_vm_part huge = {512, UINT64_C(1) << 20, &owners[1], 0, false};
    struct ferry_vm_range *range;
    uint64_t bytes;

    (void)state;
    begin(5);
    assert_int_equal(reserve(64, 64), FERRY_OK);
    assert_int_equal(reserve(128, 64), FERRY_OK);
    assert_int_equal(reserve(512, UINT64_C(1) << 20), FERRY_OK);
    assert_int_equal(ferry_vm_address_map(&space, &where, 8, &owners[1], 0, false, &range, &bytes), FERRY_OK);
    take_note();
#define BAD(CALL)                                                                                                      \
    ferry_vm_batch_begin(&batch, &space);                                                                              \
    assert_int_equal(CALL, FERRY_ERROR_ARGUMENT);                                                                      \
    ferry_vm_batch_end(&batch)
    BAD(ferry_vm_batch_unmap(&batch, 64, 0));
    BAD(ferry_vm_batch_unmap(&batch, 63, 4));
    BAD(ferry_vm_batch_unmap(&batch, 127, 2)); // Two reservations, side by side.
    BAD(ferry_vm_batch_unmap(&batch, 200, 8)); // Mapped, in none.
    BAD(ferry_vm_batch_unmap(&batch, FERRY_VM_VA_PAGES - 1, 2));
    BAD(map(&batch, 64, 8, &owners[1], 0, 3));
    BAD(ferry_vm_batch_copy(&batch, 64, 8, 186));
    BAD(ferry_vm_batch_copy(&batch, 64, 8, 200));
    ferry_vm_batch_begin(&batch, &space);
    assert_int_equal(ferry_vm_batch_unmap(&batch, 64, 4), FERRY_OK);
    assert_int_equal(ferry_vm_batch_unmap(&batch, 130, 4), FERRY_ERROR_ARGUMENT);
    ferry_vm_batch_end(&batch);
    ferry_vm_batch_begin(&batch, &space);
    assert_int_equal(ferry_vm_batch_map(&batch, &huge, 1, &bytes), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_true(bytes == ((UINT64_C(1) << 11) - 1) * 4096);
    ferry_vm_batch_end(&batch);
    // Two tables more of the lowest level, where there is one; of the two that meet in a third none is counted twice.
    ferry_vm_batch_begin(&batch, &space);
    assert_int_equal(map(&batch, 1023, 1, &owners[1], 0, 0), FERRY_OK);
    assert_int_equal(map(&batch, 1024, 1, &owners[1], 0, 0), FERRY_OK);
    assert_int_equal(map(&batch, 1026, 1, &owners[1], 0, 0), FERRY_OK);
    assert_int_equal(ferry_vm_batch_prepare(&batch, &bytes), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(bytes, 4096);
    ferry_vm_batch_end(&batch);
    assert_int_equal(space.tables, 4);
    assert_int_equal(space.mapped_pages, 8);
    holds(512, 512, UINT64_C(1) << 20, NULL, 0);
    end(5);
}

// Against the pieces that the whole mapping is written in.
static void an_edge_cuts_the_entry_that_it_is_in(void **state)
{
    const uint64_t places[] = {1300, 1300 + 16, 1300 + 512, 1300 + 3, 1300 + 32 + 512};
    const struct ferry_vm_where where = {1300, 0, 0, 1, 0};
    struct ferry_vm_range *range;
    uint64_t bytes, cuts = 0;

    (void)state;
    begin(20);
    assert_int_equal(ferry_vm_address_map(&space, &where, 1500, &owners[1], 0, false, &range, &bytes), FERRY_OK);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct ferry_vm_piece piece;

        for (uint64_t at = 1300; at < 2800; at += piece.pages) {
            ferry_vm_address_piece(&space, at, 2800, at - 1300 + places[i], false, &piece);
            uint64_t size = piece.pages / piece.count;
            for (uint64_t edge = at; edge < at + piece.pages; edge++) {
                uint64_t zone, zone_end, start = at + (edge - at) / size * size;
                bool large;

                ferry_vm_address_cut_entry(1300, 1500, places[i], edge, &zone, &zone_end, &large);
                assert_true(zone_end == (edge == start ? 0 : start + size));
                assert_true(edge == start || (zone == start && large == (piece.table->level == 1)));
                cuts += zone_end != 0;
            }
        }
    }
    assert_true(cuts > 3000);
    take_note();
    end(20);
}

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Two operations on so many pages: one page again and again, then two. Or as many as there are, from the highest on.
static double time_of(uint64_t pages, bool two)
{
    double least = 1e9;

    for (unsigned i = 0; i < 3; i++) {
        struct ferry_vm_batch batch;
        uint64_t bytes;

        ferry_vm_batch_begin(&batch, &space);
        double from = seconds();
        for (uint64_t k = 1; k <= (two ? 2 : pages); k++) {
            struct ferry_vm_part part = {two ? 0 : pages - k, two ? pages : 1, &owners[1], k % 3, false};

            assert_int_equal(ferry_vm_batch_map(&batch, &part, two ? k : 0, &bytes), FERRY_OK);
        }
        double took = seconds() - from;
        least = took < least ? took : least;
        ferry_vm_batch_end(&batch);
    }
    return least;
}

// A batch is worked out with the manager's lock held, which all other programs wait for.
static void a_page_more_takes_as_long_however_many_there_are(void **state)
{
    const uint64_t few = 8192, many = 8 * few;

    (void)state;
    begin((uint32_t)(many / FERRY_VM_TABLE_ENTRIES) + 8);
    assert_int_equal(reserve(0, many), FERRY_OK);
    for (unsigned two = 0; two < 2; two++) {
        double first = time_of(few, two), second = time_of(many, two);

        printf("%llu pages %.4f s, %llu %.4f\n", (unsigned long long)few, first, (unsigned long long)many, second);
        assert_true(second < 24 * first);
    }
    end((uint32_t)(many / FERRY_VM_TABLE_ENTRIES) + 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_see_what_those_before_have_left),
        cmocka_unit_test(pieces_of_a_reservation_are_one_again),
        cmocka_unit_test(read_only_is_of_each_page),
        cmocka_unit_test(what_is_left_is_as_it_was),
        cmocka_unit_test(what_is_mapped_alike_stays),
        cmocka_unit_test(bad_operations_have_names),
        cmocka_unit_test(an_edge_cuts_the_entry_that_it_is_in),
        cmocka_unit_test(a_page_more_takes_as_long_however_many_there_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
