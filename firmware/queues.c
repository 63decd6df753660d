// SPDX-License-Identifier: Apache-2.0
// Buffers in flight: claimed from fetch, decoded, and retired in order. Retirement never waits in place: each step that
// cannot go on (engine not done, fault log full, record still on its way) is taken up again by the next service.
#include "fast.h"

enum retire_stage {
    RETIRE_NOTHING,      // No record of the oldest buffer was sent yet.
    RETIRE_FAULT_POSTED, // Its fault record was sent.
    RETIRE_FENCE_POSTED, // Its fence record was sent; nobody may be told before it has left.
};

static struct ferry_flight flights[FERRY_SLOTS];
static struct ferry_ring rings[FERRY_RINGS];

// FETCH_NEXT's ring field in place, times this, leads from one ring to the next.
#define RING_STEP (sizeof(struct ferry_ring) >> FERRY_CORE_FETCH_NEXT_RING_SHIFT)
_Static_assert(RING_STEP << FERRY_CORE_FETCH_NEXT_RING_SHIFT == sizeof(struct ferry_ring), "a power of two");
_Static_assert(FERRY_CORE_FETCH_NEXT_SLOT_SHIFT == 0, "the slot is taken as it is");

static struct {
    struct ferry_flight *oldest, *newest; // Decoded and not retired; oldest is null when there is none.
    enum retire_stage stage;
    uint32_t status; // buffer_status of the oldest, from the first stage on.
    struct ferry_flight *flight_of[FERRY_SLOTS];
    uint32_t slots, slot_bytes;
    uint32_t ring_end; // FETCH_NEXT's ring field is below this.
} queues;

// Good buffers are claimed and retired in straight lines, ordered by hand as firmware.h explains at STEP. Whatever is
// out of the ordinary is found by one test and looked into elsewhere.

void ferry_queues_start(uint32_t slots, uint32_t ring_count, uint32_t slot_bytes_log2)
{
    uint32_t registers = FERRY_CORE_RING_AT;

    fast_start();
    queues.slots = slots;
    queues.ring_end = FERRY_PUT(FERRY_CORE_FETCH_NEXT_RING, ring_count);
    queues.slot_bytes = 1u << slot_bytes_log2;
    queues.oldest = 0;
    queues.stage = RETIRE_NOTHING;
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

// Takes the oldest buffer through its fence record to its end. Calls nothing, so that it has nothing to save. stage is
// not RETIRE_NOTHING; queues.status belongs to it.
static bool advance(struct ferry_flight *flight, enum retire_stage stage)
{
    uint32_t status = queues.status;

    struct ferry_ring *ring = flight->ring;
    uint32_t low, high, address_low, address_high, registers, count, faults, last_faulted, busy, words;

    STEP(busy = hal_read(FERRY_CORE_POST_BUSY), busy);
    STEP(registers = ring->registers, registers);
    STEP(low = flight->fence_low, low);
    STEP(high = flight->fence_high, high);
    STEP(count = ring->retired, count);
    STEP(faults = ring->faults, faults);
    STEP(last_faulted = ring->last_faulted, last_faulted);
    if (unlikely(busy)) {
        queues.stage = stage;
        return false;
    }
    if (stage == RETIRE_FAULT_POSTED) {
        STEP(address_low = hal_ring_read(registers, FERRY_CORE_RING_FENCE_ADDRESS_LOW), address_low);
        STEP(address_high = hal_ring_read(registers, FERRY_CORE_RING_FENCE_ADDRESS_HIGH), address_high);
        STEP(count++, count);
        if (unlikely(status != FERRY_BUFFER_STATUS_SUCCESS)) {
            faults++;
            last_faulted = count;
            ring->faults = faults;
            ring->last_faulted = last_faulted;
        }
        hal_write(FERRY_CORE_POST_DATA + FERRY_FENCE_RECORD_VALUE, low);
        hal_write(FERRY_CORE_POST_DATA + FERRY_FENCE_RECORD_VALUE + 4, high);
        hal_write(FERRY_CORE_POST_DATA + FERRY_FENCE_RECORD_STATUS, status);
        STEP(words = FERRY_FENCE_RECORD_SIZE / 4, words);
        hal_write(FERRY_CORE_POST_DATA + FERRY_FENCE_RECORD_FAULTS, faults);
        hal_write(FERRY_CORE_POST_DATA + FERRY_FENCE_RECORD_LAST_FAULTED, last_faulted);
        hal_write(FERRY_CORE_POST_DATA + FERRY_FENCE_RECORD_RETIRED, count);
        hal_write(FERRY_CORE_POST_ADDRESS_LOW, address_low);
        hal_write(FERRY_CORE_POST_ADDRESS_HIGH, address_high);
        hal_write(FERRY_CORE_POST_CONTROL, words);
        ring->retired = count;
        queues.stage = RETIRE_FENCE_POSTED;
    }

    // What comes next is made ready while the record leaves.
    struct ferry_flight *next;
    uint32_t slot, slot_bit, causes, bit, in_flight;

    STEP(slot = flight->slot, slot);
    STEP(slot_bit = flight->slot_bit, slot_bit);
    STEP(causes = flight->interrupt, causes);
    STEP(next = flight->next, next);
    STEP(bit = ring->interrupt_bit, bit);
    STEP(in_flight = ring->in_flight, in_flight);
    STEP(busy = hal_read(FERRY_CORE_POST_BUSY), busy);
    STEP(causes = causes & bit, causes);
    STEP(in_flight--, in_flight);
    if (unlikely(busy))
        return false;
    // The fence record has left: tell the host and give the slot back.
    hal_ring_write(registers, FERRY_CORE_RING_FENCE_VALUE_LOW, low);
    hal_ring_write(registers, FERRY_CORE_RING_FENCE_VALUE_HIGH, high);
    if (unlikely(status != FERRY_BUFFER_STATUS_SUCCESS)) {
        hal_ring_write(registers, FERRY_CORE_RING_FAULTS, faults);
        causes |= FERRY_BAR0_INTERRUPT_STATUS_FAULT_MASK;
    }
    hal_ring_write(registers, FERRY_CORE_RING_RETIRED, count);
    hal_write(FERRY_CORE_INTERRUPT_SET, causes);
    flight->in_flight = 0;
    ring->in_flight = in_flight;
    queues.oldest = next;
    // Given back first: a reset that ends in between marks only slots that are held. Should the slot be taken again
    // before the marks are cleared, then its new buffer came after that reset and none of its jobs is queued.
    hal_write(FERRY_CORE_FETCH_RELEASE, slot);
    hal_write(FERRY_CORE_POISON, slot_bit);
    hal_write(FERRY_CORE_ABORTED, slot_bit);
    queues.stage = RETIRE_NOTHING;
    return next != 0;
}

// Something is not as it is with good buffers: finds out what, and carries retirement on if it can be.
__attribute__((noinline)) static bool trouble(uint32_t retired, uint32_t poison)
{
    struct ferry_flight *flight = queues.oldest;

    ferry_assert((int32_t)(ferry_engine.queued - retired) >= 0, FERRY_HALT_JOBS_RETIRED, retired);
    if (poison)
        take_engine_fault();
    if (!flight)
        return false;
    if (queues.stage == RETIRE_NOTHING) {
        if ((int32_t)(retired - flight->last_job) < 0 || hal_read(FERRY_CORE_POST_BUSY))
            return false;
        queues.status = outcome(flight, poison);
        if (queues.status != FERRY_BUFFER_STATUS_SUCCESS) {
            if (!ferry_faults_room())
                return false;
            ferry_faults_post(flight, &flight->refusal);
        }
        queues.stage = RETIRE_FAULT_POSTED;
    }
    return advance(flight, queues.stage);
}

bool ferry_queues_service(void)
{
    uint32_t retired, resetting, poison, queued, last_job, kind;
    struct ferry_flight *flight;
    enum retire_stage stage;

    // Read in this order. A reset drops jobs, which retires them, while RESETTING is 1, and marks the slots when it
    // ends: whoever saw the dropped jobs as retired sees either RESETTING or the marks.
    STEP(retired = hal_read(FERRY_CORE_JOBS_RETIRED), retired);
    STEP(resetting = hal_read(FERRY_CORE_ENGINE_RESETTING), resetting);
    STEP(poison = hal_read(FERRY_CORE_POISON), poison);
    STEP(queued = ferry_engine.queued, queued);
    STEP(flight = queues.oldest, flight);
    STEP(stage = queues.stage, stage);
    if (unlikely(resetting))
        return false;
    STEP(queued = queued - retired, queued);
    if (unlikely(poison))
        return trouble(retired, poison);
    // Apart from the test above, or the compiler would make one of both with a shift by 31.
    HAL_IN_ORDER(queued);
    if (unlikely((int32_t)queued < 0))
        return trouble(retired, 0);
    if (!flight)
        return false;
    if (stage == RETIRE_NOTHING) {
        STEP(last_job = flight->last_job, last_job);
        STEP(kind = flight->refusal.kind, kind);
        STEP(stage = RETIRE_FAULT_POSTED, stage);
        if ((int32_t)(retired - last_job) < 0)
            return false;
        if (unlikely(kind)) {
            return trouble(retired, 0);
        }
        queues.status = FERRY_BUFFER_STATUS_SUCCESS;
    }
    return advance(flight, stage);
}

// A claimed buffer that is not one to decode: the hardware broke a rule, or the buffer could not be fetched. was: the
// slot's in_flight before.
__attribute__((noinline)) static void look_into_claim(struct ferry_flight *flight, uint32_t next, uint32_t was)
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
static inline struct ferry_flight *claim(void)
{
    uint32_t next, slot, ring_bits, bytes, low, high, address_low, address_high, queued, known, was, bad, more, odd;
    uint32_t interrupt, busy, below_valid, at, step, end;
    struct ferry_flight *flight;
    struct ferry_ring *ring;

    // A comparison with a value that the compiler knows would become a shift by 31.
    STEP(below_valid = hal_constant(FERRY_CORE_FETCH_NEXT_VALID_MASK - 1), below_valid);
    STEP(next = hal_read(FERRY_CORE_FETCH_NEXT), next);
    // What is read and made of it here means nothing if there is no buffer.
    STEP(bytes = hal_read(FERRY_CORE_FETCH_BYTES), bytes);
    STEP(low = hal_read(FERRY_CORE_FETCH_FENCE_LOW), low);
    STEP(slot = next & FERRY_CORE_FETCH_NEXT_SLOT_MASK, slot);
    STEP(busy = below_valid < next, busy);
    STEP(ring_bits = next & FERRY_CORE_FETCH_NEXT_RING_MASK, ring_bits);
    STEP(odd = hal_constant(FERRY_CORE_FETCH_NEXT_FAULT_MASK), odd);
    STEP(interrupt = next & FERRY_CORE_FETCH_NEXT_INTERRUPT_MASK, interrupt);
    STEP(high = hal_read(FERRY_CORE_FETCH_FENCE_HIGH), high);
    STEP(at = slot + slot, at);
    STEP(bad = queues.slots, bad);
    STEP(odd = next & odd, odd);
    STEP(step = (uint32_t)(uintptr_t)ring_bits * RING_STEP, step);
    STEP(address_low = hal_read(FERRY_CORE_FETCH_ADDRESS_LOW), address_low);
    STEP(at = at + at, at);
    STEP(interrupt = interrupt != 0, interrupt);
    hal_write(FERRY_CORE_BUSY, busy);
    STEP(bad = slot >= bad, bad);
    if (!busy)
        return 0;
    hal_arrived();
    STEP(flight = *(struct ferry_flight **)((uintptr_t)queues.flight_of + at * (sizeof flight / 4)), flight);
    STEP(address_high = hal_read(FERRY_CORE_FETCH_ADDRESS_HIGH), address_high);
    STEP(end = queues.ring_end, end);
    STEP(queued = hal_read(FERRY_CORE_JOBS_QUEUED), queued);
    STEP(more = queues.slot_bytes, more);
    STEP(ring = (struct ferry_ring *)((uintptr_t)rings + step), ring);
    STEP(interrupt = 0 - interrupt, interrupt);
    STEP(was = flight->in_flight, was);
    STEP(end = end - 1, end);
    STEP(known = ferry_engine.queued, known);
    STEP(more = more < bytes, more);
    STEP(step = bytes & 7, step);
    STEP(bad = bad | odd, bad);
    flight->bytes = bytes;
    STEP(end = end < ring_bits, end);
    flight->fence_low = low;
    STEP(known = known ^ queued, known);
    flight->fence_high = high;
    STEP(more = more | step, more);
    flight->address_low = address_low;
    STEP(bad = bad | was, bad);
    flight->address_high = address_high;
    STEP(known = known | end, known);
    flight->first_job = queued;
    STEP(bad = bad | more, bad);
    flight->ring = ring;
    flight->interrupt = interrupt;
    STEP(step = 1, step);
    flight->engine.kind = FERRY_FAULT_KIND_NONE;
    STEP(bad = bad | known, bad);
    flight->refusal.kind = FERRY_FAULT_KIND_NONE;
    flight->in_flight = step;
    if (unlikely(bad))
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
            ferry_engine_wait_room();
            continue;
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
        if (!hal_read(FERRY_CORE_ENGINE_RESETTING)) {
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
