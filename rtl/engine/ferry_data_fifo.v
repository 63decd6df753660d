// SPDX-License-Identifier: Apache-2.0
// The data FIFO between the read side and the write side, in block RAM. Whether the word in front is bad is not kept with the
// word but known from a count of the good ones: behind a bad word no good one enters until all bad ones are gone
// (ferry_realigner). So the mark is a flip-flop, and the byte enables that hang on it do not wait for the block RAM.
`default_nettype none

module ferry_data_fifo #(
    // log2 of the words.
    parameter LG_DEPTH = 9
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,
    // A word enters; who pushes counts the room.
    input  wire        push,
    input  wire [63:0] push_data,
    input  wire        push_last,
    input  wire        push_bad,
    // The word in front: its job's last, bad. Of a word that is not there, `bad` means nothing.
    output wire        word_valid,
    input  wire        word_take,
    output wire [63:0] word,
    output wire        word_last,
    output wire        word_bad
);
    wire room;
`ifdef FORMAL
    wire [LG_DEPTH:0] place, in_place, out_place;
    wire held;
`endif
    ferry_fifo #(.WIDTH(65), .LG_DEPTH(LG_DEPTH), .BLOCK(1)) words (
        .clk(clk), .rst(rst), .in_valid(push), .in_ready(room), .in_data({push_last, push_data}),
        .out_valid(word_valid), .out_ready(word_take), .out_data({word_last, word})
`ifdef FORMAL
        , .formal_place(place), .formal_held(held), .formal_write(in_place), .formal_read(out_place)
`endif
    );
    wire unused = &{1'b0, room};

    // Good words in the FIFO; there is none.
    reg [LG_DEPTH:0] good_reg;
    reg        none_reg;
    wire       enters = push && !push_bad;
    wire       leaves = word_valid && word_take && !none_reg;

    assign word_bad = none_reg;

    always @(posedge clk) begin
        good_reg <= good_reg + {{LG_DEPTH{leaves && !enters}}, leaves != enters};
        // From the count as it is: what enters and leaves is known late in the cycle.
        if (enters && !leaves) begin
            none_reg <= 1'b0;
        end else if (leaves && !enters) begin
            none_reg <= good_reg == 1;
        end
        if (rst) begin
            good_reg <= {(LG_DEPTH + 1){1'b0}};
            none_reg <= 1'b1;
        end
    end

`ifdef FORMAL
    reg past_valid = 1'b0;
    // Of the word that the FIFO's proof follows, whichever: whether it came as a bad one.
    reg came_bad = 1'b0;
    wire [LG_DEPTH:0] level = in_place - out_place;
    wire [LG_DEPTH:0] ahead = place - out_place;
    always @(posedge clk) begin
        past_valid <= 1'b1;
        if (push && in_place == place) begin
            came_bad <= push_bad;
        end
        cover (past_valid && !rst && word_valid && word_bad && level == 3);
        cover (past_valid && !rst && word_valid && !word_bad && level == 3 && good_reg == 1);
    end
    always @(*) begin
        assume (past_valid || rst);
        assume (!push || room);
        assume (!enters || good_reg == level);
        if (past_valid && !rst) begin
            assert (good_reg <= level && none_reg == (good_reg == 0));
            assert (!held || came_bad == (ahead >= good_reg));
            // The claim.
            assert (!(word_valid && out_place == place) || word_bad == came_bad);
        end
    end
`endif
endmodule

`default_nettype wire
