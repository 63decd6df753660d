// SPDX-License-Identifier: Apache-2.0
#include "bench.h"

#include <stdexcept>

bool is_request(uint32_t word0)
{
    const uint32_t type = word0 >> 24 & 0x1f;
    return type >> 1 != 5 && type >> 3 != 2 && !(type == 0 && (word0 >> 30 & 1) != 0);
}

Packet any_packet(Random &random, unsigned words, bool to_device)
{
    const unsigned kind = words != 0 ? 0 : random.below(4);
    Packet packet;
    if (kind < 2) { // A write, or a completion with data: up to 64 words of payload.
        const bool write = kind == 0;
        const bool four = write && (words != 0 ? words == 68 : random.below(2) != 0);
        const unsigned header = four ? 4 : 3;
        const unsigned payload = words != 0 ? words - header : 1 + random.below(random.below(3) == 0 ? 64 : 4);
        packet.push_back((write ? (four ? 0x60u : 0x40u) : 0x4au) << 24 | payload);
        for (unsigned n = 1; n < header + payload; n++)
            packet.push_back(random.next());
        // Content that stuffing minds: zeros, and none for long.
        const unsigned filler = random.below(6);
        for (unsigned n = header; n < packet.size() && filler < 3; n++)
            packet[n] = filler == 0 ? 0 : filler == 1 ? 0xffffffff : packet[n] & 0x01000100;
    } else if (kind == 2) { // A read.
        const bool four = random.below(2) != 0;
        packet = {(four ? 0x20u : 0u) << 24 | (1 + random.below(64)), random.next(), random.next() & ~3u};
        if (four)
            packet.push_back(random.next() & ~3u);
    } else if (to_device) { // Configuration, or a message, which is a request and wants no answer.
        const unsigned what = random.below(3);
        packet = {what == 0   ? 0x34000000u
                  : what == 1 ? 0x44000001u
                              : 0x04000001u,
                  random.next(), random.next() & 0xffcu};
        if (what < 2)
            packet.push_back(random.next());
    } else { // A completion without data.
        packet = {0x0a000000u, random.next(), random.next()};
    }
    // Nobody has the requester number of the question, which is in word 1 of a request and in word 2 of a completion.
    // In word 2 of a write is its address, and that may begin alike.
    packet[1] &= 0x7fffffff;
    packet[2] &= 0x7fffffff;
    if (kind == 0 && random.below(4) == 0)
        packet[2] |= 0xffff0000;
    return packet;
}

ferry_tunnel_hello question(uint32_t session, uint32_t version)
{
    ferry_tunnel_hello hello = {};
    hello.magic = FERRY_TUNNEL_HELLO_MAGIC_RESET;
    hello.contract_version = version;
    hello.session = session;
    return hello;
}

Bench::Bench(uint64_t seed, uint32_t noise, uint32_t latency) : random(seed)
{
    for (noisy_channel *channel : {&to_device, &to_host}) {
        channel->random = seed * 2 + 1 + (channel == &to_host ? 1000003u : 0u);
        channel->noise = noise;
        channel->latency = latency;
    }
    ferry_frames_start(host.get(), RESEND_TICKS);
    top.rxd = top.echo_rxd = 1;
    top.rst = 1;
    for (int i = 0; i < 8; i++) {
        top.clk = i & 1;
        top.eval();
    }
    top.rst = 0;
}

void Bench::fail(const std::string &why) const
{
    throw std::runtime_error("clock " + std::to_string(now) + ": " + why);
}

// ---- The host ----------------------------------------------------------------------------------------------------

void Bench::byte_time()
{
    uint8_t byte;
    // What is on the line is at most a few bytes long, so that frames are made when they are sent.
    if (to_line.bytes.size() < 3) {
        if (ferry_frames_take(host.get(), &byte, 1) == 1)
            channel_put(&to_device, byte);
        else
            channel_idle(&to_device);
    }
    while (channel_get(&to_device, &byte))
        to_line.bytes.push_back(byte);
    if (!from_line.bytes.empty()) {
        channel_put(&to_host, from_line.bytes.front());
        from_line.bytes.pop_front();
    } else {
        channel_idle(&to_host);
    }
    while (channel_get(&to_host, &byte)) {
        if (!cut_to_host)
            ferry_frames_feed(host.get(), &byte, 1);
        uint32_t head = 0, lost = 0, words[FERRY_FRAME_MAX_WORDS];
        if (ferry_frame_decode(&ear_, byte, &head, words, &lost) == FERRY_FRAME_GOOD) {
            heads.push_back(head);
            if ((head & FERRY_TUNNEL_FRAME_HEAD_CONTROL_MASK) != 0)
                answered.push_back(words[2]);
        }
    }
    ferry_frames_tick(host.get(), 1);

    if (asking && ferry_frames_hello(host.get(), &answer)) {
        asking = false;
        if (!asked.empty() || !out_.empty())
            fail("a hello is answered while requests are not");
        // What was under way is forgotten.
        posted_.clear();
        requests_.clear();
        before_.clear();
        posted_sent_ = posted_seen_ = 0;
    }
    bool control;
    size_t count;
    const uint32_t *words;
    while (host_takes && (words = ferry_frames_receive(host.get(), &control, &count)) != nullptr) {
        if (control)
            fail("the device sends a message");
        const Packet packet(words, words + count);
        const bool expected = !sent_.empty() && packet == sent_.front();
        if (!expected && packet == at_opening_) {
            at_opening_.clear();
            continue;
        }
        if (!expected)
            fail("a packet to the host is lost, new, changed or out of order");
        host_payload += sent_.front().size() == 68 ? 256 : 0;
        sent_.pop_front();
        host_got++;
    }
    while (down != 0 && ferry_frames_open(host.get())) {
        // A host does not ask for more than 16 at once.
        Packet packet = any_packet(random, down_words, true);
        const bool request = is_request(packet[0]);
        if (request && requests_.size() + asked.size() >= 16)
            break;
        if (!ferry_frames_send(host.get(), false, packet.data(), packet.size()))
            break;
        down--;
        if (request) {
            requests_.push_back(packet);
            before_.push_back(posted_sent_);
        } else {
            posted_.push_back(packet);
            posted_sent_++;
        }
    }
}

void Bench::expect(const Packet &packet)
{
    if (is_request(packet[0])) {
        requests_.push_back(packet);
        before_.push_back(posted_sent_);
    } else {
        posted_.push_back(packet);
    }
}

// ---- The device --------------------------------------------------------------------------------------------------

void Bench::device_gets(const Packet &packet)
{
    if (packet[0] == 0x04000001 && packet[1] >> 16 == QUESTION) {
        if (top.session_open)
            fail("the device is asked in the middle of a session");
        questions++;
        asked.push_back(packet);
        return;
    }
    device_got++;
    if (is_request(packet[0]) && packet.size() > 4) {
        if (long_requests.empty() || packet != long_requests.front())
            fail("a packet that is longer than a request is lost, new or changed");
        long_requests.pop_front();
        return;
    }
    if (is_request(packet[0])) {
        if (requests_.empty() || packet != requests_.front())
            fail("a request is lost, new, changed or out of order");
        if (before_.front() > posted_seen_)
            fail("a request passes a write");
        passed += before_.front() < posted_seen_;
        requests_.pop_front();
        before_.pop_front();
        asked.push_back(packet);
        return;
    }
    if (posted_.empty() || packet != posted_.front())
        fail("a write or completion is lost, new, changed or out of order");
    device_payload += packet.size() == 68 ? 256 : 0;
    posted_.pop_front();
    posted_seen_++;
}

void Bench::drive_device()
{
    if (top.rst) {
        top.from_tvalid = 0;
        return;
    }
    // Answers, in the order of the requests.
    if (!asked.empty() && answers && now >= answer_at_) {
        const Packet &ask = asked.front();
        Packet reply = {0x4a000001, 0x00000004, (ask[1] & 0xffffff00u), random.next()};
        if (random.below(4) == 0)
            reply = {0x0a000000, 0x00002004, (ask[1] & 0xffffff00u)};
        out_.push_back(reply);
        asked.pop_front();
        answer_at_ = now + random.below(answer_clocks + 1);
    }
    if (leaving_.empty()) {
        if (!out_.empty() && (stall == 0 || random.below(2) == 0)) {
            leaving_ = out_.front();
            leaving_answers_ = true;
        } else if (up != 0 && (top.session_open || chatty) && random.below(100) >= stall) {
            leaving_ = any_packet(random, up_words, false);
            leaving_answers_ = false;
            up--;
        }
        leaving_at_ = 0;
        if (!leaving_.empty() && top.session_open && !(leaving_answers_ && leaving_[2] >> 16 == QUESTION))
            sent_.push_back(leaving_);
    }
    top.from_tvalid = !leaving_.empty();
    if (!leaving_.empty()) {
        top.from_tdata = leaving_[leaving_at_];
        top.from_tlast = leaving_at_ + 1 == leaving_.size();
    }
    top.to_tready = takes && random.below(100) >= stall;
    top.request_ok = has_room && asked.size() < 6;
}

void Bench::device_takes()
{
    if (top.rst)
        return;
    if (was_open_ && !top.session_open)
        sent_.clear(); // Whoever it was for is gone.
    // It may have been a cycle earlier or later than the session.
    if (!was_open_ && top.session_open)
        at_opening_ = leaving_answers_ || leaving_at_ != 0 ? Packet() : leaving_;
    was_open_ = top.session_open;
    if (shown_ && (!top.to_tvalid || top.to_tdata != shown_word_ || top.to_tlast != shown_last_))
        fail("a word changed before it was taken");
    shown_ = top.to_tvalid && !top.to_tready;
    shown_word_ = top.to_tdata;
    shown_last_ = top.to_tlast;
    if (top.to_tvalid && coming_.empty() && is_request(top.to_tdata) && asked.size() >= 8)
        fail("more requests than there is room for");
    if (top.to_tvalid && top.to_tready) {
        coming_.push_back(top.to_tdata);
        if (top.to_tlast) {
            device_gets(coming_);
            coming_.clear();
        }
    }
    if (top.from_tvalid && top.from_tready && ++leaving_at_ == leaving_.size()) {
        if (leaving_answers_)
            out_.pop_front();
        leaving_.clear();
    }
    if (top.overrun)
        fail("a byte came before the one before it was taken in");
}

void Bench::clock()
{
    top.rxd = to_line.level(now);
    drive_device();
    top.clk = 0;
    top.eval();
    device_takes();
    from_line.see(now, top.txd);
    if (now % BYTE == 0)
        byte_time();
    top.clk = 1;
    top.eval();
    now++;
}

void Bench::clocks(uint64_t n)
{
    while (n-- != 0)
        clock();
}

void Bench::ask(uint32_t session)
{
    const ferry_tunnel_hello hello = question(session);
    ferry_frames_ask(host.get(), &hello);
    asking = true;
}

void Bench::restart(unsigned reset_clocks)
{
    top.rst = 1;
    for (; reset_clocks != 0; reset_clocks--)
        clock();
    top.rst = 0;
    // What is on its way from the device may arrive; nothing else of that session's may, at either end.
    for (std::deque<Packet> *one : {&asked, &out_, &posted_, &requests_})
        one->clear();
    for (Packet *one : {&coming_, &leaving_, &at_opening_})
        one->clear();
    before_.clear();
    up = down = 0;
    shown_ = was_open_ = leaving_answers_ = false;
}

ferry_tunnel_hello Bench::open(uint32_t session, uint64_t limit)
{
    ask(session);
    sent_.clear();
    for (const uint64_t end = now + limit; asking; clock())
        if (now >= end)
            fail("no answer to a hello");
    if (answer.session != session)
        fail("an answer to another hello");
    return answer;
}

void Bench::carry(unsigned words, unsigned to_the_device, unsigned to_the_host, uint64_t limit)
{
    const uint64_t got = device_got + to_the_device;
    down += to_the_device;
    up += to_the_host;
    down_words = up_words = words;
    for (const uint64_t end = now + limit; down != 0 || up != 0 || device_got < got || !sent_.empty() || !asked.empty();
         clock())
        if (now >= end)
            fail("packets do not arrive");
}

void Bench::settle(uint64_t limit)
{
    for (const uint64_t end = now + limit; top.busy || ferry_frames_queued(host.get()) != 0 || !to_line.bytes.empty();
         clock())
        if (now >= end)
            fail("it does not come to rest");
}

// ---- For the cases -----------------------------------------------------------------------------------------------

uint64_t seed;

/// A frame as bytes, from the C end's encoder.
std::vector<uint8_t> frame(uint32_t head, const std::vector<uint32_t> &words)
{
    std::vector<uint8_t> bytes(FERRY_FRAME_BYTES);
    bytes.resize(ferry_frame_encode(head | (uint32_t)words.size(), words.data(), words.size(), bytes.data()));
    return bytes;
}

std::vector<uint8_t> stuffed(const std::vector<uint8_t> &plain)
{
    std::vector<uint8_t> bytes;
    for (size_t at = 0; at <= plain.size();) {
        size_t end = at;
        while (end < plain.size() && plain[end] != 0)
            end++;
        if (end - at > 253)
            throw std::logic_error("no zero in time");
        bytes.push_back((uint8_t)(end - at + 1));
        bytes.insert(bytes.end(), plain.begin() + (long)at, plain.begin() + (long)end);
        at = end + 1;
    }
    bytes.push_back(0);
    return bytes;
}

void put(Bench &bench, const std::vector<uint8_t> &bytes)
{
    for (uint8_t byte : bytes)
        bench.to_line.bytes.push_back(byte);
    while (!bench.to_line.bytes.empty())
        bench.clock();
    bench.clocks(2 * BYTE);
}

void require(const Bench &bench, bool holds, const char *what)
{
    if (!holds)
        bench.fail(what);
}
