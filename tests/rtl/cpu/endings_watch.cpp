// SPDX-License-Identifier: Apache-2.0
// What endings_bench.v does in each cycle against what it may: jobs into the engine, which retires them here, what each
// record must say, which buffer ends, and interrupts behind that.
#include "endings_bench.h"

void Bench::observe()
{
    packets += top.packet_taken;
    jobs += top.packet_skipped;
    io_done = top.io_valid && top.io_ready;
    io_data = top.io_rdata;
    host_done = top.host_taken;
    if (io_done && top.io_write)
        wrote(top.io_address, top.io_wdata);
    // The fetcher's look: a ring's word, which is there a cycle later.
    if (ring_taken)
        checks.equal(top.ring_rdata, ring_expected, "a ring's word");
    ring_taken = top.ring_taken;
    checks.that(!(top.ring_taken && top.host_taken && top.host_write), "no ring is read while a word is written");
    const Ring &looked = rings[top.ring_number];
    ring_expected =
        top.ring_word == FERRY_BAR0_RING_RETIRED ? looked.retired : static_cast<uint32_t>(looked.fence_address);
    counter_done = top.counter_ready;
    // A change of the table stays while it waits.
    uint64_t change = top.update_first ^ uint64_t { top.update_count } << 32 ^ top.update_dummy ^ top.update_list << 2 ^
                      top.update_unmap ^ top.update_snoop << 1;
    if (change_waits)
        checks.equal(change, change_past, "a change that waits");
    change_waits = top.update_valid && !top.update_ready && top.run;
    change_past = change;
    // Jobs in.
    checks.that(!(top.job_valid && (top.resetting || was_resetting)), "no job is handed over around a reset");
    checks.equal(top.packet_ready, top.job_valid && top.job_ready, "the sequencer's job is the engine's");
    if (top.job_valid && top.job_ready) {
        Slot &s = slots[top.job_slot];
        checks.equal(top.job_urgent, s.ring == 0, "the paging ring's jobs are urgent");
        checks.equal(top.job_length, cut >> top.job_slot & 1 ? 0 : top.packet_length, "length");
        checks.equal(top.job_harmless, cut >> top.job_slot & 1, "a cut slot's job does nothing");
        queue[top.job_urgent].push_back(top.job_slot);
        if ((cut >> top.job_slot & 1) && s.aborted_at < 0)
            s.aborted_at = static_cast<int>(8 * s.queued);
        s.queued++;
        s.to_offer--;
        jobs += !top.packet_more;
        offered = false;
    }
    // Jobs out, which may poison their slot. A reset retires them all and marks every slot at its end.
    uint8_t cleared = top.poison_clear;
    checks.equal(cleared, ~top.slots_used & 15, "marks of free slots go");
    poison &= static_cast<uint8_t>(~cleared);
    for (unsigned urgent = 0; urgent < 2; urgent++) {
        if (queue[urgent].empty() || !(top.resetting ? random.once_in(2) : random.once_in(retire_pace)))
            continue;
        if (top.resetting && told_aborted >= 0)
            break;
        unsigned slot = queue[urgent].front();
        queue[urgent].pop_front();
        // What a reset finds may still be whole; once it is not, nothing behind it is, nor need it be told again.
        Slot &s = slots[slot];
        if (top.resetting && (s.aborted_at >= 0 ? random.once_in(2) : !(poison >> slot & 1) && !random.once_in(3))) {
            told_aborted = static_cast<int>(slot);
            told_packet = static_cast<uint16_t>(8 * s.retired);
            told_left = random.once_in(2);
            told_place = static_cast<uint32_t>(random.word());
            if (s.aborted_at < 0) {
                s.aborted_at = told_packet;
                s.aborted_left = told_left;
                s.aborted_place = told_place;
            }
            poison |= static_cast<uint8_t>(1 << slot);
            s.wrong = true;
        }
        s.retired++;
        if (!top.resetting && random.once_in(poison_pace)) {
            poison |= static_cast<uint8_t>(1 << slot);
            slots[slot].wrong = true;
        }
        retired_jobs[urgent]++;
    }
    was_resetting = top.resetting;
    if (cuts) {
        cut = top.slots_used;
        for (Slot &s : slots)
            s.wrong = s.wrong || (s.used && !s.over);
    }
    cuts = false;
    if (reset_left > 1 || (reset_left == 1 && queue[0].empty() && queue[1].empty() && told_aborted < 0))
        cuts = --reset_left == 0;
    if (top.fetch_select)
        selected = top.fetch_select_slot;
    // A record on the bus.
    if (top.awvalid && top.awready) {
        record_at = top.awaddr;
        record_beats = top.awlen + 1u;
        checks.that(address_seen == false, "one record at a time");
        address_seen = true;
    }
    if (top.wvalid && top.wready) {
        record.push_back(static_cast<uint32_t>(top.wdata));
        record.push_back(static_cast<uint32_t>(top.wdata >> 32));
        data_seen = top.wlast;
    }
    if (response_in)
        response_in--;
    if (address_seen && data_seen) {
        check_record();
        address_seen = data_seen = false;
        record.clear();
        response_in = 2 + random.below(20);
    }
    if (top.ended)
        ends();
    interrupts();
    for (unsigned i = 0; i < 4; i++)
        if (!slots[i].used)
            cut &= static_cast<uint8_t>(~(1 << i));
}

void Bench::check_record()
{
    checks.equal(record.size(), 2 * record_beats, "words of the record");
    if (record.size() < 8)
        return;
    uint64_t sent = record[2] | uint64_t{record[3]} << 32;
    checks.that(sent < time && sent + 200 > time, "time of the record");
    if (record_beats == 8) {
        checks.equal(record_at, 0x700009000, "place of the fault record");
        for (unsigned i = 0; i < 16; i++)
            if (i != 2 && i != 3)
                checks.equal(record[i], fault_words[i], "word of the fault record");
        return;
    }
    uint64_t fence = record[0] | uint64_t{record[1]} << 32;
    for (unsigned urgent = 0; urgent < 2; urgent++) {
        if (endings[urgent].empty() || rings[slots[endings[urgent].front()].ring].fence_address != record_at)
            continue;
        on_its_way = static_cast<int>(endings[urgent].front());
        Slot &s = slots[on_its_way];
        Ring &r = rings[s.ring];
        bool counts = s.status != FERRY_BUFFER_STATUS_SUCCESS;
        endings[urgent].pop_front();
        checks.that(s.retired == s.queued, "all of its jobs have retired");
        checks.that(s.told || !(s.refused || s.wrong), "the firmware was asked if something is wrong");
        checks.equal(fence, s.unread ? r.fence : s.fence, "fence value in the record");
        checks.equal(record[4], r.retired + 1, "RETIRED in the record");
        checks.equal(record[5], s.status, "status in the record");
        checks.equal(record[6], r.faults + counts, "FAULTS in the record");
        checks.equal(record[7], counts ? r.retired + 1 : r.last_faulted, "LAST_FAULTED in the record");
        return;
    }
    checks.that(false, "a record of no buffer that was to end");
}

void Bench::ends()
{
    if (top.ended_long) {
        fault_interrupts_due++;
        return;
    }
    checks.equal(top.ended_slot, static_cast<unsigned>(on_its_way), "slot that ends");
    if (on_its_way < 0)
        return;
    Slot &s = slots[on_its_way];
    Ring &r = rings[s.ring];
    bool counts = s.status != FERRY_BUFFER_STATUS_SUCCESS;
    r.retired++;
    r.faults += counts;
    r.last_faulted = counts ? r.retired : r.last_faulted;
    r.fence = s.unread ? r.fence : s.fence;
    r.interrupts_due += s.interrupt;
    bool paging = s.ring == 0;
    s = Slot();
    ended++;
    order_of_ends += paging ? 'p' : 'u';
    on_its_way = -1;
}

void Bench::interrupts()
{
    checks.that(!(top.interrupt_cause && top.post_busy), "no interrupt overtakes a record");
    for (unsigned i = 0; i < 5; i++)
        if (top.interrupt_cause >> i & 1) {
            checks.equal(rings[i].interrupts_due, 1, "an interrupt that was asked for");
            rings[i].interrupts_due = 0;
        }
    halts += top.interrupt_cause >> FERRY_BAR0_INTERRUPT_STATUS_HALT_SHIFT & 1;
    if (top.interrupt_cause >> FERRY_BAR0_INTERRUPT_STATUS_FAULT_SHIFT & 1) {
        checks.equal(fault_interrupts_due, 1, "a fault's interrupt");
        fault_interrupts_due = 0;
    }
}
