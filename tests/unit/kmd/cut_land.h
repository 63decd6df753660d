// SPDX-License-Identifier: Apache-2.0
// A land of pages that one ring alone works on, some of video memory and some of the host, each with several names; the
// commands that a program gives for it; and what becomes of its bytes: plain copies, one after the other, from the
// words of the commands alone.
#ifndef FERRY_TESTS_KMD_CUT_LAND_H
#define FERRY_TESTS_KMD_CUT_LAND_H

#include "../../seed.h"
#include "ferry_contract.h"
#include "rig.h"

#define PAGE       4096u
#define LANDS      5u // One a ring; the first is the paging ring's.
#define LOCALS     4u // Pages of video memory.
#define HOSTS      4u // Pages of the host: behind them in the land, and in the aperture.
#define LAND_PAGES (LOCALS + HOSTS)
#define LAND_BYTES (LAND_PAGES * PAGE)
#define ADDRESSES  16u       // Pages of GPU addresses, which lead to those.
#define NOWHERE    300u      // A page of addresses that leads to none.
#define CONTENT    0x200000u // Where in video memory the lands begin.
#define MOST_BYTES (3u * PAGE)
#define MOST_WORDS 12u

enum land_kind {
    LAND_LOCAL = FERRY_ADDRESS_KIND_LOCAL,
    LAND_APERTURE = FERRY_ADDRESS_KIND_APERTURE,
    LAND_VIRTUAL = FERRY_ADDRESS_KIND_VIRTUAL
};

struct land {
    uint32_t number;
    uint8_t bytes[LAND_BYTES]; // What they have to be.
    uint32_t leads_to[ADDRESSES];
    uint32_t last[2]; // A byte that the last command drawn read, and one that it wrote.
};

static uint64_t land_state;

static inline uint64_t draw(uint64_t limit)
{
    return draw_wide(&land_state, limit);
}

// ---- What a command names ---------------------------------------------------------------------------------------

static inline uint64_t land_first(const struct land *land, uint32_t kind)
{
    uint32_t page = kind == LAND_LOCAL ? CONTENT / PAGE + land->number * LOCALS
                                       : land->number * (kind == LAND_APERTURE ? HOSTS : ADDRESSES);

    return (uint64_t)page * PAGE;
}

static inline uint32_t land_pages(uint32_t kind)
{
    return kind == LAND_LOCAL ? LOCALS : kind == LAND_APERTURE ? HOSTS : ADDRESSES;
}

// Which byte of the land that is.
static inline uint32_t land_byte(const struct land *land, uint32_t kind, uint64_t address)
{
    uint32_t at = (uint32_t)(address - land_first(land, kind));

    assert_true(at < land_pages(kind) * PAGE);
    if (kind == LAND_VIRTUAL)
        return land->leads_to[at / PAGE] * PAGE + at % PAGE;
    return kind == LAND_APERTURE ? LOCALS * PAGE + at : at;
}

static inline uint64_t land_wide(const uint32_t *words, uint32_t at)
{
    return words[at / 4] | (uint64_t)words[at / 4 + 1] << 32;
}

static inline uint32_t land_opcode(const uint32_t *words)
{
    return FERRY_GET(FERRY_PACKET_HEADER_OPCODE, words[0]);
}

static inline bool land_has_source(const uint32_t *words)
{
    return land_opcode(words) == FERRY_OPCODE_COPY || land_opcode(words) == FERRY_OPCODE_COPY_RECTANGLE;
}

static inline uint32_t land_kind_of(const uint32_t *words, bool write)
{
    return write ? FERRY_GET(FERRY_PACKET_PLACES_DESTINATION_KIND, words[1])
                 : FERRY_GET(FERRY_PACKET_PLACES_SOURCE_KIND, words[1]);
}

// Where the packet has the address of a side.
static inline uint32_t land_address_at(const uint32_t *words, bool write)
{
    return land_has_source(words) && write ? FERRY_PACKET_COPY_DESTINATION : FERRY_PACKET_COPY_SOURCE;
}

// All bytes of a side, in the order in which they are taken.
static inline uint32_t land_bytes(const struct land *land, const uint32_t *words, bool write, uint32_t *bytes)
{
    bool rectangle = land_opcode(words) == FERRY_OPCODE_COPY_RECTANGLE;
    uint64_t address = land_wide(words, land_address_at(words, write));
    uint32_t rows = rectangle ? words[3] + 1 : 1, pitch = rectangle ? words[write ? 10 : 8] : 0, count = 0;

    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t i = 0; i < words[2]; i++)
            bytes[count++] = land_byte(land, land_kind_of(words, write), address + (uint64_t)row * pitch + i);
    return count;
}

// ---- Commands ---------------------------------------------------------------------------------------------------

// No byte is written twice; and what is written is not read, but where a copy overlaps itself in one row of addresses.
static inline bool land_is_plain(const struct land *land, const uint32_t *words, bool may_overlap)
{
    static uint32_t from[MOST_BYTES], to[MOST_BYTES], read_as[LAND_BYTES];
    static bool written[LAND_BYTES];
    uint32_t count = land_bytes(land, words, true, to);
    bool overlaps = false;

    memset(read_as, 0, sizeof read_as);
    memset(written, 0, sizeof written);
    if (land_has_source(words)) {
        land_bytes(land, words, false, from);
        for (uint32_t i = 0; i < count; i++)
            read_as[from[i]] = read_as[from[i]] ? UINT32_MAX : i + 1;
    }
    uint64_t apart = land_wide(words, FERRY_PACKET_COPY_DESTINATION) - land_wide(words, FERRY_PACKET_COPY_SOURCE);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t read = read_as[to[i]];

        if (written[to[i]] ||
            (read && (land_opcode(words) != FERRY_OPCODE_COPY || read == UINT32_MAX ||
                      land_kind_of(words, false) != land_kind_of(words, true) || (uint64_t)(read - 1) - i != apart)))
            return false;
        written[to[i]] = true;
        overlaps |= read != 0;
    }
    return may_overlap || !overlaps;
}

// Every other one is about what the command before has read, if it writes, or written; by whatever name.
static inline uint64_t land_some_address(const struct land *land, uint32_t *kind, uint32_t bytes, bool write, bool fill)
{
    bool near = draw(2);
    uint64_t address;

    do {
        do {
            *kind = draw(2) ? LAND_VIRTUAL : draw(2) ? LAND_LOCAL : LAND_APERTURE;
        } while (fill && *kind == LAND_APERTURE);
        uint32_t room = land_pages(*kind) * PAGE - bytes;
        uint32_t at = draw(2) ? (uint32_t)draw(room / 256 + 1) * 256 : (uint32_t)draw(room + 1);

        if (near)
            at = at / PAGE * PAGE + land->last[!write] % PAGE;
        at = at < room ? at : room;
        address = land_first(land, *kind) + at;
    } while (near && draw(30) && land_byte(land, *kind, address) != land->last[!write]);
    return address;
}

static inline void land_draw_packet(const struct land *land, uint32_t *words)
{
    uint32_t bytes = draw(3) ? 1 + (uint32_t)draw(600) : 1 + (uint32_t)draw(MOST_BYTES), what = (uint32_t)draw(10);
    uint32_t rows = what == 2 ? 2 + (uint32_t)draw(6) : 1, pitch = 0, from = 0, to;
    uint64_t source = 0, destination;

    memset(words, 0, MOST_WORDS * 4);
    if (what < 2) {
        uint64_t pattern = draw(256) * UINT64_C(0x0101010101010101);

        words[0] = (what ? FERRY_OPCODE_WRITE : FERRY_OPCODE_FILL) | 8 << 16;
        words[2] = what ? 1 + bytes % 8 : bytes;
        destination = land_some_address(land, &to, words[2], true, !what);
        memcpy(&words[6], &pattern, 8);
        memcpy(&words[4], &destination, 8);
    } else {
        bytes = rows > 1 ? 1 + bytes % 900 : bytes;
        pitch = rows > 1 ? bytes + (uint32_t)draw(200) : 0;
        source = land_some_address(land, &from, bytes + (rows - 1) * pitch, false, false);
        destination = land_some_address(land, &to, bytes + (rows - 1) * pitch, true, false);
        // Now and then near to what it reads.
        if (rows == 1 && draw(4) == 0 && source + 100 + bytes <= land_first(land, from) + land_pages(from) * PAGE) {
            destination = source + draw(100);
            to = from;
        }
        words[0] = rows > 1 ? FERRY_OPCODE_COPY_RECTANGLE | 12 << 16 : FERRY_OPCODE_COPY | 8 << 16;
        words[2] = bytes;
        words[3] = rows - 1;
        memcpy(&words[4], &source, 8);
        memcpy(&words[6], &destination, 8);
        words[8] = words[10] = pitch;
    }
    words[1] = FERRY_PUT(FERRY_PACKET_PLACES_SOURCE_KIND, from) | FERRY_PUT(FERRY_PACKET_PLACES_DESTINATION_KIND, to);
}

static inline void land_draw(struct land *land, uint32_t *words, bool may_overlap)
{
    do {
        land_draw_packet(land, words);
    } while (!land_is_plain(land, words, may_overlap));
    for (unsigned write = !land_has_source(words); write < 2; write++)
        land->last[write] =
            land_byte(land, land_kind_of(words, write), land_wide(words, land_address_at(words, write)));
}

// It is done.
static inline void land_do(struct land *land, const uint32_t *words)
{
    static uint32_t from[MOST_BYTES], to[MOST_BYTES];
    static uint8_t bytes[MOST_BYTES];
    uint32_t count = land_bytes(land, words, true, to);

    if (land_has_source(words))
        land_bytes(land, words, false, from);
    for (uint32_t i = 0; i < count; i++)
        bytes[i] = land_has_source(words) ? land->bytes[from[i]] : (uint8_t)words[6];
    for (uint32_t i = 0; i < count; i++)
        land->bytes[to[i]] = bytes[i];
}

// The commands as the program gave them: what Patch changes in them is of this submission.
static inline uint32_t land_write(uint32_t commands[][MOST_WORDS], uint32_t command_count, uint8_t *buffer,
                                  D3DDDI_PATCHLOCATIONLIST *places, UINT *count)
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < command_count; i++) {
        const uint32_t *words = commands[i];
        uint32_t bytes = 4 * FERRY_GET(FERRY_PACKET_HEADER_WORDS, words[0]);

        memcpy(buffer + used, words, bytes);
        for (uint32_t write = !land_has_source(words); write < 2; write++) {
            uint32_t kind = land_kind_of(words, write), at = land_address_at(words, write);

            if (kind == LAND_VIRTUAL)
                continue;
            places[(*count)++] = (D3DDDI_PATCHLOCATIONLIST){
                .AllocationIndex = kind == LAND_APERTURE,
                .DriverId = FERRY_KMD_PATCH_ID(used, write ? FERRY_KMD_PATCH_DESTINATION : FERRY_KMD_PATCH_SOURCE),
                .AllocationOffset = (UINT)land_wide(words, at),
                .PatchOffset = used + at};
        }
        used += bytes;
    }
    return used;
}

#endif
