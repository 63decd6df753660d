// SPDX-License-Identifier: Apache-2.0
// Memories of each shape that Yosys makes block RAMs of: as they stand here, and as it writes them with DP16KD, they must do the same.
`default_nettype none

module block_ram_shapes (
    input  wire         clk_a,
    input  wire         clk_b,
    input  wire         on_a,
    input  wire         on_b,
    input  wire         rst,
    input  wire [3:0]   write_a,
    input  wire [1:0]   write_b,
    input  wire [13:0]  at_a,
    input  wire [13:0]  at_b,
    input  wire [35:0]  in_a,
    input  wire [17:0]  in_b,
    output wire [220:0] out
);
    block_ram_two_ports #(.WIDTH(1), .CONTENT("1.hex"), .LG_WORDS(14), .SHOWS(0)) bits (
        clk_a, clk_b, on_a, on_b, write_a[0], write_b[0], at_a, at_b, in_a[0], in_b[0], out[0], out[1]
    );
    block_ram_two_ports #(.WIDTH(2), .CONTENT("2.hex"), .LG_WORDS(13), .SHOWS(1)) pairs (
        clk_a, clk_b, on_a, on_b, write_a[0], write_b[0], at_a[12:0], at_b[12:0], in_a[1:0], in_b[1:0], out[3:2], out[5:4]
    );
    block_ram_two_ports #(.WIDTH(4), .CONTENT("4.hex"), .LG_WORDS(12), .SHOWS(2)) fours (
        clk_a, clk_b, on_a, on_b, write_a[0], write_b[0], at_a[11:0], at_b[11:0], in_a[3:0], in_b[3:0], out[9:6], out[13:10]
    );
    block_ram_two_ports #(.WIDTH(9), .LG_WORDS(11), .SHOWS(0)) bytes (
        clk_a, clk_b, on_a, on_b, write_a[0], write_b[0], at_a[10:0], at_b[10:0], in_a[8:0], in_b[8:0], out[22:14], out[31:23]
    );
    block_ram_two_ports #(.WIDTH(18), .CONTENT("18.hex"), .LG_WORDS(10), .SHOWS(1)) new_halves (
        clk_a, clk_b, on_a, on_b, write_a[1:0], write_b, at_a[9:0], at_b[9:0], in_a[17:0], in_b, out[49:32], out[67:50]
    );
    block_ram_two_ports #(.WIDTH(18), .CONTENT("18.hex"), .LG_WORDS(10), .SHOWS(2)) old_halves (
        clk_a, clk_b, on_a, on_b, write_a[1:0], write_b, at_a[9:0], at_b[9:0], in_a[17:0], in_b, out[85:68], out[103:86]
    );
    block_ram_two_ports #(.WIDTH(18), .CONTENT("18.hex"), .LG_WORDS(10), .SHOWS(0)) halves (
        clk_a, clk_b, on_a, on_b, write_a[1:0], write_b, at_a[9:0], at_b[9:0], in_a[17:0], in_b, out[121:104], out[139:122]
    );
    block_ram_write_and_read #(.READ(36), .RESET(1)) words (
        clk_a, clk_b, on_a, on_b, rst, write_a, at_a[8:0], at_b[8:0], in_a, out[175:140]
    );
    block_ram_write_and_read #(.READ(18), .RESET(0), .FALLS(1)) falls (
        clk_a, clk_b, on_a, on_b, rst, write_a, at_a[8:0], at_b[9:0], in_a, out[193:176]
    );
    block_ram_write_and_read #(.READ(9), .RESET(0)) of_nine (
        clk_a, clk_b, on_a, on_b, rst, write_a, at_a[8:0], at_b[10:0], in_a, out[202:194]
    );
    // Both clocks one: a queue's memory.
    block_ram_write_and_read #(.READ(18), .RESET(1)) queue (
        clk_a, clk_a, on_a, on_a, rst, write_a, at_a[8:0], at_b[9:0], in_a, out[220:203]
    );
endmodule

`default_nettype wire
