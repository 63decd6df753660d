// SPDX-License-Identifier: Apache-2.0
// What a run of chaos.h is: the shadow of each allocation, the programs, what may go wrong; and what its steps
// (chaos_steps.c) and its frame (chaos.c) both need.
#ifndef FERRY_TESTS_CHAOS_STATE_H
#define FERRY_TESTS_CHAOS_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "chaos.h"
#include "programs.h"

#define MOST      40
#define DEVICES   4
#define NO_DEVICE DEVICES

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
    bool gpu_wrote;   // since the count last left 0
    uint64_t used[2]; // the newest job of each queue of its device that names it; 0 = none that is not over
    bool engaged;     // what this step is about: what happens meanwhile is not
    // Of a tiled image: where the byte that a job sees at an offset is in rows, NULL = it is none; what a view of it,
    // a lock in place, shows.
    uint32_t *rows_at;
    struct ferry_tiling_private tiling;
    bool alternate, linear;
    uint64_t seen, seen_bytes;
};

// Where the byte that a job sees at this offset is in what the CPU sees.
static inline uint64_t chaos_as_seen(const struct shadow *s, uint64_t at)
{
    return s->rows_at ? s->rows_at[at] : at;
}

#define REACHED 80u // pages at addresses that each device chooses and updates
struct reached {
    D3DKMT_HANDLE handle; // 0 = nothing is mapped there
    uint32_t page;
    bool read_only;
};
#define CALLED 6u // ranges of a device that a call has mapped
struct called {
    D3DKMT_HANDLE handle;
    uint64_t address;
    uint32_t page, pages;
    bool read_only;
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
    // Of each device's queue, then of its other one.
    struct reached reached[2 * DEVICES][REACHED];
    struct called called[DEVICES][CALLED];
    uint64_t random_more;
    bool more, in_vain, large, lock_failed;
    struct shadow *locking;                // what a lock that discards is about, as long as the call waits
    unsigned wholes, beside_locks;         // jobs of several buffers; jobs of what a lock discards meanwhile
    unsigned queues;                       // that this step is about, a bit each
    D3DKMT_HANDLE other[DEVICES];          // another context of the device; 0 = none
    unsigned calls, meanwhile, died, vain; // mapped by calls; done meanwhile, devices and programs ended; in vain
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
/// It has been destroyed: what it had is gone, and it begins anew.
void chaos_device_gone(unsigned number);

/// What comes upon the programs from outside. begin(): by the seed. before(): a step comes; after(): it is over.
void chaos_beside_begin(void);
void chaos_beside_before(void);
void chaos_beside_after(void);
/// What is asked for besides, of an allocation that is made.
void chaos_beside_create(struct ferry_allocation_private *wanted);
void chaos_program_gone(unsigned program);
/// Until the next time.
void chaos_memory_is_there(void);
/// The call found no memory, and that is no wonder: nothing has changed.
bool chaos_no_memory(int result);

/// Nothing to be said about an answer that the device's own state explains.
bool chaos_lost(const struct shadow *s, int result);
void chaos_compare(const struct shadow *s, const uint8_t *view, uint64_t from, uint64_t to, const char *when);

/// Where the addresses begin that a queue changes.
uint64_t chaos_addresses(unsigned queue);

/// NULL: it is gone.
struct shadow *chaos_named(D3DKMT_HANDLE handle);
/// A queue changes its addresses, a call maps or frees some, or a job goes by them.
void chaos_addresses_step(void);

/// A queue of the device: its only one, or either.
unsigned chaos_queue(unsigned device);
/// A job of this queue is in the line; from: what it reads besides, or NULL. locked: it has to be refused.
bool chaos_submit(struct shadow *to, struct shadow *from, const struct machine_job *job,
                  const struct ferry_vidmm_reference *references, uint32_t count, bool locked, unsigned queue);
/// What a job's copy does to what they hold; of an image it sees tiles.
void chaos_copied(struct shadow *to, uint64_t at, const struct shadow *from, uint64_t from_at, uint64_t bytes);
/// Jobs may use these bytes of it.
bool chaos_is_free(const struct shadow *s, uint64_t at, uint64_t bytes);

// Another thread's calls, and those in vain.
extern jmp_buf chaos_left;
void chaos_meanwhile_begin(void);
void chaos_meanwhile_before(void);
void chaos_meanwhile_after(void);
uint32_t chaos_draw(uint32_t below);
/// The call of this device is over, or of NO_DEVICE, and so is what was done meanwhile. When that has ended the device
/// the step is left (chaos_left).
int chaos_joined(int result, unsigned device);
/// The device has been ended meanwhile.
bool chaos_is_gone(unsigned device);
/// The other thread locks it and is not over: by its call's end it is locked, which is nobody else's to end.
bool chaos_is_held(const struct shadow *s);
/// Nothing comes from the device in this step, and so the call has come to nothing.
bool chaos_vain(int result);
void chaos_vain_ends(void);

/// In place of what else is wanted.
void chaos_image_create(struct shadow *s, struct ferry_allocation_private *wanted);
/// True when there is a view of it; it is read and written.
bool chaos_image_lock(struct shadow *s);
void chaos_image_touch(struct shadow *s);
void chaos_unlock(struct shadow *s);
void chaos_destroy(struct shadow *s);
void chaos_step(void);

#endif
