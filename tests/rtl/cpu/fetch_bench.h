// SPDX-License-Identifier: Apache-2.0
// fetch_bench.v with the host's memory, the rings that stand there, and the core around it.
#ifndef FERRY_TESTS_RTL_CPU_FETCH_BENCH_H
#define FERRY_TESTS_RTL_CPU_FETCH_BENCH_H

#include <cstring>
#include <deque>
#include <map>
#include <vector>

#include "Vfetch_bench.h"
#include "check.h"
// The contract is C11.
#define _Static_assert static_assert
#include "ferry_contract.h"

// Host memory whose content is a function of the address, but for the ring entries that the test writes.
class Host
{
  public:
    uint64_t load(uint64_t address) const
    {
        auto found = words.find(address);
        return found == words.end() ? mix(address) : found->second;
    }
    bool mapped(uint64_t address) const { return !unmapped.count(address >> 12) && !unread.count(address >> 3); }
    std::map<uint64_t, uint64_t> words;
    std::map<uint64_t, bool> unmapped, unread; // Pages; double words.

  private:
    static uint64_t mix(uint64_t x)
    {
        x *= 0x9e3779b97f4a7c15;
        x ^= x >> 31;
        return x * 0xd6e8feb86659fd93;
    }
};

struct Entry {
    uint64_t address, fence;
    uint32_t bytes, fault;
    uint32_t failed; // Byte offset of what could not be read of the buffer.
    bool interrupt, unread, virtual_only;
    unsigned space;
};

// Places of facts behind the first.
enum {
    ADDRESS = 0,
    BYTES = (FERRY_CORE_FETCH_BYTES - FERRY_CORE_FETCH_ADDRESS_LOW) / 4,
    FENCE = (FERRY_CORE_FETCH_FENCE_LOW - FERRY_CORE_FETCH_ADDRESS_LOW) / 4,
    FAILED = (FERRY_CORE_FETCH_FAILED - FERRY_CORE_FETCH_ADDRESS_LOW) / 4,
};

struct Ring {
    uint64_t base;
    uint32_t log2, produced = 0, claimed = 0, retired = 0;
    bool enabled = true;
    std::deque<Entry> waiting;
};

class Bench
{
  public:
    // Whose last bytes an entry names next.
    uint64_t next_4_gib = 0x8000;
    explicit Bench(Random &random) : random(random)
    {
        top.rst = 1;
        tick();
        tick();
        top.rst = 0;
    }
    void tick()
    {
        top.time_now = time;
        top.arready = !asking_closed && !once_in(3);
        bool data = !reads.empty() && reads.front().due <= time && (holding || !once_in(3));
        holding = data;
        top.rvalid = data;
        if (data) {
            uint64_t at = reads.front().address;
            top.rdata = host.mapped(at) ? host.load(at) : 0xdeaddeaddeaddead;
            top.rresp = host.mapped(at) ? 0 : 2;
            top.rlast = reads.front().beats == 1;
        }
        top.awready = !once_in(3);
        top.wready = !once_in(3);
        top.bvalid = response;
        // A word of a ring that is asked for is there a cycle after it was taken, and only then.
        top.ring_rdata = word_taken ? word : static_cast<uint32_t>(random.word());
        top.clk = 0;
        top.eval();
        top.ring_taken = top.ring_read && !once_in(2);
        top.eval();
        word_taken = top.ring_taken;
        word = ring_word(rings[top.ring_select < 5 ? top.ring_select : 0], top.ring_word);
        observe();
        top.clk = 1;
        top.eval();
        top.ring_write = 0;
        time++;
    }
    void observe()
    {
        if (top.rst)
            return;
        if (top.rvalid && top.rready) {
            holding = false;
            waited = 0;
            reads.front().address += 8;
            if (--reads.front().beats == 0)
                reads.pop_front();
        } else if (top.rvalid && ++waited > longest_wait) {
            longest_wait = waited;
        }
        if (top.arvalid && top.arready) {
            uint64_t last = top.araddr + top.arlen * 8 + 7;
            broken += top.araddr % 8 || (top.araddr ^ last) >> 12;
            asked.push_back(top.araddr);
            reads.push_back({top.araddr, time + 10 + random.below(40), top.arlen + 1u});
        }
        if (response && top.bready)
            response = false;
        if (top.awvalid && top.awready) {
            post_address = top.awaddr;
            post_beats = top.awlen + 1u;
            broken += top.awtag != 255; // No buffer's.
            broken += (top.awaddr ^ (top.awaddr + top.awlen * 8 + 7)) >> 12 != 0;
        }
        if (top.wvalid && top.wready) {
            posted.push_back(top.wdata);
            broken += top.wstrb != 255;
            last_seen = top.wlast;
        }
        if (last_seen && post_beats) {
            response = true;
            last_seen = false;
            post_beats = 0;
        }
    }
    static uint32_t ring_word(const Ring &r, unsigned offset)
    {
        switch (offset) {
        case FERRY_BAR0_RING_BASE: return static_cast<uint32_t>(r.base);
        case FERRY_BAR0_RING_BASE + 4: return static_cast<uint32_t>(r.base >> 32);
        case FERRY_BAR0_RING_ENTRIES_LOG2: return r.log2;
        case FERRY_BAR0_RING_PRODUCER: return r.produced;
        case FERRY_BAR0_RING_RETIRED: return r.retired;
        case FERRY_BAR0_RING_CONTROL: return r.enabled;
        default: return 0xdeadbeef;
        }
    }
    // A fact of the slot claimed last.
    uint64_t fact(unsigned place, unsigned words)
    {
        uint64_t value = 0;
        for (unsigned i = 0; i < words; i++) {
            top.fact_word = place + i;
            top.eval();
            while (!top.fact_ready)
                tick();
            value |= static_cast<uint64_t>(top.fact) << 32 * i;
        }
        return value;
    }
    bool once_in(uint32_t n) { return stall && random.once_in(n); }

    Vfetch_bench top;
    Random &random;
    Host host;
    Ring rings[5];
    uint64_t time = 0;
    bool stall = true;
    // No address of a read is taken.
    bool asking_closed = false;
    unsigned waited = 0, longest_wait = 0, broken = 0;
    std::vector<uint64_t> asked, posted;
    uint64_t post_address = 0;

  private:
    struct Read {
        uint64_t address, due;
        unsigned beats;
    };
    std::deque<Read> reads;
    bool holding = false, response = false, last_seen = false, word_taken = false;
    uint32_t word = 0;
    unsigned post_beats = 0;
};

// Writes one more entry of a ring, good or bad in one way, and rings the doorbell.
inline void produce(Bench &bench, unsigned number)
{
    Random &random = bench.random;
    Ring &ring = bench.rings[number];
    Entry e = {};
    uint64_t at = ring.base + 32ull * (ring.produced & ((1u << ring.log2) - 1));
    e.address = (random.word() & 0xffff'ffff'f000ull) | (random.below(512) * 8);
    // The last bytes of a page now and then: the first burst ends there.
    if (random.once_in(6))
        e.address = (e.address & ~0xfffull) | (4096 - 8 * (1 + random.below(4)));
    // And of 4 GiB, of others each time: there are few, and what one entry cannot read another one would not either.
    if (random.once_in(8))
        e.address = (e.address & 0xfff) | 0xfffff000 | bench.next_4_gib++ << 32;
    e.bytes = random.once_in(6) ? 0 : random.once_in(5) ? 4096 : 8 * (1 + random.below(random.once_in(2) ? 16 : 512));
    e.fence = random.word();
    e.interrupt = random.once_in(2);
    e.space = random.below(16);
    e.virtual_only = random.once_in(2);
    uint64_t flags = e.interrupt | e.space << 4 | e.virtual_only << 8, reserved = 0;
    unsigned reserved_flag = 0;
    for (unsigned word = 0; word < 4; word++)
        bench.host.unread.erase((at >> 3) + word);
    switch (random.below(12)) {
    case 0:
        // Too much by little, by far, or no multiple of 8.
        e.bytes = random.once_in(3)   ? 4104 + 8 * random.below(1 << 20)
                  : random.once_in(2) ? 4104 + 8 * random.below(512)
                                      : e.bytes + 1 + random.below(7);
        e.fault = FERRY_FAULT_KIND_BUFFER_SIZE;
        break;
    case 1:
        // Any but the one for the interrupt, the four of the space and the one that confines.
        reserved_flag = random.below(26);
        flags |= 2ull << (reserved_flag < 3 ? reserved_flag : reserved_flag + 5);
        e.fault = FERRY_FAULT_KIND_PACKET_RESERVED;
        break;
    case 2:
        reserved = 1ull << random.below(64);
        e.fault = FERRY_FAULT_KIND_PACKET_RESERVED;
        break;
    case 3:
        e.address += 1 + random.below(7);
        e.fault = FERRY_FAULT_KIND_PACKET_RESERVED;
        break;
    case 4:
        if (e.bytes) {
            bool second = (e.address >> 12) != (e.address + e.bytes - 1) >> 12 && random.once_in(2);
            bench.host.unmapped[(e.address >> 12) + second] = true;
            e.failed = second ? 4096 - (e.address & 4095) : 0;
            e.fault = FERRY_FAULT_KIND_BUFFER_FETCH;
        }
        break;
    case 5:
        // All of the entry or one beat of it.
        if (random.once_in(2))
            bench.host.unread[(at >> 3) + random.below(4)] = true;
        else
            for (unsigned word = 0; word < 4; word++)
                bench.host.unread[(at >> 3) + word] = true;
        e.unread = true;
        e.interrupt = false;
        e.fault = FERRY_FAULT_KIND_BUFFER_FETCH;
        break;
    default: break;
    }
    bench.host.words[at] = e.address;
    bench.host.words[at + 8] = e.bytes | flags << 32;
    bench.host.words[at + 16] = e.fence;
    bench.host.words[at + 24] = reserved;
    ring.waiting.push_back(e);
    ring.produced++;
    bench.top.ring_write = 1;
    bench.top.ring_number = number;
    bench.top.ring_offset = FERRY_BAR0_RING_PRODUCER;
}

#endif
