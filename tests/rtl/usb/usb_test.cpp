// SPDX-License-Identifier: Apache-2.0
// The USB port at its pins: what it says it is, bytes both ways, refusals, disturbed wires, hosts that begin anew.
// FERRY_SEED replays.
#include "bench.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace
{

uint64_t seed;

std::vector<uint8_t> any_bytes(Random &random, size_t count)
{
    std::vector<uint8_t> bytes(count);
    // Long runs of ones and of zeros, which the wires need more bits for.
    for (uint8_t &byte : bytes)
        byte = random.below(4) == 0 ? 0xff : random.below(4) == 0 ? 0 : static_cast<uint8_t>(random.next());
    return bytes;
}

void says_what_it_is()
{
    Bench bench(seed);
    bench.host.idle(48);
    bench.require(bench.wires.top.usb_pullup, "no resistor at D+");
    bench.require(bench.host.reset() == UsbResult::done, "nobody answers");
    std::vector<uint8_t> got;
    // As a host does first, which does not know how much there is.
    bench.require(bench.request({0x80, 6, 0, 1, 0, 0, 8, 0}, got) == UsbResult::done && got.size() == 8,
                  "no first eight bytes");
    bench.require(bench.request({0x80, 6, 0, 1, 0, 0, 64, 0}, got) == UsbResult::done, "no device descriptor");
    bench.require(
        got == std::vector<uint8_t>({18, 1, 0, 2, 0xff, 0, 0, 64, 0x09, 0x12, 0x01, 0x00, 0x00, 0x01, 1, 2, 3, 1}),
        "the device descriptor");
    bench.require(bench.request({0x80, 6, 0, 2, 0, 0, 255, 0}, got) == UsbResult::done, "no configuration descriptor");
    bench.require(got == std::vector<uint8_t>({9, 2, 32, 0, 1,    1, 0,  0x80, 250, 9, 4, 0,    0, 2,  0xff, 0,
                                               0, 0, 7,  5, 0x01, 2, 64, 0,    0,   7, 5, 0x81, 2, 64, 0,    0}),
                  "the configuration descriptor");
    const char *texts[] = {"Pageferry", "copy engine", "1"};
    for (uint8_t n = 1; n <= 3; n++) {
        bench.require(bench.request({0x80, 6, n, 3, 9, 4, 255, 0}, got) == UsbResult::done &&
                          got.size() == 2 + 2 * strlen(texts[n - 1]),
                      "a text's length");
        for (size_t at = 0; at < strlen(texts[n - 1]); at++)
            bench.require(got[2 + 2 * at] == texts[n - 1][at] && got[3 + 2 * at] == 0, "a text");
    }
    bench.require(bench.request({0x80, 6, 9, 3, 9, 4, 255, 0}, got) == UsbResult::stall,
                  "a text that it does not have");
    bench.require(bench.request({0xc0, 1, 0, 0, 0, 0, 8, 0}, got) == UsbResult::stall, "a request that nobody knows");
    bench.require(bench.request({0x80, 8, 0, 0, 0, 0, 1, 0}, got) == UsbResult::done &&
                      got == std::vector<uint8_t>({0}),
                  "configured before it is");
    bench.require(bench.request({0x00, 9, 1, 0, 0, 0, 0, 0}, got) == UsbResult::done, "no configuration");
    bench.require(bench.request({0x00, 9, 2, 0, 0, 0, 0, 0}, got) == UsbResult::stall,
                  "a configuration that it does not have");
    bench.require(bench.request({0x80, 8, 0, 0, 0, 0, 1, 0}, got) == UsbResult::done &&
                      got == std::vector<uint8_t>({1}),
                  "not configured behind it");
    bench.require(bench.host.violation() == nullptr, "a rule of the bus is broken");
}

/// Bytes each way at once, whatever the clocks are.
void carry(Bench &bench, size_t count)
{
    const std::vector<uint8_t> down = any_bytes(bench.wires.random, count), up = any_bytes(bench.wires.random, count);
    std::vector<uint8_t> fetched;
    bench.wires.taken.clear();
    bench.wires.to_send.assign(up.begin(), up.end());
    size_t bytes;
    bench.send(down, [&] { bench.fetch(fetched, bytes); });
    for (int tries = 0; fetched.size() < count || bench.wires.taken.size() < count; tries++) {
        bench.require(tries < 20000, "bytes stay away: " + std::to_string(bench.wires.taken.size()) +
                                         " of the host's came, " + std::to_string(fetched.size()) + " of the device's");
        bench.fetch(fetched, bytes);
    }
    bench.rest();
    bench.require(bench.wires.taken == down, "not what the host sent");
    bench.require(fetched == up, "not what the device sent");
}

void bytes_both_ways()
{
    const uint32_t rates[] = {250, 500, 1000, 1042, 2083};
    for (uint32_t rate : rates) {
        Bench bench(seed + rate, rate);
        bench.configure();
        bench.wires.stall = bench.wires.random.below(80);
        bench.wires.pause = bench.wires.random.below(200);
        carry(bench, 3000);
        bench.require(bench.host.violation() == nullptr, "a rule of the bus is broken");
    }
}

/// A host that asks for much gets it in one go, and is told where it ends.
void a_burst_ends_with_a_packet_that_is_not_full()
{
    Bench bench(seed);
    bench.configure();
    for (size_t count : {1u, 63u, 64u, 65u, 127u, 128u, 129u, 192u, 640u}) {
        const std::vector<uint8_t> up = any_bytes(bench.wires.random, count);
        std::vector<uint8_t> fetched;
        bench.wires.to_send.assign(up.begin(), up.end());
        size_t packets = 0, last = 64;
        for (int tries = 0; last == 64; tries++) {
            bench.require(tries < 1000, "a burst without an end");
            packets += bench.fetch(fetched, last);
        }
        bench.require(fetched == up, "not the burst");
        bench.require(packets == count / 64 + 1, "more packets than it takes");
        bench.rest();
        size_t none = 0;
        bench.require(!bench.fetch(fetched, none), "something behind the end");
    }
}

void a_full_device_refuses()
{
    Bench bench(seed);
    bench.configure();
    bench.wires.takes = false;
    std::vector<uint8_t> sent;
    uint32_t refused = 0;
    while (refused < 20) {
        const std::vector<uint8_t> packet = any_bytes(bench.wires.random, 64);
        const UsbResult result = bench.host.bulk_out(1, packet.data(), 64);
        bench.require(result == UsbResult::done || result == UsbResult::nak, "neither taken nor refused");
        refused += result == UsbResult::nak;
        if (result == UsbResult::done)
            sent.insert(sent.end(), packet.begin(), packet.end());
        bench.require(sent.size() < 1000, "a device that takes nothing has no end");
    }
    bench.wires.takes = true;
    bench.rest();
    bench.require(bench.wires.taken == sent, "not what was taken");
    carry(bench, 500);
}

void disturbed_wires_cost_time_and_nothing_else()
{
    Bench bench(seed, 500);
    bench.configure();
    bench.wires.noise = 400; // One packet in four or five.
    carry(bench, 20000);
}

/// USB 2.0, 7.1.11: a host's bits are right to 0.05 %, a device's to 0.25 %. Nothing is lost, and no packet said again.
void clocks_that_differ()
{
    for (int32_t drift : {-3000, -500, 500, 3000}) {
        Bench bench(seed, 1042);
        bench.wires.drift = drift;
        bench.configure();
        carry(bench, 6000);
        bench.require(bench.host.violation() == nullptr, "a rule of the bus is broken");
    }
}

void who_begins_anew_begins_with_data0()
{
    Bench bench(seed);
    bench.configure();
    for (int round = 0; round < 12; round++) {
        carry(bench, 1 + bench.wires.random.below(300));
        // The host leaves in the middle: a packet sent, an answer not fetched.
        const std::vector<uint8_t> up = any_bytes(bench.wires.random, bench.wires.random.below(200));
        bench.wires.to_send.assign(up.begin(), up.end());
        const uint8_t byte = 0;
        bench.require(bench.host.bulk_out(1, &byte, 1) == UsbResult::done, "not taken");
        bench.host.idle(48 * bench.wires.random.below(500));
        std::vector<uint8_t> none;
        if (round % 2 == 0)
            bench.configure();
        else
            bench.require(bench.request({0x00, 9, 1, 0, 0, 0, 0, 0}, none) == UsbResult::done, "no configuration");
        // What was on its way comes, or not: the frames see to it.
        size_t count;
        for (int tries = 0; tries < 100; tries++)
            bench.fetch(none, count);
        bench.rest();
        bench.wires.taken.clear();
    }
    bench.require(bench.host.violation() == nullptr, "a rule of the bus is broken");
}

void a_cleared_halt_begins_with_data0()
{
    Bench bench(seed);
    bench.configure();
    const uint8_t byte = 7;
    std::vector<uint8_t> none;
    size_t count;
    for (uint8_t endpoint : {0x01, 0x81}) {
        bench.require(bench.host.bulk_out(1, &byte, 1) == UsbResult::done, "not taken");
        bench.wires.to_send.push_back(byte);
        bench.rest();
        bench.require(bench.fetch(none, count), "nothing to fetch");
        bench.require(bench.request({0x02, 1, 0, 0, endpoint, 0, 0, 0}, none) == UsbResult::done,
                      "the halt is not cleared");
        bench.wires.taken.clear();
        carry(bench, 200);
    }
}

/// The first thing that some hosts ask behind a reset of the bus; whatever came before, it is answered at once.
void require_answer(Bench &bench, const std::string &behind)
{
    std::vector<uint8_t> got;
    const UsbResult result = bench.request({0x80, 6, 0, 1, 0, 0, 64, 0}, got);
    bench.require(result == UsbResult::done && got.size() == 18 && got[1] == 1,
                  "no device descriptor behind " + behind);
    bench.require(bench.host.violation() == nullptr, "a rule of the bus is broken behind " + behind);
}

/// 8.5.3: a host gives a control transfer up wherever it likes, as one that is reset does, and begins another.
void a_request_that_is_given_up_is_over()
{
    const std::pair<const char *, std::vector<uint8_t>> requests[] = {
        {"GET_STATUS", {0x80, 0, 0, 0, 0, 0, 2, 0}},        {"CLEAR_FEATURE", {0x02, 1, 0, 0, 0x81, 0, 0, 0}},
        {"SET_ADDRESS", {0x00, 5, 5, 0, 0, 0, 0, 0}},       {"GET_DESCRIPTOR", {0x80, 6, 0, 2, 0, 0, 255, 0}},
        {"GET_CONFIGURATION", {0x80, 8, 0, 0, 0, 0, 1, 0}}, {"SET_CONFIGURATION", {0x00, 9, 1, 0, 0, 0, 0, 0}},
        {"SET_DESCRIPTOR", {0x00, 7, 0, 1, 0, 0, 18, 0}},   {"nobody's", {0x40, 1, 0, 0, 0, 0, 0, 0}},
    };
    Bench bench(seed);
    bench.configure();
    for (const auto &[name, setup] : requests) {
        bench.require(bench.host.begin_control(setup.data()) == UsbResult::done, "no set-up");
        require_answer(bench, std::string("half of ") + name);
        uint8_t packet[64];
        size_t count;
        bench.require(bench.host.begin_control(setup.data()) == UsbResult::done, "no set-up");
        if ((setup[0] & 0x80) != 0)
            bench.require(bench.host.bulk_in(0, packet, count) == UsbResult::done, "no data");
        require_answer(bench, std::string("most of ") + name);
    }
    bench.configure();
    carry(bench, 200);
}

/// Requests of a wrong shape are refused, or nothing comes of them; what is said to them is of the right kind, and the
/// next one is answered.
void a_request_of_a_wrong_shape_harms_nobody()
{
    Bench bench(seed);
    bench.configure();
    for (uint8_t request = 0; request < 14; request++) {
        for (uint8_t type : {0x00, 0x02, 0x80, 0x82}) {
            for (uint8_t length : {0, 1, 18}) {
                if (request == 5 && type < 0x80 && length == 0)
                    continue; // It goes to another address.
                const std::vector<uint8_t> setup = {type, request, 0,      static_cast<uint8_t>(request == 6),
                                                    0,    0,       length, 0};
                std::vector<uint8_t> data;
                const bool asks = (type & 0x80) != 0, gets = request == 0 || request == 6 || request == 8;
                const UsbResult result = bench.request(setup, data);
                bench.require(result != UsbResult::done || (asks == gets && (length != 0) == gets),
                              "a request of a wrong shape is done: " + std::to_string(request));
                require_answer(bench, "request " + std::to_string(request) + ", type " + std::to_string(type) + ", " +
                                          std::to_string(length) + " bytes");
            }
        }
    }
    bench.configure();
    carry(bench, 200);
}

/// Hosts have other endpoints' transactions in the middle of a control transfer.
void what_other_endpoints_do_is_no_answer_to_a_request()
{
    Bench bench(seed);
    bench.configure();
    const std::vector<uint8_t> clear = {0x02, 1, 0, 0, 0x82, 0, 0, 0};
    for (int round = 0; round < 3; round++) {
        std::vector<uint8_t> got;
        uint8_t packet[64];
        size_t count = 1;
        bench.require(bench.host.begin_control(clear.data()) == UsbResult::done, "no set-up");
        bench.wires.to_send.push_back(7);
        bench.rest();
        bench.require(bench.fetch(got, count), "nothing to fetch");
        bench.require(bench.host.bulk_in(0, packet, count) == UsbResult::done && count == 0, "the request has no end");
    }
    bench.require(bench.host.violation() == nullptr, "a rule of the bus is broken");
}

/// A host whose device begins anew, as when its clock fell out of step, sees it go and come.
void who_is_reset_is_not_there()
{
    Bench bench(seed);
    bench.configure();
    carry(bench, 100);
    bench.wires.top.rst = bench.wires.top.usb_rst = 1;
    bench.host.idle(48 * 5);
    bench.require(!bench.wires.top.usb_pullup, "it is there while it is reset");
    bench.wires.top.rst = bench.wires.top.usb_rst = 0;
    bench.host.idle(48 * 5);
    bench.require(bench.wires.top.usb_pullup, "it does not come back");
    bench.configure();
    carry(bench, 100);
}

struct Case {
    const char *name;
    void (*run)();
};

} // namespace

int main(int argc, char **argv)
{
    seed = seed_given(static_cast<uint64_t>(time(nullptr)));
    static const Case cases[] = {
        {"usb_says_what_it_is", says_what_it_is},
        {"usb_bytes_both_ways", bytes_both_ways},
        {"usb_a_burst_ends_with_a_packet_that_is_not_full", a_burst_ends_with_a_packet_that_is_not_full},
        {"usb_a_full_device_refuses", a_full_device_refuses},
        {"usb_disturbed_wires_cost_time_and_nothing_else", disturbed_wires_cost_time_and_nothing_else},
        {"usb_clocks_that_differ_by_a_quarter_of_a_per_cent", clocks_that_differ},
        {"usb_who_begins_anew_begins_with_data0", who_begins_anew_begins_with_data0},
        {"usb_a_cleared_halt_begins_with_data0", a_cleared_halt_begins_with_data0},
        {"usb_who_is_reset_is_not_there", who_is_reset_is_not_there},
        {"usb_a_request_that_is_given_up_is_over", a_request_that_is_given_up_is_over},
        {"usb_a_request_of_a_wrong_shape_harms_nobody", a_request_of_a_wrong_shape_harms_nobody},
        {"usb_what_other_endpoints_do_is_no_answer_to_a_request", what_other_endpoints_do_is_no_answer_to_a_request},
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
