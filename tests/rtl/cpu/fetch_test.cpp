// SPDX-License-Identifier: Apache-2.0
// ferry_fetch and ferry_command_ram against plain C++ models: random entries and buffers on five rings, good and bad,
// with random stalls; every word of every slot is compared, through the core's port and both list ports. And ferry_post
// (fetch_posts.h).
#include "fetch_posts.h"
#include "fetch_stops.h"

struct Held {
    unsigned ring;
    Entry entry;
    bool whole;
};

// Compares a slot's content word by word through one of the three read ports.
static void compare_slot(Checks &checks, Bench &bench, unsigned slot, const Entry &e)
{
    unsigned port = bench.random.below(3);
    for (uint32_t at = 0; at < e.bytes; at += port ? 8 : 4) {
        // Now and then the core looks at a word again, or goes somewhere else.
        uint32_t offset = bench.random.once_in(8) ? bench.random.below(e.bytes / 8) * 8 : at;
        uint64_t word = bench.host.load(e.address + (offset & ~7u));
        if (port == 0) {
            bench.top.core_valid = 1;
            bench.top.core_address = slot * 4096 + offset;
            do {
                bench.top.eval();
                if (bench.top.core_ready)
                    break;
                bench.tick();
            } while (true);
            checks.equal(bench.top.core_rdata, static_cast<uint32_t>(offset & 4 ? word >> 32 : word), "core's word");
            bench.tick();
            bench.top.core_valid = 0;
        } else {
            (port == 1 ? bench.top.list0_valid : bench.top.list1_valid) = 1;
            (port == 1 ? bench.top.list0_address : bench.top.list1_address) = slot * 4096 + offset;
            for (bool taken = false; !taken;) {
                bench.top.eval();
                taken = port == 1 ? bench.top.list0_ready : bench.top.list1_ready;
                bench.tick();
            }
            bench.top.list0_valid = bench.top.list1_valid = 0;
            checks.that(port == 1 ? bench.top.list0_data_valid : bench.top.list1_data_valid, "list data");
            checks.equal(port == 1 ? bench.top.list0_data : bench.top.list1_data, word, "list's word");
        }
    }
}

static void fetching(Checks &checks, Random &random)
{
    checks.begin("entries_of_five_rings_arrive_whole_in_order_and_paging_first");
    Bench bench(random);
    for (unsigned i = 0; i < 5; i++) {
        bench.rings[i].base = 0x7000000000ull + i * 0x1000000ull;
        bench.rings[i].log2 = i == 4 ? 12 : 3 + i;
    }
    for (int i = 0; i < 50; i++)
        bench.tick();
    start(checks, bench);
    std::map<unsigned, Held> held;
    unsigned claims = 0;
    for (unsigned step = 0; step < 60000 && claims < 1500; step++) {
        unsigned number = random.below(5);
        Ring &ring = bench.rings[number];
        if (random.once_in(20) && ring.produced - ring.retired < (1u << ring.log2))
            produce(bench, number);
        bench.top.ring_number = number;
        bench.top.eval();
        checks.that(bench.top.fetched - ring.claimed <= 4, "fetched counter");
        uint32_t next = bench.top.next;
        // The firmware asks also when there is nothing: that changes nothing.
        if (next >> 31 == 0 && random.once_in(10)) {
            bench.top.claim = 1;
            bench.tick();
            bench.top.claim = 0;
        }
        // Facts of a buffer that was claimed before.
        if (!held.empty() && random.once_in(10)) {
            auto it = held.begin();
            std::advance(it, random.below(static_cast<uint32_t>(held.size())));
            bench.top.select = 1;
            bench.top.select_slot = it->first;
            bench.tick();
            bench.top.select = 0;
            checks.equal(bench.fact(FENCE, 2), it->second.entry.unread ? 0 : it->second.entry.fence, "selected");
            continue;
        }
        next = bench.top.next;
        if (next >> 31 && random.once_in(10)) {
            unsigned slot = next >> 2 & 3, from = next >> 4 & 7;
            bench.top.claim = 1;
            bench.tick();
            bench.top.claim = 0;
            checks.that(from < 5 && !held.count(slot), "ring and slot of the claimed buffer");
            Ring &owner = bench.rings[from];
            if (owner.waiting.empty()) {
                checks.that(false, "a buffer that nobody handed over");
                return;
            }
            Entry e = owner.waiting.front();
            owner.waiting.pop_front();
            owner.claimed++;
            checks.equal(bench.top.tags >> 8 * slot & 255, from << 5 | (owner.claimed & 31),
                         "tag of the slot's writes");
            claims++;
            checks.equal(next >> 16 & 255, e.fault, "fault");
            checks.equal(next >> 8 & 1, e.interrupt, "interrupt flag");
            if (!e.unread) {
                checks.equal(next >> 24 & 15, e.space, "space");
                checks.equal(next >> 7 & 1, e.virtual_only, "whether it confines its buffer");
            }
            checks.equal(next >> 9 & 31, owner.claimed & 31, "number of the entry");
            checks.equal(bench.fact(FENCE, 2), e.unread ? 0 : e.fence, "fence value");
            checks.equal(bench.top.fact_unread, e.unread, "whether the entry could be read");
            checks.equal(bench.fact(ADDRESS, 2), e.unread ? 0 : e.address, "address");
            checks.equal(bench.fact(BYTES, 1), e.unread ? 0 : e.bytes, "bytes");
            if (e.fault == FERRY_FAULT_KIND_BUFFER_FETCH && !e.unread)
                checks.equal(bench.fact(FAILED, 1) & FERRY_CORE_FETCH_FAILED_OFFSET_MASK, e.failed, "where it failed");
            held[slot] = {from, e, e.fault == 0};
            if (!e.fault && random.once_in(4))
                compare_slot(checks, bench, slot, e);
        }
        if (!held.empty() && random.once_in(12)) {
            auto it = held.begin();
            std::advance(it, random.below(static_cast<uint32_t>(held.size())));
            if (it->second.whole)
                compare_slot(checks, bench, it->first, it->second.entry);
            bench.top.release_slot = 1;
            bench.top.release_number = it->first;
            bench.rings[it->second.ring].retired++;
            held.erase(it);
            bench.tick();
            bench.top.release_slot = 0;
        }
        bench.tick();
    }
    checks.that(claims > 300, "enough buffers claimed");
    checks.equal(bench.broken, 0, "bursts that break the rules");
    // A marker of an entry without a buffer takes one cycle of the queue; at most all slots hold one.
    checks.that(bench.longest_wait <= 4, "read data never waits for more than the markers before it");

    checks.begin("a_stopped_core_keeps_its_slots_until_nothing_reads_them_any_more");
    bench.top.run = 0;
    for (int i = 0; i < 3000; i++) {
        bench.tick();
        checks.that(!bench.top.wound, "not wound back");
    }
    for (auto &[slot, claimed] : held) {
        checks.equal(bench.top.used >> slot & 1, 1, "slot of a claimed buffer is in use");
        if (claimed.whole)
            compare_slot(checks, bench, slot, claimed.entry);
    }

    checks.begin("a_stopped_core_gets_every_entry_again_that_was_not_retired");
    bench.top.settled = 1;
    for (int i = 0; i < 200 && !bench.top.wound; i++)
        bench.tick();
    checks.that(bench.top.wound, "wound back");
    checks.equal(bench.top.used, 0, "slots in use while stopped");
    for (unsigned i = 0; i < 5; i++) {
        bench.top.ring_number = i;
        bench.top.eval();
        checks.equal(bench.top.fetched, bench.rings[i].retired, "fetched goes back to retired");
    }
}

// The core is stopped in any cycle between the doorbells and the last buffer; when it runs again every entry comes once
// more, from the first that was not retired, without a doorbell.
static void stopping(Checks &checks, Random &random)
{
    checks.begin("a_stop_in_any_cycle_brings_every_entry_again_once");
    for (unsigned cycle = 0; cycle < 400; cycle += 1 + cycle / 100) {
        Bench bench(random);
        bench.stall = cycle % 2;
        for (unsigned i = 0; i < 5; i++) {
            bench.rings[i].base = 0x7000000000ull + i * 0x1000000ull;
            bench.rings[i].log2 = 4;
        }
        start(checks, bench);
        auto entry = [&](unsigned number, uint64_t at, uint32_t bytes) {
            Ring &ring = bench.rings[number];
            uint64_t place = ring.base + 32ull * ring.produced++;
            bench.host.words[place] = at;
            bench.host.words[place + 8] = bytes;
            bench.host.words[place + 16] = at;
            bench.host.words[place + 24] = 0;
            ring.waiting.push_back({at, at, bytes, 0, 0, false, false, false, 0});
            bench.top.ring_write = 1;
            bench.top.ring_number = number;
            bench.top.ring_offset = FERRY_BAR0_RING_PRODUCER;
            bench.tick();
        };
        // The last one's buffer ends where a burst does.
        entry(1, 0x10000000, 0);
        // Three take every slot that user rings may have, so that their rings are not looked at to the end.
        bool three = cycle % 3 != 0;
        if (three)
            entry(2, 0x20000000, 200);
        entry(1, 0x30000700, 256);
        for (unsigned i = 0; i < cycle; i++)
            bench.tick();
        // One may have been claimed, which has not ended: it comes again too.
        if (cycle % 5 == 4 && bench.top.next >> 31) {
            bench.top.claim = 1;
            bench.tick();
        }
        bench.top.run = 0;
        // Everything else is at rest at once, or after all answers have come.
        for (int i = cycle % 4 < 2 ? 4 : 400; i; i--)
            bench.tick();
        start(checks, bench);
        for (unsigned taken = three ? 0 : 1; taken < 3; taken++) {
            for (int i = 0; i < 2000 && !(bench.top.next >> 31); i++)
                bench.tick();
            uint32_t next = bench.top.next;
            unsigned slot = next >> 2 & 3, from = next >> 4 & 7;
            checks.that(next >> 31 && from < 5 && !bench.rings[from].waiting.empty(), "an entry comes");
            if (!(next >> 31) || from >= 5 || bench.rings[from].waiting.empty())
                return;
            bench.top.claim = 1;
            bench.tick();
            bench.top.claim = 0;
            Entry e = bench.rings[from].waiting.front();
            bench.rings[from].waiting.pop_front();
            checks.equal(next >> 16 & 255, 0, "fault");
            checks.equal(bench.fact(FENCE, 2), e.fence, "fence value");
            compare_slot(checks, bench, slot, e);
            bench.top.release_slot = 1;
            bench.top.release_number = slot;
            bench.rings[from].retired++;
            bench.tick();
            bench.top.release_slot = 0;
        }
        for (int i = 0; i < 300; i++)
            bench.tick();
        checks.equal(bench.top.next >> 31 | bench.top.used, 0, "nothing more");
        checks.equal(bench.broken, 0, "bursts that break the rules");
    }
}

// Of an entry that breaks a rule nothing is read but itself.
static void bad_entries(Checks &checks, Random &random)
{
    checks.begin("what_a_bad_entry_names_is_not_read");
    static const struct {
        uint64_t address, bytes_and_flags, reserved;
        uint32_t fault;
    } entries[] = {
        {0x10000000, 4096, 0, FERRY_FAULT_KIND_NONE},
        {0x10000000, 4104, 0, FERRY_FAULT_KIND_BUFFER_SIZE},
        {0x10000000, 4092, 0, FERRY_FAULT_KIND_BUFFER_SIZE},
        {0x10000000, 0x80000008, 0, FERRY_FAULT_KIND_BUFFER_SIZE},
        // Behind the last address there is nothing, and not the first one.
        {0xfffffffffffff000, 4096, 0, FERRY_FAULT_KIND_NONE},
        {0xfffffffffffff800, 2056, 0, FERRY_FAULT_KIND_BUFFER_SIZE},
        {0xfffffffffffffff8, 8, 0, FERRY_FAULT_KIND_NONE},
        {0xfffffffffffffff8, 16, 0, FERRY_FAULT_KIND_BUFFER_SIZE},
        // Also if it begins in the middle of a double word, which is another rule's.
        {0xfffffffffffffff9, 8, 0, FERRY_FAULT_KIND_BUFFER_SIZE},
        {0xfffffffffffff804, 2048, 0, FERRY_FAULT_KIND_BUFFER_SIZE},
        {0xfffffffffffff804, 2040, 0, FERRY_FAULT_KIND_PACKET_RESERVED},
        {0xfffffffffffffff9, 0, 0, FERRY_FAULT_KIND_PACKET_RESERVED},
        {0x10000004, 64, 0, FERRY_FAULT_KIND_PACKET_RESERVED},
        {0x10000000, 64 | 1ull << 63, 0, FERRY_FAULT_KIND_PACKET_RESERVED},
        {0x10000000, 64, 1, FERRY_FAULT_KIND_PACKET_RESERVED},
        {0x10000000, 64, 1ull << 63, FERRY_FAULT_KIND_PACKET_RESERVED},
        // Of two rules the one about its size.
        {0x10000004, 4104 | 1ull << 63, 1, FERRY_FAULT_KIND_BUFFER_SIZE},
    };
    Bench bench(random);
    for (Ring &each : bench.rings)
        each.log2 = 5;
    Ring &ring = bench.rings[2];
    ring.base = 0x7000000000ull;
    start(checks, bench);
    for (const auto &e : entries) {
        const uint64_t place = ring.base + 32ull * ring.produced++;
        bench.host.words[place] = e.address;
        bench.host.words[place + 8] = e.bytes_and_flags;
        bench.host.words[place + 16] = 0;
        bench.host.words[place + 24] = e.reserved;
        bench.asked.clear();
        bench.top.ring_write = 1;
        bench.top.ring_number = 2;
        bench.top.ring_offset = FERRY_BAR0_RING_PRODUCER;
        for (int i = 0; i < 3000 && !(bench.top.next >> 31); i++)
            bench.tick();
        checks.equal(bench.top.next >> 31, 1, "the entry comes");
        checks.equal(bench.top.next >> 16 & 255, e.fault, "fault");
        checks.equal(bench.asked.size(), e.fault ? 1 : 1 + (e.bytes_and_flags + 2047) / 2048, "reads");
        claim_and_release(bench, ring);
    }
}

// Where a ring's places begin anew, and where the numbers of its entries do.
static void wrapping(Checks &checks, Random &random)
{
    checks.begin("a_ring_of_4096_entries_goes_round_and_its_counts_past_their_end");
    for (uint32_t first : {2040u, 4090u, 0xfffffff8u}) {
        Bench bench(random);
        for (Ring &each : bench.rings)
            each.log2 = 4;
        Ring &ring = bench.rings[3];
        ring.base = 0x1'ffff'0000; // Its entries 2047 and 2048 lie on either side of 8 GiB.
        ring.log2 = 12;
        ring.produced = ring.claimed = ring.retired = first;
        start(checks, bench);
        for (uint32_t number = first; number != first + 16; number++) {
            bench.asked.clear();
            produce(bench, 3);
            for (int i = 0; i < 3000 && !(bench.top.next >> 31); i++)
                bench.tick();
            checks.that(bench.top.next >> 31, "the entry comes");
            checks.equal(bench.asked.empty() ? 0 : bench.asked[0], ring.base + 32 * (number & 4095), "its place");
            checks.equal(bench.top.next >> 9 & 31, (number + 1) & 31, "its number");
            bench.top.ring_number = 3;
            bench.top.eval();
            checks.equal(bench.top.fetched, number + 1, "FETCHED");
            claim_and_release(bench, ring);
        }
    }
}

// Behind the last address there are no entries, and not those that stand at the first one.
static void beyond(Checks &checks, Random &random)
{
    checks.begin("entries_of_a_ring_behind_the_last_address_are_not_read_at_the_first");
    Bench bench(random);
    for (Ring &each : bench.rings)
        each.log2 = 4;
    Ring &ring = bench.rings[1];
    ring.base = 0xffff'ffff'ffff'f000; // A page of it is in front of the end.
    ring.log2 = 8;
    ring.produced = ring.retired = 120;
    start(checks, bench);
    for (uint32_t number = 120; number != 264; number++) {
        const bool there = number % 256 < 128;
        const uint64_t place = ring.base + 32 * (number % 256);
        bench.host.words[place] = 0x10000000 + 4096 * number;
        bench.host.words[place + 8] = 64 | 1ull << 32 | 3ull << 36;
        bench.host.words[place + 16] = number;
        bench.host.words[place + 24] = 0;
        bench.asked.clear();
        ring.produced++;
        bench.top.ring_write = 1;
        bench.top.ring_number = 1;
        bench.top.ring_offset = FERRY_BAR0_RING_PRODUCER;
        for (int i = 0; i < 3000 && !(bench.top.next >> 31); i++)
            bench.tick();
        checks.equal(bench.top.next >> 31, 1, "the entry comes");
        checks.equal(bench.top.next >> 16 & 255, there ? 0 : FERRY_FAULT_KIND_BUFFER_FETCH, "fault");
        checks.equal(bench.top.next >> 8 & 1, there, "interrupt flag");
        checks.equal(bench.asked.size(), there ? 2 : 0, "reads");
        claim_and_release(bench, ring);
        checks.equal(bench.top.fact_unread, !there, "whether the entry could be read");
        checks.equal(bench.fact(FENCE, 2), there ? number : 0, "fence value");
    }
}

static void holding(Checks &checks, Random &random)
{
    checks.begin("no_entry_is_asked_for_while_an_engine_reset_goes_on");
    Bench bench(random);
    for (unsigned i = 0; i < 5; i++)
        bench.rings[i].base = 0x7000000000ull + i * 0x1000000ull, bench.rings[i].log2 = 6;
    start(checks, bench);
    bench.top.hold = 1;
    for (unsigned i = 0; i < 5; i++) {
        produce(bench, i);
        bench.tick();
    }
    for (int i = 0; i < 300; i++)
        bench.tick();
    checks.equal(bench.asked.size(), 0, "reads");
    bench.top.hold = 0;
    for (int i = 0; i < 3000 && !(bench.top.next >> 31); i++)
        bench.tick();
    checks.that(bench.top.next >> 31, "a buffer comes afterwards");
}

// Each user ring gets every fourth turn, however often the paging ring goes before them.
static void turns(Checks &checks, Random &random)
{
    checks.begin("user_rings_take_turns_whatever_the_paging_ring_does");
    for (unsigned paging_each : {0u, 2u, 3u, 5u}) {
        Bench bench(random);
        for (unsigned i = 0; i < 5; i++)
            bench.rings[i].base = 0x7000000000ull + i * 0x1000000ull, bench.rings[i].log2 = 10;
        start(checks, bench);
        unsigned served[5] = {};
        for (unsigned i = 1; i < 5; i++)
            for (unsigned n = 0; n < 100; n++) {
                produce(bench, i);
                bench.tick();
            }
        for (unsigned claims = 0, users = 0; users < 160 && claims < 2000; claims++) {
            if (paging_each && claims % paging_each == 0) {
                produce(bench, 0);
                bench.tick();
            }
            for (int i = 0; i < 3000 && !(bench.top.next >> 31); i++)
                bench.tick();
            unsigned from = bench.top.next >> 4 & 7, slot = bench.top.next >> 2 & 3;
            checks.that(bench.top.next >> 31 && from < 5, "a buffer comes");
            if (from >= 5)
                return;
            served[from]++;
            users += from != 0;
            bench.top.claim = 1;
            bench.tick();
            bench.top.claim = 0;
            bench.top.release_slot = 1;
            bench.top.release_number = slot;
            bench.rings[from].retired++;
            bench.tick();
            bench.top.release_slot = 0;
        }
        for (unsigned i = 1; i < 5; i++)
            checks.that(served[i] >= 38 && served[i] <= 43, "a quarter each, but for what came before the others");
    }
}

static void sharing(Checks &checks, Random &random)
{
    checks.begin("user_rings_leave_one_slot_to_the_paging_ring_which_is_claimed_first");
    Bench bench(random);
    for (unsigned i = 0; i < 5; i++) {
        bench.rings[i].base = 0x7000000000ull + i * 0x1000000ull;
        bench.rings[i].log2 = 6;
    }
    start(checks, bench);
    for (int round = 0; round < 20; round++) {
        produce(bench, 1 + random.below(4));
        bench.tick();
    }
    for (int i = 0; i < 5000; i++)
        bench.tick();
    checks.equal(__builtin_popcount(bench.top.used), 3, "slots that user rings took");
    checks.equal(__builtin_popcount(bench.top.ready), 3, "slots that are ready");
    produce(bench, 0);
    for (int i = 0; i < 5000; i++)
        bench.tick();
    checks.equal(bench.top.used, 15, "slots with the paging ring's");
    checks.equal(bench.top.next >> 31, 1, "a buffer is offered");
    checks.equal(bench.top.next >> 4 & 7, 0, "ring that is offered");
}

int main()
{
    Random random;
    Checks checks;
    fetching(checks, random);
    moving(checks, random);
    enabling(checks, random);
    halting(checks, random);
    stopping(checks, random);
    bad_entries(checks, random);
    wrapping(checks, random);
    beyond(checks, random);
    holding(checks, random);
    turns(checks, random);
    sharing(checks, random);
    posting(checks, random);
    return checks.done();
}
