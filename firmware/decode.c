// SPDX-License-Identifier: Apache-2.0
// Packets that the sequencer leaves, since they take more than comparing or are bad. Each goes through the full check,
// which alone names faults; what passes goes back to the sequencer if it makes a job.
#include "firmware.h"

static uint32_t packet_offset(const struct ferry_flight *flight)
{
    return FERRY_GET(FERRY_CORE_SEQUENCE_PACKET_OFFSET, flight->sequence);
}

// The rest of the buffer is not done; why stands in flight->refusal but for the packet.
static enum ferry_progress refuse_rest(struct ferry_flight *flight, const volatile uint32_t *packet)
{
    flight->refusal.header = packet[0];
    flight->refusal.packet_offset = packet_offset(flight);
    return FERRY_DECODED;
}

void ferry_decode_stuck(struct ferry_flight *flight)
{
    flight->refusal = (struct ferry_fault){.kind = FERRY_FAULT_KIND_WATCHDOG};
    refuse_rest(flight, ferry_packet(flight, packet_offset(flight)));
}

// A change of the aperture table, once every earlier job of the ring is done.
static enum ferry_progress change_table(struct ferry_flight *flight, const volatile uint32_t *packet, bool unmap)
{
    uint32_t list_at = ferry_slot(flight) * FERRY_SLOT_STRIDE + packet_offset(flight) + FERRY_PACKET_MAP_APERTURE_PAGE;
    enum ferry_ring_jobs jobs = ferry_queues_ring_jobs(flight);

    hal_write(FERRY_CORE_BUSY, jobs != FERRY_RING_RUNS);
    if (jobs == FERRY_RING_RUNS) {
        flight->waits_for_ring = true;
        return FERRY_LATER;
    }
    flight->waits_for_ring = false;
    hal_write(FERRY_CORE_PACKETS, 1);
    if (jobs == FERRY_RING_BROKEN)
        return FERRY_DECODED;
    return ferry_mmu_change(packet, list_at, unmap, &flight->refusal) ? FERRY_GOES_ON : refuse_rest(flight, packet);
}

enum ferry_progress ferry_decode_left(struct ferry_flight *flight)
{
    const volatile uint32_t *packet = ferry_packet(flight, packet_offset(flight));
    uint32_t header = packet[0];
    uint32_t opcode = FERRY_GET(FERRY_PACKET_HEADER_OPCODE, header);

    bool may_change = flight->plain_table_change && (hal_ring_read(flight->ring->registers, FERRY_CORE_RING_RIGHTS) &
                                                     FERRY_BAR0_RING_RIGHTS_APERTURE_UPDATE_MASK);

    if (!flight->waits_for_ring && !may_change) {
        struct ferry_limits limits;

        ferry_check_limits(&limits, flight->ring);
        if (!ferry_check_packet(packet, flight->bytes - packet_offset(flight), &limits, &flight->refusal)) {
            hal_write(FERRY_CORE_PACKETS, 1);
            return refuse_rest(flight, packet);
        }
    }
    switch (opcode) {
    case FERRY_OPCODE_NOP:
    case FERRY_OPCODE_DISCARD: hal_write(FERRY_CORE_PACKETS, 1); break;
    case FERRY_OPCODE_MAP_APERTURE:
    case FERRY_OPCODE_UNMAP_APERTURE: {
        enum ferry_progress progress = change_table(flight, packet, opcode == FERRY_OPCODE_UNMAP_APERTURE);

        if (progress != FERRY_GOES_ON)
            return progress;
        break;
    }
    default: flight->sequence |= FERRY_CORE_SEQUENCE_CHECKED_MASK; return FERRY_GOES_ON;
    }
    flight->sequence += 4 * (header & FERRY_PACKET_HEADER_WORDS_MASK);
    return FERRY_GOES_ON;
}
