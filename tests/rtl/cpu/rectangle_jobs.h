// SPDX-License-Identifier: Apache-2.0
// Rectangles through the sequencer: the firmware's to check, then a job for each piece, every byte of every row once
// and at the address that the published interleaves say, whatever stops the walk and whoever takes it in between.
#ifndef FERRY_TESTS_RTL_CPU_RECTANGLE_JOBS_H
#define FERRY_TESTS_RTL_CPU_RECTANGLE_JOBS_H

#include <algorithm>

#include "../rectangle/images.h"
#include "sequencer_bench.h"

class RectangleJobs
{
  public:
    explicit RectangleJobs(Bench &bench) : bench(bench), random(bench.random) {}

    void run()
    {
        bench.checks.begin("rectangles_are_walked_once_whatever_stops_them");
        for (bool stall : {false, true})
            for (unsigned round = 0; round < 300 && sound(); round++) {
                bench.stall = stall;
                one_buffer();
            }
        bench.checks.begin("rectangles_that_take_each_others_place_come_to_their_end");
        for (bool stall : {false, true})
            for (unsigned round = 0; round < 100 && sound(); round++) {
                bench.stall = stall;
                displaced();
            }
        bench.checks.begin("a_rectangle_of_the_next_core_begins_anew_where_that_of_a_stopped_one_was");
        for (unsigned round = 0; round < 200 && sound(); round++) {
            bench.stall = round % 2;
            restarted();
        }
        bench.checks.begin("a_rectangle_begins_anew_where_another_of_its_buffer_made_way");
        for (unsigned round = 0; round < 200 && sound(); round++) {
            bench.stall = round % 2;
            second_of_a_buffer();
        }
        bench.checks.begin("a_rectangle_that_makes_way_while_it_passes_over_rows_loses_none");
        for (unsigned round = 0; round < 60 && sound(); round++) {
            bench.stall = round % 2;
            stopped_as_it_passes();
        }
        bench.checks.begin("a_rectangle_whose_buffer_ends_in_any_cycle_of_anothers_beginning_is_not_gone_on_with");
        for (unsigned round = 0; round < 300 && sound(); round++) {
            bench.stall = round % 2;
            ended_in_between(round % 50);
        }
        bench.checks.begin("a_rectangle_of_a_slot_whose_jobs_are_dropped_is_over_with_its_next_piece");
        for (bool stall : {false, true})
            for (unsigned round = 0; round < 100 && sound(); round++) {
                bench.stall = stall;
                dropped();
            }
        bench.stall = false;
        bench.checks.begin("what_follows_a_rectangle_is_not_taken_on_its_word");
        for (unsigned round = 0; round < 60 && sound(); round++)
            followed();
    }

  private:
    struct Packet {
        Rectangle rectangle;
        Words words;
        uint32_t slot, offset, bytes;
    };

    // A walk that has failed is not gone on with: it may have no end, and each of its starts would be waited for.
    bool sound() const { return bench.checks.faults() == 0; }
    Side some_side()
    {
        uint32_t kind = random.below(11);
        Side side = {{kind == 0 ? nullptr : &elements[(kind - 1) / 2], kind % 2 ? 12u : 16u, 0, 0},
                     random.below(9000),
                     random.below(600)};
        // Far enough from a multiple of 4 GiB.
        side.image.base = (uint64_t{random.below(1 << 20)} << 32) + 0x40000000 + random.below(0x40000000);
        if (!side.tiled()) {
            side.image.pitch = static_cast<int64_t>(random.below(20000)) - 4000;
        } else {
            side.image.base = side.image.base >> side.image.tile_log2 << side.image.tile_log2;
            side.image.pitch = static_cast<int64_t>(1 + random.below(9)) << side.image.tile_log2;
            if (random.once_in(4))
                side.image.pitch = -side.image.pitch;
        }
        return side;
    }
    Packet some_packet(uint32_t slot)
    {
        Packet p = {{some_side(), some_side(), 1 + random.below(200), 1 + random.below(6)}, {}, slot, 0, 0};
        const Rectangle &r = p.rectangle;
        p.words = nop(2 + 2 * random.below(6));
        p.offset = 4 * static_cast<uint32_t>(p.words.size());
        Words w = {header(FERRY_OPCODE_COPY_RECTANGLE, 12, random.below(4) << 8), kinds(VIRTUAL, LOCAL), r.width,
                   r.rows - 1};
        put64(w, r.source.first());
        put64(w, r.destination.first());
        put64(w, r.source.layout());
        put64(w, r.destination.layout());
        p.words.insert(p.words.end(), w.begin(), w.end());
        p.bytes = 4 * static_cast<uint32_t>(p.words.size());
        for (size_t i = 0; i < p.words.size() / 2; i++)
            bench.ram[slot * 512 + i] = p.words[2 * i] | uint64_t{p.words[2 * i + 1]} << 32;
        return p;
    }
    // Until the sequencer rests; a stop after so many cycles, behind which no further job comes.
    void start(const Packet &p, bool checked, unsigned stop_after = ~0u)
    {
        bench.slot = p.slot;
        bench.top.buffer_bytes = p.bytes;
        bench.start(p.offset, checked);
        size_t most = SIZE_MAX;
        for (unsigned i = 0; i < 20000 && bench.top.busy; i++) {
            bench.top.stop = stop_after-- == 0;
            bool stops = bench.top.stop;
            bench.tick();
            if (stops)
                most = bench.jobs.size();
        }
        bench.checks.that(!bench.top.busy, "comes to rest");
        bench.checks.that(bench.jobs.size() <= most, "no job behind a stop");
    }
    void end_slot(uint32_t slot)
    {
        bench.top.slot_ended = 1;
        bench.top.slot_ended_number = slot;
        bench.tick();
        bench.top.slot_ended = 0;
    }
    // The jobs, of which the first `stale` were of walks that did not count in the end. At those of `again`, in order,
    // the walk goes on with the first byte of the row that it was in.
    void compare(const Packet &p, size_t stale, const std::vector<size_t> &again = {})
    {
        const Rectangle &r = p.rectangle;
        Checks &checks = bench.checks;
        uint32_t row = 0, at = 0;
        for (size_t n = stale; n < bench.jobs.size(); n++) {
            const oracle_action &job = bench.jobs[n];
            bool first = n == stale || std::count(again.begin(), again.end(), n);
            if (first)
                at = 0;
            checks.equal(job.op, FERRY_JOB_OP_COPY, "operation");
            checks.equal(job.packet_offset, p.offset, "packet");
            checks.equal(job.source_kind, VIRTUAL, "source kind");
            checks.equal(job.destination_kind, LOCAL, "destination kind");
            checks.equal(job.unordered, !first || (p.words[p.offset / 4] >> 8 & 1), "unordered");
            if (row == r.rows || job.length == 0 || job.length > r.width - at) {
                checks.that(false, "a piece outside the row");
                return;
            }
            checks.equal(job.is_protected, p.words[p.offset / 4] >> 9 & 1, "protected");
            for (uint32_t i = 0; i < job.length; i++) {
                checks.equal(job.source + i, r.source.byte(at + i, row), "byte's source");
                checks.equal(job.destination + i, r.destination.byte(at + i, row), "byte's destination");
            }
            at += job.length;
            if (at == r.width) {
                at = 0;
                row++;
            }
            checks.equal(bench.more[n], row != r.rows, "more jobs of the packet");
        }
        checks.equal(row, r.rows, "rows");
    }
    void whole(const Packet &p)
    {
        bench.jobs.clear();
        bench.more.clear();
        start(p, true);
        bench.checks.that(bench.top.ended, "ends");
        compare(p, 0);
    }
    // A packet of the paging ring that is no rectangle: a job, and the walk waits where it is.
    void another(uint32_t slot)
    {
        std::vector<oracle_action> kept = bench.jobs;
        std::vector<bool> more = bench.more;
        uint32_t own = bench.slot, bytes = bench.top.buffer_bytes;
        Packet p = {{}, fill(LOCAL, 8, 64, 3), slot, 2048, 2048 + 32}; // Behind a rectangle's.
        for (size_t i = 0; i < p.words.size() / 2; i++)
            bench.ram[slot * 512 + p.offset / 8 + i] = p.words[2 * i] | uint64_t{p.words[2 * i + 1]} << 32;
        bench.jobs.clear();
        start(p, true); // Whatever limits the cases before have left.
        bench.checks.equal(bench.jobs.size(), 1, "another's job");
        bench.jobs = kept;
        bench.more = more;
        bench.slot = own;
        bench.top.buffer_bytes = bytes;
        bench.top.ended = 0;
    }
    // The core is stopped while a walk is stopped, or made way for another one; the next core's buffers in the same
    // slots have their rectangles at the same places. Nobody says of the slots of a stopped core that their buffers
    // have ended.
    void restarted()
    {
        uint32_t slot = random.below(4), other = (slot + 1 + random.below(3)) % 4;
        Packet p = some_packet(slot), q = some_packet(other);
        bench.space = random.below(16);
        bench.jobs.clear();
        bench.more.clear();
        start(p, true, 20 + random.below(200));
        if (random.once_in(2))
            start(q, true, random.once_in(2) ? 20 + random.below(200) : ~0u);
        // Also in the midst of a packet.
        if (random.once_in(2)) {
            bench.top.buffer_bytes = p.bytes;
            bench.slot = slot;
            bench.start(p.offset, true);
            for (unsigned left = random.below(60); left; left--)
                bench.tick();
        }
        bench.top.run = 0;
        bench.tick();
        bench.checks.that(!bench.top.busy && !bench.top.job_valid, "a stopped core's sequencer rests");
        bench.tick();
        bench.top.run = 1;
        Packet next = some_packet(slot);
        // At the very place: with as many words in front of it.
        while (next.offset != p.offset)
            next = some_packet(slot);
        whole(next);
        while (q.offset != p.offset)
            q = some_packet(other);
        whole(q);
        end_slot(slot);
        end_slot(other);
    }
    // Two rectangles in a buffer: the first makes way for another buffer's and then comes to its end. The second begins
    // with its own first row.
    void second_of_a_buffer()
    {
        uint32_t slot = random.below(4), other = (slot + 1 + random.below(3)) % 4;
        Packet p = some_packet(slot), q = some_packet(other), next = some_packet(slot);
        next.words.erase(next.words.begin(), next.words.end() - 12);
        next.words.insert(next.words.begin(), p.words.begin(), p.words.end());
        next.offset = p.bytes;
        next.bytes = p.bytes = 4 * static_cast<uint32_t>(next.words.size());
        for (size_t i = 0; i < next.words.size() / 2; i++)
            bench.ram[slot * 512 + i] = next.words[2 * i] | uint64_t{next.words[2 * i + 1]} << 32;
        bench.space = random.below(16);
        bench.jobs.clear();
        bench.more.clear();
        start(p, true, 20 + random.below(200));
        if (bench.top.offset == p.offset)
            start(q, true, random.once_in(2) ? 20 + random.below(200) : ~0u);
        start(p, true); // To the second, which the firmware has not checked.
        bench.checks.equal(bench.top.offset, next.offset, "the first comes to its end");
        bench.jobs.clear();
        bench.more.clear();
        start(next, true);
        bench.checks.that(bench.top.ended, "ends");
        compare(next, 0);
        end_slot(slot);
        end_slot(other);
    }
    // A rectangle of 300 rows, each a job.
    Packet many_rows(uint32_t slot)
    {
        Packet p = some_packet(slot);
        while (p.rectangle.source.tiled() || p.rectangle.destination.tiled())
            p = some_packet(slot);
        p.rectangle.rows = 300;
        p.words[p.offset / 4 + 3] = 299;
        bench.ram[slot * 512 + p.offset / 8 + 1] = p.rectangle.width | uint64_t{299} << 32;
        return p;
    }
    // Two walks made way for each other; the first is stopped while it passes over the rows before its own, and makes
    // way again. It goes on with its own row or begins anew.
    void stopped_as_it_passes()
    {
        uint32_t slot = random.below(4);
        Packet p = many_rows(slot), q = many_rows((slot + 1 + random.below(3)) % 4);
        bench.space = random.below(16);
        bench.jobs.clear();
        start(p, true, 200 + random.below(200));
        size_t done = bench.jobs.size();
        start(q, true, 300 + random.below(200));
        bench.jobs.clear();
        start(p, true, 35 + random.below(15));
        done += bench.jobs.size();
        start(q, true, 300 + random.below(100));
        bench.jobs.clear();
        bench.more.clear();
        start(p, true);
        bench.checks.that(bench.top.ended, "ends");
        const size_t jobs = bench.jobs.size();
        bench.checks.that(jobs == 300 || jobs == 300 - done, "rows from the first or from the one that it was in");
        for (size_t n = 0; n < jobs; n++)
            bench.checks.equal(bench.jobs[n].source, p.rectangle.source.byte(0, static_cast<uint32_t>(300 - jobs + n)),
                               "row's source");
        end_slot(p.slot);
        end_slot(q.slot);
    }
    // Another buffer's rectangle takes a walk's place while the buffer of that ends; the slot's next one has a
    // rectangle at the same place.
    void ended_in_between(unsigned cycle)
    {
        uint32_t slot = random.below(4), other = (slot + 1 + random.below(3)) % 4;
        Packet p = some_packet(slot), q = some_packet(other);
        while (p.rectangle.rows < 3)
            p = some_packet(slot);
        bench.space = random.below(16);
        bench.jobs.clear();
        bench.more.clear();
        start(p, true, bench.stall ? 80 : 30);
        bench.slot = other;
        bench.top.buffer_bytes = q.bytes;
        bench.start(q.offset, true);
        for (unsigned i = 0; i < cycle; i++)
            bench.tick();
        end_slot(slot);
        for (unsigned i = 0; i < 20000 && bench.top.busy; i++)
            bench.tick();
        Packet next = some_packet(slot);
        while (next.offset != p.offset)
            next = some_packet(slot);
        whole(next);
        end_slot(slot);
        end_slot(other);
    }
    // From some cycle on the slot's jobs are dropped; then one piece more is queued at most, and each rectangle behind
    // is one job. Other slots' marks count for nothing.
    void dropped()
    {
        uint32_t slot = random.below(4), others = 15 & ~(1u << slot);
        Packet p = some_packet(slot);
        uint32_t pieces = p.rectangle.rows * p.rectangle.width;
        bench.space = random.below(16);
        bench.jobs.clear();
        bench.more.clear();
        bench.slot = slot;
        bench.top.buffer_bytes = p.bytes;
        bench.top.slots_dropped = others;
        bench.start(p.offset, true);
        for (unsigned left = random.below(60); left && bench.top.busy; left--)
            bench.tick();
        if (bench.top.busy) {
            size_t before = bench.jobs.size();
            bench.top.slots_dropped = others | 1u << slot;
            for (unsigned i = 0; i < 20 * (1 + 3 * bench.stall) * 4 && bench.top.busy; i++)
                bench.tick();
            bench.checks.that(!bench.top.busy && bench.top.ended, "it is over");
            bench.checks.that(bench.jobs.size() - before <= 2 && bench.jobs.size() <= pieces, "at most one piece more");
            bench.checks.that(!bench.jobs.empty() && !bench.more.back(), "its last job");
        }
        // Walked again while its slot is dropped: one job.
        bench.top.slots_dropped = others | 1u << slot;
        bench.jobs.clear();
        bench.more.clear();
        start(p, true);
        bench.checks.that(bench.top.ended && bench.jobs.size() == 1 && !bench.more[0], "one job of one dropped before");
        bench.top.slots_dropped = 0;
        end_slot(slot);
        whole(p);
        end_slot(slot);
    }
    // The packet behind a rectangle that the firmware has checked is one that it has not: a bad one, or a good one of
    // those that are its to check.
    void followed()
    {
        Packet p = some_packet(random.below(4));
        Words next = copy(LOCAL, LOCAL, 8, 0, 8);
        switch (random.below(4)) {
        case 0: next[0] |= 1u << 15; break;
        case 1: next[3] = 1; break;
        case 2: next = read_bytes(LOCAL, 8, 0); break;
        default:
            next = some_packet(p.slot).words;
            next.erase(next.begin(), next.end() - 12);
            break;
        }
        uint32_t behind = p.bytes;
        // The other packet was put into the slot too.
        Words words = p.words;
        words.insert(words.end(), next.begin(), next.end());
        for (size_t i = 0; i < words.size() / 2; i++)
            bench.ram[p.slot * 512 + i] = words[2 * i] | uint64_t{words[2 * i + 1]} << 32;
        p.bytes = 4 * static_cast<uint32_t>(words.size());
        bench.jobs.clear();
        bench.more.clear();
        start(p, true);
        bench.checks.that(!bench.top.ended, "ends behind the rectangle");
        bench.checks.equal(bench.top.offset, behind, "the packet that is left");
        compare(p, 0);
        end_slot(p.slot);
    }
    void one_buffer()
    {
        uint32_t slot = random.below(4), other = (slot + 1 + random.below(3)) % 4;
        Packet p = some_packet(slot), q = some_packet(other);
        bench.space = random.below(16);
        bench.jobs.clear();
        bench.more.clear();
        start(p, false);
        bench.checks.that(bench.jobs.empty() && !bench.top.ended && bench.top.offset == p.offset,
                          "is left to the firmware");
        size_t stale = 0;
        std::vector<size_t> again;
        for (unsigned starts = 0; !bench.top.ended && starts < 2000 && sound(); starts++) {
            // The firmware looks at it anew, and then hands it back.
            if (random.once_in(2))
                start(p, false);
            start(p, true, starts < 20 ? 20 + random.below(random.once_in(3) ? 10 : 200) : ~0u);
            if (bench.top.ended)
                break;
            bench.checks.equal(bench.top.offset, p.offset, "where it stopped");
            if (random.once_in(6)) {
                end_slot(other);
            } else if (random.once_in(8)) {
                end_slot(slot);
                stale = bench.jobs.size();
            } else if (random.once_in(4)) {
                another(other);
            } else if (random.once_in(8)) {
                std::vector<oracle_action> kept = bench.jobs;
                std::vector<bool> more = bench.more;
                whole(q);
                // And yet another, behind its end: the row that is kept is still the first one's.
                if (random.once_in(2)) {
                    end_slot(other);
                    q = some_packet(other);
                    whole(q);
                }
                bench.jobs = kept;
                bench.more = more;
                again.push_back(kept.size());
                bench.top.ended = 0;
            }
        }
        bench.checks.that(bench.top.ended, "ends");
        compare(p, stale, again);
        end_slot(slot);
    }
    // Two rings' rectangles take each other's place again and again, for longer than a row takes at least now and then:
    // both come to their end.
    void displaced()
    {
        struct Walk {
            Packet p;
            std::vector<oracle_action> jobs;
            std::vector<bool> more;
            std::vector<size_t> again;
            bool ended;
        };
        uint32_t slot = random.below(4);
        Walk walks[2] = {{some_packet(slot), {}, {}, {}, false},
                         {some_packet((slot + 1 + random.below(3)) % 4), {}, {}, {}, false}};
        bench.space = random.below(16);
        const Walk *last = nullptr;
        for (unsigned turns = 0; turns < 400 && sound() && !(walks[0].ended && walks[1].ended); turns++) {
            Walk &walk = walks[turns % 2];
            if (walk.ended)
                continue;
            bench.jobs = walk.jobs;
            bench.more = walk.more;
            if (last != &walk)
                walk.again.push_back(bench.jobs.size());
            last = &walk;
            start(walk.p, true,
                  random.below(100) + (random.once_in(3) ? 0 : 100 + (bench.stall ? 40 : 4) * walk.p.rectangle.width));
            walk.ended = bench.top.ended;
            walk.jobs = bench.jobs;
            walk.more = bench.more;
        }
        for (const Walk &walk : walks) {
            bench.checks.that(walk.ended, "comes to its end");
            bench.jobs = walk.jobs;
            bench.more = walk.more;
            compare(walk.p, 0, walk.again);
            end_slot(walk.p.slot);
        }
    }

    Bench &bench;
    Random &random;
};

#endif
