// SPDX-License-Identifier: Apache-2.0
// ferry_framed_device behind a serial port: eight data bits, no parity, one stop bit, and nobody holds up the other. A board adds
// clock, pins and video memory.
`default_nettype none
`include "ferry_sets.vh"

module ferry_serial_device #(
    // As ferry_device's.
    parameter CONFIGURATION = "full",
    parameter LOCAL_ADDRESS_BITS = `FERRY_SET_LOCAL_ADDRESS_BITS(CONFIGURATION),
    parameter PAGE_TABLES = `FERRY_SET_PAGE_TABLES(CONFIGURATION),
    parameter TILING = `FERRY_SET_TILING(CONFIGURATION),
    parameter FIRMWARE_HEX = "",
    parameter [63:0] CPU_CORE = "vexriscv",
    // Length of a bit on the line in sixteenths of a clock, at least 64: 64 is 12 Mbaud at 48 MHz, 267 is 3 Mbaud at 50 MHz.
    parameter BIT_SIXTEENTHS = 64,
    // As ferry_frames'.
    parameter LG_RECEIVE = 11,
    parameter LG_SEND = 11,
    // Cycles without an acknowledgement after which packets are sent again: time of 16,384 bytes, 55 ms at 3 Mbaud.
    parameter RESEND_CLOCKS = 10240 * BIT_SIXTEENTHS,
    // What the hello tells the host, at most 15 characters.
    parameter [127:0] NAME = "ferry_serial"
) (
    // Clock of everything but the line, and synchronous reset.
    input  wire                          clk,
    input  wire                          rst,

    // The line, as seen from here; 1 when idle.
    input  wire                          rxd,
    output wire                          txd,
    // A host has a session: for a light.
    output wire                          session_open,
    // Something is under way between line and device, or was sent and is not acknowledged.
    output wire                          link_busy,

    // Video memory: as ferry_device's.
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
    generate if (BIT_SIXTEENTHS < 64) begin : refused
`ifndef __ICARUS__
        $error("ferry_serial_device: BIT_SIXTEENTHS is 64 or more");
`endif
    end endgenerate

    wire       rx_valid, rx_busy, rx_ready, tx_valid, tx_ready, tx_busy, frames_busy;
    wire [7:0] rx_data, tx_data;

    ferry_uart_receive #(.BIT_SIXTEENTHS(BIT_SIXTEENTHS)) uart_receive (
        .clk(clk), .rst(rst), .rxd(rxd), .byte_valid(rx_valid), .byte_data(rx_data), .busy(rx_busy)
    );

    ferry_uart_transmit #(.BIT_SIXTEENTHS(BIT_SIXTEENTHS)) uart_transmit (
        .clk(clk), .rst(rst), .byte_valid(tx_valid), .byte_data(tx_data), .byte_ready(tx_ready), .txd(txd), .busy(tx_busy)
    );
    assign link_busy = rx_busy || rx_valid || !rx_ready || tx_busy || frames_busy;

    ferry_framed_device #(
        .CONFIGURATION(CONFIGURATION), .LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS), .PAGE_TABLES(PAGE_TABLES), .TILING(TILING),
        .FIRMWARE_HEX(FIRMWARE_HEX), .CPU_CORE(CPU_CORE), .LG_RECEIVE(LG_RECEIVE), .LG_SEND(LG_SEND),
        .RESEND_CLOCKS(RESEND_CLOCKS), .BYTE_CLOCKS(10 * BIT_SIXTEENTHS / 16), .NAME(NAME)
    ) framed (
        .clk(clk), .rst(rst), .in_valid(rx_valid), .in_data(rx_data), .in_ready(rx_ready), .out_valid(tx_valid),
        .out_data(tx_data), .out_ready(tx_ready), .session_open(session_open), .frames_busy(frames_busy),
        .m_axi_awid(m_axi_awid), .m_axi_awaddr(m_axi_awaddr), .m_axi_awlen(m_axi_awlen), .m_axi_awsize(m_axi_awsize),
        .m_axi_awburst(m_axi_awburst), .m_axi_awvalid(m_axi_awvalid), .m_axi_awready(m_axi_awready),
        .m_axi_wdata(m_axi_wdata), .m_axi_wstrb(m_axi_wstrb), .m_axi_wlast(m_axi_wlast), .m_axi_wvalid(m_axi_wvalid),
        .m_axi_wready(m_axi_wready), .m_axi_bid(m_axi_bid), .m_axi_bresp(m_axi_bresp), .m_axi_bvalid(m_axi_bvalid),
        .m_axi_bready(m_axi_bready), .m_axi_arid(m_axi_arid), .m_axi_araddr(m_axi_araddr), .m_axi_arlen(m_axi_arlen),
        .m_axi_arsize(m_axi_arsize), .m_axi_arburst(m_axi_arburst), .m_axi_arvalid(m_axi_arvalid),
        .m_axi_arready(m_axi_arready), .m_axi_rid(m_axi_rid), .m_axi_rdata(m_axi_rdata), .m_axi_rresp(m_axi_rresp),
        .m_axi_rlast(m_axi_rlast), .m_axi_rvalid(m_axi_rvalid), .m_axi_rready(m_axi_rready)
    );

endmodule

`default_nettype wire
