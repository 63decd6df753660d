// SPDX-License-Identifier: Apache-2.0
// The aperture table: one entry a 4 KiB page of the aperture segment, in block RAM, read by two ports in turn and
// written by ferry_aperture_update while lookups go on; a lookup of the very page that is written waits. Every entry is
// invalid after reset: a sequencer clears the table's hit bits, one entry a cycle, and lookups and writes wait for it
// (`ready` low).
//
// GPU page tables (address kind VIRTUAL) will sit beside this table: a translation cache and a walker with the same
// lookup port, chosen by address kind in ferry_page_translate; nothing here changes then.
`default_nettype none
`include "ferry_contract.vh"

module ferry_aperture_table #(
    // Pages in the aperture: a power of two, at most 2^20.
    parameter PAGES = 4096
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,
    // 1 while the entries are being cleared after reset.
    output wire clearing,

    // Lookup ports 0 (engine read side) and 1 (engine write side). A request is taken when valid and ready are 1; its
    // result comes two cycles later, in order, and must be taken, over a reset too: a function reset leaves an engine as it is
    // whose memory is dead, and that one waits. A page beyond the table does not hit; of an entry that does not hit the other
    // fields mean nothing.
    input  wire         lookup0_valid,
    output wire         lookup0_ready,
    input  wire [31:0]  lookup0_page,
    output wire         result0_valid,
    output wire [`FERRY_TRANSLATION_BITS-1:0] result0,

    input  wire         lookup1_valid,
    output wire         lookup1_ready,
    input  wire [31:0]  lookup1_page,
    output wire         result1_valid,
    output wire [`FERRY_TRANSLATION_BITS-1:0] result1,

    // Entry write port, from ferry_aperture_update. A page beyond the table is ignored.
    input  wire         write_valid,
    output wire         write_ready,
    input  wire [31:0]  write_page,
    input  wire [`FERRY_TRANSLATION_BITS-1:0] write_entry
);
    localparam LG = $clog2(PAGES);
    localparam [LG-1:0] LAST = {LG{1'b1}};

    localparam E = `FERRY_TRANSLATION_BITS;

    // A page is never looked up in the cycle in which it is written: block RAM needs no way around it.
    (* no_rw_check *)
    reg [E-1:0] memory [0:PAGES-1];
    reg [E-1:0] entry_reg;

    // ---- Write side: the clearing sequence, then changes ----
    reg [LG-1:0] clear_reg;
    reg          clearing_reg;
    assign clearing = clearing_reg;
    assign write_ready = !clearing_reg;

    wire write_inside_table = write_page[31:LG] == 0;
    wire write_now = clearing_reg || (write_valid && write_inside_table);
    wire [LG-1:0] write_index = clearing_reg ? clear_reg : write_page[LG-1:0];
    reg [E-1:0] write_data;
    always @* begin
        write_data = write_entry;
        write_data[`FERRY_TRANSLATION_HIT_RANGE] = write_entry[`FERRY_TRANSLATION_HIT_RANGE] && !clearing_reg;
    end

    // ---- Read side: one port, two users in turn ----
    wire [1:0]  written = {2{write_now}} & {lookup1_page[LG-1:0] == write_index, lookup0_page[LG-1:0] == write_index};
    wire [1:0]  request = {lookup1_valid, lookup0_valid} & {2{!clearing_reg}} & ~written;
    wire [1:0]  grant;
    wire [31:0] page = ({32{grant[0]}} & lookup0_page) | ({32{grant[1]}} & lookup1_page);
    reg [1:0]   user_reg;
    reg         within_reg;
    reg [1:0]   result_user_reg;
    reg [E-1:0] result_reg;

    ferry_arbiter #(.PORTS(2)) arbiter (
        .clk(clk), .rst(rst), .request(request), .accept(1'b1), .grant(grant)
    );

    assign {lookup1_ready, lookup0_ready} = grant;

    always @(posedge clk) begin
        if (write_now) begin
            memory[write_index] <= write_data;
        end
    end
    always @(posedge clk) begin
        entry_reg <= memory[page[LG-1:0]];
    end
    always @(posedge clk) begin
        user_reg <= grant;
        within_reg <= page[31:LG] == 0;
        result_user_reg <= user_reg;
        result_reg <= entry_reg;
        result_reg[`FERRY_TRANSLATION_HIT_RANGE] <= entry_reg[`FERRY_TRANSLATION_HIT_RANGE] && within_reg;
        if (clearing_reg) begin
            clear_reg <= clear_reg + 1'b1;
            clearing_reg <= clear_reg != LAST;
        end
        if (rst) begin
            clear_reg <= {LG{1'b0}};
            clearing_reg <= 1'b1;
        end
    end

    assign {result1_valid, result0_valid} = result_user_reg;
    assign result0 = result_reg;
    assign result1 = result_reg;

`ifdef FORMAL
    // The result of a lookup is its page's entry as the writes before that cycle left it, on the port that asked, two cycles
    // later; and the RAM is never read where it is written. One page, whichever, is followed; from the ports alone.
    (* anyconst *) reg [LG-1:0] f_index;
    reg         f_started = 1'b0;
    reg [E-1:0] f_entry;
    reg [1:0]   f_port_1, f_port_2;
    reg         f_mine_1, f_mine_2;
    reg [E-1:0] f_entry_1, f_entry_2;
    wire [1:0]  f_taken = {lookup1_valid && lookup1_ready, lookup0_valid && lookup0_ready};
    wire [31:0] f_asked = f_taken[0] ? lookup0_page : lookup1_page;
    wire        f_write = write_valid && write_ready && write_page == {{32-LG{1'b0}}, f_index};
    wire [E-1:0] f_stands = memory[f_index];

    // What does not hit says nothing.
    function same(input [E-1:0] one, input [E-1:0] other);
        same = one[`FERRY_TRANSLATION_HIT_RANGE] == other[`FERRY_TRANSLATION_HIT_RANGE] &&
               (!one[`FERRY_TRANSLATION_HIT_RANGE] || one == other);
    endfunction
    function [E-1:0] masked(input [E-1:0] entry, input hit);
        begin
            masked = entry;
            masked[`FERRY_TRANSLATION_HIT_RANGE] = entry[`FERRY_TRANSLATION_HIT_RANGE] && hit;
        end
    endfunction

    always @(posedge clk) begin
        f_started <= 1'b1;
        if (f_write)
            f_entry <= write_entry;
        f_port_1 <= f_taken;
        f_mine_1 <= |f_taken && f_asked[LG-1:0] == f_index;
        f_entry_1 <= masked(f_entry, f_asked[31:LG] == 0);
        {f_port_2, f_mine_2, f_entry_2} <= {f_port_1, f_mine_1, f_entry_1};
        if (rst)
            f_entry[`FERRY_TRANSLATION_HIT_RANGE] <= 1'b0;
        if (!f_started) begin
            f_port_1 <= 2'd0;
            f_port_2 <= 2'd0;
        end
    end
    always @* if (!f_started)
        assume (rst && user_reg == 2'd0 && grant == 2'd0);

    always @(posedge clk) if (f_started) begin
        assert (f_taken != 2'b11);
        assert (!(write_now && |f_taken && f_asked[LG-1:0] == write_index));
        assert ({result1_valid, result0_valid} == f_port_2);
        if (f_mine_2 && f_port_2 != 2'd0)
            assert (same(f_port_2[0] ? result0 : result1, f_entry_2));
        // What makes it inductive.
        assert (user_reg == f_port_1);
        if (f_mine_1 && f_port_1 != 2'd0)
            assert (same(masked(entry_reg, within_reg), f_entry_1));
        if (clearing)
            assert (!f_entry[`FERRY_TRANSLATION_HIT_RANGE] &&
                    (f_index >= clear_reg || !f_stands[`FERRY_TRANSLATION_HIT_RANGE]));
        else
            assert (clear_reg == {LG{1'b0}} && same(f_stands, f_entry));
        cover (f_port_2 == 2'd2 && f_mine_2 && f_entry_2[`FERRY_TRANSLATION_HIT_RANGE] && f_entry_2 != f_entry);
    end
`endif
endmodule

`default_nettype wire
