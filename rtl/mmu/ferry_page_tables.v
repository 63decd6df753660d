// SPDX-License-Identifier: Apache-2.0
// The page-table unit: translates GPU virtual addresses of sixteen spaces for both sides of the engine, through tables of up
// to four levels in video memory or in host memory (docs/manual/page-tables.md). A side holds its request until the answer,
// so a request can be begun anew at any time; one walk a side is under way at once.
//
//   a side:  idle -> looked up -----------------------------------> answered     its line is in the look-aside buffer
//                 -> done ---------------------------------------->              in a large page that is remembered
//                 -> asks -> waits -> asks -> waits ... -> done -->              walk, from the root or from a remembered table
//
// What is remembered but does not allow the access is not believed: the request is begun anew and walked (`again`), so that
// each fault comes from an entry that was just read. Forgetting stops all walks, and is done when no read is out. A request that it
// stopped is answered before anything else is forgotten, so each ends, however often who forgets asks.
`default_nettype none
`include "ferry_contract.vh"

module ferry_page_tables #(
    // Bits of a video memory address.
    parameter LOCAL_ADDRESS_BITS = 26,
    // 1: tables may lie in host memory; 0: only in video memory, one elsewhere is a TABLE_RANGE fault. Pages may be in either.
    parameter [0:0] HOST_TABLES = 1
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,
    // One-cycle pulse: all that is known is forgotten, roots too, as after a reset; but what the buses owe is awaited. Reads of
    // tables wait until that has come.
    input  wire clear,
    // Nothing that is asked for is of use any more (an engine reset goes on, or memory is given up on): no read of a table begins,
    // and what would need one is refused.
    input  wire drop,

    // The root of a space. What is known of the space is to be forgotten after it.
    input  wire        root_valid,
    output wire        root_ready,
    input  wire [3:0]  root_space,
    input  wire [`FERRY_ROOT_BITS-1:0] root,

    // Forget: what of it is in the tables now is what is answered once this is taken; held until then.
    input  wire        forget_valid,
    output wire        forget_ready,
    input  wire [`FERRY_FORGET_BITS-1:0] forget,

    // A request of each side, 0 the one that reads, 1 the one that writes; held until its answer, which stands for one cycle.
    input  wire [1:0]  lookup_valid,
    input  wire [2*`FERRY_LOOKUP_BITS-1:0] lookup,
    output wire [1:0]  answer_valid,
    output wire [`FERRY_PAGE_BITS-1:0] answer,
    // The entry that was read last for each side, from its latest request on; 0 when none was, or when it stands in the
    // protected range, whose content is nobody's to see.
    output wire [127:0] seen,
    // In this cycle: a request was not known and is walked; a table is read; a walk is under way; what is known is forgotten.
    output wire        missed,
    output wire        read,
    output wire        walking,
    output wire        forgets,
    // A read of a table stands on a bus or owes data, also that of a line which nobody waits for; something of these moves.
    // A cycle late, so it follows a request and its answer without a gap.
    output reg         owed,
    output wire        moves,

    // Limits of video memory, clipped (ferry_limits). Who changes them forgets all then.
    input  wire [LOCAL_ADDRESS_BITS:0] local_limit,
    input  wire [LOCAL_ADDRESS_BITS:0] protect_base,
    input  wire [LOCAL_ADDRESS_BITS:0] protect_limit,

    // Reads of video memory, and of host memory.
    output wire [`FERRY_AXI_A_BITS-1:0] local_ar,
    output wire        local_arvalid,
    input  wire        local_arready,
    input  wire [`FERRY_AXI_R_BITS-1:0] local_r,
    input  wire        local_rvalid,
    output wire        local_rready,
    output wire [`FERRY_AXI_A_BITS-1:0] host_ar,
    output wire        host_arvalid,
    input  wire        host_arready,
    input  wire [`FERRY_AXI_R_BITS-1:0] host_r,
    input  wire        host_rvalid,
    output wire        host_rready
);
    localparam B = LOCAL_ADDRESS_BITS;
    localparam M = `FERRY_MAPPING_BITS;
    localparam L = `FERRY_LOOKUP_BITS;

    localparam [2:0] S_IDLE = 3'd0, S_LOOKED = 3'd1, S_ASK = 3'd2, S_WAIT = 3'd3, S_DONE = 3'd4, S_FAULT = 3'd5;

    // Of each side: where its request is; the table to read in and the place there, or the page that was found; its level; that
    // comes from an entry that was read for this request; why there is no page; what is remembered is not to be used.
    reg  [2:0]   state0_reg, state1_reg;
    reg  [M-1:0] found0_reg, found1_reg;
    reg  [1:0]   height0_reg, height1_reg;
    reg  [8:0]   index0_reg, index1_reg;
    reg  [1:0]   fresh_reg;
    reg  [7:0]   fault0_reg, fault1_reg;
    reg  [1:0]   again_reg;
    reg  [63:0]  seen0_reg, seen1_reg;
    wire [1:0]   idle = {state1_reg == S_IDLE, state0_reg == S_IDLE};
    wire [1:0]   looked = {state1_reg == S_LOOKED, state0_reg == S_LOOKED};
    wire [1:0]   asks = {state1_reg == S_ASK, state0_reg == S_ASK};
    wire [1:0]   waits = {state1_reg == S_WAIT, state0_reg == S_WAIT};
    wire [1:0]   over = {state1_reg[2], state0_reg[2]};

    // ---- Reads ----
    wire        side;
    wire        shown;
    wire        taken;
    wire [1:0]  busy;
    wire        beat;
    wire        beat_side;
    wire        beat_first;
    wire        beat_last;
    wire        beat_error;
    wire [63:0] beat_data;
    wire        forgetting;
    wire        forget_begins;
    // The entry that the side which asks would read.
    wire        ask_host;
    wire        ask_snoop;
    wire [51:3] ask_address;
    ferry_choice #(.WIDTH(51)) ask_of_side (
        .second(side),
        .word0({found0_reg[`FERRY_MAPPING_HOST_RANGE], found0_reg[`FERRY_MAPPING_SNOOP_RANGE], found0_reg[`FERRY_MAPPING_PAGE_RANGE],
            index0_reg}),
        .word1({found1_reg[`FERRY_MAPPING_HOST_RANGE], found1_reg[`FERRY_MAPPING_SNOOP_RANGE], found1_reg[`FERRY_MAPPING_PAGE_RANGE],
            index1_reg}),
        .chosen({ask_host, ask_snoop, ask_address})
    );

`ifdef FORMAL
    wire        formal_held, formal_held_side, formal_within, formal_within_host;
    wire [1:0]  formal_busy_host, formal_first_side;
`endif
    ferry_table_reads #(.LOCAL_ADDRESS_BITS(B)) reads (
        .clk(clk), .rst(rst), .hold(forgetting || drop), .ask(asks), .asked_side(side),
        .asked_host(HOST_TABLES && ask_host), .asked_snoop(ask_snoop),
        .asked_line((side ? height1_reg : height0_reg) == 2'd0), .asked_address(ask_address),
        .shown(shown), .taken(taken), .busy(busy), .beat(beat), .beat_side(beat_side), .beat_first(beat_first),
        .beat_last(beat_last), .beat_error(beat_error), .beat_data(beat_data), .local_ar(local_ar),
        .local_arvalid(local_arvalid), .local_arready(local_arready), .local_r(local_r), .local_rvalid(local_rvalid),
        .local_rready(local_rready), .host_ar(host_ar), .host_arvalid(host_arvalid), .host_arready(host_arready),
        .host_r(host_r), .host_rvalid(host_rvalid), .host_rready(host_rready)
`ifdef FORMAL
        , .formal_held(formal_held), .formal_held_side(formal_held_side), .formal_busy_host(formal_busy_host),
        .formal_first_side(formal_first_side), .formal_within(formal_within), .formal_within_host(formal_within_host)
`endif
    );
    assign read = taken;
    assign moves = taken || beat;
    assign walking = (asks | waits) != 2'd0;
    assign forgets = forget_begins || clear || forgetting;

    // ---- What this cycle is for: an entry that was read, a line's entry that is kept, a step of forgetting, or a look-up ----
    reg         line_fill_reg;
    // The lines write the page of the entry that they got in the cycle before.
    reg         line_write_reg;
    // Whose request is looked up is picked a cycle before, so that its page comes out of flip-flops; it is picked anew until
    // the look-up has its cycle.
    reg  [1:0]  picked_reg;
    wire        look = picked_reg != 2'd0 && !beat && !line_fill_reg && !line_write_reg && !forgets;
    wire        look_side = picked_reg[1];
    wire [1:0]  want = lookup_valid & idle & ~(picked_reg & {2{look}});
    // After its answer a side has nothing to be looked up for a cycle: the other one's turn comes.
    wire        pick_side = !want[0];
    // Space and page of the side whose entry was read; of the side that is looked up, or what is kept in a line or forgotten, which
    // is taken into flip-flops a cycle before: that there is an entry, and who forgets, is known late. So is the set of lines.
    wire [39:0] wanted;
    reg  [39:0] picked_page_reg;
    wire [39:0] about;
    wire [3:0]  space = about[`FERRY_LOOKUP_SPACE_RANGE];
    wire [47:12] page = about[`FERRY_LOOKUP_PAGE_RANGE];
    wire [39:0] read_for;
    wire [38:12] read_for_page = read_for[4 +: 27];
    ferry_choice #(.WIDTH(40)) wanted_side (
        .second(pick_side), .word0(lookup[39:0]), .word1(lookup[L +: 40]), .chosen(wanted)
    );
    reg  [39:0] kept_reg;
    reg         forget_reg;
    wire        keeps = line_fill_reg || forget_reg;
    wire [3:0]  kept_home = kept_reg[11:8] ^ kept_reg[15:12] ^ kept_reg[3:0];
    reg  [3:0]  picked_home_reg;
    wire [3:0]  home = keeps ? kept_home : picked_home_reg;
    ferry_choice #(.WIDTH(40)) picked_or_kept (.second(keeps), .word0(picked_page_reg), .word1(kept_reg), .chosen(about));
    ferry_choice #(.WIDTH(40)) read_for_side (
        .second(beat_side), .word0(lookup[39:0]), .word1(lookup[L +: 40]), .chosen(read_for)
    );
    always @(posedge clk) begin
        picked_reg <= want & {pick_side, !pick_side} & {2{!rst}};
        picked_page_reg <= wanted;
        picked_home_reg <= wanted[11:8] ^ wanted[15:12] ^ wanted[3:0];
        // Of a line its first entry's page.
        if (beat_first || forget_begins) begin
            kept_reg <= forget_begins ? {forget[`FERRY_FORGET_PAGE_RANGE], forget[`FERRY_FORGET_SPACE_RANGE]} : read_for;
        end
    end

    // An entry is of use if its side still waits for it, or if it is behind one that was, in a line.
    reg         line_reg;
    reg  [15:12] place_reg;
    wire        entry = beat && beat_first && (beat_side ? waits[1] : waits[0]) && !forgetting;
    wire        behind = beat && !beat_first && line_reg && !forgetting;
    wire [1:0]  height = beat_first ? (beat_side ? height1_reg : height0_reg) : 2'd0;
    wire [15:12] place = beat_first ? read_for_page[15:12] : place_reg;

    // ---- Forgetting, after reset too ----
    reg         clearing_reg;
    // Sides whose request stood as something was forgotten, and is not answered since.
    reg  [1:0]  stopped_reg;
    reg         swept_reg;
    reg  [3:0]  sweep_reg;
    wire        sweep = (forget_reg || clearing_reg) && !swept_reg;
    wire        quiet = swept_reg && !shown && busy == 2'd0;
    wire        sweeps_roots = clearing_reg && !swept_reg;
    wire [1:0]  scope = clearing_reg ? `FERRY_FORGET_SCOPE_ALL : forget[`FERRY_FORGET_SCOPE_RANGE];
    // Who clears is known late, and what is under way begins to end a cycle after it; only no look-up begins in its own cycle.
    assign forgetting = forget_reg || clearing_reg;
    assign forget_begins = forget_valid && stopped_reg == 2'd0;
    assign forget_ready = quiet && forget_reg && !clearing_reg;

    // ---- Roots ----
    localparam R = `FERRY_ROOT_BITS;
    reg  [R-1:0] roots [0:15];
    wire [R-1:0] root_now = roots[space];
    wire [1:0]   root_height = root_now[`FERRY_ROOT_HEIGHT_RANGE];
    wire [M-1:0] root_table;
    assign root_table[`FERRY_MAPPING_HOST_RANGE] = root_now[`FERRY_ROOT_HOST_RANGE];
    assign root_table[`FERRY_MAPPING_SNOOP_RANGE] = root_now[`FERRY_ROOT_SNOOP_RANGE];
    assign root_table[`FERRY_MAPPING_READ_ONLY_RANGE] = 1'b0;
    assign root_table[`FERRY_MAPPING_PROTECTED_RANGE] = 1'b0;
    assign root_table[`FERRY_MAPPING_LEAF_RANGE] = 1'b0;
    assign root_table[`FERRY_MAPPING_GROUP_RANGE] = 1'b0;
    assign root_table[`FERRY_MAPPING_PAGE_RANGE] = root_now[`FERRY_ROOT_PAGE_RANGE];
    assign root_ready = !sweeps_roots;
    wire beyond = (page[47:39] != 9'd0 && root_height != 2'd3) || (page[38:30] != 9'd0 && !root_height[1])
        || (page[29:21] != 9'd0 && root_height == 2'd0);

    always @(posedge clk) begin
        if (sweeps_roots || root_valid) begin
            roots[sweeps_roots ? sweep_reg : root_space] <= sweeps_roots ? {R{1'b0}} : root;
        end
    end

    // ---- What is remembered, and what was read ----
    wire         line_known;
    wire [M-1:0] line_mapping;
    wire         area_known;
    wire [M-1:0] area_mapping;
    wire         entry_valid;
    wire         entry_broken;
    wire [M-1:0] entry_mapping;
    // In pages: what is in use is counted in whole ones, and of a page that is protected in part all of it. Of a table
    // `protected` says that it lies in the protected range.
    wire [B-12:0] limit_page = local_limit[B:12];

    ferry_table_entry rules (
        .entry(beat_data), .height(height), .place(place), .valid(entry_valid), .broken(entry_broken),
        .mapping(entry_mapping)
    );
    wire again = look_side ? again_reg[1] : again_reg[0];
    // Not believed a second time: a large page, whereas the way to a table is as good as before.
    wire use_area = area_known && !(again && area_mapping[`FERRY_MAPPING_LEAF_RANGE]);
    wire from_area = use_area && !beat;
    // An entry, or a root: where it leads is looked at here. What is remembered was looked at when it was read, and goes when
    // the limits are others.
    wire [M-1:0] led;
    ferry_choice #(.WIDTH(M)) entry_or_root (.second(beat), .word0(root_table), .word1(entry_mapping), .chosen(led));
    wire led_host = led[`FERRY_MAPPING_HOST_RANGE];
    // As an entry says, whether or not it keeps the rules: one that breaks them has its fault without this.
    wire entry_leaf = beat_data[`FERRY_TABLE_ENTRY_ENTRY_LEAF_RANGE];
    wire says_leaf = beat && entry_leaf;
    wire [51:12] led_page = led[`FERRY_MAPPING_PAGE_RANGE];
    // The first and the last of its pages, if it stands for more than one. Some of them are in the protected range.
    wire led_group = led[`FERRY_MAPPING_GROUP_RANGE];
    wire led_large = says_leaf && height[0];
    wire [B-12:0] first_page = {1'b0, led_page[B-1:16], led_page[15:12] & ~{4{led_group}}};
    wire [B-12:0] last_page = {1'b0, led_page[B-1:21], led_page[20:16] | {5{led_large}},
        led_page[15:12] | {4{led_large || led_group}}};
    wire led_local = !led_host && led_page[51:B] == {(52-B){1'b0}};
    wire in_memory = (led_host && (says_leaf || HOST_TABLES)) || (led_local && last_page < limit_page);
    wire closed = led_local && last_page >= protect_base[B:12] && {first_page, 1'b0} < {protect_limit[B:12], |protect_limit[11:0]};
    wire [7:0] entry_fault = beat_error ? `FERRY_FAULT_KIND_TABLE_ERROR : !entry_valid ? `FERRY_FAULT_KIND_PAGE_ABSENT
        : entry_broken ? `FERRY_FAULT_KIND_TABLE_ENTRY
        : entry_leaf ? `FERRY_FAULT_KIND_RANGE : `FERRY_FAULT_KIND_TABLE_RANGE;
    wire [7:0] root_fault = !root_now[`FERRY_ROOT_VALID_RANGE] ? `FERRY_FAULT_KIND_PAGE_ABSENT : beyond ? `FERRY_FAULT_KIND_RANGE
        : `FERRY_FAULT_KIND_TABLE_RANGE;
    // Why, if there is no way on.
    wire [7:0] next_fault = beat ? entry_fault : root_fault;
    wire       led_bad = !in_memory || (beat ? beat_error || !entry_valid || entry_broken : !root_now[`FERRY_ROOT_VALID_RANGE] || beyond);
    reg  [M-1:0] read_mapping;
    always @* begin
        read_mapping = led;
        read_mapping[`FERRY_MAPPING_LEAF_RANGE] = says_leaf && !led_bad;
        read_mapping[`FERRY_MAPPING_PROTECTED_RANGE] = led[`FERRY_MAPPING_PROTECTED_RANGE] || closed;
    end
    wire [M-1:0] next_mapping;
    ferry_choice #(.WIDTH(M)) remembered_or_read (.second(from_area), .word0(read_mapping), .word1(area_mapping), .chosen(next_mapping));

    wire [2:0] read_state = led_bad ? S_FAULT : says_leaf ? S_DONE : S_ASK;
    wire       area_leaf = area_mapping[`FERRY_MAPPING_LEAF_RANGE];
    wire [2:0] next_state = !beat && line_known && !again ? S_LOOKED : from_area ? (area_leaf ? S_DONE : S_ASK) : read_state;
    wire [1:0] read_height = beat ? (says_leaf || led_bad ? height : height - 2'd1) : root_height;
    wire [1:0] next_height = from_area ? {1'b0, area_leaf} : read_height;
    // Of the table that is read next, if one is.
    wire [8:0] read_index = height == 2'd3 ? read_for_page[38:30] : height[1] ? read_for_page[29:21] : read_for_page[20:12];
    wire [1:0] look_height = use_area ? 2'd0 : root_height;
    wire [8:0] look_index = look_height[1] ? (look_height[0] ? page[47:39] : page[38:30])
        : look_height[0] ? page[29:21] : page[20:12];
    wire [8:0] next_index = beat ? read_index : look_index;
    assign missed = look && next_state != S_LOOKED && next_state != S_DONE;

`ifdef FORMAL
    (* anyconst *) reg [3:0]   formal_space;
    (* anyconst *) reg [47:12] formal_page;
    wire [3:0]  formal_set;
    wire [1:0]  formal_tagged, formal_grouped, formal_valid, formal_areas_known;
    wire        formal_fill_way, formal_fill_valid;
    wire [2:0]  formal_fill_from;
    wire [2*M-1:0] formal_lines, formal_areas;
`endif
    // An entry is kept in the cycle after it was read: one of level 1 of an area, for which its side has no use yet, one of level
    // 0 in a line.
    reg          area_fill_reg;
    reg          fill_first_reg;
    reg          fill_last_reg;
    reg          fill_side_reg;
    reg  [2:0]   fill_place_reg;
    reg  [M-1:0] fill_mapping_reg;
    always @(posedge clk) begin
        area_fill_reg <= entry && height == 2'd1 && !led_bad && !rst;
        line_fill_reg <= ((entry && height == 2'd0 && !led_bad) || behind) && !rst;
        line_write_reg <= line_fill_reg;
        fill_first_reg <= beat_first;
        fill_last_reg <= beat_last;
        fill_side_reg <= beat_side;
        fill_place_reg <= place[14:12];
        fill_mapping_reg <= read_mapping;
    end
    ferry_tlb lines (
        .clk(clk), .space(space), .page(page), .home(home), .known(line_known), .mapping(line_mapping),
        .fill(line_fill_reg && !forgetting), .fill_place(fill_place_reg), .fill_first(fill_first_reg),
        .fill_last(fill_last_reg), .fill_mapping(fill_mapping_reg), .forget(sweep), .forget_set(sweep_reg), .forget_scope(scope)
`ifdef FORMAL
        , .formal_space(formal_space), .formal_page(formal_page), .formal_set(formal_set), .formal_tagged(formal_tagged),
        .formal_grouped(formal_grouped), .formal_valid(formal_valid), .formal_mappings(formal_lines),
        .formal_fill_set(kept_home), .formal_fill_way(formal_fill_way), .formal_fill_valid(formal_fill_valid),
        .formal_fill_from(formal_fill_from)
`endif
    );
    ferry_table_cache areas (
        .clk(clk), .side(look_side), .space(space), .area(page[47:21]), .known(area_known),
        .mapping(area_mapping), .fill(area_fill_reg && !forgetting), .fill_side(fill_side_reg), .fill_space(kept_reg[3:0]),
        .fill_area(kept_reg[39:13]), .fill_mapping(fill_mapping_reg), .forget(sweep), .forget_place(sweep_reg),
        .forget_scope(scope)
`ifdef FORMAL
        , .formal_space(formal_space), .formal_area(formal_page[47:21]), .formal_known(formal_areas_known),
        .formal_mappings(formal_areas)
`endif
    );

    // ---- Answers: one a cycle, that of the look-aside buffer first ----
    // The side that is answered has a word of its own, and not that of the side that asks: who asks is known late.
    wire        of_line = looked != 2'd0;
    wire        tell = of_line || over != 2'd0;
    wire        told = of_line ? looked[1] : !over[0];
    wire [M-1:0] walked;
    wire [M-1:0] given;
    ferry_choice #(.WIDTH(M)) walked_side (.second(told), .word0(found0_reg), .word1(found1_reg), .chosen(walked));
    ferry_choice #(.WIDTH(M)) line_or_walk (.second(of_line), .word0(walked), .word1(line_mapping), .chosen(given));
    wire [L-1:0] given_for = told ? lookup[L +: L] : lookup[0 +: L];
    wire [1:0]  given_height = (told ? height1_reg : height0_reg) & {2{!of_line}};
    wire        failed = !of_line && (told ? state1_reg[0] : state0_reg[0]);
    wire        read_only = given[`FERRY_MAPPING_READ_ONLY_RANGE] && given_for[`FERRY_LOOKUP_WRITE_RANGE];
    wire        refused = given[`FERRY_MAPPING_PROTECTED_RANGE] && !given_for[`FERRY_LOOKUP_PROTECTED_RANGE];
    wire        good = given[`FERRY_MAPPING_LEAF_RANGE] && !failed && !read_only && !refused;
    wire        believed = good || (!of_line && (failed || (told ? fresh_reg[1] : fresh_reg[0])));
    wire [51:12] given_page = given[`FERRY_MAPPING_PAGE_RANGE];
    wire [20:12] for_page = given_for[4 +: 9];
    wire        is_large = given_height != 2'd0;
    wire        is_group = is_large || given[`FERRY_MAPPING_GROUP_RANGE];

    assign answer_valid = {told, !told} & {2{tell && believed}};
    assign answer[`FERRY_PAGE_HIT_RANGE] = good;
    assign answer[`FERRY_PAGE_HOST_RANGE] = given[`FERRY_MAPPING_HOST_RANGE];
    assign answer[`FERRY_PAGE_SNOOP_RANGE] = given[`FERRY_MAPPING_SNOOP_RANGE];
    // What a large page leaves open is 0 in its entry.
    assign answer[`FERRY_PAGE_PAGE_RANGE] = {given_page[51:21], given_page[20:16] | (for_page[20:16] & {5{is_large}}),
        is_group ? for_page[15:12] : given_page[15:12]};
    assign answer[`FERRY_PAGE_FAULT_RANGE] = good ? `FERRY_FAULT_KIND_NONE : failed ? (told ? fault1_reg : fault0_reg)
        : refused ? `FERRY_FAULT_KIND_PROTECTED : `FERRY_FAULT_KIND_PAGE_READ_ONLY;
    assign answer[`FERRY_PAGE_HEIGHT_RANGE] = given_height;
    assign seen = {seen1_reg, seen0_reg};

    // ---- State ----
    wire [1:0] begins = {look_side, !look_side} & {2{look}};
    wire [1:0] steps = begins | ({beat_side, !beat_side} & {2{entry}});
    wire [1:0] ends = {told, !told} & {2{tell}};
    wire [1:0] goes = {side, !side} & {2{taken}};
    // A read that was shown is not taken back.
    wire [1:0] stays = {side, !side} & {2{shown && !taken}};
    wire [1:0] refuses = asks & ~goes & ~stays & {2{drop}};

    always @(posedge clk) begin
        if (steps[0]) begin
            state0_reg <= next_state;
            found0_reg <= next_mapping;
            height0_reg <= next_height;
            index0_reg <= next_index;
            fault0_reg <= next_fault;
        end else if (goes[0]) begin
            state0_reg <= S_WAIT;
        end else if (ends[0]) begin
            state0_reg <= S_IDLE;
        end else if (refuses[0]) begin
            state0_reg <= S_FAULT;
        end
        if (steps[1]) begin
            state1_reg <= next_state;
            found1_reg <= next_mapping;
            height1_reg <= next_height;
            index1_reg <= next_index;
            fault1_reg <= next_fault;
        end else if (goes[1]) begin
            state1_reg <= S_WAIT;
        end else if (ends[1]) begin
            state1_reg <= S_IDLE;
        end else if (refuses[1]) begin
            state1_reg <= S_FAULT;
        end
        if (rst || (forgetting && !stays[0])) begin
            state0_reg <= S_IDLE;
        end
        if (rst || (forgetting && !stays[1])) begin
            state1_reg <= S_IDLE;
        end
        fresh_reg <= (fresh_reg | steps) & ~begins;
        again_reg <= (again_reg & ~ends) | (ends & ~answer_valid);
        if (begins[0] || (steps[0] && found0_reg[`FERRY_MAPPING_PROTECTED_RANGE])) begin
            seen0_reg <= 64'd0;
        end else if (steps[0]) begin
            seen0_reg <= beat_data;
        end
        if (begins[1] || (steps[1] && found1_reg[`FERRY_MAPPING_PROTECTED_RANGE])) begin
            seen1_reg <= 64'd0;
        end else if (steps[1]) begin
            seen1_reg <= beat_data;
        end
        if (beat) begin
            place_reg <= place + 4'd1;
        end
        if (beat_first) begin
            line_reg <= entry && height == 2'd0 && !led_bad;
        end
        if (forgetting) begin
            line_reg <= 1'b0;
        end
        if (sweep) begin
            sweep_reg <= sweep_reg + 4'd1;
            swept_reg <= &sweep_reg;
        end
        if (quiet) begin
            clearing_reg <= 1'b0;
            swept_reg <= 1'b0;
        end
        owed <= (shown || busy != 2'd0) && !rst;
        // Who forgets is known late.
        forget_reg <= forget_begins && !forget_ready && !rst;
        stopped_reg <= (stopped_reg | {2{forget_ready}}) & lookup_valid & ~answer_valid & {2{!rst}};
        if (rst || clear) begin
            clearing_reg <= 1'b1;
            swept_reg <= 1'b0;
            sweep_reg <= 4'd0;
        end
        if (rst) begin
            again_reg <= 2'd0;
            line_reg <= 1'b0;
        end
    end

`ifdef FORMAL
`include "ferry_page_tables_properties.vh"
`endif

    wire unused = &{1'b0, local_limit[11:0], protect_base[11:0], given_for};
endmodule

`default_nettype wire
