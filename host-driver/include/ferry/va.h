// SPDX-License-Identifier: Apache-2.0
// GPU virtual addresses, part of ferry.h: reserved, mapped, changed among jobs, looked at. Argument structs begin with
// their size, as in ferry.h; each call may be made from any thread.
//
// In driver model 2 each program has 48 bits of addresses of its own; in model 1 these calls give UNSUPPORTED. A
// mapping leads to its allocation wherever that is: in video memory or, while it is in the aperture, in its pages of
// host memory. A job that reaches an address that leads nowhere faults, with the address and the entry of the page
// table in the fault's record, and nobody else's job does. Page tables take memory that is set aside for them
// (`table_bytes` of the adapter's options, else a 32nd of video memory: 4 KiB for each 2 MiB of addresses, and three
// more for addresses far from others; beside what `video_memory_bytes` limits where the device has it). A program with
// four of them leaves to each other program with a device those missing to four, and four to one that is yet to come
// (docs/manual/page-tables.md). Each allocation is mapped by itself, from 2^47 on, when it is made; jobs that name it
// are submitted with that address, and nothing is patched in them. ferry_va_free() takes such a mapping away as any
// other: jobs that name the allocation fault then, whatever is mapped there afterwards. Where no page tables are left
// it has none, and its jobs are patched as in model 1, until it is made resident, or named by a packet that is
// recorded, after page tables have been given back: then it is mapped, if it can be. Each instance that a lock with
// DISCARD makes has such an address too. Of what ferry_va_map() has mapped there is one instance: such a lock waits.
#ifndef FERRY_VA_H
#define FERRY_VA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ferry/error.h"

#ifdef __cplusplus
extern "C" {
#endif
// A shared library that is built with -fvisibility=hidden shows these and nothing else.
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

struct ferry_device;
struct ferry_allocation;
struct ferry_queue;

// What a reservation is where nothing is mapped in it. NO_ACCESS: who reaches it faults, as anywhere. ZERO: it reads as
// zeros, and a write faults, as any of what is read only; it takes page tables where it begins and ends, however large
// it is: at most six, the program's first one, and four for all programs together, which stay. NO_COMMIT: no page
// tables are made for it before something is mapped, which is so of NO_ACCESS too.
enum ferry_va_reservation { FERRY_VA_NO_ACCESS, FERRY_VA_ZERO, FERRY_VA_NO_COMMIT };
struct ferry_va {
    size_t size;
    uint64_t address;                      // in: where, 0 = any place in [least, most); out: where it is.
    uint64_t least, most;                  // in: most 0 = no bound. Beside an address neither is looked at.
    uint64_t bytes;                        // in
    uint64_t table_bytes;                  // out: with NO_VIDEO_MEMORY the bytes of page tables that are missing.
    bool replace;                          // in, of map, beside an address: what is mapped there gives way.
    enum ferry_va_reservation reservation; // in, of reserve and protect.
};
/// Take addresses without mapping them: 64 KiB and multiples, at multiples of 64 KiB. They are the program's until it
/// ends, or one of its devices frees them. Of ZERO jobs submitted later find zeros wherever nothing is mapped; what is
/// unmapped there, or destroyed, leaves zeros. What is mapped there has to be on the residency list when a job that
/// goes there is submitted, as anywhere else (NOT_RESIDENT); while its content is out, its pages lead to zeros, for a
/// job submitted before it was mapped. Errors: ARGUMENT (not aligned, beyond 48 bits, no such kind of reservation),
/// BUSY (not all of them are free), HANDLE, NO_VIDEO_MEMORY (no such place; of ZERO also of page tables: table_bytes),
/// NO_HOST_MEMORY, DEVICE_LOST, UNSUPPORTED.
int ferry_va_reserve(struct ferry_device *device, struct ferry_va *range);
/// Whole pages of one reservation, in which nothing is mapped, are of another kind from now on: `reservation` of the
/// range is FERRY_VA_NO_ACCESS or FERRY_VA_ZERO (the contract's Map without an allocation: Protection NoAccess, Zero).
/// Jobs submitted before still find what was there. What is mapped there later leaves that behind. Where zeros begin or
/// end in the middle of a page table there is one of the program's own. Nothing has changed on an error. Errors:
/// ARGUMENT (not whole pages, none, beyond 48 bits; not all in one reservation; another kind; some of it is of this
/// kind already, and not all), BUSY (something is mapped there), HANDLE, NO_VIDEO_MEMORY (table_bytes), NO_HOST_MEMORY,
/// DEVICE_LOST, UNSUPPORTED.
int ferry_va_protect(struct ferry_device *device, struct ferry_va *range);
/// Map whole pages of the allocation, from byte `offset` on, to free addresses or to some that are reserved. As large
/// pages as address, place and length allow. At any place: if page tables are short, where there are enough of them,
/// with smaller pages if need be. Waits for nothing but with `replace`. Nothing has changed on an error. Errors: those
/// of ferry_va_reserve(), FOREIGN, RANGE (not all in the allocation), BUSY (mapped already; or an allocation of several
/// instances), NO_VIDEO_MEMORY (table_bytes says how much; at any place, where it is least), UNSUPPORTED. In the
/// aperture all pages are of 4 KiB. With `replace` it is BUSY only where some of it is mapped and not all of it is
/// inside one mapping or one reservation, or where an allocation is mapped by itself. What gives way is there for jobs
/// submitted before, as with ferry_va_free(); what is left of it stays mapped all the time, and can be freed in the
/// pieces that it is in. What is mapped alike already is left alone; where an update has only queued that, behind a job
/// of its queue, the call waits for the job (TIMEOUT). Errors besides: ARGUMENT (`replace` at any place).
int ferry_va_map(struct ferry_device *device, struct ferry_allocation *allocation, uint64_t offset, bool read_only,
                 struct ferry_va *range);
/// Whatever is mapped or reserved in the range, which cuts nothing in two, is free at once; a reservation of zeros as a
/// whole, with all that is mapped in it, as it was reserved or what ferry_va_protect() has left of it. Jobs submitted
/// before still find it mapped, or zeros; later ones that go there by address alone may for a while. Errors: ARGUMENT
/// (not whole pages or none, beyond 48 bits; nothing is there, or some of it, or of a reservation of zeros, reaches
/// beyond the range), HANDLE, NO_HOST_MEMORY, DEVICE_LOST, UNSUPPORTED.
int ferry_va_free(struct ferry_device *device, uint64_t address, uint64_t bytes);
enum ferry_va_operation_kind { FERRY_VA_MAP, FERRY_VA_UNMAP, FERRY_VA_COPY, FERRY_VA_MAP_PROTECT };
struct ferry_va_operation {
    enum ferry_va_operation_kind kind;
    bool read_only;                      // MAP_PROTECT; MAP is for writing too.
    uint64_t address, bytes;             // What changes. Whole pages, as everything here.
    struct ferry_allocation *allocation; // MAP and MAP_PROTECT: mapped there are its bytes
    uint64_t offset;                     // from here on,
    uint64_t repeat_bytes;               // so many of them again and again; 0 = `bytes`.
    uint64_t source; // COPY: what is mapped at as many bytes from here on, or not. Both may overlap.
};
struct ferry_va_batch {
    size_t size;
    size_t operation_size; // sizeof(struct ferry_va_operation)
    const struct ferry_va_operation *operations;
    uint32_t count;
    uint32_t failed;      // out, with an error: the operation that is to blame; `count` when it is none of them.
    uint64_t table_bytes; // out: with NO_VIDEO_MEMORY the bytes of page tables that are missing.
    bool do_not_wait;     // in: not for the queue's jobs before it either.
    // in: another queue of the program, or NULL; and the number of a job of it (ferry_queue_submit()).
    struct ferry_queue *behind_queue;
    uint64_t behind_job;
};
/// Change what reserved addresses lead to, mapped or not, among the jobs of a queue: jobs submitted to it before find
/// everything as it was, jobs submitted later find all of it changed. Jobs of other queues, and what they bring in and
/// out, are not kept waiting; they find the one or the other, and who has to know waits for a job behind the update (an
/// empty one will do). Operations see what those before them in the batch have left, and what is mapped before and
/// after is mapped all the time. All of the addresses are in one reservation of ferry_va_reserve(); those of a COPY's
/// source too, in that one or another. What is to use it may be recorded before or after, and is submitted after it.
/// For tiles of a large image (docs/manual/page-tables.md). Waits only when 128 updates of the queue are not over, and,
/// where an update of another queue maps something alike, until that one is. With `do_not_wait` it stands behind no
/// job: what it maps is there for jobs of every queue that are submitted later and name it, also while jobs before it
/// run; what it takes away goes as soon as the jobs that name that are over. Where something leads elsewhere yet, for
/// jobs that name it or before an update that unmaps it, what it maps comes behind that, and so do the jobs that name
/// it. And where it would wait it is BUSY, also where an update of its own queue maps something alike behind a job that
/// is not over, or it unmaps what is not mapped while something that an update has unmapped has yet to go. With
/// `behind_queue` it stands behind that job, and not behind its own queue's before it: job numbers are the fence of an
/// update (FenceValue), and an empty job behind it has the next one (FenceValue + 1). On an error nothing has changed.
/// Errors: ARGUMENT (no such kind; not whole pages or none; beyond 48 bits; not all in one reservation; repeat_bytes
/// does not divide bytes; not the number of a job of that queue; with do_not_wait besides), HANDLE, FOREIGN, RANGE (not
/// all in the allocation), BUSY (an allocation of several instances), NO_VIDEO_MEMORY (of page tables; what the batch
/// unmaps gives none back yet), NO_HOST_MEMORY, DEVICE_LOST, TIMEOUT, UNSUPPORTED.
int ferry_va_update(struct ferry_queue *queue, struct ferry_va_batch *batch);

struct ferry_va_mapping {
    size_t size;
    uint64_t address, bytes; // 0 bytes: nothing is there or behind it.
    bool mapped, read_only;  // Not mapped: reserved.
    uint64_t allocation;     // ferry_allocation_id().
    uint64_t offset;
    bool zeros; // Reserved, and reads as zeros.
};
/// What is at the address, or the first behind it. Errors: ARGUMENT, HANDLE, DEVICE_LOST, UNSUPPORTED.
int ferry_va_find(struct ferry_device *device, uint64_t address, struct ferry_va_mapping *mapping);

/// One level of a walk: the entry that the page table has for the address.
struct ferry_va_step {
    uint32_t level, index;       // 3 is the highest level, 0 the lowest; which of the table's 512 entries.
    uint64_t table, entry;       // Where the table is; the entry as it stands there, 0 = nothing.
    bool table_in_host;          // It is in host memory, at that bus address; else in video memory.
    bool valid, is_page;         // It leads somewhere; to a page, and not to the table of the next level.
    bool read_only, host, group; // What it leads to: not to be written; in host memory; one of the sixteen of 64 KiB.
    uint64_t leads_to;           // Where that is; of a page the place of the address itself.
};
struct ferry_va_steps {
    size_t size;
    uint32_t count; // Of steps; 0: the program has no page tables yet.
    struct ferry_va_step steps[4];
};
/// Walk the page tables of the device's program by the CPU, as they stand in memory now: down from the highest
/// level, up to the first entry that is not valid, or a page. For whoever asks why an address has faulted: the last
/// step is what `walk_level` and `walk_entry` of the fault's record are about, if nothing has changed since. Costs a
/// read over the link for each level whose table is in video memory and another for each that leads on, and waits for
/// nothing. Errors: ARGUMENT (beyond 48 bits), HANDLE, DEVICE_LOST, UNSUPPORTED, BUSY (tables came and went all the
/// while), RANGE (video memory answers the read of a table with an error), TIMEOUT (the link is gone); no step is told
/// then.
int ferry_va_walk(struct ferry_device *device, uint64_t address, struct ferry_va_steps *walk);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
