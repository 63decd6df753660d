// SPDX-License-Identifier: Apache-2.0
// Types and calls that the firmware's files share. One thread, no interrupts: everything runs from
// ferry_firmware_step().
#ifndef FERRY_FIRMWARE_H
#define FERRY_FIRMWARE_H

#include "hal.h"
#include "halt.h"

#define FERRY_SLOTS 4u
#define FERRY_RINGS FERRY_CORE_RING_COUNT
#define FERRY_PAGE  4096u
// Slots stand so many bytes apart in command RAM, whatever their size.
#define FERRY_SLOT_STRIDE 4096u

// A fault, before it is written into the log. address_* are of address_kind.
struct ferry_fault {
    uint32_t kind; // One of ferry_fault_kind; NONE = no fault.
    uint32_t address_kind;
    uint32_t write; // 0 or 1.
    uint32_t packet_offset;
    uint32_t address_low, address_high;
    uint32_t header;
    uint32_t written;
    uint32_t list_index;
};

// A ring, as far as retirement needs it. The first fields are set once at start.
struct ferry_ring {
    uint32_t registers; // Its core registers; hal_ring().
    uint32_t number;
    uint32_t retired, faults, last_faulted;
    uint32_t in_flight; // Decoded buffers that have not retired.
    uint32_t last_job;  // Number of the last job of those.
    uint32_t unused;    // To 32 bytes: the core finds a ring by one shift.
};

// A buffer in flight: claimed from fetch and not yet retired. There is one for each slot. The first fields are set once
// at start, since shifting by a slot's number takes the small core longer than loading what comes of it.
struct ferry_flight {
    uint32_t slot, slot_bit;
    const uint32_t *packets;   // The slot in command RAM.
    uint32_t place;            // JOB_CONTROL's slot field.
    uint32_t in_flight;        // 0 or 1.
    struct ferry_flight *next; // The buffer that retires after this one.
    struct ferry_ring *ring;
    uint32_t ends;      // What POST_CONTROL gets with the fence record: FETCH_NEXT as it was claimed.
    uint32_t first_job; // JOBS_QUEUED when the buffer was claimed.
    uint32_t last_job;  // JOBS_RETIRED once every job of the buffer is done; from ferry_queues_decoded() on.
    uint32_t bytes;
    uint32_t fence_low, fence_high;
    uint32_t address_low, address_high;
    struct ferry_fault refusal; // Refused by fetch or by the checks of decode.
    struct ferry_fault engine;  // Reported by the engine; of an earlier packet than the refusal.
};

// Limits that a packet is held against.
struct ferry_limits {
    uint32_t rights;
    uint32_t local_low, local_high;
    uint32_t protect_base_low, protect_base_high;
    uint32_t protect_limit_low, protect_limit_high;
    uint32_t aperture_pages;
};

// boot.c -------------------------------------------------------------------------------------------------------------

// Checks the hardware and the host's contract and takes over the counters. False: refused, FIRMWARE_STATE says so, and
// ferry_firmware_step() must not be called.
bool ferry_firmware_start(void);

// Stops with a record of an invariant of our own that broke.
_Noreturn void ferry_halt(enum ferry_halt code, uint32_t argument);

#define unlikely(condition) __builtin_expect((condition) != 0, 0)
#define likely(condition)   __builtin_expect((condition) != 0, 1)

// One step of a path that was ordered by hand, in the place where it stands. On the small core an instruction that
// needs the result of the one before waits four cycles for it, and a branch costs as much as three other instructions.
// So such a path has few branches, adds up the reasons to leave it, and each step stands some steps behind those whose
// results it uses; the compiler, which knows nothing of this, must leave the order alone.
#define STEP(statement, variable)                                                                                      \
    statement;                                                                                                         \
    HAL_IN_ORDER(variable)

static inline void ferry_assert(bool holds, enum ferry_halt code, uint32_t argument)
{
    if (!holds)
        ferry_halt(code, argument);
}

// queues.c -----------------------------------------------------------------------------------------------------------

// Takes over the rings' counters. slots: number of command slots that the hardware has, 1 to FERRY_SLOTS.
void ferry_queues_start(uint32_t slots, uint32_t rings, uint32_t slot_bytes_log2);

// Retires what is done and decodes the next fetched buffer, if there is one.
void ferry_firmware_step(void);

// On the core: that again and again, with an eye on the word under the stack.
_Noreturn void ferry_firmware_run(void);

// Takes the engine's fault and carries the retirement of the oldest buffer on as far as it goes without waiting. True
// when the buffer retired and another one follows.
bool ferry_queues_service(void);

// Waits, retiring meanwhile, until every job so far of the flight's ring is done. Waits for the engine alone, never for
// the host. False: the engine stopped a job of this very buffer, or was reset; the rest of the buffer must not be done.
bool ferry_queues_wait_ring(const struct ferry_flight *flight);

// engine.c -----------------------------------------------------------------------------------------------------------

// Jobs queued and jobs that the engine surely takes without making the core wait, as last seen.
struct ferry_engine {
    uint32_t queued; // In step with JOBS_QUEUED.
    uint32_t room;
};
extern struct ferry_engine ferry_engine;

void ferry_engine_start(void);

// Waits, retiring meanwhile, until room is at least 1. The write of JOB_CONTROL would wait as well, but a core that
// waits there cannot take a fault that the engine holds, and the engine does not go on to a second fault before it is
// taken. False: the engine has given up on memory that does not answer, and takes nothing.
bool ferry_engine_wait_room(void);

// A job with every field given; for the packets that are not on the fast path.
struct ferry_job {
    uint32_t source_low, source_high, destination_low, destination_high, length, list_at, control;
};
void ferry_engine_queue(const struct ferry_job *job); // There is room.

static inline bool ferry_engine_stuck(void)
{
    return hal_read(FERRY_CORE_ENGINE_STATE) & FERRY_CORE_ENGINE_STATE_STUCK_MASK;
}

// mmu.c --------------------------------------------------------------------------------------------------------------

// Changes count aperture pages from first on and waits until the table is changed. packet is the MAP_APERTURE or
// UNMAP_APERTURE packet, already checked but for the pages, which the hardware checks as it reads them; list_at the
// byte offset of its page list in command RAM. False: a bad page stopped the change, and fault says which, all but for
// header and packet_offset.
bool ferry_mmu_change(const volatile uint32_t *packet, uint32_t list_at, bool unmap, struct ferry_fault *fault);

// check.c ------------------------------------------------------------------------------------------------------------

// Reads the limits for a packet of the ring.
void ferry_check_limits(struct ferry_limits *limits, const struct ferry_ring *ring);

// Holds one packet against every rule, in the order that the contract gives. left: bytes from the packet to the end of
// its buffer, a multiple of 8, at least 8. Returns false when the packet is refused, with all of fault set but for
// header and packet_offset.
bool ferry_check_packet(const volatile uint32_t *packet, uint32_t left, const struct ferry_limits *limits,
                        struct ferry_fault *fault);

// faults.c -----------------------------------------------------------------------------------------------------------

void ferry_faults_start(void);

// True when the fault log has room for a record.
bool ferry_faults_room(void);

// Sends a fault record of the flight. The caller has seen room in the log and POST_BUSY = 0.
void ferry_faults_post(const struct ferry_flight *flight, const struct ferry_fault *fault);

// Copies the engine's fault into out and lets the engine go on. True when there was one.
bool ferry_faults_take(struct ferry_fault *out, uint32_t *slot);

#endif
