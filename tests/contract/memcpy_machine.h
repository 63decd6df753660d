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
    bool compressed;
    uint32_t *tiles; // where its bytes are, NULL = as they come
    struct ferry_tiling_private tiling;
    bool lockable;  // of a tiled one: it is linear in system memory
    bool alternate; // locks with UseAlternateVA may be asked for
    uint64_t place; // GPU address that it was last built to be at, 0 = none; of a tiled one
    uint64_t bytes;
    const MDL *pages;           // in the aperture, NULL = it is not there
    bool notify, told_resident; // NOTIFY_RESIDENCY: asked for; the last one said so
    unsigned told_after;        // so many resets and paging faults: behind one it may be told again
};

// What a piece of work names: an allocation, and which of the places that it is paged in at (R253).
struct mini_name {
    struct mini_allocation *allocation;
    uint64_t place;
};

// A program's GPU virtual addresses, and what the GPU remembers of their tables: whatever it has read since it was last
// told to forget it, which is the worst that a device may do.
struct mini_remembered {
    unsigned level;
    uint64_t first; // page of the addresses that the entry is for
    uint64_t entry;
};
struct mini_process {
    uint64_t root; // GPU address of its highest table, 0 = none
    struct mini_remembered *remembered;
    size_t count, capacity;
};

struct mini_submission {
    unsigned node;
    struct mini_process *process; // of a job; NULL = it has no addresses
    UINT fence;
    uint64_t address;      // of the buffer on the bus
    UINT from, start, end; // from where on it was submitted, and where it stands
    bool paging;
    bool faults;         // a paging buffer after some of its packets, a job before it does anything
    uint64_t not_before; // turn
    struct mini_name *names;
    size_t name_count;
    struct mini_submission *next;
};

// Private data of a job's DMA buffer: what it went out as, and from where on.
struct mini_note {
    UINT fence, start;
};

struct mini_cut {
    unsigned node;
    UINT fence, start;
};

struct mini_entry { // of the aperture table
    uint64_t pfn;
    bool coherent;
};

// A swizzling range: `level` of the allocation is seen, at CPU addresses of its own. NULL = it is free.
#define MINI_RANGES 4
struct mini_range {
    const struct mini_allocation *allocation;
    uint32_t level;
    uint64_t place;
};

struct machine {
    struct machine_options options;
    struct machine_knobs knobs;
    const DXGKRNL_INTERFACE *interface;
    uint8_t *memory[2]; // segments 1 and 2
    struct mini_entry *aperture;
    struct mini_range ranges[MINI_RANGES];
    // Page source: bus page number - FIRST_PFN -> host page.
    pthread_mutex_t page_lock;
    uint8_t **pages;
    size_t page_count, page_capacity, pages_out;
    struct ferry_page_source source;
    // Work.
    struct mini_submission *queue; // all nodes, in order of submission
    struct mini_process *space;    // whose addresses the work that runs uses
    struct mini_process *paging;   // the manager's own
    uint64_t turn;
    UINT current[NODES]; // newest finished fence
    uint64_t random;
    struct mini_cut cut; // what a reset cut off last in the middle of its work
    unsigned busy_left;
    bool in_operation, may_throw_away; // since a reset or a paging fault what was built need not be submitted
    unsigned thrown_away;              // resets and paging faults so far
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
    PACKET_JOB_FILL,
    PACKET_ENTRIES, // of a page table: the list, or `pattern` `size` / 8 times
    PACKET_FORGET,  // addresses from `from` to `to` of the process `pattern`; `size` = its root, 0 = as it was
    PACKET_TILES,   // as PACKET_MOVE of a list of pages, in tiles on the other side: of the allocation `pattern`, which
                    // begins at `to` or `from`, whichever is the list's
    PACKET_SWIZZLE, // of the tiled allocation `pattern`, by addresses: `size` bytes of its rows from page `list` on,
                    // between `from` and `to`, where all of it is on both sides
    PACKET_UNSWIZZLE,
    PACKET_PROCESS // addresses are those of the process `pattern` from here on
};

// What is above is a GPU virtual address; and a page of the host that one leads to, as if it were a GPU address.
#define VIRTUAL_BASE (UINT64_C(1) << 40)
#define HOST_BASE    (UINT64_C(1) << 56)

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
/// Host byte behind a GPU address; *run = bytes that follow it in one piece. NULL (and an error) when there is none.
uint8_t *mini_gpu(struct machine *machine, uint64_t address, uint64_t *run);
// ---- memcpy_pages.c ----
/// Makes the machine's page source; its pages are locked by the machine's page lock.
void mini_page_source(struct machine *machine);
/// Host byte behind a bus address, NULL when the page is not mapped.
uint8_t *mini_bus(struct machine *machine, uint64_t address);
// ---- memcpy_ranges.c: driver model 1 ----
NTSTATUS mini_acquire(HANDLE adapter, DXGKARG_ACQUIRESWIZZLINGRANGE *argument);
NTSTATUS mini_release(HANDLE adapter, const DXGKARG_RELEASESWIZZLINGRANGE *argument);
unsigned mini_range_count(const struct machine *machine);
/// What was built for the allocation brings it to this place.
void mini_goes_to(struct machine *machine, struct mini_allocation *allocation, UINT segment, LARGE_INTEGER address);
/// What was built takes it from this place; 0 = from wherever it is.
void mini_leaves(struct machine *machine, const struct mini_allocation *allocation, LARGE_INTEGER from,
                 const char *how);
int mini_cpu_read(void *context, uint64_t address, void *data, size_t bytes);
int mini_cpu_write(void *context, uint64_t address, const void *data, size_t bytes);
// ---- memcpy_tables.c: driver model 2 ----
NTSTATUS mini_query_tables(const struct machine *machine, const DXGKARG_QUERYADAPTERINFO *argument);
NTSTATUS mini_create_process(HANDLE adapter, DXGKARG_CREATEPROCESS *argument);
NTSTATUS mini_destroy_process(HANDLE adapter, HANDLE process);
/// UPDATE_PAGE_TABLE, FLUSH_TLB, COPY_PAGE_TABLE_ENTRIES, VIRTUAL_TRANSFER, VIRTUAL_FILL.
bool mini_is_virtual(DXGK_BUILDPAGINGBUFFER_OPERATION operation);
NTSTATUS mini_build_virtual(struct machine *machine, DXGKARG_BUILDPAGINGBUFFER *argument);
/// Where the page of the address is, as a GPU address or HOST_BASE + bus address. 0 (and an error) when it is nowhere.
uint64_t mini_walk(struct machine *machine, uint64_t address);
void mini_forget(const struct packet *packet);
void mini_run_entries(struct machine *machine, const struct packet *packet, const uint8_t *list);
/// One packet into the DMA buffer, with `pages` numbers behind it; false when there is no room (memcpy_build.c).
bool mini_write_packet(DXGKARG_BUILDPAGINGBUFFER *argument, struct packet packet, const uint64_t *list);

/// Copy between GPU addresses, page piece by page piece, low to high.
void mini_copy(struct machine *machine, uint64_t to, uint64_t from, uint64_t bytes);
int mini_turn(void *context);
void mini_submit(struct machine *machine, struct mini_submission *submission);
/// Run the buffer's packets; of one that is to fault some of the first.
/// At most so many packets, 0 = all of them. False when there are more: `start` of the work is behind what was carried
/// out.
bool mini_execute(struct machine *machine, struct mini_submission *submission, unsigned packets);
/// Every page that a job reaches by address is looked up, and so remembered, before any of it is carried out.
void mini_look_up(struct machine *machine, const struct mini_submission *submission);

#endif
