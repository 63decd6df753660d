// SPDX-License-Identifier: Apache-2.0
// Inside of the memcpy machine: shared by its miniport and its page source.
#ifndef FERRY_TESTS_MEMCPY_MACHINE_H
#define FERRY_TESTS_MEMCPY_MACHINE_H

#include <pthread.h>

#include "machine.h"

#define LOCAL_BASE    UINT64_C(0x10000000)
#define HIDDEN_BASE   UINT64_C(0x40000000)
#define APERTURE_BASE UINT64_C(0x80000000)
#define NODES         3
#define FIRST_PFN     0x1000

struct mini_allocation {
    unsigned job_references;    // queued user buffers that name it
    unsigned paging_references; // queued paging buffers that name it
    bool destroyed;
    bool notify, told_resident; // NOTIFY_RESIDENCY: asked for; the last one said so
};

// What a piece of work names: an allocation, and which of the places that it is paged in at (R253).
struct mini_name {
    struct mini_allocation *allocation;
    uint64_t place;
};

struct mini_submission {
    unsigned node;
    UINT fence;
    uint64_t address; // of the buffer on the bus
    UINT start, end;
    bool paging;
    bool faults;         // a paging buffer after some of its packets, a job before it does anything
    uint64_t not_before; // turn
    struct mini_name *names;
    size_t name_count;
    struct mini_submission *next;
};

struct mini_entry { // of the aperture table
    uint64_t pfn;
    bool coherent;
};

struct machine {
    struct machine_options options;
    struct machine_knobs knobs;
    const DXGKRNL_INTERFACE *interface;
    uint8_t *memory[2]; // segments 1 and 2
    struct mini_entry *aperture;
    // Page source: bus page number - FIRST_PFN -> host page.
    pthread_mutex_t page_lock;
    uint8_t **pages;
    size_t page_count, page_capacity, pages_out;
    struct ferry_page_source source;
    // Work.
    struct mini_submission *queue; // all nodes, in order of submission
    uint64_t turn;
    UINT current[NODES]; // newest finished fence
    uint64_t random;
    unsigned busy_left;
    bool in_operation, may_throw_away; // since a reset or a paging fault what was built need not be submitted
    struct mini_name *patched;         // names of the buffer being patched
    size_t patched_count;
    uint64_t reads, writes; // READ_PHYSICAL, WRITE_PHYSICAL
    bool interrupt;
    DXGKARGCB_NOTIFY_INTERRUPT_DATA reports[256];
    unsigned report_count;
    // Names in paging operations since the last paging submission.
    struct mini_name *building;
    size_t building_count, building_capacity;
    unsigned errors;
    char first_error[200];
};

enum packet_kind {
    PACKET_MOVE = 0x51,
    PACKET_FILL,
    PACKET_NOTHING,
    PACKET_READ,
    PACKET_WRITE,
    PACKET_MAP,
    PACKET_UNMAP,
    PACKET_JOB_COPY,
    PACKET_JOB_FILL
};

#define UNFINISHED 0x40000000u // mark on the kind of a packet that Patch has to finish

// Followed by `pages` bus page numbers when one side is a list of pages.
struct packet {
    uint32_t kind, bytes; // of the whole packet
    uint64_t to, from, size, pattern;
    uint32_t list; // 0 = none, 1 = source, 2 = destination
    uint32_t pages;
};

/// BuildPagingBuffer.
NTSTATUS mini_build(HANDLE adapter, DXGKARG_BUILDPAGINGBUFFER *argument);
void mini_error(struct machine *machine, const char *format, ...);
uint32_t mini_random(struct machine *machine, uint32_t below);
/// Host byte behind a bus address, NULL when the page is not mapped.
uint8_t *mini_bus(struct machine *machine, uint64_t address);
/// Host byte behind a GPU address; *run = bytes that follow it in one piece. NULL (and an error) when there is none.
uint8_t *mini_gpu(struct machine *machine, uint64_t address, uint64_t *run);
/// Copy between GPU addresses, page piece by page piece, low to high.
void mini_copy(struct machine *machine, uint64_t to, uint64_t from, uint64_t bytes);
int mini_turn(void *context);
void mini_submit(struct machine *machine, struct mini_submission *submission);
/// Run the buffer's packets; of one that is to fault some of the first.
void mini_execute(struct machine *machine, const struct mini_submission *submission);

#endif
