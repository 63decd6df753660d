// SPDX-License-Identifier: Apache-2.0
// What the read side asks for, by induction: video memory's data never waits on the bus, and both ports are AXI4, with bursts of
// one block. Included by ferry_read_side under FORMAL.
    // Video memory's data never waits on the bus: whatever is in front of it goes on in any cycle, as no host data is. Of the
    // entries from the asking to the realigner, the oldest first: which are bursts of the host, which of video memory. (What enters
    // a FIFO leaves it in that order, by its own proof.)
    localparam MOST = (1 << LG_READS) + 1;
    reg [MOST-1:0] hosts = 0;
    reg [MOST-1:0] locals = 0;
    wire [LG_READS:0] in_fifo = entry_in - entry_out;
    wire [LG_READS+1:0] count = in_fifo + head_valid;
    // Of each its beats, if of video memory, and whether it is its turn's last; beats of the oldest that came.
    reg [7*MOST-1:0] beats = 0;
    reg [MOST-1:0] ends = 0;
    reg [6:0] came = 0;
    reg [LG_DATA:0] beats_out;
    reg [LG_READS+1:0] end_count;
    wire gone = head_valid && head_ready;
    wire [LG_READS+1:0] enters_at = count - gone;
    integer i, j;
    reg [LG_READS+1:0] host_count;
    always @(posedge clk) begin
        hosts <= (hosts >> gone) | ({{(MOST-1){1'b0}}, step && to_host} << enters_at);
        locals <= (locals >> gone) | ({{(MOST-1){1'b0}}, step && !to_host} << enters_at);
        beats <= (beats >> (gone ? 7 : 0)) | ({{(7*MOST-7){1'b0}}, step && !to_host ? {1'b0, length} + 7'd1 : 7'd0} << (7 * enters_at));
        ends <= (ends >> gone) | ({{(MOST-1){1'b0}}, end_asked} << enters_at);
        came <= gone ? 7'd0 : came + {6'd0, took_local};
        if (rst) begin
            hosts <= {MOST{1'b0}};
            locals <= {MOST{1'b0}};
            beats <= {(7*MOST){1'b0}};
            ends <= {MOST{1'b0}};
            came <= 7'd0;
        end
        cover (past_valid && !rst && locals[0] && !hosts[0] && hosts[1]);
        cover (past_valid && !rst && push && push_last && push_bad && !push_cut && locals[1]);
    end
    always @(*) begin
        assume (!next_valid || {next[ENTRY_BITS-3 -: 2] == TYPE_BURST && next[ENTRY_BITS-5],
            next[ENTRY_BITS-3 -: 2] == TYPE_BURST && !next[ENTRY_BITS-5]} == {hosts[head_valid], locals[head_valid]});
        assume (!next_valid || next[ENTRY_BITS-3 -: 2] != TYPE_BURST || next[5] == ends[head_valid]);
        // A burst goes with its last beat, or behind it, by the realigner's proof.
        assume (!took_local || came < beats[6:0]);
        assume (!gone || came + {6'd0, took_local} == beats[6:0]);
        host_count = 0;
        end_count = 0;
        beats_out = 0;
        for (i = 0; i < MOST; i = i + 1) begin
            host_count = host_count + hosts[i];
            end_count = end_count + ends[i];
            beats_out = beats_out + beats[7*i +: 7];
        end
        if (past_valid && !rst) begin
            assert (!head_valid || {hosts[0], locals[0]}
                == {head_type == TYPE_BURST && head_host, head_type == TYPE_BURST && !head_host});
            // What the write side is told of words and ends that are on their way.
            assert (ends_out_reg == end_count && (ends & ~(hosts | locals)) == 0);
            assert (flying_reg == beats_out - came && came <= beats[6:0]);
            for (i = 0; i < MOST; i = i + 1) begin
                assert (locals[i] || beats[7*i +: 7] == 0);
            end
            assert (!head_valid || head_type != TYPE_BURST || head[5] == ends[0]);
            assert (host_reg == host_count && (hosts & locals) == 0 && ((hosts | locals) >> count) == 0);
            for (i = 1; i < MOST; i = i + 1) begin
                for (j = 0; j < i; j = j + 1) begin
                    assert (!(locals[i] && hosts[j]));
                end
            end
            // The claim.
            assert (!(head_valid && locals != 0) || head_ready || local_rready);
        end
    end

    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) begin
        assume (past_valid || rst);
        if (past_valid && !rst) begin
            assert (!(local_valid_reg && host_valid_reg));
        end
    end

    // FORGETs between this side and the end of the page-table unit's forgetting, which the write side tells: while there is one, no
    // job begins that goes by addresses.
    reg [1:0] forgets = 0;
    wire going_by_addresses = start && job_translated && !is_forget;
    always @(posedge clk) begin
        forgets <= rst ? 2'd0 : forgets + {1'b0, start && is_forget} - {1'b0, forget_over};
        cover (past_valid && !rst && forgets != 0 && start && !job_translated);
    end
    always @(*) begin
        assume (!forget_over || forgets != 0);
        if (past_valid && !rst) begin
            assert (forgets == {1'b0, forgets_reg});
            assert (!going_by_addresses || forgets == 0);
        end
    end

    // What is put by keeps the rules, and so does what stands behind it.
    axi4_address_properties #(.BEATS(64)) kept_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(kept), .ready(local_arready),
        .page_offset(kept_address[11:0]), .page({{(64-LOCAL_ADDRESS_BITS){1'b0}}, kept_address[LOCAL_ADDRESS_BITS-1:12]}),
        .length({2'd0, kept_length}), .extra(1'b0)
    );
    axi4_address_properties #(.BEATS(64)) behind_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(local_valid_reg), .ready(local_free),
        .page_offset(address_reg[11:0]), .page(address_reg[63:12]), .length({2'd0, length_reg}), .extra(1'b0)
    );
    axi4_address_properties #(.BEATS(64)) local_ar_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(local_arvalid), .ready(local_arready),
        .page_offset(local_araddr[11:0]), .page({{(64-LOCAL_ADDRESS_BITS){1'b0}}, local_araddr[LOCAL_ADDRESS_BITS-1:12]}),
        .length(local_ar[`FERRY_AXI_A_LENGTH_RANGE]), .extra(1'b0)
    );
    axi4_address_properties #(.BEATS(64)) host_ar_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(host_arvalid), .ready(host_arready),
        .page_offset(address_reg[11:0]), .page(address_reg[63:12]), .length(host_ar[`FERRY_AXI_A_LENGTH_RANGE]),
        .extra(host_ar[`FERRY_AXI_A_NO_SNOOP_RANGE])
    );
