// SPDX-License-Identifier: Apache-2.0
// The deciding half of ferry_device, wired as there, for a test that plays the other half (host side, engine, aperture
// table) in C++: registers of host and core, counters, soft core, fetcher, command RAM, record poster.
`default_nettype none
`include "ferry_contract.vh"
`include "ferry_sets.vh"

module control_bench #(
    // Parameters as in ferry_device, and its sizes.
    parameter CONFIGURATION = "full",
    parameter TAGS = `FERRY_SET_TAGS(CONFIGURATION),
    parameter RINGS = `FERRY_SET_RINGS(CONFIGURATION),
    parameter SLOTS = `FERRY_SET_SLOTS(CONFIGURATION),
    parameter SLOT_BYTES_LOG2 = `FERRY_SET_SLOT_BYTES_LOG2(CONFIGURATION),
    parameter LOCAL_ADDRESS_BITS = `FERRY_SET_LOCAL_ADDRESS_BITS(CONFIGURATION),
    parameter APERTURE_PAGES = `FERRY_SET_APERTURE_PAGES(CONFIGURATION),
    parameter FIRMWARE_RAM_WORDS = `FERRY_SET_FIRMWARE_RAM_WORDS(CONFIGURATION),
    parameter FIRMWARE_HEX = "",
    parameter JOB_QUEUE = `FERRY_SET_JOB_QUEUE(CONFIGURATION),
    parameter CPU_CORE = "vexriscv"
) (
    // Clock and synchronous reset.
    input  wire clk,
    input  wire rst,

    // Register bus of the completer (BAR0): held until reg_ready.
    input  wire reg_valid,
    input  wire reg_write,
    input  wire [15:0] reg_address,
    input  wire [31:0] reg_wdata,
    input  wire [3:0] reg_wstrb,
    output wire reg_ready,
    output wire [31:0] reg_rdata,

    // What the host set: limits of video memory, timeouts, tags.
    output wire [63:0] local_limit,
    output wire [63:0] protect_base,
    output wire [63:0] protect_limit,
    output wire [31:0] completion_timeout,
    output wire [7:0] tag_limit,

    // Causes and settings for the interrupt module, and its state.
    output wire [9:0] interrupt_cause,
    output wire [9:0] interrupt_clear,
    input  wire [9:0] interrupt_status,
    output wire [9:0] interrupt_enable,
    output wire [15:0] interrupt_coalesce_count,
    output wire [15:0] interrupt_coalesce_cycles,
    input  wire [31:0] interrupt_count,

    // A read request to the host is outstanding.
    input  wire requester_busy,

    // One-cycle strobes for the counters of the contract.
    input  wire count_stall_link,
    input  wire count_tlp_received,
    input  wire count_tlp_sent,
    input  wire count_link_receive_beat,
    input  wire count_link_send_beat,
    input  wire count_unsupported,
    input  wire count_malformed,
    input  wire count_poisoned,
    input  wire count_unexpected,
    input  wire count_window_refused,

    // Engine reset: a pulse, and 1 while it goes on.
    output wire reset_request,
    input  wire resetting,

    // ENGINE_TIMEOUT.
    output wire [31:0] timeout,

    // Units at work, for ferry_observe and STATUS.
    output wire core_busy,

    // Engine jobs and their retirement, as in ferry_engine.
    output wire job_valid,
    input  wire job_ready,
    output wire [2:0] job_op,
    output wire [1:0] job_source_kind,
    output wire [1:0] job_destination_kind,
    output wire [1:0] job_list,
    output wire job_unordered,
    output wire job_protected,
    output wire [1:0] job_slot,
    // Whose buffer each slot holds, 8 bits a slot in the layout of WRITE_TAG.
    output wire [31:0] slot_tags,
    output wire [1:0] job_pattern_log2,
    output wire [15:0] job_packet_offset,
    output wire [63:0] job_source,
    output wire [63:0] job_destination,
    output wire [31:0] job_length,
    output wire [15:0] job_list_address,
    input  wire [31:0] jobs_retired,
    input  wire [3:0] poison,
    output wire [3:0] poison_clear,

    // The engine's fault.
    input  wire fault_valid,
    input  wire [7:0] fault_kind,
    input  wire [1:0] fault_slot,
    input  wire fault_write,
    input  wire [15:0] fault_packet_offset,
    input  wire [31:0] fault_position,
    input  wire [31:0] fault_written,
    input  wire fault_up_to_position,
    output wire fault_clear,

    // A change of the aperture table, as in ferry_aperture_update.
    output wire update_valid,
    input  wire update_ready,
    output wire [31:0] update_first,
    output wire [31:0] update_count,

    // Page lists of the aperture table's changes, in command RAM.
    output wire [15:0] update_list,

    // A change of the aperture table, as in ferry_aperture_update.
    output wire update_unmap,
    output wire update_snoop,
    output wire [63:0] update_dummy,
    input  wire update_busy,
    output wire post_busy,
    output wire fetch_busy,

    // Reads of ring entries and buffers, AXI4 read port.
    output wire [63:0] fetch_araddr,
    output wire [7:0] fetch_arlen,
    output wire fetch_arnosnoop,
    output wire fetch_arvalid,
    input  wire fetch_arready,
    input  wire [63:0] fetch_rdata,
    input  wire [1:0] fetch_rresp,
    input  wire fetch_rlast,
    input  wire fetch_rvalid,
    output wire fetch_rready,

    // Page lists of the engine, in command RAM.
    input  wire engine_list_valid,
    output wire engine_list_ready,
    input  wire [15:0] engine_list_address,
    output wire engine_list_data_valid,
    output wire [63:0] engine_list_data,

    // Page lists of the aperture table's changes, in command RAM.
    input  wire update_list_valid,
    output wire update_list_ready,
    input  wire [15:0] update_list_address,
    output wire update_list_data_valid,
    output wire [63:0] update_list_data,

    // Fence and fault records, AXI4 write port.
    output wire [63:0] post_awaddr,
    output wire [7:0] post_awlen,
    output wire post_awnosnoop,
    output wire post_awvalid,
    input  wire post_awready,
    output wire [63:0] post_wdata,
    output wire [7:0] post_wstrb,
    output wire post_wlast,
    output wire post_wvalid,
    input  wire post_wready,
    input  wire [1:0] post_bresp,
    input  wire post_bvalid,
    output wire post_bready,

    // The engine has a job, a read, a write outstanding.
    input  wire engine_busy,
    input  wire engine_busy_read,
    input  wire engine_busy_write,

    // One-cycle strobes for the counters of the contract.
    input  wire count_job,
    input  wire count_local_read_beat,
    input  wire count_local_write_beat,
    input  wire count_host_read_beat,
    input  wire count_host_write_beat,
    input  wire count_stall_read,
    input  wire count_stall_write
);

    wire firmware_valid, firmware_write, firmware_ready, counter_valid, counter_ready, host_file_access, host_file_write,
        host_file_taken, ring_write, firmware_told, core_run, file_clearing, core_file_access, core_file_write, packet_taken,
        ring_read, ring_taken, counter_yields;
    wire [14:0] firmware_address;
    wire [31:0] firmware_wdata, firmware_rdata, host_file_wdata, file_rdata, ring_fetched, core_file_wdata;
    wire [3:0] firmware_wstrb, slots_used, slots_ready;
    wire [4:0] counter_number;
    wire counter_word_write;
    wire [31:0] counter_word_wdata, counter_word_rdata;
    wire [5:0] counter_word;
    wire [8:0] host_file_index, core_file_index;
    wire [2:0] ring_number, fetch_ring;
    wire [5:0] ring_offset, fetch_ring_word;
    wire [11:0] status;
    wire [`FERRY_EVENTS_BITS-1:0] events;
    wire run, unused_settled, unused_wound, stopping, stop_reset, host_reset, fence_hold;

    // --- Sizes that the host can read ----------------------------------------------------------------------------------

    localparam        TAGS_LOG2 = $clog2(TAGS);
    localparam        JOBS_LOG2 = $clog2(JOB_QUEUE);
    localparam [3:0]  RINGS_VALUE = RINGS;
    localparam [3:0]  SLOTS_VALUE = SLOTS;
    localparam [3:0]  SLOT_VALUE = SLOT_BYTES_LOG2;
    localparam [31:0] CAPABILITIES = {
        6'd0, JOBS_LOG2[3:0], 2'd0, 4'd3, SLOT_VALUE, SLOTS_VALUE, TAGS_LOG2[3:0], RINGS_VALUE
    };

    // --- Time, counters, status ----------------------------------------------------------------------------------------

    reg [63:0] time_reg;
    always @(posedge clk) begin
        time_reg <= rst ? 64'd0 : time_reg + 64'd1;
    end

    // In the order of bar0.COUNTER.
    wire slot_waits = |slots_ready;
    assign events = {
        3'd0, count_window_refused, core_busy, packet_taken, count_unexpected, count_poisoned, count_malformed, count_unsupported,
        count_link_send_beat, count_link_receive_beat, count_tlp_sent, count_tlp_received, count_stall_link,
        !engine_busy && slot_waits, count_stall_write, count_stall_read, count_host_write_beat, count_host_read_beat,
        count_local_write_beat, count_local_read_beat, count_job, engine_busy, 1'b1
    };

    assign status = {
        1'b0, stopping, fault_valid, update_valid || update_busy, post_busy, requester_busy, |slots_used, fetch_busy, engine_busy_write,
        engine_busy_read, engine_busy, run
    };


    // --- Bundles, taken apart and put together ---------------------------------------------------------------------------

    wire [`FERRY_JOB_BITS-1:0] job;
    wire [`FERRY_ENGINE_FAULT_BITS-1:0] fault;
    wire [`FERRY_UPDATE_BITS-1:0] update;
    wire [`FERRY_LIMITS_BITS-1:0] limits;
    wire [`FERRY_INTERRUPT_SETTINGS_BITS-1:0] interrupt_settings;
    wire [`FERRY_AXI_A_BITS-1:0] fetch_ar, post_aw;
    wire [`FERRY_AXI_R_BITS-1:0] fetch_r;
    wire [`FERRY_AXI_W_BITS-1:0] post_w;

    // No page tables here.
    wire root_valid;
    wire [3:0] root_space;
    wire [`FERRY_ROOT_BITS-1:0] root;
    wire unused_tables = &{1'b0, root_valid, root_space, root, job};
    assign fault[`FERRY_ENGINE_FAULT_HEIGHT_RANGE] = 2'd0;
    assign fault[`FERRY_ENGINE_FAULT_ENTRY_RANGE] = 64'd0;
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
    assign fault[`FERRY_ENGINE_FAULT_KIND_RANGE] = fault_kind;
    assign fault[`FERRY_ENGINE_FAULT_SLOT_RANGE] = fault_slot;
    assign fault[`FERRY_ENGINE_FAULT_WRITE_RANGE] = fault_write;
    assign fault[`FERRY_ENGINE_FAULT_PACKET_OFFSET_RANGE] = fault_packet_offset;
    assign fault[`FERRY_ENGINE_FAULT_POSITION_RANGE] = fault_position;
    assign fault[`FERRY_ENGINE_FAULT_WRITTEN_RANGE] = fault_written;
    assign fault[`FERRY_ENGINE_FAULT_UP_TO_POSITION_RANGE] = fault_up_to_position;
    assign update_first = update[`FERRY_UPDATE_FIRST_RANGE];
    assign update_count = update[`FERRY_UPDATE_COUNT_RANGE];
    assign update_list = update[`FERRY_UPDATE_LIST_RANGE];
    assign update_unmap = update[`FERRY_UPDATE_UNMAP_RANGE];
    assign update_snoop = update[`FERRY_UPDATE_SNOOP_RANGE];
    assign update_dummy = update[`FERRY_UPDATE_DUMMY_RANGE];
    assign local_limit = limits[`FERRY_LIMITS_LOCAL_LIMIT_RANGE];
    assign protect_base = limits[`FERRY_LIMITS_PROTECT_BASE_RANGE];
    assign protect_limit = limits[`FERRY_LIMITS_PROTECT_LIMIT_RANGE];
    assign interrupt_enable = interrupt_settings[`FERRY_INTERRUPT_SETTINGS_ENABLE_RANGE];
    assign interrupt_coalesce_count = interrupt_settings[`FERRY_INTERRUPT_SETTINGS_COUNT_RANGE];
    assign interrupt_coalesce_cycles = interrupt_settings[`FERRY_INTERRUPT_SETTINGS_CYCLES_RANGE];
    assign fetch_araddr = fetch_ar[`FERRY_AXI_A_ADDRESS_RANGE];
    assign fetch_arlen = fetch_ar[`FERRY_AXI_A_LENGTH_RANGE];
    assign fetch_arnosnoop = fetch_ar[`FERRY_AXI_A_NO_SNOOP_RANGE];
    assign post_awaddr = post_aw[`FERRY_AXI_A_ADDRESS_RANGE];
    assign post_awlen = post_aw[`FERRY_AXI_A_LENGTH_RANGE];
    assign post_awnosnoop = post_aw[`FERRY_AXI_A_NO_SNOOP_RANGE];
    assign post_wdata = post_w[`FERRY_AXI_W_DATA_RANGE];
    assign post_wstrb = post_w[`FERRY_AXI_W_STROBE_RANGE];
    assign post_wlast = post_w[`FERRY_AXI_W_LAST_RANGE];
    assign fetch_r[`FERRY_AXI_R_DATA_RANGE] = fetch_rdata;
    assign fetch_r[`FERRY_AXI_R_RESPONSE_RANGE] = fetch_rresp;
    assign fetch_r[`FERRY_AXI_R_LAST_RANGE] = fetch_rlast;
    assign fetch_r[`FERRY_AXI_R_FAULT_RANGE] = 8'd0;
    wire [`FERRY_VIEW_WRITE_BITS-1:0] view_write;
    wire unused = &{1'b0, jobs_retired, fetch_ar, post_aw, view_write, job[`FERRY_JOB_URGENT_RANGE]};

    assign reset_request = host_reset || stop_reset;

    // --- Units ---------------------------------------------------------------------------------------------------------

    ferry_registers #(.LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS)) registers (
        .clk(clk), .rst(rst), .reg_valid(reg_valid), .reg_write(reg_write), .reg_address(reg_address),
        .reg_wdata(reg_wdata), .reg_wstrb(reg_wstrb), .reg_ready(reg_ready), .reg_rdata(reg_rdata),
        .firmware_valid(firmware_valid), .firmware_write(firmware_write), .firmware_address(firmware_address),
        .firmware_wdata(firmware_wdata), .firmware_wstrb(firmware_wstrb), .firmware_ready(firmware_ready),
        .firmware_rdata(firmware_rdata), .counter_valid(counter_valid), .counter_number(counter_number),
        .counter_ready(counter_ready), .file_access(host_file_access),
        .file_write(host_file_write), .file_index(host_file_index), .file_wdata(host_file_wdata),
        .file_taken(host_file_taken), .file_rdata(file_rdata), .ring_write(ring_write), .ring_number(ring_number),
        .ring_offset(ring_offset), .ring_fetched(ring_fetched), .fence_hold(fence_hold), .status(status),
        .firmware_told(firmware_told), .core_run(core_run), .engine_reset(host_reset), .engine_resetting(resetting),
        .limits(limits), .view_write(view_write), .engine_timeout(timeout),
        .completion_timeout(completion_timeout), .tag_limit(tag_limit), .interrupt_status(interrupt_status),
        .interrupt_clear(interrupt_clear), .interrupt_settings(interrupt_settings),
        .interrupt_count(interrupt_count)
    );

    ferry_registers_file #(
        .CAPABILITIES(CAPABILITIES), .APERTURE_PAGES(APERTURE_PAGES), .LOCAL_BYTES(64'd1 << LOCAL_ADDRESS_BITS),
        .FIRMWARE_RAM_BYTES(FIRMWARE_RAM_WORDS * 4)
    ) file (
        .clk(clk), .rst(rst), .clearing(file_clearing), .core_access(core_file_access),
        .core_write(core_file_write), .core_index(core_file_index), .core_wdata(core_file_wdata),
        .host_access(host_file_access), .host_write(host_file_write), .host_index(host_file_index),
        .host_wdata(host_file_wdata), .host_taken(host_file_taken), .rdata(file_rdata),
        .counter_write(counter_word_write), .counter_word(counter_word), .counter_wdata(counter_word_wdata),
        .counter_rdata(counter_word_rdata), .ring_read(ring_read), .ring_number(fetch_ring), .ring_word(fetch_ring_word),
        .ring_taken(ring_taken), .counter_yields(counter_yields)
    );

    ferry_registers_counters #(.COUNT(`FERRY_EVENTS_BITS)) counters (
        .clk(clk), .rst(rst || file_clearing), .events(events),
        .yields(counter_yields), .hold(ring_taken), .read_valid(counter_valid), .read_number(counter_number), .read_ready(counter_ready),
        .word_write(counter_word_write), .word(counter_word), .word_wdata(counter_word_wdata), .word_rdata(counter_word_rdata)
    );

    ferry_command_processor #(
        .RINGS(RINGS), .SLOTS(SLOTS), .SLOT_BYTES_LOG2(SLOT_BYTES_LOG2), .APERTURE_PAGES(APERTURE_PAGES), .PAGE_TABLES(0),
        .FIRMWARE_RAM_WORDS(FIRMWARE_RAM_WORDS), .FIRMWARE_HEX(FIRMWARE_HEX), .CPU_CORE(CPU_CORE)
    ) commands (
        .root_valid(root_valid), .root_ready(1'b1), .root_space(root_space), .root(root),
        .clk(clk), .rst(rst), .core_run(core_run), .run(run), .stopping(stopping), .settled(unused_settled),
        .wound(unused_wound),
        .firmware_told(firmware_told), .core_busy(core_busy), .packet_taken(packet_taken), .post_busy(post_busy),
        .fetch_busy(fetch_busy), .slots_used(slots_used), .slots_ready(slots_ready), .interrupt_cause(interrupt_cause),
        .firmware_valid(firmware_valid), .firmware_write(firmware_write), .firmware_address(firmware_address),
        .firmware_wdata(firmware_wdata), .firmware_wstrb(firmware_wstrb), .firmware_ready(firmware_ready),
        .firmware_rdata(firmware_rdata), .file_access(core_file_access), .file_write(core_file_write),
        .file_index(core_file_index), .file_wdata(core_file_wdata), .file_rdata(file_rdata), .file_clearing(file_clearing),
        .ring_write(ring_write), .ring_number(ring_number), .ring_offset(ring_offset), .ring_fetched(ring_fetched),
        .ring_read(ring_read), .fetch_ring(fetch_ring), .fetch_ring_word(fetch_ring_word), .ring_taken(ring_taken),
        .ring_rdata(counter_word_rdata), .limits(limits), .time_now(time_reg), .fence_hold(fence_hold),
        .job_valid(job_valid), .job_ready(job_ready), .job(job), .slot_tags(slot_tags), .jobs_retired(16'd0),
        .jobs_retired_urgent(jobs_retired[15:0]), .poison(poison), .poison_clear(poison_clear), .fault_valid(fault_valid),
        .fault(fault), .fault_clear(fault_clear), .aborted_job({`FERRY_ABORTED_JOB_BITS{1'b0}}),
        .engine_busy(engine_busy), .engine_stuck(1'b0), .resetting(resetting),
        .engine_reset(stop_reset), .update_valid(update_valid), .update_ready(update_ready), .update(update),
        .update_busy(update_busy), .update_fault({`FERRY_UPDATE_FAULT_BITS{1'b0}}), .engine_list_valid(engine_list_valid),
        .engine_list_ready(engine_list_ready), .engine_list_address(engine_list_address),
        .engine_list_data_valid(engine_list_data_valid), .engine_list_data(engine_list_data),
        .update_list_valid(update_list_valid), .update_list_ready(update_list_ready),
        .update_list_address(update_list_address), .update_list_data_valid(update_list_data_valid),
        .update_list_data(update_list_data), .fetch_ar(fetch_ar), .fetch_arvalid(fetch_arvalid),
        .fetch_arready(fetch_arready), .fetch_r(fetch_r), .fetch_rvalid(fetch_rvalid), .fetch_rready(fetch_rready),
        .post_aw(post_aw), .post_awvalid(post_awvalid), .post_awready(post_awready), .post_w(post_w),
        .post_wvalid(post_wvalid), .post_wready(post_wready), .post_bresp(post_bresp), .post_bvalid(post_bvalid),
        .post_bready(post_bready)
    );

endmodule

`default_nettype wire
