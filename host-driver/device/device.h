// SPDX-License-Identifier: Apache-2.0
// The device as registers, rings and records: what the miniport drives. `gpu` is one copy engine behind one link.
//
// Thread rule: every call may be made from any thread; a mutex inside serialises them. The interrupt handler runs in
// the thread that waits (or reads registers), with that mutex released, so it may call everything here but a wait or
// close. Time-outs are device cycles, never host time: a slow simulation does not time out, and a run repeats exactly.
// Calls return FERRY_OK or a negative enum ferry_error; TIMEOUT and DEVICE_LOST can come from every call that reads a
// register, and are listed only where they mean more.
#ifndef FERRY_DEVICE_DEVICE_H
#define FERRY_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ferry/error.h"
#include "ferry/ferry.h"
#include "link/link.h"

struct ferry_gpu;

/// Cycles a wait lets pass without any fence or fault record before it gives up; 0 in an argument means this, unless
/// the engine moves words meanwhile.
#define FERRY_GPU_DEFAULT_TIMEOUT 2000000u

struct ferry_gpu_options {
    size_t size;
    const char *firmware_file;   // Flat binary; NULL = the image built with the library.
    uint32_t engine_timeout;     // Cycles without progress of a job; 0 = 100000. What the link may take comes on top of
    uint32_t completion_timeout; // both. Cycles a device read waits; 0 = 50000.
    uint32_t interrupt_count;    // INTERRUPT_COALESCE.count.
    uint32_t interrupt_cycles;   // INTERRUPT_COALESCE.cycles.
    uint32_t tag_limit;          // 0 = all tags.
    uint32_t host_contract;      // For tests of refusal: announce this version; 0 = the real one.
    uint64_t boot_timeout;       // Cycles for the firmware to start; 0 = FERRY_GPU_DEFAULT_TIMEOUT.
};

struct ferry_gpu_info {
    uint32_t contract_version; // Of the hardware, major << 16 | minor.
    uint32_t firmware_version;
    uint32_t rings; // Ring 0 is the paging ring.
    uint32_t tags, slots, slot_bytes, data_bytes;
    uint64_t local_bytes;
    uint32_t aperture_pages;
    uint32_t firmware_ram_bytes;
    bool page_tables;                   // GPU virtual addresses.
    bool tiling;                        // COPY_RECTANGLE.
    uint32_t views;                     // Ranges of tiles that the CPU may see as rows.
    struct ferry_link_description link; // Where the link does not say what the device is, what BOARD says.
};

/// Check MAGIC and contract, load and start the firmware, set up the fault log. The gpu owns the link from a successful
/// open on; on an error the link stays the caller's. options may be NULL. Errors: ARGUMENT, CONTRACT (wrong MAGIC, or
/// hardware, firmware and host differ in the major number, or a size that no device has), FIRMWARE (image missing or
/// too large, or it halted), NO_HOST_MEMORY, TIMEOUT.
int ferry_gpu_open(struct ferry_link *link, const struct ferry_gpu_options *options, struct ferry_gpu **gpu);
/// Stop the core and close the link. NULL is allowed.
void ferry_gpu_close(struct ferry_gpu *gpu);
/// Memory that it may still reach for is about to go: from now on it reaches nothing, where the link has a way to see
/// to that and does not know what is mapped. It works again when it is opened again.
void ferry_gpu_silence(struct ferry_gpu *gpu);
/// What was read at open; does not touch the device.
void ferry_gpu_query(const struct ferry_gpu *gpu, struct ferry_gpu_info *info);
/// FERRY_OK while RUNNING; FIRMWARE when halted (then *halt_code and *halt_argument, may be NULL, tell), CONTRACT when
/// it refused.
int ferry_gpu_firmware_state(struct ferry_gpu *gpu, uint32_t *halt_code, uint32_t *halt_argument);

// ---- Rings ------------------------------------------------------------------------------------------------------

#define FERRY_GPU_RIGHT_SYSTEM    0x1u // RING.RIGHTS.
#define FERRY_GPU_RIGHT_APERTURE  0x2u
#define FERRY_GPU_RIGHT_PROTECTED 0x4u
#define FERRY_GPU_RIGHT_TABLES    0x10u // Only where there are page tables.

struct ferry_gpu_entry {
    uint64_t buffer_address; // Bus address; multiple of 8.
    uint32_t buffer_bytes;   // Multiple of 8, at most slot_bytes; 0 = only the fence.
    bool interrupt;
    uint32_t space; // Of its virtual addresses, 0 to 15; 0 where there are no page tables.
    // Its packets may name no other kind of address: RIGHTS is their fault. false where there are no page tables.
    bool virtual_only;
    uint64_t fence_value;
};

/// Copy of a ring's fence record (contract, fence_record).
struct ferry_gpu_fence {
    uint64_t value, time;
    uint32_t retired;      // Free-running count of retired entries.
    uint32_t status;       // FERRY_BUFFER_STATUS_* of the entry retired last.
    uint32_t faults;       // Free-running count of entries that ended FAULTED or ABORTED.
    uint32_t last_faulted; // `retired` of the last of them.
};

/// Make ring `ring` of 2^entries_log2 entries (0 to 12) and enable it. Errors: ARGUMENT (no such ring, it exists, or a
/// right that the device does not know), NO_HOST_MEMORY.
int ferry_gpu_ring_create(struct ferry_gpu *gpu, uint32_t ring, uint32_t entries_log2, uint32_t rights);
/// Write one entry and ring the doorbell; *number (may be NULL) gets the value of `retired` that says it is done. The
/// buffer stays the caller's and must not change before that. A doorbell that is not taken in time is rung again.
/// Errors: ARGUMENT, BUSY (the ring is full), DEVICE_LOST (not one of FERRY_GPU_DOORBELLS was taken in time; if one
/// came all the same, or comes yet, the buffer runs, with the next number, until the entry is taken back; the ring
/// takes no more until the engine is reset). After any other error of the link all is as before the call.
#define FERRY_GPU_DOORBELLS 4u
int ferry_gpu_ring_submit(struct ferry_gpu *gpu, uint32_t ring, const struct ferry_gpu_entry *entry, uint32_t *number);
/// Take back what no command slot was taken for yet: these entries are empty ones from now on, which retire like any,
/// and of which no fault is told that comes of a reset. *first: number of the first of them, or of the entry that comes
/// next, one whose doorbell may have come counted, on an error too: a ring that stays closed is opened by the next
/// reset of the engine. Errors: ARGUMENT, DEVICE_LOST (a number that cannot be), those of a register's access.
int ferry_gpu_ring_take_back(struct ferry_gpu *gpu, uint32_t ring, uint32_t *first);
/// Look at the fence record in host memory; does not run the device. Errors: ARGUMENT.
int ferry_gpu_ring_completed(struct ferry_gpu *gpu, uint32_t ring, struct ferry_gpu_fence *fence);
/// Number of the newest entry: the next one to be submitted has the number behind it, unless a doorbell is lost. 0 for
/// a ring that was not made.
uint32_t ferry_gpu_ring_newest(struct ferry_gpu *gpu, uint32_t ring);
/// Entries submitted and not retired. 0 for a ring that was not made.
uint32_t ferry_gpu_ring_pending(struct ferry_gpu *gpu, uint32_t ring);

// ---- Waiting and interrupts -------------------------------------------------------------------------------------

/// `causes` are the bits of INTERRUPT_STATUS, already cleared in the device.
typedef void ferry_gpu_interrupt(void *context, uint32_t causes);
/// NULL ends it. Interrupts are enabled in the device either way.
void ferry_gpu_set_interrupt(struct ferry_gpu *gpu, ferry_gpu_interrupt *handler, void *context);
/// Run the device until a fence or fault record or an interrupt arrives, and call the handler for what came. Errors:
/// TIMEOUT (nothing in `cycles`; 0 = FERRY_GPU_DEFAULT_TIMEOUT, after which it is FERRY_OK while the engine moves
/// words: a buffer takes as long as what it moves, and only one that stands still hangs).
int ferry_gpu_wait(struct ferry_gpu *gpu, uint64_t cycles);
/// Records and interrupts that have come so far, in any thread's wait. With several threads that wait, read it, look
/// whether what you wait for is there, and only then wait_after() it.
uint64_t ferry_gpu_events(struct ferry_gpu *gpu);
/// As ferry_gpu_wait(), but returns at once when more than `events` have come already. Errors: TIMEOUT.
int ferry_gpu_wait_after(struct ferry_gpu *gpu, uint64_t events, uint64_t cycles);
/// How those get on who wait in turns until something comes that they know; all zero before the first of them.
struct ferry_gpu_progress {
    uint64_t since; // Cycles of the device's: nothing has got on.
    uint32_t retired, submitted, tellings;
    bool looked; // At the words, of which there were so many.
    uint64_t words;
};
/// As ferry_gpu_wait() without a number of cycles, for a turn of many: TIMEOUT also when the device tells of things
/// again and again and nothing else happens, for as long as that would be. Callers of one `progress` take turns.
int ferry_gpu_wait_progress(struct ferry_gpu *gpu, struct ferry_gpu_progress *progress);
/// Wait until `retired` of the ring has reached `number`. Errors: ARGUMENT, TIMEOUT (`cycles` without any record, or
/// with such alone behind which no ring's `retired` goes up; 0 as above), FIRMWARE (it halted).
int ferry_gpu_wait_retired(struct ferry_gpu *gpu, uint32_t ring, uint32_t number, uint64_t cycles);
/// Let the device run for exactly `cycles` (polling, idle time), handling what comes.
int ferry_gpu_run(struct ferry_gpu *gpu, uint64_t cycles);
/// Device time in cycles.
uint64_t ferry_gpu_cycles(struct ferry_gpu *gpu);

// ---- Faults, counters, control ----------------------------------------------------------------------------------

/// Take the fault not taken yet that reached the host first; *found = false when there is none. Errors: ARGUMENT.
int ferry_gpu_next_fault(struct ferry_gpu *gpu, struct ferry_fault *fault, bool *found);
/// Fill the device counters of `statistics` and what the link counts; the other fields stay.
int ferry_gpu_counters(struct ferry_gpu *gpu, struct ferry_statistics *statistics);
/// Drop every job; what was in flight retires ABORTED afterwards. Comes back when the engine is ready. Rings that a
/// lost doorbell closed are open again; when it came after all, the number of its entry is skipped. Errors: TIMEOUT,
/// and DEVICE_LOST when a ring's PRODUCER is what nobody wrote there.
int ferry_gpu_reset_engine(struct ferry_gpu *gpu);
/// Set LOCAL_LIMIT (0 = leave). Errors: ARGUMENT (not a page multiple, or beyond the memory there is).
int ferry_gpu_set_local_limit(struct ferry_gpu *gpu, uint64_t limit);
/// Set the protected range [base, limit); equal = none. Errors: ARGUMENT.
int ferry_gpu_set_protected(struct ferry_gpu *gpu, uint64_t base, uint64_t limit);
/// Plant faults, for tests. Errors: UNSUPPORTED.
int ferry_gpu_inject(struct ferry_gpu *gpu, enum ferry_injection kind, uint32_t count);
/// Flip a bit of the byte at this bus address on its way, the next time that the device reads it (writes it). Errors:
/// UNSUPPORTED.
int ferry_gpu_flip(struct ferry_gpu *gpu, uint64_t bus, bool write);
/// Registers, for tools and tests. Errors: RANGE.
int ferry_gpu_read32(struct ferry_gpu *gpu, uint32_t offset, uint32_t *value);
int ferry_gpu_write32(struct ferry_gpu *gpu, uint32_t offset, uint32_t value);
/// The CPU's window (BAR2): video memory, from 0 on. Any alignment. Pages behind the aperture are the CPU's own memory
/// already. Errors: RANGE.
int ferry_gpu_window_read(struct ferry_gpu *gpu, uint64_t offset, void *data, size_t bytes);
int ferry_gpu_window_write(struct ferry_gpu *gpu, uint64_t offset, const void *data, size_t bytes);
/// Tiles in video memory that the CPU sees as the rows that they hold, as many bytes as the tiles take
/// (docs/manual/tiling.md).
struct ferry_gpu_view {
    uint64_t base, bytes; // Of the tiles: whole rows of them.
    uint64_t row_bytes;   // Of the rows that are seen; as wide as their tiles together.
    uint32_t swizzle;     // As in packet_layout, 1 to 3.
    bool is_small;        // Tiles of 4 KiB.
};
/// Show them as range `number`, below info.views; hide it again. What was written before is in memory before either.
/// Errors: UNSUPPORTED (no such range); show: ARGUMENT (no whole tiles, or not in video memory), BUSY (the range is
/// shown, or its tiles are in another that is); hide: ARGUMENT (it is not shown).
int ferry_gpu_view_show(struct ferry_gpu *gpu, uint32_t number, const struct ferry_gpu_view *view);
int ferry_gpu_view_hide(struct ferry_gpu *gpu, uint32_t number);
/// BAR2's upper half: where rows begin in it; what a range shows of video memory from `base` on is `base` bytes behind.
uint64_t ferry_gpu_rows_begin(const struct ferry_gpu *gpu);
/// Bytes at an address in it, of any alignment. Errors: RANGE (not all in one range that is shown).
int ferry_gpu_rows_read(struct ferry_gpu *gpu, uint64_t address, void *data, size_t bytes);
int ferry_gpu_rows_write(struct ferry_gpu *gpu, uint64_t address, const void *data, size_t bytes);
/// Report spans and outstanding reads from now on (see link.h). NULL ends it.
void ferry_gpu_observe(struct ferry_gpu *gpu, const struct ferry_link_observer *observer);
void ferry_gpu_link_counts(struct ferry_gpu *gpu, struct ferry_link_counts *counts);

// ---- Host memory for the device ---------------------------------------------------------------------------------

/// dma_map and dma_unmap of link.h under the gpu's mutex.
int ferry_gpu_dma_map(struct ferry_gpu *gpu, void *memory, size_t pages, unsigned flags, uint64_t *bus);
void ferry_gpu_dma_unmap(struct ferry_gpu *gpu, const uint64_t *bus, size_t pages);

/// Memory with consecutive bus addresses, zero at first: rings, records, command buffers.
struct ferry_gpu_memory {
    void *address;
    uint64_t bus;
    size_t pages;
};
/// `flags` as FERRY_DMA_*; consecutive always. Errors: ARGUMENT, NO_HOST_MEMORY.
int ferry_gpu_memory_allocate(struct ferry_gpu *gpu, size_t bytes, unsigned flags, struct ferry_gpu_memory *memory);
void ferry_gpu_memory_free(struct ferry_gpu *gpu, struct ferry_gpu_memory *memory);

#endif
