// SPDX-License-Identifier: Apache-2.0
// What most tests need: a machine, a spy before its miniport, a manager on top, one device with a paging queue and a
// context. The helpers fail the running cmocka test when something goes wrong that the test is not about.
#ifndef FERRY_TESTS_WORLD_H
#define FERRY_TESTS_WORLD_H

// cmocka.h wants these four before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "../seed.h"
#include "machine.h"
#include "spy.h"

#define PAGES(n)  ((uint64_t)(n)*PAGE_SIZE)
#define CPU       DXGK_ALLOC_FLAG_CPU_VISIBLE
#define PERMANENT (DXGK_ALLOC_FLAG_CPU_VISIBLE | DXGK_ALLOC_FLAG_PERMANENT_SYSMEM)

struct world {
    struct machine *machine;
    struct machine_knobs *knobs;
    struct ferry_vidmm *manager;
    D3DKMT_HANDLE device, queue, context;
    HANDLE last_miniport_handle;
};

struct world_options {
    struct machine_options machine;
    struct ferry_vidmm_options manager; // platform and miniport are filled in
    bool broken;                        // errors of machine and spy, and a critical stop, are what the test is about
};

/// Run the tests that the machine does not leave out; those are printed with the reason.
// One miniport has no such case, which another program has: a row of its own in the registry, with the reason.
void world_leaves_out(const char *miniport, const char *test, const char *reason);
#define WORLD_RUN(tests) world_run(tests, sizeof(tests) / sizeof((tests)[0]))
int world_run(const struct CMUnitTest *tests, size_t count);

struct world_options world_defaults(void); // 64 pages local, 64 pages coherent aperture
struct world *world_open(const struct world_options *options);
struct world *world_open_default(void);
/// Also fails when the machine or the spy saw a breach, or when host pages were not given back.
void world_close(struct world *world);

struct ferry_allocation_private world_private(uint64_t bytes, UINT flags);
D3DKMT_HANDLE world_create(struct world *world, uint64_t bytes, UINT flags);
D3DKMT_HANDLE world_create_in_aperture(struct world *world, uint64_t bytes, UINT flags);
D3DKMT_HANDLE world_create_filled(struct world *world, uint64_t bytes, UINT flags, uint32_t pattern);
int world_try_create(struct world *world, const struct ferry_allocation_private *wanted,
                     const struct ferry_vidmm_allocation_options *options, D3DKMT_HANDLE *handle, unsigned *rule);
/// Create two pages with these flags. The rule that they break, if any; handles come with FERRY_OK only.
int world_try_flags(struct world *world, UINT flags, unsigned *rule);

int world_resident(struct world *world, const D3DKMT_HANDLE *list, UINT count); // the raw result
void world_require(struct world *world, D3DKMT_HANDLE allocation);              // resident and waited for
int world_evict(struct world *world, D3DKMT_HANDLE allocation);
/// Evicted and out of its segment, by room that is asked for and given back.
void world_force_out(struct world *world, D3DKMT_HANDLE allocation);
struct ferry_vidmm_placement world_place(struct world *world, D3DKMT_HANDLE allocation);
struct ferry_vidmm_statistics world_statistics(struct world *world);

/// Fill pages with words that depend on seed and place, by lock; and compare them the same way.
void world_write(struct world *world, D3DKMT_HANDLE allocation, uint32_t seed);
void world_check(struct world *world, D3DKMT_HANDLE allocation, uint32_t seed);
/// Compare what the GPU sees of a resident allocation.
void world_check_gpu(struct world *world, D3DKMT_HANDLE allocation, uint32_t seed);
uint32_t world_word(uint32_t seed, uint64_t index);

/// Submit a finished job whose allocation n is references[n] by itself; returns its fence.
uint64_t world_submit(struct world *world, D3DKMT_HANDLE context, const struct machine_job *job,
                      const struct ferry_vidmm_reference *references, uint32_t count);
/// A copy from the beginning of one allocation to that of the other, on a context of the caller's choice; its fence.
uint64_t world_copy_on(struct world *world, D3DKMT_HANDLE context, D3DKMT_HANDLE to, D3DKMT_HANDLE from,
                       uint32_t bytes);
/// A job that fills the allocation's words; returns its fence.
uint64_t world_gpu_fill(struct world *world, D3DKMT_HANDLE allocation, uint64_t offset, uint32_t bytes,
                        uint32_t pattern);
uint64_t world_gpu_copy(struct world *world, D3DKMT_HANDLE to, uint64_t to_offset, D3DKMT_HANDLE from,
                        uint64_t from_offset, uint32_t bytes);
/// The same where the device cannot fill in place, as in the aperture: a fill of other memory and a copy from there.
uint64_t world_gpu_put(struct world *world, D3DKMT_HANDLE allocation, uint64_t offset, uint32_t bytes,
                       uint32_t pattern);
/// On a context of the caller's choice; the job only names it as written when `write` is set, and does nothing.
uint64_t world_gpu_name(struct world *world, D3DKMT_HANDLE context, D3DKMT_HANDLE allocation, bool write);
void world_wait(struct world *world, uint64_t fence);

/// In driver model 2: an operation on the page tables of GPU virtual addresses.
static inline bool world_is_of_tables(unsigned operation)
{
    return operation == DXGK_OPERATION_UPDATE_PAGE_TABLE || operation == DXGK_OPERATION_FLUSH_TLB;
}

#endif
