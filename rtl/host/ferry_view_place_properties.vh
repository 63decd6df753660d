// SPDX-License-Identifier: Apache-2.0
// What is proved of ferry_view_place, by induction, whatever the ranges say: no place outside the range is told; and the line that
// was asked for is its place in whole rows of tiles, rows and lines of its row, counted here without a product: so the answer
// tells the line, and two lines of a range never have one place. Included by ferry_view_place under FORMAL. What is set may change
// at any time; then no place is told.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) if (!past_valid) assume (rst);

    // The bits of the line that have been taken; lines of the rows that the quotient stands for so far, of all of them, of those in
    // whole rows of tiles, and what the latter were before the lower bits of the quotient.
    reg [LINE_BITS-1:0] asked;
    reg [LINE_BITS-1:0] taken;
    reg [LINE_BITS-1:0] of_rows;
    reg [LINE_BITS-1:0] of_tile_rows;
    reg [LINE_BITS-1:0] in_tile_rows;
    reg [LINE_BITS-1:0] added;
    wire dividing = state_reg == S_DIVIDE;
    wire [LINE_BITS-1:0] one_row = quotient ? row[LINE_BITS-1:0] : {LINE_BITS{1'b0}};
    always @(posedge clk) begin
        if (state_reg == S_FIND) begin
            asked <= {behind[PAGE_BITS-1:0], line[11:6]};
            taken <= {LINE_BITS{1'b0}};
            of_rows <= {LINE_BITS{1'b0}};
            of_tile_rows <= {LINE_BITS{1'b0}};
            in_tile_rows <= {LINE_BITS{1'b0}};
        end else if (dividing) begin
            taken <= {taken[LINE_BITS-2:0], lines_reg[LINE_BITS-1]};
            of_rows <= (of_rows << 1) + one_row;
            of_tile_rows <= (of_tile_rows << 1) + (of_tiles ? one_row : {LINE_BITS{1'b0}});
            in_tile_rows <= (in_tile_rows << 1) + (of_tiles ? {LINE_BITS{1'b0}} : one_row);
        end
        if (adding)
            added <= sum;
    end

    wire has_row = row != {(LINE_BITS+1){1'b0}};
    wire [LINE_BITS-1:0] of_whole_tiles = {rest_reg[LINE_BITS-1:4], rest_reg[3:0] & ~x_mask};
    always @(*) if (past_valid && !rst) begin
        assert (state_reg <= S_SHIFT);
        // Inside: of every granule, now and always.
        if (there) begin
            assert ({1'b0, place[LAB-1:12]} >= first);
            assert ({1'b0, place[LAB-1:12]} - first < pages);
            // In whole tiles, so that two rows of tiles share none.
            assert (swizzle != 2'd0 && (row[3:0] & x_mask) == 4'd0);
        end
        if (dividing) begin
            assert (bit_reg < LINE_BITS);
            // What is taken and what is left make up the line.
            assert (taken == asked >> (bit_reg + 5'd1));
            assert (lines_reg == asked << (LINE_BITS - 1 - bit_reg));
        end
        if ((dividing || adding) && !stale_reg) begin
            assert (of_rows + rest_reg == taken);
            assert (of_rows == of_tile_rows + in_tile_rows);
            assert (!has_row || {1'b0, rest_reg} < row);
        end
        if (adding)
            assert (taken == asked);
        if (dividing && !stale_reg && bit_reg + 5'd1 >= {1'b0, height_log2})
            assert (of_tile_rows == tiles_reg && in_tile_rows == {LINE_BITS{1'b0}});
        if (dividing && !stale_reg && bit_reg + 5'd1 < {1'b0, height_log2})
            assert (of_tile_rows == tiles_reg << (height_log2 - 4'd1 - bit_reg[3:0]));
        if (dividing || adding)
            assert (!over_reg);
        if (adding && !stale_reg)
            assert (of_tile_rows == tiles_reg << height_log2);
        if (state_reg == S_SHIFT && !stale_reg) begin
            assert (of_tile_rows + in_tile_rows + rest_reg == asked && (!has_row || {1'b0, rest_reg} < row));
            assert (bit_reg != 5'd0 && bit_reg <= {1'b0, height_log2});
            assert (tiles_reg == added << (height_log2 - bit_reg[3:0]));
            assert (over_reg || tiles_reg >> (height_log2 - bit_reg[3:0]) == added);
            assert ((added - of_whole_tiles) << height_log2 == of_tile_rows);
        end
        if (done_reg && found_reg && !stale_reg) begin
            assert (tiles_reg == added << height_log2);
            // Nothing of it was lost on the way.
            assert (!there || tiles_reg >> height_log2 == added);
            assert (of_tile_rows + in_tile_rows + rest_reg == asked && (!has_row || {1'b0, rest_reg} < row));
            assert ((added - of_whole_tiles) << height_log2 == of_tile_rows);
        end
    end
    always @(posedge clk) if (past_valid && !rst && !$past(rst)) begin
        cover (done_reg && !found_reg);
        cover (state_reg == S_SHIFT && stale_reg);
        cover (dividing && bit_reg == 5'd0 && quotient);
    end
