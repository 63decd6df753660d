// SPDX-License-Identifier: Apache-2.0
// The write mux from reset on, against queues kept apart from it: data comes in the order of the addresses, from the
// master that announced the burst, one or two beats as announced, and never before its address is shown, but perhaps before it is
// taken. The mux's own proof says it for
// ever, by a chain of reasons; here nothing of the mux is believed, its own properties are left out. Seven cycles, with two bursts
// announced ahead, are a reset and three bursts written, which is all that differs: each master behind each other, one beat and
// two, an address taken with, before and behind the data of the one before it, the order's memory full and gone round.
`default_nettype none
`include "ferry_contract.vh"

module write_mux_order (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,
    // What the masters and the slave do, free but for the assumptions below.
    input  wire [2:0]  s_awvalid,
    input  wire [2:0]  s_awlen,
    input  wire [2:0]  s_wvalid,
    input  wire [2:0]  s_wlast,
    input  wire        m_awready,
    input  wire        m_wready
);
    localparam A = `FERRY_AXI_A_BITS;
    localparam W = `FERRY_AXI_W_BITS;
    wire [2:0] s_awready;
    wire [2:0] s_wready;
    wire [1:0] m_awid;
    wire [A-1:0] m_aw;
    wire m_awvalid;
    wire [W-1:0] m_w;
    wire m_wvalid;
    wire [7:0] m_awlen = m_aw[`FERRY_AXI_A_LENGTH_RANGE];
    wire m_wlast = m_w[`FERRY_AXI_W_LAST_RANGE];

    // Lengths and last beats are all that matters here.
    wire [3*A-1:0] s_aw;
    wire [3*W-1:0] s_w;
    genvar m;
    generate for (m = 0; m < 3; m = m + 1) begin : bundle
        wire [A-1:0] aw;
        wire [W-1:0] w;
        assign aw[`FERRY_AXI_A_ADDRESS_RANGE] = 64'd0;
        assign aw[`FERRY_AXI_A_LENGTH_RANGE] = {7'd0, s_awlen[m]};
        assign aw[`FERRY_AXI_A_NO_SNOOP_RANGE] = 1'b0;
        assign aw[`FERRY_AXI_A_TAG_RANGE] = 8'd0;
        assign w[`FERRY_AXI_W_DATA_RANGE] = 64'd0;
        assign w[`FERRY_AXI_W_STROBE_RANGE] = 8'hff;
        assign w[`FERRY_AXI_W_LAST_RANGE] = s_wlast[m];
        assign s_aw[m*A +: A] = aw;
        assign s_w[m*W +: W] = w;
    end endgenerate

    ferry_axi_write_mux #(.PORTS(3), .LG_BURSTS(1)) mux (
        .clk(clk), .rst(rst), .s_axi_aw(s_aw), .s_axi_awvalid(s_awvalid), .s_axi_awready(s_awready),
        .s_axi_w(s_w), .s_axi_wvalid(s_wvalid), .s_axi_wready(s_wready), .s_axi_bready(3'b111),
        .m_axi_awid(m_awid), .m_axi_aw(m_aw), .m_axi_awvalid(m_awvalid), .m_axi_awready(m_awready),
        .m_axi_w(m_w), .m_axi_wvalid(m_wvalid), .m_axi_wready(m_wready),
        .m_axi_bid(2'd0), .m_axi_bresp(2'd0), .m_axi_bvalid(1'b0)
    );

    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) assume (rst == !past_valid);

    // Bursts announced on the shared port, and beats gone of the oldest.
    reg [23:0] queue = 0;
    reg [2:0] written = 0;
    reg [2:0] finished = 0;
    reg beat = 0;
    // The address that stands was there in the cycle before.
    reg stands = 0;
    wire [1:0] from = queue[3*finished + 1 +: 2];
    always @(posedge clk) if (!rst) begin
        stands <= m_awvalid && !m_awready;
        if (m_awvalid && !stands) begin
            queue[3*written +: 3] <= {m_awid, m_awlen[0]};
            written <= written + 1'b1;
        end
        if (m_wvalid && m_wready) begin
            beat <= !m_wlast && !beat;
            finished <= finished + m_wlast;
        end
    end
    always @(*) if (past_valid && m_wvalid) begin
        assert (written != finished);
        assert (m_wlast == (beat == queue[3*finished]));
        assert (s_wready == {2'd0, m_wready} << from);
    end

    always @(posedge clk) begin
        cover (finished == 3'd3);
        cover (stands && !m_awready && m_wvalid && m_wready && m_wlast && finished + 3'd1 == written);
        cover (finished == 3'd2 && queue[3] && written == 3'd3);
    end

    // Each master ends its bursts where it said, in the order in which it announced them.
    genvar i;
    generate for (i = 0; i < 3; i = i + 1) begin : master
        reg [7:0] length = 0;
        reg [2:0] announced = 0;
        reg [2:0] ended = 0;
        reg at = 0;
        reg offered = 0;
        valid_ready_properties #(.WIDTH(1), .ASSUME(1)) aw_properties (
            .clk(clk), .rst(rst), .valid(s_awvalid[i]), .ready(s_awready[i]), .data(s_awlen[i])
        );
        always @(posedge clk) if (!rst) begin
            offered <= s_awvalid[i] && !s_awready[i];
            if (s_awvalid[i] && !offered) begin
                length[announced] <= s_awlen[i];
                announced <= announced + 1'b1;
            end
            if (s_wvalid[i] && s_wready[i]) begin
                at <= !s_wlast[i] && !at;
                ended <= ended + s_wlast[i];
            end
        end
        always @(*) if (s_wvalid[i] && announced != ended) begin
            assume (s_wlast[i] == (at == length[ended]));
        end
    end endgenerate
endmodule

`default_nettype wire
