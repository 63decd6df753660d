// SPDX-License-Identifier: Apache-2.0
// BAR2's upper half while its ranges and the limits of video memory are set under reads and writes, not turned off
// first, to any values, above each other too: each byte that is read or written is one that some of what was set
// meanwhile shows at that place, and that some of the limits leave open; and each request gets its answer.
#include <algorithm>
#include <set>

#include "../rectangle/images.h"
#include "cases.h"

namespace
{

constexpr uint64_t UPPER = 1ull << 26;

struct Words {
    uint32_t first = 0, pages = 0, row = 0, layout = 0;
};
struct Setting {
    Words ranges[4];
    uint64_t limit = UPPER, base = 0, end = 0;

    bool open(uint64_t place) const { return place < limit && !(place >= base && place < end); }
    // Where a byte of the upper half may be: every range that has it.
    std::vector<uint64_t> places(uint64_t at) const
    {
        std::vector<uint64_t> found;
        for (const Words &words : ranges) {
            const uint64_t from = uint64_t{words.first} << 12, until = from + (uint64_t{words.pages} << 12);
            const unsigned swizzle = words.layout & 3;
            if (!(words.layout & 8) || swizzle == 0 || words.row == 0 || at < from || at >= until)
                continue;
            Image image = {&elements[swizzle == 1 ? 0 : swizzle == 2 ? 2 : 3], words.layout & 4 ? 12u : 16u, from, 0};
            if (words.row % image.tile_width())
                continue;
            image.pitch = int64_t(words.row / image.tile_width() << image.tile_log2);
            const uint64_t place = image.address((at - from) % words.row, (at - from) / words.row);
            if (place >= from && place < until && place < UPPER)
                found.push_back(place);
        }
        return found;
    }
};

class Live
{
  public:
    explicit Live(Bench &b) : b_(b) {}

    // Any words, most of them such that something is shown.
    void set_something()
    {
        Setting next = now_;
        Words &words = next.ranges[b_.random(4)];
        const unsigned number = unsigned(&words - next.ranges);
        unsigned word = b_.random(6);
        if (word == 0)
            words.first = b_.chance(5) ? 1u << b_.random(32) : b_.random(96);
        else if (word == 1)
            words.pages = b_.chance(5) ? 1u << b_.random(32) : b_.random(100);
        else if (word == 2)
            words.row = b_.chance(5) ? 1u << b_.random(32) : 128 * (1 + b_.random(20));
        else if (word == 3)
            words.layout = b_.random(16) | (b_.chance(80) ? 8 : 0);
        if (word < 4) {
            const uint32_t values[] = {words.first, words.pages, words.row, words.layout};
            b_.top->view_write = 1;
            b_.top->view_range = number & 3;
            b_.top->view_word = word & 3;
            b_.top->view_value = values[word];
        } else if (word == 4) {
            next.base = 4096 * b_.random(128);
            next.end = b_.chance(50) ? 0 : next.base + 4096 * b_.random(20);
        } else {
            next.limit = b_.chance(70) ? UPPER : 4096 * (1 + b_.random(160));
        }
        b_.top->local_limit = next.limit;
        b_.top->protect_base = next.base;
        b_.top->protect_limit = next.end;
        change(next);
        b_.top->view_write = 0;
    }
    void clear()
    {
        Setting next = now_;
        for (Words &words : next.ranges)
            words = {};
        b_.top->view_clear = 1;
        change(next);
        b_.top->view_clear = 0;
    }
    // What was set before is not looked at any more.
    void forget() { were_.assign(1, now_); }
    const Setting &now() const { return now_; }
    template <typename Call> bool any(uint64_t at, Call call) const
    {
        return std::any_of(were_.begin(), were_.end(), [&](const Setting &setting) {
            const std::vector<uint64_t> places = setting.places(at);
            return std::any_of(places.begin(), places.end(),
                               [&](uint64_t place) { return was_open(place) && call(place); });
        });
    }

  private:
    // The limits are looked at behind the ranges: what is set in between counts for one of the two alone.
    bool was_open(uint64_t place) const
    {
        return std::any_of(were_.begin(), were_.end(), [&](const Setting &setting) { return setting.open(place); });
    }
    void change(const Setting &next)
    {
        now_ = next;
        were_.push_back(next);
        b_.tick();
    }
    Bench &b_;
    Setting now_;
    std::vector<Setting> were_{Setting()};
};

void reads(Bench &b)
{
    b.configure(256, 512, 64);
    b.later_writes = true;
    Live live(b);
    uint64_t good = 0;
    for (unsigned i = 0; i < 60; i++)
        live.set_something();
    for (int round = 0; round < 4000; round++) {
        if (round % 100 == 0) {
            b.settle(100000);
            stalls(b, round % 200 ? 40 : 0);
            b.configure(round % 300 ? 256 : 128, 512, 64);
        }
        live.forget();
        const unsigned words = 1 + b.random(b.chance(50) ? 16 : 200), word = b.random(1025 - words);
        const uint64_t at = 4096ull * b.random(160) + 4 * word;
        b.send(b.memory_request(false, b.bar2 + UPPER + at, words, 15, words > 1 ? 15 : 0, {}, 0x41));
        for (unsigned changes = b.random(8); changes; changes--) {
            b.run(b.random(b.chance(50) ? 4 : 50));
            b.chance(3) ? live.clear() : live.set_something();
        }
        uint64_t byte = at;
        for (Completion &part : b.collect(0x41, 50000)) {
            if (part.status != 0 && part.status != 1)
                b.fail("status %u of a read", part.status);
            for (uint32_t data : part.data)
                for (unsigned i = 0; i < 4; i++, byte++, good++)
                    if (!live.any(byte,
                                  [&](uint64_t place) { return b.local.memory.get(place) == uint8_t(data >> 8 * i); }))
                        b.fail("byte %llx is of no place that was shown there", (unsigned long long)byte);
        }
        if (b.failures > 10)
            return;
    }
    if (good < 20000)
        b.fail("only %llu bytes were shown", (unsigned long long)good);
    b.later_writes = false;
}

void writes(Bench &b)
{
    b.configure(256, 512, 64);
    Live live(b);
    uint64_t written = 0;
    bool cleared = true;
    for (int round = 0; round < 3000; round++) {
        if (round % 100 == 0)
            stalls(b, round % 200 ? 40 : 0);
        for (unsigned i = cleared ? 60 : 3; i; i--)
            live.set_something();
        live.forget();
        b.local.memory.bytes_.clear();
        const unsigned words = 1 + b.random(b.chance(50) ? 8 : 64), word = b.random(1025 - words);
        const uint64_t at = 4096ull * b.random(160) + 4 * word;
        const std::vector<uint32_t> data = random_words(b, words);
        b.send(b.memory_request(true, b.bar2 + UPPER + at, words, 15, words > 1 ? 15 : 0, data, 0));
        // Whoever sets a word waits for the writes before it; but a function reset clears all of them at any time.
        cleared = b.chance(20);
        if (cleared) {
            b.run(b.random(90));
            live.clear();
        }
        b.settle(100000);
        // The bench sees nothing of a line that is looked for.
        b.run(200);
        if (!b.settle(100000))
            b.fail("a write does not end");
        std::set<std::pair<uint64_t, uint8_t>> may;
        for (unsigned i = 0; i < 4 * words; i++)
            live.any(at + i, [&](uint64_t place) {
                may.insert({place, uint8_t(data[i / 4] >> 8 * (i % 4))});
                return false;
            });
        for (auto &byte : b.local.memory.bytes_)
            if (!may.count({byte.first, byte.second}))
                b.fail("byte %llx was written", (unsigned long long)byte.first);
        written += b.local.memory.bytes_.size();
        if (b.failures > 10)
            return;
    }
    if (written < 5000)
        b.fail("only %llu bytes were written", (unsigned long long)written);
}

} // namespace

const Case view_live_cases[] = {{"view_set_under_reads", reads}, {"view_set_under_writes", writes}, {nullptr, nullptr}};
