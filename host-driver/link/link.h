// SPDX-License-Identifier: Apache-2.0
// The way to a device: BAR accesses, bus mappings of host memory, interrupt messages and the device's time. Back ends
// implement the table; nothing above this header knows which one is there.
//
// Thread rule: a link is used by one thread at a time; the device layer's mutex sees to it. Nothing in the device moves
// unless a call on the link runs it, so a wait that does not pump waits for ever.
#ifndef FERRY_LINK_LINK_H
#define FERRY_LINK_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ferry/error.h"
#include "ferry/ferry.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ferry_link;

enum ferry_bar { FERRY_BAR_REGISTERS = 0, FERRY_BAR_WINDOW = 2 };

// dma_map() flags.
#define FERRY_DMA_CONSECUTIVE 0x1u // Bus addresses follow each other; else the back end scatters them.
#define FERRY_DMA_WATCH       0x2u // A device write to these pages ends pump(): fence records, fault log.

// Why pump() came back; none of them = the cycles are over.
#define FERRY_PUMP_INTERRUPT 0x1u // An interrupt message is waiting in take_interrupts().
#define FERRY_PUMP_WRITE     0x2u // The device wrote to a page mapped with FERRY_DMA_WATCH.

/// Faults that a test plants. Each acts on the next `count` events of its kind, then things are well again.
enum ferry_injection {
    FERRY_INJECT_LOSE_COMPLETION,   // The device's reads get no completion.
    FERRY_INJECT_ABORT_COMPLETION,  // ... Completer Abort.
    FERRY_INJECT_POISON_COMPLETION, // ... poisoned data.
    FERRY_INJECT_LOCAL_READ_ERROR,  // Video memory answers a read burst with SLVERR.
    FERRY_INJECT_LOCAL_WRITE_ERROR, // Video memory answers a write burst with SLVERR and writes nothing.
};

struct ferry_link_counts {
    uint64_t unmapped_accesses;     // Device accesses to bus addresses that are not mapped.
    uint64_t last_unmapped_address; // Bus address of the last of them.
    uint64_t mapped_pages;          // Now.
    uint64_t interrupts;            // Messages received since open.
    // Of a link that carries frames of bytes, its host's end: bytes that were no part of a good frame, frames that came
    // broken, and those that were sent again.
    uint64_t noise_bytes, broken_frames, frames_again;
    double run_seconds; // Host time spent in running the device; with cycles() it gives the rate.
};

/// What a back end can report while it runs. Call-backs run inside link calls and must not call the link. Any may be
/// NULL.
struct ferry_link_observer {
    void *context;
    /// A track of the device (FIRMWARE and behind it) was busy in cycles [begin, end); short gaps are bridged.
    void (*span)(void *context, enum ferry_track track, uint64_t begin, uint64_t end);
    /// READS_OUTSTANDING or TABLE_MISSES, when it changed since the last sample.
    void (*value)(void *context, enum ferry_event_kind what, uint64_t time, uint32_t value);
};

/// The device wrote to a bus address that is not mapped and the write was dropped: address of the first byte, tag of
/// the packet (contract, write_tag). It comes inside the link call that ran the device, before anything that the device
/// sent later is seen. The call-back may call dma_find() and cycles(), no other link call.
typedef void ferry_link_refused_write(void *context, uint64_t address, uint32_t tag);

/// For people.
struct ferry_link_description {
    char medium[80]; // Kind of link and its speed: lanes, or bits a second.
    char device[24]; // What the device says it is; empty where only its registers say it.
};

/// Calls that return int give FERRY_OK or a negative enum ferry_error.
struct ferry_link_operations {
    /// Read or write one aligned 32-bit register. Errors: TIMEOUT (no answer), RANGE (the device refused; *value = ~0),
    /// DEVICE_LOST (the device is gone; from every call that reaches it then).
    int (*read32)(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t *value);
    int (*write32)(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t value);
    /// Read or write bytes of any alignment, in address order. Writes are posted: a later read of the same BAR sees
    /// them. Errors: TIMEOUT, RANGE.
    int (*read_block)(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, void *data, size_t bytes);
    int (*write_block)(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, const void *data, size_t bytes);
    /// Let the device reach `pages` 4 KiB pages that start at `memory` (page aligned; stays the caller's); bus[n] gets
    /// page n's bus address. Errors: ARGUMENT, NO_HOST_MEMORY (bus address space is used up).
    int (*dma_map)(struct ferry_link *link, void *memory, size_t pages, unsigned flags, uint64_t *bus);
    /// Undo it, page by page; a bus address that is not mapped is left alone.
    void (*dma_unmap)(struct ferry_link *link, const uint64_t *bus, size_t pages);
    /// Call this for refused writes; NULL ends it. NULL operation = this back end cannot tell.
    void (*tell_refused)(struct ferry_link *link, ferry_link_refused_write *handler, void *context);
    /// The memory that the device reaches at a bus address, valid to the end of its page; NULL when it is not mapped.
    /// Does not run the device. NULL operation = the back end keeps no table of it.
    const void *(*dma_find)(struct ferry_link *link, uint64_t bus);
    /// Run the device for up to `cycles` cycles, or until something arrives (*reasons, FERRY_PUMP_*; may be NULL).
    /// Errors: DEVICE_LOST (the back end is gone).
    int (*pump)(struct ferry_link *link, uint64_t cycles, unsigned *reasons);
    /// Interrupt messages received since the last call; does not run the device.
    uint32_t (*take_interrupts)(struct ferry_link *link);
    /// The device's time in cycles, as far as it has run.
    uint64_t (*cycles)(struct ferry_link *link);
    void (*counts)(struct ferry_link *link, struct ferry_link_counts *counts);
    /// NULL observer ends reporting. The struct is copied. NULL operation = this back end has nothing to report.
    void (*observe)(struct ferry_link *link, const struct ferry_link_observer *observer);
    /// Plant faults, for tests. NULL operation or UNSUPPORTED = this back end cannot. Errors: UNSUPPORTED.
    int (*inject)(struct ferry_link *link, enum ferry_injection kind, uint32_t count);
    /// Flip a bit of the byte at this bus address on its way, the next time that the device reads it (writes it).
    /// NULL operation = this back end cannot.
    void (*flip)(struct ferry_link *link, uint64_t bus, bool write);
    /// Reset the function, and make it reachable again: for whoever takes over a device that somebody else left behind.
    /// Its registers may go on becoming what they are after power-on behind this call. NULL operation or UNSUPPORTED =
    /// it cannot. Errors: UNSUPPORTED, TIMEOUT, BACKEND.
    int (*reset)(struct ferry_link *link);
    /// Cycles of the device's that a packet and its answer may wait in a full link, or in a host that takes its time:
    /// the device's own time-outs have to be longer than that. NULL operation = next to none.
    uint32_t (*delay)(struct ferry_link *link);
    /// The host is about to take memory back that the device may still reach for: what it sends from now on goes
    /// nowhere, until reset(). NULL operation = what is not mapped it does not reach anyway.
    void (*silence)(struct ferry_link *link);
    /// NULL operation = there is nothing to say; *description is empty before.
    void (*describe)(struct ferry_link *link, struct ferry_link_description *description);
    /// Free everything. Memory that was mapped stays its owner's.
    void (*close)(struct ferry_link *link);
};

/// First member of every back end's own struct.
struct ferry_link {
    const struct ferry_link_operations *operations;
};

/// What a back end may be told; mirrors ferry_adapter_options and adds what only tests set. 0 means the default.
struct ferry_link_config {
    size_t size;
    uint32_t read_latency_cycles;  // Constant memory latency; 0 = the DRAM model with banks and refresh.
    uint32_t link_latency_cycles;  // One way; 0 = 100.
    uint32_t random_stall_percent; // Share of handshakes that is refused, on every channel; 0 to 90.
    uint64_t seed;                 // Of stalls, reordering and bus address scatter.
    const char *wave_file;         // FST file to write, or NULL.
    uint32_t max_payload_bytes;    // 128 or 256; 0 = 256.
    uint32_t max_read_bytes;       // 128, 256 or 512; 0 = 512.
    uint32_t completion_boundary;  // 64 or 128; 0 = 64.
    uint32_t
        link_words_per_16_cycles; // Bandwidth of each direction in 32-bit words per 16 cycles; 0 = 32 (64 bit a cycle).
    bool smallest_credits;        // The host takes one packet of each kind at a time, the least PCI Express allows.
    bool in_order_completions;    // Completions of different tags keep the order of the requests.
    const char *address;          // Where the device is: what stands behind the back end's name and a colon, or NULL.
};

struct ferry_backend {
    const char *name;
    /// Takes an address; the others are refused one.
    bool has_address;
    /// Without one it finds a device by itself.
    bool finds_one;
    /// Start a device, or find one, and bring its link up. Errors as of ferry_link_open().
    int (*open)(const struct ferry_link_config *config, struct ferry_link **link);
    /// Tell of what open() could be given now, as ferry_adapter_list() promises. NULL = nobody knows where to look.
    void (*list)(ferry_candidate_callback *callback, void *context);
};

// The back ends there are; backends.c lists them.
extern const struct ferry_backend ferry_backend_sim;
extern const struct ferry_backend ferry_backend_model;
extern const struct ferry_backend ferry_backend_socket;
extern const struct ferry_backend ferry_backend_uart;
extern const struct ferry_backend ferry_backend_usb;
extern const struct ferry_backend ferry_backend_pci;

/// Open a link by the back end's name, for some with a colon and an address behind it; NULL means "sim". Errors:
/// ARGUMENT, BACKEND (no such name, or it cannot start), NO_HOST_MEMORY, TIMEOUT, CONTRACT, IN_USE (another host has
/// the device), DEVICE_LOST (it went while it was asked). ferry_problem() has the details. Any thread.
int ferry_link_open(const char *name, const struct ferry_link_config *config, struct ferry_link **link);
/// Name of back end number n, or NULL behind the last. Any thread.
const char *ferry_link_backend_name(size_t n);

#ifdef __cplusplus
}
#endif
#endif
