// SPDX-License-Identifier: Apache-2.0
// What the page-table unit promises, by induction. One page of one space is followed, whichever, and the two memories hold any
// tables at all, but mark what they give: in an entry's page number, `mark` is the level of the entry if it is the one by
// which the followed page is translated, else 7, and `renewed` says that it was read after some time at which all that
// covers the page had been forgotten, through tables that were. Then whatever is answered for the page must be so marked:
// its own entry, of its own space, at the end of its own walk, and no older than what was forgotten. The marks are in bits
// that the unit passes on and never looks at.
//
// And each request ends: no step of a request leads back but to be forgotten, which happens to it once.
//
// There is no cover: the first answer lies more than twenty cycles behind reset, which is out of the solver's reach. That such
// answers come, after forgetting too, is what the test (tests/rtl/mmu) shows.
    // Bits 50 to 48, and 47, of the address, in a mapping.
    localparam MARK = 42, NEW = 41;

    reg past_valid = 1'b0;
    wire checked = past_valid && !rst;
    always @(posedge clk) past_valid <= 1'b1;

    // ---- What comes from outside ----
    // A request stays until its answer; what is to be forgotten stays until it is.
    reg  [1:0]  held = 2'd0;
    reg  [2*L-1:0] lookup_was = 0;
    reg         forget_held = 1'b0;
    // It is being forgotten.
    reg         forget_begun = 1'b0;
    reg  [`FERRY_FORGET_BITS-1:0] forget_was = 0;
    // What covers the page was forgotten, at least at one time.
    (* anyseq *) reg notice;
    reg         renewed = 1'b0;
    wire [3:0]  forget_space = forget[`FERRY_FORGET_SPACE_RANGE];
    wire [47:12] forget_page = forget[`FERRY_FORGET_PAGE_RANGE];
    wire        covers = scope == `FERRY_FORGET_SCOPE_ALL || (forget_space == formal_space
        && (scope == `FERRY_FORGET_SCOPE_SPACE || (scope == `FERRY_FORGET_SCOPE_TABLE && forget_page[47:21] == formal_page[47:21])
            || (scope == `FERRY_FORGET_SCOPE_GROUP && forget_page[47:16] == formal_page[47:16])));
    always @(posedge clk) begin
        held <= rst ? 2'd0 : lookup_valid & ~answer_valid;
        lookup_was <= lookup;
        forget_held <= !rst && forget_valid && !forget_ready;
        forget_begun <= !rst && forget_begins && !forget_ready;
        forget_was <= forget;
        if (forget_valid && forget_ready && covers && notice) begin
            renewed <= 1'b1;
        end
        if (rst) begin
            renewed <= 1'b0;
        end
    end
    always @(*) begin
        assume (past_valid || rst);
        assume ((lookup_valid & held) == held);
        assume (!held[0] || lookup[L-1:0] == lookup_was[L-1:0]);
        assume (!held[1] || lookup[2*L-1:L] == lookup_was[2*L-1:L]);
        assume (!forget_held || (forget_valid && forget == forget_was));
        // The root of the space is marked as such: as an entry one level above it would be.
        assume (!root_valid || root_space != formal_space
            || root[`FERRY_ROOT_PAGE_RANGE] >> 35 == {1'b0, {1'b0, root[`FERRY_ROOT_HEIGHT_RANGE]} + 3'd1, 1'b1});
    end

    // ---- The two memories ----
    // The burst of each side: how its table is marked, the next entry, how many are left; it is read as the memory was when it
    // was asked for. If both are of one memory, which was the first.
    reg  [2:0] mark0 = 0, mark1 = 0;
    reg  [1:0] new_table = 0;
    reg  [8:0] next0 = 0, next1 = 0;
    reg  [2:0] left0 = 0, left1 = 0;
    reg  [1:0] out = 0;
    reg  [1:0] out_host = 0;
    reg        older = 0;
    wire [1:0] of_local = out & ~out_host;
    wire [1:0] of_host = out & out_host;
    wire       local_side = &of_local ? older : of_local[1];
    wire       host_side = &of_host ? older : of_host[1];
    // What a memory's next beat is: its level as its table is marked, and whether it is the page's.
    function [3:0] marked(input [2:0] mark, input [8:0] place, input entry_group);
        marked = (mark == 3'd1 && (place == formal_page[20:12] || (entry_group && place[8:4] == formal_page[20:16])))
            || (mark == 3'd2 && place == formal_page[29:21]) || (mark == 3'd3 && place == formal_page[38:30])
            || (mark == 3'd4 && place == formal_page[47:39]) ? {1'b0, mark} - 4'd1 : 4'd7;
    endfunction
    wire [63:0] local_word = local_r[`FERRY_AXI_R_DATA_RANGE];
    wire [63:0] host_word = host_r[`FERRY_AXI_R_DATA_RANGE];
    wire [3:0]  local_mark = marked(local_side ? mark1 : mark0, local_side ? next1 : next0, local_word[6]);
    wire [3:0]  host_mark = marked(host_side ? mark1 : mark0, host_side ? next1 : next0, host_word[6]);
    always @(*) begin
        assume (!local_rvalid || of_local != 0);
        assume (!host_rvalid || of_host != 0);
        assume (!local_rvalid || (local_word[50:48] == local_mark[2:0] && local_word[47] == new_table[local_side]));
        assume (!host_rvalid || (host_word[50:48] == host_mark[2:0] && host_word[47] == new_table[host_side]));
        assume (!local_rvalid || local_r[`FERRY_AXI_R_LAST_RANGE] == ((local_side ? left1 : left0) == 0));
        assume (!host_rvalid || host_r[`FERRY_AXI_R_LAST_RANGE] == ((host_side ? left1 : left0) == 0));
    end
    wire [63:0] local_asked = local_ar[`FERRY_AXI_A_ADDRESS_RANGE];
    wire [63:0] host_asked = host_ar[`FERRY_AXI_A_ADDRESS_RANGE];
    axi4_address_properties #(.BEATS(8)) local_ar_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(local_arvalid), .ready(local_arready), .page_offset(local_asked[11:0]),
        .page(local_asked[63:12]), .length(local_ar[`FERRY_AXI_A_LENGTH_RANGE]), .extra(local_ar[`FERRY_AXI_A_NO_SNOOP_RANGE])
    );
    axi4_address_properties #(.BEATS(8)) host_ar_properties (
        .clk(clk), .rst(rst || !past_valid), .valid(host_arvalid), .ready(host_arready), .page_offset(host_asked[11:0]),
        .page(host_asked[63:12]), .length(host_ar[`FERRY_AXI_A_LENGTH_RANGE]), .extra(host_ar[`FERRY_AXI_A_NO_SNOOP_RANGE])
    );
    wire [63:0] asked = host_arvalid ? host_asked : local_asked;
    wire [7:0]  asked_length = host_arvalid ? host_ar[`FERRY_AXI_A_LENGTH_RANGE] : local_ar[`FERRY_AXI_A_LENGTH_RANGE];
    wire        answers_side = host_rvalid && host_rready ? host_side : local_side;
    wire        answers = (host_rvalid && host_rready) || (local_rvalid && local_rready);
    always @(posedge clk) begin
        if (answers) begin
            out[answers_side] <= (answers_side ? left1 : left0) != 0;
            if (answers_side) begin
                next1 <= next1 + 1;
                left1 <= left1 - 1;
            end else begin
                next0 <= next0 + 1;
                left0 <= left0 - 1;
            end
        end
        if (taken && !side) begin
            {mark0, next0, left0} <= {asked[50:48], asked[11:3], asked_length[2:0]};
        end
        if (taken && side) begin
            {mark1, next1, left1} <= {asked[50:48], asked[11:3], asked_length[2:0]};
        end
        if (taken) begin
            out[side] <= 1'b1;
            out_host[side] <= host_arvalid;
            new_table[side] <= asked[47] && renewed;
            older <= !side;
        end
        if (rst) begin
            out <= 2'd0;
        end
    end

    // A read was shown in the cycle before, and not taken.
    reg         stood = 1'b0;
    always @(posedge clk) stood <= shown && !taken && !rst;

    // ---- Why it holds: what is kept of the page, and of what leads to it, is marked as it must be ----
    function fine(input [M-1:0] mapping, input [2:0] mark);
        fine = mapping[MARK +: 3] == mark && (!renewed || mapping[NEW]);
    endfunction
    // The page and the followed one are in one table of this level.
    function along(input [47:12] other, input [1:0] level);
        along = level == 2'd3 || (other[47:39] == formal_page[47:39]
            && (level == 2'd2 || (other[38:30] == formal_page[38:30] && (level == 2'd1 || other[29:21] == formal_page[29:21]))));
    endfunction
    function [8:0] place_of(input [47:12] other, input [1:0] level);
        place_of = level == 2'd3 ? other[47:39] : level == 2'd2 ? other[38:30] : level == 2'd1 ? other[29:21] : other[20:12];
    endfunction
    wire [47:12] page0 = lookup[4 +: 36];
    wire [47:12] page1 = lookup[L+4 +: 36];
    wire        ours0 = lookup[3:0] == formal_space;
    wire        ours1 = lookup[L+3:L] == formal_space;
    wire [R-1:0] formal_root = roots[formal_space];
    reg         stopped = 1'b0;
    always @(posedge clk) stopped <= forgetting && !rst && past_valid;
    wire        within = formal_within;
    wire        within_side = formal_within_host ? host_side : local_side;
    wire [8:0]  within_next = within_side ? next1 : next0;
    // An entry stands in the register before the lines: the first of one, or one of the line that is being filled. What is
    // forgotten next takes its place, and the line is dropped.
    wire [47:12] kept_page = kept_reg[`FERRY_LOOKUP_PAGE_RANGE];
    wire        line_starts = line_fill_reg && fill_first_reg && !forget_reg;
    wire        line_goes_on = line_fill_reg && !fill_first_reg && !forget_reg;
    wire        fill_group = fill_mapping_reg[`FERRY_MAPPING_GROUP_RANGE];
    wire        starts_ours = line_starts && kept_reg[3:0] == formal_space && kept_page[47:16] == formal_page[47:16]
        && (fill_group || (kept_page[15] == formal_page[15] && formal_page[14:12] >= kept_page[14:12]));
    // Of a line its memory has still entries; there is one that is being filled, up to this place; it is the page's.
    wire        line_comes = line_reg && within && !forget_reg;
    wire        line_open = line_goes_on || (line_comes && !line_starts);
    wire [2:0]  line_end = line_goes_on ? fill_place_reg : place_reg[14:12];
    wire        fill_tagged = kept_home == formal_set && (formal_fill_way ? formal_tagged[1] : formal_tagged[0]);
    wire        filling = line_open && fill_tagged;
    wire        fill_grouped = formal_fill_way ? formal_grouped[1] : formal_grouped[0];
    wire [M-1:0] fill_has = formal_fill_way ? formal_lines[M +: M] : formal_lines[0 +: M];
    wire [2:0]  line_from = line_starts ? fill_place_reg : formal_fill_from;
    // The entry in the register is the page's.
    wire        fills_line = starts_ours ? fill_group || fill_place_reg == formal_page[14:12]
        : line_goes_on && fill_tagged && !fill_grouped && fill_place_reg == formal_page[14:12];
    wire        fills_area = area_fill_reg && !forget_reg && kept_reg[3:0] == formal_space && kept_page[47:21] == formal_page[47:21];
    integer k;
    always @(*) if (checked) begin
        // Bookkeeping of the reads.
        assert (busy == out && (formal_busy_host & out) == (out_host & out));
        assert (of_local == 0 || formal_first_side[0] == local_side);
        assert (of_host == 0 || formal_first_side[1] == host_side);
        assert (!within || (formal_within_host ? of_host != 0 : of_local != 0));
        assert (!formal_held || (asks[formal_held_side] && !busy[formal_held_side]));
        assert (!(asks[0] && waits[0]));
        assert (!waits[0] || (out[0] && !(within && !within_side) && lookup_valid[0] && mark0 == found0_reg[MARK +: 3]
            && new_table[0] == (found0_reg[NEW] && renewed) && next0 == index0_reg
            && left0 == (height0_reg == 0 ? ~index0_reg[2:0] : 3'd0)));
        assert (!waits[1] || (out[1] && !(within && within_side) && lookup_valid[1] && mark1 == found1_reg[MARK +: 3]
            && new_table[1] == (found1_reg[NEW] && renewed) && next1 == index1_reg
            && left1 == (height1_reg == 0 ? ~index1_reg[2:0] : 3'd0)));
        assert (state0_reg <= S_FAULT && state1_reg <= S_FAULT);
        assert (!(looked[0] && looked[1]));
        assert ((idle[0] || held[0] || formal_held) && (idle[1] || held[1] || formal_held));
        assert ((idle[0] || lookup_valid[0]) && (idle[1] || lookup_valid[1]));
        // While it is forgotten nothing is under way but a read that was shown.
        assert (!stopped || (idle[0] || (formal_held && !formal_held_side && asks[0])));
        assert (!stopped || (idle[1] || (formal_held && formal_held_side && asks[1])));
        assert (!stopped || !(line_reg || area_fill_reg || line_fill_reg));
        assert (!swept_reg || sweep_reg == 4'd0);
        assert ((!swept_reg && sweep_reg == 4'd0) || (stopped && (forget_begun || clearing_reg)));
        assert (forget_reg == forget_begun && (!forget_begun || forget_held));
        assert (!forget_reg || kept_reg == {forget_page, forget_space});
        // Walks.
        assert (!(asks[0] || waits[0]) || index0_reg == place_of(page0, height0_reg));
        assert (!(asks[1] || waits[1]) || index1_reg == place_of(page1, height1_reg));
        assert (!(asks[0] || waits[0]) || !ours0 || !along(page0, height0_reg) || fine(found0_reg, {1'b0, height0_reg} + 3'd1));
        assert (!(asks[1] || waits[1]) || !ours1 || !along(page1, height1_reg) || fine(found1_reg, {1'b0, height1_reg} + 3'd1));
        assert (!(state0_reg == S_DONE && ours0 && page0 == formal_page) || fine(found0_reg, {1'b0, height0_reg}));
        assert (!(state1_reg == S_DONE && ours1 && page1 == formal_page) || fine(found1_reg, {1'b0, height1_reg}));
        assert (!(state0_reg == S_DONE) || (!height0_reg[1] && (found0_reg[`FERRY_MAPPING_LEAF_RANGE] || !fresh_reg[0])));
        assert (!(state1_reg == S_DONE) || (!height1_reg[1] && (found1_reg[`FERRY_MAPPING_LEAF_RANGE] || !fresh_reg[1])));
        assert (!formal_root[`FERRY_ROOT_VALID_RANGE] || formal_root[`FERRY_ROOT_PAGE_RANGE] >> 35
            == {1'b0, {1'b0, formal_root[`FERRY_ROOT_HEIGHT_RANGE]} + 3'd1, 1'b1} || (sweeps_roots && sweep_reg <= formal_space));
        // What is remembered.
        for (k = 0; k < 2; k = k + 1) begin
            assert (!(formal_valid[k] && formal_tagged[k] && formal_lines[M*k + 4]) || clearing_reg || fine(formal_lines[M*k +: M], 3'd0));
            assert (!formal_areas_known[k] || clearing_reg || fine(formal_areas[M*k +: M], 3'd1));
        end
        assert (!(looked[0] && ours0 && page0 == formal_page && line_mapping[4]) || fine(line_mapping, 3'd0));
        assert (!(looked[1] && ours1 && page1 == formal_page && line_mapping[4]) || fine(line_mapping, 3'd0));
        assert (!fills_area || fine(fill_mapping_reg, 3'd1));
        assert (!fills_line || !fill_mapping_reg[4] || fine(fill_mapping_reg, 3'd0));
        // A line that is being filled.
        assert (!line_open || !formal_fill_valid);
        assert (!line_starts || fill_place_reg == kept_page[14:12]);
        assert (!line_goes_on || fill_place_reg > formal_fill_from);
        assert (!(line_starts || line_goes_on) || (fill_last_reg ? fill_place_reg == 3'd7
            : line_comes && place_reg[14:12] == fill_place_reg + 3'd1 && fill_place_reg != 3'd7));
        assert (!line_comes || (place_reg == within_next[3:0] && within_next[2:0] > line_from
            && (within_side ? left1 : left0) == ~within_next[2:0]));
        assert (!(line_comes && (line_starts ? starts_ours && !fill_group : filling && !fill_grouped))
            || ((within_side ? mark1 : mark0) == 3'd1 && (!renewed || new_table[within_side])
            && within_next[8:3] == formal_page[20:15]));
        assert (!filling || !fill_has[4] || !(fill_grouped || formal_page[14:12] < line_end) || fine(fill_has, 3'd0));
        // What was swept has nothing of it left.
        if (forgetting && covers && (swept_reg || sweep_reg > formal_set)) begin
            assert ((formal_valid & formal_tagged) == 0);
        end
        if (forgetting && covers && (swept_reg || sweep_reg > {1'b0, formal_page[23:21]})) begin
            assert (!formal_areas_known[0]);
        end
        if (forgetting && covers && (swept_reg || sweep_reg > {1'b1, formal_page[23:21]})) begin
            assert (!formal_areas_known[1]);
        end
        if (sweeps_roots && sweep_reg > formal_space) begin
            assert (!formal_root[`FERRY_ROOT_VALID_RANGE]);
        end

        // ---- The claims ----
        if (answer_valid[0] && ours0 && page0 == formal_page && answer[`FERRY_PAGE_HIT_RANGE]) begin
            assert (fine(given, {1'b0, given_height}));
        end
        if (answer_valid[1] && ours1 && page1 == formal_page && answer[`FERRY_PAGE_HIT_RANGE]) begin
            assert (fine(given, {1'b0, given_height}));
        end
        // Forgotten is what no read is out for.
        assert (!(forget_valid && forget_ready) || (out == 2'd0 && !shown));
        // No table is read at a place that only something forgotten named.
        assert (!(shown && !side && ours0 && along(page0, height0_reg) && renewed) || asked[47]);
        assert (!(shown && side && ours1 && along(page1, height1_reg) && renewed) || asked[47]);
        assert ((answer_valid & ~lookup_valid) == 0 && answer_valid != 2'd3);
        // For an engine that drops its jobs no read begins: on the bus is what stood there. What is refused has a reason.
        assert (!(drop && shown) || stood);
        assert (!(asks[0] || waits[0] || state0_reg == S_FAULT) || fault0_reg != `FERRY_FAULT_KIND_NONE);
        assert (!(asks[1] || waits[1] || state1_reg == S_FAULT) || fault1_reg != `FERRY_FAULT_KIND_NONE);
    end

    // ---- What is in the protected range is not shown ----
    // The limits are as they were when all was forgotten last. In their range is the table of the read that is out; was that of
    // the entry which a side saw last. What a table of level 0 is remembered by says so too.
    wire [3*B+2:0] limits = {local_limit, protect_base, protect_limit};
    reg  [3*B+2:0] limits_was;
    reg         since_then = 1'b0;
    wire        steady = since_then && limits == limits_was;
    reg  [1:0]  reads_closed = 0, saw_closed = 0;
    function in_closed(input [51:12] table_page);
        in_closed = table_page[51:B] == 0 && {1'b0, table_page[B-1:12]} >= protect_base[B:12]
            && {1'b0, table_page[B-1:12], 12'd0} < protect_limit;
    endfunction
    wire shuts0 = !found0_reg[`FERRY_MAPPING_HOST_RANGE] && in_closed(found0_reg[`FERRY_MAPPING_PAGE_RANGE]);
    wire shuts1 = !found1_reg[`FERRY_MAPPING_HOST_RANGE] && in_closed(found1_reg[`FERRY_MAPPING_PAGE_RANGE]);
    always @(posedge clk) begin
        limits_was <= limits;
        since_then <= !rst && (steady || (quiet && checked && scope == `FERRY_FORGET_SCOPE_ALL));
        if (taken) begin
            reads_closed[side] <= local_arvalid && in_closed(ask_address[51:12]);
        end
        saw_closed <= rst ? 2'd0 : (saw_closed & ~steps) | (steps & ~begins & reads_closed);
    end
    // A table that is protected is remembered as such.
    function open_table(input [M-1:0] mapping);
        open_table = !mapping[`FERRY_MAPPING_LEAF_RANGE] && !mapping[`FERRY_MAPPING_HOST_RANGE]
            && in_closed(mapping[`FERRY_MAPPING_PAGE_RANGE]) && !mapping[`FERRY_MAPPING_PROTECTED_RANGE];
    endfunction
    wire in_area0 = ours0 && page0[47:21] == formal_page[47:21];
    wire in_area1 = ours1 && page1[47:21] == formal_page[47:21];
    always @(*) if (checked && steady) begin
        for (k = 0; k < 2; k = k + 1) begin
            assert (!formal_areas_known[k] || clearing_reg || !open_table(formal_areas[M*k +: M]));
        end
        assert (!fills_area || !open_table(fill_mapping_reg));
        assert (!(asks[0] && in_area0) || !shuts0 || found0_reg[`FERRY_MAPPING_PROTECTED_RANGE]);
        assert (!(asks[1] && in_area1) || !shuts1 || found1_reg[`FERRY_MAPPING_PROTECTED_RANGE]);
        assert (!(waits[0] && in_area0) || !reads_closed[0] || found0_reg[`FERRY_MAPPING_PROTECTED_RANGE]);
        assert (!(waits[1] && in_area1) || !reads_closed[1] || found1_reg[`FERRY_MAPPING_PROTECTED_RANGE]);
        assert (!(saw_closed[0] && in_area0) || idle[0] || seen0_reg == 64'd0);
        assert (!(saw_closed[1] && in_area1) || idle[1] || seen1_reg == 64'd0);
    end

    // ---- Each request ends ----
    // Forgetting, but for `clear`, stops a request once: it began in front of its end at most.
    reg  [1:0] was_stopped = 0;
    always @(posedge clk) begin
        was_stopped <= (was_stopped | {2{forget_valid && forget_ready}}) & lookup_valid & ~answer_valid & {2{!rst}};
    end
    always @(*) if (checked) begin
        assert (stopped_reg == was_stopped);
        assert (!forget_reg || was_stopped == 2'd0);
    end
    // What is left to do for it: each step takes some away.
    function [7:0] rest(input [2:0] state, input again, input fresh, input [1:0] level);
        rest = state == S_IDLE ? (again ? 8'd20 : 8'd40) : state == S_LOOKED || (state == S_DONE && !fresh) ? 8'd30
            : state == S_ASK ? 8'd3 + {5'd0, level, 1'b0} : state == S_WAIT ? 8'd2 + {5'd0, level, 1'b0} : 8'd1;
    endfunction
    wire [7:0] rest0 = rest(state0_reg, again_reg[0], fresh_reg[0], height0_reg);
    wire [7:0] rest1 = rest(state1_reg, again_reg[1], fresh_reg[1], height1_reg);
    reg  [7:0] rest0_was = 0, rest1_was = 0;
    reg  [1:0] moved = 0;
    reg  [1:0] may_stay = 0;
    always @(posedge clk) begin
        rest0_was <= rest0;
        rest1_was <= rest1;
        moved <= {2{checked && !forgets}} & lookup_valid & ~answer_valid;
        // It waits for its own or another's beat, its turn, a read to be taken, or another's answer.
        may_stay <= {state1_reg == S_IDLE ? beat || line_fill_reg || line_write_reg || !picked_reg[1]
                : state1_reg == S_ASK ? !(taken && side) && (busy[1] || shown)
                : state1_reg == S_WAIT ? out[1] && !(answers && answers_side) : over[1] && (of_line || ends[0]),
            state0_reg == S_IDLE ? beat || line_fill_reg || line_write_reg || !picked_reg[0]
                : state0_reg == S_ASK ? !(taken && !side) && (busy[0] || shown)
                : state0_reg == S_WAIT ? out[0] && !(answers && !answers_side) : over[0] && (of_line || ends[1])};
    end
    // Who is picked has a request that is not begun, and is looked up with its own page. Where one waits, one is picked.
    reg  some_wait = 0;
    always @(posedge clk) some_wait <= checked && !look && (lookup_valid & idle) != 2'd0;
    always @(*) if (checked) begin
        assert (!(&picked_reg) && (picked_reg & ~(lookup_valid & idle)) == 2'd0);
        assert (picked_reg == 2'd0 || (picked_page_reg == (picked_reg[1] ? lookup[L +: 40] : lookup[39:0])
            && picked_home_reg == (picked_page_reg[11:8] ^ picked_page_reg[15:12] ^ picked_page_reg[3:0])));
        assert (!some_wait || picked_reg != 2'd0);
    end
    always @(*) if (checked) begin
        assert (!again_reg[0] || state0_reg != S_LOOKED);
        assert (!again_reg[1] || state1_reg != S_LOOKED);
        assert (!(again_reg[0] && state0_reg == S_DONE) || fresh_reg[0]);
        assert (!(again_reg[1] && state1_reg == S_DONE) || fresh_reg[1]);
        assert (!moved[0] || (may_stay[0] ? rest0 <= rest0_was : rest0 < rest0_was));
        assert (!moved[1] || (may_stay[1] ? rest1 <= rest1_was : rest1 < rest1_was));
    end
