// SPDX-License-Identifier: Apache-2.0
// The whole device as a host sees it that reads much, looks seldom, has a page at the very end of its addresses, or
// takes nothing for a while (blocked_link_cases.cpp), or means ill (hostile_device_cases.cpp).
#include "host_view.h"

namespace
{

const unsigned COUNTERS = FERRY_BAR0_COUNTER_STRIDE / 8;

// Counters are read as fast as the link brings requests, in orders that hold up the sweep over them; doorbells
// meanwhile.
void counters_under_reads(Checks &checks, Random &random)
{
    checks.begin("the_count_of_cycles_loses_none_whatever_else_is_read");
    Bench bench(checks, random);
    RootComplex &root = bench.root();
    root.counter(0); // Behind what the device had to do at its start: how long that takes depends on the firmware.
    for (unsigned stride = 1; stride < COUNTERS; stride++) {
        uint64_t began = root.time, from = root.counter(0);
        unsigned number = 0;
        for (unsigned i = 0; i < 600; i++) {
            number = (number + stride) % COUNTERS;
            root.send(
                {0x00000001, 0x1f0f, static_cast<uint32_t>(RootComplex::BAR0 + FERRY_BAR0_COUNTER_AT + number * 8)});
            if (i % 3 == 0)
                root.bar0(ring(1, FERRY_BAR0_RING_CONTROL), 1);
            root.run(stride % 2 ? 6 : 12);
        }
        for (int i = 0; i < 2000 && !root.sent_all(); i++)
            root.run(100);
        root.run(2000);
        uint64_t took = root.time - began, counted = root.counter(0) - from;
        checks.that(counted + 200 >= took && took + 200 >= counted, "CYCLES");
    }
}

// A host that looks only when a message comes, and clears what it saw, at any moment; coalescing, and the vector masked
// now and then.
void messages_alone(Checks &checks, Random &random)
{
    checks.begin("a_host_that_looks_at_messages_alone_sees_every_fence");
    Bench bench(checks, random);
    RootComplex &root = bench.root();
    const uint32_t mask = 0x90;
    bench.works(); // So that either ring has a fence.
    for (unsigned round = 0; round < 100 && !checks.faults(); round++) {
        root.bar0(FERRY_BAR0_INTERRUPT_COALESCE, random.below(4) | (random.once_in(2) ? random.below(3000) : 0) << 16);
        unsigned seen = root.interrupts;
        for (unsigned n = 0, count = 1 + random.below(5); n < count; n++) {
            Ring &ring = random.once_in(2) ? bench.user() : bench.paging();
            ring.copy(FERRY_ADDRESS_KIND_LOCAL, 0, FERRY_ADDRESS_KIND_LOCAL, AREA, 1 + random.below(3000)).submit(1);
            root.run(random.below(1500));
        }
        if (random.once_in(3)) {
            root.config_write(mask, 1);
            root.run(random.below(2000));
            root.config_write(mask, 0);
        }
        bool all = false;
        for (int looks = 0; looks < 40 && !all; looks++) {
            for (int i = 0; i < 20000 && root.interrupts == seen; i++)
                root.tick();
            if (root.interrupts == seen)
                break;
            seen = root.interrupts;
            root.run(random.below(300));
            root.bar0(FERRY_BAR0_INTERRUPT_STATUS, root.bar0(FERRY_BAR0_INTERRUPT_STATUS));
            // What came before that write arrived is cleared with the rest, and its fence is there behind this read.
            root.bar0(FERRY_BAR0_INTERRUPT_STATUS);
            all = bench.user().idle() && bench.paging().idle();
        }
        checks.that(all, "every fence was announced");
        root.run(5000);
        root.bar0(FERRY_BAR0_INTERRUPT_STATUS, 0x3ff);
    }
    bench.works();
}

// The last page below 2^64, to its last byte and no byte further.
void top_of_the_bus(Checks &checks, Random &random)
{
    checks.begin("the_last_page_of_all_is_a_page_as_any_other");
    Bench bench(checks, random);
    RootComplex &root = bench.root();
    const uint64_t top = 0xfffffffffffff000;
    root.map(top);
    std::vector<uint8_t> was(4096);
    for (unsigned round = 0; round < 25; round++) {
        for (uint32_t i = 0; i < 4096; i++)
            root.byte(top + i) = was[i] = static_cast<uint8_t>(random.word());
        uint32_t bytes = round ? 1 + random.below(4096) : 4096, to = AREA + random.below(600);
        uint64_t from = top + 4096 - bytes;
        bench.user().copy(FERRY_ADDRESS_KIND_SYSTEM, from, FERRY_ADDRESS_KIND_LOCAL, to, bytes).submit();
        checks.that(bench.user().wait(100000), "fence of the page-in");
        for (uint32_t i = 0; i < bytes; i++)
            checks.equal(root.local[to + i], was[4096 - bytes + i], "byte read");
        // Over itself, by a few bytes, up to the end.
        uint32_t by = 1 + random.below(20), less = bytes > by ? bytes - by : 0;
        bench.user().copy(FERRY_ADDRESS_KIND_SYSTEM, from, FERRY_ADDRESS_KIND_SYSTEM, from + by, less).submit();
        checks.that(bench.user().wait(100000), "fence of the move");
        checks.equal(bench.user().status(), FERRY_BUFFER_STATUS_SUCCESS, "status");
        for (uint32_t i = 0; i < less; i++)
            checks.equal(root.byte(from + by + i), was[4096 - bytes + i], "byte moved");
        bench.user().fill(FERRY_ADDRESS_KIND_SYSTEM, from, bytes, 0, 0xa5).submit();
        checks.that(bench.user().wait(100000), "fence of the fill");
        for (uint32_t i = 0; i < bytes; i++)
            checks.equal(root.byte(from + i), 0xa5, "byte filled");
        bench.user().copy(FERRY_ADDRESS_KIND_SYSTEM, from, FERRY_ADDRESS_KIND_LOCAL, to, bytes + 1).submit();
        checks.that(bench.user().wait(100000), "fence of one byte more");
        checks.equal(bench.user().status(), FERRY_BUFFER_STATUS_FAULTED, "status of one byte more");
        checks.equal(bench.last_kind(), FERRY_FAULT_KIND_RANGE, "kind");
    }
    bench.works();
}

} // namespace

int main(int argc, char **argv)
{
    Random random;
    Checks checks;
    if (argc > 1 && std::string(argv[1]) == "hostile") {
        hostile_packets(checks, random);
        return checks.done();
    }
    counters_under_reads(checks, random);
    messages_alone(checks, random);
    top_of_the_bus(checks, random);
    window_behind_a_fault(checks, random);
    window_while_the_link_takes_nothing(checks, random);
    paging_while_no_record_leaves(checks, random);
    no_leave_to_speak(checks, random);
    hostile_packets(checks, random);
    return checks.done();
}
