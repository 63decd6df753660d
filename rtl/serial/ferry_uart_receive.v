// SPDX-License-Identifier: Apache-2.0
// Bytes from a serial line: start bit, eight data bits from the lowest on, stop bit. Each bit is looked at once, near its
// middle: with four clocks a bit and lines whose bits are 2 % too long or too short that is enough. A start bit that is
// gone in its middle was noise. A byte without a stop bit is dropped, and so is a break, a line that is low for long: the
// line must have been high again before the next start bit. Who gets the bytes finds by its own checks that one is missing.
`default_nettype none

module ferry_uart_receive #(
    // Length of a bit in sixteenths of a clock, at least 64.
    parameter BIT_SIXTEENTHS = 64
) (
    // Clock and synchronous reset.
    input  wire       clk,
    input  wire       rst,

    // The line; it follows another clock.
    input  wire       rxd,

    // A byte has come; valid for one cycle. It stays as it is for a bit and a half at least.
    output reg        byte_valid,
    output reg  [7:0] byte_data,
    // A byte is under way.
    output wire       busy
);
    localparam W = $clog2(BIT_SIXTEENTHS) + 1;
    localparam BIT_INT = BIT_SIXTEENTHS;
    // The line is seen up to a clock late, and the first wait begins a clock behind the edge: one and a half less than half
    // a bit.
    localparam HALF_INT = BIT_SIXTEENTHS / 2 - 24;
    localparam [W-1:0] BIT = BIT_INT[W-1:0];
    localparam [W-1:0] HALF = HALF_INT[W-1:0];
    localparam [W-1:0] CLOCK = 16;

    // Two flip-flops between the clocks.
    reg [1:0]   line_reg;
    // The line was high since the last byte.
    reg         high_reg;
    reg         busy_reg;
    // Sixteenths until the next look, and which it is: 0 start bit, 1 to 8 data, 9 stop bit.
    reg [W-1:0] wait_reg;
    reg [3:0]   bit_reg;

    wire line = line_reg[1];
    wire look = busy_reg && wait_reg < CLOCK;
    assign busy = busy_reg;

    always @(posedge clk) begin
        line_reg <= {line_reg[0], rxd};
        byte_valid <= 1'b0;
        if (!busy_reg) begin
            wait_reg <= HALF;
            bit_reg <= 4'd0;
            high_reg <= line;
            busy_reg <= high_reg && !line;
        end else begin
            wait_reg <= look ? wait_reg + BIT - CLOCK : wait_reg - CLOCK;
            if (look)
                bit_reg <= bit_reg + 4'd1;
            if (look && bit_reg == 4'd0)
                busy_reg <= !line;
            if (look && bit_reg == 4'd9) begin
                busy_reg <= 1'b0;
                byte_valid <= line;
            end
            high_reg <= line;
            if (look && bit_reg != 4'd0 && bit_reg != 4'd9)
                byte_data <= {line, byte_data[7:1]};
        end
        if (rst) begin
            line_reg <= 2'b11;
            high_reg <= 1'b0;
            busy_reg <= 1'b0;
            byte_valid <= 1'b0;
        end
    end
endmodule

`default_nettype wire
