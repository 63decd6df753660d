// SPDX-License-Identifier: Apache-2.0
// FIFO in a memory. A word can leave the cycle after it entered; one word in and one out each cycle; all 2^LG_DEPTH
// words usable. BLOCK = 0 reads without a clock (LUT RAM), BLOCK = 1 with one (block RAM), the newest word taking a way
// around it.
`default_nettype none

module ferry_fifo #(
    // Bits of a word.
    parameter WIDTH = 8,
    // log2 of the number of words.
    parameter LG_DEPTH = 4,
    // 0: LUT RAM, 1: block RAM.
    parameter BLOCK = 0
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,
    // Words in.
    input  wire             in_valid,
    output wire             in_ready,
    input  wire [WIDTH-1:0] in_data,
    // Words out, in order.
    output wire             out_valid,
    input  wire             out_ready,
    output wire [WIDTH-1:0] out_data
`ifdef FORMAL
    ,
    // The place that the proof follows, whether a word is in it and which; and both pointers.
    output wire [LG_DEPTH:0] formal_place,
    output wire             formal_held,
    output wire [WIDTH-1:0] formal_word,
    output wire [LG_DEPTH:0] formal_write,
    output wire [LG_DEPTH:0] formal_read
`endif
);
    // A read of the word being written is never used: block RAM needs no logic to say what it gives.
    (* no_rw_check *) reg [WIDTH-1:0] memory [0:(1 << LG_DEPTH)-1];
    // One bit more than an address, so that full and empty differ.
    reg [LG_DEPTH:0] write_reg;
    reg [LG_DEPTH:0] read_reg;
    reg full_reg;
    reg filled_reg;

    wire push = in_valid && in_ready;
    wire pop = out_valid && out_ready;

    // One more word fills the FIFO; one less empties it.
    wire [LG_DEPTH:0] write_up = write_reg + {{LG_DEPTH{1'b0}}, 1'b1};
    wire [LG_DEPTH:0] read_up = read_reg + {{LG_DEPTH{1'b0}}, 1'b1};
    wire last_place = write_up == {~read_reg[LG_DEPTH], read_reg[LG_DEPTH-1:0]};
    wire last_word = read_up == write_reg;
    wire [LG_DEPTH:0] read_next = pop ? read_up : read_reg;

    assign in_ready = !full_reg;
    assign out_valid = filled_reg;

    always @(posedge clk) begin
        if (push) begin
            memory[write_reg[LG_DEPTH-1:0]] <= in_data;
        end
        if (push) begin
            write_reg <= write_up;
        end
        read_reg <= read_next;
        // From the pointers as they are: what comes in and goes out is known late in the cycle.
        if (push && !pop) begin
            filled_reg <= 1'b1;
            full_reg <= last_place;
        end else if (pop && !push) begin
            filled_reg <= !last_word;
            full_reg <= 1'b0;
        end
        if (rst) begin
            write_reg <= {(LG_DEPTH + 1){1'b0}};
            read_reg <= {(LG_DEPTH + 1){1'b0}};
            filled_reg <= 1'b0;
            full_reg <= 1'b0;
        end
    end

    generate
        if (BLOCK != 0) begin : block_read
            reg [WIDTH-1:0] word_reg;
            reg [WIDTH-1:0] newest_reg;
            reg around_reg;

            always @(posedge clk) begin
                word_reg <= memory[read_next[LG_DEPTH-1:0]];
            end
            always @(posedge clk) begin
                // The word to show next is the one that enters now: the memory does not have it yet.
                if (push) begin
                    newest_reg <= in_data;
                end
                around_reg <= (push && write_reg == read_next);
            end
            assign out_data = around_reg ? newest_reg : word_reg;
        end else begin : direct_read
            assign out_data = memory[read_reg[LG_DEPTH-1:0]];
        end
    endgenerate

`ifdef FORMAL
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) if (!past_valid) assume (rst);

    // Order and no loss: the word that enters at one place, whichever, leaves as the same word at the same place in
    // the order. Places are counted by the pointers themselves, whose difference is shown to be the number of words.
    (* anyconst *) reg [LG_DEPTH:0] place;
    reg held = 1'b0;
    reg [WIDTH-1:0] word = 0;
    assign formal_place = place;
    assign formal_held = held;
    assign formal_word = word;
    assign formal_write = write_reg;
    assign formal_read = read_reg;
    wire [LG_DEPTH:0] level = write_reg - read_reg;
    wire [LG_DEPTH:0] ahead = place - read_reg;
    always @(posedge clk) begin
        if (rst) begin
            held <= 1'b0;
        end else begin
            if (push && write_reg == place) begin
                held <= 1'b1;
                word <= in_data;
            end
            if (pop && read_reg == place) begin
                held <= 1'b0;
            end
        end
`ifndef FORMAL_INSIDE
        cover (past_valid && !rst && full_reg);
`endif
    end
    always @(*) if (past_valid && !rst) begin
        assert (level <= (1 << LG_DEPTH));
        assert (full_reg == (level == (1 << LG_DEPTH)));
        assert (filled_reg == (level != 0));
        assert (held == (ahead < level));
        if (held) begin
            assert (memory[place[LG_DEPTH-1:0]] == word);
        end
        if (out_valid && read_reg == place) begin
            assert (held && out_data == word);
        end
    end
`endif
endmodule

`default_nettype wire
