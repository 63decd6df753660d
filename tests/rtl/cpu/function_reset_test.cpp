// SPDX-License-Identifier: Apache-2.0
// Function level reset (PCI Express base specification 6.6.2) of the whole device with its firmware: it ends although
// the host owes answers or memory is dead, nothing of before it is left, and the device works again. What it does at
// any cycle of a running program is rtl_restart's.
#include "../host/hostile_packets.h"
#include "host_ring.h"

namespace
{

const uint32_t AREA = DATA_PAGES * 4096;
// What the engine still waits for on the bus of dead memory.
const uint32_t OWED =
    FERRY_BAR0_STATUS_ENGINE_MASK | FERRY_BAR0_STATUS_ENGINE_READ_MASK | FERRY_BAR0_STATUS_ENGINE_WRITE_MASK;
const uint32_t RESET = FERRY_CONFIG_SPACE_DEVICE_CONTROL_INITIATE_FUNCTION_RESET_MASK;

class Bench
{
  public:
    Bench(Checks &checks, Random &random) : checks_(checks), random_(random), root_(random)
    {
        furnish(root_, random);
        start();
    }

    // What a driver does with a device that it has just found.
    void start()
    {
        root_.enumerate();
        std::memset(root_.page(FENCES), 0, 4096);
        checks_.that(root_.boot("build/firmware/firmware.bin"), "firmware serves rings");
        root_.bar0_64(FERRY_BAR0_FAULT_LOG_ADDRESS, FAULTS);
        root_.bar0(FERRY_BAR0_FAULT_LOG_ENTRIES_LOG2, 5);
        rings_.clear();
        rings_.emplace_back(root_, 0, 7 | FERRY_BAR0_RING_RIGHTS_TABLES_MASK);
    }
    Ring &paging() { return rings_[0]; }
    RootComplex &root() { return root_; }

    void reset() { root_.config_write(0x48, root_.config_read(0x48) | RESET); }
    // Software may have to wait 100 ms; without dead memory it is some thousand cycles at most.
    uint32_t status_after(unsigned cycles)
    {
        root_.run(cycles);
        root_.enumerate();
        return root_.bar0(FERRY_BAR0_STATUS);
    }
    uint32_t last_kind()
    {
        uint32_t produced = root_.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED);
        uint32_t what = static_cast<uint32_t>(root_.load64(FAULTS + (produced - 1) % 32 * 64) >> 32);
        root_.bar0(FERRY_BAR0_FAULT_LOG_CONSUMED, produced);
        return FERRY_GET(FERRY_FAULT_RECORD_WHAT_KIND, what);
    }
    // Page-in and page-out.
    void works()
    {
        uint32_t bytes = 1 + random_.below(20000), to = AREA + random_.below(99);
        uint64_t back = DATA + 32 * 4096 + random_.below(99);
        paging().copy(FERRY_ADDRESS_KIND_SYSTEM, DATA, FERRY_ADDRESS_KIND_LOCAL, to, bytes);
        paging().copy(FERRY_ADDRESS_KIND_LOCAL, to, FERRY_ADDRESS_KIND_SYSTEM, back, bytes).submit();
        checks_.that(paging().wait(), "fence of a good buffer");
        checks_.equal(paging().status(), FERRY_BUFFER_STATUS_SUCCESS, "status of a good buffer");
        for (uint32_t i = 0; i < bytes; i++)
            checks_.equal(root_.byte(back + i), root_.byte(DATA + i), "byte that went there and back");
        checks_.equal(root_.broken, 0, "broken rules of buses and link");
    }

  private:
    Checks &checks_;
    Random &random_;
    RootComplex root_;
    std::vector<Ring> rings_;
};

void host_owes_answers(Checks &checks, Random &random)
{
    checks.begin("a_function_reset_ends_though_the_host_owes_answers_that_come_long_after_it");
    for (unsigned round = 0; round < 12; round++) {
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
    for (unsigned round = 0; round < 60; round++) {
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
    bench.paging().word(FERRY_OPCODE_MAP_APERTURE | 6u << 16, 0).word(7, 1).word(DATA);
    bench.paging().copy(FERRY_ADDRESS_KIND_APERTURE, 7 * 4096, FERRY_ADDRESS_KIND_LOCAL, AREA, 64).submit();
    checks.that(bench.paging().wait(), "fence");
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
    bench.paging().copy(FERRY_ADDRESS_KIND_APERTURE, 7 * 4096, FERRY_ADDRESS_KIND_LOCAL, AREA, 64).submit();
    checks.that(bench.paging().wait(), "fence");
    checks.equal(bench.paging().status(), FERRY_BUFFER_STATUS_FAULTED, "status without a mapping");
    checks.equal(bench.last_kind(), FERRY_FAULT_KIND_APERTURE_INVALID, "fault kind");
    bench.works();
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

// What is known of page tables goes with a reset, also if memory keeps the engine and what it asked the tables.
void roots_are_gone(Checks &checks, Random &random)
{
    checks.begin("after_a_function_reset_no_space_has_tables_nor_is_anything_known_of_them");
    const unsigned SPACE = 3;
    const uint32_t TABLE = 0x200000, PLACE = 0x300000;
    const uint64_t LEAF = FERRY_TABLE_ENTRY_ENTRY_VALID_MASK | FERRY_TABLE_ENTRY_ENTRY_LEAF_MASK;
    for (unsigned round = 0; round < 6; round++) {
        Bench bench(checks, random);
        RootComplex &root = bench.root();
        auto is_there = [&](const char *what) {
            bench.paging().copy(FERRY_ADDRESS_KIND_VIRTUAL, 64, FERRY_ADDRESS_KIND_LOCAL, AREA, 64).submit(SPACE << 4);
            checks.that(bench.paging().wait(), what);
            return bench.paging().status() == FERRY_BUFFER_STATUS_SUCCESS;
        };
        for (unsigned i = 0; i < 512; i++)
            for (unsigned b = 0; b < 8; b++)
                root.local[TABLE + 8 * i + b] = static_cast<uint8_t>((LEAF | (PLACE + 4096 * i)) >> 8 * b);
        auto name_table = [&] {
            bench.paging().word(FERRY_OPCODE_ROOT | 6u << 16, 0);
            bench.paging().word(SPACE | FERRY_PACKET_ROOT_SPACE_VALID_MASK, 0).word(uint64_t{TABLE});
        };
        name_table();
        checks.that(is_there("a page of a space"), "a page of a space");
        bool dead = round != 0;
        if (dead) {
            // Walks under way, of pages that are not known yet.
            for (unsigned i = 0; i < 12; i++)
                bench.paging().copy(FERRY_ADDRESS_KIND_VIRTUAL, 0x9000 + i * 0x11000, FERRY_ADDRESS_KIND_LOCAL, AREA,
                                    9000);
            bench.paging().submit(SPACE << 4);
            root.run(1200 + random.below(1200));
            root.memory_dead = true;
        }
        bench.reset();
        checks.equal(bench.status_after(70000) & ~OWED, dead ? FERRY_BAR0_STATUS_ENGINE_STUCK_MASK : 0, "status");
        root.memory_dead = false;
        for (int i = 0; i < 1000 && root.bar0(FERRY_BAR0_STATUS); i++)
            root.run(20);
        checks.equal(root.bar0(FERRY_BAR0_STATUS), 0, "status when memory is back");
        bench.start();
        checks.that(!is_there("a page of nobody's space"), "a page of nobody's space");
        checks.equal(bench.last_kind(), FERRY_FAULT_KIND_PAGE_ABSENT, "fault kind");
        // What was known of the space under its former root is not known under another.
        for (unsigned i = 0; i < 4096; i++)
            root.local[TABLE + i] = 0;
        name_table();
        checks.that(!is_there("a page that the new owner has not"), "a page that the new owner has not");
        checks.equal(bench.last_kind(), FERRY_FAULT_KIND_PAGE_ABSENT, "fault kind");
        bench.works();
    }
}

// A job needs one entry of a line, and memory takes its time with the others: the engine is done, so nothing else keeps
// a function reset waiting. Either it waits for them, or the engine says that memory is given up on, and takes no job
// until they have come: they are no answer to a walk of the next driver's.
void a_line_is_owed(Checks &checks, Random &random)
{
    checks.begin("what_memory_owes_of_a_line_at_a_function_reset_translates_nothing_afterwards");
    const unsigned SPACE = 3, PAGE = 0x40;
    const uint32_t OLD_TABLE = 0x200000, TABLE = 0x210000, OLD = 0x400000, PLACE = 0x800000;
    const uint64_t LEAF = FERRY_TABLE_ENTRY_ENTRY_VALID_MASK | FERRY_TABLE_ENTRY_ENTRY_LEAF_MASK;
    Bench bench(checks, random);
    RootComplex &root = bench.root();
    auto entry = [&](uint32_t at, uint64_t value) {
        root.write(RootComplex::BAR2 + at, static_cast<uint32_t>(value));
        root.write(RootComplex::BAR2 + at + 4, static_cast<uint32_t>(value >> 32));
    };
    auto name_table = [&](uint32_t table) {
        bench.paging().word(FERRY_OPCODE_ROOT | 6u << 16, 0);
        bench.paging().word(SPACE | FERRY_PACKET_ROOT_SPACE_VALID_MASK, 0).word(uint64_t{table}).submit();
        checks.that(bench.paging().wait(), "a root");
    };
    entry(OLD_TABLE, LEAF | DATA | FERRY_TABLE_ENTRY_ENTRY_HOST_MASK);
    for (unsigned i = 1; i < 8; i++)
        entry(OLD_TABLE + 8 * i, LEAF | (OLD + 4096 * i));
    name_table(OLD_TABLE);
    root.holds_in = 1;
    bench.paging().fill(FERRY_ADDRESS_KIND_VIRTUAL, 0, 64, 3, random.word()).submit(SPACE << 4);
    checks.that(bench.paging().wait(), "a job that needs one entry");
    checks.equal(bench.paging().status(), FERRY_BUFFER_STATUS_SUCCESS, "a job that needs one entry");
    checks.that(root.reads_held, "memory owes the others");
    root.holds_in = -1;
    bench.reset();
    checks.equal(bench.status_after(70000), FERRY_BAR0_STATUS_ENGINE_STUCK_MASK, "status");

    bench.start();
    for (unsigned i = 0; i < 8; i++)
        entry(TABLE + 8 * (PAGE + i), LEAF | (PLACE + 4096 * i));
    name_table(TABLE);
    unsigned elsewhere = 0;
    root.on_local_write = [&](uint64_t at, uint8_t) { elsewhere += at < PLACE || at >= PLACE + 64; };
    root.reads_held = false;
    for (unsigned i = 0; root.bar0(FERRY_BAR0_STATUS) & FERRY_BAR0_STATUS_ENGINE_STUCK_MASK; i++)
        if (i > 100)
            return checks.that(false, "memory is trusted again");
    bench.paging()
        .copy(FERRY_ADDRESS_KIND_SYSTEM, DATA, FERRY_ADDRESS_KIND_VIRTUAL, PAGE * 4096, 64)
        .submit(SPACE << 4);
    checks.that(bench.paging().wait(), "fence of the next driver's job");
    checks.equal(bench.paging().status(), FERRY_BUFFER_STATUS_SUCCESS, "status of the next driver's job");
    checks.equal(elsewhere, 0, "bytes written that are not the job's");
    for (unsigned i = 0; i < 64; i++)
        checks.equal(root.local[PLACE + i], root.byte(DATA + i), "byte of the job");
    root.on_local_write = nullptr;
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
    for (unsigned round = 0; round < 25; round++) {
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
    const char *rounds = std::getenv("FERRY_RESETS");
    unsigned stuck = 0;
    for (unsigned round = 0, all = rounds ? unsigned(std::atoi(rounds)) : 12; round < all; round++) {
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
    memory_is_dead(checks, random);
    roots_are_gone(checks, random);
    a_line_is_owed(checks, random);
    memory_comes_back(checks, random);
    after_a_hostile_host(checks, random);
    whatever_is_under_way(checks, random);
    return checks.done();
}
