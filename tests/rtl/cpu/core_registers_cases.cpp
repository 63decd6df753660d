// SPDX-License-Identifier: Apache-2.0
// The core's registers apart from how buffers end: packets and other events are counted, the host's words are the
// host's, and what the core tells the tables stands until it is taken.
#include "endings_cases.h"

namespace
{

// The core counts a packet of its own in every cycle in which it may, while the sequencer's come as fast as they can.
void packets(Checks &checks, Random &random)
{
    checks.begin("packets_of_the_core_and_the_sequencer_are_counted_though_they_come_at_once");
    Bench bench(checks, random);
    bench.poison_pace = 1u << 30;
    bench.retire_pace = 1;
    bench.claim(0, 1, 2000, false);
    bench.claim(1, 2, 2000, false);
    for (unsigned i = 0; i < 3000; i++) {
        bench.core(true, FERRY_CORE_PACKETS, 1);
        bench.jobs++;
    }
    for (int i = 0; i < 40000 && (bench.slots[0].to_offer || bench.slots[1].to_offer); i++)
        bench.tick();
    for (int i = 0; i < 10; i++)
        bench.tick();
    checks.that(bench.jobs > 4500, "enough packets");
    checks.equal(bench.packets, bench.jobs, "packets counted");
}

// Of the words that the host sees the core may change four; whatever it writes to the others, they stay.
void host_words(Checks &checks, Random &random)
{
    checks.begin("the_core_changes_no_word_of_the_hosts_but_its_own_four");
    Bench bench(checks, random);
    for (uint32_t address = 0x400; address < 0x800; address += 4) {
        uint32_t before = bench.host(false, address - 0x400);
        bool own = address == FERRY_CORE_FIRMWARE_VERSION || address == FERRY_CORE_FIRMWARE_STATE ||
                   address == FERRY_CORE_HALT_CODE || address == FERRY_CORE_HALT_ARGUMENT;
        bench.core(true, address, ~before);
        checks.equal(bench.core(false, address), own ? ~before : before, "a word as the core reads it");
        checks.equal(bench.host(false, address - 0x400), own ? ~before : before, "a word of the host's");
    }
}

// What FETCH_NEXT shows: only a buffer of the paging ring is one that WORK tells of, and to take a buffer is work. An
// engine's fault is cleared by a 1 in its place.
void work(Checks &checks, Random &random)
{
    checks.begin("work_tells_of_the_paging_rings_buffers_and_who_takes_one_is_busy");
    Bench bench(checks, random);
    const uint32_t shown = FERRY_CORE_FETCH_NEXT_VALID_MASK;
    auto busy = [&] { return bench.core(false, FERRY_CORE_BUSY) & 1; };
    for (unsigned ring = 0; ring < 5; ring++)
        for (uint32_t valid : {0u, shown}) {
            bench.top.fetch_next = valid | FERRY_PUT(FERRY_CORE_FETCH_NEXT_RING, ring);
            uint32_t waits = bench.core(false, FERRY_CORE_WORK) & FERRY_CORE_WORK_PAGING_MASK;
            checks.equal(waits != 0, valid && ring == 0, "a paging buffer waits");
            bench.core(true, FERRY_CORE_BUSY, !valid);
            checks.equal(bench.core(false, FERRY_CORE_FETCH_NEXT), bench.top.fetch_next, "FETCH_NEXT");
            checks.equal(busy(), valid != 0, "busy with what was taken");
        }
    checks.begin("a_fault_of_the_engine_is_cleared_by_a_1_in_its_place");
    for (unsigned bit = 0; bit < 32; bit++) {
        bench.core(true, FERRY_CORE_ENGINE_FAULT, 1u << bit);
        checks.equal(bench.top.fault_clear, bit == FERRY_CORE_ENGINE_FAULT_VALID_SHIFT, "the fault is cleared");
    }
}

void table(Checks &checks, Random &random)
{
    checks.begin("a_change_of_the_table_stays_as_it_is_until_it_is_taken");
    Bench bench(checks, random);
    for (unsigned round = 0; round < 200; round++) {
        uint32_t words[6];
        const uint32_t places[6] = {FERRY_CORE_MMU_FIRST,     FERRY_CORE_MMU_COUNT,      FERRY_CORE_MMU_LIST,
                                    FERRY_CORE_MMU_DUMMY_LOW, FERRY_CORE_MMU_DUMMY_HIGH, FERRY_CORE_MMU_CONTROL};
        bench.update_pace = 1 + random.below(30);
        for (unsigned i = 0; i < 6; i++) {
            words[i] = static_cast<uint32_t>(random.word()) & (i == 2 ? 0xffff : i == 5 ? 3 : ~0u);
            bench.core(true, places[i], words[i]);
        }
        // Taken as it was written, whatever the core writes behind it.
        bench.top.io_valid = bench.top.io_write = 1;
        bench.top.io_address = places[random.below(5)];
        bench.top.io_wdata = ~words[0];
        do {
            bench.top.eval();
            checks.equal(bench.top.update_first, words[0], "first page");
            checks.equal(bench.top.update_count, words[1], "pages");
            checks.equal(bench.top.update_list, words[2], "list");
            checks.equal(bench.top.update_dummy, words[3] | uint64_t{words[4]} << 32, "dummy page");
            checks.equal(bench.top.update_unmap | bench.top.update_snoop << 1, words[5], "control");
            bench.tick();
        } while (bench.top.update_valid);
        bench.top.io_valid = 0;
        bench.tick();
    }
}

// Events of every kind, some in every cycle, while the host reads counters and the fetcher looks at rings; the lower
// halves carry.
void counters(Checks &checks, Random &random)
{
    checks.begin("counters_lose_and_double_no_event");
    Bench bench(checks, random);
    auto word = [&](unsigned number, unsigned half) { return FERRY_BAR0_COUNTER_AT + 8 * number + 4 * half; };
    // Shortly before the lower halves are full. The sweep may write its own in between.
    for (unsigned number = 0; number < Bench::COUNTERS; number++)
        while (bench.host(false, word(number, 0)) < 0xffffff00) {
            bench.host(true, word(number, 0), 0xffffff00 + 10 * number);
            for (int i = 0; i < 150; i++)
                bench.tick();
        }
    uint64_t begin[Bench::COUNTERS];
    for (unsigned number = 0; number < Bench::COUNTERS; number++)
        begin[number] = bench.host(false, word(number, 0)) | uint64_t{bench.host(false, word(number, 1))} << 32;
    bench.counting = true;
    for (unsigned step = 0; step < 40000; step++) {
        if (step % 200 == 0) {
            unsigned number = random.below(Bench::COUNTERS), waited = 0;
            bench.top.counter_valid = 1;
            bench.top.counter_number = number;
            do {
                bench.tick();
            } while (!bench.counter_done && ++waited < 400);
            checks.that(waited < 200, "a round of the sweep");
            uint64_t now = begin[number] + bench.counted[number];
            uint64_t read = bench.host(false, word(number, 0)) | uint64_t{bench.host(false, word(number, 1))} << 32;
            checks.that(read <= now && read + 6 >= now, "counter, its halves belonging together");
            bench.top.counter_valid = 0;
        }
        if (random.once_in(20))
            bench.host(true, Bench::ring(1, FERRY_BAR0_RING_FENCE_ADDRESS),
                       static_cast<uint32_t>(bench.rings[1].fence_address));
        bench.top.ring_read = random.once_in(2);
        bench.top.ring_number = random.below(5);
        bench.top.ring_word = random.once_in(2) ? FERRY_BAR0_RING_RETIRED : FERRY_BAR0_RING_FENCE_ADDRESS;
        bench.tick();
    }
    bench.top.ring_read = 0;
    bench.counting = false;
    for (int i = 0; i < 400; i++)
        bench.tick();
    for (unsigned number = 0; number < Bench::COUNTERS; number++)
        checks.equal(bench.host(false, word(number, 0)) | uint64_t{bench.host(false, word(number, 1))} << 32,
                     begin[number] + bench.counted[number], "counter at rest");
}

// A root stands as it was told until it is taken, whatever comes behind it.
void page_tables(Checks &checks, Random &random)
{
    checks.begin("a_root_stays_until_it_is_taken");
    Bench bench(checks, random);
    bench.by_hand = true;
    bench.top.packet_valid = 0;
    for (unsigned round = 0; round < 100; round++) {
        uint32_t low = static_cast<uint32_t>(random.word()), high = static_cast<uint32_t>(random.word());
        uint32_t kind = random.below(2), snoop = random.below(2), space = random.below(16);
        uint32_t height = random.below(4), valid = random.below(2);
        uint64_t root = valid | kind << 1 | snoop << 2 | height << 3 |
                        ((uint64_t{high} << 32 | low) >> 12 & ((1ull << 40) - 1)) << 5;
        bench.core(true, FERRY_CORE_SPACE_PLACES, kind << 2 | snoop << 8);
        bench.core(true, FERRY_CORE_SPACE_TABLE_LOW, low);
        bench.core(true, FERRY_CORE_SPACE_TABLE_HIGH, high);
        bench.top.root_ready = 0;
        bench.core(true, FERRY_CORE_SPACE_ROOT, space | height << 8 | valid << 16);
        // The next one waits.
        bench.top.io_valid = bench.top.io_write = 1;
        bench.top.io_address = FERRY_CORE_SPACE_PLACES + 4 * random.below(4);
        bench.top.io_wdata = static_cast<uint32_t>(random.word());
        for (unsigned i = 0; i < 10; i++) {
            bench.tick();
            checks.that(!bench.io_done, "a write behind a root that is not taken");
            checks.that(bench.top.root_valid, "the root is told");
            checks.equal(bench.top.root, root, "root");
            checks.equal(bench.top.root_space, space, "root's space");
        }
        bench.top.io_valid = 0;
        bench.top.root_ready = 1;
        bench.tick();
        bench.tick();
        checks.that(!bench.top.root_valid, "the root is taken");
    }
}

} // namespace

void core_registers(Checks &checks, Random &random)
{
    packets(checks, random);
    host_words(checks, random);
    work(checks, random);
    table(checks, random);
    counters(checks, random);
    page_tables(checks, random);
}
