// SPDX-License-Identifier: Apache-2.0
// Turns one side of a job into bursts. It is cut (ferry_job_cutter: segments, and bursts inside 512-byte blocks), the page of
// each position is found, directly or by asking for it (ferry_page_translate), and neighbouring pages are joined
// (ferry_page_join); what goes to video memory is checked against its limits here. Shows one burst a cycle; the next page is
// asked for while the bursts of the present one go out, so a change of page costs no cycle.
//
// The first burst of a page that was not found, or that a list names with bits that no page's address has, is a fault. What
// GPU page tables say of a page (that it is in video memory, inside the limits, and may be accessed so) the page-table unit
// has looked at.
//
// A trim makes the present burst, or the first bytes of it, the last.
`include "ferry_contract.vh"
`default_nettype none

module ferry_address_generator #(
    // Bits of a video memory address.
    parameter LOCAL_ADDRESS_BITS = 26,
    // Pages in the aperture table; 0: there is none, every access to it is a RANGE fault.
    parameter APERTURE_PAGES = 4096,
    // 1: a side may be a page list.
    parameter LISTS = 1,
    // 1: there is a page-table unit; 0: every virtual address is a RANGE fault.
    parameter TABLES = 1,
    // 1: a job may be left half done, and resumed.
    parameter [0:0] URGENT = 1,
    // 1: this side writes.
    parameter [0:0] WRITES = 0
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // A job is taken in the cycle start is 1, which needs start_ready, and that no other is given up. last_byte is its length less one.
    input  wire        start,
    output wire        start_ready,
    input  wire [63:0] base,
    input  wire [31:0] last_byte,
    input  wire [1:0]  kind,
    // This side is a page list at list_base in command RAM; base is then the offset in its first page.
    input  wire        is_list,
    input  wire [15:0] list_base,
    // Space of its virtual addresses.
    input  wire [3:0]  space,
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
    // Its beats less one.
    output wire [5:0]  burst_length,
    // First burst of a segment, last burst of a segment, last burst of the job.
    output wire        burst_first,
    output wire        burst_segment_last,
    output wire        burst_last,
    // This burst must not be issued, and why.
    output wire        burst_refused,
    output wire [7:0]  burst_fault,
    // Of a fault of the page tables: level of the entry that decided.
    output wire [1:0]  burst_fault_level,

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
    input  wire [51:12] result_page,

    // Page-table unit. More: the job has further pages to ask it for.
    output wire        tables_more,
    output wire        tables_valid,
    output wire [`FERRY_LOOKUP_BITS-1:0] tables_lookup,
    input  wire        tables_answer_valid,
    input  wire [`FERRY_PAGE_BITS-1:0] tables_answer
);
    // Bits of an aperture page number; the number of pages is a power of two.
    localparam LG_PAGES = APERTURE_PAGES == 0 ? 0 : $clog2(APERTURE_PAGES);
    localparam [0:0] HAS_APERTURE = APERTURE_PAGES != 0;
    localparam [0:0] HAS_LISTS = LISTS != 0;
    localparam [0:0] HAS_TABLES = TABLES != 0;

    // The job.
    reg [63:32] high_reg;
    // Whose addresses: video memory's, the aperture's, a list's (which is one of host pages, whatever kind its side claims), a
    // space's; or the host's own.
    reg        local_reg;
    reg        aperture_reg;
    reg        virtual_reg;
    reg [3:0]  space_reg;
    reg        list_reg;
    reg [15:0] list_base_reg;
    reg        may_protected_reg;
    // Its base is not below 2^32; it is in the last 2^32 bytes that there are.
    reg        far_base_reg;
    reg        top_base_reg;
    // Its base is not below 2^48; it is in the last 2^32 bytes below that.
    reg        far_virtual_reg;
    reg        top_virtual_reg;
    // Of the present burst or its whole block, until it is exact: outside video memory, in its protected range; outside the
    // aperture or any space, behind the last address.
    reg        beyond_reg;
    reg        protected_reg;
    reg        exact_reg;
    reg        outside_reg;
    reg        wraps_reg;

    wire from_list = list_reg && HAS_LISTS;
    wire of_space = virtual_reg && HAS_TABLES;
    wire translated = (aperture_reg && HAS_APERTURE) || from_list || of_space;
    // Pages beyond the aperture are not looked up, nor those beyond 48 bits.
    wire outside = (aperture_reg || virtual_reg) && outside_reg;

    // ---- Cut ----
    wire        give_up;
    wire        load;
    wire        load_further;
    wire [32:12] load_page;
    wire [32:12] end_page;
    wire        final_segment;
    wire        again;
    wire [32:0] position;
    wire        last;
    wire        page_end;
    wire [32:9] next_block;
`ifdef FORMAL
    wire [32:0] formal_first, formal_past, formal_end;
    wire        formal_trimmed, formal_descending;
`endif

    ferry_job_cutter #(.URGENT(URGENT)) cutter (
        .clk(clk), .rst(rst), .start(start), .base(base[31:0]), .last_byte(last_byte), .descending(descending),
        .chunk_end(chunk_end), .resume(resume), .resume_place(resume_place), .resume_last(resume_last), .trim(trim),
        .trim_top(trim_top), .give_up(give_up), .active(active), .in_segment(in_segment), .place(place), .load(load),
        .load_further(load_further), .load_page(load_page), .end_page(end_page), .final_segment(final_segment),
        .step(burst_step), .again(again), .position(position), .top(burst_top), .length(burst_length), .first(burst_first),
        .last(last), .page_end(page_end), .next_block(next_block)
`ifdef FORMAL
        , .formal_first(formal_first), .formal_past(formal_past), .formal_end(formal_end), .formal_trimmed(formal_trimmed),
        .formal_descending(formal_descending)
`endif
    );

    // ---- Translate ----
    wire        room;
    wire        pending;
    wire        translating;
    wire        answer;
    wire [51:12] answer_page;
    wire        answer_hit;
    wire        answer_snoop;
    wire        answer_host;
    wire [51:12] list_page;
    wire        list_hit;
    wire        more;
    wire [32:12] tables_page;
`ifdef FORMAL
    wire [32:12] formal_ask;
`endif

    // After a trim the present page is known: no other is needed.
    ferry_page_translate #(.HAS_APERTURE(HAS_APERTURE), .HAS_LISTS(HAS_LISTS), .HAS_TABLES(HAS_TABLES)) translate (
        .clk(clk), .rst(rst), .load(load), .load_page(load_page), .end_page(end_page), .stop(trim),
        .wanted(in_segment && translated && room && !outside), .from_list(from_list), .from_tables(of_space), .list_base(list_base_reg),
        .pending(pending), .busy(translating), .more(more), .answer(answer), .answer_page(answer_page), .answer_hit(answer_hit),
        .answer_snoop(answer_snoop), .answer_host(answer_host), .list_page(list_page), .list_hit(list_hit),
        .list_valid(list_valid), .list_ready(list_ready), .list_address(list_address),
        .list_data_valid(list_data_valid), .list_data(list_data), .lookup_valid(lookup_valid), .lookup_ready(lookup_ready),
        .lookup_page(lookup_page), .result_valid(result_valid), .result_hit(result_hit), .result_snoop(result_snoop),
        .result_page(result_page), .tables_valid(tables_valid), .tables_page(tables_page),
        .tables_answer_valid(tables_answer_valid), .tables_answer(tables_answer)
`ifdef FORMAL
        , .formal_ask(formal_ask)
`endif
    );

    wire [47:32] tables_high = high_reg[47:32] + {15'd0, tables_page[32]};
    assign tables_lookup[`FERRY_LOOKUP_SPACE_RANGE] = HAS_TABLES ? space_reg : 4'd0;
    assign tables_lookup[`FERRY_LOOKUP_PAGE_RANGE] = HAS_TABLES ? {tables_high, tables_page[31:12]} : 36'd0;
    assign tables_lookup[`FERRY_LOOKUP_WRITE_RANGE] = WRITES;
    assign tables_lookup[`FERRY_LOOKUP_PROTECTED_RANGE] = HAS_TABLES && may_protected_reg;
    assign tables_more = active && of_space && (more || !final_segment || !in_segment);

    // ---- Join ----
    wire        page_valid;
    wire [51:12] page;
    wire        hit;
    wire        snoop;
    wire        page_host;
`ifdef FORMAL
    wire [4:0]  formal_known;
    wire [3:0]  formal_joined;
    wire        formal_next, formal_widen, formal_next_hit, formal_next_host;
    wire [51:12] formal_next_page;
`endif

    ferry_page_join join_pages (
        .clk(clk), .load(load), .joins(from_list), .answer(answer), .answer_page(answer_page), .answer_hit(answer_hit),
        .answer_snoop(answer_snoop), .answer_host(answer_host), .list_page(list_page), .list_hit(list_hit),
        .next(burst_step && page_end && !last), .room(room), .page_valid(page_valid),
        .page(page), .hit(hit), .snoop(snoop), .host(page_host)
`ifdef FORMAL
        , .formal_known(formal_known), .formal_joined(formal_joined), .formal_next(formal_next), .formal_widen(formal_widen),
        .formal_next_page(formal_next_page), .formal_next_hit(formal_next_hit), .formal_next_host(formal_next_host)
`endif
    );

    // ---- Checks ----
    // As a burst is worked out, which is the cycle before it is shown: of its whole block, as its last byte is not known
    // then. If that is not clear of all limits, the burst waits a cycle for the exact answer (again).
    wire clear = !beyond_reg && (!protected_reg || may_protected_reg);
    assign again = in_segment && local_reg && !clear && !exact_reg;
    // The job's upper half is not 0, or as high as can be.
    wire own_base = load_further || (in_segment && (!last || again));
    wire far_next = (own_base ? far_base_reg : base[63:32] != 0) || next_block[32];
    wire top_base = own_base ? top_base_reg : &base[63:32];
    // The same of the 48 bits of a virtual address, and whether they are exceeded.
    wire far_virtual = own_base ? far_virtual_reg : base[63:48] != 0;
    wire top_virtual = own_base ? top_virtual_reg : &base[47:32];
    wire virtual_next = own_base ? virtual_reg : kind == `FERRY_ADDRESS_KIND_VIRTUAL && !(is_list && HAS_LISTS);
    wire in_range;
    wire in_protected;

    // Of an address from 2^32 on, the check need only know that it is one.
    ferry_access_check #(.LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS)) check (
        .block({31'd0, far_next, next_block[31:9]}), .first(again ? position[8:0] : 9'd0),
        .last(again ? burst_top : 9'd511), .local_limit(local_limit), .protect_base(protect_base),
        .protect_limit(protect_limit), .in_range(in_range), .in_protected(in_protected)
    );
    wire range = local_reg ? beyond_reg : aperture_reg || virtual_reg ? outside_reg : !from_list && wraps_reg;
    // The fault is wanted late, whether there is one early.
    assign burst_refused = local_reg ? !clear : from_list ? !hit : aperture_reg || virtual_reg ? outside_reg || !hit : wraps_reg;

    // ---- The burst shown ----
    wire [31:0] high = high_reg + {31'd0, position[32]};

    assign burst_valid = in_segment && (local_reg ? clear || exact_reg : !translated || page_valid || outside);
    assign burst_host = !local_reg && !(of_space && !page_host);
    assign burst_nosnoop = (aperture_reg || of_space) && !snoop;
    assign burst_address = translated ? {12'd0, page, position[11:0]} : {high, position[31:0]};
    assign burst_position = position[31:0];
    assign burst_segment_last = last;
    assign burst_last = last && final_segment;
    assign burst_fault = range ? `FERRY_FAULT_KIND_RANGE
        : local_reg ? (protected_reg && !may_protected_reg ? `FERRY_FAULT_KIND_PROTECTED : `FERRY_FAULT_KIND_NONE)
        : translated && !hit ? (of_space ? page[19:12] : aperture_reg ? `FERRY_FAULT_KIND_APERTURE_INVALID
            : `FERRY_FAULT_KIND_RANGE)
        : `FERRY_FAULT_KIND_NONE;
    assign burst_fault_level = HAS_TABLES ? page[21:20] : 2'd0;

    assign give_up = abort && !translating;
    assign start_ready = (!active || (start_step && burst_last)) && !pending;

    always @(posedge clk) begin
        if (burst_step || load || again) begin
            beyond_reg <= !in_range;
            protected_reg <= in_protected;
            exact_reg <= again;
            outside_reg <= virtual_next ? far_virtual || (top_virtual && next_block[32]) || !HAS_TABLES
                : far_next || (next_block[31:12] >> LG_PAGES) != 20'd0 || !HAS_APERTURE;
            wraps_reg <= top_base && next_block[32];
        end
        if (start) begin
            high_reg <= base[63:32];
            far_base_reg <= base[63:32] != 0;
            top_base_reg <= &base[63:32];
            local_reg <= kind == `FERRY_ADDRESS_KIND_LOCAL && !(is_list && HAS_LISTS);
            aperture_reg <= kind == `FERRY_ADDRESS_KIND_APERTURE && !(is_list && HAS_LISTS);
            virtual_reg <= kind == `FERRY_ADDRESS_KIND_VIRTUAL && !(is_list && HAS_LISTS);
            far_virtual_reg <= base[63:48] != 0;
            top_virtual_reg <= &base[47:32];
            space_reg <= space;
            list_reg <= is_list && HAS_LISTS;
            list_base_reg <= list_base;
            may_protected_reg <= may_protected;
        end
    end

`ifdef FORMAL
    // No burst outside the job's range, for the kinds whose address is the job's own (LOCAL, SYSTEM).
    reg past_valid = 1'b0;
    reg [3*LOCAL_ADDRESS_BITS+2:0] past_limits = 0;
    reg [1:0] kind_was = 0;
    reg [3:0] space_was = 0;
    reg list_was = 1'b0;
    // The page-table unit's request steps with its answer; behind a page that it refuses nothing is asked for.
    reg formal_missed = 1'b0;
    wire [21:0] formal_ahead = {1'b0, position[32:12]} + formal_known + (pending && !virtual_reg);
    wire [21:0] formal_behind = {1'b0, formal_end[32:12]} + 1'b1;
    wire [32:0] formal_start_end = {1'b0, base[31:0]} + {1'b0, last_byte};
    wire [64:0] high_base = {1'b0, high_reg, 32'd0};
    // Of a virtual side one page, whichever, is followed: what was answered for it, in the space of the job, since the segment
    // began.
    (* anyconst *) reg [47:12] followed;
    wire [47:12] asked_now = tables_lookup[`FERRY_LOOKUP_PAGE_RANGE];
    wire [36:0] here = {1'b0, high_reg[47:32], position[31:12]} + {4'd0, position[32], 20'd0};
    wire [36:0] next_here = here + 37'd1;
    // The page behind those known; it may be one above the space, which is asked for and never used.
    wire [36:0] next_asked = here + {32'd0, formal_known};
    reg answered = 1'b0;
    reg answered_hit = 1'b0;
    reg answered_host = 1'b0;
    reg [51:12] answered_page = 0;
    always @(posedge clk) begin
        if (tables_answer_valid && pending && virtual_reg && asked_now == followed) begin
            answered <= 1'b1;
            answered_hit <= tables_answer[`FERRY_PAGE_HIT_RANGE];
            answered_host <= tables_answer[`FERRY_PAGE_HOST_RANGE];
            answered_page <= tables_answer[`FERRY_PAGE_PAGE_RANGE];
        end
        if (load || rst) begin
            answered <= 1'b0;
        end
        cover (past_valid && !rst && in_segment && virtual_reg && burst_step && answered && here == {1'b0, followed} && !burst_host
            && formal_next);
        cover (past_valid && !rst && in_segment && virtual_reg && burst_valid && formal_missed && burst_refused
            && burst_fault == `FERRY_FAULT_KIND_PAGE_READ_ONLY);
    end
    always @(posedge clk) begin
        past_valid <= 1'b1;
        if (start) begin
            kind_was <= kind;
            space_was <= space;
            list_was <= is_list;
        end
        formal_missed <= !rst && !load && (formal_missed || (answer && virtual_reg && !answer_hit));
        past_limits <= {local_limit, protect_base, protect_limit};
        cover (past_valid && !rst && in_segment && aperture_reg && burst_valid && burst_fault == 0 && burst_first && burst_nosnoop);
        cover (past_valid && !rst && in_segment && !translated && burst_step && burst_segment_last && !burst_last);
        cover (past_valid && !rst && formal_widen && !(burst_step && page_end));
    end
    always @(*) begin
        assume (past_valid || rst);
        assume (!start || (start_ready && !abort && last_byte != 32'hffffffff));
        assume (!burst_step || (burst_valid && burst_fault == 0 && !abort && !trim));
        assume (!start_step || burst_step);
        // What is refused is refused for a reason.
        assume (tables_answer[`FERRY_PAGE_HIT_RANGE] == (tables_answer[`FERRY_PAGE_FAULT_RANGE] == `FERRY_FAULT_KIND_NONE));
        assume (!trim || (burst_valid && burst_fault == 0 && !formal_descending && trim_top >= position[8:0]
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
        assert (!pending || (translated && (in_segment || formal_trimmed)));
        assert (!in_segment || !(pending && formal_next));
        // What is asked for and known lies ahead of the present page without a gap, and inside the job.
        if (in_segment && translated) begin
            assert (formal_ask == formal_ahead[20:0]);
            assert (more ? formal_ahead < formal_behind : formal_missed ? formal_ahead <= formal_behind || formal_trimmed
                : formal_trimmed ? formal_ahead >= formal_behind : formal_ahead == formal_behind);
            assert (!formal_missed || (!more && !pending));
            assert (!formal_trimmed || (last && !more && page_valid));
            assert (!(pending && &formal_joined));
            assert (from_list || formal_joined == 0);
            assert (page_valid || (formal_joined == 0 && !formal_next));
        end
        if (in_segment && virtual_reg && HAS_TABLES) begin
            // The page that is asked for is the one behind those known; a page that was refused is the last of those.
            assert (!pending || more || formal_trimmed);
            assert (!pending || (asked_now == next_asked[35:0] && !formal_ahead[21]));
            assert (!(page_valid && !hit) || (formal_missed && !formal_next));
            assert (!(formal_next && !formal_next_hit) || formal_missed);
            assert (!formal_missed || (formal_next ? !formal_next_hit : page_valid && !hit));
        end
        if (in_segment && !translated) begin
            assert (!page_valid && formal_joined == 0 && !formal_next);
        end
        assert (!active || high_base + formal_past <= 65'h1_0000_0000_0000_0000);
        // So a page that is joined is what the list names (ferry_page_join's list_page).
        assert (!(active || pending) || local_reg + aperture_reg + list_reg + virtual_reg <= 1);
        assert (!active || virtual_reg == (kind_was == `FERRY_ADDRESS_KIND_VIRTUAL && !from_list));
        assert (!active || (local_reg == (kind_was == `FERRY_ADDRESS_KIND_LOCAL && !from_list) && list_reg == (list_was && HAS_LISTS)));
        assert (!burst_valid || burst_refused == (burst_fault != `FERRY_FAULT_KIND_NONE));
        assert (!active || (far_base_reg == (high_reg != 0) && top_base_reg == &high_reg));
        assert (!active || (far_virtual_reg == (high_reg[63:48] != 0) && top_virtual_reg == &high_reg[47:32]));
        if (in_segment) begin
            // What was worked out ahead is what the burst at hand says of itself.
            assert (outside_reg == (virtual_reg ? far_virtual_reg || (top_virtual_reg && position[32]) || !HAS_TABLES
                : far_base_reg || position[32] || (position[31:12] >> LG_PAGES) != 20'd0 || !HAS_APERTURE));
            assert (wraps_reg == (top_base_reg && position[32]));
        end
        // The claim itself.
        if (in_segment && !translated && burst_valid && burst_fault == 0) begin
            assert (burst_address >= high_base + formal_first);
            assert ({burst_address[63:9], burst_top} < high_base + formal_past);
        end
        // A virtual side: a burst goes where its own page is, as the page-table unit answered for it in the job's space since the
        // segment began, and nowhere if that was not a hit.
        if (in_segment && virtual_reg && burst_valid && burst_fault == 0) begin
            assert (!outside && page_valid && hit);
            assert (here != {1'b0, followed} || (answered && answered_hit && burst_address[63:12] == {12'd0, answered_page}
                && burst_host == answered_host && burst_address[11:0] == position[11:0]));
        end
        assert (!(in_segment && virtual_reg && page_valid && !hit) || page[19:12] != `FERRY_FAULT_KIND_NONE);
        assert (!(in_segment && virtual_reg && formal_next && !formal_next_hit)
            || formal_next_page[19:12] != `FERRY_FAULT_KIND_NONE);
        if (in_segment && virtual_reg && page_valid && here == {1'b0, followed}) begin
            assert (answered && answered_hit == hit && (!hit || (answered_page == page && answered_host == page_host)));
        end
        if (in_segment && virtual_reg && formal_next && next_here == {1'b0, followed}) begin
            assert (answered && answered_hit == formal_next_hit
                && (!answered_hit || (answered_page == formal_next_page && answered_host == formal_next_host)));
        end
        assert (!tables_valid || (virtual_reg && tables_lookup[`FERRY_LOOKUP_SPACE_RANGE] == space_was
            && tables_lookup[`FERRY_LOOKUP_WRITE_RANGE] == WRITES));
        assert (!active || !virtual_reg || space_reg == space_was);
        // Video memory: no byte of a burst at or above the limit, none in the protected range without the right.
        if (in_segment && local_reg) begin
            assert (beyond_reg || (!far_base_reg && !position[32] && {1'b0, position[31:9], burst_top} < local_limit));
            assert (beyond_reg || protected_reg || {1'b0, position[31:9], burst_top} < protect_base
                || {1'b0, position[31:0]} >= protect_limit);
            assert (!exact_reg || formal_trimmed || beyond_reg == (far_base_reg || position[32:LOCAL_ADDRESS_BITS] != 0
                || {1'b0, position[31:9], burst_top} >= local_limit));
            assert (!exact_reg || formal_trimmed || beyond_reg || protected_reg
                == ({1'b0, position[31:9], burst_top} >= protect_base && {1'b0, position[31:0]} < protect_limit));
            if (burst_valid && burst_fault == 0) begin
                assert ({1'b0, burst_address[63:9], burst_top} < {38'd0, local_limit});
                assert (may_protected_reg || {1'b0, burst_address[63:9], burst_top} < {38'd0, protect_base}
                    || {1'b0, burst_address} >= {38'd0, protect_limit});
            end
        end
    end
`endif
endmodule

`default_nettype wire
