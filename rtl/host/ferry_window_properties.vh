// SPDX-License-Identifier: Apache-2.0
// AXI4 of the window's master, by induction, and that no byte outside the limits is touched. Included by ferry_window
// under FORMAL. Its partners keep their requests and beats until they are taken, name no word outside one page, ask for
// one write and one read at a time, and end a write with its last beat; the memory answers what was asked and no more.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) if (!past_valid) assume (rst);

    wire ar = axi_arvalid && axi_arready;
    wire [51:0] axi_page = {{64-LAB{1'b0}}, axi_address[LAB-1:12]};
    wire aw = axi_awvalid && axi_awready;
    wire w = axi_wvalid && axi_wready;

    // Beats still to come of the write and the read under way, as the memory and as the partner sees them.
    reg [8:0] write_beats = 0;
    reg [8:0] read_beats = 0;
    reg [8:0] due_write = 0;
    reg [8:0] due_read = 0;
    reg [8:0] taken = 0;
    reg       write_open = 0;
    reg       read_open = 0;
    reg       beat_waits = 0;
    reg       beat_last_shown = 0;
    reg       write_waits = 0;
    reg       read_waits = 0;
    // Words to beats, counted apart from the length the window computes.
    wire [7:0] spread_write = {1'b0, write_words} + {7'd0, write_address[2]} + 8'd1;
    wire [7:0] spread_read = {1'b0, read_words} + {7'd0, read_address[2]} + 8'd1;
    wire write_takes = write_valid && write_ready;
    wire read_takes = read_valid && read_ready;
    always @(posedge clk) begin
        if (write_takes) begin
            due_write <= {2'd0, spread_write[7:1]};
            taken <= 0;
            write_open <= 1'b1;
        end
        if (read_takes) begin
            due_read <= {2'd0, spread_read[7:1]};
            read_open <= 1'b1;
        end
        if (beat_valid && beat_ready) begin
            taken <= taken + 9'd1;
            write_open <= !beat_last;
        end
        if (read_done)
            read_open <= 1'b0;
        if (aw)
            write_beats <= {1'b0, axi_length} + 9'd1;
        else if (w)
            write_beats <= write_beats - 9'd1;
        if (ar)
            read_beats <= {1'b0, axi_length} + 9'd1;
        else if (axi_rvalid)
            read_beats <= read_beats - 9'd1;
        beat_waits <= beat_valid && !beat_ready;
        beat_last_shown <= beat_last;
        write_waits <= write_valid && !write_ready;
        read_waits <= read_valid && !read_ready;
        if (rst) begin
            write_beats <= 0;
            read_beats <= 0;
            write_open <= 0;
            read_open <= 0;
            beat_waits <= 0;
            write_waits <= 0;
            read_waits <= 0;
        end
    end

    // The limits as they were when the address was checked, and the bytes that the request names.
    wire [191:0] limits = {local_limit, protect_base, protect_limit};
    reg [191:0] limits_checked = 0;
    wire [63:0] touched = {{64-LAB{1'b0}}, address_reg, 2'd0};
    wire [63:0] touched_end = touched + {55'd0, words_reg, 2'd0};
    always @(*) assume (protect_base[11:0] == 12'd0);
    always @(posedge clk)
        if (checking)
            limits_checked <= limits;

    always @(*) begin
        // The partners.
        assume (write_words >= 1 && write_words <= 64 && read_words >= 1 && read_words <= 64);
        assume ({1'b0, write_address[11:2]} + {4'd0, write_words} <= 11'd1024);
        assume ({1'b0, read_address[11:2]} + {4'd0, read_words} <= 11'd1024);
        assume (!beat_waits || (beat_valid && beat_last == beat_last_shown));
        assume (!write_waits || write_valid);
        assume (!read_waits || read_valid);
        assume (beat_last == (taken + 9'd1 == due_write));
        assume (!write_open || !write_valid);
        assume (!read_open || !read_valid);
        assume (!beat_valid || write_open);
        // The memory.
        assume (!axi_rvalid || read_beats != 0);
        assume (axi_rlast == (read_beats == 1));
        assume (!axi_bvalid || open_reg != 0);
        if (past_valid && !rst) begin
            assert (!(axi_arvalid && axi_awvalid));
            assert (!axi_awvalid || open_reg != 3'd7);
            // A burst has the beats of its request, and it keeps to the limits.
            if (axi_arvalid || axi_awvalid) begin
                assert ({1'b0, axi_length} + 9'd1 == (axi_awvalid ? due_write : due_read));
            end
            if (asking) begin
                assert (touched_end <= limits_checked[191:128]);
                assert (touched_end <= limits_checked[127:64] || touched >= limits_checked[63:0]);
            end
            // Data after its address, the last beat marked.
            assert ((write_beats != 0) == writing_reg);
            assert ((read_beats != 0) == reading_reg);
            assert (!(writing_reg && dropping_reg));
            if (axi_wvalid)
                assert (axi_wlast == (write_beats == 1));
            assert (!writing_reg || write_beats + taken == due_write);
            assert (!dropping_reg || taken < due_write);
            // One of each is under way, in one place.
            assert (write_open == (writing_reg || dropping_reg || (is_write_reg && !idle)));
            assert (read_open == (reading_reg || read_done || (!is_write_reg && !idle)));
            assert (!(reading_reg && read_done));
            assert (idle || !is_write_reg || (!writing_reg && !dropping_reg && taken == 0));
            assert (idle || is_write_reg || (!reading_reg && !read_done));
            // No beat of a read is lost, and each read is answered once it has all of them.
            assert (!axi_rvalid || data_valid);
            assert (!read_done || read_beats == 0);
            // What the registers hold of the request.
            if (!idle) begin
                assert (state_reg != 2'd3);
                assert (words_reg >= 1 && words_reg <= 64);
                assert ({1'b0, address_reg[11:2]} + {4'd0, words_reg} <= 11'd1024);
                assert ((is_write_reg ? due_write : due_read) == ({2'd0, words_reg} + {8'd0, address_reg[2]} + 9'd1) >> 1);
            end
        end
    end
    always @(posedge clk) if (past_valid && !rst && !$past(rst)) begin
        if ($past(axi_wvalid && !axi_wready))
            assert (axi_wvalid && $stable(axi_wlast));
        cover (w && axi_wlast && reading_reg);
        cover (read_done && read_status == STATUS_UNSUPPORTED);
        cover (beat_valid && beat_ready && beat_last && dropping_reg);
    end
    axi4_address_properties #(.BEATS(33)) ar_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(axi_arvalid), .ready(axi_arready), .page_offset(axi_address[11:0]),
        .page(axi_page), .length(axi_length), .extra(1'b0)
    );
    axi4_address_properties #(.BEATS(33)) aw_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(axi_awvalid), .ready(axi_awready), .page_offset(axi_address[11:0]),
        .page(axi_page), .length(axi_length), .extra(1'b0)
    );
