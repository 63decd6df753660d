// SPDX-License-Identifier: Apache-2.0
// What the files of the root complex share. Its lower half, packets, also serves the simulated slot
// (sim/server/slot.c), whose host is a guest.
#ifndef FERRY_LINK_ROOT_COMPLEX_STATE_H
#define FERRY_LINK_ROOT_COMPLEX_STATE_H

#include "link/dma_map.h"
#include "link/root_complex.h"
#include "link/tlp.h"

#define FERRY_RC_TAGS      16u     // Reads of the host's that may be on their way at once.
#define FERRY_RC_REQUESTER 0x0000u // Bus 0, device 0, function 0.
#define FERRY_RC_DEVICE    0x0100u // The device is function 0 of bus 1.

/// One read of the host's; its completions may come in pieces.
struct ferry_rc_request {
    bool busy, done;
    int result;          // enum ferry_error once done.
    unsigned char *data; // Where the next byte goes.
    uint32_t left;       // Bytes still to come.
    // It was given up, and its last completion may come after all, so that its tag is not used again until it has, or
    // until the device has run so far. 0 = it was not.
    uint64_t late_until;
};

struct ferry_root_complex {
    struct ferry_link link;
    struct ferry_tlp_transport transport;
    struct ferry_dma_map *map; // Of ferry_root_complex_open() alone.
    /// The memory behind a bus address, as of ferry_dma_map_find().
    unsigned char *(*find)(const void *memory, uint64_t bus, bool *watched);
    const void *memory;
    uint32_t max_payload, max_read, boundary; // Bytes.
    uint64_t bar_base[3], bar_bytes[3];       // By BAR number; [1] is not used.
    uint32_t express;                         // Where the PCI Express capability stands.
    bool random_split; // Completions are cut at random boundaries rather than as long as allowed.
    uint64_t random;
    struct ferry_rc_request request[FERRY_RC_TAGS];
    uint32_t next_tag;
    unsigned reasons;                  // FERRY_PUMP_* that pump() has not told yet.
    uint32_t interrupts;               // Messages not taken yet.
    ferry_link_refused_write *refused; // May be NULL.
    void *refused_context;
    uint32_t inject_lose, inject_abort, inject_poison;
    bool flip_armed, flip_write; // A bit of the byte at flip_bus is to be flipped on its way.
    uint64_t flip_bus;
    struct ferry_link_counts counts;
    struct ferry_root_complex_counts traffic;
};

/// Interrupt messages are writes to this address (in the range that PCs use for them).
#define FERRY_RC_MESSAGE_ADDRESS 0xfee00000u
#define FERRY_RC_MESSAGE_DATA    0x4021u

// The files, lowest first; each calls only those above it here.

/// The request was given up, and more of its answer may come. root_complex_serve.c
void ferry_rc_give_up(struct ferry_root_complex *rc, struct ferry_rc_request *request);
/// Send a packet, running the device while there is no room. root_complex_send.c
int ferry_rc_send(struct ferry_root_complex *rc, const struct ferry_tlp *tlp);
/// Serve one packet of the device's; every packet that is there. root_complex_serve.c
void ferry_rc_serve(struct ferry_root_complex *rc, const uint32_t *words, size_t count);
bool ferry_rc_drain(struct ferry_root_complex *rc); // Whether there was one.
/// Run the device for up to `cycles`, and serve its packets. false = the device is gone: it neither runs nor sends.
bool ferry_rc_run(struct ferry_root_complex *rc, uint64_t cycles);
/// Whether there is a tag for another read, without one being finished first. root_complex_read.c
bool ferry_rc_may_read(const struct ferry_root_complex *rc);
/// Send a read (memory or configuration; tlp->requester and tag are filled in) whose `bytes` go to `data`; *tag names
/// it. The caller finishes them in the order of their start. Where there is no tag, since late answers have all, it
/// runs the device until there is. Errors: those of send, TIMEOUT, DEVICE_LOST. root_complex_read.c
int ferry_rc_start_read(struct ferry_root_complex *rc, struct ferry_tlp *tlp, void *data, uint32_t bytes,
                        uint32_t *tag);
/// Run the device until the read of that tag is done; its result. Errors: TIMEOUT, RANGE (refused), DEVICE_LOST.
int ferry_rc_finish_read(struct ferry_root_complex *rc, uint32_t tag);
/// Find the device, place its BARs, set sizes and interrupts, enable it. root_complex_enumerate.c
int ferry_rc_enumerate(struct ferry_root_complex *rc);
/// Function level reset, and all that again.
int ferry_rc_reset(struct ferry_root_complex *rc);

#endif
