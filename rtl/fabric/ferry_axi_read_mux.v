// SPDX-License-Identifier: Apache-2.0
// Three AXI4 read masters on one port: round robin, one request a cycle, no added cycle either way. The master's number
// becomes the request's ID and routes the data back, so the masters need no ID of their own. Masters reserve room
// before they ask: a master that does not take its data holds up the others.
`default_nettype none

module ferry_axi_read_mux #(
    // Address bits.
    parameter ADDRESS_BITS = 64,
    // ID bits, at least 2.
    parameter ID_WIDTH = 2
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // Master 0. nosnoop and rfault are used on the host port only; tie nosnoop to 0 elsewhere.
    input  wire [ADDRESS_BITS-1:0] s0_axi_araddr,
    input  wire [7:0]  s0_axi_arlen,
    input  wire        s0_axi_arnosnoop,
    input  wire        s0_axi_arvalid,
    output wire        s0_axi_arready,
    output wire [63:0] s0_axi_rdata,
    output wire [1:0]  s0_axi_rresp,
    output wire [7:0]  s0_axi_rfault,
    output wire        s0_axi_rlast,
    output wire        s0_axi_rvalid,
    input  wire        s0_axi_rready,

    // Master 1. nosnoop and rfault are used on the host port only; tie nosnoop to 0 elsewhere.
    input  wire [ADDRESS_BITS-1:0] s1_axi_araddr,
    input  wire [7:0]  s1_axi_arlen,
    input  wire        s1_axi_arnosnoop,
    input  wire        s1_axi_arvalid,
    output wire        s1_axi_arready,
    output wire [63:0] s1_axi_rdata,
    output wire [1:0]  s1_axi_rresp,
    output wire [7:0]  s1_axi_rfault,
    output wire        s1_axi_rlast,
    output wire        s1_axi_rvalid,
    input  wire        s1_axi_rready,

    // Master 2. nosnoop and rfault are used on the host port only; tie nosnoop to 0 elsewhere.
    input  wire [ADDRESS_BITS-1:0] s2_axi_araddr,
    input  wire [7:0]  s2_axi_arlen,
    input  wire        s2_axi_arnosnoop,
    input  wire        s2_axi_arvalid,
    output wire        s2_axi_arready,
    output wire [63:0] s2_axi_rdata,
    output wire [1:0]  s2_axi_rresp,
    output wire [7:0]  s2_axi_rfault,
    output wire        s2_axi_rlast,
    output wire        s2_axi_rvalid,
    input  wire        s2_axi_rready,

    // The shared port. ARSIZE is always 3, ARBURST always INCR. rfault: tie to 0 where the slave has none.
    output wire [ID_WIDTH-1:0]     m_axi_arid,
    output wire [ADDRESS_BITS-1:0] m_axi_araddr,
    output wire [7:0]  m_axi_arlen,
    output wire        m_axi_arnosnoop,
    output wire        m_axi_arvalid,
    input  wire        m_axi_arready,
    input  wire [ID_WIDTH-1:0]     m_axi_rid,
    input  wire [63:0] m_axi_rdata,
    input  wire [1:0]  m_axi_rresp,
    input  wire [7:0]  m_axi_rfault,
    input  wire        m_axi_rlast,
    input  wire        m_axi_rvalid,
    output wire        m_axi_rready
);
    // One request of three; the choice is held until it is taken, as AXI asks.
    wire [2:0] request = {s2_axi_arvalid, s1_axi_arvalid, s0_axi_arvalid};
    wire [2:0] grant;

    ferry_arbiter #(.PORTS(3)) arbiter (
        .clk(clk), .rst(rst), .request(request), .accept(m_axi_arready), .grant(grant)
    );

    assign m_axi_arvalid = |request;
    assign m_axi_arid = {{(ID_WIDTH-2){1'b0}}, grant[2], grant[1]};
    assign m_axi_araddr = ({ADDRESS_BITS{grant[0]}} & s0_axi_araddr) | ({ADDRESS_BITS{grant[1]}} & s1_axi_araddr)
        | ({ADDRESS_BITS{grant[2]}} & s2_axi_araddr);
    assign m_axi_arlen = ({8{grant[0]}} & s0_axi_arlen) | ({8{grant[1]}} & s1_axi_arlen)
        | ({8{grant[2]}} & s2_axi_arlen);
    assign m_axi_arnosnoop = (grant[0] && s0_axi_arnosnoop) || (grant[1] && s1_axi_arnosnoop)
        || (grant[2] && s2_axi_arnosnoop);
    assign {s2_axi_arready, s1_axi_arready, s0_axi_arready} = grant & {3{m_axi_arready}};

    assign s0_axi_rdata = m_axi_rdata;
    assign s0_axi_rresp = m_axi_rresp;
    assign s0_axi_rfault = m_axi_rfault;
    assign s0_axi_rlast = m_axi_rlast;
    assign s0_axi_rvalid = m_axi_rvalid && m_axi_rid == 0;
    assign s1_axi_rdata = m_axi_rdata;
    assign s1_axi_rresp = m_axi_rresp;
    assign s1_axi_rfault = m_axi_rfault;
    assign s1_axi_rlast = m_axi_rlast;
    assign s1_axi_rvalid = m_axi_rvalid && m_axi_rid == 1;
    assign s2_axi_rdata = m_axi_rdata;
    assign s2_axi_rresp = m_axi_rresp;
    assign s2_axi_rfault = m_axi_rfault;
    assign s2_axi_rlast = m_axi_rlast;
    assign s2_axi_rvalid = m_axi_rvalid && m_axi_rid == 2;
    // An ID that no master has cannot come back; it would be taken and dropped rather than block the channel.
    assign m_axi_rready = m_axi_rid == 0 ? s0_axi_rready
        : m_axi_rid == 1 ? s1_axi_rready : m_axi_rid == 2 ? s2_axi_rready : 1'b1;
endmodule

`default_nettype wire
