// SPDX-License-Identifier: Apache-2.0
// Random worlds of several programs: whatever the others hold, require or have left behind, a list that can be in place
// in an empty world is neither refused, nor is the job that names it. The same list in an empty world is the oracle.
#include <stdio.h>

#include "programs.h"

#define OTHERS 3
#define MOST   12

static uint64_t chance;

static uint32_t pick(uint32_t below)
{
    return draw_below(&chance, below);
}

struct shape {
    uint32_t pages, alignment; // in pages
    bool from_end;
};
struct holding {
    uint32_t weight, count;
    struct shape shapes[MOST];
    bool used[MOST], stays[MOST]; // a job names it, it is not evicted
};
struct asked {
    uint32_t weight, count;
    struct shape shapes[MOST];
    bool one_by_one;
};

static struct shape any_shape(void)
{
    uint32_t pages = 1 + pick(pick(3) ? 6 : 24);
    uint32_t alignment = pick(3) == 0 ? 1u << (1 + pick(3)) : 1;
    return (struct shape){pages, alignment, pick(5) == 0};
}

static D3DKMT_HANDLE make(struct world *world, struct shape shape)
{
    struct ferry_allocation_private wanted =
        world_private(PAGES(shape.pages), CPU | (shape.from_end ? DXGK_ALLOC_FLAG_FROM_END_OF_SEGMENT : 0));
    D3DKMT_HANDLE handle = 0;
    wanted.Alignment = shape.alignment * PAGE_SIZE;
    assert_int_equal(world_try_create(world, &wanted, NULL, &handle, NULL), FERRY_OK);
    return handle;
}

static int list(struct world *world, const struct program *program, D3DKMT_HANDLE *handles, UINT count)
{
    D3DDDI_MAKERESIDENT make = {.hPagingQueue = program->queue, .NumAllocations = count, .AllocationList = handles};
    make.Flags.CantTrimFurther = 1;
    return ferry_vidmm_make_resident(world->manager, &make);
}

static int name(struct world *world, const struct program *program, const D3DKMT_HANDLE *handles, uint32_t count)
{
    struct ferry_vidmm_reference references[MOST];
    struct machine_job job = {0};
    uint64_t fence;
    for (uint32_t i = 0; i < count; i++)
        references[i] = (struct ferry_vidmm_reference){handles[i], i % 2 == 0};
    machine_job_nothing(&job);
    struct ferry_vidmm_submission submission = {
        .commands = job.commands, .bytes = job.bytes, .references = references, .reference_count = count};
    return ferry_vidmm_submit(world->manager, program->context, &submission, 1, &fence);
}

static int ask(struct world *world, const struct program *program, const struct asked *asked)
{
    D3DKMT_HANDLE handles[MOST];
    int result = FERRY_OK;
    program_become(world, program);
    for (uint32_t i = 0; i < asked->count; i++)
        handles[i] = make(world, asked->shapes[i]);
    if (asked->one_by_one)
        for (uint32_t i = 0; i < asked->count && result >= 0; i++)
            result = list(world, program, &handles[i], 1);
    else
        result = list(world, program, handles, asked->count);
    return result < 0 ? result : name(world, program, handles, asked->count);
}

static int alone(const struct asked *asked)
{
    struct world *world = program_world();
    spy.keep = false;
    struct program program = program_begin(world, 1, 0);
    int result = ask(world, &program, asked);
    world_close(world);
    return result;
}

static int beside(const struct asked *asked, const struct holding *others, unsigned count)
{
    struct world *world = program_world();
    spy.keep = false;
    struct program program = program_begin(world, asked->weight, 0);
    for (unsigned k = 0; k < count; k++) {
        struct program other = program_begin(world, others[k].weight, 0);
        program_become(world, &other);
        for (uint32_t i = 0; i < others[k].count; i++) {
            D3DKMT_HANDLE handle = make(world, others[k].shapes[i]);
            if (list(world, &other, &handle, 1) < 0)
                continue;
            if (others[k].used[i])
                assert_true(name(world, &other, &handle, 1) >= 0);
            if (!others[k].stays[i])
                assert_int_equal(world_evict(world, handle), FERRY_OK);
        }
    }
    int result = ask(world, &program, asked);
    world_close(world);
    return result;
}

static void who_fits_alone_is_not_refused_beside_others(void **state)
{
    (void)state;
    uint64_t seed = seed_given(20261122);
    unsigned fitted = 0, worlds = 250;
    for (unsigned i = 0; i < worlds; i++) {
        struct holding others[OTHERS] = {0};
        struct asked asked = {0};
        chance = draw_state(seed + i);
        asked.weight = 1 + pick(4);
        asked.count = 1 + pick(6);
        asked.one_by_one = pick(2);
        for (uint32_t n = 0; n < asked.count; n++)
            asked.shapes[n] = any_shape();
        unsigned count = 1 + pick(OTHERS);
        bool some_stay = pick(2);
        for (unsigned k = 0; k < count; k++) {
            others[k].weight = 1 + pick(4);
            others[k].count = pick(MOST);
            for (uint32_t n = 0; n < others[k].count; n++) {
                others[k].shapes[n] = any_shape();
                others[k].used[n] = pick(2);
                others[k].stays[n] = some_stay && pick(3) == 0;
            }
        }
        if (alone(&asked) < 0)
            continue;
        fitted++;
        int result = beside(&asked, others, count);
        if (result < 0)
            fail_msg("FERRY_SEED=%llu: world %u is refused with %d", (unsigned long long)seed, i, result);
    }
    printf("%u of %u lists fit alone, and beside others\n", fitted, worlds);
    assert_true(fitted > worlds / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(who_fits_alone_is_not_refused_beside_others)};
    return WORLD_RUN(tests);
}
