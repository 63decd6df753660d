// SPDX-License-Identifier: Apache-2.0
// What the page-table unit remembers of level 1: for each side of the engine, eight areas of 2 MiB, each the table of level 0
// that maps it, with which a walk has one step left, or the large page that it is. One side never displaces what the other
// needs. Everything happens in the cycle of the look-up. An area is looked for while another one is filled.
`default_nettype none
`include "ferry_contract.vh"

module ferry_table_cache (
    // Clock. No reset: the unit forgets all after one.
    input  wire clk,

    // Whose area is looked for, or around which area is forgotten.
    input  wire        side,
    input  wire [3:0]  space,
    input  wire [47:21] area,
    output wire        known,
    output wire [`FERRY_MAPPING_BITS-1:0] mapping,

    // Remember this of an area; not in a cycle in which something is forgotten.
    input  wire        fill,
    input  wire        fill_side,
    input  wire [3:0]  fill_space,
    input  wire [47:21] fill_area,
    input  wire [`FERRY_MAPPING_BITS-1:0] fill_mapping,

    // Forget the area, the space or everything, in one of the sixteen places; each must have its cycle.
    input  wire        forget,
    input  wire [3:0]  forget_place,
    input  wire [1:0]  forget_scope
`ifdef FORMAL
    ,
    // For proofs: one area; which sides know it, and what.
    input  wire [3:0]  formal_space,
    input  wire [47:21] formal_area,
    output wire [1:0]  formal_known,
    output wire [2*`FERRY_MAPPING_BITS-1:0] formal_mappings
`endif
);
    localparam M = `FERRY_MAPPING_BITS;
    // 1, area as far as the place leaves it open, space, mapping.
    localparam W = 1 + 24 + 4 + M;

    reg  [W-1:0] places [0:15];
    wire [3:0]   place = forget ? forget_place : {side, area[23:21]};
    wire [W-1:0] now = places[place];
    wire any_space = forget && forget_scope == `FERRY_FORGET_SCOPE_ALL;
    wire any_area = forget && forget_scope[1];
    wire [1:0]   same_space;
    wire [11:0]  same_area;
    ferry_equal compare_space [1:0] (.word0(now[M +: 4]), .word1(space), .same(same_space));
    ferry_equal compare_area [11:0] (.word0(now[M+4 +: 24]), .word1(area[47:24]), .same(same_area));
    wire same = (&same_space || any_space) && (&same_area || any_area);

    assign known = now[W-1] && same;
    assign mapping = now[M-1:0];

    always @(posedge clk) begin
        if (fill || (forget && same)) begin
            places[forget ? forget_place : {fill_side, fill_area[23:21]}] <= {!forget, fill_area[47:24], fill_space, fill_mapping};
        end
    end

`ifdef FORMAL
    wire [W-1:0] formal_place0 = places[{1'b0, formal_area[23:21]}];
    wire [W-1:0] formal_place1 = places[{1'b1, formal_area[23:21]}];
    wire [W-1:M] formal_tag = {1'b1, formal_area[47:24], formal_space};
    assign formal_known = {formal_place1[W-1:M] == formal_tag, formal_place0[W-1:M] == formal_tag};
    assign formal_mappings = {formal_place1[M-1:0], formal_place0[M-1:0]};
`endif
endmodule

`default_nettype wire
