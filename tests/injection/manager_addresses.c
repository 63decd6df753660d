// SPDX-License-Identifier: Apache-2.0
// The manager's program under failures: its GPU virtual addresses, mapped, changed among jobs and freed.
#include "manager_calls.h"

static int map(struct run *run, unsigned number, uint64_t address, uint64_t offset, uint64_t pages, uint64_t *at)
{
    struct ferry_vidmm_virtual range = {.size = sizeof(range), .address = address, .bytes = PAGES(pages)};
    int result =
        ferry_vidmm_map_virtual(run->manager, run->device[0], run->allocation[number], PAGES(offset), false, &range);
    *at = range.address;
    return result;
}

static struct ferry_vidmm_update mapping(const struct run *run, unsigned number, uint64_t address, uint64_t offset,
                                         uint64_t pages)
{
    return (struct ferry_vidmm_update){.kind = FERRY_VIDMM_MAP,
                                       .address = address,
                                       .bytes = PAGES(pages),
                                       .allocation = run->allocation[number],
                                       .offset = PAGES(offset)};
}

static struct ferry_vidmm_update unmapping(uint64_t address, uint64_t pages)
{
    return (struct ferry_vidmm_update){.kind = FERRY_VIDMM_UNMAP, .address = address, .bytes = PAGES(pages)};
}

static struct ferry_vidmm_update copying(uint64_t address, uint64_t pages, uint64_t source)
{
    return (struct ferry_vidmm_update){
        .kind = FERRY_VIDMM_COPY, .address = address, .bytes = PAGES(pages), .source = source};
}

// How the addresses of a reservation are divided, and whose the parts are.
static uint64_t mapped_now(const struct run *run, uint64_t address, uint64_t bytes)
{
    uint64_t hash = 0;
    for (uint64_t at = address; at < address + bytes;) {
        struct ferry_vidmm_mapping found = {0};
        if (ferry_vidmm_find_virtual(run->manager, run->device[0], at, &found) != FERRY_OK || found.bytes == 0)
            return 0;
        hash = (hash ^ found.address ^ found.bytes ^ found.offset ^ (uint64_t)found.allocation << 48) * 1099511628211u;
        at = found.address + found.bytes;
    }
    return hash;
}

// One that fails leaves every mapping as it was.
static int update(struct run *run, uint64_t address, uint64_t bytes, const struct ferry_vidmm_update *operations,
                  uint32_t count, bool at_once)
{
    struct ferry_vidmm_updated updated = {0};
    bool armed = inject.armed;
    inject.armed = false;
    uint64_t then = mapped_now(run, address, bytes);
    inject.armed = armed;
    int result = (at_once ? ferry_vidmm_update_virtual_at_once
                          : ferry_vidmm_update_virtual)(run->manager, run->context[0], operations, count, &updated);
    armed = inject.armed;
    inject.armed = false;
    if (result == FERRY_ERROR_CRITICAL)
        return result;
    if ((result == FERRY_OK) == (then == mapped_now(run, address, bytes)))
        wrong(&run->attempt, "an update", "answered %d, and mappings are%s as before", result,
              result == FERRY_OK ? "" : " not");
    inject.armed = armed;
    return result;
}

#define UPDATE(...)                                                                                                    \
    update(run, reserved.address, reserved.bytes, (const struct ferry_vidmm_update[]){__VA_ARGS__},                    \
           sizeof((const struct ferry_vidmm_update[]){__VA_ARGS__}) / sizeof(struct ferry_vidmm_update), false)

// Among jobs that are not over: of what is in memory, in the aperture and out; with tables that come and go.
void manager_updates(struct run *run)
{
    uint64_t value, fence;
    struct ferry_vidmm_virtual reserved = {.size = sizeof(reserved), .address = UINT64_C(1) << 42, .bytes = PAGES(512)};
    const uint64_t x = reserved.address;
    CALL(manager_resident(run, 0, LIST(PLAIN, LARGE, KEPT, MAPPED, OWN), &value));
    CALL(ferry_vidmm_reserve_virtual(run->manager, run->device[0], &reserved));
    CALL(manager_submit(run, 0, KEPT, PLAIN, &fence));
    CALL(UPDATE(mapping(run, PLAIN, x, 0, 4), mapping(run, MAPPED, x + PAGES(300), 0, 3),
                mapping(run, WIDE, x + PAGES(400), 0, 12)));
    CALL(manager_submit(run, 0, MAPPED, PLAIN, &fence));
    CALL(UPDATE(mapping(run, OWN, x + PAGES(1), 0, 2), copying(x + PAGES(500), 4, x + PAGES(299))));
    CALL(UPDATE(unmapping(x + PAGES(301), 101)));
    CALL(manager_submit_reaching(run, MAPPED, PLAIN, x, &fence));
    // Some of it is so already.
    CALL(UPDATE(mapping(run, WIDE, x + PAGES(400), 0, 12), mapping(run, OWN, x + PAGES(402), 0, 1)));
    CALL(manager_submit(run, 0, KEPT, PLAIN, &fence));
    CALL(ferry_vidmm_wait(run->manager, run->context[0], fence));
    // Out and in again, all of it and what is left of it.
    CALL(manager_evict(run, 0, LIST(PLAIN, LARGE, KEPT, MAPPED, OWN)));
    CALL(manager_resident(run, 0, LIST(WIDE), &value));
    CALL(manager_submit(run, 0, WIDE, WIDE, &fence));
    CALL(UPDATE(unmapping(x + PAGES(402), 110)));
    CALL(UPDATE(unmapping(x, 512), mapping(run, MAPPED, x + PAGES(200), 0, 3)));
    CALL(manager_evict(run, 0, LIST(WIDE)));
    CALL(manager_resident(run, 0, LIST(PLAIN, LARGE, KEPT, MAPPED, OWN), &value));
    CALL(manager_submit(run, 0, MAPPED, PLAIN, &fence));
    CALL(UPDATE(unmapping(x, 512)));
    CALL(manager_submit(run, 0, KEPT, PLAIN, &fence));
    CALL(ferry_vidmm_wait(run->manager, run->context[0], fence));
    CALL(manager_evict(run, 0, LIST(PLAIN, LARGE, KEPT, MAPPED, OWN)));
}

// All of it goes or nothing.
static int free_all(struct run *run, uint64_t address, uint64_t bytes)
{
    bool armed = inject.armed;
    inject.armed = false;
    uint64_t then = mapped_now(run, address, bytes);
    inject.armed = armed;
    int result = ferry_vidmm_free_virtual(run->manager, run->device[0], address, bytes);
    armed = inject.armed;
    inject.armed = false;
    if (result < 0 && result != FERRY_ERROR_CRITICAL && then != mapped_now(run, address, bytes))
        wrong(&run->attempt, "a freeing", "answered %d, and mappings are not as before", result);
    inject.armed = armed;
    return result;
}

// Over some of a mapping that no reservation holds; all of it or nothing.
static int map_over(struct run *run, unsigned number, uint64_t address, uint64_t pages)
{
    struct ferry_vidmm_virtual range = {
        .size = sizeof(range), .address = address, .bytes = PAGES(pages), .replace = true};
    bool armed = inject.armed;
    inject.armed = false;
    uint64_t then = mapped_now(run, address - PAGES(1), PAGES(pages + 2));
    inject.armed = armed;
    int result =
        ferry_vidmm_map_virtual(run->manager, run->device[0], run->allocation[number], PAGES(1), false, &range);
    armed = inject.armed;
    inject.armed = false;
    if (result != FERRY_ERROR_CRITICAL &&
        (result == FERRY_OK) == (then == mapped_now(run, address - PAGES(1), PAGES(pages + 2))))
        wrong(&run->attempt, "a map over another", "answered %d, and mappings are%s as before", result,
              result == FERRY_OK ? "" : " not");
    inject.armed = armed;
    return result;
}

// Zeros with something mapped among them, and their end; one that fails leaves no table behind.
static int reserve_zeros(struct run *run, struct ferry_vidmm_virtual *range)
{
    struct ferry_vidmm_mapping found = {0};
    int result = ferry_vidmm_reserve_virtual(run->manager, run->device[0], range);
    bool armed = inject.armed;
    inject.armed = false;
    if (result != FERRY_ERROR_CRITICAL &&
        ferry_vidmm_find_virtual(run->manager, run->device[0], range->address, &found) == FERRY_OK &&
        (result == FERRY_OK) != (found.bytes != 0 && found.address == range->address && found.zeros))
        wrong(&run->attempt, "a reservation of zeros", "answered %d, and there are%s zeros", result,
              found.zeros ? "" : " no");
    inject.armed = armed;
    return result;
}

static int protect(struct run *run, struct ferry_vidmm_virtual *range)
{
    struct ferry_vidmm_mapping found = {0};
    bool zeros = range->reservation == FERRY_VIDMM_ZERO;
    int result = ferry_vidmm_protect_virtual(run->manager, run->device[0], range);
    bool armed = inject.armed;
    inject.armed = false;
    if (result != FERRY_ERROR_CRITICAL &&
        ferry_vidmm_find_virtual(run->manager, run->device[0], range->address, &found) == FERRY_OK &&
        (result == FERRY_OK) != (found.zeros == zeros))
        wrong(&run->attempt, "another kind", "answered %d, and there are%s zeros", result, found.zeros ? "" : " no");
    inject.armed = armed;
    return result;
}

void manager_zeros(struct run *run)
{
    uint64_t value, fence, at;
    struct ferry_vidmm_virtual zeros = {.size = sizeof(zeros),
                                        .address = (UINT64_C(1) << 43) + PAGES(16),
                                        .bytes = PAGES(1024),
                                        .reservation = FERRY_VIDMM_ZERO},
                               more = zeros;
    const struct ferry_vidmm_virtual reserved = zeros; // As UPDATE() knows them.
    struct ferry_vidmm_update change;
    CALL(manager_resident(run, 0, LIST(PLAIN, KEPT), &value));
    CALL(reserve_zeros(run, &zeros));
    CALL(map(run, PLAIN, zeros.address + PAGES(600), 0, 3, &at));
    CALL(manager_submit(run, 0, KEPT, PLAIN, &fence));
    CALL(UPDATE(mapping(run, KEPT, zeros.address, 0, 2)));
    CALL(manager_submit(run, 0, KEPT, PLAIN, &fence));
    change = mapping(run, KEPT, zeros.address + PAGES(3), 0, 1);
    CALL(update(run, zeros.address, zeros.bytes, &change, 1, true));
    CALL(UPDATE(unmapping(zeros.address, 602)));
    // A hole, and zeros in its middle.
    struct ferry_vidmm_virtual some = {.size = sizeof(some), .address = zeros.address + PAGES(20), .bytes = PAGES(800)};
    CALL(UPDATE(unmapping(zeros.address + PAGES(602), 1)));
    CALL(protect(run, &some));
    some.address += PAGES(101);
    some.bytes = PAGES(16);
    some.reservation = FERRY_VIDMM_ZERO;
    CALL(protect(run, &some));
    more.address += PAGES(2048);
    CALL(reserve_zeros(run, &more));
    CALL(manager_submit(run, 0, KEPT, PLAIN, &fence));
    CALL(free_all(run, zeros.address, PAGES(1024)));
    CALL(ferry_vidmm_wait(run->manager, run->context[0], fence));
    CALL(manager_evict(run, 0, LIST(PLAIN, KEPT)));
}

// Mapped while they are in place and while they are not; reserved, in the middle of what is reserved, and free again.
void manager_addresses(struct run *run)
{
    uint64_t value, fence, at[4];
    struct ferry_vidmm_virtual range = {.size = sizeof(range), .bytes = PAGES(64)};
    CALL(manager_resident(run, 0, LIST(PLAIN, LARGE, KEPT, MAPPED, OWN), &value));
    CALL(map(run, PLAIN, 0, 0, SIZE[PLAIN], &at[0]));
    CALL(map(run, KEPT, 0, 1, 2, &at[1]));
    CALL(map(run, WIDE, 0, 0, SIZE[WIDE], &at[3]));
    CALL(map_over(run, KEPT, at[3] + PAGES(SIZE[WIDE] / 2), 1));
    CALL(ferry_vidmm_reserve_virtual(run->manager, run->device[0], &range));
    CALL(map(run, PLAIN, range.address + PAGES(16), 0, 3, &at[2]));
    CALL(manager_submit(run, 0, KEPT, PLAIN, &fence));
    CALL(manager_submit(run, 0, MAPPED, PLAIN, &fence));
    CALL(ferry_vidmm_free_virtual(run->manager, run->device[0], at[1], PAGES(2)));
    CALL(ferry_vidmm_wait(run->manager, run->context[0], fence));
    // Out with all of them, and in again.
    CALL(manager_evict(run, 0, LIST(PLAIN, LARGE, KEPT, MAPPED)));
    CALL(manager_resident(run, 0, LIST(WIDE), &value));
    CALL(manager_submit(run, 0, WIDE, WIDE, &fence));
    CALL(manager_evict(run, 0, LIST(WIDE, OWN)));
    CALL(manager_create(run, HIGH, 0, SIZE[HIGH], CPU, 1));
    CALL(manager_resident(run, 0, LIST(HIGH), &value));
    CALL(ferry_vidmm_free_virtual(run->manager, run->device[0], at[0], PAGES(SIZE[PLAIN])));
    CALL(ferry_vidmm_wait_paging(run->manager, run->queue[0], value));
    // It leaves in more operations than any before, chunk after chunk, and goes all the same.
    CALL(ferry_vidmm_destroy_allocation(run->manager, run->allocation[HIGH]));
    CALL(manager_resident(run, 0, LIST(PLAIN, LARGE, KEPT, MAPPED, OWN), &value));
    CALL(manager_submit(run, 0, MAPPED, PLAIN, &fence));
    CALL(manager_submit(run, 0, PLAIN, MAPPED, &fence));
    CALL(map(run, KEPT, range.address + PAGES(32), 0, 2, &at[1]));
    CALL(map(run, LARGE, range.address + PAGES(40), 0, 2, &at[1]));
    CALL(free_all(run, range.address, PAGES(64)));
    CALL(manager_submit(run, 0, KEPT, PLAIN, &fence));
    CALL(manager_submit(run, 0, MAPPED, PLAIN, &fence));
    CALL(ferry_vidmm_wait(run->manager, run->context[0], fence));
}
