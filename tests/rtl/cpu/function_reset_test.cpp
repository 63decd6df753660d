// SPDX-License-Identifier: Apache-2.0
// Function level reset (PCI Express base specification 6.6.2) of the whole device with its firmware: it ends although
// the host owes answers or memory is dead, nothing of before it is left, and the device works again. What it does at
// any cycle of a running program is rtl_restart's; what it does to page tables, function_reset_tables.cpp's.
#include "../host/hostile_packets.h"
#include "function_reset.h"

namespace
{

void host_owes_answers(Checks &checks, Random &random)
{
    checks.begin("a_function_reset_ends_though_the_host_owes_answers_that_come_long_after_it");
    for (unsigned round = 0; round < rounds(6, 12); round++) {
        Bench bench(checks, random);
        RootComplex &root = bench.root();
        root.bar0(FERRY_BAR0_COMPLETION_TIMEOUT, 0);
        bench.paging().copy(FERRY_ADDRESS_KIND_SYSTEM, DATA, FERRY_ADDRESS_KIND_LOCAL, AREA, 100000).submit();
        // The buffer has been fetched and its reads are going out; of some rounds' the link takes none.
        root.run(1000 + random.below(400));
        root.host_silent = true;
        root.run(random.below(1500));
        // An entry that is to be fetched waits for a tag, when all are taken.
        if (round % 3)
            bench.paging().copy(FERRY_ADDRESS_KIND_LOCAL, 0, FERRY_ADDRESS_KIND_LOCAL, AREA, 8).submit();
        root.run(200);
        bench.reset();
        checks.equal(bench.status_after(4000), 0, "status");
        checks.equal(root.config_read(0x48) >> 21 & 1, 0, "transactions pending");
        std::vector<uint8_t> before(root.local.begin() + AREA, root.local.begin() + 2 * AREA);
        bool late = round % 2;
        if (late)
            root.answer_late();
        root.host_silent = false;
        root.run(3000);
        checks.that(std::equal(before.begin(), before.end(), root.local.begin() + AREA),
                    "late answers are thrown away");
        bench.start();
        if (!late && root.unanswered() > 28)
            root.answer_late();
        bench.works();
    }
}

// Page-out and page-in with a link that is slow, or has credits for no write or no read, or with a host that took the
// leave to speak: the packet that has begun is whole and right, of the others nothing is seen, also when the link takes
// them again.
void in_front_of_the_link(Checks &checks, Random &random)
{
    checks.begin("a_function_reset_lets_a_packet_that_has_begun_end_and_none_begin");
    Bench bench(checks, random);
    RootComplex &root = bench.root();
    const uint64_t out = DATA + 32 * 4096;
    unsigned wrong = 0, whole = 0;
    root.on_host_write = [&](uint64_t at, uint8_t value) {
        if (at >= out && at < DATA + DATA_PAGES * 4096)
            root.local[at - out] == value ? whole++ : wrong++;
    };
    for (unsigned round = 0; round < rounds(32, 60); round++) {
        const uint32_t unordered = FERRY_PACKET_HEADER_UNORDERED_MASK;
        for (unsigned i = 0; i < 6; i++) {
            bool in = round % 4 == 3;
            bench.paging().word(FERRY_OPCODE_COPY | unordered | 8u << 16,
                                in ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_SYSTEM << 2);
            bench.paging().word(20000).word(in ? DATA : 0).word(in ? AREA : out);
        }
        bench.paging().submit();
        root.run(1500 + random.below(300));
        root.link_pace = round % 2 ? 1 : 2 + random.below(30);
        root.posted_credits = round % 8 != 1;
        root.request_credits = round % 8 != 3;
        if (round % 8 == 5)
            root.config_write(FERRY_CONFIG_SPACE_COMMAND, 2);
        root.run(random.below(600));
        bench.reset();
        root.silent_from = root.time;
        root.run(4000);
        root.link_pace = 1;
        root.posted_credits = root.request_credits = true;
        checks.equal(bench.status_after(3000), 0, "status");
        checks.equal(root.indiscreet, 0, "packets that began after the reset");
        root.silent_from = ~0ull;
        bench.start();
        if (round % 16 == 15) {
            const auto judge = root.on_host_write;
            root.on_host_write = nullptr;
            bench.works();
            root.on_host_write = judge;
        }
    }
    checks.equal(wrong, 0, "wrong bytes of page-out");
    checks.that(whole > 1000, "page-out was under way");
    root.on_host_write = nullptr;
    bench.works();
}

void mappings_are_gone(Checks &checks, Random &random)
{
    checks.begin("after_a_function_reset_the_aperture_maps_nothing_and_registers_are_as_after_power_on");
    Bench bench(checks, random);
    RootComplex &root = bench.root();
    // Records tell the time that CYCLES tells, which begins anew too.
    const auto ends = [&] {
        const uint64_t before = root.counter(FERRY_BAR0_COUNTER_CYCLES);
        bench.paging().copy(FERRY_ADDRESS_KIND_APERTURE, 7 * 4096, FERRY_ADDRESS_KIND_LOCAL, AREA, 64).submit();
        checks.that(bench.paging().wait(), "fence");
        const uint64_t told = bench.paging().record(FERRY_FENCE_RECORD_TIME);
        checks.that(before < told && told < root.counter(FERRY_BAR0_COUNTER_CYCLES), "time of the record");
    };
    bench.paging().word(FERRY_OPCODE_MAP_APERTURE | 6u << 16, 0).word(7, 1).word(DATA);
    ends();
    checks.equal(bench.paging().status(), FERRY_BUFFER_STATUS_SUCCESS, "status while it is mapped");
    root.bar0_64(FERRY_BAR0_LOCAL_LIMIT, 0x1000);
    root.bar0(FERRY_BAR0_SCRATCH, 0x1234);
    bench.reset();
    // The maximum payload is the link's, and stays.
    checks.equal(root.config_read(0x48), 0x2820, "DEVICE_CONTROL");
    checks.equal(bench.status_after(2000), 0, "status");
    checks.equal(root.bar0(FERRY_BAR0_LOCAL_LIMIT), 1u << 26, "LOCAL_LIMIT");
    checks.equal(root.bar0(FERRY_BAR0_SCRATCH), 0, "SCRATCH");
    checks.equal(root.bar0(FERRY_BAR0_MAGIC), FERRY_BAR0_MAGIC_RESET, "MAGIC");
    bench.start();
    ends();
    checks.equal(bench.paging().status(), FERRY_BUFFER_STATUS_FAULTED, "status without a mapping");
    checks.equal(bench.last_kind(), FERRY_FAULT_KIND_APERTURE_INVALID, "fault kind");
    bench.works();
}

// After a reset the aperture table is cleared, an entry a cycle, and who looks there waits for that: no memory is dead.
void table_is_cleared(Checks &checks, Random &random)
{
    checks.begin("a_job_that_waits_while_the_aperture_table_is_cleared_is_not_taken_for_one_that_memory_lets_wait");
    for (bool writes : {false, true}) {
        Bench bench(checks, random);
        RootComplex &root = bench.root();
        bench.reset();
        root.run(300);
        const uint64_t from = root.time;
        root.enumerate();
        // The firmware is there still.
        root.bar0(FERRY_BAR0_HOST_CONTRACT, FERRY_CONTRACT_VERSION);
        root.bar0(FERRY_BAR0_CONTROL, 1);
        root.bar0_64(FERRY_BAR0_FAULT_LOG_ADDRESS, FAULTS);
        root.bar0(FERRY_BAR0_FAULT_LOG_ENTRIES_LOG2, 5);
        root.bar0(FERRY_BAR0_ENGINE_TIMEOUT, 250);
        bench.paging().begin_anew(7);
        const uint32_t to = writes ? FERRY_ADDRESS_KIND_APERTURE : FERRY_ADDRESS_KIND_LOCAL;
        bench.paging().copy(writes ? FERRY_ADDRESS_KIND_LOCAL : FERRY_ADDRESS_KIND_APERTURE, 0, to, 4095 * 4096, 64);
        bench.paging().submit();
        bool stuck = false;
        for (unsigned i = 0; i < 1000 && !bench.paging().idle(); i++)
            stuck |= root.bar0(FERRY_BAR0_STATUS) & FERRY_BAR0_STATUS_ENGINE_STUCK_MASK;
        checks.that(root.time - from > 4096, "the table was not cleared before");
        checks.that(bench.paging().idle(), "fence of a job on a page that is not mapped");
        checks.that(!stuck, "memory is not given up on");
        checks.equal(bench.last_kind(), FERRY_FAULT_KIND_APERTURE_INVALID, "fault kind");
        bench.works();
    }
}

void memory_is_dead(Checks &checks, Random &random)
{
    checks.begin("a_function_reset_with_dead_memory_ends_and_status_says_that_the_engine_is_stuck");
    Bench bench(checks, random);
    RootComplex &root = bench.root();
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < 20; i++)
            bench.paging().copy(FERRY_ADDRESS_KIND_LOCAL, 0, FERRY_ADDRESS_KIND_LOCAL, AREA, 5000);
        bench.paging().submit();
        root.run(2000 + random.below(2000));
        root.memory_dead = true;
        root.run(random.below(200));
        root.bar0(FERRY_BAR0_SCRATCH, 0x1234);
        bench.reset();
        // During a reset the engine gives memory up after 65,536 cycles by itself.
        checks.equal(bench.status_after(70000) & ~OWED, FERRY_BAR0_STATUS_ENGINE_STUCK_MASK, "status");
        // It has ended: all but the engine is as after power on.
        checks.equal(root.bar0(FERRY_BAR0_SCRATCH), 0, "SCRATCH");
        root.memory_dead = false;
        for (int i = 0; i < 1000 && root.bar0(FERRY_BAR0_STATUS); i++)
            root.run(20);
        checks.equal(root.bar0(FERRY_BAR0_STATUS), 0, "status when memory is back");
        bench.start();
        bench.works();
    }
}

// Words of VIEW that a new driver has not written are 0, as they read, whatever range the one before has shown.
void views_are_gone(Checks &checks, Random &random)
{
    checks.begin("after_a_function_reset_no_word_of_a_range_of_tiles_is_left");
    Bench bench(checks, random);
    RootComplex &root = bench.root();
    const uint64_t ROWS = RootComplex::BAR2 + (1u << 26);
    const uint32_t TILES = 0x30000, SHOWN = FERRY_BAR0_VIEW_LAYOUT_ENABLE_MASK | FERRY_BAR0_VIEW_LAYOUT_SMALL_MASK | 1;
    auto put = [&](unsigned range, uint32_t word, uint32_t value) {
        root.bar0(FERRY_BAR0_VIEW_AT + range * FERRY_BAR0_VIEW_STRIDE + word, value);
    };
    auto word_at = [&](uint32_t at) {
        return root.local[at] | root.local[at + 1] << 8 | root.local[at + 2] << 16 | uint32_t{root.local[at + 3]} << 24;
    };
    for (unsigned range = 0; range < 4; range++) {
        put(range, FERRY_BAR0_VIEW_FIRST_PAGE, (TILES >> 12) + range);
        put(range, FERRY_BAR0_VIEW_PAGES, 1);
        put(range, FERRY_BAR0_VIEW_ROW_BYTES, 64);
        put(range, FERRY_BAR0_VIEW_LAYOUT, SHOWN);
        checks.equal(root.read(ROWS + TILES + 4096 * range), word_at(TILES + 4096 * range), "a range that is shown");
    }
    bench.reset();
    checks.equal(bench.status_after(2000), 0, "status");
    for (unsigned range = 0; range < 4; range++) {
        const uint32_t at = TILES + 4096 * range;
        put(range, FERRY_BAR0_VIEW_LAYOUT, SHOWN);
        checks.equal(root.read(ROWS + at), 0xffffffff, "a range of no pages");
        put(range, FERRY_BAR0_VIEW_PAGES, 1);
        checks.equal(root.read(ROWS + at), 0xffffffff, "rows without bytes");
        put(range, FERRY_BAR0_VIEW_ROW_BYTES, 64);
        checks.equal(root.read(ROWS + at), 0xffffffff, "a range whose first page is another");
        checks.equal(root.read(ROWS), word_at(0), "the first page of video memory");
        put(range, FERRY_BAR0_VIEW_FIRST_PAGE, at >> 12);
        checks.equal(root.read(ROWS), 0xffffffff, "the range is elsewhere");
        checks.equal(root.read(ROWS + at), word_at(at), "a range that is shown again");
    }
    bench.start();
    bench.works();
}

// Memory comes back while the reset goes on. The engine, given up on, is not reset itself, and throws its jobs away one
// after the other; each looks up its first page in a list, or in the aperture table, which are reset, in any cycle of
// that look-up.
void memory_comes_back(Checks &checks, Random &random)
{
    checks.begin("a_function_reset_in_any_cycle_in_which_memory_comes_back_leaves_an_engine_that_works");
    for (unsigned after = 0; after < 40; after++) {
        Bench bench(checks, random);
        RootComplex &root = bench.root();
        root.bar0(FERRY_BAR0_ENGINE_TIMEOUT, 2000);
        root.memory_dead = true;
        for (unsigned i = 0; i < 40; i++) {
            bench.paging().word(FERRY_OPCODE_COPY_PAGES | FERRY_PACKET_HEADER_UNORDERED_MASK | 8u << 16,
                                FERRY_ADDRESS_KIND_LOCAL | FERRY_ADDRESS_KIND_SYSTEM << 2 |
                                    FERRY_LIST_SIDE_DESTINATION << 4);
            bench.paging().word(64, 0).word(i * 64).word(DATA + i * 4096);
        }
        bench.paging().submit();
        root.run(6000);
        const uint32_t control = root.config_read(0x48);
        root.send({0x44000001, 0x1f0f, 0x01000048, control | RESET});
        root.run(after);
        root.memory_dead = false;
        checks.equal(bench.status_after(9000), 0, "status");
        if (checks.faults())
            return; // It never ends.
        bench.start();
        bench.works();
    }
}

// Packets of every kind into the running device, whose registers they write too: what they make it do is theirs to
// answer for, but a driver that comes after them finds a device that works.
void after_a_hostile_host(Checks &checks, Random &random)
{
    checks.begin("whatever_a_hostile_host_sent_a_function_reset_leaves_a_device_that_works");
    Bench bench(checks, random);
    RootComplex &root = bench.root();
    HostilePackets packets([&random] { return random.word(); });
    for (unsigned round = 0; round < rounds(10, 25); round++) {
        packets.bar0 = RootComplex::BAR0;
        packets.bar2 = RootComplex::BAR2;
        for (unsigned count = 50 + random.below(400); count; count--) {
            if (random.once_in(20))
                bench.paging().copy(FERRY_ADDRESS_KIND_SYSTEM, DATA, FERRY_ADDRESS_KIND_LOCAL, AREA, 8000).submit();
            root.send(packets.next());
            root.run(random.below(40));
        }
        for (int i = 0; i < 2000 && !root.sent_all(); i++)
            root.run(100);
        checks.that(root.sent_all(), "every packet is taken");
        root.run(3000);
        bench.reset();
        checks.equal(bench.status_after(20000), 0, "status");
        bench.start();
        bench.works();
        root.write(RootComplex::BAR2 + 0x10, 0x600d600d);
        checks.equal(root.read(RootComplex::BAR2 + 0x10), 0x600d600d, "word of the window");
    }
}

// A job of any kind, in any direction.
void any_job(Random &random, Ring &ring, unsigned number)
{
    const uint64_t out = DATA + 32 * 4096;
    const uint32_t unordered = random.once_in(3) ? 0 : FERRY_PACKET_HEADER_UNORDERED_MASK;
    const unsigned what = random.below(5), bytes = 1 + random.below(random.once_in(2) ? 200 : 20000);
    const bool to_host = what == 0, from_host = what == 1;
    if (what < 3) {
        ring.word(FERRY_OPCODE_COPY | unordered | 8u << 16,
                  (from_host ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL) |
                      (to_host ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL) << 2);
        ring.word(bytes).word((from_host ? DATA : 0) + random.below(99));
        ring.word((to_host ? out : AREA) + random.below(99));
    } else if (what == 3) {
        ring.word(FERRY_OPCODE_COPY_PAGES | unordered | 10u << 16,
                  FERRY_ADDRESS_KIND_LOCAL | FERRY_ADDRESS_KIND_SYSTEM << 2 | FERRY_LIST_SIDE_DESTINATION << 4);
        ring.word(8192, 0).word(number * 64).word(out).word(out + 4096);
    } else {
        const bool host = random.once_in(2);
        ring.fill(host ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL, host ? out : AREA, bytes, 3, 0x55);
    }
}

// A link that is slow or takes nothing, a host that does not answer, memory that is slow or dies: each or none.
void any_trouble(Random &random, RootComplex &root)
{
    root.link_pace = random.once_in(2) ? 1 : 2 + random.below(30);
    root.memory_pace = random.once_in(2) ? 1 : 2 + random.below(9);
    root.posted_credits = !random.once_in(4);
    root.request_credits = !random.once_in(4);
    root.host_silent = random.once_in(3);
    root.run(random.below(300));
    root.memory_dead = !random.once_in(5);
    root.run(random.once_in(2) ? random.below(500) : 5000);
}

void whatever_is_under_way(Checks &checks, Random &random)
{
    checks.begin("whatever_is_under_way_nothing_begins_behind_a_function_reset_and_the_device_works_when_memory_does");
    const char *given = std::getenv("FERRY_RESETS");
    unsigned stuck = 0;
    for (unsigned round = 0, all = given ? unsigned(std::atoi(given)) : rounds(6, 12); round < all; round++) {
        Bench bench(checks, random);
        RootComplex &root = bench.root();
        root.bar0(FERRY_BAR0_ENGINE_TIMEOUT, random.once_in(2) ? 0 : 1000 + random.below(2000));
        if (random.once_in(2))
            root.bar0(FERRY_BAR0_COMPLETION_TIMEOUT, 0);
        for (unsigned i = 0, jobs = 1 + random.below(60); i < jobs; i++)
            any_job(random, bench.paging(), i);
        bench.paging().submit(FERRY_RING_ENTRY_FLAGS_INTERRUPT_MASK);
        root.run(1200 + random.below(1500));
        any_trouble(random, root);
        bench.reset();
        root.silent_from = root.time;
        if (random.once_in(3)) {
            root.run(random.below(400));
            root.memory_dead = false;
        }
        root.run(72000);
        root.link_pace = root.memory_pace = 1;
        root.posted_credits = root.request_credits = true;
        const uint32_t status = bench.status_after(6000) & ~OWED;
        const bool is_stuck = status == FERRY_BAR0_STATUS_ENGINE_STUCK_MASK && root.memory_dead;
        checks.that(status == 0 || is_stuck, "the reset has ended");
        stuck += is_stuck;
        root.host_silent = root.memory_dead = false;
        for (int i = 0; i < 2000 && root.bar0(FERRY_BAR0_STATUS); i++)
            root.run(20);
        checks.equal(root.bar0(FERRY_BAR0_STATUS), 0, "status when memory is back");
        checks.equal(root.indiscreet, 0, "packets that began after the reset");
        if (checks.faults())
            return;
        root.silent_from = ~0ull;
        if (root.unanswered() > 28)
            root.answer_late();
        bench.start();
        bench.works();
    }
    std::printf("    %u ended with an engine that memory kept\n", stuck);
}

} // namespace

int main()
{
    Random random;
    Checks checks;
    host_owes_answers(checks, random);
    in_front_of_the_link(checks, random);
    mappings_are_gone(checks, random);
    views_are_gone(checks, random);
    table_is_cleared(checks, random);
    memory_is_dead(checks, random);
    function_resets_of_tables(checks, random);
    function_resets_of_writes(checks, random);
    memory_comes_back(checks, random);
    after_a_hostile_host(checks, random);
    whatever_is_under_way(checks, random);
    return checks.done();
}
