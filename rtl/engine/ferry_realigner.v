// SPDX-License-Identifier: Apache-2.0
// Takes read data burst by burst in the order the bursts were asked for, and shifts it to the byte lanes of the
// destination. One entry of the data FIFO for each beat of the destination; room for those of a video memory burst was
// reserved before it was asked for, so its data is always taken; host data waits for room. The last entry of every job
// carries `last`, also when the job has no data. Entries of a job after an error are `bad` up to its last, and bear the
// fault instead of data; so is the one entry that ends a turn whose job makes way for urgent ones (`cut`). What comes behind
// bad entries is pushed as ever: ferry_data_fifo keeps it from the write side until they are thrown away.
`include "ferry_contract.vh"
`default_nettype none

module ferry_realigner #(
    // Bits of a turn's number.
    parameter LG_TURNS = 5,
    // 1: there is host memory.
    parameter [0:0] HOST = 1
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // The next burst, or a token of a job without data. Types: 0 burst, 1 fill pattern, 2 empty, 3 bad.
    input  wire        burst_valid,
    output wire        burst_ready,
    input  wire [1:0]  burst_type,
    input  wire        burst_host,
    input  wire [31:0] burst_position,
    // Its beats less one.
    input  wire [5:0]  burst_length,
    // First and last burst of a segment, last of the job.
    input  wire        burst_first,
    input  wire        burst_segment_last,
    input  wire        burst_last,
    // The first beat alone does not fill a word; the last leaves bytes for one more word.
    input  wire        burst_starts_short,
    input  wire        burst_flush,
    input  wire [2:0]  burst_shift,
    // The bad token is of the fault that the address side met; it ends a turn, not its job.
    input  wire        burst_fault,
    input  wire        burst_cut,
    // Pattern of the fill token, repeated to 8 bytes.
    input  wire [63:0] pattern,

    // The data FIFO has room for an entry that none was reserved for.
    input  wire        host_room,

    // Read data. What video memory gives is taken at once, but in the cycle between two bursts that a flush takes.
    input  wire [63:0] local_rdata,
    input  wire        local_rerror,
    input  wire        local_rvalid,
    output wire        local_rready,
    input  wire [63:0] host_rdata,
    input  wire        host_rerror,
    input  wire [7:0]  host_rfault,
    input  wire        host_rvalid,
    output wire        host_rready,

    // Entries of the data FIFO; never refused.
    output wire        push,
    output wire [63:0] push_data,
    output wire        push_last,
    output wire        push_bad,
    output wire        push_cut,
    // A beat of read data was taken.
    output wire        took_local,
    output wire        took_host,

    // The turn at hand, and that it has gone bad.
    output wire [LG_TURNS-1:0] turn,
    output wire        turn_bad,
    // The fault that the address side met; taken over with its bad token.
    input  wire [7:0]  address_fault_kind,
    input  wire [31:0] address_fault_position,
    output wire        address_fault_take
);
    localparam TYPE_BURST = 2'd0, TYPE_FILL = 2'd1, TYPE_BAD = 2'd3;

    reg [5:0]  beat_reg;
    reg        flush_reg;
    reg        bad_reg;
    // The turn's first fault.
    reg [7:0]  fault_kind_reg;
    reg [31:0] fault_position_reg;
    reg [63:0] saved_reg;
    reg [LG_TURNS-1:0] turn_reg;

    wire is_burst = burst_type == TYPE_BURST;
    wire may_push = !burst_host || host_room;
    wire take = burst_valid && is_burst && !flush_reg && may_push;
    wire token = burst_valid && !is_burst;

    assign local_rready = take && !burst_host;
    assign host_rready = take && burst_host;
    assign took_local = local_rready && local_rvalid;
    assign took_host = host_rready && host_rvalid;
    wire took = took_local || took_host;
    wire error = burst_host ? host_rerror : local_rerror;

    wire first_beat = burst_first && beat_reg == 0;
    wire final_beat = beat_reg == burst_length;
    wire segment_end = final_beat && burst_segment_last;
    // One word in, one word out: all bytes are in this one beat, wherever they go.
    wire single = first_beat && segment_end && burst_starts_short && burst_flush;
    wire hold = first_beat && burst_starts_short && !single;
    wire flush_next = segment_end && burst_flush && !single;

    // ---- Byte lanes ----
    // Stages of two inputs each: where the word is from, then turned by one, two and four lanes.
    wire [63:0] word_read, word, turned1, turned2, turned;

    generate
        if (HOST) begin : g_host
            ferry_choice from_port (.second(burst_host), .word0(local_rdata), .word1(host_rdata), .chosen(word_read));
        end else begin : g_local
            assign word_read = local_rdata;
            wire unused = &{1'b0, host_rdata};
        end
    endgenerate
    ferry_choice from_fill (.second(burst_type == TYPE_FILL), .word0(word_read), .word1(pattern), .chosen(word));
    ferry_choice turn1 (.second(burst_shift[0]), .word0(word), .word1({word[55:0], word[63:56]}), .chosen(turned1));
    ferry_choice turn2 (
        .second(burst_shift[1]), .word0(turned1), .word1({turned1[47:0], turned1[63:48]}), .chosen(turned2)
    );
    ferry_choice turn4 (
        .second(burst_shift[2]), .word0(turned2), .word1({turned2[31:0], turned2[63:32]}), .chosen(turned)
    );

    // Lanes below the shift come from the beat before, unless this beat is all there is.
    wire [7:0] from_saved = single || burst_type == TYPE_FILL ? 8'h00 : ~(8'hff << burst_shift);

    wire [63:0] merged;
    genvar lane;
    generate
        for (lane = 0; lane < 8; lane = lane + 1) begin : merge
            assign merged[8*lane +: 8] = from_saved[lane]
                ? saved_reg[8*lane +: 8] : turned[8*lane +: 8];
        end
    endgenerate

    // ---- Faults: a bad entry bears its turn's first in place of data, FAULT_KIND_NONE if it is bad without ----
    wire error_now = took && error;
    wire [7:0]  error_kind = !burst_host ? `FERRY_FAULT_KIND_LOCAL_ERROR
        : host_rfault == `FERRY_FAULT_KIND_NONE ? `FERRY_FAULT_KIND_HOST_ABORT : host_rfault;
    // A burst lies in one block of 64 beats.
    wire [31:0] error_position = {burst_position[31:9], burst_position[8:3] + beat_reg, beat_reg == 0 ? burst_position[2:0] : 3'd0};
    wire fault_met = fault_kind_reg != `FERRY_FAULT_KIND_NONE;
    wire [7:0]  fault_kind = fault_met ? fault_kind_reg : is_burst ? error_kind : burst_fault ? address_fault_kind : `FERRY_FAULT_KIND_NONE;
    wire [31:0] fault_position = fault_met ? fault_position_reg : is_burst ? error_position : address_fault_position;
    assign push_data = bad_now ? {merged[63:40], fault_kind, fault_position} : merged;

    wire bad_now = bad_reg || error_now || (token && burst_type == TYPE_BAD);
    wire flushing = flush_reg && may_push;

    assign push = (took && !hold) || flushing || token;
    assign push_last = token || (burst_last && (flush_reg || (final_beat && !flush_next)));
    assign push_bad = bad_now;
    assign push_cut = token && burst_cut;
    assign burst_ready = (took && final_beat && !flush_next) || flushing || token;
    assign turn = turn_reg;
    assign turn_bad = bad_reg;
    assign address_fault_take = token && burst_fault;

    always @(posedge clk) begin
        if (took) begin
            beat_reg <= final_beat ? 6'd0 : beat_reg + 6'd1;
            saved_reg <= turned;
            flush_reg <= flush_next;
            bad_reg <= bad_now;
        end
        if (flushing) begin
            flush_reg <= 1'b0;
        end
        if (error_now) begin
            fault_kind_reg <= fault_kind;
            fault_position_reg <= fault_position;
        end
        if (push && push_last) begin
            bad_reg <= 1'b0;
            fault_kind_reg <= `FERRY_FAULT_KIND_NONE;
            turn_reg <= turn_reg + 1'b1;
        end
        if (rst) begin
            beat_reg <= 6'd0;
            flush_reg <= 1'b0;
            bad_reg <= 1'b0;
            fault_kind_reg <= `FERRY_FAULT_KIND_NONE;
            turn_reg <= {LG_TURNS{1'b0}};
        end
    end

`ifdef FORMAL
`ifndef FORMAL_INSIDE
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) assume (past_valid || rst);

    // What the read side hands over: bursts of a segment one behind the other, with one shift; a job's last burst ends a
    // segment; bytes over the end of a word only where there is a shift. A burst waits until it is taken.
    wire [6:0] burst_beats = {1'b0, burst_length} + 7'd1;
    valid_ready_properties #(.WIDTH(2 + 1 + 32 + 6 + 5 + 3 + 2), .ASSUME(1)) burst_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(burst_valid), .ready(burst_ready),
        .data({burst_type, burst_host, burst_position, burst_length, burst_first, burst_segment_last, burst_last,
            burst_starts_short, burst_flush, burst_shift, burst_fault, burst_cut})
    );
    reg inside = 1'b0;
    reg [2:0] segment_shift = 0;
    always @(posedge clk) begin
        if (burst_ready) begin
            inside <= is_burst && !burst_segment_last;
            segment_shift <= burst_shift;
        end
        if (rst) begin
            inside <= 1'b0;
        end
    end
    always @(*) if (burst_valid && is_burst) begin
        assume (burst_first == !inside && (burst_first || burst_shift == segment_shift));
        assume (!burst_last || burst_segment_last);
        assume (burst_shift != 0 || (!burst_starts_short && !burst_flush));
        assume (!(burst_first && burst_segment_last && burst_beats == 1 && burst_starts_short) || burst_flush);
    end
    always @(*) assume (!(burst_valid && (burst_cut || burst_fault)) || burst_type == TYPE_BAD);
    // The words of the source as they came. A word of the destination is a window on two of them.
    reg [63:0] before = 0;
    reg [2:0]  before_shift = 0;
    always @(posedge clk) if (took) begin
        before <= word;
        before_shift <= burst_shift;
    end
    wire [127:0] both = single ? {word, word} : flush_reg ? {64'd0, before} : {word, before};
    wire [127:0] window = both >> (64 - 8 * burst_shift);
    wire [127:0] turned_before = {before, before} >> (64 - 8 * before_shift);
    // Which of its bytes count: none in front of a segment's first byte or behind its last, whose strobes are off.
    wire [7:0] above = 8'hff << burst_shift;
    wire [7:0] counts = flush_reg ? ~above : first_beat && !single ? above : 8'hff;
    wire [63:0] count_mask = {{8{counts[7]}}, {8{counts[6]}}, {8{counts[5]}}, {8{counts[4]}}, {8{counts[3]}},
        {8{counts[2]}}, {8{counts[1]}}, {8{counts[0]}}};

    // Pushes of the burst so far; as many in all as room was reserved for.
    reg [6:0] pushed = 0;
    wire [6:0] reserved = burst_beats - {6'd0, burst_first && burst_starts_short} + {6'd0, burst_segment_last && burst_flush};
    // The job has met an error, and which; its entries have gone bad.
    reg error_met = 1'b0;
    reg [39:0] met = 0;
    reg gone_bad = 1'b0;
    always @(posedge clk) begin
        pushed <= burst_ready || rst ? 7'd0 : pushed + {6'd0, push};
        error_met <= !rst && !(push && push_last) && (error_met || error_now);
        if (error_now && !error_met) begin
            met <= {error_kind, error_position};
        end
        gone_bad <= !rst && push ? push_bad && !push_last : !rst && gone_bad;
        cover (past_valid && !rst && push && is_burst && burst_shift == 3 && !first_beat && !bad_now && pushed == 2);
        cover (past_valid && !rst && flushing && push_last && burst_beats == 2);
        cover (past_valid && !rst && error_met && push && push_last);
    end
    always @(*) if (past_valid && !rst) begin
        if (push && is_burst && !push_bad) begin
            assert ((push_data & count_mask) == (window[63:0] & count_mask));
        end
        assert (!burst_ready || !is_burst || pushed + {6'd0, push} == reserved);
        assert (!push || push_last == (burst_ready && (!is_burst || burst_last)));
        assert (!(error_met || error_now) || !push || push_bad);
        // Behind a bad entry of a job no good one.
        assert (!(gone_bad && push && !push_bad));
        // A bad entry bears the job's first fault.
        if (push && push_bad) begin
            assert (push_data[39:0] == (error_met ? met : error_now ? {error_kind, error_position}
                : burst_fault ? {address_fault_kind, address_fault_position} : {8'd0, address_fault_position}));
        end
        // Video memory's data is taken in any cycle but that of a flush, which is over with it; tokens are, at once.
        assert (!burst_valid || burst_host || !is_burst || (flush_reg ? burst_ready : local_rready));
        assert (!burst_valid || is_burst || burst_ready);
        assert (!push_cut || (push && push_last && push_bad));
        assert (!push || burst_valid);
        // For induction.
        assert (saved_reg == turned_before[63:0] || (!inside && beat_reg == 0 && !flush_reg));
        assert (!(inside || beat_reg != 0 || flush_reg) || before_shift == (inside ? segment_shift : burst_shift));
        assert (!error_met || (bad_reg && fault_met && met == {fault_kind_reg, fault_position_reg}));
        assert (bad_reg || !fault_met);
        assert (error_met || !bad_reg);
        assert (gone_bad == (gone_bad && bad_reg));
        if (flush_reg) begin
            assert (burst_valid && is_burst && burst_segment_last && burst_flush && beat_reg == 0);
            assert (pushed == burst_beats - {6'd0, burst_first && burst_starts_short});
            assert (!burst_first || !burst_starts_short || burst_beats != 1);
        end else if (beat_reg != 0) begin
            assert (burst_valid && is_burst && beat_reg < burst_beats);
            assert (pushed == beat_reg - {6'd0, burst_first && burst_starts_short});
        end else begin
            assert (pushed == 0);
        end
    end
`endif
`endif
endmodule

`default_nettype wire
