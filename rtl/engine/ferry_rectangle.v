// SPDX-License-Identifier: Apache-2.0
// Walks both sides of a rectangle at once, row by row from the left, and hands out the pieces that lie together on either
// side: a row, where neither side is of tiles, else a granule of 16 bytes or a part of one. Each is an ordinary copy, so
// nothing behind this knows of rectangles or tiles. Both sides of a piece are the same bytes, whatever their layouts.
`default_nettype none

module ferry_rectangle (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // One-cycle pulses, in this order, with a cycle or more in between; word as below. Three cycles after the last the first
    // piece is shown. The first gives up the rectangle at hand, as does give_up in any cycle.
    // Size: {16 bits: rows, less one; 8 bits: nothing; 24 bits: bytes of a row, not 0}. Bases and layouts: see
    // ferry_rectangle_side. Of the rectangle that the size gives up while it shows a piece, that piece's row is kept.
    input  wire        load_size,
    input  wire        load_source,
    input  wire        load_destination,
    input  wire        load_source_layout,
    input  wire        load_destination_layout,
    input  wire        give_up,
    input  wire [63:0] word,
    // With load_size: the rectangle is the one whose row is kept, and it goes on with that row's first piece. The rows in
    // front of it are passed over, one a cycle.
    input  wire        goes_on,
    // Rows are passed over, up to the first piece.
    output wire        passes,

    // The next piece: lower halves of the addresses of its first byte, and its bytes. It is the last of all.
    output wire        piece_valid,
    input  wire        piece_ready,
    output wire [31:0] piece_source,
    output wire [31:0] piece_destination,
    output wire [23:0] piece_bytes,
    output wire        piece_last
);
    reg        active_reg;
    // The last word is there.
    reg        starts_reg;
    // Rows are passed over until so many are behind the row.
    reg        passes_reg;
    reg [15:0] until_reg;
    // Rows behind the one that is kept.
    reg [15:0] kept_reg;
    reg [23:0] width_reg;
    // Bytes of the row from the piece on; rows behind this one.
    reg [23:0] left_reg;
    reg [15:0] rows_reg;

    wire [3:0] source_in_granule, destination_in_granule, nearer_end;
    wire source_tiled, destination_tiled;
    // Borders where Yosys would make one wide function of all.
    wire [4:0] cut;
    wire       row_last;
    ferry_choice #(.WIDTH(4)) nearer (
        .second(source_in_granule > destination_in_granule), .word0(destination_in_granule), .word1(source_in_granule),
        .chosen(nearer_end)
    );
    assign cut = 5'd16 - {1'b0, nearer_end};
    ferry_choice #(.WIDTH(1)) last_or_whole (
        .second(source_tiled || destination_tiled), .word0(1'b1), .word1(left_reg[23:5] == 19'd0 && left_reg[4:0] <= cut),
        .chosen(row_last)
    );
    wire [23:0] left_next;
    ferry_choice #(.WIDTH(24)) next_row (
        .second(row_last || !active_reg), .word0(left_reg - {19'd0, cut}), .word1(width_reg), .chosen(left_next)
    );
    wire step = piece_valid && piece_ready;
    wire pass = passes_reg && rows_reg != until_reg;
    wire row_on = pass || (step && row_last);

    ferry_rectangle_side source (
        .clk(clk), .load_base(load_source), .load_layout(load_source_layout), .word(word), .active(active_reg || passes_reg),
        .step(step || pass), .row_last(row_last || pass), .cut(cut),
        .address(piece_source), .in_granule(source_in_granule), .tiled(source_tiled)
    );
    ferry_rectangle_side destination (
        .clk(clk), .load_base(load_destination), .load_layout(load_destination_layout), .word(word),
        .active(active_reg || passes_reg), .step(step || pass), .row_last(row_last || pass), .cut(cut),
        .address(piece_destination), .in_granule(destination_in_granule), .tiled(destination_tiled)
    );

    assign passes = passes_reg;
    assign piece_valid = active_reg;
    assign piece_bytes = row_last ? left_reg : {19'd0, cut};
    assign piece_last = row_last && rows_reg == 16'd0;

    always @(posedge clk) begin
        if (load_size) begin
            width_reg <= word[23:0];
            until_reg <= goes_on ? kept_reg : word[47:32];
        end
        if (load_size && active_reg) begin
            kept_reg <= rows_reg;
        end
        if (step || !active_reg) begin
            left_reg <= left_next;
        end
        if (load_size) begin
            rows_reg <= word[47:32];
        end else if (row_on) begin
            rows_reg <= rows_reg - 16'd1;
        end
        starts_reg <= !rst && load_destination_layout;
        passes_reg <= !rst && !give_up && !load_size && (starts_reg || pass);
        active_reg <= !rst && !give_up && !load_size && ((passes_reg && !pass) || (active_reg && !(step && piece_last)));
    end

`ifdef FORMAL
`include "ferry_rectangle_properties.vh"
`endif
endmodule

`default_nettype wire
