// SPDX-License-Identifier: Apache-2.0
// The rules that a packet keeps.
#ifndef FERRY_FIRMWARE_CHECK_H
#define FERRY_FIRMWARE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "flight.h"

// Limits that a packet is held against.
struct ferry_limits {
    uint32_t rights;
    uint32_t local_low, local_high;
    uint32_t protect_base_low, protect_base_high;
    uint32_t protect_limit_low, protect_limit_high;
    uint32_t aperture_pages;
    uint32_t capabilities;
};

// A range that a packet names.
struct ferry_range {
    uint32_t kind, write;
    uint64_t address;
    uint64_t bytes;
    bool far; // Of a rectangle, which must not: it goes over a multiple of 4 GiB.
};

// Both sides of a packet as far as it has them. The side that is a page list has an address kind but no range; when its
// packet is refused the packet's only address stands for it.
struct ferry_sides {
    struct ferry_range source, destination;
    bool has_source, has_destination;
    bool to_list;      // The destination is a page list.
    uint32_t mistaken; // Not 0: a rectangle's words break a rule.
};

// The packet's ranges, as far as it has them.
void ferry_check_sides(const volatile uint32_t *packet, uint32_t opcode, uint32_t places, struct ferry_sides *sides);

// Reads the limits for a packet of the ring.
void ferry_check_limits(struct ferry_limits *limits, const struct ferry_ring *ring);

// Holds one packet against every rule, in the order that the contract gives. left: bytes from the packet to the end of
// its buffer, a multiple of 8, at least 8. Returns false when the packet is refused, with all of fault set but for
// header and packet_offset.
bool ferry_check_packet(const volatile uint32_t *packet, uint32_t left, const struct ferry_limits *limits,
                        struct ferry_fault *fault);

#endif
