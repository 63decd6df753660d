// SPDX-License-Identifier: Apache-2.0
#include "link_model.h"

#include <algorithm>
#include <cstring>

namespace ferry
{

PacketKind kind_of(uint32_t word0)
{
    const uint32_t type = word0 >> 24 & 0x1f;
    if (type >> 1 == 5) {
        return PacketKind::completion;
    }
    return type >> 3 == 2 || (type == 0 && (word0 >> 30 & 1) != 0) ? PacketKind::posted : PacketKind::request;
}

// ---- PacketQueue ------------------------------------------------------------------------------------------------

PacketQueue::PacketQueue() : slots_(capacity), free_(capacity - 1), order_(capacity), open_(0)
{
    for (uint32_t n = 0; n < capacity - 1; n++) {
        free_[n] = capacity - 1 - n;
    }
}

void PacketQueue::commit()
{
    const uint32_t slot = open_;
    open_ = free_.back();
    free_.pop_back();
    order_[(head_ + count_) % capacity] = slot;
    words_ += slots_[slot].count;
    if (count_++ == 0) {
        next_due_ = slots_[slot].due;
    }
}

void PacketQueue::pop_front()
{
    const uint32_t slot = order_[head_];
    words_ -= slots_[slot].count;
    free_.push_back(slot);
    head_ = (head_ + 1) % capacity;
    count_--;
    refresh();
}

void PacketQueue::bring_forward(uint32_t n)
{
    const uint32_t slot = order_[(head_ + n) % capacity];
    for (; n != 0; n--) {
        order_[(head_ + n) % capacity] = order_[(head_ + n - 1) % capacity];
    }
    order_[head_] = slot;
    refresh();
}

// ---- Flow -------------------------------------------------------------------------------------------------------

Flow::Flow(uint32_t words_per_16, uint32_t credit_words, uint32_t latency)
    : rate_(static_cast<int32_t>(words_per_16)), most_(full_beat + rate_), budget_(0), bounded_(credit_words != 0),
      credits_(static_cast<int32_t>(credit_words)), latency_(latency), returning_(bounded_ ? returns : 0)
{
}

void Flow::freed(uint64_t now, uint32_t words)
{
    if (!bounded_) {
        return;
    }
    if (count_ == returns) {
        // So many returns under way: join the youngest, which only makes these credits a little later.
        Return &youngest = returning_[(head_ + count_ - 1) % returns];
        youngest = {now + latency_, youngest.words + words};
        return;
    }
    returning_[(head_ + count_++) % returns] = {now + latency_, words};
}

void Flow::take_back(uint64_t now)
{
    while (count_ != 0 && returning_[head_].at <= now) {
        credits_ += static_cast<int32_t>(returning_[head_].words);
        head_ = (head_ + 1) % returns;
        count_--;
    }
}

// ---- ToDevice ---------------------------------------------------------------------------------------------------

namespace
{

bool is_completion(const PacketQueue::Packet &packet)
{
    return (packet.words[0] >> 24 & 0x1f) == 0x0a;
}

uint32_t tag_of(const PacketQueue::Packet &packet)
{
    return packet.words[2] >> 8; // Requester and tag.
}

/// Carries an error, or all bytes that the request still waits for.
bool ends_read(const PacketQueue::Packet &packet)
{
    const uint32_t left = packet.words[1] & 0xfff ? packet.words[1] & 0xfff : 4096;
    return is_completion(packet) &&
           ((packet.words[1] >> 13 & 7) != 0 || left + (packet.words[2] & 3) <= 4 * (packet.words[0] & 0x3ff));
}

} // namespace

ToDevice::ToDevice(uint32_t latency, uint32_t words_per_16, uint32_t credit_words, uint32_t reorder_percent)
    : flow_(words_per_16, credit_words, latency), latency_(latency), reorder_percent_(reorder_percent)
{
}

bool ToDevice::send(uint64_t now, const uint32_t *words, size_t count)
{
    if (queue_.full() || count > PacketQueue::packet_words) {
        return false;
    }
    PacketQueue::Packet &packet = queue_.open();
    packet.due = now + latency_;
    packet.count = static_cast<uint32_t>(count);
    std::memcpy(packet.words, words, 4 * count);
    queue_.commit();
    return true;
}

/// A completion may pass completions of other tags (PCIe section 2.4.1, table 2-39, D5b), nothing else here may pass.
void ToDevice::choose(uint64_t now, Random &random)
{
    chosen_ = true;
    if (reorder_percent_ == 0 || queue_.size() < 2 || !is_completion(queue_.at(0))) {
        return;
    }
    const uint64_t draw = random.next();
    if (draw % 100 >= reorder_percent_) {
        return;
    }
    const uint32_t wanted = 1 + static_cast<uint32_t>(draw >> 32) % (window - 1);
    for (uint32_t n = std::min(wanted, queue_.size() - 1); n != 0; n--) {
        bool may_pass = is_completion(queue_.at(n)) && queue_.at(n).due <= now;
        for (uint32_t before = 0; before < n && may_pass; before++) {
            may_pass = is_completion(queue_.at(before)) && tag_of(queue_.at(before)) != tag_of(queue_.at(n));
        }
        if (may_pass) {
            queue_.bring_forward(n);
            return;
        }
    }
}

/// false = only requests are there.
bool ToDevice::pass_requests(uint64_t now)
{
    for (uint32_t n = 0; n < queue_.size() && queue_.at(n).due <= now; n++) {
        if (kind_of(queue_.at(n).words[0]) != PacketKind::request) {
            queue_.bring_forward(n);
            return true;
        }
    }
    return false;
}

uint64_t ToDevice::data() const
{
    const PacketQueue::Packet &packet = queue_.at(0);
    const uint64_t high = sent_ + 1 < packet.count ? packet.words[sent_ + 1] : 0;
    return high << 32 | packet.words[sent_];
}

void ToDevice::taken(uint64_t now)
{
    const uint32_t words = keep() == 1 ? 1 : 2;
    flow_.sent(words);
    flow_.freed(now, words);
    sent_ += words;
    if (sent_ == queue_.at(0).count) {
        reads_answered_ += ends_read(queue_.at(0));
        sent_ = 0;
        chosen_ = false;
        queue_.pop_front();
    }
}

// ---- FromDevice -------------------------------------------------------------------------------------------------

FromDevice::FromDevice(uint32_t latency, uint32_t words_per_16, uint32_t credit_words, bool smallest_credits)
    : flow_(words_per_16, credit_words, latency), latency_(latency), smallest_(smallest_credits)
{
}

bool FromDevice::beat(uint64_t now, uint64_t data, uint32_t keep, bool last)
{
    const uint32_t words = keep == 1 ? 1 : 2;
    if ((keep != 3 && !(keep == 1 && last)) || filled_ + words > PacketQueue::packet_words) {
        return false;
    }
    if (filled_ == 0 && smallest_) {
        uint64_t &free_at = free_at_[static_cast<int>(kind_of(static_cast<uint32_t>(data)))];
        if (free_at > now) {
            return false;
        }
        free_at = PacketQueue::never;
    }
    PacketQueue::Packet &packet = queue_.open();
    packet.words[filled_] = static_cast<uint32_t>(data);
    if (words == 2) {
        packet.words[filled_ + 1] = static_cast<uint32_t>(data >> 32);
    }
    filled_ += words;
    flow_.sent(words);
    if (last) {
        packet.count = filled_;
        packet.due = now + latency_;
        filled_ = 0;
        reads_asked_ += (packet.words[0] & 0xdf000000) == 0; // Memory read, either header length.
        queue_.commit();
    }
    return true;
}

void FromDevice::pop(uint64_t now)
{
    flow_.freed(now, front().count);
    if (smallest_) {
        free_at_[static_cast<int>(kind_of(front().words[0]))] = now + latency_;
    }
    queue_.pop_front();
}

} // namespace ferry
