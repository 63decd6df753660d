// SPDX-License-Identifier: Apache-2.0
// What a run of chaos.h is: the shadow of each allocation, the programs, what may go wrong; and what its steps
// (chaos_steps.c) and its frame (chaos.c) both need.
#ifndef FERRY_TESTS_CHAOS_STATE_H
#define FERRY_TESTS_CHAOS_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "chaos.h"
#include "programs.h"

#define MOST    40
#define DEVICES 4

struct shadow {
    D3DKMT_HANDLE handle;
    uint8_t *bytes;
    uint64_t size;
    UINT flags;
    unsigned device, count;
    bool aperture, locked;
    UINT lock_flags;
    uint64_t first, pages; // of the lock
    uint8_t *view;
    void *existing;
    bool gpu_wrote; // since the count last left 0
    // Of a tiled image: where the byte that a job sees at an offset is in rows, NULL = it is none; what a view of it,
    // a lock in place, shows.
    uint32_t *rows_at;
    struct ferry_tiling_private tiling;
    bool alternate, linear;
    uint64_t seen, seen_bytes;
};

#define REACHED 80u // pages at addresses that each device chooses and updates
struct reached {
    D3DKMT_HANDLE handle; // 0 = nothing is mapped there
    uint32_t page;
};

extern struct chaos {
    uint64_t seed, random, random_beside;
    unsigned step;
    struct world *world;
    struct shadow all[MOST];
    unsigned live;
    struct program devices[DEVICES];
    D3DKMT_HANDLE processes[2];
    bool discards, resets, kills, faults, hangs, images, beside;
    bool short_of_memory;                             // a call of this step may say so
    unsigned budgets, programs_killed, notices, none; // what came beside; calls that found no memory
    unsigned may_lose, shared; // devices that were alone in a buffer that faulted; such buffers of several
    unsigned jobs, refused, killed, updates, by_address, seen;
    struct reached reached[DEVICES][REACHED];
} chaos;

#define OKAY(what)       chaos_okay(what, #what)
#define CHECK(condition) chaos_check(condition, #condition)

void chaos_check(bool good, const char *what);
void chaos_okay(int result, const char *what);
uint32_t chaos_pick(uint32_t below);

/// Any of those that live; NULL where none does.
struct shadow *chaos_any(void);

bool chaos_permanent(const struct shadow *s);
bool chaos_in_error(unsigned number);

/// The shadow goes; the last one takes its place.
void chaos_forget(struct shadow *s);
void chaos_kill_device(unsigned number);
void chaos_open_device(unsigned number);

/// What comes upon the programs from outside. begin(): by the seed. before(): a step comes; after(): it is over.
void chaos_beside_begin(void);
void chaos_beside_before(void);
void chaos_beside_after(void);
/// What is asked for besides, of an allocation that is made.
void chaos_beside_create(struct ferry_allocation_private *wanted);
/// Until the next time.
void chaos_memory_is_there(void);
/// The call found no memory, and that is no wonder: nothing has changed.
bool chaos_no_memory(int result);

/// Nothing to be said about an answer that the device's own state explains.
bool chaos_lost(const struct shadow *s, int result);
void chaos_compare(const struct shadow *s, const uint8_t *view, uint64_t from, uint64_t to, const char *when);

/// Where the device's own addresses begin.
uint64_t chaos_addresses(unsigned device);
/// In place of what else is wanted.
void chaos_image_create(struct shadow *s, struct ferry_allocation_private *wanted);
/// True when there is a view of it; it is read and written.
bool chaos_image_lock(struct shadow *s);
void chaos_image_touch(struct shadow *s);
void chaos_unlock(struct shadow *s);
void chaos_destroy(struct shadow *s);
void chaos_step(void);

#endif
