// SPDX-License-Identifier: Apache-2.0
// What the page tables said of the faults that were met and not yet told: for each side and slot the level and the entry of
// the first. Faults are told in the order of the jobs, a slot's first only, and the slot is free only after that; so what a side
// met first in a slot is what belongs to a fault of that side and slot. (Of a fault of data or packets it says nothing.)
`default_nettype none
`include "ferry_contract.vh"

module ferry_fault_entries (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,
    // Slots that are free.
    input  wire [3:0]  slot_free,

    // The read side meets one, in this cycle. The write side has met one: for some cycles, with all of it as it was.
    input  wire        read_met,
    input  wire [1:0]  read_slot,
    input  wire [1:0]  read_level,
    input  wire [63:0] read_entry,
    input  wire        write_met,
    input  wire [1:0]  write_slot,
    input  wire [1:0]  write_level,
    input  wire [63:0] write_entry,

    // The fault that is told, without and with them.
    input  wire [`FERRY_ENGINE_FAULT_BITS-1:0] plain,
    output reg  [`FERRY_ENGINE_FAULT_BITS-1:0] fault
);
    // By {write, slot}.
    reg  [65:0] kept [0:7];
    reg  [7:0]  known_reg;

    wire [2:0]  place = {!read_met, read_met ? read_slot : write_slot};
    wire        met = (read_met || write_met) && !known_reg[place];
    wire [65:0] word;
    ferry_choice #(.WIDTH(66)) side (
        .second(read_met), .word0({write_level, write_entry}), .word1({read_level, read_entry}), .chosen(word)
    );

    always @(posedge clk) begin
        if (met) begin
            kept[place] <= word;
        end
        known_reg <= (known_reg | ({7'd0, met} << place)) & ~({slot_free, slot_free} | {8{rst}});
    end

    wire [65:0] told = kept[{plain[`FERRY_ENGINE_FAULT_WRITE_RANGE], plain[`FERRY_ENGINE_FAULT_SLOT_RANGE]}];
    always @* begin
        fault = plain;
        {fault[`FERRY_ENGINE_FAULT_HEIGHT_RANGE], fault[`FERRY_ENGINE_FAULT_ENTRY_RANGE]} = told;
    end
endmodule

`default_nettype wire
