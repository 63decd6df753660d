// SPDX-License-Identifier: Apache-2.0
// What the threads of test_va_order.c have in common, and those of them that submit.
#ifndef FERRY_TESTS_VA_ORDER_H
#define FERRY_TESTS_VA_ORDER_H

#include "baton.h"
#include "updates.h"

#define QUEUES      2u // a thread each, and one more that changes addresses
#define ALLOCATIONS 8u
#define RANGES      6u // mapped and freed as a whole
#define RANGE       8u // pages
#define WINDOW      32u
#define PAGES_MOST  48u // of an area
#define SLOTS       120u
#define STEPS       160u

enum area { RANGES_AREA, AT_ONCE, OF_QUEUE, AREAS = OF_QUEUE + QUEUES };
#define NOTHING 0u
#define ZERO    (ALLOCATIONS + 1)
#define GOING   (ALLOCATIONS + 2)

struct page {
    uint8_t allocation; // from 1 on, or NOTHING, ZERO, GOING: it is being destroyed
    uint8_t page;
};

struct queue {
    D3DKMT_HANDLE context, result;
    uint64_t at_result;
    uint32_t expected[SLOTS];
    uint64_t fences[SLOTS];
    unsigned jobs;
    // The page that a submission under way reaches; NULL: there is none.
    const struct page *wants;
};

static struct {
    struct world *world;
    struct queue queues[QUEUES];
    D3DKMT_HANDLE allocations[ALLOCATIONS];
    uint64_t pages[ALLOCATIONS];
    uint32_t content[ALLOCATIONS];
    bool required[ALLOCATIONS];
    D3DKMT_HANDLE neighbour, his_queue, his; // another program's device and allocation
    struct page now[AREAS][PAGES_MOST];
    bool zero[AREAS][PAGES_MOST]; // where nothing is mapped
    // What a call under way, which may wait, is to change: nobody begins to go there.
    const struct page *changing;
    unsigned changing_count;
    bool hangs, hung;
    uint64_t moved; // of what was queued, when a hang was over
    unsigned made, read, changed, meanwhile, cut;
} run;

// ---- Who submits --------------------------------------------------------------------------------------------------

void __real_ferry_vm_job_queue(struct ferry_vm_sched *sched, struct ferry_vm_job *job, uint32_t behind);
void __wrap_ferry_vm_job_queue(struct ferry_vm_sched *sched, struct ferry_vm_job *job, uint32_t behind);

static inline uint32_t word_at(struct page page)
{
    return page.allocation == ZERO ? 0 : world_word(run.content[page.allocation - 1], PAGES(page.page) / 4);
}

void __wrap_ferry_vm_job_queue(struct ferry_vm_sched *sched, struct ferry_vm_job *job, uint32_t behind)
{
    if (self >= 0 && self < (int)QUEUES) {
        struct queue *q = &run.queues[self];
        q->expected[q->jobs] = word_at(*q->wants);
    }
    __real_ferry_vm_job_queue(sched, job, behind);
}

// The ranges have a page table each, which comes and goes with them.
static inline uint64_t address_of(enum area area, unsigned page)
{
    uint64_t at = area == RANGES_AREA ? page / RANGE * UINT64_C(0x200000) + PAGES(page % RANGE) : PAGES(page);
    return BASE + ((uint64_t)area + 1) * 0x40000000 + at;
}

// It may hang again before anything has moved for who waits.
#define TRIES (run.hangs ? 8u : 1u)

static inline int lock(D3DKMT_HANDLE allocation, UINT flags, void **address)
{
    int result = FERRY_ERROR_TIMEOUT;
    for (unsigned tries = 0; tries < TRIES && result == FERRY_ERROR_TIMEOUT; tries++)
        result = ferry_vidmm_lock(run.world->manager, allocation, flags, address);
    return result;
}

static inline bool look(struct queue *q)
{
    struct ferry_vidmm *manager = run.world->manager;
    void *address;
    if (q->jobs == 0)
        return true;
    // Of what hung nothing is known.
    bool cut[SLOTS];
    for (unsigned i = 0; i < q->jobs; i++) {
        int result = FERRY_ERROR_TIMEOUT;
        for (unsigned tries = 0; tries < TRIES && result == FERRY_ERROR_TIMEOUT; tries++)
            result = ferry_vidmm_wait(manager, q->context, q->fences[i]);
        cut[i] = run.hangs && result == FERRY_ERROR_FAULT;
        run.cut += cut[i];
        if (!well(result == FERRY_OK || cut[i], "wait", result))
            return false;
    }
    int locked = lock(q->result, D3DDDI_LOCK_READ_ONLY, &address);
    if (!well(locked == FERRY_OK, "lock", locked))
        return false;
    const uint32_t *words = address;
    for (unsigned i = 0; i < q->jobs; i++)
        well(cut[i] || words[16 * i] == q->expected[i], "what a job found", words[16 * i]);
    run.read += q->jobs;
    q->jobs = 0;
    locked = ferry_vidmm_unlock(manager, q->result);
    return well(locked == FERRY_OK, "unlock", locked);
}

static inline bool is_there(struct page page)
{
    return page.allocation == ZERO ||
           (page.allocation != NOTHING && page.allocation != GOING && run.required[page.allocation - 1]);
}

static inline bool submit(struct queue *q)
{
    unsigned own = OF_QUEUE + (unsigned)(q - run.queues), which = draw(OF_QUEUE + 1);
    enum area area = which == OF_QUEUE ? own : (enum area)which;
    unsigned page = draw(area == RANGES_AREA ? RANGES * RANGE : WINDOW);
    if (!is_there(run.now[area][page]))
        return true;
    if (q->jobs == SLOTS && !look(q))
        return false;
    const struct page *wants = &run.now[area][page];
    if (!is_there(*wants) || (wants >= run.changing && wants < run.changing + run.changing_count))
        return true;
    q->wants = wants;
    struct ferry_vidmm_reach reach = {.address = address_of(area, page), .bytes = 64, .rows = 1};
    struct machine_job job = {.bytes = 0};
    struct ferry_vidmm_reference reference = {q->result, true};
    machine_job_copy(&job, 0, 0, 1, 0, 64);
    for (uint32_t i = 0; i < 2; i++)
        machine_job_by_address(job.commands, &job.patches[i],
                               job.patches[i].AllocationIndex == 0 ? q->at_result + 64 * q->jobs : reach.address);
    struct ferry_vidmm_submission submission = {.commands = job.commands,
                                                .bytes = job.bytes,
                                                .references = &reference,
                                                .reference_count = 1,
                                                .reaches = &reach,
                                                .reach_count = 1};
    unsigned changed = run.changed;
    int result = ferry_vidmm_submit(run.world->manager, q->context, &submission, 1, &q->fences[q->jobs]);
    run.meanwhile += changed != run.changed;
    q->wants = NULL;
    q->jobs += result == FERRY_OK;
    return well(result == FERRY_OK, "submit", result);
}

static inline bool step_of_queue(unsigned number)
{
    struct queue *q = &run.queues[number];
    // More at once than a line takes, now and then: then the call waits.
    unsigned count = draw(8) == 0 ? 80 : 1;
    bool goes_on = draw(64) != 0 || look(q);
    while (goes_on && count-- > 0)
        goes_on = submit(q);
    return goes_on;
}

#endif
