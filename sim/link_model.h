// SPDX-License-Identifier: Apache-2.0
// One direction of the link as a queue of packets: latency, bandwidth, credits. The direction to the device may let
// completions overtake each other, as a memory system does, and lets the rest pass requests that the device holds back.
#ifndef FERRY_SIM_LINK_MODEL_H
#define FERRY_SIM_LINK_MODEL_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "random.h"

namespace ferry
{

/// Packets in order, each with the cycle from which it may leave. Slots are reused last in, first out, so that a short
/// queue stays in few cache lines.
class PacketQueue
{
  public:
    static constexpr uint32_t packet_words = 72;
    static constexpr uint32_t capacity = 4096;
    static constexpr uint64_t never = UINT64_MAX;

    struct Packet {
        uint64_t due;
        uint32_t count;
        uint32_t words[packet_words];
    };

    PacketQueue();
    bool full() const { return count_ == capacity - 1; }
    uint32_t size() const { return count_; }
    size_t words() const { return words_; }
    /// The slot to fill, the same one until commit() puts it into the queue.
    Packet &open() { return slots_[open_]; }
    void commit();
    /// Packet number n from the front.
    const Packet &at(uint32_t n) const { return slots_[order_[(head_ + n) % capacity]]; }
    /// When the front packet may leave; never when there is none.
    uint64_t next_due() const { return next_due_; }
    void pop_front();
    /// Move packet n to the front; those before it keep their order.
    void bring_forward(uint32_t n);

  private:
    void refresh() { next_due_ = count_ == 0 ? never : at(0).due; }

    std::vector<Packet> slots_;
    std::vector<uint32_t> free_, order_;
    uint32_t open_;
    uint32_t head_ = 0, count_ = 0;
    size_t words_ = 0;
    uint64_t next_due_ = never;
};

/// What the ordering and credit rules of PCI Express tell apart.
enum class PacketKind { posted, request, completion };
PacketKind kind_of(uint32_t word0);

/// Words a cycle, and words under way: what lets a beat go.
class Flow
{
  public:
    /// words_per_16 1 to 32; credit_words 0 = no bound, else the words the far end has room for.
    Flow(uint32_t words_per_16, uint32_t credit_words, uint32_t latency);
    /// Start of a cycle: bandwidth accrues, credits that have come back are added.
    void tick(uint64_t now)
    {
        budget_ += rate_;
        budget_ = budget_ > most_ ? most_ : budget_;
        if (bounded_) {
            take_back(now);
        }
    }
    bool may_send() const { return budget_ >= full_beat && (!bounded_ || credits_ >= 2); }
    void sent(uint32_t words)
    {
        budget_ -= static_cast<int32_t>(16 * words);
        credits_ -= bounded_ ? static_cast<int32_t>(words) : 0;
    }
    /// The far end has taken `words`; the credits are back a latency later.
    void freed(uint64_t now, uint32_t words);

  private:
    static constexpr int32_t full_beat = 32; // Two words, in sixteenths.
    static constexpr uint32_t returns = 1024;

    struct Return {
        uint64_t at;
        uint32_t words;
    };
    void take_back(uint64_t now);

    int32_t rate_, most_, budget_;
    bool bounded_;
    int32_t credits_;
    uint32_t latency_;
    std::vector<Return> returning_;
    uint32_t head_ = 0, count_ = 0;
};

/// Host to device: beats of 64 bits for s_axis_tlp.
class ToDevice
{
  public:
    ToDevice(uint32_t latency, uint32_t words_per_16, uint32_t credit_words, uint32_t reorder_percent);
    /// false = no room.
    bool send(uint64_t now, const uint32_t *words, size_t count);
    size_t words() const { return queue_.words() - sent_; }
    /// Start of a cycle.
    void tick(uint64_t now) { flow_.tick(now); }
    /// A beat is there. `random` decides who overtakes whom at the start of a packet; without `request_ok` a packet
    /// that wants an answer is held back, and the first that does not want one passes it.
    bool valid(uint64_t now, Random &random, bool request_ok = true)
    {
        if (sent_ == 0 && queue_.next_due() <= now && !chosen_) {
            choose(now, random);
        }
        if (!request_ok && sent_ == 0 && queue_.next_due() <= now && !pass_requests(now)) {
            return false;
        }
        return queue_.next_due() <= now && flow_.may_send();
    }
    uint64_t data() const;
    uint32_t keep() const { return queue_.at(0).count - sent_ == 1 ? 1 : 3; }
    bool last() const { return queue_.at(0).count - sent_ <= 2; }
    void taken(uint64_t now);
    /// Completions that were the last of their request, delivered so far.
    uint64_t reads_answered() const { return reads_answered_; }

  private:
    static constexpr uint32_t window = 8; // Completions that may be passed at once.
    void choose(uint64_t now, Random &random);
    bool pass_requests(uint64_t now);

    PacketQueue queue_;
    Flow flow_;
    uint32_t latency_, reorder_percent_;
    uint64_t reads_answered_ = 0;
    uint32_t sent_ = 0; // Words of the front packet that are gone.
    bool chosen_ = false;
};

/// Device to host: takes beats of m_axis_tlp.
class FromDevice
{
  public:
    /// smallest_credits: one packet of each kind is under way or waits at the far end; its credits come back a latency
    /// after pop().
    FromDevice(uint32_t latency, uint32_t words_per_16, uint32_t credit_words, bool smallest_credits = false);
    void tick(uint64_t now)
    {
        flow_.tick(now);
        now_ = now;
    }
    /// The far end has room for a packet of that kind.
    bool room(PacketKind kind) const { return !smallest_ || free_at_[static_cast<int>(kind)] <= now_; }
    bool ready() const { return flow_.may_send() && !queue_.full(); }
    /// false = a packet longer than the link carries, a beat with a hole, or a packet without a credit.
    bool beat(uint64_t now, uint64_t data, uint32_t keep, bool last);
    uint64_t next_due() const { return queue_.next_due(); }
    /// The front packet; pop() drops it.
    const PacketQueue::Packet &front() const { return queue_.at(0); }
    void pop(uint64_t now);
    /// Memory reads sent so far.
    uint64_t reads_asked() const { return reads_asked_; }

  private:
    PacketQueue queue_;
    Flow flow_;
    uint32_t latency_;
    uint64_t reads_asked_ = 0;
    uint32_t filled_ = 0; // Words of the packet that is coming in.
    bool smallest_;
    uint64_t now_ = 0;
    uint64_t free_at_[3] = {0, 0, 0}; // By kind: when its credit is back; never while one is out.
};

} // namespace ferry

#endif
