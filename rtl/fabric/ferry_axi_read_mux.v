// SPDX-License-Identifier: Apache-2.0
// AXI4 read masters on one port: round robin, one request a cycle, no added cycle either way. The master's number
// becomes the request's ID and routes the data back, so the masters need no ID of their own. Masters reserve room
// before they ask: a master that does not take its data holds up the others.
`default_nettype none
`include "ferry_contract.vh"

module ferry_axi_read_mux #(
    // Masters, 2 or 3.
    parameter PORTS = 3
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // Masters, bundles AXI_A side by side, master 0 lowest.
    input  wire [PORTS*`FERRY_AXI_A_BITS-1:0] s_axi_ar,
    input  wire [PORTS-1:0] s_axi_arvalid,
    output wire [PORTS-1:0] s_axi_arready,
    // Data, the same for all masters; whose it is says rvalid.
    output wire [`FERRY_AXI_R_BITS-1:0] s_axi_r,
    output wire [PORTS-1:0] s_axi_rvalid,
    input  wire [PORTS-1:0] s_axi_rready,

    // The shared port.
    output wire [1:0] m_axi_arid,
    output wire [`FERRY_AXI_A_BITS-1:0] m_axi_ar,
    output wire       m_axi_arvalid,
    input  wire       m_axi_arready,
    input  wire [1:0] m_axi_rid,
    input  wire [`FERRY_AXI_R_BITS-1:0] m_axi_r,
    input  wire       m_axi_rvalid,
    output wire       m_axi_rready
);
    localparam A = `FERRY_AXI_A_BITS;

    // One request at a time; the choice is held until it is taken, as AXI asks.
    wire [PORTS-1:0] grant;
    reg  [A-1:0]     chosen;
    reg  [1:0]       chosen_id;
    // An ID that no master has cannot come back; it would be taken and dropped rather than block the channel.
    wire [3:0]       ready_by_id = {{(4-PORTS){1'b1}}, s_axi_rready};
    wire [3:0]       valid_by_id = {3'd0, m_axi_rvalid} << m_axi_rid;

    ferry_arbiter #(.PORTS(PORTS)) arbiter (
        .clk(clk), .rst(rst), .request(s_axi_arvalid), .accept(m_axi_arready), .grant(grant)
    );

    // Without a grant it is master 0's, which nobody takes: two LUTs of four inputs a bit for three masters, where an AND and OR
    // of all takes four.
    always @* begin : choose
        integer i;
        chosen = s_axi_ar[0 +: A];
        chosen_id = 2'd0;
        for (i = 1; i < PORTS; i = i + 1) begin
            if (grant[i]) begin
                chosen = s_axi_ar[i*A +: A];
                chosen_id = i[1:0];
            end
        end
    end

    assign m_axi_ar = chosen;
    assign m_axi_arid = chosen_id;
    assign m_axi_arvalid = |s_axi_arvalid;
    assign s_axi_arready = grant & {PORTS{m_axi_arready}};

    assign s_axi_r = m_axi_r;
    assign s_axi_rvalid = valid_by_id[PORTS-1:0];
    assign m_axi_rready = ready_by_id[m_axi_rid];

    wire unused = &{1'b0, valid_by_id};

`ifdef FORMAL
    // The masters and the slave keep AXI4; so then does the shared port, and each master sees a slave of its own.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) if (!past_valid) assume (rst);

    localparam R = `FERRY_AXI_R_BITS;
    wire [63:0] m_address = m_axi_ar[`FERRY_AXI_A_ADDRESS_RANGE];
    wire [7:0]  m_length = m_axi_ar[`FERRY_AXI_A_LENGTH_RANGE];
    wire        m_last = m_axi_r[`FERRY_AXI_R_LAST_RANGE];

    genvar g;
    generate for (g = 0; g < PORTS; g = g + 1) begin : master
        wire [A-1:0] ar = s_axi_ar[g*A +: A];
        wire [63:0] address = ar[`FERRY_AXI_A_ADDRESS_RANGE];
        wire [7:0] length = ar[`FERRY_AXI_A_LENGTH_RANGE];
        axi4_address_properties #(.EXTRA(9), .ASSUME(1)) ar_properties (
            .clk(clk), .rst(rst || !past_valid), .valid(s_axi_arvalid[g]), .ready(s_axi_arready[g]),
            .page_offset(address[11:0]), .page(address[63:12]), .length(length),
            .extra({ar[`FERRY_AXI_A_NO_SNOOP_RANGE], ar[`FERRY_AXI_A_TAG_RANGE]})
        );
        valid_ready_properties #(.WIDTH(R)) r_properties (
            .clk(clk), .rst(rst || !past_valid), .valid(s_axi_rvalid[g]), .ready(s_axi_rready[g]), .data(s_axi_r)
        );
        // Bursts without their last beat: as the slave sees them by ID, and as this master sees them.
        reg [3:0] slave_open = 0;
        reg [3:0] master_open = 0;
        always @(posedge clk) begin
            slave_open <= slave_open + (m_axi_arvalid && m_axi_arready && m_axi_arid == g)
                - (m_axi_rvalid && m_axi_rready && m_last && m_axi_rid == g);
            master_open <= master_open + (s_axi_arvalid[g] && s_axi_arready[g])
                - (s_axi_rvalid[g] && s_axi_rready[g] && s_axi_r[`FERRY_AXI_R_LAST_RANGE]);
            if (rst) begin
                slave_open <= 0;
                master_open <= 0;
            end
        end
        always @(*) begin
            assume (!(s_axi_arvalid[g] && slave_open == 15));
            if (m_axi_rvalid && m_axi_rid == g) begin
                assume (slave_open != 0);
            end
            if (past_valid && !rst) begin
                assert (master_open == slave_open);
                // Data comes only to who asked, unchanged, and is taken by nobody else.
                assert (s_axi_rvalid[g] == (m_axi_rvalid && m_axi_rid == g));
                if (s_axi_rvalid[g]) begin
                    assert (master_open != 0 && s_axi_r == m_axi_r && m_axi_rready == s_axi_rready[g]);
                end
                // The shared port takes this master's request when it shows it, and not otherwise.
                assert ((s_axi_arvalid[g] && s_axi_arready[g]) == (m_axi_arvalid && m_axi_arready && m_axi_arid == g));
                if (m_axi_arvalid && m_axi_arid == g) begin
                    assert (s_axi_arvalid[g] && m_axi_ar == ar);
                end
            end
        end
    end endgenerate

    axi4_address_properties #(.EXTRA(11)) ar_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(m_axi_arvalid), .ready(m_axi_arready),
        .page_offset(m_address[11:0]), .page(m_address[63:12]), .length(m_length),
        .extra({m_axi_arid, m_axi_ar[`FERRY_AXI_A_NO_SNOOP_RANGE], m_axi_ar[`FERRY_AXI_A_TAG_RANGE]})
    );
    valid_ready_properties #(.WIDTH(R + 2), .ASSUME(1)) r_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(m_axi_rvalid), .ready(m_axi_rready), .data({m_axi_rid, m_axi_r})
    );
    always @(posedge clk) if (past_valid && !rst && !$past(rst)) begin
        cover (m_axi_rvalid && m_axi_rready && m_axi_rid == PORTS - 1);
    end
    always @(*) begin
        assume (!m_axi_rvalid || m_axi_rid < PORTS);
        if (past_valid && !rst && m_axi_arvalid) begin
            assert (m_axi_arid < PORTS);
        end
    end
`endif
endmodule

`default_nettype wire
