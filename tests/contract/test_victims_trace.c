// SPDX-License-Identifier: Apache-2.0
// What the choice of victims costs on the memory trace of a real game, with less video memory than a frame needs. The
// yardstick knows the future: it evicts what is used again last. It is computed here, apart from the manager.
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#define TRACE    "tests/data/neverball.memtrace.gz"
#define FRAMES   200
#define MOST_IDS 4096

// Uses in order: one job after the other, each naming allocations.
struct trace {
    uint64_t pages[MOST_IDS];
    struct {
        unsigned count, first;
    } * jobs;
    unsigned *names;
    size_t job_count, name_count;
};

static void read_trace(struct trace *trace)
{
    gzFile file = gzopen(TRACE, "rb");
    if (!file)
        fail_msg("cannot open %s (tests run from the repository root)", TRACE);
    trace->jobs = malloc(sizeof(*trace->jobs) * 1000000);
    trace->names = malloc(sizeof(*trace->names) * 10000000);
    static char line[65536];
    unsigned frames = 0;
    while (frames < FRAMES && gzgets(file, line, sizeof(line))) {
        char *at = line + 1;
        if (line[0] == 'a') {
            unsigned long id = strtoul(at, &at, 10), bytes = strtoul(at, &at, 10);
            assert_true(id < MOST_IDS);
            trace->pages[id] = (bytes + PAGE_SIZE - 1) / PAGE_SIZE;
        } else if (line[0] == 'd' || line[0] == 't') {
            trace->jobs[trace->job_count].first = (unsigned)trace->name_count;
            for (;;) {
                char *end;
                unsigned long id = strtoul(at, &end, 10);
                if (end == at)
                    break;
                at = end;
                trace->names[trace->name_count++] = (unsigned)id;
            }
            unsigned count = (unsigned)trace->name_count - trace->jobs[trace->job_count].first;
            trace->jobs[trace->job_count].count = count;
            trace->job_count += count != 0;
        }
        frames += line[0] == 'f';
    }
    gzclose(file);
}

// Pages brought in by the rule that knows the future, allocations of any size, no fragmentation.
static uint64_t furthest_next_use(const struct trace *trace, uint64_t room)
{
    size_t *next = malloc(trace->name_count * sizeof(*next)), seen[MOST_IDS];
    for (unsigned i = 0; i < MOST_IDS; i++)
        seen[i] = SIZE_MAX;
    for (size_t j = trace->job_count; j-- > 0;)
        for (unsigned n = trace->jobs[j].count; n-- > 0;) {
            size_t at = trace->jobs[j].first + n;
            next[at] = seen[trace->names[at]];
            seen[trace->names[at]] = j;
        }
    bool in[MOST_IDS] = {false};
    size_t until[MOST_IDS];
    uint64_t used = 0, brought = 0;
    for (size_t j = 0; j < trace->job_count; j++) {
        for (unsigned n = 0; n < trace->jobs[j].count; n++)
            until[trace->names[trace->jobs[j].first + n]] = j; // needed now: not to be evicted
        for (unsigned n = 0; n < trace->jobs[j].count; n++) {
            unsigned id = trace->names[trace->jobs[j].first + n];
            if (in[id])
                continue;
            while (used + trace->pages[id] > room) {
                unsigned victim = 0;
                for (unsigned i = 1; i < MOST_IDS; i++)
                    if (in[i] && until[i] != j && (!in[victim] || until[victim] == j || until[i] > until[victim]))
                        victim = i;
                in[victim] = false;
                used -= trace->pages[victim];
            }
            in[id] = true;
            used += trace->pages[id];
            brought += trace->pages[id];
        }
        for (unsigned n = 0; n < trace->jobs[j].count; n++)
            until[trace->names[trace->jobs[j].first + n]] = next[trace->jobs[j].first + n];
    }
    free(next);
    return brought;
}

static uint64_t managed(const struct trace *trace, uint64_t room, bool lru)
{
    struct world_options options = world_defaults();
    options.machine.local_bytes = PAGES(room);
    options.manager.lru_victims = lru;
    struct world *world = world_open(&options);
    spy.keep = false;
    static D3DKMT_HANDLE handles[MOST_IDS];
    for (unsigned i = 0; i < MOST_IDS; i++)
        handles[i] = trace->pages[i] ? world_create(world, PAGES(trace->pages[i]), CPU) : 0;
    struct machine_job job = {0};
    machine_job_nothing(&job);
    uint64_t fence = 0;
    for (size_t j = 0; j < trace->job_count; j++) {
        D3DKMT_HANDLE list[512];
        struct ferry_vidmm_reference references[512];
        unsigned count = trace->jobs[j].count;
        for (unsigned n = 0; n < count; n++) {
            list[n] = handles[trace->names[trace->jobs[j].first + n]];
            references[n] = (struct ferry_vidmm_reference){list[n], false};
        }
        assert_true(world_resident(world, list, count) >= 0);
        struct ferry_vidmm_submission submission = {
            .commands = job.commands, .bytes = job.bytes, .references = references, .reference_count = count};
        assert_int_equal(ferry_vidmm_submit(world->manager, world->context, &submission, 1, &fence), FERRY_OK);
        D3DDDICB_EVICT evict = {.NumAllocations = count, .AllocationList = list};
        assert_int_equal(ferry_vidmm_evict(world->manager, world->device, &evict), FERRY_OK);
    }
    struct ferry_vidmm_statistics statistics = world_statistics(world);
    print_message("  %s: in %llu KiB, moved inside %llu KiB, evictions %llu\n",
                  lru ? "least recently used" : "predicted",
                  (unsigned long long)(statistics.bytes_in + statistics.bytes_filled) / 1024,
                  (unsigned long long)statistics.bytes_moved / 1024, (unsigned long long)statistics.evictions);
    world_close(world);
    return (statistics.bytes_in + statistics.bytes_filled) / PAGE_SIZE;
}

static void predicted_victims_stay_near_the_yardstick_where_lru_is_far(void **state)
{
    (void)state;
    struct trace trace = {0};
    read_trace(&trace);
    uint64_t room = 5 * 256; // 5 MiB
    uint64_t best = furthest_next_use(&trace, room);
    print_message("  yardstick: in %llu KiB\n", (unsigned long long)best * 4);
    uint64_t lru = managed(&trace, room, true), predicted = managed(&trace, room, false);
    print_message("  factors on it: least recently used %.2f, predicted %.2f\n", (double)lru / (double)best,
                  (double)predicted / (double)best);
    assert_true(predicted * 5 <= best * 6);
    assert_true(lru > predicted * 3);
    free(trace.jobs);
    free(trace.names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predicted_victims_stay_near_the_yardstick_where_lru_is_far),
    };
    return WORLD_RUN(tests);
}
