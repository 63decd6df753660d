// SPDX-License-Identifier: Apache-2.0
// The cycle loop around a device made of a few lines of C++: handshakes, stalls, and what it says of a broken device.
#include "harness.h"

#include <cstring>
#include <vector>

#include "../../seed.h"
#include "check.h"

namespace
{

/// The ports of ferry_device as Verilator names them.
struct Ports {
    uint8_t clk = 0, rst = 0;
    uint64_t s_axis_tlp_tdata = 0;
    uint8_t s_axis_tlp_tkeep = 0, s_axis_tlp_tlast = 0, s_axis_tlp_tvalid = 0, s_axis_tlp_tready = 0;
    uint8_t s_axis_tlp_request_ok = 1, m_axis_tlp_posted_ok = 0, m_axis_tlp_request_ok = 0,
            m_axis_tlp_completion_ok = 0;
    uint64_t m_axis_tlp_tdata = 0;
    uint8_t m_axis_tlp_tkeep = 0, m_axis_tlp_tlast = 0, m_axis_tlp_tvalid = 0, m_axis_tlp_tready = 0;
    uint8_t m_axi_awid = 0, m_axi_awlen = 0, m_axi_awsize = 3, m_axi_awburst = 1, m_axi_awvalid = 0, m_axi_awready = 0;
    uint32_t m_axi_awaddr = 0, m_axi_araddr = 0;
    uint64_t m_axi_wdata = 0, m_axi_rdata = 0;
    uint8_t m_axi_wstrb = 0, m_axi_wlast = 0, m_axi_wvalid = 0, m_axi_wready = 0;
    uint8_t m_axi_bid = 0, m_axi_bresp = 0, m_axi_bvalid = 0, m_axi_bready = 0;
    uint8_t m_axi_arid = 0, m_axi_arlen = 0, m_axi_arsize = 3, m_axi_arburst = 1, m_axi_arvalid = 0, m_axi_arready = 0;
    uint8_t m_axi_rid = 0, m_axi_rresp = 0, m_axi_rlast = 0, m_axi_rvalid = 0, m_axi_rready = 0;
};

/// Takes each beat of a packet, writes it to video memory, reads it back and sends it home. Its inputs stand in
/// flip-flops, as ferry_simulated's do: an edge acts on the inputs of the cycle that it ends, then takes the next ones.
/// At every edge it checks that an offer that was not taken still stands.
class Echo
{
  public:
    explicit Echo(const ferry_sim_config &) {}
    Ports &top() { return ports_; }
    bool usable() const { return true; }
    bool firmware_busy() const { return state_ != idle; }
    bool read_busy() const { return false; }
    bool write_busy() const { return false; }
    bool reading_host() const { return false; }
    bool walk_busy() const { return false; }
    bool forget_busy() const { return false; }
    uint32_t misses() const { return 0; }

    void eval(uint64_t)
    {
        if (ports_.clk == 0) {
            return;
        }
        edges++;
        if (held_.rst) {
            state_ = idle;
        } else {
            check_offers();
            edge();
        }
        held_ = ports_;
        outputs();
    }

    uint64_t edges = 0;
    uint64_t refused_home = 0, refused_address = 0, late_data = 0;
    bool offer_broken = false;

  private:
    enum State { idle, write_address, write_data, response, read_address, data, home };

    void outputs()
    {
        ports_.s_axis_tlp_tready = state_ == idle;
        ports_.m_axi_awvalid = state_ == write_address;
        ports_.m_axi_awaddr = ports_.m_axi_araddr = address_;
        ports_.m_axi_wvalid = state_ == write_data;
        ports_.m_axi_wdata = beat_;
        ports_.m_axi_wstrb = 0xff;
        ports_.m_axi_wlast = 1;
        ports_.m_axi_bready = state_ == response;
        ports_.m_axi_arvalid = state_ == read_address;
        ports_.m_axi_rready = state_ == data;
        ports_.m_axis_tlp_tvalid = state_ == home;
        ports_.m_axis_tlp_tdata = beat_;
        ports_.m_axis_tlp_tkeep = keep_;
        ports_.m_axis_tlp_tlast = last_;
    }

    void check_offers()
    {
        offer_broken = offer_broken || (stood_ && (!held_.s_axis_tlp_tvalid || held_.s_axis_tlp_tdata != stood_data_));
        stood_ = held_.s_axis_tlp_tvalid && !ports_.s_axis_tlp_tready;
        stood_data_ = held_.s_axis_tlp_tdata;
    }

    void edge()
    {
        switch (state_) {
        case idle:
            if (held_.s_axis_tlp_tvalid) {
                beat_ = held_.s_axis_tlp_tdata;
                keep_ = held_.s_axis_tlp_tkeep;
                last_ = held_.s_axis_tlp_tlast;
                state_ = write_address;
            }
            break;
        case write_address:
            refused_address += !held_.m_axi_awready;
            state_ = held_.m_axi_awready ? write_data : state_;
            break;
        case write_data: state_ = held_.m_axi_wready ? response : state_; break;
        case response:
            if (held_.m_axi_bvalid) {
                beat_ = 0;
                state_ = read_address;
            }
            break;
        case read_address: state_ = held_.m_axi_arready ? data : state_; break;
        case data:
            late_data += !held_.m_axi_rvalid;
            if (held_.m_axi_rvalid) {
                beat_ = held_.m_axi_rdata;
                address_ = (address_ + 8) % 4096;
                state_ = home;
            }
            break;
        case home:
            refused_home += !held_.m_axis_tlp_tready;
            state_ = held_.m_axis_tlp_tready ? idle : state_;
            break;
        }
    }

    Ports ports_, held_;
    State state_ = idle;
    uint64_t beat_ = 0, stood_data_ = 0;
    uint8_t keep_ = 0, last_ = 0;
    uint32_t address_ = 0;
    bool stood_ = false;
};

ferry_sim_config settings()
{
    ferry_sim_config config = {};
    config.size = sizeof(config);
    config.dram = {4, 1024, 5, 3, 2, 4, 6, 0, 0};
    config.read_latency = 10;
    config.link_latency = 20;
    config.link_words_per_16 = 32;
    config.seed = seed_given(3);
    return config;
}

using Loop = ferry::Harness<Echo>;

void a_packet_comes_home_after_its_latencies()
{
    Loop loop(settings(), 1 << 16);
    const uint32_t words[3] = {0x40000001, 0x22222222, 0x33333333};
    const uint64_t start = loop.cycles();
    CHECK(loop.send(words, 3));
    size_t count = 0;
    CHECK(loop.receive(&count) == nullptr);
    const uint64_t ran = loop.run(1000);
    // 20 there; for each of two beats: take, aw, w, b, ar, 10 for the read, home; 20 back.
    CHECK(ran == 20 + 2 * (1 + 1 + 1 + 1 + 1 + 10 + 1) - 1 + 20);
    CHECK(loop.cycles() == start + ran);
    const uint32_t *back = loop.receive(&count);
    CHECK(back != nullptr && count == 3 && std::memcmp(back, words, 12) == 0);
    CHECK(loop.receive(&count) == nullptr);
    CHECK(loop.run(57) == 57);
    CHECK(loop.device().edges == loop.cycles());
}

void a_packet_keeps_it_busy_until_it_is_home()
{
    Loop loop(settings(), 1 << 16);
    const uint32_t words[3] = {0x40000001, 2, 3};
    size_t count = 0;
    CHECK(!loop.busy());
    loop.send(words, 3);
    // On the link there, in the device, on the link back; from one to the next it is in neither for a cycle.
    for (int idle = 0; loop.receive(&count) == nullptr;) {
        idle = loop.busy() ? 0 : idle + 1;
        CHECK(idle < 3);
        CHECK(loop.run(1) == 1);
    }
    CHECK(!loop.busy());
}

void stalls_refuse_their_share_and_break_no_offer()
{
    ferry_sim_config config = settings();
    config.stall_percent = 40;
    Loop loop(config, 1 << 16);
    std::vector<uint32_t> sent, back;
    uint32_t next = 1;
    for (int n = 0; n < 400; n++) {
        std::vector<uint32_t> words = {0x40000001};
        while (words.size() < 3 + static_cast<size_t>(n) % 5) {
            words.push_back(next++);
        }
        CHECK(loop.send(words.data(), words.size()));
        sent.insert(sent.end(), words.begin(), words.end());
    }
    while (back.size() < sent.size() && loop.run(5000) != 5000) {
        size_t count;
        while (const uint32_t *words = loop.receive(&count)) {
            back.insert(back.end(), words, words + count);
        }
    }
    CHECK(back == sent);
    CHECK(loop.violation() == nullptr && !loop.device().offer_broken);
    // A refusal of 40 % makes 0.67 refused cycles for each of the 1040 beats.
    CHECK(loop.device().refused_home > 500 && loop.device().refused_home < 900);
    CHECK(loop.device().refused_address > 500 && loop.device().refused_address < 900);
}

void equal_seeds_give_equal_runs()
{
    uint64_t ran[2];
    for (uint64_t &cycles : ran) {
        ferry_sim_config config = settings();
        config.stall_percent = 30;
        Loop loop(config, 1 << 16);
        const uint32_t words[5] = {0x40000001, 2, 3, 4, 5};
        for (int n = 0; n < 20; n++) {
            loop.send(words, 5);
        }
        size_t count;
        for (int n = 0; n < 20; n++) {
            loop.run(10000);
            CHECK(loop.receive(&count) != nullptr);
        }
        cycles = loop.cycles();
    }
    CHECK(ran[0] == ran[1]);
}

void a_broken_device_stops_the_run()
{
    Loop wide(settings(), 1 << 16);
    const uint32_t words[3] = {0x40000001, 2, 3};
    wide.device().top().m_axi_awsize = 2;
    wide.send(words, 3);
    CHECK(wide.run(1000) < 40);
    CHECK(wide.violation() != nullptr);
    CHECK(wide.run(1000) == 0);
}

void observed_spans_cover_the_work()
{
    struct Seen {
        uint64_t begin, end, spans;
    } seen = {};
    const ferry_sim_observer observer = {&seen,
                                         [](void *context, ferry_sim_activity activity, uint64_t begin, uint64_t end) {
                                             auto *to = static_cast<Seen *>(context);
                                             *to = {begin, end, to->spans + (activity == FERRY_SIM_FIRMWARE)};
                                         },
                                         nullptr};
    Loop loop(settings(), 1 << 16);
    const uint64_t start = loop.cycles();
    const uint32_t words[3] = {0x40000001, 2, 3};
    loop.observe(&observer);
    loop.send(words, 3);
    loop.run(1000);
    loop.observe(nullptr);
    CHECK(seen.spans == 1);
    CHECK(seen.begin == start + 21 && seen.end == start + 20 + 2 * 16);
}

} // namespace

int main()
{
    return run_cases({
        CASE(a_packet_comes_home_after_its_latencies),
        CASE(a_packet_keeps_it_busy_until_it_is_home),
        CASE(stalls_refuse_their_share_and_break_no_offer),
        CASE(equal_seeds_give_equal_runs),
        CASE(a_broken_device_stops_the_run),
        CASE(observed_spans_cover_the_work),
    });
}
