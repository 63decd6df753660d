// SPDX-License-Identifier: Apache-2.0
// What the system tests share: the back end's name from `--backend NAME` or FERRY_BACKEND, the driver model from
// `--model N` (1 when it is not given) with page tables in system memory for `--tables system`, whether a byte takes
// long (`--slow-link`), the seed from FERRY_SEED, and a few calls that every test makes.
#ifndef FERRY_TESTS_SYSTEM_H
#define FERRY_TESTS_SYSTEM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "../seed.h"
#include "ferry/ferry.h"

static const char *backend = "model";
static uint64_t seed = 1;
static uint32_t driver_model = 1;
static uint32_t table_memory = FERRY_TABLES_VIDEO;  // of driver model 2
static uint32_t paging_way = FERRY_PAGING_PHYSICAL; // of driver model 2
static bool slow_link = false;

static inline void read_options(int argc, char **argv)
{
    if (getenv("FERRY_BACKEND"))
        backend = getenv("FERRY_BACKEND");
    seed = seed_or(seed);
    for (int i = 1; i < argc; i++)
        slow_link = slow_link || !strcmp(argv[i], "--slow-link");
    for (int i = 1; i + 1 < argc; i++) {
        if (!strcmp(argv[i], "--backend"))
            backend = argv[i + 1];
        if (!strcmp(argv[i], "--model"))
            driver_model = (uint32_t)strtoul(argv[i + 1], NULL, 0);
        if (!strcmp(argv[i], "--tables"))
            table_memory = strcmp(argv[i + 1], "system") ? FERRY_TABLES_VIDEO : FERRY_TABLES_SYSTEM;
        if (!strcmp(argv[i], "--paging"))
            paging_way = strcmp(argv[i + 1], "virtual") ? FERRY_PAGING_PHYSICAL : FERRY_PAGING_VIRTUAL;
    }
    printf("miniport: real\nback end %s, driver model %u%s%s, seed %llu\n", backend, driver_model,
           table_memory == FERRY_TABLES_SYSTEM ? ", tables in system memory" : "",
           paging_way == FERRY_PAGING_VIRTUAL ? ", content by addresses" : "", (unsigned long long)seed);
    fflush(stdout);
}

// scripts/run_tests.py knows a random program by this line, and runs it with another seed too.
static inline void say_random(void)
{
    seed_print(seed);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static inline bool on_model(void)
{
    return !strcmp(backend, "model");
}

// What a device at a serial port or on USB is not there for: nobody plants faults in it or sees its clock, and it is
// one.
#define PLANTS_FAULTS "at a serial port and on USB nobody can plant faults in the device"
#define TWO_DEVICES   "takes two devices, and a serial port and USB have one here"
#define A_PORTS_FILE  "counts descriptors, and a port is one"
#define DEVICE_CLOCK  "goes by the device's clock, which nobody can read at a serial port and on USB"
#define MOVES_MUCH    "moves more than a link that is simulated wire by wire carries in reasonable time"

struct left_out {
    const char *name, *reason; // NULL = it runs.
};

// Run these cases; at a serial port and on USB without some, which the registry is told of.
static inline int run_where_possible(const char *group, const struct CMUnitTest *cases, size_t count,
                                     const struct left_out *left_out, size_t left_out_count)
{
    const bool port = !strncmp(backend, "uart:", 5) || !strcmp(backend, "usb") || !strncmp(backend, "usb:", 4);
    struct CMUnitTest some[32];
    size_t some_count = 0, found = 0;

    for (size_t i = 0; i < count && count <= sizeof some / sizeof *some; i++) {
        const char *reason = NULL;
        for (size_t k = 0; k < left_out_count; k++) {
            const bool is_meant = !strcmp(cases[i].name, left_out[k].name);
            reason = is_meant ? left_out[k].reason : reason;
            found += is_meant;
        }
        if (port && reason != NULL)
            printf("left out: %s: %s\n", cases[i].name, reason);
        else
            some[some_count++] = cases[i];
    }
    fflush(stdout);
    if (found != left_out_count || count > sizeof some / sizeof *some) {
        fprintf(stderr, "%s: a case that is to be left out is none, or there are too many\n", group);
        return 1;
    }
    return some_count ? _cmocka_run_group_tests(group, some, some_count, NULL, NULL) : 0;
}
#define RUN_WHERE_POSSIBLE(cases, left_out)                                                                            \
    run_where_possible(#cases, cases, sizeof(cases) / sizeof *(cases), left_out, sizeof(left_out) / sizeof *(left_out))

// How often something random is done: `many` in the long form, with which `make soak-seeds` runs all programs.
static inline unsigned rounds(unsigned few, unsigned many)
{
    return getenv("FERRY_LONG") ? many : few;
}

// So many failed writes spoil a page-in for certain. In driver model 2 it shares its buffer with the entries that lead
// to it, and goes again alone; and a try takes as many as the engine has bursts out before it hears of the first. One
// more than the least number that does it would be left for what goes again behind it: so tests look for the least.
#define PAGE_IN_ERRORS (16 + 1)

#define ok(call)                                                                                                       \
    do {                                                                                                               \
        int ok_result = (call);                                                                                        \
        if (ok_result != FERRY_OK)                                                                                     \
            print_error("%s: %s\n", #call, ferry_error_name(ok_result));                                               \
        assert_int_equal(ok_result, FERRY_OK);                                                                         \
    } while (0)

static inline struct ferry_adapter *open_adapter(uint64_t video_memory_bytes)
{
    struct ferry_adapter_options options = {
        .size = sizeof options,
        .backend = backend,
        .video_memory_bytes = video_memory_bytes,
        .seed = seed,
        .model = driver_model,
        .tables = driver_model == 2 ? table_memory : FERRY_TABLES_VIDEO,
        .paging = driver_model == 2 ? paging_way : FERRY_PAGING_PHYSICAL,
    };
    struct ferry_adapter *adapter = NULL;

    ok(ferry_adapter_open(&options, &adapter));
    return adapter;
}

static inline bool has_page_tables(void)
{
    struct ferry_adapter_options options = {.size = sizeof options, .backend = backend, .model = 2};
    struct ferry_adapter *adapter = NULL;
    int error = ferry_adapter_open(&options, &adapter);

    ferry_adapter_close(adapter);
    assert_true(error == FERRY_OK || error == FERRY_ERROR_UNSUPPORTED);
    return error == FERRY_OK;
}

static inline struct ferry_allocation *make(struct ferry_device *device, uint64_t bytes, uint32_t flags)
{
    struct ferry_allocation_options options = {.size = sizeof options, .bytes = bytes, .flags = flags};
    struct ferry_allocation *allocation = NULL;

    ok(ferry_allocation_create(device, &options, &allocation));
    return allocation;
}

static inline struct ferry_allocation *make_in_aperture(struct ferry_device *device, uint64_t pages)
{
    struct ferry_allocation_options options = {.size = sizeof options,
                                               .bytes = pages * FERRY_PAGE_BYTES,
                                               .flags = FERRY_FLAG_CPU_VISIBLE,
                                               .in_aperture = true};
    struct ferry_allocation *made = NULL;

    ok(ferry_allocation_create(device, &options, &made));
    return made;
}

static inline int make_resident(struct ferry_device *device, struct ferry_allocation **list, size_t count)
{
    struct ferry_residency residency = {.size = sizeof residency, .allocations = list, .count = count};

    return ferry_make_resident(device, &residency);
}

static inline void must_be_resident(struct ferry_device *device, struct ferry_allocation **list, size_t count)
{
    int result = make_resident(device, list, count);

    if (result != FERRY_OK && result != FERRY_PENDING)
        print_error("make resident: %s\n", ferry_error_name(result));
    assert_true(result == FERRY_OK || result == FERRY_PENDING);
}

static inline void evict(struct ferry_device *device, struct ferry_allocation **list, size_t count)
{
    struct ferry_residency residency = {.size = sizeof residency, .allocations = list, .count = count};

    ok(ferry_evict(device, &residency));
}

static inline uint8_t content(uint32_t which, uint64_t at)
{
    return (uint8_t)(which * 89 + at * 7 + at / 253);
}

static inline void write_content(struct ferry_allocation *allocation, uint64_t bytes, uint32_t which)
{
    void *address;

    ok(ferry_lock(allocation, FERRY_LOCK_WRITE_ONLY, &address));
    for (uint64_t i = 0; i < bytes; i++)
        ((uint8_t *)address)[i] = content(which, i);
    ok(ferry_unlock(allocation));
}

static inline void expect_content(struct ferry_allocation *allocation, uint64_t bytes, uint32_t which)
{
    void *address;
    uint64_t i = 0;

    ok(ferry_lock(allocation, FERRY_LOCK_READ_ONLY, &address));
    while (i < bytes && ((uint8_t *)address)[i] == content(which, i))
        i++;
    if (i < bytes)
        print_error("offset %llu: expected %02x, found %02x\n", (unsigned long long)i, content(which, i),
                    ((uint8_t *)address)[i]);
    assert_true(i == bytes);
    ok(ferry_unlock(allocation));
}

static inline void run_job(struct ferry_queue *queue)
{
    uint64_t fence;

    ok(ferry_queue_submit(queue, &fence));
    ok(ferry_queue_wait(queue, fence));
}

#define VISIBLE FERRY_FLAG_CPU_VISIBLE

struct bench {
    struct ferry_adapter *adapter;
    struct ferry_device *device;
    struct ferry_queue *queue;
};

static inline int setup(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);

    bench->adapter = open_adapter(1 << 20);
    ok(ferry_device_create(bench->adapter, &bench->device));
    ok(ferry_queue_create(bench->device, &bench->queue));
    *state = bench;
    return 0;
}

static inline int teardown(void **state)
{
    struct bench *bench = *state;

    ferry_adapter_close(bench->adapter);
    free(bench);
    return 0;
}

#endif
