// SPDX-License-Identifier: Apache-2.0
// What carries packets between the software root complex and a device: the simulation here, a byte stream to a board
// elsewhere. One thread at a time.
#ifndef FERRY_LINK_TLP_TRANSPORT_H
#define FERRY_LINK_TLP_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#include "link/link.h"

struct ferry_tlp_transport {
    void *context;
    /// Queue one packet for the device; it is copied. Packets leave in the order of PCIe section 2.4.1, at least: none
    /// passes a posted one. Returns FERRY_OK, BUSY while there is no room (run() makes some), or DEVICE_LOST.
    int (*send)(void *context, const uint32_t *words, size_t count);
    /// Words that were sent and have not reached the device yet.
    size_t (*queued)(void *context);
    /// The next packet of the device's, or NULL; *count gets its words. Valid until the next call of receive() or
    /// run().
    const uint32_t *(*receive)(void *context, size_t *count);
    /// Run up to `cycles` cycles, or until receive() has something; returns the cycles run. 0 while receive() has
    /// nothing: the device is gone, and stays so.
    uint64_t (*run)(void *context, uint64_t cycles);
    /// Cycles run since open.
    uint64_t (*cycles)(void *context);
    /// Host seconds spent in run().
    double (*run_seconds)(void *context);
    /// Fills what is of frames; the rest is the caller's. May be NULL, as may the following, which are those of link.h.
    void (*counts)(void *context, struct ferry_link_counts *counts);
    void (*observe)(void *context, const struct ferry_link_observer *observer);
    int (*inject)(void *context, enum ferry_injection kind, uint32_t count);
    uint32_t (*delay)(void *context);
    void (*describe)(void *context, struct ferry_link_description *description);
    void (*close)(void *context);
};

#endif
