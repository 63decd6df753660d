// SPDX-License-Identifier: Apache-2.0
// A root complex in software: enumerates the device, turns BAR accesses into packets, and serves the device's reads and
// writes of mapped pages, and only those. Thread rule and calls as in link.h.
#ifndef FERRY_LINK_ROOT_COMPLEX_H
#define FERRY_LINK_ROOT_COMPLEX_H

#include "link/link.h"
#include "link/tlp_transport.h"

/// Cycles that an answer to a read of the host's may take.
#define FERRY_ROOT_COMPLEX_TIMEOUT 200000u

/// Packets that a correct device never sends, and what became of the rest.
struct ferry_root_complex_counts {
    uint64_t reads_served, writes_served; // Memory requests of the device's to mapped pages.
    uint64_t malformed;                   // Packets that do not decode, or break the programmed sizes; dropped.
    uint64_t poisoned;                    // Writes with the poison bit; dropped.
    uint64_t unexpected;                  // Completions with no request, and packets of other kinds; dropped.
};

/// Bring the link up over `transport` (copied; closed by the link's close(), and by this call when it fails). Errors:
/// ARGUMENT, NO_HOST_MEMORY, TIMEOUT (no answer), BACKEND (the device is not ours, or its BARs cannot be placed).
int ferry_root_complex_open(const struct ferry_tlp_transport *transport, const struct ferry_link_config *config,
                            struct ferry_link **link);
/// `link` must come from ferry_root_complex_open().
void ferry_root_complex_counts(const struct ferry_link *link, struct ferry_root_complex_counts *counts);

#endif
