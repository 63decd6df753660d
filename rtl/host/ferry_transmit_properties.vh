// SPDX-License-Identifier: Apache-2.0
// Part of ferry_transmit under FORMAL. A packet begins only with room for its kind; a kind that has none holds up no other;
// a packet that has begun stays the same one to its end, without an idle beat; what stands on the stream stays until it is
// taken; each source is told once that its packet is done.
    reg f_started = 1'b0;
    always @*
        assume (rst == !f_started);

    // A source keeps what it offers until it was taken.
    reg [3:0] f_offered;
    always @* if (f_started) begin
        assume (!f_offered[COMPLETION] || completion_valid);
        assume (!f_offered[WRITE] || write_valid);
        assume (!f_offered[READ] || read_valid);
        assume (!f_offered[MESSAGE] || message_valid);
        assume (completion_words <= 7'd64 && write_words <= 7'd64 && write_words != 7'd0);
    end

    wire [3:0] f_valid = {message_valid, read_valid, write_valid, completion_valid};
    wire [3:0] f_room = {room_posted, room_request, room_posted, room_completion};
    wire       f_begins = !begun && grant != 4'd0 && space;
    reg        f_inside;
    reg [3:0]  f_grant;
    always @(posedge clk) begin
        f_started <= 1'b1;
        f_offered <= f_valid & grant & ~{message_done, read_done, write_taken, completion_done};
        if (space) begin
            f_inside <= beat_valid && !beat_last;
            f_grant <= grant;
        end
        if (rst) begin
            f_offered <= 4'd0;
            f_inside <= 1'b0;
        end
    end

    always @(posedge clk) if (f_started && !rst) begin
        // One at a time, and only one that offers a packet and has room.
        assert ((grant & (grant - 4'd1)) == 4'd0);
        if (f_begins)
            assert ((grant & f_valid & f_room) == grant);
        // Whoever offers a packet and has room does not wait for one that has none.
        if (!begun && (f_valid & f_room) != 4'd0)
            assert (grant != 4'd0);
        // Inside a packet there is a beat in every cycle, of that packet.
        assert (f_inside == begun && begun == !f_first);
        if (f_inside)
            assert (beat_valid && grant == f_grant);
        // Done with the last beat, to the one whose packet it was.
        assert ({message_done, read_done, write_done, completion_done} == (space && beat_valid && beat_last ? grant : 4'd0));
        cover (f_begins && grant[READ] && write_valid);
        cover (f_begins && grant[WRITE] && completion_valid);
        cover (message_done);
    end
    valid_ready_properties #(.WIDTH(67)) f_kept (
        .clk(clk), .rst(rst || !f_started), .valid(m_axis_tlp_tvalid), .ready(m_axis_tlp_tready),
        .data({m_axis_tlp_tlast, m_axis_tlp_tkeep, m_axis_tlp_tdata})
    );
