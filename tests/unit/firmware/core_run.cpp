// SPDX-License-Identifier: Apache-2.0
// The firmware's image on the simulated soft core with the sequencer of the device, over the same double as the native
// tests: one step of time a clock, registers answered as ferry_registers_core answers them (writes at once, reads a
// cycle later). The double holds each job of the sequencer against the oracle.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "../../seed.h"
#include "Vcore_machine.h"
#include "verilated.h"

// The contract's header is C.
#define _Static_assert static_assert
extern "C" {
#include "firmware_image.h"
#include "run.h"
}

// How many times as long this core may take, and how many random runs there is time for.
#ifndef SLOWER
#define SLOWER 1
#define RUNS   40
#endif

static std::unique_ptr<Vcore_machine> core;
static bool started;
static int shown[DOUBLE_SLOTS];        // Entry whose buffer was put into the slot last.
static unsigned write_entry, write_at; // Buffer on its way into command RAM: double words still to write.
static bool writing, read_done;
static uint32_t read_value;

static void clock_edge()
{
    core->clk = 1;
    core->eval();
    core->clk = 0;
    core->eval();
}

static void start()
{
    core.reset(new Vcore_machine);
    core->clk = 0;
    core->rst = 1;
    core->run = 0;
    core->host_valid = 0;
    core->write_valid = 0;
    core->io_ready = 0;
    core->sequence_write = 0;
    core->job_ready = 0;
    for (int i = 0; i < 4; i++)
        clock_edge();
    core->rst = 0;
    for (unsigned at = 0; at < ferry_firmware_image_bytes; at += 4) {
        core->host_valid = 1;
        core->host_address = at;
        std::memcpy(&core->host_wdata, ferry_firmware_image + at, 4);
        do {
            core->eval();
            if (core->host_ready)
                break;
            clock_edge();
        } while (true);
        clock_edge();
    }
    core->host_valid = 0;
    clock_edge();
    core->run = 1;
    for (int &entry : shown)
        entry = -1;
    writing = read_done = false;
}

// Puts buffers that the double has fetched into command RAM, a double word a clock.
static void feed_command_ram()
{
    core->write_valid = 0;
    for (unsigned slot = 0; slot < DOUBLE_SLOTS && !writing; slot++) {
        int entry = machine.slot_entry[slot];

        if (entry < 0 || entry == shown[slot])
            continue;
        shown[slot] = entry;
        write_entry = entry;
        write_at = 0;
        writing = machine.entries[entry].data && machine.entries[entry].bytes;
    }
    if (!writing)
        return;

    uint32_t slot = machine.entries[write_entry].slot;
    uint64_t data;

    std::memcpy(&data, machine.entries[write_entry].data + write_at, 8);
    core->write_valid = 1;
    core->write_address = slot * DOUBLE_SLOT_BYTES + write_at;
    core->write_data = data;
    write_at += 8;
    writing = write_at < machine.entries[write_entry].bytes;
}

// The double sees the sequencer as it is, and takes its job.
static void look_at_sequencer()
{
    machine.sequencer.busy = core->sequence_busy;
    machine.sequencer.waiting = core->sequence_waiting;
    machine.sequencer.ended = core->sequence_ended;
    machine.sequencer.table = core->sequence_table;
    machine.sequencer.offset = core->sequence_offset;
    core->sequence_end = machine.stage[FERRY_CORE_SEQUENCE_END / 4];
    core->local_limit = machine.limits.local_limit;
    core->protect_base = machine.limits.protect_base;
    core->protect_limit = machine.limits.protect_limit;
    machine.packets += core->skipped;
    core->job_ready = core->job_valid && double_job_room();
    if (!core->job_ready)
        return;

    struct oracle_action job = {};

    job.op = core->job_op;
    job.source_kind = core->job_source_kind;
    job.destination_kind = core->job_destination_kind;
    job.list = core->job_list;
    job.unordered = core->job_unordered;
    job.is_protected = core->job_protected;
    job.pattern_log2 = core->job_pattern_log2;
    job.packet_offset = core->job_packet_offset;
    job.source = core->job_source;
    job.destination = core->job_destination;
    job.length = core->job_length;
    double_take_job(core->job_slot, job, core->job_list_address);
}

static void one_clock()
{
    double_tick();
    // The entry shows in FETCH_NEXT only once its buffer is there.
    bool arriving = writing;
    feed_command_ram();
    arriving = arriving || core->write_valid;

    core->io_ready = 0;
    core->sequence_write = 0;
    core->eval();
    look_at_sequencer();
    if (core->io_valid && core->io_write) {
        if (!double_write_waits(core->io_address)) {
            core->io_ready = 1;
            double_write(core->io_address, core->io_wdata);
            core->sequence_write = core->io_address == FERRY_CORE_SEQUENCE;
            core->sequence_wdata = core->io_wdata;
        }
    } else if (core->io_valid && read_done) {
        core->io_ready = 1;
        core->io_rdata = read_value;
        read_done = false;
    } else if (core->io_valid) {
        if (core->io_address == FERRY_CORE_FETCH_NEXT && arriving)
            machine.stage[FERRY_CORE_BUSY / 4] = read_value = 0;
        else
            read_value = double_read(core->io_address);
        if (core->io_address == FERRY_CORE_WORK && arriving)
            read_value &= ~FERRY_CORE_WORK_PAGING_MASK;
        read_done = true;
    }
    core->eval();
    clock_edge();
}

extern "C" void run_from_reset(void)
{
    started = false;
}

// The sequencer here is built without either.
extern "C" bool run_may_have_more(void)
{
    return false;
}

extern "C" bool run_machine(uint64_t patience)
{
    uint64_t until = machine.now + SLOWER * patience;

    if (!started) {
        started = true;
        machine.sequencer_elsewhere = true;
        start();
    }
    while (!machine.wrong[0] && machine.now < until) {
        uint32_t state = double_state();

        if (state == FERRY_FIRMWARE_STATE_HALTED || state == FERRY_FIRMWARE_STATE_REFUSED)
            return true;
        if (double_idle())
            break;
        one_clock();
    }
    // What is under way when the last slot is given back is let come to its end.
    for (int i = 0; i < 200 * SLOWER && double_idle(); i++)
        one_clock();
    return double_idle();
}

static unsigned passed, failed;

static void report(const char *name, const char *why)
{
    std::printf("[%s ] %s%s%s\n", why ? "  FAILED " : "       OK", name, why ? ": " : "", why ? why : "");
    (why ? failed : passed)++;
}

// Cycles that the firmware needs for each of many packets of one kind, as CORE_BUSY / CORE_PACKETS tells it. words:
// length of the buffers.
static double measure(const char *name, void (*put)(struct buffer *), unsigned words = 1024)
{
    static struct buffer b;

    double_reset();
    run_from_reset();
    machine.job_ticks = 1;
    for (unsigned entry = 0; entry < 16; entry++) {
        unsigned before;

        b.count = 0;
        do {
            before = b.count;
            put(&b);
        } while (2 * b.count - before <= words);
        double_submit(0, b.words, b.count, entry, false);
    }

    bool done = run_machine(3000000);
    const char *why = done ? double_verify() : "not everything retired";
    double cycles = why ? 0 : double(machine.busy_ticks) / machine.packets;

    if (!why)
        std::printf("firmware cycles per packet, %s: %.1f\n", name, cycles);
    report(name, why);
    return cycles;
}

static void copies(struct buffer *b)
{
    put_copy(b, 0, 0, 4096, 0x1000, 0x200000);
}
static void copies_through_the_aperture(struct buffer *b)
{
    put_copy(b, 0, FROM(APERTURE), 4096, 0x1000, 0x200000);
}
static void copies_to_the_host(struct buffer *b)
{
    put_copy(b, UNORDERED, TO(SYSTEM), 4096, 0x1000, 0x7700200000);
}
static void page_in(struct buffer *b)
{
    put_copy_pages(b, UNORDERED, FROM(SYSTEM) | LIST(SOURCE), 16 * 4096, 0, 0x300000, 16);
}
static void page_out(struct buffer *b)
{
    put_copy_pages(b, 0, TO(SYSTEM) | LIST(DESTINATION), 4096, 0, 0x300000, 1);
}
static void fills(struct buffer *b)
{
    put_fill(b, 0, PATTERN(2), 4096, 0x300000, 7);
}
static void maps(struct buffer *b)
{
    put_map(b, 0, 5, 4);
}
static void unmaps(struct buffer *b)
{
    put_unmap(b, 5, 4, 0x4000);
}
static void fences(struct buffer *b)
{
    put_fence(b, TO(SYSTEM), 0x88880000, 0x77);
}
// The mix of performance.md: copy, fill, map, fence in turn.
static void mixed(struct buffer *b)
{
    copies(b);
    fills(b);
    maps(b);
    fences(b);
}
static void paging(struct buffer *b)
{
    page_out(b);
    page_in(b);
    page_in(b);
    fills(b);
}

static void short_paging(struct buffer *b)
{
    page_out(b);
    fences(b);
}

int main()
{
    const unsigned runs = RUNS;

    report("every_packet", scenario_every_packet());
    report("rings_and_order", scenario_rings_and_order());
    report("faults_and_reset", scenario_faults_and_reset());
    uint64_t seed = seed_given(1);
    std::printf("%u runs\n", runs);

    const char *why = nullptr;
    for (unsigned run = 0; run < runs && !why; run++, seed++) {
        why = scenario_random(seed);
        if (why)
            seed_print(seed);
    }
    report("random_runs", why);

    double copy = measure("copy", copies);
    double one_copy = measure("one_copy_in_a_buffer", copies, 8);
    // Buffers of one packet, less what the packet costs among others: claim, the limits, records, release.
    double buffer = one_copy - copy;

    std::printf("firmware cycles per buffer, on top of its packets: %.1f\n", buffer);
    report("a_copy_costs_less_than_20_cycles", copy > 0 && copy < 20 * SLOWER ? nullptr : "more");
    report("a_buffer_costs_less_than_300_cycles", buffer > 0 && buffer < 300 * SLOWER ? nullptr : "more");
    measure("copy_aperture", copies_through_the_aperture);
    measure("copy_system", copies_to_the_host);
    measure("page_in_16", page_in);
    measure("page_out_1", page_out);
    measure("fill", fills);
    measure("map", maps);
    measure("unmap", unmaps);
    measure("fence", fences);
    measure("mix", mixed);
    measure("paging_mix", paging);
    measure("page_out_and_fence_in_a_buffer", short_paging, 14);
    // Before the simulator's own statics go.
    core.reset();
    std::printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
