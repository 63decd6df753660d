// SPDX-License-Identifier: Apache-2.0
// What the sequencer queues, of a packet of any words: the job that the packet says, inside the limits, in the space that the
// firmware named. From reset on, bounded. Included by ferry_sequencer under FORMAL.
    // A packet of any words stands in command RAM. What is queued is what it says, and lies inside the limits, worked out
    // here in 65 bits from the words alone.
    reg past_valid = 1'b0;
    (* anyconst *) wire [63:0] word_0;
    (* anyconst *) wire [63:0] word_1;
    (* anyconst *) wire [63:0] word_2;
    (* anyconst *) wire [63:0] word_3;
    // Without rectangles no further word is read.
    reg  [2:0]  index_past;
    wire [63:0] expected = index_past == 3'd0 ? word_0 : index_past == 3'd1 ? word_1 : index_past == 3'd2 ? word_2 : word_3;

    wire [7:0]  says = word_0[7:0];
    wire        says_copy = says == `FERRY_OPCODE_COPY;
    wire        says_pages = says == `FERRY_OPCODE_COPY_PAGES;
    wire        says_fill = says == `FERRY_OPCODE_FILL;
    wire        says_fence = says == `FERRY_OPCODE_FENCE;
    wire        says_forget = says == `FERRY_OPCODE_FORGET;
    wire        says_discard = says == `FERRY_OPCODE_DISCARD;
    wire        says_nop = says == `FERRY_OPCODE_NOP;
    wire [1:0]  says_scope = word_1[`FERRY_PACKET_FORGET_WHAT_SCOPE_RANGE];
    wire        says_from_list = word_0[37:36] == `FERRY_LIST_SIDE_SOURCE;
    wire [31:0] bytes = says_fence ? 32'd8 : says_forget ? 32'd0 : word_1[31:0];
    wire [63:0] first_offset = {32'd0, word_1[63:32]};
    wire [63:0] from = says_pages && says_from_list ? first_offset : says_fill || says_forget ? word_3 : word_2;
    wire [63:0] to = says_copy ? word_3 : says_fence ? word_1 : says_pages && !says_from_list ? first_offset : word_2;
    wire [64:0] from_end = {1'b0, from} + {33'd0, bytes};
    wire [64:0] to_end = {1'b0, to} + {33'd0, bytes};
    wire [64:0] local_end = {1'b0, local_limit};
    wire [64:0] aperture_end = {32'd0, APERTURE_BYTES};
    wire        guarded = protect_base < protect_limit;
    wire        from_range = says_copy || (says_pages && !says_from_list);
    wire        to_range = !(says_pages && !says_from_list) && !says_forget;
    wire [64:0] list_end = {33'd0, word_1[63:32]} + {33'd0, bytes};

    wire [63:0] shown_source = job[`FERRY_JOB_SOURCE_RANGE];
    wire [63:0] shown_destination = job[`FERRY_JOB_DESTINATION_RANGE];
    wire [31:0] shown_length = job[`FERRY_JOB_LENGTH_RANGE];
    wire [1:0]  shown_from = job[`FERRY_JOB_SOURCE_KIND_RANGE];
    wire [1:0]  shown_to = job[`FERRY_JOB_DESTINATION_KIND_RANGE];

    reg asked_past;
    reg [3:0] space_started = 4'd0;
    reg       tables_started = 1'b0;
    always @(posedge clk) begin
        if (start && state_reg == S_IDLE) begin
            space_started <= start_space;
            tables_started <= start_tables;
        end
        past_valid <= 1'b1;
        asked_past <= read_valid && read_ready && !rst && run;
        index_past <= index;
        if (!past_valid) begin
            assume (rst);
        end else begin
            // Command RAM answers a cycle after it took a request; the core starts only a sequencer that rests, with a slot's
            // bytes at most, and what the host has set stays.
            assume (read_data_valid == asked_past);
            assume (!read_data_valid || read_data == expected);
            assume (!start || (state_reg == S_IDLE && !asked_past && start_offset[15:12] == 4'd0));
            assume (!job_ready || job_valid);
            assume ($stable(limits) && buffer_bytes <= 13'd4096 && (state_reg == S_IDLE || $stable(buffer_bytes)));

            // What a job's slot says of it is looked up a cycle ahead (ferry_registers_jobs).
            assert (!job_valid || $stable(job[`FERRY_JOB_SLOT_RANGE]));
            if (job_valid && !checked_reg) begin
                assert (says_copy || says_pages || says_fill || says_fence || says_forget);
                assert (!job[`FERRY_JOB_PROTECTED_RANGE] && word_0[15:9] == 7'd0 && word_0[63:40] == 24'd0);
                assert (job[`FERRY_JOB_UNORDERED_RANGE] == word_0[8] && (!word_0[8] || says_copy || says_pages));
                // The whole packet lies in the buffer, and is as long as its opcode asks for.
                assert ({15'd0, offset} + {13'd0, word_0[31:16], 2'd0} <= {18'd0, buffer_bytes});
                assert (!says_copy || word_0[31:16] == 16'd8);
                assert (!says_fill || word_0[31:16] == 16'd8);
                assert (!says_fence || (word_0[31:16] == 16'd6 && word_1[2:0] == 3'd0));
                assert (!says_pages || ({49'd0, word_0[31:16]} == 65'd6 + 65'd2 * ((list_end + 65'd4095) >> 12)));
                assert (!says_pages || (word_1[63:44] == 20'd0 && bytes != 32'd0 && system_reg));
                assert (says_fence || says_pages || word_1[63:32] == 32'd0);
                // Kinds, and who may name the host.
                assert (shown_from == word_0[33:32] && shown_to == word_0[35:34]);
                assert (!virtual_only_reg || says_forget || ((says_fill || shown_from == `FERRY_ADDRESS_KIND_VIRTUAL)
                    && shown_to == `FERRY_ADDRESS_KIND_VIRTUAL));
                assert (PAGE_TABLES || (shown_from != `FERRY_ADDRESS_KIND_VIRTUAL && shown_to != `FERRY_ADDRESS_KIND_VIRTUAL));
                assert (system_reg || (shown_from != `FERRY_ADDRESS_KIND_SYSTEM && shown_to != `FERRY_ADDRESS_KIND_SYSTEM));
                // The job is what the packet says.
                assert (shown_source == from && shown_destination == (says_forget ? {to[63:2], says_scope} : to) && shown_length == bytes);
                assert (job[`FERRY_JOB_LIST_RANGE] == (says_pages ? word_0[37:36] : 2'd0));
                assert (job[`FERRY_JOB_OP_RANGE] == (says_fill || says_fence ? `FERRY_JOB_OP_FILL : says_forget ? `FERRY_JOB_OP_FORGET
                    : `FERRY_JOB_OP_COPY));
                assert (!says_fill || job[`FERRY_JOB_PATTERN_LOG2_RANGE] == word_0[39:38]);
                assert (!says_fence || job[`FERRY_JOB_PATTERN_LOG2_RANGE] == 2'd3);
                // Only who may has what forgotten, and around an address only if there is one.
                if (says_forget) begin
                    assert (tables_started && PAGE_TABLES && word_0[31:16] == 16'd6 && word_0[63:32] == 32'd0);
                    assert (word_1[63:8] == 56'd0 && word_1[3:2] == 2'd0 && says_scope != `FERRY_FORGET_SCOPE_ALL);
                    assert (word_2[63:48] == 16'd0);
                    assert (word_2 == 64'd0 || says_scope != `FERRY_FORGET_SCOPE_SPACE);
                end
                // Both ranges lie inside their segments, and touch nothing protected.
                if (from_range && shown_from == `FERRY_ADDRESS_KIND_LOCAL) begin
                    assert (from_end <= local_end);
                    assert (!guarded || bytes == 32'd0 || from >= protect_limit || from_end <= {1'b0, protect_base});
                end
                if (to_range && shown_to == `FERRY_ADDRESS_KIND_LOCAL) begin
                    assert (to_end <= local_end);
                    assert (!guarded || bytes == 32'd0 || to >= protect_limit || to_end <= {1'b0, protect_base});
                end
                assert (!from_range || shown_from != `FERRY_ADDRESS_KIND_APERTURE || from_end <= aperture_end);
                assert (!to_range || shown_to != `FERRY_ADDRESS_KIND_APERTURE || to_end <= aperture_end);
                assert (!from_range || shown_from != `FERRY_ADDRESS_KIND_SYSTEM || from_end <= {1'b1, 64'd0});
                assert (!to_range || shown_to != `FERRY_ADDRESS_KIND_SYSTEM || to_end <= {1'b1, 64'd0});
                assert (!from_range || shown_from != `FERRY_ADDRESS_KIND_VIRTUAL || from_end <= {17'd1, 48'd0});
                assert (!to_range || shown_to != `FERRY_ADDRESS_KIND_VIRTUAL || to_end <= {17'd1, 48'd0});
            end
            // Whatever the packet says, its job's space is the one that the firmware named for the buffer; but FORGET names one.
            assert (!job_valid || (says_forget && PAGE_TABLES) || job[`FERRY_JOB_SPACE_RANGE] == space_started);
            // What a job forgets is what its packet says, also where the firmware has looked at that; it has no bytes.
            assert (!job_valid || (job[`FERRY_JOB_OP_RANGE] == `FERRY_JOB_OP_FORGET) == (says_forget && PAGE_TABLES));
            if (job_valid && says_forget && PAGE_TABLES) begin
                assert (shown_length == 32'd0);
                assert (job[`FERRY_JOB_SPACE_RANGE] == word_1[`FERRY_PACKET_FORGET_WHAT_SPACE_RANGE]);
                assert (shown_destination == {word_2[63:2], says_scope});
            end
            // What is stepped over makes no job, lies in the buffer, and a range that is discarded in video memory.
            assert (!skipped || (!job_valid && (says_nop || says_discard)));
            if (skipped && !checked_reg) begin
                assert ({15'd0, offset} + {13'd0, word_0[31:16], 2'd0} <= {18'd0, buffer_bytes});
                assert (says_nop ? !word_0[16] && word_0[31:16] != 16'd0 : word_0[31:8] == {16'd6, 8'd0});
                assert (says_nop || (word_0[63:32] == 32'd0 && word_1[63:32] == 32'd0 && to_end <= local_end && !virtual_only_reg));
            end
            // Only a core that stops, or the firmware that wants its place, takes an offer back; until then it stays.
            if (!$past(rst) && $past(job_valid && !job_ready && run && !stop)) begin
                assert (job_valid && $stable(job));
            end
            cover (job_valid && says_copy && !checked_reg && bytes != 32'd0);
            cover (job_valid && says_pages && !checked_reg);
            cover (job_valid && says_copy && !checked_reg && virtual_only_reg && space_started == 4'd9);
            cover (job_valid && says_fence && !checked_reg);
            cover (job_valid && says_forget && !checked_reg && says_scope == `FERRY_FORGET_SCOPE_TABLE && word_2 != 64'd0);
            cover (skipped && !checked_reg && says_nop);
            cover (skipped && !checked_reg && says_discard && bytes != 32'd0);
            cover (table_change);
            cover (state_reg == S_IDLE && $past(state_reg == S_DECIDE) && !stop_reg);
        end
    end
