// SPDX-License-Identifier: Apache-2.0
// The link model: order, latency, bandwidth, credits; and the spans of the observer.
#include "link_model.h"

#include <map>
#include <random>
#include <vector>

#include "../../seed.h"
#include "check.h"
#include "spans.h"

using ferry::FromDevice;
using ferry::Random;
using ferry::ToDevice;

namespace
{

using Words = std::vector<uint32_t>;

/// A completion with data of `length` words that carries `mark` as its last word.
Words completion(uint32_t tag, uint32_t length, uint32_t mark, uint32_t byte_count = 4096)
{
    Words words = {0x4a000000 | length, byte_count & 0xfff, tag << 8};
    words.resize(3 + length);
    words.back() = mark;
    return words;
}

Words posted(uint32_t mark)
{
    return {0x40000001, 0x0000000f, 0xe0000000, mark};
}

/// Collect what comes out until `packets` are complete; arrivals[n] is the cycle of packet n's last beat.
std::vector<Words> collect(ToDevice &link, Random &random, uint64_t &now, size_t packets, unsigned take_percent = 100,
                           std::vector<uint64_t> *arrivals = nullptr)
{
    std::vector<Words> out;
    Words packet;
    std::mt19937 chance(3);
    for (const uint64_t end = now + 100000; out.size() < packets && now < end; now++) {
        link.tick(now);
        if (!link.valid(now, random) || chance() % 100 >= take_percent) {
            continue;
        }
        packet.push_back(static_cast<uint32_t>(link.data()));
        if (link.keep() == 3) {
            packet.push_back(static_cast<uint32_t>(link.data() >> 32));
        }
        const bool last = link.last();
        CHECK(link.keep() == 3 || last);
        link.taken(now);
        if (last) {
            out.push_back(packet);
            packet.clear();
            if (arrivals != nullptr) {
                arrivals->push_back(now);
            }
        }
    }
    return out;
}

bool send(ToDevice &link, uint64_t now, const Words &words)
{
    return link.send(now, words.data(), words.size());
}

void packets_cross_whole_after_the_latency()
{
    ToDevice link(100, 32, 0, 0);
    Random random(1);
    std::vector<uint64_t> arrivals;
    uint64_t now = 7;
    CHECK(send(link, now, posted(1)));
    CHECK(send(link, now, completion(2, 64, 5)));
    CHECK(link.words() == 71);
    const std::vector<Words> out = collect(link, random, now, 2, 100, &arrivals);
    CHECK(out.size() == 2 && out[0] == posted(1) && out[1] == completion(2, 64, 5));
    CHECK(arrivals[0] == 7 + 100 + 1);      // Two beats from 107 on.
    CHECK(arrivals[1] == 7 + 100 + 1 + 34); // 67 words are 34 beats.
    CHECK(link.words() == 0);
}

void bandwidth_bounds_the_words()
{
    for (const uint32_t rate : {1u, 5u, 16u, 32u}) {
        ToDevice link(0, rate, 0, 0);
        Random random(1);
        uint64_t now = 0;
        for (uint32_t n = 0; n < 40; n++) {
            CHECK(send(link, now, completion(n, 61, n)));
        }
        collect(link, random, now, 40);
        const uint64_t least = 40ull * 64 * 16 / rate;
        CHECK(now >= least - 64 && now <= least + 64);
    }
}

void credits_bound_what_is_under_way()
{
    // 80 words of room, back 50 cycles after they were taken: about 80 words each 90 cycles.
    ToDevice link(50, 32, 80, 0);
    Random random(1);
    uint64_t now = 0;
    for (uint32_t n = 0; n < 40; n++) {
        CHECK(send(link, now, completion(n, 61, n)));
    }
    CHECK(collect(link, random, now, 40).size() == 40);
    CHECK(now > 40 * 64 / 80 * 50);
    FromDevice up(50, 32, 80);
    uint64_t accepted = 0;
    for (now = 0; now < 1000; now++) {
        up.tick(now);
        if (up.ready()) {
            CHECK(up.beat(now, 0, 3, accepted % 4 == 3));
            accepted++;
        }
    }
    CHECK(accepted == 40); // Nobody takes the packets: 80 words, no more.
    up.pop(now);
    for (const uint64_t end = now + 49; now < end; now++) {
        up.tick(now);
        CHECK(!up.ready());
    }
    up.tick(now + 1);
    CHECK(up.ready());
}

Words request(uint32_t tag)
{
    return {0x00000001, tag << 8 | 0xf, 0xe0000000};
}

void held_requests_are_passed_by_the_rest_and_keep_their_order()
{
    ToDevice link(10, 32, 0, 0);
    Random random(1);
    uint64_t now = 10;
    for (const Words &words : {request(1), posted(2), request(3), completion(4, 8, 4), posted(5)}) {
        CHECK(send(link, 0, words));
    }
    std::vector<Words> out;
    Words packet;
    for (; now < 100; now++) {
        link.tick(now);
        const bool ok = now >= 50;
        if (!link.valid(now, random, ok)) {
            continue;
        }
        // What has begun goes on whatever the level does then.
        packet.push_back(static_cast<uint32_t>(link.data()));
        if (link.keep() == 3) {
            packet.push_back(static_cast<uint32_t>(link.data() >> 32));
        }
        const bool last = link.last();
        link.taken(now);
        if (last) {
            CHECK(ok || packet[0] != 0x00000001);
            out.push_back(packet);
            packet.clear();
        }
    }
    CHECK((out == std::vector<Words>{posted(2), completion(4, 8, 4), posted(5), request(1), request(3)}));
}

void smallest_credits_let_one_packet_of_each_kind_go()
{
    using ferry::PacketKind;
    FromDevice up(20, 32, 0, true);
    const std::map<PacketKind, uint32_t> heads = {
        {PacketKind::posted, 0x40000001}, {PacketKind::request, 0x00000001}, {PacketKind::completion, 0x0a000000}};
    for (const auto &[kind, head] : heads) {
        CHECK(ferry::kind_of(head) == kind);
    }
    CHECK(ferry::kind_of(0x30000000) == PacketKind::posted);  // A message.
    CHECK(ferry::kind_of(0x44000001) == PacketKind::request); // A configuration write.
    up.tick(0);
    for (const auto &[kind, head] : heads) {
        CHECK(up.room(kind));
        CHECK(up.beat(0, head, 3, false) && up.beat(1, 0, 3, true));
        CHECK(!up.room(kind));
        CHECK(!up.beat(2, head, 3, false)); // Without a credit.
    }
    // All three are there after the latency; each credit is back a latency after its packet was taken.
    for (const auto &[kind, head] : heads) {
        up.tick(30);
        CHECK(up.front().words[0] == head);
        up.pop(30);
        up.tick(49);
        CHECK(!up.room(kind));
        up.tick(50);
        CHECK(up.room(kind));
    }
}

void completions_overtake_only_other_tags_and_nothing_posted()
{
    const uint64_t seed = seed_given(4);
    ToDevice link(20, 32, 0, 80);
    Random random(seed);
    std::mt19937 chance(seed);
    std::map<uint32_t, uint32_t> next; // By tag: the mark that must come next.
    std::vector<Words> in;
    uint64_t now = 0;
    for (uint32_t n = 0; n < 2000; n++) {
        in.push_back(chance() % 6 == 0 ? posted(n) : completion(chance() % 8, 1 + chance() % 16, n));
        CHECK(send(link, now, in.back()));
    }
    const std::vector<Words> out = collect(link, random, now, in.size(), 70);
    CHECK(out.size() == in.size());
    std::vector<bool> seen(in.size());
    std::vector<uint32_t> last_of_tag(8, 0);
    uint32_t overtaken = 0, barrier = 0;
    for (size_t n = 0; n < out.size(); n++) {
        const uint32_t mark = out[n].back();
        CHECK(out[n] == in[mark] && !seen[mark]);
        seen[mark] = true;
        overtaken += mark != n;
        if (out[n][0] == 0x40000001) {
            // Everything before a posted packet stays before it, everything behind it stays behind.
            for (; barrier < mark; barrier++) {
                CHECK(seen[barrier]);
            }
            CHECK(n == mark);
        } else {
            const uint32_t tag = out[n][2] >> 8;
            CHECK(last_of_tag[tag] <= mark);
            last_of_tag[tag] = mark;
        }
    }
    CHECK(overtaken > 100);
}

void without_reordering_the_order_is_kept()
{
    ToDevice link(20, 32, 0, 0);
    Random random(1);
    uint64_t now = 0;
    for (uint32_t n = 0; n < 200; n++) {
        CHECK(send(link, now, completion(n % 32, 3, n)));
    }
    const std::vector<Words> out = collect(link, random, now, 200);
    for (uint32_t n = 0; n < 200; n++) {
        CHECK(out[n].back() == n);
    }
}

void equal_seeds_give_equal_orders()
{
    std::vector<Words> orders[2];
    for (auto &order : orders) {
        ToDevice link(20, 32, 0, 50);
        Random random(9);
        uint64_t now = 0;
        for (uint32_t n = 0; n < 300; n++) {
            send(link, now, completion(n % 16, 2, n));
        }
        order = collect(link, random, now, 300);
    }
    CHECK(orders[0] == orders[1]);
}

void a_full_queue_refuses()
{
    ToDevice link(20, 32, 0, 0);
    Random random(1);
    uint64_t now = 0;
    uint32_t taken = 0;
    while (send(link, now, posted(taken))) {
        taken++;
    }
    CHECK(taken >= 4000);
    CHECK(collect(link, random, now, taken).size() == taken);
    CHECK(send(link, now, posted(0)));
    const Words too_long(ferry::PacketQueue::packet_words + 1);
    CHECK(!send(link, now, too_long));
}

void packets_of_the_device_arrive_whole_after_the_latency()
{
    FromDevice up(30, 32, 0);
    uint64_t now = 10;
    up.tick(now);
    CHECK(up.ready());
    CHECK(up.beat(10, 0x0000000100000000, 3, false));
    CHECK(up.beat(11, 0x22, 1, true));
    CHECK(up.next_due() == 41);
    CHECK(up.front().count == 3 && up.front().words[1] == 1 && up.front().words[2] == 0x22);
    // Taking it while the next one is half in must not disturb that.
    CHECK(up.beat(12, 0x4444444433333333, 3, false));
    up.pop(41);
    CHECK(up.next_due() == ferry::PacketQueue::never);
    CHECK(up.beat(42, 0x6666666655555555, 3, true));
    CHECK(up.front().count == 4 && up.front().words[0] == 0x33333333 && up.front().words[3] == 0x66666666);
    CHECK(!up.beat(43, 0, 1, false)); // A hole.
    CHECK(!up.beat(43, 0, 2, true));
}

void outstanding_reads_are_counted_from_the_packets()
{
    FromDevice up(0, 32, 0);
    ToDevice down(0, 32, 0, 0);
    Random random(1);
    up.beat(0, 0x000001ff00000040, 3, false); // MRd of 64 words.
    up.beat(1, 0x1000, 1, true);
    up.beat(2, 0x000002ff20000040, 3, false); // Long header.
    up.beat(3, 0x0000100000000012, 3, true);
    up.beat(4, 0x0000000f40000001, 3, false); // A write.
    up.beat(5, 0x0000000000001000, 3, true);
    CHECK(up.reads_asked() == 2);
    uint64_t now = 0;
    send(down, now, completion(1, 32, 0, 256)); // Half of it,
    collect(down, random, now, 1);
    CHECK(down.reads_answered() == 0);
    send(down, now, completion(1, 32, 0, 128));       // the rest,
    send(down, now, {0x0a000000, 0x00002100, 0x200}); // a refusal, and one that is no completion.
    send(down, now, posted(0));
    collect(down, random, now, 3);
    CHECK(down.reads_answered() == 2);
}

struct Seen {
    std::vector<std::vector<uint64_t>> spans;
    std::vector<std::pair<uint64_t, uint32_t>> values[FERRY_SIM_VALUES];
};

void on_span(void *context, ferry_sim_activity activity, uint64_t begin, uint64_t end)
{
    static_cast<Seen *>(context)->spans.push_back({activity, begin, end});
}

void on_value(void *context, ferry_sim_value what, uint64_t time, uint32_t value)
{
    static_cast<Seen *>(context)->values[what].push_back({time, value});
}

void short_gaps_are_bridged_and_open_spans_are_told_at_the_end()
{
    ferry::Spans spans;
    Seen seen;
    const ferry_sim_observer observer = {&seen, on_span, on_value};
    spans.observe(&observer);
    CHECK(spans.on());
    for (uint64_t now = 0; now < 300; now++) {
        const bool busy = (now >= 10 && now < 20) || (now >= 51 && now < 60) || (now >= 100 && now < 101) || now >= 290;
        spans.sample(now, FERRY_SIM_READ_CHANNEL, busy);
        spans.sample_value(now, FERRY_SIM_READS_OUTSTANDING, now < 70 ? 0 : now < 150 ? 4 : 2);
        spans.sample_value(now, FERRY_SIM_TABLE_MISSES, uint32_t(now / 100));
    }
    spans.observe(nullptr);
    CHECK(!spans.on());
    const uint64_t kind = FERRY_SIM_READ_CHANNEL;
    // 20 to 51 is a gap of 31 cycles, 60 to 100 one of 40.
    CHECK((seen.spans == std::vector<std::vector<uint64_t>>{{kind, 10, 60}, {kind, 100, 101}, {kind, 290, 300}}));
    using Values = std::vector<std::pair<uint64_t, uint32_t>>;
    CHECK((seen.values[FERRY_SIM_READS_OUTSTANDING] == Values{{128, 4}, {192, 2}}));
    CHECK((seen.values[FERRY_SIM_TABLE_MISSES] == Values{{128, 1}, {256, 2}}));
}

} // namespace

int main()
{
    return run_cases({
        CASE(packets_cross_whole_after_the_latency),
        CASE(bandwidth_bounds_the_words),
        CASE(credits_bound_what_is_under_way),
        CASE(held_requests_are_passed_by_the_rest_and_keep_their_order),
        CASE(smallest_credits_let_one_packet_of_each_kind_go),
        CASE(completions_overtake_only_other_tags_and_nothing_posted),
        CASE(without_reordering_the_order_is_kept),
        CASE(equal_seeds_give_equal_orders),
        CASE(a_full_queue_refuses),
        CASE(packets_of_the_device_arrive_whole_after_the_latency),
        CASE(outstanding_reads_are_counted_from_the_packets),
        CASE(short_gaps_are_bridged_and_open_spans_are_told_at_the_end),
    });
}
