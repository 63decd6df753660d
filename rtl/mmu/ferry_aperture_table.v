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
endmodule

`default_nettype wire
