// SPDX-License-Identifier: Apache-2.0
// What is known of each read tag: whether its request waits for completions, how many beats are still to come, how it
// ended, and since when it waits. Judges every completion: its data goes into the tag's slot of the reorder memory only
// when the tag waits and the completion's byte count continues where the one before it ended (base specification
// 2.3.1.1). A tag that timed out, or whose data was poisoned half way, is late: it is not used again until its last
// completion has arrived, or until about sixteen times the time-out has passed.
//
// All of it stands in small memories rather than in a flip-flop a tag. A request flips the tag's mark in the memories
// that requests write, an end flips it in the memory that ends write: a tag waits while the two differ.
`default_nettype none

module ferry_tag_table #(
    // log2 of the tags.
    parameter LG_TAGS = 5
) (
    // Clock.
    input  wire clk,
    // Synchronous reset, active high. For as many cycles as there are tags after it, requests wait.
    input  wire rst,

    // Cycles that a request waits for its completion; 0 = for ever. The true limit lies between this and 9/8 of it.
    input  wire [31:0]        completion_timeout,
    // Every request that waits is ended as one that timed out.
    input  wire               abandon,
    // Requester id that completions must carry.
    input  wire [15:0]        requester_id,

    // A request takes take_tag for take_beats beats (0: the tag is passed over). Held until ready.
    input  wire               take_valid,
    input  wire [LG_TAGS-1:0] take_tag,
    input  wire [6:0]         take_beats,
    // The request was not sent: the tag does not wait, and what is known of it stays.
    input  wire               take_unsent,
    output wire               take_ready,
    // take_tag is late; the mark that its request gets.
    output wire               take_late,
    output wire               take_mark,

    // The same of a requester with a tag of its own, the highest, whose requests were sent: it goes first. Whether the request
    // whose mark it holds still waits, and how it ended, as below.
    input  wire               line_valid,
    input  wire [6:0]         line_beats,
    output wire               line_ready,
    output wire               line_late,
    output wire               line_mark,
    input  wire               line_held_mark,
    output wire               line_waits,
    output wire [1:0]         line_fault,

    // Completions from ferry_tlp_receive.
    input  wire               completion_valid,
    input  wire               completion_write,
    input  wire               completion_last,
    input  wire               completion_good,
    input  wire [7:0]         completion_tag,
    input  wire [15:0]        completion_requester,
    input  wire [2:0]         completion_status,
    input  wire [11:0]        completion_bytes,
    input  wire [9:0]         completion_words,
    input  wire               completion_has_data,
    input  wire               completion_poisoned,

    // The beat of this cycle goes to this place of the reorder memory. The data of a tag ends at beat 63 of its slot.
    output wire               write_valid,
    output wire [LG_TAGS+5:0] write_address,

    // The oldest tag and the mark of its request: still waiting; how it ended: 0 well, 1 unsupported request, 2 abort or
    // poison, 3 time-out.
    input  wire [LG_TAGS-1:0] oldest_tag,
    input  wire               oldest_mark,
    output wire               oldest_waits,
    output wire [1:0]         oldest_fault,

    // One-cycle strobes: a completion that nobody asked for, or that comes too late, was dropped; a request was answered
    // Unsupported Request, Completer Abort, or not in time.
    output wire               count_unexpected,
    output wire               got_unsupported,
    output wire               got_abort,
    output wire               got_timeout
);
    localparam TAGS = 1 << LG_TAGS;
    localparam [1:0] FAULT_NONE = 2'd0;
    localparam [1:0] FAULT_UNSUPPORTED = 2'd1;
    localparam [1:0] FAULT_ABORT = 2'd2;
    localparam [1:0] FAULT_TIMEOUT = 2'd3;

    // {mark of the last end, late, how it ended}
    reg [3:0] end_memory [0:TAGS-1];
    // {mark of the request, beats to come}
    reg [7:0] beats_memory [0:TAGS-1];
    // {mark of the request, when it was sent in ticks, or when it became late in sixteens of ticks}
    reg [4:0] stamp_memory [0:TAGS-1];

    // After reset every entry is cleared once.
    reg               clear_reg;
    // The tag whose time is looked at, or that is cleared.
    reg [LG_TAGS-1:0] scan_reg;
    // A tick is an eighth of the time-out, at least 8 cycles; 2^20 cycles while there is none, so that late tags come
    // back at all.
    reg [28:0]        period_reg;
    reg [7:0]         tick_reg;
    // Beats of the completion so far.
    reg [5:0]         index_reg;

    wire limited = completion_timeout != 32'd0;
    wire tick = period_reg >= completion_timeout[31:3] && period_reg[28:3] != 26'd0 && (limited || period_reg[20]);

    // Completions.
    wire [LG_TAGS-1:0] tag = completion_tag[LG_TAGS-1:0];
    wire [3:0] tag_end = end_memory[tag];
    wire [7:0] tag_beats = beats_memory[tag];
    wire mine = completion_tag[7:LG_TAGS] == {8-LG_TAGS{1'b0}} && completion_requester == requester_id && !clear_reg;
    wire waits = mine && tag_beats[7] != tag_end[3];
    wire late = mine && tag_end[2];
    wire [6:0] beats = tag_beats[6:0];
    wire failed = completion_status != 3'd0;
    wire fits = completion_has_data && !completion_words[0] && completion_words[9:8] == 2'd0 &&
                completion_words[7:1] != 7'd0 && completion_words[7:1] <= beats &&
                completion_bytes == {2'd0, beats, 3'd0};
    wire all_here = failed || completion_words[7:1] == beats;
    wire finish = completion_valid && completion_last && completion_good && (waits || late) && (failed || fits);
    wire finish_ends = finish && waits && (all_here || completion_poisoned);
    wire [5:0] place = index_reg - beats[5:0];

    // Time-outs: one tag is looked at in a cycle in which nothing else is done. A request that was sent goes before them: tags that
    // waited together end one behind the other, and its answer may be here before the last of them.
    wire       sent = line_valid || (take_valid && take_beats != 7'd0);
    wire       looks = !finish && !sent && !clear_reg;
    wire [3:0] scan_end = end_memory[scan_reg];
    wire [4:0] scan_stamp = stamp_memory[scan_reg];
    wire [3:0] age = (scan_end[2] ? tick_reg[7:4] : tick_reg[3:0]) - scan_stamp[3:0];
    wire       old = age >= 4'd9 && looks;
    wire       over = (old && limited) || (abandon && looks);
    wire       expire = over && scan_stamp[4] != scan_end[3];
    wire       forget = old && scan_end[2];

    // What becomes of a tag. Completions go before new requests, and those that were sent before time-outs; a tag that is passed
    // over keeps what is known of it.
    wire               stop = finish_ends || expire;
    wire               change = finish || expire || forget || clear_reg;
    wire               take = (take_valid && take_ready && take_beats != 7'd0 && !take_unsent) || (line_valid && line_ready);
    wire               asks_mark = line_valid ? line_mark : take_mark;
    wire [LG_TAGS-1:0] change_tag = finish ? tag : scan_reg;
    wire [LG_TAGS-1:0] table_tag = change ? change_tag : take_tag | {LG_TAGS{line_valid}};
    wire [3:0]         change_end = finish ? tag_end : scan_end;
    wire [3:2]         take_end;
    wire [1:0]         unused_take;
    wire [1:0]         fault = !finish ? FAULT_TIMEOUT :
                               failed ? (completion_status == 3'd4 ? FAULT_ABORT : FAULT_UNSUPPORTED) :
                               completion_poisoned ? FAULT_ABORT : FAULT_NONE;
    wire               oldest_end;
    wire               unused_oldest;
    wire               line_end;

    assign {take_end, unused_take} = end_memory[take_tag];
    assign {oldest_end, unused_oldest, oldest_fault} = end_memory[oldest_tag];
    assign {line_end, line_late, line_fault} = end_memory[{LG_TAGS{1'b1}}];
    assign take_ready = !change && !line_valid;
    assign line_ready = !change;
    assign line_mark = !line_end;
    assign line_waits = line_held_mark != line_end;
    assign take_late = take_end[2];
    assign take_mark = !take_end[3] ^ take_unsent;
    assign write_valid = completion_valid && completion_write && waits && !failed && fits;
    assign write_address = {tag, place};
    assign oldest_waits = oldest_mark != oldest_end;
    assign got_unsupported = finish_ends && failed && completion_status != 3'd4;
    assign got_abort = finish_ends && completion_status == 3'd4;
    assign got_timeout = expire;
    // What is left of an answer that was poisoned half way was asked for; a late tag of any other fault was given up on.
    assign count_unexpected = completion_valid && completion_last && completion_good
        && !(finish && (waits || tag_end[1:0] == FAULT_ABORT));

    always @(posedge clk) begin
        if (change)
            end_memory[change_tag] <= clear_reg ? 4'd0 :
                                      {change_end[3] ^ stop, stop ? !finish || !all_here : change_end[2] && finish && !all_here,
                                       stop ? fault : change_end[1:0]};
        if (finish || take || clear_reg)
            beats_memory[table_tag] <= clear_reg ? 8'd0 :
                                       finish ? {tag_beats[7], beats - completion_words[7:1]} :
                                       {asks_mark, line_valid ? line_beats : take_beats};
        if (stop || take || clear_reg)
            stamp_memory[table_tag] <= {!clear_reg && (change ? !change_end[3] : asks_mark),
                                        change ? tick_reg[7:4] : tick_reg[3:0]};
    end

    always @(posedge clk) begin
        scan_reg <= scan_reg + {{LG_TAGS-1{1'b0}}, clear_reg || looks};
        if (scan_reg == {LG_TAGS{1'b1}})
            clear_reg <= 1'b0;
        period_reg <= tick ? 29'd1 : period_reg + 29'd1;
        if (tick)
            tick_reg <= tick_reg + 8'd1;
        if (completion_valid)
            index_reg <= completion_last ? 6'd0 : index_reg + {5'd0, completion_write};
        if (rst) begin
            clear_reg <= 1'b1;
            period_reg <= 29'd1;
            tick_reg <= 8'd0;
            scan_reg <= {LG_TAGS{1'b0}};
            index_reg <= 6'd0;
        end
    end

`ifdef FORMAL
    // Any one tag is followed from the side of the bus: its request, the completions that may be meant for it, and what the
    // host still owes. No beat but of a completion that the tag waits for goes to its slot, beats come to places without
    // a gap, a request ends well only with all of its beats, and a tag is free again only when the host owes nothing for
    // it, or has had a long time.
    reg past_valid = 1'b0;
    always @(posedge clk) past_valid <= 1'b1;
    always @(*) assume (rst == !past_valid);

    (* anyconst *) reg [LG_TAGS-1:0] follow;
    wire [3:0] entry = end_memory[follow];
    wire [7:0] entry_beats = beats_memory[follow];
    wire [4:0] entry_stamp = stamp_memory[follow];

    // Of the request: it waits, its beats, and those that came whole. Beats the host may still send.
    reg        asked;
    reg        asked_mark;
    reg [6:0]  total;
    reg [6:0]  came;
    reg [6:0]  owed;
    // Beats of the completion at hand.
    reg [5:0]  index;
    reg        begun;
    reg [63:0] header_shown;
    wire [52:0] header = {completion_tag, completion_requester, completion_status, completion_bytes, completion_words,
                          completion_has_data, completion_poisoned, 2'd0};

    wire meant = completion_tag == {{8-LG_TAGS{1'b0}}, follow} && completion_requester == requester_id && !clear_reg;
    wire [6:0] beats_now = completion_words[7:1];
    // What the bus's rules say of it: an error ends the request; data goes on where the one before it ended.
    wire is_error = completion_status != 3'd0;
    wire goes_on = completion_has_data && !completion_words[0] && completion_words[9:1] != 9'd0
        && {1'b0, completion_words[9:1]} <= {3'd0, owed} && completion_bytes == {2'd0, owed, 3'd0};
    wire arrived = completion_valid && completion_last && completion_good && meant && owed != 7'd0 && (is_error || goes_on);
    wire gives_all = is_error || beats_now == owed;
    wire takes_it = take && (line_valid ? follow == {LG_TAGS{1'b1}} : take_tag == follow);
    wire ends = asked && (arrived ? gives_all || completion_poisoned : expire && scan_reg == follow);

    always @(*) begin
        // ferry_requester_read: a tag is asked for again only when its request is over and it is not late.
        assume (take_beats <= 7'd64 && line_beats <= 7'd64 && line_beats != 7'd0);
        assume (!(take && !line_valid && take_tag == follow) || (!asked && !take_late));
        // ferry_requester_line, whose tag ferry_requester_read passes over.
        assume (!line_valid || !(take_valid && take_tag == {LG_TAGS{1'b1}} && take_beats != 7'd0));
        assume (!(take && line_valid && follow == {LG_TAGS{1'b1}}) || (!asked && !line_late));
        // ferry_tlp_receive: one completion after the other, with as many beats of data as its words say; its header
        // stands beside each.
        if (past_valid && begun)
            assume (header == header_shown[52:0]);
        assume (!(completion_valid && completion_write) || {4'd0, index} < completion_words[9:1]);
        assume (!(completion_valid && completion_last && completion_good && completion_has_data && completion_status == 3'd0)
            || {4'd0, index} + completion_write == completion_words[9:1]);
    end

    always @(posedge clk) begin
        header_shown <= {11'd0, header};
        if (completion_valid) begin
            begun <= !completion_last;
            index <= completion_last ? 6'd0 : index + {5'd0, completion_write};
        end
        if (takes_it) begin
            asked <= 1'b1;
            asked_mark <= asks_mark;
            total <= line_valid ? line_beats : take_beats;
            came <= 7'd0;
            owed <= line_valid ? line_beats : take_beats;
        end
        if (arrived) begin
            owed <= is_error ? 7'd0 : owed - beats_now;
            came <= came + (is_error ? 7'd0 : beats_now);
        end
        if (ends)
            asked <= 1'b0;
        // After a long time the host is taken to owe nothing any more.
        if (forget && scan_reg == follow)
            owed <= 7'd0;
        if (rst) begin
            asked <= 1'b0;
            owed <= 7'd0;
            came <= 7'd0;
            total <= 7'd0;
            index <= 6'd0;
            begun <= 1'b0;
        end
    end

    reg asked_before;
    reg well;
    always @(posedge clk) begin
        asked_before <= asked && !rst;
        well <= ends && arrived && !is_error && !completion_poisoned;
    end

    always @(*) if (past_valid) begin
        assert (index == index_reg);
        if (clear_reg) begin
            assert (!asked && owed == 7'd0);
            assert (scan_reg <= follow || (entry == 4'd0 && entry_beats == 8'd0 && entry_stamp[4] == 1'b0));
        end else begin
            // It waits while it is asked for, as whoever holds its mark sees it.
            assert (asked == (entry_beats[7] != entry[3]));
            assert (!asked || asked_mark != entry[3]);
            assert (entry_beats[7] == entry_stamp[4]);
            assert (!(asked && entry[2]));
            if (oldest_tag == follow && oldest_mark == asked_mark && asked)
                assert (oldest_waits);
            if (follow == {LG_TAGS{1'b1}} && line_held_mark == asked_mark && asked)
                assert (line_waits);
            // Free is what is neither asked for nor late: nothing is owed then.
            assert (asked || entry[2] || owed == 7'd0);
            assert (!asked || (owed != 7'd0 && owed + came == total && total <= 7'd64));
            if (asked || entry[2])
                assert (entry_beats[6:0] == owed && owed != 7'd0 && owed <= 7'd64);
            // The claims on data.
            if (write_valid && write_address[LG_TAGS+5:6] == follow) begin
                assert (asked && meant && !is_error);
                assert ({1'b0, write_address[5:0]} == 7'd64 - total + came + {1'b0, index});
            end
            // How it ended: well only by a completion, with everything come.
            if (asked_before && !asked)
                assert (well == (entry[1:0] == FAULT_NONE));
            if (well)
                assert (came == total && owed == 7'd0);
            // Nobody is timed out while there is no limit, and nobody is forgotten who is not late.
            if (expire)
                assert (limited || abandon);
        end
    end
    always @(posedge clk) begin
        cover (past_valid && write_valid && write_address[LG_TAGS+5:6] == follow && came != 7'd0);
        cover (past_valid && well && total == 7'd2);
        cover (past_valid && takes_it && owed == 7'd0 && total == 7'd2);
        cover (past_valid && takes_it && line_valid);
        cover (past_valid && expire && scan_reg == follow);
    end
`endif
endmodule

`default_nettype wire
