// SPDX-License-Identifier: Apache-2.0
// What is proved of ferry_rectangle, for every rectangle: each byte of each row is handed out once, and no other, and it
// ends; where each side's next byte is, followed here by whole numbers of tiles and rows; and of ferry_swizzle: two places of
// a tile are two offsets. Included by ferry_rectangle under FORMAL; ferry_rectangle_side has its own part.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;

    // Whoever loads keeps to the ports' words.
    reg [2:0] loaded = 3'd0; // words of the next rectangle that have come
    wire [2:0] loads = {2'd0, load_size} + {2'd0, load_source} + {2'd0, load_destination} + {2'd0, load_source_layout}
        + {2'd0, load_destination_layout};
    reg loads_past = 1'b0;
    always @(*) begin
        if (!past_valid) assume (rst);
        assume (loads <= 3'd1 && !(rst && loads != 3'd0) && !(loads_past && loads != 3'd0));
        assume (!load_size || word[23:0] != 24'd0);
        assume (!load_source || loaded == 3'd1);
        assume (!load_destination || loaded == 3'd2);
        assume (!load_source_layout || loaded == 3'd3);
        assume (!load_destination_layout || loaded == 3'd4);
    end
    always @(posedge clk) begin
        loads_past <= loads != 3'd0;
        loaded <= rst || give_up || load_destination_layout ? 3'd0 : load_size ? 3'd1 : loads != 3'd0 ? loaded + 3'd1 : loaded;
    end

    // The sums, followed beside.
    reg [23:0] width;
    reg [23:0] row_bytes;
    reg [15:0] rows_done, rows_asked;
    // The row that was given up, and the one to go on with.
    reg [15:0] rows_kept, rows_begun;
    reg        any_kept = 1'b0;
    wire [15:0] new_begun = goes_on ? word[47:32] - rows_kept : 16'd0;
    always @(*) begin
        // A row that is gone on with is one of the rectangle.
        assume (!(load_size && goes_on) || (any_kept && word[47:32] >= rows_kept));
    end
    always @(posedge clk) begin
        if (load_size) begin
            width <= word[23:0];
            rows_asked <= word[47:32];
            rows_begun <= new_begun;
        end
        if (load_size && active_reg) begin
            rows_kept <= rows_asked - rows_done;
            any_kept <= 1'b1;
        end
        if (load_size) begin
            row_bytes <= 24'd0;
            rows_done <= 16'd0;
        end else if (pass) begin
            rows_done <= rows_done + 16'd1;
        end else if (step) begin
            row_bytes <= row_last ? 24'd0 : row_bytes + piece_bytes;
            rows_done <= row_last ? rows_done + 16'd1 : rows_done;
        end
    end
    always @(*) assert (!any_kept || kept_reg == rows_kept);
    always @(*) if (past_valid && !rst) begin
        assert (!(loaded != 3'd0) || (width_reg != 24'd0 && width_reg == width && !active_reg && rows_reg == rows_asked
            && row_bytes == 24'd0 && rows_done == 16'd0));
        assert (!starts_reg || (!active_reg && loaded == 3'd0 && width_reg != 24'd0 && width_reg == width && rows_reg == rows_asked
            && row_bytes == 24'd0 && rows_done == 16'd0 && left_reg == width_reg));
        assert (!(loaded >= 3'd2 || (loaded == 3'd1 && !loads_past)) || left_reg == width_reg);
        // Whole rows are passed over, and no more than those in front of the kept one.
        assert (!passes_reg || (!active_reg && !starts_reg && loaded == 3'd0 && width_reg != 24'd0 && width_reg == width
            && left_reg == width_reg && row_bytes == 24'd0 && rows_done + rows_reg == rows_asked && rows_reg <= rows_asked
            && rows_done <= rows_begun));
        assert (!(active_reg || starts_reg || passes_reg || loaded != 3'd0)
            || (rows_begun + until_reg == rows_asked && rows_begun <= rows_asked));
        assert (cut != 5'd0 && cut <= 5'd16 && cut + source_in_granule <= 5'd16 && cut + destination_in_granule <= 5'd16);
    end
    always @(*) if (past_valid && !rst && active_reg) begin
        assert (loaded == 3'd0 && !starts_reg && width_reg == width);
        assert (left_reg != 24'd0 && left_reg <= width_reg && row_bytes == width_reg - left_reg);
        assert (rows_done >= rows_begun);
        // Every piece lies in the row, and the last ends with it; every row comes once.
        assert (piece_bytes != 24'd0 && piece_bytes <= left_reg && row_last == (piece_bytes == left_reg));
        assert (rows_done + rows_reg == rows_asked && rows_reg <= rows_asked);
        assert (piece_last == (row_last && rows_done == rows_asked));
        // What lies together on both sides.
        assert (!(source_tiled || destination_tiled) || piece_bytes <= 24'd16);
        assert (!source_tiled || piece_bytes + source_in_granule <= 24'd16);
        assert (!destination_tiled || piece_bytes + destination_in_granule <= 24'd16);
        cover (piece_last && rows_asked == 16'd1 && source_tiled && !destination_tiled);
        cover (rows_begun == 16'd1);
    end

    valid_ready_properties #(.WIDTH(89)) pieces (
        .clk(clk),
        .rst(rst || give_up || load_size),
        .valid(piece_valid),
        .ready(piece_ready),
        .data({piece_source, piece_destination, piece_bytes, piece_last})
    );
