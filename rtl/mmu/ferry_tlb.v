// SPDX-License-Identifier: Apache-2.0
// Translation look-aside buffer of the page-table unit. What it keeps is lines: the pages of up to eight neighbouring entries
// of a table, as one read brings them, from the one that was asked for to the end of 64 bytes. 32 lines, two of them in each
// set. Which lines there are stands in LUT RAM and is compared in the cycle of the look-up; their pages come out of block
// RAM in the next. A line whose page stands for 64 KiB answers for all of these, from its one entry.
//
// One thing happens a cycle, as the unit decides: a look-up, a beat of a fill, or a step of forgetting; in the cycle after a beat no
// look-up.
`default_nettype none
`include "ferry_contract.vh"

module ferry_tlb (
    // Clock. No reset: the unit forgets all after one.
    input  wire clk,

    // The page that is looked for, that a line is filled from, or around which is forgotten; and the set it belongs to, bits 19 to
    // 16 of its address by those above, 23 to 20, and by its space. So spaces, and addresses far from each other, are spread over
    // the sets, and the tag holds what undoes this.
    input  wire [3:0]  space,
    input  wire [47:12] page,
    input  wire [3:0]  home,

    // Its line is there, in this cycle; what is known of it comes in the next, and stays until something else is looked for.
    output wire        known,
    output wire [`FERRY_MAPPING_BITS-1:0] mapping,

    // A beat of a fill, and its place in the line: the first, that of `page`, or one behind it; the last, with which the line is known.
    input  wire        fill,
    input  wire [2:0]  fill_place,
    input  wire        fill_first,
    input  wire        fill_last,
    input  wire [`FERRY_MAPPING_BITS-1:0] fill_mapping,

    // Forget what the scope says, in one of the sixteen sets; each must have its cycle.
    input  wire        forget,
    input  wire [3:0]  forget_set,
    input  wire [1:0]  forget_scope
`ifdef FORMAL
    ,
    // For proofs: one page; the set it belongs to; which ways say that they have it, or will once they are filled, and which are
    // known; what they have of it; where a fill goes, and its first place.
    input  wire [3:0]  formal_space,
    input  wire [47:12] formal_page,
    output wire [3:0]  formal_set,
    output wire [1:0]  formal_tagged,
    output wire [1:0]  formal_grouped,
    output wire [1:0]  formal_valid,
    output wire [2*`FERRY_MAPPING_BITS-1:0] formal_mappings,
    input  wire [3:0]  formal_fill_set,
    output wire        formal_fill_way,
    output wire        formal_fill_valid,
    output wire [2:0]  formal_fill_from
`endif
);
    localparam M = `FERRY_MAPPING_BITS;
    // Group, first known entry, place of the line in its 64 KiB, page above that as far as the set leaves it open, space.
    localparam TAG = 1 + 3 + 1 + 28 + 4;

    reg        fill_way_reg;
    reg        next_way_reg;
    wire [3:0] set = forget ? forget_set : home;

    // ---- Pages ----
    // A page is written in the cycle after its beat, since the way is known late. In neither is anything looked up.
    (* no_rw_check *)
    reg  [M-1:0] pages [0:255];
    reg  [M-1:0] mapping_reg;
    reg          write_reg;
    reg  [7:0]   write_place_reg;
    reg  [M-1:0] write_mapping_reg;
    // ---- Lines ----
    reg  [1:0] valid [0:15];
    wire [1:0] valid_now = valid[set];
    wire [1:0] line;
    wire [1:0] found;
    wire [1:0] grouped;
    wire [5:0] froms;
    wire [1:0] gone;
    wire       any_space = forget && forget_scope == `FERRY_FORGET_SCOPE_ALL;
    wire       any_table = forget && forget_scope[1];
    wire       any_group = forget && forget_scope != `FERRY_FORGET_SCOPE_GROUP;
    wire       fill_way;
`ifdef FORMAL
    wire [5:0] formal_from;
    assign formal_fill_from = fill_way_reg ? formal_from[5:3] : formal_from[2:0];
`endif
    wire       fill_group = fill_mapping[`FERRY_MAPPING_GROUP_RANGE];

    genvar way;
    generate
        for (way = 0; way < 2; way = way + 1) begin : ways
            reg  [TAG-1:0] tags [0:15];
            wire [TAG-1:0] tag = tags[set];
            // Of the tag, from bit 3 down the space, above it pages as the page number has them.
            wire [1:0]  same_space;
            wire [12:0] same_table;
            ferry_equal compare_space [1:0] (.word0(tag[3:0]), .word1(space), .same(same_space));
            ferry_equal compare_table [12:0] (.word0(tag[31:6]), .word1(page[47:22]), .same(same_table));
            wire same = valid_now[way] && (&same_space || any_space) && ((&same_table && tag[5] == page[21]) || any_table)
                && (tag[4] == page[20] || any_group);
            wire [2:0] from = tag[TAG-2 -: 3];
            wire reaches = from[2] != page[14] ? page[14] : from[1] != page[13] ? page[13] : page[12] || !from[0];
            assign froms[3*way +: 3] = from;
            assign grouped[way] = tag[TAG-1];
            assign line[way] = same && (grouped[way] || tag[32] == page[15]);
            assign found[way] = line[way] && (grouped[way] || reaches);
            assign gone[way] = same && (any_group || home == forget_set);
            always @(posedge clk) begin
                if (fill && fill_first && fill_way == way) begin
                    tags[set] <= {fill_group, page[14:12], page[15], page[47:20], space};
                end
            end
`ifdef FORMAL
            wire [TAG-1:0] formal_tag = tags[formal_set];
            wire [2:0] formal_place = formal_grouped[way] ? formal_tag[TAG-2 -: 3] : formal_page[14:12];
            assign formal_grouped[way] = formal_tag[TAG-1];
            assign formal_tagged[way] = formal_tag[31:0] == {formal_page[47:20], formal_space}
                && (formal_grouped[way] || (formal_tag[32] == formal_page[15] && formal_page[14:12] >= formal_tag[TAG-2 -: 3]));
            wire formal_which = way;
            wire [TAG-1:0] formal_filled = tags[formal_fill_set];
            assign formal_from[3*way +: 3] = formal_filled[TAG-2 -: 3];
            wire [7:0] formal_page_place = {formal_which, formal_set, formal_place};
            assign formal_mappings[M*way +: M] = write_reg && write_place_reg == formal_page_place ? write_mapping_reg
                : pages[formal_page_place];
`endif
        end
    endgenerate

    // The way that is read: the first that has the page. Of a group its one entry.
    wire       read_way = !found[0];
    wire [2:0] read_place = (read_way ? grouped[1] : grouped[0]) ? (read_way ? froms[5:3] : froms[2:0]) : page[14:12];
    assign known = |found;

    // The way that is filled: the line's own if it has one, or one in which there is none, or the next in turn.
    wire       free_way = &valid_now || valid_now == 2'd0 ? next_way_reg : valid_now[0];
    assign fill_way = !fill_first ? fill_way_reg : line == 2'd0 ? free_way : !line[0];
    wire [1:0] filled = {fill_way, !fill_way};

    always @(posedge clk) begin
        if (forget || fill) begin
            valid[set] <= forget ? valid_now & ~gone : fill_last ? valid_now | filled : valid_now & ~filled;
        end
    end
    always @(posedge clk) begin
        if (fill && fill_first) begin
            fill_way_reg <= fill_way;
            next_way_reg <= !next_way_reg;
        end
    end

    assign mapping = mapping_reg;
    always @(posedge clk) begin
        write_reg <= fill;
        write_place_reg <= {fill_way, set, fill_place};
        write_mapping_reg <= fill_mapping;
        if (write_reg) begin
            pages[write_place_reg] <= write_mapping_reg;
        end
    end
    always @(posedge clk) begin
        mapping_reg <= pages[{read_way, set, read_place}];
    end

    // These the set stands for.
    wire unused = &{1'b0, page[19:16]};

`ifdef FORMAL
    assign formal_set = formal_page[19:16] ^ formal_page[23:20] ^ formal_space;
    assign formal_valid = valid[formal_set];
    assign formal_fill_way = fill_way_reg;
    wire [1:0] formal_fill_valids = valid[formal_fill_set];
    assign formal_fill_valid = formal_fill_valids[fill_way_reg];
`endif
endmodule

`default_nettype wire
