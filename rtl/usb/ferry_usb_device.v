// SPDX-License-Identifier: Apache-2.0
// ferry_framed_device behind two USB pins, full speed: the packaged core (usb_core.py) has a bulk endpoint in each direction, and the
// frames' bytes go through them. A device that has no room refuses packets, a host that asks too early is refused; so nobody loses
// a byte. A board adds clocks, pins and video memory.
`default_nettype none
`include "ferry_sets.vh"

module ferry_usb_device #(
    // As ferry_device's.
    parameter CONFIGURATION = "full",
    parameter LOCAL_ADDRESS_BITS = `FERRY_SET_LOCAL_ADDRESS_BITS(CONFIGURATION),
    parameter PAGE_TABLES = `FERRY_SET_PAGE_TABLES(CONFIGURATION),
    parameter TILING = `FERRY_SET_TILING(CONFIGURATION),
    parameter FIRMWARE_HEX = "",
    parameter [63:0] CPU_CORE = "vexriscv",
    // Clocks (clk) in a microsecond.
    parameter CLOCKS_PER_US = 50,
    // As ferry_frames'. A full-speed bus carries 1,216 bytes of bulk transfers in a millisecond; a host may be away for 50.
    parameter LG_RECEIVE = 11,
    parameter LG_SEND = 11,
    parameter RESEND_CLOCKS = 50000 * CLOCKS_PER_US,
    parameter BYTE_CLOCKS = CLOCKS_PER_US * 1000 / 1216,
    // What the hello tells the host, at most 15 characters.
    parameter [127:0] NAME = "ferry_usb"
) (
    // The device's clock and its synchronous reset. Of any rate, and on its own; but neither reset comes without the other.
    input  wire                          clk,
    input  wire                          rst,
    // The bus': 12 MHz with a synchronous reset, and 48 MHz in phase with it.
    input  wire                          usb_clk,
    input  wire                          usb_rst,
    input  wire                          usb_io_clk,

    // D+ and D-: as they are, as they are to be driven while usb_oe is set; and a pull-up of 1.5 kOhm at D+.
    input  wire                          usb_dp_i,
    input  wire                          usb_dn_i,
    output wire                          usb_dp_o,
    output wire                          usb_dn_o,
    output wire                          usb_oe,
    output wire                          usb_pullup,
    // A host has a session: for a light.
    output wire                          session_open,
    // A byte of the host's came, one for it went: for lights.
    output wire                          byte_comes,
    output wire                          byte_goes,
    // Something is under way between endpoints and device, or was sent and is not acknowledged.
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
    wire       down_valid, down_ready, up_valid, up_ready, port_busy, frames_busy;
    wire [7:0] down_data, up_data;

    ferry_usb_port port (
        .clk(clk), .rst(rst), .usb_clk(usb_clk), .usb_rst(usb_rst), .usb_io_clk(usb_io_clk), .usb_dp_i(usb_dp_i),
        .usb_dn_i(usb_dn_i), .usb_dp_o(usb_dp_o), .usb_dn_o(usb_dn_o), .usb_oe(usb_oe), .usb_pullup(usb_pullup),
        .down_valid(down_valid), .down_data(down_data), .down_ready(down_ready), .up_valid(up_valid), .up_data(up_data),
        .up_ready(up_ready), .busy(port_busy)
    );

    assign byte_comes = down_valid && down_ready;
    assign byte_goes = up_valid && up_ready;
    assign link_busy = port_busy || frames_busy;

    ferry_framed_device #(
        .CONFIGURATION(CONFIGURATION), .LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS), .PAGE_TABLES(PAGE_TABLES), .TILING(TILING),
        .FIRMWARE_HEX(FIRMWARE_HEX), .CPU_CORE(CPU_CORE), .LG_RECEIVE(LG_RECEIVE), .LG_SEND(LG_SEND),
        .RESEND_CLOCKS(RESEND_CLOCKS), .BYTE_CLOCKS(BYTE_CLOCKS), .NAME(NAME)
    ) framed (
        .clk(clk), .rst(rst), .in_valid(down_valid), .in_data(down_data), .in_ready(down_ready), .out_valid(up_valid),
        .out_data(up_data), .out_ready(up_ready), .session_open(session_open), .frames_busy(frames_busy),
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
