// SPDX-License-Identifier: Apache-2.0
// The soft core with its firmware RAM, the command RAM and the sequencer as they stand in the device; the registers are
// the test's.
`default_nettype none
`include "ferry_contract.vh"

module core_machine #(
    // As ferry_device's.
    parameter [63:0] CPU_CORE = "vexriscv"
) (
    // Clock and synchronous reset.
    input  wire        clk,
    input  wire        rst,
    // The core runs.
    input  wire        run,

    // Firmware RAM, while run is 0.
    input  wire        host_valid,
    input  wire [14:0] host_address,
    input  wire [31:0] host_wdata,
    output wire        host_ready,

    // Command RAM's write port.
    input  wire        write_valid,
    input  wire [15:0] write_address,
    input  wire [63:0] write_data,

    // Registers.
    output wire        io_valid,
    output wire        io_write,
    output wire [11:0] io_address,
    output wire [31:0] io_wdata,
    input  wire        io_ready,
    input  wire [31:0] io_rdata,

    // Sequencer.
    input  wire        sequence_write,
    input  wire [31:0] sequence_wdata,
    input  wire [12:0] sequence_end,
    output wire        sequence_busy,
    output wire        sequence_waiting,
    output wire        sequence_ended,
    output wire        sequence_table,
    output wire [15:0] sequence_offset,
    input  wire [63:0] local_limit,
    input  wire [63:0] protect_base,
    input  wire [63:0] protect_limit,
    output wire        job_valid,
    input  wire        job_ready,
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
    // A packet was taken that makes no job.
    output wire        skipped
);

    wire        command_valid;
    wire [15:0] command_address;
    wire        command_ready;
    wire [31:0] command_rdata;
    wire [31:0] host_rdata;
    wire        list0_ready;
    wire        list0_data_valid;
    wire [63:0] list0_data;
    wire        list1_ready;
    wire        list1_data_valid;
    wire [63:0] list1_data;

    ferry_cpu #(.CPU_CORE(CPU_CORE)) cpu (
        .clk(clk), .rst(rst), .run(run),
        .host_valid(host_valid), .host_write(1'b1), .host_address(host_address), .host_wdata(host_wdata),
        .host_wstrb(4'hf), .host_ready(host_ready), .host_rdata(host_rdata),
        .command_valid(command_valid), .command_address(command_address), .command_ready(command_ready),
        .command_rdata(command_rdata),
        .io_valid(io_valid), .io_write(io_write), .io_address(io_address), .io_wdata(io_wdata), .io_ready(io_ready),
        .io_rdata(io_rdata)
    );

    ferry_command_ram command (
        .clk(clk), .rst(rst),
        .write_valid(write_valid), .write_address(write_address), .write_data(write_data),
        .core_valid(command_valid), .core_address(command_address), .core_ready(command_ready),
        .core_rdata(command_rdata),
        .list0_valid(1'b0), .list0_ready(list0_ready), .list0_address(16'd0), .list0_data_valid(list0_data_valid),
        .list0_data(list0_data),
        .list1_valid(1'b0), .list1_ready(list1_ready), .list1_address(16'd0), .list1_data_valid(list1_data_valid),
        .list1_data(list1_data),
        .packet_valid(packet_valid), .packet_ready(packet_ready), .packet_address(packet_address),
        .packet_data_valid(packet_data_valid), .packet_data(packet_data)
    );

    wire [`FERRY_LIMITS_BITS-1:0] limits;
    wire [`FERRY_JOB_BITS-1:0] job;
    wire        packet_valid, packet_ready, packet_data_valid;
    wire [15:0] packet_address;
    wire [63:0] packet_data;

    assign limits[`FERRY_LIMITS_LOCAL_LIMIT_RANGE] = local_limit;
    assign limits[`FERRY_LIMITS_PROTECT_BASE_RANGE] = protect_base;
    assign limits[`FERRY_LIMITS_PROTECT_LIMIT_RANGE] = protect_limit;
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

    wire        job_more;
    ferry_sequencer #(.APERTURE_PAGES(4096), .PAGE_TABLES(0), .TILING(0)) sequencer (
        .start_space(4'd0),
        .start_virtual_only(sequence_wdata[`FERRY_CORE_SEQUENCE_VIRTUAL_ONLY_SHIFT]),
        .clk(clk), .rst(rst), .run(run),
        .start(sequence_write && !sequence_wdata[`FERRY_CORE_SEQUENCE_STOP_SHIFT]),
        .start_slot(sequence_wdata[`FERRY_CORE_SEQUENCE_SLOT_RANGE]),
        .start_offset(sequence_wdata[`FERRY_CORE_SEQUENCE_PACKET_OFFSET_RANGE]),
        .start_system(sequence_wdata[`FERRY_CORE_SEQUENCE_SYSTEM_SHIFT]),
        .start_tables(sequence_wdata[`FERRY_CORE_SEQUENCE_TABLES_SHIFT]),
        .start_checked(sequence_wdata[`FERRY_CORE_SEQUENCE_CHECKED_SHIFT]),
        .stop(sequence_write && sequence_wdata[`FERRY_CORE_SEQUENCE_STOP_SHIFT]), .buffer_bytes(sequence_end),
        .busy(sequence_busy), .waiting(sequence_waiting), .ended(sequence_ended), .table_change(sequence_table),
        .offset(sequence_offset), .limits(limits),
        .read_valid(packet_valid), .read_ready(packet_ready), .read_address(packet_address),
        .read_data_valid(packet_data_valid), .read_data(packet_data),
        .job_valid(job_valid), .job_ready(job_ready), .job(job), .job_more(job_more),
        .skipped(skipped),
        .slot_ended(1'b0), .slot_ended_number(2'd0), .slots_dropped(4'd0)
    );

    wire unused = &{1'b0, job_more, host_rdata, list0_ready, list0_data_valid, list0_data, list1_ready,
        list1_data_valid,
        list1_data, job, sequence_wdata};

endmodule

`default_nettype wire
