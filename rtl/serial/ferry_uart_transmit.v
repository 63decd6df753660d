// SPDX-License-Identifier: Apache-2.0
// Bytes to a serial line: start bit, eight data bits from the lowest on, stop bit; without a gap while bytes are there.
`default_nettype none

module ferry_uart_transmit #(
    // Length of a bit in sixteenths of a clock, at least 16.
    parameter BIT_SIXTEENTHS = 64
) (
    // Clock and synchronous reset.
    input  wire       clk,
    input  wire       rst,

    // The byte to send next.
    input  wire       byte_valid,
    input  wire [7:0] byte_data,
    output wire       byte_ready,

    // The line.
    output wire       txd,
    // A byte is under way.
    output wire       busy
);
    localparam W = $clog2(BIT_SIXTEENTHS) + 1;
    localparam BIT_INT = BIT_SIXTEENTHS;
    localparam [W-1:0] BIT = BIT_INT[W-1:0];
    localparam [W-1:0] CLOCK = 16;

    // Bits begin at all times in the same raster, so that a byte begins as the one before it ends.
    reg [W-1:0] wait_reg;
    // What the line shows is bit 0; ones follow.
    reg [8:0]   bits_reg;
    // Bits to come behind it, the stop bit among them.
    reg [3:0]   left_reg;

    wire edge_now = wait_reg < CLOCK;
    assign byte_ready = edge_now && left_reg == 4'd0;
    assign txd = bits_reg[0];
    assign busy = left_reg != 4'd0;

    always @(posedge clk) begin
        wait_reg <= edge_now ? wait_reg + BIT - CLOCK : wait_reg - CLOCK;
        if (byte_ready && byte_valid) begin
            bits_reg <= {byte_data, 1'b0};
            left_reg <= 4'd9;
        end else if (edge_now && busy) begin
            bits_reg <= {1'b1, bits_reg[8:1]};
            left_reg <= left_reg - 4'd1;
        end
        if (rst) begin
            wait_reg <= {W{1'b0}};
            bits_reg <= 9'h1ff;
            left_reg <= 4'd0;
        end
    end
endmodule

`default_nettype wire
