// SPDX-License-Identifier: Apache-2.0
// Programs that end, by themselves or by another thread in the midst of one of their calls, with jobs in the line and
// changes of addresses that wait for those; and others that get their address spaces, page tables and places. All have
// the same addresses. Turns are fixed by a seed (baton.h), paging and nodes are held back now and then, and the machine
// looks up what a job reaches as soon as it has it. Each job finds its own program's content.
#include "baton.h"
#include "updates.h"

#include <stdio.h>

#define GUESTS 3u
#define SLOTS  40u
#define PLACES 4u // where content is mapped, far from each other: with tables of their own
#define STEPS  400u

struct guest {
    D3DKMT_HANDLE process, device, queue, context, content, result;
    uint32_t number; // of its content
    uint64_t pages;
    bool alive, dying, mapped[PLACES], reserved;
    uint32_t expected[SLOTS];
    uint64_t fences[SLOTS];
    unsigned jobs;
};

static struct {
    struct world *world;
    struct guest guests[GUESTS];
    unsigned made, read, killed, in_a_call;
} run;

static uint64_t place(unsigned number)
{
    return BASE + (UINT64_C(1) << 30) * (number + 1);
}

static const uint64_t at_result = BASE + 0x40000, reserved = BASE + (UINT64_C(1) << 40);

// What it had is gone when somebody ends it meanwhile.
static bool may(struct guest *g, bool is_so, const char *what, long long that)
{
    return g->dying || well(is_so, what, that);
}

static bool make_content(struct guest *g, uint64_t pages, uint32_t number, D3DKMT_HANDLE *handle)
{
    struct ferry_vidmm *manager = run.world->manager;
    struct ferry_allocation_private wanted = world_private(PAGES(pages), CPU);
    struct ferry_vidmm_allocation_options options = {
        .size = sizeof(options), .private_data = &wanted, .private_data_bytes = sizeof(wanted)};
    void *address;
    int result = ferry_vidmm_create_allocation(manager, g->device, &options, handle, NULL);
    if (result == FERRY_OK)
        result = ferry_vidmm_lock(manager, *handle, D3DDDI_LOCK_WRITE_ONLY, &address);
    if (!may(g, result == FERRY_OK, "content", result) || result != FERRY_OK)
        return false;
    for (uint64_t word = 0; word < PAGES(pages) / 4; word++)
        ((uint32_t *)address)[word] = world_word(number, word);
    D3DDDI_MAKERESIDENT list = {.hPagingQueue = g->queue, .NumAllocations = 1, .AllocationList = handle};
    result = ferry_vidmm_unlock(manager, *handle);
    if (result == FERRY_OK)
        result = ferry_vidmm_make_resident(manager, &list);
    return may(g, result >= 0, "resident", result) && result >= 0;
}

static int map_at(const struct guest *g, D3DKMT_HANDLE allocation, uint64_t pages, uint64_t address)
{
    struct ferry_vidmm_virtual wish = {.size = sizeof(wish), .address = address, .bytes = PAGES(pages)};
    return ferry_vidmm_map_virtual(run.world->manager, g->device, allocation, 0, false, &wish);
}

static bool begin_program(struct guest *g, unsigned number)
{
    struct ferry_vidmm *manager = run.world->manager;
    *g = (struct guest){.number = ++run.made, .pages = 4 + draw(12)};
    struct ferry_vidmm_process_options options = {.size = sizeof(options)};
    int result = ferry_vidmm_create_process(manager, &options, &g->process);
    if (result == FERRY_OK)
        result = ferry_vidmm_create_device_of(manager, g->process, &g->device);
    if (result == FERRY_OK)
        result = ferry_vidmm_create_paging_queue(manager, g->device, 0, &g->queue);
    if (result == FERRY_OK)
        result = ferry_vidmm_create_context(manager, g->device, 1 + number % 2, &g->context, NULL);
    g->alive = true;
    if (!well(result == FERRY_OK, "program", result))
        return false;
    if (!make_content(g, 1, 0, &g->result) || !make_content(g, g->pages, g->number, &g->content))
        return g->dying;
    result = map_at(g, g->result, 1, at_result);
    return may(g, result == FERRY_OK, "map", result);
}

static bool look(struct guest *g)
{
    struct ferry_vidmm *manager = run.world->manager;
    void *address;
    for (unsigned i = 0; i < g->jobs; i++) {
        int result = ferry_vidmm_wait(manager, g->context, g->fences[i]);
        if (!may(g, result == FERRY_OK, "wait", result) || g->dying)
            return g->dying;
    }
    int result = ferry_vidmm_lock(manager, g->result, D3DDDI_LOCK_READ_ONLY, &address);
    if (!may(g, result == FERRY_OK, "lock", result) || g->dying)
        return g->dying;
    for (unsigned i = 0; i < g->jobs; i++)
        well(((const uint32_t *)address)[16 * i] == g->expected[i], "what a job found",
             ((const uint32_t *)address)[16 * i]);
    run.read += g->jobs;
    g->jobs = 0;
    result = ferry_vidmm_unlock(manager, g->result);
    return may(g, result == FERRY_OK, "unlock", result);
}

static bool submit(struct guest *g)
{
    unsigned where = draw(PLACES);
    uint64_t page = draw((uint32_t)g->pages);
    struct machine_job job = {.bytes = 0};
    struct ferry_vidmm_reference names[2] = {{g->result, true}, {g->content, false}};
    if (!g->mapped[where])
        return true;
    if (g->jobs == SLOTS && (!look(g) || g->dying))
        return g->dying;
    machine_job_copy(&job, 0, 0, 1, 0, 64);
    for (uint32_t i = 0; i < 2; i++)
        machine_job_by_address(job.commands, &job.patches[i],
                               job.patches[i].AllocationIndex == 0 ? at_result + 64 * g->jobs
                                                                   : place(where) + PAGES(page));
    struct ferry_vidmm_submission buffer = {
        .commands = job.commands, .bytes = job.bytes, .references = names, .reference_count = 2};
    g->expected[g->jobs] = world_word(g->number, PAGES(page) / 4);
    int result = ferry_vidmm_submit(run.world->manager, g->context, &buffer, 1, &g->fences[g->jobs]);
    g->jobs += result == FERRY_OK;
    return may(g, result == FERRY_OK, "submit", result);
}

static bool change(struct guest *g)
{
    unsigned where = draw(PLACES);
    int result = g->mapped[where]
                     ? ferry_vidmm_free_virtual(run.world->manager, g->device, place(where), PAGES(g->pages))
                     : map_at(g, g->content, g->pages, place(where));
    g->mapped[where] ^= result == FERRY_OK;
    return may(g, result == FERRY_OK || result == FERRY_ERROR_NO_VIDEO_MEMORY, "change", result);
}

// What waits for its newest job when it ends.
static bool change_later(struct guest *g)
{
    struct ferry_vidmm *manager = run.world->manager;
    struct ferry_vidmm_virtual range = {.size = sizeof(range),
                                        .address = reserved,
                                        .bytes = PAGES(64),
                                        .reservation = draw(2) ? FERRY_VIDMM_ZERO : FERRY_VIDMM_NO_ACCESS};
    int result = g->reserved ? FERRY_OK : ferry_vidmm_reserve_virtual(manager, g->device, &range);
    if (!may(g, result == FERRY_OK || result == FERRY_ERROR_NO_VIDEO_MEMORY, "reserve", result) || result != FERRY_OK)
        return !baton.wrong;
    g->reserved = true;
    struct ferry_vidmm_update operation = mapping(reserved + PAGES(draw(48)), g->pages, g->content, 0);
    struct ferry_vidmm_updated updated;
    operation.kind = draw(3) ? FERRY_VIDMM_MAP : FERRY_VIDMM_UNMAP;
    result = ferry_vidmm_update_virtual(manager, g->context, &operation, 1, &updated);
    return may(g, result == FERRY_OK || result == FERRY_ERROR_NO_VIDEO_MEMORY, "update", result);
}

// Also of who is in the midst of a call.
static bool end_program(unsigned number)
{
    struct guest *g = &run.guests[number];
    if (!g->alive || g->dying)
        return true;
    g->dying = true;
    run.killed++;
    run.in_a_call += number != (unsigned)self;
    int result = ferry_vidmm_destroy_process(run.world->manager, g->process);
    g->alive = false;
    return well(result == FERRY_OK, "end", result);
}

static bool step(unsigned number)
{
    struct guest *g = &run.guests[number];
    if (!g->alive)
        return begin_program(g, number);
    if (g->dying)
        return true;
    unsigned what = draw(100);
    if (what < 3)
        return end_program(what < 2 ? number : draw(GUESTS));
    if (what < 6)
        return look(g);
    if (what < 9) {
        baton_hold_back(run.world, 60);
        return true;
    }
    if (what < 25)
        return change_later(g);
    return what < 50 ? change(g) : submit(g);
}

static struct {
    unsigned read, killed, in_a_call;
} all;

static void one_run(uint64_t seed)
{
    struct world_options options = updates_options(160, seed % 2 ? 512 : 0);
    options.machine.host_tables = seed % 3 == 2;
    options.manager.table_bytes = PAGES(40);
    memset(&run, 0, sizeof(run));
    run.world = baton_begin(seed, &options);
    baton_run(step, GUESTS, STEPS);
    baton_judge(seed, run.world, false);
    all.read += run.read;
    all.killed += run.killed;
    all.in_a_call += run.in_a_call;
    world_close(run.world);
}

static void who_ends_leaves_nothing_to_others(void **state)
{
    (void)state;
    uint64_t seed = seed_given(1);
    unsigned count = machine_rounds(40, 10);
    for (unsigned i = 0; i < count; i++)
        one_run(seed + i);
    printf("%u read, %u programs ended, %u of them by another thread\n", all.read, all.killed, all.in_a_call);
    assert_true(all.read > 10 * count && all.killed > 10 * count && all.in_a_call > count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(who_ends_leaves_nothing_to_others)};
    return WORLD_RUN(tests);
}
