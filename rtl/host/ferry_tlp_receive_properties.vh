// SPDX-License-Identifier: Apache-2.0
// Part of ferry_tlp_receive under FORMAL. A write, a message or a completion is refused only while the request buffer is
// full; a request that wants an answer only then, or at its first beat. What is committed is a whole packet of the length
// that its header says, without its digest; completions and messages leave nothing in the buffer.
    reg f_started = 1'b0;
    always @(posedge clk) f_started <= 1'b1;
    always @*
        assume (rst == !f_started);

    // The sender keeps its beat until it is taken.
    valid_ready_properties #(.WIDTH(67), .ASSUME(1)) f_kept (
        .clk(clk), .rst(rst || !f_started), .valid(s_axis_tlp_tvalid), .ready(s_axis_tlp_tready),
        .data({s_axis_tlp_tlast, s_axis_tlp_tkeep, s_axis_tlp_tdata})
    );

    // Followed apart: the packet's first word, its beats so far, and the beats pushed of it.
    reg        f_inside;
    reg [31:0] f_head;
    reg [10:0] f_taken;
    reg [10:0] f_pushed;
    reg        f_ended;
    wire [31:0] f_word = f_inside ? f_head : s_axis_tlp_tdata[31:0];
    wire [4:0]  f_kind = f_word[28:24];
    wire        f_answered = f_kind[4:1] == 4'b0101;
    wire        f_message = f_kind[4:3] == 2'b10;
    wire        f_write = f_kind == 5'd0 && f_word[30];
    wire [10:0] f_length = f_word[30] ? {f_word[9:0] == 10'd0, f_word[9:0]} : 11'd0;
    wire [11:0] f_words = {1'b0, f_length} + (f_word[29] ? 12'd4 : 12'd3);
    wire [11:0] f_all = f_words + {11'd0, f_word[15]};
    wire [10:0] f_beats = (f_words + 12'd1) >> 1;
    wire [10:0] f_pushes = f_pushed + {10'd0, push_valid};

    always @(posedge clk) begin
        if (accept) begin
            f_inside <= !s_axis_tlp_tlast;
            f_head <= f_word;
            f_taken <= s_axis_tlp_tlast ? 11'd0 : f_taken + {10'd0, f_taken != 11'h7ff};
        end
        f_pushed <= push_commit || push_discard || (accept && s_axis_tlp_tlast) ? 11'd0 : f_pushes;
        f_ended <= !(accept && s_axis_tlp_tlast) && (f_ended || (push_valid && push_beat[64]));
        if (rst) begin
            f_inside <= 1'b0;
            f_taken <= 11'd0;
            f_pushed <= 11'd0;
            f_ended <= 1'b0;
        end
    end

    always @(posedge clk) if (f_started && !rst) begin
        if (s_axis_tlp_tvalid && !s_axis_tlp_tready) begin
            assert (!push_ready || (!f_inside && !request_room));
            assert (!f_answered && !f_message);
            assert (!f_write || !push_ready);
        end
        // Nothing is written into a full buffer, and nothing of what does not belong there.
        assert (!push_valid || push_ready);
        assert (!push_valid || !(f_answered || f_message));
        assert (!(push_commit && push_discard));
        if (push_commit || push_discard)
            assert (accept && s_axis_tlp_tlast);
        if (accept && s_axis_tlp_tlast)
            assert (push_commit || push_discard);
        if (push_commit) begin
            // Whole, and its end marked once, on its last beat.
            assert (f_pushes == f_beats);
            assert (f_ended || (push_valid && push_beat[64]));
            assert (push_request == !f_write);
            assert (f_length <= 11'd64);
            assert ({f_taken, 1'b0} + (s_axis_tlp_tkeep[1] ? 12'd2 : 12'd1) == f_all);
        end
        // What makes the above inductive.
        assert (f_inside == !first_reg);
        if (f_inside && !bad_reg) begin
            assert (f_taken != 11'd0 && second_reg == (f_taken == 11'd1));
            assert (word0_reg == {f_head[31:24], f_head[15:14], f_head[9:0]});
            assert ({1'b0, left_reg} == f_all - {f_taken, 1'b0} && f_all > {f_taken, 1'b0});
            if (f_taken >= 11'd2)
                assert (f_length <= 11'd64);
            if (!f_answered && !f_message) begin
                assert (f_pushed == (f_taken < f_beats ? f_taken : f_beats));
                assert (f_ended == (f_taken >= f_beats));
            end
        end
        if (!f_inside)
            assert (f_taken == 11'd0 && f_pushed == 11'd0 && !f_ended && !bad_reg);
        cover (push_commit && f_word[15] && f_length == 11'd5);
        cover (push_discard && f_write && f_taken == 11'd3);
    end
