// SPDX-License-Identifier: Apache-2.0
// One port writes 36 bits in four bytes, the other one reads READ bits, with a reset of what it shows.
`default_nettype none

module block_ram_write_and_read #(
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

`default_nettype wire
