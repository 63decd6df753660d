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

`ifdef FORMAL
    // The masters and the slave keep AXI4; so then does the shared port, and each master sees a slave of its own.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) if (!past_valid) assume (rst);

    localparam AB = ADDRESS_BITS + 9;
    wire [3*AB-1:0] s_ar = {s2_axi_arnosnoop, s2_axi_arlen, s2_axi_araddr, s1_axi_arnosnoop, s1_axi_arlen,
        s1_axi_araddr, s0_axi_arnosnoop, s0_axi_arlen, s0_axi_araddr};
    wire [AB-1:0] m_ar = {m_axi_arnosnoop, m_axi_arlen, m_axi_araddr};
    wire [2:0] s_arvalid = {s2_axi_arvalid, s1_axi_arvalid, s0_axi_arvalid};
    wire [2:0] s_arready = {s2_axi_arready, s1_axi_arready, s0_axi_arready};
    wire [2:0] s_rvalid = {s2_axi_rvalid, s1_axi_rvalid, s0_axi_rvalid};
    wire [2:0] s_rready = {s2_axi_rready, s1_axi_rready, s0_axi_rready};
    wire [74:0] m_r = {m_axi_rlast, m_axi_rfault, m_axi_rresp, m_axi_rdata};
    wire [3*75-1:0] s_r = {s2_axi_rlast, s2_axi_rfault, s2_axi_rresp, s2_axi_rdata, s1_axi_rlast, s1_axi_rfault,
        s1_axi_rresp, s1_axi_rdata, s0_axi_rlast, s0_axi_rfault, s0_axi_rresp, s0_axi_rdata};

    genvar i;
    generate for (i = 0; i < 3; i = i + 1) begin : master
        wire [AB-1:0] ar = s_ar[i*AB +: AB];
        // What this master showed and was not yet taken: it stays.
        reg ar_waits = 1'b0;
        reg [AB-1:0] ar_shown = 0;
        // Bursts without their last beat: as the slave sees them by ID, and as this master sees them.
        reg [3:0] slave_open = 0;
        reg [3:0] master_open = 0;
        always @(posedge clk) begin
            ar_waits <= !rst && s_arvalid[i] && !s_arready[i];
            ar_shown <= ar;
            slave_open <= slave_open + (m_axi_arvalid && m_axi_arready && m_axi_arid == i)
                - (m_axi_rvalid && m_axi_rready && m_axi_rlast && m_axi_rid == i);
            master_open <= master_open + (s_arvalid[i] && s_arready[i])
                - (s_rvalid[i] && s_rready[i] && s_r[i*75 + 74]);
            if (rst) begin
                slave_open <= 0;
                master_open <= 0;
            end
            if (past_valid && !rst && !$past(rst)) begin
                if ($past(s_rvalid[i] && !s_rready[i])) begin
                    assert (s_rvalid[i] && $stable(s_r[i*75 +: 75]));
                end
            end
        end
        always @(*) begin
            assume (!ar_waits || (s_arvalid[i] && ar == ar_shown));
            assume (!(s_arvalid[i] && slave_open == 15));
            if (s_arvalid[i]) begin
                assume ({2'd0, ar[11:3]} + {3'd0, ar[ADDRESS_BITS +: 8]} < 512);
            end
            if (m_axi_rvalid && m_axi_rid == i) begin
                assume (slave_open != 0);
            end
            if (past_valid && !rst) begin
                assert (master_open == slave_open);
                // Data comes only to who asked, unchanged, and is taken by nobody else.
                assert (s_rvalid[i] == (m_axi_rvalid && m_axi_rid == i));
                if (s_rvalid[i]) begin
                    assert (master_open != 0 && s_r[i*75 +: 75] == m_r && m_axi_rready == s_rready[i]);
                end
                // The shared port takes this master's request when it shows it, and not otherwise.
                assert ((s_arvalid[i] && s_arready[i]) == (m_axi_arvalid && m_axi_arready && m_axi_arid == i));
                if (m_axi_arvalid && m_axi_arid == i) begin
                    assert (s_arvalid[i] && m_ar == ar);
                end
            end
        end
    end endgenerate

    always @(posedge clk) if (past_valid && !rst && !$past(rst)) begin
        if ($past(m_axi_rvalid && !m_axi_rready)) begin
            assume (m_axi_rvalid && $stable(m_axi_rid) && $stable(m_r));
        end
        if ($past(m_axi_arvalid && !m_axi_arready)) begin
            assert (m_axi_arvalid && $stable(m_axi_arid) && $stable(m_ar));
        end
        cover (m_axi_rvalid && m_axi_rready && m_axi_rid == 2);
    end
    always @(*) begin
        assume (!m_axi_rvalid || m_axi_rid < 3);
        if (past_valid && !rst && m_axi_arvalid) begin
            assert (m_axi_arid < 3 && {2'd0, m_axi_araddr[11:3]} + {3'd0, m_axi_arlen} < 512);
        end
    end
`endif
endmodule

`default_nettype wire
