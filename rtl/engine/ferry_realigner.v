// SPDX-License-Identifier: Apache-2.0
// Takes read data burst by burst in the order the bursts were asked for, and shifts it to the byte lanes of the
// destination. One entry of the data FIFO for each beat of the destination; room for it was reserved before the burst
// was asked for, so data is always taken. The last entry of every job carries `last`, also when the job has no data;
// entries of a job after an error are `bad`, and after the last of these nothing of the next job is pushed until the
// write side has thrown the bad ones away (resolved).
`include "ferry_contract.vh"
`default_nettype none

module ferry_realigner #(
    // log2 of the number of jobs.
    parameter LG_JOBS = 4
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
    input  wire [6:0]  burst_beats,
    // First and last burst of a segment, last of the job.
    input  wire        burst_first,
    input  wire        burst_segment_last,
    input  wire        burst_last,
    // The first beat alone does not fill a word; the last leaves bytes for one more word.
    input  wire        burst_prime,
    input  wire        burst_flush,
    input  wire [2:0]  burst_shift,
    // Pattern of the fill token, repeated to 8 bytes.
    input  wire [63:0] pattern,

    // Read data.
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
    // A beat of read data was taken.
    output wire        took_local,
    output wire        took_host,

    // The job at hand, and that it has gone bad.
    output wire [LG_JOBS-1:0] job,
    output wire        job_bad,
    // A fault that the address side met; taken over with the job's bad token.
    input  wire        address_fault_valid,
    input  wire [7:0]  address_fault_kind,
    input  wire [31:0] address_fault_position,
    output wire        address_fault_take,
    // First fault of the job, until resolved.
    output reg         fault_valid,
    output reg  [7:0]  fault_kind,
    output reg  [31:0] fault_position,
    input  wire        resolved
);
    localparam TYPE_BURST = 2'd0, TYPE_FILL = 2'd1, TYPE_BAD = 2'd3;

    reg [6:0]  beat_reg;
    reg        flush_reg;
    reg        bad_reg;
    reg        stall_reg;
    reg [63:0] saved_reg;
    reg [LG_JOBS-1:0] job_reg;

    wire is_burst = burst_type == TYPE_BURST;
    wire take = burst_valid && is_burst && !flush_reg && !stall_reg;
    wire token = burst_valid && !is_burst && !stall_reg;

    assign local_rready = take && !burst_host;
    assign host_rready = take && burst_host;
    assign took_local = local_rready && local_rvalid;
    assign took_host = host_rready && host_rvalid;
    wire took = took_local || took_host;
    wire error = burst_host ? host_rerror : local_rerror;

    wire first_beat = burst_first && beat_reg == 0;
    wire final_beat = beat_reg == burst_beats - 7'd1;
    wire segment_end = final_beat && burst_segment_last;
    // One word in, one word out: all bytes are in this one beat, wherever they go.
    wire single = first_beat && segment_end && burst_prime && burst_flush;
    wire hold = first_beat && burst_prime && !single;
    wire flush_next = segment_end && burst_flush && !single;

    // ---- Byte lanes ----
    wire [63:0] word = burst_type == TYPE_FILL ? pattern : burst_host ? host_rdata : local_rdata;
    wire [63:0] turned1 = burst_shift[0] ? {word[55:0], word[63:56]} : word;
    wire [63:0] turned2 = burst_shift[1] ? {turned1[47:0], turned1[63:48]} : turned1;
    wire [63:0] turned = burst_shift[2] ? {turned2[31:0], turned2[63:32]} : turned2;
    // Lanes below the shift come from the beat before, unless this beat is all there is.
    wire [7:0] from_saved = single || burst_type == TYPE_FILL ? 8'h00 : ~(8'hff << burst_shift);

    genvar lane;
    generate
        for (lane = 0; lane < 8; lane = lane + 1) begin : merge
            assign push_data[8*lane +: 8] = from_saved[lane]
                ? saved_reg[8*lane +: 8] : turned[8*lane +: 8];
        end
    endgenerate

    wire bad_now = bad_reg || (took && error) || (token && burst_type == TYPE_BAD);
    wire flushing = flush_reg && !stall_reg;

    assign push = (took && !hold) || flushing || token;
    assign push_last = token || (burst_last && (flush_reg || (final_beat && !flush_next)));
    assign push_bad = bad_now;
    assign burst_ready = (took && final_beat && !flush_next) || flushing || token;
    assign job = job_reg;
    assign job_bad = bad_reg;
    assign address_fault_take = token && burst_type == TYPE_BAD;

    always @(posedge clk) begin
        if (took) begin
            beat_reg <= final_beat ? 7'd0 : beat_reg + 7'd1;
            saved_reg <= turned;
            flush_reg <= flush_next;
            bad_reg <= bad_now;
        end
        if (flushing) begin
            flush_reg <= 1'b0;
        end
        if (!fault_valid && took && error) begin
            fault_valid <= 1'b1;
            fault_kind <= !burst_host ? `FERRY_FAULT_KIND_LOCAL_ERROR
                : host_rfault == `FERRY_FAULT_KIND_NONE ? `FERRY_FAULT_KIND_HOST_ABORT : host_rfault;
            // A burst lies in one block of 64 beats.
            fault_position <= {burst_position[31:9], burst_position[8:3] + beat_reg[5:0],
                beat_reg == 0 ? burst_position[2:0] : 3'd0};
        end
        if (!fault_valid && address_fault_take && address_fault_valid) begin
            fault_valid <= 1'b1;
            fault_kind <= address_fault_kind;
            fault_position <= address_fault_position;
        end
        if (push && push_last) begin
            bad_reg <= 1'b0;
            stall_reg <= bad_now;
            job_reg <= job_reg + 1'b1;
        end
        if (resolved) begin
            stall_reg <= 1'b0;
            fault_valid <= 1'b0;
        end
        if (rst) begin
            beat_reg <= 7'd0;
            flush_reg <= 1'b0;
            bad_reg <= 1'b0;
            stall_reg <= 1'b0;
            fault_valid <= 1'b0;
            job_reg <= {LG_JOBS{1'b0}};
        end
    end
endmodule

`default_nettype wire
