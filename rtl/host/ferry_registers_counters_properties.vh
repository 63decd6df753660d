// SPDX-License-Identifier: Apache-2.0
// Part of ferry_registers_counters under FORMAL: what a read gets from ready on is a counter's two words of one moment, and
// they stand still until the read is over. An addition counts as done with the write of its lower word, carry and all.
    reg f_started = 1'b0;

    always @*
        assume (rst == !f_started);

    // Any one counter: its words in the register file, and as one number.
    (* anyconst *) wire [4:0] f_watched;
    (* anyconst *) wire [63:0] f_first;
    reg [31:0] f_low, f_high;
    reg [63:0] f_count;
    wire       f_adds = word_write && word == {f_watched, 1'b0};
    wire       f_carries = word_write && word == {f_watched, 1'b1};
    wire       f_whole = state_reg != S_UPPER && state_reg != S_CARRY || number_reg != f_watched;

    always @* begin
        assume (f_watched < COUNT);
        assume (!read_valid || read_number < COUNT);
        // Another has the port only while the sweep reads.
        assume (!hold || yields);
    end
    always @(posedge clk) begin
        f_started <= 1'b1;
        if (f_adds) begin
            f_low <= word_wdata;
            f_count <= {f_count[63:32] + {31'd0, word_wdata < f_low}, word_wdata};
        end
        if (f_carries)
            f_high <= word_wdata;
        if (rst)
            {f_high, f_low, f_count} <= {f_first, f_first};
        if (f_started && $past(!word_write && !hold && word == {f_watched, 1'b0}))
            assume (word_rdata == $past(f_low));
        if (f_started && $past(!word_write && !hold && word == {f_watched, 1'b1}))
            assume (word_rdata == $past(f_high));
    end

    always @(posedge clk) if (f_started && !rst) begin
        assert (number_reg <= LAST);
        // Only the counter that is added to is emptied of what it has counted.
        assert (turn_reg == {COUNT{1'b0}} || state_reg == S_ADD);
        assert (f_count == {f_high + {31'd0, !f_whole}, f_low});
        if (read_ready) begin
            assert (!word_write);
            assert (read_number != f_watched || f_count == {f_high, f_low});
        end
        if ($past(read_valid && read_ready && !rst) && read_valid && read_number == $past(read_number))
            assert (read_ready);
        cover (read_ready && read_number == f_watched && f_count[63:32] != $past(f_count[63:32]));
        cover (!f_whole && read_valid && read_number == f_watched);
    end
