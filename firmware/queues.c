// SPDX-License-Identifier: Apache-2.0
// Buffers in flight: claimed from fetch, decoded, and retired in order. Retirement never waits in place: each step that
// cannot go on (engine not done, fault log full, record still on its way) is taken up again by the next service.
#include "firmware.h"

enum retire_stage {
    RETIRE_NOTHING,      // No record of the oldest buffer was sent yet.
    RETIRE_FAULT_POSTED, // Its fault record was sent.
    RETIRE_FENCE_POSTED, // Its fence record was sent; nobody may be told before it has left.
};

static struct ferry_flight flights[FERRY_SLOTS];
static struct ferry_ring rings[FERRY_RINGS];
static struct ferry_flight *const flight_of[FERRY_SLOTS] = {&flights[0], &flights[1], &flights[2], &flights[3]};
static struct ferry_ring *const ring_of[FERRY_RINGS] = {&rings[0], &rings[1], &rings[2], &rings[3], &rings[4]};

static struct {
    struct ferry_flight *oldest, *newest; // Decoded and not retired; oldest is null when there is none.
    uint32_t slots, ring_count, slot_bytes;
    enum retire_stage stage;
    uint32_t status; // buffer_status of the oldest, from the first stage on.
    uint32_t busy;   // CORE_BUSY runs.
} queues;

void ferry_queues_start(uint32_t slots, uint32_t ring_count, uint32_t slot_bytes_log2)
{
    uint32_t registers = FERRY_CORE_RING_AT;

    queues.slots = slots;
    queues.ring_count = ring_count;
    queues.slot_bytes = 1u << slot_bytes_log2;
    queues.oldest = 0;
    queues.stage = RETIRE_NOTHING;
    queues.busy = 0;
    for (uint32_t slot = 0; slot < FERRY_SLOTS; slot++) {
        flights[slot].in_flight = 0;
        flights[slot].slot = slot;
        flights[slot].slot_bit = 1u << slot;
        flights[slot].command_at = slot * FERRY_SLOT_STRIDE;
        flights[slot].place = FERRY_PUT(FERRY_CORE_JOB_CONTROL_SLOT, slot);
    }
    for (uint32_t number = 0; number < ring_count; number++) {
        struct ferry_ring *ring = &rings[number];

        ring->registers = registers;
        ring->number = number;
        ring->interrupt_bit = 1u << number;
        ring->retired = hal_read(registers + FERRY_CORE_RING_RETIRED);
        ring->faults = hal_read(registers + FERRY_CORE_RING_FAULTS);
        ring->last_faulted = 0;
        ring->in_flight = 0;
        registers += FERRY_CORE_RING_STRIDE;
    }
}

static void take_engine_fault(void)
{
    struct ferry_fault fault;
    uint32_t slot;

    if (!ferry_faults_take(&fault, &slot))
        return;

    struct ferry_flight *flight = flight_of[slot];

    ferry_assert(slot < queues.slots && flight->in_flight, FERRY_HALT_FAULT_SLOT, slot);
    ferry_assert(fault.packet_offset < flight->bytes, FERRY_HALT_FAULT_KIND, fault.packet_offset);
    // Later jobs of the slot are dropped by the engine, so the first fault is the one that counts.
    if (flight->engine.kind == FERRY_FAULT_KIND_NONE) {
        flight->engine = fault;
        flight->engine.header = *hal_command(flight->command_at + fault.packet_offset);
    }
}

// What becomes of a buffer whose jobs are all done, and the fault to report; in the order in which packets came to
// grief.
static uint32_t outcome(struct ferry_flight *flight, uint32_t poison)
{
    if (flight->engine.kind != FERRY_FAULT_KIND_NONE) {
        flight->refusal = flight->engine;
        return FERRY_BUFFER_STATUS_FAULTED;
    }
    if ((poison & flight->slot_bit) && (hal_read(FERRY_CORE_ABORTED) & flight->slot_bit)) {
        flight->refusal = (struct ferry_fault){.kind = FERRY_FAULT_KIND_ENGINE_RESET};
        return FERRY_BUFFER_STATUS_ABORTED;
    }
    return flight->refusal.kind != FERRY_FAULT_KIND_NONE ? FERRY_BUFFER_STATUS_FAULTED : FERRY_BUFFER_STATUS_SUCCESS;
}

static void post_fence(const struct ferry_flight *flight, struct ferry_ring *ring)
{
    ring->retired++;
    if (queues.status != FERRY_BUFFER_STATUS_SUCCESS) {
        ring->faults++;
        ring->last_faulted = ring->retired;
    }
    hal_write(FERRY_CORE_POST_DATA + FERRY_FENCE_RECORD_VALUE, flight->fence_low);
    hal_write(FERRY_CORE_POST_DATA + FERRY_FENCE_RECORD_VALUE + 4, flight->fence_high);
    hal_write(FERRY_CORE_POST_DATA + FERRY_FENCE_RECORD_RETIRED, ring->retired);
    hal_write(FERRY_CORE_POST_DATA + FERRY_FENCE_RECORD_STATUS, queues.status);
    hal_write(FERRY_CORE_POST_DATA + FERRY_FENCE_RECORD_FAULTS, ring->faults);
    hal_write(FERRY_CORE_POST_DATA + FERRY_FENCE_RECORD_LAST_FAULTED, ring->last_faulted);
    hal_write(FERRY_CORE_POST_ADDRESS_LOW, hal_read(ring->registers + FERRY_CORE_RING_FENCE_ADDRESS_LOW));
    hal_write(FERRY_CORE_POST_ADDRESS_HIGH, hal_read(ring->registers + FERRY_CORE_RING_FENCE_ADDRESS_HIGH));
    hal_write(FERRY_CORE_POST_CONTROL, FERRY_FENCE_RECORD_SIZE / 4);
}

// The fence record has left: tell the host and give the slot back.
static void finish(struct ferry_flight *flight, struct ferry_ring *ring)
{
    uint32_t causes = flight->interrupt ? ring->interrupt_bit : 0;

    hal_write(ring->registers + FERRY_CORE_RING_FENCE_VALUE_LOW, flight->fence_low);
    hal_write(ring->registers + FERRY_CORE_RING_FENCE_VALUE_HIGH, flight->fence_high);
    if (queues.status != FERRY_BUFFER_STATUS_SUCCESS) {
        hal_write(ring->registers + FERRY_CORE_RING_FAULTS, ring->faults);
        causes |= FERRY_BAR0_INTERRUPT_STATUS_FAULT_MASK;
    }
    hal_write(ring->registers + FERRY_CORE_RING_RETIRED, ring->retired);
    if (causes)
        hal_write(FERRY_CORE_INTERRUPT_SET, causes);

    flight->in_flight = 0;
    ring->in_flight--;
    queues.oldest = flight->next;
    queues.stage = RETIRE_NOTHING;
    // Given back first: a reset that ends in between marks only slots that are held. Should the slot be taken again
    // before the marks are cleared, then its new buffer came after that reset and none of its jobs is queued.
    hal_write(FERRY_CORE_FETCH_RELEASE, flight->slot);
    hal_write(FERRY_CORE_POISON, flight->slot_bit);
    hal_write(FERRY_CORE_ABORTED, flight->slot_bit);
}

void ferry_queues_service(void)
{
    // Read in this order. A reset drops jobs, which retires them, while RESETTING is 1, and marks the slots when it
    // ends: whoever saw the dropped jobs as retired sees either RESETTING or the marks.
    uint32_t retired = hal_read(FERRY_CORE_JOBS_RETIRED);

    if (hal_read(FERRY_CORE_ENGINE_RESETTING))
        return;

    uint32_t poison = hal_read(FERRY_CORE_POISON);

    ferry_assert((int32_t)(ferry_engine.queued - retired) >= 0, FERRY_HALT_JOBS_RETIRED, retired);
    if (poison)
        take_engine_fault();
    while (queues.oldest) {
        struct ferry_flight *flight = queues.oldest;
        struct ferry_ring *ring = flight->ring;

        if (queues.stage == RETIRE_NOTHING) {
            if ((int32_t)(retired - flight->last_job) < 0)
                return;
            if (flight->refusal.kind | poison) {
                if (hal_read(FERRY_CORE_POST_BUSY))
                    return;
                queues.status = outcome(flight, poison);
                if (queues.status != FERRY_BUFFER_STATUS_SUCCESS) {
                    if (!ferry_faults_room())
                        return;
                    ferry_faults_post(flight, &flight->refusal);
                }
            } else {
                queues.status = FERRY_BUFFER_STATUS_SUCCESS;
            }
            queues.stage = RETIRE_FAULT_POSTED;
        }
        if (hal_read(FERRY_CORE_POST_BUSY))
            return;
        if (queues.stage == RETIRE_FAULT_POSTED) {
            post_fence(flight, ring);
            queues.stage = RETIRE_FENCE_POSTED;
            if (hal_read(FERRY_CORE_POST_BUSY))
                return;
        }
        finish(flight, ring);
    }
}

static void set_busy(uint32_t busy)
{
    if (queues.busy != busy) {
        queues.busy = busy;
        hal_write(FERRY_CORE_BUSY, busy);
    }
}

struct ferry_flight *ferry_queues_claim(void)
{
    uint32_t next = hal_read(FERRY_CORE_FETCH_NEXT);

    if (!(next & FERRY_CORE_FETCH_NEXT_VALID_MASK)) {
        set_busy(0);
        return 0;
    }
    set_busy(1);

    uint32_t slot = FERRY_GET(FERRY_CORE_FETCH_NEXT_SLOT, next);
    uint32_t ring = FERRY_GET(FERRY_CORE_FETCH_NEXT_RING, next);
    uint32_t queued = hal_read(FERRY_CORE_JOBS_QUEUED);
    struct ferry_flight *flight = flight_of[slot];

    ferry_assert(slot < queues.slots && !flight->in_flight, FERRY_HALT_SLOT_TAKEN, next);
    ferry_assert(ring < queues.ring_count, FERRY_HALT_RING, next);
    ferry_assert(queued == ferry_engine.queued, FERRY_HALT_JOBS_QUEUED, queued);
    flight->in_flight = 1;
    flight->ring = ring_of[ring];
    flight->interrupt = next & FERRY_CORE_FETCH_NEXT_INTERRUPT_MASK;
    flight->first_job = queued;
    flight->bytes = hal_read(FERRY_CORE_FETCH_BYTES);
    flight->fence_low = hal_read(FERRY_CORE_FETCH_FENCE_LOW);
    flight->fence_high = hal_read(FERRY_CORE_FETCH_FENCE_HIGH);
    flight->address_low = hal_read(FERRY_CORE_FETCH_ADDRESS_LOW);
    flight->address_high = hal_read(FERRY_CORE_FETCH_ADDRESS_HIGH);
    flight->engine.kind = FERRY_FAULT_KIND_NONE;
    flight->refusal.kind = FERRY_FAULT_KIND_NONE;
    if (next & FERRY_CORE_FETCH_NEXT_FAULT_MASK) {
        flight->refusal = (struct ferry_fault){
            .kind = FERRY_GET(FERRY_CORE_FETCH_NEXT_FAULT, next),
            .address_kind = FERRY_ADDRESS_KIND_SYSTEM,
            .address_low = flight->address_low,
            .address_high = flight->address_high,
        };
    } else {
        ferry_assert(flight->bytes <= queues.slot_bytes && (flight->bytes & 7) == 0, FERRY_HALT_BUFFER_BYTES,
                     flight->bytes);
    }
    return flight;
}

void ferry_queues_decoded(struct ferry_flight *flight)
{
    struct ferry_ring *ring = flight->ring;

    flight->last_job = ferry_engine.queued;
    if (flight->last_job != flight->first_job || ring->in_flight == 0)
        ring->last_job = flight->last_job;
    ring->in_flight++;
    flight->next = 0;
    if (queues.oldest)
        queues.newest->next = flight;
    else
        queues.oldest = flight;
    queues.newest = flight;
}

bool ferry_queues_wait_ring(const struct ferry_flight *flight)
{
    const struct ferry_ring *ring = flight->ring;
    uint32_t last_job;

    if (ferry_engine.queued != flight->first_job)
        last_job = ferry_engine.queued;
    else
        last_job = ring->last_job;
    set_busy(0);
    for (;;) {
        uint32_t retired = hal_read(FERRY_CORE_JOBS_RETIRED);

        // The order of the reads as in service.
        if (!hal_read(FERRY_CORE_ENGINE_RESETTING)) {
            bool done = (int32_t)(retired - last_job) >= 0;

            // A ring without a buffer in flight has a last_job of any age; and nothing to wait for.
            if (done || (ferry_engine.queued == flight->first_job && ring->in_flight == 0))
                break;
        }
        ferry_queues_service();
    }
    set_busy(1);
    return !(hal_read(FERRY_CORE_POISON) & flight->slot_bit);
}
