// SPDX-License-Identifier: Apache-2.0
// The whole device with its firmware, a paging ring and a user ring, pages of the host and video memory with random
// bytes.
#ifndef FERRY_TESTS_RTL_CPU_DEVICE_BENCH_H
#define FERRY_TESTS_RTL_CPU_DEVICE_BENCH_H

#include "host_ring.h"

// The engine's; where video memory that copies read ends, and what is written begins.
static const uint32_t TIMEOUT = 2000, AREA = DATA_PAGES * 4096;

class Bench
{
  public:
    Bench(Checks &checks, Random &random) : checks_(checks), random_(random), root_(random)
    {
        furnish(root_, random);
        root_.enumerate();
        checks.that(root_.boot("build/firmware/firmware.bin"), "firmware serves rings");
        root_.bar0(FERRY_BAR0_INTERRUPT_ENABLE, 0x3ff);
        root_.bar0_64(FERRY_BAR0_FAULT_LOG_ADDRESS, FAULTS);
        root_.bar0(FERRY_BAR0_FAULT_LOG_ENTRIES_LOG2, 5);
        root_.bar0(FERRY_BAR0_ENGINE_TIMEOUT, TIMEOUT);
        rings_.emplace_back(root_, 0, 7);
        rings_.emplace_back(root_, 1, 1);
    }

    Ring &paging() { return rings_[0]; }
    Ring &user() { return rings_[1]; }
    RootComplex &root() { return root_; }

    // From now on buffers of copies have all that may be under way at once: virtual addresses, which lead where the
    // others lead, rectangles, and of the paging ring the forgetting of tables.
    void mix()
    {
        const uint64_t leaf = FERRY_TABLE_ENTRY_ENTRY_VALID_MASK | FERRY_TABLE_ENTRY_ENTRY_LEAF_MASK;
        for (unsigned i = 0; i < 256 + DATA_PAGES; i++) {
            uint64_t page = i < 256 ? i * 4096ull : (DATA + (i - 256) * 4096) | FERRY_TABLE_ENTRY_ENTRY_HOST_MASK;
            for (unsigned b = 0; b < 8; b++)
                root_.local[TABLE + 8 * i + b] = static_cast<uint8_t>((page | leaf) >> 8 * b);
        }
        root_.bar0(ring(0, FERRY_BAR0_RING_RIGHTS), 7 | FERRY_BAR0_RING_RIGHTS_TABLES_MASK);
        paging().word(FERRY_OPCODE_ROOT | 6u << 16, 0);
        paging().word(FERRY_PACKET_ROOT_SPACE_VALID_MASK, 0).word(uint64_t{TABLE}).submit();
        checks_.that(paging().wait(), "tables");
        checks_.equal(paging().status(), FERRY_BUFFER_STATUS_SUCCESS, "tables");
        mixed_ = true;
    }
    // A buffer of copies between all kinds of places.
    void copies(Ring &ring, unsigned count)
    {
        for (unsigned i = 0; i < count; i++) {
            if (mixed_ && random_.once_in(3)) {
                mixture(ring);
                continue;
            }
            uint32_t bytes = 1 + random_.below(3000);
            bool out = random_.once_in(3), in = !out && random_.once_in(2);
            uint64_t host = DATA + random_.below(32 * 4096 - bytes) + (out ? 32 * 4096 : 0);
            ring.copy(in ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL,
                      in ? host : random_.below(AREA - bytes),
                      out ? FERRY_ADDRESS_KIND_SYSTEM : FERRY_ADDRESS_KIND_LOCAL,
                      out ? host : AREA + random_.below(AREA - bytes), bytes);
        }
        ring.submit(1);
    }
    // The record that was written last.
    uint32_t last_kind()
    {
        uint32_t produced = root_.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED);
        uint32_t what = static_cast<uint32_t>(root_.load64(FAULTS + (produced - 1) % 32 * 64) >> 32);
        root_.bar0(FERRY_BAR0_FAULT_LOG_CONSUMED, produced);
        return FERRY_GET(FERRY_FAULT_RECORD_WHAT_KIND, what);
    }
    bool stuck() { return root_.bar0(FERRY_BAR0_STATUS) & FERRY_BAR0_STATUS_ENGINE_STUCK_MASK; }
    // Bytes move again and the device is idle.
    void works()
    {
        uint32_t bytes = 1 + random_.below(5000), from = random_.below(AREA - bytes), to = 3 * AREA + random_.below(99);
        for (Ring *ring : {&user(), &paging()}) {
            for (uint32_t i = 0; i < bytes; i++)
                root_.local[to + i] = static_cast<uint8_t>(~root_.local[from + i]);
            ring->copy(FERRY_ADDRESS_KIND_LOCAL, from, FERRY_ADDRESS_KIND_LOCAL, to, bytes).submit();
            checks_.that(ring->wait(100000), "fence of a good buffer");
            checks_.equal(ring->status(), FERRY_BUFFER_STATUS_SUCCESS, "status of a good buffer");
            for (uint32_t i = 0; i < bytes; i++)
                checks_.equal(root_.local[to + i], root_.local[from + i], "copied byte");
        }
        for (int i = 0; i < 200 && root_.bar0(FERRY_BAR0_STATUS) != FERRY_BAR0_STATUS_CORE_MASK; i++)
            root_.run(50);
        checks_.equal(root_.bar0(FERRY_BAR0_STATUS), FERRY_BAR0_STATUS_CORE_MASK, "status of an idle device");
        checks_.equal(root_.broken, 0, "broken rules of buses and link");
    }
    void comes_back()
    {
        root_.memory_dead = false;
        for (int i = 0; i < 1000 && stuck(); i++)
            root_.run(20);
        checks_.that(!stuck(), "the engine is unstuck when memory answers");
        works();
    }

    // Where mix() puts its table, and the first page of it that is the host's.
    static const uint32_t TABLE = 0x800000, VIRTUAL_HOST = 0x100000;

  private:
    void mixture(Ring &ring)
    {
        const uint32_t kind = random_.once_in(2) ? FERRY_ADDRESS_KIND_VIRTUAL : FERRY_ADDRESS_KIND_LOCAL;
        const uint64_t from = random_.below(AREA - 8192), to = AREA + random_.below(AREA - 8192);
        if (&ring == &paging() && random_.once_in(2)) {
            const uint32_t scope = random_.below(4);
            ring.word(FERRY_OPCODE_FORGET | 6u << 16, 0).word(scope, 0);
            ring.word(scope > FERRY_FORGET_SCOPE_TABLE ? 0 : from);
        } else if (random_.once_in(2)) {
            ring.word(FERRY_OPCODE_COPY_RECTANGLE | 12u << 16, kind | FERRY_ADDRESS_KIND_VIRTUAL << 2);
            ring.word(1 + random_.below(200), random_.below(9)).word(from).word(to).word(256, 0).word(700, 0);
        } else {
            const bool host = random_.once_in(2);
            ring.copy(FERRY_ADDRESS_KIND_VIRTUAL, host ? VIRTUAL_HOST + random_.below(32 * 4096) : from, kind, to,
                      1 + random_.below(8000));
        }
    }
    Checks &checks_;
    Random &random_;
    RootComplex root_;
    std::vector<Ring> rings_;
    bool mixed_ = false;
};

#endif
