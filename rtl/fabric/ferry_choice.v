// SPDX-License-Identifier: Apache-2.0
// One of two words: a multiplexer stage that synthesis keeps as it is. Left to itself, Yosys 0.23 merges a row of such
// stages (a byte rotator) into wide multiplexers of about twice the size.
`default_nettype none

(* keep_hierarchy *)
module ferry_choice #(
    // Bits of a word.
    parameter WIDTH = 64
) (
    // 0: the first word, 1: the second.
    input  wire             second,
    input  wire [WIDTH-1:0] word0,
    input  wire [WIDTH-1:0] word1,
    output wire [WIDTH-1:0] chosen
);
    assign chosen = second ? word1 : word0;
endmodule

`default_nettype wire
