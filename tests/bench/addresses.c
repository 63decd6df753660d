// SPDX-License-Identifier: Apache-2.0
// What GPU virtual addresses cost: the manager's part of mapping and unmapping a million pages, as lists of 1 MiB and
// each alone in 2 MiB of addresses, with the bytes of page tables that this takes; the same by updates among jobs, each
// of one operation; single pages of one allocation, mapped one by one and ended with it, and what each costs of 20,000
// against 1,000, with the pager and the reference model under it; and the device's part, on the RTL, with page tables
// that come about and end. Writes rows for collect.py to the file that is named. Times of the manager depend on the
// machine.
//
// Floors of update-...: an entry that is mapped crosses the link once, 8 of a packet's 256 bytes, which take 34 cycles
// with their header; one that is unmapped is written, and one that is copied read and written side by side: a cycle.
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ferry/ferry.h"
#include "vidmm/space/address_batch.h"

#define MILLION (UINT64_C(1) << 20)

static FILE *out;

static void row(const char *name, double value, const char *unit)
{
    fprintf(out, "%s\n  {\"name\": \"addresses/%s\", \"value\": %.1f, \"unit\": \"%s\"}", ftell(out) ? "," : "[", name,
            value, unit);
    printf("addresses/%-22s %10.1f %s\n", name, value, unit);
}

static void ok(int result, const char *what)
{
    if (result >= 0)
        return;
    fprintf(stderr, "bench addresses: %s: %s\n", what, ferry_error_name(result));
    exit(1);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

// ---- The manager's part: ranges and tables, without anybody to tell of them ----

static void million(const char *name, uint64_t pages, uint64_t stride)
{
    struct ferry_vm_table_pool pool;
    struct ferry_vm_address_space space;
    struct ferry_vm_range *range;
    struct ferry_vm_table *table;
    uint64_t missing;
    char text[64];
    int owner;

    if (!ferry_vm_table_pool_init(&pool, 0, 3u << 19))
        ok(FERRY_ERROR_NO_HOST_MEMORY, "tables");
    ferry_vm_address_space_init(&space, &pool);
    double begin = now();
    for (uint64_t i = 0; i < MILLION / pages; i++) {
        struct ferry_vm_where where = {i * stride, 0, 0, 1, 0};

        ok(ferry_vm_address_map(&space, &where, pages, &owner, 0, false, &range, &missing), "map");
        while (ferry_vm_address_fresh(&space))
            ;
    }
    double mapped = now();
    snprintf(text, sizeof text, "map/%s", name);
    row(text, (mapped - begin) * 1e9 / (double)MILLION, "ns a page");
    snprintf(text, sizeof text, "tables/%s", name);
    double bytes = (double)space.tables * 4096 / (double)MILLION;
    row(text, pages == 1 ? bytes : bytes * 256, pages == 1 ? "bytes a page" : "bytes a MB");
    for (uint64_t i = 0; i < MILLION / pages; i++) {
        struct ferry_vm_shrinking from = {0};

        ferry_vm_address_unmap(&space, ferry_vm_address_find(&space, i * stride));
        while ((table = ferry_vm_address_shrink(&space, i * stride, pages, &from)))
            ferry_vm_table_free(&space, table);
    }
    snprintf(text, sizeof text, "unmap/%s", name);
    row(text, (now() - mapped) * 1e9 / (double)MILLION, "ns a page");
    ferry_vm_address_space_end(&space);
    ferry_vm_table_pool_destroy(&pool);
}

// One operation is one update: on whole pages of this stride from `first` on. Returns seconds.
static double updates(struct ferry_vm_address_space *space, enum ferry_va_operation_kind kind, uint64_t pages,
                      uint64_t stride, uint64_t first)
{
    static int owner;
    struct ferry_vm_table *table;
    double begin = now();

    for (uint64_t i = 0; i < MILLION / pages; i++) {
        struct ferry_vm_batch batch;
        struct ferry_vm_part part = {.first = first + i * stride, .pages = pages, .owner = &owner};
        struct ferry_vm_shrinking from = {0};
        uint64_t missing;

        ferry_vm_batch_begin(&batch, space);
        if (kind == FERRY_VA_MAP)
            ok(ferry_vm_batch_map(&batch, &part, 0, &missing), "map");
        else if (kind == FERRY_VA_UNMAP)
            ok(ferry_vm_batch_unmap(&batch, part.first, pages), "unmap");
        else
            ok(ferry_vm_batch_copy(&batch, part.first, pages, i * stride), "copy");
        ok(ferry_vm_batch_prepare(&batch, &missing), "prepare");
        ferry_vm_batch_commit(&batch);
        while (ferry_vm_address_fresh(space))
            ;
        while (kind == FERRY_VA_UNMAP && (table = ferry_vm_address_shrink(space, part.first, pages, &from)))
            ferry_vm_table_free(space, table);
        ferry_vm_batch_end(&batch);
    }
    return now() - begin;
}

// The lower half is mapped and copied to the upper one.
static void million_by_updates(const char *name, uint64_t pages, uint64_t stride)
{
    const uint64_t half = MILLION / pages * stride;
    struct ferry_vm_table_pool pool;
    struct ferry_vm_address_space space;
    uint64_t first;
    char text[64];

    if (!ferry_vm_table_pool_init(&pool, 0, 3u << 20))
        ok(FERRY_ERROR_NO_HOST_MEMORY, "tables");
    ferry_vm_address_space_init(&space, &pool);
    ok(ferry_vm_address_reserve(&space, &(struct ferry_vm_where){0, 0, 0, 1, 0}, 2 * half, &first), "reserve");
    const double map = updates(&space, FERRY_VA_MAP, pages, stride, 0);
    const double copy = updates(&space, FERRY_VA_COPY, pages, stride, half);
    const double unmap = updates(&space, FERRY_VA_UNMAP, pages, stride, half);
    if (space.mapped_pages != MILLION)
        ok(FERRY_ERROR_UNSUPPORTED, "so many pages");
    const double all[] = {map, copy, unmap};
    const char *const kinds[] = {"map", "copy", "unmap"};
    for (unsigned i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "update-%s/%s", kinds[i], name);
        row(text, all[i] * 1e9 / (double)MILLION, "ns a page");
    }
    ferry_vm_address_space_end(&space);
    ferry_vm_table_pool_destroy(&pool);
}

// ---- With the pager ----

#define FEW  1000u
#define MANY 20000u
#define RUNS 3u

// Seconds in which so many pages of one allocation are mapped, and end with it; the quickest of some runs.
static void of_one(uint32_t count, double *mapped, double *ended)
{
    struct ferry_adapter_options options = {.size = sizeof options, .backend = "model", .model = 2};
    struct ferry_allocation_options wanted = {.size = sizeof wanted, .bytes = 4096};
    struct ferry_adapter *adapter;
    struct ferry_device *device;
    struct ferry_allocation *allocation;
    struct ferry_residency residency = {.size = sizeof residency, .allocations = &allocation, .count = 1};

    *mapped = *ended = 1e9;
    for (unsigned run = 0; run < RUNS; run++) {
        ok(ferry_adapter_open(&options, &adapter), "open");
        ok(ferry_device_create(adapter, &device), "device");
        ok(ferry_allocation_create(device, &wanted, &allocation), "create");
        ok(ferry_make_resident(device, &residency), "make resident");
        ok(ferry_device_wait_paging(device, residency.paging_fence_value), "wait for paging");
        double begin = now();
        for (uint32_t i = 0; i < count; i++) {
            struct ferry_va range = {.size = sizeof range, .address = 0x40000000 + i * UINT64_C(4096), .bytes = 4096};

            ok(ferry_va_map(device, allocation, 0, false, &range), "map");
        }
        double between = now();
        ok(ferry_allocation_destroy(allocation), "destroy");
        double end = now();
        *mapped = between - begin < *mapped ? between - begin : *mapped;
        *ended = end - between < *ended ? end - between : *ended;
        ferry_adapter_close(adapter);
    }
}

static void one_allocation(void)
{
    double few[2], many[2];

    of_one(FEW, &few[0], &few[1]);
    of_one(MANY, &many[0], &many[1]);
    row("map/of-one", many[0] * 1e6 / MANY, "us a page of 20,000");
    row("map/of-one/ratio", many[0] / MANY / (few[0] / FEW), "times a page of 1,000");
    row("unmap/of-one", many[1] * 1e6 / MANY, "us a page of 20,000");
    row("unmap/of-one/ratio", many[1] / MANY / (few[1] / FEW), "times a page of 1,000");
}

// ---- The device's part ----

#define PAGES 256u
#define TURNS 8u

struct machine {
    struct ferry_adapter *adapter;
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_allocation *allocation;
};

// Cycles of so many jobs at the mapping's end; `maps`: each finds it mapped anew.
static uint64_t cycles_of(struct machine *m, bool maps)
{
    struct ferry_statistics before = {.size = sizeof before}, after = {.size = sizeof after};
    // One page beside a multiple of 64 KiB: entries of 4 KiB each.
    struct ferry_va range = {.size = sizeof range, .address = 0x40001000, .bytes = PAGES * UINT64_C(4096)};
    uint64_t fence;

    ok(ferry_adapter_statistics(m->adapter, &before), "statistics");
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        if (maps)
            ok(ferry_va_map(m->device, m->allocation, 0, false, &range), "map");
        ok(ferry_queue_fill_va(m->queue, range.address + range.bytes - 8, 8, turn, 1), "fill");
        ok(ferry_queue_submit(m->queue, &fence), "submit");
        ok(ferry_queue_wait(m->queue, fence), "wait");
        struct ferry_va_steps walk = {.size = sizeof walk};
        ok(ferry_va_walk(m->device, range.address, &walk), "walk");
        if (walk.count != 4 || !walk.steps[3].is_page || walk.steps[3].group)
            ok(FERRY_ERROR_UNSUPPORTED, "pages of 4 KiB");
        if (maps)
            ok(ferry_va_free(m->device, range.address, range.bytes), "free");
    }
    ok(ferry_adapter_statistics(m->adapter, &after), "statistics");
    return after.cycles - before.cycles;
}

// Reserved; one page beside a multiple of 64 KiB, and 2 MiB on, of what is copied.
#define RESERVED UINT64_C(0x50000000)
#define TARGET   (RESERVED + 0x1000)
#define SOURCE   (RESERVED + 0x201000)

// Cycles of a job that writes there; behind an update, unless that is NULL.
static uint64_t cycles_behind(struct machine *m, const struct ferry_va_operation *operation, uint64_t address)
{
    struct ferry_statistics before = {.size = sizeof before}, after = {.size = sizeof after};
    struct ferry_va_batch batch = {
        .size = sizeof batch, .operation_size = sizeof *operation, .operations = operation, .count = 1};
    uint64_t fence;

    ok(ferry_adapter_statistics(m->adapter, &before), "statistics");
    if (operation)
        ok(ferry_va_update(m->queue, &batch), "update");
    ok(ferry_queue_fill_va(m->queue, address, 8, 1, 1), "fill");
    ok(ferry_queue_submit(m->queue, &fence), "submit");
    ok(ferry_queue_wait(m->queue, fence), "wait");
    ok(ferry_adapter_statistics(m->adapter, &after), "statistics");
    return after.cycles - before.cycles;
}

static void updates_on_the_device(struct machine *m)
{
    const uint64_t bytes = PAGES * UINT64_C(4096), end = bytes - 8;
    struct ferry_va range = {.size = sizeof range, .address = RESERVED, .bytes = 4u << 20};
    struct ferry_va_operation map = {
        .kind = FERRY_VA_MAP, .address = SOURCE, .bytes = bytes, .allocation = m->allocation};
    const struct ferry_va_operation unmap = {.kind = FERRY_VA_UNMAP, .address = TARGET, .bytes = bytes};
    const struct ferry_va_operation copy = {.kind = FERRY_VA_COPY, .address = TARGET, .bytes = bytes, .source = SOURCE};
    uint64_t alone = 0, mapped = 0, copied = 0, unmapped = 0;

    ok(ferry_va_reserve(m->device, &range), "reserve");
    cycles_behind(m, &map, SOURCE + end);
    map.address = TARGET;
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        alone += cycles_behind(m, NULL, SOURCE + end);
        mapped += cycles_behind(m, &map, TARGET + end);
        unmapped += cycles_behind(m, &unmap, SOURCE + end);
        copied += cycles_behind(m, &copy, TARGET + end);
        cycles_behind(m, &unmap, SOURCE + end);
    }
    const uint64_t all[] = {mapped, copied, unmapped};
    const char *const names[] = {"update-map/device", "update-copy/device", "update-unmap/device"};
    for (unsigned i = 0; i < 3; i++)
        row(names[i], ((double)all[i] - (double)alone) / (TURNS * PAGES), "cycles a page of 256 in one call");
}

static void on_the_device(void)
{
    struct ferry_adapter_options options = {.size = sizeof options, .backend = "sim", .model = 2};
    struct ferry_allocation_options wanted = {.size = sizeof wanted, .bytes = PAGES * UINT64_C(4096)};
    struct machine m;
    struct ferry_residency residency = {.size = sizeof residency, .allocations = &m.allocation, .count = 1};
    // For the jobs alone.
    struct ferry_va range = {.size = sizeof range, .address = 0x40001000, .bytes = PAGES * UINT64_C(4096)};

    ok(ferry_adapter_open(&options, &m.adapter), "open");
    ok(ferry_device_create(m.adapter, &m.device), "device");
    ok(ferry_queue_create(m.device, &m.queue), "queue");
    ok(ferry_allocation_create(m.device, &wanted, &m.allocation), "create");
    ok(ferry_make_resident(m.device, &residency), "make resident");
    ok(ferry_device_wait_paging(m.device, residency.paging_fence_value), "wait for paging");
    uint64_t mapped = cycles_of(&m, true);
    ok(ferry_va_map(m.device, m.allocation, 0, false, &range), "map");
    uint64_t alone = cycles_of(&m, false);
    row("map+unmap/device", ((double)mapped - (double)alone) / (TURNS * PAGES), "cycles a page of 256 in one call");
    updates_on_the_device(&m);
    ferry_adapter_close(m.adapter);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    out = fopen(argv[1], "w");
    if (!out)
        return 1;
    million("1MiB", 256, 256);
    million("sparse", 1, 512);
    million_by_updates("1MiB", 256, 256);
    million_by_updates("sparse", 1, 512);
    one_allocation();
    on_the_device();
    fprintf(out, "\n]\n");
    return fclose(out) ? 1 : 0;
}
