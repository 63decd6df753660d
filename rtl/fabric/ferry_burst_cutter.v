// SPDX-License-Identifier: Apache-2.0
// Cuts a range of bytes into AXI4 bursts of 8-byte beats, each inside one block of 2^LG_BLOCK bytes and hence inside one
// 4 KiB page. One burst a step; the next one is shown the cycle after. The range is kept as the position of its next
// and of its last byte: a step counts blocks, and nothing is subtracted.
//
// What comes next is worked out a cycle ahead, without knowing whether it comes: behind a burst that is not the last only
// a step can follow, else only a load. So `step` and `load` enable registers and are in front of nothing, and a register
// tells whether a burst is the last. next_block is for whoever works ahead too.
`default_nettype none

module ferry_burst_cutter #(
    // log2 of the block that no burst leaves; 4 to 11, so that a burst has at most 256 beats.
    parameter LG_BLOCK = 9
) (
    // Clock. No reset: load starts it.
    input  wire clk,
    // Take a new range: position of its first byte, number of bytes less one; both together stay below 2^33. Of its bytes
    // those from load_from on are handed out. Not before the range at hand (busy) has come to its last burst.
    input  wire        busy,
    input  wire        load,
    input  wire [32:0] load_position,
    input  wire [31:0] load_last,
    input  wire [32:0] load_from,
    // load_from is not load_position but where a range was left; `last` said load_left_last then.
    input  wire        load_left,
    input  wire        load_left_last,
    // The range ends in this block already, at this place of it. Not together with a step.
    input  wire        trim,
    input  wire [LG_BLOCK-1:0] trim_top,
    // The burst shown is taken.
    input  wire        step,
    // Position of the burst's first byte.
    output wire [32:0] position,
    // Place of its last byte in its block.
    output wire [LG_BLOCK-1:0] top,
    // Block of the burst that a step or load in this cycle would bring; with `again`, without either, the present one's.
    input  wire        again,
    output wire [32:LG_BLOCK] next_block,
    // Beats of the burst, less one.
    output wire [LG_BLOCK-4:0] length,
    // It is the range's last burst.
    output wire        last,
    // The next burst begins a new page.
    output wire        page_end,
    // Page of the range's last byte.
    output wire [32:12] end_page
`ifdef FORMAL
    ,
    // Position of the range's last byte, for proofs: as it is, and as it was before a trim.
    output wire [32:0] formal_end,
    output wire [32:0] formal_whole_end
`endif
);
    reg [32:LG_BLOCK]  block_reg;
    reg [LG_BLOCK-1:0] place_reg;
    reg                last_reg;
    reg [32:0]         end_reg;

    // A range of one burst: its last byte is less than a block behind its first, and in the same block.
    wire [LG_BLOCK:0]  load_low = {1'b0, load_position[LG_BLOCK-1:0]} + {1'b0, load_last[LG_BLOCK-1:0]};
    wire load_single = load_left ? load_left_last : load_last[31:LG_BLOCK] == 0 && !load_low[LG_BLOCK];

    wire load_next = !busy || last_reg;
    wire [32:LG_BLOCK] block_up = block_reg + {{(32-LG_BLOCK){1'b0}}, !again};
    wire [LG_BLOCK-1:0] next_place;
    ferry_choice #(.WIDTH(33)) next (
        .second(load_next && !again), .word0({block_up, {LG_BLOCK{1'b0}}}), .word1(load_from),
        .chosen({next_block, next_place})
    );

    assign position = {block_reg, place_reg};
    assign last = last_reg;
    assign top = last_reg ? end_reg[LG_BLOCK-1:0] : {LG_BLOCK{1'b1}};
    assign length = top[LG_BLOCK-1:3] - place_reg[LG_BLOCK-1:3];
    assign page_end = &block_reg[11:LG_BLOCK];
    assign end_page = end_reg[32:12];

    always @(posedge clk) begin
        if (step || load) begin
            {block_reg, place_reg} <= {next_block, next_place};
            last_reg <= load_next ? load_single : block_up == end_reg[32:LG_BLOCK];
        end
        if (trim) begin
            end_reg[LG_BLOCK-1:0] <= trim_top;
            last_reg <= 1'b1;
        end
        if (load) begin
            end_reg <= load_position + {1'b0, load_last};
        end
    end

`ifdef FORMAL
    assign formal_whole_end = end_reg; // But for the lower bits of one that was trimmed.
    assign formal_end = last_reg ? {block_reg, end_reg[LG_BLOCK-1:0]} : end_reg;
    reg past_valid = 1'b0;
    reg loaded = 1'b0;
    reg finished = 1'b0;
    // Where the range ends, and the bytes handed out, counted apart.
    reg [33:0] end_at = 0;
    reg [33:0] at = 0;
    wire [32:0] load_end = load_position + {1'b0, load_last};
    wire [LG_BLOCK:0] bytes = {1'b0, top} - position[LG_BLOCK-1:0] + 1'b1;
    always @(posedge clk) begin
        past_valid <= 1'b1;
        if (step) begin
            at <= at + bytes;
            finished <= last;
        end
        if (trim) begin
            end_at <= {1'b0, block_reg, trim_top} + 1'b1;
        end
        if (load) begin
            loaded <= 1'b1;
            finished <= 1'b0;
            at <= load_from;
            end_at <= {1'b0, load_position} + load_last + 1'b1;
        end
        cover (loaded && !finished && last && at > 5000);
    end
    always @(*) begin
        assume (!load || {1'b0, load_position} + load_last < 34'h2_0000_0000);
        assume (!load || (load_from >= load_position && load_from <= load_position + {1'b0, load_last}));
        assume (!step || (loaded && !finished && busy && !trim));
        assume (!(load && busy) || (last && step));
        assume (!busy || (loaded && !finished));
        assume (!(again && (step || load)));
        // What was left was the last burst if the range ends in its block.
        assume (load_left ? load_left_last == (load_from[32:LG_BLOCK] == load_end[32:LG_BLOCK]) : load_from == load_position);
        assume (!trim || (busy && trim_top >= position[LG_BLOCK-1:0] && trim_top <= top));
        if (loaded && !finished) begin
            // Covers the range exactly: each burst begins where the one before ended, the last ends at the end.
            assert (position == at);
            assert (formal_end + 34'd1 == end_at && at < end_at && formal_end[32:LG_BLOCK] <= end_reg[32:LG_BLOCK]);
            assert (last || (end_reg[32:LG_BLOCK] > block_reg && &top));
            assert (last == (at + bytes == end_at));
            assert (bytes != 0);
            // Never leaves a block, hence never a page; the beats are those that hold the bytes.
            assert (position[LG_BLOCK-1:0] + bytes <= (1 << LG_BLOCK));
            assert (length + 1'b1 == ((position[2:0] + bytes + 7) >> 3));
            assert (length <= top[LG_BLOCK-1:3]);
        end
    end
`endif
endmodule

`default_nettype wire
