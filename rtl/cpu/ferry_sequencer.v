// SPDX-License-Identifier: Apache-2.0
// Walks over the packets of a buffer and queues a job for each, about fifteen cycles a packet, so that no word of a packet
// passes through the core. It takes a packet only when comparisons alone show that it keeps every rule; at any other it
// stops and leaves the packet to the firmware, which alone knows all rules and names faults. The firmware may hand a
// packet back that it has checked: then its job is queued as the packet says.
//
//   ask      for one of four double words of the packet, from command RAM
//   take     it into the job; the end of the range that it begins is added up
//   first    the end is held against the memory's limit, or against what else it must not go beyond
//   second   the end in video memory is held against the protected range; the next double word is asked for
//   decide   all comparisons are in
//   offer    the job waits for the engine's queue
//   next     of a rectangle: its next piece is made the job
//
// COPY_RECTANGLE is the firmware's to check. What it hands back is walked here, a job for each piece that lies together on
// both sides (ferry_rectangle). A walk that is stopped goes on where it was when the packet is handed back again; if
// another rectangle was walked meanwhile, with the row that it was in, which writes that row's first pieces once more. So one
// that makes way again and again comes to its end. Of a slot whose jobs are dropped one more piece is queued, as of any packet
// one job is, and not the billions that a rectangle may have.
//
// NOP and DISCARD make no job and are stepped over.
//
// One adder and one comparison do all ranges. So FENCE, whose address stands before its length is known, and COPY_PAGES,
// whose bytes in its pages are counted last, have their second double word taken again as the fourth.
`default_nettype none
`include "ferry_contract.vh"

module ferry_sequencer #(
    // Pages of the aperture segment.
    parameter APERTURE_PAGES = 4096,
    // 1: there is a page-table unit; 0: virtual addresses are left to the firmware, which refuses them.
    parameter [0:0] PAGE_TABLES = 1,
    // 1: rectangles are walked; 0: the firmware refuses them.
    parameter [0:0] TILING = 1
) (
    // Clock and synchronous reset.
    input  wire        clk,
    input  wire        rst,
    // The core runs. When it stops, the sequencer does, between two jobs.
    input  wire        run,

    // Starts at a packet: slot, byte offset in it (multiple of 8), whether the ring may name the host's memory, and whether
    // the firmware has checked this first packet. Only while not busy.
    input  wire        start,
    input  wire [1:0]  start_slot,
    input  wire [15:0] start_offset,
    input  wire        start_system,
    // Whether the ring may have page tables forgotten.
    input  wire        start_tables,
    input  wire        start_checked,
    // Space of the buffer's virtual addresses; the ring may name no others.
    input  wire [3:0]  start_space,
    input  wire        start_virtual_only,
    // Stops before the next packet, or before the one whose job waits.
    input  wire        stop,
    // Bytes of the buffer.
    input  wire [12:0] buffer_bytes,
    // The buffer of this slot has ended.
    input  wire        slot_ended,
    input  wire [1:0]  slot_ended_number,
    // Slots whose jobs are dropped, until they are free.
    input  wire [3:0]  slots_dropped,

    // The packet that it left changes the aperture table and keeps every rule but perhaps that of the right to.
    output wire        table_change,
    // Packets are being taken; the job of one waits for room; every packet up to the buffer's end was taken.
    output wire        busy,
    output wire        waiting,
    output wire        ended,
    // Byte offset of the packet it is at: when not busy, the one that was not taken.
    output wire [15:0] offset,
    // Limits that the host has set.
    input  wire [`FERRY_LIMITS_BITS-1:0] limits,

    // Reader of command RAM: byte address (multiple of 8); data in order, one cycle after the request was taken.
    output wire        read_valid,
    input  wire        read_ready,
    output wire [15:0] read_address,
    input  wire        read_data_valid,
    input  wire [63:0] read_data,

    // The job, whole before it is offered. It may be withdrawn.
    output wire        job_valid,
    input  wire        job_ready,
    output wire [`FERRY_JOB_BITS-1:0] job,
    // More jobs of its packet come.
    output wire        job_more,
    // A packet was taken that makes no job.
    output wire        skipped
);

    localparam [2:0] S_IDLE   = 3'd0;
    localparam [2:0] S_ASK    = 3'd1;
    localparam [2:0] S_TAKE   = 3'd2;
    localparam [2:0] S_FIRST  = 3'd3;
    localparam [2:0] S_SECOND = 3'd4;
    localparam [2:0] S_DECIDE = 3'd5;
    localparam [2:0] S_OFFER  = 3'd6;
    localparam [2:0] S_NEXT   = 3'd7;

    localparam [20:0] PAGES = APERTURE_PAGES[20:0];
    localparam [32:0] APERTURE_BYTES = {PAGES, 12'd0};

    reg [2:0]  state_reg;
    // Double word that is asked for and looked at, in S_SECOND already the next one.
    reg [2:0]  turn_reg;
    reg        stop_reg;
    reg        checked_reg;
    reg        system_reg;
    reg        tables_reg;
    reg [3:0]  space_reg;
    reg        virtual_only_reg;
    reg [1:0]  slot_reg;
    // Places in the buffer count double words.
    reg [9:0]  place_reg;
    wire [9:0] end_place = buffer_bytes[12:3];

    // --- Words of the packet --------------------------------------------------------------------------------------------

    reg [31:0] header_reg;
    reg [31:0] places_reg;
    reg [31:0] length_reg;
    reg [11:0] first_offset_reg;
    reg [7:0]  what_reg;
    reg [63:0] source_reg;
    reg [63:0] destination_reg;

    wire [7:0]  opcode = header_reg[`FERRY_PACKET_HEADER_OPCODE_RANGE];
    wire [15:0] words = header_reg[`FERRY_PACKET_HEADER_WORDS_RANGE];
    wire        unordered = header_reg[`FERRY_PACKET_HEADER_UNORDERED_SHIFT];
    wire        touch_protected = header_reg[`FERRY_PACKET_HEADER_PROTECTED_SHIFT];
    wire [1:0]  source_kind = places_reg[`FERRY_PACKET_PLACES_SOURCE_KIND_RANGE];
    wire [1:0]  destination_kind = places_reg[`FERRY_PACKET_PLACES_DESTINATION_KIND_RANGE];
    wire [1:0]  list = places_reg[`FERRY_PACKET_PLACES_LIST_RANGE];
    wire [1:0]  pattern_log2 = places_reg[`FERRY_PACKET_PLACES_PATTERN_LOG2_RANGE];

    // Told from a double word 0 that has been taken, from S_SECOND on.
    reg is_copy;
    reg is_pages;
    reg is_fill;
    reg is_read;
    reg is_fence;
    reg is_map;
    reg is_unmap;
    reg is_forget;
    reg is_rectangle;
    reg is_discard;
    reg is_empty;
    always @(posedge clk) begin
        is_copy <= opcode == `FERRY_OPCODE_COPY;
        is_pages <= opcode == `FERRY_OPCODE_COPY_PAGES;
        is_fill <= opcode == `FERRY_OPCODE_FILL;
        is_read <= opcode == `FERRY_OPCODE_READ;
        is_fence <= opcode == `FERRY_OPCODE_FENCE;
        is_map <= opcode == `FERRY_OPCODE_MAP_APERTURE;
        is_unmap <= opcode == `FERRY_OPCODE_UNMAP_APERTURE;
        is_forget <= opcode == `FERRY_OPCODE_FORGET;
        is_rectangle <= opcode == `FERRY_OPCODE_COPY_RECTANGLE;
        is_discard <= opcode == `FERRY_OPCODE_DISCARD;
        is_empty <= opcode == `FERRY_OPCODE_NOP || opcode == `FERRY_OPCODE_DISCARD;
    end
    wire walks = is_rectangle && checked_reg && TILING;
    wire [2:0] last_turn = walks ? 3'd5 : 3'd3;
    wire is_table = is_map || is_unmap;
    wire forgets = is_forget && PAGE_TABLES;
    wire from_list = list == `FERRY_LIST_SIDE_SOURCE;

    // --- What each double word is good for ------------------------------------------------------------------------------

    wire take_0 = state_reg == S_TAKE && turn_reg == 3'd0;
    wire take_1 = state_reg == S_TAKE && turn_reg == 3'd1;
    wire take_2 = state_reg == S_TAKE && turn_reg == 3'd2;
    wire take_3 = state_reg == S_TAKE && turn_reg == 3'd3;
    wire take_4 = state_reg == S_TAKE && turn_reg == 3'd4;
    wire take_5 = state_reg == S_TAKE && turn_reg == 3'd5;

    wire [31:0] low = read_data[31:0];
    wire [31:0] high = read_data[63:32];

    // Where a range begins that must end inside its memory; its kind of address.
    wire       source_turn = turn_reg == 3'd2 && (is_copy || (is_pages && !from_list));
    wire       range_turn = (turn_reg == 3'd2 && (is_copy || is_pages || is_fill || is_discard)) ||
                            (turn_reg == 3'd3 && (is_copy || is_fence));
    wire       list_turn = turn_reg == 3'd3 && is_pages;
    wire       table_turn = turn_reg == 3'd1 && is_table;
    wire [1:0] kind = source_turn ? source_kind : destination_kind;

    // A change of the table has its first page and their number in double word 1, a list its bytes and where in the first page
    // they begin.
    wire [31:0] range_bytes = table_turn || list_turn ? high : length_reg;

    reg        table_change_reg;
    reg [32:0] end_reg;
    reg        high_zero_reg;
    reg        high_ones_reg;
    reg        high_short_reg;
    reg        high_virtual_reg;
    reg        high_last_reg;
    reg        low_zero_reg;
    reg        low_aligned_reg;
    // Not what a FORGET has in this place, for comparisons: ALL is the firmware's.
    reg        what_wrong_reg;
    // What end_reg must not go beyond: one of them, or nothing. The kind of memory.
    reg        to_limit_reg;
    reg        to_base_reg;
    reg        to_aperture_reg;
    reg        to_table_reg;
    reg [1:0]  kind_reg;
    // The turn is one of these.
    reg        range_reg;
    reg        list_reg;
    reg        table_reg;
    reg        one_reg;
    reg        two_reg;
    reg        three_reg;
    // Video memory ends behind every end that counts here; so far nothing is protected.
    reg        local_far_reg;
    reg        unprotected_reg;
    reg        bad_reg;

    // --- Comparisons ----------------------------------------------------------------------------------------------------

    wire [63:0] local_limit = limits[`FERRY_LIMITS_LOCAL_LIMIT_RANGE];
    wire [63:0] protect_base = limits[`FERRY_LIMITS_PROTECT_BASE_RANGE];
    wire [63:0] protect_limit = limits[`FERRY_LIMITS_PROTECT_LIMIT_RANGE];

    // Addresses of 4 GiB and more in video memory, and all behind the first protected byte, are the firmware's.
    wire [32:0] bound = (local_limit[32:0] & {33{to_limit_reg}}) | (protect_base[32:0] & {33{to_base_reg}}) |
                        (APERTURE_BYTES & {33{to_aperture_reg}}) | ({12'd0, PAGES} & {33{to_table_reg}});
    wire        end_inside = !(bound < end_reg);

    reg range_holds;
    always @* begin
        case (kind_reg)
        `FERRY_ADDRESS_KIND_LOCAL:    range_holds = high_zero_reg && (end_inside || local_far_reg) && !virtual_only_reg;
        `FERRY_ADDRESS_KIND_SYSTEM:   range_holds = system_reg && !(high_ones_reg && end_reg[32]) && !virtual_only_reg;
        `FERRY_ADDRESS_KIND_APERTURE: range_holds = high_zero_reg && end_inside && !virtual_only_reg;
        // What ends at 2^48 is the firmware's to find good.
        default:                      range_holds = PAGE_TABLES && high_virtual_reg && !(high_last_reg && end_reg[32]);
        endcase
    end

    // A packet that fits into a slot has less than 2^11 words. A list has an entry for each page that the bytes from the first
    // page's offset on touch, and words / 2 - 3 in all.
    wire [10:0] pages = {1'b0, end_reg[21:12]} + {10'd0, end_reg[11:0] != 12'd0} + 11'd3;
    wire        list_fits = end_reg[32:22] == 11'd0 && {1'b0, words[10:1]} == pages;
    // A map's list has words / 2 - 2 entries.
    wire [10:0] map_entries = first_offset_reg[10:0] + 11'd2;
    wire        map_fits = !first_offset_reg[11] && {1'b0, words[10:1]} == map_entries && high_short_reg;
    wire        table_fits = end_inside && !high_zero_reg && (is_unmap || map_fits);

    // FORGET names an address in its range, or none.
    wire [1:0]  scope = what_reg[`FERRY_PACKET_FORGET_WHAT_SCOPE_RANGE];
    wire        around = scope == `FERRY_FORGET_SCOPE_GROUP || scope == `FERRY_FORGET_SCOPE_TABLE;
    wire        around_holds = around ? high_virtual_reg : high_zero_reg && low_zero_reg;

    // What is wrong with this double word, each by itself since Yosys makes one wide function of what meets in one cycle.
    reg header_flaw_reg;
    reg places_flaw_reg;
    reg range_flaw_reg;
    reg list_flaw_reg;
    reg table_flaw_reg;
    reg word_flaw_reg;
    always @(posedge clk) begin
        header_flaw_reg <= (header_reg & (`FERRY_PACKET_HEADER_PROTECTED_MASK | `FERRY_PACKET_HEADER_RESERVED_MASK)) != 32'd0;
        places_flaw_reg <= (places_reg & `FERRY_PACKET_PLACES_RESERVED_MASK) != 32'd0;
        range_flaw_reg <= range_reg && !range_holds;
        list_flaw_reg <= list_reg && !list_fits;
        table_flaw_reg <= table_reg && !table_fits;
        word_flaw_reg <= (one_reg && (is_copy || is_fill || is_discard) && !high_zero_reg) ||
                         (one_reg && is_pages && (!high_short_reg || low_zero_reg)) ||
                         (three_reg && is_fence && !low_aligned_reg) ||
                         (is_forget && ((one_reg && (what_wrong_reg || !high_zero_reg)) || (two_reg && !around_holds)));
    end
    wire flaw = header_flaw_reg || places_flaw_reg || range_flaw_reg || list_flaw_reg || table_flaw_reg || word_flaw_reg;

    // Packet lengths, and fields that an opcode does not use.
    wire [31:0] packet_bytes = {14'd0, words, 2'd0};
    wire        snoop = places_reg[`FERRY_PACKET_PLACES_SNOOP_SHIFT];
    reg shape_holds;
    reg shape_reg;
    always @* begin
        case (opcode)
        `FERRY_OPCODE_COPY:
            shape_holds = packet_bytes == `FERRY_PACKET_COPY_SIZE && list == 2'd0 && pattern_log2 == 2'd0 && !snoop;
        `FERRY_OPCODE_COPY_PAGES:
            shape_holds = !words[0] && pattern_log2 == 2'd0 && system_reg && !virtual_only_reg && !snoop &&
                          ((from_list && source_kind == `FERRY_ADDRESS_KIND_SYSTEM && !destination_kind[0]) ||
                           (list == `FERRY_LIST_SIDE_DESTINATION && destination_kind == `FERRY_ADDRESS_KIND_SYSTEM &&
                            !source_kind[0]));
        `FERRY_OPCODE_FILL:
            shape_holds = packet_bytes == `FERRY_PACKET_FILL_SIZE && !unordered && list == 2'd0 && source_kind == 2'd0 &&
                          (!destination_kind[1] || destination_kind[0]) && !snoop;
        `FERRY_OPCODE_FENCE:
            shape_holds = packet_bytes == `FERRY_PACKET_FENCE_SIZE && !unordered && list == 2'd0 && pattern_log2 == 2'd0 &&
                          source_kind == 2'd0 && !destination_kind[1] && !snoop;
        `FERRY_OPCODE_MAP_APERTURE:
            shape_holds = !words[0] && !unordered && places_reg[7:0] == 8'd0;
        `FERRY_OPCODE_UNMAP_APERTURE:
            shape_holds = packet_bytes == `FERRY_PACKET_UNMAP_APERTURE_SIZE && !unordered && places_reg[7:0] == 8'd0 && !snoop;
        `FERRY_OPCODE_DISCARD:
            shape_holds = packet_bytes == `FERRY_PACKET_DISCARD_SIZE && !unordered && places_reg[7:0] == 8'd0 && !snoop;
        `FERRY_OPCODE_FORGET:
            shape_holds = packet_bytes == `FERRY_PACKET_FORGET_SIZE && !unordered && places_reg[7:0] == 8'd0 && !snoop && tables_reg &&
                          PAGE_TABLES;
        `FERRY_OPCODE_NOP:
            shape_holds = !words[0] && words != 16'd0;
        default:
            shape_holds = 1'b0;
        endcase
    end
    always @(posedge clk) begin
        shape_reg <= shape_holds;
    end

    wire [10:0] next_place = {1'b0, place_reg} + {1'b0, words[10:1]};
    // The packet ends inside its buffer.
    wire fits = words[15:11] == 5'd0 && next_place <= {1'b0, end_place};
    wire holds = !bad_reg && shape_reg && fits;
    wire take = checked_reg || (holds && !is_table);
    wire taken = job_valid && job_ready;
    assign skipped = state_reg == S_DECIDE && take && is_empty && !stop_reg;
    // The packet is done with.
    wire passed = (taken && !job_more) || skipped;

    // --- A rectangle ----------------------------------------------------------------------------------------------------

    wire        piece_valid, piece_last, passes;
    wire [31:0] piece_source, piece_destination;
    wire [23:0] piece_bytes;
    // The piece that is the job.
    reg         piece_first_reg;
    reg         piece_last_reg;
    wire        piece_comes = walks && (state_reg == S_DECIDE || state_reg == S_NEXT);
    generate
        if (TILING) begin : g_rectangle
            // Of which packet the walk is.
            reg [1:0]  walk_slot_reg;
            reg [8:0]  walk_place_reg;
            wire       at_hand = piece_valid || passes;
            wire       stays = at_hand && walk_slot_reg == slot_reg && walk_place_reg == place_reg[8:0];
            wire       loads = walks && !stays;
            wire       over = slot_ended && slot_ended_number == walk_slot_reg;
            // Of which packet the row is that was kept.
            reg        kept_reg;
            reg [1:0]  kept_slot_reg;
            reg [8:0]  kept_place_reg;
            wire       kept_over = slot_ended && slot_ended_number == kept_slot_reg;
            wire       goes_on = kept_reg && kept_slot_reg == slot_reg && kept_place_reg == place_reg[8:0];
            wire       dropped = slots_dropped[slot_reg];
            always @(posedge clk) begin
                if (rst || !run || kept_over) begin
                    kept_reg <= 1'b0;
                end
                if (take_1 && loads && piece_valid) begin
                    kept_reg <= run && !over;
                    kept_slot_reg <= walk_slot_reg;
                    kept_place_reg <= walk_place_reg;
                end
                if (take_1 && loads) begin
                    walk_slot_reg <= slot_reg;
                    walk_place_reg <= place_reg[8:0];
                    piece_first_reg <= 1'b1;
                end else if (taken && walks) begin
                    piece_first_reg <= 1'b0;
                end
                if (piece_comes || dropped) begin
                    piece_last_reg <= piece_last || dropped;
                end
            end
            ferry_rectangle rectangle (
                .clk(clk), .rst(rst), .load_size(take_1 && loads), .load_source(take_2 && loads), .load_destination(take_3 && loads),
                .load_source_layout(take_4 && loads), .load_destination_layout(take_5 && loads), .give_up(!run || over), .word(read_data),
                .goes_on(goes_on), .passes(passes),
                .piece_valid(piece_valid), .piece_ready(taken && walks), .piece_source(piece_source),
                .piece_destination(piece_destination), .piece_bytes(piece_bytes), .piece_last(piece_last)
            );
        end else begin : g_no_rectangle
            wire unused = &{1'b0, slot_ended, slot_ended_number, slots_dropped, take_4, take_5, piece_valid, piece_last};
            assign passes = 1'b0;
            assign {piece_valid, piece_source, piece_destination, piece_bytes, piece_last} = 90'd0;
            always @* begin
                piece_first_reg = 1'b0;
                piece_last_reg = 1'b1;
            end
        end
    endgenerate
    // Rows are passed over; of a dropped slot any piece will do.
    wire walk_waits = walks && passes && !slots_dropped[slot_reg];
    assign job_more = walks && !piece_last_reg;

    // --- Outside --------------------------------------------------------------------------------------------------------

    assign busy = state_reg != S_IDLE;
    assign waiting = state_reg == S_OFFER;
    assign ended = state_reg == S_IDLE && place_reg == end_place;
    assign table_change = table_change_reg;
    assign offset = {3'd0, place_reg, 3'd0};

    // In S_OFFER this is where a page list begins.
    wire [2:0] index = state_reg == S_OFFER ? 3'd3 : turn_reg == 3'd3 && (is_pages || is_fence) ? 3'd1 : turn_reg;
    assign read_valid = state_reg == S_ASK || (state_reg == S_SECOND && turn_reg != 3'd0);
    assign read_address = {2'd0, slot_reg, place_reg[8:0] + {6'd0, index}, 3'd0};

    assign job_valid = state_reg == S_OFFER && !stop_reg;
    assign job[`FERRY_JOB_OP_RANGE] = is_copy || is_pages || walks ? `FERRY_JOB_OP_COPY :
                                      is_read ? `FERRY_JOB_OP_READ : forgets ? `FERRY_JOB_OP_FORGET : `FERRY_JOB_OP_FILL;
    assign job[`FERRY_JOB_SOURCE_KIND_RANGE] = source_kind;
    assign job[`FERRY_JOB_DESTINATION_KIND_RANGE] = destination_kind;
    assign job[`FERRY_JOB_LIST_RANGE] = list;
    assign job[`FERRY_JOB_UNORDERED_RANGE] = unordered || (walks && !piece_first_reg);
    assign job[`FERRY_JOB_PROTECTED_RANGE] = touch_protected;
    // Told from the slot's ring on the way to the engine.
    assign job[`FERRY_JOB_URGENT_RANGE] = 1'b0;
    assign job[`FERRY_JOB_SLOT_RANGE] = slot_reg;
    // FENCE and WRITE fill with a pattern of eight bytes.
    assign job[`FERRY_JOB_PATTERN_LOG2_RANGE] = is_fill ? pattern_log2 : 2'd3;
    assign job[`FERRY_JOB_PACKET_OFFSET_RANGE] = offset;
    assign job[`FERRY_JOB_SOURCE_RANGE] = source_reg;
    assign job[`FERRY_JOB_DESTINATION_RANGE] = {destination_reg[63:2], forgets ? scope : destination_reg[1:0]};
    assign job[`FERRY_JOB_LENGTH_RANGE] = length_reg;
    assign job[`FERRY_JOB_LIST_ADDRESS_RANGE] = read_address;
    assign job[`FERRY_JOB_SPACE_RANGE] = forgets ? what_reg[`FERRY_PACKET_FORGET_WHAT_SPACE_RANGE] : space_reg;

    // A page list's side is the offset in its first page. The others: COPY, READ and FENCE name or hold their source in double
    // word 2, FILL and WRITE in 3; COPY and COPY_RECTANGLE their destination in 3, FENCE in 1, the rest in 2.
    wire source_comes = take_2 || (take_3 && !is_copy && !is_rectangle && !is_pages && !is_read && !is_fence);
    wire destination_comes = (take_1 && is_fence) || (take_2 && !is_fence) || (take_3 && (is_copy || is_rectangle));

    always @(posedge clk) begin
        if (take_0) begin
            header_reg <= low;
            places_reg <= high;
        end
        if (take_1) begin
            // FORGET is a job of no bytes.
            length_reg <= is_fence ? 32'd8 : low & {32{!is_forget}};
            first_offset_reg <= high[11:0];
            what_reg <= low[7:0];
        end
        if (source_comes) begin
            source_reg <= is_pages && from_list ? {52'd0, first_offset_reg} : read_data;
        end
        if (destination_comes) begin
            destination_reg <= is_pages && !from_list ? {52'd0, first_offset_reg} : read_data;
        end
        // Of a side all is in the same 4 GiB.
        if (piece_comes) begin
            length_reg <= {8'd0, piece_bytes};
            source_reg[31:0] <= piece_source;
            destination_reg[31:0] <= piece_destination;
        end

        if (state_reg == S_TAKE) begin
            end_reg <= {1'b0, low} + {1'b0, range_bytes};
            high_zero_reg <= high == 32'd0;
            high_ones_reg <= high == 32'hffff_ffff;
            high_short_reg <= high[31:12] == 20'd0;
            high_virtual_reg <= high[31:16] == 16'd0;
            high_last_reg <= &high[15:0];
            low_zero_reg <= low == 32'd0;
            low_aligned_reg <= low[2:0] == 3'd0;
            what_wrong_reg <= (low & ~(`FERRY_PACKET_FORGET_WHAT_SCOPE_MASK | `FERRY_PACKET_FORGET_WHAT_SPACE_MASK)) != 32'd0 ||
                              low[`FERRY_PACKET_FORGET_WHAT_SCOPE_RANGE] == `FERRY_FORGET_SCOPE_ALL;
            kind_reg <= kind;
            range_reg <= range_turn;
            list_reg <= list_turn;
            table_reg <= table_turn;
            one_reg <= turn_reg == 3'd1;
            two_reg <= turn_reg == 3'd2;
            three_reg <= turn_reg == 3'd3;
        end
        to_limit_reg <= state_reg == S_TAKE && range_turn && kind == `FERRY_ADDRESS_KIND_LOCAL;
        to_aperture_reg <= state_reg == S_TAKE && range_turn && kind == `FERRY_ADDRESS_KIND_APERTURE;
        to_table_reg <= state_reg == S_TAKE && table_turn;
        to_base_reg <= to_limit_reg;
        local_far_reg <= local_limit[63:33] != 31'd0;
        unprotected_reg <= protect_limit == 64'd0 || protect_base[63:33] != 31'd0;
        if (take_0) begin
            bad_reg <= 1'b0;
        end else if (state_reg == S_SECOND && (flaw || (to_base_reg && !end_inside && !unprotected_reg))) begin
            bad_reg <= 1'b1;
        end
    end

    always @(posedge clk) begin
        if (stop) begin
            stop_reg <= 1'b1;
        end
        case (state_reg)
        S_IDLE:
            if (start) begin
                slot_reg <= start_slot;
                place_reg <= start_offset[12:3];
                system_reg <= start_system;
                tables_reg <= start_tables;
                space_reg <= start_space;
                virtual_only_reg <= start_virtual_only;
                checked_reg <= start_checked;
                stop_reg <= 1'b0;
                table_change_reg <= 1'b0;
                turn_reg <= 3'd0;
                state_reg <= start_offset[12:3] == end_place ? S_IDLE : S_ASK;
            end
        S_ASK:
            if (read_ready) begin
                state_reg <= S_TAKE;
            end
        S_TAKE:
            state_reg <= S_FIRST;
        S_FIRST: begin
            turn_reg <= turn_reg == last_turn ? 3'd0 : turn_reg + 3'd1;
            state_reg <= S_SECOND;
        end
        S_SECOND:
            state_reg <= turn_reg == 3'd0 ? S_DECIDE : read_ready ? S_TAKE : S_ASK;
        S_DECIDE: begin
            table_change_reg <= holds && is_table;
            state_reg <= !take || stop_reg ? S_IDLE : walk_waits ? S_DECIDE : S_OFFER;
        end
        S_NEXT:
            state_reg <= S_OFFER;
        default:
            if (taken && job_more) begin
                state_reg <= S_NEXT;
            end else if (stop_reg) begin
                state_reg <= S_IDLE;
            end
        endcase
        if (passed) begin
            place_reg <= next_place[9:0];
            checked_reg <= 1'b0;
            state_reg <= next_place[9:0] == end_place ? S_IDLE : S_ASK;
        end
        if (rst || !run) begin
            state_reg <= S_IDLE;
        end
    end

`ifdef FORMAL
`include "ferry_sequencer_properties.vh"
`endif

    wire unused = &{1'b0, what_reg, buffer_bytes[2:0], start_offset, read_data_valid, limits, header_reg, places_reg};

endmodule

`default_nettype wire
