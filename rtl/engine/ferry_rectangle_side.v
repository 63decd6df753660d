// SPDX-License-Identifier: Apache-2.0
// One side of a rectangle: where its next byte is, row by row from the left. Rows lie a pitch apart; or the side is of
// tiles (ferry_swizzle), which lie in rows from the left too, and then a granule of 16 bytes lies together at most. Where it
// begins is told by a tile and the place in it: whoever describes a rectangle multiplies, not this. One adder does all sums
// of addresses: a row (of tiles) on, a tile or a piece on, and the first address, which is loaded as the first pitch.
`default_nettype none

module ferry_rectangle_side (
    // Clock.
    input  wire clk,

    // One-cycle pulses, in this order, with a cycle or more in between; word as below. From the cycle after the second on the
    // first byte is shown.
    // Base: lower half of the address of the first byte; of tiles, of the first byte of the tile that it lies in.
    // Layout: {small: tiles of 4 KiB; swizzle, see ferry_swizzle; y, x: place of the first byte in its tile, 0 without tiles;
    // 32 bits: bytes from a row (of tiles) to the next, negative where rows go upwards}. Of tiles, base and pitch are multiples
    // of a tile's bytes. No byte's address is in another 4 GiB than the base.
    input  wire        load_base,
    input  wire        load_layout,
    input  wire [63:0] word,

    // The rectangle is at hand. Goes on: behind the row's last byte, or by `cut` bytes, 1 to what lies together, without tiles 1 to 16.
    input  wire        active,
    input  wire        step,
    input  wire        row_last,
    input  wire [4:0]  cut,

    // The next byte's address, and its place in its granule, up to whose end bytes lie together (0 without tiles).
    output wire [31:0] address,
    output wire [3:0]  in_granule,
    output wire        tiled
);
    wire unused_word = &{1'b0, word[63:53]};

    // The base waits to be added to 0.
    reg        begins_reg;
    reg [31:0] pitch_reg;
    reg [1:0]  swizzle_reg;
    reg        small_reg;
    reg [9:0]  begin_reg;
    // Tile of the row's first byte; of the next byte (without tiles that byte itself); place in it.
    reg [31:0] row_reg;
    reg [31:0] tile_reg;
    reg [9:0]  x_reg;
    reg [7:0]  y_reg;

    assign tiled = swizzle_reg != 2'd0;
    // Last granule of a row of the tile, and its last row.
    wire [9:4] x_end = {swizzle_reg == 2'd3 && !small_reg, swizzle_reg[1] && !small_reg, !small_reg || swizzle_reg == 2'd3,
                        !small_reg || swizzle_reg[1], 2'b11};
    wire [7:0] y_end = {!swizzle_reg[1] && !small_reg, swizzle_reg != 2'd3 && !small_reg, !small_reg || !swizzle_reg[1],
                        !small_reg || swizzle_reg != 2'd3, 4'b1111};
    wire y_wraps = !tiled || y_reg == y_end;

    // Bit 4: the granule ends.
    wire [4:0] x_low = ({1'b0, x_reg[3:0]} + cut) & {5{tiled}};
    wire x_wraps = x_low[4] && x_reg[9:4] == x_end;

    wire from_row = row_last || begins_reg;
    wire row_on = y_wraps || begins_reg;
    wire [31:0] from;
    ferry_choice #(.WIDTH(32)) row_or_tile (.second(from_row), .word0(tile_reg), .word1(row_reg), .chosen(from));
    wire within_row = !from_row;
    wire [31:0] onwards = {15'd0, within_row && tiled && !small_reg, 3'd0, within_row && tiled && small_reg, 7'd0,
                           {5{within_row && !tiled}} & cut};
    wire [31:0] sum = from + (({32{from_row && row_on}} & pitch_reg) | onwards);

    wire [15:4] offset;
    ferry_swizzle swizzle_of_granule (
        .swizzle(swizzle_reg),
        .x(x_reg[9:4]),
        .y(y_reg),
        .offset(offset)
    );

    // A tile begins at a multiple of its size; without tiles the offset is 0.
    assign address = tile_reg | {16'd0, offset, x_reg[3:0]};
    assign in_granule = x_reg[3:0];

    always @(posedge clk) begin
        begins_reg <= load_base;
        if (load_base || load_layout) begin
            pitch_reg <= word[31:0];
        end
        if (load_base) begin
            row_reg <= 32'd0;
        end else if (begins_reg || (step && row_last && y_wraps)) begin
            row_reg <= sum;
        end
        if (begins_reg || (step && (row_last || !tiled || x_wraps))) begin
            tile_reg <= sum;
        end
        if (load_layout) begin
            begin_reg <= word[41:32];
            swizzle_reg <= word[51:50];
            small_reg <= word[52];
        end
        if (load_layout) begin
            y_reg <= word[49:42];
        end else if (step && row_last) begin
            y_reg <= y_wraps ? 8'd0 : y_reg + 8'd1;
        end
        // Without tiles both are 0.
        if (step || !active) begin
            x_reg <= row_last || !active ? begin_reg : {(x_reg[9:4] + {5'd0, x_low[4]}) & x_end, x_low[3:0]};
        end
    end

`ifdef FORMAL
`include "ferry_rectangle_side_properties.vh"
`endif
endmodule

`default_nettype wire
