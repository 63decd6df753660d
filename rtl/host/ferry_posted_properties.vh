// SPDX-License-Identifier: Apache-2.0
// Part of ferry_posted under FORMAL: it never stops. While a beat of a request is there and the partners (registers, video
// memory) answer within two cycles each, a beat is taken within a stated time; and nothing it waits for has to do with
// packets that leave, of which it has no input. What it hands on and asks for, it keeps to.
    reg f_started = 1'b0;
    always @*
        assume (rst == !f_started);

    // The buffer keeps its beat until it is taken; packets as ferry_tlp_receive commits them.
    valid_ready_properties #(.WIDTH(65), .ASSUME(1)) f_kept (
        .clk(clk), .rst(rst || !f_started), .valid(request_valid), .ready(request_pop), .data(request_beat)
    );
    // Cycles that each partner has kept us waiting, and since a beat was taken.
    reg [1:0]  f_register;
    reg [1:0]  f_window;
    reg [1:0]  f_beat;
    reg [1:0]  f_idle;
    reg [4:0]  f_age;
    wire       f_beat_asked = window_beat_valid && !window_beat_ready;

    always @* begin
        if (!reg_valid)
            assume (!reg_ready);
        if (f_register == 2'd2 && reg_valid)
            assume (reg_ready);
        if (f_window == 2'd2 && window_valid)
            assume (window_ready);
        if (f_beat == 2'd2 && window_beat_valid)
            assume (window_beat_ready);
        if (f_idle == 2'd2)
            assume (window_idle);
        // A payload of 1 to 64 words.
        if (heading && request_valid && is_write)
            assume (word_low[9:0] != 10'd0 && word_low[9:0] <= 10'd64);
    end

    always @(posedge clk) begin
        f_started <= 1'b1;
        f_register <= reg_valid && !reg_ready ? f_register + {1'b0, f_register != 2'd2} : 2'd0;
        f_window <= window_valid && !window_ready ? f_window + {1'b0, f_window != 2'd2} : 2'd0;
        f_beat <= f_beat_asked ? f_beat + {1'b0, f_beat != 2'd2} : 2'd0;
        f_idle <= !window_idle ? f_idle + {1'b0, f_idle != 2'd2} : 2'd0;
        f_age <= request_valid && !request_pop ? f_age + {4'd0, f_age != 5'd31} : 5'd0;
        if (rst) begin
            f_register <= 2'd0;
            f_window <= 2'd0;
            f_beat <= 2'd0;
            f_idle <= 2'd0;
            f_age <= 5'd0;
        end
    end

    reg [52:0] f_register_past;
    always @(posedge clk) begin
        f_register_past <= {reg_valid && !reg_ready, reg_address, reg_wdata, reg_wstrb};
        if (f_started && !rst) begin
            assert (f_age < 5'd18);
            assert (state_reg <= S_DRAIN);
            // Only what wants an answer is handed on, two beats of it, and only with every write before it done.
            assert (!(answer_valid && heading) || (window_idle && !is_write));
            assert (!(reg_valid && window_valid));
            // A write that finds nothing asks for nothing.
            assert (!reg_valid || (bar0_hit_reg && reg_wstrb != 4'd0) || !memory_enable);
            if (f_register_past[52])
                assert (reg_valid && {reg_address, reg_wdata, reg_wstrb} == f_register_past[51:0]);
            cover (answer_valid && handing);
            cover (align_last && beat_taken && !bar0_hit_reg);
        end
        if (rst)
            f_register_past <= 53'd0;
    end
