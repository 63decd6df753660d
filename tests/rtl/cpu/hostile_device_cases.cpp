// SPDX-License-Identifier: Apache-2.0
// Hostile packets into the running device with its firmware, and no reset behind them: nothing is written that none of
// them names, and copies, fills and lists of both rings work as before. What a packet legally asks for is the host's to
// answer for, so writes to registers go to where there is none, those of configuration space to its read-only word,
// those of the window to a part of video memory that nothing else has.
#include "../host/hostile_packets.h"
#include "host_view.h"
#include "random_jobs.h"

namespace
{

const uint64_t OWN = 0x3000000, OWN_BYTES = 0x4000; // Of video memory.
const uint32_t NO_REGISTER = 0x3000;

class Harmless
{
  public:
    explicit Harmless(Random &random) : packets_([&random] { return random.word(); })
    {
        packets_.bar0 = RootComplex::BAR0;
        packets_.bar2 = RootComplex::BAR2 + OWN;
    }
    // While the device reads, completions may carry the tag of a read that waits, and nobody can tell them from its
    // answer; and a host that gives the device another name then has asked for answers that are nobody's.
    HostilePackets::Packet next(bool device_reads)
    {
        for (;;) {
            HostilePackets::Packet p = packets_.next();
            const uint32_t type = p[0] >> 24 & 31;
            if ((type & 30) == 10 && device_reads)
                continue;
            if ((type & 30) == 4 && p.size() > 2)
                p[2] &= ~0xffcu;
            if (type == 4 && p.size() > 2 && device_reads)
                p[2] = (p[2] & 0x7ffff) | RootComplex::DEVICE_ID << 16;
            if (type == 0 && p[0] >> 30 & 1)
                redirect(p);
            return p;
        }
    }

  private:
    void redirect(HostilePackets::Packet &p)
    {
        const size_t low = p[0] >> 29 & 1 ? 3 : 2;
        if (p.size() <= low)
            return;
        const uint64_t address = (low == 3 ? uint64_t{p[2]} << 32 : 0) | p[low];
        const uint64_t beyond = 4096 * 4;
        if (address + beyond >= RootComplex::BAR0 && address < RootComplex::BAR0 + 0x10000)
            p[low] = static_cast<uint32_t>(RootComplex::BAR0 + NO_REGISTER + (p[low] & 0xfff));
        if (address + beyond >= RootComplex::BAR2 && address < RootComplex::BAR2 + (1u << 26) && low == 3)
            p[low] = static_cast<uint32_t>(RootComplex::BAR2 + OWN + (p[low] & 0x2fff));
    }
    HostilePackets packets_;
};

// Scattered pages in and out again, by lists.
void lists(Checks &checks, Random &random, Bench &bench)
{
    RootComplex &root = bench.root();
    const uint32_t bytes = 1 + random.below(3 * 4096), offset = random.below(4096), to = 2 * AREA + random.below(99);
    const uint32_t pages = (offset + bytes + 4095) / 4096;
    const unsigned first = random.below(DATA_PAGES), step = 1 + 2 * random.below(8);
    bench.paging().word(FERRY_OPCODE_COPY_PAGES | (6 + 2 * pages) << 16,
                        FERRY_ADDRESS_KIND_SYSTEM | FERRY_ADDRESS_KIND_LOCAL << 2 | FERRY_LIST_SIDE_SOURCE << 4);
    bench.paging().word(bytes, offset).word(to);
    for (uint32_t i = 0; i < pages; i++)
        bench.paging().word(DATA + (first + i * step) % DATA_PAGES * 4096);
    bench.paging().submit();
    checks.that(bench.paging().wait(), "fence of a list");
    checks.equal(bench.paging().status(), FERRY_BUFFER_STATUS_SUCCESS, "status of a list");
    for (uint32_t i = 0; i < bytes; i++) {
        const uint64_t page = DATA + (first + (offset + i) / 4096 * step) % DATA_PAGES * 4096;
        checks.equal(root.local[to + i], root.byte(page + (offset + i) % 4096), "byte of a list");
    }
}

} // namespace

void hostile_packets(Checks &checks, Random &random)
{
    checks.begin("whatever_a_hostile_host_sends_the_device_writes_nothing_unasked_and_works_on");
    const char *given = std::getenv("FERRY_HOSTILE");
    const unsigned rounds = given ? static_cast<unsigned>(std::strtoul(given, nullptr, 0)) / 100 : 20;
    Bench bench(checks, random);
    RootComplex &root = bench.root();
    Harmless packets(random);
    Ring *rings[2] = {&bench.paging(), &bench.user()};
    for (unsigned round = 0; round < rounds && !checks.faults(); round++) {
        const bool busy = round & 1;
        unsigned strays = 0;
        root.on_local_write = [&](uint64_t at, uint8_t) { strays += (at < OWN || at >= OWN + OWN_BYTES) && !busy; };
        root.on_host_write = [&](uint64_t, uint8_t) { strays += !busy; };
        const unsigned count = 50 + random.below(100);
        std::vector<uint8_t> local(root.local.begin(), root.local.begin() + 4 * AREA);
        for (unsigned i = 0; i < count; i++) {
            if (busy && random.once_in(4) && !bench.user().full())
                bench.copies(bench.user(), 1 + random.below(4));
            root.send(packets.next(busy));
            root.run(random.below(60));
        }
        for (int i = 0; i < 3000 && !root.sent_all(); i++)
            root.run(100);
        checks.that(root.sent_all(), "every packet is taken");
        if (busy)
            checks.that(bench.user().wait(), "fence of the jobs beside them");
        else
            root.config_write(0, 0); // It has its name again.
        root.run(3000);
        checks.equal(strays, 0, "bytes written that nobody asked for");
        if (!busy)
            checks.that(std::equal(local.begin(), local.end(), root.local.begin()), "video memory stays");
        root.on_local_write = nullptr;
        root.on_host_write = nullptr;
        lists(checks, random, bench);
        random_jobs(checks, random, root, rings, 6);
        bench.works();
        const uint64_t window = RootComplex::BAR2 + OWN + 4 * random.below(1000);
        root.write(window, 0x600d600d + round);
        checks.equal(root.read(window), 0x600d600d + round, "word of the window");
        checks.equal(root.unmapped, 0, "accesses to unmapped pages");
    }
}
