// SPDX-License-Identifier: Apache-2.0
// The reference model: what a device that keeps docs/manual/contract.md does, as plain C over plain arrays. It shares
// no code with the firmware or the RTL and serves as the far side of their differential tests, and as the fast back
// end.
//
// A model is not thread-safe: one caller at a time. It runs only inside ferry_model_run(), so work that a doorbell
// announced completes later than the doorbell's register write, as on hardware.
#ifndef FERRY_MODEL_MODEL_H
#define FERRY_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ferry_model;

/// What the model asks of the host that it sits in.
struct ferry_model_host {
    void *context;
    /// The host memory at bus address `address` for `bytes` bytes that do not cross a 4 KiB line, or NULL when the bus
    /// address is not mapped (the host counts it). The pointer is used before the next call only.
    void *(*memory)(void *context, uint64_t address, size_t bytes, bool write);
    /// A posted write of a buffer went to a bus address that is not mapped; the tag is the contract's write_tag. May be
    /// NULL.
    void (*refused)(void *context, uint64_t address, uint32_t tag);
    /// An interrupt message arrived.
    void (*interrupt)(void *context);
};

struct ferry_model_options {
    uint64_t local_bytes;      // Video memory, a multiple of 4096, at most 2^40; 0 = 64 MiB.
    uint32_t aperture_pages;   // 0 = 16384.
    uint32_t contract_version; // What the hardware and firmware claim to be built for; 0 = this contract.
    uint32_t defer_cycles;     // A fetched buffer waits a random number of cycles up to this; 0 = runs at once.
    uint64_t seed;             // Of those delays.
    bool page_tables;          // CAPABILITIES.page_tables: GPU virtual addresses.
    bool tiling;               // CAPABILITIES.tiling: COPY_RECTANGLE.
};

/// A model with zeroed memory and every register at its reset value; NULL when there is no memory for it. The options
/// are copied. The caller destroys it.
struct ferry_model *ferry_model_create(const struct ferry_model_options *options, const struct ferry_model_host *host);
/// NULL is allowed.
void ferry_model_destroy(struct ferry_model *model);

/// A 32-bit BAR0 access; offset is a multiple of 4 below 65536. Unknown registers read 0 and drop writes.
uint32_t ferry_model_read(struct ferry_model *model, uint32_t offset);
void ferry_model_write(struct ferry_model *model, uint32_t offset, uint32_t value);

/// Bytes of BAR2: twice the power of two that holds local memory. Local memory starts at 0; the upper half shows the
/// tiles in the ranges VIEW as rows.
uint64_t ferry_model_window_bytes(const struct ferry_model *model);
/// A BAR2 access of any length and alignment inside the window. Reads of what is not there give all ones; writes to it
/// are dropped, and counted in WINDOW_REFUSED where they name local memory. In the upper
/// half what lies in no range counts in TLP_UNSUPPORTED, read or written, once a page. False: a part of the read was
/// refused.
bool ferry_model_window_read(struct ferry_model *model, uint64_t offset, void *data, size_t bytes);
void ferry_model_window_write(struct ferry_model *model, uint64_t offset, const void *data, size_t bytes);

/// Let the device run for `cycles` cycles, or until something reaches the host: a fence record or an interrupt message.
/// True when something did. An idle device just lets the time pass.
bool ferry_model_run(struct ferry_model *model, uint64_t cycles);
/// No entry waits and no slot holds a buffer.
bool ferry_model_idle(const struct ferry_model *model);
/// Cycles since reset.
uint64_t ferry_model_cycles(const struct ferry_model *model);

/// Video memory itself, for tests and pictures: local_bytes bytes, valid until destroy.
uint8_t *ferry_model_local(struct ferry_model *model);
/// Flip a bit of the byte at this bus address on its way, the next time that a copy reads it (writes it).
void ferry_model_flip(struct ferry_model *model, uint64_t bus, bool write);
/// Entry of the aperture table, layout FERRY_APERTURE_ENTRY_ENTRY_*; page below APERTURE_PAGES.
uint64_t ferry_model_aperture_entry(const struct ferry_model *model, uint32_t page);

/// What a test can make go wrong.
enum ferry_model_injection {
    FERRY_MODEL_HOST_TIMEOUT,      // A read of host memory gets no completion.
    FERRY_MODEL_HOST_ABORT,        // ... Completer Abort, or poisoned data.
    FERRY_MODEL_LOCAL_READ_ERROR,  // Video memory answers a read with an error.
    FERRY_MODEL_LOCAL_WRITE_ERROR, // ... a write; nothing is written.
    FERRY_MODEL_HANG_INSIDE,       // The engine hangs behind `count` packets of the next user's buffer that has more.
    FERRY_MODEL_HANG_IN_COPY, // It hangs in the next user's COPY that has more than `count` bytes, behind so many or
                              // more.
    FERRY_MODEL_NO_ANSWER,    // Memory gives no answer to packet number `count`, from 1 on, of the next buffer that has
                              // so many: the engine hangs there, and some of what is unordered behind it is done.
    FERRY_MODEL_INJECTIONS,
};
/// Make the next `count` accesses of that sort fail, whether an entry's, a buffer's or a packet's. A page is one
/// access.
void ferry_model_inject(struct ferry_model *model, enum ferry_model_injection what, uint32_t count);
/// Stop carrying out packets until the engine is reset. For tests of time-outs.
void ferry_model_hang(struct ferry_model *model);

#endif
