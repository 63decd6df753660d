// SPDX-License-Identifier: Apache-2.0
// The clocked models around ferry_host: streams with credits, AXI masters and slaves, registers.
#include "bench.h"

#include <cstdarg>
#include <cstdio>

void Bench::fail(const char *format, ...)
{
    if (failures++ < 10) {
        va_list list;
        va_start(list, format);
        std::printf("    cycle %llu: ", (unsigned long long)cycle);
        std::vprintf(format, list);
        std::printf("\n");
        va_end(list);
    }
}

Bench::Bench(uint64_t seed) : top(new Vferry_host), generator(seed), registers(16384), counts()
{
    for (auto &word : registers)
        word = uint32_t(generator());
    reset();
}

Bench::~Bench()
{
    top->final();
}

void Bench::reset()
{
    top->rst = 1;
    top->local_limit = 1ull << 26;
    top->protect_base = 0;
    top->protect_limit = 0;
    top->view_write = 0;
    top->view_clear = 0;
    top->completion_timeout = 0;
    top->tag_limit = 0;
    top->interrupt_cause = 0;
    top->interrupt_clear = 0;
    top->interrupt_enable = 0;
    top->interrupt_coalesce_count = 0;
    top->interrupt_coalesce_cycles = 0;
    top->at_rest = 7;
    for (int i = 0; i < 4; i++) {
        top->clk = 0;
        top->eval();
        top->clk = 1;
        top->eval();
    }
    top->rst = 0;
}

// One side of a slave memory: ports are passed as references so that both windows share the code.
#define SLAVE_BEFORE(M, P)                                                                                             \
    do {                                                                                                               \
        bool acts_ = (M).acts(cycle);                                                                                  \
        top->P##_arready = acts_ && !chance(stall_slave) && (M).reads.size() < 4;                                      \
        top->P##_awready = acts_ && !chance(stall_slave) && (M).writes.size() < 4;                                     \
        top->P##_wready = acts_ && !chance(stall_slave) && !(M).writes.empty();                                        \
        if (acts_ && !((M).in_order && !(M).writes.empty()) && !(M).reads.empty() && (M).reads.front().due <= cycle && \
            !chance(stall_slave)) {                                                                                    \
            const SlaveMemory::Burst &b = (M).reads.front();                                                           \
            uint64_t at = b.address + 8 * b.at;                                                                        \
            top->P##_rvalid = 1;                                                                                       \
            top->P##_rdata = (M).memory.word(at) | uint64_t((M).memory.word(at + 4)) << 32;                            \
            auto fault = (M).faults.find(at >> 12);                                                                    \
            top->P##_rresp = fault != (M).faults.end() || (M).bad_beats.count(at) ? 2 : 0;                             \
            top->P##_rlast = b.at + 1 == b.beats;                                                                      \
        } else {                                                                                                       \
            top->P##_rvalid = 0;                                                                                       \
            top->P##_rlast = 0;                                                                                        \
            top->P##_rresp = 0;                                                                                        \
        }                                                                                                              \
        /* A slow one takes all that it is offered first. */                                                           \
        top->P##_bvalid = acts_ && !((M).pace && (top->P##_awvalid || top->P##_wvalid)) && !(M).responses.empty() &&   \
                          (M).responses.front() <= cycle && !chance(stall_slave);                                      \
        top->P##_bresp = (M).refuses ? 2 : 0;                                                                          \
    } while (0)

#define SLAVE_AFTER(M, P)                                                                                              \
    do {                                                                                                               \
        if (top->P##_rvalid || top->P##_bvalid || (top->P##_wvalid && top->P##_wready) ||                              \
            (top->P##_arvalid && top->P##_arready) || (top->P##_awvalid && top->P##_awready))                          \
            (M).moved = cycle;                                                                                         \
        if (top->P##_rvalid && top->P##_rready) {                                                                      \
            if (++(M).reads.front().at == (M).reads.front().beats)                                                     \
                (M).reads.pop_front();                                                                                 \
        }                                                                                                              \
        if (top->P##_bvalid && top->P##_bready)                                                                        \
            (M).responses.pop_front();                                                                                 \
        if (top->P##_wvalid && top->P##_wready) {                                                                      \
            SlaveMemory::Burst &b = (M).writes.front();                                                                \
            uint64_t at = b.address + 8 * b.at;                                                                        \
            (M).dies_after -= (M).dies_after != ~0u;                                                                   \
            for (int i = 0; i < 8; i++)                                                                                \
                if (top->P##_wstrb >> i & 1)                                                                           \
                    (M).memory.put(at + i, uint8_t(top->P##_wdata >> 8 * i));                                          \
            if (++b.at == b.beats) {                                                                                   \
                if (!top->P##_wlast)                                                                                   \
                    fail("window: wlast missing");                                                                     \
                (M).writes.pop_front();                                                                                \
                (M).responses.push_back(cycle + random(20) + (M).answers_after);                                       \
            } else if (top->P##_wlast) {                                                                               \
                fail("window: wlast early");                                                                           \
            }                                                                                                          \
        }                                                                                                              \
        if (top->P##_arvalid && top->P##_arready) {                                                                    \
            (M).reads.push_back({top->P##_araddr, top->P##_arlen + 1u, 0, cycle + random(20)});                        \
            (M).read_bursts++;                                                                                         \
            if ((top->P##_araddr & 7) || (top->P##_araddr & 4095) + 8 * (top->P##_arlen + 1u) > 4096)                  \
                fail("window: read burst %llx + %u", (unsigned long long)top->P##_araddr, top->P##_arlen + 1);         \
            if (!later_writes && (!(M).responses.empty() || !(M).writes.empty()))                                      \
                fail("window: read while a write is open");                                                            \
        }                                                                                                              \
        if (top->P##_awvalid && top->P##_awready) {                                                                    \
            (M).writes.push_back({top->P##_awaddr, top->P##_awlen + 1u, 0, 0});                                        \
            (M).write_bursts++;                                                                                        \
            if ((top->P##_awaddr & 7) || (top->P##_awaddr & 4095) + 8 * (top->P##_awlen + 1u) > 4096)                  \
                fail("window: write burst %llx + %u", (unsigned long long)top->P##_awaddr, top->P##_awlen + 1);        \
        }                                                                                                              \
    } while (0)

Kind kind_of(uint32_t word0)
{
    unsigned type = word0 >> 24 & 31;
    bool data = word0 >> 30 & 1;
    return type >> 1 == 5 ? REPLY : type >> 3 == 2 || (type == 0 && data) ? POSTED : REQUEST;
}

// At the start of a packet to the device: a request that has to wait is passed by the first packet that has not. False
// when there is no such packet.
bool Bench::choose_packet()
{
    if (heed && !request_ok_) {
        for (size_t i = 0; i < outbox.size(); i++)
            if (kind_of(outbox[i][0]) != REQUEST) {
                Packet packet = outbox[i];
                outbox.erase(outbox.begin() + long(i));
                outbox.push_front(packet);
                break;
            }
        if (kind_of(outbox.front()[0]) == REQUEST)
            return false;
    }
    Packet &packet = outbox.front();
    if (chance(digests) && packet.size() > 2 && !(packet[0] & 0x8000)) {
        packet[0] |= 0x8000;
        packet.push_back(uint32_t(generator()));
    }
    if (on_sent)
        on_sent(packet);
    return true;
}

bool Bench::has_room(Kind kind) const
{
    const Credits &c = credits[kind];
    return !withheld[kind] &&
           (!c.headers || (c.used_headers < c.headers && (kind == REQUEST || c.used_data + payload / 16 <= c.data)));
}

void Bench::use_credit(Kind kind, unsigned words)
{
    Credits &c = credits[kind];
    unsigned data = (words + 3) / 4;
    if (!c.headers)
        return;
    c.used_headers++;
    c.used_data += data;
    if (c.used_headers > c.headers || c.used_data > c.data)
        fail("packet of kind %d without a credit", kind);
    c.returns.push_back({cycle + 1 + random(credit_latency + 1), data});
}

void Bench::tick()
{
    root_answer();
    for (Credits &c : credits)
        while (!c.returns.empty() && c.returns.front().due <= cycle) {
            c.used_headers--;
            c.used_data -= c.returns.front().data;
            c.returns.pop_front();
        }
    top->m_axis_tlp_posted_ok = has_room(POSTED);
    top->m_axis_tlp_request_ok = has_room(REQUEST);
    top->m_axis_tlp_completion_ok = has_room(REPLY);

    // Packets to the device.
    if (!outbox.empty() && !chosen_)
        chosen_ = choose_packet();
    if (chosen_ && (offered_ || !chance(stall_tx))) {
        offered_ = true;
        const Packet &packet = outbox.front();
        top->s_axis_tlp_tvalid = 1;
        bool two = outbox_word + 1 < packet.size();
        top->s_axis_tlp_tdata = packet[outbox_word] | uint64_t(two ? packet[outbox_word + 1] : uint32_t(generator()))
                                                          << 32;
        top->s_axis_tlp_tkeep = two ? 3 : 1;
        top->s_axis_tlp_tlast = outbox_word + 2 >= packet.size();
    } else {
        top->s_axis_tlp_tvalid = 0;
        top->s_axis_tlp_tdata = generator();
        top->s_axis_tlp_tlast = random(2);
    }
    top->m_axis_tlp_tready = !deaf && !chance(stall_rx);

    // Host port masters.
    if (!read_queue.empty() && (top->s_axi_host_arvalid || !chance(stall_axi))) {
        AxiRead *r = read_queue.front();
        top->s_axi_host_arvalid = 1;
        top->s_axi_host_arid = r->id;
        top->s_axi_host_araddr = r->address;
        top->s_axi_host_arlen = r->beats - 1;
        top->s_axi_host_arnosnoop = r->no_snoop;
    } else {
        top->s_axi_host_arvalid = 0;
    }
    top->s_axi_host_rready = !full && !chance(stall_axi);
    if (!line_queue.empty() && (top->s_axi_tables_arvalid || !chance(stall_axi))) {
        AxiRead *r = line_queue.front();
        top->s_axi_tables_arvalid = 1;
        top->s_axi_tables_araddr = r->address;
        top->s_axi_tables_arlen = r->beats - 1;
        top->s_axi_tables_arnosnoop = r->no_snoop;
    } else {
        top->s_axi_tables_arvalid = 0;
    }
    top->s_axi_tables_rready = !lines_full && !chance(stall_axi);
    if (!write_queue.empty() && (top->s_axi_host_awvalid || !chance(stall_axi))) {
        AxiWrite *w = write_queue.front();
        top->s_axi_host_awvalid = 1;
        top->s_axi_host_awid = w->id;
        top->s_axi_host_awaddr = w->address;
        top->s_axi_host_awlen = w->data.size() - 1;
        top->s_axi_host_awnosnoop = w->no_snoop;
        top->s_axi_host_awtag = w->tag;
    } else {
        top->s_axi_host_awvalid = 0;
    }
    AxiWrite *writing = nullptr;
    for (AxiWrite *w : write_waiting)
        if (w->sent < w->data.size()) {
            writing = w;
            break;
        }
    if (!writing && !write_queue.empty() && top->s_axi_host_awvalid)
        writing = write_queue.front();
    if (writing && (top->s_axi_host_wvalid || !chance(stall_axi))) {
        top->s_axi_host_wvalid = 1;
        top->s_axi_host_wdata = writing->data[writing->sent];
        top->s_axi_host_wstrb = writing->strobe[writing->sent];
        top->s_axi_host_wlast = writing->sent + 1 == writing->data.size();
    } else {
        top->s_axi_host_wvalid = 0;
    }
    top->s_axi_host_bready = !chance(stall_axi);

    SLAVE_BEFORE(local, m_axi_local);
    // Register bus: the request is looked at once it stands, and answered in a cycle of the model's choice.
    top->reg_ready = 0;
    top->clk = 0;
    top->eval();
    uint64_t what = uint64_t(top->reg_write) << 52 | uint64_t(top->reg_address) << 36 |
                    (top->reg_write ? uint64_t(top->reg_wstrb) << 32 | top->reg_wdata : 0);
    if (asked_ && !(top->reg_valid && what == asked_what_))
        fail("register bus: %llx came in the place of %llx", (unsigned long long)what, (unsigned long long)asked_what_);
    asked_ = top->reg_valid;
    asked_what_ = what;
    if (top->reg_valid && !chance(stall_reg)) {
        asked_ = false;
        top->reg_ready = 1;
        unsigned index = top->reg_address >> 2;
        top->reg_rdata = registers[index];
        if (top->reg_write) {
            if (!top->reg_wstrb)
                fail("register write without a byte");
            reg_writes++;
            for (int i = 0; i < 4; i++)
                if (top->reg_wstrb >> i & 1)
                    registers[index] = (registers[index] & ~(0xffu << 8 * i)) | (top->reg_wdata & (0xffu << 8 * i));
        }
        top->eval();
    }

    counts.stall += top->count_stall_link;
    counts.received += top->count_tlp_received;
    counts.sent += top->count_tlp_sent;
    counts.receive_beats += top->count_link_receive_beat;
    counts.send_beats += top->count_link_send_beat;
    counts.unsupported += top->count_unsupported;
    counts.malformed += top->count_malformed;
    counts.poisoned += top->count_poisoned;
    counts.unexpected += top->count_unexpected;
    counts.refused += top->count_window_refused;

    if (top->s_axis_tlp_tvalid && top->s_axis_tlp_tready) {
        tx_beats++;
        offered_ = false;
        outbox_word += 2;
        if (outbox_word >= outbox.front().size()) {
            outbox.pop_front();
            outbox_word = 0;
            chosen_ = false;
        }
    }
    if (in_packet_ && !top->m_axis_tlp_tvalid)
        fail("valid fell inside a packet");
    if (top->m_axis_tlp_tvalid && top->m_axis_tlp_tready) {
        rx_beats++;
        if (incoming.empty()) {
            uint32_t word0 = uint32_t(top->m_axis_tlp_tdata);
            use_credit(kind_of(word0), word0 >> 30 & 1 ? word0 & 1023 : 0);
        }
        incoming.push_back(uint32_t(top->m_axis_tlp_tdata));
        if (top->m_axis_tlp_tkeep == 3)
            incoming.push_back(uint32_t(top->m_axis_tlp_tdata >> 32));
        else if (top->m_axis_tlp_tkeep != 1 || !top->m_axis_tlp_tlast)
            fail("tkeep %x", top->m_axis_tlp_tkeep);
        in_packet_ = !top->m_axis_tlp_tlast;
        if (top->m_axis_tlp_tlast) {
            root_receive(incoming);
            incoming.clear();
        }
    }

    if (top->s_axi_host_arvalid && top->s_axi_host_arready) {
        read_waiting.push_back(read_queue.front());
        read_queue.pop_front();
    }
    if (top->s_axi_host_rvalid && top->s_axi_host_rready) {
        r_beats++;
        if (read_waiting.empty()) {
            fail("read data that nobody asked for");
        } else {
            AxiRead *r = read_waiting.front();
            if (top->s_axi_host_rid != r->id)
                fail("rid %u, expected %u", top->s_axi_host_rid, r->id);
            if ((top->s_axi_host_rresp != 0) != (top->s_axi_host_rfault != 0) || top->s_axi_host_rresp & 1)
                fail("rresp %u with rfault %u", top->s_axi_host_rresp, top->s_axi_host_rfault);
            r->data.push_back(top->s_axi_host_rdata);
            r->faults.push_back(top->s_axi_host_rfault);
            if (top->s_axi_host_rlast != (r->data.size() == r->beats))
                fail("rlast %u at beat %zu of %u", top->s_axi_host_rlast, r->data.size(), r->beats);
            if (r->data.size() == r->beats) {
                r->done = true;
                read_waiting.pop_front();
            }
        }
    }
    if (top->s_axi_tables_arvalid && top->s_axi_tables_arready) {
        line_waiting.push_back(line_queue.front());
        line_queue.pop_front();
    }
    if (top->s_axi_tables_rvalid && top->s_axi_tables_rready) {
        if (line_waiting.empty()) {
            fail("a page table's data that nobody asked for");
        } else {
            AxiRead *r = line_waiting.front();
            r->data.push_back(top->s_axi_tables_rdata);
            r->faults.push_back(top->s_axi_tables_rresp);
            r->done = r->data.size() == r->beats;
            if (top->s_axi_tables_rlast != r->done)
                fail("rlast %u at beat %zu of %u of a page table", top->s_axi_tables_rlast, r->data.size(), r->beats);
            if (r->done)
                line_waiting.pop_front();
        }
    }
    bool aw = top->s_axi_host_awvalid && top->s_axi_host_awready;
    if (top->s_axi_host_wvalid && top->s_axi_host_wready) {
        w_beats++;
        writing->sent++;
    }
    if (aw) {
        write_waiting.push_back(write_queue.front());
        write_queue.pop_front();
    }
    if (top->s_axi_host_bvalid && top->s_axi_host_bready) {
        if (write_waiting.empty() || write_waiting.front()->sent < write_waiting.front()->data.size()) {
            fail("write response too early");
        } else {
            if (top->s_axi_host_bid != write_waiting.front()->id)
                fail("bid %u", top->s_axi_host_bid);
            write_waiting.front()->done = true;
            write_waiting.pop_front();
        }
    }

    SLAVE_AFTER(local, m_axi_local);
    request_ok_ = top->s_axis_tlp_request_ok;

    top->clk = 1;
    top->eval();
    cycle++;
    top->interrupt_cause = 0;
    top->interrupt_clear = 0;
}

bool Bench::idle() const
{
    return outbox.empty() && reads.empty() && read_queue.empty() && read_waiting.empty() && write_queue.empty() &&
           write_waiting.empty() && line_queue.empty() && line_waiting.empty() && local.reads.empty() &&
           local.writes.empty() && local.responses.empty() && incoming.empty();
}

bool Bench::settle(unsigned limit)
{
    unsigned quiet = 0;
    while (limit--) {
        uint64_t before = rx_beats;
        tick();
        quiet = idle() && rx_beats == before && !top->m_axis_tlp_tvalid ? quiet + 1 : 0;
        if (quiet == 60)
            return true;
    }
    fail("does not settle: %zu packets, %zu reads to answer, %zu + %zu reads, %zu + %zu writes", outbox.size(),
         reads.size(), read_queue.size(), read_waiting.size(), write_queue.size(), write_waiting.size());
    return false;
}

void Bench::settle_quietly()
{
    while (!outbox.empty())
        tick();
    run(40);
}
