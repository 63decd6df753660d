// SPDX-License-Identifier: Apache-2.0
// The two multiplexers with three masters, and the two kinds of FIFO with a skid buffer behind, for their test.
`default_nettype none
`include "ferry_contract.vh"

module fabric_under_test (
    input  wire clk,
    input  wire rst,

    // Read multiplexer; masters side by side, master 0 lowest.
    input  wire [2:0]   ar_valid,
    output wire [2:0]   ar_ready,
    input  wire [47:0]  ar_address,
    input  wire [23:0]  ar_length,
    output wire [2:0]   r_valid,
    input  wire [2:0]   r_ready,
    output wire [63:0]  r_data,
    output wire         r_last,
    output wire [1:0]   r_response,
    output wire [7:0]   r_fault,
    output wire [1:0]   m_arid,
    output wire [15:0]  m_araddr,
    output wire [7:0]   m_arlen,
    output wire         m_arnosnoop,
    output wire         m_arvalid,
    input  wire         m_arready,
    input  wire [1:0]   m_rid,
    input  wire [63:0]  m_rdata,
    input  wire         m_rlast,
    input  wire [1:0]   m_rresponse,
    input  wire [7:0]   m_rfault,
    input  wire         m_rvalid,
    output wire         m_rready,

    // Write multiplexer.
    input  wire [2:0]   aw_valid,
    output wire [2:0]   aw_ready,
    input  wire [47:0]  aw_address,
    input  wire [23:0]  aw_length,
    input  wire [2:0]   w_valid,
    output wire [2:0]   w_ready,
    input  wire [191:0] w_data,
    input  wire [2:0]   w_last,
    output wire [2:0]   b_valid,
    input  wire [2:0]   b_ready,
    output wire [1:0]   b_response,
    output wire [1:0]   m_awid,
    output wire [15:0]  m_awaddr,
    output wire [7:0]   m_awlen,
    output wire [7:0]   m_awtag,
    output wire         m_awvalid,
    input  wire         m_awready,
    output wire [63:0]  m_wdata,
    output wire         m_wlast,
    output wire         m_wvalid,
    input  wire         m_wready,
    input  wire [1:0]   m_bid,
    input  wire [1:0]   m_bresponse,
    input  wire         m_bvalid,
    output wire         m_bready,

    // LUT RAM FIFO, block RAM FIFO and skid buffer in a row.
    input  wire         in_valid,
    output wire         in_ready,
    input  wire [31:0]  in_data,
    output wire         out_valid,
    input  wire         out_ready,
    output wire [31:0]  out_data
);
    localparam A = `FERRY_AXI_A_BITS;
    localparam W = `FERRY_AXI_W_BITS;
    localparam R = `FERRY_AXI_R_BITS;

    // Master 0 of the read side asks without snoops; the write masters have tags 1, 2 and 3.
    wire [3*A-1:0] s_ar, s_aw;
    wire [3*W-1:0] s_w;
    genvar m;
    generate for (m = 0; m < 3; m = m + 1) begin : master
        localparam [7:0] TAG = m + 1;
        wire [A-1:0] ar, aw;
        wire [W-1:0] w;
        assign ar[`FERRY_AXI_A_ADDRESS_RANGE] = {48'd0, ar_address[16*m +: 16]};
        assign ar[`FERRY_AXI_A_LENGTH_RANGE] = ar_length[8*m +: 8];
        assign ar[`FERRY_AXI_A_NO_SNOOP_RANGE] = m == 0;
        assign ar[`FERRY_AXI_A_TAG_RANGE] = 8'd0;
        assign aw[`FERRY_AXI_A_ADDRESS_RANGE] = {48'd0, aw_address[16*m +: 16]};
        assign aw[`FERRY_AXI_A_LENGTH_RANGE] = aw_length[8*m +: 8];
        assign aw[`FERRY_AXI_A_NO_SNOOP_RANGE] = 1'b0;
        assign aw[`FERRY_AXI_A_TAG_RANGE] = TAG;
        assign w[`FERRY_AXI_W_DATA_RANGE] = w_data[64*m +: 64];
        assign w[`FERRY_AXI_W_STROBE_RANGE] = 8'hff;
        assign w[`FERRY_AXI_W_LAST_RANGE] = w_last[m];
        assign s_ar[m*A +: A] = ar;
        assign s_aw[m*A +: A] = aw;
        assign s_w[m*W +: W] = w;
    end endgenerate

    wire [A-1:0] m_ar, m_aw;
    wire [W-1:0] m_w;
    wire [R-1:0] s_r, m_r;
    assign m_araddr = m_ar[15:0];
    assign m_arlen = m_ar[`FERRY_AXI_A_LENGTH_RANGE];
    assign m_arnosnoop = m_ar[`FERRY_AXI_A_NO_SNOOP_RANGE];
    assign m_r[`FERRY_AXI_R_DATA_RANGE] = m_rdata;
    assign m_r[`FERRY_AXI_R_RESPONSE_RANGE] = m_rresponse;
    assign m_r[`FERRY_AXI_R_FAULT_RANGE] = m_rfault;
    assign m_r[`FERRY_AXI_R_LAST_RANGE] = m_rlast;
    assign r_data = s_r[`FERRY_AXI_R_DATA_RANGE];
    assign r_last = s_r[`FERRY_AXI_R_LAST_RANGE];
    assign r_response = s_r[`FERRY_AXI_R_RESPONSE_RANGE];
    assign r_fault = s_r[`FERRY_AXI_R_FAULT_RANGE];
    assign m_awaddr = m_aw[15:0];
    assign m_awlen = m_aw[`FERRY_AXI_A_LENGTH_RANGE];
    assign m_awtag = m_aw[`FERRY_AXI_A_TAG_RANGE];
    assign m_wdata = m_w[`FERRY_AXI_W_DATA_RANGE];
    assign m_wlast = m_w[`FERRY_AXI_W_LAST_RANGE];

    ferry_axi_read_mux #(.PORTS(3)) read_mux (
        .clk(clk), .rst(rst), .s_axi_ar(s_ar), .s_axi_arvalid(ar_valid), .s_axi_arready(ar_ready),
        .s_axi_r(s_r), .s_axi_rvalid(r_valid), .s_axi_rready(r_ready),
        .m_axi_arid(m_arid), .m_axi_ar(m_ar), .m_axi_arvalid(m_arvalid), .m_axi_arready(m_arready),
        .m_axi_rid(m_rid), .m_axi_r(m_r), .m_axi_rvalid(m_rvalid), .m_axi_rready(m_rready)
    );

    ferry_axi_write_mux #(.PORTS(3)) write_mux (
        .clk(clk), .rst(rst), .s_axi_aw(s_aw), .s_axi_awvalid(aw_valid), .s_axi_awready(aw_ready),
        .s_axi_w(s_w), .s_axi_wvalid(w_valid), .s_axi_wready(w_ready), .s_axi_bresp(b_response),
        .s_axi_bvalid(b_valid), .s_axi_bready(b_ready),
        .m_axi_awid(m_awid), .m_axi_aw(m_aw), .m_axi_awvalid(m_awvalid), .m_axi_awready(m_awready),
        .m_axi_w(m_w), .m_axi_wvalid(m_wvalid), .m_axi_wready(m_wready), .m_axi_bid(m_bid),
        .m_axi_bresp(m_bresponse), .m_axi_bvalid(m_bvalid), .m_axi_bready(m_bready)
    );

    wire        middle_valid, middle_ready, end_valid, end_ready;
    wire [31:0] middle_data, end_data;

    ferry_fifo #(.WIDTH(32), .LG_DEPTH(2)) first (
        .clk(clk), .rst(rst), .in_valid(in_valid), .in_ready(in_ready), .in_data(in_data),
        .out_valid(middle_valid), .out_ready(middle_ready), .out_data(middle_data)
    );
    ferry_fifo #(.WIDTH(32), .LG_DEPTH(3), .BLOCK(1)) second (
        .clk(clk), .rst(rst), .in_valid(middle_valid), .in_ready(middle_ready), .in_data(middle_data),
        .out_valid(end_valid), .out_ready(end_ready), .out_data(end_data)
    );
    ferry_skid_buffer #(.WIDTH(32)) third (
        .clk(clk), .rst(rst), .in_valid(end_valid), .in_ready(end_ready), .in_data(end_data),
        .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data)
    );

    wire unused = &{1'b0, m_ar, m_aw, m_w};
endmodule

`default_nettype wire
