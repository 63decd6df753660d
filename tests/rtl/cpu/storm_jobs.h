// SPDX-License-Identifier: Apache-2.0
// What the storm has the device do: packets of every kind between places of every kind, with tables in either memory
// that change under them. Each byte that a packet writes has a place of its own, which no other packet reads, and is
// another one before.
#ifndef FERRY_TESTS_RTL_CPU_STORM_JOBS_H
#define FERRY_TESTS_RTL_CPU_STORM_JOBS_H

#include <unordered_set>

#include "../rectangle/images.h"
#include "device_bench.h"

// What a packet writes; a rectangle is as many as it has rows.
struct Written {
    bool out;                     // To the host's memory.
    std::vector<uint64_t> places; // One for each byte.
    std::vector<uint8_t> content;
    uint32_t offset;      // Of the packet in its buffer.
    bool counted = false; // A fault's record says how many bytes of it are written.
    bool illegal = false; // Its ring has no right to it.
};

class StormJobs
{
  public:
    static const unsigned RINGS_USED = 3;

    StormJobs(Checks &checks, Random &random, Bench &bench)
        : checks_(checks), random_(random), root_(bench.root()),
          third_(root_, 2, 1), rings_{&bench.paging(), &bench.user(), &third_}
    {
        third_.entry_flags = FERRY_RING_ENTRY_FLAGS_VIRTUAL_ONLY_MASK;
        bench.mix();
        for (unsigned page = 0; page < MOVING; page++)
            for (unsigned i = 0; i < 4096; i++)
                at(false, frame(page, false) + i) = moving_[page][i] = static_cast<uint8_t>(random_.word());
        for (unsigned i = 0; i < 512; i++)
            put(true, HOST_TABLE + 8 * i, get(false, Bench::TABLE + 8 * i));
        for (unsigned page = 0; page < MOVING; page++)
            for (bool host : {false, true})
                put(host, entry_at(page, host), leads_to(page, false));
        put(false, HIGH_TABLE, HOST_TABLE | FERRY_TABLE_ENTRY_ENTRY_VALID_MASK | FERRY_TABLE_ENTRY_ENTRY_HOST_MASK);
        put(true, HIGH_HOST_TABLE, Bench::TABLE | FERRY_TABLE_ENTRY_ENTRY_VALID_MASK);
        prepare();
    }

    Ring &ring_of(unsigned n) { return *rings_[n]; }
    const std::vector<Written> &written(unsigned n) const { return written_[n]; }
    uint8_t &at(bool host, uint64_t place) { return host ? root_.byte(place) : root_.local[place]; }
    bool names(uint64_t place) const { return named_.count(place); }

    // The core may stop this time: behind that, what has not ended is carried out once more.
    bool once_more = false;
    // A buffer. Its last packet ends where the buffer does, at times where a slot does.
    void order(unsigned n)
    {
        for (uint64_t place : places_[n])
            named_.erase(place);
        places_[n].clear();
        written_[n].clear();
        const unsigned count = 1 + random_.below(4);
        for (unsigned i = 0; i < count; i++)
            packet(n, i);
        if (random_.once_in(4)) {
            ring_of(n).pad(SLOT - 32);
            linear(n, count, 3);
        }
    }
    // After a function reset.
    void begin_anew()
    {
        const uint32_t paging = 7 | FERRY_BAR0_RING_RIGHTS_TABLES_MASK;
        for (unsigned n = 0; n < RINGS_USED; n++)
            ring_of(n).begin_anew(n == 0 ? paging : 1);
        prepare();
    }
    // Wherever an entry leads, the page's content is there.
    void look_at_pages()
    {
        for (unsigned page = 0; page < MOVING; page++) {
            for (bool host : {false, true}) {
                const uint64_t entry = get(host, entry_at(page, host));
                const bool out = entry == leads_to(page, true);
                checks_.that(out || entry == leads_to(page, false), "an entry is one that was written");
                for (unsigned i = 0; i < 4096; i++)
                    checks_.equal(at(out, frame(page, out) + i), moving_[page][i], "a byte of a page that moves");
            }
            moved_ += get(false, entry_at(page, false)) != last_[page];
            last_[page] = get(false, entry_at(page, false));
        }
    }
    unsigned moved() const { return moved_; }

  private:
    static const uint32_t SLOT = 4096;
    // Beside the table of video memory that the bench has, the same in the host's, and one above each in the other.
    static const uint64_t HOST_TABLE = HOST + 0x70000, HIGH_HOST_TABLE = HOST + 0x71000, HIGH_TABLE = 0x810000;
    // Pages that move between two frames, one in either memory; where they are in the space.
    static const unsigned MOVING = 4, FIRST_MOVING = 400;
    static const uint64_t TILES = 0x1000000, FRAMES = 0x1900000, HOST_FRAMES = HOST + 0x74000;
    static const uint32_t LOCAL = FERRY_ADDRESS_KIND_LOCAL, SYSTEM = FERRY_ADDRESS_KIND_SYSTEM,
                          VIRTUAL = FERRY_ADDRESS_KIND_VIRTUAL, APERTURE = FERRY_ADDRESS_KIND_APERTURE;

    uint64_t get(bool host, uint64_t place)
    {
        uint64_t word = 0;
        for (unsigned i = 0; i < 8; i++)
            word |= uint64_t{at(host, place + i)} << 8 * i;
        return word;
    }
    void put(bool host, uint64_t place, uint64_t word)
    {
        for (unsigned i = 0; i < 8; i++)
            at(host, place + i) = static_cast<uint8_t>(word >> 8 * i);
    }
    static uint64_t frame(unsigned page, bool host) { return (host ? HOST_FRAMES : FRAMES) + page * 4096; }
    static uint64_t entry_at(unsigned page, bool host)
    {
        return (host ? HOST_TABLE : uint64_t{Bench::TABLE}) + 8 * (FIRST_MOVING + page);
    }
    static uint64_t leads_to(unsigned page, bool host)
    {
        return frame(page, host) | FERRY_TABLE_ENTRY_ENTRY_VALID_MASK | FERRY_TABLE_ENTRY_ENTRY_LEAF_MASK |
               (host ? FERRY_TABLE_ENTRY_ENTRY_HOST_MASK : 0);
    }

    void prepare()
    {
        Ring &paging = ring_of(0);
        root(0, 0);
        root(3, 1);
        for (unsigned first = 0; first < DATA_PAGES; first += 16)
            map_aperture(first, 16);
        paging.submit();
        checks_.that(paging.wait(), "spaces and aperture");
        checks_.equal(paging.status(), FERRY_BUFFER_STATUS_SUCCESS, "spaces and aperture");
    }
    // Four tables lead to the same: two of one level, two of two, whose roots are in video memory and in the host's.
    void root(unsigned space, unsigned which)
    {
        const uint64_t tables[] = {Bench::TABLE, HOST_TABLE, HIGH_TABLE, HIGH_HOST_TABLE};
        const uint32_t height = which / 2;
        ring_of(0).word(FERRY_OPCODE_ROOT | 6u << 16, which % 2 ? SYSTEM << 2 : 0);
        ring_of(0).word(FERRY_PACKET_ROOT_SPACE_VALID_MASK | space | height << 8, 0).word(tables[which]);
    }
    void forget(uint32_t scope, uint64_t address)
    {
        ring_of(0).word(FERRY_OPCODE_FORGET | 6u << 16, 0).word(scope, 0).word(address);
    }
    void map_aperture(unsigned first, unsigned count)
    {
        ring_of(0).word(FERRY_OPCODE_MAP_APERTURE | (4 + 2 * count) << 16, 0).word(32 + first, count);
        for (unsigned i = 0; i < count; i++)
            ring_of(0).word(DATA + (first + i) * 4096);
    }
    // As a driver does it: nobody is to read the old frame once it is somebody else's. What is cut leaves either entry
    // with the content behind it.
    void move(unsigned page)
    {
        Ring &paging = ring_of(0);
        const bool from = get(false, entry_at(page, false)) == leads_to(page, true), to = !from;
        forget(FERRY_FORGET_SCOPE_ALL, 0);
        paging.copy(from ? SYSTEM : LOCAL, frame(page, from), to ? SYSTEM : LOCAL, frame(page, to), 4096);
        paging.write(LOCAL, entry_at(page, false), leads_to(page, to));
        paging.write(SYSTEM, entry_at(page, true), leads_to(page, to));
        forget(FERRY_FORGET_SCOPE_ALL, 0);
        if (!once_more)
            paging.fill(from ? SYSTEM : LOCAL, frame(page, from), 4096, 0, random_.word());
        for (unsigned i = 0; i < 4096; i++) {
            name(0, frame(page, false) + i);
            name(0, frame(page, true) + i);
        }
        for (unsigned i = 0; i < 8; i++) {
            name(0, entry_at(page, false) + i);
            name(0, entry_at(page, true) + i);
        }
    }

    void name(unsigned n, uint64_t place)
    {
        named_.insert(place);
        places_[n].push_back(place);
    }
    void will_be(unsigned n, Written &written, uint64_t place, uint8_t byte)
    {
        written.places.push_back(place);
        written.content.push_back(byte);
        at(written.out, place) = static_cast<uint8_t>(~byte);
        name(n, place);
    }
    // One of the names of a place; the third ring is confined to one kind, and names others now and then.
    uint32_t kind_of(unsigned n, bool host, uint64_t place, uint32_t bytes, uint64_t &address)
    {
        address = place;
        if (n == 2 && !random_.once_in(8) && (host || place + bytes <= Bench::VIRTUAL_HOST)) {
            address = host ? place - DATA + Bench::VIRTUAL_HOST : place;
            return VIRTUAL;
        }
        if (!host)
            return place + bytes <= Bench::VIRTUAL_HOST && random_.once_in(2) ? VIRTUAL : LOCAL;
        switch (random_.below(3)) {
        case 0: return SYSTEM;
        case 1: address = place - DATA + Bench::VIRTUAL_HOST; return VIRTUAL;
        default: address = place - DATA + 32 * 4096; return APERTURE;
        }
    }
    // Where the packet of a buffer writes.
    uint64_t place_for(unsigned n, unsigned number, bool out)
    {
        const uint64_t local = n == 2 ? 0x20000 + number * 0x4000 : 0x40000 + n * 0x100000 + number * 0xc000;
        return out ? DATA + (32 + (n * 5 + number) * 2) * 4096 + random_.below(64) : AREA + local + random_.below(600);
    }
    void packet(unsigned n, unsigned number)
    {
        if (n == 0 && random_.once_in(3))
            forget(random_.below(4), 0);
        if (n == 0 && random_.once_in(3))
            root(random_.once_in(2) ? 3 : 0, random_.below(4));
        if (n == 0 && random_.once_in(3))
            map_aperture(random_.below(60), 1 + random_.below(4));
        if (n == 0 && number == 0 && random_.once_in(2))
            move(random_.below(MOVING));
        if (random_.once_in(5))
            rectangle(n, number);
        else
            linear(n, number, std::min(random_.below(11), 8u));
    }
    // What 0 writes a word, 1 repeats a pattern, 2 has a list of host pages, 8 reads pages that move.
    void linear(unsigned n, unsigned number, unsigned what)
    {
        Ring &ring = ring_of(n);
        const bool out = random_.once_in(3), in = !out && what != 8 && random_.once_in(2);
        const uint32_t bytes = what == 0 ? 8 : 1 + random_.below(random_.once_in(8) ? 8000 : 3000);
        const uint64_t to = place_for(n, number, out) & (what == 0 ? ~7ull : ~0ull), pattern = random_.word();
        const uint64_t from = what == 8 ? random_.below(MOVING * 4096 - bytes)
                              : in      ? DATA + random_.below(32 * 4096 - bytes)
                                        : random_.below(AREA - bytes);
        const unsigned pattern_log2 = what == 0 ? 3 : random_.below(4);
        const bool by_list = what == 2 && (in || out);

        uint64_t to_address, from_address;
        uint32_t to_kind = kind_of(n, out, to, bytes, to_address);
        uint32_t from_kind = kind_of(n, in, from, bytes, from_address);
        if (what <= 1 && to_kind == APERTURE) {
            to_kind = SYSTEM;
            to_address = to;
        }
        if (what == 8) {
            from_kind = VIRTUAL;
            from_address = FIRST_MOVING * 4096 + from;
        }
        Written w = {out, {}, {}, ring.bytes()};
        w.counted = what > 1 && !by_list;
        w.illegal = n == 2 && (by_list || to_kind != VIRTUAL || (what > 1 && from_kind != VIRTUAL));
        for (uint32_t i = 0; i < bytes; i++)
            will_be(n, w, to + i,
                    what <= 1   ? static_cast<uint8_t>(pattern >> 8 * (i & ((1u << pattern_log2) - 1)))
                    : what == 8 ? moving_[0][from + i]
                                : at(in, from + i));
        written_[n].push_back(w);

        if (what == 0)
            ring.word(FERRY_OPCODE_FENCE | 6u << 16, to_kind << 2).word(to_address).word(pattern);
        else if (what == 1)
            ring.fill(to_kind, to_address, bytes, pattern_log2, pattern);
        else if (by_list)
            list(ring, in ? from : to, bytes,
                 in ? SYSTEM | to_kind << 2 | FERRY_LIST_SIDE_SOURCE << 4
                    : SYSTEM << 2 | from_kind | FERRY_LIST_SIDE_DESTINATION << 4,
                 in ? to_address : from_address);
        else
            ring.copy(from_kind, from_address, to_kind, to_address, bytes);
    }
    static void list(Ring &ring, uint64_t host, uint32_t bytes, uint32_t places, uint64_t other)
    {
        const uint32_t pages = static_cast<uint32_t>(((host & 4095) + bytes + 4095) / 4096);
        ring.word(FERRY_OPCODE_COPY_PAGES | (6 + 2 * pages) << 16, places);
        ring.word(bytes, host & 4095).word(other);
        for (unsigned i = 0; i < pages; i++)
            ring.word((host & ~4095ull) + 4096 * i);
    }

    // Two tiles by two at most.
    Side tiled(uint64_t base, bool small, uint32_t width, uint32_t rows)
    {
        Side side = {{&elements[random_.below(5)], small ? 12u : 16u, base, small ? 8192 : 131072}, 0, 0};
        const uint32_t all_x = 2 * static_cast<uint32_t>(side.image.tile_width()),
                       all_y = 2 * static_cast<uint32_t>(side.image.tile_height());
        side.x = random_.below(all_x - width + 1);
        side.y = random_.below(all_y - rows + 1);
        return side;
    }
    void rectangle(unsigned n, unsigned number)
    {
        Ring &ring = ring_of(n);
        const bool out = random_.once_in(3), in = !out && random_.once_in(2);
        const bool tiles_from = !in && random_.once_in(2), tiles_to = !out && random_.once_in(2);
        const uint32_t width = 1 + random_.below(tiles_from || tiles_to ? 128 : 300), rows = 1 + random_.below(9);
        Side to = {{nullptr, 0, place_for(n, number, out), width + random_.below(400)}, 0, 0};
        Side from = {{nullptr, 0, 0, width + random_.below(300)}, 0, 0};
        const uint32_t span = static_cast<uint32_t>(from.image.pitch) * rows;
        from.image.base = in ? DATA + random_.below(32 * 4096 - span) : random_.below(AREA - span);
        if (tiles_to)
            to = n == 2 ? tiled(AREA + 0x20000 + number * 0x4000, true, width, rows)
                        : tiled(TILES + (n * 5 + number) * 0x40000, random_.once_in(2), width, rows);
        if (tiles_from)
            from = tiled(0, random_.once_in(2), width, rows);

        uint64_t to_address, from_address;
        const uint32_t to_kind = kind_of(n, out, to.first(), 0x20000, to_address);
        const uint32_t from_kind = kind_of(n, in, from.first(), 0x20000, from_address);
        for (uint32_t row = 0; row < rows; row++) {
            Written w = {out, {}, {}, ring.bytes()};
            w.illegal = n == 2 && (to_kind != VIRTUAL || from_kind != VIRTUAL);
            for (uint32_t i = 0; i < width; i++)
                will_be(n, w, to.byte(i, row), at(in, from.byte(i, row)));
            written_[n].push_back(w);
        }
        ring.word(FERRY_OPCODE_COPY_RECTANGLE | 12u << 16, from_kind | to_kind << 2);
        ring.word(width, rows - 1).word(from_address).word(to_address).word(from.layout()).word(to.layout());
    }

    Checks &checks_;
    Random &random_;
    RootComplex &root_;
    Ring third_;
    Ring *rings_[RINGS_USED];
    std::vector<Written> written_[RINGS_USED];
    std::vector<uint64_t> places_[RINGS_USED];
    std::unordered_set<uint64_t> named_;
    uint8_t moving_[MOVING][4096];
    uint64_t last_[MOVING] = {};
    unsigned moved_ = 0;
};

#endif
