// SPDX-License-Identifier: Apache-2.0
// The reads of the page-table unit: each side of the engine has at most one burst out, in video memory or in host memory. Each
// of these answers in order; bursts of the two are taken one after the other, never mixed.
`default_nettype none
`include "ferry_contract.vh"

module ferry_table_reads #(
    // Bits of a video memory address.
    parameter LOCAL_ADDRESS_BITS = 26
) (
    // Clock, and synchronous reset, active high.
    input  wire clk,
    input  wire rst,

    // No burst may begin to be asked for; one that was shown stays until it is taken.
    input  wire        hold,

    // A side has a burst to read: from this entry of a table to the end of its 64 bytes (of the lowest level), or the one entry.
    // It stays as it is until it is taken, unless held and not shown.
    input  wire [1:0]  ask,
    output wire        asked_side,
    input  wire        asked_host,
    input  wire        asked_snoop,
    input  wire        asked_line,
    input  wire [51:3] asked_address,
    // It stands on the bus; it is taken in this cycle.
    output wire        shown,
    output wire        taken,
    // Its burst is out, from the cycle after it was taken to that of its last beat.
    output wire [1:0]  busy,

    // A beat; whose; the first and the last of its burst; as it came.
    output wire        beat,
    output wire        beat_side,
    output wire        beat_first,
    output wire        beat_last,
    output wire        beat_error,
    output wire [63:0] beat_data,

    // Reads of video memory, and of host memory.
    output wire [`FERRY_AXI_A_BITS-1:0] local_ar,
    output wire        local_arvalid,
    input  wire        local_arready,
    input  wire [`FERRY_AXI_R_BITS-1:0] local_r,
    input  wire        local_rvalid,
    output wire        local_rready,
    output wire [`FERRY_AXI_A_BITS-1:0] host_ar,
    output wire        host_arvalid,
    input  wire        host_arready,
    input  wire [`FERRY_AXI_R_BITS-1:0] host_r,
    input  wire        host_rvalid,
    output wire        host_rready
`ifdef FORMAL
    ,
    // For proofs.
    output wire        formal_held,
    output wire        formal_held_side,
    output wire [1:0]  formal_busy_host,
    output wire [1:0]  formal_first_side,
    output wire        formal_within,
    output wire        formal_within_host
`endif
);
    reg        held_reg;
    reg        held_side_reg;
    reg [1:0]  busy_reg;
    reg [1:0]  busy_host_reg;
    // Whose burst comes first, of the two memories: 0 video memory, 1 host memory.
    reg [1:0]  first_side_reg;
    // In the midst of a burst, from there.
    reg        within_reg;
    reg        within_host_reg;

    // ---- Asking ----
    assign asked_side = held_reg ? held_side_reg : !(ask[0] && !busy_reg[0]);
    assign shown = held_reg || (!hold && (ask & ~busy_reg) != 2'd0);
    assign local_arvalid = shown && !asked_host;
    assign host_arvalid = shown && asked_host;
    assign taken = shown && (asked_host ? host_arready : local_arready);
    assign busy = busy_reg;

    wire [63:0] address = {12'd0, asked_address, 3'd0};
    wire [7:0]  length = asked_line ? {5'd0, ~asked_address[5:3]} : 8'd0;
    assign local_ar[`FERRY_AXI_A_ADDRESS_RANGE] = {{(64-LOCAL_ADDRESS_BITS){1'b0}}, address[LOCAL_ADDRESS_BITS-1:0]};
    assign local_ar[`FERRY_AXI_A_LENGTH_RANGE] = length;
    assign local_ar[`FERRY_AXI_A_NO_SNOOP_RANGE] = 1'b0;
    assign local_ar[`FERRY_AXI_A_TAG_RANGE] = 8'd0;
    assign host_ar[`FERRY_AXI_A_ADDRESS_RANGE] = address;
    assign host_ar[`FERRY_AXI_A_LENGTH_RANGE] = length;
    assign host_ar[`FERRY_AXI_A_NO_SNOOP_RANGE] = !asked_snoop;
    assign host_ar[`FERRY_AXI_A_TAG_RANGE] = 8'd0;

    // ---- Answers ----
    wire from_host = within_reg ? within_host_reg : !local_rvalid;
    assign local_rready = !(within_reg && within_host_reg);
    assign host_rready = from_host;
    assign beat = from_host ? host_rvalid : local_rvalid;
    assign beat_side = from_host ? first_side_reg[1] : first_side_reg[0];
    assign beat_first = !within_reg;
    assign beat_last = from_host ? host_r[`FERRY_AXI_R_LAST_RANGE] : local_r[`FERRY_AXI_R_LAST_RANGE];
    wire [1:0] response = from_host ? host_r[`FERRY_AXI_R_RESPONSE_RANGE] : local_r[`FERRY_AXI_R_RESPONSE_RANGE];
    assign beat_error = response[1];
    ferry_choice #(.WIDTH(64)) data (
        .second(from_host), .word0(local_r[`FERRY_AXI_R_DATA_RANGE]), .word1(host_r[`FERRY_AXI_R_DATA_RANGE]),
        .chosen(beat_data)
    );

    wire ends = beat && beat_last;
    wire [1:0] goes = {asked_side, !asked_side} & {2{taken}};
    wire other_there = (asked_side ? busy_reg[0] : busy_reg[1]) && (asked_side ? busy_host_reg[0] : busy_host_reg[1]) == asked_host;

    always @(posedge clk) begin
        held_reg <= shown && !taken;
        held_side_reg <= asked_side;
        if (beat) begin
            within_reg <= !beat_last;
            within_host_reg <= from_host;
        end
        busy_reg <= (busy_reg & ~({beat_side, !beat_side} & {2{ends}})) | goes;
        busy_host_reg <= (busy_host_reg & ~goes) | (goes & {2{asked_host}});
        // Behind the other side's burst if there is one, whose end makes this the first. In a cycle in which a side's burst ends it is
        // the other one that asks.
        if ((ends && !from_host) || (taken && !asked_host && !other_there)) begin
            first_side_reg[0] <= ends ? !beat_side : asked_side;
        end
        if ((ends && from_host) || (taken && asked_host && !other_there)) begin
            first_side_reg[1] <= ends ? !beat_side : asked_side;
        end
        if (rst) begin
            held_reg <= 1'b0;
            busy_reg <= 2'd0;
            within_reg <= 1'b0;
        end
    end

`ifdef FORMAL
    assign {formal_held, formal_held_side, formal_within, formal_within_host}
        = {held_reg, held_side_reg, within_reg, within_host_reg};
    assign {formal_busy_host, formal_first_side} = {busy_host_reg, first_side_reg};
`endif

    wire unused = &{1'b0, response[0], address[63:LOCAL_ADDRESS_BITS], local_r[`FERRY_AXI_R_FAULT_RANGE], host_r[`FERRY_AXI_R_FAULT_RANGE]};
endmodule

`default_nettype wire
