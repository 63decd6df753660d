// SPDX-License-Identifier: Apache-2.0
// Numbers, the window, rounds of sending again, and the question, one rule a case. What the device says is heard as
// frames.
#include "cases.h"

#include <cstring>

namespace
{

uint32_t ack_of(const Bench &bench, uint32_t more = 0)
{
    return ((bench.host->expected + more) & 127) << 16;
}

/// A write of the host's whose number is so far from the one that is expected.
void put_write(Bench &bench, int distance, uint32_t ack_more = 0)
{
    const uint32_t sequence = ((bench.host->next + (uint32_t)distance) & 127) << 8;
    put(bench, frame(0xff008000 | sequence | ack_of(bench, ack_more), {0x40000000, 1, 2}));
    bench.clocks(100 * BYTE);
}

bool asks_again(uint32_t head)
{
    return FERRY_GET(FERRY_TUNNEL_FRAME_HEAD_AGAIN, head) != 0;
}

void put_hello(Bench &bench, uint32_t session)
{
    const ferry_tunnel_hello hello = question(session);
    std::vector<uint32_t> words(9);
    memcpy(words.data(), &hello, sizeof hello);
    put(bench, frame(0xff800000, words));
    bench.clocks(100 * BYTE);
}

void begin(Bench &bench)
{
    bench.open(1);
    bench.carry(0, 5, 5);
    bench.settle();
    bench.clocks(100 * BYTE);
    bench.heads.clear();
}

} // namespace

void a_repeat_is_no_gap()
{
    Bench bench(seed);
    begin(bench);
    put_write(bench, -1);
    require(bench, bench.heads.size() == 1 && !asks_again(bench.heads[0]), "a repeat is not just acknowledged anew");
}

void the_same_number_is_a_new_round()
{
    Bench bench(seed);
    begin(bench);
    bench.to_device.noise = 1u << 20; // The host's own frames would end the gap.
    static const struct {
        int distance;
        size_t said;
    } steps[] = {{2, 1}, {3, 1}, {3, 2}, {4, 2}, {2, 3}};
    for (const auto &step : steps) {
        put_write(bench, step.distance);
        require(bench, bench.heads.size() == step.said && asks_again(bench.heads.back()), "not once a round");
    }
}

void at_most_63_are_under_way()
{
    Bench bench(seed);
    begin(bench);
    bench.cut_to_host = true;
    bench.up = 100;
    bench.up_words = 3;
    bench.clocks(2500 * BYTE);
    require(bench, bench.up == 100 - 64, "not 63 packets, and one that waits"); // At the port.
    bench.cut_to_host = false;
    bench.carry(0, 0, 0, 4000000);
}

void sent_again_is_sent_once()
{
    Bench bench(seed);
    begin(bench);
    bench.cut_to_host = true;
    bench.up = 2;
    bench.clocks((RESEND_TICKS + 1000) * BYTE);
    bench.cut_to_host = false;
    bench.carry(0, 0, 0, 4000000);
    bench.settle();
    bench.clocks(100 * BYTE);
    const uint64_t got = bench.device_got;
    put_write(bench, 0, 1);
    require(bench, bench.device_got == got, "a frame acknowledges what was never sent");
}

void who_asks_again_is_answered()
{
    Bench bench(seed);
    begin(bench);
    const uint32_t again = FERRY_TUNNEL_FRAME_HEAD_AGAIN_MASK;
    put(bench, frame(0xff000000 | again | (bench.host->next & 127) << 8 | ack_of(bench), {}));
    bench.clocks(100 * BYTE);
    require(bench, bench.heads.size() == 1, "no answer");
}

void a_question_is_asked_once()
{
    Bench bench(seed);
    bench.answers = false;
    put_hello(bench, 5);
    require(bench, bench.questions == 1, "no question");
    put_hello(bench, 6);
    require(bench, bench.questions == 1, "asked again before it was answered");
    bench.answers = true;
    bench.clocks(200 * BYTE);
    require(bench, bench.top.session_open, "no session");
}

/// A host that minds no tags: the seventeenth request stays where it is, and all come in their order.
void more_requests_than_places()
{
    Bench bench(seed);
    begin(bench);
    bench.has_room = false;
    for (uint32_t n = 0; n < 24; n++) {
        const Packet read = {1, n << 8, 4 * n};
        bench.expect(read);
        require(bench, ferry_frames_send(bench.host.get(), false, read.data(), read.size()), "no room");
    }
    const uint64_t got = bench.device_got;
    bench.clocks(24 * 40 * BYTE);
    bench.has_room = true;
    for (unsigned n = 0; n < 1000 * BYTE && bench.device_got < got + 24; n++)
        bench.clock();
    require(bench, bench.device_got == got + 24, "a request is lost");
}
