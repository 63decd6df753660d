// SPDX-License-Identifier: Apache-2.0
// Two ports that read and write, each at its own clock. A port of 18 bits writes its two bytes one by one.
`default_nettype none

module block_ram_two_ports #(
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

`default_nettype wire
