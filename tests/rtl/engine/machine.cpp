// SPDX-License-Identifier: Apache-2.0
// One clock cycle of the bench: inputs from the models, outputs into them.
#include "machine.h"

static uint64_t garbage(uint64_t address)
{
    return ~(address * 0x9e3779b97f4a7c15ull);
}

void Machine::port_inputs(unsigned port, Memory &memory)
{
    for (Stops &stops : memory.stops) {
        if (stops.most_stopped == 0) {
            stops.stopped = false;
        } else if (cycle >= stops.until) {
            stops.stopped = !stops.stopped;
            stops.until = cycle + 1 + random.below(stops.stopped ? stops.most_stopped : stops.most_going);
        }
    }
    bool ar = ready() && memory.works(Memory::AR), aw = ready() && memory.works(Memory::AW);
    bool w = ready() && memory.works(Memory::W);
    // Valid is held once raised.
    bool r = !memory.reads.empty() && memory.reads.front().ready_at <= cycle &&
             (r_chosen[port] || (ready() && memory.works(Memory::R)));
    bool b = !memory.responses.empty() && memory.responses.front().first <= cycle &&
             (b_chosen[port] || (ready() && memory.works(Memory::B)));
    r_chosen[port] = r;
    b_chosen[port] = b;
    uint64_t data = 0;
    unsigned resp = 0, fault = 0;
    bool last = false;
    if (r) {
        const Memory::Read &read = memory.reads.front();
        uint64_t address = read.address + 8ull * memory.read_beat;
        last = memory.read_beat + 1 == read.beats;
        if (!memory.has(address) || (memory.read_error != 0 && address == memory.read_error)) {
            resp = address & 8 ? 3 : 2; // DECERR or SLVERR.
            fault = memory.error_fault;
            data = garbage(address);
        } else {
            data = memory.word(address);
        }
    }
    const unsigned bresp = b && memory.responses.front().second ? 2 + memory.responses.front().first % 2 : 0;
    if (port == 0) {
        top->m_axi_local_arready = ar;
        top->m_axi_local_awready = aw;
        top->m_axi_local_wready = w;
        top->m_axi_local_rvalid = r;
        top->m_axi_local_rdata = data;
        top->m_axi_local_rresp = resp;
        top->m_axi_local_rlast = last;
        top->m_axi_local_bvalid = b;
        top->m_axi_local_bresp = bresp;
    } else {
        top->m_axi_host_arready = ar;
        top->m_axi_host_awready = aw;
        top->m_axi_host_wready = w;
        top->m_axi_host_rvalid = r;
        top->m_axi_host_rdata = data;
        top->m_axi_host_rresp = resp;
        top->m_axi_host_rfault = fault;
        top->m_axi_host_rlast = last;
        top->m_axi_host_bvalid = b;
        top->m_axi_host_bresp = bresp;
    }
}

void Machine::port_outputs(unsigned port, Memory &memory)
{
    const char *name = port == 0 ? "local" : "host";
    bool arvalid = port == 0 ? top->m_axi_local_arvalid : top->m_axi_host_arvalid;
    bool arready = port == 0 ? top->m_axi_local_arready : top->m_axi_host_arready;
    uint64_t araddr = port == 0 ? top->m_axi_local_araddr : top->m_axi_host_araddr;
    unsigned arlen = port == 0 ? top->m_axi_local_arlen : top->m_axi_host_arlen;
    bool awvalid = port == 0 ? top->m_axi_local_awvalid : top->m_axi_host_awvalid;
    bool awready = port == 0 ? top->m_axi_local_awready : top->m_axi_host_awready;
    uint64_t awaddr = port == 0 ? top->m_axi_local_awaddr : top->m_axi_host_awaddr;
    unsigned awlen = port == 0 ? top->m_axi_local_awlen : top->m_axi_host_awlen;
    bool wvalid = port == 0 ? top->m_axi_local_wvalid : top->m_axi_host_wvalid;
    bool wready = port == 0 ? top->m_axi_local_wready : top->m_axi_host_wready;
    uint64_t wdata = port == 0 ? top->m_axi_local_wdata : top->m_axi_host_wdata;
    unsigned wstrb = port == 0 ? top->m_axi_local_wstrb : top->m_axi_host_wstrb;
    bool wlast = port == 0 ? top->m_axi_local_wlast : top->m_axi_host_wlast;
    bool rvalid = port == 0 ? top->m_axi_local_rvalid : top->m_axi_host_rvalid;
    bool rready = port == 0 ? top->m_axi_local_rready : top->m_axi_host_rready;
    bool bvalid = port == 0 ? top->m_axi_local_bvalid : top->m_axi_host_bvalid;
    bool bready = port == 0 ? top->m_axi_local_bready : top->m_axi_host_bready;

    // Stability: what was shown and not taken stays.
    uint64_t ar_rest = arlen | (port == 1 ? (uint64_t)top->m_axi_host_arnosnoop << 8 : 0);
    uint64_t aw_rest =
        awlen | (port == 1 ? (uint64_t)(top->m_axi_host_awnosnoop | top->m_axi_host_awtag << 1) << 8 : 0);
    Held now_ar = {arvalid, araddr, ar_rest}, now_aw = {awvalid, awaddr, aw_rest};
    Held now_w = {wvalid, wdata, (uint64_t)wstrb | (uint64_t)wlast << 8};
    if (held_ar[port].valid && !(now_ar.valid && now_ar.a == held_ar[port].a && now_ar.b == held_ar[port].b))
        error(std::string(name) + " AR changed before it was taken");
    if (held_aw[port].valid && !(now_aw.valid && now_aw.a == held_aw[port].a && now_aw.b == held_aw[port].b))
        error(std::string(name) + " AW changed before it was taken");
    if (held_w[port].valid && !(now_w.valid && now_w.a == held_w[port].a && now_w.b == held_w[port].b))
        error(std::string(name) + " W changed before it was taken");
    held_ar[port] = {arvalid && !arready, araddr, ar_rest};
    held_aw[port] = {awvalid && !awready, awaddr, aw_rest};
    held_w[port] = {wvalid && !wready, wdata, (uint64_t)wstrb | (uint64_t)wlast << 8};
    if (top->rst)
        held_ar[port] = held_aw[port] = held_w[port] = Held();

    if (arvalid && arready && forbidden.count({port == 1, araddr & ~4095ull}))
        error(std::string(name) + " read of a page that was forgotten");
    if (awvalid && awready && forbidden.count({port == 1, awaddr & ~4095ull}))
        error(std::string(name) + " write to a page that was forgotten");
    if (arvalid && arready) {
        if ((araddr & 7) != 0 || (araddr & 4095) + 8ull * (arlen + 1) > 4096)
            error(std::string(name) + " read burst crosses 4 KiB");
        if (port == 1)
            asked.push_back({araddr, false, (bool)top->m_axi_host_arnosnoop, 0});
        uint64_t at = cycle + timing.read_latency;
        memory.reads.push_back({araddr, arlen + 1, at});
        memory.read_bursts++;
        if (memory.reads.size() > memory.most_reads)
            memory.most_reads = (unsigned)memory.reads.size();
    }
    if (rvalid && rready) {
        memory.read_beats++;
        r_chosen[port] = false;
        if (++memory.read_beat == memory.reads.front().beats) {
            memory.reads.pop_front();
            memory.read_beat = 0;
        }
    }
    memory.waiting = rvalid && !rready ? memory.waiting + 1 : 0;
    if (memory.waiting > memory.most_waiting)
        memory.most_waiting = memory.waiting;
    // Video memory's bus is everybody's: what was read there waits for nothing but the tokens in front of it.
    if (port == 0 && memory.waiting == 40)
        error("local read data waits on the bus");
    if (awvalid && awready) {
        if ((awaddr & 7) != 0 || (awaddr & 4095) + 8ull * (awlen + 1) > 4096)
            error(std::string(name) + " write burst crosses 4 KiB");
        if (port == 1)
            asked.push_back({awaddr, true, (bool)top->m_axi_host_awnosnoop, top->m_axi_host_awtag});
        memory.writes.push_back({awaddr, awlen + 1});
        memory.write_bursts++;
    }
    if (bvalid && bready) {
        memory.responses.pop_front();
        b_chosen[port] = false;
    }
    if (wvalid && wready)
        memory.beats.push_back({wdata, (uint8_t)wstrb, wlast});
    while (!memory.writes.empty() && !memory.beats.empty()) {
        const Memory::Write &write = memory.writes.front();
        const Memory::Beat &beat = memory.beats.front();
        uint64_t address = write.address + 8ull * memory.write_beat;
        bool outside = !memory.has(address);
        if (outside && beat.strobe != 0)
            memory.write_bad = true;
        if (address != 0 && (address == memory.write_error || address == memory.later_write_error))
            memory.write_bad = true;
        else if (!outside)
            for (unsigned i = 0; i < 8; i++)
                if (beat.strobe >> i & 1)
                    memory.bytes[address - memory.base + i] = (uint8_t)(beat.data >> (8 * i));
        bool final = memory.write_beat + 1 == write.beats;
        if (final != beat.last)
            error(std::string(name) + " wlast is wrong");
        memory.write_beats++;
        memory.write_beat++;
        if (port == 0 && address >= watched_begin && address < watched_end)
            watched_beats = local.write_beats + host.write_beats;
        memory.beats.pop_front();
        if (final) {
            memory.responses.push_back({cycle + timing.write_latency, memory.write_bad});
            memory.write_bad = false;
            memory.write_beat = 0;
            memory.writes.pop_front();
        }
    }
    if (arvalid || awvalid || wvalid || rvalid || bvalid)
        progress_at = cycle;
}

// What the engine tells the counters in this cycle, against what its ports show.
static void check_counts(Machine &machine)
{
    const Vengine_under_test *top = machine.top.get();
    const bool writes[2] = {(bool)top->m_axi_local_wvalid, (bool)top->m_axi_host_wvalid};
    const bool wrote[2] = {writes[0] && top->m_axi_local_wready, writes[1] && top->m_axi_host_wready};
    const bool read[2] = {top->m_axi_local_rvalid && top->m_axi_local_rready,
                          top->m_axi_host_rvalid && top->m_axi_host_rready};
    if (top->count_local_write_beat != wrote[0] || top->count_host_write_beat != wrote[1])
        machine.error("a beat written is not counted, or another is");
    if (top->count_stall_write != ((writes[0] && !wrote[0]) || (writes[1] && !wrote[1])))
        machine.error("STALL_WRITE does not count the cycles in which a beat is not taken");
    // Of what came on the ports, beats of page tables and of reads that were given up on are not the engine's.
    const bool counted[2] = {(bool)top->count_local_read_beat, (bool)top->count_host_read_beat};
    // Once memory is given up on, its reads end without it.
    if (!top->stuck && ((counted[0] && !read[0]) || (counted[1] && !read[1])))
        machine.error("a beat is counted that was not read");
    if (top->count_stall_read != (top->busy_read && !counted[0] && !counted[1] && !writes[0] && !writes[1]))
        machine.error("STALL_READ does not count the cycles in which only data is awaited");
}

void Machine::step()
{
    port_inputs(0, local);
    port_inputs(1, host);
    // Command RAM: data the cycle after the request, now and then later.
    top->list_ready = !list_closed && ready();
    top->map_list_ready = ready();
    top->list_data_valid = !lists.empty() && lists.front().first <= cycle;
    top->list_data = top->list_data_valid ? list_word(lists.front().second) : 0;
    top->map_list_data_valid = !map_lists.empty() && map_lists.front().first <= cycle;
    top->map_list_data = top->map_list_data_valid ? list_word(map_lists.front().second) : 0;
    std::deque<Job> &next = waiting_urgent.empty() ? waiting : waiting_urgent;
    bool offer = !next.empty() && !top->rst && cycle >= next_offer_at && !(jobs_stall && random.chance(50));
    top->job_valid = offer;
    if (offer) {
        const Job &job = next.front();
        top->job_op = job.op;
        top->job_source_kind = job.source_kind;
        top->job_destination_kind = job.destination_kind;
        top->job_list = job.list;
        top->job_unordered = job.unordered;
        top->job_protected = job.may_protected;
        top->job_urgent = job.urgent;
        top->job_slot = job.slot;
        top->job_pattern_log2 = job.pattern_log2;
        top->job_packet_offset = job.packet_offset;
        top->job_source = job.source;
        top->job_destination = job.destination;
        top->job_length = job.length;
        top->job_list_address = job.list_address;
        top->job_space = job.space;
    }
    top->clk = 0;
    top->eval();

    if (offer && top->job_ready) {
        queued_urgent += next.front().urgent;
        next.pop_front();
        queued++;
        taken_at.push_back(cycle);
        next_offer_at = cycle + job_pace;
        progress_at = cycle;
    }
    forget_taken = top->forget_valid && top->forget_ready;
    table_reads += top->table_read;
    table_misses += top->table_missed;
    if (top->aborted_valid) {
        aborted.emplace_back(top->aborted_slot, top->aborted_packet_offset);
        aborted_places.emplace_back(top->aborted_left, top->aborted_place);
    }
    if (top->count_job) {
        retired_at.push_back(cycle);
        progress_at = cycle;
    }
    if (top->list_data_valid)
        lists.pop_front();
    if (top->map_list_data_valid)
        map_lists.pop_front();
    if (top->list_valid && top->list_ready)
        lists.push_back({cycle + 1 + random.below(1 + timing.stall_percent / 10), top->list_address});
    if (map_held && !(top->map_list_valid && top->map_list_address == map_held_address))
        error("a map's list is not asked for any more");
    map_held = top->map_list_valid && !top->map_list_ready && !top->rst;
    map_held_address = top->map_list_address;
    if (top->map_list_valid && top->map_list_ready)
        map_lists.push_back({cycle + 1, top->map_list_address});
    if (!top->rst)
        check_counts(*this);
    if (dropped && !top->resetting && !top->stuck && top->looks)
        error("a page is looked up for a job that is gone");
    dropped = (top->resetting || top->stuck) && !top->rst;
    window_done = top->window_result_valid;
    if (window_done) {
        last_window_result = (uint64_t)top->window_result_page << 12;
        last_window_hit = top->window_result_hit;
        last_window_snoop = top->window_result_snoop;
    }
    port_outputs(0, local);
    port_outputs(1, host);

    top->clk = 1;
    top->eval();
    cycle++;
}
