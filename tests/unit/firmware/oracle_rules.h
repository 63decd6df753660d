// SPDX-License-Identifier: Apache-2.0
// The oracle's packet at hand, and the rules that several packets share.
#ifndef FERRY_TESTS_FIRMWARE_ORACLE_RULES_H
#define FERRY_TESTS_FIRMWARE_ORACLE_RULES_H

#include "ferry_contract.h"
#include "oracle.h"

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

static inline uint32_t get32(const uint8_t *p)
{
    return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}
static inline uint64_t get64(const uint8_t *p)
{
    return get32(p) | (uint64_t)get32(p + 4) << 32;
}

static inline bool no(struct at *at, uint32_t kind)
{
    at->fault->kind = kind;
    return false;
}

static inline bool no_at(struct at *at, uint32_t kind, uint32_t address_kind, uint64_t address, bool write)
{
    at->fault->kind = kind;
    at->fault->address_kind = address_kind;
    at->fault->address = address;
    at->fault->write = write;
    return false;
}

// A range in 96 bits: true when [address, address + bytes) ends at or before limit.
static inline bool ends_within(uint64_t address, uint64_t bytes, uint64_t limit)
{
    return limit >= bytes && address <= limit - bytes;
}

static inline bool inside(const struct at *at, uint32_t kind, uint64_t address, uint64_t bytes)
{
    if (kind == LOCAL)
        return ends_within(address, bytes, at->limits->local_limit);
    if (kind == APERTURE)
        return ends_within(address, bytes, 4096ull * at->limits->aperture_pages);
    if (kind == VIRTUAL)
        return ends_within(address, bytes, 1ull << 48);
    return bytes == 0 || address <= UINT64_MAX - (bytes - 1);
}

static inline bool overlaps_protected(const struct oracle_limits *limits, uint64_t address, uint64_t bytes)
{
    uint64_t from = address > limits->protect_base ? address : limits->protect_base;
    uint64_t to = address + bytes < limits->protect_limit ? address + bytes : limits->protect_limit;

    return bytes != 0 && from < to;
}

static inline bool within_protected(const struct oracle_limits *limits, uint32_t kind, uint64_t address, uint64_t bytes)
{
    return kind == LOCAL && address >= limits->protect_base && address + bytes <= limits->protect_limit;
}

// Bits that may be set: 1 unordered, 2 protected, 4 source kind, 8 destination kind, 16 list, 32 pattern, 64 snoop.
static inline bool only(const struct at *at, unsigned may)
{
    if (at->header_reserved || at->places_reserved)
        return false;
    return (!at->unordered || (may & 1)) && (!at->is_protected || (may & 2)) && (!at->source_kind || (may & 4)) &&
           (!at->destination_kind || (may & 8)) && (!at->list || (may & 16)) && (!at->pattern_log2 || (may & 32)) &&
           (!at->snoop || (may & 64));
}

static inline bool known_opcode(const struct oracle_limits *limits, uint32_t opcode)
{
    return opcode == FERRY_OPCODE_COPY_RECTANGLE ? limits->tiling
           : opcode >= FERRY_OPCODE_ROOT         ? opcode <= FERRY_OPCODE_FORGET && limits->page_tables
                                                 : true;
}

static inline bool known_kind(const struct at *at, uint32_t kind)
{
    return kind != VIRTUAL || at->limits->page_tables;
}

// A ring that may name no other addresses names one.
static inline bool only_virtual(const struct at *at, uint32_t kind)
{
    return kind == VIRTUAL || !at->limits->page_tables ||
           !(at->limits->rights & FERRY_CORE_FETCH_NEXT_VIRTUAL_ONLY_MASK);
}

static inline bool may_system(const struct at *at)
{
    return at->limits->rights & FERRY_BAR0_RING_RIGHTS_SYSTEM_MASK;
}

static inline bool right_to_protected(struct at *at)
{
    if (at->is_protected && !(at->limits->rights & FERRY_BAR0_RING_RIGHTS_PROTECTED_MASK))
        return no(at, FERRY_FAULT_KIND_RIGHTS);
    return true;
}

#endif
