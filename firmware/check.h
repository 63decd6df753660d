// SPDX-License-Identifier: Apache-2.0
// The rules that a packet keeps.
#ifndef FERRY_FIRMWARE_CHECK_H
#define FERRY_FIRMWARE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "flight.h"

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

// Holds one packet against every rule, in the order that the contract gives. left: bytes from the packet to the end of
// its buffer, a multiple of 8, at least 8. rights: RING.RIGHTS of its ring, with the bit
// virtual_only of FETCH_NEXT beside them. Returns false when the packet is refused,
// with all of fault set but for header and packet_offset.
bool ferry_check_packet(const volatile uint32_t *packet, uint32_t left, uint32_t rights, struct ferry_fault *fault);

#endif
