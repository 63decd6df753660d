// SPDX-License-Identifier: Apache-2.0
// A double of the hardware as the firmware sees it: rings that are already fetched, sequencer, engine, aperture table,
// record post. It is driven through register reads and writes, either by the natively built firmware (double_hal.c) or
// by the firmware on a simulated core, and takes one step of time for each access or clock. Everything that the
// firmware does is kept and held against the oracle at the end (double_verify()); what is never allowed fails at once.
#ifndef FERRY_TESTS_FIRMWARE_DOUBLE_H
#define FERRY_TESTS_FIRMWARE_DOUBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "ferry_contract.h"
#include "oracle.h"

#define DOUBLE_SLOTS      4u
#define DOUBLE_RINGS      5u
#define DOUBLE_SLOT_BYTES 4096u
#define DOUBLE_ENTRIES    4096u
#define DOUBLE_POSTS      (2 * DOUBLE_ENTRIES)
#define DOUBLE_QUEUE      8u
#define DOUBLE_UNREAD     0xffffffffu // Not even the ring entry could be read.

struct double_entry {
    uint32_t ring, bytes, fetch_fault;
    uint32_t failed; // With the fault BUFFER_FETCH: where its buffer could not be read, or DOUBLE_UNREAD.
    bool interrupt;
    uint64_t fence, address;
    uint8_t *data; // bytes long, owned.
    uint32_t rights;
    // What happened.
    bool fetched, claimed, released;
    struct oracle_result *oracle; // Of the entry while it is claimed, owned.
    uint32_t slot;
    bool finished, refused;        // As FINISH said.
    uint32_t last_job;             // Jobs queued up to the entry's last.
    struct oracle_action *actions; // Jobs and table changes that came, owned.
    unsigned action_count, action_room;
    bool engine_faulted;
    bool held_at_reset,
        dropped_by_reset; // It had its slot when a reset ended; a job of it was dropped, of this packet first.
    uint32_t dropped_packet;
    // How far that one came, as the engine tells it, and what the host is to hear of it.
    uint32_t dropped_place, dropped_written;
    bool dropped_left;
    struct oracle_fault engine_fault;
    uint32_t engine_written;
    unsigned roots; // What the page-table unit was told.
};

struct double_post {
    uint32_t words[16], count;
    uint64_t address;
    uint32_t slot; // A fence record's.
};

// A ring's registers as the host sees them.
struct double_ring {
    uint32_t retired, faults, last_faulted;
    uint64_t fence;
};

struct double_machine {
    // Set by the test before the start.
    uint32_t hardware_contract, host_contract, capabilities;
    struct oracle_limits limits;   // rights are per ring, below.
    uint32_t rights[DOUBLE_RINGS]; // And FETCH_NEXT's virtual_only: then its entries say so.
    uint64_t fence_address[DOUBLE_RINGS], log_address, ring_base[DOUBLE_RINGS];
    uint32_t ring_entries_log2[DOUBLE_RINGS];
    uint32_t log_entries_log2;
    bool slow_drops;   // Jobs of a poisoned slot take as long as others.
    uint64_t reset_at; // An engine reset begins in this step, of reset_ticks; 0 never.
    unsigned reset_ticks;
    uint32_t job_ticks, mmu_ticks_per_page, post_ticks; // Durations.
    bool log_is_read;                                   // The host reads the fault log at once.
    unsigned shy;                                       // The sequencer leaves each shy-th good packet; 0 none.
    unsigned look_ticks;                                // Steps in which it looks at a packet.
    bool sequencer_elsewhere;                           // It is a real one: the test steps it.
    // The job with this serial number faults; see double_fault_job().
    struct {
        bool armed;
        uint32_t job;
        uint32_t kind, distance, written;
        bool write;
    } faults[64];

    // State of the hardware.
    uint64_t now;
    struct double_entry entries[DOUBLE_ENTRIES];
    unsigned entry_count;
    unsigned claims[DOUBLE_ENTRIES], claim_count; // Entries in the order in which they were claimed.
    unsigned ended[DOUBLE_ENTRIES], ended_count;  // And in that in which they ended.
    int slot_entry[DOUBLE_SLOTS];                 // -1: free.
    unsigned fetched[DOUBLE_RINGS];               // Index among all entries from which the ring's next is looked for.
    unsigned turn;
    uint32_t stage[FERRY_CORE_SIZE / 4]; // Plain registers.
    uint32_t latched[6];                 // FETCH_ registers of the entry claimed last.
    struct {
        bool busy, waiting, ended, table, system, tables, checked, stop;
        uint32_t slot, offset, think, taken;
        // The walk over a rectangle: of which packet, and its next byte.
        const struct double_entry *walk;
        uint32_t walk_offset, walk_byte, walk_row;
    } sequencer;
    struct {
        unsigned entry;
        struct oracle_action job;
    } queue[DOUBLE_QUEUE];
    unsigned queue_head, queue_count;
    uint64_t job_done_at, mmu_done_at, post_done_at, reset_done_at;
    bool resetting;
    uint32_t jobs_queued, jobs_retired, poison, aborted;
    uint32_t engine_fault, engine_fault_position, engine_fault_written;
    uint32_t mmu_fault; // As MMU_FAULT shows it.
    uint64_t mmu_entry;
    uint64_t stuck_at;     // When it gives up; 0 never.
    uint64_t stuck_until;  // When memory comes back; 0 never.
    bool stuck;            // The engine has given up: each job that comes ends at once, and the test sees to its fault.
    uint32_t log_consumed; // Used unless log_is_read.
    uint32_t fault_records; // Posted so far.
    struct double_post posts[DOUBLE_POSTS];
    unsigned post_count;
    bool posting;
    struct {
        uint32_t order[2][DOUBLE_SLOTS]; // User rings, paging ring.
        unsigned in[2], out[2];
        bool asks, told;
        uint32_t slot, status;
    } finish;
    uint32_t first_retired[DOUBLE_RINGS]; // RETIRED at the start of the test.
    struct double_ring rings[DOUBLE_RINGS];
    uint32_t interrupts; // Bits set since the test looked last.
    uint32_t packets;    // As CORE_PACKETS counts them.
    uint64_t busy_ticks;
    uint32_t stalls; // Accesses that the hardware made wait.
    uint64_t align;  // Command RAM starts at a double word.
    uint32_t command_ram[DOUBLE_SLOTS * DOUBLE_SLOT_BYTES / 4];
    char wrong[256]; // First broken rule; empty = none.
};

extern struct double_machine machine;

// Empties the machine and sets the defaults: paging ring with every right, user rings with none, 64 MiB video memory,
// 4096 aperture pages, nothing protected, a fault log that is read at once.
void double_reset(void);

// The machine has page tables and rectangles, which double_reset() leaves out. Not where the sequencer is a real one.
void double_has_more(void);

// Appends an entry to a ring; words are copied. Returns its number.
unsigned double_submit(uint32_t ring, const uint32_t *words, unsigned count, uint64_t fence, bool interrupt);

// Appends an entry that fetch could not bring; failed as in double_entry.
unsigned double_submit_unfetched(uint32_t ring, uint32_t fault, uint64_t address, uint32_t failed, uint64_t fence);

// What the fault record of such an entry has as its address.
uint64_t double_unfetched_at(const struct double_entry *entry);

// Lets the job with the given serial number (0 = first since reset) fault, so many bytes from its start (inside it), on
// the side that write names if the job has both. written: bytes certainly written, or DOUBLE_UP_TO_POSITION.
#define DOUBLE_UP_TO_POSITION UINT32_MAX
void double_fault_job(uint32_t job, uint32_t kind, bool write, uint32_t distance, uint32_t written);

// The host asks for an engine reset, which takes ticks steps.
void double_engine_reset(unsigned ticks);

// Register access as the core makes it. A read may claim; a write may have to wait: double_write_waits() says so first.
uint32_t double_read(unsigned offset);
void double_write(unsigned offset, uint32_t value);
bool double_write_waits(unsigned offset);

// One step of time.
void double_tick(void);

// The engine has room for a job of the sequencer; then hands it over. list_at: byte offset of its page list in command
// RAM.
bool double_job_room(void);
void double_take_job(uint32_t slot, struct oracle_action job, uint32_t list_at);

// Everything that was submitted is retired.
bool double_idle(void);

// The firmware halted or refused.
uint32_t double_state(void);

// Compares everything that happened with what should have. Null when all is well, else a sentence. Every entry must be
// retired.
const char *double_verify(void);

// Status that the fence record of the entry carried; ~0u when it has none yet. Valid after double_verify().
uint32_t double_status(unsigned entry);

// Fault record posted n-th; null when there are not so many.
const struct double_post *double_fault_record(unsigned n);

#endif
