// SPDX-License-Identifier: Apache-2.0
// The fetcher with the command RAM that it fills and the record poster, as one Verilated top for the unit test.
`default_nettype none
`include "ferry_contract.vh"

module fetch_bench (
    input  wire         clk,
    input  wire         rst,
    input  wire         run,
    input  wire         hold,
    input  wire         settled,
    output wire         wound,
    // A ring's word is written; reads of a ring's words.
    input  wire         ring_write,
    input  wire [2:0]   ring_number,
    input  wire [5:0]   ring_offset,
    output wire         ring_read,
    output wire [2:0]   ring_select,
    output wire [5:0]   ring_word,
    input  wire         ring_taken,
    input  wire [31:0]  ring_rdata,
    output wire [31:0]  fetched,
    // Core side.
    output wire [31:0]  next,
    input  wire         claim,
    output wire         fact_ready,
    input  wire [2:0]   fact_word,
    output wire [31:0]  fact,
    output wire         fact_unread,
    input  wire         select,
    input  wire [1:0]   select_slot,
    input  wire         release_slot,
    input  wire [1:0]   release_number,
    output wire [3:0]   used,
    output wire [3:0]   ready,
    output wire [31:0]  tags,
    output wire         busy,
    // Command RAM's readers.
    input  wire         core_valid,
    input  wire [15:0]  core_address,
    output wire         core_ready,
    output wire [31:0]  core_rdata,
    input  wire         list0_valid,
    output wire         list0_ready,
    input  wire [15:0]  list0_address,
    output wire         list0_data_valid,
    output wire [63:0]  list0_data,
    input  wire         list1_valid,
    output wire         list1_ready,
    input  wire [15:0]  list1_address,
    output wire         list1_data_valid,
    output wire [63:0]  list1_data,
    // Host port, read.
    output wire [63:0]  araddr,
    output wire [7:0]   arlen,
    output wire         arvalid,
    input  wire         arready,
    input  wire [63:0]  rdata,
    input  wire [1:0]   rresp,
    input  wire         rlast,
    input  wire         rvalid,
    output wire         rready,
    // Poster and host port, write.
    input  wire [63:0]  time_now,
    input  wire         data_write,
    input  wire [3:0]   data_index,
    input  wire [31:0]  data_wdata,
    input  wire         start,
    input  wire [63:0]  start_address,
    input  wire         start_long,
    output wire         post_busy,
    input  wire         enter_hold,
    output wire         enter,
    output wire [2:0]   enter_word,
    output wire [31:0]  enter_data,
    output wire         ended,
    output wire [63:0]  awaddr,
    output wire [7:0]   awlen,
    output wire [7:0]   awtag,
    output wire         awvalid,
    input  wire         awready,
    output wire [63:0]  wdata,
    output wire [7:0]   wstrb,
    output wire         wlast,
    output wire         wvalid,
    input  wire         wready,
    input  wire         bvalid,
    output wire         bready
);

    wire        write_valid;
    wire [15:0] write_address;
    wire [63:0] write_data;
    wire [`FERRY_AXI_A_BITS-1:0] ar, aw;
    wire [`FERRY_AXI_R_BITS-1:0] r;
    wire [`FERRY_AXI_W_BITS-1:0] w;

    assign araddr = ar[`FERRY_AXI_A_ADDRESS_RANGE];
    assign arlen = ar[`FERRY_AXI_A_LENGTH_RANGE];
    assign r[`FERRY_AXI_R_DATA_RANGE] = rdata;
    assign r[`FERRY_AXI_R_RESPONSE_RANGE] = rresp;
    assign r[`FERRY_AXI_R_FAULT_RANGE] = 8'd0;
    assign r[`FERRY_AXI_R_LAST_RANGE] = rlast;
    assign awaddr = aw[`FERRY_AXI_A_ADDRESS_RANGE];
    assign awlen = aw[`FERRY_AXI_A_LENGTH_RANGE];
    assign awtag = aw[`FERRY_AXI_A_TAG_RANGE];
    assign wdata = w[`FERRY_AXI_W_DATA_RANGE];
    assign wstrb = w[`FERRY_AXI_W_STROBE_RANGE];
    assign wlast = w[`FERRY_AXI_W_LAST_RANGE];
    wire unused = &{1'b0, ar, aw};
    wire [3:0]  unused_interrupts;
    wire [15:0] unused_spaces;
    wire        unused_packet_ready, unused_packet_data_valid;
    wire [63:0] unused_packet_data;
    wire        unused_enter_long, unused_ended_interrupt;
    wire [2:0]  unused_enter_ring;
    wire [1:0]  unused_ended_slot;

    ferry_fetch fetch (
        .spaces(unused_spaces),
        .clk(clk), .rst(rst), .run(run), .hold(hold), .settled(settled), .wound(wound), .ring_write(ring_write),
        .ring_number(ring_number), .ring_offset(ring_offset), .ring_read(ring_read), .ring_select(ring_select),
        .ring_word(ring_word), .ring_taken(ring_taken), .ring_rdata(ring_rdata), .fetched(fetched),
        .write_valid(write_valid), .write_address(write_address), .write_data(write_data), .next(next), .claim(claim),
        .fact_ready(fact_ready), .fact_valid(1'b0), .fact_slot(2'd0), .fact_word(fact_word), .fact(fact),
        .fact_unread(fact_unread), .select(select),
        .select_slot(select_slot),
        .interrupts(unused_interrupts), .release_slot(release_slot), .release_number(release_number), .used(used),
        .ready(ready), .tags(tags), .busy(busy), .m_axi_ar(ar), .m_axi_arvalid(arvalid), .m_axi_arready(arready),
        .m_axi_r(r), .m_axi_rvalid(rvalid), .m_axi_rready(rready)
    );

    ferry_command_ram ram (
        .clk(clk), .rst(rst), .write_valid(write_valid), .write_address(write_address), .write_data(write_data),
        .core_valid(core_valid), .core_address(core_address), .core_ready(core_ready), .core_rdata(core_rdata),
        .list0_valid(list0_valid), .list0_ready(list0_ready), .list0_address(list0_address),
        .list0_data_valid(list0_data_valid), .list0_data(list0_data), .list1_valid(list1_valid),
        .list1_ready(list1_ready), .list1_address(list1_address), .list1_data_valid(list1_data_valid),
        .list1_data(list1_data), .packet_valid(1'b0), .packet_ready(unused_packet_ready), .packet_address(16'd0),
        .packet_data_valid(unused_packet_data_valid), .packet_data(unused_packet_data)
    );

    ferry_post post (
        .clk(clk), .rst(rst), .time_now(time_now), .data_write(data_write), .data_index(data_index),
        .data_wdata(data_wdata), .start(start), .start_address(start_address), .start_long(start_long),
        .start_ring(3'd0), .start_slot(2'd0), .start_interrupt(1'b0), .enter_hold(enter_hold), .enter(enter),
        .enter_long(unused_enter_long), .enter_word(enter_word), .enter_data(enter_data),
        .enter_ring(unused_enter_ring), .ended(ended), .ended_slot(unused_ended_slot),
        .ended_interrupt(unused_ended_interrupt), .busy(post_busy),
        .m_axi_aw(aw), .m_axi_awvalid(awvalid), .m_axi_awready(awready), .m_axi_w(w), .m_axi_wvalid(wvalid),
        .m_axi_wready(wready), .m_axi_bresp(2'b00), .m_axi_bvalid(bvalid), .m_axi_bready(bready)
    );

endmodule

`default_nettype wire
