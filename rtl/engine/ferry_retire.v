// SPDX-License-Identifier: Apache-2.0
// Retirement in order of the turns, which is the order of the jobs of each class: collects write responses, steps the count
// of retired jobs in the cycle the last response of the oldest job arrives, and makes the fault record of a job that went
// wrong. A turn that leaves its job half done ends without a job being retired, but a fault in it is reported at its end.
// Responses are always taken from the bus. In a reset nothing is reported, but which jobs did not do all they had to is told (aborted_job).
//
// Also the watchdog. When nothing has moved for too long, memory is given up on (lost): each job that the engine holds is
// told to be over at once, one fault a slot, as if it had retired, and none is started. What the buses still owe is
// awaited and thrown away; when the last job has truly retired, and no read of a page table is out, memory is trusted again.
`include "ferry_contract.vh"
`default_nettype none

module ferry_retire #(
    // 1: there is host memory; there are urgent jobs.
    parameter [0:0] HOST = 1,
    parameter [0:0] URGENT = 1,
    // Bits of a turn's number.
    parameter LG_TURNS = 5,
    // log2 of the number of write bursts and markers outstanding.
    parameter LG_WRITES = 4
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // Bursts and markers in order; see ferry_write_side.
    input  wire        note_valid,
    output wire        note_ready,
    input  wire        note_marker,
    input  wire        note_last,
    input  wire        note_cut,
    input  wire        note_urgent,
    input  wire        note_host,
    input  wire [1:0]  note_slot,
    input  wire [31:0] note_position,
    // Writes are outstanding.
    output wire        busy,

    // Fault records of data and addresses; see ferry_write_data.
    input  wire        record_valid,
    input  wire [LG_TURNS-1:0] record_turn,
    input  wire [1:0]  record_slot,
    input  wire        record_write,
    input  wire [7:0]  record_kind,
    input  wire [31:0] record_position,
    input  wire        record_left,
    input  wire [31:0] record_place,

    // Write responses.
    input  wire        local_berror,
    input  wire        local_bvalid,
    output wire        local_bready,
    input  wire        host_berror,
    input  wire        host_bvalid,
    output wire        host_bready,

    // Jobs to be told of, not urgent and urgent; the one of these classes that the queue shows while view_shown is 1 (see
    // ferry_job_queue).
    input  wire        job_busy,
    input  wire        shown_normal,
    input  wire        shown_urgent,
    output wire        view_shown,
    output wire        view_urgent,
    output wire        retire,
    output wire        retire_urgent,
    output reg         lost,
    // A job is over, as the count of retired jobs says.
    output wire        over,
    input  wire        job_descending,
    input  wire [1:0]  job_slot,
    input  wire [15:0] job_packet_offset,

    // Watchdog: cycles, 0 = never; counted from where it is first set, and from where the count is held no longer.
    input  wire [31:0] timeout,
    input  wire        timeout_held,
    input  wire        progress,
    // Memory owes the page-table unit an answer: it is watched like a job, since who forgets waits for that.
    input  wire        tables_owed,
    // An engine reset goes on: nothing is reported, and memory is given up on even without a timeout.
    input  wire        resetting,
    // One-cycle pulse: the job that is shown was cut off by it, or went wrong and is not reported any more. Such jobs are told in
    // order, the first of a slot at least.
    output wire        aborted_job,
    // How far it came; see ABORTED_JOB.
    output wire        aborted_left,
    output wire [31:0] aborted_place,

    // See ferry_engine.
    output reg  [3:0]  poison,
    input  wire [3:0]  poison_clear,
    output reg         fault_valid,
    output wire [`FERRY_ENGINE_FAULT_BITS-1:0] fault,
    input  wire        fault_clear
);
    localparam NOTE_BITS = 5 + 2 + 32;
    localparam RECORD_BITS = LG_TURNS + 1 + 8 + 32 + 1 + 32;
    // Cycles without progress that end an engine reset when the host has set no timeout.
    localparam LG_RESET_TIMEOUT = 16;

    // ---- Notes ----
    wire        head_valid;
    wire        head_take;
    wire        marker;
    wire        last;
    wire        noted_cut, noted_urgent, noted_host;
    wire        cut = noted_cut && URGENT;
    wire        urgent = noted_urgent && URGENT;
    wire        host = noted_host && HOST;
    wire [1:0]  slot;
    wire [31:0] position;

    ferry_fifo #(.WIDTH(NOTE_BITS), .LG_DEPTH(LG_WRITES)) notes (
        .clk(clk), .rst(rst), .in_valid(note_valid), .in_ready(note_ready),
        .in_data({note_marker, note_last, note_cut, note_urgent, note_host, note_slot, note_position}),
        .out_valid(head_valid), .out_ready(head_take), .out_data({marker, last, noted_cut, noted_urgent, noted_host, slot, position})
    );

    // ---- Responses that cannot be used yet wait here; there are never more than notes, so there is always room ----
    wire [1:0]  kept;
    wire [1:0]  kept_error;
    wire [1:0]  take;
    wire [1:0]  arrive = {host_bvalid, local_bvalid};
    wire [1:0]  arrive_error = {host_berror, local_berror};
    wire [1:0]  keep_ready;

    genvar port;
    generate
        for (port = 0; port < 2; port = port + 1) begin : responses
            ferry_fifo #(.WIDTH(1), .LG_DEPTH(LG_WRITES)) waiting (
                .clk(clk), .rst(rst),
                .in_valid(arrive[port] && !(take[port] && !kept[port])), .in_ready(keep_ready[port]),
                .in_data(arrive_error[port]),
                .out_valid(kept[port]), .out_ready(take[port]), .out_data(kept_error[port])
            );
        end
    endgenerate
    assign local_bready = 1'b1;
    assign host_bready = 1'b1;

    wire there = host ? kept[1] || host_bvalid : kept[0] || local_bvalid;
    wire error = host ? (kept[1] ? kept_error[1] : host_berror) : (kept[0] ? kept_error[0] : local_berror);

    // ---- Records ----
    wire        have_record;
    wire [LG_TURNS-1:0] rec_turn;
    wire        rec_write;
    wire [7:0]  rec_kind;
    wire [31:0] rec_position;
    wire        rec_left;
    wire [31:0] rec_place;
    wire        rec_take;
    wire        rec_room;

    // A slot records one fault and is poisoned by it, so four places are enough. (Memory that is given up on in a reset may bring
    // more, which nobody looks at.)
    ferry_fifo #(.WIDTH(RECORD_BITS), .LG_DEPTH(2)) records (
        .clk(clk), .rst(rst), .in_valid(record_valid), .in_ready(rec_room),
        .in_data({record_turn, record_write, record_kind, record_position, record_left, record_place}),
        .out_valid(have_record), .out_ready(rec_take),
        .out_data({rec_turn, rec_write, rec_kind, rec_position, rec_left, rec_place})
    );
    wire unused = &{rec_room, keep_ready, 1'b0};

    reg [7:0]  fault_kind;
    reg [1:0]  fault_slot;
    reg        fault_write;
    reg [15:0] fault_packet_offset;
    reg [31:0] fault_position;
    reg [31:0] fault_written;
    reg        fault_up_to_position;
    assign fault[`FERRY_ENGINE_FAULT_KIND_RANGE] = fault_kind;
    assign fault[`FERRY_ENGINE_FAULT_SLOT_RANGE] = fault_slot;
    assign fault[`FERRY_ENGINE_FAULT_WRITE_RANGE] = fault_write;
    assign fault[`FERRY_ENGINE_FAULT_PACKET_OFFSET_RANGE] = fault_packet_offset;
    assign fault[`FERRY_ENGINE_FAULT_POSITION_RANGE] = fault_position;
    assign fault[`FERRY_ENGINE_FAULT_WRITTEN_RANGE] = fault_written;
    assign fault[`FERRY_ENGINE_FAULT_UP_TO_POSITION_RANGE] = fault_up_to_position;
    // What the page tables said of it: ferry_fault_entries.
    assign fault[`FERRY_ENGINE_FAULT_HEIGHT_RANGE] = 2'd0;
    assign fault[`FERRY_ENGINE_FAULT_ENTRY_RANGE] = 64'd0;

    // A job is shown, to be told of; its fields are there, which takes a cycle.
    reg        look_reg;
    reg        seen_reg;
    // A response error of the oldest job, its burst's kind and position.
    reg        bad_reg;
    reg        bad_host_reg;
    reg [31:0] bad_position_reg;
    // The oldest turn is complete but for its report; it leaves its job half done.
    reg        complete_reg;
    reg        cut_reg;
    // Class of the job that is shown.
    reg        urgent_reg;
    // Number of the oldest turn.
    reg [LG_TURNS-1:0] turn_reg;
    // Slots whose fault was reported.
    reg [3:0]  told_reg;
    // Cycles in which nothing moved, one behind the other.
    reg [31:0] still_reg;
    // Something moved in the cycle before: that is known late in a cycle.
    reg        progress_reg;

    wire shown_valid = shown_normal || shown_urgent;
    wire recorded = have_record && rec_turn == turn_reg;
    // Once memory was given up on, every job is told of before the first one truly retires and may be overwritten.
    assign head_take = head_valid && !look_reg && !(lost && shown_valid) && (marker || there);
    assign take = {head_take && !marker && host, head_take && !marker && !host};
    wire error_now = head_take && !marker && error;
    wire complete = head_take && last;
    wire faulted = (bad_reg || error_now || recorded) && !lost;

    // ---- Report ----
    wire        use_bad = bad_reg;
    wire        silent = resetting || (lost && told_reg[job_slot]);
    wire        report = seen_reg && !fault_valid && !silent;
    wire        leave = report || (seen_reg && silent);

    assign view_shown = look_reg;
    wire turn_over = (complete && !faulted) || (leave && complete_reg);
    assign view_urgent = urgent_reg;
    assign retire = (complete && !faulted && !cut) || (leave && complete_reg && !cut_reg);
    assign retire_urgent = view_shown ? urgent_reg : urgent;
    wire tell = leave && lost;
    assign aborted_job = leave && resetting;
    // Where memory did not do what it was told nobody knows.
    wire place_known = recorded && !bad_reg && !lost;
    assign aborted_left = place_known && rec_left;
    assign aborted_place = place_known ? rec_place : 32'd0;
    assign over = lost ? tell : retire;
    assign rec_take = turn_over && recorded;
    assign busy = head_valid;

    // What comes after memory was given up on belongs to nobody any more.
    wire [3:0] poison_record = record_valid && !lost ? 4'd1 << record_slot : 4'd0;
    wire [3:0] poison_error = error_now && !lost ? 4'd1 << slot : 4'd0;
    wire [3:0] poison_report = report ? 4'd1 << job_slot : 4'd0;

    // ---- Watchdog ----
    wire nothing_moves = (job_busy || tables_owed) && !look_reg && !lost && !progress_reg && !head_take
        && !timeout_held;
    wire late = nothing_moves && (timeout != 32'd0 ? still_reg >= timeout : resetting && still_reg[31:LG_RESET_TIMEOUT] != 0);

    always @(posedge clk) begin
        if (turn_over) begin
            turn_reg <= turn_reg + 1'b1;
        end
        told_reg <= (told_reg | poison_report) & ~poison_clear;
        poison <= (poison | poison_record | poison_error | poison_report) & ~poison_clear;

        progress_reg <= progress;
        still_reg <= nothing_moves && (timeout != 32'd0 || resetting) ? still_reg + 32'd1 : 32'd0;
        if (late) begin
            lost <= 1'b1;
        end else if (lost && !job_busy && !tables_owed && !shown_valid && !look_reg) begin
            lost <= 1'b0;
        end

        if (error_now && !bad_reg) begin
            bad_reg <= 1'b1;
            bad_host_reg <= host;
            bad_position_reg <= position;
        end

        seen_reg <= look_reg && !leave;
        if (leave) begin
            look_reg <= 1'b0;
        end else if (complete && faulted) begin
            look_reg <= 1'b1;
            complete_reg <= 1'b1;
            cut_reg <= cut;
            urgent_reg <= urgent;
        end else if (!look_reg && lost && shown_valid) begin
            look_reg <= 1'b1;
            urgent_reg <= !shown_normal && URGENT;
        end

        if (fault_clear) begin
            fault_valid <= 1'b0;
        end
        if (report) begin
            fault_valid <= 1'b1;
            fault_kind <= lost ? `FERRY_FAULT_KIND_WATCHDOG
                : use_bad ? (bad_host_reg ? `FERRY_FAULT_KIND_HOST_ABORT : `FERRY_FAULT_KIND_LOCAL_ERROR) : rec_kind;
            fault_slot <= job_slot;
            fault_write <= (use_bad || rec_write) && !lost;
            fault_packet_offset <= job_packet_offset;
            fault_position <= use_bad ? bad_position_reg : rec_position;
            // A burst was refused by memory: those before it have their answer. A descending job writes its end first.
            fault_up_to_position <= use_bad && !job_descending && !lost;
            fault_written <= lost || use_bad || rec_left ? 32'd0 : rec_place;
        end
        if (turn_over) begin
            complete_reg <= 1'b0;
            bad_reg <= 1'b0;
        end
        if (rst) begin
            turn_reg <= {LG_TURNS{1'b0}};
            poison <= 4'd0;
            look_reg <= 1'b0;
            seen_reg <= 1'b0;
            bad_reg <= 1'b0;
            complete_reg <= 1'b0;
            lost <= 1'b0;
            told_reg <= 4'd0;
            fault_valid <= 1'b0;
            still_reg <= 32'd0;
        end
    end

`ifdef FORMAL
    // The queue keeps the oldest job of a class to be shown until it is told of or retired.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    reg kept_normal = 1'b0;
    reg kept_urgent = 1'b0;
    reg kept_view = 1'b0;
    reg [1:0] kept_slot = 0;
    // A job's fields were asked for in the cycle before, and stand.
    reg asked = 1'b0;
    always @(posedge clk) begin
        kept_normal <= !rst && shown_normal && !((tell || retire) && !retire_urgent);
        kept_urgent <= !rst && shown_urgent && !((tell || retire) && retire_urgent);
        asked <= !rst && view_shown && !leave;
        kept_view <= !rst && seen_reg && !leave;
        kept_slot <= job_slot;
    end
    always @(*) begin
        assume (past_valid || rst);
        assume ((!kept_normal || shown_normal) && (!kept_urgent || shown_urgent));
        assume (!kept_view || job_slot == kept_slot);
    end

    // An error response of the job at hand was met.
    reg met = 1'b0;
    wire [91:0] fault_fields = {fault_kind, fault_slot, fault_write, fault_packet_offset, fault_position, fault_written,
        fault_up_to_position};
    always @(posedge clk) begin
        met <= !rst && !turn_over && (met || error_now);
        if (past_valid && !rst && !$past(rst)) begin
            // A fault stays as it is until it is taken.
            if ($past(fault_valid && !fault_clear)) begin
                assert (fault_valid && $stable(fault_fields));
            end
            // A slot that is freed is told of anew.
            assert ((told_reg & $past(poison_clear)) == 4'd0 && (poison & $past(poison_clear)) == 4'd0);
            cover ($past(turn_over && report) && $past(cut_reg) && turn_reg == 2);
            cover ($past(report && lost) && told_reg == 4'd2);
            cover ($past(retire && report && !lost) && bad_reg == 1'b0);
            cover ($past(lost) && !lost);
        end
    end
    always @(*) if (past_valid && !rst) begin
        // A job that went wrong does not retire unreported, unless it is told of as cut off by a reset or memory was given up on.
        assert (met == bad_reg);
        assert (!(turn_over && (met || error_now || recorded) && !lost) || report || aborted_job);
        assert (!(report && aborted_job));
        // A turn that leaves its job half done retires none; every other turn does.
        assert (retire == (turn_over && !(look_reg ? cut_reg : cut)));
        // No report writes over one that was not taken, nor tells a slot twice that memory was lost.
        assert (!report || !fault_valid);
        assert (!(report && lost && told_reg[job_slot]));
        // Memory lost: what is told is shown, and nothing retires before all is told.
        assert (!tell || shown_valid);
        assert (!(retire && lost && shown_valid));
        assert (!(lost && look_reg) || ((urgent_reg ? shown_urgent : shown_normal) && !complete_reg));
        assert (!(look_reg && !lost) || complete_reg);
        assert (!seen_reg || look_reg);
        assert (!seen_reg || asked);
        assert (!leave || asked);
        assert (!complete_reg || look_reg);
    end
`endif
endmodule

`default_nettype wire
