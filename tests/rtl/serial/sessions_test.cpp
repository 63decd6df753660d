// SPDX-License-Identifier: Apache-2.0
// What a session leaves behind is not of the next; and what counts as a sign of life.
#include "cases.h"

#include <algorithm>
#include <cstring>

namespace
{

std::vector<uint8_t> hello_frame(uint32_t session)
{
    const ferry_tunnel_hello hello = question(session);
    std::vector<uint32_t> words(9);
    memcpy(words.data(), &hello, sizeof hello);
    return frame(0xff800000, words);
}

} // namespace

/// The device sends without a pause, also behind its answer to the question, when the session is about to begin. What
/// began before that is lost as a whole.
void what_begins_without_a_session()
{
    Bench bench(seed);
    bench.chatty = true;
    bench.stall = 0;
    for (uint32_t session = 1; session < 12; session++) {
        bench.up = 1000;
        bench.up_words = 9;
        bench.open(session);
        bench.clocks(200 * BYTE);
        bench.up = 0;
        bench.carry(0, 3, 3);
    }
}

/// A hello that comes while another one is answered, in any part of that, or as it begins: its host will ask again.
/// An answer names one of the two, and each is answered once at most.
void a_hello_while_another_is_answered()
{
    const uint32_t first = 0x11223344, second = 0x55667788;
    const std::vector<uint8_t> hello = hello_frame(second);
    const unsigned takes = (unsigned)hello.size() * BYTE;
    unsigned alone = 0;
    for (unsigned n = 0; n < 120; n++) {
        Bench bench(seed + n);
        bench.answers = false;
        bench.answer_clocks = 0;
        bench.stall = 0;
        put(bench, hello_frame(first));
        bench.clocks(20 * BYTE);
        require(bench, bench.questions == 1, "no question");
        for (uint8_t byte : hello)
            bench.to_line.bytes.push_back(byte);
        // Four steps are a byte's time; in the end each clock about its last one, in which it is taken.
        bench.clocks(n < 60 ? takes - n * 30 : takes - 100 + n);
        bench.answers = true;
        bench.clocks(300 * BYTE);
        for (uint32_t session : bench.answered)
            require(bench, session == first || session == second, "an answer to what nobody asked");
        for (uint32_t session : {first, second})
            require(bench, std::count(bench.answered.begin(), bench.answered.end(), session) <= 1, "answered twice");
        require(bench, bench.top.session_open && !bench.answered.empty(), "no session");
        alone += bench.answered.size() == 1 && bench.answered[0] == first;
        require(bench, bench.questions == bench.answered.size() || bench.answered.back() == second, "asked in vain");
    }
    require(Bench(seed), alone > 10, "none came while another was answered");
}

/// The host of before had no room left; this one has, and says so with its hello alone.
void credit_is_that_of_the_session()
{
    Bench bench(seed);
    bench.open(1);
    bench.host_takes = false;
    bench.up = 60;
    bench.up_words = 68;
    bench.clocks(2 * RESEND_TICKS * BYTE);
    require(bench, bench.host->counts.frames_in == FERRY_FRAMES_ROOM / 17, "room is left");
    bench.up = 0;
    bench.open(2);
    bench.host_takes = true;
    const uint64_t got = bench.host_got;
    bench.up = 1;
    bench.clocks(600 * BYTE);
    require(bench, bench.host_got == got + 1, "a packet waits for the credit of the session before");
}

/// A frame was missing when the session ended; the first that is missing in the next one is told of.
void a_gap_is_that_of_the_session()
{
    Bench bench(seed);
    bench.open(1);
    bench.to_device.noise = 1u << 20; // The host's own frames would end the gap.
    put(bench, frame(0xff008200, {0x40000000, 1, 2}));
    bench.clocks(100 * BYTE);
    put(bench, hello_frame(2));
    bench.clocks(300 * BYTE);
    require(bench, bench.top.session_open, "no session");
    bench.heads.clear();
    put(bench, frame(0xff008300, {0x40000000, 1, 2}));
    bench.clocks(100 * BYTE);
    require(bench, bench.heads.size() == 1 && FERRY_GET(FERRY_TUNNEL_FRAME_HEAD_AGAIN, bench.heads[0]) != 0,
            "a gap is passed over in silence");
}

/// A host that says something all the time, and never that it has the packet, gets that again.
void talk_is_no_progress()
{
    Bench bench(seed);
    bench.open(1);
    bench.carry(0, 5, 5);
    bench.settle();
    bench.clocks(100 * BYTE);
    bench.cut_to_host = true;
    bench.heads.clear();
    bench.up = 1;
    const uint32_t head = 0xff000000 | (bench.host->next & 127) << 8 | (bench.host->expected & 127) << 16;
    for (unsigned n = 0; n < 2 * RESEND_TICKS; n += 300) {
        put(bench, frame(head, {}));
        bench.clocks(290 * BYTE);
    }
    const auto counted = [](uint32_t one) { return (one & FERRY_TUNNEL_FRAME_HEAD_COUNTED_MASK) != 0; };
    require(bench, std::count_if(bench.heads.begin(), bench.heads.end(), counted) >= 2, "nothing is sent again");
    bench.cut_to_host = false;
    bench.carry(0, 0, 0);
}

/// Cycles that a byte takes have 16 bits, and 0 of them says that it does not matter how many: more are told as the
/// most.
void a_byte_that_takes_more_clocks_than_can_be_said()
{
    Bench bench(seed);
    std::vector<uint8_t> said;
    bench.top.slow_hello = 1;
    while (said.size() < 4 + sizeof(ferry_tunnel_hello)) {
        bench.clock();
        if (bench.top.slow_valid) {
            said.push_back(bench.top.slow_data);
        }
        require(bench, bench.now < 1000, "no hello");
    }
    ferry_tunnel_hello hello;
    memcpy(&hello, &said[4], sizeof hello);
    require(bench, hello.magic == FERRY_TUNNEL_HELLO_MAGIC_RESET && memcmp(hello.name, "slow", 5) == 0,
            "another hello");
    require(bench, FERRY_GET(FERRY_TUNNEL_HELLO_WHAT_BYTE_CYCLES, hello.what) == 65535,
            "a byte's clocks are not the most");
}

/// The device's clock falls out of step, or somebody presses its button, in the middle of frames either way: it knows
/// of no session behind that, takes nothing of the one that there was however long its host goes on, and is ready for
/// the next.
void a_device_that_begins_anew_knows_of_no_session()
{
    Bench bench(seed, seed % 3 == 0 ? 0 : NOISE);
    for (uint32_t session = 1; session < 40; session++) {
        bench.open(session);
        bench.carry(0, bench.random.below(20), bench.random.below(20));
        bench.down = bench.up = 40;
        bench.answer_clocks = session % 2 == 0 ? 60000 : 400; // Requests wait in there, or hardly.
        bench.clocks(bench.random.below((session % 4 == 0 ? 4000 : 400) * BYTE));
        bench.restart(1 + bench.random.below(3 * BYTE));
        const uint64_t got = bench.device_got;
        bench.clocks(session % 8 == 0 ? 3 * RESEND_TICKS * BYTE : bench.random.below(300 * BYTE));
        require(bench, !bench.top.session_open && bench.device_got == got, "a session goes on behind a reset");
        bench.answer_clocks = 400;
    }
}
