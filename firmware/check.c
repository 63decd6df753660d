// SPDX-License-Identifier: Apache-2.0
// Every rule that a packet must keep, in the order that decides which fault is reported when several are broken.
// decode.c asks here for each packet that the sequencer leaves. Nothing here acts: it reads, and says yes or why
// not.
#include "check.h"

#define UNORDERED        FERRY_PACKET_HEADER_UNORDERED_MASK
#define PROTECTED        FERRY_PACKET_HEADER_PROTECTED_MASK
#define SOURCE_KIND      FERRY_PACKET_PLACES_SOURCE_KIND_MASK
#define DESTINATION_KIND FERRY_PACKET_PLACES_DESTINATION_KIND_MASK
#define WORDS(NAME)      (FERRY_PACKET_##NAME##_SIZE / 4)

// What an opcode's packets look like.
struct shape {
    uint8_t words;         // Fixed words; those before the list for packets with one.
    uint8_t page_list;     // A list of pages stands behind the fixed words.
    uint8_t reserved_word; // Word 3 must be zero.
    uint8_t eight_bytes;   // BYTES is 1 to 8.
    uint16_t header_free;  // Bits of the header, besides opcode and words, that may be set.
    uint16_t places_free;  // Bits of PLACES that may be set.
};

static const struct shape shapes[] = {
    [FERRY_OPCODE_NOP] = {WORDS(NOP), 0, 0, 0, 0, 0},
    [FERRY_OPCODE_COPY] = {WORDS(COPY), 0, 1, 0, UNORDERED | PROTECTED, SOURCE_KIND | DESTINATION_KIND},
    [FERRY_OPCODE_COPY_PAGES] = {WORDS(COPY_PAGES), 1, 0, 0, UNORDERED | PROTECTED,
                                 SOURCE_KIND | DESTINATION_KIND | FERRY_PACKET_PLACES_LIST_MASK},
    [FERRY_OPCODE_FILL] = {WORDS(FILL), 0, 1, 0, PROTECTED, DESTINATION_KIND | FERRY_PACKET_PLACES_PATTERN_LOG2_MASK},
    [FERRY_OPCODE_READ] = {WORDS(READ), 0, 1, 1, PROTECTED, SOURCE_KIND},
    [FERRY_OPCODE_WRITE] = {WORDS(WRITE), 0, 1, 1, PROTECTED, DESTINATION_KIND},
    [FERRY_OPCODE_MAP_APERTURE] = {WORDS(MAP_APERTURE), 1, 0, 0, 0, FERRY_PACKET_PLACES_SNOOP_MASK},
    [FERRY_OPCODE_UNMAP_APERTURE] = {WORDS(UNMAP_APERTURE), 0, 0, 0, 0, 0},
    [FERRY_OPCODE_FENCE] = {WORDS(FENCE), 0, 0, 0, 0, DESTINATION_KIND},
    [FERRY_OPCODE_DISCARD] = {WORDS(DISCARD), 0, 1, 0, 0, 0},
    [FERRY_OPCODE_ROOT] = {WORDS(ROOT), 0, 1, 0, 0, DESTINATION_KIND | FERRY_PACKET_PLACES_SNOOP_MASK},
    [FERRY_OPCODE_FORGET] = {WORDS(FORGET), 0, 1, 0, 0, 0},
    [FERRY_OPCODE_COPY_RECTANGLE] = {WORDS(COPY_RECTANGLE), 0, 0, 0, UNORDERED | PROTECTED,
                                     SOURCE_KIND | DESTINATION_KIND},
};

static uint64_t pair(uint32_t low, uint32_t high)
{
    return (uint64_t)high << 32 | low;
}

// Of a register of 64 bits. (Each half is one instruction, as long as its place is known when this is compiled.)
#define register_pair(LOW, HIGH) pair(hal_read(LOW), hal_read(HIGH))

static uint64_t long_at(const volatile uint32_t *packet, unsigned byte)
{
    uint32_t low = packet[byte / 4];

    return pair(low, packet[byte / 4 + 1]);
}

static bool refuse_address(struct ferry_fault *fault, uint32_t kind, uint32_t address_kind, uint64_t address,
                           uint32_t write)
{
    fault->kind = kind;
    fault->address_kind = address_kind;
    fault->address_low = (uint32_t)address;
    fault->address_high = (uint32_t)(address >> 32);
    fault->write = write;
    fault->written = 0;
    fault->list_index = 0;
    fault->walk = 0;
    fault->entry_low = 0;
    fault->entry_high = 0;
    return false;
}

static bool refuse(struct ferry_fault *fault, uint32_t kind)
{
    return refuse_address(fault, kind, 0, 0, 0);
}

static bool refuse_range(struct ferry_fault *fault, uint32_t kind, const struct ferry_range *range)
{
    return refuse_address(fault, kind, range->kind, range->address, range->write);
}

// Words that the list of a packet with these fields takes; two for each page.
static uint64_t list_words(const volatile uint32_t *packet, uint32_t opcode)
{
    if (opcode == FERRY_OPCODE_MAP_APERTURE)
        return 2 * (uint64_t)packet[FERRY_PACKET_MAP_APERTURE_COUNT / 4];

    uint64_t end =
        (uint64_t)packet[FERRY_PACKET_COPY_PAGES_FIRST_OFFSET / 4] + packet[FERRY_PACKET_COPY_PAGES_BYTES / 4];
    uint64_t pages = (end + FERRY_PAGE - 1) / FERRY_PAGE;

    return pages == 0 ? 2 : 2 * pages;
}

static bool root_holds(const volatile uint32_t *packet, uint32_t places)
{
    const uint32_t valid = FERRY_PACKET_ROOT_SPACE_VALID_MASK, space = FERRY_PACKET_ROOT_SPACE_SPACE_MASK;
    const uint32_t snooped = FERRY_PACKET_PLACES_SNOOP_MASK;
    uint32_t named = packet[FERRY_PACKET_ROOT_SPACE / 4];
    uint64_t table = long_at(packet, FERRY_PACKET_ROOT_TABLE);

    if (!(named & valid))
        return !(named & ~space) && places == 0 && table == 0;
    return !(named & ~(valid | space | FERRY_PACKET_ROOT_SPACE_HEIGHT_MASK)) &&
           !(table & ~(uint64_t)FERRY_TABLE_ENTRY_ENTRY_PAGE_MASK) &&
           (!(places & snooped) ||
            FERRY_GET(FERRY_PACKET_PLACES_DESTINATION_KIND, places) == FERRY_ADDRESS_KIND_SYSTEM);
}

static bool forget_holds(const volatile uint32_t *packet)
{
    const uint32_t space = FERRY_PACKET_FORGET_WHAT_SPACE_MASK;
    uint32_t what = packet[FERRY_PACKET_FORGET_WHAT / 4];
    uint32_t scope = FERRY_GET(FERRY_PACKET_FORGET_WHAT_SCOPE, what);
    uint64_t address = long_at(packet, FERRY_PACKET_FORGET_ADDRESS);
    bool around = scope == FERRY_FORGET_SCOPE_GROUP || scope == FERRY_FORGET_SCOPE_TABLE;

    return !(what & ~(FERRY_PACKET_FORGET_WHAT_SCOPE_MASK | space)) &&
           (scope != FERRY_FORGET_SCOPE_ALL || !(what & space)) && (around ? address >> 48 == 0 : address == 0);
}

// Reserved bits and the ranges of single fields. Pages are checked by the hardware that reads them.
static bool fields_hold(const volatile uint32_t *packet, uint32_t header, uint32_t places, const struct shape *shape,
                        uint32_t mistaken)
{
    uint32_t opcode = FERRY_GET(FERRY_PACKET_HEADER_OPCODE, header);
    uint32_t header_fixed = UNORDERED | PROTECTED | FERRY_PACKET_HEADER_RESERVED_MASK;

    if ((header & header_fixed & ~(uint32_t)shape->header_free) || (places & ~(uint32_t)shape->places_free))
        return false;
    if (mistaken || (shape->reserved_word && packet[3] != 0))
        return false;
    if (shape->eight_bytes && packet[2] - 1 > 7)
        return false;
    switch (opcode) {
    case FERRY_OPCODE_COPY_PAGES: {
        uint32_t list = FERRY_GET(FERRY_PACKET_PLACES_LIST, places);

        return (list == FERRY_LIST_SIDE_SOURCE || list == FERRY_LIST_SIDE_DESTINATION) &&
               packet[FERRY_PACKET_COPY_PAGES_BYTES / 4] != 0 &&
               packet[FERRY_PACKET_COPY_PAGES_FIRST_OFFSET / 4] < FERRY_PAGE;
    }
    case FERRY_OPCODE_MAP_APERTURE:
    case FERRY_OPCODE_UNMAP_APERTURE: return packet[FERRY_PACKET_MAP_APERTURE_COUNT / 4] != 0;
    case FERRY_OPCODE_FENCE: return (packet[FERRY_PACKET_FENCE_ADDRESS / 4] & 7) == 0;
    case FERRY_OPCODE_ROOT: return root_holds(packet, places);
    case FERRY_OPCODE_FORGET: return forget_holds(packet);
    default: return true;
    }
}

// One side of a rectangle: from where it begins, which range has told, the range that it takes, of tiles whole ones.
// side: its pitch, and behind it its layout. Not 0: they break a rule. (No product, since the core does not multiply,
// and no structs by value: the image is to be small.)
static __attribute__((noinline)) uint32_t rectangle_side(const volatile uint32_t *packet, const volatile uint32_t *side,
                                                         struct ferry_range *range)
{
    uint32_t pitch = side[0], word = side[1];
    uint32_t x = FERRY_GET(FERRY_PACKET_LAYOUT_X, word), y = FERRY_GET(FERRY_PACKET_LAYOUT_Y, word);
    uint32_t swizzle = FERRY_GET(FERRY_PACKET_LAYOUT_SWIZZLE, word);
    uint32_t less = word & FERRY_PACKET_LAYOUT_SMALL_MASK ? 2 : 0;
    // Bytes of a row of a tile, rows of one; without tiles each byte and row is one.
    uint32_t x_log2 = 0, y_log2 = 0, mistaken = word;

    if (swizzle != 0) {
        x_log2 = 7 + swizzle - less;
        y_log2 = 9 - swizzle - less;
        mistaken = (word >> FERRY_PACKET_LAYOUT_RESERVED_SHIFT) | (x >> x_log2) | (y >> y_log2);
    }

    uint32_t log2 = x_log2 + y_log2, in_tile = (1u << log2) - 1;
    uint32_t rows = (packet[FERRY_PACKET_COPY_RECTANGLE_LAST_ROW / 4] + y) >> y_log2;
    uint32_t last = packet[FERRY_PACKET_COPY_RECTANGLE_ROW_BYTES / 4] + x - 1;
    uint64_t step = (int32_t)pitch < 0 ? -pitch : pitch, more = 0;

    mistaken |= ((uint32_t)range->address | pitch) & in_tile;
    last = ((last >> x_log2) << log2) | in_tile;
    for (; rows; rows >>= 1) {
        uint32_t odd = rows & 1;

        // That it is 0 or 1 is not to be known: gcc 14 would multiply step by it, with a routine of libgcc.
        __asm__("" : "+r"(odd));
        if (odd)
            more += step;
        step += step;
    }
    if ((int32_t)pitch < 0)
        range->address -= more;
    range->bytes = more + last + 1;
    range->far = ((range->address + more + last) ^ range->address) >> 32;
    return mistaken;
}

void ferry_check_sides(const volatile uint32_t *packet, uint32_t opcode, uint32_t places, struct ferry_sides *sides)
{
    struct ferry_range *source = &sides->source, *destination = &sides->destination;

    // Field by field: clearing whole structs would cost more than all the checks.
    source->kind = FERRY_GET(FERRY_PACKET_PLACES_SOURCE_KIND, places);
    source->write = 0;
    source->address = 0;
    source->bytes = packet[FERRY_PACKET_COPY_BYTES / 4];
    destination->kind = FERRY_GET(FERRY_PACKET_PLACES_DESTINATION_KIND, places);
    destination->write = 1;
    destination->bytes = source->bytes;
    sides->has_source = false;
    sides->has_destination = true;
    sides->to_list = false;
    sides->mistaken = 0;
    source->far = false;
    destination->far = false;
    switch (opcode) {
    case FERRY_OPCODE_COPY:
    case FERRY_OPCODE_COPY_RECTANGLE:
        sides->has_source = true;
        source->address = long_at(packet, FERRY_PACKET_COPY_SOURCE);
        destination->address = long_at(packet, FERRY_PACKET_COPY_DESTINATION);
        if (opcode == FERRY_OPCODE_COPY)
            break;
        sides->mistaken =
            (packet[FERRY_PACKET_COPY_RECTANGLE_ROW_BYTES / 4] - 1) >> 23 |
            packet[FERRY_PACKET_COPY_RECTANGLE_LAST_ROW / 4] >> 16 |
            rectangle_side(packet, &packet[FERRY_PACKET_COPY_RECTANGLE_SOURCE_PITCH / 4], source) |
            rectangle_side(packet, &packet[FERRY_PACKET_COPY_RECTANGLE_DESTINATION_PITCH / 4], destination);
        break;
    case FERRY_OPCODE_COPY_PAGES:
        sides->to_list = FERRY_GET(FERRY_PACKET_PLACES_LIST, places) == FERRY_LIST_SIDE_DESTINATION;
        sides->has_source = sides->to_list;
        sides->has_destination = !sides->to_list;
        source->address = long_at(packet, FERRY_PACKET_COPY_PAGES_ADDRESS);
        destination->address = source->address;
        break;
    case FERRY_OPCODE_READ:
        sides->has_source = true;
        sides->has_destination = false;
        source->address = long_at(packet, FERRY_PACKET_READ_SOURCE);
        break;
    case FERRY_OPCODE_FENCE:
        destination->address = long_at(packet, FERRY_PACKET_FENCE_ADDRESS);
        destination->bytes = 8;
        break;
    case FERRY_OPCODE_MAP_APERTURE:
    case FERRY_OPCODE_UNMAP_APERTURE:
        // Entries of the table stand for the range of the aperture that they translate.
        destination->kind = FERRY_ADDRESS_KIND_APERTURE;
        destination->address = (uint64_t)packet[FERRY_PACKET_MAP_APERTURE_FIRST_PAGE / 4] * FERRY_PAGE;
        destination->bytes = (uint64_t)packet[FERRY_PACKET_MAP_APERTURE_COUNT / 4] * FERRY_PAGE;
        break;
    default:
        // FILL, WRITE, DISCARD, ROOT and FORGET keep their address in the same place.
        destination->address = long_at(packet, FERRY_PACKET_FILL_DESTINATION);
        break;
    }
}

// Bits 1 << kind of the address kinds that the side may have.
static uint32_t legal_kinds(uint32_t opcode, bool is_list, bool page_tables)
{
    const uint32_t spaces = page_tables ? 1u << FERRY_ADDRESS_KIND_VIRTUAL : 0;
    const uint32_t system = 1u << FERRY_ADDRESS_KIND_SYSTEM;
    const uint32_t local = 1u << FERRY_ADDRESS_KIND_LOCAL;
    const uint32_t aperture = 1u << FERRY_ADDRESS_KIND_APERTURE;

    switch (opcode) {
    case FERRY_OPCODE_COPY_PAGES: return is_list ? system : local | aperture | spaces;
    case FERRY_OPCODE_FILL:
    case FERRY_OPCODE_FENCE: return local | system | spaces;
    case FERRY_OPCODE_ROOT: return local | system;
    default: return local | system | aperture | spaces;
    }
}

static bool kinds_hold(uint32_t opcode, const struct ferry_sides *sides, bool page_tables, struct ferry_fault *fault)
{
    // Without a source of its own the kind is 0, as the reserved bits were checked before; LOCAL is legal but for a
    // list.
    if (!(legal_kinds(opcode, !sides->to_list, page_tables) >> sides->source.kind & 1) &&
        (sides->has_source || opcode == FERRY_OPCODE_COPY_PAGES))
        return refuse_range(fault, FERRY_FAULT_KIND_ADDRESS_KIND, &sides->source);
    if (!(legal_kinds(opcode, sides->to_list, page_tables) >> sides->destination.kind & 1))
        return refuse_range(fault, FERRY_FAULT_KIND_ADDRESS_KIND, &sides->destination);
    return true;
}

static bool rights_hold(uint32_t header, uint32_t opcode, const struct ferry_sides *sides, uint32_t rights,
                        struct ferry_fault *fault)
{
    if (opcode == FERRY_OPCODE_MAP_APERTURE || opcode == FERRY_OPCODE_UNMAP_APERTURE)
        return (rights & FERRY_BAR0_RING_RIGHTS_APERTURE_UPDATE_MASK) ||
               refuse_range(fault, FERRY_FAULT_KIND_RIGHTS, &sides->destination);
    // Nobody knows these two where there are no page tables (known()), whatever the ring's rights say.
    if (opcode == FERRY_OPCODE_ROOT || opcode == FERRY_OPCODE_FORGET)
        return (rights & FERRY_BAR0_RING_RIGHTS_TABLES_MASK) || refuse(fault, FERRY_FAULT_KIND_RIGHTS);
    if (rights & FERRY_CORE_FETCH_NEXT_VIRTUAL_ONLY_MASK) {
        bool pages = opcode == FERRY_OPCODE_COPY_PAGES;

        if ((sides->has_source || pages) && sides->source.kind != FERRY_ADDRESS_KIND_VIRTUAL)
            return refuse_range(fault, FERRY_FAULT_KIND_RIGHTS, &sides->source);
        if ((sides->has_destination || pages) && sides->destination.kind != FERRY_ADDRESS_KIND_VIRTUAL)
            return refuse_range(fault, FERRY_FAULT_KIND_RIGHTS, &sides->destination);
    }
    if (!(rights & FERRY_BAR0_RING_RIGHTS_SYSTEM_MASK)) {
        if (sides->source.kind == FERRY_ADDRESS_KIND_SYSTEM)
            return refuse_range(fault, FERRY_FAULT_KIND_RIGHTS, &sides->source);
        if (sides->destination.kind == FERRY_ADDRESS_KIND_SYSTEM)
            return refuse_range(fault, FERRY_FAULT_KIND_RIGHTS, &sides->destination);
    }
    return !(header & PROTECTED) || (rights & FERRY_BAR0_RING_RIGHTS_PROTECTED_MASK) ||
           refuse(fault, FERRY_FAULT_KIND_RIGHTS);
}

static bool range_holds(const struct ferry_range *range)
{
    uint64_t last = range->address + range->bytes - 1;
    uint64_t limit;

    if (range->far)
        return false;
    switch (range->kind) {
    case FERRY_ADDRESS_KIND_LOCAL:
        limit = register_pair(FERRY_CORE_LOCAL_LIMIT_LOW, FERRY_CORE_LOCAL_LIMIT_HIGH);
        break;
    case FERRY_ADDRESS_KIND_APERTURE: limit = (uint64_t)hal_read(FERRY_CORE_APERTURE_PAGES) * FERRY_PAGE; break;
    case FERRY_ADDRESS_KIND_VIRTUAL: limit = UINT64_C(1) << 48; break;
    default: return range->bytes == 0 || last >= range->address;
    }
    return range->address <= limit && range->bytes <= limit - range->address;
}

// What of a range of video memory is protected: some of it, none but that.
#define SOME   1u
#define WITHIN 2u
static uint32_t protected_part(const struct ferry_range *range)
{
    uint64_t base = register_pair(FERRY_CORE_PROTECT_BASE_LOW, FERRY_CORE_PROTECT_BASE_HIGH);
    uint64_t limit = register_pair(FERRY_CORE_PROTECT_LIMIT_LOW, FERRY_CORE_PROTECT_LIMIT_HIGH);
    uint64_t first = range->address, end = first + range->bytes;

    if (range->kind != FERRY_ADDRESS_KIND_LOCAL)
        return 0;
    if (first >= base && end <= limit)
        return end != first ? SOME | WITHIN : WITHIN;
    return end != first && first < limit && end > base && base < limit ? SOME : 0;
}

// Protected memory is reached only with the right to, and its content goes nowhere but into protected memory. Where a
// virtual address leads is not known here: without the right a walk refuses protected pages, and with it they count as
// protected.
static bool protection_holds(uint32_t header, const struct ferry_sides *sides, struct ferry_fault *fault)
{
    bool allowed = header & PROTECTED;
    const struct ferry_range *source = &sides->source;
    // Of what is only read, nothing goes anywhere.
    uint32_t to = sides->has_destination ? protected_part(&sides->destination) : sides->to_list ? 0 : WITHIN;
    bool may_be = allowed && source->kind == FERRY_ADDRESS_KIND_VIRTUAL && source->bytes != 0;

    if (sides->has_source && (may_be || protected_part(source) & SOME) && !(allowed && to & WITHIN))
        return refuse_range(fault, FERRY_FAULT_KIND_PROTECTED, source);
    if ((to & SOME) && !allowed)
        return refuse_range(fault, FERRY_FAULT_KIND_PROTECTED, &sides->destination);
    return true;
}

static bool known(uint32_t opcode, uint32_t capabilities)
{
    if (opcode == FERRY_OPCODE_COPY_RECTANGLE)
        return capabilities & FERRY_BAR0_CAPABILITIES_TILING_MASK;
    return opcode < FERRY_OPCODE_ROOT || (capabilities & FERRY_BAR0_CAPABILITIES_PAGE_TABLES_MASK);
}

bool ferry_check_packet(const volatile uint32_t *packet, uint32_t left, uint32_t rights, struct ferry_fault *fault)
{
    uint32_t header = packet[0];
    uint32_t places = packet[1];
    uint32_t opcode = FERRY_GET(FERRY_PACKET_HEADER_OPCODE, header);
    uint32_t words = FERRY_GET(FERRY_PACKET_HEADER_WORDS, header);
    uint32_t capabilities = hal_read(FERRY_CORE_CAPABILITIES);
    struct ferry_sides sides;

    if (words < WORDS(NOP) || (words & 1) || words * 4 > left)
        return refuse(fault, FERRY_FAULT_KIND_PACKET_LENGTH);
    if (opcode >= sizeof shapes / sizeof shapes[0] || !known(opcode, capabilities))
        return refuse(fault, FERRY_FAULT_KIND_PACKET_OPCODE);
    if (opcode == FERRY_OPCODE_NOP)
        return true;

    const struct shape *shape = &shapes[opcode];

    if (words < shape->words || words != shape->words + (shape->page_list ? list_words(packet, opcode) : 0))
        return refuse(fault, FERRY_FAULT_KIND_PACKET_LENGTH);
    bool page_tables = capabilities & FERRY_BAR0_CAPABILITIES_PAGE_TABLES_MASK;

    ferry_check_sides(packet, opcode, places, &sides);
    if (!fields_hold(packet, header, places, shape, sides.mistaken))
        return refuse(fault, FERRY_FAULT_KIND_PACKET_RESERVED);
    if (!kinds_hold(opcode, &sides, page_tables, fault) || !rights_hold(header, opcode, &sides, rights, fault))
        return false;
    // Where there are tables a walk finds out.
    if (opcode == FERRY_OPCODE_ROOT || opcode == FERRY_OPCODE_FORGET)
        return true;
    if (sides.has_source && !range_holds(&sides.source))
        return refuse_range(fault, FERRY_FAULT_KIND_RANGE, &sides.source);
    if (sides.has_destination && !range_holds(&sides.destination))
        return refuse_range(fault, FERRY_FAULT_KIND_RANGE, &sides.destination);
    // Content that nobody wants any more is neither read nor written.
    return opcode == FERRY_OPCODE_DISCARD || protection_holds(header, &sides, fault);
}
