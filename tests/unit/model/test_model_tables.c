// SPDX-License-Identifier: Apache-2.0
// GPU virtual addresses in the reference model. The tables are built (table_rig.h) from a plain list of what is to be
// mapped where, and every access is held against that list: nothing of the model's walk is used.
#include <stdio.h>

#include "../../seed.h"
#include "table_rig.h"

static int tables_setup(void **state)
{
    *state = rig_with_tables();
    return 0;
}

static void pages_of_each_size_lead_where_their_entries_say(void **state)
{
    struct rig *rig = *state;
    struct tables t = make_space(rig, 3, 3, false, TABLES_AT, DATA_PAGE + 4 * 4096);
    const uint64_t small = 0x7f1234567000ull, group = 0x7f1234570000ull, host = 0x000000005000ull;

    *place_of(&t, small, 0, false) = 0x81000 | LEAF | VALID;
    for (uint64_t i = 0; i < 16; i++)
        *place_of(&t, group + i * 4096, 0, true) = (0x90000 + i * 4096) | LEAF | VALID | GROUPED;
    *place_of(&t, host, 0, false) = DATA_PAGE | LEAF | VALID | HOST | SNOOP;
    fill(rig, VIRTUAL, small + 5, 3, 0xabababab, 0);
    fill(rig, VIRTUAL, group + 0xfff0, 16, 0x1122334455667788ull, 3);
    fill(rig, VIRTUAL, host + 8, 8, 0xcdcdcdcd, 2);
    copy(rig, VIRTUAL, group + 0xfff8, VIRTUAL, small + 64, 8);
    assert_int_equal(submit_in(rig, RING, 3), 0);
    assert_int_equal(ferry_model_local(rig->model)[0x81005], 0xab);
    assert_int_equal(ferry_model_local(rig->model)[0x81008], 0);
    assert_true(*local(rig, 0x9fff8) == 0x1122334455667788ull);
    assert_true(*local(rig, 0x81040) == 0x1122334455667788ull);
    assert_int_equal(host_at(rig, DATA_PAGE)[15], 0xcd);
}

static void a_program_reaches_its_own_space_alone(void **state)
{
    struct rig *rig = *state;
    struct tables a = make_space(rig, 1, 1, false, TABLES_AT, 0);
    struct tables b = make_space(rig, 2, 1, false, TABLES_AT + 0x8000, 0);

    *place_of(&a, 0x1000, 0, false) = 0x81000 | LEAF | VALID;
    *place_of(&b, 0x1000, 0, false) = 0x82000 | LEAF | VALID;
    fill(rig, VIRTUAL, 0x1000, 8, 1, 3);
    assert_int_equal(submit_in(rig, RING, 1), 0);
    fill(rig, VIRTUAL, 0x1000, 8, 2, 3);
    assert_int_equal(submit_in(rig, RING, 2), 0);
    assert_int_equal(*local(rig, 0x81000), 1);
    assert_int_equal(*local(rig, 0x82000), 2);
    // A space that has no table, and every kind of address that is not virtual.
    fill(rig, VIRTUAL, 0x1000, 8, 3, 3);
    struct walk_record w = fault_in(rig, RING, 5);
    assert_int_equal(w.r.kind, PAGE_ABSENT);
    assert_int_equal(w.space, 5);
    assert_true(w.walked);
    for (uint32_t kind = LOCAL; kind <= APERTURE; kind++) {
        copy(rig, kind, 0, VIRTUAL, 0x1000, 8);
        assert_int_equal(fault_in(rig, RING, 1).r.kind, RIGHTS);
        copy(rig, VIRTUAL, 0x1000, kind, 0, 8);
        assert_int_equal(fault_in(rig, RING, 1).r.kind, RIGHTS);
    }
    discard(rig, 0, 8);
    assert_int_equal(fault_in(rig, RING, 1).r.kind, RIGHTS);
    copy(rig, LOCAL, 0, VIRTUAL, 0x1000, 8);
    assert_int_equal(submit_with(rig, RING, 1 | 1 << 4), 0); // An entry that does not confine its buffer.
    root(rig, LOCAL, 1, 1, b.root);
    assert_int_equal(fault_in(rig, RING, 1).r.kind, RIGHTS);
    forget(rig, ALL_SCOPE, 0, 0);
    assert_int_equal(fault_in(rig, RING, 1).r.kind, RIGHTS);
}

static void each_fault_names_page_cause_level_and_entry(void **state)
{
    struct rig *rig = *state;
    struct tables t = make_space(rig, 1, 2, false, TABLES_AT, DATA_PAGE + 4 * 4096);
    struct {
        uint64_t address, entry;
        uint32_t at, kind, height;
        bool write;
    } cases[] = {
        {0x1000, 0, 0, PAGE_ABSENT, 0, false},
        {0x0000040000000, 0, 2, PAGE_ABSENT, 2, true},
        {0x2000, 0x81000 | LEAF | VALID | 1ull << 52, 0, TABLE_ENTRY, 0, false},
        {0x3000, 0x81000 | LEAF | VALID | 1ull << 7, 0, TABLE_ENTRY, 0, false},
        {0x4000, 0x81000 | VALID, 0, TABLE_ENTRY, 0, true},
        {0x5000, 0x81000 | LEAF | VALID | SNOOP, 0, TABLE_ENTRY, 0, false},
        {0x6000, 0x87000 | LEAF | VALID | GROUPED, 0, TABLE_ENTRY, 0, false},
        {0x7000, LOCAL_BYTES | LEAF | VALID, 0, RANGE, 0, true},
        {0x8000, 0x81000 | LEAF | VALID | READ_ONLY, 0, PAGE_READ_ONLY, 0, true},
        {0x9000, 0x81000 | LEAF | VALID | PROTECT, 0, PROTECTED, 0, false},
        {0x00200000, 0x81000 | LEAF | VALID, 1, TABLE_ENTRY, 1, false},
        {0x00400000, 0x21000 | READ_ONLY | VALID, 1, TABLE_ENTRY, 1, false},
        {0x00600000, LOCAL_BYTES | VALID, 1, TABLE_RANGE, 1, true},
        {0x00800000, 0x10000000000ull | VALID | HOST, 1, TABLE_ERROR, 0, false},
        {0x00a00000, 0 | LEAF | VALID, 1, RANGE, 1, false}, // 2 MiB of a memory of 1 MiB
        {0x080000000, 0x200000 | LEAF | VALID, 2, TABLE_ENTRY, 2, false},
        {0x8000000000, 0, 2, RANGE, 2, false}, // above what a height of 2 reaches
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (cases[i].entry)
            *place_of(&t, cases[i].address, cases[i].at, false) = cases[i].entry;
        else if (cases[i].at == 0)
            *place_of(&t, cases[i].address, 0, false) = 0;
        if (cases[i].write)
            fill(rig, VIRTUAL, cases[i].address + 24, 8, 0xbad, 3);
        else
            read_value(rig, VIRTUAL, cases[i].address + 24, 8);
        struct walk_record w = fault_in(rig, RING, 1);
        assert_int_equal(w.r.kind, cases[i].kind);
        assert_int_equal(w.r.address_kind, VIRTUAL);
        assert_true(w.r.address == cases[i].address + 24);
        assert_int_equal(w.r.write, cases[i].write);
        assert_true(w.walked);
        assert_int_equal(w.space, 1);
        assert_int_equal(w.height, cases[i].height);
        if (cases[i].kind != TABLE_ERROR)
            assert_true(w.entry == cases[i].entry);
    }
    assert_int_equal(*local(rig, 0x81018), 0);
    // The right to the protected range opens a protected page.
    root(rig, LOCAL, 1, 2, t.root);
    head(rig, 3 | 1u << 9, 8, VIRTUAL << 2 | 3 << 6);
    put32(rig, 8), put32(rig, 0), put64(rig, 0x9000), put64(rig, 0x600d);
    assert_int_equal(submit_in(rig, 0, 1), 0);
    assert_int_equal(*local(rig, 0x81000), 0x600d);
    // Everything before the page that is not there is written, and the record says how much.
    *place_of(&t, 0xa000, 0, false) = 0x83000 | LEAF | VALID;
    fill(rig, VIRTUAL, 0xaff0, 64, 0x77, 0);
    struct walk_record w = fault_in(rig, RING, 1);
    assert_int_equal(w.r.written, 16);
    assert_true(w.r.address == 0xb000);
    assert_int_equal(ferry_model_local(rig->model)[0x83fff], 0x77);
    // No address above 48 bits.
    fill(rig, VIRTUAL, (1ull << 48) - 4, 8, 0, 0);
    assert_int_equal(fault_in(rig, RING, 1).r.kind, RANGE);
}

static void an_entry_in_the_protected_range_is_not_shown(void **state)
{
    struct rig *rig = *state;
    struct tables t = make_space(rig, 1, 2, false, TABLES_AT, DATA_PAGE + 4 * 4096);
    const uint64_t bad[] = {0x5ec2e000, 0x81000 | VALID | 1ull << 60, LOCAL_BYTES | VALID,
                            0x81000 | LEAF | VALID | READ_ONLY, 0x81000 | LEAF | VALID | PROTECT};
    const uint64_t address = 0x42601000;

    for (uint32_t height = 0; height < 3; height++) {
        uint64_t *at = place_of(&t, address, height, false), before = *at;
        uint64_t table = (uint64_t)((uint8_t *)at - ferry_model_local(rig->model)) & ~0xfffull;

        for (size_t i = 0; i < (height ? 3 : sizeof bad / sizeof bad[0]); i++)
            // The whole table; the one behind it; the one before it, without and with the table's first byte.
            for (unsigned where = 0; where < 4; where++) {
                write64(rig, 0x48, 0);
                write64(rig, 0x40, where == 0 ? table : where == 1 ? table + 4096 : table - 4096);
                write64(rig, 0x48, where == 0 ? table + 4096 : where == 1 ? table + 8192 : table + (where == 3));
                *at = bad[i];
                fill(rig, VIRTUAL, address + 24, 8, 0xbad, 3);
                struct walk_record w = fault_in(rig, RING, 1);
                assert_true(w.walked && w.r.kind != 0);
                assert_int_equal(w.height, height);
                assert_true(w.entry == (where == 0 || where == 3 ? 0 : bad[i]));
            }
        *at = before;
    }
}

static void a_page_is_remembered_until_it_is_forgotten(void **state)
{
    struct rig *rig = *state;
    struct tables t = make_space(rig, 1, 1, false, TABLES_AT, 0);
    uint64_t *at = place_of(&t, 0x12000, 0, false);
    const struct {
        uint32_t scope, space;
        uint64_t address;
        bool forgets;
    } cases[] = {
        {GROUP_SCOPE, 1, 0x1f000, true},  {GROUP_SCOPE, 1, 0x20000, false},  {GROUP_SCOPE, 2, 0x12000, false},
        {TABLE_SCOPE, 1, 0x1ff000, true}, {TABLE_SCOPE, 1, 0x200000, false}, {SPACE_SCOPE, 1, 0, true},
        {SPACE_SCOPE, 0, 0, false},       {ALL_SCOPE, 0, 0, true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        *at = 0x81000 | LEAF | VALID;
        forget(rig, ALL_SCOPE, 0, 0);
        assert_int_equal(submit(rig, 0), 0);
        fill(rig, VIRTUAL, 0x12000, 8, 1, 3);
        assert_int_equal(submit_in(rig, RING, 1), 0);
        *at = 0x82000 | LEAF | VALID;
        *local(rig, 0x82000) = *local(rig, 0x81000) = 0;
        forget(rig, cases[i].scope, cases[i].space, cases[i].address);
        assert_int_equal(submit(rig, 0), 0);
        fill(rig, VIRTUAL, 0x12000, 8, 1, 3);
        assert_int_equal(submit_in(rig, RING, 1), 0);
        assert_int_equal(*local(rig, cases[i].forgets ? 0x82000 : 0x81000), 1);
        assert_int_equal(*local(rig, cases[i].forgets ? 0x81000 : 0x82000), 0);
    }
    // What was not mapped needs no forgetting, nor does a right that was added.
    read_value(rig, VIRTUAL, 0x13000, 1);
    assert_int_equal(fault_in(rig, RING, 1).r.kind, PAGE_ABSENT);
    *place_of(&t, 0x13000, 0, false) = 0x84000 | LEAF | VALID | READ_ONLY;
    read_value(rig, VIRTUAL, 0x13000, 1);
    assert_int_equal(submit_in(rig, RING, 1), 0);
    *place_of(&t, 0x13000, 0, false) = 0x84000 | LEAF | VALID;
    fill(rig, VIRTUAL, 0x13000, 1, 9, 0);
    assert_int_equal(submit_in(rig, RING, 1), 0);
    assert_int_equal(ferry_model_local(rig->model)[0x84000], 9);
}

static void bad_packets_change_nothing(void **state)
{
    struct rig *rig = *state;
    struct tables t = make_space(rig, 1, 1, false, TABLES_AT, 0);
    const struct {
        uint32_t opcode, words, places, what, reserved;
        uint64_t address;
        uint32_t kind;
    } bad[] = {
        {ROOT, 8, 0, 1 | 1 << 16, 0, 0x30000, PACKET_LENGTH},
        {ROOT, 6, 0, 1 | 1 << 16, 1, 0x30000, PACKET_RESERVED},
        {ROOT, 6, 0, 1 | 1 << 4 | 1 << 16, 0, 0x30000, PACKET_RESERVED},
        {ROOT, 6, 0, 1 | 1 << 10 | 1 << 16, 0, 0x30000, PACKET_RESERVED},
        {ROOT, 6, 0, 1 | 3u << 16, 0, 0x30000, PACKET_RESERVED},
        {ROOT, 6, 0, 1 | 1 << 16, 0, 0x30008, PACKET_RESERVED},
        {ROOT, 6, 0, 1 | 1 << 16, 0, 1ull << 52, PACKET_RESERVED},
        {ROOT, 6, 0, 1, 0, 0x30000, PACKET_RESERVED},
        {ROOT, 6, 0, 1 | 1 << 8, 0, 0, PACKET_RESERVED},
        {ROOT, 6, 1 << 8, 1 | 1 << 16, 0, 0x30000, PACKET_RESERVED},
        {ROOT, 6, 1, 1 | 1 << 16, 0, 0x30000, PACKET_RESERVED},
        {ROOT, 6, APERTURE << 2, 1 | 1 << 16, 0, 0x30000, ADDRESS_KIND},
        {ROOT, 6, VIRTUAL << 2, 1 | 1 << 16, 0, 0x30000, ADDRESS_KIND},
        {FORGET, 4, 0, SPACE_SCOPE, 0, 0, PACKET_LENGTH},
        {FORGET, 6, 4, SPACE_SCOPE, 0, 0, PACKET_RESERVED},
        {FORGET, 6, 0, SPACE_SCOPE | 4, 0, 0, PACKET_RESERVED},
        {FORGET, 6, 0, SPACE_SCOPE | 256, 0, 0, PACKET_RESERVED},
        {FORGET, 6, 0, SPACE_SCOPE, 1, 0, PACKET_RESERVED},
        {FORGET, 6, 0, SPACE_SCOPE, 0, 4096, PACKET_RESERVED},
        {FORGET, 6, 0, ALL_SCOPE | 16, 0, 0, PACKET_RESERVED},
        {FORGET, 6, 0, GROUP_SCOPE, 0, 1ull << 48, PACKET_RESERVED},
        {12, 6, 0, 0, 0, 0, PACKET_OPCODE},
    };

    *place_of(&t, 0x1000, 0, false) = 0x81000 | LEAF | VALID;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        head(rig, bad[i].opcode, bad[i].words, bad[i].places);
        put32(rig, bad[i].what), put32(rig, bad[i].reserved), put64(rig, bad[i].address);
        for (uint32_t word = 6; word < bad[i].words; word++)
            put32(rig, 0);
        assert_int_equal(fault_in(rig, 0, 0).r.kind, bad[i].words < 6 ? PACKET_LENGTH : bad[i].kind);
        *local(rig, 0x81000) = 0;
        fill(rig, VIRTUAL, 0x1000, 8, 5, 3);
        assert_int_equal(submit_in(rig, RING, 1), 0);
        assert_int_equal(*local(rig, 0x81000), 5);
    }
}

// What the hardware knows is not the core's: roots and pages outlive a restart of it, as in the device (rtl_restart).
static void a_core_that_starts_anew_finds_roots_and_pages_as_they_were(void **state)
{
    struct rig *rig = *state;
    struct tables t = make_space(rig, 1, 1, false, TABLES_AT, 0);

    *place_of(&t, 0x1000, 0, false) = 0x81000 | LEAF | VALID;
    *place_of(&t, 0x2000, 0, false) = 0x82000 | LEAF | VALID;
    fill(rig, VIRTUAL, 0x1000, 8, 5, 3);
    assert_int_equal(submit_in(rig, RING, 1), 0);
    ferry_model_write(rig->model, 0x20, 0);
    ferry_model_write(rig->model, 0x20, 1);
    // One that is remembered, and one that is walked.
    *place_of(&t, 0x1000, 0, false) = 0x83000 | LEAF | VALID;
    fill(rig, VIRTUAL, 0x1000, 8, 6, 3);
    fill(rig, VIRTUAL, 0x2000, 8, 7, 3);
    assert_int_equal(submit_in(rig, RING, 1), 0);
    assert_int_equal(*local(rig, 0x81000), 6);
    assert_int_equal(*local(rig, 0x82000), 7);
    assert_int_equal(*local(rig, 0x83000), 0);
}

static void without_page_tables_nothing_of_it_is_known(void **state)
{
    (void)state;
    struct rig *rig = rig_make(NULL);

    assert_int_equal(ferry_model_read(rig->model, 8) >> 20 & 1, 0);
    root(rig, LOCAL, 1, 1, 0x30000);
    assert_int_equal(fault_of(rig, 0).kind, PACKET_OPCODE);
    forget(rig, ALL_SCOPE, 0, 0);
    assert_int_equal(fault_of(rig, 0).kind, PACKET_OPCODE);
    fill(rig, VIRTUAL, 0x1000, 8, 5, 3);
    assert_int_equal(fault_of(rig, 0).kind, ADDRESS_KIND);
    fill(rig, LOCAL, 0x1000, 8, 5, 3);
    assert_int_equal(fault_in(rig, 0, 1).r.kind, PACKET_RESERVED);
    rig_free(rig);
}

// ---- Random tables ------------------------------------------------------------------------------------------------

static uint64_t seed;
static uint64_t draw(uint64_t below)
{
    return draw_below(&seed, below);
}

#define PAGES  48u
#define SPACES 4u
struct mapped {
    bool valid, host, read_only;
    uint64_t place; // of the page
};

// Edits, forgets and accesses by turns; what the tables say stands in `known` as a plain list, and bytes in `content`.
static void random_tables_agree_with_a_plain_list(void **state)
{

    (void)state;
    seed = seed_given(20261122);
    struct rig *rig = rig_with_tables();
    struct tables t[SPACES];
    struct mapped known[SPACES][PAGES] = {0};
    uint64_t address[SPACES][PAGES];
    uint32_t faults = 0, hits = 0;

    for (uint32_t s = 0; s < SPACES; s++) {
        uint32_t height = 1 + (uint32_t)draw(3);

        t[s] = make_space(rig, s, height, false, TABLES_AT + 0x18000ull * s, 0);
        // A few neighbourhoods, so that tables are shared and groups come about.
        uint64_t base[3];
        for (int b = 0; b < 3; b++)
            base[b] = draw(UINT64_C(1) << (5 + 9 * height)) << 16;
        for (uint32_t p = 0; p < PAGES; p++)
            address[s][p] = base[p / 16] + 4096ull * (p % 16);
    }
    for (int step = 0; step < 6000; step++) {
        uint32_t s = (uint32_t)draw(SPACES), p = (uint32_t)draw(PAGES);
        struct mapped *m = &known[s][p];
        uint64_t where = draw(4096 / 8) * 8, value = draw(UINT32_MAX);

        if (draw(4) == 0) {
            bool was = m->valid;

            *m = (struct mapped){draw(4) != 0, draw(3) == 0, draw(4) == 0, 0};
            m->place = m->host ? DATA_PAGE + 4096 * draw(HOST_PAGES - 8) : CONTENT_AT + 4096 * draw(64);
            *place_of(&t[s], address[s][p], 0, false) =
                m->valid ? m->place | LEAF | VALID | (m->host ? HOST : 0) | (m->read_only ? READ_ONLY : 0)
                         : draw(2) * 2;
            if (was) {
                forget(rig, (uint32_t)draw(4), s, address[s][p]);
                uint8_t *packet = host_at(rig, BUFFER_PAGE);
                if ((packet[8] & 3) >= SPACE_SCOPE)
                    memset(packet + 16, 0, 8);
                if ((packet[8] & 3) == ALL_SCOPE)
                    packet[8] = ALL_SCOPE;
                assert_int_equal(submit(rig, 0), 0);
            }
            continue;
        }
        bool write = draw(2) != 0;
        uint64_t *at = m->host ? (uint64_t *)(void *)(host_at(rig, m->place) + where) : local(rig, m->place + where);
        if (write)
            fill(rig, VIRTUAL, address[s][p] + where, 8, value, 3);
        else
            read_value(rig, VIRTUAL, address[s][p] + where, 8);
        if (!m->valid || (write && m->read_only)) {
            struct walk_record w = fault_in(rig, RING, s);

            assert_int_equal(w.r.kind, m->valid ? PAGE_READ_ONLY : PAGE_ABSENT);
            assert_int_equal(w.space, s);
            assert_true(w.r.address == address[s][p] + where);
            faults++;
        } else {
            if (write)
                *at = ~value;
            assert_int_equal(submit_in(rig, RING, s), 0);
            assert_true(!write || *at == value);
            hits++;
        }
    }
    assert_true(hits > 1000 && faults > 500);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pages_of_each_size_lead_where_their_entries_say, tables_setup, teardown),
        cmocka_unit_test_setup_teardown(a_program_reaches_its_own_space_alone, tables_setup, teardown),
        cmocka_unit_test_setup_teardown(each_fault_names_page_cause_level_and_entry, tables_setup, teardown),
        cmocka_unit_test_setup_teardown(an_entry_in_the_protected_range_is_not_shown, tables_setup, teardown),
        cmocka_unit_test_setup_teardown(a_page_is_remembered_until_it_is_forgotten, tables_setup, teardown),
        cmocka_unit_test_setup_teardown(bad_packets_change_nothing, tables_setup, teardown),
        cmocka_unit_test_setup_teardown(a_core_that_starts_anew_finds_roots_and_pages_as_they_were, tables_setup,
                                        teardown),
        cmocka_unit_test(without_page_tables_nothing_of_it_is_known),
        cmocka_unit_test(random_tables_agree_with_a_plain_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
