// SPDX-License-Identifier: Apache-2.0
// A wire from outside that has been high for longer than so many clocks, as it is when nobody is at its other end.
`default_nettype none

module ferry_stuck #(
    parameter CLOCKS = 50000
) (
    input  wire clk,
    input  wire rst,
    // Of any clock.
    input  wire line,
    output wire stuck
);
    localparam L = $clog2(CLOCKS + 1);
    localparam [31:0] MOST_INT = CLOCKS;
    localparam [L-1:0] MOST = MOST_INT[L-1:0];
    reg [1:0]   line_reg;
    reg [L-1:0] clocks_reg;

    assign stuck = clocks_reg == MOST;

    always @(posedge clk) begin
        line_reg <= {line_reg[0], line};
        clocks_reg <= !line_reg[1] ? {L{1'b0}} : stuck ? MOST : clocks_reg + 1'b1;
        if (rst) begin
            line_reg <= 2'b00;
            clocks_reg <= {L{1'b0}};
        end
    end
endmodule

`default_nettype wire
