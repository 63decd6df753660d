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

// A ring. Set once at start.
struct ferry_ring {
    uint32_t registers; // Its core registers; hal_ring().
    uint32_t number;
    uint32_t unused[2]; // To 16 bytes: FETCH_NEXT's ring leads here without a shift.
};

// A buffer from its claim until it ends, one for each slot. What is only asked when something goes wrong stays in the
// hardware; see FETCH_SLOT.
struct ferry_flight {
    uint32_t claim;    // FETCH_NEXT, whose slot stands where SEQUENCE and FINISH have it.
    uint32_t sequence; // While it is decoded: what SEQUENCE gets to go on.
    uint32_t bytes;
    const struct ferry_ring *ring; // Null before the slot's first buffer.
    bool sequencing;               // The sequencer is at work on it.
    bool plain_table_change;       // The packet it is at changes the aperture table; only the right to is in question.
    bool waits_for_ring; // The packet it is at is a good change of the aperture table and waits for earlier jobs.
    struct ferry_fault refusal; // Refused by fetch or by the checks of decode.
    struct ferry_fault engine;  // Reported by the engine; of an earlier packet than the refusal.
};

static inline uint32_t ferry_slot(const struct ferry_flight *flight)
{
    return FERRY_GET(FERRY_CORE_FETCH_NEXT_SLOT, flight->claim);
}

// A place in the buffer, which stands in command RAM.
static inline const volatile uint32_t *ferry_packet(const struct ferry_flight *flight, uint32_t offset)
{
    return hal_command(ferry_slot(flight) * FERRY_SLOT_STRIDE + offset);
}

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

static inline void ferry_assert(bool holds, enum ferry_halt code, uint32_t argument)
{
    if (!holds)
        ferry_halt(code, argument);
}

// queues.c -----------------------------------------------------------------------------------------------------------

// slots: number of command slots that the hardware has, 1 to FERRY_SLOTS.
void ferry_queues_start(uint32_t slots, uint32_t rings, uint32_t slot_bytes_log2);

// Tells the host of what went wrong, and decodes what there is to decode as far as it goes.
void ferry_firmware_step(void);

// On the core: that again and again, with an eye on the word under the stack.
_Noreturn void ferry_firmware_run(void);

// How far the earlier jobs of the flight's ring are. BROKEN: the engine stopped a job of this very buffer, or was
// reset; the rest of the buffer must not be done.
enum ferry_ring_jobs { FERRY_RING_RUNS, FERRY_RING_DONE, FERRY_RING_BROKEN };
enum ferry_ring_jobs ferry_queues_ring_jobs(const struct ferry_flight *flight);

static inline bool ferry_engine_stuck(void)
{
    return hal_read(FERRY_CORE_ENGINE_STATE) & FERRY_CORE_ENGINE_STATE_STUCK_MASK;
}

// decode.c -----------------------------------------------------------------------------------------------------------

enum ferry_progress {
    FERRY_GOES_ON,
    FERRY_LATER,   // The engine or the ring's earlier jobs must get on first, or the paging ring goes before.
    FERRY_DECODED, // Every packet was handed over, or the rest must not be.
};

// Takes the packet that the sequencer left, the one that flight->sequence names. A refusal is left in flight->refusal.
enum ferry_progress ferry_decode_left(struct ferry_flight *flight);

// The same of the packet when the engine takes nothing more.
void ferry_decode_stuck(struct ferry_flight *flight);

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

// Sends a fault record of the flight, the one that WORK.finish tells of. The caller has seen room in the log and
// POST_BUSY = 0.
void ferry_faults_post(const struct ferry_flight *flight, const struct ferry_fault *fault);

// Copies the engine's fault into out and lets the engine go on. True when there was one.
bool ferry_faults_take(struct ferry_fault *out, uint32_t *slot);

#endif
