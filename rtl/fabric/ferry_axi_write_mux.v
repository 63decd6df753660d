// SPDX-License-Identifier: Apache-2.0
// AXI4 write masters on one port: round robin for addresses; data follows in the order of the addresses, which a small
// FIFO keeps, from the cycle after its address is shown; responses are routed back by the ID, which is the master's number. A
// master that has announced a burst holds the data channel until the burst's last beat.
`default_nettype none
`include "ferry_contract.vh"

module ferry_axi_write_mux #(
    // Masters, 2 or 3.
    parameter PORTS = 3,
    // log2 of the number of bursts announced whose data is not yet through.
    parameter LG_BURSTS = 3
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // Masters, bundles AXI_A and AXI_W side by side, master 0 lowest.
    input  wire [PORTS*`FERRY_AXI_A_BITS-1:0] s_axi_aw,
    input  wire [PORTS-1:0] s_axi_awvalid,
    output wire [PORTS-1:0] s_axi_awready,
    input  wire [PORTS*`FERRY_AXI_W_BITS-1:0] s_axi_w,
    input  wire [PORTS-1:0] s_axi_wvalid,
    output wire [PORTS-1:0] s_axi_wready,
    // Response, the same for all masters; whose it is says bvalid.
    output wire [1:0]       s_axi_bresp,
    output wire [PORTS-1:0] s_axi_bvalid,
    input  wire [PORTS-1:0] s_axi_bready,

    // The shared port.
    output wire [1:0] m_axi_awid,
    output wire [`FERRY_AXI_A_BITS-1:0] m_axi_aw,
    output wire       m_axi_awvalid,
    input  wire       m_axi_awready,
    output wire [`FERRY_AXI_W_BITS-1:0] m_axi_w,
    output wire       m_axi_wvalid,
    input  wire       m_axi_wready,
    input  wire [1:0] m_axi_bid,
    input  wire [1:0] m_axi_bresp,
    input  wire       m_axi_bvalid,
    output wire       m_axi_bready
);
    localparam A = `FERRY_AXI_A_BITS;
    localparam W = `FERRY_AXI_W_BITS;

    // Which master's data comes next, in the order of the addresses.
    wire order_ready;
    wire order_valid;
    wire [1:0] order_id;
    wire [3:0] order_by_id = 4'd1 << order_id;
    wire [PORTS-1:0] order = order_by_id[PORTS-1:0];
    // Without room in that FIFO no address is shown; the grant waits meanwhile.
    wire [PORTS-1:0] grant;
    reg  [A-1:0] chosen;
    reg  [1:0]   chosen_id;
    reg  [W-1:0] data;
    wire [PORTS-1:0] turn = order & {PORTS{order_valid}};
    // An ID that no master has cannot come back; it would be taken and dropped rather than block the channel.
    wire [3:0] ready_by_id = {{(4-PORTS){1'b1}}, s_axi_bready};
    wire [3:0] valid_by_id = {3'd0, m_axi_bvalid} << m_axi_bid;

    // The address that stands was noted as it was first shown: its data may go before it is taken, as who takes it may wait for that
    // (AXI4 A3.3.1).
    reg        noted_reg;
    wire       shows = order_ready || noted_reg;
    wire       notes = (|s_axi_awvalid) && !noted_reg;

    ferry_arbiter #(.PORTS(PORTS)) arbiter (
        .clk(clk), .rst(rst), .request(s_axi_awvalid), .accept(m_axi_awready && shows), .grant(grant)
    );

    ferry_fifo #(.WIDTH(2), .LG_DEPTH(LG_BURSTS)) order_fifo (
        .clk(clk), .rst(rst),
        .in_valid(notes), .in_ready(order_ready), .in_data(chosen_id),
        .out_valid(order_valid), .out_ready(m_axi_wvalid && m_axi_wready && m_axi_w[`FERRY_AXI_W_LAST_RANGE]),
        .out_data(order_id)
`ifdef FORMAL
        , .formal_place(order_place), .formal_held(order_held), .formal_word(order_word), .formal_write(order_write),
        .formal_read(order_read)
`endif
    );
`ifdef FORMAL
    wire [LG_BURSTS:0] order_place, order_write, order_read;
    wire       order_held;
    wire [1:0] order_word;
`endif

    // As in ferry_axi_read_mux.
    always @* begin : choose
        integer i;
        chosen = s_axi_aw[0 +: A];
        chosen_id = 2'd0;
        data = s_axi_w[0 +: W];
        for (i = 1; i < PORTS; i = i + 1) begin
            if (grant[i]) begin
                chosen = s_axi_aw[i*A +: A];
                chosen_id = i[1:0];
            end
            if (order[i]) begin
                data = s_axi_w[i*W +: W];
            end
        end
    end

    assign m_axi_aw = chosen;
    assign m_axi_awid = chosen_id;
    assign m_axi_awvalid = (|s_axi_awvalid) && shows;
    assign s_axi_awready = grant & {PORTS{m_axi_awready && shows}};
    always @(posedge clk) noted_reg <= m_axi_awvalid && !m_axi_awready && !rst;

    assign m_axi_w = data;
    assign m_axi_wvalid = |(turn & s_axi_wvalid);
    assign s_axi_wready = turn & {PORTS{m_axi_wready}};

    assign s_axi_bresp = m_axi_bresp;
    assign s_axi_bvalid = valid_by_id[PORTS-1:0];
    assign m_axi_bready = ready_by_id[m_axi_bid];

    wire unused = &{1'b0, valid_by_id, order_by_id};

`ifdef FORMAL
    // The masters and the slave keep AXI4; so then does the shared port, and each master sees a slave of its own. That
    // data comes in the order of the addresses, and as many beats as announced, is in tests/formal/write_mux_order.v.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) if (!past_valid) assume (rst);

    wire [63:0] m_address = m_axi_aw[`FERRY_AXI_A_ADDRESS_RANGE];
    wire [7:0]  m_length = m_axi_aw[`FERRY_AXI_A_LENGTH_RANGE];
    wire        taken = m_axi_awvalid && m_axi_awready;
    wire [PORTS-1:0] w_taken = s_axi_wvalid & s_axi_wready;

    // The master whose burst has begun and not ended; 0 = none.
    reg [PORTS-1:0] inside = 0;
    always @(posedge clk) begin
        if (m_axi_wvalid && m_axi_wready) begin
            inside <= m_axi_w[`FERRY_AXI_W_LAST_RANGE] ? {PORTS{1'b0}} : w_taken;
        end
        if (rst) begin
            inside <= {PORTS{1'b0}};
        end
    end

    genvar g;
    generate for (g = 0; g < PORTS; g = g + 1) begin : master
        wire [A-1:0] aw = s_axi_aw[g*A +: A];
        wire [W-1:0] w = s_axi_w[g*W +: W];
        wire [63:0] address = aw[`FERRY_AXI_A_ADDRESS_RANGE];
        wire [7:0] length = aw[`FERRY_AXI_A_LENGTH_RANGE];
        axi4_address_properties #(.EXTRA(9), .ASSUME(1)) aw_properties (
            .clk(clk), .rst(rst || !past_valid), .valid(s_axi_awvalid[g]), .ready(s_axi_awready[g]),
            .page_offset(address[11:0]), .page(address[63:12]), .length(length),
            .extra({aw[`FERRY_AXI_A_NO_SNOOP_RANGE], aw[`FERRY_AXI_A_TAG_RANGE]})
        );
        valid_ready_properties #(.WIDTH(W), .ASSUME(1)) w_properties (
            .clk(clk), .rst(rst || !past_valid), .valid(s_axi_wvalid[g]), .ready(s_axi_wready[g]), .data(w)
        );
        valid_ready_properties #(.WIDTH(2)) b_properties (
            .clk(clk), .rst(rst || !past_valid), .valid(s_axi_bvalid[g]), .ready(s_axi_bready[g]), .data(s_axi_bresp)
        );
        // Bursts without their response: as the slave sees them by ID, and as this master sees them.
        reg [3:0] slave_open = 0;
        reg [3:0] master_open = 0;
        always @(posedge clk) begin
            slave_open <= slave_open + (taken && m_axi_awid == g) - (m_axi_bvalid && m_axi_bready && m_axi_bid == g);
            master_open <= master_open + (s_axi_awvalid[g] && s_axi_awready[g])
                - (s_axi_bvalid[g] && s_axi_bready[g]);
            if (rst) begin
                slave_open <= 0;
                master_open <= 0;
            end
        end
        always @(*) begin
            assume (!(s_axi_awvalid[g] && slave_open == 15));
            if (m_axi_bvalid && m_axi_bid == g) begin
                assume (slave_open != 0);
            end
            if (past_valid && !rst) begin
                assert (master_open == slave_open);
                assert (s_axi_bvalid[g] == (m_axi_bvalid && m_axi_bid == g));
                if (s_axi_bvalid[g]) begin
                    assert (master_open != 0 && s_axi_bresp == m_axi_bresp && m_axi_bready == s_axi_bready[g]);
                end
                assert ((s_axi_awvalid[g] && s_axi_awready[g]) == (taken && m_axi_awid == g));
                if (m_axi_awvalid && m_axi_awid == g) begin
                    assert (s_axi_awvalid[g] && m_axi_aw == aw);
                end
                if (w_taken[g]) begin
                    assert (m_axi_wvalid && m_axi_wready && m_axi_w == w);
                end
            end
        end
    end endgenerate

    axi4_address_properties #(.EXTRA(11)) aw_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(m_axi_awvalid), .ready(m_axi_awready),
        .page_offset(m_address[11:0]), .page(m_address[63:12]), .length(m_length),
        .extra({m_axi_awid, m_axi_aw[`FERRY_AXI_A_NO_SNOOP_RANGE], m_axi_aw[`FERRY_AXI_A_TAG_RANGE]})
    );
    valid_ready_properties #(.WIDTH(W)) w_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(m_axi_wvalid), .ready(m_axi_wready), .data(m_axi_w)
    );
    valid_ready_properties #(.WIDTH(4), .ASSUME(1)) b_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(m_axi_bvalid), .ready(m_axi_bready), .data({m_axi_bid, m_axi_bresp})
    );

    // The order of the data, for ever: the FIFO's own proof follows the burst of one place, whichever, and this one
    // follows who announced it. When its turn comes, its master alone may send; as each master's bursts leave the FIFO in
    // the order in which they came, each burst on the shared port is the one announced, and as long, since its
    // master ends its bursts where it said. tests/formal/write_mux_order.v counts the beats too, from reset on.
    reg [1:0] announcer = 0;
    always @(posedge clk) if (notes && order_ready && order_write == order_place) begin
        announcer <= grant[0] ? 2'd0 : grant[1] ? 2'd1 : 2'd2;
    end
    always @(*) if (past_valid && !rst) begin
        assert (!order_held || order_word == announcer);
        if (order_valid && order_read == order_place) begin
            assert (w_taken == 0 || w_taken == (1 << announcer));
        end else begin
            assert (order_valid || w_taken == 0);
        end
    end
    always @(posedge clk) if (past_valid && !rst && !$past(rst)) begin
        cover (order_read == order_place && order_read == 3 && w_taken == 2);
        cover (m_axi_wvalid && m_axi_wready && m_axi_w[`FERRY_AXI_W_LAST_RANGE] && inside[PORTS-1]);
    end
    always @(*) begin
        assume (!m_axi_bvalid || m_axi_bid < PORTS);
        if (past_valid && !rst) begin
            if (m_axi_awvalid) begin
                assert (m_axi_awid < PORTS);
            end
            // Each beat comes from one master, and until a burst's last beat from the same one.
            assert ((m_axi_wvalid && m_axi_wready) == (|w_taken));
            assert ((w_taken & (w_taken - 1'b1)) == 0);
            assert (inside == 0 || (order_valid && inside == order));
            assert (inside == 0 || w_taken == 0 || w_taken == inside);
        end
    end
`endif
endmodule

`default_nettype wire
