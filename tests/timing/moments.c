// SPDX-License-Identifier: Apache-2.0
// Five moments of ferry_device as its waves show them, for the timing diagrams of the manual. Runs the machine with a
// wave file, reads the file again and prints, for each moment,
//   moment NAME
//   SIGNAL CYCLE VALUE     each change of a signal, and its value at the start, in cycles from the moment's begin;
//   VALUE is
//                          0 or 1, for a vector whether any of its bits is set
//   end CYCLE
// usage: moments WAVES.fst
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "ferry_contract.h"
#include "gtkwave/fstapi.h"

#define RING_PAGING 0u
#define RING_USER   1u

#define CHECK(call) check((call), #call)
static void check(int error, const char *call)
{
    if (error != FERRY_OK) {
        fprintf(stderr, "moments: %s: %s\n", call, ferry_error_text(error));
        exit(1);
    }
}

// ---- The machine ------------------------------------------------------------------------------------------------

struct moment {
    const char *name;
    uint64_t begin, end;
};

static struct moment moment[8];
static unsigned moments;
static struct ferry_gpu *gpu;
static struct ferry_gpu_memory buffer[3], host;
static uint32_t words[3];

static void put64(uint32_t *at, uint64_t value)
{
    at[0] = (uint32_t)value;
    at[1] = (uint32_t)(value >> 32);
}

static uint32_t *packet(unsigned n, uint32_t opcode, uint32_t places, uint32_t length)
{
    uint32_t *at = (uint32_t *)buffer[n].address + words[n];
    memset(at, 0, 4 * length);
    at[0] = opcode | length << 16;
    at[1] = places;
    words[n] += length;
    return at;
}

static void copy(unsigned n, uint32_t kind, uint64_t source, uint64_t destination, uint32_t bytes)
{
    uint32_t *at = packet(n, FERRY_OPCODE_COPY, kind | FERRY_ADDRESS_KIND_LOCAL << 2, 8);
    at[2] = bytes;
    put64(at + 4, source);
    put64(at + 6, destination);
}

static void page_in(unsigned n, uint32_t pages)
{
    uint32_t *at =
        packet(n, FERRY_OPCODE_COPY_PAGES, FERRY_ADDRESS_KIND_SYSTEM | FERRY_LIST_SIDE_SOURCE << 4, 6 + 2 * pages);
    at[2] = pages * 4096;
    put64(at + 4, 0x10000);
    for (uint32_t page = 0; page < pages; page++) {
        put64(at + 6 + 2 * page, host.bus + 4096 * (pages - 1 - page));
    }
}

static uint32_t submit(uint32_t ring, unsigned n)
{
    const struct ferry_gpu_entry entry = {buffer[n].bus, 4 * words[n], true, 0, false, 1};
    uint32_t number;
    CHECK(ferry_gpu_ring_submit(gpu, ring, &entry, &number));
    words[n] = 0;
    return number;
}

static void begin(const char *name)
{
    CHECK(ferry_gpu_run(gpu, 4000));
    moment[moments] = (struct moment){name, ferry_gpu_cycles(gpu), 0};
}

static void end(void)
{
    moment[moments++].end = ferry_gpu_cycles(gpu);
}

static void run(uint32_t ring, unsigned n)
{
    CHECK(ferry_gpu_wait_retired(gpu, ring, submit(ring, n), 0));
}

static void play(const char *waves)
{
    const struct ferry_link_config config = {.size = sizeof(config),
                                             .seed = 1,
                                             .read_latency_cycles = 10,
                                             .link_latency_cycles = 20,
                                             .in_order_completions = true,
                                             .wave_file = waves};
    struct ferry_link *link;
    CHECK(ferry_link_open("sim", &config, &link));
    CHECK(ferry_gpu_open(link, NULL, &gpu));
    CHECK(ferry_gpu_ring_create(gpu, RING_PAGING, 4, 7));
    CHECK(ferry_gpu_ring_create(gpu, RING_USER, 4, FERRY_GPU_RIGHT_SYSTEM));
    for (unsigned n = 0; n < 3; n++) {
        CHECK(ferry_gpu_memory_allocate(gpu, 4096, 0, &buffer[n]));
    }
    CHECK(ferry_gpu_memory_allocate(gpu, 16384, 0, &host));

    begin("doorbell");
    copy(0, FERRY_ADDRESS_KIND_SYSTEM, host.bus, 0x4000, 64);
    run(RING_PAGING, 0);
    end();

    begin("page-in");
    page_in(0, 2);
    run(RING_PAGING, 0);
    end();

    begin("fault");
    copy(0, FERRY_ADDRESS_KIND_SYSTEM, 0x7700001000, 0x4000, 1024);
    run(RING_PAGING, 0);
    end();

    begin("preemption");
    copy(1, FERRY_ADDRESS_KIND_LOCAL, 0x100000, 0x200000, 16384);
    const uint32_t first = submit(RING_USER, 1);
    CHECK(ferry_gpu_run(gpu, 900));
    page_in(0, 1);
    run(RING_PAGING, 0);
    CHECK(ferry_gpu_wait_retired(gpu, RING_USER, first, 0));
    end();

    begin("reset");
    copy(1, FERRY_ADDRESS_KIND_LOCAL, 0x100000, 0x200000, 65536);
    const uint32_t dropped = submit(RING_USER, 1);
    CHECK(ferry_gpu_run(gpu, 1200));
    CHECK(ferry_gpu_reset_engine(gpu));
    CHECK(ferry_gpu_wait_retired(gpu, RING_USER, dropped, 0));
    end();
    ferry_gpu_close(gpu);
}

// ---- Its waves --------------------------------------------------------------------------------------------------

// Signals of ferry_device, by name.
static const char *const wanted[] = {"reg_write",
                                     "ring_write",
                                     "fetch_busy",
                                     "fetch_arvalid",
                                     "fetch_rvalid",
                                     "command_write_valid",
                                     "slots_ready",
                                     "core_busy",
                                     "job_valid",
                                     "engine_busy",
                                     "engine_list_valid",
                                     "engine_host_arvalid",
                                     "engine_host_rvalid",
                                     "engine_busy_read",
                                     "engine_local_arvalid",
                                     "engine_local_rvalid",
                                     "engine_local_wvalid",
                                     "engine_local_bvalid",
                                     "engine_busy_write",
                                     "fault_valid",
                                     "fault_clear",
                                     "poison",
                                     "post_awvalid",
                                     "reset_request",
                                     "resetting",
                                     "interrupt_status",
                                     "requests_pending",
                                     "entry_retired"};
#define WANTED (sizeof wanted / sizeof wanted[0])

struct reader {
    fstHandle handle[WANTED];
    int value[WANTED];
    const struct moment *moment;
    int started;
};

static void show(const struct reader *reader, unsigned n, uint64_t cycle)
{
    printf("%s %" PRIu64 " %d\n", wanted[n], cycle - reader->moment->begin, reader->value[n]);
}

static void change(void *context, uint64_t time, fstHandle handle, const unsigned char *value)
{
    struct reader *reader = context;
    const uint64_t cycle = time / 2; // Two samples a cycle; the first one is that of the clock's fall.
    if (cycle > reader->moment->end) {
        return;
    }
    // The file is read in blocks, which begin before the moment.
    if (cycle >= reader->moment->begin && !reader->started) {
        reader->started = 1;
        for (unsigned n = 0; n < WANTED; n++) {
            show(reader, n, reader->moment->begin);
        }
    }
    for (unsigned n = 0; n < WANTED; n++) {
        const int now = strchr((const char *)value, '1') != NULL;
        if (reader->handle[n] == handle && reader->value[n] != now) {
            reader->value[n] = now;
            if (reader->started) {
                show(reader, n, cycle);
            }
        }
    }
}

/// A scope whose signals are drawn: ferry_device's ports and what is its own, and that of the command processor in it.
static bool is_drawn(const char *scope, const char *around)
{
    return strcmp(scope, "device") == 0 || (strcmp(scope, "units") == 0 && strcmp(around, "device") == 0) ||
           (strcmp(scope, "commands") == 0 && strcmp(around, "units") == 0);
}

/// Find the wanted signals.
static void find(void *file, struct reader *reader)
{
    struct fstHier *item;
    char scope[32][64];
    unsigned depth = 0;
    fstReaderClrFacProcessMaskAll(file);
    while ((item = fstReaderIterateHier(file)) != NULL) {
        if (item->htyp == FST_HT_SCOPE) {
            snprintf(scope[depth++ % 32], 64, "%s", item->u.scope.name);
        } else if (item->htyp == FST_HT_UPSCOPE) {
            depth--;
        } else if (item->htyp == FST_HT_VAR && depth >= 2 && is_drawn(scope[depth - 1], scope[depth - 2])) {
            for (unsigned n = 0; n < WANTED; n++) {
                const size_t length = strlen(wanted[n]);
                if (reader->handle[n] == 0 && strncmp(item->u.var.name, wanted[n], length) == 0 &&
                    strchr(" [", item->u.var.name[length]) != NULL) {
                    reader->handle[n] = item->u.var.handle;
                    fstReaderSetFacProcessMask(file, item->u.var.handle);
                }
            }
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: moments WAVES.fst\n");
        return 2;
    }
    play(argv[1]);
    void *file = fstReaderOpen(argv[1]);
    struct reader reader = {.value = {0}};
    if (file == NULL) {
        fprintf(stderr, "moments: %s is no wave file\n", argv[1]);
        return 1;
    }
    find(file, &reader);
    for (unsigned n = 0; n < WANTED; n++) {
        if (reader.handle[n] == 0) {
            fprintf(stderr, "moments: ferry_device has no signal %s\n", wanted[n]);
            return 1;
        }
    }
    for (unsigned m = 0; m < moments; m++) {
        printf("moment %s\n", moment[m].name);
        memset(reader.value, 0, sizeof reader.value);
        reader.moment = &moment[m];
        reader.started = 0;
        fstReaderSetLimitTimeRange(file, 2 * moment[m].begin, 2 * moment[m].end);
        fstReaderIterBlocks(file, change, &reader, NULL);
        printf("end %" PRIu64 "\n", moment[m].end - moment[m].begin);
    }
    fstReaderClose(file);
    return 0;
}
