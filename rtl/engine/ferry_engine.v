// SPDX-License-Identifier: Apache-2.0
// The copy engine: job queue, read side, byte realigner with data FIFO, write side, retirement in order.
//
//   job ──> job queue ─┬──────────────────> write side ──────────> AW   (bursts of the destination, once their data
//                      │                      │ bursts  │ notes          is there or, inside video memory, begins to be)
//                      v                      v         v
//            AR <── read side        ┌──> write data ──> W      retirement <── B ──> jobs_retired, fault, poison
//   (bursts of the     │ bursts      │        ^                    ^
//    source)           v             │        └── records of faults┘
//            R ───> realigner ──> data FIFO
//
// The read side and the write side each turn a job's range into bursts of their own (ferry_address_generator); only the
// data FIFO lies between them, so a read never waits for the shape of a write. Bursts are 64-bit INCR, at most 64
// beats, inside one 512-byte block, hence never over 4 KiB. AxSIZE is always 3, AxBURST always INCR, one ID: these
// constants are not ports. Data of a burst that comes from the host or goes there is buffered before the burst is
// announced, so that one on a shared write channel never waits for another channel.
//
// Two classes of jobs: urgent ones go first. What the read side does of a job without interruption is a turn; the write side
// and retirement follow in the order of the turns. A job that makes way for an urgent one ends its turn at the end of a
// block of the destination, each side keeps its place, and the job gets a further turn later.
//
// FORGET is a job of no bytes. Its turn waits at the write side until every earlier job of its class is retired and the page-table
// unit has forgotten. From the read side's taking it until then no job begins there that goes by addresses of a space, of either
// class: it would have its page from before. Other jobs read on, and write behind it.
//
// What becomes of a job that cannot go on. Every one of these ends as a good job does: through the last entry of its
// data and a note for retirement, in its turn.
//
//   what                        read side          data                    write side           retirement
//   drop: slot poisoned,        no burst begins,   one bad entry           drains up to the     retires silently; in a
//     reset, memory lost        a bad token                                job's last entry     reset aborted_job tells it
//   cut: an urgent job waits    asks for the rest  one bad entry           writes all, then     no job retires
//                               of a block                                 drains it
//   bad data: read error        stops asking       bad from there to the   announced beats go   fault of the read
//                                                  last entry              without strobe
//   refused address, read side  stops, bad token   as bad data             as bad data          fault of the address
//   refused address, write side is told (give_up)  thrown away (drain)     stops, drains        fault of the address
//   write response is an error  -                  -                       -                    fault of the burst
//   nothing moves: lost         drop, for all      thrown away             owed beats without   all told at once, then
//                                                                          strobe               retire unseen
//
// A fault poisons its slot, and so does the first of its jobs that a reset cuts off: jobs behind it in the slot are dropped until the
// slot is given free.
`default_nettype none
`include "ferry_contract.vh"

module ferry_engine #(
    // Bits of a video memory address.
    parameter LOCAL_ADDRESS_BITS = 26,
    // Pages in the aperture table: an aperture range beyond them is a RANGE fault.
    parameter APERTURE_PAGES = 4096,
    // 1: a side of a COPY may be a page list; 0: lists are taken for linear ranges, for a host that sends none.
    parameter LISTS = 1,
    // 1: a side may be virtual, 0: there is no page-table unit, and a virtual address is a RANGE fault.
    parameter TABLES = 1,
    // 1: a job may name host memory; 0: every address is taken for one of video memory, whatever its kind.
    parameter [0:0] HOST = 1,
    // 1: there are urgent jobs; 0: every job is taken for one that is not.
    parameter [0:0] URGENT = 1,
    // log2 of the number of jobs that can wait or run: of those that are not urgent, and of urgent ones (not more).
    parameter LG_JOBS = 4,
    parameter LG_URGENT = 1,
    // log2 of the number of read bursts outstanding.
    parameter LG_READS = 5,
    // log2 of the number of write bursts outstanding.
    parameter LG_WRITES = 4,
    // log2 of the words in the data FIFO; at least 8: a burst is read and one gathered in front of it.
    parameter LG_DATA = 9,
    // 1: video memory may read nothing from when it has taken a write's address until it has its data, as one with a single port
    // does. A write burst then waits for all of its data; 0: it goes with the first word that is there.
    parameter [0:0] ONE_PORT = 0
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // ---- Jobs, from the core's registers: bundle JOB ----
    // A job is offered; taken when job_ready, which is its class's, is 1 too.
    input  wire        job_valid,
    output wire        job_ready,
    input  wire [`FERRY_JOB_BITS-1:0] job,
    // Tag for the posted writes of each slot's jobs, 8 bits a slot (contract: write_tag).
    input  wire [31:0] slot_tags,

    // ---- Retirement, poison and faults ----
    // Jobs retired since reset, free-running: those that are not urgent, and those that are.
    output wire [15:0] jobs_retired,
    output wire [15:0] jobs_retired_urgent,
    // Slots whose later jobs are dropped; poison_clear clears bit by bit (one-cycle pulses).
    output wire [3:0]  poison,
    input  wire [3:0]  poison_clear,
    // The oldest fault; held until fault_clear (one-cycle pulse). A further faulted job waits unretired meanwhile.
    output wire        fault_valid,
    output wire [`FERRY_ENGINE_FAULT_BITS-1:0] fault,
    input  wire        fault_clear,
    // Jobs that a reset cuts off, in order, but for some behind the first of a slot.
    output wire [`FERRY_ABORTED_JOB_BITS-1:0] aborted_job,

    // ---- Limits and control (level signals) ----
    // What jobs may use of video memory.
    input  wire [`FERRY_LIMITS_BITS-1:0] limits,
    // Cycles without progress until WATCHDOG; 0 = never.
    input  wire [31:0] timeout,
    // What is waited for is not dead: somebody holds the host's side up on purpose (D3hot), or the aperture table is not ready. No
    // cycle counts, in a reset either.
    input  wire        timeout_held,
    // Pulse or level: drop all jobs, finish outstanding bursts; resetting is 1 from the next cycle until all is idle.
    input  wire        reset_request,
    output wire        resetting,
    // Memory did not move for `timeout` cycles and still owes an answer: jobs are refused with WATCHDOG until it is given.
    output wire        stuck,
    // A job is in the engine; reads are outstanding; writes are outstanding.
    output wire        busy,
    output wire        busy_read,
    output wire        busy_write,

    // Events for the counters, a bit each (FERRY_EVENT_*); those that are not the engine's stay 0. ENGINE_JOBS comes in
    // the cycle a job's last write response arrives, and jobs_retired steps at its end. STALL_READ: reads are
    // outstanding, no data arrived, and the write side has nothing to send. STALL_WRITE: a beat is offered and not taken.
    output wire [`FERRY_EVENTS_BITS-1:0] events,

    // ---- Page lists: command RAM, 64 bits wide; data in order, 1 or more cycles after the request ----
    output wire        list_valid,
    input  wire        list_ready,
    output wire [15:0] list_address,
    input  wire        list_data_valid,
    input  wire [63:0] list_data,

    // ---- Aperture table, both sides: result in order, 1 or more cycles after the request; always taken ----
    output wire        read_lookup_valid,
    input  wire        read_lookup_ready,
    output wire [31:0] read_lookup_page,
    input  wire        read_result_valid,
    input  wire [`FERRY_TRANSLATION_BITS-1:0] read_result,
    output wire        write_lookup_valid,
    input  wire        write_lookup_ready,
    output wire [31:0] write_lookup_page,
    input  wire        write_result_valid,
    input  wire [`FERRY_TRANSLATION_BITS-1:0] write_result,

    // ---- Page-table unit: see ferry_page_tables; side 0 reads, side 1 writes. tables_moves, tables_owed: its reads ----
    output wire [1:0]  tables_valid,
    output wire [2*`FERRY_LOOKUP_BITS-1:0] tables_lookup,
    input  wire [1:0]  tables_answer_valid,
    input  wire [`FERRY_PAGE_BITS-1:0] tables_answer,
    input  wire [127:0] tables_seen,
    input  wire        tables_moves,
    input  wire        tables_owed,
    // What it is to forget; held until it has.
    output wire        forget_valid,
    input  wire        forget_ready,
    output wire [`FERRY_FORGET_BITS-1:0] forget,

    // ---- AXI4 master to video memory; upper address bits are 0 ----
    output wire [`FERRY_AXI_A_BITS-1:0] m_axi_local_ar,
    output wire        m_axi_local_arvalid,
    input  wire        m_axi_local_arready,
    input  wire [`FERRY_AXI_R_BITS-1:0] m_axi_local_r,
    input  wire        m_axi_local_rvalid,
    output wire        m_axi_local_rready,
    output wire [`FERRY_AXI_A_BITS-1:0] m_axi_local_aw,
    output wire        m_axi_local_awvalid,
    input  wire        m_axi_local_awready,
    output wire [`FERRY_AXI_W_BITS-1:0] m_axi_local_w,
    output wire        m_axi_local_wvalid,
    input  wire        m_axi_local_wready,
    input  wire [1:0]  m_axi_local_bresp,
    input  wire        m_axi_local_bvalid,
    output wire        m_axi_local_bready,

    // ---- AXI4 master to host memory: 64-bit bus addresses ----
    output wire [`FERRY_AXI_A_BITS-1:0] m_axi_host_ar,
    output wire        m_axi_host_arvalid,
    input  wire        m_axi_host_arready,
    input  wire [`FERRY_AXI_R_BITS-1:0] m_axi_host_r,
    input  wire        m_axi_host_rvalid,
    output wire        m_axi_host_rready,
    output wire [`FERRY_AXI_A_BITS-1:0] m_axi_host_aw,
    output wire        m_axi_host_awvalid,
    input  wire        m_axi_host_awready,
    output wire [`FERRY_AXI_W_BITS-1:0] m_axi_host_w,
    output wire        m_axi_host_wvalid,
    input  wire        m_axi_host_wready,
    input  wire [1:0]  m_axi_host_bresp,
    input  wire        m_axi_host_bvalid,
    output wire        m_axi_host_bready
);
`ifndef __ICARUS__
    generate
        if (LG_DATA < 8) begin : g_data
            $error("ferry_engine: LG_DATA is at least 8");
        end
    endgenerate
`endif

    wire [63:0] wdata;
    wire [7:0]  wstrb;
    wire        wlast;
    wire        took_local, took_host;
    // Only one of the two ports is valid at a time.
    assign m_axi_local_w[`FERRY_AXI_W_DATA_RANGE] = wdata;
    assign m_axi_local_w[`FERRY_AXI_W_STROBE_RANGE] = wstrb;
    assign m_axi_local_w[`FERRY_AXI_W_LAST_RANGE] = wlast;
    assign m_axi_host_w = m_axi_local_w;

    // ---- Job queue ----
    wire        hold = resetting || reset_request;
    wire        view_shown;
    wire        view_urgent;
    wire [1:0]  view_slot;
    wire [15:0] view_packet_offset;
    wire        view_descending;
    wire        shown_normal;
    wire        shown_urgent;
    wire        urgent_waits;
    wire        retire;
    wire        retire_urgent;
    wire        over;
    wire        lost;

    // A turn that waits for the write side has a read under way, or is the one that waits for room.
    localparam LG_BETWEEN = LG_JOBS < LG_READS ? LG_JOBS : LG_READS;
    // Turns between the read side and retirement are told apart by number: those that wait for the write side, and those behind it as
    // notes.
    localparam LG_TURNS = (LG_BETWEEN > LG_WRITES ? LG_BETWEEN : LG_WRITES) + 1;

    wire        read_valid;
    wire        read_take;
    wire        read_back;
    wire        read_urgent;
    wire        read_first;
    wire [2:0]  read_op;
    wire [1:0]  read_kind;
    wire        read_is_list;
    wire        read_unordered;
    wire        read_protected;
    wire        read_buffered;
    wire        read_translated;
    wire        block_coming;
    wire [1:0]  read_slot;
    wire [1:0]  read_pattern_log2;
    wire [8:0]  read_shift;
    wire        read_descending;
    wire [8:0]  read_chunk_end;
    wire [63:0] read_base;
    wire        read_empty;
    wire [31:0] read_last;
    wire [15:0] read_list_base;
    wire [3:0]  read_space;

    // The write side is done with a FORGET.
    wire        forget_over;
    wire        write_valid;
    wire        write_take;
    wire        write_back;
    wire        write_urgent;
    wire        fill_over;
    wire        fill_cut;
    wire        write_first;
    wire [2:0]  write_op;
    wire [1:0]  write_kind;
    wire        write_is_list;
    wire        write_unordered;
    wire        write_protected;
    wire        write_buffered;
    wire [1:0]  write_slot;
    wire        write_descending;
    wire [8:0]  write_chunk_end;
    wire [63:0] write_base;
    wire [31:0] write_last;
    wire [15:0] write_list_base;
    wire [3:0]  write_space;

    // Of each side: the next job's first page, and what the job at hand asks for.
    wire [1:0]  first_page_valid, own_more, own_valid, own_answer_valid;
    wire [2*`FERRY_LOOKUP_BITS-1:0] first_page, own_lookup;

    ferry_job_queue #(
        .LG_JOBS(LG_JOBS), .LG_URGENT(LG_URGENT), .LG_TURNS(LG_BETWEEN), .LISTS(LISTS), .TABLES(TABLES), .HOST(HOST),
        .URGENT(URGENT), .ONE_PORT(ONE_PORT)
    ) queue (
        .clk(clk), .rst(rst), .hold(hold),
        .job_valid(job_valid), .job_ready(job_ready), .job(job),
        .view_urgent(view_urgent), .view_slot(view_slot), .view_packet_offset(view_packet_offset),
        .view_descending(view_descending), .retire(retire), .retire_urgent(retire_urgent), .over(over),
        .jobs_retired(jobs_retired), .jobs_retired_urgent(jobs_retired_urgent),
        .shown_normal(shown_normal), .shown_urgent(shown_urgent), .busy(busy),
        .urgent_waits(urgent_waits), .read_valid(read_valid), .read_take(read_take), .read_back(read_back),
        .read_urgent(read_urgent), .read_first(read_first),
        .read_op(read_op), .read_kind(read_kind), .read_is_list(read_is_list), .read_unordered(read_unordered),
        .read_protected(read_protected), .read_buffered(read_buffered), .read_translated(read_translated),
        .read_slot(read_slot), .read_pattern_log2(read_pattern_log2),
        .read_shift(read_shift), .read_descending(read_descending), .read_chunk_end(read_chunk_end),
        .read_base(read_base), .read_empty(read_empty), .read_last(read_last), .read_list_base(read_list_base),
        .read_space(read_space), .write_space(write_space), .read_first_page_valid(first_page_valid), .read_first_page(first_page),
        .write_valid(write_valid), .write_take(write_take), .write_back(write_back), .write_urgent(write_urgent),
        .write_first(write_first),
        .write_op(write_op), .write_kind(write_kind), .write_is_list(write_is_list),
        .write_unordered(write_unordered), .write_protected(write_protected), .write_buffered(write_buffered),
        .write_slot(write_slot), .write_descending(write_descending),
        .write_chunk_end(write_chunk_end), .write_base(write_base), .write_last(write_last),
        .write_list_base(write_list_base)
    );

    // ---- Page lists: reader 0 the read side, 1 the write side ----
    wire [1:0]  lists_valid;
    wire [1:0]  lists_ready;
    wire [31:0] lists_address;
    wire [1:0]  lists_data_valid;
    wire [63:0] lists_data;

    ferry_list_arbiter lists (
        .clk(clk), .rst(rst), .in_valid(lists_valid), .in_ready(lists_ready), .in_address(lists_address),
        .in_data_valid(lists_data_valid), .in_data(lists_data), .list_valid(list_valid), .list_ready(list_ready),
        .list_address(list_address), .list_data_valid(list_data_valid), .list_data(list_data)
    );

    // ---- Limits ----
    wire [LOCAL_ADDRESS_BITS:0] limit;
    wire [LOCAL_ADDRESS_BITS:0] closed_base;
    wire [LOCAL_ADDRESS_BITS:0] closed_limit;

    ferry_limits #(.LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS)) clipped_limits (
        .clk(clk), .limits(limits),
        .local_limit_clipped(limit), .protect_base_clipped(closed_base), .protect_limit_clipped(closed_limit)
    );

    // ---- Read side and data FIFO ----
    reg         resetting_reg;
    wire        drop_all = resetting_reg || lost;
    wire [3:0]  drop = poison | {4{drop_all}};
    wire        give_up;
    wire [LG_TURNS-1:0] side_turn;
    wire        push;
    wire [63:0] push_data;
    wire        push_last;
    wire        push_bad;
    wire        push_cut;
    wire        word_valid;
    wire        word_take;
    wire [63:0] word;
    wire        word_last;
    wire        word_bad;
    wire        word_bad_last;
    wire        tell_good;
    wire        tell_last;
    wire        tell_bad;
    wire        tell_cut;
    wire        resolved;
    wire        read_progress;
    wire        read_fault_met;
    wire [1:0]  read_fault_slot;
    wire [1:0]  read_fault_level;

    wire [`FERRY_AXI_R_BITS-1:0] host_r;
    wire        host_rvalid;
    wire        host_rready;
    ferry_lost_reads lost_reads (
        .clk(clk), .rst(rst), .lost(lost), .s_axi_r(m_axi_host_r), .s_axi_rvalid(m_axi_host_rvalid),
        .s_axi_rready(m_axi_host_rready), .m_axi_r(host_r), .m_axi_rvalid(host_rvalid), .m_axi_rready(host_rready)
    );

`ifdef FORMAL
    wire        local_waits;
`endif
    ferry_read_side #(
        .LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS), .APERTURE_PAGES(APERTURE_PAGES), .LISTS(LISTS), .TABLES(TABLES),
        .HOST(HOST), .URGENT(URGENT), .LG_TURNS(LG_TURNS), .LG_READS(LG_READS), .LG_DATA(LG_DATA)
    ) read_side (
        .clk(clk), .rst(rst),
        .job_valid(read_valid), .job_take(read_take), .job_back(read_back), .job_urgent(read_urgent),
        .job_first(read_first), .job_op(read_op),
        .job_kind(read_kind), .job_is_list(read_is_list), .job_unordered(read_unordered),
        .job_protected(read_protected), .job_buffered(read_buffered), .job_translated(read_translated),
        .job_slot(read_slot), .job_pattern_log2(read_pattern_log2),
        .job_shift(read_shift), .job_descending(read_descending), .job_chunk_end(read_chunk_end),
        .job_base(read_base), .job_empty(read_empty), .job_last(read_last), .job_list_base(read_list_base),
        .job_space(read_space), .fault_met(read_fault_met), .fault_slot(read_fault_slot), .fault_level(read_fault_level),
        .urgent_waits(urgent_waits), .fill_over(fill_over), .fill_cut(fill_cut), .forget_over(forget_over),
        .drop(drop), .drop_turn_valid(give_up), .drop_turn(side_turn), .drop_all(drop_all),
        .local_limit(limit), .protect_base(closed_base), .protect_limit(closed_limit),
        .push(push), .push_data(push_data), .push_last(push_last), .push_bad(push_bad), .push_cut(push_cut), .freed(word_take),
        .block_coming(block_coming), .busy(busy_read), .progress(read_progress), .took_local(took_local),
        .took_host(took_host),
        .list_valid(lists_valid[0]), .list_ready(lists_ready[0]), .list_address(lists_address[15:0]),
        .list_data_valid(lists_data_valid[0]), .list_data(lists_data),
        .lookup_valid(read_lookup_valid), .lookup_ready(read_lookup_ready), .lookup_page(read_lookup_page),
        .result_valid(read_result_valid), .result_hit(read_result[`FERRY_TRANSLATION_HIT_RANGE]),
        .result_snoop(read_result[`FERRY_TRANSLATION_SNOOP_RANGE]),
        .result_page(read_result[`FERRY_TRANSLATION_PAGE_RANGE]),
        .tables_more(own_more[0]), .tables_valid(own_valid[0]), .tables_lookup(own_lookup[`FERRY_LOOKUP_BITS-1:0]),
        .tables_answer_valid(own_answer_valid[0]), .tables_answer(tables_answer),
        .local_ar(m_axi_local_ar), .local_arvalid(m_axi_local_arvalid), .local_arready(m_axi_local_arready),
        .local_rdata(m_axi_local_r[`FERRY_AXI_R_DATA_RANGE]),
        .local_rresp(m_axi_local_r[`FERRY_AXI_R_RESPONSE_RANGE]), .local_rvalid(m_axi_local_rvalid),
        .local_rready(m_axi_local_rready),
        .host_ar(m_axi_host_ar), .host_arvalid(m_axi_host_arvalid), .host_arready(m_axi_host_arready),
        .host_rdata(host_r[`FERRY_AXI_R_DATA_RANGE]), .host_rresp(host_r[`FERRY_AXI_R_RESPONSE_RANGE]),
        .host_rfault(host_r[`FERRY_AXI_R_FAULT_RANGE]), .host_rvalid(host_rvalid), .host_rready(host_rready)
`ifdef FORMAL
        , .formal_local_waits(local_waits)
`endif
    );

    ferry_data_fifo #(.LG_DEPTH(LG_DATA)) data (
        .clk(clk), .rst(rst), .push(push), .push_data(push_data), .push_last(push_last), .push_bad(push_bad),
        .push_cut(push_cut), .tell_good(tell_good), .tell_last(tell_last), .tell_bad(tell_bad), .tell_cut(tell_cut),
        .word_valid(word_valid), .word_take(word_take), .word(word), .word_last(word_last), .word_bad(word_bad),
        .word_bad_last(word_bad_last), .resolved(resolved)
    );

    // ---- Write side ----
    wire        burst_valid;
    wire [1:0]  side_slot;
    wire        side_fault_valid;
    wire [1:0]  side_fault_level;
    wire        note_valid;
    wire        note_ready;
    wire        note_marker;
    wire        note_last;
    wire        note_cut;
    wire        note_urgent;
    wire        note_host;
    wire [1:0]  note_slot;
    wire [31:0] note_position;
    wire        record_valid;
    wire [LG_TURNS-1:0] record_turn;
    wire [1:0]  record_slot;
    wire        record_write;
    wire [7:0]  record_kind;
    wire [31:0] record_position;
    wire        record_left;
    wire [31:0] record_place;

    ferry_write_path #(
        .LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS), .APERTURE_PAGES(APERTURE_PAGES), .LISTS(LISTS), .TABLES(TABLES),
        .HOST(HOST), .URGENT(URGENT), .LG_TURNS(LG_TURNS), .LG_DATA(LG_DATA)
    ) write_path (
        .clk(clk), .rst(rst), .job_valid(write_valid), .job_take(write_take), .job_back(write_back), .job_urgent(write_urgent),
        .job_first(write_first), .job_op(write_op), .job_kind(write_kind), .job_is_list(write_is_list),
        .job_unordered(write_unordered), .job_protected(write_protected), .job_buffered(write_buffered), .job_slot(write_slot),
        .job_descending(write_descending), .job_chunk_end(write_chunk_end), .job_base(write_base), .job_last(write_last),
        .job_list_base(write_list_base), .job_space(write_space), .fill_over(fill_over), .fill_cut(fill_cut), .forget_over(forget_over),
        .forget_valid(forget_valid), .forget_ready(forget_ready), .forget(forget), .drop(drop),
        .local_limit(limit), .protect_base(closed_base), .protect_limit(closed_limit), .block_coming(block_coming && !ONE_PORT),
        .push_good(tell_good), .push_bad(tell_bad), .push_cut(tell_cut && URGENT), .push_last(tell_last),
        .burst_valid(burst_valid), .give_up(give_up),
        .side_turn(side_turn), .side_slot(side_slot), .side_fault_valid(side_fault_valid), .side_fault_level(side_fault_level),
        .note_valid(note_valid), .note_ready(note_ready), .note_marker(note_marker), .note_last(note_last), .note_cut(note_cut),
        .note_urgent(note_urgent), .note_host(note_host), .note_slot(note_slot), .note_position(note_position),
        .list_valid(lists_valid[1]), .list_ready(lists_ready[1]), .list_address(lists_address[31:16]),
        .list_data_valid(lists_data_valid[1]), .list_data(lists_data), .lookup_valid(write_lookup_valid),
        .lookup_ready(write_lookup_ready), .lookup_page(write_lookup_page), .result_valid(write_result_valid),
        .result_hit(write_result[`FERRY_TRANSLATION_HIT_RANGE]), .result_snoop(write_result[`FERRY_TRANSLATION_SNOOP_RANGE]),
        .result_page(write_result[`FERRY_TRANSLATION_PAGE_RANGE]), .tables_more(own_more[1]), .tables_valid(own_valid[1]),
        .tables_lookup(own_lookup[2*`FERRY_LOOKUP_BITS-1:`FERRY_LOOKUP_BITS]), .tables_answer_valid(own_answer_valid[1]),
        .tables_answer(tables_answer), .slot_tags(slot_tags), .local_aw(m_axi_local_aw), .local_awvalid(m_axi_local_awvalid),
        .local_awready(m_axi_local_awready), .host_aw(m_axi_host_aw), .host_awvalid(m_axi_host_awvalid),
        .host_awready(m_axi_host_awready), .word_valid(word_valid), .word_take(word_take), .word(word), .word_last(word_last),
        .word_bad(word_bad), .word_bad_last(word_bad_last), .lost(lost), .resetting(resetting_reg), .resolved(resolved), .poison(poison),
        .record_valid(record_valid), .record_turn(record_turn), .record_slot(record_slot), .record_write(record_write),
        .record_kind(record_kind), .record_position(record_position), .record_left(record_left), .record_place(record_place), .wdata(wdata),
        .wstrb(wstrb), .wlast(wlast), .local_wvalid(m_axi_local_wvalid), .local_wready(m_axi_local_wready),
        .host_wvalid(m_axi_host_wvalid), .host_wready(m_axi_host_wready)
    );

    // ---- Look-ups: of the jobs at hand, and ahead of them, unless the next one is dropped ----
    generate
        if (TABLES != 0) begin : g_ahead
            ferry_page_ahead ahead [1:0] (
                .clk(clk), .rst(rst), .next(first_page_valid & {2{!drop[read_slot]}}), .take(read_take), .next_lookup(first_page),
                .more(own_more), .own_valid(own_valid), .own_lookup(own_lookup), .own_answer_valid(own_answer_valid),
                .tables_valid(tables_valid), .tables_lookup(tables_lookup), .tables_answer_valid(tables_answer_valid),
                .tables_answer_hit(tables_answer[`FERRY_PAGE_HIT_RANGE])
            );
        end else begin : g_not_ahead
            assign {tables_valid, tables_lookup, own_answer_valid} = {own_valid, own_lookup, tables_answer_valid};
            wire unused_ahead = &{1'b0, first_page_valid, first_page, own_more};
        end
    endgenerate

    // ---- What the page tables said of a fault. When memory is given up on, a slot may be free while its job still waits to be
    // thrown away: of that nothing is kept. ----
    wire [`FERRY_ENGINE_FAULT_BITS-1:0] plain_fault;
    generate
        if (TABLES != 0) begin : g_fault_entries
            ferry_fault_entries fault_entries (
                .clk(clk), .rst(rst), .slot_free(poison_clear), .read_met(read_fault_met), .read_slot(read_fault_slot),
                .read_level(read_fault_level), .read_entry(tables_seen[63:0]), .write_met(side_fault_valid && !lost),
                .write_slot(side_slot), .write_level(side_fault_level), .write_entry(tables_seen[127:64]), .plain(plain_fault),
                .fault(fault)
            );
        end else begin : g_plain_faults
            assign fault = plain_fault;
            wire unused_tables = &{1'b0, tables_seen, read_fault_met, read_fault_slot, read_fault_level, side_slot,
                side_fault_valid, side_fault_level};
        end
    endgenerate

    // ---- Retirement ----
    wire wrote_local = m_axi_local_wvalid && m_axi_local_wready;
    wire wrote_host = m_axi_host_wvalid && m_axi_host_wready;
    wire write_beat = wrote_local || wrote_host;
    // A look-up ahead may stand longer than its job, which is dropped meanwhile, and owe nothing, as the unit forgets.
    wire tables_stand = tables_owed || tables_valid != 2'd0;
    wire progress = read_progress || tables_moves || write_beat || burst_valid || word_take || write_take
        || (m_axi_local_awvalid && m_axi_local_awready) || (m_axi_host_awvalid && m_axi_host_awready);

    ferry_retire #(.HOST(HOST), .URGENT(URGENT), .LG_TURNS(LG_TURNS), .LG_WRITES(LG_WRITES)) retirement (
        .clk(clk), .rst(rst), .note_valid(note_valid), .note_ready(note_ready), .note_marker(note_marker), .note_last(note_last),
        .note_cut(note_cut), .note_urgent(note_urgent), .note_host(note_host), .note_slot(note_slot),
        .note_position(note_position), .busy(busy_write), .record_valid(record_valid), .record_turn(record_turn),
        .record_slot(record_slot), .record_write(record_write), .record_kind(record_kind), .record_position(record_position),
        .record_left(record_left), .record_place(record_place), .local_berror(m_axi_local_bresp[1]), .local_bvalid(m_axi_local_bvalid),
        .local_bready(m_axi_local_bready), .host_berror(m_axi_host_bresp[1]), .host_bvalid(m_axi_host_bvalid),
        .host_bready(m_axi_host_bready), .job_busy(busy), .shown_normal(shown_normal), .shown_urgent(shown_urgent),
        .view_shown(view_shown), .view_urgent(view_urgent), .retire(retire), .retire_urgent(retire_urgent), .lost(lost),
        .over(over), .job_descending(view_descending), .job_slot(view_slot), .job_packet_offset(view_packet_offset),
        .timeout(timeout), .timeout_held(timeout_held), .progress(progress), .tables_owed(tables_stand), .resetting(resetting_reg),
        .aborted_job(aborted_job[`FERRY_ABORTED_JOB_VALID_RANGE]), .aborted_left(aborted_job[`FERRY_ABORTED_JOB_LEFT_RANGE]),
        .aborted_place(aborted_job[`FERRY_ABORTED_JOB_PLACE_RANGE]), .poison(poison), .poison_clear(poison_clear),
        .fault_valid(fault_valid), .fault(plain_fault), .fault_clear(fault_clear)
    );
    assign aborted_job[`FERRY_ABORTED_JOB_SLOT_RANGE] = view_slot;
    assign aborted_job[`FERRY_ABORTED_JOB_PACKET_OFFSET_RANGE] = view_packet_offset;

    // ---- Reset: every job is dropped, which ends when none is left to be told of, nor any read of a page table, nor a look-up ----
    assign resetting = resetting_reg;
    assign stuck = lost;

    always @(posedge clk) begin
        if (reset_request) begin
            resetting_reg <= 1'b1;
        end else if (!shown_normal && !shown_urgent && !view_shown && (!tables_stand || lost)) begin
            resetting_reg <= 1'b0;
        end
        if (rst) begin
            resetting_reg <= 1'b0;
        end
    end

    // ---- Counters ----
    wire stall_write = (m_axi_local_wvalid && !m_axi_local_wready) || (m_axi_host_wvalid && !m_axi_host_wready);
    wire stall_read = busy_read && !took_local && !took_host && !m_axi_local_wvalid && !m_axi_host_wvalid;
    localparam E = `FERRY_EVENTS_BITS;
    assign events = {{(E-1){1'b0}}, busy} << `FERRY_EVENT_ENGINE_BUSY
        | {{(E-1){1'b0}}, over} << `FERRY_EVENT_ENGINE_JOBS
        | {{(E-1){1'b0}}, took_local} << `FERRY_EVENT_LOCAL_READ_BEATS
        | {{(E-1){1'b0}}, wrote_local} << `FERRY_EVENT_LOCAL_WRITE_BEATS
        | {{(E-1){1'b0}}, took_host} << `FERRY_EVENT_HOST_READ_BEATS
        | {{(E-1){1'b0}}, wrote_host} << `FERRY_EVENT_HOST_WRITE_BEATS
        | {{(E-1){1'b0}}, stall_read} << `FERRY_EVENT_STALL_READ
        | {{(E-1){1'b0}}, stall_write} << `FERRY_EVENT_STALL_WRITE;

    wire unused = &{1'b0, m_axi_local_r, host_r, m_axi_local_bresp[0], m_axi_host_bresp[0]};

`ifdef FORMAL
`include "ferry_engine_properties.vh"
`endif
endmodule

`default_nettype wire
