// SPDX-License-Identifier: Apache-2.0
// ferry_device as the simulation runs it: a flip-flop before every input, so that nothing inside follows a port within a
// cycle. Verilator then evaluates the device once a cycle, at the rising edge, instead of once more after each change of
// an input. The harness drives what a cycle shall see before the edge that begins it; the device sees exactly what it
// saw without this file, in the same cycle.
`default_nettype none

module ferry_simulated #(
    // As ferry_device's.
    parameter [63:0] CPU_CORE = "vexriscv",
    parameter LOCAL_ADDRESS_BITS = 26
) (
    input  wire                          clk,
    input  wire                          rst,
    input  wire [63:0]                   s_axis_tlp_tdata,
    input  wire [1:0]                    s_axis_tlp_tkeep,
    input  wire                          s_axis_tlp_tlast,
    input  wire                          s_axis_tlp_tvalid,
    output wire                          s_axis_tlp_tready,
    output wire                          s_axis_tlp_request_ok,
    output wire [63:0]                   m_axis_tlp_tdata,
    output wire [1:0]                    m_axis_tlp_tkeep,
    output wire                          m_axis_tlp_tlast,
    output wire                          m_axis_tlp_tvalid,
    input  wire                          m_axis_tlp_tready,
    input  wire                          m_axis_tlp_posted_ok,
    input  wire                          m_axis_tlp_request_ok,
    input  wire                          m_axis_tlp_completion_ok,
    output wire [1:0]                    m_axi_awid,
    output wire [LOCAL_ADDRESS_BITS-1:0] m_axi_awaddr,
    output wire [7:0]                    m_axi_awlen,
    output wire [2:0]                    m_axi_awsize,
    output wire [1:0]                    m_axi_awburst,
    output wire                          m_axi_awvalid,
    input  wire                          m_axi_awready,
    output wire [63:0]                   m_axi_wdata,
    output wire [7:0]                    m_axi_wstrb,
    output wire                          m_axi_wlast,
    output wire                          m_axi_wvalid,
    input  wire                          m_axi_wready,
    input  wire [1:0]                    m_axi_bid,
    input  wire [1:0]                    m_axi_bresp,
    input  wire                          m_axi_bvalid,
    output wire                          m_axi_bready,
    output wire [1:0]                    m_axi_arid,
    output wire [LOCAL_ADDRESS_BITS-1:0] m_axi_araddr,
    output wire [7:0]                    m_axi_arlen,
    output wire [2:0]                    m_axi_arsize,
    output wire [1:0]                    m_axi_arburst,
    output wire                          m_axi_arvalid,
    input  wire                          m_axi_arready,
    input  wire [1:0]                    m_axi_rid,
    input  wire [63:0]                   m_axi_rdata,
    input  wire [1:0]                    m_axi_rresp,
    input  wire                          m_axi_rlast,
    input  wire                          m_axi_rvalid,
    output wire                          m_axi_rready
);

    // Inputs as they were at the last rising edge.
    reg        rst_reg, tlp_last_reg, tlp_valid_reg, tlp_ready_reg, awready_reg, wready_reg, bvalid_reg, arready_reg,
               rlast_reg, rvalid_reg, posted_ok_reg, request_ok_reg, completion_ok_reg;
    reg [63:0] tlp_data_reg, rdata_reg;
    reg [1:0]  tlp_keep_reg, bid_reg, bresp_reg, rid_reg, rresp_reg;

    always @(posedge clk) begin
        rst_reg <= rst;
        tlp_data_reg <= s_axis_tlp_tdata;
        tlp_keep_reg <= s_axis_tlp_tkeep;
        tlp_last_reg <= s_axis_tlp_tlast;
        tlp_valid_reg <= s_axis_tlp_tvalid;
        tlp_ready_reg <= m_axis_tlp_tready;
        posted_ok_reg <= m_axis_tlp_posted_ok;
        request_ok_reg <= m_axis_tlp_request_ok;
        completion_ok_reg <= m_axis_tlp_completion_ok;
        awready_reg <= m_axi_awready;
        wready_reg <= m_axi_wready;
        bid_reg <= m_axi_bid;
        bresp_reg <= m_axi_bresp;
        bvalid_reg <= m_axi_bvalid;
        arready_reg <= m_axi_arready;
        rid_reg <= m_axi_rid;
        rdata_reg <= m_axi_rdata;
        rresp_reg <= m_axi_rresp;
        rlast_reg <= m_axi_rlast;
        rvalid_reg <= m_axi_rvalid;
    end

    wire unused_pending;

    ferry_device #(.NAME("simulated"), .CPU_CORE(CPU_CORE), .LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS)) device (
        .clk(clk), .rst(rst_reg),
        .s_axis_tlp_tdata(tlp_data_reg), .s_axis_tlp_tkeep(tlp_keep_reg), .s_axis_tlp_tlast(tlp_last_reg),
        .s_axis_tlp_tvalid(tlp_valid_reg), .s_axis_tlp_tready(s_axis_tlp_tready),
        .s_axis_tlp_request_ok(s_axis_tlp_request_ok),
        .m_axis_tlp_tdata(m_axis_tlp_tdata), .m_axis_tlp_tkeep(m_axis_tlp_tkeep), .m_axis_tlp_tlast(m_axis_tlp_tlast),
        .m_axis_tlp_tvalid(m_axis_tlp_tvalid), .m_axis_tlp_tready(tlp_ready_reg),
        .m_axis_tlp_posted_ok(posted_ok_reg), .m_axis_tlp_request_ok(request_ok_reg),
        .m_axis_tlp_completion_ok(completion_ok_reg), .requests_pending(unused_pending),
        .m_axi_awid(m_axi_awid), .m_axi_awaddr(m_axi_awaddr), .m_axi_awlen(m_axi_awlen), .m_axi_awsize(m_axi_awsize),
        .m_axi_awburst(m_axi_awburst), .m_axi_awvalid(m_axi_awvalid), .m_axi_awready(awready_reg),
        .m_axi_wdata(m_axi_wdata), .m_axi_wstrb(m_axi_wstrb), .m_axi_wlast(m_axi_wlast), .m_axi_wvalid(m_axi_wvalid),
        .m_axi_wready(wready_reg),
        .m_axi_bid(bid_reg), .m_axi_bresp(bresp_reg), .m_axi_bvalid(bvalid_reg), .m_axi_bready(m_axi_bready),
        .m_axi_arid(m_axi_arid), .m_axi_araddr(m_axi_araddr), .m_axi_arlen(m_axi_arlen), .m_axi_arsize(m_axi_arsize),
        .m_axi_arburst(m_axi_arburst), .m_axi_arvalid(m_axi_arvalid), .m_axi_arready(arready_reg),
        .m_axi_rid(rid_reg), .m_axi_rdata(rdata_reg), .m_axi_rresp(rresp_reg), .m_axi_rlast(rlast_reg),
        .m_axi_rvalid(rvalid_reg), .m_axi_rready(m_axi_rready)
    );

endmodule

`default_nettype wire
