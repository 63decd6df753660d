// SPDX-License-Identifier: Apache-2.0
// From packets to jobs, the long way. What the fast path (fast.h) does not take, be it malformed or merely rare, goes
// through the full check, which alone names faults.
#include "decode.h"

// False: an earlier packet of the buffer came to grief, so the change was not made; or this one did.
static bool change_table(const volatile uint32_t *packet, struct ferry_flight *flight)
{
    if (!ferry_queues_wait_ring(flight))
        return false;
    return ferry_mmu_change(packet, hal_command_at(packet) + FERRY_PACKET_MAP_APERTURE_PAGE,
                            (packet[0] & FERRY_PACKET_HEADER_OPCODE_MASK) == FERRY_OPCODE_UNMAP_APERTURE,
                            &flight->refusal);
}

// Hands over a packet that passed the full check.
static bool carry_out(const struct cursor *at, struct ferry_flight *flight)
{
    const volatile uint32_t *packet = at->packet;
    uint32_t header = packet[0], places = packet[1];
    uint32_t source_kind = FERRY_GET(FERRY_PACKET_PLACES_SOURCE_KIND, places);
    uint32_t destination_kind = FERRY_GET(FERRY_PACKET_PLACES_DESTINATION_KIND, places);
    uint32_t opcode = FERRY_GET(FERRY_PACKET_HEADER_OPCODE, header);

    if (opcode == FERRY_OPCODE_NOP || opcode == FERRY_OPCODE_DISCARD)
        return true;

    // BYTES stands in the same place wherever there is one; the other opcodes set their length below.
    struct ferry_job job = {
        .length = packet[WORD(COPY_BYTES)],
        .control = at->place | CONTROL(SOURCE_KIND, source_kind) | CONTROL(DESTINATION_KIND, destination_kind),
    };

    if (header & UNORDERED)
        job.control |= CONTROL(UNORDERED, 1);
    if (header & FERRY_PACKET_HEADER_PROTECTED_MASK)
        job.control |= CONTROL(PROTECTED, 1);
    switch (opcode) {
    case FERRY_OPCODE_COPY:
        job.control |= CONTROL(OP, FERRY_JOB_OP_COPY);
        job.source_low = packet[WORD(COPY_SOURCE)];
        job.source_high = packet[WORD(COPY_SOURCE) + 1];
        job.destination_low = packet[WORD(COPY_DESTINATION)];
        job.destination_high = packet[WORD(COPY_DESTINATION) + 1];
        break;
    case FERRY_OPCODE_COPY_PAGES: {
        uint32_t list = FERRY_GET(FERRY_PACKET_PLACES_LIST, places);
        uint32_t address_low = packet[WORD(COPY_PAGES_ADDRESS)];
        uint32_t address_high = packet[WORD(COPY_PAGES_ADDRESS) + 1];
        uint32_t first_offset = packet[WORD(COPY_PAGES_FIRST_OFFSET)];
        bool from_list = list == FERRY_LIST_SIDE_SOURCE;

        job.control |= CONTROL(OP, FERRY_JOB_OP_COPY) | CONTROL(LIST, list);
        job.list_at = hal_command_at(packet) + FERRY_PACKET_COPY_PAGES_PAGE;
        job.source_low = from_list ? first_offset : address_low;
        job.source_high = from_list ? 0 : address_high;
        job.destination_low = from_list ? address_low : first_offset;
        job.destination_high = from_list ? address_high : 0;
        break;
    }
    case FERRY_OPCODE_FILL:
        job.control |=
            CONTROL(OP, FERRY_JOB_OP_FILL) | CONTROL(PATTERN_LOG2, FERRY_GET(FERRY_PACKET_PLACES_PATTERN_LOG2, places));
        job.source_low = packet[WORD(FILL_PATTERN)];
        job.source_high = packet[WORD(FILL_PATTERN) + 1];
        job.destination_low = packet[WORD(FILL_DESTINATION)];
        job.destination_high = packet[WORD(FILL_DESTINATION) + 1];
        break;
    case FERRY_OPCODE_READ:
        job.control |= CONTROL(OP, FERRY_JOB_OP_READ);
        job.source_low = packet[WORD(READ_SOURCE)];
        job.source_high = packet[WORD(READ_SOURCE) + 1];
        break;
    case FERRY_OPCODE_WRITE:
        job.control |= CONTROL(OP, FERRY_JOB_OP_FILL) | CONTROL(PATTERN_LOG2, 3);
        job.source_low = packet[WORD(WRITE_VALUE)];
        job.source_high = packet[WORD(WRITE_VALUE) + 1];
        job.destination_low = packet[WORD(WRITE_DESTINATION)];
        job.destination_high = packet[WORD(WRITE_DESTINATION) + 1];
        break;
    case FERRY_OPCODE_FENCE:
        job.control |= CONTROL(OP, FERRY_JOB_OP_FILL) | CONTROL(PATTERN_LOG2, 3);
        job.source_low = packet[WORD(FENCE_VALUE)];
        job.source_high = packet[WORD(FENCE_VALUE) + 1];
        job.destination_low = packet[WORD(FENCE_ADDRESS)];
        job.destination_high = packet[WORD(FENCE_ADDRESS) + 1];
        job.length = 8;
        break;
    case FERRY_OPCODE_MAP_APERTURE:
    case FERRY_OPCODE_UNMAP_APERTURE: return change_table(packet, flight);
    default: ferry_halt(FERRY_HALT_CHECK, header);
    }
    ferry_engine_queue(&job);
    return true;
}

// Accepts plain changes of the aperture table without the full check; their rules in full are in check.c.
static inline bool plain_table_change(const uint32_t *packet, uint32_t left, uint32_t words, uint32_t ring)
{
    uint32_t header, low_half, list, bytes, bad, more, rights, places, first, count, pages, end, mask;

    STEP(bytes = words * 4, bytes);
    STEP(header = packet[0], header);
    STEP(low_half = 1u << FERRY_PACKET_HEADER_WORDS_SHIFT, low_half);
    STEP(more = words < FERRY_PACKET_UNMAP_APERTURE_SIZE / 4, more);
    STEP(low_half = low_half - 1, low_half);
    STEP(bad = left < bytes, bad);
    STEP(rights = hal_ring_read(ring, FERRY_CORE_RING_RIGHTS), rights);
    STEP(list = words - FERRY_PACKET_MAP_APERTURE_SIZE / 4, list);
    STEP(low_half = header & low_half, low_half);
    STEP(bad = bad | more, bad);
    STEP(rights = rights & FERRY_BAR0_RING_RIGHTS_APERTURE_UPDATE_MASK, rights);
    STEP(pages = hal_read(FERRY_CORE_APERTURE_PAGES), pages);
    if (bad)
        return false;
    STEP(places = packet[WORD(MAP_APERTURE_PLACES)], places);
    STEP(first = packet[WORD(MAP_APERTURE_FIRST_PAGE)], first);
    STEP(count = packet[WORD(MAP_APERTURE_COUNT)], count);
    STEP(rights = rights < 1, rights);
    STEP(mask = places & ~FERRY_PACKET_PLACES_SNOOP_MASK, mask);
    STEP(end = first + count, end);
    STEP(bad = count < 1, bad);
    // Doubled rather than the list halved; a count that is not below the list could wrap around into a good one.
    STEP(more = count < list, more);
    STEP(list = list - count, list);
    STEP(bad = bad | rights, bad);
    STEP(first = end < first, first);
    STEP(pages = pages < end, pages);
    STEP(more = more ^ 1, more);
    STEP(list = list ^ count, list);
    STEP(first = first | pages, first);
    if (low_half == FERRY_OPCODE_MAP_APERTURE)
        return (bad | first | mask | more | list) == 0;
    return header == HEADER(UNMAP_APERTURE) && (bad | first | places) == 0;
}

// The packet through the full check. Apart from the changes of the table, which need none of its registers.
__attribute__((noinline)) static bool long_way(struct cursor *at, struct ferry_flight *flight)
{
    struct ferry_limits limits;
    uint32_t left = (uint32_t)((uintptr_t)at->end - (uintptr_t)at->packet);

    ferry_check_limits(&limits, flight->ring);
    return ferry_check_packet(at->packet, left, &limits, &flight->refusal) && carry_out(at, flight);
}

bool ferry_decode_full(struct cursor *at, struct ferry_flight *flight)
{
    const uint32_t *packet = at->packet;
    uint32_t left = (uint32_t)((uintptr_t)at->end - (uintptr_t)packet);
    uint32_t words = hal_upper_half(packet);
    bool done;

    if (plain_table_change(packet, left, words, flight->ring->registers))
        done = change_table(packet, flight);
    else
        done = long_way(at, flight);
    if (!done) {
        flight->refusal.header = packet[0];
        flight->refusal.packet_offset = FERRY_GET(FERRY_CORE_JOB_CONTROL_PACKET_OFFSET, at->place);
        return false;
    }
    at->place += 4 * (packet[0] & FERRY_PACKET_HEADER_WORDS_MASK);
    at->packet = packet + words;
    return true;
}
