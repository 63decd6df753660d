// SPDX-License-Identifier: Apache-2.0
// Three queues, two of them on one node, change addresses among their jobs at random, each its own and blocks that all
// map alike, to allocations that all name; those leave and come back meanwhile, nodes and paging are held back, buffers
// fault, and what changes tables is aborted by a reset, executed or not; with an IOMMU in some runs. Each job finds at
// its addresses what its own queue's updates before it have mapped there.
#include "updates.h"

#include <stdio.h>
#include <stdlib.h>

#define QUEUES      3 // the third on the first one's node
#define ALLOCATIONS 10
#define WINDOW      48 // pages of a queue's own
#define BLOCKS      4  // of four pages, mapped alike
#define SLOTS       48

struct page {
    unsigned allocation; // from 1 on; 0 = nothing
    uint64_t page;
};

struct queue {
    D3DKMT_HANDLE context, result;
    uint64_t at_result, last;
    struct page window[WINDOW];
    bool block[BLOCKS];
    uint32_t expected[SLOTS];
    unsigned jobs;
};

struct run {
    struct world *world;
    uint64_t seed, random, step;
    bool faults;
    D3DKMT_HANDLE allocations[ALLOCATIONS];
    uint64_t pages[ALLOCATIONS];
    bool required[ALLOCATIONS];
    struct queue queues[QUEUES];
    uint64_t window, blocks;
    unsigned read;
};

// Of all runs.
static struct {
    unsigned resets, faults;
} seen;

static uint32_t draw(struct run *run, uint32_t below)
{
    return draw_below(&run->random, below);
}

static bool active(const struct run *run)
{
    D3DKMT_DEVICEEXECUTION_STATE state;
    struct ferry_vidmm_critical record;
    if (ferry_vidmm_critical(run->world->manager, &record))
        fail_msg("FERRY_SEED=%llu step %llu: critical stop %d by operation %u", (unsigned long long)run->seed,
                 (unsigned long long)run->step, (int)record.code, record.operation);
    assert_int_equal(ferry_vidmm_device_state(run->world->manager, run->world->device, &state), FERRY_OK);
    return state == D3DKMT_DEVICEEXECUTION_ACTIVE;
}

// What was held back goes out before anything else does.
static void let_go(struct run *run)
{
    run->world->knobs->hold_node = 0;
    run->world->knobs->hold_paging = false;
    turns(run->world, 1);
}

static void check(struct run *run, struct queue *queue)
{
    let_go(run);
    if (queue->jobs == 0)
        return;
    int result = ferry_vidmm_wait(run->world->manager, queue->context, queue->last);
    if (!active(run))
        return;
    assert_int_equal(result, FERRY_OK);
    void *address;
    result = ferry_vidmm_lock(run->world->manager, queue->result, D3DDDI_LOCK_READ_ONLY, &address);
    if (!active(run))
        return;
    assert_int_equal(result, FERRY_OK);
    const uint32_t *found = address;
    for (unsigned i = 0; i < queue->jobs; i++)
        if (found[16 * i] != queue->expected[i])
            fail_msg("FERRY_SEED=%llu step %llu: job %u of %u of queue %d found %08x and not %08x",
                     (unsigned long long)run->seed, (unsigned long long)run->step, i, queue->jobs,
                     (int)(queue - run->queues), found[16 * i], queue->expected[i]);
    assert_int_equal(ferry_vidmm_unlock(run->world->manager, queue->result), FERRY_OK);
    run->read += queue->jobs;
    queue->jobs = 0;
}

static bool require(struct run *run, unsigned at)
{
    for (unsigned tries = 0; tries < 8 && !run->required[at]; tries++) {
        int result = world_resident(run->world, &run->allocations[at], 1);
        run->required[at] = result >= 0;
        unsigned other = draw(run, ALLOCATIONS);
        if (result >= 0 || !run->required[other] || !active(run))
            continue;
        assert_int_equal(result, FERRY_ERROR_NO_VIDEO_MEMORY);
        assert_int_equal(world_evict(run->world, run->allocations[other]), FERRY_OK);
        run->required[other] = false;
    }
    return run->required[at];
}

static void read_page(struct run *run, struct queue *queue)
{
    unsigned at = draw(run, WINDOW), block = draw(run, BLOCKS), in_block = draw(run, 4);
    struct page page = queue->window[at];
    uint64_t address = run->window + PAGES(WINDOW * (queue - run->queues) + at);
    if (draw(run, 4) == 0) {
        if (!queue->block[block])
            return;
        page = (struct page){block + 1, in_block};
        address = run->blocks + PAGES(4 * block + in_block);
    }
    if (queue->jobs == SLOTS)
        check(run, queue);
    if (!active(run) || page.allocation == 0 || !require(run, page.allocation - 1))
        return;
    queue->expected[queue->jobs] = world_word(page.allocation, PAGES(page.page) / 4);
    const D3DKMT_HANDLE names[2] = {queue->result, run->allocations[page.allocation - 1]};
    int result =
        try_copy(run->world, queue->context, names, queue->at_result + 64 * queue->jobs, address, 64, &queue->last);
    assert_true(result == FERRY_OK || !active(run));
    queue->jobs++;
}

static void change(struct run *run, struct queue *queue)
{
    struct ferry_vidmm_update batch[3];
    struct page now[WINDOW];
    uint64_t base = run->window + PAGES(WINDOW * (queue - run->queues));
    unsigned count = 1 + draw(run, 3), block = draw(run, BLOCKS);
    memcpy(now, queue->window, sizeof(now));
    for (unsigned i = 0; i < count; i++) {
        unsigned allocation = draw(run, ALLOCATIONS), kind = draw(run, 4);
        uint64_t offset = draw(run, 3) ? 0 : draw(run, (uint32_t)run->pages[allocation]);
        uint64_t n = 1 + draw(run, (uint32_t)(run->pages[allocation] - offset));
        if (draw(run, 2))
            n = run->pages[allocation] - offset;
        uint64_t at = draw(run, (uint32_t)(WINDOW - n + 1)), from = draw(run, (uint32_t)(WINDOW - n + 1));
        at = draw(run, 2) && at / 16 * 16 + n <= WINDOW ? at / 16 * 16 : at;
        batch[i] = mapping(base + PAGES(at), n, run->allocations[allocation], offset);
        struct page copied[WINDOW];
        memcpy(copied, &now[from], n * sizeof(now[0]));
        for (uint64_t k = 0; k < n; k++)
            now[at + k] = kind == 0   ? (struct page){0}
                          : kind == 1 ? copied[k]
                                      : (struct page){allocation + 1, offset + k};
        batch[i].kind = kind == 0 ? FERRY_VIDMM_UNMAP : kind == 1 ? FERRY_VIDMM_COPY : FERRY_VIDMM_MAP;
        batch[i].source = base + PAGES(from);
    }
    if (draw(run, 4) == 0) {
        batch[0] = mapping(run->blocks + PAGES(4 * block), 4, run->allocations[block], 0);
        count = 1;
    }
    struct ferry_vidmm_updated updated;
    int result = ferry_vidmm_update_virtual(run->world->manager, queue->context, batch, count, &updated);
    if (!active(run))
        return;
    assert_int_equal(result, FERRY_OK);
    if (batch[0].address < run->blocks)
        memcpy(queue->window, now, sizeof(now));
    else
        queue->block[block] = true;
}

static void hold_back(struct run *run)
{
    struct machine_knobs *knobs = run->world->knobs;
    let_go(run);
    knobs->hold_node = draw(run, 3);
    knobs->hold_paging = draw(run, 4) == 0;
    knobs->hold_turns = 1 + draw(run, 60);
    knobs->delay = draw(run, 3);
}

// Paging hangs behind an update, without any job. What is waited for then comes after a reset.
static void hang(struct run *run, struct queue *queue, unsigned other)
{
    for (unsigned i = 0; i < QUEUES; i++)
        check(run, &run->queues[i]);
    run->world->knobs->delay = 1;
    run->world->knobs->hang = true;
    run->world->knobs->late_abort = draw(run, 2);
    change(run, queue);
    for (unsigned i = 0; i < 4; i++) {
        unsigned out = draw(run, ALLOCATIONS);
        if (run->required[out])
            assert_int_equal(world_evict(run->world, run->allocations[out]), FERRY_OK);
        run->required[out] = false;
    }
    D3DDDI_MAKERESIDENT list = {
        .hPagingQueue = run->world->queue, .NumAllocations = 1, .AllocationList = &run->allocations[other]};
    int result = run->required[other] ? FERRY_OK : ferry_vidmm_make_resident(run->world->manager, &list);
    run->required[other] |= result >= 0;
    if (result == FERRY_PENDING)
        assert_int_equal(ferry_vidmm_wait_paging(run->world->manager, run->world->queue, list.PagingFenceValue),
                         FERRY_OK);
    // A reset lets go.
    seen.resets += !run->world->knobs->hang;
    run->world->knobs->hang = run->world->knobs->late_abort = false;
}

static void step(struct run *run)
{
    struct queue *queue = &run->queues[draw(run, QUEUES)];
    unsigned other = draw(run, ALLOCATIONS);
    switch (draw(run, 16)) {
    default: read_page(run, queue); break;
    case 6:
    case 7:
    case 8: change(run, queue); break;
    case 9:
    case 10:
        if (run->required[other])
            assert_int_equal(world_evict(run->world, run->allocations[other]), FERRY_OK);
        run->required[other] = false;
        break;
    case 11: require(run, other); break;
    case 12: hold_back(run); break;
    case 13: turns(run->world, 1 + draw(run, 4)); break;
    case 14:
        if (draw(run, 4) == 0)
            check(run, queue);
        break;
    case 15:
        // Content may be lost by it, and that is the end.
        if (run->faults && draw(run, 8) == 0)
            run->world->knobs->fault_paging = 1;
        else if (!run->faults && draw(run, 4) == 0)
            hang(run, queue, other);
        break;
    }
}

static unsigned one_run(uint64_t seed, unsigned steps)
{
    struct world_options options = updates_options(56 + seed % 3 * 8, seed % 2 ? 512 : 0);
    options.machine.seed = seed;
    options.machine.iommu = seed % 4 == 1;
    struct run *run = calloc(1, sizeof(*run));
    *run = (struct run){.world = world_open(&options), .seed = seed, .random = seed, .faults = seed % 3 == 0};
    run->window = reserve(run->world, BASE + 0x400000, QUEUES * WINDOW + 4 * BLOCKS);
    run->blocks = run->window + PAGES(QUEUES * WINDOW);
    for (unsigned i = 0; i < QUEUES; i++) {
        struct queue *queue = &run->queues[i];
        queue->context = context_on(run->world, i % 2 + 1);
        queue->result = content(run->world, 1, 100);
        queue->at_result = map(run->world, queue->result, BASE + 0x100000 + 0x10000 * i, 1);
    }
    for (unsigned i = 0; i < ALLOCATIONS; i++) {
        run->pages[i] = i % 3 == 0 ? 16 : 4 + draw(run, 14);
        run->allocations[i] = i % 5 == 4 ? world_create_in_aperture(run->world, PAGES(run->pages[i]), CPU)
                                         : world_create(run->world, PAGES(run->pages[i]), CPU);
        world_write(run->world, run->allocations[i], i + 1);
    }
    for (; run->step < steps && active(run); run->step++)
        step(run);
    for (unsigned i = 0; i < QUEUES && active(run); i++)
        check(run, &run->queues[i]);
    let_go(run);
    unsigned read = run->read;
    seen.faults += (unsigned)world_statistics(run->world).faulted_paging_buffers;
    world_close(run->world);
    free(run);
    return read;
}

static void each_queue_finds_what_its_updates_have_mapped(void **state)
{
    (void)state;
    const char *runs = getenv("FERRY_RUNS"), *steps = getenv("FERRY_STEPS");
    uint64_t seed = seed_given(1);
    unsigned count = runs ? (unsigned)atoi(runs) : 60, read = 0;
    for (unsigned i = 0; i < count; i++)
        read += one_run(seed + i, steps ? (unsigned)atoi(steps) : 600);
    printf("%u pages read, %u resets, %u buffers that faulted\n", read, seen.resets, seen.faults);
    assert_true(read > count * 20 && (count < 12 || (seen.resets > 0 && seen.faults > 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_queue_finds_what_its_updates_have_mapped)};
    return WORLD_RUN(tests);
}
