// SPDX-License-Identifier: Apache-2.0
// Where a byte lies inside its tile, in the standard swizzle of Direct3D 12 (64KB_STANDARD_SWIZZLE, two dimensions, one
// sample). The interleave of coordinate bits is published for each size of element; counted in bytes of a row instead of
// elements, two sizes share one, and three are left. In each, 16 consecutive bytes of a row (a granule) stay together.
// A tile of 4 KiB is the beginning of the same pattern. docs/manual/tiling.md has the tables.
`default_nettype none

module ferry_swizzle (
    // 0: rows one behind the other, and no tile: x and y are 0. Else the shape of a tile of 64 KiB, in bytes by rows:
    // 1: 256 x 256 (elements of 1 byte); 2: 512 x 128 (2, 4); 3: 1024 x 64 (8, 16). Of 4 KiB: 64 x 64, 128 x 32, 256 x 16.
    input  wire [1:0]  swizzle,
    // Byte in its row of the tile, the number of its granule; row of the tile. Smaller than the tile.
    input  wire [9:4]  x,
    input  wire [7:0]  y,
    // The granule's place in the tile.
    output wire [15:4] offset
);
    wire [15:4] bytes_1 = {x[7], y[7], x[6], y[6], x[5], y[5], x[4], y[4], y[3], y[2], y[1], y[0]};
    wire [15:4] bytes_2_4 = {x[8], y[6], x[7], y[5], x[6], y[4], x[5], y[3], x[4], y[2], y[1], y[0]};
    wire [15:4] bytes_8_16 = {x[9], y[5], x[8], y[4], x[7], y[3], x[6], y[2], x[5], x[4], y[1], y[0]};

    assign offset = swizzle[1] ? (swizzle[0] ? bytes_8_16 : bytes_2_4) : bytes_1;
endmodule

`default_nettype wire
