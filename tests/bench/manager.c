// SPDX-License-Identifier: Apache-2.0
// What the manager's decisions cost: the segment allocator beside first fit, best fit and a two-level segregated fit on
// one list of operations; one plan, and MakeResident with Evict, among a thousand and among a million allocations.
// Times depend on the machine: the ratios are what counts, and nothing here is asserted.
#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../seed.h"
#include "ferry/ferry.h"
#include "vidmm/space/plan.h"

#define PAGES 65536u // 256 MiB
#define STEPS 400000u
#define MOST  PAGES

static FILE *out;
static bool first_row = true;

static void row(const char *name, double value, const char *unit)
{
    fprintf(out, "%s\n  {\"name\": \"%s\", \"value\": %.3f, \"unit\": \"%s\"}", first_row ? "[" : ",", name, value,
            unit);
    first_row = false;
    printf("%-32s %12.3f %s\n", name, value, unit);
}

static uint64_t state_word;

static uint32_t pick(uint32_t below)
{
    return (uint32_t)(draw_bits(&state_word) >> 20) % below;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

// ---- Four allocators behind two calls; a place is a page number, PAGES = none ----

struct allocator {
    const char *name;
    void (*begin)(void);
    uint32_t (*take)(uint32_t pages, uint32_t id);
    void (*give)(uint32_t first, uint32_t pages, uint32_t id);
};

static struct ferry_vm_space space;
static struct ferry_vm_block *blocks[MOST];

static void ours_begin(void)
{
    ferry_vm_space_destroy(&space);
    if (!ferry_vm_space_init(&space, PAGES))
        exit(1);
}

static uint32_t ours_take(uint32_t pages, uint32_t id)
{
    bool no_memory;
    blocks[id] = ferry_vm_space_take(&space, pages, 1, false, 0, &space, &no_memory);
    return blocks[id] ? (uint32_t)blocks[id]->first : PAGES;
}

static void ours_give(uint32_t first, uint32_t pages, uint32_t id)
{
    (void)first;
    (void)pages;
    ferry_vm_space_give(&space, blocks[id]);
}

// Holes as a list through their first pages; sizes stand at both ends (boundary tags).
static uint32_t size_at[PAGES + 2], next_hole[PAGES + 1], previous_hole[PAGES + 1];
static bool hole_at[PAGES + 2];
#define HEADS (32 * 8)
static uint32_t heads[HEADS];
static bool segregated, best;

// Two levels: powers of two, each cut into eight.
static uint32_t class_of(uint32_t pages)
{
    if (!segregated)
        return 0;
    uint32_t log2 = 31u - (uint32_t)__builtin_clz(pages);
    return log2 < 3 ? pages : log2 * 8 + (pages >> (log2 - 3) & 7);
}

static void hole_in(uint32_t first, uint32_t pages)
{
    uint32_t *head = &heads[class_of(pages)];
    size_at[first] = size_at[first + pages - 1] = pages;
    hole_at[first] = hole_at[first + pages - 1] = true;
    if (!segregated && !best) { // by address
        uint32_t before = PAGES, at = *head;
        while (at != PAGES && at < first) {
            before = at;
            at = next_hole[at];
        }
        next_hole[first] = at;
        previous_hole[first] = before;
        if (at != PAGES)
            previous_hole[at] = first;
        if (before != PAGES)
            next_hole[before] = first;
        else
            *head = first;
        return;
    }
    next_hole[first] = *head;
    previous_hole[first] = PAGES;
    if (*head != PAGES)
        previous_hole[*head] = first;
    *head = first;
}

static void hole_out(uint32_t first)
{
    uint32_t pages = size_at[first], *head = &heads[class_of(pages)];
    hole_at[first] = hole_at[first + pages - 1] = false;
    if (previous_hole[first] != PAGES)
        next_hole[previous_hole[first]] = next_hole[first];
    else
        *head = next_hole[first];
    if (next_hole[first] != PAGES)
        previous_hole[next_hole[first]] = previous_hole[first];
}

static void list_begin(void)
{
    for (unsigned i = 0; i < HEADS; i++)
        heads[i] = PAGES;
    memset(hole_at, 0, sizeof(hole_at));
    hole_in(0, PAGES);
}

static void first_fit_begin(void)
{
    segregated = best = false;
    list_begin();
}

static void best_fit_begin(void)
{
    segregated = false;
    best = true;
    list_begin();
}

static void two_level_begin(void)
{
    segregated = true;
    best = false;
    list_begin();
}

static uint32_t list_take(uint32_t pages, uint32_t id)
{
    uint32_t found = PAGES;
    (void)id;
    if (segregated) {
        // Any hole of a class above suffices; of its own class the first is tried.
        uint32_t class = class_of(pages);
        if (heads[class] != PAGES && size_at[heads[class]] >= pages)
            found = heads[class];
        for (class ++; found == PAGES && class < HEADS; class ++)
            found = heads[class];
    } else {
        for (uint32_t at = heads[0]; at != PAGES; at = next_hole[at]) {
            if (size_at[at] < pages || (found != PAGES && size_at[at] >= size_at[found]))
                continue;
            found = at;
            if (!best || size_at[at] == pages)
                break;
        }
    }
    if (found == PAGES)
        return PAGES;
    uint32_t size = size_at[found];
    hole_out(found);
    if (size > pages)
        hole_in(found + pages, size - pages);
    return found;
}

static void list_give(uint32_t first, uint32_t pages, uint32_t id)
{
    (void)id;
    if (first + pages < PAGES && hole_at[first + pages]) {
        uint32_t behind = first + pages, more = size_at[behind];
        hole_out(behind);
        pages += more;
    }
    if (first > 0 && hole_at[first - 1]) {
        uint32_t before = first - size_at[first - 1];
        pages += size_at[before];
        hole_out(before);
        first = before;
    }
    hole_in(first, pages);
}

// ---- One list of operations ----

struct result {
    unsigned failures;
    double seconds;
};

// Textures and buffers of a game: mostly small, some of up to 4 MiB, up to 95 % full.
static struct result churn(const struct allocator *allocator)
{
    static uint32_t first[MOST], size[MOST];
    unsigned count = 0, used = 0;
    struct result result = {0, 0};
    state_word = 20261122;
    allocator->begin();
    double start = now();
    for (unsigned step = 0; step < STEPS; step++) {
        uint32_t pages = 1 + pick(pick(8) ? 16 : pick(4) ? 128 : 1024), goes = pick(MOST);
        if (used + pages <= PAGES / 100 * 95) {
            uint32_t at = allocator->take(pages, count);
            if (at != PAGES) {
                first[count] = at;
                size[count++] = pages;
                used += pages;
                continue;
            }
            result.failures++;
        }
        // Full, or too much in pieces: somebody goes, by chance.
        goes %= count;
        allocator->give(first[goes], size[goes], goes);
        used -= size[goes];
        count--;
        first[goes] = first[count];
        size[goes] = size[count];
        blocks[goes] = blocks[count];
    }
    result.seconds = now() - start;
    return result;
}

// ---- One plan ----

struct owner {
    struct ferry_vm_use use;
    struct ferry_vm_block *block;
};

static void facts_of(void *context, void *opaque, struct ferry_vm_facts *facts)
{
    struct owner *owner = opaque;
    (void)context;
    *facts = (struct ferry_vm_facts){.use = &owner->use, .block = &owner->block};
}

static void *owner_of(struct ferry_vm_use *use)
{
    return (char *)use - offsetof(struct owner, use);
}

// Seconds for one plan among `count` candidates of a full segment.
static double plan_among(unsigned count)
{
    struct owner *owners = calloc(count + 1, sizeof(*owners));
    struct ferry_vm_space full;
    struct ferry_vm_victims victims;
    struct ferry_vm_region region = {&full, &victims, true};
    struct ferry_vm_plan plan = {0};
    uint64_t pages = 0, missing;
    state_word = 5;
    for (unsigned i = 0; i < count; i++)
        pages += owners[i].use.pages = 1 + pick(8);
    if (!ferry_vm_space_init(&full, pages))
        exit(1);
    struct ferry_vm_round round = {0};
    ferry_vm_victims_init(&victims, false);
    for (unsigned i = 0; i < count; i++) {
        bool no_memory;
        owners[i].use.serial = i + 1;
        owners[i].block = ferry_vm_space_take(&full, owners[i].use.pages, 1, false, 0, &owners[i], &no_memory);
        ferry_vm_victim_used(&owners[i].use, &round, 1 + pick(count));
        ferry_vm_victim_used(&owners[i].use, &round, count + pick(count));
        ferry_vm_victim_add(&victims, &owners[i].use);
    }
    double start = now();
    for (unsigned i = 0; i < 2000; i++) {
        struct ferry_vm_wanted wanted = {.owner = &owners[count], .pages = 1 + pick(64), .most_more = UINT64_MAX};
        ferry_vm_plan_begin(&plan, NULL, facts_of, owner_of, 2 * (uint64_t)count);
        if (ferry_vm_plan_want(&plan, &region, &wanted, &missing) != FERRY_VM_PLANNED)
            exit(1);
        ferry_vm_plan_undo(&plan);
    }
    double seconds = (now() - start) / 2000;
    ferry_vm_plan_destroy(&plan);
    ferry_vm_space_destroy(&full);
    free(owners);
    return seconds;
}

// ---- The library, as a program calls it ----

static void must(int result)
{
    if (result == FERRY_OK || result == FERRY_PENDING)
        return;
    fprintf(stderr, "bench: %s\n", ferry_error_name(result));
    exit(1);
}

struct library {
    struct ferry_adapter *adapter;
    struct ferry_device *device;
    struct ferry_allocation **allocations;
    double bytes; // of host memory for each allocation
};

// What large blocks are mapped in counts too.
static size_t host_bytes(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void library_begin(struct library *library, unsigned count)
{
    struct ferry_adapter_options options = {
        .size = sizeof(options), .backend = "model", .video_memory_bytes = UINT64_C(1) << 36};
    struct ferry_allocation_options one = {.size = sizeof(one), .bytes = 4096, .flags = FERRY_FLAG_CPU_VISIBLE};
    must(ferry_adapter_open(&options, &library->adapter));
    must(ferry_device_create(library->adapter, &library->device));
    library->allocations = malloc(count * sizeof(*library->allocations));
    size_t before = host_bytes();
    for (unsigned i = 0; i < count; i++)
        must(ferry_allocation_create(library->device, &one, &library->allocations[i]));
    library->bytes = (double)(host_bytes() - before) / count;
}

static void library_end(struct library *library)
{
    ferry_adapter_close(library->adapter);
    free(library->allocations);
}

static uint64_t require(struct library *library, unsigned first, unsigned count)
{
    struct ferry_residency list = {.size = sizeof(list), .allocations = library->allocations + first, .count = count};
    must(ferry_make_resident(library->device, &list));
    return list.paging_fence_value;
}

static void let_go(struct library *library, unsigned first, unsigned count)
{
    struct ferry_residency list = {.size = sizeof(list), .allocations = library->allocations + first, .count = count};
    must(ferry_evict(library->device, &list));
}

// Seconds for MakeResident and Evict of one that is resident, its content there, and stays so.
static double residency_among(unsigned count)
{
    struct library library;
    library_begin(&library, count);
    must(ferry_device_wait_paging(library.device, require(&library, count / 2, 1)));
    double start = now();
    for (unsigned i = 0; i < 200000; i++) {
        require(&library, count / 2, 1);
        let_go(&library, count / 2, 1);
    }
    double seconds = (now() - start) / 200000;
    library_end(&library);
    return seconds;
}

// Seconds for each of those that one call brings in.
static double call_of(unsigned count)
{
    struct library library;
    library_begin(&library, 10000);
    double start = now();
    for (unsigned first = 0; first < 10000; first += count)
        require(&library, first, count);
    double seconds = (now() - start) / 10000;
    library_end(&library);
    return seconds;
}

int main(int argc, char **argv)
{
    static const struct allocator allocators[] = {{"ours", ours_begin, ours_take, ours_give},
                                                  {"first-fit", first_fit_begin, list_take, list_give},
                                                  {"best-fit", best_fit_begin, list_take, list_give},
                                                  {"two-level", two_level_begin, list_take, list_give}};
    out = argc == 2 ? fopen(argv[1], "w") : NULL;
    if (!out) {
        fprintf(stderr, "usage: manager ROWS.json\n");
        return 2;
    }
    // First, since the library's table of handles is never smaller again.
    struct library library;
    library_begin(&library, 100000);
    row("manager/bytes-per-allocation", library.bytes, "bytes");
    library_end(&library);
    double ours = 0;
    for (unsigned i = 0; i < 4; i++) {
        char name[64];
        struct result result = churn(&allocators[i]);
        snprintf(name, sizeof(name), "allocator/failures/%s", allocators[i].name);
        row(name, result.failures, "of 400,000 operations");
        if (i == 0)
            ours = result.seconds;
        snprintf(name, sizeof(name), "allocator/time/%s", allocators[i].name);
        row(name, result.seconds / ours, "times ours");
    }
    ferry_vm_space_destroy(&space);
    double few = plan_among(1000), many = plan_among(1000000);
    row("manager/plan-1e3", few * 1e6, "us");
    row("manager/plan-1e6", many * 1e6, "us");
    row("manager/plan-1e6/ratio", many / few, "times 1e3");
    few = residency_among(1000);
    many = residency_among(1000000);
    row("manager/make-resident-1e3", few * 1e9, "ns");
    row("manager/make-resident-1e6", many * 1e9, "ns");
    row("manager/make-resident-1e6/ratio", many / few, "times 1e3");
    few = call_of(100);
    many = call_of(10000);
    row("manager/make-resident-call-of-10000", many / few, "times a call of 100");
    fprintf(out, "\n]\n");
    return fclose(out) != 0;
}
