// SPDX-License-Identifier: Apache-2.0
// The whole device with its firmware and a paging ring, which is found anew after a function level reset.
#ifndef FERRY_TESTS_RTL_CPU_FUNCTION_RESET_H
#define FERRY_TESTS_RTL_CPU_FUNCTION_RESET_H

#include "host_ring.h"

static const uint32_t AREA = DATA_PAGES * 4096;
// What the engine still waits for on the bus of dead memory.
static const uint32_t OWED =
    FERRY_BAR0_STATUS_ENGINE_MASK | FERRY_BAR0_STATUS_ENGINE_READ_MASK | FERRY_BAR0_STATUS_ENGINE_WRITE_MASK;
static const uint32_t RESET = FERRY_CONFIG_SPACE_DEVICE_CONTROL_INITIATE_FUNCTION_RESET_MASK;

class Bench
{
  public:
    Bench(Checks &checks, Random &random) : checks_(checks), random_(random), root_(random)
    {
        furnish(root_, random);
        start();
    }

    // What a driver does with a device that it has just found.
    void start()
    {
        root_.enumerate();
        std::memset(root_.page(FENCES), 0, 4096);
        checks_.that(root_.boot("build/firmware/firmware.bin"), "firmware serves rings");
        root_.bar0_64(FERRY_BAR0_FAULT_LOG_ADDRESS, FAULTS);
        root_.bar0(FERRY_BAR0_FAULT_LOG_ENTRIES_LOG2, 5);
        rings_.clear();
        rings_.emplace_back(root_, 0, 7 | FERRY_BAR0_RING_RIGHTS_TABLES_MASK);
    }
    Ring &paging() { return rings_[0]; }
    RootComplex &root() { return root_; }

    void reset() { root_.config_write(0x48, root_.config_read(0x48) | RESET); }
    // Software may have to wait 100 ms; without dead memory it is some thousand cycles at most.
    uint32_t status_after(unsigned cycles)
    {
        root_.run(cycles);
        root_.enumerate();
        return root_.bar0(FERRY_BAR0_STATUS);
    }
    uint32_t last_kind()
    {
        uint32_t produced = root_.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED);
        uint32_t what = static_cast<uint32_t>(root_.load64(FAULTS + (produced - 1) % 32 * 64) >> 32);
        root_.bar0(FERRY_BAR0_FAULT_LOG_CONSUMED, produced);
        return FERRY_GET(FERRY_FAULT_RECORD_WHAT_KIND, what);
    }
    // Page-in and page-out.
    void works()
    {
        uint32_t bytes = 1 + random_.below(20000), to = AREA + random_.below(99);
        uint64_t back = DATA + 32 * 4096 + random_.below(99);
        paging().copy(FERRY_ADDRESS_KIND_SYSTEM, DATA, FERRY_ADDRESS_KIND_LOCAL, to, bytes);
        paging().copy(FERRY_ADDRESS_KIND_LOCAL, to, FERRY_ADDRESS_KIND_SYSTEM, back, bytes).submit();
        checks_.that(paging().wait(), "fence of a good buffer");
        checks_.equal(paging().status(), FERRY_BUFFER_STATUS_SUCCESS, "status of a good buffer");
        for (uint32_t i = 0; i < bytes; i++)
            checks_.equal(root_.byte(back + i), root_.byte(DATA + i), "byte that went there and back");
        checks_.equal(root_.broken, 0, "broken rules of buses and link");
    }

  private:
    Checks &checks_;
    Random &random_;
    RootComplex root_;
    std::vector<Ring> rings_;
};

void function_resets_of_tables(Checks &checks, Random &random);
void function_resets_of_writes(Checks &checks, Random &random);

#endif
