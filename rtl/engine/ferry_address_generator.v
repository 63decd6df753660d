// SPDX-License-Identifier: Apache-2.0
// Turns one side of a job into bursts: walks the range, finds the page of each position (directly, from the aperture
// table, or from a page list), checks video memory accesses, cuts at 512-byte blocks. Shows one burst a cycle; the
// next page is asked for while the bursts of the present one go out, so a change of page costs no cycle. As no burst
// may cross 4 KiB, neighbouring pages give the same bursts whether or not they are joined.
//
// A descending job (destination overlaps above the source) goes by chunks from its end: each chunk is one block of the
// destination, and one segment for the realigner.
//
// GPU page tables: one more address kind here, asking its own translation port.
`include "ferry_contract.vh"
`default_nettype none

module ferry_address_generator #(
    // Bits of a video memory address.
    parameter LOCAL_ADDRESS_BITS = 26,
    // Pages in the aperture table.
    parameter APERTURE_PAGES = 4096
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // A job is taken in the cycle start is 1, which needs start_ready. bytes is not 0.
    input  wire        start,
    output wire        start_ready,
    input  wire [63:0] base,
    input  wire [31:0] bytes,
    input  wire [1:0]  kind,
    // This side is a page list at list_base in command RAM; base is then the offset in its first page.
    input  wire        is_list,
    input  wire [15:0] list_base,
    input  wire        may_protected,
    // Go down by chunks; chunk_end is the low part of the destination's end address.
    input  wire        descending,
    input  wire [8:0]  chunk_end,
    // Give the job up; active falls as soon as no request is half made and none is unanswered.
    input  wire        abort,
    // A job is being walked.
    output wire        active,

    // The present burst. Position is the low part of the address as the job named it.
    output wire        burst_valid,
    input  wire        burst_step,
    output wire        burst_host,
    output wire        burst_nosnoop,
    output wire [63:0] burst_address,
    output wire [31:0] burst_position,
    output wire [9:0]  burst_bytes,
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
    localparam LG_PAGES = $clog2(APERTURE_PAGES);

    // The job.
    reg [63:0] base_reg;
    reg [1:0]  kind_reg;
    reg        is_list_reg;
    reg [15:0] list_base_reg;
    reg        may_protected_reg;
    reg [8:0]  chunk_end_reg;
    // A segment is in the cutter.
    reg        active_reg;
    // Descending: bytes below the present chunk; a chunk is to be chosen, a chunk is to be loaded.
    reg [31:0] low_reg;
    reg        choose_reg;
    reg        choose_first_reg;
    reg        load_reg;
    reg [9:0]  chunk_reg;
    // Position: page as the job named it, physical page.
    reg [19:0] named_reg;
    reg        beyond_reg;
    reg [51:0] page_reg;
    reg        page_valid_reg;
    reg        snoop_reg;
    reg        hit_reg;
    reg        first_reg;
    // The page after it.
    reg [51:0] next_page_reg;
    reg        next_valid_reg;
    reg        next_snoop_reg;
    reg        next_hit_reg;
    // A translation has been asked for and not come.
    reg        pending_reg;

    wire is_aperture = kind_reg == `FERRY_ADDRESS_KIND_APERTURE;
    wire is_local = kind_reg == `FERRY_ADDRESS_KIND_LOCAL;
    wire translated = is_aperture || is_list_reg;

    // ---- Loading a segment: the whole job, or a chunk of a descending one ----
    wire load_whole = start && !descending;
    wire load = load_whole || load_reg;
    wire [63:0] load_address = load_reg ? base_reg + {32'd0, low_reg} : base;
    wire [31:0] load_bytes = load_reg ? {22'd0, chunk_reg} : bytes;
    wire [1:0]  load_kind = load_reg ? kind_reg : kind;
    wire        load_translated = load_kind == `FERRY_ADDRESS_KIND_APERTURE || (load_whole && is_list);

    wire [9:0] chunk_top = choose_first_reg && chunk_end_reg != 0 ? {1'b0, chunk_end_reg} : 10'd512;
    wire [9:0] chunk = low_reg[31:10] == 0 && low_reg[9:0] < chunk_top ? low_reg[9:0] : chunk_top;

    // ---- Bursts ----
    wire [11:0] offset;
    wire last;
    wire page_end;
    wire next_page;

    ferry_burst_cutter #(.LG_BLOCK(9)) cutter (
        .clk(clk), .load(load), .load_offset(load_address[11:0]), .load_bytes(load_bytes), .step(burst_step),
        .offset(offset), .bytes(burst_bytes), .beats(burst_beats), .last(last), .page_end(page_end),
        .next_page(next_page)
`ifdef FORMAL
        , .formal_left(formal_left)
`endif
    );

`ifdef FORMAL
    wire [31:0] formal_left;
`endif

    // Pages beyond the aperture are not looked up.
    wire outside = is_aperture && (beyond_reg || named_reg[19:LG_PAGES] != 0);
    wire [7:0] check_fault;

    ferry_access_check #(.LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS)) check (
        .address(burst_address), .bytes(burst_bytes), .may_protected(may_protected_reg), .local_limit(local_limit),
        .protect_base(protect_base), .protect_limit(protect_limit), .fault(check_fault)
    );

    assign burst_valid = active_reg && (page_valid_reg || outside);
    assign burst_host = !is_local;
    assign burst_nosnoop = is_aperture && !snoop_reg;
    assign burst_address = {page_reg, offset};
    assign burst_position = {named_reg, offset};
    assign burst_first = first_reg;
    assign burst_segment_last = last;
    assign burst_last = last && low_reg == 0;
    assign burst_fault = is_local ? (beyond_reg ? `FERRY_FAULT_KIND_RANGE : check_fault)
        : outside || (!translated && beyond_reg) ? `FERRY_FAULT_KIND_RANGE
        : is_aperture && !hit_reg ? `FERRY_FAULT_KIND_APERTURE_INVALID : `FERRY_FAULT_KIND_NONE;

    // ---- Translation, one page ahead ----
    wire ask = active_reg && translated && !pending_reg && !next_valid_reg && !outside
        && (!page_valid_reg || next_page);
    wire [19:0] ask_page = named_reg + {19'd0, page_valid_reg};
    wire asked = is_list_reg ? list_valid && list_ready : lookup_valid && lookup_ready;
    wire answer = pending_reg && (is_list_reg ? list_data_valid : result_valid);
    wire [51:0] answer_page = is_list_reg ? list_data[63:12] : {12'd0, result_page};
    wire answer_hit = is_list_reg || result_hit;
    wire answer_snoop = is_list_reg || result_snoop;
    wire unused = &{list_data[11:0], 1'b0};

    assign list_valid = ask && is_list_reg;
    assign list_address = list_base_reg + {ask_page[12:0], 3'd0};
    assign lookup_valid = ask && !is_list_reg;
    assign lookup_page = {12'd0, ask_page};

    // A page is left behind.
    wire turn = burst_step && page_end && !last;
    wire [52:0] page_after = {1'b0, page_reg} + 53'd1;
    wire finish = burst_step && last && low_reg == 0;
    wire give_up = abort && !(ask && !asked) && !(pending_reg && !answer) && !asked;

    assign active = active_reg || choose_reg || load_reg;
    assign start_ready = (!active || finish) && !pending_reg && !abort;

    always @(posedge clk) begin
        choose_reg <= 1'b0;
        load_reg <= choose_reg;
        if (choose_reg) begin
            chunk_reg <= chunk;
            low_reg <= low_reg - {22'd0, chunk};
            choose_first_reg <= 1'b0;
        end

        if (answer) begin
            pending_reg <= 1'b0;
            if (page_valid_reg && !turn) begin
                next_valid_reg <= 1'b1;
                next_page_reg <= answer_page;
                next_snoop_reg <= answer_snoop;
                next_hit_reg <= answer_hit;
            end else begin
                page_valid_reg <= 1'b1;
                page_reg <= answer_page;
                snoop_reg <= answer_snoop;
                hit_reg <= answer_hit;
            end
        end else if (turn && translated) begin
            page_valid_reg <= next_valid_reg;
            next_valid_reg <= 1'b0;
            page_reg <= next_page_reg;
            snoop_reg <= next_snoop_reg;
            hit_reg <= next_hit_reg;
        end
        if (asked) begin
            pending_reg <= 1'b1;
        end

        if (burst_step) begin
            first_reg <= 1'b0;
        end
        if (turn) begin
            named_reg <= named_reg + 20'd1;
            if (is_aperture) begin
                beyond_reg <= beyond_reg || &named_reg;
            end else if (!is_list_reg) begin
                page_reg <= page_after[51:0];
                beyond_reg <= beyond_reg || page_after[52];
            end
        end
        if (burst_step && last) begin
            active_reg <= 1'b0;
            choose_reg <= low_reg != 0;
        end

        if (start) begin
            base_reg <= base;
            kind_reg <= kind;
            is_list_reg <= is_list;
            list_base_reg <= list_base;
            may_protected_reg <= may_protected;
            chunk_end_reg <= chunk_end;
            choose_reg <= descending;
            choose_first_reg <= 1'b1;
            low_reg <= descending ? bytes : 32'd0;
        end
        if (load) begin
            active_reg <= 1'b1;
            first_reg <= 1'b1;
            named_reg <= load_address[31:12];
            beyond_reg <= load_kind == `FERRY_ADDRESS_KIND_APERTURE && load_address[63:32] != 0;
            page_reg <= load_address[63:12];
            page_valid_reg <= !load_translated;
            next_valid_reg <= 1'b0;
        end
        if (give_up) begin
            active_reg <= 1'b0;
            choose_reg <= 1'b0;
            load_reg <= 1'b0;
            low_reg <= 32'd0;
        end
        if (rst) begin
            active_reg <= 1'b0;
            choose_reg <= 1'b0;
            load_reg <= 1'b0;
            pending_reg <= 1'b0;
            low_reg <= 32'd0;
        end
    end

`ifdef FORMAL
    // No burst outside the job's range, for the kinds whose address is the job's own (LOCAL, SYSTEM).
    reg past_valid = 1'b0;
    reg [64:0] range_base = 0;
    reg [64:0] range_end = 0;
    reg [64:0] segment_end = 0;
    wire [64:0] at = {1'b0, page_reg, offset};
    always @(posedge clk) begin
        past_valid <= 1'b1;
        if (start) begin
            range_base <= {1'b0, base};
            range_end <= {1'b0, base} + bytes;
        end
        if (load) begin
            segment_end <= {1'b0, load_address} + load_bytes;
        end
        if (rst) begin
            range_base <= 0;
            range_end <= 0;
        end
        cover (active_reg && !is_local && burst_last && range_end - range_base > 9000 && first_reg);
    end
    always @(*) begin
        assume (past_valid || rst);
        assume (!start || (start_ready && bytes != 0));
        assume (!burst_step || (burst_valid && burst_fault == 0 && !abort));
        // A range that wraps around is refused by the firmware.
        assume (!start || !({1'b0, base} + bytes > 65'h1_0000_0000_0000_0000));
    end
    always @(*) if (past_valid && !rst) begin
        assert (!pending_reg || (translated && active_reg && (!page_valid_reg || next_page)));
        assert (!next_valid_reg || !active_reg || (translated && page_valid_reg && next_page));
        assert (!active_reg || !(pending_reg && next_valid_reg));
        assert (!active || range_base == {1'b0, base_reg});
        assert (range_base <= range_end && range_end <= 65'h1_0000_0000_0000_0000);
        assert (range_base + low_reg + (choose_reg ? 0 : load_reg ? chunk_reg : 0) <= range_end);
        assert (active_reg + choose_reg + load_reg <= 1);
        assert (!choose_reg || low_reg != 0);
        assert (!load_reg || chunk_reg != 0);
        assert (!active_reg || formal_left != 0);
        if (active_reg && !translated) begin
            assert (!next_valid_reg && page_valid_reg);
            // The segment: from its present place to its end.
            assert (beyond_reg || at + formal_left == segment_end);
            assert (segment_end <= range_end);
            assert (beyond_reg || at >= range_base + low_reg);
            // The claim itself.
            if (burst_valid && burst_fault == 0) begin
                assert (burst_address >= range_base);
                assert (burst_address + burst_bytes <= range_end);
            end
        end
        if (active_reg) begin
            // In one page, and its beats too.
            assert (burst_address[11:0] + burst_bytes <= 4096);
            assert (burst_address[11:3] + burst_beats <= 512);
            assert (burst_beats != 0 && burst_beats <= 64);
        end
    end
`endif
endmodule

`default_nettype wire
