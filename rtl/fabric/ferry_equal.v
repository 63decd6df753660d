// SPDX-License-Identifier: Apache-2.0
// Two bits are those of another word: a piece of a comparison that synthesis keeps as the one small table that it is. Left
// to itself, Yosys 0.23 makes a wide comparison of wide tables, of about twice the size. Used as an array.
`default_nettype none

(* keep_hierarchy *)
module ferry_equal (
    // Two bits of each word.
    input  wire [1:0] word0,
    input  wire [1:0] word1,
    output wire       same
);
    assign same = word0 == word1;
endmodule

`default_nettype wire
