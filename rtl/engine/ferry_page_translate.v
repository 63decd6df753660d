// SPDX-License-Identifier: Apache-2.0
// Finds the pages of a segment, for ferry_address_generator: asks for one after the other, in a page list, in the aperture
// table or of the page-table unit, one at a time, as long as there is room for what it finds. An entry of a list is a bus
// address of 52 bits, of a page's first byte: one with any other bit set does not hit.
//
// The page-table unit's request stands until its answer. Behind a page that it refuses nothing more is asked for, so that what
// it saw stands until the fault is told.
`default_nettype none
`include "ferry_contract.vh"

module ferry_page_translate #(
    // 1: there is an aperture table.
    parameter [0:0] HAS_APERTURE = 1,
    // 1: there are page lists.
    parameter [0:0] HAS_LISTS = 1,
    // 1: there is a page-table unit.
    parameter [0:0] HAS_TABLES = 1
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // A segment begins with this page, as the job names it. Not while an answer is awaited.
    input  wire        load,
    input  wire [32:12] load_page,
    // Page of its last byte.
    input  wire [32:12] end_page,
    // No further page is needed.
    input  wire        stop,
    // One may be asked for.
    input  wire        wanted,
    // It stands in the list at list_base in command RAM; it is asked of the page-table unit; otherwise in the aperture table.
    input  wire        from_list,
    input  wire        from_tables,
    input  wire [15:0] list_base,
    // An answer is awaited. A request stands, or its answer has not come by this cycle's end.
    output wire        pending,
    output wire        busy,
    // There is a further page to ask for.
    output wire        more,

    // The next page, for one cycle.
    output wire        answer,
    output wire [51:12] answer_page,
    output wire        answer_hit,
    output wire        answer_snoop,
    // It is in host memory. Of a page that the page-table unit refuses the page says why: fault and level, from its bit 12 on.
    output wire        answer_host,
    // What of it comes from a list, and is the answer then.
    output wire [51:12] list_page,
    output wire        list_hit,

    // Page list in command RAM.
    output wire        list_valid,
    input  wire        list_ready,
    output wire [15:0] list_address,
    input  wire        list_data_valid,
    input  wire [63:0] list_data,

    // Aperture table.
    output wire        lookup_valid,
    input  wire        lookup_ready,
    output wire [31:0] lookup_page,
    input  wire        result_valid,
    input  wire        result_hit,
    input  wire        result_snoop,
    input  wire [51:12] result_page,

    // Page-table unit: the page that is asked for, as the job names it; held until the answer.
    output wire        tables_valid,
    output wire [32:12] tables_page,
    input  wire        tables_answer_valid,
    input  wire [`FERRY_PAGE_BITS-1:0] tables_answer
`ifdef FORMAL
    ,
    // For proofs: the page to ask for next, if there is one (more).
    output wire [32:12] formal_ask
`endif
);
    // Page to ask for next, as the job names it; there is one; a translation has been asked for and not come.
    reg [32:12] ask_reg;
    reg        more_reg;
    reg        pending_reg;

    wire ask = wanted && more_reg && !pending_reg;
    wire of_tables = from_tables && HAS_TABLES;
    wire asked = from_list ? list_valid && list_ready : !of_tables && lookup_valid && lookup_ready;
    // The next page: one at a time, a request to the page-table unit with its answer.
    wire steps = of_tables ? answer : asked;
    wire tables_hit = tables_answer[`FERRY_PAGE_HIT_RANGE];
    wire [51:12] tables_found = tables_answer[`FERRY_PAGE_PAGE_RANGE];
    wire [51:12] tables_tell = {tables_found[51:22], tables_hit ? tables_found[21:12]
        : {tables_answer[`FERRY_PAGE_HEIGHT_RANGE], tables_answer[`FERRY_PAGE_FAULT_RANGE]}};
    wire [51:12] asked_page;
    assign list_page = list_data[51:12];
    assign list_hit = list_data[63:52] == 12'd0 && list_data[11:0] == 12'd0;

    assign pending = pending_reg;
    assign more = more_reg;
    assign busy = ask || (pending_reg && !answer);
    assign answer = pending_reg && (HAS_LISTS || HAS_APERTURE || HAS_TABLES)
        && (from_list ? list_data_valid : of_tables ? tables_answer_valid : result_valid);
    // A choice keeps its border, so none is made between what there is not.
    generate
        if (HAS_LISTS && HAS_APERTURE) begin : g_either
            ferry_choice #(.WIDTH(40)) from_where (
                .second(from_list), .word0(result_page), .word1(list_page), .chosen(asked_page)
            );
        end else begin : g_one
            assign asked_page = HAS_LISTS ? list_page : result_page;
        end
        if (HAS_TABLES) begin : g_tables
            ferry_choice #(.WIDTH(40)) or_tables (
                .second(of_tables), .word0(asked_page), .word1(tables_tell), .chosen(answer_page)
            );
        end else begin : g_no_tables
            assign answer_page = asked_page;
            wire unused = &{1'b0, tables_tell};
        end
    endgenerate
    assign answer_hit = from_list ? list_hit : of_tables ? tables_hit : result_hit;
    assign answer_snoop = from_list || (of_tables ? tables_answer[`FERRY_PAGE_SNOOP_RANGE] : result_snoop);
    assign answer_host = !of_tables || tables_answer[`FERRY_PAGE_HOST_RANGE];

    assign list_valid = ask && from_list;
    assign list_address = list_base + {ask_reg[24:12], 3'd0};
    assign lookup_valid = ask && !from_list && !of_tables;
    assign lookup_page = {12'd0, ask_reg[31:12]};
    assign tables_valid = of_tables && (ask || pending_reg);
    assign tables_page = ask_reg;

    always @(posedge clk) begin
        if (answer) begin
            pending_reg <= 1'b0;
        end
        if (asked || (ask && of_tables)) begin
            pending_reg <= 1'b1;
        end
        if (steps) begin
            ask_reg <= ask_reg + 21'd1;
            more_reg <= more_reg && ask_reg != end_page;
        end
        if (stop || (answer && of_tables && !tables_hit)) begin
            more_reg <= 1'b0;
        end
        if (load) begin
            ask_reg <= load_page;
            more_reg <= 1'b1;
        end
        if (rst) begin
            pending_reg <= 1'b0;
        end
    end

`ifdef FORMAL
    assign formal_ask = ask_reg;
    always @(*) begin
        assert (!(HAS_LISTS && answer && from_list && !of_tables) || (list_page == answer_page && list_hit == answer_hit));
    end
`endif
endmodule

`default_nettype wire
