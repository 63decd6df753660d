// SPDX-License-Identifier: Apache-2.0
// ferry_engine as a plain memory-to-memory copy and fill engine: a descriptor port, a count of what is done, the oldest
// fault, and one standard AXI4 master. No host side, no page lists, no aperture table, no soft core; synthesis removes
// most of what they would need.
`default_nettype none
`include "ferry_contract.vh"

module copy_engine #(
    // log2 of the bytes of memory: a descriptor that reaches further is a RANGE fault.
    parameter ADDRESS_BITS = 20,
    // log2 of the descriptors that wait or run.
    parameter LG_DESCRIPTORS = 4
) (
    // Clock, and synchronous reset, active high.
    input  wire        clk,
    input  wire        rst,

    // A descriptor is taken when valid and ready are 1. fill = 0 copies length bytes from source to destination, any
    // alignment, overlap as memmove does it; fill = 1 repeats the 8 bytes of source.
    input  wire        descriptor_valid,
    output wire        descriptor_ready,
    input  wire        descriptor_fill,
    input  wire [63:0] descriptor_source,
    input  wire [63:0] descriptor_destination,
    input  wire [31:0] descriptor_length,
    // Comes back with a fault.
    input  wire [12:0] descriptor_name,
    // Descriptors done since reset, in order, free-running: every write has its response.
    output wire [15:0] done,

    // The first descriptor that went wrong and why (fault_kind of the contract). Those behind it are dropped, and counted
    // as done, until fault_clear.
    output wire        fault_valid,
    output wire [12:0] fault_name,
    output wire [7:0]  fault_kind,
    // Where: the low half of the address, on the destination's side if fault_write.
    output wire        fault_write,
    output wire [31:0] fault_position,
    input  wire        fault_clear,

    // AXI4 master: INCR bursts of 8-byte beats that never cross 4 KiB, one ID.
    output wire [ADDRESS_BITS-1:0] m_axi_araddr,
    output wire [7:0]  m_axi_arlen,
    output wire [2:0]  m_axi_arsize,
    output wire [1:0]  m_axi_arburst,
    output wire        m_axi_arvalid,
    input  wire        m_axi_arready,
    input  wire [63:0] m_axi_rdata,
    input  wire [1:0]  m_axi_rresp,
    input  wire        m_axi_rlast,
    input  wire        m_axi_rvalid,
    output wire        m_axi_rready,
    output wire [ADDRESS_BITS-1:0] m_axi_awaddr,
    output wire [7:0]  m_axi_awlen,
    output wire [2:0]  m_axi_awsize,
    output wire [1:0]  m_axi_awburst,
    output wire        m_axi_awvalid,
    input  wire        m_axi_awready,
    output wire [63:0] m_axi_wdata,
    output wire [7:0]  m_axi_wstrb,
    output wire        m_axi_wlast,
    output wire        m_axi_wvalid,
    input  wire        m_axi_wready,
    input  wire [1:0]  m_axi_bresp,
    input  wire        m_axi_bvalid,
    output wire        m_axi_bready
);

    // --- A descriptor is a job from local memory to local memory, all of them in slot 0 ------------------------------------

    wire [`FERRY_JOB_BITS-1:0] job;
    assign job[`FERRY_JOB_OP_RANGE] = descriptor_fill ? `FERRY_JOB_OP_FILL : `FERRY_JOB_OP_COPY;
    assign job[`FERRY_JOB_SOURCE_KIND_RANGE] = `FERRY_ADDRESS_KIND_LOCAL;
    assign job[`FERRY_JOB_DESTINATION_KIND_RANGE] = `FERRY_ADDRESS_KIND_LOCAL;
    assign job[`FERRY_JOB_LIST_RANGE] = `FERRY_LIST_SIDE_NONE;
    assign job[`FERRY_JOB_SPACE_RANGE] = 4'd0;
    assign job[`FERRY_JOB_UNORDERED_RANGE] = 1'b0;
    assign job[`FERRY_JOB_PROTECTED_RANGE] = 1'b0;
    assign job[`FERRY_JOB_URGENT_RANGE] = 1'b0;
    assign job[`FERRY_JOB_SLOT_RANGE] = 2'd0;
    assign job[`FERRY_JOB_PATTERN_LOG2_RANGE] = 2'd3;
    assign job[`FERRY_JOB_PACKET_OFFSET_RANGE] = {descriptor_name, 3'd0};
    assign job[`FERRY_JOB_SOURCE_RANGE] = descriptor_source;
    assign job[`FERRY_JOB_DESTINATION_RANGE] = descriptor_destination;
    assign job[`FERRY_JOB_LENGTH_RANGE] = descriptor_length;
    assign job[`FERRY_JOB_LIST_ADDRESS_RANGE] = 16'd0;

    wire [`FERRY_LIMITS_BITS-1:0] limits;
    assign limits[`FERRY_LIMITS_LOCAL_LIMIT_RANGE] = 64'd1 << ADDRESS_BITS;
    assign limits[`FERRY_LIMITS_PROTECT_BASE_RANGE] = 64'd0;
    assign limits[`FERRY_LIMITS_PROTECT_LIMIT_RANGE] = 64'd0;

    wire [`FERRY_ENGINE_FAULT_BITS-1:0] fault;
    wire [15:0] fault_offset = fault[`FERRY_ENGINE_FAULT_PACKET_OFFSET_RANGE];
    assign fault_name = fault_offset[15:3];
    assign fault_kind = fault[`FERRY_ENGINE_FAULT_KIND_RANGE];
    assign fault_write = fault[`FERRY_ENGINE_FAULT_WRITE_RANGE];
    assign fault_position = fault[`FERRY_ENGINE_FAULT_POSITION_RANGE];

    // --- Channels ----------------------------------------------------------------------------------------------------------

    wire [`FERRY_AXI_A_BITS-1:0] ar, aw;
    wire [`FERRY_AXI_R_BITS-1:0] r;
    wire [`FERRY_AXI_W_BITS-1:0] w;

    assign m_axi_araddr = ar[ADDRESS_BITS-1:0];
    assign m_axi_arlen = ar[`FERRY_AXI_A_LENGTH_RANGE];
    assign m_axi_arsize = 3'd3;
    assign m_axi_arburst = 2'b01;
    assign r[`FERRY_AXI_R_DATA_RANGE] = m_axi_rdata;
    assign r[`FERRY_AXI_R_RESPONSE_RANGE] = m_axi_rresp;
    assign r[`FERRY_AXI_R_FAULT_RANGE] = 8'd0;
    assign r[`FERRY_AXI_R_LAST_RANGE] = m_axi_rlast;
    assign m_axi_awaddr = aw[ADDRESS_BITS-1:0];
    assign m_axi_awlen = aw[`FERRY_AXI_A_LENGTH_RANGE];
    assign m_axi_awsize = 3'd3;
    assign m_axi_awburst = 2'b01;
    assign m_axi_wdata = w[`FERRY_AXI_W_DATA_RANGE];
    assign m_axi_wstrb = w[`FERRY_AXI_W_STROBE_RANGE];
    assign m_axi_wlast = w[`FERRY_AXI_W_LAST_RANGE];

    // --- The engine, with every port that is not used given its idle value ---------------------------------------------------

    wire         unused_resetting, unused_stuck, unused_busy, unused_busy_read, unused_busy_write, unused_list_valid,
                 unused_read_lookup_valid, unused_write_lookup_valid, unused_host_arvalid, unused_host_rready,
                 unused_host_awvalid, unused_host_wvalid, unused_host_bready;
    wire [15:0]  unused_urgent;
    wire [3:0]   unused_poison;
    wire [`FERRY_ABORTED_JOB_BITS-1:0] unused_aborted_job;
    wire [15:0]  unused_list_address;
    wire [31:0]  unused_read_lookup_page, unused_write_lookup_page;
    wire [1:0]   unused_tables_valid;
    wire [2*`FERRY_LOOKUP_BITS-1:0] unused_tables_lookup;
    wire        unused_forget_valid;
    wire [`FERRY_FORGET_BITS-1:0] unused_forget;
    wire [`FERRY_EVENTS_BITS-1:0] unused_events;
    wire [`FERRY_AXI_A_BITS-1:0] unused_host_ar, unused_host_aw;
    wire [`FERRY_AXI_W_BITS-1:0] unused_host_w;

    ferry_engine #(
        .LOCAL_ADDRESS_BITS(ADDRESS_BITS), .APERTURE_PAGES(0), .LISTS(0), .TABLES(0), .HOST(0), .URGENT(0),
        .LG_JOBS(LG_DESCRIPTORS)
    ) engine (
        .clk(clk), .rst(rst), .job_valid(descriptor_valid), .job_ready(descriptor_ready), .job(job), .slot_tags(32'd0),
        .jobs_retired(done), .jobs_retired_urgent(unused_urgent), .poison(unused_poison),
        .poison_clear({3'd0, fault_clear}), .fault_valid(fault_valid),
        .fault(fault), .fault_clear(fault_clear), .aborted_job(unused_aborted_job), .limits(limits),
        .timeout(32'd0), .timeout_held(1'b0), .reset_request(1'b0), .resetting(unused_resetting), .stuck(unused_stuck), .busy(unused_busy),
        .busy_read(unused_busy_read),
        .busy_write(unused_busy_write), .events(unused_events), .list_valid(unused_list_valid), .list_ready(1'b1),
        .list_address(unused_list_address), .list_data_valid(1'b0), .list_data(64'd0),
        .read_lookup_valid(unused_read_lookup_valid), .read_lookup_ready(1'b1),
        .read_lookup_page(unused_read_lookup_page), .read_result_valid(1'b0),
        .read_result({`FERRY_TRANSLATION_BITS{1'b0}}), .write_lookup_valid(unused_write_lookup_valid),
        .write_lookup_ready(1'b1), .write_lookup_page(unused_write_lookup_page), .write_result_valid(1'b0),
        .write_result({`FERRY_TRANSLATION_BITS{1'b0}}), .tables_valid(unused_tables_valid),
        .tables_lookup(unused_tables_lookup), .tables_answer_valid(2'b00), .tables_answer({`FERRY_PAGE_BITS{1'b0}}),
        .tables_seen(128'd0), .tables_moves(1'b0), .tables_owed(1'b0), .forget_valid(unused_forget_valid), .forget_ready(1'b1),
        .forget(unused_forget), .m_axi_local_ar(ar), .m_axi_local_arvalid(m_axi_arvalid),
        .m_axi_local_arready(m_axi_arready), .m_axi_local_r(r), .m_axi_local_rvalid(m_axi_rvalid),
        .m_axi_local_rready(m_axi_rready), .m_axi_local_aw(aw), .m_axi_local_awvalid(m_axi_awvalid),
        .m_axi_local_awready(m_axi_awready), .m_axi_local_w(w), .m_axi_local_wvalid(m_axi_wvalid),
        .m_axi_local_wready(m_axi_wready), .m_axi_local_bresp(m_axi_bresp), .m_axi_local_bvalid(m_axi_bvalid),
        .m_axi_local_bready(m_axi_bready), .m_axi_host_ar(unused_host_ar), .m_axi_host_arvalid(unused_host_arvalid),
        .m_axi_host_arready(1'b1), .m_axi_host_r({`FERRY_AXI_R_BITS{1'b0}}), .m_axi_host_rvalid(1'b0),
        .m_axi_host_rready(unused_host_rready), .m_axi_host_aw(unused_host_aw),
        .m_axi_host_awvalid(unused_host_awvalid), .m_axi_host_awready(1'b1), .m_axi_host_w(unused_host_w),
        .m_axi_host_wvalid(unused_host_wvalid), .m_axi_host_wready(1'b1), .m_axi_host_bresp(2'b00),
        .m_axi_host_bvalid(1'b0), .m_axi_host_bready(unused_host_bready)
    );

    wire unused = &{1'b0, ar, aw, fault, fault_offset[2:0], unused_resetting, unused_stuck, unused_busy, unused_busy_read,
        unused_busy_write, unused_list_valid, unused_read_lookup_valid, unused_write_lookup_valid, unused_tables_valid,
        unused_tables_lookup, unused_forget_valid, unused_forget, unused_host_arvalid, unused_host_rready,
        unused_host_awvalid, unused_host_wvalid,
        unused_host_bready, unused_poison, unused_aborted_job,
        unused_list_address, unused_read_lookup_page, unused_write_lookup_page, unused_events,
        unused_host_ar, unused_host_aw, unused_host_w};

endmodule

`default_nettype wire
