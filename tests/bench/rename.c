// SPDX-License-Identifier: Apache-2.0
// A program that discards its vertex buffer before each draw and runs two frames ahead of the device: how often a lock
// waited, and how long the renaming list has become. Writes rows for collect.py to the file that is named.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ferry/ferry.h"

#define DRAWS  400u
#define FRAME  10u // draws
#define AHEAD  2u  // frames
#define BYTES  16384u
#define SETTLE (DRAWS / 2) // The list has its length then.

static void ok(int result, const char *what)
{
    if (result >= 0)
        return;
    fprintf(stderr, "bench rename: %s: %s\n", what, ferry_error_name(result));
    exit(1);
}

static struct ferry_allocation *make(struct ferry_device *device)
{
    struct ferry_allocation_options options = {.size = sizeof options, .bytes = BYTES, .flags = FERRY_FLAG_CPU_VISIBLE};
    struct ferry_allocation *allocation;

    ok(ferry_allocation_create(device, &options, &allocation), "create");
    return allocation;
}

int main(int argc, char **argv)
{
    struct ferry_adapter_options options = {.size = sizeof options, .backend = "sim", .video_memory_bytes = 4 << 20};
    struct ferry_statistics statistics = {.size = sizeof statistics};
    struct ferry_placement placement = {.size = sizeof placement};
    struct ferry_adapter *adapter;
    struct ferry_device *device;
    struct ferry_queue *queue;
    uint64_t frames[AHEAD] = {0};
    uint32_t shortest = UINT32_MAX, longest = 0;
    void *address;

    if (argc != 2)
        return 2;
    ok(ferry_adapter_open(&options, &adapter), "open");
    ok(ferry_device_create(adapter, &device), "device");
    ok(ferry_queue_create(device, &queue), "queue");
    struct ferry_allocation *list[2] = {make(device), make(device)};
    struct ferry_residency residency = {.size = sizeof residency, .allocations = list, .count = 2};
    ok(ferry_make_resident(device, &residency), "make resident");
    for (uint32_t draw = 0; draw < DRAWS; draw++) {
        uint64_t fence;

        ok(ferry_lock(list[0], FERRY_LOCK_DISCARD | FERRY_LOCK_WRITE_ONLY, &address), "lock");
        memset(address, (int)draw, BYTES);
        ok(ferry_unlock(list[0]), "unlock");
        ok(ferry_queue_copy(queue, list[1], 0, list[0], 0, BYTES), "copy");
        ok(ferry_queue_submit(queue, &fence), "submit");
        ok(ferry_allocation_placement(list[0], &placement), "placement");
        if (draw >= SETTLE && placement.instances < shortest)
            shortest = placement.instances;
        if (placement.instances > longest)
            longest = placement.instances;
        if (draw % FRAME != FRAME - 1)
            continue;
        uint64_t *oldest = &frames[draw / FRAME % AHEAD];
        if (*oldest)
            ok(ferry_queue_wait(queue, *oldest), "wait");
        *oldest = fence;
    }
    ok(ferry_adapter_statistics(adapter, &statistics), "statistics");
    ferry_adapter_close(adapter);
    FILE *file = fopen(argv[1], "w");
    if (!file)
        return 1;
    fprintf(file,
            "[{\"name\": \"rename/stalls\", \"value\": %" PRIu64 ", \"unit\": \"of %u locks\", \"floor\": 0},\n"
            " {\"name\": \"rename/instances\", \"value\": %" PRIu32 ", \"unit\": \"at most\"},\n"
            " {\"name\": \"rename/settled\", \"value\": %" PRIu32
            ", \"unit\": \"instances fewer, later\", \"floor\": 0}]\n",
            statistics.discard_stalls, DRAWS, longest, longest - shortest);
    return fclose(file) ? 1 : 0;
}
