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
    // Without room in that FIFO no address is shown; the grant waits meanwhile.
    wire [2:0] request = {s2_axi_awvalid, s1_axi_awvalid, s0_axi_awvalid};
    wire [2:0] grant;
    wire taken = m_axi_awvalid && m_axi_awready;

    ferry_arbiter #(.PORTS(3)) arbiter (
        .clk(clk), .rst(rst), .request(request), .accept(m_axi_awready && order_ready), .grant(grant)
    );

    ferry_fifo #(.WIDTH(2), .LG_DEPTH(LG_BURSTS)) order_fifo (
        .clk(clk), .rst(rst),
        .in_valid(taken), .in_ready(order_ready), .in_data(grant[2:1]),
        .out_valid(order_valid), .out_ready(m_axi_wvalid && m_axi_wready && m_axi_wlast), .out_data(order)
    );

    assign m_axi_awvalid = (|request) && order_ready;
    assign m_axi_awid = {{(ID_WIDTH-2){1'b0}}, grant[2], grant[1]};
    assign m_axi_awaddr = ({ADDRESS_BITS{grant[0]}} & s0_axi_awaddr) | ({ADDRESS_BITS{grant[1]}} & s1_axi_awaddr)
        | ({ADDRESS_BITS{grant[2]}} & s2_axi_awaddr);
    assign m_axi_awlen = ({8{grant[0]}} & s0_axi_awlen) | ({8{grant[1]}} & s1_axi_awlen)
        | ({8{grant[2]}} & s2_axi_awlen);
    assign m_axi_awnosnoop = (grant[0] && s0_axi_awnosnoop) || (grant[1] && s1_axi_awnosnoop)
        || (grant[2] && s2_axi_awnosnoop);
    assign m_axi_awtag = ({8{grant[0]}} & s0_axi_awtag) | ({8{grant[1]}} & s1_axi_awtag)
        | ({8{grant[2]}} & s2_axi_awtag);
    assign {s2_axi_awready, s1_axi_awready, s0_axi_awready} = grant & {3{m_axi_awready && order_ready}};

    assign m_axi_wdata = order[1] ? s2_axi_wdata : order[0] ? s1_axi_wdata : s0_axi_wdata;
    assign m_axi_wstrb = order[1] ? s2_axi_wstrb : order[0] ? s1_axi_wstrb : s0_axi_wstrb;
    assign m_axi_wlast = order[1] ? s2_axi_wlast : order[0] ? s1_axi_wlast : s0_axi_wlast;
    assign m_axi_wvalid = order_valid && (order[1] ? s2_axi_wvalid : order[0] ? s1_axi_wvalid : s0_axi_wvalid);
    assign s0_axi_wready = order_valid && order == 2'd0 && m_axi_wready;
    assign s1_axi_wready = order_valid && order == 2'd1 && m_axi_wready;
    assign s2_axi_wready = order_valid && order[1] && m_axi_wready;

    assign s0_axi_bresp = m_axi_bresp;
    assign s0_axi_bvalid = m_axi_bvalid && m_axi_bid == 0;
    assign s1_axi_bresp = m_axi_bresp;
    assign s1_axi_bvalid = m_axi_bvalid && m_axi_bid == 1;
    assign s2_axi_bresp = m_axi_bresp;
    assign s2_axi_bvalid = m_axi_bvalid && m_axi_bid == 2;
    // An ID that no master has cannot come back; it would be taken and dropped rather than block the channel.
    assign m_axi_bready = m_axi_bid == 0 ? s0_axi_bready
        : m_axi_bid == 1 ? s1_axi_bready : m_axi_bid == 2 ? s2_axi_bready : 1'b1;

`ifdef FORMAL
    // The masters and the slave keep AXI4; so then does the shared port, and each master sees a slave of its own. That
    // data comes in the order of the addresses, and as many beats as announced, is in tests/formal/write_mux_order.v.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) if (!past_valid) assume (rst);

    localparam AB = ADDRESS_BITS + 9;
    wire [3*AB-1:0] s_aw = {s2_axi_awnosnoop, s2_axi_awlen, s2_axi_awaddr, s1_axi_awnosnoop, s1_axi_awlen,
        s1_axi_awaddr, s0_axi_awnosnoop, s0_axi_awlen, s0_axi_awaddr};
    wire [AB-1:0] m_aw = {m_axi_awnosnoop, m_axi_awlen, m_axi_awaddr};
    wire [2:0] s_awvalid = {s2_axi_awvalid, s1_axi_awvalid, s0_axi_awvalid};
    wire [2:0] s_awready = {s2_axi_awready, s1_axi_awready, s0_axi_awready};
    wire [3*73-1:0] s_w = {s2_axi_wlast, s2_axi_wstrb, s2_axi_wdata, s1_axi_wlast, s1_axi_wstrb, s1_axi_wdata,
        s0_axi_wlast, s0_axi_wstrb, s0_axi_wdata};
    wire [72:0] m_w = {m_axi_wlast, m_axi_wstrb, m_axi_wdata};
    wire [2:0] s_wvalid = {s2_axi_wvalid, s1_axi_wvalid, s0_axi_wvalid};
    wire [2:0] s_wready = {s2_axi_wready, s1_axi_wready, s0_axi_wready};
    wire [2:0] w_taken = s_wvalid & s_wready;
    wire [5:0] s_bresp = {s2_axi_bresp, s1_axi_bresp, s0_axi_bresp};
    wire [2:0] s_bvalid = {s2_axi_bvalid, s1_axi_bvalid, s0_axi_bvalid};
    wire [2:0] s_bready = {s2_axi_bready, s1_axi_bready, s0_axi_bready};

    // The master whose burst has begun and not ended; 0 = none.
    reg [2:0] inside = 0;
    always @(posedge clk) begin
        if (m_axi_wvalid && m_axi_wready) begin
            inside <= m_axi_wlast ? 3'd0 : w_taken;
        end
        if (rst) begin
            inside <= 3'd0;
        end
    end

    genvar i;
    generate for (i = 0; i < 3; i = i + 1) begin : master
        wire [AB-1:0] aw = s_aw[i*AB +: AB];
        // What this master showed and was not yet taken: it stays.
        reg aw_waits = 1'b0;
        reg [AB-1:0] aw_shown = 0;
        reg w_waits = 1'b0;
        reg [72:0] w_shown = 0;
        // Bursts without their response: as the slave sees them by ID, and as this master sees them.
        reg [3:0] slave_open = 0;
        reg [3:0] master_open = 0;
        always @(posedge clk) begin
            aw_waits <= !rst && s_awvalid[i] && !s_awready[i];
            aw_shown <= aw;
            w_waits <= !rst && s_wvalid[i] && !s_wready[i];
            w_shown <= s_w[i*73 +: 73];
            slave_open <= slave_open + (taken && m_axi_awid == i)
                - (m_axi_bvalid && m_axi_bready && m_axi_bid == i);
            master_open <= master_open + (s_awvalid[i] && s_awready[i]) - (s_bvalid[i] && s_bready[i]);
            if (rst) begin
                slave_open <= 0;
                master_open <= 0;
            end
            if (past_valid && !rst && !$past(rst)) begin
                if ($past(s_bvalid[i] && !s_bready[i])) begin
                    assert (s_bvalid[i] && $stable(s_bresp[i*2 +: 2]));
                end
            end
        end
        always @(*) begin
            assume (!aw_waits || (s_awvalid[i] && aw == aw_shown));
            assume (!w_waits || (s_wvalid[i] && s_w[i*73 +: 73] == w_shown));
            assume (!(s_awvalid[i] && slave_open == 15));
            if (s_awvalid[i]) begin
                assume ({2'd0, aw[11:3]} + {3'd0, aw[ADDRESS_BITS +: 8]} < 512);
            end
            if (m_axi_bvalid && m_axi_bid == i) begin
                assume (slave_open != 0);
            end
            if (past_valid && !rst) begin
                assert (master_open == slave_open);
                assert (s_bvalid[i] == (m_axi_bvalid && m_axi_bid == i));
                if (s_bvalid[i]) begin
                    assert (master_open != 0 && s_bresp[i*2 +: 2] == m_axi_bresp && m_axi_bready == s_bready[i]);
                end
                assert ((s_awvalid[i] && s_awready[i]) == (taken && m_axi_awid == i));
                if (m_axi_awvalid && m_axi_awid == i) begin
                    assert (s_awvalid[i] && m_aw == aw);
                end
                if (w_taken[i]) begin
                    assert (m_axi_wvalid && m_axi_wready && m_w == s_w[i*73 +: 73]);
                end
            end
        end
    end endgenerate

    always @(posedge clk) if (past_valid && !rst && !$past(rst)) begin
        if ($past(m_axi_bvalid && !m_axi_bready)) begin
            assume (m_axi_bvalid && $stable(m_axi_bid) && $stable(m_axi_bresp));
        end
        if ($past(m_axi_awvalid && !m_axi_awready)) begin
            assert (m_axi_awvalid && $stable(m_axi_awid) && $stable(m_aw));
        end
        if ($past(m_axi_wvalid && !m_axi_wready)) begin
            assert (m_axi_wvalid && $stable(m_w));
        end
        cover (m_axi_wvalid && m_axi_wready && m_axi_wlast && inside[2]);
    end
    always @(*) begin
        assume (!m_axi_bvalid || m_axi_bid < 3);
        if (past_valid && !rst) begin
            if (m_axi_awvalid) begin
                assert (m_axi_awid < 3 && {2'd0, m_axi_awaddr[11:3]} + {3'd0, m_axi_awlen} < 512);
            end
            // Each beat comes from one master, and until a burst's last beat from the same one.
            assert ((m_axi_wvalid && m_axi_wready) == (|w_taken));
            assert ((w_taken & (w_taken - 1'b1)) == 0);
            assert (inside == 0 || (order_valid && inside == (order[1] ? 3'd4 : order[0] ? 3'd2 : 3'd1)));
            assert (inside == 0 || w_taken == 0 || w_taken == inside);
        end
    end
`endif
endmodule

`default_nettype wire
