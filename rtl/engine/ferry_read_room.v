// SPDX-License-Identifier: Apache-2.0
// Counts the words of the data FIFO that are neither taken nor promised, for ferry_read_side: how much more may be asked for.
// Video memory's words are promised when their burst is asked for, host words are counted as they come.
//
// What changes is counted a cycle later, so a burst must find room for the one before it too.
`default_nettype none

module ferry_read_room #(
    // log2 of the words in the data FIFO; at least 8.
    parameter LG_DATA = 9
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // Words promised in this cycle.
    input  wire [6:0] reserve,
    // A host word enters the FIFO; a word leaves it.
    input  wire       host_push,
    input  wire       freed,

    // There is room for any burst; for one with one or two blocks of 64 words to spare; for a word.
    output wire       any_burst,
    output wire       one_to_spare,
    output wire       two_to_spare,
    output wire       any_word
);
    // Twice the most entries that a burst can need (64 beats and one more word behind the last) with a host word each, and a word
    // more. A small FIFO has nothing to spare.
    localparam [LG_DATA:0] MOST = 2 * (66 + 1) + 1;
    localparam [LG_DATA:0] MOST_AND_ONE = LG_DATA > 8 ? MOST + 64 : MOST;
    localparam [LG_DATA:0] MOST_AND_TWO = LG_DATA > 8 ? MOST + 128 : MOST;

    // As of a cycle ago, and what changed since.
    reg [LG_DATA:0] room_reg;
    reg [6:0]  reserve_reg;
    reg        host_push_reg;
    reg        freed_reg;
    reg        any_burst_reg;
    reg        one_to_spare_reg;
    reg        two_to_spare_reg;
    reg        any_word_reg;

    wire [LG_DATA:0] room_next = room_reg - {{(LG_DATA-6){1'b0}}, reserve_reg} - {{LG_DATA{1'b0}}, host_push_reg}
        + {{LG_DATA{1'b0}}, freed_reg};

    assign any_burst = any_burst_reg;
    assign one_to_spare = one_to_spare_reg;
    assign two_to_spare = two_to_spare_reg;
    assign any_word = any_word_reg;

    always @(posedge clk) begin
        reserve_reg <= reserve;
        host_push_reg <= host_push;
        freed_reg <= freed;
        room_reg <= room_next;
        any_burst_reg <= room_next >= MOST;
        one_to_spare_reg <= room_next >= MOST_AND_ONE;
        two_to_spare_reg <= room_next >= MOST_AND_TWO;
        any_word_reg <= room_next > 1;
        if (rst) begin
            reserve_reg <= 7'd0;
            host_push_reg <= 1'b0;
            freed_reg <= 1'b0;
            room_reg <= {1'b1, {LG_DATA{1'b0}}};
            any_burst_reg <= 1'b0;
            one_to_spare_reg <= 1'b0;
            two_to_spare_reg <= 1'b0;
            any_word_reg <= 1'b0;
        end
    end

`ifdef FORMAL
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    // No word is promised or taken that the data FIFO has not, though what was promised in the cycle before is not seen yet.
    always @(*) begin
        assume (!freed || room_next < (1 << LG_DATA));
        if (past_valid && !rst) begin
            assert (room_next <= (1 << LG_DATA) && room_reg <= (1 << LG_DATA));
            assert ({1'b0, room_reg} + freed_reg >= {4'd0, reserve_reg} + host_push_reg);
            assert (reserve_reg <= 66);
            assert (reserve_reg == 0 || room_reg >= 66 + 1);
            assert (!(any_burst_reg || one_to_spare_reg || two_to_spare_reg) || room_reg >= MOST);
            assert (!any_word_reg || room_reg > 1);
        end
    end
    always @(posedge clk) cover (past_valid && !rst && reserve_reg != 0 && host_push_reg);
`endif
endmodule

`default_nettype wire
