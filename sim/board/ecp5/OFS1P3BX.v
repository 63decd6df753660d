// SPDX-License-Identifier: Apache-2.0
// ECP5's flip-flop in an output pin, with preset.
`default_nettype none

module OFS1P3BX (
    input  wire SCLK,
    input  wire SP,
    input  wire PD,
    input  wire D,
    output reg  Q
);
    initial Q = 1'b1;
    always @(posedge SCLK or posedge PD) begin
        if (PD)
            Q <= 1'b1;
        else if (SP)
            Q <= D;
    end
endmodule

`default_nettype wire
