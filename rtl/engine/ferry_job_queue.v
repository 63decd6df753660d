// SPDX-License-Identifier: Apache-2.0
// The jobs, from acceptance to retirement, in two memories: what the read side needs and what the write side needs.
// Each side has its own pointer; the job to be told of can be looked at through both (view_shown) for a fault record.
// That is the oldest one, unless memory was given up on: then jobs are told to be over while they still wait for it.
// What both sides must agree on about overlap is worked out once, as the job enters.
`include "ferry_contract.vh"
`default_nettype none

module ferry_job_queue #(
    // log2 of the number of jobs.
    parameter LG_JOBS = 4,
    // 1: a side of a COPY may be a page list.
    parameter LISTS = 1
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,
    // No job is accepted.
    input  wire hold,

    // Jobs in; see ferry_engine.
    input  wire        job_valid,
    output wire        job_ready,
    input  wire [2:0]  job_op,
    input  wire [1:0]  job_source_kind,
    input  wire [1:0]  job_destination_kind,
    input  wire [1:0]  job_list,
    input  wire        job_unordered,
    input  wire        job_protected,
    input  wire [1:0]  job_slot,
    input  wire [1:0]  job_pattern_log2,
    input  wire [15:0] job_packet_offset,
    input  wire [63:0] job_source,
    input  wire [63:0] job_destination,
    input  wire [31:0] job_length,
    input  wire [15:0] job_list_address,

    // Show the job to be told of to both views and offer none.
    input  wire        view_shown,
    // A job is retired.
    input  wire        retire,
    output wire [LG_JOBS-1:0] oldest_job,
    // Memory was given up on: the job shown is told to be over (tell), one behind the other, without being retired.
    input  wire        lost,
    input  wire        tell,
    // There is a job not yet told to be over; it is shown.
    output wire        shown_valid,
    // A job is in the queue.
    output wire        busy,

    // Next job of the read side. *_first: every earlier job is retired.
    output wire        read_valid,
    input  wire        read_take,
    output wire [LG_JOBS-1:0] read_job,
    output wire        read_first,
    output wire [2:0]  read_op,
    output wire [1:0]  read_kind,
    output wire        read_is_list,
    output wire        read_unordered,
    output wire        read_protected,
    output wire [1:0]  read_slot,
    output wire [1:0]  read_pattern_log2,
    // (destination - source) mod 8: where the realigner puts byte lane 0.
    output wire [2:0]  read_shift,
    output wire        read_descending,
    output wire [8:0]  read_chunk_end,
    // Above a list's offset: its place (read_list_base), of no meaning to the address.
    output wire [63:0] read_base,
    output wire        read_empty,
    output wire [31:0] read_last,
    output wire [15:0] read_list_base,

    // Next job of the write side; `last` is its length less one, `empty` a length of 0. write_buffered: bursts wait until
    // all of their data is there.
    output wire        write_valid,
    input  wire        write_take,
    output wire [LG_JOBS-1:0] write_job,
    output wire        write_first,
    output wire [2:0]  write_op,
    output wire [1:0]  write_kind,
    output wire        write_is_list,
    output wire        write_unordered,
    output wire        write_protected,
    output wire        write_buffered,
    output wire [1:0]  write_slot,
    output wire [15:0] write_packet_offset,
    output wire        write_descending,
    output wire [8:0]  write_chunk_end,
    output wire [63:0] write_base,
    output wire        write_empty,
    output wire [31:0] write_last,
    output wire [15:0] write_list_base
);
    localparam READ_BITS = 3 + 2 + 1 + 1 + 1 + 2 + 2 + 3 + 1 + 9 + 64 + 1 + 32;
    localparam WRITE_BITS = 3 + 2 + 1 + 1 + 1 + 1 + 2 + 16 + 1 + 64 + 1 + 32;

    reg [READ_BITS-1:0]  read_memory [0:(1 << LG_JOBS)-1];
    reg [WRITE_BITS-1:0] write_memory [0:(1 << LG_JOBS)-1];
    reg [LG_JOBS:0] in_reg;
    reg [LG_JOBS:0] read_reg;
    reg [LG_JOBS:0] write_reg;
    reg [LG_JOBS:0] oldest_reg;
    reg [LG_JOBS:0] shown_reg;

    wire [LG_JOBS:0] level = in_reg - oldest_reg;
    wire accept = job_valid && job_ready;

    assign job_ready = !level[LG_JOBS] && !hold;
    assign busy = in_reg != oldest_reg;
    assign shown_valid = in_reg != shown_reg;
    assign oldest_job = oldest_reg[LG_JOBS-1:0];

    // ---- As the job enters ----
    wire is_copy = job_op == `FERRY_JOB_OP_COPY;
    wire source_list = LISTS != 0 && is_copy && job_list == `FERRY_LIST_SIDE_SOURCE;
    wire destination_list = LISTS != 0 && is_copy && job_list == `FERRY_LIST_SIDE_DESTINATION;
    wire [63:0] distance = job_destination - job_source;
    // distance is a difference modulo 2^64, so "destination above the source" is part of the comparison.
    wire descending = is_copy && !source_list && !destination_list && job_source_kind == job_destination_kind
        && distance != 0 && distance[63:32] == 0 && distance[31:0] < job_length;
    // Both sides walk a job up to its last byte; a job of no bytes has none.
    wire [31:0] last = job_length - 32'd1;
    wire empty = job_length == 32'd0;
    // The read side goes down by the destination's blocks too; the write side knows them by itself.
    wire [8:0] chunk_end = job_destination[8:0] + last[8:0];
    // The side that is a list needs an offset instead of an address: the list's place rides above it.
    wire [63:0] source = source_list ? {job_list_address, 16'd0, job_source[31:0]} : job_source;
    wire [63:0] destination = destination_list ? {job_list_address, 16'd0, job_destination[31:0]} : job_destination;
    // READ has no destination: its bytes go to lane 0. FILL: its pattern starts at the destination's lane.
    wire [2:0] shift = (job_op == `FERRY_JOB_OP_READ ? 3'd0 : job_destination[2:0])
        - (job_op == `FERRY_JOB_OP_FILL ? 3'd0 : job_source[2:0]);
    // With the host involved, or chunks to be read before they are written, a burst waits for all of its data.
    wire buffered = descending || source_list || destination_list || job_source_kind != `FERRY_ADDRESS_KIND_LOCAL
        || job_destination_kind != `FERRY_ADDRESS_KIND_LOCAL;

    wire [READ_BITS-1:0] read_entry = {job_op, job_source_kind, source_list, job_unordered, job_protected, job_slot,
        job_pattern_log2, shift, descending, chunk_end, source, empty, last};
    wire [WRITE_BITS-1:0] write_entry = {job_op, job_destination_kind, destination_list, job_unordered, job_protected,
        buffered, job_slot, job_packet_offset, descending, destination, empty, last};

    always @(posedge clk) begin
        if (accept) begin
            read_memory[in_reg[LG_JOBS-1:0]] <= read_entry;
            write_memory[in_reg[LG_JOBS-1:0]] <= write_entry;
        end
        in_reg <= in_reg + {{LG_JOBS{1'b0}}, accept};
        read_reg <= read_reg + {{LG_JOBS{1'b0}}, read_take};
        write_reg <= write_reg + {{LG_JOBS{1'b0}}, write_take};
        oldest_reg <= oldest_reg + {{LG_JOBS{1'b0}}, retire};
        shown_reg <= shown_reg + {{LG_JOBS{1'b0}}, lost ? tell : retire};
        if (rst) begin
            shown_reg <= {(LG_JOBS + 1){1'b0}};
            in_reg <= {(LG_JOBS + 1){1'b0}};
            read_reg <= {(LG_JOBS + 1){1'b0}};
            write_reg <= {(LG_JOBS + 1){1'b0}};
            oldest_reg <= {(LG_JOBS + 1){1'b0}};
        end
    end

    // ---- Views ----
    wire [LG_JOBS-1:0] shown_job = shown_reg[LG_JOBS-1:0];
    assign read_valid = read_reg != in_reg && !view_shown;
    assign read_job = read_reg[LG_JOBS-1:0];
    assign read_first = read_reg == oldest_reg;
    assign {read_op, read_kind, read_is_list, read_unordered, read_protected, read_slot, read_pattern_log2, read_shift,
            read_descending, read_chunk_end, read_base, read_empty, read_last}
        = read_memory[view_shown ? shown_job : read_job];
    assign read_list_base = read_base[63:48];

    assign write_valid = write_reg != in_reg && !view_shown;
    assign write_job = write_reg[LG_JOBS-1:0];
    assign write_first = write_reg == oldest_reg;
    assign {write_op, write_kind, write_is_list, write_unordered, write_protected, write_buffered, write_slot,
            write_packet_offset, write_descending, write_base, write_empty, write_last}
        = write_memory[view_shown ? shown_job : write_job];
    assign write_list_base = write_base[63:48];
    assign write_chunk_end = write_base[8:0] + write_last[8:0];

`ifdef FORMAL
    // Each side starts a job after it was accepted and before it retires; memory is trusted again when no job is left.
    reg past_valid = 1'b0;
    reg past_lost = 1'b0;
    wire [LG_JOBS:0] read_ahead = read_reg - oldest_reg;
    wire [LG_JOBS:0] write_ahead = write_reg - oldest_reg;
    wire [LG_JOBS:0] shown_ahead = shown_reg - oldest_reg;
    always @(posedge clk) begin
        past_valid <= 1'b1;
        past_lost <= lost && !rst;
    end
    always @(*) begin
        assume (past_valid || rst);
        assume (!read_take || read_valid);
        assume (!write_take || write_valid);
        assume (!retire || (read_ahead != 0 && write_ahead != 0 && !(lost && shown_valid)));
        assume (!tell || (lost && shown_valid));
        assume (past_valid ? !(past_lost && !lost) || (!busy && !shown_valid) : !lost);
    end

    // One job, whichever, is followed by its place: both views show it as it entered.
    (* anyconst *) reg [LG_JOBS:0] place;
    wire [LG_JOBS:0] place_ahead = place - oldest_reg;
    reg held = 1'b0;
    reg [READ_BITS-1:0]  followed_read = 0;
    reg [WRITE_BITS-1:0] followed_write = 0;
    wire [READ_BITS-1:0] read_view = {read_op, read_kind, read_is_list, read_unordered, read_protected, read_slot,
        read_pattern_log2, read_shift, read_descending, read_chunk_end, read_base, read_empty, read_last};
    wire [WRITE_BITS-1:0] write_view = {write_op, write_kind, write_is_list, write_unordered, write_protected,
        write_buffered, write_slot, write_packet_offset, write_descending, write_base, write_empty, write_last};
    always @(posedge clk) begin
        if (accept && in_reg == place) begin
            held <= 1'b1;
            followed_read <= read_entry;
            followed_write <= write_entry;
        end
        if (retire && oldest_reg == place) begin
            held <= 1'b0;
        end
        if (rst) begin
            held <= 1'b0;
        end
        cover (past_valid && !rst && held && level[LG_JOBS] && read_ahead == 2 && write_ahead == 1);
        cover (past_valid && !rst && lost && tell && shown_ahead == 1);
    end
    always @(*) if (past_valid && !rst) begin
        assert (level <= (1 << LG_JOBS));
        assert (read_ahead <= level && write_ahead <= level && shown_ahead <= level);
        assert (lost || past_lost || shown_reg == oldest_reg);
        assert (held == (place_ahead < level));
        if (held) begin
            assert (read_memory[place[LG_JOBS-1:0]] == followed_read);
            assert (write_memory[place[LG_JOBS-1:0]] == followed_write);
            assert ((view_shown ? shown_reg : read_reg) != place || read_view == followed_read);
            assert ((view_shown ? shown_reg : write_reg) != place || write_view == followed_write);
        end
    end

    // What is worked out as a job enters. Ranges do not wrap around: the firmware refuses them.
    wire [64:0] source_end = {1'b0, job_source} + {33'd0, job_length};
    wire [64:0] destination_end = {1'b0, job_destination} + {33'd0, job_length};
    wire linear = job_list != `FERRY_LIST_SIDE_SOURCE && job_list != `FERRY_LIST_SIDE_DESTINATION;
    always @(*) if (past_valid && !rst && accept && is_copy) begin
        if (!source_end[64] && !destination_end[64]) begin
            assert (descending == (linear && job_source_kind == job_destination_kind && job_destination > job_source
                && {1'b0, job_destination} < source_end));
        end
        assert (empty || chunk_end + 9'd1 == destination_end[8:0]);
        assert (shift + job_source[2:0] == job_destination[2:0]);
    end
`endif
endmodule

`default_nettype wire
