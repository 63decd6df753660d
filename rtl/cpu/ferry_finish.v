// SPDX-License-Identifier: Apache-2.0
// Ends buffers. The firmware says of a slot that its buffer has no more jobs to come; when the last one has retired, the
// fence record goes out and the slot is free (ferry_post), and the firmware hears nothing of it. Only of a buffer that
// went wrong it is asked for the status, before which it sends the fault record.
//
// Buffers of the paging ring end in order, and those of the user rings, but not the ones behind the others.
`default_nettype none
`include "ferry_contract.vh"

module ferry_finish (
    // Clock and synchronous reset.
    input  wire        clk,
    input  wire        rst,
    // The core runs. When it stops, what has not ended is forgotten, but for a record that is on its way.
    input  wire        run,

    // Every job of the slot's buffer is queued; refused: not all of its packets were carried out.
    input  wire        finish,
    input  wire [1:0]  finish_slot,
    input  wire        finish_refused,

    // Whose buffer each slot holds (WRITE_TAG, 8 bits a slot) and whether its entry asks for an interrupt.
    input  wire [31:0] slot_tags,
    input  wire [3:0]  slot_interrupts,
    // Jobs of user rings and of the paging ring: queued and retired, modulo 2^16. A rectangle is any number of jobs, so what
    // has retired is looked at all the time, also while the firmware is waited for.
    input  wire [15:0] user_queued,
    input  wire [15:0] user_retired,
    input  wire [15:0] paging_queued,
    input  wire [15:0] paging_retired,
    // An engine reset goes on, which retires jobs undone; slots in which a job faulted or was dropped, from the cycle after
    // the job has retired and the reset has ended.
    input  wire        resetting,
    input  wire [3:0]  marks,

    // All jobs of this slot's buffer are done and something is wrong with it: waits for the status.
    output wire        asks,
    output wire [1:0]  asks_slot,
    input  wire        status_valid,
    input  wire [7:0]  status,

    // A half of a slot's fence value, in the same cycle unless fact_wait.
    output wire        fact_valid,
    output wire [1:0]  fact_slot,
    output wire        fact_high,
    input  wire        fact_wait,
    // The slot's entry could not be read: the ring keeps its fence value.
    input  wire        fact_unread,
    input  wire [31:0] fact,

    // Reads of a ring's registers of BAR0: always taken; data a cycle later.
    output wire        file_read,
    output wire [2:0]  file_ring,
    output reg  [15:0] file_offset,
    input  wire [31:0] file_rdata,

    // Record poster. It is this module's while owns; not to be taken while a record is on its way or being written.
    input  wire        post_taken,
    output wire        owns,
    // A word of the record.
    output wire        data_write,
    output wire [3:0]  data_index,
    // What is read of the register file, one more where the entry's end counts; a word of the record, or one half of its
    // address.
    output wire [31:0] data,
    output wire        address_low,
    output wire        address_high,
    output wire        start,
    output wire        start_interrupt
);

    localparam [2:0] S_LOOK  = 3'd0;
    localparam [2:0] S_MARKS = 3'd1;
    localparam [2:0] S_ASK   = 3'd2;
    localparam [2:0] S_WAIT  = 3'd3;
    localparam [2:0] S_FENCE = 3'd4;
    localparam [2:0] S_FILE  = 3'd5;
    localparam [2:0] S_START = 3'd6;

    reg [2:0]  state_reg;
    // Half of the fence value, then the word of the register file that is asked for; the one before it is there.
    reg [2:0]  step_reg;
    reg [1:0]  slot_reg;
    reg [2:0]  ring_reg;
    reg [7:0]  status_reg;
    reg        unread_reg;

    // --- The buffers that are to end ------------------------------------------------------------------------------------

    // Whose turn it is to be looked at: the paging ring's oldest buffer or the user rings'.
    reg        paging_reg;
    reg [1:0]  order [0:7];
    reg [2:0]  user_in_reg;
    reg [2:0]  user_out_reg;
    reg [2:0]  paging_in_reg;
    reg [2:0]  paging_out_reg;
    reg [15:0] last_job [0:3];
    reg [3:0]  refused_reg;

    wire [3:0] finished = 4'd1 << finish_slot;
    wire [7:0] finish_tag = slot_tags[{finish_slot, 3'd0} +: 8];
    wire       finish_paging = finish_tag[`FERRY_WRITE_TAG_TAG_RING_RANGE] == 3'd0;

    wire [2:0] in = paging_reg ? paging_in_reg : user_in_reg;
    wire [2:0] out = paging_reg ? paging_out_reg : user_out_reg;
    wire [1:0] oldest = order[{paging_reg, out[1:0]}];
    // While no end is looked for, all slots are looked at in turn: which last job has retired is kept.
    reg [1:0]  turn_reg;
    reg [3:0]  reached_reg;
    reg [3:0]  of_paging_reg;
    wire       looks = state_reg == S_LOOK;
    wire [1:0] looked_at = looks ? oldest : turn_reg;
    wire       looked_paging = looks ? paging_reg : of_paging_reg[turn_reg];
    wire [15:0] ahead = (looked_paging ? paging_retired : user_retired) - last_job[looked_at];
    wire       done = in != out && (!ahead[15] || reached_reg[oldest]) && !resetting;

    always @(posedge clk) begin
        turn_reg <= turn_reg + 2'd1;
        if (rst) begin
            turn_reg <= 2'd0;
        end
        reached_reg <= (reached_reg | ({3'd0, !looks && !ahead[15]} << turn_reg)) & ~(finished & {4{finish}});
        if (finish) begin
            of_paging_reg[finish_slot] <= finish_paging;
            order[{finish_paging, finish_paging ? paging_in_reg[1:0] : user_in_reg[1:0]}] <= finish_slot;
            last_job[finish_slot] <= finish_paging ? paging_queued : user_queued;
            refused_reg <= (refused_reg & ~finished) | (finished & {4{finish_refused}});
        end
    end

    // --- The record -----------------------------------------------------------------------------------------------------

    wire [7:0] tag = slot_tags[{slot_reg, 3'd0} +: 8];
    wire       wrong = status_reg != `FERRY_BUFFER_STATUS_SUCCESS;

    assign asks = state_reg == S_ASK;
    assign asks_slot = slot_reg;
    assign fact_valid = state_reg == S_FENCE;
    assign fact_slot = slot_reg;
    assign fact_high = step_reg[0];
    assign file_read = state_reg == S_FILE && step_reg != last_step;
    assign file_ring = ring_reg;
    assign owns = state_reg == S_FENCE || state_reg == S_FILE || state_reg == S_START;
    assign address_low = state_reg == S_FILE && step_reg == 3'd4;
    assign address_high = state_reg == S_FILE && step_reg == 3'd5;
    assign data_write = (state_reg == S_FENCE && !fact_wait) || (state_reg == S_FILE && !address_low && !address_high);
    assign start = state_reg == S_START;
    assign start_interrupt = slot_interrupts[slot_reg];

    // The faulted entry is the one that ends.
    always @* begin
        case (step_reg)
        3'd0:    file_offset = `FERRY_BAR0_RING_RETIRED;
        3'd1:    file_offset = `FERRY_BAR0_RING_FAULTS;
        3'd2:    file_offset = wrong ? `FERRY_BAR0_RING_RETIRED : `FERRY_BAR0_RING_LAST_FAULTED;
        3'd3:    file_offset = `FERRY_BAR0_RING_FENCE_ADDRESS;
        3'd4:    file_offset = `FERRY_BAR0_RING_FENCE_ADDRESS + 16'd4;
        3'd5:    file_offset = `FERRY_BAR0_RING_FENCE_VALUE;
        default: file_offset = `FERRY_BAR0_RING_FENCE_VALUE + 16'd4;
        endcase
    end

    // RETIRED goes up with every entry, FAULTS with one that went wrong; the words of the record are 0 and 1, 5, 4, 6, 7. Of an
    // entry that could not be read 0 and 1 come once more: what the ring's fence value was before.
    wire [2:0]  last_step = unread_reg ? 3'd7 : 3'd5;
    wire        counts = step_reg == 3'd1 || (wrong && (step_reg == 3'd2 || step_reg == 3'd3));
    wire [31:0] counted = file_rdata + {31'd0, counts};
    assign data_index = state_reg == S_FENCE || step_reg[2] ? {3'd0, step_reg[0]} :
                        step_reg[1] ? {3'b011, step_reg[0]} : {3'b010, !step_reg[0]};

    wire [31:0] status_or_fence;
    ferry_choice #(.WIDTH(32)) not_counted (
        .second(state_reg == S_FENCE), .word0({24'd0, status_reg}), .word1(fact), .chosen(status_or_fence)
    );
    ferry_choice #(.WIDTH(32)) any (
        .second(state_reg == S_FILE && step_reg != 3'd0), .word0(status_or_fence), .word1(counted), .chosen(data)
    );

    always @(posedge clk) begin
        if (finish && finish_paging) begin
            paging_in_reg <= paging_in_reg + 3'd1;
        end
        if (finish && !finish_paging) begin
            user_in_reg <= user_in_reg + 3'd1;
        end
        case (state_reg)
        S_LOOK: begin
            slot_reg <= oldest;
            if (done) begin
                state_reg <= S_MARKS;
            end else begin
                paging_reg <= !paging_reg;
            end
        end
        S_MARKS: begin
            ring_reg <= tag[`FERRY_WRITE_TAG_TAG_RING_RANGE];
            status_reg <= `FERRY_BUFFER_STATUS_SUCCESS;
            state_reg <= marks[slot_reg] || refused_reg[slot_reg] ? S_ASK : S_WAIT;
        end
        S_ASK:
            if (status_valid) begin
                status_reg <= status;
                state_reg <= S_WAIT;
            end
        S_WAIT: begin
            step_reg <= 3'd0;
            if (!post_taken) begin
                state_reg <= S_FENCE;
            end
        end
        S_FENCE:
            if (!fact_wait) begin
                unread_reg <= fact_unread;
                step_reg <= step_reg[0] ? 3'd0 : 3'd1;
                state_reg <= step_reg[0] ? S_FILE : S_FENCE;
            end
        S_FILE: begin
            step_reg <= step_reg + 3'd1;
            if (step_reg == last_step) begin
                state_reg <= S_START;
            end
        end
        default: begin
            if (paging_reg) begin
                paging_out_reg <= paging_out_reg + 3'd1;
            end else begin
                user_out_reg <= user_out_reg + 3'd1;
            end
            paging_reg <= !paging_reg;
            state_reg <= S_LOOK;
        end
        endcase
        if (rst || !run) begin
            state_reg <= S_LOOK;
            paging_reg <= 1'b0;
            user_in_reg <= 3'd0;
            user_out_reg <= 3'd0;
            paging_in_reg <= 3'd0;
            paging_out_reg <= 3'd0;
        end
    end

`ifdef FORMAL
        // Which slots wait for their end, of which class, where in its order, and how many jobs they still wait for: counted here
        // one by one as they retire.
        reg        past_valid = 1'b0;
        reg        started = 1'b0;
        reg [3:0]  waits = 4'd0;
        reg [3:0]  of_paging;
        reg [15:0] place;
        reg [63:0] left;
        reg [15:0] user_past;
        reg [15:0] paging_past;
        wire       user_retires = started && user_retired != user_past;
        wire       paging_retires = started && paging_retired != paging_past;
        wire [3:0] ends = {3'd0, start} << slot_reg;
        wire [63:0] left_now;
        wire [15:0] user_open = user_queued - user_retired;
        wire [15:0] paging_open = paging_queued - paging_retired;

        always @(posedge clk) begin
            past_valid <= 1'b1;
            started <= past_valid;
            user_past <= user_retired;
            paging_past <= paging_retired;
            waits <= (waits & ~ends) | ({3'd0, finish} << finish_slot);
            if (rst || !run) begin
                waits <= 4'd0;
            end
            if (finish) begin
                of_paging[finish_slot] <= finish_paging;
                place[{finish_slot, 2'd0} +: 4] <= {1'b0, finish_paging ? paging_in_reg : user_in_reg};
            end
            if (!past_valid) begin
                assume (rst);
            end else begin
                // The firmware finishes a slot that it has claimed, once. Jobs are queued and retire one at a time, in order.
                assume (!finish || (run && !waits[finish_slot]));
                assume (user_open <= 16'd64 && paging_open <= 16'd64);
                assume (!run || user_queued - $past(user_queued) <= 16'd1);
                assume (!run || paging_queued - $past(paging_queued) <= 16'd1);
                assume (user_retired - $past(user_retired) <= 16'd1);
                assume (paging_retired - $past(paging_retired) <= 16'd1);

                // A buffer ends once for each time that it was finished, when its last job has retired.
                assert (!start || (waits[slot_reg] && left_now[{slot_reg, 4'd0} +: 16] == 16'd0));
                // Not before the buffers of its class that were finished before it.
                assert (!start || place[{slot_reg, 2'd0} +: 3] == (of_paging[slot_reg] ? paging_out_reg : user_out_reg));
                // Nothing is written or read for a record while the firmware is asked, and none leaves without its answer.
                assert (!asks || (!start && !data_write && !file_read && !fact_valid));
                if (!$past(rst) && $past(asks && run && !status_valid)) begin
                    assert (asks && asks_slot == $past(asks_slot));
                end
                if (!$past(rst) && $past(run) && $past(state_reg == S_MARKS && (marks[slot_reg] || refused_reg[slot_reg]))) begin
                    assert (asks);
                end
                cover (start && paging_reg && wrong);
                cover (start && !paging_reg && waits == 4'b0111);
                cover (asks && left[63:48] != 16'd0 && waits[3]);
            end
        end

        genvar i;
        generate
            for (i = 0; i < 4; i = i + 1) begin : g_slot
                wire [15:0] since = (of_paging[i] ? paging_queued : user_queued) - last_job[i];
                wire        retires = of_paging[i] ? paging_retires : user_retires;
                assign left_now[16*i +: 16] = left[16*i +: 16] - {15'd0, retires && left[16*i +: 16] != 16'd0};
                always @(posedge clk) begin
                    left[16*i +: 16] <= finish && finish_slot == i ? (finish_paging ? paging_open : user_open) : left_now[16*i +: 16];
                    if (past_valid && waits[i]) begin
                        // All slots together hold no more packets.
                        assume (since <= 16'd2048);
                    end
                end
            end
        endgenerate
`endif

    wire unused = &{1'b0, finish_tag, tag, ahead};

endmodule

`default_nettype wire
