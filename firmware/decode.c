// SPDX-License-Identifier: Apache-2.0
// Packets that the sequencer leaves, since they take more than comparing or are bad. Each goes through the full check,
// which alone names faults; what passes goes back to the sequencer, but for changes of the aperture table and roots.
#include "decode.h"

#include "check.h"
#include "faults.h"
#include "mmu.h"

static uint32_t packet_offset(const struct ferry_flight *flight)
{
    return FERRY_GET(FERRY_CORE_SEQUENCE_PACKET_OFFSET, flight->sequence);
}

// The rest of the buffer is not done; why stands in flight->fault but for the packet.
static enum ferry_progress refuse_rest(struct ferry_flight *flight, const volatile uint32_t *packet)
{
    flight->fault.header = packet[0];
    flight->fault.packet_offset = packet_offset(flight);
    return FERRY_DECODED;
}

void ferry_decode_stuck(struct ferry_flight *flight)
{
    if (flight->stopped)
        return;
    flight->fault = (struct ferry_fault){.kind = FERRY_FAULT_KIND_WATCHDOG};
    refuse_rest(flight, ferry_packet(flight, packet_offset(flight)));
}

// How far the earlier jobs of the flight's ring are. BROKEN: the engine stopped a job of this very buffer, or was
// reset; the rest of the buffer must not be done.
enum ring_jobs { RING_RUNS, RING_DONE, RING_BROKEN };
static enum ring_jobs ring_jobs(const struct ferry_flight *flight)
{
    uint32_t runs =
        flight->ring->number == 0 ? FERRY_CORE_ENGINE_STATE_PAGING_RUNS_MASK : FERRY_CORE_ENGINE_STATE_USER_RUNS_MASK;
    const uint32_t entries = FERRY_CORE_FETCH_NEXT_ENTRY_MASK >> FERRY_CORE_FETCH_NEXT_ENTRY_SHIFT;
    uint32_t entry = FERRY_GET(FERRY_CORE_FETCH_NEXT_ENTRY, flight->claim);
    // The ring's earlier buffers have ended, and so have this one's jobs, if it can have any yet; others of the same
    // rights may run on. A reset retires jobs while it goes on, and marks the slots in the cycle in which it ends.
    bool earlier = ((hal_ring_read(flight->ring->registers, FERRY_CORE_RING_RETIRED) + 1 - entry) & entries) != 0;
    bool first = (flight->sequence & FERRY_CORE_SEQUENCE_PACKET_OFFSET_MASK) == 0;
    uint32_t state = hal_read(FERRY_CORE_ENGINE_STATE);

    if (earlier || (state & FERRY_CORE_ENGINE_STATE_RESETTING_MASK) || (!first && (state & runs)))
        return RING_RUNS;
    return hal_read(FERRY_CORE_POISON) & 1u << ferry_slot(flight) ? RING_BROKEN : RING_DONE;
}

// Whether every earlier job of the ring is done, which a change of tables waits for: GOES_ON.
static enum ferry_progress after_the_ring(struct ferry_flight *flight)
{
    enum ring_jobs jobs = ring_jobs(flight);

    hal_write(FERRY_CORE_BUSY, jobs != RING_RUNS);
    if (jobs == RING_RUNS) {
        flight->waits_for_ring = true;
        return FERRY_LATER;
    }
    flight->waits_for_ring = false;
    if (jobs == RING_DONE)
        return FERRY_GOES_ON;
    hal_write(FERRY_CORE_PACKETS, 1);
    // By a reset, if the engine tells of nothing earlier.
    ferry_faults_aborted(flight, packet_offset(flight));
    return FERRY_DECODED;
}

// A change of the aperture table.
static enum ferry_progress change_table(struct ferry_flight *flight, const volatile uint32_t *packet, bool unmap)
{
    uint32_t list_at = ferry_slot(flight) * FERRY_SLOT_STRIDE + packet_offset(flight) + FERRY_PACKET_MAP_APERTURE_PAGE;
    enum ferry_progress progress = after_the_ring(flight);

    if (progress != FERRY_GOES_ON)
        return progress;
    hal_write(FERRY_CORE_PACKETS, 1);
    return ferry_mmu_change(packet, list_at, unmap, &flight->fault) ? FERRY_GOES_ON : refuse_rest(flight, packet);
}

enum ferry_progress ferry_decode_left(struct ferry_flight *flight)
{
    const volatile uint32_t *packet = ferry_packet(flight, packet_offset(flight));
    uint32_t header = packet[0];
    uint32_t opcode = FERRY_GET(FERRY_PACKET_HEADER_OPCODE, header);

    // The engine drops what follows.
    if (flight->stopped)
        return FERRY_DECODED;

    uint32_t rights = hal_ring_read(flight->ring->registers, FERRY_CORE_RING_RIGHTS) |
                      (flight->claim & FERRY_CORE_FETCH_NEXT_VIRTUAL_ONLY_MASK);
    bool may_change = flight->plain_table_change && (rights & FERRY_BAR0_RING_RIGHTS_APERTURE_UPDATE_MASK);

    if (!flight->waits_for_ring && !may_change &&
        !ferry_check_packet(packet, flight->bytes - packet_offset(flight), rights, &flight->fault)) {
        hal_write(FERRY_CORE_PACKETS, 1);
        return refuse_rest(flight, packet);
    }
    switch (opcode) {
    case FERRY_OPCODE_MAP_APERTURE:
    case FERRY_OPCODE_UNMAP_APERTURE: {
        enum ferry_progress progress = change_table(flight, packet, opcode == FERRY_OPCODE_UNMAP_APERTURE);

        if (progress != FERRY_GOES_ON)
            return progress;
        break;
    }
    case FERRY_OPCODE_ROOT: {
        enum ferry_progress progress = after_the_ring(flight);

        if (progress != FERRY_GOES_ON)
            return progress;
        hal_write(FERRY_CORE_PACKETS, 1);
        ferry_mmu_root(packet);
        break;
    }
    default: flight->sequence |= FERRY_CORE_SEQUENCE_CHECKED_MASK; return FERRY_GOES_ON;
    }
    flight->sequence += 4 * (header & FERRY_PACKET_HEADER_WORDS_MASK);
    return FERRY_GOES_ON;
}
