// SPDX-License-Identifier: Apache-2.0
// The root complex: serves the device's requests from host memory by the rules of the PCI Express base specification,
// and sends the host's own.
#include "bench.h"

std::vector<uint32_t> random_words(Bench &bench, unsigned words)
{
    std::vector<uint32_t> data;
    while (words--)
        data.push_back(uint32_t(bench.generator()));
    return data;
}

void Bench::check_request_enables(const char *what, unsigned words, unsigned first, unsigned last, bool odd)
{
    static const bool from_top[16] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1};
    static const bool from_bottom[16] = {0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1};
    if (words == 1) {
        if (last)
            fail("%s: one word with last enables %x", what, last);
    } else if (!first || !last) {
        fail("%s: empty enables %x %x", what, first, last);
    } else if (!(words == 2 && !odd) && (!from_top[first] || !from_bottom[last])) {
        fail("%s: %u words with holes %x %x", what, words, first, last);
    }
}

void Bench::root_receive(const Packet &packet)
{
    if (packet.size() < 3) {
        fail("packet of %zu words", packet.size());
        return;
    }
    uint32_t w0 = packet[0], w1 = packet[1];
    unsigned format = w0 >> 29, type = w0 >> 24 & 31;
    unsigned words = (w0 & 1023) ? w0 & 1023 : 1024;
    bool four = format & 1, data = format & 2;
    size_t header = four ? 4 : 3;
    if (packet.size() != header + (data ? words : 0)) {
        fail("packet of %zu words with header %08x", packet.size(), w0);
        return;
    }
    if (data && words * 4 > payload)
        fail("payload of %u words", words);
    // Of the first word only answers have a class and attributes, which are those of their requests; writes and reads
    // may have No Snoop.
    const uint32_t free = type == 10 || type == 11 ? 0x00743000 : type == 0 ? 0x00001000 : 0;
    if (w0 & 0x00fffc00 & ~free)
        fail("header %08x", w0);
    if (type == 10 || type == 11) {
        Completion c;
        c.completer = uint16_t(w1 >> 16);
        c.status = w1 >> 13 & 7;
        c.byte_count = w1 & 4095;
        c.requester = uint16_t(packet[2] >> 16);
        c.tag = packet[2] >> 8 & 255;
        c.lower = packet[2] & 127;
        c.has_data = data;
        c.locked = type == 11;
        c.traffic_class = w0 >> 20 & 7;
        c.attributes = uint8_t((w0 >> 18 & 1) << 2 | (w0 >> 12 & 3));
        c.data.assign(packet.begin() + 3, packet.end());
        if (c.completer != device_id)
            fail("completion from %04x", c.completer);
        if (!data && words != 1 && (w0 & 1023) != 0)
            fail("completion without data of length %u", words);
        completions.push_back(c);
        return;
    }
    if (type >> 3 == 2) {
        if (type != 0x10 || !four || data || w1 >> 16 != device_id || packet[2] || packet[3])
            fail("message %08x %08x", w0, w1);
        messages.push_back(uint8_t(w1));
        return;
    }
    if (type != 0) {
        fail("packet type %02x", w0 >> 24);
        return;
    }
    uint64_t address = four ? uint64_t(packet[2]) << 32 | packet[3] : packet[2];
    if (four && !packet[2])
        fail("four header words for address %llx", (unsigned long long)address);
    if (address & 3)
        fail("address %llx", (unsigned long long)address);
    if ((address & 4095) + words * 4 > 4096)
        fail("%llx + %u words crosses 4 KiB", (unsigned long long)address, words);
    if (w1 >> 16 != device_id)
        fail("request from %04x", w1 >> 16);
    unsigned first = w1 & 15, last = w1 >> 4 & 15;
    if (data) {
        check_request_enables("write", words, first, last, address & 4);
        PostedWrite w;
        w.address = address;
        w.first_enable = uint8_t(first);
        w.last_enable = uint8_t(last);
        w.no_snoop = w0 >> 12 & 1;
        w.tag = uint8_t(w1 >> 8);
        w.cycle = cycle;
        w.data.assign(packet.begin() + header, packet.end());
        for (unsigned i = 0; i < words; i++) {
            unsigned enable = i == 0 ? first : i + 1 == words ? last : 15;
            for (int b = 0; b < 4; b++)
                if (enable >> b & 1)
                    host.put(address + 4 * i + b, uint8_t(w.data[i] >> 8 * b));
        }
        if (log_posted)
            posted.push_back(w);
        return;
    }
    check_request_enables("read", words, first, last, address & 4);
    if (first != 15 || last != 15)
        fail("read of whole beats with enables %x %x", first, last);
    if (words * 4 > read_request)
        fail("read request of %u words", words);
    HostRead r;
    r.tag = w1 >> 8 & 255;
    r.address = address;
    r.bytes = words * 4;
    r.due = cycle + latency;
    r.started = false;
    r.no_snoop = w0 >> 12 & 1;
    auto at = treatments.find(address >> 12);
    r.treatment = at != treatments.end() ? at->second : ANSWER;
    for (auto *list : {&reads, &kept})
        for (size_t i = 0; impostors && i < list->size(); i++)
            if ((*list)[i].tag == r.tag)
                list->erase(list->begin() + long(i--));
    for (auto &other : reads)
        if (other.tag == r.tag)
            fail("tag %u used twice", r.tag);
    for (auto &other : kept)
        if (other.tag == r.tag)
            fail("tag %u used again before its late completion", r.tag);
    read_requests++;
    if (r.treatment == LOSE || r.treatment == LATE)
        kept.push_back(r);
    else
        reads.push_back(r);
    if (reads.size() > max_outstanding)
        max_outstanding = unsigned(reads.size());
}

// Send one completion for some waiting read, when there is little in the outbox already.
void Bench::root_answer()
{
    if (!answer || reads.empty())
        return;
    unsigned answers = 0;
    for (auto &packet : outbox)
        answers += kind_of(packet[0]) == REPLY;
    if (answers >= 2)
        return;
    size_t pick = shuffle ? random(unsigned(reads.size())) : 0;
    HostRead &r = reads[pick];
    if (r.due > cycle)
        return;
    uint32_t status = r.treatment == UNSUPPORTED ? 1 : r.treatment == ABORT ? 4 : 0;
    if (status && (!shuffle || r.bytes <= boundary || chance(50))) {
        outbox.push_back({0x0a000000u, uint32_t(0x0100) << 16 | status << 13 | (r.bytes & 4095),
                          uint32_t(device_id) << 16 | uint32_t(r.tag) << 8 | uint32_t(r.address & 127)});
        reads.erase(reads.begin() + pick);
        return;
    }
    // Up to some multiple of the read completion boundary, at most the maximum payload.
    uint32_t most = payload - (r.address & (boundary - 1));
    uint32_t part = r.bytes;
    if (part > most)
        part = most;
    if (shuffle && r.bytes > boundary - (r.address & (boundary - 1))) {
        uint32_t smaller = boundary * (1 + random(payload / boundary)) - (r.address & (boundary - 1));
        if (smaller < part)
            part = smaller;
    }
    // A request that ends in an error does not get all of its data before.
    if (status && part == r.bytes)
        part = boundary - (r.address & (boundary - 1));
    Packet packet = {0x4a000000u | (r.treatment == POISON && (part == r.bytes || chance(50)) ? 0x4000u : 0) | part / 4,
                     uint32_t(0x0100) << 16 | (r.bytes & 4095),
                     uint32_t(device_id) << 16 | uint32_t(r.tag) << 8 | uint32_t(r.address & 127)};
    for (uint32_t i = 0; i < part; i += 4)
        packet.push_back(host.word(r.address + i));
    outbox.push_back(packet);
    r.started = true;
    r.address += part;
    r.bytes -= part;
    if (!r.bytes)
        reads.erase(reads.begin() + pick);
}

void Bench::send(const Packet &packet)
{
    outbox.push_back(packet);
}

Packet Bench::memory_request(bool write, uint64_t address, unsigned words, unsigned first, unsigned last,
                             const std::vector<uint32_t> &data, uint8_t tag, int four)
{
    bool long_header = four < 0 ? address >> 32 != 0 : four;
    Packet packet = {(write ? 0x40000000u : 0) | (long_header ? 0x20000000u : 0) | (words & 1023),
                     uint32_t(0x0008) << 16 | uint32_t(tag) << 8 | last << 4 | first};
    if (long_header)
        packet.push_back(uint32_t(address >> 32));
    packet.push_back(uint32_t(address));
    packet.insert(packet.end(), data.begin(), data.end());
    return packet;
}

std::vector<Completion> Bench::collect(uint8_t tag, unsigned limit)
{
    std::vector<Completion> got;
    while (limit--) {
        while (!completions.empty()) {
            Completion c = completions.front();
            completions.pop_front();
            if (c.requester != 0x0008 || c.tag != tag)
                fail("completion for %04x tag %u", c.requester, c.tag);
            got.push_back(c);
            if (c.status || !c.has_data || c.data.size() * 4 - (c.lower & 3) >= (c.byte_count ? c.byte_count : 4096u))
                return got;
        }
        tick();
    }
    fail("no completion for tag %u", tag);
    return got;
}

bool Bench::read_bytes(uint64_t address, unsigned words, unsigned first, unsigned last, std::vector<uint32_t> &data,
                       uint8_t &status, int four)
{
    uint8_t tag = next_tag_++;
    send(memory_request(false, address, words, first, last, {}, tag, four));
    std::vector<Completion> got = collect(tag, 20000);
    data.clear();
    // The bytes from the first to the last enabled one (2.3.1.1), one when there is none.
    uint64_t begin = address, end = address + 4 * words;
    unsigned tail = words == 1 ? first : last;
    if (first) {
        while (!(first >> (begin - address) & 1))
            begin++;
        while (!(tail >> ((end - 1) & 3) & 1))
            end--;
    } else {
        end = begin + 1;
    }
    for (auto &c : got) {
        status = c.status;
        if (c.byte_count != ((end - begin) & 4095))
            fail("read %llx + %u words %x %x: byte count %u, expected %llu", (unsigned long long)address, words, first,
                 last, c.byte_count, (unsigned long long)(end - begin));
        if (c.lower != (begin & 127))
            fail("lower address %x for %llx", c.lower, (unsigned long long)begin);
        if (c.status)
            return true;
        uint64_t at = begin & ~3ull, next = at + 4 * c.data.size();
        data.insert(data.end(), c.data.begin(), c.data.end());
        if (next < end && (next & 127))
            fail("completion ends at %llx", (unsigned long long)next);
        begin = next;
    }
    if (data.size() != words)
        fail("read of %u words brought %zu", words, data.size());
    return !got.empty();
}

uint32_t Bench::config_read(unsigned reg)
{
    uint8_t tag = next_tag_++;
    send({0x04000001, 0x00080000u | uint32_t(tag) << 8 | 15, uint32_t(0x0300) << 16 | reg});
    auto got = collect(tag);
    if (got.size() != 1 || got[0].status || got[0].data.size() != 1 || got[0].byte_count != 4 || got[0].lower) {
        fail("configuration read of %x", reg);
        return 0;
    }
    return got[0].data[0];
}

void Bench::config_write(unsigned reg, uint32_t value, unsigned enable)
{
    uint8_t tag = next_tag_++;
    device_id = 0x0300;
    send({0x44000001, 0x00080000u | uint32_t(tag) << 8 | enable, uint32_t(0x0300) << 16 | reg, value});
    auto got = collect(tag);
    if (got.size() != 1 || got[0].status || got[0].has_data || got[0].byte_count != 4)
        fail("configuration write of %x", reg);
}

void Bench::configure(unsigned new_payload, unsigned new_read, unsigned new_boundary)
{
    payload = new_payload;
    read_request = new_read;
    boundary = new_boundary;
    config_write(0x10, bar0);
    config_write(0x18, uint32_t(bar2));
    config_write(0x1c, uint32_t(bar2 >> 32));
    config_write(0x48, (new_payload == 256 ? 0x20 : 0) | 0x800 |
                           (new_read == 512   ? 0x2000
                            : new_read == 256 ? 0x1000
                                              : 0));
    config_write(0x50, new_boundary == 128 ? 8 : 0);
    config_write(0x04, 6);
}
