// SPDX-License-Identifier: Apache-2.0
// The port that page tables are read by: it stays behind no data of the host port, has a tag of its own, and what the
// host does not answer ends in an error.
#include "cases.h"

static const unsigned LINE_TAG = 31;

// Reads of both ports, which live as long as the case.
struct Lines {
    std::deque<AxiRead> reads;

    AxiRead &line(Bench &b, uint64_t address, unsigned beats, bool no_snoop = false)
    {
        reads.push_back({address, beats, 0, no_snoop, {}, {}, false});
        b.line_queue.push_back(&reads.back());
        return reads.back();
    }
    AxiRead &bulk(Bench &b, uint64_t address, unsigned beats)
    {
        reads.push_back({address, beats, b.random(4), false, {}, {}, false});
        b.read_queue.push_back(&reads.back());
        return reads.back();
    }
};

static void check_failed(Bench &b, const AxiRead &r)
{
    EXPECT(b, "served", r.done, 1);
    for (uint8_t fault : r.faults)
        EXPECT(b, "response", fault, 2);
    for (uint64_t word : r.data)
        EXPECT(b, "data of an error", word, 0);
}

static uint64_t random_line(Bench &b)
{
    return (b.chance(50) ? b.random(1 << 20) : b.generator() >> 12) << 12 | 64 * b.random(64);
}

// From each of the eight words of 64 bytes on, so many as there are behind it.
static AxiRead &random_read(Bench &b, Lines &lines)
{
    unsigned first = b.random(8);
    return lines.line(b, random_line(b) + 8 * first, 1 + b.random(8 - first), b.chance(30));
}

// Beside all that the host port reads, with its completions split and in any order.
static void lines_read_beside_the_host_port(Bench &b)
{
    for (unsigned request : {128, 512})
        for (unsigned boundary : {64, 128}) {
            Lines lines;
            b.configure(256, request, boundary);
            stalls(b, b.random(2) * 25);
            b.latency = b.random(2) * 300;
            for (int i = 0; i < 300; i++) {
                random_read(b, lines);
                if (b.chance(50)) {
                    unsigned beats = 1 + b.random(b.chance(50) ? 8 : 256);
                    lines.bulk(b, random_line(b) / 4096 * 4096 + 8 * b.random(513 - beats), beats);
                }
            }
            b.settle(600000);
            for (auto &r : lines.reads)
                check_data(b, r);
        }
    EXPECT(b, "unexpected", b.counts.unexpected + b.counts.malformed, 0);
}

// The host port's data is not taken, whose tags are all in use: who would take it waits for a table.
static void lines_stay_behind_no_data(Bench &b)
{
    b.configure(256, 512, 64);
    Lines bulk;
    b.full = true;
    b.answer = false;
    for (int i = 0; i < 12; i++)
        bulk.bulk(b, 0x100000 + 0x1000 * i, 256);
    b.run(1000);
    EXPECT(b, "requests", b.reads.size(), 31);
    b.answer = true;
    b.run(6000);
    EXPECT(b, "requests", b.reads.size(), 0);
    for (int round = 0; round < 20; round++) {
        Lines lines;
        AxiRead &r = random_read(b, lines);
        b.run(400);
        check_data(b, r);
    }
    b.full = false;
    b.settle(20000);
    for (auto &r : bulk.reads)
        check_data(b, r);
}

// Of the two requests that stand in front of the link, and whatever credits do meanwhile.
static void lines_go_by_their_own_tag_and_attribute(Bench &b)
{
    b.configure(256, 512, 64);
    b.config_write(0x48, b.config_read(0x48) | 0x800);
    b.answer = false;
    for (unsigned no_snoop = 0; no_snoop < 2; no_snoop++) {
        Lines lines;
        b.withheld[REQUEST] = true;
        lines.bulk(b, 0x5000, 3);
        b.run(30);
        AxiRead &r = lines.line(b, 0x7008, 2, no_snoop);
        b.run(30);
        b.withheld[REQUEST] = false;
        b.run(60);
        EXPECT(b, "requests", b.reads.size(), 2);
        for (auto &request : b.reads) {
            bool line = request.address == 0x7008;
            EXPECT(b, "tag", request.tag == LINE_TAG, line);
            EXPECT(b, "bytes", request.bytes, line ? 16 : 24);
            if (line)
                EXPECT(b, "no snoop", request.no_snoop, no_snoop);
        }
        b.answer = true;
        b.settle();
        check_data(b, r);
        b.answer = false;
    }
}

// Refused, aborted, poisoned, lost: an error and no data, and the next is served; but while the tag is late it fails at
// once.
static void lines_that_fail(Bench &b)
{
    b.configure(256, 512, 64);
    b.top->completion_timeout = 2000;
    for (Treatment treatment : {UNSUPPORTED, ABORT, POISON}) {
        Lines lines;
        b.treatments[0x80] = treatment;
        AxiRead &bad = lines.line(b, 0x80010, 4), &good = lines.line(b, 0x90010, 4);
        b.settle();
        check_failed(b, bad);
        check_data(b, good);
    }
    Lines lines;
    b.treatments[0x80] = LATE;
    AxiRead &bad = lines.line(b, 0x80000, 8);
    b.settle(20000);
    check_failed(b, bad);
    uint64_t requests = b.read_requests;
    AxiRead &next = lines.line(b, 0x90000, 8);
    b.run(60);
    check_failed(b, next);
    EXPECT(b, "requests", b.read_requests, requests);
    // Its answer comes after all.
    for (auto &k : b.kept) {
        k.treatment = ANSWER;
        k.due = 0;
        b.reads.push_back(k);
    }
    b.kept.clear();
    b.settle();
    AxiRead &then = lines.line(b, 0x90000, 8);
    b.settle();
    check_data(b, then);
}

static void lines_wait_for_bus_master(Bench &b)
{
    b.configure(256, 512, 64);
    b.config_write(0x04, 2);
    Lines lines;
    AxiRead &r = lines.line(b, 0x7000, 8);
    b.run(500);
    EXPECT(b, "requests", b.reads.size(), 0);
    EXPECT(b, "served", r.done, 0);
    EXPECT(b, "idle", b.top->requester_idle, 0);
    b.config_write(0x04, 6);
    b.settle();
    check_data(b, r);
}

// A function reset ends what waits, sent or not, with an error; the host port is idle only then.
static void lines_end_with_a_function_reset(Bench &b)
{
    for (unsigned sent = 0; sent < 2; sent++) {
        Lines lines;
        b.configure(256, 512, 64);
        b.answer = false;
        b.withheld[REQUEST] = !sent;
        b.top->at_rest = 0;
        AxiRead &r = lines.line(b, 0x7000, 8);
        b.run(60);
        EXPECT(b, "requests", b.reads.size(), sent);
        b.config_write(0x48, 0x8000);
        b.withheld[REQUEST] = false;
        b.run(300);
        check_failed(b, r);
        EXPECT(b, "requests", b.reads.size(), sent);
        EXPECT(b, "idle", b.top->requester_idle, 1);
        b.top->at_rest = 7;
        b.run(20);
        b.answer = true;
        b.settle();
        b.configure(256, 512, 64);
        AxiRead &again = lines.line(b, 0x7000, 8);
        b.settle();
        check_data(b, again);
    }
}

// Nor is the host asked afterwards for what stood behind that, or came in the last cycle; and the reset does not wait
// until somebody takes the errors.
static void lines_of_before_a_function_reset_are_not_asked_for(Bench &b)
{
    for (unsigned round = 0; round < 24; round++) {
        Lines lines;
        b.configure(256, 512, 64);
        b.withheld[REQUEST] = true;
        AxiRead &first = lines.line(b, 0x7000, 1 + b.random(8));
        if (round % 3)
            lines.line(b, 0x8000, 8);
        b.run(60);
        const uint64_t requests = b.read_requests;
        b.lines_full = round % 3 == 2;
        b.top->at_rest = 0;
        b.config_write(0x48, 0x8000);
        b.run(b.random(40) + 40);
        if (!(round % 3))
            lines.line(b, 0x8000, 8);
        b.top->at_rest = 7;
        b.run(20);
        EXPECT(b, "still resetting", b.top->function_resetting, 0);
        EXPECT(b, "transactions pending", b.config_read(0x48) >> 21 & 1, 0);
        b.withheld[REQUEST] = b.lines_full = false;
        b.configure(256, 512, 64);
        b.settle();
        check_failed(b, first);
        check_failed(b, lines.reads.back());
        EXPECT(b, "requests", b.read_requests, requests);
        AxiRead &again = lines.line(b, 0x7000, 8);
        b.settle();
        check_data(b, again);
    }
}

// So many reads that the host does not answer that nearly all tags wait; what is answered for them later.
static void lose_reads(Bench &b, Lines &lines)
{
    b.treatments[0x40] = LOSE;
    for (unsigned i = 0; i < LINE_TAG; i++)
        lines.bulk(b, 0x40000 + 64 * i, 1);
    for (unsigned i = 0; i < 2000 && b.kept.size() < LINE_TAG; i++)
        b.tick();
    EXPECT(b, "reads that wait", b.kept.size(), LINE_TAG);
}

static void answer_late(Bench &b)
{
    for (auto &read : b.kept) {
        read.treatment = ANSWER;
        read.due = 0;
        b.reads.push_back(read);
    }
    b.kept.clear();
    b.treatments.clear();
    b.settle();
}

// Nearly all tags time out together, and are let go one a cycle. What the host answers at once meanwhile is no less
// answered.
static void lines_answered_as_others_time_out(Bench &b)
{
    b.configure(256, 512, 64);
    b.top->completion_timeout = 4000;
    for (unsigned round = 0; round < 8; round++) {
        Lines lines;
        lose_reads(b, lines);
        const AxiRead &last = lines.reads.back();
        for (unsigned more = 0; more < 8;) {
            AxiRead &r = lines.line(b, 0x7000 + 8 * b.random(8), 1);
            for (unsigned i = 0; i < 300 && !r.done; i++)
                b.tick();
            check_data(b, r);
            b.run(b.random(4));
            more += last.done;
        }
        answer_late(b);
    }
}

// Tags are looked at in turn, but not while a request takes its own: requests in time with that do not hide those that
// time out.
static void lines_hide_no_time_out(Bench &b)
{
    b.configure(256, 512, 64);
    b.top->completion_timeout = 2000;
    Lines lines;
    lose_reads(b, lines);
    for (unsigned i = 0; i < 200; i++) {
        lines.line(b, 0x7000, 1);
        b.run(16);
    }
    for (auto &read : lines.reads)
        EXPECT(b, "served", read.done, 1);
    answer_late(b);
}

// In a function reset they are let go too. The tag of a read that was sent as it began, and answered at once, is free
// for the next driver's tables.
static void lines_answered_as_a_function_reset_begins(Bench &b)
{
    for (unsigned round = 0; round < 200; round++) {
        Lines lines;
        b.configure(256, 512, 64);
        lose_reads(b, lines);
        b.run(b.random(32));
        b.send({0x44000001, 0x0000aa0f, uint32_t(b.device_id) << 16 | 0x48, 0x8000});
        b.run(round % 8);
        AxiRead &r = lines.line(b, 0x7000, 1);
        b.run(400);
        EXPECT(b, "served", r.done, 1);
        EXPECT(b, "still resetting", b.top->function_resetting, 0);
        b.completions.clear();
        b.configure(256, 512, 64);
        AxiRead &again = lines.line(b, 0x7000, 8);
        for (unsigned i = 0; i < 300 && !again.done; i++)
            b.tick();
        check_data(b, again);
        answer_late(b);
    }
}

// What the host answers while one goes on is an error, though it comes before the tag is let go: it is what a driver
// asked for that has gone.
static void lines_answered_amid_a_function_reset(Bench &b)
{
    for (unsigned round = 0; round < 64; round++) {
        Lines lines;
        b.configure(256, 512, 64);
        b.answer = false;
        AxiRead &r = lines.line(b, 0x7000, 8);
        b.run(60 + b.random(32));
        EXPECT(b, "requests", b.reads.size(), 1);
        b.top->at_rest = 0;
        b.send({0x44000001, 0x0000aa0f, uint32_t(b.device_id) << 16 | 0x48, 0x8000});
        for (unsigned i = 0; i < 200 && !b.top->function_resetting; i++)
            b.tick();
        b.answer = true;
        b.run(300);
        check_failed(b, r);
        b.top->at_rest = 7;
        b.run(20);
        b.completions.clear();
        b.settle();
    }
}

const Case line_cases[] = {
    {"lines_read_beside_the_host_port", lines_read_beside_the_host_port},
    {"lines_stay_behind_no_data", lines_stay_behind_no_data},
    {"lines_go_by_their_own_tag_and_attribute", lines_go_by_their_own_tag_and_attribute},
    {"lines_that_fail", lines_that_fail},
    {"lines_wait_for_bus_master", lines_wait_for_bus_master},
    {"lines_end_with_a_function_reset", lines_end_with_a_function_reset},
    {"lines_of_before_a_function_reset_are_not_asked_for", lines_of_before_a_function_reset_are_not_asked_for},
    {"lines_answered_as_others_time_out", lines_answered_as_others_time_out},
    {"lines_hide_no_time_out", lines_hide_no_time_out},
    {"lines_answered_as_a_function_reset_begins", lines_answered_as_a_function_reset_begins},
    {"lines_answered_amid_a_function_reset", lines_answered_amid_a_function_reset},
    {nullptr, nullptr},
};
