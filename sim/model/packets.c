// SPDX-License-Identifier: Apache-2.0
// Packets: the checks in the order the contract gives them, and then the deed. The first check that fails names the
// fault; nothing of that packet and of those behind it in the buffer is carried out.
#include "model/internal.h"

struct packet {
    const uint8_t *at;
    uint32_t header, places, words, opcode;
    uint32_t source_kind, destination_kind, list;
    bool protected_access;
};

// What a packet may say besides its opcode and length; anything else is reserved and must be 0.
enum {
    HAS_SOURCE = 1,      // PLACES.source_kind
    HAS_DESTINATION = 2, // PLACES.destination_kind
    HAS_LIST = 4,
    HAS_PATTERN = 8,
    HAS_SNOOP = 16,
    HAS_UNORDERED = 32,
    HAS_PROTECTED = 64,
    HAS_RESERVED_WORD = 128, // The word at offset 12 is reserved.
};

static const struct {
    uint32_t words; // Exact, or the least when the packet carries a list.
    uint32_t has;
} shapes[] = {
    [FERRY_OPCODE_COPY] = {8, HAS_SOURCE | HAS_DESTINATION | HAS_UNORDERED | HAS_PROTECTED | HAS_RESERVED_WORD},
    [FERRY_OPCODE_COPY_PAGES] = {6, HAS_SOURCE | HAS_DESTINATION | HAS_LIST | HAS_UNORDERED | HAS_PROTECTED},
    [FERRY_OPCODE_FILL] = {8, HAS_DESTINATION | HAS_PATTERN | HAS_PROTECTED | HAS_RESERVED_WORD},
    [FERRY_OPCODE_READ] = {6, HAS_SOURCE | HAS_PROTECTED | HAS_RESERVED_WORD},
    [FERRY_OPCODE_WRITE] = {8, HAS_DESTINATION | HAS_PROTECTED | HAS_RESERVED_WORD},
    [FERRY_OPCODE_MAP_APERTURE] = {4, HAS_SNOOP},
    [FERRY_OPCODE_UNMAP_APERTURE] = {6, 0},
    [FERRY_OPCODE_FENCE] = {6, HAS_DESTINATION},
    [FERRY_OPCODE_DISCARD] = {6, HAS_RESERVED_WORD},
    [FERRY_OPCODE_ROOT] = {6, HAS_DESTINATION | HAS_SNOOP | HAS_RESERVED_WORD},
    [FERRY_OPCODE_FORGET] = {6, HAS_RESERVED_WORD},
    [FERRY_OPCODE_COPY_RECTANGLE] = {12, HAS_SOURCE | HAS_DESTINATION | HAS_UNORDERED | HAS_PROTECTED},
};

static bool refuse(struct model_fault *fault, uint32_t kind)
{
    fault->kind = kind;
    return false;
}

static bool refuse_at(struct model_fault *fault, uint32_t kind, uint32_t address_kind, uint64_t address, bool write)
{
    fault->address_kind = address_kind;
    fault->address = address;
    fault->write = write;
    return refuse(fault, kind);
}

static uint32_t word(const struct packet *p, uint32_t offset)
{
    return model_get32(p->at + offset);
}

static uint64_t wide(const struct packet *p, uint32_t offset)
{
    return model_get64(p->at + offset);
}

// Bytes that the packet moves; 0 for those that move none.
static uint64_t bytes_of(const struct packet *p)
{
    switch (p->opcode) {
    case FERRY_OPCODE_MAP_APERTURE:
    case FERRY_OPCODE_UNMAP_APERTURE: return (uint64_t)word(p, FERRY_PACKET_MAP_APERTURE_COUNT) * MODEL_PAGE;
    case FERRY_OPCODE_FENCE: return 8;
    case FERRY_OPCODE_COPY_RECTANGLE:
        return word(p, FERRY_PACKET_COPY_RECTANGLE_ROW_BYTES) *
               (word(p, FERRY_PACKET_COPY_RECTANGLE_LAST_ROW) + UINT64_C(1));
    default: return word(p, FERRY_PACKET_COPY_BYTES);
    }
}

static bool is_fixed(uint32_t opcode)
{
    return opcode != FERRY_OPCODE_COPY_PAGES && opcode != FERRY_OPCODE_MAP_APERTURE;
}

static bool changes_tables(uint32_t opcode)
{
    return opcode == FERRY_OPCODE_ROOT || opcode == FERRY_OPCODE_FORGET;
}

static bool root_is_bad(const struct packet *p)
{
    uint32_t space = word(p, FERRY_PACKET_ROOT_SPACE);
    uint32_t named =
        FERRY_PACKET_ROOT_SPACE_SPACE_MASK | FERRY_PACKET_ROOT_SPACE_HEIGHT_MASK | FERRY_PACKET_ROOT_SPACE_VALID_MASK;
    uint64_t table = wide(p, FERRY_PACKET_ROOT_TABLE);

    if (!(space & FERRY_PACKET_ROOT_SPACE_VALID_MASK))
        return (space & ~FERRY_PACKET_ROOT_SPACE_SPACE_MASK) || p->places || table;
    return (space & ~named) || (table & ~(uint64_t)FERRY_TABLE_ENTRY_ENTRY_PAGE_MASK) ||
           ((p->places & FERRY_PACKET_PLACES_SNOOP_MASK) && p->destination_kind != FERRY_ADDRESS_KIND_SYSTEM);
}

static bool forget_is_bad(const struct packet *p)
{
    uint32_t what = word(p, FERRY_PACKET_FORGET_WHAT), scope = FERRY_GET(FERRY_PACKET_FORGET_WHAT_SCOPE, what);
    uint64_t address = wide(p, FERRY_PACKET_FORGET_ADDRESS);
    bool wide_scope = scope == FERRY_FORGET_SCOPE_SPACE || scope == FERRY_FORGET_SCOPE_ALL;

    return (what & ~(FERRY_PACKET_FORGET_WHAT_SCOPE_MASK | FERRY_PACKET_FORGET_WHAT_SPACE_MASK)) ||
           (scope == FERRY_FORGET_SCOPE_ALL && (what & FERRY_PACKET_FORGET_WHAT_SPACE_MASK)) ||
           (wide_scope ? address != 0 : address >> 48 != 0);
}

// Check 3: the length that the opcode and its fields ask for.
static bool check_length(const struct packet *p, struct model_fault *fault)
{
    uint64_t words = shapes[p->opcode].words;

    if (p->words < words)
        return refuse(fault, FERRY_FAULT_KIND_PACKET_LENGTH);
    if (p->opcode == FERRY_OPCODE_COPY_PAGES) {
        uint64_t last =
            (uint64_t)word(p, FERRY_PACKET_COPY_PAGES_FIRST_OFFSET) + word(p, FERRY_PACKET_COPY_PAGES_BYTES);
        uint64_t pages = (last + MODEL_PAGE - 1) / MODEL_PAGE;

        words += 2 * (pages ? pages : 1);
    } else if (p->opcode == FERRY_OPCODE_MAP_APERTURE) {
        words += 2 * (uint64_t)word(p, FERRY_PACKET_MAP_APERTURE_COUNT);
    }
    return p->words == words || refuse(fault, FERRY_FAULT_KIND_PACKET_LENGTH);
}

// Check 4: reserved bits and values outside their range.
static bool check_reserved(const struct packet *p, struct model_fault *fault)
{
    uint32_t has = shapes[p->opcode].has;
    uint32_t header = FERRY_PACKET_HEADER_OPCODE_MASK | FERRY_PACKET_HEADER_WORDS_MASK;
    uint32_t places = 0;
    bool bad = false;

    header |= has & HAS_UNORDERED ? FERRY_PACKET_HEADER_UNORDERED_MASK : 0;
    header |= has & HAS_PROTECTED ? FERRY_PACKET_HEADER_PROTECTED_MASK : 0;
    places |= has & HAS_SOURCE ? FERRY_PACKET_PLACES_SOURCE_KIND_MASK : 0;
    places |= has & HAS_DESTINATION ? FERRY_PACKET_PLACES_DESTINATION_KIND_MASK : 0;
    places |= has & HAS_LIST ? FERRY_PACKET_PLACES_LIST_MASK : 0;
    places |= has & HAS_PATTERN ? FERRY_PACKET_PLACES_PATTERN_LOG2_MASK : 0;
    places |= has & HAS_SNOOP ? FERRY_PACKET_PLACES_SNOOP_MASK : 0;
    bad |= (p->header & ~header) || (p->places & ~places);
    bad |= (has & HAS_RESERVED_WORD) && word(p, FERRY_PACKET_COPY_RESERVED);

    uint32_t bytes = word(p, FERRY_PACKET_COPY_BYTES);
    switch (p->opcode) {
    case FERRY_OPCODE_COPY_PAGES:
        bad |= bytes == 0 || word(p, FERRY_PACKET_COPY_PAGES_FIRST_OFFSET) >= MODEL_PAGE;
        bad |= p->list != FERRY_LIST_SIDE_SOURCE && p->list != FERRY_LIST_SIDE_DESTINATION;
        break;
    case FERRY_OPCODE_READ:
    case FERRY_OPCODE_WRITE: bad |= bytes < 1 || bytes > 8; break;
    case FERRY_OPCODE_MAP_APERTURE:
    case FERRY_OPCODE_UNMAP_APERTURE: bad |= bytes_of(p) == 0; break;
    case FERRY_OPCODE_FENCE: bad |= wide(p, FERRY_PACKET_FENCE_ADDRESS) % 8 != 0; break;
    case FERRY_OPCODE_ROOT: bad |= root_is_bad(p); break;
    case FERRY_OPCODE_FORGET: bad |= forget_is_bad(p); break;
    case FERRY_OPCODE_COPY_RECTANGLE: bad |= model_rectangle_is_bad(p->at); break;
    default: break;
    }
    return !bad || refuse(fault, FERRY_FAULT_KIND_PACKET_RESERVED);
}

// A rectangle's side begins at the lowest byte that it takes.
static uint64_t rectangle_at(const struct packet *p, bool destination)
{
    uint64_t bytes;
    bool far;

    return model_rectangle_range(p->at, destination, &bytes, &far);
}

static uint64_t source_of(const struct packet *p)
{
    switch (p->opcode) {
    case FERRY_OPCODE_COPY_RECTANGLE: return rectangle_at(p, false);
    case FERRY_OPCODE_COPY_PAGES: return wide(p, FERRY_PACKET_COPY_PAGES_ADDRESS);
    case FERRY_OPCODE_READ: return wide(p, FERRY_PACKET_READ_SOURCE);
    default: return wide(p, FERRY_PACKET_COPY_SOURCE);
    }
}

static uint64_t destination_of(const struct packet *p)
{
    switch (p->opcode) {
    case FERRY_OPCODE_COPY: return wide(p, FERRY_PACKET_COPY_DESTINATION);
    case FERRY_OPCODE_COPY_RECTANGLE: return rectangle_at(p, true);
    case FERRY_OPCODE_COPY_PAGES: return wide(p, FERRY_PACKET_COPY_PAGES_ADDRESS);
    case FERRY_OPCODE_FILL: return wide(p, FERRY_PACKET_FILL_DESTINATION);
    case FERRY_OPCODE_WRITE: return wide(p, FERRY_PACKET_WRITE_DESTINATION);
    case FERRY_OPCODE_FENCE: return wide(p, FERRY_PACKET_FENCE_ADDRESS);
    case FERRY_OPCODE_DISCARD: return wide(p, FERRY_PACKET_DISCARD_ADDRESS);
    case FERRY_OPCODE_ROOT: return wide(p, FERRY_PACKET_ROOT_TABLE);
    case FERRY_OPCODE_FORGET: return wide(p, FERRY_PACKET_FORGET_ADDRESS);
    default: return (uint64_t)word(p, FERRY_PACKET_MAP_APERTURE_FIRST_PAGE) * MODEL_PAGE;
    }
}

// The sides that have a linear range: the list side of COPY_PAGES has none.
static bool source_is_linear(const struct packet *p)
{
    return (shapes[p->opcode].has & HAS_SOURCE) && p->list != FERRY_LIST_SIDE_SOURCE;
}

static bool destination_is_linear(const struct packet *p)
{
    return (p->opcode == FERRY_OPCODE_DISCARD || (shapes[p->opcode].has & HAS_DESTINATION) || !is_fixed(p->opcode) ||
            p->opcode == FERRY_OPCODE_UNMAP_APERTURE) &&
           p->list != FERRY_LIST_SIDE_DESTINATION;
}

// Check 5: kinds of address.
static bool check_kinds(const struct ferry_model *model, const struct packet *p, struct model_fault *fault)
{
    uint32_t all = 1u << FERRY_ADDRESS_KIND_LOCAL | 1u << FERRY_ADDRESS_KIND_SYSTEM | 1u << FERRY_ADDRESS_KIND_APERTURE;
    uint32_t source, destination;

    if (model->options.page_tables)
        all |= 1u << FERRY_ADDRESS_KIND_VIRTUAL;
    source = destination = all;
    if (p->opcode == FERRY_OPCODE_ROOT) {
        destination = 1u << FERRY_ADDRESS_KIND_LOCAL | 1u << FERRY_ADDRESS_KIND_SYSTEM;
    } else if (p->opcode == FERRY_OPCODE_COPY_PAGES) {
        uint32_t list = 1u << FERRY_ADDRESS_KIND_SYSTEM, linear = all & ~list;

        source = p->list == FERRY_LIST_SIDE_SOURCE ? list : linear;
        destination = p->list == FERRY_LIST_SIDE_SOURCE ? linear : list;
    } else if (p->opcode == FERRY_OPCODE_FILL || p->opcode == FERRY_OPCODE_FENCE) {
        destination &= ~(1u << FERRY_ADDRESS_KIND_APERTURE);
    }
    if ((shapes[p->opcode].has & HAS_SOURCE) && !(source >> p->source_kind & 1))
        return refuse_at(fault, FERRY_FAULT_KIND_ADDRESS_KIND, p->source_kind, source_of(p), false);
    if ((shapes[p->opcode].has & HAS_DESTINATION) && !(destination >> p->destination_kind & 1))
        return refuse_at(fault, FERRY_FAULT_KIND_ADDRESS_KIND, p->destination_kind, destination_of(p), true);
    return true;
}

// Check 6: what the ring may do, and the buffer of its entry.
static bool check_rights(const struct packet *p, uint32_t rights, bool virtual_only, struct model_fault *fault)
{
    uint32_t has = shapes[p->opcode].has;

    if (changes_tables(p->opcode))
        return (rights & FERRY_BAR0_RING_RIGHTS_TABLES_MASK) || refuse(fault, FERRY_FAULT_KIND_RIGHTS);
    if (p->opcode == FERRY_OPCODE_MAP_APERTURE || p->opcode == FERRY_OPCODE_UNMAP_APERTURE) {
        if (!(rights & FERRY_BAR0_RING_RIGHTS_APERTURE_UPDATE_MASK))
            return refuse_at(fault, FERRY_FAULT_KIND_RIGHTS, FERRY_ADDRESS_KIND_APERTURE, destination_of(p), true);
        return true;
    }
    if (virtual_only) {
        if ((has & HAS_SOURCE) && p->source_kind != FERRY_ADDRESS_KIND_VIRTUAL)
            return refuse_at(fault, FERRY_FAULT_KIND_RIGHTS, p->source_kind, source_of(p), false);
        if (((has & HAS_DESTINATION) || p->opcode == FERRY_OPCODE_DISCARD) &&
            p->destination_kind != FERRY_ADDRESS_KIND_VIRTUAL)
            return refuse_at(fault, FERRY_FAULT_KIND_RIGHTS, p->destination_kind, destination_of(p), true);
    }
    if (!(rights & FERRY_BAR0_RING_RIGHTS_SYSTEM_MASK)) {
        if ((has & HAS_SOURCE) && p->source_kind == FERRY_ADDRESS_KIND_SYSTEM)
            return refuse_at(fault, FERRY_FAULT_KIND_RIGHTS, FERRY_ADDRESS_KIND_SYSTEM, source_of(p), false);
        if ((has & HAS_DESTINATION) && p->destination_kind == FERRY_ADDRESS_KIND_SYSTEM)
            return refuse_at(fault, FERRY_FAULT_KIND_RIGHTS, FERRY_ADDRESS_KIND_SYSTEM, destination_of(p), true);
    }
    if (p->protected_access && !(rights & FERRY_BAR0_RING_RIGHTS_PROTECTED_MASK))
        return refuse(fault, FERRY_FAULT_KIND_RIGHTS);
    return true;
}

// Check 7: one range against its segment.
static bool in_range(const struct ferry_model *model, uint32_t kind, uint64_t address, uint64_t bytes)
{
    uint64_t limit;

    switch (kind) {
    case FERRY_ADDRESS_KIND_LOCAL: limit = model->local_limit; break;
    case FERRY_ADDRESS_KIND_APERTURE: limit = (uint64_t)model->options.aperture_pages * MODEL_PAGE; break;
    case FERRY_ADDRESS_KIND_VIRTUAL: limit = UINT64_C(1) << 48; break;
    default: return bytes == 0 || address + (bytes - 1) >= address;
    }
    return address <= limit && bytes <= limit - address;
}

static bool touches_protected(const struct ferry_model *model, uint32_t kind, uint64_t address, uint64_t bytes)
{
    return kind == FERRY_ADDRESS_KIND_LOCAL && bytes && address < model->protect_limit &&
           address + bytes > model->protect_base && model->protect_base < model->protect_limit;
}

static bool inside_protected(const struct ferry_model *model, uint32_t kind, uint64_t address, uint64_t bytes)
{
    return kind == FERRY_ADDRESS_KIND_LOCAL && address >= model->protect_base &&
           address + bytes <= model->protect_limit;
}

// Checks 7 and 8.
static bool check_places(const struct ferry_model *model, const struct packet *p, struct model_fault *fault)
{
    uint64_t bytes = bytes_of(p), to_bytes = bytes, source = source_of(p), destination = destination_of(p);
    uint32_t destination_kind = p->destination_kind;
    bool source_far = false, destination_far = false;
    bool has_source = source_is_linear(p), has_destination = destination_is_linear(p);

    if (p->opcode == FERRY_OPCODE_MAP_APERTURE || p->opcode == FERRY_OPCODE_UNMAP_APERTURE)
        destination_kind = FERRY_ADDRESS_KIND_APERTURE;
    if (changes_tables(p->opcode))
        return true; // A walk finds out.
    if (p->opcode == FERRY_OPCODE_COPY_RECTANGLE) {
        model_rectangle_range(p->at, false, &bytes, &source_far);
        model_rectangle_range(p->at, true, &to_bytes, &destination_far);
    }
    if (has_source && (source_far || !in_range(model, p->source_kind, source, bytes)))
        return refuse_at(fault, FERRY_FAULT_KIND_RANGE, p->source_kind, source, false);
    if (has_destination && (destination_far || !in_range(model, destination_kind, destination, to_bytes)))
        return refuse_at(fault, FERRY_FAULT_KIND_RANGE, destination_kind, destination, true);
    if (p->opcode == FERRY_OPCODE_DISCARD)
        return true;

    // Where a virtual address leads is not looked at here: with the right it counts as protected.
    bool hidden = has_source && p->protected_access && p->source_kind == FERRY_ADDRESS_KIND_VIRTUAL && bytes;
    bool from_protected = hidden || (has_source && touches_protected(model, p->source_kind, source, bytes));
    bool to_protected = has_destination && touches_protected(model, destination_kind, destination, to_bytes);
    if (from_protected && !p->protected_access)
        return refuse_at(fault, FERRY_FAULT_KIND_PROTECTED, p->source_kind, source, false);
    if (to_protected && !p->protected_access)
        return refuse_at(fault, FERRY_FAULT_KIND_PROTECTED, destination_kind, destination, true);
    // Protected content never leaves the protected range; READ drops what it reads.
    if (from_protected && p->opcode != FERRY_OPCODE_READ &&
        !(has_destination && inside_protected(model, destination_kind, destination, to_bytes)))
        return refuse_at(fault, FERRY_FAULT_KIND_PROTECTED, p->source_kind, source, false);
    return true;
}

static bool change_aperture(struct ferry_model *model, const struct packet *p, struct model_fault *fault)
{
    uint32_t first = word(p, FERRY_PACKET_MAP_APERTURE_FIRST_PAGE), count = word(p, FERRY_PACKET_MAP_APERTURE_COUNT);
    bool unmap = p->opcode == FERRY_OPCODE_UNMAP_APERTURE;
    uint64_t flags = FERRY_APERTURE_ENTRY_ENTRY_VALID_MASK;

    if (p->places & FERRY_PACKET_PLACES_SNOOP_MASK)
        flags |= FERRY_APERTURE_ENTRY_ENTRY_SNOOP_MASK;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t page =
            unmap ? wide(p, FERRY_PACKET_UNMAP_APERTURE_DUMMY_PAGE) : wide(p, FERRY_PACKET_MAP_APERTURE_PAGE + 8 * i);

        // The pages before a bad one are changed.
        if (page & ~(uint64_t)FERRY_APERTURE_ENTRY_ENTRY_PAGE_MASK) {
            fault->list_index = i;
            return refuse_at(fault, FERRY_FAULT_KIND_RANGE, FERRY_ADDRESS_KIND_SYSTEM, page, false);
        }
        model->aperture[first + i] = (page & FERRY_APERTURE_ENTRY_ENTRY_PAGE_MASK) | flags;
    }
    model->counters[MODEL_COUNTER(CYCLES)] += count;
    return true;
}

static bool change_tables(struct ferry_model *model, const struct packet *p)
{
    uint32_t what = word(p, FERRY_PACKET_FORGET_WHAT);

    if (p->opcode == FERRY_OPCODE_FORGET)
        model_forget(model, FERRY_GET(FERRY_PACKET_FORGET_WHAT_SCOPE, what),
                     FERRY_GET(FERRY_PACKET_FORGET_WHAT_SPACE, what), wide(p, FERRY_PACKET_FORGET_ADDRESS));
    else
        model->roots[FERRY_GET(FERRY_PACKET_ROOT_SPACE_SPACE, what)] = (struct model_root){
            .valid = what & FERRY_PACKET_ROOT_SPACE_VALID_MASK,
            .host = p->destination_kind == FERRY_ADDRESS_KIND_SYSTEM,
            .height = FERRY_GET(FERRY_PACKET_ROOT_SPACE_HEIGHT, what),
            .table = wide(p, FERRY_PACKET_ROOT_TABLE),
        };
    model->counters[MODEL_COUNTER(CYCLES)] += 20;
    return true;
}

static bool carry_out(struct ferry_model *model, const struct packet *p, struct model_fault *fault)
{
    uint64_t bytes = bytes_of(p), cycles = 40 + bytes / 8;

    if (p->opcode == FERRY_OPCODE_DISCARD)
        return true;
    if (changes_tables(p->opcode))
        return change_tables(model, p);
    if (!is_fixed(p->opcode) && p->opcode != FERRY_OPCODE_COPY_PAGES)
        return change_aperture(model, p, fault);
    if (p->opcode == FERRY_OPCODE_UNMAP_APERTURE)
        return change_aperture(model, p, fault);

    model->running_protected = p->protected_access;
    model->counters[MODEL_COUNTER(ENGINE_JOBS)]++;
    model->counters[MODEL_COUNTER(ENGINE_BUSY)] += cycles;
    model->counters[MODEL_COUNTER(CYCLES)] += cycles;
    switch (p->opcode) {
    case FERRY_OPCODE_COPY:
        return model_copy(model, p->destination_kind, destination_of(p), p->source_kind, source_of(p), bytes, fault);
    case FERRY_OPCODE_COPY_RECTANGLE:
        return model_copy_rectangle(model, p->at, p->source_kind, p->destination_kind, fault);
    case FERRY_OPCODE_COPY_PAGES: {
        bool from_pages = p->list == FERRY_LIST_SIDE_SOURCE;

        return model_copy_pages(model, from_pages, p->at + FERRY_PACKET_COPY_PAGES_PAGE,
                                word(p, FERRY_PACKET_COPY_PAGES_FIRST_OFFSET),
                                from_pages ? p->destination_kind : p->source_kind, destination_of(p), bytes, fault);
    }
    case FERRY_OPCODE_FILL:
        return model_fill(model, p->destination_kind, destination_of(p), bytes, p->at + FERRY_PACKET_FILL_PATTERN,
                          1u << FERRY_GET(FERRY_PACKET_PLACES_PATTERN_LOG2, p->places), fault);
    case FERRY_OPCODE_READ: return model_read(model, p->source_kind, source_of(p), (uint32_t)bytes, fault);
    case FERRY_OPCODE_WRITE:
        return model_fill(model, p->destination_kind, destination_of(p), bytes, p->at + FERRY_PACKET_WRITE_VALUE, 8,
                          fault);
    default: // FENCE
        return model_fill(model, p->destination_kind, destination_of(p), bytes, p->at + FERRY_PACKET_FENCE_VALUE, 8,
                          fault);
    }
}

static bool run_packet(struct ferry_model *model, const struct model_slot *slot, const struct packet *p,
                       struct model_fault *fault)
{
    if (p->opcode == FERRY_OPCODE_NOP)
        return true;
    if (p->opcode >= sizeof shapes / sizeof shapes[0] || (changes_tables(p->opcode) && !model->options.page_tables) ||
        (p->opcode == FERRY_OPCODE_COPY_RECTANGLE && !model->options.tiling))
        return refuse(fault, FERRY_FAULT_KIND_PACKET_OPCODE);
    return check_length(p, fault) && check_reserved(p, fault) && check_kinds(model, p, fault) &&
           check_rights(p, model->rings[slot->ring].rights, slot->virtual_only, fault) &&
           check_places(model, p, fault) && carry_out(model, p, fault);
}

bool model_run_packet(struct ferry_model *model, const struct model_slot *slot, uint32_t offset, uint32_t *bytes,
                      struct model_fault *fault)
{
    struct packet p = {.at = slot->data + offset};

    p.header = model_get32(p.at);
    p.places = model_get32(p.at + 4);
    p.words = FERRY_GET(FERRY_PACKET_HEADER_WORDS, p.header);
    p.opcode = FERRY_GET(FERRY_PACKET_HEADER_OPCODE, p.header);
    p.source_kind = FERRY_GET(FERRY_PACKET_PLACES_SOURCE_KIND, p.places);
    p.destination_kind = FERRY_GET(FERRY_PACKET_PLACES_DESTINATION_KIND, p.places);
    p.list = FERRY_GET(FERRY_PACKET_PLACES_LIST, p.places);
    p.protected_access = p.header & FERRY_PACKET_HEADER_PROTECTED_MASK;
    *bytes = 4 * p.words;
    *fault = (struct model_fault){.packet_offset = offset, .header = p.header};
    if (p.words < 2 || p.words % 2 || *bytes > slot->bytes - offset)
        return refuse(fault, FERRY_FAULT_KIND_PACKET_LENGTH);
    return run_packet(model, slot, &p, fault);
}
