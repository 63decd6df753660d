// SPDX-License-Identifier: Apache-2.0
// The deciding half of the device with the real firmware: registers, fetching, decoding, records. The engine is played
// by the bench, so what is checked here is what this half asks for, and in how many cycles.
#include <memory>

#include "control_bench.h"

static const uint64_t RING_AT = 0x1000, BUFFERS_AT = 0x10000, FENCES_AT = 0x2000, FAULTS_AT = 0x4000;

static uint32_t ring(unsigned number, uint32_t offset)
{
    return FERRY_BAR0_RING_AT + number * FERRY_BAR0_RING_STRIDE + offset;
}

// Ring and its fence record, with all rights.
static void open_ring(ControlBench &bench, unsigned number, unsigned entries_log2)
{
    bench.write64(ring(number, FERRY_BAR0_RING_BASE), RING_AT + number * 0x1000);
    bench.write(ring(number, FERRY_BAR0_RING_ENTRIES_LOG2), entries_log2);
    bench.write(ring(number, FERRY_BAR0_RING_RIGHTS), 7);
    bench.write64(ring(number, FERRY_BAR0_RING_FENCE_ADDRESS), FENCES_AT + number * 64);
    bench.write(ring(number, FERRY_BAR0_RING_CONTROL), 1);
}

static void put_entry(ControlBench &bench, unsigned number, unsigned index, uint64_t buffer, uint32_t bytes,
                      uint32_t flags, uint64_t fence)
{
    uint64_t at = RING_AT + number * 0x1000 + index * 32;
    bench.store64(at, buffer);
    bench.store64(at + 8, bytes | uint64_t{flags} << 32);
    bench.store64(at + 16, fence);
    bench.store64(at + 24, 0);
}

static bool wait_for_fence(ControlBench &bench, unsigned number, uint64_t fence, unsigned cycles)
{
    for (unsigned i = 0; i < cycles; i++) {
        if (bench.load64(FENCES_AT + number * 64) == fence)
            return true;
        bench.tick();
    }
    return false;
}

// COPY of bytes from LOCAL to SYSTEM.
static uint64_t put_copy(ControlBench &bench, uint64_t at, uint64_t source, uint64_t destination, uint32_t bytes)
{
    bench.store64(at, FERRY_OPCODE_COPY | 1u << 8 | 8u << 16 | uint64_t{FERRY_ADDRESS_KIND_SYSTEM} << 34);
    bench.store64(at + 8, bytes);
    bench.store64(at + 16, source);
    bench.store64(at + 24, destination);
    return at + 32;
}

static void registers(Checks &checks, Random &random)
{
    checks.begin("registers_keep_what_is_written_byte_by_byte");
    ControlBench bench(random);
    // A read whose answer is lost must not wait for ever before software has said how long: 10 to 50 ms at 100 MHz.
    const uint32_t reset = bench.read(FERRY_BAR0_COMPLETION_TIMEOUT);
    checks.equal(reset >= 1000000 && reset <= 5000000, 1, "COMPLETION_TIMEOUT after reset");
    struct {
        uint32_t address, mask;
    } const words[] = {{FERRY_BAR0_SCRATCH, ~0u},
                       {FERRY_BAR0_LOCAL_LIMIT, ~0u},
                       {FERRY_BAR0_LOCAL_LIMIT + 4, ~0u},
                       {FERRY_BAR0_PROTECT_BASE, ~0u},
                       {FERRY_BAR0_PROTECT_LIMIT + 4, ~0u},
                       {FERRY_BAR0_HOST_CONTRACT, ~0u},
                       {FERRY_BAR0_ENGINE_TIMEOUT, ~0u},
                       {FERRY_BAR0_COMPLETION_TIMEOUT, ~0u},
                       {FERRY_BAR0_TAG_LIMIT, 0xff},
                       {FERRY_BAR0_INTERRUPT_ENABLE, 0x3ff},
                       {FERRY_BAR0_INTERRUPT_COALESCE, ~0u},
                       {FERRY_BAR0_FAULT_LOG_ADDRESS, ~0u},
                       {FERRY_BAR0_FAULT_LOG_ENTRIES_LOG2, 0x1f},
                       {FERRY_BAR0_FAULT_LOG_CONSUMED, ~0u},
                       {FERRY_BAR0_VIEW_AT + FERRY_BAR0_VIEW_FIRST_PAGE, ~0u},
                       {FERRY_BAR0_VIEW_AT + 3 * FERRY_BAR0_VIEW_STRIDE + FERRY_BAR0_VIEW_PAGES, ~0u},
                       {FERRY_BAR0_VIEW_AT + 2 * FERRY_BAR0_VIEW_STRIDE + FERRY_BAR0_VIEW_ROW_BYTES, ~0u},
                       {FERRY_BAR0_VIEW_AT + 1 * FERRY_BAR0_VIEW_STRIDE + FERRY_BAR0_VIEW_LAYOUT, 0xf},
                       {ring(0, FERRY_BAR0_RING_BASE), ~0u},
                       {ring(4, FERRY_BAR0_RING_BASE + 4), ~0u},
                       {ring(3, FERRY_BAR0_RING_ENTRIES_LOG2), 0x1f},
                       {ring(2, FERRY_BAR0_RING_RIGHTS), 0x17},
                       {ring(1, FERRY_BAR0_RING_PRODUCER), ~0u},
                       {ring(4, FERRY_BAR0_RING_FENCE_ADDRESS), ~0u},
                       {ring(4, FERRY_BAR0_RING_RETIRED), 0},
                       {FERRY_BAR0_MAGIC, 0}};
    const unsigned count = sizeof(words) / sizeof(words[0]);
    uint32_t model[count];
    for (unsigned i = 0; i < count; i++)
        model[i] = bench.read(words[i].address);
    checks.equal(bench.read(FERRY_BAR0_MAGIC), 0x59525246, "magic");
    checks.equal(bench.read(FERRY_BAR0_LOCAL_LIMIT), 1u << 26, "local limit after reset");
    for (int step = 0; step < 3000; step++) {
        unsigned i = random.below(count);
        if (random.once_in(2)) {
            uint32_t value = static_cast<uint32_t>(random.word()), strobes = random.below(16), bytes = 0;
            for (unsigned b = 0; b < 4; b++)
                bytes |= strobes >> b & 1 ? 0xffu << 8 * b : 0;
            bench.write(words[i].address, value, strobes);
            model[i] = (model[i] & ~(bytes & words[i].mask)) | (value & bytes & words[i].mask);
        }
        checks.equal(bench.read(words[i].address), model[i], "register");
    }
    checks.equal(bench.read(FERRY_BAR0_RING_AT + 5 * FERRY_BAR0_RING_STRIDE), 0, "behind the last ring");

    checks.begin("hardware_sees_what_the_host_wrote");
    const auto whole = [&bench](uint32_t at) {
        return bench.read(at) | static_cast<uint64_t>(bench.read(at + 4)) << 32;
    };
    for (int step = 0; step < 200; step++) {
        for (uint32_t at : {FERRY_BAR0_LOCAL_LIMIT, FERRY_BAR0_LOCAL_LIMIT + 4, FERRY_BAR0_PROTECT_BASE,
                            FERRY_BAR0_PROTECT_BASE + 4, FERRY_BAR0_PROTECT_LIMIT, FERRY_BAR0_PROTECT_LIMIT + 4,
                            FERRY_BAR0_ENGINE_TIMEOUT, FERRY_BAR0_COMPLETION_TIMEOUT, FERRY_BAR0_TAG_LIMIT,
                            FERRY_BAR0_INTERRUPT_ENABLE, FERRY_BAR0_INTERRUPT_COALESCE})
            if (random.once_in(3))
                bench.write(at, static_cast<uint32_t>(random.word()) & (random.once_in(2) ? ~0u : 0x3ffffff),
                            random.below(16));
        if (random.once_in(2))
            bench.write(FERRY_BAR0_LOCAL_LIMIT + 4, 0);
        const uint64_t limit = whole(FERRY_BAR0_LOCAL_LIMIT), memory = 1u << 26;
        checks.equal(bench.top.local_limit, limit < memory ? limit : memory, "local limit, not behind video memory");
        checks.equal(bench.top.protect_base, whole(FERRY_BAR0_PROTECT_BASE), "protect base");
        checks.equal(bench.top.protect_limit, whole(FERRY_BAR0_PROTECT_LIMIT), "protect limit");
        checks.equal(bench.top.timeout, bench.read(FERRY_BAR0_ENGINE_TIMEOUT), "engine timeout");
        checks.equal(bench.top.completion_timeout, bench.read(FERRY_BAR0_COMPLETION_TIMEOUT), "completion timeout");
        checks.equal(bench.top.tag_limit, bench.read(FERRY_BAR0_TAG_LIMIT), "tag limit");
        checks.equal(bench.top.interrupt_enable, bench.read(FERRY_BAR0_INTERRUPT_ENABLE), "interrupt enable");
        checks.equal(bench.top.interrupt_coalesce_count, bench.read(FERRY_BAR0_INTERRUPT_COALESCE) & 0xffff,
                     "coalesce count");
        checks.equal(bench.top.interrupt_coalesce_cycles, bench.read(FERRY_BAR0_INTERRUPT_COALESCE) >> 16,
                     "coalesce cycles");
    }
    // Each bit of LOCAL_LIMIT by itself is behind video memory, or below its end.
    for (unsigned bit = 0; bit < 64; bit++) {
        bench.write(FERRY_BAR0_LOCAL_LIMIT, static_cast<uint32_t>(uint64_t{1} << bit));
        bench.write(FERRY_BAR0_LOCAL_LIMIT + 4, static_cast<uint32_t>(uint64_t{1} << bit >> 32));
        checks.equal(bench.top.local_limit, uint64_t{1} << (bit < 26 ? bit : 26), "local limit of one bit");
    }

    // A 1 in a byte that is not written clears nothing.
    for (unsigned strobes = 0; strobes < 16; strobes++) {
        bench.cleared = 0;
        bench.write(FERRY_BAR0_INTERRUPT_STATUS, 0x3ff, strobes);
        checks.equal(bench.cleared, (strobes & 1 ? 0xff : 0) | (strobes & 2 ? 0x300 : 0), "causes cleared");
    }

    // CYCLES goes on while it is read: what is read is as old as the answer, however far the sweep of the counters was.
    checks.begin("a_counter_that_is_read_is_up_to_date");
    uint64_t least = ~0ull, most = 0;
    for (int step = 0; step < 300; step++) {
        for (unsigned i = random.below(70); i; i--)
            bench.tick();
        uint32_t value = bench.read(FERRY_BAR0_COUNTER_AT + FERRY_BAR0_COUNTER_CYCLES);
        uint64_t age = bench.time + 100000 - value;
        least = age < least ? age : least;
        most = age > most ? age : most;
    }
    checks.that(most - least <= 4, "answers are of one age");

    checks.begin("what_is_no_register_reads_zero_and_takes_nothing");
    for (unsigned i = 0; i < count; i++)
        model[i] = bench.read(words[i].address);
    const struct {
        uint32_t from, to;
    } gaps[] = {{0x054, 0x058}, {0x064, 0x080},  {0x090, 0x0a0},  {0x0b4, 0x0c0},
                {0x240, 0x400}, {0x4b0, 0x1000}, {0x7f00, 0x8000}};
    for (const auto &gap : gaps)
        for (uint32_t at = gap.from; at < gap.to; at += 4) {
            checks.equal(bench.read(at), 0, "no register");
            bench.write(at, ~0u);
            checks.equal(bench.read(at), 0, "no register, written");
        }
    for (unsigned i = 0; i < count; i++)
        checks.equal(bench.read(words[i].address), model[i], "register beside those");

    checks.begin("firmware_ram_is_the_hosts_while_the_core_stands_and_reads_zero_while_it_runs");
    std::vector<uint32_t> ram(bench.read(FERRY_BAR0_FIRMWARE_RAM_BYTES) / 4);
    checks.that(ram.size() >= 1024, "some firmware RAM");
    for (unsigned i = 0; i < ram.size(); i++)
        bench.write(FERRY_BAR0_FIRMWARE_RAM + 4 * i, ram[i] = static_cast<uint32_t>(random.word()));
    for (unsigned step = 0; step < 500; step++) {
        unsigned i = random.below(static_cast<uint32_t>(ram.size()));
        if (random.once_in(3))
            bench.write(FERRY_BAR0_FIRMWARE_RAM + 4 * i, ram[i] = static_cast<uint32_t>(random.word()));
        checks.equal(bench.read(FERRY_BAR0_FIRMWARE_RAM + 4 * i), ram[i], "firmware word");
    }
    // Behind its end there is nothing, where it would begin anew neither.
    const uint32_t end = FERRY_BAR0_FIRMWARE_RAM + 4 * static_cast<uint32_t>(ram.size());
    for (uint32_t at : {end, end + 4, 2 * end - FERRY_BAR0_FIRMWARE_RAM, 0xfffcu}) {
        checks.equal(bench.read(FERRY_BAR0_FIRMWARE_RAM + 4), ram[1],
                     "firmware word in front of one that is not there");
        checks.equal(bench.read(at), 0, "word behind firmware RAM");
        bench.write(at, ~ram[1]);
        checks.equal(bench.read(at), 0, "word behind firmware RAM, written");
    }
    for (uint32_t i : {0u, 1u, static_cast<uint32_t>(ram.size()) - 1})
        checks.equal(bench.read(FERRY_BAR0_FIRMWARE_RAM + 4 * i), ram[i], "firmware word beside those");
    bench.write(FERRY_BAR0_FIRMWARE_RAM, 0x6f);
    bench.write(FERRY_BAR0_CONTROL, 1);
    checks.equal(bench.read(FERRY_BAR0_FIRMWARE_RAM), 0, "firmware word while the core runs");
    bench.write(FERRY_BAR0_FIRMWARE_RAM, 0);
    bench.write(FERRY_BAR0_CONTROL, 0);
    checks.equal(bench.read(FERRY_BAR0_FIRMWARE_RAM), 0x6f, "firmware word written while the core ran");
}

static void packets(Checks &checks, Random &random, const char *firmware)
{
    checks.begin("firmware_boots_and_says_so");
    ControlBench bench(random);
    checks.that(bench.boot(firmware), "firmware serves rings");
    checks.equal(bench.read(FERRY_BAR0_FIRMWARE_VERSION), FERRY_CONTRACT_VERSION, "firmware version");

    checks.begin("a_paging_buffer_of_copies_becomes_jobs_in_order_and_a_fence");
    open_ring(bench, 0, 4);
    uint64_t at = BUFFERS_AT;
    for (unsigned i = 0; i < 128; i++)
        at = put_copy(bench, at, i * 4096, 0x80000000 + i * 8192, 4096);
    put_entry(bench, 0, 0, BUFFERS_AT, 4096, 1, 77);
    bench.write(ring(0, FERRY_BAR0_RING_PRODUCER), 1);
    checks.that(wait_for_fence(bench, 0, 77, 400000), "fence");
    checks.equal(bench.read(FERRY_BAR0_HALT_CODE), 0, "halt code");
    checks.equal(bench.jobs.size(), 128, "jobs");
    for (unsigned i = 0; i < bench.jobs.size(); i++) {
        checks.equal(bench.jobs[i].source, i * 4096, "source");
        checks.equal(bench.jobs[i].destination, 0x80000000 + i * 8192, "destination");
        checks.equal(bench.jobs[i].length, 4096, "length");
        checks.equal(bench.jobs[i].packet_offset, i * 32, "packet offset");
    }
    for (int i = 0; i < 3000; i++)
        bench.tick();
    checks.equal(bench.read(FERRY_BAR0_STATUS), 1, "status of an idle device");
    checks.equal(bench.read(ring(0, FERRY_BAR0_RING_RETIRED)), 1, "retired");
    checks.equal(bench.read(ring(0, FERRY_BAR0_RING_FETCHED)), 1, "fetched");
    checks.equal(bench.interrupts, 1, "interrupt of ring 0");
    uint64_t busy = bench.counter(FERRY_BAR0_COUNTER_CORE_BUSY);
    uint64_t count = bench.counter(FERRY_BAR0_COUNTER_CORE_PACKETS);
    checks.equal(count, 128, "packets counted");
    checks.that(bench.bad_bursts.empty(), "bursts inside 4 KiB");
    std::printf("    %.1f cycles a COPY packet\n", static_cast<double>(busy) / static_cast<double>(count));

    // The core comes first at the file, and it has much to do there: whatever the host writes meanwhile is written,
    // once, and whatever it reads is what it wrote.
    checks.begin("registers_keep_what_is_written_while_the_core_is_at_them");
    uint64_t before = 77;
    for (unsigned round = 0; round < 4; round++) {
        const uint64_t fence = random.word();
        put_entry(bench, 0, 1 + round, BUFFERS_AT, 4096, 0, fence);
        bench.write(ring(0, FERRY_BAR0_RING_PRODUCER), 2 + round);
        for (unsigned step = 0; bench.load64(FENCES_AT) != fence && step < 3000; step++) {
            const uint32_t value = static_cast<uint32_t>(random.word());
            for (unsigned i = random.below(20); i; i--)
                bench.tick();
            bench.write(FERRY_BAR0_SCRATCH, value);
            checks.equal(bench.read(FERRY_BAR0_SCRATCH), value, "what was written");
            // Behind the lower half the upper one is read at once.
            uint64_t found = bench.read(ring(0, FERRY_BAR0_RING_FENCE_VALUE));
            found |= uint64_t{bench.read(ring(0, FERRY_BAR0_RING_FENCE_VALUE + 4))} << 32;
            checks.equal(found, found == fence ? fence : before, "fence value, whole");
        }
        checks.equal(bench.load64(FENCES_AT), fence, "fence");
        before = fence;
    }

    // With jobs that take long the sequencer waits for room most of the time.
    checks.begin("the_core_does_not_count_as_busy_while_its_jobs_wait_for_room");
    busy = bench.counter(FERRY_BAR0_COUNTER_CORE_BUSY);
    count = bench.counter(FERRY_BAR0_COUNTER_CORE_PACKETS);
    const uint64_t begin = bench.time;
    bench.job_cycles = 800;
    put_entry(bench, 0, 5, BUFFERS_AT, 4096, 0, before + 1);
    bench.write(ring(0, FERRY_BAR0_RING_PRODUCER), 6);
    checks.that(wait_for_fence(bench, 0, before + 1, 400000), "fence");
    checks.that(bench.time - begin > 10000, "it takes long");
    checks.that(bench.counter(FERRY_BAR0_COUNTER_CORE_BUSY) - busy < 5000, "and the core is not busy for most of it");
    checks.equal(bench.counter(FERRY_BAR0_COUNTER_CORE_PACKETS) - count, 128, "packets counted");
    bench.job_cycles = 4;

    checks.begin("what_a_firmware_said_is_not_read_behind_its_end");
    bench.write(FERRY_BAR0_CONTROL, 0);
    checks.equal(bench.read(FERRY_BAR0_FIRMWARE_STATE), 0, "state of a core that stands");
    bench.write(FERRY_BAR0_CONTROL, 1);
    checks.that(bench.read(FERRY_BAR0_FIRMWARE_STATE) != FERRY_FIRMWARE_STATE_RUNNING,
                "not the state of the one before");
}

int main(int argc, char **argv)
{
    Random random;
    Checks checks;
    registers(checks, random);
    packets(checks, random, argc > 1 ? argv[1] : "build/firmware/firmware.bin");
    return checks.done();
}
