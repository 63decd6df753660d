// SPDX-License-Identifier: Apache-2.0
// The 64-bit event counters. Each event has a 5-bit counter of its own; a sweep adds one of them a cycle to its 64-bit
// word in block RAM, so 21 wide counters cost one wide adder. A read waits for the sweep to come by and is exact.
`default_nettype none

module ferry_registers_counters #(
    // Counters; a sweep takes as many cycles, at most 31.
    parameter COUNT = 22,
    // The counter that adds many_value instead of an event.
    parameter MANY = 19
) (
    // Clock and synchronous reset; all counters are zero after it.
    input  wire             clk,
    input  wire             rst,

    // One bit a counter: an event in this cycle.
    input  wire [COUNT-1:0] events,
    // Adds many_value to counter MANY.
    input  wire             many_valid,
    input  wire [31:0]      many_value,

    // Read: number of a counter, held until ready, with which the value is there.
    input  wire             read_valid,
    input  wire [4:0]       read_number,
    output wire             read_ready,
    output wire [63:0]      read_value
);

localparam [4:0] LAST = COUNT - 1;
localparam [4:0] MANY_NUMBER = MANY;

reg [63:0] memory [0:31];
reg [63:0] old_reg;
reg [4:0]  sweep_reg;
reg [4:0]  next_reg;
// The first sweep finds no values yet.
reg        first_reg;
reg [31:0] many_reg;
wire [5*COUNT-1:0] short_counts;

wire [4:0]  small_now = short_counts[5 * sweep_reg +: 5];
wire [63:0] added = sweep_reg == MANY_NUMBER ? {32'd0, many_reg} : {59'd0, small_now};
wire [63:0] sum = (first_reg ? 64'd0 : old_reg) + added;

assign read_ready = read_valid && read_number == sweep_reg && !first_reg;
assign read_value = sum;

always @(posedge clk) begin
    memory[sweep_reg] <= sum;
    old_reg <= memory[next_reg];
end

always @(posedge clk) begin
    sweep_reg <= next_reg;
    next_reg <= next_reg == LAST ? 5'd0 : next_reg + 5'd1;
    if (sweep_reg == LAST) begin
        first_reg <= 1'b0;
    end
    many_reg <= (sweep_reg == MANY_NUMBER ? 32'd0 : many_reg) + (many_valid ? many_value : 32'd0);
    if (rst) begin
        sweep_reg <= 5'd0;
        next_reg <= 5'd1;
        first_reg <= 1'b1;
        many_reg <= 32'd0;
    end
end

genvar i;
generate
    for (i = 0; i < COUNT; i = i + 1) begin : g_short
        reg [4:0] count_reg;
        always @(posedge clk) begin
            count_reg <= (sweep_reg == i ? 5'd0 : count_reg) + {4'd0, events[i]};
            if (rst) begin
                count_reg <= 5'd0;
            end
        end
        assign short_counts[5 * i +: 5] = count_reg;
    end
endgenerate

endmodule

`default_nettype wire
