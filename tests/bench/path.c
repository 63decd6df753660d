// SPDX-License-Identifier: Apache-2.0
// Measures the whole path on ferry_device with its firmware, as it ships: paging over the link, what a packet and a
// buffer cost the firmware, and how long a paging buffer waits for a user's job. The argument is the file to write.
//
// link/...: 4 KiB pages, scattered in host memory, through 64 MiB of video memory with a constant latency; packets of
// 256 bytes, read requests of 512, 32 tags. `latency` is the round trip: half of it each way. A page takes 16 packets
// of one header and 256 bytes, 34 beats each (3 or 4 header words, and a packet begins with a beat), so 544 cycles a
// page are 100 %. Times are those of the fence records, between the first buffer's and the last one's, so that the way
// from the doorbell to the first byte does not count.
//
// firmware/...: cycles that the core was busy with buffers of 128 copies of 8 bytes, and with buffers of one.
//
// preempt/worst: how much later a paging buffer that moves one page inside video memory is done because a user's copy
// of 1 MiB runs, at the worst of MOMENTS, against the shortest of as many without. A page that comes over the link
// would hide most of it behind its own latency. Floor: what the copy has in flight, a word a cycle, less the time that
// the page's own first word takes from the first read to the write, since both go on side by side. In flight are as
// many words as the data FIFO has, but for the burst of 64 that a job which is not urgent leaves free.
#include "machine.h"

#define PAGE_CYCLES   544.0
#define PAGES_A_COPY  4u
#define LOCAL_LATENCY 20u
#define IN_FLIGHT     448.0 // Words: 512 - 64.
#define MOMENTS       200u  // 24 missed the worst by 10 cycles.

static FILE *out;
static bool first_row = true;

static void begin_row(const char *name, double value, const char *unit)
{
    fprintf(out, "%s\n  {\"name\": \"%s\", \"value\": %.1f, \"unit\": \"%s\"", first_row ? "[" : ",", name, value,
            unit);
    printf("%-28s %10.1f %s", name, value, unit);
    first_row = false;
}

static void row(const char *name, double value, const char *unit)
{
    begin_row(name, value, unit);
    fprintf(out, "}");
    printf("\n");
}

static void row_with_floor(const char *name, double value, double floor, const char *unit)
{
    begin_row(name, value, unit);
    fprintf(out, ", \"floor\": %.1f}", floor);
    printf(", floor %.1f\n", floor);
}

static void open_machine(struct machine *machine, uint32_t round_trip)
{
    const struct ferry_link_config config = {.size = sizeof(config),
                                             .seed = 1,
                                             .read_latency_cycles = LOCAL_LATENCY,
                                             .link_latency_cycles = round_trip / 2,
                                             .max_payload_bytes = 256,
                                             .max_read_bytes = 512,
                                             .in_order_completions = true};
    struct ferry_link *link;
    CHECK(ferry_link_open("sim", &config, &link));
    start_machine(machine, link);
}

// ---- link/... ---------------------------------------------------------------------------------------------------

enum way { WAY_IN, WAY_OUT, WAY_BOTH };

/// Cycles from the first buffer's fence to the last one's, with `count` pages a buffer.
static double cycles_of(struct machine *machine, enum way way, uint32_t count)
{
    uint64_t begin = 0, end = 0;
    uint32_t number[BUFFERS];
    for (uint32_t n = 0; n < BUFFERS; n++) {
        machine->words[n] = 0;
        for (uint32_t page = 0; page < count; page += PAGES_A_COPY) {
            const uint32_t first = (n * count + page) % (PAGES / 2);
            if (way != WAY_OUT) {
                copy_pages(machine, n, true, first, PAGES_A_COPY);
            }
            if (way != WAY_IN) {
                copy_pages(machine, n, false, PAGES / 2 + first, PAGES_A_COPY);
            }
        }
        number[n] = submit(machine, RING_PAGING, n);
    }
    for (uint32_t n = 0; n < BUFFERS; n++) {
        end = retired_at(machine, RING_PAGING, number[n]);
        begin = n == 0 ? end : begin;
    }
    return (double)(end - begin);
}

static void wrong(const char *what)
{
    fprintf(stderr, "path: %s is wrong\n", what);
    exit(1);
}

/// Whether pages really moved: all of those that went out, some of those that came in.
static void compare(struct machine *machine, enum way way)
{
    static const unsigned char zero[4096];
    unsigned char back[4096];
    for (uint32_t n = PAGES / 2; n < PAGES && way != WAY_IN; n++) {
        if (memcmp(machine->page_of[n], zero, 4096) != 0) {
            wrong("a page that went out");
        }
    }
    for (uint32_t n = 0; n < PAGES / 2 && way != WAY_OUT; n += 37) {
        CHECK(ferry_gpu_window_read(machine->gpu, (uint64_t)n * 4096, back, 4096));
        if (memcmp(machine->page_of[n], back, 4096) != 0) {
            wrong("a page that came in");
        }
    }
}

static void measure_link(uint32_t latency)
{
    static const char *const name[] = {"page-in", "page-out", "both"};
    for (enum way way = WAY_IN; way <= WAY_BOTH; way++) {
        struct machine machine;
        char text[64];
        const uint32_t count = 64;
        open_machine(&machine, latency);
        const double cycles = cycles_of(&machine, way, count);
        snprintf(text, sizeof text, "link/%s/latency%" PRIu32, name[way], latency);
        row(text, 100.0 * PAGE_CYCLES * count * (BUFFERS - 1) / cycles, "% of link");
        compare(&machine, way);
        close_machine(&machine);
    }
}

// ---- firmware/... -----------------------------------------------------------------------------------------------

/// Cycles that the firmware worked on BUFFERS buffers of `packets` small copies each, per buffer.
static double work_of(uint32_t packets)
{
    struct machine machine;
    struct ferry_statistics before = {.size = sizeof before}, after = {.size = sizeof after};
    uint32_t number = 0;
    open_machine(&machine, 200);
    for (uint32_t n = 0; n < BUFFERS; n++) {
        for (uint32_t i = 0; i < packets; i++) {
            copy(&machine, n, 0x1000 + 8 * i, 0x100000 + 8 * i, 8);
        }
    }
    CHECK(ferry_gpu_counters(machine.gpu, &before));
    for (uint32_t n = 0; n < BUFFERS; n++) {
        number = submit(&machine, RING_PAGING, n);
    }
    retired_at(&machine, RING_PAGING, number);
    CHECK(ferry_gpu_counters(machine.gpu, &after));
    if (after.firmware_packets - before.firmware_packets != (uint64_t)BUFFERS * packets) {
        wrong("the number of packets");
    }
    close_machine(&machine);
    return (double)(after.firmware_busy_cycles - before.firmware_busy_cycles) / BUFFERS;
}

static void measure_firmware(void)
{
    const double one = work_of(1), many = work_of(128), each = (many - one) / 127;
    row("firmware/cycles-per-packet", each, "cycles");
    row("firmware/cycles-per-buffer", one - each, "cycles");
}

// ---- preempt/worst ----------------------------------------------------------------------------------------------

/// Cycles from the doorbell of a paging buffer of one page to its fence, `later` cycles after the user's doorbell.
static double paging_time(struct machine *machine, bool user, uint32_t later)
{
    uint32_t number = 0;
    if (user) {
        number = submit(machine, RING_USER, 1);
    }
    CHECK(ferry_gpu_run(machine->gpu, later));
    const uint64_t begin = ferry_gpu_cycles(machine->gpu);
    const double cycles = (double)(retired_at(machine, RING_PAGING, submit(machine, RING_PAGING, 0)) - begin);
    if (user) {
        retired_at(machine, RING_USER, number);
    }
    return cycles;
}

/// When each track was busy first.
struct begins {
    uint64_t at[FERRY_TRACK_FORGETTING + 1];
};

static void note_begin(void *context, enum ferry_track track, uint64_t begin, uint64_t end)
{
    struct begins *begins = context;
    (void)end;
    if (begins->at[track] == 0) {
        begins->at[track] = begin;
    }
}

/// Cycles from the page's first read to its first write when nothing else runs.
static double own_way(struct machine *machine)
{
    struct begins begins = {{0}};
    const struct ferry_link_observer observer = {.context = &begins, .span = note_begin};
    ferry_gpu_observe(machine->gpu, &observer);
    paging_time(machine, false, 5000);
    ferry_gpu_observe(machine->gpu, NULL);
    return (double)(begins.at[FERRY_TRACK_WRITE_CHANNEL] - begins.at[FERRY_TRACK_READ_CHANNEL]);
}

static void measure_preemption(void)
{
    struct machine machine;
    open_machine(&machine, 200);
    copy(&machine, 0, 0x500000, 0x600000, 4096);
    copy(&machine, 1, 0x100000, 0x300000, 1u << 20);
    const double floor = IN_FLIGHT - own_way(&machine);
    double alone = 1e9, worst = 0;
    for (uint32_t n = 0; n < MOMENTS; n++) {
        const double cycles = paging_time(&machine, false, 2000 + 13 * n);
        alone = cycles < alone ? cycles : alone;
    }
    for (uint32_t n = 0; n < MOMENTS; n++) {
        const double cycles = paging_time(&machine, true, 2000 + 13 * n);
        worst = cycles > worst ? cycles : worst;
    }
    row_with_floor("preempt/worst", worst - alone, floor, "cycles");
    close_machine(&machine);
}

int main(int argc, char **argv)
{
    if (argc != 2 || (out = fopen(argv[1], "w")) == NULL) {
        fprintf(stderr, "usage: path ROWS.json\n");
        return 2;
    }
    measure_link(200);
    measure_link(600);
    measure_link(1000);
    measure_firmware();
    measure_preemption();
    fprintf(out, "\n]\n");
    return fclose(out) == 0 ? 0 : 1;
}
