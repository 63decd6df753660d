// SPDX-License-Identifier: Apache-2.0
// What boards in a PCI slot with a 7-series FPGA have behind their link block: adapter, device, video memory of block RAM.
// The ports are those of the block's core that are used (AMD PG054); ferry_slot says more of each.
`default_nettype none

module ferry_slot_board #(
    // The firmware that the bitstream brings along, and which soft core is among the sources; as ferry_device has them.
    parameter FIRMWARE_HEX = "",
    parameter [63:0] CPU_CORE = "vexriscv",
    // What the board says to the host, at most 15 letters.
    parameter [127:0] NAME = "ferry_slot",
    // log2 of the bytes of video memory.
    parameter ADDRESS_BITS = 20,
    // Page tables (driver model 2) want 22 bits at least.
    parameter PAGE_TABLES = ADDRESS_BITS >= 22 ? 1 : 0
) (
    input  wire        clk,
    input  wire        rst,
    input  wire [63:0] m_axis_rx_tdata,
    input  wire [7:0]  m_axis_rx_tkeep,
    input  wire        m_axis_rx_tlast,
    input  wire        m_axis_rx_tvalid,
    output wire        m_axis_rx_tready,
    input  wire [7:0]  rx_bar_hit,
    output wire        rx_np_ok,
    output wire [63:0] s_axis_tx_tdata,
    output wire [7:0]  s_axis_tx_tkeep,
    output wire        s_axis_tx_tlast,
    output wire        s_axis_tx_tvalid,
    input  wire        s_axis_tx_tready,
    output wire [2:0]  fc_sel,
    input  wire [7:0]  fc_ph,
    input  wire [11:0] fc_pd,
    input  wire [7:0]  fc_nph,
    input  wire [7:0]  fc_cplh,
    input  wire [11:0] fc_cpld,
    output wire [9:0]  cfg_mgmt_dwaddr,
    output wire        cfg_mgmt_rd_en,
    input  wire [31:0] cfg_mgmt_do,
    input  wire        cfg_mgmt_rd_wr_done,
    input  wire [7:0]  cfg_bus_number,
    input  wire [4:0]  cfg_device_number,
    input  wire [2:0]  cfg_function_number,
    input  wire [15:0] cfg_command,
    input  wire [15:0] cfg_dcommand,
    input  wire [1:0]  cfg_pmcsr_powerstate,
    input  wire        cfg_interrupt_msienable,
    input  wire        cfg_received_func_lvl_rst,
    output wire        cfg_trn_pending
);
    wire [63:0] in_data, out_data, wdata, rdata;
    wire [1:0]  in_keep, out_keep, awid, arid, bid, rid;
    wire        in_last, in_valid, in_ready, in_request_ok, out_last, out_valid, out_ready;
    wire        posted_ok, request_ok, completion_ok;
    wire [ADDRESS_BITS-1:0] awaddr, araddr;
    wire [7:0]  awlen, arlen, wstrb;
    wire [2:0]  awsize, arsize;
    wire [1:0]  awburst, arburst;
    wire        awvalid, awready, wvalid, wready, wlast, bvalid, bready, arvalid, arready, rvalid, rready, rlast;

    ferry_slot #(.BAR2_BITS(ADDRESS_BITS + 1)) slot (
        .clk(clk), .rst(rst), .m_axis_rx_tdata(m_axis_rx_tdata), .m_axis_rx_tkeep(m_axis_rx_tkeep),
        .m_axis_rx_tlast(m_axis_rx_tlast), .m_axis_rx_tvalid(m_axis_rx_tvalid), .m_axis_rx_tready(m_axis_rx_tready),
        .rx_bar_hit(rx_bar_hit), .rx_np_ok(rx_np_ok), .s_axis_tx_tdata(s_axis_tx_tdata), .s_axis_tx_tkeep(s_axis_tx_tkeep),
        .s_axis_tx_tlast(s_axis_tx_tlast), .s_axis_tx_tvalid(s_axis_tx_tvalid), .s_axis_tx_tready(s_axis_tx_tready),
        .fc_sel(fc_sel), .fc_ph(fc_ph), .fc_pd(fc_pd), .fc_nph(fc_nph), .fc_cplh(fc_cplh), .fc_cpld(fc_cpld),
        .cfg_mgmt_dwaddr(cfg_mgmt_dwaddr), .cfg_mgmt_rd_en(cfg_mgmt_rd_en), .cfg_mgmt_do(cfg_mgmt_do),
        .cfg_mgmt_rd_wr_done(cfg_mgmt_rd_wr_done), .cfg_bus_number(cfg_bus_number),
        .cfg_device_number(cfg_device_number), .cfg_function_number(cfg_function_number), .cfg_command(cfg_command),
        .cfg_dcommand(cfg_dcommand), .cfg_pmcsr_powerstate(cfg_pmcsr_powerstate),
        .cfg_interrupt_msienable(cfg_interrupt_msienable), .cfg_received_func_lvl_rst(cfg_received_func_lvl_rst),
        .s_axis_tlp_tdata(in_data), .s_axis_tlp_tkeep(in_keep), .s_axis_tlp_tlast(in_last), .s_axis_tlp_tvalid(in_valid),
        .s_axis_tlp_tready(in_ready), .s_axis_tlp_request_ok(in_request_ok), .m_axis_tlp_tdata(out_data),
        .m_axis_tlp_tkeep(out_keep), .m_axis_tlp_tlast(out_last), .m_axis_tlp_tvalid(out_valid),
        .m_axis_tlp_tready(out_ready), .m_axis_tlp_posted_ok(posted_ok), .m_axis_tlp_request_ok(request_ok),
        .m_axis_tlp_completion_ok(completion_ok)
    );

    ferry_device #(
        .LOCAL_ADDRESS_BITS(ADDRESS_BITS), .FIRMWARE_HEX(FIRMWARE_HEX), .NAME(NAME), .CPU_CORE(CPU_CORE), .PAGE_TABLES(PAGE_TABLES)
    ) device (
        .clk(clk), .rst(rst), .s_axis_tlp_tdata(in_data), .s_axis_tlp_tkeep(in_keep), .s_axis_tlp_tlast(in_last),
        .s_axis_tlp_tvalid(in_valid), .s_axis_tlp_tready(in_ready), .s_axis_tlp_request_ok(in_request_ok),
        .m_axis_tlp_tdata(out_data), .m_axis_tlp_tkeep(out_keep), .m_axis_tlp_tlast(out_last),
        .m_axis_tlp_tvalid(out_valid), .m_axis_tlp_tready(out_ready), .m_axis_tlp_posted_ok(posted_ok),
        .m_axis_tlp_request_ok(request_ok), .m_axis_tlp_completion_ok(completion_ok), .requests_pending(cfg_trn_pending),
        .m_axi_awid(awid), .m_axi_awaddr(awaddr), .m_axi_awlen(awlen), .m_axi_awsize(awsize), .m_axi_awburst(awburst),
        .m_axi_awvalid(awvalid), .m_axi_awready(awready), .m_axi_wdata(wdata), .m_axi_wstrb(wstrb), .m_axi_wlast(wlast),
        .m_axi_wvalid(wvalid), .m_axi_wready(wready), .m_axi_bid(bid), .m_axi_bresp(2'd0), .m_axi_bvalid(bvalid),
        .m_axi_bready(bready), .m_axi_arid(arid), .m_axi_araddr(araddr), .m_axi_arlen(arlen), .m_axi_arsize(arsize),
        .m_axi_arburst(arburst), .m_axi_arvalid(arvalid), .m_axi_arready(arready), .m_axi_rid(rid), .m_axi_rdata(rdata),
        .m_axi_rresp(2'd0), .m_axi_rlast(rlast), .m_axi_rvalid(rvalid), .m_axi_rready(rready)
    );

    ferry_block_memory #(.ADDRESS_BITS(ADDRESS_BITS)) memory (
        .clk(clk), .rst(rst), .s_axi_awid(awid), .s_axi_awaddr(awaddr), .s_axi_awvalid(awvalid), .s_axi_awready(awready),
        .s_axi_wdata(wdata), .s_axi_wstrb(wstrb), .s_axi_wlast(wlast), .s_axi_wvalid(wvalid), .s_axi_wready(wready),
        .s_axi_bid(bid), .s_axi_bvalid(bvalid), .s_axi_bready(bready), .s_axi_arid(arid), .s_axi_araddr(araddr),
        .s_axi_arlen(arlen), .s_axi_arvalid(arvalid), .s_axi_arready(arready), .s_axi_rid(rid), .s_axi_rdata(rdata),
        .s_axi_rlast(rlast), .s_axi_rvalid(rvalid), .s_axi_rready(rready)
    );

    // INCR bursts of 8-byte beats, and the last beat says so.
    wire unused = &{1'b0, awlen, awsize, awburst, arsize, arburst};
endmodule

`default_nettype wire
