// SPDX-License-Identifier: Apache-2.0
// What an adapter tells of all that happens, for timelines and pictures; part of ferry.h, which says what a call-back
// may do.
#ifndef FERRY_EVENTS_H
#define FERRY_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
// A shared library that is built with -fvisibility=hidden shows these and nothing else.
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

struct ferry_adapter;

enum ferry_event_kind {
    FERRY_EVENT_CALL_BEGIN, // name; track HOST. id pairs begin with end.
    FERRY_EVENT_CALL_END,
    FERRY_EVENT_PAGING_BEGIN, // One paging operation: operation, allocation, bytes; track PAGING.
    FERRY_EVENT_PAGING_END,
    FERRY_EVENT_JOB_BEGIN, // One user buffer; track USER.
    FERRY_EVENT_JOB_END,
    FERRY_EVENT_FENCE_WAIT,        // MakeResident or a submit asks for paging fence value `value`.
    FERRY_EVENT_FENCE_SIGNAL,      // Paging fence `value` reached.
    FERRY_EVENT_PLACED,            // allocation now at [offset, offset + bytes) of segment.
    FERRY_EVENT_REMOVED,           // allocation left that place.
    FERRY_EVENT_RESIDENT_BYTES,    // value = bytes in video memory.
    FERRY_EVENT_READS_OUTSTANDING, // value = host reads outstanding, sampled.
    FERRY_EVENT_BUDGET, // A program's budget of video memory is `value` now; bytes = what it has to trim; segment.
    FERRY_EVENT_SPAN,   // Device activity: track FIRMWARE or one behind it, [time, time + bytes).
    FERRY_EVENT_TABLE_MISSES, // value = GPU virtual pages that were looked up and had to be walked so far, sampled.
    // GPU virtual addresses [offset, offset + bytes) of the process lead to allocation, in pages of value bytes, from
    // now on; or nowhere. As PLACED and REMOVED when it is decided, before the page tables are written. MAPPED may come
    // again for addresses that are mapped, with another size of pages. UNMAPPED of pages of 2 MiB is about those of the
    // addresses that are mapped in such pages.
    FERRY_EVENT_MAPPED,
    FERRY_EVENT_UNMAPPED,
};
enum ferry_track {
    FERRY_TRACK_HOST,
    FERRY_TRACK_PAGING,
    FERRY_TRACK_USER,
    FERRY_TRACK_FIRMWARE,
    FERRY_TRACK_READ_CHANNEL,
    FERRY_TRACK_WRITE_CHANNEL,
    FERRY_TRACK_WALKS,      // Of page tables.
    FERRY_TRACK_FORGETTING, // What the device knows of page tables is invalidated.
};
struct ferry_event {
    size_t size;
    enum ferry_event_kind kind;
    enum ferry_track track;
    uint64_t time;       // Device cycles.
    uint64_t id;         // Pairs begin and end.
    const char *name;    // Valid during the call-back only.
    uint64_t allocation; // ferry_allocation_id(), 0 = none.
    uint64_t process; // ferry_process_id() of jobs, PLACED, REMOVED, MAPPED, UNMAPPED and BUDGET; 0 = the devices of no
                      // program.
    uint32_t segment;
    uint64_t offset, bytes, value;
};
typedef void ferry_event_callback(void *context, const struct ferry_event *event);
/// Call back for every event from now on; NULL ends it. The call-back must not call Pageferry (see ferry.h). Errors:
/// HANDLE.
int ferry_adapter_observe(struct ferry_adapter *adapter, ferry_event_callback *callback, void *context);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
