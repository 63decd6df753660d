// SPDX-License-Identifier: Apache-2.0
// The sequencer with its bundles taken apart, as a Verilated top for the unit test.
`default_nettype none
`include "ferry_contract.vh"

module sequencer_bench #(
    // As ferry_device's.
    parameter [0:0] PAGE_TABLES = 1,
    parameter [0:0] TILING = 1
) (
    input  wire        clk,
    input  wire        rst,
    input  wire        run,
    input  wire        start,
    input  wire [1:0]  start_slot,
    input  wire [15:0] start_offset,
    input  wire        start_system,
    input  wire        start_tables,
    input  wire        start_checked,
    input  wire [3:0]  start_space,
    input  wire        start_virtual_only,
    input  wire        stop,
    input  wire [12:0] buffer_bytes,
    output wire        table_change,
    output wire        busy,
    output wire        waiting,
    output wire        ended,
    output wire [15:0] offset,
    // The host's limits.
    input  wire [63:0] local_limit,
    input  wire [63:0] protect_base,
    input  wire [63:0] protect_limit,
    // A slot's buffer has ended.
    input  wire        slot_ended,
    input  wire [1:0]  slot_ended_number,
    // Slots whose jobs are dropped.
    input  wire [3:0]  slots_dropped,
    // Command RAM.
    output wire        read_valid,
    input  wire        read_ready,
    output wire [15:0] read_address,
    input  wire        read_data_valid,
    input  wire [63:0] read_data,
    // The job.
    output wire        job_valid,
    input  wire        job_ready,
    output wire        job_more,
    output wire [2:0]  job_op,
    output wire [1:0]  job_source_kind,
    output wire [1:0]  job_destination_kind,
    output wire [1:0]  job_list,
    output wire        job_unordered,
    output wire        job_protected,
    output wire [1:0]  job_slot,
    output wire [1:0]  job_pattern_log2,
    output wire [15:0] job_packet_offset,
    output wire [63:0] job_source,
    output wire [63:0] job_destination,
    output wire [31:0] job_length,
    output wire [15:0] job_list_address,
    output wire [3:0]  job_space,
    // A packet was taken that makes none.
    output wire        skipped
);

    wire [`FERRY_JOB_BITS-1:0] job;
    wire [`FERRY_LIMITS_BITS-1:0] limits;
    assign limits[`FERRY_LIMITS_LOCAL_LIMIT_RANGE] = local_limit;
    assign limits[`FERRY_LIMITS_PROTECT_BASE_RANGE] = protect_base;
    assign limits[`FERRY_LIMITS_PROTECT_LIMIT_RANGE] = protect_limit;
    assign job_space = job[`FERRY_JOB_SPACE_RANGE];
    assign job_op = job[`FERRY_JOB_OP_RANGE];
    assign job_source_kind = job[`FERRY_JOB_SOURCE_KIND_RANGE];
    assign job_destination_kind = job[`FERRY_JOB_DESTINATION_KIND_RANGE];
    assign job_list = job[`FERRY_JOB_LIST_RANGE];
    assign job_unordered = job[`FERRY_JOB_UNORDERED_RANGE];
    assign job_protected = job[`FERRY_JOB_PROTECTED_RANGE];
    assign job_slot = job[`FERRY_JOB_SLOT_RANGE];
    assign job_pattern_log2 = job[`FERRY_JOB_PATTERN_LOG2_RANGE];
    assign job_packet_offset = job[`FERRY_JOB_PACKET_OFFSET_RANGE];
    assign job_source = job[`FERRY_JOB_SOURCE_RANGE];
    assign job_destination = job[`FERRY_JOB_DESTINATION_RANGE];
    assign job_length = job[`FERRY_JOB_LENGTH_RANGE];
    assign job_list_address = job[`FERRY_JOB_LIST_ADDRESS_RANGE];
    wire unused = &{1'b0, job[`FERRY_JOB_URGENT_RANGE]};

    ferry_sequencer #(.PAGE_TABLES(PAGE_TABLES), .TILING(TILING)) sequencer (
        .start_space(start_space), .start_virtual_only(start_virtual_only),
        .clk(clk), .rst(rst), .run(run), .start(start), .start_slot(start_slot), .start_offset(start_offset),
        .start_system(start_system), .start_tables(start_tables), .start_checked(start_checked), .stop(stop), .buffer_bytes(buffer_bytes),
        .table_change(table_change), .busy(busy), .waiting(waiting), .ended(ended), .offset(offset), .limits(limits),
        .read_valid(read_valid), .read_ready(read_ready), .read_address(read_address), .read_data_valid(read_data_valid),
        .read_data(read_data), .job_valid(job_valid), .job_ready(job_ready), .job(job),
        .job_more(job_more), .skipped(skipped),
        .slot_ended(slot_ended), .slot_ended_number(slot_ended_number),
        .slots_dropped(slots_dropped)
    );

endmodule

`default_nettype wire
