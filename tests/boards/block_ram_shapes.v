// SPDX-License-Identifier: Apache-2.0
// Memories of each shape that Yosys makes block RAMs of: as they stand here, and as it writes them with DP16KD, they must do the same.
`default_nettype none

// Two ports that read and write, each at its own clock. A port of 18 bits writes its two bytes one by one.
module two_ports #(
    parameter WIDTH = 9,
    parameter LG_WORDS = 11,
    // What a port that writes shows: 0 what it showed before, 1 what is written, 2 what was there.
    parameter SHOWS = 0,
    parameter BYTES = WIDTH == 18 ? 2 : 1,
    // Words of WIDTH bits.
    parameter CONTENT = "9.hex"
) (
    input  wire               clk_a,
    input  wire               clk_b,
    input  wire               on_a,
    input  wire               on_b,
    input  wire [BYTES-1:0]   write_a,
    input  wire [BYTES-1:0]   write_b,
    input  wire [LG_WORDS-1:0] at_a,
    input  wire [LG_WORDS-1:0] at_b,
    input  wire [WIDTH-1:0]   in_a,
    input  wire [WIDTH-1:0]   in_b,
    output reg  [WIDTH-1:0]   out_a,
    output reg  [WIDTH-1:0]   out_b
);
    localparam BYTE = WIDTH / BYTES;
    (* ram_style = "block" *)
    reg [WIDTH-1:0] memory [0:(1 << LG_WORDS) - 1];

    integer i, j;
    initial begin
        $readmemh(CONTENT, memory);
        out_a = 0;
        out_b = 0;
    end

    generate if (SHOWS == 0) begin : holds
        always @(posedge clk_a)
            if (on_a) begin
                for (i = 0; i < BYTES; i = i + 1)
                    if (write_a[i])
                        memory[at_a][i * BYTE +: BYTE] <= in_a[i * BYTE +: BYTE];
                if (write_a == 0)
                    out_a <= memory[at_a];
            end
        always @(posedge clk_b)
            if (on_b) begin
                for (j = 0; j < BYTES; j = j + 1)
                    if (write_b[j])
                        memory[at_b][j * BYTE +: BYTE] <= in_b[j * BYTE +: BYTE];
                if (write_b == 0)
                    out_b <= memory[at_b];
            end
    end else begin : shows
        always @(posedge clk_a)
            if (on_a) begin
                out_a <= memory[at_a];
                for (i = 0; i < BYTES; i = i + 1)
                    if (write_a[i]) begin
                        memory[at_a][i * BYTE +: BYTE] <= in_a[i * BYTE +: BYTE];
                        if (SHOWS == 1)
                            out_a[i * BYTE +: BYTE] <= in_a[i * BYTE +: BYTE];
                    end
            end
        always @(posedge clk_b)
            if (on_b) begin
                out_b <= memory[at_b];
                for (j = 0; j < BYTES; j = j + 1)
                    if (write_b[j]) begin
                        memory[at_b][j * BYTE +: BYTE] <= in_b[j * BYTE +: BYTE];
                        if (SHOWS == 1)
                            out_b[j * BYTE +: BYTE] <= in_b[j * BYTE +: BYTE];
                    end
            end
    end endgenerate
endmodule

// One port writes 36 bits in four bytes, the other one reads READ bits, with a reset of what it shows.
module write_and_read #(
    parameter READ = 36,
    parameter RESET = 0,
    // Reads at the clock's other edge.
    parameter FALLS = 0,
    parameter LG_READS = READ == 36 ? 9 : READ == 18 ? 10 : 11
) (
    input  wire                clk_a,
    input  wire                clk_b,
    input  wire                on_a,
    input  wire                on_b,
    input  wire                rst,
    input  wire [3:0]          write_a,
    input  wire [8:0]          at_a,
    input  wire [LG_READS-1:0] at_b,
    input  wire [35:0]         in_a,
    output reg  [READ-1:0]     out_b
);
    (* ram_style = "block" *)
    reg [8:0] memory [0:2047];

    integer i, j;
    initial begin
        $readmemh("9.hex", memory);
        out_b = 0;
    end

    always @(posedge clk_a)
        if (on_a)
            for (i = 0; i < 4; i = i + 1)
                if (write_a[i])
                    memory[{at_a, i[1:0]}] <= in_a[9 * i +: 9];
    wire clock = FALLS ? !clk_b : clk_b;
    generate if (READ == 36) begin : words
        always @(posedge clock)
            if (RESET && rst)
                out_b <= 0;
            else if (on_b)
                for (j = 0; j < 4; j = j + 1)
                    out_b[9 * j +: 9] <= memory[{at_b, j[1:0]}];
    end else if (READ == 18) begin : halves
        always @(posedge clock)
            if (RESET && rst)
                out_b <= 0;
            else if (on_b)
                for (j = 0; j < 2; j = j + 1)
                    out_b[9 * j +: 9] <= memory[{at_b, j[0]}];
    end else begin : bytes
        always @(posedge clock)
            if (RESET && rst)
                out_b <= 0;
            else if (on_b)
                out_b <= memory[at_b];
    end endgenerate
endmodule

module shapes (
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
    two_ports #(.WIDTH(1), .CONTENT("1.hex"), .LG_WORDS(14), .SHOWS(0)) bits (clk_a, clk_b, on_a, on_b, write_a[0], write_b[0], at_a, at_b, in_a[0], in_b[0],
        out[0], out[1]);
    two_ports #(.WIDTH(2), .CONTENT("2.hex"), .LG_WORDS(13), .SHOWS(1)) pairs (clk_a, clk_b, on_a, on_b, write_a[0], write_b[0], at_a[12:0], at_b[12:0],
        in_a[1:0], in_b[1:0], out[3:2], out[5:4]);
    two_ports #(.WIDTH(4), .CONTENT("4.hex"), .LG_WORDS(12), .SHOWS(2)) fours (clk_a, clk_b, on_a, on_b, write_a[0], write_b[0], at_a[11:0], at_b[11:0],
        in_a[3:0], in_b[3:0], out[9:6], out[13:10]);
    two_ports #(.WIDTH(9), .LG_WORDS(11), .SHOWS(0)) bytes (clk_a, clk_b, on_a, on_b, write_a[0], write_b[0], at_a[10:0], at_b[10:0],
        in_a[8:0], in_b[8:0], out[22:14], out[31:23]);
    two_ports #(.WIDTH(18), .CONTENT("18.hex"), .LG_WORDS(10), .SHOWS(1)) new_halves (clk_a, clk_b, on_a, on_b, write_a[1:0], write_b, at_a[9:0], at_b[9:0],
        in_a[17:0], in_b, out[49:32], out[67:50]);
    two_ports #(.WIDTH(18), .CONTENT("18.hex"), .LG_WORDS(10), .SHOWS(2)) old_halves (clk_a, clk_b, on_a, on_b, write_a[1:0], write_b, at_a[9:0], at_b[9:0],
        in_a[17:0], in_b, out[85:68], out[103:86]);
    two_ports #(.WIDTH(18), .CONTENT("18.hex"), .LG_WORDS(10), .SHOWS(0)) halves (clk_a, clk_b, on_a, on_b, write_a[1:0], write_b, at_a[9:0], at_b[9:0],
        in_a[17:0], in_b, out[121:104], out[139:122]);
    write_and_read #(.READ(36), .RESET(1)) words (clk_a, clk_b, on_a, on_b, rst, write_a, at_a[8:0], at_b[8:0], in_a, out[175:140]);
    write_and_read #(.READ(18), .RESET(0), .FALLS(1)) falls (clk_a, clk_b, on_a, on_b, rst, write_a, at_a[8:0], at_b[9:0], in_a,
        out[193:176]);
    write_and_read #(.READ(9), .RESET(0)) of_nine (clk_a, clk_b, on_a, on_b, rst, write_a, at_a[8:0], at_b[10:0], in_a, out[202:194]);
    // Both clocks one: a queue's memory.
    write_and_read #(.READ(18), .RESET(1)) queue (clk_a, clk_a, on_a, on_a, rst, write_a, at_a[8:0], at_b[9:0], in_a, out[220:203]);
endmodule

`default_nettype wire
