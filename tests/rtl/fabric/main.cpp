// SPDX-License-Identifier: Apache-2.0
// The fabric parts together: every word of every master arrives once, in order, at the right place, under random
// stalls.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <memory>
#include <string>

#include "../random.h"
#include "turns.h"
#include "verilated.h"

namespace
{

Random chance(1);
uint64_t below(uint64_t n)
{
    return chance.below(n);
}

std::unique_ptr<Vfabric_under_test> start()
{
    auto top = std::make_unique<Vfabric_under_test>();
    top->rst = 1;
    for (int i = 0; i < 6; i++) {
        top->clk = i & 1;
        top->eval();
    }
    top->rst = 0;
    return top;
}

// FIFO, FIFO, skid buffer: order, no loss, and no stall at all when nobody stalls.
std::string row_of_queues()
{
    auto top = start();
    std::deque<uint32_t> sent;
    for (unsigned stall : {0u, 25u, 60u}) {
        uint64_t got = 0;
        for (unsigned i = 0; i < 20000; i++) {
            top->in_valid = below(100) >= stall;
            top->out_ready = below(100) >= stall;
            top->in_data = (uint32_t)chance.next();
            top->clk = 0;
            top->eval();
            if (top->in_valid && top->in_ready)
                sent.push_back(top->in_data);
            if (top->out_valid && top->out_ready) {
                if (sent.empty() || sent.front() != top->out_data)
                    return "a word is lost, new or out of order";
                sent.pop_front();
                got++;
            }
            top->clk = 1;
            top->eval();
        }
        if (got < (stall == 0 ? 19990u : 20000u * (100 - stall) / 100 * 8 / 10))
            return "too slow: " + std::to_string(got) + " words";
    }
    return "";
}

// After a reset the queues are empty, whatever stood in them, and go on as ever.
std::string queues_over_a_reset()
{
    auto top = start();
    for (unsigned before = 0; before < 40; before++) {
        uint32_t in = 1000 * before, out = in + 500;
        for (unsigned cycle = 0; cycle < before + 60; cycle++) {
            top->rst = cycle == before;
            // Nothing comes in for some cycles behind the reset: nothing may go out then.
            top->in_valid = cycle < before || cycle > before + 20;
            top->out_ready = cycle > before || cycle % 5 == 0;
            in = cycle == before ? out : in;
            top->in_data = in;
            top->clk = 0;
            top->eval();
            if (cycle > before && top->out_valid && (cycle <= before + 20 || top->out_data != out++))
                return std::to_string(before) + " cycles before a reset: a word of then, or none of now";
            in += top->in_valid && top->in_ready;
            top->clk = 1;
            top->eval();
        }
        if (out < 1000 * before + 530)
            return "no words behind a reset";
    }
    return "";
}

// A read's data names its address; each master must get its own, complete and in order. All masters get their turn.
std::string read_multiplexer()
{
    auto top = start();
    struct Burst {
        unsigned address, beats;
    };
    std::deque<Burst> wanted[3];
    std::deque<std::pair<unsigned, Burst>> slave;
    unsigned done[3] = {}, beat = 0, seen[3] = {};
    bool offered[3] = {}, shown = false, held = false;
    unsigned held_address = 0;
    for (unsigned cycle = 0; cycle < 60000; cycle++) {
        for (unsigned i = 0; i < 3; i++) {
            if (!offered[i] && below(3) == 0) {
                offered[i] = true;
                uint64_t address = below(65536), length = below(6);
                top->ar_address = (top->ar_address & ~(0xffffull << 16 * i)) | address << 16 * i;
                top->ar_length = (top->ar_length & ~(0xffu << 8 * i)) | (unsigned)length << 8 * i;
            }
        }
        top->ar_valid = offered[0] | offered[1] << 1 | offered[2] << 2;
        top->m_arready = below(4) != 0 && slave.size() < 20;
        shown = !slave.empty() && (shown || below(4) != 0);
        top->m_rvalid = shown;
        if (shown) {
            const auto &[id, burst] = slave.front();
            top->m_rid = id;
            top->m_rdata = (uint64_t)burst.address << 16 | beat;
            top->m_rlast = beat + 1 == burst.beats;
        }
        top->r_ready = (unsigned)below(8);
        top->clk = 0;
        top->eval();
        if (held && (!top->m_arvalid || top->m_araddr != held_address))
            return "an address changed before it was taken";
        held = top->m_arvalid && !top->m_arready;
        held_address = top->m_araddr;
        for (unsigned i = 0; i < 3; i++) {
            if (top->ar_valid >> i & top->ar_ready >> i & 1) {
                unsigned address = (unsigned)(top->ar_address >> 16 * i) & 0xffff,
                         beats = (top->ar_length >> 8 * i & 255) + 1;
                wanted[i].push_back({address, beats});
                offered[i] = false;
                if (!top->m_arvalid || !top->m_arready || top->m_arid != i || top->m_araddr != address ||
                    top->m_arlen + 1u != beats || top->m_arnosnoop != (i == 0))
                    return "a request went through wrongly";
                slave.push_back({i, {address, beats}});
            }
            if (top->r_valid >> i & 1) {
                if (wanted[i].empty() || top->r_data != ((uint64_t)wanted[i].front().address << 16 | seen[i]))
                    return "data reached the wrong master";
                if (top->r_ready >> i & 1) {
                    bool last = ++seen[i] == wanted[i].front().beats;
                    if (last != top->r_last)
                        return "last is wrong";
                    if (last) {
                        wanted[i].pop_front();
                        seen[i] = 0;
                        done[i]++;
                    }
                }
            }
        }
        if (top->m_rvalid && top->m_rready) {
            shown = false;
            if (++beat == slave.front().second.beats) {
                slave.pop_front();
                beat = 0;
            }
        }
        top->clk = 1;
        top->eval();
    }
    for (unsigned i = 0; i < 3; i++)
        if (done[i] < (done[0] + done[1] + done[2]) / 4)
            return "a master starved";
    return "";
}

// Data follows addresses in their order; each response goes to the master whose burst it was.
std::string write_multiplexer()
{
    auto top = start();
    struct Burst {
        unsigned master, number, beats;
        bool taken; // The slave has its address.
    };
    std::deque<Burst> order;          // shown to the slave, data to come
    std::deque<unsigned> sending[3];  // beats of bursts that each master still has to send
    std::deque<Burst> ahead, answers; // of all data whose address is not taken yet, and is
    uint64_t early = 0;
    bool stands = false;
    unsigned numbers[3] = {}, data_number[3] = {}, sent[3] = {}, responses[3] = {}, beat = 0;
    bool offered[3] = {}, w_shown[3] = {}, b_shown = false;
    for (unsigned cycle = 0; cycle < 60000; cycle++) {
        for (unsigned i = 0; i < 3; i++) {
            if (!offered[i] && below(3) == 0 && sending[i].size() < 3) {
                offered[i] = true;
                uint64_t length = below(5);
                top->aw_address = (top->aw_address & ~(0xffffull << 16 * i)) | (uint64_t)(numbers[i] & 0xffff)
                                                                                   << 16 * i;
                top->aw_length = (top->aw_length & ~(0xffu << 8 * i)) | (unsigned)length << 8 * i;
                sending[i].push_back((unsigned)length + 1);
            }
            // Data may run ahead of its own address.
            w_shown[i] = !sending[i].empty() && (w_shown[i] || below(3) != 0);
            uint64_t word = (uint64_t)i << 32 | (uint64_t)(data_number[i] & 0xffff) << 8 | sent[i];
            top->w_data[2 * i] = (uint32_t)word;
            top->w_data[2 * i + 1] = (uint32_t)(word >> 32);
            bool last = w_shown[i] && sent[i] + 1 == sending[i].front();
            top->w_last = (top->w_last & ~(1u << i)) | (unsigned)last << i;
        }
        top->aw_valid = offered[0] | offered[1] << 1 | offered[2] << 2;
        top->w_valid = w_shown[0] | w_shown[1] << 1 | w_shown[2] << 2;
        // A slave that takes addresses late has their data first.
        top->m_awready = cycle / 1000 % 2 == 0 ? below(4) != 0 : below(20) == 0;
        top->m_wready = below(4) != 0;
        b_shown = !answers.empty() && (b_shown || below(3) != 0);
        top->m_bvalid = b_shown;
        top->m_bid = b_shown ? answers.front().master : 0;
        top->b_ready = (unsigned)below(8);
        top->clk = 0;
        top->eval();
        for (unsigned i = 0; i < 3; i++) {
            if (top->w_valid >> i & top->w_ready >> i & 1) {
                w_shown[i] = false;
                if (++sent[i] == sending[i].front()) {
                    sending[i].pop_front();
                    sent[i] = 0;
                    data_number[i]++;
                }
            }
            if (top->b_valid >> i & top->b_ready >> i & 1)
                responses[i]++;
        }
        if (top->m_wvalid && top->m_wready) {
            if (order.empty())
                return "data before its address";
            uint64_t word =
                (uint64_t)order.front().master << 32 | (uint64_t)(order.front().number & 0xffff) << 8 | beat;
            bool last = beat + 1 == order.front().beats;
            if (top->m_wdata != word || top->m_wlast != last)
                return "data of another burst";
            beat++;
            if (last) {
                (order.front().taken ? answers : ahead).push_back(order.front());
                order.pop_front();
                beat = 0;
            }
        }
        if (top->m_bvalid && top->m_bready) {
            if (top->b_valid != 1u << answers.front().master)
                return "a response reached the wrong master";
            answers.pop_front();
            b_shown = false;
        }
        // The data of an address may go from the cycle on after that in which it is first shown (AXI4 A3.3.1); it is
        // answered when both have gone.
        if (top->m_awvalid && !stands)
            order.push_back({top->m_awid, numbers[top->m_awid], top->m_awlen + 1u, false});
        stands = top->m_awvalid && !top->m_awready;
        for (unsigned i = 0; i < 3; i++)
            if (top->aw_valid >> i & top->aw_ready >> i & 1) {
                if (top->m_awid != i || top->m_awtag != i + 1 || top->m_awaddr != (numbers[i] & 0xffff))
                    return "an address went through wrongly";
                early += ahead.size();
                if (ahead.empty())
                    order.back().taken = true;
                answers.insert(answers.end(), ahead.begin(), ahead.end());
                ahead.clear();
                numbers[i]++;
                offered[i] = false;
            }
        top->clk = 1;
        top->eval();
    }
    for (unsigned i = 0; i < 3; i++)
        if (responses[i] + 20 < numbers[i] || numbers[i] < 1000)
            return "master " + std::to_string(i) + " had " + std::to_string(responses[i]) + " responses of " +
                   std::to_string(numbers[i]);
    return early < 100 ? "hardly any data went before its address was taken" : "";
}

} // namespace

int main()
{
    const uint64_t seed = seed_given((uint64_t)time(nullptr));
    struct {
        const char *name;
        std::string (*run)();
    } tests[] = {{"fabric_queues_keep_order", row_of_queues},
                 {"fabric_queues_over_a_reset", queues_over_a_reset},
                 {"fabric_read_multiplexer", read_multiplexer},
                 {"fabric_write_multiplexer", write_multiplexer},
                 {"fabric_writes_in_turn", writes_in_turn},
                 {"fabric_data_before_its_address", data_before_its_address},
                 {"fabric_writes_over_a_reset", writes_over_a_reset},
                 {"fabric_reads_in_turn", reads_in_turn},
                 {"fabric_answers_come_back", answers_come_back}};
    unsigned failed = 0, passed = 0;
    for (auto &test : tests) {
        chance = Random(seed);
        std::string wrong = test.run();
        (wrong.empty() ? passed : failed)++;
        if (wrong.empty())
            printf("[       OK ] %s\n", test.name);
        else
            printf("[  FAILED  ] %s: %s\n", test.name, wrong.c_str());
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
