// SPDX-License-Identifier: Apache-2.0
// The sequencer against the oracle of the firmware's tests, which was written from the manual: at and beside every
// limit and with every single bit of a packet wrong, it queues the jobs that the packets say and no others, and it
// leaves to the firmware only what comparing does not show to be good.
#include "rectangle_jobs.h"
#include "sequencer_bench.h"

namespace
{

// Sets of limits: nothing protected, something, near and behind 4 GiB, and video memory of more than 8 GiB.
std::vector<oracle_limits> every_limits()
{
    const uint64_t M = 1 << 20, G4 = 1ull << 32;
    std::vector<oracle_limits> all;
    const struct {
        uint64_t local, base, limit;
    } sets[] = {{64 * M, 0, 0},
                {64 * M, 16 * M, 17 * M},
                {64 * M, 0, 4 * M},
                {64 * M, 16 * M, 16 * M},
                {64 * M, G4, G4 + M},
                {G4 - 8, 5 * M, G4 - 8},
                {G4, 2 * G4 + M, 3 * G4},
                {G4 + 8, G4 - 4096, G4},
                {2 * G4 - 1, 3 * G4, 4 * G4},
                {2 * G4, 0, 0},
                {3 * G4, G4 + 4096, 2 * G4},
                {1ull << 40, 64 * M, 65 * M},
                {100, 50, 60},
                {0, 0, 0}};
    for (const auto &set : sets) {
        oracle_limits limits = {};
        limits.rights = 7;
        limits.aperture_pages = APERTURE_PAGES;
        limits.page_tables = PAGE_TABLES;
        limits.local_limit = set.local;
        limits.protect_base = set.base;
        limits.protect_limit = set.limit;
        all.push_back(limits);
    }
    return all;
}

// Every range of every packet, its end and its beginning at, before and behind each edge that counts.
void edges(Bench &bench)
{
    const uint64_t aperture = 4096ull * APERTURE_PAGES;
    bench.checks.begin("ranges_at_every_edge_are_taken_left_or_refused_as_the_manual_says");
    for (const oracle_limits &limits : every_limits()) {
        bench.limits = limits;
        for (uint64_t edge : {limits.local_limit, limits.protect_base, limits.protect_limit, aperture,
                              uint64_t{1} << 32, uint64_t{1} << 33, uint64_t{1} << 48, uint64_t{0}})
            for (uint32_t bytes : {0u, 1u, 8u, 4097u, ~0u})
                for (int64_t beside : {-4096, -8, -1, 0, 1, 8})
                    for (bool behind : {false, true})
                        for (uint32_t kind : {LOCAL, SYSTEM, APERTURE, VIRTUAL}) {
                            uint64_t at = edge + static_cast<uint64_t>(beside) - (behind ? 0 : bytes);
                            int pages = bytes == ~0u ? 1 : static_cast<int>((bytes + 4095) / 4096);
                            bench.run(copy(kind, LOCAL, bytes, at, 0));
                            bench.run(copy(SYSTEM, kind, bytes, 0, at));
                            bench.run(fill(kind, bytes, at, 1));
                            if (kind == LOCAL)
                                bench.run(discard(bytes, at));
                            if (kind != SYSTEM && pages && bytes != ~0u) {
                                bench.run(copy_pages(true, kind, bytes, 0, at, pages));
                                bench.run(copy_pages(false, kind, bytes, 0, at, pages));
                            }
                            if (bytes == 8)
                                bench.run(fence(kind, at));
                        }
    }
    bench.limits = every_limits()[0];
}

// Lists of a page too few, too many and just right, from an offset of the first page on; changes of the table likewise.
void lists(Bench &bench)
{
    bench.checks.begin("lists_fit_their_packets_to_the_page");
    for (uint32_t offset : {0u, 1u, 8u, 4095u, 4096u, 8192u, 0x80000000u, ~0u})
        for (uint32_t bytes : {0u, 1u, 4095u, 4096u, 4097u, 8191u, 8192u, 8193u, 507u * 4096, 0xfffff001u, ~0u}) {
            uint64_t exact = (uint64_t{offset} + bytes + 4095) / 4096;
            for (int more = -1; more <= 1; more++) {
                int64_t pages = static_cast<int64_t>(exact) + more;
                if (pages < 0 || pages > 509)
                    pages = more + 2;
                bench.run(copy_pages(true, LOCAL, bytes, offset, 0, static_cast<int>(pages)));
                bench.run(copy_pages(false, APERTURE, bytes, offset, 4096, static_cast<int>(pages)));
            }
        }
    for (uint32_t first : {0u, 1u, 4094u, 4095u, 4096u, 4097u, 0x80000000u, ~0u})
        for (uint32_t count : {0u, 1u, 2u, 4095u, 4096u, 4097u, 0x800u, 0x1001u, 0x80000001u, ~0u}) {
            for (int pages : {0, 1, 2, 3})
                bench.run(map(first, count, pages, pages & 1));
            bench.run(unmap(first, count));
        }
    for (int pages = 1; pages <= 510; pages++)
        bench.run(map(100, static_cast<uint32_t>(pages), pages));
}

// One packet of each form; then every bit of it the other way, and every length of packet and buffer beside the right
// one.
void single_bits(Bench &bench)
{
    const std::vector<Words> forms = {
        copy(LOCAL, LOCAL, 4096, 0x1000, 0x2000),
        copy(SYSTEM, APERTURE, 77, 0xfedcba9876543210, 0x123, FERRY_PACKET_HEADER_UNORDERED_MASK),
        copy(APERTURE, SYSTEM, 78, 0x40000, 0xfedcba9876543219),
        copy_pages(true, LOCAL, 40000, 4095, 0x20001, 11),
        copy_pages(false, APERTURE, 4097, 0, 5, 2),
        copy_pages(true, APERTURE, 1, 4095, 5, 1),
        copy_pages(false, LOCAL, 8192, 1, 5, 3),
        fill(LOCAL, 1000, 0x777, 0),
        fill(SYSTEM, 33, 0x8000000000000003, 2),
        fence(LOCAL, 0x3fffff8),
        fence(SYSTEM, 0x7fffffff8),
        read_bytes(LOCAL, 8, 0x77),
        write_bytes(APERTURE, 3, 77),
        map(1, 2, 2, true),
        unmap(4, 9),
        nop(6),
        discard(4096, 0x1ff0),
        copy(VIRTUAL, VIRTUAL, 0x1234, 0xffff12345678, 0x7fff00000001),
        copy_pages(false, VIRTUAL, 8192, 1, 0xffff00000005, 3),
        fill(VIRTUAL, 33, 0xfffffffffff0, 3),
        fence(VIRTUAL, 0x123456789ab8),
        root(SYSTEM, FERRY_PACKET_ROOT_SPACE_VALID_MASK | 0x30f, 0x7fffffffff000, true),
        root(LOCAL, 5, 0),
        forget(FERRY_FORGET_SCOPE_GROUP, 9, 0xfedcba987654),
        forget(FERRY_FORGET_SCOPE_TABLE, 1, 0),
        forget(FERRY_FORGET_SCOPE_SPACE, 15, 0),
        forget(FERRY_FORGET_SCOPE_ALL, 0, 0),
    };
    bench.checks.begin("every_single_bit_of_a_packet_counts_as_the_manual_says");
    for (const oracle_limits &limits : {every_limits()[0], every_limits()[1]})
        for (uint32_t rights : {7u, 7u & ~FERRY_BAR0_RING_RIGHTS_SYSTEM_MASK, 7u | FERRY_BAR0_RING_RIGHTS_TABLES_MASK,
                                7u | FERRY_CORE_FETCH_NEXT_VIRTUAL_ONLY_MASK}) {
            bench.limits = limits;
            bench.limits.rights = rights;
            for (const Words &form : forms)
                for (size_t bit = 0; bit < 32 * (form.size() < 10 ? form.size() : 10); bit++) {
                    Words bent = form;
                    bent[bit / 32] ^= 1u << bit % 32;
                    // What comes behind must not be taken with it.
                    bench.run(join({bent, copy(LOCAL, LOCAL, 8, 0, 8)}));
                }
        }
    bench.limits = every_limits()[0];
    bench.checks.begin("packets_of_a_wrong_length_or_cut_by_the_buffers_end_are_left");
    for (const Words &form : forms)
        for (uint32_t words = 0; words < 24; words++) {
            Words bent = form;
            bent[0] = (bent[0] & 0xffff) | words << 16;
            bench.run(bent);
            bench.run(join({bent, nop(8), nop(8), nop(8)}));
        }
    for (const Words &form : forms)
        for (size_t at = 2; at <= form.size(); at += 2)
            bench.run(join({nop(4), Words(form.begin(), form.begin() + static_cast<long>(at))}));
    // A buffer as long as its slot.
    Words full;
    for (unsigned i = 0; i < 128; i++) {
        Words one = copy(LOCAL, LOCAL, 8, 8 * i, 4096 + 8 * i);
        full.insert(full.end(), one.begin(), one.end());
    }
    bench.run(full);
    bench.checks.equal(bench.jobs.size(), 128, "jobs of a full slot");
}

// The firmware's word counts for one packet; its stop, in whichever cycle it comes, loses and doubles nothing.
void handing_over(Bench &bench)
{
    bench.checks.begin("only_the_first_packet_is_taken_on_the_firmwares_word");
    bench.run(join({read_bytes(LOCAL, 8, 0), copy(LOCAL, LOCAL, 8, 0, 64u << 20)}));
    bench.checks.equal(bench.jobs.size(), 1, "jobs before the bad one");
    bench.run(join({copy(LOCAL, LOCAL, 8, 0, 8), read_bytes(LOCAL, 8, 0), write_bytes(LOCAL, 8, 0), fence(LOCAL, 8)}));
    bench.checks.equal(bench.jobs.size(), 4, "jobs");

    bench.checks.begin("a_stop_in_any_cycle_loses_and_doubles_no_packet");
    const Words buffer = join({copy(LOCAL, SYSTEM, 4096, 0, 0), copy_pages(true, LOCAL, 8192, 0, 0, 2),
                               read_bytes(LOCAL, 8, 0), fill(LOCAL, 8, 0, 0), fence(SYSTEM, 4096)});
    for (bool stall : {false, true})
        for (unsigned cycle = 0; cycle < 120; cycle++) {
            bench.stall = stall;
            bench.run(buffer, cycle);
        }
    bench.stall = false;

    bench.checks.begin("a_core_that_stops_stops_the_sequencer_in_any_cycle");
    for (unsigned cycle = 0; cycle < 40; cycle++) {
        bench.put(buffer);
        bench.start(0, false);
        for (unsigned i = 0; i < cycle; i++)
            bench.tick();
        bench.top.run = 0;
        bench.tick();
        bench.jobs.clear();
        for (unsigned i = 0; i < 30; i++) {
            bench.checks.that(!bench.top.busy && !bench.top.job_valid, "at rest");
            bench.tick();
        }
        bench.checks.equal(bench.jobs.size(), 0, "jobs of a core that stands");
        bench.top.run = 1;
        bench.tick();
        bench.run(buffer);
    }
}

// Buffers of many packets of any form with stalls on every side, some of them bent.
void mixes(Bench &bench)
{
    Random &random = bench.random;
    const std::vector<oracle_limits> limits = every_limits();
    bench.checks.begin("buffers_of_many_packets");
    bench.stall = true;
    for (unsigned round = 0; round < 1500; round++) {
        bench.limits = limits[random.below(static_cast<uint32_t>(limits.size()))];
        if (random.once_in(3))
            bench.limits.rights &= ~FERRY_BAR0_RING_RIGHTS_SYSTEM_MASK;
        if (random.once_in(2))
            bench.limits.rights |= FERRY_BAR0_RING_RIGHTS_TABLES_MASK;
        bool all_virtual = random.once_in(4);
        if (all_virtual)
            bench.limits.rights |= FERRY_CORE_FETCH_NEXT_VIRTUAL_ONLY_MASK;
        Words buffer;
        while (buffer.size() < 2 + random.below(120)) {
            uint32_t from = random.below(4), to = random.below(4), bytes = random.below(30000);
            if (all_virtual && !random.once_in(20))
                from = to = VIRTUAL;
            uint32_t offset = random.once_in(2) ? 0 : random.below(4096);
            uint64_t near = random.once_in(4) ? bench.limits.protect_base : random.below(1 << 25);
            Words one;
            switch (random.below(9)) {
            case 0:
            case 1: one = copy(from, to, bytes, near + random.below(64), random.below(1 << 26)); break;
            case 2:
                one = copy_pages(from & 1, to == SYSTEM ? 0 : to, bytes, offset, near,
                                 static_cast<int>((offset + bytes + 4095) / 4096));
                break;
            case 3: one = fill(to, bytes, near, random.below(4)); break;
            case 4: one = fence(to, near & ~7ull); break;
            case 5:
                one = random.once_in(2) ? read_bytes(from, 1 + random.below(8), near) : write_bytes(to, 8, near);
                break;
            case 6: one = random.once_in(2) ? map(random.below(4100), 3, 3) : unmap(random.below(4100), 7); break;
            case 7:
                one = random.once_in(3) ? root(LOCAL, FERRY_PACKET_ROOT_SPACE_VALID_MASK | random.below(16), 4096)
                                        : forget(random.below(4), random.once_in(4) ? 0 : random.below(16),
                                                 random.once_in(2) ? 0 : random.word() >> (14 + random.below(20)));
                break;
            default:
                one = random.once_in(2) ? discard(bytes, near + random.below(64)) : nop(2 + 2 * random.below(6));
                break;
            }
            if (random.once_in(30))
                one[random.below(static_cast<uint32_t>(one.size()))] ^= 1u << random.below(32);
            if (buffer.size() + one.size() <= 1024)
                buffer.insert(buffer.end(), one.begin(), one.end());
        }
        bench.run(buffer, random.once_in(3) ? random.below(600) : ~0u);
    }
    bench.checks.that(bench.jobs_taken > 5000, "enough jobs");
}

} // namespace

int main()
{
    Random random;
    Checks checks;
    Bench bench(checks, random);
    edges(bench);
    lists(bench);
    single_bits(bench);
    handing_over(bench);
    mixes(bench);
    RectangleJobs(bench).run();
    return checks.done();
}
