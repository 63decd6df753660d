// SPDX-License-Identifier: Apache-2.0
// A paging operation: what it asks of the miniport, what it reads and writes, what it has to wait for, and how far it
// has come. sched.h has the line that operations stand in, and says how long each stays.
#ifndef FERRY_VIDMM_SCHED_OPERATION_H
#define FERRY_VIDMM_SCHED_OPERATION_H

#include "vidmm/base/core.h"

struct ferry_vm_subject;

// What an operation reads or writes of a segment.
struct ferry_vm_span {
    UINT segment; // 0 = nothing
    uint64_t first, end;
};
// In place of a segment: page tables, by what the device knows them by. No content is where they are.
#define FERRY_VM_TABLES (FERRY_VM_MAX_SEGMENTS + 1)

// A range of the index of operations (paging_index.c).
#define FERRY_VM_TREES 4
struct ferry_vm_indexed {
    uint64_t domain, first, end; // domain 0: not in the index
    uint64_t buffer;             // that its operation is built into (ferry_vm_index_state)
    // Of it and those below it: the furthest end, the least number of those that wait, and the least buffer.
    uint64_t last_domain, reaches_to, waiting_from, buffer_from;
    uint64_t below[2];
};

// Pages that follow each other in a segment, or in a list of host pages.
struct ferry_vm_side {
    UINT segment; // 0 = in the list
    bool coherent;
    uint64_t first;
    const MDL *pages;
};

// An operation that finds content by addresses of the paging process is built step by step: these have not room for
// more than a chunk of it at a time, so entries are written, the operation itself is asked for, and entries are taken
// away again. Only one of them is being built at a time, and the steps are not known to others: it is one operation,
// which goes again from its first step.
struct ferry_vm_steps {
    bool wanted, inside;           // inside: the miniport is in the middle of one
    unsigned phase;                // whoever makes the steps counts it
    unsigned side_count;           // a source and a destination, or only one of them
    unsigned alignment_log2;       // of a chunk's addresses, in pages
    struct ferry_vm_side sides[2]; // from the first page on that is about
    uint64_t offset, pages;        // of the allocation
    uint64_t part, part_pages;     // of these, what is worked on, all being one chunk; part_pages 0 = all of them
    uint64_t done;                 // of these: in chunks that are built
    uint64_t at, chunk, written;   // of the chunk: where among the addresses, how long, how far the phase has come
    uint32_t chunks, updates, flushes;
};
enum ferry_vm_next_step { FERRY_VM_STEP, FERRY_VM_STEP_LATER, FERRY_VM_NO_STEP };

enum ferry_vm_operation_state { FERRY_VM_WAITING, FERRY_VM_BUILT_INTO, FERRY_VM_OVER };
struct ferry_vm_operation {
    uint64_t event, bytes;
    uint64_t first_fence, fence; // submissions of its first and last piece; 0 = not built
    uint64_t after[FERRY_VM_MAX_NODES];
    // The transfer that it is a piece of: numbers of the first and the last piece. The pieces are built one behind the
    // other (R33) and are over together.
    uint64_t first, last;
    struct ferry_vm_span reads, writes;
    uint64_t first_address, end_address;    // UPDATE_PAGE_TABLE, FLUSH_TLB: what they are about, in the subject's space
    const struct ferry_vm_subject *subject; // only to tell one from another
    struct ferry_vm_device *device;         // whose work it is; NULL = the manager's own
    D3DKMT_HANDLE allocation;
    uint32_t instance; // of the subject
    uint32_t busy;     // answers
    uint32_t faults;   // of buffers in which it was alone
    uint64_t idle_at;  // after one: asked for again when this submission is done
    uint64_t late;     // the job of an update that it waits for (ferry_vm_late), which others do not; 0 = for none
    // The subject's before it, of one that is behind all the one of those before it; which may be over. 0 = none.
    uint64_t previous;
    uint64_t given_up; // the DISCARD_CONTENT from which on nobody wants what it writes there; 0 = it is wanted
    // The number of the first of those of its device that are not over, or of the updates of its allocation, whichever
    // it is among: NULL = neither. The next one behind it there, and the one before; of the first one that is the last.
    uint64_t *among, among_next, among_previous;
    // While it has to wait it hangs on a node or on another operation: the next one that does so too. And the first of
    // those that hang on it.
    uint64_t hangs_next, keeps;
    uint64_t seen_in; // by which look of ferry_vm_behind_a_job last
    enum ferry_vm_operation_state state;
    bool begun;       // some of it is built
    bool told;        // of its begin
    bool alone;       // in a buffer of its own: one that it shared has faulted
    bool nothing;     // not for the miniport: only pages to give back
    DXGK_PTE entry;   // UPDATE_PAGE_TABLE: the first; those behind it lead to the pages behind
    const MDL *pages; // the pages that they lead to instead, from this one on; NULL = as the first says
    uint64_t first_page;
    MDL *release;    // given back when it is done
    MDL *unmap;      // the device's no more when it is done
    bool behind_all; // it waits for every operation that was queued before it
    bool counted;    // by the handle of its allocation, as one of its device's
    bool takes_away; // UPDATE_PAGE_TABLE: whatever its entries lead to, they do not to its place any more
    bool wanted;     // a job that has come to the head of its line stands behind it
    struct ferry_vm_steps steps;
    struct ferry_vm_operation *step_of; // of a step
    DXGKARG_BUILDPAGINGBUFFER argument;
};

/// Content goes between a segment and host memory, or inside a segment. The members of both begin alike, up to the
/// flags.
static inline bool ferry_vm_is_transfer(const DXGKARG_BUILDPAGINGBUFFER *argument)
{
    return argument->Operation == DXGK_OPERATION_TRANSFER ||
           argument->Operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER;
}

/// That, or by addresses.
static inline bool ferry_vm_moves_content(const DXGKARG_BUILDPAGINGBUFFER *argument)
{
    return ferry_vm_is_transfer(argument) || argument->Operation == DXGK_OPERATION_VIRTUAL_TRANSFER;
}

/// It writes page tables of GPU virtual addresses, or has them forgotten.
static inline bool ferry_vm_is_about_addresses(const struct ferry_vm_operation *operation)
{
    return !operation->nothing && (operation->argument.Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE ||
                                   operation->argument.Operation == DXGK_OPERATION_FLUSH_TLB);
}

/// What changes tables may have others behind it in its buffer: where it faults they are not executed, and all of them
/// go again in their order. Not what goes alone.
static inline bool ferry_vm_shares_its_buffer(const struct ferry_vm_operation *operation)
{
    return ferry_vm_is_about_addresses(operation) && !operation->alone;
}

#endif
