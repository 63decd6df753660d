// SPDX-License-Identifier: Apache-2.0
// A first look at a machine: does every part of the path do its work? Video memory is made small, so that the checks
// page.
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ferry/ferry.h"
#include "ferry_contract.h"
#include "tools/commands.h"
#include "tools/content.h"
#include "tools/tool.h"
#include "tools/why.h"

#define PAGE  4096u
#define COUNT 8u

struct state {
    uint64_t bytes; // Of each allocation; the end is inside a page. Eight of them are more than
    uint64_t video; // bytes of video memory.
    struct ferry_adapter *adapter;
    struct ferry_device *device;
    struct ferry_queue *queue;
    struct ferry_allocation *allocations[COUNT];
    struct ferry_statistics before;
    unsigned passed, failed;
};

static bool check(struct state *state, bool good, const char *format, ...) __attribute__((format(printf, 3, 4)));
static bool check(struct state *state, bool good, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("%s  ", good ? "ok  " : "FAIL");
    vprintf(format, arguments);
    printf("\n");
    fflush(stdout);
    va_end(arguments);
    *(good ? &state->passed : &state->failed) += 1;
    return good;
}

// What the device has recorded, which says more than that the next call failed.
static void print_faults(struct state *state)
{
    struct ferry_fault fault = {.size = sizeof fault};
    bool found = state->adapter != NULL;
    while (found && ferry_adapter_next_fault(state->adapter, &fault, &found) >= 0 && found)
        printf("      ring %u, buffer with fence %" PRIu64 ", packet 0x%08x at byte %u: %s, %s of 0x%" PRIx64 "\n",
               fault.ring, fault.fence_value, fault.packet_header, fault.packet_offset,
               ferry_fault_kind_name(fault.kind), fault.is_write ? "write" : "read", fault.address);
    fflush(stdout);
}

static bool call(struct state *state, int error, const char *what)
{
    if (error < 0) {
        check(state, false, "%s: %s: %s", what, ferry_error_name(error), ferry_why(error));
        print_faults(state);
    }
    return error >= 0;
}

static bool compare(struct state *state, unsigned number, uint64_t offset, uint64_t bytes, enum ferry_content_kind kind,
                    uint64_t key, uint64_t key_offset, struct ferry_mismatch *mismatch)
{
    void *address;
    if (!call(state, ferry_lock(state->allocations[number], FERRY_LOCK_READ_ONLY, &address), "lock"))
        return false;
    ferry_content_compare(kind, key, key_offset, (const uint8_t *)address + offset, (size_t)bytes, mismatch);
    return call(state, ferry_unlock(state->allocations[number]), "unlock");
}

// One job that names two allocations at most.
static bool run_job(struct state *state, unsigned first, unsigned second, bool copy)
{
    struct ferry_allocation *named[2] = {state->allocations[first], state->allocations[second]};
    struct ferry_residency residency = {
        .size = sizeof residency, .allocations = named, .count = first == second ? 1 : 2};
    uint64_t fence;
    if (!call(state, ferry_make_resident_trim(state->device, &residency), "make resident"))
        return false;
    bool good = copy
                    ? call(state, ferry_queue_copy(state->queue, named[0], 13, named[1], 3, state->bytes - 29), "copy")
                    : call(state, ferry_queue_fill(state->queue, named[0], 5, state->bytes - 11, 0x0123456789abcdef, 8),
                           "fill");
    good = good && call(state, ferry_queue_submit(state->queue, &fence), "submit") &&
           call(state, ferry_queue_wait(state->queue, fence), "wait");
    return call(state, ferry_evict(state->device, &residency), "evict") && good;
}

static void check_open(struct state *state, const struct ferry_selftest_options *wanted)
{
    struct ferry_adapter_options options = {.size = sizeof options,
                                            .backend = wanted->backend,
                                            .video_memory_bytes = state->video,
                                            .model = (uint32_t)wanted->model,
                                            .paging = (uint32_t)wanted->paging,
                                            .tables = (uint32_t)wanted->tables,
                                            .iommu = wanted->iommu};
    struct ferry_adapter_info info = {.size = sizeof info};
    const char *way = ferry_way_by_address(wanted->paging, wanted->tables, wanted->iommu);
    int error = ferry_adapter_open(&options, &state->adapter);
    if (error < 0)
        state->adapter = NULL;
    if (way && error == (wanted->model == 1 ? FERRY_ERROR_ARGUMENT : FERRY_ERROR_UNSUPPORTED))
        ferry_complain("--%s is of GPU virtual addresses, which %s", way,
                       wanted->model == 1 ? "there are in driver model 2 alone" : "this device has no page tables for");
    if (!call(state, error, "open the adapter") || !call(state, ferry_adapter_query(state->adapter, &info), "query") ||
        !call(state, ferry_device_create(state->adapter, &state->device), "create a device") ||
        !call(state, ferry_queue_create(state->device, &state->queue), "create a queue"))
        return;
    ferry_warn_of_board(&info, wanted->board);
    state->before.size = sizeof state->before;
    ferry_adapter_statistics(state->adapter, &state->before);
    check(state, info.video_memory_bytes == state->video && info.contract_version != 0,
          "back end %s answers: contract %u.%u, firmware 0x%x runs, driver model %u", info.backend,
          info.contract_version >> 16, info.contract_version & 0xffff, info.firmware_version, info.model);
}

static void check_initial_content(struct state *state)
{
    struct ferry_mismatch mismatch = {0};
    bool good = true;
    for (unsigned i = 0; i < COUNT && good; i++) {
        struct ferry_allocation_options options = {.size = sizeof options,
                                                   .bytes = state->bytes,
                                                   .flags = FERRY_FLAG_CPU_VISIBLE,
                                                   .fill_pattern = 0xa5000000 + i};
        good = call(state, ferry_allocation_create(state->device, &options, &state->allocations[i]), "create") &&
               compare(state, i, 0, state->bytes, FERRY_CONTENT_PATTERN, options.fill_pattern * 0x100000001u, 0,
                       &mismatch);
    }
    check(state, good && mismatch.bad == 0, "%u new allocations hold their fill pattern", COUNT);
}

static void check_content_survives(struct state *state)
{
    struct ferry_mismatch mismatch = {0};
    bool good = true;
    for (unsigned i = 0; i < COUNT && good; i++) {
        void *address;
        good = call(state, ferry_lock(state->allocations[i], 0, &address), "lock");
        if (good) {
            ferry_content_generate(FERRY_CONTENT_WRITTEN, i + 1, 0, address, state->bytes);
            good = call(state, ferry_unlock(state->allocations[i]), "unlock");
        }
    }
    struct ferry_statistics after = {.size = sizeof after};
    for (unsigned round = 0; round < 2 && good; round++) {
        for (unsigned i = 0; i < COUNT && good; i++) {
            struct ferry_residency residency = {
                .size = sizeof residency, .allocations = &state->allocations[i], .count = 1};
            good =
                call(state, ferry_make_resident_trim(state->device, &residency), "make resident") &&
                call(state, ferry_device_wait_paging(state->device, residency.paging_fence_value), "wait for paging") &&
                call(state, ferry_evict(state->device, &residency), "evict");
        }
    }
    for (unsigned i = 0; i < COUNT && good; i++)
        good = compare(state, i, 0, state->bytes, FERRY_CONTENT_WRITTEN, i + 1, 0, &mismatch);
    good = good && call(state, ferry_adapter_statistics(state->adapter, &after), "statistics");
    check(state, good && mismatch.bad == 0 && after.evictions > state->before.evictions,
          "%" PRIu64 " KiB paged through %" PRIu64 " KiB of video memory keep every byte (%" PRIu64
          " evictions, %" PRIu64 " bytes in)",
          COUNT * state->bytes / 1024, state->video / 1024, after.evictions - state->before.evictions,
          after.bytes_in - state->before.bytes_in);
}

static void check_copy_and_fill(struct state *state)
{
    struct ferry_mismatch mismatch = {0};
    bool good = run_job(state, 0, 1, true) &&
                compare(state, 0, 13, state->bytes - 29, FERRY_CONTENT_WRITTEN, 2, 3, &mismatch) &&
                compare(state, 0, 0, 13, FERRY_CONTENT_WRITTEN, 1, 0, &mismatch) &&
                compare(state, 0, state->bytes - 16, 16, FERRY_CONTENT_WRITTEN, 1, state->bytes - 16, &mismatch);
    check(state, good && mismatch.bad == 0,
          "an unaligned GPU copy of %" PRIu64 " bytes is right, and so are its neighbours", state->bytes - 29);
    memset(&mismatch, 0, sizeof mismatch);
    good = run_job(state, 2, 2, false) &&
           compare(state, 2, 5, state->bytes - 11, FERRY_CONTENT_PATTERN, 0x0123456789abcdef, 0, &mismatch) &&
           compare(state, 2, 0, 5, FERRY_CONTENT_WRITTEN, 3, 0, &mismatch) &&
           compare(state, 2, state->bytes - 6, 6, FERRY_CONTENT_WRITTEN, 3, state->bytes - 6, &mismatch);
    check(state, good && mismatch.bad == 0,
          "an unaligned GPU fill with an 8-byte pattern is right, and so are its neighbours");
}

static void check_refusals(struct state *state)
{
    struct ferry_allocation_options nothing = {.size = sizeof nothing, .bytes = 0, .flags = FERRY_FLAG_CPU_VISIBLE};
    struct ferry_residency residency = {
        .size = sizeof residency, .allocations = state->allocations, .count = COUNT, .cant_trim_further = true};
    struct ferry_allocation *none = NULL;
    int size = ferry_allocation_create(state->device, &nothing, &none);
    int range = ferry_queue_fill(state->queue, state->allocations[0], state->bytes + PAGE, PAGE, 0, 1);
    int room = ferry_make_resident(state->device, &residency);
    check(state, size == FERRY_ERROR_ARGUMENT && range == FERRY_ERROR_RANGE && room == FERRY_ERROR_NO_VIDEO_MEMORY,
          "what cannot be is refused by name: size 0 %s, a range too far %s, too much at once %s",
          ferry_error_name(size), ferry_error_name(range), ferry_error_name(room));
}

static void check_reset(struct state *state)
{
    struct ferry_mismatch mismatch = {0};
    bool good = call(state, ferry_adapter_reset_engine(state->adapter), "reset the engine") &&
                run_job(state, 3, 4, true) &&
                compare(state, 3, 13, state->bytes - 29, FERRY_CONTENT_WRITTEN, 5, 3, &mismatch) &&
                compare(state, 7, 0, state->bytes, FERRY_CONTENT_WRITTEN, 8, 0, &mismatch);
    check(state, good && mismatch.bad == 0, "after an engine reset the next job runs and nothing is lost");
}

static void check_clean(struct state *state)
{
    struct ferry_statistics after = {.size = sizeof after};
    if (!call(state, ferry_adapter_statistics(state->adapter, &after), "statistics"))
        return;
    check(state, after.faults == state->before.faults && after.unmapped_accesses == 0 && after.dummy_page_writes == 0,
          "%" PRIu64 " faults, %" PRIu64 " accesses to unmapped memory, %" PRIu64 " writes to the dummy page",
          after.faults - state->before.faults, after.unmapped_accesses, after.dummy_page_writes);
}

int ferry_selftest(const struct ferry_selftest_options *options)
{
    const uint64_t pages = options->pages;
    // Room for five of the eight and an eighth of one.
    struct state state = {.bytes = (pages - 1) * PAGE + 40, .video = (5 * pages + pages / 8) * PAGE};
    static void (*const checks[])(struct state *) = {
        check_initial_content, check_content_survives, check_copy_and_fill, check_refusals, check_reset, check_clean};
    check_open(&state, options);
    for (size_t i = 0; i < sizeof checks / sizeof *checks && state.queue && !state.failed; i++)
        checks[i](&state);
    ferry_adapter_close(state.adapter);
    printf("%u passed, %u failed\n", state.passed, state.failed);
    return state.failed ? FERRY_EXIT_WRONG : FERRY_EXIT_OK;
}
