// SPDX-License-Identifier: Apache-2.0
// Inside of the machine made of the real miniport: shared by the machine itself and by what stands before its table.
#ifndef FERRY_TESTS_KMD_MACHINE_H
#define FERRY_TESTS_KMD_MACHINE_H

#include "device/host_pages.h"
#include "kmd/kmd.h"
#include "link/link.h"
#include "machine.h"

#define HELD_MOST    64
#define PAGING_KEPT  4096u
#define HIDDEN_INDEX (FERRY_KMD_SEGMENT_APERTURE + 1) // The segment that only the wrapper reports.

// READ_PHYSICAL and WRITE_PHYSICAL packets of one paging submission.
struct paging_accesses {
    unsigned reads, writes;
};

struct machine {
    struct machine_options options;
    struct machine_knobs knobs;
    struct ferry_link *link;
    const struct ferry_link_operations *link_operations; // its own
    struct ferry_link_operations deaf_operations;        // those before them
    struct ferry_gpu *gpu;
    struct ferry_host_pages *pages;
    struct ferry_page_source source;
    HANDLE adapter;
    bool hung, not_run; // the second where the device cannot hang: nobody lets it run
    uint8_t *patched;   // first byte of what was patched last
    unsigned planted, refused;
    uint64_t records; // of faults, that were there
    uint64_t random;
    char text[100];
    // What the wrapper keeps.
    const DXGKRNL_INTERFACE *os;
    DXGKRNL_INTERFACE between;
    bool in_operation;
    unsigned busy_left;
    DXGKARG_SUBMITCOMMAND held[HELD_MOST];
    unsigned held_count;
    struct paging_accesses accesses[PAGING_KEPT]; // ring, by the count of paging submissions
    unsigned paging_submissions;
};

/// The machine that is open; the miniport's entry points get its own handle, and tests open one machine at a time.
extern struct machine *kmd_machine_present;

/// The real miniport's table, of the driver model that the machine was opened for.
const DRIVER_INITIALIZATION_DATA *kmd_machine_miniport(const struct machine *machine);
/// One turn of the device, then the miniport's interrupt routine.
int kmd_machine_turn(void *context);
/// Give the miniport what was held back, when the knob lets go of it.
void kmd_machine_release(struct machine *machine);
/// What was planted and has not been executed never will be: every ring was aborted.
void kmd_machine_was_reset(struct machine *machine);

#endif
