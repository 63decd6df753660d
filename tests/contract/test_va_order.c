// SPDX-License-Identifier: Apache-2.0
// In which order what threads map, change, free and destroy reaches the device among the jobs that others submit. Three
// threads, of which one at a time goes on: between calls, and in each turn of waiting inside one, a seed says whose
// turn it is. One changes addresses and moves what they lead to; the two others have a queue each and copy from
// addresses. Paging is held back now and then, and the machine looks up what a job reaches when it is submitted
// (looks_up_at_once): so a job that goes out before what shows it an address is over is told, however soon that comes
// afterwards. What a job has to find is what is mapped when it comes into its node's line.
#include "va_order.h"

#include <stdio.h>

#include "vidmm/api/manager.h"

// ---- Who changes --------------------------------------------------------------------------------------------------

static bool is_wanted(const struct page *first, unsigned count)
{
    for (unsigned i = 0; i < QUEUES; i++)
        if (run.queues[i].wants >= first && run.queues[i].wants < first + count)
            return true;
    return false;
}

static bool is_reached(unsigned allocation)
{
    for (unsigned i = 0; i < QUEUES; i++)
        if (run.queues[i].wants && run.queues[i].wants->allocation == allocation + 1)
            return true;
    return false;
}

static void set(struct page *pages, unsigned count, unsigned allocation, unsigned offset)
{
    for (unsigned i = 0; i < count; i++)
        pages[i] = (struct page){(uint8_t)allocation, (uint8_t)(offset + i)};
    run.changed++;
}

static void begin_change(const struct page *first, unsigned count)
{
    run.changing = first;
    run.changing_count = count;
}

// What is to be reached there is one that may be; ALLOCATIONS: there is none.
static unsigned some_allocation(bool wanted)
{
    unsigned allocation = draw(ALLOCATIONS);
    for (unsigned i = 0; wanted && i < ALLOCATIONS && !run.required[allocation]; i++)
        allocation = (allocation + 1) % ALLOCATIONS;
    return !wanted || run.required[allocation] ? allocation : ALLOCATIONS;
}

static bool map_range(void)
{
    unsigned range = draw(RANGES);
    struct page *pages = &run.now[RANGES_AREA][range * RANGE];
    uint64_t address = address_of(RANGES_AREA, range * RANGE);
    bool wanted = is_wanted(pages, RANGE), mapped = false;
    unsigned allocation = some_allocation(wanted);
    if (allocation == ALLOCATIONS)
        return true;
    for (unsigned i = 0; i < RANGE; i++)
        mapped |= pages[i].allocation != NOTHING;
    if (mapped) {
        int result = ferry_vidmm_free_virtual(run.world->manager, run.world->device, address, PAGES(RANGE));
        if (!well(result == FERRY_OK, "free", result))
            return false;
        set(pages, RANGE, NOTHING, 0);
        if (!wanted && draw(2))
            return true;
    }
    struct ferry_vidmm_virtual wish = {.size = sizeof(wish), .address = address, .bytes = PAGES(RANGE)};
    int result =
        ferry_vidmm_map_virtual(run.world->manager, run.world->device, run.allocations[allocation], 0, false, &wish);
    set(pages, RANGE, result == FERRY_OK ? allocation + 1 : NOTHING, 0);
    return well(result == FERRY_OK, "map", result);
}

// In the place of some of a range.
static bool map_over(void)
{
    unsigned range = draw(RANGES), first = draw(RANGE), count = 1 + draw(RANGE - first);
    struct page *pages = &run.now[RANGES_AREA][range * RANGE + first];
    unsigned allocation = some_allocation(is_wanted(pages, count));
    struct ferry_vidmm_virtual wish = {.size = sizeof(wish),
                                       .address = address_of(RANGES_AREA, range * RANGE + first),
                                       .bytes = PAGES(count),
                                       .replace = true};
    if (pages[0].allocation == NOTHING || allocation == ALLOCATIONS)
        return true;
    begin_change(pages, count);
    int result = ferry_vidmm_map_virtual(run.world->manager, run.world->device, run.allocations[allocation],
                                         PAGES(first), false, &wish);
    begin_change(NULL, 0);
    if (result == FERRY_OK)
        set(pages, count, allocation + 1, first);
    // Of several mappings.
    return well(result == FERRY_OK || result == FERRY_ERROR_BUSY, "map over", result);
}

// What is zeros is so where nothing is mapped, and behind what unmaps something there.
static void clear(enum area area, unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++)
        run.now[area][i] = (struct page){run.zero[area][i] ? ZERO : NOTHING, 0};
    run.changed++;
}

static bool update_window(enum area area)
{
    struct page *now = run.now[area];
    unsigned first = draw(WINDOW), count = 1 + draw(8 < WINDOW - first ? 8 : WINDOW - first);
    bool wanted = is_wanted(&now[first], count), unmaps = !wanted && draw(area < OF_QUEUE ? 4 : 2) == 0;
    unsigned allocation = some_allocation(wanted), queue = area == AT_ONCE ? draw(QUEUES) : area - OF_QUEUE;
    if (allocation == ALLOCATIONS)
        return true;
    struct ferry_vidmm_update change =
        mapping(address_of(area, first), count, unmaps ? 0 : run.allocations[allocation], 0);
    struct ferry_vidmm_updated updated;
    change.kind = unmaps ? FERRY_VIDMM_UNMAP : FERRY_VIDMM_MAP;
    begin_change(&now[first], count);
    int result = (area == AT_ONCE ? ferry_vidmm_update_virtual_at_once : ferry_vidmm_update_virtual)(
        run.world->manager, run.queues[queue].context, &change, 1, &updated);
    begin_change(NULL, 0);
    if (result == FERRY_OK && unmaps)
        clear(area, first, count);
    else if (result == FERRY_OK)
        set(&now[first], count, allocation + 1, 0);
    return well(result == FERRY_OK || (area == AT_ONCE && result == FERRY_ERROR_BUSY), "update", result);
}

static bool protect(enum area area)
{
    unsigned first = draw(WINDOW), count = 1 + draw(WINDOW - first);
    bool zero = run.zero[area][first];
    for (unsigned i = first; i < first + count; i++)
        if (run.zero[area][i] != zero ||
            (run.now[area][i].allocation != NOTHING && run.now[area][i].allocation != ZERO))
            count = i - first;
    if (count == 0 || is_wanted(&run.now[area][first], count))
        return true;
    struct ferry_vidmm_virtual wish = {.size = sizeof(wish),
                                       .address = address_of(area, first),
                                       .bytes = PAGES(count),
                                       .reservation = zero ? FERRY_VIDMM_NO_ACCESS : FERRY_VIDMM_ZERO};
    int result = ferry_vidmm_protect_virtual(run.world->manager, run.world->device, &wish);
    for (unsigned i = first; i < first + count; i++)
        run.zero[area][i] = !zero;
    clear(area, first, count);
    return well(result == FERRY_OK, "protect", result);
}

static bool make(unsigned i)
{
    struct ferry_allocation_private wanted = world_private(PAGES(run.pages[i]), CPU);
    struct ferry_vidmm_allocation_options options = {.fill_pattern = 0};
    void *address;
    wanted.Aperture = i % 4 == 3;
    int result = world_try_create(run.world, &wanted, &options, &run.allocations[i], NULL);
    if (result == FERRY_OK)
        result = lock(run.allocations[i], D3DDDI_LOCK_WRITE_ONLY, &address);
    if (!well(result == FERRY_OK, "create", result))
        return false;
    run.content[i] = ++run.made;
    for (uint64_t word = 0; word < PAGES(run.pages[i]) / 4; word++)
        ((uint32_t *)address)[word] = world_word(run.content[i], word);
    result = ferry_vidmm_unlock(run.world->manager, run.allocations[i]);
    return well(result == FERRY_OK, "unlock", result);
}

// Wherever it is mapped nothing is then; in the ranges those addresses are free.
static void unmap_everywhere(unsigned allocation, bool over)
{
    for (unsigned area = 0; area < AREAS; area++)
        for (unsigned page = 0; page < PAGES_MOST; page++) {
            if (run.now[area][page].allocation != allocation)
                continue;
            run.now[area][page].allocation = GOING;
            if (over)
                clear((enum area)area, page, 1);
        }
}

static bool destroy(unsigned i)
{
    if (is_reached(i))
        return true;
    run.required[i] = false;
    unmap_everywhere(i + 1, false);
    int result = ferry_vidmm_destroy_allocation(run.world->manager, run.allocations[i]);
    unmap_everywhere(GOING, true);
    return well(result == FERRY_OK, "destroy", result) && make(i);
}

static bool come_and_go(unsigned i)
{
    if (run.required[i] && is_reached(i))
        return true;
    int result = run.required[i] ? world_evict(run.world, run.allocations[i])
                                 : world_resident(run.world, &run.allocations[i], 1);
    if (result >= 0)
        run.required[i] = !run.required[i];
    return well(result >= 0 || result == FERRY_ERROR_NO_VIDEO_MEMORY, "list", result);
}

// Another program takes the places of what has left.
static bool press(void)
{
    struct ferry_vidmm *manager = run.world->manager;
    struct ferry_allocation_private wanted = world_private(PAGES(20 + draw(60)), CPU);
    struct ferry_vidmm_allocation_options options = {.size = sizeof(options),
                                                     .private_data = &wanted,
                                                     .private_data_bytes = sizeof(wanted),
                                                     .fill_pattern = 0x53455254};
    D3DDDI_MAKERESIDENT list = {.hPagingQueue = run.his_queue, .NumAllocations = 1, .AllocationList = &run.his};
    int result = run.his ? ferry_vidmm_destroy_allocation(manager, run.his) : FERRY_OK;
    if (!well(result == FERRY_OK, "his", result))
        return false;
    run.his = 0;
    result = ferry_vidmm_create_allocation(manager, run.neighbour, &options, &run.his, NULL);
    if (result == FERRY_OK)
        result = ferry_vidmm_make_resident(manager, &list);
    return well(result >= 0 || result == FERRY_ERROR_NO_VIDEO_MEMORY, "his", result);
}

// Only a reset helps, after which what was with the device goes there again; or what changes tables does. Who waits is
// told of a device that hangs once more before anything has moved, so it does not.
static bool hang(void)
{
    struct machine_knobs *knobs = run.world->knobs;
    uint64_t progress = run.world->manager->sched.progress;
    bool is_over = run.hung && !knobs->hang, again = run.hangs && !run.hung && progress > run.moved + 4;
    run.moved = is_over ? progress : run.moved;
    run.hung = !is_over && (run.hung || again);
    if (again) {
        knobs->hang = draw(2);
        knobs->late_abort = draw(2);
        knobs->fault_addresses = draw(2);
    }
    return true;
}

static bool step_of_changes(void)
{
    switch (draw(12)) {
    case 0:
    case 1: return map_range();
    case 2: return map_over();
    case 3:
    case 4: return update_window(AT_ONCE);
    case 5:
    case 6: return update_window((enum area)(OF_QUEUE + draw(QUEUES)));
    case 7: return protect((enum area)(OF_QUEUE + draw(QUEUES)));
    case 8: return draw(3) == 0 ? destroy(draw(ALLOCATIONS)) : true;
    case 9: return draw(3) == 0 ? press() : hang();
    case 10: baton_hold_back(run.world, 80); return true;
    default: return come_and_go(draw(ALLOCATIONS));
    }
}

// ---- All of them --------------------------------------------------------------------------------------------------

static bool step(unsigned number)
{
    return number < QUEUES ? step_of_queue(number) : step_of_changes();
}

static void begin_run(uint64_t seed, bool host_tables, bool hangs)
{
    struct world_options options = updates_options(144, seed % 2 ? 512 : 0);
    options.machine.aperture_bytes = PAGES(48);
    options.machine.by_address = seed % 4 == 2;
    options.machine.host_tables = host_tables;
    options.manager.table_bytes = PAGES(32);
    memset(&run, 0, sizeof(run));
    run.hangs = hangs;
    run.world = baton_begin(seed, &options);
    struct ferry_vidmm *manager = run.world->manager;
    struct ferry_vidmm_process_options program = {.size = sizeof(program)};
    D3DKMT_HANDLE process;
    assert_int_equal(ferry_vidmm_create_process(manager, &program, &process), FERRY_OK);
    assert_int_equal(ferry_vidmm_create_device_of(manager, process, &run.neighbour), FERRY_OK);
    assert_int_equal(ferry_vidmm_create_paging_queue(manager, run.neighbour, 0, &run.his_queue), FERRY_OK);
    for (unsigned i = 0; i < QUEUES; i++) {
        run.queues[i].context = context_on(run.world, i + 1);
        run.queues[i].result = content(run.world, 2, 99);
        run.queues[i].at_result = map(run.world, run.queues[i].result, BASE + PAGES(16 * i), 2);
    }
    for (unsigned i = 0; i < ALLOCATIONS; i++) {
        run.pages[i] = RANGE + draw(5);
        assert_true(make(i));
        run.required[i] = world_resident(run.world, &run.allocations[i], 1) >= 0;
    }
    for (unsigned area = AT_ONCE; area < AREAS; area++) {
        struct ferry_vidmm_virtual range = {.size = sizeof(range),
                                            .address = address_of((enum area)area, 0),
                                            .bytes = PAGES(WINDOW),
                                            .reservation = area < OF_QUEUE ? FERRY_VIDMM_NO_ACCESS : FERRY_VIDMM_ZERO};
        assert_int_equal(ferry_vidmm_reserve_virtual(manager, run.world->device, &range), FERRY_OK);
        for (unsigned page = 0; page < WINDOW; page++)
            run.zero[area][page] = area >= OF_QUEUE;
        clear((enum area)area, 0, WINDOW);
    }
}

static struct {
    unsigned read, changed, waited, meanwhile, cut, lost;
} all;

static void one_run(uint64_t seed, bool host_tables, bool hangs)
{
    begin_run(seed, host_tables, hangs);
    baton_run(step, QUEUES + 1, STEPS);
    for (unsigned i = 0; i < QUEUES && !baton.wrong; i++)
        look(&run.queues[i]);
    // What hangs or faults may cost the device what it has, and the run is over then.
    baton_judge(seed, run.world, hangs && baton.that == FERRY_ERROR_DEVICE_LOST);
    all.read += run.read;
    all.changed += run.changed;
    all.waited += baton.waited;
    all.meanwhile += run.meanwhile;
    all.cut += run.cut;
    all.lost += baton.wrong != NULL;
    world_close(run.world);
}

static void runs(bool hangs)
{
    uint64_t seed = seed_given(1);
    unsigned count = machine_rounds(30, 10);
    memset(&all, 0, sizeof(all));
    for (unsigned i = 0; i < count; i++)
        one_run(seed + i, i % 3 == 2, hangs);
    printf("%u read, %u changes, %u turns of waiting, %u submissions with changes meanwhile, %u cut, %u lost\n",
           all.read, all.changed, all.waited, all.meanwhile, all.cut, all.lost);
    assert_true(all.read > 20 * count && all.changed > 20 * count && all.waited > count && all.meanwhile > 0);
}

static void jobs_go_out_behind_what_is_mapped_for_them(void **state)
{
    (void)state;
    runs(false);
}

static void jobs_go_out_behind_it_again_after_resets_and_faults(void **state)
{
    (void)state;
    runs(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_go_out_behind_what_is_mapped_for_them),
        cmocka_unit_test(jobs_go_out_behind_it_again_after_resets_and_faults),
    };
    return WORLD_RUN(tests);
}
