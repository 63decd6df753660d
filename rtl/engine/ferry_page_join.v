// SPDX-License-Identifier: Apache-2.0
// The pages that ferry_address_generator is in and will come to. Pages of a list that are neighbours in memory are joined to
// the present range: up to 15 of them are known ahead, so that a list port which is busy for a while holds no joined page
// back. A range is only counted on inside 16 MiB, which keeps that counter short. Aperture and page tables are read one page ahead only, as
// their entries may change behind the job.
`default_nettype none

module ferry_page_join (
    // Clock. No reset: load starts it.
    input  wire clk,

    // A segment begins: nothing is known of it.
    input  wire        load,
    // Neighbours may be joined: they come from a list.
    input  wire        joins,
    // The next page, for one cycle; only while there was room when it was asked for.
    input  wire        answer,
    input  wire [51:12] answer_page,
    input  wire        answer_hit,
    input  wire        answer_snoop,
    input  wire        answer_host,
    // Of a list's page the same as answer_page and answer_hit, which others' translations reach late.
    input  wire [51:12] list_page,
    input  wire        list_hit,
    // The present page is left behind, for the next one of the segment.
    input  wire        next,
    // There is room for one more page than is known.
    output wire        room,

    // The present page.
    output wire        page_valid,
    output wire [51:12] page,
    output wire        hit,
    output wire        snoop,
    output wire        host
`ifdef FORMAL
    ,
    // For proofs: how many pages of the segment are known from the present one on; a page has come in behind others, joined.
    output wire [4:0]  formal_known,
    output wire [3:0]  formal_joined,
    output wire        formal_next,
    output wire        formal_widen,
    output wire [51:12] formal_next_page,
    output wire        formal_next_hit,
    output wire        formal_next_host
`endif
);
    // Present range: its page, and how many pages of the job follow it as neighbours in memory.
    reg [39:0] page_reg;
    reg [3:0]  joined_reg;
    reg        page_valid_reg;
    reg        snoop_reg;
    reg        hit_reg;
    reg        host_reg;
    // The page after the range.
    reg [39:0] next_page_reg;
    reg        next_valid_reg;
    reg        next_snoop_reg;
    reg        next_hit_reg;
    reg        next_host_reg;

    // The range is left behind with its last page.
    wire leave = next && joined_reg == 0;
    wire stays = page_valid_reg && !leave;
    // The page behind the range; its top bit: it is in the next 16 MiB.
    wire [12:0] behind = {1'b0, page_reg[11:0]} - ~{9'd0, joined_reg};
    wire neighbour = joins && hit_reg && list_hit && list_page[51:24] == page_reg[39:12]
        && {1'b0, list_page[23:12]} == behind;
    wire widen = answer && stays && neighbour;

    assign room = !next_valid_reg && !(&joined_reg);
    assign page_valid = page_valid_reg;
    assign page = page_reg;
    assign hit = hit_reg;
    assign snoop = snoop_reg;
    assign host = host_reg;

    always @(posedge clk) begin
        if (answer && !stays) begin
            page_valid_reg <= 1'b1;
            page_reg <= answer_page;
            snoop_reg <= answer_snoop;
            hit_reg <= answer_hit;
            host_reg <= answer_host;
        end else if (leave) begin
            page_valid_reg <= next_valid_reg;
            next_valid_reg <= 1'b0;
            page_reg <= next_page_reg;
            snoop_reg <= next_snoop_reg;
            hit_reg <= next_hit_reg;
            host_reg <= next_host_reg;
        end else if (next) begin
            page_reg[11:0] <= page_reg[11:0] + 12'd1;
        end
        if (answer && stays && !neighbour) begin
            next_valid_reg <= 1'b1;
            next_page_reg <= answer_page;
            next_snoop_reg <= answer_snoop;
            next_hit_reg <= answer_hit;
            next_host_reg <= answer_host;
        end
        if (widen && !next) begin
            joined_reg <= joined_reg + 4'd1;
        end else if (next && !leave && !widen) begin
            joined_reg <= joined_reg - 4'd1;
        end
        if (load) begin
            page_valid_reg <= 1'b0;
            joined_reg <= 4'd0;
            next_valid_reg <= 1'b0;
        end
    end

`ifdef FORMAL
    assign formal_known = {4'd0, page_valid_reg} + {1'b0, joined_reg} + {4'd0, next_valid_reg};
    assign formal_joined = joined_reg;
    assign formal_next = next_valid_reg;
    assign formal_widen = widen;
    assign {formal_next_page, formal_next_hit, formal_next_host} = {next_page_reg, next_hit_reg, next_host_reg};
`ifndef FORMAL_INSIDE
    reg past_valid = 1'b0;
    reg loaded = 1'b0;
    // Pages that were answered and that were left behind, of the segment. One of them, whichever, is followed: what its answer
    // said is what is shown when it is the present one.
    reg [6:0]  came = 0;
    reg [6:0]  gone = 0;
    (* anyconst *) reg [6:0] place;
    reg [51:12] said_page = 0;
    reg        said_hit = 1'b0;
    reg        said_snoop = 1'b0;
    reg        said_host = 1'b0;
    // As it was in the cycle before, unless a segment began then.
    reg        could_join = 1'b0;
    reg        began = 1'b0;
    wire [6:0] ahead = place - gone;
    wire       known = place < came && place >= gone;
    wire [12:0] here = {1'b0, page_reg[11:0]} + {6'd0, ahead};
    always @(posedge clk) begin
        past_valid <= 1'b1;
        could_join <= joins;
        began <= load;
        came <= load ? 7'd0 : came + {6'd0, answer};
        gone <= load ? 7'd0 : gone + {6'd0, next};
        if (load) begin
            loaded <= 1'b1;
        end
        if (answer && came == place) begin
            said_page <= answer_page;
            said_hit <= answer_hit;
            said_snoop <= answer_snoop;
            said_host <= answer_host;
        end
        cover (loaded && known && ahead == 0 && place == 5 && page_valid && hit && joined_reg == 2 && next_valid_reg);
        cover (loaded && known && ahead == 0 && place == 3 && page_valid && !hit);
    end
    always @(*) begin
        assume (past_valid || load);
        assume (!(load && (answer || next)));
        // It is a segment of a list, or of the aperture or page tables, as a whole. What a list names is snooped, and the host's.
        assume (began || !loaded || joins == could_join);
        assume (!joins || (answer_snoop && answer_host));
        assume (!(joins && answer) || (list_page == answer_page && list_hit == answer_hit));
        // Only what there was room for, and one at a time: a page that is left behind makes room, none takes it away.
        assume (!answer || room);
        assume (!next || page_valid);
        // The segment is shorter than what is counted here.
        assume (came < 120);
        if (loaded) begin
            assert (gone <= came && came - gone == {2'd0, formal_known});
            assert (page_valid || (joined_reg == 0 && !next_valid_reg));
            assert (joined_reg == 0 || (joins && hit_reg));
            assert (!(joins && page_valid) || (snoop_reg && host_reg));
            assert (!(joins && next_valid_reg) || (next_snoop_reg && next_host_reg));
            assert ({1'b0, page_reg[11:0]} + {9'd0, joined_reg} < 13'h1000 || joined_reg == 0);
            if (known && ahead <= {3'd0, joined_reg}) begin
                assert (said_page == {page_reg[39:12], here[11:0]} && said_hit == hit_reg && said_snoop == snoop_reg
                    && said_host == host_reg);
            end
            if (known && ahead > {3'd0, joined_reg}) begin
                assert (next_valid_reg && said_page == next_page_reg && said_hit == next_hit_reg && said_snoop == next_snoop_reg
                    && said_host == next_host_reg);
            end
            // The claim itself.
            assert (!(page_valid && known && ahead == 0)
                || (page == said_page && hit == said_hit && snoop == said_snoop && host == said_host));
        end
    end
`endif
`endif
endmodule

`default_nettype wire
