// SPDX-License-Identifier: Apache-2.0
// Addresses in large pages, whose cells three queues own: each changes at random what its cells lead to, sometimes what
// another's do, and reads what it finds in its own and what the others leave as it is meanwhile. Allocations as large
// as large pages leave, come back, are written anew and destroyed; tables run out; other programs end in the middle of
// theirs; content goes from place to place or by addresses; nodes and paging are held back, buffers fault, the engine
// is reset. In some runs jobs stray as well: what they find is nothing, or was to be found there once.
#include "va_cells.h"

#include <stdio.h>

// ---- What addresses lead to ----

// Some of what one queue owns, one cell behind the other; seldom another one's.
static bool some_range(struct cells_run *run, unsigned number, uint64_t most, uint64_t *first, uint64_t *count)
{
    unsigned cell = cells_draw(run, CELLS), low = cell, high = cell + 1;
    if (run->owner[cell] != number && cells_draw(run, 12) != 0)
        return false;
    while (low > 0 && run->owner[low - 1] == run->owner[cell])
        low--;
    while (high < CELLS && run->owner[high] == run->owner[cell])
        high++;
    uint64_t from = (uint64_t)low * CELL, pages = (uint64_t)(high - low) * CELL, unit = cells_draw(run, 2) ? 512 : 16;
    *count = pages < most ? pages : most;
    *count = cells_draw(run, 2) ? *count : 1 + cells_draw(run, (uint32_t)*count);
    *first = from + cells_draw(run, (uint32_t)(pages - *count + 1));
    if (cells_draw(run, 2) && *first / unit * unit >= from)
        *first = *first / unit * unit;
    return true;
}

static bool differs(const struct cells_page *a, const struct cells_page *b)
{
    return a->allocation != b->allocation || a->page != b->page;
}

// One operation, done to `now` as well. False: none has come of it.
static bool operation(struct cells_run *run, unsigned number, struct cells_page *now, struct ferry_vidmm_update *update)
{
    unsigned allocation = cells_draw(run, ALLOCATIONS), kind = cells_draw(run, 8);
    uint64_t offset = cells_draw(run, 3) ? 0 : cells_draw(run, (uint32_t)run->pages[allocation]), first, count;
    if (!some_range(run, number, kind < 3 ? 70 : run->pages[allocation] - offset, &first, &count))
        return false;
    uint64_t at = first + cells_draw(run, (uint32_t)count), from = cells_draw(run, (uint32_t)(ARENA - count + 1));
    // Where something is, and as far around as this allocation goes.
    if (kind > 5 && now[at].allocation != 0) {
        allocation = now[at].allocation - 1;
        uint64_t before = at - first < now[at].page ? at - first : now[at].page;
        uint64_t behind = run->pages[allocation] - now[at].page, left = first + count - at;
        first = at - before;
        offset = now[at].page - before;
        count = before + (left < behind ? left : behind);
    }
    *update = mapping(run->at_arena + PAGES(first), count, run->allocations[allocation], offset);
    update->kind = kind < 2 ? FERRY_VIDMM_UNMAP : kind == 2 ? FERRY_VIDMM_COPY : FERRY_VIDMM_MAP;
    update->source = run->at_arena + PAGES(from);
    if (kind == 2)
        memmove(&now[first], &now[from], count * sizeof(now[0]));
    for (uint64_t i = 0; i < count && kind != 2; i++)
        now[first + i] = kind < 2 ? (struct cells_page){0} : (struct cells_page){allocation + 1, offset + i};
    return true;
}

static void change(struct cells_run *run, unsigned number)
{
    static struct cells_page now[ARENA];
    struct ferry_vidmm_update batch[3];
    struct ferry_vidmm_updated updated;
    unsigned count = 0, wanted = 1 + cells_draw(run, 3), readers = 0;
    memcpy(now, run->arena, sizeof(now));
    for (unsigned i = 0; i < wanted; i++)
        count += operation(run, number, now, &batch[count]);
    for (unsigned i = 0; i < ARENA; i++)
        readers |= differs(&now[i], &run->arena[i]) ? run->readers[i] : 0u;
    for (unsigned i = 0; i < QUEUES; i++)
        if (i != number && (readers & 1u << i) != 0)
            cells_check(run, i);
    if (count == 0 || !cells_active(run))
        return;
    int result = ferry_vidmm_update_virtual(run->world->manager, run->queues[number].context, batch, count, &updated);
    // Of an allocation that has been renamed, and where no tables are left.
    bool full = result == FERRY_ERROR_NO_VIDEO_MEMORY && updated.table_bytes > 0;
    cells_seen.full += full;
    if (full || result == FERRY_ERROR_BUSY || !cells_went_well(run, result))
        return;
    cells_seen.changes++;
    for (unsigned i = 0; i < ARENA; i++) {
        if (!differs(&now[i], &run->arena[i]))
            continue;
        run->stable[i] = false;
        run->contested[i / CELL] |= run->owner[i / CELL] != number;
        run->arena[i] = now[i];
        cells_remember(run, i);
    }
}

static void hand_over(struct cells_run *run)
{
    unsigned cell = cells_draw(run, CELLS), count = 1 + cells_draw(run, 8), to = cells_draw(run, QUEUES);
    for (unsigned i = cell; i < cell + count && i < CELLS && cells_active(run); i++) {
        cells_settle(run, run->owner[i]);
        run->owner[i] = run->contested[i] ? run->owner[i] : to;
    }
}

static void map_far(struct cells_run *run)
{
    unsigned at = cells_draw(run, FAR), allocation = cells_draw(run, ALLOCATIONS);
    struct cells_far_page *far = &run->far[at];
    if (far->leads_to.allocation != 0) {
        cells_went_well(run, ferry_vidmm_free_virtual(run->world->manager, run->world->device, far->address, PAGES(1)));
        *far = (struct cells_far_page){0};
        return;
    }
    uint64_t page = cells_draw(run, (uint32_t)run->pages[allocation]);
    struct ferry_vidmm_virtual range = {.size = sizeof(range),
                                        .address = BASE + (UINT64_C(1) << 39) * (1 + at / 2) + at % 2 * 0x200000,
                                        .bytes = PAGES(1)};
    int result = ferry_vidmm_map_virtual(run->world->manager, run->world->device, run->allocations[allocation],
                                         PAGES(page), false, &range);
    bool full = result == FERRY_ERROR_NO_VIDEO_MEMORY && range.table_bytes > 0;
    cells_seen.full += full;
    if (!full && result != FERRY_ERROR_BUSY && cells_went_well(run, result))
        *far = (struct cells_far_page){range.address, {allocation + 1, page}};
}

// ---- Allocations and programs ----

static void make(struct cells_run *run, unsigned at)
{
    static const uint64_t large[] = {512, 512, 600, 520};
    run->pages[at] = at < 4 ? large[at] : at < 9 ? 16 + cells_draw(run, 100) : 4 + cells_draw(run, 16);
    run->allocations[at] = at >= 9 ? world_create_in_aperture(run->world, PAGES(run->pages[at]), CPU)
                                   : world_create(run->world, PAGES(run->pages[at]), CPU);
    run->numbers[at] = ++run->newest;
    run->required[at] = false;
    world_write(run->world, run->allocations[at], run->newest);
}

static void destroy(struct cells_run *run, unsigned at)
{
    if (!cells_went_well(run, ferry_vidmm_destroy_allocation(run->world->manager, run->allocations[at])))
        return;
    for (unsigned i = 0; i < ARENA; i++)
        if (run->arena[i].allocation == at + 1)
            run->arena[i] = (struct cells_page){0};
    for (unsigned i = 0; i < FAR; i++)
        if (run->far[i].leads_to.allocation == at + 1)
            run->far[i] = (struct cells_far_page){0};
    make(run, at);
}

static void write_anew(struct cells_run *run, unsigned at)
{
    UINT flags = D3DDDI_LOCK_WRITE_ONLY | (cells_draw(run, 2) ? D3DDDI_LOCK_DISCARD : 0u);
    void *address;
    if (run->strays ||
        !cells_went_well(run, ferry_vidmm_lock(run->world->manager, run->allocations[at], flags, &address)))
        return;
    run->numbers[at] = ++run->newest;
    for (uint64_t i = 0; i < PAGES(run->pages[at]) / 4; i++)
        ((uint32_t *)address)[i] = world_word(run->newest, i);
    assert_int_equal(ferry_vidmm_unlock(run->world->manager, run->allocations[at]), FERRY_OK);
}

// Another program changes addresses of its own and ends in the middle of it.
static void another(struct cells_run *run)
{
    struct world other = *run->world;
    struct program program;
    D3DKMT_HANDLE a[3];
    uint64_t fence = 0;
    cells_let_go(run);
    program = program_begin(&other, 1, 0);
    program_become(&other, &program);
    D3DKMT_HANDLE context = context_on(&other, 1 + cells_draw(run, 2));
    for (unsigned i = 0; i < 3; i++) {
        a[i] = world_create(&other, PAGES(8 + cells_draw(run, 60)), CPU);
        world_write(&other, a[i], 100000 + i);
    }
    uint64_t window = reserve(&other, BASE, 512), pages = world_place(&other, a[1]).bytes / PAGE_SIZE;
    struct ferry_vidmm_virtual range = {.size = sizeof(range), .address = BASE + 0x800000, .bytes = PAGES(1)};
    if (world_resident(&other, a, 3) >= 0 &&
        ferry_vidmm_map_virtual(other.manager, other.device, a[0], 0, false, &range) == FERRY_OK) {
        cells_hold_back(run);
        for (unsigned i = 0; i < 3; i++) {
            uint64_t count = i == 2 ? pages : 1 + cells_draw(run, (uint32_t)pages);
            struct ferry_vidmm_update update = mapping(window + PAGES(16 * i), count, a[1], 0);
            struct ferry_vidmm_updated updated;
            int result = ferry_vidmm_update_virtual(other.manager, context, &update, 1, &updated);
            if (result == FERRY_OK && cells_draw(run, 2))
                try_copy(&other, context, (const D3DKMT_HANDLE[2]){a[0], a[1]}, range.address, update.address, 64,
                         &fence);
        }
        if (cells_draw(run, 2))
            world_evict(&other, a[1]);
        other.knobs->fault_paging = run->faults && cells_draw(run, 2);
        turns(&other, cells_draw(run, 4));
    }
    assert_int_equal(ferry_vidmm_destroy_process(other.manager, program.process), FERRY_OK);
    cells_seen.ended++;
}

// Paging is cut off behind a change of addresses, executed or not, without any job.
static void reset(struct cells_run *run, unsigned number)
{
    for (unsigned i = 0; i < QUEUES; i++)
        cells_check(run, i);
    run->world->knobs->delay = 1;
    run->world->knobs->late_abort = cells_draw(run, 2);
    change(run, number);
    for (unsigned i = 0; i < 4; i++)
        cells_evict(run, cells_draw(run, ALLOCATIONS));
    cells_require(run, cells_draw(run, ALLOCATIONS));
    turns(run->world, cells_draw(run, 6));
    if (cells_active(run))
        assert_int_equal(ferry_vidmm_reset_engine(run->world->manager), FERRY_OK);
    run->world->knobs->late_abort = false;
    cells_seen.resets++;
}

static void seldom(struct cells_run *run, unsigned number, unsigned allocation)
{
    switch (cells_draw(run, 16)) {
    case 0:
        // Content may be lost by it, and that is the end.
        run->world->knobs->fault_paging += run->faults && cells_draw(run, 4) == 0;
        run->world->knobs->fault_addresses++; // that costs nothing
        break;
    case 1: reset(run, number); break;
    case 2: hand_over(run); break;
    case 3: destroy(run, allocation); break;
    case 4: another(run); break;
    case 5: cells_settle(run, number); break;
    case 6: cells_settle_all(run); break;
    case 7: write_anew(run, allocation); break;
    case 8: cells_check(run, number); break;
    }
}

static void step(struct cells_run *run)
{
    unsigned number = cells_draw(run, QUEUES), allocation = cells_draw(run, ALLOCATIONS);
    switch (cells_draw(run, 24)) {
    default: cells_read(run, number); break;
    case 10:
    case 11:
    case 12:
    case 13: change(run, number); break;
    case 14:
    case 15: cells_evict(run, allocation); break;
    case 16: cells_require(run, allocation); break;
    case 17: cells_hold_back(run); break;
    case 18: turns(run->world, 1 + cells_draw(run, 4)); break;
    case 19:
    case 20: map_far(run); break;
    case 21:
    case 22:
    case 23: seldom(run, number, allocation); break;
    }
}

static void one_run(uint64_t seed, unsigned steps)
{
    struct world_options options = updates_options(1250 + seed % 5 * 150, seed % 3 == 1 ? 512 : 0);
    options.machine.seed = seed;
    options.machine.iommu = seed % 4 == 1;
    options.machine.by_address = seed % 4 >= 2;
    options.machine.version = DXGKDDI_WDDMv3_2;
    struct cells_run *run = calloc(1, sizeof(*run));
    *run = (struct cells_run){.world = world_open(&options), .seed = seed, .random = seed};
    run->faults = seed % 3 == 0;
    run->strays = seed % 5 >= 3;
    run->at_arena = reserve(run->world, BASE + 0x400000, ARENA);
    for (unsigned i = 0; i < QUEUES; i++) {
        struct cells_queue *queue = &run->queues[i];
        queue->context = context_on(run->world, i % 2 + 1);
        queue->result = content(run->world, 1, 100);
        queue->at_result = map(run->world, queue->result, BASE + 0x100000 + 0x10000 * i, 1);
        for (unsigned k = 0; k < SLOTS; k++)
            queue->there[k] = world_word(100, 16 * k);
    }
    for (unsigned i = 0; i < CELLS; i++)
        run->owner[i] = i * QUEUES / CELLS;
    for (unsigned i = 0; i < ALLOCATIONS; i++)
        make(run, i);
    for (; run->step < steps && cells_active(run); run->step++)
        step(run);
    for (unsigned i = 0; i < QUEUES && cells_active(run); i++)
        cells_check(run, i);
    cells_let_go(run);
    cells_seen.faults += (unsigned)world_statistics(run->world).faulted_paging_buffers;
    (run->strays ? close_strayed : world_close)(run->world);
    for (unsigned i = 0; i < ARENA; i++)
        free(run->history[i].words);
    free(run);
}

static void each_queue_finds_what_its_cells_lead_to(void **state)
{
    (void)state;
    const char *runs = getenv("FERRY_RUNS"), *steps = getenv("FERRY_STEPS");
    uint64_t seed = seed_given(1);
    unsigned count = runs ? (unsigned)atoi(runs) : 15;
    for (unsigned i = 0; i < count; i++)
        one_run(seed + i, steps ? (unsigned)atoi(steps) : 600);
    printf(
        "%u pages read, %u of others, %u by strays, %u changes, %u without tables, %u resets, %u faults, %u programs\n",
        cells_seen.read, cells_seen.of_others, cells_seen.strays, cells_seen.changes, cells_seen.full,
        cells_seen.resets, cells_seen.faults, cells_seen.ended);
    assert_true(cells_seen.read > count * 10 && cells_seen.changes > count);
    assert_true(count < 12 ||
                (cells_seen.of_others > 0 && cells_seen.strays > 0 && cells_seen.resets > 0 && cells_seen.ended > 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_queue_finds_what_its_cells_lead_to)};
    return WORLD_RUN(tests);
}
