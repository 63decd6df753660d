// SPDX-License-Identifier: Apache-2.0
// Copies while time-outs strike, tags are few, the core stops and goes on, and engine resets come whenever they like;
// memory and host take all the freedom that their rules leave them. Whatever becomes of a buffer: what it writes is
// what its packets name, a byte of it is the right one or as it was, of one that ends well it is the right one, and the
// device works afterwards.

#include "device_bench.h"
#include "many_devices.h"

namespace
{

// The causes that these troubles have; any other fault is none of theirs.
bool expected(uint32_t kind)
{
    for (uint32_t cause :
         {FERRY_FAULT_KIND_WATCHDOG, FERRY_FAULT_KIND_ENGINE_RESET, FERRY_FAULT_KIND_COMPLETION_TIMEOUT,
          FERRY_FAULT_KIND_TABLE_ERROR, FERRY_FAULT_KIND_BUFFER_FETCH})
        if (kind == cause)
            return true;
    return false;
}

struct Copy {
    bool out;
    uint64_t to;
    std::vector<uint8_t> content;
};

class Troubles
{
  public:
    Troubles(Checks &checks, Random &random) : checks_(checks), random_(random), bench_(checks, random)
    {
        bench_.mix();
        root_.any_order = root_.answers_in_any_order = true;
        root_.on_local_write = [this](uint64_t at, uint8_t) { stray_ += !named(false, at); };
        root_.on_host_write = [this](uint64_t at, uint8_t) { stray_ += at >= DATA && !named(true, at); };
    }

    void round()
    {
        surroundings();
        for (unsigned n = 0; n < 2; n++) {
            copies_[n].clear();
            for (unsigned i = 0, count = 1 + random_.below(4); i < count; i++)
                order(n, i);
            ring_of(n).submit(1);
            root_.run(random_.below(900));
            trouble();
        }
        for (unsigned n = 0; n < 2; n++)
            look_at(n);
    }
    // Nothing troubles it any more.
    void quiet()
    {
        root_.bar0(FERRY_BAR0_ENGINE_TIMEOUT, 0);
        root_.bar0(FERRY_BAR0_COMPLETION_TIMEOUT, 0);
        root_.bar0(FERRY_BAR0_TAG_LIMIT, 0);
        root_.stall = false;
        root_.memory_pace = root_.link_pace = 1;
        root_.run(3000);
        for (int i = 0; i < 2000 && bench_.stuck(); i++)
            root_.run(20);
        checks_.equal(stray_, 0, "bytes that no packet names");
        root_.on_local_write = root_.on_host_write = nullptr;
        bench_.works();
    }
    unsigned good = 0, bad = 0;

  private:
    Ring &ring_of(unsigned n) { return n ? bench_.user() : bench_.paging(); }
    bool named(bool out, uint64_t at) const
    {
        for (const auto &of_ring : copies_)
            for (const Copy &copy : of_ring)
                if (copy.out == out && at >= copy.to && at < copy.to + copy.content.size())
                    return true;
        return false;
    }
    uint8_t &at(bool host, uint64_t place) { return host ? root_.byte(place) : root_.local[place]; }

    void surroundings()
    {
        root_.memory_latency = 1 + random_.below(random_.once_in(3) ? 120 : 30);
        root_.link_latency = 10 + random_.below(200);
        root_.stall = random_.once_in(2);
        root_.memory_pace = random_.once_in(4) ? 1 + random_.below(8) : 1;
        root_.link_pace = random_.once_in(4) ? 1 + random_.below(8) : 1;
        root_.bar0(FERRY_BAR0_ENGINE_TIMEOUT, random_.once_in(3)   ? 0
                                              : random_.once_in(2) ? 1 + random_.below(60)
                                                                   : 200 + random_.below(600));
    }

    // Each copy writes a place of its own, which no copy reads, and which has other bytes before.
    void order(unsigned n, unsigned number)
    {
        const uint32_t bytes = 1 + random_.below(3000);
        const bool out = random_.once_in(3), in = !out && random_.once_in(2);
        const uint64_t from = in ? DATA + random_.below(32 * 4096 - bytes) : random_.below(AREA - bytes);
        Copy copy = {out, 0, {}};
        copy.to = out ? DATA + (32 + n * 16 + number * 3) * 4096 + random_.below(64)
                      : AREA + 0x40000 + n * 0x100000 + number * 0x10000 + random_.below(600);
        for (uint32_t i = 0; i < bytes; i++) {
            copy.content.push_back(at(in, from + i));
            at(out, copy.to + i) = static_cast<uint8_t>(~copy.content[i]);
        }
        if (n == 0 && random_.once_in(3))
            bench_.paging().word(FERRY_OPCODE_FORGET | 6u << 16, 0).word(random_.below(4), 0).word(uint64_t{0});
        // The first MiB of addresses leads to the first of video memory.
        const bool by_address = !out && copy.to + bytes <= Bench::VIRTUAL_HOST && random_.once_in(3);
        ring_of(n).copy(in ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL, from,
                        out          ? FERRY_ADDRESS_KIND_SYSTEM
                        : by_address ? FERRY_ADDRESS_KIND_VIRTUAL
                                     : FERRY_ADDRESS_KIND_LOCAL,
                        copy.to, bytes);
        copies_[n].push_back(copy);
    }

    void trouble()
    {
        if (random_.once_in(3))
            root_.bar0(FERRY_BAR0_TAG_LIMIT, random_.below(6));
        if (random_.once_in(3))
            root_.bar0(FERRY_BAR0_COMPLETION_TIMEOUT, random_.once_in(2) ? 0 : 150 + random_.below(400));
        if (random_.once_in(4)) {
            root_.bar0(FERRY_BAR0_CONTROL, 3);
            root_.run(random_.below(60));
        }
        if (random_.once_in(4)) {
            root_.bar0(FERRY_BAR0_CONTROL, random_.once_in(2) ? 0 : 2);
            root_.run(random_.once_in(2) ? 0 : random_.below(300));
            root_.bar0(FERRY_BAR0_CONTROL, random_.once_in(4) ? 3 : 1);
            root_.run(random_.below(500));
        }
    }

    void read_log()
    {
        const uint32_t produced = root_.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED);
        for (; read_ != produced; read_++) {
            const uint32_t what = static_cast<uint32_t>(root_.load64(FAULTS + read_ % 32 * 64) >> 32);
            const uint32_t kind = FERRY_GET(FERRY_FAULT_RECORD_WHAT_KIND, what);
            checks_.that(expected(kind), "a fault has a cause that is there");
        }
        root_.bar0(FERRY_BAR0_FAULT_LOG_CONSUMED, produced);
    }

    void look_at(unsigned n)
    {
        // An entry that could not be read retires without its fence value.
        bool retired = false;
        for (unsigned i = 0; i < 900 && !retired; i++) {
            ring_of(n).wait(1000);
            retired = root_.bar0(ring(n, FERRY_BAR0_RING_RETIRED)) == root_.bar0(ring(n, FERRY_BAR0_RING_PRODUCER));
            read_log();
        }
        checks_.that(retired, "a buffer ends");
        const bool well = ring_of(n).idle() && ring_of(n).status() == FERRY_BUFFER_STATUS_SUCCESS;
        (well ? good : bad)++;
        for (const Copy &copy : copies_[n]) {
            for (size_t i = 0; i < copy.content.size(); i++) {
                const uint8_t now = at(copy.out, copy.to + i), right = copy.content[i];
                checks_.that(now == right || (!well && now == static_cast<uint8_t>(~right)),
                             "a byte is right, or of a bad buffer as it was");
            }
        }
    }

    Checks &checks_;
    Random &random_;
    Bench bench_;
    RootComplex &root_ = bench_.root();
    std::vector<Copy> copies_[2];
    uint32_t read_ = 0;
    unsigned stray_ = 0;
};

} // namespace

int main()
{
    return many_devices<Troubles>("copies_in_troubled_times_write_what_they_name_and_the_device_works_afterwards", 1,
                                  120);
}
