// SPDX-License-Identifier: Apache-2.0
// The oracle: one function a packet, each stating its rules in the order of the manual, over the contract's structs.
#include "oracle.h"

#include <string.h>

#include "ferry_contract.h"

enum {
    LOCAL = FERRY_ADDRESS_KIND_LOCAL,
    SYSTEM = FERRY_ADDRESS_KIND_SYSTEM,
    APERTURE = FERRY_ADDRESS_KIND_APERTURE,
    VIRTUAL = FERRY_ADDRESS_KIND_VIRTUAL,
};

struct at {
    const uint8_t *bytes;
    const uint8_t *whole; // The packet in its buffer; bytes may be a copy of its fixed words.
    const struct oracle_limits *limits;
    struct oracle_fault *fault;
    struct oracle_action *action;
    uint32_t words, source_kind, destination_kind, list, pattern_log2;
    bool unordered, is_protected, snoop;
    bool begun; // Refused in the middle of its action.
    uint32_t header_reserved, places_reserved;
};

static uint32_t get32(const uint8_t *p)
{
    return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}
static uint64_t get64(const uint8_t *p)
{
    return get32(p) | (uint64_t)get32(p + 4) << 32;
}

static bool no(struct at *at, uint32_t kind)
{
    at->fault->kind = kind;
    return false;
}

static bool no_at(struct at *at, uint32_t kind, uint32_t address_kind, uint64_t address, bool write)
{
    at->fault->kind = kind;
    at->fault->address_kind = address_kind;
    at->fault->address = address;
    at->fault->write = write;
    return false;
}

// A range in 96 bits: true when [address, address + bytes) ends at or before limit.
static bool ends_within(uint64_t address, uint64_t bytes, uint64_t limit)
{
    return limit >= bytes && address <= limit - bytes;
}

static bool inside(const struct at *at, uint32_t kind, uint64_t address, uint64_t bytes)
{
    if (kind == LOCAL)
        return ends_within(address, bytes, at->limits->local_limit);
    if (kind == APERTURE)
        return ends_within(address, bytes, 4096ull * at->limits->aperture_pages);
    if (kind == VIRTUAL)
        return ends_within(address, bytes, 1ull << 48);
    return bytes == 0 || address <= UINT64_MAX - (bytes - 1);
}

static bool overlaps_protected(const struct oracle_limits *limits, uint64_t address, uint64_t bytes)
{
    uint64_t from = address > limits->protect_base ? address : limits->protect_base;
    uint64_t to = address + bytes < limits->protect_limit ? address + bytes : limits->protect_limit;

    return bytes != 0 && from < to;
}

static bool within_protected(const struct oracle_limits *limits, uint32_t kind, uint64_t address, uint64_t bytes)
{
    return kind == LOCAL && address >= limits->protect_base && address + bytes <= limits->protect_limit;
}

// Bits that may be set: 1 unordered, 2 protected, 4 source kind, 8 destination kind, 16 list, 32 pattern, 64 snoop.
static bool only(const struct at *at, unsigned may)
{
    if (at->header_reserved || at->places_reserved)
        return false;
    return (!at->unordered || (may & 1)) && (!at->is_protected || (may & 2)) && (!at->source_kind || (may & 4)) &&
           (!at->destination_kind || (may & 8)) && (!at->list || (may & 16)) && (!at->pattern_log2 || (may & 32)) &&
           (!at->snoop || (may & 64));
}

static bool known_kind(const struct at *at, uint32_t kind)
{
    return kind != VIRTUAL || at->limits->page_tables;
}

// A ring that may name no other addresses names one.
static bool only_virtual(const struct at *at, uint32_t kind)
{
    return kind == VIRTUAL || !at->limits->page_tables ||
           !(at->limits->rights & FERRY_BAR0_RING_RIGHTS_VIRTUAL_ONLY_MASK);
}

static bool may_system(const struct at *at)
{
    return at->limits->rights & FERRY_BAR0_RING_RIGHTS_SYSTEM_MASK;
}

static bool right_to_protected(struct at *at)
{
    if (at->is_protected && !(at->limits->rights & FERRY_BAR0_RING_RIGHTS_PROTECTED_MASK))
        return no(at, FERRY_FAULT_KIND_RIGHTS);
    return true;
}

static bool copy(struct at *at)
{
    uint64_t source = get64(at->bytes + 16), destination = get64(at->bytes + 24);
    uint32_t bytes = get32(at->bytes + 8);

    if (at->words != 8)
        return no(at, FERRY_FAULT_KIND_PACKET_LENGTH);
    if (!only(at, 1 | 2 | 4 | 8) || get32(at->bytes + 12) != 0)
        return no(at, FERRY_FAULT_KIND_PACKET_RESERVED);
    if (!known_kind(at, at->source_kind))
        return no_at(at, FERRY_FAULT_KIND_ADDRESS_KIND, at->source_kind, source, false);
    if (!known_kind(at, at->destination_kind))
        return no_at(at, FERRY_FAULT_KIND_ADDRESS_KIND, at->destination_kind, destination, true);
    if (!only_virtual(at, at->source_kind))
        return no_at(at, FERRY_FAULT_KIND_RIGHTS, at->source_kind, source, false);
    if (!only_virtual(at, at->destination_kind))
        return no_at(at, FERRY_FAULT_KIND_RIGHTS, at->destination_kind, destination, true);
    if (at->source_kind == SYSTEM && !may_system(at))
        return no_at(at, FERRY_FAULT_KIND_RIGHTS, SYSTEM, source, false);
    if (at->destination_kind == SYSTEM && !may_system(at))
        return no_at(at, FERRY_FAULT_KIND_RIGHTS, SYSTEM, destination, true);
    if (!right_to_protected(at))
        return false;
    if (!inside(at, at->source_kind, source, bytes))
        return no_at(at, FERRY_FAULT_KIND_RANGE, at->source_kind, source, false);
    if (!inside(at, at->destination_kind, destination, bytes))
        return no_at(at, FERRY_FAULT_KIND_RANGE, at->destination_kind, destination, true);

    bool from = at->source_kind == LOCAL && overlaps_protected(at->limits, source, bytes);
    bool to = at->destination_kind == LOCAL && overlaps_protected(at->limits, destination, bytes);

    if (from && !(at->is_protected && within_protected(at->limits, at->destination_kind, destination, bytes)))
        return no_at(at, FERRY_FAULT_KIND_PROTECTED, LOCAL, source, false);
    if (to && !at->is_protected)
        return no_at(at, FERRY_FAULT_KIND_PROTECTED, LOCAL, destination, true);
    at->action->op = FERRY_JOB_OP_COPY;
    at->action->source = source;
    at->action->destination = destination;
    at->action->length = bytes;
    return true;
}

static bool copy_pages(struct at *at)
{
    if (at->words < 6)
        return no(at, FERRY_FAULT_KIND_PACKET_LENGTH);

    uint32_t bytes = get32(at->bytes + 8), first_offset = get32(at->bytes + 12);
    uint64_t address = get64(at->bytes + 16);
    uint64_t pages = 0;

    while (pages * 4096 < (uint64_t)first_offset + bytes && pages <= 70000)
        pages++;
    if (at->words != 6 + 2 * (pages ? pages : 1))
        return no(at, FERRY_FAULT_KIND_PACKET_LENGTH);
    if (!only(at, 1 | 2 | 4 | 8 | 16) || at->list == 0 || at->list == 3 || bytes == 0 || first_offset > 4095)
        return no(at, FERRY_FAULT_KIND_PACKET_RESERVED);

    bool in = at->list == FERRY_LIST_SIDE_SOURCE;
    uint32_t linear = in ? at->destination_kind : at->source_kind;

    if (in ? at->source_kind != SYSTEM : (at->source_kind == SYSTEM || !known_kind(at, at->source_kind)))
        return no_at(at, FERRY_FAULT_KIND_ADDRESS_KIND, at->source_kind, address, false);
    if (in ? (at->destination_kind == SYSTEM || at->destination_kind > APERTURE) : at->destination_kind != SYSTEM)
        return no_at(at, FERRY_FAULT_KIND_ADDRESS_KIND, at->destination_kind, address, true);
    if (!only_virtual(at, at->source_kind))
        return no_at(at, FERRY_FAULT_KIND_RIGHTS, at->source_kind, address, false);
    if (!only_virtual(at, at->destination_kind))
        return no_at(at, FERRY_FAULT_KIND_RIGHTS, at->destination_kind, address, true);
    if (!may_system(at))
        return no_at(at, FERRY_FAULT_KIND_RIGHTS, SYSTEM, address, !in);
    if (!right_to_protected(at))
        return false;
    if (!inside(at, linear, address, bytes))
        return no_at(at, FERRY_FAULT_KIND_RANGE, linear, address, in);
    if (linear == LOCAL && overlaps_protected(at->limits, address, bytes) && (!at->is_protected || !in))
        return no_at(at, FERRY_FAULT_KIND_PROTECTED, LOCAL, address, in);
    at->action->op = FERRY_JOB_OP_COPY;
    at->action->source = in ? first_offset : address;
    at->action->destination = in ? address : first_offset;
    at->action->length = bytes;
    at->action->list_offset = 24;
    return true;
}

// FILL, WRITE and FENCE: a pattern goes to one place.
static bool store(struct at *at, uint32_t words, unsigned may, uint64_t address, uint64_t value, uint32_t bytes,
                  uint32_t pattern_log2, bool fields_good, bool aperture_good)
{
    if (at->words != words)
        return no(at, FERRY_FAULT_KIND_PACKET_LENGTH);
    if (!only(at, may) || !fields_good)
        return no(at, FERRY_FAULT_KIND_PACKET_RESERVED);
    if (!known_kind(at, at->destination_kind) || (at->destination_kind == APERTURE && !aperture_good))
        return no_at(at, FERRY_FAULT_KIND_ADDRESS_KIND, at->destination_kind, address, true);
    if (!only_virtual(at, at->destination_kind))
        return no_at(at, FERRY_FAULT_KIND_RIGHTS, at->destination_kind, address, true);
    if (at->destination_kind == SYSTEM && !may_system(at))
        return no_at(at, FERRY_FAULT_KIND_RIGHTS, SYSTEM, address, true);
    if (!right_to_protected(at))
        return false;
    if (!inside(at, at->destination_kind, address, bytes))
        return no_at(at, FERRY_FAULT_KIND_RANGE, at->destination_kind, address, true);
    if (at->destination_kind == LOCAL && overlaps_protected(at->limits, address, bytes) && !at->is_protected)
        return no_at(at, FERRY_FAULT_KIND_PROTECTED, LOCAL, address, true);
    at->action->op = FERRY_JOB_OP_FILL;
    at->action->source = value;
    at->action->destination = address;
    at->action->length = bytes;
    at->action->pattern_log2 = pattern_log2;
    return true;
}

static bool read_bytes(struct at *at)
{
    uint64_t address = get64(at->bytes + 16);
    uint32_t bytes = get32(at->bytes + 8);

    if (at->words != 6)
        return no(at, FERRY_FAULT_KIND_PACKET_LENGTH);
    if (!only(at, 2 | 4) || get32(at->bytes + 12) != 0 || bytes < 1 || bytes > 8)
        return no(at, FERRY_FAULT_KIND_PACKET_RESERVED);
    if (!known_kind(at, at->source_kind))
        return no_at(at, FERRY_FAULT_KIND_ADDRESS_KIND, at->source_kind, address, false);
    if (!only_virtual(at, at->source_kind))
        return no_at(at, FERRY_FAULT_KIND_RIGHTS, at->source_kind, address, false);
    if (at->source_kind == SYSTEM && !may_system(at))
        return no_at(at, FERRY_FAULT_KIND_RIGHTS, SYSTEM, address, false);
    if (!right_to_protected(at))
        return false;
    if (!inside(at, at->source_kind, address, bytes))
        return no_at(at, FERRY_FAULT_KIND_RANGE, at->source_kind, address, false);
    if (at->source_kind == LOCAL && overlaps_protected(at->limits, address, bytes) && !at->is_protected)
        return no_at(at, FERRY_FAULT_KIND_PROTECTED, LOCAL, address, false);
    at->action->op = FERRY_JOB_OP_READ;
    at->action->source = address;
    at->action->length = bytes;
    return true;
}

static bool table(struct at *at, bool unmap)
{
    if (at->words < 4)
        return no(at, FERRY_FAULT_KIND_PACKET_LENGTH);

    uint32_t first = get32(at->bytes + 8), count = get32(at->bytes + 12);

    if (at->words != (unmap ? 6 : 4 + 2 * (uint64_t)count))
        return no(at, FERRY_FAULT_KIND_PACKET_LENGTH);
    if (!only(at, unmap ? 0 : 64) || count == 0)
        return no(at, FERRY_FAULT_KIND_PACKET_RESERVED);
    if (!(at->limits->rights & FERRY_BAR0_RING_RIGHTS_APERTURE_UPDATE_MASK))
        return no_at(at, FERRY_FAULT_KIND_RIGHTS, APERTURE, 4096ull * first, true);
    if ((uint64_t)first + count > at->limits->aperture_pages)
        return no_at(at, FERRY_FAULT_KIND_RANGE, APERTURE, 4096ull * first, true);
    *at->action = (struct oracle_action){
        .is_table_change = true,
        .unmap = unmap,
        .snoop = at->snoop,
        .first = first,
        .count = count,
        .dummy = unmap ? get64(at->bytes + 16) : 0,
        .list_offset = unmap ? 0 : 16,
    };
    // The hardware meets a bad page in the middle of the change.
    for (uint32_t i = 0; i < (unmap ? 1 : count); i++) {
        uint64_t page = get64(at->whole + 16 + 8 * i);

        if (page % 4096 == 0 && page >> 52 == 0)
            continue;
        at->begun = true;
        at->fault->list_index = i;
        return no_at(at, FERRY_FAULT_KIND_RANGE, SYSTEM, page, false);
    }
    return true;
}

static bool discard(struct at *at)
{
    uint64_t address = get64(at->bytes + 16);

    if (at->words != 6)
        return no(at, FERRY_FAULT_KIND_PACKET_LENGTH);
    if (!only(at, 0) || get32(at->bytes + 12) != 0)
        return no(at, FERRY_FAULT_KIND_PACKET_RESERVED);
    if (!only_virtual(at, LOCAL))
        return no_at(at, FERRY_FAULT_KIND_RIGHTS, LOCAL, address, true);
    if (!inside(at, LOCAL, address, get32(at->bytes + 8)))
        return no_at(at, FERRY_FAULT_KIND_RANGE, LOCAL, address, true);
    return true;
}

static bool may_tables(struct at *at)
{
    if (!(at->limits->rights & FERRY_BAR0_RING_RIGHTS_TABLES_MASK))
        return no(at, FERRY_FAULT_KIND_RIGHTS);
    return true;
}

static bool root(struct at *at)
{
    uint32_t named = get32(at->bytes + 8);
    uint64_t table = get64(at->bytes + 16);

    if (at->words != 6)
        return no(at, FERRY_FAULT_KIND_PACKET_LENGTH);
    // Space in bits 3:0, height in 9:8, valid is bit 16.
    if (!only(at, 8 | 64) || get32(at->bytes + 12) != 0 || (named & 0xfffefcf0) || table % 4096 || table >> 52)
        return no(at, FERRY_FAULT_KIND_PACKET_RESERVED);
    if (!(named >> 16) && (named >> 8 || at->destination_kind || at->snoop || table))
        return no(at, FERRY_FAULT_KIND_PACKET_RESERVED);
    if (at->snoop && at->destination_kind != SYSTEM)
        return no(at, FERRY_FAULT_KIND_PACKET_RESERVED);
    if (at->destination_kind > SYSTEM)
        return no_at(at, FERRY_FAULT_KIND_ADDRESS_KIND, at->destination_kind, table, true);
    return may_tables(at);
}

// With a job of no bytes, behind everything that was told what is forgotten.
static bool forget(struct at *at)
{
    uint32_t what = get32(at->bytes + 8), scope = what & 3;
    uint64_t address = get64(at->bytes + 16);
    bool around = scope == FERRY_FORGET_SCOPE_GROUP || scope == FERRY_FORGET_SCOPE_TABLE;

    if (at->words != 6)
        return no(at, FERRY_FAULT_KIND_PACKET_LENGTH);
    if (!only(at, 0) || get32(at->bytes + 12) != 0 || what >> 8 || (what >> 2 & 3) ||
        (scope == FERRY_FORGET_SCOPE_ALL && what >> 4) || (around ? address >> 48 != 0 : address != 0))
        return no(at, FERRY_FAULT_KIND_PACKET_RESERVED);
    at->action->op = FERRY_JOB_OP_FILL;
    at->action->destination = address;
    at->action->forgets = true;
    return may_tables(at);
}

// True when the packet is good. *acts: it leads to an action.
static bool run_packet(struct at *at, uint32_t opcode, bool *acts)
{
    const uint8_t *p = at->bytes;
    // Fields beyond a packet that is too short are never used: its length is refused first.
    uint8_t copy_of[32] = {0};

    memcpy(copy_of, p, at->words * 4 < sizeof copy_of ? at->words * 4 : sizeof copy_of);
    *acts = true;
    at->bytes = copy_of;
    switch (opcode) {
    case FERRY_OPCODE_COPY: return copy(at);
    case FERRY_OPCODE_COPY_PAGES: return copy_pages(at);
    case FERRY_OPCODE_FILL:
        return store(at, 8, 2 | 8 | 32, get64(copy_of + 16), get64(copy_of + 24), get32(copy_of + 8), at->pattern_log2,
                     get32(copy_of + 12) == 0, false);
    case FERRY_OPCODE_READ: return read_bytes(at);
    case FERRY_OPCODE_WRITE:
        return store(at, 8, 2 | 8, get64(copy_of + 16), get64(copy_of + 24), get32(copy_of + 8), 3,
                     get32(copy_of + 12) == 0 && get32(copy_of + 8) >= 1 && get32(copy_of + 8) <= 8, true);
    case FERRY_OPCODE_FENCE:
        return store(at, 6, 8, get64(copy_of + 8), get64(copy_of + 16), 8, 3, get64(copy_of + 8) % 8 == 0, false);
    case FERRY_OPCODE_MAP_APERTURE: return table(at, false);
    case FERRY_OPCODE_UNMAP_APERTURE: return table(at, true);
    case FERRY_OPCODE_DISCARD: *acts = false; return discard(at);
    case FERRY_OPCODE_ROOT:
        *acts = false;
        return at->limits->page_tables ? root(at) : no(at, FERRY_FAULT_KIND_PACKET_OPCODE);
    case FERRY_OPCODE_FORGET: return at->limits->page_tables ? forget(at) : no(at, FERRY_FAULT_KIND_PACKET_OPCODE);
    default: return no(at, FERRY_FAULT_KIND_PACKET_OPCODE);
    }
}

void oracle_run(const uint8_t *buffer, uint32_t bytes, const struct oracle_limits *limits, struct oracle_result *result)
{
    uint32_t offset = 0;

    result->action_count = 0;
    result->packets = 0;
    result->fault = (struct oracle_fault){0};
    while (offset < bytes) {
        uint32_t header = get32(buffer + offset), places = get32(buffer + offset + 4);
        uint32_t opcode = header & 0xff;
        struct oracle_action *action = &result->actions[result->action_count];
        struct at at = {
            .bytes = buffer + offset,
            .whole = buffer + offset,
            .limits = limits,
            .fault = &result->fault,
            .action = action,
            .words = header >> 16,
            .unordered = header >> 8 & 1,
            .is_protected = header >> 9 & 1,
            .header_reserved = header >> 10 & 0x3f,
            .source_kind = places & 3,
            .destination_kind = places >> 2 & 3,
            .list = places >> 4 & 3,
            .pattern_log2 = places >> 6 & 3,
            .snoop = places >> 8 & 1,
            .places_reserved = places >> 9,
        };
        bool acts = false, good;

        *action = (struct oracle_action){
            .source_kind = at.source_kind,
            .destination_kind = at.destination_kind,
            .list = at.list,
            .unordered = at.unordered,
            .is_protected = at.is_protected,
        };
        result->packets++;
        if (at.words < 2 || at.words % 2 || at.words * 4 > bytes - offset)
            good = no(&at, FERRY_FAULT_KIND_PACKET_LENGTH);
        else
            good = opcode == FERRY_OPCODE_NOP || run_packet(&at, opcode, &acts);
        if (!good) {
            result->fault.packet_offset = offset;
            result->fault.header = header;
            if (!at.begun)
                return;
            action->packet_offset = offset;
            action->list_offset += action->list_offset ? offset : 0;
            result->action_count++;
            return;
        }
        if (acts) {
            action->packet_offset = offset;
            if (action->list_offset)
                action->list_offset += offset;
            result->action_count++;
        }
        offset += at.words * 4;
    }
}

const char *oracle_job_is_illegal(const struct oracle_action *job, const struct oracle_limits *limits)
{
    const struct at at = {.limits = limits};
    bool reads = job->op != FERRY_JOB_OP_FILL, writes = job->op != FERRY_JOB_OP_READ;
    bool linear_source = reads && job->list != FERRY_LIST_SIDE_SOURCE;
    bool linear_destination = writes && job->list != FERRY_LIST_SIDE_DESTINATION;

    if (job->op > FERRY_JOB_OP_READ || job->list == 3)
        return "unknown operation or list side";
    if ((reads && !known_kind(&at, job->source_kind)) || (writes && !known_kind(&at, job->destination_kind)))
        return "address kind";
    // A job of no bytes reaches nothing.
    if (job->length &&
        ((reads && !only_virtual(&at, job->source_kind)) || (writes && !only_virtual(&at, job->destination_kind))))
        return "an address that is not virtual";
    if (((reads && job->source_kind == SYSTEM) || (writes && job->destination_kind == SYSTEM)) &&
        !(limits->rights & FERRY_BAR0_RING_RIGHTS_SYSTEM_MASK))
        return "system address without the right";
    if (job->is_protected && !(limits->rights & FERRY_BAR0_RING_RIGHTS_PROTECTED_MASK))
        return "protected without the right";
    if (linear_source && !inside(&at, job->source_kind, job->source, job->length))
        return "source range";
    if (linear_destination && !inside(&at, job->destination_kind, job->destination, job->length))
        return "destination range";
    if (!linear_source && reads && job->source > 4095)
        return "offset in the first page";
    if (!linear_destination && writes && job->destination > 4095)
        return "offset in the first page";
    if (linear_source && job->source_kind == LOCAL && overlaps_protected(limits, job->source, job->length)) {
        if (!job->is_protected)
            return "protected source";
        if (writes &&
            !(linear_destination && within_protected(limits, job->destination_kind, job->destination, job->length)))
            return "protected content leaves";
    }
    if (linear_destination && job->destination_kind == LOCAL && !job->is_protected &&
        overlaps_protected(limits, job->destination, job->length))
        return "protected destination";
    return 0;
}
