// SPDX-License-Identifier: Apache-2.0
// The page-table unit between two memories: constant latency, or random stalls on every channel.
#ifndef BENCH_H
#define BENCH_H

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "../random.h"
#include "Vpage_tables_under_test.h"
#include "tables.h"
#include "verilated.h"

struct Burst {
    uint64_t address;
    unsigned beats;
    uint64_t due;
    unsigned given = 0;
    // What was read when the burst was taken; if empty, each word is read when it is given.
    std::vector<uint64_t> words = {};
    std::vector<bool> bad = {};
};

struct Bench {
    std::unique_ptr<Vpage_tables_under_test> top = std::make_unique<Vpage_tables_under_test>();
    Tables tables;
    Random random;
    uint64_t now = 0;
    unsigned latency = 1;
    unsigned stall = 0; // percent
    // A memory that takes no address and gives no further beat.
    bool dead[2] = {};
    unsigned error_response = 2; // SLVERR; 3 is DECERR.
    uint64_t dropped = 0;        // the last cycle in which jobs were dropped
    std::deque<Burst> bursts[2];
    std::string wrong;
    uint64_t reads = 0, beats = 0, misses = 0;

    // A request of each side, from the cycle it was raised; its answer, once.
    struct Side {
        bool valid = false, answered = false;
        Request request;
        uint64_t since = 0, until = 0;
        Answer answer;
    } sides[2];

    bool forgetting = false;
    bool forgot = false; // in the cycle that was stepped

    explicit Bench(uint64_t seed = 1) : random(seed)
    {
        top->rst = 1;
        top->clk = 0;
        for (int i = 0; i < 3; i++)
            step();
        top->rst = 0;
    }

    void complain(const std::string &text)
    {
        if (wrong.empty())
            wrong = text + " in cycle " + std::to_string(now);
    }

    void set_root(unsigned space, const Root &root)
    {
        tables.roots[space] = root;
        top->root_valid = 1;
        top->root_space = space;
        top->root_there = root.valid;
        top->root_host = root.host;
        top->root_snoop = root.snoop;
        top->root_height = root.height;
        top->root_page = root.address >> 12;
        bool ready;
        do
            ready = step();
        while (!ready);
        top->root_valid = 0;
    }

    void begin_forget(unsigned scope, unsigned space, uint64_t address)
    {
        top->forget_valid = 1;
        top->forget_scope = scope;
        top->forget_space = space;
        top->forget_page = address >> 12;
        forgetting = true;
    }

    // Forgets, and says in how many cycles.
    uint64_t forget(unsigned scope, unsigned space = 0, uint64_t address = 0)
    {
        uint64_t begin = now;
        begin_forget(scope, space, address);
        while (forgetting && now < begin + 100000)
            step();
        return now - begin;
    }

    // As a reset, for all that is known. What is under way ends a cycle later: until then an answer of before may come.
    void clear()
    {
        for (Root &root : tables.roots)
            root = {};
        top->clear = 1;
        step();
        top->clear = 0;
        step();
    }

    void ask(unsigned side, const Request &request) { sides[side] = {true, false, request, now, 0, {}}; }

    // A reset, of the memories too, which take nothing meanwhile: nobody is owed anything.
    void reset()
    {
        dead[0] = dead[1] = true;
        for (int memory = 0; memory < 2; memory++) {
            bursts[memory].clear();
            shown[memory] = held[memory] = false;
        }
        for (Side &side : sides)
            side = {};
        for (Root &root : tables.roots)
            root = {};
        forgetting = false;
        top->forget_valid = top->root_valid = top->drop = 0;
        top->rst = 1;
        for (int i = 0; i < 3; i++)
            step();
        top->rst = dead[0] = dead[1] = 0;
    }

    // The answer, in how many cycles behind the one in which it was first asked for.
    Answer get(unsigned side, const Request &request, uint64_t *cycles = nullptr)
    {
        ask(side, request);
        while (!sides[side].answered && now < sides[side].since + 100000)
            step();
        if (!sides[side].answered)
            complain("no answer");
        if (cycles != nullptr)
            *cycles = sides[side].until - sides[side].since;
        return sides[side].answer;
    }

    bool free() { return stall == 0 || !random.chance(stall); }

    void put(int memory)
    {
        bool there =
            shown[memory] || (!dead[memory] && !bursts[memory].empty() && now >= bursts[memory].front().due && free());
        shown[memory] = there;
        uint64_t data = random.next();
        bool error = false, last = random.chance(50);
        if (there) {
            Burst &burst = bursts[memory].front();
            uint64_t address = burst.address + 8 * burst.given;
            error = burst.words.empty() ? tables.in(memory).bad.count(address) != 0 : (bool)burst.bad[burst.given];
            data = burst.words.empty() ? tables.in(memory).at(address) : burst.words[burst.given];
            last = burst.given + 1 == burst.beats;
        }
        (memory ? top->host_rvalid : top->local_rvalid) = there;
        (memory ? top->host_rdata : top->local_rdata) = data;
        (memory ? top->host_rresp : top->local_rresp) = error ? error_response : 0;
        (memory ? top->host_rlast : top->local_rlast) = last;
        (memory ? top->host_arready : top->local_arready) = !dead[memory] && free();
    }

    void take(int memory)
    {
        bool valid = memory ? top->host_arvalid : top->local_arvalid;
        uint64_t address = memory ? top->host_araddr : top->local_araddr;
        unsigned length = memory ? top->host_arlen : top->local_arlen;
        bool no_snoop = memory && top->host_arnosnoop;
        if (held[memory] && (!valid || address != held_address[memory] || length != held_length[memory] ||
                             no_snoop != held_no_snoop[memory]))
            complain("a read changed before it was taken");
        if (valid && !held[memory] && top->drop)
            complain("a read began while jobs were dropped");
        held[memory] = valid && !(memory ? top->host_arready : top->local_arready);
        held_address[memory] = address;
        held_length[memory] = length;
        held_no_snoop[memory] = no_snoop;
        if (valid && !held[memory]) {
            if (address % 8 != 0 || address % 64 + 8 * length >= 64)
                complain("a burst beyond its 64 bytes");
            if (!memory && address + 8 * (length + 1) > tables.limits.local)
                complain("a table was read outside video memory");
            if (snoops != nullptr && memory && snoops->at(address / PAGE * PAGE) == no_snoop)
                complain("a table was snooped wrongly");
            bursts[memory].push_back({address, length + 1, now + latency});
            if (random.chance(50)) {
                for (unsigned i = 0; i <= length; i++) {
                    bursts[memory].back().words.push_back(tables.in(memory).at(address + 8 * i));
                    bursts[memory].back().bad.push_back(tables.in(memory).bad.count(address + 8 * i) != 0);
                }
            }
            reads++;
        }
        if ((memory ? top->host_rvalid && top->host_rready : top->local_rvalid && top->local_rready)) {
            Burst &burst = bursts[memory].front();
            beats++;
            shown[memory] = false;
            if (++burst.given == burst.beats)
                bursts[memory].pop_front();
        }
    }

    // Reads that stand on a bus or are not answered to their end.
    unsigned owed() const { return unsigned(bursts[0].size() + bursts[1].size()) + held[0] + held[1]; }

    // One cycle; true if a root would be taken.
    bool step()
    {
        top->local_limit = (uint32_t)tables.limits.local;
        top->protect_base = (uint32_t)tables.limits.protect_base;
        top->protect_limit = (uint32_t)tables.limits.protect_limit;
        top->lookup_valid = sides[0].valid | sides[1].valid << 1;
        for (int side = 0; side < 2; side++) {
            const Request &request = sides[side].request;
            (side ? top->lookup1_space : top->lookup0_space) = request.space;
            (side ? top->lookup1_page : top->lookup0_page) = request.address >> 12;
            (side ? top->lookup1_write : top->lookup0_write) = request.write;
            (side ? top->lookup1_protected : top->lookup0_protected) = request.may_protected;
        }
        for (int memory = 0; memory < 2; memory++)
            put(memory);
        top->clk = 0;
        top->eval();
        bool root_taken = top->root_ready;
        forgot = top->forget_valid && top->forget_ready;
        const bool owes = top->local_arvalid || top->host_arvalid || !bursts[0].empty() || !bursts[1].empty();
        if (!top->rst) {
            const bool moved = (top->local_arvalid && top->local_arready) || (top->host_arvalid && top->host_arready) ||
                               (top->local_rvalid && top->local_rready) || (top->host_rvalid && top->host_rready);
            if (top->owed != owed_before || top->moves != moved)
                complain("what memory owes is not shown as it is");
            if ((top->read && !top->walking) || (top->walking && top->lookup_valid == 0))
                complain("walks are not shown as they are");
            misses += top->missed;
            // Who was stopped by what was forgotten before is answered first.
            const bool begins = top->forget_valid && !stopped[0] && !stopped[1];
            if (top->forgets ? top->missed : begins || top->clear)
                complain("forgetting is not shown as it is");
            for (int memory = 0; memory < 2; memory++)
                take(memory);
            for (int side = 0; side < 2; side++)
                if (top->answer_valid >> side & 1)
                    answer(side);
        }
        owed_before = owes && !top->rst;
        for (int side = 0; side < 2; side++)
            stopped[side] = (forgot || stopped[side]) && sides[side].valid && !top->rst;
        if (forgot)
            for (auto &queue : bursts)
                if (!queue.empty())
                    complain("a read was out when all was forgotten");
        dropped = top->drop ? now : dropped;
        top->clk = 1;
        top->eval();
        if (forgot) {
            forgetting = false;
            top->forget_valid = 0;
        }
        now++;
        return root_taken;
    }

    // What each table in host memory is to be read with, if that is looked at.
    std::unordered_map<uint64_t, bool> *snoops = nullptr;

  private:
    bool shown[2] = {}, held[2] = {}, held_no_snoop[2] = {}, stopped[2] = {}, owed_before = false;
    uint64_t held_address[2] = {};
    unsigned held_length[2] = {};

    void answer(int number)
    {
        Side &side = sides[number];
        if (!side.valid) {
            complain("an answer to nothing");
            return;
        }
        Answer &given = side.answer;
        given = {};
        given.fault = top->answer_fault;
        if (top->answer_hit) {
            given.host = top->answer_host;
            given.snoop = top->answer_snoop;
            given.address = (uint64_t)top->answer_page << 12;
        } else {
            given.height = top->answer_height;
            given.seen = number ? top->seen1 : top->seen0;
        }
        if (top->answer_hit != (given.fault == FERRY_FAULT_KIND_NONE))
            complain("a hit with a fault, or none without");
        side.valid = false;
        side.answered = true;
        side.until = now;
    }
};

#endif
