// SPDX-License-Identifier: Apache-2.0
// Ranges of video memory that are shown as rows: registers VIEW. A range holds rows of tiles (ferry_swizzle), and takes as many
// bytes as the rows that are shown of it, at the same place. Asked where a line lies (64 bytes at a multiple of 64: a piece of
// one row of one tile, as no tile's row is shorter), this looks for its range, a range a cycle, and divides by the bytes of a
// row, a bit of the quotient a cycle: the quotient is the row, the remainder the place in it. What of the quotient counts rows of
// tiles is multiplied again on the way, a bit as it is found: lines of one row of each before this one. With the lines of whole
// tiles in its own row added, and then times the rows of a tile, that is where the tile begins. No multiplier, two adders.
//
// Whatever is set, no place outside its range is told, and none of a range without tiles or whose rows are not as wide as tiles
// are together; nor any of a range that was set anew since it was found, which a read under way may see: the host's writes pass it.
`default_nettype none
`include "ferry_contract.vh"

module ferry_view_place #(
    // log2 of the bytes of video memory.
    parameter LOCAL_ADDRESS_BITS = 26
) (
    // Clock and synchronous reset: nothing is shown afterwards.
    input  wire        clk,
    input  wire        rst,

    // A word of VIEW is written.
    input  wire [`FERRY_VIEW_WRITE_BITS-1:0] set,

    // Asked for by a pulse; the line is held until the pulse of done. The answer stands until the next question.
    input  wire                          start,
    input  wire [LOCAL_ADDRESS_BITS-1:6] line,
    output wire                          done,
    // It is in a range.
    output wire                          found,
    // Where this granule of it (16 bytes) lies; not there if the range is set so that it would lie outside.
    input  wire [5:4]                    granule,
    output wire [LOCAL_ADDRESS_BITS-1:4] place,
    output wire                          there
);
    localparam LAB = LOCAL_ADDRESS_BITS;
    // Bits of the number of a page and of a line.
    localparam PAGE_BITS = LAB - 12;
    localparam LINE_BITS = LAB - 6;
    localparam [31:0] LAST_BIT = LINE_BITS - 1;

    localparam [2:0] S_IDLE = 3'd0;
    localparam [2:0] S_FIND = 3'd1;
    localparam [2:0] S_DIVIDE = 3'd2;
    localparam [2:0] S_ADD = 3'd3;
    localparam [2:0] S_SHIFT = 3'd4;

    localparam [1:0] WORD_FIRST = 2'd0;
    localparam [1:0] WORD_PAGES = 2'd1;
    localparam [1:0] WORD_ROW = 2'd2;
    localparam [1:0] WORD_LAYOUT = 2'd3;

    // --- What is set ----------------------------------------------------------------------------------------------------

    wire        set_write = set[`FERRY_VIEW_WRITE_WRITE_RANGE];
    wire        set_clear = set[`FERRY_VIEW_WRITE_CLEAR_RANGE];
    wire [1:0]  set_word = set[`FERRY_VIEW_WRITE_WORD_RANGE];
    wire [1:0]  set_range = set[`FERRY_VIEW_WRITE_RANGE_RANGE];
    wire [31:0] set_value = set[`FERRY_VIEW_WRITE_VALUE_RANGE];

    // The top bit of each is for all above it: what is behind memory stays behind it.
    reg [PAGE_BITS:0]   first_memory [0:3];
    reg [PAGE_BITS:0]   pages_memory [0:3];
    reg [LINE_BITS:0]   row_memory [0:3];
    reg                 odd_memory [0:3]; // No bytes in a row, or not whole lines.
    reg [2:0]           shape_memory [0:3];
    reg [3:0]           enable_reg;
    // Words that were written since the reset; the others are 0, whatever their memory still holds.
    reg [3:0]           first_known_reg;
    reg [3:0]           pages_known_reg;
    reg [3:0]           row_known_reg;
    wire [3:0]          set_one = {4{set_write}} & (4'd1 << set_range);

    always @(posedge clk) begin
        if (set_write && set_word == WORD_FIRST)
            first_memory[set_range] <= {|set_value[31:PAGE_BITS], set_value[PAGE_BITS-1:0]};
        if (set_write && set_word == WORD_PAGES)
            pages_memory[set_range] <= {|set_value[31:PAGE_BITS], set_value[PAGE_BITS-1:0]};
        if (set_write && set_word == WORD_ROW) begin
            row_memory[set_range] <= {|set_value[31:LAB], set_value[LAB-1:6]};
            odd_memory[set_range] <= set_value[5:0] != 6'd0 || set_value == 32'd0;
        end
        if (set_write && set_word == WORD_LAYOUT) begin
            shape_memory[set_range] <= set_value[2:0];
            enable_reg[set_range] <= set_value[3];
        end
        first_known_reg <= first_known_reg | (set_one & {4{set_word == WORD_FIRST}});
        pages_known_reg <= pages_known_reg | (set_one & {4{set_word == WORD_PAGES}});
        row_known_reg <= row_known_reg | (set_one & {4{set_word == WORD_ROW}});
        if (rst || set_clear) begin
            enable_reg <= 4'd0;
            first_known_reg <= 4'd0;
            pages_known_reg <= 4'd0;
            row_known_reg <= 4'd0;
        end
    end

    // --- Which range it is ----------------------------------------------------------------------------------------------

    reg [2:0] state_reg;
    // The range that is looked at, or was found: the first that is looked at next time.
    reg [1:0] range_reg;
    reg [1:0] looked_reg;
    reg       found_reg;
    reg       done_reg;
    // A word of the range was written since it was found: what follows is of neither.
    reg       stale_reg;
    wire      changes = set_clear || set_one[range_reg];

    wire [PAGE_BITS:0]   first = first_memory[range_reg] & {(PAGE_BITS+1){first_known_reg[range_reg]}};
    wire [PAGE_BITS:0]   pages = pages_memory[range_reg];
    wire [LINE_BITS:0]   row = row_memory[range_reg];
    wire [1:0]           swizzle = shape_memory[range_reg][1:0];
    wire                 is_small = shape_memory[range_reg][2];

    wire [PAGE_BITS:0]   behind = {1'b0, line[LAB-1:12]} - {1'b0, first[PAGE_BITS-1:0]};
    // Of no pages, or of rows without bytes, nothing is shown.
    wire                 is_set = enable_reg[range_reg] && pages_known_reg[range_reg] && row_known_reg[range_reg];
    wire                 hit = is_set && !first[PAGE_BITS] && !behind[PAGE_BITS] && {1'b0, behind[PAGE_BITS-1:0]} < pages;

    // --- Which row, and where in it -------------------------------------------------------------------------------------

    // Lines of the range before this one, from the top bit down; what is left of them so far, less than a row.
    reg [LINE_BITS-1:0]  lines_reg;
    reg [LINE_BITS-1:0]  rest_reg;
    reg [4:0]            bit_reg;
    // The lower bits of the quotient so far. Lines of the tiles before this one, one row of each; then all of them.
    reg [7:0]            y_reg;
    reg [LINE_BITS-1:0]  tiles_reg;
    // More of them than memory has.
    reg                  over_reg;

    wire [LINE_BITS:0]   rest_and_bit = {rest_reg, lines_reg[LINE_BITS-1]};
    wire [LINE_BITS:0]   less_row = rest_and_bit - {1'b0, row[LINE_BITS-1:0]};
    wire                 quotient = !less_row[LINE_BITS] && !row[LINE_BITS];
    // log2 of the rows of a tile: 8, 7, 6; 6, 5, 4.
    wire [3:0]           height_log2 = (is_small ? 4'd7 : 4'd9) - {2'd0, swizzle};
    wire                 of_tiles = bit_reg >= {1'b0, height_log2};
    wire                 unused = &{1'b0, less_row, tiles_reg[5:0], set_value, page_of_tile};

    // --- Where that is --------------------------------------------------------------------------------------------------

    wire [9:6]           x_mask = {!is_small && swizzle == 2'd3, !is_small && swizzle[1], !is_small || swizzle == 2'd3,
                                   !is_small || swizzle[1]};
    wire [9:6]           x = rest_reg[3:0] & x_mask;
    wire [7:0]           y = y_reg & {!swizzle[1] && !is_small, swizzle != 2'd3 && !is_small, !is_small || !swizzle[1],
                                      !is_small || swizzle != 2'd3, 4'b1111};
    wire                 adding = state_reg == S_ADD;
    wire [LINE_BITS-1:0] more = adding ? {rest_reg[LINE_BITS-1:4], rest_reg[3:0] & ~x_mask} :
                                quotient && state_reg == S_DIVIDE ? row[LINE_BITS-1:0] : {LINE_BITS{1'b0}};
    wire [LINE_BITS-1:0] sum = (adding ? tiles_reg : tiles_reg << 1) + more;
    wire [15:4]          offset;
    ferry_swizzle swizzle_of_granule (.swizzle(swizzle), .x({x, granule}), .y(y), .offset(offset));

    wire [PAGE_BITS+3:0] page_of_tile = {{PAGE_BITS{1'b0}}, offset[15:12]};
    wire [PAGE_BITS-1:0] page_in_range = tiles_reg[LINE_BITS-1:6] | page_of_tile[PAGE_BITS-1:0];
    wire [PAGE_BITS:0]   page = {1'b0, first[PAGE_BITS-1:0]} + {1'b0, page_in_range};

    assign done = done_reg;
    assign found = found_reg;
    assign place = {page[PAGE_BITS-1:0], offset[11:4]};
    wire   whole_tiles = swizzle != 2'd0 && !odd_memory[range_reg] && (row[3:0] & x_mask) == 4'd0;
    assign there = whole_tiles && !stale_reg && !over_reg && {1'b0, page_in_range} < pages && !page[PAGE_BITS] && !first[PAGE_BITS];

    always @(posedge clk) begin
        done_reg <= 1'b0;
        stale_reg <= changes || (stale_reg && state_reg != S_FIND);
        case (state_reg)
        S_IDLE: begin
            looked_reg <= 2'd0;
            if (start)
                state_reg <= S_FIND;
        end
        S_FIND: begin
            lines_reg <= {behind[PAGE_BITS-1:0], line[11:6]};
            rest_reg <= {LINE_BITS{1'b0}};
            tiles_reg <= {LINE_BITS{1'b0}};
            over_reg <= 1'b0;
            bit_reg <= LAST_BIT[4:0];
            found_reg <= hit;
            looked_reg <= looked_reg + 2'd1;
            if (hit) begin
                state_reg <= S_DIVIDE;
            end else begin
                stale_reg <= 1'b0;
                range_reg <= range_reg + 2'd1;
                if (looked_reg == 2'd3) begin
                    done_reg <= 1'b1;
                    state_reg <= S_IDLE;
                end
            end
        end
        S_DIVIDE: begin
            lines_reg <= lines_reg << 1;
            rest_reg <= quotient ? less_row[LINE_BITS-1:0] : rest_and_bit[LINE_BITS-1:0];
            y_reg <= {y_reg[6:0], quotient};
            if (of_tiles)
                tiles_reg <= sum;
            bit_reg <= bit_reg - 5'd1;
            if (bit_reg == 5'd0)
                state_reg <= S_ADD;
        end
        S_ADD: begin
            tiles_reg <= sum;
            bit_reg <= {1'b0, height_log2};
            state_reg <= S_SHIFT;
        end
        default: begin
            tiles_reg <= sum;
            over_reg <= over_reg || tiles_reg[LINE_BITS-1];
            bit_reg <= bit_reg - 5'd1;
            if (bit_reg == 5'd1) begin
                done_reg <= 1'b1;
                state_reg <= S_IDLE;
            end
        end
        endcase
        if (rst) begin
            state_reg <= S_IDLE;
            range_reg <= 2'd0;
            done_reg <= 1'b0;
        end
    end

`ifdef FORMAL
`include "ferry_view_place_properties.vh"
`endif
endmodule

`default_nettype wire
