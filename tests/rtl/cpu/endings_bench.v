// SPDX-License-Identifier: Apache-2.0
// The core's registers with the register file, the counters and the record poster behind them, as one Verilated top: what
// ends buffers. The test plays the core, the fetcher, the sequencer and the engine.
`default_nettype none
`include "ferry_contract.vh"

module endings_bench (
    input  wire        clk,
    input  wire        rst,
    input  wire        run,
    input  wire        settled,
    output wire        clearing,
    // The core's bus.
    input  wire        io_valid,
    input  wire        io_write,
    input  wire [11:0] io_address,
    input  wire [31:0] io_wdata,
    output wire        io_ready,
    output wire [31:0] io_rdata,
    // The host's port of the register file.
    input  wire        host_access,
    input  wire        host_write,
    input  wire [8:0]  host_index,
    input  wire [31:0] host_wdata,
    output wire        host_taken,
    output wire [31:0] host_rdata,
    // Counters; the fetcher's look at a ring.
    input  wire [`FERRY_EVENTS_BITS-1:0] events,
    input  wire        counter_valid,
    input  wire [4:0]  counter_number,
    output wire        counter_ready,
    input  wire        ring_read,
    input  wire [2:0]  ring_number,
    input  wire [5:0]  ring_word,
    output wire        ring_taken,
    output wire [31:0] ring_rdata,
    // Slots and their facts.
    input  wire [31:0] fetch_next,
    output wire        fetch_claim,
    input  wire [3:0]  slots_used,
    input  wire [31:0] slot_tags,
    input  wire [3:0]  slot_interrupts,
    output wire        fetch_select,
    output wire [1:0]  fetch_select_slot,
    output wire        fact_valid,
    output wire [1:0]  fact_slot,
    output wire [2:0]  fact_word,
    input  wire        fact_ready,
    input  wire [31:0] fact,
    input  wire        fact_unread,
    // The sequencer's job, and what becomes of it on its way to the engine.
    output wire        packet_taken,
    input  wire        packet_valid,
    output wire        packet_ready,
    input  wire [1:0]  packet_slot,
    input  wire        packet_more,
    input  wire [31:0] packet_length,
    input  wire [15:0] packet_offset,
    input  wire        packet_skipped,
    output wire        job_valid,
    input  wire        job_ready,
    output wire        job_urgent,
    output wire [1:0]  job_slot,
    output wire [31:0] job_length,
    output wire        job_harmless,
    // Engine.
    input  wire [15:0] jobs_retired,
    input  wire [15:0] jobs_retired_urgent,
    input  wire [3:0]  poison,
    output wire [3:0]  poison_clear,
    output wire        fault_clear,
    input  wire        aborted_valid,
    input  wire [1:0]  aborted_slot,
    input  wire [15:0] aborted_packet_offset,
    input  wire        aborted_left,
    input  wire [31:0] aborted_place,
    input  wire        resetting,
    input  wire        stuck,
    // Changes of the aperture table.
    output wire        update_valid,
    input  wire        update_ready,
    output wire [31:0] update_first,
    output wire [31:0] update_count,
    output wire [15:0] update_list,
    output wire        update_unmap,
    output wire        update_snoop,
    output wire [63:0] update_dummy,
    // What the page-table unit is told.
    output wire        root_valid,
    input  wire        root_ready,
    output wire [3:0]  root_space,
    output wire [`FERRY_ROOT_BITS-1:0] root,
    // Records.
    input  wire [63:0] time_now,
    input  wire        enter_hold,
    output wire        ended,
    output wire        ended_long,
    output wire [1:0]  ended_slot,
    output wire        post_busy,
    output wire [9:0]  interrupt_cause,
    output wire [63:0] awaddr,
    output wire [7:0]  awlen,
    output wire        awvalid,
    input  wire        awready,
    output wire [63:0] wdata,
    output wire        wlast,
    output wire        wvalid,
    input  wire        wready,
    input  wire        bvalid
);

    // Every right and a list, which a job that is dropped loses.
    wire [`FERRY_JOB_BITS-1:0] packet_job, job;
    wire [`FERRY_ABORTED_JOB_BITS-1:0] aborted_job;
    assign aborted_job[`FERRY_ABORTED_JOB_VALID_RANGE] = aborted_valid;
    assign aborted_job[`FERRY_ABORTED_JOB_SLOT_RANGE] = aborted_slot;
    assign aborted_job[`FERRY_ABORTED_JOB_PACKET_OFFSET_RANGE] = aborted_packet_offset;
    assign aborted_job[`FERRY_ABORTED_JOB_LEFT_RANGE] = aborted_left;
    assign aborted_job[`FERRY_ABORTED_JOB_PLACE_RANGE] = aborted_place;
    assign packet_job[`FERRY_JOB_SPACE_RANGE] = 4'd0;
    assign packet_job[`FERRY_JOB_OP_RANGE] = `FERRY_JOB_OP_FILL;
    assign packet_job[`FERRY_JOB_SOURCE_KIND_RANGE] = `FERRY_ADDRESS_KIND_SYSTEM;
    assign packet_job[`FERRY_JOB_DESTINATION_KIND_RANGE] = `FERRY_ADDRESS_KIND_SYSTEM;
    assign packet_job[`FERRY_JOB_LIST_RANGE] = `FERRY_LIST_SIDE_DESTINATION;
    assign packet_job[`FERRY_JOB_UNORDERED_RANGE] = 1'b1;
    assign packet_job[`FERRY_JOB_PROTECTED_RANGE] = 1'b1;
    assign packet_job[`FERRY_JOB_URGENT_RANGE] = 1'b0;
    assign packet_job[`FERRY_JOB_SLOT_RANGE] = packet_slot;
    assign packet_job[`FERRY_JOB_PATTERN_LOG2_RANGE] = 2'd3;
    assign packet_job[`FERRY_JOB_PACKET_OFFSET_RANGE] = packet_offset;
    assign packet_job[`FERRY_JOB_SOURCE_RANGE] = 64'd1;
    assign packet_job[`FERRY_JOB_DESTINATION_RANGE] = 64'd2;
    assign packet_job[`FERRY_JOB_LENGTH_RANGE] = packet_length;
    assign packet_job[`FERRY_JOB_LIST_ADDRESS_RANGE] = 16'd3;
    assign job_urgent = job[`FERRY_JOB_URGENT_RANGE];
    assign job_slot = job[`FERRY_JOB_SLOT_RANGE];
    assign job_length = job[`FERRY_JOB_LENGTH_RANGE];
    assign job_harmless = job[`FERRY_JOB_OP_RANGE] == `FERRY_JOB_OP_COPY && job[`FERRY_JOB_LIST_RANGE] == 2'd0 &&
                          job[`FERRY_JOB_SOURCE_KIND_RANGE] == `FERRY_ADDRESS_KIND_LOCAL &&
                          job[`FERRY_JOB_DESTINATION_KIND_RANGE] == `FERRY_ADDRESS_KIND_LOCAL &&
                          !job[`FERRY_JOB_UNORDERED_RANGE] && !job[`FERRY_JOB_PROTECTED_RANGE];

    wire [`FERRY_UPDATE_BITS-1:0] update;
    assign update_first = update[`FERRY_UPDATE_FIRST_RANGE];
    assign update_count = update[`FERRY_UPDATE_COUNT_RANGE];
    assign update_list = update[`FERRY_UPDATE_LIST_RANGE];
    assign update_unmap = update[`FERRY_UPDATE_UNMAP_RANGE];
    assign update_snoop = update[`FERRY_UPDATE_SNOOP_RANGE];
    assign update_dummy = update[`FERRY_UPDATE_DUMMY_RANGE];

    wire [`FERRY_AXI_A_BITS-1:0] aw;
    wire [`FERRY_AXI_W_BITS-1:0] w;
    assign awaddr = aw[`FERRY_AXI_A_ADDRESS_RANGE];
    assign awlen = aw[`FERRY_AXI_A_LENGTH_RANGE];
    assign wdata = w[`FERRY_AXI_W_DATA_RANGE];
    assign wlast = w[`FERRY_AXI_W_LAST_RANGE];

    wire        file_access, file_write, post_data_write, post_start, post_long, post_interrupt, enter, enter_long, ended_interrupt;
    wire [8:0]  file_index;
    wire [31:0] file_wdata, file_rdata, post_data_wdata, enter_data;
    wire [3:0]  post_data_index;
    wire [63:0] post_address;
    wire [2:0]  post_ring, enter_word, enter_ring;
    wire [1:0]  post_slot;
    wire        yields, counter_write;
    wire [5:0]  counter_word;
    wire [31:0] counter_wdata;
    wire        unused_told, unused_busy, unused_sequence_start, unused_sequence_stop, unused_system, unused_rights,
                unused_checked, unused_bready;
    wire [1:0]  unused_slot;
    wire [15:0] unused_offset;
    wire [12:0] unused_end;
    assign host_rdata = file_rdata;
    assign ended_long = enter_long;

    wire unused_virtual;
    wire [3:0] unused_dropped;
    wire unused_tables = &{1'b0, unused_virtual, unused_dropped};

    ferry_registers_core core (
        .root_valid(root_valid), .root_ready(root_ready), .root_space(root_space), .root(root),
        .sequence_virtual_only(unused_virtual), .slots_dropped(unused_dropped),
        .clk(clk), .rst(rst), .run(run), .settled(settled), .io_valid(io_valid), .io_write(io_write), .io_address(io_address),
        .io_wdata(io_wdata), .io_ready(io_ready), .io_rdata(io_rdata), .firmware_told(unused_told),
        .packet_taken(packet_taken), .core_busy(unused_busy), .interrupt_cause(interrupt_cause), .file_access(file_access),
        .file_write(file_write), .file_index(file_index), .file_wdata(file_wdata), .file_rdata(file_rdata),
        .sequence_start(unused_sequence_start), .sequence_stop(unused_sequence_stop), .sequence_slot(unused_slot),
        .sequence_offset(unused_offset), .sequence_system(unused_system), .sequence_tables(unused_rights),
        .sequence_checked(unused_checked),
        .sequence_end(unused_end), .sequence_busy(1'b0), .sequence_waiting(1'b0), .sequence_ended(1'b0), .sequence_table(1'b0),
        .sequence_at(16'd0), .packet_valid(packet_valid), .packet_ready(packet_ready), .packet_job(packet_job), .packet_more(packet_more),
        .packet_skipped(packet_skipped),
        .job_valid(job_valid), .job_ready(job_ready), .job(job), .jobs_retired(jobs_retired),
        .jobs_retired_urgent(jobs_retired_urgent), .poison(poison), .poison_clear(poison_clear), .fault_valid(1'b0),
        .fault({`FERRY_ENGINE_FAULT_BITS{1'b0}}), .fault_clear(fault_clear), .aborted_job(aborted_job), .resetting(resetting),
        .stuck(stuck),
        .update_valid(update_valid), .update_ready(update_ready), .update(update), .update_busy(1'b0),
        .update_fault({`FERRY_UPDATE_FAULT_BITS{1'b0}}), .fetch_next(fetch_next), .fetch_claim(fetch_claim),
        .slots_used(slots_used), .slot_tags(slot_tags), .slot_interrupts(slot_interrupts), .fetch_select(fetch_select),
        .fetch_select_slot(fetch_select_slot), .fact_valid(fact_valid), .fact_slot(fact_slot), .fact_word(fact_word),
        .fact_ready(fact_ready), .fact(fact), .fact_unread(fact_unread), .post_data_write(post_data_write),
        .post_data_index(post_data_index),
        .post_data_wdata(post_data_wdata), .post_start(post_start), .post_address(post_address), .post_long(post_long),
        .post_ring(post_ring), .post_slot(post_slot), .post_interrupt(post_interrupt), .post_busy(post_busy), .enter(enter),
        .enter_long(enter_long), .enter_word(enter_word), .enter_data(enter_data), .enter_ring(enter_ring), .ended(ended),
        .ended_interrupt(ended_interrupt)
    );

    ferry_registers_file file (
        .clk(clk), .rst(rst), .clearing(clearing), .core_access(file_access), .core_write(file_write), .core_index(file_index),
        .core_wdata(file_wdata), .host_access(host_access), .host_write(host_write), .host_index(host_index),
        .host_wdata(host_wdata), .host_taken(host_taken), .rdata(file_rdata), .counter_write(counter_write),
        .counter_word(counter_word), .counter_wdata(counter_wdata), .counter_rdata(ring_rdata), .ring_read(ring_read),
        .ring_number(ring_number), .ring_word(ring_word), .ring_taken(ring_taken), .counter_yields(yields)
    );

    ferry_registers_counters #(.COUNT(`FERRY_EVENTS_BITS)) counters (
        .clk(clk), .rst(rst || clearing), .events(events), .read_valid(counter_valid), .read_number(counter_number),
        .read_ready(counter_ready), .yields(yields), .hold(ring_taken), .word_write(counter_write), .word(counter_word),
        .word_wdata(counter_wdata), .word_rdata(ring_rdata)
    );

    ferry_post post (
        .clk(clk), .rst(rst), .time_now(time_now), .data_write(post_data_write), .data_index(post_data_index),
        .data_wdata(post_data_wdata), .start(post_start), .start_address(post_address), .start_long(post_long),
        .start_ring(post_ring), .start_slot(post_slot), .start_interrupt(post_interrupt), .busy(post_busy),
        .enter_hold(enter_hold), .enter(enter), .enter_long(enter_long), .enter_word(enter_word), .enter_data(enter_data),
        .enter_ring(enter_ring), .ended(ended), .ended_slot(ended_slot), .ended_interrupt(ended_interrupt), .m_axi_aw(aw),
        .m_axi_awvalid(awvalid), .m_axi_awready(awready), .m_axi_w(w), .m_axi_wvalid(wvalid), .m_axi_wready(wready),
        .m_axi_bresp(2'b00), .m_axi_bvalid(bvalid), .m_axi_bready(unused_bready)
    );

    wire unused = &{1'b0, aw, w, job};

endmodule

`default_nettype wire
