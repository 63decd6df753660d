// SPDX-License-Identifier: Apache-2.0
// Buffers that an engine reset ends, in which memory or the link stood still: what is told of them is enough to go on
// with them, as a miniport does, or their ends say that nobody can.
#include <algorithm>

#include "device_bench.h"

namespace
{

struct Record {
    uint32_t kind, packet_offset;
};

Record last_record(RootComplex &root)
{
    uint32_t produced = root.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED);
    uint32_t what = static_cast<uint32_t>(root.load64(FAULTS + (produced - 1) % 32 * 64) >> 32);
    root.bar0(FERRY_BAR0_FAULT_LOG_CONSUMED, produced);
    return {FERRY_GET(FERRY_FAULT_RECORD_WHAT_KIND, what), FERRY_GET(FERRY_FAULT_RECORD_WHAT_PACKET_OFFSET, what)};
}

// Of three copies two stand behind one to the host, for which the link has no credits for a while. They read nothing
// that an earlier one writes, but the third writes over what the second reads, so the miniport calls the second alone
// unordered.
void behind_a_link_without_credits(Checks &checks, Random &random)
{
    checks.begin("a_buffer_that_a_reset_cut_while_the_link_had_no_credits_goes_on_right");
    Bench bench(checks, random);
    RootComplex &root = bench.root();
    const uint64_t p = 0x1000, q = 0x2000, r = 0x3000;
    std::vector<uint8_t> of_p(64), of_r(64);
    for (unsigned i = 0; i < 64; i++) {
        of_p[i] = root.local[p + i];
        of_r[i] = root.local[r + i];
    }
    auto packets = [&](unsigned from) {
        const uint64_t places[3][2] = {{0, DATA + 32 * 4096}, {p, q}, {r, p}};
        for (unsigned i = from; i < 3; i++) {
            bench.user().word(FERRY_OPCODE_COPY | 8u << 16 | (i < 2 ? FERRY_PACKET_HEADER_UNORDERED_MASK : 0),
                              i == 0 ? FERRY_ADDRESS_KIND_SYSTEM << 2 : 0);
            bench.user().word(64).word(places[i][0]).word(places[i][1]);
        }
        bench.user().submit(1);
    };
    root.posted_credits = false;
    root.bar0(FERRY_BAR0_ENGINE_TIMEOUT, 0);
    packets(0);
    root.run(5000);
    root.bar0(FERRY_BAR0_CONTROL, 3);
    root.run(70000);
    root.bar0(FERRY_BAR0_CONTROL, 1);
    root.posted_credits = true;
    checks.that(bench.user().wait(100000), "fence");
    uint32_t status = bench.user().status();
    if (status == FERRY_BUFFER_STATUS_ABORTED) {
        Record record = last_record(root);
        checks.equal(record.kind, FERRY_FAULT_KIND_ENGINE_RESET, "kind");
        for (unsigned i = 0; i < 1000 && bench.stuck(); i++)
            root.run(20);
        packets(record.packet_offset / 32);
        checks.that(bench.user().wait(100000), "fence");
        status = bench.user().status();
    }
    // Or an error: then its program hears of it.
    if (status == FERRY_BUFFER_STATUS_SUCCESS) {
        for (unsigned i = 0; i < 64; i++) {
            checks.equal(root.local[q + i], of_p[i], "byte of the second copy");
            checks.equal(root.local[p + i], of_r[i], "byte of the third copy");
        }
    }
    bench.works();
}

// The same in two buffers: the one behind writes over what the one before reads, so it is not unordered either.
// Whatever was cut goes on with its packet, the earlier buffer first.
void two_behind_a_link_without_credits(Checks &checks, Random &random)
{
    checks.begin("two_buffers_that_a_reset_cut_while_the_link_had_no_credits_go_on_right");
    Bench bench(checks, random);
    RootComplex &root = bench.root();
    const uint64_t places[3][2] = {{0, DATA + 32 * 4096}, {0x1000, 0x2000}, {0x3000, 0x1000}};
    std::vector<uint8_t> of_p(64), of_r(64);
    for (unsigned i = 0; i < 64; i++) {
        of_p[i] = root.local[places[1][0] + i];
        of_r[i] = root.local[places[2][0] + i];
    }
    auto buffer = [&](unsigned from, unsigned end) {
        for (unsigned i = from; i < end; i++) {
            bench.user().word(FERRY_OPCODE_COPY | 8u << 16 | (i < 2 ? FERRY_PACKET_HEADER_UNORDERED_MASK : 0),
                              i == 0 ? FERRY_ADDRESS_KIND_SYSTEM << 2 : 0);
            bench.user().word(64).word(places[i][0]).word(places[i][1]);
        }
        return bench.user().submit(1);
    };
    root.posted_credits = false;
    root.bar0(FERRY_BAR0_ENGINE_TIMEOUT, 0);
    uint32_t seen = root.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED);
    const uint64_t fences[2] = {buffer(0, 2), buffer(2, 3)};
    root.run(5000);
    root.bar0(FERRY_BAR0_CONTROL, 3);
    root.run(70000);
    root.bar0(FERRY_BAR0_CONTROL, 1);
    root.posted_credits = true;
    checks.that(bench.user().wait(100000), "fences");
    unsigned from[2] = {2, 3};
    bool faulted = false;
    for (uint32_t produced = root.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED); seen != produced; seen++) {
        uint64_t record = FAULTS + seen % 32 * 64;
        uint32_t what = static_cast<uint32_t>(root.load64(record) >> 32);
        unsigned which = root.load64(record + FERRY_FAULT_RECORD_FENCE_VALUE) == fences[1];
        faulted |= FERRY_GET(FERRY_FAULT_RECORD_WHAT_KIND, what) != FERRY_FAULT_KIND_ENGINE_RESET;
        from[which] = 2 * which + FERRY_GET(FERRY_FAULT_RECORD_WHAT_PACKET_OFFSET, what) / 32;
    }
    root.bar0(FERRY_BAR0_FAULT_LOG_CONSUMED, seen);
    for (unsigned i = 0; i < 1000 && bench.stuck(); i++)
        root.run(20);
    for (unsigned i = 0; i < 2 && !faulted; i++) {
        if (from[i] < 2 + i)
            buffer(from[i], 2 + i);
        checks.that(bench.user().wait(100000), "fence");
        checks.equal(bench.user().status(), FERRY_BUFFER_STATUS_SUCCESS, "status");
    }
    for (unsigned i = 0; i < 64 && !faulted; i++) {
        checks.equal(root.local[places[1][1] + i], of_p[i], "byte of the second copy");
        checks.equal(root.local[places[2][1] + i], of_r[i], "byte of the third copy");
    }
    bench.works();
}

// A page goes out, and another one comes in to its place, which for that is not unordered. The link loses its credits
// while the first is under way. If it is cut off, it is built again from its place, so nothing has come in there.
void a_page_out_before_a_page_in(Checks &checks, Random &random)
{
    checks.begin("what_a_page_out_that_a_reset_cuts_reads_is_still_there");
    const uint64_t place = 0x1000, out = DATA + 32 * 4096;
    unsigned cut = 0, whole = 0;
    for (unsigned after = 400; after < 1300; after += 50) {
        Bench bench(checks, random);
        RootComplex &root = bench.root();
        std::vector<uint8_t> page(root.local.begin() + place, root.local.begin() + place + 4096);
        root.bar0(FERRY_BAR0_ENGINE_TIMEOUT, 0);
        uint32_t before = root.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED);
        bench.paging().word(FERRY_OPCODE_COPY | 8u << 16 | FERRY_PACKET_HEADER_UNORDERED_MASK,
                            FERRY_ADDRESS_KIND_SYSTEM << 2);
        bench.paging().word(4096).word(place).word(out).submit(1);
        bench.paging().copy(FERRY_ADDRESS_KIND_SYSTEM, DATA, FERRY_ADDRESS_KIND_LOCAL, place, 4096).submit(1);
        root.run(after);
        root.posted_credits = false;
        root.run(5000);
        root.bar0(FERRY_BAR0_CONTROL, 3);
        root.run(70000);
        root.bar0(FERRY_BAR0_CONTROL, 1);
        root.posted_credits = true;
        checks.that(bench.paging().wait(100000), "fences");
        uint32_t told = root.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED) - before;
        root.bar0(FERRY_BAR0_FAULT_LOG_CONSUMED, before + told);
        cut += told == 2;
        whole += told < 2;
        // Of two records the first is the page-out's.
        for (unsigned i = 0; i < 4096; i++)
            checks.equal(told == 2 ? root.local[place + i] : root.byte(out + i), page[i],
                         told == 2 ? "byte to be read again" : "byte that went out");
    }
    checks.that(cut > 3 && whole > 3, "some were cut off, some were not");
}

// Memory dies under a paging job. A user's buffer needs none of it, has done three packets, and no job of it is in the
// engine as the reset begins, which gives memory up: its next packet is offered while the reset goes on. It was cut off
// like any other.
void nothing_in_the_engine(Checks &checks, Random &random)
{
    checks.begin("a_buffer_with_no_job_in_the_engine_is_cut_off_by_a_reset_that_gives_memory_up");
    Bench bench(checks, random);
    RootComplex &root = bench.root();
    root.bar0(FERRY_BAR0_ENGINE_TIMEOUT, 0);
    const uint64_t a = DATA + 40 * 4096, b = a + 4096, t = b + 4096;
    const uint32_t host = FERRY_ADDRESS_KIND_SYSTEM;
    // By its first byte it is seen when they have changed places.
    root.byte(a) = static_cast<uint8_t>(~root.byte(b));
    std::vector<uint8_t> of_a(64), of_b(64);
    for (unsigned i = 0; i < 64; i++) {
        of_a[i] = root.byte(a + i);
        of_b[i] = root.byte(b + i);
    }
    bench.user().copy(host, a, host, t, 64).copy(host, b, host, a, 64).copy(host, t, host, b, 64);
    for (unsigned i = 0; i < 60; i++)
        bench.user().word(FERRY_OPCODE_NOP | 2u << 16, 0);
    bench.user().copy(host, a, host, t + 4096, 64);
    bench.user().submit(1);
    for (unsigned i = 0; i < 20000 && root.byte(b) != of_a[0]; i++)
        root.tick();
    root.memory_dead = true;
    bench.copies(bench.paging(), 1);
    root.run(1500);
    checks.that(root.bar0(FERRY_BAR0_STATUS) & FERRY_BAR0_STATUS_ENGINE_MASK, "the paging job is in the engine");
    root.bar0(FERRY_BAR0_CONTROL, 3);
    root.run(70000);
    root.bar0(FERRY_BAR0_CONTROL, 1);
    checks.that(bench.user().wait(100000) && bench.paging().wait(100000), "fences");
    uint32_t produced = root.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED);
    for (unsigned i = 0; i < 64; i++) {
        checks.equal(root.byte(a + i), of_b[i], "byte of the second packet");
        checks.equal(root.byte(b + i), of_a[i], "byte of the third packet");
    }
    checks.equal(bench.paging().status(), FERRY_BUFFER_STATUS_ABORTED, "status of the job that hung");
    checks.equal(bench.user().status(), FERRY_BUFFER_STATUS_ABORTED, "status of a buffer that the reset cut off");
    root.bar0(FERRY_BAR0_FAULT_LOG_CONSUMED, produced);
    bench.comes_back();
}

// Memory dies behind an entry of a page table's line that nobody needs. FORGET waits for it; no timeout is set, so only
// the reset gives memory up. The packet was cut off by that, and may be carried out when memory is back.
void forgetting(Checks &checks, Random &random)
{
    checks.begin("a_forget_that_waits_for_dead_memory_is_cut_off_by_a_reset");
    Bench bench(checks, random);
    RootComplex &root = bench.root();
    bench.mix();
    bench.paging().word(FERRY_OPCODE_FORGET | 6u << 16, 0).word(FERRY_FORGET_SCOPE_ALL, 0).word(0).submit(1);
    checks.that(bench.paging().wait(), "all is forgotten");
    root.bar0(FERRY_BAR0_ENGINE_TIMEOUT, 0);
    root.dies_in = 1;
    bench.user().fill(FERRY_ADDRESS_KIND_VIRTUAL, Bench::VIRTUAL_HOST + 32 * 4096, 64, 3, random.word()).submit(1);
    checks.that(bench.user().wait(20000), "a job that needs one entry");
    root.dies_in = -1;
    bench.paging().word(FERRY_OPCODE_FORGET | 6u << 16, 0).word(FERRY_FORGET_SCOPE_ALL, 0).word(0).submit(1);
    root.run(3000);
    root.bar0(FERRY_BAR0_CONTROL, 3);
    root.run(70000);
    root.bar0(FERRY_BAR0_CONTROL, 1);
    checks.that(bench.paging().wait(100000), "fence");
    checks.equal(bench.paging().status(), FERRY_BUFFER_STATUS_ABORTED, "status of a buffer that the reset cut off");
    bench.last_kind();
    bench.comes_back();
}

// ---- Chains of all sorts, which go on where a reset cut them ----

struct Packet {
    std::vector<uint64_t> words;
    // What it does: rows of `bytes`; nothing when there are none.
    bool fill = false;
    uint64_t pattern = 0, from = 0, to = 0;
    uint32_t bytes = 0, rows = 1, from_pitch = 0, to_pitch = 0;
    // Both sides lie in one range of addresses, and overlap.
    bool overlaps = false;
};

// Six windows of 4 KiB: four in video memory, two of the host.
const uint32_t WINDOW = 4096, WINDOWS = 6;

uint8_t &window_byte(RootComplex &root, uint64_t at)
{
    return at < 4 * WINDOW ? root.local[0x1000 + at] : root.byte(DATA + at - 4 * WINDOW);
}

uint64_t address_as(uint64_t at, uint32_t kind)
{
    bool host = at >= 4 * WINDOW;
    if (kind == FERRY_ADDRESS_KIND_VIRTUAL)
        return host ? Bench::VIRTUAL_HOST + at - 4 * WINDOW : 0x1000 + at;
    return host ? DATA + at - 4 * WINDOW : 0x1000 + at;
}

uint64_t address_of(Random &random, uint64_t at, uint32_t &kind)
{
    bool host = at >= 4 * WINDOW;
    kind = random.once_in(3) ? FERRY_ADDRESS_KIND_VIRTUAL : host ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL;
    return address_as(at, kind);
}

Packet any_packet(Random &random, const std::vector<Packet> &before)
{
    Packet packet;
    uint32_t kind = 0, from_kind = 0;
    unsigned from = random.below(WINDOWS), to = (from + 1 + random.below(WINDOWS - 1)) % WINDOWS;
    switch (random.below(8)) {
    case 0: packet.words = {FERRY_OPCODE_NOP | 2u << 16}; return packet;
    case 1: {
        packet.fill = true;
        packet.bytes = 1 + random.below(random.once_in(2) ? 100 : 4000);
        packet.to = to * WINDOW + random.below(WINDOW - packet.bytes);
        packet.pattern = random.word() * 0x100000001ull;
        uint64_t address = address_of(random, packet.to, kind);
        packet.words = {FERRY_OPCODE_FILL | 8u << 16 | uint64_t{kind << 2 | 3u << 6} << 32, packet.bytes, address,
                        packet.pattern};
        return packet;
    }
    case 2: {
        packet.bytes = 1 + random.below(100);
        packet.rows = 1 + random.below(20);
        packet.from_pitch = 100 + random.below(90);
        packet.to_pitch = 100 + random.below(90);
        packet.from = from * WINDOW + random.below(WINDOW - packet.rows * packet.from_pitch);
        packet.to = to * WINDOW + random.below(WINDOW - packet.rows * packet.to_pitch);
        uint64_t source = address_of(random, packet.from, from_kind), destination = address_of(random, packet.to, kind);
        packet.words = {FERRY_OPCODE_COPY_RECTANGLE | 12u << 16 | uint64_t{from_kind | kind << 2} << 32,
                        packet.bytes | uint64_t{packet.rows - 1} << 32,
                        source,
                        destination,
                        packet.from_pitch,
                        packet.to_pitch};
        return packet;
    }
    default: {
        packet.bytes = 1 + random.below(random.once_in(2) ? 100 : 4000);
        packet.from = from * WINDOW + random.below(WINDOW - packet.bytes);
        packet.to = to * WINDOW + random.below(WINDOW - packet.bytes);
        if (random.once_in(2)) {
            packet.bytes = 1000 + random.below(3000);
            packet.from = from * WINDOW + random.below(WINDOW - packet.bytes);
            packet.to = from * WINDOW + random.below(WINDOW - packet.bytes);
        }
        uint64_t source = address_of(random, packet.from, from_kind), destination = address_of(random, packet.to, kind);
        packet.overlaps = packet.from != packet.to && packet.from < packet.to + packet.bytes &&
                          packet.to < packet.from + packet.bytes;
        if (packet.overlaps) {
            kind = from_kind;
            destination = address_as(packet.to, kind);
        }
        bool unordered = true;
        for (const Packet &earlier : before) {
            uint64_t past = earlier.to + (earlier.rows > 1 ? earlier.rows * earlier.to_pitch : earlier.bytes);
            unordered &= earlier.bytes == 0 || packet.from >= past || earlier.to >= packet.from + packet.bytes;
        }
        packet.words = {FERRY_OPCODE_COPY | 8u << 16 | (unordered ? FERRY_PACKET_HEADER_UNORDERED_MASK : 0u) |
                            uint64_t{from_kind | kind << 2} << 32,
                        packet.bytes, source, destination};
        return packet;
    }
    }
}

void apply(std::vector<uint8_t> &all, const Packet &packet)
{
    const std::vector<uint8_t> before = all;
    for (uint32_t row = 0; packet.bytes && row < packet.rows; row++) {
        for (uint32_t i = 0; i < packet.bytes; i++)
            all[packet.to + row * packet.to_pitch + i] = packet.fill
                                                             ? static_cast<uint8_t>(packet.pattern >> 8 * (i % 8))
                                                             : before[packet.from + row * packet.from_pitch + i];
    }
}

// What is left of a copy that overlaps itself, of which so many bytes are written. A rest whose sides are far apart
// does not, and is done again from its start.
void leave_the_rest(Packet &packet, uint32_t written)
{
    packet.words[1] -= written;
    packet.overlaps = std::max(packet.from, packet.to) - std::min(packet.from, packet.to) < packet.words[1];
    if (packet.to < packet.from) {
        packet.words[2] += written;
        packet.words[3] += written;
    }
}

void chains(Checks &checks, Random &random)
{
    checks.begin("a_chain_of_all_sorts_of_packets_goes_on_right_wherever_resets_cut_it");
    Bench bench(checks, random);
    RootComplex &root = bench.root();
    bench.mix();
    unsigned resumed = 0, at_start = 0, cut_inside[2] = {};
    uint32_t seen = root.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED);
    auto few = [&] { return resumed <= 80 || at_start <= 80 || cut_inside[0] <= 2 || cut_inside[1] <= 2; };
    for (unsigned round = 0; round < 150 || (round < 1500 && few() && !checks.faults()); round++) {
        std::vector<Packet> packets;
        uint32_t bytes = 0;
        for (unsigned i = 1 + random.below(14); i; i--) {
            packets.push_back(any_packet(random, packets));
            bytes += 8 * packets.back().words.size();
        }
        std::vector<uint8_t> all(WINDOWS * WINDOW);
        for (uint32_t i = 0; i < all.size(); i++)
            all[i] = window_byte(root, i);
        for (const Packet &packet : packets)
            apply(all, packet);
        uint32_t done = 0;
        for (unsigned turn = 0;; turn++) {
            uint32_t at = 0;
            for (const Packet &packet : packets) {
                for (uint64_t word : packet.words)
                    if (at >= done)
                        bench.user().word(word);
                at += 8 * packet.words.size();
            }
            if (random.once_in(2))
                bench.copies(bench.paging(), 1 + random.below(3));
            bench.user().submit(1);
            if (random.once_in(2))
                bench.copies(bench.paging(), 1 + random.below(3));
            root.run(300 + random.below(random.once_in(2) ? 1500 : 6000));
            for (unsigned resets = turn < 4 ? 1 + random.once_in(3) : 0; resets; resets--) {
                root.bar0(FERRY_BAR0_CONTROL, 3);
                root.run(random.below(300));
            }
            checks.that(bench.user().wait(200000) && bench.paging().wait(200000), "fences");
            uint32_t produced = root.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED);
            uint32_t cut = 0, written = 0;
            bool told = false;
            for (; seen != produced; seen++) {
                uint32_t what = static_cast<uint32_t>(root.load64(FAULTS + seen % 32 * 64) >> 32);
                checks.equal(FERRY_GET(FERRY_FAULT_RECORD_WHAT_KIND, what), FERRY_FAULT_KIND_ENGINE_RESET, "kind");
                if (FERRY_GET(FERRY_FAULT_RECORD_WHAT_RING, what) == 1) {
                    told = true;
                    cut = FERRY_GET(FERRY_FAULT_RECORD_WHAT_PACKET_OFFSET, what);
                    written = static_cast<uint32_t>(
                        root.load64(FAULTS + seen % 32 * 64 + (FERRY_FAULT_RECORD_WRITTEN & ~7u)) >> 32);
                }
            }
            root.bar0(FERRY_BAR0_FAULT_LOG_CONSUMED, produced);
            checks.equal(bench.user().status(), told ? FERRY_BUFFER_STATUS_ABORTED : FERRY_BUFFER_STATUS_SUCCESS,
                         "status");
            if (!told) {
                break;
            }
            resumed += cut != 0;
            at_start += cut == 0;
            done += cut;
            checks.that(done < bytes, "offset");
            at = 0;
            for (Packet &packet : packets) {
                if (at == done && packet.overlaps && written) {
                    leave_the_rest(packet, written);
                    cut_inside[packet.to < packet.from]++;
                }
                at += 8 * packet.words.size();
            }
        }
        unsigned wrong = 0;
        for (uint32_t i = 0; i < all.size(); i++)
            wrong += window_byte(root, i) != all[i];
        checks.equal(wrong, 0, "bytes that are wrong");
        if (wrong)
            break;
    }
    checks.that(resumed > 80 && at_start > 80, "enough of them were cut, at their first packet and behind it");
    checks.that(cut_inside[0] > 2 && cut_inside[1] > 2, "copies over themselves cut inside, going down and up");
    bench.works();
}

} // namespace

int main()
{
    Random random;
    Checks checks;
    behind_a_link_without_credits(checks, random);
    two_behind_a_link_without_credits(checks, random);
    a_page_out_before_a_page_in(checks, random);
    nothing_in_the_engine(checks, random);
    forgetting(checks, random);
    chains(checks, random);
    return checks.done();
}
