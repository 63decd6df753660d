// SPDX-License-Identifier: Apache-2.0
// Write side, addresses: starts jobs in order, announces their write bursts on the local or the host port once the data
// FIFO holds enough, and passes each burst to ferry_write_data (its beats) and to ferry_retire (its response).
//
// Enough is: the burst's first word for a copy inside video memory; when the host may be involved or the job descends, all
// of it, which is known when a block's 64 words are there or the job's last word is; between pages, which may be the host's,
// the first word again where this burst's are not and the rest is on its way from video memory (block_coming). `have` counts
// good words in the FIFO that no announced burst has claimed, `ends` jobs' last words among them; who goes by the first word
// claims words still to come, so both may be below zero.
//
// A turn whose job makes way for urgent ones ends with a cut: what the read side had asked for is written, up to the end of
// a block, then the cut's one bad word is thrown away, and the place is kept here until the job's next turn. A long fill,
// of which the read side knows nothing but the pattern, is cut here, as soon as an urgent turn stands behind it.
//
// A job that does not write (READ, no bytes, dropped, faulted) has its words thrown away up to its last (drain), and a
// marker takes the place of its last burst in ferry_retire.
`include "ferry_contract.vh"
`default_nettype none

module ferry_write_side #(
    // Bits of a video memory address.
    parameter LOCAL_ADDRESS_BITS = 26,
    // Pages in the aperture table.
    parameter APERTURE_PAGES = 4096,
    // 1: a side may be a page list.
    parameter LISTS = 1,
    // 1: there is a page-table unit.
    parameter TABLES = 1,
    // 1: there are urgent jobs.
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
    input  wire        job_empty,
    input  wire [31:0] job_last,
    input  wire [15:0] job_list_base,
    input  wire [3:0]  job_space,

    // The turn of a fill that is not urgent is over, and whether its job was left half done.
    output wire        fill_over,
    output wire        fill_cut,

    // The turn of a FORGET begins: nothing is remembered any more that was to be forgotten, or its slot is dropped.
    output wire        forget_over,
    // Page-table unit: what it is to forget; held until it has.
    output wire        forget_valid,
    input  wire        forget_ready,
    output wire [`FERRY_FORGET_BITS-1:0] forget,

    // Slots whose jobs are dropped (all of them during a reset).
    input  wire [3:0]  drop,

    // Limits of video memory, clipped (ferry_limits).
    input  wire [LOCAL_ADDRESS_BITS:0] local_limit,
    input  wire [LOCAL_ADDRESS_BITS:0] protect_base,
    input  wire [LOCAL_ADDRESS_BITS:0] protect_limit,

    // Behind words that are there the next block of their turn, or its rest, is on its way from video memory.
    input  wire        block_coming,
    // The write side is told of a good or a bad word (ferry_data_fifo), the bad one for a cut; the bad words are gone.
    input  wire        push_good,
    input  wire        push_bad,
    input  wire        push_cut,
    // The good word is its job's last.
    input  wire        push_last,
    input  wire        resolved,

    // Bursts for ferry_write_data.
    output wire        burst_valid,
    input  wire        burst_ready,
    output wire        burst_host,
    // Its beats less one.
    output wire [5:0]  burst_length,
    output wire [2:0]  burst_first_lane,
    output wire [2:0]  burst_last_lane,
    output wire        burst_last,
    output wire        burst_fill,
    // Every burst passed on has been sent.
    input  wire        bursts_done,
    // The turn whose words come next out of the data FIFO.
    input  wire [LG_TURNS-1:0] word_turn,
    // Throw this job's words away; drain_done ends it, drain_good tells of each good word.
    output wire        drain,
    input  wire        drain_good,
    input  wire        drain_done,
    // The job writes no more: its reads are pointless (but for READ, which is nothing but its read).
    output wire        give_up,
    // The turn at hand; whether it goes on with a job, and which class's job it is.
    output wire        active,
    output wire [LG_TURNS-1:0] active_turn,
    output wire        active_resumed,
    output wire        active_urgent,
    output wire [1:0]  active_slot,
    output wire        active_descending,
    // Of a descending job: offset of the last byte that no announced burst writes.
    output wire [31:0] active_place,
    // The drain is for a fault of the job's own address.
    output wire        fault_valid,
    output wire [7:0]  fault_kind,
    output wire [31:0] fault_position,
    // Its level, if it is of the page tables.
    output wire [1:0]  fault_level,

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
    // Page-table unit; see ferry_address_generator.
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
    input  wire        host_awready
`ifdef FORMAL
    ,
    // For proofs: the burst announced last goes to the host.
    output wire        formal_latest_host
`endif
);
    reg        active_reg;
    reg [LG_TURNS-1:0] turn_reg;
    reg        urgent_reg;
    reg        resumed_reg;
    reg [1:0]  slot_reg;
    reg        descending_reg;
    reg        buffered_reg;
    reg        fill_reg;
    reg        kept_fill_reg;
    reg        long_fill_reg;
    // The job writes nothing.
    reg        silent_reg;
    reg        drain_reg;
    reg        drained_reg;
    reg        fault_reg;
    reg [7:0]  fault_kind_reg;
    reg [31:0] fault_position_reg;

    reg signed [LG_DATA+1:0] have_reg;
    reg signed [LG_TURNS+1:0] ends_reg;
    // Bad words lie in the FIFO: no more good ones come. They are a cut's.
    reg        frozen_reg;
    reg        frozen_cut_reg;
    // The turn being drained ends with a cut.
    reg        fill_cut_reg;
    reg        cut_reg;
    // A job that is not urgent was left at this place, and is the next of its class.
    reg        resume_reg;
    reg [32:0] place_reg;
    reg        place_last_reg;
    // The next turn is a FORGET: the page-table unit is told; it has forgotten.
    reg        forget_reg;
    reg        forgotten_reg;

    reg [63:0] address_reg;
    reg [5:0]  length_reg;
    reg        nosnoop_reg;
    reg [7:0]  tag_reg;
    reg        local_valid_reg;
    reg        host_valid_reg;
    // The burst announced last goes to the host.
    reg        to_host_reg;

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
    wire        last;
    wire        refused;
    wire [7:0]  fault;
    wire        first;
    wire        segment_last;

    // ---- Start ----
    wire is_fill = job_op == `FERRY_JOB_OP_FILL;
    wire is_forget = job_op == `FERRY_JOB_OP_FORGET && TABLES != 0;
    wire silent = job_op == `FERRY_JOB_OP_READ || is_forget || job_empty;
    wire finish = step && last;
    wire ordered_ok = is_forget ? forgotten_reg || (dropped && !forget_reg) : !is_fill || job_unordered || job_first;
    wire start = job_valid && (!active_reg || finish) && generator_ready && ordered_ok;
    wire resume = resume_reg && !job_urgent;
    assign job_take = start;

    // ---- FORGET: told as soon as all before it is done, be a turn of the other class still at hand ----
    wire dropped = drop[job_slot];
    wire tell_forget = job_valid && is_forget && job_first && !dropped && !forgotten_reg;
    assign forget_over = start && is_forget;
    assign forget_valid = forget_reg;
    assign forget[`FERRY_FORGET_SCOPE_RANGE] = job_base[1:0];
    assign forget[`FERRY_FORGET_SPACE_RANGE] = job_space;
    assign forget[`FERRY_FORGET_PAGE_RANGE] = job_base[47:12];

    ferry_address_generator #(
        .LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS), .APERTURE_PAGES(APERTURE_PAGES), .LISTS(LISTS), .TABLES(TABLES),
        .URGENT(URGENT), .WRITES(1)
    ) generator (
        .clk(clk), .rst(rst),
        .start(start && !silent), .start_ready(generator_ready), .base(job_base), .last_byte(job_last),
        .kind(job_kind), .is_list(job_is_list), .list_base(job_list_base), .space(job_space),
        .may_protected(job_protected),
        .descending(job_descending), .chunk_end(job_chunk_end), .resume(resume), .resume_place(place_reg), .resume_last(place_last_reg),
        .trim(1'b0), .trim_top(9'd0), .abort(drain_reg), .active(generator_active), .in_segment(in_segment),
        .place(place),
        .burst_valid(valid), .burst_step(step), .start_step(step), .burst_host(to_host), .burst_nosnoop(nosnoop),
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
    wire unused = &{in_segment, first, top[8:3], address[2:0], have_next[0], ends_next[0], 1'b0};

    // ---- Bursts ----
    wire word_there = have_reg > 0;
    // Not compared with the burst's own beats, which are known late in a cycle.
    wire block_there = !have_reg[LG_DATA+1] && (|have_reg[LG_DATA:6]);
    wire end_there = !ends_reg[LG_TURNS+1] && ends_reg != 0;
    // Before a cut lie whole bursts: what is there is all of them.
    wire cut_there = frozen_cut_reg && word_there;
    // Between pages the host may be involved or not: where neither this burst goes there nor its data comes from there, it waits
    // for its first word alone. What goes down has to be read before it is written.
    wire goes_on = word_there && block_coming && !to_host && !descending_reg;
    wire enough = buffered_reg && !fill_reg ? block_there || end_there || cut_there || goes_on : word_there;
    wire stopped = silent_reg || drop[slot_reg];
    wire faulty = valid && refused;
    // The host takes an address only now and then: a burst behind one is a cycle later, and the arbiter in front of it steers nothing
    // here in its own cycle.
    wire address_free = (!local_valid_reg || local_awready) && !host_valid_reg;
    // No burst is announced to one memory while data for the other is still in front of it: there others would wait for that
    // data, fence records behind memory that is dead, or posted writes of the host behind a link that does not take ours.
    wire in_turn = to_host == to_host_reg || bursts_done;
    // An urgent turn stands behind a long fill.
    wire make_way = long_fill_reg && job_valid && job_urgent;
    assign step = active_reg && valid && !faulty && !stopped && !drain_reg && !make_way && enough && in_turn && address_free
        && burst_ready && note_ready;

    // A fill has one word, which its last burst takes. No word is drained while bursts go out. What comes last in the cycle,
    // the new word, is a carry into one adder: the lower bit is 1 + 1 then.
    wire signed [LG_DATA+1:0] claim = fill_reg ? {(LG_DATA+2){last}} : {{(LG_DATA-4){1'b1}}, ~length};
    wire signed [LG_DATA+1:0] minus = step ? claim : {(LG_DATA+2){drain_good}};
    wire [LG_TURNS+1:0] ends_minus = {(LG_TURNS+2){(step && last) || (drain_done && drain_good)}};
    wire [LG_DATA+2:0] have_next = {have_reg, 1'b1} + {minus, push_good};
    wire [LG_TURNS+2:0] ends_next = {ends_reg, 1'b1} + {ends_minus, push_good && push_last};

    assign burst_valid = step;
    assign burst_host = to_host;
    assign burst_length = length;
    assign burst_first_lane = position[2:0];
    assign burst_last_lane = top[2:0];
    assign burst_last = last;
    assign burst_fill = fill_reg;

    // ---- Giving up ----
    wire drain_start = active_reg && !drain_reg && bursts_done
        && (stopped || faulty || make_way || (frozen_reg && valid && !enough && word_turn == turn_reg));
    wire marker = drained_reg && !generator_active && note_ready;
    wire turn_over = finish || marker;
    assign job_back = marker && cut_reg;
    assign fill_over = turn_over && kept_fill_reg;
    assign fill_cut = job_back;

    assign drain = drain_reg && !drained_reg;
    assign give_up = drain_reg && !silent_reg;
    assign active = active_reg;
    assign active_turn = turn_reg;
    assign active_resumed = resumed_reg;
    assign active_urgent = urgent_reg;
    assign active_slot = slot_reg;
    assign active_descending = descending_reg;
    assign active_place = place[31:0];
    assign fault_valid = fault_reg;
    assign fault_kind = fault_kind_reg;
    assign fault_position = fault_position_reg;

    assign note_valid = step || marker;
    assign note_marker = drained_reg;
    assign note_last = drained_reg || last;
    assign note_cut = drained_reg && cut_reg;
    assign note_urgent = urgent_reg;
    assign note_host = to_host;
    assign note_slot = slot_reg;
    assign note_position = position;

    wire [LOCAL_ADDRESS_BITS-1:0] local_awaddr = address_reg[LOCAL_ADDRESS_BITS-1:0];
    assign local_aw[`FERRY_AXI_A_ADDRESS_RANGE] = {{(64-LOCAL_ADDRESS_BITS){1'b0}}, local_awaddr};
    assign local_aw[`FERRY_AXI_A_LENGTH_RANGE] = {2'd0, length_reg};
    assign local_aw[`FERRY_AXI_A_NO_SNOOP_RANGE] = 1'b0;
    assign local_aw[`FERRY_AXI_A_TAG_RANGE] = 8'd0;
    assign local_awvalid = local_valid_reg;
    assign host_aw[`FERRY_AXI_A_ADDRESS_RANGE] = address_reg;
    assign host_aw[`FERRY_AXI_A_LENGTH_RANGE] = {2'd0, length_reg};
    assign host_aw[`FERRY_AXI_A_NO_SNOOP_RANGE] = nosnoop_reg;
    assign host_aw[`FERRY_AXI_A_TAG_RANGE] = tag_reg;
    assign host_awvalid = host_valid_reg;

    always @(posedge clk) begin
        if (turn_over) begin
            active_reg <= 1'b0;
        end
        if (start) begin
            active_reg <= 1'b1;
            turn_reg <= turn_reg + 1'b1;
            urgent_reg <= job_urgent;
            resumed_reg <= resume;
            kept_fill_reg <= is_fill && !job_urgent && !job_empty;
            long_fill_reg <= is_fill && !job_urgent && job_last[31:9] != 23'd0 && !job_empty;
            slot_reg <= job_slot;
            descending_reg <= job_descending;
            buffered_reg <= job_buffered;
            fill_reg <= is_fill;
            silent_reg <= silent;
        end
        // What is told stays until it is forgotten, whatever becomes of the job.
        forget_reg <= (forget_reg || tell_forget) && !(forget_reg && forget_ready);
        forgotten_reg <= (forgotten_reg || (forget_reg && forget_ready)) && !start;

        if (step) begin
            to_host_reg <= to_host;
        end
        if (drain_start) begin
            drain_reg <= 1'b1;
            fill_cut_reg <= make_way && !stopped && !faulty;
            fault_reg <= faulty && !stopped;
            fault_kind_reg <= fault;
            fault_position_reg <= position;
        end
        if (drain_done) begin
            drained_reg <= 1'b1;
            // By its last word: of a fill's turn that makes way it is the pattern.
            cut_reg <= fill_cut_reg || (frozen_cut_reg && !drain_good);
        end
        if (job_back) begin
            resume_reg <= 1'b1;
            place_reg <= place;
            place_last_reg <= segment_last;
        end else if (start && !job_urgent) begin
            resume_reg <= 1'b0;
        end
        if (marker) begin
            drain_reg <= 1'b0;
            drained_reg <= 1'b0;
            fault_reg <= 1'b0;
        end

        have_reg <= have_next[LG_DATA+2:1];
        ends_reg <= ends_next[LG_TURNS+2:1];
        if (push_bad) begin
            frozen_reg <= 1'b1;
            frozen_cut_reg <= push_cut;
        end
        if (resolved) begin
            frozen_reg <= 1'b0;
            frozen_cut_reg <= 1'b0;
            have_reg <= {(LG_DATA+2){1'b0}};
            ends_reg <= {(LG_TURNS+2){1'b0}};
        end

        if (local_awready) begin
            local_valid_reg <= 1'b0;
        end
        if (host_awready) begin
            host_valid_reg <= 1'b0;
        end
        if (step) begin
            address_reg <= {address[63:3], 3'd0};
            length_reg <= length;
            nosnoop_reg <= nosnoop;
            // As it is now: the slot may be another buffer's before memory that was given up on takes the address.
            tag_reg <= slot_tags[{slot_reg, 3'd0} +: 8];
            local_valid_reg <= !to_host;
            host_valid_reg <= to_host;
        end
        if (rst) begin
            active_reg <= 1'b0;
            turn_reg <= {LG_TURNS{1'b1}};
            resume_reg <= 1'b0;
            forget_reg <= 1'b0;
            forgotten_reg <= 1'b0;
            drain_reg <= 1'b0;
            drained_reg <= 1'b0;
            fault_reg <= 1'b0;
            frozen_reg <= 1'b0;
            frozen_cut_reg <= 1'b0;
            have_reg <= {(LG_DATA+2){1'b0}};
            ends_reg <= {(LG_TURNS+2){1'b0}};
            local_valid_reg <= 1'b0;
            host_valid_reg <= 1'b0;
        end
    end

`ifdef FORMAL
    // Only one of the two ports has a burst at a time; both are AXI4, with bursts of one block. A turn stands until it is taken.
    assign formal_latest_host = to_host_reg;
    reg past_valid = 1'b0;
    wire [73:0] turn = {job_op, job_urgent, job_slot, job_base, job_space};
    reg turn_stands = 1'b0;
    reg [73:0] turn_stood = 0;
    always @(*) assume (!turn_stands || (job_valid && turn == turn_stood));
    always @(posedge clk) begin
        past_valid <= 1'b1;
        turn_stands <= job_valid && !job_take && !rst;
        turn_stood <= turn;
        if (past_valid && !rst && !$past(rst)) begin
            // What is told is forgotten, whatever becomes of the job; the job itself goes on only then, or does nothing.
            assert (!$past(forget_valid && !forget_ready) || (forget_valid && $stable(forget)));
            assert (!$past(forget_valid && forget_ready) || !forget_valid);
            assert (!$past(forget_over) || $past(forgotten_reg || dropped));
            cover ($past(forget_over && forgotten_reg && !dropped));
            cover ($past(forget_over && forgotten_reg && dropped));
        end
    end
    always @(*) begin
        assume (past_valid || rst);
        if (past_valid && !rst) begin
            assert (!(local_valid_reg && host_valid_reg));
            assert (!drain_reg || active_reg);
            assert (!(forget_reg && forgotten_reg));
            assert (!(forget_reg || forgotten_reg) || (job_valid && is_forget));
        end
    end
    axi4_address_properties #(.BEATS(64)) local_aw_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(local_awvalid), .ready(local_awready),
        .page_offset(address_reg[11:0]), .page({{(64-LOCAL_ADDRESS_BITS){1'b0}}, local_awaddr[LOCAL_ADDRESS_BITS-1:12]}),
        .length(local_aw[`FERRY_AXI_A_LENGTH_RANGE]), .extra(1'b0)
    );
    axi4_address_properties #(.BEATS(64), .EXTRA(9)) host_aw_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(host_awvalid), .ready(host_awready),
        .page_offset(address_reg[11:0]), .page(address_reg[63:12]), .length(host_aw[`FERRY_AXI_A_LENGTH_RANGE]),
        .extra({host_aw[`FERRY_AXI_A_NO_SNOOP_RANGE], host_aw[`FERRY_AXI_A_TAG_RANGE]})
    );
`endif
endmodule

`default_nettype wire
