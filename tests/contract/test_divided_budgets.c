// SPDX-License-Identifier: Apache-2.0
// How memory is divided among several programs on one manager, and who is told of it.
#include "programs.h"

// ---- Division -----------------------------------------------------------------------------------------------------

#define MOST 6

struct model_program {
    uint64_t weight, reserved, budget;
};

// By trying every set of programs that could be the ones that have just their reservation: one set alone is right.
static void divide(uint64_t pages, struct model_program *programs, unsigned count)
{
    uint64_t counts[MOST], all = 0;
    unsigned right = 0;
    for (unsigned i = 0; i < count; i++)
        all += programs[i].reserved;
    for (unsigned i = 0; i < count; i++)
        counts[i] = all > pages / 2 ? programs[i].reserved * (pages / 2) / all : programs[i].reserved;
    for (unsigned set = 0; set < 1u << count; set++) {
        uint64_t rest = pages, weights = 0;
        bool good = true;
        for (unsigned i = 0; i < count; i++) {
            rest -= set >> i & 1 ? counts[i] : 0;
            weights += set >> i & 1 ? 0 : programs[i].weight;
        }
        for (unsigned i = 0; i < count && weights != 0; i++)
            good &= (counts[i] * weights > rest * programs[i].weight) == (set >> i & 1);
        if (!good || weights == 0)
            continue;
        right++;
        for (unsigned i = 0; i < count; i++)
            programs[i].budget = set >> i & 1 ? counts[i] : rest * programs[i].weight / weights;
    }
    assert_int_equal(right, count != 0);
}

static void budgets_are_as_a_model_divides_them(void **state)
{
    (void)state;
    struct world *world = program_world();
    uint64_t random = seed_given(20261122), pages = 64;
    D3DKMT_HANDLE processes[MOST];
    struct model_program model[MOST];
    unsigned count = 0;
    for (unsigned step = 0; step < 2000; step++) {
        unsigned which = count ? (unsigned)draw_below(&random, count) : 0;
        uint64_t reserved = 0, wanted = draw_below(&random, 40);
        uint64_t weight = 1 + draw_below(&random, draw_below(&random, 2) ? 8 : 10000);
        for (unsigned i = 0; i < count; i++)
            reserved += model[i].reserved;
        switch (draw_below(&random, 5)) {
        case 0: {
            struct ferry_vidmm_process_options options = {
                .size = sizeof(options), .weight = (uint32_t)weight, .reservation = PAGES(wanted)};
            if (count == MOST)
                break;
            // Who asks for nothing is not refused, also when a lower budget left less than what is reserved.
            bool fits = wanted == 0 || reserved + wanted <= pages / 2;
            assert_int_equal(ferry_vidmm_create_process(world->manager, &options, &processes[count]),
                             fits ? FERRY_OK : FERRY_ERROR_NO_VIDEO_MEMORY);
            if (fits)
                model[count++] = (struct model_program){weight, wanted, 0};
            break;
        }
        case 1:
            if (count == 0)
                break;
            assert_int_equal(ferry_vidmm_destroy_process(world->manager, processes[which]), FERRY_OK);
            count--;
            memmove(&processes[which], &processes[which + 1], (count - which) * sizeof(processes[0]));
            memmove(&model[which], &model[which + 1], (count - which) * sizeof(model[0]));
            break;
        case 2:
            if (count == 0)
                break;
            assert_int_equal(ferry_vidmm_set_weight(world->manager, processes[which], (uint32_t)weight), FERRY_OK);
            model[which].weight = weight;
            break;
        case 3:
            if (count == 0)
                break;
            if (wanted <= model[which].reserved || reserved - model[which].reserved + wanted <= pages / 2) {
                assert_int_equal(ferry_vidmm_set_reservation(world->manager, processes[which], PAGES(wanted)),
                                 FERRY_OK);
                model[which].reserved = wanted;
            } else {
                assert_int_equal(ferry_vidmm_set_reservation(world->manager, processes[which], PAGES(wanted)),
                                 FERRY_ERROR_NO_VIDEO_MEMORY);
            }
            break;
        case 4:
            pages = draw_below(&random, 2) ? 64 : 8 + draw_below(&random, 56);
            assert_int_equal(ferry_vidmm_set_budget(world->manager, PAGES(pages)), FERRY_OK);
            break;
        }
        divide(pages, model, count);
        uint64_t sum = 0;
        for (unsigned i = 0; i < count; i++) {
            struct ferry_vidmm_memory_info info = info_of(world, processes[i]);
            if (info.budget != PAGES(model[i].budget))
                fail_msg("step %u, program %u of %u: budget %llu, %llu expected", step, i, count,
                         (unsigned long long)info.budget, (unsigned long long)PAGES(model[i].budget));
            assert_int_equal(info.reservation, PAGES(model[i].reserved));
            sum += info.budget;
        }
        assert_true(sum <= PAGES(pages) && (count == 0 || sum + PAGES(count) > PAGES(pages)));
    }
    world_close(world);
}

// ---- Who is told --------------------------------------------------------------------------------------------------

struct told {
    unsigned count;
    struct ferry_vidmm_event last[8]; // by process handle, small
    D3DKMT_HANDLE processes[8];
};

static void listen(void *context, const struct ferry_vidmm_event *event)
{
    struct told *told = context;
    if (event->kind != FERRY_VIDMM_EVENT_BUDGET || event->segment != 0)
        return;
    for (unsigned i = 0; i < 8; i++) {
        if (told->processes[i] != 0 && told->processes[i] != event->process)
            continue;
        told->processes[i] = event->process;
        told->last[i] = *event;
        told->count++;
        return;
    }
}

static const struct ferry_vidmm_event *told_of(const struct told *told, D3DKMT_HANDLE process)
{
    for (unsigned i = 0; i < 8; i++)
        if (told->processes[i] == process)
            return &told->last[i];
    fail_msg("nobody was told");
    return NULL;
}

// A budget that is divided anew and comes out the same has not changed. Whoever has no device has none.
static void who_keeps_his_budget_is_told_nothing(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct told told = {0};
    struct ferry_vidmm_memory_info nobody;
    struct program only = program_begin(world, 1, 0);
    assert_int_equal(ferry_vidmm_observe(world->manager, listen, &told), FERRY_OK);
    assert_int_equal(ferry_vidmm_set_weight(world->manager, only.process, 7), FERRY_OK);
    assert_int_equal(told.count, 0);
    D3DKMT_HANDLE device;
    assert_int_equal(ferry_vidmm_create_device(world->manager, &device), FERRY_OK);
    assert_true(told.count > 0);
    assert_int_equal(ferry_vidmm_memory_info(world->manager, 0, 0, &nobody), FERRY_OK);
    assert_true(nobody.budget > 0);
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, device), FERRY_OK);
    assert_int_equal(ferry_vidmm_memory_info(world->manager, 0, 0, &nobody), FERRY_OK);
    assert_int_equal(nobody.budget, 0);
    world->device = only.device;
    world->queue = only.queue;
    world->context = only.context;
    world_close(world);
}

static void R222_who_has_more_than_a_lowered_budget_is_told_and_refused_nothing_he_has(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct told told = {0};
    struct program first = program_begin(world, 1, 0);
    program_become(world, &first);
    D3DKMT_HANDLE a = world_create(world, PAGES(30), CPU), b = world_create(world, PAGES(30), CPU),
                  more = world_create(world, PAGES(1), CPU);
    world_write(world, a, 1);
    world_require(world, a);
    world_require(world, b);
    assert_int_equal(ferry_vidmm_observe(world->manager, listen, &told), FERRY_OK);
    struct program second = program_begin(world, 3, 0);
    assert_int_equal(told_of(&told, first.process)->value, PAGES(16));
    assert_int_equal(told_of(&told, first.process)->bytes, PAGES(60 - 16));
    assert_int_equal(told_of(&told, second.process)->value, PAGES(48));
    assert_int_equal(told_of(&told, second.process)->bytes, 0);
    assert_int_equal(info_of(world, first.process).to_trim, PAGES(44));
    // What it has stays, and can be asked for again.
    D3DDDI_MAKERESIDENT again = {.hPagingQueue = first.queue, .NumAllocations = 1, .AllocationList = &a};
    assert_int_equal(ferry_vidmm_make_resident(world->manager, &again), FERRY_OK);
    assert_int_equal(again.NumBytesToTrim, PAGES(44));
    world_wait(world, world_gpu_fill(world, a, 0, 64, 5));
    // Something new is refused, with what there is to trim.
    D3DDDI_MAKERESIDENT arguments = {.hPagingQueue = first.queue, .NumAllocations = 1, .AllocationList = &more};
    assert_int_equal(ferry_vidmm_make_resident(world->manager, &arguments), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(arguments.NumBytesToTrim, PAGES(45));
    // And each Evict tells the newest.
    D3DDDICB_EVICT evict = {.NumAllocations = 1, .AllocationList = &b};
    assert_int_equal(ferry_vidmm_evict(world->manager, first.device, &evict), FERRY_OK);
    assert_int_equal(evict.NumBytesToTrim, PAGES(14));
    assert_int_equal(ferry_vidmm_set_weight(world->manager, first.process, 3), FERRY_OK);
    assert_int_equal(told_of(&told, first.process)->value, PAGES(32));
    assert_int_equal(told_of(&told, first.process)->bytes, 0);
    assert_true(ferry_vidmm_make_resident(world->manager, &arguments) >= 0);
    assert_int_equal(arguments.NumBytesToTrim, 0);
    // Somebody who goes leaves his part to the others.
    unsigned before = told.count;
    assert_int_equal(ferry_vidmm_destroy_process(world->manager, second.process), FERRY_OK);
    assert_int_equal(told.count, before + 1);
    assert_int_equal(told_of(&told, first.process)->value, PAGES(64));
    assert_int_equal(ferry_vidmm_observe(world->manager, NULL, NULL), FERRY_OK);
    world_close(world);
}

static void devices_of_no_program_are_one_while_there_are_any(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    D3DKMT_HANDLE other;
    assert_int_equal(info_of(world, 0).budget, PAGES(64));
    assert_int_equal(ferry_vidmm_create_device(world->manager, &other), FERRY_OK);
    assert_int_equal(info_of(world, 0).budget, PAGES(64));
    struct program program = program_begin(world, 1, 0);
    assert_int_equal(info_of(world, 0).budget, PAGES(32));
    assert_int_equal(info_of(world, program.process).budget, PAGES(32));
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, other), FERRY_OK);
    assert_int_equal(info_of(world, program.process).budget, PAGES(32));
    assert_int_equal(ferry_vidmm_destroy_device(world->manager, world->device), FERRY_OK);
    assert_int_equal(info_of(world, program.process).budget, PAGES(64));
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(budgets_are_as_a_model_divides_them),
        cmocka_unit_test(who_keeps_his_budget_is_told_nothing),
        cmocka_unit_test(R222_who_has_more_than_a_lowered_budget_is_told_and_refused_nothing_he_has),
        cmocka_unit_test(devices_of_no_program_are_one_while_there_are_any),
    };
    return WORLD_RUN(tests);
}
