// SPDX-License-Identifier: Apache-2.0
// Both halves of the write side together: while a burst for one memory waits for its data to go, no burst is announced to the
// other. AXI4 gives a write's data no name, so whoever else writes there would wait for that data: fence records behind memory
// that is dead, or posted writes of the host behind a link that does not take ours (PCIe 2.4.1).
`default_nettype none
`include "ferry_contract.vh"

module write_in_turn (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,
    // Turns, as they come; what bears on addresses alone is the generator's, and any_address_generator makes those up.
    input  wire        job_valid,
    input  wire        job_urgent,
    input  wire [2:0]  job_op,
    input  wire        job_buffered,
    input  wire        block_coming,
    input  wire [1:0]  job_slot,
    input  wire [31:0] job_last,
    input  wire [3:0]  drop,
    // Words enter the data FIFO; its head.
    input  wire        push_good,
    input  wire        push_bad,
    input  wire        push_cut,
    input  wire        push_last,
    input  wire        word_valid,
    input  wire        word_last,
    input  wire        word_bad,
    input  wire        lost,
    // What else may hold a burst up.
    input  wire        note_ready,
    input  wire        local_awready,
    input  wire        host_awready,
    input  wire        local_wready,
    input  wire        host_wready
);
    localparam T = 5;

    wire        burst_valid, burst_ready, burst_host, burst_last, burst_fill, bursts_done;
    wire [5:0]  burst_length;
    wire [2:0]  burst_first_lane, burst_last_lane;
    wire [T-1:0] word_turn, active_turn;
    wire        drain, drain_good, drain_done, resolved, active, active_resumed, active_urgent, active_descending;
    wire [1:0]  active_slot;
    wire        fault_valid;
    wire [7:0]  fault_kind;
    wire [31:0] fault_position;
    wire        local_awvalid, host_awvalid, local_wvalid, host_wvalid;
    // A burst that waits in ferry_write_data, whichever; the latest one's memory.
    wire        waits, waits_for_host, latest_host;

    ferry_write_side #(.LG_TURNS(T)) side (
        .clk(clk), .rst(rst), .job_valid(job_valid), .job_urgent(job_urgent), .job_first(1'b1), .job_op(job_op), .job_kind(2'd0),
        .job_is_list(1'b0), .job_unordered(1'b1), .job_protected(1'b0), .job_buffered(job_buffered), .job_slot(job_slot),
        .job_descending(1'b0), .job_chunk_end(9'd0), .job_base(64'd0), .job_empty(1'b0), .job_last(job_last),
        .job_list_base(16'd0), .drop(drop), .local_limit(27'd0), .protect_base(27'd0), .protect_limit(27'd0),
        .block_coming(block_coming),
        .push_good(push_good), .push_bad(push_bad), .push_cut(push_cut), .push_last(push_last), .resolved(resolved),
        .burst_valid(burst_valid), .burst_ready(burst_ready), .burst_host(burst_host), .burst_length(burst_length),
        .burst_first_lane(burst_first_lane), .burst_last_lane(burst_last_lane), .burst_last(burst_last),
        .burst_fill(burst_fill), .bursts_done(bursts_done), .word_turn(word_turn), .drain(drain), .drain_good(drain_good),
        .drain_done(drain_done), .active(active), .active_turn(active_turn), .active_resumed(active_resumed),
        .active_urgent(active_urgent), .active_slot(active_slot), .active_descending(active_descending),
        .fault_valid(fault_valid), .fault_kind(fault_kind), .fault_position(fault_position), .note_ready(note_ready),
        .list_ready(1'b1), .list_data_valid(1'b0), .list_data(64'd0), .lookup_ready(1'b1), .result_valid(1'b0),
        .result_hit(1'b0), .result_snoop(1'b0), .result_page(40'd0), .slot_tags(32'd0),
        .local_awvalid(local_awvalid), .local_awready(local_awready), .host_awvalid(host_awvalid),
        .host_awready(host_awready), .formal_latest_host(latest_host)
    );
    ferry_write_data #(.LG_TURNS(T)) data (
        .clk(clk), .rst(rst), .burst_valid(burst_valid), .burst_ready(burst_ready), .burst_host(burst_host),
        .burst_length(burst_length), .burst_first_lane(burst_first_lane), .burst_last_lane(burst_last_lane),
        .burst_last(burst_last), .burst_fill(burst_fill), .bursts_done(bursts_done), .word_turn(word_turn), .drain(drain),
        .drain_good(drain_good), .drain_done(drain_done), .side_active(active), .side_turn(active_turn),
        .side_resumed(active_resumed), .side_urgent(active_urgent), .side_slot(active_slot),
        .side_descending(active_descending), .side_place(32'd0), .side_fault_valid(fault_valid), .side_fault_kind(fault_kind),
        .side_fault_position(fault_position), .word_valid(word_valid), .word(64'd0), .word_last(word_last), .word_bad(word_bad),
        .word_bad_last(word_bad && word_last),
        .lost(lost), .resolved(resolved), .poison(4'd0), .local_wvalid(local_wvalid), .local_wready(local_wready),
        .host_wvalid(host_wvalid), .host_wready(host_wready), .formal_waits(waits), .formal_waits_for_host(waits_for_host)
    );

    reg past_valid = 1'b0;
    reg went_local = 1'b0;
    always @(posedge clk) begin
        past_valid <= 1'b1;
        went_local <= !rst && (went_local || (local_wvalid && local_wready));
        cover (past_valid && !rst && went_local && host_awvalid && host_wvalid);
    end
    always @(*) if (past_valid && !rst) begin
        // For induction: what waits is for the memory of the latest burst, and so is the address that is shown.
        assert (!waits || waits_for_host == latest_host);
        assert (!local_awvalid || !latest_host);
        assert (!host_awvalid || latest_host);
        // The claim.
        assert (!(waits && waits_for_host && local_awvalid));
        assert (!(waits && !waits_for_host && host_awvalid));
    end
endmodule

`default_nettype wire
