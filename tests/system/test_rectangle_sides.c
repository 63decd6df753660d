// SPDX-License-Identifier: Apache-2.0
// Rectangles whose sides are in the aperture, in a space of virtual addresses, or protected; and those that come upon a
// page that is not there: what was copied before is whole, and nothing behind it is written.
#include "rectangle_machine.h"

enum {
    APERTURE = FERRY_ADDRESS_KIND_APERTURE,
    VIRTUAL = FERRY_ADDRESS_KIND_VIRTUAL,
    SPACE = 5,
    RING = 1,
    TABLE_RING = 3,
    PAGES = AREA / 4096,
};

// Virtual addresses of the area of video memory, and behind it of that of host memory: the last 2 MiB of a gigabyte.
#define FIRST_ADDRESS ((1u << 30) - (2u << 20))
// Where the two tables that lead there are in video memory.
#define TABLES_AT (AREA + 65536u)

static struct ferry_gpu_memory tables; // The host's copy of them: the root, and the table that its last entry names.

static uint64_t *entry_of(uint32_t page)
{
    return (uint64_t *)tables.address + 512 + page;
}

static void run(struct machine *m, uint32_t ring)
{
    struct ferry_gpu_entry entry = {
        .buffer_address = m->commands.bus + ring * 4096ull, .buffer_bytes = 4 * m->words, .space = SPACE};

    ok(ferry_gpu_ring_submit(m->gpu, ring, &entry, &m->number[ring]));
    m->words = 0;
    finish(m, ring);
}

// The device takes the tables as they are now.
static void bring_tables(struct machine *m)
{
    put_copy(m, 0, SYSTEM | LOCAL << 2, tables.bus, TABLES_AT, 8192);
    run(m, 0);
    put(m, TABLE_RING, FERRY_OPCODE_ROOT | 6u << 16);
    put(m, TABLE_RING, LOCAL << 2);
    put(m, TABLE_RING, SPACE | 1u << 8 | FERRY_PACKET_ROOT_SPACE_VALID_MASK);
    put(m, TABLE_RING, 0);
    put_wide(m, TABLE_RING, TABLES_AT);
    put(m, TABLE_RING, FERRY_OPCODE_FORGET | 6u << 16);
    put(m, TABLE_RING, 0);
    put(m, TABLE_RING, FERRY_PUT(FERRY_PACKET_FORGET_WHAT_SCOPE, (uint32_t)FERRY_FORGET_SCOPE_SPACE) | SPACE << 4);
    put(m, TABLE_RING, 0);
    put_wide(m, TABLE_RING, 0);
    run(m, TABLE_RING);
}

static int open_sides(void **state)
{
    const uint64_t valid = FERRY_TABLE_ENTRY_ENTRY_VALID_MASK, leaf = valid | FERRY_TABLE_ENTRY_ENTRY_LEAF_MASK;
    const uint64_t host = leaf | FERRY_TABLE_ENTRY_ENTRY_HOST_MASK | FERRY_TABLE_ENTRY_ENTRY_SNOOP_MASK;
    struct machine *m;

    open_machine(state);
    m = *state;
    ok(ferry_gpu_ring_create(m->gpu, TABLE_RING, 4, FERRY_GPU_RIGHT_TABLES));
    ok(ferry_gpu_memory_allocate(m->gpu, 8192, 0, &tables));
    memset(tables.address, 0, 8192);
    ((uint64_t *)tables.address)[511] = valid | (TABLES_AT + 4096);
    for (uint32_t page = 0; page < PAGES; page++) {
        *entry_of(page) = leaf | page * 4096ull;
        *entry_of(PAGES + page) = host | (m->host + page * 4096ull);
    }
    bring_tables(m);
    // The aperture leads to the host's area too.
    put(m, 0, FERRY_OPCODE_MAP_APERTURE | (4 + 2 * PAGES) << 16);
    put(m, 0, FERRY_PACKET_PLACES_SNOOP_MASK);
    put(m, 0, 0);
    put(m, 0, PAGES);
    for (uint32_t page = 0; page < PAGES; page++)
        put_wide(m, 0, m->host + page * 4096ull);
    run(m, 0);
    return 0;
}

static int close_sides(void **state)
{
    struct machine *m = *state;

    ferry_gpu_memory_free(m->gpu, &tables);
    return close_machine(state);
}

// Another name of the same bytes, or the one that they have.
static uint32_t some_kind(const struct side *side)
{
    uint32_t kind = (uint32_t)draw(side->kind == LOCAL ? 2 : 3);

    return kind == 0 ? side->kind : kind == 1 ? VIRTUAL : APERTURE;
}

static uint64_t named(const struct machine *m, const struct side *side, uint32_t kind)
{
    if (kind == VIRTUAL)
        return FIRST_ADDRESS + (uint64_t)side->base + (side->kind == SYSTEM ? AREA : 0);
    return (uint64_t)side->base + (kind == SYSTEM ? m->host : 0);
}

static void put_named(struct machine *m, uint32_t ring, uint32_t flags, const struct rectangle *r, uint32_t from,
                      uint32_t to)
{
    uint32_t *words = (uint32_t *)m->commands.address + 1024 * ring + m->words;
    uint64_t addresses[2] = {named(m, &r->from, from), named(m, &r->to, to)};

    put_rectangle(m, ring, r);
    words[0] |= flags;
    words[1] = from | to << 2;
    memcpy(&words[4], addresses, sizeof addresses);
}

static uint32_t packets_of(struct machine *m)
{
    uint32_t packets;

    ok(ferry_gpu_read32(m->gpu, FERRY_BAR0_COUNTER_AT + FERRY_BAR0_COUNTER_CORE_PACKETS, &packets));
    return packets;
}

static void sides_have_other_names(void **state)
{
    struct machine *m = *state;
    const unsigned all_rounds = on_model() ? 200 : rounds(5, 10);
    struct ferry_fault fault;

    for (unsigned round = 0; round < all_rounds; round++) {
        struct rectangle all[4];
        uint32_t count = 1 + (uint32_t)draw(4), ring = (uint32_t)draw(2), before = packets_of(m);

        for (uint32_t i = 0; i < count; i++) {
            all[i] = some_rectangle(0, AREA);
            expect(m, &all[i]);
            put_named(m, ring, 0, &all[i], some_kind(&all[i].from), some_kind(&all[i].to));
        }
        run(m, ring);
        // However many jobs it is.
        assert_int_equal(packets_of(m) - before, count);
        if (take_fault(m, &fault))
            fail_msg("FERRY_SEED=%llu round %u: %s", (unsigned long long)seed, round,
                     ferry_fault_kind_name(fault.kind));
        if (!as_expected(m)) {
            for (uint32_t i = 0; i < count; i++)
                show("rectangle", &all[i]);
            fail_msg("FERRY_SEED=%llu round %u", (unsigned long long)seed, round);
        }
    }
}

// Inside protected memory with the right to; not without it, and not out of it.
static void protected_sides(void **state)
{
    struct machine *m = *state;
    const unsigned all_rounds = on_model() ? 60 : rounds(3, 6);

    for (unsigned round = 0; round < all_rounds; round++) {
        struct rectangle r;
        struct ferry_fault fault;
        int64_t low, high;

        do
            r = some_rectangle(0, AREA);
        while (r.from.kind != LOCAL);
        range(&r.from, r.width, r.rows, &low, &high);
        ok(ferry_gpu_set_protected(m->gpu, 0, AREA));
        for (uint32_t flags = 0; flags <= FERRY_PACKET_HEADER_PROTECTED_MASK;
             flags += FERRY_PACKET_HEADER_PROTECTED_MASK) {
            bool good = flags && r.to.kind == LOCAL;

            put_named(m, 0, flags, &r, LOCAL, r.to.kind);
            run(m, 0);
            assert_int_equal(take_fault(m, &fault), !good);
            if (good) {
                expect(m, &r);
                continue;
            }
            assert_int_equal(fault.kind, FERRY_FAULT_KIND_PROTECTED);
            assert_int_equal(fault.address, low);
            assert_false(fault.is_write);
        }
        // The same bytes by another name.
        put_named(m, 0, FERRY_PACKET_HEADER_PROTECTED_MASK, &r, VIRTUAL, r.to.kind);
        run(m, 0);
        assert_int_equal(take_fault(m, &fault), r.to.kind != LOCAL);
        if (r.to.kind == LOCAL) {
            expect(m, &r);
        } else {
            assert_int_equal(fault.kind, FERRY_FAULT_KIND_PROTECTED);
            assert_int_equal(fault.address, FIRST_ADDRESS + (uint64_t)low);
            assert_false(fault.is_write);
        }
        ok(ferry_gpu_set_protected(m->gpu, 0, 0));
        assert_true(as_expected(m));
    }
}

// A byte that begins what lies together on both sides.
static bool begins(const struct rectangle *r, uint32_t byte)
{
    return byte == 0 || (r->from.element && (r->from.x + byte) % 16 == 0) ||
           (r->to.element && (r->to.x + byte) % 16 == 0);
}

static void a_page_that_is_not_there(void **state)
{
    struct machine *m = *state;
    const unsigned all_rounds = on_model() ? 200 : rounds(6, 12);

    for (unsigned round = 0; round < all_rounds; round++) {
        struct rectangle r = some_rectangle(0, AREA);
        bool write = draw(2);
        const struct side *side = write ? &r.to : &r.from;
        uint32_t from = write ? some_kind(&r.from) : VIRTUAL, to = write ? VIRTUAL : some_kind(&r.to), first = 0, start,
                 end;
        uint32_t area = side->kind == SYSTEM ? PAGES : 0;
        int64_t page = place(side, (uint32_t)draw(r.width), (uint32_t)draw(r.rows)) / 4096;
        uint64_t kept = *entry_of(area + (uint32_t)page);
        uint8_t *copied = malloc((size_t)r.width * r.rows);
        struct ferry_fault fault;
        const struct side *other = write ? &r.from : &r.to;
        int64_t low, high;

        // By an address it would meet that page too, and perhaps before.
        range(other, r.width, r.rows, &low, &high);
        if (other->kind == side->kind && page >= low / 4096 && page <= high / 4096)
            *(write ? &from : &to) = other->kind;
        while (place(side, first % r.width, first / r.width) / 4096 != page)
            first++;
        for (start = first; !begins(&r, start % r.width);)
            start--;
        for (end = first + 1; !begins(&r, end % r.width);)
            end++;
        for (uint32_t i = 0; i < end; i++)
            copied[i] = m->expected[r.from.kind][place(&r.from, i % r.width, i / r.width)];
        *entry_of(area + (uint32_t)page) = 0;
        bring_tables(m);
        put_named(m, RING, (uint32_t)draw(2) * FERRY_PACKET_HEADER_UNORDERED_MASK, &r, from, to);
        run(m, RING);
        assert_true(take_fault(m, &fault));
        if (fault.kind != FERRY_FAULT_KIND_PAGE_ABSENT || fault.is_write != write || fault.packet_offset != 0 ||
            fault.written != 0 ||
            fault.address != FIRST_ADDRESS + area * 4096ull + (uint64_t)place(side, first % r.width, first / r.width)) {
            show("rectangle", &r);
            fail_msg("FERRY_SEED=%llu round %u: %s at %llx, byte %u", (unsigned long long)seed, round,
                     ferry_fault_kind_name(fault.kind), (unsigned long long)fault.address, first);
        }
        // What was copied before lies there whole; of the piece that failed, some; nothing behind it.
        for (uint32_t i = 0; i < start; i++)
            m->expected[r.to.kind][place(&r.to, i % r.width, i / r.width)] = copied[i];
        put_copy(m, 0, LOCAL | SYSTEM << 2, 0, m->check.bus, AREA);
        run(m, 0);
        for (uint32_t i = start; i < end; i++) {
            int64_t at = place(&r.to, i % r.width, i / r.width);
            const uint8_t *content = r.to.kind == LOCAL ? m->check.address : m->host_bytes;

            if (i < first && content[at] == copied[i])
                m->expected[r.to.kind][at] = copied[i];
        }
        free(copied);
        if (!as_expected(m)) {
            show("rectangle", &r);
            fail_msg("FERRY_SEED=%llu round %u: byte %u of it fails", (unsigned long long)seed, round, first);
        }
        // The page is there, and it is asked for once more.
        *entry_of(area + (uint32_t)page) = kept;
        bring_tables(m);
        put_named(m, RING, 0, &r, from, to);
        expect(m, &r);
        run(m, RING);
        assert_false(take_fault(m, &fault));
        assert_true(as_expected(m));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sides_have_other_names, open_sides, close_sides),
        cmocka_unit_test_setup_teardown(protected_sides, open_sides, close_sides),
        cmocka_unit_test_setup_teardown(a_page_that_is_not_there, open_sides, close_sides),
    };

    read_options(argc, argv);
    say_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
