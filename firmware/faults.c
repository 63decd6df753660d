// SPDX-License-Identifier: Apache-2.0
// Fault records: out of the engine, into the host's fault log.
#include "faults.h"

#include "halt.h"

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
    for (unsigned word = FERRY_FAULT_RECORD_RESERVED; word < FERRY_FAULT_RECORD_SIZE; word += 4)
        hal_write(FERRY_CORE_POST_DATA + word, 0);
    hal_write(FERRY_CORE_POST_ADDRESS_LOW, log_low + at);
    hal_write(FERRY_CORE_POST_ADDRESS_HIGH, log_high + (log_low + at < at));
    hal_write(FERRY_CORE_POST_CONTROL, FERRY_CORE_POST_CONTROL_SEND_MASK);
}

bool ferry_faults_take(struct ferry_fault *out, uint32_t *slot)
{
    uint32_t what = hal_read(FERRY_CORE_ENGINE_FAULT);

    if (!(what & FERRY_CORE_ENGINE_FAULT_VALID_MASK))
        return false;
    *out = (struct ferry_fault){
        .kind = FERRY_GET(FERRY_CORE_ENGINE_FAULT_KIND, what),
        .address_kind = hal_read(FERRY_CORE_ENGINE_FAULT_KIND),
        .write = FERRY_GET(FERRY_CORE_ENGINE_FAULT_WRITE, what),
        .packet_offset = FERRY_GET(FERRY_CORE_ENGINE_FAULT_PACKET_OFFSET, what),
        .address_low = hal_read(FERRY_CORE_ENGINE_FAULT_ADDRESS_LOW),
        .address_high = hal_read(FERRY_CORE_ENGINE_FAULT_ADDRESS_HIGH),
        .written = hal_read(FERRY_CORE_ENGINE_FAULT_WRITTEN),
        .list_index = hal_read(FERRY_CORE_ENGINE_FAULT_INDEX),
    };
    *slot = FERRY_GET(FERRY_CORE_ENGINE_FAULT_SLOT, what);
    ferry_assert(out->kind != FERRY_FAULT_KIND_NONE && (out->packet_offset & 7) == 0, FERRY_HALT_FAULT_KIND, what);
    hal_write(FERRY_CORE_ENGINE_FAULT, FERRY_CORE_ENGINE_FAULT_VALID_MASK);
    return true;
}
