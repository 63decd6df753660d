// SPDX-License-Identifier: Apache-2.0
// Part of ferry_completer under FORMAL: each request is answered exactly once. "Answered" means one refusal or
// acknowledgement, or completions whose words add up to the length of the request; no request is taken before the one
// before it has been answered.
    reg        f_started = 1'b0;
    // A request was taken, and words of it that are still to be answered.
    reg        f_open;
    reg [10:0] f_words;
    // Cycles since the request was taken.
    reg [5:0]  f_age;
    wire       f_data = status_reg == STATUS_GOOD && !data_reg;

    // The first cycle is a reset; there is none later.
    always @*
        assume (rst == !f_started);

    // Only a configuration write, which the completer itself carries out, changes memory_enable.
    reg f_enable;
    always @(posedge clk)
        f_enable <= memory_enable;
    always @*
        if (f_started && state_reg != S_HEAD)
            assume (memory_enable == f_enable);

    // What gets here: no memory write, configuration requests of one word. A packet that is offered ends only then.
    always @* begin
        if (state_reg == S_HEAD && request_valid) begin
            assume (!(word_low[28:24] == 5'd0 && word_low[30]));
            if (word_low[28:24] == 5'd4)
                assume (word_low[9:0] == 10'd1);
        end
        if (!send_valid)
            assume (!send_done);
    end

    always @(posedge clk) begin
        f_started <= 1'b1;
        f_age <= f_open ? f_age + 6'd1 : 6'd0;
        if (state_reg == S_HEAD && request_valid) begin
            f_open <= 1'b1;
            f_words <= {word_low[9:0] == 10'd0, word_low[9:0]};
        end
        if (send_done) begin
            f_words <= f_words - {4'd0, chunk_reg};
            if (!f_data || f_words == {4'd0, chunk_reg})
                f_open <= 1'b0;
        end
        if (rst) begin
            f_open <= 1'b0;
            f_age <= 6'd0;
        end
    end

    always @(posedge clk) begin
        if (f_started) begin
            // No answer without a request, no request before the answer.
            if (send_valid)
                assert (f_open && state_reg == S_REPLY);
            assert (f_open == (state_reg != S_HEAD));
            // Never more words than were asked for, and a read is not left before all were sent.
            if (send_done && f_data)
                assert (chunk_reg != 7'd0 && {4'd0, chunk_reg} <= f_words && send_words == chunk_reg);
            // A register is only read for a request that found it, and the window likewise.
            if (reg_valid)
                assert (hit && bar0_hit_reg && !data_reg);
            if (window_valid)
                assert (hit && !bar0_hit_reg && bar2_hit_reg && !data_reg);
            // What makes the above inductive.
            if (f_open && (memory_reg || config_reg))
                assert (words_reg == f_words);
            if (state_reg != S_HEAD)
                assert (!(memory_reg && data_reg) && !(config_reg && (memory_reg || locked_reg)));
            if (config_reg && state_reg != S_HEAD)
                assert (words_reg == 11'd1);
            if (state_reg != S_HEAD && state_reg != S_ADDRESS)
                assert (!(config_hit_reg && !config_reg) &&
                        (!(bar0_hit_reg || bar2_hit_reg) || memory_reg || state_reg == S_ROUTE));
            if (config_hit_reg && (state_reg == S_ROUTE || state_reg == S_REPLY))
                assert (chunk_reg == 7'd1);
            if (state_reg == S_REPLY && !hit && !config_hit_reg)
                assert (status_reg == STATUS_UNSUPPORTED);
            if (memory_reg && state_reg != S_HEAD)
                assert (words_reg != 11'd0 && words_reg <= 11'd1024);
            if (state_reg == S_CHUNK || state_reg == S_READ)
                assert (hit && words_reg != 11'd0 && words_reg <= 11'd1024);
            if (state_reg == S_REPLY && hit)
                assert (words_reg != 11'd0);
            if (state_reg == S_READ || (state_reg == S_REPLY && f_data))
                assert (chunk_reg != 7'd0 && {4'd0, chunk_reg} <= words_reg);
            if (state_reg == S_REPLY && f_data)
                assert (hit || (config_hit_reg && config_reg && words_reg == 11'd1 && chunk_reg == 7'd1));
`ifndef FORMAL_BOUND
            cover (send_done && f_data && f_words != {4'd0, chunk_reg} && f_words > 11'd64);
            cover (send_done && status_reg == STATUS_ABORT);
`endif
        end
    end

`ifdef FORMAL_BOUND
    // With partners that answer at once a request of up to two words is answered within a stated time.
    always @* begin
        assume (request_valid && reg_ready && window_ready && memory_enable);
        assume (send_done == send_valid);
        assume (window_read_done == (state_reg == S_READ && asked_reg));
        if (state_reg == S_HEAD)
            assume (word_low[9:0] <= 10'd2 && word_low[9:0] != 10'd0);
    end
    always @(posedge clk)
        if (f_started)
            assert (f_age <= 6'd10);
    // A request that takes as long as that.
    always @(posedge clk)
        if (f_started)
            cover (f_age == 6'd10);
`endif
