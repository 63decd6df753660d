// SPDX-License-Identifier: Apache-2.0
// Stands for ferry_address_generator in the proofs of the two bus masters: any bursts at all, as long as each keeps to
// what the generator's own proof shows of it (inside one page, 1 to 64 beats).
`default_nettype none
`include "ferry_contract.vh"

module ferry_address_generator #(
    // Bits of a video memory address.
    parameter LOCAL_ADDRESS_BITS = 26,
    // Pages in the aperture table.
    parameter APERTURE_PAGES = 4096,
    // 1: a side may be a page list.
    parameter LISTS = 1,
    // 1: there is a page-table unit.
    parameter TABLES = 1,
    // 1: a job may be left half done, and resumed.
    parameter [0:0] URGENT = 1,
    // 1: this side writes.
    parameter [0:0] WRITES = 0
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // A job is taken in the cycle start is 1, which needs start_ready. last_byte is its length less one.
    input  wire        start,
    output wire        start_ready,
    input  wire [63:0] base,
    input  wire [31:0] last_byte,
    input  wire [1:0]  kind,
    // This side is a page list at list_base in command RAM; base is then the offset in its first page.
    input  wire        is_list,
    input  wire [15:0] list_base,
    // Space of its virtual addresses.
    input  wire [3:0]  space,
    input  wire        may_protected,
    // Go down by chunks; chunk_end is the low part of the address of the destination's last byte.
    input  wire        descending,
    input  wire [8:0]  chunk_end,
    // With start: go on at resume_place, where the job was left.
    input  wire        resume,
    input  wire [32:0] resume_place,
    input  wire        resume_last,
    // The burst shown is the last, and this is the place of its last byte in its block.
    input  wire        trim,
    input  wire [8:0]  trim_top,
    // Give the job up; active falls as soon as no request is half made and none is unanswered.
    input  wire        abort,
    // A job is being walked.
    output wire        active,
    output wire        in_segment,
    output wire [32:0] place,

    // The present burst. Position is the low part of the address as the job named it.
    output wire        burst_valid,
    input  wire        burst_step,
    // It is taken, and if it is the job's last the next job may be taken with it.
    input  wire        start_step,
    output wire        burst_host,
    output wire        burst_nosnoop,
    output wire [63:0] burst_address,
    output wire [31:0] burst_position,
    output wire [8:0]  burst_top,
    // Its beats less one.
    output wire [5:0]  burst_length,
    // First burst of a segment, last burst of a segment, last burst of the job.
    output wire        burst_first,
    output wire        burst_segment_last,
    output wire        burst_last,
    // This burst must not be issued, and why.
    output wire        burst_refused,
    output wire [7:0]  burst_fault,
    output wire [1:0]  burst_fault_level,

    // Limits of video memory.
    input  wire [LOCAL_ADDRESS_BITS:0] local_limit,
    input  wire [LOCAL_ADDRESS_BITS:0] protect_base,
    input  wire [LOCAL_ADDRESS_BITS:0] protect_limit,

    // Page list in command RAM.
    output wire        list_valid,
    input  wire        list_ready,
    output wire [15:0] list_address,
    input  wire        list_data_valid,
    input  wire [63:0] list_data,

    // Aperture table.
    output wire        lookup_valid,
    input  wire        lookup_ready,
    output wire [31:0] lookup_page,
    input  wire        result_valid,
    input  wire        result_hit,
    input  wire        result_snoop,
    input  wire [51:12] result_page,

    // Page-table unit.
    output wire        tables_more,
    output wire        tables_valid,
    output wire [`FERRY_LOOKUP_BITS-1:0] tables_lookup,
    input  wire        tables_answer_valid,
    input  wire [`FERRY_PAGE_BITS-1:0] tables_answer
);
    (* anyseq *) wire any_ready, any_active, any_segment_at_hand, any_valid, any_host, any_nosnoop, any_first, any_segment, any_last;
    (* anyseq *) wire [63:0] any_address;
    (* anyseq *) wire [32:0] any_place;
    (* anyseq *) wire [31:0] any_position;
    (* anyseq *) wire [8:0]  any_top;
    (* anyseq *) wire [5:0]  any_length;
    (* anyseq *) wire [7:0]  any_fault;
    (* anyseq *) wire [1:0]  any_level;
    assign start_ready = any_ready;
    assign active = any_active;
    assign in_segment = any_segment_at_hand;
    assign place = any_place;
    assign burst_valid = any_valid;
    assign burst_host = any_host;
    assign burst_nosnoop = any_nosnoop;
    assign burst_address = any_address;
    assign burst_position = any_position;
    assign burst_top = any_top;
    assign burst_length = any_length;
    assign burst_first = any_first;
    assign burst_segment_last = any_segment;
    assign burst_last = any_last;
    assign burst_fault = any_fault;
    assign burst_refused = any_fault != 8'd0;
    assign burst_fault_level = any_level;
    assign tables_more = 1'b0;
    assign tables_valid = 1'b0;
    assign tables_lookup = 0;
    assign list_valid = 1'b0;
    assign list_address = 16'd0;
    assign lookup_valid = 1'b0;
    assign lookup_page = 32'd0;
    always @(*) begin
        assume (any_address[11:3] + {3'd0, any_length} < 512);
        // A job is taken when there is none, or with the last burst of the one before.
        assume (!any_ready || !any_active || start_step);
        assume ((!any_valid || any_segment_at_hand) && (!any_segment_at_hand || any_active));
    end
    // No job begins as one is given up: the generator does not look at that.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) if (past_valid && !rst) begin
        assert (!(start && abort));
        assert (!start || start_ready);
        assert (!start_step || (burst_valid && !burst_refused));
    end
endmodule

`default_nettype wire
