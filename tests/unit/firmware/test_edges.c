// SPDX-License-Identifier: Apache-2.0
// Packets just inside a rule and just outside of it, each where the sequencer takes good packets and where it leaves
// them to the full check. What becomes of each is worked out by hand.
#include "native.h"

#define TABLES       FERRY_BAR0_RING_RIGHTS_TABLES_MASK
#define SYSTEM_TOO   FERRY_BAR0_RING_RIGHTS_SYSTEM_MASK
#define VIRTUAL_ONLY FERRY_CORE_FETCH_NEXT_VIRTUAL_ONLY_MASK
#define VALID        FERRY_PACKET_ROOT_SPACE_VALID_MASK
#define HEIGHT(N)    FERRY_PUT(FERRY_PACKET_ROOT_SPACE_HEIGHT, N)
#define FORGET(NAME, SPACE)                                                                                            \
    (FERRY_PUT(FERRY_PACKET_FORGET_WHAT_SCOPE, FERRY_FORGET_SCOPE_##NAME) |                                            \
     FERRY_PUT(FERRY_PACKET_FORGET_WHAT_SPACE, SPACE))
#define VIDEO_MEMORY 0x4000000u

static struct buffer packet;
static uint32_t aperture_pages;

// PUT makes the packet, which comes from a ring with these rights.
#define TRY(RIGHTS, KIND, PUT)                                                                                         \
    do {                                                                                                               \
        packet.count = 0;                                                                                              \
        PUT;                                                                                                           \
        try_packet(#PUT, RIGHTS, FERRY_FAULT_KIND_##KIND);                                                             \
    } while (0)

static void try_packet(const char *what, uint32_t rights, uint32_t kind)
{
    const uint32_t status = kind == FERRY_FAULT_KIND_NONE ? FERRY_BUFFER_STATUS_SUCCESS : FERRY_BUFFER_STATUS_FAULTED;

    for (unsigned shy = 0; shy < 2; shy++) {
        double_reset();
        double_has_more();
        run_from_reset();
        machine.shy = shy;
        machine.rights[1] = rights;
        if (aperture_pages != 0)
            machine.limits.aperture_pages = aperture_pages;
        double_submit(1, packet.words, packet.count, 1, false);
        assert_true(run_machine(1000000));

        const char *why = double_verify();

        if (why)
            fail_msg("%s: %s", what, why);
        if (double_status(0) != status)
            fail_msg("%s: status %u", what, double_status(0));
        if (kind != FERRY_FAULT_KIND_NONE && (double_fault_record(0)->words[1] & 0xff) != kind)
            fail_msg("%s: kind %u", what, double_fault_record(0)->words[1] & 0xff);
    }
}

void roots_to_the_bit(void **state)
{
    (void)state;
    TRY(TABLES, NONE, put_root(&packet, TO(SYSTEM) | SNOOP, VALID | HEIGHT(3) | 15, 0xffffffffff000));
    TRY(TABLES, NONE, put_root(&packet, TO(LOCAL), VALID | 5, 0x123000));
    TRY(TABLES, PACKET_RESERVED, put_root(&packet, TO(LOCAL) | SNOOP, VALID | 5, 0x123000));
    TRY(TABLES, PACKET_RESERVED, put_root(&packet, TO(LOCAL), VALID | 5, 0x123800));
    TRY(TABLES, PACKET_RESERVED, put_root(&packet, TO(LOCAL), VALID | 5, 0x10000000000000));
    TRY(TABLES, PACKET_RESERVED, put_root(&packet, TO(LOCAL), VALID | 0x10 | 5, 0x123000));
    TRY(TABLES, ADDRESS_KIND, put_root(&packet, TO(APERTURE), VALID | 5, 0x123000));
    TRY((uint32_t)~TABLES & 31, RIGHTS, put_root(&packet, TO(LOCAL), VALID | 5, 0x123000));
    // A root that goes has nothing else.
    TRY(TABLES, NONE, put_root(&packet, 0, 5, 0));
    TRY(TABLES, PACKET_RESERVED, put_root(&packet, SNOOP, 5, 0));
    TRY(TABLES, PACKET_RESERVED, put_root(&packet, TO(SYSTEM), 5, 0));
    TRY(TABLES, PACKET_RESERVED, put_root(&packet, 0, HEIGHT(1) | 5, 0));
    TRY(TABLES, PACKET_RESERVED, put_root(&packet, 0, 5, 0x1000));
    for (unsigned bit = 4; bit < 32; bit++) {
        if ((VALID | FERRY_PACKET_ROOT_SPACE_HEIGHT_MASK) >> bit & 1)
            continue;
        TRY(TABLES, PACKET_RESERVED, put_root(&packet, TO(LOCAL), VALID | 5 | 1u << bit, 0x123000));
        TRY(TABLES, PACKET_RESERVED, put_root(&packet, 0, 5 | 1u << bit, 0));
    }
}

void what_is_forgotten_to_the_bit(void **state)
{
    (void)state;
    TRY(TABLES, NONE, put_forget(&packet, FORGET(ALL, 0), 0));
    TRY(TABLES, PACKET_RESERVED, put_forget(&packet, FORGET(ALL, 1), 0));
    TRY(TABLES, PACKET_RESERVED, put_forget(&packet, FORGET(ALL, 8), 0));
    TRY(TABLES, PACKET_RESERVED, put_forget(&packet, FORGET(ALL, 0), 0x1000));
    TRY(TABLES, NONE, put_forget(&packet, FORGET(SPACE, 8), 0));
    TRY(TABLES, PACKET_RESERVED, put_forget(&packet, FORGET(SPACE, 8), 0x100000000));
    TRY(TABLES, NONE, put_forget(&packet, FORGET(GROUP, 8), 0xffffffffffff));
    TRY(TABLES, PACKET_RESERVED, put_forget(&packet, FORGET(GROUP, 8), 0x1000000000000));
    TRY((uint32_t)~TABLES & 31, RIGHTS, put_forget(&packet, FORGET(GROUP, 8), 0));
    for (unsigned bit = 0; bit < 32; bit++)
        if (!((FERRY_PACKET_FORGET_WHAT_SCOPE_MASK | FERRY_PACKET_FORGET_WHAT_SPACE_MASK) >> bit & 1))
            TRY(TABLES, PACKET_RESERVED, put_forget(&packet, FORGET(SPACE, 8) | 1u << bit, 0));
}

// One side of a rectangle, either, and a plain one.
static void put_side(unsigned to, uint64_t address, int32_t pitch, uint32_t layout, uint32_t width, uint32_t rows)
{
    const struct rectangle_side side = {address, pitch, layout}, plain = {0x10000, 0x1000, 0};

    put_rectangle(&packet, 0, 0, width, rows, to ? &plain : &side, to ? &side : &plain);
}

// Tiles of 64 bytes by 64 rows.
#define TILES(X, Y)                                                                                                    \
    (FERRY_PUT(FERRY_PACKET_LAYOUT_SWIZZLE, 1u) | FERRY_PACKET_LAYOUT_SMALL_MASK |                                     \
     FERRY_PUT(FERRY_PACKET_LAYOUT_X, X) | FERRY_PUT(FERRY_PACKET_LAYOUT_Y, Y))

void rectangles_to_the_byte(void **state)
{
    (void)state;
    for (unsigned to = 0; to < 2; to++) {
        TRY(0, NONE, put_side(to, 0x20000, 0x1000, TILES(63u, 63u), 1, 1));
        TRY(0, PACKET_RESERVED, put_side(to, 0x20000, 0x1000, TILES(64u, 63u), 1, 1));
        TRY(0, PACKET_RESERVED, put_side(to, 0x20000, 0x1000, TILES(63u, 64u), 1, 1));
        TRY(0, PACKET_RESERVED, put_side(to, 0x20800, 0x1000, TILES(0u, 0u), 1, 1));
        TRY(0, PACKET_RESERVED, put_side(to, 0x20000, 0x1800, TILES(0u, 0u), 1, 1));
        // To the last byte of video memory: of rows, and of tiles whole ones.
        TRY(0, NONE, put_side(to, VIDEO_MEMORY - 0x340, 0x100, 0, 64, 4));
        TRY(0, RANGE, put_side(to, VIDEO_MEMORY - 0x340 + 1, 0x100, 0, 64, 4));
        TRY(0, RANGE, put_side(to, VIDEO_MEMORY - 0x340, 0x100, 0, 65, 4));
        TRY(0, NONE, put_side(to, VIDEO_MEMORY - 0x2000, 0x1000, TILES(0u, 0u), 64, 128));
        TRY(0, RANGE, put_side(to, VIDEO_MEMORY - 0x2000, 0x1000, TILES(0u, 1u), 64, 128));
        TRY(0, RANGE, put_side(to, VIDEO_MEMORY - 0x2000, 0x1000, TILES(1u, 0u), 64, 128));
        // And upwards to the first.
        TRY(0, NONE, put_side(to, 0x300, -0x100, 0, 64, 4));
        TRY(0, RANGE, put_side(to, 0x2ff, -0x100, 0, 64, 4));
        // The last of these rows is 4 GiB behind the first, not in its place.
        TRY(0, RANGE, put_side(to, 0x20000, 0x20000, 0, 64, 0x8001));
        TRY(0, NONE, put_side(to, 0x20000, 0x20000, 0, 1u << 23, 1));
        TRY(0, PACKET_RESERVED, put_side(to, 0x20000, 0x20000, 0, (1u << 23) + 1, 1));
    }
}

void ranges_to_the_byte(void **state)
{
    const uint64_t top = 0 - UINT64_C(4096);

    (void)state;
    TRY(SYSTEM_TOO, NONE, put_copy(&packet, 0, FROM(SYSTEM), 4096, top, 0x2000));
    TRY(SYSTEM_TOO, RANGE, put_copy(&packet, 0, FROM(SYSTEM), 4097, top, 0x2000));
    TRY(SYSTEM_TOO, NONE, put_copy(&packet, 0, TO(SYSTEM), 4096, 0x2000, top));
    TRY(SYSTEM_TOO, RANGE, put_copy(&packet, 0, TO(SYSTEM), 4097, 0x2000, top));
    // Nothing may stand anywhere in system memory.
    TRY(SYSTEM_TOO, NONE, put_copy(&packet, 0, FROM(SYSTEM), 0, 5, 0x2000));
    // Nothing may stand where memory ends, but not behind it.
    TRY(0, NONE, put_copy(&packet, 0, 0, 0, VIDEO_MEMORY, 0x2000));
    TRY(0, RANGE, put_copy(&packet, 0, 0, 0, VIDEO_MEMORY + 1, 0x2000));
    TRY(0, NONE, put_copy(&packet, 0, 0, 0, 0x2000, VIDEO_MEMORY));
    TRY(0, RANGE, put_copy(&packet, 0, 0, 0, 0x2000, VIDEO_MEMORY + 1));
    // Pages of 4 GiB and a bit are not those of the bit.
    TRY(SYSTEM_TOO, PACKET_LENGTH,
        put_copy_pages(&packet, 0, FROM(SYSTEM) | LIST(SOURCE), 0xfffff810, 0x800, 0x2000, 1));
    // A list has one page at least, also of a packet that is refused since it copies nothing.
    TRY(SYSTEM_TOO, PACKET_RESERVED, put_copy_pages(&packet, 0, FROM(SYSTEM) | LIST(SOURCE), 0, 0, 0x2000, 1));
    TRY(SYSTEM_TOO, PACKET_LENGTH, put_copy_pages(&packet, 0, FROM(SYSTEM) | LIST(SOURCE), 0, 0, 0x2000, 0));
    // A space ends behind its last byte.
    TRY(0, NONE, put_copy(&packet, 0, FROM(VIRTUAL), 4096, 0xfffffffff000, 0x2000));
    TRY(0, RANGE, put_copy(&packet, 0, FROM(VIRTUAL), 4097, 0xfffffffff000, 0x2000));
    TRY(0, NONE, put_copy(&packet, 0, TO(VIRTUAL), 4096, 0x2000, 0xfffffffff000));
    TRY(0, RANGE, put_copy(&packet, 0, TO(VIRTUAL), 4097, 0x2000, 0xfffffffff000));
    // 4 GiB of pages and one are not that one.
    TRY(FERRY_BAR0_RING_RIGHTS_APERTURE_UPDATE_MASK, NONE, put_unmap(&packet, 0xfff, 1, 0x5000));
    TRY(FERRY_BAR0_RING_RIGHTS_APERTURE_UPDATE_MASK, RANGE, put_unmap(&packet, 0xfff, 0x100001, 0x5000));
    // The largest aperture has 4 GiB, not nothing.
    aperture_pages = 1u << 20;
    TRY(0, NONE, put_copy(&packet, 0, FROM(APERTURE), 4096, 0xfffff000, 0x2000));
    TRY(0, RANGE, put_copy(&packet, 0, FROM(APERTURE), 4097, 0xfffff000, 0x2000));
    aperture_pages = 0;
}

void rights_to_the_bit(void **state)
{
    const uint32_t right = FERRY_BAR0_RING_RIGHTS_PROTECTED_MASK;

    (void)state;
    TRY(right, NONE, put_copy(&packet, PROTECTED, 0, 64, 0x1000, 0x2000));
    TRY(~right & 31 & ~VIRTUAL_ONLY, RIGHTS, put_copy(&packet, PROTECTED, 0, 64, 0x1000, 0x2000));
    TRY(VIRTUAL_ONLY | SYSTEM_TOO, NONE, put_fence(&packet, TO(VIRTUAL), 0x8000, 9));
    TRY(VIRTUAL_ONLY | SYSTEM_TOO, RIGHTS, put_fence(&packet, TO(SYSTEM), 0x8000, 9));
    TRY(VIRTUAL_ONLY | SYSTEM_TOO, RIGHTS, put_fence(&packet, TO(LOCAL), 0x8000, 9));
    // Nor name the pages of a list, on either side.
    TRY(VIRTUAL_ONLY | SYSTEM_TOO, RIGHTS,
        put_copy_pages(&packet, 0, FROM(SYSTEM) | TO(VIRTUAL) | LIST(SOURCE), 64, 0, 0x3000, 1));
    TRY(VIRTUAL_ONLY | SYSTEM_TOO, RIGHTS,
        put_copy_pages(&packet, 0, FROM(VIRTUAL) | TO(SYSTEM) | LIST(DESTINATION), 64, 0, 0x3000, 1));
}
