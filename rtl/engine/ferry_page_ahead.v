// SPDX-License-Identifier: Apache-2.0
// Asks the page-table unit for the first page of the engine's next job, of one side, while the bursts of the job at hand go out,
// so that a walk is over, or well under way, when the job begins. It stands between ferry_address_generator and the unit. What is
// answered is not kept: the unit remembers it, and the job asks for itself, so nothing is ever taken from before a FORGET, and a
// refused page is a fault of the job alone.
//
// One page for each job that is taken, and only while the side has none to ask for. Behind a page that was refused nothing is
// asked for ahead, as the unit's words about it stand until the fault is told.
`default_nettype none
`include "ferry_contract.vh"

module ferry_page_ahead (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // The next job's first page is `next_lookup`; in this cycle the job is taken, and another one is the next.
    input  wire        next,
    input  wire        take,
    input  wire [`FERRY_LOOKUP_BITS-1:0] next_lookup,

    // The job at hand has pages to ask for; asks for one; its answer.
    input  wire        more,
    input  wire        own_valid,
    input  wire [`FERRY_LOOKUP_BITS-1:0] own_lookup,
    output wire        own_answer_valid,

    // Page-table unit.
    output wire        tables_valid,
    output wire [`FERRY_LOOKUP_BITS-1:0] tables_lookup,
    input  wire        tables_answer_valid,
    input  wire        tables_answer_hit
);
    // A page is asked for ahead, this one; that was done for the next job; the last answer of a job's own was a refusal.
    reg        ahead_reg;
    reg [`FERRY_LOOKUP_BITS-1:0] lookup_reg;
    reg        done_reg;
    reg        refused_reg;

    wire begins = next && !take && !more && !own_valid && !ahead_reg && !done_reg && !refused_reg;

    assign tables_valid = ahead_reg || own_valid;
    assign own_answer_valid = tables_answer_valid && !ahead_reg;
    ferry_choice #(.WIDTH(`FERRY_LOOKUP_BITS)) own_or_ahead (
        .second(ahead_reg), .word0(own_lookup), .word1(lookup_reg), .chosen(tables_lookup)
    );

    always @(posedge clk) begin
        if (!ahead_reg) begin
            lookup_reg <= next_lookup;
        end
        ahead_reg <= (ahead_reg && !tables_answer_valid) || begins;
        done_reg <= (done_reg || begins) && !own_answer_valid;
        if (own_answer_valid) begin
            refused_reg <= !tables_answer_hit;
        end
        if (rst) begin
            ahead_reg <= 1'b0;
            done_reg <= 1'b0;
            refused_reg <= 1'b0;
        end
    end

`ifdef FORMAL
    reg past_valid = 1'b0;
    reg stood = 1'b0;
    reg own_stood = 1'b0;
    reg [`FERRY_LOOKUP_BITS-1:0] stood_lookup = 0, own_stood_lookup = 0;
    // Ahead, asked for in this cycle for the first time.
    reg was_ahead = 1'b0;
    reg had_more = 1'b0;
    // What was asked for last was answered, and refused; nobody has asked since.
    reg told = 1'b0;
    always @(posedge clk) begin
        past_valid <= 1'b1;
        stood <= tables_valid && !tables_answer_valid && !rst;
        stood_lookup <= tables_lookup;
        own_stood <= own_valid && !own_answer_valid && !rst;
        own_stood_lookup <= own_lookup;
        was_ahead <= ahead_reg && !rst;
        had_more <= more || rst;
        told <= !rst && !(tables_valid && !tables_answer_valid) && (own_answer_valid ? !tables_answer_hit : told);
        cover (past_valid && !rst && ahead_reg && tables_answer_valid && own_valid);
        cover (past_valid && !rst && told && next && !more && !own_valid);
    end
    always @(*) begin
        assume (past_valid || rst);
        assume (!tables_answer_valid || tables_valid);
        assume (!own_stood || (own_valid && own_lookup == own_stood_lookup));
        if (past_valid && !rst) begin
            // A request stands as it is until its answer, whose it is and no other's.
            assert (!stood || (tables_valid && tables_lookup == stood_lookup));
            assert (!own_answer_valid || (own_valid && tables_lookup == own_lookup));
            assert (!stood || ahead_reg || own_stood);
            // The job at hand comes first.
            assert (!(ahead_reg && !was_ahead && had_more));
            // A refused page's words stand until the job, or the next, asks for another.
            assert (!told || refused_reg);
            assert (!(told && tables_valid) || own_valid);
            assert (!(told && ahead_reg));
        end
    end
`endif
endmodule

`default_nettype wire
