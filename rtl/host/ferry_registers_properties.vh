// SPDX-License-Identifier: Apache-2.0
// Part of ferry_registers under FORMAL: a register of 64 bits that hardware changes is read of one moment, low half first,
// whatever else but another of these is read in between; and the host writes to none. What holds elsewhere is taken from
// there: a counter's words stand still and belong together from counter_ready on (ferry_registers_counters), and a fence
// value's words are written in two cycles, one behind the other, of which the first is none with fence_hold (ferry_post),
// before the host is served (ferry_registers_file).
    reg f_started = 1'b0;

    always @*
        assume (rst == !f_started);

    // Any one of these registers.
    (* anyconst *) wire [15:3] f_watched;
    localparam [15:0] F_COUNTERS = `FERRY_BAR0_COUNTER_AT;
    localparam [15:0] F_COUNTERS_END = F_COUNTERS + `FERRY_BAR0_COUNTER_STRIDE;
    localparam [15:0] F_RINGS = `FERRY_BAR0_RING_AT;
    localparam [15:0] F_RINGS_END = F_RINGS + `FERRY_BAR0_RING_COUNT * `FERRY_BAR0_RING_STRIDE;
    wire f_counter = {f_watched, 3'd0} >= F_COUNTERS && {f_watched, 3'd0} < F_COUNTERS_END;
    wire f_fence = {f_watched, 3'd0} >= F_RINGS && {f_watched, 3'd0} < F_RINGS_END &&
        {10'd0, f_watched[5:3], 3'd0} == `FERRY_BAR0_RING_FENCE_VALUE;

    always @*
        assume (f_counter || f_fence);

    // Its words in the register file, and what they may be next. Those of a fence value are written by ferry_post: a record's five
    // words enter in one go, which begins while nothing is held; the third and the fourth are these.
    reg  [63:0] f_now;
    (* anyseq *) wire [63:0] f_next;
    (* anyseq *) wire        f_begins;
    reg  [2:0]  f_entered = 3'd0;
    wire        f_enters = f_begins || f_entered != 3'd0;
    wire        f_counter_held = counter_valid && counter_ready && counter_number == f_watched[7:3];
    wire        f_low_read = file_access && file_taken && !file_write && file_index == {f_watched[10:3], 1'b0};
    wire        f_high_read = file_access && file_taken && !file_write && file_index == {f_watched[10:3], 1'b1};

    always @* begin
        assume (!file_taken || file_access);
        assume (!f_begins || (!fence_hold && f_entered == 3'd0));
        if (f_fence && f_enters)
            assume (!file_taken);
    end
    always @(posedge clk) begin
        f_started <= 1'b1;
        f_entered <= rst || !f_enters || f_entered == 3'd4 ? 3'd0 : f_entered + 3'd1;
        if (f_counter && !f_counter_held)
            f_now <= f_next;
        if (f_fence && f_entered == 3'd2)
            f_now[31:0] <= f_next[31:0];
        if (f_fence && f_entered == 3'd3)
            f_now[63:32] <= f_next[63:32];
        if (f_started) begin
            if ($past(f_counter_held && !rst) && counter_valid && counter_number == f_watched[7:3])
                assume (counter_ready);
            if ($past(f_low_read))
                assume (file_rdata == $past(f_now[31:0]));
            if ($past(f_high_read))
                assume (file_rdata == $past(f_now[63:32]));
        end
    end

    // What it was when its low word was read last, and whether that is the one whose high word is kept.
    reg  [63:0] f_then;
    reg         f_kept = 1'b0;

    always @(posedge clk) begin
        if (f_low_read) begin
            f_then <= f_now;
            f_kept <= 1'b0;
        end else if (state_reg == S_LATCH) begin
            f_kept <= address_reg == {f_watched, 1'b0};
        end
        if (rst)
            f_kept <= 1'b0;
    end

    wire f_reads = !write_reg && address_reg == {f_watched, 1'b0};
    wire f_done = state_reg == S_DONE && !write_reg;

    always @(posedge clk) if (f_started && !rst) begin
        assert (f_entered <= 3'd4);
        assert (!write_reg || (state_reg != S_UPPER && state_reg != S_LATCH));
        // It stands still from the low word's cycle to the high word's.
        if (f_reads && (state_reg == S_READ || state_reg == S_UPPER)) begin
            assert (f_now == f_then && !(f_fence && f_enters));
            assert (!f_counter || counter_ready);
        end
        if (f_reads && (state_reg == S_UPPER || state_reg == S_LATCH || state_reg == S_DONE))
            assert (reg_rdata == f_then[31:0]);
        if (f_reads && state_reg == S_DONE)
            assert (f_kept);
        if (f_kept)
            assert (high_reg == f_then[63:32]);
        if (f_done && address_reg == {f_watched, 1'b1} && f_kept)
            assert (reg_rdata == f_then[63:32]);
        if (file_access && file_write)
            assert (file_index[8:1] != f_watched[10:3] || address_reg[15:11] != f_watched[15:11]);
        // A fence value that is being written is not read, so it is whole.
        cover (f_done && address_reg == {f_watched, 1'b1} && f_kept && f_now[63:32] != f_then[63:32] && f_counter);
        cover (f_done && address_reg == {f_watched, 1'b1} && f_kept && f_now[63:32] != f_then[63:32] && f_fence);
    end
