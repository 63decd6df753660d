// SPDX-License-Identifier: Apache-2.0
// Random programs of manager calls against a shadow: a plain copy of what each allocation must hold. Prints its seed;
// FERRY_SEED=number replays it.
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define STEPS 10000
#define MOST  48

struct shadow {
    D3DKMT_HANDLE handle;
    uint8_t *bytes;
    uint64_t size, charge; // charge = rounded up to the alignment
    UINT flags;
    bool aperture;
    unsigned count;
    void *existing;
    uint32_t limit; // of its renaming list
};

struct run {
    struct world *world;
    struct shadow all[MOST];
    unsigned live;
    uint64_t random;
    uint64_t required, limit;
    bool loose; // two memory segments: bytes that fit in sum may fit in neither
    uint64_t fence;
};

static uint64_t base_seed;

static uint32_t pick(struct run *run, uint32_t below)
{
    return draw_below(&run->random, below);
}

static struct shadow *any(struct run *run)
{
    return run->live ? &run->all[pick(run, run->live)] : NULL;
}

static void step_create(struct run *run)
{
    if (run->live == MOST)
        return;
    static const UINT kinds[] = {CPU,
                                 PERMANENT,
                                 CPU | DXGK_ALLOC_FLAG_CACHED,
                                 CPU | DXGK_ALLOC_FLAG_FROM_END_OF_SEGMENT,
                                 PERMANENT | DXGK_ALLOC_FLAG_CACHED,
                                 CPU | DXGK_ALLOC_FLAG_EXISTING_SYSMEM};
    struct shadow *s = &run->all[run->live];
    *s = (struct shadow){.flags = kinds[pick(run, 6)], .aperture = pick(run, 5) == 0};
    s->size = PAGES(1 + pick(run, pick(run, 4) == 0 ? 20 : 5));
    struct ferry_allocation_private wanted = world_private(s->size, s->flags);
    wanted.Aperture = s->aperture;
    wanted.RenamingLimit = s->limit = pick(run, 4);
    wanted.Alignment = pick(run, 6) == 0 ? 4 * PAGE_SIZE : 0;
    s->charge = wanted.Alignment ? (s->size + wanted.Alignment - 1) / wanted.Alignment * wanted.Alignment : s->size;
    struct ferry_vidmm_allocation_options options = {.fill_pattern = pick(run, 2) ? pick(run, 1u << 30) : 0};
    s->bytes = malloc(s->size);
    for (uint64_t i = 0; i < s->size / 4; i++)
        ((uint32_t *)(void *)s->bytes)[i] = options.fill_pattern;
    if (s->flags & DXGK_ALLOC_FLAG_EXISTING_SYSMEM) {
        s->existing = aligned_alloc(PAGE_SIZE, s->size);
        memcpy(s->existing, s->bytes, s->size);
        options.existing = s->existing;
        options.existing_bytes = s->size;
    }
    assert_int_equal(world_try_create(run->world, &wanted, &options, &s->handle, NULL), FERRY_OK);
    run->live++;
}

static void step_destroy(struct run *run)
{
    struct shadow *s = any(run);
    if (!s)
        return;
    assert_int_equal(ferry_vidmm_destroy_allocation(run->world->manager, s->handle), FERRY_OK);
    assert_int_equal(ferry_vidmm_destroy_allocation(run->world->manager, s->handle), FERRY_ERROR_HANDLE);
    if (s->count && !s->aperture)
        run->required -= s->charge;
    free(s->bytes);
    free(s->existing);
    *s = run->all[--run->live];
}

static void step_lock_write(struct run *run)
{
    struct shadow *s = any(run);
    if (!s)
        return;
    uint64_t pages = s->size / PAGE_SIZE, first = pick(run, (uint32_t)pages);
    uint64_t count = 1 + pick(run, (uint32_t)(pages - first));
    void *address;
    assert_int_equal(ferry_vidmm_lock_pages(run->world->manager, s->handle, 0, first, count, &address), FERRY_OK);
    for (uint64_t i = first * PAGE_SIZE; i < (first + count) * PAGE_SIZE; i += 4) {
        uint32_t word = pick(run, 0x3FFFFFFF);
        memcpy((uint8_t *)address + i, &word, 4);
        memcpy(s->bytes + i, &word, 4);
    }
    assert_int_equal(ferry_vidmm_unlock(run->world->manager, s->handle), FERRY_OK);
}

static void step_discard(struct run *run)
{
    struct shadow *s = any(run);
    if (!s)
        return;
    uint32_t flags = D3DDDI_LOCK_DISCARD | (pick(run, 2) ? D3DDDI_LOCK_WRITE_ONLY : 0) |
                     (pick(run, 4) ? 0 : D3DDDI_LOCK_DO_NOT_WAIT) | (pick(run, 4) ? 0 : D3DDDI_LOCK_DO_NOT_EVICT);
    void *address;
    if (s->count && pick(run, 4))
        run->fence = world_gpu_name(run->world, run->world->context, s->handle, pick(run, 2));
    assert_int_equal(ferry_vidmm_lock(run->world->manager, s->handle, flags, &address), FERRY_OK);
    for (uint64_t i = 0; i < s->size; i += 4) {
        uint32_t word = pick(run, 0x3FFFFFFF);
        memcpy((uint8_t *)address + i, &word, 4);
        memcpy(s->bytes + i, &word, 4);
    }
    assert_int_equal(ferry_vidmm_unlock(run->world->manager, s->handle), FERRY_OK);
    assert_true(world_place(run->world, s->handle).instances <= (s->limit ? s->limit : UINT32_MAX));
}

static void compare(struct run *run, struct shadow *s)
{
    void *address;
    assert_int_equal(ferry_vidmm_lock(run->world->manager, s->handle, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
    if (memcmp(address, s->bytes, s->size) != 0) {
        uint64_t at = 0;
        while (((uint8_t *)address)[at] == s->bytes[at])
            at++;
        fail_msg("seed %llu: byte %llu is %02x, expected %02x", (unsigned long long)base_seed, (unsigned long long)at,
                 ((uint8_t *)address)[at], s->bytes[at]);
    }
    assert_int_equal(ferry_vidmm_unlock(run->world->manager, s->handle), FERRY_OK);
}

static void step_require(struct run *run)
{
    struct shadow *s = any(run);
    if (!s)
        return;
    D3DDDI_MAKERESIDENT arguments = {
        .hPagingQueue = run->world->queue, .NumAllocations = 1, .AllocationList = &s->handle};
    int result = ferry_vidmm_make_resident(run->world->manager, &arguments);
    uint64_t after = run->required + (s->count == 0 && !s->aperture ? s->charge : 0);
    if (result == FERRY_ERROR_NO_VIDEO_MEMORY && after > run->limit) {
        assert_int_equal(arguments.NumBytesToTrim, after - run->limit);
        return;
    }
    if (result == FERRY_ERROR_NO_VIDEO_MEMORY && (s->aperture || run->loose))
        return;
    assert_true(result == FERRY_OK || result == FERRY_PENDING);
    if (result == FERRY_PENDING && pick(run, 2))
        assert_int_equal(ferry_vidmm_wait_paging(run->world->manager, run->world->queue, arguments.PagingFenceValue),
                         FERRY_OK);
    s->count++;
    run->required = after;
}

static void step_evict(struct run *run)
{
    struct shadow *s = any(run);
    if (!s)
        return;
    assert_int_equal(world_evict(run->world, s->handle), s->count ? FERRY_OK : FERRY_ERROR_NOT_RESIDENT);
    if (s->count && --s->count == 0 && !s->aperture)
        run->required -= s->charge;
}

static void step_gpu(struct run *run)
{
    struct shadow *to = any(run), *from = any(run);
    if (!to || !to->count || !from->count)
        return;
    struct machine_job job = {0};
    struct ferry_vidmm_reference references[2] = {{to->handle, true}, {from->handle, false}};
    uint8_t *before = malloc(to->size);
    memcpy(before, to->bytes, to->size);
    uint32_t bytes = 4 * (1 + pick(run, PAGE_SIZE));
    uint64_t fence;
    if (pick(run, 2) && from != to && to->size >= bytes && from->size >= bytes) {
        uint64_t to_at = pick(run, (uint32_t)(to->size - bytes) + 1),
                 from_at = pick(run, (uint32_t)(from->size - bytes) + 1);
        machine_job_copy(&job, 0, to_at, 1, from_at, bytes);
        memcpy(to->bytes + to_at, from->bytes + from_at, bytes);
    } else if (to->aperture && !machine_fills_aperture) {
        free(before);
        return;
    } else {
        bytes = bytes < to->size ? bytes : (uint32_t)to->size;
        uint64_t at = pick(run, (uint32_t)(to->size - bytes) / 4 + 1) * 4;
        uint32_t pattern = pick(run, 0x3FFFFFFF);
        machine_job_fill(&job, 0, at, bytes, pattern);
        for (uint64_t i = 0; i < bytes; i += 4)
            memcpy(to->bytes + at + i, &pattern, 4);
    }
    struct ferry_vidmm_submission submission = machine_job_buffer(&job, references, 2);
    int result = ferry_vidmm_submit(run->world->manager, run->world->context, &submission, 1, &fence);
    if (result == FERRY_ERROR_NO_VIDEO_MEMORY && run->loose) {
        memcpy(to->bytes, before, to->size); // nothing ran
        free(before);
        return;
    }
    free(before);
    assert_int_equal(result, FERRY_OK);
    run->fence = fence;
    if (pick(run, 4) == 0)
        world_wait(run->world, fence);
}

// A program that never came to the hard parts proves nothing.
static bool came_to_the_hard_parts(const struct run *run, bool discards)
{
    struct ferry_vidmm_statistics statistics = world_statistics(run->world);
    return statistics.evictions > 50 && statistics.bytes_moved > 0 && statistics.bytes_out > 0 &&
           (!discards || statistics.renames > 20);
}

static void program_of(const struct world_options *options, uint64_t seed, unsigned steps, unsigned delay,
                       unsigned busy, bool discards)
{
    struct run run = {.random = draw_state(seed),
                      .limit = options->machine.local_bytes + options->machine.hidden_bytes,
                      .loose = options->machine.hidden_bytes != 0};
    base_seed = seed;
    run.world = world_open(options);
    spy.keep = false;
    run.world->knobs->delay = delay;
    run.world->knobs->busy_times = busy;
    run.world->knobs->by_place = discards;
    for (unsigned i = 0; i < steps || (i < 10 * steps && !came_to_the_hard_parts(&run, discards)); i++) {
        unsigned kind = pick(&run, 100);
        if (kind < 12)
            step_create(&run);
        else if (kind < 17)
            step_destroy(&run);
        else if (kind < 30 && discards && kind % 3)
            step_discard(&run);
        else if (kind < 30)
            step_lock_write(&run);
        else if (kind < 48)
            step_require(&run);
        else if (kind < 66)
            step_evict(&run);
        else if (kind < 90)
            step_gpu(&run);
        else if (run.live)
            compare(&run, any(&run));
    }
    for (unsigned i = 0; i < run.live; i++)
        compare(&run, &run.all[i]);
    struct ferry_vidmm_statistics statistics = world_statistics(run.world);
    printf("  in %llu out %llu moved %llu discarded %llu evictions %llu buffers %llu busy %llu insufficient %llu jobs "
           "%llu\n",
           (unsigned long long)statistics.bytes_in, (unsigned long long)statistics.bytes_out,
           (unsigned long long)statistics.bytes_moved, (unsigned long long)statistics.bytes_discarded,
           (unsigned long long)statistics.evictions, (unsigned long long)statistics.paging_buffers,
           (unsigned long long)statistics.busy_answers, (unsigned long long)statistics.insufficient_answers,
           (unsigned long long)statistics.jobs);
    if (discards)
        printf("  renames %llu stalls %llu\n", (unsigned long long)statistics.renames,
               (unsigned long long)statistics.discard_stalls);
    assert_true(came_to_the_hard_parts(&run, discards));
    while (run.live)
        step_destroy(&run);
    const char *text;
    if (machine_errors(run.world->machine, &text))
        fail_msg("seed %llu: the machine saw: %s", (unsigned long long)seed, text);
    if (spy.errors)
        fail_msg("seed %llu: the spy saw: %s", (unsigned long long)seed, spy.first_error);
    world_close(run.world);
}

static void program(const struct world_options *options, uint64_t seed, unsigned steps, unsigned delay, unsigned busy)
{
    program_of(options, seed, steps, delay, busy, false);
}

static void R28_R29_R111_R112_random_program_immediate(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    program(&options, seed_given((uint64_t)time(NULL)), STEPS, 0, 0);
}

static void R27_R34_R39_R99_random_program_small_buffers_delayed_and_busy(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.manager.paging_buffer_bytes = 200;
    options.manager.paging_buffers = 3;
    options.manager.sub_transfer_bytes = PAGES(3);
    options.machine.coherent_aperture = false;
    program(&options, seed_given((uint64_t)time(NULL)) + 1, STEPS, 4, 1);
}

static void R22_random_program_two_memory_segments(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(40);
    options.machine.hidden_bytes = PAGES(24);
    program(&options, seed_given((uint64_t)time(NULL)) + 3, STEPS, 3, 0);
}

static void R22_R98_random_program_lru(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(40);
    options.manager.lru_victims = true;
    program(&options, seed_given((uint64_t)time(NULL)) + 2, STEPS, 7, 0);
}

static void R237_R239_R243_R247_R249_random_program_with_discards(void **state)
{
    (void)state;
    struct world_options options = world_defaults();
    program_of(&options, seed_given((uint64_t)time(NULL)) + 4, STEPS, 12, 0, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R28_R29_R111_R112_random_program_immediate),
        cmocka_unit_test(R27_R34_R39_R99_random_program_small_buffers_delayed_and_busy),
        cmocka_unit_test(R22_R98_random_program_lru),
        cmocka_unit_test(R22_random_program_two_memory_segments),
        cmocka_unit_test(R237_R239_R243_R247_R249_random_program_with_discards),
    };
    return WORLD_RUN(tests);
}
