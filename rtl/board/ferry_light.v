// SPDX-License-Identifier: Apache-2.0
// A light that shows what is over in a clock: it stays on long enough to be seen.
`default_nettype none

module ferry_light #(
    // log2 of the clocks that it stays on: 20 are 21 ms at 50 MHz.
    parameter LG_CLOCKS = 20
) (
    // Clock and synchronous reset.
    input  wire clk,
    input  wire rst,
    // What is shown, and the light.
    input  wire happens,
    output wire lit
);
    reg [LG_CLOCKS:0] left_reg;

    assign lit = left_reg[LG_CLOCKS];

    always @(posedge clk) begin
        if (happens)
            left_reg <= {(LG_CLOCKS + 1){1'b1}};
        else if (lit)
            left_reg <= left_reg - 1'b1;
        if (rst)
            left_reg <= {(LG_CLOCKS + 1){1'b0}};
    end
endmodule

`default_nettype wire
