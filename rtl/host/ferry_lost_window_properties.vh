// SPDX-License-Identifier: Apache-2.0
// AXI4 towards memory over being lost and found, and that the window has an answer to all it asks, by induction. Included by
// ferry_lost_window under FORMAL. The window keeps its requests until they are taken, has one read and one write at a time
// and no more than 7 answers of writes to come, and gives a write its beats; memory answers what it was asked and no more,
// a write not before its last beat, and may stop doing so in any cycle.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) if (!past_valid) assume (rst);
    wire holds = past_valid && !rst;

    // As the window sees it: beats of its write and of its read still to come, answers of writes.
    reg [8:0] window_gives = 0;
    reg [8:0] window_gets = 0;
    reg [2:0] window_answers = 0;
    // As memory sees it: beats of the write whose address it was shown, which may come before it takes that; of the read; writes
    // that it took with all their beats.
    reg [8:0] memory_gets = 0;
    reg [8:0] memory_gives = 0;
    reg [2:0] memory_answers = 0;
    wire memory_has = m_w && m_axi_wlast ? m_aw || !write_valid_reg : m_aw && memory_gets == 0;
    always @(posedge clk) begin
        if (s_aw)
            window_gives <= beats;
        else if (s_w)
            window_gives <= window_gives - 9'd1;
        if (s_ar)
            window_gets <= beats;
        else if (s_axi_rvalid)
            window_gets <= window_gets - 9'd1;
        window_answers <= window_answers + {2'd0, s_aw} - {2'd0, s_axi_bvalid};
        if (s_aw && !lost_reg)
            memory_gets <= beats;
        else if (m_w)
            memory_gets <= memory_gets - 9'd1;
        if (m_ar)
            memory_gives <= {1'b0, m_axi_length} + 9'd1;
        else if (m_axi_rvalid)
            memory_gives <= memory_gives - 9'd1;
        memory_answers <= memory_answers + {2'd0, memory_has} - {2'd0, m_axi_bvalid};
        if (rst) begin
            window_gives <= 0;
            window_gets <= 0;
            window_answers <= 0;
            memory_gets <= 0;
            memory_gives <= 0;
            memory_answers <= 0;
        end
    end

    wire [51:0] s_page = {{64-LOCAL_ADDRESS_BITS{1'b0}}, s_axi_address[LOCAL_ADDRESS_BITS-1:12]};
    wire [51:0] m_page = {{64-LOCAL_ADDRESS_BITS{1'b0}}, m_axi_address[LOCAL_ADDRESS_BITS-1:12]};

    always @(*) begin
        // The window.
        assume (!s_axi_arvalid || !s_axi_awvalid);
        assume (!s_axi_awvalid || (window_gives == 0 && window_answers != 3'd7));
        assume (!s_axi_arvalid || window_gets == 0);
        assume (!s_axi_wvalid || window_gives != 0);
        assume (s_axi_wlast == (window_gives == 1));
        // Memory.
        assume (!m_axi_rvalid || memory_gives != 0);
        assume (m_axi_rlast == (memory_gives == 1));
        assume (!m_axi_bvalid || memory_answers != 0);
        if (holds) begin
            // Each gets what it asked for, once, and no beat or answer that it did not ask for.
            assert (!s_axi_rvalid || window_gets != 0);
            assert (s_axi_rlast == (window_gets == 1));
            assert (!s_axi_bvalid || window_answers > {2'd0, middle_reg});
            assert (!m_axi_wvalid || memory_gets != 0);
            assert (m_axi_wlast == (memory_gets == 1));
            // While memory is lost the window does not wait.
            assert (!lost_reg || found || (s_axi_arready && s_axi_awready && s_axi_wready));
            assert (!lost_reg || window_gets == 0 || s_axi_rvalid);
            assert (!lost_reg || window_answers == {2'd0, middle_reg} || s_axi_bvalid);
            // A read that is good has its data from memory.
            assert (!s_axi_rvalid || s_axi_rresp != 2'b00 || (m_axi_rvalid && m_axi_rresp == 2'b00));

            // What the registers hold.
            assert (middle_reg == (window_gives != 0));
            assert (window_beats_reg == window_gets);
            assert (window_writes_reg == window_answers);
            assert ({2'd0, middle_reg} <= window_answers);
            assert (!(read_valid_reg && write_valid_reg));
            assert (beats_reg == memory_gets);
            assert (!beat_valid_reg || beats_reg != 0);
            assert (memory_read_reg == (read_valid_reg || memory_gives != 0));
            assert (!read_valid_reg || memory_gives == 0);
            assert ({1'b0, memory_writes_reg} == {1'b0, memory_answers} + {3'd0, write_valid_reg || beats_reg != 0});
            if (!lost_reg) begin
                assert (window_gives + {8'd0, beat_valid_reg} == beats_reg);
                assert (window_gets == (read_valid_reg ? {1'b0, length_reg} + 9'd1 : memory_gives));
                assert (window_answers == memory_writes_reg);
            end
        end
    end

    // Not given up on is memory that waits for beats of a write which the window has still to give.
    always @(*) begin
        assert (!late || !middle_reg || m_axi_arvalid || m_axi_awvalid || m_axi_wvalid || memory_read_reg);
    end

    reg was_lost = 1'b0;
    reg was_middle = 1'b0;
    always @(posedge clk) begin
        was_lost <= !rst && (was_lost || lost_reg);
        was_middle <= !rst && (was_middle || (lost_reg && middle_reg));
        if (holds && !$past(rst)) begin
            cover (was_middle && !lost_reg && s_axi_bvalid);
            cover (was_lost && !lost_reg && s_axi_rvalid && s_axi_rlast);
            cover (m_w && write_valid_reg && !m_axi_awready);
        end
    end
    axi4_address_properties #(.ASSUME(1), .BEATS(33)) s_ar_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(s_axi_arvalid), .ready(s_axi_arready), .page_offset(s_axi_address[11:0]),
        .page(s_page), .length(s_axi_length), .extra(1'b0)
    );
    axi4_address_properties #(.ASSUME(1), .BEATS(33)) s_aw_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(s_axi_awvalid), .ready(s_axi_awready), .page_offset(s_axi_address[11:0]),
        .page(s_page), .length(s_axi_length), .extra(1'b0)
    );
    valid_ready_properties #(.ASSUME(1), .WIDTH(72)) s_w_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(s_axi_wvalid), .ready(s_axi_wready), .data({s_axi_wdata, s_axi_wstrb})
    );
    axi4_address_properties #(.BEATS(33)) m_ar_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(m_axi_arvalid), .ready(m_axi_arready), .page_offset(m_axi_address[11:0]),
        .page(m_page), .length(m_axi_length), .extra(1'b0)
    );
    axi4_address_properties #(.BEATS(33)) m_aw_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(m_axi_awvalid), .ready(m_axi_awready), .page_offset(m_axi_address[11:0]),
        .page(m_page), .length(m_axi_length), .extra(1'b0)
    );
    valid_ready_properties #(.WIDTH(73)) m_w_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(m_axi_wvalid), .ready(m_axi_wready),
        .data({m_axi_wdata, m_axi_wstrb, m_axi_wlast})
    );
