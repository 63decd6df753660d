// SPDX-License-Identifier: Apache-2.0
// The serial port against the C end of the frames: packets arrive once, whole and in order, whatever the line does.
// FERRY_SEED replays.
#include "cases.h"

#include <cstring>
#include <ctime>
#include <exception>

namespace
{

void packets_both_ways()
{
    Bench bench(seed, 0, 20);
    const ferry_tunnel_hello hello = bench.open(7);
    require(bench, FERRY_GET(FERRY_TUNNEL_HELLO_WHAT_VERDICT, hello.what) == FERRY_TUNNEL_VERDICT_ACCEPTED,
            "not accepted");
    require(bench, hello.contract_version == FERRY_CONTRACT_VERSION && hello.what >> 16 == BYTE && hello.user == 0,
            "the hello");
    require(bench, memcmp(hello.name, "bench\0\0\0\0\0\0\0\0\0\0", 16) == 0, "the name");
    bench.carry(0, 400, 400); // Three times round the numbers.
    bench.settle();
    bench.clocks(10 * RESEND_TICKS * BYTE);
    require(bench,
            bench.host->counts.resent == 0 && bench.host->counts.bad_frames == 0 && bench.host->counts.silences == 0,
            "something was sent again on a clean line");
    require(bench, bench.host->counts.doubled == 0 && bench.host->counts.refused == 0,
            "the device sends what it need not");
    require(bench, bench.from_line.broken == 0, "bytes without a stop bit");
}

void noise_costs_time()
{
    Bench bench(seed, NOISE, 1 + (uint32_t)(seed % 300));
    bench.open(8);
    bench.carry(0, 250, 250);
    bench.carry(68, 20, 20);
    const ferry_frames_counts &counts = bench.host->counts;
    printf("noise: %llu frames of the device's were none, %llu came twice; the host sent %llu and %llu again\n",
           (unsigned long long)counts.bad_frames, (unsigned long long)counts.doubled,
           (unsigned long long)counts.frames_out, (unsigned long long)counts.resent);
    require(bench, counts.bad_frames > 10 && counts.resent > 10, "no noise");
}

void nine_tenths_are_payload()
{
    // A write of 256 bytes above 4 GiB is the longest packet: four words of header.
    for (unsigned ways = 1; ways <= 3; ways++) {
        Bench bench(seed + ways, 0, 20);
        bench.stall = 0;
        bench.open(9);
        bench.carry(68, ways & 1 ? 10 : 0, ways & 2 ? 10 : 0);
        const uint64_t start = bench.now, sent = bench.to_device.carried, came = bench.to_host.carried;
        const uint64_t down = bench.device_payload, up = bench.host_payload;
        bench.carry(68, ways & 1 ? 150 : 0, ways & 2 ? 150 : 0);
        const double to_device = (double)(bench.device_payload - down), to_host = (double)(bench.host_payload - up);
        const double times = (double)(bench.now - start) / BYTE;
        const double down_share = to_device / (double)(bench.to_device.carried - sent);
        const double up_share = to_host / (double)(bench.to_host.carried - came);
        printf("payload of the bytes%s: to the device %.2f %%, to the host %.2f %% (floor 90); of the line's time %.2f "
               "%%, %.2f %% (88)\n",
               ways == 3 ? ", both ways" : "", 100 * down_share, 100 * up_share, 100 * to_device / times,
               100 * to_host / times);
        require(bench, !(ways & 1) || (down_share >= 0.9 && to_device / times >= 0.88),
                "too little payload to the device");
        require(bench, !(ways & 2) || (up_share >= 0.9 && to_host / times >= 0.88), "too little payload to the host");
        require(bench, bench.host->counts.resent + bench.host->counts.doubled == 0, "sent again");
    }
}

void clocks_that_differ()
{
    for (double bit : {4 * 1.02, 4 * 0.98}) {
        Bench bench(seed, 0, 20);
        bench.to_line.bit = bit;
        bench.from_line.bit = 1 / (2 / 4.0 - 1 / bit);
        bench.open(10);
        bench.carry(0, 100, 100);
        require(bench, bench.host->counts.resent + bench.host->counts.bad_frames + bench.host->counts.doubled == 0,
                "bytes were lost");
        require(bench, bench.from_line.broken == 0, "bytes without a stop bit");
    }
}

/// Bits of 16.6875 clocks, whose host's are 2 % longer or shorter, or exact.
void bits_of_no_whole_clocks()
{
    for (double bit : {50 / 3.0, 50 / 3.0 * 1.02, 50 / 3.0 * 0.98}) {
        Bench bench(seed);
        LineOut out;
        LineIn in;
        std::deque<uint8_t> expected;
        out.bit = bit;
        in.bit = 50 / 3.0;
        for (unsigned n = 0; n < 60000; n++) {
            if (out.bytes.empty() && n < 55000) {
                // Silence now and then: with bits that are shorter, bytes would pile up.
                out.bytes.push_back((uint8_t)bench.random.next());
                expected.push_back((uint8_t)out.bytes.back());
                out.bytes.push_back(256);
                // Neither a byte without a stop bit nor a break is a byte.
                if (bench.random.below(8) == 0) {
                    out.bytes.push_back((uint16_t)(bench.random.below(2) == 0 ? 1024 : 512 + bench.random.below(256)));
                    out.bytes.push_back(256);
                    out.bytes.push_back(256);
                }
            }
            bench.top.echo_rxd = out.level(bench.now);
            bench.clock();
            in.see(bench.now, bench.top.echo_txd);
            while (!in.bytes.empty()) {
                require(bench, !expected.empty() && in.bytes.front() == expected.front(), "a byte is another");
                in.bytes.pop_front();
                expected.pop_front();
            }
        }
        require(bench, expected.empty() && in.broken == 0, "a byte is lost");
    }
}

void sessions_end_in_the_middle()
{
    Bench bench(seed, seed % 3 == 0 ? 0 : NOISE, 200);
    for (uint32_t session = 1; session < 12; session++) {
        // The host of before died in the middle; the device goes on with what it has.
        bench.answer_clocks = session % 3 == 0 ? 60000 : 400;
        const uint64_t before = bench.questions;
        bench.open(session);
        require(bench, bench.questions > before, "the device was not asked whether it is ready");
        bench.carry(0, 20, 20);
        bench.down = bench.up = 30;
        bench.clocks(BYTE * (200 + bench.random.below(4000)));
        bench.down = bench.up = 0;
    }
    // What came before a hello goes to the device before it is asked.
    bench.to_device.noise = bench.to_host.noise = 0;
    bench.answer_clocks = 400;
    bench.open(49);
    bench.carry(0, 20, 20);
    bench.settle();
    const uint64_t got = bench.device_got, questions = bench.questions;
    bench.takes = false;
    bench.down = 6;
    bench.down_words = 20;
    bench.clocks(1000 * BYTE);
    bench.ask(48);
    bench.clocks(600 * BYTE);
    bench.takes = true;
    for (unsigned n = 0; n < RESEND_TICKS * BYTE && bench.questions == questions; n++)
        bench.clock();
    bench.down_words = 0;
    require(bench, bench.questions == questions + 1 && bench.device_got == got + 6,
            "the device is asked before it has everything");
    // Requests wait for as long as the device likes, and so does the hello.
    bench.to_device.noise = bench.to_host.noise = 0;
    bench.open(50);
    bench.answers = false;
    bench.down = 60;
    bench.clocks(3000 * BYTE);
    bench.down = bench.up = 0;
    require(bench, bench.asked.size() >= 6, "no requests");
    bench.ask(51);
    bench.clocks(5 * RESEND_TICKS * BYTE);
    require(bench, bench.asking && !bench.top.session_open, "a hello was answered too early");
    bench.answers = true;
    for (unsigned n = 0; n < 3 * RESEND_TICKS * BYTE && bench.asking; n++)
        bench.clock();
    require(bench, !bench.asking, "no answer");
    bench.carry(0, 20, 20);
    // The answer is lost: the same question again gets it again, and the session goes on.
    bench.cut_to_host = true;
    bench.ask(52);
    bench.clocks(2 * RESEND_TICKS * BYTE);
    require(bench, bench.top.session_open && bench.asking, "no session");
    bench.cut_to_host = false;
    bench.clocks(3 * RESEND_TICKS * BYTE);
    require(bench, !bench.asking && ferry_frames_open(bench.host.get()), "the answer was not given again");
    bench.carry(0, 20, 20);
}

void other_contracts_are_refused()
{
    Bench bench(seed);
    bench.open(1);
    bench.carry(0, 20, 20);
    for (uint32_t major : {1u, 256u}) {
        const ferry_tunnel_hello hello = question(1 + major, FERRY_CONTRACT_VERSION + major * 0x10000);
        ferry_frames_ask(bench.host.get(), &hello);
        bench.asking = true;
        bench.clocks(3 * RESEND_TICKS * BYTE);
        require(bench, !bench.asking && bench.answer.session == 1 + major, "no answer");
        require(bench, FERRY_GET(FERRY_TUNNEL_HELLO_WHAT_VERDICT, bench.answer.what) == FERRY_TUNNEL_VERDICT_CONTRACT,
                "not refused");
        require(bench, bench.answer.contract_version == FERRY_CONTRACT_VERSION, "the device's version");
        require(bench, !bench.top.session_open, "a session with another contract");
    }
    // Another minor version is welcome.
    const ferry_tunnel_hello minor = question(3, FERRY_CONTRACT_VERSION ^ 0xffff);
    ferry_frames_ask(bench.host.get(), &minor);
    bench.asking = true;
    bench.clocks(3 * RESEND_TICKS * BYTE);
    require(bench, !bench.asking && bench.top.session_open, "no session with another minor version");
    bench.carry(0, 20, 20);
}

void half_frames_and_a_terminal()
{
    Bench bench(seed);
    static const char text[] = "\r\nlogin: root\r\nPassword: \x1b[A\x1b[B AT+CGMI\r\n";
    // Before the first session: whatever a terminal says, a hello gets through.
    for (const char *at = text; *at != 0; at++)
        bench.to_line.bytes.push_back((uint8_t)*at);
    bench.clocks(100 * BYTE);
    require(bench, bench.from_line.bytes.empty() && !bench.top.session_open, "somebody is spoken to without a hello");
    bench.open(1);
    bench.carry(0, 30, 30);
    for (unsigned n = 0; n < 40; n++) {
        const std::vector<uint8_t> half = frame(0x8000, {n, n, n});
        bench.to_line.bytes.insert(bench.to_line.bytes.end(), text, text + n % sizeof text);
        bench.to_line.bytes.insert(bench.to_line.bytes.end(), half.begin(),
                                   half.begin() + n % (unsigned)(half.size() - 1));
        if (n % 4 == 0)
            bench.to_line.bytes.push_back(1024); // A break, or
        if (n % 4 == 1)
            bench.to_line.bytes.push_back((uint16_t)(512 + bench.random.below(256))); // no stop bit.
        bench.carry(0, 2, 2);
    }
    // Longer than any frame, and no end.
    for (unsigned n = 0; n < 3000; n++)
        bench.to_line.bytes.push_back((uint16_t)(1 + n % 255));
    bench.carry(0, 20, 20);
}

void pulses_are_no_start_bits()
{
    Bench bench(seed);
    bench.open(1);
    bench.carry(0, 5, 5);
    for (unsigned n = 0; n < 20; n++) {
        bench.settle();
        bench.clocks(bench.random.below(200));
        bench.to_line.bit = 0.1; // All of a byte in a clock.
        bench.to_line.bytes.push_back(0);
        bench.clock();
        bench.to_line.bit = 4;
        bench.clocks(20 + bench.random.below(100));
        bench.carry(0, 1, 1);
    }
    require(bench, bench.host->counts.resent == 0, "a pulse was a byte");
}

void a_stopped_reader()
{
    Bench bench(seed);
    bench.open(1);
    bench.takes = false;
    bench.down = bench.up = 60;
    bench.down_words = bench.up_words = 68;
    bench.clocks(8 * RESEND_TICKS * BYTE);
    // 119 units of room: seven packets of 17 units, besides what the device's port holds of one.
    const ferry_frames_counts &counts = bench.host->counts;
    printf("the device takes nothing: %llu frames sent once, %llu again\n", (unsigned long long)counts.frames_out,
           (unsigned long long)counts.resent);
    require(bench, counts.frames_out == 7, "not as many packets as there are credits for");
    require(bench, bench.host_got == 60, "what the device sends was held up");
    bench.takes = true;
    bench.carry(68, 0, 1);
    bench.clocks(60 * 300 * BYTE);
    require(bench, bench.device_got == 60, "packets did not go on");
    // And the other way round: the host keeps its credits.
    bench.host_takes = false;
    const uint64_t got = bench.host_got, taken = counts.frames_in;
    bench.up = 60;
    bench.clocks(6 * RESEND_TICKS * BYTE);
    require(bench, counts.frames_in - taken == FERRY_FRAMES_ROOM / 17 && counts.refused == 0,
            "the host's credits are not kept");
    bench.host_takes = true;
    bench.carry(68, 10, 0);
    bench.clocks(60 * 300 * BYTE);
    require(bench, bench.host_got - got == 60, "packets to the host did not go on");
    // A packet of 17 words takes five units, not four.
    bench.host_takes = false;
    const uint64_t before = counts.frames_in;
    bench.up = 60;
    bench.up_words = 17;
    bench.clocks(2 * RESEND_TICKS * BYTE);
    require(bench, counts.frames_in - before == FERRY_FRAMES_ROOM / 5 && counts.refused == 0,
            "a unit that is begun counts for nothing");
    bench.host_takes = true;
    bench.carry(17, 1, 0);
}

void writes_pass_requests_that_wait()
{
    Bench bench(seed);
    bench.open(1);
    bench.has_room = false;
    bench.down = 200;
    bench.clocks(20000 * BYTE);
    // The host has asked for all that it may, and goes on as far as it can: not behind the next request.
    const uint64_t got = bench.device_got;
    require(bench, got > 20 && bench.passed == 0, "packets behind requests do not come");
    bench.has_room = true;
    bench.carry(0, 20, 20);
    require(bench, bench.passed >= 10, "no request was passed");
    printf("%llu packets came while 16 requests waited; %llu requests were passed\n", (unsigned long long)got,
           (unsigned long long)bench.passed);
}

/// A request has four words at most. What says that it is one and is longer is the device's to refuse: it gets it as it
/// came, in its turn among the writes, however many requests wait.
void longer_than_a_request()
{
    Bench bench(seed);
    bench.open(1);
    for (unsigned room = 0; room < 2; room++) {
        for (unsigned words : {5u, 6u, 8u, 9u, 32u, 68u}) {
            bench.has_room = room != 0;
            bench.carry(0, room != 0 ? 3 : 0, 0);
            Packet packet(words);
            packet[0] = 0x44000000 | (words - 3);
            for (unsigned n = 1; n < words; n++)
                packet[n] = bench.random.next() & 0x7fffffff;
            const uint64_t got = bench.device_got;
            bench.long_requests.push_back(packet);
            require(bench, ferry_frames_send(bench.host.get(), false, packet.data(), packet.size()), "no room");
            for (unsigned n = 0; n < 2000 * BYTE && bench.device_got == got; n++)
                bench.clock();
            require(bench, bench.device_got == got + 1 && bench.long_requests.empty(), "a long packet does not come");
        }
    }
}

void frames_that_cannot_be()
{
    Bench bench(seed);
    bench.open(1);
    bench.carry(0, 3, 3);
    bench.settle();
    const uint64_t got = bench.device_got;
    const uint32_t sequence = (bench.host->next & 127) << 8, ack = (bench.host->expected & 127) << 16;
    // A packet with a wrong acknowledgement, one without words, words that are nothing, a hello cut short, a strange
    // one, an answer.
    put(bench, frame(0xff008000 | sequence | ((bench.host->expected + 1) & 127) << 16, {0x40000000, 1, 2}));
    put(bench, frame(0xff008000 | sequence | ack, {}));
    put(bench, frame(0xff000000 | sequence | ack, {1, 2}));
    put(bench, frame(0xff800000, std::vector<uint32_t>(8)));
    put(bench, frame(0xff800000, std::vector<uint32_t>(9)));
    ferry_tunnel_hello other = question(99);
    other.what = 1;
    std::vector<uint32_t> words(9);
    memcpy(words.data(), &other, sizeof other);
    put(bench, frame(0xff800000, words));
    // Of another protocol, which differs in any one byte.
    for (unsigned n = 0; n < 4; n++) {
        other = question(99);
        other.magic ^= 1u << 8 * n;
        memcpy(words.data(), &other, sizeof other);
        put(bench, frame(0xff800000, words));
    }
    // Longer than a frame may be, with a good CRC; the second by as much as the receiver counts, and the frame it would
    // be then.
    for (unsigned length : {4 * 71u, 512 + 20u}) {
        std::vector<uint8_t> plain(length);
        for (unsigned n = 4; n < length - 4; n++)
            plain[n] = (uint8_t)(n % 200);
        for (unsigned head = 0; head < length; head += 512) {
            plain[head] = length == 284 ? 69 : 3;
            plain[head + 3] = 0xff;
            plain[head + 1] = (uint8_t)(0x80 | sequence >> 8);
            plain[head + 2] = (uint8_t)(ack >> 16);
        }
        const uint32_t crc = ferry_frame_crc(0, plain.data(), length - 4);
        for (unsigned n = 0; n < 4; n++)
            plain[length - 4 + n] = (uint8_t)(crc >> 8 * n);
        put(bench, stuffed(plain));
    }
    require(bench, bench.device_got == got && bench.top.session_open, "a frame that cannot be did something");
    // The question once more, late; a message of a simulator's; then all goes on.
    other = question(1);
    memcpy(words.data(), &other, sizeof other);
    put(bench, frame(0xff800000, words));
    const uint32_t message[6] = {FERRY_TUNNEL_CODE_RUN};
    require(bench, ferry_frames_send(bench.host.get(), true, message, 6), "no room");
    bench.carry(0, 20, 20);
    require(bench, bench.device_got == got + 20, "the message went to the device");
    // A host that does not mind credits: what there is no room for is not taken, and nothing else is harmed.
    bench.settle();
    bench.takes = false;
    for (unsigned n = 0; n < 9; n++) {
        Packet packet(68);
        packet[0] = 0x60000040 + n;
        if (n < 7)
            bench.expect(packet);
        put(bench, frame(0xff008000 | (bench.host->next & 127) << 8 | (bench.host->expected & 127) << 16, packet));
        bench.host->next++, bench.host->sent++, bench.host->highest++;
    }
    bench.takes = true;
    bench.open(2);
    bench.carry(0, 20, 20);
}

void silence_ends_by_itself()
{
    Bench bench(seed);
    bench.open(1);
    bench.carry(0, 10, 10);
    bench.settle();
    // What the device sends is lost for a time; then it comes, without the host having asked.
    bench.cut_to_host = true;
    bench.up = 5;
    bench.clocks(2000 * BYTE);
    bench.cut_to_host = false;
    bench.carry(0, 0, 0);
    require(bench, bench.host->counts.resent == 0, "the host sent something");
    bench.settle();
    // And what the host sends.
    bench.to_device.noise = 1u << 20;
    bench.down = 5;
    bench.clocks(2000 * BYTE);
    bench.to_device.noise = 0;
    bench.carry(0, 1, 1);
    bench.settle();
    bench.clocks(100 * BYTE); // What is still on its way.
    // A frame that is none is told of at once, though nothing comes behind it.
    std::vector<uint8_t> broken = frame(0x8000, {0x40000001, 1, 2, 3});
    broken[6] ^= 0x40;
    const uint64_t before = bench.host->counts.bytes_in;
    put(bench, broken);
    bench.clocks(100 * BYTE);
    require(bench, bench.host->counts.bytes_in > before, "a broken frame is passed over in silence");
}

struct Case {
    const char *name;
    void (*run)();
};

} // namespace

int main(int argc, char **argv)
{
    seed = seed_given((uint64_t)time(nullptr));
    static const Case cases[] = {
        {"serial_packets_both_ways", packets_both_ways},
        {"serial_noise_costs_time_and_nothing_else", noise_costs_time},
        {"serial_nine_tenths_of_the_bytes_are_payload", nine_tenths_are_payload},
        {"serial_clocks_that_differ_by_two_per_cent", clocks_that_differ},
        {"serial_bits_of_no_whole_clocks", bits_of_no_whole_clocks},
        {"serial_sessions_end_in_the_middle", sessions_end_in_the_middle},
        {"serial_other_contracts_are_refused", other_contracts_are_refused},
        {"serial_half_frames_and_a_terminal", half_frames_and_a_terminal},
        {"serial_pulses_are_no_start_bits", pulses_are_no_start_bits},
        {"serial_a_stopped_reader", a_stopped_reader},
        {"serial_writes_pass_requests_that_wait", writes_pass_requests_that_wait},
        {"serial_longer_than_a_request", longer_than_a_request},
        {"serial_frames_that_cannot_be", frames_that_cannot_be},
        {"serial_silence_ends_by_itself", silence_ends_by_itself},
        {"serial_a_repeat_is_no_gap", a_repeat_is_no_gap},
        {"serial_the_same_number_is_a_new_round", the_same_number_is_a_new_round},
        {"serial_at_most_63_are_under_way", at_most_63_are_under_way},
        {"serial_sent_again_is_sent_once", sent_again_is_sent_once},
        {"serial_who_asks_again_is_answered", who_asks_again_is_answered},
        {"serial_a_question_is_asked_once", a_question_is_asked_once},
        {"serial_more_requests_than_places", more_requests_than_places},
        {"serial_what_begins_without_a_session_is_not_of_the_next", what_begins_without_a_session},
        {"serial_a_hello_while_another_is_answered", a_hello_while_another_is_answered},
        {"serial_credit_is_that_of_the_session", credit_is_that_of_the_session},
        {"serial_a_gap_is_that_of_the_session", a_gap_is_that_of_the_session},
        {"serial_talk_is_no_progress", talk_is_no_progress},
        {"serial_a_device_that_begins_anew_knows_of_no_session", a_device_that_begins_anew_knows_of_no_session},
        {"serial_a_byte_that_takes_more_clocks", a_byte_that_takes_more_clocks_than_can_be_said},
    };
    unsigned passed = 0, failed = 0;
    for (const Case &test : cases) {
        if (argc > 1 && strncmp(test.name, argv[1], strlen(argv[1])) != 0)
            continue;
        try {
            test.run();
            printf("[       OK ] %s\n", test.name);
            passed++;
        } catch (const std::exception &wrong) {
            printf("[  FAILED  ] %s: %s\n", test.name, wrong.what());
            failed++;
        }
        fflush(stdout);
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
