// SPDX-License-Identifier: Apache-2.0
// The multiplexers step by step: whose turn it is, what stands on the shared port, and what comes back from it.
#pragma once

#include <memory>
#include <string>

#include "Vfabric_under_test.h"

// Three masters that ask for a write without an end, each for bursts of two beats at addresses of its own.
struct WriteTurns {
    std::unique_ptr<Vfabric_under_test> top = std::make_unique<Vfabric_under_test>();
    unsigned shown = 0, taken = 0; // addresses
    unsigned beats = 0;
    bool stands = false;
    std::string wrong;

    WriteTurns() { reset(4); }

    void reset(unsigned cycles)
    {
        top->rst = 1;
        for (unsigned i = 0; i < 2 * cycles; i++) {
            top->clk = i & 1;
            top->eval();
        }
        top->rst = 0;
        shown = taken = beats = 0;
        stands = false;
    }

    // One cycle, of which masters ask and what the slave takes; addresses come in turn, and data in the order of
    // addresses.
    void step(unsigned asking, bool address, bool data)
    {
        top->aw_valid = asking;
        top->aw_address = 0x3000'2000'1000;
        top->aw_length = 0x010101;
        top->w_valid = 7;
        for (unsigned i = 0; i < 3; i++) {
            top->w_data[2 * i] = i;
            top->w_data[2 * i + 1] = 0;
        }
        top->w_last = beats % 2 ? 7 : 0;
        top->m_awready = address;
        top->m_wready = data;
        top->clk = 0;
        top->eval();
        const bool writes = top->m_wvalid;
        if (writes && beats / 2 >= shown)
            complain("data without an address");
        if (writes && top->m_wdata != beats / 2 % 3)
            complain("data of master " + std::to_string(top->m_wdata));
        if (top->w_ready != (writes && data ? 1u << beats / 2 % 3 : 0))
            complain("data of another master is taken");
        if (stands && !top->m_awvalid)
            complain("an address that stood is gone");
        if (top->m_awvalid && (top->m_awid != taken % 3 || top->m_awaddr != 0x1000 * (taken % 3 + 1)))
            complain("the turn is that of " + std::to_string(taken % 3) + ", not of " + std::to_string(top->m_awid));
        if (top->aw_ready != (top->m_awvalid && address ? 1u << top->m_awid : 0))
            complain("an address is taken that is not shown");
        shown += top->m_awvalid && !stands;
        taken += top->m_awvalid && address;
        stands = top->m_awvalid && !address;
        beats += writes && data;
        top->clk = 1;
        top->eval();
    }

  private:
    void complain(const std::string &text)
    {
        if (wrong.empty())
            wrong = text + ", behind " + std::to_string(taken) + " addresses and " + std::to_string(beats) + " beats";
    }
};

// Eight bursts may be announced whose data is not through; then the next waits, and is still that of the master whose
// turn it is, however long it waits and whether or not the slave would take it. One that fills the last place stays.
inline std::string writes_in_turn()
{
    for (unsigned wait = 0; wait < 7; wait++) {
        WriteTurns turns;
        for (unsigned i = 0; i < 7; i++)
            turns.step(7, true, false);
        for (unsigned i = 0; i < wait; i++)
            turns.step(7, false, false);
        if (turns.shown != (wait != 0 ? 8 : 7) || turns.taken != 7)
            return "the eighth address is not shown";
        for (unsigned i = 0; i < 5; i++)
            turns.step(7, true, false);
        if (turns.taken != 8)
            return std::to_string(turns.taken) + " bursts are announced, not 8";
        // Of the two beats of one the first gives no place free.
        for (unsigned burst = 1; burst < 20; burst++) {
            for (unsigned beat = 0; beat < 2; beat++) {
                turns.step(7, true, true);
                for (unsigned i = 0; i < (burst + wait) % 4; i++)
                    turns.step(7, (burst + i) % 2, false);
            }
            turns.step(7, true, false);
            if (turns.taken != 8 + burst || turns.beats != 2 * burst)
                return std::to_string(turns.taken) + " addresses behind " + std::to_string(turns.beats) + " beats";
        }
        if (!turns.wrong.empty())
            return "wait " + std::to_string(wait) + ": " + turns.wrong;
    }
    return "";
}

// The data of an address may go before that is taken, and no other: a slave that takes data at once and addresses late.
inline std::string data_before_its_address()
{
    WriteTurns turns;
    for (unsigned burst = 1; burst < 20; burst++) {
        for (unsigned i = 0; i < 4 + burst % 3; i++)
            turns.step(7, false, true);
        if (turns.shown != burst || turns.beats != 2 * burst)
            return std::to_string(turns.beats) + " beats of " + std::to_string(turns.shown) + " addresses";
        turns.step(7, true, burst % 2);
    }
    return turns.wrong;
}

// A reset of one cycle while an address stands whose data went before it or not: what is asked for then begins anew.
inline std::string writes_over_a_reset()
{
    for (unsigned before = 0; before < 6; before++) {
        WriteTurns turns;
        for (unsigned i = 0; i < before; i++)
            turns.step(7, i % 3 == 1, i % 2);
        turns.step(7, false, false);
        turns.top->rst = 1;
        turns.top->eval();
        turns.reset(1);
        for (unsigned i = 0; i < 12; i++)
            turns.step(7, i % 3 == 2, false);
        for (unsigned i = 0; i < 8; i++)
            turns.step(0, true, true);
        if (turns.taken != 4 || turns.beats != 8)
            return std::to_string(turns.taken) + " addresses and " + std::to_string(turns.beats) +
                   " beats behind a reset";
        if (!turns.wrong.empty())
            return std::to_string(before) + " cycles before the reset: " + turns.wrong;
    }
    return "";
}

// What comes back goes to the master that its ID names, with its response; what nobody has asked for is taken.
inline std::string answers_come_back()
{
    WriteTurns turns;
    Vfabric_under_test &top = *turns.top;
    top.m_bvalid = top.m_rvalid = 1;
    for (unsigned id = 0; id < 4; id++)
        for (unsigned ready = 0; ready < 8; ready++)
            for (unsigned response = 0; response < 4; response++) {
                const std::string where = "id " + std::to_string(id) + ", response " + std::to_string(response);
                top.m_bid = top.m_rid = id;
                top.m_bresponse = top.m_rresponse = response;
                top.m_rfault = 0x5a ^ (ready << 3 | response);
                top.m_rdata = 0x0123456789abcdef * (ready + 1);
                top.m_rlast = ready & 1;
                top.b_ready = top.r_ready = ready;
                top.eval();
                const unsigned whose = id < 3 ? 1u << id : 0;
                const bool takes = id == 3 || (ready & whose) != 0;
                if (top.b_valid != whose || top.m_bready != takes || (whose && top.b_response != response))
                    return "of writes: " + where;
                if (top.r_valid != whose || top.m_rready != takes ||
                    (whose && (top.r_response != response || top.r_fault != top.m_rfault || top.r_data != top.m_rdata ||
                               top.r_last != top.m_rlast)))
                    return "of reads: " + where;
            }
    return "";
}

// Reads of three masters in turn, however long the slave takes; what is shown stays.
inline std::string reads_in_turn()
{
    for (unsigned wait = 0; wait < 4; wait++) {
        WriteTurns turns;
        Vfabric_under_test &top = *turns.top;
        unsigned taken = 0;
        for (unsigned cycle = 0; cycle < 60; cycle++) {
            // Master 0 comes a cycle late, and must not be put before who is shown.
            top.ar_valid = cycle == 0 ? 6 : 7;
            top.ar_address = 0x3000'2000'1000;
            top.ar_length = 0x030201;
            top.m_arready = cycle % (wait + 1) == wait;
            top.clk = 0;
            top.eval();
            const unsigned turn = (taken + 1) % 3;
            if (!top.m_arvalid || top.m_arid != turn || top.m_araddr != 0x1000 * (turn + 1) || top.m_arlen != turn + 1)
                return "the turn is that of " + std::to_string(turn) + ", not of " + std::to_string(top.m_arid);
            if (top.ar_ready != (top.m_arready ? 1u << turn : 0))
                return "a request is taken that is not shown";
            taken += top.m_arready;
            top.clk = 1;
            top.eval();
        }
    }
    return "";
}
