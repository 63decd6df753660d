// SPDX-License-Identifier: Apache-2.0
// A program of some 200 packets on the paging ring and a user ring of the whole device, and what it may do.
//
// Every packet has a destination of its own and reads only what no packet writes, so each byte that the device may
// write has one value that it may get, however often a buffer is run again after a restart; every byte that leaves the
// device is held against that at once. The patterns of the user's fills are bus addresses of pages that no packet
// names: a page list read from a slot that was filled anew leads there.
#ifndef FERRY_TESTS_RTL_CPU_WATCHED_PROGRAM_H
#define FERRY_TESTS_RTL_CPU_WATCHED_PROGRAM_H

#include <deque>
#include <functional>
#include <string>

#include "../rectangle/images.h"
#include "host_ring.h"

static const unsigned SOURCE_PAGES = 16, TARGET_PAGES = 44; // Of the DATA pages: read only, written only.
static const uint64_t EVIL = HOST + 0x200000;               // Pages that no packet names.
static const unsigned EVIL_PAGES = 4;
static const uint32_t LOCAL_SOURCE_BYTES = 0x40000, LOCAL_BYTES = 0x200000;
static const unsigned PACKETS = 200;
// Virtual addresses of a space whose tables nobody changes, though they are forgotten time and again: from there on
// what the program uses of video memory, and behind it the DATA pages.
static const uint64_t VIRTUAL_LOCAL = 0x20000000, VIRTUAL_HOST = VIRTUAL_LOCAL + 0x200000;
static const unsigned SPACE = 5;
static const uint32_t TABLES = 0x400000;
// Tiles that BAR2 shows as rows: four of 64 KiB in what is read, and six of 4 KiB that the CPU alone writes.
static const Image READ_TILES = {&elements[2], 16, 0, 2 << 16},
                   WRITTEN_TILES = {&elements[0], 12, LOCAL_BYTES, 3 << 12};
static const uint32_t READ_ROW = 1024, WRITTEN_ROW = 192, WRITTEN_BYTES = 6 << 12;
static const uint64_t BAR2_ROWS = RootComplex::BAR2 + (1u << 26);
// Nothing that is read is ever written, so the engine may have as much in hand as it can.
static const uint32_t UNORDERED = FERRY_PACKET_HEADER_UNORDERED_MASK;
static const int NEVER = -1;

struct Target {
    bool host;
    uint64_t at;
    uint32_t bytes;
};

struct Buffer {
    std::vector<Target> targets;
    uint64_t fence;
};

class WatchedProgram
{
  public:
    WatchedProgram(Checks &checks, Random &random, const char *firmware_path)
        : checks_(checks), random_(random), root_(random), firmware_path_(firmware_path), known_faults_(checks.faults())
    {
        for (uint64_t at = HOST; at < HOST + 0x80000; at += 4096)
            root_.map(at);
        for (unsigned i = 0; i < SOURCE_PAGES + TARGET_PAGES; i++)
            root_.map(DATA + i * 4096);
        for (unsigned i = 0; i < EVIL_PAGES; i++)
            root_.map(EVIL + i * 4096);
        for (unsigned i = 0; i < SOURCE_PAGES * 4096; i++)
            root_.byte(DATA + i) = static_cast<uint8_t>(random.word());
        for (unsigned i = 0; i < LOCAL_SOURCE_BYTES; i++)
            root_.local[i] = static_cast<uint8_t>(random.word());
        root_.on_host_write = [this](uint64_t at, uint8_t value) {
            if (at >= FENCES && at < FAULTS + 0x1000) {
                // Each record is looked at when its last byte has come: the next may follow within one register access.
                if (at < FAULTS && at % 64 == FERRY_FENCE_RECORD_SIZE - 1)
                    look();
                return;
            }
            bool data = at >= DATA && at < DATA + (SOURCE_PAGES + TARGET_PAGES) * 4096;
            judge("host memory", at, value, data ? host_may_[at - DATA] : NEVER);
        };
        root_.on_local_write = [this](uint64_t at, uint8_t value) {
            judge("video memory", at, value, at < local_may_.size() ? local_may_[at] : NEVER);
        };
        root_.on_unmapped_write = [this](uint64_t at) { judge("no page", at, 0, NEVER); };
        forget();
    }

    bool start()
    {
        root_.enumerate();
        return boot();
    }
    bool boot()
    {
        if (!root_.boot(firmware_path_))
            return false;
        root_.bar0_64(FERRY_BAR0_FAULT_LOG_ADDRESS, FAULTS);
        root_.bar0(FERRY_BAR0_FAULT_LOG_ENTRIES_LOG2, 6);
        rings_.emplace_back(root_, 0, 7 | FERRY_BAR0_RING_RIGHTS_TABLES_MASK);
        rings_.emplace_back(root_, 1, 0);
        show(0, READ_TILES, LOCAL_SOURCE_BYTES, READ_ROW);
        show(1, WRITTEN_TILES, WRITTEN_BYTES, WRITTEN_ROW);
        name_tables(rings_[0]);
        submit(0, {});
        for (int i = 0; i < 100000 && !waiting_[0].empty(); i++) {
            root_.tick();
            look();
        }
        return waiting_[0].empty();
    }

    unsigned wrong = 0;
    // Something went wrong: what follows on this device says nothing.
    bool hopeless = false;

  protected:
    // --- A program ---

    // Looks at the fences, and at the fault log, as a driver does.
    void look()
    {
        for (unsigned number = 0; number < 2; number++) {
            uint32_t retired = static_cast<uint32_t>(rings_[number].record(FERRY_FENCE_RECORD_RETIRED));
            if (retired == retired_[number])
                continue;
            // No record is missed.
            checks_.equal(retired, retired_[number] + 1, "RETIRED steps by one");
            retired_[number] = retired;
            if (waiting_[number].empty()) {
                checks_.that(false, "a fence that nobody waits for");
                continue;
            }
            const Buffer &first = waiting_[number].front();
            checks_.equal(rings_[number].record(FERRY_FENCE_RECORD_VALUE), first.fence, "fence value");
            uint32_t status = rings_[number].status();
            if (status == FERRY_BUFFER_STATUS_SUCCESS)
                all_written(first);
            else
                checks_.equal(status, FERRY_BUFFER_STATUS_ABORTED, "status");
            waiting_[number].pop_front();
        }
    }
    bool ended() { return waiting_[0].empty() && waiting_[1].empty(); }

    // With a slow link or a slow memory the engine is always behind the core; with a slow memory fetching is not.
    void draw_paces()
    {
        root_.link_pace = random_.once_in(4) ? 8 : 1;
        root_.memory_pace = random_.once_in(3) ? 1 : random_.once_in(2) ? 8 : 24;
    }
    // Runs a program, and `each_cycle` with the cycle of it before each (but those of register accesses). Its cycles.
    uint64_t program(const std::function<void(uint64_t)> &each_cycle)
    {
        uint64_t began = root_.time, last = root_.time + 4000000;
        packets_ = 0;
        wanted_ = PACKETS;
        done_.clear();
        forget();
        while ((packets_ < wanted_ || !ended()) && root_.time < last) {
            each_cycle(root_.time - began);
            unsigned number = random_.once_in(3);
            if (packets_ < wanted_ && produced_[number] - retired_[number] < most_waiting_)
                packets_ += buffer(number);
            if (random_.once_in(200) && root_.sent_all())
                use_rows();
            root_.tick();
            look();
            if (root_.time % 20000 == 0)
                root_.bar0(FERRY_BAR0_FAULT_LOG_CONSUMED, root_.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED));
        }
        uint64_t took = root_.time - began;
        checks_.that(ended(), "every fence arrives");
        quiet();
        for (uint32_t at = 0; at < WRITTEN_BYTES; at++)
            if (local_may_[LOCAL_BYTES + at] != NEVER)
                checks_.equal(root_.local[LOCAL_BYTES + at], static_cast<uint64_t>(local_may_[LOCAL_BYTES + at]),
                              "byte of a row that the CPU wrote");
        checks_.equal(wrong, 0, "bytes that no packet asked for");
        if (checks_.faults() != known_faults_) {
            std::printf("    disturbed in the program's cycle%s\n", done_.c_str());
            known_faults_ = checks_.faults();
            hopeless = true;
        }
        return took;
    }
    // The device has come to rest with nothing lost.
    void quiet()
    {
        for (int i = 0; i < 3000 && root_.bar0(FERRY_BAR0_STATUS) != FERRY_BAR0_STATUS_CORE_MASK; i++)
            root_.run(20);
        checks_.equal(root_.bar0(FERRY_BAR0_STATUS), FERRY_BAR0_STATUS_CORE_MASK, "status of an idle device");
        for (unsigned number = 0; number < 2; number++) {
            checks_.equal(root_.bar0(ring(number, FERRY_BAR0_RING_FETCHED)), produced_[number], "FETCHED");
            checks_.equal(root_.bar0(ring(number, FERRY_BAR0_RING_RETIRED)), produced_[number], "RETIRED");
        }
        root_.bar0(FERRY_BAR0_FAULT_LOG_CONSUMED, root_.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED));
    }
    void note(const char *what)
    {
        done_ += " ";
        done_ += what;
    }
    void wait(unsigned cycles)
    {
        done_ += " +" + std::to_string(cycles);
        for (unsigned i = 0; i < cycles; i++) {
            root_.tick();
            look();
        }
    }

    Checks &checks_;
    Random &random_;
    RootComplex root_;
    const char *firmware_path_;
    std::vector<Ring> rings_;
    std::deque<Buffer> waiting_[2];
    uint32_t produced_[2] = {}, retired_[2] = {};
    std::vector<int> host_may_, local_may_;
    uint64_t host_next_ = 0, local_next_ = 0;
    uint32_t aperture_next_ = 0, row_next_ = 0;
    // Packets of the program so far, and of the whole of it.
    unsigned packets_ = 0, wanted_ = PACKETS;
    // Entries of a ring that wait at once, at most the seven that it holds.
    unsigned most_waiting_ = 7;
    // What was done to it.
    std::string done_;
    int known_faults_;

  private:
    // --- The oracle ---

    void judge(const char *where, uint64_t at, uint8_t value, int may)
    {
        if (may == value)
            return;
        if (wrong++ < 4)
            std::printf("    %s: 0x%02x written at 0x%" PRIx64 ", which %s\n", where, value, at,
                        may == NEVER ? "no packet asked for" : "is not what the packet asked for");
    }
    void forget()
    {
        host_may_.assign((SOURCE_PAGES + TARGET_PAGES) * 4096, NEVER);
        local_may_.assign(LOCAL_BYTES + WRITTEN_BYTES, NEVER);
        host_next_ = SOURCE_PAGES * 4096;
        local_next_ = LOCAL_SOURCE_BYTES;
    }
    void expect(Buffer &buffer, bool host, uint64_t at, const std::vector<uint8_t> &bytes)
    {
        std::vector<int> &may = host ? host_may_ : local_may_;
        uint64_t from = host ? at - DATA : at;
        for (size_t i = 0; i < bytes.size(); i++) {
            may[from + i] = bytes[i];
            (host ? root_.byte(at + i) : root_.local[at + i]) = static_cast<uint8_t>(~bytes[i]);
        }
        buffer.targets.push_back({host, at, static_cast<uint32_t>(bytes.size())});
    }
    void all_written(const Buffer &buffer)
    {
        for (const Target &target : buffer.targets)
            for (uint32_t i = 0; i < target.bytes; i++) {
                uint64_t at = target.at + i;
                checks_.equal(target.host ? root_.byte(at) : root_.local[at],
                              static_cast<uint64_t>(target.host ? host_may_[at - DATA] : local_may_[at]),
                              "byte of a buffer that succeeded");
            }
    }

    // --- Tiles in BAR2 ---

    // Nothing is shown before.
    void show(unsigned range, const Image &tiles, uint32_t bytes, uint32_t row)
    {
        const uint32_t at = FERRY_BAR0_VIEW_AT + range * FERRY_BAR0_VIEW_STRIDE;
        checks_.equal(root_.read(BAR2_ROWS + tiles.base), 0xffffffff, "rows that nobody shows");
        checks_.equal(root_.bar0(at + FERRY_BAR0_VIEW_PAGES) + root_.bar0(at + FERRY_BAR0_VIEW_LAYOUT), 0, "VIEW");
        root_.bar0(at + FERRY_BAR0_VIEW_FIRST_PAGE, static_cast<uint32_t>(tiles.base >> 12));
        root_.bar0(at + FERRY_BAR0_VIEW_PAGES, bytes >> 12);
        root_.bar0(at + FERRY_BAR0_VIEW_ROW_BYTES, row);
        root_.bar0(at + FERRY_BAR0_VIEW_LAYOUT, FERRY_BAR0_VIEW_LAYOUT_ENABLE_MASK | tiles.swizzle() |
                                                    (tiles.tile_log2 == 12 ? FERRY_BAR0_VIEW_LAYOUT_SMALL_MASK : 0));
    }
    // What the CPU does with them beside the program: it writes the next words, or reads one.
    void use_rows()
    {
        if (random_.once_in(4)) {
            uint32_t at = random_.below(LOCAL_SOURCE_BYTES / 4) * 4, word = root_.read(BAR2_ROWS + at);
            for (unsigned i = 0; i < 4; i++)
                checks_.equal(word >> 8 * i & 255,
                              root_.local[READ_TILES.address((at + i) % READ_ROW, (at + i) / READ_ROW)],
                              "byte of a row that the CPU read");
            return;
        }
        uint32_t words = 1 + random_.below(32), at = row_next_;
        words = std::min(words, (4096 - at % 4096) / 4);
        row_next_ = (at + 4 * words) % WRITTEN_BYTES;
        uint64_t to = BAR2_ROWS + WRITTEN_TILES.base + at;
        RootComplex::Packet packet = {0x60000000 | words, words == 1 ? 0x0fu : 0xffu, static_cast<uint32_t>(to >> 32),
                                      static_cast<uint32_t>(to)};
        for (uint32_t i = 0; i < 4 * words; i++) {
            uint8_t value = static_cast<uint8_t>(random_.word());
            local_may_[WRITTEN_TILES.address((at + i) % WRITTEN_ROW, (at + i) / WRITTEN_ROW)] = value;
            if (i % 4 == 0)
                packet.push_back(0);
            packet.back() |= uint32_t{value} << 8 * (i % 4);
        }
        root_.send(packet);
    }

    // --- Page tables ---

    void put_entry(uint32_t at, uint64_t page, uint64_t flags)
    {
        for (unsigned i = 0; i < 8; i++)
            root_.local[at + i] = static_cast<uint8_t>((page | flags | FERRY_TABLE_ENTRY_ENTRY_VALID_MASK) >> 8 * i);
    }
    // Two levels: a table of the first 2 MiB of video memory, with groups of 64 KiB in its second half, and one of the
    // host's pages.
    void name_tables(Ring &ring)
    {
        const uint64_t leaf = FERRY_TABLE_ENTRY_ENTRY_LEAF_MASK, group = FERRY_TABLE_ENTRY_ENTRY_GROUP_MASK;
        const uint32_t at = TABLES + 8 * (VIRTUAL_LOCAL >> 21 & 511);
        put_entry(at, TABLES + 0x1000, 0);
        put_entry(at + 8, TABLES + 0x2000, 0);
        for (uint32_t i = 0; i < LOCAL_BYTES / 4096; i++)
            put_entry(TABLES + 0x1000 + 8 * i, i * 4096ull, i < 256 ? leaf : leaf | group);
        for (uint32_t i = 0; i < SOURCE_PAGES + TARGET_PAGES; i++)
            put_entry(TABLES + 0x2000 + 8 * i, DATA + i * 4096ull,
                      leaf | FERRY_TABLE_ENTRY_ENTRY_HOST_MASK | FERRY_TABLE_ENTRY_ENTRY_SNOOP_MASK);
        ring.word(FERRY_OPCODE_ROOT | 6u << 16, 0);
        ring.word(SPACE | 1u << 8 | FERRY_PACKET_ROOT_SPACE_VALID_MASK, 0).word(uint64_t{TABLES});
    }
    void forget_tables(Ring &ring)
    {
        uint32_t scope = random_.below(4), space = random_.once_in(4) ? 0 : SPACE;
        ring.word(FERRY_OPCODE_FORGET | 6u << 16, 0);
        ring.word(scope | (scope == FERRY_FORGET_SCOPE_ALL ? 0 : space) << 4, 0);
        ring.word(scope > FERRY_FORGET_SCOPE_TABLE ? 0 : VIRTUAL_LOCAL + random_.below(0x400000));
    }
    // An address as it is or by the tables; its kind.
    uint32_t kind_of(bool host, uint64_t &at)
    {
        if (random_.once_in(2))
            return host ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL;
        at = host ? VIRTUAL_HOST + at - DATA : VIRTUAL_LOCAL + at;
        return FERRY_ADDRESS_KIND_VIRTUAL;
    }
    void submit(unsigned number, Buffer buffer)
    {
        buffer.fence = rings_[number].submit(SPACE << FERRY_RING_ENTRY_FLAGS_SPACE_SHIFT);
        waiting_[number].push_back(buffer);
        produced_[number]++;
    }

    // --- Packets ---

    uint64_t take(uint64_t &next, uint64_t limit, uint32_t bytes)
    {
        // Neighbours are not neighbours in memory: what spills over an end is seen.
        uint64_t at = next + random_.below(24);
        next = at + bytes;
        if (next > limit)
            std::printf("    the program needs more room\n"), std::exit(1);
        return at;
    }
    uint64_t take_local(uint32_t bytes) { return take(local_next_, LOCAL_BYTES, bytes); }
    uint64_t take_host(uint32_t bytes) { return DATA + take(host_next_, (SOURCE_PAGES + TARGET_PAGES) * 4096, bytes); }
    std::vector<uint8_t> local_bytes(uint64_t at, uint32_t bytes)
    {
        return {root_.local.begin() + static_cast<ptrdiff_t>(at),
                root_.local.begin() + static_cast<ptrdiff_t>(at + bytes)};
    }
    uint32_t some_bytes() { return random_.once_in(16) ? 1 + random_.below(4096) : 1 + random_.below(300); }

    void fill(Ring &ring, Buffer &buffer, bool user)
    {
        // Only the pattern's low four bytes are looked at.
        uint32_t bytes = some_bytes() & ~3u;
        uint64_t pattern = user ? EVIL + random_.below(EVIL_PAGES) * 4096 : random_.word(), at = take_local(bytes);
        std::vector<uint8_t> out(bytes);
        for (uint32_t i = 0; i < bytes; i++)
            out[i] = static_cast<uint8_t>(pattern >> 8 * (i & 3));
        expect(buffer, false, at, out);
        uint32_t kind = kind_of(false, at);
        ring.fill(kind, at, bytes, 2, pattern);
    }
    void copy(Ring &ring, Buffer &buffer, bool to_host)
    {
        uint32_t bytes = some_bytes();
        uint64_t from = random_.below(LOCAL_SOURCE_BYTES - bytes), at = to_host ? take_host(bytes) : take_local(bytes);
        expect(buffer, to_host, at, local_bytes(from, bytes));
        uint32_t source_kind = kind_of(false, from), kind = kind_of(to_host, at);
        ring.word(FERRY_OPCODE_COPY | UNORDERED | 8u << 16, source_kind | kind << 2).word(bytes).word(from).word(at);
    }
    // COPY_PAGES over consecutive host pages named one by one, so that a destination is one range.
    void pages_out(Ring &ring, Buffer &buffer)
    {
        uint32_t bytes = some_bytes() + 200;
        uint64_t to = take_host(bytes);
        uint64_t from = random_.below(LOCAL_SOURCE_BYTES - bytes);
        expect(buffer, true, to, local_bytes(from, bytes));
        list(ring, FERRY_LIST_SIDE_DESTINATION, bytes, to & 4095, from);
        for (uint64_t page = to & ~4095ull; page < to + bytes; page += 4096)
            ring.word(page);
    }
    void pages_in(Ring &ring, Buffer &buffer)
    {
        uint32_t offset = random_.below(4096), bytes = some_bytes() + 200;
        uint64_t to = take_local(bytes);
        std::vector<uint8_t> out;
        list(ring, FERRY_LIST_SIDE_SOURCE, bytes, offset, to);
        for (uint32_t done = 0; done < offset + bytes; done += 4096) {
            uint64_t page = DATA + random_.below(SOURCE_PAGES) * 4096;
            ring.word(page);
            for (uint32_t i = done ? 0 : offset; i < 4096 && done + i < offset + bytes; i++)
                out.push_back(root_.byte(page + i));
        }
        expect(buffer, false, to, out);
    }
    void list(Ring &ring, uint32_t side, uint32_t bytes, uint32_t offset, uint64_t address)
    {
        uint32_t pages = (offset + bytes + 4095) / 4096, other = kind_of(false, address);
        uint32_t kinds = side == FERRY_LIST_SIDE_SOURCE ? FERRY_ADDRESS_KIND_SYSTEM | other << 2
                                                        : FERRY_ADDRESS_KIND_SYSTEM << 2 | other;
        ring.word(FERRY_OPCODE_COPY_PAGES | UNORDERED | (6 + 2 * pages) << 16, kinds | side << 4);
        ring.word(bytes, offset).word(address);
    }
    // Maps two pages of the aperture and reads through them. Each buffer has pages of its own.
    void aperture(Ring &ring, Buffer &buffer)
    {
        uint32_t page = aperture_next_++ % 2000 * 2, bytes = 1 + random_.below(300);
        uint64_t first = DATA + random_.below(SOURCE_PAGES) * 4096, second = DATA + random_.below(SOURCE_PAGES) * 4096;
        uint64_t to = take_local(bytes);
        std::vector<uint8_t> out;
        ring.word(FERRY_OPCODE_MAP_APERTURE | 8u << 16, 0).word(page, 2).word(first).word(second);
        ring.copy(FERRY_ADDRESS_KIND_APERTURE, page * 4096 + 4000, FERRY_ADDRESS_KIND_LOCAL, to, bytes);
        for (uint32_t i = 0; i < bytes; i++)
            out.push_back(root_.byte(4000 + i < 4096 ? first + 4000 + i : second + i - 96));
        expect(buffer, false, to, out);
    }
    // Out of any image in what is read, of rows or of small tiles; into rows of either memory, or tiles of video
    // memory.
    void rectangle(Ring &ring, Buffer &buffer, bool to_host)
    {
        bool tiled = !to_host && random_.once_in(2);
        Rectangle r = {{}, {}, 1 + random_.below(150), 1 + random_.below(7)};
        Side &from = r.source, &to = r.destination;
        from.image = {random_.once_in(2) ? nullptr : &elements[random_.below(5)], 12, random_.below(8) * 8192ull, 8192};
        from.x = random_.below(200);
        from.y = random_.below(19);
        if (tiled) {
            to.image = {&elements[random_.below(5)], 12, 0, 8192};
            to.x = random_.below(60);
            to.y = random_.below(16);
            // Two rows of tiles at most, and four tiles of each.
            to.image.base = (take_local(2 * 16384 + 4096) + 4095) & ~4095ull;
            to.image.pitch = 16384;
        } else {
            int64_t pitch = r.width + random_.below(9);
            uint32_t bytes = static_cast<uint32_t>(pitch) * r.rows;
            to.image = {nullptr, 0, to_host ? take_host(bytes) : take_local(bytes), pitch};
        }
        uint64_t from_at = from.first(), to_at = to.first();
        uint32_t from_kind = kind_of(false, from_at), to_kind = kind_of(to_host, to_at);
        ring.word(FERRY_OPCODE_COPY_RECTANGLE | UNORDERED | 12u << 16, from_kind | to_kind << 2);
        ring.word(r.width, r.rows - 1).word(from_at).word(to_at).word(from.layout()).word(to.layout());
        for (uint32_t row = 0; row < r.rows; row++)
            for (uint32_t at = 0; at < r.width; at++) {
                if (from.byte(at, row) >= LOCAL_SOURCE_BYTES)
                    std::printf("    the program reads what it writes\n"), std::exit(1);
                expect(buffer, to_host, to.byte(at, row), {root_.local[from.byte(at, row)]});
            }
    }
    // Fills the ring's next buffer; the number of its packets.
    unsigned buffer(unsigned number)
    {
        Ring &ring = rings_[number];
        Buffer buffer;
        unsigned count = 1 + random_.below(12);
        for (unsigned i = 0; i < count; i++) {
            unsigned what = random_.below(8);
            if (number == 0 && random_.once_in(12))
                forget_tables(ring);
            else if (random_.once_in(8))
                rectangle(ring, buffer, number == 0 && random_.once_in(2));
            else if (number == 1)
                what < 5 ? fill(ring, buffer, true) : copy(ring, buffer, false);
            else if (what < 3)
                pages_out(ring, buffer);
            else if (what < 5)
                pages_in(ring, buffer);
            else if (what == 5)
                aperture(ring, buffer);
            else
                what == 6 ? fill(ring, buffer, false) : copy(ring, buffer, true);
        }
        submit(number, buffer);
        return count;
    }
};

#endif
