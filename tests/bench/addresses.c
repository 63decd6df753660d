// SPDX-License-Identifier: Apache-2.0
// What GPU virtual addresses cost: the manager's part of mapping and unmapping a million pages, as lists of 1 MiB and
// each alone in 2 MiB of addresses, with the bytes of page tables that this takes; and the device's part, on the RTL.
// Writes rows for collect.py to the file that is named. Times of the manager depend on the machine.
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ferry/ferry.h"
#include "vidmm/space/address_space.h"

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
        struct ferry_vm_where where = {i * stride, 0, 0, 1};

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
        ferry_vm_address_unmap(&space, ferry_vm_address_find(&space, i * stride));
        while ((table = ferry_vm_address_shrink(&space, i * stride, pages)))
            ferry_vm_table_free(&space, table);
    }
    snprintf(text, sizeof text, "unmap/%s", name);
    row(text, (now() - mapped) * 1e9 / (double)MILLION, "ns a page");
    ferry_vm_address_space_end(&space);
    ferry_vm_table_pool_destroy(&pool);
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
    on_the_device();
    fprintf(out, "\n]\n");
    return fclose(out) ? 1 : 0;
}
