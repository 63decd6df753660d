// SPDX-License-Identifier: Apache-2.0
// Several programs on one manager: what each may have, who is told, and what one does to the others.
#include "programs.h"

static struct ferry_vidmm_memory_info info_of(struct world *world, D3DKMT_HANDLE process)
{
    struct ferry_vidmm_memory_info info;
    assert_int_equal(ferry_vidmm_memory_info(world->manager, process, 0, &info), FERRY_OK);
    return info;
}

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

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state % below;
}

static void budgets_are_as_a_model_divides_them(void **state)
{
    (void)state;
    struct world *world = program_world();
    uint64_t random = world_seed(20261122) | 1, pages = 64;
    D3DKMT_HANDLE processes[MOST];
    struct model_program model[MOST];
    unsigned count = 0;
    for (unsigned step = 0; step < 2000; step++) {
        unsigned which = count ? (unsigned)draw(&random, count) : 0;
        uint64_t reserved = 0, wanted = draw(&random, 40), weight = 1 + draw(&random, draw(&random, 2) ? 8 : 10000);
        for (unsigned i = 0; i < count; i++)
            reserved += model[i].reserved;
        switch (draw(&random, 5)) {
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
            pages = draw(&random, 2) ? 64 : 8 + draw(&random, 56);
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

// ---- Handles, bad input, the end ----------------------------------------------------------------------------------

static void a_handle_of_another_program_is_foreign_and_changes_nothing(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program mine = program_begin(world, 1, 0), theirs = program_begin(world, 1, 0);
    program_become(world, &theirs);
    D3DKMT_HANDLE a = world_create(world, PAGES(2), CPU);
    world_write(world, a, 1);
    program_become(world, &mine);
    D3DKMT_HANDLE own = world_create(world, PAGES(2), CPU), list[] = {own, a};
    assert_int_equal(world_resident(world, list, 2), FERRY_ERROR_FOREIGN);
    assert_int_equal(world_place(world, own).residency_count, 0);
    world_require(world, own);
    D3DDDICB_EVICT evict = {.NumAllocations = 2, .AllocationList = list};
    assert_int_equal(ferry_vidmm_evict(world->manager, mine.device, &evict), FERRY_ERROR_FOREIGN);
    assert_int_equal(world_place(world, own).residency_count, 1);
    program_become(world, &theirs);
    world_require(world, a);
    struct machine_job job = {0};
    machine_job_fill(&job, 0, 0, 64, 9);
    struct ferry_vidmm_reference reference = {a, true};
    struct ferry_vidmm_submission submission = {.commands = job.commands,
                                                .bytes = job.bytes,
                                                .references = &reference,
                                                .reference_count = 1,
                                                .patches = job.patches,
                                                .patch_count = job.patch_count};
    uint64_t fence;
    assert_int_equal(ferry_vidmm_submit(world->manager, mine.context, &submission, 1, &fence), FERRY_ERROR_FOREIGN);
    world_check_gpu(world, a, 1);
    assert_int_equal(info_of(world, mine.process).usage, PAGES(2));
    assert_int_equal(info_of(world, theirs.process).usage, PAGES(2));
    world_close(world);
}

static void a_program_killed_with_jobs_in_flight_gives_its_memory_back_and_nobody_notices(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program killed = program_begin(world, 1, 0), other = program_begin(world, 1, 0);
    program_become(world, &killed);
    D3DKMT_HANDLE a = world_create(world, PAGES(30), CPU);
    world_require(world, a);
    program_become(world, &other);
    D3DKMT_HANDLE b = world_create(world, PAGES(20), CPU), big = world_create(world, PAGES(64), CPU);
    world_write(world, b, 7);
    world_require(world, b);
    world->knobs->delay = 6;
    uint64_t fence = 0, busy = 0;
    for (unsigned i = 0; i < 5; i++) {
        program_become(world, &killed);
        busy = world_gpu_fill(world, a, 0, (uint32_t)PAGES(30), i);
        program_become(world, &other);
        fence = world_gpu_fill(world, b, PAGES(1), 64, 40 + i);
    }
    (void)busy;
    assert_int_equal(ferry_vidmm_destroy_process(world->manager, killed.process), FERRY_OK);
    assert_int_equal(ferry_vidmm_destroy_process(world->manager, killed.process), FERRY_ERROR_HANDLE);
    struct ferry_vidmm_memory_info info;
    assert_int_equal(ferry_vidmm_memory_info(world->manager, killed.process, 0, &info), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_vidmm_wait(world->manager, killed.context, 1), FERRY_ERROR_HANDLE);
    // The other goes on, with all there is.
    program_become(world, &other);
    world_wait(world, fence);
    assert_int_equal(world_place(world, b).segment, machine_local_segment);
    assert_int_equal(world_statistics(world).allocations, 2);
    assert_int_equal(world_statistics(world).faulted_jobs, 0);
    assert_int_equal(info_of(world, other.process).budget, PAGES(64));
    assert_int_equal(world_statistics(world).resident_bytes, PAGES(20));
    void *address;
    assert_int_equal(ferry_vidmm_lock(world->manager, b, D3DDDI_LOCK_READ_ONLY, &address), FERRY_OK);
    const uint32_t *words = address;
    for (uint64_t i = 0; i < PAGES(20) / 4; i++)
        assert_int_equal(words[i], i >= 1024 && i < 1040 ? 44 : world_word(7, i));
    assert_int_equal(ferry_vidmm_unlock(world->manager, b), FERRY_OK);
    assert_int_equal(world_evict(world, b), FERRY_OK);
    world_require(world, big);
    world_close(world);
}

static struct ferry_vidmm_process_statistics used_by(struct world *world, D3DKMT_HANDLE process)
{
    struct ferry_vidmm_process_statistics statistics;
    assert_int_equal(ferry_vidmm_process_statistics(world->manager, process, &statistics), FERRY_OK);
    return statistics;
}

static void what_each_program_has_used_adds_up_to_what_was_used(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct ferry_vidmm_statistics before = world_statistics(world);
    struct program programs[2] = {program_begin(world, 1, 0), program_begin(world, 3, 0)};
    D3DKMT_HANDLE allocations[2][4];
    struct ferry_vidmm_process_statistics used[2];
    uint64_t fence = 0;
    for (unsigned k = 0; k < 2; k++) {
        program_become(world, &programs[k]);
        for (unsigned i = 0; i < 4; i++)
            allocations[k][i] = world_create(world, PAGES(k ? 12 : 8), CPU);
    }
    world->knobs->delay = 2;
    for (unsigned i = 0; i < 24; i++) {
        unsigned k = i % 3 == 0;
        program_become(world, &programs[k]);
        D3DKMT_HANDLE allocation = allocations[k][i / 3 % 4];
        if (i == 11)
            world_write(world, allocation, 5);
        world_require(world, allocation);
        fence = world_gpu_fill(world, allocation, 0, 4096, i);
        world_wait(world, fence);
        assert_int_equal(world_evict(world, allocation), FERRY_OK);
    }
    for (unsigned k = 0; k < 2; k++)
        used[k] = used_by(world, programs[k].process);
    struct ferry_vidmm_statistics after = world_statistics(world);
    assert_int_equal(used[0].jobs, 16);
    assert_int_equal(used[1].jobs, 8);
    assert_int_equal(used[0].jobs + used[1].jobs, after.jobs - before.jobs);
    assert_int_equal(used[0].bytes_in + used[1].bytes_in, after.bytes_in - before.bytes_in);
    assert_int_equal(used[0].bytes_out + used[1].bytes_out, after.bytes_out - before.bytes_out);
    assert_int_equal(used[0].bytes_filled + used[1].bytes_filled, after.bytes_filled - before.bytes_filled);
    assert_int_equal(used[0].bytes_discarded + used[1].bytes_discarded, after.bytes_discarded - before.bytes_discarded);
    assert_int_equal(used[0].bytes_moved + used[1].bytes_moved, after.bytes_moved - before.bytes_moved);
    assert_int_equal(used[0].evictions + used[1].evictions, after.evictions - before.evictions);
    // 8 pages each fit into 16, 12 pages each into 48: only the first has to leave, by its own budget.
    assert_true(used[0].evictions > 0 && used[0].bytes_out > 0);
    assert_int_equal(used[1].bytes_filled, PAGES(4 * 12));
    struct ferry_vidmm_platform platform = machine_platform(world->machine);
    uint64_t now = platform.gpu_time(platform.context);
    assert_true(used[0].gpu_cycles > 0 && used[1].gpu_cycles > 0);
    assert_true(used[0].gpu_cycles + used[1].gpu_cycles <= now);
    assert_true(used[0].last_job > used[1].last_job && used[0].last_job <= now);
    assert_int_equal(ferry_vidmm_process_statistics(world->manager, programs[0].process, NULL), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_process_statistics(NULL, programs[0].process, used), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_process_statistics(world->manager, programs[0].device, used), FERRY_ERROR_HANDLE);
    assert_int_equal(used_by(world, 0).jobs, 0);
    world_close(world);
}

// Three jobs on three nodes at once: each cycle is counted for one of them.
static void jobs_that_overlap_share_the_time(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program programs[3];
    D3DKMT_HANDLE allocations[3];
    uint64_t fences[3], sum = 0;
    struct ferry_vidmm_platform platform = machine_platform(world->machine);
    for (unsigned k = 0; k < 3; k++) {
        programs[k] = program_begin(world, 1, 0);
        program_become(world, &programs[k]);
        allocations[k] = world_create(world, PAGES(4), CPU);
        world_require(world, allocations[k]);
        world_wait(world, world_gpu_fill(world, allocations[k], 0, 64, 0));
    }
    uint64_t begin = platform.gpu_time(platform.context);
    world->knobs->delay = 6;
    for (unsigned k = 0; k < 3; k++)
        sum -= used_by(world, programs[k].process).gpu_cycles;
    for (unsigned k = 0; k < 3; k++) {
        program_become(world, &programs[k]);
        fences[k] = world_gpu_fill(world, allocations[k], 0, (uint32_t)PAGES(4), k);
    }
    for (unsigned k = 0; k < 3; k++) {
        program_become(world, &programs[k]);
        world_wait(world, fences[k]);
    }
    for (unsigned k = 0; k < 3; k++)
        sum += used_by(world, programs[k].process).gpu_cycles;
    assert_true(sum > 0 && sum <= platform.gpu_time(platform.context) - begin);
    world_close(world);
}

static void bad_arguments_of_programs(void **state)
{
    (void)state;
    struct world *world = world_open_default();
    struct ferry_vidmm *m = world->manager;
    struct ferry_vidmm_process_options options = {.size = sizeof(options)};
    struct ferry_vidmm_memory_info info;
    D3DKMT_HANDLE process, device;
    assert_int_equal(ferry_vidmm_create_process(NULL, NULL, &process), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_create_process(m, NULL, NULL), FERRY_ERROR_ARGUMENT);
    options.size--;
    assert_int_equal(ferry_vidmm_create_process(m, &options, &process), FERRY_ERROR_ARGUMENT);
    options = (struct ferry_vidmm_process_options){.size = sizeof(options), .weight = FERRY_VIDMM_MAX_WEIGHT + 1};
    assert_int_equal(ferry_vidmm_create_process(m, &options, &process), FERRY_ERROR_ARGUMENT);
    options = (struct ferry_vidmm_process_options){.size = sizeof(options), .reservation = 100};
    assert_int_equal(ferry_vidmm_create_process(m, &options, &process), FERRY_ERROR_ARGUMENT);
    options.reservation = PAGES(33);
    assert_int_equal(ferry_vidmm_create_process(m, &options, &process), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(info_of(world, 0).budget, PAGES(64));
    options.reservation = PAGES(32);
    assert_int_equal(ferry_vidmm_create_process(m, &options, &process), FERRY_OK);
    assert_int_equal(ferry_vidmm_set_weight(m, process, 0), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_set_weight(m, process, FERRY_VIDMM_MAX_WEIGHT + 1), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_set_weight(m, world->device, 2), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_vidmm_set_reservation(m, process, PAGES(33)), FERRY_ERROR_NO_VIDEO_MEMORY);
    assert_int_equal(ferry_vidmm_set_reservation(m, process, 1), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_set_reservation(m, 12345, 0), FERRY_ERROR_HANDLE);
    assert_int_equal(info_of(world, process).reservation, PAGES(32));
    assert_int_equal(ferry_vidmm_memory_info(m, process, 2, &info), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_memory_info(m, process, 0, NULL), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_memory_info(m, world->queue, 0, &info), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_vidmm_create_device_of(m, 0, &device), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_vidmm_create_device_of(m, process, NULL), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_vidmm_destroy_process(m, world->device), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_vidmm_memory_info(m, process, 1, &info), FERRY_OK);
    assert_int_equal(info.budget, PAGES(31)); // one page of the aperture is the manager's own
    assert_int_equal(info.available_for_reservation, 0);
    world_close(world);
}

// A shared allocation belongs to the program that made it: its devices lock it, nobody else's do.
static void R108_only_the_program_that_made_it_locks_a_shared_allocation(void **state)
{
    (void)state;
    struct world *world = program_world();
    struct program mine = program_begin(world, 1, 0), theirs = program_begin(world, 1, 0);
    D3DKMT_HANDLE second, handles[2];
    assert_int_equal(ferry_vidmm_create_device_of(world->manager, mine.process, &second), FERRY_OK);
    program_become(world, &mine);
    for (unsigned shared = 0; shared < 2; shared++) {
        struct ferry_allocation_private wanted = world_private(PAGES(2), CPU);
        struct ferry_vidmm_allocation_options options = {.shared = shared};
        assert_int_equal(world_try_create(world, &wanted, &options, &handles[shared], NULL), FERRY_OK);
        world_write(world, handles[shared], 5 + shared);
    }
    void *address = NULL;
    for (unsigned shared = 0; shared < 2; shared++) {
        struct ferry_vidmm_placement before = world_place(world, handles[shared]);
        assert_int_equal(ferry_vidmm_lock_from(world->manager, theirs.device, handles[shared], 0, &address),
                         FERRY_ERROR_FOREIGN);
        assert_null(address);
        struct ferry_vidmm_placement after = world_place(world, handles[shared]);
        assert_int_equal(after.segment, before.segment);
        assert_int_equal(after.offset, before.offset);
        assert_int_equal(after.bytes, before.bytes);
        assert_int_equal(after.flags, before.flags);
        assert_int_equal(after.residency_count, before.residency_count);
        assert_int_equal(after.dirty, before.dirty);
        assert_int_equal(after.locked, before.locked);
        assert_int_equal(after.has_backing, before.has_backing);
        assert_int_equal(after.lost, before.lost);
        assert_int_equal(after.instances, before.instances);
        assert_int_equal(ferry_vidmm_unlock(world->manager, handles[shared]), FERRY_ERROR_NOT_LOCKED);
        assert_int_equal(ferry_vidmm_lock_from(world->manager, second, handles[shared], 0, &address),
                         shared ? FERRY_OK : FERRY_ERROR_FOREIGN);
        if (shared)
            assert_int_equal(ferry_vidmm_unlock(world->manager, handles[shared]), FERRY_OK);
        assert_int_equal(ferry_vidmm_lock_from(world->manager, mine.device, handles[shared], 0, &address), FERRY_OK);
        assert_int_equal(ferry_vidmm_unlock(world->manager, handles[shared]), FERRY_OK);
        address = NULL;
        world_check(world, handles[shared], 5 + shared);
    }
    assert_int_equal(ferry_vidmm_lock_from(world->manager, mine.queue, handles[1], 0, &address), FERRY_ERROR_HANDLE);
    assert_int_equal(ferry_vidmm_lock_from(world->manager, 0, handles[1], 0, &address), FERRY_ERROR_HANDLE);
    world_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R108_only_the_program_that_made_it_locks_a_shared_allocation),
        cmocka_unit_test(budgets_are_as_a_model_divides_them),
        cmocka_unit_test(who_keeps_his_budget_is_told_nothing),
        cmocka_unit_test(R222_who_has_more_than_a_lowered_budget_is_told_and_refused_nothing_he_has),
        cmocka_unit_test(devices_of_no_program_are_one_while_there_are_any),
        cmocka_unit_test(a_handle_of_another_program_is_foreign_and_changes_nothing),
        cmocka_unit_test(a_program_killed_with_jobs_in_flight_gives_its_memory_back_and_nobody_notices),
        cmocka_unit_test(what_each_program_has_used_adds_up_to_what_was_used),
        cmocka_unit_test(jobs_that_overlap_share_the_time),
        cmocka_unit_test(bad_arguments_of_programs),
    };
    return WORLD_RUN(tests);
}
