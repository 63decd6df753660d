// SPDX-License-Identifier: Apache-2.0
// The jobs, from acceptance to retirement. Jobs are of two classes, urgent or not, each with places and pointers of its own
// (ferry_job_pointers). The read side is offered urgent jobs first and makes the order: what it takes is a *turn*, and the
// write side is offered the same turns one behind the other. A job that makes way for urgent ones is put back by the read
// side and gets a further turn later.
//
//   waiting  the whole job, until the read side has taken it (and the one that it took last, which may come back)
//   turns    what the write side needs of a job, from the read side's taking it to the write side's
//   names    what a fault says of a job, until it is retired
//
// What both sides must agree on about overlap is worked out once, as the job enters.
`include "ferry_contract.vh"
`default_nettype none

module ferry_job_queue #(
    // log2 of the number of jobs that are not urgent, and of those that are; not more of these.
    parameter LG_JOBS = 4,
    parameter LG_URGENT = 4,
    // log2 of the turns between the sides.
    parameter LG_TURNS = 4,
    // 1: a side of a COPY may be a page list.
    parameter LISTS = 1,
    // 1: there is a page-table unit: a side may be virtual, and FORGET is a job.
    parameter TABLES = 1,
    // 1: a job may name host memory; 0: every address is taken for one of video memory, whatever its kind.
    parameter [0:0] HOST = 1,
    // 1: there are urgent jobs; 0: every job is taken for one that is not.
    parameter [0:0] URGENT = 1,
    // 1: video memory reads nothing while it waits for a write's data; see ferry_engine.
    parameter [0:0] ONE_PORT = 0
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,
    // No job is accepted.
    input  wire hold,

    // Jobs in; see ferry_engine.
    input  wire        job_valid,
    output wire        job_ready,
    input  wire [`FERRY_JOB_BITS-1:0] job,

    // The oldest job of this class, a cycle later; while memory is given up on, the next to be told of.
    input  wire        view_urgent,
    output wire [1:0]  view_slot,
    output wire [15:0] view_packet_offset,
    output wire        view_descending,
    // The oldest job of a class is retired. It is over, as those who count jobs are told: the same, but while memory is given up
    // on; then the job shown is over, one behind the other, and retired later. How many were over of either class.
    input  wire        retire,
    input  wire        retire_urgent,
    input  wire        over,
    output wire [15:0] jobs_retired,
    output wire [15:0] jobs_retired_urgent,
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
    // A side's pages are looked up in page tables.
    output wire        read_translated,
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
    output wire [3:0]  read_space,
    // Its first page of either side, 0 the one that it reads, as the page-table unit is asked for it; if it begins there.
    output wire [1:0]  read_first_page_valid,
    output wire [2*`FERRY_LOOKUP_BITS-1:0] read_first_page,

    // Next turn of the write side; `last` is its length less one; a job that writes nothing shows as a READ, but FORGET. write_buffered:
    // bursts wait until all of their data is there, or sure to come (ferry_write_side). Back: the job, taken last of those that are
    // not urgent, comes again.
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
    output wire        write_descending,
    output wire [8:0]  write_chunk_end,
    output wire [63:0] write_base,
    output wire [31:0] write_last,
    output wire [15:0] write_list_base,
    output wire [3:0]  write_space
);
    wire [2:0]  job_op = job[`FERRY_JOB_OP_RANGE];
    wire [1:0]  job_source_kind = job[`FERRY_JOB_SOURCE_KIND_RANGE];
    wire [1:0]  job_destination_kind = job[`FERRY_JOB_DESTINATION_KIND_RANGE];
    wire [1:0]  job_list = job[`FERRY_JOB_LIST_RANGE];
    wire        job_unordered = job[`FERRY_JOB_UNORDERED_RANGE];
    wire        job_protected = job[`FERRY_JOB_PROTECTED_RANGE];
    wire        job_urgent = job[`FERRY_JOB_URGENT_RANGE] && URGENT;
    wire [1:0]  job_slot = job[`FERRY_JOB_SLOT_RANGE];
    wire [1:0]  job_pattern_log2 = job[`FERRY_JOB_PATTERN_LOG2_RANGE];
    wire [15:0] job_packet_offset = job[`FERRY_JOB_PACKET_OFFSET_RANGE];
    wire [63:0] job_source = job[`FERRY_JOB_SOURCE_RANGE];
    wire [63:0] job_destination = job[`FERRY_JOB_DESTINATION_RANGE];
    wire [31:0] job_length = job[`FERRY_JOB_LENGTH_RANGE];
    wire [15:0] job_list_address = job[`FERRY_JOB_LIST_ADDRESS_RANGE];
    wire [3:0]  job_space = job[`FERRY_JOB_SPACE_RANGE];

    localparam JOB_BITS = 3 + 2 + 2 + 1 + 1 + 1 + 1 + 2 + 2 + 1 + 64 + 64 + 1 + 32 + 4;
    localparam TURN_BITS = 1 + 1 + 1 + 1 + 1 + 2 + 1 + 1 + 1 + 2 + 1 + 64 + 32 + 4;
    localparam NAME_BITS = 1 + 2 + 13;

    // Of either class eight jobs at most wait for the read side: while they do, more are of no use. (No more than there are.)
    localparam LG_WAITING = LG_JOBS < 3 ? LG_JOBS : 3;
    localparam LG_URGENT_WAITING = LG_URGENT < 3 ? LG_URGENT : 3;

    // Urgent jobs wait in the upper half of the places.
    reg [JOB_BITS-1:0]  waiting [0:(2 << LG_WAITING)-1];
    reg [NAME_BITS-1:0] names [0:(1 << LG_JOBS)-1];
    reg [NAME_BITS-1:0] urgent_names [0:(1 << LG_URGENT)-1];

    wire [LG_JOBS-1:0]   normal_in, normal_shown;
    wire [LG_URGENT-1:0] urgent_in, urgent_shown;
    wire [LG_WAITING-1:0] normal_in_waiting, normal_next;
    wire [LG_URGENT_WAITING-1:0] urgent_in_waiting, urgent_next;
    wire normal_room, normal_busy, normal_waits_next, normal_read_first, normal_write_first;
    wire urgent_room, urgent_busy, urgent_waits_next, urgent_read_first, urgent_write_first;
    wire turn_room;
    wire accept = job_valid && job_ready;

`ifdef FORMAL
    wire [LG_JOBS:0]   normal_oldest, normal_in_reg, normal_read_reg, normal_write_reg, normal_shown_reg;
    wire [LG_URGENT:0] urgent_oldest, urgent_in_reg, urgent_read_reg, urgent_write_reg, urgent_shown_reg;
    wire [LG_WAITING:0] normal_waiting_reg;
    wire [LG_URGENT_WAITING:0] urgent_waiting_reg;
`endif
    ferry_job_pointers #(.LG_JOBS(LG_JOBS), .LG_WAITING(LG_WAITING), .KEEP(1)) normal (
        .clk(clk), .rst(rst), .accept(accept && !job_urgent),
        .read_take(read_take && !read_urgent), .read_back(read_back),
        .write_take(write_take && !write_urgent), .write_back(write_back),
        .retire(retire && !retire_urgent), .over(over && !retire_urgent), .told(jobs_retired),
        .in_job(normal_in), .shown_job(normal_shown), .in_waiting(normal_in_waiting), .next_waiting(normal_next),
        .room(normal_room), .busy(normal_busy), .read_waits_next(normal_waits_next),
        .shown_waits(shown_normal), .read_first(normal_read_first), .write_first(normal_write_first)
`ifdef FORMAL
        , .formal_in(normal_in_reg), .formal_oldest(normal_oldest), .formal_read(normal_read_reg),
        .formal_write(normal_write_reg), .formal_shown(normal_shown_reg), .formal_waiting(normal_waiting_reg)
`endif
    );

    generate
        if (URGENT) begin : g_urgent
            ferry_job_pointers #(.LG_JOBS(LG_URGENT), .LG_WAITING(LG_URGENT_WAITING), .KEEP(0)) urgent (
                .clk(clk), .rst(rst), .accept(accept && job_urgent),
                .read_take(read_take && read_urgent), .read_back(1'b0),
                .write_take(write_take && write_urgent), .write_back(1'b0),
                .retire(retire && retire_urgent), .over(over && retire_urgent), .told(jobs_retired_urgent),
                .in_job(urgent_in), .shown_job(urgent_shown), .in_waiting(urgent_in_waiting), .next_waiting(urgent_next),
                .room(urgent_room), .busy(urgent_busy), .read_waits_next(urgent_waits_next),
                .shown_waits(shown_urgent), .read_first(urgent_read_first), .write_first(urgent_write_first)
`ifdef FORMAL
                , .formal_in(urgent_in_reg), .formal_oldest(urgent_oldest), .formal_read(urgent_read_reg),
                .formal_write(urgent_write_reg), .formal_shown(urgent_shown_reg), .formal_waiting(urgent_waiting_reg)
`endif
            );
        end else begin : g_no_urgent
            assign {urgent_in, urgent_shown, urgent_in_waiting, urgent_next} = 0;
            assign {urgent_room, urgent_busy, urgent_waits_next, urgent_read_first, urgent_write_first} = 5'd0;
            assign {shown_urgent, jobs_retired_urgent} = 17'd0;
        end
    endgenerate

    assign job_ready = (job_urgent ? urgent_room : normal_room) && !hold;
    assign busy = normal_busy || urgent_busy;

    // ---- As the job enters ----
    wire is_copy = job_op == `FERRY_JOB_OP_COPY;
    wire source_list = LISTS != 0 && is_copy && job_list == `FERRY_LIST_SIDE_SOURCE;
    wire destination_list = LISTS != 0 && is_copy && job_list == `FERRY_LIST_SIDE_DESTINATION;
    // Both sides walk a job up to its last byte; a job of no bytes has none.
    wire [31:0] last = job_length - 32'd1;
    wire empty = job_length == 32'd0;
    // The destination begins inside the source, behind its start: the distance less one is below the length less one. Looked at in
    // 32 bits: of the upper ones only whether they are the same. If they differ by more than one, the ranges are apart, and to go
    // down without need is harmless.
    wire [32:0] beyond = {1'b0, job_destination[31:0]} + {1'b0, ~job_source[31:0]};
    wire descending = is_copy && !source_list && !destination_list && (job_source_kind == job_destination_kind || !HOST)
        && beyond[31:0] < last && !empty && beyond[32] == (job_destination[63:32] == job_source[63:32]);
    // The side that is a list needs an offset instead of an address: the list's place rides above it.
    wire [63:0] source = {source_list ? job_list_address : job_source[63:48], job_source[47:0]};
    wire [63:0] destination = {destination_list ? job_list_address : job_destination[63:48], job_destination[47:0]};
    wire [JOB_BITS-1:0] entry = {job_op, job_source_kind, job_destination_kind, source_list, destination_list, job_unordered,
        job_protected, job_slot, job_pattern_log2, descending, source, destination, empty, last, job_space};
    // Packets stand at multiples of 8.
    wire [NAME_BITS-1:0] name = {descending, job_slot, job_packet_offset[15:3]};
    localparam [LG_WAITING:0] FIRST_URGENT_WAITING = {1'b1, {LG_WAITING{1'b0}}};
    wire [LG_WAITING:0] in_waiting = job_urgent
        ? FIRST_URGENT_WAITING + {{(LG_WAITING + 1 - LG_URGENT_WAITING){1'b0}}, urgent_in_waiting} : {1'b0, normal_in_waiting};

    always @(posedge clk) begin
        if (accept) begin
            waiting[in_waiting] <= entry;
        end
        if (accept && !job_urgent) begin
            names[normal_in] <= name;
        end
        if (accept && job_urgent) begin
            urgent_names[urgent_in] <= name;
        end
    end

    // ---- Faults ----
    reg [NAME_BITS-1:0] view_reg;
    always @(posedge clk) begin
        view_reg <= view_urgent && URGENT ? urgent_names[urgent_shown] : names[normal_shown];
    end
    assign {view_descending, view_slot, view_packet_offset[15:3]} = view_reg;
    assign view_packet_offset[2:0] = 3'd0;

    // ---- Read side: its next job's place is known as the cycle begins, so that the job's fields are there early ----
    reg [LG_WAITING:0] place_reg;
    reg        waits_reg;
    // What is written to a memory and read back is no constant to who simplifies, so what there is not is left out here.
    wire [1:0] source_kind_kept, destination_kind_kept;
    wire [1:0] destination_kind = HOST ? destination_kind_kept : `FERRY_ADDRESS_KIND_LOCAL;
    wire       source_is_list_kept, destination_is_list_kept;
    wire       destination_is_list = destination_is_list_kept && LISTS != 0;
    assign read_kind = HOST ? source_kind_kept : `FERRY_ADDRESS_KIND_LOCAL;
    assign read_is_list = source_is_list_kept && LISTS != 0;
    wire [63:0] read_destination;

    always @(posedge clk) begin
        place_reg <= urgent_waits_next
            ? FIRST_URGENT_WAITING + {{(LG_WAITING + 1 - LG_URGENT_WAITING){1'b0}}, urgent_next} : {1'b0, normal_next};
        waits_reg <= urgent_waits_next || normal_waits_next;
        if (rst) begin
            place_reg <= {(LG_WAITING + 1){1'b0}};
            waits_reg <= 1'b0;
        end
    end

    assign read_urgent = place_reg[LG_WAITING] && URGENT;
    assign urgent_waits = read_urgent;
    assign read_valid = waits_reg && turn_room;
    assign read_first = read_urgent ? urgent_read_first : normal_read_first;
    assign {read_op, source_kind_kept, destination_kind_kept, source_is_list_kept, destination_is_list_kept, read_unordered,
            read_protected, read_slot, read_pattern_log2, read_descending, read_base, read_destination, read_empty, read_last,
            read_space} = waiting[place_reg];
    assign read_list_base = read_base[63:48];
    // The read side goes down by the destination's blocks too.
    assign read_chunk_end = read_destination[8:0] + read_last[8:0];
    // READ has no destination: its bytes go to lane 0. FILL: its pattern starts at the destination's lane.
    wire is_read = read_op == `FERRY_JOB_OP_READ;
    wire is_fill = read_op == `FERRY_JOB_OP_FILL;
    wire is_forget = read_op == `FERRY_JOB_OP_FORGET;
    assign read_shift = (is_read ? 9'd0 : read_destination[8:0]) - (is_fill ? 9'd0 : read_base[8:0]);
    // Where the host may be involved, or chunks are to be read before they are written, a burst waits for all of its data; and where
    // memory would not read the rest of it.
    assign read_buffered = ONE_PORT || read_descending || read_is_list || destination_is_list || read_kind != `FERRY_ADDRESS_KIND_LOCAL
        || destination_kind != `FERRY_ADDRESS_KIND_LOCAL;
    assign read_translated = read_kind == `FERRY_ADDRESS_KIND_VIRTUAL || destination_kind == `FERRY_ADDRESS_KIND_VIRTUAL;

    wire first_waits = waits_reg && !read_empty && !read_descending;
    assign read_first_page_valid[0] = first_waits && !is_fill && !read_is_list && read_kind == `FERRY_ADDRESS_KIND_VIRTUAL
        && read_base[63:48] == 16'd0;
    assign read_first_page_valid[1] = first_waits && !is_read && !destination_is_list && destination_kind == `FERRY_ADDRESS_KIND_VIRTUAL
        && read_destination[63:48] == 16'd0;
    genvar side;
    generate
        for (side = 0; side < 2; side = side + 1) begin : g_first_page
            wire [`FERRY_LOOKUP_BITS-1:0] page;
            assign page[`FERRY_LOOKUP_SPACE_RANGE] = read_space;
            assign page[`FERRY_LOOKUP_PAGE_RANGE] = side == 0 ? read_base[47:12] : read_destination[47:12];
            assign page[`FERRY_LOOKUP_WRITE_RANGE] = side == 1;
            assign page[`FERRY_LOOKUP_PROTECTED_RANGE] = read_protected;
            assign read_first_page[`FERRY_LOOKUP_BITS*side +: `FERRY_LOOKUP_BITS] = page;
        end
    endgenerate

    // ---- Write side ----
    // The turn that it is offered stands in flip-flops: its first burst is worked out as it is taken. No data comes so early that
    // this holds it up.
    wire turn_valid, turn_urgent, turn_silent, turn_forget, turn_fill, turn_is_list;
    wire [1:0] turn_kind;
    wire [TURN_BITS-1:0] turn;
    reg  turn_valid_reg;
    reg  [TURN_BITS-1:0] turn_reg;
    wire turn_next = !turn_valid_reg || write_take;
`ifdef FORMAL
    wire [LG_TURNS:0] turn_place, turn_in, turn_out;
    wire turn_held;
    wire [TURN_BITS-1:0] turn_word;
`endif
    ferry_fifo #(.WIDTH(TURN_BITS), .LG_DEPTH(LG_TURNS)) turns (
        .clk(clk), .rst(rst), .in_valid(read_take), .in_ready(turn_room),
        .in_data({read_urgent, is_read || read_empty, is_forget, is_fill, read_unordered, destination_kind, destination_is_list,
            read_protected, read_buffered, read_slot, read_descending, read_destination, read_last, read_space}),
        .out_valid(turn_valid), .out_ready(turn_next), .out_data(turn)
`ifdef FORMAL
        , .formal_place(turn_place), .formal_held(turn_held), .formal_word(turn_word), .formal_write(turn_in), .formal_read(turn_out)
`endif
    );
    always @(posedge clk) begin
        if (turn_next) begin
            turn_valid_reg <= turn_valid;
            turn_reg <= turn;
        end
        if (rst) begin
            turn_valid_reg <= 1'b0;
        end
    end
    assign {turn_urgent, turn_silent, turn_forget, turn_fill, write_unordered, turn_kind, turn_is_list, write_protected,
            write_buffered, write_slot, write_descending, write_base, write_last, write_space} = turn_reg;
    assign write_urgent = turn_urgent && URGENT;
    assign write_kind = HOST ? turn_kind : `FERRY_ADDRESS_KIND_LOCAL;
    assign write_is_list = turn_is_list && LISTS != 0;
    assign write_valid = turn_valid_reg;
    assign write_first = write_urgent ? urgent_write_first : normal_write_first;
    assign write_op = turn_forget && TABLES != 0 ? `FERRY_JOB_OP_FORGET : turn_silent ? `FERRY_JOB_OP_READ
        : turn_fill ? `FERRY_JOB_OP_FILL : `FERRY_JOB_OP_COPY;
    assign write_list_base = write_base[63:48];
    assign write_chunk_end = write_base[8:0] + write_last[8:0];

    wire unused = &{1'b0, job_packet_offset[2:0]};

`ifdef FORMAL
    // Each side starts a job after it was accepted and before it retires; memory is trusted again when no job is left.
    reg past_valid = 1'b0;
    reg past_lost = 1'b0;
    // Memory was given up on; a job is told to be over.
    (* anyseq *) wire lost;
    (* anyseq *) wire tell;
    wire [LG_JOBS:0] level = normal_in_reg - normal_oldest;
    wire [LG_JOBS:0] read_ahead = normal_read_reg - normal_oldest;
    wire [LG_JOBS:0] write_ahead = normal_write_reg - normal_oldest;
    wire [LG_JOBS:0] shown_ahead = normal_shown_reg - normal_oldest;
    wire [LG_URGENT:0] urgent_level = urgent_in_reg - urgent_oldest;
    wire [LG_URGENT:0] urgent_read_ahead = urgent_read_reg - urgent_oldest;
    wire [LG_URGENT:0] urgent_write_ahead = urgent_write_reg - urgent_oldest;
    wire [LG_URGENT:0] urgent_shown_ahead = urgent_shown_reg - urgent_oldest;
    // The job that is not urgent and was taken last may come back, once.
    reg may_come_back = 1'b0;
    always @(posedge clk) begin
        past_valid <= 1'b1;
        past_lost <= lost && !rst;
        may_come_back <= !rst && !read_back && (may_come_back || (read_take && !read_urgent));
    end
    always @(*) begin
        assume (past_valid || rst);
        assume (!read_take || read_valid);
        // A turn is one of a job that is there. (Each turn of the read side's becomes one of the write side's.)
        assume (!write_take || (write_valid && (write_urgent ? urgent_write_ahead != urgent_level : write_ahead != level)));
        assume (!read_back || (may_come_back && read_ahead != 0 && !(read_take && !read_urgent)));
        assume (!write_back || (write_ahead != 0 && !(write_take && !write_urgent)));
        assume (!retire || (retire_urgent ? urgent_read_ahead != 0 && urgent_write_ahead != 0
            : read_ahead != 0 && write_ahead != 0 && !write_back && !read_back));
        assume (!retire || !(lost && (shown_normal || shown_urgent)));
        assume (over == (lost ? tell : retire));
        assume (!tell || (lost && (view_urgent ? shown_urgent : shown_normal) && view_urgent == retire_urgent));
        assume (past_valid ? !(past_lost && !lost) || (!busy && !shown_normal && !shown_urgent) : !lost);
    end

    // One job, whichever, is followed by its place: each view shows it as it entered.
    (* anyconst *) reg place_urgent;
    (* anyconst *) reg [LG_JOBS:0] place;
    wire [LG_JOBS:0] place_ahead = place - normal_oldest;
    wire [LG_URGENT:0] urgent_place_ahead = place[LG_URGENT:0] - urgent_oldest;
    wire [NAME_BITS-1:0] kept_name = place_urgent ? urgent_names[place[LG_URGENT-1:0]] : names[place[LG_JOBS-1:0]];
    wire [LG_WAITING:0] waiting_place = place_urgent
        ? FIRST_URGENT_WAITING + place[LG_URGENT_WAITING-1:0] : {1'b0, place[LG_WAITING-1:0]};
    reg held = 1'b0;
    reg [JOB_BITS-1:0]  followed = 0;
    reg [NAME_BITS-1:0] followed_name = 0;
    wire is_in = place_urgent ? urgent_in_reg == place[LG_URGENT:0] : normal_in_reg == place;
    wire is_oldest = place_urgent ? urgent_oldest == place[LG_URGENT:0] : normal_oldest == place;
    wire is_shown = place_urgent ? urgent_shown_reg == place[LG_URGENT:0] : normal_shown_reg == place;
    wire is_next = place_urgent ? urgent_read_reg == place[LG_URGENT:0] : normal_read_reg == place;
    // The read side has not taken it, or may give it back.
    wire still_waits = place_urgent ? urgent_place_ahead >= urgent_read_ahead
        : place_ahead >= read_ahead || (may_come_back && read_ahead == place_ahead + 1'b1);
    wire [JOB_BITS-1:0] read_view = {read_op, read_kind, destination_kind, read_is_list, destination_is_list, read_unordered,
        read_protected, read_slot, read_pattern_log2, read_descending, read_base, read_destination, read_empty, read_last,
        read_space};
    // A turn, whichever, shows to the write side what its job showed to the read side when it was taken.
    reg [JOB_BITS-1:0] taken = 0;
    reg taken_urgent = 1'b0;
    reg taken_buffered = 1'b0;
    // The followed job was looked for.
    reg was_shown = 1'b0;
    wire [2:0]  taken_op;
    wire [1:0]  taken_kind, taken_slot;
    wire        taken_is_list, taken_unordered, taken_protected, taken_descending, taken_empty;
    wire [63:0] taken_destination;
    wire [31:0] taken_last;
    wire [3:0]  taken_space;
    wire [70:0] taken_rest;
    assign {taken_op, taken_rest[70:69], taken_kind, taken_rest[68], taken_is_list, taken_unordered, taken_protected, taken_slot,
        taken_rest[67:66], taken_descending, taken_rest[63:0], taken_destination, taken_empty, taken_last, taken_space} = taken;
    assign taken_rest[65:64] = 2'd0;
    reg shows_turn = 1'b0;
    wire [TURN_BITS-1:0] taken_turn = {taken_urgent, taken_op == `FERRY_JOB_OP_READ || taken_empty,
        taken_op == `FERRY_JOB_OP_FORGET, taken_op == `FERRY_JOB_OP_FILL,
        taken_unordered, taken_kind, taken_is_list, taken_protected, taken_buffered, taken_slot, taken_descending,
        taken_destination, taken_last, taken_space};
    always @(posedge clk) begin
        shows_turn <= !rst && (turn_next ? turn_valid && turn_out == turn_place : shows_turn);
        was_shown <= held && !rst && view_urgent == place_urgent && is_shown;
        if (accept && job_urgent == place_urgent && is_in) begin
            held <= 1'b1;
            followed <= entry;
            followed_name <= name;
        end
        if (retire && retire_urgent == place_urgent && is_oldest) begin
            held <= 1'b0;
        end
        if (read_take && turn_in == turn_place) begin
            taken <= read_view;
            taken_urgent <= read_urgent;
            taken_buffered <= read_buffered;
        end
        if (rst) begin
            held <= 1'b0;
        end
        cover (past_valid && !rst && held && level[LG_JOBS] && read_ahead == 2 && write_ahead == 1);
        cover (past_valid && !rst && lost && tell && shown_ahead == 1);
        cover (past_valid && !rst && held && place_urgent && read_back && write_urgent && urgent_read_ahead == 1);
        cover (past_valid && !rst && held && !place_urgent && read_valid && is_next && normal_waiting_reg[LG_WAITING]);
    end
    always @(*) if (past_valid && !rst) begin
        assert (level <= (1 << LG_JOBS) && urgent_level <= (1 << LG_URGENT));
        assert (read_ahead <= level && write_ahead <= level && shown_ahead <= level);
        assert (urgent_read_ahead <= urgent_level && urgent_write_ahead <= urgent_level);
        assert (urgent_shown_ahead <= urgent_level);
        assert (lost || past_lost || (normal_shown_reg == normal_oldest && urgent_shown_reg == urgent_oldest));
        assert (held == (place_urgent ? urgent_place_ahead < urgent_level : place_ahead < level));
        // Those that wait have their places, and one that may come back keeps its own.
        assert (normal_waiting_reg == level - read_ahead && urgent_waiting_reg == urgent_level - urgent_read_ahead);
        assert (normal_waiting_reg <= (1 << LG_WAITING) - may_come_back && urgent_waiting_reg <= (1 << LG_URGENT_WAITING));
        assert (waits_reg == (normal_waiting_reg != 0 || urgent_waiting_reg != 0));
        assert (read_urgent == (urgent_waiting_reg != 0));
        assert (!waits_reg || place_reg == (read_urgent ? FIRST_URGENT_WAITING + urgent_read_reg[LG_URGENT_WAITING-1:0]
            : {1'b0, normal_read_reg[LG_WAITING-1:0]}));
        if (held) begin
            assert (!still_waits || waiting[waiting_place] == followed);
            assert (!(read_valid && read_urgent == place_urgent && is_next) || read_view == followed);
            assert (kept_name == followed_name);
            assert (!was_shown || {view_descending, view_slot, view_packet_offset[15:3]} == followed_name);
        end
        if (turn_held) begin
            assert (turn_word == taken_turn);
        end
        assert (!shows_turn || (write_valid && turn_reg == taken_turn && turn_out == turn_place + 1'b1));
        if (shows_turn) begin
            assert (write_urgent == taken_urgent && write_slot == taken_slot && write_last == taken_last && write_space == taken_space);
            assert (write_kind == taken_kind && write_base == taken_destination && write_descending == taken_descending);
            assert (write_op == (taken_op == `FERRY_JOB_OP_FORGET || !taken_empty ? taken_op : `FERRY_JOB_OP_READ)
                || taken_op > `FERRY_JOB_OP_FORGET);
        end
        // An urgent job that waits is what the read side is offered.
        assert (!(urgent_waits && read_valid) || read_urgent);
    end

    // What is worked out as a job enters. Ranges do not wrap around: the firmware refuses them.
    wire [64:0] source_end = {1'b0, job_source} + {33'd0, job_length};
    wire [64:0] destination_end = {1'b0, job_destination} + {33'd0, job_length};
    wire linear = job_list != `FERRY_LIST_SIDE_SOURCE && job_list != `FERRY_LIST_SIDE_DESTINATION;
    wire same = linear && job_source_kind == job_destination_kind;
    wire overlaps_above = same && job_destination > job_source && {1'b0, job_destination} < source_end;
    wire overlaps_below = same && job_destination < job_source && {1'b0, job_source} < destination_end;
    always @(*) if (past_valid && !rst && accept && is_copy) begin
        if (!source_end[64] && !destination_end[64]) begin
            assert (!overlaps_above || descending);
            assert (!overlaps_below || !descending);
            assert (!descending || overlaps_above || job_destination[63:32] != job_source[63:32]);
        end
    end
    always @(*) if (past_valid && !rst && read_valid && read_op == `FERRY_JOB_OP_COPY) begin
        assert (read_chunk_end == read_destination[8:0] + read_last[8:0] && read_shift + read_base[8:0] == read_destination[8:0]);
    end
`endif
endmodule

`default_nettype wire
