// SPDX-License-Identifier: Apache-2.0
// The m_axi_* ports of a Verilated top with the DRAM model behind them: driven before an edge, read off behind it, as
// harness.h says.
#ifndef FERRY_SIM_MEMORY_PORT_H
#define FERRY_SIM_MEMORY_PORT_H

#include <cstdint>

#include "dram.h"

namespace ferry
{

class MemoryPort
{
  public:
    /// Which handshakes chance allows in this cycle.
    struct Allowed {
        bool aw, w, b, ar, r;
    };

    MemoryPort(size_t bytes, const ferry_sim_config &config) : dram_(bytes, config.read_latency, config.dram) {}
    Dram &dram() { return dram_; }
    const Dram &dram() const { return dram_; }

    template <class Top> static void idle(Top &top)
    {
        top.m_axi_awready = top.m_axi_wready = top.m_axi_arready = 0;
        top.m_axi_bvalid = top.m_axi_rvalid = 0;
    }

    /// An offer that was refused stands: only new ones are up to chance.
    template <class Top> void drive(Top &top, uint64_t now, const Allowed &allowed)
    {
        if (!read_offered_ && dram_.read_data_valid(now) && allowed.r) {
            read_offered_ = true;
            const Dram::ReadBeat beat = dram_.read_data();
            top.m_axi_rid = beat.id;
            top.m_axi_rdata = beat.data;
            top.m_axi_rresp = beat.response;
            top.m_axi_rlast = beat.last;
        }
        top.m_axi_rvalid = read_offered_;
        if (!response_offered_ && dram_.write_response_valid(now) && allowed.b) {
            response_offered_ = true;
            const Dram::WriteResponse response = dram_.write_response();
            top.m_axi_bid = response.id;
            top.m_axi_bresp = response.response;
        }
        top.m_axi_bvalid = response_offered_;
        top.m_axi_awready = dram_.write_address_ready() && allowed.aw;
        top.m_axi_wready = dram_.write_data_ready() && allowed.w;
        top.m_axi_arready = dram_.read_address_ready() && allowed.ar;
    }

    /// Take note of what is handed over; what rule was broken, or nullptr.
    template <class Top> const char *note(Top &top, uint64_t now)
    {
        bool odd = false;
        if (read_offered_ && top.m_axi_rready) {
            read_offered_ = false;
            dram_.read_data_taken(now);
        }
        if (response_offered_ && top.m_axi_bready) {
            response_offered_ = false;
            dram_.write_response_taken();
        }
        if (top.m_axi_wvalid && top.m_axi_wready) {
            dram_.write_data(now, top.m_axi_wdata, top.m_axi_wstrb, top.m_axi_wlast);
        }
        if (top.m_axi_awvalid && top.m_axi_awready) {
            odd = odd || top.m_axi_awsize != 3 || top.m_axi_awburst != 1;
            dram_.write_address(now, top.m_axi_awid, top.m_axi_awaddr, top.m_axi_awlen + 1u);
        }
        if (top.m_axi_arvalid && top.m_axi_arready) {
            odd = odd || top.m_axi_arsize != 3 || top.m_axi_arburst != 1;
            dram_.read_address(now, top.m_axi_arid, top.m_axi_araddr, top.m_axi_arlen + 1u);
        }
        return dram_.violation() != nullptr ? dram_.violation()
               : odd                        ? "a burst that is not INCR of 8-byte beats"
                                            : nullptr;
    }

  private:
    Dram dram_;
    bool read_offered_ = false, response_offered_ = false;
};

} // namespace ferry

#endif
