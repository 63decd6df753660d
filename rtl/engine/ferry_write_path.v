// SPDX-License-Identifier: Apache-2.0
// The half of the engine that writes: turns into bursts of the destination (ferry_write_side), words out of the data FIFO into
// their beats (ferry_write_data). Between the two go the bursts, and who throws a turn's words away.
`default_nettype none
`include "ferry_contract.vh"

module ferry_write_path #(
    // Bits of a video memory address.
    parameter LOCAL_ADDRESS_BITS = 26,
    // Pages in the aperture table.
    parameter APERTURE_PAGES = 4096,
    // 1: a side may be a page list.
    parameter LISTS = 1,
    // 1: there is a page-table unit.
    parameter TABLES = 1,
    // 1: there is host memory; there are urgent jobs.
    parameter [0:0] HOST = 1,
    parameter [0:0] URGENT = 1,
    // Bits of a turn's number.
    parameter LG_TURNS = 5,
    // log2 of the words in the data FIFO.
    parameter LG_DATA = 9
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // Next turn; see ferry_job_queue.
    input  wire        job_valid,
    output wire        job_take,
    output wire        job_back,
    input  wire        job_urgent,
    input  wire        job_first,
    input  wire [2:0]  job_op,
    input  wire [1:0]  job_kind,
    input  wire        job_is_list,
    input  wire        job_unordered,
    input  wire        job_protected,
    input  wire        job_buffered,
    input  wire [1:0]  job_slot,
    input  wire        job_descending,
    input  wire [8:0]  job_chunk_end,
    input  wire [63:0] job_base,
    input  wire [31:0] job_last,
    input  wire [15:0] job_list_base,
    input  wire [3:0]  job_space,

    // The turn of a fill that is not urgent is over, and whether its job was left half done.
    output wire        fill_over,
    output wire        fill_cut,
    // FORGET; see ferry_write_side.
    output wire        forget_over,
    output wire        forget_valid,
    input  wire        forget_ready,
    output wire [`FERRY_FORGET_BITS-1:0] forget,

    // Slots whose jobs are dropped (all of them during a reset).
    input  wire [3:0]  drop,

    // Limits of video memory, clipped (ferry_limits).
    input  wire [LOCAL_ADDRESS_BITS:0] local_limit,
    input  wire [LOCAL_ADDRESS_BITS:0] protect_base,
    input  wire [LOCAL_ADDRESS_BITS:0] protect_limit,

    // Behind words that are there the next 64 of their turn, or its rest, are on their way from video memory.
    input  wire        block_coming,
    // The write side is told of a good or a bad word (ferry_data_fifo), the bad one for a cut; the bad words are gone.
    input  wire        push_good,
    input  wire        push_bad,
    input  wire        push_cut,
    // The good word is its job's last.
    input  wire        push_last,

    // A burst is announced.
    output wire        burst_valid,
    // The job writes no more: its reads are pointless (but for READ, which is nothing but its read).
    output wire        give_up,
    // The turn at hand, and its slot.
    output wire [LG_TURNS-1:0] side_turn,
    output wire [1:0]  side_slot,
    // The turn is being thrown away for a fault of the job's own address; its level, if it is of the page tables.
    output wire        side_fault_valid,
    output wire [1:0]  side_fault_level,

    // Bursts and markers for ferry_retire.
    output wire        note_valid,
    input  wire        note_ready,
    output wire        note_marker,
    output wire        note_last,
    // The turn's last note: its job is left half done.
    output wire        note_cut,
    output wire        note_urgent,
    output wire        note_host,
    output wire [1:0]  note_slot,
    output wire [31:0] note_position,

    // Page lists and aperture table.
    output wire        list_valid,
    input  wire        list_ready,
    output wire [15:0] list_address,
    input  wire        list_data_valid,
    input  wire [63:0] list_data,
    output wire        lookup_valid,
    input  wire        lookup_ready,
    output wire [31:0] lookup_page,
    input  wire        result_valid,
    input  wire        result_hit,
    input  wire        result_snoop,
    input  wire [51:12] result_page,
    // Page-table unit; the entry that it read last for this side.
    output wire        tables_more,
    output wire        tables_valid,
    output wire [`FERRY_LOOKUP_BITS-1:0] tables_lookup,
    input  wire        tables_answer_valid,
    input  wire [`FERRY_PAGE_BITS-1:0] tables_answer,

    // AXI4 write address channels; host writes bear their slot's tag, 8 bits a slot.
    input  wire [31:0] slot_tags,
    output wire [`FERRY_AXI_A_BITS-1:0] local_aw,
    output wire        local_awvalid,
    input  wire        local_awready,
    output wire [`FERRY_AXI_A_BITS-1:0] host_aw,
    output wire        host_awvalid,
    input  wire        host_awready,

    // Head of the data FIFO. A bad word bears the read side's fault, if it comes from one: kind and position.
    input  wire        word_valid,
    output wire        word_take,
    input  wire [63:0] word,
    input  wire        word_last,
    input  wire        word_bad,
    input  wire        word_bad_last,

    // Memory was given up on: what is still owed to it goes out with no strobe, but for a beat that is offered already.
    input  wire        lost,
    // An engine reset goes on.
    input  wire        resetting,
    // The last bad word of a turn is gone.
    output wire        resolved,

    // Fault record: one-cycle pulse.
    input  wire [3:0]  poison,
    output wire        record_valid,
    output wire [LG_TURNS-1:0] record_turn,
    output wire [1:0]  record_slot,
    output wire        record_write,
    output wire [7:0]  record_kind,
    output wire [31:0] record_position,
    output wire        record_left,
    output wire [31:0] record_place,

    // AXI4 write data channels.
    output wire [63:0] wdata,
    output wire [7:0]  wstrb,
    output wire        wlast,
    output wire        local_wvalid,
    input  wire        local_wready,
    output wire        host_wvalid,
    input  wire        host_wready
);
    wire        burst_ready;
    wire        burst_host;
    wire [5:0]  burst_length;
    wire [2:0]  burst_first_lane;
    wire [2:0]  burst_last_lane;
    wire        burst_last;
    wire        burst_fill;
    wire        bursts_done;
    wire [LG_TURNS-1:0] word_turn;
    wire        drain;
    wire        drain_good;
    wire        drain_done;
    wire        side_active;
    wire        side_resumed;
    wire        side_urgent;
    wire        side_descending;
    wire [31:0] side_place;
    wire [7:0]  side_fault_kind;
    wire [31:0] side_fault_position;

    ferry_write_side #(
        .LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS), .APERTURE_PAGES(APERTURE_PAGES), .LISTS(LISTS), .TABLES(TABLES),
        .URGENT(URGENT), .LG_TURNS(LG_TURNS), .LG_DATA(LG_DATA)
    ) side (
        .clk(clk), .rst(rst), .job_valid(job_valid), .job_take(job_take), .job_back(job_back),
        .job_urgent(job_urgent), .job_first(job_first), .job_op(job_op), .job_kind(job_kind),
        .job_is_list(job_is_list), .job_unordered(job_unordered), .job_protected(job_protected),
        .job_buffered(job_buffered), .job_slot(job_slot), .job_descending(job_descending),
        .job_chunk_end(job_chunk_end), .job_base(job_base), .job_empty(1'b0), .job_last(job_last),
        .job_list_base(job_list_base), .job_space(job_space), .fill_over(fill_over), .fill_cut(fill_cut),
        .forget_over(forget_over), .forget_valid(forget_valid), .forget_ready(forget_ready), .forget(forget), .drop(drop),
        .local_limit(local_limit), .protect_base(protect_base), .protect_limit(protect_limit), .block_coming(block_coming),
        .push_good(push_good), .push_bad(push_bad), .push_cut(push_cut), .push_last(push_last), .resolved(resolved),
        .burst_valid(burst_valid), .burst_ready(burst_ready), .burst_host(burst_host), .burst_length(burst_length),
        .burst_first_lane(burst_first_lane), .burst_last_lane(burst_last_lane), .burst_last(burst_last),
        .burst_fill(burst_fill), .bursts_done(bursts_done), .word_turn(word_turn), .drain(drain),
        .drain_good(drain_good), .drain_done(drain_done), .give_up(give_up), .active(side_active),
        .active_turn(side_turn), .active_resumed(side_resumed), .active_urgent(side_urgent), .active_slot(side_slot),
        .active_descending(side_descending), .active_place(side_place), .fault_valid(side_fault_valid), .fault_kind(side_fault_kind),
        .fault_position(side_fault_position), .fault_level(side_fault_level), .note_valid(note_valid),
        .note_ready(note_ready), .note_marker(note_marker), .note_last(note_last), .note_cut(note_cut),
        .note_urgent(note_urgent), .note_host(note_host), .note_slot(note_slot), .note_position(note_position),
        .list_valid(list_valid), .list_ready(list_ready), .list_address(list_address),
        .list_data_valid(list_data_valid), .list_data(list_data), .lookup_valid(lookup_valid),
        .lookup_ready(lookup_ready), .lookup_page(lookup_page), .result_valid(result_valid), .result_hit(result_hit),
        .result_snoop(result_snoop), .result_page(result_page), .tables_more(tables_more), .tables_valid(tables_valid),
        .tables_lookup(tables_lookup), .tables_answer_valid(tables_answer_valid), .tables_answer(tables_answer),
        .slot_tags(slot_tags), .local_aw(local_aw), .local_awvalid(local_awvalid), .local_awready(local_awready),
        .host_aw(host_aw), .host_awvalid(host_awvalid), .host_awready(host_awready)
    );

    ferry_write_data #(.HOST(HOST), .URGENT(URGENT), .LG_TURNS(LG_TURNS)) data (
        .clk(clk), .rst(rst), .burst_valid(burst_valid), .burst_ready(burst_ready), .burst_host(burst_host),
        .burst_length(burst_length), .burst_first_lane(burst_first_lane), .burst_last_lane(burst_last_lane),
        .burst_last(burst_last), .burst_fill(burst_fill), .bursts_done(bursts_done), .word_turn(word_turn),
        .drain(drain), .drain_good(drain_good), .drain_done(drain_done), .side_active(side_active),
        .side_turn(side_turn), .side_resumed(side_resumed), .side_urgent(side_urgent), .side_slot(side_slot),
        .side_descending(side_descending), .side_place(side_place), .side_fault_valid(side_fault_valid), .side_fault_kind(side_fault_kind),
        .side_fault_position(side_fault_position), .word_valid(word_valid), .word_take(word_take), .word(word),
        .word_last(word_last), .word_bad(word_bad), .word_bad_last(word_bad_last), .lost(lost), .resetting(resetting),
        .resolved(resolved),
        .poison(poison), .record_valid(record_valid), .record_turn(record_turn), .record_slot(record_slot),
        .record_write(record_write), .record_kind(record_kind), .record_position(record_position),
        .record_left(record_left), .record_place(record_place), .wdata(wdata), .wstrb(wstrb), .wlast(wlast), .local_wvalid(local_wvalid),
        .local_wready(local_wready), .host_wvalid(host_wvalid), .host_wready(host_wready)
    );
endmodule

`default_nettype wire
