// SPDX-License-Identifier: Apache-2.0
// BAR2's upper half: tiles that are shown as rows, each byte against the published interleaves (images.h).
#include "../rectangle/images.h"
#include "cases.h"

enum Word { FIRST_PAGE, PAGES, ROW_BYTES, LAYOUT };
constexpr uint32_t ENABLE = 8;
constexpr uint64_t UPPER = 1ull << 26;

// A range and the image in it.
struct Range {
    Image image;
    uint64_t row_bytes, rows;

    uint64_t bytes() const { return row_bytes * rows; }
    uint64_t address(uint64_t at) const { return image.address(at % row_bytes, at / row_bytes); }
    uint32_t layout() const { return ENABLE | (image.tile_log2 == 12 ? 4u : 0u) | image.swizzle(); }
};

static void set(Bench &b, unsigned range, Word word, uint64_t value)
{
    b.top->view_write = 1;
    b.top->view_range = range & 3;
    b.top->view_word = word;
    b.top->view_value = uint32_t(value);
    b.tick();
    b.top->view_write = 0;
}

static void show(Bench &b, unsigned number, const Range &range)
{
    set(b, number, LAYOUT, 0);
    set(b, number, FIRST_PAGE, range.image.base >> 12);
    set(b, number, PAGES, range.bytes() >> 12);
    set(b, number, ROW_BYTES, range.row_bytes);
    set(b, number, LAYOUT, range.layout());
}

static Range any_range(Bench &b, unsigned quarter)
{
    Image image = {&elements[b.random(5)], b.chance(50) ? 12u : 16u, 0, 0};
    uint64_t across = 1 + b.random(b.chance(20) ? 40 : 5), tile_rows = 1 + b.random(3);
    image.pitch = int64_t(across << image.tile_log2);
    uint64_t bytes = across * tile_rows << image.tile_log2, room = (UPPER / 4 - bytes) >> image.tile_log2;
    // Also at either end of its quarter, so that ranges stand side by side, and one at the end of memory.
    uint64_t place = b.chance(30) ? 0 : b.chance(30) ? room : b.random(unsigned(room) + 1);
    image.base = quarter * UPPER / 4 + (place << image.tile_log2);
    return {image, across * image.tile_width(), tile_rows * image.tile_height()};
}

// Any words of a page, and the bytes of the first and last that count.
struct Access {
    uint64_t page;
    unsigned word, words, first, last;

    Access(Bench &b, uint64_t in_page, unsigned most) : page(in_page)
    {
        words = 1 + b.random(b.chance(80) ? 20 : most);
        words = words > most ? most : words;
        word = b.random(1025 - words);
        first = 15u << b.random(4) & 15, last = words > 1 ? 15u >> b.random(4) : 0;
        if (words == 1 || (words == 2 && !(word & 1)))
            first = words == 1 ? b.random(16) : 1 + b.random(15), last = words == 1 ? 0 : 1 + b.random(15);
    }
    uint64_t at() const { return page << 12 | uint64_t(word) << 2; }
    bool enables(unsigned i, unsigned byte) const { return (i == 0 ? first : i + 1 == words ? last : 15u) >> byte & 1; }
};

static void compare(Bench &b, Memory &wanted)
{
    b.settle(100000);
    for (auto &byte : b.local.memory.bytes_)
        if (!wanted.bytes_.count(byte.first))
            b.fail("byte %llx was touched", (unsigned long long)byte.first);
    for (auto &byte : wanted.bytes_)
        if (b.local.memory.get(byte.first) != byte.second)
            b.fail("byte %llx is %02x, expected %02x", (unsigned long long)byte.first, b.local.memory.get(byte.first),
                   byte.second);
}

// Random accesses of both halves of BAR2 against a byte map. Reads also wait while later writes go on.
static void view_random(Bench &b)
{
    Memory local;
    Range ranges[4];
    b.digests = 20;
    for (int round = 0; round < 2000; round++) {
        if (round % 200 == 0) {
            b.settle(100000);
            stalls(b, round % 400 ? 30 : 0);
            b.configure(round % 600 ? 256 : 128, 512, 64);
            for (unsigned i = 0; i < 4; i++)
                show(b, 3 - i, ranges[i] = any_range(b, i));
        }
        const Range &range = ranges[b.random(4)];
        bool upper = b.chance(70), write = b.chance(50), later = !write && b.chance(50);
        Access access(b, (range.image.base >> 12) + b.random(unsigned(range.bytes() >> 12)),
                      write ? b.payload / 4 : 256);
        auto byte_at = [&](unsigned i) {
            uint64_t at = access.at() + i;
            return upper ? range.address(at - range.image.base) : at;
        };
        uint64_t address = b.bar2 + (upper ? UPPER : 0) + access.at();
        if (write) {
            std::vector<uint32_t> data = random_words(b, access.words);
            for (unsigned i = 0; i < 4 * access.words; i++)
                if (access.enables(i / 4, i % 4))
                    local.put(byte_at(i), uint8_t(data[i / 4] >> 8 * (i % 4)));
            b.send(b.memory_request(true, address, access.words, access.first, access.last, data, 0));
            continue;
        }
        std::vector<uint8_t> wanted(4 * access.words);
        for (unsigned i = 0; i < wanted.size(); i++)
            wanted[i] = local.get(byte_at(i));
        std::vector<uint32_t> got;
        uint8_t status = 9;
        if (later) {
            // Behind it writes of other bytes, of either half, which it need not wait for: also in the cycle of its
            // parts.
            b.later_writes = true;
            uint64_t elsewhere = (range.image.base ^ UPPER / 2) & ~0xfffull;
            const Range &other = ranges[elsewhere / (UPPER / 4)];
            b.send(b.memory_request(false, address, access.words, 15, access.words > 1 ? 15 : 0, {}, 0x41));
            for (unsigned at = 0, end = 4 + 4 * b.random(12); at < end; at += 4) {
                bool there = b.chance(50);
                uint32_t word = b.random(1u << 31);
                for (unsigned i = 0; i < 4; i++)
                    local.put(there ? other.address(at + i) : elsewhere + at + i, uint8_t(word >> 8 * i));
                b.send(b.memory_request(true, b.bar2 + (there ? UPPER + other.image.base : elsewhere) + at, 1, 15, 0,
                                        {word}, 0));
            }
            for (Completion &part : b.collect(0x41, 50000)) {
                EXPECT(b, "status", part.status, 0);
                got.insert(got.end(), part.data.begin(), part.data.end());
            }
            b.settle(100000);
            b.later_writes = false;
            EXPECT(b, "words", got.size(), access.words);
            for (unsigned i = 0; i < 4 * got.size() && i < wanted.size(); i++)
                EXPECT(b, "byte behind which there are writes", got[i / 4] >> 8 * (i % 4) & 255, wanted[i]);
            continue;
        }
        b.read_bytes(address, access.words, access.first, access.last, got, status);
        EXPECT(b, "status", status, 0);
        for (unsigned i = 0; i < 4 * got.size(); i++)
            if (access.enables(i / 4, i % 4))
                EXPECT(b, "byte of the view", got[i / 4] >> 8 * (i % 4) & 255, wanted[i]);
    }
    compare(b, local);
    EXPECT(b, "refused", b.counts.refused + b.counts.unsupported + b.counts.malformed, 0);
}

// Nothing is shown before a range is set, behind its ends, and after it is cleared; limits hold for the tiles that a
// byte is in.
static void view_refusals(Bench &b)
{
    b.configure(256, 512, 64);
    Range range = {{&elements[2], 16, 0x300000, 3 << 16}, 3 * 512, 2 * 128};
    std::vector<uint32_t> got;
    uint8_t status = 0;
    uint64_t refused = 0, unsupported = 0;
    // What an access gets: 0 it is carried out, 1 it is in no range, 2 video memory is closed there.
    auto expect = [&](const char *what, uint64_t at, unsigned words, int answer) {
        unsigned last = words > 1 ? 15 : 0;
        size_t before = b.local.memory.bytes_.size();
        b.read_bytes(b.bar2 + UPPER + at, words, 15, last, got, status);
        EXPECT(b, what, status, answer ? 1 : 0);
        b.send(b.memory_request(true, b.bar2 + UPPER + at, words, 15, last, random_words(b, words), 0));
        b.settle();
        unsupported += (answer ? 1 : 0) + (answer == 1);
        refused += answer == 2;
        EXPECT(b, what, b.counts.unsupported, unsupported);
        EXPECT(b, what, b.counts.refused, refused);
        if (answer)
            EXPECT(b, what, b.local.memory.bytes_.size(), before);
    };
    expect("nothing is shown", 0x300000, 4, 1);
    show(b, 2, range);
    expect("the first bytes", 0x300000, 64, 0);
    expect("the last bytes", 0x300000 + range.bytes() - 256, 64, 0);
    expect("before it", 0x2ffffc, 1, 1);
    expect("behind it", 0x300000 + range.bytes(), 64, 1);
    set(b, 2, LAYOUT, range.layout() & ~ENABLE);
    expect("off", 0x300000, 4, 1);
    set(b, 2, LAYOUT, range.layout());
    expect("on again", 0x300000, 4, 0);
    // The second row of tiles, and in the first row of bytes the third tile.
    b.top->local_limit = 0x330000;
    expect("behind the limit", 0x300000 + 128 * range.row_bytes, 64, 2);
    expect("below the limit", 0x300000 + 127 * range.row_bytes, 64, 0);
    expect("a line of it and more", 0x300000 + 128 * range.row_bytes + 48, 8, 2);
    b.top->local_limit = UPPER;
    b.top->protect_base = 0x320000;
    b.top->protect_limit = 0x330000;
    expect("in the second tile", 0x300000 + 768, 64, 0);
    expect("in the third tile, protected", 0x300000 + 1024, 64, 2);
    b.top->protect_base = b.top->protect_limit = 0;
    // Errors of memory: of one beat in the middle of a read.
    b.local.bad_beats = {{range.address(32), true}};
    b.read_bytes(b.bar2 + UPPER + 0x300000, 16, 15, 15, got, status);
    EXPECT(b, "one bad beat", status, 4);
    b.local.bad_beats.clear();
    b.read_bytes(b.bar2 + UPPER + 0x300000, 16, 15, 15, got, status);
    EXPECT(b, "no bad beat", status, 0);
    // A range that says more or less than what it has; a place in it is refused as soon as it would be outside.
    set(b, 2, PAGES, 40);
    expect("in the first tile of three, of which there are two and a half", 0x300000, 4, 0);
    expect("in the third, before its half", 0x300000 + 1024, 4, 0);
    expect("in the third, behind it", 0x300000 + 64 * range.row_bytes + 1280, 4, 1);
    // Words above what video memory has: each is as large as it says, none shows another place than that.
    for (unsigned bit = 26 - 12; bit < 32; bit++) {
        show(b, 2, range);
        set(b, 2, FIRST_PAGE, 0x300u | 1u << bit);
        expect("a first page behind memory", 0x300000, 4, 1);
        set(b, 2, FIRST_PAGE, 0x300);
        expect("one in memory", 0x300000, 4, 0);
    }
    for (unsigned bit = 26; bit < 32; bit++) {
        show(b, 2, range);
        set(b, 2, ROW_BYTES, range.row_bytes | 1ull << bit);
        expect("behind the first tile of a row that is longer than memory", 0x300000 + 512, 4, 0);
        b.read_bytes(b.bar2 + UPPER + 0x300000 + range.row_bytes, 1, 15, 0, got, status);
        EXPECT(b, "the fourth tile, which stands behind the range's end as soon as it has two", status, 0);
        set(b, 2, PAGES, 48);
        expect("the fourth tile, of which there are three", 0x300000 + range.row_bytes, 4, 1);
        set(b, 2, PAGES, 48 | 1ull << (bit == 26 ? 15 : bit));
        expect("the fourth tile, to the end of memory", 0x300000 + range.row_bytes, 4, 0);
    }
    // A row that is not as wide as its tiles are together, and a range without tiles, show nothing at all.
    for (unsigned swizzle = 1; swizzle < 4; swizzle++)
        for (unsigned small = 0; small < 2; small++) {
            const unsigned width = (small ? 32 : 128) << swizzle;
            show(b, 2, range);
            set(b, 2, LAYOUT, ENABLE | small << 2 | swizzle);
            for (unsigned bit = 0; bit < 12; bit++) {
                set(b, 2, ROW_BYTES, 4096 | 1u << bit);
                expect("a row of a part of a tile", 0x300000, 4, 1u << bit < width ? 1 : 0);
            }
            set(b, 2, ROW_BYTES, 0);
            expect("a row of no bytes", 0x300000, 4, 1);
            set(b, 2, ROW_BYTES, width);
            expect("a row of one tile", 0x300000, 4, 0);
            set(b, 2, LAYOUT, ENABLE | small << 2);
            expect("no tiles", 0x300000, 4, 1);
        }
    auto clear = [&] {
        b.top->view_clear = 1;
        b.tick();
        b.top->view_clear = 0;
    };
    clear();
    expect("cleared", 0x300000, 4, 1);
    // A word that is not written again is 0, and not what it was before.
    for (unsigned left = FIRST_PAGE; left <= ROW_BYTES; left++) {
        show(b, 2, range);
        expect("shown again", 0x300000, 4, 0);
        clear();
        const uint64_t words[] = {range.image.base >> 12, range.bytes() >> 12, range.row_bytes};
        for (unsigned word = FIRST_PAGE; word <= ROW_BYTES; word++)
            if (word != left)
                set(b, 2, Word(word), words[word]);
        set(b, 2, LAYOUT, range.layout());
        expect("without one of its words", 0x300000, 4, 1);
    }
}

// A range set so that its rows' tiles go on behind memory: what lies there is nowhere, and not where counting goes
// round.
static void view_beyond(Bench &b)
{
    b.configure(256, 512, 64);
    set(b, 0, FIRST_PAGE, 0x100);
    set(b, 0, PAGES, 0x100);
    set(b, 0, ROW_BYTES, 0x100000);
    set(b, 0, LAYOUT, 9); // Tiles of 64 KiB and 256 bytes across.
    uint64_t unsupported = 0;
    for (uint64_t tile = 0; tile < 0x1000; tile += tile < 40 || (tile & 1023) < 20 ? 1 : 61) {
        // As far as the range goes by tiles.
        const bool good = tile < 16;
        const uint64_t at = b.bar2 + UPPER + 0x100000 + 256 * tile;
        std::vector<uint32_t> got, data = random_words(b, 4);
        uint8_t status = 9;
        b.local.memory.bytes_.clear();
        b.send(b.memory_request(true, at, 4, 15, 15, data, 0));
        b.read_bytes(at, 4, 15, 15, got, status);
        EXPECT(b, "status", status, good ? 0 : 1);
        EXPECT(b, "bytes written", b.local.memory.bytes_.size(), good ? 16 : 0);
        if (good)
            EXPECT(b, "word", b.local.memory.word(0x100000 + (tile << 16)), data[0]);
        unsupported += good ? 0 : 2;
    }
    EXPECT(b, "unsupported", b.counts.unsupported, unsupported);
}

// A register write waits until the writes to memory before it have been answered.
static void view_order(Bench &b)
{
    b.configure(256, 512, 64);
    show(b, 0, any_range(b, 0));
    Range range = any_range(b, 1);
    show(b, 1, range);
    for (int i = 0; i < 50; i++) {
        stalls(b, b.random(60));
        unsigned writes = b.reg_writes;
        for (unsigned j = 0; j < 2; j++)
            b.send(b.memory_request(true, b.bar2 + UPPER + range.image.base + 256 * j, 64, 15, 15, random_words(b, 64),
                                    0));
        b.send(b.memory_request(true, b.bar0 + 0x100, 1, 15, 0, random_words(b, 1), 0));
        for (int limit = 0; b.reg_writes == writes && limit < 100000; limit++)
            b.tick();
        EXPECT(b, "register", b.reg_writes, writes + 1);
        if (!b.local.writes.empty() || !b.local.responses.empty())
            b.fail("register written before local memory");
    }
    b.settle();
}

// A range is set anew, off first, in any cycles of reads and writes: others show what they did, and of its own a read
// that was under way has each byte from where it was or will be, and a write after that goes where it is.
static void view_changes(Bench &b)
{
    Memory local;
    Range ranges[4];
    b.configure(256, 512, 64);
    b.later_writes = true;
    for (unsigned i = 0; i < 4; i++)
        show(b, i, ranges[i] = any_range(b, i));
    for (int round = 0; round < 600; round++) {
        if (round % 100 == 0)
            stalls(b, round % 200 ? 40 : 0);
        const unsigned changed = b.random(4), other = (changed + 1 + b.random(3)) % 4;
        const Range was = ranges[changed], range = ranges[other], will = any_range(b, changed);
        auto page_of = [&](const Range &r) { return (r.image.base >> 12) + b.random(unsigned(r.bytes() >> 12)); };
        // Reads of the one that stays and of the one that is changed; writes of the former behind them.
        Access stays(b, page_of(range), 256), goes(b, page_of(was), 256);
        std::vector<uint8_t> wanted(4 * stays.words);
        for (unsigned i = 0; i < wanted.size(); i++)
            wanted[i] = local.get(range.address(stays.at() + i - range.image.base));
        const bool first = b.chance(50);
        for (unsigned n = 0; n < 2; n++) {
            Access &access = (n == 0) == first ? stays : goes;
            b.send(b.memory_request(false, b.bar2 + UPPER + access.at(), access.words, 15, access.words > 1 ? 15 : 0,
                                    {}, &access == &stays ? 0x41 : 0x42));
        }
        const uint64_t page = range.image.base + 4096 * b.random(unsigned(range.bytes() >> 12));
        const bool apart = page >> 12 != stays.page;
        std::vector<uint32_t> data = random_words(b, 32);
        if (apart && b.chance(60)) {
            for (unsigned i = 0; i < 128; i++)
                local.put(range.address(page + i - range.image.base), uint8_t(data[i / 4] >> 8 * (i % 4)));
            b.send(b.memory_request(true, b.bar2 + UPPER + page, 32, 15, 15, data, 0));
        }
        b.run(b.random(b.chance(50) ? 60 : 600));
        const uint64_t words[] = {will.image.base >> 12, will.bytes() >> 12, will.row_bytes};
        set(b, changed, LAYOUT, b.chance(50) ? 0 : was.layout() & ~ENABLE);
        for (unsigned word = 0; word < 3; word++) {
            b.run(b.random(b.chance(50) ? 3 : 60));
            set(b, changed, Word((word + round) % 3), words[(word + round) % 3]);
        }
        b.run(b.random(b.chance(50) ? 3 : 60));
        set(b, changed, LAYOUT, will.layout());
        ranges[changed] = will;
        std::vector<uint32_t> got;
        std::vector<Completion> answers[2];
        for (unsigned n = 0; n < 2; n++)
            answers[n] = b.collect((n == 0) == first ? 0x41 : 0x42, 50000);
        for (Completion &part : answers[!first]) {
            EXPECT(b, "status of a read of a range that stays", part.status, 0);
            got.insert(got.end(), part.data.begin(), part.data.end());
        }
        EXPECT(b, "words", got.size(), stays.words);
        for (unsigned i = 0; i < 4 * got.size(); i++)
            EXPECT(b, "byte of a range that stays", got[i / 4] >> 8 * (i % 4) & 255, wanted[i]);
        uint64_t at = goes.at();
        for (Completion &part : answers[first]) {
            if (part.status != 0 && part.status != 1)
                b.fail("status %u of a read of a range that is changed", part.status);
            for (uint32_t word : part.data)
                for (unsigned i = 0; i < 4; i++, at++) {
                    uint8_t byte = uint8_t(word >> 8 * i);
                    if (byte != local.get(was.address(at - was.image.base)) &&
                        (at < will.image.base || at >= will.image.base + will.bytes() ||
                         byte != local.get(will.address(at - will.image.base))))
                        b.fail("byte %llx of a range that is changed", (unsigned long long)at);
                }
        }
        // What is written now goes where the range is.
        const uint64_t place = will.image.base + 4096 * b.random(unsigned(will.bytes() >> 12)) + 64 * b.random(60);
        data = random_words(b, 16);
        for (unsigned i = 0; i < 64; i++)
            local.put(will.address(place + i - will.image.base), uint8_t(data[i / 4] >> 8 * (i % 4)));
        b.send(b.memory_request(true, b.bar2 + UPPER + place, 16, 15, 15, data, 0));
        b.settle(100000);
        if (round % 10)
            continue;
        // All of it is cleared over a read: what of that is answered is right.
        b.send(
            b.memory_request(false, b.bar2 + UPPER + stays.at(), stays.words, 15, stays.words > 1 ? 15 : 0, {}, 0x43));
        b.run(b.random(70));
        b.top->view_clear = 1;
        b.tick();
        b.top->view_clear = 0;
        at = stays.at();
        for (Completion &part : b.collect(0x43, 50000))
            for (uint32_t word : part.data)
                for (unsigned i = 0; i < 4; i++, at++)
                    EXPECT(b, "byte of ranges that are cleared", word >> 8 * i & 255,
                           local.get(range.address(at - range.image.base)));
        for (unsigned i = 0; i < 4; i++)
            show(b, i, ranges[i]);
    }
    compare(b, local);
    b.later_writes = false;
}

// Memory that has a write's address may let all reads wait until it has the beats: so those of a write to the lower
// half must not wait for a read of the upper.
static void view_waiting_beats(Bench &b)
{
    b.configure(256, 512, 64);
    b.later_writes = b.local.in_order = true;
    Range range = any_range(b, 1);
    show(b, 1, range);
    stalls(b, 40);
    for (int i = 0; i < 60; i++) {
        for (uint8_t tag = 0x40; tag < 0x44; tag++)
            b.send(b.memory_request(false, b.bar2 + (tag & 1 ? UPPER + range.image.base : 0x1000), 8, 15, 15, {}, tag));
        for (unsigned j = 0; j < 12; j++)
            b.send(b.memory_request(true, b.bar2 + 0x2000 + 256 * j, 64, 15, 15, random_words(b, 64), 0));
        for (uint8_t tag = 0x40; tag < 0x44; tag++)
            EXPECT(b, "answers", b.collect(tag, 20000).size(), 1);
        b.settle(100000);
    }
}

// Where memory has errors, each granule of a write counts, as the window asks memory for each; one that the window
// refuses counts once.
static void view_errors(Bench &b)
{
    b.configure(256, 512, 64);
    Range range = any_range(b, 1);
    show(b, 1, range);
    for (bool closed : {false, true}) {
        b.local.refuses = !closed;
        b.top->local_limit = closed ? 4096 : UPPER;
        for (unsigned words : {1u, 4u, 20u, 64u}) {
            const uint64_t refused = b.counts.refused;
            b.send(b.memory_request(true, b.bar2 + UPPER + range.image.base, words, 15, words > 1 ? 15 : 0,
                                    random_words(b, words), 0));
            b.settle(100000);
            EXPECT(b, "refused", b.counts.refused - refused, closed ? 1 : (words + 3) / 4);
        }
    }
}

const Case view_cases[] = {
    {"view_random", view_random},
    {"view_refusals", view_refusals},
    {"view_order", view_order},
    {"view_changes", view_changes},
    {"view_waiting_beats", view_waiting_beats},
    {"view_beyond", view_beyond},
    {"view_errors", view_errors},
    {nullptr, nullptr},
};
