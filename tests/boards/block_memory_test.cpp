// SPDX-License-Identifier: Apache-2.0
// Video memory of block RAM as any AXI4 master meets it: bursts of all lengths both ways at once, data in front of its
// address, stalls of every side, byte strobes, resets in between. A word may be read as whatever it was from the read's
// address on; what was there before a write counts until that write was answered.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "../seed.h"
#include "Vblock_memory.h"
#include "random.h"
#include "verilated.h"

namespace
{

constexpr uint64_t WORDS = 1 << (ADDRESS_BITS - 3), NEVER = ~0ull;
constexpr unsigned CYCLES = 400000;

struct Value {
    uint64_t value;
    // From then on a read does not get it any more.
    uint64_t gone;
};

struct Burst {
    unsigned id;
    uint64_t word, beats, since;
};

class Bench
{
  public:
    explicit Bench(uint64_t seed) : random_(seed), words_(WORDS, {Value{0, NEVER}}) {}

    std::string run()
    {
        reset();
        fill();
        for (uint64_t end = now_ + CYCLES; now_ < end;) {
            if (below(64) == 0) {
                for (unsigned &stall : stalls_)
                    stall = 25 * (unsigned)below(4);
            }
            if (below(5000) == 0)
                reset();
            offer();
            cycle();
            if (!wrong_.empty())
                return wrong_ + ", cycle " + std::to_string(now_);
        }
        return read_ > CYCLES / 20 && written_ > CYCLES / 20 ? "" : "next to nothing was moved";
    }

    // Without stalls: the first data two clocks behind their address, and then one a clock over all bursts; each write
    // takes two clocks more than it has beats.
    std::string speed()
    {
        reset();
        fill();
        for (unsigned &stall : stalls_)
            stall = 0;
        settle();
        uint64_t begin = now_;
        for (unsigned i = 0; i < 8; i++)
            to_read_.push_back({i & 3, 64 * i, 16, 0});
        settle();
        if (wrong_.empty() && last_read_ - begin != 2 + 8 * 16 - 1)
            wrong_ = "128 beats were read in " + std::to_string(last_read_ - begin + 1) + " clocks";
        begin = now_;
        for (unsigned i = 0; i < 8; i++)
            add_write({i & 3, 64 * i, 16, 0});
        settle();
        if (wrong_.empty() && last_answer_ - begin != 8 * (2 + 16) - 1)
            wrong_ = "128 beats were written in " + std::to_string(last_answer_ - begin + 1) + " clocks";
        return wrong_;
    }

  private:
    struct Beat {
        uint64_t data;
        unsigned strobes;
        bool last;
    };

    uint64_t below(uint64_t n) { return (random_.next() >> 11) % n; }

    void reset()
    {
        top_.rst = 1;
        top_.s_axi_awvalid = top_.s_axi_wvalid = top_.s_axi_arvalid = 0;
        top_.s_axi_bready = top_.s_axi_rready = 0;
        for (unsigned i = 0; i < 4; i++)
            tick();
        top_.rst = 0;
        to_write_.clear();
        to_read_.clear();
        beats_.clear();
        writes_.clear();
        reads_.clear();
        shows_r_ = shows_b_ = false;
        done_ = 0;
        // What was written is written; its answer will never come.
        for (auto &values : words_) {
            if (values.size() > 1)
                values = {values.back()};
            values.back().gone = NEVER;
        }
    }

    void add_write(const Burst &burst)
    {
        to_write_.push_back(burst);
        for (uint64_t i = 0; i < burst.beats; i++)
            beats_.push_back({random_.next(), filling_ ? 0xffu : (unsigned)below(256), i + 1 == burst.beats});
    }

    // All of it is known from then on.
    void fill()
    {
        filling_ = true;
        for (uint64_t at = 0; at < WORDS; at += 256)
            add_write({0, at, 256, 0});
        settle();
        filling_ = false;
    }

    Burst any()
    {
        uint64_t most = below(4) ? 8 : 256, beats = 1 + below(most);
        // The same few words again and again, and the end of a page of 4 KiB.
        uint64_t page = 512 * below(WORDS / 512);

        return {(unsigned)below(4), below(3) ? page + below(512 - beats + 1) : page + 512 - beats, beats, 0};
    }

    void offer()
    {
        if (to_read_.size() < 2 && below(100) >= stalls_[0])
            to_read_.push_back(any());
        if (to_write_.size() < 2 && beats_.size() < 600 && below(100) >= stalls_[1])
            add_write(any());
    }

    void settle()
    {
        for (unsigned i = 0; i < 10000 && wrong_.empty(); i++) {
            if (to_write_.empty() && to_read_.empty() && writes_.empty() && reads_.empty())
                return;
            cycle();
        }
        if (wrong_.empty())
            wrong_ = "it does not come to an end";
    }

    void tick()
    {
        top_.clk = 1;
        top_.eval();
        top_.clk = 0;
        top_.eval();
        now_++;
    }

    bool may(unsigned side) { return below(100) >= stalls_[side]; }

    void drive()
    {
        // What is offered stays until it is taken.
        if (!top_.s_axi_awvalid && !to_write_.empty() && may(2)) {
            top_.s_axi_awvalid = 1;
            top_.s_axi_awid = to_write_.front().id;
            top_.s_axi_awaddr = (uint32_t)(8 * to_write_.front().word);
        }
        if (!top_.s_axi_wvalid && !beats_.empty() && may(3)) {
            top_.s_axi_wvalid = 1;
            top_.s_axi_wdata = beats_.front().data;
            top_.s_axi_wstrb = (uint8_t)beats_.front().strobes;
            top_.s_axi_wlast = beats_.front().last;
        }
        if (!top_.s_axi_arvalid && !to_read_.empty() && may(4)) {
            top_.s_axi_arvalid = 1;
            top_.s_axi_arid = to_read_.front().id;
            top_.s_axi_araddr = (uint32_t)(8 * to_read_.front().word);
            top_.s_axi_arlen = (uint8_t)(to_read_.front().beats - 1);
        }
        top_.s_axi_bready = may(5);
        top_.s_axi_rready = may(6);
    }

    void cycle()
    {
        drive();
        top_.eval();
        bool aw = top_.s_axi_awvalid && top_.s_axi_awready, w = top_.s_axi_wvalid && top_.s_axi_wready;
        bool ar = top_.s_axi_arvalid && top_.s_axi_arready, r = top_.s_axi_rvalid && top_.s_axi_rready;
        bool b = top_.s_axi_bvalid && top_.s_axi_bready;

        if (shows_r_ && (!top_.s_axi_rvalid || top_.s_axi_rdata != r_data_))
            wrong_ = "read data that were not taken did not stay";
        if (shows_b_ && (!top_.s_axi_bvalid || top_.s_axi_bid != b_id_))
            wrong_ = "an answer that was not taken did not stay";
        if (top_.s_axi_rvalid)
            look_at_read();
        if (top_.s_axi_bvalid &&
            (writes_.empty() || writes_.front().beats != done_ || writes_.front().id != top_.s_axi_bid))
            wrong_ = "an answer that is not the write's";
        shows_r_ = top_.s_axi_rvalid && !r;
        r_data_ = top_.s_axi_rdata;
        shows_b_ = top_.s_axi_bvalid && !b;
        b_id_ = top_.s_axi_bid;
        if (!wrong_.empty())
            return;
        if (aw) {
            writes_.push_back(to_write_.front());
            to_write_.pop_front();
        }
        if (w)
            write_beat();
        if (b)
            answered();
        if (ar) {
            reads_.push_back(to_read_.front());
            reads_.back().since = now_;
            to_read_.pop_front();
        }
        if (r) {
            last_read_ = now_;
            read_++;
            reads_.front().word++;
            if (--reads_.front().beats == 0)
                reads_.pop_front();
        }
        tick();
        if (aw)
            top_.s_axi_awvalid = 0;
        if (w)
            top_.s_axi_wvalid = 0;
        if (ar)
            top_.s_axi_arvalid = 0;
    }

    void look_at_read()
    {
        if (reads_.empty() || reads_.front().id != top_.s_axi_rid || (reads_.front().beats == 1) != top_.s_axi_rlast) {
            wrong_ = "a beat that nobody reads, or of another, or the last one in the wrong place";
            return;
        }
        for (const Value &was : words_[reads_.front().word]) {
            if (was.gone > reads_.front().since && was.value == top_.s_axi_rdata)
                return;
        }
        wrong_ = "word " + std::to_string(reads_.front().word) + " is read as what it was not";
    }

    void write_beat()
    {
        if (writes_.empty() || done_ == writes_.front().beats) {
            wrong_ = "data are taken without an address";
            return;
        }
        auto &values = words_[writes_.front().word + done_];
        uint64_t value = values.back().value;

        for (unsigned i = 0; i < 8; i++) {
            uint64_t mask = 0xffull << (8 * i);
            if (beats_.front().strobes >> i & 1)
                value = (value & ~mask) | (beats_.front().data & mask);
        }
        // Nobody reads any more what was gone before all that is under way.
        uint64_t oldest = reads_.empty() ? now_ : reads_.front().since;
        while (values.size() > 1 && values.front().gone <= oldest)
            values.erase(values.begin());
        values.push_back({value, NEVER});
        beats_.pop_front();
        done_++;
        written_++;
    }

    void answered()
    {
        for (uint64_t i = 0; i < done_; i++) {
            auto &values = words_[writes_.front().word + i];
            values[values.size() - 2].gone = now_;
        }
        writes_.pop_front();
        done_ = 0;
        last_answer_ = now_;
    }

    Vblock_memory top_;
    ferry::Random random_;
    std::vector<std::vector<Value>> words_;
    std::deque<Burst> to_write_, to_read_, writes_, reads_;
    std::deque<Beat> beats_;
    unsigned stalls_[7] = {};
    bool filling_ = false, shows_r_ = false, shows_b_ = false;
    uint64_t r_data_ = 0, now_ = 0, done_ = 0, read_ = 0, written_ = 0, last_read_ = 0, last_answer_ = 0;
    unsigned b_id_ = 0;
    std::string wrong_;
};

} // namespace

int main()
{
    uint64_t seed = seed_given((uint64_t)time(nullptr));
    unsigned failed = 0;

    for (const char *name : {"words_are_read_as_they_were_written", "a_beat_each_clock"}) {
        auto bench = std::make_unique<Bench>(seed);
        std::string wrong = name[0] == 'w' ? bench->run() : bench->speed();

        printf("[%s] %s%s%s\n", wrong.empty() ? "       OK " : "  FAILED  ", name, wrong.empty() ? "" : ": ",
               wrong.c_str());
        failed += !wrong.empty();
    }
    printf("%u passed, %u failed\n", 2 - failed, failed);
    return failed != 0;
}
