// SPDX-License-Identifier: Apache-2.0
// The oracle: one function a packet, each stating its rules in the order of the manual, over the contract's structs.
#include "oracle.h"

#include <string.h>

#include "oracle_rules.h"

// One side that a packet names: what must hold of it, in the order in which it is told.
struct range {
    uint32_t kind;
    bool write;
    uint64_t address, bytes;
    bool in_4_gib; // Between two multiples of 4 GiB.
};

static bool is_known(struct at *at, struct range r)
{
    return known_kind(at, r.kind) || no_at(at, FERRY_FAULT_KIND_ADDRESS_KIND, r.kind, r.address, r.write);
}

static bool is_virtual(struct at *at, struct range r)
{
    return only_virtual(at, r.kind) || no_at(at, FERRY_FAULT_KIND_RIGHTS, r.kind, r.address, r.write);
}

static bool has_right(struct at *at, struct range r)
{
    return r.kind != SYSTEM || may_system(at) || no_at(at, FERRY_FAULT_KIND_RIGHTS, SYSTEM, r.address, r.write);
}

static bool is_inside(struct at *at, struct range r)
{
    return ((!r.in_4_gib || r.address >> 32 == (r.address + r.bytes - 1) >> 32) &&
            inside(at, r.kind, r.address, r.bytes)) ||
           no_at(at, FERRY_FAULT_KIND_RANGE, r.kind, r.address, r.write);
}

// to: where protected content goes, if anywhere. What a packet with the right names by a virtual address may be that.
static bool is_open(struct at *at, struct range r, const struct range *to)
{
    bool may_be = r.kind == LOCAL && overlaps_protected(at->limits, r.address, r.bytes);

    if (r.kind == VIRTUAL && at->is_protected && r.bytes != 0)
        may_be = true;
    if (!may_be || (at->is_protected && (!to || within_protected(at->limits, to->kind, to->address, to->bytes))))
        return true;
    return no_at(at, FERRY_FAULT_KIND_PROTECTED, r.kind, r.address, r.write);
}

static bool one_side(struct at *at, struct range r)
{
    return is_known(at, r) && is_virtual(at, r) && has_right(at, r) && right_to_protected(at) && is_inside(at, r) &&
           is_open(at, r, 0);
}

static bool two_sides(struct at *at, struct range from, struct range to)
{
    return is_known(at, from) && is_known(at, to) && is_virtual(at, from) && is_virtual(at, to) &&
           has_right(at, from) && has_right(at, to) && right_to_protected(at) && is_inside(at, from) &&
           is_inside(at, to) && is_open(at, from, &to) && is_open(at, to, 0);
}

static bool copy(struct at *at)
{
    struct range from = {at->source_kind, false, get64(at->bytes + 16), get32(at->bytes + 8), false};
    struct range to = {at->destination_kind, true, get64(at->bytes + 24), from.bytes, false};

    if (at->words != 8)
        return no(at, FERRY_FAULT_KIND_PACKET_LENGTH);
    if (!only(at, 1 | 2 | 4 | 8) || get32(at->bytes + 12) != 0)
        return no(at, FERRY_FAULT_KIND_PACKET_RESERVED);
    at->action->op = FERRY_JOB_OP_COPY;
    at->action->source = from.address;
    at->action->destination = to.address;
    at->action->length = (uint32_t)from.bytes;
    return two_sides(at, from, to);
}

static bool rectangle(struct at *at)
{
    uint32_t width = get32(at->bytes + 8), rows = get32(at->bytes + 12) + 1;
    struct oracle_action *action = at->action;
    struct range from = {.kind = at->source_kind, .in_4_gib = true};
    struct range to = {.kind = at->destination_kind, .write = true, .in_4_gib = true};

    if (at->words != 12)
        return no(at, FERRY_FAULT_KIND_PACKET_LENGTH);
    if (!only(at, 1 | 2 | 4 | 8) || width < 1 || width > 1u << 23 || get32(at->bytes + 12) > 65535)
        return no(at, FERRY_FAULT_KIND_PACKET_RESERVED);
    action->op = FERRY_JOB_OP_COPY;
    action->source = get64(at->bytes + 16);
    action->destination = get64(at->bytes + 24);
    action->length = width;
    action->rows = rows;
    if (!oracle_read_side(at->bytes + 32, action->source, width, rows, &action->from, &from.bytes) ||
        !oracle_read_side(at->bytes + 40, action->destination, width, rows, &action->to, &to.bytes))
        return no(at, FERRY_FAULT_KIND_PACKET_RESERVED);
    from.address = action->from.low;
    to.address = action->to.low;
    return two_sides(at, from, to);
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
    if (in ? (at->destination_kind == SYSTEM || !known_kind(at, at->destination_kind)) : at->destination_kind != SYSTEM)
        return no_at(at, FERRY_FAULT_KIND_ADDRESS_KIND, at->destination_kind, address, true);
    if (!is_virtual(at, (struct range){at->source_kind, false, address, bytes, false}) ||
        !is_virtual(at, (struct range){at->destination_kind, true, address, bytes, false}))
        return false;
    if (!may_system(at))
        return no_at(at, FERRY_FAULT_KIND_RIGHTS, SYSTEM, address, !in);
    if (!right_to_protected(at) || !is_inside(at, (struct range){linear, in, address, bytes, false}))
        return false;
    if (linear == LOCAL && overlaps_protected(at->limits, address, bytes) && (!at->is_protected || !in))
        return no_at(at, FERRY_FAULT_KIND_PROTECTED, LOCAL, address, in);
    if (linear == VIRTUAL && at->is_protected && !in)
        return no_at(at, FERRY_FAULT_KIND_PROTECTED, VIRTUAL, address, in);
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
    if (at->destination_kind == APERTURE && !aperture_good)
        return no_at(at, FERRY_FAULT_KIND_ADDRESS_KIND, APERTURE, address, true);
    at->action->op = FERRY_JOB_OP_FILL;
    at->action->source = value;
    at->action->destination = address;
    at->action->length = bytes;
    at->action->pattern_log2 = pattern_log2;
    return one_side(at, (struct range){at->destination_kind, true, address, bytes, false});
}

static bool read_bytes(struct at *at)
{
    uint64_t address = get64(at->bytes + 16);
    uint32_t bytes = get32(at->bytes + 8);

    if (at->words != 6)
        return no(at, FERRY_FAULT_KIND_PACKET_LENGTH);
    if (!only(at, 2 | 4) || get32(at->bytes + 12) != 0 || bytes < 1 || bytes > 8)
        return no(at, FERRY_FAULT_KIND_PACKET_RESERVED);
    at->action->op = FERRY_JOB_OP_READ;
    at->action->source = address;
    at->action->length = bytes;
    return one_side(at, (struct range){at->source_kind, false, address, bytes, false});
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

// A job of no bytes: its page's lower bits say how much is forgotten.
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
    at->action->op = FERRY_JOB_OP_FORGET;
    at->action->destination = (address & ~(uint64_t)3) | scope;
    at->action->space = what >> 4;
    return may_tables(at);
}

// True when the packet is good. *acts: it leads to an action.
static bool run_packet(struct at *at, uint32_t opcode, bool *acts)
{
    const uint8_t *p = at->bytes;
    // Fields beyond a packet that is too short are never used: its length is refused first.
    uint8_t copy_of[48] = {0};

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
    case FERRY_OPCODE_COPY_RECTANGLE:
        return at->limits->tiling ? rectangle(at) : no(at, FERRY_FAULT_KIND_PACKET_OPCODE);
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
        else if (!known_opcode(limits, opcode))
            good = no(&at, FERRY_FAULT_KIND_PACKET_OPCODE);
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
    bool forgets = job->op == FERRY_JOB_OP_FORGET;
    bool reads = job->op != FERRY_JOB_OP_FILL && !forgets, writes = job->op != FERRY_JOB_OP_READ;
    bool linear_source = reads && job->list != FERRY_LIST_SIDE_SOURCE;
    bool linear_destination = writes && job->list != FERRY_LIST_SIDE_DESTINATION;

    if (job->op > FERRY_JOB_OP_FORGET || job->list == 3)
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
    if (forgets)
        return job->length ? "a FORGET with bytes" : 0;
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
    if (linear_source && job->source_kind == VIRTUAL && job->is_protected && writes && job->length &&
        !(linear_destination && within_protected(limits, job->destination_kind, job->destination, job->length)))
        return "content leaves that may be protected";
    if (linear_destination && job->destination_kind == LOCAL && !job->is_protected &&
        overlaps_protected(limits, job->destination, job->length))
        return "protected destination";
    return 0;
}
