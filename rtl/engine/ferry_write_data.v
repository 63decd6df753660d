// SPDX-License-Identifier: Apache-2.0
// Write side, data: sends the beats of the announced bursts from the data FIFO with their byte strobes, and throws
// away words that must not be written. From the first bad word on, the beats that announced bursts still owe the bus
// go out with no strobe set. Makes the record of a fault (with what was written before it) for ferry_retire.
`include "ferry_contract.vh"
`default_nettype none

module ferry_write_data #(
    // 1: there is host memory; there are urgent jobs.
    parameter [0:0] HOST = 1,
    parameter [0:0] URGENT = 1,
    // Bits of a turn's number.
    parameter LG_TURNS = 5
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // Bursts; see ferry_write_side.
    input  wire        burst_valid,
    output wire        burst_ready,
    input  wire        burst_host,
    input  wire [5:0]  burst_length,
    input  wire [2:0]  burst_first_lane,
    input  wire [2:0]  burst_last_lane,
    input  wire        burst_last,
    input  wire        burst_fill,
    output wire        bursts_done,
    output wire [LG_TURNS-1:0] word_turn,
    input  wire        drain,
    output wire        drain_good,
    output wire        drain_done,
    input  wire        side_active,
    input  wire [LG_TURNS-1:0] side_turn,
    input  wire        side_resumed,
    input  wire        side_urgent,
    input  wire [1:0]  side_slot,
    input  wire        side_descending,
    input  wire [31:0] side_place,
    input  wire        side_fault_valid,
    input  wire [7:0]  side_fault_kind,
    input  wire [31:0] side_fault_position,

    // Head of the data FIFO. A bad word bears the read side's fault, if it comes from one: kind and position.
    input  wire        word_valid,
    output wire        word_take,
    input  wire [63:0] word,
    input  wire        word_last,
    input  wire        word_bad,
    input  wire        word_bad_last,

    // Memory was given up on: what is still owed to it goes out with no strobe, but for a beat that is offered already.
    input  wire        lost,
    // An engine reset goes on: a job that is not written whole has a record, whatever threw it away.
    input  wire        resetting,

    // The last bad word of the job is gone.
    output wire        resolved,

    // Fault record: one-cycle pulse. Its kind is NONE if nothing but the reset went wrong.
    input  wire [3:0]  poison,
    output wire        record_valid,
    output wire [LG_TURNS-1:0] record_turn,
    output wire [1:0]  record_slot,
    output wire        record_write,
    output wire [7:0]  record_kind,
    output wire [31:0] record_position,
    // Bytes written; left: of a job that goes from its end, the offset of the last byte that is not.
    output wire        record_left,
    output wire [31:0] record_place,

    // AXI4 write data channels.
    output wire [63:0] wdata,
    output wire [7:0]  wstrb,
    output wire        wlast,
    output wire        local_wvalid,
    input  wire        local_wready,
    output wire        host_wvalid,
    input  wire        host_wready
`ifdef FORMAL
    ,
    // For proofs: the burst that is followed, whichever, has not been sent whole, and is for the host.
    output wire        formal_waits,
    output wire        formal_waits_for_host
`endif
);
    localparam BURST_BITS = 1 + 6 + 3 + 3 + 1 + 1 + 2 + 1 + 1;

    wire        have_burst;
    wire        burst_end;
    wire        kept_host;
    wire        host = kept_host && HOST;
    wire [5:0]  length;
    wire [2:0]  first_lane;
    wire [2:0]  last_lane;
    wire        last;
    wire        fill;
    wire [1:0]  slot;
    wire        descending;
    wire        kept_resumed;
    wire        resumed = kept_resumed && URGENT;

`ifdef FORMAL
    wire [BURST_BITS-1:0] formal_burst;
    assign formal_waits_for_host = formal_burst[BURST_BITS-1];
`endif
    ferry_fifo #(.WIDTH(BURST_BITS), .LG_DEPTH(3)) bursts (
        .clk(clk), .rst(rst), .in_valid(burst_valid), .in_ready(burst_ready),
        .in_data({burst_host, burst_length, burst_first_lane, burst_last_lane, burst_last, burst_fill, side_slot,
            side_descending, side_resumed}),
        .out_valid(have_burst), .out_ready(burst_end),
        .out_data({kept_host, length, first_lane, last_lane, last, fill, slot, descending, kept_resumed})
`ifdef FORMAL
        , .formal_held(formal_waits), .formal_word(formal_burst)
`endif
    );

    reg [5:0]  beat_reg;
    // A bad word was met in a burst of the present job.
    reg        dead_reg;
    // Bytes of the present job that were sent are any_reg ? {sent_reg, rest_reg} : 0: the first beat sets how many bytes
    // it has over or instead of a whole word, each further one adds a word.
    reg [28:0] sent_reg;
    reg [2:0]  rest_reg;
    reg        any_reg;
    reg        started_reg;
    // The same of the job that was left half done, up to its last turn's end.
    reg        left_any_reg;
    reg [28:0] left_sent_reg;
    reg [2:0]  left_rest_reg;
    // Memory was given up on, and no beat from before is offered any more.
    reg        mute_reg;
    reg [LG_TURNS-1:0] turn_reg;

    // ---- Beats ----
    wire first_beat = beat_reg == 0;
    wire final_beat = beat_reg == length;
    wire go = have_burst && word_valid;
    wire unwritten = dead_reg || word_bad;
    wire [7:0] head_mask = first_beat ? 8'hff << first_lane : 8'hff;
    wire [7:0] tail_mask = final_beat ? 8'hff >> (3'd7 - last_lane) : 8'hff;
    wire beat = go && (host ? host_wready : local_wready);
    assign wdata = word;
    assign wstrb = unwritten || mute_reg ? 8'h00 : head_mask & tail_mask;
    assign wlast = final_beat;
    assign local_wvalid = go && !host;
    assign host_wvalid = go && host;
    assign burst_end = beat && final_beat;
    assign bursts_done = !have_burst;
    assign word_turn = turn_reg;

    // ---- Words thrown away ----
    // After a bad word in its last burst the job is this unit's alone: the write side has gone on to the next.
    wire own_drain = dead_reg && !have_burst && !(side_active && side_turn == turn_reg);
    // That comes first; the next job may be waiting to be thrown away too.
    wire side_drain = drain && !own_drain;
    wire drain_take = (side_drain || own_drain) && !have_burst && word_valid;
    wire done = drain_take && word_last;
    // A fill's word serves all of its beats. The last word of a bad job serves all beats that are still owed, so that
    // no other word shows while they go out; it leaves when it is thrown away.
    wire keep = fill ? !(final_beat && last) : word_bad_last;

    assign word_take = drain_take || (beat && !keep);
    assign drain_good = drain_take && !word_bad;
    assign drain_done = done && side_drain;
    assign resolved = drain_take && word_bad_last;

    // ---- Fault record ----
    wire [7:0]  read_fault_kind = word[39:32];
    wire [31:0] read_fault_position = word[31:0];
    wire dead_now = beat && word_bad && !dead_reg;
    wire bad_record = (dead_now || (done && word_bad && !dead_reg)) && read_fault_kind != `FERRY_FAULT_KIND_NONE;
    wire side_record = done && side_drain && side_fault_valid && !dead_reg;
    wire aborted_job = resetting && (dead_now || (done && !dead_reg));

    assign record_slot = dead_now ? slot : side_slot;
    assign record_valid = (bad_record || side_record || aborted_job) && !poison[record_slot];
    assign record_turn = turn_reg;
    assign record_write = side_record;
    assign record_kind = side_record ? side_fault_kind : read_fault_kind;
    assign record_position = side_record ? side_fault_position : read_fault_position;
    wire go_on = (dead_now ? resumed : side_resumed) && left_any_reg;
    // A descending job's bursts are announced when all of their words are there, so it stops between two of them.
    assign record_left = side_descending && !dead_now;
    assign record_place = record_left ? side_place : descending && dead_now ? 32'd0
        : any_reg ? {sent_reg, rest_reg} : go_on ? {left_sent_reg, left_rest_reg} : 32'd0;
    wire count_on = resumed && left_any_reg;

    always @(posedge clk) begin
        if (beat) begin
            beat_reg <= final_beat ? 6'd0 : beat_reg + 6'd1;
            started_reg <= 1'b1;
            if (!started_reg && count_on) begin
                // It was left at the end of a word.
                rest_reg <= left_rest_reg;
                sent_reg <= left_sent_reg + {28'd0, !unwritten};
                any_reg <= 1'b1;
            end else if (!started_reg) begin
                rest_reg <= 3'd0 - first_lane;
                sent_reg <= {28'd0, first_lane == 3'd0};
                any_reg <= !unwritten;
            end else if (!unwritten) begin
                sent_reg <= sent_reg + 29'd1;
            end
        end
        if (dead_now) begin
            dead_reg <= 1'b1;
        end
        mute_reg <= lost && (mute_reg || !go || beat);
        // Kept at the end of any turn that is thrown away; used if its job goes on.
        if (done && side_drain && !side_urgent) begin
            left_any_reg <= any_reg || (side_resumed && left_any_reg);
            if (any_reg) begin
                left_sent_reg <= sent_reg;
                left_rest_reg <= rest_reg;
            end
        end
        if (done || (burst_end && last && !unwritten)) begin
            dead_reg <= 1'b0;
            any_reg <= 1'b0;
            started_reg <= 1'b0;
            turn_reg <= turn_reg + 1'b1;
        end
        if (rst) begin
            beat_reg <= 6'd0;
            dead_reg <= 1'b0;
            mute_reg <= 1'b0;
            any_reg <= 1'b0;
            started_reg <= 1'b0;
            turn_reg <= {LG_TURNS{1'b0}};
        end
    end

`ifdef FORMAL
    // AXI4 of this master: a beat that was offered stays as it is until it is taken, whatever happens to the job.
    reg past_valid = 1'b0;
    always @(posedge clk) begin
        past_valid <= 1'b1;
        // Memory is trusted again only when no job is left.
        if (past_valid && $past(lost) && !lost) begin
            assume (!have_burst);
        end
        if (past_valid && !rst && !$past(rst)) begin
            // A bad word is never written, nor any beat after it in the job.
            if ($past((local_wvalid || host_wvalid) && word_bad)) begin
                assert ($past(wstrb) == 0);
            end
            if ($past(dead_reg)) begin
                assert ($past(wstrb) == 0);
            end
            // Memory given up on is written no more, but for the beat that it was offered already.
            if ($past(lost) && lost && !$past(go && !beat)) begin
                assert (wstrb == 0);
            end
            // In a reset no turn is thrown away, or goes on without writing, whose slot is not told of or was before.
            if (resetting && (dead_now || (done && !dead_reg))) begin
                assert (record_valid || poison[record_slot]);
            end
            cover (resetting && record_valid && record_kind == `FERRY_FAULT_KIND_NONE);
            cover ($past(lost) && local_wvalid && !word_bad);
            cover ($past(dead_reg) && local_wvalid);
        end
    end
    valid_ready_properties #(.WIDTH(73)) local_w_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(local_wvalid), .ready(local_wready), .data({wdata, wstrb, wlast})
    );
    valid_ready_properties #(.WIDTH(73)) host_w_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(host_wvalid), .ready(host_wready), .data({wdata, wstrb, wlast})
    );
    // The data FIFO holds its word.
    valid_ready_properties #(.WIDTH(66), .ASSUME(1)) word_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(word_valid), .ready(word_take), .data({word, word_last, word_bad})
    );
    always @(*) assume (word_bad_last == (word_bad && word_last));
    always @(*) begin
        assume (past_valid || rst);
        if (past_valid && !rst) begin
            // Nothing is offered without a word to show.
            assert (!(local_wvalid || host_wvalid) || word_valid);
        end
    end
`endif
endmodule

`default_nettype wire
