// SPDX-License-Identifier: Apache-2.0
// How buffers end: the core's registers with what stands behind them, the test playing core, fetcher,
// sequencer and engine. A buffer ends once, when all of its jobs have retired, in its class's order; the firmware is
// asked only of one that went wrong; record, registers, interrupt and the slot's release follow in this order.
#include "endings_cases.h"

namespace
{

// Everything at once: buffers of five rings, jobs that fault, refusals, resets, the host reading along.
void buffers(Checks &checks, Random &random)
{
    checks.begin("buffers_end_once_in_order_and_ask_only_when_something_is_wrong");
    Bench bench(checks, random);
    for (unsigned step = 0; step < 6000; step++) {
        unsigned slot = random.below(4);
        Slot &s = bench.slots[slot];
        bench.retire_pace = step % 1000 < 500 ? 3 : 40;
        bench.poison_pace = step % 800 < 400 ? 6 : 1000;
        if (!s.used && random.once_in(2))
            bench.claim(slot, random.once_in(3) ? 0 : 1 + random.below(4), random.below(6), random.once_in(2));
        else if (s.used && !s.finished && !s.to_offer && !bench.reset_left)
            bench.finish(slot, random.once_in(5));
        if (random.once_in(3))
            bench.answer(!random.once_in(8));
        if (random.once_in(6)) {
            bench.core(true, FERRY_CORE_PACKETS, 1);
            bench.jobs++;
        }
        if (random.once_in(60) && !bench.reset_left && !bench.top.resetting)
            bench.reset(1 + random.below(30));
        for (unsigned i = random.below(20); i; i--)
            bench.tick();
        if (random.once_in(3)) {
            Ring &r = bench.rings[random.below(5)];
            uint32_t before = r.retired;
            uint32_t found =
                bench.host(false, Bench::ring(static_cast<unsigned>(&r - bench.rings), FERRY_BAR0_RING_RETIRED));
            checks.that(found == before || found == r.retired, "RETIRED as the host reads it meanwhile");
        }
        // The core's words and a slot's facts, whoever else uses their ports.
        for (unsigned i = random.below(6); i; i--) {
            unsigned number = random.below(5);
            checks.equal(bench.core(false, FERRY_CORE_RING_AT + number * FERRY_CORE_RING_STRIDE +
                                               FERRY_CORE_RING_FENCE_ADDRESS_LOW),
                         static_cast<uint32_t>(bench.rings[number].fence_address),
                         "a ring's word as the core reads it");
            uint64_t before = bench.slots[bench.selected].fence;
            uint32_t found = bench.core(false, FERRY_CORE_FETCH_FENCE_LOW);
            checks.that(found == static_cast<uint32_t>(before) ||
                            found == static_cast<uint32_t>(bench.slots[bench.selected].fence),
                        "a fact of the slot that the core looks at");
        }
        if (checks.faults() > 8)
            return;
    }
    for (unsigned i = 0; i < 3000 && bench.busy(); i++) {
        for (unsigned slot = 0; slot < 4; slot++)
            if (bench.slots[slot].used && !bench.slots[slot].finished && !bench.slots[slot].to_offer)
                bench.finish(slot, false);
        bench.answer(true);
        bench.tick();
    }
    checks.that(!bench.busy(), "every buffer ended");
    checks.that(bench.ended > 300, "enough buffers");
    checks.that(bench.aborted_asked > 10, "enough of them cut off by resets");
    checks.equal(bench.packets, bench.jobs, "packets counted");
    for (int i = 0; i < 50; i++)
        bench.tick();
    bench.compare_registers();
}

// Directed: which buffer waits for which.
void order(Checks &checks, Random &random)
{
    checks.begin("the_paging_rings_buffers_do_not_wait_for_the_user_rings");
    Bench bench(checks, random);
    bench.poison_pace = 1u << 30;
    bench.retire_pace = 1u << 30;
    bench.claim(0, 1, 2, false);
    bench.claim(1, 2, 0, false);
    bench.claim(2, 0, 0, true);
    for (int i = 0; i < 100 && bench.slots[0].to_offer; i++)
        bench.tick();
    bench.finish(0, false);
    bench.finish(1, false);
    bench.finish(2, true);
    for (int i = 0; i < 400; i++)
        bench.tick();
    checks.that(bench.core(false, FERRY_CORE_WORK) & FERRY_CORE_WORK_FINISH_MASK, "asked of the paging ring's");
    for (int i = 0; i < 100; i++)
        bench.tick();
    checks.that(bench.slots[2].used, "does not end without an answer");
    bench.answer(true);
    for (int i = 0; i < 300; i++)
        bench.tick();
    checks.that(!bench.slots[2].used && bench.slots[0].used && bench.slots[1].used,
                "the paging ring's alone has ended");
    // The same slot again, not refused this time.
    bench.claim(2, 0, 0, false);
    bench.finish(2, false);
    for (int i = 0; i < 300; i++)
        bench.tick();
    checks.that(!bench.slots[2].used, "a refusal is of one buffer only");
    bench.retire_pace = 1;
    for (int i = 0; i < 600; i++)
        bench.tick();
    checks.that(!bench.busy(), "all ended");
    bench.compare_registers();
}

// No job is handed to an engine that memory keeps; it is when memory is back.
void stuck(Checks &checks, Random &random)
{
    checks.begin("an_engine_that_is_stuck_gets_no_job");
    Bench bench(checks, random);
    bench.poison_pace = 1u << 30;
    bench.top.stuck = 1;
    bench.claim(1, 2, 1, false);
    for (int i = 0; i < 200; i++)
        bench.tick();
    checks.equal(bench.slots[1].to_offer, 1, "jobs that wait");
    bench.top.stuck = 0;
    for (int i = 0; i < 200; i++)
        bench.tick();
    checks.equal(bench.slots[1].to_offer, 0, "jobs that wait when memory is back");
    bench.finish(1, false);
    for (int i = 0; i < 300; i++)
        bench.tick();
    checks.that(!bench.busy(), "the buffer ends");
}

// While the firmware is waited for, a rectangle of another buffer may be more jobs than half of what is counted.
void many_jobs(Checks &checks, Random &random)
{
    checks.begin("jobs_in_any_number_keep_the_end_of_no_other_buffer_waiting");
    Bench bench(checks, random);
    bench.poison_pace = 1u << 30;
    bench.retire_pace = 1;
    bench.claim(0, 1, 1, false);
    bench.claim(1, 2, 1, false);
    for (int i = 0; i < 100; i++)
        bench.tick();
    bench.finish(0, true);
    bench.finish(1, false);
    for (int i = 0; i < 400; i++)
        bench.tick();
    bench.claim(2, 3, 0x8100, false);
    for (int i = 0; i < 1000000 && bench.slots[2].retired < 0x8100; i++)
        bench.tick();
    checks.equal(bench.slots[2].retired, 0x8100, "jobs of the third");
    checks.that(bench.slots[0].used && bench.slots[1].used, "the first waits for its answer, the second for the first");
    bench.answer(true);
    for (int i = 0; i < 600; i++)
        bench.tick();
    checks.that(!bench.slots[0].used && !bench.slots[1].used, "both end");
    bench.finish(2, false);
    for (int i = 0; i < 300; i++)
        bench.tick();
    checks.that(!bench.busy(), "all ended");
    bench.compare_registers();
}

// Two buffers of either class are done at once.
void turns(Checks &checks, Random &random)
{
    checks.begin("the_classes_end_their_buffers_in_turn");
    Bench bench(checks, random);
    bench.poison_pace = bench.retire_pace = 1u << 30;
    for (unsigned slot = 0; slot < 4; slot++)
        bench.claim(slot, slot < 2 ? 0 : slot, 1, false);
    for (int i = 0; i < 200; i++)
        bench.tick();
    for (unsigned slot = 0; slot < 4; slot++)
        bench.finish(slot, false);
    bench.retire_pace = 1;
    for (int i = 0; i < 600; i++)
        bench.tick();
    checks.that(bench.order_of_ends == "pupu" || bench.order_of_ends == "upup", "in turn");
}

// A buffer is finished before its job has retired, whatever the counts of jobs are then: they go over their end on the
// way.
void counts_go_round(Checks &checks, Random &random)
{
    checks.begin("a_buffer_waits_for_its_job_also_where_the_counts_of_jobs_begin_anew");
    Bench bench(checks, random);
    bench.poison_pace = 1u << 30;
    for (unsigned round = 0; round < 40; round++) {
        bench.retire_pace = 1u << 30;
        bench.claim(0, 1, 1, false);
        bench.claim(1, 0, 1, false);
        for (int i = 0; i < 300 && (bench.slots[0].to_offer || bench.slots[1].to_offer); i++)
            bench.tick();
        bench.finish(0, false);
        bench.finish(1, false);
        for (int i = 0; i < 60; i++)
            bench.tick();
        bench.retire_pace = 1;
        for (int i = 0; i < 800 && bench.busy(); i++)
            bench.tick();
        checks.that(!bench.busy(), "both end");
    }
    bench.compare_registers();
}

// The firmware fills a record while a buffer is to end, and halts while a record is on its way.
void records(Checks &checks, Random &random)
{
    checks.begin("a_record_that_the_firmware_fills_leaves_as_it_filled_it");
    for (unsigned at = 0; at < 19; at++) {
        Bench bench(checks, random);
        bench.claim(1, 2, 0, false);
        bench.fill_record([&](unsigned word) {
            if (word == at)
                bench.finish(1, false);
            for (unsigned i = random.below(40); i; i--)
                bench.tick();
        });
        for (int i = 0; i < 300; i++)
            bench.tick();
        checks.that(!bench.busy(), "the buffer ends behind it");
        bench.compare_registers();
    }
    checks.begin("a_record_that_the_firmware_begins_in_any_cycle_of_a_buffers_end_leaves_as_it_filled_it");
    for (unsigned cycle = 0; cycle < 60; cycle++) {
        Bench bench(checks, random);
        bench.claim(1, 2, 0, false);
        bench.finish(1, false);
        for (unsigned i = 0; i < cycle; i++)
            bench.tick();
        bench.fill_record([](unsigned) {});
        for (int i = 0; i < 300; i++)
            bench.tick();
        checks.that(!bench.busy(), "the buffer ends");
        bench.compare_registers();
    }
    checks.begin("a_record_that_a_stopped_core_had_begun_keeps_none_of_the_next_cores_waiting");
    {
        Bench bench(checks, random);
        bench.core(true, FERRY_CORE_POST_DATA, 1);
        bench.top.run = 0;
        for (int i = 0; i < 20; i++)
            bench.tick();
        bench.top.settled = 1;
        bench.tick();
        checks.that(bench.top.fault_clear, "no fault of the engine outlives the core");
        bench.top.settled = 0;
        bench.top.run = 1;
        bench.claim(1, 2, 0, true);
        bench.finish(1, false);
        for (int i = 0; i < 300; i++)
            bench.tick();
        checks.that(!bench.busy(), "the buffer ends");
        bench.compare_registers();
    }
    checks.begin("a_halt_is_told_behind_a_record_that_is_on_its_way");
    for (unsigned cycle = 0; cycle < 40; cycle++) {
        Bench bench(checks, random);
        bench.claim(1, 2, 0, true);
        bench.finish(1, false);
        for (unsigned i = 0; i < cycle; i++)
            bench.tick();
        bench.core(true, FERRY_CORE_FIRMWARE_STATE, FERRY_FIRMWARE_STATE_HALTED);
        for (int i = 0; i < 300; i++)
            bench.tick();
        checks.equal(bench.halts, 1, "interrupts of the halt");
    }
    checks.begin("no_other_state_of_the_firmware_is_told_as_a_halt");
    Bench bench(checks, random);
    for (uint32_t state = 0; state < 256; state++) {
        if (state == FERRY_FIRMWARE_STATE_HALTED)
            continue;
        bench.core(true, FERRY_CORE_FIRMWARE_STATE, state);
        for (int i = 0; i < 20; i++)
            bench.tick();
        checks.equal(bench.halts, 0, "interrupts");
    }
}

// A reset cuts off what is in the engine: no buffer ends before it is over, and the firmware is asked of each that did
// not end before it.
void resets(Checks &checks, Random &random)
{
    checks.begin("no_buffer_ends_while_the_engine_is_reset");
    for (unsigned ring : {0u, 2u}) {
        Bench bench(checks, random);
        bench.poison_pace = 1u << 30;
        bench.claim(1, ring, 0, true);
        bench.reset(500);
        bench.finish(1, false);
        for (int i = 0; i < 300; i++)
            bench.tick();
        checks.that(bench.reset_left && bench.slots[1].used, "it does not end in the reset");
        checks.equal(bench.core(false, FERRY_CORE_WORK) & FERRY_CORE_WORK_FINISH_MASK, 0, "nor is it asked of");
        for (int i = 0; i < 300; i++)
            bench.tick();
        checks.that(bench.slots[1].used && (bench.core(false, FERRY_CORE_WORK) & FERRY_CORE_WORK_FINISH_MASK),
                    "it is asked of behind the reset");
        bench.answer(true);
        for (int i = 0; i < 300; i++)
            bench.tick();
        checks.that(!bench.busy(), "it ends");
        bench.compare_registers();
    }
}

// The firmware is stopped before it answers what it was asked of a buffer; the next one is asked of its own buffers
// only.
void stopped_while_it_is_asked(Checks &checks, Random &random)
{
    checks.begin("what_a_stopped_core_did_not_answer_is_not_asked_of_the_next");
    for (unsigned ring : {0u, 2u}) {
        Bench bench(checks, random);
        bench.poison_pace = 1u << 30;
        bench.claim(1, ring, 0, true);
        bench.finish(1, true);
        for (int i = 0; i < 100; i++)
            bench.tick();
        checks.that(bench.core(false, FERRY_CORE_WORK) & FERRY_CORE_WORK_FINISH_MASK, "the firmware is asked");
        bench.top.run = 0;
        for (int i = 0; i < 10; i++)
            bench.tick();
        bench.top.settled = 1;
        bench.slots[1] = Slot();
        bench.endings[ring == 0].clear();
        bench.rings[ring].taken--;
        bench.tick();
        bench.top.settled = 0;
        bench.top.run = 1;
        for (int i = 0; i < 100; i++)
            bench.tick();
        checks.equal(bench.core(false, FERRY_CORE_WORK) & FERRY_CORE_WORK_FINISH_MASK, 0, "the next one is asked");
        bench.claim(0, ring, 0, true);
        bench.finish(0, false);
        for (int i = 0; i < 300; i++)
            bench.tick();
        checks.that(!bench.busy(), "its buffer ends");
        bench.compare_registers();
    }
}

// The core is stopped in any cycle around the end of a buffer: the record leaves or it does not, and what the registers
// say is what left.
void stops(Checks &checks, Random &random)
{
    checks.begin("a_core_stopped_in_any_cycle_ends_a_buffer_wholly_or_not_at_all");
    for (unsigned cycle = 0; cycle < 60; cycle++) {
        Bench bench(checks, random);
        bench.poison_pace = 1u << 30;
        for (unsigned round = 0; round < 3; round++) {
            bench.claim(0, 3, 1, true);
            bench.claim(1, 0, 2, true);
            for (int i = 0; i < 200 && (bench.slots[0].to_offer || bench.slots[1].to_offer); i++)
                bench.tick();
            bench.finish(0, false);
            bench.finish(1, false);
            if (round == 1) {
                for (unsigned i = 0; i < cycle; i++)
                    bench.tick();
                // A change of the table that waits is dropped, and so is a record that the firmware was filling.
                bench.update_pace = 1u << 30;
                bench.core(true, FERRY_CORE_MMU_CONTROL, 1);
                bench.top.run = 0;
                bench.tick();
                checks.that(!bench.top.update_valid, "the change is dropped");
                for (int i = 0; i < 200; i++)
                    bench.tick();
                checks.that(!bench.top.post_busy, "no record begins");
                bench.retire_pace = 1;
                for (int i = 0; i < 20; i++)
                    bench.tick();
                bench.top.settled = 1;
                for (Slot &s : bench.slots)
                    s = Slot();
                bench.endings[0].clear();
                bench.endings[1].clear();
                for (int i = 0; i < 5; i++)
                    bench.tick();
                for (Ring &r : bench.rings)
                    r.taken = r.retired;
                bench.compare_registers();
                bench.top.settled = 0;
                bench.top.run = 1;
                bench.retire_pace = 8;
                bench.update_pace = 4;
                bench.tick();
                checks.equal(bench.core(false, FERRY_CORE_ENGINE_STATE), 0, "no job is left");
                checks.equal((bench.core(false, FERRY_CORE_ABORTED) & FERRY_CORE_ABORTED_SLOTS_MASK) |
                                 bench.core(false, FERRY_CORE_POISON),
                             0, "marks");
            } else {
                for (int i = 0; i < 800 && bench.busy(); i++)
                    bench.tick();
                checks.that(!bench.busy(), "both end");
                for (int i = 0; i < 20; i++)
                    bench.tick();
                bench.compare_registers();
            }
        }
    }
}

} // namespace

int main()
{
    Random random;
    Checks checks;
    order(checks, random);
    stuck(checks, random);
    many_jobs(checks, random);
    turns(checks, random);
    counts_go_round(checks, random);
    records(checks, random);
    buffers(checks, random);
    stops(checks, random);
    stopped_while_it_is_asked(checks, random);
    resets(checks, random);
    core_registers(checks, random);
    return checks.done();
}
