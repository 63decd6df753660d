// SPDX-License-Identifier: Apache-2.0
// Timing and order of the memory model. Expected cycles are added up by hand from the timing below.
#include "dram.h"

#include <cstring>
#include <random>
#include <vector>

#include "../../seed.h"
#include "check.h"

using ferry::Dram;

namespace
{

constexpr size_t bytes = 1 << 20;
// banks, row bytes, controller, activate, precharge, column, turnaround, refresh interval, refresh
constexpr ferry_sim_dram no_refresh = {4, 1024, 5, 3, 2, 4, 6, 0, 0};

/// Cycle in which the first beat of the oldest read may leave, from `now` on.
uint64_t first_beat(const Dram &dram, uint64_t now)
{
    while (!dram.read_data_valid(now)) {
        now++;
    }
    return now;
}

/// Take a whole burst; returns the cycle behind its last beat.
uint64_t drain(Dram &dram, uint64_t now)
{
    for (bool last = false; !last; now++) {
        now = first_beat(dram, now);
        last = dram.read_data().last;
        dram.read_data_taken(now);
    }
    return now;
}

void constant_latency_counts_from_the_address()
{
    for (const uint32_t latency : {1u, 20u, 100u}) {
        Dram dram(bytes, latency, no_refresh);
        dram.read_address(50, 2, 0x40, 4);
        CHECK(!dram.read_data_valid(50 + latency - 1));
        for (uint64_t beat = 0; beat < 4; beat++) {
            CHECK(dram.read_data_valid(50 + latency + beat));
            CHECK(dram.read_data().id == 2);
            CHECK(dram.read_data().last == (beat == 3));
            dram.read_data_taken(50 + latency + beat);
            CHECK(!dram.read_data_valid(50 + latency + beat));
        }
        // Two bursts asked for back to back arrive without a gap.
        dram.read_address(1000, 0, 0, 2);
        dram.read_address(1001, 0, 0x100, 2);
        CHECK(drain(dram, 1000) == 1000 + latency + 2);
        CHECK(drain(dram, 1000 + latency + 2) == 1000 + latency + 4);
    }
}

void constant_write_response_comes_a_cycle_behind_the_data()
{
    Dram dram(bytes, 20, no_refresh);
    dram.write_address(10, 1, 0x80, 2);
    dram.write_data(11, 0x1111, 0xff, false);
    CHECK(!dram.write_response_valid(12));
    dram.write_data(12, 0x2222, 0xff, true);
    CHECK(!dram.write_response_valid(12));
    CHECK(dram.write_response_valid(13));
    CHECK(dram.write_response().id == 1 && dram.write_response().response == Dram::okay);
}

void row_closed_hit_and_miss()
{
    Dram dram(bytes, 0, no_refresh);
    dram.read_address(100, 0, 0x0000, 4); // Bank 0, closed: 5 + 3 + 4.
    CHECK(first_beat(dram, 100) == 112);
    CHECK(drain(dram, 112) == 116);
    dram.read_address(200, 0, 0x0100, 4); // The row is open: 5 + 4.
    CHECK(first_beat(dram, 200) == 209);
    drain(dram, 209);
    dram.read_address(300, 0, 0x1000, 4); // Bank 0, next row: 5 + 2 + 3 + 4.
    CHECK(first_beat(dram, 300) == 314);
    drain(dram, 314);
    dram.read_address(400, 0, 0x0400, 4); // Bank 1, closed.
    CHECK(first_beat(dram, 400) == 412);
}

void hits_follow_each_other_without_a_gap_and_banks_overlap()
{
    Dram dram(bytes, 0, no_refresh);
    dram.read_address(100, 0, 0x000, 8);
    dram.read_address(101, 0, 0x040, 8);
    dram.read_address(102, 0, 0x400, 8); // Another bank opens while the first one's data flow.
    CHECK(drain(dram, 100) == 120);
    CHECK(drain(dram, 120) == 128);
    CHECK(drain(dram, 128) == 136);
    // The same bank's other row cannot: its data end at 152, then precharge, activate, column from there.
    dram.read_address(140, 0, 0x080, 8);  // 149 to 156.
    dram.read_address(141, 0, 0x1000, 1); // Bank 0 is ready at 157 - 4; + 2 + 3 + 4.
    CHECK(drain(dram, 140) == 157);
    CHECK(first_beat(dram, 157) == 162);
}

void a_burst_over_a_row_edge_pays_for_both_rows()
{
    Dram dram(bytes, 0, no_refresh);
    dram.read_address(0, 0, 0x3f0, 4); // Two beats in bank 0, two in bank 1, opened meanwhile.
    CHECK(first_beat(dram, 0) == 12);
    CHECK(drain(dram, 12) == 16);
    Dram slow(bytes, 0, {1, 1024, 5, 3, 2, 4, 6, 0, 0});
    slow.read_address(0, 0, 0x3f0, 4); // One bank: the second row waits for the first, 14 - 4 + 2 + 3 + 4.
    CHECK(first_beat(slow, 0) == 12);
    slow.read_data_taken(12);
    CHECK(first_beat(slow, 13) == 13);
    slow.read_data_taken(13);
    CHECK(first_beat(slow, 14) == 19);
}

void reads_and_writes_share_the_bus()
{
    Dram dram(bytes, 0, no_refresh);
    dram.write_address(0, 0, 0, 1);
    dram.write_data(0, 1, 0xff, true); // Data at 12 (turnaround from reads is over by then), in the array at 13.
    CHECK(!dram.write_response_valid(12));
    CHECK(dram.write_response_valid(13));
    dram.read_address(1, 0, 0x8, 1); // Row hit at 13 - 4 + 4; the bus turns until 13 + 6.
    CHECK(first_beat(dram, 1) == 19);
}

void refresh_closes_rows_and_takes_its_time()
{
    const ferry_sim_dram timing = {4, 1024, 5, 3, 2, 4, 6, 1000, 20};
    Dram dram(bytes, 0, timing);
    dram.read_address(900, 0, 0, 1);
    CHECK(first_beat(dram, 900) == 912);
    drain(dram, 912);
    dram.read_address(950, 0, 0, 1); // Still open.
    CHECK(first_beat(dram, 950) == 959);
    drain(dram, 959);
    dram.read_address(996, 0, 0, 1); // Would start at 1001: refresh from 1000 to 1020, then 3 + 4.
    CHECK(first_beat(dram, 996) == 1027);
    drain(dram, 1027);
    dram.read_address(1000000, 0, 0, 1); // A thousand refreshes later, the last one at 1000000 itself.
    CHECK(first_beat(dram, 1000000) == 1000027);
}

void a_late_master_still_gets_one_beat_a_cycle()
{
    Dram dram(bytes, 10, no_refresh);
    dram.read_address(0, 0, 0, 3);
    CHECK(dram.read_data_valid(40));
    dram.read_data_taken(40);
    CHECK(!dram.read_data_valid(40));
    CHECK(dram.read_data_valid(41));
}

void a_write_is_seen_with_its_response_and_not_before()
{
    Dram dram(bytes, 5, no_refresh);
    dram.write_address(0, 0, 0x10, 1);
    dram.write_data(0, 0x0807060504030201, 0x3c, true);
    dram.read_address(0, 0, 0x10, 1);
    CHECK(dram.read_data().data == 0);
    dram.write_response_taken();
    CHECK(dram.read_data().data == 0x0000060504030000); // Only the strobed bytes.
}

void write_data_may_come_before_its_address()
{
    Dram dram(bytes, 5, no_refresh);
    dram.write_data(0, 7, 0xff, true);
    dram.write_data(1, 8, 0xff, true);
    CHECK(!dram.write_response_valid(10));
    dram.write_address(10, 3, 0x20, 1);
    dram.write_address(11, 2, 0x28, 1);
    CHECK(dram.write_response_valid(11) && dram.write_response().id == 3);
    dram.write_response_taken();
    CHECK(dram.write_response_valid(12) && dram.write_response().id == 2);
    dram.write_response_taken();
    CHECK(dram.memory()[0x20] == 7 && dram.memory()[0x28] == 8);
    CHECK(!dram.write_response_valid(100));
}

void planted_errors_and_bad_addresses()
{
    Dram dram(bytes, 5, no_refresh);
    std::memset(dram.memory(), 0x55, 64);
    dram.fail(false, 1);
    dram.fail(true, 1);
    dram.read_address(0, 0, 0, 1);
    CHECK(dram.read_data().response == Dram::slave_error);
    drain(dram, 0);
    dram.read_address(10, 0, 0, 1);
    CHECK(dram.read_data().response == Dram::okay);
    drain(dram, 10);
    dram.write_address(20, 0, 0, 1);
    dram.write_data(20, 0, 0xff, true);
    CHECK(dram.write_response().response == Dram::slave_error);
    dram.write_response_taken();
    CHECK(dram.memory()[0] == 0x55);
    dram.read_address(30, 0, bytes, 1);
    CHECK(dram.read_data().response == Dram::decode_error);
    CHECK(dram.violation() == nullptr);
}

void a_broken_master_is_named()
{
    Dram crossing(bytes, 5, no_refresh);
    crossing.read_address(0, 0, 0xff8, 1);
    CHECK(crossing.violation() == nullptr);
    crossing.read_address(0, 0, 0xff8, 2);
    CHECK(crossing.violation() != nullptr);
    Dram unaligned(bytes, 5, no_refresh);
    unaligned.write_address(0, 0, 4, 1);
    CHECK(unaligned.violation() != nullptr);
    Dram count(bytes, 5, no_refresh);
    count.write_address(0, 0, 0, 2);
    count.write_data(0, 0, 0xff, true);
    CHECK(count.violation() != nullptr);
}

void the_queue_has_room_for_64_reads()
{
    Dram dram(bytes, 100, no_refresh);
    for (uint64_t n = 0; n < 64; n++) {
        CHECK(dram.read_address_ready());
        dram.read_address(n, 0, 8 * n, 1);
    }
    CHECK(!dram.read_address_ready());
    drain(dram, 0);
    CHECK(dram.read_address_ready());
}

void random_traffic_reads_what_was_written()
{
    std::mt19937 random(seed_given(11));
    Dram dram(bytes, 0, {8, 2048, 4, 2, 2, 3, 2, 300, 8});
    std::vector<uint8_t> shadow(bytes);
    uint64_t now = 0;
    for (int round = 0; round < 3000; round++) {
        const uint32_t beats = 1 + random() % 64;
        uint64_t address = random() % (bytes / 8 - beats) * 8;
        if (address / 4096 != (address + 8 * beats - 1) / 4096) {
            address -= address % 4096;
        }
        if (random() % 2) {
            dram.write_address(now, 0, address, beats);
            for (uint32_t beat = 0; beat < beats; beat++, now++) {
                const uint64_t data = static_cast<uint64_t>(random()) << 32 | random();
                const uint8_t strobes = static_cast<uint8_t>(random());
                dram.write_data(now, data, strobes, beat + 1 == beats);
                for (uint32_t byte = 0; byte < 8; byte++) {
                    if (strobes >> byte & 1) {
                        shadow[address + 8 * beat + byte] = static_cast<uint8_t>(data >> 8 * byte);
                    }
                }
            }
            while (!dram.write_response_valid(now)) {
                now++;
            }
            dram.write_response_taken();
        } else {
            dram.read_address(now, 0, address, beats);
            for (uint32_t beat = 0; beat < beats; beat++) {
                now = first_beat(dram, now);
                const uint64_t data = dram.read_data().data;
                CHECK(std::memcmp(&data, &shadow[address + 8 * beat], 8) == 0);
                dram.read_data_taken(now);
            }
        }
    }
    CHECK(dram.violation() == nullptr);
}

} // namespace

int main()
{
    return run_cases({
        CASE(constant_latency_counts_from_the_address),
        CASE(constant_write_response_comes_a_cycle_behind_the_data),
        CASE(row_closed_hit_and_miss),
        CASE(hits_follow_each_other_without_a_gap_and_banks_overlap),
        CASE(a_burst_over_a_row_edge_pays_for_both_rows),
        CASE(reads_and_writes_share_the_bus),
        CASE(refresh_closes_rows_and_takes_its_time),
        CASE(a_late_master_still_gets_one_beat_a_cycle),
        CASE(a_write_is_seen_with_its_response_and_not_before),
        CASE(write_data_may_come_before_its_address),
        CASE(planted_errors_and_bad_addresses),
        CASE(a_broken_master_is_named),
        CASE(the_queue_has_room_for_64_reads),
        CASE(random_traffic_reads_what_was_written),
    });
}
