// SPDX-License-Identifier: Apache-2.0
// The processor at BAR2 while the storm goes on: it writes video memory as it is, and tiles as the rows that ranges
// show, which are set anew all the time, and reads what it has written.
#ifndef FERRY_TESTS_RTL_CPU_STORM_ROWS_H
#define FERRY_TESTS_RTL_CPU_STORM_ROWS_H

#include "../rectangle/images.h"
#include "device_bench.h"

class StormRows
{
  public:
    StormRows(Checks &checks, Random &random, RootComplex &root) : checks_(checks), random_(random), root_(root) {}

    // What nobody else writes.
    static bool owns(uint64_t place) { return place >= PLAIN && place < RANGES + COUNT * RANGE_BYTES; }
    // After a function reset nothing is shown.
    void begin_anew()
    {
        for (Range &range : ranges_)
            range.bytes = 0;
    }
    // With `strict` nothing is going on for which an access may be refused.
    void disturb(bool strict)
    {
        if (random_.once_in(3))
            show(random_.below(COUNT));
        const unsigned n = random_.below(COUNT + 1);
        if (n == COUNT)
            access(PLAIN + 4 * random_.below(PLAIN_BYTES / 4), nullptr, strict);
        else if (ranges_[n].bytes)
            access(RANGES + n * RANGE_BYTES + 4 * random_.below(ranges_[n].bytes / 4), &ranges_[n], strict);
    }
    unsigned compared() const { return compared_; }

  private:
    static const unsigned COUNT = FERRY_BAR0_VIEW_COUNT;
    static const uint32_t PLAIN = 0x2000000, PLAIN_BYTES = 0x10000, RANGES = 0x2010000, RANGE_BYTES = 0x40000;
    static const uint64_t ROWS_AT = 0x4000000; // BAR2's upper half.

    struct Range {
        Image tiles;
        uint32_t bytes, row; // 0 bytes: not shown.
    };

    // A range is whole rows of tiles.
    void show(unsigned n)
    {
        Range &range = ranges_[n];
        const uint32_t at = FERRY_BAR0_VIEW_AT + n * FERRY_BAR0_VIEW_STRIDE, begin = RANGES + n * RANGE_BYTES;
        const unsigned log2 = random_.once_in(2) ? 12 : 16;
        range.tiles = {&elements[random_.below(5)], log2, begin, 0};
        const uint32_t all = RANGE_BYTES >> log2, across = 1 + random_.below(log2 == 12 ? 9 : 4);
        range.row = across * static_cast<uint32_t>(range.tiles.tile_width());
        range.tiles.pitch = int64_t{across} << log2;
        range.bytes = (1 + random_.below(all / across)) * across << log2;
        root_.bar0(at + FERRY_BAR0_VIEW_LAYOUT, 0);
        root_.bar0(at + FERRY_BAR0_VIEW_FIRST_PAGE, begin >> 12);
        root_.bar0(at + FERRY_BAR0_VIEW_PAGES, range.bytes >> 12);
        root_.bar0(at + FERRY_BAR0_VIEW_ROW_BYTES, range.row);
        root_.bar0(at + FERRY_BAR0_VIEW_LAYOUT, FERRY_BAR0_VIEW_LAYOUT_ENABLE_MASK | range.tiles.swizzle() |
                                                    (log2 == 12 ? FERRY_BAR0_VIEW_LAYOUT_SMALL_MASK : 0));
    }
    // Some words from `at` on, up to the end of a page, as they are or as the rows of a range; then one of them is
    // read.
    void access(uint32_t at, const Range *range, bool strict)
    {
        const uint32_t words = std::min(1 + random_.below(32), (4096 - (at & 4095)) / 4);
        const uint32_t first = words == 1 ? 15 : 15 << random_.below(4) & 15,
                       last = words == 1 ? 0 : 15 >> random_.below(4);
        const uint64_t place = RootComplex::BAR2 + (range ? ROWS_AT : 0) + at;
        RootComplex::Packet write = {0x60000000 | words, first | last << 4, high(place), static_cast<uint32_t>(place)};
        for (uint32_t i = 0; i < words; i++)
            write.push_back(static_cast<uint32_t>(random_.word()));
        root_.send(write);
        if (random_.once_in(2))
            return;
        const uint32_t word = random_.below(words), enabled = word == 0 ? first : word == words - 1 ? last : 15;
        uint64_t from = place + 4 * word;
        if (range && random_.once_in(2)) {
            const uint32_t in_rows = at + 4 * word - static_cast<uint32_t>(range->tiles.base);
            from = RootComplex::BAR2 + range->tiles.address(in_rows % range->row, in_rows / range->row);
        }
        const auto answer = root_.ask({0x20000001, 0x0f, high(from), static_cast<uint32_t>(from)});
        if (!strict)
            return;
        compared_++;
        checks_.equal(answer.size(), 4, "words of an answer of BAR2");
        for (unsigned i = 0; i < 4 && answer.size() == 4; i++)
            if (enabled >> i & 1)
                checks_.equal(answer[3] >> 8 * i & 255, write[4 + word] >> 8 * i & 255, "byte that BAR2 was given");
    }
    static uint32_t high(uint64_t address) { return static_cast<uint32_t>(address >> 32); }

    Checks &checks_;
    Random &random_;
    RootComplex &root_;
    Range ranges_[COUNT] = {};
    unsigned compared_ = 0;
};

#endif
