// SPDX-License-Identifier: Apache-2.0
#include "agreement_buffers.h"

#include "../seed.h"
#include "agreement_spaces.h"

static uint64_t drawn;

void draw_from(uint64_t seed)
{
    drawn = draw_state(seed);
}

uint64_t draw(uint64_t limit)
{
    return draw_wide(&drawn, limit);
}

void put(struct buffer *b, uint32_t word)
{
    b->words[b->count++] = word;
}

void put_wide(struct buffer *b, uint64_t value)
{
    put(b, (uint32_t)value);
    put(b, (uint32_t)(value >> 32));
}

// Its packets name virtual addresses too.
static bool has_spaces(const struct side *side)
{
    return side->tables.pages;
}

// One of the first `kinds` kinds of place, or an address.
static uint32_t some_kind(const struct side *side, uint32_t kinds)
{
    return has_spaces(side) && draw(2) ? FERRY_ADDRESS_KIND_VIRTUAL : (uint32_t)draw(kinds);
}

// A place of one of three kinds, mostly good for `bytes` bytes; or an address.
static uint64_t place(const struct side *side, uint32_t kind, uint64_t bytes)
{
    if (kind == FERRY_ADDRESS_KIND_VIRTUAL)
        return spaces_address(bytes);
    uint64_t limit = kind == 1 ? SYSTEM_PAGES * 4096 : kind == 0 ? LOCAL_BYTES : APERTURE_USED * 4096;
    uint64_t base = kind == 1 ? side->pool.bus + SYSTEM_AT : 0;

    switch (draw(40)) {
    case 0: return base + limit - draw(bytes + 2);
    case 1: return UINT64_MAX - draw(bytes + 2);
    case 2: return kind == 1 ? 0x1000 + draw(4096) : limit + draw(10000);
    default: return base + draw(limit - bytes + 1);
    }
}

static uint32_t length(void)
{
    switch (draw(4)) {
    case 0: return (uint32_t)draw(10);
    case 1: return (uint32_t)draw(200);
    case 2: return 4096 - 16 + (uint32_t)draw(33);
    default: return (uint32_t)draw(9000);
    }
}

// The range that a side of the rectangle takes, from its lowest byte on.
static uint64_t rectangle_low(const uint32_t *words, bool destination, uint64_t *bytes)
{
    const uint32_t *of = &words[destination ? 10 : 8];
    uint64_t first = words[destination ? 6 : 4] | (uint64_t)words[destination ? 7 : 5] << 32;
    uint64_t width = words[2], rows = words[3], down;
    int64_t pitch = (int32_t)of[0];
    uint32_t swizzle = of[1] >> 18 & 3, small = of[1] >> 20 & 1;

    if (swizzle != 0) {
        uint32_t across = (128u << swizzle) >> 2 * small, rows_of_one = (512u >> swizzle) >> 2 * small;

        rows = (rows + (of[1] >> 10 & 255)) / rows_of_one;
        width = ((width + (of[1] & 1023) - 1) / across + 1) * across * rows_of_one;
    }
    down = rows * (uint64_t)(pitch < 0 ? -pitch : pitch);
    *bytes = width + down;
    return pitch < 0 ? first - down : first;
}

// Pitch and layout of a side; the address so that its range begins near `low`.
static uint64_t rectangle_side(uint32_t words[2], uint64_t low, uint32_t width, uint32_t last_row, bool may_be_large)
{
    uint32_t swizzle = (uint32_t)draw(4), small = !may_be_large || draw(8) != 0, rows = last_row;
    int64_t pitch = (int64_t)(width + draw(50));

    words[1] = 0;
    if (swizzle != 0) {
        uint32_t across = (128u << swizzle) >> 2 * small, rows_of_one = (512u >> swizzle) >> 2 * small;
        uint32_t tile = across * rows_of_one, x = (uint32_t)draw(across), y = (uint32_t)draw(rows_of_one);

        words[1] = x | y << 10 | swizzle << 18 | small << 20;
        pitch = (int64_t)((x + width - 1) / across + 1 + draw(2)) * tile;
        rows = (last_row + y) / rows_of_one;
        low &= ~(uint64_t)(tile - 1);
    }
    if (draw(3) == 0) {
        low += rows * (uint64_t)pitch;
        pitch = -pitch;
    }
    words[0] = (uint32_t)pitch;
    return low;
}

static void rectangle(struct buffer *b, const struct side *side, uint32_t flags, uint32_t from, uint32_t to)
{
    uint32_t width = 1 + (uint32_t)draw(draw(3) ? 70 : 400), last_row = (uint32_t)draw(draw(3) ? 6 : 40), words[4];
    uint64_t source = place(side, from, 8192), destination = place(side, to, 8192);

    source = rectangle_side(&words[0], source, width, last_row, from != 1);
    destination = rectangle_side(&words[2], destination, width, last_row, to != 1);
    put(b, FERRY_OPCODE_COPY_RECTANGLE | 12u << 16 | flags);
    put(b, from | to << 2);
    put(b, width);
    put(b, last_row);
    put_wide(b, source);
    put_wide(b, destination);
    for (int i = 0; i < 4; i++)
        put(b, words[i]);
}

static void packet(struct buffer *b, const struct side *side)
{
    uint32_t opcode = (uint32_t)draw(12), bytes = length();
    uint32_t from = some_kind(side, 3), to = some_kind(side, 3);
    // Only the first packet can be said to read nothing that another one writes.
    uint32_t flags = b->first && !b->count && draw(2) ? FERRY_PACKET_HEADER_UNORDERED_MASK : 0;

    if (has_spaces(side) && draw(12) == 0)
        flags |= FERRY_PACKET_HEADER_PROTECTED_MASK;
    switch (opcode) {
    case FERRY_OPCODE_COPY:
        put(b, opcode | 8u << 16 | flags);
        put(b, from | to << 2);
        put(b, bytes);
        put(b, 0);
        put_wide(b, place(side, from, bytes));
        put_wide(b, place(side, to, bytes));
        break;
    case FERRY_OPCODE_COPY_PAGES: {
        uint32_t first = (uint32_t)draw(4096), side_of_list = 1 + (uint32_t)draw(2), kind = some_kind(side, 2);
        kind += kind == 1;
        bytes += !bytes;
        uint32_t pages = (first + bytes + 4095) / 4096;

        put(b, opcode | (6 + 2 * pages) << 16 | flags);
        put(b, side_of_list == 1 ? 1 | kind << 2 | 1u << 4 : kind | 1u << 2 | 2u << 4);
        put(b, bytes);
        put(b, first);
        put_wide(b, place(side, kind, bytes));
        // Different pages, so that the order in which they are written does not matter.
        uint64_t start = draw(SYSTEM_PAGES);
        for (uint32_t i = 0; i < pages; i++)
            put_wide(b, draw(100) ? side->pool.bus + SYSTEM_AT + (start + 5 * i) % SYSTEM_PAGES * 4096 : 0x3000);
        // Now and then an entry has a bit that no page's address has.
        if (draw(8) == 0) {
            uint32_t bit = (uint32_t)draw(24);

            b->words[b->count - 2 * (1 + draw(pages)) + (bit < 12 ? 0 : 1)] ^= 1u << (bit < 12 ? bit : 8 + bit);
        }
        break;
    }
    case FERRY_OPCODE_FILL:
        to = some_kind(side, 2);
        put(b, opcode | 8u << 16);
        put(b, to << 2 | (uint32_t)draw(4) << 6);
        put(b, bytes);
        put(b, 0);
        put_wide(b, place(side, to, bytes));
        put_wide(b, draw(UINT64_MAX));
        break;
    case FERRY_OPCODE_READ:
    case FERRY_OPCODE_WRITE:
        bytes = 1 + (uint32_t)draw(8);
        put(b, opcode | (opcode == FERRY_OPCODE_READ ? 6u : 8u) << 16);
        put(b, opcode == FERRY_OPCODE_READ ? from : to << 2);
        put(b, bytes);
        put(b, 0);
        put_wide(b, place(side, opcode == FERRY_OPCODE_READ ? from : to, bytes));
        if (opcode == FERRY_OPCODE_WRITE)
            put_wide(b, draw(UINT64_MAX));
        break;
    case FERRY_OPCODE_MAP_APERTURE: {
        uint32_t count = 1 + (uint32_t)draw(4);

        put(b, opcode | (4 + 2 * count) << 16);
        put(b, (uint32_t)draw(2) << 8);
        put(b, (uint32_t)draw(APERTURE_USED - count + 1));
        put(b, count);
        for (uint32_t i = 0; i < count; i++)
            put_wide(b, side->pool.bus + draw(APERTURE_USED) * 4096);
        break;
    }
    case FERRY_OPCODE_UNMAP_APERTURE: {
        uint32_t count = 1 + (uint32_t)draw(APERTURE_USED);

        put(b, opcode | 6u << 16);
        put(b, 0);
        put(b, (uint32_t)draw(APERTURE_USED - count + 1));
        put(b, count);
        put_wide(b, side->pool.bus + draw(APERTURE_USED) * 4096);
        break;
    }
    case FERRY_OPCODE_FENCE:
        to = some_kind(side, 2);
        put(b, opcode | 6u << 16);
        put(b, to << 2);
        put_wide(b, place(side, to, 8) & ~(uint64_t)(draw(20) ? 7 : 0));
        put_wide(b, draw(UINT64_MAX));
        break;
    case FERRY_OPCODE_DISCARD:
        put(b, opcode | 6u << 16);
        put(b, 0);
        put(b, bytes);
        put(b, 0);
        put_wide(b, place(side, 0, bytes));
        break;
    case 10:
    case 11: rectangle(b, side, flags, from, to); break;
    default: {
        uint32_t words = 2 + 2 * (uint32_t)draw(3);

        put(b, words << 16);
        for (uint32_t i = 1; i < words; i++)
            put(b, (uint32_t)draw(1ull << 32));
    }
    }
}

// Video memory that addresses lead to has no other name.
static bool meets_mapped(const struct side *side, uint64_t address, uint64_t bytes)
{
    return has_spaces(side) && address < side->local_bytes && address + bytes > LOCAL_BYTES;
}

// Each side is in memory that is the same on both machines or in none at all (of a destination: in the former); no byte
// is of both.
static bool harmless_rectangle(const uint32_t *words, const struct side *side)
{
    uint64_t bytes[2], low[2], system = side->pool.bus + SYSTEM_AT;
    uint32_t kinds[2] = {words[1] & 3, words[1] >> 2 & 3};

    for (int i = 0; i < 2; i++) {
        low[i] = rectangle_low(words, i, &bytes[i]);
        bool nowhere = i == 0 && low[i] + bytes[i] <= 0x100000;

        if (bytes[i] > POOL_BYTES || (kinds[i] == 0 && meets_mapped(side, low[i], bytes[i])) ||
            (kinds[i] == 1 && !nowhere && (low[i] < system || low[i] + bytes[i] > system + SYSTEM_PAGES * 4096)))
            return false;
    }
    return kinds[0] != kinds[1] || (kinds[0] != 2 && (low[0] + bytes[0] <= low[1] || low[1] + bytes[1] <= low[0]));
}

// A packet that could go on writing to where nothing faults, or into the other structures in host memory, is left out.
static bool harmless(const struct buffer *b, const struct side *side)
{
    for (uint32_t at = 0; at + 6 <= b->count;) {
        uint32_t words = b->words[at] >> 16, opcode = b->words[at] & 0xff, bytes = b->words[at + 2];
        uint64_t address = b->words[at + 4] | (uint64_t)b->words[at + 5] << 32;
        uint64_t system = side->pool.bus + SYSTEM_AT;
        bool to_system = (b->words[at + 1] >> 2 & 3) == 1;

        if (words < 2 || words % 2)
            return true;
        if ((b->words[at] & FERRY_PACKET_HEADER_UNORDERED_MASK) && (at || !b->first))
            return false;
        if (opcode == FERRY_OPCODE_COPY && at + 8 <= b->count)
            address = b->words[at + 6] | (uint64_t)b->words[at + 7] << 32;
        if (opcode == FERRY_OPCODE_FENCE) {
            bytes = 8;
            address = b->words[at + 2] | (uint64_t)b->words[at + 3] << 32;
        }
        if (opcode == FERRY_OPCODE_COPY && (b->words[at + 1] & 3) == 0 &&
            meets_mapped(side, b->words[at + 4] | (uint64_t)b->words[at + 5] << 32, bytes))
            return false;
        if (opcode != FERRY_OPCODE_COPY_RECTANGLE && opcode != FERRY_OPCODE_READ && (b->words[at + 1] >> 2 & 3) == 0 &&
            meets_mapped(side, address, bytes))
            return false;
        if (opcode == FERRY_OPCODE_COPY_RECTANGLE) {
            if (words == 12 && at + 12 <= b->count && !harmless_rectangle(&b->words[at], side))
                return false;
        } else if (to_system && opcode != FERRY_OPCODE_COPY_PAGES &&
                   (bytes > POOL_BYTES || (address + bytes > 0x100000 && address < UINT64_MAX - POOL_BYTES &&
                                           (address < system || address + bytes > system + SYSTEM_PAGES * 4096))))
            return false;
        if (opcode == FERRY_OPCODE_COPY && (b->words[at + 1] & 15) == 10)
            return false; // Aperture to aperture: two of its pages may lead to the same one.
        at += words;
    }
    return true;
}

void make_buffer(struct buffer *b, const struct side *side)
{
    do {
        b->count = 0;
        for (uint64_t packets = draw(6); packets; packets--)
            packet(b, side);
        // Every second buffer gets a few changed bits where the checks look: headers, places, sizes.
        for (uint64_t flips = draw(2) ? draw(3) : 0; flips && b->count; flips--) {
            uint32_t at = 0;

            for (uint64_t skip = draw(6); skip && at + (b->words[at] >> 16) < b->count; skip--) {
                if (b->words[at] >> 16 < 2)
                    break;
                at += b->words[at] >> 16;
            }
            at += (uint32_t)draw(4);
            if (at < b->count)
                b->words[at] ^= 1u << draw(32);
        }
    } while (!harmless(b, side));
}
