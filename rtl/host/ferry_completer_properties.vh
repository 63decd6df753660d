// SPDX-License-Identifier: Apache-2.0
// Part of ferry_completer under FORMAL: each request that wants an answer is answered exactly once. "Answered" means one
// refusal or acknowledgement, or completions whose words add up to the length of the request; nothing is sent for a posted
// request, and no request is taken before the one before it has been answered.
    reg        f_started = 1'b0;
    // A request that wants an answer was taken, and words of it that are still to be answered.
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

    // What ferry_tlp_receive lets through: configuration requests of one word, payloads of at most 64 words.
    always @* begin
        if (word_low[28:24] == 5'd4)
            assume (word_low[9:0] == 10'd1);
        if (word_low[30] && state_reg == S_HEAD)
            assume (word_low[9:0] != 10'd0 && word_low[9:0] <= 10'd64);
    end

    always @(posedge clk) begin
        f_started <= 1'b1;
        f_age <= f_open ? f_age + 6'd1 : 6'd0;
        if (state_reg == S_HEAD && request_valid) begin
            f_open <= !(word_low[28:24] == 5'd0 && word_low[30]);
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
            if (tlp_valid)
                assert (f_open && state_reg == S_REPLY);
            if (state_reg == S_HEAD)
                assert (!f_open);
            assert (f_open == (state_reg != S_HEAD && !posted));
            // Never more words than were asked for, and a read is not left before all were sent.
            if (send_done && f_data)
                assert (chunk_reg != 7'd0 && {4'd0, chunk_reg} <= f_words);
            // What makes the above inductive.
            if (f_open && (memory_reg || config_reg))
                assert (words_reg == f_words);
            if (config_reg && state_reg != S_HEAD)
                assert (!memory_reg && !locked_reg && words_reg == 11'd1);
            if (state_reg != S_HEAD && state_reg != S_ADDRESS)
                assert (!(config_hit_reg && !config_reg) && (!(bar0_hit_reg || bar2_hit_reg) || memory_reg));
            if (config_hit_reg && (state_reg == S_ROUTE || state_reg == S_REPLY))
                assert (chunk_reg == 7'd1);
            if (state_reg == S_DRAIN)
                assert (!supported && status_reg == STATUS_UNSUPPORTED);
            if (state_reg == S_REPLY && !supported)
                assert (status_reg == STATUS_UNSUPPORTED);
            if (memory_reg && state_reg != S_HEAD)
                assert (words_reg != 11'd0 && words_reg <= 11'd1024);
            if (state_reg == S_CHUNK || state_reg == S_READ)
                assert (hit && !posted && words_reg != 11'd0 && words_reg <= 11'd1024);
            if (state_reg == S_REPLY && hit)
                assert (words_reg != 11'd0);
            if (state_reg == S_READ || (state_reg == S_REPLY && f_data))
                assert (chunk_reg != 7'd0 && {4'd0, chunk_reg} <= words_reg);
            if (state_reg == S_REPLY && f_data)
                assert (hit || (config_hit_reg && config_reg && words_reg == 11'd1 && chunk_reg == 7'd1));
            if (state_reg == S_WRITE)
                assert (posted);
        end
    end

`ifdef FORMAL_BOUND
    // With partners that answer at once a request of up to two words is answered within a stated time.
    always @* begin
        assume (request_valid && tlp_ready && reg_ready && window_ready && window_idle && memory_enable);
        assume (window_read_done == (state_reg == S_READ && asked_reg));
        if (state_reg == S_HEAD)
            assume (word_low[9:0] <= 10'd2 && word_low[9:0] != 10'd0);
        if (state_reg == S_ADDRESS)
            assume (request_beat[64] == !data_reg);
        if (state_reg == S_DRAIN)
            assume (request_beat[64]);
    end
    always @(posedge clk)
        if (f_started)
            assert (f_age < 6'd16);
`endif
