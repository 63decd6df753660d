// SPDX-License-Identifier: Apache-2.0
// A table that stands between manager and miniport, passes every call on, keeps what was said, and checks by itself
// what the contract demands of both sides of BuildPagingBuffer, Patch and SubmitCommand. It shares no code with
// either.
#ifndef FERRY_TESTS_SPY_H
#define FERRY_TESTS_SPY_H

#include "ddi/miniport.h"

enum spy_kind { SPY_BUILD, SPY_PATCH, SPY_SUBMIT, SPY_PAGES_UNMAPPED, SPY_PAGES_MAPPED, SPY_ACQUIRE, SPY_RELEASE };

struct spy_entry {
    enum spy_kind kind;
    DXGKARG_BUILDPAGINGBUFFER before, after; // SPY_BUILD
    NTSTATUS status;
    uint32_t written;
    DXGKARG_PATCH patch;
    DXGKARG_SUBMITCOMMAND submit;
    const MDL *pages;                      // SPY_PAGES_
    DXGKARG_ACQUIRESWIZZLINGRANGE acquire; // as it was answered; of a release the members that it has
    UINT done; // newest paging submission that was over then: of SPY_PAGES_, and of an unmapping before it is built
};

// A whole transfer of one allocation, from TransferStart to TransferEnd.
struct spy_transfer {
    HANDLE allocation;
    uint64_t first, bytes; // range inside the allocation
    unsigned pieces;
    UINT source_segment, destination_segment;
};

struct spy {
    const DRIVER_INITIALIZATION_DATA *under;
    DRIVER_INITIALIZATION_DATA table;
    bool keep; // keep entries; the checks run always
    struct spy_entry *entries;
    size_t count, capacity;
    struct spy_transfer *transfers;
    size_t transfer_count, transfer_capacity;
    unsigned errors;
    char first_error[200];
    // Checker state.
    bool in_operation, busy_seen, in_transfer;
    DXGKARG_BUILDPAGINGBUFFER last;
    struct spy_transfer open;
    uint8_t *buffer; // where the next operation must go on, NULL = a fresh buffer
    uint64_t operations[DXGK_OPERATION_COUNT];
    uint64_t builds, submissions, patches;
    bool patched;
    DXGKARG_PATCH last_patch;
    UINT last_paging_fence;
    HANDLE adapter;      // the handle the last build call came with
    HANDLE system;       // the system context, which it is for
    unsigned in_routine; // inside InterruptRoutine or DpcRoutine
    uint64_t reports;    // interrupts that had something to tell
    // Called in the middle of each BuildPagingBuffer: before the miniport begins, and when it is done.
    void (*in_build)(void *context);
    void *in_build_context;
    const DXGKARG_BUILDPAGINGBUFFER *building; // what that call is for
    // PAGINGPROCESSGPUVASIZE: how often it was asked, with which index; and what is answered in the miniport's place.
    unsigned window_queries;
    UINT window_index, window_input, window_output;
};

/// The one spy of the test program; start() puts it in front of a table and forgets everything.
extern struct spy spy;
extern UINT spy_window_megabytes; // 0 = the miniport's own answer; outlives start()
extern bool spy_window_fails;     // and the query fails, whatever it has written
const DRIVER_INITIALIZATION_DATA *spy_start(const DRIVER_INITIALIZATION_DATA *under);
/// The page source was called, as the machine tells.
void spy_pages(const MDL *pages, bool mapped);
/// Forget entries and transfers, not the checker's state.
void spy_clear(void);
/// The nth kept build call of this operation, NULL when there are fewer.
const struct spy_entry *spy_build(DXGK_BUILDPAGINGBUFFER_OPERATION operation, size_t n);
size_t spy_kinds(enum spy_kind kind);
size_t spy_builds(DXGK_BUILDPAGINGBUFFER_OPERATION operation);
void spy_end(void);

#endif
