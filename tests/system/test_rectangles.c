// SPDX-License-Identifier: Apache-2.0
// COPY_RECTANGLE on a whole machine: every byte against the published interleaves, worked out here bit by bit, whatever
// the layouts and memories of the two sides; what breaks a rule is refused by name and writes nothing; and the paging
// ring goes before a rectangle that is under way.
#include "rectangle_machine.h"

static void every_byte_goes_to_its_place(void **state)
{
    struct machine *m = *state;
    const unsigned all_rounds = on_model() ? 400 : rounds(8, 16);
    struct ferry_fault fault;

    for (unsigned round = 0; round < all_rounds; round++) {
        struct rectangle all[6];
        uint32_t count = 1 + (uint32_t)draw(6), ring = (uint32_t)draw(2);

        for (uint32_t i = 0; i < count; i++) {
            all[i] = some_rectangle(0, AREA);
            expect(m, &all[i]);
            put_rectangle(m, ring, &all[i]);
        }
        submit(m, ring);
        finish(m, ring);
        if (!as_expected(m)) {
            for (uint32_t i = 0; i < count; i++)
                show("rectangle", &all[i]);
            fail_msg("FERRY_SEED=%llu round %u", (unsigned long long)seed, round);
        }
        assert_false(take_fault(m, &fault));
    }
}

// The paging ring's rectangles and copies go before a user's and take the walk from it; both come out whole.
static void rings_take_the_walk_from_each_other(void **state)
{
    struct machine *m = *state;
    const unsigned all_rounds = on_model() ? 100 : rounds(5, 10);
    struct ferry_fault fault;

    for (unsigned round = 0; round < all_rounds; round++) {
        struct rectangle user[4], paging[3];
        uint32_t users = 1 + (uint32_t)draw(4), pagings = 1 + (uint32_t)draw(3);

        for (uint32_t i = 0; i < users; i++) {
            user[i] = some_rectangle(0, SPLIT);
            expect(m, &user[i]);
            put_rectangle(m, 1, &user[i]);
        }
        submit(m, 1);
        for (uint32_t i = 0; i < pagings; i++) {
            // Somewhere in the user's work.
            for (uint64_t wait = draw(60); wait; wait--) {
                uint32_t word;

                ok(ferry_gpu_read32(m->gpu, FERRY_BAR0_SCRATCH, &word));
            }
            paging[i] = some_rectangle(SPLIT, AREA - SPLIT);
            expect(m, &paging[i]);
            put_rectangle(m, 0, &paging[i]);
            submit(m, 0);
            finish(m, 0);
        }
        finish(m, 1);
        if (!as_expected(m)) {
            for (uint32_t i = 0; i < users; i++)
                show("user", &user[i]);
            for (uint32_t i = 0; i < pagings; i++)
                show("paging", &paging[i]);
            fail_msg("FERRY_SEED=%llu round %u", (unsigned long long)seed, round);
        }
        assert_false(take_fault(m, &fault));
    }
}

// However often the paging ring has a rectangle, a user's that is longer than the time in between comes to its end.
static void many_short_rectangles_do_not_keep_a_long_one(void **state)
{
    struct machine *m = *state;
    // 16 pieces of each of 128 rows; one piece.
    const struct rectangle user = {.from = {LOCAL, &elements[2], 12, 0, 0x2000, 0, 0},
                                   .to = {LOCAL, NULL, 0, 0x10000, 256, 0, 0},
                                   .width = 256,
                                   .rows = 128},
                           paging = {.from = {LOCAL, &elements[2], 12, SPLIT, 0x1000, 0, 0},
                                     .to = {LOCAL, NULL, 0, SPLIT + 0x2000, 16, 0, 0},
                                     .width = 16,
                                     .rows = 1};
    uint32_t turns = 0, retired = 0;
    struct ferry_fault fault;

    expect(m, &user);
    expect(m, &paging);
    put_rectangle(m, 1, &user);
    submit(m, 1);
    for (; retired != m->number[1]; turns++) {
        if (turns == 400)
            fail_msg("the user's rectangle is not over behind %u of the paging ring's", turns);
        put_rectangle(m, 0, &paging);
        submit(m, 0);
        finish(m, 0);
        ok(ferry_gpu_read32(m->gpu, FERRY_BAR0_RING_AT + FERRY_BAR0_RING_STRIDE + FERRY_BAR0_RING_RETIRED, &retired));
    }
    // Otherwise nothing was shown.
    if (!on_model())
        assert_true(turns > 4);
    assert_true(as_expected(m));
    assert_false(take_fault(m, &fault));
}

// One word of a good packet is changed: what it is refused with, and that nothing is written.
static void what_breaks_a_rule_is_refused_whole(void **state)
{
    struct machine *m = *state;
    // From a tile of 4 KiB in video memory, 128 bytes by 32 rows, to rows in host memory.
    struct rectangle good = {.from = {LOCAL, &elements[2], 12, 0x3000, 0x2000, 100, 20},
                             .to = {SYSTEM, NULL, 0, 0x800, 300, 0, 0},
                             .width = 200,
                             .rows = 40};
    static const struct {
        uint32_t word, value, kind, ring;
        int64_t at; // Address told, in the area of the memory that `write` says.
        bool write;
    } bad[] = {
        {0, 12 | 10u << 16, FERRY_FAULT_KIND_PACKET_LENGTH, 1, 0, false},
        {0, 12 | 14u << 16, FERRY_FAULT_KIND_PACKET_LENGTH, 1, 0, false},
        {0, 12 | 12u << 16 | 1u << 10, FERRY_FAULT_KIND_PACKET_RESERVED, 1, 0, false},
        {1, 1u << 2 | 1u << 4, FERRY_FAULT_KIND_PACKET_RESERVED, 1, 0, false},
        {2, 0, FERRY_FAULT_KIND_PACKET_RESERVED, 1, 0, false},
        {2, (1u << 23) + 1, FERRY_FAULT_KIND_PACKET_RESERVED, 1, 0, false},
        {3, 65536, FERRY_FAULT_KIND_PACKET_RESERVED, 1, 0, false},
        {4, 0x3800, FERRY_FAULT_KIND_PACKET_RESERVED, 1, 0, false},                                // Inside a tile.
        {8, 0x2800, FERRY_FAULT_KIND_PACKET_RESERVED, 1, 0, false},                                // No whole tiles.
        {9, 128 | 20u << 10 | 2u << 18 | 1u << 20, FERRY_FAULT_KIND_PACKET_RESERVED, 1, 0, false}, // x behind the tile.
        {9, 100 | 32u << 10 | 2u << 18 | 1u << 20, FERRY_FAULT_KIND_PACKET_RESERVED, 1, 0, false}, // y below it.
        {9, 100 | 20u << 10 | 1u << 20, FERRY_FAULT_KIND_PACKET_RESERVED, 1, 0, false}, // A place in no tile.
        {9, 100 | 20u << 10 | 2u << 18 | 1u << 21, FERRY_FAULT_KIND_PACKET_RESERVED, 1, 0, false},
        {11, 1u << 20, FERRY_FAULT_KIND_PACKET_RESERVED, 1, 0, false},
        {0, 12 | 12u << 16, FERRY_FAULT_KIND_RIGHTS, 2, 0x800, true},             // Host memory without the right to.
        {5, 0x1000, FERRY_FAULT_KIND_RANGE, 1, 0x100000003000, false},            // Behind video memory.
        {8, 0x80000000u, FERRY_FAULT_KIND_RANGE, 1, 0x3000 - (1ll << 31), false}, // Upwards over its first byte.
        {8, 0x7ffff000u, FERRY_FAULT_KIND_RANGE, 1, 0x3000, false},
        {3, 65535, FERRY_FAULT_KIND_RANGE, 1, 0x3000, false},
    };

    ok(ferry_gpu_set_local_limit(m->gpu, 2 * AREA));
    for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint32_t *words = (uint32_t *)m->commands.address + 1024 * bad[i].ring;
        struct ferry_fault fault;

        put_rectangle(m, bad[i].ring, &good);
        put(m, bad[i].ring, 2u << 16); // So that a longer packet is one in the buffer.
        put(m, bad[i].ring, 0);
        words[bad[i].word] = bad[i].value;
        submit(m, bad[i].ring);
        finish(m, bad[i].ring);
        if (!take_fault(m, &fault) || fault.kind != bad[i].kind || fault.packet_offset != 0 || fault.written != 0)
            fail_msg("word %u as %x: %s, not %s", bad[i].word, bad[i].value, ferry_fault_kind_name(fault.kind),
                     ferry_fault_kind_name(bad[i].kind));
        if (bad[i].at) {
            assert_int_equal(fault.is_write, bad[i].write);
            assert_int_equal(fault.address, (uint64_t)bad[i].at + (bad[i].write ? m->host : 0));
        }
    }
    assert_true(as_expected(m));

    // As it stands it is good.
    put_rectangle(m, 1, &good);
    expect(m, &good);
    submit(m, 1);
    finish(m, 1);
    assert_true(as_expected(m));
}

// A side may reach the last byte before a multiple of 4 GiB, and no further; so with the end of video memory and the
// protected range, of whose beginning a tile's unused byte is enough.
static void ranges_are_checked_to_their_last_tile(void **state)
{
    struct machine *m = *state;
    struct rectangle r = {.from = {SYSTEM, NULL, 0, 0, 64, 0, 0},
                          .to = {LOCAL, &elements[0], 12, 0x10000, 0x3000, 60, 63},
                          .width = 20,
                          .rows = 3};
    struct ferry_fault fault;

    // Two tiles across, two rows of tiles: up to 0x10000 + 0x3000 + 0x2000.
    for (uint32_t limit = 0x14000; limit <= 0x15000; limit += 4096) {
        ok(ferry_gpu_set_local_limit(m->gpu, limit));
        put_rectangle(m, 1, &r);
        submit(m, 1);
        finish(m, 1);
        if (limit == 0x15000) {
            assert_false(take_fault(m, &fault));
            continue;
        }
        assert_true(take_fault(m, &fault));
        assert_int_equal(fault.kind, FERRY_FAULT_KIND_RANGE);
        assert_int_equal(fault.address, 0x10000);
        assert_true(fault.is_write);
    }
    expect(m, &r);
    ok(ferry_gpu_set_local_limit(m->gpu, 2 * AREA));
    assert_true(as_expected(m));

    // Rows that go over a multiple of 4 GiB of bus addresses: refused before a byte is asked for.
    r.from.base = (int64_t)((1ull << 32) - 128 - m->host);
    put_rectangle(m, 1, &r);
    submit(m, 1);
    finish(m, 1);
    assert_true(take_fault(m, &fault));
    assert_int_equal(fault.kind, FERRY_FAULT_KIND_RANGE);
    assert_int_equal(fault.address, (1ull << 32) - 128);
    assert_false(fault.is_write);
    assert_true(as_expected(m));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_byte_goes_to_its_place, open_machine, close_machine),
        cmocka_unit_test_setup_teardown(rings_take_the_walk_from_each_other, open_machine, close_machine),
        cmocka_unit_test_setup_teardown(many_short_rectangles_do_not_keep_a_long_one, open_machine, close_machine),
        cmocka_unit_test_setup_teardown(what_breaks_a_rule_is_refused_whole, open_machine, close_machine),
        cmocka_unit_test_setup_teardown(ranges_are_checked_to_their_last_tile, open_machine, close_machine),
    };

    read_options(argc, argv);
    say_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
