// SPDX-License-Identifier: Apache-2.0
// Read side: starts jobs, issues their read bursts on the local or the host port, and feeds the realigner. Video memory
// is asked for a burst only when the data FIFO has room for all of it, and only when no host data is awaited, so that
// its data never waits on the bus and holds up no other master.
//
// Host bursts take their room in the data FIFO word by word as they come: what is outstanding waits in the requester's
// reorder RAM, which has a place for each tag, so as many reads as there are tags cover the latency of the link. The
// host's read channel may thus wait for the write side, but never for good: a full FIFO holds more than any write burst
// needs, all video memory data in front of it has its room and comes without the host's read channel, and neither
// writes nor the firmware's work on a fault wait for host data. Tokens behind host bursts have their room beforehand.
//
// A job makes way as soon as an urgent one waits: it reads on to the end of the destination's block that it is in, so that
// no write burst is left half supplied, and a bad token without a fault (cut) ends its turn. Where it was is kept here;
// the job is put back into the queue and gets a further turn when no urgent job waits. A fill reads nothing: while one that is
// not urgent waits to be written or is, no other fill but urgent ones starts here, or a queue of them, each waiting for the
// one before, would stand in front of an urgent job; and if it is long, no other job, so that the write side may cut it.
`include "ferry_contract.vh"
`default_nettype none

module ferry_read_side #(
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
    // log2 of the read bursts and tokens between address and data.
    parameter LG_READS = 5,
    // log2 of the words in the data FIFO; at least 8: a burst is read and one gathered in front of it.
    parameter LG_DATA = 9
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // Next job; see ferry_job_queue.
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
    input  wire        job_translated,
    input  wire [1:0]  job_slot,
    input  wire [1:0]  job_pattern_log2,
    input  wire [8:0]  job_shift,
    input  wire        job_descending,
    input  wire [8:0]  job_chunk_end,
    input  wire [63:0] job_base,
    input  wire        job_empty,
    input  wire [31:0] job_last,
    input  wire [15:0] job_list_base,
    input  wire [3:0]  job_space,

    // An urgent job waits to be taken.
    input  wire        urgent_waits,
    // The write side has done with the turn of a fill that is not urgent, and whether it left the job half done.
    input  wire        fill_over,
    input  wire        fill_cut,
    // It is done with a FORGET.
    input  wire        forget_over,

    // Slots whose jobs are dropped (all of them during a reset); the write side has given up this turn.
    input  wire [3:0]  drop,
    input  wire        drop_turn_valid,
    input  wire [LG_TURNS-1:0] drop_turn,
    // Every job is dropped: an engine reset is going on, or memory was given up on.
    input  wire        drop_all,

    // Limits of video memory, clipped (ferry_limits).
    input  wire [LOCAL_ADDRESS_BITS:0] local_limit,
    input  wire [LOCAL_ADDRESS_BITS:0] protect_base,
    input  wire [LOCAL_ADDRESS_BITS:0] protect_limit,

    // A fault of this side's addresses is met, in a job of this slot; if it is of the page tables, at this level.
    output wire        fault_met,
    output wire [1:0]  fault_slot,
    output wire [1:0]  fault_level,

    // Entries of the data FIFO; never refused, as room is counted here. freed: an entry left it.
    output wire        push,
    output wire [63:0] push_data,
    output wire        push_last,
    output wire        push_bad,
    output wire        push_cut,
    input  wire        freed,
    // Of the turn whose entries come next, the rest or the next 64 are on their way from video memory, and wait for nothing else.
    output wire        block_coming,

    // Reads are outstanding; something moved.
    output wire        busy,
    output wire        progress,
    output wire        took_local,
    output wire        took_host,

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
    // Page-table unit; see ferry_address_generator.
    output wire        tables_more,
    output wire        tables_valid,
    output wire [`FERRY_LOOKUP_BITS-1:0] tables_lookup,
    input  wire        tables_answer_valid,
    input  wire [`FERRY_PAGE_BITS-1:0] tables_answer,

    // AXI4 read channels.
    output wire [`FERRY_AXI_A_BITS-1:0] local_ar,
    output wire        local_arvalid,
    input  wire        local_arready,
    input  wire [63:0] local_rdata,
    input  wire [1:0]  local_rresp,
    input  wire        local_rvalid,
    output wire        local_rready,
    output wire [`FERRY_AXI_A_BITS-1:0] host_ar,
    output wire        host_arvalid,
    input  wire        host_arready,
    input  wire [63:0] host_rdata,
    input  wire [1:0]  host_rresp,
    input  wire [7:0]  host_rfault,
    input  wire        host_rvalid,
    output wire        host_rready
`ifdef FORMAL_PORTS
    ,
    // For the engine's proof: an address stands behind the one that video memory is shown.
    output wire        formal_local_waits
`endif
);
    localparam TYPE_BURST = 2'd0, TYPE_FILL = 2'd1, TYPE_EMPTY = 2'd2, TYPE_BAD = 2'd3;
    localparam ENTRY_BITS = 2 + 1 + 32 + 6 + 5 + 3 + 2;

    // ---- Job at hand, and number of its turn ----
    reg [LG_TURNS-1:0] turn_reg;
    reg [1:0]  slot_reg;
    reg        urgent_reg;
    reg        descending_reg;
    reg        buffered_reg;
    reg        translated_reg;
    reg [8:0]  shift_reg;
    // A job that is not urgent was left at this place, and is the next of its class.
    reg        resume_reg;
    reg [32:0] place_reg;
    reg        place_last_reg;
    // This turn ends as a cut: by its last burst, or at once.
    reg        cut_reg;
    reg        cut_now_reg;
    // The burst shown stood here in the cycle before, with an urgent job waiting; it is its job's last, and in one block of the
    // destination.
    reg        decided_reg;
    reg        ends_reg;
    // A fill that is not urgent waits to be written or is; a long one.
    reg        fill_reg;
    reg        long_reg;
    // A FORGET waits for the page-table unit, or for what is before it.
    reg        forgets_reg;
    // A job without bursts, or the early end of one, waits to be passed on as a token.
    reg        token_reg;
    reg [1:0]  token_type_reg;
    reg        token_fault_reg;
    reg        token_cut_reg;
    reg [63:0] pattern_reg;
    reg        pattern_busy_reg;
    reg        fault_reg;
    reg [7:0]  fault_kind_reg;
    reg [31:0] fault_position_reg;
    // The job was given up; its token follows once the generator has stopped.
    reg        giving_up_reg;

    // ---- Room and order ----
    wire       room_ok;
    wire       room_one;
    wire       room_two;
    wire       room_any;
    // Host bursts that are out.
    reg [LG_READS:0] host_reg;
    // Words of video memory that were asked for and have not come. Its answers come in order, so a walk waits behind these, once
    // a level: of a job whose pages are looked up no more are out than a latency of some 100 cycles needs.
    reg [LG_DATA:0] flying_reg;
    // Last bursts of turns that are out.
    reg [LG_READS:0] ends_out_reg;
    // A block and what a cycle's delay and the words of a turn's first entry may lack.
    wire       block_out = |flying_reg[LG_DATA:7] || &flying_reg[6:5];
    reg        coming_reg;
    wire       few_fly = TABLES == 0 || flying_reg < 112;

    // ---- Address channel ----
    reg [63:0] address_reg;
    reg [5:0]  length_reg;
    reg        nosnoop_reg;
    reg        local_valid_reg;
    reg        host_valid_reg;

    wire        generator_ready;
    wire        generator_active;
    wire        in_segment;
    wire [32:0] place;
    wire        valid;
    wire        step;
    wire        to_host;
    wire        nosnoop;
    wire [63:0] address;
    wire [31:0] position;
    wire [8:0]  top;
    wire [5:0]  length;
    wire        first;
    wire        segment_last;
    wire        last;
    wire        refused;
    wire [7:0]  fault;
    wire        abort;

    wire        entry_ready;
    wire        token_step;

    // A fill's pattern, repeated to 8 bytes: in stages, each of which doubles it or has the job's own bytes.
    wire [15:0] pattern2 = {job_pattern_log2 == 2'd0 ? job_base[7:0] : job_base[15:8], job_base[7:0]};
    wire [15:0] pattern4;
    wire [31:0] pattern8;
    ferry_choice #(.WIDTH(16)) pattern_4 (
        .second(job_pattern_log2[1]), .word0(pattern2), .word1(job_base[31:16]), .chosen(pattern4)
    );
    ferry_choice #(.WIDTH(32)) pattern_8 (
        .second(&job_pattern_log2), .word0({pattern4, pattern2}), .word1(job_base[63:32]), .chosen(pattern8)
    );
    wire [63:0] pattern = {pattern8, pattern4, pattern2};

    // ---- Start ----
    wire is_fill = job_op == `FERRY_JOB_OP_FILL;
    wire dropped = drop[job_slot];
    wire no_bursts = is_fill || job_empty || dropped;
    wire kept_fill = is_fill && !job_urgent && !job_empty;
    wire ready = generator_ready && (!token_reg || token_step) && !giving_up_reg && !fault_reg && !cut_reg;
    wire is_forget = job_op == `FERRY_JOB_OP_FORGET && TABLES != 0;
    wire ordered_ok = job_unordered || job_first || is_fill || is_forget || dropped;
    wire start = job_valid && ready && ordered_ok && !(is_fill && pattern_busy_reg) && !(fill_reg && !job_urgent && (is_fill || long_reg))
        && !(forgets_reg && (job_translated || is_forget));
    wire resume = resume_reg && !job_urgent;
    assign job_take = start;

    ferry_address_generator #(
        .LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS), .APERTURE_PAGES(APERTURE_PAGES), .LISTS(LISTS), .TABLES(TABLES),
        .URGENT(URGENT), .WRITES(0)
    ) generator (
        .clk(clk), .rst(rst),
        .start(start && !no_bursts), .start_ready(generator_ready), .base(job_base), .last_byte(job_last),
        .kind(job_kind), .is_list(job_is_list), .list_base(job_list_base), .space(job_space),
        .may_protected(job_protected),
        .descending(job_descending), .chunk_end(job_chunk_end), .resume(resume), .resume_place(place_reg), .resume_last(place_last_reg),
        .trim(trim), .trim_top(~shift_reg), .abort(abort), .active(generator_active), .in_segment(in_segment),
        .place(place),
        .burst_valid(valid), .burst_step(step), .start_step(may_step && !wants_cut), .burst_host(to_host), .burst_nosnoop(nosnoop),
        .burst_address(address), .burst_position(position), .burst_top(top), .burst_length(length),
        .burst_first(first), .burst_segment_last(segment_last), .burst_last(last), .burst_refused(refused), .burst_fault(fault),
        .burst_fault_level(fault_level),
        .local_limit(local_limit), .protect_base(protect_base), .protect_limit(protect_limit),
        .list_valid(list_valid), .list_ready(list_ready), .list_address(list_address),
        .list_data_valid(list_data_valid), .list_data(list_data),
        .lookup_valid(lookup_valid), .lookup_ready(lookup_ready), .lookup_page(lookup_page),
        .result_valid(result_valid), .result_hit(result_hit), .result_snoop(result_snoop), .result_page(result_page),
        .tables_more(tables_more), .tables_valid(tables_valid), .tables_lookup(tables_lookup),
        .tables_answer_valid(tables_answer_valid), .tables_answer(tables_answer)
    );

    // ---- A job that is given up: by the write side, after bad data, by a reset, or at a faulting address ----
    wire [LG_TURNS-1:0] data_turn;
    wire        data_bad;
    wire stop = drop_all || (drop_turn_valid && drop_turn == turn_reg) || (data_bad && data_turn == turn_reg);
    wire stopping = stop || giving_up_reg;
    wire fault_now = valid && refused && !stopping && !cut_now_reg;
    wire give_up = generator_active && (stopping || fault_now);
    assign fault_met = fault_now;
    assign fault_slot = slot_reg;

    // ---- A job that makes way ----
    // At once where the destination is at the end of a block: before the first burst of a turn or of a descending job's
    // chunk, and anywhere else if both sides have their blocks at the same place. Otherwise the next burst is the turn's
    // last, up to there; from a turn's second burst on the source is at the beginning of a block.
    wire wants_cut = in_segment && urgent_waits && !urgent_reg && !cut_reg && !stopping;
    wire may_cut = wants_cut && !fault_now;
    wire at_block = first || (!descending_reg && shift_reg == 9'd0);
    wire leave = may_cut && at_block;
    // A burst waits a cycle until it is known whether its job ends in the block anyway.
    wire decide = may_cut && !at_block && !descending_reg && valid;
    wire trim = decide && decided_reg && !ends_reg;
    wire cut = leave || trim;
    wire cut_done = cut_reg && !giving_up_reg && !generator_active;
    assign job_back = cut_done || (fill_over && fill_cut);
    assign abort = give_up || leave || (cut_now_reg && generator_active);

    // ---- Bursts ----
    wire starts_short = {1'b0, position[2:0]} + {1'b0, shift_reg[2:0]} >= 4'd8;
    wire [2:0] last_lane = top[2:0];
    wire flush = {1'b0, last_lane} + {1'b0, shift_reg[2:0]} >= 4'd8;
    wire [6:0] entries = {1'b0, length} + {6'd0, !(first && starts_short)} + {6'd0, segment_last && flush};
    wire unused = &{address[2:0], local_rresp[0], host_rresp[0], 1'b0};

    // The arbiters in front of both memories steer nothing here in their own cycle: video memory's has a register to put an address
    // by; the host takes one only now and then, and a burst behind one is a cycle later.
    wire local_free;
    wire address_free = local_free && !host_valid_reg;
    // What is behind host data may have to wait on the bus for it, and for room: not on one that others share.
    wire order_ok = to_host || host_reg == 0;
    // Not from what is given up; what that has to do with a fault is told by the fault itself, as time is short.
    wire may_step = valid && !refused && !stopping && !cut_now_reg && !(wants_cut && at_block) && address_free && order_ok && entry_ready
        && (to_host || few_fly || !translated_reg) && (to_host || (urgent_reg || cut_reg ? room_ok : buffered_reg ? room_two : room_one));
    assign step = may_step && (!wants_cut || descending_reg || (decided_reg && ends_reg));
    assign token_step = token_reg && entry_ready && room_ok;

    wire [ENTRY_BITS-1:0] entry = token_reg
        ? {token_cut_reg, token_fault_reg, token_type_reg, 1'b0, 32'd0, 6'd0, 5'b00000, shift_reg[2:0]}
        : {2'b00, TYPE_BURST, to_host, position, length, first, segment_last, last && !cut_reg, starts_short, flush,
            shift_reg[2:0]};
    wire host_push = push && head_host && head_type == TYPE_BURST;
    // A job that is not urgent leaves room for more, so that no urgent job waits for more than a full FIFO: for the last burst of
    // its turn, and if a block is gathered before anything is written, for that too.
    ferry_read_room #(.LG_DATA(LG_DATA)) room (
        .clk(clk), .rst(rst), .reserve(token_step ? 7'd1 : step && !to_host ? entries : 7'd0), .host_push(host_push),
        .freed(freed), .any_burst(room_ok), .one_to_spare(room_one), .two_to_spare(room_two), .any_word(room_any)
    );

    // The entry at hand is a flip-flop in front of the FIFO: its data goes a long way to the data FIFO. No answer comes so
    // early that this holds it up.
    wire        next_valid;
    wire [ENTRY_BITS-1:0] next;
    wire        head_ready;
    reg         head_valid_reg;
    reg [ENTRY_BITS-1:0] head_reg;
    wire        next_take = !head_valid_reg || head_ready;
`ifdef FORMAL
    wire [LG_READS:0] entry_in, entry_out;
`endif
    wire        head_valid = head_valid_reg;
    wire [ENTRY_BITS-1:0] head = head_reg;
    wire        head_cut = head[ENTRY_BITS-1] && URGENT;
    wire        head_fault = head[ENTRY_BITS-2];
    wire [1:0]  head_type = head[ENTRY_BITS-3 -: 2];
    wire        head_host = head[ENTRY_BITS-5] && HOST;

    ferry_fifo #(.WIDTH(ENTRY_BITS), .LG_DEPTH(LG_READS)) entries_fifo (
        .clk(clk), .rst(rst), .in_valid(step || token_step), .in_ready(entry_ready), .in_data(entry),
        .out_valid(next_valid), .out_ready(next_take), .out_data(next)
`ifdef FORMAL
        , .formal_write(entry_in), .formal_read(entry_out)
`endif
    );

    wire fault_take;
    ferry_realigner #(.LG_TURNS(LG_TURNS), .HOST(HOST)) realigner (
        .clk(clk), .rst(rst),
        .burst_valid(head_valid), .burst_ready(head_ready), .burst_type(head_type), .burst_host(head_host),
        .burst_position(head[45:14]), .burst_length(head[13:8]), .burst_first(head[7]), .burst_segment_last(head[6]),
        .burst_last(head[5]), .burst_starts_short(head[4]), .burst_flush(head[3]), .burst_shift(head[2:0]),
        .burst_fault(head_fault), .burst_cut(head_cut),
        .pattern(pattern_reg), .host_room(room_any),
        .local_rdata(local_rdata), .local_rerror(local_rresp[1]), .local_rvalid(local_rvalid),
        .local_rready(local_rready), .host_rdata(host_rdata), .host_rerror(host_rresp[1]), .host_rfault(host_rfault),
        .host_rvalid(host_rvalid), .host_rready(host_rready),
        .push(push), .push_data(push_data), .push_last(push_last), .push_bad(push_bad),
        .push_cut(push_cut), .took_local(took_local), .took_host(took_host), .turn(data_turn), .turn_bad(data_bad),
        .address_fault_kind(fault_kind_reg),
        .address_fault_position(fault_position_reg), .address_fault_take(fault_take)
    );

    wire [LOCAL_ADDRESS_BITS-1:0] local_araddr;
    wire [5:0] local_arlen;
`ifdef FORMAL
    wire       kept;
    wire [LOCAL_ADDRESS_BITS-1:0] kept_address;
    wire [5:0] kept_length;
`endif
    ferry_skid_buffer #(.WIDTH(LOCAL_ADDRESS_BITS + 6)) local_address (
        .clk(clk), .rst(rst), .in_valid(local_valid_reg), .in_ready(local_free),
        .in_data({address_reg[LOCAL_ADDRESS_BITS-1:0], length_reg}),
        .out_valid(local_arvalid), .out_ready(local_arready), .out_data({local_araddr, local_arlen})
`ifdef FORMAL
        , .formal_kept(kept), .formal_word({kept_address, kept_length})
`endif
    );
`ifdef FORMAL_PORTS
    assign formal_local_waits = local_valid_reg && !local_free;
`endif
    assign local_ar[`FERRY_AXI_A_ADDRESS_RANGE] = {{(64-LOCAL_ADDRESS_BITS){1'b0}}, local_araddr};
    assign local_ar[`FERRY_AXI_A_LENGTH_RANGE] = {2'd0, local_arlen};
    assign local_ar[`FERRY_AXI_A_NO_SNOOP_RANGE] = 1'b0;
    assign local_ar[`FERRY_AXI_A_TAG_RANGE] = 8'd0;
    assign host_ar[`FERRY_AXI_A_ADDRESS_RANGE] = address_reg;
    assign host_ar[`FERRY_AXI_A_LENGTH_RANGE] = {2'd0, length_reg};
    assign host_ar[`FERRY_AXI_A_NO_SNOOP_RANGE] = nosnoop_reg;
    assign host_ar[`FERRY_AXI_A_TAG_RANGE] = 8'd0;
    assign host_arvalid = host_valid_reg;
    assign block_coming = coming_reg;
    assign busy = head_valid || next_valid;
    assign progress = step || token_step || took_local || took_host || (local_arvalid && local_arready)
        || (host_valid_reg && host_arready);

    wire host_done = head_valid && head_ready && head_host && head_type == TYPE_BURST;
    wire end_asked = step && last && !cut_reg;
    wire end_done = head_valid && head_ready && head[5] && head_type == TYPE_BURST;

    always @(posedge clk) begin
        if (start) begin
            turn_reg <= turn_reg + 1'b1;
            slot_reg <= job_slot;
            urgent_reg <= job_urgent;
            descending_reg <= job_descending;
            buffered_reg <= job_buffered;
            translated_reg <= job_translated;
            shift_reg <= job_shift;
        end
        if (start && !job_urgent) begin
            resume_reg <= 1'b0;
        end

        decided_reg <= decide && !trim && !step;
        ends_reg <= last && top <= ~shift_reg;
        if (cut) begin
            cut_reg <= 1'b1;
            cut_now_reg <= leave;
            // The source's place that belongs to the end of the destination's block.
            place_reg <= leave ? place : {place[32:9], 9'd0 - shift_reg};
            place_last_reg <= segment_last;
        end
        if (cut_done) begin
            resume_reg <= 1'b1;
        end
        if (cut_done || (giving_up_reg && !generator_active)) begin
            cut_reg <= 1'b0;
            cut_now_reg <= 1'b0;
        end
        if (start && kept_fill) begin
            fill_reg <= 1'b1;
            long_reg <= job_last[31:9] != 23'd0;
        end else if (fill_over) begin
            fill_reg <= 1'b0;
        end
        if (start && is_forget) begin
            forgets_reg <= 1'b1;
        end else if (forget_over) begin
            forgets_reg <= 1'b0;
        end
        if (start && is_fill && !dropped && !job_empty) begin
            pattern_reg <= pattern;
            pattern_busy_reg <= 1'b1;
        end
        if (head_valid && head_ready && head_type == TYPE_FILL) begin
            pattern_busy_reg <= 1'b0;
        end

        if (token_step) begin
            token_reg <= 1'b0;
        end
        if (start && no_bursts) begin
            token_reg <= 1'b1;
            token_type_reg <= dropped ? TYPE_BAD : job_empty ? TYPE_EMPTY : TYPE_FILL;
            token_fault_reg <= 1'b0;
            token_cut_reg <= 1'b0;
        end

        if (fault_now) begin
            fault_reg <= 1'b1;
            fault_kind_reg <= fault;
            fault_position_reg <= position;
        end else if (fault_take) begin
            fault_reg <= 1'b0;
        end
        if (give_up) begin
            giving_up_reg <= 1'b1;
        end
        if (cut_done || (giving_up_reg && !generator_active)) begin
            giving_up_reg <= 1'b0;
            token_reg <= 1'b1;
            token_type_reg <= TYPE_BAD;
            token_fault_reg <= !cut_done && fault_reg;
            token_cut_reg <= cut_done;
        end

        if (next_take) begin
            head_valid_reg <= next_valid;
            head_reg <= next;
        end

        if (local_free) begin
            local_valid_reg <= 1'b0;
        end
        if (host_arready) begin
            host_valid_reg <= 1'b0;
        end
        if (step) begin
            address_reg <= {address[63:3], 3'd0};
            length_reg <= length;
            nosnoop_reg <= nosnoop;
            local_valid_reg <= !to_host;
            host_valid_reg <= to_host;
        end
        flying_reg <= flying_reg + (step && !to_host ? {{(LG_DATA-6){1'b0}}, {1'b0, length} + 7'd1} : {(LG_DATA+1){1'b0}})
            - {{LG_DATA{1'b0}}, took_local};
        host_reg <= host_reg + {{LG_READS{1'b0}}, step && to_host} - {{LG_READS{1'b0}}, host_done};
        ends_out_reg <= ends_out_reg + {{LG_READS{1'b0}}, end_asked} - {{LG_READS{1'b0}}, end_done};
        coming_reg <= TABLES != 0 && host_reg == 0 && (block_out || ends_out_reg != 0);
        if (rst) begin
            turn_reg <= {LG_TURNS{1'b1}};
            urgent_reg <= 1'b0;
            resume_reg <= 1'b0;
            cut_reg <= 1'b0;
            cut_now_reg <= 1'b0;
            decided_reg <= 1'b0;
            fill_reg <= 1'b0;
            forgets_reg <= 1'b0;
            token_reg <= 1'b0;
            pattern_busy_reg <= 1'b0;
            head_valid_reg <= 1'b0;
            fault_reg <= 1'b0;
            giving_up_reg <= 1'b0;
            local_valid_reg <= 1'b0;
            host_valid_reg <= 1'b0;
            host_reg <= {(LG_READS + 1){1'b0}};
            flying_reg <= {(LG_DATA + 1){1'b0}};
            ends_out_reg <= {(LG_READS + 1){1'b0}};
            coming_reg <= 1'b0;
        end
    end

`ifdef FORMAL
`include "ferry_read_side_properties.vh"
`endif
endmodule

`default_nettype wire
