// SPDX-License-Identifier: Apache-2.0
// ferry_device with 8 MiB of video memory for the cocotb test: one read burst and one write burst at a time.
`default_nettype none

module device_and_memory (
    // Clock, and synchronous reset, active high.
    input  wire        clk,
    input  wire        rst,
    // The packet ports of ferry_device.
    input  wire [63:0] s_axis_tlp_tdata,
    input  wire [1:0]  s_axis_tlp_tkeep,
    input  wire        s_axis_tlp_tlast,
    input  wire        s_axis_tlp_tvalid,
    output wire        s_axis_tlp_tready,
    output wire        s_axis_tlp_request_ok,
    output wire [63:0] m_axis_tlp_tdata,
    output wire [1:0]  m_axis_tlp_tkeep,
    output wire        m_axis_tlp_tlast,
    output wire        m_axis_tlp_tvalid,
    input  wire        m_axis_tlp_tready,
    input  wire        m_axis_tlp_posted_ok,
    input  wire        m_axis_tlp_request_ok,
    input  wire        m_axis_tlp_completion_ok
);
    localparam WORDS = 1 << 20;
    reg [63:0] memory [0:WORDS-1];
    integer i;
    initial
        for (i = 0; i < WORDS; i = i + 1)
            memory[i] = 64'd0;

    wire [1:0]  awid, arid;
    wire [25:0] awaddr, araddr;
    wire [7:0]  awlen, arlen, wstrb;
    wire        awvalid, wvalid, wlast, bready, arvalid, rready;
    wire [63:0] wdata;
    reg         reading, writing, answering;
    reg  [1:0]  rid, bid;
    reg  [19:0] read_word, write_word;
    reg  [7:0]  read_left;

    always @(posedge clk) begin
        if (!reading && arvalid) begin
            reading <= 1'b1;
            rid <= arid;
            read_word <= araddr[22:3];
            read_left <= arlen;
        end else if (reading && rready) begin
            read_word <= read_word + 20'd1;
            read_left <= read_left - 8'd1;
            reading <= read_left != 8'd0;
        end
        if (!writing && !answering && awvalid) begin
            writing <= 1'b1;
            bid <= awid;
            write_word <= awaddr[22:3];
        end else if (writing && wvalid) begin
            for (i = 0; i < 8; i = i + 1)
                if (wstrb[i])
                    memory[write_word][8*i +: 8] <= wdata[8*i +: 8];
            write_word <= write_word + 20'd1;
            writing <= !wlast;
            answering <= wlast;
        end else if (answering && bready) begin
            answering <= 1'b0;
        end
        if (rst) begin
            rid <= 2'd0;
            bid <= 2'd0;
            reading <= 1'b0;
            writing <= 1'b0;
            answering <= 1'b0;
        end
    end

    wire unused_pending;

    ferry_device device (
        .clk(clk), .rst(rst), .s_axis_tlp_tdata(s_axis_tlp_tdata), .s_axis_tlp_tkeep(s_axis_tlp_tkeep),
        .s_axis_tlp_tlast(s_axis_tlp_tlast), .s_axis_tlp_tvalid(s_axis_tlp_tvalid),
        .s_axis_tlp_tready(s_axis_tlp_tready), .s_axis_tlp_request_ok(s_axis_tlp_request_ok),
        .m_axis_tlp_tdata(m_axis_tlp_tdata), .m_axis_tlp_tkeep(m_axis_tlp_tkeep), .m_axis_tlp_tlast(m_axis_tlp_tlast),
        .m_axis_tlp_tvalid(m_axis_tlp_tvalid), .m_axis_tlp_tready(m_axis_tlp_tready),
        .m_axis_tlp_posted_ok(m_axis_tlp_posted_ok), .m_axis_tlp_request_ok(m_axis_tlp_request_ok),
        .m_axis_tlp_completion_ok(m_axis_tlp_completion_ok), .requests_pending(unused_pending),
        .m_axi_awid(awid), .m_axi_awaddr(awaddr), .m_axi_awlen(awlen), .m_axi_awvalid(awvalid),
        .m_axi_awready(!writing && !answering), .m_axi_wdata(wdata), .m_axi_wstrb(wstrb), .m_axi_wlast(wlast),
        .m_axi_wvalid(wvalid), .m_axi_wready(writing), .m_axi_bid(bid), .m_axi_bresp(2'd0), .m_axi_bvalid(answering),
        .m_axi_bready(bready), .m_axi_arid(arid), .m_axi_araddr(araddr), .m_axi_arlen(arlen), .m_axi_arvalid(arvalid),
        .m_axi_arready(!reading), .m_axi_rid(rid), .m_axi_rdata(memory[read_word]), .m_axi_rresp(2'd0),
        .m_axi_rlast(read_left == 8'd0), .m_axi_rvalid(reading), .m_axi_rready(rready)
    );
endmodule

`default_nettype wire
