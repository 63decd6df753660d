// SPDX-License-Identifier: Apache-2.0
// Jobs of test_va_cells.c's queues, and whether they found what they had to.
#include "va_cells.h"

struct cells_seen cells_seen;

uint32_t cells_draw(struct cells_run *run, uint32_t below)
{
    return draw_below(&run->random, below);
}

bool cells_active(const struct cells_run *run)
{
    D3DKMT_DEVICEEXECUTION_STATE state;
    struct ferry_vidmm_critical record;
    if (ferry_vidmm_critical(run->world->manager, &record))
        fail_msg("FERRY_SEED=%llu step %llu: critical stop %d by operation %u", (unsigned long long)run->seed,
                 (unsigned long long)run->step, (int)record.code, record.operation);
    assert_int_equal(ferry_vidmm_device_state(run->world->manager, run->world->device, &state), FERRY_OK);
    return state == D3DKMT_DEVICEEXECUTION_ACTIVE;
}

bool cells_went_well(const struct cells_run *run, int result)
{
    bool lost = !cells_active(run);
    assert_true(result == FERRY_OK || lost);
    return !lost;
}

void cells_let_go(struct cells_run *run)
{
    run->world->knobs->hold_node = 0;
    run->world->knobs->hold_paging = false;
    turns(run->world, 1);
}

void cells_hold_back(struct cells_run *run)
{
    struct machine_knobs *knobs = run->world->knobs;
    cells_let_go(run);
    knobs->hold_node = cells_draw(run, 3);
    knobs->hold_paging = cells_draw(run, 4) == 0;
    knobs->hold_turns = 1 + cells_draw(run, 60);
    knobs->delay = cells_draw(run, 3);
}

// ---- What jobs find ----

static uint32_t word_at(const struct cells_run *run, struct cells_page page)
{
    return world_word(run->numbers[page.allocation - 1], PAGES(page.page) / 4);
}

void cells_remember(struct cells_run *run, unsigned at)
{
    struct cells_history *history = &run->history[at];
    if (!run->strays || run->arena[at].allocation == 0)
        return;
    history->words = realloc(history->words, (history->count + 1) * sizeof(history->words[0]));
    history->words[history->count++] = word_at(run, run->arena[at]);
}

static bool is_right(const struct cells_run *run, const struct cells_queue *queue, unsigned slot, uint32_t found)
{
    const struct cells_read *read = &queue->reads[slot];
    if (read->stray == 0)
        return found == read->expected;
    const struct cells_history *history = &run->history[read->stray - 1];
    bool right = found == queue->there[slot];
    for (size_t i = 0; i < history->count; i++)
        right |= found == history->words[i];
    cells_seen.strays += right;
    return right;
}

void cells_check(struct cells_run *run, unsigned number)
{
    struct cells_queue *queue = &run->queues[number];
    void *address;
    cells_let_go(run);
    if (queue->jobs == 0)
        return;
    int result = ferry_vidmm_wait(run->world->manager, queue->context, queue->last);
    bool strayed = queue->reads[queue->jobs - 1].stray != 0;
    if (!cells_went_well(run, strayed && result == FERRY_ERROR_FAULT ? FERRY_OK : result) ||
        !cells_went_well(run, ferry_vidmm_lock(run->world->manager, queue->result, D3DDDI_LOCK_READ_ONLY, &address)))
        return;
    for (unsigned i = 0; i < queue->jobs; i++) {
        uint32_t found = ((const uint32_t *)address)[16 * i];
        if (!is_right(run, queue, i, found))
            fail_msg(
                "FERRY_SEED=%llu step %llu: job %u of queue %u, since step %llu, found %08x and not %08x, stray %u",
                (unsigned long long)run->seed, (unsigned long long)run->step, i, number,
                (unsigned long long)queue->reads[i].step, found, queue->reads[i].expected, queue->reads[i].stray);
        queue->there[i] = found;
    }
    assert_int_equal(ferry_vidmm_unlock(run->world->manager, queue->result), FERRY_OK);
    cells_seen.read += queue->jobs;
    queue->jobs = 0;
    for (unsigned i = 0; i < ARENA; i++)
        run->readers[i] &= (uint8_t) ~(1u << number);
}

void cells_settle(struct cells_run *run, unsigned number)
{
    struct cells_queue *queue = &run->queues[number];
    cells_check(run, number);
    if (!cells_active(run))
        return;
    queue->last = world_gpu_name(run->world, queue->context, queue->result, true);
    cells_went_well(run, ferry_vidmm_wait(run->world->manager, queue->context, queue->last));
    for (unsigned i = 0; i < ARENA; i++)
        run->stable[i] |= run->owner[i / CELL] == number && !run->contested[i / CELL];
}

void cells_settle_all(struct cells_run *run)
{
    for (unsigned i = 0; i < QUEUES && cells_active(run); i++)
        cells_settle(run, i);
    memset(run->contested, 0, sizeof(run->contested));
    memset(run->stable, true, sizeof(run->stable));
}

void cells_evict(struct cells_run *run, unsigned at)
{
    if (run->required[at])
        assert_int_equal(world_evict(run->world, run->allocations[at]), FERRY_OK);
    run->required[at] = false;
}

bool cells_require(struct cells_run *run, unsigned at)
{
    for (unsigned tries = 0; tries < 40 && !run->required[at] && cells_active(run); tries++) {
        int result = world_resident(run->world, &run->allocations[at], 1);
        run->required[at] = result >= 0;
        if (result < 0 && cells_went_well(run, result == FERRY_ERROR_NO_VIDEO_MEMORY ? FERRY_OK : result))
            cells_evict(run, cells_draw(run, ALLOCATIONS));
    }
    return run->required[at];
}

static void read_at(struct cells_run *run, unsigned number, uint64_t address, struct cells_page page, unsigned stray)
{
    struct cells_queue *queue = &run->queues[number];
    unsigned slot = queue->jobs++;
    queue->reads[slot] = (struct cells_read){stray ? 0 : word_at(run, page), stray, run->step};
    const D3DKMT_HANDLE names[2] = {queue->result, stray ? queue->result : run->allocations[page.allocation - 1]};
    cells_went_well(
        run, try_copy(run->world, queue->context, names, queue->at_result + 64 * slot, address, 64, &queue->last));
}

void cells_read(struct cells_run *run, unsigned number)
{
    unsigned at = cells_draw(run, ARENA);
    if (run->queues[number].jobs == SLOTS)
        cells_check(run, number);
    if (!cells_active(run))
        return;
    if (cells_draw(run, 6) == 0) {
        const struct cells_far_page *far = &run->far[cells_draw(run, FAR)];
        if (far->leads_to.allocation != 0 && cells_require(run, far->leads_to.allocation - 1))
            read_at(run, number, far->address, far->leads_to, 0);
        return;
    }
    if (run->strays && cells_draw(run, 4) == 0) {
        read_at(run, number, run->at_arena + PAGES(at), (struct cells_page){0}, at + 1);
        return;
    }
    for (unsigned i = 0; i < 16 && run->arena[at].allocation == 0; i++)
        at = cells_draw(run, ARENA);
    bool own = run->owner[at / CELL] == number && !run->contested[at / CELL];
    if (run->arena[at].allocation == 0 || (!own && !run->stable[at]) ||
        !cells_require(run, run->arena[at].allocation - 1))
        return;
    read_at(run, number, run->at_arena + PAGES(at), run->arena[at], 0);
    run->readers[at] |= (uint8_t)(1u << number);
    cells_seen.of_others += !own;
}
