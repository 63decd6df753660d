// SPDX-License-Identifier: Apache-2.0
// endings_bench.v with everything around it played by this class: core, fetcher, sequencer and engine, and the host's
// bus.
#ifndef FERRY_TESTS_RTL_CPU_ENDINGS_BENCH_H
#define FERRY_TESTS_RTL_CPU_ENDINGS_BENCH_H

#include <deque>
#include <string>
#include <vector>

#include "Vendings_bench.h"
#include "check.h"
// The contract is C11.
#define _Static_assert static_assert
#include "ferry_contract.h"

// Of the bundle.

struct Slot {
    bool used = false, finished = false, refused = false, wrong = false, told = false;
    bool over = false; // Its jobs were done and it was finished before a reset began: that one may not be told.
    unsigned ring = 0, number = 0;
    // Of an entry that could not be read; then the fence is 0.
    bool unread = false;
    uint64_t fence = 0;
    bool interrupt = false;
    unsigned to_offer = 0, queued = 0, retired = 0;
    // Packet of the first job that a reset has cut off; each job is a packet here, of 8 bytes.
    int aborted_at = -1;
    // How far that one came, as the engine says; nothing is told of one that never was in the engine.
    bool aborted_left = false;
    uint32_t aborted_place = 0;
    uint8_t status = FERRY_BUFFER_STATUS_SUCCESS;
};

struct Ring {
    uint32_t retired = 0, faults = 0, last_faulted = 0, taken = 0;
    uint64_t fence = 0, fence_address = 0;
    unsigned interrupts_due = 0;
};

class Bench
{
  public:
    Bench(Checks &checks, Random &random) : checks(checks), random(random)
    {
        top.clk = 0;
        top.rst = 1;
        top.root_ready = 1;
        for (int i = 0; i < 3; i++)
            tick();
        top.rst = 0;
        top.settled = 1;
        while (top.clearing)
            tick();
        for (unsigned i = 0; i < 5; i++) {
            Ring &r = rings[i];
            r.fence_address = 0x123456000000 + 64 * i + (i & 1 ? 32 : 0);
            r.retired = r.taken = i == 2 ? 0xfffffffe : i;
            host(true, ring(i, FERRY_BAR0_RING_FENCE_ADDRESS), static_cast<uint32_t>(r.fence_address));
            host(true, ring(i, FERRY_BAR0_RING_FENCE_ADDRESS + 4), static_cast<uint32_t>(r.fence_address >> 32));
            host(true, ring(i, FERRY_BAR0_RING_RETIRED), r.retired);
        }
        top.settled = 0;
        top.run = 1;
        tick();
    }
    static uint32_t ring(unsigned number, uint32_t offset)
    {
        return FERRY_BAR0_RING_AT + number * FERRY_BAR0_RING_STRIDE + offset;
    }

    // --- One cycle ---

    void tick()
    {
        top.time_now = time;
        top.awready = random.once_in(2);
        top.wready = random.once_in(2);
        top.bvalid = response_in == 1;
        top.enter_hold = random.once_in(4);
        top.fact_ready = !random.once_in(3);
        top.job_ready = random.once_in(2) && queue[0].size() + queue[1].size() < 12;
        top.update_ready = top.update_valid && random.once_in(update_pace);
        top.resetting = reset_left != 0;
        top.jobs_retired = retired_jobs[0];
        top.jobs_retired_urgent = retired_jobs[1];
        if (by_hand)
            top.packet_skipped = 0;
        else
            offer();
        top.slots_used = top.slot_interrupts = 0;
        top.slot_tags = 0;
        for (unsigned i = 0; i < 4; i++) {
            top.slots_used |= slots[i].used << i;
            top.slot_interrupts |= (slots[i].interrupt ? 1 : 0) << i;
            top.slot_tags |= (slots[i].ring << 5 | (slots[i].number & 31)) << 8 * i;
        }
        top.poison = poison;
        top.aborted_valid = told_aborted >= 0;
        top.aborted_slot = told_aborted >= 0 ? static_cast<unsigned>(told_aborted) : random.below(4);
        top.aborted_packet_offset = told_aborted >= 0 ? told_packet : static_cast<uint16_t>(random.word());
        top.aborted_left = told_aborted >= 0 ? told_left : random.once_in(2);
        top.aborted_place = told_aborted >= 0 ? told_place : static_cast<uint32_t>(random.word());
        told_aborted = -1;
        events();
        top.eval();
        const Slot &named = slots[top.fact_valid ? top.fact_slot : selected];
        top.fact = !top.fact_ready                                           ? static_cast<uint32_t>(random.word())
                   : top.fact_word == (FERRY_CORE_FETCH_FENCE_LOW >> 2 & 7)  ? static_cast<uint32_t>(named.fence)
                   : top.fact_word == (FERRY_CORE_FETCH_FENCE_HIGH >> 2 & 7) ? static_cast<uint32_t>(named.fence >> 32)
                                                                             : 0xdeadbeef;
        top.fact_unread = top.fact_ready ? named.unread : random.once_in(2);
        top.eval();
        if (!top.rst)
            observe();
        top.clk = 1;
        top.eval();
        top.clk = 0;
        top.eval();
        time++;
    }

    // --- The buses ---

    uint32_t core(bool write, uint32_t address, uint32_t value = 0)
    {
        top.io_valid = 1;
        top.io_write = write;
        top.io_address = address;
        top.io_wdata = value;
        for (unsigned i = 0; i < 1000; i++) {
            tick();
            if (io_done) {
                top.io_valid = 0;
                return io_data;
            }
        }
        checks.that(false, "the core's access ends");
        top.io_valid = 0;
        return 0;
    }
    uint32_t host(bool write, uint32_t address, uint32_t value = 0)
    {
        top.host_access = 1;
        top.host_write = write;
        top.host_index = address / 4;
        top.host_wdata = value;
        for (unsigned i = 0; i < 1000; i++) {
            tick();
            if (host_done) {
                top.host_access = 0;
                return top.host_rdata;
            }
        }
        checks.that(false, "the host's access ends");
        top.host_access = 0;
        return 0;
    }

    // --- What is played ---

    // A buffer of a ring in a free slot, which shows as free for a cycle at least.
    void claim(unsigned slot, unsigned number, unsigned jobs, bool interrupt)
    {
        tick();
        Slot &s = slots[slot];
        s = Slot();
        s.used = true;
        s.ring = number;
        s.number = ++rings[number].taken;
        s.unread = random.once_in(8);
        s.fence = s.unread ? 0 : random.word();
        s.interrupt = interrupt;
        s.to_offer = jobs;
    }
    void finish(unsigned slot, bool refused)
    {
        slots[slot].refused = refused;
        core(true, FERRY_CORE_FINISH, slot << 2 | (refused ? FERRY_CORE_FINISH_REFUSED_MASK : 0));
    }
    void reset(unsigned cycles)
    {
        reset_left = cycles;
        for (Slot &s : slots)
            s.over = s.used && s.finished && s.retired == s.queued;
    }
    // Looks whether a buffer's end waits for the firmware, and answers.
    void answer(bool with_record)
    {
        uint32_t work = core(false, FERRY_CORE_WORK);
        if (!(work & FERRY_CORE_WORK_FINISH_MASK))
            return;
        unsigned slot = FERRY_GET(FERRY_CORE_WORK_FINISH_SLOT, work);
        Slot &s = slots[slot];
        checks.that(s.used && s.finished && s.retired == s.queued, "asked of a buffer whose jobs are done");
        checks.that(s.refused || s.wrong || s.over, "asked of a buffer that went wrong");
        uint32_t aborted = core(false, FERRY_CORE_ABORTED);
        checks.equal(aborted >> slot & 1, s.aborted_at >= 0, "whether a reset has cut it off");
        if (s.aborted_at >= 0) {
            checks.equal(FERRY_GET(FERRY_CORE_ABORTED_PACKET_OFFSET, aborted), static_cast<unsigned>(s.aborted_at),
                         "packet at which a reset has cut it off");
            checks.equal(FERRY_GET(FERRY_CORE_ABORTED_LEFT, aborted), s.aborted_left, "from which end it goes");
            checks.equal(core(false, FERRY_CORE_ABORTED_PLACE), s.aborted_place, "how far it came");
        }
        aborted_asked += s.aborted_at > 0;
        s.told = true;
        s.status = static_cast<uint8_t>(1 + random.below(2));
        if (with_record) {
            core(true, FERRY_CORE_FETCH_SLOT, slot);
            fill_record([](unsigned) {});
        } else {
            s.status = FERRY_BUFFER_STATUS_SUCCESS;
        }
        core(true, FERRY_CORE_FINISH_STATUS, s.status);
    }
    // Sixteen words, the address's halves, and off it goes; something may come before each.
    template <typename Before> void fill_record(Before before)
    {
        std::vector<uint32_t> words;
        for (unsigned i = 0; i < 16; i++) {
            words.push_back(i == 0 ? ++faults_told : static_cast<uint32_t>(random.word()));
            before(i);
            core(true, FERRY_CORE_POST_DATA + 4 * i, words.back());
        }
        fault_words = words;
        before(16);
        core(true, FERRY_CORE_POST_ADDRESS_LOW, 0x9000);
        before(17);
        core(true, FERRY_CORE_POST_ADDRESS_HIGH, 7);
        before(18);
        core(true, FERRY_CORE_POST_CONTROL, 1);
    }
    void compare_registers()
    {
        for (unsigned i = 0; i < 5; i++) {
            checks.equal(host(false, ring(i, FERRY_BAR0_RING_RETIRED)), rings[i].retired, "RETIRED");
            checks.equal(host(false, ring(i, FERRY_BAR0_RING_FAULTS)), rings[i].faults, "FAULTS");
            checks.equal(host(false, ring(i, FERRY_BAR0_RING_LAST_FAULTED)), rings[i].last_faulted, "LAST_FAULTED");
            checks.equal(host(false, ring(i, FERRY_BAR0_RING_FENCE_VALUE)), static_cast<uint32_t>(rings[i].fence),
                         "fence");
            checks.equal(host(false, ring(i, FERRY_BAR0_RING_FENCE_VALUE + 4)), rings[i].fence >> 32,
                         "fence, upper half");
            checks.equal(rings[i].interrupts_due, 0, "interrupts to come");
        }
        checks.equal(host(false, FERRY_BAR0_FAULT_LOG_PRODUCED), faults_told, "FAULT_LOG.PRODUCED");
        checks.equal(fault_interrupts_due, 0, "fault interrupts to come");
    }
    bool busy() const
    {
        for (const Slot &s : slots)
            if (s.used)
                return true;
        return false;
    }

    Checks &checks;
    Random &random;
    Vendings_bench top;
    uint64_t time = 0;
    Slot slots[4];
    Ring rings[5];
    std::deque<unsigned> queue[2],
        endings[2]; // Slots of jobs in the engine; slots finished and not ended; user, paging.
    // The test offers jobs itself, or none.
    bool by_hand = false;
    unsigned retire_pace = 8, update_pace = 4, reset_left = 0, poison_pace = 20, selected = 0;
    // Counts of retired jobs go over their end soon.
    uint16_t retired_jobs[2] = {0xffe0, 0xfff0};
    bool chosen = false, offered = false, counting = false;
    // The engine tells of a job that a reset has cut off: its slot, and its packet.
    int told_aborted = -1;
    uint16_t told_packet = 0;
    bool told_left = false;
    uint32_t told_place = 0;
    unsigned aborted_asked = 0;
    // Of the cycle that just ended.
    bool io_done = false, host_done = false, counter_done = false;
    uint32_t io_data = 0;
    uint8_t poison = 0;
    uint64_t packets = 0, jobs = 0;
    static const unsigned COUNTERS = FERRY_BAR0_COUNTER_STRIDE / 8;
    uint64_t counted[COUNTERS] = {};

  private:
    void offer()
    {
        // The sequencer names a job's slot at least a cycle before it offers the job.
        const Slot &named = slots[top.packet_slot];
        bool may = named.used && !named.finished && named.to_offer;
        offered = offered || (chosen && may);
        chosen = false;
        // The firmware may want the sequencer's place back meanwhile.
        if (offered && random.once_in(160))
            offered = false;
        if (!offered && top.run) {
            unsigned slot = random.below(4);
            if (slots[slot].used && !slots[slot].finished && slots[slot].to_offer) {
                chosen = true;
                top.packet_slot = slot;
                top.packet_length = 1 + random.below(100);
                top.packet_offset = static_cast<uint16_t>(8 * slots[slot].queued);
                // Of a rectangle's jobs only the last is a packet.
                top.packet_more = slots[slot].to_offer > 1 && random.once_in(3);
            }
        }
        offered = offered && top.run;
        chosen = chosen && top.run;
        top.packet_valid = offered;
        // Another packet makes no job.
        top.packet_skipped = !offered && top.run && random.once_in(8);
    }
    void events()
    {
        uint32_t now = counting ? static_cast<uint32_t>(random.word()) & static_cast<uint32_t>(random.word()) : 0;
        // Some count in every cycle.
        top.events = counting ? (now | 7) & ((1u << COUNTERS) - 1) : 0;
        for (unsigned i = 0; i < COUNTERS; i++)
            counted[i] += top.events >> i & 1;
    }
    void wrote(uint32_t address, uint32_t value)
    {
        if (address == FERRY_CORE_FINISH) {
            unsigned slot = value >> 2 & 3;
            slots[slot].finished = true;
            endings[slots[slot].ring == 0].push_back(slot);
        }
    }
    // endings_watch.cpp; observe() is the whole of a cycle, and calls the others.
    void observe();
    void check_record();
    void ends();
    void interrupts();

    bool ring_taken = false, change_waits = false;
    uint32_t ring_expected = 0;
    uint64_t change_past = 0;
    std::vector<uint32_t> record, fault_words;
    uint64_t record_at = 0;
    unsigned record_beats = 0, response_in = 0, fault_interrupts_due = 0;
    uint32_t faults_told = 0;
    bool address_seen = false, data_seen = false, was_resetting = false, cuts = false;
    uint8_t cut = 0;
    int on_its_way = -1;

  public:
    unsigned ended = 0, halts = 0;
    std::string order_of_ends;
};

#endif
