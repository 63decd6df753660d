// SPDX-License-Identifier: Apache-2.0
// Walks one side of a job, for ferry_address_generator: cuts it into segments, and these into bursts (ferry_burst_cutter). A
// segment is the whole job, or a chunk of a descending one (its destination overlaps above the source), which goes by chunks
// from its end; each chunk is one block of the destination, and one segment for the realigner.
//
// A job may be left half done and gone on with later: `place` says how far it was walked, and a job that is resumed starts
// there.
`default_nettype none

module ferry_job_cutter #(
    // 1: a job may be resumed.
    parameter [0:0] URGENT = 1
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // A job is taken; see ferry_address_generator. Base is the lower half of its address.
    input  wire        start,
    input  wire [31:0] base,
    input  wire [31:0] last_byte,
    input  wire        descending,
    input  wire [8:0]  chunk_end,
    input  wire        resume,
    input  wire [32:0] resume_place,
    input  wire        resume_last,
    // See ferry_address_generator. Give up: the job is not walked on from the next cycle.
    input  wire        trim,
    input  wire [8:0]  trim_top,
    input  wire        give_up,
    // A job is being walked; bursts of it are at hand.
    output wire        active,
    output wire        in_segment,
    output wire [32:0] place,

    // A segment begins, in this page. It is a further one of the job at hand.
    output wire        load,
    output wire        load_further,
    output wire [32:12] load_page,
    // Page of its last byte. It is the job's last segment.
    output wire [32:12] end_page,
    output wire        final_segment,

    // The burst at hand; see ferry_burst_cutter. Bit 32 of the position is the carry into the upper half of the address.
    input  wire        step,
    input  wire        again,
    output wire [32:0] position,
    output wire [8:0]  top,
    output wire [5:0]  length,
    // First and last burst of its segment.
    output wire        first,
    output wire        last,
    output wire        page_end,
    output wire [32:9] next_block
`ifdef FORMAL
    ,
    // For proofs: the job's first byte and the one behind its last; the segment's last byte; the last burst is a trimmed one;
    // the job is a descending one.
    output wire [32:0] formal_first,
    output wire [32:0] formal_past,
    output wire [32:0] formal_end,
    output wire        formal_trimmed,
    output wire        formal_descending
`endif
);
    reg [31:0] base_reg;
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
    // Less than a block is left: told as the job begins, and then long before the next chunk is chosen.
    reg        near_reg;
    reg [8:0]  chunk_reg;
    reg [32:0] chunk_position_reg;
    reg        first_reg;

    // ---- Loading a segment: the whole job, or a chunk of a descending one ----
    wire [32:0] load_position;
    ferry_choice #(.WIDTH(33)) chunk_or_whole (
        .second(load_reg), .word0({1'b0, base}), .word1(chunk_position_reg), .chosen(load_position)
    );
    wire [31:0] load_last = load_reg ? {23'd0, chunk_reg} : last_byte;
    wire        load_left = !load_reg && resume && URGENT;
    wire [32:0] load_from;
    generate
        if (URGENT) begin : g_resume
            ferry_choice #(.WIDTH(33)) left_or_begun (
                .second(load_left), .word0(load_position), .word1(resume_place), .chosen(load_from)
            );
        end else begin : g_begin
            assign load_from = load_position;
            wire unused = &{1'b0, resume_place};
        end
    endgenerate
    assign load = (start && !descending) || load_reg;
    assign load_further = load_reg;
    assign load_page = load_from[32:12];

    wire [8:0] chunk_top = choose_first_reg ? chunk_end_reg : 9'd511;
    wire chunk_final = near_reg && below_reg[8:0] <= chunk_top;
    wire [8:0] chunk = chunk_final ? below_reg[8:0] : chunk_top;

    // ---- Bursts ----
`ifdef FORMAL
    wire [32:0] formal_whole_end;
`endif
    ferry_burst_cutter #(.LG_BLOCK(9)) bursts (
        .clk(clk), .busy(active_reg), .load(load), .load_position(load_position), .load_last(load_last),
        .load_from(load_from), .load_left(load_left), .load_left_last(resume_last),
        .trim(trim), .trim_top(trim_top), .step(step), .position(position), .top(top),
        .again(again), .next_block(next_block), .length(length), .last(last), .page_end(page_end), .end_page(end_page)
`ifdef FORMAL
        , .formal_end(formal_end), .formal_whole_end(formal_whole_end)
`endif
    );

    assign active = active_reg || choose_reg || locate_reg || load_reg;
    assign in_segment = active_reg;
    assign final_segment = final_reg;
    assign first = first_reg;
    assign place = descending_reg ? {1'b0, chunk_last_reg} : position;

    always @(posedge clk) begin
        choose_reg <= 1'b0;
        locate_reg <= choose_reg;
        near_reg <= below_reg[31:9] == 23'd0;
        load_reg <= locate_reg;
        // base + below + 1, as one adder.
        chunk_position_reg <= {1'b0, base_reg} - ~{&below_reg, below_reg};
        if (choose_reg) begin
            chunk_reg <= chunk;
            final_reg <= chunk_final;
            below_reg <= below_reg + {23'h7fffff, ~chunk};
            chunk_last_reg <= below_reg;
            choose_first_reg <= 1'b0;
        end

        if (step) begin
            first_reg <= 1'b0;
        end
        if (step && last) begin
            active_reg <= 1'b0;
            choose_reg <= !final_reg;
        end

        if (start) begin
            base_reg <= base;
            // Chunks are blocks of the destination, also the first of a job that is resumed, be it that no chunk was done.
            chunk_end_reg <= resume ? chunk_end - (last_byte[8:0] - resume_place[8:0]) : chunk_end;
            choose_reg <= descending;
            choose_first_reg <= 1'b1;
            final_reg <= 1'b1;
            below_reg <= !descending ? 32'hffffffff : resume ? resume_place[31:0] : last_byte;
            near_reg <= resume ? resume_place[31:9] == 23'd0 : last_byte[31:9] == 23'd0;
            descending_reg <= descending;
        end
        if (load) begin
            active_reg <= 1'b1;
            first_reg <= 1'b1;
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
        end
    end

`ifdef FORMAL
    // No burst outside the job. (What comes in is as ferry_address_generator's proof has it.)
    reg past_valid = 1'b0;
    reg [32:0] range_first = 0;
    reg [32:0] range_past = 0;
    reg trimmed = 1'b0;
    // Bytes of the job below the present chunk; none left is written as all ones.
    wire [32:0] low = &below_reg ? 33'd0 : {1'b0, below_reg} + 33'd1;
    assign formal_first = range_first;
    assign formal_past = range_past;
    assign formal_trimmed = trimmed;
    assign formal_descending = descending_reg;
    always @(posedge clk) begin
        past_valid <= 1'b1;
        if (trim) begin
            trimmed <= 1'b1;
        end
        if (start || load || rst) begin
            trimmed <= 1'b0;
        end
        if (start) begin
            range_first <= {1'b0, base};
            range_past <= {1'b0, base} + {1'b0, last_byte} + 33'd1;
        end
        if (rst) begin
            range_first <= 0;
            range_past <= 0;
        end
        cover (past_valid && !rst && active_reg && step && last && !final_reg);
    end
    always @(*) if (past_valid && !rst) begin
        assert (!trimmed || !(descending_reg || choose_reg || locate_reg || load_reg));
        // What is left for later is what was not handed out: a job resumed at its place goes over every byte once.
        assert (!(active_reg && !descending_reg) || (place == position && &below_reg));
        assert (!((active_reg || locate_reg || load_reg) && descending_reg) || chunk_last_reg + 33'd1 == low + chunk_reg + 33'd1);
        assert (!(choose_reg || locate_reg || load_reg) || descending_reg);
        assert (!load_reg || chunk_position_reg == {1'b0, base_reg} + low);
        assert (!active || range_first == {1'b0, base_reg});
        assert (range_first <= range_past && range_past - range_first <= 33'hffffffff);
        assert (!active || {1'b0, range_first} + low + (locate_reg || load_reg ? chunk_reg + 34'd1 : 34'd0) <= {1'b0, range_past});
        assert (active_reg + choose_reg + locate_reg + load_reg <= 1);
        assert (!choose_reg || low != 0);
        assert (!choose_reg || near_reg == (below_reg[31:9] == 23'd0));
        assert (!(load_reg || (active_reg && descending_reg)) || near_reg == (below_reg[31:9] == 23'd0));
        assert (!(locate_reg || load_reg || active_reg) || final_reg == (low == 0));
        if (active_reg) begin
            assert (position <= formal_end && formal_end <= formal_whole_end);
            assert (trimmed ? last : formal_end == formal_whole_end);
            assert (last || (&top && position[32:9] < formal_whole_end[32:9]));
            // The segment: from its present place to its end, inside the job.
            assert ({1'b0, position} >= {1'b0, range_first} + low);
            assert (formal_end < range_past);
            // Its bytes and beats are in one block, hence in one page.
            assert (position[8:0] <= top);
            assert (position[8:3] + {1'b0, length} < 64);
        end
    end
`endif
endmodule

`default_nettype wire
