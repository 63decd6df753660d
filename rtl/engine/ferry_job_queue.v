// SPDX-License-Identifier: Apache-2.0
// The jobs, from acceptance to retirement, in two memories: what the read side needs and what the write side needs.
// Jobs are of two classes, urgent or not, each with places and pointers of its own (ferry_job_pointers). The read side is
// offered urgent jobs first and makes the order: what it takes is a *turn*, and the write side is offered the same turns
// one behind the other. A job that makes way for urgent ones is put back by both sides and gets a further turn later.
// The job to be told of can be looked at through both memories (view_shown) for a fault record: the oldest of its class,
// unless memory was given up on: then jobs are told to be over while they still wait for it.
// What both sides must agree on about overlap is worked out once, as the job enters.
`include "ferry_contract.vh"
`default_nettype none

module ferry_job_queue #(
    // log2 of the number of jobs that are not urgent, and of those that are; not more of these.
    parameter LG_JOBS = 4,
    parameter LG_URGENT = 4,
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
    input  wire        job_urgent,
    input  wire [1:0]  job_slot,
    input  wire [1:0]  job_pattern_log2,
    input  wire [15:0] job_packet_offset,
    input  wire [63:0] job_source,
    input  wire [63:0] job_destination,
    input  wire [31:0] job_length,
    input  wire [15:0] job_list_address,

    // Show a job to be told of, of this class, to both views and offer none.
    input  wire        view_shown,
    input  wire        view_urgent,
    // The oldest job of a class is retired.
    input  wire        retire,
    input  wire        retire_urgent,
    // Memory was given up on: the job shown is told to be over (tell), one behind the other, without being retired.
    input  wire        lost,
    input  wire        tell,
    // There is a job not yet told to be over: one that is not urgent, one that is.
    output wire        shown_normal,
    output wire        shown_urgent,
    // A job is in the queue; an urgent one waits for the read side.
    output wire        busy,
    output wire        urgent_waits,

    // Next job of the read side. *_first: every earlier job of its class is retired. Back: the job that is not urgent and
    // was taken last is put back.
    output wire        read_valid,
    input  wire        read_take,
    input  wire        read_back,
    output wire        read_urgent,
    output wire        read_first,
    output wire [2:0]  read_op,
    output wire [1:0]  read_kind,
    output wire        read_is_list,
    output wire        read_unordered,
    output wire        read_protected,
    output wire        read_buffered,
    output wire [1:0]  read_slot,
    output wire [1:0]  read_pattern_log2,
    // (destination - source) mod 512. Its lower 3 bits: where the realigner puts byte lane 0.
    output wire [8:0]  read_shift,
    output wire        read_descending,
    output wire [8:0]  read_chunk_end,
    // Above a list's offset: its place (read_list_base), of no meaning to the address.
    output wire [63:0] read_base,
    output wire        read_empty,
    output wire [31:0] read_last,
    output wire [15:0] read_list_base,

    // Next turn of the write side; `last` is its length less one, `empty` a length of 0. write_buffered: bursts wait until
    // all of their data is there.
    output wire        write_valid,
    input  wire        write_take,
    input  wire        write_back,
    output wire        write_urgent,
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
    localparam READ_BITS = 3 + 2 + 1 + 1 + 1 + 1 + 2 + 2 + 9 + 1 + 9 + 64 + 1 + 32;
    localparam WRITE_BITS = 3 + 2 + 1 + 1 + 1 + 1 + 2 + 16 + 1 + 64 + 1 + 32;

    localparam PLACES = (1 << LG_JOBS) + (1 << LG_URGENT);

    // Urgent jobs have the places behind all others.
    reg [READ_BITS-1:0]  read_memory [0:PLACES-1];
    reg [WRITE_BITS-1:0] write_memory [0:PLACES-1];

    wire [LG_JOBS-1:0]   normal_in, normal_read, normal_write, normal_shown;
    wire [LG_URGENT-1:0] urgent_in, urgent_read, urgent_write, urgent_shown;
    wire normal_room, normal_busy, normal_read_waits, normal_read_first, normal_write_first;
    wire urgent_room, urgent_busy, urgent_read_waits, urgent_read_first, urgent_write_first;
    wire turn_room, turn_valid;
    wire accept = job_valid && job_ready;

`ifdef FORMAL
    wire [LG_JOBS:0]   normal_oldest, normal_in_reg, normal_read_reg, normal_write_reg, normal_shown_reg;
    wire [LG_URGENT:0] urgent_oldest, urgent_in_reg, urgent_read_reg, urgent_write_reg, urgent_shown_reg;
`endif
    ferry_job_pointers #(.LG_JOBS(LG_JOBS)) normal (
        .clk(clk), .rst(rst), .accept(accept && !job_urgent),
        .read_take(read_take && !read_urgent), .read_back(read_back),
        .write_take(write_take && !write_urgent), .write_back(write_back),
        .retire(retire && !retire_urgent), .lost(lost), .tell(tell && !view_urgent),
        .in_job(normal_in), .read_job(normal_read), .write_job(normal_write), .shown_job(normal_shown),
        .room(normal_room), .busy(normal_busy), .read_waits(normal_read_waits),
        .shown_waits(shown_normal), .read_first(normal_read_first), .write_first(normal_write_first)
`ifdef FORMAL
        , .formal_in(normal_in_reg), .formal_oldest(normal_oldest), .formal_read(normal_read_reg),
        .formal_write(normal_write_reg), .formal_shown(normal_shown_reg)
`endif
    );

    ferry_job_pointers #(.LG_JOBS(LG_URGENT)) urgent (
        .clk(clk), .rst(rst), .accept(accept && job_urgent),
        .read_take(read_take && read_urgent), .read_back(1'b0),
        .write_take(write_take && write_urgent), .write_back(1'b0),
        .retire(retire && retire_urgent), .lost(lost), .tell(tell && view_urgent),
        .in_job(urgent_in), .read_job(urgent_read), .write_job(urgent_write), .shown_job(urgent_shown),
        .room(urgent_room), .busy(urgent_busy), .read_waits(urgent_read_waits),
        .shown_waits(shown_urgent), .read_first(urgent_read_first), .write_first(urgent_write_first)
`ifdef FORMAL
        , .formal_in(urgent_in_reg), .formal_oldest(urgent_oldest), .formal_read(urgent_read_reg),
        .formal_write(urgent_write_reg), .formal_shown(urgent_shown_reg)
`endif
    );

    // The turns that the read side took and the write side did not: the class says which job it is.
    ferry_fifo #(.WIDTH(1), .LG_DEPTH(LG_JOBS)) turns (
        .clk(clk), .rst(rst), .in_valid(read_take), .in_ready(turn_room), .in_data(read_urgent),
        .out_valid(turn_valid), .out_ready(write_take), .out_data(write_urgent)
    );

    assign job_ready = (job_urgent ? urgent_room : normal_room) && !hold;
    assign busy = normal_busy || urgent_busy;
    assign urgent_waits = urgent_read_waits;

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
    wire [8:0] shift = (job_op == `FERRY_JOB_OP_READ ? 9'd0 : job_destination[8:0])
        - (job_op == `FERRY_JOB_OP_FILL ? 9'd0 : job_source[8:0]);
    // With the host involved, or chunks to be read before they are written, a burst waits for all of its data.
    wire buffered = descending || source_list || destination_list || job_source_kind != `FERRY_ADDRESS_KIND_LOCAL
        || job_destination_kind != `FERRY_ADDRESS_KIND_LOCAL;

    wire [READ_BITS-1:0] read_entry = {job_op, job_source_kind, source_list, job_unordered, job_protected, buffered, job_slot,
        job_pattern_log2, shift, descending, chunk_end, source, empty, last};
    wire [WRITE_BITS-1:0] write_entry = {job_op, job_destination_kind, destination_list, job_unordered, job_protected,
        buffered, job_slot, job_packet_offset, descending, destination, empty, last};

    // Places in the memories: for the job that enters, and what either side looks at.
    wire read_look = view_shown ? view_urgent : read_urgent;
    wire write_look = view_shown ? view_urgent : write_urgent;
    wire [LG_JOBS-1:0]   normal_read_look = view_shown ? normal_shown : normal_read;
    wire [LG_JOBS-1:0]   normal_write_look = view_shown ? normal_shown : normal_write;
    wire [LG_URGENT-1:0] urgent_read_look = view_shown ? urgent_shown : urgent_read;
    wire [LG_URGENT-1:0] urgent_write_look = view_shown ? urgent_shown : urgent_write;
    localparam [LG_JOBS:0] FIRST_URGENT = {1'b1, {LG_JOBS{1'b0}}};
    wire [LG_JOBS:0] in_place = job_urgent
        ? FIRST_URGENT + {{(LG_JOBS + 1 - LG_URGENT){1'b0}}, urgent_in} : {1'b0, normal_in};
    wire [LG_JOBS:0] read_place = read_look
        ? FIRST_URGENT + {{(LG_JOBS + 1 - LG_URGENT){1'b0}}, urgent_read_look} : {1'b0, normal_read_look};
    wire [LG_JOBS:0] write_place = write_look
        ? FIRST_URGENT + {{(LG_JOBS + 1 - LG_URGENT){1'b0}}, urgent_write_look} : {1'b0, normal_write_look};

    always @(posedge clk) begin
        if (accept) begin
            read_memory[in_place] <= read_entry;
            write_memory[in_place] <= write_entry;
        end
    end

    // ---- Views ----
    assign read_urgent = urgent_read_waits;
    assign read_valid = (urgent_read_waits || normal_read_waits) && turn_room && !view_shown;
    assign read_first = read_urgent ? urgent_read_first : normal_read_first;
    assign {read_op, read_kind, read_is_list, read_unordered, read_protected, read_buffered, read_slot,
            read_pattern_log2, read_shift,
            read_descending, read_chunk_end, read_base, read_empty, read_last} = read_memory[read_place];
    assign read_list_base = read_base[63:48];

    assign write_valid = turn_valid && !view_shown;
    assign write_first = write_urgent ? urgent_write_first : normal_write_first;
    assign {write_op, write_kind, write_is_list, write_unordered, write_protected, write_buffered, write_slot,
            write_packet_offset, write_descending, write_base, write_empty, write_last} = write_memory[write_place];
    assign write_list_base = write_base[63:48];
    assign write_chunk_end = write_base[8:0] + write_last[8:0];

`ifdef FORMAL
    // Each side starts a job after it was accepted and before it retires; memory is trusted again when no job is left.
    reg past_valid = 1'b0;
    reg past_lost = 1'b0;
    wire [LG_JOBS:0] level = normal_in_reg - normal_oldest;
    wire [LG_JOBS:0] read_ahead = normal_read_reg - normal_oldest;
    wire [LG_JOBS:0] write_ahead = normal_write_reg - normal_oldest;
    wire [LG_JOBS:0] shown_ahead = normal_shown_reg - normal_oldest;
    wire [LG_URGENT:0] urgent_level = urgent_in_reg - urgent_oldest;
    wire [LG_URGENT:0] urgent_read_ahead = urgent_read_reg - urgent_oldest;
    wire [LG_URGENT:0] urgent_write_ahead = urgent_write_reg - urgent_oldest;
    wire [LG_URGENT:0] urgent_shown_ahead = urgent_shown_reg - urgent_oldest;
    always @(posedge clk) begin
        past_valid <= 1'b1;
        past_lost <= lost && !rst;
    end
    always @(*) begin
        assume (past_valid || rst);
        assume (!read_take || read_valid);
        // A turn is one of a job that is there. (Each turn of the read side's becomes one of the write side's.)
        assume (!write_take || (write_valid && (write_urgent ? urgent_write_ahead != urgent_level : write_ahead != level)));
        assume (!read_back || (read_ahead != 0 && !(read_take && !read_urgent)));
        assume (!write_back || (write_ahead != 0 && !(write_take && !write_urgent)));
        assume (!retire || (retire_urgent ? urgent_read_ahead != 0 && urgent_write_ahead != 0
            : read_ahead != 0 && write_ahead != 0 && !write_back && !read_back));
        assume (!retire || !(lost && (shown_normal || shown_urgent)));
        assume (!tell || (lost && (view_urgent ? shown_urgent : shown_normal)));
        assume (past_valid ? !(past_lost && !lost) || (!busy && !shown_normal && !shown_urgent) : !lost);
    end

    // One job, whichever, is followed by its place: both views show it as it entered.
    (* anyconst *) reg place_urgent;
    (* anyconst *) reg [LG_JOBS:0] place;
    wire [LG_JOBS:0] place_ahead = place - normal_oldest;
    wire [LG_URGENT:0] urgent_place_ahead = place[LG_URGENT:0] - urgent_oldest;
    wire [LG_JOBS:0] memory_place = place_urgent ? FIRST_URGENT + place[LG_URGENT-1:0] : {1'b0, place[LG_JOBS-1:0]};
    reg held = 1'b0;
    reg [READ_BITS-1:0]  followed_read = 0;
    reg [WRITE_BITS-1:0] followed_write = 0;
    wire [READ_BITS-1:0] read_view = {read_op, read_kind, read_is_list, read_unordered, read_protected, read_buffered, read_slot,
        read_pattern_log2, read_shift, read_descending, read_chunk_end, read_base, read_empty, read_last};
    wire [WRITE_BITS-1:0] write_view = {write_op, write_kind, write_is_list, write_unordered, write_protected,
        write_buffered, write_slot, write_packet_offset, write_descending, write_base, write_empty, write_last};
    wire is_in = place_urgent ? urgent_in_reg == place[LG_URGENT:0] : normal_in_reg == place;
    wire is_oldest = place_urgent ? urgent_oldest == place[LG_URGENT:0] : normal_oldest == place;
    wire is_shown = place_urgent ? urgent_shown_reg == place[LG_URGENT:0] : normal_shown_reg == place;
    wire is_read = place_urgent ? urgent_read_reg == place[LG_URGENT:0] : normal_read_reg == place;
    wire is_write = place_urgent ? urgent_write_reg == place[LG_URGENT:0] : normal_write_reg == place;
    always @(posedge clk) begin
        if (accept && job_urgent == place_urgent && is_in) begin
            held <= 1'b1;
            followed_read <= read_entry;
            followed_write <= write_entry;
        end
        if (retire && retire_urgent == place_urgent && is_oldest) begin
            held <= 1'b0;
        end
        if (rst) begin
            held <= 1'b0;
        end
        cover (past_valid && !rst && held && level[LG_JOBS] && read_ahead == 2 && write_ahead == 1);
        cover (past_valid && !rst && lost && tell && shown_ahead == 1);
        cover (past_valid && !rst && held && place_urgent && read_back && write_urgent && urgent_read_ahead == 1);
    end
    always @(*) if (past_valid && !rst) begin
        assert (level <= (1 << LG_JOBS) && urgent_level <= (1 << LG_URGENT));
        assert (read_ahead <= level && write_ahead <= level && shown_ahead <= level);
        assert (urgent_read_ahead <= urgent_level && urgent_write_ahead <= urgent_level);
        assert (urgent_shown_ahead <= urgent_level);
        assert (lost || past_lost || (normal_shown_reg == normal_oldest && urgent_shown_reg == urgent_oldest));
        assert (held == (place_urgent ? urgent_place_ahead < urgent_level : place_ahead < level));
        if (held) begin
            assert (read_memory[memory_place] == followed_read);
            assert (write_memory[memory_place] == followed_write);
            assert (read_look != place_urgent || (view_shown ? !is_shown : !is_read) || read_view == followed_read);
            assert (write_look != place_urgent || (view_shown ? !is_shown : !is_write) || write_view == followed_write);
        end
        // An urgent job that waits is what the read side is offered.
        assert (!(urgent_waits && read_valid) || read_urgent);
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
        assert (shift + job_source[8:0] == job_destination[8:0]);
    end
`endif
endmodule

`default_nettype wire
