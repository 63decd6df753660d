// SPDX-License-Identifier: Apache-2.0
// Fault records: out of the engine, into the host's fault log.
#include "faults.h"

#include "check.h"

static uint32_t produced;

void ferry_faults_start(void)
{
    produced = hal_read(FERRY_CORE_FAULT_LOG_PRODUCED);
}

static uint32_t log_entries(void)
{
    return 1u << hal_read(FERRY_CORE_FAULT_LOG_ENTRIES_LOG2);
}

bool ferry_faults_room(void)
{
    return produced - hal_read(FERRY_CORE_FAULT_LOG_CONSUMED) < log_entries();
}

void ferry_faults_post(const struct ferry_flight *flight, const struct ferry_fault *fault)
{
    uint32_t at = (produced & (log_entries() - 1)) * FERRY_FAULT_RECORD_SIZE;
    uint32_t log_low = hal_read(FERRY_CORE_FAULT_LOG_ADDRESS_LOW);
    uint32_t log_high = hal_read(FERRY_CORE_FAULT_LOG_ADDRESS_HIGH);

    produced++;
    hal_write(FERRY_CORE_FETCH_SLOT, ferry_slot(flight));
    hal_write(FERRY_CORE_POST_DATA + FERRY_FAULT_RECORD_SEQUENCE, produced);
    hal_write(FERRY_CORE_POST_DATA + FERRY_FAULT_RECORD_WHAT,
              FERRY_PUT(FERRY_FAULT_RECORD_WHAT_KIND, fault->kind) |
                  FERRY_PUT(FERRY_FAULT_RECORD_WHAT_RING, flight->ring->number) |
                  FERRY_PUT(FERRY_FAULT_RECORD_WHAT_ADDRESS_KIND, fault->address_kind) |
                  FERRY_PUT(FERRY_FAULT_RECORD_WHAT_WRITE, fault->write) |
                  FERRY_PUT(FERRY_FAULT_RECORD_WHAT_PACKET_OFFSET, fault->packet_offset));
    hal_write(FERRY_CORE_POST_DATA + FERRY_FAULT_RECORD_ADDRESS, fault->address_low);
    hal_write(FERRY_CORE_POST_DATA + FERRY_FAULT_RECORD_ADDRESS + 4, fault->address_high);
    hal_write(FERRY_CORE_POST_DATA + FERRY_FAULT_RECORD_FENCE_VALUE, hal_read(FERRY_CORE_FETCH_FENCE_LOW));
    hal_write(FERRY_CORE_POST_DATA + FERRY_FAULT_RECORD_FENCE_VALUE + 4, hal_read(FERRY_CORE_FETCH_FENCE_HIGH));
    hal_write(FERRY_CORE_POST_DATA + FERRY_FAULT_RECORD_BUFFER_ADDRESS, hal_read(FERRY_CORE_FETCH_ADDRESS_LOW));
    hal_write(FERRY_CORE_POST_DATA + FERRY_FAULT_RECORD_BUFFER_ADDRESS + 4, hal_read(FERRY_CORE_FETCH_ADDRESS_HIGH));
    hal_write(FERRY_CORE_POST_DATA + FERRY_FAULT_RECORD_HEADER, fault->header);
    hal_write(FERRY_CORE_POST_DATA + FERRY_FAULT_RECORD_WRITTEN, fault->written);
    hal_write(FERRY_CORE_POST_DATA + FERRY_FAULT_RECORD_LIST_INDEX, fault->list_index);
    hal_write(FERRY_CORE_POST_DATA + FERRY_FAULT_RECORD_WALK, fault->walk);
    hal_write(FERRY_CORE_POST_DATA + FERRY_FAULT_RECORD_ENTRY, fault->entry_low);
    hal_write(FERRY_CORE_POST_DATA + FERRY_FAULT_RECORD_ENTRY + 4, fault->entry_high);
    hal_write(FERRY_CORE_POST_ADDRESS_LOW, log_low + at);
    hal_write(FERRY_CORE_POST_ADDRESS_HIGH, log_high + (log_low + at < at));
    hal_write(FERRY_CORE_POST_CONTROL, FERRY_CORE_POST_CONTROL_SEND_MASK);
}

void ferry_faults_aborted(struct ferry_flight *flight, uint32_t packet_offset)
{
    flight->fault = (struct ferry_fault){.kind = FERRY_FAULT_KIND_ENGINE_RESET, .packet_offset = packet_offset};
}

void ferry_faults_cut(struct ferry_flight *flight, uint32_t what)
{
    uint32_t packet_offset = FERRY_GET(FERRY_CORE_ABORTED_PACKET_OFFSET, what);
    const volatile uint32_t *packet = ferry_packet(flight, packet_offset);
    uint32_t place = hal_read(FERRY_CORE_ABORTED_PLACE);

    ferry_faults_aborted(flight, packet_offset);
    // Others have several jobs, or may begin again as a whole.
    if (FERRY_GET(FERRY_PACKET_HEADER_OPCODE, packet[0]) != FERRY_OPCODE_COPY)
        return;
    if (what & FERRY_CORE_ABORTED_LEFT_MASK)
        place = packet[FERRY_PACKET_COPY_BYTES / 4] - 1 - place;
    flight->fault.written = place;
}

// Of a virtual address page tables say all that data does not.
static bool of_tables(uint32_t kind)
{
    return kind < FERRY_FAULT_KIND_HOST_UNSUPPORTED || kind >= FERRY_FAULT_KIND_PAGE_ABSENT;
}

void ferry_faults_name(struct ferry_flight *flight, uint32_t what)
{
    const uint32_t not_an_address = FERRY_PAGE - 1;
    struct ferry_fault *fault = &flight->fault;
    uint32_t packet_offset = FERRY_GET(FERRY_CORE_ENGINE_FAULT_PACKET_OFFSET, what);
    const volatile uint32_t *packet = ferry_packet(flight, packet_offset);
    uint32_t header = packet[0];
    uint32_t opcode = FERRY_GET(FERRY_PACKET_HEADER_OPCODE, header);
    uint32_t kind = FERRY_GET(FERRY_CORE_ENGINE_FAULT_KIND, what);
    bool pages = opcode == FERRY_OPCODE_COPY_PAGES;
    bool rectangle = opcode == FERRY_OPCODE_COPY_RECTANGLE;
    bool lost = kind == FERRY_FAULT_KIND_WATCHDOG;
    // Of a job that memory let down the first access is named: a read if it has one.
    bool reads = pages || opcode == FERRY_OPCODE_COPY || opcode == FERRY_OPCODE_READ || rectangle;
    bool write = lost ? !reads : FERRY_GET(FERRY_CORE_ENGINE_FAULT_WRITE, what);
    struct ferry_sides sides;

    ferry_check_sides(packet, opcode, packet[1], &sides);

    const struct ferry_range *side = write ? &sides.destination : &sides.source;
    bool in_list = pages && write == sides.to_list;
    uint64_t base = in_list ? packet[FERRY_PACKET_COPY_PAGES_FIRST_OFFSET / 4] : side->address;
    uint32_t position = lost ? (uint32_t)base : hal_read(FERRY_CORE_ENGINE_FAULT_POSITION);
    uint32_t low = position, high = (uint32_t)(base >> 32) + (position < (uint32_t)base), index = 0;

    if (in_list) {
        const volatile uint32_t *entry = &packet[FERRY_PACKET_COPY_PAGES_PAGE / 4];

        index = position / FERRY_PAGE;
        low = entry[2 * index];
        high = entry[2 * index + 1];
        // An entry that is no page's address is shown as it is.
        if (!(low & not_an_address) && !(high >> 20))
            low |= position & not_an_address;
    }
    flight->stopped = true;
    *fault = (struct ferry_fault){
        .kind = kind,
        .address_kind = side->kind,
        .write = write,
        .packet_offset = packet_offset,
        .address_low = low,
        .address_high = high,
        .header = header,
        .list_index = index,
    };
    // Of what data or packets did wrong the page tables say nothing; and pages of a list are never virtual
    // (kinds_hold()).
    if (side->kind == FERRY_ADDRESS_KIND_VIRTUAL && of_tables(kind)) {
        fault->walk = FERRY_FAULT_RECORD_WALK_WALKED_MASK |
                      FERRY_PUT(FERRY_FAULT_RECORD_WALK_HEIGHT, FERRY_GET(FERRY_CORE_ENGINE_FAULT_HEIGHT, what)) |
                      FERRY_PUT(FERRY_FAULT_RECORD_WALK_SPACE, FERRY_GET(FERRY_CORE_FETCH_NEXT_SPACE, flight->claim));
        fault->entry_low = hal_read(FERRY_CORE_ENGINE_FAULT_ENTRY_LOW);
        fault->entry_high = hal_read(FERRY_CORE_ENGINE_FAULT_ENTRY_HIGH);
    }
    // The engine tells of the piece, not of the packet.
    if (rectangle)
        return;
    if (what & FERRY_CORE_ENGINE_FAULT_UP_TO_POSITION_MASK)
        fault->written = position - (uint32_t)base;
    else if (!lost)
        fault->written = hal_read(FERRY_CORE_ENGINE_FAULT_WRITTEN);
}
