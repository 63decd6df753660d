// SPDX-License-Identifier: Apache-2.0
// The data FIFO between the read side and the write side, in block RAM. Words leave in the order in which they came, but the
// write side is not told of a word behind a turn's bad ones before these are thrown away (resolved): it counts good words, and
// must not take those of one turn for another's. What the read side gives is pushed at once all the same, or video memory's data
// would stand on the bus and wait for all that is in front; so the marks of words that are not told of yet wait in a FIFO of
// their own.
//
// The word in front stands in flip-flops: block RAM gives its word half a cycle late, and buses, byte enables and faults hang on it.
// It is there in the cycle in which its burst can go at the soonest, so nothing waits for it.
//
// Whether the word in front is bad is not kept with the word but known from a count of the good ones: among the words told of no
// good one is behind a bad one.
`default_nettype none

module ferry_data_fifo #(
    // log2 of the words.
    parameter LG_DEPTH = 9
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,
    // A word enters; who pushes counts the room. Its turn's last; bad; bad because its turn is cut.
    input  wire        push,
    input  wire [63:0] push_data,
    input  wire        push_last,
    input  wire        push_bad,
    input  wire        push_cut,
    // The write side is told of a word; good, a turn's last good one; bad, and for a cut.
    output wire        tell_good,
    output wire        tell_last,
    output wire        tell_bad,
    output wire        tell_cut,
    // The word in front: its turn's last, bad. Of a word that is not there, `bad` means nothing.
    output wire        word_valid,
    input  wire        word_take,
    output wire [63:0] word,
    output wire        word_last,
    output wire        word_bad,
    // Both; out of flip-flops, as whether the word is taken hangs on it.
    output wire        word_bad_last,
    // The last bad word of a turn leaves.
    input  wire        resolved
);
    wire        room;
    // In block RAM, the oldest word there; it goes to the front.
    wire        there;
    wire [64:0] oldest;
    reg         front_valid_reg;
    reg [64:0]  front_reg;
    wire        moves = !front_valid_reg || word_take;
`ifdef FORMAL
    wire [LG_DEPTH:0] place, in_place, out_place, marks_place, marks_in, marks_out;
    wire held, marks_held;
    wire [64:0] held_word;
    wire [2:0] marks_word;
`endif
    ferry_fifo #(.WIDTH(65), .LG_DEPTH(LG_DEPTH), .BLOCK(1)) words (
        .clk(clk), .rst(rst), .in_valid(push), .in_ready(room), .in_data({push_last, push_data}),
        .out_valid(there), .out_ready(moves), .out_data(oldest)
`ifdef FORMAL
        , .formal_place(place), .formal_held(held), .formal_word(held_word), .formal_write(in_place), .formal_read(out_place)
`endif
    );

    // ---- Telling: a turn's bad words up to the last, then nothing until they are thrown away ----
    reg        stopped_reg;
    // The words that left last were the last of which the write side was told: the next may be of those that are not.
    reg        resolved_reg;
    wire       waiting;
    wire [2:0] marks;
    wire       marks_room;
    wire       direct = !waiting && !stopped_reg;
    wire       tell = waiting ? !stopped_reg : direct && push;
    wire       last, bad, cut;
    assign {last, bad, cut} = waiting ? marks : {push_last, push_bad, push_cut};
    assign tell_good = tell && !bad;
    assign tell_last = last;
    assign tell_bad = tell && bad;
    assign tell_cut = cut;

    ferry_fifo #(.WIDTH(3), .LG_DEPTH(LG_DEPTH), .BLOCK(1)) waiting_marks (
        .clk(clk), .rst(rst), .in_valid(push && !direct), .in_ready(marks_room), .in_data({push_last, push_bad, push_cut}),
        .out_valid(waiting), .out_ready(!stopped_reg), .out_data(marks)
`ifdef FORMAL
        , .formal_place(marks_place), .formal_held(marks_held), .formal_word(marks_word), .formal_write(marks_in),
        .formal_read(marks_out)
`endif
    );
    wire unused = &{1'b0, room, marks_room};

    // ---- Good words that the write side was told of and that are still there; there is none ----
    reg [LG_DEPTH:0] good_reg;
    reg        none_reg;
    // The bad ones of them; there is one, and it is its turn's last.
    reg [LG_DEPTH:0] bad_reg;
    reg        last_left_reg;
    wire       bad_leaves = word_valid && word_take && none_reg;
    wire       one_left = tell_bad == bad_leaves ? bad_reg == 1 : tell_bad ? bad_reg == 0 : bad_reg == 2;
    wire       leaves = word_valid && word_take && !none_reg;

    assign word_valid = front_valid_reg && !resolved_reg;
    assign {word_last, word} = front_reg;
    assign word_bad = none_reg;
    assign word_bad_last = none_reg && last_left_reg;

    always @(posedge clk) begin
        if (moves) begin
            front_valid_reg <= there;
            front_reg <= oldest;
        end
        if (resolved) begin
            stopped_reg <= 1'b0;
        end else if (tell_bad && last) begin
            stopped_reg <= 1'b1;
        end
        resolved_reg <= resolved;
        bad_reg <= bad_reg + {{LG_DEPTH{bad_leaves && !tell_bad}}, bad_leaves != tell_bad};
        last_left_reg <= one_left && (stopped_reg || (tell_bad && last));
        good_reg <= good_reg + {{LG_DEPTH{leaves && !tell_good}}, leaves != tell_good};
        // From the count as it is: what enters and leaves is known late in the cycle.
        if (tell_good && !leaves) begin
            none_reg <= 1'b0;
        end else if (leaves && !tell_good) begin
            none_reg <= good_reg == 1;
        end
        if (rst) begin
            front_valid_reg <= 1'b0;
            stopped_reg <= 1'b0;
            resolved_reg <= 1'b0;
            good_reg <= {(LG_DEPTH + 1){1'b0}};
            none_reg <= 1'b1;
            bad_reg <= {(LG_DEPTH + 1){1'b0}};
            last_left_reg <= 1'b0;
        end
    end

`ifdef FORMAL
    reg past_valid = 1'b0;
    // Places are those of the memory; the word in front has left its own.
    wire [LG_DEPTH:0] front_place = out_place - front_valid_reg;
    wire [LG_DEPTH:0] level = in_place - front_place;
    wire [LG_DEPTH:0] ahead = place - front_place;
    // Words whose marks wait; words that the write side was told of.
    wire [LG_DEPTH:0] marks_level = marks_in - marks_out;
    wire [LG_DEPTH:0] told = level - marks_level;
    // One word of those that come to the place that the FIFO's proof follows, whichever: its marks, and whether they went the long
    // way. Then they are those that the other FIFO's proof follows.
    (* anyseq *) wire choose;
    reg chosen = 1'b0;
    reg chosen_waits = 1'b0;
    reg [2:0] came = 0;
    wire shows = chosen && word_valid && front_place == place;
    wire choose_now = choose && push && in_place == place && !chosen;
    // Of the word told last: bad, and its turn goes on; so the next is bad too. (The realigner's proof has this of the words as
    // they are pushed, and a FIFO keeps order.)
    reg goes_on = 1'b0;
    always @(posedge clk) begin
        past_valid <= 1'b1;
        goes_on <= !rst && (tell ? bad && !last : goes_on);
        if (choose_now) begin
            chosen <= 1'b1;
            came <= {push_last, push_bad, push_cut};
            chosen_waits <= !direct;
        end else if (chosen && tell && waiting && marks_out == marks_place) begin
            chosen_waits <= 1'b0;
        end
        if (rst || (chosen && word_take && front_place == place)) begin
            chosen <= 1'b0;
            chosen_waits <= 1'b0;
        end
        cover (past_valid && !rst && word_valid && word_bad && level == 3 && marks_level == 2);
        cover (past_valid && !rst && word_valid && !word_bad && level == 3 && good_reg == 1 && told == 2);
        cover (past_valid && !rst && tell_bad && waiting && !stopped_reg && good_reg == 1);
    end
    always @(*) begin
        assume (past_valid || rst);
        assume (!push || level < (1 << LG_DEPTH));
        assume (!(goes_on && tell) || bad);
        assume (!(choose_now && !direct) || marks_in == marks_place);
        assume (!word_take || word_valid);
        assume (resolved == (word_take && word_bad && word_last));
        // Of the other words what is shown of the chosen one.
        assume (!word_take || shows || resolved == (stopped_reg && told == 1));
        if (past_valid && !rst) begin
            assert (!push || (room && (direct || marks_room)));
            assert (marks_level <= level);
            assert (good_reg <= told && none_reg == (good_reg == 0));
            assert (bad_reg == told - good_reg && last_left_reg == (stopped_reg && bad_reg == 1));
            // The last word told of ends the bad ones; nothing of them is left when it has left.
            assert (told == good_reg || stopped_reg || goes_on);
            assert (!stopped_reg || told > good_reg);
            assert (!(marks_level != 0 && !stopped_reg && !resolved_reg) || told != 0);
            assert (!resolved_reg || (!stopped_reg && told == 0));
            if (chosen) begin
                assert (front_valid_reg && ahead == 0 ? front_reg[64] == came[2] : held && held_word[64] == came[2]);
                assert (chosen_waits == (ahead >= told) && ahead < level);
                assert (chosen_waits || came[1] == (ahead >= good_reg));
                assert (chosen_waits || !came[1] || came[2] == (stopped_reg && ahead + 1'b1 == told));
                assert (!chosen_waits || (marks_held && marks_word == came && marks_place - marks_out == ahead - told));
            end
            // The claims: what shows was told of, its mark is its own, no good word is told of behind a bad one, and a turn's last bad
            // word is the last of all that were told of.
            assert (!word_valid || told != 0);
            assert (!shows || word_bad == came[1]);
            assert (!shows || word_bad_last == (came[1] && came[2]));
            assert (!tell_good || good_reg == told);
            assert (!(shows && word_take) || resolved == (stopped_reg && told == 1));
        end
    end
`endif
endmodule

`default_nettype wire
