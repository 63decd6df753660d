// SPDX-License-Identifier: Apache-2.0
// Which of some constants a value is, one bit each. Synthesis keeps the border: left to itself, Yosys 0.23 makes the comparison
// anew in every bit of what the result selects.
`default_nettype none

(* keep_hierarchy *)
module ferry_select #(
    // Constants, and bits of each.
    parameter COUNT = 2,
    parameter BITS = 4,
    // The constants side by side, the first lowest.
    parameter [COUNT*BITS-1:0] VALUES = 0
) (
    // The value.
    input  wire [BITS-1:0]  value,
    // Bit i: it is constant i.
    output wire [COUNT-1:0] selected
);
    genvar i;
    generate
        for (i = 0; i < COUNT; i = i + 1) begin : g_one
            assign selected[i] = value == VALUES[i*BITS +: BITS];
        end
    endgenerate
endmodule

`default_nettype wire
