// SPDX-License-Identifier: Apache-2.0
// AXI4 of the window's two masters, by induction. Included by ferry_window under FORMAL. The completer keeps its request
// and its beats until they are taken, names no word outside one page, and ends a write with its last beat; the memories
// answer what was asked and nothing else.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) if (!past_valid) assume (rst);

    wire local_ar = local_arvalid && local_arready;
    wire local_aw = local_awvalid && local_awready;
    wire local_w = local_wvalid && local_wready;
    wire aperture_ar = aperture_arvalid && aperture_arready;
    wire aperture_aw = aperture_awvalid && aperture_awready;
    wire aperture_w = aperture_wvalid && aperture_wready;

    // Beats still to come of the write or read under way, and what the memories owe.
    reg [8:0] write_beats = 0;
    reg [8:0] read_beats = 0;
    reg       read_side = 0;
    reg [3:0] local_open = 0;
    reg [3:0] aperture_open = 0;
    reg       beat_waits = 0;
    reg       beat_last_shown = 0;
    reg       request_waits = 0;
    wire r_beat = local_rvalid || aperture_rvalid;
    // Words to beats, counted apart from the length the window computes.
    wire [7:0] spread = {1'b0, request_words} + {7'd0, request_address[2]} + 8'd1;
    reg [8:0] due = 0;
    reg [8:0] beats_taken = 0;
    always @(posedge clk) begin
        if (request_valid && request_ready) begin
            due <= {2'd0, spread[7:1]};
            beats_taken <= 0;
        end
        if (beat_valid && beat_ready)
            beats_taken <= beats_taken + 9'd1;
        if (local_aw || aperture_aw)
            write_beats <= {1'b0, axi_length} + 9'd1;
        else if (local_w || aperture_w)
            write_beats <= write_beats - 9'd1;
        if (local_ar || aperture_ar) begin
            read_beats <= {1'b0, axi_length} + 9'd1;
            read_side <= aperture_ar;
        end else if (r_beat)
            read_beats <= read_beats - 9'd1;
        local_open <= local_open + {3'd0, local_aw} - {3'd0, local_bvalid};
        aperture_open <= aperture_open + {3'd0, aperture_aw} - {3'd0, aperture_bvalid};
        beat_waits <= beat_valid && !beat_ready;
        beat_last_shown <= beat_last;
        request_waits <= request_valid && !request_ready;
        if (rst) begin
            write_beats <= 0;
            read_beats <= 0;
            local_open <= 0;
            aperture_open <= 0;
            beat_waits <= 0;
            request_waits <= 0;
        end
    end

    always @(*) begin
        // The completer.
        assume (request_words >= 1 && request_words <= 64);
        assume ({1'b0, request_address[11:2]} + {4'd0, request_words} <= 11'd1024);
        assume (!beat_waits || (beat_valid && beat_last == beat_last_shown));
        assume (!request_waits || request_valid);
        assume (beat_last == (beats_taken + 9'd1 == due));
        // The memories.
        assume (!local_rvalid || (read_beats != 0 && !read_side));
        assume (!aperture_rvalid || (read_beats != 0 && read_side));
        assume (local_rlast == (read_beats == 1) && aperture_rlast == (read_beats == 1));
        assume (!local_bvalid || local_open != 0);
        assume (!aperture_bvalid || aperture_open != 0);
        if (past_valid && !rst) begin
            // One side at a time; a write waits for the answers of the other side.
            assert (!(local_open != 0 && aperture_open != 0));
            assert ({1'b0, open_reg} == local_open + aperture_open);
            assert (local_open == 0 || !open_side_reg);
            assert (aperture_open == 0 || open_side_reg);
            assert (!(aperture_awvalid && local_open != 0) && !(local_awvalid && aperture_open != 0));
            assert ({2'd0, local_arvalid} + local_awvalid + aperture_arvalid + aperture_awvalid <= 1);
            // No burst leaves its page, and it has the beats of the request.
            if (local_arvalid || local_awvalid || aperture_arvalid || aperture_awvalid) begin
                assert ({2'd0, aperture_arvalid || aperture_awvalid ? aperture_address[11:3] : local_address[11:3]}
                    + {3'd0, axi_length} < 512);
                assert ({1'b0, axi_length} + 9'd1 == due);
                assert (local_address[2:0] == 0 && aperture_address[2:0] == 0);
            end
            // Data after its address, the last beat marked, nothing owed when the next request is looked at.
            assert ((write_beats != 0) == data_write);
            assert ((read_beats != 0) == data_read);
            assert (!data_read || read_side == aperture_reg);
            if (local_wvalid || aperture_wvalid)
                assert (axi_wlast == (write_beats == 1));
            assert (!data_write || write_beats + beats_taken == due);
            assert (state_reg == S_IDLE || state_reg == S_DATA || state_reg == S_DROP || beats_taken == 0);
            assert (state_reg != S_DROP || (write_reg && beats_taken < due));
            assert (state_reg == S_IDLE || write_reg || beats_taken == 0);
            // No beat of a read is lost, and each read is answered once it has all of them.
            assert (!r_beat || read_valid);
            assert (!read_done || read_beats == 0);
            // What the registers hold of the request.
            if (state_reg != S_IDLE && state_reg <= S_DONE) begin
                assert (words_reg >= 1 && words_reg <= 64);
                assert ({1'b0, address_reg[11:2]} + {4'd0, words_reg} <= 11'd1024);
                assert (due == ({2'd0, words_reg} + {8'd0, address_reg[2]} + 9'd1) >> 1);
            end
        end
    end
    // Beats are only shown to a write that has been taken.
    always @(*) assume (!beat_valid || (write_reg && state_reg != S_IDLE && state_reg != S_DONE));

    always @(posedge clk) if (past_valid && !rst && !$past(rst)) begin
        if ($past(local_arvalid && !local_arready))
            assert (local_arvalid && $stable(local_address) && $stable(axi_length));
        if ($past(local_awvalid && !local_awready))
            assert (local_awvalid && $stable(local_address) && $stable(axi_length));
        if ($past(aperture_arvalid && !aperture_arready))
            assert (aperture_arvalid && $stable(aperture_address) && $stable(axi_length) && $stable(axi_no_snoop));
        if ($past(aperture_awvalid && !aperture_awready))
            assert (aperture_awvalid && $stable(aperture_address) && $stable(axi_length) && $stable(axi_no_snoop));
        if ($past(local_wvalid && !local_wready))
            assert (local_wvalid && $stable(axi_wlast));
        if ($past(aperture_wvalid && !aperture_wready))
            assert (aperture_wvalid && $stable(axi_wlast));
        cover (local_w && axi_wlast && aperture_open == 0);
    end
