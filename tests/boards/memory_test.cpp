// SPDX-License-Identifier: Apache-2.0
// Random bursts at the device's memory port against an array, with a chip behind it that minds its data sheet: order,
// bytes, both directions at once, rows and banks, more than 64 ms of refreshes. No burst touches what is under way in
// the other direction.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <unordered_map>
#include <vector>

#include "../seed.h"
#include "Vmemory.h"
#include "random.h"
#include "sdram_rules.h"
#include "verilated.h"

namespace
{

constexpr uint64_t quarter = 5000; // Picoseconds.

struct Burst {
    uint64_t address;
    unsigned beats, id;
    std::vector<uint64_t> data;
    std::vector<uint8_t> strobes;
};

class Bench
{
  public:
    explicit Bench(uint64_t seed) : random_(seed), top_(&context_)
    {
        top_.clk = top_.late_clk = 0;
        power_on();
    }
    ~Bench() { top_.final(); }

    void power_on()
    {
        top_.rst = 1;
        for (int n = 0; n < 8; n++) {
            clock();
        }
        top_.rst = 0;
    }

    /// So many clocks, a new burst with the chance given of 256. False when something is wrong.
    bool run(uint64_t clocks, uint32_t chance)
    {
        while (clocks-- != 0 && why_ == nullptr) {
            drive(chance);
            sample();
            clock();
            top_.awvalid = awvalid_;
            top_.wvalid = wvalid_;
            top_.arvalid = arvalid_;
            if (top_.broken != 0) {
                why_ = ferry::sdram_rules[top_.broken];
            }
        }
        return why_ == nullptr;
    }
    bool drain()
    {
        for (int n = 0; n < 100 && !(writes_.empty() && reads_.empty()) && why_ == nullptr; n++) {
            run(1000, 0);
        }
        if (why_ == nullptr && !(writes_.empty() && reads_.empty())) {
            why_ = "a burst is never answered";
        }
        return why_ == nullptr;
    }
    bool ready() const { return top_.ready; }
    const char *why() const { return why_; }
    uint64_t now() const { return now_ / (4 * quarter); }
    uint64_t read_beats = 0, written_beats = 0;

  private:
    bool chance(uint32_t of_256) { return (random_.next() & 255) < of_256; }

    void step()
    {
        now_ += quarter;
        while (top_.eventsPending() && top_.nextTimeSlot() < now_) {
            context_.time(top_.nextTimeSlot());
            top_.eval();
        }
        context_.time(now_);
    }
    void clock()
    {
        step();
        top_.clk = 1;
        top_.eval();
        step();
        top_.late_clk = 1;
        top_.eval();
        step();
        top_.clk = 0;
        top_.eval();
        step();
        top_.late_clk = 0;
        top_.eval();
    }

    bool free(const Burst &burst, const std::deque<Burst> &others) const
    {
        for (const Burst &other : others) {
            if (burst.address < other.address + 8 * other.beats && other.address < burst.address + 8 * burst.beats) {
                return false;
            }
        }
        return true;
    }

    Burst any()
    {
        Burst burst;
        // A few rows of each bank, so that they are opened and closed, and few enough places that writes are read.
        const uint64_t page = (random_.next() & 7) << 21 | (random_.next() & 3) << 12;
        burst.beats = 1 + (chance(200) ? random_.next() & 7 : random_.next() & 255);
        const uint64_t place = random_.next() & 511;
        burst.address =
            (page + 8 * (place + burst.beats > 512 ? 512 - burst.beats : place)) & ((1ull << ADDRESS_BITS) - 1);
        burst.id = random_.next() & 3;
        return burst;
    }

    void drive(uint32_t chance_of_256)
    {
        if (top_.ready && chance(chance_of_256)) {
            Burst burst = any();
            const bool write = chance(128);
            bool known = true; // What was never written is not read.
            for (unsigned n = 0; n < burst.beats; n++) {
                known = known && memory_.count(burst.address + 8 * n) != 0;
            }
            if (write && writes_.size() < 8 && free(burst, reads_)) {
                for (unsigned n = 0; n < burst.beats; n++) {
                    const uint64_t at = burst.address + 8 * n;
                    const bool fresh = memory_.count(at) == 0;
                    burst.data.push_back(random_.next());
                    burst.strobes.push_back(fresh || chance(128) ? 0xff : static_cast<uint8_t>(random_.next()));
                    uint64_t mask = 0;
                    for (unsigned byte = 0; byte < 8; byte++) {
                        mask |= burst.strobes[n] >> byte & 1 ? 0xffull << 8 * byte : 0;
                    }
                    memory_[at] = fresh ? burst.data[n] : (memory_[at] & ~mask) | (burst.data[n] & mask);
                }
                writes_.push_back(burst);
                aw_.push_back(burst);
                w_.push_back(burst);
            } else if (!write && known && reads_.size() < 8 && free(burst, writes_)) {
                for (unsigned n = 0; n < burst.beats; n++) {
                    burst.data.push_back(memory_.at(burst.address + 8 * n));
                }
                reads_.push_back(burst);
                ar_.push_back(burst);
            }
        }
        // An offer stands until it is taken.
        top_.awvalid = top_.awvalid || (!aw_.empty() && chance(128));
        if (top_.awvalid) {
            top_.awaddr = aw_.front().address;
            top_.awlen = aw_.front().beats - 1;
            top_.awid = aw_.front().id;
        }
        top_.wvalid = top_.wvalid || (!w_.empty() && chance(stall_));
        if (top_.wvalid) {
            top_.wdata = w_.front().data[w_done_];
            top_.wstrb = w_.front().strobes[w_done_];
        }
        top_.arvalid = top_.arvalid || (!ar_.empty() && chance(128));
        if (top_.arvalid) {
            top_.araddr = ar_.front().address;
            top_.arlen = ar_.front().beats - 1;
            top_.arid = ar_.front().id;
        }
        top_.bready = chance(stall_);
        top_.rready = chance(stall_);
        if ((random_.next() & 1023) == 0) {
            stall_ = 16 + (random_.next() & 255);
        }
        top_.eval();
    }

    /// What is handed over at the edge that comes, and what is still offered behind it.
    void sample()
    {
        awvalid_ = top_.awvalid && !(top_.awready && top_.ready);
        arvalid_ = top_.arvalid && !(top_.arready && top_.ready);
        wvalid_ = top_.wvalid && !top_.wready;
        if (top_.awvalid && !awvalid_) {
            aw_.pop_front();
        }
        if (top_.arvalid && !arvalid_) {
            ar_.pop_front();
        }
        if (top_.wvalid && !wvalid_) {
            written_beats++;
            if (++w_done_ == w_.front().beats) {
                w_.pop_front();
                w_done_ = 0;
            }
        }
        if (top_.bvalid && top_.bready) {
            if (writes_.empty() || writes_.front().id != top_.bid) {
                why_ = "a write is answered that was not asked for, or out of order";
                return;
            }
            writes_.pop_front();
        }
        if (top_.rvalid && top_.rready) {
            if (reads_.empty() || reads_.front().id != top_.rid || reads_.front().data[r_done_] != top_.rdata ||
                (r_done_ + 1 == reads_.front().beats) != (top_.rlast != 0)) {
                why_ = "a read gives other bytes, another id or another length";
                return;
            }
            read_beats++;
            if (++r_done_ == reads_.front().beats) {
                reads_.pop_front();
                r_done_ = 0;
            }
        }
    }

  private:
    ferry::Random random_;
    VerilatedContext context_;
    Vmemory top_;
    uint64_t now_ = 0;
    std::unordered_map<uint64_t, uint64_t> memory_;
    std::deque<Burst> writes_, reads_, aw_, w_, ar_;
    size_t w_done_ = 0, r_done_ = 0;
    uint32_t stall_ = 256;
    bool awvalid_ = false, wvalid_ = false, arvalid_ = false;
    const char *why_ = nullptr;
};

} // namespace

int main()
{
    const uint64_t seed = seed_given(1);
    Bench bench(seed);
    unsigned passed = 0, failed = 0;
    const auto check = [&](bool good, const char *name) {
        printf(good ? "[       OK ] %s\n" : "[  FAILED  ] %s\n", name);
        if (!good && bench.why() != nullptr) {
            printf("    clock %" PRIu64 ", seed %" PRIu64 ": %s\n", bench.now(), seed, bench.why());
        }
        fflush(stdout);
        (good ? passed : failed)++;
        return good;
    };
    // Nothing is taken before the chip works, and it works some 200 us after power-on.
    check(bench.run(9500, 256) && !bench.ready() && bench.run(1500, 0) && bench.ready(), "the_chip_is_started");
    const bool traffic = bench.run(TRAFFIC, 24) && bench.drain();
    check(traffic && bench.read_beats > TRAFFIC / 50 && bench.written_beats > TRAFFIC / 50, "bursts_keep_every_byte");
    // 8,192 rows in 64 ms: a clock too much between refreshes shows behind sixty of them.
    const uint64_t end = 70 * 50000;
    check(failed == 0 && bench.run(end - bench.now(), 0) && bench.run(20000, 24) && bench.drain(),
          "refreshes_are_in_time");
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
