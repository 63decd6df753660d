// SPDX-License-Identifier: Apache-2.0
// A board's memory from the device's port to the chip: what starts the chip, the packaged controller, the port before it.
`timescale 1ns/1ps
`default_nettype none

module memory_under_test #(
    parameter ADDRESS_BITS = 25,
    parameter ROW_BITS = 13,
    parameter COLUMN_BITS = 9,
    parameter WORD_BITS = 16,
    parameter MASKS = 1,
    // The chip's.
    parameter T_REFI = 7812
) (
    // 50 MHz, and the chip's a quarter later.
    input  wire                    clk,
    input  wire                    late_clk,
    input  wire                    rst,
    output wire                    ready,
    output wire [4:0]              broken,

    input  wire [1:0]              awid,
    input  wire [ADDRESS_BITS-1:0] awaddr,
    input  wire [7:0]              awlen,
    input  wire                    awvalid,
    output wire                    awready,
    input  wire [63:0]             wdata,
    input  wire [7:0]              wstrb,
    input  wire                    wvalid,
    output wire                    wready,
    output wire [1:0]              bid,
    output wire                    bvalid,
    input  wire                    bready,
    input  wire [1:0]              arid,
    input  wire [ADDRESS_BITS-1:0] araddr,
    input  wire [7:0]              arlen,
    input  wire                    arvalid,
    output wire                    arready,
    output wire [1:0]              rid,
    output wire [63:0]             rdata,
    output wire                    rlast,
    output wire                    rvalid,
    input  wire                    rready
);
    wire [29:0] wb_adr;
    wire [31:0] wb_dat_w, unused_read;
    wire        wb_stb, wb_ack, cmd_valid, cmd_ready, cmd_we, words_valid, words_ready, reads_valid, awake;
    wire        cke, cs_n, ras_n, cas_n, we_n;
    wire [1:0]  ba;
    wire [ROW_BITS-1:0] a;
    wire [WORD_BITS/8-1:0] dm, words_we;
    wire [WORD_BITS-1:0] dq, words_data, reads_data;
    wire [ADDRESS_BITS-1-$clog2(WORD_BITS/8):0] cmd_addr;
    wire [4:0]  unused_core;

    ferry_dram_start #(.CLOCKS_PER_US(50)) start (
        .clk(clk), .rst(rst), .ready(ready), .wb_adr(wb_adr), .wb_dat_w(wb_dat_w), .wb_stb(wb_stb), .wb_ack(wb_ack)
    );

    litedram_core controller (
        .clk(clk), .rst(rst), .init_done(unused_core[0]), .init_error(unused_core[1]), .user_clk(unused_core[2]),
        .user_rst(unused_core[3]), .sdram_cke(cke), .sdram_cs_n(cs_n), .sdram_ras_n(ras_n), .sdram_cas_n(cas_n),
        .sdram_we_n(we_n), .sdram_ba(ba), .sdram_a(a), .sdram_dm(dm), .sdram_dq(dq),
        .wb_ctrl_adr(wb_adr), .wb_ctrl_dat_w(wb_dat_w), .wb_ctrl_dat_r(unused_read), .wb_ctrl_sel(4'hf), .wb_ctrl_cyc(wb_stb),
        .wb_ctrl_stb(wb_stb), .wb_ctrl_we(1'b1), .wb_ctrl_ack(wb_ack), .wb_ctrl_err(unused_core[4]), .wb_ctrl_cti(3'd0),
        .wb_ctrl_bte(2'd0), .user_port_video_cmd_valid(cmd_valid), .user_port_video_cmd_ready(cmd_ready),
        .user_port_video_cmd_we(cmd_we), .user_port_video_cmd_addr(cmd_addr), .user_port_video_wdata_valid(words_valid),
        .user_port_video_wdata_ready(words_ready), .user_port_video_wdata_data(words_data), .user_port_video_wdata_we(words_we),
        .user_port_video_rdata_valid(reads_valid), .user_port_video_rdata_ready(1'b1), .user_port_video_rdata_data(reads_data)
    );

    ferry_dram_port #(.ADDRESS_BITS(ADDRESS_BITS), .NATIVE_BITS(WORD_BITS), .MASKS(MASKS)) port (
        .clk(clk), .rst(rst),
        .s_axi_awid(awid), .s_axi_awaddr(awaddr), .s_axi_awlen(awlen), .s_axi_awvalid(awvalid && ready), .s_axi_awready(awready),
        .s_axi_wdata(wdata), .s_axi_wstrb(wstrb), .s_axi_wvalid(wvalid), .s_axi_wready(wready),
        .s_axi_bid(bid), .s_axi_bvalid(bvalid), .s_axi_bready(bready),
        .s_axi_arid(arid), .s_axi_araddr(araddr), .s_axi_arlen(arlen), .s_axi_arvalid(arvalid && ready), .s_axi_arready(arready),
        .s_axi_rid(rid), .s_axi_rdata(rdata), .s_axi_rlast(rlast), .s_axi_rvalid(rvalid), .s_axi_rready(rready),
        .cmd_valid(cmd_valid), .cmd_ready(cmd_ready), .cmd_we(cmd_we), .cmd_addr(cmd_addr), .wdata_data(words_data),
        .wdata_we(words_we), .wdata_valid(words_valid), .wdata_ready(words_ready), .rdata_data(reads_data),
        .rdata_valid(reads_valid)
    );

    sdram_chip #(.ROW_BITS(ROW_BITS), .COLUMN_BITS(COLUMN_BITS), .WORD_BITS(WORD_BITS), .T_REFI(T_REFI)) chip (
        .clk(late_clk), .cke(cke), .cs_n(cs_n), .ras_n(ras_n), .cas_n(cas_n), .we_n(we_n), .ba(ba), .a(a),
        .dqm(MASKS != 0 ? dm : {(WORD_BITS / 8){1'b0}}), .dq(dq), .broken(broken), .awake(awake)
    );

    wire unused = &{1'b0, unused_core, unused_read, awake};
endmodule

`default_nettype wire
