// SPDX-License-Identifier: Apache-2.0
// What a driver does to a ring while the fetcher looks at it: it is moved, stopped, and enabled behind its doorbell.
#ifndef FERRY_TESTS_RTL_CPU_FETCH_STOPS_H
#define FERRY_TESTS_RTL_CPU_FETCH_STOPS_H

#include "fetch_bench.h"

// As ferry_stop does it: first everything is wound back, then the core runs.
inline void start(Checks &checks, Bench &bench)
{
    bench.top.settled = 1;
    for (int i = 0; i < 3000 && !bench.top.wound; i++)
        bench.tick();
    checks.that(bench.top.wound, "wound back");
    bench.top.settled = 0;
    bench.top.run = 1;
    bench.tick();
}

// The buffer that is shown is claimed, and is done with.
inline void claim_and_release(Bench &bench, Ring &ring)
{
    bench.top.claim = 1;
    bench.top.release_number = bench.top.next >> 2 & 3;
    bench.tick();
    bench.top.claim = 0;
    bench.top.release_slot = 1;
    ring.retired++;
    bench.tick();
    bench.top.release_slot = 0;
}

// A driver stops a ring, moves it and starts it, in cycles one behind the other and whatever the fetcher reads of it.
inline void moving(Checks &checks, Random &random)
{
    checks.begin("a_ring_that_is_moved_while_it_is_looked_at_is_read_at_one_place");
    const uint64_t places[2] = {0x1'2345'6000, 0x7'8899'a000};
    Bench bench(random);
    Ring &ring = bench.rings[1];
    for (Ring &each : bench.rings)
        each.log2 = 4;
    ring.base = places[0];
    start(checks, bench);
    for (int i = 0; i < 200; i++)
        bench.tick();
    auto write = [&](uint32_t offset) {
        bench.top.ring_write = 1;
        bench.top.ring_number = 1;
        bench.top.ring_offset = offset;
        bench.tick();
    };
    for (unsigned round = 0; round < 400; round++) {
        uint64_t from = ring.base, to = places[~round & 1], offset = 32 * (round & 15);
        for (uint64_t base : places)
            for (unsigned word = 0; word < 4; word++)
                bench.host.words[base + offset + 8 * word] = 0;
        bench.asked.clear();
        ring.produced++;
        write(FERRY_BAR0_RING_PRODUCER);
        for (unsigned wait = random.below(16); wait; wait--)
            bench.tick();
        ring.enabled = false;
        write(FERRY_BAR0_RING_CONTROL);
        ring.base = (from & ~0xffffffffull) | (to & 0xffffffff);
        write(FERRY_BAR0_RING_BASE);
        ring.base = to;
        write(FERRY_BAR0_RING_BASE + 4);
        ring.enabled = true;
        write(FERRY_BAR0_RING_CONTROL);
        for (int i = 0; i < 2000 && !(bench.top.next >> 31); i++) {
            bench.tick();
            if (!bench.asked.empty())
                checks.equal(bench.top.fetched, ring.retired + 1, "an entry on its way counts as fetched");
        }
        checks.that(bench.top.next >> 31, "the entry arrives");
        checks.equal(bench.asked.size(), 1, "reads of it");
        if (!bench.asked.empty() && bench.asked[0] != from + offset)
            checks.equal(bench.asked[0], to + offset, "place of the entry");
        claim_and_release(bench, ring);
    }
}

inline void write_ring(Bench &bench, unsigned number, uint32_t offset)
{
    bench.top.ring_write = 1;
    bench.top.ring_number = number;
    bench.top.ring_offset = offset;
    bench.tick();
}

// The doorbell of a ring that is not enabled counts once it is.
inline void enabling(Checks &checks, Random &random)
{
    checks.begin("a_ring_is_enabled_long_after_its_doorbell");
    for (unsigned number = 0; number < 5; number++) {
        Bench bench(random);
        for (unsigned i = 0; i < 5; i++)
            bench.rings[i].base = 0x7000000000ull + i * 0x1000000ull, bench.rings[i].log2 = 4;
        Ring &ring = bench.rings[number];
        ring.enabled = false;
        start(checks, bench);
        produce(bench, number);
        for (int i = 0; i < 300; i++)
            bench.tick();
        checks.equal(bench.asked.size(), 0, "reads of a ring that is not enabled");
        ring.enabled = true;
        write_ring(bench, number, FERRY_BAR0_RING_CONTROL);
        for (int i = 0; i < 3000 && !(bench.top.next >> 31); i++)
            bench.tick();
        checks.that(bench.top.next >> 31, "the entry comes");
    }
}

// A driver stops a ring in any cycle while its next entry waits to be asked for: what FETCHED says from then on is all
// that the fetcher will ever read of it, however long the link takes nothing.
inline void halting(Checks &checks, Random &random)
{
    checks.begin("a_ring_that_is_stopped_gives_no_more_than_fetched_says");
    unsigned given = 0;
    for (unsigned cycle = 0; cycle < 120; cycle++) {
        Bench bench(random);
        bench.stall = cycle % 2;
        for (unsigned i = 0; i < 5; i++)
            bench.rings[i].base = 0x7000000000ull + i * 0x1000000ull, bench.rings[i].log2 = 4;
        Ring &ring = bench.rings[1];
        start(checks, bench);
        for (int i = 0; i < 200; i++)
            bench.tick();
        // The address of the other ring's entry is not taken.
        bench.asking_closed = true;
        produce(bench, 2);
        bench.tick();
        produce(bench, 1);
        for (unsigned i = 0; i <= cycle / 2; i++)
            bench.tick();
        ring.enabled = false;
        write_ring(bench, 1, FERRY_BAR0_RING_CONTROL);
        bench.tick();
        bench.top.ring_number = 1;
        bench.top.eval();
        uint32_t fetched = bench.top.fetched;
        for (int i = 0; i < 30; i++)
            bench.tick();
        bench.asking_closed = false;
        for (int i = 0; i < 300; i++)
            bench.tick();
        uint32_t asked = 0;
        for (uint64_t address : bench.asked)
            asked += address == ring.base;
        bench.top.ring_number = 1;
        bench.top.eval();
        checks.equal(bench.top.fetched, fetched, "FETCHED of a ring that was stopped");
        checks.equal(asked, fetched, "entries of it that were read");
        given += fetched;
        // It goes on where it was.
        ring.enabled = true;
        write_ring(bench, 1, FERRY_BAR0_RING_CONTROL);
        for (int i = 0; i < 1000; i++)
            bench.tick();
        bench.top.ring_number = 1;
        bench.top.eval();
        checks.equal(bench.top.fetched, 1, "FETCHED when it runs again");
    }
    checks.that(given < 120, "some were stopped before they were asked for");
}

#endif
