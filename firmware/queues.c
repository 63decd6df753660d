// SPDX-License-Identifier: Apache-2.0
// Buffers in flight: claimed from fetch, decoded, and retired in order. Retirement never waits in place: each step that
// cannot go on (engine not done, fault log full, record still on its way) is taken up again by the next service. What
// follows a record (registers, interrupt, the slot's release) is the hardware's.
#include "fast.h"

static struct ferry_flight flights[FERRY_SLOTS];
static struct ferry_ring rings[FERRY_RINGS];

_Static_assert(FERRY_CORE_FETCH_NEXT_SLOT_MASK == FERRY_CORE_POST_CONTROL_SLOT_MASK &&
                   FERRY_CORE_FETCH_NEXT_RING_MASK == FERRY_CORE_POST_CONTROL_RING_MASK &&
                   FERRY_CORE_FETCH_NEXT_INTERRUPT_MASK == FERRY_CORE_POST_CONTROL_INTERRUPT_MASK,
               "what FETCH_NEXT says of an entry is what POST_CONTROL wants of it");

static struct {
    struct ferry_flight *oldest, *newest; // Decoded and not retired; oldest is null when there is none.
    bool fault_posted;                    // The fault record of the oldest was sent; its status is `status`.
    uint32_t status;
    struct ferry_flight *flight_of[FERRY_SLOTS];
    uint32_t slots, slot_bytes;
    uint32_t ring_end; // FETCH_NEXT's ring field is below this.
} queues;

void ferry_queues_start(uint32_t slots, uint32_t ring_count, uint32_t slot_bytes_log2)
{
    uint32_t registers = FERRY_CORE_RING_AT;

    fast_start();
    queues.slots = slots;
    queues.ring_end = FERRY_PUT(FERRY_CORE_FETCH_NEXT_RING, ring_count);
    queues.slot_bytes = 1u << slot_bytes_log2;
    queues.oldest = 0;
    queues.fault_posted = false;
    for (uint32_t slot = 0; slot < FERRY_SLOTS; slot++) {
        flights[slot].in_flight = 0;
        flights[slot].slot = slot;
        queues.flight_of[slot] = &flights[slot];
        flights[slot].slot_bit = 1u << slot;
        flights[slot].packets = hal_command(slot * FERRY_SLOT_STRIDE);
        flights[slot].place = FERRY_PUT(FERRY_CORE_JOB_CONTROL_SLOT, slot);
    }
    for (uint32_t number = 0; number < ring_count; number++) {
        struct ferry_ring *ring = &rings[number];

        ring->registers = hal_ring(registers);
        ring->number = number;
        ring->retired = hal_read(registers + FERRY_CORE_RING_RETIRED);
        ring->faults = hal_read(registers + FERRY_CORE_RING_FAULTS);
        ring->last_faulted = hal_read(registers + FERRY_CORE_RING_LAST_FAULTED);
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

    struct ferry_flight *flight = queues.flight_of[slot];

    ferry_assert(slot < queues.slots && flight->in_flight, FERRY_HALT_FAULT_SLOT, slot);
    ferry_assert(fault.packet_offset < flight->bytes, FERRY_HALT_FAULT_KIND, fault.packet_offset);
    // Later jobs of the slot are dropped by the engine, so the first fault is the one that counts.
    if (flight->engine.kind == FERRY_FAULT_KIND_NONE) {
        flight->engine = fault;
        flight->engine.header = *bytes_after(flight->packets, fault.packet_offset);
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

// Sends the fence record of the oldest buffer, which ends with it. The caller has seen POST_BUSY = 0.
static void post_fence(struct ferry_flight *flight, uint32_t status)
{
    struct ferry_ring *ring = flight->ring;

    ring->retired++;
    if (unlikely(status != FERRY_BUFFER_STATUS_SUCCESS)) {
        ring->faults++;
        ring->last_faulted = ring->retired;
    }
    hal_write(FERRY_CORE_POST_DATA + FERRY_FENCE_RECORD_VALUE, flight->fence_low);
    hal_write(FERRY_CORE_POST_DATA + FERRY_FENCE_RECORD_VALUE + 4, flight->fence_high);
    hal_write(FERRY_CORE_POST_DATA + FERRY_FENCE_RECORD_RETIRED, ring->retired);
    hal_write(FERRY_CORE_POST_DATA + FERRY_FENCE_RECORD_STATUS, status);
    hal_write(FERRY_CORE_POST_DATA + FERRY_FENCE_RECORD_FAULTS, ring->faults);
    hal_write(FERRY_CORE_POST_DATA + FERRY_FENCE_RECORD_LAST_FAULTED, ring->last_faulted);
    hal_write(FERRY_CORE_POST_ADDRESS_LOW, hal_ring_read(ring->registers, FERRY_CORE_RING_FENCE_ADDRESS_LOW));
    hal_write(FERRY_CORE_POST_ADDRESS_HIGH, hal_ring_read(ring->registers, FERRY_CORE_RING_FENCE_ADDRESS_HIGH));
    hal_write(FERRY_CORE_POST_CONTROL, flight->ends);
    ring->in_flight--;
    flight->in_flight = 0;
    queues.oldest = flight->next;
    queues.fault_posted = false;
}

bool ferry_queues_service(void)
{
    // Read in this order. A reset drops jobs, which retires them, while RESETTING is 1, and marks the slots when it
    // ends: whoever saw the dropped jobs as retired sees either RESETTING or the marks.
    uint32_t retired = hal_read(FERRY_CORE_JOBS_RETIRED);
    uint32_t resetting = hal_read(FERRY_CORE_ENGINE_STATE) & FERRY_CORE_ENGINE_STATE_RESETTING_MASK;
    uint32_t poison = hal_read(FERRY_CORE_POISON);
    struct ferry_flight *flight;

    if (resetting)
        return false;
    ferry_assert((int32_t)(ferry_engine.queued - retired) >= 0, FERRY_HALT_JOBS_RETIRED, retired);
    if (poison)
        take_engine_fault();
    flight = queues.oldest;
    if (!flight || (int32_t)(retired - flight->last_job) < 0 || hal_read(FERRY_CORE_POST_BUSY))
        return false;
    if (!queues.fault_posted) {
        queues.status = outcome(flight, poison);
        if (queues.status != FERRY_BUFFER_STATUS_SUCCESS) {
            if (ferry_faults_room()) {
                ferry_faults_post(flight, &flight->refusal);
                queues.fault_posted = true;
            }
            return false;
        }
    }
    post_fence(flight, queues.status);
    return queues.oldest != 0;
}

// Tells a buffer that could not be fetched from one to decode, and a broken rule of the hardware from both. was: the
// slot's in_flight before.
static inline void look_into_claim(struct ferry_flight *flight, uint32_t next, uint32_t was)
{
    uint32_t queued = flight->first_job;

    ferry_assert(flight->slot < queues.slots && !was, FERRY_HALT_SLOT_TAKEN, next);
    ferry_assert((next & FERRY_CORE_FETCH_NEXT_RING_MASK) < queues.ring_end, FERRY_HALT_RING, next);
    ferry_assert(queued == ferry_engine.queued, FERRY_HALT_JOBS_QUEUED, queued);
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
}

// Claims the buffer to decode next; null when there is none.
static struct ferry_flight *claim(void)
{
    uint32_t next = hal_read(FERRY_CORE_FETCH_NEXT);

    hal_write(FERRY_CORE_BUSY, next != 0);
    if (next == 0)
        return 0;
    hal_arrived();

    struct ferry_flight *flight = queues.flight_of[FERRY_GET(FERRY_CORE_FETCH_NEXT_SLOT, next)];
    uint32_t was = flight->in_flight;

    flight->ends = next & (FERRY_CORE_POST_CONTROL_SLOT_MASK | FERRY_CORE_POST_CONTROL_RING_MASK |
                           FERRY_CORE_POST_CONTROL_INTERRUPT_MASK);
    flight->bytes = hal_read(FERRY_CORE_FETCH_BYTES);
    flight->fence_low = hal_read(FERRY_CORE_FETCH_FENCE_LOW);
    flight->fence_high = hal_read(FERRY_CORE_FETCH_FENCE_HIGH);
    flight->address_low = hal_read(FERRY_CORE_FETCH_ADDRESS_LOW);
    flight->address_high = hal_read(FERRY_CORE_FETCH_ADDRESS_HIGH);
    flight->first_job = hal_read(FERRY_CORE_JOBS_QUEUED);
    flight->ring = &rings[FERRY_GET(FERRY_CORE_FETCH_NEXT_RING, next)];
    flight->engine.kind = FERRY_FAULT_KIND_NONE;
    flight->refusal.kind = FERRY_FAULT_KIND_NONE;
    flight->in_flight = 1;
    look_into_claim(flight, next, was);
    return flight;
}

// The flight is decoded to its end: from now on it retires once the engine has retired every job queued so far.
static inline void decoded(struct ferry_flight *flight)
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

// The engine has given up on memory that does not answer: nothing more of the buffer is tried.
static void refuse_stuck(struct ferry_flight *flight, const struct cursor *at)
{
    flight->refusal = (struct ferry_fault){
        .kind = FERRY_FAULT_KIND_WATCHDOG,
        .header = *at->packet,
        .packet_offset = FERRY_GET(FERRY_CORE_JOB_CONTROL_PACKET_OFFSET, at->place),
    };
}

// Checks the flight's packets and hands them to engine and aperture table until its end or a refusal.
static inline void decode(struct ferry_flight *flight)
{
    struct cursor at;
    uint32_t bytes = flight->bytes, packets = 0;

    at.packet = flight->packets;
    at.end = bytes_after(at.packet, bytes);
    at.place = flight->place;
    fast_limits(flight->ring->registers);
    for (;;) {
        uint32_t queued = ferry_engine.queued;

        fast_packets(&at, bytes);
        packets += ferry_engine.queued - queued;
        if (at.packet == at.end)
            break;
        if (ferry_engine.room == 0) {
            if (ferry_engine_wait_room())
                continue;
            refuse_stuck(flight, &at);
            break;
        }
        packets++;
        if (!ferry_decode_full(&at, flight))
            break;
    }
    hal_write(FERRY_CORE_PACKETS, packets);
}

static inline void step(void)
{
    // As many as are done: those behind must not wait until another buffer is decoded.
    while (ferry_queues_service()) {
    }

    struct ferry_flight *flight = claim();

    if (!flight)
        return;
    if (flight->refusal.kind == FERRY_FAULT_KIND_NONE)
        decode(flight);
    decoded(flight);
}

#ifdef __riscv

#define FERRY_STACK_MARK 0x46455252u

extern const volatile uint32_t ferry_stack_guard;

void ferry_firmware_run(void)
{
    for (;;) {
        step();

        uint32_t guard = ferry_stack_guard;

        ferry_assert(guard == FERRY_STACK_MARK, FERRY_HALT_STACK, guard);
    }
}

#else

void ferry_firmware_step(void)
{
    step();
}

#endif

bool ferry_queues_wait_ring(const struct ferry_flight *flight)
{
    const struct ferry_ring *ring = flight->ring;
    uint32_t last_job;

    if (ferry_engine.queued != flight->first_job)
        last_job = ferry_engine.queued;
    else
        last_job = ring->last_job;
    hal_write(FERRY_CORE_BUSY, 0);
    for (;;) {
        uint32_t retired = hal_read(FERRY_CORE_JOBS_RETIRED);

        // The order of the reads as in service.
        if (!(hal_read(FERRY_CORE_ENGINE_STATE) & FERRY_CORE_ENGINE_STATE_RESETTING_MASK)) {
            bool done = (int32_t)(retired - last_job) >= 0;

            // A ring without a buffer in flight has a last_job of any age; and nothing to wait for.
            if (done || (ferry_engine.queued == flight->first_job && ring->in_flight == 0))
                break;
        }
        ferry_queues_service();
    }
    hal_write(FERRY_CORE_BUSY, 1);
    return !(hal_read(FERRY_CORE_POISON) & flight->slot_bit);
}
