// SPDX-License-Identifier: Apache-2.0
// What a function level reset does to page tables: nothing that is known of them, nothing that was asked or is owed of
// them, is of use to the next driver or in its way.
#include "function_reset.h"

namespace
{

const unsigned SPACE = 3;
const uint64_t LEAF = FERRY_TABLE_ENTRY_ENTRY_VALID_MASK | FERRY_TABLE_ENTRY_ENTRY_LEAF_MASK;

// What is known of page tables goes with a reset, also if memory keeps the engine and what it asked the tables.
void roots_are_gone(Checks &checks, Random &random)
{
    checks.begin("after_a_function_reset_no_space_has_tables_nor_is_anything_known_of_them");
    const uint32_t TABLE = 0x200000, PLACE = 0x300000;
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
    const unsigned PAGE = 0x40;
    const uint32_t OLD_TABLE = 0x200000, TABLE = 0x210000, OLD = 0x400000, PLACE = 0x800000;
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

// Two levels: the lower tables of one area in video memory, of the next in the host's.
const uint32_t LOW_LOCAL = 0x200000, TOP = 0x210000, LARGE = 1u << 21;
const uint64_t LOW_HOST = HOST + 0x800000, LINK = FERRY_TABLE_ENTRY_ENTRY_VALID_MASK;

void put_tables(Checks &checks, Bench &bench)
{
    RootComplex &root = bench.root();
    auto local = [&](uint32_t at, uint64_t value) {
        for (unsigned b = 0; b < 8; b++)
            root.local[at + b] = static_cast<uint8_t>(value >> 8 * b);
    };
    root.map(LOW_HOST);
    for (unsigned i = 0; i < 512; i++) {
        local(LOW_LOCAL + 8 * i, LEAF | (AREA + 4096 * i));
        root.store64(LOW_HOST + 8 * i, LEAF | (AREA + LARGE + 4096 * i));
    }
    local(TOP, LINK | LOW_LOCAL);
    // And to the same host's table as a third area, which nothing is known of.
    local(TOP + 8, LINK | LOW_HOST | FERRY_TABLE_ENTRY_ENTRY_HOST_MASK);
    local(TOP + 16, LINK | LOW_HOST | FERRY_TABLE_ENTRY_ENTRY_HOST_MASK);
    bench.paging().word(FERRY_OPCODE_ROOT | 6u << 16, 0);
    bench.paging().word(SPACE | 1u << 8 | FERRY_PACKET_ROOT_SPACE_VALID_MASK, 0).word(uint64_t{TOP});
    // The upper one is known to both sides of the engine.
    for (uint32_t from : {0u, LARGE})
        for (uint32_t to : {0u, LARGE})
            bench.paging().copy(FERRY_ADDRESS_KIND_VIRTUAL, from, FERRY_ADDRESS_KIND_VIRTUAL, to, 64);
    bench.paging().submit(SPACE << 4);
    checks.that(bench.paging().wait(), "tables");
    checks.equal(bench.paging().status(), FERRY_BUFFER_STATUS_SUCCESS, "tables");
    root.bar0(FERRY_BAR0_ENGINE_TIMEOUT, 2000);
}

// Both sides are to read a table of the host's memory when the link takes no more requests: one stands in front of the
// link, and the other's behind it. The engine has given memory up, so nothing waits for them.
void a_table_waits_behind_another(Checks &checks, Random &random)
{
    checks.begin("after_a_function_reset_the_host_is_not_asked_for_a_table_of_before");
    for (unsigned round = 0; round < 6; round++) {
        Bench bench(checks, random);
        RootComplex &root = bench.root();
        put_tables(checks, bench);
        root.on_local_read = [&](uint64_t) { root.request_credits = false; };
        bench.paging()
            .copy(FERRY_ADDRESS_KIND_LOCAL, 0, FERRY_ADDRESS_KIND_LOCAL, AREA, 200)
            .copy(FERRY_ADDRESS_KIND_VIRTUAL, LARGE + 0x10000, FERRY_ADDRESS_KIND_VIRTUAL, LARGE + 0x40000, 9000)
            .submit(SPACE << 4);
        root.run(5000 + random.below(1000));
        checks.that(root.bar0(FERRY_BAR0_STATUS) & FERRY_BAR0_STATUS_ENGINE_STUCK_MASK, "memory is given up");
        // Whether or not the core has come to rest before.
        if (round % 2) {
            root.bar0(FERRY_BAR0_CONTROL, 0);
            root.run(3000);
        }
        bench.reset();
        root.silent_from = root.time;
        root.run(500);
        root.on_local_read = nullptr;
        root.request_credits = true;
        checks.equal(bench.status_after(500), 0, "status");
        checks.equal(root.indiscreet, 0, "packets that began after the reset");
        root.silent_from = ~0ull;
        bench.start();
        bench.works();
    }
}

// Memory dies in the midst of a line of a table, for which the other side's line, of the host's memory, has to wait. It
// keeps the engine; but the reset ends.
void a_table_waits_for_dead_memory(Checks &checks, Random &random)
{
    checks.begin("a_function_reset_ends_though_a_table_of_the_hosts_waits_for_the_rest_of_one_of_dead_memory");
    for (int beats = 1; beats < 8; beats++) {
        Bench bench(checks, random);
        RootComplex &root = bench.root();
        put_tables(checks, bench);
        root.on_local_read = [&](uint64_t at) {
            if (at == LOW_LOCAL + 8 * 0x10)
                root.dies_in = beats;
        };
        bench.paging()
            .copy(FERRY_ADDRESS_KIND_VIRTUAL, 0x10000, FERRY_ADDRESS_KIND_VIRTUAL, LARGE + 0x40000, 9000)
            .submit(SPACE << 4);
        root.run(5000 + random.below(1000));
        checks.that(root.memory_dead, "memory is dead");
        bench.reset();
        checks.equal(bench.status_after(70000) & ~OWED, FERRY_BAR0_STATUS_ENGINE_STUCK_MASK, "status");
        checks.equal(root.config_read(0x48) >> 21 & 1, 0, "transactions pending");
        root.memory_dead = false;
        for (int i = 0; i < 1000 && root.bar0(FERRY_BAR0_STATUS); i++)
            root.run(20);
        checks.equal(root.bar0(FERRY_BAR0_STATUS), 0, "status when memory is back");
        bench.start();
        bench.works();
    }
}

// Jobs into pages whose tables are the host's wait behind one that dead memory keeps, or whose own walk it keeps in
// front of such a table. They are over, as the fence says: when memory comes back they are thrown away, and the host,
// which may have other things there by then, is asked for none of the tables. Whether or not the core was stopped
// meanwhile.
void a_job_thrown_away_reads_no_table(Checks &checks, Random &random)
{
    checks.begin("the_host_is_asked_for_no_table_by_jobs_that_are_over_when_memory_comes_back");
    for (unsigned round = 0; round < 4; round++) {
        Bench bench(checks, random);
        RootComplex &root = bench.root();
        put_tables(checks, bench);
        const bool walk = round / 2;
        root.on_local_read = [&](uint64_t at) { root.memory_dead |= !walk || at == TOP + 16; };
        if (walk)
            bench.paging().fill(FERRY_ADDRESS_KIND_VIRTUAL, 2 * LARGE, 200, 0, 7);
        else
            bench.paging().copy(FERRY_ADDRESS_KIND_LOCAL, 0, FERRY_ADDRESS_KIND_LOCAL, AREA, 200);
        for (unsigned i = 1; i < 8; i++)
            bench.paging().copy(FERRY_ADDRESS_KIND_LOCAL, 0, FERRY_ADDRESS_KIND_VIRTUAL, LARGE + i * 0x10000, 300);
        bench.paging().submit(SPACE << 4);
        checks.that(bench.paging().wait(20000), "fence of what memory keeps");
        checks.equal(bench.paging().status(), FERRY_BUFFER_STATUS_FAULTED, "status of what memory keeps");
        if (round % 2)
            root.bar0(FERRY_BAR0_CONTROL, 0);
        root.run(3000);
        checks.equal(root.bar0(FERRY_BAR0_STATUS) & FERRY_BAR0_STATUS_STOPPING_MASK, 0, "STOPPING");
        root.silent_from = root.time;
        root.on_local_read = nullptr;
        root.memory_dead = false;
        for (int i = 0; i < 1000 && root.bar0(FERRY_BAR0_STATUS) & FERRY_BAR0_STATUS_ENGINE_STUCK_MASK; i++)
            root.run(20);
        checks.equal(root.indiscreet, 0, "packets that began after the fence");
        root.silent_from = ~0ull;
        root.bar0(FERRY_BAR0_CONTROL, 1);
        root.run(3000);
        bench.works();
    }
}

} // namespace

void function_resets_of_tables(Checks &checks, Random &random)
{
    roots_are_gone(checks, random);
    a_line_is_owed(checks, random);
    a_table_waits_behind_another(checks, random);
    a_table_waits_for_dead_memory(checks, random);
    a_job_thrown_away_reads_no_table(checks, random);
}
