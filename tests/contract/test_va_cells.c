// SPDX-License-Identifier: Apache-2.0
// Addresses in large pages, whose cells three queues own: each changes at random what its cells lead to, sometimes what
// another's do, and reads what it finds in its own and what the others leave as it is meanwhile. Allocations as large
// as large pages leave, come back, are written anew and destroyed; tables run out; other programs end in the middle of
// theirs; content goes from place to place or by addresses; nodes and paging are held back, buffers fault, the engine
// is reset. In some runs jobs stray as well: what they find is nothing, or was to be found there once.
#include "programs.h"
#include "updates.h"

#include <stdio.h>

#define QUEUES      3 // the third on the first one's node
#define ALLOCATIONS 11
#define CELL        64u         // pages
#define ARENA       (3u * 512u) // pages: of 2 MiB each
#define CELLS       (ARENA / CELL)
#define SLOTS       48
#define FAR         30 // single pages with tables of their own

struct page {
    unsigned allocation; // from 1 on; 0 = nothing
    uint64_t page;
};

struct far_page {
    uint64_t address;
    struct page leads_to;
};

// What a job is to find.
struct read {
    uint32_t expected;
    unsigned stray; // page of the arena that it has reached without naming anything, from 1 on; 0 = it named it
    uint64_t step;
};

struct queue {
    D3DKMT_HANDLE context, result;
    uint64_t at_result, last;
    struct read reads[SLOTS];
    uint32_t there[SLOTS]; // before
    unsigned jobs;
};

// What the words of a page of the arena were, that were ever to be found there.
struct history {
    uint32_t *words;
    size_t count;
};

struct run {
    struct world *world;
    uint64_t seed, random, step;
    bool faults, strays;
    D3DKMT_HANDLE allocations[ALLOCATIONS];
    uint32_t numbers[ALLOCATIONS], newest; // of their content
    uint64_t pages[ALLOCATIONS];
    bool required[ALLOCATIONS];
    struct queue queues[QUEUES];
    uint64_t at_arena;
    struct page arena[ARENA];
    bool stable[ARENA];     // as the GPU has it, since jobs behind the change are over
    uint8_t readers[ARENA]; // queues that may not have read it yet
    struct history history[ARENA];
    unsigned owner[CELLS];
    bool contested[CELLS]; // others have changed something there, and may not be done
    struct far_page far[FAR];
};

// Of all runs.
static struct {
    unsigned read, of_others, strays, changes, full, resets, faults, ended;
} seen;

static uint32_t draw(struct run *run, uint32_t below)
{
    return world_draw(&run->random, below);
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

// A call for the world's own device, which may have lost content meanwhile.
static bool went_well(const struct run *run, int result)
{
    bool lost = !active(run);
    assert_true(result == FERRY_OK || lost);
    return !lost;
}

static void let_go(struct run *run)
{
    run->world->knobs->hold_node = 0;
    run->world->knobs->hold_paging = false;
    turns(run->world, 1);
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

// ---- What jobs find ----

static uint32_t word_at(const struct run *run, struct page page)
{
    return world_word(run->numbers[page.allocation - 1], PAGES(page.page) / 4);
}

static void remember(struct run *run, unsigned at)
{
    struct history *history = &run->history[at];
    if (!run->strays || run->arena[at].allocation == 0)
        return;
    history->words = realloc(history->words, (history->count + 1) * sizeof(history->words[0]));
    history->words[history->count++] = word_at(run, run->arena[at]);
}

static bool is_right(const struct run *run, const struct queue *queue, unsigned slot, uint32_t found)
{
    const struct read *read = &queue->reads[slot];
    if (read->stray == 0)
        return found == read->expected;
    const struct history *history = &run->history[read->stray - 1];
    bool right = found == queue->there[slot];
    for (size_t i = 0; i < history->count; i++)
        right |= found == history->words[i];
    seen.strays += right;
    return right;
}

static void check(struct run *run, unsigned number)
{
    struct queue *queue = &run->queues[number];
    void *address;
    let_go(run);
    if (queue->jobs == 0)
        return;
    int result = ferry_vidmm_wait(run->world->manager, queue->context, queue->last);
    bool strayed = queue->reads[queue->jobs - 1].stray != 0;
    if (!went_well(run, strayed && result == FERRY_ERROR_FAULT ? FERRY_OK : result) ||
        !went_well(run, ferry_vidmm_lock(run->world->manager, queue->result, D3DDDI_LOCK_READ_ONLY, &address)))
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
    seen.read += queue->jobs;
    queue->jobs = 0;
    for (unsigned i = 0; i < ARENA; i++)
        run->readers[i] &= (uint8_t) ~(1u << number);
}

// Its updates are over too.
static void settle(struct run *run, unsigned number)
{
    struct queue *queue = &run->queues[number];
    check(run, number);
    if (!active(run))
        return;
    queue->last = world_gpu_name(run->world, queue->context, queue->result, true);
    went_well(run, ferry_vidmm_wait(run->world->manager, queue->context, queue->last));
    for (unsigned i = 0; i < ARENA; i++)
        run->stable[i] |= run->owner[i / CELL] == number && !run->contested[i / CELL];
}

static void settle_all(struct run *run)
{
    for (unsigned i = 0; i < QUEUES && active(run); i++)
        settle(run, i);
    memset(run->contested, 0, sizeof(run->contested));
    memset(run->stable, true, sizeof(run->stable));
}

static void evict(struct run *run, unsigned at)
{
    if (run->required[at])
        assert_int_equal(world_evict(run->world, run->allocations[at]), FERRY_OK);
    run->required[at] = false;
}

static bool require(struct run *run, unsigned at)
{
    for (unsigned tries = 0; tries < 40 && !run->required[at] && active(run); tries++) {
        int result = world_resident(run->world, &run->allocations[at], 1);
        run->required[at] = result >= 0;
        if (result < 0 && went_well(run, result == FERRY_ERROR_NO_VIDEO_MEMORY ? FERRY_OK : result))
            evict(run, draw(run, ALLOCATIONS));
    }
    return run->required[at];
}

static void read_at(struct run *run, unsigned number, uint64_t address, struct page page, unsigned stray)
{
    struct queue *queue = &run->queues[number];
    unsigned slot = queue->jobs++;
    queue->reads[slot] = (struct read){stray ? 0 : word_at(run, page), stray, run->step};
    const D3DKMT_HANDLE names[2] = {queue->result, stray ? queue->result : run->allocations[page.allocation - 1]};
    went_well(run,
              try_copy(run->world, queue->context, names, queue->at_result + 64 * slot, address, 64, &queue->last));
}

static void read(struct run *run, unsigned number)
{
    unsigned at = draw(run, ARENA);
    if (run->queues[number].jobs == SLOTS)
        check(run, number);
    if (!active(run))
        return;
    if (draw(run, 6) == 0) {
        const struct far_page *far = &run->far[draw(run, FAR)];
        if (far->leads_to.allocation != 0 && require(run, far->leads_to.allocation - 1))
            read_at(run, number, far->address, far->leads_to, 0);
        return;
    }
    if (run->strays && draw(run, 4) == 0) {
        read_at(run, number, run->at_arena + PAGES(at), (struct page){0}, at + 1);
        return;
    }
    for (unsigned i = 0; i < 16 && run->arena[at].allocation == 0; i++)
        at = draw(run, ARENA);
    bool own = run->owner[at / CELL] == number && !run->contested[at / CELL];
    if (run->arena[at].allocation == 0 || (!own && !run->stable[at]) || !require(run, run->arena[at].allocation - 1))
        return;
    read_at(run, number, run->at_arena + PAGES(at), run->arena[at], 0);
    run->readers[at] |= (uint8_t)(1u << number);
    seen.of_others += !own;
}

// ---- What addresses lead to ----

// Some of what one queue owns, one cell behind the other; seldom another one's.
static bool some_range(struct run *run, unsigned number, uint64_t most, uint64_t *first, uint64_t *count)
{
    unsigned cell = draw(run, CELLS), low = cell, high = cell + 1;
    if (run->owner[cell] != number && draw(run, 12) != 0)
        return false;
    while (low > 0 && run->owner[low - 1] == run->owner[cell])
        low--;
    while (high < CELLS && run->owner[high] == run->owner[cell])
        high++;
    uint64_t from = (uint64_t)low * CELL, pages = (uint64_t)(high - low) * CELL, unit = draw(run, 2) ? 512 : 16;
    *count = pages < most ? pages : most;
    *count = draw(run, 2) ? *count : 1 + draw(run, (uint32_t)*count);
    *first = from + draw(run, (uint32_t)(pages - *count + 1));
    if (draw(run, 2) && *first / unit * unit >= from)
        *first = *first / unit * unit;
    return true;
}

static bool differs(const struct page *a, const struct page *b)
{
    return a->allocation != b->allocation || a->page != b->page;
}

// One operation, done to `now` as well. False: none has come of it.
static bool operation(struct run *run, unsigned number, struct page *now, struct ferry_vidmm_update *update)
{
    unsigned allocation = draw(run, ALLOCATIONS), kind = draw(run, 8);
    uint64_t offset = draw(run, 3) ? 0 : draw(run, (uint32_t)run->pages[allocation]), first, count;
    if (!some_range(run, number, kind < 3 ? 70 : run->pages[allocation] - offset, &first, &count))
        return false;
    uint64_t at = first + draw(run, (uint32_t)count), from = draw(run, (uint32_t)(ARENA - count + 1));
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
        now[first + i] = kind < 2 ? (struct page){0} : (struct page){allocation + 1, offset + i};
    return true;
}

static void change(struct run *run, unsigned number)
{
    static struct page now[ARENA];
    struct ferry_vidmm_update batch[3];
    struct ferry_vidmm_updated updated;
    unsigned count = 0, wanted = 1 + draw(run, 3), readers = 0;
    memcpy(now, run->arena, sizeof(now));
    for (unsigned i = 0; i < wanted; i++)
        count += operation(run, number, now, &batch[count]);
    for (unsigned i = 0; i < ARENA; i++)
        readers |= differs(&now[i], &run->arena[i]) ? run->readers[i] : 0u;
    for (unsigned i = 0; i < QUEUES; i++)
        if (i != number && (readers & 1u << i) != 0)
            check(run, i);
    if (count == 0 || !active(run))
        return;
    int result = ferry_vidmm_update_virtual(run->world->manager, run->queues[number].context, batch, count, &updated);
    // Of an allocation that has been renamed, and where no tables are left.
    bool full = result == FERRY_ERROR_NO_VIDEO_MEMORY && updated.table_bytes > 0;
    seen.full += full;
    if (full || result == FERRY_ERROR_BUSY || !went_well(run, result))
        return;
    seen.changes++;
    for (unsigned i = 0; i < ARENA; i++) {
        if (!differs(&now[i], &run->arena[i]))
            continue;
        run->stable[i] = false;
        run->contested[i / CELL] |= run->owner[i / CELL] != number;
        run->arena[i] = now[i];
        remember(run, i);
    }
}

static void hand_over(struct run *run)
{
    unsigned cell = draw(run, CELLS), count = 1 + draw(run, 8), to = draw(run, QUEUES);
    for (unsigned i = cell; i < cell + count && i < CELLS && active(run); i++) {
        settle(run, run->owner[i]);
        run->owner[i] = run->contested[i] ? run->owner[i] : to;
    }
}

static void map_far(struct run *run)
{
    unsigned at = draw(run, FAR), allocation = draw(run, ALLOCATIONS);
    struct far_page *far = &run->far[at];
    if (far->leads_to.allocation != 0) {
        went_well(run, ferry_vidmm_free_virtual(run->world->manager, run->world->device, far->address, PAGES(1)));
        *far = (struct far_page){0};
        return;
    }
    uint64_t page = draw(run, (uint32_t)run->pages[allocation]);
    struct ferry_vidmm_virtual range = {.size = sizeof(range),
                                        .address = BASE + (UINT64_C(1) << 39) * (1 + at / 2) + at % 2 * 0x200000,
                                        .bytes = PAGES(1)};
    int result = ferry_vidmm_map_virtual(run->world->manager, run->world->device, run->allocations[allocation],
                                         PAGES(page), false, &range);
    bool full = result == FERRY_ERROR_NO_VIDEO_MEMORY && range.table_bytes > 0;
    seen.full += full;
    if (!full && result != FERRY_ERROR_BUSY && went_well(run, result))
        *far = (struct far_page){range.address, {allocation + 1, page}};
}

// ---- Allocations and programs ----

static void make(struct run *run, unsigned at)
{
    static const uint64_t large[] = {512, 512, 600, 520};
    run->pages[at] = at < 4 ? large[at] : at < 9 ? 16 + draw(run, 100) : 4 + draw(run, 16);
    run->allocations[at] = at >= 9 ? world_create_in_aperture(run->world, PAGES(run->pages[at]), CPU)
                                   : world_create(run->world, PAGES(run->pages[at]), CPU);
    run->numbers[at] = ++run->newest;
    run->required[at] = false;
    world_write(run->world, run->allocations[at], run->newest);
}

static void destroy(struct run *run, unsigned at)
{
    if (!went_well(run, ferry_vidmm_destroy_allocation(run->world->manager, run->allocations[at])))
        return;
    for (unsigned i = 0; i < ARENA; i++)
        if (run->arena[i].allocation == at + 1)
            run->arena[i] = (struct page){0};
    for (unsigned i = 0; i < FAR; i++)
        if (run->far[i].leads_to.allocation == at + 1)
            run->far[i] = (struct far_page){0};
    make(run, at);
}

static void write_anew(struct run *run, unsigned at)
{
    UINT flags = D3DDDI_LOCK_WRITE_ONLY | (draw(run, 2) ? D3DDDI_LOCK_DISCARD : 0u);
    void *address;
    if (run->strays || !went_well(run, ferry_vidmm_lock(run->world->manager, run->allocations[at], flags, &address)))
        return;
    run->numbers[at] = ++run->newest;
    for (uint64_t i = 0; i < PAGES(run->pages[at]) / 4; i++)
        ((uint32_t *)address)[i] = world_word(run->newest, i);
    assert_int_equal(ferry_vidmm_unlock(run->world->manager, run->allocations[at]), FERRY_OK);
}

// Another program changes addresses of its own and ends in the middle of it.
static void another(struct run *run)
{
    struct world other = *run->world;
    struct program program;
    D3DKMT_HANDLE a[3];
    uint64_t fence = 0;
    let_go(run);
    program = program_begin(&other, 1, 0);
    program_become(&other, &program);
    D3DKMT_HANDLE context = context_on(&other, 1 + draw(run, 2));
    for (unsigned i = 0; i < 3; i++) {
        a[i] = world_create(&other, PAGES(8 + draw(run, 60)), CPU);
        world_write(&other, a[i], 100000 + i);
    }
    uint64_t window = reserve(&other, BASE, 512), pages = world_place(&other, a[1]).bytes / PAGE_SIZE;
    struct ferry_vidmm_virtual range = {.size = sizeof(range), .address = BASE + 0x800000, .bytes = PAGES(1)};
    if (world_resident(&other, a, 3) >= 0 &&
        ferry_vidmm_map_virtual(other.manager, other.device, a[0], 0, false, &range) == FERRY_OK) {
        hold_back(run);
        for (unsigned i = 0; i < 3; i++) {
            uint64_t count = i == 2 ? pages : 1 + draw(run, (uint32_t)pages);
            struct ferry_vidmm_update update = mapping(window + PAGES(16 * i), count, a[1], 0);
            struct ferry_vidmm_updated updated;
            int result = ferry_vidmm_update_virtual(other.manager, context, &update, 1, &updated);
            if (result == FERRY_OK && draw(run, 2))
                try_copy(&other, context, (const D3DKMT_HANDLE[2]){a[0], a[1]}, range.address, update.address, 64,
                         &fence);
        }
        if (draw(run, 2))
            world_evict(&other, a[1]);
        other.knobs->fault_paging = run->faults && draw(run, 2);
        turns(&other, draw(run, 4));
    }
    assert_int_equal(ferry_vidmm_destroy_process(other.manager, program.process), FERRY_OK);
    seen.ended++;
}

// Paging is cut off behind a change of addresses, executed or not, without any job.
static void reset(struct run *run, unsigned number)
{
    for (unsigned i = 0; i < QUEUES; i++)
        check(run, i);
    run->world->knobs->delay = 1;
    run->world->knobs->late_abort = draw(run, 2);
    change(run, number);
    for (unsigned i = 0; i < 4; i++)
        evict(run, draw(run, ALLOCATIONS));
    require(run, draw(run, ALLOCATIONS));
    turns(run->world, draw(run, 6));
    if (active(run))
        assert_int_equal(ferry_vidmm_reset_engine(run->world->manager), FERRY_OK);
    run->world->knobs->late_abort = false;
    seen.resets++;
}

static void seldom(struct run *run, unsigned number, unsigned allocation)
{
    switch (draw(run, 16)) {
    case 0:
        // Content may be lost by it, and that is the end.
        run->world->knobs->fault_paging += run->faults && draw(run, 4) == 0;
        run->world->knobs->fault_addresses++; // that costs nothing
        break;
    case 1: reset(run, number); break;
    case 2: hand_over(run); break;
    case 3: destroy(run, allocation); break;
    case 4: another(run); break;
    case 5: settle(run, number); break;
    case 6: settle_all(run); break;
    case 7: write_anew(run, allocation); break;
    case 8: check(run, number); break;
    }
}

static void step(struct run *run)
{
    unsigned number = draw(run, QUEUES), allocation = draw(run, ALLOCATIONS);
    switch (draw(run, 24)) {
    default: read(run, number); break;
    case 10:
    case 11:
    case 12:
    case 13: change(run, number); break;
    case 14:
    case 15: evict(run, allocation); break;
    case 16: require(run, allocation); break;
    case 17: hold_back(run); break;
    case 18: turns(run->world, 1 + draw(run, 4)); break;
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
    struct run *run = calloc(1, sizeof(*run));
    *run = (struct run){.world = world_open(&options), .seed = seed, .random = seed};
    run->faults = seed % 3 == 0;
    run->strays = seed % 5 >= 3;
    run->at_arena = reserve(run->world, BASE + 0x400000, ARENA);
    for (unsigned i = 0; i < QUEUES; i++) {
        struct queue *queue = &run->queues[i];
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
    for (; run->step < steps && active(run); run->step++)
        step(run);
    for (unsigned i = 0; i < QUEUES && active(run); i++)
        check(run, i);
    let_go(run);
    seen.faults += (unsigned)world_statistics(run->world).faulted_paging_buffers;
    (run->strays ? close_strayed : world_close)(run->world);
    for (unsigned i = 0; i < ARENA; i++)
        free(run->history[i].words);
    free(run);
}

static void each_queue_finds_what_its_cells_lead_to(void **state)
{
    (void)state;
    const char *runs = getenv("FERRY_RUNS"), *steps = getenv("FERRY_STEPS");
    uint64_t seed = world_seed(1);
    unsigned count = runs ? (unsigned)atoi(runs) : 15;
    for (unsigned i = 0; i < count; i++)
        one_run(seed + i, steps ? (unsigned)atoi(steps) : 600);
    printf(
        "%u pages read, %u of others, %u by strays, %u changes, %u without tables, %u resets, %u faults, %u programs\n",
        seen.read, seen.of_others, seen.strays, seen.changes, seen.full, seen.resets, seen.faults, seen.ended);
    assert_true(seen.read > count * 10 && seen.changes > count);
    assert_true(count < 12 || (seen.of_others > 0 && seen.strays > 0 && seen.resets > 0 && seen.ended > 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_queue_finds_what_its_cells_lead_to)};
    return WORLD_RUN(tests);
}
