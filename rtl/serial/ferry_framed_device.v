// SPDX-License-Identifier: Apache-2.0
// ferry_device at the end of a byte stream, whatever carries it: its packets travel in frames (docs/manual/link.md), and credits in
// the frames are the only flow control.
`default_nettype none
`include "ferry_sets.vh"

module ferry_framed_device #(
    // As ferry_device's.
    parameter CONFIGURATION = "full",
    parameter LOCAL_ADDRESS_BITS = `FERRY_SET_LOCAL_ADDRESS_BITS(CONFIGURATION),
    parameter PAGE_TABLES = `FERRY_SET_PAGE_TABLES(CONFIGURATION),
    parameter TILING = `FERRY_SET_TILING(CONFIGURATION),
    parameter FIRMWARE_HEX = "",
    parameter [63:0] CPU_CORE = "vexriscv",
    // As ferry_frames'.
    parameter LG_RECEIVE = 11,
    parameter LG_SEND = 11,
    parameter RESEND_CLOCKS = 655360,
    parameter BYTE_CLOCKS = 40,
    parameter [127:0] NAME = "ferry_framed"
) (
    // Clock and synchronous reset.
    input  wire                          clk,
    input  wire                          rst,

    // Bytes from the host and to it.
    input  wire                          in_valid,
    input  wire [7:0]                    in_data,
    output wire                          in_ready,
    output wire                          out_valid,
    output wire [7:0]                    out_data,
    input  wire                          out_ready,
    // A host has a session: for a light.
    output wire                          session_open,
    // Something is under way in the frames, or was sent and is not acknowledged.
    output wire                          frames_busy,

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
    generate if (LG_RECEIVE < 10 || LG_RECEIVE > 12 || LG_SEND < 10 || LG_SEND > 12) begin : refused
`ifndef __ICARUS__
        $error("ferry_framed_device: LG_RECEIVE and LG_SEND are 10 to 12");
`endif
    end endgenerate

    wire [31:0] in_tdata, out_tdata;
    wire        in_tlast, in_tvalid, in_tready, in_request_ok, out_tlast, out_tvalid, out_tready, out_tkeep, unused_pending;

    ferry_frames #(
        .LG_RECEIVE(LG_RECEIVE), .LG_SEND(LG_SEND), .RESEND_CLOCKS(RESEND_CLOCKS), .BYTE_CLOCKS(BYTE_CLOCKS), .NAME(NAME)
    ) frames (
        .clk(clk), .rst(rst), .in_valid(in_valid), .in_data(in_data), .in_ready(in_ready), .out_valid(out_valid),
        .out_data(out_data), .out_ready(out_ready), .m_axis_tlp_tdata(in_tdata), .m_axis_tlp_tlast(in_tlast),
        .m_axis_tlp_tvalid(in_tvalid), .m_axis_tlp_tready(in_tready), .m_axis_tlp_request_ok(in_request_ok),
        .s_axis_tlp_tdata(out_tdata), .s_axis_tlp_tlast(out_tlast), .s_axis_tlp_tvalid(out_tvalid),
        .s_axis_tlp_tready(out_tready), .session_open(session_open), .busy(frames_busy)
    );

    ferry_device #(
        .CONFIGURATION(CONFIGURATION), .LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS), .PAGE_TABLES(PAGE_TABLES), .TILING(TILING),
        .FIRMWARE_HEX(FIRMWARE_HEX), .NAME(NAME), .TLP_BITS(32), .CPU_CORE(CPU_CORE)
    ) device (
        .clk(clk), .rst(rst),
        .s_axis_tlp_tdata(in_tdata), .s_axis_tlp_tkeep(1'b1), .s_axis_tlp_tlast(in_tlast), .s_axis_tlp_tvalid(in_tvalid),
        .s_axis_tlp_tready(in_tready), .s_axis_tlp_request_ok(in_request_ok),
        .m_axis_tlp_tdata(out_tdata), .m_axis_tlp_tkeep(out_tkeep), .m_axis_tlp_tlast(out_tlast),
        .m_axis_tlp_tvalid(out_tvalid), .m_axis_tlp_tready(out_tready),
        .m_axis_tlp_posted_ok(1'b1), .m_axis_tlp_request_ok(1'b1), .m_axis_tlp_completion_ok(1'b1), .requests_pending(unused_pending),
        .m_axi_awid(m_axi_awid), .m_axi_awaddr(m_axi_awaddr), .m_axi_awlen(m_axi_awlen), .m_axi_awsize(m_axi_awsize),
        .m_axi_awburst(m_axi_awburst), .m_axi_awvalid(m_axi_awvalid), .m_axi_awready(m_axi_awready),
        .m_axi_wdata(m_axi_wdata), .m_axi_wstrb(m_axi_wstrb), .m_axi_wlast(m_axi_wlast), .m_axi_wvalid(m_axi_wvalid),
        .m_axi_wready(m_axi_wready), .m_axi_bid(m_axi_bid), .m_axi_bresp(m_axi_bresp), .m_axi_bvalid(m_axi_bvalid),
        .m_axi_bready(m_axi_bready), .m_axi_arid(m_axi_arid), .m_axi_araddr(m_axi_araddr), .m_axi_arlen(m_axi_arlen),
        .m_axi_arsize(m_axi_arsize), .m_axi_arburst(m_axi_arburst), .m_axi_arvalid(m_axi_arvalid),
        .m_axi_arready(m_axi_arready), .m_axi_rid(m_axi_rid), .m_axi_rdata(m_axi_rdata), .m_axi_rresp(m_axi_rresp),
        .m_axi_rlast(m_axi_rlast), .m_axi_rvalid(m_axi_rvalid), .m_axi_rready(m_axi_rready)
    );

    wire unused = &{1'b0, out_tkeep};
endmodule

`default_nettype wire
