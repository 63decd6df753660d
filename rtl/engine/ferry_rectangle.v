// SPDX-License-Identifier: Apache-2.0
// Walks one side of a rectangle, row by row from the left, and hands out the pieces that lie together in memory: a row,
// where rows lie one behind the other; a granule of 16 bytes or the part of one, where the rectangle lies in tiles
// (ferry_swizzle). Tiles lie in rows from the left too. Both sides of a copy give the same bytes in the same order, whatever
// their layouts, so nothing behind the addresses knows of tiles. One piece a cycle.
//
// A rectangle is described by three words. Where it begins is told by a tile and the place in it: whoever describes a
// rectangle multiplies, not this. One adder does all sums of addresses: a row (of tiles) on, a tile on, back to the row's
// first tile, and the first address, which is loaded as the first pitch.
`default_nettype none

module ferry_rectangle (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // One-cycle pulses, in this order, in any three cycles while no rectangle is at hand; word as below. After the third the
    // first piece is shown. The rectangle at hand may be given up in any cycle.
    input  wire        load_base,
    input  wire        load_row,
    input  wire        load_shape,
    input  wire        give_up,
    // Base: lower half of the address of the first byte; of tiles, of the first byte of the tile that it lies in, a multiple
    // of the tile's size.
    // Row: {24 bits: bytes of a row, not 0; 32 bits: bytes from a row (of tiles) to the next, negative where rows go upwards}.
    // Shape: {small: tiles of 4 KiB; swizzle, see ferry_swizzle; y, x: place of the first byte in its tile, 0 without tiles;
    // 16 bits: rows, less one}.
    input  wire [63:0] word,

    // The next piece: its first byte, with the carry into the upper half of the address, and its bytes. It is the last of
    // its row, and of all.
    output wire        piece_valid,
    input  wire        piece_ready,
    output wire [32:0] piece_address,
    output wire [23:0] piece_bytes,
    output wire        piece_row_last,
    output wire        piece_last
);
    wire unused_word = &{1'b0, word[63:56]};

    reg        active_reg;
    // The base waits to be added to 0.
    reg        begins_reg;
    reg [32:0] pitch_reg;
    reg [23:0] width_reg;
    reg [1:0]  swizzle_reg;
    reg        small_reg;
    reg [9:0]  begin_reg;
    // Tile of the row's first byte; of the piece; place in it.
    reg [32:0] row_reg;
    reg [32:0] tile_reg;
    reg [9:0]  x_reg;
    reg [7:0]  y_reg;
    // Bytes of the row from the piece on; rows behind this one.
    reg [23:0] left_reg;
    reg [15:0] rows_reg;

    wire tiled = swizzle_reg != 2'd0;
    // Last granule of a row of the tile, and its last row.
    wire [9:4] x_end = {swizzle_reg == 2'd3 && !small_reg, swizzle_reg[1] && !small_reg, !small_reg || swizzle_reg == 2'd3,
                        !small_reg || swizzle_reg[1], 2'b11};
    wire [7:0] y_end = {!swizzle_reg[1] && !small_reg, swizzle_reg != 2'd3 && !small_reg, !small_reg || !swizzle_reg[1],
                        !small_reg || swizzle_reg != 2'd3, 4'b1111};
    wire x_wraps = x_reg[9:4] == x_end;
    wire y_wraps = !tiled || y_reg == y_end;

    wire [4:0] room = 5'd16 - {1'b0, x_reg[3:0]};
    wire row_last = !tiled || left_reg <= {19'd0, room};
    wire step = piece_valid && piece_ready;
    wire row_step = step && row_last;

    wire from_row = row_last || begins_reg;
    wire [32:0] stride = {33{from_row && (y_wraps || begins_reg)}} & pitch_reg;
    wire [32:0] tile_bytes = {16'd0, !from_row && !small_reg, 3'd0, !from_row && small_reg, 12'd0};
    wire [32:0] sum = (from_row ? row_reg : tile_reg) + (stride | tile_bytes);

    wire [15:4] offset;
    ferry_swizzle swizzle_of_piece (
        .swizzle(swizzle_reg),
        .x(x_reg[9:4]),
        .y(y_reg),
        .offset(offset)
    );

    assign piece_valid = active_reg;
    // A tile begins at a multiple of its size; without tiles the offset is 0.
    assign piece_address = tile_reg | {17'd0, offset, x_reg[3:0]};
    assign piece_bytes = row_last ? left_reg : {19'd0, room};
    assign piece_row_last = row_last;
    assign piece_last = row_last && rows_reg == 16'd0;

    always @(posedge clk) begin
        begins_reg <= load_base;
        if (load_base || load_row) begin
            pitch_reg <= {load_row && word[31], word[31:0]};
        end
        if (load_base) begin
            row_reg <= 33'd0;
        end else if (begins_reg || (row_step && y_wraps)) begin
            row_reg <= sum;
        end
        if (begins_reg || row_step || (step && x_wraps)) begin
            tile_reg <= sum;
        end
        if (load_row) begin
            width_reg <= word[55:32];
        end
        if (load_shape) begin
            rows_reg <= word[15:0];
            begin_reg <= word[25:16];
            swizzle_reg <= word[35:34];
            small_reg <= word[36];
        end else if (row_step) begin
            rows_reg <= rows_reg - 16'd1;
        end
        if (load_shape) begin
            y_reg <= word[33:26];
        end else if (row_step) begin
            y_reg <= y_wraps ? 8'd0 : y_reg + 8'd1;
        end
        if (load_shape) begin
            x_reg <= word[25:16];
        end else if (step) begin
            x_reg <= row_last ? begin_reg : x_wraps ? 10'd0 : {x_reg[9:4] + 6'd1, 4'd0};
        end
        if (load_shape || row_step) begin
            left_reg <= width_reg;
        end else if (step) begin
            left_reg <= left_reg - {19'd0, room};
        end
        active_reg <= !rst && !give_up && (load_shape || (active_reg && !(step && piece_last)));
    end

`ifdef FORMAL
`include "ferry_rectangle_properties.vh"
`endif
endmodule

`default_nettype wire
