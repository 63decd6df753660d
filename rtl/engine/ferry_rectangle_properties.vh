// SPDX-License-Identifier: Apache-2.0
// What is proved of ferry_rectangle, for every rectangle: each row is handed out whole, and every row; pieces of tiles stay in
// their granule and tile; and of ferry_swizzle: two places of a tile are two offsets.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;

    // Whoever loads keeps to the ports' words.
    reg [1:0] loaded = 2'd0; // words of the next rectangle that have come
    reg [31:0] base = 32'd0, pitch = 32'd0;
    wire new_small = word[36];
    wire [1:0] new_swizzle = word[35:34];
    wire [9:0] new_x = word[25:16];
    wire [7:0] new_y = word[33:26];
    wire [9:4] mask_x = new_swizzle == 2'd0 ? 6'h00 : new_swizzle == 2'd1 ? (new_small ? 6'h03 : 6'h0f) :
                        new_swizzle == 2'd2 ? (new_small ? 6'h07 : 6'h1f) : new_small ? 6'h0f : 6'h3f;
    wire [7:0] mask_y = new_swizzle == 2'd0 ? 8'h00 : new_swizzle == 2'd1 ? (new_small ? 8'h3f : 8'hff) :
                        new_swizzle == 2'd2 ? (new_small ? 8'h1f : 8'h7f) : new_small ? 8'h0f : 8'h3f;
    always @(*) begin
        if (!past_valid) assume (rst);
        assume (!rst || !(load_base || load_row || load_shape));
        assume (load_base + load_row + load_shape <= 2'd1);
        assume (!load_base || (!active_reg && loaded == 2'd0));
        assume (!load_row || (loaded == 2'd1 && word[55:32] != 24'd0));
        assume (!load_shape || loaded == 2'd2);
        if (load_shape) begin
            assume ((new_x[9:4] & ~mask_x) == 6'd0 && (new_y & ~mask_y) == 8'd0);
            if (new_swizzle == 2'd0) assume (new_x == 10'd0);
            else assume (base[11:0] == 12'd0 && pitch[11:0] == 12'd0);
            if (new_swizzle != 2'd0 && !new_small) assume (base[15:12] == 4'd0 && pitch[15:12] == 4'd0);
        end
    end
    always @(posedge clk) begin
        if (rst || load_shape) begin
            loaded <= 2'd0;
        end else if (load_base || load_row) begin
            loaded <= loaded + 2'd1;
        end
        if (load_base) base <= word[31:0];
        if (load_row) pitch <= word[31:0];
    end

    // The sums, followed beside.
    reg [23:0] row_bytes;
    reg [15:0] rows_done, rows_asked;
    always @(posedge clk) begin
        if (load_shape) begin
            row_bytes <= 24'd0;
            rows_done <= 16'd0;
            rows_asked <= word[15:0];
        end else if (step) begin
            row_bytes <= piece_row_last ? 24'd0 : row_bytes + piece_bytes;
            rows_done <= piece_row_last ? rows_done + 16'd1 : rows_done;
        end
    end
    always @(*) if (past_valid && !rst) begin
        // The first address stands where the walk begins, before the rectangle is at hand.
        assert (!(loaded == 2'd1 && begins_reg) || (row_reg == 33'd0 && pitch_reg == {1'b0, base}));
        assert (!(loaded == 2'd1 && !begins_reg) || (row_reg == {1'b0, base} && tile_reg == {1'b0, base}));
        assert (!(loaded == 2'd2) || (!begins_reg && row_reg == {1'b0, base} && tile_reg == {1'b0, base} && pitch_reg[31:0] == pitch));
        assert (!(loaded == 2'd2) || width_reg != 24'd0);
        assert (!(begins_reg && loaded != 2'd1));
        assert (!active_reg || loaded == 2'd0);
    end
    always @(*) if (past_valid && !rst && active_reg) begin
        assert (left_reg != 24'd0 && left_reg <= width_reg && row_bytes == width_reg - left_reg);
        assert (piece_bytes != 24'd0 && (!piece_row_last || row_bytes + piece_bytes == width_reg));
        assert (rows_done + rows_reg == rows_asked && rows_reg <= rows_asked);
        assert (!piece_last || rows_done == rows_asked);
        assert (!tiled || {1'b0, x_reg[3:0]} + piece_bytes[4:0] <= 5'd16);
        assert (!tiled || piece_bytes <= 24'd16);
        assert (!tiled || (x_reg[9:4] <= x_end && y_reg <= y_end && begin_reg[9:4] <= x_end));
        assert (tiled || (x_reg == 10'd0 && y_reg == 8'd0 && begin_reg == 10'd0));
        assert (!tiled || (tile_reg[11:0] == 12'd0 && row_reg[11:0] == 12'd0 && pitch_reg[11:0] == 12'd0));
        assert (!tiled || small_reg || (tile_reg[15:12] == 4'd0 && row_reg[15:12] == 4'd0 && pitch_reg[15:12] == 4'd0));
        assert (!tiled || piece_address - tile_reg <= (small_reg ? 33'hfff : 33'hffff));
        cover (piece_last && rows_asked == 16'd1 && tiled && small_reg);
    end

    // Two places of a tile are two offsets, whatever the pattern.
    (* anyconst *) reg [9:4] one_x, other_x;
    (* anyconst *) reg [7:0] one_y, other_y;
    (* anyconst *) reg [1:0] pattern;
    wire [15:4] one, other;
    ferry_swizzle one_place (.swizzle(pattern), .x(one_x), .y(one_y), .offset(one));
    ferry_swizzle other_place (.swizzle(pattern), .x(other_x), .y(other_y), .offset(other));
    wire [9:4] wide = {pattern == 2'd3, pattern[1], 4'hf};
    wire [7:0] high = {!pattern[1], pattern != 2'd3, 6'h3f};
    always @(*) if (pattern != 2'd0 && one_x <= wide && other_x <= wide && one_y <= high && other_y <= high) begin
        assert (one != other || (one_x == other_x && one_y == other_y));
        cover (one == 12'hfff);
    end

    valid_ready_properties #(.WIDTH(59)) pieces (
        .clk(clk),
        .rst(rst || give_up),
        .valid(piece_valid),
        .ready(piece_ready),
        .data({piece_address, piece_bytes, piece_row_last, piece_last})
    );
