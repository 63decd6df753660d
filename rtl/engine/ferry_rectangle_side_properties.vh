// SPDX-License-Identifier: Apache-2.0
// What is proved of ferry_rectangle_side, for every side and every way of walking it: the next byte's address is that of a
// byte counted here, from the left of its row in whole tiles and bytes; and of ferry_swizzle: two places of a tile are two
// offsets. Included by ferry_rectangle_side under FORMAL.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;

    // Whoever loads keeps to the ports' words, and walks after that.
    reg [1:0] loaded = 2'd0; // words that have come
    reg       load_past = 1'b0;
    reg       walked = 1'b0;
    reg [31:0] base = 32'd0, pitch = 32'd0;
    wire new_small = word[52];
    wire [1:0] new_swizzle = word[51:50];
    wire [9:0] new_x = word[41:32];
    wire [7:0] new_y = word[49:42];
    wire [9:4] mask_x = new_swizzle == 2'd0 ? 6'h00 : new_swizzle == 2'd1 ? (new_small ? 6'h03 : 6'h0f) :
                        new_swizzle == 2'd2 ? (new_small ? 6'h07 : 6'h1f) : new_small ? 6'h0f : 6'h3f;
    wire [7:0] mask_y = new_swizzle == 2'd0 ? 8'h00 : new_swizzle == 2'd1 ? (new_small ? 8'h3f : 8'hff) :
                        new_swizzle == 2'd2 ? (new_small ? 8'h1f : 8'h7f) : new_small ? 8'h0f : 8'h3f;
    always @(*) begin
        assume (!(load_base && load_layout) && !(load_past && (load_base || load_layout)));
        assume (!load_layout || loaded == 2'd1);
        assume (!(load_base || load_layout) || !active);
        assume (!active || (loaded == 2'd2 && (walked || !load_past)));
        assume (!step || active);
        assume (cut != 5'd0 && cut + in_granule <= 5'd16);
        // A row's end is inside the row's last piece.
        if (load_layout) begin
            assume ((new_x[9:4] & ~mask_x) == 6'd0 && (new_y & ~mask_y) == 8'd0);
            if (new_swizzle == 2'd0) assume (new_x == 10'd0);
            else assume (base[11:0] == 12'd0 && word[11:0] == 12'd0);
            if (new_swizzle != 2'd0 && !new_small) assume (base[15:12] == 4'd0 && word[15:12] == 4'd0);
        end
    end

    // The first byte's place; whole tiles (rows) up to the row, whole tiles of the row up to the byte, and without tiles bytes.
    reg [9:0]  first_x;
    reg [31:0] row_at, along;
    wire [31:0] one_tile = small_reg ? 32'd4096 : 32'd65536;
    always @(posedge clk) begin
        load_past <= load_base || load_layout;
        walked <= active && (walked || !load_past);
        if (load_base) begin
            loaded <= 2'd1;
            base <= word[31:0];
        end
        if (load_layout) begin
            loaded <= 2'd2;
            pitch <= word[31:0];
            first_x <= word[41:32];
            row_at <= base;
            along <= 32'd0;
        end else if (step && row_last) begin
            row_at <= y_wraps ? row_at + pitch : row_at;
            along <= 32'd0;
        end else if (step) begin
            along <= !tiled ? along + {27'd0, cut} : x_wraps ? along + one_tile : along;
        end
    end
    always @(*) if (past_valid) begin
        assert (!(loaded == 2'd1 && begins_reg) || (row_reg == 32'd0 && pitch_reg == base));
        assert (!(loaded == 2'd1 && !begins_reg) || (row_reg == base && tile_reg == base));
        assert (!begins_reg || (loaded == 2'd1 && load_past));
        if (loaded == 2'd2) begin
            assert (!begins_reg && pitch_reg == pitch && begin_reg == first_x);
            assert (row_reg == row_at && tile_reg == row_at + along);
            assert (begin_reg[9:4] <= x_end && y_reg <= y_end && (!active || x_reg[9:4] <= x_end));
            assert (tiled || (begin_reg == 10'd0 && y_reg == 8'd0));
            assert (!active || tiled || x_reg == 10'd0);
            assert (!tiled || (tile_reg[11:0] == 12'd0 && row_reg[11:0] == 12'd0 && pitch_reg[11:0] == 12'd0));
            assert (!tiled || small_reg || (tile_reg[15:12] == 4'd0 && row_reg[15:12] == 4'd0 && pitch_reg[15:12] == 4'd0));
            // Inside the tile, and the whole piece in one granule.
            assert (!active || !tiled || address - tile_reg < one_tile);
            assert (!active || !tiled || address[3:0] == in_granule);
            assert (!active || tiled || (address == row_at + along && in_granule == 4'd0));
        end
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
