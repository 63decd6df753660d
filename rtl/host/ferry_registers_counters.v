// SPDX-License-Identifier: Apache-2.0
// The 64-bit event counters. Each event has a small counter of its own; a sweep goes round and adds one after the other to
// its 64-bit word in the register file's second port, so one adder of 32 bits serves all. A read waits until the sweep has
// just been there, and holds it, so what is read is exact and its halves belong together.
`default_nettype none

module ferry_registers_counters #(
    // Counters, at most 32.
    parameter COUNT = 25
) (
    // Clock and synchronous reset; the words in the register file are set by others meanwhile.
    input  wire             clk,
    input  wire             rst,

    // One bit a counter: an event.
    input  wire [COUNT-1:0] events,

    // Read: number of a counter, held until its words have been read, from the cycle with ready on.
    input  wire             read_valid,
    input  wire [4:0]       read_number,
    output wire             read_ready,

    // The sweep only reads in this cycle; it does so again in the next if another takes its place.
    output wire             yields,
    input  wire             hold,
    // The counters' words in the register file: twice the counter's number, and 1 more for its upper half. What is read
    // comes a cycle later.
    output wire             word_write,
    output wire [5:0]       word,
    output wire [31:0]      word_wdata,
    input  wire [31:0]      word_rdata
);

    localparam [4:0] LAST = COUNT - 1;
    // A round takes 2 cycles a counter, 2 more for one whose lower half carries, 1 when another has the port, and what reads hold
    // it: less than 2^8 - 1.
    localparam SMALL = 8;

    // Read the lower half, add, and if it carries read the upper half and add 1.
    localparam [1:0] S_READ  = 2'd0;
    localparam [1:0] S_ADD   = 2'd1;
    localparam [1:0] S_UPPER = 2'd2;
    localparam [1:0] S_CARRY = 2'd3;

    reg [1:0]       state_reg;
    // The counter that the sweep is at, in S_READ the one it has done; and one bit for each, set while that one is added.
    reg [4:0]       number_reg;
    reg [COUNT-1:0] place_reg;
    reg [COUNT-1:0] turn_reg;

    wire [4:0]       next_number = number_reg == LAST ? 5'd0 : number_reg + 5'd1;
    wire [COUNT-1:0] next_place = {place_reg[COUNT-2:0], place_reg[COUNT-1]};
    wire             advance = state_reg == S_READ && !read_ready && !hold;

    assign yields = state_reg == S_READ;

    assign read_ready = read_valid && state_reg == S_READ && read_number == number_reg;
    assign word = {state_reg == S_READ ? next_number : number_reg, state_reg[1]};
    assign word_write = state_reg[0];

    // What the small counter whose turn it is has counted, and its event of this cycle.
    wire [SMALL*COUNT-1:0] counts;
    reg  [SMALL-1:0]       small_now;
    always @* begin : pick
        integer i;
        small_now = {SMALL{1'b0}};
        for (i = 0; i < COUNT; i = i + 1) begin
            small_now = small_now | (counts[SMALL*i +: SMALL] & {SMALL{turn_reg[i]}});
        end
    end
    // Events come late in a cycle: they are counted in the next.
    reg  [COUNT-1:0] events_reg;
    always @(posedge clk) begin
        events_reg <= events;
    end
    wire             event_now = |(events_reg & turn_reg);
    wire [SMALL-1:0] small_sum = small_now + {{SMALL-1{1'b0}}, event_now};
    wire [SMALL-1:0] addend = small_sum | {{SMALL-1{1'b0}}, state_reg == S_CARRY};
    wire             carry;
    assign {carry, word_wdata} = {1'b0, word_rdata} + {{33-SMALL{1'b0}}, addend};

    always @(posedge clk) begin
        case (state_reg)
        S_READ:
            if (advance) begin
                number_reg <= next_number;
                place_reg <= next_place;
                state_reg <= S_ADD;
            end
        S_ADD:
            state_reg <= carry ? S_UPPER : S_READ;
        S_UPPER:
            state_reg <= S_CARRY;
        default:
            state_reg <= S_READ;
        endcase
        turn_reg <= next_place;
        if (rst || !advance) begin
            turn_reg <= {COUNT{1'b0}};
        end
        if (rst) begin
            state_reg <= S_READ;
            number_reg <= LAST;
            place_reg <= {1'b1, {COUNT-1{1'b0}}};
        end
    end

    genvar i;
    generate
        for (i = 0; i < COUNT; i = i + 1) begin : g_small
            reg [SMALL-1:0] count_reg;
            always @(posedge clk) begin
                count_reg <= count_reg + {{SMALL-1{1'b0}}, events_reg[i]};
                if (rst || turn_reg[i]) begin
                    count_reg <= {SMALL{1'b0}};
                end
            end
            assign counts[SMALL*i +: SMALL] = count_reg;
        end
    endgenerate

`ifdef FORMAL
`include "ferry_registers_counters_properties.vh"
`endif
endmodule

`default_nettype wire
