// SPDX-License-Identifier: Apache-2.0
// Packets by hand, and at random.
#include <string.h>

#include "run.h"

static void word(struct buffer *b, uint32_t value)
{
    if (b->count < 1024)
        b->words[b->count++] = value;
}

static void wide(struct buffer *b, uint64_t value)
{
    word(b, (uint32_t)value);
    word(b, (uint32_t)(value >> 32));
}

static void start(struct buffer *b, uint32_t opcode, uint32_t flags, uint32_t places, uint32_t words)
{
    word(b, opcode | flags | words << 16);
    word(b, places);
}

void put_nop(struct buffer *b, uint32_t words)
{
    start(b, FERRY_OPCODE_NOP, 0, 0, words);
    for (uint32_t i = 2; i < words; i++)
        word(b, 0xdeadbeef);
}

void put_copy(struct buffer *b, uint32_t flags, uint32_t places, uint32_t bytes, uint64_t source, uint64_t destination)
{
    start(b, FERRY_OPCODE_COPY, flags, places, 8);
    word(b, bytes);
    word(b, 0);
    wide(b, source);
    wide(b, destination);
}

void put_copy_pages(struct buffer *b, uint32_t flags, uint32_t places, uint32_t bytes, uint32_t first_offset,
                    uint64_t address, unsigned pages)
{
    start(b, FERRY_OPCODE_COPY_PAGES, flags, places, 6 + 2 * pages);
    word(b, bytes);
    word(b, first_offset);
    wide(b, address);
    for (unsigned i = 0; i < pages; i++)
        wide(b, 0x7700000000ull + 0x3000ull * i);
}

void put_fill(struct buffer *b, uint32_t flags, uint32_t places, uint32_t bytes, uint64_t destination, uint64_t pattern)
{
    start(b, FERRY_OPCODE_FILL, flags, places, 8);
    word(b, bytes);
    word(b, 0);
    wide(b, destination);
    wide(b, pattern);
}

void put_read(struct buffer *b, uint32_t flags, uint32_t places, uint32_t bytes, uint64_t source)
{
    start(b, FERRY_OPCODE_READ, flags, places, 6);
    word(b, bytes);
    word(b, 0);
    wide(b, source);
}

void put_write(struct buffer *b, uint32_t flags, uint32_t places, uint32_t bytes, uint64_t destination, uint64_t value)
{
    start(b, FERRY_OPCODE_WRITE, flags, places, 8);
    word(b, bytes);
    word(b, 0);
    wide(b, destination);
    wide(b, value);
}

void put_map(struct buffer *b, uint32_t places, uint32_t first, uint32_t count)
{
    start(b, FERRY_OPCODE_MAP_APERTURE, 0, places, 4 + 2 * count);
    word(b, first);
    word(b, count);
    for (uint32_t i = 0; i < count; i++)
        wide(b, 0x6600000000ull + 0x5000ull * i);
}

void put_unmap(struct buffer *b, uint32_t first, uint32_t count, uint64_t dummy)
{
    start(b, FERRY_OPCODE_UNMAP_APERTURE, 0, 0, 6);
    word(b, first);
    word(b, count);
    wide(b, dummy);
}

void put_fence(struct buffer *b, uint32_t places, uint64_t address, uint64_t value)
{
    start(b, FERRY_OPCODE_FENCE, 0, places, 6);
    wide(b, address);
    wide(b, value);
}

void put_discard(struct buffer *b, uint32_t bytes, uint64_t address)
{
    start(b, FERRY_OPCODE_DISCARD, 0, 0, 6);
    word(b, bytes);
    word(b, 0);
    wide(b, address);
}

void put_root(struct buffer *b, uint32_t places, uint32_t space, uint64_t table)
{
    start(b, FERRY_OPCODE_ROOT, 0, places, 6);
    word(b, space);
    word(b, 0);
    wide(b, table);
}

void put_forget(struct buffer *b, uint32_t what, uint64_t address)
{
    start(b, FERRY_OPCODE_FORGET, 0, 0, 6);
    word(b, what);
    word(b, 0);
    wide(b, address);
}

void put_rectangle(struct buffer *b, uint32_t flags, uint32_t places, uint32_t width, uint32_t rows,
                   const struct rectangle_side *from, const struct rectangle_side *to)
{
    start(b, FERRY_OPCODE_COPY_RECTANGLE, flags, places, 12);
    word(b, width);
    word(b, rows - 1);
    wide(b, from->address);
    wide(b, to->address);
    word(b, (uint32_t)from->pitch);
    word(b, from->layout);
    word(b, (uint32_t)to->pitch);
    word(b, to->layout);
}

uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

static uint64_t below(uint64_t *state, uint64_t limit)
{
    return random_next(state) % limit;
}

// An address of the kind, mostly good, often near an edge.
static uint64_t some_address(uint64_t *state, uint32_t kind)
{
    const struct oracle_limits *limits = &machine.limits;
    uint64_t edge, near = below(state, 40) - 20;

    if (kind == FERRY_ADDRESS_KIND_VIRTUAL)
        return below(state, 6) ? random_next(state) >> 16 : (1ull << 48) + near;
    if (kind == FERRY_ADDRESS_KIND_SYSTEM)
        return below(state, 8) ? random_next(state) >> 16 : UINT64_MAX - below(state, 40);
    if (kind == FERRY_ADDRESS_KIND_APERTURE)
        return below(state, 6) ? below(state, 4096ull * limits->aperture_pages)
                               : 4096ull * limits->aperture_pages + near;
    switch (below(state, 8)) {
    case 0: edge = limits->local_limit; break;
    case 1: edge = limits->protect_base; break;
    case 2: edge = limits->protect_limit; break;
    default: return below(state, limits->local_limit ? limits->local_limit : 1);
    }
    return edge + near;
}

static uint32_t some_bytes(uint64_t *state)
{
    switch (below(state, 6)) {
    case 0: return (uint32_t)random_next(state);
    case 1: return (uint32_t)below(state, 3);
    default: return (uint32_t)below(state, 20000);
    }
}

// Mostly good; a tile or a place in it is bent now and then.
static struct rectangle_side some_rectangle_side(uint64_t *state, uint32_t kind, uint32_t width)
{
    struct rectangle_side side = {.address = some_address(state, kind)};
    uint32_t swizzle = (uint32_t)below(state, 4), small = (uint32_t)below(state, 2), bend = (uint32_t)below(state, 40);

    if (swizzle == 0) {
        side.pitch = (int32_t)(width + below(state, 3) * below(state, 5000));
    } else {
        // 256, 512 or 1024 bytes by 256, 128 or 64 rows; of 4 KiB a quarter of either.
        uint32_t x = (256u << (swizzle - 1)) / (small ? 4 : 1), y = (256u >> (swizzle - 1)) / (small ? 4 : 1);

        side.address &= ~(uint64_t)(x * y - 1);
        side.pitch = (int32_t)(x * y * (uint32_t)(1 + below(state, 4)));
        side.layout = (uint32_t)(below(state, 3) ? below(state, x) : x - 1) |
                      (uint32_t)(below(state, 3) ? below(state, y) : y - 1) << 10 | swizzle << 18 | small << 20;
    }
    if (below(state, 3) == 0)
        side.pitch = -side.pitch;
    if (bend < 4)
        side.layout ^= 1u << below(state, 24);
    else if (bend == 4)
        side.address ^= 1ull << below(state, 17);
    else if (bend == 5)
        side.pitch ^= 1 << below(state, 17);
    else if (bend == 6)
        side.pitch = (int32_t)random_next(state) & ~0xffff;
    return side;
}

static void random_rectangle(uint64_t *state, struct buffer *b, uint32_t flags, uint32_t from, uint32_t to)
{
    static const uint32_t most[] = {0, (1u << 23) + 1, 1u << 24, 0x80000000u, UINT32_MAX};
    uint32_t width = 1 + (uint32_t)below(state, 60), rows = 1 + (uint32_t)below(state, 6);
    struct rectangle_side a, c;

    if (below(state, 40) == 0)
        width = most[below(state, 5)];
    if (below(state, 40) == 0)
        rows = 0x10001u << below(state, 5);
    a = some_rectangle_side(state, from, width & 0xffff);
    c = some_rectangle_side(state, to, width & 0xffff);
    put_rectangle(b, flags, from | to << 2, width, rows, &a, &c);
}

static void random_table_packet(uint64_t *state, struct buffer *b)
{
    bool host = below(state, 2);

    if (below(state, 2))
        put_forget(b, (uint32_t)(below(state, 4) | (below(state, 2) ? 0 : below(state, 16) << 4)),
                   below(state, 2) ? 0 : random_next(state) >> below(state, 3) * 8);
    else if (below(state, 4))
        put_root(b, (host ? TO(SYSTEM) : 0) | ((host ? below(state, 2) : below(state, 8) == 0) ? SNOOP : 0),
                 FERRY_PACKET_ROOT_SPACE_VALID_MASK | (uint32_t)below(state, 16) | (uint32_t)below(state, 4) << 8,
                 random_next(state) >> 12 & ~4095ull);
    else
        put_root(b, below(state, 8) ? 0 : SNOOP, (uint32_t)below(state, 16), below(state, 8) ? 0 : 4096);
}

static void random_packet(uint64_t *state, struct buffer *b)
{
    static const uint32_t kinds[] = {0, 0, 0, 1, 1, 2, 3};
    uint32_t with_virtual = machine.limits.page_tables ? 7 : 6;
    uint32_t from = kinds[below(state, with_virtual)], to = kinds[below(state, with_virtual)];
    uint32_t flags = (below(state, 3) ? 0 : UNORDERED) | (below(state, 5) ? 0 : PROTECTED);
    uint32_t hot = flags & PROTECTED;

    if (machine.limits.tiling && below(state, 5) == 0) {
        random_rectangle(state, b, flags, from, to);
        return;
    }
    if (machine.limits.page_tables && below(state, 12) == 0) {
        random_table_packet(state, b);
        return;
    }
    switch (below(state, 13)) {
    case 0: put_nop(b, 2 + 2 * (uint32_t)below(state, 5)); break;
    case 1:
    case 2:
        put_copy(b, flags, from | to << 2, some_bytes(state), some_address(state, from), some_address(state, to));
        break;
    case 3:
    case 4: put_copy(b, flags & UNORDERED, 0, some_bytes(state), some_address(state, 0), some_address(state, 0)); break;
    case 5:
    case 6:
    case 7: {
        bool in = below(state, 2);
        uint32_t linear = below(state, 4) ? 0 : 2 + (machine.limits.page_tables && below(state, 3)),
                 offset = below(state, 2) ? 0 : (uint32_t)below(state, 4096);
        uint32_t bytes = 1 + (uint32_t)below(state, 30000);

        put_copy_pages(b, flags,
                       in ? FROM(SYSTEM) | linear << 2 | LIST(SOURCE) : linear | TO(SYSTEM) | LIST(DESTINATION), bytes,
                       offset, some_address(state, linear), (offset + bytes + 4095) / 4096);
        break;
    }
    case 8:
        put_fill(b, hot, to << 2 | PATTERN(below(state, 4)), some_bytes(state), some_address(state, to),
                 random_next(state));
        break;
    case 9:
        if (below(state, 2))
            put_read(b, hot, from, 1 + (uint32_t)below(state, 8), some_address(state, from));
        else
            put_write(b, hot, to << 2, 1 + (uint32_t)below(state, 8), some_address(state, to), random_next(state));
        break;
    case 10:
        put_map(b, below(state, 2) ? SNOOP : 0, (uint32_t)below(state, machine.limits.aperture_pages),
                1 + (uint32_t)below(state, 9));
        break;
    case 11:
        put_unmap(b, (uint32_t)below(state, machine.limits.aperture_pages), 1 + (uint32_t)below(state, 9),
                  random_next(state) >> 16 & ~4095ull);
        break;
    default:
        if (below(state, 2))
            put_fence(b, to << 2, some_address(state, to) & ~7ull, random_next(state));
        else
            put_discard(b, some_bytes(state), some_address(state, 0));
        break;
    }
}

// A changed size may be legal and give a rectangle of thousands of pieces, which take longer than a run may.
static bool has_endless_rectangle(const struct buffer *b)
{
    for (unsigned at = 0; at + 12 <= b->count && b->words[at] >> 17; at += b->words[at] >> 16) {
        uint64_t width = b->words[at + FERRY_PACKET_COPY_RECTANGLE_ROW_BYTES / 4],
                 rows = b->words[at + FERRY_PACKET_COPY_RECTANGLE_LAST_ROW / 4] + UINT64_C(1);

        if ((b->words[at] & 0xff) == FERRY_OPCODE_COPY_RECTANGLE && width <= 1u << 23 && rows <= 1u << 16 &&
            rows * (width / 16 + 2) > 4096)
            return true;
    }
    return false;
}

void random_buffer(uint64_t *state, struct buffer *b)
{
    unsigned target = 8 + (unsigned)below(state, below(state, 4) ? 80 : 960), way = (unsigned)below(state, 10);

    b->count = 0;
    if (way == 0) {
        // Garbage, with words that look a little like packets.
        target &= ~1u;
        while (b->count < target)
            word(b, below(state, 2)
                        ? (uint32_t)random_next(state)
                        : (uint32_t)(below(state, 12) | below(state, 2) << 8 | (2 * below(state, 6)) << 16));
        return;
    }
    while (b->count < target)
        random_packet(state, b);
    b->count &= ~1u;
    if (way == 1)
        b->count = 2 * (unsigned)below(state, b->count / 2 + 1); // Cut off somewhere.
    if (way == 2 || way == 3) {
        for (unsigned hits = 1 + (unsigned)below(state, 3); hits; hits--) {
            uint32_t *at = &b->words[below(state, b->count)];

            switch (below(state, 3)) {
            case 0: *at ^= 1u << below(state, 32); break;
            case 1: *at = (uint32_t)random_next(state); break;
            default: *at += (uint32_t)below(state, 5) - 2; break;
            }
        }
    }
    if (has_endless_rectangle(b))
        b->count = 0;
}
