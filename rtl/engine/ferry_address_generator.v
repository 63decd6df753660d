// SPDX-License-Identifier: Apache-2.0
// Turns one side of a job into bursts: walks the range, finds the page of each position (directly, from the aperture
// table, or from a page list), checks video memory accesses, cuts at 512-byte blocks. Shows one burst a cycle; the
// next page is asked for while the bursts of the present one go out, so a change of page costs no cycle. Pages of a list
// that are neighbours in memory are joined to the present range: up to 15 of them are known ahead, so that a list port
// which is busy for a while holds no joined page back. A range is only counted on inside 16 MiB, which keeps that
// counter short. The aperture is read one page ahead only, as its entries may change behind the job.
//
// An entry of a list is a bus address of 52 bits, of a page's first byte: one with any other bit set is never used, and
// the first burst of its page is a RANGE fault.
//
// A descending job (destination overlaps above the source) goes by chunks from its end: each chunk is one block of the
// destination, and one segment for the realigner.
//
// A job may be left half done and gone on with later: `place` says how far it was walked, and a job that is resumed starts
// there. A trim makes the present burst, or the first bytes of it, the last.
//
// GPU page tables: one more address kind here, asking its own translation port.
`include "ferry_contract.vh"
`default_nettype none

module ferry_address_generator #(
    // Bits of a video memory address.
    parameter LOCAL_ADDRESS_BITS = 26,
    // Pages in the aperture table; 0: there is none, every access to it is a RANGE fault.
    parameter APERTURE_PAGES = 4096,
    // 1: a side may be a page list.
    parameter LISTS = 1
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // A job is taken in the cycle start is 1, which needs start_ready. last_byte is its length less one.
    input  wire        start,
    output wire        start_ready,
    input  wire [63:0] base,
    input  wire [31:0] last_byte,
    input  wire [1:0]  kind,
    // This side is a page list at list_base in command RAM; base is then the offset in its first page.
    input  wire        is_list,
    input  wire [15:0] list_base,
    input  wire        may_protected,
    // Go down by chunks; chunk_end is the low part of the address of the destination's last byte.
    input  wire        descending,
    input  wire [8:0]  chunk_end,
    // With start: go on at resume_place, where the job was left; burst_segment_last said resume_last then.
    input  wire        resume,
    input  wire [32:0] resume_place,
    input  wire        resume_last,
    // The burst shown is the last, and this is the place of its last byte in its block. Not of a descending job.
    input  wire        trim,
    input  wire [8:0]  trim_top,
    // Give the job up; active falls as soon as no request is half made and none is unanswered.
    input  wire        abort,
    // A job is being walked; bursts of it are at hand.
    output wire        active,
    output wire        in_segment,
    // How far the job was walked: the position of the present burst; of a descending job the offset of the last byte of
    // the present chunk, where it may be left only before the chunk's first burst.
    output wire [32:0] place,

    // The present burst. Position is the low part of the address as the job named it.
    output wire        burst_valid,
    input  wire        burst_step,
    // It is taken, and if it is the job's last the next job may be taken with it.
    input  wire        start_step,
    output wire        burst_host,
    output wire        burst_nosnoop,
    output wire [63:0] burst_address,
    output wire [31:0] burst_position,
    // Place of its last byte in its 512-byte block.
    output wire [8:0]  burst_top,
    output wire [6:0]  burst_beats,
    // First burst of a segment, last burst of a segment, last burst of the job.
    output wire        burst_first,
    output wire        burst_segment_last,
    output wire        burst_last,
    // Not NONE: this burst must not be issued.
    output wire [7:0]  burst_fault,

    // Limits of video memory, clipped (ferry_limits).
    input  wire [LOCAL_ADDRESS_BITS:0] local_limit,
    input  wire [LOCAL_ADDRESS_BITS:0] protect_base,
    input  wire [LOCAL_ADDRESS_BITS:0] protect_limit,

    // Page list in command RAM.
    output wire        list_valid,
    input  wire        list_ready,
    output wire [15:0] list_address,
    input  wire        list_data_valid,
    input  wire [63:0] list_data,

    // Aperture table.
    output wire        lookup_valid,
    input  wire        lookup_ready,
    output wire [31:0] lookup_page,
    input  wire        result_valid,
    input  wire        result_hit,
    input  wire        result_snoop,
    input  wire [51:12] result_page
);
    // Bits of an aperture page number; the number of pages is a power of two.
    localparam LG_PAGES = APERTURE_PAGES == 0 ? 0 : $clog2(APERTURE_PAGES);
    localparam [0:0] HAS_APERTURE = APERTURE_PAGES != 0;
    localparam [0:0] HAS_LISTS = LISTS != 0;

    // The job.
    reg [63:0] base_reg;
    reg [1:0]  kind_reg;
    reg        local_reg;
    reg        list_reg;
    reg [15:0] list_base_reg;
    reg        may_protected_reg;
    reg [8:0]  chunk_end_reg;
    // A segment is in the cutter, the job's last one.
    reg        active_reg;
    reg        final_reg;
    // Descending: offset of the last byte below the present chunk (all ones: none); a chunk is to be chosen, to be located,
    // to be loaded; its bytes less one and the position of its first.
    reg [31:0] below_reg;
    // Descending: below_reg as it was before the present chunk.
    reg [31:0] chunk_last_reg;
    reg        descending_reg;
    reg        choose_reg;
    reg        choose_first_reg;
    reg        locate_reg;
    reg        load_reg;
    reg [8:0]  chunk_reg;
    reg [32:0] chunk_position_reg;
    reg        first_reg;
    // Of the present burst or its whole block, until it is exact: outside video memory, in its protected range; outside the
    // aperture, behind the last address.
    reg        beyond_reg;
    reg        protected_reg;
    reg        exact_reg;
    reg        outside_reg;
    reg        wraps_reg;
    // Of the job: its base is not below 2^32; it is in the last 2^32 bytes that there are.
    reg        far_base_reg;
    reg        top_base_reg;
    // Present range: its page, and how many pages of the job follow it as neighbours in memory.
    reg [39:0] page_reg;
    reg [3:0]  joined_reg;
    reg        page_valid_reg;
    reg        snoop_reg;
    reg        hit_reg;
    // The page after the range.
    reg [39:0] next_page_reg;
    reg        next_valid_reg;
    reg        next_snoop_reg;
    reg        next_hit_reg;
    // Page to ask for next, as the job names it; there is one; a translation has been asked for and not come.
    reg [32:12] ask_reg;
    reg        more_reg;
    reg        pending_reg;

    wire from_list = list_reg && HAS_LISTS;
    // A list is one of host pages, whatever kind its side claims.
    wire is_aperture = kind_reg == `FERRY_ADDRESS_KIND_APERTURE && !from_list;
    wire translated = (is_aperture && HAS_APERTURE) || from_list;

    // ---- Loading a segment: the whole job, or a chunk of a descending one ----
    wire load_whole = start && !descending;
    wire load = load_whole || load_reg;
    wire [32:0] load_position;
    ferry_choice #(.WIDTH(33)) chunk_or_whole (
        .second(load_reg), .word0({1'b0, base[31:0]}), .word1(chunk_position_reg), .chosen(load_position)
    );
    wire [31:0] load_last = load_reg ? {23'd0, chunk_reg} : last_byte;
    wire        load_left = !load_reg && resume;
    wire [32:0] load_from;
    ferry_choice #(.WIDTH(33)) left_or_begun (
        .second(load_left), .word0(load_position), .word1(resume_place), .chosen(load_from)
    );

    wire [8:0] chunk_top = choose_first_reg ? chunk_end_reg : 9'd511;
    wire chunk_final = below_reg[31:9] == 0 && below_reg[8:0] <= chunk_top;
    wire [8:0] chunk = chunk_final ? below_reg[8:0] : chunk_top;

    // ---- Bursts ----
    wire [32:0] position;
    wire [32:12] end_page;
    wire last;
    wire page_end;

    wire [32:9] next_block;
    wire        again;

    ferry_burst_cutter #(.LG_BLOCK(9)) cutter (
        .clk(clk), .busy(active_reg), .load(load), .load_position(load_position), .load_last(load_last),
        .load_from(load_from), .load_left(load_left), .load_left_last(resume_last),
        .trim(trim), .trim_top(trim_top), .step(burst_step), .position(position), .top(burst_top),
        .again(again), .next_block(next_block),
        .beats(burst_beats), .last(last), .page_end(page_end),
        .end_page(end_page)
`ifdef FORMAL
        , .formal_end(formal_end), .formal_whole_end(formal_whole_end)
`endif
    );

`ifdef FORMAL
    wire [32:0] formal_end, formal_whole_end;
`endif

    // The position has 33 bits: bit 32 is the carry into the upper half of the address.
    wire [31:0] high = base_reg[63:32] + {31'd0, position[32]};

    // ---- Checks ----
    // As a burst is worked out, which is the cycle before it is shown: of its whole block, as its last byte is not known
    // then. If that is not clear of all limits, the burst waits a cycle for the exact answer (again).
    wire clear = !beyond_reg && (!protected_reg || may_protected_reg);
    assign again = active_reg && local_reg && !clear && !exact_reg;
    // The job's upper half is not 0, or as high as can be.
    wire own_base = load_reg || (active_reg && (!last || again));
    wire far_next = (own_base ? far_base_reg : base[63:32] != 0) || next_block[32];
    wire top_base = own_base ? top_base_reg : &base[63:32];
    wire in_range;
    wire in_protected;

    // Of an address from 2^32 on, the check need only know that it is one.
    ferry_access_check #(.LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS)) check (
        .block({31'd0, far_next, next_block[31:9]}), .first(again ? position[8:0] : 9'd0),
        .last(again ? burst_top : 9'd511), .local_limit(local_limit), .protect_base(protect_base),
        .protect_limit(protect_limit), .in_range(in_range), .in_protected(in_protected)
    );

    // Pages beyond the aperture are not looked up.
    wire outside = is_aperture && outside_reg;
    wire range = local_reg ? beyond_reg : is_aperture ? outside_reg : !from_list && wraps_reg;

    assign burst_valid = active_reg && (local_reg ? clear || exact_reg : !translated || page_valid_reg || outside);
    assign burst_host = !local_reg;
    assign burst_nosnoop = is_aperture && !snoop_reg;
    assign burst_address = translated ? {12'd0, page_reg, position[11:0]} : {high, position[31:0]};
    assign burst_position = position[31:0];
    assign burst_first = first_reg;
    assign burst_segment_last = last;
    assign burst_last = last && final_reg;
    assign burst_fault = range ? `FERRY_FAULT_KIND_RANGE
        : local_reg ? (protected_reg && !may_protected_reg ? `FERRY_FAULT_KIND_PROTECTED : `FERRY_FAULT_KIND_NONE)
        : translated && !hit_reg ? (is_aperture ? `FERRY_FAULT_KIND_APERTURE_INVALID : `FERRY_FAULT_KIND_RANGE)
        : `FERRY_FAULT_KIND_NONE;

    // ---- Translation, ahead ----
    wire ask = active_reg && translated && more_reg && !pending_reg && !next_valid_reg && !outside && !(&joined_reg);
    wire asked = from_list ? list_valid && list_ready : lookup_valid && lookup_ready;
    wire answer = pending_reg && (HAS_LISTS || HAS_APERTURE) && (from_list ? list_data_valid : result_valid);
    wire [39:0] answer_page;
    ferry_choice #(.WIDTH(40)) from_where (
        .second(from_list), .word0(result_page), .word1(list_data[51:12]), .chosen(answer_page)
    );
    wire list_sound = list_data[63:52] == 12'd0 && list_data[11:0] == 12'd0;
    wire answer_hit = from_list ? list_sound : result_hit;
    wire answer_snoop = from_list || result_snoop;

    assign list_valid = ask && from_list;
    assign list_address = list_base_reg + {ask_reg[24:12], 3'd0};
    assign lookup_valid = ask && !from_list;
    assign lookup_page = {12'd0, ask_reg[31:12]};

    // A page is left behind; the range with it.
    wire turn = burst_step && page_end && !last;
    wire leave = turn && joined_reg == 0;
    wire stays = page_valid_reg && !leave;
    // The page behind the range; its top bit: it is in the next 16 MiB.
    wire [12:0] behind = {1'b0, page_reg[11:0]} - ~{9'd0, joined_reg};
    wire neighbour = from_list && hit_reg && answer_hit && answer_page[39:12] == page_reg[39:12]
        && {1'b0, answer_page[11:0]} == behind;
    wire widen = answer && stays && neighbour;

    wire give_up = abort && !(ask && !asked) && !(pending_reg && !answer) && !asked;

    assign active = active_reg || choose_reg || locate_reg || load_reg;
    assign in_segment = active_reg;
    assign place = descending_reg ? {1'b0, chunk_last_reg} : position;
    assign start_ready = (!active || (start_step && last && final_reg)) && !pending_reg && !abort;

    always @(posedge clk) begin
        choose_reg <= 1'b0;
        locate_reg <= choose_reg;
        load_reg <= locate_reg;
        // base + below + 1, as one adder.
        chunk_position_reg <= {1'b0, base_reg[31:0]} - ~{&below_reg, below_reg};
        if (choose_reg) begin
            chunk_reg <= chunk;
            final_reg <= chunk_final;
            below_reg <= below_reg + {23'h7fffff, ~chunk};
            chunk_last_reg <= below_reg;
            choose_first_reg <= 1'b0;
        end

        if (answer && !stays) begin
            page_valid_reg <= 1'b1;
            page_reg <= answer_page;
            snoop_reg <= answer_snoop;
            hit_reg <= answer_hit;
        end else if (leave) begin
            page_valid_reg <= next_valid_reg;
            next_valid_reg <= 1'b0;
            page_reg <= next_page_reg;
            snoop_reg <= next_snoop_reg;
            hit_reg <= next_hit_reg;
        end else if (turn) begin
            page_reg[11:0] <= page_reg[11:0] + 12'd1;
        end
        if (answer && stays && !neighbour) begin
            next_valid_reg <= 1'b1;
            next_page_reg <= answer_page;
            next_snoop_reg <= answer_snoop;
            next_hit_reg <= answer_hit;
        end
        if (widen && !turn) begin
            joined_reg <= joined_reg + 4'd1;
        end else if (turn && !leave && !widen) begin
            joined_reg <= joined_reg - 4'd1;
        end
        if (answer) begin
            pending_reg <= 1'b0;
        end
        if (asked) begin
            pending_reg <= 1'b1;
            ask_reg <= ask_reg + 21'd1;
            more_reg <= ask_reg != end_page;
        end

        if (burst_step || load || again) begin
            beyond_reg <= !in_range;
            protected_reg <= in_protected;
            exact_reg <= again;
            outside_reg <= far_next || next_block[31:12+LG_PAGES] != 0 || !HAS_APERTURE;
            wraps_reg <= top_base && next_block[32];
        end
        if (burst_step) begin
            first_reg <= 1'b0;
        end
        if (burst_step && last) begin
            active_reg <= 1'b0;
            choose_reg <= !final_reg;
        end

        // The present page is known: no other is needed.
        if (trim) begin
            more_reg <= 1'b0;
        end

        if (start) begin
            base_reg <= base;
            far_base_reg <= base[63:32] != 0;
            top_base_reg <= &base[63:32];
            kind_reg <= kind;
            local_reg <= kind == `FERRY_ADDRESS_KIND_LOCAL && !(is_list && HAS_LISTS);
            list_reg <= is_list;
            list_base_reg <= list_base;
            may_protected_reg <= may_protected;
            // Chunks are blocks of the destination, also the first of a job that is resumed, be it that no chunk was done.
            chunk_end_reg <= resume ? chunk_end - (last_byte[8:0] - resume_place[8:0]) : chunk_end;
            choose_reg <= descending;
            choose_first_reg <= 1'b1;
            final_reg <= 1'b1;
            below_reg <= !descending ? 32'hffffffff : resume ? resume_place[31:0] : last_byte;
            descending_reg <= descending;
        end
        if (load) begin
            active_reg <= 1'b1;
            first_reg <= 1'b1;
            ask_reg <= load_from[32:12];
            more_reg <= 1'b1;
            page_valid_reg <= 1'b0;
            joined_reg <= 4'd0;
            next_valid_reg <= 1'b0;
        end
        if (give_up) begin
            active_reg <= 1'b0;
            choose_reg <= 1'b0;
            locate_reg <= 1'b0;
            load_reg <= 1'b0;
        end
        if (rst) begin
            active_reg <= 1'b0;
            choose_reg <= 1'b0;
            locate_reg <= 1'b0;
            load_reg <= 1'b0;
            pending_reg <= 1'b0;
        end
    end

`ifdef FORMAL
    // No burst outside the job's range, for the kinds whose address is the job's own (LOCAL, SYSTEM).
    reg past_valid = 1'b0;
    reg [3*LOCAL_ADDRESS_BITS+2:0] past_limits = 0;
    reg [64:0] range_base = 0;
    reg [64:0] range_end = 0;
    wire [21:0] formal_ahead = {1'b0, position[32:12]} + page_valid_reg + joined_reg + next_valid_reg + pending_reg;
    wire [21:0] formal_behind = {1'b0, formal_end[32:12]} + 1'b1;
    reg trimmed = 1'b0;
    wire [32:0] formal_start_end = {1'b0, base[31:0]} + {1'b0, last_byte};
    wire [64:0] high_base = {1'b0, base_reg[63:32], 32'd0};
    // Bytes of the job below the present chunk; none left is written as all ones.
    wire [32:0] low = &below_reg ? 33'd0 : {1'b0, below_reg} + 33'd1;
    always @(posedge clk) begin
        past_valid <= 1'b1;
        past_limits <= {local_limit, protect_base, protect_limit};
        if (trim) begin
            trimmed <= 1'b1;
        end
        if (start || load || rst) begin
            trimmed <= 1'b0;
        end
        if (start) begin
            range_base <= {1'b0, base};
            range_end <= {1'b0, base} + last_byte + 65'd1;
        end
        if (rst) begin
            range_base <= 0;
            range_end <= 0;
        end
        cover (past_valid && !rst && active_reg && is_aperture && burst_valid && burst_fault == 0 && first_reg && burst_nosnoop);
        cover (past_valid && !rst && active_reg && !translated && burst_step && burst_segment_last && !burst_last);
        cover (past_valid && !rst && widen && !turn);
    end
    always @(*) begin
        assume (past_valid || rst);
        assume (!start || (start_ready && last_byte != 32'hffffffff));
        assume (!burst_step || (burst_valid && burst_fault == 0 && !abort && !trim));
        assume (!start_step || burst_step);
        assume (!trim || (burst_valid && burst_fault == 0 && !descending_reg && trim_top >= position[8:0]
            && trim_top <= burst_top));
        // A place inside the job, as `place` gave it.
        assume (!(start && resume) || (descending ? {1'b0, last_byte} : {1'b0, base[31:0]} + last_byte) >= resume_place);
        assume (!(start && resume) || descending || resume_place >= {1'b0, base[31:0]});
        assume (!(start && resume) || descending || resume_last == (resume_place[32:9] == formal_start_end[32:9]));
        // The limits change only between jobs.
        assume (!past_valid || !active || {local_limit, protect_base, protect_limit} == past_limits);
        // A range that wraps around is refused by the firmware.
        assume (!start || !({1'b0, base} + last_byte >= 65'h1_0000_0000_0000_0000));
    end
    always @(*) if (past_valid && !rst) begin
        assert (!pending_reg || (translated && (active_reg || trimmed)));
        assert (!trimmed || !(descending_reg || choose_reg || locate_reg || load_reg));
        assert (!active_reg || !(pending_reg && next_valid_reg));
        // What is asked for and known lies ahead of the present page without a gap, and inside the job.
        if (active_reg && translated) begin
            assert (ask_reg == formal_ahead[20:0]);
            assert (more_reg ? formal_ahead < formal_behind
                : trimmed ? formal_ahead >= formal_behind : formal_ahead == formal_behind);
            assert (!trimmed || (last && !more_reg && page_valid_reg));
            assert (!(pending_reg && &joined_reg));
            assert (page_valid_reg || (joined_reg == 0 && !next_valid_reg));
        end
        if (active_reg && !translated) begin
            assert (!page_valid_reg && joined_reg == 0 && !next_valid_reg);
        end
        assert (!active || range_base == {1'b0, base_reg});
        // What is left for later is what was not handed out: a job resumed at its place goes over every byte once.
        assert (!(active_reg && !descending_reg) || (place == position && &below_reg));
        assert (!((active_reg || locate_reg || load_reg) && descending_reg) || chunk_last_reg + 33'd1 == low + chunk_reg + 33'd1);
        assert (!(choose_reg || locate_reg || load_reg) || descending_reg);
        assert (!load_reg || chunk_position_reg == {1'b0, base_reg[31:0]} + low);
        assert (!active || local_reg == (kind_reg == `FERRY_ADDRESS_KIND_LOCAL && !from_list));
        assert (!active || (far_base_reg == (base_reg[63:32] != 0) && top_base_reg == &base_reg[63:32]));
        assert (range_base <= range_end && range_end <= 65'h1_0000_0000_0000_0000);
        assert (range_end - range_base <= 65'hffffffff);
        assert (!active || range_base + low + (locate_reg || load_reg ? chunk_reg + 65'd1 : 0) <= range_end);
        assert (active_reg + choose_reg + locate_reg + load_reg <= 1);
        assert (!choose_reg || low != 0);
        assert (!(locate_reg || load_reg || active_reg) || final_reg == (low == 0));
        if (active_reg) begin
            assert (position <= formal_end && formal_end <= formal_whole_end);
            assert (trimmed ? last : formal_end == formal_whole_end);
            assert (last || (&burst_top && position[32:9] < formal_whole_end[32:9]));
            // What was worked out ahead is what the burst at hand says of itself.
            assert (outside_reg == (far_base_reg || position[32] || position[31:12+LG_PAGES] != 0 || !HAS_APERTURE));
            assert (wraps_reg == (top_base_reg && position[32]));
        end
        if (active_reg && !translated) begin
            // The segment: from its present place to its end, inside the job.
            assert (high_base + position >= range_base + low);
            assert (high_base + formal_end < range_end);
            // The claim itself.
            if (burst_valid && burst_fault == 0) begin
                assert (burst_address >= range_base);
                assert ({burst_address[63:9], burst_top} < range_end);
            end
        end
        // Video memory: no byte of a burst at or above the limit, none in the protected range without the right.
        if (active_reg && local_reg) begin
            assert (beyond_reg || (!far_base_reg && !position[32] && {1'b0, position[31:9], burst_top} < local_limit));
            assert (beyond_reg || protected_reg || {1'b0, position[31:9], burst_top} < protect_base
                || {1'b0, position[31:0]} >= protect_limit);
            assert (!exact_reg || trimmed || beyond_reg == (far_base_reg || position[32:LOCAL_ADDRESS_BITS] != 0
                || {1'b0, position[31:9], burst_top} >= local_limit));
            assert (!exact_reg || trimmed || beyond_reg || protected_reg
                == ({1'b0, position[31:9], burst_top} >= protect_base && {1'b0, position[31:0]} < protect_limit));
            if (burst_valid && burst_fault == 0) begin
                assert ({1'b0, burst_address[63:9], burst_top} < {38'd0, local_limit});
                assert (may_protected_reg || {1'b0, burst_address[63:9], burst_top} < {38'd0, protect_base}
                    || {1'b0, burst_address} >= {38'd0, protect_limit});
            end
        end
        if (active_reg) begin
            // Its bytes and beats are in one block, hence in one page.
            assert (burst_address[8:0] <= burst_top);
            assert (burst_address[8:3] + burst_beats <= 64);
            assert (burst_beats != 0 && burst_beats <= 64);
        end
    end
`endif
endmodule

`default_nettype wire
