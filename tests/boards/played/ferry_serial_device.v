// SPDX-License-Identifier: Apache-2.0
// The device at a serial port, played by lights_test.
`default_nettype none

module ferry_serial_device #(
    parameter LOCAL_ADDRESS_BITS = 25,
    parameter PAGE_TABLES = 0,
    parameter TILING = 0,
    parameter FIRMWARE_HEX = "",
    parameter [63:0] CPU_CORE = "",
    parameter BIT_SIXTEENTHS = 267,
    parameter [127:0] NAME = ""
) (
    input  wire                          clk,
    input  wire                          rst,
    input  wire                          rxd,
    output wire                          txd,
    output wire                          session_open,
    output wire                          link_busy,
    output wire [1:0]                    m_axi_awid,
    output wire [LOCAL_ADDRESS_BITS-1:0] m_axi_awaddr,
    output wire [7:0]                    m_axi_awlen,
    output wire [2:0]                    m_axi_awsize,
    output wire [1:0]                    m_axi_awburst,
    output wire                          m_axi_awvalid,
    input  wire                          m_axi_awready,
    output wire [63:0]                   m_axi_wdata,
    output wire [7:0]                    m_axi_wstrb,
    output wire                          m_axi_wlast,
    output wire                          m_axi_wvalid,
    input  wire                          m_axi_wready,
    input  wire [1:0]                    m_axi_bid,
    input  wire [1:0]                    m_axi_bresp,
    input  wire                          m_axi_bvalid,
    output wire                          m_axi_bready,
    output wire [1:0]                    m_axi_arid,
    output wire [LOCAL_ADDRESS_BITS-1:0] m_axi_araddr,
    output wire [7:0]                    m_axi_arlen,
    output wire [2:0]                    m_axi_arsize,
    output wire [1:0]                    m_axi_arburst,
    output wire                          m_axi_arvalid,
    input  wire                          m_axi_arready,
    input  wire [1:0]                    m_axi_rid,
    input  wire [63:0]                   m_axi_rdata,
    input  wire [1:0]                    m_axi_rresp,
    input  wire                          m_axi_rlast,
    input  wire                          m_axi_rvalid,
    output wire                          m_axi_rready
);
    reg sends = 1'b0, session = 1'b0, reads = 1'b0, writes = 1'b0;
    assign {txd, session_open, link_busy, m_axi_arvalid, m_axi_awvalid} = {!sends, session, 1'b0, reads, writes};
    assign {m_axi_awid, m_axi_awaddr, m_axi_awlen, m_axi_awsize, m_axi_awburst, m_axi_wdata, m_axi_wstrb, m_axi_wlast, m_axi_wvalid} = 0;
    assign {m_axi_bready, m_axi_arid, m_axi_araddr, m_axi_arlen, m_axi_arsize, m_axi_arburst, m_axi_rready} = 0;
endmodule

`default_nettype wire
