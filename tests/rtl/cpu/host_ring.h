// SPDX-License-Identifier: Apache-2.0
// Host side of one ring, for the tests of the whole device: writes entries and buffers into the root complex's pages,
// rings the doorbell, waits for fences.
#ifndef FERRY_TESTS_RTL_CPU_HOST_RING_H
#define FERRY_TESTS_RTL_CPU_HOST_RING_H

#include "root_complex.h"

static const uint64_t HOST = 0x1234500000, RINGS = HOST, FENCES = HOST + 0x8000, FAULTS = HOST + 0x9000,
                      BUFFERS = HOST + 0x10000, DATA = HOST + 0x100000, NOWHERE = 0x7700000000;
static const unsigned DATA_PAGES = 64;

static inline uint32_t ring(unsigned number, uint32_t offset)
{
    return FERRY_BAR0_RING_AT + number * FERRY_BAR0_RING_STRIDE + offset;
}

// Pages of the host for rings, records and data; random bytes in the latter and in as much of video memory.
static inline void furnish(RootComplex &root, Random &random)
{
    for (uint64_t at = HOST; at < HOST + 0x80000; at += 4096)
        root.map(at);
    for (unsigned i = 0; i < DATA_PAGES; i++)
        root.map(DATA + i * 4096);
    for (unsigned i = 0; i < DATA_PAGES * 4096; i++)
        root.byte(DATA + i) = static_cast<uint8_t>(random.word());
    for (unsigned i = 0; i < DATA_PAGES * 4096; i++)
        root.local[i] = static_cast<uint8_t>(random.word());
}

class Ring
{
  public:
    Ring(RootComplex &root, unsigned number, uint32_t rights) : fence_step(1 + number), root_(root), number_(number)
    {
        open(rights);
    }
    // After a function reset: what was in it is gone, and nobody waits for it.
    void begin_anew(uint32_t rights)
    {
        produced_ = bytes_ = 0;
        root_.store64(FENCES + number_ * 64 + FERRY_FENCE_RECORD_VALUE, fence_);
        root_.store64(FENCES + number_ * 64 + 16, 0);
        open(rights);
    }
    Ring &word(uint32_t low, uint32_t high)
    {
        root_.store64(buffer() + bytes_, low | uint64_t{high} << 32);
        bytes_ += 8;
        return *this;
    }
    Ring &word(uint64_t both) { return word(static_cast<uint32_t>(both), static_cast<uint32_t>(both >> 32)); }
    Ring &copy(uint32_t source_kind, uint64_t source, uint32_t destination_kind, uint64_t destination, uint32_t bytes)
    {
        word(FERRY_OPCODE_COPY | 8u << 16, source_kind | destination_kind << 2);
        return word(bytes).word(source).word(destination);
    }
    Ring &fill(uint32_t kind, uint64_t destination, uint32_t bytes, uint32_t pattern_log2, uint64_t pattern)
    {
        word(FERRY_OPCODE_FILL | 8u << 16, kind << 2 | pattern_log2 << 6);
        return word(bytes).word(destination).word(pattern);
    }
    Ring &write(uint32_t kind, uint64_t destination, uint64_t value)
    {
        word(FERRY_OPCODE_WRITE | 8u << 16, kind << 2);
        return word(8u, 0u).word(destination).word(value);
    }
    // A packet that does nothing, up to this byte of the buffer.
    Ring &pad(uint32_t end)
    {
        if (bytes_ < end)
            word(FERRY_OPCODE_NOP | (end - bytes_) / 4 << 16, 0);
        while (bytes_ < end)
            word(~uint64_t{0});
        return *this;
    }
    // Hands over what was written since; returns its fence value.
    uint64_t submit(uint32_t flags = 0)
    {
        uint64_t at = RINGS + number_ * 0x1000 + produced_ % 8 * 32;
        fence_ += fence_step;
        root_.store64(at, buffer());
        root_.store64(at + 8, bytes_ | uint64_t{flags | entry_flags} << 32);
        root_.store64(at + 16, fence_);
        root_.store64(at + 24, 0);
        root_.bar0(ring(number_, FERRY_BAR0_RING_PRODUCER), ++produced_);
        bytes_ = 0;
        return fence_;
    }
    bool wait(unsigned cycles = 1000000)
    {
        for (unsigned i = 0; i < cycles; i++) {
            if (record(FERRY_FENCE_RECORD_VALUE) == fence_)
                return true;
            root_.tick();
        }
        return false;
    }
    uint64_t record(uint32_t offset) { return root_.load64(FENCES + number_ * 64 + offset); }
    uint32_t status() { return static_cast<uint32_t>(record(16) >> 32); }
    // Seven buffers may wait; the eighth entry stays free.
    bool full() { return produced_ - static_cast<uint32_t>(record(16)) >= 7; }
    uint32_t bytes() const { return bytes_; }
    uint32_t produced() const { return produced_; }
    // Its entries are counted from there on, and its fences.
    void count_from(uint32_t entry, uint64_t fence)
    {
        produced_ = entry;
        fence_ = fence;
        root_.store64(FENCES + number_ * 64 + FERRY_FENCE_RECORD_VALUE, fence);
    }
    bool idle() { return record(FERRY_FENCE_RECORD_VALUE) == fence_; }

    // From one fence value to the next.
    uint64_t fence_step;
    // Of every entry, besides those that submit() is given.
    uint32_t entry_flags = 0;

  private:
    void open(uint32_t rights)
    {
        root_.bar0_64(ring(number_, FERRY_BAR0_RING_BASE), RINGS + number_ * 0x1000);
        root_.bar0(ring(number_, FERRY_BAR0_RING_ENTRIES_LOG2), 3);
        root_.bar0(ring(number_, FERRY_BAR0_RING_RIGHTS), rights);
        root_.bar0_64(ring(number_, FERRY_BAR0_RING_FENCE_ADDRESS), FENCES + number_ * 64);
        root_.bar0(ring(number_, FERRY_BAR0_RING_CONTROL), 1);
    }
    uint64_t buffer() { return BUFFERS + number_ * 0x10000 + produced_ % 8 * 0x1000; }
    RootComplex &root_;
    unsigned number_;
    uint32_t produced_ = 0, bytes_ = 0;
    uint64_t fence_ = 100;
};

#endif
