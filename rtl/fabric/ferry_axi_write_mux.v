// SPDX-License-Identifier: Apache-2.0
// Three AXI4 write masters on one port: round robin for addresses; data follows in the order of the addresses, which a
// small FIFO keeps, from the cycle after its address; responses are routed back by the ID, which is the master's
// number. A master that has announced a burst holds the data channel until the burst's last beat.
`default_nettype none

module ferry_axi_write_mux #(
    // Address bits.
    parameter ADDRESS_BITS = 64,
    // ID bits, at least 2.
    parameter ID_WIDTH = 2,
    // log2 of the number of bursts announced whose data is not yet through.
    parameter LG_BURSTS = 3
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // Master 0. nosnoop and tag are used on the host port only; tie to 0 elsewhere.
    input  wire [ADDRESS_BITS-1:0] s0_axi_awaddr,
    input  wire [7:0]  s0_axi_awlen,
    input  wire        s0_axi_awnosnoop,
    input  wire [7:0]  s0_axi_awtag,
    input  wire        s0_axi_awvalid,
    output wire        s0_axi_awready,
    input  wire [63:0] s0_axi_wdata,
    input  wire [7:0]  s0_axi_wstrb,
    input  wire        s0_axi_wlast,
    input  wire        s0_axi_wvalid,
    output wire        s0_axi_wready,
    output wire [1:0]  s0_axi_bresp,
    output wire        s0_axi_bvalid,
    input  wire        s0_axi_bready,

    // Master 1. nosnoop and tag are used on the host port only; tie to 0 elsewhere.
    input  wire [ADDRESS_BITS-1:0] s1_axi_awaddr,
    input  wire [7:0]  s1_axi_awlen,
    input  wire        s1_axi_awnosnoop,
    input  wire [7:0]  s1_axi_awtag,
    input  wire        s1_axi_awvalid,
    output wire        s1_axi_awready,
    input  wire [63:0] s1_axi_wdata,
    input  wire [7:0]  s1_axi_wstrb,
    input  wire        s1_axi_wlast,
    input  wire        s1_axi_wvalid,
    output wire        s1_axi_wready,
    output wire [1:0]  s1_axi_bresp,
    output wire        s1_axi_bvalid,
    input  wire        s1_axi_bready,

    // Master 2. nosnoop and tag are used on the host port only; tie to 0 elsewhere.
    input  wire [ADDRESS_BITS-1:0] s2_axi_awaddr,
    input  wire [7:0]  s2_axi_awlen,
    input  wire        s2_axi_awnosnoop,
    input  wire [7:0]  s2_axi_awtag,
    input  wire        s2_axi_awvalid,
    output wire        s2_axi_awready,
    input  wire [63:0] s2_axi_wdata,
    input  wire [7:0]  s2_axi_wstrb,
    input  wire        s2_axi_wlast,
    input  wire        s2_axi_wvalid,
    output wire        s2_axi_wready,
    output wire [1:0]  s2_axi_bresp,
    output wire        s2_axi_bvalid,
    input  wire        s2_axi_bready,

    // The shared port. AWSIZE is always 3, AWBURST always INCR.
    output wire [ID_WIDTH-1:0]     m_axi_awid,
    output wire [ADDRESS_BITS-1:0] m_axi_awaddr,
    output wire [7:0]  m_axi_awlen,
    output wire        m_axi_awnosnoop,
    output wire [7:0]  m_axi_awtag,
    output wire        m_axi_awvalid,
    input  wire        m_axi_awready,
    output wire [63:0] m_axi_wdata,
    output wire [7:0]  m_axi_wstrb,
    output wire        m_axi_wlast,
    output wire        m_axi_wvalid,
    input  wire        m_axi_wready,
    input  wire [ID_WIDTH-1:0]     m_axi_bid,
    input  wire [1:0]  m_axi_bresp,
    input  wire        m_axi_bvalid,
    output wire        m_axi_bready
);
    // Which master's data comes next, in the order of the addresses.
    wire order_ready;
    wire order_valid;
    wire [1:0] order;
    wire [2:0] request = {s2_axi_awvalid, s1_axi_awvalid, s0_axi_awvalid} & {3{order_ready}};
    wire [2:0] grant;
    wire taken = m_axi_awvalid && m_axi_awready;

    ferry_arbiter #(.PORTS(3)) arbiter (
        .clk(clk), .rst(rst), .request(request), .accept(m_axi_awready), .grant(grant)
    );

    ferry_fifo #(.WIDTH(2), .LG_DEPTH(LG_BURSTS)) order_fifo (
        .clk(clk), .rst(rst),
        .in_valid(taken), .in_ready(order_ready), .in_data(grant[2:1]),
        .out_valid(order_valid), .out_ready(m_axi_wvalid && m_axi_wready && m_axi_wlast), .out_data(order)
    );

    assign m_axi_awvalid = |request;
    assign m_axi_awid = {{(ID_WIDTH-2){1'b0}}, grant[2], grant[1]};
    assign m_axi_awaddr = ({ADDRESS_BITS{grant[0]}} & s0_axi_awaddr) | ({ADDRESS_BITS{grant[1]}} & s1_axi_awaddr)
        | ({ADDRESS_BITS{grant[2]}} & s2_axi_awaddr);
    assign m_axi_awlen = ({8{grant[0]}} & s0_axi_awlen) | ({8{grant[1]}} & s1_axi_awlen)
        | ({8{grant[2]}} & s2_axi_awlen);
    assign m_axi_awnosnoop = (grant[0] && s0_axi_awnosnoop) || (grant[1] && s1_axi_awnosnoop)
        || (grant[2] && s2_axi_awnosnoop);
    assign m_axi_awtag = ({8{grant[0]}} & s0_axi_awtag) | ({8{grant[1]}} & s1_axi_awtag)
        | ({8{grant[2]}} & s2_axi_awtag);
    assign {s2_axi_awready, s1_axi_awready, s0_axi_awready} = grant & {3{m_axi_awready}};

    assign m_axi_wdata = order[1] ? s2_axi_wdata : order[0] ? s1_axi_wdata : s0_axi_wdata;
    assign m_axi_wstrb = order[1] ? s2_axi_wstrb : order[0] ? s1_axi_wstrb : s0_axi_wstrb;
    assign m_axi_wlast = order[1] ? s2_axi_wlast : order[0] ? s1_axi_wlast : s0_axi_wlast;
    assign m_axi_wvalid = order_valid && (order[1] ? s2_axi_wvalid : order[0] ? s1_axi_wvalid : s0_axi_wvalid);
    assign s0_axi_wready = order_valid && order == 2'd0 && m_axi_wready;
    assign s1_axi_wready = order_valid && order == 2'd1 && m_axi_wready;
    assign s2_axi_wready = order_valid && order == 2'd2 && m_axi_wready;

    assign s0_axi_bresp = m_axi_bresp;
    assign s0_axi_bvalid = m_axi_bvalid && m_axi_bid == 0;
    assign s1_axi_bresp = m_axi_bresp;
    assign s1_axi_bvalid = m_axi_bvalid && m_axi_bid == 1;
    assign s2_axi_bresp = m_axi_bresp;
    assign s2_axi_bvalid = m_axi_bvalid && m_axi_bid == 2;
    // An ID that no master has cannot come back; it would be taken and dropped rather than block the channel.
    assign m_axi_bready = m_axi_bid == 0 ? s0_axi_bready
        : m_axi_bid == 1 ? s1_axi_bready : m_axi_bid == 2 ? s2_axi_bready : 1'b1;
endmodule

`default_nettype wire
