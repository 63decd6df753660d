// SPDX-License-Identifier: Apache-2.0
// The two multiplexers with three masters, and the two kinds of FIFO with a skid buffer behind, for their test.
`default_nettype none

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
    output wire [1:0]   m_arid,
    output wire [15:0]  m_araddr,
    output wire [7:0]   m_arlen,
    output wire         m_arnosnoop,
    output wire         m_arvalid,
    input  wire         m_arready,
    input  wire [1:0]   m_rid,
    input  wire [63:0]  m_rdata,
    input  wire         m_rlast,
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
    wire [191:0] r_data_all;
    wire [5:0]   r_resp_all;
    wire [23:0]  r_fault_all;
    wire [2:0]   r_last_all;
    assign r_data = r_data_all[63:0];
    assign r_last = r_last_all[0];

    ferry_axi_read_mux #(.ADDRESS_BITS(16)) read_mux (
        .clk(clk), .rst(rst),
        .s0_axi_araddr(ar_address[15:0]), .s0_axi_arlen(ar_length[7:0]), .s0_axi_arnosnoop(1'b1),
        .s0_axi_arvalid(ar_valid[0]), .s0_axi_arready(ar_ready[0]), .s0_axi_rdata(r_data_all[63:0]),
        .s0_axi_rresp(r_resp_all[1:0]), .s0_axi_rfault(r_fault_all[7:0]), .s0_axi_rlast(r_last_all[0]),
        .s0_axi_rvalid(r_valid[0]), .s0_axi_rready(r_ready[0]),
        .s1_axi_araddr(ar_address[31:16]), .s1_axi_arlen(ar_length[15:8]), .s1_axi_arnosnoop(1'b0),
        .s1_axi_arvalid(ar_valid[1]), .s1_axi_arready(ar_ready[1]), .s1_axi_rdata(r_data_all[127:64]),
        .s1_axi_rresp(r_resp_all[3:2]), .s1_axi_rfault(r_fault_all[15:8]), .s1_axi_rlast(r_last_all[1]),
        .s1_axi_rvalid(r_valid[1]), .s1_axi_rready(r_ready[1]),
        .s2_axi_araddr(ar_address[47:32]), .s2_axi_arlen(ar_length[23:16]), .s2_axi_arnosnoop(1'b0),
        .s2_axi_arvalid(ar_valid[2]), .s2_axi_arready(ar_ready[2]), .s2_axi_rdata(r_data_all[191:128]),
        .s2_axi_rresp(r_resp_all[5:4]), .s2_axi_rfault(r_fault_all[23:16]), .s2_axi_rlast(r_last_all[2]),
        .s2_axi_rvalid(r_valid[2]), .s2_axi_rready(r_ready[2]),
        .m_axi_arid(m_arid), .m_axi_araddr(m_araddr), .m_axi_arlen(m_arlen), .m_axi_arnosnoop(m_arnosnoop),
        .m_axi_arvalid(m_arvalid), .m_axi_arready(m_arready), .m_axi_rid(m_rid), .m_axi_rdata(m_rdata),
        .m_axi_rresp(2'd0), .m_axi_rfault(8'd0), .m_axi_rlast(m_rlast), .m_axi_rvalid(m_rvalid),
        .m_axi_rready(m_rready)
    );

    wire       m_awnosnoop;
    wire [7:0] m_wstrb;
    wire [5:0] b_resp_all;

    ferry_axi_write_mux #(.ADDRESS_BITS(16)) write_mux (
        .clk(clk), .rst(rst),
        .s0_axi_awaddr(aw_address[15:0]), .s0_axi_awlen(aw_length[7:0]), .s0_axi_awnosnoop(1'b0),
        .s0_axi_awtag(8'd1),
        .s0_axi_awvalid(aw_valid[0]), .s0_axi_awready(aw_ready[0]), .s0_axi_wdata(w_data[63:0]),
        .s0_axi_wstrb(8'hff), .s0_axi_wlast(w_last[0]), .s0_axi_wvalid(w_valid[0]), .s0_axi_wready(w_ready[0]),
        .s0_axi_bresp(b_resp_all[1:0]), .s0_axi_bvalid(b_valid[0]), .s0_axi_bready(b_ready[0]),
        .s1_axi_awaddr(aw_address[31:16]), .s1_axi_awlen(aw_length[15:8]), .s1_axi_awnosnoop(1'b0),
        .s1_axi_awtag(8'd2),
        .s1_axi_awvalid(aw_valid[1]), .s1_axi_awready(aw_ready[1]), .s1_axi_wdata(w_data[127:64]),
        .s1_axi_wstrb(8'hff), .s1_axi_wlast(w_last[1]), .s1_axi_wvalid(w_valid[1]), .s1_axi_wready(w_ready[1]),
        .s1_axi_bresp(b_resp_all[3:2]), .s1_axi_bvalid(b_valid[1]), .s1_axi_bready(b_ready[1]),
        .s2_axi_awaddr(aw_address[47:32]), .s2_axi_awlen(aw_length[23:16]), .s2_axi_awnosnoop(1'b0),
        .s2_axi_awtag(8'd3),
        .s2_axi_awvalid(aw_valid[2]), .s2_axi_awready(aw_ready[2]), .s2_axi_wdata(w_data[191:128]),
        .s2_axi_wstrb(8'hff), .s2_axi_wlast(w_last[2]), .s2_axi_wvalid(w_valid[2]), .s2_axi_wready(w_ready[2]),
        .s2_axi_bresp(b_resp_all[5:4]), .s2_axi_bvalid(b_valid[2]), .s2_axi_bready(b_ready[2]),
        .m_axi_awid(m_awid), .m_axi_awaddr(m_awaddr), .m_axi_awlen(m_awlen), .m_axi_awnosnoop(m_awnosnoop),
        .m_axi_awtag(m_awtag),
        .m_axi_awvalid(m_awvalid), .m_axi_awready(m_awready), .m_axi_wdata(m_wdata), .m_axi_wstrb(m_wstrb),
        .m_axi_wlast(m_wlast), .m_axi_wvalid(m_wvalid), .m_axi_wready(m_wready), .m_axi_bid(m_bid),
        .m_axi_bresp(2'd0), .m_axi_bvalid(m_bvalid), .m_axi_bready(m_bready)
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

    wire unused = &{r_data_all[191:64], r_resp_all, r_fault_all, r_last_all[2:1], m_awnosnoop, m_wstrb, b_resp_all,
        1'b0};
endmodule

`default_nettype wire
