// SPDX-License-Identifier: Apache-2.0
// Buffers in command slots: claimed, decoded, ended. One buffer of the paging ring and one of the user rings are
// decoded at a time, the paging ring's first. Once all jobs of a buffer are queued the hardware ends it; only what went
// wrong comes back here for its fault record. Nothing but the sequencer is waited for in place: what cannot go on is
// taken up again by the next step.
#include "queues.h"

#include "decode.h"
#include "faults.h"
#include "flight.h"
#include "halt.h"

// Small instead of fast: not run for a buffer that the sequencer takes whole.
#define COLD __attribute__((cold))

static struct ferry_flight flights[FERRY_SLOTS];
static struct ferry_ring rings[FERRY_RINGS];

#define BUSY    FERRY_CORE_WORK_BUSY_MASK
#define WAITING FERRY_CORE_WORK_WAITING_MASK
#define ENDED   FERRY_CORE_WORK_ENDED_MASK
#define PAGING  FERRY_CORE_WORK_PAGING_MASK
#define OFFSET  FERRY_CORE_SEQUENCE_PACKET_OFFSET_MASK
// Rights that the sequencer is told.
#define RIGHTS (FERRY_CORE_SEQUENCE_SYSTEM_MASK | FERRY_CORE_SEQUENCE_TABLES_MASK)
// And what it is told as FETCH_NEXT has it.
#define CLAIMED (FERRY_CORE_FETCH_NEXT_SLOT_MASK | FERRY_CORE_FETCH_NEXT_VIRTUAL_ONLY_MASK)
#define TROUBLE (FERRY_CORE_WORK_FAULT_MASK | FERRY_CORE_WORK_FINISH_MASK)

_Static_assert(OFFSET == FERRY_CORE_WORK_PACKET_OFFSET_MASK, "where WORK says, SEQUENCE goes on");
_Static_assert(RIGHTS == (FERRY_BAR0_RING_RIGHTS_SYSTEM_MASK | FERRY_BAR0_RING_RIGHTS_TABLES_MASK),
               "rights as the ring has them");
_Static_assert(CLAIMED == (FERRY_CORE_SEQUENCE_SLOT_MASK | FERRY_CORE_SEQUENCE_VIRTUAL_ONLY_MASK), "as it was claimed");
_Static_assert(FERRY_CORE_FETCH_NEXT_SLOT_MASK == FERRY_CORE_FINISH_SLOT_MASK, "the slot as it was claimed");

static struct {
    struct ferry_flight *paging, *user; // Begun and not decoded to their end; null when there is none.
    struct ferry_flight *flight_of[FERRY_SLOTS];
    uint32_t slots, slot_bytes;
    uint32_t ring_end; // FETCH_NEXT's ring field is below this.
} queues;

COLD void ferry_queues_start(uint32_t slots, uint32_t ring_count, uint32_t slot_bytes_log2)
{
    const uint32_t runs = FERRY_CORE_ENGINE_STATE_USER_RUNS_MASK | FERRY_CORE_ENGINE_STATE_PAGING_RUNS_MASK;
    uint32_t state = hal_read(FERRY_CORE_ENGINE_STATE);

    // Whatever a firmware before this one had queued is gone: the hardware sees to that before it starts the core.
    ferry_assert((state & runs) == 0, FERRY_HALT_JOBS_QUEUED, state);
    queues.slots = slots;
    queues.ring_end = FERRY_PUT(FERRY_CORE_FETCH_NEXT_RING, ring_count);
    queues.slot_bytes = 1u << slot_bytes_log2;
    queues.paging = 0;
    queues.user = 0;
    for (uint32_t slot = 0; slot < FERRY_SLOTS; slot++) {
        queues.flight_of[slot] = &flights[slot];
        flights[slot].ring = 0;
    }
    for (uint32_t number = 0; number < ring_count; number++) {
        rings[number].registers = hal_ring(FERRY_CORE_RING_AT + number * FERRY_CORE_RING_STRIDE);
        rings[number].number = number;
        // A paging buffer does not wait behind a user's, nor another one for it.
        rings[number].watches = BUSY | WAITING | TROUBLE | (number == 0 ? 0 : PAGING);
    }
}

// --- The stack ------------------------------------------------------------------------------------------------------

#ifdef __riscv

#define FERRY_STACK_MARK 0x46455252u

extern const volatile uint32_t ferry_stack_guard;

// Looks at the word under the stack: behind each call, as nothing else makes the stack deeper, and when there is
// nothing to do.
static inline void look_at_stack(void)
{
    uint32_t guard = ferry_stack_guard;

    ferry_assert(guard == FERRY_STACK_MARK, FERRY_HALT_STACK, guard);
}

#else

static inline void look_at_stack(void) {}

#endif

// --- What went wrong ------------------------------------------------------------------------------------------------

static COLD void take_engine_fault(void)
{
    uint32_t what = hal_read(FERRY_CORE_ENGINE_FAULT);
    uint32_t slot = FERRY_GET(FERRY_CORE_ENGINE_FAULT_SLOT, what);
    uint32_t offset = FERRY_GET(FERRY_CORE_ENGINE_FAULT_PACKET_OFFSET, what);
    struct ferry_flight *flight = queues.flight_of[slot];

    if (!(what & FERRY_CORE_ENGINE_FAULT_VALID_MASK))
        return;
    ferry_assert(slot < queues.slots && flight->ring, FERRY_HALT_FAULT_SLOT, slot);
    ferry_assert(FERRY_GET(FERRY_CORE_ENGINE_FAULT_KIND, what) != FERRY_FAULT_KIND_NONE && (offset & 7) == 0 &&
                     offset < flight->bytes,
                 FERRY_HALT_FAULT_KIND, what);
    // Later jobs of the slot are dropped by the engine, so the first fault is the one that counts.
    if (!flight->stopped)
        ferry_faults_name(flight, what);
    hal_write(FERRY_CORE_ENGINE_FAULT, FERRY_CORE_ENGINE_FAULT_VALID_MASK);
}

// What becomes of a buffer whose jobs are all done, and the fault to report; in the order in which packets came to
// grief.
static COLD uint32_t outcome(struct ferry_flight *flight)
{
    uint32_t aborted = hal_read(FERRY_CORE_ABORTED);

    uint32_t mark = 1u << ferry_slot(flight);

    if (!flight->stopped && (aborted & mark))
        ferry_faults_cut(flight, aborted);
    // It had nothing in the engine when that was found stuck, in a reset that gave memory up.
    else if (!flight->stopped && flight->fault.kind == FERRY_FAULT_KIND_WATCHDOG &&
             (hal_read(FERRY_CORE_POISON) & mark))
        ferry_faults_aborted(flight, flight->fault.packet_offset);
    if (flight->fault.kind == FERRY_FAULT_KIND_ENGINE_RESET)
        return FERRY_BUFFER_STATUS_ABORTED;
    return flight->fault.kind != FERRY_FAULT_KIND_NONE ? FERRY_BUFFER_STATUS_FAULTED : FERRY_BUFFER_STATUS_SUCCESS;
}

// Tells the host what went wrong with the buffer, once the fault log has room, and lets it end.
static COLD void end_with_fault(uint32_t slot)
{
    struct ferry_flight *flight = queues.flight_of[slot];

    if (hal_read(FERRY_CORE_POST_BUSY) || !ferry_faults_room())
        return;

    uint32_t status = outcome(flight);

    if (status != FERRY_BUFFER_STATUS_SUCCESS)
        ferry_faults_post(flight, &flight->fault);
    hal_write(FERRY_CORE_FINISH_STATUS, status);
}

// --- What is to be decoded ------------------------------------------------------------------------------------------

// Where the fetch of the buffer failed. Of an entry that could not be read nothing is known but its place.
static COLD void find_unfetched(const struct ferry_flight *flight, struct ferry_fault *fault)
{
    uint32_t low, high, more = 0;

    if (fault->kind == FERRY_FAULT_KIND_BUFFER_FETCH && flight->bytes == 0) {
        uint32_t ring = flight->ring->registers;
        uint32_t retired = hal_ring_read(ring, FERRY_CORE_RING_RETIRED);
        uint32_t ahead = FERRY_GET(FERRY_CORE_FETCH_NEXT_ENTRY, flight->claim) - 1 - retired;
        uint32_t number = retired + (ahead & FERRY_CORE_FETCH_NEXT_ENTRY_MASK >> FERRY_CORE_FETCH_NEXT_ENTRY_SHIFT);

        low = hal_ring_read(ring, FERRY_CORE_RING_BASE_LOW);
        high = hal_ring_read(ring, FERRY_CORE_RING_BASE_HIGH);
        more = (number & ((1u << hal_ring_read(ring, FERRY_CORE_RING_ENTRIES_LOG2)) - 1)) * FERRY_RING_ENTRY_SIZE;
    } else {
        low = hal_read(FERRY_CORE_FETCH_ADDRESS_LOW);
        high = hal_read(FERRY_CORE_FETCH_ADDRESS_HIGH);
        if (fault->kind == FERRY_FAULT_KIND_BUFFER_FETCH)
            more = FERRY_GET(FERRY_CORE_FETCH_FAILED_OFFSET, hal_read(FERRY_CORE_FETCH_FAILED));
    }
    fault->address_low = low + more;
    fault->address_high = high + (fault->address_low < low);
}

// Tells a buffer that could not be fetched from a broken rule of the hardware.
static COLD __attribute__((noinline)) void look_into_claim(struct ferry_flight *flight)
{
    uint32_t next = flight->claim;

    ferry_assert((next & FERRY_CORE_FETCH_NEXT_RING_MASK) < queues.ring_end, FERRY_HALT_RING, next);
    ferry_assert(next & FERRY_CORE_FETCH_NEXT_FAULT_MASK, FERRY_HALT_BUFFER_BYTES, flight->bytes);
    flight->fault = (struct ferry_fault){
        .kind = FERRY_GET(FERRY_CORE_FETCH_NEXT_FAULT, next),
        .address_kind = FERRY_ADDRESS_KIND_SYSTEM,
    };
    find_unfetched(flight, &flight->fault);
}

// Only one that rests is started: nobody claims while another buffer is sequenced.
static inline void start_sequencer(uint32_t sequence, uint32_t bytes)
{
    hal_write(FERRY_CORE_SEQUENCE_END, bytes);
    hal_write(FERRY_CORE_SEQUENCE, sequence);
}

// In a register from here on: who needs it later does not wait for the load, which is four cycles.
static inline uint32_t loaded(uint32_t value)
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

// What FETCH_NEXT gave: a flight with the sequencer at work on it, or one that is refused.
static inline struct ferry_flight *claim(uint32_t next)
{
    hal_arrived();

    uint32_t bytes = hal_read(FERRY_CORE_FETCH_BYTES);
    uint32_t slot_bytes = loaded(queues.slot_bytes), ring_end = loaded(queues.ring_end);
    const struct ferry_ring *ring = &rings[FERRY_GET(FERRY_CORE_FETCH_NEXT_RING, next)];
    struct ferry_flight *flight = queues.flight_of[FERRY_GET(FERRY_CORE_FETCH_NEXT_SLOT, next)];
    uint32_t rights = hal_ring_read(ring->registers, FERRY_CORE_RING_RIGHTS);
    uint32_t sequence = (next & CLAIMED) | (rights & RIGHTS);
    uint32_t wrong = (next & FERRY_CORE_FETCH_NEXT_FAULT_MASK) | (bytes & 7);
    bool broken = wrong || bytes > slot_bytes || (next & FERRY_CORE_FETCH_NEXT_RING_MASK) >= ring_end;

    // At work before anything is noted here, which then costs no time.
    if (!broken)
        start_sequencer(sequence, bytes);
    flight->claim = next;
    flight->bytes = bytes;
    flight->ring = ring;
    flight->sequence = sequence;
    flight->waits_for_ring = false;
    flight->stopped = false;
    flight->fault.kind = FERRY_FAULT_KIND_NONE;
    if (broken)
        look_into_claim(flight);
    return flight;
}

// --- Decoding -------------------------------------------------------------------------------------------------------

static inline bool engine_stuck(void)
{
    return hal_read(FERRY_CORE_ENGINE_STATE) & FERRY_CORE_ENGINE_STATE_STUCK_MASK;
}

// The engine will have room for the job that waits.
static __attribute__((noinline)) bool room_comes(void)
{
    look_at_stack(); // There is time for it.
    return !engine_stuck();
}

// The sequencer is to make way, for the paging ring or since the engine takes nothing.
static COLD __attribute__((noinline)) enum ferry_progress interrupt_sequencer(struct ferry_flight *flight, bool stuck)
{
    uint32_t work;

    hal_write(FERRY_CORE_SEQUENCE, FERRY_CORE_SEQUENCE_STOP_MASK);
    do {
        work = hal_read(FERRY_CORE_WORK);
    } while (work & BUSY);
    flight->sequencing = false;
    uint32_t moved = (flight->sequence ^ work) & OFFSET;

    // What was checked and is not handed over whole, as a rectangle on its way, need not be checked anew.
    if (moved)
        flight->sequence = (flight->sequence ^ moved) & ~FERRY_CORE_SEQUENCE_CHECKED_MASK;
    if (work & ENDED)
        return FERRY_DECODED;
    if (!stuck)
        return FERRY_LATER;
    ferry_decode_stuck(flight);
    return FERRY_DECODED;
}

// Waits for the sequencer as long as there is nothing else to do, also while it waits for room in an engine that is
// alive; what WORK says then.
static inline uint32_t watch_sequencer(uint32_t watches)
{
    uint32_t work;

    do {
        work = hal_read(FERRY_CORE_WORK);
    } while ((work & watches) == BUSY || ((work & watches) == (BUSY | WAITING) && room_comes()));
    return work;
}

// How far the flight is by what WORK says of the sequencer. FERRY_GOES_ON: it left the packet that flight->sequence
// names.
static inline enum ferry_progress sequenced(struct ferry_flight *flight, uint32_t work)
{
    if (work & BUSY) {
        bool stuck = (work & WAITING) && engine_stuck();

        flight->sequencing = true;
        return stuck || (work & flight->ring->watches & PAGING) ? interrupt_sequencer(flight, stuck) : FERRY_LATER;
    }
    flight->sequencing = false;
    if (work & ENDED)
        return FERRY_DECODED;
    flight->sequence = (flight->sequence & (CLAIMED | RIGHTS)) | (work & OFFSET);
    flight->plain_table_change = work & FERRY_CORE_WORK_TABLE_MASK;
    return FERRY_GOES_ON;
}

// Decodes as far as it goes. At first the sequencer is at work, unless the flight waits for its ring; what WORK said of
// it.
static COLD void decode(struct ferry_flight *flight, uint32_t work)
{
    struct ferry_flight **begun = flight->ring == &rings[0] ? &queues.paging : &queues.user;
    enum ferry_progress progress = flight->waits_for_ring ? FERRY_GOES_ON : sequenced(flight, work);

    while (progress == FERRY_GOES_ON) {
        progress = ferry_decode_left(flight);
        look_at_stack();
        if (progress != FERRY_GOES_ON)
            break;
        // What went wrong elsewhere is not told of behind the rest of a long buffer.
        if (hal_read(FERRY_CORE_WORK) & TROUBLE) {
            progress = FERRY_LATER;
            break;
        }
        start_sequencer(flight->sequence, flight->bytes);
        progress = sequenced(flight, watch_sequencer(flight->ring->watches));
    }
    if (progress == FERRY_LATER) {
        *begun = flight;
        return;
    }
    *begun = 0;
    hal_write(FERRY_CORE_FINISH, flight->fault.kind == FERRY_FAULT_KIND_NONE
                                     ? flight->claim
                                     : flight->claim | FERRY_CORE_FINISH_REFUSED_MASK);
}

// Takes up a flight that was put aside.
static inline void take_up(struct ferry_flight *flight)
{
    if (!flight->sequencing && !flight->waits_for_ring)
        start_sequencer(flight->sequence, flight->bytes);
    decode(flight, watch_sequencer(flight->waits_for_ring ? 0 : flight->ring->watches));
}

static COLD __attribute__((noinline)) void look_into_trouble(uint32_t work)
{
    if (work & FERRY_CORE_WORK_FAULT_MASK)
        take_engine_fault();
    if (work & FERRY_CORE_WORK_FINISH_MASK)
        end_with_fault(FERRY_GET(FERRY_CORE_WORK_FINISH_SLOT, work));
    look_at_stack();
}

// One bounded step: whoever waits is left waiting, and what else there is to do is done first.
static inline void step(void)
{
    uint32_t work = hal_read(FERRY_CORE_WORK);

    if (work & TROUBLE)
        look_into_trouble(work);
    // A paging buffer goes before a user's that waits; decoding stops the sequencer when it sees one.
    if (queues.paging || (queues.user && (queues.user->sequencing || !(work & PAGING)))) {
        take_up(queues.paging ? queues.paging : queues.user);
        return;
    }

    // The hardware gives the paging ring's first. With nothing put aside there is only this and trouble to watch, in
    // half of a step's time: doorbells wait for it.
    uint32_t next = hal_read(FERRY_CORE_FETCH_NEXT);

    if (next == 0) {
        do {
            work = hal_read(FERRY_CORE_WORK);
            look_at_stack(); // It costs nothing here.
            if (!HAL_STAYS || work & TROUBLE || queues.user)
                return;
            next = hal_read(FERRY_CORE_FETCH_NEXT);
        } while (next == 0);
    }

    struct ferry_flight *flight = claim(next);

    if (flight->fault.kind != FERRY_FAULT_KIND_NONE) {
        look_at_stack();
        next |= FERRY_CORE_FINISH_REFUSED_MASK;
    } else {
        work = watch_sequencer(flight->ring->watches);
        if (!(work & ENDED)) {
            decode(flight, work);
            return;
        }
    }
    hal_write(FERRY_CORE_FINISH, next);
}

#ifdef __riscv

void ferry_firmware_run(void)
{
    for (;;)
        step();
}

#else

void ferry_firmware_step(void)
{
    step();
}

#endif
