// SPDX-License-Identifier: Apache-2.0
// The engine with its aperture table and the table's update unit, as the tests drive them: command RAM and both
// memories are outside.
`default_nettype none
`include "ferry_contract.vh"
`include "ferry_sets.vh"

module engine_under_test #(
    // Sizes as those of ferry_device, but for the aperture, of which these tests need little.
    parameter CONFIGURATION = "full"
) (
    input  wire clk,
    input  wire rst,
    input  wire        job_valid,
    output wire        job_ready,
    input  wire [2:0]  job_op,
    input  wire [1:0]  job_source_kind,
    input  wire [1:0]  job_destination_kind,
    input  wire [1:0]  job_list,
    input  wire        job_unordered,
    input  wire        job_protected,
    input  wire        job_urgent,
    input  wire [1:0]  job_slot,
    input  wire [1:0]  job_pattern_log2,
    input  wire [15:0] job_packet_offset,
    input  wire [63:0] job_source,
    input  wire [63:0] job_destination,
    input  wire [31:0] job_length,
    input  wire [15:0] job_list_address,
    input  wire [3:0]  job_space,
    output wire [15:0] jobs_retired,
    output wire [15:0] jobs_retired_urgent,
    output wire [3:0]  poison,
    input  wire [3:0]  poison_clear,
    output wire        fault_valid,
    output wire [7:0]  fault_kind,
    output wire [1:0]  fault_slot,
    output wire        fault_write,
    output wire [15:0] fault_packet_offset,
    output wire [31:0] fault_position,
    output wire [31:0] fault_written,
    output wire        fault_up_to_position,
    output wire [1:0]  fault_level,
    output wire [63:0] fault_entry,
    input  wire        fault_clear,
    output wire        aborted_valid,
    output wire [1:0]  aborted_slot,
    output wire [15:0] aborted_packet_offset,
    output wire        aborted_left,
    output wire [31:0] aborted_place,
    input  wire [63:0] local_limit,
    input  wire [63:0] protect_base,
    input  wire [63:0] protect_limit,
    input  wire [31:0] timeout,
    input  wire        timeout_held,
    input  wire        reset_request,
    output wire        resetting,
    output wire        stuck,
    // Look-ups that stand.
    output wire [1:0]  looks,
    output wire [`FERRY_LOOKUP_BITS-1:0] read_lookup_asked,
    output wire [`FERRY_LOOKUP_BITS-1:0] write_lookup_asked,
    output wire        busy,
    output wire        busy_read,
    output wire        busy_write,
    output wire        count_job,
    output wire        count_local_read_beat,
    output wire        count_local_write_beat,
    output wire        count_host_read_beat,
    output wire        count_host_write_beat,
    output wire        count_stall_read,
    output wire        count_stall_write,
    // Command RAM: engine, update unit.
    output wire        list_valid,
    input  wire        list_ready,
    output wire [15:0] list_address,
    input  wire        list_data_valid,
    input  wire [63:0] list_data,
    output wire        map_list_valid,
    input  wire        map_list_ready,
    output wire [15:0] map_list_address,
    input  wire        map_list_data_valid,
    input  wire [63:0] map_list_data,
    // Table.
    output wire        clearing,
    input  wire        update_valid,
    output wire        update_ready,
    input  wire [31:0] update_first,
    input  wire [31:0] update_count,
    input  wire [15:0] update_list,
    input  wire        update_unmap,
    input  wire        update_snoop,
    input  wire [63:0] update_dummy,
    output wire        update_busy,
    output wire        update_fault_valid,
    output wire [12:0] update_fault_index,
    output wire [63:0] update_fault_entry,
    // Page-table unit: a space's root, as ROOT has it; what it is to forget beside what jobs have it forget, as FORGET has it.
    input  wire        root_valid,
    output wire        root_ready,
    input  wire [3:0]  root_space,
    input  wire [`FERRY_ROOT_BITS-1:0] root,
    input  wire        forget_valid,
    output wire        forget_ready,
    input  wire [1:0]  forget_scope,
    input  wire [3:0]  forget_space,
    input  wire [47:12] forget_page,
    // In this cycle a table is read; a request was not known.
    output wire        table_read,
    output wire        table_missed,
    // Two addresses of reads stand in front of video memory, one behind the other.
    output wire        two_addresses,
    // A look at the table from outside: an entry, in the next cycle.
    input  wire        window_lookup_valid,
    output wire        window_lookup_ready,
    input  wire [31:0] window_lookup_page,
    output wire        window_result_valid,
    output wire        window_result_hit,
    output wire        window_result_snoop,
    output wire [51:12] window_result_page,

    output wire [25:0] m_axi_local_araddr,
    output wire [7:0]  m_axi_local_arlen,
    output wire        m_axi_local_arvalid,
    input  wire        m_axi_local_arready,
    input  wire [63:0] m_axi_local_rdata,
    input  wire [1:0]  m_axi_local_rresp,
    input  wire        m_axi_local_rlast,
    input  wire        m_axi_local_rvalid,
    output wire        m_axi_local_rready,
    output wire [25:0] m_axi_local_awaddr,
    output wire [7:0]  m_axi_local_awlen,
    output wire        m_axi_local_awvalid,
    input  wire        m_axi_local_awready,
    output wire [63:0] m_axi_local_wdata,
    output wire [7:0]  m_axi_local_wstrb,
    output wire        m_axi_local_wlast,
    output wire        m_axi_local_wvalid,
    input  wire        m_axi_local_wready,
    input  wire [1:0]  m_axi_local_bresp,
    input  wire        m_axi_local_bvalid,
    output wire        m_axi_local_bready,
    output wire [63:0] m_axi_host_araddr,
    output wire [7:0]  m_axi_host_arlen,
    output wire        m_axi_host_arnosnoop,
    output wire        m_axi_host_arvalid,
    input  wire        m_axi_host_arready,
    input  wire [63:0] m_axi_host_rdata,
    input  wire [1:0]  m_axi_host_rresp,
    input  wire [7:0]  m_axi_host_rfault,
    input  wire        m_axi_host_rlast,
    input  wire        m_axi_host_rvalid,
    output wire        m_axi_host_rready,
    output wire [63:0] m_axi_host_awaddr,
    output wire [7:0]  m_axi_host_awlen,
    output wire        m_axi_host_awnosnoop,
    output wire [7:0]  m_axi_host_awtag,
    output wire        m_axi_host_awvalid,
    input  wire        m_axi_host_awready,
    output wire [63:0] m_axi_host_wdata,
    output wire [7:0]  m_axi_host_wstrb,
    output wire        m_axi_host_wlast,
    output wire        m_axi_host_wvalid,
    input  wire        m_axi_host_wready,
    input  wire [1:0]  m_axi_host_bresp,
    input  wire        m_axi_host_bvalid,
    output wire        m_axi_host_bready
);
    wire         read_lookup_valid, read_lookup_ready, read_result_valid;
    wire         write_lookup_valid, write_lookup_ready, write_result_valid;
    wire [31:0]  read_lookup_page, write_lookup_page, write_page;
    wire [`FERRY_TRANSLATION_BITS-1:0] read_result, write_result, window_result, write_entry;
    wire         write_valid, write_ready;

    // ---- Bundles, put together and taken apart ----
    wire [`FERRY_JOB_BITS-1:0] job;
    wire [`FERRY_ENGINE_FAULT_BITS-1:0] fault;
    wire [`FERRY_UPDATE_BITS-1:0] update;
    wire [`FERRY_UPDATE_FAULT_BITS-1:0] update_fault;
    wire [`FERRY_LIMITS_BITS-1:0] limits;
    wire [`FERRY_EVENTS_BITS-1:0] events;
    wire [`FERRY_AXI_A_BITS-1:0] local_ar, local_aw, host_ar, host_aw;
    wire [`FERRY_AXI_W_BITS-1:0] local_w, host_w;
    wire [`FERRY_AXI_R_BITS-1:0] local_r, host_r;
    // Each slot's tag is its number.
    wire [31:0] slot_tags = 32'h03020100;

    assign job[`FERRY_JOB_OP_RANGE] = job_op;
    assign job[`FERRY_JOB_SOURCE_KIND_RANGE] = job_source_kind;
    assign job[`FERRY_JOB_DESTINATION_KIND_RANGE] = job_destination_kind;
    assign job[`FERRY_JOB_LIST_RANGE] = job_list;
    assign job[`FERRY_JOB_UNORDERED_RANGE] = job_unordered;
    assign job[`FERRY_JOB_PROTECTED_RANGE] = job_protected;
    assign job[`FERRY_JOB_URGENT_RANGE] = job_urgent;
    assign job[`FERRY_JOB_SLOT_RANGE] = job_slot;
    assign job[`FERRY_JOB_PATTERN_LOG2_RANGE] = job_pattern_log2;
    assign job[`FERRY_JOB_PACKET_OFFSET_RANGE] = job_packet_offset;
    assign job[`FERRY_JOB_SOURCE_RANGE] = job_source;
    assign job[`FERRY_JOB_DESTINATION_RANGE] = job_destination;
    assign job[`FERRY_JOB_LENGTH_RANGE] = job_length;
    assign job[`FERRY_JOB_LIST_ADDRESS_RANGE] = job_list_address;
    assign job[`FERRY_JOB_SPACE_RANGE] = job_space;
    assign fault_level = fault[`FERRY_ENGINE_FAULT_HEIGHT_RANGE];
    assign fault_entry = fault[`FERRY_ENGINE_FAULT_ENTRY_RANGE];
    assign fault_kind = fault[`FERRY_ENGINE_FAULT_KIND_RANGE];
    assign fault_slot = fault[`FERRY_ENGINE_FAULT_SLOT_RANGE];
    assign fault_write = fault[`FERRY_ENGINE_FAULT_WRITE_RANGE];
    assign fault_packet_offset = fault[`FERRY_ENGINE_FAULT_PACKET_OFFSET_RANGE];
    assign fault_position = fault[`FERRY_ENGINE_FAULT_POSITION_RANGE];
    assign fault_up_to_position = fault[`FERRY_ENGINE_FAULT_UP_TO_POSITION_RANGE];
    assign fault_written = fault[`FERRY_ENGINE_FAULT_WRITTEN_RANGE];
    assign update[`FERRY_UPDATE_FIRST_RANGE] = update_first;
    assign update[`FERRY_UPDATE_COUNT_RANGE] = update_count;
    assign update[`FERRY_UPDATE_LIST_RANGE] = update_list;
    assign update[`FERRY_UPDATE_UNMAP_RANGE] = update_unmap;
    assign update[`FERRY_UPDATE_SNOOP_RANGE] = update_snoop;
    assign update[`FERRY_UPDATE_DUMMY_RANGE] = update_dummy;
    assign limits[`FERRY_LIMITS_LOCAL_LIMIT_RANGE] = local_limit;
    assign limits[`FERRY_LIMITS_PROTECT_BASE_RANGE] = protect_base;
    assign limits[`FERRY_LIMITS_PROTECT_LIMIT_RANGE] = protect_limit;
    assign update_fault_valid = update_fault[`FERRY_UPDATE_FAULT_VALID_RANGE];
    assign update_fault_index = update_fault[`FERRY_UPDATE_FAULT_INDEX_RANGE];
    assign update_fault_entry = update_fault[`FERRY_UPDATE_FAULT_ENTRY_RANGE];
    assign count_job = events[`FERRY_EVENT_ENGINE_JOBS];
    assign count_local_read_beat = events[`FERRY_EVENT_LOCAL_READ_BEATS];
    assign count_local_write_beat = events[`FERRY_EVENT_LOCAL_WRITE_BEATS];
    assign count_host_read_beat = events[`FERRY_EVENT_HOST_READ_BEATS];
    assign count_host_write_beat = events[`FERRY_EVENT_HOST_WRITE_BEATS];
    assign count_stall_read = events[`FERRY_EVENT_STALL_READ];
    assign count_stall_write = events[`FERRY_EVENT_STALL_WRITE];
    reg window_valid_reg;
    reg [`FERRY_TRANSLATION_BITS-1:0] window_result_reg;
    always @(posedge clk) begin
        window_valid_reg <= window_lookup_valid;
        window_result_reg <= table_under_test.memory[window_lookup_page[7:0]];
    end
    assign window_lookup_ready = 1'b1;
    assign window_result_valid = window_valid_reg;
    assign window_result = window_result_reg;
    assign window_result_hit = window_result[`FERRY_TRANSLATION_HIT_RANGE];
    assign window_result_snoop = window_result[`FERRY_TRANSLATION_SNOOP_RANGE];
    assign window_result_page = window_result[`FERRY_TRANSLATION_PAGE_RANGE];

    assign m_axi_local_araddr = shared_ar[25:0];
    assign m_axi_local_arlen = shared_ar[`FERRY_AXI_A_LENGTH_RANGE];
    assign m_axi_local_awaddr = local_aw[25:0];
    assign m_axi_local_awlen = local_aw[`FERRY_AXI_A_LENGTH_RANGE];
    assign m_axi_local_wdata = local_w[`FERRY_AXI_W_DATA_RANGE];
    assign m_axi_local_wstrb = local_w[`FERRY_AXI_W_STROBE_RANGE];
    assign m_axi_local_wlast = local_w[`FERRY_AXI_W_LAST_RANGE];
    assign local_r[`FERRY_AXI_R_DATA_RANGE] = m_axi_local_rdata;
    assign local_r[`FERRY_AXI_R_RESPONSE_RANGE] = m_axi_local_rresp;
    assign local_r[`FERRY_AXI_R_FAULT_RANGE] = 8'd0;
    assign local_r[`FERRY_AXI_R_LAST_RANGE] = m_axi_local_rlast;
    assign m_axi_host_araddr = host_ar[`FERRY_AXI_A_ADDRESS_RANGE];
    assign m_axi_host_arlen = host_ar[`FERRY_AXI_A_LENGTH_RANGE];
    assign m_axi_host_arnosnoop = host_ar[`FERRY_AXI_A_NO_SNOOP_RANGE];
    assign m_axi_host_awaddr = host_aw[`FERRY_AXI_A_ADDRESS_RANGE];
    assign m_axi_host_awlen = host_aw[`FERRY_AXI_A_LENGTH_RANGE];
    assign m_axi_host_awnosnoop = host_aw[`FERRY_AXI_A_NO_SNOOP_RANGE];
    assign m_axi_host_awtag = host_aw[`FERRY_AXI_A_TAG_RANGE];
    assign m_axi_host_wdata = host_w[`FERRY_AXI_W_DATA_RANGE];
    assign m_axi_host_wstrb = host_w[`FERRY_AXI_W_STROBE_RANGE];
    assign m_axi_host_wlast = host_w[`FERRY_AXI_W_LAST_RANGE];
    assign host_r[`FERRY_AXI_R_DATA_RANGE] = m_axi_host_rdata;
    assign host_r[`FERRY_AXI_R_RESPONSE_RANGE] = m_axi_host_rresp;
    assign host_r[`FERRY_AXI_R_FAULT_RANGE] = m_axi_host_rfault;
    assign host_r[`FERRY_AXI_R_LAST_RANGE] = m_axi_host_rlast;
    wire unused = &{1'b0, events, shared_ar, local_aw, host_ar, window_lookup_page, read_ids_room, tables_host_ar};

    // ---- Video memory's read channels, of the engine and of the page-table unit; the memory outside answers in order ----
    wire [`FERRY_AXI_A_BITS-1:0] tables_ar, shared_ar, tables_host_ar;
    wire [`FERRY_AXI_R_BITS-1:0] shared_r;
    wire [1:0] tables_valid, tables_answer_valid, read_id, next_id;
    assign looks = tables_valid;
    wire [2*`FERRY_LOOKUP_BITS-1:0] tables_lookup;
    assign {write_lookup_asked, read_lookup_asked} = tables_lookup;
    wire [`FERRY_PAGE_BITS-1:0] tables_answer;
    wire [127:0] tables_seen;
    wire        tables_arvalid, tables_arready, tables_rvalid, tables_rready, engine_arvalid, engine_arready, engine_rvalid,
                engine_rready, read_ids_room, tables_host_arvalid, tables_host_rready, id_known, table_walking, table_forgets;

    ferry_axi_read_mux #(.PORTS(2)) local_mux (
        .clk(clk), .rst(rst), .s_axi_ar({tables_ar, local_ar}), .s_axi_arvalid({tables_arvalid, engine_arvalid}),
        .s_axi_arready({tables_arready, engine_arready}), .s_axi_r(shared_r), .s_axi_rvalid({tables_rvalid, engine_rvalid}),
        .s_axi_rready({tables_rready, engine_rready}), .m_axi_arid(read_id), .m_axi_ar(shared_ar),
        .m_axi_arvalid(m_axi_local_arvalid), .m_axi_arready(m_axi_local_arready), .m_axi_rid(next_id), .m_axi_r(local_r),
        .m_axi_rvalid(m_axi_local_rvalid && id_known), .m_axi_rready(m_axi_local_rready)
    );
    ferry_fifo #(.WIDTH(2), .LG_DEPTH(7)) read_ids (
        .clk(clk), .rst(rst), .in_valid(m_axi_local_arvalid && m_axi_local_arready), .in_ready(read_ids_room), .in_data(read_id),
        .out_valid(id_known), .out_ready(m_axi_local_rvalid && m_axi_local_rready && m_axi_local_rlast), .out_data(next_id)
    );

    // What jobs have forgotten, and the bench: one stands until it is, then comes the other.
    wire [`FERRY_FORGET_BITS-1:0] told, forget;
    wire        told_valid, unit_forgets, unit_forgot;
    reg         told_stands_reg, bench_stands_reg;
    wire        of_jobs = told_valid && !bench_stands_reg && (told_stands_reg || !forget_valid);
    assign unit_forgets = of_jobs || forget_valid;
    assign forget_ready = unit_forgot && !of_jobs;
    assign forget[`FERRY_FORGET_SCOPE_RANGE] = of_jobs ? told[`FERRY_FORGET_SCOPE_RANGE] : forget_scope;
    assign forget[`FERRY_FORGET_SPACE_RANGE] = of_jobs ? told[`FERRY_FORGET_SPACE_RANGE] : forget_space;
    assign forget[`FERRY_FORGET_PAGE_RANGE] = of_jobs ? told[`FERRY_FORGET_PAGE_RANGE] : forget_page;
    always @(posedge clk) begin
        told_stands_reg <= of_jobs && !unit_forgot && !rst;
        bench_stands_reg <= forget_valid && !of_jobs && !unit_forgot && !rst;
    end
    wire [26:0] limit, closed_base, closed_limit;
    ferry_limits #(.LOCAL_ADDRESS_BITS(26)) clipped (
        .clk(clk), .limits(limits), .local_limit_clipped(limit), .protect_base_clipped(closed_base),
        .protect_limit_clipped(closed_limit)
    );
    ferry_page_tables #(.LOCAL_ADDRESS_BITS(26), .HOST_TABLES(0)) page_tables (
        .clk(clk), .rst(rst), .clear(1'b0), .drop(resetting || stuck), .root_valid(root_valid), .root_ready(root_ready),
        .root_space(root_space), .root(root), .forget_valid(unit_forgets), .forget_ready(unit_forgot), .forget(forget),
        .lookup_valid(tables_valid), .lookup(tables_lookup), .answer_valid(tables_answer_valid), .answer(tables_answer), .seen(tables_seen),
        .missed(table_missed), .read(table_read), .walking(table_walking), .forgets(table_forgets),
        .owed(tables_owed), .moves(tables_moves),
        .local_limit(limit),
        .protect_base(closed_base), .protect_limit(closed_limit),
        .local_ar(tables_ar), .local_arvalid(tables_arvalid), .local_arready(tables_arready), .local_r(shared_r),
        .local_rvalid(tables_rvalid), .local_rready(tables_rready), .host_ar(tables_host_ar), .host_arvalid(tables_host_arvalid),
        .host_arready(1'b0), .host_r({`FERRY_AXI_R_BITS{1'b0}}), .host_rvalid(1'b0), .host_rready(tables_host_rready)
    );
    wire unused_host = &{1'b0, table_walking, table_forgets, tables_host_arvalid, tables_host_rready};

    wire tables_moves, tables_owed;
    wire [`FERRY_ABORTED_JOB_BITS-1:0] aborted_job;
    assign aborted_valid = aborted_job[`FERRY_ABORTED_JOB_VALID_RANGE];
    assign aborted_slot = aborted_job[`FERRY_ABORTED_JOB_SLOT_RANGE];
    assign aborted_packet_offset = aborted_job[`FERRY_ABORTED_JOB_PACKET_OFFSET_RANGE];
    assign aborted_left = aborted_job[`FERRY_ABORTED_JOB_LEFT_RANGE];
    assign aborted_place = aborted_job[`FERRY_ABORTED_JOB_PLACE_RANGE];

    assign two_addresses = engine.read_side.local_valid_reg && !engine.read_side.local_free;

    // ---- Units ----
    ferry_engine #(
        .LOCAL_ADDRESS_BITS(26), .APERTURE_PAGES(256), .LG_JOBS($clog2(`FERRY_SET_JOB_QUEUE(CONFIGURATION))),
        .LG_URGENT($clog2(`FERRY_SET_URGENT_QUEUE(CONFIGURATION))),
        .LG_READS(`FERRY_SET_LG_READS(CONFIGURATION)), .LG_WRITES(`FERRY_SET_LG_WRITES(CONFIGURATION)),
        .LG_DATA(`FERRY_SET_LG_DATA(CONFIGURATION))
    ) engine (
        .clk(clk), .rst(rst), .job_valid(job_valid), .job_ready(job_ready), .job(job), .slot_tags(slot_tags),
        .jobs_retired(jobs_retired), .jobs_retired_urgent(jobs_retired_urgent), .poison(poison), .poison_clear(poison_clear),
        .fault_valid(fault_valid), .fault(fault), .fault_clear(fault_clear), .aborted_job(aborted_job), .limits(limits),
        .timeout(timeout), .timeout_held(timeout_held),
        .reset_request(reset_request), .resetting(resetting), .stuck(stuck), .busy(busy), .busy_read(busy_read),
        .busy_write(busy_write), .events(events), .list_valid(list_valid), .list_ready(list_ready),
        .list_address(list_address), .list_data_valid(list_data_valid), .list_data(list_data),
        .read_lookup_valid(read_lookup_valid), .read_lookup_ready(read_lookup_ready),
        .read_lookup_page(read_lookup_page), .read_result_valid(read_result_valid), .read_result(read_result),
        .write_lookup_valid(write_lookup_valid), .write_lookup_ready(write_lookup_ready),
        .write_lookup_page(write_lookup_page), .write_result_valid(write_result_valid), .write_result(write_result),
        .tables_valid(tables_valid), .tables_lookup(tables_lookup), .tables_answer_valid(tables_answer_valid),
        .tables_answer(tables_answer), .tables_seen(tables_seen), .tables_moves(tables_moves), .tables_owed(tables_owed),
        .forget_valid(told_valid), .forget_ready(unit_forgot && of_jobs), .forget(told),
        .m_axi_local_ar(local_ar), .m_axi_local_arvalid(engine_arvalid),
        .m_axi_local_arready(engine_arready), .m_axi_local_r(shared_r), .m_axi_local_rvalid(engine_rvalid),
        .m_axi_local_rready(engine_rready), .m_axi_local_aw(local_aw),
        .m_axi_local_awvalid(m_axi_local_awvalid), .m_axi_local_awready(m_axi_local_awready),
        .m_axi_local_w(local_w), .m_axi_local_wvalid(m_axi_local_wvalid), .m_axi_local_wready(m_axi_local_wready),
        .m_axi_local_bresp(m_axi_local_bresp), .m_axi_local_bvalid(m_axi_local_bvalid),
        .m_axi_local_bready(m_axi_local_bready),
        .m_axi_host_ar(host_ar), .m_axi_host_arvalid(m_axi_host_arvalid), .m_axi_host_arready(m_axi_host_arready),
        .m_axi_host_r(host_r), .m_axi_host_rvalid(m_axi_host_rvalid), .m_axi_host_rready(m_axi_host_rready),
        .m_axi_host_aw(host_aw), .m_axi_host_awvalid(m_axi_host_awvalid), .m_axi_host_awready(m_axi_host_awready),
        .m_axi_host_w(host_w), .m_axi_host_wvalid(m_axi_host_wvalid), .m_axi_host_wready(m_axi_host_wready),
        .m_axi_host_bresp(m_axi_host_bresp), .m_axi_host_bvalid(m_axi_host_bvalid),
        .m_axi_host_bready(m_axi_host_bready)
    );

    ferry_aperture_table #(.PAGES(256)) table_under_test (
        .clk(clk), .rst(rst), .clearing(clearing),
        .lookup0_valid(read_lookup_valid), .lookup0_ready(read_lookup_ready), .lookup0_page(read_lookup_page),
        .result0_valid(read_result_valid), .result0(read_result),
        .lookup1_valid(write_lookup_valid), .lookup1_ready(write_lookup_ready), .lookup1_page(write_lookup_page),
        .result1_valid(write_result_valid), .result1(write_result),
.write_valid(write_valid), .write_ready(write_ready), .write_page(write_page), .write_entry(write_entry)
    );

    ferry_aperture_update #(.PAGES(256)) update_unit (
        .clk(clk), .rst(rst), .update_valid(update_valid), .update_ready(update_ready), .update(update),
        .update_busy(update_busy), .fault(update_fault),
        .list_valid(map_list_valid), .list_ready(map_list_ready), .list_address(map_list_address),
        .list_data_valid(map_list_data_valid), .list_data(map_list_data),
        .write_valid(write_valid), .write_ready(write_ready), .write_page(write_page), .write_entry(write_entry)
    );
endmodule

`default_nettype wire
